"""The plan: a question's subjects, each with its what, its why and its how."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tq.ask import words
from tq.ask.records import Ended, Left, Planned, Question, SourceRow, Subject
from tq.ask.words import say
from tq.model import prompts
from tq.model.limits import RULES_SHARE, Model
from tq.model.tasks import Parts, Plan, PlanReply
from tq.text.planning import whole
from tq.text.tokens import detect_language

PART_CHARS = 200  # that a part of the plan may be longer than the question


def task(
    question: Question, model: Model, ready: Sequence[SourceRow], queries: Mapping[str, Sequence[str]]
) -> tuple[Plan, list[Left]]:
    """The planner's task, and the possible queries that it has no room for."""
    room = int(model.input_chars * RULES_SHARE) - prompts.plan_chars()
    shown, cut = within([query for row in ready for query in queries.get(row.id, ())], room)
    left = []
    if cut:
        told = words.count(cut, "possible query", "possible queries")
        left.append(Left("possible queries", say("{queries} not shown to the planner", queries=told)))
    most = 100_000 if model.computes else len(question.shown) + PART_CHARS
    return Plan(question.shown, shown, _language(question, ready), max_chars=most), left


def _language(question: Question, ready: Sequence[SourceRow]) -> str:
    """The question's, or that of all documents where it does not tell."""
    language = detect_language(question.shown)
    if language == "none":
        languages = {row.language or "none" for row in ready}
        language = languages.pop() if len(languages) == 1 else "none"
    return language


def planned(question: Question, ended: Ended) -> tuple[Planned, list[Left]]:
    """The plan that has come; the question as it stands where none did."""
    if ended.reply is None:
        left = [
            Left(
                "plan",
                say(
                    "the plan was given up ({why}); the question was searched as it stands",
                    why=ended.rejected[-1],
                ),
            )
        ]
        assert isinstance(ended.task, Plan)
        [one] = whole(question.shown, ended.task.language).subjects
        return Planned.of("lookup", [Subject(0, Parts(one.what, one.why, one.how), one.asks)]), left
    reply: PlanReply = ended.reply
    return Planned.of(
        reply.method,
        [
            Subject(
                where,
                Parts(words.clean(one.what), words.clean(one.why), words.clean(one.how)),
                tuple(one.asks),
            )
            for where, one in enumerate(reply.subjects)
        ],
    ), []


def within(queries: Sequence[str], room: int) -> tuple[tuple[str, ...], int]:
    """The first queries that fit a number of characters, and how many do not."""
    kept: list[str] = []
    for query in queries:
        room -= len(query) + 8
        if room < 0:
            break
        kept.append(query)
    return tuple(kept), len(queries) - len(kept)
