"""The installed command line: exit codes, JSON, and errors of one line."""

from __future__ import annotations

import json
import os
import subprocess

import psycopg
import pytest

from tq_loader.home import Instance


@pytest.fixture
def run(tq_command: list[str]) -> Run:
    return Run(tq_command)


class Run:
    def __init__(self, command: list[str]) -> None:
        self.command = command

    def __call__(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        env = {key: value for key, value in os.environ.items() if key not in {"TQ_URL", "TQ_INSTANCE"}}
        return subprocess.run(
            [*self.command, *arguments], env=env | environment, capture_output=True, text=True, check=False
        )


def test_url_is_all_that_url_prints(run: Run, server: Instance) -> None:
    done = run("url", "--instance", "test")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == server.url() + "\n"
    with psycopg.connect(done.stdout.strip()) as connection:
        row = connection.execute(
            "SELECT current_database(), rolsuper FROM pg_roles WHERE rolname = current_user"
        )
        assert row.fetchone() == ("tq", True)


def test_instance_by_environment(run: Run, server: Instance) -> None:
    assert run("url", TQ_INSTANCE="test").stdout.strip() == server.url()
    assert json.loads(run("url", "--json", TQ_INSTANCE="test").stdout) == {"url": server.url()}


def test_instance_that_is_not_there_is_one_line(run: Run) -> None:
    done = run("url", "--instance", "nowhere")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "tq: database: instance nowhere does not exist yet; run `make up` (or `tq up`)\n"


@pytest.mark.parametrize("arguments", [["nonsense"], ["url", "--nonsense"], ["migrate", "extra"]])
def test_wrong_use_is_exit_code_two(run: Run, arguments: list[str]) -> None:
    done = run(*arguments)
    assert done.returncode == 2
    assert "Usage:" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "exit_code", "code"),
    [
        (["url", "--instance", "nowhere"], 1, "database"),
        (["url", "--nonsense"], 2, "usage"),
        (["show", "no-uuid"], 2, "usage"),
        (["status", "--url", "postgresql://nobody@127.0.0.1:1/none"], 1, "database"),
        (["ask", "none", "Why?"], 1, "TQ001"),
        (["ask", "none", "Why?", "--strategy", "nope"], 1, "TQ020"),
    ],
)
def test_errors_as_json(run: Run, url: str, arguments: list[str], exit_code: int, code: str) -> None:
    done = run(*arguments, "--json", **({} if "--instance" in arguments else {"TQ_URL": url}))
    assert (done.returncode, done.stdout) == (exit_code, ""), done.stderr
    [line] = done.stderr.splitlines()
    error = json.loads(line)["error"]
    assert set(error) == {"code", "message", "detail", "hint"}
    assert error["code"] == code
    assert error["message"]
    assert error["hint"]


def test_second_up_has_nothing_to_do(run: Run, server: Instance) -> None:
    done = run("up", "--instance", "test", "--json")
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said == {"instance": "test", "url": server.url(), "started": False, "migrated": False}


def test_migrate_says_what_it_did(run: Run, url: str) -> None:
    done = run("migrate", "--url", url, "--json")
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["before"] == said["after"]


def test_version_names_program_python_and_server(run: Run) -> None:
    said = json.loads(run("version", "--json", TQ_INSTANCE="test").stdout)
    assert set(said) == {"tq", "commit", "python", "server"}
    assert said["server"][0].isdigit()
    assert run("version", "--instance", "nowhere").stdout.rstrip().endswith("PostgreSQL not running")


def test_doctor_exits_with_one_where_something_fails(run: Run, empty_url: str) -> None:
    done = run("doctor", "--url", empty_url, "--json")
    assert done.returncode == 1
    assert any(finding["result"] == "fail" and finding["mend"] for finding in json.loads(done.stdout))


def test_psql_passes_its_arguments_on(run: Run) -> None:
    done = run("psql", "--instance", "test", "-AtX", "-c", "SELECT 6 * 7")
    assert done.stdout == "42\n"
