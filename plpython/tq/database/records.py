"""The statements of records: describing a query, reading its rows as text, and a row of a table by its key."""

from __future__ import annotations

from collections.abc import Sequence

from tq.database.connection import Statement

MAX_VALUE_CHARS = 20_000  # of one value; what is longer is cut, and said so
SHOWN_BYTES = 32  # of a bytea

# Until the end of the function. No text may mean another thing than it did when it was vetted, and every value looks the
# same whatever the session prefers. Read-only is set in SQL around it: each statement here is a subtransaction, and would
# give it back at its end.
GUARD = Statement(
    "SELECT set_config('standard_conforming_strings', 'on', TRUE),"
    " set_config('TimeZone', $2, TRUE), set_config('DateStyle', 'ISO, YMD', TRUE),"
    " set_config('IntervalStyle', 'postgres', TRUE), set_config('bytea_output', 'hex', TRUE),"
    " set_config('extra_float_digits', '1', TRUE), set_config('xmlbinary', 'base64', TRUE),"
    " set_config('lc_monetary', 'C', TRUE), set_config('search_path', $1, TRUE)",
    ("text", "text"),
)
LIMITS = Statement(
    "SELECT s.name, (s.value #>> '{}')::float8 AS value FROM tq.setting AS s"
    " WHERE s.name IN ('load_query_seconds', 'load_query_rows', 'document_max_bytes')"
)
# Functions that may write, of those that a query names. Found in any schema that its names may mean.
VOLATILE = Statement(
    "SELECT DISTINCT p.oid::pg_catalog.regprocedure::pg_catalog.text AS name"
    " FROM ROWS FROM (pg_catalog.unnest($1::pg_catalog.text[]), pg_catalog.unnest($2::pg_catalog.text[])) AS c (nsp, name)"
    " JOIN pg_catalog.pg_proc AS p ON p.proname = c.name AND p.provolatile = 'v' AND p.prokind IN ('f', 'w')"
    " JOIN pg_catalog.pg_namespace AS n ON n.oid = p.pronamespace"
    " WHERE CASE c.nsp WHEN '' THEN n.nspname = ANY (pg_catalog.current_schemas(TRUE)) ELSE n.nspname = c.nsp END"
    " AND NOT (n.nspname = 'pg_catalog' AND p.proname IN ('random', 'clock_timestamp', 'timeofday', 'gen_random_uuid',"
    " 'pg_relation_size', 'pg_total_relation_size', 'pg_table_size', 'pg_indexes_size', 'pg_database_size'))"
    " ORDER BY 1 LIMIT 1",
    ("text[]", "text[]"),
)
# The one table of a query, where it is an ordinary one, and its primary key. Own types may have casts and operators
# of their own: a key of them is none.
TABLE = Statement(
    "SELECT pg_catalog.format('%I.%I', n.nspname, c.relname) AS name,"
    " (SELECT pg_catalog.array_agg(a.attname::pg_catalog.text ORDER BY pg_catalog.array_position(i.indkey::int2[], a.attnum))"
    " FROM pg_catalog.pg_index AS i JOIN pg_catalog.pg_attribute AS a"
    " ON a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey::int2[])"
    " WHERE i.indrelid = c.oid AND i.indisprimary AND i.indisvalid"
    " HAVING pg_catalog.bool_and(a.atttypid < 16384)) AS key,"
    " (SELECT pg_catalog.array_agg(a.attname::pg_catalog.text ORDER BY a.attnum) FROM pg_catalog.pg_attribute AS a"
    " WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped) AS columns"
    " FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace"
    " WHERE c.oid = pg_catalog.to_regclass($1) AND c.relkind IN ('r', 'p')",
    ("text",),
)
TYPE_NAMES = Statement(
    "SELECT t.oid::int8 AS oid, pg_catalog.format_type(CASE t.typtype WHEN 'd' THEN t.typbasetype ELSE t.oid END, NULL)"
    " AS name FROM pg_catalog.pg_type AS t WHERE t.oid = ANY ($1::oid[])",
    ("int8[]",),
)


def describe(query: str) -> str:
    """A statement that gives the query's columns and no row."""
    return f"SELECT * FROM (\n{query}\n) AS q LIMIT 0"


def rows(query: str, types: Sequence[str], key: Sequence[int], limit: int) -> str:
    """Each row as texts c1, c2, …; ordered by the columns at the places `key`. One row more than the limit, to be seen."""
    names = ", ".join(f"c{i}" for i in range(1, len(types) + 1))
    shown = ", ".join(f"{as_text(f'q.c{i}', kind)} AS c{i}" for i, kind in enumerate(types, 1))
    order = f" ORDER BY {', '.join(f'q.c{i + 1}' for i in key)}" if key else ""
    return f"SELECT {shown} FROM (\n{query}\n) AS q ({names}){order} LIMIT {limit + 1}"


def as_text(column: str, kind: str) -> str:
    """A value as text, by its type's own output and no cast that somebody made; NULL for NULL."""
    if kind == "boolean":
        return f"CASE WHEN {column} THEN 'true' WHEN NOT {column} THEN 'false' END"
    if kind == "bytea":
        return (
            f"CASE WHEN pg_catalog.num_nulls({column}) = 0 THEN '\\x'"
            f" || pg_catalog.encode(pg_catalog.substring({column}, 1, {SHOWN_BYTES}), 'hex')"
            f" || CASE WHEN pg_catalog.octet_length({column}) > {SHOWN_BYTES}"
            f" THEN '… (' || pg_catalog.octet_length({column}) || ' bytes)' ELSE '' END END"
        )
    return (
        f"CASE WHEN pg_catalog.num_nulls({column}) = 0"
        f" THEN pg_catalog.left(pg_catalog.format('%s', {column}), {MAX_VALUE_CHARS + 1}) END"
    )


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def by_key(relation: str, columns: Sequence[tuple[str, str]], key: Sequence[tuple[str, str]]) -> Statement:
    """One row of a table as texts c1, c2, …. columns and key: (name, type); the key's values are the parameters."""
    shown = ", ".join(
        f"{as_text(f't.{quoted(name)}', kind)} AS c{i}" for i, (name, kind) in enumerate(columns, 1)
    )
    where = " AND ".join(
        f"t.{quoted(name)} OPERATOR(pg_catalog.=) $1[{i}]::{kind}" for i, (name, kind) in enumerate(key, 1)
    )
    return Statement(f"SELECT {shown} FROM {relation} AS t WHERE {where} LIMIT 1", ("text[]",))


# The lines that a citation names, and what is known of the query that they came from.
LINES = Statement(
    "SELECT d.name, d.version, l.line_no, l.text, l.locator::text AS locator, r.relation, r.key,"
    " r.columns::text AS columns, r.time_zone, r.ran_at::text AS ran_at"
    " FROM tq.document AS d"
    " JOIN tq.line AS l ON l.document_id = d.id"
    " LEFT JOIN tq.record_query AS r ON r.document_id = d.id"
    " WHERE d.id = $1::uuid AND l.line_no BETWEEN $2 AND $3 ORDER BY l.line_no",
    ("text", "int4", "int4"),
)
SAME_TABLE = Statement(
    "SELECT pg_catalog.format('%I.%I', n.nspname, c.relname) AS name"
    " FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace"
    " WHERE c.oid = pg_catalog.to_regclass($1) AND c.relkind IN ('r', 'p')",
    ("text",),
)
COLUMN_TYPES = Statement(
    "SELECT a.attname::text AS name, pg_catalog.format_type(a.atttypid, NULL) AS type,"
    " pg_catalog.format_type(CASE t.typtype WHEN 'd' THEN t.typbasetype ELSE t.oid END, NULL) AS shown,"
    " a.atttypid < 16384 AS builtin"
    " FROM pg_catalog.pg_attribute AS a JOIN pg_catalog.pg_type AS t ON t.oid = a.atttypid"
    " WHERE a.attrelid = pg_catalog.to_regclass($1) AND a.attnum > 0 AND NOT a.attisdropped",
    ("text",),
)
