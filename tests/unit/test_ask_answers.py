"""From claims to rows: plan, merging, disagreement, rank, and what is wrong with a question."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tq.ask.question import ask, select
from tq.errors import TqError
from tq.model.tasks import Compare, Plan, Read, Task

if TYPE_CHECKING:
    from unit.ask_help import Document, FakeDatabase, Script, answer, by_line, plan, run
else:
    from ask_help import Document, FakeDatabase, Script, answer, by_line, plan, run

QUESTION = "How much notice is needed to cancel?"
DAY = "A patient must give 24 hours of notice to cancel."
TWO_DAYS = "To cancel, patients give 48 hours of notice."
FILL = [f"Room {number} is cleaned daily." for number in range(1, 31)]


def document(name: str, *lines: str, **more: Any) -> Document:
    return Document(name, [*FILL, *lines], **more)


def relating(relation: str, script: Script | None = None) -> Script:
    reader = script or by_line("notice")
    return lambda task: {"relation": relation} if isinstance(task, Compare) else reader(task)


def test_sources_that_disagree_are_both_returned_and_say_so() -> None:
    database = FakeDatabase(document("policy.md", DAY), document("handbook.md", TWO_DAYS, version=3))
    found, driver = run(database, relating("contradicts"), QUESTION)
    first, second = found["shown"]
    assert {first["document"], second["document"]} == {"policy.md", "handbook.md"}
    for row, other in ((first, second), (second, first)):
        assert (row["certainty"], row["doubt"], row["method"]) == (
            "disputed",
            "conflicting sources",
            "comparison",
        )
        assert row["disagreement"] is True
        assert row["specialist"] is True
        [against] = row["detail"]["contradictions"]
        assert (against["document"], against["version"]) == (other["document"], other["version"])
        assert (against["line_start"], against["line_end"], against["quote"]) == (31, 31, other["quote"])
        assert against["rank"] == other["rank"]
        assert "which contradicts it" in row["how"]
    assert len(driver.of(Compare)) == 1


def test_disagreement_is_not_ranked_away_when_one_is_shown() -> None:
    database = FakeDatabase(document("policy.md", DAY, weight=5), document("handbook.md", TWO_DAYS), top_n=1)
    found, _ = run(database, relating("contradicts"), QUESTION)
    [row] = found["shown"]
    assert (row["document"], row["certainty"], row["held_back"]) == ("policy.md", "disputed", 1)
    assert row["detail"]["contradictions"][0]["document"] == "handbook.md"
    assert [held["document"] for held in found["held"]] == ["handbook.md"]


@pytest.mark.parametrize("relation", ["compatible", "unclear"])
def test_claims_that_do_not_contradict_are_settled(relation: str) -> None:
    database = FakeDatabase(document("policy.md", DAY), document("handbook.md", TWO_DAYS))
    found, _ = run(database, relating(relation), QUESTION)
    assert [row["certainty"] for row in found["shown"]] == ["settled", "settled"]


def test_a_comparison_off_the_list_ends_as_unclear() -> None:
    database = FakeDatabase(document("policy.md", DAY), document("handbook.md", TWO_DAYS))
    found, driver = run(database, relating("opposite"), QUESTION)
    assert [row["certainty"] for row in found["shown"]] == ["settled", "settled"]
    assert len(driver.of(Compare)) == 3


@pytest.mark.parametrize(
    "again",
    [
        DAY,
        DAY.upper(),
        "A patient must give 1 day of notice to cancel.",
        "To cancel, a patient must give 24 hours of notice.",
        "A patient must give twenty-four hours of notice to cancel.",
    ],
)
def test_the_same_claim_found_twice_is_one_answer_with_agreement(again: str) -> None:
    database = FakeDatabase(document("policy.md", DAY), document("handbook.md", again))
    found, driver = run(database, relating("unclear", by_line("notice", "NOTICE")), QUESTION)
    [row] = found["shown"]
    assert {citation["document"] for citation in row["citations"]} == {"policy.md", "handbook.md"}
    assert row["detail"]["ranking"]["agreement"] == 0.5
    assert row["method"] == "comparison"
    assert "Found again" in row["how"]
    assert not driver.of(Compare)


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        (
            "The notice of the lease ended on 1 March 2024.",
            "The notice of the lease ended on 2024-03-01.",
            True,
        ),
        (
            "The notice of the lease ended on 1 March 2024.",
            "The notice of the lease ended on 2 March 2024.",
            False,
        ),
        ("A notice costs 1,250.50 EUR to send.", "A notice costs € 1250.50 to send.", True),
        ("A notice raises the rate by 50 basis points.", "A notice raises the rate by 0.5 percent.", True),
        ("A notice weighs 2 kg.", "A notice weighs 2000 g.", True),
        ("A notice weighs 2 kg.", "A notice weighs 2 g.", False),
        ("A notice takes 30 days.", "A notice takes a month.", False),
    ],
)
def test_quantities_and_dates_are_the_same_in_any_notation(first: str, second: str, same: bool) -> None:
    database = FakeDatabase(document("policy.md", first), document("handbook.md", second))
    found, _ = run(database, relating("unclear", by_line("notice")), "What of the notice?")
    assert len(found["shown"]) == (1 if same else 2)
    if same:
        assert {citation["quote"] for citation in found["shown"][0]["citations"]} == {first, second}


def test_what_the_model_calls_the_same_is_merged() -> None:
    database = FakeDatabase(
        document("policy.md", DAY), document("handbook.md", "Notice: tell us the day before.")
    )
    found, _ = run(database, relating("same", by_line("otice")), QUESTION)
    [row] = found["shown"]
    assert len(row["citations"]) == 2


def test_other_numbers_are_not_the_same() -> None:
    database = FakeDatabase(document("policy.md", DAY), document("handbook.md", DAY.replace("24", "48")))
    found, _ = run(database, relating("unclear"), QUESTION)
    assert len(found["shown"]) == 2


def test_two_places_outrank_one() -> None:
    database = FakeDatabase(
        document("a.md", TWO_DAYS), document("b.md", DAY), document("c.md", DAY, weight=1)
    )
    found, _ = run(database, relating("unclear"), QUESTION)
    assert [row["what"] for row in found["shown"]] == [DAY, TWO_DAYS]
    scores = [row["score"] for row in found["shown"]]
    assert scores == sorted(scores, reverse=True)


def test_source_weight_and_version_decide_between_equals() -> None:
    database = FakeDatabase(
        document("a.md", DAY.replace("24", "36")),
        document("b.md", DAY, weight=4),
        document("c.md", DAY.replace("24", "48"), current=False),
    )
    found, _ = run(database, relating("unclear"), QUESTION)
    assert [row["document"] for row in found["shown"]] == ["b.md", "a.md", "c.md"]
    assert "(version 1)" in found["shown"][2]["why"]
    ranking = found["shown"][0]["detail"]["ranking"]
    assert set(ranking) == {"evidence", "agreement", "source", "fit", "score", "weights", "places"}
    assert ranking["source"] == 0.8


def test_lines_outrank_summaries() -> None:
    first, second = Document("a.md", [DAY, *FILL]), Document("b.md", [*FILL, TWO_DAYS])

    def script(task: Task[Any]) -> dict[str, Any]:
        if isinstance(task, Read) and task.children and task.breadcrumb.startswith("a.md"):
            return answer(task.items[0].text, (1, task.items[0].text))
        return relating("unclear")(task)

    found, _ = run(FakeDatabase(first, second, evidence="summary"), script, QUESTION)
    assert [(row["document"], row["certainty"]) for row in found["shown"]] == [
        ("b.md", "settled"),
        ("a.md", "supported"),
    ]


def test_the_pairs_compared_are_bounded_and_begin_with_the_likely_conflicts() -> None:
    lines = [f"Notice {number}: rule {number} for room {number} to cancel." for number in range(1, 33)]
    found, driver = run(
        FakeDatabase(Document("many.md", lines, leaf=2, fan=4), routes=16),
        relating("unclear", by_line("Notice")),
        QUESTION,
    )
    assert len(driver.of(Compare)) == 16
    assert found["shown"][0]["held_back"] == len(found["held"]) > 0
    assert [left for left in found["trace"]["omissions"] if left["kind"] == "pairs"]


def test_a_subject_without_an_answer_makes_the_others_partial() -> None:
    def script(task: Task[Any]) -> dict[str, Any]:
        if isinstance(task, Plan):
            return plan("notice to cancel", "fee of a room")
        if isinstance(task, Read) and task.is_leaf and "fee" in task.query.what:
            return {"choice": "NOT_HERE"}
        return relating("unclear")(task)

    asked = "What notice to cancel, and what fee of a room?"
    found, _ = run(FakeDatabase(document("policy.md", DAY)), script, asked)
    [row] = found["shown"]
    assert (row["certainty"], row["doubt"]) == ("partial", "missing context")
    assert "No answer was found to “fee of a room”." in row["missing"]
    assert "The question has 2 parts" in row["how"]
    assert [part["what"] for part in row["detail"]["parts"]] == ["notice to cancel"]
    assert {route["subject"] for route in found["trace"]["routes"]} == {1, 2}


def test_a_plan_that_adds_facts_is_given_up_and_the_question_searched_as_it_is() -> None:
    def script(task: Task[Any]) -> dict[str, Any]:
        return plan("the 48 hours in Berlin") if isinstance(task, Plan) else relating("unclear")(task)

    found, driver = run(FakeDatabase(document("policy.md", DAY)), script, QUESTION)
    [row] = found["shown"]
    assert row["what"] == DAY
    assert len(driver.of(Plan)) == 3
    assert "the plan was given up" in row["missing"]
    assert driver.of(Read)[0].query.what == QUESTION


def test_a_reason_that_brings_in_facts_is_left_out_of_the_why() -> None:
    def script(task: Task[Any]) -> dict[str, Any]:
        reply = relating("unclear")(task)
        if reply.get("choice") == "ANSWER":
            reply["why"] = "Doctor Miller decided it in 1997"
        return reply

    found, driver = run(FakeDatabase(document("policy.md", DAY)), script, QUESTION)
    assert "1997" not in found["shown"][0]["why"]
    assert "policy.md, line 31" in found["shown"][0]["why"]
    # It was asked for another one, once.
    [again] = [task for task in driver.of(Read) if task.rejected]
    assert "1997" in again.rejected[0]


@pytest.mark.parametrize(
    "why", ["Line 31 says so", "The policy.md requires a day", "It says when to give notice"]
)
def test_a_reason_may_name_where_it_stands(why: str) -> None:
    def script(task: Task[Any]) -> dict[str, Any]:
        reply = relating("unclear")(task)
        return reply | {"why": why} if reply.get("choice") == "ANSWER" else reply

    found, driver = run(FakeDatabase(document("policy.md", DAY)), script, QUESTION)
    assert why in found["shown"][0]["why"]
    assert not any(task.rejected for task in driver.of(Read))


def test_text_of_a_model_is_made_storable() -> None:
    def script(task: Task[Any]) -> dict[str, Any]:
        reply = relating("unclear")(task)
        if reply.get("choice") == "ANSWER":
            reply["what"] += "\x00 \ud800"
        return reply

    found, _ = run(FakeDatabase(document("policy.md", DAY)), script, QUESTION)
    assert "\x00" not in found["shown"][0]["what"]
    found["shown"][0]["what"].encode("utf-8")


# ---------------------------------------------------------------- questions


@pytest.mark.parametrize("question", [None, "", " \n\t "])
def test_an_empty_question_says_what_to_do(question: str | None) -> None:
    with pytest.raises(TqError) as error:
        ask(FakeDatabase(document("policy.md", DAY)), "*", question, "default")
    assert error.value.code == "TQ021"
    assert error.value.hint


@pytest.mark.parametrize("strategy", [None, "", "defualt"])
def test_an_unknown_strategy_is_named_with_near_ones(strategy: str | None) -> None:
    with pytest.raises(TqError) as error:
        ask(FakeDatabase(document("policy.md", DAY)), "*", QUESTION, strategy)
    assert error.value.code == "TQ020"
    assert "default" in str(error.value.hint)


def test_an_unknown_model_says_which_layer_named_it() -> None:
    with pytest.raises(TqError) as error:
        ask(FakeDatabase(document("policy.md", DAY), settings={"model": "gone"}), "*", QUESTION, "default")
    assert error.value.code == "TQ020"
    assert "setting model" in str(error.value.detail)


def test_nothing_ready_is_an_error() -> None:
    with pytest.raises(TqError) as error:
        ask(FakeDatabase(document("late.md", ready=False)), "*", QUESTION, "default")
    assert error.value.code == "TQ002"
    with pytest.raises(TqError) as error:
        ask(FakeDatabase(), None, QUESTION, "default")
    assert error.value.code == "TQ001"


def test_a_question_of_100_000_characters_fits_every_prompt() -> None:
    question = (QUESTION + " " + " ".join(f"word{number}" for number in range(12_000)))[:100_000]
    found, driver = run(FakeDatabase(document("policy.md", DAY)), relating("unclear"), question)
    assert all(len(task.prompt()) < 4096 * 4 for task in driver.tasks)
    assert all(len(task.terms) <= 48 for task in driver.of(Read))
    missing = found["shown"][0]["missing"]
    assert "characters" in missing
    assert "different terms" in missing


@pytest.mark.parametrize(
    ("language", "line", "question"),
    [
        ("none", "取消预约需要提前二十四小时通知。", "取消预约需要提前多久通知？"),
        (
            "german",
            "Termine müssen 24 Stunden vorher abgesagt werden.",
            "Wie lange vorher sind Termine abzusagen?",
        ),
        ("russian", "Отмена приёма возможна за 24 часа.", "За сколько часов возможна отмена приёма?"),
    ],
)
def test_a_question_in_any_language(language: str, line: str, question: str) -> None:
    fill = [f"第{number}号房间每天打扫。" for number in range(30)]
    database = FakeDatabase(Document("policy.md", [*fill, line], language=language))
    found, _ = run(database, relating("unclear", by_line(line)), question)
    assert found["shown"][0]["quote"] == line


def test_only_what_bears_on_the_question_is_selected() -> None:
    script = relating("unclear")
    database = FakeDatabase(document("policy.md", DAY))

    class Driver:
        waits = False

        def reply(self, task: Task[Any], stop: Any) -> Any:
            from tq.model.driver import Reply

            return Reply(script(task), 1, 1)

    [section] = select(database, "*", QUESTION, opener=lambda model: Driver())
    assert (section["line_start"], section["line_end"]) == (31, 31)
    with pytest.raises(TqError) as error:
        select(database, "*", "Who won the regatta?", opener=lambda model: Driver())
    assert error.value.code == "TQ111"


@pytest.mark.parametrize(
    ("places", "planned", "at_root", "below"),
    [
        ("root, plan", True, True, False),
        ("plan", True, False, False),
        ("root", False, True, False),
        ("nodes", False, True, True),
        ("nodes, plan", True, True, True),
        ("nowhere", False, False, False),
    ],
)
def test_possible_queries_are_shown_where_the_setting_says(
    places: str, planned: bool, at_root: bool, below: bool
) -> None:
    database = FakeDatabase(
        document("policy.md", DAY, queries=["How long before?"]), settings={"possible_queries": places}
    )
    _, driver = run(database, relating("unclear"), QUESTION)
    shown = ("How long before?",)
    assert [tuple(task.possible_queries) == shown for task in driver.of(Plan)] == [planned]
    reads = driver.of(Read)
    assert {tuple(task.possible_queries) == shown for task in reads if task.depth == 0} == {at_root}
    assert {tuple(task.possible_queries) == shown for task in reads if task.depth > 0} == {below}


def test_what_is_barely_an_answer_gains_nothing_by_being_said_twice() -> None:
    weak = "The notice board hangs in the hall, where all may see it and cancel nothing."

    def script(task: Task[Any]) -> dict[str, Any]:
        reply = relating("unclear", by_line("notice"))(task)
        if reply.get("choice") == "ANSWER":
            reply |= {"sure": 0.9, "fit": 0.5} if "board" in reply["what"] else {"sure": 1.2, "fit": 0.55}
        return reply

    database = FakeDatabase(
        document("a.md", weak), document("b.md", weak), document("c.md", DAY.replace("24", "36"))
    )
    found, _ = run(database, script, QUESTION)
    assert [row["document"] for row in found["shown"]] == ["c.md", "a.md"]
    assert found["shown"][1]["detail"]["ranking"]["places"] == 2
    assert found["shown"][1]["detail"]["ranking"]["agreement"] == 0
