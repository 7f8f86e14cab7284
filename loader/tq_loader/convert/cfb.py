"""Compound files (the container of legacy Office documents and Outlook's messages), by olefile."""

from __future__ import annotations

import io
import struct
from typing import Final, NamedTuple

import olefile

from tq_loader.convert.protocol import MALFORMED, ConvertError

_FAULTS: Final = (OSError, LookupError, RecursionError, TypeError, ValueError, struct.error)


class Entry(NamedTuple):
    """A stream or storage, by the names that lead to it."""

    path: tuple[str, ...]
    is_storage: bool


class CompoundFile:
    """Raises TQ011 where the container is damaged."""

    def __init__(self, data: bytes | bytearray) -> None:
        try:
            self._file = olefile.OleFileIO(io.BytesIO(data))
        except _FAULTS as error:
            raise damaged(str(error)) from error

    def children(self, storage: Entry | None = None) -> dict[str, Entry]:
        """Entries right below a storage (the root when None), by name."""
        path = storage.path if storage else ()
        top = self._file.root
        for name in path:
            top = top.kids_dict[name.lower()]
        return {
            kid.name: Entry((*path, kid.name), kid.entry_type == olefile.STGTY_STORAGE) for kid in top.kids
        }

    def read(self, stream: Entry) -> bytes:
        try:
            read: bytes = self._file.openstream(list(stream.path)).read()
        except _FAULTS as error:
            raise damaged(str(error)) from error
        return read


def damaged(detail: str) -> ConvertError:
    return ConvertError(
        MALFORMED,
        "document is damaged",
        detail,
        "open it in the program that made it and save it again",
    )
