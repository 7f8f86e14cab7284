"""Where the bytes of loaded files are kept: in the database, in a directory, or in S3-compatible storage.

A place is written as one text: `database`, `file:///path` or `s3://bucket/prefix`. Each kind is a module of its own,
imported when it is used. Credentials come from the environment of the process alone, the server's or the worker's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import BinaryIO, Protocol

from tq.errors import TqError

DATABASE = "database"
PIECE = 8 << 20  # bytes read at a time
URL_SECONDS = 3600  # how long a signed URL works

Pulse = Callable[[], None]


class Store(Protocol):
    """A place outside the database. Digests are sha256 in hexadecimal."""

    def put(self, digest: str, file: BinaryIO, size: int) -> None:
        """Keep `size` bytes, all or nothing; what is there under the digest is replaced. Raises TQ041."""
        ...

    def read(self, digest: str, offset: int, size: int) -> bytes:
        """Bytes from an offset on, fewer at the end, none behind it. Raises TQ040 or TQ041."""
        ...

    def delete(self, digest: str) -> None:
        """Forget the bytes; none there is no error. Raises TQ041."""
        ...

    def url(self, digest: str, seconds: int) -> str:
        """An address at which the bytes can be fetched."""
        ...


def open_store(place: str, pulse: Pulse) -> Store:
    """The store at a place that is not the database. pulse: called at least every 100 ms of waiting; may raise.

    Raises TQ021 for a place that is none.
    """
    if place.startswith("file://"):
        from tq.store.directory import DirectoryStore

        return DirectoryStore(place)
    if place.startswith("s3://"):
        from tq.store.s3 import S3Store

        return S3Store(place, pulse)
    raise TqError(
        "TQ021",
        "invalid value for the setting blob_store",
        f"it is {place[:200]!r}",
        "A place is database, file:///path or s3://bucket/prefix.",
    )


def missing(digest: str, place: str) -> TqError:
    return TqError(
        "TQ040",
        "blob not found",
        f"{digest} is not in {place}",
        "Bring the file back there (from a backup), or load the document again from its file.",
    )


def denied(place: str, why: str, hint: str) -> TqError:
    return TqError("TQ041", "access to the blob store denied", f"{place}: {why}", hint)


def failed(place: str, why: str) -> TqError:
    """Neither missing nor denied: the disk is full, the network is down. The queue tries again."""
    return TqError(
        "58030",
        "the blob store failed",
        f"{place}: {why}",
        "Look at the store; what waits in the queue is tried again.",
    )
