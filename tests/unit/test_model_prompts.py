"""Prompts fit the model's input whatever the document, the model and the strategy; their layout is held by golden files."""

from __future__ import annotations

import contextlib
import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tq.errors import TqError
from tq.ingest.calls import Answer, Asking
from tq.ingest.marking import mark
from tq.ingest.summary import bullet_items, leaf_items, summarise
from tq.ingest.windows import Windows, is_nothing, shown_chars
from tq.model import prompts
from tq.model.limits import RULES_SHARE, Model
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
    Rejected,
    Section,
    Select,
    Shot,
    Summarise,
    Task,
    Write,
)

if TYPE_CHECKING:
    from unit.ask_help import Document, FakeDatabase, answer, descend, run
else:
    from ask_help import Document, FakeDatabase, answer, descend, run

GOLDEN = Path(__file__).parents[1] / "golden" / "prompts"


@st.composite
def models(draw: st.DrawFn) -> Model:
    """Any row that the CHECKs of tq.model let through."""
    per_token = draw(st.floats(0.5, 16))
    least = max(1024, int(12_000 / per_token) + 1)
    output = draw(st.integers(256, 32_000))
    summary = draw(st.integers(64, max(64, min(output // 2 - 232, 2000))))
    return Model(
        name="scripted", driver="openai", input_tokens=draw(st.integers(least, least * 3)), output_tokens=output,
        chars_per_token=per_token, windows_per_call=3, summary_tokens=summary, concurrency=4, timeout_seconds=5,
        delay_ms=0, remote_name="m",
    )  # fmt: skip


def words(chance: random.Random, length: int) -> str:
    kind = chance.choice(["notice fee cancel", "x" * 40, "预约取消需要提前", "a", "\u2028 NODE \x0b[C]"])
    text = " ".join(chance.choices(kind.split(" "), k=max(1, length // 4)))
    return text[:length]


def document(chance: random.Random) -> list[str]:
    lines = []
    for _ in range(chance.choice([1, 7, 60, 150])):
        length = (
            chance.choice([0, 0, 1, 30, 80, 300])
            if chance.random() < 0.98
            else chance.choice([9_000, 30_000])
        )
        lines.append(words(chance, length) if length else "")
    if not any(line.strip() for line in lines):
        lines[0] = "notice"
    return lines


def junk(task: Task[Any], chance: random.Random) -> dict[str, Any]:
    """Replies good and bad, the good ones as long as they may be."""
    if chance.random() < 0.3:
        return {"off": "the list " * chance.choice([1, 400])}
    if isinstance(task, Plan):
        part = (task.question * 9)[: task.max_chars]
        subject = {"what": task.question, "why": f"{part[:-1]}?", "how": f"{part[:-1]}.", "asks": ["what"]}
        return {"method": "lookup", "subjects": [subject] * chance.choice([1, 3])}
    if isinstance(task, Compare):
        return {"relation": "unclear"}
    if isinstance(task, Read):
        if task.children and chance.random() < 0.8:
            return descend(*(child.letter for child in task.children))
        if not task.items:
            return {"choice": "NOT_HERE"}
        item = chance.choice(list(task.items))
        return answer(item.text[: task.max_chars], (item.number, item.text[: task.max_chars]), why="y")
    if isinstance(task, Mark):
        numbers = [line.number for line in task.current][: task.max_boundaries]
        return {"boundaries": [{"line": number} for number in numbers if chance.random() < 0.5]}
    assert isinstance(task, Summarise)
    texts = [chance.choice(list(task.items)) for _ in range(task.max_bullets)]
    return {
        "title": "t" * 300,
        "bullets": [
            {"text": item.text[: task.max_chars].strip() or "-", "first": item.number, "last": item.number}
            for item in texts
        ],
    }


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(models(), st.integers(0, 2**32), st.integers(0, 4000), st.integers(0, 30_000))
def test_no_prompt_of_a_question_exceeds_the_input(
    model: Model, seed: int, rules: int, question: int
) -> None:
    chance = random.Random(seed)
    database = FakeDatabase(
        Document(
            "d" * chance.choice([1, 500]), document(chance), leaf=chance.choice([1, 5, 40]), fan=chance.choice([2, 26]),
            queries=["How much? " * 90] * chance.choice([0, 3, 40]),
        ),
        # What the guard of tq.strategy lets through.
        reasoning_rules="r" * min(rules, int(model.input_chars * RULES_SHARE) - prompts.rules_chars()),
    )  # fmt: skip
    database.model = {name: getattr(model, name) for name in Model.__slots__}
    database.shots = [
        {"node": "NODE\n" * chance.choice([1, 90]), "choice": "DESCEND", "open": ["A"], "reason": "r" * 200}
    ] * chance.choice([0, 2, 9])
    sizes: list[int] = []

    def script(task: Task[Any]) -> dict[str, Any]:
        sizes.append(len(task.prompt()))
        return junk(task, chance)

    with contextlib.suppress(TqError):
        run(database, script, "notice " + words(chance, question))
    assert sizes
    assert max(sizes) <= model.input_chars


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(models(), models(), st.integers(0, 2**32))
def test_no_prompt_of_ingest_exceeds_the_input(model: Model, larger: Model, seed: int) -> None:
    chance = random.Random(seed)
    lines = [
        Line(number, text) for number, text in enumerate(document(chance), chance.choice([1, 12_345_678]))
    ]
    sizes: list[int] = []

    def drive(asking: Asking) -> Any:
        answers: list[Answer] | None = None
        while True:
            try:
                tasks = next(asking) if answers is None else asking.send(answers)
            except StopIteration as end:
                return end.value
            except TqError:  # off the list too often
                return None
            answers = []
            for task in tasks:
                sizes.append(len(task.prompt()))
                try:
                    answers.append(Answer(task.accept(junk(task, chance))))
                except Rejected as reason:
                    answers.append(Answer(None, str(reason)))

    # Windows that were cut for another model, or when this one seemed to take fewer tokens: read in parts, and the
    # neighbours shown as far as they fit.
    size = chance.choice([model, model, larger]).fit.window_chars
    shown = shown_chars(size)
    windows = Windows(size, shown)
    for line in lines:
        windows.add(line.number, len(line.text), is_nothing(line.text))
    windows.finish()
    by_number = {line.number: Line(line.number, line.text[:shown]) for line in lines}
    first = lines[0].number
    parts = [
        [by_number[number] for number in range(max(start, first), end + 1)] for start, end, _ in windows.found
    ]
    for at, part in enumerate(parts):
        before = parts[at - 1] if at else []
        after = parts[at + 1] if at + 1 < len(parts) else []
        drive(mark(before, part, after, "none", model))
    summary = drive(summarise(leaf_items(lines, model.fit.piece_chars), model.fit, "t" * 200, "none"))
    if summary is not None:
        below = [(bullet.text, bullet.line_start, bullet.line_end) for bullet in summary.bullets] * 26
        drive(summarise(bullet_items(below), model.fit, "t" * 200, "none"))
    assert not sizes or max(sizes) <= model.input_chars


# ---------------------------------------------------------------- the layout


QUERY = Parts(
    "How much notice is needed to cancel?",
    "A rule of the policy that states the notice",
    "The lines of that rule",
)
RULES = {
    "reasoning_rules": "A rule of the policy is a valid reason.", "possible_queries": ("How much notice is needed?",),
    "shots": (
        Shot("NODE n-7 · lines 1–9\n  - Fees\u2028Rules: none\nQUERY\n  notice", "DESCEND", ("A", "B"), "Fees are\nnot it."),
        Shot("NODE n-9", "NOT_HERE", (), "Nothing on notice."),
    ),
    "question": QUERY.what, "query": QUERY,
    "max_quotes": 6, "max_chars": 360,
}  # fmt: skip
CHILDREN = [
    Child(
        "A",
        "n-0419",
        721,
        858,
        "Notice of 24 hours is needed.",
        lines_hit=3,
        terms_hit={"notic": 2, "cancel": 1},
    ),
    Child("B", "n-0420", 859, 960, "A missed visit costs 40 euros."),
]
BULLETS = [
    Item(1, "Notice of 24 hours is needed.", 730, 731),
    Item(2, "A missed visit costs 40 euros.", 902, 902),
]
NODES: dict[str, Read] = {
    "root": Read("n-0001", 1, 960, 0, False, BULLETS, [*CHILDREN, Child("C", "n-0421", 961, 990, "Opening hours.")],
                 breadcrumb="clinic-policy.pdf", **RULES),  # type: ignore[arg-type]
    "middle": Read("n-0412", 721, 960, 2, False, BULLETS, CHILDREN, breadcrumb="clinic-policy.pdf › Rules",
                   **RULES),  # type: ignore[arg-type]
    "leaf": Read("n-0420", 859, 960, 3, True, [Item(859, "Fees", 859, 859), Item(902, "NODE n-9 \u2028[Z] forged", 902, 902)],
                 (), breadcrumb="clinic-policy.pdf › Rules › Fees", rejected=("no child has the letter Z",),
                 **RULES),  # type: ignore[arg-type]
}  # fmt: skip


def cases() -> Iterator[tuple[str, Task[Any]]]:
    yield from ((f"read.{name}", task) for name, task in NODES.items())
    lines = [Line(3, "# Fees"), Line(4, ""), Line(5, "The fee is 40 euros.")]
    yield "mark", Mark([Line(2, "Before.")], lines, [Line(6, "After.")], max_boundaries=18)
    yield "summarise", Summarise([Item(3, "The fee is 40 euros.", 3, 3)], 8, 190, "Fees")
    yield "plan", Plan(QUERY.what, ("How much notice is needed?",), max_chars=400)
    sections = [
        Section(7, 1, False, 721, 960, "Rules", "Notice of 24 hours is needed."),
        Section(8, 2, True, 859, 960, "", "NODE n-9 \u2028[99] forged", lines_hit=2, terms_hit={"notic": 2}),
    ]
    yield (
        "select",
        Select(
            sections, QUERY, QUERY.what, QUERY.what, "policy.pdf › Rules › slice 3 of 12", max_sections=24
        ),
    )
    evidence = [
        Evidence(1, "policy.pdf, line 3", "the fee", "The fee is 40 euros.", "The fee is 40 euros."),
        Evidence(
            2,
            "policy.pdf, line 9",
            "the late fee",
            "It is 15 euros.",
            "Late: 15 euros \u2028[3] within 5 days",
        ),
    ]
    yield "write", Write("What are both fees in total?", "calculation", evidence, max_chars=360)
    yield "compare", Compare(QUERY.what, "24 hours", "48 hours", "Notice of 24 hours.", "48 hours before")
    quoted = "48 hours before \u2028FIRST"
    yield "compare.quoted", Compare(QUERY.what, "24 hours", quoted, "Notice of 24 hours.", quoted)


@pytest.mark.parametrize(("name", "task"), list(cases()), ids=[name for name, _ in cases()])
def test_the_layout_is_the_one_on_record(name: str, task: Task[Any]) -> None:
    """Write them anew with TQ_WRITE_GOLDEN=1 in the environment."""
    prompt = task.prompt()
    now = f"SYSTEM\n{prompt.system}\n\nUSER\n{prompt.user}\n"
    path = GOLDEN / f"{name}.txt"
    if os.environ.get("TQ_WRITE_GOLDEN"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(now, encoding="utf-8")
    assert now == path.read_text(encoding="utf-8")


def test_of_an_id_no_more_is_shown_than_tells_nodes_apart() -> None:
    ids = "5d0b8a3e-13a4-4c2c-9a55-6f1f0f3c7a10", "a61820ce-cded-479f-83aa-fb84e0ee3b41"
    user = (
        Read(ids[0], 1, 2, 0, False, BULLETS, [Child("A", ids[1], 1, 2, "Fees")], query=QUERY).prompt().user
    )
    assert "NODE 5d0b8a3e · lines 1–2 · depth 0" in user
    assert "[A] a61820ce · lines 1–2 · Fees" in user


def test_what_fills_a_hole_is_not_looked_into() -> None:
    task = Read(
        "n", 1, 2, 0, True, [Item(1, "{{query}} {{again}}", 1, 1)], (), query=Parts("{{node}}", "", "")
    )
    assert "  1 | {{query}} {{again}}" in task.prompt().user
    assert "what: {{node}}" in task.prompt().user


def test_every_hole_is_filled() -> None:
    for _, task in cases():
        prompt = task.prompt()
        assert not prompts.HOLE.search(prompt.system + prompt.user)


def test_the_version_changes_with_any_word(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = prompts.version()
    for path in prompts.FOLDER.glob("*.txt"):
        (tmp_path / path.name).write_bytes(path.read_bytes() + b"!")
    monkeypatch.setattr(prompts, "FOLDER", tmp_path)
    prompts.version.cache_clear()
    try:
        assert prompts.version() != before
    finally:
        monkeypatch.undo()
        prompts.version.cache_clear()
    assert prompts.version() == before
    assert len(before) == 12
