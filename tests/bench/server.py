"""A model that costs next to nothing to run: one thread, canned replies, so that a measurement is of its client.

It speaks the Messages and the chat-completions protocol, takes as long as it is told for each call, and knows when how many
calls were in flight. What it replies is on the list and copied from the prompt: a boundary behind each blank line, and the
first items as bullets.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

BULLETS = 5


# ---------------------------------------------------------------- what it was seen to do


@dataclass(frozen=True, slots=True)
class Log:
    """Calls as the model saw them. calls: when each came and was answered, in seconds; cpu: seconds that it computed."""

    calls: list[tuple[float, float]]
    cpu: float

    @property
    def mean(self) -> float:
        """Seconds that a call took."""
        return sum(end - start for start, end in self.calls) / len(self.calls)

    def occupied(self) -> list[float]:
        """Seconds with 0, 1, 2 … calls in flight, between the first and the last."""
        changes = sorted([(start, 1) for start, _ in self.calls] + [(end, -1) for _, end in self.calls])
        seconds: list[float] = []
        flying = 0
        for (at, change), (then, _) in pairwise(changes):
            flying += change
            seconds += [0.0] * (flying + 1 - len(seconds))
            seconds[flying] += then - at
        return seconds


@contextmanager
def served(seconds: float) -> Iterator[str]:
    """The model in a process of its own; the root of its address."""
    program = [sys.executable, "-m", "bench.server", str(seconds)]
    process = subprocess.Popen(program, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[1])
    try:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
    finally:
        process.kill()
        process.wait()


def log(root: str) -> Log:
    """What it has seen since it was last asked."""
    with urllib.request.urlopen(f"{root}/log") as said:
        told = json.load(said)
    return Log([(start, end) for start, end in told["calls"]], told["cpu"])


# ---------------------------------------------------------------- the server


class Canned:
    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._calls: list[tuple[float, float]] = []
        self._cpu = 0.0

    async def serve(self) -> None:
        server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)
        await server.serve_forever()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                came = time.monotonic()
                _, _, length = head.lower().partition(b"content-length:")
                body = await reader.readexactly(int(length.split(b"\r\n")[0])) if length else b""
                if head.startswith(b"GET /log "):
                    said = self._told()
                else:
                    said = _reply(json.loads(body), b"/chat/completions " in head)
                    await asyncio.sleep(came + self._seconds - time.monotonic())
                    self._calls.append((came, time.monotonic()))
                writer.write(
                    b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"
                    % len(said)
                    + said
                )
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    def _told(self) -> bytes:
        calls, self._calls = self._calls, []
        before, self._cpu = self._cpu, time.process_time()
        return json.dumps({"calls": calls, "cpu": self._cpu - before}).encode()


def _reply(body: dict[str, Any], chat: bool) -> bytes:
    if chat:
        system, user = (message["content"] for message in body["messages"])
    else:
        system, user = body["system"][0]["text"], body["messages"][0]["content"]
    data = _boundaries(user) if system.startswith("You read three") else _summary(user)
    text, sent = json.dumps(data, ensure_ascii=False), (len(system) + len(user)) // 4
    said: dict[str, Any] = {"id": "1", "model": "canned"}
    if chat:
        message = {"role": "assistant", "content": text}
        said |= {"object": "chat.completion", "created": 0}
        said["choices"] = [{"index": 0, "finish_reason": "stop", "message": message}]
        said["usage"] = {"prompt_tokens": sent, "completion_tokens": len(text) // 4, "total_tokens": 0}
    else:
        said |= {"type": "message", "role": "assistant", "content": [{"type": "text", "text": text}]}
        said |= {"stop_reason": "end_turn", "stop_sequence": None}
        said["usage"] = {"input_tokens": sent, "output_tokens": len(text) // 4}
    return json.dumps(said, ensure_ascii=False).encode()


def _boundaries(user: str) -> dict[str, Any]:
    window = user.partition("\nCURRENT WINDOW\n")[2].partition("\n\nNEXT WINDOW\n")[0]
    numbers = [int(line.partition("|")[0]) for line in window.split("\n") if "|" in line]
    starts = [number for before, number in pairwise(numbers) if number > before + 1]
    return {"boundaries": [{"line": number, "title": None, "level": None} for number in starts]}


def _summary(user: str) -> dict[str, Any]:
    items, _, limits = user.partition("ITEMS\n")[2].rpartition("\n\nAt most ")
    most, chars = int(limits.split(" ")[0]), int(limits.split(" of at most ")[1].split(" ")[0])
    bullets: list[dict[str, Any]] = []
    for item in items.split("\n"):
        number, _, text = item.partition("|")
        if text.strip() and len(bullets) < min(most, BULLETS):
            bullets.append({"text": text[:chars], "first": int(number), "last": int(number)})
    return {"title": None, "bullets": bullets}


if __name__ == "__main__":
    asyncio.run(Canned(float(sys.argv[1])).serve())
