"""Marks and summaries by a scripted model: what is checked, sent back, replaced, and read in parts."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from tq.errors import TqError
from tq.ingest.calls import Asking, Pool, Run
from tq.ingest.marking import Marked, by_headings, mark
from tq.ingest.summary import Summary, bullet_items, extract, leaf_items, summarise
from tq.model.driver import Reply
from tq.model.limits import Fit
from tq.model.tasks import Line, Task

FIT = Fit(
    window_chars=400,
    leaf_max_chars=300,
    leaf_min_chars=60,
    piece_chars=100,
    fan_out=4,
    bullets=4,
    bullet_chars=80,
)
LINES = [Line(11, "Notice is 24 hours."), Line(12, ""), Line(13, "The fee is 40 EUR, never more.")]
Script = Callable[[Any], dict[str, Any]]


class Scripted:
    waits = False

    def __init__(self, script: Script) -> None:
        self._script = script
        self.tasks: list[Any] = []

    def reply(self, task: Task[Any], stop: threading.Event) -> Reply:
        self.tasks.append(task)
        return Reply(self._script(task), 10, 5)


def finish(asking: Asking, driver: Scripted) -> Run:
    pool = Pool(driver, 1, lambda: None)
    pool.add("job", asking)
    (run,) = (run for runs in pool.finished(0.0, 10) for run in runs)
    return run


def summary_of(asking: Asking, driver: Scripted) -> Summary:
    run = finish(asking, driver)
    assert run.error is None, run.error
    assert isinstance(run.result, Summary)
    return run.result


def bullets(*texts: tuple[str, int, int]) -> dict[str, Any]:
    return {"bullets": [{"text": text, "first": first, "last": last} for text, first, last in texts]}


def test_a_leaf_shows_its_lines_and_skips_the_empty_ones() -> None:
    assert [(item.number, item.text) for item in leaf_items(LINES, 100)] == [
        (11, LINES[0].text),
        (13, LINES[2].text),
    ]


def test_page_headers_are_not_summarised_unless_alone() -> None:
    header = Line(1, "Clinic policy", "furniture")
    assert [item.number for item in leaf_items([header, *LINES], 100)] == [11, 13]
    assert [item.number for item in leaf_items([header], 100)] == [1]


def test_a_long_line_is_shown_in_pieces_that_make_it_up() -> None:
    text = "word " * 200 + "x" * 5000
    items = leaf_items([Line(7, text)], 100)
    assert "".join(item.text for item in items) == text
    assert {item.number for item in items} == {7}
    assert all(len(item.text) <= 100 for item in items)


def test_a_supported_bullet_stays() -> None:
    driver = Scripted(lambda task: bullets(("The notice is 24 hours.", 11, 11)))
    found = summary_of(summarise(leaf_items(LINES, 100), FIT, "", "english"), driver)
    assert [(bullet.text, bullet.line_start, bullet.fallback) for bullet in found.bullets] == [
        ("The notice is 24 hours.", 11, False)
    ]


def test_an_invented_number_goes_back_once_and_is_then_replaced() -> None:
    driver = Scripted(
        lambda task: bullets(("The notice is 48 hours.", 11, 11), ("The fee is 40 EUR.", 13, 13))
    )
    found = summary_of(summarise(leaf_items(LINES, 100), FIT, "", "english"), driver)
    assert len(driver.tasks) == 2
    assert "48" in driver.tasks[1].rejected[0]
    assert found.bullets[0].text == "Notice is 24 hours."
    assert found.bullets[0].fallback
    assert found.bullets[0].line_start == 11


def test_a_bullet_corrected_on_the_second_try_is_no_fallback() -> None:
    driver = Scripted(
        lambda task: bullets(("The notice is 24 hours." if task.rejected else "It is 48 hours.", 11, 11))
    )
    found = summary_of(summarise(leaf_items(LINES, 100), FIT, "", "english"), driver)
    assert [bullet.fallback for bullet in found.bullets] == [False]


def test_a_reply_off_the_list_is_asked_again_and_then_an_error() -> None:
    driver = Scripted(lambda task: bullets(("Notice is 24 hours.", 11, 99)))
    run = finish(summarise(leaf_items(LINES, 100), FIT, "", "english"), driver)
    assert len(driver.tasks) == 3
    assert isinstance(run.error, TqError)
    assert run.error.code == "TQ104"


def test_a_reply_that_lacks_its_key_is_asked_again() -> None:
    driver = Scripted(
        lambda task: bullets(("Notice is 24 hours.", 11, 11)) if task.rejected else {"bulets": []}
    )
    assert len(summary_of(summarise(leaf_items(LINES, 100), FIT, "", "english"), driver).bullets) == 1


def test_an_error_of_the_driver_is_the_jobs_own() -> None:
    def script(task: Any) -> dict[str, Any]:
        raise TqError("TQ102", "the model is down")

    run = finish(summarise(leaf_items(LINES, 100), FIT, "", "english"), Scripted(script))
    assert isinstance(run.error, TqError)
    assert run.error.code == "TQ102"


def test_nothing_to_read_needs_no_call() -> None:
    driver = Scripted(lambda task: pytest.fail("called"))
    assert summary_of(summarise([], FIT, "", "english"), driver) == Summary()


def first_items(task: Any) -> dict[str, Any]:
    items = task.items
    return bullets(*((item.text[:80], item.number, item.number) for item in items[:4]))


def test_a_line_of_a_million_characters_is_read_in_parts_within_the_limit() -> None:
    driver = Scripted(first_items)
    text = " ".join(f"Fact {number} is true." for number in range(50_000))
    found = summary_of(summarise(leaf_items([Line(1, text)], 100), FIT, "", "english"), driver)
    assert 1 <= len(found.bullets) <= FIT.bullets
    assert all(bullet.text in text and bullet.line_start == 1 for bullet in found.bullets)
    assert (
        max(sum(len(item.text) + 12 for item in task.items) for task in driver.tasks) <= 3 * FIT.window_chars
    )


def test_a_parents_bullet_names_the_lines_of_the_bullets_it_came_from() -> None:
    items = bullet_items([("Notice is 24 hours.", 11, 11), ("The fee is 40 EUR.", 30, 32)])
    driver = Scripted(lambda task: bullets(("Notice is 24 hours and the fee is 40 EUR.", 1, 2)))
    found = summary_of(summarise(items, FIT, "", "english"), driver)
    assert [(bullet.line_start, bullet.line_end, bullet.fallback) for bullet in found.bullets] == [
        (11, 32, False)
    ]


def test_an_extract_is_verbatim_and_marked() -> None:
    found = extract(leaf_items(LINES, 100), FIT, "the model is down")
    assert found.fallback == "the model is down"
    assert [(bullet.text, bullet.fallback) for bullet in found.bullets] == [
        (LINES[0].text, True),
        (LINES[2].text, True),
    ]
    assert extract([], FIT, "why").bullets == []


def test_a_title_that_says_something_else_is_dropped() -> None:
    driver = Scripted(lambda task: {**bullets(), "title": "Fees of 99 EUR"})
    assert summary_of(summarise(leaf_items(LINES, 100), FIT, "", "english"), driver).title is None


def test_marks_are_those_of_the_current_window() -> None:
    def script(task: Any) -> dict[str, Any]:
        line = 11 if task.rejected else 99
        return {"boundaries": [{"line": line, "title": "Notice is 24", "level": 2}]}

    run = finish(mark([], LINES, [], "english"), Scripted(script))
    assert isinstance(run.result, Marked)
    assert [(boundary.line_no, boundary.title, boundary.level) for boundary in run.result.boundaries] == [
        (11, "Notice is 24", 2)
    ]


def test_without_a_model_headings_are_the_marks() -> None:
    lines = [Line(1, "# Policy", "heading", 1), Line(2, "Text."), Line(3, "## Fees", "heading", 2)]
    found = by_headings(lines, "down")
    assert [(boundary.line_no, boundary.title, boundary.level) for boundary in found.boundaries] == [
        (1, "Policy", 1),
        (3, "Fees", 2),
    ]
    assert found.fallback == "down"
