"""An XLS workbook made in code, as [MS-XLS] lays it out: with errors and formulas' values, which no package writes."""

from __future__ import annotations

import struct

from cfb_help import compound
from sheet_help import ERRORS, FORMATS, Formula, Sheet, Value, compact, number_and_style

MOST = 8224  # bytes of one record; a longer one goes on in others


def xls(*sheets: Sheet, date1904: bool = False, string_record: int = MOST) -> bytes:
    """The bytes of a workbook with these sheets. ``string_record``: where the table of strings is cut."""
    strings: dict[str, int] = {}
    bodies = [_sheet(sheet, strings) for sheet in sheets]
    head = _record(0x0809, struct.pack("<HHHHII", 0x0600, 5, 0, 0, 0, 0))
    head += _record(0x0042, struct.pack("<H", 1200)) + _record(0x0022, struct.pack("<H", date1904))
    head += b"".join(
        _record(0x041E, struct.pack("<H", number) + _text(code)) for number, code in FORMATS.items()
    )
    head += b"".join(_record(0x00E0, struct.pack("<HH16x", 0, number)) for number in (0, *FORMATS))
    names = [_text(sheet.name, 1) for sheet in sheets]
    tail = _strings(list(strings), string_record) + _record(0x000A)
    place = len(head) + sum(10 + len(name) for name in names) + len(tail)
    for sheet, name, body in zip(sheets, names, bodies, strict=True):
        head += _record(0x0085, struct.pack("<IBB", place, sheet.hidden, 0) + name)
        place += len(body)
    made: bytes = compound({"Workbook": (head + tail + b"".join(bodies)).ljust(4096, b"\0")})
    return made


def _sheet(sheet: Sheet, strings: dict[str, int]) -> bytes:
    data = _record(0x0809, struct.pack("<HHHHII", 0x0600, 16, 0, 0, 0, 0))
    data += b"".join(_record(0x007D, struct.pack("<6H", n, n, 2000, 0, 1, 0)) for n in sheet.hidden_columns)
    for number in range(len(sheet.rows)):
        hidden = 0x20 if number in sheet.hidden_rows else 0
        data += _record(0x0208, struct.pack("<6HI", number, 0, 255, 255, 0, 0, hidden))
    data += b"".join(
        _cell(number, column, value, strings)
        for number, row in enumerate(sheet.rows)
        for column, value in enumerate(row)
        if value is not None
    )
    for n, ((row, column), (author, text)) in enumerate(sheet.comments.items(), start=1):
        data += _record(0x005D, struct.pack("<HHHH14x", 0x15, 0x12, 0x19, n))
        data += _record(0x01B6, struct.pack("<10xHHI", len(text.encode("utf-16-le")) // 2, 16, 0))
        data += _record(0x003C, b"\1" + text.encode("utf-16-le")) + _record(0x003C, bytes(16))
        data += _record(0x001C, struct.pack("<4H", row, column, 0, n) + _text(author))
    if sheet.merged:
        data += _record(
            0x00E5,
            struct.pack("<H", len(sheet.merged)) + b"".join(struct.pack("<4H", *m) for m in sheet.merged),
        )
    return data + _record(0x000A)


def _cell(row: int, column: int, value: Value | Formula, strings: dict[str, int]) -> bytes:
    head = struct.pack("<3H", row, column, 0)
    if isinstance(value, Formula):
        after = b""
        if isinstance(value.value, str) and value.value in ERRORS:
            kept = struct.pack("<BxBxxxH", 2, ERRORS[value.value], 0xFFFF)
        elif isinstance(value.value, str):
            kept = struct.pack("<B5xH", 0, 0xFFFF)
            after = _record(0x0207, _text(value.value))
        elif isinstance(value.value, bool):
            kept = struct.pack("<BxBxxxH", 1, value.value, 0xFFFF)
        else:
            kept = struct.pack("<d", value.value)
        return _record(0x0006, head + kept + struct.pack("<HIH", 0, 0, 0)) + after
    if isinstance(value, bool):
        return _record(0x0205, head + struct.pack("<BB", value, 0))
    if isinstance(value, str) and value in ERRORS:
        return _record(0x0205, head + struct.pack("<BB", ERRORS[value], 1))
    if isinstance(value, str):
        return _record(0x00FD, head + struct.pack("<I", strings.setdefault(value, len(strings))))
    assert value is not None
    number, style = number_and_style(value)
    head = struct.pack("<3H", row, column, style)
    short = compact(number)
    if short is not None:
        return _record(0x027E, head + struct.pack("<I", short))
    return _record(0x0203, head + struct.pack("<d", number))


def _strings(strings: list[str], most: int) -> bytes:
    """The table of strings, cut into records of ``most`` bytes: within a string the next one says its width again."""
    records = [bytearray(struct.pack("<II", len(strings), len(strings)))]
    for text in strings:
        wide = not text.isascii()
        if len(records[-1]) + 3 > most:
            records.append(bytearray())
        records[-1] += struct.pack("<HB", len(text.encode("utf-16-le")) // 2, wide)
        raw, size = text.encode("utf-16-le" if wide else "latin-1"), 1 + wide
        for at in range(0, len(raw), size):
            if len(records[-1]) + size > most:
                records.append(bytearray([wide]))
            records[-1] += raw[at : at + size]
    return b"".join(_record(0x003C if n else 0x00FC, bytes(data)) for n, data in enumerate(records))


def _record(kind: int, data: bytes = b"") -> bytes:
    return struct.pack("<HH", kind, len(data)) + data


def _text(text: str, size: int = 2) -> bytes:
    wide = not text.isascii()
    return (
        (len(text.encode("utf-16-le")) // 2).to_bytes(size, "little")
        + bytes([wide])
        + text.encode("utf-16-le" if wide else "latin-1")
    )
