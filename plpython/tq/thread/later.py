"""A question of the queue: read with its asker's role, in transactions that end at every wait; its answers are kept as
they are found. An attempt that breaks off is begun again, and what the model had replied by then costs nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

from tq.ask.caller import Opener
from tq.ask.question import Asking, Queued, ask
from tq.database import later as sql
from tq.database.connection import Database, Row, Statement
from tq.errors import TqError
from tq.ingest.state import Superseded

LOOK_SECONDS = 1.0  # between two looks at whether it was cancelled
AGAIN = ("TQ101", "TQ102")  # errors of the model that go by: the question is asked again later


class MayNotAct(Exception):
    """The worker's role may not take the asker's."""


class AsAsker:
    """A session with the role of another, within transactions that end when it waits. Between them it is the worker's."""

    def __init__(self, database: Database, role: str, wait: Callable[[], None]) -> None:
        self._database = database
        self._role = role
        self._wait = wait
        self._inside = False

    def _enter(self) -> None:
        if self._inside:
            return
        try:
            sql.take_role(self._database, self._role)
        except Exception as error:
            state = getattr(error, "sqlstate", None)
            if state == "42501":
                raise MayNotAct from None
            if state in ("22023", "42704"):
                raise TqError(
                    "TQ030",
                    "query not allowed",
                    f"The role {self._role} that asked is gone.",
                    "Ask again as a role that is there.",
                ) from None
            raise
        self._inside = True

    def leave(self) -> None:
        """End the transaction; nothing was written in it."""
        if self._inside:
            self._inside = False
            self._database.rollback()

    def fetch(self, statement: Statement, *values: Any) -> list[Row]:
        self._enter()
        return self._database.fetch(statement, *values)

    def stream(self, statement: Statement, *values: Any, size: int = 5000) -> Iterator[list[Row]]:
        self._enter()
        return self._database.stream(statement, *values, size=size)

    def commit(self) -> None:
        raise AssertionError("a question never commits")

    rollback = commit

    def pulse(self) -> None:
        self._database.pulse()
        self.leave()
        self._wait()


def serve(
    database: Database, query: str, final: bool, beat: Callable[[], None], opener: Opener
) -> Callable[[], None]:
    """Ask a question of the queue. Returns what writes its end, for the transaction that deletes its message.

    final: this is the last attempt; beat: called at every wait, outside of transactions, and may raise to end early.
    Raises Superseded where the question is gone or was cancelled, MayNotAct, the error of a model that is to be asked
    again, and what is no error of the question's.
    """
    asked = sql.begin(database, query)
    database.commit()
    if asked is None:
        raise Superseded
    began = looked = time.perf_counter()
    reads = 0

    def elapsed_ms() -> float:
        return asked.elapsed_ms + (time.perf_counter() - began) * 1000

    def wait() -> None:
        nonlocal looked
        beat()
        if time.perf_counter() - looked > LOOK_SECONDS:
            looked = time.perf_counter()
            on = sql.goes_on(database, query, reads, elapsed_ms())
            database.commit()
            if not on:
                raise Superseded

    def heard(asking: Asking) -> None:
        nonlocal reads
        reads = asking.caller.done("read")
        answers, replies = asking.found(), asking.fresh_replies()
        session.leave()
        if not answers and not replies:
            return
        found = {
            "answers": answers,
            "replies": replies,
            "calls": asking.caller.told(),
            "reads": reads,
            "elapsed_ms": elapsed_ms(),
        }
        on = sql.found(database, query, found)
        database.commit()
        if not on:
            raise Superseded

    def again(error: TqError) -> bool:
        return error.code == "TQ101" or (error.code in AGAIN and not final)

    session = AsAsker(database, asked.asker, wait)
    try:
        answers = ask(
            session,
            asked.doc,
            asked.question,
            asked.strategy,
            opener,
            queued=Queued(query, asked.elapsed_ms / 1000, heard, again),
        )
    except TqError as error:
        session.leave()
        failure = error
        if again(error):
            raise
        return lambda: sql.failed(database, query, failure)
    except Exception as error:
        session.leave()
        if getattr(error, "sqlstate", None) != "42501":  # what the asker may not do now
            raise
        denied = TqError("42501", str(error), None, "Ask again with the rights that it takes (tq_reader).")
        return lambda: sql.failed(database, query, denied)
    session.leave()

    def end() -> None:
        if not sql.answered(database, query, answers):
            raise Superseded

    return end
