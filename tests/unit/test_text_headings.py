"""Headings, speakers, table rows; boundaries and passages built on them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tq.text.headings import heading_level, is_table_row, speaker
from tq.text.passages import Source, passages
from tq.text.segment import Row, boundaries


@pytest.mark.parametrize(
    ("line", "level"),
    [
        ("# One", 1),
        ("### Three", 3),
        ("1. Definitions", 2),
        ("1.2 Definitions", 3),
        ("1.2.3 Definitions", 4),
        ("ARTICLE IV", 2),
        ("PART II", 1),
        ("ARTICLE 5. TERM AND TERMINATION", 2),
        ("TERM AND TERMINATION", 2),
        ("第一章 总则", 1),
        ("12 March 2024", None),
        ("5. Patients must come at nine.", None),
        ("This is a sentence that goes on, as sentences do.", None),
        ("| a | b |", None),
        ("", None),
    ],
)
def test_heading_level(line: str, level: int | None) -> None:
    assert heading_level(line, "text.", "More text.") == level


def test_underlined_and_lonely_lines_are_headings() -> None:
    assert heading_level("Overview", "", "========") == 1
    assert heading_level("Overview", "", "--------") == 2
    assert heading_level("Overview of fees", "", "") == 3
    assert heading_level("Overview of fees", "text", "text") is None


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("Project Manager: Yes, I think so.", "Project Manager"),
        ("[00:12] Bob: hi", "Bob"),
        ("The following items: a, b", None),
        ("Note: closed", None),
        ("see: this", None),
    ],
)
def test_speaker(line: str, name: str | None) -> None:
    assert speaker(line) == name


def test_table_rows() -> None:
    assert is_table_row("| a | b |")
    assert is_table_row("a\tb\tc")
    assert is_table_row("Revenue      1,003     694")
    assert not is_table_row("A sentence.  Another one.")


DOCUMENT = [
    "Opening hours",
    "=============",
    "",
    "The clinic is open from nine to five. Doctors see patients by appointment only.",
    "The clinic is closed on Sundays.",
    "",
    "FEES",
    "",
    "A missed appointment costs 25 dollars.",
    "Prices are as follows:",
    "| item | price |",
    "|---|---|",
    "| visit | 40 |",
    "| check | 60 |",
    "",
    "Payment is due in thirty days.",
]


def test_boundaries_at_headings_and_tables() -> None:
    rows = [Row(number, text) for number, text in enumerate(DOCUMENT, 1)]
    found = {b.line: (b.title, b.level) for b in boundaries(rows, 1, len(rows), "english")}
    assert found[1] == ("Opening hours", 1)
    assert found[7] == ("FEES", 2)
    assert 10 in found  # the line that announces the table stays with it
    assert 16 in found
    assert not {2, 4, 5, 9, 12} & found.keys()


def test_boundaries_only_in_the_window_and_never_at_furniture() -> None:
    texts = ["HEADER", "FIRST", "Some text.", "SECOND", "More text.", "THIRD"]
    rows = [Row(number, text, "text" if number > 1 else "furniture") for number, text in enumerate(texts, 1)]
    assert [b.line for b in boundaries(rows, 4, 5)] == [4]
    assert [b.line for b in boundaries(rows, 1, 6)] == [2, 4, 6]


def test_a_change_of_subject_is_found() -> None:
    ships = ["The ship sailed across the ocean with its sailors and cargo to the harbour far away.", ""] * 6
    bread = ["Knead the dough with flour and yeast, then bake the bread in a hot oven until golden.", ""] * 6
    rows = [Row(number, text) for number, text in enumerate(ships + bread, 1)]
    assert [b.line for b in boundaries(rows, 1, len(rows), "english")] == [13]


def test_passages_know_their_parts() -> None:
    items = [
        Source(1, "# Fees", "heading", 1),
        Source(2, "A missed appointment costs"),
        Source(3, "twenty-five dollars. Pay soon."),
        Source(5, "| item | price |", "table"),
        Source(6, "| visit | 40 |", "table"),
        Source(7, "Page 3", "furniture"),
    ]
    found = passages(items)
    assert [(p.kind, p.text) for p in found] == [
        ("heading", "# Fees"),
        ("sentence", "A missed appointment costs twenty-five dollars."),
        ("sentence", "Pay soon."),
        ("header", "| item | price |"),
        ("row", "| visit | 40 |"),
    ]
    assert found[1].parts == [(1, 0, 26), (2, 0, 20)]
    assert "Fees" in found[1].context
    assert any("price" in text for text in found[4].context)


@given(st.lists(st.text(max_size=120), max_size=30))
def test_parts_are_verbatim(lines: list[str]) -> None:
    items = [Source(number, text.replace("\n", " ")) for number, text in enumerate(lines, 1)]
    for passage in passages(items):
        joined = " ".join(items[index].text[start:end] for index, start, end in passage.parts)
        assert " ".join(joined.split()) == " ".join(passage.text.split())
    rows = [Row(item.number, item.text) for item in items]
    known = {row.number for row in rows}
    assert all(b.line in known for b in boundaries(rows, 1, len(rows)))
