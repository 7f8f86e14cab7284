"""Plain text: the file's own lines, one by one, in memory bounded by the file and one slice.

Where they are a transcript, each knows its speaker and time; the lines are the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tq_loader.convert import transcript
from tq_loader.convert.detect import Found
from tq_loader.convert.encoding import Encoding, decode, find_encoding
from tq_loader.convert.protocol import (
    MAX_LINE_CHARS,
    TOO_LARGE,
    ConvertError,
    Job,
    LineRanges,
    Writer,
    place_of,
)

_LEADING = re.compile(r"\s*")


@dataclass(slots=True, frozen=True)
class Source:
    """A text file looked at once: how to decode it, what ends its lines, whether form feeds divide it in
    pages.
    """

    encoding: Encoding
    line_end: str
    paged: bool


def convert(data: bytes | bytearray, job: Job, found: Found, out: Writer) -> None:
    """Write every line of a text file, whatever its encoding; nothing is folded, trimmed or joined."""
    source = look(data)
    out.document(found.media_type, None)
    broken = LineRanges()
    pages = PageCounter(source.paged)
    turns = transcript.recognise(lambda: (text for text, _ in read_lines(data, source)))
    for text, replaced in read_lines(data, source):
        number = out.line(text, page=pages.of(text), locator=turns.place(text) if turns else None)
        if replaced:
            broken.add(number, replaced)
    say_omissions(out, source, found, broken)


def look(data: bytes | bytearray) -> Source:
    """One pass over the file for what must be known before its first line is written."""
    encoding = find_encoding(data)
    if encoding.name == "utf-8":
        newline, paged = b"\n" in data, b"\f" in data
    else:
        newline = paged = False
        for text, _ in decode(data, encoding):
            newline = newline or "\n" in text
            paged = paged or "\f" in text
    return Source(encoding, "\n" if newline else "\r", paged)


def read_lines(data: bytes | bytearray, source: Source) -> Iterator[tuple[str, int]]:
    r"""(line without its end, undecodable places in it).

    Ends are \n and \r\n; a lone \r only where the file has no \n. A final line end makes no further line.
    """
    end = source.line_end
    pieces: list[str] = []  # the line that is not finished yet: joined once, however many slices it spans
    size = 0
    # The places are known for a slice, not for a line: they are counted by the replacement characters in it.
    owed = 0
    for text, replaced in decode(data, source.encoding):
        owed += replaced
        parts = text.split(end)
        for part in parts[:-1]:
            pieces.append(part)
            line = "".join(pieces)
            pieces.clear()
            size = 0
            if end == "\n" and line.endswith("\r"):
                line = line[:-1]
            here = min(owed, line.count("\ufffd")) if owed else 0
            owed -= here
            yield line, here
        if parts[-1]:
            pieces.append(parts[-1])
            size += len(parts[-1])
            if size > MAX_LINE_CHARS:
                raise ConvertError(
                    TOO_LARGE,
                    "line is too long",
                    f"one line has more than {MAX_LINE_CHARS:,} characters",
                    "break the text into lines, or check that it is text at all",
                )
    if pieces:
        line = "".join(pieces)
        yield line, min(owed, line.count("\ufffd"))


class PageCounter:
    """Pages of a text file: form feeds before a line's first visible character, plus one; else None."""

    def __init__(self, paged: bool) -> None:
        self._page = 1 if paged else None

    def of(self, text: str) -> int | None:
        if self._page is None:
            return None
        feeds = text.count("\f")
        if not feeds:
            return self._page
        leading = _LEADING.match(text)
        before = text.count("\f", 0, leading.end()) if leading else 0
        page = self._page + before
        self._page += feeds
        return page


def say_omissions(out: Writer, source: Source, found: Found, broken: LineRanges) -> None:
    """What a reader of answers may have to know: replaced bytes, a guessed encoding, markup as text."""
    for start, end in broken.shown():
        out.omission(
            "invalid_bytes",
            f"bytes that are not {source.encoding.name} were replaced by U+FFFD ({place_of(start, end)})",
            line_start=start,
            line_end=end,
        )
    if source.encoding.guessed:
        out.omission(
            "encoding",
            f"the file does not say its encoding; it was read as {source.encoding.name}, the likeliest one",
        )
    if found.note:
        out.omission("markup", found.note)
