"""Recorded answers: in another order, as one text, with corrections, and the possible queries that documents bring."""

from __future__ import annotations

import html.parser
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.rows import dict_row

sys.path.insert(0, str(Path(__file__).parents[1]))

from ingest_help import Connection, value

QUESTION = "What is the fee for a missed visit?"


def rows(db: Connection, statement: str, *values: Any) -> list[dict[str, Any]]:
    with db.cursor(row_factory=dict_row) as cursor:
        return cursor.execute(statement, values).fetchall()


def refused(db: Connection, statement: str, *values: Any, code: str = "TQ021") -> psycopg.errors.Diagnostic:
    with pytest.raises(psycopg.Error) as caught:
        db.execute(statement, values)
    diag = caught.value.diag
    assert diag.sqlstate == code, caught.value
    assert diag.message_detail
    assert diag.message_hint
    return diag


def load(db: Connection, name: str, text: str, weight: float = 1) -> None:
    db.execute("SELECT tq.load_text(%s, %s, source_weight => %s::real)", [name, text, weight])
    db.execute("CALL tq.work(60, TRUE)")


@pytest.fixture
def corpus(db: Connection) -> Connection:
    load(db, "policy", "The fee for a missed visit is 25 euros.\n")
    load(db, "handbook", "The fee for a missed visit is 40 euros.\n", 3)
    load(db, "notes", "The fee for a missed visit of a child is <b>10</b> euros & no more.\n")
    return db


def asked(db: Connection, strategy: str = "default", question: str = QUESTION) -> list[dict[str, Any]]:
    return rows(db, "SELECT * FROM tq.ask(NULL, %s, %s)", question, strategy)


# ---------------------------------------------------------------- order


def test_a_question_is_put_in_another_order_without_a_model(corpus: Connection) -> None:
    corpus.execute(
        "INSERT INTO tq.strategy (name, top_n, weight_source, source_rule) VALUES"
        " ('paper', 2, 50, 'CASE name WHEN ''policy'' THEN 9 ELSE 1 END'), ('one', 1, 0, NULL)"
    )
    first = asked(corpus)
    query = first[0]["query_id"]
    assert first[0]["document"] == "handbook"
    calls = value(corpus, "SELECT count(*) FROM tq.model_call")
    again = rows(corpus, "SELECT * FROM tq.rerank(%s, 'paper')", query)
    assert [row["rank"] for row in again] == [1, 2]
    assert (again[0]["document"], again[0]["held_back"], again[0]["query_id"]) == ("policy", 1, query)
    assert again[0]["detail"]["ranking"]["source"] == 0.9
    assert again[0]["detail"]["ranking"]["weights"]["source"] == 50
    assert again[0]["detail"]["strategy"] == "paper"
    assert again[0]["detail"]["asked_by_strategy"] == {"name": "default", "version": 1}
    # The other side of a disagreement is named by its new rank.
    [other] = again[0]["detail"]["contradictions"]
    assert [row["document"] for row in again][other["rank"] - 1] == other["document"] == "handbook"
    assert rows(corpus, "SELECT * FROM tq.rerank(%s, 'paper')", query) == again
    assert [row["document"] for row in rows(corpus, "SELECT * FROM tq.rerank(%s, 'default')", query)] == [
        row["document"] for row in first
    ]
    assert value(corpus, "SELECT count(*) FROM tq.model_call") == calls
    assert value(corpus, "SELECT count(*) FROM tq.query") == 1
    [row] = rows(corpus, "SELECT * FROM tq.rerank(%s, 'one')", query)
    assert (row["disagreement"], row["held_back"]) == (True, 2)

    corpus.execute("SELECT tq.remove('policy')")
    left = rows(corpus, "SELECT * FROM tq.rerank(%s, 'default')", query)
    assert len(left) == 3  # of the one whose document is gone nothing is cited any more
    refused(corpus, "SELECT * FROM tq.rerank(%s, 'nobody')", query, code="TQ020")
    refused(corpus, "SELECT * FROM tq.rerank(%s, NULL)", query, code="TQ020")
    refused(corpus, "SELECT * FROM tq.rerank(gen_random_uuid(), 'default')")


def test_a_question_that_nothing_settles_stays_as_it_is(corpus: Connection) -> None:
    [row] = asked(corpus, question="Who designed the opera house?")
    [again] = rows(corpus, "SELECT * FROM tq.rerank(%s, 'default')", row["query_id"])
    assert (again["certainty"], again["rank"], again["score"]) == ("unsettled", 1, None)


@pytest.mark.parametrize("strategy", ["default", "lookup", "audit"])
def test_the_same_question_comes_in_the_same_order(corpus: Connection, strategy: str) -> None:
    orders = {tuple((row["document"], row["score"]) for row in asked(corpus, strategy)) for _ in range(4)}
    assert len(orders) == 1


def test_what_is_held_back_is_opened_in_one_step(corpus: Connection) -> None:
    corpus.execute("INSERT INTO tq.strategy (name, top_n) VALUES ('one', 1)")
    [row] = asked(corpus, "one")
    assert row["held_back"] == 2
    opened = rows(corpus, "SELECT * FROM tq.answers(%s, with_held_back => TRUE)", row["query_id"])
    assert [found["rank"] for found in opened] == [1, 2, 3]
    assert opened[0]["what"] == row["what"]


# ---------------------------------------------------------------- formats


class Outline(html.parser.HTMLParser):
    """Tags that are open, which have to be closed in order; and the text."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def test_answers_as_one_text(corpus: Connection) -> None:
    corpus.execute("INSERT INTO tq.strategy (name, top_n) VALUES ('two', 2)")
    query = asked(corpus, "two", "What is the fee for a missed visit of a <i>child</i>?")[0]["query_id"]

    def text(form: str | None, opened: bool = False) -> str:
        return str(value(corpus, "SELECT tq.answer_text(%s, %s, %s)", query, form, opened))

    page = Outline()
    page.feed(text("html"))
    assert page.open == []
    assert page.tags <= {
        "article", "h1", "h2", "p", "b", "section", "strong", "figure", "blockquote", "figcaption", "cite", "br"
    }  # fmt: skip
    assert "What is the fee for a missed visit of a <i>child</i>?" in page.text
    assert "is <b>10</b> euros & no more." in page.text
    assert "1 more ranked answer held back" in page.text

    document = json.loads(text("json"))
    assert (document["strategy"], document["held_back"], len(document["answers"])) == ("two", 1, 2)
    assert len(json.loads(text("json", True))["answers"]) == 3

    assert r"\<b\>10\</b\> euros \& no more." in text("markdown")
    plain = text("text")
    assert plain == text(None)
    assert "<b>10</b> euros & no more." in plain
    assert "notes, version 1, line 1" in plain
    assert "held back" not in text("text", True)
    for form in ("pdf", "rows", ""):
        refused(corpus, "SELECT tq.answer_text(%s, %s)", query, form)
    refused(corpus, "SELECT tq.answer_text(gen_random_uuid())")


def test_the_strategy_decides_on_format_and_language(
    corpus: Connection, url: str, tq_command: list[str]
) -> None:
    corpus.execute("INSERT INTO tq.strategy (name, format, language) VALUES ('bericht', 'html', 'german')")
    query = asked(corpus, "bericht")[0]["query_id"]
    # An old answer is written as its version of the strategy said.
    corpus.execute("UPDATE tq.strategy SET format = 'text', language = 'english' WHERE name = 'bericht'")
    text = value(corpus, "SELECT tq.answer_text(%s)", query)
    assert text.startswith("<article")
    assert "strittig" in text

    def command(*more: str, status: int = 0) -> str:
        done = subprocess.run(
            [*tq_command, "ask", "*", QUESTION, "--url", url, *more],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == status, done.stderr
        return done.stdout

    assert command("--strategy", "bericht").startswith(QUESTION)
    assert command("--format", "html").startswith("<article")
    assert len(json.loads(command("--format", "json"))["answers"]) == 3
    assert command("--format", "rows").startswith("1. disputed")
    command("--format", "pdf", status=2)
    command("--format", "html", "--json", status=2)
    corpus.execute(f'ALTER DATABASE "{corpus.info.dbname}" SET default_transaction_read_only = on')
    assert command("--format", "markdown").startswith("# What is the fee")


# ---------------------------------------------------------------- corrections


def test_a_correction_stands_beside_its_answer_and_becomes_a_test(corpus: Connection) -> None:
    first = asked(corpus)[0]
    correct = "SELECT tq.correct(%s, '30 euros', note => 'since May', citation => %s, test => TRUE)"
    citation = json.dumps({"document": "policy", "version": 1, "line_start": 1, "line_end": 1})
    value(corpus, correct, first["answer_id"], citation)
    value(corpus, "SELECT tq.correct(%s, NULL, 'nobody knows')", first["answer_id"])
    shown = rows(corpus, "SELECT * FROM tq.answers(%s)", first["query_id"])
    assert [
        (one["what"], one["note"], one["document"], one["line_start"], one["corrected_by"])
        for one in shown[0]["detail"]["corrections"]
    ] == [("30 euros", "since May", "policy", 1, "tq"), (None, "nobody knows", None, None, "tq")]
    assert "corrections" not in shown[1]["detail"]
    text = value(corpus, "SELECT tq.answer_text(%s)", first["query_id"])
    assert "Correction: 30 euros – since May (policy, version 1, line 1; by tq" in text
    [test] = rows(corpus, "SELECT * FROM tq.test_query")
    assert (test["document"], test["question"], test["strategy"], test["what"]) == (
        None,
        QUESTION,
        "default",
        "30 euros",
    )
    assert (test["expected_document"], test["line_start"], test["line_end"]) == ("policy", 1, 1)

    corpus.execute("SELECT tq.remove('policy')")
    shown = rows(corpus, "SELECT * FROM tq.answers(%s)", first["query_id"])
    assert shown[0]["detail"]["corrections"][0]["document"] is None
    corpus.execute("DELETE FROM tq.query")
    assert value(corpus, "SELECT count(*) FROM tq.correction") == 0
    assert value(corpus, "SELECT count(*) FROM tq.test_query WHERE correction_id IS NULL") == 1


def test_corrections_that_say_nothing_or_name_nothing_are_refused(corpus: Connection) -> None:
    answer = asked(corpus)[0]["answer_id"]
    refused(corpus, "SELECT tq.correct(%s, NULL)", answer)
    refused(corpus, "SELECT tq.correct(%s, '  ')", answer)
    refused(corpus, "SELECT tq.correct(%s, repeat('x', 10001))", answer)
    refused(corpus, "SELECT tq.correct(NULL, 'x')")
    refused(corpus, "SELECT tq.correct(gen_random_uuid(), 'x')")
    for citation, code in (
        ({"document": "policy"}, "TQ021"),
        ({"document": "policy", "line_start": 99}, "TQ021"),
        ({"document": "policy", "line_start": 0}, "TQ021"),
        ({"document": "gone", "line_start": 1}, "TQ001"),
        ({"document": "policy", "version": 9, "line_start": 1}, "TQ001"),
        ([1], "TQ021"),
    ):
        refused(corpus, "SELECT tq.correct(%s, 'x', citation => %s)", answer, json.dumps(citation), code=code)
    assert value(corpus, "SELECT count(*) FROM tq.correction") == 0


# ---------------------------------------------------------------- possible queries


def test_possible_queries_are_edited_at_any_time(corpus: Connection) -> None:
    def listed() -> list[str]:
        return [
            row["question"]
            for row in rows(
                corpus,
                "SELECT q.question FROM tq.possible_query AS q JOIN tq.document AS d ON d.id = q.document_id"
                " WHERE d.name = 'policy' AND d.current ORDER BY q.ordinal",
            )
        ]

    assert value(corpus, "SELECT tq.set_questions('policy', '{What is the fee?,Who pays?}')") == 2
    corpus.execute(
        "INSERT INTO tq.possible_query (document_id, question)"
        " SELECT id, 'When is it due?' FROM tq.document WHERE name = 'policy'"
    )
    assert listed() == ["What is the fee?", "Who pays?", "When is it due?"]
    load(corpus, "policy", "The fee for a missed visit is 26 euros.\n")
    assert listed() == ["What is the fee?", "Who pays?", "When is it due?"]  # of the next version, too
    assert value(corpus, "SELECT tq.set_questions('policy', NULL)") == 0
    assert listed() == []
    for questions in ("{NULL}", '{" "}', "{" + "x" * 1001 + "}"):
        refused(corpus, "SELECT tq.set_questions('policy', %s)", questions)
    refused(corpus, "SELECT tq.set_questions('nobody', '{a}')", code="TQ001")
    refused(corpus, "INSERT INTO tq.possible_query (document_id, question) SELECT id, ' ' FROM tq.document")
