"""The rows of a vetted query as JSON Lines: a header, then a row a line.

    {"tq_records": 1, "relation": str | null, "key": [output, …], "columns": [{"name", "type", "column"}, …]}
    {"v": [value | null, …], "cut": [place, …]}            cut: values that are shortened; left out where there is none

A value is true or false, an integer, or the text that PostgreSQL writes. The same rows give the same bytes.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from tq.database import records as sql
from tq.database.connection import PlpyDatabase, Row
from tq.errors import TqError
from tq.records.vet import Vetted, refused, vet

MEDIA_TYPE: Final = "application/x-tq-records"
INTEGERS: Final = frozenset(("smallint", "integer", "bigint"))
FIRST_SLICE: Final = 50  # rows fetched at first; more where that is quick
LARGEST_SLICE: Final = 5000
SLICE_SECONDS: Final = 0.2


@dataclass(frozen=True, slots=True)
class Column:
    name: str
    type: str
    column: str | None  # of the one table, where it is shown unchanged


@dataclass(frozen=True, slots=True)
class Limits:
    seconds: float
    rows: int
    bytes: int


def run_query(plpy: Any, query: str, search_path: str, time_zone: str) -> dict[str, Any]:
    """{"content": the JSON Lines, "relation", "key", "columns"}. Raises TQ030 for a query that is not allowed, TQ011 for
    one without rows, TQ012 at a limit; what PostgreSQL says of the query goes through as it is."""
    vetted = vet(query)
    db = PlpyDatabase(plpy)
    values = {row["name"]: row["value"] for row in db.fetch(sql.LIMITS)}
    limits = Limits(
        values.get("load_query_seconds", 60.0),
        int(values.get("load_query_rows", 100_000)),
        int(values.get("document_max_bytes", 1_000_000_000)),
    )
    db.fetch(sql.GUARD, search_path, time_zone)
    return _run(plpy, db, vetted, limits)


def _run(plpy: Any, db: PlpyDatabase, vetted: Vetted, limits: Limits) -> dict[str, Any]:
    deadline = time.monotonic() + limits.seconds
    # Not cached: what a name means may change, and another role's plan is not ours.
    writers = plpy.execute(
        plpy.prepare(sql.VOLATILE.sql, list(sql.VOLATILE.types)),
        [[call.schema for call in vetted.calls], [call.name for call in vetted.calls]],
    )
    if len(writers):
        raise refused(
            f"It names {writers[0]['name']}, a volatile function, which may write; STABLE ones may not."
        )
    described = plpy.execute(sql.describe(vetted.text))
    names = [str(name) for name in described.colnames()]
    if not names:
        raise refused("It has no column.")
    oids = [int(oid) for oid in described.coltypes()]
    type_names = {row["oid"]: row["name"] for row in db.fetch(sql.TYPE_NAMES, sorted(set(oids)))}
    types = [str(type_names.get(oid, "text")) for oid in oids]
    relation, table_key, shown = _table(db, vetted, len(names))
    columns = [Column(*each) for each in zip(_distinct(names), types, shown, strict=True)]
    key = [shown.index(name) for name in table_key] if table_key and set(table_key) <= set(shown) else []
    text = sql.rows(vetted.text, types, [] if vetted.ordered else key, limits.rows)
    lines: list[bytes] = []
    seen: set[tuple[Any, ...]] = set()
    size = 0
    for row in _slices(plpy, text, deadline, limits):
        values = [_typed(row[f"c{i}"], column.type) for i, column in enumerate(columns, 1)]
        if key:
            identity = tuple(values[i] for i in key)
            if identity in seen:
                key = []  # one row of the table, several of the query: the key names none of them
            seen.add(identity)
        line = _line(values, columns)
        size += len(line) + 1
        if len(lines) >= limits.rows:
            raise TqError(
                "TQ012", "the query returns too many rows", f"It returns more than load_query_rows, {limits.rows:,}.",
                "Narrow it by WHERE or LIMIT, or raise the setting load_query_rows.",
            )  # fmt: skip
        if size > limits.bytes:
            raise TqError(
                "TQ012", "the query returns too much", f"Its rows exceed document_max_bytes, {limits.bytes:,} bytes.",
                "Narrow it by WHERE or LIMIT, or raise the setting document_max_bytes.",
            )  # fmt: skip
        lines.append(line)
    if not lines:
        raise TqError(
            "TQ011", "the query returns no row", "A document has at least one line.",
            "Run the query by itself, as the same role: row-level security may hide its rows.",
        )  # fmt: skip
    if not vetted.ordered and not key:
        lines.sort()  # an order that does not hang on where the rows lie
    if not key:
        relation = None
    described_as = [{"name": c.name, "type": c.type, "column": c.column} for c in columns]
    header = {
        "tq_records": 1, "relation": relation, "key": [columns[i].name for i in key], "columns": described_as,
    }  # fmt: skip
    return {
        "content": b"\n".join([_json(header), *lines, b""]),
        "relation": relation,
        "key": header["key"],
        "columns": _json(described_as).decode(),
        "query": vetted.text,
    }


def _table(
    db: PlpyDatabase, vetted: Vetted, count: int
) -> tuple[str | None, list[str] | None, list[str | None]]:
    """The one table's name and primary key, and its column for each output."""
    nothing: tuple[None, None, list[str | None]] = (None, None, [None] * count)
    if vetted.table is None:
        return nothing
    rows = db.fetch(sql.TABLE, vetted.table)
    if not rows:
        return nothing
    own = list(rows[0]["columns"] or ())
    shown: list[str | None] = []
    for column in vetted.columns:
        shown += own if column == "*" else [column if column in own else None]
    if len(shown) != count:
        return nothing
    return rows[0]["name"], rows[0]["key"], shown


def _slices(plpy: Any, text: str, deadline: float, limits: Limits) -> Iterator[Row]:
    """The rows, fetched in slices that stay short, so that the deadline and a cancel are seen between them."""
    cursor = plpy.cursor(text)
    size = FIRST_SLICE
    while True:
        began = time.monotonic()
        rows = cursor.fetch(size)
        now = time.monotonic()
        if now > deadline:
            raise TqError(
                "TQ012", "the query takes too long", f"It was stopped after load_query_seconds, {limits.seconds:g} s.",
                "Narrow it, give it an index, or raise the setting load_query_seconds.",
            )  # fmt: skip
        yield from rows
        if len(rows) < size:
            return
        if now - began < SLICE_SECONDS / 2:
            size = min(LARGEST_SLICE, size * 2)
        elif now - began > SLICE_SECONDS:
            size = max(1, size // 2)


def _distinct(names: list[str]) -> list[str]:
    """Column names, each once: the second `id` is `id (2)`."""
    found: list[str] = []
    for name in names:
        number, free = 1, name
        while free in found:
            number += 1
            free = f"{name} ({number})"
        found.append(free)
    return found


def _typed(text: str | None, kind: str) -> bool | int | str | None:
    if text is None:
        return None
    if kind == "boolean":
        return text == "true"
    return int(text) if kind in INTEGERS else text


def _line(values: list[Any], columns: list[Column]) -> bytes:
    cut = []
    for i, value in enumerate(values):
        if not isinstance(value, str):
            continue
        if columns[i].type == "bytea":
            if value.endswith(" bytes)"):
                cut.append(i)
        elif len(value) > sql.MAX_VALUE_CHARS:
            values[i] = value[: sql.MAX_VALUE_CHARS] + "…"
            cut.append(i)
    return _json({"v": values, "cut": cut} if cut else {"v": values})


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
