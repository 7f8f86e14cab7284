"""The commands' connection to the database, and how they show what it refuses."""

from __future__ import annotations

import sys
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

    from tq_loader.home import database_url

    with psycopg.connect(
        database_url(url), autocommit=True, row_factory=dict_row, application_name="tq"
    ) as connection:
        try:
            yield connection
        except psycopg.Error as error:
            if error.diag.message_primary is None:
                raise
            show_error(error)
            sys.exit(1)


def error_fields(error: psycopg.Error) -> dict[str, str | None]:
    """Code, message, detail and hint of a server's error."""
    diag = error.diag
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


def show_error(error: psycopg.Error, about: str | None = None) -> None:
    """An error of the server on standard error: message and code, then detail and hint, a line each."""
    fields = error_fields(error)
    say_error(about, fields["code"], fields["message"], fields["detail"], fields["hint"])


def say_error(
    about: str | None, code: str | None, message: str | None, detail: str | None, hint: str | None
) -> None:
    start = f"tq: {visible.line(about)}: " if about else "tq: "
    click.echo(f"{start}{visible.line(message)} [{code}]", err=True)
    if detail:
        click.echo(f"  detail: {visible.line(detail)}", err=True)
    if hint:
        click.echo(f"  hint: {visible.line(hint)}", err=True)
