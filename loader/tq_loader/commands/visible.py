"""Text from documents and names as a terminal may show it."""

from __future__ import annotations

# The pictures of the C0 controls and of DEL; those of C1, which some terminals obey too, have none. A tab stays.
_CONTROLS = {code: 0x2400 + code for code in range(0x20) if code != 0x09}
_CONTROLS |= {0x7F: 0x2421} | dict.fromkeys(range(0x80, 0xA0), 0xFFFD)
_LINES = {code: sign for code, sign in _CONTROLS.items() if code != 0x0A}


def line(text: object) -> str:
    """On one line, and unable to give the terminal orders: a control character is seen instead of obeyed."""
    return whole(str(text)).translate(_CONTROLS)


def lines(text: object) -> str:
    """The same, with its line breaks."""
    return whole(str(text)).translate(_LINES)


def whole(text: str) -> str:
    """Without halves of characters, such as Python makes of a file name's bytes that are not UTF-8."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
