"""tq model: rows of tq.model, and their limits from the provider."""

from __future__ import annotations

import click

from tq_loader.commands import options


@click.group("model", short_help="Look at models, and take their limits from the provider.")
def group() -> None:
    """Look at models, and take their limits from the provider."""


@group.command("refresh")
@click.argument("name")
@options.url
@options.as_json
def refresh(name: str, url: str | None, as_json: bool) -> None:
    """Take the limits of the model NAME from its provider's models endpoint.

    The server asks, with the key that it alone has.
    """
    from tq_loader.commands import render
    from tq_loader.commands.client import connected

    with connected(url) as connection:
        row = connection.execute(
            "SELECT name, input_tokens, output_tokens FROM tq.refresh_model(%s)", [name]
        ).fetchone()
    assert row is not None
    if as_json:
        render.as_json(dict(row))
    else:
        click.echo(f"{row['name']}: {row['input_tokens']} tokens in, {row['output_tokens']} out")


@group.command("fit")
@click.argument("name")
@options.url
@options.as_json
def fit(name: str, url: str | None, as_json: bool) -> None:
    """Show the sizes that follow from the row of the model NAME."""
    from tq_loader.commands import render
    from tq_loader.commands.client import connected

    with connected(url) as connection:
        rows = connection.execute("SELECT * FROM tq.fit(%s)", [name]).fetchall()
    if as_json:
        render.as_json([dict(row) for row in rows])
    else:
        render.table(
            ("name", "value", "unit", "meaning"),
            [(row["name"], row["value"], row["unit"], row["meaning"]) for row in rows],
        )
