"""tq status: how far documents and questions are, and what waits in the queues."""

from __future__ import annotations

import click

from tq_loader.commands import options

# Questions of the queue that are not through, and those that failed a short while ago.
QUESTIONS = """
SELECT id AS query_id, question, document, strategy, status, reads, asked_at, sqlstate, error, hint FROM tq.query
WHERE status IN ('waiting', 'asking') OR status = 'failed' AND finished_at > now() - interval '1 hour'
ORDER BY asked_at DESC LIMIT 20
"""


@click.command("status", short_help="Show how far documents and questions are, and the queues.")
@click.argument("doc", required=False)
@options.url
@options.as_json
def command(doc: str | None, url: str | None, as_json: bool) -> None:
    """Show how far documents are, why one failed, and what waits in the queues.

    DOC is a name, in which * stands for anything. Questions of tq.ask_later are yours, as far as they are not answered.
    """
    from tq_loader.commands import render, visible
    from tq_loader.commands.client import connected

    with connected(url) as connection:
        documents = connection.execute(
            "SELECT document, version, status, step, done, total, started_at, finished_at, sqlstate, error, hint, waits_for "
            "FROM tq.progress WHERE %(like)s::text IS NULL OR document LIKE %(like)s ORDER BY document, version",
            {"like": None if doc is None else like(doc)},
        ).fetchall()
        questions = [] if doc else connection.execute(QUESTIONS).fetchall()
        queues = connection.execute("SELECT * FROM tq.queue ORDER BY queue").fetchall()
    if as_json:
        render.as_json({"documents": documents, "questions": questions, "queues": queues})
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
    if questions:
        click.echo()
        render.table(
            ("question", "of", "status", "nodes read", "query_id"),
            [
                (render.short(q["question"], 50), q["document"], q["status"], q["reads"], q["query_id"])
                for q in questions
            ],
        )
    for question in questions:
        if question["sqlstate"]:
            click.echo(f"{question['query_id']}: {visible.line(question['error'])} [{question['sqlstate']}]")
            if question["hint"]:
                click.echo(f"  hint: {visible.line(question['hint'])}")
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
