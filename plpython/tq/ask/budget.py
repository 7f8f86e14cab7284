"""What a question may cost: calls, tokens, money and seconds, as its strategy says. A call is admitted only where its
worst case still fits, so that no budget is overshot by what was in flight."""

from __future__ import annotations

import time
from typing import Any

from tq.ask.words import say
from tq.model.driver import Outcome
from tq.model.limits import Model
from tq.model.tasks import Task
from tq.strategy.settings import Strategy


class Spent(Exception):
    """The time of a question is over."""


class Budget:
    """Reckons admitted calls by their worst case until they have ended, then by what they did cost."""

    def __init__(self, strategy: Strategy, started: float) -> None:
        self._strategy = strategy
        self._deadline = None if strategy.max_seconds is None else started + strategy.max_seconds
        self._calls = 0
        self._tokens = 0
        self._money = 0.0
        self._reserved: dict[int, tuple[int, float]] = {}
        self.reason = ""  # which part of the budget is spent, in words; "" while none is

    def admit(self, task: Task[Any], model: Model) -> bool:
        """Whether the call may be made; its worst case is reserved."""
        strategy = self._strategy
        sent = model.tokens(len(task.prompt())) if strategy.max_tokens or strategy.max_cost else 0
        tokens, money = sent + model.output_tokens, model.cost(sent, model.output_tokens)
        if strategy.max_calls is not None and self._calls + 1 > strategy.max_calls:
            self._spend(say("{n} calls", n=strategy.max_calls))
        elif strategy.max_tokens is not None and self._tokens + tokens > strategy.max_tokens:
            self._spend(say("{n} tokens", n=strategy.max_tokens))
        elif strategy.max_cost is not None and self._money + money > strategy.max_cost:
            self._spend(say("{n} in money", n=f"{strategy.max_cost:g}"))
        else:
            self._calls += 1
            self._tokens += tokens
            self._money += money
            self._reserved[id(task)] = (tokens, money)
            return True
        return False

    def settle(self, outcome: Outcome, money: float) -> None:
        """A call has ended: its worst case is given back, its cost stays."""
        reserved, reserved_money = self._reserved.pop(id(outcome.task), (0, 0.0))
        self._tokens += outcome.input_tokens + outcome.output_tokens - reserved
        self._money += money - reserved_money
        self._calls -= outcome.free

    def check_time(self) -> None:
        """Raises Spent after the deadline."""
        if self._deadline is not None and time.perf_counter() > self._deadline:
            self._spend(say("{n} seconds", n=f"{self._strategy.max_seconds:g}"))
            raise Spent

    def _spend(self, what: str) -> None:
        name = self._strategy.name
        self.reason = self.reason or say(
            "the strategy {strategy} allows {what} a question", strategy=name, what=what
        )
