"""The child process: limits first, then the bytes, then only the module that the format needs."""

from __future__ import annotations

import os
import resource
import stat
import sys
import traceback
from typing import TYPE_CHECKING, BinaryIO, NoReturn

if TYPE_CHECKING:
    from tq_loader.convert.protocol import Job, Writer

PROG = "tq_loader.convert"
# What the interpreter, the libraries and the output buffers need beside the file itself, in MiB.
OWN_MB = 96
MOST_PICTURES = 5000  # pages of a document that give it time for reading their pictures


def main(argv: list[str]) -> int:
    """Read standard input, write messages to standard output; the exit code as the package documents it."""
    job, cpu_seconds = arguments(argv)
    memory_mb = job.memory_mb
    out_fd = private_output()
    set_limits(out_fd, memory_mb, cpu_seconds, job.page_seconds)

    from tq_loader.convert.protocol import MALFORMED, TOO_LARGE, ConvertError, Writer

    with os.fdopen(out_fd, "wb", buffering=1 << 16) as sink:
        out = Writer(sink)
        try:
            data = read_input(sys.stdin.buffer, memory_mb)
            run(data, job, out)
            return 0
        except ConvertError as error:
            out.error(error)
            return 1
        except MemoryError:
            out.error(
                ConvertError(
                    TOO_LARGE,
                    "conversion needs too much memory",
                    f"more than {memory_mb} MB were needed",
                    "split the file into smaller ones, or raise the memory limit of conversions",
                )
            )
            return 1
        except BrokenPipeError:
            # The parent gave up; there is nobody left to tell.
            os.dup2(os.open(os.devnull, os.O_WRONLY), out_fd)
            return 70
        except Exception as error:
            traceback.print_exc(file=sys.stderr)
            out.error(
                ConvertError(
                    MALFORMED,
                    "conversion failed",
                    f"the converter stopped with {type(error).__name__}",
                    "this is a fault of the converter: please report it with the file",
                )
            )
            return 70


def run(data: bytes | bytearray, job: Job, out: Writer) -> None:
    """Recognise the format and convert; the one place where a format's module is imported."""
    from importlib import import_module

    from tq_loader.convert.detect import FORMATS, detect
    from tq_loader.convert.protocol import MALFORMED, ConvertError

    if not data:
        raise ConvertError(
            MALFORMED,
            "file is empty",
            "the content has zero bytes",
            "check that the file was written completely",
        )
    found = detect(data, job.media_type, job.name)
    import_module(FORMATS[found.format]).convert(data, job, found, out)
    if not out.lines:
        raise ConvertError(
            MALFORMED,
            "file is empty",
            "there is not one line of text in it",
            "check that the file was written completely",
        )
    out.end()


def arguments(argv: list[str]) -> tuple[Job, int]:
    """What is asked for, and the CPU seconds of this process; 0 is no limit.

    Hand-written: argparse costs a third of a start.
    """
    values: dict[str, str] = {}
    rest = list(argv)
    while rest:
        option = rest.pop(0)
        key, equals, value = option.partition("=")
        if key not in (
            "--name", "--media-type", "--memory-mb", "--cpu-seconds", "--page-seconds", "--attachments", "--tables"
        ):  # fmt: skip
            usage(f"unknown argument {option!r}")
        if not equals:
            if not rest:
                usage(f"{key} needs a value")
            value = rest.pop(0)
        values[key] = value
    if "--name" not in values:
        usage("--name is missing")
    numbers = []
    for key, default in (("--memory-mb", "1024"), ("--cpu-seconds", "0"), ("--page-seconds", "0")):
        text = values.get(key, default)
        if not text.isdecimal():
            usage(f"{key} must be a whole number, not {text!r}")
        numbers.append(int(text))
    if values.get("--attachments", "no") not in ("yes", "no"):
        usage("--attachments must be yes or no")
    tables = values.get("--tables", "auto")
    from tq_loader.convert.protocol import TABLES, Job

    if tables not in TABLES:
        usage(f"--tables must be one of {', '.join(TABLES)}")
    memory_mb, cpu_seconds, page_seconds = numbers
    job = Job(
        values["--name"],
        values.get("--media-type") or None,
        memory_mb,
        attachments=values.get("--attachments") == "yes",
        tables=tables,
        page_seconds=page_seconds,
    )
    return job, cpu_seconds


def usage(problem: str) -> NoReturn:
    print(
        f"{PROG}: {problem}\n"
        f"usage: python -I -m {PROG} --name NAME "
        "[--media-type TYPE] [--memory-mb 1024] [--cpu-seconds 0] [--page-seconds 0] "
        "[--attachments no] [--tables auto] < FILE",
        file=sys.stderr,
    )
    raise SystemExit(2)


def private_output() -> int:
    """The real standard output as a descriptor of our own; what libraries print goes to standard error."""
    fd = os.dup(1)
    os.dup2(2, 1)
    return fd


def set_limits(out_fd: int, memory_mb: int, cpu_seconds: int, page_seconds: int = 0) -> None:
    """Limits of this process. The file size limit is left out where standard output is itself a file.

    page_seconds: the CPU time that :mod:`ocr` grants itself for each page that it has read. The hard limit leaves room
    for that; whoever ignores the soft one is stopped by the parent's wall time.
    """
    lower(resource.RLIMIT_CORE, 0, 0)
    if memory_mb:
        lower(resource.RLIMIT_AS, memory_mb << 20, memory_mb << 20)
    if cpu_seconds:
        # SIGXCPU ends the process at the soft limit; the hard limit kills what would ignore it.
        lower(resource.RLIMIT_CPU, cpu_seconds, cpu_seconds + 2 + page_seconds * MOST_PICTURES)
    if not stat.S_ISREG(os.fstat(out_fd).st_mode):
        lower(resource.RLIMIT_FSIZE, 0, 0)


def lower(which: int, soft: int, hard: int) -> None:
    """Set a limit, but never above the one that the parent already set."""
    _, ceiling = resource.getrlimit(which)
    if ceiling != resource.RLIM_INFINITY:
        hard = min(hard, ceiling)
        soft = min(soft, hard)
    resource.setrlimit(which, (soft, hard))


def read_input(stream: BinaryIO, memory_mb: int) -> bytearray:
    """All of standard input. Raises TQ012 as soon as the file cannot fit beside what its reading needs."""
    from tq_loader.convert.protocol import TOO_LARGE, ConvertError

    most = max(1, memory_mb - OWN_MB) << 19 if memory_mb else None  # half of what is left
    data = bytearray()
    while True:
        chunk = stream.read(1 << 20)
        if not chunk:
            return data
        data += chunk
        if most is not None and len(data) > most:
            raise ConvertError(
                TOO_LARGE,
                "file is too large",
                f"more than {most >> 20} MB, with {memory_mb} MB of memory for its conversion",
                "split the file into smaller ones, or raise the memory limit of conversions",
            )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
