"""OpenDocument: text (ODT), spreadsheets (ODS) and presentations (ODP), streamed from content.xml."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from tq_loader.convert.detect import Found
from tq_loader.convert.numbers import number_text, rounded
from tq_loader.convert.package import Element, Package, attribute, local, password
from tq_loader.convert.protocol import MALFORMED, ConvertError, Job, LineRanges, Writer, count_of
from tq_loader.convert.table import Cell, Cells, TableWriter, Value, cell_of, one_line
from tq_loader.convert.workbook import ERRORS, Carried, Notes, RowLines, heading

# A filled row that is repeated more often, or a wide one over more cells, is a fault of the file.
MAX_REPEATED_ROWS: Final = 10_000
MAX_REPEATED_CELLS: Final = 500_000
MAX_COLUMNS: Final = 16_384
MAX_SPACES: Final = 1000
MAX_LAYOUT_CELL: Final = 1500  # characters; a table with longer cells only lays out text

_NAMES: Final = {
    "odt": "OpenDocument text",
    "ods": "OpenDocument spreadsheet",
    "odp": "OpenDocument presentation",
}


def convert(data: bytes | bytearray, job: Job, found: Found, out: Writer) -> None:
    """Write an OpenDocument file. Raises TQ011, TQ012 or TQ013 where it cannot be read."""
    package = Package(data, job.memory_mb, _NAMES[found.format])
    manifest = package.optional("META-INF/manifest.xml")
    if manifest is not None and any(local(e) == "encryption-data" for e in manifest.iter()):
        raise password(_NAMES[found.format])
    if not package.has("content.xml"):
        raise package.damaged("its part content.xml is missing")
    out.document(found.media_type, _title(package))
    if found.format == "ods":
        Sheets(package, out).write()
    else:
        Text(package, out).write()


def _title(package: Package) -> str | None:
    root = package.optional("meta.xml")
    if root is not None:
        for element in root.iter():
            if local(element) == "title":
                return element.text or None
    return None


class Text:
    """Paragraphs, headings, lists, tables and notes of a text, or of a presentation slide by slide."""

    def __init__(self, package: Package, out: Writer) -> None:
        self._package = package
        self._out = out
        self._page: int | None = None
        self._number = 0  # paragraphs
        self._tables = 0
        self._notes: list[tuple[str, str, Element]] = []
        self._annotations: list[Element] = []
        self._boxes: list[Element] = []
        self._images: list[str] = []
        self._objects = 0
        self._hidden = 0
        self._deleted = 0
        self._changes = 0
        self._counters: dict[str, list[int]] = {}
        self._outline = False

    def write(self) -> None:
        root = self._package.tree("content.xml")
        body = next((e for e in root.iter() if local(e) == "body"), None)
        if body is None or not len(body):
            raise self._package.damaged("its part content.xml has no body")
        main = body[0]
        if local(main) == "presentation":
            for number, slide in enumerate((e for e in main if local(e) == "page"), start=1):
                self._slide(slide, number)
        else:
            self._blocks(main, {})
        self._page = None
        self._furniture()
        self._comments()
        self._say()

    # Blocks

    def _blocks(self, parent: Element, locator: dict[str, Any], prefix: str = "", depth: int = 0) -> None:
        for element in parent:
            self._block(element, locator, prefix, depth)

    def _block(self, element: Element, locator: dict[str, Any], prefix: str = "", depth: int = 0) -> None:
        match local(element):
            case "p":
                self._paragraph(element, locator, prefix)
            case "h":
                level = attribute(element, "outline-level") or "1"
                self._paragraph(
                    element, locator, prefix, min(6, max(1, int(level) if level.isdecimal() else 1))
                )
            case "list":
                self._list(element, locator, depth)
            case "table":
                self._table(element, locator)
            case "tracked-changes":
                # What was deleted is kept here, apart from the text.
                for change in element.iter():
                    name = local(change)
                    self._deleted += name == "deletion"
                    self._changes += name in ("insertion", "format-change")
            case (
                "section"
                | "index-body"
                | "index-title"
                | "table-of-content"
                | "illustration-index"
                | ("table-index" | "object-index" | "user-index" | "alphabetical-index" | "bibliography")
                | "text-box"
                | "frame"
                | "g"
                | "a"
                | "numbered-paragraph"
                | "custom-shape"
                | "rect"
                | ("ellipse" | "line" | "polygon" | "connector" | "caption" | "path" | "circle" | "polyline")
            ):
                if attribute(element, "display") == "none":
                    self._hidden += 1
                self._frame(element, locator, prefix, depth)
            case "image":
                self._image(element)
            case "object" | "object-ole" | "plugin" | "floating-frame" | "applet":
                self._object(element)
            case "annotation":
                self._annotations.append(element)
            case _:
                pass

    def _frame(self, element: Element, locator: dict[str, Any], prefix: str, depth: int) -> None:
        names = [local(child) for child in element]
        # A frame's children are one thing in several forms, the first the best: an object, then its picture.
        if local(element) == "frame" and ("object" in names or "object-ole" in names or "table" in names):
            for child in element:
                if local(child) in ("object", "object-ole", "table"):
                    self._block(child, locator, prefix, depth)
                    return
        self._blocks(element, locator, prefix, depth)

    def _list(self, element: Element, locator: dict[str, Any], depth: int) -> None:
        for item in element:
            if local(item) in ("list-item", "list-header"):
                first = True
                for child in item:
                    self._block(child, locator, "  " * depth + "• " if first else "", depth + 1)
                    first = False

    def _paragraph(
        self, element: Element, locator: dict[str, Any], prefix: str = "", level: int | None = None
    ) -> None:
        self._number += 1
        text = self._inline(element)
        place = locator | {"paragraph": self._number}
        for i, line in enumerate(text.split("\n")):
            line = line.strip()
            if line:
                self._out.line(
                    (prefix if i == 0 else "") + line,
                    page=self._page,
                    kind="text" if level is None else "heading",
                    level=level,
                    locator=place,
                )
        self._after(locator)

    def _after(self, locator: dict[str, Any]) -> None:
        """What hangs on a paragraph comes right after it: notes, then boxes."""
        notes, self._notes = self._notes, []
        boxes, self._boxes = self._boxes, []
        for kind, mark, body in notes:
            lines = [t for p in body.iter() if local(p) in ("p", "h") for t in self._inline(p).split("\n")]
            text = one_line(" ".join(lines))
            if text:
                self._out.line(f"[{mark}] {text}", page=self._page, locator=locator | {"part": kind})
        for box in boxes:
            self._frame(box, locator | {"part": "text_box"}, "", 0)

    def _inline(self, element: Element) -> str:
        parts: list[str] = []
        self._collect(element, parts)
        return "".join(parts)

    def _collect(self, element: Element, parts: list[str]) -> None:
        if element.text:
            parts.append(_folded(element.text))
        for child in element:
            name = local(child)
            if name == "s":
                count = attribute(child, "c") or "1"
                parts.append(" " * (min(int(count), MAX_SPACES) if count.isdecimal() else 1))
            elif name == "tab":
                parts.append("\t")
            elif name == "line-break":
                parts.append("\n")
            elif name == "note":
                kind = attribute(child, "note-class") or "footnote"
                citation = next((e for e in child if local(e) == "note-citation"), None)
                number = one_line("".join(citation.itertext())) if citation is not None else ""
                mark = ("note " if kind == "footnote" else "endnote ") + (number or "?")
                parts.append(f"[{mark}]")
                body = next((e for e in child if local(e) == "note-body"), None)
                if body is not None:
                    self._notes.append((kind, mark, body))
            elif name == "annotation":
                self._annotations.append(child)
            elif name in ("frame", "custom-shape", "rect", "g", "text-box", "ellipse", "line", "caption"):
                self._boxes.append(child)
            elif name in ("image",):
                self._image(child)
            elif name == "ruby":
                base = next((e for e in child if local(e) == "ruby-base"), None)
                if base is not None:
                    self._collect(base, parts)
            elif name == "hidden-text":
                self._hidden += 1
            elif name in ("change", "change-start", "change-end", "annotation-end", "bookmark", "script"):
                pass
            else:
                self._collect(child, parts)
            if child.tail:
                parts.append(_folded(child.tail))

    def _image(self, element: Element) -> None:
        frame = element.getparent()
        said = ""
        for child in frame if frame is not None else ():
            if local(child) in ("title", "desc") and child.text:
                said = one_line(child.text)
        self._images.append(said)

    def _object(self, element: Element) -> None:
        """A formula's text or a chart's table where the object is a part of the package."""
        math = next((e for e in element.iter() if local(e) == "math"), None)
        if math is None:
            target = (attribute(element, "href") or "").removeprefix("./").rstrip("/")
            root = self._package.optional(f"{target}/content.xml") if target else None
            if root is not None and local(root) == "math":
                math = root
        if math is not None:
            annotation = next((e for e in math.iter() if local(e) == "annotation"), None)
            text = one_line((annotation.text or "") if annotation is not None else " ".join(math.itertext()))
            if text:
                self._out.line(text, page=self._page, locator={"part": "equation"})
                return
        self._objects += 1

    # Tables

    def _table(self, element: Element, locator: dict[str, Any]) -> None:
        self._tables += 1
        rows = list(_table_rows(element))
        header_rows = sum(header for header, _ in rows)
        grid: list[list[tuple[Element, int, int]]] = []
        width = longest = 0
        for _, row in rows[:100_000]:
            line = []
            at = 0
            for c in row:
                repeat = min(_count(c, "number-columns-repeated"), 1024)
                if local(c) == "table-cell":
                    line.append((c, at, _count(c, "number-columns-spanned")))
                    longest = max(longest, sum(len(t) for t in c.itertext()))
                at += repeat
            width = max(width, at)
            grid.append(line)
        place = locator | {"table": self._tables}
        nested = any(local(e) == "table" for line in grid for c, _, _ in line for e in c.iter())
        if width < 2 or len(grid) < 2 or nested or longest > MAX_LAYOUT_CELL:
            for line in grid:
                for c, _, _ in line:
                    self._blocks(c, place)
            return
        writer = TableWriter(
            self._out, place, header_rows=header_rows or None, caption_level=None, page=self._page
        )
        carried: list[tuple[int, int, Cell]] = []
        waiting: list[tuple[str, str, Element]] = []
        for number, line in enumerate(grid, start=1):
            cells: Cells = {}
            carried = [item for item in carried if item[0] >= number]
            for c, at, span in line:
                text = " ".join(self._inline(p) for p in c.iter() if local(p) in ("p", "h"))
                cell = cell_of(text, span=span)
                if cell is not None:
                    cells[at] = cell
                    below = _count(c, "number-rows-spanned")
                    if below > 1:
                        carried.append((number + below - 1, at, cell._replace(carried=True)))
            waiting += self._notes
            self._notes = []
            if cells:
                for _, at, cell in carried:
                    cells.setdefault(at, cell)
                writer.row(number, dict(sorted(cells.items())))
        writer.close()
        self._notes = waiting
        self._after(place)

    # Presentations

    def _slide(self, slide: Element, number: int) -> None:
        self._page = number
        notes = []
        for element in slide:
            name = local(element)
            if name == "notes":
                notes.append(element)
            elif attribute(element, "class") in ("title",):
                texts = [self._inline(p) for p in element.iter() if local(p) in ("p", "h")]
                title = one_line(" ".join(texts))
                if title:
                    self._out.line(
                        title,
                        page=number,
                        kind="heading",
                        level=1,
                        locator={"slide": number, "part": "title"},
                    )
                self._after({"slide": number})
            else:
                self._block(element, {"slide": number})
        for element in notes:
            for frame in element:
                if attribute(frame, "class") == "notes":
                    self._frame(frame, {"slide": number, "part": "notes"}, "", 0)

    # What stands outside of the text

    def _furniture(self) -> None:
        root = self._package.optional("styles.xml")
        seen: set[str] = set()
        for element in () if root is None else root.iter():
            name = local(element)
            if name in ("header", "footer", "header-left", "footer-left", "header-first", "footer-first"):
                for p in element.iter():
                    if local(p) in ("p", "h"):
                        text = one_line(self._inline(p))
                        if text and text not in seen:
                            seen.add(text)
                            self._out.line(text, kind="furniture", locator={"part": name.split("-")[0]})
        self._notes.clear()
        for box in self._boxes:
            texts = [one_line(self._inline(p)) for p in box.iter() if local(p) in ("p", "h")]
            for text in texts:
                if text and text not in seen:
                    seen.add(text)
                    self._out.line(text, kind="furniture", locator={"part": "header"})
        self._boxes = []

    def _comments(self) -> None:
        start = self._out.lines + 1
        for element in self._annotations:
            who = next((one_line(e.text or "") for e in element if local(e) == "creator"), "")
            text = one_line(" ".join("".join(p.itertext()) for p in element if local(p) in ("p", "list")))
            if text:
                by = f" by {who}" if who else ""
                self._out.line(f"[comment{by}] {text}", kind="furniture", locator={"part": "comment"})
        if self._out.lines >= start:
            self._out.omission(
                "comments",
                f"{count_of(self._out.lines - start + 1, 'comment')}, kept as lines marked as not part of the text",
                line_start=start,
                line_end=self._out.lines,
            )

    def _say(self) -> None:
        if self._deleted or self._changes:
            self._out.omission(
                "tracked_changes",
                "tracked changes were read as accepted: "
                f"{count_of(self._deleted, 'deletion')} left out, insertions kept",
            )
        if self._images:
            said = "; ".join(text for text in self._images if text)[:300]
            self._out.omission(
                "image",
                f"{count_of(len(self._images), 'image')} not read"
                + (f" (described as: {said})" if said else ""),
            )
        if self._objects:
            self._out.omission(
                "embedded_object", f"{count_of(self._objects, 'embedded object or chart')} not read"
            )
        if self._hidden:
            self._out.omission("hidden_text", f"{count_of(self._hidden, 'hidden part')} of the text")


class Sheets:
    """An ODS workbook, streamed row by row; its repeated empty rows and columns are never unfolded."""

    def __init__(self, package: Package, out: Writer) -> None:
        self._package = package
        self._out = out
        self._hidden_styles: set[str] = set()

    def write(self) -> None:
        out = self._out
        self._find_hidden()
        name = ""
        state: dict[str, Any] = {}
        # A table's end comes after its rows: names are read from the row's ancestors.
        for element in self._package.stream(
            "content.xml", ("{*}table-row", "{*}table", "{*}table-source", "{*}shapes")
        ):
            kind = local(element)
            table = element if kind == "table" else _table_of(element)
            if table is None or kind == "table-source":
                continue
            if any(local(e) in ("annotation", "subject", "tracked-changes") for e in element.iterancestors()):
                continue
            if kind == "shapes":
                state["images"] = state.get("images", 0) + sum(local(e) == "frame" for e in element)
                continue
            if state.get("table") is None:
                name = one_line(attribute(table, "name") or "") or "sheet without a name"
                state = self._begin(name, attribute(table, "style-name") or "")
                state["table"] = True
            if kind == "table":
                self._finish(name, state)
                state = {}
            else:
                self._row(element, state)
        if not out.lines:
            raise ConvertError(
                MALFORMED,
                "workbook is empty",
                "there is no sheet in it",
                "check that it is the file you mean",
            )

    def _begin(self, name: str, style: str) -> dict[str, Any]:
        hidden = style in self._hidden_styles
        first = self._out.lines + 1
        heading(self._out, name, "hidden" if hidden else "visible")
        notes = Notes()
        writer = TableWriter(self._out, {"sheet": name} | ({"hidden": True} if hidden else {}))
        return {
            "first": first, "hidden": hidden, "notes": notes, "writer": writer, "number": 0,
            "lines": RowLines(self._out, writer, notes), "carried": Carried([]), "open": [], "comments": [],
            "images": 0, "cut": LineRanges(),
        }  # fmt: skip

    def _row(self, element: Element, state: dict[str, Any]) -> None:
        repeat = _count(element, "number-rows-repeated")
        first = state["number"] + 1
        cells: Cells = {}
        column = 0
        errors = 0
        for c in element:
            kind = local(c)
            if kind not in ("table-cell", "covered-table-cell"):
                continue
            times = _count(c, "number-columns-repeated")
            cell = _sheet_cell(c) if kind == "table-cell" else None
            if cell is not None:
                rows = _count(c, "number-rows-spanned")
                for at in range(column, min(column + times, MAX_COLUMNS)):
                    cells[at] = cell
                    errors += cell.text in ERRORS or cell.text.startswith("Err:")
                    if rows > 1:
                        state["open"].append((first + rows - 1, at, cell._replace(carried=True)))
            for note in c:
                if local(note) == "annotation":
                    text = one_line(" ".join("".join(p.itertext()) for p in note if local(p) == "p"))
                    state["comments"].append((column, first, text))
                elif local(note) == "frame":
                    state["images"] += 1
            column += times
        state["number"] += repeat
        if not cells:
            return
        hidden = attribute(element, "visibility") in ("collapse", "filter")
        most = min(MAX_REPEATED_ROWS, max(1, MAX_REPEATED_CELLS // len(cells)))
        for number in range(first, first + min(repeat, most)):
            state["open"] = [item for item in state["open"] if item[0] >= number]
            row = dict(cells)
            for end, at, cell in state["open"]:
                if number <= end:
                    row.setdefault(at, cell)
            state["lines"].row(number, dict(sorted(row.items())), hidden, (errors, 0))
        if repeat > most:
            self._out.omission(
                "repeated_rows",
                f"a row is repeated {repeat:,} times; {most:,} of them were read",
            )

    def _finish(self, name: str, state: dict[str, Any]) -> None:
        out = self._out
        from tq_loader.convert.table import letters

        state["writer"].close()
        state["lines"].settle()
        state["notes"].say(out, name)
        start = out.lines + 1
        for column, row, text in state["comments"]:
            if text:
                reference = f"{letters(column)}{row}"
                out.line(
                    f"[comment on {reference}] {text}",
                    kind="furniture",
                    locator={"sheet": name, "part": "comment", "cell": reference},
                )
        if out.lines >= start:
            out.omission(
                "comments",
                f"{count_of(out.lines - start + 1, 'comment')} on cells of sheet {name!r}, "
                "kept as lines marked as not part of the sheet",
                line_start=start,
                line_end=out.lines,
            )
        if state["images"]:
            out.omission(
                "image", f"{count_of(state['images'], 'image, chart or shape')} of sheet {name!r} not read"
            )
        if state["hidden"]:
            out.omission(
                "hidden_sheet",
                f"sheet {name!r} is hidden in the workbook; it was read",
                line_start=state["first"],
                line_end=out.lines,
            )

    def _find_hidden(self) -> None:
        """Styles of tables that are not shown; they stand before the sheets."""
        style = ""
        for element in self._package.stream("content.xml", ("{*}style", "{*}body")):
            if local(element) == "body":
                break
            style = attribute(element, "name") or ""
            for child in element:
                if local(child) == "table-properties" and attribute(child, "display") == "false":
                    self._hidden_styles.add(style)


def _sheet_cell(c: Element) -> Cell | None:
    """A cell as typed and as shown. A date's ISO text, a number's own digits."""
    paragraphs = [p for p in c if local(p) == "p"]
    shown = one_line(" ".join(_plain(p) for p in paragraphs))
    kind = attribute(c, "value-type")
    span = _count(c, "number-columns-spanned")
    value: Value
    if kind in ("float", "percentage", "currency"):
        raw = attribute(c, "value") or ""
        if shown in ERRORS or shown.startswith(("#", "Err:")):
            return Cell(shown, shown, span)
        try:
            number: float = int(raw) if raw.lstrip("-").isdecimal() and len(raw) < 16 else float(raw)
        except ValueError:
            return Cell(shown, shown, span) if shown else None
        value = rounded(number)
        text = number_text(value) if isinstance(value, int | float) else shown
        if kind == "percentage":
            text = f"{text} ({shown})" if shown else text
        elif kind == "currency":
            unit = attribute(c, "currency")
            text = f"{text} {unit}" if unit else text
        return Cell(text, value, span)
    if kind == "date":
        raw = (attribute(c, "date-value") or shown).removesuffix("T00:00:00").replace("T", " ")
        return Cell(raw, raw, span) if raw else None
    if kind == "time":
        text = _time(attribute(c, "time-value") or "") or shown
        return Cell(text, text, span) if text else None
    if kind == "boolean":
        truth = attribute(c, "boolean-value") == "true"
        return Cell("TRUE" if truth else "FALSE", truth, span)
    return Cell(shown, shown, span) if shown else None


def _time(raw: str) -> str:
    """PT15H30M00S as 15:30:00."""
    if not raw.startswith("PT"):
        return ""
    parts = {"H": "00", "M": "00", "S": "00"}
    digits = ""
    for c in raw[2:]:
        if c in parts:
            parts[c] = digits.split(".")[0].split(",")[0].zfill(2)
            digits = ""
        else:
            digits += c
    return f"{parts['H']}:{parts['M']}:{parts['S']}"


def _plain(element: Element) -> str:
    parts = [element.text or ""]
    for child in element:
        name = local(child)
        if name in ("s", "tab", "line-break"):
            parts.append(" ")
        elif name != "annotation":
            parts.append(_plain(child))
        parts.append(child.tail or "")
    return "".join(parts)


def _table_rows(table: Element) -> Iterator[tuple[bool, Element]]:
    for element in table:
        match local(element):
            case "table-row":
                yield False, element
            case "table-header-rows":
                for row in element:
                    if local(row) == "table-row":
                        yield True, row
            case "table-rows" | "table-row-group":
                yield from _table_rows(element)


def _table_of(element: Element) -> Element | None:
    return next((e for e in element.iterancestors() if local(e) == "table"), None)


def _count(element: Element, name: str) -> int:
    text = attribute(element, name)
    return max(1, int(text)) if text and text.isdecimal() and len(text) < 10 else 1


def _folded(text: str) -> str:
    """White space in a paragraph's XML is one space, as in HTML."""
    if text.isspace():
        return " "
    lead = " " if text[:1].isspace() else ""
    tail = " " if text[-1:].isspace() else ""
    return lead + " ".join(text.split()) + tail
