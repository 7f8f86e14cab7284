"""The conversion process: what it says, and what becomes of one that crashes, hangs, eats memory or talks rubbish."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tq.errors import TqError
from tq.ingest import child

END = 'print(\'{"type":"end","lines":0}\', flush=True)\n'


def converse(
    script: str, data: bytes = b"", seconds: float = 20, pulse: Callable[[], None] = lambda: None
) -> list[child.Output]:
    argv = [sys.executable, "-I", "-c", script]
    with child.Conversion(
        argv, child.Limits(64, seconds), lambda at, size: data[at : at + size], pulse
    ) as run:
        return list(run.messages())


def failure(script: str, data: bytes = b"", seconds: float = 20) -> TqError:
    with pytest.raises(TqError) as caught:
        converse(script, data, seconds)
    return caught.value


def test_it_reads_bytes_and_writes_lines() -> None:
    script = (
        "import sys, json\n"
        "n = len(sys.stdin.buffer.read())\n"
        'print(json.dumps({"type": "lines", "rows": [[str(n), None, "text", None, {"bbox": [1]}]]}))\n'
        'print(json.dumps({"type": "omission", "kind": "image", "detail": "a picture"}))\n' + END
    )
    lines, omission, end = converse(script, b"x" * 5_000_000)
    assert isinstance(lines, child.LinesMessage)
    assert lines.rows[0][0] == "5000000"
    assert isinstance(omission, child.OmissionMessage)
    assert isinstance(end, child.EndMessage)


def test_its_environment_is_empty_and_its_session_its_own() -> None:
    os.environ["TQ_SECRET_OF_THE_TEST"] = "key"
    try:
        script = (
            "import os, json\n"
            "said = [' '.join(os.environ), str(os.getsid(0) == os.getpid())]\n"
            "rows = [[text, None, 'text', None, None] for text in said]\n"
            'print(json.dumps({"type": "lines", "rows": rows}))\n' + END
        )
        lines = converse(script)[0]
    finally:
        del os.environ["TQ_SECRET_OF_THE_TEST"]
    assert isinstance(lines, child.LinesMessage)
    assert "TQ_SECRET_OF_THE_TEST" not in lines.rows[0][0]
    assert lines.rows[1][0] == "True"


def test_one_that_reads_nothing_does_not_block() -> None:
    assert len(converse(END, b"x" * 8_000_000)) == 1


def test_its_own_error_is_the_documents() -> None:
    error = failure(
        'print(\'{"type":"error","code":"TQ013","message":"password needed"}\')\nraise SystemExit(1)'
    )
    assert (error.code, error.message) == ("TQ013", "password needed")


def test_it_cannot_give_any_other_code() -> None:
    assert failure('print(\'{"type":"error","code":"57014","message":"x"}\')').code == "TQ011"


def test_a_crash_by_signal() -> None:
    error = failure("import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)")
    assert (error.code, error.message) == ("TQ011", "the converter crashed")
    assert "SIGSEGV" in (error.detail or "")
    assert error.hint


def test_a_kill_from_outside_says_nothing_of_the_file() -> None:
    error = failure("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)")
    assert (error.code, error.message) == ("XX000", "the converter was killed")  # no TQ01x: it is tried again


def test_an_end_without_an_end() -> None:
    assert failure("print()" if False else "pass").code == "TQ011"


def test_a_failure_after_the_end_counts() -> None:
    assert failure(END + "raise SystemExit(3)").code == "TQ011"


@pytest.mark.parametrize("script", ["raise MemoryError", "import sys\nsys.exit('lost sys.stderr')"])
def test_too_much_memory(script: str) -> None:
    error = failure(script)
    assert (error.code, error.hint) == (
        "TQ012",
        "Split the document, or raise the setting convert_memory_mb.",
    )


def test_too_much_cpu_time() -> None:
    error = failure("import resource\nresource.setrlimit(resource.RLIMIT_CPU, (1, 2))\nwhile True: pass")
    assert error.code == "TQ012"


def test_too_slow_is_killed_with_all_it_started(tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    script = (
        "import subprocess, time, pathlib\n"
        "p = subprocess.Popen(['sleep', '600'])\n"
        f"pathlib.Path({str(pid_file)!r}).write_text(str(p.pid))\n"
        "time.sleep(600)\n"
    )
    began = time.monotonic()
    assert failure(script, seconds=1).code == "TQ012"
    assert time.monotonic() - began < 6
    assert gone(int(pid_file.read_text()))


def gone(pid: int) -> bool:
    for _ in range(50):
        try:
            stat = Path(f"/proc/{pid}/stat").read_text()
        except FileNotFoundError:
            return True
        if stat.rsplit(")", 1)[1].split()[0] == "Z":
            return True
        time.sleep(0.05)
    return False


def test_rubbish_is_malformed() -> None:
    for line in ("no json", '{"type":"lines","rows":[[1]]}', '{"type":"unknown"}', "[]"):
        assert failure(f"print({line!r})").code == "TQ011"


def test_an_interpreter_that_is_not_there() -> None:
    with (
        pytest.raises(TqError, match="did not start"),
        child.Conversion(["/no/such/python"], child.Limits(64, 5), lambda at, size: b"", lambda: None),
    ):
        pass


def test_a_cancel_gets_through_and_ends_it() -> None:
    class Cancelled(Exception):
        pass

    began = time.monotonic()

    def pulse() -> None:
        if time.monotonic() - began > 0.5:
            raise Cancelled

    with pytest.raises(Cancelled):
        converse("import time\ntime.sleep(600)", pulse=pulse)
    assert time.monotonic() - began < 2
    assert not [
        thread for thread in threading.enumerate() if thread.daemon and thread.name.startswith("Thread-")
    ]


def test_its_threads_take_no_signal() -> None:
    masks: list[set[signal.Signals]] = []

    class Watched(child.Conversion):
        def _read_errors(self) -> None:
            masks.append(set(signal.pthread_sigmask(signal.SIG_BLOCK, [])))  # type: ignore[arg-type]

    with Watched(
        [sys.executable, "-I", "-c", END], child.Limits(64, 20), lambda at, size: b"", lambda: None
    ) as run:
        list(run.messages())
    assert signal.SIGINT in masks[0]


def test_a_name_is_one_argument_whatever_it_holds() -> None:
    argv = child.command("/usr/bin/python3", "--memory-mb=9\n東京", "text/plain", 64, 5)
    assert "--name=--memory-mb=9\n東京".encode() in argv
    assert argv[-2:] == [b"--memory-mb=64", b"--cpu-seconds=5"]


def test_the_interpreter_is_the_servers_choice_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TQ_PYTHON", "/opt/python")
    assert child.interpreter() == "/opt/python"
    monkeypatch.delenv("TQ_PYTHON")
    assert child.interpreter()
