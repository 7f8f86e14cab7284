"""What the SQL bodies call: one function a body, and the way from TqError to an error of PostgreSQL."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from importlib import import_module
from typing import Any, ParamSpec, TypeVar

from tq.errors import TqError

P = ParamSpec("P")
R = TypeVar("R")

# What a session imports first, in steps of some 20 ms each.
HEAVY = (
    "msgspec",
    "tq.text.tokens",
    "tq.text.quantities",
    "tq.model.tasks",
    "tq.ask.records",
    "tq.model.extractive",
    "tq.ask.question",
)


def _import(plpy: Any) -> None:
    """Imports the engine once a session; a cancel or statement_timeout gets through after each step."""
    from tq.database.connection import PlpyDatabase

    if HEAVY[-1] not in sys.modules:
        for name in HEAVY:
            import_module(name)
            PlpyDatabase(plpy).pulse()


def reported(function: Callable[P, R]) -> Callable[P, tuple[R | None, str | None]]:
    """A function whose first argument is plpy, with its result and its problem, one of which is None.

    The problem is JSON: {"code", "message", "detail", "hint"}. PL/Python would put the class's name before the message
    of an error raised here, and a traceback behind it: tq_private.raise_problem() raises it instead.
    """

    @wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> tuple[R | None, str | None]:
        plpy: Any = args[0]
        try:
            _import(plpy)
            return function(*args, **kwargs), None
        except TqError as error:
            return None, _problem(error.code, error.message, error.detail, error.hint)
        except plpy.SPIError as error:
            from tq.database.connection import refusal

            if (said := refusal(error)) is None:
                raise
            return None, _problem(said.sqlstate, said.message, said.detail, said.hint)

    return run


def _problem(code: str, message: str, detail: str | None, hint: str | None) -> str:
    import json

    return json.dumps({"code": code, "message": message, "detail": detail, "hint": hint})


@reported
def work(plpy: Any, seconds: int, until_empty: bool) -> int:
    """CALL tq.work(): work for so many seconds, committing between steps; how many messages."""
    from tq.database.connection import PlpyDatabase
    from tq.ingest.worker import begin_work

    return begin_work(PlpyDatabase(plpy), seconds, until_empty)


@reported
def ask_walk(plpy: Any, doc: str | None, question: str | None, strategy: str | None) -> str:
    """tq.ask() without its record: answers and trace as JSON."""
    import msgspec

    from tq.ask.question import ask
    from tq.database.connection import PlpyDatabase

    return msgspec.json.encode(ask(PlpyDatabase(plpy), doc, question, strategy, say=plpy.notice)).decode()


@reported
def select_walk(plpy: Any, doc: str | None, question: str | None, mode: str | None) -> str:
    """tq.select() without the text of its sections, as JSON."""
    import msgspec

    from tq.ask.question import select
    from tq.database.connection import PlpyDatabase

    return msgspec.json.encode(select(PlpyDatabase(plpy), doc, question, mode)).decode()


@reported
def modes_walk(plpy: Any, doc: str | None, question: str | None, strategy: str | None) -> str:
    """tq.compare_modes() as JSON."""
    import msgspec

    from tq.ask.question import compare_modes
    from tq.database.connection import PlpyDatabase

    return msgspec.json.encode(compare_modes(PlpyDatabase(plpy), doc, question, strategy)).decode()


@reported
def replay_walk(plpy: Any, query: str) -> str:
    """tq.replay() without the ids: answers as JSON."""
    import msgspec

    from tq.ask.question import replay
    from tq.database.connection import PlpyDatabase
    from tq.thread.begin import begin

    return msgspec.json.encode(replay(PlpyDatabase(plpy), query, begin_at=begin)).decode()


@reported
def follow_walk(plpy: Any, thread: str, question: str | None, strategy: str | None) -> str:
    """tq.follow_up() without its record: answers and trace as JSON."""
    import msgspec

    from tq.database.connection import PlpyDatabase
    from tq.thread.begin import follow_up

    return msgspec.json.encode(follow_up(PlpyDatabase(plpy), thread, question, strategy)).decode()


@reported
def fit_of(plpy: Any, model: str | None) -> str:
    """tq.fit() as JSON."""
    import msgspec

    from tq.database.connection import PlpyDatabase
    from tq.ingest.told import fit_of

    return msgspec.json.encode(fit_of(PlpyDatabase(plpy), model)).decode()


@reported
def limits_of(plpy: Any, model: str | None) -> str:
    """What a provider says of a model, as JSON."""
    import msgspec

    from tq.database.connection import PlpyDatabase
    from tq.ingest.told import limits_of

    return msgspec.json.encode(limits_of(PlpyDatabase(plpy), model)).decode()


@reported
def estimate_of(plpy: Any, doc: str | None, content: bytes | None, model: str | None) -> str:
    """tq.estimate() as JSON."""
    import msgspec

    from tq.database.connection import PlpyDatabase
    from tq.ingest.told import estimate_of

    return msgspec.json.encode(estimate_of(PlpyDatabase(plpy), doc, content, model)).decode()


@reported
def source_of(plpy: Any, document: str) -> bytes:
    """tq.source(): a document's bytes."""
    from tq.database.connection import PlpyDatabase
    from tq.store.serve import source

    return source(PlpyDatabase(plpy), document)


@reported
def source_url_of(plpy: Any, document: str) -> str | None:
    """tq.source_url(): where a document's bytes can be fetched."""
    from tq.database.connection import PlpyDatabase
    from tq.store.serve import source_url

    return source_url(PlpyDatabase(plpy), document)


@reported
def page_image_of(plpy: Any, document: str, request: str) -> bytes:
    """tq.page_image(): a page as PNG."""
    from tq.database.connection import PlpyDatabase
    from tq.store.picture import page_image

    return page_image(PlpyDatabase(plpy), document, request)


@reported
def blob_moved(plpy: Any, sha256: str, target: str) -> int | None:
    """One blob to another store."""
    from tq.database.connection import PlpyDatabase
    from tq.store.serve import move_blob

    return move_blob(PlpyDatabase(plpy), sha256, target)


@reported
def copy_dropped(plpy: Any, message: int) -> bool:
    """The old copy of a moved blob."""
    from tq.database.connection import PlpyDatabase
    from tq.store.serve import drop_copy

    return drop_copy(PlpyDatabase(plpy), message)


@reported
def query_walk(plpy: Any, query: str, search_path: str, time_zone: str) -> dict[str, Any]:
    """The rows of tq.load_query() and tq.refresh(), as a tq_private.query_result."""
    from tq.records.query import run_query

    return run_query(plpy, query, search_path, time_zone)


@reported
def record_walk(plpy: Any, document: str, line_start: int, line_end: int) -> str:
    """tq.record() as a JSON array."""
    import json

    from tq.records.show import show

    return json.dumps(show(plpy, document, line_start, line_end), ensure_ascii=False)


@reported
def expression_of(plpy: Any, setting: str, expression: str) -> str:
    """A strategy's scope or source_rule as a tree, in JSON."""
    import msgspec

    from tq.database.connection import PlpyDatabase
    from tq.database.strategies import expression_of

    return msgspec.json.encode(expression_of(PlpyDatabase(plpy), setting, expression)).decode()


@reported
def rerank_of(plpy: Any, query: str, strategy: str | None) -> str:
    """tq.rerank() as JSON."""
    import msgspec

    from tq.database.connection import PlpyDatabase
    from tq.strategy.rerank import rerank

    return msgspec.json.encode(rerank(PlpyDatabase(plpy), query, strategy)).decode()


@reported
def text_of(plpy: Any, question: str, answers: str, format: str, language: str) -> str:
    """tq.answer_text()."""
    import msgspec

    from tq.strategy.formats import write

    return write(msgspec.json.decode(question), msgspec.json.decode(answers), format, language)
