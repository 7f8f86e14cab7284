"""Drivers turn tasks into replies; `Calls` runs many at once and keeps the server responsive meanwhile."""

from __future__ import annotations

import queue
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import msgspec

from tq.errors import TqError
from tq.model.limits import Model
from tq.model.tasks import Rejected, Task

PULSE_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class Reply:
    """What a driver gives back: a dict of the task's schema, and what it cost in tokens."""

    data: dict[str, Any]
    input_tokens: int
    output_tokens: int


class Driver(Protocol):
    """A model. `waits` says that a call mostly waits (network), so that many may run at once in threads."""

    waits: bool

    def reply(self, task: Task[Any], stop: threading.Event) -> Reply:
        """Run one task. `stop` is set when nobody wants the reply any more. Raises TqError of class TQ1."""
        ...


@dataclass(frozen=True, slots=True)
class Outcome:
    """The end of one call: a checked reply, or the reason why it was rejected, or the error."""

    task: Task[Any]
    reply: Any | None
    rejected: str | None
    error: Exception | None
    input_tokens: int
    output_tokens: int
    elapsed_ms: float


class Delayed:
    """Another driver, slowed down: rehearses a model that takes its time (tq.model.delay_ms)."""

    waits = True

    def __init__(self, driver: Driver, delay_ms: int) -> None:
        self._driver = driver
        self._delay = delay_ms / 1000

    def reply(self, task: Task[Any], stop: threading.Event) -> Reply:
        stop.wait(self._delay)
        return self._driver.reply(task, stop)


def open_driver(model: Model) -> Driver:
    """The driver of a model row."""
    if model.driver == "extractive":
        from tq.model.extractive import Extractive

        driver: Driver = Extractive(model)
    else:
        raise TqError(
            "TQ020", "model driver not found", f"model {model.name} names the driver {model.driver}"
        )
    return Delayed(driver, model.delay_ms) if model.delay_ms else driver


def run(driver: Driver, task: Task[Any], stop: threading.Event) -> Outcome:
    """One call, checked."""
    started = time.perf_counter()
    reply: Any = None
    rejected: str | None = None
    error: Exception | None = None
    used = Reply({}, 0, 0)
    try:
        used = driver.reply(task, stop)
        reply = task.accept(used.data)
    except Rejected as reason:
        rejected = str(reason)
    except Exception as failure:  # handed to the caller's thread as it is
        error = failure
    return Outcome(
        task,
        reply,
        rejected,
        error,
        used.input_tokens,
        used.output_tokens,
        (time.perf_counter() - started) * 1000,
    )


class Calls:
    """Calls in flight. A driver that waits runs in daemon threads, at most `concurrency` at once; one that computes runs
    in the caller's thread, one call at a time, as it is asked for. `pulse` is called at least every 100 ms of waiting and
    may raise (a cancel): then all that is in flight is dropped.

    No thread touches the database.
    """

    def __init__(self, driver: Driver, concurrency: int, pulse: Callable[[], None]) -> None:
        self._driver = driver
        self._concurrency = concurrency if driver.waits else 1
        self._pulse = pulse
        self._waiting: deque[tuple[Hashable, Task[Any]]] = deque()
        self._done: queue.SimpleQueue[tuple[Hashable, Outcome]] = queue.SimpleQueue()
        self._flying = 0
        self._stop = threading.Event()

    def submit(self, key: Hashable, task: Task[Any]) -> None:
        self._waiting.append((key, task))
        if self._driver.waits:
            self._launch()

    def completed(self) -> Iterator[tuple[Hashable, Outcome]]:
        """Outcomes in the order of their ends, until none is left; the caller may submit more meanwhile."""
        try:
            while self._waiting or self._flying:
                yield self._next()
        finally:
            self._stop.set()

    def one(self, task: Task[Any]) -> Outcome:
        """Run one task now and wait for it."""
        self.submit(None, task)
        return self._next()[1]

    def _next(self) -> tuple[Hashable, Outcome]:
        if not self._driver.waits:
            self._pulse()
            key, task = self._waiting.popleft()
            outcome = run(self._driver, task, self._stop)
        else:
            key, outcome = self._await()
            self._flying -= 1
            self._launch()
        if outcome.error is not None:
            raise outcome.error
        return key, outcome

    def _await(self) -> tuple[Hashable, Outcome]:
        while True:
            try:
                return self._done.get(timeout=PULSE_SECONDS)
            except queue.Empty:
                self._pulse()

    def _launch(self) -> None:
        while self._waiting and self._flying < self._concurrency:
            key, task = self._waiting.popleft()
            self._flying += 1
            thread = threading.Thread(target=self._work, args=(key, task), daemon=True)
            # A backend's signals belong to its main thread: a new thread inherits the mask that blocks them.
            previous = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
            try:
                thread.start()
            finally:
                signal.pthread_sigmask(signal.SIG_SETMASK, previous)

    def _work(self, key: Hashable, task: Task[Any]) -> None:
        self._done.put((key, run(self._driver, task, self._stop)))


def count_tokens(model: Model, task: Task[Any], data: dict[str, Any]) -> tuple[int, int]:
    """Tokens in and out, by the model's characters per token, for a driver that is told of none."""
    return model.tokens(len(task.prompt())), model.tokens(len(msgspec.json.encode(data)))
