"""A compound file (the container of legacy Office files and of Outlook messages) made in code, after [MS-CFB]."""

from __future__ import annotations

import struct
from dataclasses import dataclass

# A storage by the names in it; bytes are a stream.
Storage = dict[str, "bytes | Storage"]

_SECTOR, _MINI, _CUTOFF = 512, 64, 4096
_END, _FREE, _FAT, _NONE = 0xFFFFFFFE, 0xFFFFFFFF, 0xFFFFFFFD, 0xFFFFFFFF


@dataclass
class _Entry:
    name: str
    kind: int  # 1 storage, 2 stream, 5 root
    content: bytes = b""
    right: int = _NONE
    child: int = _NONE
    start: int = _END


def compound(storage: Storage) -> bytes:
    """The bytes of a file whose root holds ``storage``."""
    entries = [_Entry("Root Entry", 5)]
    _list(storage, 0, entries)
    mini = bytearray()
    mini_fat: list[int] = []
    sectors: list[bytes] = []
    fat: list[int] = []

    def add(content: bytes) -> int:
        """Append a chain of sectors; its first."""
        start = len(sectors)
        count = -(-len(content) // _SECTOR)
        for n in range(count):
            sectors.append(content[n * _SECTOR : (n + 1) * _SECTOR].ljust(_SECTOR, b"\0"))
            fat.append(start + n + 1 if n < count - 1 else _END)
        return start if count else _END

    for entry in entries[1:]:
        if entry.kind == 2 and len(entry.content) >= _CUTOFF:
            entry.start = add(entry.content)
        elif entry.kind == 2 and entry.content:
            count = -(-len(entry.content) // _MINI)
            entry.start = len(mini_fat)
            mini_fat += [entry.start + n + 1 for n in range(count - 1)] + [_END]
            mini += entry.content.ljust(count * _MINI, b"\0")
    entries[0].content = bytes(mini)
    entries[0].start = add(entries[0].content)
    mini_fat_start = add(b"".join(struct.pack("<I", n) for n in mini_fat))
    mini_fat_count = -(-4 * len(mini_fat) // _SECTOR)
    directory = add(b"".join(map(_directory, entries)))
    count = 1
    while count * _SECTOR // 4 < len(fat) + count:
        count += 1
    assert count <= 109
    first = len(fat)
    fat += [_FAT] * count
    fat += [_FREE] * (count * _SECTOR // 4 - len(fat))
    sectors += [struct.pack("<128I", *fat[n : n + 128]) for n in range(0, len(fat), 128)]
    difat = [first + n for n in range(count)] + [_FREE] * (109 - count)
    header = struct.pack(
        "<8s16s5H6x9I", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", bytes(16), 0x3E, 3, 0xFFFE, 9, 6, 0, count, directory, 0,
        _CUTOFF, mini_fat_start, mini_fat_count, _END, 0,
    )  # fmt: skip
    return header + struct.pack("<109I", *difat) + b"".join(sectors)


def _list(storage: Storage, parent: int, entries: list[_Entry]) -> None:
    """Entries of a storage and all below it; siblings are a tree that only ever goes to the right."""
    names = sorted(storage, key=lambda name: (len(name), name.upper()))
    numbers = []
    for name in names:
        content = storage[name]
        numbers.append(len(entries))
        entries.append(_Entry(name, 2, content) if isinstance(content, bytes) else _Entry(name, 1))
    for number, after in zip(numbers, [*numbers[1:], _NONE], strict=False):
        entries[number].right = after
    if numbers:
        entries[parent].child = numbers[0]
    for name, number in zip(names, numbers, strict=True):
        content = storage[name]
        if not isinstance(content, bytes):
            _list(content, number, entries)


def _directory(entry: _Entry) -> bytes:
    name = entry.name.encode("utf-16-le")
    size = len(entry.content)
    return (
        name.ljust(64, b"\0")
        + struct.pack("<HBB3I", len(name) + 2, entry.kind, 1, _NONE, entry.right, entry.child)
        + bytes(36)
        + struct.pack("<IQ", entry.start, size)
    )
