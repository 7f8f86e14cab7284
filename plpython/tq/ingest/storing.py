"""Steps store and drop: a blob's bytes to where they are to be kept, and away from where nothing refers to them.

Loading leaves the bytes in the database. If the store does not take them the queue tries again and they stay where they
are; the document goes its way meanwhile.
"""

from __future__ import annotations

from tq.database import blobs as sql
from tq.ingest.messages import Message
from tq.ingest.state import Later, Session, Superseded
from tq.store import DATABASE
from tq.store.blob import Blob, Gone, drop, lock, move, unlock

BUSY_SECONDS = 10  # where another session is moving the same bytes


def of_document(session: Session, document_id: str) -> Blob:
    """A document's bytes. Raises Superseded where the document is gone."""
    rows = session.db.fetch(sql.DIGEST, document_id)
    try:
        return Blob(session.db, rows[0]["digest"], session.beat) if rows else _gone()
    except Gone:
        return _gone()


def _gone() -> Blob:
    raise Superseded


def keep_bytes(session: Session, message: Message) -> None:
    """The whole step, from the lock to the commit that ends the message."""
    db, digest = session.db, str(message.body["sha256"])
    if not lock(db, digest):
        raise Later(BUSY_SECONDS)
    try:
        if message.step == "store":
            _store(session, digest)
        else:
            drop(db, digest, str(message.body["store"]), session.beat)
        session.delete(message.queue, [message.id])
        db.commit()
    except BaseException:
        db.rollback()
        raise
    finally:
        unlock(db, digest)
        db.commit()


def _store(session: Session, digest: str) -> None:
    rows = session.db.fetch(sql.WANTED)
    wanted = str(rows[0]["place"]) if rows else DATABASE
    try:
        # Only what still lies in the database: whoever changes the setting moves the rest by `tq blobs move`.
        if wanted != DATABASE and Blob(session.db, digest, session.beat).place == DATABASE:
            move(session.db, digest, wanted, session.beat)
    except Gone:
        # Removed meanwhile: what was written is nobody's.
        if wanted != DATABASE:
            drop(session.db, digest, wanted, session.beat)
