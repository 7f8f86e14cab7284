"""DOCX: the text as it reads with all changes accepted, notes by their paragraphs, tables row by row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from tq_loader.convert.detect import Found
from tq_loader.convert.drawing import alternative, chart_part, diagram, equation, symbol, write_chart
from tq_loader.convert.numbering import Numbering
from tq_loader.convert.package import Element, Package, attribute, flag, local, title_of
from tq_loader.convert.protocol import Job, LineRanges, Writer, count_of
from tq_loader.convert.table import Cell, Cells, TableWriter, cell_of, one_line

MAX_LAYOUT_CELL: Final = 1500  # characters; a table with longer cells only lays out text
MAX_NESTED: Final = 8  # documents within documents


def convert(data: bytes | bytearray, job: Job, found: Found, out: Writer) -> None:
    """Write a Word document. Raises TQ011, TQ012 or TQ013 where it cannot be read."""
    package = Package(data, job.memory_mb, "Word document")
    out.document(found.media_type, title_of(package))
    document = Document(package, out, job)
    document.write()
    document.say()


@dataclass(slots=True)
class Style:
    """A paragraph style. ``level``: of a heading, from 1."""

    name: str
    based_on: str | None
    level: int | None
    numbering: tuple[str, int] | None


@dataclass(slots=True)
class Paragraph:
    """A paragraph's text, its line breaks as newlines, and what hangs on it."""

    text: str = ""
    notes: list[tuple[str, str]] = field(default_factory=list)  # (footnote or endnote, id)
    boxes: list[Element] = field(default_factory=list)
    graphics: list[Element] = field(default_factory=list)  # charts and diagrams
    comments: list[str] = field(default_factory=list)


class Document:
    """One walk over the main part; what it meets of notes, boxes and comments is written where it belongs."""

    def __init__(self, package: Package, out: Writer, job: Job, depth: int = 0) -> None:
        self._package = package
        self._out = out
        self._job = job
        self._depth = depth
        mains = package.related("", "officeDocument") or ["word/document.xml"]
        self._main = mains[0]
        self._part = self._main  # whose relations the elements at hand use
        self._styles, self._default = self._read_styles()
        self._numbering = Numbering(package.optional(self._one("numbering")))
        self._notes = {kind: self._by_id(kind + "s", kind) for kind in ("footnote", "endnote")}
        self._marks: dict[tuple[str, str], str] = {}
        self._comments = self._by_id("comments", "comment")
        self._commented: list[str] = []
        self._paragraph = 0
        self._tables = 0
        self._carry: Paragraph | None = None  # of a paragraph whose mark was deleted: it runs on
        self._fields: list[str] = []  # state of each open field: code or result
        self._counts: Counter[str] = Counter()
        self._changed = LineRanges()
        self._images: list[str] = []
        self._seen_change = False

    def write(self) -> None:
        root = self._package.tree(self._main)
        body = next((e for e in root if local(e) == "body"), None)
        if body is None:
            raise self._package.damaged(f"its part {self._main} has no body")
        self._blocks(body, {})
        self._flush({})
        self._furniture()
        self._write_comments()

    # Blocks

    def _blocks(self, parent: Element, locator: dict[str, Any], quiet: bool = False) -> None:
        for element in parent:
            name = local(element)
            if name == "p":
                self._write_paragraph(element, locator)
            elif name == "tbl":
                self._flush(locator)
                self._table(element, locator)
            elif name in ("sdt", "customXml", "smartTag", "ins", "moveTo"):
                self._blocks(_content(element), locator)
            elif name == "altChunk":
                self._flush(locator)
                self._alt_chunk(element)
            elif name == "AlternateContent":
                chosen = alternative(element)
                if chosen is not None:
                    self._blocks(chosen, locator)
            elif name in ("oMathPara", "oMath"):
                text = equation(element)
                if text:
                    self._out.line(text, locator=locator | {"part": "equation"})
            elif name in ("del", "moveFrom"):
                self._change(name)
            elif name == "subDoc":
                self._counts["subDoc"] += 1

    def _write_paragraph(self, p: Element, locator: dict[str, Any]) -> None:
        self._paragraph += 1
        properties = next((e for e in p if local(e) == "pPr"), None)
        found = self._carry or Paragraph()
        self._carry = None
        self._seen_change = False
        self._inline(p, found)
        # A field's code never spans paragraphs in practice: an unclosed one must not swallow what follows.
        self._fields = [state for state in self._fields if state != "code"]
        if properties is not None and self._mark_deleted(properties):
            self._carry = found
            return
        self._emit(found, properties, locator)

    def _flush(self, locator: dict[str, Any]) -> None:
        if self._carry is not None:
            found, self._carry = self._carry, None
            self._emit(found, None, locator)

    def _emit(self, found: Paragraph, properties: Element | None, locator: dict[str, Any]) -> None:
        style_id = self._style_of(properties)
        level = self._level(properties, style_id)
        text = found.text
        label = ""
        if text.strip():
            label = self._label(properties, style_id)
        place = locator | {"paragraph": self._paragraph}
        first = True
        for line in text.split("\n"):
            line = line.strip()
            if not line:
                continue
            if first and label:
                line = f"{label} {line}"
            number = self._out.line(
                line, kind="text" if level is None else "heading", level=level, locator=place
            )
            if self._seen_change:
                self._changed.add(number)
            first = False
        self._hanging(found, locator)

    def _hanging(self, found: Paragraph, locator: dict[str, Any]) -> None:
        for kind, mark in found.notes:
            self._note(kind, mark, locator)
        for box in found.boxes:
            carried, self._carry = self._carry, None
            self._blocks(box, locator | {"part": locator.get("part", "text_box")})
            self._flush(locator)
            self._carry = carried
        for graphic in found.graphics:
            self._graphic(graphic, locator)
        self._commented += found.comments

    def _note(self, kind: str, mark: str, locator: dict[str, Any]) -> None:
        element = self._notes[kind].pop(mark, None)
        if element is None:
            return
        part, self._part = self._part, self._one(kind + "s") or self._part
        lines = list(self._texts(element))
        self._part = part
        for i, (text, inner) in enumerate(lines):
            shown = f"[{self._marks[kind, mark]}] {text}" if i == 0 else text
            self._out.line(shown, locator=locator | {"part": kind})
            inner.notes.clear()
            self._hanging(inner, locator | {"part": kind})

    def _texts(self, element: Element) -> Iterator[tuple[str, Paragraph]]:
        """Each line of text in an element's paragraphs, tables flattened."""
        for p in _paragraphs(element):
            found = Paragraph()
            self._inline(p, found)
            lines = [line.strip() for line in found.text.split("\n") if line.strip()]
            for i, line in enumerate(lines):
                yield line, found if i == len(lines) - 1 else Paragraph()

    # Inline

    def _inline(self, parent: Element, found: Paragraph) -> None:
        for element in parent:
            name = local(element)
            if name == "r":
                self._run(element, found)
            elif name in ("ins", "moveTo"):
                self._change(name)
                self._inline(element, found)
            elif name in ("del", "moveFrom"):
                self._change(name)
            elif name in ("oMath", "oMathPara"):
                found.text += " " + equation(element) + " "
            elif name == "sdt":
                self._inline(_content(element), found)
            elif name == "AlternateContent":
                chosen = alternative(element)
                if chosen is not None:
                    self._inline(chosen, found)
            elif name in ("hyperlink", "smartTag", "fldSimple", "customXml", "bdo", "dir"):
                self._inline(element, found)

    def _change(self, name: str) -> None:
        self._counts[name] += 1
        self._seen_change = True

    def _run(self, run: Element, found: Paragraph) -> None:
        for element in run:
            name = local(element)
            if name == "rPr":
                for child in element:
                    if local(child) == "vanish" and flag(child) and "code" not in self._fields:
                        if any(local(e) == "t" and (e.text or "").strip() for e in run):
                            self._counts["hidden"] += 1
                        return
                continue
            if name == "fldChar":
                match attribute(element, "fldCharType"):
                    case "begin":
                        self._fields.append("code")
                    case "separate" if self._fields:
                        self._fields[-1] = "result"
                    case "end" if self._fields:
                        self._fields.pop()
                continue
            if "code" in self._fields and name in ("t", "tab", "br", "cr", "sym"):
                continue
            if name == "t":
                found.text += (element.text or "").replace("\n", " ").replace("\r", " ")
            elif name in ("tab", "ptab"):
                found.text += "\t"
            elif name in ("br", "cr"):
                found.text += "\n"
            elif name == "noBreakHyphen":
                found.text += "-"
            elif name == "sym":
                found.text += self._symbol(element)
            elif name in ("footnoteReference", "endnoteReference"):
                kind = name.removesuffix("Reference")
                mark = attribute(element, "id") or ""
                if mark in self._notes[kind]:
                    found.text += f"[{self._mark_of(kind, mark)}]"
                    found.notes.append((kind, mark))
            elif name == "commentReference":
                found.comments.append(attribute(element, "id") or "")
            elif name == "AlternateContent":
                chosen = alternative(element)
                if chosen is not None:
                    self._run(chosen, found)
            elif name in ("drawing", "pict", "object"):
                self._drawing(element, found)
            elif name == "ruby":
                for base in element:
                    if local(base) == "rubyBase":
                        self._inline(base, found)

    def _symbol(self, element: Element) -> str:
        try:
            code = int(attribute(element, "char") or "", 16)
        except ValueError:
            return ""
        if 0xF000 <= code <= 0xF0FF:
            code &= 0xFF
        font = (attribute(element, "font") or "").lower()
        known = symbol(code, font)
        if known is None and "symbol" not in font and "dings" not in font and 0x20 <= code < 0xD800:
            return chr(code)
        self._counts["symbol"] += known is None
        return known or "\ufffd"

    def _mark_of(self, kind: str, mark: str) -> str:
        number = sum(k == kind for k, _ in self._marks) + 1
        return self._marks.setdefault((kind, mark), f"{'note' if kind == 'footnote' else 'endnote'} {number}")

    def _drawing(self, element: Element, found: Paragraph) -> None:
        """Text boxes, images, charts, diagrams and objects of a drawing. A box within a box is met within."""
        waiting = list(element)
        while waiting:
            child = waiting.pop(0)
            name = local(child)
            if name == "txbxContent":
                found.boxes.append(child)
                continue
            if name == "AlternateContent":
                chosen = alternative(child)
                if chosen is not None:
                    waiting[:0] = list(chosen)
                continue
            if name in ("pic", "imagedata"):
                self._images.append(_described(element))
                continue
            if name == "textpath" and child.get("string"):
                found.text += " " + one_line(child.get("string")) + " "
            elif name == "OLEObject":
                self._counts["object"] += 1
            elif name in ("chart", "relIds"):
                found.graphics.append(element)
                continue
            waiting[:0] = list(child)

    def _graphic(self, element: Element, locator: dict[str, Any]) -> None:
        chart = chart_part(self._package, self._part, element)
        if chart is not None and write_chart(chart, self._out, locator):
            return
        texts = diagram(self._package, self._part, element)
        for text in texts:
            self._out.line(text, locator=locator | {"part": "diagram"})
        if not texts:
            self._counts["graphic"] += 1

    # Tables

    def _table(self, table: Element, locator: dict[str, Any]) -> None:
        self._tables += 1
        place = locator | {"table": self._tables}
        rows = list(self._rows(table))
        width = max((at + span for _, line in rows for _, at, span in line), default=0)
        every = [c for _, line in rows for c, _, _ in line]
        nested = any(True for c in every for _ in c.iter("{*}tbl", "{*}altChunk"))
        longest = max((sum(len(t.text or "") for t in c.iter("{*}t")) for c in every), default=0)
        if width < 2 or len(rows) < 2 or nested or longest > MAX_LAYOUT_CELL:
            for _, line in rows:
                for c, _, _ in line:
                    self._blocks(c, place)
                    self._flush(place)
            return
        headers = 0
        for header, _ in rows:
            if not header:
                break
            headers += 1
        writer = TableWriter(
            self._out, place, header_rows=headers if 0 < headers < len(rows) else None, caption_level=None
        )
        above: dict[int, Cell] = {}
        hanging: list[Paragraph] = []
        for number, (_, row) in enumerate(rows, start=1):
            cells: Cells = {}
            merged: dict[int, Cell] = {}
            self._seen_change = False
            for c, at, span in row:
                merge = _vertical_merge(c)
                if merge == "continue":
                    if at in above:
                        merged[at] = above[at]
                    continue
                above.pop(at, None)
                cell = self._cell(c, span, hanging)
                if cell is not None:
                    cells[at] = cell
                    if merge == "restart":
                        above[at] = cell._replace(carried=True)
            if cells:
                writer.row(number, dict(sorted((merged | cells).items())))
        writer.close()
        for found in hanging:
            self._hanging(found, place)

    def _cell(self, c: Element, span: int, hanging: list[Paragraph]) -> Cell | None:
        texts = []
        bold: bool | None = None
        for p in _paragraphs(c):
            self._paragraph += 1
            found = Paragraph()
            self._inline(p, found)
            self._fields = [state for state in self._fields if state != "code"]
            text = one_line(found.text)
            if text:
                properties = next((e for e in p if local(e) == "pPr"), None)
                label = self._label(properties, self._style_of(properties))
                texts.append(f"{label} {text}" if label else text)
                bold = bold is not False and all(_bold(r) for r in p.iterchildren("{*}r"))
            if found.notes or found.boxes or found.graphics or found.comments:
                hanging.append(found)
        return cell_of(" ".join(texts), span=span, bold=bold)

    def _rows(self, table: Element) -> Iterator[tuple[bool, list[tuple[Element, int, int]]]]:
        """(is a header row, [(cell, first column, columns wide)]) of rows that are not deleted."""
        for element in table:
            name = local(element)
            if name in ("sdt", "customXml", "ins", "moveTo"):
                yield from self._rows(_content(element))
                continue
            if name != "tr":
                continue
            properties = next((e for e in element if local(e) == "trPr"), None)
            header = False
            at = 0
            deleted = False
            for child in () if properties is None else properties:
                match local(child):
                    case "tblHeader":
                        header = flag(child)
                    case "del":
                        deleted = True
                    case "ins":
                        self._change("ins")
                    case "gridBefore":
                        at = _whole(attribute(child, "val"))
            if deleted:
                self._change("del")
                continue
            cells = []
            for c in _cells(element):
                tc = next((e for e in c if local(e) == "tcPr"), None)
                span = 1
                gone = False
                for child in () if tc is None else tc:
                    if local(child) == "gridSpan":
                        span = max(1, min(_whole(attribute(child, "val")), 1000))
                    elif local(child) == "cellDel":
                        gone = True
                if gone:
                    self._change("del")
                else:
                    cells.append((c, at, span))
                at += span
            yield header, cells

    # Styles and numbers

    def _read_styles(self) -> tuple[dict[str, Style], str | None]:
        root = self._package.optional(self._one("styles"))
        styles: dict[str, Style] = {}
        default = None
        for element in () if root is None else root:
            if local(element) != "style" or attribute(element, "type") not in (None, "paragraph"):
                continue
            key = attribute(element, "styleId") or ""
            parts = {local(child): child for child in element}
            name = (attribute(parts["name"], "val") or "").lower() if "name" in parts else ""
            based = attribute(parts["basedOn"], "val") if "basedOn" in parts else None
            level: int | None = None
            numbering = None
            properties = parts.get("pPr")
            for child in () if properties is None else properties:
                if local(child) == "outlineLvl":
                    value = _whole(attribute(child, "val"), 9)
                    level = value + 1 if value < 9 else 0
                elif local(child) == "numPr":
                    numbering = _number_of(child)
            if name.startswith("heading ") and name[8:].isdecimal():
                level = int(name[8:])
            elif name == "title":
                level = 1
            styles[key] = Style(name, based, level, numbering)
            if attribute(element, "default") in ("1", "true"):
                default = key
        return styles, default

    def _style_of(self, properties: Element | None) -> str | None:
        for child in () if properties is None else properties:
            if local(child) == "pStyle":
                return attribute(child, "val")
        return self._default

    def _chain(self, style_id: str | None) -> Iterator[Style]:
        seen: set[str] = set()
        while style_id is not None and style_id in self._styles and style_id not in seen:
            seen.add(style_id)
            style = self._styles[style_id]
            yield style
            style_id = style.based_on

    def _level(self, properties: Element | None, style_id: str | None) -> int | None:
        level: int | None = None
        for child in () if properties is None else properties:
            if local(child) == "outlineLvl":
                value = _whole(attribute(child, "val"), 9)
                return min(value + 1, 6) if value < 9 else None
        for style in self._chain(style_id):
            if style.level is not None:
                level = style.level
                break
        return min(level, 6) if level else None

    def _label(self, properties: Element | None, style_id: str | None) -> str:
        """The number or bullet that stands before a paragraph and is not in its text."""
        number: tuple[str | None, int | None] = (None, None)
        for child in () if properties is None else properties:
            if local(child) == "numPr":
                number = _number_of(child, None)
        found, level = number
        if found is None:
            for style in self._chain(style_id):
                if style.numbering is not None:
                    found = style.numbering[0]
                    level = style.numbering[1] if level is None else level
                    break
            # A heading's style may only be named by the level of the list.
            if found is not None and style_id is not None:
                level = self._numbering.level_of(found, style_id, level or 0)
        if found is None or found == "0":
            return ""
        return self._numbering.label(found, level or 0)

    def _mark_deleted(self, properties: Element) -> bool:
        for child in properties:
            if local(child) == "rPr":
                for mark in child:
                    if local(mark) in ("del", "moveFrom"):
                        self._change("del" if local(mark) == "del" else "moveFrom")
                        return True
        return False

    # What stands outside of the body

    def _alt_chunk(self, element: Element) -> None:
        relation = self._package.relations(self._part).get(attribute(element, "id") or "")
        if relation is None or relation.external or not self._package.has(relation.target):
            self._counts["chunk"] += 1
            return
        data = self._package.read(relation.target)
        from tq_loader.convert.altchunk import write_chunk

        if self._depth >= MAX_NESTED or not write_chunk(
            data, relation.target, self._job, self._out, self._depth
        ):
            self._counts["chunk"] += 1

    def _furniture(self) -> None:
        """Headers and footers: each distinct line once."""
        seen: set[str] = set()
        for kind in ("header", "footer"):
            for name in self._package.related(self._main, kind):
                root = self._package.optional(name)
                if root is None:
                    continue
                self._part = name
                self._fields = []
                waiting: list[Element] = [root]
                while waiting:
                    element = waiting.pop(0)
                    for text, found in self._texts(element):
                        if text not in seen:
                            seen.add(text)
                            self._out.line(text, kind="furniture", locator={"part": kind})
                        waiting += found.boxes
                    # Boxes of paragraphs that hold nothing else.
                    for p in _paragraphs(element):
                        found = Paragraph()
                        images = len(self._images)
                        self._inline(p, found)
                        del self._images[images:]
                        if not found.text.strip():
                            waiting += found.boxes
        self._part = self._main

    def _write_comments(self) -> None:
        start = self._out.lines + 1
        order = [mark for mark in self._commented if mark in self._comments]
        order += [mark for mark in self._comments if mark not in set(order)]
        for mark in order:
            element = self._comments.pop(mark, None)
            if element is None:
                continue
            who = one_line(attribute(element, "author") or "")
            text = one_line(" ".join(text for text, _ in self._texts(element)))
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

    def say(self) -> None:
        """What was not read, and what was read in one of several ways."""
        counts = self._counts
        out = self._out
        kept, gone, moved = counts["ins"], counts["del"], max(counts["moveTo"], counts["moveFrom"])
        if kept or gone or moved:
            ranges = list(self._changed.shown(1))
            out.omission(
                "tracked_changes",
                f"tracked changes were read as accepted: {count_of(kept, 'insertion')} kept, "
                f"{count_of(gone, 'deletion')} left out, {count_of(moved, 'move')} at the new place",
                line_start=ranges[0][0] if ranges else None,
                line_end=ranges[0][1] if ranges else None,
            )
        if self._images:
            said = "; ".join(dict.fromkeys(text for text in self._images if text))[:300]
            out.omission(
                "image",
                f"{count_of(len(self._images), 'image')} not read"
                + (f" (described as: {said})" if said else ""),
            )
        for key, kind, noun, rest in (
            ("object", "embedded_object", "embedded object", "not read"),
            ("graphic", "chart", "chart or diagram", "not read"),
            ("chunk", "embedded_document", "embedded document", "not read"),
            ("subDoc", "embedded_document", "linked document", "not read"),
            ("hidden", "hidden_text", "part of hidden text", "left out"),
            ("symbol", "symbol", "sign of a symbol font without a Unicode value", "replaced by U+FFFD"),
        ):
            if counts[key]:
                number = counts[key]
                head, of, tail = noun.partition(" of ")
                out.omission(kind, f"{count_of(number, head)}{of}{tail} {rest}")

    def _one(self, kind: str) -> str | None:
        return next(iter(self._package.related(self._main, kind)), None)

    def _by_id(self, relation: str, tag: str) -> dict[str, Element]:
        root = self._package.optional(self._one(relation))
        return {
            attribute(e, "id") or "": e
            for e in (() if root is None else root)
            if local(e) == tag
            and attribute(e, "type") not in ("separator", "continuationSeparator", "continuationNotice")
        }


def _content(element: Element) -> Element:
    """The content of a structured tag, or the element itself."""
    return next((e for e in element if local(e) == "sdtContent"), element)


def _paragraphs(element: Element) -> Iterator[Element]:
    """Paragraphs in order, those in tables too; not those in text boxes, which their paragraph brings."""
    for child in element:
        name = local(child)
        if name == "p":
            yield child
        elif name == "AlternateContent":
            chosen = alternative(child)
            if chosen is not None:
                yield from _paragraphs(chosen)
        elif name not in ("del", "moveFrom", "tcPr", "tblPr"):
            yield from _paragraphs(child)


def _cells(row: Element) -> Iterator[Element]:
    for child in row:
        name = local(child)
        if name == "tc":
            yield child
        elif name in ("sdt", "customXml", "ins", "moveTo"):
            yield from _cells(_content(child))


def _vertical_merge(c: Element) -> str | None:
    for child in c:
        if local(child) == "tcPr":
            for merge in child:
                if local(merge) == "vMerge":
                    return attribute(merge, "val") or "continue"
    return None


def _bold(run: Element) -> bool:
    for child in run:
        if local(child) == "rPr":
            return any(local(e) == "b" and flag(e) for e in child)
    return False


def _described(element: Element) -> str:
    """The text that describes an image, where there is one."""
    for e in element.iter():
        if local(e) == "docPr" and (e.get("descr") or e.get("title")):
            return one_line(e.get("descr") or e.get("title"))
    return ""


def _number_of(element: Element, level: int | None = 0) -> Any:
    """(numbering id or None, level) of a numPr."""
    found: str | None = None
    for child in element:
        if local(child) == "numId":
            found = attribute(child, "val")
        elif local(child) == "ilvl":
            level = _whole(attribute(child, "val"))
    return found, level


def _whole(text: str | None, default: int = 0) -> int:
    return int(text) if text is not None and text.isdecimal() and len(text) < 9 else default
