"""Tables without lines between their cells: words of many rows that leave the same stretches free are in columns."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise
from statistics import median
from typing import Final

from tq_loader.convert.grid import Placed, Rule, Table, Words, is_figure
from tq_loader.convert.layout import Fragment, Row, union

# In multiples of the font size.
SPACE: Final = 0.32  # what stands closer is one cell
APART: Final = 0.8  # between words of two cells, in most rows
NEXT_ROW: Final = 3.5  # from the end of one row to the next
WRAPPED: Final = 1.45  # from line to line within a cell
FAR: Final = 2.2  # times the usual step from row to row
HEADED: Final = 1.6  # the same for bold type
LARGER: Final = 1.25  # a label in such type is a heading
LABELS: Final = 3  # rows of a single cell in a row, within a table
LONG: Final = 0.6  # of the table's width: a single cell of that is a sentence
INDENT: Final = 0.4
MAX_HEADER: Final = 4

_YEAR = re.compile(r"(?:1[6-9]|20|21)\d\d")
_MARKER = re.compile(
    r"(?:[\u2022\u25aa\u25cf\u25e6\u2023\u2013\u2014*o\-\u00b7]|\(?(?:\d{1,3}|[A-Za-z]|[ivxIVX]{1,5})[.)])"
)
_TOTAL = re.compile(r"(?:sub|grand )?total|sum\b|summe|gesamt|somme|suma|totale", re.I)
_BEFORE = frozenset("$€£¥")
_AFTER = frozenset(("%", ")", ")%", "pts"))

Gutter = tuple[float, float]


def aligned(rows: list[Row], across: list[Rule], words: Words) -> list[tuple[int, int, Table]]:
    """Tables among rows in reading order: (first row, the one after its last, table). ``across``: lines drawn there."""
    found: list[tuple[int, int, Table]] = []
    at = 0
    while at < len(rows):
        past = _stretch(rows, at)
        if past - at >= 2:
            table = _Aligned(rows, at, past, across, words).table(found[-1][1] if found else 0)
            if table is not None:
                found.append(table)
                at = table[1]
                continue
        at += 1
    return found


def _stretch(rows: list[Row], at: int) -> int:
    """The row after the last that may belong to a table that begins at ``at``."""
    if len(rows[at].pieces()) < 2 or rows[at].hidden:
        return at
    last, single = at, 0
    steps: list[float] = []
    for i in range(at + 1, len(rows)):
        row, before = rows[i], rows[i - 1]
        gap = row.box[1] - before.box[3]
        if row.hidden or row.box[3] < before.box[3] or gap > NEXT_ROW * max(row.size, before.size):
            break
        step = row.box[3] - before.box[3]
        if len(steps) > 2 and gap > row.size and step > (HEADED if row.bold else FAR) * median(steps):
            break  # another table, or a heading
        steps.append(step)
        if len(row.pieces()) > 1:
            last, single = i, 0
        elif (single := single + 1) > LABELS or row.size > LARGER * rows[last].size:
            break
    # The lines below may be the rest of wrapped cells.
    past = last + 1
    while past < len(rows) and past - last <= LABELS and _close(rows[past - 1], rows[past]):
        past += 1
    return past


def _close(above: Row, below: Row) -> bool:
    """Whether a row follows as the next line of a paragraph does."""
    return 0 < below.box[3] - above.box[3] <= WRAPPED * max(above.size, below.size) and not below.hidden


class _Line:
    """A row on its way to be cells."""

    def __init__(self, row: Row, words: Words) -> None:
        self.row = row
        self.pieces = [[word for part in piece for word in words(part)] for piece in row.pieces()]
        self.words = [word for piece in self.pieces for word in piece]
        self.cells: list[Placed] = []

    def columns(self) -> set[int]:
        return {cell.column for cell in self.cells}


class _Aligned:
    def __init__(self, rows: list[Row], first: int, past: int, across: list[Rule], words: Words) -> None:
        self.rows = rows
        self.first, self.past = first, past
        self.across = across
        self.words = words
        self.lines = [_Line(row, words) for row in rows[first:past]]
        self.em = median(row.size for row in rows[first:past])

    def table(self, lowest: int) -> tuple[int, int, Table] | None:
        """``lowest``: rows above are another table's."""
        most = max(len(line.pieces) for line in self.lines)
        core = [line for line in self.lines if len(line.pieces) >= max(2, 0.6 * most)]
        gutters = self._gutters(core)
        if len(core) < 2 or not gutters:
            return None
        self._cut_sentences(gutters)
        found = self.first
        self._take_headings(gutters, lowest)
        for line in self.lines:
            line.cells = self._cells(line, gutters, line in core)
        wide = self._join_symbols(len(gutters) + 1)
        if wide < 2:
            return None
        zone = self._header_zone()
        self._span_headers(zone)
        while self.first < found and all(cell.span == 1 for cell in self.lines[0].cells):
            # A heading above the table, after all.
            del self.lines[0]
            self.first, zone = self.first + 1, max(0, zone - 1)
        rows, header, used = self._rows(zone)
        if not self._is_table(rows, wide):
            return None
        fragments = [part for row in self.rows[self.first : self.first + used] for part in row.parts]
        edges = [self._edges(rows, column) for column in range(wide)]
        table = Table(union([f.box for f in fragments]), edges, rows, header, fragments)
        return self.first, self.first + used, table

    # ------------------------------------------------------------ columns

    def _gutters(self, core: list[_Line]) -> list[Gutter]:
        """Stretches that hardly any row has text in, and that most rows have a clear gap at."""
        events: list[tuple[float, int]] = []
        for line in core:
            runs = [[line.words[0].box[0], line.words[0].box[2]]]
            for word in line.words[1:]:
                if word.box[0] - runs[-1][1] <= SPACE * self.em:
                    runs[-1][1] = max(runs[-1][1], word.box[2])
                else:
                    runs.append([word.box[0], word.box[2]])
            events += [(start, 1) for start, _ in runs] + [(end, -1) for _, end in runs]
        events.sort()
        most = len(core) // 10 if len(core) > 6 else 0
        gutters: list[Gutter] = []
        open_at: float | None = None
        count = 0
        for x, step in events:
            count += step
            if count <= most and open_at is None:
                open_at = x
            elif count > most and open_at is not None:
                if x - open_at >= SPACE * self.em and gutters is not None:
                    gutters.append((open_at, x))
                open_at = None
        gutters = [g for g in gutters if g[0] > events[0][0]]
        return [gutter for gutter in gutters if self._clear(gutter, core)]

    def _clear(self, gutter: Gutter, core: list[_Line]) -> bool:
        middle = sum(gutter) / 2
        both = clear = 0
        for line in core:
            left = [word.box[2] for word in line.words if word.box[0] < middle]
            right = [word.box[0] for word in line.words if word.box[0] >= middle]
            if left and right:
                both += 1
                clear += min(right) - max(left) >= APART * self.em
        return clear >= 2 and clear >= 0.5 * both

    def _cut_sentences(self, gutters: list[Gutter]) -> None:
        """Two lines across the whole table that follow one another are a paragraph: the table ends before them."""
        left = min(line.words[0].box[0] for line in self.lines)
        right = max(word.box[2] for line in self.lines for word in line.words)
        for i, (line, after) in enumerate(pairwise(self.lines)):
            if all(
                len(each.pieces) == 1
                and each.words[-1].box[2] - each.words[0].box[0] > LONG * (right - left)
                and each.words[-1].box[2] > gutters[0][1]
                for each in (line, after)
            ):
                del self.lines[i:]
                return

    def _take_headings(self, gutters: list[Gutter], lowest: int) -> None:
        """Rows above with a single text over columns but the first are part of the header."""
        while self.first > lowest and len(self.lines) + 1 <= len(self.rows):
            row, below = self.rows[self.first - 1], self.rows[self.first]
            text_left = row.box[0]
            if (
                len(row.pieces()) > 1
                or row.hidden
                or text_left < sum(gutters[0]) / 2
                or row.box[2] > self._right() + 2 * self.em
                or row.size > LARGER * self.em
                or not -0.5 * self.em <= below.box[1] - row.box[3] <= 1.2 * self.em
            ):
                return
            self.first -= 1
            self.lines.insert(0, _Line(row, self.words))

    def _right(self) -> float:
        return max(word.box[2] for line in self.lines for word in line.words)

    def _cells(self, line: _Line, gutters: list[Gutter], core: bool) -> list[Placed]:
        cuts = [(start + end) / 2 for start, end in gutters]
        cells: list[Placed] = []
        for piece in line.pieces:
            part: list[Fragment] = []
            for word in piece:
                if part and self._parted(part[-1], word, gutters, cuts, core):
                    cells.append(_placed(part, cuts))
                    part = []
                part.append(word)
            cells.append(_placed(part, cuts))
        cells = _without_overlap(cells)
        for left, right in pairwise(cells):
            # A sign of the figure beside it.
            if len(left.parts) > 1 and left.parts[-1].text.strip() in _BEFORE:
                right.parts.insert(0, left.parts.pop())
            elif len(right.parts) > 1 and right.parts[0].text.strip() in _AFTER:
                left.parts.append(right.parts.pop(0))
        return cells

    def _parted(
        self, left: Fragment, right: Fragment, gutters: list[Gutter], cuts: list[float], core: bool
    ) -> bool:
        """Whether two words of a piece stand in two columns."""
        at = bisect_right(cuts, (left.box[0] + left.box[2]) / 2)
        if at == bisect_right(cuts, (right.box[0] + right.box[2]) / 2):
            return False
        start, end = gutters[at]
        gap = right.box[0] - left.box[2]
        fits = left.box[2] <= end and right.box[0] >= start
        return fits and gap >= (0.9 * SPACE if core else APART) * self.em

    def _join_symbols(self, wide: int) -> int:
        """Columns of nothing but currency or per cent signs go to the figures beside them. How many are left."""
        texts: list[list[str]] = [[] for _ in range(wide)]
        for line in self.lines:
            for cell in line.cells:
                if cell.span == 1:
                    texts[cell.column].append(cell.text)
        home = list(range(wide))
        for column, seen in enumerate(texts):
            if seen and all(text in _BEFORE for text in seen) and column + 1 < wide:
                home[column] = column + 1
            elif seen and all(text in _AFTER for text in seen) and column:
                home[column] = home[column - 1]
        number = {column: i for i, column in enumerate(sorted(set(home)))}
        for line in self.lines:
            for cell in line.cells:
                last = number[home[cell.column + cell.span - 1]]
                cell.column = number[home[cell.column]]
                cell.span = last - cell.column + 1
            line.cells = _without_overlap(line.cells)
        return len(number)

    def _edges(self, rows: list[list[Placed]], column: int) -> tuple[float, float]:
        boxes = [cell.box for row in rows for cell in row if cell.column == column and cell.span == 1]
        boxes = boxes or [
            cell.box for row in rows for cell in row if cell.column <= column < cell.column + cell.span
        ]
        return (min(box[0] for box in boxes), max(box[2] for box in boxes)) if boxes else (0.0, 0.0)

    # ------------------------------------------------------------ rows

    def _header_zone(self) -> int:
        """How many lines stand above the first that holds a figure."""
        for i, line in enumerate(self.lines):
            if any(is_figure(cell.text) and not _YEAR.fullmatch(cell.text) for cell in line.cells):
                return i
            if line.columns() == {0} and i:
                return i  # a label of rows
        return 0

    def _span_headers(self, zone: int) -> None:
        """A name that stands in the middle over several columns names each of them."""
        rows = [line.cells for line in self.lines]
        edges = {
            column: self._edges(rows, column)
            for row in rows
            for c in row
            for column in range(c.column, c.column + c.span)
        }
        for line in self.lines[:zone]:
            taken = [range(cell.column, cell.column + cell.span) for cell in line.cells]
            for cell, own in zip(line.cells, taken, strict=True):
                if cell.column == 0:
                    continue
                free = [
                    c
                    for c in sorted(edges)
                    if c > 0 and not any(c in other for other in taken if other is not own)
                ]
                span = self._under_line(cell, free, edges) or self._centred(cell, free, edges)
                if span is not None:
                    cell.column, cell.span = span

    def _under_line(
        self, cell: Placed, free: list[int], edges: dict[int, tuple[float, float]]
    ) -> tuple[int, int] | None:
        """The columns over which a line goes that is drawn below the name."""
        x0, _, x1, bottom = cell.box
        for rule in self.across:
            if not (
                -0.2 * self.em <= rule.at - bottom <= self.em
                and rule.start <= x0 + self.em
                and rule.end >= x1 - self.em
            ):
                continue
            below = [
                c for c in free if rule.start - self.em <= edges[c][0] and edges[c][1] <= rule.end + self.em
            ]
            if len(below) > 1 and rule.end - rule.start < 0.95 * (self._right() - self.lines[0].row.box[0]):
                return below[0], below[-1] - below[0] + 1
        return None

    def _centred(
        self, cell: Placed, free: list[int], edges: dict[int, tuple[float, float]]
    ) -> tuple[int, int] | None:
        x0, _, x1, _ = cell.box
        middle = (x0 + x1) / 2
        over = range(cell.column, cell.column + cell.span)
        if cell.span == 1:
            left, right = edges[cell.column]
            aligned_edges = abs(x0 - left), abs(x1 - right), abs(middle - (left + right) / 2)
            if min(aligned_edges) <= 0.6 * self.em:
                return None
        best: tuple[float, int, int] | None = None
        for a in free:
            for b in free:
                if a < b and a <= over[0] and over[-1] <= b and all(c in free for c in range(a, b + 1)):
                    off = abs((edges[a][0] + edges[b][1]) / 2 - middle)
                    if off <= 1.5 * self.em and (best is None or off < best[0]):
                        best = off, a, b - a + 1
        return None if best is None else best[1:]

    def _rows(self, zone: int) -> tuple[list[list[Placed]], int | None, int]:
        """(rows of cells, how many of them are a header or None, lines used)."""
        banded = sum(self._between(a, b) for a, b in pairwise(self.lines)) >= 0.5 * (len(self.lines) - 1)
        pitches = [b.row.box[3] - a.row.box[3] for a, b in pairwise(self.lines) if len(b.cells) > 1]
        usual = median(pitches) if pitches else 0.0
        rows: list[list[Placed]] = []
        ends: list[int] = []  # lines used with each row
        header = 0
        above: _Line | None = None
        for i, line in enumerate(self.lines):
            if above is not None and self._continues(above, line, rows[-1], usual, banded, i < zone):
                _append(rows[-1], line.cells)
                ends[-1] = i + 1
            else:
                rows.append([Placed(list(c.parts), c.column, c.span) for c in line.cells])
                ends.append(i + 1)
                header += i < zone
            above = line
        # What stands alone below the last row is text again.
        while len(rows) > 1 and len(rows[-1]) == 1:
            rows.pop()
            ends.pop()
        self._indent(rows[header:])
        return rows, self._known_header(rows, header), ends[-1]

    def _known_header(self, rows: list[list[Placed]], header: int) -> int | None:
        """``header``: rows above the first figure. None where the words themselves have to tell."""
        bold = [all(part.bold for cell in row for part in cell.parts) for row in rows]
        if not any(is_figure(cell.text) for row in rows for cell in row):
            if bold[0] and not any(bold[1:]):
                return 1
            # Texts side by side, many of them without another beside them, are no columns with names.
            return 0 if sum(map(len, rows)) < 0.8 * len(rows) * max(map(len, rows)) else None
        if not 0 < header < len(rows):
            return 0
        # Names and values in pairs look like a header and its rows, but for what sets the names of columns apart.
        sure = 0
        while sure < min(header, MAX_HEADER) and (
            rows[sure][0].column > 0
            or any(cell.span > 1 for cell in rows[sure])
            or (bold[sure] and not all(bold[header:]))
        ):
            sure += 1
        if sure < header and (
            self._ruled_off(rows[sure:]) or (header == sure + 1 and _names_figures(rows[sure:]))
        ):
            sure += 1
        return sure

    def _ruled_off(self, rows: list[list[Placed]]) -> bool:
        """Whether a line is drawn below the first row, and below few of the others."""
        tops, bottoms = (
            [min(c.box[1] for c in row) for row in rows],
            [max(c.box[3] for c in row) for row in rows],
        )
        left, width = rows[0][0].box[0], self._right() - rows[0][0].box[0]
        parted = [
            any(
                low - 2 < r.at < top + 2 and min(r.end, left + width) - max(r.start, left) > 0.5 * width
                for r in self.across
            )
            for low, top in zip(bottoms, tops[1:], strict=False)
        ]
        return bool(parted) and parted[0] and sum(parted) <= 1 + len(parted) // 4

    def _indent(self, rows: list[list[Placed]]) -> None:
        """Rows under a label that they are indented below go by its name, too."""
        labels: list[tuple[float, str]] = []
        for row in rows:
            name = row[0]
            if name.column:
                continue
            left = name.box[0]
            while labels and left < labels[-1][0] + INDENT * self.em:
                labels.pop()
            name.under = " ".join(f"{text}:" for _, text in labels[-2:])
            if len(row) == 1:
                labels.append((left, name.text.rstrip(":")))
            elif labels and _TOTAL.match(name.text):
                labels.pop()

    def _between(self, above: _Line, below: _Line) -> bool:
        """Whether a line, or the edge of a coloured band, parts two rows over half the table's width."""
        upper = (above.row.box[1] + above.row.box[3]) / 2
        lower = (below.row.box[1] + below.row.box[3]) / 2
        left = min(above.row.box[0], below.row.box[0])
        width = self._right() - left
        return any(
            upper < r.at < lower and min(r.end, left + width) - max(r.start, left) > 0.5 * width
            for r in self.across
        )

    def _continues(
        self, above: _Line, line: _Line, row: list[Placed], usual: float, banded: bool, header: bool
    ) -> bool:
        """Whether a line holds the rest of the cells above."""
        if not _close(above.row, line.row) or self._between(above, line):
            return False
        if banded and not header:
            return True
        columns = {cell.column for cell in row}
        own = line.columns()
        if header:
            return own <= columns and all(c.span == 1 for c in [*row, *line.cells]) and 0 not in own
        if len(row) == 1 and 0 in columns and 0 in own:
            # A label over two lines, whose figures stand beside the second.
            first = line.cells[0]
            goes_on = first.text[:1].islower() or self._would_not_fit(row, first)
            return goes_on and not row[0].text.endswith(":") and first.box[0] < row[0].box[2]
        if not own <= columns or any(is_figure(cell.text) for cell in line.cells):
            return False
        if 0 in own:
            return len(own) == 1 and len(row) > 1 and line.cells[0].text[:1].islower()
        pitch = line.row.box[3] - above.row.box[3]
        return pitch < 0.8 * usual or all(self._would_not_fit(row, cell) for cell in line.cells)

    def _would_not_fit(self, row: list[Placed], cell: Placed) -> bool:
        """Whether the first word of a cell had no room at the end of the cell above."""
        above = next(c for c in row if c.column == cell.column)
        edge = self._edges([line.cells for line in self.lines], cell.column)[1]
        first = cell.parts[0]
        return above.box[2] + first.box[2] - first.box[0] + 0.2 * self.em > edge

    def _is_table(self, rows: list[list[Placed]], wide: int) -> bool:
        full = [row for row in rows if len(row) > 1]
        if len(full) < 2:
            return False
        if wide == 2 and all(_MARKER.fullmatch(row[0].text) for row in full):
            return False  # a list
        lengths: dict[int, list[int]] = {}
        for row in full:
            for cell in row:
                lengths.setdefault(cell.column, []).append(len(cell.text))
        return len(lengths) > 1 and any(median(seen) <= 30 for seen in lengths.values())


def _names_figures(rows: list[list[Placed]]) -> bool:
    """Whether most of what stands under one of the names in the first row are figures."""
    for name in rows[0]:
        below = [cell for row in rows[1:] for cell in row if cell.column == name.column]
        if name.column and below and sum(is_figure(cell.text) for cell in below) >= 0.8 * len(below):
            return True
    return False


def _placed(part: list[Fragment], cuts: list[float]) -> Placed:
    first = bisect_right(cuts, (part[0].box[0] + part[0].box[2]) / 2)
    last = bisect_right(cuts, (part[-1].box[0] + part[-1].box[2]) / 2)
    return Placed(list(part), first, last - first + 1)


def _without_overlap(cells: list[Placed]) -> list[Placed]:
    """Cells of one row, those in the same column as one."""
    found: list[Placed] = []
    for cell in cells:
        if found and cell.column < found[-1].column + found[-1].span:
            last = found[-1]
            last.parts += cell.parts
            last.span = max(last.span, cell.column + cell.span - last.column)
        else:
            found.append(cell)
    return found


def _append(row: list[Placed], cells: Sequence[Placed]) -> None:
    """Add the cells of a line to the row that it goes on with."""
    for cell in cells:
        over = next((p for p in row if p.column <= cell.column < p.column + p.span), None)
        if over is not None and over.column == cell.column:
            over.parts += cell.parts
            continue
        if over is not None:
            over.span = cell.column - over.column  # it was only longer than its column
        row.append(Placed(list(cell.parts), cell.column, cell.span))
        row.sort(key=lambda placed: placed.column)
