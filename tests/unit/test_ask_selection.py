"""Search modes beside the walk: the view of a whole tree in one call or in slices, and how their choices become one."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pytest

from tq.ask.question import ask, compare_modes, select
from tq.errors import TqError
from tq.model.tasks import Plan, Read, Select, Task

if TYPE_CHECKING:
    from unit.ask_help import Document, FakeDatabase, Script, Scripted, answer, by_line, extractive, plan, run
else:
    from ask_help import Document, FakeDatabase, Script, Scripted, answer, by_line, extractive, plan, run

NOTICE = "A patient must give 24 hours of notice to cancel."
QUESTION = "How much notice is needed to cancel?"


def book(lines: int = 100, at: int = 43, other: str = "", **more: Any) -> Document:
    filler = [f"Room {number} is cleaned daily." for number in range(1, lines + 1)]
    filler[at - 1] = NOTICE
    if other:
        filler[77] = other
    return Document("book.md", filler, **more)


def choosing(pick: Any, reader: Script | None = None) -> Script:
    """Chooses sections by a function of the task; reads by line."""
    read = reader or by_line("notice")

    def script(task: Task[Any]) -> dict[str, Any]:
        return {"sections": list(pick(task))} if isinstance(task, Select) else read(task)

    return script


def holding(task: Select) -> Sequence[int]:
    return [one.number for one in task.sections if one.is_leaf and one.lines_hit]


def test_a_tree_that_fits_is_seen_in_one_call_and_only_the_chosen_leaf_is_read() -> None:
    found, driver = run(FakeDatabase(book(), mode="single-pass"), choosing(holding), QUESTION)
    [row] = found["shown"]
    assert (row["what"], row["certainty"], row["line_start"]) == (NOTICE, "settled", 43)
    [seen] = driver.of(Select)
    assert [one.number for one in seen.sections] == list(range(2, 29))  # all nodes but the root
    assert [(task.line_start, task.line_end) for task in driver.of(Read)] == [(41, 45)]
    assert row["detail"]["mode"] == row["detail"]["ran_as"] == "single-pass"
    assert "because it was chosen from the view of the whole tree" in row["how"]
    assert "1 whole tree in 1 call" in row["how"]


def test_numbers_that_are_not_on_the_list_are_thrown_away() -> None:
    def pick(task: Select) -> list[int]:
        return [1, 999_999, -4, *holding(task)]

    found, driver = run(FakeDatabase(book(), mode="single-pass"), choosing(pick), QUESTION)
    assert len(driver.of(Read)) == 1
    assert "3 numbers that stood on no list were thrown away" in found["shown"][0]["how"]
    [step] = [step for step in found["trace"]["steps"] if step["purpose"] == "select"]
    assert "3 numbers thrown away" in step["told"]


def test_a_section_of_another_slice_cannot_be_chosen() -> None:
    database = FakeDatabase(book(2000, 1043), mode="chunked-tree")

    def pick(task: Select) -> list[int]:
        inside = {one.number for one in task.sections}
        return [number for number in range(2, 500) if number not in inside][:20]

    found, driver = run(database, choosing(pick), QUESTION)
    assert not driver.of(Read)
    [row] = found["shown"]
    assert (row["what"], row["certainty"]) == (None, "unsettled")
    assert "thrown away" in row["how"]


def test_a_single_pass_that_does_not_fit_is_cut_and_says_so() -> None:
    database = FakeDatabase(book(2000, 1043), mode="single-pass")
    found, driver = run(database, choosing(holding), QUESTION)
    row = found["shown"][0]
    assert row["what"] == NOTICE
    assert (row["detail"]["mode"], row["detail"]["ran_as"]) == ("single-pass", "chunked-tree")
    assert "A single pass was wanted, but the view of book.md does not fit one call" in row["how"]
    slices = driver.of(Select)
    assert len(slices) > 2
    assert all(len(task.prompt()) <= 4096 * 4 for task in slices)
    numbers = [one.number for task in slices for one in task.sections]
    assert sorted(numbers) == list(range(2, len(database.documents["doc-book.md-1"].nodes) + 1))
    assert slices[1].breadcrumb.startswith("book.md › ")
    assert slices[1].breadcrumb.endswith(f"slice 2 of {len(slices)}")


def test_slices_run_at_once_as_many_as_the_setting_says() -> None:
    flying = peak = 0
    lock = threading.Lock()

    def script(task: Task[Any]) -> dict[str, Any]:
        nonlocal flying, peak
        if not isinstance(task, Select):
            return by_line("notice")(task)
        with lock:
            flying += 1
            peak = max(peak, flying)
        threading.Event().wait(0.05)
        with lock:
            flying -= 1
        return {"sections": list(holding(task))}

    database = FakeDatabase(book(4000, 1043), settings={"parallel_calls": 3}, mode="chunked-tree")
    run(database, script, QUESTION, waits=True)
    assert peak == 3


@pytest.mark.parametrize("merge", ["union", "top 2"])
def test_choices_of_slices_are_merged(merge: str) -> None:
    """Each slice chooses its first two leaves; the best are those named first."""

    def pick(task: Select) -> list[int]:
        return [one.number for one in task.sections if one.is_leaf][:2]

    database = FakeDatabase(book(2000, 43), mode="chunked-tree", merge=merge, routes=100)
    _, driver = run(database, choosing(pick), QUESTION)
    slices = driver.of(Select)
    starts = [task.line_start for task in driver.of(Read)]
    if merge == "union":
        assert len(starts) == 2 * len(slices)
        assert starts == sorted(starts)
    else:
        firsts = [next(one.line_start for one in task.sections if one.is_leaf) for task in slices]
        assert starts == sorted(firsts)[:2]


def test_a_vote_counts_over_several_cuts() -> None:
    """A leaf is chosen in every cut, another in one of three."""
    once: list[int] = []

    def pick(task: Select) -> list[int]:
        other = [one.number for one in task.sections if one.line_start == 6 and one.is_leaf]
        if other and not once:
            once.extend(other)
            return [*holding(task), *other]
        return list(holding(task))

    for merge, expected in (("vote 2 of 3", [(41, 45)]), ("vote 1 of 3", [(6, 10), (41, 45)])):
        once.clear()
        database = FakeDatabase(book(2000, 43), mode="chunked-tree", merge=merge)
        _, driver = run(database, choosing(pick), QUESTION)
        assert [(task.line_start, task.line_end) for task in driver.of(Read)] == expected
        firsts = {task.sections[0].number for task in driver.of(Select)}
        assert len(firsts) > len(driver.of(Select)) // 2  # the tree was cut at other places each time


def test_the_lowest_of_nested_sections_is_walked_down() -> None:
    def inner(task: Select) -> list[int]:
        return [
            one.number for one in task.sections if not one.is_leaf and one.line_start <= 43 <= one.line_end
        ]

    found, driver = run(FakeDatabase(book(), mode="single-pass"), choosing(inner), QUESTION)
    assert found["shown"][0]["what"] == NOTICE
    assert [task.is_leaf for task in driver.of(Read)] == [False, True]


def test_what_the_routes_do_not_reach_is_left_out_and_said() -> None:
    def pick(task: Select) -> list[int]:
        return [one.number for one in task.sections if one.is_leaf and one.line_end < 50]

    found, driver = run(FakeDatabase(book(), mode="single-pass", routes=2), choosing(pick), QUESTION)
    assert len(driver.of(Read)) == 2
    assert "7 chosen sections of book.md not read" in found["shown"][0]["missing"]


def test_a_slice_that_is_given_up_is_an_omission() -> None:
    def script(task: Task[Any]) -> dict[str, Any]:
        return {"sections": "all of them"} if isinstance(task, Select) else by_line("notice")(task)

    found, driver = run(FakeDatabase(book(), mode="single-pass"), script, QUESTION)
    assert len(driver.of(Select)) == 3
    assert "slice 1 of 1 of book.md not searched" in found["shown"][0]["missing"]


def test_sections_are_selected_without_reading_them() -> None:
    driver = Scripted(choosing(holding))
    [section] = select(FakeDatabase(book()), "*", QUESTION, "single-pass", lambda model: driver)
    assert (section["line_start"], section["line_end"]) == (41, 45)
    assert not driver.of(Read)
    nothing = Scripted(choosing(lambda task: []))
    with pytest.raises(TqError) as error:
        select(FakeDatabase(book()), "*", QUESTION, "single-pass", lambda model: nothing)
    assert error.value.code == "TQ111"


@pytest.mark.parametrize("mode", ["", None, "tree ", "single_pass"])
def test_a_mode_that_is_none_says_which_there_are(mode: str | None) -> None:
    with pytest.raises(TqError) as error:
        select(FakeDatabase(book()), "*", QUESTION, mode)
    assert error.value.code == "TQ021"
    assert "chunked-tree" in str(error.value.hint)


def test_the_modes_are_compared_side_by_side() -> None:
    database = FakeDatabase(book(2000, 1043))
    rows = compare_modes(database, "*", QUESTION, "default", lambda model: Scripted(choosing(holding)))
    assert [row["mode"] for row in rows] == ["tree", "single-pass", "chunked-tree"]
    assert [row["ran_as"] for row in rows] == ["tree", "chunked-tree", "chunked-tree"]
    assert {row["what"] for row in rows} == {NOTICE}
    assert all(row["sections"] == ["book.md lines 1041–1045"] for row in rows)
    assert rows[0]["reads"] > rows[1]["reads"] == 1
    assert all(row["calls"] > 0 and row["input_tokens"] > 0 for row in rows)


def test_a_mode_that_fails_is_a_row_beside_the_others() -> None:
    database = FakeDatabase(book(2000, 1043), max_calls=2)
    rows = compare_modes(database, "*", QUESTION, "default", lambda model: Scripted(choosing(holding)))
    assert [row["certainty"] for row in rows] == ["failed"] * 3
    assert all(row["error"].startswith("TQ110") for row in rows)


def test_every_aim_has_its_own_view() -> None:
    fee = "The fee is 35 EUR."

    def script(task: Task[Any]) -> dict[str, Any]:
        if isinstance(task, Plan):
            return plan("How much notice is needed", "what is the fee")
        if isinstance(task, Read):
            text = fee if "fee" in task.asked else NOTICE
            line = next((item.number for item in task.items if item.text == text), None)
            return {"choice": "NOT_HERE"} if line is None else answer(text, (line, text))
        return choosing(holding)(task)

    database = FakeDatabase(book(other=fee), mode="single-pass")
    found, driver = run(database, script, "How much notice is needed, and what is the fee?")
    assert {row["what"] for row in found["shown"]} == {NOTICE, fee}
    assert len(driver.of(Select)) == 2


@pytest.mark.parametrize("mode", ["tree", "single-pass", "chunked-tree"])
def test_the_embedded_model_finds_the_line_in_every_mode(mode: str) -> None:
    rows = extractive(FakeDatabase(book(3000, 1043), mode=mode), QUESTION)["shown"]
    assert (rows[0]["what"], rows[0]["line_start"]) == (NOTICE, 1043)


def test_a_question_is_asked_by_the_strategys_mode() -> None:
    driver = Scripted(choosing(holding))
    ask(FakeDatabase(book(), mode="chunked-tree"), "*", QUESTION, "default", lambda model: driver)
    assert driver.of(Select)
