"""Compound files (the container of legacy Office documents): names and bytes of their streams."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Final

from tq_loader.convert.protocol import MALFORMED, ConvertError

MAGIC: Final = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_END: Final = 0xFFFFFFFA  # from here on numbers of sectors are marks
_MAX_ENTRIES: Final = 100_000


@dataclass(slots=True, frozen=True)
class Entry:
    """A stream or storage. ``child`` is the top of a storage's tree of entries."""

    name: str
    kind: int  # 1 storage, 2 stream, 5 root
    start: int
    size: int
    left: int
    right: int
    child: int


class CompoundFile:
    """Raises TQ011 where the container is damaged. Chains of sectors are bounded by the file's size."""

    def __init__(self, data: bytes | bytearray) -> None:
        self._data = memoryview(data)
        if len(data) < 512:
            raise damaged("it is shorter than its header")
        header = struct.unpack_from("<8s16s5H6x9I", data, 0)
        shift, mini_shift = header[5], header[6]
        if header[0] != MAGIC or shift not in (9, 12) or mini_shift != 6:
            raise damaged("its header is not valid")
        self._sector = 1 << shift
        self._cutoff = header[11]
        difat = list(struct.unpack_from("<109I", data, 76))
        at, seen = header[14], 0
        most = len(data) // self._sector + 1
        while at < _END and seen <= most:
            block = self._numbers(at)
            difat += block[:-1]
            at = block[-1] if block else _END
            seen += 1
        self._fat: list[int] = []
        for sector in difat:
            if sector < _END and len(self._fat) <= most * 2:
                self._fat += self._numbers(sector)
        directory = self._chain(header[9], self._fat)
        self.entries: list[Entry] = []
        for at in range(0, min(len(directory), _MAX_ENTRIES * 128) - 127, 128):
            (length,) = struct.unpack_from("<H", directory, at + 64)
            name = directory[at : at + max(0, min(length, 64) - 2)].decode("utf-16-le", "replace")
            left, right, child = struct.unpack_from("<3I", directory, at + 68)
            start, size = struct.unpack_from("<II", directory, at + 116)
            self.entries.append(Entry(name, directory[at + 66], start, size, left, right, child))
        if not self.entries:
            raise damaged("it has no directory")
        root = self.entries[0]
        self._mini = self._chain(root.start, self._fat)[: root.size]
        self._mini_fat: list[int] = []
        at, seen = header[12], 0
        while at < _END and seen <= most:
            self._mini_fat += self._numbers(at)
            at = self._fat[at] if at < len(self._fat) else _END
            seen += 1

    def children(self, entry: Entry | None = None) -> dict[str, Entry]:
        """Entries right below a storage (the root when None), by name."""
        found: dict[str, Entry] = {}
        waiting = [(entry or self.entries[0]).child]
        seen: set[int] = set()
        while waiting:
            i = waiting.pop()
            if i >= len(self.entries) or i in seen:
                continue
            seen.add(i)
            child = self.entries[i]
            found[child.name] = child
            waiting += [child.left, child.right]
        return found

    def read(self, entry: Entry) -> bytes:
        if entry.size < self._cutoff:
            return self._mini_chain(entry.start)[: entry.size]
        return self._chain(entry.start, self._fat)[: entry.size]

    def _numbers(self, sector: int) -> list[int]:
        start = (sector + 1) * self._sector
        block = self._data[start : start + self._sector]
        return list(struct.unpack(f"<{len(block) // 4}I", block[: len(block) // 4 * 4]))

    def _chain(self, at: int, fat: list[int]) -> bytes:
        parts: list[memoryview] = []
        while at < _END and len(parts) <= len(fat):
            start = (at + 1) * self._sector
            if start >= len(self._data):
                break
            parts.append(self._data[start : start + self._sector])
            at = fat[at] if at < len(fat) else _END
        return b"".join(parts)

    def _mini_chain(self, at: int) -> bytes:
        parts: list[bytes] = []
        while at < _END and len(parts) <= len(self._mini_fat):
            parts.append(self._mini[at * 64 : at * 64 + 64])
            at = self._mini_fat[at] if at < len(self._mini_fat) else _END
        return b"".join(parts)


def damaged(detail: str) -> ConvertError:
    return ConvertError(
        MALFORMED,
        "document is damaged",
        detail,
        "open it in the program that made it and save it again",
    )
