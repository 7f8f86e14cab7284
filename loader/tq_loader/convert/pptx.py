"""PPTX: slide by slide, the title first, then the shapes as they stand on the slide, then the notes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from tq_loader.convert.detect import Found
from tq_loader.convert.drawing import alternative, chart_part, diagram, paragraphs, write_chart
from tq_loader.convert.package import Element, Package, attribute, local, title_of
from tq_loader.convert.protocol import MALFORMED, ConvertError, Job, Writer, count_of
from tq_loader.convert.table import Cell, Cells, TableWriter, cell_of, one_line

MAX_DEPTH: Final = 32  # groups within groups
ROW: Final = 0.25  # shapes whose tops differ by less than this share of the lower one stand side by side

_FURNITURE: Final = frozenset({"dt", "ftr", "sldNum", "hdr"})
_TITLES: Final = frozenset({"title", "ctrTitle"})


def convert(data: bytes | bytearray, job: Job, found: Found, out: Writer) -> None:
    """Write a presentation. Raises TQ011, TQ012 or TQ013 where it cannot be read."""
    package = Package(data, job.memory_mb, "PowerPoint presentation")
    out.document(found.media_type, title_of(package))
    Presentation(package, out).write()


@dataclass(slots=True, frozen=True)
class Frame:
    """Where a shape stands on the slide, in EMU from its top left corner."""

    x: float
    y: float
    width: float
    height: float


@dataclass(slots=True)
class Transform:
    """From the coordinates within a group to those of the slide."""

    scale_x: float = 1
    scale_y: float = 1
    x: float = 0
    y: float = 0

    def of(self, frame: Frame) -> Frame:
        return Frame(
            self.x + frame.x * self.scale_x,
            self.y + frame.y * self.scale_y,
            frame.width * self.scale_x,
            frame.height * self.scale_y,
        )


class Presentation:
    """The slides in their order; ``page`` is the slide's number."""

    def __init__(self, package: Package, out: Writer) -> None:
        self._package = package
        self._out = out
        mains = package.related("", "officeDocument") or ["ppt/presentation.xml"]
        self._main = mains[0]
        self._layouts: dict[str, dict[tuple[str, str], Frame]] = {}

    def write(self) -> None:
        root = self._package.tree(self._main)
        relations = self._package.relations(self._main)
        listed = next((e for e in root if local(e) == "sldIdLst"), None)
        number = 0
        for element in () if listed is None else listed:
            number += 1
            relation = relations.get(_relation_id(element))
            if relation is None or not self._package.has(relation.target):
                self._out.omission("slide", f"slide {number} is missing from the file", page=number)
                continue
            slide = self._package.optional(relation.target)
            if slide is None:
                self._out.omission("unreadable_part", f"slide {number} cannot be read", page=number)
                continue
            self._slide(slide, relation.target, number)
        if not self._out.lines:
            raise ConvertError(
                MALFORMED,
                "presentation has no text",
                f"{count_of(number, 'slide')} without any text",
                "if the slides are pictures, save it as PDF and load that",
            )

    def _slide(self, slide: Element, part: str, number: int) -> None:
        first = self._out.lines + 1
        place: dict[str, Any] = {"slide": number}
        hidden = slide.get("show") in ("0", "false")
        if hidden:
            place["hidden"] = True
        tree = next((e for e in slide.iter() if local(e) == "spTree"), None)
        shapes = list(self._shapes(tree, Transform(), part)) if tree is not None else []
        missed: Counter[str] = Counter()
        said: list[str] = []
        titles = [shape for shape, _ in shapes if _placeholder(shape)[0] in _TITLES]
        for shape in titles:
            title = one_line(" ".join(_texts(shape)))
            if title:
                self._out.line(title, page=number, kind="heading", level=1, locator=place | {"part": "title"})
        for shape in in_order([(shape, frame) for shape, frame in shapes if shape not in titles]):
            self._shape(shape, part, number, place, missed, said)
        self._notes(part, number, place)
        self._comments(part, number, place)
        if hidden:
            self._out.omission(
                "hidden_slide",
                f"slide {number} is hidden in the presentation; it was read",
                line_start=first if self._out.lines >= first else None,
                line_end=self._out.lines if self._out.lines >= first else None,
                page=number,
            )
        described = f" (described as: {'; '.join(said)[:300]})" if said else ""
        for kind, noun, rest in (
            ("image", "image", described),
            ("media", "video or sound", ""),
            ("embedded_object", "embedded object", ""),
            ("chart", "chart or diagram", ""),
        ):
            if missed[kind]:
                self._out.omission(
                    kind, f"{count_of(missed[kind], noun)} on slide {number} not read{rest}", page=number
                )

    def _shapes(
        self, parent: Element, transform: Transform, part: str, depth: int = 0
    ) -> Iterator[tuple[Element, Frame | None]]:
        """The shapes below a tree or group with their places.."""
        for element in parent:
            name = local(element)
            if name == "AlternateContent":
                chosen = alternative(element)
                if chosen is not None:
                    yield from self._shapes(chosen, transform, part, depth)
            elif name == "grpSp" and depth < MAX_DEPTH:
                yield element, transform.of(frame) if (frame := _frame(element)) else None
            elif name in ("sp", "graphicFrame", "pic", "cxnSp", "contentPart"):
                frame = _frame(element) or self._inherited(element, part)
                yield element, transform.of(frame) if frame else None

    def _shape(
        self,
        shape: Element,
        part: str,
        number: int,
        place: dict[str, Any],
        missed: Counter[str],
        said: list[str],
        depth: int = 0,
    ) -> None:
        name = local(shape)
        if name == "grpSp":
            if depth < MAX_DEPTH:
                inner = list(self._shapes(shape, Transform(), part, depth + 1))
                for child in in_order(inner):
                    self._shape(child, part, number, place, missed, said, depth + 1)
        elif name == "pic":
            missed[
                "media" if any(local(e).startswith(("video", "audio")) for e in shape.iter()) else "image"
            ] += 1
            text = _described(shape)
            if text:
                said.append(text)
        elif name == "graphicFrame":
            self._graphic(shape, part, number, place, missed)
        else:
            kind, _ = _placeholder(shape)
            furniture = kind in _FURNITURE
            for text in _texts(shape):
                for line in text.split("\n"):
                    line = line.strip()
                    if line:
                        self._out.line(
                            line,
                            page=number,
                            kind="furniture" if furniture else "text",
                            locator=place | ({"part": "footer"} if furniture else {}),
                        )

    def _graphic(
        self, shape: Element, part: str, number: int, place: dict[str, Any], missed: Counter[str]
    ) -> None:
        table = next((e for e in shape.iter() if local(e) == "tbl"), None)
        if table is not None:
            self._table(table, number, place)
            return
        chart = chart_part(self._package, part, shape)
        if chart is not None and write_chart(chart, self._out, place, number):
            return
        texts = diagram(self._package, part, shape)
        for text in texts:
            self._out.line(text, page=number, locator=place | {"part": "diagram"})
        if not texts:
            missed["embedded_object" if any(local(e) == "oleObj" for e in shape.iter()) else "chart"] += 1

    def _table(self, table: Element, number: int, place: dict[str, Any]) -> None:
        rows = [e for e in table if local(e) == "tr"]
        properties = next((e for e in table if local(e) == "tblPr"), None)
        first_row = properties is not None and properties.get("firstRow") in ("1", "true")
        writer = TableWriter(
            self._out,
            place | {"part": "table"},
            header_rows=1 if first_row and len(rows) > 1 else None,
            caption_level=None,
            page=number,
        )
        above: list[tuple[int, int, Cell]] = []
        for at_row, row in enumerate(rows, start=1):
            cells: Cells = {}
            above = [item for item in above if item[0] >= at_row]
            for column, c in enumerate(e for e in row if local(e) == "tc"):
                if c.get("hMerge") in ("1", "true") or c.get("vMerge") in ("1", "true"):
                    continue
                text = " ".join(_texts(c))
                cell = cell_of(text, span=_whole(c.get("gridSpan")))
                if cell is not None:
                    cells[column] = cell
                    if (below := _whole(c.get("rowSpan"))) > 1:
                        above.append((at_row + below - 1, column, cell._replace(carried=True)))
            if cells:
                for _, column, cell in above:
                    cells.setdefault(column, cell)
                writer.row(at_row, dict(sorted(cells.items())))
        writer.close()

    def _notes(self, part: str, number: int, place: dict[str, Any]) -> None:
        for name in self._package.related(part, "notesSlide"):
            root = self._package.optional(name)
            if root is None:
                self._out.omission(
                    "unreadable_part", f"the notes of slide {number} cannot be read", page=number
                )
                continue
            for shape in root.iter():
                if local(shape) == "sp" and _placeholder(shape)[0] not in (*_FURNITURE, "sldImg"):
                    for text in _texts(shape):
                        for line in text.split("\n"):
                            if line.strip():
                                self._out.line(line.strip(), page=number, locator=place | {"part": "notes"})

    def _comments(self, part: str, number: int, place: dict[str, Any]) -> None:
        start = self._out.lines + 1
        for name in self._package.related(part, "comments"):
            root = self._package.optional(name)
            for comment in () if root is None else root.iter():
                if local(comment) not in ("cm", "reply"):
                    continue
                texts = []
                for child in comment:
                    if local(child) == "text":
                        texts.append(child.text or "")
                    elif local(child) == "txBody":
                        texts += paragraphs(child)
                text = one_line(" ".join(texts))
                if text:
                    self._out.line(
                        f"[comment] {text}",
                        page=number,
                        kind="furniture",
                        locator=place | {"part": "comment"},
                    )
        if self._out.lines >= start:
            self._out.omission(
                "comments",
                f"{count_of(self._out.lines - start + 1, 'comment')} on slide {number}, "
                "kept as lines marked as not part of the slide",
                line_start=start,
                line_end=self._out.lines,
                page=number,
            )

    def _inherited(self, shape: Element, part: str) -> Frame | None:
        """The place that a placeholder takes from its layout, or that from its master."""
        kind, index = _placeholder(shape)
        if not kind:
            return None
        for layout in self._package.related(part, "slideLayout"):
            for source in (layout, *self._package.related(layout, "slideMaster")):
                if source not in self._layouts:
                    root = self._package.optional(source)
                    frames: dict[tuple[str, str], Frame] = {}
                    for sp in () if root is None else root.iter():
                        if local(sp) == "sp" and (frame := _frame(sp)) is not None:
                            own_kind, own_index = _placeholder(sp)
                            frames.setdefault(("index", own_index), frame)
                            frames.setdefault(("kind", own_kind), frame)
                    self._layouts[source] = frames
                found = self._layouts[source].get(("index", index)) if source == layout else None
                found = found or self._layouts[source].get(("kind", kind))
                if found is not None:
                    return found
        return None


def in_order(shapes: list[tuple[Element, Frame | None]]) -> Iterator[Element]:
    """From top to bottom, side by side from left to right; as in the file where a place is not known."""
    if any(frame is None for _, frame in shapes):
        yield from (shape for shape, _ in shapes)
        return
    placed = sorted(
        [(shape, frame) for shape, frame in shapes if frame is not None], key=lambda s: (s[1].y, s[1].x)
    )
    while placed:
        top = placed[0][1]
        line = [s for s in placed if s[1].y - top.y <= ROW * min(max(s[1].height, 1), max(top.height, 1))]
        chosen = {id(shape) for shape, _ in line}
        yield from (shape for shape, _ in sorted(line, key=lambda s: s[1].x))
        placed = [s for s in placed if id(s[0]) not in chosen]


def _frame(shape: Element) -> Frame | None:
    for element in shape:
        if local(element) in ("spPr", "grpSpPr", "xfrm"):
            xfrm = element if local(element) == "xfrm" else next(
                (e for e in element if local(e) == "xfrm"), None
            )  # fmt: skip
            if xfrm is None:
                continue
            parts = {local(e): e for e in xfrm}
            if "off" in parts and "ext" in parts:
                values = [
                    parts["off"].get("x"),
                    parts["off"].get("y"),
                    parts["ext"].get("cx"),
                    parts["ext"].get("cy"),
                ]
                try:
                    x, y, width, height = (float(value or 0) for value in values)
                except ValueError:
                    return None
                return Frame(x, y, width, height)
    return None


def _placeholder(shape: Element) -> tuple[str, str]:
    """(kind, index) of a placeholder; ("", "") for any other shape."""
    for element in shape:
        if local(element).startswith("nv"):
            for ph in element.iter():
                if local(ph) == "ph":
                    return ph.get("type") or "obj", ph.get("idx") or "0"
    return "", ""


def _texts(shape: Element) -> list[str]:
    return [text for body in shape if local(body) == "txBody" for text in paragraphs(body)]


def _described(shape: Element) -> str:
    for element in shape.iter():
        if local(element) == "cNvPr":
            return one_line(element.get("descr") or element.get("title") or "")
    return ""


def _relation_id(element: Element) -> str:
    for key, value in element.attrib.items():
        if key.endswith("}id"):
            return str(value)
    return attribute(element, "id") or ""


def _whole(text: str | None) -> int:
    return max(1, min(int(text), 1000)) if text and text.isdecimal() and len(text) < 9 else 1
