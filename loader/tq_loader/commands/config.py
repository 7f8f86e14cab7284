"""tq config: what tq goes by, and whether it holds."""

from __future__ import annotations

import dataclasses
import sys

import click

from tq_loader.commands import options


@click.group("config", short_help="Print or check every setting, model and strategy.")
def group() -> None:
    """Print or check every setting, model and strategy."""


@group.command("print")
@options.url
@options.instance
@options.as_json
def printed(url: str | None, instance: str | None, as_json: bool) -> None:
    """Print every value, its default, and where it comes from.

    A setting is changed by UPDATE tq.setting SET value = …, a model or strategy by its row.
    """
    import psycopg

    from tq_loader.commands import render
    from tq_loader.config import values
    from tq_loader.home import database_url

    with psycopg.connect(database_url(url, instance), autocommit=True, application_name="tq") as connection:
        found = values(connection, url, instance)
    if as_json:
        render.as_json([dataclasses.asdict(value) for value in found])
        return
    for kind in ("command", "setting", "model", "strategy"):
        rows = [value for value in found if value.kind == kind]
        if kind != "command":
            click.echo()
        # A setting is a row with one value; its name is enough.
        render.table(
            (kind, "", "value", "default", "comes from"),
            [
                (
                    value.of,
                    "" if kind == "setting" else value.name,
                    render.short(value.value),
                    "" if value.value == value.default else render.short(value.default),
                    value.comes_from,
                )
                for value in rows
            ],
        )


@group.command("check")
@options.url
@options.instance
@options.as_json
def checked(url: str | None, instance: str | None, as_json: bool) -> None:
    """Check that all values hold together, and say what to do where they do not. Exit code 1 if something fails.

    Limits of every row, sizes that follow from a model, strategies with their expressions and rules, models that
    settings and strategies name, keys that the server has for them, and the store of files.
    """
    import psycopg

    from tq_loader.commands import render
    from tq_loader.config import findings
    from tq_loader.home import database_url

    with psycopg.connect(database_url(url, instance), autocommit=True, application_name="tq") as connection:
        found = findings(connection)
    if as_json:
        render.as_json([dataclasses.asdict(finding) for finding in found])
    else:
        render.findings(found)
    if any(finding.result == "fail" for finding in found):
        sys.exit(1)
