"""CSV and its kin: any delimiter, any encoding; a record is one line, whatever breaks stand in its cells."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any, Final, Literal

from tq_loader.convert.detect import Found
from tq_loader.convert.encoding import Encoding, decode
from tq_loader.convert.protocol import (
    MAX_LINE_CHARS,
    TOO_LARGE,
    ConvertError,
    Job,
    LineRanges,
    Writer,
    count_of,
)
from tq_loader.convert.table import Cell, Cells, TableWriter, one_line, typed
from tq_loader.convert.text import Source, look, say_omissions

Quoting = Literal[0, 3]  # csv.QUOTE_MINIMAL, csv.QUOTE_NONE

DELIMITERS: Final = (",", ";", "\t", "|", ":", "\x1f")
SAMPLE: Final = 200  # records by which the delimiter is chosen
# A quotation that runs over more lines than this was never meant as one.
MAX_QUOTED_LINES: Final = 1000


def convert(data: bytes | bytearray, job: Job, found: Found, out: Writer) -> None:
    """Write every record of a delimited file."""
    csv.field_size_limit(MAX_LINE_CHARS)
    source = look(data)
    if source.encoding.name.startswith("utf-16") and not source.encoding.skip and not _wide(data):
        # A NUL byte here and there is no sign of it.
        source = Source(Encoding("cp1252", guessed=True), "\n" if b"\n" in data else "\r", False)
    delimiter, skip = find_delimiter(data, source)
    quoting, width = _survey(data, source, delimiter, skip)
    out.document(found.media_type, None)
    broken = LineRanges()
    ragged = LineRanges()
    writer = TableWriter(out, {}, assume_header=True, caption_level=None)
    if delimiter is None:
        width = 1
    for number, (record, replaced) in enumerate(_records(data, source, delimiter, skip, quoting), start=1):
        cells: Cells = {}
        for i, text in enumerate(record):
            text = one_line(text)
            if text:
                # The writer replaces and counts NUL bytes in lines; a locator must not hold one either.
                cells[i] = Cell(text, typed(text) if "\x00" not in text else text.replace("\x00", "\ufffd"))
        if not cells:
            continue
        writer.row(number, cells)
        if replaced:
            broken.add(number, replaced)
        if width > 1 and len(record) > width:
            ragged.add(number)
    writer.close()
    say_omissions(out, source, found, broken)
    if quoting == csv.QUOTE_NONE:
        out.omission(
            "quotation_marks",
            "quotation marks of the file do not pair; they were read as plain characters",
        )
    if ragged.count:
        out.omission(
            "ragged_rows",
            f"{count_of(ragged.count, 'record')} with more cells than the header; these have no header",
        )


def find_delimiter(data: bytes | bytearray, source: Source) -> tuple[str | None, int]:
    """(delimiter, or None for a file of one column; lines to skip). By which of them parts the first records
    most evenly.
    """
    lines: list[str] = []
    size = 0
    for line, _ in _lines(data, source):
        lines.append(line)
        size += len(line)
        if len(lines) >= SAMPLE or size > 1 << 18:
            break
    if not lines:
        return None, 0
    top = lines[0].strip().lower()
    if top.startswith("sep=") and len(top) <= 5:  # what Excel writes to tell itself
        return lines[0].strip()[4:] or "\t", 1
    best: tuple[float, str] | None = None
    for delimiter in DELIMITERS:
        try:
            records = [r for r in csv.reader(lines, delimiter=delimiter) if r]
        except csv.Error:
            continue
        if len(records) > 1 and len(lines) < size:
            records = records[:-1] if len(lines) >= SAMPLE else records
        widths = [len(record) for record in records]
        if not widths or max(widths) < 2:
            continue
        # The commonest width; of equally common ones that of the first record.
        common = Counter(widths).most_common(1)[0][0]
        even = widths.count(common) / len(widths)
        if common < 2:
            continue
        # Evenness first; then more columns. Spaces after every delimiter speak of prose.
        score = even * 10 + min(common, 12) / 12 - (2 if delimiter in (":", "|") else 0)
        if best is None or score > best[0]:
            best = (score, delimiter)
    return (best[1] if best else None), 0


def _wide(data: bytes | bytearray) -> bool:
    """Whether commas, digits and line ends of the file have a NUL byte beside them, as UTF-16 writes them."""
    plain = re.findall(rb"(?=(.[,;\t\r\n0-9].))", bytes(data[:65536]), re.S)
    return sum(b"\x00" in text for text in plain) > len(plain) / 2


def _survey(data: bytes | bytearray, source: Source, delimiter: str | None, skip: int) -> tuple[Quoting, int]:
    """(how quotation marks are to be read, columns of the first record)."""
    width = 0
    reader = _reader(data, source, delimiter, skip, csv.QUOTE_MINIMAL, LineRanges(), strict=True)
    before = 0
    try:
        for record in reader:
            width = width or len(record)
            if reader.line_num - before > MAX_QUOTED_LINES:
                return csv.QUOTE_NONE, width
            before = reader.line_num
    except csv.Error as error:
        if "end of data" in str(error) or "field larger" in str(error):
            return csv.QUOTE_NONE, width
    return csv.QUOTE_MINIMAL, width


def _records(
    data: bytes | bytearray, source: Source, delimiter: str | None, skip: int, quoting: Quoting
) -> Iterator[tuple[list[str], int]]:
    """(cells, undecodable places) of each record."""
    broken = LineRanges()
    reader = _reader(data, source, delimiter, skip, quoting, broken)
    while True:
        before = broken.count
        try:
            record = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise ConvertError(
                TOO_LARGE,
                "record is too long",
                f"{error} (line {reader.line_num:,} of the file)",
                "check that the file is delimited text and that its quotation marks pair",
            ) from error
        yield record, broken.count - before


def _reader(
    data: bytes | bytearray,
    source: Source,
    delimiter: str | None,
    skip: int,
    quoting: Quoting,
    broken: LineRanges,
    strict: bool = False,
) -> Any:
    def lines() -> Iterator[str]:
        for number, (line, replaced) in enumerate(_lines(data, source), start=1):
            if replaced:
                broken.add(number, replaced)
            if number > skip:
                yield line

    return csv.reader(lines(), delimiter=delimiter or "\x1e", quoting=quoting, strict=strict)


def _lines(data: bytes | bytearray, source: Source) -> Iterator[tuple[str, int]]:
    """Lines with their ends, which count where they stand in a quoted cell; bounded by a slice each."""
    rest = ""
    for text, replaced in decode(data, source.encoding):
        text = rest + text
        parts = text.split(source.line_end)
        rest = parts.pop()
        if len(rest) > MAX_LINE_CHARS:
            raise ConvertError(
                TOO_LARGE,
                "line is too long",
                f"one line has more than {MAX_LINE_CHARS:,} characters",
                "break the text into lines, or check that it is text at all",
            )
        for i, part in enumerate(parts):
            yield (part[:-1] if part.endswith("\r") else part) + "\n", replaced if i == 0 else 0
    if rest:
        yield rest, 0
