"""tq up, down, url, psql: the private cluster."""

from __future__ import annotations

import json
import os
import time

import click

from tq_loader.commands import options
from tq_loader.home import DATABASE, Instance, find_home
from tq_loader.problem import Problem

LAUNCHER_SECONDS = 10


@click.command(short_help="Start the private cluster, with its database up to date.")
@options.instance
@options.as_json
def up(instance: str | None, as_json: bool) -> None:
    """Make and start the private cluster, and bring its database up to date."""
    from tq_loader import cluster

    def say(line: str) -> None:
        click.echo(f"up: {line}", err=as_json)

    chosen = find_home().instance(instance)
    with cluster.locked(chosen):
        started = cluster.up(chosen, say)
        _ensure_database(chosen)
        from tq_loader import migrate

        migrated = not migrate.is_current(chosen.url())
        if migrated:
            migrate.migrate(chosen.url(), say)
        if started:
            _await_launcher(chosen)
    if as_json:
        done = {"instance": chosen.name, "url": chosen.url(), "started": started, "migrated": migrated}
        click.echo(json.dumps(done))
    else:
        click.echo(f"up: instance {chosen.name} is ready at {chosen.url()}")


def _ensure_database(instance: Instance) -> None:
    import psycopg

    with psycopg.connect(instance.url("postgres"), autocommit=True) as connection:
        there = connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [DATABASE]).fetchone()
        if there is None:
            connection.execute(f"CREATE DATABASE {DATABASE} TEMPLATE template0 ENCODING 'UTF8'")


def _await_launcher(instance: Instance) -> None:
    """Waits for pg_cron's launcher, which gives up and comes back a second later where `tq` is not there yet.

    After ten seconds the server goes without; `tq doctor` says so.
    """
    import psycopg

    deadline = time.monotonic() + LAUNCHER_SECONDS
    with psycopg.connect(instance.url(), autocommit=True) as connection:
        while time.monotonic() < deadline:
            if connection.execute(
                "SELECT 1 FROM pg_stat_activity WHERE backend_type = 'pg_cron launcher'"
            ).fetchone():
                return
            time.sleep(0.05)


@click.command()
@options.instance
@options.as_json
@click.option("--all", "every", is_flag=True, help="Every instance of this checkout.")
@click.option("--delete", is_flag=True, help="Delete the cluster too: every document in it is lost.")
def down(instance: str | None, as_json: bool, every: bool, delete: bool) -> None:
    """Stop the private cluster."""
    from tq_loader import cluster

    home = find_home()
    if every:
        names = sorted(path.parent.name for path in home.path.glob("*/port"))
    else:
        names = [home.instance(instance).name]
    stopped = []
    for name in names:
        chosen = home.instance(name)
        with cluster.locked(chosen):
            if delete:
                if chosen.port is not None:
                    cluster.remove(chosen)
                    stopped.append(name)
                    said = f"stopped, and {chosen.root} deleted"
                else:
                    said = "does not exist"
            elif cluster.down(chosen):
                stopped.append(name)
                said = "stopped"
            else:
                said = "was not running"
        if not as_json:
            click.echo(f"down: instance {name} {said}")
    if as_json:
        click.echo(json.dumps({"stopped": stopped, "deleted": delete}))


@click.command()
@options.instance
@options.as_json
def url(instance: str | None, as_json: bool) -> None:
    """Print the connection URL, which psql takes."""
    from tq_loader.home import database_url

    found = database_url(None, instance)
    click.echo(json.dumps({"url": found}) if as_json else found)


@click.command(context_settings={"ignore_unknown_options": True})
@options.instance
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def psql(instance: str | None, arguments: tuple[str, ...]) -> None:
    """Open psql on the database; further arguments go to psql."""
    from tq_loader.home import database_url

    found = database_url(None, instance)
    program = find_home().bindir / "psql" if "TQ_URL" not in os.environ else None
    command = str(program) if program and program.exists() else "psql"
    try:
        os.execvp(command, [command, found, *arguments])
    except FileNotFoundError:
        raise Problem(
            "psql", f"{command} is not installed", "as root: apt-get install postgresql-client"
        ) from None
