"""tq tables: the tables of a document, as Markdown."""

from __future__ import annotations

import click

from tq_loader.commands import options


@click.command("tables")
@click.argument("doc")
@click.option("--line", type=click.IntRange(min=1), metavar="N", help="Only the table that this line is in.")
@options.url
@options.as_json
def command(doc: str, line: int | None, url: str | None, as_json: bool) -> None:
    """Print the tables of DOC as Markdown, each below its lines, its page and its caption.

    DOC is a name or name@version; tables of every format are found, also those of scanned pages.
    """
    from tq_loader.commands import render, visible
    from tq_loader.commands.client import connected

    with connected(url) as connection:
        found = connection.execute("SELECT * FROM tq.tables(%s, %s)", [doc, line]).fetchall()
    if as_json:
        render.as_json(found)
        return
    for table in found:
        place = f"{doc}:{table['line_start']}-{table['line_end']}"
        page = f" (page {table['page']})" if table["page"] else ""
        click.echo(click.style(visible.line(place + page), fg="blue"))
        if table["caption"]:
            click.echo(visible.line(table["caption"]))
        click.echo(f"\n{visible.lines(table['markdown'])}\n")
    if not found:
        click.echo("no table is there")
