"""What Word, PowerPoint and Excel share: DrawingML text, charts, diagrams and equations."""

from __future__ import annotations

from typing import Any, Final

from tq_loader.convert.package import Element, Package, attribute, local
from tq_loader.convert.protocol import Writer
from tq_loader.convert.table import PAIR, Cells, TableWriter, cell_of, one_line

MAX_POINTS: Final = 20_000  # of a chart

_INVISIBLE: Final = dict.fromkeys((0x2061, 0x2062, 0x2063, 0x2064))  # operators that are not written
_ACCENTS: Final = {"^": "hat", "¯": "bar", "→": "vec", "˙": "dot", "~": "tilde"}


# Symbol fonts have signs where other fonts have letters; only those that carry meaning are known.
_SYMBOLS: Final = {
    0xFE: "☑", 0xFD: "☒", 0xA8: "☐", 0x6F: "☐", 0xFC: "✓", 0xFB: "✗", 0xB7: "•", 0xA7: "▪", 0xD8: "➢",
    0xE0: "→", 0xDF: "←", 0xF0: "⇨", 0x71: "❑", 0x6E: "■", 0x6C: "●", 0xB0: "°", 0xB1: "±", 0xB3: "≥",
    0xA3: "≤", 0xB4: "×", 0xB9: "≠", 0x6D: "μ", 0x61: "α", 0x62: "β", 0x67: "γ", 0x64: "δ", 0x70: "π",
    0x73: "σ", 0x57: "Ω", 0x44: "Δ", 0x53: "Σ",
}  # fmt: skip
_ONLY_WINGDINGS: Final = frozenset({0x6F, 0x71, 0x6E, 0x6C})


def symbol(code: int, font: str = "wingdings") -> str | None:
    """The Unicode sign of a symbol font's character; None where it is not known."""
    if code in _ONLY_WINGDINGS and "wingdings" not in font:
        return None
    return _SYMBOLS.get(code)


def equation(element: Element) -> str:
    """An equation (OMML) in one line: fractions as a/b, powers as ^, indices as _."""
    return one_line(_math(element).translate(_INVISIBLE))


def _math(element: Element) -> str:
    name = local(element)
    parts = {local(child): child for child in element}

    def of(part: str) -> str:
        return _math(parts[part]).strip() if part in parts else ""

    match name:
        case "t":
            return element.text or ""
        case "f":
            return f"{_grouped(of('num'))}/{_grouped(of('den'))}"
        case "sSup":
            return f"{_grouped(of('e'))}^{_grouped(of('sup'))}"
        case "sSub":
            return f"{_grouped(of('e'))}_{_grouped(of('sub'))}"
        case "sSubSup" | "sPre":
            return f"{_grouped(of('e'))}_{_grouped(of('sub'))}^{_grouped(of('sup'))}"
        case "rad":
            degree = of("deg")
            return f"root({degree}, {of('e')})" if degree else f"√({of('e')})"
        case "nary":
            sign = _property(parts.get("naryPr"), "chr") or "∫"
            low, high = of("sub"), of("sup")
            limits = (f"_{_grouped(low)}" if low else "") + (f"^{_grouped(high)}" if high else "")
            return f"{sign}{limits} {of('e')}"
        case "d":
            left = _property(parts.get("dPr"), "begChr")
            right = _property(parts.get("dPr"), "endChr")
            between = _property(parts.get("dPr"), "sepChr") or "|"
            inner = between.join(_math(child).strip() for child in element if local(child) == "e")
            return f"{'(' if left is None else left}{inner}{')' if right is None else right}"
        case "func":
            return f"{of('fName')} {of('e')}"
        case "limLow":
            return f"{of('e')}_{_grouped(of('lim'))}"
        case "limUpp":
            return f"{of('e')}^{_grouped(of('lim'))}"
        case "acc":
            mark = _property(parts.get("accPr"), "chr") or "^"
            return f"{_ACCENTS.get(mark, mark)}({of('e')})"
        case "m":
            rows = [
                ", ".join(_math(e).strip() for e in row if local(e) == "e")
                for row in element
                if local(row) == "mr"
            ]
            return "[" + "; ".join(rows) + "]"
        case "eqArr":
            return "; ".join(_math(e).strip() for e in element if local(e) == "e")
        case _:
            if name.endswith("Pr"):
                return ""
            return "".join(_math(child) for child in element)


def _grouped(text: str) -> str:
    return text if len(text) < 2 or text.isalnum() or (text[0] == "(" and text[-1] == ")") else f"({text})"


def _property(element: Element | None, name: str) -> str | None:
    for child in () if element is None else element:
        if local(child) == name:
            return attribute(child, "val") or ""
    return None


def paragraphs(body: Element) -> list[str]:
    """Paragraphs of a DrawingML text body, line breaks as newlines."""
    return [paragraph(p) for p in body if local(p) == "p"]


def paragraph(p: Element) -> str:
    parts: list[str] = []
    for child in p:
        match local(child):
            case "r" | "fld":
                parts += [t.text or "" for t in child if local(t) == "t"]
            case "br":
                parts.append("\n")
            case "m" | "oMath" | "oMathPara":
                parts.append(equation(child))
            case "AlternateContent":
                chosen = alternative(child)
                for inner in () if chosen is None else chosen:
                    parts.append(equation(inner) if local(inner) == "m" else "".join(
                        t.text or "" for t in inner.iter() if local(t) == "t"
                    ))  # fmt: skip
    return "".join(parts).replace("\x0b", "\n")


def alternative(element: Element) -> Element | None:
    """The one branch of an mc:AlternateContent that is read: the first choice, else the fallback."""
    choices = [child for child in element if local(child) in ("Choice", "Fallback")]
    for child in choices:
        if len(child):
            return child
    return None


def diagram(package: Package, part: str, element: Element) -> list[str]:
    """Texts of a SmartArt diagram, in the order of its points; [] where its data cannot be found."""
    for ids in element.iter():
        if local(ids) != "relIds":
            continue
        relation = package.relations(part).get(attribute(ids, "dm") or "")
        root = package.optional(relation.target) if relation is not None else None
        if root is None:
            return []
        texts = []
        for point in root.iter():
            if local(point) == "pt" and attribute(point, "type") in (None, "node", "asst"):
                for body in point:
                    if local(body) == "t":
                        texts += [one_line(text) for text in paragraphs(body)]
        return [text for text in texts if text]
    return []


def chart_part(package: Package, part: str, element: Element) -> Element | None:
    """The chart that a graphic frame shows."""
    for chart in element.iter():
        if local(chart) == "chart":
            relation = package.relations(part).get(attribute(chart, "id") or "")
            if relation is not None:
                return package.optional(relation.target)
    return None


def write_chart(root: Element, out: Writer, locator: dict[str, Any], page: int | None = None) -> bool:
    """A chart's title and its values as a table, from what the file keeps of them; False if it keeps none."""
    titles = [e for e in root.iter() if local(e) == "title"]
    title = one_line(" ".join(t.text or "" for t in titles[0].iter() if local(t) == "t")) if titles else ""
    series: list[tuple[str, dict[int, str], dict[int, str]]] = []
    for ser in root.iter():
        if local(ser) != "ser":
            continue
        parts = {local(child): child for child in ser}
        name = " ".join(_points(parts.get("tx")).values())
        labels = _points(parts["cat"] if "cat" in parts else parts.get("xVal"))
        values = _points(parts["val"] if "val" in parts else parts.get("yVal"))
        if values:
            series.append((one_line(name), labels, values))
    if not series:
        return False
    place = locator | {"part": "chart"}
    if title:
        out.line(title, page=page, kind="text", locator=place | {"title": True})
    writer = TableWriter(out, place, header_rows=1, caption_level=None, page=page)
    header: Cells = {}
    for i, (name, _, _) in enumerate(series, start=1):
        cell = cell_of(name or f"series {i}")
        if cell is not None:
            header[i] = cell
    writer.row(1, header)
    points = sorted({at for _, labels, values in series for at in (*labels, *values)})[:MAX_POINTS]
    for at in points:
        cells: Cells = {}
        label = next((labels[at] for _, labels, _ in series if at in labels), "")
        for column, text in enumerate((label, *(values.get(at, "") for _, _, values in series))):
            cell = cell_of(text)
            if cell is not None:
                cells[column] = cell
        writer.row(at + 2, cells)
    writer.close()
    return True


def _points(element: Element | None) -> dict[int, str]:
    """Cached points of a chart's reference, by index; several levels of labels are joined."""
    found: dict[int, str] = {}
    for point in () if element is None else element.iter():
        if local(point) == "pt":
            index = point.get("idx") or "0"
            value = next((e.text for e in point if local(e) == "v"), None)
            if value and index.isdecimal() and len(index) < 7:
                at = int(index)
                found[at] = f"{value}{PAIR}{found[at]}" if at in found else value
        elif local(point) == "v" and local(point.getparent()) == "tx":
            found.setdefault(0, point.text or "")
    return found
