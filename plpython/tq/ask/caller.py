"""The calls of one question: each model's lane, the budget, rejected replies asked for again, and what all of it cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any

from tq.ask import narrate, words
from tq.ask.budget import Budget
from tq.ask.records import Attempt, Cost, Ended
from tq.database import models
from tq.database.connection import Database
from tq.errors import TqError
from tq.model.driver import Calls, Driver, Lane, Outcome, Patience
from tq.model.limits import Model
from tq.model.tasks import Task
from tq.strategy.settings import Strategy

ATTEMPTS = 3  # at a call that fails for another reason than its request

Opener = Callable[[Model], Driver]


Then = Callable[[Ended], None]


@dataclass(slots=True, eq=False)
class _Running:
    """A task on its way."""

    task: Task[Any]
    then: Then
    document: str | None
    attempts: tuple[Attempt, ...] = ()
    input_tokens: int = 0
    output_tokens: int = 0
    elapsed_ms: float = 0.0


class Caller:
    """Runs the tasks of one question. A task that is submitted ends in `then`, in the caller's thread, during `drain`."""

    def __init__(
        self,
        database: Database,
        strategy: Strategy,
        by_purpose: Mapping[str, Model],
        opener: Opener,
        memory: models.QuestionMemory,
        budget: Budget,
        at_once: int,
    ) -> None:
        """by_purpose: the model of each purpose; that of `read` serves every other. at_once: calls of one model."""
        self._database = database
        self._rereads = strategy.rereads
        self._models = by_purpose
        self.budget = budget
        self._costs: dict[tuple[str | None, str], Cost] = {}
        self._done: Counter[str] = Counter()
        self.shown: dict[
            str, float
        ] = {}  # by model: the fewest characters a token that its replies have shown
        self.ended: Callable[[], None] | None = None  # called after each call that has ended
        self.say: Callable[[str], None] | None = (
            None  # told of each task that has ended, and of each reply rejected
        )
        self.steps: list[tuple[str | None, Ended]] = []  # tasks that are no reads, each with its document
        lanes: dict[str, Lane] = {}
        by_name: dict[str, Lane] = {}
        for purpose, model in by_purpose.items():
            if model.name not in by_name:
                by_name[model.name] = Lane(
                    opener(model), min(model.concurrency, at_once), models.gate_of(database, model)
                )
            lanes[purpose] = by_name[model.name]
        main = lanes["read"]
        self._calls = Calls(
            main.driver,
            main.concurrency,
            self._pulse,
            gate=main.gate,
            lanes={purpose: lane for purpose, lane in lanes.items() if lane is not main},
            memory=memory,
            patience=Patience(strategy.patience_seconds, ATTEMPTS),
        )

    def asked_with(self) -> dict[str, float]:
        """By model: the characters a token that its prompts were made for."""
        return {model.name: model.chars_per_token for model in self._models.values() if not model.computes}

    def model(self, purpose: str) -> Model:
        return self._models.get(purpose) or self._models["read"]

    @property
    def busy(self) -> bool:
        """Whether calls are on their way."""
        return self._calls.busy

    def done(self, purpose: str) -> int:
        """How many tasks of a purpose have ended."""
        return self._done[purpose]

    def submit(self, task: Task[Any], then: Then, document: str | None = None) -> bool:
        """Run a task, where the budget admits it. document: whose cost it is."""
        return self._submit(_Running(task, then, document))

    def drain(self) -> None:
        """Wait until no task is on its way, those included that are submitted meanwhile. Raises Spent, TqError."""
        calls: Any = self._calls.completed()
        with closing(calls) as completed:
            for running, outcome in completed:
                self._take(running, outcome)
                if self.ended is not None:
                    self.ended()

    def _submit(self, running: _Running) -> bool:
        if not self.budget.admit(running.task, self.model(running.task.purpose)):
            return False
        self._calls.submit(running, running.task)
        return True

    def _take(self, running: _Running, outcome: Outcome) -> None:
        self._charge(running.document, outcome)
        running.input_tokens += outcome.input_tokens
        running.output_tokens += outcome.output_tokens
        running.elapsed_ms += outcome.elapsed_ms
        reason = None if outcome.rejected is None else words.clean(outcome.rejected)
        running.attempts = (*running.attempts, Attempt(outcome.data or {}, reason))
        over_budget = False
        if reason is not None and len(running.attempts) <= self._rereads:
            rejected = tuple(str(one.rejected) for one in running.attempts)
            # Every task has `rejected`: the reasons are part of the next prompt.
            running.task = replace(running.task, rejected=rejected)  # type: ignore[call-arg]
            if self._submit(running):
                if self.say is not None:
                    self.say(narrate.again(running.task, reason))
                return
            over_budget = True
        self._done[running.task.purpose] += 1
        ended = Ended(
            running.task,
            outcome.reply,
            running.attempts,
            over_budget,
            running.input_tokens,
            running.output_tokens,
            running.elapsed_ms,
        )
        if ended.task.purpose != "read":
            self.steps.append((running.document, ended))
        if self.say is not None:
            self.say(narrate.line(ended))
        running.then(ended)

    def _pulse(self) -> None:
        self._database.pulse()
        self.budget.check_time()

    # ------------------------------------------------------------ cost

    def _charge(self, document: str | None, outcome: Outcome) -> None:
        purpose = outcome.task.purpose
        money = self.model(purpose).cost(outcome.input_tokens, outcome.output_tokens, outcome.cached_tokens)
        self.budget.settle(outcome, money)
        cost = self._costs.setdefault((document, purpose), Cost())
        cost.calls += not outcome.free
        cost.cached_tokens += outcome.cached_tokens
        cost.money += money
        cost.input_tokens += outcome.input_tokens
        cost.output_tokens += outcome.output_tokens
        cost.elapsed_ms += outcome.elapsed_ms
        model = self.model(purpose)
        if shown := model.shown(outcome.prompt_chars, outcome.input_tokens):
            self.shown[model.name] = min(shown, self.shown.get(model.name, shown))

    def total(self) -> dict[str, Any]:
        costs = self._costs.values()
        return {
            "calls": sum(cost.calls for cost in costs),
            "input_tokens": sum(cost.input_tokens for cost in costs),
            "output_tokens": sum(cost.output_tokens for cost in costs),
            "cached_tokens": sum(cost.cached_tokens for cost in costs),
            "money": round(sum(cost.money for cost in costs), 9),
        }

    def told(self) -> list[dict[str, Any]]:
        """What was called, for the record: a row a document and purpose."""
        return [
            {
                "document_id": document,
                "purpose": purpose,
                "model": self.model(purpose).name,
                "calls": cost.calls,
                "cached_tokens": cost.cached_tokens,
                "cost": cost.money,
                "input_tokens": cost.input_tokens,
                "output_tokens": cost.output_tokens,
                "elapsed_ms": round(cost.elapsed_ms, 3),
            }
            for (document, purpose), cost in sorted(
                self._costs.items(), key=lambda item: (item[0][0] or "", item[0][1])
            )
        ]

    def put_into(self, error: TqError) -> None:
        """What was spent, in the error: the records of a question that raises roll back."""
        total = self.total()
        error.calls = self.told()
        if total["calls"]:
            spent = (
                f"It had cost {words.count(total['calls'], 'call')}, {total['input_tokens']} tokens in and "
                f"{total['output_tokens']} out, {total['money']:g} in money."
            )
            error.detail = f"{error.detail.rstrip('.')}. {spent}" if error.detail else spent
