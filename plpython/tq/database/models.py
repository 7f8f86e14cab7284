"""Models as rows; places and pauses shared by all sessions; stored replies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from tq.database.connection import Database, Row, Statement
from tq.model.driver import Reply
from tq.model.limits import Model

# Of the alias m. Prices as double precision: both adapters give a float.
COLUMNS = (
    "m.name AS model, m.driver, m.input_tokens, m.output_tokens,"
    " least(m.chars_per_token, m.shown_chars_per_token)::float8 AS chars_per_token, m.windows_per_call,"
    " m.summary_tokens, m.concurrency, m.timeout_seconds, m.delay_ms, m.slot, m.base_url, m.remote_name,"
    " m.input_price::float8 AS input_price, m.output_price::float8 AS output_price,"
    " m.cached_price::float8 AS cached_price, m.ingest_mode, m.batch_share::float8 AS batch_share"
)
FIELDS = tuple(name for name in Model.__slots__ if name != "name")

# Models that a setting names for one purpose.
BY_PURPOSE = Statement(
    f"SELECT substr(s.name, 7) AS purpose, s.value #>> '{{}}' AS wanted, {COLUMNS} FROM tq.setting AS s"
    " LEFT JOIN tq.model AS m ON m.name = s.value #>> '{}'"
    " WHERE s.name LIKE 'model\\_%' AND s.value #>> '{}' <> ''"
)
TAKE = Statement(
    "SELECT t.pause, t.places FROM tq_private.take_places($1, $2, $3, $4) AS t",
    ("int4", "int4", "int4[]", "int4"),
)
GIVE = Statement(
    "SELECT count(pg_advisory_unlock(1953591657, $1 * 1024 + u.place))::int AS n FROM unnest($2) AS u (place)",
    ("int4", "int4[]"),
)
PAUSE = Statement("SELECT tq_private.pause_model($1, $2)::text AS done", ("int4", "float8"))
RECALL = Statement("SELECT tq_private.recall_reply($1)::text AS reply", ("text",))
REPLIES_OF = Statement(
    "SELECT r.fingerprint, r.reply::text AS reply, r.accepted FROM tq_private.replies_of($1::uuid) AS r",
    ("text",),
)
INGEST_REPLIES = Statement(
    "SELECT r.fingerprint, r.reply::text AS reply FROM tq_private.ingest_replies($1) AS r", ("text[]",)
)
KEEP = Statement("SELECT tq_private.keep_replies($1, $2, $3)::text AS done", ("text[]", "text[]", "text[]"))
CORRECT = Statement("SELECT tq_private.correct_model($1, $2)::text AS done", ("text", "float8"))
DROP_OLD = Statement("SELECT tq_private.drop_old_replies()::text AS done")


def model_of(row: Row) -> Model | None:
    """The model of a row with COLUMNS, or None where there is none."""
    if row["model"] is None:
        return None
    # Rows of an older form lack what has a default.
    values = {name: row[name] for name in FIELDS if name in row}
    return Model(row["model"], **values)


def by_purpose(database: Database) -> dict[str, Model | str]:
    """purpose → its model where a setting names one; the bare name where there is no such model."""
    return {row["purpose"]: model_of(row) or row["wanted"] for row in database.fetch(BY_PURPOSE)}


class SharedGate:
    """Places of one model as advisory locks of this session: they hold across all sessions of the database, and a
    session that dies gives them back. `settle` ends the transaction that looking opened, where that is wanted."""

    def __init__(self, database: Database, model: Model, settle: Callable[[], None] = lambda: None) -> None:
        self._database = database
        self._model = model
        self._settle = settle
        self._held: list[int] = []
        self._pause = 0.0

    def take(self, count: int) -> int:
        row = self._database.fetch(TAKE, self._model.slot, self._model.concurrency, list(self._held), count)[
            0
        ]
        self._settle()
        self._pause = float(row["pause"])
        self._held += row["places"]
        return len(row["places"])

    def give(self, count: int) -> None:
        given, self._held = self._held[:count], self._held[count:]
        if given:
            self._database.fetch(GIVE, self._model.slot, given)
            self._settle()

    def pause(self, seconds: float) -> None:
        self._database.fetch(PAUSE, self._model.slot, seconds)
        self._settle()

    def paused(self) -> float:
        return self._pause


def gate_of(database: Database, model: Model, settle: Callable[[], None] = lambda: None) -> SharedGate | None:
    """The gate of a model that waits; one that computes needs none."""
    return None if model.computes or not model.slot else SharedGate(database, model, settle)


def encode(reply: Reply) -> str:
    return msgspec.json.encode(reply).decode()


def decode(text: str, free: bool) -> Reply:
    """A stored reply; a free one costs nothing now."""
    stored = msgspec.json.decode(text, type=Reply)
    return Reply(stored.data, 0, 0, 0, stored.rejected, True) if free else stored


class IngestMemory:
    """Stored replies of ingest. Only accepted ones are kept: a step that failed is to be tried anew."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._fresh: dict[str, tuple[str, Reply]] = {}

    def recall(self, fingerprint: str) -> Reply | None:
        rows = self._database.fetch(INGEST_REPLIES, [fingerprint])
        self._database.commit()
        return decode(rows[0]["reply"], True) if rows else None

    def keep(self, fingerprint: str, purpose: str, reply: Reply, accepted: bool) -> Reply:
        if accepted:
            self._fresh[fingerprint] = (purpose, reply)
        return reply

    def flush(self) -> None:
        """Write what has come, in a transaction of its own: it stays whatever becomes of the step."""
        if not self._fresh:
            return
        fresh, self._fresh = self._fresh, {}
        self._database.fetch(
            KEEP,
            list(fresh),
            [purpose for purpose, _ in fresh.values()],
            [encode(r) for _, r in fresh.values()],
        )
        self._database.commit()


class QuestionMemory:
    """Replies of one question. Earlier ones of the same asker are taken where they were accepted; a replay takes those
    of the question replayed, and no other. resumed: a question whose attempt broke off; what it had got costs nothing."""

    def __init__(
        self,
        database: Database,
        reuse: bool = True,
        replayed: str | None = None,
        resumed: str | None = None,
    ) -> None:
        self._database = database
        self._reuse = reuse
        self._known: dict[str, Reply] = {}
        self._all: list[dict[str, Any]] = []
        self._given = 0
        if resumed is not None:
            self._known = {
                row["fingerprint"]: decode(row["reply"], True)
                for row in database.fetch(REPLIES_OF, resumed)
                if row["accepted"]
            }
        self.replaying = replayed is not None
        if replayed is not None:
            self._known = {
                row["fingerprint"]: decode(row["reply"], False)
                for row in database.fetch(REPLIES_OF, replayed)
            }

    def recall(self, fingerprint: str) -> Reply | None:
        if (known := self._known.get(fingerprint)) is not None or self.replaying or not self._reuse:
            return known
        text = self._database.fetch(RECALL, fingerprint)[0]["reply"]
        if text is None:
            return None
        reply = decode(text, True)
        self._note(fingerprint, "", reply, True)
        return reply

    def keep(self, fingerprint: str, purpose: str, reply: Reply, accepted: bool) -> Reply:
        if (known := self._known.get(fingerprint)) is not None:
            return known  # asked twice at once: one reply counts, or a replay would differ
        self._note(fingerprint, purpose, reply, accepted)
        return reply

    def _note(self, fingerprint: str, purpose: str, reply: Reply, accepted: bool) -> None:
        self._known[fingerprint] = reply
        self._all.append(
            {
                "fingerprint": fingerprint,
                "purpose": purpose,
                "reply": msgspec.to_builtins(reply),
                "accepted": accepted,
            }
        )

    def trace(self) -> Sequence[dict[str, Any]]:
        return self._all

    def fresh(self) -> Sequence[dict[str, Any]]:
        """What has come since the last call."""
        given, self._given = self._given, len(self._all)
        return self._all[given:]
