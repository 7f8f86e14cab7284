"""Bytes in the database, in a directory and in S3-compatible storage; the picture of a cited page."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pymupdf
import pytest

from tq.ingest.worker import Worker
from tq_loader.database import PsycopgDatabase

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from ingest_help import Connection, assert_ready, dead, document, load, queued, value, work

TEXT = "# Rules\n\nThe door code is changed every 90 days.\nVisitors sign the book.\n"
DIGEST = hashlib.sha256(TEXT.encode()).hexdigest()


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    """S3-compatible storage of its own, on loopback."""
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith("AWS_")]:
            patch.delenv(name)
        for name in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"):
            patch.delenv(name, raising=False)
        moto = pytest.importorskip("moto.server")
        s3 = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
        s3.start()
        host, port = s3.get_host_and_port()
        yield f"http://{host}:{port}"
        s3.stop()


@pytest.fixture
def bucket(endpoint: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """An empty bucket, and an environment that may enter it."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", endpoint)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    for url, method in ((f"{endpoint}/moto-api/reset", "POST"), (f"{endpoint}/tq-blobs", "PUT")):
        urllib.request.urlopen(urllib.request.Request(url, method=method)).close()
    return "s3://tq-blobs/some/prefix"


@pytest.fixture
def outside(url: str) -> Iterator[Callable[[], Worker]]:
    """Workers outside the server, in this process and its environment."""
    opened: list[PsycopgDatabase] = []

    def make() -> Worker:
        opened.append(PsycopgDatabase(psycopg.connect(url)))
        return Worker(opened[-1])

    yield make
    for connection in opened:
        connection.close()


def keep_in(db: Connection, place: str) -> None:
    db.execute("UPDATE tq.setting SET value = to_jsonb(%s::text) WHERE name = 'blob_store'", [place])


def places(db: Connection) -> list[tuple[str, bool]]:
    return db.execute(
        "SELECT coalesce(store, 'database'), content IS NULL FROM tq.blob ORDER BY sha256"
    ).fetchall()


def files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


# ---------------------------------------------------------------- the database, a directory


def test_bytes_stay_in_the_database_by_default(db: Connection) -> None:
    doc = load(db, "rules.md", TEXT)
    assert queued(db) == 1
    assert value(db, "SELECT tq.source('rules.md')") == TEXT.encode()  # before it is converted, too
    work(db)
    assert_ready(db, doc)
    assert places(db) == [("database", False)]
    assert value(db, "SELECT tq.source_url('rules.md')") is None


def test_bytes_go_to_a_directory_and_are_read_from_there(db: Connection, folder: Path) -> None:
    keep_in(db, f"file://{folder}")
    doc = load(db, "rules.md", TEXT)
    assert places(db) == [("database", False)]  # tq.load itself writes nowhere else
    work(db)
    assert_ready(db, doc)
    assert places(db) == [(f"file://{folder}", True)]
    path = folder / DIGEST[:2] / DIGEST[2:4] / DIGEST
    assert files(folder) == [path]
    assert path.read_bytes() == TEXT.encode()
    assert path.stat().st_mode & 0o007 == 0
    assert value(db, "SELECT tq.source('rules.md')") == TEXT.encode()
    assert value(db, "SELECT tq.source_url('rules.md')") == path.as_uri()
    # The same bytes under another name are converted from where they are.
    other = load(db, "again.md", TEXT)
    work(db)
    assert_ready(db, other)
    # The last document takes the file with it.
    db.execute("SELECT tq.remove('rules.md')")
    work(db)
    assert files(folder) == [path]
    db.execute("SELECT tq.remove('again.md')")
    work(db)
    assert files(folder) == []
    assert value(db, "SELECT count(*) FROM tq.blob") == 0
    # What is loaded anew before the old copy is dropped keeps its bytes.
    load(db, "rules.md", TEXT)
    work(db)
    db.execute("SELECT tq.remove('rules.md')")
    last = load(db, "rules.md", TEXT)
    work(db)
    assert_ready(db, last)
    assert files(folder) == [path]
    assert value(db, "SELECT tq.source('rules.md')") == TEXT.encode()


def test_a_store_that_refuses_costs_the_document_nothing(db: Connection, folder: Path) -> None:
    keep_in(db, f"file://{folder}/not-there")
    db.execute("UPDATE tq.setting SET value = '2' WHERE name = 'max_attempts'")
    doc = load(db, "rules.md", TEXT)
    work(db)
    assert_ready(db, doc)
    assert places(db) == [("database", False)]
    (message,) = dead(db)
    assert (message["step"], message["sqlstate"], message["attempts"]) == ("store", "TQ041", 2)
    # A read-only directory is the same, and one that comes back in time takes the bytes.
    gone = folder / "late"
    keep_in(db, f"file://{gone}")
    load(db, "other.md", "# Other\n\nThe gate is locked at 22:00.\n")
    work(db, 0)
    gone.mkdir()
    gone.chmod(0o777)
    work(db)
    assert len(files(gone)) == 1


def test_missing_and_denied(db: Connection, folder: Path) -> None:
    keep_in(db, f"file://{folder}")
    load(db, "rules.md", TEXT)
    work(db)
    (path,) = files(folder)
    db.execute("UPDATE tq.setting SET value = '1' WHERE name = 'max_attempts'")

    path.write_bytes(b"altered")
    with pytest.raises(psycopg.Error) as error:
        db.execute("SELECT tq.source('rules.md')")
    assert error.value.sqlstate == "TQ040"

    path.unlink()
    with pytest.raises(psycopg.Error) as error:
        db.execute("SELECT tq.source('rules.md')")
    assert error.value.sqlstate == "TQ040"
    assert DIGEST in str(error.value.diag.message_detail)
    assert error.value.diag.message_hint
    again = load(db, "again.md", TEXT)
    work(db)
    row = document(db, again)
    assert (row["status"], row["sqlstate"]) == ("failed", "TQ040")
    assert row["hint"]

    folder.rename(folder.with_name("moved_away"))
    try:
        with pytest.raises(psycopg.Error) as error:
            db.execute("SELECT tq.source('rules.md')")
        assert error.value.sqlstate == "TQ041"
        assert error.value.diag.message_hint
    finally:
        folder.with_name("moved_away").rename(folder)


def test_a_place_is_one_of_three_and_holds_no_password(db: Connection) -> None:
    for bad in (
        "",
        "disk",
        "file://relative",
        "file:///",
        "s3://x",
        "s3://key:secret@bucket/x",
        "s3://bucket/a?b=c",
    ):
        with pytest.raises(psycopg.Error) as caught:
            keep_in(db, bad)
        assert caught.value.sqlstate == "TQ021"
    for good in ("database", "file:///var/lib/blobs", "s3://bucket", "s3://bucket/a/b"):
        keep_in(db, good)


def test_bytes_are_for_those_who_may_see_the_document(db: Connection) -> None:
    load(db, "rules.md", TEXT)
    work(db)
    doc = value(db, "SELECT id FROM tq.document")
    for role, inside in (("blobs_reader", "tq_reader"), ("blobs_loader", "tq_loader")):
        db.execute(f"DROP ROLE IF EXISTS {role}")
        db.execute(f"CREATE ROLE {role} IN ROLE {inside}")
    try:
        db.execute("SET ROLE blobs_reader")
        assert value(db, "SELECT tq.source('rules.md')") == TEXT.encode()
        assert value(db, "SELECT tq.source_url('rules.md')") is None
        db.execute("SET ROLE blobs_loader")  # owns another document at best
        with pytest.raises(psycopg.Error) as error:
            db.execute("SELECT tq.source('rules.md')")
        assert error.value.sqlstate == "TQ001"
        inside_of = f"SELECT result, problem ->> 'code' FROM tq_private.source_of('{doc}')"
        assert db.execute(inside_of).fetchone() == (None, "TQ001")
        for call in ("SELECT tq_private.move_blob('', 'database')", "UPDATE tq.blob SET content = ''"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                db.execute(call)
    finally:
        db.execute("RESET ROLE")
        db.execute("DROP ROLE blobs_reader, blobs_loader")


# ---------------------------------------------------------------- S3


def test_bytes_in_s3(db: Connection, outside: Callable[[], Worker], bucket: str) -> None:
    keep_in(db, bucket)
    doc = load(db, "rules.md", TEXT)
    outside().run(30, until_empty=True)
    assert_ready(db, doc)
    assert places(db) == [(bucket, True)]
    again = load(db, "again.md", TEXT)
    outside().run(30, until_empty=True)  # read from there
    assert_ready(db, again)

    from tq.store import open_store

    store = open_store(bucket, lambda: None)
    with urllib.request.urlopen(store.url(DIGEST, 60)) as answer:
        assert answer.read() == TEXT.encode()
    assert store.read(DIGEST, 2, 5) == TEXT.encode()[2:7]
    assert store.read(DIGEST, 10_000, 5) == b""

    db.execute("SELECT tq.remove('*')")
    outside().run(30, until_empty=True)
    with pytest.raises(Exception, match="blob not found") as error:
        store.read(DIGEST, 0, 5)
    assert getattr(error.value, "code", None) == "TQ040"


def test_large_bytes_in_s3(bucket: str, tmp_path: Path) -> None:
    from tq.store import open_store

    store = open_store(bucket, lambda: None)
    data = os.urandom(1 << 20) * 20  # several parts
    path = tmp_path / "large"
    path.write_bytes(data)
    with path.open("rb") as file:
        store.put("a" * 64, file, len(data))
    assert store.read("a" * 64, 19 << 20, 8 << 20) == data[19 << 20 :]


def test_s3_without_a_bucket_or_a_server(bucket: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from tq.errors import TqError
    from tq.store import open_store

    with pytest.raises(TqError) as error:
        open_store("s3://another-bucket", lambda: None).read(DIGEST, 0, 5)
    assert error.value.code in ("TQ040", "TQ041")
    assert error.value.hint
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    with pytest.raises(TqError) as error:
        open_store(bucket, lambda: None).read(DIGEST, 0, 5)
    assert error.value.code == "58030"


def test_s3_denies(endpoint: str, bucket: str) -> None:
    from tq.errors import TqError
    from tq.store import open_store

    plain = {"Content-Type": "text/plain"}
    # From the next call on moto asks for rights, and this key has none.
    urllib.request.urlopen(
        urllib.request.Request(f"{endpoint}/moto-api/reset-auth", data=b"0", method="POST", headers=plain)
    ).close()
    try:
        with pytest.raises(TqError) as error:
            open_store(bucket, lambda: None).read(DIGEST, 0, 5)
    finally:
        urllib.request.urlopen(
            urllib.request.Request(
                f"{endpoint}/moto-api/reset-auth", data=b"inf", method="POST", headers=plain
            )
        ).close()
    assert error.value.code == "TQ041"
    assert "AWS_ACCESS_KEY_ID" in str(error.value.hint)
    assert "secret" not in f"{error.value.message} {error.value.detail}"


# ---------------------------------------------------------------- moving


def run(tq_command: list[str], url: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*tq_command, *arguments, "--url", url], capture_output=True, text=True, timeout=120, check=False
    )


def test_everything_moves_there_and_back(
    db: Connection, url: str, folder: Path, tq_command: list[str]
) -> None:
    docs = [load(db, f"doc-{n}.md", f"# Title {n}\n\nThe fee of form {n} is {n} EUR.\n") for n in range(1, 6)]
    work(db)
    done = run(tq_command, url, "blobs", "move", f"file://{folder}", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) | {"bytes": 0} == {
        "store": f"file://{folder}", "moved": 5, "bytes": 0, "busy": 0, "left": 0, "failed": [],
    }  # fmt: skip
    assert places(db) == [(f"file://{folder}", True)] * 5
    assert len(files(folder)) == 5

    second = folder / "second"
    second.mkdir()
    second.chmod(0o777)
    # Another session has one of them in hand: it stays, and a second run takes it along.
    held = files(folder)[0].name
    with psycopg.connect(url) as other:
        other.execute("SELECT pg_advisory_lock(hashtextextended('tq.blob:' || %s, 0))", [held])
        done = run(tq_command, url, "blobs", "move", f"file://{second}", "--json")
        assert (json.loads(done.stdout)["moved"], json.loads(done.stdout)["busy"]) == (4, 1)
    done = run(tq_command, url, "blobs", "move")
    assert "1 moved" in done.stdout
    assert len(files(second)) == 5
    assert files(folder) == files(second)  # the old copies are gone
    assert "5" in run(tq_command, url, "blobs", "status").stdout

    # A copy that was altered is not moved, and not dropped.
    altered = files(second)[0]
    kept = altered.read_bytes()
    altered.write_bytes(b"something else")
    done = run(tq_command, url, "blobs", "move", "database")
    assert done.returncode == 1
    assert "TQ040" in done.stderr
    assert files(second) == [altered]
    altered.write_bytes(kept)
    assert run(tq_command, url, "blobs", "move").returncode == 0
    assert places(db) == [("database", False)] * 5
    assert files(folder) == []
    for doc in docs:
        assert_ready(db, doc)
    assert queued(db) == 0


def test_a_move_that_was_cut_off_leaves_nothing_behind(db: Connection, url: str, folder: Path) -> None:
    load(db, "rules.md", TEXT)
    work(db)
    assert value(db, "SELECT tq_private.move_blob(%s, %s)", DIGEST, f"file://{folder}") == 0
    (path,) = files(folder)
    # Moved back, and then the command is killed: a worker drops the copy.
    assert value(db, "SELECT tq_private.move_blob(%s, 'database')", DIGEST) > 0
    assert files(folder) == [path]
    work(db)
    assert files(folder) == []
    # Killed before the commit: the bytes are where they were.
    with psycopg.connect(url) as other:
        other.execute("SELECT tq_private.move_blob(%s, %s)", [DIGEST, f"file://{folder}"])
        other.rollback()
    assert places(db) == [("database", False)]
    assert value(db, "SELECT tq.source('rules.md')") == TEXT.encode()


# ---------------------------------------------------------------- the picture of a page


def pdf() -> bytes:
    doc: Any = pymupdf.open()
    for number in (1, 2):
        page = doc.new_page(width=400, height=300)
        page.insert_text(
            (40, 60), f"The fee for a missed visit of kind {number} is {number}5 EUR.", fontsize=11
        )
        page.insert_text((40, 90), "Visitors sign the book at the desk.", fontsize=11)
        if number == 2:
            page.set_rotation(90)
    return bytes(doc.tobytes())


def yellow(png: bytes) -> tuple[tuple[int, int], list[tuple[int, int]]]:
    """Size, and the pixels that are marked."""
    picture: Any = pymupdf.Pixmap(png)
    found = []
    for y in range(picture.height):
        for x in range(picture.width):
            red, green, blue = picture.pixel(x, y)
            if red > 240 and green > 240 and blue < 100:
                found.append((x, y))
    return (picture.width, picture.height), found


def test_a_cited_page_is_drawn_with_its_words_marked(db: Connection) -> None:
    load(db, "fees.pdf", pdf())
    work(db)
    png = bytes(
        value(db, "SELECT tq.page_image('fees.pdf', line_start => 1, quote => 'missed visit', dpi => 72)")
    )
    size, marked = yellow(png)
    assert size == (400, 300)
    xs, ys = [x for x, _ in marked], [y for _, y in marked]
    assert 45 <= min(ys) <= max(ys) <= 66
    assert min(xs) >= 90
    assert max(xs) <= 190
    # A page that is turned: its marks turn with it.
    size, marked = yellow(bytes(value(db, "SELECT tq.page_image('fees.pdf', line_start => 3, dpi => 72)")))
    assert size == (300, 400)
    xs, ys = [x for x, _ in marked], [y for _, y in marked]
    assert 300 - 66 <= min(xs) <= max(xs) <= 300 - 45
    assert min(ys) <= 42
    # A page alone has no marks.
    assert yellow(bytes(value(db, "SELECT tq.page_image('fees.pdf', 1, dpi => 72)")))[1] == []


def test_a_citation_as_ask_returns_it(
    db: Connection, url: str, tq_command: list[str], tmp_path: Path
) -> None:
    load(db, "fees.pdf", pdf())
    work(db)
    row = db.execute(
        "SELECT answer_id, citations FROM tq.ask('fees.pdf', 'What is the fee for a missed visit of kind 2?') LIMIT 1"
    ).fetchone()
    assert row is not None
    png = value(db, "SELECT tq.page_image(citation => %s::jsonb, dpi => 72)", json.dumps(row[1][0]))
    assert yellow(bytes(png))[1]
    out = tmp_path / "seen.png"
    done = run(tq_command, url, "show", str(row[0]), "--citation", "1", "--out", str(out))
    assert done.returncode == 0, done.stderr
    assert str(out) in done.stdout
    assert out.read_bytes().startswith(b"\x89PNG")
    db.execute("SELECT tq.remove('fees.pdf')")
    done = run(tq_command, url, "show", str(row[0]))
    assert done.returncode == 1
    assert "tq: show:" in done.stderr


def test_what_cannot_be_drawn_says_so(db: Connection) -> None:
    load(db, "rules.md", TEXT)
    load(db, "fees.pdf", pdf())
    work(db)
    for call, code in (
        ("tq.page_image('rules.md', 1)", "TQ010"),
        ("tq.page_image('fees.pdf')", "TQ021"),
        ("tq.page_image('fees.pdf', 3)", "TQ010"),
        ("tq.page_image('fees.pdf', 1, dpi => 5000)", "TQ021"),
        ("tq.page_image('gone.pdf', 1)", "TQ001"),
        ("tq.page_image(page => 1)", "TQ021"),
    ):
        with pytest.raises(psycopg.Error) as error:
            db.execute(f"SELECT {call}")
        assert error.value.sqlstate == code, call
        assert error.value.diag.message_hint, call
