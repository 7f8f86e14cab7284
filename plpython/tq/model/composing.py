"""What the embedded model chooses beside reading a node: the plan, sections of a whole tree, and an answer that is joined of
evidence. Like all of it, by rule, and without a word that is neither the question's nor the evidence's."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

from tq.model.tasks import Evidence, Plan, Section, Select, Write
from tq.text import planning
from tq.text.match import Matcher
from tq.text.question import question

OPEN_SHARE = 0.6
"""A section is chosen when it promises at least this share of what the best one of the list does."""
FLOOR = 0.3
"""Share of the question below which a section promises nothing, whatever the others do."""
HOW = {
    "lookup": "looked up in several places",
    "comparison": "looked up on both sides and put side by side",
    "calculation": "the figures were looked up in several places",
    "chain": "looked up step by step",
}
OPERATIONS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (name, re.compile(pattern, re.IGNORECASE))
    for name, pattern in (
        ("average", r"\b(?:average|mean|durchschnitt\w*|im schnitt)\b"),
        ("ratio", r"\b(?:ratio|how many times|verhältnis)\b"),
        (
            "difference",
            r"\bdifference\b|\bhow (?:much|many) (?:more|less|fewer|longer|higher|lower|cheaper)\b|\bunterschied\b|"
            r"\bdifferenz\b|\bwie viel (?:mehr|weniger|länger|höher)\b",
        ),
        ("sum", r"\b(?:in total|total|altogether|combined|together|sum|insgesamt|zusammen|summe)\b"),
    )
)


def plan(task: Plan) -> dict[str, Any]:
    """Subjects and method, by rule."""
    found = planning.plan(task.question, task.language)
    return {
        "method": found.method,
        "subjects": [
            {"what": one.what, "why": one.why, "how": one.how, "asks": list(one.asks)}
            for one in found.subjects
        ],
    }


def select(task: Select) -> dict[str, Any]:
    """The leaves that promise most: where the question's terms stand together, and what titles and first facts say."""
    asked = question(task.asked or task.query.what or task.question, task.terms, task.language)
    matcher = Matcher(asked)
    leaves = [one for one in task.sections if one.is_leaf]
    scented = any(one.together > 0 for one in leaves)

    def promised(one: Section) -> float:
        said = max(matcher.share(matcher.credit(text)) for text in (one.title, one.first_bullet))
        return 0.85 * one.together + 0.15 * said if scented else said

    promise = {one.number: promised(one) for one in leaves}
    floor = max(OPEN_SHARE * max(promise.values(), default=0.0), FLOOR)
    chosen = [number for number in promise if promise[number] >= floor]
    chosen.sort(key=lambda number: (-promise[number], number))
    return {"sections": chosen[: task.max_sections]}


def write(task: Write) -> dict[str, Any]:
    """The best evidence for each part of the question, joined as it stands."""
    best: dict[str, Evidence] = {}
    for one in task.evidence:
        best.setdefault(one.answers, one)
    used = list(best.values())
    if len(used) < 2:
        return {"what": "", "why": "", "how": "", "uses": [], "operation": "none", "figures": []}
    operation, figures = _figures(task, used)
    return {
        "what": " · ".join(f"{one.answers.rstrip(' ?？؟.')}: {one.says}" for one in used),
        "why": f"The quotes answer {' and '.join(f'“{one.answers}”' for one in used)}, in this order",
        "how": f"{HOW[task.method]}: {'; '.join(one.place for one in used)}",
        "uses": [one.number for one in used],
        "operation": operation,
        "figures": figures,
    }


def _figures(task: Write, used: Sequence[Evidence]) -> tuple[str, list[str]]:
    """What is to be worked out, and the one figure of each piece of evidence that it is worked out from: of the kind that
    is asked for, of the only kind that all have one of, or of the only currency."""
    operation = next((name for name, pattern in OPERATIONS if pattern.search(task.question)), "none")
    if operation == "none" or (operation in ("difference", "ratio") and len(used) != 2):
        return "none", []
    kinds: dict[str, list[str]] = {}
    for one in used:
        seen = Counter(found.dimension for found in one.figures.values())
        for letter, found in one.figures.items():
            if seen[found.dimension] == 1:
                kinds.setdefault(found.dimension, []).append(letter)
    whole = {kind: letters for kind, letters in kinds.items() if len(letters) == len(used)}
    money = [kind for kind in whole if len(kind) == 3 and kind.isupper()]
    times = [kind for kind in ("time", "months", "business days") if kind in whole]
    asked = question(task.question, {}, task.language).kinds
    wanted = times if "duration" in asked else money if "money" in asked or len(whole) > 1 else list(whole)
    return (operation, whole[wanted[0]]) if len(wanted) == 1 else ("none", [])
