"""tq migrate, doctor, version."""

from __future__ import annotations

import dataclasses
import importlib
import json
import platform
import sys

import click

from tq_loader.commands import options
from tq_loader.home import database_url
from tq_loader.problem import Problem


@click.command()
@options.url
@options.instance
@options.as_json
def migrate(url: str | None, instance: str | None, as_json: bool) -> None:
    """Bring a database to this version's schema and functions."""
    from tq_loader import migrate as migrating

    def say(line: str) -> None:
        click.echo(f"migrate: {line}", err=as_json)

    done = migrating.migrate(database_url(url, instance), say)
    if as_json:
        click.echo(json.dumps(dataclasses.asdict(done)))
    elif done.before == done.after:
        click.echo(f"migrate: schema {done.after} was there already; functions renewed")
    else:
        click.echo(f"migrate: schema is now {done.after}")


@click.command()
@options.url
@options.instance
@options.as_json
def doctor(url: str | None, instance: str | None, as_json: bool) -> None:
    """Check what people get wrong, and say how to mend it. Exit code 1 if something fails."""
    from tq_loader.commands import render
    from tq_loader.doctor import examine

    findings = examine(url, instance)
    if as_json:
        click.echo(json.dumps([dataclasses.asdict(finding) for finding in findings], indent=2))
    else:
        render.findings(findings)
    if any(finding.result == "fail" for finding in findings):
        sys.exit(1)


@click.command()
@options.url
@options.instance
@options.as_json
def version(url: str | None, instance: str | None, as_json: bool) -> None:
    """Print the versions of tq, Python and the server."""
    from tq_loader import __version__

    python, server = platform.python_version(), _server(url, instance)
    if as_json:
        click.echo(json.dumps({"tq": __version__, "commit": commit(), "python": python, "server": server}))
    else:
        click.echo(f"tq {__version__} (commit {commit()}), Python {python}, PostgreSQL {server}")


def commit() -> str:
    """The commit this copy was built from, or "n/a"."""
    try:
        built = importlib.import_module("tq_loader._build")
    except ImportError:
        return "n/a"
    return str(built.COMMIT)


def _server(url: str | None, instance: str | None) -> str:
    try:
        found = database_url(url, instance)
    except Problem:
        return "not running"
    import psycopg

    try:
        with psycopg.connect(found, connect_timeout=5) as connection:
            return connection.info.parameter_status("server_version") or "unknown"
    except psycopg.Error:
        return "not reached"
