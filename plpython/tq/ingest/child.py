"""The conversion process: untrusted bytes in, JSON lines out, nothing of the server within its reach.

It runs with an empty environment (no model key), without network where the kernel allows, in a session of its own that
is killed whole. Threads move the bytes; none knows the database. The caller's thread fetches the bytes to send, waits
in slices of at most 100 ms and calls `pulse` between them, so that a cancel gets through.
"""

from __future__ import annotations

import contextlib
import math
import os
import queue
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import IO, Any

import msgspec

from tq.errors import TqError

SLICE = 1 << 20  # bytes of the file fetched at a time
WAIT_SECONDS = 0.1
STDERR_BYTES = 4096
MAX_OUTPUT_LINE = 512 << 20  # bytes of one JSON line: a converter gone wild must not fill the server's memory
FROM_OUTSIDE = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)  # no crash sends these
# The last words of a Python without memory; from 3.13 on it may have none left to say which error it was.
STARVED = ("MemoryError", "Cannot allocate memory", "lost sys.stderr")
SEARCH_PATH = "/usr/bin:/bin:/usr/sbin:/sbin"

Row = tuple[
    str, int | None, str, int | None, msgspec.Raw
]  # Raw takes null, too; in a union it takes nothing else


class DocumentMessage(msgspec.Struct, tag="document", tag_field="type"):
    media_type: str
    title: str | None = None


class LinesMessage(msgspec.Struct, tag="lines", tag_field="type"):
    """rows: text, page, kind, level, locator (JSON as it is written)."""

    rows: list[Row]


class OmissionMessage(msgspec.Struct, tag="omission", tag_field="type"):
    kind: str
    detail: str
    line_start: int | None = None
    line_end: int | None = None
    page: int | None = None


class PicturesMessage(msgspec.Struct, tag="pictures", tag_field="type"):
    """So many more pages were read from their pictures: each gives the conversion more time."""

    pages: int


class PagesMessage(msgspec.Struct, tag="pages", tag_field="type"):
    """How many pages of so many are read."""

    read: int
    count: int


class ImageMessage(msgspec.Struct, tag="image", tag_field="type"):
    """png: base64 on its way."""

    png: bytes


class AttachmentMessage(msgspec.Struct, tag="attachment", tag_field="type"):
    """A file that is in this one; base64 on its way."""

    name: str | None
    media_type: str
    content_base64: bytes


class EndMessage(msgspec.Struct, tag="end", tag_field="type"):
    lines: int


class ErrorMessage(msgspec.Struct, tag="error", tag_field="type"):
    code: str
    message: str
    detail: str | None = None
    hint: str | None = None


Output = (
    DocumentMessage
    | LinesMessage
    | OmissionMessage
    | AttachmentMessage
    | PicturesMessage
    | PagesMessage
    | ImageMessage
    | EndMessage
    | ErrorMessage
)
_decoder: msgspec.json.Decoder[Output] = msgspec.json.Decoder(Output)


def interpreter() -> str:
    """The Python that has the converters. In the server sys.prefix is not the environment that tq is installed in, so
    it is what the server was started with (TQ_PYTHON), else found from where this package lies."""
    named = os.environ.get("TQ_PYTHON")
    if named:
        return named
    for folder in Path(__file__).resolve().parents:
        candidate = folder / "bin" / "python"
        if (folder / "pyvenv.cfg").is_file() and candidate.is_file():
            return str(candidate)
    return sys.executable


@cache
def without_network() -> tuple[str, ...]:
    """The command that takes the network away, or nothing where the kernel refuses it. Probed once a session."""
    unshare = shutil.which("unshare", path=SEARCH_PATH)
    if unshare is None:
        return ()
    command = (unshare, "-r", "-n", "--")
    try:
        probe = subprocess.run(
            [*command, "true"], env={"PATH": SEARCH_PATH}, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, timeout=10, check=False,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return ()
    return command if probe.returncode == 0 else ()


def command(
    python: str,
    name: str,
    media_type: str | None,
    memory_mb: int,
    cpu_seconds: int,
    module: str = "tq_loader.convert",
) -> list[bytes]:
    """The converter's command line, in bytes: the server's locale may not know the name's letters."""
    parts = [*without_network(), python, "-I", "-m", module, f"--name={name}"]
    if media_type:
        parts.append(f"--media-type={media_type}")
    parts += [f"--memory-mb={memory_mb}", f"--cpu-seconds={cpu_seconds}"]
    return [part.encode("utf-8", "surrogateescape") for part in parts]


@dataclass(slots=True)
class Limits:
    """page_seconds: added to the wall time for each page that was read from its picture."""

    memory_mb: int
    wall_seconds: float
    page_seconds: float = 0


class Conversion:
    """One run of the converter. Use as a context: at its end the process and all it started are gone."""

    def __init__(
        self,
        argv: Sequence[bytes | str],
        limits: Limits,
        fetch: Callable[[int, int], bytes],
        pulse: Callable[[], None],
    ) -> None:
        """fetch(offset, size) gives the file's bytes; pulse is called at least every 100 ms and may raise."""
        self._argv = argv
        self._limits = limits
        self._fetch = fetch
        self._pulse = pulse
        self._input: queue.Queue[bytes | None] = queue.Queue(maxsize=4)
        self._output: queue.Queue[bytes | None] = queue.Queue(maxsize=8)
        self._errors = b""
        self._stop = threading.Event()
        self._threads: list[threading.Thread] = []
        self._process: subprocess.Popen[bytes] | None = None
        self._deadline = self._left = 0.0  # left: when the caller last turned away
        self._ended = False  # its last message was an end
        self._killed = False  # by us
        self._offset: int | None = 0  # of the next bytes to fetch; None when all are

    def __enter__(self) -> Conversion:
        self._left = time.monotonic()
        self._deadline = self._left + self._limits.wall_seconds
        try:
            self._process = subprocess.Popen(
                self._argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={}, cwd="/",
                start_new_session=True, close_fds=True,
            )  # fmt: skip
        except OSError as error:
            raise TqError(
                "XX000",
                "the converter did not start",
                f"{error.strerror}: {os.fsdecode(self._argv[0])}",
                "The interpreter is found from TQ_PYTHON or from where tq is installed; `tq doctor` looks closer.",
            ) from None
        for target in (self._feed, self._read):
            self._start(target)
        self._listener = self._start(self._read_errors)
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._kill()
        for thread in self._threads:
            thread.join(timeout=5)
        process = self._process
        if process is not None:
            for pipe in (process.stdin, process.stdout, process.stderr):
                if pipe is not None:
                    with contextlib.suppress(OSError):
                        pipe.close()

    def messages(self) -> Iterator[Output]:
        """What the converter says, up to and including its end. Raises its own error, TQ011 when it crashed, TQ012 when
        a limit stopped it."""
        while (message := self.next()) is not None:
            yield message

    def next(self, seconds: float = math.inf) -> Output | None:
        """The next of the same, or None behind the end. Raises TimeoutError where none comes in so many seconds."""
        line = self._line(seconds)
        if line is None:
            if not self._ended or self._returncode() != 0:
                raise self._verdict()
            return None
        try:
            message = _decoder.decode(line)
        except msgspec.MsgspecError as error:
            raise TqError(
                "TQ011",
                "the converter's output is malformed",
                str(error),
                "The file is probably damaged. Open it in its own program, save it anew and load that.",
            ) from None
        if isinstance(message, ErrorMessage):
            raise TqError(_own_code(message.code), message.message, message.detail, message.hint)
        if isinstance(message, PicturesMessage):
            # Only what was read counts, so that a page that hangs has no more than what is left.
            self._limits.wall_seconds += self._limits.page_seconds * message.pages
            self._deadline += self._limits.page_seconds * message.pages
        self._ended = isinstance(message, EndMessage | ImageMessage)
        return message

    # ------------------------------------------------------------ the caller's thread

    def _line(self, seconds: float) -> bytes | None:
        # Its time is what the caller waits for it, not what the caller does meanwhile.
        came = time.monotonic()
        self._deadline += came - self._left
        try:
            return self._line_until(came + seconds)
        finally:
            self._left = time.monotonic()

    def _line_until(self, until: float) -> bytes | None:
        while True:
            # Keep the converter's input full, then look at its output.
            while self._offset is not None and not self._input.full():
                piece = self._fetch(self._offset, SLICE)
                self._input.put(piece or None)
                self._offset = self._offset + len(piece) if piece else None
            slice_seconds = WAIT_SECONDS if self._offset is None else WAIT_SECONDS / 20
            now = time.monotonic()
            try:
                return self._output.get(timeout=min(slice_seconds, max(until - now, 0.0)))
            except queue.Empty:
                self._pulse()
            now = time.monotonic()
            if now > self._deadline:
                raise TqError(
                    "TQ012",
                    "the document takes too long to convert",
                    f"the converter was stopped after {self._limits.wall_seconds:.0f} s",
                    "Split the document, or raise the setting convert_seconds.",
                )
            if now >= until:
                raise TimeoutError

    def _returncode(self) -> int:
        assert self._process is not None
        patience = time.monotonic() + 5
        while self._process.poll() is None:
            if time.monotonic() > patience:
                self._kill()
                return -int(signal.SIGKILL)
            time.sleep(0.01)
            self._pulse()
        return self._process.returncode

    def _verdict(self) -> TqError:
        code = self._returncode()
        # Its last words may still be in the pipe, and a child of its own may hold that open.
        self._listener.join(timeout=1)
        said = self._errors.decode("utf-8", "replace").strip().splitlines()
        last = said[-1].strip()[:300] if said else ""
        if -code == signal.SIGXCPU:
            return TqError(
                "TQ012",
                "the document takes too long to convert",
                "the converter used up its CPU time",
                "Split the document, or raise the setting convert_seconds.",
            )
        if any(sign in last for sign in STARVED):
            return TqError(
                "TQ012",
                "the document takes too much memory to convert",
                f"the converter may use {self._limits.memory_mb} MB",
                "Split the document, or raise the setting convert_memory_mb.",
            )
        if "No module named" in last:
            return TqError(
                "XX000", "the converter is not installed", last, "Run `make up`; `tq doctor` looks closer."
            )
        if -code in FROM_OUTSIDE and not self._killed:
            # Nothing that the file did: the step is tried again.
            return TqError(
                "XX000",
                "the converter was killed",
                f"signal {signal.Signals(-code).name}, from outside",
                "Most often the system wants memory back; its log tells. Then SELECT tq.retry() with the document's name.",
            )
        how = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit status {code}"
        return TqError(
            "TQ011",
            "the converter crashed",
            f"{how}{': ' + last if last else ''}",
            "The file is probably damaged. Open it in its own program, save it anew and load that.",
        )

    # ------------------------------------------------------------ threads

    def _start(self, target: Callable[[], None]) -> threading.Thread:
        thread = threading.Thread(target=target, daemon=True)
        # A backend's signals belong to its main thread: a new thread inherits the mask that blocks them.
        previous = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        try:
            thread.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, previous)
        self._threads.append(thread)
        return thread

    def _pipe(self, name: str) -> IO[bytes]:
        pipe: Any = getattr(self._process, name)
        return pipe  # type: ignore[no-any-return]

    def _feed(self) -> None:
        pipe = self._pipe("stdin")
        with contextlib.suppress(OSError, ValueError):  # the converter may end before it has read everything
            while not self._stop.is_set():
                try:
                    piece = self._input.get(timeout=WAIT_SECONDS)
                except queue.Empty:
                    continue
                if piece is None:
                    break
                pipe.write(piece)
        with contextlib.suppress(OSError, ValueError):
            pipe.close()
        while not self._stop.is_set():  # nobody reads any more: let the caller run on
            with contextlib.suppress(queue.Empty):
                if self._input.get(timeout=WAIT_SECONDS) is None:
                    return

    def _read(self) -> None:
        with contextlib.suppress(OSError, ValueError):
            pipe = self._pipe("stdout")
            while line := pipe.readline(MAX_OUTPUT_LINE):
                if not self._hand_over(line):
                    return
        self._hand_over(None)

    def _hand_over(self, line: bytes | None) -> bool:
        while not self._stop.is_set():
            try:
                self._output.put(line, timeout=WAIT_SECONDS)
                return True
            except queue.Full:
                continue
        return False

    def _read_errors(self) -> None:
        with contextlib.suppress(OSError, ValueError):
            while piece := self._pipe("stderr").read(STDERR_BYTES):
                self._errors = (self._errors + piece)[-STDERR_BYTES:]

    def _kill(self) -> None:
        process = self._process
        if process is None:
            return
        self._killed = True
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=5)


def _own_code(code: str) -> str:
    """A converter may only fail a document: any other code is malformed content."""
    return code if code in ("TQ010", "TQ011", "TQ012", "TQ013") else "TQ011"
