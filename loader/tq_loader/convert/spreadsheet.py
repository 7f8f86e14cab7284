"""XLSX in a stream of our own, XLS and XLSB through calamine: every sheet, every row a line.

The own reader is for what calamine does not tell (formats, formulas, hidden rows) and for sheets whose one
far cell would make it reserve the whole rectangle before it.
"""

from __future__ import annotations

import io
import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from typing import Any, Final

from tq_loader.convert.cfb import CompoundFile
from tq_loader.convert.detect import Found
from tq_loader.convert.numbers import (
    EPOCH_1900,
    EPOCH_1904,
    GENERAL,
    Format,
    built_in,
    duration,
    iso,
    number_text,
    parse_format,
    rounded,
    show,
)
from tq_loader.convert.package import Element, Package, attribute, flag, local, password
from tq_loader.convert.protocol import (
    MALFORMED,
    TOO_LARGE,
    ConvertError,
    Job,
    LineRanges,
    Writer,
    count_of,
    place_of,
)
from tq_loader.convert.table import Cell, Cells, TableWriter, letters, one_line

MAX_COLUMNS: Final = 16_384
MAX_MERGES: Final = 200_000

_REFERENCE = re.compile(r"([A-Za-z]{1,3})([0-9]{1,7})$")
_ESCAPED = re.compile(r"_x([0-9A-Fa-f]{4})_")
_MERGE = re.compile(rb"<(?:\w+:)?mergeCell\s[^>]*?ref=[\"']([A-Z]+\d+:[A-Z]+\d+)[\"']")


def convert(data: bytes | bytearray, job: Job, found: Found, out: Writer) -> None:
    """Write every sheet of a workbook. Raises TQ011, TQ012 or TQ013 where it cannot be read."""
    if found.format == "xlsx":
        Workbook(Package(data, job.memory_mb, "Excel workbook"), out).write(found.media_type)
    else:
        # Before calamine reserves memory by what the file claims: a failed reservation would end the process.
        if found.format == "xlsb":
            Package(data, job.memory_mb, "Excel workbook")
        else:
            check_records(data)
        by_calamine(data, found, out)


@dataclass(slots=True)
class Notes:
    """Lines of a sheet of which something has to be said."""

    errors: LineRanges = field(default_factory=LineRanges)
    uncalculated: LineRanges = field(default_factory=LineRanges)
    hidden: LineRanges = field(default_factory=LineRanges)
    hidden_columns: list[str] = field(default_factory=list)
    merges_left: bool = False

    def say(self, out: Writer, sheet: str) -> None:
        for ranges, kind, detail in (
            (self.errors, "formula_error", "formula errors in place of values"),
            (self.uncalculated, "formula_without_value", "formulas that the file has no calculated value of"),
        ):
            if ranges.count:
                for start, end in ranges.shown(5):
                    out.omission(
                        kind,
                        f"{detail}: {count_of(ranges.count, 'cell')} of sheet {sheet!r} "
                        f"({place_of(start, end)})",
                        line_start=start,
                        line_end=end,
                    )
        for start, end in self.hidden.shown(20):
            out.omission(
                "hidden_rows",
                f"rows of sheet {sheet!r} are hidden in the workbook; they were read ({place_of(start, end)})",
                line_start=start,
                line_end=end,
            )
        if self.hidden_columns:
            shown = ", ".join(self.hidden_columns[:20])
            out.omission(
                "hidden_columns",
                f"columns of sheet {sheet!r} are hidden in the workbook; they were read ({shown})",
            )
        if self.merges_left:
            out.omission(
                "merged_cells",
                f"sheet {sheet!r} has more than {MAX_MERGES:,} merged cells; not all were followed",
            )


class Workbook:
    """An XLSX file: its sheets in order, streamed row by row."""

    def __init__(self, package: Package, out: Writer) -> None:
        self._package = package
        self._out = out
        mains = package.related("", "officeDocument") or ["xl/workbook.xml"]
        self._main = mains[0]
        self._root = package.tree(self._main)
        properties = next((e for e in self._root if local(e) == "workbookPr"), None)
        date1904 = properties is not None and attribute(properties, "date1904") in ("1", "true", "on")
        self._epoch = EPOCH_1904 if date1904 else EPOCH_1900
        self._strings = self._shared_strings()
        self._formats, self._bold = self._styles()

    def write(self, media_type: str) -> None:
        self._out.document(media_type, title_of(self._package))
        relations = self._package.relations(self._main)
        sheets = [e for e in self._root.iter() if local(e) == "sheet"]
        for element in sheets:
            relation = relations.get(_relation_id(element) or "")
            name = one_line(element.get("name") or "") or "sheet without a name"
            state = element.get("state") or "visible"
            if relation is None or not self._package.has(relation.target):
                self._out.omission("sheet", f"sheet {name!r} is missing from the file")
                continue
            if relation.kind == "chartsheet":
                self._out.omission("chart", f"sheet {name!r} is a chart; it was not read")
                continue
            self._sheet(name, state, relation.target)
        if not self._out.lines:
            raise no_cells()
        for kind, what in (("vbaProject", "macros"), ("externalLink", "links to other workbooks")):
            if self._package.related(self._main, kind):
                self._out.omission(
                    "macro" if kind == "vbaProject" else "external_link",
                    f"the workbook has {what}; they were not read",
                )

    def _sheet(self, name: str, state: str, part: str) -> None:
        first = self._out.lines + 1
        heading(self._out, name, state)
        notes = Notes()
        merges = self._merges(part, notes)
        locator: dict[str, Any] = {"sheet": name}
        if state != "visible":
            locator["hidden"] = True
        writer = TableWriter(self._out, locator)
        carried = Carried(merges)
        lines = RowLines(self._out, writer, notes)
        for number, hidden, cells, faults in self._rows(part, notes):
            cells = carried.into(number, cells)
            if cells:
                lines.row(number, cells, hidden, faults)
        writer.close()
        lines.settle()
        notes.say(self._out, name)
        self._beside(part, name, locator)
        if state != "visible":
            self._out.omission(
                "hidden_sheet",
                f"sheet {name!r} is hidden in the workbook; it was read",
                line_start=first,
                line_end=self._out.lines,
            )

    def _rows(self, part: str, notes: Notes) -> Iterator[tuple[int, bool, Cells, tuple[int, int]]]:
        """(row number, hidden, cells, (error values, formulas without a value)); rows without cells too."""
        last = 0
        for element in self._package.stream(part, ("{*}row", "{*}col")):
            if local(element) == "col":
                if element.get("hidden") in ("1", "true"):
                    start, end = _whole(element.get("min")), _whole(element.get("max"))
                    # To the sheet's edge it only hides what is empty.
                    if start and end and end < MAX_COLUMNS and end - start < 100:
                        notes.hidden_columns += [letters(i - 1) for i in range(start, end + 1)]
                continue
            last = _whole(element.get("r")) or last + 1
            errors = uncalculated = 0
            cells: Cells = {}
            column = -1
            for c in element:
                reference = c.get("r")
                if reference is None:
                    column += 1
                else:
                    column = column_of(reference, column + 1)
                cell, fault = self._cell(c)
                if cell is not None and column < MAX_COLUMNS:
                    cells[column] = cell
                if fault == 1:
                    errors += 1
                elif fault == 2:
                    uncalculated += 1
            yield last, element.get("hidden") in ("1", "true"), cells, (errors, uncalculated)

    def _cell(self, c: Element) -> tuple[Cell | None, int]:
        """(the cell or None when it is empty, 0 fine 1 an error value 2 a formula without a value)."""
        kind = c.get("t")
        raw: str | None = None
        formula: Element | None = None
        inline: Element | None = None
        for child in c:
            tag = child.tag  # told apart by their ends: this runs once a cell
            if tag.endswith("}v"):
                raw = child.text
            elif tag.endswith("}f"):
                formula = child
            elif tag.endswith("}is"):
                inline = child
        style = _whole(c.get("s")) or 0
        bold = style in self._bold
        if kind == "inlineStr" or (inline is not None and raw is None):
            raw = rich_text(inline) if inline is not None else raw
            kind = "str"
        if raw is None or raw == "":
            if formula is not None and formula.text and kind != "str":
                text = one_line("=" + formula.text)
                return Cell(text, text, 1, bold), 2
            return None, 0
        if kind == "s":
            index = _whole(raw)
            text = self._strings[index] if index is not None and index < len(self._strings) else ""
            return (Cell(text, text, 1, bold), 0) if text else (None, 0)
        if kind == "str":
            text = one_line(unescape(raw))
            return (Cell(text, text, 1, bold), 0) if text else (None, 0)
        if kind == "b":
            truth = raw.strip() in ("1", "true")
            return Cell("TRUE" if truth else "FALSE", truth, 1, bold), 0
        if kind == "e":
            return Cell(raw, raw, 1, bold), 1
        if kind == "d":
            text = iso_text(raw)
            return Cell(text, text, 1, bold), 0
        form = self._formats[style] if style < len(self._formats) else GENERAL
        try:
            if len(raw) < 16 and raw.isdecimal():
                number: float = int(raw)
                if form is GENERAL:
                    return Cell(str(number), number, 1, bold), 0
            else:
                number = float(raw)
        except ValueError:
            text = one_line(raw)
            return Cell(text, text, 1, bold), 0
        text, value = show(number, form, self._epoch)
        return Cell(text, value, 1, bold), 0

    def _shared_strings(self) -> list[str]:
        parts = self._package.related(self._main, "sharedStrings")
        if not parts:
            return []
        return [one_line(rich_text(element)) for element in self._package.stream(parts[0], ("{*}si",))]

    def _styles(self) -> tuple[list[Format], set[int]]:
        """(number format by style, styles with bold type)."""
        parts = self._package.related(self._main, "styles")
        root = self._package.optional(parts[0]) if parts else None
        if root is None:
            return [], set()
        codes: dict[int, str] = {}
        bold_fonts: set[int] = set()
        formats: list[Format] = []
        bold: set[int] = set()
        known: dict[int, Format] = {}
        for group in root:
            name = local(group)
            if name == "numFmts":
                for element in group:
                    number = _whole(element.get("numFmtId"))
                    if number is not None:
                        codes[number] = element.get("formatCode") or ""
            elif name == "fonts":
                for i, font in enumerate(group):
                    if flag(next((e for e in font if local(e) == "b"), None)):
                        bold_fonts.add(i)
            elif name == "cellXfs":
                for i, element in enumerate(group):
                    number = _whole(element.get("numFmtId")) or 0
                    if number not in known:
                        code = codes.get(number)
                        known[number] = parse_format(code) if code is not None else built_in(number)
                    formats.append(known[number])
                    if (_whole(element.get("fontId")) or 0) in bold_fonts:
                        bold.add(i)
        return formats, bold

    def _merges(self, part: str, notes: Notes) -> list[tuple[int, int, int, int]]:
        """(first row, last row, first column, last column) of merged cells, which the file tells after the
        rows.
        """
        found: list[tuple[int, int, int, int]] = []
        tail = b""
        for chunk in self._package.chunks(part):
            text = tail + chunk
            if b"mergeCell" in text:
                end = 0
                for match in _MERGE.finditer(text):
                    end = match.end()
                    first, _, last = match.group(1).decode().partition(":")
                    a, b = _REFERENCE.match(first), _REFERENCE.match(last)
                    if a and b and len(found) < MAX_MERGES:
                        found.append((int(a[2]), int(b[2]), column_of(first, 0), column_of(last, 0)))
                    elif a and b:
                        notes.merges_left = True
                text = text[end:]
            tail = text[-256:]
        return found

    def _beside(self, part: str, sheet: str, locator: dict[str, Any]) -> None:
        """Comments as lines that are no content of the sheet; drawings' texts; what is not read."""
        package, out = self._package, self._out
        people: dict[str, str] = {}
        start = out.lines + 1
        threads = package.related(part, "threadedComment")
        for name in package.related(self._main, "person"):
            root = package.optional(name)
            for element in () if root is None else root:
                people[element.get("id", "")] = element.get("displayName", "")
        for name in threads or package.related(part, "comments"):
            root = package.optional(name)
            if root is None:
                out.omission("comments", f"comments of sheet {sheet!r} cannot be read")
                continue
            authors = [one_line(e.text or "") for e in root.iter() if local(e) == "author"]
            for element in root.iter():
                if local(element) not in ("comment", "threadedComment"):
                    continue
                who = (
                    people.get(element.get("personId", ""), "")
                    if threads
                    else next(iter(authors[_whole(element.get("authorId")) or 0 :]), "")
                )
                body = one_line("".join(e.text or "" for e in element.iter() if local(e) in ("t", "text")))
                if body:
                    by = f" by {who}" if who else ""
                    out.line(
                        f"[comment on {element.get('ref')}{by}] {body}",
                        kind="furniture",
                        locator=locator | {"part": "comment", "cell": element.get("ref")},
                    )
        if out.lines >= start:
            out.omission(
                "comments",
                f"{count_of(out.lines - start + 1, 'comment')} on cells of sheet {sheet!r}, "
                "kept as lines marked as not part of the sheet",
                line_start=start,
                line_end=out.lines,
            )
        pictures = charts = 0
        for name in package.related(part, "drawing"):
            root = package.optional(name)
            if root is None:
                continue
            for element in root.iter():
                match local(element):
                    case "txBody":
                        text = one_line(
                            " ".join(
                                "".join(t.text or "" for t in p.iter() if local(t) == "t")
                                for p in element.iter()
                                if local(p) == "p"
                            )
                        )
                        if text:
                            out.line(text, locator=locator | {"part": "text_box"})
                    case "pic":
                        pictures += 1
                    case "chart":
                        charts += 1
        for count, kind, what in ((pictures, "image", "image"), (charts, "chart", "chart")):
            if count:
                out.omission(kind, f"{count_of(count, what)} of sheet {sheet!r} not read")
        objects = len(package.related(part, "oleObject")) + len(package.related(part, "package"))
        if objects:
            out.omission(
                "embedded_object", f"{count_of(objects, 'embedded object')} of sheet {sheet!r} not read"
            )


class RowLines:
    """Rows to their lines: the writer holds some back until it knows their header."""

    def __init__(self, out: Writer, writer: TableWriter, notes: Notes) -> None:
        self._out = out
        self._writer = writer
        self._notes = notes
        self._waiting: list[tuple[bool, tuple[int, int]]] = []
        self._written = out.lines

    def row(self, number: int, cells: Cells, hidden: bool, faults: tuple[int, int]) -> None:
        self._waiting.append((hidden, faults))
        self._writer.row(number, cells)
        if self._out.lines != self._written:
            self.settle()

    def settle(self) -> None:
        """Each row is one line, in order: as many of those that wait have lines as were written."""
        count = self._out.lines - self._written
        for hidden, (errors, uncalculated) in self._waiting[:count]:
            self._written += 1
            if hidden:
                self._notes.hidden.add(self._written)
            if errors:
                self._notes.errors.add(self._written, errors)
            if uncalculated:
                self._notes.uncalculated.add(self._written, uncalculated)
        del self._waiting[:count]
        self._written = self._out.lines


class Carried:
    """Merged cells: their width for headers, and their value in each further row that they cover."""

    def __init__(self, merges: list[tuple[int, int, int, int]]) -> None:
        self._starts: dict[int, list[tuple[int, int, int]]] = {}
        for top, bottom, left, right in merges:
            self._starts.setdefault(top, []).append((bottom, left, right))
        self._open: list[tuple[int, int, Cell]] = []  # (last row, column, cell)

    def into(self, number: int, cells: Cells) -> Cells:
        """The row with what merged cells above it say; {} when it has nothing of its own."""
        if not self._starts and not self._open:
            return cells
        if self._open:
            self._open = [item for item in self._open if item[0] >= number]
        own = bool(cells)
        for _, column, cell in self._open:
            if own and column not in cells:
                cells[column] = cell
        for bottom, left, right in self._starts.get(number, ()):
            found = cells.get(left)
            if found is None:
                continue
            found = found._replace(span=right - left + 1)
            cells[left] = found
            if bottom > number:
                self._open.append((bottom, left, found._replace(carried=True)))
        return dict(sorted(cells.items())) if own else {}


def by_calamine(data: bytes | bytearray, found: Found, out: Writer) -> None:
    """XLS and XLSB."""
    import python_calamine as calamine

    try:
        book = calamine.load_workbook(io.BytesIO(data))
    except calamine.PasswordError as error:
        raise password("Excel workbook") from error
    except BaseException as error:
        raise broken(error) from error
    out.document(found.media_type, None)
    for meta in book.sheets_metadata:
        name = one_line(meta.name) or "sheet without a name"
        if meta.typ != calamine.SheetTypeEnum.WorkSheet:
            out.omission("sheet", f"sheet {name!r} is no worksheet ({meta.typ}); it was not read")
            continue
        try:
            sheet = book.get_sheet_by_name(meta.name)
            corner = sheet.start or (0, 0)
            merges = [
                (a[0] + 1, b[0] + 1, a[1], b[1]) for a, b in (sheet.merged_cell_ranges or [])[:MAX_MERGES]
            ]
            rows = iter(sheet.iter_rows())
        except BaseException as error:
            raise broken(error) from error
        state = "visible" if meta.visible == calamine.SheetVisibleEnum.Visible else "hidden"
        first = out.lines + 1
        heading(out, name, state)
        locator: dict[str, Any] = {"sheet": name} | ({"hidden": True} if state == "hidden" else {})
        notes = Notes()
        writer = TableWriter(out, locator)
        lines = RowLines(out, writer, notes)
        carried = Carried(merges)
        # Rows are given from the top of the sheet, columns from the first one used.
        for number, values in enumerate(rows, start=1):
            cells: Cells = {}
            for i, value in enumerate(values, start=corner[1]):
                if value != "":
                    text, kept = plain(value)
                    if text:
                        cells[i] = Cell(text, kept)
            cells = carried.into(number, cells)
            if cells:
                bad = sum(cell.text in ERRORS for cell in cells.values())
                lines.row(number, cells, False, (bad, 0))
        writer.close()
        lines.settle()
        notes.say(out, name)
        if state == "hidden":
            out.omission(
                "hidden_sheet",
                f"sheet {name!r} is hidden in the workbook; it was read",
                line_start=first,
                line_end=out.lines,
            )
    if not out.lines:
        raise no_cells()
    out.omission(
        "beside_cells",
        "only cells are read of this format: comments, images, charts and hidden rows are not looked at",
    )


def check_records(data: bytes | bytearray) -> None:
    """Refuse an XLS with a cell outside of the 256 columns that the format has."""
    container = CompoundFile(data)
    streams = {name.lower(): entry for name, entry in container.children().items()}
    stream = container.read(streams["workbook"] if "workbook" in streams else streams["book"])
    at, end = 0, len(stream)
    while at + 4 <= end:
        kind, length = _RECORD.unpack_from(stream, at)
        if (
            kind in _CELL_RECORDS
            and length >= 4
            and at + 8 <= end
            and _RECORD.unpack_from(stream, at + 4)[1] > 255
        ):
            raise broken(ValueError("a cell stands outside of the sheet"))
        at += 4 + length


_RECORD: Final = struct.Struct("<HH")
# Blank, number, text, truth, formula, many numbers, many blanks, rich text, shared text, compact number.
_CELL_RECORDS: Final = frozenset(
    {0x0201, 0x0203, 0x0204, 0x0205, 0x0006, 0x00BD, 0x00BE, 0x00D6, 0x00FD, 0x027E, 0x0001, 0x0003, 0x0004}
)

ERRORS: Final = frozenset(
    {"#DIV/0!", "#N/A", "#NAME?", "#NULL!", "#NUM!", "#REF!", "#VALUE!", "#GETTING_DATA"}
)


def plain(value: Any) -> tuple[str, str | int | float | bool]:
    """(as shown, typed) of a value that calamine gives."""
    if isinstance(value, bool):
        return ("TRUE" if value else "FALSE"), value
    if isinstance(value, int | float):
        number = rounded(value)
        return number_text(number), number
    if isinstance(value, datetime | date | time):
        text = iso(value)
    elif isinstance(value, timedelta):
        text = duration(value)
    else:
        text = one_line(str(value))
    return text, text


def heading(out: Writer, name: str, state: str) -> None:
    """A sheet's name is its heading."""
    hidden = state != "visible"
    locator: dict[str, Any] = {"sheet": name} | ({"hidden": True} if hidden else {})
    out.line(name + (" (hidden sheet)" if hidden else ""), kind="heading", level=1, locator=locator)


def rich_text(element: Element) -> str:
    """The text of a string with formatted runs, without its phonetic guide."""
    if len(element) == 1 and element[0].tag.endswith("}t"):
        return unescape(element[0].text or "")
    parts = []
    for child in element:
        name = local(child)
        if name == "t":
            parts.append(child.text or "")
        elif name == "r":
            parts += [t.text or "" for t in child if local(t) == "t"]
    return unescape("".join(parts))


def unescape(text: str) -> str:
    """Characters that XML cannot hold are written as _x000D_."""

    def character(match: re.Match[str]) -> str:
        code = int(match.group(1), 16)
        return "\ufffd" if code == 0 or 0xD800 <= code < 0xE000 else chr(code)

    return _ESCAPED.sub(character, text) if "_x" in text else text


def iso_text(raw: str) -> str:
    try:
        return iso(datetime.fromisoformat(raw.rstrip("Z")))
    except ValueError:
        return one_line(raw)


def column_of(reference: str, default: int) -> int:
    """Column from 0 of a reference such as AB12."""
    column = 0
    for c in reference:
        if "A" <= c <= "Z":
            column = column * 26 + ord(c) - 64
        elif "a" <= c <= "z":
            column = column * 26 + ord(c) - 96
        else:
            break
    return column - 1 if column else default


def title_of(package: Package) -> str | None:
    """The title in the document's properties."""
    for name in package.related("", "core-properties") or ["docProps/core.xml"]:
        root = package.optional(name)
        if root is not None:
            for element in root:
                if local(element) == "title":
                    return element.text or None
    return None


def _relation_id(element: Element) -> str | None:
    for key, value in element.attrib.items():
        if key.endswith("}id"):
            return str(value)
    return None


def _whole(text: str | None) -> int | None:
    return int(text) if text is not None and text.isascii() and text.isdecimal() and len(text) < 12 else None


def no_cells() -> ConvertError:
    return ConvertError(
        MALFORMED, "workbook is empty", "there is no worksheet in it", "check that it is the file you mean"
    )


def broken(error: BaseException) -> ConvertError:
    """What calamine raised. A panic of its Rust code is no Exception."""
    if isinstance(error, KeyboardInterrupt | SystemExit):
        raise error
    if isinstance(error, MemoryError):
        return ConvertError(
            TOO_LARGE,
            "workbook is too large",
            "its sheets do not fit in the memory of a conversion",
            "save it as .xlsx, which is read row by row, or split it",
        )
    detail = one_line(str(error))[:300] or type(error).__name__
    if "password" in detail.lower():
        return password("Excel workbook")
    return ConvertError(
        MALFORMED,
        "document is damaged",
        f"it cannot be read: {detail}",
        "open it in the program that made it and save it again",
    )
