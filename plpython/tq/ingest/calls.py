"""Model calls of ingest: each job is a generator that asks for tasks and is sent their answers; many run at once.

A job knows nothing of the database. It yields a list of tasks that may run side by side, is sent one answer for each,
and returns its result. An answer carries the driver's error instead of raising it, so that one job's failure ends that
job alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Hashable, Iterator
from dataclasses import dataclass, field
from typing import Any, cast

from tq.errors import TqError
from tq.model.driver import Calls, Driver, Gate, Memory, Outcome
from tq.model.limits import Model
from tq.model.tasks import Task

MOST_REJECTIONS = 2  # a task is run again this often when its reply is off the list


@dataclass(frozen=True, slots=True)
class Answer:
    reply: Any | None
    rejected: str | None = None
    error: Exception | None = None


Asking = Generator[list[Task[Any]], list[Answer], Any]


@dataclass(slots=True)
class Usage:
    """What the calls of one job cost."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    elapsed_ms: float = 0.0
    cached_tokens: int = 0
    cost: float = 0.0
    chars_per_token: float = math.inf  # the least that a reply has shown

    def add(self, outcome: Outcome, model: Model | None) -> None:
        self.calls += not outcome.free
        self.cached_tokens += outcome.cached_tokens
        self.input_tokens += outcome.input_tokens
        self.output_tokens += outcome.output_tokens
        self.elapsed_ms += outcome.elapsed_ms
        if model is not None and (shown := model.shown(outcome.prompt_chars, outcome.input_tokens)):
            self.chars_per_token = min(self.chars_per_token, shown)


@dataclass(slots=True)
class Run:
    """One job in flight. Ends with a result or an error."""

    key: Hashable
    asking: Asking
    usage: Usage = field(default_factory=Usage)
    result: Any = None
    error: Exception | None = None
    _answers: list[Answer | None] = field(default_factory=list)
    _missing: int = 0

    def begin(self) -> list[Task[Any]]:
        """The first tasks; none when the job needs no model."""
        return self._advance(lambda: next(self.asking))

    def take(self, at: int, answer: Answer) -> list[Task[Any]]:
        """Give the answer of task number `at`; the next tasks once all are answered."""
        self._answers[at] = answer
        self._missing -= 1
        if self._missing:
            return []
        answers = [answer for answer in self._answers if answer is not None]
        return self._advance(lambda: self.asking.send(answers))

    @property
    def done(self) -> bool:
        return not self._missing

    def _advance(self, step: Callable[[], list[Task[Any]]]) -> list[Task[Any]]:
        try:
            tasks = step()
        except StopIteration as end:
            self.result = end.value
            tasks = []
        except Exception as failure:  # no database below: a job is pure
            self.error = failure
            tasks = []
        self._answers = [None] * len(tasks)
        self._missing = len(tasks)
        return tasks


class Pool:
    """Runs jobs with one driver. `finished` yields them as they end; more may be added whenever it does."""

    def __init__(
        self,
        driver: Driver,
        concurrency: int,
        pulse: Callable[[], None],
        gate: Gate | None = None,
        memory: Memory | None = None,
        model: Model | None = None,
    ) -> None:
        """model: the row of the driver, for what its replies show of it."""
        self._model = model
        # Errors come as outcomes: one job's failure ends that job alone.
        self._calls = Calls(driver, concurrency, pulse, gate=gate, memory=memory, raising=False)
        self._runs: dict[Hashable, Run] = {}
        self._ready: list[Run] = []

    @property
    def in_flight(self) -> int:
        return len(self._runs)

    def add(self, key: Hashable, asking: Asking) -> None:
        run = Run(key, asking)
        self._runs[key] = run
        self._submit(run, run.begin())

    def close(self) -> None:
        """Drop what is in flight."""
        self._calls.close()

    def finished(self, seconds: float, most: int, turn: float = math.inf) -> Iterator[list[Run]]:
        """Jobs in the order of their ends, those together that end within so many seconds, until none is left. turn: the
        caller has a turn after so long, whether one has ended or not."""
        while True:
            yield self._drain()
            for outcomes in self._calls.gathered(seconds, most, turn):
                for place, outcome in outcomes:
                    key, at = cast(tuple[Hashable, int], place)
                    run = self._runs[key]
                    run.usage.add(outcome, self._model)
                    self._submit(run, run.take(at, Answer(outcome.reply, outcome.rejected, outcome.error)))
                yield self._drain()
            if not self._ready:
                return

    def _drain(self) -> list[Run]:
        ended, self._ready = self._ready, []
        for run in ended:
            del self._runs[run.key]
        return ended

    def _submit(self, run: Run, tasks: list[Task[Any]]) -> None:
        for at, task in enumerate(tasks):
            self._calls.submit((run.key, at), task)
        if run.done:
            self._ready.append(run)


def ask_one(make: Callable[[tuple[str, ...]], Task[Any]]) -> Generator[list[Task[Any]], list[Answer], Any]:
    """Run one task until its reply is accepted: `make` gets the reasons of the rejections so far. Returns the reply.

    Raises the driver's error, or TQ104 when every reply was off the list.
    """
    rejected: tuple[str, ...] = ()
    while True:
        (answer,) = yield [make(rejected)]
        if answer.error is not None:
            raise answer.error
        if answer.rejected is None:
            return answer.reply
        rejected += (answer.rejected,)
        if len(rejected) > MOST_REJECTIONS:
            raise TqError("TQ104", "the model replied off the list too often", rejected[-1])
