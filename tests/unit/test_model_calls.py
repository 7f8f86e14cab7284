"""Many calls at once, without keeping the server from a cancel."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from tq.model.driver import Calls, Reply
from tq.model.tasks import Compare, Task

TASK = Compare("q", "a", "b")
PATIENCE = 10  # seconds until a test that hangs fails


class Gathering:
    """A model whose calls end only when `expected` of them are in flight together."""

    waits = True

    def __init__(self, expected: int) -> None:
        self._gathered = threading.Barrier(expected)

    def reply(self, task: Task[Any], stop: threading.Event) -> Reply:
        self._gathered.wait(PATIENCE)
        return Reply({"relation": "same"}, 1, 1)


class Hanging:
    """A model that never replies."""

    waits = True

    def __init__(self) -> None:
        self.stopped = threading.Event()

    def reply(self, task: Task[Any], stop: threading.Event) -> Reply:
        if stop.wait(PATIENCE):
            self.stopped.set()
        return Reply({"relation": "same"}, 1, 1)


class Counting:
    """A model that computes; it notes how many of its calls were in the caller's thread."""

    waits = False

    def __init__(self) -> None:
        self.threads: list[int] = []

    def reply(self, task: Task[Any], stop: threading.Event) -> Reply:
        self.threads.append(threading.get_ident())
        return Reply({"relation": "off the list"}, 3, 1)


def test_calls_that_wait_run_at_once() -> None:
    calls = Calls(Gathering(8), concurrency=8, pulse=lambda: None)
    for key in range(8):
        calls.submit(key, TASK)
    assert sorted(key for key, _ in calls.completed()) == list(range(8))  # type: ignore[type-var]


def test_no_more_than_the_models_concurrency_are_in_flight() -> None:
    class Peak:
        waits = True
        flying = peak = 0
        lock = threading.Lock()

        def reply(self, task: Task[Any], stop: threading.Event) -> Reply:
            with self.lock:
                self.flying += 1
                self.peak = max(self.peak, self.flying)
            stop.wait(0.01)
            with self.lock:
                self.flying -= 1
            return Reply({"relation": "same"}, 1, 1)

    model = Peak()
    calls = Calls(model, concurrency=3, pulse=lambda: None)
    for key in range(12):
        calls.submit(key, TASK)
    assert len(list(calls.completed())) == 12
    assert model.peak <= 3


def test_more_may_be_submitted_while_results_come_in() -> None:
    calls = Calls(Gathering(1), concurrency=2, pulse=lambda: None)
    calls.submit(0, TASK)
    seen = []
    for key, _ in calls.completed():
        assert isinstance(key, int)
        seen.append(key)
        if key < 5:
            calls.submit(key + 1, TASK)
    assert seen == [0, 1, 2, 3, 4, 5]


def test_a_cancel_gets_through_while_the_model_hangs_and_stops_it() -> None:
    class Cancelled(Exception):
        pass

    def pulse() -> None:
        raise Cancelled

    model = Hanging()
    calls = Calls(model, concurrency=1, pulse=pulse)
    calls.submit(0, TASK)
    with pytest.raises(Cancelled):
        list(calls.completed())
    assert model.stopped.wait(PATIENCE)


def test_a_model_that_computes_stays_in_the_callers_thread_and_its_bad_reply_is_told() -> None:
    model = Counting()
    outcome = Calls(model, concurrency=16, pulse=lambda: None).one(TASK)
    assert model.threads == [threading.get_ident()]
    assert outcome.reply is None
    assert outcome.rejected is not None
    assert outcome.input_tokens == 3


def test_an_error_of_the_model_reaches_the_caller() -> None:
    class Broken:
        waits = True

        def reply(self, task: Task[Any], stop: threading.Event) -> Reply:
            raise ConnectionError("refused")

    with pytest.raises(ConnectionError, match="refused"):
        Calls(Broken(), concurrency=4, pulse=lambda: None).one(TASK)
