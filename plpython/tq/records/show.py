"""A cited record again: as it was loaded, and as its table has it now.

Only the table itself is looked at, by its key and as the caller. The query is not run again: it is somebody else's, and
whatever it calls would run with the rights of whoever looks.
"""

from __future__ import annotations

import contextlib
import json
from typing import Any, Final

from tq.database import records as sql
from tq.database.connection import PlpyDatabase, Row
from tq.errors import TqError

MAX_RECORDS: Final = 1000


def show(plpy: Any, document_id: str, line_start: int, line_end: int) -> list[dict[str, Any]]:
    """One object a line. Raises TQ021 for lines that are no records."""
    db = PlpyDatabase(plpy)
    rows = db.fetch(sql.LINES, document_id, line_start, min(line_end, line_start + MAX_RECORDS - 1))
    if not rows or rows[0]["columns"] is None:
        raise TqError(
            "TQ021",
            "invalid value for the argument citation",
            "It names no line of a document that tq.load_query made.",
            "Give a citation as tq.ask returns it: document, version, line_start, line_end.",
        )
    return [_record(plpy, db, row) for row in rows]


def _record(plpy: Any, db: PlpyDatabase, row: Row) -> dict[str, Any]:
    locator = json.loads(row["locator"] or "{}", parse_float=_Number)
    cells: dict[str, Any] = locator.get("cells", {})
    key: dict[str, Any] = locator.get("key", {})
    record: dict[str, Any] = {
        "document": row["name"],
        "version": row["version"],
        "line": row["line_no"],
        "loaded_at": row["ran_at"],
        "relation": row["relation"],
        "key": key or None,
        "record": cells,
        "now": None,
    }
    if row["relation"] is None or not key:
        record["state"] = "unknown"
        record["note"] = (
            "The rows have no key of a single table: shown as loaded; tq.refresh reads them again."
        )
        return record
    columns = [column for column in json.loads(row["columns"]) if column["column"]]
    try:
        found = _now(plpy, db, row, columns, key)
    except _Unknown as reason:
        record["state"] = "unknown"
        record["note"] = str(reason)
        return record
    if found is None:
        record["state"] = "gone"
        record["note"] = f"{row['relation']} has no row with this key that you may see."
        return record
    record["now"] = {name: _shown(value, kind) for name, (value, kind) in found.items() if value is not None}
    changed = [name for name, (value, _) in found.items() if value != _loaded(cells.get(name))]
    record["state"] = "changed" if changed else "same"
    record["note"] = f"Changed since it was loaded: {', '.join(changed)}." if changed else "As it was loaded."
    return record


class _Unknown(Exception):
    pass


def _now(
    plpy: Any, db: PlpyDatabase, row: Row, columns: list[dict[str, str]], key: dict[str, Any]
) -> dict[str, tuple[str | None, str]] | None:
    """Output name to (value as text, type); None where the row is gone."""
    name = row["relation"]
    table = db.fetch(sql.SAME_TABLE, name)
    if not table:
        raise _Unknown(f"{name} is no table any more.")
    types = {each["name"]: each for each in db.fetch(sql.COLUMN_TYPES, name)}
    columns = [column for column in columns if column["column"] in types]
    of_output = {column["name"]: column["column"] for column in columns}
    if not set(key) <= set(of_output) or not all(types[of_output[output]]["builtin"] for output in key):
        raise _Unknown(f"The key of {name} is another now.")
    statement = sql.by_key(
        table[0]["name"],
        [(column["column"], types[column["column"]]["shown"]) for column in columns],
        [(of_output[output], types[of_output[output]]["type"]) for output in key],
    )
    db.fetch(sql.GUARD, "pg_catalog, pg_temp", row["time_zone"])
    try:
        plan = plpy.prepare(statement.sql, list(statement.types))
        found = list(plpy.execute(plan, [[_loaded(value) for value in key.values()]]))
    except plpy.spiexceptions.InsufficientPrivilege:
        raise _Unknown(f"You may not read {name}: shown as loaded.") from None
    if not found:
        return None
    return {
        column["name"]: (_cut(found[0][f"c{i}"], types[column["column"]]["shown"]), types[column["column"]]["shown"])
        for i, column in enumerate(columns, 1)
    }  # fmt: skip


class _Number(float):
    """A number that knows how it is written."""

    text: str

    def __new__(cls, text: str) -> _Number:
        number = super().__new__(cls, text)
        number.text = text
        return number


def _loaded(value: Any) -> str | None:
    """A cell as the text that PostgreSQL wrote."""
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    return value.text if isinstance(value, _Number) else str(value)


def _shown(value: str | None, kind: str) -> Any:
    if value is not None and kind == "boolean":
        return value == "true"
    if value is not None and kind in ("smallint", "integer", "bigint"):
        return int(value)
    if value is not None and kind in ("numeric", "real", "double precision") and len(value) < 16:
        with contextlib.suppress(
            ValueError
        ):  # a number where writing it gives the same text, as in the cells
            if repr(float(value)) == value and "e" not in value and value[-1:].isdecimal():
                return float(value)
            if str(int(value)) == value:
                return int(value)
    return value


def _cut(value: str | None, kind: str) -> str | None:
    if value is not None and kind != "bytea" and len(value) > sql.MAX_VALUE_CHARS:
        return value[: sql.MAX_VALUE_CHARS] + "…"
    return value
