"""XLS (Excel 5 to 2003): the records of its workbook stream, after Microsoft's published [MS-XLS].

Nothing is reserved by what the file claims: rows are kept as their cells come.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any, Final

from tq_loader.convert.cfb import CompoundFile, damaged
from tq_loader.convert.charset import named
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
from tq_loader.convert.package import password
from tq_loader.convert.protocol import UNSUPPORTED, ConvertError, Job, Writer
from tq_loader.convert.table import Cell, Cells, letters, one_line
from tq_loader.convert.workbook import (
    ERROR_CODES,
    MAX_MERGES,
    Merge,
    Notes,
    Row,
    comment,
    no_cells,
    say_comments,
    say_objects,
    write_sheet,
)

_BOF, _EOF, _CONTINUE = 0x0809, 0x000A, 0x003C
_CODEPAGE, _DATES, _ENCRYPTED, _FONT, _FORMAT, _STYLE, _BUNDLE, _STRINGS = (
    0x0042, 0x0022, 0x002F, 0x0031, 0x041E, 0x00E0, 0x0085, 0x00FC,
)  # fmt: skip
_COLUMN, _ROW, _MERGED, _NOTE, _OBJECT, _TEXT = 0x007D, 0x0208, 0x00E5, 0x001C, 0x005D, 0x01B6
_NUMBER, _COMPACT, _COMPACT_MANY, _LABEL, _SHARED, _RICH, _TRUTH, _FORMULA, _FORMULA_TEXT = (
    0x0203, 0x027E, 0x00BD, 0x0204, 0x00FD, 0x00D6, 0x0205, 0x0006, 0x0207,
)  # fmt: skip
_CELLS: Final = frozenset({_NUMBER, _COMPACT, _COMPACT_MANY, _LABEL, _SHARED, _RICH, _TRUTH, _FORMULA})
_STATES: Final = {0: "visible", 1: "hidden", 2: "veryHidden"}
_KINDS: Final = {1: "a macro sheet", 2: "a chart", 6: "a module of macros"}
_PICTURE, _CHART = 8, 5  # kinds of objects on a sheet

Record = tuple[int, int, int]  # kind, where its data begin in the stream, their length


def convert(data: bytes | bytearray, job: Job, found: Found, out: Writer) -> None:
    """Write every sheet of a workbook. Raises TQ010 for those before Excel 5, TQ011 or TQ013 where it cannot be read."""
    try:
        Workbook(CompoundFile(data)).write(found.media_type, out)
    except (struct.error, IndexError) as error:
        raise damaged(f"a record is too short: {error}") from error


class Workbook:
    def __init__(self, file: CompoundFile) -> None:
        streams = {name.lower(): entry for name, entry in file.children().items()}
        # Files that two versions of the program can open have both streams: the newer one first.
        self.stream = file.read(streams["workbook"] if "workbook" in streams else streams["book"])
        self._macros = any("_vba_project" in name for name in streams)
        self.epoch = EPOCH_1900
        self.codec = "cp1252"
        self.strings: list[str] = []
        self.formats: list[Format] = []
        self.bold: set[int] = set()
        self._bundle: list[tuple[int, int, int, str]] = []  # place, state, kind, name
        self.unicode = self._version() >= 0x0600
        self._globals()

    def _version(self) -> int:
        kind, _ = struct.unpack_from("<HH", self.stream)
        if kind != _BOF:
            raise ConvertError(
                UNSUPPORTED,
                "content is not supported",
                "the content is a workbook of Excel 4 or older",
                "save it as .xlsx and load that",
            )
        version: int = struct.unpack_from("<H", self.stream, 4)[0]
        return version

    def _globals(self) -> None:
        stream = self.stream
        fonts: list[bool] = []
        codes: dict[int, Format] = {}
        styles: list[tuple[int, int]] = []
        for kind, at, length in self.records(0):
            match kind:
                case 0x002F:
                    raise password("Excel workbook")
                case 0x0042:
                    page = struct.unpack_from("<H", stream, at)[0]
                    pages = {1200: "cp1252", 32768: "mac_roman", 32769: "cp1252"}
                    self.codec = pages.get(page) or named(str(page)) or "cp1252"
                case 0x0022:
                    if struct.unpack_from("<H", stream, at)[0] == 1:
                        self.epoch = EPOCH_1904
                case 0x0031:
                    if len(fonts) == 4:
                        fonts.append(False)  # no font has the number 4
                    fonts.append(struct.unpack_from("<H", stream, at + 6)[0] >= 600)
                case 0x041E:
                    number = struct.unpack_from("<H", stream, at)[0]
                    codes[number] = parse_format(self._text(at + 2, at + length, 2 if self.unicode else 1))
                case 0x00E0:
                    styles.append(struct.unpack_from("<HH", stream, at))
                case 0x0085:
                    place, state, sort = struct.unpack_from("<IBB", stream, at)
                    name = self._text(at + 6, at + length, 1)
                    self._bundle.append((place, state & 3, sort, name))
                case 0x00FC:
                    self.strings = _Strings(stream, self._pieces(at, length)).shared()
        for font, number in styles:
            if font < len(fonts) and fonts[font]:
                self.bold.add(len(self.formats))
            self.formats.append(codes[number] if number in codes else built_in(number))

    def write(self, media_type: str, out: Writer) -> None:
        out.document(media_type, None)
        for place, state, sort, name in self._bundle:
            name = one_line(name) or "sheet without a name"
            if sort:
                what = _KINDS.get(sort, "no worksheet")
                out.omission("chart" if sort == 2 else "sheet", f"sheet {name!r} is {what}; it was not read")
            else:
                write_sheet(out, _Sheet(self, name, _STATES.get(state, "hidden"), place))
        if not out.lines:
            raise no_cells()
        if self._macros:
            out.omission("macro", "the workbook has macros; they were not read")

    def records(self, at: int) -> Iterator[Record]:
        """The records of the substream that begins at ``at``, without those of charts that lie in it."""
        stream, depth, end = self.stream, 0, len(self.stream)
        while at + 4 <= end:
            kind, length = struct.unpack_from("<HH", stream, at)
            at += 4
            if kind == _BOF:
                depth += 1
            elif kind == _EOF:
                depth -= 1
                if depth <= 0:
                    return
            elif depth == 1:
                if at + length > end:
                    raise IndexError("the stream ends within a record")
                yield kind, at, length
            at += length

    def _pieces(self, at: int, length: int) -> list[tuple[int, int]]:
        """(start, end) of a record's data and of those of the records that continue it."""
        found = [(at, at + length)]
        at += length
        while at + 4 <= len(self.stream):
            kind, length = struct.unpack_from("<HH", self.stream, at)
            if kind != _CONTINUE:
                break
            found.append((at + 4, min(len(self.stream), at + 4 + length)))
            at += 4 + length
        return found

    def _text(self, at: int, end: int, size: int) -> str:
        """A string whose length takes ``size`` bytes, as far as its record goes."""
        count = int.from_bytes(self.stream[at : at + size], "little")
        if not self.unicode:
            return self.stream[at + size : min(end, at + size + count)].decode(self.codec, "replace")
        return _Strings(self.stream, [(at + size, end)]).one(count)

    def text(self, at: int, length: int) -> str:
        """A cell's own string, with the records that continue it."""
        if not self.unicode:
            return self._text(at, at + length, 2)
        count = struct.unpack_from("<H", self.stream, at)[0]
        return _Strings(self.stream, self._pieces(at + 2, length - 2)).one(count)

    def box(self, at: int, length: int) -> str:
        """The text of a box or a comment, which stands in the record after it."""
        count = struct.unpack_from("<H", self.stream, at + 10)[0] if self.unicode else 0
        pieces = self._pieces(at, length)[1:]
        return _Strings(self.stream, pieces).characters(count) if count and pieces else ""


class _Strings:
    """Strings of 8 or 16 bits a character, over the records that they are cut into."""

    def __init__(self, stream: bytes, pieces: list[tuple[int, int]]) -> None:
        self._stream = stream
        self._pieces = pieces
        self._piece = 0
        self._at = pieces[0][0]

    def shared(self) -> list[str]:
        """The workbook's table of strings. One that is cut off has those before the cut."""
        self.take(4)
        count = int.from_bytes(self.take(4), "little")
        found: list[str] = []
        try:
            while len(found) < count:
                found.append(one_line(self.one(int.from_bytes(self.take(2), "little"))))
        except IndexError:
            pass
        return found

    def one(self, count: int) -> str:
        """A string of ``count`` characters: its flags, then what they announce, then the characters."""
        flags = self.take(1)[0]
        runs = int.from_bytes(self.take(2), "little") if flags & 8 else 0
        more = int.from_bytes(self.take(4), "little") if flags & 4 else 0
        text = self._read(count, flags & 1)
        self.skip(4 * runs + more)
        return text

    def characters(self, count: int) -> str:
        return self._read(count, self.take(1)[0] & 1)

    def take(self, count: int) -> bytes:
        parts = []
        while count:
            start, end = self._room()
            parts.append(self._stream[start : min(end, start + count)])
            count -= len(parts[-1])
            self._at += len(parts[-1])
        return b"".join(parts)

    def skip(self, count: int) -> None:
        while count > 0:
            start, end = self._room()
            step = min(count, end - start)
            self._at += step
            count -= step

    def _read(self, count: int, wide: int) -> str:
        parts: list[bytes] = []  # all as UTF-16: a pair of halves may be cut, too
        while count:
            at_edge = self._at >= self._pieces[self._piece][1]
            start, end = self._room()
            if at_edge:  # characters that go on in the next record say anew how wide they are
                wide = self._stream[start] & 1
                self._at = start = start + 1
            size = 1 + wide
            step = min(count, (end - start) // size)
            if not step and end - start < size:
                self._at = end
                if end > start:
                    raise IndexError("a character is cut in two")
                continue
            raw = self._stream[start : start + step * size]
            self._at += len(raw)
            count -= step
            if not wide and not count and not parts:
                return raw.decode("latin-1")
            parts.append(raw if wide else raw.decode("latin-1").encode("utf-16-le"))
        return b"".join(parts).decode("utf-16-le", "replace")

    def _room(self) -> tuple[int, int]:
        """What is left of the piece in hand, or the next one. Raises IndexError where there is none."""
        while self._at >= self._pieces[self._piece][1]:
            self._piece += 1
            self._at = self._pieces[self._piece][0]
        return self._at, self._pieces[self._piece][1]


class _Sheet:
    """One pass over the records finds what concerns all rows, and whether the rows are in order."""

    def __init__(self, book: Workbook, name: str, state: str, place: int) -> None:
        self.name = name
        self.state = state
        self._book = book
        self._place = place
        self._merged: list[Merge] = []
        self._merges_left = False
        self._hidden: set[int] = set()
        self._hidden_columns: list[str] = []
        self._notes: list[tuple[int, int, int, str]] = []  # row, column, object, author or text
        self._boxes: dict[int, str] = {}  # by object
        self._pictures = self._charts = 0
        self._ordered = True
        self._look()

    def _look(self) -> None:
        book, stream = self._book, self._book.stream
        last = thing = -1
        for kind, at, length in book.records(self._place):
            if kind in _CELLS:
                row = struct.unpack_from("<H", stream, at)[0]
                self._ordered &= row >= last
                last = row
            elif kind == _ROW:
                if stream[at + 12] & 0x20:
                    self._hidden.add(struct.unpack_from("<H", stream, at)[0])
            elif kind == _COLUMN:
                first, final, _, _, flags = struct.unpack_from("<5H", stream, at)
                if flags & 1 and final < 255 and final >= first:
                    self._hidden_columns += [letters(i) for i in range(first, final + 1)]
            elif kind == _MERGED:
                for n in range(struct.unpack_from("<H", stream, at)[0]):
                    top, bottom, left, right = struct.unpack_from("<4H", stream, at + 2 + 8 * n)
                    if len(self._merged) < MAX_MERGES:
                        self._merged.append((top + 1, bottom + 1, left, right))
                    else:
                        self._merges_left = True
            elif kind == _OBJECT and length >= 8:
                sort, thing = struct.unpack_from("<HH", stream, at + 4)
                self._pictures += sort == _PICTURE
                self._charts += sort == _CHART
            elif kind == _TEXT and book.unicode:
                self._boxes[thing] = one_line(book.box(at, length))
            elif kind == _NOTE and length >= 8:
                row, column, _, number = struct.unpack_from("<4H", stream, at)
                if book.unicode:
                    author = one_line(book.text(at + 8, length - 8)) if length > 10 else ""
                    self._notes.append((row, column, number, author))
                elif row != 0xFFFF:
                    text = stream[at + 6 : at + length].decode(book.codec, "replace")
                    self._notes.append((row, column, -1, one_line(text)))

    def merges(self, notes: Notes) -> list[Merge]:
        notes.merges_left = self._merges_left
        return self._merged

    def rows(self, notes: Notes) -> Iterator[Row]:
        notes.hidden_columns += self._hidden_columns
        if self._ordered:
            yield from self._rows()
            return
        found: dict[int, Row] = {}
        for row in self._rows():
            before = found.get(row.number)
            found[row.number] = row if before is None else Row(
                row.number, row.hidden, before.cells | row.cells, before.errors + row.errors,
                before.uncalculated + row.uncalculated,
            )  # fmt: skip
        for number in sorted(found):
            yield found[number]

    def _rows(self) -> Iterator[Row]:
        """Runs of cells of one row, in the order of the file."""
        book, stream = self._book, self._book.stream
        number, errors, uncalculated = -1, 0, 0
        cells: Cells = {}
        text_at: tuple[int, bool] | None = None  # column of a formula whose text stands in a later record
        for kind, at, length in book.records(self._place):
            if kind == _FORMULA_TEXT and text_at is not None:
                column, bold = text_at
                text = one_line(book.text(at, length))
                if text:
                    cells[column] = Cell(text, text, 1, bold)
                text_at = None
            if kind not in _CELLS:
                continue
            row, column = struct.unpack_from("<HH", stream, at)
            if row != number:
                if cells:
                    yield Row(
                        number + 1, number in self._hidden, dict(sorted(cells.items())), errors, uncalculated
                    )
                number, errors, uncalculated, cells = row, 0, 0, {}
            text_at = None
            if kind == _COMPACT_MANY:
                for n in range((length - 6) // 6):
                    style, raw = struct.unpack_from("<HI", stream, at + 4 + 6 * n)
                    cells[column + n] = self._number(compact_number(raw), style)
                continue
            style = struct.unpack_from("<H", stream, at + 4)[0]
            bold = style in book.bold
            cell: Cell | None = None
            match kind:
                case 0x0203:
                    cell = self._number(struct.unpack_from("<d", stream, at + 6)[0], style)
                case 0x027E:
                    cell = self._number(compact_number(struct.unpack_from("<I", stream, at + 6)[0]), style)
                case 0x00FD:
                    index = struct.unpack_from("<I", stream, at + 6)[0]
                    text = book.strings[index] if index < len(book.strings) else ""
                    cell = Cell(text, text, 1, bold) if text else None
                case 0x0204 | 0x00D6:
                    text = one_line(book.text(at + 6, length - 6))
                    cell = Cell(text, text, 1, bold) if text else None
                case 0x0205:
                    cell = _truth(stream[at + 6], stream[at + 7] == 1, bold)
                    errors += stream[at + 7] == 1
                case 0x0006:
                    value = stream[at + 6 : at + 14]
                    if value[6:] != b"\xff\xff":
                        if not any(value) and stream[at + 14] & 2:  # to be calculated when it is opened
                            cell = Cell("=?", "=?", 1, bold)
                            uncalculated += 1
                        else:
                            cell = self._number(struct.unpack("<d", value)[0], style)
                    elif value[0] == 0:
                        text_at = (column, bold)
                    elif value[0] in (1, 2):
                        cell = _truth(value[2], value[0] == 2, bold)
                        errors += value[0] == 2
            if cell is not None:
                cells[column] = cell
        if cells:
            yield Row(number + 1, number in self._hidden, dict(sorted(cells.items())), errors, uncalculated)

    def _number(self, value: float, style: int) -> Cell:
        book = self._book
        form = book.formats[style] if style < len(book.formats) else GENERAL
        shown, kept = show(value, form, book.epoch)
        return Cell(shown, kept, 1, style in book.bold)

    def beside(self, out: Writer, locator: dict[str, Any]) -> None:
        start = out.lines + 1
        for row, column, number, said in self._notes:
            author, text = (said, self._boxes.pop(number, "")) if number >= 0 else ("", said)
            if text:
                comment(out, locator, f"{letters(column)}{row + 1}", author, text)
        say_comments(out, self.name, start)
        for text in self._boxes.values():
            if text:
                out.line(text, locator=locator | {"part": "text_box"})
        say_objects(out, self.name, self._pictures, self._charts)


def _truth(code: int, error: bool, bold: bool) -> Cell:
    if error:
        text = ERROR_CODES.get(code, "#ERROR")
        return Cell(text, text, 1, bold)
    return Cell("TRUE" if code else "FALSE", bool(code), 1, bold)
