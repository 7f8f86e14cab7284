"""How the engine sees the database: one small protocol, and the adapter that runs it inside the server.

Rows come back as dicts of plain values (str, int, float, bool, bytes, None, lists of them): statements cast uuid, jsonb,
numeric and timestamps to text, and take them as text, so that both adapters give the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

Row = dict[str, Any]

# The names that our functions see, for the rest of a transaction. A procedure that commits can have no SET clause: each
# of its transactions begins with this, and its caller's path comes back by itself.
OWN_PATH = "SELECT pg_catalog.set_config('search_path', 'pg_catalog, tq, pg_temp', TRUE)"


@dataclass(frozen=True, slots=True)
class Statement:
    """SQL with $1-style parameters and the SQL type of each."""

    sql: str
    types: tuple[str, ...] = ()


class Database(Protocol):
    """A session. Outside a procedure `commit` must not be called."""

    def fetch(self, statement: Statement, *values: Any) -> list[Row]:
        """Run one statement; its rows, or [] for one that returns none."""
        ...

    def stream(self, statement: Statement, *values: Any, size: int = 5000) -> Iterator[list[Row]]:
        """Rows of a query in lists of at most `size`, within one transaction."""
        ...

    def commit(self) -> None: ...

    def rollback(self) -> None: ...

    def pulse(self) -> None:
        """Let a cancel or statement_timeout through; call it every 100 ms of waiting or computing."""
        ...


@dataclass(frozen=True, slots=True)
class Refusal:
    """What the server said of a statement that failed."""

    sqlstate: str
    message: str
    detail: str | None = None
    hint: str | None = None


def refusal(error: BaseException) -> Refusal | None:
    """What the server said, from an error of either adapter; None for an error that is not the server's."""
    data = getattr(
        error, "spidata", None
    )  # of plpy, whose error has a sqlstate only where its class is a named one
    if data:
        packed, detail, hint = data[:3]
        sqlstate = "".join(chr(ord("0") + ((packed >> (6 * place)) & 0x3F)) for place in range(5))
        return Refusal(sqlstate, str(error), detail, hint)
    said = getattr(error, "diag", None)  # of psycopg; it has no sqlstate where the connection was lost
    if said is not None and said.sqlstate:
        return Refusal(said.sqlstate, said.message_primary, said.message_detail, said.message_hint)
    return None


class PlpyDatabase:
    """The adapter inside the server."""

    # Plans live as long as the session; PostgreSQL plans them anew when role, search_path or a table changes.
    _plans: ClassVar[dict[Statement, Any]] = {}

    def __init__(self, plpy: Any) -> None:
        self._plpy = plpy
        self._begins = False  # a transaction of our own, in which nothing was said yet

    def _plan(self, statement: Statement) -> Any:
        # Not at once after a commit: a statement takes a snapshot, and whoever waits for a model holds none.
        if self._begins:
            self._begins = False
            self._plpy.execute(OWN_PATH)
        plan = self._plans.get(statement)
        if plan is None:
            plan = self._plans[statement] = self._plpy.prepare(statement.sql, list(statement.types))
        return plan

    def fetch(self, statement: Statement, *values: Any) -> list[Row]:
        return list(self._plpy.execute(self._plan(statement), list(values)))

    def stream(self, statement: Statement, *values: Any, size: int = 5000) -> Iterator[list[Row]]:
        cursor = self._plpy.cursor(self._plan(statement), list(values))
        try:
            while rows := cursor.fetch(size):
                yield list(rows)
        finally:
            cursor.close()

    def commit(self) -> None:
        self._plpy.commit()
        self._begins = True

    def rollback(self) -> None:
        self._plpy.rollback()
        self._begins = True

    def pulse(self) -> None:
        self._plpy.execute("SELECT 1")
