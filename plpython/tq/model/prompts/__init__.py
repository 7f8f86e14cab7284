"""The prompts: files with named holes beside this module, filled from a task.

Document text is fenced as data: it stands behind a number or letter, one item a line, with whatever would break the line
turned into a blank, so that nothing in it can look like the frame. And nothing in it can add to a list, since a reply is
held against the task and not against the text.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from tq.text.planning import FRAME, MAX_SUBJECTS

if TYPE_CHECKING:
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
        Shot,
        Summarise,
        Write,
    )

FOLDER = Path(__file__).parent
HOLE = re.compile(r"\{\{(\w+)\}\}")
BREAKS = dict.fromkeys(map(ord, "\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"), " ")

REASONS = 3  # rejected replies that a prompt tells of, the last ones
REASON_CHARS = 160
AGAIN_CHARS = 40 + REASONS * (REASON_CHARS + 5)  # what they take in a prompt
TERMS = 6  # of a child's scent
TERM_CHARS = 24
TITLE_CHARS = 120
ID_CHARS = 8  # of a node's id
RULES_FRAME = 32  # the numbers and the word "none" in the rules


@cache
def text(name: str) -> str:
    """A prompt as it is written, without the newline at its end."""
    return (FOLDER / f"{name}.txt").read_text(encoding="utf-8").rstrip("\n")


def rules_chars() -> int:
    """Characters of the node prompt's own rules, beside reasoning rules, possible queries and shots."""
    return len(text("read.system")) + RULES_FRAME


@cache
def version() -> str:
    """Twelve hex digits that change with any word of any prompt."""
    digest = hashlib.sha256()
    for path in sorted(FOLDER.glob("*.txt")):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:12]


def fill(name: str, values: Mapping[str, object]) -> str:
    """A prompt with its holes filled, each with its own value; what a value holds is not looked into."""
    return HOLE.sub(lambda hole: str(values[hole[1]]), text(name))


def plain(value: str) -> str:
    """A text on one line, each character in its place."""
    return value.translate(BREAKS)


def _again(rejected: Sequence[str]) -> str:
    if not rejected:
        return ""
    reasons = (plain(reason)[:REASON_CHARS] for reason in rejected[-REASONS:])
    return "\n\nYOUR LAST REPLY WAS REJECTED" + "".join(f"\n  - {reason}" for reason in reasons)


def _listed(texts: Iterable[str]) -> str:
    lines = [f"\n  - {plain(one)}" for one in texts]
    return "".join(lines) if lines else "none"


def _lines(lines: Sequence[Line], numbered: bool) -> str:
    """Lines with something on them, what the converter knows for a heading as Markdown has it. A blank one is seen by the
    number that is left out."""
    shown = (
        f"{line.number if numbered else ''}|{_heading(line)}{plain(line.text)}"
        for line in lines
        if line.text.strip()
    )
    return "\n".join(shown) or "(none)"


def _heading(line: Line) -> str:
    known = line.kind == "heading" and line.level and not line.text.startswith("#")
    return "#" * (line.level or 0) + " " if known else ""


def _items(shown: Sequence[Item], bullets: bool) -> str:
    if bullets:
        return "\n".join(f"  - [{item.number}] {plain(item.text)}" for item in shown) or "  (none)"
    return "\n".join(f"  {item.number} | {plain(item.text)}" for item in shown) or "  (none)"


def mark(task: Mark) -> tuple[str, str]:
    return fill("mark.system", {"most": task.max_boundaries}), fill(
        "mark.user",
        {
            "previous": _lines(task.previous, False),
            "current": _lines(task.current, True),
            "next": _lines(task.following, False),
            "again": _again(task.rejected),
        },
    )


def summarise(task: Summarise) -> tuple[str, str]:
    title = plain(task.title)[:TITLE_CHARS]
    return (
        fill("summarise.system", {}),
        fill(
            "summarise.user",
            {
                "title": f"TITLE\n  {title}\n\n" if title else "",
                "items": "\n".join(f"{item.number}|{plain(item.text)}" for item in task.items) or "(none)",
                "bullets": task.max_bullets,
                "chars": task.max_chars,
                "again": _again(task.rejected),
            },
        ),
    )


def plan(task: Plan) -> tuple[str, str]:
    return (
        _plan_rules(task.max_chars, _listed(task.possible_queries)),
        fill("plan.user", {"question": f"  {plain(task.question)}", "again": _again(task.rejected)}),
    )


def _plan_rules(most: int, queries: str) -> str:
    values = {"most": MAX_SUBJECTS, "frame": ", ".join(sorted(FRAME)), "chars": most, "queries": queries}
    return fill("plan.system", values)


def plan_chars() -> int:
    """Characters of the planner's rules, beside the possible queries."""
    return len(_plan_rules(0, "")) + RULES_FRAME


def read(task: Read) -> tuple[str, str]:
    system = fill(
        "read.system",
        {
            "rules": task.reasoning_rules or "none",
            "queries": _listed(task.possible_queries),
            "shots": "".join(map(shot, task.shots)) or "none",
            "quotes": task.max_quotes,
            "chars": task.max_chars,
        },
    )
    user = fill(
        "read.user",
        {
            "path": f"PATH\n  {plain(task.breadcrumb)}\n\n" if task.breadcrumb else "",
            "node": short_id(task.node_id),
            "first": task.line_start,
            "last": task.line_end,
            "depth": task.depth,
            "items": _items(task.items, not task.is_leaf),
            "children": _children(task.children),
            "query": _query(task.question, task.query, task.asked, task.known),
            "open": _open([child.letter for child in task.children]),
            "example": task.items[0].number if task.items else 1,
            "again": _again(task.rejected),
        },
    )
    return system, user


def shot(one: Shot) -> str:
    """An example as it is shown, at most tq_private.shot_chars characters; its node behind a bar, line by line."""
    node = "\n    | ".join(map(plain, one.node.split("\n")))
    opened = f" {', '.join(one.open)}" if one.open else ""
    return f"\n  - | {node}\n    {one.choice}{opened}: {plain(one.reason)}"


def _query(question: str, parts: Parts, asked: str, known: str = "") -> str:
    """The question, where it is not the what itself, with its parts, and which of them is sought where it is not the whole."""
    sought = "" if asked in (question, parts.what) else asked
    shown = [
        ("", "" if question == parts.what else question),
        ("what: ", parts.what),
        ("why: ", parts.why),
        ("how: ", parts.how),
        ("sought here: ", sought),
        ("known before: ", known),
    ]
    return "\n".join(f"  {label}{plain(part)}" for label, part in shown if part)


def _open(letters: Sequence[str]) -> str:
    if not letters:
        return "Not here: this node has no children."
    if len(letters) == 1:
        return f"Open this child: {letters[0]}."
    more = "both" if len(letters) == 2 else "several"
    return f"Open these children: {', '.join(letters)}, or {more}."


def _children(children: Sequence[Child]) -> str:
    return "CHILDREN\n" + "\n".join(map(child, children)) + "\n\n" if children else ""


def child(one: Child) -> str:
    """A child's line, at most tq.model.limits.CHILD_FRAME characters beside its bullet."""
    where = f"lines {one.line_start}–{one.line_end}"
    return f"  [{one.letter}] {short_id(one.node_id)} · {where} · {plain(one.first_bullet)}{_scent(one)}"


def short_id(node: str) -> str:
    """As much of a node's id as a prompt shows: a reply names children by letter, and random digits are many tokens."""
    return node[:ID_CHARS]


def _scent(one: Child | Section) -> str:
    if not one.lines_hit:
        return ""
    strongest = sorted(one.terms_hit.items(), key=lambda pair: (-pair[1], pair[0]))[:TERMS]
    hits = ", ".join(f"{plain(term)[:TERM_CHARS]} {count}" for term, count in strongest)
    return f" · {one.lines_hit} lines hold terms of the query ({hits})"


def section(one: Section) -> str:
    """A section's line in the view of a tree."""
    title = f"{plain(one.title)[:TITLE_CHARS]} · " if one.title else ""
    where = f"lines {one.line_start}–{one.line_end}"
    bullet = plain(one.first_bullet)
    return f"{'  ' * one.depth}[{one.number}] {where} · {title}{bullet}{_scent(one)}"


def select(task: Select) -> tuple[str, str]:
    return fill("select.system", {"most": task.max_sections}), fill(
        "select.user",
        {
            "path": plain(task.breadcrumb),
            "sections": "\n".join(map(section, task.sections)) or "  (none)",
            "query": _query(task.question, task.query, task.asked),
            "again": _again(task.rejected),
        },
    )


def write(task: Write) -> tuple[str, str]:
    return fill("write.system", {"method": task.method, "chars": task.max_chars}), fill(
        "write.user",
        {
            "question": f"  {plain(task.question)}",
            "evidence": "\n".join(map(evidence, task.evidence)),
            "again": _again(task.rejected),
        },
    )


def evidence(one: Evidence) -> str:
    """A piece of evidence with its figures."""
    figures = ", ".join(f"{letter} {found.number}" for letter, found in one.figures.items())
    told = f"\n      figures: {plain(figures)}" if figures else ""
    return (
        f"  [{one.number}] {plain(one.place)} · on: {plain(one.answers)}\n      says: {plain(one.says)}\n"
        f"      quote: {plain(one.quote)}{told}"
    )


def compare(task: Compare) -> tuple[str, str]:
    return text("compare.system"), fill(
        "compare.user",
        {
            "question": f"  {plain(task.question)}",
            "first": _claim(task.first, task.first_quote),
            "second": _claim(task.second, task.second_quote),
            "again": _again(task.rejected),
        },
    )


def _claim(says: str, quote: str) -> str:
    """A claim with its quote; the quote alone where the claim says just that."""
    told = "" if says == quote else f"  {plain(says)}\n"
    return f"{told}  quote: {plain(quote)}"
