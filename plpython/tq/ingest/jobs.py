"""The steps that call a model: what each job is shown, and how a batch of results is written."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from tq.database import ingest as sql
from tq.database import models
from tq.ingest.calls import Asking, Usage
from tq.ingest.cut import Note
from tq.ingest.marking import Marked, by_headings, mark
from tq.ingest.messages import MODEL, Message, body
from tq.ingest.state import Document, Session
from tq.ingest.steps import send_parents
from tq.ingest.summary import Summary, bullet_items, extract, leaf_items, summarise
from tq.ingest.windows import NUMBER_CHARS, shown_chars
from tq.model.limits import Model
from tq.model.tasks import Item, Line

WHOLE = 2**31 - 1
BUDGET_UNIT = {"calls": "calls", "tokens": "tokens", "cost": "in money", "seconds": "seconds"}
STATUS = {"mark": "marking", "summarise": "summarising", "rollup": "building"}


@dataclass(slots=True)
class Job:
    """A message whose step calls a model, with what it is shown. `fall_back`: a marked result without the model."""

    message: Message
    document: Document
    model: Model
    asking: Asking
    fall_back: Callable[[str], Any]
    chars: int = 0  # of what the model is shown
    result: Any = None
    usage: Usage | None = None

    @property
    def purpose(self) -> str:
        return "mark" if self.message.step == "mark" else "summarise"

    @property
    def reckoned(self) -> tuple[int, int]:
        """Tokens in and out that its call is likely to take."""
        return self.model.tokens(self.chars), self.model.summary_tokens


def prepare(session: Session, messages: Sequence[Message], documents: dict[str, Document]) -> list[Job]:
    """Jobs of the messages that still have something to do; the others are left out."""
    found: list[Job] = []
    groups: dict[tuple[str, str], list[Message]] = defaultdict(list)
    for message in messages:
        groups[message.step, message.document_id].append(message)
    for (step, document_id), group in groups.items():
        document = documents.get(document_id)
        if document is None or document.status != STATUS[step]:
            continue
        model = document.need_model("mark" if step == "mark" else "summarise")
        if step == "mark":
            jobs = _marks(session, group, document, model)
        else:
            jobs = _summaries(session, group, document, model)
        # A model that computes costs nothing, whatever the budget; what goes into a batch is reckoned there.
        if not model.computes and not model.batches:
            for job in beyond_budget(session, document_id, jobs):
                job.asking.close()
                job.asking = _without_model(job.result)
        found += jobs
    return found


def beyond_budget(session: Session, document_id: str, jobs: Sequence[Job]) -> list[Job]:
    """Those of the jobs that the document's budget has no room for, each with its result without the model. A job is
    reckoned with the call it is about to make, so that many at once do not overshoot."""
    rows = session.db.fetch(sql.BUDGET, document_id)
    if not rows:
        return []
    budget = rows[0]
    calls, tokens, cost = budget["spent_calls"], budget["spent_tokens"], budget["spent_cost"]
    beyond: list[Job] = []
    for job in jobs:
        calls += 1
        tokens += sum(job.reckoned)
        cost += job.model.ingest_cost(*job.reckoned)
        spent = {"calls": calls, "tokens": tokens, "cost": cost, "seconds": budget["spent_seconds"]}
        for name, value in spent.items():
            if budget[name] is not None and value > budget[name]:
                job.result = job.fall_back(
                    f"the document's budget of {budget[name]:g} {BUDGET_UNIT[name]} is spent"
                )
                beyond.append(job)
                break
    return beyond


def _without_model(result: Any) -> Asking:
    """A job that is done already."""
    yield from ()
    return result


def _ranges(wanted: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Ranges merged where they touch."""
    merged: list[tuple[int, int]] = []
    for start, end in sorted(wanted):
        if merged and start <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((start, end))
    return merged


def _lines(
    session: Session, document: Document, ranges: Iterable[tuple[int, int]], chars: int
) -> dict[int, Line]:
    found: dict[int, Line] = {}
    for start, end in _ranges(ranges):
        for row in session.db.fetch(sql.LINES, document.id, start, end, chars):
            found[row["line_no"]] = Line(row["line_no"], row["text"], row["kind"], row["level"])
    return found


def _marks(session: Session, messages: Sequence[Message], document: Document, model: Model) -> list[Job]:
    wanted = {message.window + offset for message in messages for offset in (-1, 0, 1)}
    windows = {row["ordinal"]: row for row in session.db.fetch(sql.WINDOWS, document.id, sorted(wanted))}
    due = [
        message for message in messages if message.window in windows and not windows[message.window]["marked"]
    ]
    near = {message.window + offset for message in due for offset in (-1, 0, 1)} & windows.keys()
    lines = _lines(
        session,
        document,
        [(windows[ordinal]["line_start"], windows[ordinal]["line_end"]) for ordinal in near],
        shown_chars(model.fit.window_chars),
    )

    def of(ordinal: int) -> list[Line]:
        row = windows.get(ordinal)
        return (
            [] if row is None else [lines[number] for number in range(row["line_start"], row["line_end"] + 1)]
        )

    jobs: list[Job] = []
    for message in due:
        current = of(message.window)
        around = (of(message.window - 1), current, of(message.window + 1))
        asking = mark(*around, document.language, model)
        chars = sum(len(line.text) + NUMBER_CHARS for lines_of in around for line in lines_of)
        jobs.append(Job(message, document, model, asking, partial(by_headings, current), chars=chars))
    return jobs


def _summaries(session: Session, messages: Sequence[Message], document: Document, model: Model) -> list[Job]:
    ids = sorted({message.node for message in messages})
    nodes = {row["id"]: row for row in session.db.fetch(sql.NODES, document.id, ids) if not row["summarised"]}
    leaf = messages[0].step == "summarise"
    items: dict[str, list[Item]] = {}
    if leaf:
        leaves = [row for row in nodes.values() if row["is_leaf"]]
        lines = _lines(session, document, [(row["line_start"], row["line_end"]) for row in leaves], WHOLE)
        for row in leaves:
            shown = [lines[number] for number in range(row["line_start"], row["line_end"] + 1)]
            items[row["id"]] = leaf_items(shown, model.fit.piece_chars)
    else:
        bullets: dict[str, list[tuple[str, int, int]]] = defaultdict(list)
        parents = [row["id"] for row in nodes.values() if not row["is_leaf"]]
        for row in session.db.fetch(sql.CHILD_BULLETS, document.id, parents):
            bullets[row["parent"]].append((row["text"], row["line_start"], row["line_end"]))
        for parent in parents:
            items[parent] = bullet_items(bullets[parent])
    jobs: list[Job] = []
    for message in messages:
        if message.node not in items:
            continue
        shown_items = items[message.node]
        node = nodes[message.node]
        asking = summarise(shown_items, model.fit, node["title"] or "", document.language, parent=not leaf)
        jobs.append(
            Job(
                message,
                document,
                model,
                asking,
                partial(extract, shown_items, model.fit),
                chars=sum(len(item.text) + NUMBER_CHARS for item in shown_items),
            )
        )
    return jobs


# ---------------------------------------------------------------- writing


def write(session: Session, jobs: Sequence[Job]) -> None:
    """Results, what follows them, and the end of their messages, in one transaction. Whatever is no longer wanted (the
    document is gone, failed, or the step done by another) is dropped."""
    states = session.lock(job.document.id for job in jobs)
    of_document: dict[str, list[Job]] = defaultdict(list)
    for job in jobs:
        state = states.get(job.document.id)
        if state is not None and state["status"] == STATUS[job.message.step]:
            of_document[job.document.id].append(job)
    for document_id in sorted(of_document):
        group = of_document[document_id]
        if group[0].message.step == "mark":
            _write_marks(session, document_id, group)
        else:
            _write_summaries(session, document_id, group)
    _count(session, jobs)
    session.delete(MODEL, [job.message.id for job in jobs])
    session.db.commit()


def _write_marks(session: Session, document_id: str, jobs: Sequence[Job]) -> None:
    of_window = {job.message.window: job for job in jobs}
    fresh = session.db.fetch(sql.SET_MARKED, document_id, sorted(of_window))
    if not fresh:
        return
    rows: list[tuple[int, int, int, int, str | None, int | None]] = []
    notes: list[Note] = []
    for window in fresh:
        marked: Marked = of_window[window["ordinal"]].result
        start, end = window["line_start"], window["line_end"]
        rows += [
            (boundary.line_no, window["ordinal"], start, end, boundary.title, boundary.level)
            for boundary in marked.boundaries
        ]
        if marked.fallback:
            notes.append(
                Note(
                    "boundaries not marked",
                    f"the model failed here; headings alone were used: {marked.fallback}",
                    start,
                    end,
                )
            )
    if rows:
        session.db.fetch(
            sql.ADD_BOUNDARIES, document_id, *(list(column) for column in zip(*rows, strict=True))
        )
    session.omit(document_id, notes)
    if not session.db.fetch(sql.UNMARKED, document_id)[0]["any_left"]:
        session.send(MODEL, [body(document_id, "cut")])


def _write_summaries(session: Session, document_id: str, jobs: Sequence[Job]) -> None:
    of_node = {job.message.node: job for job in jobs}
    ids = sorted(of_node)
    summaries: dict[str, Summary] = {node: of_node[node].result for node in ids}
    tokens = [
        of_node[node].model.tokens(sum(len(bullet.text) for bullet in summaries[node].bullets))
        for node in ids
    ]
    fresh = session.db.fetch(
        sql.SET_SUMMARISED, document_id, ids, [summaries[node].title for node in ids], tokens
    )
    if not fresh:
        return
    rows: list[tuple[str, int, str, int, int, bool]] = []
    for row in fresh:
        summary = summaries[row["id"]]
        whole = summary.fallback is not None
        rows += [
            (row["id"], ordinal, bullet.text, bullet.line_start, bullet.line_end, bullet.fallback or whole)
            for ordinal, bullet in enumerate(summary.bullets, 1)
        ]
    if rows:
        session.db.fetch(sql.ADD_BULLETS, document_id, *(list(column) for column in zip(*rows, strict=True)))
    session.omit(document_id, _notes([summaries[row["id"]] for row in fresh]))
    if jobs[0].message.step == "rollup":
        send_parents(session, document_id, [row["id"] for row in fresh])
    elif not session.db.fetch(sql.UNSUMMARISED, document_id)[0]["any_left"]:
        session.send(MODEL, [body(document_id, "build")])


def _notes(summaries: Sequence[Summary]) -> list[Note]:
    notes: list[Note] = []
    for summary in summaries:
        if summary.fallback is not None:
            start = min((bullet.line_start for bullet in summary.bullets), default=None)
            end = max((bullet.line_end for bullet in summary.bullets), default=None)
            notes.append(
                Note(
                    "not summarised",
                    f"the model failed here; an extract stands in: {summary.fallback}",
                    start,
                    end,
                )
            )
    return notes


def _count(session: Session, jobs: Sequence[Job]) -> None:
    totals: dict[tuple[str, str, str], Usage] = defaultdict(Usage)
    for job in jobs:
        if job.usage is not None and job.usage.calls:
            total = totals[job.document.id, job.purpose, job.model.name]
            total.calls += job.usage.calls
            total.input_tokens += job.usage.input_tokens
            total.output_tokens += job.usage.output_tokens
            total.elapsed_ms += job.usage.elapsed_ms
            total.cached_tokens += job.usage.cached_tokens
            total.chars_per_token = min(total.chars_per_token, job.usage.chars_per_token)
            total.cost += job.model.cost(
                job.usage.input_tokens, job.usage.output_tokens, job.usage.cached_tokens
            )
    count_calls(session, totals)


def count_calls(session: Session, totals: Mapping[tuple[str, str, str], Usage]) -> None:
    """What calls cost, one row a document, purpose and model; and what their replies have shown of the model."""
    keys = [key for key, total in totals.items() if total.calls]
    if keys:
        session.db.fetch(
            sql.COUNT_CALLS,
            *([key[at] for key in keys] for at in range(3)),
            [totals[key].calls for key in keys],
            [totals[key].input_tokens for key in keys],
            [totals[key].output_tokens for key in keys],
            [totals[key].elapsed_ms for key in keys],
            [totals[key].cached_tokens for key in keys],
            [totals[key].cost for key in keys],
        )
    for (_, _, model), total in totals.items():
        if math.isfinite(total.chars_per_token):
            session.db.fetch(models.CORRECT, model, total.chars_per_token)
