"""XLS (Excel 5 to 2003): cells, styles and comments by xlrd; what it passes over, from the records themselves."""

from __future__ import annotations

import io
import struct
from collections.abc import Iterator
from typing import Any, Final

import xlrd

from tq_loader.convert.cfb import CompoundFile, damaged
from tq_loader.convert.detect import Found
from tq_loader.convert.numbers import EPOCH_1900, EPOCH_1904, GENERAL, Format, built_in, parse_format, show
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
_BUNDLE, _FORMULA, _OBJECT, _TEXT = 0x0085, 0x0006, 0x005D, 0x01B6
_STATES: Final = {0: "visible", 1: "hidden", 2: "veryHidden"}
_KINDS: Final = {1: "a macro sheet", 2: "a chart", 6: "a module of macros"}
_PICTURE, _CHART = 8, 5  # kinds of objects on a sheet
_UNICODE: Final = 80  # xlrd's number of the versions from 97 on


def _decoded(data: bytes, codec: str) -> str:
    return data.decode(codec, "surrogatepass" if codec.startswith("utf_16") else "replace")


# xlrd decodes each piece of a string by itself and strictly, and so would refuse a workbook over a character that the
# end of a record cuts in two, or that its code page lacks. The halves are joined in `_text`.
for _module in (xlrd.biffh, xlrd.book, xlrd.sheet):
    _module.unicode = _decoded


def _text(found: str) -> str:
    if not found.isascii():
        found = found.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return one_line(found)


def convert(data: bytes | bytearray, job: Job, found: Found, out: Writer) -> None:
    """Write every sheet of a workbook. Raises TQ010 for those before Excel 5, TQ011 or TQ013 where it cannot be read."""
    file = CompoundFile(data)
    streams = {name.lower(): entry for name, entry in file.children().items()}
    # Files that two versions of the program can open have both streams: the newer one first.
    stream = file.read(streams["workbook"] if "workbook" in streams else streams["book"])
    try:
        _write(_open(stream), found.media_type, out)
    except xlrd.XLRDError as error:
        if "encrypted" in str(error):
            raise password("Excel workbook") from error
        raise damaged(str(error)) from error
    except (
        ArithmeticError,
        AssertionError,
        AttributeError,
        LookupError,
        TypeError,
        ValueError,
        struct.error,
    ) as error:
        raise damaged(f"a record is not what it should be: {type(error).__name__}") from error
    if any("_vba_project" in name for name in streams):
        out.omission("macro", "the workbook has macros; they were not read")


def _open(stream: bytes) -> Any:
    if stream[:2] != struct.pack("<H", _BOF):
        raise ConvertError(
            UNSUPPORTED,
            "content is not supported",
            "the content is a workbook of Excel 4 or older",
            "save it as .xlsx and load that",
        )
    options: dict[str, Any] = {"logfile": io.StringIO(), "formatting_info": True, "ragged_rows": True}
    try:
        return xlrd.open_workbook(file_contents=stream, on_demand=True, **options)
    except LookupError as error:
        if isinstance(error, (IndexError, KeyError)):
            raise
        # A code page that has no name.
        return xlrd.open_workbook(file_contents=stream, on_demand=True, encoding_override="cp1252", **options)


def _write(book: Any, media_type: str, out: Writer) -> None:
    out.document(media_type, None)
    styles = [_style(book, style) for style in book.xf_list]
    number = 0
    for kind, at, length in _records(book.mem, 0):
        if kind != _BUNDLE:
            continue
        place, _, sort = struct.unpack_from("<IBB", book.mem, at)
        if sort:
            what = _KINDS.get(sort, "no worksheet")
            name = _text(_sheet_name(book, book.mem[at + 6 : at + length]))
            out.omission("chart" if sort == 2 else "sheet", f"sheet {name!r} is {what}; it was not read")
        else:
            write_sheet(out, _Sheet(book, number, styles, place))
            book.unload_sheet(number)
            number += 1
    if not out.lines:
        raise no_cells()


def _sheet_name(book: Any, data: bytes) -> str:
    if book.biff_version < _UNICODE:
        return str(xlrd.biffh.unpack_string(data, 0, book.encoding))
    return str(xlrd.biffh.unpack_unicode(data, 0, lenlen=1))


def _style(book: Any, style: Any) -> tuple[Format, bool]:
    """(number format, whether the type is bold) of a cell's style."""
    number = style.format_key
    form = built_in(number) if number < 164 else GENERAL
    if form is GENERAL and number in book.format_map:
        form = parse_format(book.format_map[number].format_str)
    fonts = book.font_list
    return form, style.font_index < len(fonts) and fonts[style.font_index].weight >= 600


def _records(stream: bytes, at: int) -> Iterator[tuple[int, int, int]]:
    """(kind, start of its data, their length) of the records of a substream, without those of charts that lie in it."""
    depth = 0
    while at + 4 <= len(stream):
        kind, length = struct.unpack_from("<HH", stream, at)
        at += 4
        if kind == _BOF:
            depth += 1
        elif kind == _EOF:
            depth -= 1
            if depth <= 0:
                return
        elif depth == 1:
            yield kind, at, length
        at += length


class _Sheet:
    def __init__(self, book: Any, number: int, styles: list[tuple[Format, bool]], place: int) -> None:
        self._sheet = sheet = book.sheet_by_index(number)
        self.name = _text(sheet.name) or "sheet without a name"
        self.state = _STATES.get(sheet.visibility & 3, "hidden")
        self._styles = styles
        self._epoch = EPOCH_1904 if book.datemode else EPOCH_1900
        self._to_come: set[tuple[int, int]] = set()  # formulas without a value
        self._boxes: dict[int, str] = {}  # by object
        self._pictures = self._charts = 0
        self._look(book.mem, place)

    def _look(self, stream: bytes, place: int) -> None:
        """What xlrd passes over: formulas that have not been calculated, pictures, charts, text boxes."""
        thing = -1
        for kind, at, length in _records(stream, place):
            if kind == _FORMULA:
                if (
                    not any(stream[at + 6 : at + 14]) and stream[at + 14] & 2
                ):  # to be calculated when it is opened
                    self._to_come.add(struct.unpack_from("<HH", stream, at))
            elif kind == _OBJECT and length >= 8:
                sort, thing = struct.unpack_from("<HH", stream, at + 4)
                self._pictures += sort == _PICTURE
                self._charts += sort == _CHART
            elif kind == _TEXT and length >= 12:
                self._boxes[thing] = _box(stream, at + length, struct.unpack_from("<H", stream, at + 10)[0])

    def merges(self, notes: Notes) -> list[Merge]:
        merged = self._sheet.merged_cells
        notes.merges_left = len(merged) > MAX_MERGES
        return [(top + 1, end, left, right - 1) for top, end, left, right in merged[:MAX_MERGES]]

    def rows(self, notes: Notes) -> Iterator[Row]:
        sheet = self._sheet
        notes.hidden_columns += [
            letters(column)
            for column, info in sorted(sheet.colinfo_map.items())
            if info.hidden and column < 255
        ]
        for number in range(sheet.nrows):
            info = sheet.rowinfo_map.get(number)
            cells: Cells = {}
            errors = uncalculated = 0
            for column, (kind, value) in enumerate(
                zip(sheet.row_types(number), sheet.row_values(number), strict=True)
            ):
                if kind in (xlrd.XL_CELL_EMPTY, xlrd.XL_CELL_BLANK):
                    continue
                style = sheet.cell_xf_index(number, column)
                form, bold = self._styles[style] if style < len(self._styles) else (GENERAL, False)
                if kind == xlrd.XL_CELL_TEXT:
                    text = _text(value)
                    if text:
                        cells[column] = Cell(text, text, 1, bold)
                elif kind == xlrd.XL_CELL_BOOLEAN:
                    cells[column] = Cell("TRUE" if value else "FALSE", bool(value), 1, bold)
                elif kind == xlrd.XL_CELL_ERROR:
                    text = ERROR_CODES.get(value, "#ERROR")
                    cells[column] = Cell(text, text, 1, bold)
                    errors += 1
                elif not value and (number, column) in self._to_come:
                    cells[column] = Cell("=?", "=?", 1, bold)
                    uncalculated += 1
                else:
                    shown, kept = show(value, form, self._epoch)
                    cells[column] = Cell(shown, kept, 1, bold)
            if cells:
                yield Row(number + 1, bool(info and info.hidden), cells, errors, uncalculated)

    def beside(self, out: Writer, locator: dict[str, Any]) -> None:
        start = out.lines + 1
        for (row, column), note in sorted(self._sheet.cell_note_map.items()):
            self._boxes.pop(note._object_id, None)
            text = _text(note.text)
            if text:
                comment(out, locator, f"{letters(column)}{row + 1}", _text(note.author), text)
        say_comments(out, self.name, start)
        for text in self._boxes.values():
            if text:
                out.line(text, locator=locator | {"part": "text_box"})
        say_objects(out, self.name, self._pictures, self._charts)


def _box(stream: bytes, at: int, count: int) -> str:
    """The text of a box, ``count`` characters in the records that go on after ``at``."""
    text = b""  # as UTF-16: a pair of halves may be cut, too
    while len(text) < 2 * count and stream[at : at + 2] == struct.pack("<H", _CONTINUE):
        length = struct.unpack_from("<H", stream, at + 2)[0]
        piece = stream[at + 5 : at + 4 + length]
        text += piece if stream[at + 4] & 1 else piece.decode("latin-1").encode("utf-16-le")
        at += 4 + length
    return one_line(text.decode("utf-16-le", "replace"))
