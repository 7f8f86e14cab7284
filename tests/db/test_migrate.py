"""tq migrate: one transaction, repeatable, and errors that say where."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import psycopg
import pytest

import tq_loader.migrate as migrating
from tq_loader.home import Instance
from tq_loader.migrate import head, is_current, migrate, sql_files
from tq_loader.problem import Problem


def dump(instance: Instance, url: str) -> str:
    done = subprocess.run(
        [instance.home.bindir / "pg_dump", "--schema-only", url], capture_output=True, text=True, check=True
    )
    # Newer pg_dumps guard their output with a random key.
    return "\n".join(
        line for line in done.stdout.splitlines() if not line.startswith(("\\restrict", "\\unrestrict"))
    )


def test_second_run_leaves_the_schema_as_it_was(server: Instance, url: str) -> None:
    before = dump(server, url)
    done = migrate(url)
    assert (done.before, done.after) == (head(), head())
    assert dump(server, url) == before
    assert "CREATE TABLE tq.document" in before


def test_fresh_database_reaches_head_and_says_so(empty_url: str) -> None:
    assert not is_current(empty_url)
    said: list[str] = []
    done = migrate(empty_url, said.append)
    assert (done.before, done.after) == (None, head())
    assert done.files == len(sql_files())
    assert is_current(empty_url)
    assert any("pgmq" in line for line in said)


def test_pgmq_is_on_record_and_works(db: psycopg.Connection[Any]) -> None:
    row = db.execute("SELECT version FROM tq_private.installed WHERE component = 'pgmq'").fetchone()
    assert row is not None
    assert row[0][0].isdigit()
    db.execute("SELECT pgmq.create('probe')")
    sent = db.execute("SELECT pgmq.send('probe'::text, '{}'::jsonb)").fetchone()
    assert sent == (1,)


def broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    (tmp_path / "100_broken.sql").write_text(text, encoding="utf-8")
    monkeypatch.setattr(migrating, "sql_dir", lambda: tmp_path)


def test_broken_file_names_file_line_and_sqlstate_and_undoes_all(
    empty_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken(
        tmp_path, monkeypatch, "CREATE VIEW public.v AS SELECT 1;\n\nSELECT nothing\n  FROM public.nowhere;\n"
    )
    with pytest.raises(Problem) as caught:
        migrate(empty_url)
    assert caught.value.step == "migrate 100_broken.sql:4"
    assert "[42P01]" in caught.value.why
    with psycopg.connect(empty_url) as connection:
        row = connection.execute("SELECT to_regclass('public.v'), to_regnamespace('tq')").fetchone()
    assert row == (None, None)


def test_error_without_a_position_names_the_statement(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "SELECT 1;\n-- why; not\nSELECT ';', $x$ ; $x$;\n\n"
    text += "DO $$\nBEGIN\n  RAISE 'no' USING HINT = 'do that';\nEND $$;\n"
    broken(tmp_path, monkeypatch, text)
    with pytest.raises(Problem) as caught:
        migrate(url)
    assert caught.value.step == "migrate 100_broken.sql:5"
    assert "no [P0001]" in caught.value.why
    assert caught.value.mend == "do that"


def test_percent_and_colon_are_ordinary_characters(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken(
        tmp_path, monkeypatch, "CREATE VIEW public.odd AS SELECT 7 % 4 AS \"%s\", ':x' AS x, '1'::int AS n;"
    )
    migrate(url)
    with psycopg.connect(url) as connection:
        assert connection.execute("TABLE public.odd").fetchone() == (3, ":x", 1)


def test_role_that_is_no_superuser_is_refused(empty_url: str) -> None:
    with psycopg.connect(empty_url, autocommit=True) as connection:
        connection.execute("DROP ROLE IF EXISTS tq_test_plain")
        connection.execute("CREATE ROLE tq_test_plain LOGIN")
        try:
            with pytest.raises(Problem, match="no superuser"):
                migrate(empty_url.replace("tq@", "tq_test_plain@"))
        finally:
            connection.execute("DROP ROLE tq_test_plain")


def test_newer_database_is_refused(url: str) -> None:
    with psycopg.connect(url) as connection:
        connection.execute("UPDATE tq_private.alembic_version SET version_num = '9999'")
    with pytest.raises(Problem, match="9999"):
        migrate(url)


def test_server_that_is_not_there_is_one_line() -> None:
    with pytest.raises(Problem) as caught:
        migrate("postgresql://tq@127.0.0.1:1/tq?connect_timeout=2")
    assert caught.value.step == "migrate"
    assert "refused" in caught.value.why
