"""An XLSB workbook made in code, as [MS-XLSB] lays it out: nothing on the package index writes one."""

from __future__ import annotations

import struct

from office_help import relations, zipped
from sheet_help import ERRORS, FORMATS, Formula, Sheet, Value, compact, number_and_style


def xlsb(*sheets: Sheet, date1904: bool = False) -> bytes:
    """The bytes of a workbook with these sheets."""
    strings: dict[str, int] = {}
    parts: dict[str, str | bytes] = {
        "[Content_Types].xml": '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
        '<Default Extension="bin" ContentType="application/vnd.ms-excel.sheet.binary.macroEnabled.main"/></Types>',
        "_rels/.rels": relations(("r1", "officeDocument", "xl/workbook.bin")),
    }
    targets = []
    bundle = b""
    for n, sheet in enumerate(sheets, start=1):
        parts[f"xl/worksheets/sheet{n}.bin"] = _sheet(sheet, strings)
        targets.append((f"s{n}", "worksheet", f"worksheets/sheet{n}.bin"))
        bundle += _record(156, struct.pack("<II", sheet.hidden, n) + _text(f"s{n}") + _text(sheet.name))
        if sheet.comments:
            parts[f"xl/comments{n}.bin"] = _comments(sheet)
            parts[f"xl/worksheets/_rels/sheet{n}.bin.rels"] = relations(
                ("c", "comments", f"../comments{n}.bin")
            )
    parts["xl/workbook.bin"] = (
        _record(131)
        + _record(153, struct.pack("<II", date1904, 0) + _text(""))
        + _record(143) + bundle + _record(144)
        + _record(132)
    )  # fmt: skip
    items = b"".join(_record(19, b"\0" + _text(text)) for text in strings)
    parts["xl/sharedStrings.bin"] = (
        _record(159, struct.pack("<II", len(strings), len(strings))) + items + _record(160)
    )
    parts["xl/styles.bin"] = _styles()
    targets += [("t", "sharedStrings", "sharedStrings.bin"), ("y", "styles", "styles.bin")]
    parts["xl/_rels/workbook.bin.rels"] = relations(*targets)
    made: bytes = zipped(parts)
    return made


def _sheet(sheet: Sheet, strings: dict[str, int]) -> bytes:
    width = max((len(row) for row in sheet.rows), default=1)
    data = _record(129)
    data += _record(148, struct.pack("<IIII", 0, max(0, len(sheet.rows) - 1), 0, max(0, width - 1)))
    columns = b"".join(_record(60, struct.pack("<4IH", n, n, 2000, 0, 1)) for n in sheet.hidden_columns)
    data += (_record(390) + columns + _record(391) if columns else b"") + _record(145)
    rows = []
    for number, row in enumerate(sheet.rows):
        hidden = 0x10 if number in sheet.hidden_rows else 0
        rows.append(_record(0, struct.pack("<IIHBBBI", number, 0, 300, 0, hidden, 0, 0)))
        rows += [_cell(column, value, strings) for column, value in enumerate(row) if value is not None]
    data += b"".join(rows) + _record(146)
    if sheet.merged:
        ranges = b"".join(_record(176, struct.pack("<IIII", *merge)) for merge in sheet.merged)
        data += _record(177, struct.pack("<I", len(sheet.merged))) + ranges + _record(178)
    return data + _record(130)


def _cell(column: int, value: Value | Formula, strings: dict[str, int]) -> bytes:
    formula = isinstance(value, Formula)
    if isinstance(value, Formula):
        value = value.value
    head = struct.pack("<II", column, 0)
    tail = struct.pack("<HII", 0, 0, 0) if formula else b""  # flags, an empty expression
    if isinstance(value, bool):
        return _record(10 if formula else 4, head + struct.pack("<B", value) + tail)
    if isinstance(value, str) and value in ERRORS:
        return _record(11 if formula else 3, head + struct.pack("<B", ERRORS[value]) + tail)
    if isinstance(value, str):
        if formula:
            return _record(8, head + _text(value) + tail)
        return _record(7, head + struct.pack("<I", strings.setdefault(value, len(strings))))
    assert value is not None
    number, style = number_and_style(value)
    head = struct.pack("<II", column, style)
    short = None if formula else compact(number)
    if short is not None:
        return _record(2, head + struct.pack("<I", short))
    return _record(9 if formula else 5, head + struct.pack("<d", number) + tail)


def _comments(sheet: Sheet) -> bytes:
    authors = list(dict.fromkeys(author for author, _ in sheet.comments.values()))
    data = _record(628) + _record(630) + b"".join(_record(632, _text(author)) for author in authors)
    data += _record(631) + _record(633)
    for (row, column), (author, text) in sheet.comments.items():
        place = struct.pack("<5I16x", authors.index(author), row, row, column, column)
        data += _record(635, place) + _record(637, b"\0" + _text(text)) + _record(636)
    return data + _record(634) + _record(629)


def _styles() -> bytes:
    formats = b"".join(
        _record(44, struct.pack("<H", number) + _text(code)) for number, code in FORMATS.items()
    )
    cells = b"".join(_record(47, struct.pack("<HH12x", 0, number)) for number in (0, *FORMATS))
    count = struct.pack("<I", len(FORMATS))
    return (
        _record(278)
        + _record(615, count) + formats + _record(616)
        + _record(617, struct.pack("<I", len(FORMATS) + 1)) + cells + _record(618)
        + _record(279)
    )  # fmt: skip


def _record(kind: int, data: bytes = b"") -> bytes:
    """A record: its kind in one or two bytes, its size in groups of seven bits, its data."""
    head = bytes([kind]) if kind < 128 else bytes([kind & 127 | 128, kind >> 7])
    size = len(data)
    while True:
        head += bytes([size & 127 | (128 if size > 127 else 0)])
        size >>= 7
        if not size:
            return head + data


def _text(text: str) -> bytes:
    encoded = text.encode("utf-16-le")
    return struct.pack("<I", len(encoded) // 2) + encoded
