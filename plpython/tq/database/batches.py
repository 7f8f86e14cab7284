"""The statements of message batches, and replies and errors as they are stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import msgspec

from tq.database.connection import Database, Row, Statement
from tq.database.models import COLUMNS, decode, encode, model_of
from tq.errors import TqError
from tq.model.driver import Reply
from tq.model.limits import Model

REPLIES = Statement(
    "SELECT r.fingerprint, r.reply::text AS reply, r.error::text AS error, r.fresh"
    " FROM tq_private.batch_replies($1::uuid, $2) AS r",
    ("text", "text[]"),
)
OPEN = Statement(
    "SELECT tq_private.open_batch($1::uuid, $2, $3, $4, $5, $6, $7)::text AS id",
    ("text", "text", "text", "text[]", "text[]", "int8", "float8"),
)
JOIN = Statement(
    "SELECT j.fingerprint FROM tq_private.join_batch($1::uuid, $2, $3) AS j (fingerprint)",
    ("text", "text[]", "text[]"),
)
BATCHES = Statement(
    "SELECT b.id::text AS id, b.document_id::text AS document, b.model AS wanted, b.purpose, b.status, b.remote_id,"
    " extract(epoch FROM b.opened_at)::float8 AS opened,"
    f" extract(epoch FROM clock_timestamp() - b.opened_at)::float8 AS age, {COLUMNS}"
    " FROM tq.batch AS b LEFT JOIN tq.model AS m ON m.name = b.model WHERE b.id = ANY ($1::uuid[])",
    ("text[]",),
)
REQUESTS = Statement(
    "SELECT r.fingerprint FROM tq_private.batch_requests($1::uuid) AS r (fingerprint)", ("text",)
)
KNOWN = Statement("SELECT b.remote_id FROM tq.batch AS b WHERE b.remote_id IS NOT NULL")
SENT = Statement(
    "UPDATE tq.batch AS b SET remote_id = $2, status = CASE b.status WHEN 'sending' THEN 'sent' ELSE b.status END"
    " WHERE b.id = $1::uuid RETURNING b.status",
    ("text", "text"),
)
DROP = Statement("DELETE FROM tq.batch AS b WHERE b.id = $1::uuid", ("text",))
END = Statement(
    "SELECT e.body FROM tq_private.end_batch($1::uuid, $2, $3, $4) AS e (body)",
    ("text", "text[]", "text[]", "text[]"),
)
DROP_ALL = Statement("SELECT tq_private.drop_batches($1::uuid)::text AS done", ("text",))


@dataclass(frozen=True, slots=True)
class Batch:
    """A row of tq.batch. document: None where it was removed; model: None where its row is gone."""

    id: str
    document: str | None
    wanted: str
    model: Model | None
    purpose: str
    status: str
    remote_id: str | None
    opened: datetime
    age: float  # seconds

    @classmethod
    def of(cls, row: Row) -> Batch:
        opened = datetime.fromtimestamp(row["opened"], UTC)
        return cls(
            row["id"], row["document"], row["wanted"], model_of(row), row["purpose"], row["status"], row["remote_id"], opened,
            row["age"],
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Stored:
    """What is there for a request. fresh: it has come in a batch, and is not among the replies shared by all."""

    what: Reply | TqError
    fresh: bool


def batches(database: Database, ids: Sequence[str]) -> dict[str, Batch]:
    return {row["id"]: Batch.of(row) for row in database.fetch(BATCHES, list(ids))}


def replies(database: Database, document: str, fingerprints: Sequence[str]) -> dict[str, Stored]:
    """What is there for these requests of a document. An error is told once."""
    found: dict[str, Stored] = {}
    for row in database.fetch(REPLIES, document, list(fingerprints)):
        what = _error(row["error"]) if row["reply"] is None else decode(row["reply"], False)
        found[row["fingerprint"]] = Stored(what, row["fresh"])
    return found


def requests(database: Database, batch: str) -> list[str]:
    """The fingerprints of a batch's requests."""
    return [row["fingerprint"] for row in database.fetch(REQUESTS, batch)]


def end(database: Database, batch: str, results: Mapping[str, Reply | TqError]) -> list[str]:
    """Keep what came of a batch; the bodies of the messages that waited for it."""
    rows = [
        (
            name,
            encode(one) if isinstance(one, Reply) else None,
            None if isinstance(one, Reply) else _told(one),
        )
        for name, one in results.items()
    ]
    columns: list[list[str | None]] = [list(column) for column in zip(*rows, strict=True)] or [[], [], []]
    return [row["body"] for row in database.fetch(END, batch, *columns)]


def _told(error: TqError) -> str:
    names = ("code", "message", "detail", "hint")
    return msgspec.json.encode({name: getattr(error, name) for name in names}).decode()


def _error(text: str) -> TqError:
    return TqError(**msgspec.json.decode(text, type=dict[str, str | None]))  # type: ignore[arg-type]
