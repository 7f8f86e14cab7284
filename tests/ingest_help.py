"""Loading, working and looking at what came of it; shared by the tests of ingest."""

from __future__ import annotations

import subprocess
from typing import Any

import psycopg

Connection = psycopg.Connection[Any]


def value(db: Connection, sql: str, *values: Any) -> Any:
    row = db.execute(sql, values).fetchone()
    assert row is not None
    return row[0]


def load(db: Connection, name: str, content: str | bytes, media_type: str | None = None) -> str:
    data = content if isinstance(content, bytes) else content.encode()
    return str(value(db, "SELECT tq.load(%s, %s, %s)", name, data, media_type))


def work(db: Connection, seconds: int = 60) -> None:
    db.execute(f"CALL tq.work({seconds}, TRUE)")


def document(db: Connection, doc: str) -> dict[str, Any]:
    with db.cursor(row_factory=psycopg.rows.dict_row) as cursor:
        row = cursor.execute(
            "SELECT name, status::text, current, line_count, language, title, media_type, sqlstate, error, hint,"
            " failed_step, model FROM tq.document WHERE id = %s",
            [doc],
        ).fetchone()
    assert row is not None
    return row


def queued(db: Connection) -> int:
    return int(
        value(db, "SELECT (SELECT count(*) FROM pgmq.q_tq_convert) + (SELECT count(*) FROM pgmq.q_tq_model)")
    )


def dead(db: Connection) -> list[dict[str, Any]]:
    return [row[0] for row in db.execute("SELECT message FROM pgmq.q_tq_dead ORDER BY msg_id").fetchall()]


def shape(db: Connection, doc: str) -> list[Any]:
    """The tree and its bullets, without ids."""
    return db.execute(
        "SELECT n.depth, n.is_leaf, n.line_start, n.line_end, n.title, n.level, n.kind, n.summarised,"
        " (SELECT array_agg((b.text, b.line_start, b.line_end, b.fallback)::text ORDER BY b.ordinal) FROM tq.bullet AS b"
        " WHERE b.document_id = n.document_id AND b.node_id = n.id)"
        " FROM tq.node AS n WHERE n.document_id = %s ORDER BY n.line_start, n.depth",
        [doc],
    ).fetchall()


def assert_ready(db: Connection, doc: str) -> None:
    """Ready, whole, every node with something to read summarised from lines that say it."""
    row = document(db, doc)
    assert row["status"] == "ready", row
    nodes = db.execute(
        "SELECT id, target_node_id, depth, is_leaf, line_start, line_end, summarised FROM tq.node"
        " WHERE document_id = %s ORDER BY line_start, depth",
        [doc],
    ).fetchall()
    assert all(node[6] for node in nodes)
    assert [node[2] for node in nodes if node[1] is None] == [0]
    at = 1
    for node in nodes:
        if node[3]:
            assert node[4] == at
            at = node[5] + 1
    assert at == row["line_count"] + 1
    lines = dict(db.execute("SELECT line_no, text FROM tq.line WHERE document_id = %s", [doc]).fetchall())
    bullets = db.execute(
        "SELECT node_id, text, line_start, line_end FROM tq.bullet WHERE document_id = %s", [doc]
    ).fetchall()
    with_bullets = {bullet[0] for bullet in bullets}
    for node in nodes:
        if any(any(map(str.isalnum, lines[number])) for number in range(node[4], node[5] + 1)):
            assert node[0] in with_bullets
    for _, text, start, end in bullets:
        # A sentence that is wrapped over lines is joined by spaces.
        assert " ".join(text.split()) in " ".join(
            " ".join(lines[n] for n in range(start, end + 1)).split()
        ), text
    assert queued(db) == 0


def terminate(process: subprocess.Popen[Any]) -> None:
    if process.poll() is None:
        process.kill()
    process.wait()


def story(sections: int, lines: int = 8, word: str = "clinic") -> str:
    """Markdown with numbered sections; every line says something of its own."""
    text = ["# The handbook", ""]
    for section in range(1, sections + 1):
        text += [f"## Section {section} of the {word}", ""]
        text += [
            f"Rule {section}.{line} of the {word} says that form {section * 100 + line} costs {line} EUR and is due in May."
            for line in range(1, lines + 1)
        ]
        text.append("")
    return "\n".join(text) + "\n"
