"""Rows of the database, as tq.load_query stores them: a row is one line that can be read alone.

The locator names the table and the row's key, or the row's number where there is none, and holds the typed cells.
"""

from __future__ import annotations

import json
from typing import Any, Final

from tq_loader.convert.detect import Found
from tq_loader.convert.protocol import MALFORMED, ConvertError, Job, Writer, count_of
from tq_loader.convert.table import PAIR, one_line, typed

NUMBERS: Final = frozenset(("numeric", "real", "double precision"))


def convert(data: bytes | bytearray, job: Job, found: Found, out: Writer) -> None:
    """Write a line a row. Raises TQ011 for what tq.load_query did not write."""
    try:
        lines = data.decode("utf-8").split("\n")
        header = json.loads(lines[0])
        columns = [(str(column["name"]), str(column["type"])) for column in header["columns"]]
        key = [str(name) for name in header["key"]]
        out.document(found.media_type, None)
        cut: dict[int, int] = {}
        for number, line in enumerate(lines[1:], start=1):
            if line:
                _row(json.loads(line), number, columns, header["relation"], key, cut, out)
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError) as error:
        raise ConvertError(
            MALFORMED,
            "records are damaged",
            f"they are not as tq.load_query writes them: {type(error).__name__}",
            "load the rows by tq.load_query, or a file of your own under another media type",
        ) from error
    for i, times in sorted(cut.items()):
        out.omission("value", f"the column {columns[i][0]} was shortened in {count_of(times, 'row')}")


def _row(
    row: dict[str, Any], number: int, columns: list[tuple[str, str]], relation: str | None, key: list[str],
    cut: dict[int, int], out: Writer,
) -> None:  # fmt: skip
    values = row["v"]
    if len(values) != len(columns):
        raise ValueError("another number of values than of columns")
    for i in row.get("cut", ()):
        cut[i] = cut.get(i, 0) + 1
    cells: dict[str, Any] = {}
    parts: list[str] = []
    for (name, kind), value in zip(columns, values, strict=True):
        if value is None:
            continue
        text = ("true" if value else "false") if isinstance(value, bool) else one_line(str(value))
        # jsonb writes an exponent out: such a number stays as PostgreSQL writes it.
        exact = kind in NUMBERS and isinstance(value, str) and "e" not in value
        cells[name] = typed(value) if exact else value
        if text:
            parts.append(f"{one_line(name)}: {text}")
    locator: dict[str, Any] = {"row": number, "cells": cells}
    if relation and key:
        locator = {"table": relation, "key": {name: cells[name] for name in key}} | locator
    out.line(PAIR.join(parts) or "no value in this row", kind="table", locator=locator)
