"""Tables of a page: from the lines that are drawn, or from how the text is aligned.

The strategies carry the names that PyMuPDF's find_tables gives them, and the ruled ones find the same cells. It is not
called: it reads every letter anew, which takes a hundred times as long as the text of the page, and its alignment of
text cuts words and numbers in two. Here fragments are laid into cells, and each ends up in exactly one.

Pure geometry, in points, text running to the right, as in :mod:`tq_loader.convert.layout`.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final, NamedTuple

from tq_loader.convert.layout import Box, Fragment, rows_of, text_of, union

THIN: Final = 4.0  # points: what is drawn thinner is a line
SNAP: Final = 3.0  # points between lines that are meant to be one, or to touch
SHORT: Final = 8.0  # points: a shorter line parts no cells
MAX_DRAWN: Final = 20_000  # things drawn on a page; of more it is a drawing
MAX_UNITS: Final = 40_000  # of one grid
MAX_CROSSINGS: Final = 400_000

MAX_CELL_LINES: Final = 30  # a cell of more is a column of a page's layout
MAX_CELL_CHARS: Final = 1500

Words = Callable[[Fragment], list[Fragment]]


class Drawn(NamedTuple):
    """Something drawn: a line, a frame (``stroked``) or an area."""

    box: Box
    stroked: bool


@dataclass(slots=True)
class Placed:
    """A cell: its fragments, its first column from 0, how many columns it spans; ``carried`` from a row above.
    ``under``: the labels that a row's name is indented below.
    """

    parts: list[Fragment]
    column: int
    span: int = 1
    carried: bool = False
    under: str = ""

    @property
    def text(self) -> str:
        return cell_text(self.parts)

    @property
    def box(self) -> Box:
        return union([part.box for part in self.parts])


@dataclass(slots=True)
class Table:
    """Rows of cells. ``columns``: left and right edge of each. ``header``: rows known to name the columns."""

    box: Box
    columns: list[tuple[float, float]]
    rows: list[list[Placed]]
    header: int | None = None
    fragments: list[Fragment] = field(default_factory=list)


def cell_text(parts: Sequence[Fragment]) -> str:
    """The lines of a cell as one."""
    if len(parts) == 1:
        return " ".join(parts[0].text.split())
    text = ""
    for row in rows_of(list(parts)):
        line = " ".join(text_of(row.parts).split())
        text += line if not text or not line or _joins(text, line) else " " + line
    return text


def _joins(text: str, line: str) -> bool:
    """Whether no space belongs between a line and the next one of its cell."""
    hyphen = text[-1] in "-\u2010" and text[-2:-1].isalpha() and line[0].islower()
    return hyphen or _ideograph(text[-1], line[0])


def _ideograph(before: str, after: str) -> bool:
    """Whether letters of a script without spaces stand on both sides."""
    return all(
        "\u2e80" <= c <= "\u9fff" or "\uf900" <= c <= "\ufaff" or "\uff00" <= c <= "\uffef"
        for c in (before, after)
    )


_FIGURE = re.compile(r"(?=.*\d)[\s$€£¥()%+\-–—.,:'*#/\d]+(?:\s?[^\W\d_]{1,4})?[)%]?|[-–—]+")


def is_figure(text: str) -> bool:
    """A number with its signs and unit, a date in digits, or the dash in place of one."""
    return _FIGURE.fullmatch(text) is not None


# ---------------------------------------------------------------- by lines


class Rule(NamedTuple):
    """A line: where it is on the one axis, from where to where on the other."""

    at: float
    start: float
    end: float


def rules(drawn: Sequence[Drawn], strict: bool) -> tuple[list[Rule], list[Rule]]:
    """(lines across, lines down). ``strict``: edges of areas that have no frame are no lines."""
    across: list[Rule] = []
    down: list[Rule] = []
    if len(drawn) > MAX_DRAWN:
        return across, down
    for (x0, y0, x1, y1), stroked in drawn:
        wide, high = x1 - x0, y1 - y0
        if high <= THIN and wide > high:
            across.append(Rule((y0 + y1) / 2, x0, x1))
        elif wide <= THIN:
            down.append(Rule((x0 + x1) / 2, y0, y1))
        elif stroked or not strict:
            across += [Rule(y0, x0, x1), Rule(y1, x0, x1)]
            down += [Rule(x0, y0, y1), Rule(x1, y0, y1)]
    return _merged(across), _merged(down)


def _merged(lines: list[Rule]) -> list[Rule]:
    """Lines that lie on one another or continue one another, as one; short ones left out."""
    groups: list[list[Rule]] = []
    for line in sorted(lines):
        if groups and line.at - groups[-1][-1].at <= 1.0 and line.at - groups[-1][0].at <= SNAP:
            groups[-1].append(line)
        else:
            groups.append([line])
    merged: list[Rule] = []
    for group in groups:
        at = sum(line.at for line in group) / len(group)
        start = end = None
        for line in sorted(group, key=lambda line: line.start):
            if start is None or end is None:
                start, end = line.start, line.end
            elif line.start <= end + SNAP:
                end = max(end, line.end)
            else:
                merged.append(Rule(at, start, end))
                start, end = line.start, line.end
        if start is not None and end is not None:
            merged.append(Rule(at, start, end))
    return [line for line in merged if line.end - line.start >= SHORT]


def ruled(
    fragments: list[Fragment], drawn: Sequence[Drawn], strict: bool, words: Words
) -> tuple[list[Table], list[Fragment]]:
    """(tables in ruled cells, the fragments outside them)."""
    tables: list[Table] = []
    for grid in _grids(*rules(drawn, strict)):
        inside = [f for f in fragments if not f.hidden and _within(f.box, grid.box)]
        table = grid.filled(inside, words) if len(inside) > 3 else None
        if table is not None:
            tables.append(table)
            taken = set(map(id, inside))
            fragments = [f for f in fragments if id(f) not in taken]
    return tables, fragments


def _within(box: Box, outer: Box) -> bool:
    x, y = (box[0] + box[2]) / 2, (box[1] + box[3]) / 2
    return outer[0] - 1 <= x <= outer[2] + 1 and outer[1] - 1 <= y <= outer[3] + 1


def _grids(across: list[Rule], down: list[Rule]) -> list[_Grid]:
    """Lines that touch one another, each group as a grid, from the largest."""
    if not across or not down or len(across) * len(down) > MAX_CROSSINGS:
        return []
    group = list(range(len(across) + len(down)))

    def root(i: int) -> int:
        while group[i] != i:
            group[i] = group[group[i]]
            i = group[i]
        return i

    for i, (y, x0, x1) in enumerate(across):
        for j, (x, y0, y1) in enumerate(down, len(across)):
            if x0 - SNAP <= x <= x1 + SNAP and y0 - SNAP <= y <= y1 + SNAP:
                group[root(j)] = root(i)
    members: dict[int, tuple[list[Rule], list[Rule]]] = {}
    for i, rule in enumerate(across + down):
        members.setdefault(root(i), ([], []))[i >= len(across)].append(rule)
    found = [_Grid.of(*lines) for lines in members.values() if len(lines[0]) >= 2 and lines[1]]
    grids = [grid for grid in found if grid is not None]
    return sorted(grids, key=lambda grid: -(grid.box[2] - grid.box[0]) * (grid.box[3] - grid.box[1]))


class _Grid:
    """Cells between lines; where a line is missing between two, they are one."""

    def __init__(self, xs: list[float], ys: list[float], region: list[int]) -> None:
        self.xs = xs
        self.ys = ys
        self.region = region  # of each unit, row by row: the unit that its cell begins with
        self.box = (xs[0], ys[0], xs[-1], ys[-1])

    @classmethod
    def of(cls, across: list[Rule], down: list[Rule]) -> _Grid | None:
        xs = _positions([r.at for r in down], [r.start for r in across] + [r.end for r in across])
        ys = _positions([r.at for r in across], [r.start for r in down] + [r.end for r in down])
        wide, high = len(xs) - 1, len(ys) - 1
        if wide < 2 or high < 2 or wide * high > MAX_UNITS:
            return None
        region = list(range(wide * high))

        def root(i: int) -> int:
            while region[i] != i:
                region[i] = region[region[i]]
                i = region[i]
            return i

        walls_down = [[r for r in down if abs(r.at - x) <= SNAP] for x in xs]
        walls_across = [[r for r in across if abs(r.at - y) <= SNAP] for y in ys]
        for j in range(high):
            for i in range(wide):
                x, y = (xs[i] + xs[i + 1]) / 2, (ys[j] + ys[j + 1]) / 2
                at = j * wide + i
                if i + 1 < wide and not any(r.start <= y <= r.end for r in walls_down[i + 1]):
                    a, b = sorted((root(at), root(at + 1)))
                    region[b] = a
                if j + 1 < high and not any(r.start <= x <= r.end for r in walls_across[j + 1]):
                    a, b = sorted((root(at), root(at + wide)))
                    region[b] = a
        region = [root(i) for i in range(wide * high)]
        return cls(xs, ys, _rectangles(region, wide))

    def filled(self, inside: list[Fragment], words: Words) -> Table | None:
        """The grid with the text in it; None where it is no table."""
        wide, high = len(self.xs) - 1, len(self.ys) - 1
        cells: dict[int, list[Fragment]] = {}
        crossing = total = 0
        for fragment in inside:
            row = min(high - 1, max(0, bisect_right(self.ys, (fragment.box[1] + fragment.box[3]) / 2) - 1))
            row *= wide
            first, last = self._column(fragment.box[0] + 1), self._column(fragment.box[2] - 1)
            pieces = [fragment] if self.region[row + first] == self.region[row + last] else words(fragment)
            for piece in pieces:
                total += 1
                x0, _, x1, _ = piece.box
                home = self.region[row + self._column((x0 + x1) / 2)]
                others = {
                    self.region[row + self._column(x)] for x in (x0 + 0.2 * (x1 - x0), x1 - 0.2 * (x1 - x0))
                }
                crossing += others != {home}
                cells.setdefault(home, []).append(piece)
        if crossing > max(1, 0.03 * total) or len(cells) < 4:
            return None
        by_row: list[list[Placed]] = [[] for _ in range(high)]
        ends = {home: i for i, home in enumerate(self.region)}  # the last unit of each cell
        for home, parts in cells.items():
            (top, left), (bottom, right) = divmod(home, wide), divmod(ends[home], wide)
            for at in range(top, bottom + 1):
                by_row[at].append(Placed(parts, left, right - left + 1, carried=at > top))
        kept = [
            sorted(cells_of_row, key=lambda cell: cell.column)
            for cells_of_row in by_row
            if not all(cell.carried for cell in cells_of_row)
        ]
        kept = _rows_by_text(kept)
        used = sorted({cell.column for row in kept for cell in row})
        if len(used) < 2 or sum(len(row) > 1 for row in kept) < 2 or not _holds(kept):
            return None
        for cells_of_row in kept:
            for cell in cells_of_row:
                last_used = bisect_right(used, cell.column + cell.span - 1) - 1
                cell.column = used.index(cell.column)
                cell.span = last_used - cell.column + 1
        edges = [self.xs[column] for column in used] + [self.xs[-1]]
        return Table(self.box, list(pairwise(edges)), kept, fragments=inside)

    def _column(self, x: float) -> int:
        return min(len(self.xs) - 2, max(0, bisect_right(self.xs, x) - 1))


def _positions(lines: list[float], ends: list[float]) -> list[float]:
    """Where lines are, and the outermost of where the others end: there a border is thought where none is drawn."""
    found: list[float] = []
    for at in sorted([*lines, min(ends), max(ends)]):
        if not found or at - found[-1] > SNAP:
            found.append(at)
    return found


def _rectangles(region: list[int], wide: int) -> list[int]:
    """Cells that are no rectangles fall apart into their rows."""
    bounds: dict[int, list[int]] = {}
    for i, home in enumerate(region):
        y, x = divmod(i, wide)
        box = bounds.setdefault(home, [x, y, x, y, 0])
        box[0], box[2], box[3] = min(box[0], x), max(box[2], x), max(box[3], y)
        box[4] += 1
    whole = {h for h, (x0, y0, x1, y1, n) in bounds.items() if n == (x1 - x0 + 1) * (y1 - y0 + 1)}
    found: list[int] = []
    for i, home in enumerate(region):
        if home in whole:
            found.append(home)
        else:
            found.append(found[-1] if i % wide and region[i - 1] == home else i)
    return found


def _holds(rows: list[list[Placed]]) -> bool:
    """Whether these are cells, and not the frames of a page's layout or of forms."""
    cells = [cell for row in rows for cell in row if not cell.carried]
    return not any(
        sum(len(part.text) for part in cell.parts) > MAX_CELL_CHARS
        or len(rows_of(cell.parts)) > MAX_CELL_LINES
        or _has_columns(cell)
        for cell in cells
    )


def _has_columns(cell: Placed) -> bool:
    """Whether the text of a cell stands in columns that no line parts."""
    return sum(len(row.pieces()) > 1 for row in rows_of(cell.parts)) > 1


def _rows_by_text(rows: list[list[Placed]]) -> list[list[Placed]]:
    """Where lines part the columns but not the rows, the text's own lines part these."""
    found: list[list[Placed]] = []
    for row in rows:
        found += _split(row) or [row]
    return found


def _split(row: list[Placed]) -> list[list[Placed]] | None:
    """A row whose every line is one: in most cells a line stands beside each other, and in one these are figures."""
    columns = [[" ".join(text_of(line.parts).split()) for line in rows_of(cell.parts)] for cell in row]
    most = max(map(len, columns))
    if (
        most < 2
        or len(columns) < 2
        or not any(len(c) > 0.7 * most and all(map(is_figure, c)) for c in columns)
    ):
        return None
    homes = {id(part): cell for cell in row for part in cell.parts}
    split: list[list[Placed]] = []
    for line in rows_of([part for cell in row for part in cell.parts]):
        cells: dict[int, Placed] = {}
        for part in line.parts:
            home = homes[id(part)]
            cells.setdefault(home.column, Placed([], home.column, home.span)).parts.append(part)
        split.append([cells[column] for column in sorted(cells)])
    return split if sum(len(line) > 0.6 * len(row) for line in split) >= 0.7 * len(split) else None
