"""Which queries tq.load_query takes, and what it says of the others."""

from __future__ import annotations

import pytest

from tq.errors import TqError
from tq.records.vet import REFUSED, Call, vet

ALLOWED = [
    "SELECT 1",
    "select * from t;",
    "select * from t ; ;",
    "SELECT a FROM t -- and a comment; with a semicolon",
    "SELECT a /* DELETE FROM t; */ FROM t",
    "(SELECT a FROM t) UNION ALL (SELECT b FROM u) ORDER BY 1",
    "WITH x AS (SELECT a FROM t) SELECT * FROM x JOIN u USING (a)",
    "WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r WHERE n < 5) SELECT n FROM r",
    "SELECT count(*) FILTER (WHERE a > 1), array_agg(b ORDER BY b) FROM t GROUP BY c HAVING count(*) > 2",
    "SELECT a, row_number() OVER w FROM t WINDOW w AS (PARTITION BY b ORDER BY c)",
    "SELECT s.x FROM t, LATERAL (SELECT max(y) AS x FROM u WHERE u.a = t.a) AS s",
    "SELECT extract(year FROM d), substring(a FROM 1 FOR 2), a::text, d AT TIME ZONE 'UTC' FROM t",
    "SELECT 'insert into t; drop table u', $x$it's; here$x$, E'\\'; DROP TABLE t' FROM t",
    'SELECT "insert", "a;b" FROM "My Table" AS "delete"',
    "SELECT j ->> 'x', j #> '{a,b}' FROM t WHERE j @> '{\"k\": 1}' AND s ~* '^x'",
    "SELECT * FROM generate_series(1, 3) AS g (n)",
    "SELECT updated_at, set_by FROM t WHERE deleted IS NOT TRUE",
    "SELECT * FROM ONLY t FETCH FIRST 5 ROWS WITH TIES",
]

# The query, and a word of what is said of it.
DENIED = [
    ("", "empty"),
    ("  \n ", "empty"),
    (";", "no statement"),
    ("-- nothing", "no statement"),
    ("INSERT INTO t VALUES (1)", "INSERT"),
    ("UPDATE t SET a = 1", "UPDATE"),
    ("DELETE FROM t", "DELETE"),
    ("MERGE INTO t USING u ON TRUE WHEN MATCHED THEN DELETE", "MERGE"),
    ("TRUNCATE t", "TRUNCATE"),
    ("CREATE TABLE x AS SELECT 1", "CREATE"),
    ("DROP TABLE t", "DROP"),
    ("ALTER TABLE t ADD a int", "ALTER"),
    ("GRANT SELECT ON t TO PUBLIC", "GRANT"),
    ("COPY t TO '/tmp/x'", "COPY"),
    ("COPY t TO PROGRAM 'id'", "COPY"),
    ("DO $$ BEGIN END $$", "DO"),
    ("CALL f()", "CALL"),
    ("EXPLAIN ANALYZE SELECT 1", "EXPLAIN"),
    ("SET search_path = x", "SET"),
    ("RESET ALL", "RESET"),
    ("BEGIN", "BEGIN"),
    ("COMMIT", "COMMIT"),
    ("LISTEN x", "LISTEN"),
    ("LOCK TABLE t", "LOCK"),
    ("VACUUM t", "VACUUM"),
    ("PREPARE p AS SELECT 1", "PREPARE"),
    ("EXECUTE p", "EXECUTE"),
    ("DECLARE c CURSOR FOR SELECT 1", "DECLARE"),
    ("TABLE t", "TABLE"),
    ("VALUES (1)", "VALUES"),
    ("SELECT 1; SELECT 2", "semicolon"),
    ("SELECT 1; DROP TABLE t", "semicolon"),
    ("SELECT 1 /* */; -- x\n DELETE FROM t", "semicolon"),
    ("SELECT a /* x /* y */ ; DROP TABLE t; */ FROM t; DELETE FROM t", "semicolon"),
    ("WITH x AS (INSERT INTO t VALUES (1) RETURNING *) SELECT * FROM x", "INSERT"),
    ("WITH x AS (UPDATE t SET a = 1 RETURNING *) SELECT * FROM x", "UPDATE"),
    ("WITH x AS (DELETE FROM t RETURNING *) SELECT * FROM x", "DELETE"),
    ("WITH x AS (SELECT 1) DELETE FROM t", "DELETE"),
    ("SELECT * FROM (WITH x AS (DELETE FROM t RETURNING a) SELECT a FROM x) AS y", "DELETE"),
    ("SELECT * INTO n FROM t", "INTO"),
    ("SELECT a INTO TEMP n FROM t", ""),
    ("SELECT * FROM t FOR UPDATE", "locks"),
    ("SELECT * FROM t FOR NO KEY UPDATE SKIP LOCKED", ""),
    ("SELECT * FROM (SELECT * FROM t FOR SHARE) AS x", "locks"),
    ("SELECT * FROM t WHERE a = $1", "parameter"),
    ("SELECT * FROM t WHERE a = :a", "parameter"),
    ("SELECT pg_sleep(1)", "waits"),
    ("SELECT PG_SLEEP (1)", "waits"),
    ("SELECT pg_catalog.pg_sleep(1)", "waits"),
    ('SELECT "pg_sleep"(1)', "waits"),
    ('SELECT pg_catalog . "pg_sleep" /* x */ (1)', "waits"),
    ("SELECT a FROM t WHERE EXISTS (SELECT pg_sleep_for('1 s'))", "waits"),
    ("SELECT * FROM pg_sleep(1)", "waits"),
    ("SELECT * FROM ROWS FROM (pg_sleep(1)) AS x", "waits"),
    ("SELECT * FROM t ORDER BY pg_sleep(1)", "waits"),
    ('SELECT U&"pg\\005fsleep"(1)', "Unicode"),
    ("SELECT U&'d\\0061t'", "Unicode"),
    ("SELECT nextval('s')", "writes"),
    ("SELECT setval('s', 1)", "writes"),
    ("SELECT set_config('role', 'x', FALSE)", "session"),
    ("SELECT pg_advisory_lock(1)", "session"),
    ("SELECT pg_notify('a', 'b')", "writes"),
    ("SELECT pg_read_file('/etc/passwd')", "files"),
    ("SELECT pg_read_binary_file('x')", "files"),
    ("SELECT * FROM pg_ls_dir('.')", "files"),
    ("SELECT lo_import('/etc/passwd')", "files"),
    ("SELECT lo_export(1, '/x')", "files"),
    ("SELECT * FROM dblink('a', 'DELETE FROM t') AS x (a int)", "other SQL"),
    ("SELECT dblink_exec('a', 'b')", "cannot be seen"),
    ("SELECT query_to_xml('DELETE FROM t', TRUE, TRUE, '')", "cannot be seen"),
    ("SELECT table_to_xml('t', TRUE, TRUE, '')", "cannot be seen"),
    ("SELECT ts_stat('SELECT 1')", "cannot be seen"),
    ("SELECT pg_terminate_backend(1)", "server"),
    ("SELECT pg_reload_conf()", "server"),
    ("SELECT a FROM", "cannot be read"),
    ("SELECT (1", "cannot be read"),
    ("SELECT 'abc", "cannot be read"),
    ("this is no SQL", "SELECT"),
    ("SELECT 1) AS q; DROP TABLE t; --", ""),
    ("SELECT 1) AS q, (SELECT 2", ""),
    ("SELECT " + "(" * 3000 + "1" + ")" * 3000, "nested"),
    ("SELECT '" + "x" * 100_000 + "'", "characters"),
]


@pytest.mark.parametrize("query", ALLOWED, ids=lambda query: query[:50])
def test_allowed(query: str) -> None:
    assert query.startswith(vet(query).text)


@pytest.mark.parametrize(("query", "word"), DENIED, ids=[query[:50] for query, _ in DENIED])
def test_refused_with_what_was_seen(query: str, word: str) -> None:
    with pytest.raises(TqError) as caught:
        vet(query)
    assert caught.value.code == "TQ030"
    assert caught.value.message == "query not allowed"
    assert caught.value.detail
    assert caught.value.hint
    assert word in caught.value.detail + caught.value.hint


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_every_refused_function_is_refused_however_it_is_written(name: str) -> None:
    for written in (name, name.upper(), f'"{name}"', f"pg_catalog.{name}", f'"pg_catalog" . "{name}"'):
        for query in (
            f"SELECT {written} (1)",
            f"SELECT a FROM t WHERE a IN (SELECT b FROM {written}(1) AS x (b))",
        ):
            with pytest.raises(TqError) as caught:
                vet(query)
            assert caught.value.code == "TQ030"


@pytest.mark.parametrize(
    ("query", "table", "columns", "ordered"),
    [
        ("SELECT * FROM t", '"t"', ("*",), False),
        ("SELECT t.* FROM s.T ORDER BY a", '"s"."t"', ("*",), True),
        ('SELECT o."Id", o.NAME AS n, upper(x) FROM "My ""T" AS o', '"My ""T"', ("Id", "name", None), False),
        ("SELECT a, now() FROM t WHERE b > 1 LIMIT 3;", '"t"', ("a", None), False),
        ("SELECT * FROM t, u", None, (), False),
        ("SELECT * FROM t JOIN u USING (a)", None, (), False),
        ("SELECT a, count(*) FROM t GROUP BY a", None, (), False),
        ("SELECT max(a) FROM t", None, (), False),
        ("SELECT DISTINCT a FROM t", None, (), False),
        ("SELECT a FROM t AS x (b, a)", None, (), False),
        ("WITH t AS (SELECT 1 AS a) SELECT a FROM t", None, (), False),
        ("SELECT a FROM (SELECT a FROM t) AS x", None, (), False),
        ("SELECT a FROM t UNION SELECT a FROM t", None, (), False),
        ("SELECT a FROM t WHERE EXISTS (SELECT FROM u)", None, (), False),
        ("SELECT unnest(a), id FROM t", None, (), False),
    ],
)
def test_the_one_table_and_what_is_shown_of_it(
    query: str, table: str | None, columns: tuple[str | None, ...], ordered: bool
) -> None:
    found = vet(query)
    assert (found.table, found.columns, found.ordered) == (table, columns, ordered)


def test_calls_are_named_as_postgresql_folds_them() -> None:
    calls = vet('SELECT Lower(a), my."Fn" (b), S.g(1) FROM t').calls
    assert set(calls) >= {Call("", "lower"), Call("my", "Fn"), Call("s", "g")}


def test_the_text_ends_with_the_last_word() -> None:
    for query, text in (
        ('SELECT "a" FROM "t" ;', 'SELECT "a" FROM "t"'),
        ("SELECT 'x' ; -- y", "SELECT 'x'"),
        ("SELECT $q$x$q$;", "SELECT $q$x$q$"),
        ("SELECT a -- c\n", "SELECT a"),
        ("SELECT E'a\\'b' ;", "SELECT E'a\\'b'"),
        ("SELECT t.* FROM t -- ;", "SELECT t.* FROM t"),
    ):
        assert vet(query).text == text
