"""Paths, ports and configuration of a private cluster, without starting one."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import psycopg
import pytest

from tq_loader import cluster
from tq_loader.home import SOCKET_PATH_BYTES, Home, database_url, find_home
from tq_loader.problem import Problem


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    monkeypatch.delenv("TQ_PORT", raising=False)
    monkeypatch.delenv("TQ_INSTANCE", raising=False)
    monkeypatch.setenv("TQ_HOME", str(tmp_path))
    (tmp_path / "venv/lib/python3.11/site-packages").mkdir(parents=True)
    return Home(tmp_path)


def test_instance_is_main_unless_named(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    assert home.instance().name == "main"
    monkeypatch.setenv("TQ_INSTANCE", "test")
    assert home.instance().name == "test"
    assert home.instance("other").root == home.path / "other"


@pytest.mark.parametrize("name", ["venv", "../main", "Main", "a b", "-x"])
def test_odd_instance_names_are_refused(home: Home, name: str) -> None:
    with pytest.raises(Problem, match="no name for an instance"):
        home.instance(name)


def test_port_is_chosen_once_and_never_5432(home: Home) -> None:
    instance = home.instance("main")
    first = cluster.reserve_port(instance)
    assert first in cluster.PORTS
    assert first != 5432
    assert instance.port == first
    assert cluster.reserve_port(instance) == first


def test_taken_port_gives_way_to_another(home: Home) -> None:
    instance = home.instance("main")
    first = cluster.reserve_port(instance)
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as other:
        other.bind(("127.0.0.1", first))
        other.listen()
        assert cluster.reserve_port(instance) != first


def test_two_instances_have_two_ports(home: Home) -> None:
    taken = cluster.reserve_port(home.instance("main"))
    assert cluster.choose_port(home.instance("main"), free=lambda port: port != taken) != taken


def test_asked_port_is_taken_as_it_is(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TQ_PORT", "5432")
    assert cluster.choose_port(home.instance(), free=lambda port: True) == 5432
    with pytest.raises(Problem, match="is taken"):
        cluster.choose_port(home.instance(), free=lambda port: False)


@pytest.mark.parametrize("asked", ["0", "70000", "many", "22", "５４３２"])
def test_bad_port_is_refused(home: Home, monkeypatch: pytest.MonkeyPatch, asked: str) -> None:
    monkeypatch.setenv("TQ_PORT", asked)
    with pytest.raises(Problem, match="is no port"):
        cluster.choose_port(home.instance())


def test_long_path_gets_a_short_socket_directory(tmp_path: Path) -> None:
    deep = Home(tmp_path / ("d" * 100)).instance("main")
    assert deep.socket_dir.parent != deep.root
    assert len(os.fsencode(deep.socket_dir / ".s.PGSQL.65535")) <= SOCKET_PATH_BYTES
    assert deep.socket_dir == Home(tmp_path / ("d" * 100)).instance("main").socket_dir
    assert deep.socket_dir != Home(tmp_path / ("e" * 100)).instance("main").socket_dir


def test_url_survives_odd_paths(tmp_path: Path) -> None:
    instance = Home(tmp_path / "a b&c=d%?é").instance("main")
    instance.root.mkdir(parents=True)
    instance.port_file.write_text("21000\n")
    parsed = psycopg.conninfo.conninfo_to_dict(instance.url())
    assert parsed["host"] == str(instance.socket_dir)
    assert (parsed["user"], parsed["dbname"], int(str(parsed["port"]))) == ("tq", "tq", 21000)


def test_nothing_set_up_says_what_to_do(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TQ_URL", raising=False)
    with pytest.raises(Problem, match="does not exist yet; run `make up`"):
        database_url()
    with pytest.raises(Problem, match="does not say which server"):
        assert home.major


def test_named_url_needs_no_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TQ_URL", "postgresql:///elsewhere")
    assert database_url() == "postgresql:///elsewhere"
    assert database_url("postgresql:///named") == "postgresql:///named"


def test_home_is_where_the_program_is_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TQ_HOME", raising=False)
    (tmp_path / "state/venv").mkdir(parents=True)
    (tmp_path / ".venv").symlink_to(tmp_path / "state/venv")
    monkeypatch.setattr("sys.prefix", str(tmp_path / ".venv"))
    with pytest.raises(Problem, match="make up"):
        find_home()
    (tmp_path / "state/checkout").write_text("x")
    assert find_home().path == (tmp_path / "state").resolve()


def test_server_sees_model_keys_and_nothing_else(home: Home) -> None:
    source = {
        "ANTHROPIC_API_KEY": "k",
        "HTTPS_PROXY": "p",
        "PYTHONPATH": "/evil",
        "PGDATA": "/x",
        "SECRET": "s",
        "PATH": "/y",
    }
    seen = cluster.server_environment(home.instance(), source)
    assert seen["ANTHROPIC_API_KEY"] == "k"
    assert seen["HTTPS_PROXY"] == "p"
    assert seen["PYTHONPATH"] == str(home.site_packages)
    assert not {"PGDATA", "SECRET"} & set(seen)
    assert seen["PATH"] == "/usr/bin:/bin"


def test_configuration_of_main_is_durable_and_of_test_is_not(home: Home) -> None:
    main = cluster.configuration(home.instance("main"), 21000)
    test = cluster.configuration(home.instance("test"), 21001)
    assert "fsync" not in main
    assert "fsync = off" in test
    for line in (
        "shared_preload_libraries = 'pg_cron'",
        "cron.database_name = 'tq'",
        "listen_addresses = '127.0.0.1'",
    ):
        assert line in main
    assert f"cron.host = '{home.instance('main').socket_dir}'" in main
