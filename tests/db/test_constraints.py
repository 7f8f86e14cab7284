"""The database refuses a wrong tree: each attack by a superuser, with the constraint and SQLSTATE it meets."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from psycopg import errors

if TYPE_CHECKING:
    from db.conftest import Tree

Connection = psycopg.Connection[Any]

NODE = "INSERT INTO tq.node (document_id, id, target_node_id, depth, is_leaf, line_start, line_end) VALUES "
BULLET = "INSERT INTO tq.bullet (document_id, node_id, ordinal, text, line_start, line_end) VALUES "
ANSWER = """
    WITH q AS (INSERT INTO tq.query (question, strategy, model, asked_by, elapsed_ms)
               VALUES ('q', 'default', 'extractive', 'tq', 1) RETURNING id),
    a AS (INSERT INTO tq.answer (query_id, rank, shown, what, why, how, method, certainty, disagreement, specialist,
                                 detail)
          SELECT id, 1, TRUE, 'w', 'w', 'h', 'lookup', 'settled', FALSE, FALSE, '{}' FROM q RETURNING id)
    INSERT INTO tq.citation (document_id, answer_id, ordinal, line_start, line_end, quote, source)
    SELECT %(doc)s, a.id, 1, 100, 101, 'x', 'line' FROM a
"""

# name: (statements of one transaction, SQLSTATE, constraint)
ATTACKS: dict[str, tuple[list[str], str, str]] = {
    "overlapping leaves": (
        [
            "UPDATE tq.node SET line_end = 11 WHERE id = %(leaf1)s",
        ],
        "23P01",
        "node_leaves_excl",
    ),
    "overlapping leaves, one of them new": (
        [NODE + "(%(doc)s, gen_random_uuid(), %(left)s, 2, TRUE, 5, 6)"],
        "23P01",
        "node_leaves_excl",
    ),
    "gap between leaves": (
        [
            "DELETE FROM tq.bullet WHERE node_id = %(leaf2)s",
            "UPDATE tq.node SET line_start = 12 WHERE id = %(leaf2)s",
        ],
        "23514",
        "node_leaves_cover",
    ),
    "gap where a leaf was": (
        ["DELETE FROM tq.node WHERE id = %(leaf2)s"],
        "23514",
        "node_leaves_cover",
    ),
    "leaves stop short of the last line": (
        [
            "UPDATE tq.node SET line_end = 99 WHERE document_id = %(doc)s AND line_end = 100",
        ],
        "23514",
        "node_leaves_cover",
    ),
    "leaves go past the last line": (
        ["UPDATE tq.node SET line_end = 101 WHERE document_id = %(doc)s AND line_end = 100"],
        "23514",
        "node_leaves_cover",
    ),
    "a line more than the leaves know": (
        [
            "INSERT INTO tq.line (document_id, line_no, text) VALUES (%(doc)s, 101, 'new')",
            "UPDATE tq.document SET line_count = 101 WHERE id = %(doc)s",
        ],
        "23514",
        "node_leaves_cover",
    ),
    "overlapping siblings": (
        ["UPDATE tq.node SET line_end = 50 WHERE id = %(left)s"],
        "23P01",
        "node_siblings_excl",
    ),
    "child outside its parent": (
        ["UPDATE tq.node SET target_node_id = %(right)s WHERE id = %(leaf1)s"],
        "23514",
        "node_children_tile_parent",
    ),
    "parent narrower than its children": (
        [
            "UPDATE tq.node SET line_start = 50 WHERE id = %(right)s",
            "DELETE FROM tq.bullet WHERE node_id = %(right)s",
        ],
        "23514",
        "node_children_tile_parent",
    ),
    "parent wider than its children": (
        [
            "UPDATE tq.node SET line_start = 31 WHERE id = %(right)s",
            "UPDATE tq.node SET target_node_id = %(leaf2)s WHERE id = %(left)s",
        ],
        "23514",
        "node_children_tile_parent",
    ),
    "a leaf with a child": (
        ["UPDATE tq.node SET target_node_id = %(leaf1)s WHERE id = %(leaf2)s"],
        "23514",
        "node_children_tile_parent",
    ),
    "an inner node without children": (
        [NODE + "(%(doc)s, gen_random_uuid(), %(leaf1)s, 3, FALSE, 1, 10)"],
        "23514",
        "node_children_tile_parent",
    ),
    "a wrong depth": (
        ["UPDATE tq.node SET depth = 7 WHERE id = %(leaf1)s"],
        "23514",
        "node_children_tile_parent",
    ),
    "a circle": (
        ["UPDATE tq.node SET target_node_id = %(left)s WHERE id = %(root)s"],
        "23P01",
        "node_siblings_excl",
    ),
    "second root": (
        ["UPDATE tq.node SET target_node_id = NULL, depth = 0 WHERE id = %(left)s"],
        "23514",
        "node_one_root",
    ),
    "second root, new": (
        [NODE + "(%(doc)s, gen_random_uuid(), NULL, 0, FALSE, 1, 100)"],
        "23514",
        "node_one_root",
    ),
    "no tree at all": (
        ["DELETE FROM tq.node WHERE document_id = %(doc)s"],
        "23514",
        "node_one_root",
    ),
    "a parent of another document": (
        ["UPDATE tq.node SET target_node_id = gen_random_uuid() WHERE id = %(leaf1)s"],
        "23503",
        "node_parent_fkey",
    ),
    "line number missing": (
        [
            "UPDATE tq.node SET kind = 'text'",
            "DELETE FROM tq.line WHERE document_id = %(doc)s AND line_no = 50",
        ],
        "23514",
        "line_numbers_gapless",
    ),
    "line number changed": (
        ["UPDATE tq.line SET line_no = 102 WHERE document_id = %(doc)s AND line_no = 50"],
        "23514",
        "line_numbers_gapless",
    ),
    "line number skipped": (
        ["INSERT INTO tq.line (document_id, line_no, text) VALUES (%(doc)s, 102, 'x')"],
        "23514",
        "line_numbers_gapless",
    ),
    "first line missing": (
        [
            "DELETE FROM tq.bullet WHERE document_id = %(doc)s",
            "DELETE FROM tq.line WHERE document_id = %(doc)s AND line_no = 1",
        ],
        "23514",
        "line_numbers_gapless",
    ),
    "line_count wrong": (
        ["UPDATE tq.document SET line_count = 99 WHERE id = %(doc)s"],
        "23514",
        "document_line_count_true",
    ),
    "a line more than line_count": (
        ["INSERT INTO tq.line (document_id, line_no, text) VALUES (%(doc)s, 101, 'x')"],
        "23514",
        "document_line_count_true",
    ),
    "a line number twice": (
        ["INSERT INTO tq.line (document_id, line_no, text) VALUES (%(doc)s, 100, 'x')"],
        "23505",
        "line_pkey",
    ),
    "boundary outside its own window": (
        [
            "INSERT INTO tq.boundary (document_id, line_no, window_ordinal, window_start, window_end)"
            " VALUES (%(doc)s, 26, 1, 1, 25)"
        ],
        "23514",
        "boundary_inside_window_check",
    ),
    "boundary that lies about its window": (
        [
            "INSERT INTO tq.boundary (document_id, line_no, window_ordinal, window_start, window_end)"
            " VALUES (%(doc)s, 26, 1, 1, 30)"
        ],
        "23503",
        "boundary_window_fkey",
    ),
    "overlapping windows": (
        ["UPDATE tq.provisional_window SET line_end = 30 WHERE document_id = %(doc)s AND ordinal = 1"],
        "23514",
        "provisional_windows_cover",
    ),
    "gap between windows": (
        ["DELETE FROM tq.provisional_window WHERE document_id = %(doc)s AND ordinal = 2"],
        "23514",
        "provisional_windows_cover",
    ),
    "windows stop short": (
        ["DELETE FROM tq.provisional_window WHERE document_id = %(doc)s AND ordinal = 4"],
        "23514",
        "provisional_windows_cover",
    ),
    "citation of a line that does not exist": ([ANSWER], "23503", "citation_line_fkey"),
    "bullet of a line that does not exist": (
        # The node is stretched too, so that nothing but the line is missing.
        [
            "SET CONSTRAINTS tq.bullet_line_fkey IMMEDIATE",
            "UPDATE tq.node SET line_end = 101 WHERE document_id = %(doc)s AND line_end = 100",
            BULLET + "(%(doc)s, %(root)s, 2, 'x', 101, 101)",
        ],
        "23503",
        "bullet_line_fkey",
    ),
    "bullet outside its node": (
        [BULLET + "(%(doc)s, %(leaf1)s, 2, 'x', 10, 11)"],
        "23514",
        "bullet_inside_node",
    ),
    "bullet moved outside its node": (
        ["UPDATE tq.bullet SET line_start = 11, line_end = 11 WHERE node_id = %(leaf1)s"],
        "23514",
        "bullet_inside_node",
    ),
    "node moved off its bullets": (
        # Leaves 1 and 2 trade their ranges; their bullets stay behind.
        [
            "UPDATE tq.node SET line_start = CASE id WHEN %(leaf1)s THEN 11 ELSE 1 END,"
            " line_end = CASE id WHEN %(leaf1)s THEN 20 ELSE 10 END WHERE id IN (%(leaf1)s, %(leaf2)s)"
        ],
        "23514",
        "bullet_inside_node",
    ),
    "bullet of no node": (
        [BULLET + "(%(doc)s, gen_random_uuid(), 1, 'x', 1, 1)"],
        "23503",
        "bullet_node_fkey",
    ),
    "a name twice": (
        [
            "INSERT INTO tq.document (name, version, sha256) SELECT name, version, sha256 FROM tq.document"
            " WHERE id = %(doc)s"
        ],
        "23505",
        "document_name_version_key",
    ),
    "two current versions": (
        [
            "INSERT INTO tq.document (name, version, sha256, status, current)"
            " SELECT name, 2, sha256, 'ready', TRUE FROM tq.document WHERE id = %(doc)s"
        ],
        "23505",
        "document_current_key",
    ),
    "a ready document without lines": (
        [
            "INSERT INTO tq.document (name, version, sha256, status)"
            " SELECT name, 2, sha256, 'ready' FROM tq.document WHERE id = %(doc)s"
        ],
        "23514",
        "node_one_root",
    ),
    "bytes that are not their digest": (
        ["INSERT INTO tq.blob (sha256, content) VALUES (sha256('a'), 'b')"],
        "23514",
        "blob_sha256_check",
    ),
}


def names(tree: Tree) -> dict[str, uuid.UUID]:
    return {
        "doc": tree.doc,
        "root": tree.root,
        "left": tree.left,
        "right": tree.right,
        "leaf1": tree.leaves[0],
        "leaf2": tree.leaves[1],
    }


def transact(db: Connection, statements: list[str], tree: Tree) -> None:
    with db.transaction():
        for statement in statements:
            db.execute(statement, names(tree))


def state(db: Connection, doc: uuid.UUID) -> Any:
    return db.execute(
        "SELECT (SELECT count(*) FROM tq.line WHERE document_id = %(d)s), (SELECT array_agg(n ORDER BY n.id)::text"
        " FROM tq.node AS n WHERE n.document_id = %(d)s), (SELECT count(*) FROM tq.bullet WHERE document_id = %(d)s)",
        {"d": doc},
    ).fetchone()


@pytest.mark.parametrize("replica", [False, True], ids=["origin", "replica"])
def test_every_attack_is_refused(db: Connection, tree: Tree, replica: bool) -> None:
    # One database for all of them: what is refused leaves no trace, so the next meets the same document.
    before = state(db, tree.doc)
    role = db.execute("SELECT rolsuper FROM pg_roles WHERE rolname = current_user").fetchone()
    assert role == (True,)
    missed = []
    for attack, (statements, sqlstate, constraint) in ATTACKS.items():
        try:
            with db.transaction():
                if replica:
                    db.execute("SET LOCAL session_replication_role = replica")
                for statement in statements:
                    db.execute(statement, names(tree))
            missed.append(f"{attack}: not refused")
        except psycopg.Error as error:
            if (error.sqlstate, error.diag.constraint_name) != (sqlstate, constraint):
                missed.append(
                    f"{attack}: {error.sqlstate} {error.diag.constraint_name}, expected {sqlstate} {constraint}"
                )
    assert missed == []
    assert state(db, tree.doc) == before
    assert db.execute("SELECT count(*) FROM tq_private.touched").fetchone() == (0,)


@pytest.mark.parametrize("table", ["line", "node", "document", "provisional_window"])
@pytest.mark.parametrize("role", ["origin", "replica"])
def test_truncate_is_refused(db: Connection, tree: Tree, table: str, role: str) -> None:
    db.execute(f"SET session_replication_role = {role}")
    with pytest.raises(errors.ObjectNotInPrerequisiteState, match="cannot be truncated"):
        db.execute(f"TRUNCATE tq.{table} CASCADE")


@pytest.mark.parametrize("replica", [False, True], ids=["origin", "replica"])
@pytest.mark.parametrize(
    "by_hand",
    [
        "DELETE FROM tq_private.touched",
        "UPDATE tq_private.touched SET lines = FALSE, nodes = FALSE, windows = FALSE, first_new_line = NULL",
        "UPDATE tq_private.touched SET document_id = gen_random_uuid()",
        "TRUNCATE tq_private.touched",
        "WITH gone AS (DELETE FROM tq_private.touched RETURNING 1) SELECT count(*) FROM gone",
        "MERGE INTO tq_private.touched USING (SELECT 1) AS one ON TRUE WHEN MATCHED THEN DELETE",
    ],
)
def test_the_notes_of_what_was_touched_cannot_be_changed(
    db: Connection, tree: Tree, by_hand: str, replica: bool
) -> None:
    before = state(db, tree.doc)
    statements = ["DELETE FROM tq.node WHERE id = %(leaf2)s", by_hand]
    if replica:
        statements.insert(0, "SET LOCAL session_replication_role = replica")
    with pytest.raises(psycopg.Error) as refused:
        transact(db, statements, tree)
    assert refused.value.sqlstate in ("55000", "55006")  # TRUNCATE meets the pending check first
    assert state(db, tree.doc) == before


def test_a_note_that_is_gone_means_that_all_is_checked(db: Connection, tree: Tree) -> None:
    before = state(db, tree.doc)
    statements = [
        "ALTER TABLE tq_private.touched DISABLE TRIGGER touched_not_by_hand",
        "DELETE FROM tq.node WHERE id = %(leaf2)s",
        "DELETE FROM tq_private.touched",
    ]
    with pytest.raises(errors.CheckViolation) as refused:
        transact(db, statements, tree)
    assert refused.value.diag.constraint_name == "node_leaves_cover"
    assert state(db, tree.doc) == before


def test_every_guard_fires_always(db: Connection) -> None:
    rows = db.execute(
        "SELECT tgrelid::regclass::text, tgname FROM pg_trigger AS t JOIN pg_class AS c ON c.oid = t.tgrelid"
        " WHERE c.relnamespace IN ('tq'::regnamespace, 'tq_private'::regnamespace) AND tgenabled <> 'A'"
    ).fetchall()
    assert rows == []


def test_check_can_be_asked_for_before_commit(db: Connection, tree: Tree) -> None:
    db.autocommit = False
    db.execute("UPDATE tq.node SET depth = 7 WHERE id = %s", [tree.root])
    with pytest.raises(errors.CheckViolation) as caught:
        db.execute("SET CONSTRAINTS ALL IMMEDIATE")
    assert caught.value.diag.constraint_name == "node_children_tile_parent"
    assert str(tree.root) in (caught.value.diag.message_detail or "")
    assert caught.value.diag.message_hint


def test_a_right_change_of_the_tree_is_let_through(db: Connection, tree: Tree) -> None:
    with db.transaction():  # leaf 4 moves from left to right
        db.execute("UPDATE tq.node SET target_node_id = %s WHERE id = %s", [tree.right, tree.leaves[3]])
        db.execute("UPDATE tq.node SET line_end = 30 WHERE id = %s", [tree.left])
        db.execute("UPDATE tq.node SET line_start = 31 WHERE id = %s", [tree.right])
    rows = db.execute(
        "SELECT title, line_start, line_end FROM tq.outline('policy.md') WHERE depth = 1"
    ).fetchall()
    assert rows == [("left", 1, 30), ("right", 31, 100)]


def test_two_documents_in_one_transaction_are_both_checked(
    db: Connection, tree: Tree, make: Callable[[str], Tree]
) -> None:
    other = make("other.md")
    db.autocommit = False
    db.execute("UPDATE tq.node SET title = 'fine', depth = depth WHERE id = %s", [tree.left])
    db.execute("UPDATE tq.node SET depth = 3 WHERE id = %s", [other.left])
    with pytest.raises(errors.CheckViolation) as caught:
        db.commit()
    assert str(other.doc) in (caught.value.diag.message_detail or "")


def test_summaries_cost_no_check_of_the_document(db: Connection, tree: Tree) -> None:
    before = db.execute("SELECT revision FROM tq.document WHERE id = %s", [tree.doc]).fetchone()
    db.execute(
        "UPDATE tq.node SET summarised = TRUE, title = 't', token_count = 5 WHERE document_id = %s",
        [tree.doc],
    )
    db.execute(BULLET + "(%s, %s, 2, 'x', 3, 4)", [tree.doc, tree.leaves[0]])
    db.execute("UPDATE tq.line SET text = 'y' WHERE document_id = %s AND line_no = 3", [tree.doc])
    db.execute("UPDATE tq.provisional_window SET marked = TRUE WHERE document_id = %s", [tree.doc])
    assert db.execute("SELECT revision FROM tq.document WHERE id = %s", [tree.doc]).fetchone() == before


def test_stretches_of_lines_join(db: Connection) -> None:
    row = db.execute("SELECT tq.load_text('long.txt', 'x')").fetchone()
    assert row is not None
    add = (
        "INSERT INTO tq.line (document_id, line_no, text)"
        " SELECT %s, n, 'x' FROM generate_series(%s::int, %s::int) AS n"
    )
    db.execute(add, [row[0], 1, 10])
    with pytest.raises(errors.CheckViolation) as caught:
        db.execute(add, [row[0], 12, 20])
    assert caught.value.diag.constraint_name == "line_numbers_gapless"
    with db.transaction():  # in any order, as long as it is whole at COMMIT
        db.execute(add, [row[0], 16, 20])
        db.execute(add, [row[0], 11, 15])
    with pytest.raises(errors.CheckViolation) as caught:
        db.execute("UPDATE tq.document SET line_count = 19 WHERE id = %s", [row[0]])
    assert caught.value.diag.constraint_name == "document_line_count_true"
    db.execute("UPDATE tq.document SET line_count = 20 WHERE id = %s", [row[0]])


def test_a_savepoint_rolled_back_leaves_nothing_to_refuse(db: Connection, tree: Tree) -> None:
    with db.transaction():
        with db.transaction(force_rollback=True):
            db.execute("DELETE FROM tq.line WHERE document_id = %s AND line_no = 50", [tree.doc])
        db.execute("UPDATE tq.document SET title = 'still whole' WHERE id = %s", [tree.doc])


# ---------------------------------------------------------------- two sessions


LEVELS = [
    psycopg.IsolationLevel.READ_COMMITTED,
    psycopg.IsolationLevel.REPEATABLE_READ,
    psycopg.IsolationLevel.SERIALIZABLE,
]


def race(
    url: str, level: psycopg.IsolationLevel, first: list[str], second: list[str], values: dict[str, Any]
) -> list[str | None]:
    """Both sessions run their statements before either commits; the SQLSTATE that each ended with, None for done."""
    outcomes: list[str | None] = [None, None]
    done = threading.Barrier(2, timeout=10)

    def run(number: int, statements: list[str]) -> None:
        with psycopg.connect(url) as connection:
            connection.isolation_level = level
            try:
                for statement in statements:
                    connection.execute(statement, values)
                done.wait()
                connection.commit()
            except psycopg.Error as error:
                connection.rollback()
                outcomes[number] = error.sqlstate

    threads = [threading.Thread(target=run, args=(n, s)) for n, s in enumerate((first, second))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
        assert not thread.is_alive()
    return outcomes


@pytest.mark.parametrize("level", LEVELS, ids=lambda level: level.name.lower())
def test_write_skew_on_the_tree(db: Connection, url: str, tree: Tree, level: psycopg.IsolationLevel) -> None:
    """One declares the document ready, the other puts a second node above the root: no row in common."""
    db.execute("UPDATE tq.document SET status = 'building', current = FALSE WHERE id = %s", [tree.doc])
    values = {**names(tree), "new": uuid.uuid4()}
    outcomes = race(
        url,
        level,
        ["UPDATE tq.document SET status = 'ready', current = TRUE WHERE id = %(doc)s"],
        [
            NODE + "(%(doc)s, %(new)s, NULL, NULL, FALSE, 1, 100)",
            "UPDATE tq.node SET target_node_id = %(new)s WHERE id = %(root)s",
        ],
        values,
    )
    assert outcomes.count(None) == 1
    assert {"23514", "40001"} >= set(outcomes) - {None}
    row = db.execute("SELECT status FROM tq.document WHERE id = %s", [tree.doc]).fetchone()
    assert row == ("ready" if outcomes[0] is None else "building",)


@pytest.mark.parametrize("level", LEVELS, ids=lambda level: level.name.lower())
def test_write_skew_on_lines(db: Connection, url: str, level: psycopg.IsolationLevel) -> None:
    """One takes the last line away, the other adds the next: right alone, a gap together."""
    row = db.execute("SELECT tq.load_text('skew.txt', 'x')").fetchone()
    assert row is not None
    db.execute(
        "INSERT INTO tq.line (document_id, line_no, text) SELECT %s, n, 'x' FROM generate_series(1, 5) AS n",
        row,
    )
    outcomes = race(
        url,
        level,
        ["DELETE FROM tq.line WHERE document_id = %(d)s AND line_no = 5"],
        ["INSERT INTO tq.line (document_id, line_no, text) VALUES (%(d)s, 6, 'x')"],
        {"d": row[0]},
    )
    assert outcomes.count(None) == 1
    assert {"23514", "40001"} >= set(outcomes) - {None}
    found = db.execute(
        "SELECT count(*), max(line_no) FROM tq.line WHERE document_id = %s", [row[0]]
    ).fetchone()
    assert found is not None
    assert found[0] == found[1]


def test_bullet_waits_for_a_node_that_is_being_narrowed(db: Connection, url: str, tree: Tree) -> None:
    """Both alone are right: a bullet of line 10, and leaves 1 and 2 meeting at line 9 instead of 10."""
    with psycopg.connect(url) as one, psycopg.connect(url) as two:
        one.execute("UPDATE tq.node SET line_end = 9 WHERE id = %s", [tree.leaves[0]])
        one.execute("UPDATE tq.node SET line_start = 10 WHERE id = %s", [tree.leaves[1]])
        seen: list[str | None] = []

        def other() -> None:
            try:
                two.execute(BULLET + "(%s, %s, 2, 'x', 10, 10)", [tree.doc, tree.leaves[0]])
                two.commit()
                seen.append("ok")
            except psycopg.Error as error:
                two.rollback()
                seen.append(error.diag.constraint_name)

        thread = threading.Thread(target=other)
        thread.start()
        thread.join(0.3)
        one.commit()
        thread.join(10)
    assert seen == ["bullet_inside_node"]


# ---------------------------------------------------------------- the tree is derived


def test_ranges_and_depths_are_derived(db: Connection, tree: Tree) -> None:
    rows = db.execute(
        "SELECT title, depth, line_start, line_end, is_leaf FROM tq.node"
        " WHERE NOT is_leaf AND document_id = %s ORDER BY 2, 3",
        [tree.doc],
    ).fetchall()
    assert rows == [("all", 0, 1, 100, False), ("left", 1, 1, 40, False), ("right", 1, 41, 100, False)]
    row = db.execute("SELECT min(depth), max(depth), count(*) FROM tq.node WHERE is_leaf").fetchone()
    assert row == (2, 2, 10)


def test_building_again_replaces_the_inner_nodes(db: Connection, tree: Tree) -> None:
    root = uuid.uuid4()
    db.execute(
        "SELECT tq_private.build_tree(%s, %s, %s::uuid[], %s, %s::int[], %s, %s, %s)",
        [tree.doc, [root], [None], ["flat"], [None], ["text"], list(tree.leaves), [root] * 10],
    )
    rows = db.execute("SELECT depth, count(*) FROM tq.outline('policy.md') GROUP BY 1 ORDER BY 1").fetchall()
    assert rows == [(0, 1), (1, 10)]


def test_a_leaf_alone_is_the_root(db: Connection) -> None:
    row = db.execute("SELECT tq.load_text('one.txt', 'x')").fetchone()
    assert row is not None
    leaf = uuid.uuid4()
    with db.transaction():
        db.execute("INSERT INTO tq.line (document_id, line_no, text) VALUES (%s, 1, 'x')", row)
        db.execute("UPDATE tq.document SET line_count = 1 WHERE id = %s", row)
        db.execute(NODE + "(%s, %s, NULL, NULL, TRUE, 1, 1)", [row[0], leaf])
        db.execute(
            "SELECT tq_private.build_tree(%s, '{}', '{}', '{}', '{}', '{}', %s, %s::uuid[])",
            [row[0], [leaf], [None]],
        )
        db.execute("UPDATE tq.document SET status = 'ready', current = TRUE WHERE id = %s", row)
    assert db.execute("SELECT depth, node_id FROM tq.outline('one.txt')").fetchall() == [(0, leaf)]


@pytest.mark.parametrize(
    ("parents", "hung"),
    [
        ([None, "root", "nobody"], "left"),
        ([None, "root", "left"], "nobody"),
        (["left", "root", "root"], "left"),
    ],
    ids=["parent unknown", "leaf under nothing", "circle"],
)
def test_a_tree_that_does_not_hang_together(
    db: Connection, tree: Tree, parents: list[str | None], hung: str
) -> None:
    ids = {"root": tree.root, "left": tree.left, "nobody": uuid.uuid4()}
    with pytest.raises(errors.CheckViolation, match="hang together"):
        db.execute(
            "SELECT tq_private.build_tree(%s, %s, %s::uuid[], %s, %s::int[], %s, %s, %s)",
            [
                tree.doc,
                [tree.root, tree.left, tree.right],
                [None if p is None else ids[p] for p in parents],
                ["a", "b", "c"],
                [None] * 3,
                ["text"] * 3,
                list(tree.leaves),
                [ids[hung]] * 10,
            ],
        )
