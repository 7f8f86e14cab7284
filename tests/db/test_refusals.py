"""Whatever a public function is given wrong is refused in words, by every one of them."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

Connection = psycopg.Connection[Any]

# By type of the argument: nothing; what is not there; what is none.
WRONG = {
    "text": (None, "nowhere", ""),
    "bytea": (None, b"", b"\0"),
    "uuid": (None, "00000000-0000-4000-8000-000000000000", None),
    "uuid[]": (None, ["00000000-0000-4000-8000-000000000000"], [None]),
    "text[]": (None, ["nowhere"], [None]),
    "jsonb": (None, '{"document": "nowhere", "version": 1, "line_start": 1, "line_end": 1}', '{"line_start": "x"}'),
    "integer": (None, 0, -1),
    "real": (None, 0, "NaN"),
    "date": (None, "infinity", "infinity"),
    "boolean": (None, False, None),
}  # fmt: skip
FUNCTIONS = """
    SELECT p.proname, array_agg(format_type(a.type, NULL) ORDER BY a.place)
    FROM pg_proc AS p CROSS JOIN LATERAL unnest(p.proargtypes) WITH ORDINALITY AS a (type, place)
    WHERE p.pronamespace = 'tq'::regnamespace AND p.prokind = 'f'
    GROUP BY p.oid, p.proname ORDER BY p.proname
"""


@pytest.mark.parametrize("kind", range(3), ids=["null", "absent", "none"])
def test_every_public_function_refuses_in_words(db: Connection, kind: int) -> None:
    functions = db.execute(FUNCTIONS).fetchall()
    assert len(functions) > 25
    for name, types in functions:
        arguments = ", ".join(f"%s::{each}" for each in types)
        error = failure(db, f'SELECT * FROM tq."{name}"({arguments})', [WRONG[each][kind] for each in types])
        if error is None:  # it is a value like others, or it has an answer in words
            continue
        said = error.diag
        what = f"{name}: {error.sqlstate} {said.message_primary}"
        assert error.sqlstate is not None, what
        assert error.sqlstate.startswith("TQ") or error.sqlstate == "55000", what  # pg_cron is not here
        assert said.message_primary, what
        assert said.message_primary[0].islower(), what
        assert said.message_detail, what
        assert said.message_hint, what
        assert "PL/Python" not in (said.context or ""), what


def failure(db: Connection, statement: str, values: list[Any]) -> psycopg.Error | None:
    try:
        db.execute(statement, values)
    except psycopg.Error as error:
        return error
    return None


def test_an_error_inside_python_keeps_its_state(db: Connection) -> None:
    """Of a state that PostgreSQL has no name for, plpy tells only in its data."""
    for statement in ("SELECT * FROM tq.estimate('nowhere')", "SELECT * FROM tq.ask('nowhere', 'What?')"):
        with pytest.raises(psycopg.Error) as caught:
            db.execute(statement)
        assert (caught.value.sqlstate, caught.value.diag.message_primary) == ("TQ001", "document not found")
        assert caught.value.diag.message_detail == 'Nothing is called "nowhere".'
