"""Documents that a Word document takes in whole (altChunk): HTML, plain text, RTF, or another DOCX."""

from __future__ import annotations

from typing import Any

from lxml import etree, html

from tq_loader.convert.protocol import ConvertError, Job, Writer
from tq_loader.convert.table import Cells, TableWriter, cell_of, one_line

_SKIPPED = frozenset({"script", "style", "head", "template", "noscript"})
_BLOCKS = frozenset(
    {
        "p", "div", "li", "ul", "ol", "dl", "dt", "dd", "blockquote", "pre", "section", "article", "header",
        "footer", "body", "html", "table", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "main", "address", "form",
    }
)  # fmt: skip


def write_chunk(data: bytes, name: str, job: Job, out: Writer, depth: int) -> bool:
    """Write the lines of an embedded document; False where its format is not read."""
    lower = name.lower()
    try:
        if data[:2] == b"PK":
            from tq_loader.convert.docx import Document
            from tq_loader.convert.package import Package, kind_of

            if kind_of(data) != "docx":
                return False
            inner = Document(Package(data, job.memory_mb, "embedded Word document"), out, job, depth + 1)
            inner.write()
            inner.say()
            return True
        if data[:5] == b"{\\rtf":
            from tq_loader.convert.rtf import write_rtf

            write_rtf(data, out)
            return True
        if b"MIME-Version" in data[:2000]:
            body = _mime_body(data)
            if body is None:
                return False
            data, lower = body, "part.html"
        if lower.endswith((".htm", ".html", ".xhtml")) or b"<html" in data[:2000].lower():
            _write_html(data, out)
            return True
        from tq_loader.convert.text import look, read_lines

        for text, _ in read_lines(data, look(data)):
            if text.strip():
                out.line(text.strip(), locator={"part": "embedded_document"})
        return True
    except ConvertError:
        return False


def _mime_body(data: bytes) -> bytes | None:
    import email
    import email.policy

    message = email.message_from_bytes(data, policy=email.policy.default)
    for part in message.walk():
        if part.get_content_type() == "text/html":
            content = part.get_content()
            return content.encode() if isinstance(content, str) else None
    return None


def _write_html(data: bytes, out: Writer) -> None:
    from tq_loader.convert.encoding import decode, find_encoding

    encoding = find_encoding(data)
    text = "".join(piece for piece, _ in decode(data, encoding))
    # An encoding that the text declares of itself no longer holds.
    parser = html.HTMLParser(
        encoding="utf-8", no_network=True, huge_tree=False, remove_comments=True, remove_pis=True
    )
    try:
        root = html.document_fromstring(text.encode("utf-8"), parser=parser)
    except (etree.ParserError, ValueError):
        return  # nothing but white space
    place = {"part": "embedded_document"}
    pieces: list[str] = []

    def flush(level: int | None = None) -> None:
        line = one_line("".join(pieces))
        pieces.clear()
        if line:
            out.line(line, kind="text" if level is None else "heading", level=level, locator=place)

    def walk(element: Any) -> None:
        tag = element.tag if isinstance(element.tag, str) else "script"
        if tag in _SKIPPED:
            return
        if tag == "table":
            flush()
            _write_table(element, out, place)
            return
        block = tag in _BLOCKS
        level = int(tag[1]) if len(tag) == 2 and tag[0] == "h" and tag[1] in "123456" else None
        if block:
            flush()
        if tag == "br":
            flush()
        if tag == "li":
            pieces.append("• ")
        if element.text:
            pieces.append(element.text)
        for child in element:
            walk(child)
            if child.tail:
                pieces.append(child.tail)
        if block:
            flush(level)

    walk(root)
    flush()


def _write_table(table: Any, out: Writer, place: dict[str, Any]) -> None:
    rows = list(table.iter("tr"))
    header = sum(all(c.tag == "th" for c in row if c.tag in ("td", "th")) for row in rows[:4])
    writer = TableWriter(out, place, header_rows=header or None, caption_level=None)
    for number, row in enumerate(rows, start=1):
        cells: Cells = {}
        at = 0
        for c in row:
            if c.tag in ("td", "th"):
                span = c.get("colspan") or "1"
                wide = min(int(span), 1000) if span.isdecimal() and len(span) < 5 else 1
                cell = cell_of(" ".join(c.itertext()), span=max(1, wide))
                if cell is not None:
                    cells[at] = cell
                at += max(1, wide)
        writer.row(number, cells)
    writer.close()
