"""The command line. Each command is imported when it is used, so that `tq url` stays quick.

Exit codes: 0 done, 1 failed, 2 wrong use. An error stands on standard error: one line, `step: why; what to do`, or what the
server said with its detail and hint; with --json one object, {"error": {"code", "message", "detail", "hint"}}.
"""

from __future__ import annotations

import errno
import importlib
import importlib.util
import io
import json
import os
import sys
from typing import Any

import click

from tq_loader.problem import Problem

# command → module:attribute. The order is the order of `tq --help`.
COMMANDS = {
    "up": "tq_loader.commands.server:up",
    "down": "tq_loader.commands.server:down",
    "url": "tq_loader.commands.server:url",
    "psql": "tq_loader.commands.server:psql",
    "migrate": "tq_loader.commands.maintain:migrate",
    "doctor": "tq_loader.commands.maintain:doctor",
    "load": "tq_loader.commands.load:command",
    "ask": "tq_loader.commands.ask:command",
    "show": "tq_loader.commands.show:command",
    "tables": "tq_loader.commands.tables:command",
    "status": "tq_loader.commands.status:command",
    "blobs": "tq_loader.commands.blobs:group",
    "config": "tq_loader.commands.config:group",
    "model": "tq_loader.commands.model:group",
    "worker": "tq_loader.commands.worker:command",
    "demo": "tq_loader.commands.demo:command",
    "version": "tq_loader.commands.maintain:version",
}


class Commands(click.Group):
    """A group whose commands are imported by name, and whose errors are one line."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [
            name for name, target in COMMANDS.items() if importlib.util.find_spec(target.partition(":")[0])
        ]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        target = COMMANDS.get(cmd_name)
        if target is None:
            return None
        module, _, attribute = target.partition(":")
        if importlib.util.find_spec(module) is None:
            return None
        command = getattr(importlib.import_module(module), attribute)
        assert isinstance(command, click.Command)
        return command

    def main(self, *args: Any, **kwargs: Any) -> Any:
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(
                    errors="backslashreplace"
                )  # a terminal without a character shows its number
        if os.environ.get("NO_COLOR"):
            kwargs.setdefault("color", False)
        arguments = list(kwargs.get("args") or (args[0] if args else None) or sys.argv[1:])
        as_json = "--json" in (arguments[: arguments.index("--")] if "--" in arguments else arguments)
        try:
            run: Any = super().main
            done = run(*args, **kwargs, standalone_mode=not as_json)
            if not as_json:
                return done
            sys.exit(done or 0)
        except click.Abort:
            sys.exit(1)
        except click.ClickException as error:  # only with --json: else click has shown it
            _tell({"code": "usage", "message": error.format_message(), "detail": None, "hint": "tq --help"})
            sys.exit(error.exit_code)
        except Exception as error:
            problem = _problem(error)
            if problem is not None:
                if as_json:
                    _tell(problem.fields)
                else:
                    click.echo(f"tq: {problem}", err=True)
                sys.exit(2 if problem.step == "usage" else 1)
            # psycopg is only there if a command used it.
            psycopg = sys.modules.get("psycopg")
            if psycopg is None or not isinstance(error, psycopg.Error):
                raise
            from tq_loader.commands.client import error_fields, say_error

            fields = error_fields(error)
            if as_json:
                _tell(fields)
            else:
                say_error(None, fields["code"], fields["message"], fields["detail"], fields["hint"])
            sys.exit(1)


def _problem(error: Exception) -> Problem | None:
    """What a person can mend; None for anything else."""
    if isinstance(error, Problem):
        return error
    if isinstance(error, UnicodeEncodeError) and error.reason == "surrogates not allowed":
        return Problem("usage", "an argument is not valid UTF-8", "give names and questions in UTF-8")
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EPIPE):
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what is left of it is not tried again at exit
        return Problem("output", str(error.strerror), "make room, or write somewhere else")
    return None


def _tell(fields: dict[str, str | None]) -> None:
    """An error for a program to read."""
    click.echo(json.dumps({"error": fields}), err=True)


def _say_version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted:
        from tq_loader import __version__

        click.echo(f"tq {__version__}")
        ctx.exit()


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_say_version,
    help="Show tq's version and exit; `tq version` tells more.",
)  # fmt: skip
def main() -> None:
    """Answers questions from documents inside PostgreSQL, each with quotes checked against their lines.

    \b
    tq load report.pdf minutes.md         load files, and wait until they can be asked
    tq ask report.pdf "Who signed it?"    ask one document; '*' asks them all
    tq status                             documents and queues
    tq COMMAND --help                     what a command takes
    """
