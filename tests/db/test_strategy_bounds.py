"""What no strategy changes: what ingest stores, and what is read at a node."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

from ingest_help import Connection, load, shape, value, work

TEXT = "\n\n".join(
    f"## Rule {number}\n\n"
    f"The fee of rule {number} is {number + 3} euros for each visit that is missed, and the desk writes it down.\n\n"
    + "\n".join(f"Form {number}.{line} of rule {number} is filed in drawer {line % 5}." for line in range(12))
    for number in range(1, 25)
)
# Every setting far from where it was.
EXTREME = {
    "top_n": "1",
    "documents": "1",
    "routes": "1",
    "rereads": "0",
    "evidence": "'summary'",
    "evidence_why": "'summary'",
    "depth": "1",
    "depth_why": "0",
    "follow_up": "'near'",
    "reasoning_rules": "'Reasons are stated.'",
    "weight_evidence": "0",
    "weight_agreement": "0",
    "weight_source": "7",
    "weight_fit": "0",
    "on_error": "'row'",
    "max_calls": "3",
    "max_tokens": "100000",
    "max_cost": "0.5",
    "max_seconds": "9",
    "patience_seconds": "0",
    "scope": "$$'x' = ANY (tags)$$",
    "versions": "'all'",
    "source_rule": "'0'",
    "pairs": "0",
    "model": "'extractive'",
    "model_plan": "'extractive'",
    "model_read": "'extractive'",
    "model_compare": "'extractive'",
    "model_write": "'extractive'",
    "mode": "'chunked-tree'",
    "merge": "'top 1'",
    "format": "'html'",
    "language": "'german'",
}


def stored(db: Connection, name: str) -> list[Any]:
    doc = load(db, name, TEXT, "text/markdown")
    work(db)
    assert value(db, "SELECT status::text FROM tq.document WHERE id = %s", doc) == "ready"
    lines = db.execute(
        "SELECT line_no, text, kind, level, page, locator FROM tq.line WHERE document_id = %s ORDER BY 1",
        [doc],
    )
    terms = db.execute(
        "SELECT term, stretch, line_nos FROM tq.term WHERE document_id = %s ORDER BY 1, 2", [doc]
    )
    marks = db.execute(
        "SELECT line_no, title, level FROM tq.boundary WHERE document_id = %s ORDER BY 1", [doc]
    )
    return [lines.fetchall(), terms.fetchall(), marks.fetchall(), shape(db, doc)]


def test_no_strategy_changes_what_ingest_stores(db: Connection) -> None:
    settings = {
        row[0] for row in db.execute("SELECT setting FROM tq.strategy_effective('default')").fetchall()
    }
    # A setting that is new has to be put to this test.
    assert settings <= EXTREME.keys()
    before = stored(db, "before.md")
    changes = ", ".join(f"{name} = {written}" for name, written in EXTREME.items())
    db.execute(f"UPDATE tq.strategy SET {changes} WHERE name = 'default'")
    assert stored(db, "after.md") == before


def test_no_strategy_changes_what_is_read_at_a_node(db: Connection) -> None:
    stored(db, "rules.md")
    names = [row[0] for row in db.execute("SELECT name FROM tq.strategy ORDER BY name").fetchall()]
    assert {"default", "lookup", "audit", "compare", "triage", "exhaustive"} <= set(names)
    # Rules are shown beside what a node holds, and counted with it.
    db.execute("UPDATE tq.strategy SET reasoning_rules = '' WHERE name = 'audit'")
    for name in names:
        for question in (
            "What is the fee of rule 7 for a missed visit?",
            "In which drawer is form 3.4 filed?",
        ):
            assert value(db, "SELECT count(*) FROM tq.ask('rules.md', %s, %s)", question, name) > 0
    assert value(db, "SELECT count(DISTINCT node_id) FROM tq.read") > 5
    # Where to stop is the strategy's to say (`evidence`): the choice may differ, what it was made from may not.
    differing = db.execute(
        "SELECT q.question, r.node_id, r.title, array_agg(DISTINCT q.strategy), array_agg(DISTINCT r.input_tokens)"
        " FROM tq.read AS r JOIN tq.query AS q ON q.id = r.query_id"
        " GROUP BY q.question, r.node_id, r.title"
        " HAVING count(DISTINCT (r.input_tokens, r.line_start, r.line_end, r.depth)) > 1"
    ).fetchall()
    assert differing == []
    choosing = db.execute(
        "SELECT q.question, r.node_id, array_agg(DISTINCT q.strategy) FROM tq.read AS r JOIN tq.query AS q"
        " ON q.id = r.query_id WHERE q.strategy <> 'triage'"  # which stops at summaries
        " GROUP BY q.question, r.node_id HAVING count(DISTINCT r.choice) > 1"
    ).fetchall()
    assert choosing == []
    read_by_several = value(
        db,
        "SELECT count(*) FROM (SELECT FROM tq.read AS r JOIN tq.query AS q ON q.id = r.query_id"
        " GROUP BY q.question, r.node_id HAVING count(DISTINCT q.strategy) > 2) AS s",
    )
    assert read_by_several > 3


@pytest.mark.parametrize("name", ["lookup", "audit", "compare", "triage", "exhaustive"])
def test_each_strategy_that_is_shipped_answers(db: Connection, name: str) -> None:
    with db.transaction():
        for number in range(12):
            load(db, f"doc/{number}", f"The fee for a missed visit is {20 + number} euros.\n")
    work(db)
    rows = db.execute(
        "SELECT what, disagreement, held_back, certainty FROM tq.ask('doc/*', 'What is the fee for a missed visit?', %s)",
        [name],
    ).fetchall()
    top = int(value(db, "SELECT value FROM tq.strategy_effective(%s) WHERE setting = 'top_n'", name))
    assert len(rows) == min(top, 12)
    assert rows[0][1:] == (True, 12 - len(rows), "disputed")
