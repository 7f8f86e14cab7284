"""The schema as one text: a change of it is seen as a diff of schema.txt.

Write it anew with TQ_WRITE_GOLDEN=1 in the environment: `TQ_WRITE_GOLDEN=1 .venv/bin/pytest tests/golden`.
Bodies of functions are not in it; names, arguments, rights and everything that has state are.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import psycopg

GOLDEN = Path(__file__).with_name("schema.txt")

# (section, query giving one line a row). n is the schema; the text of the server's own deparsing functions is stable.
OURS = "('tq'::regnamespace, 'tq_private'::regnamespace)"
SECTIONS = [
    (
        "types",
        f"""
        SELECT format('%s: %s', t.oid::regtype, CASE t.typtype
            WHEN 'e' THEN (SELECT string_agg(e.enumlabel, ', ' ORDER BY e.enumsortorder)
                           FROM pg_enum AS e WHERE e.enumtypid = t.oid)
            ELSE (SELECT string_agg(format('%s %s', a.attname, format_type(a.atttypid, a.atttypmod)), ', '
                                    ORDER BY a.attnum)
                  FROM pg_attribute AS a WHERE a.attrelid = t.typrelid AND a.attnum > 0 AND NOT a.attisdropped) END)
        FROM pg_type AS t LEFT JOIN pg_class AS c ON c.oid = t.typrelid
        WHERE t.typnamespace IN {OURS} AND (t.typtype IN ('e', 'd') OR c.relkind = 'c')
        """,
    ),
    (
        "columns",
        f"""
        SELECT format('%s.%s %s%s%s%s', c.oid::regclass, a.attname, format_type(a.atttypid, a.atttypmod),
                      CASE WHEN a.attnotnull THEN ' NOT NULL' ELSE '' END,
                      CASE a.attidentity WHEN 'a' THEN ' IDENTITY' ELSE '' END,
                      coalesce(' DEFAULT ' || pg_get_expr(d.adbin, d.adrelid), ''))
        FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid
        LEFT JOIN pg_attrdef AS d ON d.adrelid = c.oid AND d.adnum = a.attnum
        WHERE c.relnamespace IN {OURS} AND c.relkind IN ('r', 'p', 'v', 'm') AND a.attnum > 0 AND NOT a.attisdropped
        """,
    ),
    (
        "constraints",
        f"""
        SELECT format('%s %s: %s', conrelid::regclass, conname, pg_get_constraintdef(oid)) FROM pg_constraint
        WHERE connamespace IN {OURS} AND contype IN ('c', 'f', 'p', 'u', 'x')
        """,
    ),
    (
        "indexes",
        f"SELECT pg_get_indexdef(i.oid) FROM pg_class AS i WHERE i.relnamespace IN {OURS} AND i.relkind = 'i'",
    ),
    (
        "triggers",
        f"""
        SELECT format('%s [%s]', pg_get_triggerdef(t.oid), t.tgenabled) FROM pg_trigger AS t
        JOIN pg_class AS c ON c.oid = t.tgrelid WHERE c.relnamespace IN {OURS} AND NOT t.tgisinternal
        """,
    ),
    (
        "policies",
        f"""
        SELECT format('%s %s FOR %s TO %s USING (%s) CHECK (%s)', p.polrelid::regclass, p.polname, p.polcmd,
            (SELECT coalesce(string_agg(r.rolname, ', ' ORDER BY r.rolname), 'PUBLIC')
             FROM pg_roles AS r WHERE r.oid = ANY (p.polroles)),
            regexp_replace(pg_get_expr(p.polqual, p.polrelid), '\\s+', ' ', 'g'),
            pg_get_expr(p.polwithcheck, p.polrelid))
        FROM pg_policy AS p JOIN pg_class AS c ON c.oid = p.polrelid WHERE c.relnamespace IN {OURS}
        """,
    ),
    (
        "functions",
        f"""
        SELECT format('%s.%s(%s)%s %s %s%s%s to %s', p.pronamespace::regnamespace, p.proname,
            pg_get_function_arguments(p.oid), coalesce(' → ' || pg_get_function_result(p.oid), ''),
            CASE p.provolatile WHEN 'i' THEN 'immutable' WHEN 's' THEN 'stable' ELSE 'volatile' END,
            CASE p.proparallel WHEN 's' THEN 'safe' WHEN 'r' THEN 'restricted' ELSE 'unsafe' END,
            CASE WHEN p.prosecdef THEN ' definer' ELSE '' END,
            CASE p.prokind WHEN 'p' THEN ' procedure' ELSE '' END,
            (SELECT coalesce(string_agg(r.rolname, ', ' ORDER BY r.rolname), 'nobody')
             FROM aclexplode(p.proacl) AS a JOIN pg_roles AS r ON r.oid = a.grantee WHERE a.grantee <> p.proowner))
        FROM pg_proc AS p WHERE p.pronamespace IN {OURS}
        """,
    ),
    (
        "rights",
        f"""
        SELECT format('%s: %s %s', c.oid::regclass, r.rolname,
                      string_agg(a.privilege_type, ', ' ORDER BY a.privilege_type))
        FROM pg_class AS c CROSS JOIN LATERAL aclexplode(c.relacl) AS a JOIN pg_roles AS r ON r.oid = a.grantee
        WHERE c.relnamespace IN {OURS} AND c.relkind IN ('r', 'p', 'v', 'm') AND a.grantee <> c.relowner
        GROUP BY c.oid, r.rolname
        """,
    ),
]


def snapshot(db: psycopg.Connection[Any]) -> str:
    parts = []
    # Names are written with their schema, whatever the session's path.
    db.execute("SET search_path = pg_catalog")
    for section, query in SECTIONS:
        lines = sorted(row[0] for row in db.execute(query).fetchall())
        parts.append(f"# {section}\n" + "".join(f"{line}\n" for line in lines))
    return "\n".join(parts)


def test_the_schema_is_the_one_on_record(db: psycopg.Connection[Any]) -> None:
    now = snapshot(db)
    if os.environ.get("TQ_WRITE_GOLDEN"):
        GOLDEN.write_text(now, encoding="utf-8")
    assert now.splitlines() == GOLDEN.read_text(encoding="utf-8").splitlines(), (
        "the schema changed: look at the difference, then TQ_WRITE_GOLDEN=1 .venv/bin/pytest tests/golden"
    )
