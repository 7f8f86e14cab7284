"""Rights are PostgreSQL's own: what each role may do, sees, and is refused."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

Connection = psycopg.Connection[Any]
As = Callable[[str], Connection]

MEMBERS = {
    "reader": ["tq_reader"],
    "loader": ["tq_loader"],
    "second": ["tq_loader"],
    "worker": ["tq_worker"],
    "admin": ["tq_admin"],
    "nobody": [],
}
TEXT = """# Cancelling

This is the policy of the clinic, and it is for all of the staff and for those who come to us.
A cancellation of an appointment needs 24 hours notice.

# Fees

The fee for a missed visit is 40 euros, and it is to be paid at the desk.
"""


@pytest.fixture
def login(db: Connection, url: str) -> Iterator[As]:
    """Connections of login roles, each a member of one role of tq. Roles are the cluster's: named by process."""
    connections: list[Connection] = []
    names = {name: f"tq_test_{name}_{os.getpid()}" for name in MEMBERS}

    def connect(name: str) -> Connection:
        connection = psycopg.connect(url, user=names[name], autocommit=True)
        connections.append(connection)
        return connection

    for name, roles in MEMBERS.items():
        db.execute(f"CREATE ROLE {names[name]} LOGIN")
        for role in roles:
            db.execute(f"GRANT {role} TO {names[name]}")
    yield connect
    for connection in connections:
        connection.close()
    for name in names.values():
        db.execute(f"DROP OWNED BY {name}")
        db.execute(f"DROP ROLE {name}")


def value(connection: Connection, sql: str, *values: Any) -> Any:
    row = connection.execute(sql, values).fetchone()
    assert row is not None
    return row[0]


def denied(connection: Connection, sql: str, *values: Any) -> None:
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        connection.execute(sql, values)


def test_load_work_ask_each_by_its_role(db: Connection, login: As) -> None:
    loader, worker, reader, second = login("loader"), login("worker"), login("reader"), login("second")
    doc = value(loader, "SELECT tq.load_text('policy.md', %s, questions => '{How much notice?}')", TEXT)
    assert value(db, "SELECT owner FROM tq.document") == loader.info.user
    assert value(worker, "SHOW statement_timeout") in ("0", value(db, "SHOW statement_timeout"))
    worker.execute("CALL tq.work(30, TRUE)")
    assert value(loader, "SELECT status::text FROM tq.progress WHERE document = 'policy.md'") == "ready"

    question = (
        "SELECT what, query_id, answer_id FROM tq.ask('policy.md',"
        " 'How much notice does a cancellation of an appointment need?')"
    )
    for asker in (reader, loader):  # a reader, and the owner
        row = asker.execute(question).fetchone()
        assert row is not None
        assert "24 hours" in row[0]
        assert len(asker.execute("SELECT * FROM tq.explain(%s)", [row[1]]).fetchall()) > 2
        assert value(asker, "SELECT bool_and(ok) FROM tq.check(%s)", row[2])
        assert value(asker, "SELECT asked_by FROM tq.query") == asker.info.user
        for table in ("query", "route", "read", "answer", "citation"):
            assert value(asker, f"SELECT count(*) FROM tq.{table}") > 0, table
            # a question is its asker's: nobody else's rows are among them
        assert value(asker, "SELECT count(DISTINCT query_id) FROM tq.answer") == 1
    assert value(db, "SELECT count(DISTINCT query_id) FROM tq.answer") == 2

    # who neither owns it nor may read all sees no document, not even that there is one
    with pytest.raises(psycopg.Error) as caught:
        second.execute("SELECT * FROM tq.outline('policy.md')")
    assert caught.value.sqlstate == "TQ001"
    assert "policy" not in (caught.value.diag.message_hint or "")
    with pytest.raises(psycopg.Error) as caught:
        second.execute("SELECT * FROM tq.outline(%s)", [str(doc)])
    assert caught.value.sqlstate == "TQ001"
    for table in ("document", "possible_query", "line", "term", "node", "bullet", "summary_node", "progress"):
        assert value(second, f"SELECT count(*) FROM tq.{table}") == 0, table
        assert value(loader, f"SELECT count(*) FROM tq.{table}") > 0, table
        assert value(reader, f"SELECT count(*) FROM tq.{table}") > 0, table
    for table in ("query", "route", "read", "answer", "citation", "omission", "model_call"):
        assert value(second, f"SELECT count(*) FROM tq.{table}") == 0, table


def test_a_member_of_nothing_may_do_nothing(login: As) -> None:
    nobody = login("nobody")
    denied(nobody, "SELECT * FROM tq.document")
    denied(nobody, "SELECT * FROM tq.ask(NULL, 'q')")
    denied(nobody, "SELECT tq.load_text('x', 'y')")
    denied(nobody, "CALL tq.work(1)")
    denied(nobody, "SELECT * FROM pgmq.q_tq_model")


def test_reader_writes_nothing(db: Connection, login: As) -> None:
    value(db, "SELECT tq.load_text('x', 'y')")
    reader = login("reader")
    denied(reader, "SELECT tq.load_text('x', 'z')")
    denied(reader, "SELECT tq.remove('x')")
    denied(reader, "SELECT tq_private.store_document('x', '', NULL, '{}', '{}', 1, NULL, '{}', NULL)")
    denied(reader, "SELECT tq_private.change_documents('remove', '{}')")
    denied(reader, "SELECT * FROM tq.blob")
    denied(reader, "CALL tq.work(1)")
    denied(reader, "SELECT tq.schedule()")
    for table in ("document", "line", "node", "bullet", "query", "answer", "strategy", "model", "setting"):
        denied(reader, f"DELETE FROM tq.{table}")
        column = {
            "line": "text",
            "bullet": "text",
            "strategy": "name",
            "model": "name",
            "setting": "name",
        }.get(table, "id")
        denied(reader, f"UPDATE tq.{table} SET {column} = NULL")


def test_loader_changes_what_is_its_own(db: Connection, login: As) -> None:
    loader, second, admin = login("loader"), login("second"), login("admin")
    value(loader, "SELECT tq.load_text('mine', 'y')")
    denied(second, "SELECT tq.load_text('mine', 'z')")
    denied(second, "SELECT tq.load_text('mine', 'y')")
    # what it cannot see does not exist for it
    assert value(second, "SELECT tq.remove('mine')") == 0
    assert value(second, "SELECT tq.cancel('*')") == 0
    denied(loader, "SELECT * FROM tq.blob")
    denied(loader, "INSERT INTO tq.line (document_id, line_no, text) SELECT id, 1, 'forged' FROM tq.document")
    denied(loader, "SELECT pgmq.send('tq_model'::text, '{}'::jsonb)")
    assert value(loader, "SELECT waiting FROM tq.queue WHERE queue = 'tq_convert'") == 1
    assert value(loader, "SELECT tq.cancel('mine')") == 1
    assert value(loader, "SELECT tq.retry('mine')") == 1
    assert value(admin, "SELECT tq.cancel('mine')") == 1
    value(admin, "SELECT tq.load_text('mine', 'by the admin')")
    assert value(db, "SELECT owner FROM tq.document WHERE version = 2") == loader.info.user
    assert value(admin, "SELECT tq.remove('mine')") == 2


def test_a_loader_gains_nothing_past_the_public_functions(db: Connection, login: As) -> None:
    loader = login("loader")
    store = "SELECT tq_private.store_document(%s, %s, %s, %s, %s, %s, NULL, %s, %s)"
    wrong: tuple[object, ...]
    for wrong in (
        (None, b"y", None, [], "{}", 1, [], None),
        ("x", None, None, [], "{}", 1, [], None),
        ("x", b"y", "weird\ntype", [], "{}", 1, [], None),
        ("x", b"y", None, ["t" * 201], "{}", 1, [], None),
        ("x", b"y", None, [], "[]", 1, [], None),
        ("x", b"y", None, [], "{}", None, [], None),
        ("x", b"y", None, [], "{}", 1, ["q"] * 1001, None),
        ("x", b"y", None, [], "{}", 1, [], "columns"),
    ):
        with pytest.raises(psycopg.Error) as caught:
            loader.execute(store, wrong)
        assert caught.value.sqlstate == "TQ021", wrong
    db.execute("UPDATE tq.setting SET value = '3' WHERE name = 'document_max_bytes'")
    with pytest.raises(psycopg.Error) as caught:
        loader.execute(store, ("x", b"long", None, [], "{}", 1, [], None))
    assert caught.value.sqlstate == "TQ012"
    kept = value(loader, store, "x", b"y", None, None, None, 1, None, None)
    value(loader, "SELECT tq_private.change_documents('no such verb', %s)", [kept])
    assert value(db, "SELECT count(*) FROM tq.document") == 1


def test_a_worker_changes_what_ingest_finds_out_and_no_more(db: Connection, login: As) -> None:
    value(db, "SELECT tq.load_text('x', 'y')")
    worker = login("worker")
    for column, new in (
        ("owner", "'me'"),
        ("name", "'other'"),
        ("version", "7"),
        ("tags", "'{x}'"),
        ("metadata", "'{}'"),
    ):
        denied(worker, f"UPDATE tq.document SET {column} = {new}")
    denied(worker, "DELETE FROM tq.document")


def test_reader_of_all_who_loads_too_does_not_change_others(db: Connection, login: As) -> None:
    value(login("loader"), "SELECT tq.load_text('theirs', 'y')")
    second = login("second")
    db.execute(f"GRANT tq_reader TO {second.info.user}")
    assert value(second, "SELECT count(*) FROM tq.document") == 1
    denied(second, "SELECT tq.remove('theirs')")
    value(second, "SELECT tq.load_text('own', 'y')")
    assert value(second, "SELECT tq.remove('*')") == 1
    assert value(db, "SELECT array_agg(name) FROM tq.document") == ["theirs"]


def test_set_role_counts(db: Connection, login: As) -> None:
    loader = login("loader")
    db.execute(f"SET ROLE {loader.info.user}")
    value(db, "SELECT tq.load_text('as loader', 'y')")
    db.execute("RESET ROLE")
    assert value(db, "SELECT owner FROM tq.document") == loader.info.user


def test_admin_configures(login: As) -> None:
    admin = login("admin")
    admin.execute("INSERT INTO tq.strategy (name, top_n) VALUES ('one', 1)")
    admin.execute("UPDATE tq.setting SET value = '3' WHERE name = 'max_attempts'")
    admin.execute("UPDATE tq.model SET concurrency = 4")
    denied(login("reader"), "INSERT INTO tq.strategy (name, top_n) VALUES ('two', 2)")
    for connection in (admin, login("worker")):
        denied(connection, "ALTER TABLE tq.line DISABLE TRIGGER ALL")
        denied(connection, "TRUNCATE tq.line CASCADE")
        denied(connection, "SELECT * FROM tq_private.touched")
    denied(login("worker"), "UPDATE tq.model SET concurrency = 5")


def test_a_search_path_of_the_caller_changes_nothing(db: Connection, login: As) -> None:
    loader = login("loader")
    loader.execute("CREATE TEMP TABLE document (name text, version int, owner name)")
    loader.execute("CREATE FUNCTION pg_temp.may_change(name) RETURNS boolean LANGUAGE sql AS 'SELECT TRUE'")
    loader.execute("SET search_path = pg_temp, tq, pg_catalog")
    value(loader, "SELECT tq.load_text('x', 'y')")
    assert value(db, "SELECT count(*) FROM tq.document") == 1


def test_strategies_are_configured_by_admins_alone(db: Connection, login: As) -> None:
    admin, reader, loader = login("admin"), login("reader"), login("loader")
    admin.execute("INSERT INTO tq.strategy (name, scope) VALUES ('signed', $$'signed' = ANY (tags)$$)")
    assert value(reader, "SELECT value FROM tq.strategy_effective('signed') WHERE setting = 'top_n'") == "5"
    assert (
        value(reader, "SELECT changed_by FROM tq.strategy_version WHERE strategy = 'signed'")
        == admin.info.user
    )
    for connection in (reader, loader, login("worker")):
        denied(connection, "UPDATE tq.strategy SET top_n = 1")
        denied(connection, "DELETE FROM tq.strategy")
    # What a strategy was is changed by nobody.
    for connection in (admin, reader):
        denied(connection, "UPDATE tq.strategy_version SET settings = '{}'")
        denied(connection, "DELETE FROM tq.strategy_version")
        denied(connection, "SELECT tq_private.keep_strategies()")
        denied(connection, "SELECT * FROM tq_private.expression_of('scope', 'true')")


def test_a_scope_shows_nobody_what_he_may_not_see(db: Connection, login: As) -> None:
    loader, second, admin = login("loader"), login("second"), login("admin")
    value(loader, "SELECT tq.load_text('mine', 'The fee is 40 euros.\n')")
    value(second, "SELECT tq.load_text('theirs', 'The fee is 50 euros.\n')")
    login("worker").execute("CALL tq.work(30, TRUE)")
    admin.execute("INSERT INTO tq.strategy (name, scope) VALUES ('all', 'true'), ('his', $$name = 'mine'$$)")
    ask = "SELECT string_agg(DISTINCT document, ',') FROM tq.ask(NULL, 'What is the fee?', %s)"
    assert value(second, ask, "all") == "theirs"
    with pytest.raises(psycopg.Error) as caught:
        second.execute(ask, ["his"])
    assert caught.value.sqlstate == "TQ001"
    assert "1 document " in (caught.value.diag.message_detail or "")


def test_an_answer_is_corrected_and_put_in_order_by_its_asker(db: Connection, login: As) -> None:
    loader, reader, second = login("loader"), login("reader"), login("second")
    value(loader, "SELECT tq.load_text('policy.md', %s)", TEXT)
    login("worker").execute("CALL tq.work(30, TRUE)")
    row = reader.execute(
        "SELECT query_id, answer_id FROM tq.ask('policy.md', 'What is the fee for a missed visit?')"
    ).fetchone()
    assert row is not None
    query, answer = row
    value(reader, "SELECT tq.correct(%s, '50 euros', test => TRUE)", answer)
    assert value(reader, "SELECT detail #>> '{corrections,0,what}' FROM tq.answers(%s)", query) == "50 euros"
    assert "50 euros" in value(reader, "SELECT tq.answer_text(%s)", query)
    assert value(reader, "SELECT count(*) FROM tq.rerank(%s, 'audit')", query) > 0
    for statement in (
        "SELECT tq.correct(%s, 'wrong')",
        "SELECT tq.answer_text(%s)",
        "SELECT * FROM tq.rerank(%s, 'audit')",
    ):
        with pytest.raises(psycopg.Error) as caught:
            second.execute(statement, [answer if "correct" in statement else query])
        assert caught.value.sqlstate == "TQ021"
    assert value(second, "SELECT count(*) FROM tq.correction") == 0
    denied(second, "SELECT * FROM tq.test_query")
    denied(reader, "INSERT INTO tq.correction (answer_id, what, corrected_by) VALUES (%s, 'x', 'y')", answer)
    denied(reader, "UPDATE tq.correction SET what = 'x'")
    denied(reader, "INSERT INTO tq.test_query (question) VALUES ('x')")
    assert value(login("admin"), "SELECT count(*) FROM tq.test_query") == 1
    reader.execute("DELETE FROM tq.correction")
    assert value(db, "SELECT count(*) FROM tq.correction") == 0


def test_possible_queries_are_edited_by_the_documents_owner(db: Connection, login: As) -> None:
    loader, second, reader = login("loader"), login("second"), login("reader")
    doc = value(
        loader, "SELECT tq.load_text('mine', 'The fee is 40 euros.\n', questions => '{What is the fee?}')"
    )
    other = value(second, "SELECT tq.load_text('theirs', 'The fee is 50 euros.\n')")
    login("worker").execute("CALL tq.work(30, TRUE)")
    loader.execute("INSERT INTO tq.possible_query (document_id, question) VALUES (%s, 'Who pays?')", [doc])
    loader.execute("UPDATE tq.possible_query SET question = 'Who pays it?' WHERE ordinal = 2")
    assert value(loader, "SELECT array_agg(question ORDER BY ordinal) FROM tq.possible_query") == [
        "What is the fee?",
        "Who pays it?",
    ]
    insert = "INSERT INTO tq.possible_query (document_id, question) VALUES (%s, 'x')"
    denied(loader, insert, other)
    denied(second, insert, doc)
    denied(reader, insert, doc)
    denied(reader, "SELECT tq.set_questions('mine', '{a}')")
    assert second.execute("DELETE FROM tq.possible_query").rowcount == 0
    db.execute(f"GRANT tq_reader TO {second.info.user}")
    denied(second, "SELECT tq.set_questions('mine', '{a}')")  # who reads all does not write all
    assert value(loader, "SELECT tq.set_questions('mine', '{a,b,c}')") == 3
    assert value(login("admin"), "SELECT tq.set_questions('mine', '{a}')") == 1


TRAPS = """
    CREATE SCHEMA trap;
    CREATE TABLE trap.sprung (name text);
    CREATE FUNCTION trap.spring(name text) RETURNS void LANGUAGE sql AS 'INSERT INTO trap.sprung VALUES ($1)';
    CREATE FUNCTION trap.clock_timestamp() RETURNS timestamptz LANGUAGE plpgsql AS
        $$ BEGIN PERFORM trap.spring('clock_timestamp'); RETURN pg_catalog.clock_timestamp(); END $$;
    CREATE FUNCTION trap.now() RETURNS timestamptz LANGUAGE plpgsql AS
        $$ BEGIN PERFORM trap.spring('now'); RETURN pg_catalog.now(); END $$;
    CREATE FUNCTION trap.unnest(anyarray) RETURNS SETOF anyelement LANGUAGE plpgsql AS
        $$ BEGIN PERFORM trap.spring('unnest'); RETURN QUERY SELECT * FROM pg_catalog.unnest($1); END $$;
    CREATE FUNCTION trap.current_setting(text) RETURNS text LANGUAGE plpgsql AS
        $$ BEGIN PERFORM trap.spring('current_setting'); RETURN pg_catalog.current_setting($1); END $$;
    CREATE FUNCTION trap.to_regclass(text) RETURNS regclass LANGUAGE plpgsql AS
        $$ BEGIN PERFORM trap.spring('to_regclass'); RETURN pg_catalog.to_regclass($1); END $$;
    CREATE FUNCTION trap.same(text, text) RETURNS boolean LANGUAGE plpgsql AS
        $$ BEGIN PERFORM trap.spring('='); RETURN $1 OPERATOR(pg_catalog.=) $2; END $$;
    CREATE OPERATOR trap.= (FUNCTION = trap.same, LEFTARG = text, RIGHTARG = text);
"""


def test_functions_of_others_are_never_called(
    db: Connection, url: str, tq_command: list[str], tmp_path: Path
) -> None:
    """What somebody made in a schema of the path, to be run by a worker, a command or a migration with its rights."""
    db.execute(TRAPS)
    db.execute(f'ALTER DATABASE "{db.info.dbname}" SET search_path = trap, pg_catalog')
    with psycopg.connect(url, autocommit=True) as connection:
        value(connection, "SELECT tq.load_text('x.md', %s)", TEXT)
        connection.execute("CALL tq.work(30, TRUE)")
        assert value(connection, "SELECT status::text FROM tq.document") == "ready"
        assert value(connection, "SHOW search_path") == "trap, pg_catalog"
        value(connection, "SELECT tq.load_text('y.md', %s)", TEXT)
        connection.execute("SELECT * FROM tq.ask('x.md', 'How much is the fee?')").fetchall()
    file = tmp_path / "z.md"
    file.write_text(TEXT, encoding="utf-8")
    for arguments in (
        ["worker", "--until-empty"],
        ["load", str(file)],
        ["ask", "*", "How much is the fee for a missed visit?", "--explain"],
        ["status"],
        ["doctor"],
        ["migrate"],
    ):
        environment = os.environ | {"TQ_URL": url}
        done = subprocess.run(
            [*tq_command, *arguments], env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0 or arguments == ["doctor"], done.stderr
        assert db.execute("SELECT DISTINCT name FROM trap.sprung").fetchall() == [], arguments
