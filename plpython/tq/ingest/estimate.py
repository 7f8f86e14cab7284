"""What ingest of a document will cost, before it is paid: its own steps, run dry with the embedded driver in the place
of the model. Windows, leaves and prompts are then those of the real run as far as boundaries and bullets fall alike."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tq.ingest.calls import Answer, Asking
from tq.ingest.cut import BLANK, CODE, FURNITURE, HEADING, SENTENCE_END, TABLE, Boundary, cut
from tq.ingest.marking import Marked, mark
from tq.ingest.rollup import Leaf, roll_up
from tq.ingest.summary import Bullet, Summary, bullet_items, leaf_items, summarise
from tq.ingest.windows import Windows, cost, is_nothing, shown_chars
from tq.model.driver import checked, count_tokens
from tq.model.extractive import Extractive
from tq.model.limits import Model
from tq.model.tasks import Line

PAGE_TOKENS = 500
_ENDS = tuple(".!?…。！？؟।:;")
_KINDS = {"heading": HEADING, "table": TABLE, "code": CODE, "furniture": FURNITURE}


@dataclass(slots=True)
class Cost:
    """Calls of one purpose, and their tokens."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0


class Estimate:
    """The cost of one document by purpose. `pulse` is called between calls and may raise."""

    def __init__(self, mark_model: Model, model: Model, pulse: Callable[[], None]) -> None:
        self._models = {"mark": mark_model, "summarise": model}
        self._pulse = pulse
        self.costs = {purpose: Cost() for purpose in self._models}

    def run(self, lines: Sequence[Line], language: str) -> None:
        """lines: all of the document, numbered from 1."""
        found = self._marks(lines, language)
        fit = self._models["summarise"].fit
        costs = [cost(len(line.text), is_nothing(line.text)) for line in lines]
        leaves, _ = cut(costs, [_flags(line) for line in lines], found, fit)
        bullets: dict[str, list[Bullet]] = {}
        rolled: list[Leaf] = []
        for number, leaf in enumerate(leaves):
            rolled.append(Leaf(str(number), leaf.start, leaf.end, leaf.title, leaf.level))
            if not leaf.blank:
                items = leaf_items(lines[leaf.start - 1 : leaf.end], fit.piece_chars)
                bullets[str(number)] = self._summary(summarise(items, fit, leaf.title or "", language))
        headings = [boundary for boundary in found.values() if boundary.level is not None]
        for parent in roll_up(rolled, headings, fit.fan_out):
            below = [bullet for child in parent.children for bullet in bullets.get(child, ())]
            if below:
                items = bullet_items((one.text, one.line_start, one.line_end) for one in below)
                bullets[parent.id] = self._summary(
                    summarise(items, fit, parent.title or "", language, parent=True)
                )

    def rows(self) -> list[dict[str, Any]]:
        """One row a purpose, and one for all."""
        rows = []
        pages = self.pages
        for purpose, one in self.costs.items():
            money = self._models[purpose].ingest_cost(one.input_tokens, one.output_tokens)
            rows.append(_row(purpose, one.calls, one.input_tokens, one.output_tokens, money, pages))
        calls, sent, received, money = (
            sum(row[name] for row in rows) for name in ("calls", "input_tokens", "output_tokens", "cost")
        )
        return [*rows, _row("all", calls, sent, received, money, pages)]

    pages: float = 0.0

    def _marks(self, lines: Sequence[Line], language: str) -> dict[int, Boundary]:
        model = self._models["mark"]
        shown = shown_chars(model.fit.window_chars)
        windows = Windows(model.fit.window_chars, shown)
        for line in lines:
            windows.add(line.number, len(line.text), is_nothing(line.text))
        windows.finish()
        self.pages = model.tokens(sum(len(line.text) + 1 for line in lines)) / PAGE_TOKENS
        clipped = [Line(line.number, line.text[:shown], line.kind, line.level) for line in lines]
        parts = [clipped[start - 1 : end] for start, end, _ in windows.found]
        found: dict[int, Boundary] = {}
        for at, (_, _, blank) in enumerate(windows.found):
            if blank:
                continue
            before = parts[at - 1] if at else []
            after = parts[at + 1] if at + 1 < len(parts) else []
            marked: Marked = self._drive("mark", mark(before, parts[at], after, language, model))
            found.update({boundary.line_no: boundary for boundary in marked.boundaries})
        return found

    def _summary(self, asking: Asking) -> list[Bullet]:
        summary: Summary = self._drive("summarise", asking)
        return summary.bullets

    def _drive(self, purpose: str, asking: Asking) -> Any:
        model, total = self._models[purpose], self.costs[purpose]
        driver, stop = Extractive(model), threading.Event()
        answers: list[Answer] | None = None
        while True:
            try:
                tasks = next(asking) if answers is None else asking.send(answers)
            except StopIteration as end:
                return end.value
            answers = []
            for task in tasks:
                self._pulse()
                reply = driver.reply(task, stop)
                sent, received = count_tokens(model, task, reply.data)
                total.calls += 1
                total.input_tokens += sent
                total.output_tokens += received
                outcome = checked(task, reply, 0.0)
                answers.append(Answer(outcome.reply, outcome.rejected))


def _flags(line: Line) -> int:
    blank = BLANK if is_nothing(line.text) else 0
    ends = SENTENCE_END if line.text.rstrip(" \t\"”’»)]'").endswith(_ENDS) else 0
    return blank | ends | _KINDS.get(line.kind, 0)


def _row(purpose: str, calls: int, sent: int, received: int, money: float, pages: float) -> dict[str, Any]:
    return {
        "purpose": purpose,
        "calls": calls,
        "input_tokens": sent,
        "output_tokens": received,
        "cost": round(money, 6),
        "pages": round(pages, 2),
    }


def numbered(rows: Iterator[list[dict[str, Any]]]) -> list[Line]:
    """Lines of a stored document."""
    return [Line(row["line_no"], row["text"], row["kind"], row["level"]) for batch in rows for row in batch]
