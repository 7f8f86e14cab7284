"""HTML, however messy: what a reader sees, block by block; scripts, styles and hidden parts are left out.

:func:`blocks` is also how mail and books are read. Each line's locator names the line of the source it
starts on and the nearest anchor above it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.entities import html5
from typing import Any, Final

from lxml import etree as untyped

from tq_loader.convert.charset import decode_labelled
from tq_loader.convert.detect import Found
from tq_loader.convert.protocol import (
    MALFORMED,
    TOO_LARGE,
    ConvertError,
    Job,
    Writer,
    clean_title,
    count_of,
)
from tq_loader.convert.webtable import Cell, read_table

etree: Any = untyped

_META = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([\w.:-]{2,40})", re.I)
_XML_ENCODING = re.compile(rb"^\s*<\?xml[^>]{0,200}?encoding\s*=\s*[\"']([\w.:-]{2,40})", re.I)
_XML = re.compile(r"\s*<\?xml[\s?]")
_ENTITY = re.compile(r"&([A-Za-z][A-Za-z0-9]{1,31});")
_SPACE = re.compile(r"[ \t\n\r\f\v\u00a0\u200b\ufeff]+")
_INVISIBLE = re.compile(r"(display\s*:\s*none|visibility\s*:\s*hidden|mso-hide\s*:\s*all)", re.I)
_SEPARATED_TITLE = re.compile(r"\s+[-–—|·:»]\s+")


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_BLOCKS: Final = _names(
    "address article aside blockquote body center dd details dialog dir div dl dt fieldset figcaption "
    "figure footer form h1 h2 h3 h4 h5 h6 header hgroup hr html legend li listing main menu nav ol "
    "optgroup p plaintext pre section summary table caption thead tbody tfoot tr td th ul xmp"
)
_LEVELS: Final = {f"h{n}": n for n in range(1, 7)}
_UNREAD: Final = _names(
    "script style template noscript noframes head title meta link base annotation annotation-xml"
)
_EMBEDDED: Final = frozenset(["iframe", "object", "embed", "applet", "video", "audio", "canvas", "frame"])
# Things that stand beside each other on the screen: their texts must not grow together.
_APART: Final = frozenset(["button", "select", "input", "textarea", "option", "label", "img"])
_STRUCK: Final = frozenset(("del", "s", "strike"))
_NAVIGATION: Final = frozenset(("navigation", "menu", "menubar", "search"))
_SHOWN_INPUTS: Final = frozenset(("", "text", "search", "email", "tel", "url", "number", "date", "submit"))


@dataclass(slots=True, frozen=True)
class Block:
    """One line to be: ``kind`` and ``level`` as in the protocol."""

    text: str
    kind: str = "text"
    level: int | None = None
    locator: dict[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class Unread:
    """What of a page was not read, counted."""

    images: int = 0
    hidden: int = 0
    embedded: int = 0
    struck: list[str] = field(default_factory=list)
    scripts: int = 0  # characters

    def say(self, out: Writer, lines: int, *, where: str = "the page") -> None:
        """One omission a kind. ``lines``: how many lines were read from it."""
        if self.images:
            out.omission("image", f"{count_of(self.images, 'image')} of {where} not read")
        if self.embedded:
            out.omission("embedded", f"{count_of(self.embedded, 'embedded object')} of {where} not read")
        if self.hidden:
            out.omission(
                "hidden_text", f"{count_of(self.hidden, 'hidden part')} of {where} with text left out"
            )
        if self.struck:
            shown = "; ".join(self.struck[:3]) + ("; …" if len(self.struck) > 3 else "")
            out.omission("deleted_text", f"text that {where} strikes out was left out: {shown}")
        if self.scripts > 2000 and lines < 5:
            out.omission(
                "script", f"{where} is made by scripts, which are not run: most of its content is not in it"
            )


def convert(data: bytes | bytearray, job: Job, found: Found, out: Writer) -> None:
    """Write the lines of a web page."""
    decoded = decode_labelled(bytes(data), charset_of(data[:4096]))
    root = parse(decoded.text)
    title = clean_title(title_of(root))
    out.document(found.media_type, title)
    unread = Unread()
    read = blocks(root, unread)
    if title:
        read = with_title(title, read)
    for block in read:
        out.line(block.text, kind=block.kind, level=block.level, locator=block.locator or None)
    if not out.lines:
        raise ConvertError(
            MALFORMED,
            "page has no text",
            "no visible text is in it" + (", but scripts, which are not run" if unread.scripts else ""),
            "open it in a browser and save what shows as a complete page, as PDF or as text",
        )
    unread.say(out, out.lines)
    if decoded.replaced:
        out.omission(
            "invalid_bytes",
            f"{count_of(decoded.replaced, 'place')} that are not {decoded.encoding} replaced by U+FFFD",
        )
    if decoded.guessed:
        out.omission(
            "encoding",
            f"the page does not say its encoding; it was read as {decoded.encoding}, the likeliest",
        )


def charset_of(start: bytes | bytearray) -> str | None:
    """The encoding that the first bytes of a page name."""
    match = _XML_ENCODING.search(start) or _META.search(start)
    return match.group(1).decode("ascii") if match else None


def parse(text: str, *, xhtml: bool = False) -> Any:
    """The tree of a page. XHTML is read as the XML that it claims to be, and as HTML where it is none.

    Raises TQ011 for what has no element at all, TQ012 for nesting that no person wrote.
    """
    text = text.replace("\x00", "\ufffd")
    if xhtml or _XML.match(text):
        parser = etree.XMLParser(
            encoding="utf-8", resolve_entities=False, load_dtd=False, no_network=True, huge_tree=False
        )
        body = re.sub(r"^\s*<\?xml.*?\?>", "", text, count=1, flags=re.S)
        try:
            root = etree.fromstring(_ENTITY.sub(_entity, body).encode("utf-8", "replace"), parser)
            if local(root) == "html":
                return root
        except (etree.XMLSyntaxError, ValueError):
            pass
    parser = etree.HTMLParser(encoding="utf-8", huge_tree=True, no_network=True)
    try:
        root = etree.fromstring(text.encode("utf-8", "replace"), parser)
    except (etree.XMLSyntaxError, ValueError) as error:
        raise ConvertError(
            MALFORMED, "page cannot be read", str(error)[:200], "open it in a browser and save it anew"
        ) from error
    log = str(parser.error_log.last_error or "")
    if "depth" in log:
        raise ConvertError(
            TOO_LARGE,
            "page is nested too deeply",
            "its elements lie in each other more than 2,000 deep",
            "save the text of the page and load that",
        )
    if "memory" in log.lower():
        raise MemoryError
    if root is None:
        raise ConvertError(
            MALFORMED,
            "page has no text",
            "there is no element in it",
            "check that the file was written completely",
        )
    return root


def _entity(match: re.Match[str]) -> str:
    name = match.group(1)
    if name in ("amp", "lt", "gt", "quot", "apos"):
        return match.group()
    return html5.get(name + ";", match.group())


def local(element: Any) -> str:
    """The element's name without its namespace, in lower case; empty for comments and the like."""
    tag = element.tag
    if not isinstance(tag, str):
        return ""
    return tag.rsplit("}", 1)[-1].lower()


def title_of(root: Any) -> str | None:
    for element in root.iter():
        name = local(element)
        if name == "title":
            return "".join(element.itertext())
        if name == "body":
            break
    return None


def with_title(title: str, read: Iterator[Block]) -> Iterator[Block]:
    """The blocks, after the title as a heading where none of the first of them says it."""
    folded = " ".join(title.lower().split())
    parts = {folded, *_SEPARATED_TITLE.split(folded)}
    first: list[Block] = []
    seen = False
    for block in read:
        first.append(block)
        text = " ".join(block.text.lower().split())
        seen = text in parts or folded in text
        if seen or len(first) >= 500:
            break
    if not seen:
        yield Block(title, "heading", 1, {"part": "title"})
    yield from first
    yield from read


def is_hidden(element: Any) -> bool:
    if element.get("hidden") is not None and element.get("hidden") != "until-found":
        return True
    style = element.get("style")
    return bool(style and _INVISIBLE.search(style))


def fold(text: str) -> str:
    """White space as a browser shows it; a no-break space is a space, a zero-width one nothing much."""
    return _SPACE.sub(" ", text).strip()


class _Walk:
    """Turns the events of a tree into blocks, without recursion."""

    def __init__(self, unread: Unread, base: dict[str, Any]) -> None:
        self.unread = unread
        self.base = base
        self.anchor: str | None = None
        self.parts: list[str] = []
        self.line: int | None = None
        self.kind: list[tuple[str, int | None]] = [("text", None)]
        self.furniture = 0
        self.pre = 0
        self.lists: list[int | None] = []  # the next number of each open list; None for bullets
        self.prefix = ""
        self.tables = 0

    def add(self, text: str | None, element: Any) -> None:
        if not text:
            return
        if self.line is None and text.strip():
            self.line = element.sourceline
        self.parts.append(text)

    def flush(self) -> Iterator[Block]:
        text = "".join(self.parts)
        line, self.line = self.line, None
        self.parts.clear()
        if not text.strip():
            return
        kind, level = self.kind[-1]
        if self.furniture and kind in ("text", "heading"):
            kind, level = "furniture", None
        if self.pre:
            for i, row in enumerate(text.strip("\n").split("\n")):
                place = self.place(None if line is None else line + i)
                yield Block(row.rstrip(), "furniture" if self.furniture else "code", None, place)
            return
        folded = fold(text)
        if folded:
            prefix, self.prefix = self.prefix, ""
            if kind == "heading":
                prefix = ""
            yield Block(prefix + folded, kind, level, self.place(line))

    def place(self, line: int | None) -> dict[str, Any]:
        found = dict(self.base)
        if line:
            found["source_line"] = line
        if self.anchor:
            found["anchor"] = self.anchor
        return found


def blocks(root: Any, unread: Unread, base: dict[str, Any] | None = None) -> Iterator[Block]:
    """The visible text of a tree as lines, in the order of the source. ``base`` is put in each locator."""
    walk = _Walk(unread, base or {})
    events = etree.iterwalk(root, events=("start", "end", "comment", "pi"))
    skipped: Any = None
    undo: list[tuple[Any, str]] = []  # what is to be taken back at the end of an element
    for event, element in events:
        if event in ("comment", "pi"):
            walk.add(element.tail, element)
            continue
        name = local(element)
        if event == "end":
            if element is skipped:
                skipped = None
            elif name in _BLOCKS:
                yield from walk.flush()
            while undo and undo[-1][0] is element:
                _take_back(walk, undo.pop()[1])
            if name in _APART:
                walk.parts.append(" ")
            if element is not root:
                walk.add(element.tail, element)
            continue
        if name in _BLOCKS or name == "br":
            yield from walk.flush()
        if _leave_out(element, name, unread):
            events.skip_subtree()
            skipped = element
            continue
        if name == "table":
            table = _table(element, unread, walk)
            if table is not None:
                events.skip_subtree()
                skipped = element
                yield from table
                continue
        if name in ("sup", "sub") and _is_power(element, walk.parts):
            walk.parts.append("^" if name == "sup" else "_")
        if name == "math" and element.get("alttext"):
            walk.add(element.get("alttext"), element)
            events.skip_subtree()
            continue
        _enter(walk, element, name, undo)
        if name == "pre" and element.text:
            walk.add(element.text.removeprefix("\n"), element)
        else:
            walk.add(element.text, element)
    yield from walk.flush()


def _enter(walk: _Walk, element: Any, name: str, undo: list[tuple[Any, str]]) -> None:
    role = (element.get("role") or "").lower()
    level = _LEVELS.get(name)
    if level is None and role == "heading":
        given = element.get("aria-level") or "2"
        level = min(6, max(1, int(given))) if given.isdecimal() and len(given) < 4 else 2
    if level is not None:
        walk.kind.append(("heading", level))
        undo.append((element, "kind"))
        walk.anchor = _anchor(element) or walk.anchor
    elif name in ("pre", "listing", "xmp", "plaintext"):
        walk.kind.append(("code", None))
        walk.pre += 1
        undo += [(element, "kind"), (element, "pre")]
    elif name in ("ul", "ol", "menu", "dir"):
        start = element.get("start") or "1"
        number = int(start) if start.isdecimal() and len(start) < 9 else 1
        walk.lists.append(number if name == "ol" else None)
        undo.append((element, "list"))
    elif name == "li":
        number_now = walk.lists[-1] if walk.lists else None
        given = element.get("value") or ""
        if number_now is not None and given.isdecimal() and len(given) < 9:
            number_now = int(given)
        mark = "- " if number_now is None else f"{number_now}. "
        if walk.lists and number_now is not None:
            walk.lists[-1] = number_now + 1
        walk.prefix = "  " * max(0, len(walk.lists) - 1) + mark
        undo.append((element, "item"))
    elif name == "q":
        walk.parts.append("“")
        undo.append((element, "quote"))
    if name == "nav" or role in _NAVIGATION:
        walk.furniture += 1
        undo.append((element, "furniture"))
    if name in _APART:
        walk.parts.append(" ")
        if name == "img":
            alt = fold(element.get("alt") or "")
            if alt:
                walk.add(f"[image: {alt}]", element)
            walk.unread.images += 1
        elif name == "input" and (element.get("type") or "").lower() in _SHOWN_INPUTS:
            walk.add(element.get("value") or element.get("placeholder"), element)


def _take_back(walk: _Walk, what: str) -> None:
    if what == "kind":
        walk.kind.pop()
    elif what == "pre":
        walk.pre -= 1
    elif what == "list":
        walk.lists.pop()
    elif what == "item":
        walk.prefix = ""
    elif what == "quote":
        walk.parts.append("”")
    elif what == "furniture":
        walk.furniture -= 1


def _leave_out(element: Any, name: str, unread: Unread) -> bool:
    """Whether an element with all in it is not read; counted where a reader may miss it."""
    if not name:
        return True
    if name in _UNREAD:
        for each in element.iter("script", "{*}script") if name in ("script", "head") else ():
            unread.scripts += len(each.text or "") + (2001 if each.get("src") else 0)
        return True
    if name in _EMBEDDED:
        unread.embedded += 1
        return True
    if name == "svg":
        unread.images += 1
        return True
    if is_hidden(element):
        if any(part.strip() for part in element.itertext()):
            unread.hidden += 1
        return True
    if name in _STRUCK:
        text = fold("".join(element.itertext()))
        if text:
            unread.struck.append(text if len(text) <= 80 else text[:79] + "…")
        return True
    return False


def _is_power(element: Any, before: list[str]) -> bool:
    """A digit set high after a digit: joined it would be another number (10⁶ is not 106)."""
    text = "".join(element.itertext()).strip()
    last = next((part for part in reversed(before) if part), "")
    return bool(text) and text[0] in "0123456789-−+" and last[-1:].isdigit()


def _anchor(element: Any) -> str | None:
    for each in element.iter():
        if local(each):
            found = each.get("id") or (each.get("name") if local(each) == "a" else None)
            if found:
                return str(found)[:200]
    return None


def inline_text(element: Any, unread: Unread) -> str:
    """The visible text of an element on one line: a table's cell or caption."""
    parts: list[str] = []
    events = etree.iterwalk(element, events=("start", "end", "comment", "pi"))
    skipped: Any = None
    for event, each in events:
        name = local(each)
        if event == "start":
            if each is not element and _leave_out(each, name, unread):
                events.skip_subtree()
                skipped = each
                continue
            if name in _BLOCKS or name in _APART or name == "br":
                parts.append(" ")
            if name == "img":
                unread.images += 1
                alt = fold(each.get("alt") or "")
                parts.append(f"[image: {alt}]" if alt else "")
            elif name == "input" and (each.get("type") or "").lower() in _SHOWN_INPUTS:
                parts.append(each.get("value") or "")
            if name in ("sup", "sub") and _is_power(each, parts):
                parts.append("^" if name == "sup" else "_")
            parts.append(each.text or "")
            continue
        if each is skipped:
            skipped = None
        elif name in _BLOCKS or name in _APART:
            parts.append(" ")
        if each is not element:
            parts.append(each.tail or "")
    return fold("".join(parts))


def _table(table: Any, unread: Unread, walk: _Walk) -> list[Block] | None:
    """The lines of a table that holds data; None for one that only places things on the page."""
    rows = _own_rows(table)
    role = (table.get("role") or "").lower()
    if role in ("presentation", "none") or not rows:
        return None
    cells = [[c for c in row if local(c) in ("td", "th")] for row in rows]
    flat = [cell for row in cells for cell in row]
    has_header = any(local(cell) == "th" for cell in flat)
    width = max((len(row) for row in cells), default=0)
    marked = has_header or role in ("table", "grid") or any(local(c) in ("caption", "thead") for c in table)
    if not marked and (width < 2 or len(cells) < 2):
        return None
    for cell in flat:
        inside = 0
        for each in cell.iter():
            name = local(each)
            if name == "table" or (name in _LEVELS and not marked):
                return None
            inside += name in ("p", "div", "li", "br")
        if inside > 6 and not marked:
            return None
    walk.tables += 1
    number = walk.tables
    read: list[list[Cell]] = []
    lines: list[int | None] = []
    for row, own in zip(rows, cells, strict=True):
        if _leave_out(row, "tr", unread):
            continue
        head = local(row.getparent()) == "thead"
        read.append(
            [
                Cell(
                    "" if is_hidden(cell) and _leave_out(cell, "td", unread) else inline_text(cell, unread),
                    local(cell) == "th" or head,
                    _span(cell, "colspan"),
                    _span(cell, "rowspan"),
                )
                for cell in own
            ]
        )
        lines.append(row.sourceline)
    if not marked and any(len(cell.text) > 600 for row in read for cell in row):
        return None
    found: list[Block] = []
    kind = "furniture" if walk.furniture else "table"
    for caption in table:
        if local(caption) == "caption":
            text = inline_text(caption, unread)
            if text:
                found.append(
                    Block(
                        text, "furniture" if walk.furniture else "text", None, walk.place(caption.sourceline)
                    )
                )
    for line in read_table(read):
        place = walk.place(lines[line.row])
        place |= {"table": number, "row": line.row + 1}
        if line.cells:
            place["cells"] = line.cells
        if line.columns:
            place |= {"header": True, "columns": line.columns}
        found.append(Block(line.text, kind, None, place))
    return found


def _own_rows(table: Any) -> list[Any]:
    """The rows of a table, not those of tables in it; the footer last, as it shows."""
    rows: list[Any] = []
    foot: list[Any] = []
    for child in table:
        name = local(child)
        if name == "tr":
            rows.append(child)
        elif name in ("thead", "tbody"):
            rows += [row for row in child if local(row) == "tr"]
        elif name == "tfoot":
            foot += [row for row in child if local(row) == "tr"]
    return rows + foot


def _span(cell: Any, name: str) -> int:
    text = (cell.get(name) or "1").strip()
    return min(1000, max(1, int(text))) if text.isdecimal() and len(text) < 7 else 1
