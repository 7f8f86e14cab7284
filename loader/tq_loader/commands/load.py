"""tq load: files into the database, and the wait until they can be asked."""

from __future__ import annotations

import mimetypes
import re
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tq_loader.commands import options, visible
from tq_loader.convert.protocol import TABLES
from tq_loader.problem import Problem

if TYPE_CHECKING:
    import psycopg

# Seconds without any progress after which a document is left to a worker that may come.
PATIENCE = 600.0
# The same, once the worker of our own has failed: another may have taken the work up.
LITTLE_PATIENCE = 5.0
# How many documents have a progress bar at once.
BARS = 8


@dataclass(slots=True)
class Loading:
    """One file on its way. ``error``: code, message, detail and hint of what went wrong."""

    file: str
    name: str
    id: str | None = None
    version: int | None = None
    status: str = "not loaded"
    waits_for: str | None = None  # message batches at the provider, which may take a day
    lines: int | None = None
    error: dict[str, str | None] | None = None
    seen: tuple[Any, ...] = field(default=())
    known: bool = False  # the same content was there and ready

    @property
    def done(self) -> bool:
        return self.status in ("ready", "failed", "cancelled", "not loaded", "removed")

    def as_dict(self) -> dict[str, Any]:
        return {
            "file": self.file,
            "document": self.name,
            "version": self.version,
            "id": self.id,
            "status": self.status,
            "lines": self.lines,
            "error": self.error,
        }


@click.command("load")
@click.argument("files", nargs=-1, required=True, metavar="FILE…", type=click.Path())
@click.option("--name", help="Name of the document (one FILE only; default: the file's name).")
@click.option("--tag", "tags", multiple=True, help="A tag; may be given several times.")
@click.option(
    "--question", "questions", multiple=True, help="A question that it should answer; several times."
)
@click.option("--media-type", help="What the file is, where its content and name do not say it.")
@click.option(
    "--tables", type=click.Choice(TABLES),
    help="How tables are found on pages: by what the page shows (auto, the default), lines, lines_strict, text, or none.",
)  # fmt: skip
@click.option("--source-weight", type=float, default=1.0, show_default=True, help="How much its word counts.")
@click.option(
    "--effective-on", metavar="DATE", type=click.DateTime(["%Y-%m-%d"]), help="The day from which it holds (YYYY-MM-DD)."
)  # fmt: skip
@click.option("--no-wait", is_flag=True, help="Only store and queue; `tq status` shows the rest.")
@options.url
@options.as_json
def command(
    files: tuple[str, ...],
    name: str | None,
    tags: tuple[str, ...],
    questions: tuple[str, ...],
    media_type: str | None,
    tables: str | None,
    source_weight: float,
    effective_on: datetime | None,
    no_wait: bool,
    url: str | None,
    as_json: bool,
) -> None:
    """Load FILE… and wait until they can be asked; - is standard input.

    Read are PDF, Word, Excel, PowerPoint, OpenDocument, RTF, HTML, mail, EPUB, Markdown, CSV, JSON, subtitles, plain
    text, and pictures. The same content under the same name is no work; other content is a new version.
    """
    from tq_loader.commands import render
    from tq_loader.commands.client import connected, say_error

    if len(files) > 1 and name:
        raise click.UsageError("--name goes with one FILE only")
    if "-" in files and not name:
        raise click.UsageError("standard input needs a --name")
    day = None if effective_on is None else effective_on.date()
    with connected(url) as connection:
        loads = [
            load_file(connection, file, name, tags, questions, media_type, source_weight, day, tables)
            for file in files
        ]
        waited = [load for load in loads if load.id]
        if waited and not no_wait:
            wait(connection, waited, url, quiet=as_json)
    if as_json:
        render.as_json([load.as_dict() for load in loads])
    else:
        for load in loads:
            if load.error:
                error = load.error
                say_error(load.name, error["code"], error["message"], error["detail"], error["hint"])
            elif no_wait:
                click.echo(f"{visible.line(load.name)}: queued as version {load.version}")
    if any(load.error or load.status in ("failed", "cancelled", "removed") for load in loads):
        sys.exit(1)


def load_file(
    connection: psycopg.Connection[dict[str, Any]],
    file: str,
    name: str | None,
    tags: tuple[str, ...],
    questions: tuple[str, ...],
    media_type: str | None,
    source_weight: float,
    effective_on: date | None,
    tables: str | None,
) -> Loading:
    """Store one file and queue its conversion; what goes wrong is kept with it, so that the others go on."""
    import psycopg

    from tq_loader.commands.client import error_fields

    load = Loading(visible.whole(file), visible.whole(Path(file).name or file) if name is None else name)
    try:
        content = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    except OSError as error:
        load.error = {
            "code": "file",
            "message": f"cannot read {file}",
            "detail": error.strerror,
            "hint": "name the files in it, such as DIRECTORY/*.pdf"
            if isinstance(error, IsADirectoryError)
            else "check the path and your rights on it",
        }
        return load
    if media_type is None and file != "-":
        media_type = mimetypes.guess_type(file)[0]
    try:
        row = connection.execute(
            "SELECT tq.load(name => %s, content => %s, media_type => %s, tags => %s, source_weight => %s::real, "
            "effective_on => %s::date, questions => %s, tables => %s) AS id",
            [
                load.name,
                content,
                media_type,
                list(tags),
                source_weight,
                effective_on,
                list(questions),
                tables,
            ],
        ).fetchone()
    except psycopg.Error as error:
        if error.diag.message_primary is None:
            raise
        load.error = error_fields(error)
        return load
    assert row is not None
    load.id, load.status = str(row["id"]), "pending"
    look(connection, [load])
    load.known = load.status == "ready"
    return load


def look(connection: psycopg.Connection[dict[str, Any]], loads: list[Loading]) -> None:
    """Bring what is known of the documents up to date."""
    rows = connection.execute(
        "SELECT p.document_id::text AS id, p.version, p.status, p.step, p.done, p.total, p.sqlstate, p.error, "
        "p.hint, p.waits_for, d.line_count FROM tq.progress AS p JOIN tq.document AS d ON d.id = p.document_id "
        "WHERE p.document_id = ANY (%s::uuid[])",
        [[load.id for load in loads]],
    ).fetchall()
    found = {row["id"]: row for row in rows}
    for load in loads:
        row = found.get(str(load.id))
        if row is None:
            load.status = "removed"
            load.error = {
                "code": "gone",
                "message": "the document was removed while it was loaded",
                "detail": None,
                "hint": "load it again",
            }
            continue
        load.version, load.status, load.lines = row["version"], row["status"], row["line_count"]
        load.seen = (row["status"], row["step"], row["done"], row["total"])
        load.waits_for = row["waits_for"]
        if row["status"] == "failed":
            load.error = {
                "code": row["sqlstate"],
                "message": row["error"],
                "detail": None,
                "hint": row["hint"],
            }


def wait(
    connection: psycopg.Connection[dict[str, Any]], loads: list[Loading], url: str | None, quiet: bool
) -> None:
    """Wait until every document is ready or has failed, showing how far each is; work where nobody else does."""
    with working(connection, url) as failed, shown(loads, quiet) as show:
        last: list[tuple[Any, ...]] = []
        since = time.monotonic()
        while True:
            look(connection, loads)
            show()
            if all(load.done for load in loads):
                return
            now = [load.seen for load in loads]
            if now != last or any(load.waits_for for load in loads):
                last, since = now, time.monotonic()
            elif time.monotonic() - since > (LITTLE_PATIENCE if failed.is_set() else PATIENCE):
                idle = "and nobody else works" if failed.is_set() else "for 10 minutes"
                raise Problem("load", f"nothing has moved {idle}", "`tq status` shows the queues")
            soon = time.monotonic() - since < 5 and not any(load.waits_for for load in loads)
            time.sleep(0.1 if soon else 0.5)


@contextmanager
def working(connection: psycopg.Connection[dict[str, Any]], url: str | None) -> Iterator[threading.Event]:
    """Run the queues on a connection of our own for as long as the block runs, unless pg_cron does already.

    The event: this worker of ours has failed.
    """
    failed = threading.Event()
    if scheduled(connection):
        yield failed
        return
    stop = threading.Event()
    worker = threading.Thread(target=_work, args=(url, stop, failed), daemon=True)
    worker.start()
    try:
        yield failed
    finally:
        stop.set()
        worker.join(timeout=10)


def scheduled(connection: psycopg.Connection[dict[str, Any]]) -> bool:
    """Whether pg_cron runs tq.work in this database."""
    import psycopg

    try:
        if connection.execute("SELECT to_regclass('cron.job') AS job").fetchone() == {"job": None}:
            return False
        row = connection.execute(
            "SELECT count(*) AS jobs FROM cron.job WHERE active AND command ILIKE '%tq.work%' "
            "AND database = current_database()"
        ).fetchone()
    except psycopg.errors.InsufficientPrivilege:
        return False
    return bool(row and row["jobs"])


def _work(url: str | None, stop: threading.Event, failed: threading.Event) -> None:
    import psycopg

    from tq_loader.home import database_url

    try:
        with psycopg.connect(database_url(url), autocommit=True, application_name="tq load") as connection:
            while not stop.is_set():
                connection.execute("CALL tq.work(seconds => 5, until_empty => true)")
                stop.wait(0.2)
    except psycopg.errors.InsufficientPrivilege:
        click.echo("tq: this role may not work on the queues; waiting for a worker", err=True)
    except psycopg.Error as error:
        failed.set()
        if not stop.is_set():
            # Not its CONTEXT, which is a traceback of Python; nor the class that PL/Python puts before a message.
            said = re.sub(
                r"^(?:spiexceptions\.|plpy\.)?[A-Z]\w+: ", "", error.diag.message_primary or str(error)
            )
            state = f" [{error.diag.sqlstate}]" if error.diag.sqlstate else ""
            click.echo(
                f"tq: the queue's worker stopped: {visible.line(' '.join(said.split()))}{state}", err=True
            )


@contextmanager
def shown(loads: list[Loading], quiet: bool) -> Iterator[Any]:
    """A function that shows the state: bars on a terminal, a line a change in a pipe, nothing when quiet."""
    if quiet:
        yield lambda: None
        return
    if not sys.stdout.isatty():
        said: dict[str, str] = {}

        def lines() -> None:
            for load in loads:
                text = _state(load)
                if said.get(load.file) != text:
                    said[load.file] = text
                    click.echo(f"{visible.line(load.name)}: {text}")

        yield lines
        return

    from rich.markup import escape
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        TextColumn("{task.fields[state]}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns) as progress:
        # What is done becomes a line above the bars, and of the others a few have one: many files fit a terminal.
        whole = progress.add_task("all files", total=len(loads), state="", visible=len(loads) > 1)
        tasks = {
            load.file: progress.add_task(escape(visible.line(load.name)), total=None, state="", visible=False)
            for load in loads
        }
        finished: set[str] = set()

        def bars() -> None:
            at_work = [load for load in loads if not load.done and load.status != "pending"]
            for load in loads:
                task = tasks[load.file]
                _, _, done, total = load.seen or ("", "", None, None)
                if load.done and load.file not in finished:
                    finished.add(load.file)
                    progress.update(task, visible=False)
                    progress.console.out(f"{visible.line(load.name)}: {_state(load)}", highlight=False)
                elif not load.done:
                    shows = load in at_work[:BARS]
                    state = _state(load, counts=True)
                    progress.update(task, completed=done or 0, total=total, state=state, visible=shows)
            more = f", {len(at_work) - BARS} more at work" if len(at_work) > BARS else ""
            progress.update(
                whole, completed=len(finished), state=f"{len(finished)} of {len(loads)} done{more}"
            )

        yield bars


def _state(load: Loading, counts: bool = False) -> str:
    if load.status == "ready":
        lines = "" if load.lines is None else f", {load.lines:,} {'line' if load.lines == 1 else 'lines'}"
        return f"ready{lines}{' (was loaded already)' if load.known else ''}"
    status, step, done, total = load.seen or (load.status, None, None, None)
    text = f"failed at {step}" if status == "failed" and step else str(status)
    if load.waits_for:
        return f"{text}, waits for {load.waits_for}"
    return f"{text} {done}/{total}" if counts and total else text
