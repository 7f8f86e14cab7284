"""Rows of the database as documents: what a line says, whose rights count, and how a record is shown again."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

from ingest_help import assert_ready, document, value, work

Connection = psycopg.Connection[Any]

ORDERS = """
CREATE TABLE public.orders (
    id int PRIMARY KEY, customer text, total numeric(12, 2), weight real, placed timestamptz, paid boolean, note text,
    scan bytea, big bigint);
INSERT INTO public.orders VALUES
(2, 'Brook & Co', 1250.50, 0.1, '2024-05-02 10:30+02', TRUE, E'two\nlines', NULL, 9007199254740993),
(1, 'Ada Lane', 0.10, NULL, '2024-05-01 08:00+02', FALSE, '', '\\x0102', NULL),
(3, 'Cole', 99999999.99, 1e10, NULL, NULL, NULL, decode(repeat('ab', 100), 'hex'), -5);
"""


@pytest.fixture
def orders(db: Connection) -> Connection:
    db.execute("SET TimeZone = 'Europe/Berlin'")
    db.execute(ORDERS)
    return db


@pytest.fixture
def login(db: Connection, url: str) -> Iterator[Callable[..., Connection]]:
    """A connection of a role of the test's own, made a member of roles of tq."""
    made: list[str] = []
    connections: list[Connection] = []

    def connect(name: str, *roles: str) -> Connection:
        role = f"tq_test_{name}_{os.getpid()}"
        db.execute(f"CREATE ROLE {role} LOGIN")
        made.append(role)
        for member in roles:
            db.execute(f"GRANT {member} TO {role}")
        connections.append(psycopg.connect(url, user=role, autocommit=True))
        return connections[-1]

    yield connect
    for connection in connections:
        connection.close()
    for role in made:
        db.execute(f"DROP OWNED BY {role}")
        db.execute(f"DROP ROLE {role}")


def refused(db: Connection, code: str, sql: str, *values: Any) -> psycopg.Error:
    with pytest.raises(psycopg.Error) as caught:
        db.execute(sql, values)
    assert caught.value.sqlstate == code, caught.value
    assert "Traceback" not in str(caught.value)
    return caught.value


def lines(db: Connection, doc: str) -> list[tuple[str, dict[str, Any]]]:
    return [
        (row[0], row[1])
        for row in db.execute(
            "SELECT text, locator FROM tq.line WHERE document_id = %s ORDER BY line_no", [doc]
        )
    ]


def load_query(db: Connection, query: str, name: str = "orders") -> str:
    return str(value(db, "SELECT tq.load_query(%s, %s)", name, query))


def record(db: Connection, line: int, name: str = "orders") -> dict[str, Any]:
    found = value(
        db, "SELECT tq.record(jsonb_build_object('document', %s::text, 'line_start', %s::int))", name, line
    )
    assert isinstance(found, dict)
    return found


def test_a_row_is_a_line_that_can_be_read_alone(orders: Connection) -> None:
    doc = load_query(orders, "SELECT * FROM orders;")
    work(orders)
    assert_ready(orders, doc)
    found = lines(orders, doc)
    assert [text for text, _ in found] == [
        "id: 1 | customer: Ada Lane | total: 0.10 | placed: 2024-05-01 08:00:00+02 | paid: false | scan: \\x0102",
        "id: 2 | customer: Brook & Co | total: 1250.50 | weight: 0.1 | placed: 2024-05-02 10:30:00+02 | paid: true"
        " | note: two lines | big: 9007199254740993",
        "id: 3 | customer: Cole | total: 99999999.99 | weight: 1e+10 | scan: \\x" + "ab" * 32 + "… (100 bytes) | big: -5",
    ]  # fmt: skip
    locator = found[1][1]
    assert locator["table"] == "public.orders"
    assert locator["key"] == {"id": 2}
    assert locator["row"] == 2
    assert locator["cells"]["paid"] is True
    assert locator["cells"]["note"] == "two\nlines"
    assert locator["cells"]["big"] == 9007199254740993
    assert locator["cells"]["weight"] == 0.1
    assert "scan" not in locator["cells"]
    assert document(orders, doc)["media_type"] == "application/x-tq-records"
    assert value(orders, "SELECT detail FROM tq.omission WHERE document_id = %s", doc) == (
        "the column scan was shortened in 1 row"
    )


def test_it_is_asked_and_the_record_shown_again(orders: Connection) -> None:
    load_query(orders, "SELECT id AS number, customer, total, upper(customer) AS loud FROM public.orders")
    work(orders)
    row = orders.execute(
        "SELECT a.citations FROM tq.ask('orders', 'What is the total of Brook & Co?') AS a WHERE rank = 1"
    ).fetchone()
    assert row is not None
    citation = row[0][0]
    number = citation["locator"]["key"]["number"]
    name, total = {1: ("Ada Lane", "0.10"), 2: ("Brook & Co", "1250.50"), 3: ("Cole", 99999999.99)}[number]
    found = value(orders, "SELECT tq.record(%s)", json.dumps(citation))
    assert (found["state"], found["relation"], found["key"]) == ("same", "public.orders", {"number": number})
    assert found["record"] == {
        "number": number,
        "customer": name,
        "total": total,
        "loud": name.upper(),
    }
    assert found["now"] == {"number": number, "customer": name, "total": total}

    orders.execute("UPDATE public.orders SET total = 7, customer = NULL WHERE id = %s", [number])
    found = value(orders, "SELECT tq.record(%s)", json.dumps(citation))
    assert found["state"] == "changed"
    assert "total" in found["note"]
    assert "customer" in found["note"]
    assert found["now"] == {"number": number, "total": "7.00"}
    assert found["record"]["total"] == total

    orders.execute("DELETE FROM public.orders WHERE id = %s", [number])
    found = value(orders, "SELECT tq.record(%s)", json.dumps(citation))
    assert (found["state"], found["now"]) == ("gone", None)
    orders.execute("DROP TABLE public.orders")
    assert value(orders, "SELECT tq.record(%s)", json.dumps(citation))["state"] == "unknown"


def test_every_kind_of_value_is_the_same_when_nothing_changed(orders: Connection) -> None:
    orders.execute(
        "CREATE TYPE public.mood AS ENUM ('fine', 'so so');"
        "CREATE DOMAIN public.flag AS boolean;"
        "CREATE TABLE public.kinds (a int, b text, c float8, d numeric, e jsonb, f int[], g public.mood, h public.flag,"
        " i interval, j date, k uuid, l money, m text, n numeric, o bytea, PRIMARY KEY (a, b));"
        "INSERT INTO public.kinds VALUES (1, 'x; y', 1e-5, 1e-7, '{\"k\": [1.50]}', '{1,NULL}', 'so so', TRUE,"
        " '1 day 2 h', '2024-02-29', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', 5, repeat('z', 30000), 'NaN',"
        " decode(repeat('00', 33), 'hex'))"
    )
    doc = load_query(orders, "TABLE public.kinds".replace("TABLE", "SELECT * FROM"), "kinds")
    # A session with other tastes than the one that loaded.
    orders.execute("SET DateStyle = 'German'; SET bytea_output = 'escape'; SET extra_float_digits = -5")
    work(orders)
    orders.execute("SET DateStyle = 'SQL, MDY'; SET IntervalStyle = 'iso_8601'; SET TimeZone = 'Asia/Tokyo'")
    found = record(orders, 1, "kinds")
    assert (found["state"], found["key"]) == ("same", {"a": 1, "b": "x; y"}), found["note"]
    assert found["record"]["h"] is True
    assert found["record"]["j"] == "2024-02-29"
    assert found["record"]["c"] == "1e-05"
    assert found["record"]["d"] == 0.0000001 or found["record"]["d"] == "0.0000001"
    assert len(found["record"]["m"]) == 20_001
    ((text, _),) = lines(orders, doc)
    assert 'e: {"k": [1.50]} | f: {1,NULL} | g: so so | h: true' in text
    assert value(orders, "SELECT count(*) FROM tq.omission WHERE document_id = %s", doc) == 2


@pytest.mark.parametrize(
    "query",
    [
        "SELECT customer, total FROM orders",  # the key is not shown
        "SELECT customer, count(*) AS orders FROM orders GROUP BY customer",
        "SELECT o.id, p.id FROM orders AS o JOIN orders AS p USING (big)",
        "SELECT id, regexp_split_to_table(customer, ' ') AS word FROM orders",  # a row is several
        "SELECT id FROM seen",  # a view
    ],
)
def test_without_a_key_the_locator_names_the_row(orders: Connection, query: str) -> None:
    orders.execute("CREATE VIEW public.seen AS SELECT * FROM public.orders")
    doc = load_query(orders, query)
    work(orders)
    for number, (_, locator) in enumerate(lines(orders, doc), start=1):
        assert set(locator) == {"row", "cells"}
        assert locator["row"] == number
    found = record(orders, 1)
    assert (found["state"], found["key"], found["now"]) == ("unknown", None, None)
    assert found["record"]


def test_columns_of_one_name_are_told_apart(orders: Connection) -> None:
    doc = load_query(orders, "SELECT id, id, total AS id FROM orders ORDER BY 1 LIMIT 1")
    work(orders)
    assert lines(orders, doc)[0][0] == "id: 1 | id (2): 1 | id (3): 0.10"


def test_the_callers_search_path_and_quoted_names(orders: Connection) -> None:
    orders.execute(
        'CREATE SCHEMA "My Shop"; CREATE TABLE "My Shop"."Or""ders" ("I d" int PRIMARY KEY, "a: b" text)'
    )
    orders.execute("""INSERT INTO "My Shop"."Or""ders" VALUES (1, 'x')""")
    orders.execute("""SET search_path = "My Shop", public""")
    doc = load_query(orders, """SELECT * FROM "Or""ders" """, "quoted")
    orders.execute("RESET search_path")
    work(orders)
    assert lines(orders, doc)[0][0] == "I d: 1 | a: b: x"
    assert lines(orders, doc)[0][1]["table"] == '"My Shop"."Or""ders"'
    assert record(orders, 1, "quoted")["state"] == "same"
    assert str(value(orders, "SELECT tq.refresh('quoted')")) == doc
    assert value(orders, "SHOW search_path") == '"$user", public'


def test_refresh_makes_a_version_of_what_changed(orders: Connection) -> None:
    doc = value(
        orders,
        "SELECT tq.load_query('orders', 'SELECT id, total FROM orders', tags => '{shop}', metadata => '{\"k\": 1}',"
        " source_weight => 3, questions => '{Which total?}')",
    )
    work(orders)
    # Neither the order in which rows lie nor the session's taste makes another document.
    orders.execute("UPDATE public.orders SET note = 'moved' WHERE id = 1")
    orders.execute("SET TimeZone = 'Asia/Tokyo'; SET DateStyle = 'German'")
    assert value(orders, "SELECT tq.refresh('orders')") == doc
    assert value(orders, "SELECT count(*) FROM tq.document") == 1
    orders.execute("UPDATE public.orders SET total = 3 WHERE id = 1")
    newer = value(orders, "SELECT tq.refresh('orders')")
    assert newer != doc
    work(orders)
    row = orders.execute(
        "SELECT version, current, tags, metadata, source_weight FROM tq.document WHERE id = %s", [newer]
    ).fetchone()
    assert row == (2, True, ["shop"], {"k": 1}, 3.0)
    assert (
        value(orders, "SELECT question FROM tq.possible_query WHERE document_id = %s", newer)
        == "Which total?"
    )
    assert value(orders, "SELECT text FROM tq.lines('orders', 1, 1)") == "id: 1 | total: 3.00"
    assert value(orders, "SELECT text FROM tq.lines('orders@1', 1, 1)") == "id: 1 | total: 0.10"


def test_what_is_no_query_is_not_refreshed(orders: Connection) -> None:
    value(orders, "SELECT tq.load_text('plain', 'text')")
    refused(orders, "TQ021", "SELECT tq.refresh('plain')")
    refused(orders, "TQ021", "SELECT tq.refresh(NULL)")
    refused(orders, "TQ001", "SELECT tq.refresh('nothing')")
    load_query(orders, "SELECT 1 AS a", "one")
    load_query(orders, "SELECT 1 AS a", "two")
    refused(orders, "TQ003", "SELECT tq.refresh('*')")
    work(orders)
    refused(orders, "TQ021", """SELECT tq.record('{"document": "plain", "line_start": 1}')""")
    refused(orders, "TQ021", """SELECT tq.record('{"document": "one"}')""")
    refused(orders, "TQ021", """SELECT tq.record('{"document": "one", "line_start": "x"}')""")
    refused(orders, "TQ021", "SELECT tq.record('[]')")
    refused(orders, "TQ021", "SELECT tq.record(NULL)")
    refused(orders, "TQ001", """SELECT tq.record('{"document": "one", "version": 7, "line_start": 1}')""")


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("DELETE FROM orders", "TQ030"),
        ("WITH x AS (DELETE FROM orders RETURNING *) SELECT * FROM x", "TQ030"),
        ("SELECT * FROM orders FOR UPDATE", "TQ030"),
        ("SELECT pg_sleep(10)", "TQ030"),
        ("SELECT eats(id) FROM orders", "TQ030"),  # a volatile function of somebody's
        ("SELECT shop.eats(id) FROM orders", "TQ030"),
        ("SELECT FROM orders", "TQ030"),
        ("SELECT sneaks(id) FROM orders", "25006"),  # stable by its own word: the read-only guard is behind
        ("SELECT * FROM nowhere", "42P01"),
        ("SELECT nothing FROM orders", "42703"),
        ("SELECT id / 0 FROM orders", "22012"),
        ("SELECT * FROM orders WHERE FALSE", "TQ011"),
        ("SELECT 1) AS q; DELETE FROM orders; SELECT * FROM (SELECT 1", "TQ030"),
    ],
)
def test_queries_that_are_refused_leave_nothing_behind(orders: Connection, query: str, code: str) -> None:
    orders.execute(
        "CREATE SCHEMA shop;"
        "CREATE FUNCTION public.eats(int) RETURNS int LANGUAGE sql AS 'DELETE FROM public.orders RETURNING 1';"
        "CREATE FUNCTION shop.eats(int) RETURNS int LANGUAGE sql AS 'SELECT 1';"
        "CREATE FUNCTION public.eaten(int) RETURNS int LANGUAGE plpgsql AS"
        " 'BEGIN DELETE FROM public.orders; RETURN 1; END';"
        "CREATE FUNCTION public.sneaks(int) RETURNS int LANGUAGE plpgsql STABLE AS"
        " 'BEGIN RETURN public.eaten($1); END'"
    )
    error = refused(orders, code, "SELECT tq.load_query('x', %s)", query)
    if code == "TQ030":
        assert error.diag.message_detail
        assert error.diag.message_hint
    assert value(orders, "SELECT count(*) FROM public.orders") == 3
    assert value(orders, "SELECT count(*) FROM tq.document") == 0
    assert value(orders, "SHOW transaction_read_only") == "off"
    orders.execute("DELETE FROM public.orders WHERE id = 1")  # the session writes as before


def test_arguments_are_checked(orders: Connection) -> None:
    refused(orders, "TQ021", "SELECT tq.load_query('x', NULL)")
    refused(orders, "TQ021", "SELECT tq.load_query('', 'SELECT 1')")
    refused(orders, "TQ021", "SELECT tq.load_query('x', 'SELECT 1', media_type => 'text/plain')")
    refused(orders, "TQ021", "SELECT tq.load_query('x', 'SELECT 1', search_path => NULL)")
    refused(orders, "TQ021", "SELECT tq.load_query('x', 'SELECT 1', tags => '{\"\"}')")
    assert load_query(orders, "SELECT 1 AS a WHERE random() < 2")


def test_limits_of_rows_time_and_bytes(orders: Connection) -> None:
    orders.execute("UPDATE tq.setting SET value = '3' WHERE name = 'load_query_rows'")
    load_query(orders, "SELECT id FROM orders")
    orders.execute("UPDATE tq.setting SET value = '2' WHERE name = 'load_query_rows'")
    error = refused(orders, "TQ012", "SELECT tq.load_query('x', 'SELECT id FROM orders')")
    assert "load_query_rows" in (error.diag.message_hint or "")
    orders.execute("UPDATE tq.setting SET value = '10000000' WHERE name = 'load_query_rows'")
    orders.execute("UPDATE tq.setting SET value = '1000' WHERE name = 'document_max_bytes'")
    refused(orders, "TQ012", "SELECT tq.load_query('x', 'SELECT n FROM generate_series(1, 1000) AS n')")
    orders.execute("UPDATE tq.setting SET value = '1000000000' WHERE name = 'document_max_bytes'")
    orders.execute("UPDATE tq.setting SET value = '1' WHERE name = 'load_query_seconds'")
    began = time.monotonic()
    refused(orders, "TQ012", "SELECT tq.load_query('x', 'SELECT n FROM generate_series(1, 9999999) AS n')")
    assert time.monotonic() - began < 10


def test_statement_timeout_and_cancel_get_through(orders: Connection) -> None:
    slow = "SELECT count(*) FROM generate_series(1, 100000) AS a, generate_series(1, 100000) AS b"
    orders.execute("SET statement_timeout = 500")
    began = time.monotonic()
    refused(orders, "57014", "SELECT tq.load_query('x', %s)", slow)
    assert time.monotonic() - began < 5
    orders.execute("SET statement_timeout = 0")
    timer = threading.Timer(0.5, orders.cancel)
    timer.start()
    refused(orders, "57014", "SELECT tq.load_query('x', %s)", slow)
    timer.join()
    assert value(orders, "SHOW transaction_read_only") == "off"
    assert load_query(orders, "SELECT id FROM orders")


def test_inside_a_transaction_it_sees_what_the_transaction_did(orders: Connection) -> None:
    with orders.transaction():
        orders.execute("INSERT INTO public.orders (id, customer) VALUES (4, 'new')")
        load_query(orders, "SELECT id, customer FROM orders WHERE id = 4")
        orders.execute("UPDATE public.orders SET note = 'after'")
    work(orders)
    assert value(orders, "SELECT text FROM tq.lines('orders', 1, 1)") == "id: 4 | customer: new"


def test_a_read_only_transaction_refuses_it_as_any_write(orders: Connection) -> None:
    load_query(orders, "SELECT id, customer FROM orders")
    work(orders)
    orders.execute("SET default_transaction_read_only = on")
    refused(orders, "25006", "SELECT tq.load_query('x', 'SELECT 1 AS a')")
    assert record(orders, 1)["state"] == "same"


# ---------------------------------------------------------------- rights


def test_it_reads_with_the_rights_of_who_calls(orders: Connection, login: Callable[..., Connection]) -> None:
    loader = login("records", "tq_loader")
    reader = login("looks", "tq_reader")
    refused(loader, "42501", "SELECT tq.load_query('x', 'SELECT * FROM public.orders')")
    refused(reader, "42501", "SELECT tq.load_query('x', 'SELECT 1 AS a')")
    orders.execute(f"GRANT SELECT (id, customer) ON public.orders TO {loader.info.user}")
    refused(loader, "42501", "SELECT tq.load_query('x', 'SELECT * FROM public.orders')")
    load_query(loader, "SELECT id, customer FROM public.orders")
    work(orders)
    assert record(loader, 1)["state"] == "same"
    # A reader of the document sees the record as it was loaded, and of the table what it may read itself.
    found = record(reader, 1)
    assert (found["state"], found["now"], found["record"]["customer"]) == ("unknown", None, "Ada Lane")
    orders.execute(f"REVOKE ALL ON public.orders FROM {loader.info.user}")
    refused(loader, "42501", "SELECT tq.refresh('orders')")
    assert record(loader, 1)["state"] == "unknown"
    nobody = login("strange")
    refused(nobody, "42501", "SELECT tq.record('{}')")


def test_row_level_security_of_the_caller_counts(
    orders: Connection, login: Callable[..., Connection]
) -> None:
    loader = login("policy", "tq_loader")
    orders.execute(
        f"GRANT SELECT ON public.orders TO {loader.info.user};"
        "ALTER TABLE public.orders ENABLE ROW LEVEL SECURITY;"
        "CREATE POLICY few ON public.orders USING (id < 3)"
    )
    load_query(loader, "SELECT id, customer FROM public.orders")
    work(orders)
    assert value(loader, "SELECT array_agg(text ORDER BY line_no) FROM tq.lines('orders', 1, 9)") == [
        "id: 1 | customer: Ada Lane",
        "id: 2 | customer: Brook & Co",
    ]
    orders.execute("ALTER POLICY few ON public.orders USING (id > 1)")
    assert record(loader, 1)["state"] == "gone"
    assert record(loader, 2)["state"] == "same"


def test_nobody_runs_anothers_query(orders: Connection, login: Callable[..., Connection]) -> None:
    loader, admin = login("gives", "tq_loader"), login("rules", "tq_admin")
    orders.execute(f"GRANT SELECT ON public.orders TO {loader.info.user}, {admin.info.user}")
    load_query(loader, "SELECT id FROM public.orders")
    for other in (admin, orders):
        assert "belongs to another role" in str(refused(other, "42501", "SELECT tq.refresh('orders')"))
    assert value(loader, "SELECT tq.refresh('orders')")
    # Who may replace a document may replace its query; then it is that role's.
    load_query(admin, "SELECT id, total FROM public.orders")
    refused(loader, "42501", "SELECT tq.refresh('orders')")
    assert value(admin, "SELECT tq.refresh('orders')")
    assert value(orders, "SELECT owner FROM tq.document WHERE version = 2") == loader.info.user
    # Not even by the function that keeps it.
    second = login("second", "tq_loader")
    refused(
        second,
        "42501",
        "SELECT tq_private.keep_query((SELECT gen_random_uuid()), 'SELECT 1', '', 'UTC', NULL, '{}', '[]')",
    )
    assert value(second, "SELECT count(*) FROM tq.record_query") == 0
    refused(second, "42501", "UPDATE tq.record_query SET query = 'x'")


def test_a_record_never_runs_the_loaders_functions(
    orders: Connection, login: Callable[..., Connection]
) -> None:
    """A document that names a view of somebody's shows its rows as loaded: looking runs nothing of the loader's."""
    loader = login("traps", "tq_loader")
    orders.execute(f"CREATE SCHEMA traps AUTHORIZATION {loader.info.user}")
    loader.execute("CREATE TABLE traps.t (id int PRIMARY KEY, a text)")
    loader.execute("INSERT INTO traps.t VALUES (1, 'x')")
    load_query(loader, "SELECT * FROM traps.t", "trap")
    work(orders)
    assert record(orders, 1, "trap")["state"] == "same"
    loader.execute("DROP TABLE traps.t")
    loader.execute(
        "CREATE FUNCTION traps.evil() RETURNS text LANGUAGE plpgsql AS"
        " 'BEGIN RAISE EXCEPTION ''ran as %'', current_user; END'"
    )
    loader.execute("CREATE VIEW traps.t AS SELECT 1 AS id, traps.evil() AS a")
    assert record(orders, 1, "trap")["state"] == "unknown"


def test_forged_records_are_read_as_any_malformed_file(db: Connection) -> None:
    for content in (
        b'{"tq_records": 1}\n{"v": []}\n',
        b'{"tq_records": 1, "relation": null, "key": ["x"], "columns": [{"name": "a", "type": "b"}]}\n{"v": [1, 2]}\n',
        b'{"tq_records": 1, "relation": "t", "key": ["x"], "columns": [{"name": "a", "type": "b"}]}\n{"v": [1]}\n',
    ):
        content = content.replace(b'"tq_records": 1', b'"tq_records":1')
        doc = str(value(db, "SELECT tq.load('forged', %s, 'application/x-tq-records')", content))
        work(db)
        assert document(db, doc)["sqlstate"] == "TQ011"
