"""A real server for the tests: the private instance `test`, one migrated template, one clone of it a test.

`db` is a connection to a database of the test's own, `url` its address. `server` is the running instance,
whose own database `tq` is the only one with pg_cron.
"""

from __future__ import annotations

import fcntl
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from pytest_postgresql import factories
from pytest_postgresql.executors import NoopExecutor

from tq_loader.cluster import reserve_port
from tq_loader.home import SUPERUSER, Instance, find_home
from tq_loader.migrate import migrate
from tq_loader.problem import Problem

CHECKOUT = Path(__file__).resolve().parents[1]
DATABASE = f"tq_test_{os.getpid()}"


def pytest_configure(config: pytest.Config) -> None:
    # Socket and port are known before the server runs; tests without a database never start it.
    try:
        instance = find_home().instance("test")
        config.option.postgresql_host = str(instance.socket_dir)
        config.option.postgresql_port = reserve_port(instance)
    except (Problem, OSError):
        pass  # the fixture `server` says what is missing, if a test asks for it
    config.option.postgresql_user = SUPERUSER


@pytest.fixture(scope="session")
def server() -> Instance:
    """The test instance, running what is in the tree now."""
    instance = find_home().instance("test")
    # Several processes may share the run: one brings it up, the others find it so.
    with _locked(instance.root.parent / "test.lock"):
        _bring_up(instance)
    return instance


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with open(path, "w", encoding="ascii") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _bring_up(instance: Instance) -> None:
    subprocess.run([CHECKOUT / "loader" / "setup.sh", "--dev"], check=True)
    up = [str(instance.home.venv / "bin" / "tq"), "up", "--instance", "test"]
    if subprocess.run(up, check=False).returncode != 0:
        # Most often an unreleased migration that changed since; nothing in this database is worth keeping.
        print("tests: once more, with a new database", flush=True)
        with psycopg.connect(instance.url("postgres"), autocommit=True) as connection:
            connection.execute("DROP DATABASE IF EXISTS tq WITH (FORCE)")
        # pg_cron's launcher was thrown out with it, and comes back with the server alone.
        subprocess.run([up[0], "down", "--instance", "test"], check=True)
        subprocess.run(up, check=True)
    _drop_left_behind(instance)


def _drop_left_behind(instance: Instance) -> None:
    """Databases of test runs that were killed: their process is gone, they are not."""
    with psycopg.connect(instance.url("postgres"), autocommit=True) as connection:
        names = [row[0] for row in connection.execute("SELECT datname FROM pg_database").fetchall()]
        for name in names:
            match = re.fullmatch(r"tq_test_(\d+).*", name)
            if match and not Path("/proc", match.group(1)).exists():
                connection.execute(f'ALTER DATABASE "{name}" IS_TEMPLATE false')
                connection.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')


def _migrate_template(*, dbname: str, **_: Any) -> None:
    instance = find_home().instance("test")
    # Roles belong to the whole cluster: two sessions that migrate at once would trip over each other's.
    with _locked(instance.root / "template.lock"):
        migrate(instance.url(dbname))


_noproc = factories.postgresql_noproc(dbname=DATABASE, load=[_migrate_template])
_client = factories.postgresql("_noproc")


@pytest.fixture(scope="session")
def template(server: Instance, request: pytest.FixtureRequest) -> NoopExecutor:
    """The migrated template that `db` is cloned from."""
    made: NoopExecutor = request.getfixturevalue("_noproc")
    return made


@pytest.fixture
def db(template: NoopExecutor, request: pytest.FixtureRequest) -> psycopg.Connection[Any]:
    """A connection of the superuser, committing each statement, to a fresh migrated database."""
    connection: psycopg.Connection[Any] = request.getfixturevalue("_client")
    connection.autocommit = True
    return connection


@pytest.fixture
def url(db: psycopg.Connection[Any], server: Instance) -> str:
    """The address of the database that `db` is connected to."""
    return server.url(db.info.dbname)


@pytest.fixture
def empty_url(server: Instance) -> Iterator[str]:
    """The address of a database in which nothing is installed."""
    name = f"{DATABASE}_empty"
    with psycopg.connect(server.url("postgres"), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} TEMPLATE template0")
        yield server.url(name)
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def cron_url(server: Instance) -> Iterator[str]:
    """The instance's own database, the only one with pg_cron. Tests take turns; it outlives them: clean up."""
    with _locked(server.root / "cron.lock"):
        yield server.url()


@pytest.fixture(scope="session")
def tq_command(server: Instance) -> list[str]:
    """The installed command line, as a user has it."""
    return [str(Path(sys.prefix) / "bin" / "tq")]
