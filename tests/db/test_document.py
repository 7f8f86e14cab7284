"""A document argument, loading, removing, outline and lines: what comes back, and what is refused how."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import psycopg
import pytest

if TYPE_CHECKING:
    from db.conftest import Tree

Connection = psycopg.Connection[Any]


def value(db: Connection, sql: str, *values: Any) -> Any:
    row = db.execute(sql, values).fetchone()
    assert row is not None
    return row[0]


def refused(db: Connection, sqlstate: str, sql: str, *values: Any) -> psycopg.errors.Diagnostic:
    """The error of a statement, which must be clear: a message in lower case, a detail and a hint."""
    with pytest.raises(psycopg.Error) as caught:
        db.execute(sql, values)
    diag = caught.value.diag
    assert caught.value.sqlstate == sqlstate, diag.message_primary
    assert diag.message_primary
    assert diag.message_primary[0].islower()
    assert not diag.message_primary.endswith(".")
    assert diag.message_detail
    assert diag.message_hint
    assert len(diag.message_detail) < 1000
    return diag


# ---------------------------------------------------------------- which document is meant

OUTLINE = "SELECT count(*) FROM tq.outline(%s)"


def test_name_version_uuid_and_glob(db: Connection, tree: Tree, make: Callable[[str], Tree]) -> None:
    make("handbook.md")
    for doc in ("policy.md", "policy.md@1", str(tree.doc), str(tree.doc).upper(), "pol*", "*cy*"):
        assert value(db, OUTLINE, doc) == 13, doc


def test_exact_name_wins(db: Connection, tree: Tree, make: Callable[[str], Tree]) -> None:
    for name in ("pol*", "policy.md@1", str(tree.doc)):
        other = make(name)
        assert value(db, "SELECT count(*) FROM tq.outline(%s) WHERE node_id = %s", name, other.root) == 1


ODD_NAMES = [
    "a \"quoted\" 'name'",
    "two\nlines\tand\\backslash",
    "100%_sure",
    "x" * 500,
    " ",
    "Ärztehaus 東京 🙂",
]


def test_odd_names_work_everywhere(db: Connection, make: Callable[[str], Tree]) -> None:
    for name in ODD_NAMES:
        odd_name(db, make(name), name)


def odd_name(db: Connection, tree: Tree, name: str) -> None:
    assert value(db, OUTLINE, name) == 13
    assert value(db, OUTLINE, name + "@1") == 13
    assert value(db, "SELECT text FROM tq.lines(%s, 7, 7)", name) == "line 7"
    assert value(db, "SELECT document FROM tq.progress WHERE document_id = %s", tree.doc) == name
    assert value(db, "SELECT tq.remove(%s)", name) == 1


def test_not_found_says_near_names(db: Connection, tree: Tree) -> None:
    diag = refused(db, "TQ001", OUTLINE, "polcy.md")
    assert diag.message_primary == "document not found"
    assert '"policy.md"' in (diag.message_hint or "")
    assert "polcy" in (diag.message_detail or "")
    diag = refused(db, "TQ001", OUTLINE, "policy.md@7")
    assert "1" in (diag.message_hint or "")
    for doc in (
        "",
        "nothing like it",
        "zzz*",
        str(uuid.uuid4()),
        "x" * 10_000,
        "%",
        "policy_md",
        "p\nq",
        "*" * 10_000 + "x",
    ):
        refused(db, "TQ001", OUTLINE, doc)


def test_null_is_refused(db: Connection) -> None:
    refused(db, "TQ021", OUTLINE, None)
    for verb in ("retry", "cancel", "remove"):
        refused(db, "TQ021", f"SELECT tq.{verb}(%s)", None)


def test_ambiguous_names_them(db: Connection, tree: Tree, make: Callable[[str], Tree]) -> None:
    make("policy-2.md")
    diag = refused(db, "TQ003", OUTLINE, "pol*")
    assert '"policy-2.md", "policy.md"' in (diag.message_detail or "")


def test_not_ready_says_how_far(db: Connection) -> None:
    doc = value(db, "SELECT tq.load_text('new.txt', 'one')")
    diag = refused(db, "TQ002", OUTLINE, "new.txt")
    assert "pending" in (diag.message_detail or "")
    db.execute(
        "INSERT INTO tq.line (document_id, line_no, text) SELECT %s, n, 'x' FROM generate_series(1, 6) AS n",
        [doc],
    )
    db.execute("UPDATE tq.document SET status = 'converting' WHERE id = %s", [doc])
    assert "6 lines" in (refused(db, "TQ002", OUTLINE, "new.txt").message_detail or "")
    db.execute("UPDATE tq.document SET status = 'marking', line_count = 6 WHERE id = %s", [doc])
    db.execute(
        "INSERT INTO tq.provisional_window (document_id, ordinal, line_start, line_end, marked)"
        " VALUES (%(d)s, 1, 1, 3, TRUE), (%(d)s, 2, 4, 6, FALSE)",
        {"d": doc},
    )
    assert "1 of 2 windows" in (refused(db, "TQ002", OUTLINE, "new*").message_detail or "")
    row = db.execute("SELECT status::text, step, done, total FROM tq.progress").fetchone()
    assert row == ("marking", "mark", 1, 2)
    db.execute(
        "UPDATE tq.document SET status = 'failed', sqlstate = 'TQ011', error = 'malformed', failed_step = 'mark'"
        " WHERE id = %s",
        [doc],
    )
    diag = refused(db, "TQ002", "SELECT * FROM tq.lines(%s, 1, 2)", "new.txt")
    assert "TQ011" in (diag.message_detail or "")
    assert "tq.retry" in (diag.message_hint or "")


def test_older_version_answers_until_the_new_one_is_ready(db: Connection, tree: Tree) -> None:
    value(db, "SELECT tq.load_text('policy.md', 'new bytes')")
    assert value(db, OUTLINE, "policy.md") == 13
    diag = refused(db, "TQ002", OUTLINE, "policy.md@2")
    assert "version 2" in (diag.message_detail or "")


def test_scope_lists_ready_and_skipped(db: Connection, tree: Tree, make: Callable[[str], Tree]) -> None:
    make("b.md")
    value(db, "SELECT tq.load_text('waiting.md', 'x')")
    value(db, "SELECT tq.load_text('policy.md', 'new bytes')")
    rows = db.execute(
        "SELECT name, version, ready, matched FROM tq_private.resolve_documents(NULL)"
    ).fetchall()
    assert rows == [("b.md", 1, True, 2), ("policy.md", 1, True, 2), ("waiting.md", 1, False, None)]
    rows = db.execute(
        "SELECT name, matched FROM tq_private.resolve_documents('*.md', TRUE, 1) WHERE ready"
    ).fetchall()
    assert rows == [("b.md", 2)]
    # a glob that means nothing but what is not ready is no empty scope
    refused(db, "TQ002", "SELECT * FROM tq_private.resolve_documents('wait*')")


# ---------------------------------------------------------------- outline and lines


def test_outline_is_the_tree_in_order(db: Connection, tree: Tree) -> None:
    rows = db.execute(
        "SELECT depth, node_id, target_node_id, is_leaf, summary FROM tq.outline('policy.md')"
    ).fetchall()
    assert [row[1] for row in rows] == [
        tree.root,
        tree.left,
        *tree.leaves[:4],
        tree.right,
        *tree.leaves[4:],
    ]
    assert rows[0] == (0, tree.root, None, False, "- fact")
    assert rows[2] == (2, tree.leaves[0], tree.left, True, "- fact")


def test_summary_node_has_the_columns_of_the_seed(db: Connection, tree: Tree) -> None:
    db.execute("INSERT INTO tq.bullet VALUES (%s, %s, 2, 'second', 2, 2)", [tree.doc, tree.root])
    cursor = db.execute(
        "SELECT * FROM tq.summary_node WHERE document_id = %s AND id = %s", [tree.doc, tree.root]
    )
    assert [c.name for c in cursor.description or ()] == [
        "document_id",
        "id",
        "target_node_id",
        "depth",
        "is_leaf",
        "line_start",
        "line_end",
        "summary",
    ]
    assert cursor.fetchall() == [(tree.doc, tree.root, None, 0, False, 1, 100, "- fact\n- second")]


def test_lines_are_clipped(db: Connection, tree: Tree) -> None:
    for first, last, numbers in (
        (3, 5, [3, 4, 5]),
        (-5, 2, [1, 2]),
        (99, 4000, [99, 100]),
        (5, 3, []),
        (200, 300, []),
        (None, 2, [1, 2]),
        (99, None, [99, 100]),
        (-(2**31), 2**31 - 1, list(range(1, 101))),
    ):
        rows = db.execute(
            "SELECT line_no FROM tq.lines('policy.md', %s::int, %s::int)", [first, last]
        ).fetchall()
        assert [row[0] for row in rows] == numbers


# ---------------------------------------------------------------- loading


def messages(db: Connection, queue: str = "tq_convert") -> int:
    found = value(db, f"SELECT count(*) FROM pgmq.q_{queue}")
    assert isinstance(found, int)
    return found


def test_same_bytes_are_the_same_document(db: Connection) -> None:
    first = value(db, "SELECT tq.load('a.txt', 'one'::bytea)")
    assert value(db, "SELECT tq.load('a.txt', 'one'::bytea)") == first
    assert messages(db) == 1
    assert value(db, "SELECT message FROM pgmq.q_tq_convert") == {"document_id": str(first)}
    second = value(db, "SELECT tq.load('a.txt', 'two'::bytea)")
    assert second != first
    other = value(db, "SELECT tq.load('b.txt', 'one'::bytea)")
    rows = db.execute("SELECT id, name, version FROM tq.document ORDER BY name, version").fetchall()
    assert rows == [(first, "a.txt", 1), (second, "a.txt", 2), (other, "b.txt", 1)]
    assert value(db, "SELECT count(*) FROM tq.blob") == 2
    # back to what it was before is a version too
    assert value(db, "SELECT tq.load('a.txt', 'one'::bytea)") not in (first, second)


def test_everything_given_is_kept(db: Connection) -> None:
    doc = value(
        db,
        "SELECT tq.load(name => 'p.pdf', content => 'x', media_type => 'application/pdf', tags => '{a,b}',"
        " metadata => '{\"k\": 1}', source_weight => 2.5, effective_on => '2024-05-01', questions => '{How?,Why?}')",
    )
    row = db.execute(
        "SELECT media_type, tags, metadata, source_weight, effective_on::text, owner, status::text FROM tq.document"
    ).fetchone()
    assert row == ("application/pdf", ["a", "b"], {"k": 1}, 2.5, "2024-05-01", "tq", "pending")
    questions = "SELECT array_agg(question ORDER BY ordinal) FROM tq.possible_query WHERE document_id = %s"
    assert value(db, questions, doc) == ["How?", "Why?"]
    # loaded again with nothing but the bytes, nothing is lost; what is new is taken
    assert value(db, "SELECT tq.load('p.pdf', 'x')") == doc
    assert value(db, questions, doc) == ["How?", "Why?"]
    assert value(db, "SELECT tq.load('p.pdf', 'x', tags => '{c}', questions => '{When?}')") == doc
    assert value(db, questions, doc) == ["When?"]
    assert db.execute("SELECT tags, metadata, source_weight FROM tq.document").fetchone() == (
        ["c"],
        {"k": 1},
        2.5,
    )


def test_a_failed_document_loaded_again_is_tried_again(db: Connection) -> None:
    doc = value(db, "SELECT tq.load('a.bin', 'x')")
    db.execute("DELETE FROM pgmq.q_tq_convert")
    db.execute(
        "UPDATE tq.document SET status = 'failed', sqlstate = 'TQ010', error = 'unknown', finished_at = now()"
    )
    assert value(db, "SELECT tq.load('a.bin', 'x', media_type => 'text/plain')") == doc
    row = db.execute("SELECT status::text, media_type, sqlstate, error FROM tq.document").fetchone()
    assert row == ("pending", "text/plain", None, None)
    assert value(db, "SELECT message ->> 'document_id' FROM pgmq.q_tq_convert") == str(doc)


def test_text_is_text(db: Connection) -> None:
    value(db, "SELECT tq.load_text('notes.md', '# Title')")
    value(db, "SELECT tq.load_text('notes', '%%PDF-1.7')")
    value(db, "SELECT tq.load_text('notes.csv', 'a,b', 'text/csv')")
    rows = db.execute("SELECT name, media_type FROM tq.document ORDER BY name").fetchall()
    assert rows == [("notes", "text/plain"), ("notes.csv", "text/csv"), ("notes.md", "text/markdown")]
    assert bytes(
        value(
            db, "SELECT content FROM tq.blob AS b JOIN tq.document AS d USING (sha256) WHERE name = 'notes'"
        )
    ) == (b"%PDF-1.7")


BAD_CALLS = [
    ("NULL, 'x'", "name"),
    ("'', 'x'", "name"),
    ("repeat('n', 501), 'x'", "name"),
    ("repeat('n', 10000), 'x'", "name"),
    ("'n', NULL", "content"),
    ("'n', 'x', 'pdf'", "media_type"),
    ("'n', 'x', E'text/plain\\nx'", "media_type"),
    ("'n', 'x', tags => '{a,NULL}'", "tags"),
    ("'n', 'x', tags => ARRAY['']", "tags"),
    ("'n', 'x', metadata => '[1]'", "metadata"),
    ("'n', 'x', source_weight => -1", "source_weight"),
    ("'n', 'x', source_weight => 'NaN'", "source_weight"),
    ("'n', 'x', source_weight => 'Infinity'", "source_weight"),
    ("'n', 'x', source_weight => NULL", "source_weight"),
    ("'n', 'x', questions => '{ok,NULL}'", "questions"),
    ("'n', 'x', questions => ARRAY['  ']", "questions"),
    ("'n', 'x', questions => ARRAY[repeat('q', 1001)]", "questions"),
    ("'n', 'x', questions => array_fill('q'::text, ARRAY[1001])", "questions"),
]


def test_bad_arguments_of_load(db: Connection) -> None:
    for call, argument in BAD_CALLS:
        for function in ("load", "load_text"):
            diag = refused(db, "TQ021", f"SELECT tq.{function}({call})")
            assert argument in (diag.message_primary or "")
    assert value(db, "SELECT count(*) FROM tq.document") == 0
    assert messages(db) == 0


def test_null_lists_are_empty_lists(db: Connection) -> None:
    value(db, "SELECT tq.load('n', 'x', tags => NULL, metadata => NULL, questions => NULL)")
    assert db.execute("SELECT tags, metadata FROM tq.document").fetchone() == ([], {})


def test_too_large(db: Connection) -> None:
    db.execute("UPDATE tq.setting SET value = '10' WHERE name = 'document_max_bytes'")
    value(db, "SELECT tq.load('n', '0123456789')")
    diag = refused(db, "TQ012", "SELECT tq.load('n', '0123456789a')")
    assert "11 bytes" in (diag.message_detail or "")


def test_load_is_undone_with_its_transaction(db: Connection) -> None:
    with db.transaction(force_rollback=True):
        value(db, "SELECT tq.load('n', 'x')")
    assert (value(db, "SELECT count(*) FROM tq.document"), messages(db)) == (0, 0)


@pytest.mark.parametrize("level", ["READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"])
def test_two_sessions_load_the_same(db: Connection, url: str, level: str) -> None:
    with psycopg.connect(url) as one, psycopg.connect(url) as two:
        for connection in (one, two):
            connection.execute(f"SET TRANSACTION ISOLATION LEVEL {level}")
            connection.execute("SELECT count(*) FROM tq.document")
        first = value(one, "SELECT tq.load('n', 'x')")
        outcome: list[Any] = []

        def other() -> None:
            try:
                outcome.append(value(two, "SELECT tq.load('n', 'x')"))
                two.commit()
            except psycopg.Error as error:
                two.rollback()
                outcome.append(error.sqlstate)

        thread = threading.Thread(target=other)
        thread.start()
        time.sleep(0.2)
        assert outcome == []  # it waits its turn
        one.commit()
        thread.join(10)
    # with a snapshot of its own it cannot see the first, and may run again
    assert outcome == ([first] if level == "READ COMMITTED" else ["40001"])
    assert (value(db, "SELECT count(*) FROM tq.document"), messages(db)) == (1, 1)


def test_bytes_being_removed_while_they_are_loaded(db: Connection, url: str) -> None:
    value(db, "SELECT tq.load('old', 'same bytes')")
    with psycopg.connect(url) as one, psycopg.connect(url, autocommit=True) as two:
        value(one, "SELECT tq.remove('old')")
        thread = threading.Thread(target=lambda: value(two, "SELECT tq.load('new', 'same bytes')"))
        thread.start()
        time.sleep(0.2)
        one.commit()
        thread.join(10)
        assert not thread.is_alive()
    assert db.execute(
        "SELECT name, b.content FROM tq.document JOIN tq.blob AS b USING (sha256)"
    ).fetchall() == [("new", b"same bytes")]
    with psycopg.connect(url) as one:
        value(one, "SELECT tq.load('third', 'same bytes')")
        value(db, "SELECT tq.remove('new')")  # does not wait, and leaves the bytes
        one.commit()
    assert value(db, "SELECT count(*) FROM tq.blob") == 1


# ---------------------------------------------------------------- retry, cancel, remove


def test_none_is_zero(db: Connection, tree: Tree) -> None:
    for verb in ("retry", "cancel", "remove"):
        for doc in ("nothing", "nothing@2", str(uuid.uuid4()), "zzz*", "", "x" * 10_000):
            assert value(db, f"SELECT tq.{verb}(%s)", doc) == 0
    assert value(db, "SELECT tq.retry('policy.md')") == 0  # it is ready
    assert value(db, "SELECT tq.cancel('policy.md')") == 0


def test_remove_takes_all_with_it(db: Connection, tree: Tree, make: Callable[[str], Tree]) -> None:
    other = make("other.md")
    value(db, "SELECT tq.load_text('policy.md', 'version 2')")
    assert value(db, "SELECT tq.remove('policy.md')") == 2
    tables = db.execute(
        "SELECT table_name FROM information_schema.columns WHERE table_schema = 'tq' AND column_name = 'document_id'"
        " AND table_name IN (SELECT tablename FROM pg_tables WHERE schemaname = 'tq')"
    ).fetchall()
    assert len(tables) > 8
    for (table,) in tables:
        assert value(db, f"SELECT count(*) FROM tq.{table} WHERE document_id <> %s", other.doc) == 0, table
    assert value(db, "SELECT count(*) FROM tq.blob") == 1
    assert value(db, "SELECT array_agg(message ->> 'document_id') FROM pgmq.q_tq_convert") == [str(other.doc)]


def test_remove_of_one_version_brings_the_one_before_back(db: Connection, tree: Tree) -> None:
    doc = value(db, "SELECT tq.load_text('policy.md', 'line')")
    with db.transaction():
        db.execute("UPDATE tq.document SET current = FALSE WHERE id = %s", [tree.doc])
        db.execute("INSERT INTO tq.line (document_id, line_no, text) VALUES (%s, 1, 'line')", [doc])
        db.execute(
            "INSERT INTO tq.node (document_id, depth, is_leaf, line_start, line_end) VALUES (%s, 0, TRUE, 1, 1)",
            [doc],
        )
        db.execute(
            "UPDATE tq.document SET line_count = 1, status = 'ready', current = TRUE WHERE id = %s", [doc]
        )
    assert value(db, OUTLINE, "policy.md") == 1
    assert value(db, "SELECT tq.remove('policy.md@2')") == 1
    assert value(db, OUTLINE, "policy.md") == 13


def test_cancel_and_retry(db: Connection) -> None:
    value(db, "SELECT tq.load_text('a.txt', 'x')")
    assert value(db, "SELECT tq.cancel('a*')") == 1
    assert messages(db) == 0
    row = db.execute("SELECT status::text, sqlstate, error, step FROM tq.progress").fetchone()
    assert row == ("failed", "57014", "cancelled", "convert")
    assert value(db, "SELECT tq.cancel('a.txt')") == 0
    assert value(db, "SELECT tq.retry('a.txt')") == 1
    assert messages(db) == 1
    assert db.execute("SELECT status::text, sqlstate, error FROM tq.progress").fetchone() == (
        "pending",
        None,
        None,
    )


def test_queue_counts(db: Connection) -> None:
    value(db, "SELECT tq.load_text('a.txt', 'x')")
    value(db, "SELECT tq.load_text('b.txt', 'x')")
    db.execute("SELECT pgmq.read('tq_convert'::text, 30, 1)")
    db.execute("""SELECT pgmq.send('tq_dead'::text, '{"queue": "tq_model"}'::jsonb)""")
    rows = db.execute(
        "SELECT queue, waiting, in_flight, oldest IS NOT NULL, dead FROM tq.queue ORDER BY 1"
    ).fetchall()
    assert rows == [
        ("tq_ask", 0, 0, False, 0),
        ("tq_convert", 1, 1, True, 0),
        ("tq_model", 0, 0, False, 1),
    ]
