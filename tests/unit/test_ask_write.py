"""Answers that need several routes: composed of checked evidence picked by number, computed, chained, or not at all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tq.model.tasks import Compare, Evidence, Plan, Read, Rejected, Task, Write
from tq.text.figures import work_out
from tq.text.quantities import quantities

if TYPE_CHECKING:
    from unit.ask_help import Document, FakeDatabase, Script, by_line, extractive, plan, run
else:
    from ask_help import Document, FakeDatabase, Script, by_line, extractive, plan, run

FILL = [f"Room {number} is cleaned daily." for number in range(1, 31)]
SINGLE = "The fee for a missed visit is 35 EUR."
DOUBLE = "The fee for a double visit is 60 EUR."
QUESTION = "Compare the fee for a missed visit with the fee for a double visit."
SIDES = ("the fee for a missed visit", "the fee for a double visit")


def policy() -> FakeDatabase:
    return FakeDatabase(Document("policy.md", [*FILL, SINGLE, *FILL, DOUBLE]))


def writing(**reply: Any) -> Script:
    """Reads by line, and composes as told."""
    reader = by_line("fee")
    composed = {
        "what": "A missed visit costs 35 EUR, a double visit 60 EUR.",
        "why": "Both fees are stated",
        "how": "Both sides were looked up",
        "uses": [1, 2],
        "operation": "none",
        "figures": [],
    }

    def script(task: Task[Any]) -> dict[str, Any]:
        if isinstance(task, Plan):
            return plan(*SIDES, method="comparison")
        if isinstance(task, Write):
            return composed | reply
        if isinstance(task, Read) and not task.children:
            word = "missed" if "missed" in task.asked else "double"
            return by_line(word)(task)
        return reader(task)

    return script


def test_two_places_become_one_answer_with_what_why_and_how() -> None:
    found, driver = run(policy(), writing(), QUESTION)
    first = found["shown"][0]
    assert first["what"] == "A missed visit costs 35 EUR, a double visit 60 EUR."
    assert first["method"] == "comparison"
    assert first["certainty"] == "settled"
    assert [c["quote"] for c in first["citations"]] == [SINGLE, DOUBLE]
    assert SINGLE in first["why"]
    assert DOUBLE in first["why"]
    assert "composed of 2 checked claims" in first["how"]
    assert "Both sides were looked up" in first["how"]
    assert first["detail"]["composed_of"] == [2, 3]
    [task] = driver.of(Write)
    assert [one.quote for one in task.evidence] == [SINGLE, DOUBLE]
    assert {one.answers for one in task.evidence} == set(SIDES)


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        ({"uses": [1, 9]}, "no evidence 9"),
        ({"uses": [1]}, "is not composed"),
        ({"what": "A double visit costs 70 EUR."}, "70"),
        ({"what": "Doctor Miller set 35 EUR and 60 EUR."}, "Miller"),
        ({"why": "It was so decided in 1997"}, "1997"),
        ({"how": "Read page 412"}, "412"),
        ({"how": " "}, "its what, its why and its how"),
        ({"operation": "sum", "figures": ["1a", "7z"]}, "no figure 7z"),
        ({"operation": "difference", "figures": ["1a"]}, "no difference"),
    ],
)
def test_a_composed_answer_off_the_list_is_rejected_and_given_up(bad: dict[str, Any], reason: str) -> None:
    found, driver = run(policy(), writing(**bad), QUESTION)
    assert not any(row["detail"]["composed_of"] for row in found["shown"])
    assert {row["what"] for row in found["shown"]} == {SINGLE, DOUBLE}
    assert "no answer was composed of the parts found" in found["shown"][0]["missing"]
    assert len(driver.of(Write)) == 3
    assert reason in driver.of(Write)[1].rejected[0]


def test_evidence_that_makes_no_answer_is_a_reply_too() -> None:
    found, driver = run(policy(), writing(what="", why="", how="", uses=[]), QUESTION)
    assert {row["what"] for row in found["shown"]} == {SINGLE, DOUBLE}
    assert len(driver.of(Write)) == 1
    assert not [left for left in found["trace"]["omissions"] if left["kind"] == "writing"]


def test_a_figure_is_worked_out_and_never_written() -> None:
    reply = {"what": "The fees differ.", "operation": "difference", "figures": ["2a", "1a"]}
    found, _ = run(policy(), writing(**reply), QUESTION)
    first = found["shown"][0]
    assert first["what"] == "The fees differ. Difference: 60 EUR − 35 EUR = 25 EUR."
    assert first["method"] == "calculation"
    assert "Method: calculation" in first["how"]
    assert "60 EUR − 35 EUR = 25 EUR" in first["how"]


@pytest.mark.parametrize(
    ("operation", "texts", "told"),
    [
        ("sum", ["25 EUR", "35.50 EUR"], "25 EUR + 35.5 EUR = 60.5 EUR"),
        ("difference", ["2 days", "24 hours"], "2 days − 24 hours = 1 day"),
        ("average", ["10 percent", "15 percent"], "(10 percent + 15 percent) ÷ 2 = 12.5 percent"),
        ("ratio", ["60 EUR", "40 EUR"], "60 EUR ÷ 40 EUR = 1.5"),
        ("ratio", ["10 EUR", "3 EUR"], "10 EUR ÷ 3 EUR = about 3.3333"),
        ("sum", ["25 EUR", "3 days"], None),
        ("ratio", ["10 EUR", "0 EUR"], None),
        ("difference", ["1 EUR", "2 EUR", "3 EUR"], None),
    ],
)
def test_figures(operation: Any, texts: list[str], told: str | None) -> None:
    found = work_out(operation, [quantities(text)[0] for text in texts])
    assert (found.told if found else None) == told


def test_questions_that_only_stand_together_are_not_composed() -> None:
    def script(task: Task[Any]) -> dict[str, Any]:
        return plan(*SIDES) if isinstance(task, Plan) else writing()(task)

    found, driver = run(policy(), script, QUESTION)
    assert not driver.of(Write)
    assert len(found["shown"]) == 2


def test_a_part_that_contradicts_another_place_makes_the_whole_disputed() -> None:
    other = "The fee for a missed visit is 45 EUR."
    database = FakeDatabase(
        Document("policy.md", [*FILL, SINGLE, *FILL, DOUBLE]), Document("handbook.md", [*FILL, other])
    )

    def script(task: Task[Any]) -> dict[str, Any]:
        if isinstance(task, Compare):
            apart = {task.first, task.second} == {SINGLE, other}
            return {"relation": "contradicts" if apart else "compatible"}
        return writing()(task)

    rows = run(database, script, QUESTION)[0]["shown"]
    whole = next(row for row in rows if row["detail"]["composed_of"])
    assert (whole["certainty"], whole["disagreement"]) == ("disputed", True)
    assert whole["detail"]["contradictions"][0]["quote"] == other


# ---------------------------------------------------------------- chains


MANAGER = "Exceptions are approved by the practice manager Mary Lowe."
PHONE = "Mary Lowe: telephone 030 5512."
OTHER_PHONE = "Telephone of the pharmacy: 030 7788."


def test_a_chain_searches_its_second_step_with_what_the_first_found() -> None:
    steps = ("who approves exceptions", "what is the telephone of that person")
    lines = [*FILL, MANAGER, *FILL, OTHER_PHONE, *FILL, PHONE]

    def script(task: Task[Any]) -> dict[str, Any]:
        if isinstance(task, Plan):
            return plan(*steps, method="chain")
        if isinstance(task, Write):
            return {
                "what": "Mary Lowe approves exceptions; her telephone is 030 5512.",
                "why": "The first quote names her, the second her telephone",
                "how": "First who approves, then the telephone",
                "uses": [1, 2],
                "operation": "none",
                "figures": [],
            }
        if isinstance(task, Read) and not task.children and "telephone" in task.asked:
            return by_line("Mary Lowe: telephone")(task)
        return by_line("approved")(task)

    question = "Who approves exceptions, and what is the telephone of that person?"
    found, driver = run(FakeDatabase(Document("policy.md", lines), routes=1), script, question)
    second = [task for task in driver.of(Read) if "telephone of that person" in task.asked]
    assert all(MANAGER in task.known for task in second)
    assert all("Lowe" in task.asked for task in second)
    assert "known before:" in second[0].prompt().user
    # One route a document: without the name it would have gone to the pharmacy.
    first = found["shown"][0]
    assert first["method"] == "chain"
    assert [c["quote"] for c in first["citations"]] == [MANAGER, PHONE]
    assert "was searched with what the step before had found" in first["how"]


def test_the_embedded_model_joins_what_stands_there() -> None:
    lines = [*FILL, SINGLE, *FILL, DOUBLE]
    question = "What is the difference between the fee for a missed visit and the fee for a double visit?"
    rows = extractive(FakeDatabase(Document("policy.md", lines)), question)["shown"]
    assert rows[0]["method"] == "calculation"
    assert "60 EUR − 35 EUR = 25 EUR" in rows[0]["what"]
    assert {c["quote"] for c in rows[0]["citations"]} == {SINGLE, DOUBLE}
    assert "Difference" in rows[0]["what"]


def test_a_what_with_its_why_is_answered_from_both_places() -> None:
    why = "A fee is charged because every missed visit leaves a gap in the plan of the day."
    lines = [*FILL, SINGLE, *FILL, why]
    rows = extractive(
        FakeDatabase(Document("policy.md", lines)),
        "What is the fee for a missed visit and why is it charged?",
    )["shown"]
    whole = next(row for row in rows if row["detail"]["composed_of"])
    assert [c["quote"] for c in whole["citations"]] == [SINGLE, why]
    assert rows[0] is whole


def test_evidence_shows_its_figures_by_letter() -> None:
    one = Evidence(
        3, "policy.md, line 4", "fees", "35 or 60", "Missed: 35 EUR within 30 days; double: 60 EUR"
    )
    assert {letter: found.number for letter, found in one.figures.items()} == {
        "3a": "35",
        "3b": "30",
        "3c": "60",
    }
    with pytest.raises(Rejected):
        Write("q", "calculation", [one]).accept(
            {"what": "x", "why": "y", "how": "z", "uses": [3, 3], "operation": "none", "figures": []}
        )
