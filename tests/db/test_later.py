"""Questions of the queue: rows as they are found, errors, rights, crashes, and what a worker holds meanwhile."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.rows import dict_row

sys.path.insert(0, str(Path(__file__).parents[1]))
from ingest_help import dead, load, terminate, value, work
from model_server import Data, ModelServer, well

Connection = psycopg.Connection[Any]

QUESTION = "How much notice is needed to cancel an appointment?"
POLICY = """# Clinic policy

A patient must give 24 hours' notice to cancel an appointment.
The fee for a missed visit is 35 EUR.
"""
HANDBOOK = """# Front desk handbook

To cancel an appointment a patient must give 48 hours' notice.
Forms are filed in the blue drawer.
"""


@pytest.fixture
def clinic(db: Connection) -> Connection:
    load(db, "policy.md", POLICY)
    load(db, "handbook.md", HANDBOOK)
    work(db)
    db.execute("INSERT INTO tq.strategy (name, on_error) VALUES ('rows', 'row')")
    return db


@pytest.fixture
def remote(clinic: Connection) -> Iterator[ModelServer]:
    """A model on loopback that answers well; the setting names it."""
    made = ModelServer()
    clinic.execute(
        "INSERT INTO tq.model (name, driver, remote_name, base_url, input_tokens, output_tokens, summary_tokens,"
        " concurrency, input_price, output_price) VALUES ('remote', 'openai', 'm', %s, 4096, 1024, 384, 8, 3, 15)",
        [made.url],
    )
    clinic.execute("UPDATE tq.setting SET value = '\"remote\"' WHERE name = 'model'")
    yield made
    made.close()


class Gate:
    """Holds back every call whose prompt holds certain words, until it is opened."""

    def __init__(self, remote: ModelServer, *words: str) -> None:
        self.words = words
        self.reached = threading.Event()
        self.open = threading.Event()
        remote.script = self

    def __call__(self, system: str, user: str) -> Data:
        if any(word in system + user for word in self.words):
            self.reached.set()
            assert self.open.wait(60)
        return well(system, user)


def rows(db: Connection, statement: str, *values: Any) -> list[dict[str, Any]]:
    with db.cursor(row_factory=dict_row) as cursor:
        return cursor.execute(statement, values).fetchall()


def later(
    db: Connection, question: str = QUESTION, doc: str | None = "*.md", strategy: str = "default"
) -> Any:
    return value(db, "SELECT tq.ask_later(%s, %s, %s)", doc, question, strategy)


def answers(db: Connection, query: Any) -> list[dict[str, Any]]:
    return rows(db, "SELECT * FROM tq.answers(%s)", query)


def state(db: Connection, query: Any) -> dict[str, Any]:
    return rows(db, "SELECT * FROM tq.query WHERE id = %s", query)[0]


def waiting(db: Connection) -> int:
    return int(value(db, "SELECT count(*) FROM pgmq.q_tq_ask"))


@contextmanager
def working(
    url: str, seconds: int = 60, until_empty: bool = True
) -> Iterator[tuple[Connection, Future[Any]]]:
    """A session inside CALL tq.work()."""
    with ThreadPoolExecutor(1) as pool, psycopg.connect(url, autocommit=True) as session:
        future = pool.submit(session.execute, f"CALL tq.work({seconds}, {until_empty})")
        try:
            yield session, future
        finally:
            session.cancel()


def told(listener: Connection, done: Callable[[dict[str, Any]], bool]) -> list[dict[str, Any]]:
    """Notifications up to the one that is wanted."""
    found: list[dict[str, Any]] = []
    for notice in listener.notifies(timeout=60):
        found.append(json.loads(notice.payload))
        if done(found[-1]):
            return found
    raise AssertionError(f"it never came: {found}")


def eventually(seen: Callable[[], bool]) -> None:
    for _ in range(1200):
        if seen():
            return
        time.sleep(0.05)
    raise AssertionError("it never came")


def same(answer: dict[str, Any]) -> dict[str, Any]:
    """Without times and ids."""
    cost = {"elapsed_ms", "cost"}
    detail = {key: item for key, item in answer["detail"].items() if key not in cost}
    return {k: v for k, v in answer.items() if k not in ("answer_id", "query_id", "detail")} | {
        "detail": detail
    }


# ---------------------------------------------------------------- from the queue to the answer


@pytest.mark.parametrize("outside", [False, True])
def test_a_question_of_the_queue_gets_what_tq_ask_answers(
    clinic: Connection, url: str, tq_command: list[str], outside: bool
) -> None:
    query = later(clinic)
    assert state(clinic, query) | {"status": "waiting", "model": None, "reads": 0} == state(clinic, query)
    assert answers(clinic, query) == []
    assert rows(clinic, "SELECT waiting FROM tq.queue WHERE queue = 'tq_ask'") == [{"waiting": 1}]
    assert "waiting" in value(clinic, "SELECT tq.explain(%s) LIMIT 1", query)
    with pytest.raises(psycopg.Error) as caught:
        clinic.execute("SELECT * FROM tq.replay(%s)", [query])
    assert caught.value.sqlstate == "TQ021"
    told = subprocess.run(
        [*tq_command, "status", "--url", url], check=True, capture_output=True, text=True
    ).stdout
    assert str(query) in told
    if outside:
        subprocess.run([*tq_command, "worker", "--url", url, "--until-empty"], check=True)
    else:
        work(clinic)
    found = answers(clinic, query)
    direct = rows(clinic, "SELECT * FROM tq.ask('*.md', %s)", QUESTION)
    assert [same(answer) for answer in found] == [same(answer) for answer in direct]
    kept = state(clinic, query)
    assert (kept["status"], kept["model"], kept["error"]) == ("answered", "extractive", None)
    assert kept["reads"] == found[0]["detail"]["reads"]
    assert kept["asked_at"] <= kept["started_at"] <= kept["finished_at"]
    assert waiting(clinic) == 0
    assert all(row["ok"] for row in rows(clinic, "SELECT * FROM tq.check(%s)", found[0]["answer_id"]))
    assert len(rows(clinic, "SELECT * FROM tq.explain(%s)", query)) > 5
    assert len(rows(clinic, "SELECT * FROM tq.replay(%s)", query)) == len(found)
    assert value(clinic, "SELECT tq.pick(answers => %s)", [found[0]["answer_id"]])


def test_rows_arrive_as_they_are_found_and_each_is_told(
    clinic: Connection, remote: ModelServer, url: str
) -> None:
    gate = Gate(remote, "48 hours' notice")  # the handbook's only leaf, and all that is compared with it
    clinic.execute("LISTEN tq_query")
    query = later(clinic)
    with working(url) as (_, work_done):
        first = told(clinic, lambda notice: "answer_id" in notice)[-1]
        assert first == {"query_id": str(query), "answer_id": first["answer_id"], "rank": 1, "final": False}
        assert gate.reached.wait(60)
        (early,) = answers(clinic, query)
        assert "24 hours" in early["what"]
        assert (early["certainty"], early["detail"]["final"]) == ("settled", False)
        assert str(early["answer_id"]) == first["answer_id"]
        assert all(row["ok"] for row in rows(clinic, "SELECT * FROM tq.check(%s)", early["answer_id"]))
        assert state(clinic, query)["status"] == "asking"
        assert state(clinic, query)["reads"] >= 1
        assert "24 hours" in value(clinic, "SELECT tq.answer_text(%s)", query)
        clinic.execute("SELECT tq.correct(%s, '36 hours')", [early["answer_id"]])
        gate.open.set()
        notices = told(clinic, lambda notice: "status" in notice)
        work_done.result(60)
    found = answers(clinic, query)
    assert {answer["certainty"] for answer in found} == {"disputed"}
    (kept,) = [answer for answer in found if answer["answer_id"] == early["answer_id"]]
    assert kept["detail"]["corrections"][0]["what"] == "36 hours"
    assert kept["citations"] == early["citations"]
    ids = [str(answer["answer_id"]) for answer in found]
    assert notices[-1] == {"query_id": str(query), "status": "answered", "shown": len(found), "answers": ids}
    final = [notice for notice in notices if notice.get("final")]
    assert [(notice["answer_id"], notice["rank"]) for notice in final] == [
        (str(answer["answer_id"]), answer["rank"]) for answer in found
    ]
    assert "final" not in found[0]["detail"]


def test_nothing_is_held_while_a_model_is_out(clinic: Connection, remote: ModelServer, url: str) -> None:
    gate = Gate(remote, QUESTION)
    later(clinic)
    with working(url) as (session, _):
        assert gate.reached.wait(60)
        snapshot = (
            "SELECT count(*) = 0 FROM pg_stat_activity WHERE pid = %s AND (backend_xmin, backend_xid) IS DISTINCT FROM"
            " (NULL, NULL)"
        )
        locks = "SELECT count(*) = 0 FROM pg_locks WHERE pid = %s AND locktype = 'relation' AND relation::regclass::text ~ '^tq'"
        for seen in (snapshot, locks):
            eventually(lambda seen=seen: bool(value(clinic, seen, session.info.backend_pid)))  # type: ignore[misc]
        gate.open.set()


def test_several_questions_and_documents_in_one_run(clinic: Connection) -> None:
    load(clinic, "notes.md", "# Notes\n\nThe key of the pharmacy is kept by the night nurse.\n")
    queries = [
        later(clinic, f"What is the fee for a missed visit of kind {n}?", "policy.md") for n in range(5)
    ]
    work(clinic)
    assert value(clinic, "SELECT status::text FROM tq.progress WHERE document = 'notes.md'") == "ready"
    assert {state(clinic, query)["status"] for query in queries} == {"answered"}
    assert {answers(clinic, query)[0]["what"] for query in queries} == {
        "The fee for a missed visit is 35 EUR."
    }


def test_a_question_does_not_wait_for_a_long_ingest(
    clinic: Connection, remote: ModelServer, url: str
) -> None:
    """Many calls of ingest are out one after another; the question is asked before they are through."""
    remote.seconds = 0.02
    clinic.execute("UPDATE tq.model SET concurrency = 2 WHERE name = 'remote'")
    text = "\n".join(
        f"## Room {n}\n\n" + f"Room {n} is cleaned on day {n % 5} by team {n % 3}.\n" * 40 for n in range(40)
    )
    load(clinic, "rooms.md", text)
    clinic.execute("LISTEN tq_query")
    clinic.execute("LISTEN tq_document")
    with working(url, 120) as (_, done):
        eventually(
            lambda: value(clinic, "SELECT status = 'summarising' FROM tq.document WHERE name = 'rooms.md'")
        )
        query = later(clinic, QUESTION, "policy.md")
        first = told(clinic, lambda notice: notice.get("status") in ("answered", "failed", "ready"))[-1]
        assert first["status"] == "answered"
        assert first["query_id"] == str(query)
        done.cancel()


# ---------------------------------------------------------------- errors


def test_what_can_be_told_at_once_is_told_at_once(clinic: Connection) -> None:
    load(clinic, "unread.md", "# Not read yet\n")
    for values, code in (
        (("policy.mdx", QUESTION, "default"), "TQ001"),
        (("unread.md", QUESTION, "default"), "TQ002"),
        (("policy.md", None, "default"), "TQ021"),
        (("policy.md", " \n", "default"), "TQ021"),
        (("policy.md", QUESTION, "nope"), "TQ020"),
        (("policy.md", QUESTION, None), "TQ020"),
    ):
        with pytest.raises(psycopg.Error) as caught:
            clinic.execute("SELECT tq.ask_later(%s, %s, %s)", values)
        assert (caught.value.sqlstate, bool(caught.value.diag.message_hint)) == (code, True)
    assert value(clinic, "SELECT count(*) FROM tq.query") == 0
    assert waiting(clinic) == 0
    # A strategy that wants errors as rows gets them there.
    query = later(clinic, QUESTION, "policy.mdx", "rows")
    work(clinic)
    (row,) = answers(clinic, query)
    assert (row["certainty"], row["detail"]["error"]["sqlstate"]) == ("failed", "TQ001")
    assert state(clinic, query)["sqlstate"] == "TQ001"


@pytest.mark.parametrize(("fault", "code"), [("400", "TQ103"), ("off", "TQ104"), ("500", "TQ102")])
def test_a_question_that_fails_says_why(
    clinic: Connection, remote: ModelServer, fault: str, code: str
) -> None:
    clinic.execute("UPDATE tq.setting SET value = '1' WHERE name = 'max_attempts'")
    remote.fault(fault, times=0)
    clinic.execute("LISTEN tq_query")
    query, as_row = later(clinic), later(clinic, strategy="rows")
    work(clinic)
    kept = state(clinic, query)
    assert (kept["status"], kept["sqlstate"], bool(kept["error"]), bool(kept["hint"])) == (
        "failed",
        code,
        True,
        True,
    )
    with pytest.raises(psycopg.Error) as caught:
        answers(clinic, query)
    assert caught.value.sqlstate == code
    assert caught.value.diag.message_primary == kept["error"]
    assert f"failed ({kept['error']} [{code}])" in value(clinic, "SELECT tq.explain(%s) LIMIT 1", query)
    (row,) = answers(clinic, as_row)
    assert (row["certainty"], row["detail"]["error"]["sqlstate"]) == ("failed", code)
    assert state(clinic, as_row)["status"] == "failed"
    heard = told(clinic, lambda notice: notice["query_id"] == str(as_row) and "status" in notice)
    assert [notice["status"] for notice in heard if "status" in notice] == ["failed", "failed"]
    assert (waiting(clinic), dead(clinic)) == (0, [])
    if code == "TQ104":  # what it cost is counted though it failed
        assert value(clinic, "SELECT sum(calls) FROM tq.model_call WHERE query_id = %s", query) > 0
        assert value(clinic, "SELECT sum(cost) FROM tq.model_call WHERE query_id = %s", as_row) > 0


def test_a_model_that_comes_back_is_asked_again(clinic: Connection, remote: ModelServer) -> None:
    clinic.execute("UPDATE tq.strategy SET patience_seconds = 0 WHERE name = 'default'")
    remote.fault("429", retry_after="1")
    query = later(clinic)
    work(clinic)
    assert {answer["certainty"] for answer in answers(clinic, query)} == {"disputed"}
    assert state(clinic, query)["error"] is None


def test_the_deadline_of_the_strategy_holds(clinic: Connection, remote: ModelServer) -> None:
    clinic.execute("INSERT INTO tq.strategy (name, max_seconds) VALUES ('short', 0.3)")
    remote.seconds = 1
    query = later(clinic, strategy="short")
    work(clinic)
    assert state(clinic, query)["sqlstate"] == "TQ110"


def test_messages_that_are_none(clinic: Connection) -> None:
    for body in ('{"query_id": "x"}', "{}", '{"query_id": "68a2affe-2a68-41c2-b7ab-f9203f02159b"}'):
        clinic.execute("SELECT pgmq.send('tq_ask'::text, %s::jsonb)", [body])
    query = later(clinic)
    clinic.execute("DELETE FROM tq.query WHERE id = %s", [query])
    work(clinic)
    assert waiting(clinic) == 0
    assert [message["error"] for message in dead(clinic)] == ["query_id is not a uuid"] * 2


# ---------------------------------------------------------------- crashes, cancels, removed documents


def test_a_worker_that_dies_costs_no_call_twice(
    clinic: Connection, remote: ModelServer, url: str, tq_command: list[str]
) -> None:
    clinic.execute("UPDATE tq.setting SET value = 'false' WHERE name = 'reuse_replies'")
    gate = Gate(remote, "48 hours' notice")
    query = later(clinic)
    worker = subprocess.Popen(
        [*tq_command, "worker", "--url", url, "--until-empty"], stdout=subprocess.DEVNULL
    )
    assert gate.reached.wait(60)
    eventually(lambda: len(answers(clinic, query)) == 1)
    terminate(worker)  # kill -9
    (early,) = answers(clinic, query)
    assert state(clinic, query)["status"] == "asking"
    before = [(seen.system, seen.user) for seen in remote.seen if gate.words[0] not in seen.user]
    gate.open.set()
    clinic.execute("UPDATE pgmq.q_tq_ask SET vt = now()")  # as if its time were over
    work(clinic)
    assert state(clinic, query)["status"] == "answered"
    assert "24 hours" in early["what"]
    assert {answer["certainty"] for answer in answers(clinic, query)} == {"disputed"}
    after = [(seen.system, seen.user) for seen in remote.seen if gate.words[0] not in seen.user]
    assert after == before
    assert value(clinic, "SELECT sum(calls) FROM tq.model_call WHERE query_id = %s", query) >= len(before)


def test_a_worker_whose_time_is_over_gives_the_question_back(
    clinic: Connection, remote: ModelServer, url: str
) -> None:
    gate = Gate(remote, "48 hours' notice")
    query = later(clinic)
    with working(url, 1, until_empty=False) as (_, done):
        assert gate.reached.wait(60)
        done.result(60)
    assert state(clinic, query)["status"] == "waiting"
    assert value(clinic, "SELECT message ->> 'attempt' FROM pgmq.q_tq_ask") == "1"
    gate.open.set()
    work(clinic)
    assert state(clinic, query)["status"] == "answered"


def test_a_question_is_cancelled_before_and_while_it_is_asked(
    clinic: Connection, remote: ModelServer, url: str
) -> None:
    waits = later(clinic)
    assert value(clinic, "SELECT tq.cancel_query(%s)", waits) == 1
    assert waiting(clinic) == 0
    gate = Gate(remote, QUESTION)
    query = later(clinic)
    with working(url) as (_, done):
        assert gate.reached.wait(60)
        assert value(clinic, "SELECT tq.cancel_query(%s)", query) == 1
        done.result(60)  # it ends though the model never replied
    gate.open.set()
    for one in (waits, query):
        assert value(clinic, "SELECT tq.cancel_query(%s)", one) == 0
        assert (state(clinic, one)["status"], state(clinic, one)["sqlstate"]) == ("failed", "57014")
        with pytest.raises(psycopg.Error) as caught:
            answers(clinic, one)
        assert caught.value.sqlstate == "57014"
    assert value(clinic, "SELECT tq.cancel_query(NULL)") == 0
    assert (waiting(clinic), dead(clinic)) == (0, [])


@pytest.mark.parametrize("doc", ["*.md", "handbook.md"])
def test_a_document_removed_while_it_is_asked(
    clinic: Connection, remote: ModelServer, url: str, doc: str
) -> None:
    gate = Gate(remote, "You split a question")
    query = later(clinic, QUESTION, doc)
    with working(url) as (_, done):
        assert gate.reached.wait(60)
        clinic.execute("SELECT tq.remove('handbook.md')")
        gate.open.set()
        done.result(60)
    assert (waiting(clinic), dead(clinic)) == (0, [])
    if doc == "*.md":
        (answer,) = answers(clinic, query)
        assert (answer["document"], answer["certainty"]) == ("policy.md", "settled")
    else:
        assert state(clinic, query)["sqlstate"] == "TQ001"


# ---------------------------------------------------------------- rights


@pytest.fixture
def role(clinic: Connection) -> Iterator[Callable[..., None]]:
    made: list[str] = []

    def make(name: str, *members: str, login: bool = False) -> None:
        clinic.execute(f"CREATE ROLE {name} {'LOGIN' if login else ''}")
        for member in members:
            clinic.execute(f"GRANT {member} TO {name}")
        made.append(name)

    yield make
    clinic.execute("RESET ROLE")
    for name in made:
        clinic.execute(f"DROP OWNED BY {name}")
        clinic.execute(f"DROP ROLE {name}")


def test_a_question_is_read_with_its_askers_rights(clinic: Connection, role: Callable[..., None]) -> None:
    role("later_lou", "tq_loader")
    role("later_ann", "tq_reader")
    clinic.execute("SET ROLE later_lou")
    load(clinic, "lou.md", "# Lou's notes\n\nTo cancel an appointment Lou wants 7 days' notice.\n")
    clinic.execute("RESET ROLE")
    work(clinic)
    queries = {}
    for name in ("later_lou", "later_ann"):
        clinic.execute(f"SET ROLE {name}")
        queries[name] = later(clinic, QUESTION, None)
        assert value(clinic, "SELECT count(*) FROM tq.query") == 1
    clinic.execute("RESET ROLE")
    work(clinic)
    seen: dict[str, set[str]] = {}
    for name, query in queries.items():
        clinic.execute(f"SET ROLE {name}")
        found = rows(clinic, "SELECT * FROM tq.answers(%s, TRUE)", query)
        seen[name] = {citation["document"] for answer in found for citation in answer["citations"]}
        assert state(clinic, query)["asked_by"] == name
        other = next(value for key, value in queries.items() if key != name)
        with pytest.raises(psycopg.Error) as caught:
            answers(clinic, other)
        assert caught.value.sqlstate == "TQ021"
        assert value(clinic, "SELECT tq.cancel_query(%s)", other) == 0
    assert seen == {"later_lou": {"lou.md"}, "later_ann": {"lou.md", "policy.md", "handbook.md"}}


def test_a_worker_acts_for_roles_that_it_is_a_member_of(
    clinic: Connection, url: str, role: Callable[..., None]
) -> None:
    asker, worker = f"later_ann_{os.getpid()}", f"later_bot_{os.getpid()}"
    role(asker, "tq_reader")
    role(worker, "tq_worker", login=True)
    clinic.execute(f"SET ROLE {asker}")
    query = later(clinic)
    clinic.execute("RESET ROLE")
    with psycopg.connect(url, user=worker, autocommit=True) as bot:
        bot.execute("CALL tq.work(0)")
        bot.execute("CALL tq.work(1)")
        kept = state(clinic, query)
        assert (kept["status"], kept["sqlstate"]) == ("waiting", "42501")
        assert "GRANT" in kept["hint"]
        clinic.execute(f"GRANT {asker} TO {worker}")
        clinic.execute("UPDATE pgmq.q_tq_ask SET vt = now()")
        bot.execute("CALL tq.work(30, TRUE)")
        assert value(bot, "SELECT current_user::text") == worker
    kept = state(clinic, query)
    assert (kept["status"], kept["error"], kept["asked_by"]) == ("answered", None, asker)


def test_rights_that_went_away_meanwhile(clinic: Connection, role: Callable[..., None]) -> None:
    role("later_ann", "tq_reader")
    clinic.execute("SET ROLE later_ann")
    lost, gone = later(clinic), later(clinic)
    clinic.execute("RESET ROLE")
    clinic.execute("REVOKE tq_reader FROM later_ann")
    clinic.execute("UPDATE tq.query SET asked_by = 'later_nobody' WHERE id = %s", [gone])
    work(clinic)
    assert (state(clinic, lost)["status"], state(clinic, lost)["sqlstate"]) == ("failed", "42501")
    assert (state(clinic, gone)["status"], state(clinic, gone)["sqlstate"]) == ("failed", "TQ030")
    assert (waiting(clinic), dead(clinic)) == (0, [])


def test_readers_do_not_write_the_queue_or_other_questions(
    clinic: Connection, role: Callable[..., None]
) -> None:
    query = later(clinic)
    role("later_ann", "tq_reader")
    clinic.execute("SET ROLE later_ann")
    for call in (
        "begin_query(%s)",
        "query_goes_on(%s, 1, 1)",
        "query_found(%s, '{}')",
        "query_answered(%s, '{}')",
        "query_failed(%s, 'TQ001', 'x', NULL, NULL, '[]')",
        "query_waits(%s, NULL, NULL, NULL, NULL, '[]')",
        "keep_walk(%s, '{}', '{}')",
    ):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            clinic.execute(f"SELECT tq_private.{call}", [query])
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        clinic.execute("SELECT * FROM pgmq.q_tq_ask")
