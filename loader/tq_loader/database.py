"""The engine's database protocol over psycopg, for a worker outside the server."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import psycopg
from psycopg.rows import dict_row

from tq.database.connection import Row, Statement

# What a command asks means the server's own functions, whatever somebody made that fits better.
OWN_PATH_OF_SESSION = "SET search_path = pg_catalog, pg_temp"


@cache
def _typed(statement: Statement) -> str:
    """The statement with the type of each parameter written out: inside the server the plan knows it."""
    return re.sub(
        r"\$(\d+)", lambda match: f"${match[1]}::{statement.types[int(match[1]) - 1]}", statement.sql
    )


class PsycopgDatabase:
    """One connection, not in autocommit mode. `watch` is called on every pulse and may raise to end what runs."""

    def __init__(self, connection: psycopg.Connection[Any], watch: Callable[[], None] = lambda: None) -> None:
        self._connection = connection
        self._watch = watch

    @classmethod
    def connect(
        cls, url: str, watch: Callable[[], None] = lambda: None, timeout: int | None = None
    ) -> PsycopgDatabase:
        """A connection made for long work: no statement timeout, the names that our functions see, and a name that
        pg_stat_activity shows. ``timeout``: seconds to wait for it."""
        connection = psycopg.connect(
            url,
            application_name="tq worker",
            options="-c statement_timeout=0 -c search_path=pg_catalog,tq,pg_temp",
            connect_timeout=timeout,
        )
        return cls(connection, watch)

    @property
    def lost(self) -> bool:
        """Whether the connection has ended."""
        return self._connection.closed

    def fetch(self, statement: Statement, *values: Any) -> list[Row]:
        with psycopg.RawCursor(self._connection, row_factory=dict_row) as cursor:
            cursor.execute(_typed(statement), values)
            return cursor.fetchall() if cursor.description else []

    def stream(self, statement: Statement, *values: Any, size: int = 5000) -> Iterator[list[Row]]:
        with psycopg.RawServerCursor(self._connection, "tq_stream", row_factory=dict_row) as cursor:
            cursor.execute(_typed(statement), values)
            while rows := cursor.fetchmany(size):
                yield rows

    def commit(self) -> None:
        self._connection.commit()

    def rollback(self) -> None:
        self._connection.rollback()

    def pulse(self) -> None:
        self._watch()

    def close(self) -> None:
        self._connection.close()
