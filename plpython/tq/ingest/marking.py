"""First run: the boundaries of one window, read with the windows before and after it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from tq.ingest.calls import Asking, ask_one
from tq.ingest.cut import Boundary
from tq.ingest.windows import NUMBER_CHARS, shown_chars
from tq.model.limits import Model
from tq.model.tasks import Line, Mark, MarkReply
from tq.text.facts import missing_facts

MAX_TITLE = 200


@dataclass(frozen=True, slots=True)
class Marked:
    boundaries: list[Boundary] = field(default_factory=list)
    fallback: str | None = None  # why the model's marks are not there


def mark(
    previous: Sequence[Line],
    current: Sequence[Line],
    following: Sequence[Line],
    language: str,
    model: Model | None = None,
) -> Asking:
    """A job that returns Marked. Where the windows were cut when the model had room for more, the current one is read in
    parts, and the ends far from it are not shown."""
    found: dict[int, Boundary] = {}
    texts = {line.number: line.text for line in current}
    parts = _parts(current, model)
    for at, part in enumerate(parts):
        before = [*previous, *(line for other in parts[:at] for line in other)]
        after = [*(line for other in parts[at + 1 :] for line in other), *following]
        reply: MarkReply = yield from ask_one(partial(_task, before, part, after, language, model))
        for boundary in reply.boundaries:
            title = _title(
                boundary.title or _words(texts[boundary.line], boundary.level), boundary.line, texts
            )
            found.setdefault(boundary.line, Boundary(boundary.line, title, boundary.level))
    return Marked(sorted(found.values(), key=lambda boundary: boundary.line_no))


def _parts(current: Sequence[Line], model: Model | None) -> list[Sequence[Line]]:
    """The current window in stretches that leave room for something around them: one, as a rule."""
    if model is None or sum(map(_size, current)) <= 2 * model.fit.window_chars:
        return [current]
    shown = shown_chars(model.fit.window_chars)
    parts: list[list[Line]] = [[]]
    filled = 0
    for line in (replace(line, text=line.text[:shown]) for line in current):
        if filled and filled + _size(line) > model.fit.window_chars:
            parts.append([])
            filled = 0
        parts[-1].append(line)
        filled += _size(line)
    return list(parts)


def _task(
    previous: Sequence[Line],
    current: Sequence[Line],
    following: Sequence[Line],
    language: str,
    model: Model | None,
    rejected: tuple[str, ...],
) -> Mark:
    most = model.fit.boundaries if model else Mark.max_boundaries
    task = Mark(previous, current, following, language=language, rejected=rejected, max_boundaries=most)
    return fitting(task, model.input_chars if model else None)


def fitting(task: Mark, room: int | None) -> Mark:
    """The task with as much of the neighbours as fits the model's input."""
    while room is not None and (over := len(task.prompt()) - room) > 0 and (task.previous or task.following):
        # The farther end of the longer neighbour goes first.
        before, after = (sum(map(_size, lines)) for lines in (task.previous, task.following))
        if before > after:
            task = replace(task, previous=_shorter(task.previous, over))
        else:
            task = replace(task, following=_shorter(task.following[::-1], over)[::-1])
    return task


def _size(line: Line) -> int:
    return len(line.text) + NUMBER_CHARS


def _shorter(lines: Sequence[Line], over: int) -> Sequence[Line]:
    """Without its first lines, at least `over` characters of them or all."""
    for at, line in enumerate(lines):
        if over <= 0:
            return lines[at:]
        over -= _size(line)
    return ()


def by_headings(current: Sequence[Line], reason: str) -> Marked:
    """What is left when the model fails altogether: the headings that the converter knows."""
    headings = [
        Boundary(line.number, _words(line.text, 6)[:MAX_TITLE] or None, line.level or 6)
        for line in current
        if line.kind == "heading"
    ]
    return Marked(headings, reason)


def _words(text: str, level: int | None) -> str:
    """A heading's own words; nothing of a line that is none."""
    return "" if level is None else text.strip(" \t#")


def _title(title: str | None, line_no: int, texts: dict[int, str]) -> str | None:
    """A title that says nothing the line and its neighbours do not say, or none."""
    title = " ".join((title or "").split())[:MAX_TITLE]
    if not title:
        return None
    if title in texts[line_no]:
        return title
    near = [texts[number] for number in range(line_no - 1, line_no + 5) if number in texts]
    return None if missing_facts(title, near) else title
