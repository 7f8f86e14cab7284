"""Sentences and pieces: where they end, and that nothing is lost."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tq.text.sentences import MAX_SENTENCE, pieces, sentences


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("Dr. Smith paid $1,250.50 on Jan. 5. He left.", 2),
        ("See e.g. the U.S. Army. It is big.", 2),
        ("In the U.S. The end.", 2),
        ("“Is it?” she asked. “Yes.”", 2),
        ("J. R. Smith, Inc. left.", 1),
        ("See No. 5. He said no. Then he left.", 3),
        ("Fig. 3 shows it. Section 4.2 holds.", 2),
        ("他来了。他走了！真的？是", 4),
        ("هل هذا صحيح؟ نعم.", 2),
        ("यह सच है। वह गया।", 2),
        ("Am 12. März kam er. Dann ging er.", 2),
        ("Das gilt z. B. am Montag. Sonst nicht.", 2),
        ("1. Title goes here. Second.", 2),
        ("| a. b | C. d |", 1),
        ("", 0),
        ("   ", 0),
    ],
)
def test_sentences(text: str, count: int) -> None:
    assert len(sentences(text)) == count


@given(st.text(max_size=600), st.integers(1, 200))
def test_sentences_are_in_order_and_lose_nothing(text: str, limit: int) -> None:
    spans = sentences(text, limit)
    last = 0
    for start, end in spans:
        assert last <= start < end <= len(text)
        assert end - start <= limit
        assert not text[last:start].strip()
        assert text[start:end] == text[start:end].strip()
        last = end
    assert not text[last:].strip()


@given(st.text(max_size=600), st.integers(1, 100))
def test_pieces_cover_exactly(text: str, limit: int) -> None:
    spans = pieces(text, limit)
    assert "".join(text[start:end] for start, end in spans) == text
    assert all(0 < end - start <= limit for start, end in spans) or text == ""
    assert spans[0][0] == 0
    assert spans[-1][1] == len(text)


def test_pieces_are_cut_at_sentences_then_at_words() -> None:
    text = "One two three. " * 40
    assert all(text[start:end].strip().endswith(".") for start, end in pieces(text, 100))
    words = "alpha beta gamma " * 40
    assert all(words[end - 1] == " " for _, end in pieces(words, 50)[:-1])


def test_pieces_refuse_no_room() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        pieces("a", 0)


@pytest.mark.parametrize("unit", ["x", "a ", "a. ", "A.", ", ", ".", "”"])
def test_a_line_of_megabytes(unit: str) -> None:
    text = unit * (2_000_000 // len(unit))
    started = time.process_time()
    assert all(end - start <= MAX_SENTENCE for start, end in sentences(text))
    assert pieces(text, 4000)[-1][1] == len(text)
    assert time.process_time() - started < 10
