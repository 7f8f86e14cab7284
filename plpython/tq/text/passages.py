"""Sentences, table rows and turns of a node's items, each knowing the verbatim parts of the items it stands on."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from tq.text import headings
from tq.text.sentences import sentences

FRONT_LINES = 20
"""Lines at the top of a document that may hold its title and its date."""
HEADER_ROWS = 4
"""Rows at the top of a table that may name its columns."""
_YEARS = re.compile(
    r"\b(?:1[5-9]|20)\d{2}\b|\b[A-Z][a-z]{2,8}\.? \d{1,2}\b|\b\d{1,2}\.? [A-Z][a-zä]{2,8}\b|\(\d\)"
)
_NUMBERED = re.compile(r"\(?(?:\d{1,3}|[a-z])[.)]\s")
_FIGURE = re.compile(r"\d")
JOIN_LINES = 40
"""Lines that one wrapped paragraph is followed over, at most."""


@dataclass(frozen=True, slots=True)
class Source:
    """An item of a node: a line, a piece of a long line, or a bullet."""

    number: int
    text: str
    kind: str = "text"
    level: int | None = None


@dataclass(slots=True)
class Passage:
    """One sentence, row or turn. parts: (index of the item, start, end) of each verbatim part, in order.

    kind: sentence, row or heading. group: passages of one paragraph or table share it.
    context: texts that say what the passage is about without being in it (headings, a table's header row).
    line: number of the item it begins in.
    """

    text: str
    parts: list[tuple[int, int, int]]
    kind: str
    group: int
    context: tuple[str, ...] = ()
    speaker: str = ""
    line: int = 0
    terms: dict[str, int] = field(default_factory=dict)


def _joins(before: Source, after: Source) -> bool:
    """Whether ``after`` goes on with the sentence that ``before`` leaves open."""
    left, right = before.text.rstrip(), after.text.lstrip()
    if not left or not right or after.kind != "text" or before.kind != "text":
        return False
    if before.number == after.number:
        return True  # pieces of one long line
    if headings.is_table_row(after.text) or headings.speaker(after.text) is not None:
        return False
    if right[0] in "-*•#>|" or _NUMBERED.match(right):
        return False
    if left[-1] in ".!?。！？؟।:;：；":
        return False
    return right[0].islower() or len(left) >= 30 or left[-1] in ",-–("


def passages(items: Sequence[Source]) -> list[Passage]:
    """Every passage of the items in order. Page headers and footers are left out, headings are context."""
    out: list[Passage] = []
    trail: list[tuple[int, str]] = []
    header = ""
    group = 0
    index = 0
    lead = ""
    rows = 0
    while index < len(items):
        item = items[index]
        text = item.text
        if item.kind == "furniture" or headings.is_blank(text):
            if item.kind != "furniture":
                group += 1
            index += 1
            continue
        level = _level(items, index)
        context = tuple(title for _, title in trail)
        if level is not None:
            group += 1
            while trail and trail[-1][0] >= level:
                trail.pop()
            title = text.strip().strip("#*=_ ")
            trail.append((level, title))
            out.append(Passage(text.strip(), [_trimmed(text, index)], "heading", group, context))
            header = lead = ""
            index += 1
            continue
        if item.kind == "table" or (item.kind != "code" and headings.is_table_row(text)):
            if not header:
                group += 1
                rows = 0
            if not header or (rows < HEADER_ROWS and _is_header(text)):
                # A table may name its columns in several rows: the kind of figure, the year, the unit.
                header = f"{header} {text}"
                out.append(Passage(text.strip(), [_trimmed(text, index)], "header", group, (*context, lead)))
            elif not _is_rule(text):
                rows = HEADER_ROWS
                out.append(
                    Passage(text.strip(), [_trimmed(text, index)], "row", group, (*context, lead, header))
                )
            rows += 1
            index += 1
            continue
        header = ""
        last = index
        while (
            last + 1 < len(items)
            and last + 1 - index < JOIN_LINES
            and item.kind == "text"
            and _level(items, last + 1) is None
            and _joins(items[last], items[last + 1])
        ):
            last += 1
        _sentences(items, index, last, group, context, out)
        lead = items[last].text[-300:]
        index = last + 1
    for passage in out:
        passage.line = items[passage.parts[0][0]].number
    return out


def _level(items: Sequence[Source], index: int) -> int | None:
    item = items[index]
    if item.kind == "heading":
        return item.level or 1
    if item.kind != "text" or len(item.text) > 200:
        return None
    before = items[index - 1].text if index else None
    after = items[index + 1].text if index + 1 < len(items) else None
    return headings.heading_level(item.text, before, after)


def _is_rule(text: str) -> bool:
    """The line of dashes under a table's header."""
    return not text.strip("|-:+= \t")


def _is_header(text: str) -> bool:
    """Whether a row states no figure: no digits but those of years and dates."""
    return not _is_rule(text) and _FIGURE.search(_YEARS.sub("", text)) is None


def _trimmed(text: str, index: int) -> tuple[int, int, int]:
    start = len(text) - len(text.lstrip())
    return index, start, start + len(text.strip())


def _sentences(
    items: Sequence[Source], first: int, last: int, group: int, context: tuple[str, ...], out: list[Passage]
) -> None:
    """Sentences of items ``first`` to ``last`` read as one paragraph."""
    if first == last:
        text = items[first].text
        who = headings.speaker(text) or ""
        for start, end in sentences(text):
            out.append(Passage(text[start:end], [(first, start, end)], "sentence", group, context, who))
        return
    starts: list[int] = []
    chunks: list[str] = []
    at = 0
    for index in range(first, last + 1):
        starts.append(at)
        chunks.append(items[index].text)
        at += len(items[index].text) + 1
    joined = " ".join(chunks)
    row = 0
    for start, end in sentences(joined):
        while row + 1 < len(starts) and starts[row + 1] <= start:
            row += 1
        parts: list[tuple[int, int, int]] = []
        line = row
        while line < len(starts) and starts[line] < end:
            text = chunks[line]
            left = max(0, start - starts[line])
            right = min(len(text), end - starts[line])
            while left < right and text[left].isspace():
                left += 1
            while right > left and text[right - 1].isspace():
                right -= 1
            if left < right:
                parts.append((first + line, left, right))
            line += 1
        if parts:
            out.append(Passage(joined[start:end], parts, "sentence", group, context))
