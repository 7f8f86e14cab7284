"""The statements of a question: what it reads, and how rows become records. Nothing here writes."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from tq.ask.records import Node, NodeContent, SourceRow, StoredLine
from tq.database.connection import Database, Statement, refusal
from tq.database.models import COLUMNS, model_of
from tq.errors import TqError
from tq.model.limits import Model
from tq.model.tasks import Shot

MODEL = Statement(f"SELECT m.name, {COLUMNS} FROM tq.model AS m WHERE m.name = $1", ("text",))
SETTINGS = Statement(
    "SELECT name, value::text AS value FROM tq.setting"
    " WHERE name IN ('model', 'scent', 'reuse_replies', 'possible_queries', 'parallel_calls', 'model_plan', 'model_read',"
    " 'model_compare', 'model_write')"
    # SET tq.verbose = on, for one session.
    " UNION ALL SELECT 'verbose', CASE WHEN lower(current_setting('tq.verbose', TRUE))"
    " IN ('on', 'true', 'yes', '1') THEN 'true' ELSE 'false' END"
)
ASKED = Statement(
    "SELECT document, question, strategy, strategy_version, thread_id::text AS thread, turn,"
    " chars_per_token::text AS chars_per_token"
    " FROM tq.query WHERE id = $1::uuid",
    ("text",),
)
RESOLVE = Statement(
    """
    SELECT found.id::text AS id, found.name, found.version, found.ready, found.detail, found.matched,
           d.current, d.language, d.line_count, d.source_weight
    FROM tq_private.resolve_documents($1, TRUE, $2) AS found
    JOIN tq.document AS d ON d.id = found.id
    ORDER BY found.name, found.version
    """,
    ("text", "int"),
)
POSSIBLE_QUERIES = Statement(
    """
    SELECT document_id::text AS document, question
    FROM tq.possible_query WHERE document_id = ANY ($1)
    ORDER BY document_id, ordinal
    """,
    ("uuid[]",),
)
SHOTS = Statement("SELECT node, choice, open, reason FROM tq.shot ORDER BY name")
# Looked up term by term: where statistics are older than a document, a plan for all at once reads its whole index.
_TERMS = """
    FROM unnest($1) AS d (id) CROSS JOIN unnest($2) AS w (term)
    CROSS JOIN LATERAL (SELECT * FROM tq.term AS t WHERE t.document_id = d.id AND t.term = w.term OFFSET 0) AS t
"""
HITS = Statement(
    f"SELECT d.id::text AS document, w.term, sum(t.line_hits)::int AS hits {_TERMS} GROUP BY d.id, w.term",
    ("uuid[]", "text[]"),
)
POSTINGS = Statement(
    f"SELECT d.id::text AS document, w.term, t.line_nos {_TERMS} ORDER BY d.id, w.term, t.stretch",
    ("uuid[]", "text[]"),
)
TEXT_LINES = Statement(
    """
    SELECT d.id::text AS document, count(l.line_no)::int AS held
    FROM unnest($1) AS d (id)
    LEFT JOIN tq.line AS l ON l.document_id = d.id AND l.line_no <= $2 AND l.text <> ''
    GROUP BY d.id
    """,
    ("uuid[]", "int"),
)
ROOTS = Statement(
    """
    SELECT document_id::text AS document, id::text AS id, is_leaf, line_start, line_end, depth,
           coalesce(title, '') AS title
    FROM tq.node WHERE document_id = ANY ($1) AND target_node_id IS NULL
    """,
    ("uuid[]",),
)
NODES = Statement(
    """
    SELECT n.id::text AS id,
           (SELECT coalesce(json_agg(json_build_array(b.text, b.line_start, b.line_end)
                                     ORDER BY b.ordinal), '[]')
            FROM tq.bullet AS b
            WHERE b.document_id = n.document_id AND b.node_id = n.id)::text AS bullets,
           (SELECT coalesce(json_agg(json_build_array(c.id, c.is_leaf, c.line_start, c.line_end,
                                                      coalesce(c.title, ''), coalesce(f.text, ''))
                                     ORDER BY c.line_start), '[]')
            FROM tq.node AS c
            LEFT JOIN tq.bullet AS f ON f.document_id = c.document_id AND f.node_id = c.id AND f.ordinal = 1
            WHERE c.document_id = n.document_id AND c.target_node_id = n.id)::text AS children
    FROM tq.node AS n
    WHERE n.document_id = $1 AND n.id = ANY ($2)
    """,
    ("uuid", "uuid[]"),
)
# All nodes of a tree, a parent before its children, each with its first bullet.
TREE = Statement(
    """
    SELECT n.id::text AS id, n.target_node_id::text AS parent, n.is_leaf, n.line_start, n.line_end, n.depth,
           coalesce(n.title, '') AS title, coalesce(f.text, '') AS bullet
    FROM tq.node AS n
    LEFT JOIN tq.bullet AS f ON f.document_id = n.document_id AND f.node_id = n.id AND f.ordinal = 1
    WHERE n.document_id = $1
    ORDER BY n.line_start, n.depth
    """,
    ("uuid",),
)
LINES = Statement(
    """
    SELECT line_no, text, kind, level
    FROM tq.line WHERE document_id = $1 AND line_no BETWEEN $2 AND $3
    ORDER BY line_no
    """,
    ("uuid", "int", "int"),
)
# Down from a node to the leaves that hold any of the ranges. Integers are compared and not ranges: under
# row-level security a range operator would keep the planner from every index.
LEAVES_BELOW = Statement(
    """
    WITH RECURSIVE down AS (
        SELECT n.id, n.is_leaf, n.line_start, n.line_end, n.depth, n.title, ARRAY[]::text[] AS path
        FROM tq.node AS n
        WHERE n.document_id = $1 AND n.id = $2
        UNION ALL
        SELECT c.id, c.is_leaf, c.line_start, c.line_end, d.depth + 1, c.title,
               d.path || coalesce(c.title, '')
        FROM down AS d
        JOIN tq.node AS c ON c.document_id = $1 AND c.target_node_id = d.id
        WHERE NOT d.is_leaf
          AND EXISTS (SELECT 1 FROM unnest($3, $4) AS r (first, last)
                      WHERE c.line_start <= r.last AND c.line_end >= r.first)
    )
    SELECT id::text AS id, is_leaf, line_start, line_end, depth, coalesce(title, '') AS title,
           to_json(path)::text AS path
    FROM down WHERE is_leaf
    ORDER BY line_start
    """,
    ("uuid", "uuid", "int[]", "int[]"),
)
STORED = Statement(
    """
    SELECT l.document_id::text AS document, l.line_no, l.text, l.page, l.locator::text AS locator
    FROM unnest($1, $2) AS wanted (document_id, line_no)
    JOIN tq.line AS l ON l.document_id = wanted.document_id AND l.line_no = wanted.line_no
    """,
    ("uuid[]", "int[]"),
)

MAX_DOCUMENTS = 10_000  # looked at a question; the bound of tq.strategy.documents
FEW_LINES = 50
SAMPLED_LINES = 20_000  # looked at a question to see how many lines are blank
SAMPLE_LINES = 1_000  # of one document, at most
BATCH = 100  # rows of the line index fetched at once: at most 8 MB where a stretch has 20,000 lines


def model(database: Database, name: str) -> Model | None:
    rows = database.fetch(MODEL, name)
    return model_of({"model": rows[0]["name"], **rows[0]}) if rows else None


def asked(database: Database, query: str) -> dict[str, Any]:
    """What was asked, of what, and by which version of which strategy. TQ021 where the caller sees no such question."""
    rows = database.fetch(ASKED, query)
    if not rows:
        raise TqError("TQ021", "invalid value for the argument query", "There is no such question.")
    return rows[0]


def settings(database: Database) -> dict[str, Any]:
    return {row["name"]: msgspec.json.decode(row["value"]) for row in database.fetch(SETTINGS)}


def resolve(database: Database, doc: str | None) -> list[SourceRow]:
    """The documents a document argument names, ready or not. Raises TqError TQ001, TQ002."""
    try:
        rows = database.fetch(RESOLVE, doc, MAX_DOCUMENTS)
    except Exception as error:
        said = refusal(error)
        if said is not None and said.sqlstate.startswith("TQ"):
            raise TqError(said.sqlstate, said.message, said.detail, said.hint) from None
        raise
    return [SourceRow(**row) for row in rows]


def possible_queries(database: Database, documents: Sequence[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for row in database.fetch(POSSIBLE_QUERIES, list(documents)):
        found.setdefault(row["document"], []).append(row["question"])
    return found


def shots(database: Database) -> list[Shot]:
    return [
        Shot(row["node"], row["choice"], tuple(row["open"]), row["reason"]) for row in database.fetch(SHOTS)
    ]


def hits(database: Database, documents: Sequence[str], terms: Sequence[str]) -> dict[str, dict[str, int]]:
    """document → term → number of its lines that hold the term."""
    found: dict[str, dict[str, int]] = {}
    if documents and terms:
        for row in database.fetch(HITS, list(documents), list(terms)):
            found.setdefault(row["document"], {})[row["term"]] = row["hits"]
    return found


def postings(
    database: Database, documents: Sequence[str], terms: Sequence[str]
) -> dict[str, dict[str, array[int]]]:
    """document → term → its line numbers, ascending. Streamed: the packed form is never in memory whole."""
    found: dict[str, dict[str, array[int]]] = {}
    if documents and terms:
        for rows in database.stream(POSTINGS, list(documents), list(terms), size=BATCH):
            for row in rows:
                lines = found.setdefault(row["document"], {}).setdefault(row["term"], array("i"))
                lines.frombytes(row["line_nos"])
    return found


def text_lines(database: Database, documents: Sequence[SourceRow]) -> dict[str, int]:
    """About how many lines of each document hold text, judged by its first lines."""
    if not documents:
        return {}
    sample = max(1, min(SAMPLE_LINES, SAMPLED_LINES // len(documents)))
    held = {
        row["document"]: row["held"]
        for row in database.fetch(TEXT_LINES, [document.id for document in documents], sample)
    }
    found: dict[str, int] = {}
    for document in documents:
        lines = document.line_count or 0
        found[document.id] = round(lines * held.get(document.id, 0) / max(1, min(lines, sample)))
    return found


def roots(database: Database, documents: Sequence[str]) -> dict[str, Node]:
    return {row["document"]: _node(row, 0, ()) for row in database.fetch(ROOTS, list(documents))}


def nodes(database: Database, document: str, wanted: Sequence[Node]) -> dict[str, NodeContent]:
    """Bullets and children of inner nodes, by id, in one statement."""
    by_id = {node.id: node for node in wanted}
    found: dict[str, NodeContent] = {}
    for row in database.fetch(NODES, document, list(by_id)):
        parent = by_id[row["id"]]
        path = (*parent.path, parent.title)
        found[parent.id] = NodeContent(
            bullets=[(text, first, last) for text, first, last in msgspec.json.decode(row["bullets"])],
            children=[
                (Node(child, leaf, first, last, parent.depth + 1, title, path), bullet)
                for child, leaf, first, last, title, bullet in msgspec.json.decode(row["children"])
            ],
        )
    return found


def tree(database: Database, document: str) -> list[tuple[Node, str]]:
    """All nodes of a document with their first bullets, a parent before its children."""
    paths: dict[str, tuple[str, ...]] = {}
    found: list[tuple[Node, str]] = []
    for rows in database.stream(TREE, document):
        for row in rows:
            path = paths.get(row["parent"], ())
            paths[row["id"]] = (*path, row["title"])
            found.append((_node(row, row["depth"], path), row["bullet"]))
    return found


def lines(database: Database, document: str, first: int, last: int) -> list[StoredLine]:
    return [
        StoredLine(row["line_no"], row["text"], row["kind"], row["level"])
        for row in database.fetch(LINES, document, first, last)
    ]


def leaves_below(
    database: Database, document: str, node: Node, ranges: Sequence[tuple[int, int]]
) -> list[Node]:
    """The leaves under a node that hold any of the line ranges, in order of lines."""
    rows = database.fetch(
        LEAVES_BELOW, document, node.id, [first for first, _ in ranges], [last for _, last in ranges]
    )
    above = (*node.path, node.title)
    # The path of the row ends with the leaf's own title.
    return [
        _node(row, node.depth + len(titles), (*above, *titles[:-1]))
        for row in rows
        for titles in [msgspec.json.decode(row["path"], type=list[str])]
    ]


def stored(database: Database, wanted: Iterable[tuple[str, int]]) -> dict[tuple[str, int], StoredLine]:
    """Lines by (document, number), as they stand; one that is not there is left out."""
    places = sorted(set(wanted))
    if not places:
        return {}
    rows = database.fetch(STORED, [document for document, _ in places], [line for _, line in places])
    return {
        (row["document"], row["line_no"]): StoredLine(
            row["line_no"],
            row["text"],
            page=row["page"],
            locator=None if row["locator"] is None else msgspec.json.decode(row["locator"]),
        )
        for row in rows
    }


def rarity(lines_in_scope: int, lines_with_term: int) -> float:
    """How much a term says (idf): about 0 where every line holds it, largest where none does. Few lines say little
    on what is rare: they count as FEW_LINES, or a word that is not there would outweigh all that are."""
    others = max(lines_in_scope, FEW_LINES) - lines_with_term
    return math.log(1 + (max(others, 0) + 0.5) / (lines_with_term + 0.5))


def _node(row: dict[str, Any], depth: int, path: tuple[str, ...]) -> Node:
    return Node(row["id"], row["is_leaf"], row["line_start"], row["line_end"], depth, row["title"], path)
