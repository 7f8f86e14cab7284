"""Ingest by message batches against a server on loopback that speaks their protocol."""

from __future__ import annotations

import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))
from ingest_help import (
    Connection,
    assert_ready,
    dead,
    document,
    load,
    queued,
    shape,
    story,
    value,
    work,
)
from model_server import ModelServer

POLICY = """# Cancelling

A cancellation of an appointment needs 24 hours notice.
The front desk may waive this once a year.
"""
LONG = story(10)


@pytest.fixture
def remote() -> Iterator[ModelServer]:
    made = ModelServer(looks=0)
    yield made
    made.close()


@pytest.fixture
def batching(db: Connection, remote: ModelServer) -> Iterator[Connection]:
    """A database whose model is handed batches, which are looked at soon."""
    db.execute(
        "INSERT INTO tq.model (name, driver, remote_name, base_url, input_tokens, output_tokens, summary_tokens,"
        " timeout_seconds, input_price, output_price, cached_price, ingest_mode)"
        " VALUES ('remote', 'anthropic', 'test-model', %s, 4096, 1024, 384, 10, 3, 15, 0.3, 'batch')",
        [remote.root],
    )
    db.execute("UPDATE tq.setting SET value = '\"remote\"' WHERE name = 'model'")
    db.execute("UPDATE tq.setting SET value = '1' WHERE name = 'batch_poll_seconds'")
    stop = threading.Event()
    thread = threading.Thread(target=hurry, args=(db.info.dsn, stop))
    thread.start()
    yield db
    stop.set()
    thread.join()


def hurry(dsn: str, stop: threading.Event) -> None:
    """Bring deferred messages forward, so that no test need wait for them."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        while not stop.wait(0.2):
            connection.execute(
                "UPDATE pgmq.q_tq_model SET vt = clock_timestamp() WHERE read_ct = 0 AND vt > clock_timestamp()"
            )


def handed_in(remote: ModelServer) -> Counter[str]:
    """How often each request was handed in."""
    return Counter(request["custom_id"] for batch in remote.batches for request in batch.requests)


def until(what: Callable[[], Any], seconds: float = 15) -> Any:
    end = time.monotonic() + seconds
    while not (found := what()):
        assert time.monotonic() < end
        time.sleep(0.02)
    return found


def fallbacks(db: Connection, doc: str) -> int:
    return int(value(db, "SELECT count(*) FROM tq.bullet WHERE document_id = %s AND fallback", doc))


def test_batches_give_the_same_tree_for_half_the_price(batching: Connection, remote: ModelServer) -> None:
    doc = load(batching, "story.md", LONG)
    work(batching)
    assert_ready(batching, doc)
    assert [batch.requests[0]["params"]["system"][0]["text"][:14] for batch in remote.batches] == [
        "You read three", "You write the ", "You write the "
    ]  # fmt: skip
    assert len(remote.batches[1].requests) == 10  # all leaves at once
    half = batching.execute(
        "SELECT sum(calls), sum(input_tokens), sum(cost) FROM tq.usage WHERE document = 'story.md'"
    ).fetchone()
    assert half is not None
    assert half[0] == handed_in(remote).total() == len(handed_in(remote))
    # Nothing of it is kept once the document is ready, but the replies that all share.
    assert value(batching, "SELECT count(*) FROM tq.batch") == 0
    assert value(batching, "SELECT count(*) FROM tq_private.batch_reply") == 0
    batching.execute("DELETE FROM tq_private.reply")
    batching.execute("UPDATE tq.model SET ingest_mode = 'calls' WHERE name = 'remote'")
    other = load(batching, "other.md", LONG)
    work(batching)
    assert shape(batching, other) == shape(batching, doc)
    whole = batching.execute(
        "SELECT sum(calls), sum(input_tokens), sum(cost) FROM tq.usage WHERE document = 'other.md'"
    ).fetchone()
    assert whole is not None
    assert whole[:2] == half[:2]
    # But for the prefixes that the first run wrote to the cache and the second found there.
    assert float(half[2]) == pytest.approx(float(whole[2]) / 2, rel=0.06)


def test_replies_of_batches_are_shared_and_a_batch_is_bounded(
    batching: Connection, remote: ModelServer
) -> None:
    batching.execute("UPDATE tq.setting SET value = '4' WHERE name = 'batch_requests'")
    load(batching, "story.md", LONG)
    work(batching)
    assert [len(batch.requests) for batch in remote.batches] == [2, 4, 4, 2, 1]
    copy = load(batching, "copy.md", LONG)
    work(batching)
    assert_ready(batching, copy)
    assert len(remote.batches) == 5


def test_a_waiting_document_says_so(batching: Connection, remote: ModelServer) -> None:
    remote.looks = -1
    load(batching, "policy.md", POLICY)
    work(batching, 2)
    waits = value(batching, "SELECT waits_for FROM tq.progress")
    assert waits.startswith("a message batch of one call, handed in at ")
    with pytest.raises(psycopg.Error) as caught:
        batching.execute("SELECT * FROM tq.ask('policy.md', 'How much notice?')")
    assert "waiting for a message batch" in (caught.value.diag.message_detail or "")
    row = batching.execute("SELECT status, remote_id, calls, purpose FROM tq.batch").fetchone()
    assert row == ("sent", "msgbatch_1", 1, "mark")
    # Nothing is held meanwhile: no transaction, no place, one deferred message.
    assert queued(batching) == 1
    here = "database = (SELECT oid FROM pg_database WHERE datname = current_database())"
    assert value(batching, f"SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND {here}") == 0
    # Another worker takes it up where it was.
    remote.looks = 0
    work(batching)
    assert value(batching, "SELECT status FROM tq.progress") == "ready"
    assert value(batching, "SELECT waits_for FROM tq.progress") is None
    assert set(handed_in(remote).values()) == {1}


@pytest.mark.parametrize(
    "kind", ["api_error", "overloaded_error", "expired", "canceled", "off", "cut", "nojson", "refuse"]
)
def test_what_failed_of_a_batch_is_done_again(batching: Connection, remote: ModelServer, kind: str) -> None:
    batching.execute(
        "UPDATE tq.setting SET value = '3' WHERE name = 'max_attempts'"
    )  # two are charged, at most
    doc = load(batching, "story.md", LONG)
    remote.fault("", times=5)  # the windows, and some leaves
    remote.fault(kind, times=2)
    work(batching)
    assert_ready(batching, doc)
    assert (fallbacks(batching, doc), dead(batching)) == (0, [])
    # What came well was not handed in again.
    again = sum(len(batch.requests) for batch in remote.batches) - 13
    assert again == 2


def test_what_is_refused_for_good_ends_in_extracts(batching: Connection, remote: ModelServer) -> None:
    batching.execute("UPDATE tq.setting SET value = '1' WHERE name = 'max_attempts'")
    remote.fault("invalid_request_error", times=0)
    doc = load(batching, "policy.md", POLICY)
    work(batching)
    assert document(batching, doc)["status"] == "ready"
    assert fallbacks(batching, doc)
    told = value(batching, "SELECT string_agg(detail, ' ') FROM tq.omission")
    assert "the model rejected the request" in told


@pytest.mark.parametrize(
    ("about", "kind"),
    [("create", "429"), ("create", "500"), ("create", "drop"), ("create", "drop_after"), ("list", "500"),
     ("retrieve", "500"), ("retrieve", "429"), ("retrieve", "drop"), ("results", "drop"), ("results", "500")],
)  # fmt: skip
def test_faults_around_a_batch_lose_nothing_and_pay_nothing_twice(
    batching: Connection, remote: ModelServer, about: str, kind: str
) -> None:
    batching.execute("UPDATE tq.setting SET value = '3' WHERE name = 'max_attempts'")
    if about == "list":
        remote.fault_batches("create", "drop_after")
    remote.fault_batches(about, kind, times=1 if about in ("create", "list") else 5, retry_after="1")
    doc = load(batching, "policy.md", POLICY)
    work(batching)
    assert_ready(batching, doc)
    assert (fallbacks(batching, doc), dead(batching)) == (0, [])
    assert set(handed_in(remote).values()) == {1}


def test_a_lasting_refusal_of_batches_ends_in_extracts(batching: Connection, remote: ModelServer) -> None:
    batching.execute("UPDATE tq.setting SET value = '1' WHERE name = 'max_attempts'")
    remote.fault_batches("create", "413", times=9)
    doc = load(batching, "policy.md", POLICY)
    work(batching)
    assert document(batching, doc)["status"] == "ready"
    assert fallbacks(batching, doc)
    assert remote.batches == []
    assert value(batching, "SELECT count(*) FROM tq.batch") == 0


def test_a_worker_that_dies_while_handing_in_pays_nothing_twice(
    batching: Connection, remote: ModelServer
) -> None:
    batching.execute("UPDATE tq.setting SET value = '5' WHERE name = 'visibility_seconds'")
    remote.fault_batches("create", "hang")
    doc = load(batching, "policy.md", POLICY)
    with psycopg.connect(batching.info.dsn, autocommit=True) as doomed:

        def dies() -> None:
            with suppress(psycopg.Error):
                doomed.execute("CALL tq.work(60, TRUE)")

        worker = threading.Thread(target=dies)
        worker.start()
        until(lambda: remote.batches)
        assert value(batching, "SELECT status FROM tq.batch") == "sending"
        batching.execute("SELECT pg_terminate_backend(%s)", [doomed.info.backend_pid])
        worker.join()
    work(batching)
    assert_ready(batching, doc)
    assert set(handed_in(remote).values()) == {1}


def test_a_batch_that_the_provider_forgot_is_handed_in_again(
    batching: Connection, remote: ModelServer
) -> None:
    remote.looks = -1
    doc = load(batching, "policy.md", POLICY)
    work(batching, 1)
    remote.batches[0].name = "forgotten"
    remote.looks = 0
    work(batching)
    assert_ready(batching, doc)
    assert sorted(handed_in(remote).values()) == [1, 2]


def test_a_cancelled_document_stops_its_batch_and_a_retry_goes_on(
    batching: Connection, remote: ModelServer
) -> None:
    remote.looks = -1
    doc = load(batching, "policy.md", POLICY)
    work(batching, 1)
    assert value(batching, "SELECT tq.cancel('policy.md')") == 1
    work(batching)
    assert remote.batches[0].cancelled
    assert document(batching, doc)["status"] == "failed"
    assert value(batching, "SELECT status FROM tq.batch") == "ended"
    remote.looks = 0
    assert value(batching, "SELECT tq.retry('policy.md')") == 1
    work(batching)
    assert_ready(batching, doc)
    assert len(remote.batches) == 3


def test_what_a_stopped_batch_had_done_is_counted_and_kept(batching: Connection, remote: ModelServer) -> None:
    remote.looks = -1
    doc = load(batching, "story.md", LONG)
    work(batching, 1)
    remote.fault("")  # the first window was answered before the stop
    batching.execute("SELECT tq.cancel('story.md')")
    work(batching)
    assert value(batching, "SELECT sum(calls) FROM tq.model_call WHERE document_id = %s", doc) == 1
    remote.looks = 0
    batching.execute("SELECT tq.retry('story.md')")
    work(batching)
    assert_ready(batching, doc)
    assert len(remote.batches[1].requests) == 1


def test_a_removed_document_stops_its_batch(batching: Connection, remote: ModelServer) -> None:
    remote.looks = -1
    load(batching, "policy.md", POLICY)
    work(batching, 1)
    assert value(batching, "SELECT tq.remove('policy.md')") == 1
    work(batching)
    assert remote.batches[0].cancelled
    assert value(batching, "SELECT count(*) FROM tq.batch") == 0
    assert queued(batching) == 0


def test_a_failed_document_finds_its_batch_again(batching: Connection, remote: ModelServer) -> None:
    """A key that is refused for a while: the document fails, its batch goes on, a retry takes the results."""
    batching.execute("UPDATE tq.setting SET value = '1' WHERE name = 'max_attempts'")
    remote.fault_batches("retrieve", "401")
    doc = load(batching, "policy.md", POLICY)
    work(batching)
    row = document(batching, doc)
    assert (row["status"], row["sqlstate"], row["failed_step"]) == ("failed", "TQ103", "batch")
    assert "key" in row["hint"]
    batching.execute("SELECT tq.retry('policy.md')")
    work(batching)
    assert_ready(batching, doc)
    assert set(handed_in(remote).values()) == {1}


def test_a_budget_holds_for_batches(batching: Connection, remote: ModelServer) -> None:
    batching.execute("UPDATE tq.setting SET value = '5' WHERE name = 'document_calls'")
    doc = load(batching, "story.md", LONG)
    work(batching)
    assert document(batching, doc)["status"] == "ready"
    assert handed_in(remote).total() == 5
    told = value(batching, "SELECT string_agg(detail, ' ') FROM tq.omission WHERE document_id = %s", doc)
    assert "budget of 5 calls is spent" in told


def test_a_worker_without_other_rights_does_it_all(batching: Connection, remote: ModelServer) -> None:
    load(batching, "policy.md", POLICY)
    gone = load(batching, "gone.md", LONG)
    batching.execute("SET ROLE tq_worker")
    work(batching, 1)
    batching.execute("RESET ROLE")
    batching.execute("SELECT tq.remove('gone.md')")
    batching.execute("SET ROLE tq_worker")
    work(batching)
    batching.execute("RESET ROLE")
    assert value(batching, "SELECT status FROM tq.progress") == "ready"
    assert gone
    assert value(batching, "SELECT count(*) FROM tq.batch") == 0
