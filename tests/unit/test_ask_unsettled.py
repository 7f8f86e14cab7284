"""What is said where nothing settles a question: each reason has its own words, doubt and nearest lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tq.model.tasks import Plan, Task

if TYPE_CHECKING:
    from unit.ask_help import NOT_HERE, Document, FakeDatabase, Script, by_line, plan, run
else:
    from ask_help import NOT_HERE, Document, FakeDatabase, Script, by_line, plan, run

FILL = [f"Room {number} is cleaned daily." for number in range(1, 61)]
NOTICE = "Notice to cancel is told at the desk."


def book(name: str = "policy.md", **more: Any) -> Document:
    return Document(name, [*FILL, NOTICE], **more)


def silent(task: Task[Any]) -> dict[str, Any]:
    return plan(task.question) if isinstance(task, Plan) else NOT_HERE


def weakly(word: str) -> Script:
    """Answers that are not sure enough."""
    reader = by_line(word)

    def script(task: Task[Any]) -> dict[str, Any]:
        reply = reader(task)
        return reply | {"sure": 0.5} if reply.get("choice") == "ANSWER" else reply

    return script


def only(database: FakeDatabase, script: Script, question: str) -> dict[str, Any]:
    row: dict[str, Any]
    [row] = run(database, script, question)[0]["shown"]
    assert (row["what"], row["certainty"], row["rank"]) == (None, "unsettled", 1)
    assert row["why"].startswith("No passage read in")
    assert row["how"].startswith("Method: ")
    assert "Searched 1 document (policy.md)" in row["missing"]
    return row


def test_nothing_on_the_subject_takes_knowledge_from_outside() -> None:
    row = only(FakeDatabase(book()), by_line("notice"), "Who won the regatta at Henley?")
    assert (row["doubt"], row["specialist"]) == ("outside the corpus", True)
    assert row["detail"]["unsettled"] == "outside"
    assert (
        "holds nothing on the subject: none of its lines has “won”, “regatta” or “Henley”" in row["missing"]
    )
    assert row["detail"]["nearest"] is None


def test_most_of_the_subject_missing_is_outside_as_well() -> None:
    row = only(FakeDatabase(book()), silent, "Which dental implant does the desk recommend to astronauts?")
    assert (row["doubt"], row["detail"]["unsettled"]) == ("outside the corpus", "outside")
    assert "“implant”" in row["missing"]
    # What it does have is shown as the nearest.
    assert "which has “desk”" in row["missing"]
    assert row["detail"]["nearest"]["line"] == 61


def test_what_only_comes_near_is_shown_with_its_lines() -> None:
    row = only(FakeDatabase(book()), weakly("Notice"), "What notice to cancel at the desk?")
    assert (row["doubt"], row["detail"]["unsettled"]) == ("missing context", "near")
    assert "1 passage only came near" in row["why"]
    assert (
        f"Nearest: policy.md, line 61, which has “cancel”, “desk” and “notice”: “{NOTICE}”" in row["missing"]
    )
    assert row["detail"]["nearest"]["text"] == NOTICE
    assert row["specialist"]


def test_everything_read_and_nothing_said() -> None:
    row = only(FakeDatabase(book()), silent, "What notice to cancel at the desk?")
    assert (row["doubt"], row["detail"]["unsettled"]) == ("missing context", "not here")
    assert "Everything that bears on the question was read, and no line answers it." in row["missing"]
    assert row["specialist"]


def test_a_search_that_was_cut_short_says_so_and_calls_no_specialist() -> None:
    lines = [*FILL]
    for at in range(0, 60, 10):
        lines[at] = "Notice to cancel is told at the desk."
    row = only(
        FakeDatabase(Document("policy.md", lines), routes=1),
        lambda task: silent(task) if isinstance(task, Plan) else _inner(task),
        "What notice to cancel at the desk?",
    )
    assert (row["doubt"], row["detail"]["unsettled"]) == ("missing context", "incomplete")
    assert "not everything was read" in row["missing"]
    assert "not followed" in row["missing"]
    assert not row["specialist"]


def _inner(task: Any) -> dict[str, Any]:
    return by_line("nowhere")(task) if task.children else NOT_HERE


def test_a_judgement_is_nobodys_line() -> None:
    row = only(FakeDatabase(book()), silent, "Should I cancel at the desk without notice?")
    assert (row["doubt"], row["specialist"]) == ("outside the corpus", True)
    assert "asks for a judgement" in row["missing"]


@pytest.mark.parametrize("question", ["Who is it?", "and of the", "???"])
def test_a_question_that_names_nothing(question: str) -> None:
    row = only(FakeDatabase(book()), silent, question)
    assert row["detail"]["unsettled"] == "nothing asked"
    assert "names nothing that can be looked up" in row["missing"]
    assert not row["specialist"]


def test_words_without_meaning_are_not_called_missing() -> None:
    document = book(language="none")
    row = only(FakeDatabase(document), silent, "Is it so that the regatta was won by them?")
    assert "“regatta”" in row["missing"]
    for word in ("“it”", "“was”", "“them”", "“the”"):
        assert word not in row["missing"]


def test_documents_that_are_not_ready_are_counted_and_some_named() -> None:
    late = [book(f"late-{number}.md", ready=False) for number in range(40)]
    row = only(FakeDatabase(book(), *late), silent, "What notice to cancel at the desk?")
    assert "40 documents were not ready and not searched" in row["missing"]
    assert "and 35 more" in row["missing"]
    assert row["missing"].count("late-") == 5


def test_what_is_outside_is_not_known_of_documents_that_were_not_looked_at() -> None:
    row = only(FakeDatabase(book(), book("late.md", ready=False)), silent, "Who won the regatta at Henley?")
    assert row["doubt"] == "missing context"
    assert row["detail"]["unsettled"] == "incomplete"
