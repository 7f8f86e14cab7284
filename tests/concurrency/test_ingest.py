"""Several workers on the same queues: one whole tree a document, every step done once."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import psycopg
import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))
from ingest_help import Connection, assert_ready, dead, load, shape, story, value, work


@pytest.mark.parametrize("delay", [0, 20])
def test_two_workers_make_one_tree(db: Connection, url: str, delay: int) -> None:
    text = story(60)
    once = load(db, "once.md", text)
    work(db)
    db.execute("UPDATE tq.model SET delay_ms = %s", [delay])
    docs = [load(db, f"{n}.md", text) for n in range(4)]
    errors: list[Exception] = []

    def call() -> None:
        try:
            with psycopg.connect(url, autocommit=True) as other:
                other.execute("CALL tq.work(120, TRUE)")
        except psycopg.Error as error:
            errors.append(error)

    workers = [threading.Thread(target=call) for _ in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert errors == []
    assert dead(db) == []
    for doc in docs:
        assert_ready(db, doc)
        assert shape(db, doc) == shape(db, once)
        calls = "SELECT sum(calls)::int FROM tq.model_call WHERE document_id = %s"
        assert value(db, calls, doc) == value(db, calls, once)


def test_a_worker_outside_helps_one_inside(db: Connection, url: str, tq_command: list[str]) -> None:
    db.execute("UPDATE tq.model SET delay_ms = 20, concurrency = 2")
    doc = load(db, "a.md", story(60))
    outside = subprocess.Popen(
        [*tq_command, "worker", "--url", url, "--until-empty"], stdout=subprocess.DEVNULL
    )
    work(db)
    assert outside.wait(timeout=60) == 0
    assert_ready(db, doc)
    assert dead(db) == []
