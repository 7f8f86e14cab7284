"""Legacy Word documents (97 to 2003), from their piece table: no helper program, no temporary file.

The layout follows Microsoft's published [MS-DOC]: the FIB says where the text of each part and the tables of
formatting are; formatted disk pages say which characters are deleted or hidden, and where table rows end.
"""

from __future__ import annotations

import bisect
import struct
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from tq_loader.convert.cfb import CompoundFile
from tq_loader.convert.detect import Found
from tq_loader.convert.package import password
from tq_loader.convert.protocol import MALFORMED, UNSUPPORTED, ConvertError, Job, LineRanges, Writer, count_of
from tq_loader.convert.table import Cells, TableWriter, cell_of, one_line

# Positions in the FIB: (offset, length) pairs of the tables that are read, and counts of characters by part.
_CCP: Final = 0x4C
_PAIRS: Final = 0x9A
_STYLES, _FOOTNOTE_REFS, _CHPX, _PAPX, _CLX, _ENDNOTE_REFS = 1, 2, 12, 13, 33, 46
_PARTS: Final = ("body", "footnote", "header", "macro", "comment", "endnote", "text_box", "header_box")

# Property modifiers (sprms).
_DELETED, _INSERTED, _VANISH = 0x0800, 0x0801, 0x083C
_IN_TABLE, _ROW_END, _OUTLINE = 0x2416, 0x2417, 0x2640
_DEPTH, _INNER_CELL, _INNER_ROW_END = 0x6649, 0x244B, 0x244C
_TABLE_DEFINITION: Final = 0xD608
_LIST: Final = 0x460B

# Sizes of operands by a sprm's top three bits; -1: the operand begins with its size.
_SIZES: Final = (1, 1, 2, 4, 2, 2, -1, 3)

# Characters that stand for something else in Word's text.
_SIGNS: Final = {
    0x00: "", 0x01: "", 0x02: "", 0x03: "", 0x04: "", 0x05: "", 0x08: "", 0x09: "\t", 0x0A: " ", 0x0B: "\n",
    0x0C: "\n", 0x0E: "\n", 0x1E: "-", 0x1F: "", 0xA0: "\u00a0",
}  # fmt: skip


@dataclass(slots=True, frozen=True)
class Piece:
    """A run of characters: from which one, how many, where in the stream, one or two bytes each."""

    start: int
    end: int
    offset: int
    narrow: bool


@dataclass(slots=True)
class Look:
    """How a stretch of characters is formatted, as far as it matters here."""

    deleted: bool = False
    inserted: bool = False
    hidden: bool = False


@dataclass(slots=True, frozen=True)
class Paragraph:
    """``mark``: the character that ends it (of a cell or row: 0x07); ``notes``: numbers of those it refers to."""

    text: str
    form: Form
    mark: str
    notes: tuple[str, ...] = ()


@dataclass(slots=True)
class Form:
    """How a paragraph is formatted. ``level``: of a heading; ``depth``: of tables that it stands in."""

    style: int = 0
    level: int | None = None
    depth: int = 0
    row_end: bool = False
    listed: bool = False
    edges: tuple[int, ...] = ()


def convert(data: bytes | bytearray, job: Job, found: Found, out: Writer) -> None:
    """Write a legacy Word document. Raises TQ010 for one older than Word 97, TQ011 or TQ013."""
    container = CompoundFile(data)
    streams = {name.lower(): entry for name, entry in container.children().items()}
    main = container.read(streams["worddocument"])
    if len(main) < 0x200:
        raise damaged("its main stream is too short")
    magic, version = struct.unpack_from("<HH", main, 0)
    (flags,) = struct.unpack_from("<H", main, 0x0A)
    if magic != 0xA5EC or version < 0xC1:
        raise ConvertError(
            UNSUPPORTED,
            "content is not supported",
            "the content is a Word document of a version before 97",
            "convert it with antiword or catdoc, or save it as .docx, and load the result",
        )
    if flags & 0x100:
        raise password("Word document")
    table_name = "1table" if flags & 0x200 else "0table"
    if table_name not in streams:
        raise damaged(f"its stream {table_name} is missing")
    out.document(found.media_type, None)
    try:
        document = Document(main, container.read(streams[table_name]), out)
    except (struct.error, IndexError) as error:
        raise damaged(f"its tables cannot be read: {error}") from error
    document.write()
    if "objectpool" in streams and (objects := len(container.children(streams["objectpool"]))):
        out.omission("embedded_object", f"{count_of(objects, 'embedded object')} not read")


class Document:
    """Text and formatting, by character position."""

    def __init__(self, main: bytes, tables: bytes, out: Writer) -> None:
        self._main = main
        self._tables = tables
        self._out = out
        self._pairs = (len(main) - _PAIRS) // 8
        self._pieces = self._read_pieces()
        self._starts = [piece.start for piece in self._pieces]
        self._levels = self._read_styles()
        self._characters = self._bins(_CHPX)
        self._paragraphs = self._bins(_PAPX)
        self._pages: dict[tuple[int, bool], tuple[list[int], list[bytes | None]]] = {}
        self._deleted = self._inserted = self._hidden = self._pictures = 0
        self._tables_count = 0
        self._paragraph = 0
        self._note_numbers: dict[int, str] = {}
        self._notes: dict[str, list[str]] = {}
        self._listed = LineRanges()

    def write(self) -> None:
        counts = struct.unpack_from("<8i", self._main, _CCP)
        counts = tuple(max(0, count) for count in counts)
        bounds: dict[str, tuple[int, int]] = {}
        at = 0
        for part, count in zip(_PARTS, counts, strict=True):
            bounds[part] = (at, at + count)
            at += count
        for kind, pair in (("footnote", _FOOTNOTE_REFS), ("endnote", _ENDNOTE_REFS)):
            self._read_notes(kind, pair, *bounds[kind])
        self._part(*bounds["body"], {})
        for part in ("text_box",):
            self._part(*bounds[part], {"part": part})
        self._aside("header", *bounds["header"], *bounds["header_box"])
        self._comments(*bounds["comment"])
        self._say()

    # Parts

    def _part(self, start: int, end: int, place: dict[str, Any]) -> None:
        row: list[str] = []
        rows: list[tuple[list[str], tuple[int, ...]]] = []
        text = ""
        notes: list[str] = []
        for paragraph in self._read_paragraphs(start, end):
            form = paragraph.form
            if form.depth:
                notes += paragraph.notes
                if form.row_end:
                    # The row's end has the cells' edges; it has no text.
                    rows.append((row, form.edges))
                    row, text = [], ""
                elif paragraph.mark == "\x07" and form.depth == 1:
                    row.append(one_line(text + paragraph.text))
                    text = ""
                else:
                    text += paragraph.text + "\n"
                continue
            self._end_table(rows, row, text, place, notes)
            rows, row, text, notes = [], [], "", []
            self._write(paragraph, place)
        self._end_table(rows, row, text, place, notes)

    def _write(self, paragraph: Paragraph, place: dict[str, Any]) -> None:
        if paragraph.text.strip():
            self._paragraph += 1
            level = paragraph.form.level or self._levels.get(paragraph.form.style)
            for line in paragraph.text.split("\n"):
                line = line.strip()
                if line:
                    number = self._out.line(
                        line,
                        kind="text" if level is None else "heading",
                        level=level,
                        locator=place | {"paragraph": self._paragraph},
                    )
                    if paragraph.form.listed:
                        self._listed.add(number)
        self._write_notes(paragraph.notes, place)

    def _write_notes(self, notes: Iterable[str], place: dict[str, Any]) -> None:
        for mark in notes:
            for i, text in enumerate(self._notes.pop(mark, ())):
                part = "endnote" if mark.startswith("end") else "footnote"
                self._out.line(f"[{mark}] {text}" if i == 0 else text, locator=place | {"part": part})

    def _end_table(
        self,
        rows: list[tuple[list[str], tuple[int, ...]]],
        row: list[str],
        text: str,
        place: dict[str, Any],
        notes: list[str],
    ) -> None:
        if text.strip():
            row = [*row, one_line(text)]
        if any(row):
            rows = [*rows, (row, ())]
        if not rows:
            return
        self._tables_count += 1
        place = place | {"table": self._tables_count}
        if len(rows) < 2 or max(len(cells) for cells, _ in rows) < 2:
            for cells, _ in rows:
                for cell in cells:
                    if cell:
                        self._out.line(cell, locator=place)
            self._write_notes(notes, place)
            return
        edges = sorted({edge for _, own in rows for edge in own})
        index = {edge: i for i, edge in enumerate(edges)}
        writer = TableWriter(self._out, place, caption_level=None)
        for number, (cells, own) in enumerate(rows, start=1):
            line: Cells = {}
            for i, text in enumerate(cells):
                column, span = i, 1
                if len(own) == len(cells) + 1:
                    column, span = index[own[i]], max(1, index[own[i + 1]] - index[own[i]])
                cell_found = cell_of(text, span=span)
                if cell_found is not None:
                    line[column] = cell_found
            writer.row(number, dict(sorted(line.items())))
        writer.close()
        self._write_notes(notes, place)

    def _read_paragraphs(self, start: int, end: int) -> list[Paragraph]:
        """Paragraphs and cells between two positions; what was deleted is left out."""
        found: list[Paragraph] = []
        parts: list[str] = []
        notes: list[str] = []
        fields: list[bool] = []  # of each open field: in its code
        at = start
        while at < end:
            i = bisect.bisect_right(self._starts, at) - 1
            if i < 0 or at >= self._pieces[i].end:
                break
            piece = self._pieces[i]
            width = 1 if piece.narrow else 2
            offset = piece.offset + (at - piece.start) * width
            look, look_end = self._look(offset)
            last = min(piece.end, end, at + max(1, -(-(look_end - offset) // width)))
            raw = self._main[offset : offset + (last - at) * width]
            text = raw.decode("cp1252" if piece.narrow else "utf-16-le", "replace")
            if piece.narrow is False and len(text) != last - at:
                text = "".join(
                    chr(code) if not 0xD800 <= code < 0xE000 else "\ufffd"
                    for code in struct.unpack(f"<{len(raw) // 2}H", raw[: len(raw) // 2 * 2])
                )
            shown = not look.deleted and not look.hidden
            if look.deleted:
                self._deleted += 1
            elif look.hidden:
                self._hidden += bool(text.strip())
            self._inserted += look.inserted
            for j, c in enumerate(text):
                code = ord(c)
                if code >= 0x20:
                    if shown and True not in fields:
                        parts.append(c)
                elif code in (0x0D, 0x07):
                    if look.deleted and code == 0x0D:
                        continue
                    form = self._form(offset + j * width)
                    # A field's code never spans paragraphs: an unclosed one must not swallow what follows.
                    fields = [False for _ in fields]
                    found.append(Paragraph("".join(parts), form, c, tuple(notes)))
                    parts, notes = [], []
                elif code == 0x13:
                    fields.append(True)
                elif code == 0x14 and fields:
                    fields[-1] = False
                elif code == 0x15 and fields:
                    fields.pop()
                elif shown and True not in fields:
                    if code == 0x02 and (mark := self._note_numbers.get(at + j)) is not None:
                        parts.append(f"[{mark}]")
                        notes.append(mark)
                    elif code in (0x01, 0x08):
                        self._pictures += 1
                    parts.append(_SIGNS.get(code, ""))
            at = last
        if parts:
            found.append(Paragraph("".join(parts), Form(), "", tuple(notes)))
        return found

    def _read_notes(self, kind: str, pair: int, start: int, end: int) -> None:
        """Texts of notes by their number, and where in the body each is referred to."""
        offset, length = self._table(pair)
        count = (length - 4) // 6 if length >= 10 else 0
        if not count:
            return
        references = struct.unpack_from(f"<{count + 1}i", self._tables, offset)[:count]
        name = "note" if kind == "footnote" else "endnote"
        texts_offset, texts_length = self._table(pair + 1)
        number = texts_length // 4
        bounds = struct.unpack_from(f"<{number}i", self._tables, texts_offset) if number else ()
        for i, reference in enumerate(references):
            mark = f"{name} {i + 1}"
            if i + 1 < len(bounds):
                found = self._read_paragraphs(start + bounds[i], min(end, start + bounds[i + 1]))
                self._notes[mark] = [one_line(p.text) for p in found if p.text.strip()]
            self._note_numbers[reference] = mark

    def _aside(self, kind: str, *bounds: int) -> None:
        seen: set[str] = set()
        for start, end in zip(bounds[::2], bounds[1::2], strict=True):
            for paragraph in self._read_paragraphs(start, end):
                for line in paragraph.text.split("\n"):
                    line = one_line(line)
                    if line and line not in seen:
                        seen.add(line)
                        self._out.line(line, kind="furniture", locator={"part": kind})

    def _comments(self, start: int, end: int) -> None:
        first = self._out.lines + 1
        for paragraph in self._read_paragraphs(start, end):
            text = one_line(paragraph.text)
            if text:
                self._out.line(f"[comment] {text}", kind="furniture", locator={"part": "comment"})
        if self._out.lines >= first:
            self._out.omission(
                "comments",
                f"{count_of(self._out.lines - first + 1, 'line')} of comments, "
                "kept as lines marked as not part of the text",
                line_start=first,
                line_end=self._out.lines,
            )

    def _say(self) -> None:
        if self._deleted or self._inserted:
            self._out.omission(
                "tracked_changes",
                "tracked changes were read as accepted: deleted text left out, inserted text kept",
            )
        for start, end in self._listed.shown(1):
            self._out.omission(
                "list_numbers",
                f"numbers and bullets of {count_of(self._listed.count, 'list item')} are not in the text "
                "and were not counted",
                line_start=start,
                line_end=end,
            )
        for number, kind, noun, rest in (
            (self._pictures, "image", "image or object", "not read"),
            (self._hidden, "hidden_text", "piece", "of hidden text left out"),
        ):
            if number:
                self._out.omission(kind, f"{count_of(number, noun)} {rest}")

    # Tables of the file

    def _table(self, pair: int) -> tuple[int, int]:
        """(offset, length) in the table stream; (0, 0) where the file does not have it."""
        if pair >= self._pairs:
            return 0, 0
        offset, length = struct.unpack_from("<II", self._main, _PAIRS + pair * 8)
        if offset > len(self._tables):
            return 0, 0
        return offset, min(length, len(self._tables) - offset)

    def _read_pieces(self) -> list[Piece]:
        offset, length = self._table(_CLX)
        at, end = offset, offset + length
        while at < end and self._tables[at] == 1:
            at += 3 + struct.unpack_from("<H", self._tables, at + 1)[0]
        if at >= end or self._tables[at] != 2:
            raise damaged("it has no piece table")
        (size,) = struct.unpack_from("<I", self._tables, at + 1)
        at += 5
        count = (min(size, len(self._tables) - at) - 4) // 12
        positions = struct.unpack_from(f"<{count + 1}I", self._tables, at)
        pieces: list[Piece] = []
        for i in range(count):
            (place,) = struct.unpack_from("<I", self._tables, at + (count + 1) * 4 + i * 8 + 2)
            narrow = bool(place & 0x40000000)
            place &= 0x3FFFFFFF
            start, stop = positions[i], positions[i + 1]
            here = place // 2 if narrow else place
            room = max(0, len(self._main) - here) // (1 if narrow else 2)
            # Pieces that overlap or run backwards are a fault; they must not make text without end.
            if stop <= start or (pieces and start < pieces[-1].end):
                raise damaged("its piece table is not in order")
            pieces.append(Piece(start, min(stop, start + room), here, narrow))
        if not pieces:
            raise damaged("its piece table is empty")
        return pieces

    def _read_styles(self) -> dict[int, int]:
        """Heading level by style index: the built-in headings 1 to 9, and the title."""
        offset, length = self._table(_STYLES)
        levels: dict[int, int] = {}
        if length < 20:
            return levels
        try:
            (header,) = struct.unpack_from("<H", self._tables, offset)
            (count,) = struct.unpack_from("<H", self._tables, offset + 2)
            at = offset + 2 + header
            for i in range(min(count, 4096)):
                (size,) = struct.unpack_from("<H", self._tables, at)
                if size >= 2:
                    built_in = struct.unpack_from("<H", self._tables, at + 2)[0] & 0x0FFF
                    if 1 <= built_in <= 9:
                        levels[i] = min(built_in, 6)
                    elif built_in == 62:
                        levels[i] = 1
                at += 2 + size + (size & 1)
        except struct.error:
            pass  # without styles there are no headings; the text is complete
        return levels

    def _bins(self, pair: int) -> tuple[list[int], list[int]]:
        """(file offsets where pages of formatting begin to hold, their page numbers)."""
        offset, length = self._table(pair)
        count = (length - 4) // 8 if length >= 12 else 0
        if not count:
            return [], []
        starts = list(struct.unpack_from(f"<{count + 1}I", self._tables, offset))
        pages = struct.unpack_from(f"<{count}I", self._tables, offset + (count + 1) * 4)
        return starts, [page & 0x3FFFFF for page in pages]

    def _run(
        self, offset: int, bins: tuple[list[int], list[int]], paragraph: bool
    ) -> tuple[bytes | None, int]:
        """(properties of the character at a file offset, or None; where they end to hold)."""
        starts, pages = bins
        if not pages:
            return None, len(self._main)
        i = min(max(bisect.bisect_right(starts, offset) - 1, 0), len(pages) - 1)
        key = (pages[i], paragraph)
        if key not in self._pages:
            self._pages[key] = self._page(pages[i], paragraph)
        bounds, properties = self._pages[key]
        at = bisect.bisect_right(bounds, offset) - 1
        if not 0 <= at < len(properties):
            return None, starts[i + 1] if i + 1 < len(starts) and starts[i + 1] > offset else len(self._main)
        return properties[at], bounds[at + 1]

    def _page(self, number: int, paragraph: bool) -> tuple[list[int], list[bytes | None]]:
        page = self._main[number * 512 : number * 512 + 512]
        if len(page) < 512:
            return [], []
        count = page[511]
        size = 13 if paragraph else 1
        if (count + 1) * 4 + count * size > 511:
            return [], []
        bounds = list(struct.unpack_from(f"<{count + 1}I", page, 0))
        properties: list[bytes | None] = []
        for i in range(count):
            at = page[(count + 1) * 4 + i * size] * 2
            if not at:
                properties.append(None)
                continue
            length = page[at]
            if paragraph:
                if length:
                    properties.append(page[at + 1 : at + 2 * length])
                else:
                    length = page[at + 1] if at + 1 < 511 else 0
                    properties.append(page[at + 2 : at + 2 + 2 * length])
            else:
                properties.append(page[at + 1 : at + 1 + length])
        return bounds, properties

    def _look(self, offset: int) -> tuple[Look, int]:
        found, end = self._run(offset, self._characters, False)
        look = Look()
        for sprm, operand in _sprms(found or b""):
            value = bool(operand and operand[0] & 1)
            if sprm == _DELETED:
                look.deleted = value
            elif sprm == _INSERTED:
                look.inserted = value
            elif sprm == _VANISH:
                look.hidden = value
        return look, max(end, offset + 1)

    def _form(self, offset: int) -> Form:
        found, _ = self._run(offset, self._paragraphs, True)
        form = Form()
        if not found or len(found) < 2:
            return form
        form.style = int.from_bytes(found[:2], "little")
        for sprm, operand in _sprms(found[2:]):
            if not operand:
                continue
            if sprm == _IN_TABLE:
                form.depth = max(form.depth, operand[0] & 1)
            elif sprm == _DEPTH and len(operand) >= 4:
                form.depth = int.from_bytes(operand[:4], "little", signed=True)
            elif sprm in (_ROW_END, _INNER_ROW_END):
                form.row_end = form.row_end or bool(operand[0])
            elif sprm == _LIST and len(operand) >= 2:
                form.listed = operand[:2] != b"\0\0"
            elif sprm == _OUTLINE:
                form.level = min(operand[0] + 1, 6) if operand[0] < 9 else None
            elif sprm == _TABLE_DEFINITION and len(operand) > 2:
                count = operand[0]
                if len(operand) >= 1 + (count + 1) * 2:
                    form.edges = struct.unpack_from(f"<{count + 1}h", operand, 1)
        return form


def _sprms(data: bytes) -> list[tuple[int, bytes]]:
    """Property modifiers with their operands, as far as they can be told apart."""
    found: list[tuple[int, bytes]] = []
    at = 0
    while at + 2 <= len(data):
        sprm = int.from_bytes(data[at : at + 2], "little")
        at += 2
        size = _SIZES[sprm >> 13]
        if size < 0:
            if at >= len(data):
                break
            if sprm == _TABLE_DEFINITION:
                if at + 2 > len(data):
                    break
                size = int.from_bytes(data[at : at + 2], "little") - 1
                at += 2
            else:
                size = data[at]
                at += 1
                if sprm == 0xC615 and size == 255:  # tab stops of a length of their own
                    break
        if size < 0:
            break
        found.append((sprm, data[at : at + size]))
        at += size
    return found


def damaged(detail: str) -> ConvertError:
    return ConvertError(
        MALFORMED,
        "document is damaged",
        detail,
        "open it in Word or LibreOffice and save it as .docx",
    )
