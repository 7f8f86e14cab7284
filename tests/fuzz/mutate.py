"""Changes that get past a file's outer shape: into the parts of a zip, between the tags of XML, at numbers."""

from __future__ import annotations

import io
import random
import re
import zipfile
import zlib
from collections.abc import Callable
from typing import Final

Raw = Callable[[bytes, int], bytes]  # the fuzzer's own change of bytes: (data, most bytes)

_TOKEN: Final = re.compile(rb"<[^<>]*>|[^<>]+|[<>]")
_VALUE: Final = re.compile(rb'="([^"]*)"')
_VALUES: Final = (
    b"", b"0", b"-1", b"1", b"2147483648", b"99999999999999999999", b"1e999", b"NaN", b"0.5", b"true", b"A1:XFD1048576",
    b"rId1", b"../../x", b"\xff", b"%s" * 8, b"General", b"[h]:mm", b"2024-13-45", b"x" * 300,
)  # fmt: skip
_NUMBERS: Final = (
    b"\0\0\0\0", b"\xff\xff\xff\xff", b"\xff\xff\xff\x7f", b"\0\0\0\x80", b"\1\0\0\0", b"\xfe\xff\xff\xff", b"\xff\xff", b"\0\0",
)  # fmt: skip


def unzip(data: bytes) -> dict[str, bytes] | None:
    """The members of a zip; None where it is none that can be read whole."""
    if data[:2] != b"PK":
        return None
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            if sum(member.file_size for member in archive.infolist()) > 4 << 20:
                return None
            return {name: archive.read(name) for name in archive.namelist()}
    except (zipfile.BadZipFile, zlib.error, OSError, RuntimeError, ValueError, NotImplementedError, EOFError):
        return None


def zipped(parts: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as archive:
        for name, content in parts.items():
            archive.writestr(zipfile.ZipInfo(name), content)
    return out.getvalue()


def mutate(data: bytes, most: int, rng: random.Random, raw: Raw) -> bytes:
    """A changed file of at most ``most`` bytes."""
    parts = unzip(data) if rng.random() < 0.95 else None
    if parts:
        for _ in range(rng.choice((1, 1, 1, 2, 4))):
            name = rng.choice(list(parts))
            match rng.randrange(12):
                case 0:
                    parts[name] = parts[rng.choice(list(parts))]
                case 1 if len(parts) > 2:
                    del parts[name]
                case _:
                    parts[name] = changed(parts[name], most, rng, raw)
        made = zipped(parts)
        return made if len(made) <= most else data
    return changed(data, most, rng, raw)


def changed(data: bytes, most: int, rng: random.Random, raw: Raw) -> bytes:
    kind = rng.randrange(10)
    if kind < 4 and data.count(b"<") > 3:
        return tags(data, rng)[:most]
    if kind < 7 and len(data) > 8:
        number = rng.choice(_NUMBERS)
        at = rng.randrange(len(data))
        return data[:at] + number + data[at + len(number) :]
    if kind == 7 and len(data) > 8:  # lines moved about
        rows = data.split(b"\n")
        a, b = rng.randrange(len(rows)), rng.randrange(len(rows))
        rows[a:a] = rows[b : b + rng.randrange(1, 4)]
        return b"\n".join(rows)[:most]
    return raw(data, min(most, len(data) + 256))


def tags(data: bytes, rng: random.Random) -> bytes:
    """XML or HTML with tags, texts or values taken out, doubled, moved or replaced."""
    tokens = _TOKEN.findall(data)
    at = rng.randrange(len(tokens))
    length = min(len(tokens) - at, rng.choice((1, 1, 2, 3, 8, 20)))
    match rng.randrange(6):
        case 0:
            del tokens[at : at + length]
        case 1:
            tokens[at:at] = tokens[at : at + length] * rng.choice((1, 2, 30))
        case 2:
            piece = tokens[at : at + length]
            del tokens[at : at + length]
            to = rng.randrange(len(tokens) + 1)
            tokens[to:to] = piece
        case 3:
            tokens[at] = rng.choice(tokens)
        case 4:
            tokens[at] = rng.choice(_VALUES) if not tokens[at].startswith(b"<") else tokens[at]
        case _:
            # The next value from here on.
            for n in (*range(at, len(tokens)), *range(at)):
                found = list(_VALUE.finditer(tokens[n]))
                if found:
                    match = rng.choice(found)
                    tokens[n] = tokens[n][: match.start(1)] + rng.choice(_VALUES) + tokens[n][match.end(1) :]
                    break
    return b"".join(tokens)
