"""Tables as lines that can be read alone: each row becomes ``header: value`` pairs, typed in its locator."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from tq_loader.convert.protocol import Writer

PAIR: Final = " | "
PATH: Final = " / "
LOOK: Final = 12  # rows seen before a block's header is decided
MAX_HEADER_ROWS: Final = 4
MAX_CAPTION: Final = 200  # characters; a longer single cell is a paragraph

Value = str | int | float | bool

_NUMBER = re.compile(
    r"[-+(]?\s*[$€£¥₹%]?\s*[-+]?\s*\d[\d.,'\u00a0\u202f ]*\s*[%€$£¥]?\s*[\w.€$£]{0,4}\s*\)?$"
)
_YEAR = re.compile(r"(1[6-9]|20|21)\d\d$")


class Cell(NamedTuple):
    """One cell. ``text`` as shown; ``value`` as typed (dates as ISO text); ``span`` columns wide; ``bold``:
    None where the format does not tell; ``carried``: repeated from the merged cell above it.
    """

    text: str
    value: Value
    span: int = 1
    bold: bool | None = None
    carried: bool = False


Cells = dict[int, Cell]  # by column, from 0; empty cells are left out


class _Row(NamedTuple):
    """A row that waits to be written. ``place`` goes into its locator."""

    number: int
    cells: Cells
    page: int | None
    place: dict[str, Any]


def one_line(text: str) -> str:
    return " ".join(text.split())


def cell_of(text: str, *, span: int = 1, bold: bool | None = None) -> Cell | None:
    """A cell of a format whose cells are text. The value is a number where that loses nothing."""
    text = one_line(text)
    return Cell(text, typed(text), span, bold) if text else None


def typed(text: str) -> Value:
    """The number that a text is, if writing the number gives the same text; else the text."""
    if len(text) < 16 and text[-1:].isdecimal() and text.isascii():
        try:
            number: Value = int(text)
        except ValueError:
            try:
                number = float(text)
            except ValueError:
                return text
        if str(number) == text:
            return number
    return text


def letters(column: int) -> str:
    """Spreadsheet name of a column: 0 is A, 26 is AA."""
    name = ""
    column += 1
    while column:
        column, rest = divmod(column - 1, 26)
        name = chr(65 + rest) + name
    return name


def looks_numeric(cell: Cell) -> bool:
    return (not isinstance(cell.value, str)) or bool(_NUMBER.match(cell.text))


class TableWriter:
    """Writes rows of one sheet or table as they come; rows without cells part it into blocks.

    A block has its own header where its first rows look like one; otherwise the header above goes on. With
    ``header_rows`` the format itself says how many rows at the start are the header. ``assume_header``: the
    first row of texts is the header unless it cannot be (a CSV file). ``named``: columns without a header
    are named by letters in the locator. ``repeated``: the kind of a header that stands in its table again.
    """

    def __init__(
        self,
        out: Writer,
        locator: dict[str, Any],
        *,
        header_rows: int | None = None,
        assume_header: bool = False,
        caption_level: int | None = 2,
        page: int | None = None,
        name_of: Callable[[int], str] = letters,
        repeated: str = "table",
    ) -> None:
        self._out = out
        self._locator = locator
        self._header_rows = header_rows
        self._assume = assume_header
        self._caption_level = caption_level
        self._page = page
        self._name_of = name_of
        self._repeated = repeated
        self._block: list[_Row] = []  # they wait for the header's decision
        self._decided = False
        self._last = -1
        self._headers: dict[int, str] = {}
        self._names: dict[int, str] = {}  # the same made distinct, for the locator
        self._candidate: list[_Row] = []  # rows that may head the next block
        self._header: list[Cells] = []  # the rows of the header
        self._untold = False  # whether they stand where no line of theirs could name the columns

    def row(
        self, number: int, cells: Cells, *, page: int | None = None, place: dict[str, Any] | None = None
    ) -> None:
        """One row that has at least one cell that is not carried. ``number`` counts from 1; ``page`` and ``place``
        (for the locator) where they differ from row to row.
        """
        if not cells:
            return
        row = _Row(number, cells, self._page if page is None else page, place or {})
        if number != self._last + 1 and self._last >= 0 and self._header_rows is None and not self._assume:
            self._end_block()
        self._last = number
        if self._decided:
            self._write(row)
            return
        self._block.append(row)
        if len(self._block) >= LOOK:
            self._decide()

    @property
    def waiting(self) -> int:
        """Rows that were given and are not yet written."""
        return len(self._block)

    def settle(self) -> None:
        """Write what waits; the table goes on."""
        if self._block:
            self._decide()

    def close(self) -> None:
        self._end_block()

    def _end_block(self) -> None:
        self._decide()
        self._decided = False

    def _decide(self) -> None:
        rows, self._block = self._block, []
        self._decided = True
        if not rows:
            return
        if self._header_rows is not None:
            count = min(self._header_rows, len(rows) - 1)
            self._header_rows = 0
            if count:
                self._set_headers(rows[:count])
            for i, row in enumerate(rows):
                self._write(row, header=count - i if i < count else 0)
            return
        start = self._captions(rows)
        candidate, self._candidate = self._candidate, []
        count = self._count_headers(rows[start:])
        table = len(rows) - start > 1 and any(len(row.cells) > 1 for row in rows[start:])
        for row in rows[:start]:
            bold = all(cell.bold for cell in row.cells.values())
            self._caption(row, heading=table or bold)
        if count:
            self._set_headers(rows[start : start + count])
        elif candidate and any(
            looks_numeric(cell) and column in set().union(*(_covered(row.cells) for row in candidate))
            for row in rows[start:]
            for column, cell in row.cells.items()
        ):
            self._set_headers(candidate)
            self._untold = True
        elif self._headers and not any(set(row.cells) & set(self._headers) for row in rows[start:]):
            self._headers, self._names, self._header = {}, {}, []
        for i, row in enumerate(rows[start:]):
            self._write(row, header=count - i if i < count else 0)

    def _captions(self, rows: list[_Row]) -> int:
        """How many single texts stand before the table."""
        start = 0
        while start < len(rows) and len(rows[start].cells) == 1:
            cell = next(iter(rows[start].cells.values()))
            if looks_numeric(cell) or cell.carried or _heads_part(rows[start].cells):
                break
            start += 1
        if start == len(rows):
            return 0 if self._headers else start
        # A single label in the first column right under a known header is a row of that table.
        return start

    def _count_headers(self, waiting: list[_Row]) -> int:
        rows = [row.cells for row in waiting]
        if not rows or (len(rows[0]) < 2 and not _heads_part(rows[0])):
            return 0
        first = rows[0]
        if not self._headerish(first):
            return 0
        width = max(len(cells) for cells in rows)
        count = 1
        covered = _covered(first)
        all_columns = {column for cells in rows for column in cells}
        while (
            count < min(len(rows), MAX_HEADER_ROWS)
            and (not all_columns <= covered or any(cell.span > 1 for cell in rows[count - 1].values()))
            and self._headerish(rows[count])
            and len(rows[count]) > 1
            and (
                any(cell.span > 1 for cell in rows[count - 1].values())
                or bool(set(rows[count]) - covered)
                or all(cell.bold for cell in rows[count].values())
            )
        ):
            covered |= _covered(rows[count])
            count += 1
        body = rows[count:]
        known = bool(self._headers) and set(first) <= set(self._headers)
        if not body:
            # Only a header's rows: they head the next block, should numbers stand under them there.
            if not known:
                self._candidate = waiting[:count]
            return 0
        bold = [cell.bold for cell in first.values()]
        if all(bold) and not all(cell.bold for cells in body for cell in cells.values()):
            return count
        if any(looks_numeric(cell) for cells in body for column, cell in cells.items() if column in covered):
            # Numbers stand under texts; a text column over all rows says nothing against it.
            return count
        if known:
            return 0
        if self._assume:
            return 1
        texts = [cell.text for cell in first.values()]
        short = all(len(text) <= 60 and not text.endswith((".", ":", ";")) for text in texts)
        distinct = len(set(texts)) == len(texts)
        return count if short and distinct and width >= 3 and len(first) >= width else 0

    def _headerish(self, cells: Cells) -> bool:
        texts = 0
        for cell in cells.values():
            if looks_numeric(cell):
                if not (_YEAR.match(cell.text) or (cell.bold and not isinstance(cell.value, float))):
                    return False
            elif len(cell.text) > MAX_CAPTION:
                return False
            else:
                texts += 1
        # A row of years alone heads a table; a row of texts with a number among them is data.
        return texts > 0 or len(cells) > 1 or _heads_part(cells)

    def _set_headers(self, rows: list[_Row]) -> None:
        paths: dict[int, list[str]] = {}
        for i, row in enumerate(rows):
            for column, cell in row.cells.items():
                # A header over several columns heads each of them; on the last header row only its own.
                wide = cell.span if i < len(rows) - 1 or cell.span > 1 else 1
                for at in range(column, column + min(wide, 1024)):
                    path = paths.setdefault(at, [])
                    if cell.text not in path:
                        path.append(cell.text)
        self._headers = {column: PATH.join(path).rstrip(":") for column, path in paths.items()}
        self._names = {}
        seen: dict[str, int] = {}
        for column, name in sorted(self._headers.items()):
            seen[name] = seen.get(name, 0) + 1
            self._names[column] = name if seen[name] == 1 else f"{name} ({seen[name]})"
        self._header = [row.cells for row in rows]

    def _caption(self, row: _Row, *, heading: bool) -> None:
        column, cell = next(iter(row.cells.items()))
        locator = self._place(row, {self._name_of(column): cell.value})
        if heading and self._caption_level and len(cell.text) <= MAX_CAPTION:
            self._out.line(
                cell.text, page=row.page, kind="heading", level=self._caption_level, locator=locator
            )
        else:
            self._out.line(cell.text, page=row.page, locator=locator)

    def _place(self, row: _Row, cells: dict[str, Value]) -> dict[str, Any]:
        return self._locator | row.place | {"row": row.number, "cells": cells}

    def _columns(self) -> dict[str, str]:
        """The names that rows go by, each with its column: JSON does not keep their order."""
        self._untold = False
        return {name: self._name_of(column) for column, name in sorted(self._names.items())}

    def _repeats(self, cells: Cells) -> bool:
        """Whether a row is one of the header's again."""
        return any(
            len(cells) == len(known)
            and all(c in known and known[c].text == cell.text for c, cell in cells.items())
            for known in self._header
        )

    def _write(self, row: _Row, *, header: int = 0) -> None:
        """``header``: how many rows of the header there are from this one on; 0 for a row that is none of them."""
        headers, names, name_of = self._headers, self._names, self._name_of
        cells = row.cells
        values: dict[str, Value] = {}
        again = not header and bool(headers) and self._repeats(cells)
        if header or again:
            text = PAIR.join(cell.text for cell in cells.values())
            for column, cell in cells.items():
                values[name_of(column)] = cell.value
            locator = self._place(row, values) | {"header": True}
            if header == 1:
                locator["columns"] = self._columns()
            if again:
                locator["repeated"] = True
            self._out.line(text, page=row.page, kind=self._repeated if again else "table", locator=locator)
            return
        parts: list[str] = []
        for column, cell in cells.items():
            name = headers.get(column)
            if name and name != cell.text:
                parts.append(f"{name}: {cell.text}")
            else:
                parts.append(cell.text)
            values[names.get(column) or name_of(column)] = cell.value
        # Keys are the headers here and the letters there: two columns must not share one.
        if len(values) < len(cells):
            values = {
                f"{names[column]} ({name_of(column)})" if column in names else name_of(column): cell.value
                for column, cell in cells.items()
            }
        kind = "table" if len(cells) > 1 or headers else "text"
        locator = self._place(row, values)
        if self._untold:
            locator["columns"] = self._columns()
        self._out.line(PAIR.join(parts), page=row.page, kind=kind, locator=locator)


def _covered(cells: Cells) -> set[int]:
    return {at for column, cell in cells.items() for at in range(column, column + min(cell.span, 1024))}


def _heads_part(cells: Cells) -> bool:
    """A single cell over several columns, but not from the first on: it heads these, it is no caption."""
    return len(cells) == 1 and all(column > 0 and cell.span > 1 for column, cell in cells.items())
