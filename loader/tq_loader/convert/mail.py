"""Mail: one message (EML) or a mailbox of them (MBOX): headers, body, the messages inside, attachments.

The headers that a reader looks at are lines; the technical ones are lines too, as furniture. Of a body that
is there in several forms the fullest is read. Each line's locator names its message (``3.1`` is the first one
inside the third) and its MIME part.
"""

from __future__ import annotations

import binascii
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from email.errors import MessageError
from email.header import decode_header
from email.message import Message
from typing import Any, Final

from tq_loader.convert.charset import Decoded, decode_labelled
from tq_loader.convert.detect import Found
from tq_loader.convert.encoding import find_encoding
from tq_loader.convert.protocol import (
    MALFORMED,
    TOO_LARGE,
    ConvertError,
    Job,
    Writer,
    clean_title,
    count_of,
)

MAX_DEPTH: Final = 50  # MIME parts in each other; real mail stays below ten
MAX_PARTS: Final = 20_000
SMALL_PICTURE: Final = 4096  # bytes; a logo or a counting pixel

_SHOWN: Final = (
    "from",
    "to",
    "cc",
    "bcc",
    "reply-to",
    "date",
    "subject",
    "resent-from",
    "resent-to",
    "newsgroups",
)
_FROM_LINE = re.compile(rb"^From [^\r\n]*\d{4}[^\r\n]*\r?$", re.M)
_HEADER = re.compile(rb"[!-9;-~]{1,76}:")
_MANGLED_FROM = re.compile(rb"^>(>*From )", re.M)
_SPACE = re.compile(r"\s+")
_UU_BEGIN = re.compile(r"^begin 0?[0-7]{3} (\S.*?)\s*$")
_WORD = re.compile(r"\w+")

TextMessage = Message


@dataclass(slots=True)
class _Unread:
    """What of the messages was not read, counted over the whole file."""

    small_pictures: int = 0
    replaced: int = 0
    guessed: set[str] = field(default_factory=set)
    parts: int = 0


def convert(data: bytes | bytearray, job: Job, found: Found, out: Writer) -> None:
    """Write the lines of a message or mailbox. Raises TQ011 where there is none, TQ012 for nesting bombs."""
    raw = as_ascii_superset(bytes(data))
    reader = MailReader(out, job)
    if is_mailbox(raw):
        messages = split_mailbox(raw)
        first = next(messages)
        second = next(messages, None)
        if second is None:
            one_message(first, reader, out)
        else:
            out.document("application/mbox", None)
            for number, one in enumerate(_chained(first, second, messages), start=1):
                reader.message(parse(one), [number], "1")
    else:
        one_message(raw, reader, out)
    reader.end()


def one_message(raw: bytes, reader: MailReader, out: Writer) -> None:
    parsed = parse(raw)
    out.document("message/rfc822", clean_title(header_text(parsed.get("subject"))))
    reader.message(parsed, [1], "1")


def _chained(first: bytes, second: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    yield first
    yield second
    yield from rest


def as_ascii_superset(data: bytes) -> bytes:
    """The message in an encoding in which the parser finds its headers: UTF-16 and UTF-32 become UTF-8."""
    encoding = find_encoding(data) if data[:2] in (b"\xff\xfe", b"\xfe\xff") or b"\0" in data[:64] else None
    if encoding is not None and encoding.name.startswith("utf-"):
        return data[encoding.skip :].decode(encoding.name, "replace").encode("utf-8", "replace")
    return data.removeprefix(b"\xef\xbb\xbf")


def parse(raw: bytes) -> TextMessage:
    try:
        return message_from_bytes(raw, policy=policy.compat32)
    except RecursionError:
        raise too_deep() from None
    except (MessageError, ValueError, IndexError, KeyError, AttributeError, TypeError) as error:
        raise ConvertError(
            MALFORMED,
            "message cannot be read",
            f"its structure is broken: {error}",
            "open it in a mail program and save it anew",
        ) from error


def too_deep() -> ConvertError:
    return ConvertError(
        TOO_LARGE,
        "message is nested too deeply",
        f"parts lie in each other more than {MAX_DEPTH} deep",
        "save the inner messages one by one and load those",
    )


def is_mailbox(raw: bytes) -> bool:
    match = _FROM_LINE.match(raw)
    return match is not None and _HEADER.match(raw, match.end() + 1) is not None


def split_mailbox(raw: bytes) -> Iterator[bytes]:
    """The messages of a mailbox: each begins at a "From " line after a blank one, with a header below it."""
    starts = [match.start() for match in _FROM_LINE.finditer(raw) if _begins_message(raw, match)]
    for i, start in enumerate(starts):
        end = starts[i + 1] if i + 1 < len(starts) else len(raw)
        body = raw[raw.find(b"\n", start, end) + 1 : end]
        yield _MANGLED_FROM.sub(rb"\1", body)


def _begins_message(raw: bytes, match: re.Match[bytes]) -> bool:
    start, below = match.start(), match.end() + 1
    blank = (
        start == 0 or raw[max(0, start - 2) : start] == b"\n\n" or raw[max(0, start - 3) : start] == b"\n\r\n"
    )
    return blank and (_HEADER.match(raw, below) is not None or raw.startswith(b">From ", below))


def header_text(value: Any) -> str | None:
    """A header's value with its encoded words read, on one line. Bytes beyond ASCII are read by likelihood."""
    if value is None:
        return None
    raw = str(value) if isinstance(value, str) else _header_string(value)
    pieces: list[str] = []
    try:
        decoded = decode_header(raw)
    except (ValueError, binascii.Error, IndexError, MessageError):
        decoded = [(raw, None)]
    for text, label in decoded:
        if isinstance(text, str):
            pieces.append(_surrogates(text))
        elif label in (None, "unknown-8bit"):
            # decode_header gives what stands between encoded words as raw-unicode-escape bytes.
            pieces.append(_surrogates(text.decode("ascii", "surrogateescape")))
        else:
            pieces.append(decode_labelled(text, label).text)
    return _SPACE.sub(" ", "".join(pieces)).strip()


def _header_string(value: Any) -> str:
    chunks = getattr(value, "_chunks", None)
    if chunks:
        return "".join(str(chunk[0]) for chunk in chunks)
    return str(value)


def _surrogates(text: str) -> str:
    """Undeclared bytes of a header, as the likeliest text."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return decode_labelled(text.encode("utf-8", "surrogateescape"), None).text
    return text


class MailReader:
    """Writes messages. One for a file, so that what was not read is said once."""

    def __init__(self, out: Writer, job: Job) -> None:
        self.out = out
        self.job = job
        self.unread = _Unread()

    def message(self, message: TextMessage, path: list[int], part: str, depth: int = 0) -> None:
        """One message with all that is in it. ``path``: its number, and the numbers of messages in it."""
        number = ".".join(map(str, path))
        self._headers(message, number, min(6, len(path)))
        inside = [0]
        self._part(message, path, part, depth, inside)

    def _headers(self, message: TextMessage, number: str, level: int) -> None:
        shown: dict[str, list[str]] = {}
        rest: list[tuple[str, str]] = []
        for name, value in message.raw_items():
            text = header_text(value) or ""
            if name.lower() in _SHOWN:
                shown.setdefault(name.lower(), []).append(text)
            else:
                rest.append((name, text))
        place = {"message": number}
        subject = " ".join(shown.pop("subject", [])).strip()
        self.out.line(
            f"Subject: {subject}" if subject else f"Message {number} without a subject",
            kind="heading",
            level=level,
            locator={**place, "header": "subject"},
        )
        for name in _SHOWN:
            for text in shown.get(name, ()):
                label = "-".join(word.capitalize() for word in name.split("-"))
                self.out.line(f"{label}: {text}".rstrip(), locator={**place, "header": name})
        for name, text in rest:
            self.out.line(
                f"{name}: {text}".rstrip(), kind="furniture", locator={**place, "header": name.lower()}
            )

    def _part(self, part: TextMessage, path: list[int], number: str, depth: int, inside: list[int]) -> None:
        self.unread.parts += 1
        if depth > MAX_DEPTH:
            raise too_deep()
        if self.unread.parts > MAX_PARTS:
            raise ConvertError(
                TOO_LARGE,
                "message has too many parts",
                f"more than {MAX_PARTS:,} MIME parts",
                "save what is needed from it as files and load those",
            )
        kind = part.get_content_type()
        payload = payload_of(part)
        children = payload if isinstance(payload, list) else None
        if kind == "message/rfc822" or (
            kind.startswith("message/") and children and kind != "message/delivery-status"
        ):
            for child in children or ():
                if isinstance(child, Message):
                    inside[0] += 1
                    self.message(child, [*path, inside[0]], f"{number}.1", depth + 1)
            return
        if kind == "message/delivery-status" and children:
            for child in children:
                for name, value in child.raw_items() if isinstance(child, Message) else ():
                    self._line(f"{name}: {header_text(value) or ''}", path, number)
            return
        if children is not None:
            parts = [child for child in children if isinstance(child, Message)]
            if kind == "multipart/alternative":
                self._alternative(parts, path, number, depth, inside)
                return
            if kind == "multipart/encrypted":
                self.out.omission(
                    "encrypted", f"message {'.'.join(map(str, path))} is encrypted and was not read"
                )
                return
            for i, child in enumerate(parts, start=1):
                self._part(
                    child, path, f"{number}.{i}" if depth or number != "1" else str(i), depth + 1, inside
                )
            return
        self._leaf(part, kind, path, number)

    def _alternative(
        self, parts: list[TextMessage], path: list[int], number: str, depth: int, inside: list[int]
    ) -> None:
        """Several forms of one text: the fullest is read, the simpler one where they say the same."""
        sized = [(part, self._words(part), i) for i, part in enumerate(parts, start=1)]
        texts = [each for each in sized if each[1] is not None]
        best = max(texts, key=lambda each: (len(each[1] or ()), -each[2]), default=None)
        for each in texts:
            if best is not None and len(each[1] or ()) >= 0.9 * len(best[1] or ()):
                best = each
                break
        for part, words, i in sized:
            here = f"{number}.{i}" if depth or number != "1" else str(i)
            if words is None or (best is not None and part is best[0]):
                # What is no text (a calendar entry, a picture) is no other form of it.
                self._part(part, path, here, depth + 1, inside)
            elif best is not None and words:
                missing = words - (best[1] or set())
                if len(missing) > 0.1 * len(words):
                    self.out.omission(
                        "alternative",
                        f"message {'.'.join(map(str, path))} has its text in two forms; "
                        f"{count_of(len(missing), 'word')} of the other form do not occur in the one that was read",
                    )

    def _words(self, part: TextMessage) -> set[str] | None:
        """The words of a part's text; None for a part that is no text."""
        kind = part.get_content_type()
        if part.is_multipart() and kind.startswith("multipart/"):
            found: set[str] | None = None
            for child in payload_of(part) or ():
                words = self._words(child) if isinstance(child, Message) else None
                if words is not None:
                    found = (found or set()) | words
            return found
        if kind not in ("text/plain", "text/html", "text/enriched") or part.is_multipart():
            return None
        text = self._text(part, count=False).text
        if kind == "text/html":
            from tq_loader.convert.html import Unread, blocks, parse

            try:
                text = "\n".join(block.text for block in blocks(parse(text), Unread()))
            except ConvertError as error:
                if error.code == TOO_LARGE:
                    raise
                text = ""
        return set(_WORD.findall(text.lower()))

    def _text(self, part: TextMessage, *, count: bool = True) -> Decoded:
        label = charset_of_part(part)
        data = payload_bytes(part)
        if label is None and part.get_content_type() == "text/html":
            from tq_loader.convert.html import charset_of

            label = charset_of(data[:4096])
        decoded = decode_labelled(data, label)
        if count:
            self.unread.replaced += decoded.replaced
            if decoded.guessed:
                self.unread.guessed.add(decoded.encoding)
        return decoded

    def _leaf(self, part: TextMessage, kind: str, path: list[int], number: str) -> None:
        name = file_name(part)
        attached = part.get_content_disposition() == "attachment" or (
            name is not None and kind not in ("text/plain", "text/html")
        )
        if kind in ("application/pkcs7-mime", "application/x-pkcs7-mime"):
            self.out.omission(
                "encrypted",
                f"a part of message {'.'.join(map(str, path))} is encrypted or sealed and was not read",
            )
            return
        if kind in (
            "application/pkcs7-signature",
            "application/x-pkcs7-signature",
            "application/pgp-signature",
        ):
            return
        if not attached and kind in ("text/plain", "text/html", "text/enriched"):
            self._body(part, kind, path, number)
            return
        if kind == "message/external-body":
            self.out.omission("attachment", "a part of the message lies elsewhere and was not read")
            return
        data = payload_bytes(part)
        if not attached and kind.startswith("image/") and len(data) < SMALL_PICTURE:
            self.unread.small_pictures += 1
            return
        if not data.strip() and name is None:
            return
        self._attachment(name, kind, data, part, path, number)

    def _attachment(
        self, name: str | None, kind: str, data: bytes, part: TextMessage, path: list[int], number: str
    ) -> None:
        shown = name or "without a name"
        if kind.startswith("text/") and kind not in (
            "text/calendar",
            "text/vcard",
            "text/x-vcard",
            "text/csv",
        ):
            # A text that is attached is part of what was sent: it is read where it stands.
            self.out.line(
                f"Attachment: {shown}",
                kind="heading",
                level=min(6, len(path) + 1),
                locator={"message": ".".join(map(str, path)), "part": number},
            )
            self._body(part, kind, path, number)
            return
        self.out.attachment(name, kind, data, self.job.attachments)

    def _body(self, part: TextMessage, kind: str, path: list[int], number: str) -> None:
        text = self._text(part).text
        place = {"message": ".".join(map(str, path)), "part": number}
        if kind == "text/html":
            from tq_loader.convert.html import Unread, blocks, parse

            unread = Unread()
            before = self.out.lines
            try:
                root = parse(text)
            except ConvertError as error:
                if error.code == TOO_LARGE:
                    raise
                return
            for block in blocks(root, unread, place):
                level = None if block.level is None else min(6, block.level + len(path))
                self.out.line(block.text, kind=block.kind, level=level, locator=block.locator)
            unread.scripts = 0
            unread.say(self.out, self.out.lines - before, where=f"message {place['message']}")
            return
        rows = text.replace("\r\n", "\n").split("\n") if "\n" in text else text.split("\r")
        while rows and not rows[-1].strip():
            rows.pop()
        coded: list[str] | None = None
        coded_name = ""
        for row in rows:
            if coded is not None:
                coded.append(row)
                if row.strip() == "end":
                    self._uuencoded(coded_name, coded, path, number)
                    coded = None
                continue
            begin = _UU_BEGIN.match(row)
            if begin and "\nend" in text:
                coded, coded_name = [row], begin.group(1)
                continue
            self._line(row, path, number)
        for row in coded or ():  # it never ended: it is no file
            self._line(row, path, number)

    def _uuencoded(self, name: str, rows: list[str], path: list[int], number: str) -> None:
        """A file inside the text of a body, as mail had them before MIME."""
        data = uudecode(rows)
        if data is None:
            for row in rows:
                self._line(row, path, number)
            return
        self.out.attachment(name, "application/octet-stream", data, self.job.attachments)

    def _line(self, text: str, path: list[int], number: str) -> None:
        self.out.line(text.rstrip("\r"), locator={"message": ".".join(map(str, path)), "part": number})

    def end(self) -> None:
        """The omissions that are counted over the whole file."""
        unread = self.unread
        if unread.small_pictures:
            self.out.omission(
                "image", f"{count_of(unread.small_pictures, 'small image')} in the text not read"
            )
        if unread.replaced:
            self.out.omission(
                "invalid_bytes", f"{count_of(unread.replaced, 'undecodable place')} replaced by U+FFFD"
            )
        if unread.guessed:
            self.out.omission(
                "encoding",
                "the message does not say the encoding of its text, or a wrong one; it was read as "
                + ", ".join(sorted(unread.guessed)),
            )


def payload_of(part: TextMessage) -> Any:
    """The payload as it stands: parts, or text that is not decoded. Never raises for a charset without sense."""
    try:
        return part.get_payload()
    except (ValueError, LookupError):
        return getattr(part, "_payload", "")


def charset_of_part(part: TextMessage) -> str | None:
    try:
        return part.get_content_charset()
    except (ValueError, LookupError, TypeError):
        return None


def file_name(part: TextMessage) -> str | None:
    try:
        name = part.get_filename()
    except (ValueError, TypeError, LookupError, MessageError):
        return None
    return clean_title(header_text(name), 200) if name else None


def payload_bytes(part: TextMessage) -> bytes:
    """The bytes of a part, whatever its transfer encoding claims."""
    coding = str(part.get("content-transfer-encoding", "")).strip().lower()
    if coding in ("x-uuencode", "uuencode", "uue", "x-uue"):
        raw = payload_of(part)
        found = uudecode(str(raw).splitlines()) if isinstance(raw, str) else None
        if found is not None:
            return found
    try:
        data = part.get_payload(decode=True)
    except (ValueError, LookupError, binascii.Error, AssertionError):
        data = None
    if isinstance(data, bytes):
        return data
    raw = payload_of(part)
    return raw.encode("utf-8", "surrogateescape") if isinstance(raw, str) else b""


def uudecode(rows: list[str]) -> bytes | None:
    """The bytes between a "begin" and an "end" line; None where they are no such thing."""
    parts: list[bytes] = []
    started = False
    for row in rows:
        if not started:
            started = bool(_UU_BEGIN.match(row))
            continue
        if row.strip() == "end":
            return b"".join(parts)
        line = row.rstrip("\r\n").encode("ascii", "replace")
        if not line.strip() or line in (b"`",):
            continue
        try:
            parts.append(binascii.a2b_uu(line))
        except binascii.Error:
            # Encoders that pad carelessly: what the length byte says is what counts.
            size = (((line[0] - 32) & 63) * 4 + 5) // 3
            try:
                parts.append(binascii.a2b_uu(line[:size]))
            except binascii.Error:
                return None
    return b"".join(parts) or None  # cut off before its end: what there is
