"""The commands' connection to the database, and how they show what it refuses."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from tq_loader.commands import visible

if TYPE_CHECKING:
    import psycopg

Row = dict[str, Any]

# Undefined schema, table, function: the database is there, tq is not, or an older one.
_NOT_THERE = {"3F000", "42P01", "42883"}


@contextmanager
def connected(url: str | None) -> Iterator[psycopg.Connection[Row]]:
    """A connection in autocommit with rows as dicts. An error of the server ends the command with exit code 1."""
    import psycopg
    from psycopg.rows import dict_row

    from tq_loader.database import OWN_PATH_OF_SESSION
    from tq_loader.home import database_url

    with psycopg.connect(
        database_url(url), autocommit=True, row_factory=dict_row, application_name="tq"
    ) as connection:
        connection.execute(OWN_PATH_OF_SESSION)
        yield connection


def error_fields(error: psycopg.Error) -> dict[str, str | None]:
    """Code, message, detail and hint of a server's error, or of a server that is not reached."""
    diag = error.diag
    if diag.message_primary is None:
        said = " ".join(str(error).split())
        return {"code": "database", "message": said, "detail": None, "hint": "`tq doctor` looks closer"}
    hint = diag.message_hint
    if diag.sqlstate in _NOT_THERE and hint is None:
        hint = "the database has no tq, or an older one: run `tq migrate`"
    elif diag.sqlstate == "42501" and hint is None:
        hint = "to ask takes the role tq_reader, to load tq_loader, to work on the queues tq_worker"
    return {
        "code": diag.sqlstate,
        "message": diag.message_primary,
        "detail": diag.message_detail,
        "hint": hint,
    }


def say_error(
    about: str | None, code: str | None, message: str | None, detail: str | None, hint: str | None
) -> None:
    start = f"tq: {visible.line(about)}: " if about else "tq: "
    click.echo(f"{start}{visible.line(message)} [{code}]", err=True)
    if detail:
        click.echo(f"  detail: {visible.line(detail)}", err=True)
    if hint:
        click.echo(f"  hint: {visible.line(hint)}", err=True)
