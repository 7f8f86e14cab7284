"""tq doctor against a healthy server, and against one thing after another that is wrong."""

from __future__ import annotations

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
