"""What a file is beyond office formats and plain text, from its bytes alone; imported for every file, so light."""

from __future__ import annotations

import csv
import re
from typing import Final

_IMAGES: Final[tuple[tuple[bytes, str], ...]] = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"II*\x00", "image/tiff"),
    (b"MM\x00*", "image/tiff"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)

_START: Final = 16384  # bytes looked at
_FIGURE: Final = re.compile(r"[-+]?[\d.,]+%?$")

_HEADER: Final = re.compile(r"([!-9;-~]{1,76}):(?:[ \t].*|)$")
_MAIL: Final = frozenset(
    [
        "from",
        "to",
        "cc",
        "subject",
        "date",
        "message-id",
        "received",
        "return-path",
        "mime-version",
        "delivered-to",
    ]
)
# Headers that only programs write: a note that a person types may begin with From and Subject.
_CERTAIN: Final = frozenset(
    [
        "message-id",
        "received",
        "return-path",
        "mime-version",
        "delivered-to",
        "content-type",
        "x-mailer",
        "dkim-signature",
    ]
)
_FROM_LINE: Final = re.compile(r"From \S.*\d{4}\s*$")
_TIMING: Final = re.compile(
    r"^\s*(?:\d{1,4}:)?\d{1,2}:\d{1,2}[.,]\d{1,3}\s*-+>\s*(?:\d{1,4}:)?\d{1,2}:\d{1,2}[.,]\d{1,3}", re.M
)
_HTML: Final = re.compile(
    r"\s*(?:<\?xml.*?\?>\s*)?(?:<!--.*?-->\s*)*<(?:!doctype\s+html|html|head|body)[\s>]", re.I | re.S
)
_TAGS: Final = re.compile(r"<(?:p|div|table|br|h[1-6]|ul|ol|span|a|title|meta|tr|td)\b[^<>]*>", re.I)
_MAIL_TYPES: Final = frozenset(("message/rfc822", "application/mbox"))
_JSON_TYPES: Final = ("application/json", "application/jsonl", "application/x-ndjson", "text/json")
_JSON_NAMES: Final = (".json", ".jsonl", ".ndjson", ".geojson", ".ipynb")


def binary(data: bytes | bytearray) -> tuple[str, str] | None:
    """(format, media type) of a picture, a book or an Outlook message."""
    for mark, media_type in _IMAGES:
        if data.startswith(mark):
            return "image", media_type
    if data[:2] == b"BM" and len(data) > 26 and int.from_bytes(data[2:6], "little") == len(data):
        return "image", "image/bmp"
    if data[:4] == b"PK\x03\x04" and (
        b"application/epub+zip" in data[:256] or b"META-INF/container.xml" in data[-65536:]
    ):
        return "epub", "application/epub+zip"
    if data.startswith(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"):
        from tq_loader.convert.cfb import CompoundFile

        if "__properties_version1.0" in CompoundFile(data).children():
            return "msg", "application/vnd.ms-outlook"
    return None


def marked_up(data: bytes | bytearray, declared: str, name: str) -> tuple[str, str] | None:
    """(format, media type) of a text whose form says what it is; ``name`` in lower case."""
    start = _start(data)
    if not start:
        return None
    plain = declared in ("text/plain", "text/markdown", "text/csv") or name.endswith(
        (".txt", ".text", ".log", ".md", ".markdown", ".csv", ".tsv")
    )
    delimited = declared == "text/csv" or (declared in ("", "text/plain") and name.endswith((".csv", ".tsv")))
    if _HTML.match(start):
        return "html", "text/html"
    if start.startswith("WEBVTT") and (start[6:7] in ("", " ", "\t", "\n")):
        return "subtitles", "text/vtt"
    first = start.lstrip()[:200].split("\n", 2)
    if (first[0].strip().isdecimal() and len(first) > 1 and _TIMING.match(first[1])) or _TIMING.match(
        first[0]
    ):
        return "subtitles", "application/x-subrip"
    wanted = declared in _MAIL_TYPES or name.endswith((".eml", ".mbox", ".mbx"))
    if _is_mail(start, certain=not wanted):
        return "mail", "message/rfc822"
    if not plain:
        if declared in ("text/html", "application/xhtml+xml") or name.endswith((".html", ".htm", ".xhtml")):
            if _TAGS.search(start):
                return "html", "text/html"
        elif declared == "" and len(_TAGS.findall(start[:4000])) >= 5 and start.lstrip()[:1] == "<":
            return "html", "text/html"
    if start.lstrip()[:1] in ("{", "["):
        named = declared in _JSON_TYPES or name.endswith(_JSON_NAMES)
        tail = bytes(data[-64:]).rstrip(b" \t\r\n\x00")
        # Named as text, its lines are wanted; no delimited text begins and ends like this.
        if named or ((not plain or delimited) and tail[-1:] in (b"}", b"]") and '"' in start):
            return "json", "application/json"
    return None


def delimited(data: bytes | bytearray) -> bool:
    """Whether the lines of a text are the records of a table: names first, then as many cells in each."""
    rows = _start(data).split("\n")
    if len(data) > _START:
        rows.pop()  # cut off
    rows = [row for row in rows if row.strip()]
    if len(rows) < 3:
        return False
    for delimiter, least in (("\t", 2), (";", 3), (",", 3)):
        names = [name.strip('"') for name in rows[0].split(delimiter)]
        if (
            len(names) >= least
            and len(set(names)) == len(names)
            and all(name and name == name.strip() and not _FIGURE.match(name) for name in names)
        ):
            try:
                return {len(record) for record in csv.reader(rows, delimiter=delimiter)} == {len(names)}
            except csv.Error:
                continue
    return False


def _start(data: bytes | bytearray) -> str:
    """The first characters, however they are encoded; enough to see ASCII marks."""
    head = bytes(data[:_START])
    if head[:2] == b"\xff\xfe" or (head[1:2] == b"\0" and head[3:4] == b"\0"):
        text = head.decode("utf-16-le", "replace")
    elif head[:2] == b"\xfe\xff" or (head[:1] == b"\0" and head[2:3] == b"\0"):
        text = head.decode("utf-16-be", "replace")
    else:
        text = head.decode("latin-1").removeprefix("ï»¿")
    return text.removeprefix("\ufeff").replace("\r\n", "\n")


def _is_mail(start: str, *, certain: bool) -> bool:
    rows = start.split("\n")
    if rows and _FROM_LINE.match(rows[0]):
        rows = rows[1:]
        certain = False
    seen: set[str] = set()
    for i, row in enumerate(rows[:200]):
        if not row.strip():
            break
        match = _HEADER.match(row)
        if match:
            seen.add(match.group(1).lower())
        elif row.startswith(">From ") and i < 2:
            continue
        elif not (row[:1] in (" ", "\t") and seen):
            return False
    known = seen & _MAIL
    return len(known) >= 2 and (not certain or bool(seen & _CERTAIN))
