"""Which encoding a text file has, and its characters in slices of bounded size."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from tq_loader.convert.detect import unsupported
from tq_loader.convert.protocol import READ_FORMATS

SLICE: Final = 1 << 20  # bytes decoded at a time
_SAMPLE: Final = 1 << 18  # bytes looked at where the whole file would cost too much

_BOMS: Final[tuple[tuple[bytes, str], ...]] = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)

# Controls that text files do have: tab, line ends, backspace and escape (terminal logs), Ctrl-Z (DOS end of
# file).
_CONTROL: Final = bytes(sorted(set(range(1, 32)) - {8, 9, 10, 11, 12, 13, 26, 27} | {127}))
_PLAIN: Final = bytes(range(0x20, 0x7F)) + b"\t\n\r\f"
_HIGH_LINE = re.compile(rb"[^\n]*[\x80-\xff][^\n]*")


@dataclass(slots=True, frozen=True)
class Encoding:
    """``skip``: bytes of the byte order mark. ``guessed``: chosen by likelihood, not by a mark or by
    validity.
    """

    name: str
    skip: int = 0
    guessed: bool = False


def find_encoding(data: bytes | bytearray) -> Encoding:
    """The encoding of ``data``. Raises TQ010 when it does not look like text in any."""
    for mark, name in _BOMS:
        if data.startswith(mark):
            return Encoding(name, skip=len(mark))
    sample = _spread(data)
    wide = _wide(sample)
    if wide:
        return Encoding(wide)
    _refuse_binary(sample)
    good, bad = _utf8_health(data)
    if bad == 0 or good > bad:
        return Encoding("utf-8")
    return Encoding(_legacy(data), guessed=True)


def decode(data: bytes | bytearray, encoding: Encoding) -> Iterator[tuple[str, int]]:
    """The text in slices of about 1 MiB of bytes, each with the number of undecodable places replaced by
    U+FFFD.

    A U+FFFD that the file itself holds is not counted.
    """
    found = [0]

    def replace(error: UnicodeError) -> tuple[str, int]:
        if not isinstance(error, UnicodeDecodeError):
            raise error
        found[0] += 1
        return "\ufffd", error.end

    codecs.register_error("tq-count", replace)
    decoder = codecs.getincrementaldecoder(encoding.name)("tq-count")
    view = memoryview(data)
    for start in range(encoding.skip, len(data), SLICE):
        found[0] = 0
        text = decoder.decode(view[start : start + SLICE], final=start + SLICE >= len(data))
        yield text, found[0]


def _spread(data: bytes | bytearray) -> bytes:
    """The file, or its start, middle and end where it is long. Cut at multiples of four, for the wide
    encodings.
    """
    if len(data) <= 3 * _SAMPLE:
        return bytes(data)
    middle = len(data) // 2 & ~3
    end = (len(data) - _SAMPLE) & ~3
    return bytes(data[:_SAMPLE] + data[middle : middle + _SAMPLE] + data[end : end + _SAMPLE])


def _wide(sample: bytes) -> str | None:
    """UTF-16 or UTF-32 without a byte order mark, by where its NUL bytes stand."""
    n = len(sample)
    if n < 4 or n % 2:
        return None
    nul = [sample[i::4].count(0) / max(1, len(sample[i::4])) for i in range(4)]
    if n % 4 == 0:
        if nul[0] < 0.2 and nul[2] > 0.9 and nul[3] > 0.95:
            return "utf-32-le"
        if nul[3] < 0.2 and nul[1] > 0.9 and nul[0] > 0.95:
            return "utf-32-be"
    even, odd = (nul[0] + nul[2]) / 2, (nul[1] + nul[3]) / 2
    # Scripts without Latin letters have NULs only beside their spaces and line ends: 2 % is then much.
    for name, own, other in (("utf-16-le", odd, even), ("utf-16-be", even, odd)):
        if (own > 0.5 and other < 0.1) or (own > 0.02 and other == 0 and not _narrow(sample)):
            try:
                text = sample.decode(name)
            except UnicodeDecodeError:
                continue
            if sum(c.isprintable() or c in "\t\n\r\f" for c in text[:20000]) > 0.95 * len(text[:20000]):
                return name
    return None


def _narrow(sample: bytes) -> bool:
    """Whether, without its NUL bytes, this is plain ASCII text: then a NUL is a stray byte of it, not half of a
    character.
    """
    rest = sample.replace(b"\0", b"")
    # Devanagari's high byte is a tab, that of kana a zero: no text has so many of those.
    if 4 * rest.count(b"\t") > len(rest) or 3 * rest.count(b"0") > len(rest):
        return False
    return 20 * len(rest.translate(None, _PLAIN)) <= len(rest)


def _refuse_binary(sample: bytes) -> None:
    n = len(sample)
    nul = sample.count(0) / n
    control = 1 - len(sample.translate(None, _CONTROL)) / n
    if nul > 0.3 or (control > 0.04 and n >= 64) or control > 0.25:
        raise unsupported(
            f"binary data ({nul:.0%} NUL bytes, {control:.0%} other control characters)", READ_FORMATS
        )


def _utf8_health(data: bytes | bytearray) -> tuple[int, int]:
    """(valid multi-byte characters, invalid places) of the file read as UTF-8, counted slice by slice."""
    if data.isascii():
        return 0, 0
    good = bad = 0
    for text, replaced in decode(data, Encoding("utf-8")):
        bad += replaced
        good += len(text.encode("utf-8", "replace").translate(None, _NOT_LEAD)) - replaced
    return good, bad


# A multi-byte character has exactly one lead byte: deleting all other bytes leaves one byte a character.
_NOT_LEAD: Final = bytes(b for b in range(256) if not 0xC2 <= b <= 0xF4)


def _legacy(data: bytes | bytearray) -> str:
    """The likeliest 8-bit or East Asian encoding of text that is not UTF-8; Windows-1252 where nothing
    speaks.
    """
    runs: list[bytes] = []
    size = 0
    for match in _HIGH_LINE.finditer(data[: 64 << 20]):
        runs.append(match.group()[:8192])
        size += len(runs[-1])
        if size > 32768:
            break
    excerpt = b"\n".join(runs)
    try:
        excerpt.decode("cp1252")
        western = True
    except UnicodeDecodeError:
        western = False
    high = sum(b >= 0x80 for b in excerpt)
    # A few accented letters or curly quotes among plain ones are Western text; statistics mislead on so
    # little.
    if western and (high < 12 or high < 0.08 * len(excerpt)):
        return "cp1252"
    from charset_normalizer import from_bytes

    best = from_bytes(excerpt).best()
    name = best.encoding if best is not None else None
    if name in (None, "ascii", "utf_8", "latin_1", "iso8859_1", "cp1250", "cp1252", "mac_roman") and western:
        return "cp1252"
    # A byte order mark within the file is none: what is left of it is no UTF-16.
    return "cp1252" if name is None or name.startswith("utf") else name
