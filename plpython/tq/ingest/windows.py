"""Sizes of lines as a model is shown them, and the provisional windows of the first run."""

from __future__ import annotations

from dataclasses import dataclass, field

NUMBER_CHARS = 12  # "  123456 | " and the newline
BLANK_CHARS = 4
# White space, and rules of dashes or stars: nothing that a reader would see.
NOTHING = " \t\r\n\f\v\u00a0\u2002\u2003\u2009\u200b\u3000\ufeff=~*_-"


def is_nothing(text: str) -> bool:
    """Whether a line holds nothing to read. The same characters are trimmed in tq.database.ingest.CUT_LINES."""
    return not text.strip(NOTHING)


def cost(chars: int, blank: bool) -> int:
    """Characters that a line takes in a prompt."""
    return BLANK_CHARS if blank else chars + NUMBER_CHARS


@dataclass(slots=True)
class Windows:
    """Equal stretches of lines, each as full as `chars` allows; a window without anything to read needs no model."""

    chars: int
    shown: int  # characters of one line that the first run shows, at most
    found: list[tuple[int, int, bool]] = field(default_factory=list)  # line_start, line_end, blank
    cut_lines: int = 0  # lines longer than `shown`
    _start: int = 1
    _filled: int = 0
    _blank: bool = True
    _last: int = 0

    def add(self, line_no: int, chars: int, blank: bool) -> None:
        if chars > self.shown:
            self.cut_lines += 1
            chars = self.shown
        size = cost(chars, blank)
        if self._filled and self._filled + size > self.chars:
            self._close()
        self._filled += size
        self._blank = self._blank and blank
        self._last = line_no

    def finish(self) -> None:
        if self._filled:
            self._close()

    def _close(self) -> None:
        self.found.append((self._start, self._last, self._blank))
        self._start = self._last + 1
        self._filled = 0
        self._blank = True


def shown_chars(window_chars: int) -> int:
    """How much of one line the first run shows: a line of megabytes is shown by its head."""
    return max(200, window_chars // 4)
