"""Tables of web pages: cells that span rows and columns, headers above or at the side."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from tq_loader.convert.table import PAIR, PATH, Value, letters, typed

MAX_COLUMNS: Final = 2000  # that cells are spread over; further ones stand one by one
MAX_CARRIED: Final = (
    500_000  # cells of a table that stand in a row for a cell of another; then none spans any more
)


@dataclass(slots=True, frozen=True)
class Cell:
    """One cell as it stands in the source."""

    text: str
    header: bool = False
    columns: int = 1
    rows: int = 1


@dataclass(slots=True, frozen=True)
class Line:
    """A row that can be read alone. ``row``: its number in the source, from 0. ``cells``: typed, by header or
    by column letter. ``columns``: of a header's row, the columns by the names that rows below go by.
    """

    row: int
    text: str
    cells: dict[str, Value] = field(default_factory=dict)
    columns: dict[str, str] = field(default_factory=dict)


def read_table(rows: list[list[Cell]]) -> Iterator[Line]:
    """The rows of a table, each with its headers; rows without any text are left out."""
    grid = _grid(rows)
    width = max((len(row) for row in grid), default=0)
    header: list[str] = [""] * width
    open_header = True  # header rows directly below one another belong together
    seen_body = False
    for number, row in enumerate(grid):
        shown = [cell for cell in row if cell is not None and cell.text]
        if not shown:
            continue
        distinct = {id(cell) for cell in shown}
        if all(cell.header for cell in shown) and (len(distinct) > 1 or not seen_body) and width > 1:
            if len(distinct) == 1 and shown[0].columns >= width:
                yield Line(number, shown[0].text)
                continue
            if not open_header:
                header = [""] * width
            open_header = True
            for i, cell in enumerate(row):
                if cell is not None and cell.text and not header[i].endswith(cell.text):
                    header[i] = f"{header[i]}{PATH}{cell.text}" if header[i] else cell.text
            yield Line(number, PAIR.join(_once(row)), _lettered(row), _columns(header))
            continue
        open_header = False
        seen_body = True
        if len(distinct) == 1:
            yield Line(number, shown[0].text)
            continue
        yield _data_row(number, row, header)


def _data_row(number: int, row: list[Cell | None], header: list[str]) -> Line:
    parts: list[str] = []
    cells: dict[str, Value] = {}
    last: Cell | None = None
    side = ""
    headed = any(header)
    for i, cell in enumerate(row):
        if cell is None or cell is last or not cell.text:
            continue
        last = cell
        name = header[i].rstrip(":")
        if not headed:
            # Without a header row the first cell says what the row is about.
            if cell.header and not parts:
                side = cell.text
                continue
            name, side = side.rstrip(":"), ""
        parts.append(f"{name}: {cell.text}" if name and name != cell.text else cell.text)
        key = name or letters(i)
        cells[key if key not in cells else f"{key} ({letters(i)})"] = typed(cell.text)
    if side:
        parts.append(side)
    return Line(number, PAIR.join(parts), cells)


def _lettered(row: list[Cell | None]) -> dict[str, Value]:
    found: dict[str, Value] = {}
    seen: set[int] = set()
    for i, cell in enumerate(row):
        if cell is not None and cell.text and id(cell) not in seen:
            seen.add(id(cell))
            found[letters(i)] = cell.text
    return found


def _columns(header: list[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for i, name in enumerate(header):
        if name:
            found.setdefault(name.rstrip(":"), letters(i))
    return found


def _once(row: list[Cell | None]) -> Iterator[str]:
    last: Cell | None = None
    for cell in row:
        if cell is not None and cell is not last and cell.text:
            yield cell.text
        last = cell


def _grid(rows: list[list[Cell]]) -> list[list[Cell | None]]:
    """Cells by row and column; one that spans several stands in each of them."""
    grid: list[list[Cell | None]] = []
    waiting: dict[int, tuple[Cell, int]] = {}  # column to (cell, rows that it still covers)
    carried = 0
    for row in rows:
        line: list[Cell | None] = []
        left = iter(row)
        cell = next(left, None)
        last = max(waiting, default=-1)
        while len(line) < MAX_COLUMNS and (cell is not None or len(line) <= last):
            at = len(line)
            if at in waiting:
                above, times = waiting[at]
                line.append(above)
                carried += 1
                if times > 1:
                    waiting[at] = (above, times - 1)
                else:
                    del waiting[at]
            elif cell is not None:
                for i in range(min(cell.columns, MAX_COLUMNS - at)):
                    if cell.rows > 1 and carried <= MAX_CARRIED:
                        waiting[at + i] = (cell, cell.rows - 1)
                    line.append(cell)
                cell = next(left, None)
            else:
                line.append(None)
        if cell is not None:
            line += [cell, *left]
        if carried > MAX_CARRIED:
            waiting.clear()
        grid.append(line)
    return grid
