"""First run: the boundaries of one window, read with the windows before and after it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tq.ingest.calls import Asking, ask_one
from tq.ingest.cut import Boundary
from tq.model.tasks import Line, Mark, MarkReply
from tq.text.facts import missing_facts

MAX_TITLE = 200


@dataclass(frozen=True, slots=True)
class Marked:
    boundaries: list[Boundary] = field(default_factory=list)
    fallback: str | None = None  # why the model's marks are not there


def mark(
    previous: Sequence[Line], current: Sequence[Line], following: Sequence[Line], language: str
) -> Asking:
    """A job that returns Marked."""
    reply: MarkReply = yield from ask_one(
        lambda rejected: Mark(previous, current, following, language=language, rejected=rejected)
    )
    texts = {line.number: line.text for line in current}
    found: dict[int, Boundary] = {}
    for boundary in reply.boundaries:
        found.setdefault(
            boundary.line,
            Boundary(boundary.line, _title(boundary.title, boundary.line, texts), boundary.level),
        )
    return Marked(sorted(found.values(), key=lambda boundary: boundary.line_no))


def by_headings(current: Sequence[Line], reason: str) -> Marked:
    """What is left when the model fails altogether: the headings that the converter knows."""
    headings = [
        Boundary(line.number, line.text.strip(" \t#")[:MAX_TITLE] or None, line.level or 6)
        for line in current
        if line.kind == "heading"
    ]
    return Marked(headings, reason)


def _title(title: str | None, line_no: int, texts: dict[int, str]) -> str | None:
    """A title that says nothing the line and its neighbours do not say, or none."""
    title = " ".join((title or "").split())[:MAX_TITLE]
    if not title:
        return None
    if title in texts[line_no]:
        return title
    near = [texts[number] for number in range(line_no - 1, line_no + 5) if number in texts]
    return None if missing_facts(title, near) else title
