"""XLSB: the parts of an XLSX whose XML is written as binary records, after Microsoft's published [MS-XLSB].

A record is its kind, its size and its data; kinds that are not asked for are passed by.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from typing import Any, Final

from tq_loader.convert.detect import Found
from tq_loader.convert.numbers import (
    EPOCH_1900,
    EPOCH_1904,
    GENERAL,
    Format,
    built_in,
    compact_number,
    parse_format,
    show,
)
from tq_loader.convert.package import Package, title_of
from tq_loader.convert.protocol import ConvertError, Job, Writer
from tq_loader.convert.table import Cell, Cells, letters, one_line
from tq_loader.convert.workbook import (
    ERROR_CODES,
    MAX_COLUMNS,
    MAX_MERGES,
    Merge,
    Notes,
    Row,
    comment,
    drawings,
    no_cells,
    say_beside,
    say_comments,
    write_sheet,
)

MOST: Final = 64 << 20  # bytes of one record; a cell has at most 32,767 characters

_ROW, _FIRST_CELL, _LAST_CELL, _RICH_CELL = 0, 1, 18, 62
_STRING, _FONT, _FORMAT, _STYLE, _COLUMN, _PROPERTIES, _BUNDLE, _MERGE = 19, 43, 44, 47, 60, 153, 156, 176
_STYLES_BEGIN, _STYLES_END = 617, 618
_AUTHOR, _COMMENT, _COMMENT_TEXT = 632, 635, 637
_STATES: Final = {0: "visible", 1: "hidden", 2: "veryHidden"}


def convert(data: bytes | bytearray, job: Job, found: Found, out: Writer) -> None:
    """Write every sheet of a workbook. Raises TQ011, TQ012 or TQ013 where it cannot be read."""
    package = Package(data, job.memory_mb, "Excel workbook")
    try:
        Workbook(package).write(found.media_type, out)
    except (struct.error, IndexError) as error:
        raise package.damaged(f"a record is too short: {error}") from error


class Workbook:
    def __init__(self, package: Package) -> None:
        self.package = package
        mains = package.related("", "officeDocument") or ["xl/workbook.bin"]
        self.main = mains[0]
        self.epoch = EPOCH_1900
        self._bundle: list[tuple[int, str, str]] = []  # state, relation, name
        for kind, data in self.records(self.main):
            if kind == _PROPERTIES and data[0] & 1:
                self.epoch = EPOCH_1904
            elif kind == _BUNDLE:
                relation, at = wide(data, 8)
                self._bundle.append((data[0], relation, wide(data, at)[0]))
        self.strings = [
            one_line(wide(data, 1)[0])
            for part in package.related(self.main, "sharedStrings")
            for kind, data in self.records(part)
            if kind == _STRING
        ]
        self.formats, self.bold = self._styles()

    def write(self, media_type: str, out: Writer) -> None:
        out.document(media_type, title_of(self.package))
        relations = self.package.relations(self.main)
        for state, relation_id, name in self._bundle:
            name = one_line(name) or "sheet without a name"
            relation = relations.get(relation_id)
            if relation is None or not self.package.has(relation.target):
                out.omission("sheet", f"sheet {name!r} is missing from the file")
            elif relation.kind != "worksheet":
                what = "chart" if relation.kind == "chartsheet" else "sheet"
                out.omission(what, f"sheet {name!r} is no worksheet ({relation.kind}); it was not read")
            else:
                write_sheet(out, _Sheet(self, name, _STATES.get(state, "hidden"), relation.target))
        if not out.lines:
            raise no_cells()
        say_beside(self.package, self.main, out)

    def records(self, part: str) -> Iterator[tuple[int, bytes]]:
        """(kind, data) of the records of a part, in their order."""
        return records(self.package.chunks(part), self.package)

    def _styles(self) -> tuple[list[Format], set[int]]:
        """(number format by style, styles with bold type)."""
        codes: dict[int, Format] = {}
        fonts: list[bool] = []
        formats: list[Format] = []
        bold: set[int] = set()
        inside = False
        for part in self.package.related(self.main, "styles")[:1]:
            for kind, data in self.records(part):
                if kind == _FONT:
                    fonts.append(struct.unpack_from("<H", data, 4)[0] >= 600)
                elif kind == _FORMAT:
                    codes[struct.unpack_from("<H", data)[0]] = parse_format(wide(data, 2)[0])
                elif kind in (_STYLES_BEGIN, _STYLES_END):
                    inside = kind == _STYLES_BEGIN
                elif kind == _STYLE and inside:
                    number, font = struct.unpack_from("<HH", data, 2)
                    if font < len(fonts) and fonts[font]:
                        bold.add(len(formats))
                    formats.append(codes[number] if number in codes else built_in(number))
        return formats, bold


class _Sheet:
    def __init__(self, book: Workbook, name: str, state: str, part: str) -> None:
        self.name = name
        self.state = state
        self._book = book
        self._part = part

    def merges(self, notes: Notes) -> list[Merge]:
        """Merged cells, which the file tells after the rows."""
        found: list[Merge] = []
        for kind, data in self._book.records(self._part):
            if kind == _MERGE:
                top, bottom, left, right = struct.unpack_from("<4I", data)
                if len(found) < MAX_MERGES:
                    found.append((top + 1, bottom + 1, left, right))
                else:
                    notes.merges_left = True
        return found

    def rows(self, notes: Notes) -> Iterator[Row]:
        number, hidden, errors, column = 0, False, 0, -1
        cells: Cells = {}
        for kind, data in self._book.records(self._part):
            if kind == _ROW:
                if number:
                    yield Row(number, hidden, cells, errors)
                number, hidden = struct.unpack_from("<I", data)[0] + 1, bool(data[11] & 0x10)
                errors, column, cells = 0, -1, {}
            elif _FIRST_CELL <= kind <= _LAST_CELL or kind == _RICH_CELL:
                short = 12 <= kind <= _LAST_CELL  # follows the cell before it, and does not name its column
                column = column + 1 if short else struct.unpack_from("<I", data)[0]
                at = 0 if short else 4
                style = int.from_bytes(data[at : at + 3], "little")
                cell = self._cell(kind - 11 if short else kind, data, at + 4, style)
                if cell is not None and column < MAX_COLUMNS:
                    cells[column] = cell
                    errors += kind in (3, 11, 14)
            elif kind == _COLUMN:
                first, last, _, _, flags = struct.unpack_from("<4IH", data)
                # To the sheet's edge it only hides what is empty.
                if flags & 1 and last < MAX_COLUMNS - 1 and last - first < 100:
                    notes.hidden_columns += [letters(i) for i in range(first, last + 1)]
        if number:
            yield Row(number, hidden, cells, errors)

    def _cell(self, kind: int, data: bytes, at: int, style: int) -> Cell | None:
        """The cell of a record whose value begins at ``at``; None when it is empty."""
        book = self._book
        bold = style in book.bold
        match kind:
            case 3 | 11:
                text = ERROR_CODES.get(data[at], "#ERROR")
                return Cell(text, text, 1, bold)
            case 4 | 10:
                return Cell("TRUE" if data[at] else "FALSE", bool(data[at]), 1, bold)
            case 2 | 5 | 9:
                value = (
                    compact_number(struct.unpack_from("<I", data, at)[0])
                    if kind == 2
                    else struct.unpack_from("<d", data, at)[0]
                )
                form = book.formats[style] if style < len(book.formats) else GENERAL
                shown, kept = show(value, form, book.epoch)
                return Cell(shown, kept, 1, bold)
            case 7:
                index = struct.unpack_from("<I", data, at)[0]
                text = book.strings[index] if index < len(book.strings) else ""
            case 6 | 8:
                text = one_line(wide(data, at)[0])
            case 62:
                text = one_line(wide(data, at + 1)[0])
            case _:
                return None
        return Cell(text, text, 1, bold) if text else None

    def beside(self, out: Writer, locator: dict[str, Any]) -> None:
        package = self._book.package
        start = out.lines + 1
        for part in package.related(self._part, "comments"):
            authors: list[str] = []
            who = place = ""
            try:
                for kind, data in self._book.records(part):
                    if kind == _AUTHOR:
                        authors.append(one_line(wide(data, 0)[0]))
                    elif kind == _COMMENT:
                        author, row, _, column = struct.unpack_from("<4I", data)
                        who = authors[author] if author < len(authors) else ""
                        place = f"{letters(column)}{row + 1}"
                    elif kind == _COMMENT_TEXT and (text := one_line(wide(data, 1)[0])):
                        comment(out, locator, place, who, text)
            except (ConvertError, struct.error, IndexError):
                out.omission("comments", f"comments of sheet {self.name!r} cannot be read")
        say_comments(out, self.name, start)
        drawings(package, self._part, out, self.name, locator)


def records(chunks: Iterable[bytes], package: Package) -> Iterator[tuple[int, bytes]]:
    """Records over the pieces of a part. Raises TQ011 where one is cut off or out of all proportion."""
    buffer = b""
    for chunk in chunks:
        buffer += chunk
        at, end = 0, len(buffer)
        while True:
            head = _head(buffer, at)
            if head is None:
                break
            kind, size, start = head
            if size > MOST:
                raise package.damaged(f"a record claims {size:,} bytes")
            if start + size > end:
                break
            yield kind, buffer[start : start + size]
            at = start + size
        buffer = buffer[at:]
    if buffer:
        raise package.damaged("its last record is cut off")


def _head(buffer: bytes, at: int) -> tuple[int, int, int] | None:
    """(kind, size, where the data begins) of the record at ``at``; None where more of it is needed."""
    end = len(buffer)
    if at + 2 > end:
        return None
    kind = buffer[at]
    at += 1
    if kind & 0x80:
        kind = kind & 0x7F | (buffer[at] & 0x7F) << 7
        at += 1
    size = 0
    for shift in (0, 7, 14, 21):
        if at >= end:
            return None
        byte = buffer[at]
        at += 1
        size |= (byte & 0x7F) << shift
        if not byte & 0x80:
            break
    return kind, size, at


def wide(data: bytes, at: int) -> tuple[str, int]:
    """(the string at ``at``, where it ends); one that is null is empty."""
    count = struct.unpack_from("<I", data, at)[0]
    if count == 0xFFFFFFFF:
        return "", at + 4
    end = at + 4 + 2 * count
    if end > len(data):
        raise IndexError("a string goes beyond its record")
    return data[at + 4 : end].decode("utf-16-le", "replace"), end
