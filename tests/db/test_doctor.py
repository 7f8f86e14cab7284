"""tq doctor against a healthy server, and against one thing after another that is wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import psycopg
import pytest

from tq_loader import doctor
from tq_loader.doctor import Finding, examine
from tq_loader.home import Instance


def found(findings: list[Finding], check: str) -> Finding:
    [finding] = [finding for finding in findings if finding.check == check]
    return finding


def failed(findings: list[Finding]) -> dict[str, Finding]:
    return {finding.check: finding for finding in findings if finding.result == "fail"}


def test_healthy_instance_has_no_failure(server: Instance, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TQ_URL", raising=False)
    findings = examine(None, server.name)
    assert not failed(findings)
    for check in (
        "packages",
        "instance",
        "server's Python",
        "engine",
        "schema",
        "queues",
        "pg_cron",
        "rights",
    ):
        assert found(findings, check).result == "ok", found(findings, check)
    assert found(findings, "pg_cron connection").result == "ok"
    assert found(findings, "model").seen == "extractive (embedded: no key, no network)"


def test_converter_and_pictures_are_told_of(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert found(examine(url), "converter").seen.startswith("starts")
    finding = found(examine(url), "pictures")
    assert ("Tesseract, in " in finding.seen) == (finding.result == "ok")
    monkeypatch.setattr(doctor, "PICTURES", "print('languages:')")
    finding = found(examine(url), "pictures")
    assert finding.result == "warn"
    assert "apt-get install tesseract-ocr" in finding.mend


def test_work_in_another_database_is_none_here(url: str, cron_url: str) -> None:
    with psycopg.connect(cron_url, autocommit=True) as other, other.pipeline():
        other.execute("SELECT pg_sleep(2) /* CALL tq.work() */")
        other.pgconn.flush()
        assert "running" not in found(examine(url), "workers").seen
        assert " 1 running now" in found(examine(cron_url), "workers").seen


def test_clone_without_pg_cron_is_a_warning_that_names_the_database(url: str) -> None:
    finding = found(examine(url), "pg_cron")
    assert finding.result == "warn"
    assert "lives in the database tq" in finding.seen
    assert finding.mend


def test_function_that_everyone_may_execute_is_a_failure(db: psycopg.Connection[Any], url: str) -> None:
    db.execute("CREATE FUNCTION tq.probe() RETURNS int LANGUAGE sql RETURN 1")
    finding = failed(examine(url))["rights"]
    assert "everyone may execute 1 " in finding.seen
    assert "tq migrate" in finding.mend


def test_older_schema_is_a_failure(db: psycopg.Connection[Any], url: str) -> None:
    db.execute("UPDATE tq_private.alembic_version SET version_num = '0000'")
    finding = failed(examine(url))["schema"]
    assert "revision 0000" in finding.seen
    assert "tq migrate" in finding.mend


def test_functions_of_another_build_are_a_warning(db: psycopg.Connection[Any], url: str) -> None:
    db.execute("UPDATE tq_private.installed SET version = 'x' WHERE component = 'code'")
    assert found(examine(url), "schema").result == "warn"


def test_database_without_tq_says_migrate(empty_url: str) -> None:
    failures = failed(examine(empty_url))
    assert "not installed in this database" in failures["schema"].seen
    assert "plpython" in failures


def test_engine_of_another_build_is_a_failure(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "package_hash", lambda folder: "other")
    assert "is not the one here" in failed(examine(url))["engine"].seen


def test_model_that_is_not_there_is_a_failure(db: psycopg.Connection[Any], url: str) -> None:
    db.execute("SET session_replication_role = replica")
    db.execute("UPDATE tq.setting SET value = '\"gone\"' WHERE name = 'model'")
    assert "names no row" in failed(examine(url))["model"].seen


def test_models_by_purpose_and_their_keys_in_the_server(
    db: psycopg.Connection[Any], url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "of this shell alone")
    for name, driver, address in (
        ("claude", "anthropic", None),
        ("local", "openai", "http://127.0.0.1:1/v1"),
        ("far", "openai", None),
    ):
        db.execute(
            "INSERT INTO tq.model (name, driver, remote_name, base_url, input_tokens, output_tokens, summary_tokens)"
            " VALUES (%s, %s, 'm', %s, 32000, 4000, 800)",
            [name, driver, address],
        )
    db.execute("UPDATE tq.setting SET value = '\"claude\"' WHERE name IN ('model_read', 'model_plan')")
    db.execute("UPDATE tq.setting SET value = '\"far\"' WHERE name = 'model_mark'")
    db.execute("INSERT INTO tq.strategy (name, model) VALUES ('near', 'local')")
    findings = examine(url)
    assert found(findings, "model").result == "ok"
    claude = found(findings, "model of plan, read")
    assert claude.result == "fail"
    assert "the server has no ANTHROPIC_API_KEY, though this shell has" in claude.seen
    assert "TQ_KEY_FILE" in claude.mend
    assert "no OPENAI_API_KEY" in found(findings, "model of mark").seen
    local = found(findings, "model of strategy near")
    assert (local.result, "without a key, at http://127.0.0.1:1/v1" in local.seen) == ("ok", True)
    assert "of this shell alone" not in str(findings)


def test_the_store_of_files_is_tried(db: psycopg.Connection[Any], url: str, folder: Path) -> None:
    assert found(examine(url), "files' bytes").seen == "in the database: 0 files"
    place = f"file://{folder}"
    db.execute("SELECT tq.load_text('notes.md', 'The gate is shut at ten.')")
    sha = db.execute("SELECT encode(sha256, 'hex') FROM tq.blob").fetchone()
    assert sha is not None
    db.execute("UPDATE tq.setting SET value = to_jsonb(%s::text) WHERE name = 'blob_store'", [place])
    db.execute("SELECT tq_private.move_blob(%s, %s)", [sha[0], place])
    kept = found(examine(url), "files' bytes")
    assert kept.result == "ok"
    assert kept.seen == f"{place} can be written and read, notes.md too, one of 1 file"
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert len(files) == 1, "the trial was taken away again"
    files[0].unlink()
    gone = found(examine(url), "files' bytes")
    assert (gone.result, "blob not found" in gone.seen) == ("fail", True)
    db.execute("UPDATE tq.setting SET value = '\"database\"' WHERE name = 'blob_store'")
    older = found(examine(url), "older files")
    assert "reading notes.md, one of 1 file" in older.seen
    assert older.mend
    db.execute("UPDATE tq.setting SET value = '\"file:///nowhere/at/all\"' WHERE name = 'blob_store'")
    assert found(examine(url), "files' bytes").result == "fail"


def test_role_that_is_no_superuser_is_a_warning(db: psycopg.Connection[Any], url: str) -> None:
    db.execute("DROP ROLE IF EXISTS tq_test_doctor")
    db.execute("CREATE ROLE tq_test_doctor LOGIN")
    try:
        findings = examine(url.replace("tq@", "tq_test_doctor@"))
        assert found(findings, "role").result == "warn"
    finally:
        db.execute("DROP ROLE tq_test_doctor")


def test_server_that_is_not_there_is_one_failure() -> None:
    [finding] = examine("postgresql://tq@127.0.0.1:1/tq")
    assert (finding.check, finding.result) == ("server", "fail")
    assert "refused" in finding.seen
