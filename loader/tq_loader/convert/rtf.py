"""RTF: control words read one by one; text in whatever code page each font says."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass, replace
from typing import Any, Final

from tq_loader.convert.detect import Found
from tq_loader.convert.drawing import symbol
from tq_loader.convert.protocol import MALFORMED, ConvertError, Job, Writer, count_of
from tq_loader.convert.table import Cell, Cells, TableWriter, cell_of, one_line

MAX_DEPTH: Final = 2000

_TOKEN = re.compile(
    rb"\\(?:'(?P<hex>[0-9a-fA-F]{2})|(?P<word>[a-zA-Z]{1,32})(?P<number>-?\d{1,10})?[ ]?|(?P<sign>[^a-zA-Z]))"
    rb"|(?P<brace>[{}])|(?P<text>[^\\{}\r\n]+)|(?P<end>[\r\n]+)|(?P<rest>\\)",
    re.S,
)

_PRIVATE = re.compile("[\uf020-\uf0ff]")

# Destinations whose text is no text of the document.
_SKIPPED: Final = frozenset(
    [
        "fonttbl", "colortbl", "stylesheet", "info", "pict", "object", "objdata", "themedata",
        "colorschememapping", "datastore", "latentstyles", "listtable", "listoverridetable", "rsidtbl",
        "generator", "xmlnstbl", "filetbl", "revtbl", "fldinst", "operator", "author", "comment", "company",
        "category", "keywords", "subject", "doccomm", "creatim", "revtim", "printim", "buptim", "template",
        "userprops", "mmathPr", "pgptbl", "bkmkstart", "bkmkend", "atnid", "atnauthor", "atnref", "atntime",
        "atndate", "atnparent", "atrfstart", "atrfend", "tc", "xe", "rxe", "nonshppict", "shpinst", "sp",
        "sn", "sv", "blipuid", "objclass", "objname", "listtext", "pntext", "pntxta", "pntxtb", "pnseclvl",
        "listpicture", "background", "ftnsep", "ftnsepc", "ftncn", "aftnsep", "aftnsepc", "aftncn",
        "wgrffmtfilter", "passwordhash", "private", "panose", "falt", "fontemb", "ud", "upr", "formfield",
        "datafield", "hl", "hlsrc", "hlfr", "hlloc", "protusertbl", "defchp", "defpap",
    ]
)  # fmt: skip
_SIGNS: Final = {
    "emdash": "—", "endash": "–", "lquote": "‘", "rquote": "’", "ldblquote": "“", "rdblquote": "”",
    "bullet": "•", "tab": "\t", "line": "\n", "emspace": " ", "enspace": " ", "qmspace": " ", "lbr": "\n",
    "zwnj": "\u200c", "zwj": "\u200d", "ltrmark": "", "rtlmark": "",
}  # fmt: skip
_CHARSETS: Final = {
    0: "cp1252", 77: "mac_roman", 128: "cp932", 129: "cp949", 130: "johab", 134: "gbk", 136: "big5",
    161: "cp1253", 162: "cp1254", 163: "cp1258", 177: "cp1255", 178: "cp1256", 186: "cp1257", 204: "cp1251",
    222: "cp874", 238: "cp1250", 255: "cp437",
}  # fmt: skip


@dataclass(slots=True)
class State:
    """What a group inherits and gives back at its end."""

    skip: bool = False
    hidden: bool = False
    deleted: bool = False
    bold: bool = False
    encoding: str = "cp1252"
    fallback: int = 1  # characters that stand for one \\u
    where: str = "body"  # body, footnote, header, footer, annotation, fonts, styles, title, listtext
    style: int = 0


@dataclass(slots=True)
class Block:
    """A paragraph or a table row on its way out."""

    text: str = ""
    level: int | None = None
    style: int = 0
    in_table: bool = False
    bold: bool | None = None


def convert(data: bytes | bytearray, job: Job, found: Found, out: Writer) -> None:
    """Write an RTF document. Raises TQ011 where it is none."""
    reader = Reader(data)
    out.document(found.media_type, reader.find_title())
    reader.write(out, {})
    reader.say(out)
    if not out.lines:
        raise ConvertError(
            MALFORMED,
            "document has no text",
            "nothing but formatting is in it",
            "open it in the program that made it and save it again",
        )


def write_rtf(data: bytes, out: Writer) -> None:
    """The lines of an RTF document within another."""
    reader = Reader(data)
    reader.write(out, {"part": "embedded_document"})
    reader.say(out)


class Reader:
    """One pass over the tokens."""

    def __init__(self, data: bytes | bytearray) -> None:
        self._data = data
        self._fonts: dict[int, str] = {}
        self._levels: dict[int, int] = {}  # heading level by style
        self._pictures = self._objects = self._deleted = self._inserted = self._hidden = 0
        self._comments: list[str] = []
        self._notes: list[tuple[str, str]] = []
        self._note = 0
        self._furniture: dict[str, str] = {}
        self._pending = b""
        self._font = self._style = 0

    def find_title(self) -> str | None:
        match = re.search(rb"{\\title ([^{}]*)}", bytes(self._data[:65536]))
        if not match:
            return None
        text = re.sub(
            rb"\\u(-?\d+) ?\??|\\'([0-9a-fA-F]{2})|\\[a-z]+-?\d* ?",
            lambda m: (
                chr(int(m[1]) & 0xFFFF).encode("utf-8", "ignore")
                if m[1]
                else bytes([int(m[2], 16)]).decode("cp1252", "replace").encode()
                if m[2]
                else b""
            ),
            match[1],
        )
        title = text.decode("utf-8", "replace")
        # Programs write question marks for what their code page lacks.
        return title if title.strip("? ") else None

    def write(self, out: Writer, place: dict[str, Any]) -> None:
        self._out = out
        self._place = place
        self._state = State()
        self._default_encoding = "cp1252"
        self._default_font: int | None = None
        self._block = Block()
        self._paragraph = 0
        self._tables = 0
        self._row: list[tuple[str, bool | None]] = []
        self._rows: list[list[tuple[str, bool | None]]] = []
        self._definition: list[tuple[int, bool, bool]] = []  # right edge, merged first, merged continued
        self._merge = (False, False)
        self._definitions: list[list[tuple[int, bool, bool]]] = []
        self._headers = 0
        self._aside: list[str] = []  # text of notes, headers and comments, while they are open
        self._high = ""
        self._walk()
        self._end_paragraph()
        self._end_table()
        for text, where in self._furniture.items():
            out.line(text, kind="furniture", locator=place | {"part": where})
        self._write_comments()

    def _walk(self) -> None:
        stack: list[State] = []
        first = False  # the next control word may name the group's destination
        star = False
        ignore = 0  # characters that only stand for a \u before them
        data = self._data
        at = 0
        while at < len(data):
            match = _TOKEN.match(data, at)
            if match is None:
                break
            at = match.end()
            kind = match.lastgroup
            if match["word"] is not None:
                word = match["word"].decode("ascii")
                number = int(match["number"]) if match["number"] is not None else None
                if word == "bin":
                    at += max(0, number or 0)
                    continue
                if word == "u" and number is not None:
                    self._bytes_out()
                    self._unicode(number)
                    ignore = self._state.fallback
                    first = False
                    continue
                if ignore and word in _SIGNS:
                    ignore -= 1
                    continue
                self._bytes_out()
                self._word(word, number, first, star)
                first = star = False
            elif match["hex"] is not None:
                if ignore:
                    ignore -= 1
                else:
                    self._pending += bytes([int(match["hex"], 16)])
                first = False
            elif match["sign"] is not None:
                sign = match["sign"]
                if sign == b"*":
                    star = True
                    continue
                self._bytes_out()
                if ignore and sign in b"\\{}~-_":
                    ignore -= 1
                elif sign in (b"\\", b"{", b"}"):
                    self._text(sign.decode())
                elif sign == b"~":
                    self._text("\u00a0")
                elif sign == b"_":
                    self._text("-")
                elif sign in (b"\n", b"\r"):
                    self._word("par", None, False, False)
                first = False
            elif match["brace"] == b"{":
                self._bytes_out()
                ignore = 0
                if len(stack) >= MAX_DEPTH:
                    raise ConvertError(
                        MALFORMED,
                        "document is damaged",
                        f"its groups are nested more than {MAX_DEPTH:,} deep",
                        "open it in the program that made it and save it again",
                    )
                stack.append(replace(self._state))
                first = True
            elif match["brace"] == b"}":
                self._bytes_out()
                ignore = 0
                first = False
                if not stack:
                    break  # what follows the document's own group is no part of it
                before, self._state = self._state, stack.pop()
                if before.where != self._state.where:
                    self._leave(before.where)
                if not stack:
                    break
            elif kind == "text":
                text = match["text"]
                if ignore:
                    cut = min(ignore, len(text))
                    text, ignore = text[cut:], ignore - cut
                if self._pending or not text.isascii():
                    # A double-byte character may have a plain letter as its second byte.
                    self._pending += text
                    self._bytes_out()
                elif text:
                    self._text(text.decode("ascii"))
                first = False
        self._bytes_out()

    def _word(self, word: str, number: int | None, first: bool, star: bool) -> None:
        state = self._state
        if first and word in ("pict", "object"):
            if not state.skip:
                self._pictures += word == "pict"
                self._objects += word == "object"
            state.skip = True
            return
        if first and word == "result":  # how an object looks
            state.skip = False
            return
        if first and word == "fonttbl":
            state.where, state.skip = "fonts", False
            return
        if first and word == "stylesheet":
            state.where, state.skip = "styles", True
            return
        if state.where == "fonts":
            if word == "f" and number is not None:
                self._font = number
            elif word == "fcharset" and number is not None:
                self._fonts[self._font] = _CHARSETS.get(number, self._default_encoding)
            elif word == "cpg" and number is not None:
                self._fonts[self._font] = code_page(number) or self._default_encoding
            return
        if state.where == "styles":
            if word == "s" and number is not None:
                self._style = number
            elif word == "outlinelevel" and number is not None and number < 9:
                self._levels[self._style] = min(number + 1, 6)
            return
        if first and not state.skip:
            if word in ("footnote", "annotation") or word in (
                "header", "headerl", "headerr", "headerf", "footer", "footerl", "footerr", "footerf",
            ):  # fmt: skip
                self._enter(word)
                return
            if word == "listtext":
                return  # the number or bullet that stands before a paragraph
        if first and (
            word in _SKIPPED or (star and word not in ("shptxt", "shppict", "footnote", "annotation"))
        ):
            state.skip = word != "shpinst"
            return
        if word == "shptxt":
            state.skip = False
            return
        if state.skip:
            return
        match word:
            case "par" | "sect" | "page":
                self._break()
            case "cell" | "nestcell":
                self._cell()
            case "row" | "nestrow":
                self._end_row()
            case "trowd":
                self._definition = []
                self._merge = (False, False)
            case "trhdr":
                if len(self._rows) == self._headers:
                    self._headers += 1
            case "clmgf" | "clvmgf":
                self._merge = (True, self._merge[1]) if word == "clmgf" else self._merge
            case "clmrg":
                self._merge = (self._merge[0], True)
            case "cellx" if number is not None:
                self._definition.append((number, *self._merge))
                self._merge = (False, False)
            case "pard":
                self._block.in_table = False
                self._block.level = None
                self._block.style = 0
            case "intbl":
                self._block.in_table = True
            case "outlinelevel" if number is not None:
                self._block.level = min(number + 1, 6) if number < 9 else None
            case "s" if number is not None:
                self._block.style = number
            case "plain":
                state.hidden = state.deleted = state.bold = False
                self._set_font(self._default_font)
            case "v":
                state.hidden = number != 0
            case "deleted":
                state.deleted = number != 0
                self._deleted += state.deleted
            case "revised":
                self._inserted += number != 0
            case "b":
                state.bold = number != 0
            case "f" if number is not None:
                self._set_font(number)
            case "uc" if number is not None:
                state.fallback = max(0, min(number, 16))
            case "ansicpg" if number is not None:
                self._default_encoding = state.encoding = code_page(number) or "cp1252"
            case "mac":
                self._default_encoding = state.encoding = "mac_roman"
            case "pc":
                self._default_encoding = state.encoding = "cp437"
            case "pca":
                self._default_encoding = state.encoding = "cp850"
            case "deff" if number is not None:
                self._default_font = number
            case "chftn":
                if state.where == "body":
                    self._text(f"[note {self._note + 1}]")
            case _ if word in _SIGNS:
                self._text(_SIGNS[word])

    def _set_font(self, number: int | None) -> None:
        if number is not None:
            self._state.encoding = self._fonts.get(number, self._default_encoding)

    # Text

    def _bytes_out(self) -> None:
        if self._pending:
            pending, self._pending = self._pending, b""
            self._text(pending.decode(self._state.encoding, "replace"))

    def _unicode(self, number: int) -> None:
        code = number & 0xFFFF if number < 0 or number > 0x10FFFF else number
        if 0xD800 <= code < 0xDC00:
            self._high = chr(code)
            return
        if 0xDC00 <= code < 0xE000:
            pair = (self._high + chr(code)).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
            self._high = ""
            self._text(pair)
            return
        self._text("\ufffd" if code == 0 else chr(code))

    def _text(self, text: str) -> None:
        state = self._state
        if state.skip or state.where in ("fonts", "styles"):
            return
        if state.deleted:
            return
        if state.hidden:
            self._hidden += bool(text.strip())
            return
        if state.where != "body":
            self._aside.append(text)
            return
        # Symbol fonts keep their signs in the private area.
        text = _PRIVATE.sub(lambda match: symbol(ord(match.group()) & 0xFF) or "\ufffd", text)
        self._block.text += text
        if text.strip():
            self._block.bold = self._block.bold is not False and state.bold

    # Structure

    def _break(self) -> None:
        if self._state.where != "body":
            self._aside.append("\n")
        elif self._state.deleted:
            return  # a deleted paragraph mark: the text runs on
        elif self._block.in_table:
            self._block.text += "\n"
        else:
            self._end_paragraph()

    def _end_paragraph(self) -> None:
        block = self._block
        self._block = Block(level=block.level, style=block.style, in_table=block.in_table)
        if block.text.strip() and not block.in_table:
            self._end_table()
            self._paragraph += 1
            level = block.level or self._levels.get(block.style)
            for line in block.text.split("\n"):
                line = line.strip()
                if line:
                    self._out.line(
                        line.replace("\r", " "),
                        kind="text" if level is None else "heading",
                        level=level,
                        locator=self._place | {"paragraph": self._paragraph},
                    )
            self._write_notes()
        elif block.in_table and block.text.strip():
            self._block.text = block.text + "\n"

    def _cell(self) -> None:
        if self._state.where != "body":
            self._aside.append(" ")
            return
        block = self._block
        self._row.append((one_line(block.text), block.bold))
        self._block = Block(in_table=True)

    def _end_row(self) -> None:
        if self._row:
            self._rows.append(self._row)
            self._definitions.append(list(self._definition))
        self._row = []
        self._block = Block(in_table=False)

    def _end_table(self) -> None:
        if self._row:
            self._end_row()
        rows, self._rows = self._rows, []
        definitions, self._definitions = self._definitions, []
        headers, self._headers = self._headers, 0
        if not rows:
            return
        self._tables += 1
        place = self._place | {"table": self._tables}
        if max(map(len, rows)) < 2:
            for row in rows:
                for text, _ in row:
                    if text:
                        self._out.line(text, locator=place)
            self._write_notes()
            return
        edges = sorted({edge for definition in definitions for edge, _, _ in definition})
        index = {edge: i for i, edge in enumerate(edges)}
        writer = TableWriter(
            self._out, place, header_rows=headers if 0 < headers < len(rows) else None, caption_level=None
        )
        for number, (row, definition) in enumerate(zip(rows, definitions, strict=True), start=1):
            cells: Cells = {}
            before = -1
            for i, (text, bold) in enumerate(row):
                column, span = i, 1
                # Columns by the right edges of the cells, so that rows with wider cells line up.
                if len(definition) == len(row):
                    right = index[definition[i][0]]
                    column, span = before + 1, max(1, right - before)
                    before = right
                cell: Cell | None = cell_of(text, span=span, bold=bold)
                if cell is not None:
                    cells[column] = cell
            writer.row(number, cells)
        writer.close()
        self._write_notes()

    # What stands beside the text

    def _enter(self, word: str) -> None:
        self._state.where = "footnote" if word == "footnote" else (
            "annotation" if word == "annotation" else word[:6]
        )  # fmt: skip
        self._state.hidden = self._state.deleted = False
        self._aside = []

    def _leave(self, where: str) -> None:
        if where in ("fonts", "styles"):
            return
        text = one_line("".join(self._aside))
        lines = [one_line(line) for line in "".join(self._aside).split("\n")]
        self._aside = []
        if where == "footnote":
            self._note += 1
            if not re.search(rf"\[note {self._note}\]\s*$", self._block.text):
                self._block.text += f"[note {self._note}]"
            self._notes.append((f"note {self._note}", text))
        elif where == "annotation":
            if text:
                self._comments.append(text)
        else:
            for line in lines:
                if line:
                    self._furniture.setdefault(line, where)

    def _write_notes(self) -> None:
        for mark, text in self._notes:
            if text:
                self._out.line(f"[{mark}] {text}", locator=self._place | {"part": "footnote"})
        self._notes.clear()

    def _write_comments(self) -> None:
        self._write_notes()
        start = self._out.lines + 1
        for text in self._comments:
            self._out.line(f"[comment] {text}", kind="furniture", locator=self._place | {"part": "comment"})
        if self._comments:
            self._out.omission(
                "comments",
                f"{count_of(len(self._comments), 'comment')}, kept as lines marked as not part of the text",
                line_start=start,
                line_end=self._out.lines,
            )

    def say(self, out: Writer) -> None:
        if self._deleted or self._inserted:
            out.omission(
                "tracked_changes",
                "tracked changes were read as accepted: deleted text left out, inserted text kept",
            )
        for number, kind, noun, rest in (
            (self._pictures, "image", "image", "not read"),
            (self._objects, "embedded_object", "embedded object", "not read"),
            (self._hidden, "hidden_text", "piece", "of hidden text left out"),
        ):
            if number:
                out.omission(kind, f"{count_of(number, noun)} {rest}")


def code_page(number: int) -> str | None:
    """Python's name of a Windows code page."""
    name = {65001: "utf-8", 10000: "mac_roman", 936: "gbk", 950: "big5", 1361: "johab"}.get(
        number, f"cp{number}"
    )
    try:
        codecs.lookup(name)
    except LookupError:
        return None
    return name
