"""tq status: how far the documents are, and what waits in the queues."""

from __future__ import annotations

import click

from tq_loader.commands import options


@click.command("status", short_help="Show how far documents are, and the queues.")
@click.argument("doc", required=False)
@options.url
@options.as_json
def command(doc: str | None, url: str | None, as_json: bool) -> None:
    """Show how far documents are, why one failed, and what waits in the queues.

    DOC is a name, in which * stands for anything.
    """
    from tq_loader.commands import render, visible
    from tq_loader.commands.client import connected

    with connected(url) as connection:
        documents = connection.execute(
            "SELECT document, version, status, step, done, total, started_at, finished_at, sqlstate, error, hint, waits_for "
            "FROM tq.progress WHERE %(like)s::text IS NULL OR document LIKE %(like)s ORDER BY document, version",
            {"like": None if doc is None else like(doc)},
        ).fetchall()
        queues = connection.execute("SELECT * FROM tq.queue ORDER BY queue").fetchall()
    if as_json:
        render.as_json({"documents": documents, "queues": queues})
        return
    if documents:
        render.table(
            ("document", "version", "status", "step", "done", "took"),
            [
                (
                    row["document"],
                    row["version"],
                    row["status"],
                    row["step"],
                    share(row["done"], row["total"]),
                    took(row["started_at"], row["finished_at"]),
                )
                for row in documents
            ],
        )
    else:
        click.echo(
            f"no document matches {visible.line(doc)}"
            if doc
            else "no documents yet; `tq load FILE` loads one"
        )
    for row in documents:
        if row["waits_for"]:
            click.echo(f"{visible.line(row['document'])}: waits for {row['waits_for']}")
        if row["sqlstate"]:
            click.echo(f"{visible.line(row['document'])}: {visible.line(row['error'])} [{row['sqlstate']}]")
            if row["hint"]:
                click.echo(f"  hint: {visible.line(row['hint'])}")
    click.echo()
    render.table(
        ("queue", "waiting", "in flight", "dead"),
        [(q["queue"], q["waiting"], q["in_flight"], q["dead"]) for q in queues],
    )


def like(pattern: str) -> str:
    """A name in which * stands for anything, as a pattern of LIKE."""
    for special in ("\\", "%", "_"):
        pattern = pattern.replace(special, "\\" + special)
    return pattern.replace("*", "%")


def share(done: object, total: object) -> str:
    """'3/7', or what is known of it."""
    if done is None:
        return ""
    return f"{done}" if total is None else f"{done}/{total}"


def took(started: object, finished: object) -> str:
    """Seconds between two times, as text; empty where one is missing."""
    from datetime import datetime

    if not isinstance(started, datetime) or not isinstance(finished, datetime):
        return ""
    return f"{(finished - started).total_seconds():.1f} s"
