"""Runs a file of SQL through the raw connection, and says on which line it failed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import psycopg

# What may hide a semicolon, or is one. Dollar quotes and nested comments are finished by hand.
_TOKEN = re.compile(
    r"""--[^\n]*
      | /\*
      | (?<![\w$])[eE]'(?:[^'\\]|''|\\.)*'
      | '(?:[^']|'')*'
      | "(?:[^"]|"")*"
      | (?<![\w$])\$(?:[A-Za-z_\x80-\uffff][\w]*)?\$
      | [A-Za-z_\x80-\uffff][\w$]*
      | [;()]
      | \S""",
    re.VERBOSE | re.DOTALL,
)


class ScriptError(Exception):
    """A statement of a file failed.

    Attributes:
        where: file:line, the line of the error's position or else of the statement's first word.
        said: message, SQLSTATE, and the server's DETAIL where it gave one.
        hint: the server's HINT, or None.
    """

    def __init__(self, where: str, said: str, hint: str | None, sqlstate: str | None) -> None:
        self.where = where
        self.said = said
        self.hint = hint
        self.sqlstate = sqlstate
        super().__init__(f"{where}: {said}")


def run_script(connection: psycopg.Connection[Any], text: str, name: str) -> None:
    """Runs all statements of `text` as one message to the server, inside the connection's transaction.

    The text goes as it is, so % and :x are ordinary characters. Results are counted, which tells the failing
    statement even where the server gives no position.

    Raises:
        ScriptError: the first statement that failed.
    """
    from psycopg import errors, pq

    connection.execute("SELECT 1")  # makes psycopg open the transaction
    low = connection.pgconn
    low.send_query(text.encode("utf-8"))
    done = 0
    failed = None
    while (result := low.get_result()) is not None:
        if result.status == pq.ExecStatus.FATAL_ERROR:
            failed = result
        elif result.status in (pq.ExecStatus.COPY_IN, pq.ExecStatus.COPY_OUT, pq.ExecStatus.COPY_BOTH):
            raise ScriptError(name, "COPY cannot be used in a file of SQL", None, None)
        else:
            done += 1
    if failed is None:
        return
    error = errors.error_from_result(failed, encoding="utf-8")
    diag = error.diag
    position = diag.statement_position
    if position is not None and diag.internal_query is None:
        offset = int(position) - 1
    else:
        starts = list(statement_starts(text))
        offset = starts[done] if done < len(starts) else 0
    line = text.count("\n", 0, offset) + 1
    said = f"{diag.message_primary} [{diag.sqlstate}]"
    if diag.message_detail:
        said += f" ({diag.message_detail})"
    if diag.context:
        said += f" — {diag.context.splitlines()[0]}"
    raise ScriptError(f"{name}:{line}", said, diag.message_hint, diag.sqlstate) from error


def statement_starts(text: str) -> Iterator[int]:
    """The offset of each statement's first word, as the server counts statements: empty ones not at all."""
    position = 0
    start: int | None = None
    depth = 0  # of parentheses
    body = 0  # of BEGIN ATOMIC … END, whose semicolons belong to one statement
    previous = ""
    while (match := _TOKEN.search(text, position)) is not None:
        token = match.group()
        position = match.end()
        if token.startswith("--"):
            continue
        if token == "/*":
            position = _comment_end(text, position)
            continue
        if token == ";" and depth == 0 and body == 0:
            if start is not None:
                yield start
            start, previous = None, ""
            continue
        if start is None:
            start = match.start()
        if token.startswith("$") and token.endswith("$") and len(token) > 1:
            closing = text.find(token, position)
            position = len(text) if closing < 0 else closing + len(token)
        elif token == "(":
            depth += 1
        elif token == ")":
            depth = max(0, depth - 1)
        else:
            word = token.lower()
            if word == "atomic" and previous == "begin":
                body = 1
            elif body and word == "case":
                body += 1
            elif body and word == "end":
                body -= 1
            previous = word
    if start is not None:
        yield start


def _comment_end(text: str, position: int) -> int:
    """Where a comment ends whose opening ends at `position`; comments of SQL nest."""
    depth = 1
    for match in re.compile(r"/\*|\*/").finditer(text, position):
        depth += 1 if match.group() == "/*" else -1
        if depth == 0:
            return match.end()
    return len(text)
