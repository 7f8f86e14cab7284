"""The life of a private cluster: made, started, killed, started again, deleted."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, LiteralString

import psycopg
import pytest

from tq_loader import cluster
from tq_loader.home import Home, Instance
from tq_loader.problem import Problem


@pytest.fixture
def instance(server: Instance, monkeypatch: pytest.MonkeyPatch) -> Iterator[Instance]:
    monkeypatch.delenv("TQ_PORT", raising=False)
    made = server.home.instance(f"lifecycle-{os.environ.get('PYTEST_XDIST_WORKER', 'alone')}")
    if made.root.exists():
        cluster.remove(made)
    yield made
    if made.root.exists():
        cluster.remove(made)


def gone(pid: int) -> bool:
    """Waits until a process has ended and was reaped; False after ten seconds."""
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.02)
    return False


@pytest.mark.slow
def test_life_of_a_cluster(instance: Instance) -> None:
    said: list[str] = []
    assert cluster.up(instance, said.append)
    assert any("making a cluster" in line for line in said)
    port = instance.port
    assert not cluster.up(instance), "a second start has nothing to do"
    with psycopg.connect(instance.url("postgres"), autocommit=True) as connection:
        settings: dict[str, str] = dict(
            connection.execute("SELECT name, setting FROM pg_settings").fetchall()
        )
        assert settings["data_checksums"] == "on"
        assert settings["fsync"] == "on"
        assert settings["listen_addresses"] == "127.0.0.1"
        assert settings["shared_preload_libraries"] == "pg_cron"
    # Nobody gets in over TCP without a password.
    with pytest.raises(psycopg.OperationalError, match="password"):
        psycopg.connect(f"host=127.0.0.1 port={port} user=tq dbname=postgres connect_timeout=5")
    assert (instance.data.stat().st_mode & 0o077, instance.socket_dir.stat().st_mode & 0o077) == (0, 0)

    # The postmaster dies without a word; the next start finds its leavings and goes on.
    pid = int((instance.data / "postmaster.pid").read_text().split()[0])
    os.kill(pid, signal.SIGKILL)
    assert gone(pid), "nobody reaps the dead here: PostgreSQL would take it for alive"
    assert cluster.up(instance)
    assert instance.port == port

    # A setting of one's own is read, and outlives a restart.
    assert cluster.down(instance)
    assert not cluster.is_running(instance)
    instance.local_conf.write_text("work_mem = '7MB'\n")
    instance.local_conf.chmod(0o644)
    cluster.up(instance)
    with psycopg.connect(instance.url("postgres")) as connection:
        assert connection.execute("SHOW work_mem").fetchone() == ("7MB",)

    cluster.remove(instance)
    assert not instance.root.exists()
    assert not cluster.down(instance)


@pytest.mark.slow
def test_a_worker_outlives_the_server(instance: Instance, tq_command: list[str], tmp_path: Path) -> None:
    """It says that the connection is lost, works on when the server is back, and ends when it is told to."""
    up = [*tq_command, "up", "--instance", instance.name]
    subprocess.run(up, check=True, stdout=subprocess.DEVNULL)
    said = tmp_path / "said"

    def load(name: str) -> None:
        with psycopg.connect(instance.url(), autocommit=True) as connection:
            connection.execute("SELECT tq.load_text(%s, %s)", [name, "# Rules\n\nThe gate is shut at ten.\n"])
            await_true(connection, "SELECT status = 'ready' FROM tq.document ORDER BY loaded_at DESC LIMIT 1")

    with said.open("wb") as errors:
        worker = subprocess.Popen([*tq_command, "worker", "--url", instance.url()], stderr=errors)
        try:
            load("before.md")
            cluster.down(instance)
            deadline = time.monotonic() + 20
            while b"not yet" not in said.read_bytes() and time.monotonic() < deadline:
                time.sleep(0.05)
            assert worker.poll() is None, said.read_text()
            cluster.up(instance)
            load("after.md")
            worker.send_signal(signal.SIGTERM)
            assert worker.wait(timeout=20) == 0
        finally:
            worker.kill()
            worker.wait()
    text = said.read_text()
    assert "the connection is lost" in text
    assert "not yet" in text
    assert text.endswith("tq: worker: connected again\n")


def await_true(connection: psycopg.Connection[tuple[Any, ...]], query: LiteralString) -> None:
    deadline = time.monotonic() + 60
    while connection.execute(query).fetchone() != (True,):
        assert time.monotonic() < deadline, query
        time.sleep(0.05)


@pytest.mark.slow
def test_server_that_does_not_start_says_why(instance: Instance) -> None:
    cluster.up(instance)
    cluster.down(instance)
    instance.local_conf.write_text("shared_buffers = 'plenty'\n")
    instance.local_conf.chmod(0o644)
    with pytest.raises(Problem) as caught:
        cluster.up(instance)
    assert caught.value.step == "start"
    assert str(instance.log) in caught.value.mend


def test_missing_program_names_its_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "server").write_text("99\n")
    monkeypatch.delenv("TQ_PORT", raising=False)
    with pytest.raises(Problem, match="postgresql-99"):
        cluster.up(Home(tmp_path).instance())


def test_folder_that_is_no_cluster_is_not_deleted(tmp_path: Path) -> None:
    (tmp_path / "papers").mkdir()
    with pytest.raises(Problem, match="no private cluster"):
        cluster.remove(Home(tmp_path).instance("papers"))
    assert (tmp_path / "papers").is_dir()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root lends an account that may be unable to enter")
def test_home_that_the_account_cannot_enter_is_said(server: Instance, tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    (closed / "server").write_text(f"{server.home.major}\n")
    with pytest.raises(Problem, match="cannot enter"):
        cluster.up(Home(closed).instance())
