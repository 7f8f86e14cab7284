"""`tq worker`: the engine's worker outside the server. Any number may run, on any machines."""

from __future__ import annotations

import signal
from types import FrameType

import click

from tq_loader.commands import options
from tq_loader.home import database_url

DAY = 86_400.0


@click.command("worker", short_help="Work through the queues from outside the server.")
@options.url
@click.option("--seconds", type=click.FloatRange(min=0), help="Work for so long; else until stopped.")
@click.option("--until-empty", is_flag=True, help="End as soon as no message is left.")
def command(url: str | None, seconds: float | None, until_empty: bool) -> None:
    """Work through the queues, as CALL tq.work() does inside the server.

    SIGTERM and SIGINT end it after the step in hand; what is in flight goes back to its queue.
    """
    from tq.ingest.worker import Worker
    from tq_loader.database import PsycopgDatabase

    stopped = False

    def stop(_signal: int, _frame: FrameType | None) -> None:
        nonlocal stopped
        stopped = True

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)
    database = PsycopgDatabase.connect(database_url(url))
    try:
        worker = Worker(database, stopped=lambda: stopped)
        done = 0
        while not stopped:
            done = worker.run(DAY if seconds is None else seconds, until_empty)
            if seconds is not None or until_empty:
                break
        click.echo(f"{done} steps done")
    finally:
        database.close()
