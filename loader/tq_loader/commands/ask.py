"""tq ask: a question, and its answers with what, why, how and quotes."""

from __future__ import annotations

import click

from tq_loader.commands import options


@click.command("ask")
@click.argument("doc")
@click.argument("question")
@click.option("--strategy", default="default", show_default=True, help="The use case's row of tq.strategy.")
@click.option("--explain", is_flag=True, help="Show the walk through the tree after the answers.")
@options.url
@options.as_json
def command(doc: str, question: str, strategy: str, explain: bool, url: str | None, as_json: bool) -> None:
    """Answer QUESTION from DOC.

    DOC is a name, name@version, an id, or a pattern with * ('*' asks every document).
    """
    from tq_loader.commands import render, visible
    from tq_loader.commands.client import connected

    with connected(url) as connection:
        rows = connection.execute(
            "SELECT * FROM tq.ask(doc => %s, question => %s, strategy => %s)", [doc, question, strategy]
        ).fetchall()
        walk: list[str] = []
        query = rows[0]["query_id"] if rows else None
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
