"""A file that raises, made small: parts and stretches are taken out as long as the same place still raises."""

from __future__ import annotations

import time
from collections.abc import Callable

from fuzz.mutate import unzip, zipped

Fails = Callable[[bytes], bool]


def minimised(data: bytes, fails: Fails, seconds: float = 20) -> bytes:
    deadline = time.monotonic() + seconds
    parts = unzip(data)
    if parts is not None and fails(zipped(parts)):
        for name in list(parts):
            rest = {other: content for other, content in parts.items() if other != name}
            if rest and time.monotonic() < deadline and fails(zipped(rest)):
                parts = rest
        for name in list(parts):
            whole = dict(parts)

            def still(content: bytes, name: str = name, whole: dict[str, bytes] = whole) -> bool:
                return fails(zipped(whole | {name: content}))

            parts[name] = _cut(parts[name], still, deadline)
        return zipped(parts)
    return _cut(data, fails, deadline)


def _cut(data: bytes, fails: Fails, deadline: float) -> bytes:
    size = max(1, len(data) // 2)
    while size and time.monotonic() < deadline:
        at = 0
        while at < len(data) and time.monotonic() < deadline:
            shorter = data[:at] + data[at + size :]
            if shorter and fails(shorter):
                data = shorter
            else:
                at += size
        size //= 2
    return data
