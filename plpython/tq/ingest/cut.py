"""Final windows: a document is cut at its boundaries into leaves that tile it, one pass over two small arrays.

Rules, in their order:
  1. A stretch begins at every boundary, and a table of some size is a stretch of its own.
  2. Headings without text go with what follows them, unless a section of the same or a higher level follows.
  3. A stretch longer than leaf_max_chars is cut at its best lines into even parts (recorded).
  4. Neighbours shorter than leaf_min_chars are merged, never across a heading (recorded). Only sections that hold next
     to nothing merge with their like: lists that look like headings would else become a leaf a line.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tq.model.limits import Fit

# Flags of a line, as tq.database.ingest.CUT_LINES computes them.
BLANK = 1  # or furniture, such as a running header: it holds no fact
SENTENCE_END = 2
HEADING = 4
TABLE = 8
CODE = 16
FURNITURE = 32

TABLE_ROWS = 3  # shorter runs of rows are text
NOTES = 100  # merges, and forced cuts, that are recorded one by one


@dataclass(frozen=True, slots=True)
class Boundary:
    line_no: int
    title: str | None = None
    level: int | None = None


@dataclass(frozen=True, slots=True)
class Leaf:
    """Lines start..end, inclusive. level and title of the section it opens, if it opens one."""

    start: int
    end: int
    chars: int  # as shown, numbers included
    title: str | None = None
    level: int | None = None
    kind: str = "text"
    blank: bool = False


@dataclass(frozen=True, slots=True)
class Note:
    """A row of tq.omission: what was kept away, or done to the author's own structure because of a limit."""

    kind: str
    detail: str
    start: int | None = None
    end: int | None = None
    page: int | None = None


def cut(
    costs: Sequence[int], flags: Sequence[int], boundaries: Mapping[int, Boundary], fit: Fit
) -> tuple[list[Leaf], list[Note]]:
    """Leaves of the lines 1..len(costs), and the notes. costs: characters of each line as shown; flags: bits above."""
    if not costs:
        return [], []
    document = _Document(costs, flags)
    stretches = _with_headings(document, _stretches(document, boundaries, fit), boundaries)
    forced: list[Note] = []
    merged: list[Note] = []
    leaves: list[Leaf] = []
    for stretch in stretches:
        if stretch.chars > fit.leaf_max_chars and stretch.end > stretch.start:
            parts = _parts(document, stretch, fit.leaf_max_chars)
            forced.append(
                Note(
                    "forced cut",
                    f"lines {stretch.start} to {stretch.end} belong together but are too long for one leaf; "
                    f"they were cut into {len(parts)}",
                    stretch.start,
                    stretch.end,
                )
            )
            leaves += parts
        elif leaves and _may_merge(leaves[-1], stretch, fit):
            leaves[-1] = _merge(leaves[-1], stretch, merged)
        else:
            leaves.append(stretch)
    return leaves, _bounded(forced) + _bounded(merged)


class _Document:
    def __init__(self, costs: Sequence[int], flags: Sequence[int]) -> None:
        self.costs = costs
        self.flags = flags
        self.count = len(costs)

    def leaf(self, start: int, end: int, boundary: Boundary | None, kind: str = "text") -> Leaf:
        chars = sum(self.costs[start - 1 : end])
        blank = all(flag & BLANK for flag in self.flags[start - 1 : end])
        title, level = (boundary.title, boundary.level) if boundary else (None, None)
        return Leaf(start, end, chars, title, level, kind, blank)

    def heading_only(self, leaf: Leaf, boundaries: Mapping[int, Boundary]) -> bool:
        """Whether a stretch is its headings and nothing else."""
        if leaf.level is None:
            return False
        for line_no in range(leaf.start, leaf.end + 1):
            if self.flags[line_no - 1] & (BLANK | HEADING):
                continue
            boundary = boundaries.get(line_no)
            if boundary is None or boundary.level is None:
                return False
        return True


def _stretches(document: _Document, boundaries: Mapping[int, Boundary], fit: Fit) -> list[Leaf]:
    tables = _tables(document, fit)
    starts = {1}
    for first, last in tables:
        starts.add(first)
        following = last + 1
        while following <= document.count and document.flags[following - 1] & BLANK:
            following += 1
        if following <= document.count:
            starts.add(following)
    firsts = [first for first, _ in tables]
    for line_no, boundary in boundaries.items():
        if not 1 <= line_no <= document.count:
            continue
        at = bisect_right(firsts, line_no) - 1
        # A table is kept whole: only a heading may divide it.
        if boundary.level is None and at >= 0 and tables[at][0] < line_no <= tables[at][1]:
            continue
        starts.add(line_no)
    ordered = sorted(starts)
    ends = [start - 1 for start in ordered[1:]] + [document.count]
    kinds = set(firsts)
    found = [
        document.leaf(start, end, boundaries.get(start), "table" if start in kinds else "text")
        for start, end in zip(ordered, ends, strict=True)
    ]
    # Blank lines at the very top belong to what they stand above.
    if len(found) > 1 and found[0].blank:
        second = found[1]
        found[:2] = [replace(second, start=1, chars=found[0].chars + second.chars)]
    return found


def _tables(document: _Document, fit: Fit) -> list[tuple[int, int]]:
    """Runs of table rows that are a node of their own."""
    found: list[tuple[int, int]] = []
    flags, costs = document.flags, document.costs
    at = 0
    while at < document.count:
        if not flags[at] & TABLE:
            at += 1
            continue
        first, chars = at, 0
        while at < document.count and flags[at] & TABLE:
            chars += costs[at]
            at += 1
            # The foot of a page and the head of the next interrupt no table.
            after = at
            while after < document.count and flags[after] & FURNITURE:
                after += 1
            if after > at and after < document.count and flags[after] & TABLE:
                chars += sum(costs[at:after])
                at = after
        if at - first >= TABLE_ROWS and chars >= fit.leaf_min_chars:
            found.append((first + 1, at))
    return found


def _with_headings(
    document: _Document, stretches: list[Leaf], boundaries: Mapping[int, Boundary]
) -> list[Leaf]:
    found: list[Leaf] = []
    above: Leaf | None = None  # headings that wait for their text
    lowest = 0  # level of the last of them
    for stretch in stretches:
        if above is not None:
            if stretch.level is None or stretch.level > lowest:
                stretch = replace(
                    stretch,
                    start=above.start,
                    chars=above.chars + stretch.chars,
                    title=stretch.title or above.title,
                    level=above.level,
                    blank=False,
                )
                own = boundaries.get(stretch.end) or Boundary(0)
                lowest = max(lowest, own.level or 0)
            else:
                found.append(above)
                lowest = 0
            above = None
        if document.heading_only(stretch, boundaries):
            above = stretch
            levels = [
                boundary.level
                for line_no in range(stretch.start, stretch.end + 1)
                if (boundary := boundaries.get(line_no)) is not None and boundary.level is not None
            ]
            lowest = levels[-1] if levels else (stretch.level or 0)
            continue
        found.append(stretch)
    if above is not None:
        found.append(above)
    return found


def _parts(document: _Document, stretch: Leaf, limit: int) -> list[Leaf]:
    """Even parts of an overlong stretch, none longer than `limit` unless it is a single line."""
    costs = document.costs
    parts: list[Leaf] = []
    start = stretch.start
    left = stretch.chars
    while left > limit and start < stretch.end:
        target = left / -(-left // limit)
        filled = 0
        best, best_score = start, -1.0
        line_no = start
        # A cut before line_no leaves `filled` characters in this part.
        while line_no <= stretch.end:
            if line_no > start:
                if filled > limit:
                    break
                if filled >= target / 2 or filled + costs[line_no - 1] > limit:
                    score = _cut_quality(document, line_no) - abs(filled - target) / limit
                    if score > best_score:
                        best, best_score = line_no, score
            filled += costs[line_no - 1]
            line_no += 1
        if best == start:
            best = start + 1  # one line that is longer than a leaf
        part = sum(costs[start - 1 : best - 1])
        parts.append(_part(document, stretch, start, best - 1, first=not parts))
        start = best
        left -= part
    parts.append(_part(document, stretch, start, stretch.end, first=not parts))
    return parts


def _part(document: _Document, stretch: Leaf, start: int, end: int, *, first: bool) -> Leaf:
    boundary = Boundary(start, stretch.title, stretch.level if first else None)
    return document.leaf(start, end, boundary, stretch.kind)


def _cut_quality(document: _Document, line_no: int) -> float:
    """How good it is to cut before a line; the distance from an even cut takes at most 1 off."""
    here, before = document.flags[line_no - 1], document.flags[line_no - 2]
    if here & HEADING:
        return 6.0
    if before & BLANK and not here & BLANK:
        return 5.0
    if before & HEADING:
        return 1.0  # a heading stays with what follows
    if (here ^ before) & (TABLE | CODE):
        return 4.0
    if before & SENTENCE_END and not here & BLANK:
        return 3.0
    return 2.0


def _may_merge(before: Leaf, after: Leaf, fit: Fit) -> bool:
    total = before.chars + after.chars
    if total > fit.leaf_max_chars or before.kind != after.kind:
        return after.blank and total <= fit.leaf_max_chars
    if after.level is None:
        return min(before.chars, after.chars) < fit.leaf_min_chars
    tiny = fit.leaf_min_chars // 4
    return (
        after.level == before.level
        and after.chars < tiny
        and total <= fit.leaf_min_chars
        and max(before.chars, after.chars) < fit.leaf_min_chars
        and before.chars < fit.leaf_min_chars // 2
    )


def _merge(before: Leaf, after: Leaf, notes: list[Note]) -> Leaf:
    note = Note(
        "merged",
        f"lines {before.start} to {after.end} hold short neighbours that share one leaf",
        before.start,
        after.end,
    )
    if notes and notes[-1].start == before.start:
        notes[-1] = note
    else:
        notes.append(note)
    return replace(
        before,
        end=after.end,
        chars=before.chars + after.chars,
        title=before.title or after.title,
        blank=before.blank and after.blank,
    )


def _bounded(notes: list[Note]) -> list[Note]:
    if len(notes) <= NOTES:
        return notes
    rest = notes[NOTES:]
    what = "leaves of short neighbours" if rest[0].kind == "merged" else "overlong stretches that were cut"
    return [*notes[:NOTES], Note(rest[0].kind, f"{len(rest)} more {what}", rest[0].start, rest[-1].end)]


def openings(
    leaf_start: int, leaf_end: int, headings: Sequence[Boundary], lines: Sequence[int]
) -> list[Boundary]:
    """The sections that a leaf opens, outermost first: its headings from the first on, each deeper than the one before.

    headings: boundaries with a level, ascending; lines: their line numbers.
    """
    found: list[Boundary] = []
    for at in range(bisect_left(lines, leaf_start), bisect_right(lines, leaf_end)):
        heading = headings[at]
        if found and (heading.level or 0) <= (found[-1].level or 0):
            break
        found.append(heading)
    return found
