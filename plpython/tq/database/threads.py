"""The statements of threads: picks, and where picked lines stand in a newer version."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tq.ask.records import Node, SourceRow
from tq.database.connection import Database, Statement

# Seen with the rights of who asks: a document that is gone and one that may not be read look the same. A pick goes along
# with its document's name, unless an older version was picked on purpose.
PICKS = Statement(
    """
    SELECT p.turn, d.id::text AS document, d.name, d.version, p.line_start, p.line_end,
           c.id::text AS newer, c.version AS newer_version
    FROM tq.pick AS p
    LEFT JOIN tq.document AS d ON d.id = p.document_id AND d.status = 'ready'
    LEFT JOIN tq.document AS c ON c.name = d.name AND c.current AND c.id <> d.id AND NOT p.pinned
    WHERE p.thread_id = $1::uuid
        AND p.turn = coalesce($2, (SELECT max(l.turn) FROM tq.pick AS l WHERE l.thread_id = $1::uuid))
    ORDER BY p.ordinal
    """,
    ("text", "int"),
)
# The place nearest to the old one at which all lines stand as they did, side by side.
LINE_IN_NEWER = Statement(
    """
    WITH old AS (
        SELECT l.line_no - $2 AS place, l.text FROM tq.line AS l
        WHERE l.document_id = $1::uuid AND l.line_no BETWEEN $2 AND $3
    ), longest AS (
        SELECT o.place, o.text FROM old AS o ORDER BY length(o.text) DESC, o.place LIMIT 1
    )
    SELECT n.line_no - o.place AS line
    FROM longest AS o
    JOIN tq.line AS n ON n.document_id = $4::uuid AND n.text = o.text
    WHERE NOT EXISTS (
        SELECT FROM old AS other
        LEFT JOIN tq.line AS m ON m.document_id = $4::uuid AND m.line_no = n.line_no - o.place + other.place
        WHERE m.text IS DISTINCT FROM other.text)
    ORDER BY abs(n.line_no - o.place - $2), n.line_no
    LIMIT 1
    """,
    ("text", "int", "int", "text"),
)
ROWS = Statement(
    """
    SELECT d.id::text AS id, d.name, d.version, TRUE AS ready, NULL::text AS detail, NULL::int AS matched, d.current,
           d.language, d.line_count, d.source_weight
    FROM tq.document AS d WHERE d.id = ANY ($1::uuid[]) AND d.status = 'ready'
    ORDER BY d.name, d.version
    """,
    ("text[]",),
)
SIBLINGS = Statement(
    """
    SELECT n.id::text AS beside, s.id::text AS id, s.is_leaf, s.line_start, s.line_end, coalesce(s.title, '') AS title
    FROM tq.node AS n
    CROSS JOIN LATERAL (
        SELECT c.* FROM tq.node AS c
        WHERE c.document_id = n.document_id AND c.target_node_id = n.target_node_id AND c.is_leaf
            AND c.id <> ALL ($2::uuid[])
        ORDER BY abs(c.line_start - n.line_start), c.line_start LIMIT 2
    ) AS s
    WHERE n.document_id = $1::uuid AND n.id = ANY ($2::uuid[])
    ORDER BY n.line_start, s.line_start
    """,
    ("text", "text[]"),
)
STRATEGY = Statement(
    """
    SELECT q.strategy FROM tq.pick AS p JOIN tq.query AS q ON q.id = p.query_id
    WHERE p.thread_id = $1::uuid
    ORDER BY p.turn DESC, p.ordinal LIMIT 1
    """,
    ("text",),
)


@dataclass(frozen=True, slots=True)
class Pick:
    """One pick of a turn. document: None where it is gone; newer: the current version, where that is another one."""

    turn: int
    document: str | None
    name: str | None
    version: int | None
    line_start: int
    line_end: int
    newer: str | None
    newer_version: int | None


def picks(database: Database, thread: str, turn: int | None) -> list[Pick]:
    return [Pick(**row) for row in database.fetch(PICKS, thread, turn)]


def line_in_newer(database: Database, pick: Pick) -> int | None:
    """The first of the picked lines in the newer version, where all of them stand there as they did."""
    rows = database.fetch(LINE_IN_NEWER, pick.document, pick.line_start, pick.line_end, pick.newer)
    return rows[0]["line"] if rows else None


def rows(database: Database, documents: Sequence[str]) -> list[SourceRow]:
    return [SourceRow(**row) for row in database.fetch(ROWS, list(documents))]


def siblings(database: Database, document: str, leaves: Sequence[Node]) -> dict[str, list[Node]]:
    """The two nearest other leaves below the parent of each leaf, by its id; none where it is alone there."""
    known = {leaf.id: leaf for leaf in leaves}
    found: dict[str, list[Node]] = {}
    for row in database.fetch(SIBLINGS, document, list(known)):
        leaf = known[row.pop("beside")]
        found.setdefault(leaf.id, []).append(Node(**row, depth=leaf.depth, path=leaf.path))
    return found


def strategy(database: Database, thread: str) -> str:
    """The strategy of the question that the last picks come from."""
    found = database.fetch(STRATEGY, thread)
    return str(found[0]["strategy"]) if found else "default"
