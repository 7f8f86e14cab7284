"""XLSX in a stream of our own: every sheet, every row a line, memory bounded by a row and the shared strings."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from tq_loader.convert.detect import Found
from tq_loader.convert.numbers import (
    EPOCH_1900,
    EPOCH_1904,
    GENERAL,
    Format,
    built_in,
    iso,
    parse_format,
    show,
)
from tq_loader.convert.package import Element, Package, attribute, flag, local, title_of
from tq_loader.convert.protocol import Job, Writer
from tq_loader.convert.table import Cell, Cells, letters, one_line
from tq_loader.convert.workbook import (
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

_REFERENCE = re.compile(r"([A-Za-z]{1,3})([0-9]{1,7})$")
_ESCAPED = re.compile(r"_x([0-9A-Fa-f]{4})_")
_MERGE = re.compile(rb"<(?:\w+:)?mergeCell\s[^>]*?ref=[\"']([A-Z]+\d+:[A-Z]+\d+)[\"']")


def convert(data: bytes | bytearray, job: Job, found: Found, out: Writer) -> None:
    """Write every sheet of a workbook. Raises TQ011, TQ012 or TQ013 where it cannot be read."""
    Workbook(Package(data, job.memory_mb, "Excel workbook"), out).write(found.media_type)


class Workbook:
    """An XLSX file: its sheets in order, streamed row by row."""

    def __init__(self, package: Package, out: Writer) -> None:
        self.package = package
        self._out = out
        mains = package.related("", "officeDocument") or ["xl/workbook.xml"]
        self.main = mains[0]
        self._root = package.tree(self.main)
        properties = next((e for e in self._root if local(e) == "workbookPr"), None)
        date1904 = properties is not None and attribute(properties, "date1904") in ("1", "true", "on")
        self.epoch = EPOCH_1904 if date1904 else EPOCH_1900
        self.strings = self._shared_strings()
        self.formats, self.bold = self._styles()

    def write(self, media_type: str) -> None:
        self._out.document(media_type, title_of(self.package))
        relations = self.package.relations(self.main)
        sheets = [e for e in self._root.iter() if local(e) == "sheet"]
        for element in sheets:
            relation = relations.get(_relation_id(element) or "")
            name = one_line(element.get("name") or "") or "sheet without a name"
            state = element.get("state") or "visible"
            if relation is None or not self.package.has(relation.target):
                self._out.omission("sheet", f"sheet {name!r} is missing from the file")
                continue
            if relation.kind == "chartsheet":
                self._out.omission("chart", f"sheet {name!r} is a chart; it was not read")
                continue
            write_sheet(self._out, _Sheet(self, name, state, relation.target))
        if not self._out.lines:
            raise no_cells()
        say_beside(self.package, self.main, self._out)

    def _shared_strings(self) -> list[str]:
        parts = self.package.related(self.main, "sharedStrings")
        if not parts:
            return []
        return [one_line(rich_text(element)) for element in self.package.stream(parts[0], ("{*}si",))]

    def _styles(self) -> tuple[list[Format], set[int]]:
        """(number format by style, styles with bold type)."""
        parts = self.package.related(self.main, "styles")
        root = self.package.optional(parts[0]) if parts else None
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


class _Sheet:
    """A worksheet and the part that has its rows."""

    def __init__(self, book: Workbook, name: str, state: str, part: str) -> None:
        self.name = name
        self.state = state
        self._book = book
        self._part = part

    def rows(self, notes: Notes) -> Iterator[Row]:
        last = 0
        for element in self._book.package.stream(self._part, ("{*}row", "{*}col")):
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
            yield Row(last, element.get("hidden") in ("1", "true"), cells, errors, uncalculated)

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
        bold = style in self._book.bold
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
            text = self._book.strings[index] if index is not None and index < len(self._book.strings) else ""
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
        form = self._book.formats[style] if style < len(self._book.formats) else GENERAL
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
        text, value = show(number, form, self._book.epoch)
        return Cell(text, value, 1, bold), 0

    def merges(self, notes: Notes) -> list[Merge]:
        """Merged cells, which the file tells after the rows."""
        found: list[Merge] = []
        tail = b""
        for chunk in self._book.package.chunks(self._part):
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

    def beside(self, out: Writer, locator: dict[str, Any]) -> None:
        package, part = self._book.package, self._part
        people: dict[str, str] = {}
        start = out.lines + 1
        threads = package.related(part, "threadedComment")
        for name in package.related(self._book.main, "person"):
            root = package.optional(name)
            for element in () if root is None else root:
                people[element.get("id", "")] = element.get("displayName", "")
        for name in threads or package.related(part, "comments"):
            root = package.optional(name)
            if root is None:
                out.omission("comments", f"comments of sheet {self.name!r} cannot be read")
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
                    comment(out, locator, element.get("ref"), who, body)
        say_comments(out, self.name, start)
        drawings(package, part, out, self.name, locator)


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


def _relation_id(element: Element) -> str | None:
    for key, value in element.attrib.items():
        if key.endswith("}id"):
            return str(value)
    return None


def _whole(text: str | None) -> int | None:
    return int(text) if text is not None and text.isascii() and text.isdecimal() and len(text) < 12 else None
