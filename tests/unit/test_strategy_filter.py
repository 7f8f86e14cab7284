"""Expressions over documents: whatever is written, nothing but what is on the lists comes of it."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tq.strategy.filter import COLUMNS, FORMS, Compiled, Refused, parse

PIECES = [
    "name",
    "tags",
    "metadata",
    "->>",
    "'a'",
    "(",
    ")",
    "AND",
    "OR",
    "NOT",
    "=",
    "<",
    ">",
    "@>",
    "ANY",
    "IN",
    "1",
    "2.5",
    "*",
    "/",
]
PIECES += [
    "CASE",
    "WHEN",
    "THEN",
    "ELSE",
    "END",
    "BETWEEN",
    "IS",
    "NULL",
    "LIKE",
    "::int",
    "::date",
    "interval",
    "current_date",
    ",",
    ";",
]
PIECES += [
    "SELECT",
    "FROM",
    "pg_sleep",
    "lower",
    "coalesce",
    "ARRAY[",
    "]",
    "$1",
    ":x",
    "?",
    "--",
    "/*",
    "U&'x'",
    "E'\\n'",
    "t.name",
    "''",
]


def compiled(expression: str, kind: Any = "boolean") -> tuple[str, list[str]]:
    """The SQL of an expression by way of its stored form, and its literals."""
    made = Compiled()
    return made.sql(json.loads(json.dumps(parse(expression, kind)))), made.values


@given(st.lists(st.sampled_from(PIECES), max_size=14).map(" ".join) | st.text(max_size=60))
@settings(max_examples=300, deadline=None)
def test_a_text_is_refused_or_becomes_what_is_on_the_lists(text: str) -> None:
    for kind in ("boolean", "number"):
        try:
            sql, _ = compiled(text, kind)
        except Refused:
            continue
        # Every literal is a parameter: no quote, no comment and no semicolon is left.
        assert not re.search(r"['\";]|--|/\*", sql)
        words = set(re.findall(r"[a-z_]+(?=\()", sql))
        assert words <= {
            "lower", "upper", "length", "coalesce", "greatest", "least", "nullif", "number_of", "date_of", "boolean_of",
            "date_plus", "days_between",
        }  # fmt: skip
        assert set(re.findall(r"d\.([a-z_]+)", sql)) <= COLUMNS.keys()


def test_literals_are_parameters() -> None:
    sql, values = compiled(
        "name = 'x''; DROP TABLE t; --' AND version IN (1, 2) AND metadata ->> 'a\"b' IS NOT NULL"
    )
    assert values == ["x'; DROP TABLE t; --", "1", "2", 'a"b']
    assert "DROP" not in sql


@pytest.mark.parametrize(
    "tree",
    [
        ["column", "sha256"],
        ["column", "name; DROP TABLE t"],
        ["sql", "pg_sleep(9)"],
        ["number", "1); DROP TABLE t; --"],
        ["number", "1e99"],
        ["date", "today'"],
        ["interval", "1 day'; --"],
        ["boolean", "TRUE"],
        ["json", "{"],
        ["and", ["boolean", True]],
        ["in", ["column", "name"]],
        ["case", ["null"]],
        ["=", ["column", "name"], ["column", "name"], ["column", "name"]],
        ["text", ["nested"]],
        ["greatest"],
        [],
    ],
)
def test_a_stored_tree_that_was_forged_compiles_to_nothing(tree: list[Any]) -> None:
    with pytest.raises((ValueError, IndexError, TypeError)):
        Compiled().sql(tree)


def test_every_operation_has_as_many_places_as_it_takes() -> None:
    for name, form in FORMS.items():
        assert form.sql.count("{}") == len(form.takes), name


@pytest.mark.parametrize(
    ("expression", "seen", "hint"),
    [
        ("nmae = 'x'", "There is no column nmae.", "Did you mean name?"),
        ("loaded_at > now() - interval '30 days'", "It calls current_timestamp().", "current_date"),
        ("effective_on > current_date - 30", "It adds a number to a date.", "interval '30 days'"),
        ("effective_on > current_date - interval '2 fortnights'", "is not read", "6 months"),
        ("'x' <> ANY (tags)", "nearly always holds", "NOT ("),
        ("name ~ '^a'", "It calls regexp_like().", "LIKE"),
        ("(metadata ->> 'a')::inet = '1'", "It casts to inet.", "numeric"),
        ("metadata ->> 0 = 'a'", "something else than a key", "metadata ->> 'key'"),
        ("tags && ARRAY[1]", "something else than texts", "ARRAY["),
        ("line_count > 99999999999999999999", "too long", "15 digits"),
    ],
)
def test_what_is_refused_says_what_to_write(expression: str, seen: str, hint: str) -> None:
    with pytest.raises(Refused) as refused:
        parse(expression, "boolean")
    assert seen in refused.value.seen
    assert hint in refused.value.hint
