"""Facts, and the mechanical check of a bullet against its lines."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tq.text.facts import facts, missing_facts, names, negations


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "Dr. Anna Smith of Acme Corp. did not pay $5.20 on 12 March 2024 under EX-10.1.",
            {
                ("name", "Dr. Anna Smith of Acme Corp"),
                ("negation", "not"),
                ("number", "$5.20"),
                ("date", "12 March 2024"),
                ("identifier", "EX-10.1"),
            },
        ),
        ("see n-0412 and bob@example.org", {("identifier", "n-0412"), ("identifier", "bob@example.org")}),
        ("病人不得取消预约。", {("negation", "不得")}),
        ("Die Frist ist nicht 2 Wochen.", {("negation", "nicht"), ("number", "2 Wochen")}),
        ("No. 5 is open.", {("number", "5")}),
    ],
)
def test_facts(text: str, expected: set[tuple[str, str]]) -> None:
    assert {(fact.kind, fact.text) for fact in facts(text)} == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("You can't and mustn't.", ["can't", "mustn't"]),
        ("Never without a key, except on Sunday", ["Never", "without", "except"]),
        ("kein Termin ohne Anruf", ["kein", "ohne"]),
        ("No. 5", []),
        ("a sin of pride", []),
    ],
)
def test_negations(text: str, expected: list[str]) -> None:
    assert [word for word, _, _ in negations(text)] == expected


@pytest.mark.parametrize(
    ("bullet", "lines", "missing"),
    [
        ("Cancel within 48 hours.", "Patients must cancel within 24 hours. 48 people came.", ["48 hours"]),
        ("The fee is $25", "A fee of $25 applies", []),
        ("The fee is $25", "A fee of $250 applies", ["$25"]),
        ("It takes 6 weeks", "It takes six weeks", ["6 weeks"]),
        ("It takes 16 weeks", "It takes 6 weeks", ["16 weeks"]),
        ("A 24-hour rule", "notice of 24 hours is the rule", []),
        ("24 days", "notice of 24 hours", ["24 days"]),
        ("Smith approved it", "Jones approved it", ["Smith"]),
        ("The request went to Anna Jones", "Anna Smith got the request", ["Anna Jones"]),
        ("Approved by Dr. Smith", "Dr. Smith approved it", []),
        ("Patients may cancel online", "Patients may not cancel online.", ["not"]),
        ("Patients may not cancel online", "Patients may cancel online.", ["not"]),
        ("There is no fee", "There's no fee", []),
        ("See EX-10.2", "See EX-10.1", ["EX-10.2"]),
        ("It began in 2023", "It began in 2024", ["2023"]),
        ("Meet on 12 March 2024", "They meet on 13 March 2024", ["12 March 2024"]),
        ("", "anything", []),
    ],
)
def test_missing_facts(bullet: str, lines: str, missing: list[str]) -> None:
    assert missing_facts(bullet, lines) == missing


def test_a_fact_may_run_over_lines() -> None:
    assert missing_facts("a fee of $25 on 12 March 2024", ["a fee of", "$25 on 12", "March 2024"]) == []


@given(st.text(alphabet="abc NOTnot 0123.,-$%\n", max_size=200))
def test_lines_hold_their_own_facts(text: str) -> None:
    assert missing_facts(text, text) == []


@given(st.text(max_size=200), st.text(max_size=200))
def test_never_raises(bullet: str, lines: str) -> None:
    missing_facts(bullet, lines)
    for fact in facts(bullet):
        assert bullet[fact.start : fact.end] == fact.text
    for name, start, end in names(bullet):
        assert bullet[start:end] == name


def test_a_question_of_100000_characters() -> None:
    text = "What does Dr. Anna Smith of Acme Corp. say on 12 March 2024 about EX-10.1 and $5.20? " * 1200
    started = time.process_time()
    assert missing_facts(text, text) == []
    assert time.process_time() - started < 5
