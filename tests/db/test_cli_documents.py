"""tq load, ask, status and demo, as a user has them, against a database of the test's own."""

from __future__ import annotations

import json
import os
import subprocess
import time
from pathlib import Path
from typing import Any

import psycopg
import pytest

HANDBOOK = """# Desk

At least 48 hours' notice is needed to cancel an appointment.

## Fees

The fee for a missed appointment is £35.
"""


class Cli:
    """Runs the installed command with TQ_URL set."""

    def __init__(self, command: list[str], url: str) -> None:
        self._command = command
        self._url = url

    def __call__(
        self, *arguments: str, code: int = 0, stdin: bytes = b""
    ) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [*self._command, *arguments],
            input=stdin,
            capture_output=True,
            env={"TQ_URL": self._url, "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"},
            timeout=180,
            check=False,
        )
        out, err = done.stdout.decode(), done.stderr.decode()
        assert done.returncode == code, f"exit {done.returncode}\n{out}\n{err}"
        assert "Traceback" not in err
        assert "\x1b" not in out
        return subprocess.CompletedProcess(done.args, done.returncode, out, err)


@pytest.fixture
def cli(tq_command: list[str], url: str) -> Cli:
    return Cli(tq_command, url)


def test_load_waits_works_and_reports(cli: Cli, db: psycopg.Connection[Any], tmp_path: Path) -> None:
    good = tmp_path / "desk.md"
    good.write_text(HANDBOOK, encoding="utf-8")
    empty = tmp_path / "empty.txt"
    empty.write_bytes(b"")
    fake = tmp_path / "fake.pdf"
    fake.write_text("%PDF-1.7\n" * 9, encoding="utf-8")
    done = cli("load", str(good), str(empty), str(fake), str(tmp_path / "gone.txt"), "--tag", "t", code=1)
    assert "desk.md: ready, 7 lines\n" in done.stdout
    again = cli("load", str(good), "--effective-on", "2024-02-29").stdout
    assert again == "desk.md: ready, 7 lines (was loaded already)\n"
    assert "fake.pdf" in done.stderr
    assert "[TQ011]" in done.stderr
    assert "gone.txt: cannot read" in done.stderr
    tags, version = db.execute("SELECT tags, version FROM tq.document WHERE name = 'desk.md'").fetchall()[0]
    assert (tags, version) == (["t"], 1)


def test_load_json_and_standard_input(cli: Cli) -> None:
    done = cli("load", "-", "--name", "in.md", "--json", "--question", "What?", stdin=HANDBOOK.encode())
    (loaded,) = json.loads(done.stdout)
    assert (loaded["document"], loaded["status"], loaded["lines"], loaded["error"]) == (
        "in.md",
        "ready",
        7,
        None,
    )
    assert json.loads(cli("status", "in*", "--json").stdout)["documents"][0]["status"] == "ready"


def test_a_failed_document_is_tried_again_when_loaded_again(cli: Cli, tmp_path: Path) -> None:
    fake = tmp_path / "fake.pdf"
    fake.write_text("%PDF-1.7\n" * 9, encoding="utf-8")
    for _ in range(2):
        assert "fake.pdf: failed at convert" in cli("load", str(fake), code=1).stdout
    assert "[TQ011]" in cli("status", "fake.pdf").stdout


def test_no_wait_leaves_the_work_to_the_queue(cli: Cli, db: psycopg.Connection[Any], tmp_path: Path) -> None:
    good = tmp_path / "desk.md"
    good.write_text(HANDBOOK, encoding="utf-8")
    assert "queued as version 1" in cli("load", str(good), "--no-wait").stdout
    assert db.execute("SELECT status FROM tq.document").fetchall() == [("pending",)]
    refused = cli("ask", "desk.md", "What is the fee?", code=1)
    assert "[TQ002]" in refused.stderr
    assert "hint:" in refused.stderr


def test_ask_shows_every_part(cli: Cli, tmp_path: Path) -> None:
    good = tmp_path / "desk.md"
    good.write_text(HANDBOOK, encoding="utf-8")
    cli("load", str(good))
    text = cli("ask", "desk.md", "How much is the fee for a missed appointment?", "--explain").stdout
    for part in (
        "settled",
        "what ",
        "why ",
        "how ",
        "desk.md:7",
        "| The fee for a missed appointment is £35.",
        "DESCEND",
    ):
        assert part in text
    assert max(map(len, text.splitlines())) <= 200
    rows = json.loads(cli("ask", "desk.md", "How much is the fee for a missed appointment?", "--json").stdout)
    assert rows[0]["rank"] == 1
    assert rows[0]["citations"][0]["quote"] == "The fee for a missed appointment is £35."
    assert "Answered by the model extractive, strategy default, " in text
    unsettled = cli("ask", "desk.md", "Who won the chess tournament in Reykjavik?").stdout
    assert "nothing found settles the question" in unsettled


def test_tables_are_shown(cli: Cli, tmp_path: Path) -> None:
    sheet = tmp_path / "fees.csv"
    sheet.write_text("Service,Fee\nCheck-up,24.50\nX-ray,31\n", encoding="utf-8")
    cli("load", str(sheet))
    expected = "fees.csv:1-3\n\n| Service | Fee |\n| --- | --- |\n| Check-up | 24.50 |\n| X-ray | 31 |\n\n"
    assert cli("tables", "fees.csv").stdout == cli("tables", "fees.csv", "--line", "2").stdout == expected
    assert json.loads(cli("tables", "fees.csv", "--json").stdout)[0]["columns"] == ["Service", "Fee"]
    assert "[TQ001]" in cli("tables", "none.csv", code=1).stderr


def test_errors_are_plain(cli: Cli, empty_url: str, tq_command: list[str]) -> None:
    missing = cli("ask", "none", "Why?", code=1).stderr
    assert missing.startswith("tq: document not found [TQ001]")
    assert "detail: " in missing
    assert "[TQ020]" in cli("ask", "none", "Why?", "--strategy", "nope", code=1).stderr
    assert "hint: " in Cli(tq_command, empty_url)("status", code=1).stderr
    assert "--name" in cli("load", "-", code=2).stderr
    assert "'yesterday'" in cli("load", "-", "--name", "n", "--effective-on", "yesterday", code=2).stderr
    assert "name the files in it" in cli("load", "/tmp", code=1).stderr
    unreachable = Cli(tq_command, "postgresql://nobody@127.0.0.1:1/none")("status", code=1)
    assert unreachable.stderr.startswith("tq: ")


def test_demo_runs_twice(cli: Cli, db: psycopg.Connection[Any]) -> None:
    for _ in range(2):
        out = cli("demo").stdout
        for word in (
            "settled",
            "disputed",
            "unsettled",
            "24 hours' notice",
            "48 hours' notice",
            "six weeks",
            "2 weeks",
        ):
            assert word in out
        assert "£1,890" in out
        assert "DESCEND" in out
        assert max(map(len, out.splitlines())) <= 140
    assert db.execute("SELECT count(*), min(version), max(version) FROM tq.document").fetchall() == [
        (3, 1, 1)
    ]
    assert db.execute("SELECT line_count >= 5000 FROM tq.document WHERE name LIKE 'demo/op%'").fetchone() == (
        True,
    )


def test_what_is_no_text_is_shown_and_not_obeyed(cli: Cli, tmp_path: Path) -> None:
    escapes = tmp_path / "red\x1b[31m\nready, 9 lines.txt"
    escapes.write_bytes(b"The gate code is \x1b[31m4711\x1b[0m.\x07\x9b\n")
    latin = os.fsencode(tmp_path) + b"/caf\xe9.txt"
    Path(os.fsdecode(latin)).write_bytes(b"The gate code is 4712.\n")
    out = cli("load", str(escapes), os.fsdecode(latin)).stdout
    assert "\x1b" not in out
    assert {line.partition(":")[0] for line in out.splitlines()} == {
        "red␛[31m␊ready, 9 lines.txt",
        "caf�.txt",
    }
    # `cli` itself refuses an escape character in the output.
    assert "red␛[31m␊ready" in cli("ask", "red*", "What is the gate code?", "--explain").stdout
    assert "red␛[31m␊ready" in cli("status", "red*").stdout
    found = json.loads(cli("ask", "red*", "What is the gate code?", "--json").stdout)
    assert found[0]["why"]
    assert "4712" in cli("ask", "caf�.txt", "What is the gate code?").stdout
    for arguments in (("ask", b"caf\xe9.txt", "x"), ("ask", "x", b"caf\xe9"), ("status", b"\xff")):
        assert "not valid UTF-8" in cli(*[os.fsdecode(argument) for argument in arguments], code=2).stderr


def test_a_full_disk_and_a_terminal_without_the_characters(
    tq_command: list[str], url: str, cli: Cli, tmp_path: Path
) -> None:
    file = tmp_path / "zh.txt"
    file.write_text("大门的密码是四七一一。\n", encoding="utf-8")
    cli("load", str(file))
    plain = {"TQ_URL": url, "PATH": "/usr/bin:/bin", "PYTHONIOENCODING": "latin-1"}
    for json_too in ([], ["--json"]):
        ask = [*tq_command, "ask", "zh.txt", "大门的密码是什么?", *json_too]
        done = subprocess.run(ask, capture_output=True, env=plain, timeout=60, check=True)
        assert b"\\u56db" in done.stdout or b"\\u5927" in done.stdout
        if json_too:
            assert json.loads(done.stdout)[0]["document"] == "zh.txt"
        with open("/dev/full", "wb") as full:
            failed = subprocess.run(
                ask, stdout=full, stderr=subprocess.PIPE, env=plain, timeout=60, check=False
            )
        assert failed.returncode == 1
        if json_too:
            assert json.loads(failed.stderr)["error"]["message"] == "No space left on device"
        else:
            assert (
                failed.stderr == b"tq: output: No space left on device; make room, or write somewhere else\n"
            )


def test_a_worker_that_fails_ends_the_wait_soon(
    cli: Cli, db: psycopg.Connection[Any], tmp_path: Path
) -> None:
    db.execute("ALTER TABLE tq.model RENAME COLUMN timeout_seconds TO gone")
    file = tmp_path / "a.txt"
    file.write_text("The gate code is 4711.\n", encoding="utf-8")
    started = time.monotonic()
    err = cli("load", str(file), code=1).stderr
    assert "worker stopped" in err
    assert "nobody else works" in err
    assert time.monotonic() - started < 60


def test_the_hint_at_a_failed_document_is_one_sentence(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "empty.txt").write_bytes(b"")
    cli("load", str(tmp_path / "empty.txt"), code=1)
    hint = cli("ask", "empty.txt", "x", code=1).stderr.splitlines()[-1]
    assert hint == "  hint: check that the file was written completely; then SELECT tq.retry('empty.txt@1')."
