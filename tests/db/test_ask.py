"""tq.ask and what looks at its record, through the real server."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import psycopg
import pytest
from psycopg import errors
from psycopg.rows import dict_row

Connection = psycopg.Connection[Any]

QUESTION = "How much notice is needed to cancel an appointment?"
COLUMNS = [
    "rank",
    "what",
    "why",
    "how",
    "method",
    "certainty",
    "document",
    "version",
    "page",
    "line_start",
    "line_end",
    "quote",
    "citations",
    "disagreement",
    "missing",
    "doubt",
    "specialist",
    "held_back",
    "score",
    "detail",
    "answer_id",
    "query_id",
]
POLICY = "\n".join(
    [
        "# Clinic policy",
        "",
        *[
            f"Room {number} is cleaned on weekday {number % 5} by team {number % 3}."
            for number in range(1, 90)
        ],
        "",
        "## Cancelling an appointment",
        "",
        "A patient must give 24 hours' notice to cancel an appointment.",
        "The fee for a missed appointment is 25 EUR.",
        "",
        *[f"Key {number} opens cupboard {number % 7}." for number in range(1, 60)],
    ]
)
HANDBOOK = "\n".join(
    [
        "# Front desk",
        "",
        *[f"Form {number} is filed in drawer {number % 9}." for number in range(1, 40)],
        "",
        "To cancel an appointment a patient must give 48 hours' notice.",
    ]
)


def load(db: Connection, name: str, text: str) -> None:
    db.execute("SELECT tq.load_text(%s, %s)", [name, text])
    db.execute("CALL tq.work(60, TRUE)")
    row = db.execute(
        "SELECT status, error FROM tq.progress WHERE document = %s ORDER BY version DESC", [name]
    )
    assert row.fetchone() == ("ready", None)


@pytest.fixture
def corpus(db: Connection) -> Connection:
    load(db, "policy.md", POLICY)
    load(db, "handbook.md", HANDBOOK)
    db.execute(
        "INSERT INTO tq.model (name, driver, input_tokens, output_tokens, summary_tokens, delay_ms)"
        " VALUES ('slow', 'extractive', 4096, 1024, 384, 400)"
    )
    db.execute("INSERT INTO tq.strategy (name, model) VALUES ('slow', 'slow')")
    db.execute("INSERT INTO tq.strategy (name, top_n) VALUES ('one', 1)")
    return db


def rows(db: Connection, statement: str, *values: Any) -> list[dict[str, Any]]:
    with db.cursor(row_factory=dict_row) as cursor:
        return cursor.execute(statement, values).fetchall()


def asked(
    db: Connection, doc: str | None, question: str | None, strategy: str = "default"
) -> list[dict[str, Any]]:
    return rows(db, "SELECT * FROM tq.ask(%s, %s, %s)", doc, question, strategy)


def one(db: Connection, statement: str, *values: Any) -> Any:
    row = db.execute(statement, values).fetchone()
    assert row is not None
    return row[0]


def without_times(value: Any) -> Any:
    if isinstance(value, dict):
        left_out = {"elapsed_ms", "answer_id", "query_id"}
        return {key: without_times(item) for key, item in value.items() if key not in left_out}
    if isinstance(value, list):
        return [without_times(item) for item in value]
    return value


# ---------------------------------------------------------------- rows


def test_the_columns_are_those_of_the_contract(corpus: Connection) -> None:
    cursor = corpus.execute("SELECT * FROM tq.ask('policy.md', %s)", [QUESTION])
    assert [column.name for column in cursor.description or ()] == COLUMNS


def test_an_answer_quotes_its_line(corpus: Connection) -> None:
    row = asked(corpus, "policy.md", "What is the fee for a missed appointment?")[0]
    assert row["certainty"] == "settled"
    assert "25 EUR" in row["what"]
    text = one(corpus, "SELECT text FROM tq.lines('policy.md', %s, %s)", row["line_start"], row["line_end"])
    assert row["quote"] in text
    assert (row["document"], row["version"], row["held_back"]) == ("policy.md", 1, 0)
    assert row["why"]
    assert "policy.md" in row["how"]


def test_sources_that_disagree_are_disputed_at_any_n(corpus: Connection) -> None:
    both = asked(corpus, "*.md", QUESTION)
    assert {row["document"] for row in both if row["certainty"] == "disputed"} == {"policy.md", "handbook.md"}
    [first] = asked(corpus, "*.md", QUESTION, "one")
    assert first["disagreement"]
    assert first["held_back"] == len(both) - 1
    assert first["detail"]["contradictions"][0]["document"] != first["document"]


def test_the_same_question_gives_the_same_rows(corpus: Connection) -> None:
    first = asked(corpus, None, QUESTION)
    assert without_times(first) == without_times(asked(corpus, None, QUESTION))
    slow = asked(corpus, None, QUESTION, "slow")
    assert [row["what"] for row in slow] == [row["what"] for row in first]


def test_nothing_that_settles_it_is_one_honest_row(corpus: Connection) -> None:
    [row] = asked(corpus, None, "Who designed the Sydney Opera House?")
    assert (row["rank"], row["what"], row["certainty"]) == (1, None, "unsettled")
    assert row["doubt"] == "outside the corpus"
    assert row["specialist"]
    assert "policy.md" in row["missing"]
    assert rows(corpus, "SELECT * FROM tq.check(%s)", row["answer_id"]) == []


def test_several_questions_in_one_statement(corpus: Connection) -> None:
    found = rows(
        corpus,
        "SELECT q.n, a.certainty, a.what FROM (VALUES (1, %s), (2, 'Who designed the opera?'), (3, 'missed fee'))"
        " AS q (n, text), LATERAL tq.ask('policy.md', q.text) AS a WHERE a.rank = 1 ORDER BY q.n",
        QUESTION,
    )
    assert [(row["n"], row["certainty"]) for row in found] == [
        (1, "settled"),
        (2, "unsettled"),
        (3, "settled"),
    ]


@pytest.mark.parametrize(
    ("name", "line", "question"),
    [
        ("zh.txt", "取消预约需要提前二十四小时通知诊所。", "取消预约需要提前多久通知？"),
        (
            "de.txt",
            "Für eine Absage ist eine Frist von 24 Stunden nötig.",
            "Welche Frist ist für eine Absage nötig?",
        ),
    ],
)
def test_questions_in_other_languages(db: Connection, name: str, line: str, question: str) -> None:
    fill = {
        "zh.txt": "第{}号房间每天早上由清洁人员打扫。",
        "de.txt": "Das Zimmer {} wird jeden Tag von uns geputzt.",
    }[name]
    load(db, name, "\n".join([*(fill.format(number) for number in range(60)), line]))
    row = asked(db, name, question)[0]
    assert (row["line_start"], row["certainty"]) == (61, "settled")
    assert row["quote"] in line


def test_a_question_of_100_000_characters(corpus: Connection) -> None:
    question = (QUESTION + " " + " ".join(f"word{number}" for number in range(12_000)))[:100_000]
    row = asked(corpus, "policy.md", question)[0]
    assert "100000 characters" in row["missing"]
    assert one(corpus, "SELECT length(question) FROM tq.query") == 100_000


# ---------------------------------------------------------------- errors


def test_errors_are_those_of_the_contract(corpus: Connection) -> None:
    for doc, question, strategy, code in (
        ("policy.md", "", "default", "TQ021"),
        ("policy.md", None, "default", "TQ021"),
        ("policy.md", " \n ", "default", "TQ021"),
        ("policy.md", QUESTION, "defualt", "TQ020"),
        ("polcy.md", QUESTION, "default", "TQ001"),
        ("*.pdf", QUESTION, "default", "TQ001"),
    ):
        with pytest.raises(psycopg.Error) as error:
            asked(corpus, doc, question, strategy)
        diag = error.value.diag
        assert diag.sqlstate == code
        assert diag.message_detail
        assert diag.message_hint
        assert diag.message_primary is not None
        assert "plpy" not in diag.message_primary
        assert "Traceback" not in str(diag.context)


def test_a_document_that_is_not_ready(corpus: Connection) -> None:
    corpus.execute("SELECT tq.load_text('later.md', 'Notice to cancel an appointment: none.')")
    with pytest.raises(psycopg.Error) as error:
        asked(corpus, "later.md", QUESTION)
    assert error.value.sqlstate == "TQ002"
    assert "later.md" in asked(corpus, "*.md", QUESTION)[0]["missing"]


def test_errors_as_rows(corpus: Connection) -> None:
    corpus.execute("INSERT INTO tq.strategy (name, on_error) VALUES ('batch', 'row')")
    found = rows(
        corpus,
        "SELECT q.doc, a.* FROM (VALUES ('gone.md'), ('policy.md')) AS q (doc), LATERAL tq.ask(q.doc, %s, 'batch') AS a"
        " WHERE a.rank = 1",
        QUESTION,
    )
    assert [row["certainty"] for row in found] == ["failed", "settled"]
    assert found[0]["detail"]["error"]["sqlstate"] == "TQ001"
    assert one(corpus, "SELECT count(*) FROM tq.answer WHERE certainty = 'failed'") == 1


# ---------------------------------------------------------------- the record


def test_a_read_only_transaction_answers_and_writes_nothing(corpus: Connection) -> None:
    written = [row["what"] for row in asked(corpus, "*.md", QUESTION)]
    before = one(corpus, "SELECT count(*) FROM tq.query")
    corpus.execute("SET default_transaction_read_only = on")
    [row] = asked(corpus, "*.md", QUESTION, "one")
    corpus.execute("SET default_transaction_read_only = off")
    assert row["answer_id"] is None
    assert row["query_id"] is None
    assert row["what"] == written[0]
    assert [held["what"] for held in row["detail"]["held_back"]] == written[1:]
    assert one(corpus, "SELECT count(*) FROM tq.query") == before


def test_explain_check_and_answers(corpus: Connection) -> None:
    found = rows(corpus, "SELECT to_jsonb(a) AS row FROM tq.ask('*.md', %s, 'one') AS a", QUESTION)
    row = found[0]["row"]
    told = [line["explain"] for line in rows(corpus, "SELECT * FROM tq.explain(%s::uuid)", row["query_id"])]
    assert told[0].startswith('Question "How much notice')
    assert told[1].startswith("Plan: lookup of “How much notice")
    assert any(line.startswith("Compare “") and ": contradicts" in line for line in told)
    assert any(line.startswith("  -> policy.md@1 ") for line in told)
    assert any(line.startswith("    -> ") and "ANSWER" in line for line in told)
    assert any(line.startswith("Answer 1: disputed") for line in told)
    assert any("(held back): disputed" in line for line in told)
    assert any(line.startswith("Model calls: ") for line in told)

    checked = rows(corpus, "SELECT * FROM tq.check(%s::uuid)", row["answer_id"])
    assert [line["ok"] for line in checked] == [True]

    again = rows(corpus, "SELECT to_jsonb(a) AS row FROM tq.answers(%s::uuid) AS a", row["query_id"])
    assert again == found
    everything = rows(corpus, "SELECT * FROM tq.answers(%s::uuid, TRUE)", row["query_id"])
    assert [line["rank"] for line in everything] == list(range(1, row["held_back"] + 2))


@pytest.mark.parametrize("isolation", ["READ COMMITTED", "REPEATABLE READ"])
def test_an_answer_is_looked_at_in_the_statement_that_asked(corpus: Connection, isolation: str) -> None:
    corpus.execute(f"SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL {isolation}")
    asked = "tq.ask('policy.md', %s) AS a"
    checked = rows(corpus, f"SELECT a.rank, c.ok FROM {asked}, tq.check(a.answer_id) AS c", QUESTION)
    assert checked
    assert all(row["ok"] for row in checked)
    told = rows(corpus, f"SELECT e FROM {asked}, tq.explain(a.query_id) AS e WHERE a.rank = 1", QUESTION)
    assert told[0]["e"].startswith("Question ")
    again = rows(
        corpus,
        f"SELECT a.what, b.what AS same FROM {asked}, tq.answers(a.query_id) AS b WHERE a.rank = b.rank",
        QUESTION,
    )
    assert again
    assert all(row["what"] == row["same"] for row in again)


@pytest.mark.parametrize(
    "question", ["?", "???", "…", "x", "the of and", "😀", "\u202e\u200b", "'; DROP TABLE tq.line; --"]
)
def test_questions_that_say_nothing_get_one_honest_row(corpus: Connection, question: str) -> None:
    [row] = rows(corpus, "SELECT * FROM tq.ask(NULL, %s)", question)
    assert (row["rank"], row["certainty"], row["what"]) == (1, "unsettled", None)


def test_check_finds_a_quote_that_no_longer_stands(corpus: Connection) -> None:
    row = asked(corpus, "policy.md", "What is the fee for a missed appointment?")[0]
    corpus.execute(
        "UPDATE tq.citation SET quote = replace(quote, '25', '26') WHERE answer_id = %s", [row["answer_id"]]
    )
    [checked] = rows(corpus, "SELECT * FROM tq.check(%s)", row["answer_id"])
    assert (checked["citation"], checked["ok"]) == (1, False)
    assert "does not hold" in checked["reason"]


def test_a_clause_that_many_documents_state_is_found(db: Connection) -> None:
    db.execute(
        "SELECT tq.load_text('lease/' || n, 'The gate code is ' || 4000 + n || E'.\\nThe notice period is 3 months.')"
        " FROM generate_series(1, 40) AS n"
    )
    db.execute("CALL tq.work(60, TRUE)")
    row = asked(db, "lease/*", "How long is the notice period?")[0]
    assert (row["certainty"], row["line_start"]) == ("settled", 2)


def test_what_was_never_asked(db: Connection) -> None:
    for function in ("tq.explain", "tq.answers", "tq.check"):
        for value in (None, "68a2affe-2a68-41c2-b7ab-f9203f02159b"):
            with pytest.raises(psycopg.Error) as error:
                db.execute(f"SELECT * FROM {function}(%s::uuid)", [value])
            assert error.value.sqlstate == "TQ021"
            assert "id ." not in str(error.value.diag.message_detail)


def test_the_whole_working_is_kept(corpus: Connection) -> None:
    row = asked(corpus, "*.md", QUESTION)[0]
    key = row["query_id"]
    reads = rows(corpus, "SELECT * FROM tq.read WHERE query_id = %s ORDER BY ordinal", key)
    assert len(reads) == row["detail"]["reads"]
    assert {read["choice"] for read in reads} <= {"ANSWER", "DESCEND", "NOT_HERE"}
    calls = rows(
        corpus, "SELECT purpose, sum(calls) AS calls FROM tq.model_call WHERE query_id = %s GROUP BY 1", key
    )
    assert {call["purpose"] for call in calls} == {"plan", "read", "compare"}
    assert sum(call["calls"] for call in calls) == row["detail"]["cost"]["calls"]
    assert one(corpus, "SELECT asked_by FROM tq.query WHERE id = %s", key) == "tq"


def test_selected_sections(corpus: Connection) -> None:
    first = rows(corpus, "SELECT * FROM tq.select('policy.md', %s)", QUESTION)[0]
    assert "24 hours' notice" in first["content"]
    assert first["content"].count("\n") == first["line_end"] - first["line_start"]
    with pytest.raises(psycopg.Error) as error:
        corpus.execute("SELECT * FROM tq.select('policy.md', 'Who designed the Sydney Opera House?')")
    assert error.value.sqlstate == "TQ111"
    with pytest.raises(psycopg.Error) as error:
        corpus.execute("SELECT * FROM tq.select('policy.md', %s, 'magic')", [QUESTION])
    assert error.value.sqlstate == "TQ021"


@pytest.mark.parametrize("mode", ["tree", "single-pass", "chunked-tree"])
def test_sections_are_selected_in_every_mode(corpus: Connection, mode: str) -> None:
    found = rows(corpus, "SELECT * FROM tq.select('policy.md', %s, %s)", QUESTION, mode)
    assert any("24 hours' notice" in row["content"] for row in found)


def test_modes_side_by_side(corpus: Connection) -> None:
    found = rows(corpus, "SELECT * FROM tq.compare_modes('*.md', %s)", QUESTION)
    assert [row["mode"] for row in found] == ["tree", "single-pass", "chunked-tree"]
    assert {row["certainty"] for row in found} == {"disputed"}
    assert all("policy.md" in " ".join(row["sections"]) for row in found)
    assert all(row["calls"] > 0 and row["input_tokens"] > 0 and row["elapsed_ms"] > 0 for row in found)
    assert one(corpus, "SELECT count(*) FROM tq.query") == 0
    with pytest.raises(psycopg.Error) as error:
        corpus.execute("SELECT * FROM tq.compare_modes('gone.md', %s)", [QUESTION])
    assert error.value.sqlstate == "TQ001"


def test_a_strategy_picks_a_mode(corpus: Connection) -> None:
    corpus.execute(
        "INSERT INTO tq.strategy (name, mode, merge) VALUES ('slices', 'chunked-tree', 'vote 2 of 3')"
    )
    [row] = [row for row in asked(corpus, "policy.md", QUESTION, "slices") if "24 hours" in row["what"]]
    assert row["detail"]["ran_as"] == "chunked-tree"
    told = [line["explain"] for line in rows(corpus, "SELECT * FROM tq.explain(%s)", row["query_id"])]
    assert sum(line.startswith("Choose sections of policy.md") for line in told) == 3
    for merge in ("vote 3 of 2", "top 0", "best"):
        with pytest.raises(psycopg.Error) as error:
            corpus.execute("UPDATE tq.strategy SET merge = %s WHERE name = 'slices'", [merge])
        assert error.value.sqlstate == "TQ021"


def test_the_walk_is_shown_as_it_happens_where_that_is_wanted(corpus: Connection) -> None:
    said: list[str] = []
    corpus.add_notice_handler(lambda notice: said.append(str(notice.message_primary)))
    asked(corpus, "policy.md", QUESTION)
    assert said == []
    corpus.execute("SELECT set_config('tq.verbose', 'on', FALSE)")
    asked(corpus, "policy.md", QUESTION)
    assert said[0].startswith("plan: lookup of “How much notice")
    assert said[1].startswith("read policy.md › Clinic policy, lines 1–")
    assert any("ANSWER" in line for line in said)
    corpus.execute('SET tq."verbose" = off')
    said.clear()
    asked(corpus, "policy.md", QUESTION)
    assert said == []


def test_a_comparison_is_composed_and_kept(corpus: Connection) -> None:
    question = "What is the difference between the fee for a missed appointment and the fee for a broken key?"
    load(corpus, "keys.md", "The fee for a broken key is 40 EUR.\n\nKeys are kept in the office.")
    first = asked(corpus, "*.md", question)[0]
    assert first["method"] == "calculation"
    assert "40 EUR − 25 EUR = 15 EUR" in first["what"]
    assert {c["document"] for c in first["citations"]} == {"policy.md", "keys.md"}
    assert all(row["ok"] for row in rows(corpus, "SELECT * FROM tq.check(%s)", first["answer_id"]))
    steps = rows(corpus, "SELECT purpose, told FROM tq.step WHERE query_id = %s", first["query_id"])
    assert {"plan", "compare", "write"} >= {step["purpose"] for step in steps} >= {"plan", "write"}


# ---------------------------------------------------------------- rights


@pytest.fixture
def role(corpus: Connection) -> Iterator[Callable[[str], None]]:
    """Makes roles of the test's own, which may or may not read, and drops them again."""
    made: list[str] = []

    def make(name: str, member: str | None = None) -> None:
        corpus.execute(f"CREATE ROLE {name}" + (f" IN ROLE {member}" if member else ""))
        made.append(name)

    yield make
    corpus.execute("RESET ROLE")
    for name in made:
        corpus.execute(f"DROP ROLE {name}")


def test_a_reader_asks_under_row_level_security(corpus: Connection, role: Callable[..., None]) -> None:
    role("ask_ann", "tq_reader")
    role("ask_bob", "tq_reader")
    corpus.execute("SET ROLE ask_ann")
    row = asked(corpus, "*.md", QUESTION)[0]
    assert row["certainty"] == "disputed"
    assert rows(corpus, "SELECT asked_by FROM tq.query") == [{"asked_by": "ask_ann"}]
    assert rows(corpus, "SELECT ok FROM tq.check(%s)", row["answer_id"]) == [{"ok": True}]
    assert len(rows(corpus, "SELECT * FROM tq.explain(%s)", row["query_id"])) > 5
    with pytest.raises(errors.InsufficientPrivilege):
        corpus.execute("DELETE FROM tq.query")
    corpus.execute("SET ROLE ask_bob")
    assert rows(corpus, "SELECT * FROM tq.query") == []
    with pytest.raises(psycopg.Error) as error:
        corpus.execute("SELECT * FROM tq.answers(%s)", [row["query_id"]])
    assert error.value.sqlstate == "TQ021"


def test_a_loader_sees_its_own_documents_only(corpus: Connection, role: Callable[..., None]) -> None:
    role("ask_lou", "tq_loader")
    corpus.execute("SET ROLE ask_lou")
    with pytest.raises(psycopg.Error) as error:
        asked(corpus, "policy.md", QUESTION)
    assert error.value.sqlstate == "TQ001"
    assert "policy.md" not in str(error.value.diag.message_hint)


def test_a_stranger_may_not_ask(corpus: Connection, role: Callable[..., None]) -> None:
    role("ask_eve")
    corpus.execute("SET ROLE ask_eve")
    with pytest.raises(errors.InsufficientPrivilege):
        asked(corpus, "policy.md", QUESTION)


# ---------------------------------------------------------------- while it runs


@pytest.fixture
def asking(corpus: Connection, url: str) -> Iterator[Callable[..., tuple[Connection, Future[Any]]]]:
    """Starts a question in a session of its own, and comes back when its first model call is out."""
    pool = ThreadPoolExecutor(4)
    sessions: list[Connection] = []

    def start(doc: str | None, prepare: str = "SELECT 1") -> tuple[Connection, Future[Any]]:
        session: Connection = psycopg.connect(url, autocommit=True)
        sessions.append(session)
        session.execute(prepare)
        future = pool.submit(asked, session, doc, QUESTION, "slow")
        pid = session.info.backend_pid
        for _ in range(200):
            # The first slow call is out once the walk has taken its locks on the tables.
            if one(
                corpus,
                "SELECT count(*) FROM pg_locks WHERE pid = %s AND relation = 'tq.possible_query'::regclass",
                pid,
            ):
                return session, future
            time.sleep(0.01)
        raise AssertionError("the question never began")

    yield start
    for session in sessions:
        session.cancel()
    pool.shutdown()
    for session in sessions:
        session.close()


def test_a_cancel_gets_through_while_a_model_is_out(corpus: Connection, asking: Callable[..., Any]) -> None:
    corpus.execute("UPDATE tq.model SET delay_ms = 30000 WHERE name = 'slow'")
    session, future = asking("*.md")
    began = time.monotonic()
    corpus.execute("SELECT pg_cancel_backend(%s)", [session.info.backend_pid])
    with pytest.raises(errors.QueryCanceled) as error:
        future.result(timeout=20)
    assert time.monotonic() - began < 15  # of the call's 30 s
    assert "Traceback" not in str(error.value.diag.context)
    # The session is as good as before.
    assert asked(session, "policy.md", QUESTION)[0]["certainty"] == "settled"


def test_statement_timeout_stops_it(corpus: Connection) -> None:
    corpus.execute("UPDATE tq.model SET delay_ms = 30000 WHERE name = 'slow'")
    corpus.execute("SET statement_timeout = 300")
    began = time.monotonic()
    with pytest.raises(errors.QueryCanceled):
        asked(corpus, "*.md", QUESTION, "slow")
    assert time.monotonic() - began < 15  # of the call's 30 s


def test_no_row_is_locked_while_a_model_is_out(corpus: Connection, asking: Callable[..., Any]) -> None:
    session, future = asking(None)
    held = rows(
        corpus,
        "SELECT locktype, mode FROM pg_locks WHERE pid = %s AND locktype <> 'virtualxid'",
        session.info.backend_pid,
    )
    assert {(lock["locktype"], lock["mode"]) for lock in held} == {("relation", "AccessShareLock")}
    # Nobody waits for it: every document can be changed and removed meanwhile.
    corpus.execute("SET lock_timeout = 200")
    corpus.execute("UPDATE tq.document SET source_weight = 2")
    assert future.result(timeout=20)[0]["certainty"] == "disputed"


@pytest.mark.parametrize("level", ["read committed", "repeatable read"])
def test_a_document_removed_while_it_is_searched(
    corpus: Connection, asking: Callable[..., Any], level: str
) -> None:
    _, future = asking("policy.md", f"SET default_transaction_isolation = '{level}'")
    assert one(corpus, "SELECT tq.remove('policy.md')") == 1
    row = future.result(timeout=20)[0]
    # The answer stands by the snapshot it was read in; what belonged to the document is not kept.
    assert (row["document"], row["version"], row["certainty"]) == ("policy.md", 1, "settled")
    assert one(corpus, "SELECT count(*) FROM tq.citation") == 0
    assert one(corpus, "SELECT count(*) FROM tq.read") == 0


def test_a_document_replaced_while_it_is_searched(corpus: Connection, asking: Callable[..., Any]) -> None:
    _, future = asking("policy.md")
    load(corpus, "policy.md", POLICY.replace("24 hours", "72 hours"))
    row = future.result(timeout=20)[0]
    assert row["version"] == 1
    assert "24 hours" in row["quote"]
    assert rows(corpus, "SELECT ok FROM tq.check(%s)", row["answer_id"]) == [{"ok": True}]
    assert "72 hours" in asked(corpus, "policy.md", QUESTION)[0]["quote"]
