"""tq ask: a question, and its answers with what, why, how and quotes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from tq_loader.commands import options

if TYPE_CHECKING:
    import psycopg

Row = dict[str, Any]
FORMATS = ("rows", "json", "markdown", "text", "html")


@click.command("ask")
@click.argument("doc")
@click.argument("question")
@click.option("--strategy", default="default", show_default=True, help="The use case's row of tq.strategy.")
@click.option("--explain", is_flag=True, help="Show the walk through the tree after the answers.")
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMATS),
    help="How to write the answers.  [default: the strategy's]",
)
@options.url
@options.as_json
def command(
    doc: str, question: str, strategy: str, explain: bool, form: str | None, url: str | None, as_json: bool
) -> None:
    """Answer QUESTION from DOC.

    DOC is a name, name@version, an id, or a pattern with * ('*' asks every document).
    """
    from tq_loader.commands import render, visible
    from tq_loader.commands.client import connected

    if form is not None and as_json:
        raise click.UsageError("--json prints the rows; it does not go with --format.")
    if form not in (None, "rows") and explain:
        raise click.UsageError("--explain goes with rows and --json alone.")
    with connected(url) as connection:
        rows = connection.execute(
            "SELECT * FROM tq.ask(doc => %s, question => %s, strategy => %s)", [doc, question, strategy]
        ).fetchall()
        walk: list[str] = []
        query = rows[0]["query_id"] if rows else None
        if not as_json and not explain:
            form = form or _form(connection, strategy, rows)
            if form != "rows":
                text = _text(connection, doc, question, strategy, rows, form)
                click.echo(text if form == "json" else visible.lines(text), nl=False)
                return
        if explain and query is not None:
            walk = [
                str(row["explain"])
                for row in connection.execute("SELECT tq.explain(query => %s) AS explain", [query])
            ]
    if as_json:
        render.as_json({"answers": rows, "explain": walk} if explain else rows)
        return
    render.answers(rows)
    if walk:
        click.echo()
        for line in walk:
            click.echo(visible.line(line))
    elif explain:
        click.echo("\n  No walk was recorded: the database takes no writes from this session.")


def _setting(connection: psycopg.Connection[Row], strategy: str, rows: list[Row], setting: str) -> str:
    version = rows[0]["detail"].get("strategy_version")
    found = connection.execute(
        "SELECT value FROM tq.strategy_effective(name => %s, version => %s) WHERE setting = %s",
        [strategy, version, setting],
    ).fetchone()
    return str(found["value"]) if found else ""


def _form(connection: psycopg.Connection[Row], strategy: str, rows: list[Row]) -> str:
    return _setting(connection, strategy, rows, "format") or "rows"


def _text(
    connection: psycopg.Connection[Row], doc: str, question: str, strategy: str, rows: list[Row], form: str
) -> str:
    """The rows in a format: those of the record, or as they came where nothing is recorded."""
    if rows[0]["query_id"] is not None:
        found = connection.execute(
            "SELECT tq.answer_text(query_id => %s, format => %s) AS text", [rows[0]["query_id"], form]
        ).fetchone()
    else:
        asked = {
            "question": question,
            "document": doc,
            "strategy": strategy,
            "strategy_version": rows[0]["detail"].get("strategy_version"),
        }
        found = connection.execute(
            "SELECT (tq_private.text_of(%s::jsonb, %s::jsonb, %s, %s)).result AS text",
            [
                json.dumps(asked),
                json.dumps(rows, default=str),
                form,
                _setting(connection, strategy, rows, "language"),
            ],
        ).fetchone()
    assert found is not None
    return str(found["text"]) + ("\n" if form == "json" else "")
