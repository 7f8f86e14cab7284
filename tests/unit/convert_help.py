"""Running a conversion in this process or in a child, for the tests of the converters."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tq_loader.convert.__main__ import run
from tq_loader.convert.protocol import ConvertError, Job, Writer

LOADER = Path(__file__).resolve().parents[2] / "loader"


@dataclass(slots=True)
class Result:
    """What a conversion said: lines as (text, page, kind, level, locator)."""

    document: dict[str, Any] = field(default_factory=dict)
    rows: list[list[Any]] = field(default_factory=list)
    omissions: list[dict[str, Any]] = field(default_factory=list)
    attachments: list[dict[str, Any]] = field(default_factory=list)
    error: dict[str, Any] | None = None
    end: int | None = None
    pages: int | None = None

    @property
    def texts(self) -> list[str]:
        return [row[0] for row in self.rows]

    @property
    def kinds(self) -> list[str]:
        return [row[2] for row in self.rows]

    def kind_of(self, text: str) -> str:
        return str(next(row[2] for row in self.rows if text in row[0]))


class Bytes:
    """A sink that keeps what is written."""

    def __init__(self) -> None:
        self.data = bytearray()

    def write(self, data: bytes, /) -> int:
        self.data += data
        return len(data)

    def flush(self) -> None:
        pass


def parse(output: bytes) -> Result:
    """Read the messages and hold them against the protocol."""
    result = Result()
    for line in output.splitlines():
        message = json.loads(line)
        match message["type"]:
            case "document":
                assert not result.rows
                result.document = message
            case "lines":
                assert 0 < len(message["rows"]) <= 1000
                assert len(message["rows"]) == 1 or len(line) <= 2_200_000
                result.rows += message["rows"]
            case "omission":
                assert set(message) == {"type", "kind", "detail", "line_start", "line_end", "page"}
                result.omissions.append(message)
            case "attachment":
                assert set(message) == {"type", "name", "media_type", "content_base64"}
                result.attachments.append(message)
            case "pages":
                assert 0 < message["read"] <= message["count"]
                result.pages = message["read"]
            case "end":
                result.end = message["lines"]
                assert result.end == len(result.rows)
            case "error":
                result.error = message
            case other:
                raise AssertionError(f"unknown message {other}")
    assert (result.end is None) != (result.error is None)
    for text, page, kind, level, _ in result.rows:
        assert "\x00" not in text
        assert "\n" not in text
        assert page is None or page >= 1
        assert kind in ("text", "heading", "table", "code", "furniture")
        assert (level is not None) == (kind == "heading")
    if result.error is not None:
        check_error(result.error)
    return result


def check_error(error: dict[str, Any]) -> None:
    """Message in lower case (but for names) without a full stop, detail and hint given."""
    assert error["code"] in ("TQ010", "TQ011", "TQ012", "TQ013")
    assert error["message"][0].islower() or error["message"].startswith("PDF")
    assert not error["message"].endswith(".")
    assert error["detail"]
    assert error["hint"]


def convert(
    data: bytes, name: str = "a.txt", media_type: str | None = None, *, attachments: bool = False
) -> Result:
    """Convert in this process, without limits."""
    sink = Bytes()
    out = Writer(sink)
    try:
        run(bytearray(data), Job(name, media_type, attachments=attachments), out)
    except ConvertError as error:
        out.error(error)
    return parse(bytes(sink.data))


def child(data: bytes, *arguments: str) -> tuple[subprocess.CompletedProcess[bytes], Result | None]:
    """Convert in a child process as the server does, but from the tree; no result for wrong usage."""
    start = (
        f"import sys, runpy; sys.path.insert(0, {str(LOADER)!r}); "
        "runpy.run_module('tq_loader.convert', run_name='__main__', alter_sys=True)"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-c", start, *arguments], input=data, capture_output=True, env={}, timeout=120
    )
    return done, parse(done.stdout) if done.stdout else None
