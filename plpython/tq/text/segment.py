"""Where a new context starts: by structure first, by lexical cohesion where structure is silent.

Cohesion after the idea of TextTiling (Hearst 1997): the words left and right of a gap are compared, and a gap is a
boundary where their likeness falls into a valley.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from tq.text import headings
from tq.text.tokens import terms

BLOCK_TERMS = 60
"""Terms on each side of a gap that are compared."""
MIN_TERMS = 25
"""Terms that a context holds at least, where only cohesion speaks for a cut."""


@dataclass(frozen=True, slots=True)
class Row:
    """One line as the converter saw it. kind: text, heading, table, code or furniture."""

    number: int
    text: str
    kind: str = "text"
    level: int | None = None


@dataclass(frozen=True, slots=True)
class Boundary:
    """A new context starts at ``line``; title and level where a heading opens it."""

    line: int
    title: str | None = None
    level: int | None = None


def heading_of(rows: Sequence[Row], index: int) -> int | None:
    """Level of the row as a heading, by the converter's word or, for plain text, by its looks."""
    row = rows[index]
    if row.kind == "heading":
        return min(6, max(1, row.level or 1))
    if row.kind != "text" or not row.text or len(row.text) > 200:
        return None
    before = rows[index - 1].text if index else None
    after = rows[index + 1].text if index + 1 < len(rows) else None
    return headings.heading_level(row.text, before, after)


def title_of(text: str) -> str:
    """A heading's words without its markup, at most 200 characters."""
    return text.strip().strip("#*=_~ \t").strip()[:200]


def _is_table(row: Row) -> bool:
    return row.kind == "table" or (row.kind == "text" and headings.is_table_row(row.text))


def _cosine(a: Counter[str], b: Counter[str]) -> float:
    if not a or not b:
        return 0.0
    if len(a) > len(b):
        a, b = b, a
    dot = sum(count * b[term] for term, count in a.items() if term in b)
    if not dot:
        return 0.0
    return dot / math.sqrt(sum(c * c for c in a.values()) * sum(c * c for c in b.values()))


def boundaries(rows: Sequence[Row], first: int, last: int, language: str = "none") -> list[Boundary]:
    """Boundaries at rows whose number is ``first`` to ``last``; the rows around them are read for context only."""
    # Page headers and footers interrupt a context, they never start or end one.
    kept = [row for row in rows if row.kind != "furniture"]
    found: dict[int, Boundary] = {}
    gaps: list[int] = []
    headed = [False] * len(kept)
    for index, row in enumerate(kept):
        blank = headings.is_blank(row.text)
        if blank:
            continue
        inside = first <= row.number <= last
        level = heading_of(kept, index)
        previous = _before(kept, index)
        if level is not None:
            headed[index] = True
            if inside:
                found[row.number] = Boundary(row.number, title_of(row.text) or None, level)
            continue
        if previous is None:
            continue
        table, was_table = _is_table(row), _is_table(kept[previous])
        if headed[previous]:
            continue
        if table and not was_table:
            # A caption or the sentence that announces the table stays with it.
            start = previous if _announces(kept, previous, index) else index
            if first <= kept[start].number <= last and not (start and headed[start - 1]):
                found.setdefault(kept[start].number, Boundary(kept[start].number))
        elif was_table and not table:
            if inside:
                found.setdefault(row.number, Boundary(row.number))
        elif not table and _may_start(kept, previous, index):
            gaps.append(index)
    for index in _valleys(kept, gaps, language):
        number = kept[index].number
        if first <= number <= last:
            found.setdefault(number, Boundary(number))
    return [found[number] for number in sorted(found)]


def _before(rows: Sequence[Row], index: int) -> int | None:
    """The nearest row above that is not blank."""
    index -= 1
    while index >= 0:
        if not headings.is_blank(rows[index].text):
            return index
        index -= 1
    return None


def _announces(rows: Sequence[Row], previous: int, index: int) -> bool:
    text = rows[previous].text.strip()
    return (
        index - previous <= 2 and len(text) <= 240 and (text[-1:] in ":：" or text[:5].casefold() == "table")
    )


def _may_start(rows: Sequence[Row], previous: int, index: int) -> bool:
    """Whether a context could start here at all: a new paragraph, a new speaker, or after a sentence's end."""
    if index - previous > 1:
        return True
    row, before = rows[index].text, rows[previous].text.rstrip()
    if headings.speaker(row) is not None:
        return True
    return len(before) > 250 and before[-1:] in '.!?。！？؟।:"”'


def _valleys(rows: Sequence[Row], gaps: list[int], language: str) -> list[int]:
    """The gaps at which the words change most, each a good stretch away from the next."""
    if len(gaps) < 3:
        return []
    bags = [terms(row.text[:4000], language) if row.kind != "code" else [] for row in rows]
    likeness: list[float] = []
    for gap in gaps:
        left: list[str] = []
        at = gap - 1
        while at >= 0 and len(left) < BLOCK_TERMS:
            left += bags[at]
            at -= 1
        right: list[str] = []
        at = gap
        while at < len(rows) and len(right) < BLOCK_TERMS:
            right += bags[at][: BLOCK_TERMS - len(right)] if len(bags[at]) > BLOCK_TERMS else bags[at]
            at += 1
        likeness.append(_cosine(Counter(left[: 2 * BLOCK_TERMS]), Counter(right)))
    depths = _depths(likeness)
    mean = sum(depths) / len(depths)
    spread = math.sqrt(sum((depth - mean) ** 2 for depth in depths) / len(depths))
    limit = mean + spread / 2
    chosen: list[int] = []
    size = position = 0
    for at, (gap, depth) in enumerate(zip(gaps, depths, strict=True)):
        size += sum(len(bag) for bag in bags[position:gap])
        position = gap
        deepest = depth >= max(depths[max(0, at - 2) : at + 3])
        if deepest and depth > limit and depth > 0.05 and size >= MIN_TERMS:
            chosen.append(gap)
            size = 0
    return chosen


def _depths(likeness: list[float]) -> list[float]:
    """How deep each gap lies below the nearest peaks on both sides (at most 12 gaps away)."""
    out: list[float] = []
    for index, value in enumerate(likeness):
        left = right = value
        for at in range(index - 1, max(-1, index - 13), -1):
            if likeness[at] < left:
                break
            left = likeness[at]
        for at in range(index + 1, min(len(likeness), index + 13)):
            if likeness[at] < right:
                break
            right = likeness[at]
        out.append((left - value) + (right - value))
    return out
