"""Which statements contradict each other. Through tq.ask, with documents, see tests/db/test_disagreement.py."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

from claim_pairs import CONTRADICTING, FURTHER_CONTRADICTING, FURTHER_NEAR, NEAR, Pair
from tq.text.claims import relation


def both_ways(pair: Pair) -> str:
    there = relation(pair.question, pair.first, pair.second, language=pair.language)
    back = relation(pair.question, pair.second, pair.first, language=pair.language)
    assert there == back, pair
    return there


def test_there_are_enough_pairs() -> None:
    assert len(CONTRADICTING) >= 30
    assert len(NEAR) >= 30


@pytest.mark.parametrize("pair", CONTRADICTING, ids=lambda pair: pair.first[:40])
def test_a_contradiction_is_found(pair: Pair) -> None:
    assert both_ways(pair) == "contradicts"


@pytest.mark.parametrize("pair", NEAR, ids=lambda pair: pair.first[:40])
def test_what_only_looks_like_one_is_none(pair: Pair) -> None:
    assert both_ways(pair) != "contradicts"


def test_of_further_pairs_few_are_missed() -> None:
    """Rules find no more than most of them; a language model reads them."""
    found = sum(both_ways(pair) == "contradicts" for pair in FURTHER_CONTRADICTING)
    wrong = sum(both_ways(pair) == "contradicts" for pair in FURTHER_NEAR)
    assert found >= 0.9 * len(FURTHER_CONTRADICTING)
    assert wrong <= 0.1 * len(FURTHER_NEAR)


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("The break lasts half an hour.", "The break lasts 30 minutes.", "same"),
        ("The film is 1 hour and 30 minutes long.", "The film is 90 minutes long.", "same"),
        ("The committee meets every three months.", "The committee meets quarterly.", "same"),
        ("The office in Berlin has 20 desks.", "The office in Hamburg has 20 desks.", "compatible"),
        ("The fee is 40 euros.", "The fee is 40 dollars.", "contradicts"),
        ("The fee is 40 euros a month.", "The fee is 480 euros a year.", "compatible"),
        # Only the sentences that bear on the question are held against each other.
        (
            "The fee is 40 euros. Room 3 is painted in 2 days.",
            "The fee is 40 euros. Room 4 is painted in 5 days.",
            "compatible",
        ),
        (
            "The fee is 40 euros. Room 3 is painted in 2 days.",
            "Pay on the spot. The fee is 60 euros.",
            "contradicts",
        ),
        ("No more than six people may use the lift.", "At most six people may use the lift.", "same"),
        ("", "The fee is 40 euros.", "unclear"),
    ],
)
def test_relations(first: str, second: str, expected: str) -> None:
    found = both_ways(Pair("What is the fee?", first, second))
    assert found == expected
