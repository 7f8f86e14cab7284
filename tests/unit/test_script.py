"""Where statements begin, counted as the server counts them."""

from __future__ import annotations

import pytest

from tq_loader.script import statement_starts


@pytest.mark.parametrize(
    ("text", "starts"),
    [
        ("", []),
        ("-- only; a comment", []),
        ("/* a; /* nested; */ one */", []),
        ("SELECT 1", [0]),
        (";;SELECT 1;;SELECT 2;", [2, 12]),
        ("SELECT ';''';\nSELECT 2", [0, 14]),
        (r"SELECT E'\';'; SELECT 2", [0, 15]),
        ('SELECT ";"";"; SELECT 2', [0, 15]),
        ("SELECT $a$ ; $b$ ; $$ $a$; SELECT 2", [0, 27]),
        ("SELECT a$b; SELECT 2", [0, 12]),
        ("SELECT $1; SELECT 2", [0, 11]),
        ("CREATE RULE r AS ON INSERT TO t DO (SELECT 1; SELECT 2); SELECT 3", [0, 57]),
        (
            "CREATE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT CASE a WHEN 1 THEN 1 END; END; SELECT 3",
            [0, 83],
        ),
        ("BEGIN; SELECT 1; END; SELECT 2", [0, 7, 17, 22]),
        ("-- first\n\n  SELECT 1", [12]),
        ("SELECT 'äö'; SELECT 2", [0, 13]),
    ],
)
def test_statement_starts(text: str, starts: list[int]) -> None:
    assert list(statement_starts(text)) == starts
