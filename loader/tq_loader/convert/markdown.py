"""Markdown: every source line stays one numbered line, as it is; the parser only says what kind each is."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from tq_loader.convert.detect import Found
from tq_loader.convert.protocol import Job, LineRanges, Writer
from tq_loader.convert.table import letters, typed
from tq_loader.convert.text import PageCounter, look, read_lines, say_omissions

if TYPE_CHECKING:
    from markdown_it.token import Token

# Beyond this the parser's tokens would cost hundreds of megabytes: a scan line by line finds headings and
# code.
PARSED_CHARS: Final = 1_500_000

_ATX = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*$")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_UNDERLINE = re.compile(r" {0,3}(=+|-+)[ \t]*$")

Kind = tuple[str, int | None, dict[str, Any] | None]  # kind, a heading's level, a table row's place and cells
Kinds = dict[int, Kind]
_TEXT: Final[Kind] = ("text", None, None)


def convert(data: bytes | bytearray, job: Job, found: Found, out: Writer) -> None:
    source = look(data)
    if len(data) > PARSED_CHARS:
        out.document(found.media_type, None)
        scanner = Scanner()
        _write(
            out, ((text, bad, scanner.kind(text)) for text, bad in read_lines(data, source)), source, found
        )
        return
    rows = list(read_lines(data, source))
    kinds, title = parse([text for text, _ in rows])
    out.document(found.media_type, title)
    _write(out, ((text, bad, kinds.get(i, _TEXT)) for i, (text, bad) in enumerate(rows)), source, found)


def _write(out: Writer, rows: Any, source: Any, found: Found) -> None:
    broken = LineRanges()
    pages = PageCounter(source.paged)
    for text, replaced, (kind, level, place) in rows:
        number = out.line(text, page=pages.of(text), kind=kind, level=level, locator=place)
        if replaced:
            broken.add(number, replaced)
    say_omissions(out, source, found, broken)


def parse(lines: list[str]) -> tuple[Kinds, str | None]:
    """(kinds by 0-based line, title). Lines that are plain text are left out.

    The title is the first heading of the highest level that the document has.
    """
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark").enable("table").disable("inline")
    first = _front_matter_end(lines)
    # Characters that the parser takes for line ends, and NUL, which it changes, must not shift its line
    # numbers.
    text = "\n".join("" if i < first else _one_line(line) for i, line in enumerate(lines))
    kinds: Kinds = {}
    title: str | None = None
    title_level = 7
    count = 0  # tables
    try:
        tokens = parser.parse(text)
    except (RecursionError, ValueError, IndexError):
        # The parser's own limits: structure is then found line by line, the text stays complete.
        scanner = Scanner()
        return {i: kind for i, kind in enumerate(map(scanner.kind, lines)) if kind[0] != "text"}, None
    for i, token in enumerate(tokens):
        if token.map is None:
            continue
        start, end = token.map
        if token.type == "heading_open":
            level = int(token.tag[1:])
            content = tokens[i + 1].content
            # A setext heading ends with its underline, which is no part of the heading's words.
            if end - start > 1 and _UNDERLINE.search(_bare(lines[min(end, len(lines)) - 1])):
                end -= 1
            _mark(kinds, start, end, ("heading", level, None))
            if level < title_level and content.strip():
                title, title_level = content, level
        elif token.type == "table_open":
            count += 1
            for at, place in _rows(tokens, i):
                _mark(kinds, at, at + 1, ("table", None, {"table": count} | place))
            _mark(kinds, start + 1, start + 2, ("table", None, {"table": count, "header": True}))
        elif token.type in ("fence", "code_block"):
            _mark(kinds, start, end, ("code", None, None))
    for i in [i for i in kinds if i >= len(lines) or not lines[i].strip()]:
        if kinds[i][0] != "code" or i >= len(lines):
            del kinds[i]
    return kinds, title


class Scanner:
    """The kind of each line by itself, with no more memory than whether a code fence is open."""

    def __init__(self) -> None:
        self._fence: str | None = None

    def kind(self, text: str) -> Kind:
        fence = _FENCE.match(text)
        if self._fence is not None:
            if fence and fence.group(1).startswith(self._fence) and not text.strip().strip(self._fence[0]):
                self._fence = None
            return "code", None, None
        if fence:
            self._fence = fence.group(1)
            return "code", None, None
        heading = _ATX.match(text)
        if heading:
            return "heading", len(heading.group(1)), None
        return _TEXT


def _rows(tokens: Sequence[Token], at: int) -> Iterator[tuple[int, dict[str, Any]]]:
    """(line, what its locator says) of each row of the table that opens at a token; the first names the columns."""
    names: dict[int, str] = {}
    cells: list[str] = []
    row = line = 0
    while tokens[at].type != "table_close":
        token = tokens[at]
        if token.type == "tr_open" and token.map is not None:
            cells, line = [], token.map[0]
            row += 1
        elif token.type == "inline":
            cells.append(token.content.strip())
        elif token.type == "tr_close":
            place: dict[str, Any] = {"row": row}
            if row == 1:
                for i, name in enumerate(cells):
                    if name:
                        names[i] = name if name not in names.values() else f"{name} ({letters(i)})"
                place["header"] = True
                place["columns"] = {name: letters(i) for i, name in names.items()}
                place["cells"] = {letters(i): typed(text) for i, text in enumerate(cells) if text}
            else:
                place["cells"] = {
                    names.get(i, letters(i)): typed(text) for i, text in enumerate(cells) if text
                }
            yield line, place
        at += 1


def _mark(kinds: Kinds, start: int, end: int, kind: Kind) -> None:
    for i in range(start, end):
        kinds[i] = kind


def _front_matter_end(lines: list[str]) -> int:
    """How many lines a YAML block at the start takes; without this its end reads as a heading's underline."""
    if not lines or lines[0].rstrip() != "---":
        return 0
    for i, line in enumerate(lines[1:200], start=1):
        if line.rstrip() in ("---", "..."):
            return i + 1
    return 0


def _one_line(line: str) -> str:
    return line.replace("\x00", "\ufffd").replace("\r", " ")


def _bare(line: str) -> str:
    """A line without the marks of quotes and lists that it stands in."""
    return re.sub(r"^[ >]*", "", line)
