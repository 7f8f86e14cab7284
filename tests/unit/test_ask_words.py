"""Phrases: each has its German, and what was said during the search is read in the language of the strategy."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from string import Formatter
from typing import TYPE_CHECKING, Any

import msgspec

from tq.ask import words
from tq.ask.german import PHRASES
from tq.ask.words import say
from tq.model.tasks import Compare, Task

if TYPE_CHECKING:
    from unit.ask_help import Document, FakeDatabase, by_line, run
else:
    from ask_help import Document, FakeDatabase, by_line, run

QUESTION = "How much notice is needed to cancel?"
DAY = "A patient must give 24 hours of notice to cancel."
TWO_DAYS = "To cancel, patients give 48 hours of notice."


def document(name: str, line: str) -> Document:
    return Document(name, [*(f"Room {number} is cleaned daily." for number in range(1, 31)), line])


def script(task: Task[Any]) -> dict[str, Any]:
    return {"relation": "contradicts"} if isinstance(task, Compare) else by_line("notice")(task)


ENGINE = Path(__file__).resolve().parents[2] / "plpython" / "tq"
# Of lists that are closed elsewhere: methods and certainties.
NAMES = {"lookup", "comparison", "calculation", "chain"} | {
    "settled", "supported", "disputed", "partial", "unsettled", "failed"
}  # fmt: skip


def text(node: ast.expr | None) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def phrases() -> set[str]:
    """All templates that the engine fills, and the counted things."""
    found: set[str] = set()
    for path in ENGINE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call) or not node.args:
                continue
            called = ast.unparse(node.func)
            first = text(node.args[0])
            if called in ("say", "words.say") and first is not None:
                found.add(first)
            elif called == "words.count":
                one = text(node.args[1])
                many = text(node.args[2]) if len(node.args) > 2 else f"{one}s"
                found |= {f"{{n}} {one}", f"{{n}} {many}"}
    return found


# Said in notices and the explained walk alone, which stay as they are.
TECHNICAL = {"{n} piece", "{n} pieces", "{n} number", "{n} numbers", "{n} call", "{n} calls"}


def test_every_phrase_has_its_german() -> None:
    used = phrases()
    assert len(used) > 120
    assert used - PHRASES.keys() == set(), "tq/ask/german.py lacks these"
    joined = {"{rest} and {last}", "{rest} or {last}"}
    assert PHRASES.keys() - used - NAMES - joined - TECHNICAL == set(), "nothing says these any more"


def test_a_translation_has_the_places_of_its_phrase() -> None:
    for phrase, german in PHRASES.items():
        places = [{name for _, name, _, _ in Formatter().parse(said) if name} for said in (phrase, german)]
        # In German a thing may be left out that English counts twice; none is added.
        assert places[1] == places[0], phrase


def test_a_phrase_is_read_in_the_language_that_is_spoken() -> None:
    inner = words.listed([words.lines(1, 3), words.lines(5, 5), words.quoted("a")], "or")
    said = say("{sections} of {label} not searched ({places}): {why}", sections=words.count(2, "section"), label="a.md",
               places=inner, why="because")  # fmt: skip
    assert said == "2 sections of a.md not searched (lines 1–3, line 5 or “a”): because"
    with words.speaking("german"):
        assert (
            words.spoken(said)
            == "in a.md nicht durchsucht: 2 Abschnitte (Zeilen 1–3, Zeile 5 oder „a“): because"
        )
    assert words.spoken(said) == said
    with words.speaking("klingon"):
        assert words.spoken(said) == said


def test_what_documents_say_is_no_template() -> None:
    assert say("{place} says: {quote}", place="a", quote="{why} {0} {{") == "a says: {why} {0} {{"


def test_answers_in_german_have_no_english_around_them() -> None:
    database = FakeDatabase(
        document("policy.md", DAY), document("handbook.md", TWO_DAYS), language="german", routes=1
    )
    found, driver = run(database, script, QUESTION)
    [row] = [row for row in found["shown"] if row["document"] == "policy.md"]
    assert row["why"].startswith("policy.md, Zeile 31 (Seite 7) sagt: „A patient must give 24 hours")
    assert "Dagegen: handbook.md, Version 1 vom 2024-03-01, Zeile 31" in row["why"]
    assert row["how"].startswith("Methode: Vergleich. policy.md von der Wurzel an gelesen")
    own = re.sub(r"„[^“]*“", "", f"{row['why']} {row['how']} {row['missing'] or ''}")
    own = own.replace("it says so", "")  # the model's own reason
    english = re.findall(
        r"\b(?:the|of|and|because|with|lines?|page|says|read|opened|its|compared|which)\b", own, re.I
    )
    assert english == []
    # What a model is shown is the same in every language.
    other, again = run(
        FakeDatabase(document("policy.md", DAY), document("handbook.md", TWO_DAYS), routes=1),
        script,
        QUESTION,
    )
    assert [task.prompt() for task in driver.tasks] == [task.prompt() for task in again.tasks]
    assert other["shown"][0]["how"].startswith("Method: comparison. Read handbook.md from its root")

    nothing, _ = run(
        FakeDatabase(document("policy.md", DAY), language="german"),
        script,
        "Who won the regatta?",
    )
    assert "Durchsucht: 1 Dokument (policy.md)" in nothing["shown"][0]["missing"]
    # All of it can be sent: no phrase is left in what leaves the engine.
    for result in (found, other, nothing):
        msgspec.json.encode(result)
