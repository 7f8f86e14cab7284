"""The statements of questions of the queue. All but `take_role` are a worker's; what writes is not committed here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec

from tq.database.connection import Database, Statement
from tq.errors import TqError

# The path too: names that the asker might have made mean nothing to what runs in a worker's session.
TAKE_ROLE = Statement(
    "SELECT pg_catalog.set_config('role', $1, TRUE),"
    " pg_catalog.set_config('search_path', 'pg_catalog, tq, pg_temp', TRUE)",
    ("text",),
)
BEGIN = Statement(
    "SELECT b.doc, b.question, b.strategy, b.asker, b.elapsed_ms FROM tq_private.begin_query($1::uuid) AS b",
    ("text",),
)
GOES_ON = Statement(
    "SELECT tq_private.query_goes_on($1::uuid, $2, $3) AS goes_on", ("text", "int4", "float8")
)
FOUND = Statement("SELECT tq_private.query_found($1::uuid, $2::jsonb) AS goes_on", ("text", "text"))
ANSWERED = Statement("SELECT tq_private.query_answered($1::uuid, $2::jsonb) AS goes_on", ("text", "text"))
FAILED = Statement(
    "SELECT tq_private.query_failed($1::uuid, $2, $3, $4, $5, $6::jsonb)::text AS done",
    ("text", "text", "text", "text", "text", "text"),
)
WAITS = Statement(
    "SELECT tq_private.query_waits($1::uuid, $2, $3, $4, $5, $6::jsonb)::text AS done",
    ("text", "text", "text", "text", "text", "text"),
)
ANY_WAITS = Statement(
    "SELECT EXISTS (SELECT FROM pgmq.q_tq_ask AS m WHERE m.vt <= pg_catalog.clock_timestamp()) AS any_left"
)


@dataclass(frozen=True, slots=True)
class Asked:
    """elapsed_ms: what earlier attempts took."""

    doc: str | None
    question: str
    strategy: str
    asker: str
    elapsed_ms: float


def take_role(database: Database, role: str) -> None:
    """Until the end of the transaction the session is another role's."""
    database.fetch(TAKE_ROLE, role)


def begin(database: Database, query: str) -> Asked | None:
    """Take up a question; None where it is gone or was cancelled."""
    row = database.fetch(BEGIN, query)[0]
    return None if row["asker"] is None else Asked(**row)


def goes_on(database: Database, query: str, reads: int, elapsed_ms: float) -> bool:
    return bool(database.fetch(GOES_ON, query, reads, elapsed_ms)[0]["goes_on"])


def found(database: Database, query: str, found: dict[str, Any]) -> bool:
    """Keep what was found so far; False where the question was cancelled."""
    return bool(database.fetch(FOUND, query, msgspec.json.encode(found).decode())[0]["goes_on"])


def answered(database: Database, query: str, answers: dict[str, Any]) -> bool:
    return bool(database.fetch(ANSWERED, query, msgspec.json.encode(answers).decode())[0]["goes_on"])


def failed(database: Database, query: str, error: TqError) -> None:
    database.fetch(FAILED, query, error.code, error.message, error.detail, error.hint, _calls(error))


def waits(database: Database, query: str, error: TqError | None = None) -> None:
    """Back to the queue. error: why, where it is one."""
    if error is None:
        database.fetch(WAITS, query, None, None, None, None, "[]")
    else:
        database.fetch(WAITS, query, error.code, error.message, error.detail, error.hint, _calls(error))


def any_waits(database: Database) -> bool:
    return bool(database.fetch(ANY_WAITS)[0]["any_left"])


def _calls(error: TqError) -> str:
    return msgspec.json.encode(error.calls).decode()
