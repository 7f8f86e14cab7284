"""What the catalogue must say of every object of tq."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

Connection = psycopg.Connection[Any]

FUNCTIONS = "SELECT p.oid::regprocedure::text FROM pg_proc AS p WHERE p.pronamespace IN ({}) AND "
PUBLIC = "'tq'::regnamespace"
BOTH = "'tq'::regnamespace, 'tq_private'::regnamespace"
ROLES = ("tq_reader", "tq_loader", "tq_worker", "tq_admin")


def texts(db: Connection, sql: str) -> list[str]:
    return [row[0] for row in db.execute(sql).fetchall()]


def test_each_public_name_is_one_function(db: Connection) -> None:
    assert (
        texts(
            db,
            f"SELECT proname FROM pg_proc WHERE pronamespace IN ({BOTH})"
            " GROUP BY pronamespace, proname HAVING count(*) > 1",
        )
        == []
    )


def test_public_may_execute_nothing(db: Connection) -> None:
    count = db.execute(
        f"SELECT count(*) FROM pg_proc AS p, aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) AS a"
        f" WHERE p.pronamespace IN ({BOTH}) AND a.grantee = 0"
    ).fetchone()
    assert count == (0,)


def test_public_may_read_no_table(db: Connection) -> None:
    assert (
        texts(
            db,
            f"SELECT c.oid::regclass::text FROM pg_class AS c, aclexplode(c.relacl) AS a"
            f" WHERE c.relnamespace IN ({BOTH}) AND a.grantee = 0",
        )
        == []
    )


def test_every_function_pins_its_search_path(db: Connection) -> None:
    # A procedure that commits can have no SET clause.
    assert (
        texts(
            db,
            FUNCTIONS.format(BOTH) + "p.prokind = 'f' AND NOT EXISTS (SELECT FROM unnest(p.proconfig) AS c"
            " WHERE c IN ('search_path=pg_catalog, pg_temp', 'search_path=pg_catalog, tq, pg_temp'))",
        )
        == []
    )


def test_definer_functions_are_private_or_few(db: Connection) -> None:
    assert texts(db, FUNCTIONS.format(PUBLIC) + "p.prosecdef") == []


def test_stable_functions_say_whether_they_run_in_parallel(db: Connection) -> None:
    """What writes, or runs Python, is unsafe; what only reads is safe."""
    assert (
        texts(db, FUNCTIONS.format(BOTH) + "p.prokind = 'f' AND p.provolatile = 'v' AND p.proparallel <> 'u'")
        == []
    )
    assert (
        texts(
            db,
            FUNCTIONS.format(BOTH) + "p.provolatile <> 'v' AND p.proparallel = 'u'"
            " AND p.prolang <> (SELECT oid FROM pg_language WHERE lanname = 'plpython3u')"
            " AND p.prosrc !~ '_(walk|of)[(]'",
        )
        == []
    )


def test_everything_belongs_to_tq_owner(db: Connection) -> None:
    for catalogue, owner, namespace, name in (
        ("pg_proc", "proowner", "pronamespace", "proname"),
        ("pg_class", "relowner", "relnamespace", "relname"),
        ("pg_type", "typowner", "typnamespace", "typname"),
    ):
        assert (
            texts(
                db,
                f"SELECT {name} FROM {catalogue} WHERE {namespace} IN ({BOTH}) AND {owner} <> 'tq_owner'::regrole",
            )
            == []
        ), catalogue
    assert (
        texts(
            db, "SELECT nspname FROM pg_namespace WHERE nspname ~ '^tq' AND nspowner <> 'tq_owner'::regrole"
        )
        == []
    )
    row = db.execute("SELECT rolsuper OR rolcanlogin FROM pg_roles WHERE rolname = 'tq_owner'").fetchone()
    assert row == (False,)


COMMENTS = f"""
    SELECT p.oid::regprocedure::text, obj_description(p.oid, 'pg_proc') FROM pg_proc AS p
    WHERE p.pronamespace = {PUBLIC}
    UNION ALL
    SELECT c.oid::regclass::text, obj_description(c.oid, 'pg_class') FROM pg_class AS c
    WHERE c.relnamespace = {PUBLIC} AND c.relkind IN ('r', 'p', 'v', 'm')
    UNION ALL
    SELECT t.oid::regtype::text, obj_description(t.oid, 'pg_type') FROM pg_type AS t
    WHERE t.typnamespace = {PUBLIC}
        AND (t.typtype IN ('e', 'd') OR (SELECT c.relkind FROM pg_class AS c WHERE c.oid = t.typrelid) = 'c')
    UNION ALL
    SELECT n.nspname, obj_description(n.oid, 'pg_namespace') FROM pg_namespace AS n WHERE n.oid IN ({BOTH})
"""


def test_every_object_has_a_comment_that_begins_with_a_line(db: Connection) -> None:
    rows = db.execute(COMMENTS).fetchall()
    assert len(rows) > 30
    assert [name for name, comment in rows if not comment] == []
    assert {name: line for name, comment in rows if len(line := comment.split("\n")[0]) > 72} == {}
    assert {name: line for name, comment in rows if not (line := comment.split("\n")[0]).endswith(".")} == {}


def test_every_column_of_a_view_and_table_can_be_told(db: Connection) -> None:
    """Columns whose name does not say it all carry a comment; this holds those that users asked about."""
    for table, column in (
        ("document", "current"),
        ("node", "target_node_id"),
        ("strategy", "top_n"),
        ("model", "delay_ms"),
    ):
        row = db.execute(
            "SELECT col_description(a.attrelid, a.attnum) FROM pg_attribute AS a"
            " WHERE a.attrelid = %s::regclass AND a.attname = %s",
            [f"tq.{table}", column],
        ).fetchone()
        assert row is not None
        assert row[0], f"{table}.{column}"


# Called by definer functions or triggers alone, which run as tq_owner.
INTERNAL = {
    "check_bullets",
    "check_fits",
    "check_queries",
    "check_shots",
    "shot_chars",
    "check_load",
    "check_touched",
    "check_values",
    "drop_blobs",
    "keep_answers",
    "keep_calls",
    "keep_replies_of",
    "keep_walk",
    "lock_read",
    "tell_answers",
    "tell_query",
    "drop_messages",
    "expression_of",
    "keep_strategies",
    "number_question",
    "model_changed",
    "share_of",
    "usual_reader",
    "refuse_by_hand",
    "refuse_share",
    "refuse_truncate",
    "strategies_changed",
    "stop_batches",
    "touch",
    "touch_document",
    "verify_document",
    "verify_nodes",
}


def test_every_function_is_granted_or_internal(db: Connection) -> None:
    granted = (
        "EXISTS (SELECT FROM aclexplode(p.proacl) AS a JOIN pg_roles AS r ON r.oid = a.grantee"
        f" WHERE r.rolname IN {ROLES})"
    )
    rows = db.execute(
        f"SELECT p.pronamespace::regnamespace::text, p.proname, {granted} FROM pg_proc AS p"
        f" WHERE p.pronamespace IN ({BOTH})"
    ).fetchall()
    assert {name for schema, name, given in rows if schema == "tq" and not given} == set()
    assert {name for schema, name, given in rows if schema == "tq_private" and not given} == INTERNAL


def test_constraints_say_what_they_guard(db: Connection) -> None:
    """No name that PostgreSQL made up for a CHECK, a UNIQUE or an exclusion: those end in a number, or in _check1."""
    assert (
        texts(
            db,
            f"SELECT conname FROM pg_constraint WHERE connamespace IN ({BOTH}) AND contype IN ('c', 'u', 'x')"
            " AND conname ~ '\\d$'",
        )
        == []
    )


def test_views_see_with_the_eyes_of_who_asks(db: Connection) -> None:
    """tq.queue alone counts messages for everyone."""
    assert texts(
        db,
        f"SELECT relname FROM pg_class WHERE relnamespace IN ({BOTH}) AND relkind = 'v'"
        " AND NOT coalesce(reloptions @> '{security_invoker=true}', FALSE)",
    ) == ["queue"]


@pytest.mark.parametrize("column", ["document_id", "query_id"])
def test_rows_of_a_document_or_question_have_row_level_security(db: Connection, column: str) -> None:
    assert (
        texts(
            db,
            "SELECT c.relname FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid"
            f" WHERE c.relnamespace = {PUBLIC} AND c.relkind = 'r' AND a.attname = '{column}' AND NOT c.relrowsecurity",
        )
        == []
    )
    assert (
        texts(
            db,
            "SELECT relname FROM pg_class WHERE NOT relrowsecurity"
            " AND oid IN ('tq.document'::regclass, 'tq.query'::regclass)",
        )
        == []
    )
