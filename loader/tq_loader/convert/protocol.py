"""What a converter says to its parent: rows, omissions, one end or one error."""

from __future__ import annotations

import json
import re
import time
from binascii import b2a_base64
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

MAX_ROWS: Final = 1000
MAX_BYTES: Final = 1_000_000
# One line beyond this cannot be handled further on (a JSON message and a database field hold it several
# times over).
MAX_LINE_CHARS: Final = 32 * 1024 * 1024
MAX_LINES: Final = 20_000_000

UNSUPPORTED: Final = "TQ010"
MALFORMED: Final = "TQ011"
TOO_LARGE: Final = "TQ012"
PASSWORD: Final = "TQ013"

# How tables are looked for on pages, named as PyMuPDF's find_tables names it; ``auto`` goes by what is on the page.
TABLES: Final = ("auto", "lines", "lines_strict", "text", "none")

READ_FORMATS: Final = (
    "text, CSV, Markdown, HTML, JSON, subtitles, mail, EPUB, RTF, Office and OpenDocument files, PDF, and PNG, JPEG, TIFF, "
    "GIF and BMP pictures are read"
)

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


class ConvertError(Exception):
    """The input is at fault. The message is lower case without a full stop; the hint says what to do."""

    def __init__(self, code: str, message: str, detail: str, hint: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.detail = detail
        self.hint = hint


class Sink(Protocol):
    """Anything that takes bytes and can be flushed: standard output, or a list in a test."""

    def write(self, data: bytes, /) -> object: ...

    def flush(self) -> object: ...


@dataclass(slots=True, frozen=True)
class Job:
    """What the parent knows about the file; ``memory_mb`` is the limit of this process in MiB, 0 for none."""

    name: str
    media_type: str | None = None
    memory_mb: int = 1024
    attachments: bool = False
    tables: str = "auto"  # of TABLES
    page_seconds: int = 0  # that the parent adds to the time for each page read from its picture


@dataclass(slots=True)
class LineRanges:
    """Line numbers, added in rising order, kept as ranges so that a million of them stay small."""

    ranges: list[list[int]] = field(default_factory=list)
    count: int = 0

    def add(self, line: int, times: int = 1) -> None:
        self.count += times
        if self.ranges and line <= self.ranges[-1][1] + 1:
            self.ranges[-1][1] = max(line, self.ranges[-1][1])
        else:
            self.ranges.append([line, line])

    def shown(self, most: int = 20) -> Iterator[tuple[int, int]]:
        """The first ranges; the last one shown stretches over all that follow, so that none is lost."""
        for i, (start, end) in enumerate(self.ranges[:most]):
            yield start, (self.ranges[-1][1] if i == most - 1 else end)


class Writer:
    """Numbers the lines and writes the messages, buffered to at most 1,000 rows or 1 MB each."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._rows: list[str] = []
        self._size = 0
        self._nul = LineRanges()
        self._told = time.monotonic()
        self.lines = 0

    def document(self, media_type: str, title: str | None) -> None:
        self._say({"type": "document", "media_type": media_type, "title": clean_title(title)})

    def line(
        self,
        text: str,
        *,
        page: int | None = None,
        kind: str = "text",
        level: int | None = None,
        locator: dict[str, Any] | None = None,
    ) -> int:
        """Write one line and return its number. What PostgreSQL cannot hold becomes U+FFFD and is counted."""
        self.lines += 1
        if self.lines > MAX_LINES:
            raise ConvertError(
                TOO_LARGE,
                "document has too many lines",
                f"more than {MAX_LINES:,} lines",
                "split the file into several documents",
            )
        if len(text) > MAX_LINE_CHARS:
            raise ConvertError(
                TOO_LARGE,
                "line is too long",
                f"line {self.lines:,} has {len(text):,} characters, the limit is {MAX_LINE_CHARS:,}",
                "break the text into lines, or check that it is text at all",
            )
        if not text.isprintable():
            text, replaced = _UNSTORABLE.subn("\ufffd", text)
            if replaced:
                self._nul.add(self.lines, replaced)
        row = _encode([text, page, kind, level, locator])
        self._rows.append(row)
        self._size += len(row) * 2
        if len(self._rows) >= MAX_ROWS or self._size >= MAX_BYTES:
            self.flush()
        return self.lines

    def omission(
        self,
        kind: str,
        detail: str,
        *,
        line_start: int | None = None,
        line_end: int | None = None,
        page: int | None = None,
    ) -> None:
        self.flush()
        self._say(
            {
                "type": "omission",
                "kind": kind,
                "detail": _UNSTORABLE.sub("\ufffd", detail),
                "line_start": line_start,
                "line_end": line_end,
                "page": page,
            }
        )

    def attachment(self, name: str | None, media_type: str, data: bytes, taken: bool) -> None:
        """A file that is in this one: handed over where the parent takes such, else told as not read."""
        shown = f"{clean_title(name, 200) or 'without a name'} ({media_type}, {size_of(len(data))})"
        if not taken:
            self.omission("attachment", f"the attached file {shown} was not read")
            return
        self.flush()
        content = b2a_base64(data, newline=False).decode("ascii")
        self._say(
            {
                "type": "attachment",
                "name": clean_title(name, 200),
                "media_type": media_type,
                "content_base64": content,
            }
        )

    def pictured(self) -> None:
        """A page was read from its picture; told at once, since it gives the conversion more time."""
        self._say({"type": "pictures", "pages": 1})
        self._sink.flush()

    def pages(self, read: int, count: int) -> None:
        """How many pages of so many are read; told once a second, and when all are."""
        now = time.monotonic()
        if read == count or now - self._told > 1:
            self._told = now
            self._say({"type": "pages", "read": read, "count": count})
            self._sink.flush()

    def end(self) -> None:
        if self._nul.count:
            for start, end in self._nul.shown():
                self.omission(
                    "nul",
                    f"{count_of(self._nul.count, 'NUL byte')} in the document replaced by U+FFFD "
                    f"({place_of(start, end)})",
                    line_start=start,
                    line_end=end,
                )
        self.flush()
        self._say({"type": "end", "lines": self.lines})
        self._sink.flush()

    def error(self, error: ConvertError) -> None:
        self._rows.clear()
        self._say(
            {
                "type": "error",
                "code": error.code,
                "message": error.message,
                "detail": error.detail,
                "hint": error.hint,
            }
        )
        self._sink.flush()

    def flush(self) -> None:
        if self._rows:
            # Rows are encoded one by one as they come, so that a message is joined, never encoded a second
            # time.
            self._sink.write(
                ('{"type":"lines","rows":[' + ",".join(self._rows) + "]}\n").encode("utf-8", "replace")
            )
            self._rows.clear()
            self._size = 0

    def _say(self, message: dict[str, Any]) -> None:
        self._sink.write((json.dumps(message, ensure_ascii=False) + "\n").encode("utf-8", "replace"))


def clean_title(title: str | None, most: int = 500) -> str | None:
    """White space folded, unstorable characters out, at most ``most`` characters; None when nothing is
    left.
    """
    if title is None:
        return None
    title = " ".join(_UNSTORABLE.sub(" ", title).split())[:most]
    return title or None


def count_of(n: int, noun: str) -> str:
    """'1 page', '12 pages'."""
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


def size_of(n: int) -> str:
    """'812 bytes', '34 kB', '5.1 MB'."""
    if n < 1000:
        return count_of(n, "byte")
    return f"{n / 1000:,.0f} kB" if n < 999_500 else f"{n / 1e6:,.1f} MB"


def place_of(start: int, end: int) -> str:
    """'line 5' or 'lines 5 to 9'."""
    return f"line {start:,}" if start == end else f"lines {start:,} to {end:,}"
