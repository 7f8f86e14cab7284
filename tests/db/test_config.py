"""tq config print and check, as a user runs them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))
from ingest_help import value

Connection = psycopg.Connection[Any]
Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def run(db: Connection, url: str, tq_command: list[str]) -> Run:
    def start(*arguments: str, at: str = url) -> subprocess.CompletedProcess[str]:
        environment = {key: item for key, item in os.environ.items() if key not in ("TQ_URL", "TQ_INSTANCE")}
        return subprocess.run(
            [*tq_command, "config", *arguments, "--url", at],
            capture_output=True, text=True, check=False, env=environment,
        )  # fmt: skip

    return start


def printed(run: Run) -> dict[tuple[str, str, str], dict[str, Any]]:
    done = run("print", "--json")
    assert done.returncode == 0, done.stderr
    return {(row["kind"], row["of"], row["name"]): row for row in json.loads(done.stdout)}


def failures(run: Run) -> dict[str, dict[str, Any]]:
    """What fails, by what was looked at; the command's exit code says whether anything does."""
    done = run("check", "--json")
    found = {row["check"]: row for row in json.loads(done.stdout) if row["result"] == "fail"}
    assert done.returncode == (1 if found else 0), done.stderr
    assert all(row["mend"] for row in found.values())
    return found


def test_every_value_is_printed_with_where_it_comes_from(db: Connection, run: Run) -> None:
    db.execute("UPDATE tq.setting SET value = '7' WHERE name = 'max_attempts'")
    db.execute("INSERT INTO tq.strategy (name, top_n) VALUES ('parent', 3)")
    db.execute("INSERT INTO tq.strategy (name, inherits, pairs) VALUES ('child', 'parent', 2)")
    db.execute(
        "INSERT INTO tq.model (name, driver, remote_name, input_tokens, output_tokens, summary_tokens, concurrency)"
        " VALUES ('claude', 'anthropic', 'm', 32000, 4000, 800, 3)"
    )
    rows = printed(run)
    row = rows["setting", "max_attempts", "value"]
    assert (row["value"], row["default"], row["comes_from"]) == (7, 5, "tq.setting")
    assert rows["setting", "scent", "value"]["comes_from"] == "default"
    for name, count in (("setting", "tq.setting"), ("model", "tq.model"), ("strategy", "tq.strategy")):
        there = {of for kind, of, _ in rows if kind == name}
        assert there == {one for (one,) in db.execute(f"SELECT name FROM {count}").fetchall()}
    child = {name: row["comes_from"] for (_, of, name), row in rows.items() if of == "child"}
    assert (child["pairs"], child["top_n"]) == ("strategy child", "strategy parent")
    assert child["routes"] == "strategy default"
    assert rows["strategy", "child", "top_n"]["default"] == "5"
    claude = {name: row for (_, of, name), row in rows.items() if of == "claude"}
    assert (claude["concurrency"]["default"], claude["concurrency"]["comes_from"]) == (16, "tq.model")
    assert (claude["delay_ms"]["default"], claude["delay_ms"]["comes_from"]) == (0, "default")

    text = run("print").stdout
    assert "max_attempts" in text
    line = next(line for line in text.split("\n") if line.startswith("max_attempts"))
    assert line.split() == ["max_attempts", "7", "5", "tq.setting"]
    db.execute("UPDATE tq.setting SET value = default_value")
    assert printed(run)["setting", "max_attempts", "value"]["comes_from"] == "default"


def test_no_password_is_printed(db: Connection, run: Run, url: str) -> None:
    secret = "se-cret-word"
    done = run("print", at=psycopg.conninfo.make_conninfo(url, password=secret))
    assert done.returncode == 0
    assert secret not in done.stdout + done.stderr
    assert "--url" in done.stdout


def test_what_ships_holds(db: Connection, run: Run) -> None:
    assert failures(run) == {}
    done = run("check")
    assert done.returncode == 0
    assert "fail" not in done.stdout
    before = value(db, "SELECT count(*) FROM tq.strategy_version")
    run("check")
    assert value(db, "SELECT count(*) FROM tq.strategy_version") == before  # looking changes nothing


def test_what_does_not_hold_fails_and_says_what_to_do(db: Connection, run: Run) -> None:
    db.execute(
        "INSERT INTO tq.model (name, driver, input_tokens, output_tokens, summary_tokens)"
        " VALUES ('large', 'extractive', 8192, 2048, 384)"
    )
    db.execute(
        "INSERT INTO tq.strategy (name, model, reasoning_rules) VALUES ('wordy', 'large', repeat('so ', 1100))"
    )
    db.execute("INSERT INTO tq.strategy (name, model, max_tokens) VALUES ('tight', 'large', 2100)")
    assert failures(run) == {}

    db.execute("UPDATE tq.setting SET value = '\"gone\"' WHERE name = 'model_plan'")
    db.execute("UPDATE tq.model SET input_tokens = 4096, output_tokens = 2200 WHERE name = 'large'")
    found = failures(run)
    assert set(found) == {"model of plan", "strategy wordy", "strategy tight"}
    assert "gone" in found["model of plan"]["seen"]
    assert "[TQ021]" in found["strategy wordy"]["seen"]
    assert "3300 characters" in found["strategy wordy"]["seen"]
    assert "Shorten it" in found["strategy wordy"]["mend"]
    assert "allows 2100 tokens a question" in found["strategy tight"]["seen"]
    # The same is refused where it is written.
    with pytest.raises(psycopg.Error) as caught:
        db.execute("INSERT INTO tq.strategy (name, model, max_tokens) VALUES ('tighter', 'large', 1000)")
    assert caught.value.sqlstate == "TQ021"
    text = run("check").stdout
    assert "→" in text
    assert "strategy wordy" in text


def test_a_model_without_its_key_fails(db: Connection, run: Run) -> None:
    db.execute(
        "INSERT INTO tq.model (name, driver, remote_name, input_tokens, output_tokens, summary_tokens)"
        " VALUES ('claude', 'anthropic', 'm', 32000, 4000, 800)"
    )
    assert failures(run) == {}  # nothing uses it
    db.execute("UPDATE tq.setting SET value = '\"claude\"' WHERE name = 'model'")
    found = failures(run)
    assert set(found) == {"model"}
    assert "ANTHROPIC_API_KEY" in found["model"]["seen"]


def test_rows_that_came_by_the_checks_fail(db: Connection, run: Run) -> None:
    db.execute("ALTER TABLE tq.setting DROP CONSTRAINT setting_value_check")
    db.execute("ALTER TABLE tq.setting DISABLE TRIGGER ALL")
    db.execute("UPDATE tq.setting SET value = '100000' WHERE name = 'max_attempts'")
    db.execute("ALTER TABLE tq.setting ENABLE TRIGGER ALL")
    db.execute(
        "ALTER TABLE tq.setting ADD CONSTRAINT setting_value_check CHECK"
        " (name <> 'max_attempts' OR (value #>> '{}')::numeric <= 100) NOT VALID"
    )
    found = failures(run)
    assert set(found) == {"tq.setting"}
    assert "max_attempts" in found["tq.setting"]["seen"]


@pytest.fixture
def reader(db: Connection) -> Iterator[str]:
    name = f"tq_test_config_{os.getpid()}"
    db.execute(f"CREATE ROLE {name} LOGIN IN ROLE tq_reader")
    yield name
    db.execute(f"DROP ROLE {name}")


def test_a_reader_prints_all_and_checks_what_it_may(db: Connection, run: Run, url: str, reader: str) -> None:
    at = psycopg.conninfo.make_conninfo(url, user=reader)
    assert "max_attempts" in run("print", at=at).stdout
    done = run("check", "--json", at=at)
    assert done.returncode == 0
    by_result = {row["check"]: row["result"] for row in json.loads(done.stdout)}
    assert by_result["tq.setting"] == "warn"
    assert by_result["keys and stores"] == "warn"
    assert by_result["strategy default"] == "ok"


def test_without_tq_it_says_so(empty_url: str, tq_command: list[str]) -> None:
    for command in ("print", "check"):
        done = subprocess.run(
            [*tq_command, "config", command, "--url", empty_url], capture_output=True, text=True, check=False
        )
        assert done.returncode == 1
        assert "tq migrate" in done.stdout + done.stderr
        assert "Traceback" not in done.stderr
