"""Outlook messages (MSG): the same lines as for mail, read from the OLE container that Outlook writes.

Strings in it are UTF-16, or in a code page that the message names in one of several places.
"""

from __future__ import annotations

import re
import struct
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from tq_loader.convert.cfb import CompoundFile, Entry
from tq_loader.convert.charset import decode_labelled, named
from tq_loader.convert.detect import Found
from tq_loader.convert.html import Unread, blocks, charset_of, parse
from tq_loader.convert.protocol import (
    MALFORMED,
    TOO_LARGE,
    ConvertError,
    Job,
    Writer,
    clean_title,
)

MAX_DEPTH: Final = 20
MAX_ATTACHMENTS: Final = 5000

# Property tags of [MS-OXPROPS]; the type follows as four more digits.
SUBJECT, BODY, HTML, RTF = "0037", "1000", "1013", "1009"
HEADERS, SENDER_NAME, SENDER_MAIL, SENDER_SMTP = "007D", "0C1A", "0C1F", "5D01"
SENT, DELIVERED = 0x0039, 0x0E06
DISPLAY_TO, DISPLAY_CC, DISPLAY_BCC = "0E04", "0E03", "0E02"
NAME, MAIL, SMTP, RECIPIENT_TYPE = "3001", "3003", "39FE", 0x0C15
LONG_NAME, SHORT_NAME, MIME, DATA, METHOD = "3707", "3704", "370E", "3701", 0x3705
INTERNET_CODEPAGE, MESSAGE_CODEPAGE, LOCALE = 0x3FDE, 0x3FFD, 0x3FF1

_LOCALE_PAGES: Final = {
    0x04: "big5", 0x11: "cp932", 0x12: "cp949", 0x19: "cp1251", 0x22: "cp1251", 0x02: "cp1251", 0x08: "cp1253",
    0x1F: "cp1254", 0x0D: "cp1255", 0x01: "cp1256", 0x2A: "cp1258", 0x1E: "cp874", 0x05: "cp1250", 0x0E: "cp1250",
    0x15: "cp1250", 0x1B: "cp1250", 0x18: "cp1250", 0x25: "cp1257", 0x26: "cp1257", 0x27: "cp1257",
}  # fmt: skip
_RECIPIENTS: Final = {1: "To", 2: "Cc", 3: "Bcc"}


def convert(data: bytes | bytearray, job: Job, found: Found, out: Writer) -> None:
    """Write the lines of an Outlook message. Raises TQ011 where the container is broken."""
    try:
        reader = _Reader(CompoundFile(data), job, out)
        out.document("application/vnd.ms-outlook", clean_title(reader.text([], SUBJECT)))
        reader.message([], [1])
    except ConvertError:
        raise
    except RecursionError as error:
        raise _broken("its directory is circular") from error
    except (ValueError, IndexError, KeyError, struct.error, TypeError, AttributeError) as error:
        raise _broken(str(error)) from error


def _broken(why: str) -> ConvertError:
    return ConvertError(
        MALFORMED,
        "message is damaged",
        f"the container says: {why[:200]}" if why else "its container cannot be read",
        "open it in Outlook, save it anew and load that",
    )


class _Reader:
    def __init__(self, file: CompoundFile, job: Job, out: Writer) -> None:
        self.file = file
        self.job = job
        self.out = out
        self.known: dict[tuple[str, ...], dict[str, Entry]] = {}
        self.attachments = 0

    def inside(self, base: list[str]) -> dict[str, Entry]:
        """The entries of a storage by name; none where there is no such storage."""
        key = tuple(base)
        if key not in self.known:
            if not base:
                found = self.file.children()
            else:
                entry = self.inside(base[:-1]).get(base[-1])
                found = {} if entry is None or not entry.is_storage else self.file.children(entry)
            self.known[key] = found
        return self.known[key]

    def message(self, base: list[str], path: list[int], depth: int = 0) -> None:
        if depth > MAX_DEPTH:
            raise ConvertError(
                TOO_LARGE,
                "message is nested too deeply",
                f"messages lie in each other more than {MAX_DEPTH} deep",
                "save the inner messages one by one and load those",
            )
        page = self.codepage(base)
        number = ".".join(map(str, path))
        place = {"message": number}
        subject = self.text(base, SUBJECT, page)
        level = min(6, len(path))
        self.out.line(
            f"Subject: {subject}" if subject else f"Message {number} without a subject",
            kind="heading",
            level=level,
            locator={**place, "header": "subject"},
        )
        sender = _address(
            self.text(base, SENDER_NAME, page),
            self.text(base, SENDER_SMTP, page) or self.text(base, SENDER_MAIL, page),
        )
        if sender:
            self.out.line(f"From: {sender}", locator={**place, "header": "from"})
        self._recipients(base, page, place)
        when = self.when(base, SENT) or self.when(base, DELIVERED)
        if when:
            self.out.line(f"Date: {when}", locator={**place, "header": "date"})
        headers = self.text(base, HEADERS, page)
        for row in _unfolded(headers or ""):
            self.out.line(row, kind="furniture", locator={**place, "header": row.split(":", 1)[0].lower()})
        self._body(base, page, place, level)
        self._attachments(base, path, depth)

    def _recipients(self, base: list[str], page: str, place: dict[str, Any]) -> None:
        found: dict[str, list[str]] = {}
        for name in self._storages(base, "__recip_version1.0_#"):
            at = [*base, name]
            shown = _address(
                self.text(at, NAME, page), self.text(at, SMTP, page) or self.text(at, MAIL, page)
            )
            kind = _RECIPIENTS.get(self.number(at, RECIPIENT_TYPE) or 1, "To")
            if shown:
                found.setdefault(kind, []).append(shown)
        for kind, tag in (("To", DISPLAY_TO), ("Cc", DISPLAY_CC), ("Bcc", DISPLAY_BCC)):
            text = "; ".join(found.get(kind, ())) or self.text(base, tag, page)
            if text:
                self.out.line(f"{kind}: {text}", locator={**place, "header": kind.lower()})

    def _body(self, base: list[str], page: str, place: dict[str, Any], level: int) -> None:
        place = {**place, "part": "body"}
        plain = (self.text(base, BODY, self.body_page(base, page), folded=False) or "").replace("\r\n", "\n")
        raw = self.stream(base, HTML, "0102")
        markup = self.text(base, HTML, self.body_page(base, page), folded=False) if raw is None else None
        if raw is not None:
            label = charset_of(raw[:4096]) or self.body_page(base, page)
            markup = decode_labelled(raw, label).text
        if markup and (not plain.strip() or "<table" in markup.lower()):
            unread = Unread()
            before = self.out.lines
            try:
                for block in blocks(parse(markup), unread, place):
                    heading = None if block.level is None else min(6, block.level + level)
                    self.out.line(block.text, kind=block.kind, level=heading, locator=block.locator)
            except ConvertError as error:
                if error.code == TOO_LARGE or not plain.strip():
                    raise
            if self.out.lines > before:
                unread.scripts = 0
                unread.say(self.out, self.out.lines - before, where="the message")
                return
        if plain.strip():
            for row in plain.rstrip().split("\n"):
                self.out.line(row, locator=place)
        elif self.stream(base, RTF, "0102"):
            self._rich(base, page, place)

    def _rich(self, base: list[str], page: str, place: dict[str, Any]) -> None:
        """A body that is there as compressed RTF alone."""
        raw = decompress_rtf(self.stream(base, RTF, "0102") or b"")
        rows = rtf_rows(raw, page) if raw else None
        if rows is None:
            self.out.omission("body", "the text of the message is there in a form (RTF) that was not read")
            return
        for row in rows:
            self.out.line(row, locator=place)

    def _attachments(self, base: list[str], path: list[int], depth: int) -> None:
        inside = 0
        for name in self._storages(base, "__attach_version1.0_#"):
            self.attachments += 1
            if self.attachments > MAX_ATTACHMENTS:
                raise ConvertError(
                    TOO_LARGE,
                    "message has too many attachments",
                    f"more than {MAX_ATTACHMENTS:,}",
                    "save what is needed from it as files and load those",
                )
            at = [*base, name]
            page = self.codepage(base)
            shown = (
                self.text(at, LONG_NAME, page) or self.text(at, SHORT_NAME, page) or self.text(at, NAME, page)
            )
            if f"__substg1.0_{DATA}000D" in self.inside(at):
                inner = [*at, f"__substg1.0_{DATA}000D"]
                if "__properties_version1.0" in self.inside(inner):
                    inside += 1
                    self.message(inner, [*path, inside], depth + 1)
                else:
                    self.out.omission(
                        "attachment", f"the embedded object {shown or 'without a name'} was not read"
                    )
                continue
            content = self.stream(at, DATA, "0102")
            if content is None:
                self.out.omission(
                    "attachment", f"the attachment {shown or 'without a name'} is not in the file"
                )
                continue
            media_type = self.text(at, MIME, page) or "application/octet-stream"
            self.out.attachment(shown, media_type, content, self.job.attachments)

    # ---- properties

    def _storages(self, base: list[str], prefix: str) -> list[str]:
        return sorted(name for name in self.inside(base) if name.startswith(prefix))

    def stream(self, base: list[str], tag: str, kind: str) -> bytes | None:
        entry = self.inside(base).get(f"__substg1.0_{tag}{kind}")
        return None if entry is None else self.file.read(entry)

    def text(self, base: list[str], tag: str, page: str | None = None, *, folded: bool = True) -> str | None:
        raw = self.stream(base, tag, "001F")
        if raw is not None:
            found = raw.decode("utf-16-le", "replace")
        else:
            raw = self.stream(base, tag, "001E")
            if raw is None:
                return None
            found = decode_labelled(raw, page or self.codepage(base)).text
        found = found.rstrip("\x00")
        if tag in (HEADERS,) or not folded:
            return found or None
        return " ".join(found.split()) or None

    def _fixed(self, base: list[str], tag: int) -> bytes | None:
        """The eight bytes of a property of fixed size."""
        entry = self.inside(base).get("__properties_version1.0")
        if entry is None:
            return None
        raw = self.file.read(entry)
        if not base:
            header = 32
        elif base[-1].startswith("__substg1.0_"):
            header = 24
        else:
            header = 8
        for at in range(header, len(raw) - 15, 16):
            if int.from_bytes(raw[at + 2 : at + 4], "little") == tag:
                return raw[at + 8 : at + 16]
        return None

    def number(self, base: list[str], tag: int) -> int | None:
        raw = self._fixed(base, tag)
        return None if raw is None else int.from_bytes(raw[:4], "little")

    def when(self, base: list[str], tag: int) -> str | None:
        raw = self._fixed(base, tag)
        ticks = 0 if raw is None else int.from_bytes(raw, "little")
        if not 0 < ticks < 2_650_467_744_000_000_000:
            return None
        moment = datetime(1601, 1, 1, tzinfo=UTC) + timedelta(microseconds=ticks // 10)
        return moment.strftime("%a, %d %b %Y %H:%M:%S +0000")

    def codepage(self, base: list[str]) -> str:
        """The encoding of 8-bit strings: the message's own code page, its locale's, its body's."""
        for tag in (MESSAGE_CODEPAGE, INTERNET_CODEPAGE):
            number = self.number(base, tag)
            name = named(str(number)) if number else None
            if name and number not in (20127, 65001) and not name.startswith("utf-16"):
                return name
        locale = self.number(base, LOCALE)
        if locale in (0x0804, 0x1004):
            return "gb18030"
        if locale and (locale & 0x3FF) in _LOCALE_PAGES:
            return _LOCALE_PAGES[locale & 0x3FF]
        return "cp1252"

    def body_page(self, base: list[str], page: str) -> str:
        number = self.number(base, INTERNET_CODEPAGE)
        return _windows_page(number) or page if number else page


def _windows_page(number: int) -> str | None:
    if number == 65001:
        return "utf-8"
    if number == 20866:
        return "koi8-r"
    if number == 21866:
        return "koi8-u"
    if 28591 <= number <= 28605:
        return named(f"iso-8859-{number - 28590}")
    if number in (50220, 50221, 50222):
        return "iso2022_jp"
    if number == 51949:
        return "cp949"
    if number == 51932:
        return "euc_jp"
    if number in (936, 54936, 20936):
        return "gb18030"
    return named(str(number))


def _address(name: str | None, mail: str | None) -> str:
    if mail and mail.upper().startswith("/O="):
        mail = None  # an Exchange directory name: no address that anybody writes
    if name and mail and name.strip("'\"").lower() != mail.lower():
        return f"{name} <{mail}>"
    return name or mail or ""


def _unfolded(headers: str) -> list[str]:
    rows: list[str] = []
    for row in headers.replace("\r\n", "\n").split("\n"):
        if row[:1] in (" ", "\t") and rows:
            rows[-1] += " " + row.strip()
        elif row.strip():
            rows.append(row.rstrip())
    return rows


_RTF_START: Final = (
    b"{\\rtf1\\ansi\\mac\\deff0\\deftab720{\\fonttbl;}{\\f0\\fnil \\froman \\fswiss \\fmodern \\fscript "
    b"\\fdecor MS Sans SerifSymbolArialTimes New RomanCourier{\\colortbl\\red0\\green0\\blue0\r\n\\par "
    b"\\pard\\plain\\f0\\fs20\\b\\i\\u\\tab\\tx"
)


def decompress_rtf(raw: bytes) -> bytes | None:
    """The RTF of [MS-OXRTFCP]; None where it is none. At most 64 MiB come out."""
    if len(raw) < 16:
        return None
    _, size, kind = struct.unpack_from("<III", raw)
    if kind == 0x414C454D:
        return raw[16 : 16 + size]
    if kind != 0x75465A4C:
        return None
    window = bytearray(_RTF_START.ljust(4096, b"\0"))
    write = len(_RTF_START)
    result = bytearray()
    at = 16
    while at < len(raw) and len(result) < min(size, 64 << 20):
        control = raw[at]
        at += 1
        for bit in range(8):
            if control >> bit & 1:
                if at + 2 > len(raw):
                    return bytes(result)
                token = raw[at] << 8 | raw[at + 1]
                at += 2
                read, length = token >> 4, (token & 15) + 2
                if read == write:
                    return bytes(result)
                for _ in range(length):
                    byte = window[read]
                    result.append(byte)
                    window[write] = byte
                    read, write = (read + 1) & 4095, (write + 1) & 4095
            elif at < len(raw):
                result.append(raw[at])
                window[write] = raw[at]
                write = (write + 1) & 4095
                at += 1
    return bytes(result)


_RTF_TOKEN = re.compile(
    rb"\\([a-z]{1,32})(-?\d{1,10})? ?|\\'([0-9a-fA-F]{2})|\\([^a-z])|([{}])|[\r\n]+|([^\\{}\r\n]+)"
)
_RTF_SKIP: Final = frozenset(
    (b"fonttbl", b"colortbl", b"stylesheet", b"info", b"pict", b"object", b"themedata", b"generator")
)


def rtf_rows(raw: bytes, page: str) -> list[str]:
    """The plain text of a message's RTF. HTML wrapped in it ("fromhtml") loses its tags, not its text."""
    parts: list[str] = []
    pending = bytearray()
    stack: list[tuple[bool, int]] = []
    skip, ucs, drop = False, 1, 0

    def settle() -> None:
        if pending:
            parts.append(pending.decode(page, "replace"))
            pending.clear()

    for match in _RTF_TOKEN.finditer(raw):
        word, number, code, symbol, brace, text = match.groups()
        if brace == b"{":
            settle()
            stack.append((skip, ucs))
        elif brace == b"}":
            settle()
            skip, ucs = stack.pop() if stack else (False, 1)
        elif word is not None:
            if word in _RTF_SKIP or word == b"htmltag":
                skip = True
            elif word == b"uc":
                ucs = int(number or 1)
            elif word == b"u" and number and not skip:
                settle()
                parts.append(chr(int(number) & 0xFFFF))
                drop = ucs
            elif word in (b"par", b"line", b"row") and not skip:
                settle()
                parts.append("\n")
            elif word in (b"tab", b"cell") and not skip:
                settle()
                parts.append("\t")
        elif symbol == b"*":
            skip = True
        elif skip:
            continue
        elif code is not None:
            if drop:
                drop -= 1
            else:
                pending += bytes([int(code, 16)])
        elif symbol is not None:
            pending += {b"~": b" ", b"_": b"-"}.get(symbol, symbol if symbol in b"\\{}" else b"")
        elif text is not None:
            cut = min(drop, len(text))
            drop -= cut
            pending += text[cut:]
    settle()
    joined = "".join(parts).encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return joined.strip("\n").split("\n")
