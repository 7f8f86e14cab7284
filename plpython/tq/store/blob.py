"""One blob, wherever its bytes are now: reading it, moving it, dropping a copy that nothing refers to."""

from __future__ import annotations

import hashlib
import tempfile
from typing import Any

from tq.database import blobs as sql
from tq.database.connection import Database, Row
from tq.errors import TqError
from tq.store import DATABASE, PIECE, Pulse, Store, failed, missing, open_store


class Gone(Exception):
    """There is no such blob, or no such document, any more."""


class Blob:
    """The bytes of one digest. They may be moved while they are read: where they are is then looked up again."""

    def __init__(self, db: Database, digest: str, pulse: Pulse) -> None:
        self._db = db
        self._pulse = pulse
        self.digest = digest
        self._store: Store | None = None
        self._piece = (0, b"")
        self._look()

    def _look(self) -> None:
        rows = self._db.fetch(sql.PLACE, self.digest)
        if not rows:
            raise Gone
        self.place: str = rows[0]["place"]
        self.size: int = rows[0]["bytes"]
        self._store = None if self.place == DATABASE else open_store(self.place, self._pulse)

    def read(self, offset: int, size: int) -> bytes:
        """Bytes from an offset on; fewer only at the end. Raises Gone, TQ040, TQ041."""
        if offset >= self.size:
            return b""
        start, piece = self._piece
        if self._store is not None and not start <= offset < start + len(piece):
            self._piece = start, piece = offset, self._fetch(offset, max(size, PIECE))
        if self._store is None:
            return self._fetch(offset, size)
        return piece[offset - start : offset - start + size]

    def _fetch(self, offset: int, size: int) -> bytes:
        before = self.place
        try:
            found = self._fetch_once(offset, size)
        except TqError as error:
            if error.code != "TQ040":
                raise
            found = None
        if not found:
            # Moved between two reads; or really not there.
            self._look()
            found = self._fetch_once(offset, size) if self.place != before else None
        if not found:
            raise missing(self.digest, self.place)
        return found

    def _fetch_once(self, offset: int, size: int) -> bytes | None:
        if self._store is not None:
            return self._store.read(self.digest, offset, size)
        rows = self._db.fetch(sql.SLICE, self.digest, offset + 1, size)
        return None if not rows or rows[0]["content"] is None else bytes(rows[0]["content"])

    def whole(self) -> bytes:
        """All of it, checked against its digest."""
        data = bytearray()
        while piece := self.read(len(data), PIECE):
            data += piece
            self._pulse()
        if hashlib.sha256(data).hexdigest() != self.digest:
            raise _altered(self.digest, self.place)
        return bytes(data)


def move(db: Database, digest: str, target: str, pulse: Pulse) -> str | None:
    """Bring a blob to another place; the old place, whose copy is left for `drop` once this is committed.

    None where it is there already. The caller holds the blob's lock, commits, and sends the message for `drop`. The new
    copy is read back and compared with the digest before the row says that the bytes are there.
    """
    blob = Blob(db, digest, pulse)
    if blob.place == target:
        return None
    with tempfile.SpooledTemporaryFile(max_size=2 * PIECE) as file:
        seen = hashlib.sha256()
        offset = 0
        while piece := blob.read(offset, PIECE):
            seen.update(piece)
            file.write(piece)
            offset += len(piece)
            pulse()
        if seen.hexdigest() != digest:
            raise _altered(digest, blob.place)
        file.seek(0)
        if target == DATABASE:
            # The table's own constraint compares the digest.
            rows = db.fetch(sql.SET_CONTENT, digest, file.read())
        else:
            store = open_store(target, pulse)
            store.put(digest, file, offset)  # type: ignore[arg-type]
            _verify(store, digest, offset, target, pulse)
            rows = db.fetch(sql.SET_PLACE, digest, target, offset)
        if not rows:
            raise Gone
    return blob.place


def drop(db: Database, digest: str, place: str, pulse: Pulse) -> None:
    """Delete the copy at a place, unless the blob's row says that the bytes are there. The caller holds the lock."""
    rows: list[Row] = db.fetch(sql.PLACE, digest)
    if place != DATABASE and not (rows and rows[0]["place"] == place):
        open_store(place, pulse).delete(digest)


def lock(db: Database, digest: str) -> bool:
    """Whether the blob is now this session's to move or drop; `unlock` gives it back. Outlives a commit."""
    got: bool = db.fetch(sql.LOCK, digest)[0]["got"]
    return got


def unlock(db: Database, digest: str) -> None:
    db.fetch(sql.UNLOCK, digest)


def _verify(store: Store, digest: str, size: int, place: str, pulse: Pulse) -> None:
    seen: Any = hashlib.sha256()
    offset = 0
    while offset < size and (piece := store.read(digest, offset, PIECE)):
        seen.update(piece)
        offset += len(piece)
        pulse()
    if seen.hexdigest() != digest:
        raise failed(place, f"what was read back of {digest} is not what was written")


def _altered(digest: str, place: str) -> TqError:
    return TqError(
        "TQ040",
        "blob not found",
        f"what lies in {place} under {digest} has another digest",
        "The stored copy was altered: bring the file back from a backup, or load the document again.",
    )
