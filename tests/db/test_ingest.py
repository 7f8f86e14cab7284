"""A document's life through the queues: every step, told twice, failing, cancelled, killed and taken up again."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tq.database import ingest as sql
from tq.database.connection import Row, Statement
from tq.errors import TqError
from tq.ingest.worker import Worker
from tq.model.driver import Driver, Reply, open_driver
from tq.model.limits import Model
from tq.model.tasks import Task
from tq_loader.database import PsycopgDatabase

sys.path.insert(0, str(Path(__file__).parents[1]))
from ingest_help import (
    Connection,
    assert_ready,
    dead,
    document,
    load,
    queued,
    shape,
    story,
    terminate,
    value,
    work,
)


def set_setting(db: Connection, **values: int) -> None:
    for name, number in values.items():
        db.execute("UPDATE tq.setting SET value = to_jsonb(%s::int) WHERE name = %s", [number, name])


@pytest.fixture
def outside(url: str) -> Iterator[Callable[..., Worker]]:
    """Workers outside the server, in this process."""
    opened: list[PsycopgDatabase] = []

    def make(database: type[PsycopgDatabase] = PsycopgDatabase, **options: Any) -> Worker:
        connection = database(psycopg.connect(url))
        opened.append(connection)
        return Worker(connection, **options)

    yield make
    for connection in opened:
        connection.close()


# ---------------------------------------------------------------- formats


def test_text_becomes_a_tree(db: Connection) -> None:
    doc = load(
        db, "notes.txt", "\n".join(f"This is line {n} and it costs {n} EUR." for n in range(1, 401)) + "\n"
    )
    assert document(db, doc)["status"] == "pending"
    work(db)
    assert_ready(db, doc)
    row = document(db, doc)
    assert (row["line_count"], row["language"], row["current"], row["model"]) == (
        400,
        "english",
        True,
        "extractive",
    )
    assert (
        value(db, "SELECT text FROM tq.line WHERE document_id = %s AND line_no = 7", doc)
        == "This is line 7 and it costs 7 EUR."
    )


def test_markdown_sections_are_nodes(db: Connection) -> None:
    doc = load(db, "handbook.md", story(12))
    work(db)
    assert_ready(db, doc)
    lines = dict(db.execute("SELECT line_no, text FROM tq.line WHERE document_id = %s", [doc]).fetchall())
    starts = [number for number, text in lines.items() if text.startswith("## ")]
    nodes = db.execute(
        "SELECT line_start, line_end, title FROM tq.node WHERE document_id = %s", [doc]
    ).fetchall()
    for start, following in zip(starts[1:], [*starts[2:], len(lines) + 1], strict=True):
        assert (start, following - 1, lines[start][3:]) in nodes


def pdf(pages: int) -> bytes:
    import pymupdf

    with pymupdf.open() as made:
        for number in range(1, pages + 1):
            page = made.new_page()
            page.insert_text((72, 36), "Alder Lane Clinic, price list")
            page.insert_text((72, 72), f"Chapter {number}", fontsize=20)
            for line in range(20):
                page.insert_text(
                    (72, 110 + 16 * line), f"Page {number} line {line} names a fee of {line} EUR."
                )
        data: bytes = made.tobytes()
    return data


def test_a_pdf_line_knows_its_page_and_box(db: Connection) -> None:
    doc = load(db, "policy.pdf", pdf(5))
    work(db)
    assert_ready(db, doc)
    where = "WHERE document_id = %s AND text LIKE 'Page 3 line 7 %%'"
    assert value(db, f"SELECT page FROM tq.line {where}", doc) == 3
    assert len(value(db, f"SELECT locator FROM tq.line {where}", doc)["bbox"]) == 4


def test_a_running_header_is_no_leaf_of_its_own(db: Connection) -> None:
    doc = load(db, "policy.pdf", pdf(5))
    work(db)
    alone = db.execute(
        "SELECT n.line_start, n.line_end FROM tq.node AS n JOIN tq.line AS l"
        " ON l.document_id = n.document_id AND l.line_no BETWEEN n.line_start AND n.line_end"
        " WHERE n.document_id = %s AND n.is_leaf GROUP BY n.id, n.line_start, n.line_end"
        " HAVING bool_and(l.kind = 'furniture')",
        [doc],
    ).fetchall()
    assert alone == []
    headers = "SELECT count(*) FROM tq.line WHERE document_id = %s AND kind = 'furniture' AND text LIKE 'Alder Lane%%'"
    assert value(db, headers, doc) == 5


def test_the_line_index_holds_every_line_of_a_term(db: Connection) -> None:
    doc = load(db, "notes.txt", "A zebra.\nA lion.\nTwo zebras and one zebra.\n")
    work(db)
    packed = value(db, "SELECT line_nos FROM tq.term WHERE document_id = %s AND term = 'zebra'", doc)
    assert [int.from_bytes(packed[at : at + 4], "little") for at in range(0, len(packed), 4)] == [1, 3]


def test_calls_are_counted(db: Connection) -> None:
    doc = load(db, "handbook.md", story(12))
    work(db)
    calls = dict(
        db.execute(
            "SELECT purpose, sum(calls)::int FROM tq.model_call WHERE document_id = %s GROUP BY 1", [doc]
        ).fetchall()
    )
    assert calls["mark"] == value(
        db, "SELECT count(*) FROM tq.provisional_window WHERE document_id = %s", doc
    )
    assert calls["summarise"] == value(db, "SELECT count(*) FROM tq.node WHERE document_id = %s", doc)


# ---------------------------------------------------------------- bad input

LONG = (
    "The clinic opens at 8 and no visitor is let in before that hour, whatever the weather is like outside. "
    * 49_000
)

GOOD = {
    "one line": (b"A single line.", 1),
    "white space": (b" \n\t\n  \n", 3),
    "a line of 5 MB": (LONG.encode(), 1),
    "NUL bytes": (b"one\0two costs 5 EUR\nthree\n", 2),
    "invalid UTF-8": (b"caf\xe9 costs 5 EUR\nok \xff\xfe\n", 2),
    "UTF-16": ("One costs 5 EUR.\nTwo costs 6 EUR.\n".encode("utf-16"), 2),
    "CRLF": (b"One costs 5 EUR.\r\nTwo.\r\n", 2),
    "form feeds": (b"Page one costs 5 EUR.\n\x0cPage two.\n", 2),
}


@pytest.mark.parametrize("kind", GOOD)
def test_odd_text_is_read(db: Connection, kind: str) -> None:
    data, count = GOOD[kind]
    doc = load(db, kind, data, "text/plain")
    work(db)
    row = document(db, doc)
    assert (row["status"], row["line_count"]) == ("ready", count), row
    if kind == "white space":
        assert shape(db, doc) == [(0, True, 1, 3, None, None, "text", True, None)]
    elif kind == "a line of 5 MB":
        assert value(db, "SELECT text = %s FROM tq.line WHERE document_id = %s", LONG, doc)
    if kind != "white space":
        assert_ready(db, doc)


def locked_pdf() -> bytes:
    import pymupdf

    with pymupdf.open() as made:
        made.new_page().insert_text((72, 72), "secret")
        data: bytes = made.tobytes(encryption=5, user_pw="x", owner_pw="y")
    return data


BAD: dict[str, tuple[Callable[[], bytes], str | None, str]] = {
    "empty": (lambda: b"", None, "TQ011"),
    "no PDF": (lambda: b"%PDF-1.7 rubbish" * 50, "application/pdf", "TQ011"),
    "password": (locked_pdf, None, "TQ013"),
    "unknown": (lambda: bytes(range(256)) * 20, "application/x-nothing", "TQ010"),
}


@pytest.mark.parametrize("kind", BAD)
def test_a_bad_file_fails_clearly_and_loses_nothing_else(db: Connection, kind: str) -> None:
    make, media_type, code = BAD[kind]
    doc = load(db, kind, make(), media_type)
    good = load(db, "good", "A good line costs 5 EUR.")
    work(db)
    row = document(db, doc)
    assert (row["status"], row["sqlstate"], row["failed_step"]) == ("failed", code, "convert"), row
    assert row["error"]
    assert row["hint"]
    assert dead(db) == []
    assert_ready(db, good)


# ---------------------------------------------------------------- the converter


def converter(*argv: str) -> Callable[..., Sequence[str]]:
    return lambda name, media_type, memory, seconds: [sys.executable, "-I", "-c", *argv]


ONE_LINE = 'print(\'{"type":"lines","rows":[["half a document",null,"text",null,null]]}\', flush=True)\n'
SICK = {
    "crash": (ONE_LINE + "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "TQ011"),
    "memory": (ONE_LINE + "raise MemoryError", "TQ012"),
    "time": (ONE_LINE + "import time; time.sleep(60)", "TQ012"),
    "rubbish": (ONE_LINE + "print('rubbish')", "TQ011"),
}


@pytest.mark.parametrize("kind", SICK)
def test_a_sick_converter_fails_its_document(
    db: Connection, outside: Callable[..., Worker], kind: str
) -> None:
    script, code = SICK[kind]
    set_setting(db, convert_seconds=1)
    doc = load(db, "a.txt", "text")
    outside(converter=converter(script)).run(20, until_empty=True)
    row = document(db, doc)
    assert (row["status"], row["sqlstate"], row["failed_step"]) == ("failed", code, "convert")
    assert value(db, "SELECT tq.retry('a.txt')") == 1
    work(db)
    assert_ready(db, doc)
    assert value(db, "SELECT count(*) FROM tq.line WHERE document_id = %s", doc) == 1


# ---------------------------------------------------------------- told twice


class Twice(PsycopgDatabase):
    """Every message is sent twice, and remembered."""

    sent: list[tuple[str, str]]

    def fetch(self, statement: Statement, *values: Any) -> list[Row]:
        if statement is sql.SEND_MESSAGES and values[0] != "tq_dead":
            self.__class__.sent += [(values[0], body) for body in values[1]]
            values = (values[0], [body for body in values[1] for _ in range(2)], *values[2:])
        return super().fetch(statement, *values)


def test_every_message_may_come_again(db: Connection, outside: Callable[..., Worker]) -> None:
    set_setting(db, visibility_seconds=5)
    text = story(40)
    once = load(db, "once.md", text)
    work(db)
    Twice.sent = []
    doc = load(db, "twice.md", text)
    db.execute("SELECT pgmq.send('tq_convert'::text, jsonb_build_object('document_id', %s::text))", [doc])
    outside(Twice).run(60, until_empty=True)
    assert_ready(db, doc)
    assert shape(db, doc) == shape(db, once)
    steps = {json.loads(body)["step"] for _, body in Twice.sent}
    assert steps == {"mark", "cut", "summarise", "build", "rollup", "finish"}
    for queue, body in Twice.sent:
        db.execute("SELECT pgmq.send(%s::text, %s::jsonb)", [queue, body])
    db.execute("SELECT pgmq.send('tq_convert'::text, jsonb_build_object('document_id', %s::text))", [doc])
    work(db)
    assert_ready(db, doc)
    assert shape(db, doc) == shape(db, once)
    assert dead(db) == []


def test_a_conversion_begun_before_starts_again(db: Connection) -> None:
    doc = load(db, "a.txt", "one\ntwo costs 5 EUR\n")
    with db.transaction():
        db.execute("UPDATE tq.document SET status = 'converting' WHERE id = %s", [doc])
        db.execute(
            "INSERT INTO tq.line (document_id, line_no, text) SELECT %s, n, 'left' FROM generate_series(1, 9) n",
            [doc],
        )
        db.execute("INSERT INTO tq.term VALUES (%s, 'left', 1, 1, %s)", [doc, b"\1\0\0\0"])
    work(db)
    assert_ready(db, doc)
    assert document(db, doc)["line_count"] == 2
    assert value(db, "SELECT count(*) FROM tq.term WHERE document_id = %s AND term = 'left'", doc) == 0


class Interrupted(PsycopgDatabase):
    """Loses its connection at the commit number `at`."""

    at = 0

    def commit(self) -> None:
        self.__class__.at -= 1
        if self.at == 0:
            self.close()
        super().commit()


def test_a_worker_may_die_at_any_commit(db: Connection, url: str) -> None:
    set_setting(db, visibility_seconds=5)
    text = story(15)
    once = load(db, "once.md", text)
    work(db)
    for at in range(2, 60, 7):
        doc = load(db, f"died at {at}", text, "text/markdown")
        Interrupted.at = at
        connection = psycopg.connect(url)
        with contextlib.suppress(psycopg.OperationalError), contextlib.closing(connection):
            Worker(Interrupted(connection)).run(60, until_empty=True)
        # As if the visibility timeout were over.
        for queue in ("convert", "model"):
            db.execute(f"UPDATE pgmq.q_tq_{queue} SET vt = now()")
        work(db)
        assert_ready(db, doc)
        assert shape(db, doc) == shape(db, once)


# ---------------------------------------------------------------- failing


def test_poison_fails_its_document_alone_and_retry_goes_on(db: Connection) -> None:
    set_setting(db, max_attempts=2)
    db.execute("ALTER TABLE tq.bullet ADD CONSTRAINT poison CHECK (text NOT LIKE '%form 905%')")
    doc, good = load(db, "bad.md", story(12)), load(db, "good.md", story(12, 4))
    work(db)
    assert_ready(db, good)
    row = document(db, doc)
    assert (row["status"], row["sqlstate"], row["failed_step"]) == ("failed", "23514", "summarise")
    assert "poison" in row["error"]
    (letter,) = dead(db)
    assert letter["document_id"] == doc
    assert [entry["attempt"] for entry in letter["history"]] == [1, 2]
    db.execute("ALTER TABLE tq.bullet DROP CONSTRAINT poison")
    calls = "SELECT sum(calls)::int FROM tq.model_call WHERE document_id = %s AND purpose = %s"
    marks = value(db, calls, doc, "mark")
    assert value(db, "SELECT tq.retry('bad.md')") == 1
    work(db)
    assert_ready(db, doc)
    assert dead(db) == []
    # What was done stays done: only what was missing is paid again.
    assert value(db, calls, doc, "mark") == marks
    nodes = value(db, "SELECT count(*) FROM tq.node WHERE document_id = %s", doc)
    assert value(db, calls, doc, "summarise") <= nodes + 1


class Failing:
    """The model of the row, failing wherever `word` is shown."""

    waits = False

    def __init__(self, model: Model, word: str, error: Exception) -> None:
        self._driver = open_driver(model)
        self._word = word
        self._error = error

    def reply(self, task: Task[Any], stop: threading.Event) -> Reply:
        if self._word in task.prompt().user:
            raise self._error
        return self._driver.reply(task, stop)


def failing(word: str, error: Exception) -> Callable[[Model], Driver]:
    return lambda model: Failing(model, word, error)


def test_a_model_that_fails_at_one_leaf(db: Connection, outside: Callable[..., Worker]) -> None:
    set_setting(db, max_attempts=1)
    doc = load(db, "a.md", story(30))
    outside(driver_of=failing("form 905 ", TqError("TQ103", "model rejected the request"))).run(
        60, until_empty=True
    )
    assert_ready(db, doc)
    kinds = dict(
        db.execute(
            "SELECT kind, count(*) FROM tq.omission WHERE document_id = %s GROUP BY 1", [doc]
        ).fetchall()
    )
    assert kinds["not summarised"] >= 1
    start, end = db.execute(
        "SELECT line_start, line_end FROM tq.omission WHERE kind = 'not summarised' ORDER BY line_end - line_start LIMIT 1"
    ).fetchone() or (0, 0)
    assert value(
        db, "SELECT bool_and(fallback) FROM tq.bullet WHERE document_id = %s AND line_start >= %s AND line_end <= %s",
        doc, start, end,
    )  # fmt: skip
    assert value(db, "SELECT count(*) FROM tq.bullet WHERE document_id = %s AND NOT fallback", doc) > 0


def test_a_model_that_fails_at_one_window(db: Connection, outside: Callable[..., Worker]) -> None:
    set_setting(db, max_attempts=1)
    doc = load(db, "a.md", story(30))
    outside(driver_of=failing("CURRENT WINDOW\n1|", ValueError("boom"))).run(60, until_empty=True)
    assert_ready(db, doc)
    detail = value(
        db, "SELECT detail FROM tq.omission WHERE document_id = %s AND kind = 'boundaries not marked'", doc
    )
    assert "boom" in detail


def test_a_model_that_is_down_fails_the_document(db: Connection, outside: Callable[..., Worker]) -> None:
    set_setting(db, max_attempts=2)
    doc = load(db, "a.md", story(5))
    outside(driver_of=failing("", TqError("TQ102", "model down", hint="Look at it."))).run(
        30, until_empty=True
    )
    row = document(db, doc)
    assert (row["status"], row["sqlstate"], row["failed_step"], row["hint"]) == (
        "failed",
        "TQ102",
        "mark",
        "Look at it.",
    )


def test_a_model_that_is_not_there(db: Connection) -> None:
    db.execute("""UPDATE tq.setting SET value = '"nobody"' WHERE name = 'model'""")
    doc = load(db, "a.txt", "text")
    work(db)
    row = document(db, doc)
    assert (row["status"], row["sqlstate"]) == ("failed", "TQ020")
    assert row["hint"]


def test_a_malformed_message_ends_in_the_dead_queue(db: Connection) -> None:
    db.execute("""SELECT pgmq.send('tq_model'::text, '{"step": "dance"}'::jsonb)""")
    db.execute("""SELECT pgmq.send('tq_model'::text, '[]'::jsonb)""")
    doc = load(db, "a.txt", "A line.")
    work(db)
    assert_ready(db, doc)
    assert [letter["sqlstate"] for letter in dead(db)] == ["22023", "22023"]


# ---------------------------------------------------------------- cancelled, removed, killed


def slow(db: Connection, milliseconds: int, concurrency: int = 4) -> None:
    db.execute("UPDATE tq.model SET delay_ms = %s, concurrency = %s", [milliseconds, concurrency])


def wait_for(db: Connection, sql: str, *values: Any, seconds: float = 20) -> None:
    end = time.monotonic() + seconds
    while not value(db, sql, *values):
        assert time.monotonic() < end, sql
        time.sleep(0.02)


@pytest.mark.parametrize("verb", ["cancel", "remove"])
def test_a_document_that_goes_in_mid_step_is_dropped_quietly(db: Connection, url: str, verb: str) -> None:
    slow(db, 300)
    doc = load(db, "a.md", story(40))
    with psycopg.connect(url, autocommit=True) as other:
        working = threading.Thread(target=lambda: other.execute("CALL tq.work(60, TRUE)"))
        working.start()
        wait_for(
            db, "SELECT EXISTS (SELECT FROM tq.provisional_window WHERE document_id = %s AND marked)", doc
        )
        assert value(db, f"SELECT tq.{verb}('a.md')") == 1
        working.join(timeout=30)
        assert not working.is_alive()
    assert queued(db) == 0
    assert dead(db) == []
    if verb == "cancel":
        assert document(db, doc)["sqlstate"] == "57014"
        slow(db, 0)
        assert value(db, "SELECT tq.retry('a.md')") == 1
        work(db)
        assert_ready(db, doc)


def test_work_is_cancelled_at_once(db: Connection, url: str) -> None:
    slow(db, 20_000)
    set_setting(db, visibility_seconds=5)
    doc = load(db, "a.md", story(10))
    ended: list[tuple[float, str | None]] = []
    with psycopg.connect(url, autocommit=True) as other:

        def call() -> None:
            try:
                other.execute("CALL tq.work(60, TRUE)")
            except psycopg.Error as error:
                ended.append((time.monotonic(), error.sqlstate))

        working = threading.Thread(target=call)
        working.start()
        wait_for(db, "SELECT status = 'marking' FROM tq.document WHERE id = %s", doc)
        time.sleep(0.5)
        began = time.monotonic()
        db.execute("SELECT pg_cancel_backend(%s)", [other.info.backend_pid])
        working.join(timeout=15)
    assert ended[0][1] == "57014"
    assert ended[0][0] - began < 10  # of the call's 20 s
    slow(db, 0)
    work(db)  # waits for the messages that the cancelled worker held
    assert_ready(db, doc)


@pytest.mark.slow
def test_a_worker_killed_in_the_middle_is_made_up_for(
    db: Connection, url: str, tq_command: list[str]
) -> None:
    slow(db, 100)
    set_setting(db, visibility_seconds=5)
    doc = load(db, "a.md", story(60))
    process = subprocess.Popen([*tq_command, "worker", "--url", url], env={**os.environ, "TQ_URL": ""})
    try:
        wait_for(
            db, "SELECT count(*) > 5 FROM tq.node WHERE document_id = %s AND summarised", doc, seconds=60
        )
        process.send_signal(signal.SIGKILL)
    finally:
        terminate(process)
    assert document(db, doc)["status"] == "summarising"
    slow(db, 0)
    work(db)
    assert_ready(db, doc)
    assert dead(db) == []


def test_a_worker_outside_ends_when_told(db: Connection, url: str, tq_command: list[str]) -> None:
    doc = load(db, "a.md", story(5))
    done = subprocess.run(
        [*tq_command, "worker", "--url", url, "--until-empty"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "steps done" in done.stdout
    assert_ready(db, doc)
    process = subprocess.Popen([*tq_command, "worker", "--url", url])
    try:
        wait_for(
            db,
            "SELECT EXISTS (SELECT FROM pg_stat_activity"
            " WHERE datname = current_database() AND application_name = 'tq worker')",
        )
        process.terminate()
        assert process.wait(timeout=10) == 0
    finally:
        terminate(process)


# ---------------------------------------------------------------- the call, the notice, versions


def test_a_notice_says_what_became_of_it(db: Connection, url: str) -> None:
    with psycopg.connect(url, autocommit=True) as listener:
        listener.execute("LISTEN tq_document")
        good, bad = load(db, "good.txt", "A line."), load(db, "bad.txt", b"")
        work(db)
        select.select([listener], [], [], 5)
        heard = [json.loads(notice.payload) for notice in listener.notifies(timeout=1)]
    assert {(h["document_id"], h["name"], h["version"], h["status"]) for h in heard} == {
        (good, "good.txt", 1, "ready"),
        (bad, "bad.txt", 1, "failed"),
    }


def test_a_version_is_current_when_it_is_ready(db: Connection) -> None:
    first = load(db, "a.txt", "The fee is 5 EUR.")
    work(db)
    second = load(db, "a.txt", "The fee is 6 EUR.")
    assert document(db, first)["current"]
    work(db)
    assert not document(db, first)["current"]
    assert document(db, second)["current"]
    third = load(db, "a.txt", b"\xff\xd8" + bytes(2000), "application/x-nothing")
    work(db)
    assert document(db, third)["status"] == "failed"
    assert document(db, second)["current"]


def test_work_runs_alone(db: Connection, url: str) -> None:
    with psycopg.connect(url) as other:
        other.execute("SELECT 1")
        with pytest.raises(psycopg.errors.InvalidTransactionTermination) as caught:
            other.execute("CALL tq.work(1)")
    assert caught.value.diag.message_primary == "tq.work() has to run alone"
    assert "Traceback" not in str(caught.value.diag.context)
    assert "BEGIN" in str(caught.value.diag.message_hint)
    with psycopg.connect(url, autocommit=True) as other:
        result = other.pgconn.exec_(b"CALL tq.work(1); SELECT 1")
    assert result.error_field(psycopg.pq.DiagnosticField.SQLSTATE) == b"2D000"
    assert b"by itself" in (result.error_field(psycopg.pq.DiagnosticField.MESSAGE_HINT) or b"")


@pytest.mark.parametrize("seconds", ["NULL", "-1"])
def test_work_refuses_a_time_that_is_none(db: Connection, seconds: str) -> None:
    with pytest.raises(psycopg.Error) as caught:
        db.execute(f"CALL tq.work({seconds})")
    assert caught.value.sqlstate == "TQ021"


def test_a_worker_needs_no_more_than_its_role(db: Connection) -> None:
    doc = load(db, "a.md", story(20))
    load(db, "bad.txt", b"")
    db.execute("SET ROLE tq_worker")
    work(db)
    db.execute("RESET ROLE")
    assert_ready(db, doc)


def test_a_schedule_needs_pg_cron(db: Connection) -> None:
    for call in ("tq.schedule()", "tq.unschedule()"):
        with pytest.raises(psycopg.errors.ObjectNotInPrerequisiteState) as caught:
            db.execute(f"SELECT {call}")
        assert "pg_cron" in str(caught.value.diag.message_hint)


@pytest.fixture
def cron(cron_url: str) -> Iterator[Connection]:
    with psycopg.connect(cron_url, autocommit=True) as connection:
        yield connection
        connection.execute("SELECT tq.unschedule()")
        connection.execute("SELECT tq.remove('cron *')")


def test_a_schedule_is_replaced_and_ends(cron: Connection) -> None:
    jobs = "SELECT count(*) FROM cron.job WHERE jobname LIKE 'tq work %%'"
    assert value(cron, "SELECT tq.schedule('0 3 * * *', 3)") > 0
    assert value(cron, jobs) == 3
    value(cron, "SELECT tq.schedule('0 3 * * *', 1)")
    assert value(cron, jobs) == 1
    assert value(cron, "SELECT count(*) FROM cron.job WHERE jobname = 'tq history'") == 1
    assert value(cron, "SELECT tq.unschedule()") == 1
    assert value(cron, "SELECT tq.unschedule()") == 0
    assert value(cron, "SELECT count(*) FROM cron.job WHERE jobname LIKE 'tq %%'") == 0
    for call in ("'never'", "'* * * * *', 0", "'* * * * *', NULL", "NULL"):
        with pytest.raises(psycopg.Error) as caught:
            cron.execute(f"SELECT tq.schedule({call})")
        assert caught.value.sqlstate == "TQ021", call
        assert caught.value.diag.message_hint


@pytest.mark.cron
def test_a_scheduled_run_finishes_a_document(cron: Connection) -> None:
    doc = load(cron, f"cron {time.time()}", story(5))
    value(cron, "SELECT tq.schedule()")
    wait_for(cron, "SELECT status IN ('ready', 'failed') FROM tq.document WHERE id = %s", doc, seconds=75)
    assert document(cron, doc)["status"] == "ready"
