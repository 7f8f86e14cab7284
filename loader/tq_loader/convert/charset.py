"""Text whose file says its encoding, and may be wrong: web pages, mail, books."""

from __future__ import annotations

import codecs
from dataclasses import dataclass
from typing import Final

from tq_loader.convert.encoding import decode, find_encoding
from tq_loader.convert.protocol import ConvertError

# What a label means in practice is often a larger encoding than the one it names (WHATWG Encoding Standard).
_MEANT: Final[dict[str, str]] = {
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "iso8859-11": "cp874",
    "tis-620": "cp874",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "big5": "big5hkscs",
    "cp950": "big5hkscs",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
    "utf-16": "utf-16-le",
}
_ALIASES: Final[dict[str, str]] = {
    "x-sjis": "cp932",
    "windows-31j": "cp932",
    "ks_c_5601-1987": "cp949",
    "ks_c_5601": "cp949",
    "x-gbk": "gb18030",
    "gb_2312-80": "gb18030",
    "x-user-defined": "cp1252",
    "unicode-1-1-utf-8": "utf-8",
    "unicode": "utf-16-le",
    "iso-8859-8-i": "iso8859-8",
    "iso-8859-8-e": "iso8859-8",
    "x-mac-roman": "mac_roman",
    "macintosh": "mac_roman",
}
_WRONG_SHARE: Final = 0.01  # undecodable places for each character beyond which a label is not believed


@dataclass(slots=True, frozen=True)
class Decoded:
    """``replaced``: places that became U+FFFD. ``guessed``: nothing valid said the encoding."""

    text: str
    encoding: str
    replaced: int = 0
    guessed: bool = False


def named(label: str | None) -> str | None:
    """Python's codec for a label as found in the wild, or None for one that it does not know."""
    if not label:
        return None
    label = label.strip().strip("\"'").strip().lower()
    label = _ALIASES.get(label, label)
    if label.isdecimal() and label != "7":
        label = "cp" + label
    try:
        info = codecs.lookup(label)
    except (LookupError, ValueError, UnicodeError):
        return None
    # Python's own transformations (hex, rot13, zlib, idna) are no encodings of a text.
    if not getattr(info, "_is_text_encoding", True) or info.name in ("idna", "punycode", "undefined"):
        return None
    if info.name in ("unicode_escape", "raw_unicode_escape", "unicode-escape", "raw-unicode-escape"):
        return None
    return _MEANT.get(info.name, info.name)


def decode_labelled(data: bytes, label: str | None) -> Decoded:
    """The text of ``data`` by its byte order mark, else by ``label`` where that fits, else by likelihood."""
    if not data:
        return Decoded("", "utf-8")
    if data[:4] in (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE):
        return _by_likelihood(data)
    for mark, name in (
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
    ):
        if data.startswith(mark):
            text = data[len(mark) :].decode(name, "replace")
            return Decoded(text, name, text.count("\ufffd"))
    wanted = named(label)
    if wanted is None or wanted == "cp1252" or wanted.startswith("utf-16"):
        # These labels are the ones most often wrong. Text that is valid UTF-8 beyond ASCII is nothing else.
        try:
            return Decoded(data.decode("utf-8"), "utf-8")
        except UnicodeDecodeError:
            pass
    if wanted is not None:
        text = data.decode(wanted, "replace")
        wrong = text.count("\ufffd")
        if wrong <= max(1, _WRONG_SHARE * len(text)):
            if wanted == "cp1252" and wrong:
                # Five bytes that Windows-1252 leaves open: the controls that browsers take them for.
                text = data.decode("latin-1") if label and "8859" in label else text
            return Decoded(text, wanted, text.count("\ufffd"))
    return _by_likelihood(data)


def _by_likelihood(data: bytes) -> Decoded:
    try:
        encoding = find_encoding(data)
    except ConvertError:
        text = data.decode("utf-8", "replace")
        return Decoded(text, "utf-8", text.count("\ufffd"), guessed=True)
    parts: list[str] = []
    replaced = 0
    for text, bad in decode(data, encoding):
        parts.append(text)
        replaced += bad
    return Decoded("".join(parts), encoding.name, replaced, encoding.guessed)
