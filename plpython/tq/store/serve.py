"""What SQL functions do with bytes: give a document's, its address, and move one blob."""

from __future__ import annotations

from tq.database import blobs as sql
from tq.database import ingest
from tq.database.connection import Database, Row
from tq.errors import TqError
from tq.store import DATABASE, URL_SECONDS, open_store
from tq.store.blob import Blob, Gone, drop, move


def seen(db: Database, document: str) -> Row:
    """Digest and media type of a document that the asker may see; TQ001 for any other."""
    rows = db.fetch(sql.SEEN, document)
    if not rows:
        raise TqError(
            "TQ001", "document not found", f"nothing has the id {document}", "It may have been removed."
        )
    return rows[0]


def source(db: Database, document: str) -> bytes:
    return Blob(db, seen(db, document)["digest"], db.pulse).whole()


def source_url(db: Database, document: str) -> str | None:
    blob = Blob(db, seen(db, document)["digest"], db.pulse)
    if blob.place == DATABASE:
        return None
    return open_store(blob.place, db.pulse).url(blob.digest, URL_SECONDS)


def move_blob(db: Database, digest: str, target: str) -> int | None:
    """In the caller's transaction: the message that will drop the old copy, 0 for none, None where the blob is in use."""
    if not db.fetch(sql.LOCK_IN_TRANSACTION, digest)[0]["got"]:
        return None
    try:
        before = move(db, digest, target, db.pulse)
    except Gone:
        return 0
    if before is None or before == DATABASE:
        return 0
    sent: int = db.fetch(sql.SEND_DROP, digest, before)[0]["id"]
    return sent


def drop_copy(db: Database, message: int) -> bool:
    """The step of a drop message; False where a worker has done it, or is doing it."""
    rows = db.fetch(sql.DROP_MESSAGE, message)
    if not rows or not db.fetch(sql.LOCK_IN_TRANSACTION, rows[0]["digest"])[0]["got"]:
        return False
    drop(db, rows[0]["digest"], rows[0]["place"], db.pulse)
    db.fetch(ingest.DELETE_MESSAGES, "tq_convert", [message])
    return True
