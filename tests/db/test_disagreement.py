"""Sources that disagree, through the whole of tq.ask: found, flagged at any N, and told apart from versions and near-pairs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.rows import dict_row

sys.path.insert(0, str(Path(__file__).parents[1]))

from claim_pairs import CONTRADICTING, NEAR, Pair
from ingest_help import Connection, value

FILLING = {
    "german": ["Das Haus liegt an einem ruhigen Platz.", "Der Empfang ist im Erdgeschoss links.", "Wir sind gern für Sie da."],
    "french": ["La maison est sur une place calme.", "L'accueil est au fond à gauche.", "Nous sommes là pour vous."],
    "spanish": ["La casa está en una plaza tranquila.", "La recepción está al fondo.", "Estamos aquí para usted."],
    "none": ["这里的房子在安静的广场上。", "前台在左边。", "欢迎您的到来。"],
}  # fmt: skip
ENGLISH = [
    "The house stands on a quiet square.",
    "The desk is at the end of the corridor.",
    "We are glad to help.",
]


def rows(db: Connection, statement: str, *values: Any) -> list[dict[str, Any]]:
    with db.cursor(row_factory=dict_row) as cursor:
        return cursor.execute(statement, values).fetchall()


def text(statement: str, language: str) -> str:
    filling = FILLING.get(language, ENGLISH)
    return "\n".join([*filling, statement, *reversed(filling)])


def load(db: Connection, name: str, content: str, dated: str | None = None) -> None:
    db.execute("SELECT tq.load_text(%s, %s, effective_on => %s::date)", [name, content, dated])


@pytest.fixture
def pairs(db: Connection) -> Connection:
    """All pairs as documents pair/KIND/NUMBER/first and …/second, and a strategy that shows one answer."""
    with db.transaction():
        for kind, written in (("against", CONTRADICTING), ("near", NEAR)):
            for number, pair in enumerate(written):
                load(db, f"pair/{kind}/{number}/first", text(pair.first, pair.language), "2023-02-01")
                load(db, f"pair/{kind}/{number}/second", text(pair.second, pair.language), "2024-03-01")
    db.execute("CALL tq.work(120, TRUE)")
    db.execute("INSERT INTO tq.strategy (name, top_n) VALUES ('one', 1)")
    return db


def test_thirty_contradictions_are_flagged_at_n_of_one_and_thirty_near_pairs_are_not(
    pairs: Connection,
) -> None:
    missed: list[Pair] = []
    wrong: list[Pair] = []
    for number, pair in enumerate(CONTRADICTING):
        [row] = rows(pairs, "SELECT * FROM tq.ask(%s, %s, 'one')", f"pair/against/{number}/*", pair.question)
        if not row["disagreement"]:
            missed.append(pair)
            continue
        assert (row["certainty"], row["doubt"], row["specialist"]) == (
            "disputed",
            "conflicting sources",
            True,
        )
        [other] = row["detail"]["contradictions"]
        assert {row["document"], other["document"]} == {
            f"pair/against/{number}/first",
            f"pair/against/{number}/second",
        }
        assert other["version"] == 1
        assert other["dated"] in ("2023-02-01", "2024-03-01")
        assert other["side"] == "source"
        assert other["quote"] in row["why"]
        assert f"{other['document']}, version 1 of {other['dated']}" in row["why"]
    for number, pair in enumerate(NEAR):
        found = rows(pairs, "SELECT * FROM tq.ask(%s, %s)", f"pair/near/{number}/*", pair.question)
        # Both are answers: as one where they say the same, as two where they speak of two cases.
        assert {c["document"].rsplit("/")[-1] for row in found for c in row["citations"]} == {
            "first",
            "second",
        }
        if any(row["disagreement"] for row in found):
            wrong.append(pair)
    assert missed == []
    assert wrong == []


def test_two_versions_of_one_document_are_told_apart_from_two_sources(db: Connection) -> None:
    question = "How much notice is needed to cancel an appointment?"
    said = "Notice of {} hours is needed to cancel an appointment."
    for name, hours, dated in (("policy", 24, "2023-01-01"), ("policy", 36, "2024-01-01")):
        load(db, name, text(said.format(hours), "english"), dated)
        db.execute("CALL tq.work(60, TRUE)")
    db.execute("INSERT INTO tq.strategy (name, versions, top_n) VALUES ('history', 'all', 1)")
    new, old = rows(
        db,
        "SELECT a.* FROM tq.ask('policy', %s, 'history') AS q, tq.answers(q.query_id, TRUE) AS a",
        question,
    )
    assert (new["version"], new["certainty"], new["disagreement"]) == (2, "settled", False)
    assert new["detail"]["contradictions"] == []
    [other] = new["detail"]["versions"]
    assert (other["side"], other["version"], other["dated"], other["rank"]) == (
        "older version",
        1,
        "2023-01-01",
        2,
    )
    assert (
        "policy, version 1 of 2023-01-01, line 4, another version, said otherwise: “Notice of 24"
        in new["why"]
    )
    assert (old["version"], old["certainty"], old["disagreement"], old["doubt"]) == (
        1,
        "disputed",
        False,
        None,
    )
    assert (
        "policy, version 2 of 2024-01-01, line 4, another version, says otherwise: “Notice of 36"
        in old["why"]
    )

    # What another document bears out is no old version.
    load(db, "leaflet", text(said.format(24), "english"))
    db.execute("CALL tq.work(60, TRUE)")
    [row] = rows(db, "SELECT * FROM tq.ask(NULL, %s, 'history')", question)
    assert (row["certainty"], row["disagreement"], row["detail"]["versions"]) == ("disputed", True, [])


def test_a_document_that_contradicts_itself_is_flagged(db: Connection) -> None:
    load(
        db,
        "a",
        text("The fee for a missed visit is 25 euros.\n\nThe fee for a missed visit is 40 euros.", "english"),
    )
    db.execute("CALL tq.work(60, TRUE)")
    found = rows(db, "SELECT * FROM tq.ask('a', 'What is the fee for a missed visit?')")
    assert [row["certainty"] for row in found[:2]] == ["disputed", "disputed"]
    assert found[0]["detail"]["contradictions"][0]["side"] == "same document"


def test_many_sides_are_counted_and_the_flag_does_not_hang_on_the_budget_of_pairs(db: Connection) -> None:
    with db.transaction():
        for number in range(40):
            load(db, f"doc/{number}", f"The fee for a missed visit is {20 + number} euros.\n")
    db.execute("CALL tq.work(60, TRUE)")
    db.execute("INSERT INTO tq.strategy (name, top_n, pairs) VALUES ('none', 1, 0)")
    [row] = rows(db, "SELECT * FROM tq.ask(NULL, 'What is the fee for a missed visit?', 'none')")
    assert row["disagreement"]
    assert len(row["detail"]["contradictions"]) == 39 == row["held_back"]
    assert "36 more answers" in row["why"]
    assert value(db, "SELECT count(*) FROM tq.model_call WHERE purpose = 'compare'") == 0


def test_a_read_only_session_gets_what_is_held_back_in_the_detail(db: Connection, url: str) -> None:
    load(db, "a", "The fee for a missed visit is 25 euros.\n")
    load(db, "b", "The fee for a missed visit is 40 euros.\n")
    db.execute("CALL tq.work(60, TRUE)")
    db.execute("INSERT INTO tq.strategy (name, top_n) VALUES ('one', 1)")
    with psycopg.connect(url, autocommit=True) as reader:
        reader.execute("SET default_transaction_read_only = on")
        [row] = rows(reader, "SELECT * FROM tq.ask(NULL, 'What is the fee for a missed visit?', 'one')")
    assert (row["held_back"], row["disagreement"]) == (1, True)
    [held] = row["detail"]["held_back"]
    assert held["document"] == row["detail"]["contradictions"][0]["document"]
