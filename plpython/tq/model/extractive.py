"""The embedded model: deterministic, without network or key. It chooses lines and sentences that are there and never
writes one: every fact it returns is a verbatim part of what it was shown. Nothing that stands in a document can add to
its choices, since they are computed from the task's lists and not read from the text."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

from tq.model import composing
from tq.model.driver import Reply, count_tokens
from tq.model.limits import Model
from tq.model.tasks import Child, Compare, Item, Mark, Plan, Read, Select, Summarise, Task, Write
from tq.text.claims import relation
from tq.text.extract import covering, summary
from tq.text.match import LINE_LIMIT, SURE, Match, Matcher
from tq.text.passages import FRONT_LINES, Passage, Source, passages
from tq.text.question import Question, question
from tq.text.segment import Row, boundaries, title_of

NEIGHBOUR_LINES = 60
"""Lines of the windows before and after that the marking of boundaries looks at."""
MAX_OPEN = 8
"""Children opened at one node, at most."""
OPEN_SHARE = 0.4
"""A child is opened when it promises at least this share of what the best one does."""
SAID = 0.02
"""What titles and bullets count beside scent: they order children whose lines promise the same."""
PLACES = 3
"""Answers of one leaf, at most, each from lines of its own."""
WEAK = 0.3 * SURE
"""Evidence below which a place is not even worth showing beside a sure one."""


class Extractive:
    """Driver `extractive`. It computes and does not wait, so calls run one after another in the caller's thread."""

    waits = False

    def __init__(self, model: Model) -> None:
        self._model = model

    def reply(self, task: Task[Any], stop: threading.Event) -> Reply:
        """The reply to one task, as a plain dict of its schema."""
        data = self._data(task)
        sent, received = count_tokens(self._model, task, data)
        return Reply(data, sent, received)

    def _data(self, task: Task[Any]) -> dict[str, Any]:
        if isinstance(task, Read):
            return read(task)
        if isinstance(task, Mark):
            return mark(task)
        if isinstance(task, Summarise):
            return summarise(task)
        if isinstance(task, Plan):
            return composing.plan(task)
        if isinstance(task, Compare):
            chosen = relation(
                task.question, task.first, task.second, task.first_quote, task.second_quote, task.language
            )
            return {"relation": chosen}
        if isinstance(task, Select):
            return composing.select(task)
        if isinstance(task, Write):
            return composing.write(task)
        raise TypeError(f"the extractive driver knows no task {task.purpose}")


def mark(task: Mark) -> dict[str, Any]:
    """Boundaries of the current window."""
    if not task.current:
        return {"boundaries": []}
    near = (*task.previous[-NEIGHBOUR_LINES:], *task.current, *task.following[:NEIGHBOUR_LINES])
    rows: list[Row] = []
    for line in near:
        if rows and line.number > rows[-1].number + 1:
            rows.append(Row(line.number - 1, ""))  # left out because it is blank
        rows.append(Row(line.number, line.text, line.kind, line.level))
    found = boundaries(rows, task.current[0].number, task.current[-1].number, task.language)
    if len(found) > task.max_boundaries:  # headings first, the highest of them
        weightiest = sorted(found, key=lambda b: b.level or 7)[: task.max_boundaries]
        found = sorted(weightiest, key=lambda b: b.line)
    return {"boundaries": [{"line": b.line, "title": b.title, "level": b.level} for b in found]}


def _sources(items: Sequence[Item]) -> list[Source]:
    """The items, with an empty one wherever a line number is left out: blank lines part paragraphs."""
    out: list[Source] = []
    for item in items:
        if out and item.number > out[-1].number + 1:
            out.append(Source(item.number - 1, ""))
        out.append(Source(item.number, item.text, item.kind, item.level))
    return out


def summarise(task: Summarise) -> dict[str, Any]:
    """Verbatim bullets. Items that are bullets of children (their number is not their line) are chosen among."""
    title = task.title or None
    if _are_bullets(task.items):
        sources = [Source(item.number, item.text) for item in task.items]
        chosen = covering(sources, task.max_bullets, task.max_chars, task.language)
    else:
        sources = _sources(task.items)
        chosen = summary(sources, task.max_bullets, task.max_chars, task.language)
        if title is None:
            title = next(
                (title_of(s.text) for s in sources if s.kind == "heading" and title_of(s.text)), None
            )
    bullets = [
        {"text": one.text, "first": sources[one.first].number, "last": sources[one.last].number}
        for one in chosen
        if one.text
    ]
    return {"title": title, "bullets": bullets}


def _are_bullets(items: Sequence[Item]) -> bool:
    return any(item.number != item.line_start or item.line_start != item.line_end for item in items)


def read(task: Read) -> dict[str, Any]:
    """One choice for one node: a leaf answers or does not, an inner node opens children or does not."""
    asked = question(_wording(task), task.terms, task.language)
    if task.is_leaf or not task.children:
        return _answer(task, asked)
    if task.may_stop and (answered := _answer(task, asked))["choice"] == "ANSWER" and answered["sure"] >= 1:
        return {**answered, "also": []}
    return _descend(task, asked)


def _wording(task: Read) -> str:
    """The part of the question this read is after, in the question's own words."""
    return task.asked or task.query.what or task.question


def _nothing() -> dict[str, Any]:
    return {
        "choice": "NOT_HERE",
        "open": [],
        "what": "",
        "why": "",
        "how": [],
        "fit": None,
        "sure": None,
        "also": [],
    }


def _answer(task: Read, asked: Question) -> dict[str, Any]:
    sources = _sources(task.items)
    found = passages(sources)
    if task.breadcrumb:
        for passage in found:
            passage.context = (*passage.context, task.breadcrumb)
    matcher = Matcher(asked)
    answers: list[dict[str, Any]] = []
    taken: set[int] = set()
    lines: set[int] = set()
    for match in matcher.matches(found):
        if len(answers) == PLACES:
            break
        if match.sure < WEAK or match.index in taken:
            continue
        # A heading names what follows it: an answer only where nothing below it is one.
        named = asked.front and found[match.index].line <= FRONT_LINES
        if found[match.index].kind in ("heading", "header") and not named and (answers or match.sure < SURE):
            continue
        span = [at for at in matcher.grown(match, found) if at not in taken]
        quotes = _quotes([found[at] for at in span], found[match.index], sources)
        if not quotes or lines.intersection(line for line, _ in quotes):
            continue
        taken.update(span)
        lines.update(line for line, _ in quotes)
        answers.append(_place(match, quotes, asked))
    if not answers:
        return _nothing()
    return {"choice": "ANSWER", "open": [], **answers[0], "also": answers[1:]}


def _place(match: Match, quotes: Sequence[tuple[int, str]], asked: Question) -> dict[str, Any]:
    return {
        "what": " ".join(quote for _, quote in quotes),
        "why": _why(match, quotes, asked),
        "how": [{"line": line, "quote": quote} for line, quote in quotes],
        "fit": round(match.fit, 4),
        "sure": round(match.sure / SURE, 4),
    }


def _quotes(chosen: Sequence[Passage], core: Passage, sources: Sequence[Source]) -> list[tuple[int, str]]:
    """Verbatim parts by line, at most five lines, the best passage's own lines before its neighbours'.

    Neighbouring sentences of one item become one quote that runs over what stands between them.
    """
    reach: dict[int, tuple[int, int]] = {}
    for passage in sorted(chosen, key=lambda one: one is not core):
        for index, start, end in passage.parts:
            if index in reach:
                reach[index] = (min(reach[index][0], start), max(reach[index][1], end))
            elif len(reach) < LINE_LIMIT:
                reach[index] = (start, end)
    return [
        (sources[index].number, sources[index].text[start:end])
        for index, (start, end) in sorted(reach.items())
        if sources[index].text[start:end].strip()
    ]


def _why(best: Match, quotes: Sequence[tuple[int, str]], asked: Question) -> str:
    """Which of the question's words the evidence holds; it names lines and nothing that the document states."""
    lines = sorted({line for line, _ in quotes})
    where = f"line {lines[0]}" if len(lines) == 1 else f"lines {lines[0]} to {lines[-1]}"
    verb = "holds" if len(lines) == 1 else "hold"
    weighty = sorted(best.held, key=lambda term: (-asked.weights[term], term))[:6]
    return (
        f"{where} {verb} {len(best.held)} of the question's {len(asked.weights)} terms: {', '.join(weighty)}"
    )


def _descend(task: Read, asked: Question) -> dict[str, Any]:
    """Children by promise: where the question's terms stand together, else what their titles and bullets say."""
    matcher = Matcher(asked)
    said = _said(task, matcher)
    scented = any(child.together > 0 or child.lines_hit for child in task.children)
    promise = {
        child.letter: (child.together + SAID * said[child.letter]) if scented else said[child.letter]
        for child in task.children
    }
    best = max(promise.values(), default=0.0)
    if best <= 0.0:
        return _nothing()
    ranked = sorted(task.children, key=lambda child: (-promise[child.letter], child.line_start))
    opened = [child.letter for child in ranked if promise[child.letter] >= OPEN_SHARE * best][:MAX_OPEN]
    return {**_nothing(), "choice": "DESCEND", "open": opened}


def _said(task: Read, matcher: Matcher) -> dict[str, float]:
    """Share of the question that each child's title, first bullet and the node's bullets from its lines hold."""
    out: dict[str, float] = {}
    for child in task.children:
        texts = [child.title, child.first_bullet, *_bullets_of(task, child)]
        out[child.letter] = max((matcher.share(matcher.credit(text)) for text in texts if text), default=0.0)
    return out


def _bullets_of(task: Read, child: Child) -> list[str]:
    return [
        item.text
        for item in task.items
        if child.line_start <= item.line_start and item.line_end <= child.line_end
    ]
