"""The drivers of remote models over real HTTP: what they send, and what they make of every kind of reply and fault."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tq.errors import TqError
from tq.model import keys
from tq.model.driver import Calls, Driver, Outcome, Patience, open_driver, run
from tq.model.limits import Model
from tq.model.tasks import (
    Child,
    Compare,
    Evidence,
    Item,
    Line,
    Mark,
    Parts,
    Plan,
    Read,
    Section,
    Select,
    Summarise,
    Task,
    Write,
)

sys.path.insert(0, str(Path(__file__).parents[1]))
from model_server import ModelServer

CANARY = "sk-canary-0123456789"
DRIVERS = ["anthropic", "openai"]
LINES = ["The policy.", "A cancellation of an appointment needs 24 hours notice.", "The fee is 40 euros."]
PARTS = Parts("How much notice does a cancellation need?", "", "")
LEAF = Read(
    node_id="n1", line_start=1, line_end=3, depth=1, is_leaf=True, children=(), query=PARTS, language="english",
    items=[Item(number, text, number, number) for number, text in enumerate(LINES, 1)], question=PARTS.what,
)  # fmt: skip
ROOT = dataclasses.replace(
    LEAF, node_id="n0", is_leaf=False,
    children=[Child("A", "n1", 1, 2, "Notice", lines_hit=1, terms_hit={"notic": 1}), Child("B", "n2", 3, 3, "Fees")],
)  # fmt: skip
TASKS: list[Task[Any]] = [
    LEAF,
    ROOT,
    Mark((), [Line(1, "# One", "heading", 1), Line(2, "Text of it.")], (), language="english"),
    Summarise(LEAF.items, 4, 200, language="english"),
    Plan("How much notice does a cancellation need?", language="english"),
    Select([Section(2, 1, True, 1, 2, "Notice", LINES[1])], PARTS, PARTS.what, language="english"),
    Write(
        "How much do both fees differ?",
        "calculation",
        [
            Evidence(1, "policy.md, line 3", "the fee", LINES[2], LINES[2]),
            Evidence(2, "policy.md, line 4", "the late fee", "It is 15 euros.", "The late fee is 15 euros."),
        ],
        language="english",
    ),
    Compare("How much?", "24 hours", "48 hours", "24 hours", "48 hours", language="english"),
]


@pytest.fixture
def server() -> Iterator[ModelServer]:
    made = ModelServer()
    yield made
    made.close()


def model(driver: str, server: ModelServer, **more: Any) -> Model:
    url = server.root if driver == "anthropic" else server.url
    values: dict[str, Any] = {
        "name": "remote", "driver": driver, "input_tokens": 4096, "output_tokens": 1024, "chars_per_token": 4.0,
        "windows_per_call": 3, "summary_tokens": 384, "concurrency": 4, "timeout_seconds": 5, "delay_ms": 0,
        "base_url": url, "remote_name": "test-model",
    }  # fmt: skip
    return Model(**(values | more))


Asked = Callable[..., Outcome]


@pytest.fixture(params=DRIVERS)
def ask(request: pytest.FixtureRequest, server: ModelServer) -> Iterator[Asked]:
    """Runs one task with a driver."""
    opened: list[Driver] = []

    def run_one(task: Task[Any] = LEAF, **more: Any) -> Outcome:
        driver = open_driver(model(request.param, server, **more))
        opened.append(driver)
        return run(driver, task, threading.Event())

    yield run_one
    for driver in opened:
        driver.abort()  # type: ignore[attr-defined]


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.purpose)
def test_a_good_reply_is_taken_and_counted(task: Task[Any], server: ModelServer, ask: Asked) -> None:
    server.cache_minimum = 0
    first, again = ask(task), ask(task)
    for outcome in (first, again):
        assert (outcome.error, outcome.rejected) == (None, None)
        assert outcome.reply is not None
        assert outcome.output_tokens > 0
    # What is written to the cache is counted as input; then it is read from there.
    assert (first.cached_tokens, again.input_tokens) == (0, first.input_tokens)
    assert again.input_tokens > again.cached_tokens > 0


def test_anthropic_sends_one_schema_a_task_and_caches_the_prefix(server: ModelServer) -> None:
    driver = open_driver(model("anthropic", server))
    other = dataclasses.replace(LEAF, items=LEAF.items[:1])
    for task in (LEAF, ROOT, other):
        run(driver, task, threading.Event())
    bodies = [seen.body for seen in server.seen]
    assert len({str(body["output_config"]) for body in bodies}) == 1
    assert len({body["system"][0]["text"] for body in bodies}) == 1
    assert all(body["system"][0]["cache_control"] == {"type": "ephemeral"} for body in bodies)
    schema = bodies[0]["output_config"]["format"]["schema"]
    assert schema["required"] == ["choice", "open", "what", "why", "how"]
    assert schema["additionalProperties"] is False
    driver.abort()  # type: ignore[attr-defined]


def test_openai_sends_the_real_lists(server: ModelServer) -> None:
    driver = open_driver(model("openai", server))
    for task in (LEAF, ROOT):
        run(driver, task, threading.Event())
    leaf, root = (seen.body["response_format"]["json_schema"]["schema"]["properties"] for seen in server.seen)
    assert leaf["choice"]["enum"] == ["ANSWER", "NOT_HERE"]
    assert leaf["how"]["items"]["properties"]["line"]["enum"] == [1, 2, 3]
    assert root["choice"]["enum"] == ["ANSWER", "DESCEND", "NOT_HERE"]
    assert root["open"]["items"]["enum"] == ["A", "B"]


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("off", "required form"),
        ("cut", "cut off"),
        ("refuse", "refused"),
        ("half", "JSON"),
        ("nojson", "JSON"),
    ],
)
def test_a_bad_reply_is_rejected_with_its_reason_and_paid(
    kind: str, reason: str, server: ModelServer, ask: Asked
) -> None:
    server.fault(kind)
    outcome = ask()
    assert outcome.error is None
    assert reason in (outcome.rejected or "")
    assert outcome.input_tokens > 0


def test_a_paused_turn_is_taken_up_again(server: ModelServer) -> None:
    driver = open_driver(model("anthropic", server))
    server.fault("pause")
    outcome = run(driver, TASKS[-1], threading.Event())
    assert outcome.reply.relation == "unclear"  # type: ignore[union-attr]
    assert [turn["role"] for turn in server.seen[1].body["messages"]] == ["user", "assistant"]
    server.fault("pause", times=0)
    assert "paused" in (run(driver, TASKS[-1], threading.Event()).rejected or "")
    driver.abort()  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        ("400", "TQ103"),
        ("401", "TQ103"),
        ("403", "TQ103"),
        ("404", "TQ103"),
        ("413", "TQ103"),
        ("429", "TQ101"),
        ("529", "TQ101"),
        ("500", "TQ102"),
        ("503", "TQ102"),
        ("drop", "TQ102"),
        ("half_http", "TQ102"),
    ],
)
def test_a_fault_is_an_error_of_the_contract(
    kind: str, code: str, server: ModelServer, ask: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.setenv(name, CANARY)
    monkeypatch.setenv("TQ_KEY_HOSTS", "127.0.0.1")
    server.fault(kind)
    error = ask().error
    assert isinstance(error, TqError)
    assert error.code == code
    assert error.hint
    # The server echoes what it was sent.
    assert server.seen[0].headers["authorization"] == f"Bearer {CANARY}"
    told = f"{error.message} {error.detail} {error.hint} {error!r} {error.__cause__!r}"
    assert CANARY not in told
    if kind.isdigit():
        assert keys.HIDDEN in told


@pytest.mark.parametrize(("header", "seconds"), [("7", 7.0), ("0.5", 0.5), (None, None), ("soon", None)])
def test_retry_after_comes_with_the_error(
    header: str | None, seconds: float | None, server: ModelServer, ask: Asked
) -> None:
    server.fault("429", retry_after=header)
    assert getattr(ask().error, "retry_after", "none") == seconds


def test_a_slow_model_times_out(server: ModelServer, ask: Asked) -> None:
    server.fault("slow", seconds=3)
    error = ask(timeout_seconds=1).error
    assert isinstance(error, TqError)
    assert error.code == "TQ102"


def test_no_server_at_all_is_a_model_that_is_down(ask: Asked) -> None:
    error = ask(base_url="http://127.0.0.1:9/v1").error
    assert isinstance(error, TqError)
    assert error.code == "TQ102"


def test_a_key_goes_to_known_hosts_alone(
    server: ModelServer, ask: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.setenv(name, CANARY)
    ask()
    assert CANARY not in str(server.seen[0].headers)


def test_a_key_file_is_read_only_where_nobody_else_can(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "keys"
    path.write_text(f"# keys\nOPENAI_API_KEY = {CANARY}\n", encoding="utf-8")
    monkeypatch.setenv("TQ_KEY_FILE", str(path))
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    path.chmod(0o644)
    with pytest.raises(TqError) as caught:
        keys.find_key("OPENAI_API_KEY")
    assert caught.value.code == "TQ103"
    assert CANARY not in f"{caught.value.message}{caught.value.detail}{caught.value.hint}"
    path.chmod(0o600)
    assert keys.find_key("OPENAI_API_KEY") == CANARY
    assert keys.find_key("ANTHROPIC_API_KEY") is None


def test_anthropic_without_a_key_says_where_it_belongs(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ANTHROPIC_API_KEY", "TQ_KEY_FILE", "ANTHROPIC_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    driver = open_driver(Model("m", "anthropic", 4096, 1024, 4.0, 3, 384, 1, 5, 0, remote_name="claude"))
    error = run(driver, LEAF, threading.Event()).error
    assert isinstance(error, TqError)
    assert (error.code, "ANTHROPIC_API_KEY" in (error.hint or "")) == ("TQ103", True)


def test_a_prompt_that_does_not_fit_is_never_sent(server: ModelServer, ask: Asked) -> None:
    error = ask(input_tokens=100).error
    assert isinstance(error, TqError)
    assert error.code == "TQ103"
    assert not server.seen


def test_the_sdk_is_imported_with_the_first_call_only() -> None:
    program = (
        "import sys; from tq.model.driver import open_driver; from tq.model.limits import Model;"
        "open_driver(Model('m', 'anthropic', 4096, 1024, 4.0, 3, 384, 1, 5, 0));"
        "assert 'anthropic' not in sys.modules"
    )
    path = os.pathsep.join(entry for entry in sys.path if entry)
    subprocess.run([sys.executable, "-c", program], check=True, env={"PYTHONPATH": path})


# ---------------------------------------------------------------- calls


def test_a_rate_limit_is_waited_for_as_long_as_patience_lasts(server: ModelServer) -> None:
    server.fault("429", retry_after="0.2")
    driver = open_driver(model("openai", server))
    calls = Calls(driver, 4, lambda: None, patience=Patience(5.0))
    assert calls.one(LEAF).reply is not None
    assert len(server.seen) == 2
    server.fault("429", retry_after="60")
    with pytest.raises(TqError) as caught:
        Calls(driver, 4, lambda: None, patience=Patience(5.0)).one(LEAF)
    assert caught.value.code == "TQ101"


def test_a_fault_of_the_server_is_tried_again_and_one_of_the_request_is_not(server: ModelServer) -> None:
    driver = open_driver(model("openai", server))
    server.fault("500", times=2)
    assert Calls(driver, 4, lambda: None, patience=Patience(0, 3)).one(LEAF).reply is not None
    server.fault("400")
    with pytest.raises(TqError) as caught:
        Calls(driver, 4, lambda: None, patience=Patience(0, 3)).one(LEAF)
    assert caught.value.code == "TQ103"
    assert len(server.seen) == 4


@pytest.mark.parametrize("driver", DRIVERS)
def test_a_cancel_ends_the_calls_in_flight(driver: str, server: ModelServer) -> None:
    server.fault("slow", times=0, seconds=1.5)
    flying = open_driver(model(driver, server))
    run(flying, LEAF, threading.Event())  # the import is paid
    pulses = iter(range(3))

    def pulse() -> None:
        if next(pulses, None) is None:
            raise KeyboardInterrupt

    calls = Calls(flying, 4, pulse)
    calls.submit(1, LEAF)
    before = threading.active_count()
    with pytest.raises(KeyboardInterrupt):
        list(calls.completed())
    for thread in threading.enumerate():
        if thread.name.endswith("(_work)"):
            thread.join(1.0)
            assert not thread.is_alive()
    assert threading.active_count() <= before


def test_the_server_is_given_keys_and_addresses_and_nothing_else() -> None:
    from tq_loader.cluster import server_environment
    from tq_loader.home import find_home

    given = dict.fromkeys(
        ("ANTHROPIC_API_KEY", "OPENAI_BASE_URL", "TQ_KEY_FILE", "TQ_KEY_HOSTS", "OTHER_TOKEN"), "x"
    )
    environment = server_environment(find_home().instance("test"), given)
    assert {name for name in given if name in environment} == set(given) - {"OTHER_TOKEN"}
