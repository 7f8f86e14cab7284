"""Follow-ups: picks, where the next question begins, what becomes of picks when documents change, and suggestions."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest
from psycopg.rows import dict_row

from tq.database.connection import Row, Statement
from tq.model.driver import Driver, Reply, open_driver
from tq.model.limits import Model
from tq.model.tasks import Task
from tq.thread.begin import follow_up
from tq_loader.database import PsycopgDatabase

Connection = psycopg.Connection[Any]

NOTICE = "How much notice is needed to cancel an appointment?"
POLICY = """# Clinic policy

## 1 Opening hours

The clinic is open from 08:00 to 18:00 on working days.
On Saturday it is open from 09:00 to 12:30.
The front door is locked ten minutes after closing.

## 2 Cancelling

### 2.1 Notice

A patient must give 24 hours' notice to cancel an appointment.
The notice may be given by telephone or at the desk.
Notice by letter counts from the day on which the letter arrives.

### 2.2 Late cancellation

A late cancellation is entered in the patient's record.
The doctor may decide to strike it out again.
Three entries in a year lead to a talk with the manager.

### 2.3 Missed visits

The fee for a missed visit is 35 EUR.
It is payable within 30 days.
The manager may waive the fee once a year.

## 3 Records

Records are kept for ten years after the last visit.
A copy of a record costs 5 EUR.
Records are never sent by e-mail.
"""


def load(db: Connection, name: str, text: str, *questions: str) -> None:
    db.execute("SELECT tq.load_text(%s, %s, questions => %s)", [name, text, list(questions)])
    db.execute("CALL tq.work(60, TRUE)")


@pytest.fixture
def clinic(db: Connection) -> Connection:
    load(
        db, "policy.md", POLICY, "What does a copy of a record cost?", "When is the clinic open on Saturday?"
    )
    return db


def rows(db: Connection, statement: str, *values: Any) -> list[dict[str, Any]]:
    with db.cursor(row_factory=dict_row) as cursor:
        return cursor.execute(statement, values).fetchall()


def one(db: Connection, statement: str, *values: Any) -> Any:
    row = db.execute(statement, values).fetchone()
    assert row is not None
    return row[0]


def ask(db: Connection, question: str, doc: str | None = "policy.md") -> dict[str, Any]:
    """The best answer."""
    return rows(db, "SELECT * FROM tq.ask(%s, %s)", doc, question)[0]


def picked(db: Connection, question: str = NOTICE) -> Any:
    """A thread with the best answer to a question picked."""
    return one(db, "SELECT tq.pick(answers => %s)", [ask(db, question)["answer_id"]])


def go_on(db: Connection, thread: Any, question: str, strategy: str | None = None) -> list[dict[str, Any]]:
    return rows(db, "SELECT * FROM tq.follow_up(%s, %s, %s)", thread, question, strategy)


def read_of(db: Connection, query: Any) -> list[dict[str, Any]]:
    return rows(db, "SELECT node_id, title, depth FROM tq.read WHERE query_id = %s ORDER BY ordinal", query)


def refused(db: Connection, statement: str, *values: Any) -> psycopg.Error:
    with pytest.raises(psycopg.Error) as caught:
        db.execute(statement, values)
    assert caught.value.diag.message_hint
    return caught.value


# ---------------------------------------------------------------- where a follow-up begins


def test_a_follow_up_is_searched_from_what_was_picked(clinic: Connection) -> None:
    first = ask(clinic, NOTICE)
    thread = one(clinic, "SELECT tq.pick(answers => %s)", [first["answer_id"]])
    row = go_on(clinic, thread, "What is the fee for a missed visit?")[0]
    assert (row["certainty"], row["what"]) == ("settled", "The fee for a missed visit is 35 EUR.")
    assert "because it was picked" in row["how"] or "because it stands beside what was picked" in row["how"]
    assert row["missing"] is None
    titles = {read["title"] for read in read_of(clinic, row["query_id"])}
    assert titles == {"2.1 Notice", "2.2 Late cancellation", "2.3 Missed visits"}
    assert rows(clinic, "SELECT thread_id, turn, question FROM tq.query WHERE id = %s", row["query_id"]) == [
        {"thread_id": thread, "turn": 1, "question": "What is the fee for a missed visit?"}
    ]
    assert one(clinic, "SELECT bool_and(ok) FROM tq.check(%s)", row["answer_id"])


def test_what_the_picks_do_not_answer_is_searched_from_the_root(clinic: Connection) -> None:
    row = go_on(clinic, picked(clinic), "For how many years are records kept?")[0]
    assert row["what"] == "Records are kept for ten years after the last visit."
    for said in (row["how"], row["missing"]):
        assert "Nothing picked or beside it answers the question: the search went on from the root." in said
    read = read_of(clinic, row["query_id"])
    assert {"2.1 Notice", "2.2 Late cancellation", "2.3 Missed visits", "3 Records"} <= {
        r["title"] for r in read
    }
    assert {r["depth"] for r in read} >= {0}


def test_a_strategy_may_keep_follow_ups_near_their_picks(clinic: Connection) -> None:
    clinic.execute("INSERT INTO tq.strategy (name, follow_up) VALUES ('near', 'near')")
    asked = "SELECT * FROM tq.follow_up(%s, %s, 'near')"
    (row,) = rows(clinic, asked, picked(clinic), "For how many years are records kept?")
    assert (row["what"], row["certainty"]) == (None, "unsettled")
    for said in (row["how"], row["missing"]):
        assert "and the strategy near searches no further" in said
    assert "3 Records" not in {r["title"] for r in read_of(clinic, row["query_id"])}
    found = rows(clinic, asked, picked(clinic), "What is the fee for a missed visit?")[0]
    assert (found["what"], found["missing"]) == ("The fee for a missed visit is 35 EUR.", None)
    with pytest.raises(psycopg.Error) as caught:
        clinic.execute("UPDATE tq.strategy SET follow_up = 'far' WHERE name = 'near'")
    assert (caught.value.sqlstate, caught.value.diag.message_hint) == ("TQ021", "widen, or near.")


def test_of_two_subjects_the_open_one_alone_goes_on_from_the_root(clinic: Connection) -> None:
    row = go_on(
        clinic, picked(clinic), "What is the fee for a missed visit, and what does a copy of a record cost?"
    )
    assert {r["what"] for r in row} >= {
        "The fee for a missed visit is 35 EUR.",
        "A copy of a record costs 5 EUR.",
    }
    assert "Nothing picked or beside it answers “" in row[0]["how"]
    assert "missed visit" not in row[0]["how"].split(": the search went on")[0]


def test_nothing_settles_a_follow_up(clinic: Connection) -> None:
    row = go_on(clinic, picked(clinic), "Who designed the Sydney Opera House?")[0]
    assert (row["certainty"], row["what"]) == ("unsettled", None)
    assert "Nothing picked or beside it answers the question" in row["how"]


def test_the_last_turn_alone_is_carried_on(clinic: Connection) -> None:
    thread = picked(clinic)
    answer = ask(clinic, "For how many years are records kept?")
    assert one(clinic, "SELECT tq.pick(answers => %s, thread => %s)", [answer["answer_id"]], thread) == thread
    row = go_on(clinic, thread, "What does a copy of a record cost?")[0]
    assert row["what"] == "A copy of a record costs 5 EUR."
    assert "2.1 Notice" not in {read["title"] for read in read_of(clinic, row["query_id"])}
    assert one(clinic, "SELECT max(turn) FROM tq.pick WHERE thread_id = %s", thread) == 2


def test_a_follow_up_takes_the_strategy_of_the_question_picked_from(clinic: Connection) -> None:
    clinic.execute("INSERT INTO tq.strategy (name, top_n) VALUES ('one', 1)")
    answer = rows(clinic, "SELECT * FROM tq.ask('policy.md', %s, 'one')", NOTICE)[0]
    thread = one(clinic, "SELECT tq.pick(answers => %s)", [answer["answer_id"]])
    assert go_on(clinic, thread, "What is the fee for a missed visit?")[0]["detail"]["strategy"] == "one"
    named = go_on(clinic, thread, "What is the fee for a missed visit?", "default")[0]
    assert named["detail"]["strategy"] == "default"
    assert refused(clinic, "SELECT * FROM tq.follow_up(%s, 'x', 'nope')", thread).sqlstate == "TQ020"


def test_a_follow_up_is_replayed(clinic: Connection) -> None:
    thread = picked(clinic)
    before = go_on(clinic, thread, "What is the fee for a missed visit?")
    clinic.execute("SELECT tq.pick(answers => %s, thread => %s)", [[before[0]["answer_id"]], thread])
    after = rows(clinic, "SELECT * FROM tq.replay(%s)", before[0]["query_id"])
    assert [row["what"] for row in after] == [row["what"] for row in before]
    assert after[0]["how"] == before[0]["how"]


def test_read_only_sessions_follow_up(clinic: Connection) -> None:
    thread = picked(clinic)
    threads = one(clinic, "SELECT count(*) FROM tq.query")
    clinic.execute("BEGIN READ ONLY")
    row = go_on(clinic, thread, "What is the fee for a missed visit?")[0]
    assert row["what"] == "The fee for a missed visit is 35 EUR."
    assert row["query_id"] is None
    assert rows(clinic, "SELECT * FROM tq.suggest(%s)", thread)
    clinic.execute("COMMIT")
    assert one(clinic, "SELECT count(*) FROM tq.query") == threads


def test_citations_of_a_read_only_question_are_picked(clinic: Connection) -> None:
    clinic.execute("BEGIN READ ONLY")
    answer = ask(clinic, NOTICE)
    clinic.execute("COMMIT")
    assert answer["answer_id"] is None
    thread = one(clinic, "SELECT tq.pick(citations => %s)", json.dumps(answer["citations"]))
    again = picked(clinic)
    places = "SELECT document_id, node_id, line_start, line_end, pinned FROM tq.pick WHERE thread_id = %s"
    assert rows(clinic, places, thread) == rows(clinic, places, again)
    one_of_them = json.dumps(answer["citations"][0])
    one(clinic, "SELECT tq.pick(citations => %s, thread => %s)", one_of_them, thread)
    row = go_on(clinic, thread, "What is the fee for a missed visit?")[0]
    assert row["what"] == "The fee for a missed visit is 35 EUR."


def test_threads_and_picks_hold_places_and_no_text(clinic: Connection) -> None:
    picked(clinic)
    texts = (
        "SELECT c.relname || '.' || a.attname FROM pg_attribute AS a JOIN pg_class AS c ON c.oid = a.attrelid"
        " WHERE c.oid IN ('tq.thread'::regclass, 'tq.pick'::regclass) AND a.attnum > 0"
        " AND a.atttypid IN ('text'::regtype, 'jsonb'::regtype, 'name'::regtype)"
    )
    assert clinic.execute(texts).fetchall() == [("thread.owner",)]


# ---------------------------------------------------------------- cost


class Counting(PsycopgDatabase):
    """Counts the statements of a question and the rows that came back."""

    statements = 0
    seen = 0

    def fetch(self, statement: Statement, *values: Any) -> list[Row]:
        found = super().fetch(statement, *values)
        self.statements += 1
        self.seen += len(found)
        return found


class Listening:
    """A driver that counts what it is told."""

    waits = False

    def __init__(self, driver: Driver, told: list[int]) -> None:
        self._driver = driver
        self._told = told

    def reply(self, task: Task[Any], stop: threading.Event) -> Reply:
        self._told.append(len(task.prompt()))
        return self._driver.reply(task, stop)


def test_the_two_hundredth_question_costs_no_more_than_the_second(clinic: Connection, url: str) -> None:
    thread = picked(clinic)
    questions = ("What is the fee for a missed visit?", "Who may strike out a late cancellation?")
    costs: list[tuple[int, int, int, list[int]]] = []
    with psycopg.connect(url) as connection:
        for number in range(200):
            database = Counting(connection)
            told: list[int] = []

            def opener(model: Model, told: list[int] = told) -> Listening:
                return Listening(open_driver(model), told)

            answer = follow_up(database, str(thread), questions[number % 2], None, opener)["shown"][0]
            connection.rollback()
            assert answer["certainty"] != "unsettled"
            costs.append((database.statements, database.seen, len(told), told))
            clinic.execute(
                "SELECT tq.pick(thread => %s, citations => %s)", [thread, json.dumps(answer["citations"])]
            )
    assert one(clinic, "SELECT count(DISTINCT turn) FROM tq.pick WHERE thread_id = %s", thread) == 201
    # From the second on each begins at what the one before answered: the same two places in turn.
    assert costs[-1] == costs[1]
    assert costs[-2] == costs[2]


# ---------------------------------------------------------------- picks that are none


def test_picks_that_are_none(clinic: Connection) -> None:
    answer = ask(clinic, NOTICE)
    unsettled = ask(clinic, "Who designed the Sydney Opera House?")
    key, gone = answer["answer_id"], "68a2affe-2a68-41c2-b7ab-f9203f02159b"
    citation = answer["citations"][0]
    by_answers = "SELECT tq.pick(answers => %s::uuid[])"
    for answers, said in (
        (None, "Nothing is picked"),
        ([], "Nothing is picked"),
        ([None], "NULL"),
        ([key, key], "twice"),
        ([gone], "no answer with the id"),
        ([unsettled["answer_id"]], "cites nothing"),
        ([key] * 101, "101 answers"),
    ):
        error = refused(clinic, by_answers, answers)
        assert (error.sqlstate, said in str(error.diag.message_detail)) == ("TQ021", True), said
    by_citations = "SELECT tq.pick(citations => %s::jsonb)"
    for citations, code, said in (
        ("[]", "TQ021", "Nothing is picked"),
        ("null", "TQ021", "Nothing is picked"),
        ("3", "TQ021", "number"),
        ("[3]", "TQ021", "Element 1 lacks"),
        ("{}", "TQ021", "Element 1 lacks document, version, line_start, line_end"),
        (json.dumps([citation, {**citation, "version": "1"}]), "TQ021", "Element 2 lacks version"),
        (json.dumps({**citation, "line_start": 0}), "TQ021", "lacks line_start"),
        (json.dumps({**citation, "line_end": 10**8}), "TQ021", "has 33 lines"),
        (json.dumps({**citation, "line_end": 1}), "TQ021", "cites lines"),
        (json.dumps({**citation, "line_end": 1.5}), "TQ021", "lacks line_end"),
        (json.dumps({**citation, "document": "other.md"}), "TQ001", "other.md"),
        (json.dumps({**citation, "version": 7}), "TQ001", "policy.md@7"),
    ):
        error = refused(clinic, by_citations, citations)
        assert (error.sqlstate, said in str(error.diag.message_detail)) == (code, True), (citations, said)
    assert one(clinic, "SELECT count(*) FROM tq.thread") == 0
    for function in ("tq.follow_up(%s::uuid, 'x')", "tq.suggest(%s::uuid)"):
        for thread in (None, gone):
            assert refused(clinic, f"SELECT * FROM {function}", thread).sqlstate == "TQ021"
    assert refused(clinic, "SELECT tq.pick(ARRAY[%s]::uuid[], %s)", key, gone).sqlstate == "TQ021"
    thread = picked(clinic)
    for question in (None, "", "  \n"):
        assert refused(clinic, "SELECT * FROM tq.follow_up(%s, %s)", thread, question).sqlstate == "TQ021"
    for n in (None, 0, -1, 10**6):
        assert refused(clinic, "SELECT * FROM tq.suggest(%s, %s::int)", thread, n).sqlstate == "TQ021"


@pytest.fixture
def role(clinic: Connection) -> Iterator[Callable[[str], None]]:
    made: list[str] = []

    def make(name: str) -> None:
        clinic.execute(f"CREATE ROLE {name} IN ROLE tq_reader")
        made.append(name)

    yield make
    clinic.execute("RESET ROLE")
    for name in made:
        clinic.execute(f"DROP ROLE {name}")


def test_threads_and_answers_are_their_owners_alone(clinic: Connection, role: Callable[[str], None]) -> None:
    role("thread_ann")
    role("thread_bob")
    clinic.execute("SET ROLE thread_ann")
    answer = ask(clinic, NOTICE)["answer_id"]
    thread = one(clinic, "SELECT tq.pick(answers => %s)", [answer])
    assert go_on(clinic, thread, "What is the fee for a missed visit?")[0]["certainty"] == "settled"
    assert one(clinic, "SELECT owner FROM tq.thread") == "thread_ann"
    for other in ("thread_bob", "tq"):  # a superuser's question goes by the same rule
        clinic.execute(f"SET ROLE {other}")
        assert refused(clinic, "SELECT tq.pick(answers => %s)", [answer]).sqlstate == "TQ021"
        assert refused(clinic, "SELECT * FROM tq.follow_up(%s, 'x')", thread).sqlstate == "TQ021"
        assert refused(clinic, "SELECT * FROM tq.suggest(%s)", thread).sqlstate == "TQ021"
    clinic.execute("SET ROLE thread_bob")
    own = ask(clinic, NOTICE)["answer_id"]
    assert refused(clinic, "SELECT tq.pick(answers => %s, thread => %s)", [own], thread).sqlstate == "TQ021"
    with pytest.raises(psycopg.Error):
        clinic.execute("SELECT tq_private.keep_picks(%s, '[]')", [thread])
    for table in ("thread", "pick"):
        assert one(clinic, f"SELECT count(*) FROM tq.{table}") == 0
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            clinic.execute(f"DELETE FROM tq.{table}")


# ---------------------------------------------------------------- documents that change


def test_picks_go_along_with_a_new_version_where_their_lines_did(clinic: Connection) -> None:
    thread = picked(clinic)
    newer = POLICY.replace(
        "## 1 Opening hours", "## 0 Preface\n\nThis is the policy of 2025.\n\n## 1 Opening hours"
    )
    load(clinic, "policy.md", newer.replace("35 EUR", "40 EUR"))
    row = go_on(clinic, thread, "What is the fee for a missed visit?")[0]
    assert (row["what"], row["version"]) == ("The fee for a missed visit is 40 EUR.", 2)
    assert "because it" in row["how"]
    assert row["missing"] is None
    assert len(read_of(clinic, row["query_id"])) == 3


def test_picks_whose_lines_changed_are_told_of(clinic: Connection) -> None:
    thread = picked(clinic)
    load(clinic, "policy.md", POLICY.replace("24 hours' notice", "48 hours' notice"))
    row = go_on(clinic, thread, "What is the fee for a missed visit?")[0]
    assert (row["what"], row["version"]) == ("The fee for a missed visit is 35 EUR.", 2)
    line = 1 + POLICY.split("\n").index("A patient must give 24 hours' notice to cancel an appointment.")
    said = f"line {line} of policy.md, picked in version 1, stands in version 2 no more"
    assert said in row["missing"]
    assert said in row["how"]
    assert row["detail"]["omissions"][0]["kind"] == "pick"
    assert "from its root" in row["how"]


def test_an_older_version_picked_on_purpose_is_stayed_with(clinic: Connection) -> None:
    load(clinic, "policy.md", POLICY.replace("35 EUR", "40 EUR"))
    answer = ask(clinic, NOTICE, "policy.md@1")
    thread = one(clinic, "SELECT tq.pick(answers => %s)", [answer["answer_id"]])
    row = go_on(clinic, thread, "What is the fee for a missed visit?")[0]
    assert (row["what"], row["version"]) == ("The fee for a missed visit is 35 EUR.", 1)


def test_documents_that_were_removed(clinic: Connection) -> None:
    load(
        clinic, "handbook.md", "# Front desk\n\nTo cancel a visit a patient calls the desk 48 hours before.\n"
    )
    answer = ask(clinic, NOTICE)
    other = ask(clinic, "How many hours before does a patient call the desk?", "handbook.md")
    both = one(clinic, "SELECT tq.pick(answers => %s)", [answer["answer_id"], other["answer_id"]])
    clinic.execute("SELECT tq.remove('handbook.md')")
    row = go_on(clinic, both, "What is the fee for a missed visit?")[0]
    assert row["what"] == "The fee for a missed visit is 35 EUR."
    assert "1 pick of documents that are gone was not searched" in row["missing"]
    assert rows(clinic, "SELECT * FROM tq.suggest(%s)", both)
    error = refused(clinic, "SELECT tq.pick(answers => %s)", [other["answer_id"]])
    assert error.sqlstate == "TQ001"

    clinic.execute("SELECT tq.remove('policy.md')")
    error = refused(clinic, "SELECT * FROM tq.follow_up(%s, 'What is the fee for a missed visit?')", both)
    assert error.sqlstate == "TQ001"
    assert "All documents that were picked in this thread are gone." in str(error.diag.message_detail)
    assert rows(clinic, "SELECT * FROM tq.suggest(%s)", both) == []
    clinic.execute("INSERT INTO tq.strategy (name, on_error) VALUES ('rows', 'row')")
    assert go_on(clinic, both, "What is the fee?", "rows")[0]["certainty"] == "failed"


# ---------------------------------------------------------------- suggestions


def test_suggestions_name_what_suggests_them(clinic: Connection) -> None:
    answer = rows(
        clinic,
        "SELECT * FROM tq.ask('policy.md', 'How much notice is needed to cancel an appointment, and who designed the"
        " Sydney Opera House?')",
    )[0]
    assert answer["certainty"] == "partial"
    thread = one(clinic, "SELECT tq.pick(answers => %s)", [answer["answer_id"]])
    found = rows(clinic, "SELECT * FROM tq.suggest(%s, 100)", thread)
    by_source: dict[str, list[str]] = {}
    for row in found:
        by_source.setdefault(row["source"], []).append(row["question"])
    assert set(by_source) <= {"unanswered part", "unopened child", "possible query"}
    assert ["Sydney Opera House" in part for part in by_source["unanswered part"]] == [True]
    assert by_source["possible query"] == [
        "What does a copy of a record cost?",
        "When is the clinic open on Saturday?",
    ]
    opened = {read["title"] for read in read_of(clinic, answer["query_id"])}
    children = {"2.1 Notice", "2.2 Late cancellation", "2.3 Missed visits"} - opened
    assert set(by_source.get("unopened child", [])) == {f"What does “{title}” say?" for title in children}
    assert rows(clinic, "SELECT * FROM tq.suggest(%s, 1)", thread) == found[:1]
    # each of these is a question that the thread can be asked
    for row in found:
        assert go_on(clinic, thread, row["question"])


def test_an_asked_question_is_not_suggested_again(clinic: Connection) -> None:
    thread = picked(clinic, "What does a copy of a record cost?")
    suggested = [row["question"] for row in rows(clinic, "SELECT * FROM tq.suggest(%s, 100)", thread)]
    assert "What does a copy of a record cost?" not in suggested
    assert "When is the clinic open on Saturday?" in suggested
    go_on(clinic, thread, "When is the clinic open on Saturday?")
    after = [row["question"] for row in rows(clinic, "SELECT * FROM tq.suggest(%s, 100)", thread)]
    assert "When is the clinic open on Saturday?" not in after
