"""JSON and JSON Lines: a record becomes one line that can be read alone, other values a line each.

The locator names the path (``$.orders[3].price``) and, in JSON Lines, the line of the file. Numbers are shown
as the file writes them: nothing is rounded.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Final

from tq_loader.convert.charset import decode_labelled
from tq_loader.convert.detect import Found
from tq_loader.convert.protocol import TOO_LARGE, ConvertError, Job, LineRanges, Writer, count_of, place_of
from tq_loader.convert.table import PAIR, Value, letters, typed

MAX_RECORD_CHARS: Final = 4000  # a record beyond this is told value by value
_PLAIN_KEY = re.compile(r"[^\W\d]\w*$")
_SPACE = re.compile(r"\s+")


class Number(str):
    """A number as the file writes it."""

    __slots__ = ()


class Pairs(list[tuple[str, Any]]):
    """An object's members in their order; a key may come twice."""

    __slots__ = ()


_DECODER: Final = json.JSONDecoder(
    object_pairs_hook=Pairs, parse_float=Number, parse_int=Number, parse_constant=Number, strict=False
)


def convert(data: bytes | bytearray, job: Job, found: Found, out: Writer) -> None:
    """Write the lines of a JSON file; one that is no JSON after all is read as plain text, and said so."""
    decoded = decode_labelled(bytes(data), None)
    text = decoded.text.lstrip("\ufeff")
    try:
        whole = _DECODER.decode(text.strip())
    except RecursionError:
        raise _too_deep() from None
    except ValueError as error:
        _lines(data, text, str(error), job, found, out)
    else:
        out.document("application/json", None)
        records = Records(out)
        for path, shown, cells in walk(whole, "$"):
            records.line(shown, path, cells)
    if decoded.replaced:
        out.omission("invalid_bytes", f"{count_of(decoded.replaced, 'undecodable place')} replaced by U+FFFD")


def _lines(data: bytes | bytearray, text: str, why: str, job: Job, found: Found, out: Writer) -> None:
    rows = text.replace("\r\n", "\n").split("\n")
    good = 0
    for row in rows[:1000]:
        if row.strip():
            try:
                good += isinstance(_DECODER.decode(row.strip()), (Pairs, list))
            except RecursionError:
                raise _too_deep() from None
            except ValueError:
                good -= 3
    if good <= 0:
        from tq_loader.convert import text as plain

        note = f"read as plain text: it is no valid JSON ({why[:120]})"
        plain.convert(data, job, type(found)("text", "text/plain", note), out)
        return
    out.document("application/jsonl", None)
    broken = LineRanges()
    records = Records(out)
    record = 0
    for number, row in enumerate(rows, start=1):
        row = row.strip()
        if not row:
            continue
        try:
            value = _DECODER.decode(row)
        except RecursionError:
            raise _too_deep() from None
        except ValueError:
            broken.add(out.line(row, locator={"source_line": number}))
            continue
        for path, shown, cells in walk(value, f"$[{record}]", whole=True):
            records.line(shown, path, cells, {"source_line": number})
        record += 1
    for start, end in broken.shown():
        out.omission(
            "unreadable",
            f"a line is no valid JSON and stays as it is ({place_of(start, end)})",
            line_start=start,
            line_end=end,
        )


class Records:
    """Writes values as lines; the records of one array are the rows of a table."""

    def __init__(self, out: Writer) -> None:
        self._out = out
        self._tables: set[str] = set()

    def line(
        self, text: str, path: str, cells: dict[str, Value] | None, place: dict[str, Any] | None = None
    ) -> None:
        locator: dict[str, Any] = {"path": path} | (place or {})
        if cells is None:
            self._out.line(text, locator=locator)
            return
        table, _, row = path.rstrip("]").rpartition("[")
        locator |= {"table": table, "row": int(row) + 1, "cells": cells}
        if table not in self._tables:  # JSON does not keep their order
            self._tables.add(table)
            locator["columns"] = {name: letters(i) for i, name in enumerate(cells)}
        self._out.line(text, kind="table", locator=locator)


def _too_deep() -> ConvertError:
    return ConvertError(
        TOO_LARGE,
        "values are nested too deeply",
        "values of the JSON lie in each other more than about 1,000 deep",
        "load the inner values as files of their own",
    )


def walk(value: Any, path: str, *, whole: bool = False) -> Iterator[tuple[str, str, dict[str, Value] | None]]:
    """(path, text, the values of one that is a whole record), without recursion.

    Members of an array are records; so is ``value`` itself where ``whole``. An object outside of one is told
    member by member.
    """
    stack: list[tuple[Any, str, str, bool]] = [(value, path, "", whole)]
    while stack:
        node, at, label, record = stack.pop()
        if isinstance(node, Pairs):
            if record:
                values = list(leaves(node))
                text = PAIR.join(f"{name}: {shown}" for name, shown, _ in values)
                if len(text) <= MAX_RECORD_CHARS:
                    if text:
                        yield at, text, {name: cell for name, _, cell in values}
                    continue
            for key, child in reversed(node):
                name = f"{label}.{key}" if label else key
                stack.append((child, at + _step(key), name, False))
        elif isinstance(node, list):
            if node and not any(isinstance(child, list) for child in node):  # Pairs are lists too
                flat = ", ".join(scalar(child) for child in node)
                if len(flat) <= 1000:
                    yield at, _named(label, flat), None
                    continue
            for i in range(len(node) - 1, -1, -1):
                name = f"{label}[{i}]" if label or not isinstance(node[i], Pairs) else ""
                stack.append((node[i], f"{at}[{i}]", name, isinstance(node[i], Pairs)))
        else:
            yield at, _named(label, scalar(node)), None


def leaves(record: Pairs) -> Iterator[tuple[str, str, Value]]:
    """(name, text, value) of each value in a record; names of values further in are joined by a full stop."""
    stack: list[tuple[str, Any]] = [("", record)]
    while stack:
        name, node = stack.pop()
        if isinstance(node, Pairs):
            stack += [(f"{name}.{key}" if name else key, child) for key, child in reversed(node)]
        elif isinstance(node, list):
            if any(isinstance(child, list) for child in node):
                stack += [(f"{name}[{i}]", child) for i, child in reversed(list(enumerate(node)))]
            elif node:
                text = ", ".join(scalar(child) for child in node)
                yield name, text, text
        elif node is not None and node != "":
            text = scalar(node)
            yield (
                name,
                text,
                node if isinstance(node, bool) else typed(text) if isinstance(node, Number) else text,
            )


def _named(label: str, text: str) -> str:
    return f"{label}: {text}" if label else text


def scalar(value: Any) -> str:
    if value is None:
        return "null"
    if value is True:
        return "true"
    if value is False:
        return "false"
    return _SPACE.sub(" ", str(value)).strip()


def _step(key: str) -> str:
    if len(key) > 200:
        key = key[:200]
    return f".{key}" if _PLAIN_KEY.match(key) else f"[{json.dumps(key, ensure_ascii=False)}]"
