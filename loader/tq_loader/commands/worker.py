"""`tq worker`: the engine's worker outside the server. Any number may run, on any machines."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from types import FrameType
from typing import TYPE_CHECKING

import click

from tq_loader.commands import options
from tq_loader.home import database_url

if TYPE_CHECKING:
    from tq_loader.database import PsycopgDatabase

DAY = 86_400.0
FIRST_WAIT, LONGEST_WAIT = 0.5, 30.0  # seconds before the next try to connect again
CONNECT_SECONDS = 10


@click.command("worker", short_help="Work through the queues from outside the server.")
@options.url
@click.option("--seconds", type=click.FloatRange(min=0), help="Work for so long; else until stopped.")
@click.option("--until-empty", is_flag=True, help="End as soon as no message is left.")
def command(url: str | None, seconds: float | None, until_empty: bool) -> None:
    """Work through the queues, as CALL tq.work() does inside the server.

    SIGTERM and SIGINT end it after the step in hand; what is in flight goes back to its queue. Where the server
    restarts, or the connection is lost, it says so and connects again.
    """
    import psycopg

    from tq.ingest.worker import Worker

    stopped = False

    def stop(_signal: int, _frame: FrameType | None) -> None:
        nonlocal stopped
        stopped = True

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)
    address = database_url(url)
    deadline = None if seconds is None else time.monotonic() + seconds

    def over() -> bool:
        return stopped or (deadline is not None and time.monotonic() >= deadline)

    done = 0
    database: PsycopgDatabase | None = connect(address)  # a wrong address is told at once
    while database is not None:
        worker = Worker(database, stopped=lambda: stopped)
        try:
            while True:
                worker.run(DAY if deadline is None else max(0.0, deadline - time.monotonic()), until_empty)
                if until_empty or over():
                    break
            database.close()
            done += worker.done
            break
        except psycopg.Error as error:
            if not database.lost:
                raise
            done += worker.done
            database = connect_again(address, error, over)
    click.echo(f"{done} steps done")


def connect(address: str) -> PsycopgDatabase:
    from tq_loader.database import PsycopgDatabase

    return PsycopgDatabase.connect(address, timeout=CONNECT_SECONDS)


def connect_again(address: str, error: Exception, over: Callable[[], bool]) -> PsycopgDatabase | None:
    """A new connection, however long that takes; None where the worker's time ended before."""
    import psycopg

    wait = FIRST_WAIT
    say(f"the connection is lost ({one_line(error)}); connecting again")
    while not over():
        try:
            database = connect(address)
        except psycopg.OperationalError as still:
            say(f"not yet ({one_line(still)}); the next try in {wait:g} s")
        else:
            say("connected again")
            return database
        until = time.monotonic() + wait
        while time.monotonic() < until and not over():
            time.sleep(0.1)  # a signal does not end a sleep
        wait = min(LONGEST_WAIT, 2 * wait)
    return None


def say(text: str) -> None:
    click.echo(f"tq: worker: {text}", err=True)


def one_line(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__
