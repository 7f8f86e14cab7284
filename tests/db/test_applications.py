"""tq as applications use it: the README's examples as they stand there, many questions in one statement, and the
statements that PostgREST sends."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tq_loader.home import find_home

sys.path.insert(0, str(Path(__file__).parents[1]))
from ingest_help import load, terminate, value, work
from model_server import Data, ModelServer, well

Connection = psycopg.Connection[Any]

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
RULES = (
    "# Lab rules\n\n## Doors\n\nThe door code is changed every 90 days.\n\n"
    "## Visitors\n\nVisitors sign the book at the desk.\n"
)
ASKED = "How often is the door code changed?"


# ---------------------------------------------------------------- the README's examples


def examples(language: str) -> list[str]:
    """Code of one language in the section for applications, in order."""
    section = README.split("\n## For applications\n", 1)[1].split("\n## ", 1)[0]
    return re.findall(rf"^```{language}\n(.*?)^```", section, re.MULTILINE | re.DOTALL)


def psql(url: str, script: str) -> str:
    done = subprocess.run(
        [find_home().bindir / "psql", url, "-X", "-q", "-v", "ON_ERROR_STOP=1", "-f", "-"],
        input=script,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_psql_script(db: Connection, url: str) -> None:
    said = psql(url, examples("sql")[0])
    assert "The door code is changed every 90 days. (line 5)" in said
    assert "Visitors sign the book at the desk." in said
    assert "unopened child" in said or "possible query" in said or "(0 rows)" in said


def test_the_python_program(db: Connection, url: str, tq_command: list[str], tmp_path: Path) -> None:
    load(db, "rules.md", RULES)
    work(db)
    program = tmp_path / "ask.py"
    (code,) = examples("python")
    program.write_text(code, encoding="utf-8")
    with subprocess.Popen([*tq_command, "worker", "--url", url], stdout=subprocess.DEVNULL) as worker:
        try:
            done = subprocess.run(
                [sys.executable, str(program)],
                env=os.environ | {"TQ_URL": url},
                capture_output=True,
                text=True,
                timeout=120,
                check=True,
            )
        finally:
            terminate(worker)
    assert done.stdout == "1. settled: Visitors sign the book at the desk. (rules.md:9)\n"


def test_the_statements_of_a_bi_tool(db: Connection, url: str) -> None:
    load(db, "rules.md", RULES)
    work(db)
    before = value(db, "SELECT count(*) FROM tq.query")
    said = psql(url, examples("sql")[1])
    assert (
        said.count("The door code is changed every 90 days.") == 3
    )  # in what and quote, and beside its topic
    assert "Visitors sign the book at the desk." in said
    assert "summarise" in said
    assert value(db, "SELECT count(*) FROM tq.query") == before
    bulk = psql(url, examples("sql")[2])
    assert re.search(r"doors +\| settled", bulk)
    assert re.search(r"parking +\| failed +\| +\| TQ001", bulk)


# ---------------------------------------------------------------- a thousand questions in one statement


@pytest.fixture
def remote(db: Connection) -> Iterator[ModelServer]:
    made = ModelServer()
    db.execute(
        "INSERT INTO tq.model (name, driver, remote_name, base_url, input_tokens, output_tokens, summary_tokens)"
        " VALUES ('remote', 'openai', 'm', %s, 4096, 1024, 384)",
        [made.url],
    )
    yield made
    made.close()


def anonymous_mb(pid: int) -> float:
    """What a process has to itself; shared buffers are not its own."""
    for line in Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1]) / 1024
    raise AssertionError("the kernel does not say RssAnon")


def test_a_thousand_questions_in_one_statement(db: Connection, remote: ModelServer) -> None:
    load(
        db, "rules.md", "The door code is changed every 90 days.\n"
    )  # two calls a question: the plan, one read
    work(db)
    db.execute("INSERT INTO tq.strategy (name, model, on_error, rereads) VALUES ('bulk', 'remote', 'row', 0)")

    def script(system: str, user: str) -> Data:
        asked = re.search(r"asked (\d+)", user)
        number = int(asked[1]) if asked else 0
        planning = system.startswith("You split a question")
        if number % 10 == 3 and planning:
            remote.fault("400")  # for the call that follows the plan
        if number % 10 == 7 and not planning:
            return {"choice": "MAYBE"}
        return well(system, user)

    remote.script = script
    question = "format('How often is the door code changed, asked %%s?', n)"
    many = (
        f"SELECT n, a.certainty, a.what, a.detail #>> '{{error,sqlstate}}' FROM generate_series(%s::int, %s) AS n,"
        f" LATERAL tq.ask(CASE n %% 10 WHEN 9 THEN 'nowhere.md' ELSE 'rules.md' END, {question}, 'bulk') AS a"
        " WHERE a.rank = 1 ORDER BY n"
    )
    pid = db.info.backend_pid
    db.execute(many, [1, 50])
    before = anonymous_mb(pid)
    rows = db.execute(many, [1001, 2000]).fetchall()
    grown = anonymous_mb(pid) - before
    assert [row[0] for row in rows] == list(range(1001, 2001))
    failed = {3: "TQ103", 7: "TQ104", 9: "TQ001"}
    for number, certainty, what, code in rows:
        expected = failed.get(number % 10)
        assert (certainty, code) == ("failed" if expected else "settled", expected), number
        assert what is None if expected else "90 days" in what
    assert value(db, "SELECT count(*) FROM tq.query WHERE status = 'failed'") == 315
    assert value(db, "SELECT count(*) FROM tq.query WHERE status = 'answered'") == 735
    assert grown < 16, f"the session grew by {grown:.0f} MB over 1,000 questions"


# ---------------------------------------------------------------- what PostgREST sends

# SQLSTATEs that PostgREST has a status of its own for, by its manual: the class, or the whole code. All others are 400.
OTHER_STATUS = (
    "08", "09", "0L", "0P", "23503", "23505", "25", "28", "2D", "38", "39", "3B", "40", "53", "54", "55", "57", "58", "F0",
    "HV", "P0", "XX", "42883", "42P01", "42P17", "42501", "PT", "PGRST",
)  # fmt: skip


def status(code: str) -> int | None:
    return None if code.startswith(OTHER_STATUS) else 400


def rpc(db: Connection, role: str, function: str, read_only: bool = False, **body: Any) -> Any:
    """A call as PostgREST makes it: one transaction with the token's role, the body's values by name, rows as JSON."""
    known = dict(
        db.execute(
            "SELECT a.name, format_type(a.type, NULL) FROM pg_proc AS p, unnest(p.proargnames[:p.pronargs], p.proargtypes::oid[])"
            " AS a (name, type) WHERE p.pronamespace = 'tq'::regnamespace AND p.proname = %s",
            [function],
        ).fetchall()
    )
    columns = ", ".join(f'"{name}" {known[name]}' for name in body)
    given = ", ".join(f'"{name}" => body."{name}"' for name in body)
    payload = f"json_to_record(%s::json) AS body ({columns})" if body else "(SELECT %s::json) AS body"
    with db.transaction():
        db.execute(f"SET TRANSACTION {'READ ONLY' if read_only else 'READ WRITE'}")
        db.execute(
            "SELECT set_config('role', %s, TRUE), set_config('search_path', 'tq, public', TRUE)", [role]
        )
        row = db.execute(
            f"SELECT coalesce(json_agg(called), '[]') FROM {payload}, LATERAL tq.{function}({given}) AS called",
            [json.dumps(body)],
        ).fetchone()
    assert row is not None
    return row[0]


@pytest.fixture
def web(db: Connection) -> Iterator[str]:
    name = f"tq_test_web_{os.getpid()}"
    db.execute(f"CREATE ROLE {name} IN ROLE tq_reader, tq_loader")
    yield name
    db.execute(f"DROP ROLE {name}")


def test_json_in_json_out(db: Connection, web: str) -> None:
    (doc,) = rpc(db, web, "load_text", name="rules.md", content=RULES, tags=["lab"], metadata={"year": 2026},
                 questions=["Where do visitors sign?"])  # fmt: skip
    work(db)
    (answer,) = rpc(db, web, "ask", doc="rules.md", question=ASKED)
    assert (answer["what"], answer["certainty"]) == ("The door code is changed every 90 days.", "settled")
    assert answer["citations"][0]["line_start"] == 5
    (read_only,) = rpc(db, web, "ask", read_only=True, doc="rules.md", question=ASKED)
    assert read_only["query_id"] is None
    assert (
        rpc(db, web, "answers", read_only=True, query=answer["query_id"])[0]["answer_id"]
        == answer["answer_id"]
    )
    assert rpc(db, web, "check", read_only=True, answer=answer["answer_id"])[0]["ok"] is True
    assert rpc(db, web, "explain", read_only=True, query=answer["query_id"])
    (thread,) = rpc(db, web, "pick", answers=[answer["answer_id"]])
    assert rpc(db, web, "pick", citations=read_only["citations"], thread=thread) == [thread]
    (row,) = rpc(db, web, "follow_up", thread=thread, question="Where do visitors sign the book?")
    assert row["what"] == "Visitors sign the book at the desk."
    assert {"question": "Where do visitors sign?", "source": "possible query"} in rpc(
        db, web, "suggest", read_only=True, thread=thread
    )
    (query,) = rpc(db, web, "ask_later", doc="rules.md", question=ASKED)
    work(db)
    assert rpc(db, web, "answers", query=query)[0]["what"] == answer["what"]
    assert rpc(db, web, "outline", read_only=True, doc=doc)[0]["depth"] == 0
    assert rpc(db, web, "lines", read_only=True, doc="rules.md", line_start=5, line_end=5)[0]["line_no"] == 5
    assert rpc(db, web, "select", read_only=True, doc="rules.md", question=ASKED)[0]["line_start"] <= 5
    (hexed,) = rpc(db, web, "source", read_only=True, doc="rules.md")
    assert bytes.fromhex(hexed.removeprefix("\\x")).decode() == RULES
    assert rpc(db, web, "remove", doc="rules.md") == [1]


def test_errors_are_answered_with_400_and_the_code(db: Connection, web: str) -> None:
    for code, function, body in (
        ("TQ001", "ask", {"doc": "nowhere", "question": "x"}),
        ("TQ020", "ask", {"doc": None, "question": "x", "strategy": "nope"}),
        ("TQ021", "ask", {"doc": None, "question": ""}),
        ("TQ021", "pick", {}),
        ("TQ021", "answers", {"query": "68a2affe-2a68-41c2-b7ab-f9203f02159b"}),
        ("TQ030", "load_query", {"name": "x", "query": "DELETE FROM x"}),
        ("22P02", "answers", {"query": "no uuid"}),
    ):
        with pytest.raises(psycopg.Error) as caught:
            rpc(db, web, function, **body)
        assert (caught.value.sqlstate, status(str(caught.value.sqlstate))) == (code, 400)
        if code.startswith("TQ"):
            assert caught.value.diag.message_primary
            assert caught.value.diag.message_detail
            assert caught.value.diag.message_hint
    table = README.split("\n## Errors\n", 1)[1].split("\n## ", 1)[0]
    codes = set(re.findall(r"TQ\d{3}", table))
    assert len(codes) >= 18
    assert {status(code) for code in codes} == {400}
    # A GET of what writes is refused by the transaction: 405.
    with pytest.raises(psycopg.Error) as caught:
        rpc(db, web, "ask_later", read_only=True, doc=None, question="x")
    assert caught.value.sqlstate == "25006"


def test_every_function_can_be_called_by_name_with_json(db: Connection) -> None:
    """One signature a name, all arguments named, none of a type that JSON cannot carry; no record without columns."""
    functions = db.execute(
        "SELECT p.proname, count(*) OVER (PARTITION BY p.proname), p.pronargs, p.proargnames, p.provariadic, p.prorettype,"
        " p.proargmodes, ARRAY(SELECT format_type(t, NULL) FROM unnest(p.proargtypes::oid[]) AS t)"
        " FROM pg_proc AS p WHERE p.pronamespace = 'tq'::regnamespace AND p.prokind = 'f' ORDER BY 1"
    ).fetchall()
    assert len(functions) > 25
    carried = {
        "text",
        "uuid",
        "uuid[]",
        "text[]",
        "jsonb",
        "integer",
        "boolean",
        "real",
        "date",
        "bytea",
        "name",
    }
    record = value(db, "SELECT 'record'::regtype::oid")
    for name, count, given, names, variadic, returns, modes, types in functions:
        assert count == 1, name
        assert variadic == 0, name
        assert given == 0 or all(names[:given]), name
        assert set(types) <= carried, (name, types)
        assert returns != record or "t" in (modes or []), name
