"""Strategies as rows: what is refused and how, what is inherited, which versions are kept, what a scope does."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.rows import dict_row

sys.path.insert(0, str(Path(__file__).parents[1]))

from ingest_help import Connection, value

QUESTION = "How much notice is needed to cancel an appointment?"


def rows(db: Connection, statement: str, *values: Any) -> list[dict[str, Any]]:
    with db.cursor(row_factory=dict_row) as cursor:
        return cursor.execute(statement, values).fetchall()


def asked(
    db: Connection, doc: str | None, strategy: str = "default", question: str = QUESTION
) -> list[dict[str, Any]]:
    return rows(db, "SELECT * FROM tq.ask(%s, %s, %s)", doc, question, strategy)


def refused(db: Connection, statement: str, *values: Any, code: str = "TQ021") -> psycopg.errors.Diagnostic:
    with pytest.raises(psycopg.Error) as caught:
        db.execute(statement, values)
    diag = caught.value.diag
    assert diag.sqlstate == code, caught.value
    assert diag.message_detail
    assert diag.message_hint
    assert "plpy" not in str(caught.value)
    return diag


def effective(db: Connection, name: str) -> dict[str, tuple[str | None, str]]:
    found = rows(db, "SELECT * FROM tq.strategy_effective(%s)", name)
    return {row["setting"]: (row["value"], row["comes_from"]) for row in found}


def load(db: Connection, name: str, text: str, **more: Any) -> None:
    types = {"tags": "text[]", "effective_on": "date", "metadata": "jsonb", "source_weight": "real"}
    names = "".join(f", {key} => %s::{types[key]}" for key in more)
    db.execute(f"SELECT tq.load_text(%s, %s{names})", [name, text, *more.values()])
    db.execute("CALL tq.work(60, TRUE)")


# ---------------------------------------------------------------- values that do not fit


@pytest.mark.parametrize(
    ("column", "written", "seen"),
    [
        ("top_n", "0", "It is 0."),
        ("top_n", "1000000", "It is 1000000."),
        ("weight_fit", "-1", "It is -1."),
        ("weight_fit", "'NaN'", "It is NaN."),
        ("weight_source", "'Infinity'", "It is Infinity."),
        ("documents", "0", "It is 0."),
        ("evidence", "'hearsay'", 'It is "hearsay".'),
        ("max_calls", "0", "It is 0."),
        ("max_cost", "-3", "It is -3."),
        ("max_cost", "'NaN'", "It is NaN."),
        ("max_seconds", "'NaN'", "It is NaN."),
        ("pairs", "-1", "It is -1."),
        ("format", "'pdf'", 'It is "pdf".'),
        ("language", "'klingon'", 'It is "klingon".'),
        ("versions", "'some'", 'It is "some".'),
        ("on_error", "'ignore'", 'It is "ignore".'),
    ],
)
def test_a_wrong_value_is_refused_when_it_is_written(
    db: Connection, column: str, written: str, seen: str
) -> None:
    diag = refused(db, f"INSERT INTO tq.strategy (name, {column}) VALUES ('wrong', {written})")
    assert diag.message_primary == f"invalid value for tq.strategy.{column}"
    assert diag.message_detail == seen
    db.execute("INSERT INTO tq.strategy (name) VALUES ('right')")
    diag = refused(db, f"UPDATE tq.strategy SET {column} = {written} WHERE name = 'right'")
    assert diag.message_detail == seen
    assert value(db, "SELECT count(*) FROM tq.strategy_version WHERE strategy = 'wrong'") == 0


@pytest.mark.parametrize(
    ("expression", "seen"),
    [
        ("colour = 'red'", "There is no column colour."),
        ("name IN (SELECT name FROM tq.document)", "It holds a SELECT."),
        ("EXISTS (SELECT 1)", "It holds a SELECT."),
        ("pg_sleep(10) IS NULL", "It calls pg_sleep()."),
        ("pg_read_file('/etc/passwd') <> ''", "It calls pg_read_file()."),
        ("true; DROP TABLE tq.document", "It has a semicolon: it is one expression, and no statement."),
        ("name = 'a' OR", "cannot be read"),
        ("true) OR (true", "cannot be read"),
        ("", "It is empty."),
        ("name", "It gives a text, and not true or false."),
        ("metadata ->> 'year' > 2020", "It puts together a text with a number."),
        ("effective_on > '2024-02-31'", "'2024-02-31' is no date."),
        ("name = $1", "It has a parameter"),
        ("name = NULL", "It compares with NULL"),
        ("d.name = 'a'", "It names d.name."),
        ("tq.document.name = 'a'", "It names"),
        ("name LIKE 'a\\'", "backslash"),
        ("sha256 IS NOT NULL", "There is no column sha256."),
        ("(" * 400 + "true" + ")" * 400, ""),
        ("name = " + repr("x" * 5000), "It has 5,009 characters"),
    ],
)
def test_a_scope_that_is_more_than_a_condition_is_refused(db: Connection, expression: str, seen: str) -> None:
    diag = refused(db, "INSERT INTO tq.strategy (name, scope) VALUES ('wrong', %s)", expression)
    assert diag.message_primary == "invalid value for tq.strategy.scope"
    assert seen in str(diag.message_detail)


@pytest.mark.parametrize("expression", ["current", "'many'", "weight * 2", "1; 2", "random()", "(SELECT 1)"])
def test_a_source_rule_that_gives_no_number_is_refused(db: Connection, expression: str) -> None:
    diag = refused(db, "INSERT INTO tq.strategy (name, source_rule) VALUES ('wrong', %s)", expression)
    assert diag.message_primary == "invalid value for tq.strategy.source_rule"


def test_weights_that_are_all_zero_are_refused_also_when_inherited(db: Connection) -> None:
    zero = "weight_evidence = 0, weight_agreement = 0, weight_source = 0"
    refused(db, f"UPDATE tq.strategy SET {zero}, weight_fit = 0 WHERE name = 'default'")
    db.execute("INSERT INTO tq.strategy (name, weight_fit) VALUES ('flat', 0)")
    diag = refused(db, f"UPDATE tq.strategy SET {zero} WHERE name = 'default'")
    assert '"flat"' in str(diag.message_detail)
    db.execute(f"UPDATE tq.strategy SET {zero} WHERE name = 'lookup'")


def test_inheritance_that_goes_round_or_nowhere_is_refused(db: Connection) -> None:
    db.execute("INSERT INTO tq.strategy (name, inherits) VALUES ('c', 'b'), ('b', 'a'), ('a', 'default')")
    diag = refused(db, "UPDATE tq.strategy SET inherits = 'c' WHERE name = 'a'")
    assert "a from c from b from a" in str(diag.message_detail)
    refused(db, "UPDATE tq.strategy SET inherits = 'a' WHERE name = 'a'")
    refused(db, "UPDATE tq.strategy SET inherits = 'a' WHERE name = 'default'")
    refused(db, "UPDATE tq.strategy SET inherits = NULL WHERE name = 'a'")
    refused(db, "INSERT INTO tq.strategy (name, inherits) VALUES ('d', 'nobody')", code="TQ020")
    refused(db, "DELETE FROM tq.strategy WHERE name = 'b'", code="TQ020")
    refused(db, "DELETE FROM tq.strategy")
    refused(db, "UPDATE tq.strategy SET name = 'other' WHERE name = 'default'")
    refused(db, "UPDATE tq.strategy SET top_n = NULL WHERE name = 'default'")
    refused(db, "INSERT INTO tq.strategy (name, model) VALUES ('e', 'nobody')", code="TQ020")
    refused(db, "INSERT INTO tq.strategy (name, model_read) VALUES ('e', 'nobody')", code="TQ020")
    db.execute("DELETE FROM tq.strategy WHERE name IN ('a', 'b', 'c')")


def test_a_setting_that_does_not_fit_says_so(db: Connection) -> None:
    diag = refused(db, "UPDATE tq.setting SET value = '0' WHERE name = 'max_attempts'")
    assert diag.message_hint == "A number from 1 to 100."
    diag = refused(db, "UPDATE tq.setting SET value = '\"everywhere\"' WHERE name = 'possible_queries'")
    assert "root" in str(diag.message_hint)


def test_rules_that_do_not_fit_are_refused_where_they_are_inherited(db: Connection) -> None:
    db.execute(
        "INSERT INTO tq.model (name, driver, input_tokens, output_tokens, summary_tokens)"
        " VALUES ('wide', 'extractive', 20000, 1024, 384)"
    )
    db.execute(
        "INSERT INTO tq.strategy (name, model, reasoning_rules) VALUES ('wordy', 'wide', repeat('r', 3900))"
    )
    db.execute("INSERT INTO tq.strategy (name, inherits) VALUES ('heir', 'wordy')")
    diag = refused(db, "UPDATE tq.strategy SET model_read = 'extractive' WHERE name = 'heir'")
    assert '"heir" has 3900 characters' in str(diag.message_detail)


# ---------------------------------------------------------------- inheritance and versions


def test_a_strategy_says_what_it_changes_and_inherits_the_rest(db: Connection) -> None:
    db.execute("INSERT INTO tq.strategy (name, top_n) VALUES ('one', 1)")
    db.execute("INSERT INTO tq.strategy (name, inherits, max_calls) VALUES ('heir', 'one', 9)")
    db.execute("INSERT INTO tq.strategy (name, inherits, max_calls) VALUES ('free', 'heir', -1)")
    found = effective(db, "heir")
    assert found["top_n"] == ("1", "one")
    assert found["max_calls"] == ("9", "heir")
    assert found["routes"] == ("8", "default")
    db.execute("UPDATE tq.strategy SET top_n = 2 WHERE name = 'one'")
    db.execute("UPDATE tq.strategy SET routes = 4 WHERE name = 'default'")
    found = effective(db, "free")
    assert (found["top_n"], found["routes"], found["max_calls"]) == (
        ("2", "one"),
        ("4", "default"),
        ("-1", "free"),
    )
    refused(db, "SELECT * FROM tq.strategy_effective('oen')", code="TQ020")
    refused(db, "SELECT * FROM tq.strategy_effective(NULL)", code="TQ020")
    refused(db, "SELECT * FROM tq.strategy_effective('one', 77)", code="TQ020")


def test_an_old_answer_names_the_version_it_was_given_under(db: Connection) -> None:
    load(db, "a.md", "Notice of 24 hours is needed to cancel an appointment.")
    db.execute("INSERT INTO tq.strategy (name, top_n) VALUES ('one', 1)")
    [old] = asked(db, "a.md", "one")
    assert old["detail"]["strategy_version"] == 1
    # What it inherits is a part of what it amounts to.
    db.execute("UPDATE tq.strategy SET routes = 3 WHERE name = 'default'")
    db.execute("UPDATE tq.strategy SET description = 'the best one' WHERE name = 'one'")
    [new] = asked(db, "a.md", "one")
    assert new["detail"]["strategy_version"] == 2
    told = "SELECT strategy_version FROM tq.query WHERE id = %s"
    assert [value(db, told, row["query_id"]) for row in (old, new)] == [1, 2]
    db.execute("DELETE FROM tq.strategy WHERE name = 'one'")
    then = rows(db, "SELECT * FROM tq.strategy_effective('one', 1) WHERE setting IN ('routes', 'top_n')")
    assert [(row["setting"], row["value"], row["comes_from"]) for row in then] == [
        ("routes", "8", "default"),
        ("top_n", "1", "one"),
    ]
    # A question is replayed by the version it was asked under, and that one is still known.
    [again] = rows(db, "SELECT * FROM tq.replay(%s)", old["query_id"])
    assert again["what"] == old["what"]
    db.execute("INSERT INTO tq.strategy (name, top_n) VALUES ('one', 4)")
    assert value(db, "SELECT max(version) FROM tq.strategy_version WHERE strategy = 'one'") == 3


# ---------------------------------------------------------------- scope and sources

TEXT = "Notice of {} hours is needed to cancel an appointment."


@pytest.fixture
def corpus(db: Connection) -> Connection:
    load(
        db, "policy", TEXT.format(24), tags=["signed", "clinic"], effective_on="2024-01-01",
        metadata=json.dumps({"year": "2024", "state": {"signed": True}}),
    )  # fmt: skip
    load(
        db, "handbook", TEXT.format(48), tags=["draft"], effective_on="2021-05-01", metadata='{"year": "n/a"}'
    )
    load(db, "notes", TEXT.format(72), source_weight=0.2)
    return db


@pytest.mark.parametrize(
    ("scope", "inside"),
    [
        ("'signed' = ANY (tags)", {"policy"}),
        ("NOT 'signed' = ANY (tags)", {"handbook", "notes"}),
        ("tags && ARRAY['signed', 'draft']", {"policy", "handbook"}),
        ("tags @> '{signed,clinic}'", {"policy"}),
        ("(metadata ->> 'year')::int >= 2024", {"policy"}),
        ("metadata @> '{\"state\": {\"signed\": true}}'", {"policy"}),
        ("metadata -> 'state' ->> 'signed' = 'true'", {"policy"}),
        ("metadata ? 'year'", {"policy", "handbook"}),
        ("effective_on >= '2023-01-01'", {"policy"}),
        ("effective_on BETWEEN '2021-01-01' AND '2021-12-31'", {"handbook"}),
        ("effective_on IS NULL OR effective_on < current_date - interval '1 year'", {"policy", "handbook", "notes"}),
        ("coalesce(effective_on, loaded_at) = current_date", {"notes"}),
        ("name LIKE 'p%' OR lower(name) IN ('notes', 'x')", {"policy", "notes"}),
        ("name NOT LIKE '%o%' OR source_weight < 0.5", {"notes"}),
        ("source_weight / (version - 1) > 1", set()),
        ("CASE WHEN current THEN line_count = 1 ELSE false END", {"policy", "handbook", "notes"}),
        ("title IS NOT DISTINCT FROM NULL", {"policy", "handbook", "notes"}),
    ],
)  # fmt: skip
def test_a_scope_chooses_documents(corpus: Connection, scope: str, inside: set[str]) -> None:
    corpus.execute("INSERT INTO tq.strategy (name, scope) VALUES ('scoped', %s)", [scope])
    if not inside:
        diag = refused(corpus, "SELECT * FROM tq.ask(NULL, 'notice', 'scoped')", code="TQ001")
        assert "scope of the strategy scoped" in str(diag.message_detail)
        return
    found = asked(corpus, None, "scoped")
    assert {row["document"] for row in found} == inside
    assert all("scope" not in (row["missing"] or "") for row in found)
    if len(inside) < 3:
        # What was named and is not in scope is said.
        assert "outside the scope of the strategy scoped" in asked(corpus, "*", "scoped")[0]["missing"]


@pytest.mark.parametrize(
    ("rule", "first"),
    [
        ("CASE WHEN 'draft' = ANY (tags) THEN 9 ELSE 1 END", "handbook"),
        ("CASE name WHEN 'notes' THEN 5 END", "notes"),
        ("source_weight", "policy handbook"),
        ("(effective_on - '2020-01-01')::numeric / 365", "policy"),
        ("1 - source_weight", "notes"),
        ("-5", "policy handbook notes"),
    ],
)
def test_a_source_rule_weighs_documents(corpus: Connection, rule: str, first: str) -> None:
    corpus.execute(
        "INSERT INTO tq.strategy (name, source_rule, weight_source) VALUES ('ruled', %s, 50)", [rule]
    )
    assert asked(corpus, None, "ruled")[0]["document"] in first.split()


def test_all_versions_of_what_was_named(db: Connection) -> None:
    load(db, "policy", TEXT.format(24))
    load(db, "policy", TEXT.format(36))
    db.execute("INSERT INTO tq.strategy (name, versions) VALUES ('history', 'all')")
    for doc in ("policy", "pol*", None):
        found = asked(db, doc, "history")
        assert {row["version"] for row in found} == {1, 2}, doc
        # The rule of default puts the current version first.
        assert found[0]["version"] == 2
    assert {row["version"] for row in asked(db, "policy@1", "history")} == {1}
    assert {row["version"] for row in asked(db, "policy")} == {2}


def test_models_by_purpose_go_before_the_model_of_all(
    db: Connection, add_model: Callable[[str], None]
) -> None:
    load(db, "a.md", TEXT.format(24))
    load(db, "b.md", TEXT.format(48))
    for name in ("all", "reader", "planner", "comparer"):
        add_model(name)
    db.execute(
        "INSERT INTO tq.strategy (name, model, model_read, model_plan, model_compare)"
        " VALUES ('many', 'all', 'reader', 'planner', 'comparer'), ('few', 'all', 'reader', NULL, NULL)"
    )
    for strategy, plan, compare in (("many", "planner", "comparer"), ("few", "all", "all")):
        query = asked(db, "*", strategy)[0]["query_id"]
        used = dict(
            db.execute(
                "SELECT purpose, max(model) FROM tq.model_call WHERE query_id = %s GROUP BY 1", [query]
            )
        )
        assert used == {"plan": plan, "read": "reader", "compare": compare}


@pytest.fixture
def add_model(db: Connection) -> Callable[[str], None]:
    def add(name: str) -> None:
        db.execute(
            "INSERT INTO tq.model (name, driver, input_tokens, output_tokens, summary_tokens)"
            " VALUES (%s, 'extractive', 4096, 1024, 384)",
            [name],
        )

    return add


def test_two_sessions_that_change_strategies_take_turns(db: Connection, url: str) -> None:
    """Neither sees what the other has not committed; together they would make a circle."""
    db.execute("INSERT INTO tq.strategy (name) VALUES ('a'), ('b')")
    with psycopg.connect(url) as first, psycopg.connect(url) as second, ThreadPoolExecutor(1) as pool:
        first.execute("UPDATE tq.strategy SET inherits = 'b' WHERE name = 'a'")
        waiting = pool.submit(second.execute, "UPDATE tq.strategy SET inherits = 'a' WHERE name = 'b'")
        first.commit()
        with pytest.raises(psycopg.Error) as caught:
            waiting.result()
        assert caught.value.sqlstate == "TQ021"
    assert value(db, "SELECT inherits FROM tq.strategy WHERE name = 'b'") == "default"


@pytest.mark.parametrize(
    "scope",
    [
        "effective_on - loaded_at > 3",
        "effective_on + interval '999 years' > current_date",
        "effective_on - interval '999 years' - interval '999 years' < '2000-01-01'",
        "(metadata ->> 'year')::numeric / (metadata ->> 'zero')::numeric > 1",
        "(metadata ->> 'day')::date > '2000-01-01'",
        "(metadata ->> 'flag')::boolean",
        "metadata -> 'year' ->> 'deeper' = 'x'",
        "source_weight * 999999999999999 * 999999999999999 > 1",
    ],
)
def test_nothing_in_a_document_makes_an_expression_fail(db: Connection, scope: str) -> None:
    for number, (dated, metadata) in enumerate(
        [
            ("infinity", '{"year": "n/a", "zero": "0", "day": "2024-02-31", "flag": "perhaps"}'),
            ("-infinity", '{"year": "2024", "zero": "0.0", "day": "0001-01-01", "flag": {}}'),
            ("9999-12-31", '{"year": [1], "zero": null, "day": "tomorrow", "flag": "yes"}'),
            (None, "{}"),
        ]
    ):
        load(db, f"odd {number}", TEXT.format(24), effective_on=dated, metadata=metadata)
    load(db, "kept", TEXT.format(24))
    db.execute("INSERT INTO tq.strategy (name, scope) VALUES ('odd', %s)", [f"({scope}) OR name = 'kept'"])
    assert "kept" in {c["document"] for row in asked(db, None, "odd") for c in row["citations"]}
