"""A message's way through its attempts, with a database that remembers its queues and documents only."""

from __future__ import annotations

import json
import threading
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from tq.database import ingest as sql
from tq.database import later
from tq.database.connection import Row, Statement
from tq.errors import TqError
from tq.ingest import jobs
from tq.ingest.calls import Asking, Pool
from tq.ingest.messages import ASK, CONVERT, DEAD, MODEL, Failure, Malformed, backoff, parse
from tq.ingest.worker import Worker, begin_work, is_cancel
from tq.model.driver import Reply
from tq.model.limits import Model
from tq.model.tasks import Task

DOCUMENT = str(uuid.UUID(int=1))
NODE = str(uuid.UUID(int=2))
MODEL_ROW = {
    "model": "m", "driver": "extractive", "input_tokens": 4096, "output_tokens": 1024, "chars_per_token": 4.0,
    "windows_per_call": 3, "summary_tokens": 384, "concurrency": 4, "timeout_seconds": 60, "delay_ms": 0,
}  # fmt: skip


class DatabaseError(Exception):
    """As plpy gives it."""

    def __init__(
        self, sqlstate: str, text: str = "refused", detail: str | None = None, hint: str | None = None
    ) -> None:
        super().__init__(text)
        packed = sum((ord(letter) - ord("0")) << (6 * place) for place, letter in enumerate(sqlstate))
        self.spidata = (packed, detail, hint, None, 0, None, None, None, None, None)
        if not sqlstate.startswith("TQ"):  # only a class with a name of its own has it
            self.sqlstate = sqlstate


@dataclass
class Stored:
    id: int
    body: dict[str, Any]
    read_ct: int = 0
    delay: int = 0
    hidden: bool = False


@dataclass
class FakeDatabase:
    """Answers the statements of the worker itself; what a step reads and writes is scripted by the test."""

    status: str = "summarising"
    model: bool = True
    queues: dict[str, list[Stored]] = field(
        default_factory=lambda: {ASK: [], CONVERT: [], MODEL: [], DEAD: []}
    )
    failed: tuple[Any, ...] | None = None
    settings: dict[str, str] = field(default_factory=lambda: {"max_attempts": "3"})
    commits: int = 0
    pulses: int = 0
    notified: int = 0
    numbers: int = 0

    def put(self, queue: str, body: dict[str, Any], delay: int = 0) -> Stored:
        self.numbers += 1
        stored = Stored(self.numbers, body, delay=delay)
        self.queues[queue].append(stored)
        return stored

    def fetch(self, statement: Statement, *values: Any) -> list[Row]:
        if statement is sql.READ_MESSAGES:
            ready = [m for m in self.queues[values[0]] if not m.hidden and not m.delay][: values[2]]
            for message in ready:
                message.read_ct += 1
                message.hidden = True
            return [{"msg_id": m.id, "read_ct": m.read_ct, "body": json.dumps(m.body)} for m in ready]
        if statement is sql.SEND_MESSAGES:
            for text in values[1]:
                self.put(values[0], json.loads(text), values[2])
        elif statement is sql.DELETE_MESSAGES:
            self.queues[values[0]] = [m for m in self.queues[values[0]] if m.id not in values[1]]
        elif statement is sql.ANY_MESSAGES:
            return [{"any_left": bool(self.queues[CONVERT] or self.queues[MODEL])}]
        elif statement is sql.FEW_WAIT:
            return [{"few": sum(not m.hidden for m in self.queues[MODEL]) < values[0]}]
        elif statement is later.ANY_WAITS:
            return [{"any_left": bool(self.queues[ASK])}]
        elif statement is sql.SETTINGS:
            return [{"name": name, "value": value} for name, value in self.settings.items()]
        elif statement is sql.DOCUMENTS:
            return self._documents()
        elif statement is sql.LOCK_DOCUMENTS:
            return [{"id": DOCUMENT, "status": self.status, "started_at": "now"}] if self.status else []
        elif statement is sql.FAIL:
            if self.status in ("ready", "failed"):
                return []
            self.status, self.failed = "failed", values[1:]
            return [{"id": DOCUMENT}]
        elif statement is sql.NOTIFY:
            self.notified += 1
        return []

    def _documents(self) -> list[Row]:
        if not self.status:
            return []
        model = MODEL_ROW if self.model else dict.fromkeys(MODEL_ROW)
        document = {
            "name": "a",
            "language": "english",
            "line_count": 10,
            "media_type": None,
            "bytes": 1,
            "tables": "auto",
            "wanted": "m",
        }
        return [{"id": DOCUMENT, "status": self.status, **document, **model}]

    def stream(self, statement: Statement, *values: Any, size: int = 5000) -> Iterator[list[Row]]:
        yield self.fetch(statement, *values)

    def commit(self) -> None:
        self.commits += 1

    def rollback(self) -> None:
        pass

    def pulse(self) -> None:
        self.pulses += 1


Step = Callable[[FakeDatabase], Any]


class Nothing:
    """A driver that is never asked."""

    waits = False

    def reply(self, task: Task[Any], stop: threading.Event) -> Reply:
        raise AssertionError


@pytest.fixture
def scripted(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Put a job of one's own in the place of every model step: it returns, or raises what it is given."""

    def script(error: Exception | None = None, write: Callable[[Any, Any], None] | None = None) -> None:
        def asking() -> Asking:
            if error is not None:
                raise error
            return "done"
            yield []

        def prepare(session: Any, messages: Any, documents: Any) -> list[jobs.Job]:
            return [
                jobs.Job(
                    m,
                    documents[m.document_id],
                    documents[m.document_id].need_model(),
                    asking(),
                    lambda why: why,
                )
                for m in messages
                if m.document_id in documents
            ]

        def write_all(session: Any, done: Any) -> None:
            session.delete(MODEL, [job.message.id for job in done])

        monkeypatch.setattr(jobs, "prepare", prepare)
        monkeypatch.setattr(jobs, "write", write or write_all)

    return script


def run(db: FakeDatabase) -> None:
    """Work until nothing is left that can be read, as often as its delays pass."""
    for _ in range(20):
        Worker(db, driver_of=lambda model: Nothing()).run(0.01)
        for messages in db.queues.values():
            for message in messages:
                message.delay = 0
        if not db.queues[CONVERT] and not db.queues[MODEL]:
            return


def summarise(**more: Any) -> dict[str, Any]:
    return {"document_id": DOCUMENT, "step": "summarise", "node": NODE, **more}


def test_a_step_that_works_is_over(scripted: Callable[..., None]) -> None:
    scripted()
    db = FakeDatabase()
    db.put(MODEL, summarise())
    run(db)
    assert db.queues == {ASK: [], CONVERT: [], MODEL: [], DEAD: []}
    assert db.failed is None


def test_a_message_that_keeps_failing_is_buried_with_its_history(scripted: Callable[..., None]) -> None:
    scripted(write=lambda session, done: (_ for _ in ()).throw(DatabaseError("23514", "no")))
    db = FakeDatabase()
    db.put(MODEL, summarise())
    run(db)
    (dead,) = db.queues[DEAD]
    assert (dead.body["queue"], dead.body["step"], dead.body["sqlstate"]) == (MODEL, "summarise", "23514")
    assert [entry["attempt"] for entry in dead.body["history"]] == [1, 2, 3]
    assert dead.body["message"]["node"] == NODE
    assert db.failed == ("23514", "no", None, "summarise")
    assert db.notified == 1


def test_poison_does_not_take_its_neighbours_along(scripted: Callable[..., None]) -> None:
    poison = str(uuid.UUID(int=13))

    def write(session: Any, done: Any) -> None:
        if any(job.message.node == poison for job in done):
            raise DatabaseError("22021")
        session.delete(MODEL, [job.message.id for job in done])

    scripted(write=write)
    db = FakeDatabase()
    for node in [str(uuid.UUID(int=10 + at)) for at in range(8)]:
        db.put(MODEL, summarise(node=node))
    Worker(db, driver_of=lambda model: Nothing()).run(0.01)
    assert [message.body["node"] for message in db.queues[MODEL]] == [poison]


def test_a_failure_waits_longer_each_time() -> None:
    assert [backoff(attempt) for attempt in (1, 2, 3, 7, 50)] == [1, 2, 4, 60, 60]


def test_a_rate_limit_costs_no_attempt(scripted: Callable[..., None]) -> None:
    error = TqError("TQ101", "rate-limited")
    error.retry_after = 7  # type: ignore[attr-defined]
    scripted(error)
    db = FakeDatabase()
    db.put(MODEL, summarise(attempt=3))
    for _ in range(10):
        Worker(db, driver_of=lambda model: Nothing()).run(0.01)
        (message,) = db.queues[MODEL]
        assert message.delay == 8
        message.delay = 0
    assert message.body["attempt"] == 3
    assert db.failed is None


def test_a_model_that_is_down_fails_the_document_in_the_end(scripted: Callable[..., None]) -> None:
    scripted(TqError("TQ102", "down", hint="look"))
    db = FakeDatabase()
    db.put(MODEL, summarise())
    run(db)
    assert db.failed == ("TQ102", "down", "look", "summarise")


def test_a_model_that_fails_at_one_node_is_replaced_there(scripted: Callable[..., None]) -> None:
    results: list[Any] = []

    def write(session: Any, done: Any) -> None:
        results.extend(job.result for job in done)
        session.delete(MODEL, [job.message.id for job in done])

    scripted(RuntimeError("boom"), write)
    db = FakeDatabase()
    db.put(MODEL, summarise())
    run(db)
    assert results == ["RuntimeError: boom [XX000]"]
    assert db.failed is None
    assert db.queues[DEAD] == []


def test_a_missing_model_is_final(scripted: Callable[..., None]) -> None:
    scripted()
    db = FakeDatabase(model=False)
    db.put(MODEL, summarise())
    run(db)
    assert db.failed is not None
    assert db.failed[0] == "TQ020"


def test_a_step_that_kills_its_worker_every_time_is_buried(scripted: Callable[..., None]) -> None:
    scripted()
    db = FakeDatabase()
    db.put(MODEL, summarise()).read_ct = 3
    run(db)
    assert db.failed is not None
    assert db.failed[0] == "XX000"
    assert len(db.queues[DEAD]) == 1


@pytest.mark.parametrize("status", ["", "failed", "ready"])
def test_a_document_removed_cancelled_or_ready_drops_its_messages(status: str) -> None:
    db = FakeDatabase(status=status)
    for step in ("cut", "build", "finish"):
        db.put(MODEL, {"document_id": DOCUMENT, "step": step})
    db.put(MODEL, summarise())
    db.put(MODEL, {"document_id": DOCUMENT, "step": "mark", "window": 1})
    db.put(CONVERT, {"document_id": DOCUMENT})
    run(db)
    assert db.queues == {ASK: [], CONVERT: [], MODEL: [], DEAD: []}
    assert db.failed is None


BAD = [
    {"step": "cut"},
    {"document_id": "x", "step": "cut"},
    {"document_id": DOCUMENT, "step": "dance"},
    {"document_id": DOCUMENT},
    {"document_id": DOCUMENT, "step": "mark"},
    {"document_id": DOCUMENT, "step": "mark", "window": "1"},
    {"document_id": DOCUMENT, "step": "summarise", "node": 7},
]


@pytest.mark.parametrize("body", BAD)
def test_a_malformed_message_is_buried_and_harms_nobody(body: dict[str, Any]) -> None:
    db = FakeDatabase()
    db.put(MODEL, body)
    run(db)
    assert db.queues[MODEL] == []
    assert db.queues[DEAD][0].body["sqlstate"] == "22023"
    assert db.failed is None


def test_no_json_object_is_malformed() -> None:
    for text in ("[]", "null", "{", '"x"'):
        with pytest.raises(Malformed):
            parse(MODEL, 1, 1, text)


def test_an_attempt_that_is_no_number_counts_as_the_first() -> None:
    for attempt in (None, "5", True, -1, 2**40, 1.5):
        assert parse(MODEL, 1, 2, json.dumps(summarise(attempt=attempt))).attempt == 2


def test_a_cancel_is_never_swallowed(scripted: Callable[..., None]) -> None:
    scripted(write=lambda session, done: (_ for _ in ()).throw(DatabaseError("57014")))
    db = FakeDatabase()
    db.put(MODEL, summarise())
    with pytest.raises(DatabaseError):
        Worker(db, driver_of=lambda model: Nothing()).run(5)
    assert db.failed is None


def test_what_a_cancel_is() -> None:
    assert is_cancel(DatabaseError("57014"))
    assert is_cancel(DatabaseError("57P01"))
    assert is_cancel(DatabaseError("08006"))
    assert not is_cancel(DatabaseError("40P01"))
    assert not is_cancel(ValueError())


def test_an_error_of_the_server_is_stored_with_what_it_said() -> None:
    error = DatabaseError("TQ012", "content too large", "It has 9 bytes.", "Split it.")
    assert Failure.of(error) == Failure("TQ012", "content too large: It has 9 bytes.", "Split it.")


def test_errors_are_stored_bounded() -> None:
    failure = Failure.of(ValueError("a\0b" + "x" * 10_000))
    assert failure.sqlstate == "XX000"
    assert len(failure.error) <= 2000
    assert "\0" not in failure.error


def test_until_empty_waits_for_what_is_deferred() -> None:
    db = FakeDatabase()
    db.put(MODEL, summarise(), delay=5)
    worker = Worker(db, driver_of=lambda model: Nothing())
    worker.run(0.5, until_empty=True)
    assert len(db.queues[MODEL]) == 1
    assert db.pulses >= 4


def test_until_empty_ends_when_nothing_is_left() -> None:
    assert Worker(FakeDatabase()).run(3600, until_empty=True) == 0


def test_work_refuses_a_time_that_is_none() -> None:
    for seconds in (None, -1):
        with pytest.raises(TqError) as caught:
            begin_work(FakeDatabase(), seconds, False)
        assert caught.value.code == "TQ021"


class Slow:
    """A driver that waits until it is stopped, or for ever so long."""

    waits = True

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self.most = self._now = 0
        self._lock = threading.Lock()

    def reply(self, task: Task[Any], stop: threading.Event) -> Reply:
        with self._lock:
            self._now += 1
            self.most = max(self.most, self._now)
        stop.wait(self._seconds)
        with self._lock:
            self._now -= 1
        return Reply({"bullets": []}, 1, 1)


def waiting_jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    from tq.ingest.summary import summarise as asking
    from tq.model.tasks import Item

    def prepare(session: Any, messages: Any, documents: Any) -> list[jobs.Job]:
        model = documents[DOCUMENT].need_model()
        items = [Item(1, "a line", 1, 1)]
        return [
            jobs.Job(m, documents[DOCUMENT], model, asking(items, model.fit, "", "none"), lambda why: why)
            for m in messages
        ]

    monkeypatch.setattr(jobs, "prepare", prepare)
    monkeypatch.setattr(
        jobs, "write", lambda session, done: session.delete(MODEL, [job.message.id for job in done])
    )


def test_calls_that_wait_run_side_by_side(monkeypatch: pytest.MonkeyPatch) -> None:
    waiting_jobs(monkeypatch)
    db = FakeDatabase()
    for at in range(12):
        db.put(MODEL, summarise(node=str(uuid.UUID(int=at + 1))))
    driver = Slow(0.1)
    Worker(db, driver_of=lambda model: driver).run(10, until_empty=True)
    assert db.queues[MODEL] == []
    assert driver.most == MODEL_ROW["concurrency"]


def test_calls_in_flight_at_the_end_go_back_uncharged(monkeypatch: pytest.MonkeyPatch) -> None:
    waiting_jobs(monkeypatch)
    monkeypatch.setattr("tq.ingest.worker.GRACE_SECONDS", 0.2)
    db = FakeDatabase()
    for at in range(6):
        db.put(MODEL, summarise(node=str(uuid.UUID(int=at + 1))))
    Worker(db, driver_of=lambda model: Slow(60)).run(0.2)
    assert len(db.queues[MODEL]) == 6
    assert all(message.body["attempt"] == 1 and not message.hidden for message in db.queues[MODEL])


def test_a_pool_ends_each_job_by_itself() -> None:
    def fails() -> Asking:
        raise ValueError("bad")
        yield []

    def works() -> Asking:
        return 7
        yield []

    pool = Pool(Nothing(), 1, lambda: None)
    pool.add("a", fails())
    pool.add("b", works())
    found = {run.key: run for runs in pool.finished(0.0, 10) for run in runs}
    assert isinstance(found["a"].error, ValueError)
    assert found["b"].result == 7


def test_a_model_row_reads_as_limits() -> None:
    from tq.ingest.state import Document

    document = Document.of(FakeDatabase()._documents()[0])
    assert document.need_model() == Model("m", "extractive", 4096, 1024, 4.0, 3, 384, 4, 60, 0)
