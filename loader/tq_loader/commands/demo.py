"""tq demo: three documents through the queue, then questions, each with the SQL that asks it."""

from __future__ import annotations

import textwrap
import time
from typing import TYPE_CHECKING, Any

import click

from tq_loader.commands import options

if TYPE_CHECKING:
    import psycopg

POLICY = "demo/clinic-policy-2024.pdf"
HANDBOOK = "demo/front-desk-handbook.md"
LOG = "demo/operations-log-2024.md"

FACTS = """\
SELECT d.name AS document, d.status, d.line_count AS lines, count(*) FILTER (WHERE n.is_leaf) AS leaves,
    count(*) AS nodes, max(n.depth) AS depth
FROM tq.document AS d JOIN tq.node AS n ON n.document_id = d.id
WHERE d.current AND d.name LIKE 'demo/%' GROUP BY d.id ORDER BY d.name;"""

# Heading, what to look at, document, question, how many of the answers.
QUESTIONS = (
    (
        "A lookup",
        "The quote stands in the PDF, byte for byte, on the page and line named.",
        POLICY,
        "How much is the fee for a missed appointment?",
        1,
    ),
    (
        "A disagreement",
        "The signed policy and the handbook differ. Neither is picked in silence: both are shown with their "
        "sources, and a person has to decide.",
        "demo/*",
        "How much notice is needed to cancel an appointment?",
        2,
    ),
    (
        "A disagreement in other words",
        "“six weeks” and “2 weeks” are compared as numbers of one unit.",
        "demo/*",
        "How long are unclaimed prescriptions kept at the front desk?",
        2,
    ),
    (
        "A fact in a long document",
        "The log has more than 5,000 lines. The walk opens a few nodes of its tree, and the lines of few leaves.",
        LOG,
        "What did the new vaccine refrigerator cost?",
        1,
    ),
    (
        "What nothing settles",
        "No document says it, and so no answer does.",
        "demo/*",
        "What does a dental implant cost?",
        1,
    ),
)


@click.command("demo", short_help="Load three documents and ask them questions.")
@options.url
def command(url: str | None) -> None:
    """Load three documents and ask them questions, showing the SQL of each step."""
    from tq_loader.commands.client import connected

    with connected(url) as connection:
        load(connection, url)
        first: str | None = None
        for number, (title, remark, doc, question, most) in enumerate(QUESTIONS, start=2):
            query = ask(connection, f"{number}. {title}", remark, doc, question, most)
            first = first or query
        outline(connection, f"{len(QUESTIONS) + 2}. The tree of the policy")
        explain(connection, f"{len(QUESTIONS) + 3}. The walk of the first question, explained", first)
    click.echo()
    click.echo(
        "The documents stay. Ask on with `.venv/bin/tq ask 'demo/*' \"your question\"`, or in `make psql`."
    )


def headline(title: str, remark: str = "") -> None:
    from tq_loader.commands import render

    click.echo()
    click.echo(click.style(f"━━ {title} ".ljust(render.width(), "━"), bold=True))
    for line in textwrap.wrap(remark, render.width()):
        click.echo(line)
    click.echo()


def sql(text: str) -> None:
    """Show a statement as it is sent."""
    for line in text.splitlines():
        click.echo(click.style(f"tq=> {line}" if line == text.splitlines()[0] else f"     {line}", fg="blue"))


def literal(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def load(connection: psycopg.Connection[dict[str, Any]], url: str | None) -> None:
    """Queue the three documents, work until they are ready, and say what each is."""
    from tq_loader.commands import render
    from tq_loader.demo.build import documents

    headline(
        "1. Three documents, loaded through the queue",
        "A policy as PDF, a handbook of the front desk, and a year's operations log, all written for this demo.",
    )
    wanted = documents()
    for document in wanted:
        shown = (
            f"SELECT tq.load(name => {literal(document.name)}, content => $1,  -- {len(document.content):,} bytes\n"
            f"    media_type => {literal(document.media_type)}, source_weight => {document.weight:g}, "
            f"effective_on => {literal(document.effective_on)},\n"
            f"    questions => $2);  -- {len(document.questions)}, such as {literal(document.questions[0])}"
        )
        sql(shown)
        loaded = connection.execute(
            "SELECT tq.load(name => %s, content => %s, media_type => %s, source_weight => %s::real, "
            "effective_on => %s::date, questions => %s)::text AS id",
            [
                document.name,
                document.content,
                document.media_type,
                document.weight,
                document.effective_on,
                list(document.questions),
            ],
        ).fetchone()
        assert loaded is not None
        # A demo that failed before, for whatever reason, begins again.
        connection.execute(
            "SELECT tq.retry(p.document_id::text) FROM tq.progress AS p "
            "WHERE p.document_id = %s::uuid AND p.status = 'failed'",
            [loaded["id"]],
        )
    click.echo()
    work = "CALL tq.work(seconds => 55, until_empty => true);"
    sql(work)
    names = [document.name for document in wanted]
    began = time.monotonic()
    while True:
        connection.execute(work)
        rows = connection.execute(
            "SELECT DISTINCT ON (document) * FROM tq.progress WHERE document = ANY (%s) "
            "ORDER BY document, version DESC",
            [names],
        ).fetchall()
        if all(row["status"] in ("ready", "failed") for row in rows):
            break
        if time.monotonic() - began > 600:
            raise click.ClickException("the documents were not ready after 10 minutes; see `tq status`")
        time.sleep(0.5)
    click.echo()
    sql(FACTS)
    click.echo()
    facts = connection.execute(FACTS.encode()).fetchall()
    if facts:
        render.table(tuple(facts[0]), [tuple(fact.values()) for fact in facts])
    failed = [row for row in rows if row["status"] != "ready"]
    for row in failed:
        click.echo(f"{row['document']}: {row['error']} [{row['sqlstate']}]", err=True)
    if failed:
        raise click.ClickException("not every document could be loaded")


def ask(
    connection: psycopg.Connection[dict[str, Any]],
    title: str,
    remark: str,
    doc: str,
    question: str,
    most: int,
) -> str | None:
    """Ask, and show the statement and the answers. Returns the id of the recorded query."""
    from tq_loader.commands import render

    headline(title, remark)
    text = f"SELECT * FROM tq.ask({literal(doc)}, {literal(question)})\nWHERE rank <= {most};"
    sql(text)
    began = time.monotonic()
    rows = connection.execute(text.encode()).fetchall()
    elapsed = (time.monotonic() - began) * 1000
    click.echo()
    render.answers(rows)
    click.echo(
        click.style(f"\n({len(rows)} {'row' if len(rows) == 1 else 'rows'}, {elapsed:.0f} ms)", dim=True)
    )
    return str(rows[0]["query_id"]) if rows and rows[0]["query_id"] else None


def outline(connection: psycopg.Connection[dict[str, Any]], title: str) -> None:
    """Show the tree of the policy, the first bullet beside each leaf."""
    from tq_loader.commands import render

    headline(
        title,
        "Every line is in exactly one leaf; a parent's range is its children's. The database refuses anything else.",
    )
    text = f"SELECT depth, line_start, line_end, title, summary FROM tq.outline({literal(POLICY)});"
    sql(text)
    click.echo()
    for row in connection.execute(text.encode()):
        place = f"{row['line_start']}-{row['line_end']}"
        title = row["title"] or ("(whole document)" if row["depth"] == 0 else "(no heading)")
        start = "  " * row["depth"] + title
        line = f"{place:>9}  {start}"
        summary = (row["summary"] or "").splitlines()
        if row["depth"] > 0 and summary:
            room = render.width() - len(line) - 3
            if room > 24:
                line += click.style(
                    " · " + textwrap.shorten(summary[0].lstrip("-• "), room, placeholder="…"), dim=True
                )
        click.echo(line)


def explain(connection: psycopg.Connection[dict[str, Any]], title: str, query: str | None) -> None:
    """Show the recorded walk of a question."""
    from tq_loader.commands import render

    headline(
        title, "Each line is one node that was read, with the choice made there, the tokens and the time."
    )
    text = f"SELECT tq.explain({literal(query or '')});"
    sql(text)
    click.echo()
    if query is None:
        click.echo("No walk was recorded: the database takes no writes from this session.")
        return
    for row in connection.execute(text.encode()):
        line = str(next(iter(row.values())))
        indent = " " * (len(line) - len(line.lstrip()) + 4)
        for part in textwrap.wrap(line, render.width(), subsequent_indent=indent, break_long_words=False):
            click.echo(part)
