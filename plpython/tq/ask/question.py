"""From a question to its answers: plan, search, compare, rank, and say what is not known. Writes nothing."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tq.ask import compare, evidence, plan, rows, scope, tell, trace, weigh, words
from tq.ask.budget import Budget, Spent
from tq.ask.caller import Caller, Ended, Opener
from tq.ask.records import Begin, Claim, Found, Left, Planned, Question, Scope
from tq.ask.walk import Starts, Walk
from tq.database import asking, models, strategies
from tq.database.connection import Database
from tq.errors import TqError
from tq.model import prompts
from tq.model.driver import Driver, Reply, open_driver
from tq.model.limits import RULES_SHARE, Model
from tq.model.tasks import Task
from tq.strategy.conflicts import ruled
from tq.strategy.rank import rank
from tq.strategy.scope import narrowed
from tq.strategy.settings import Strategy

SHOWN_QUESTION = 0.25  # of a window's characters: the question as prompts show it
PURPOSES = ("read", "plan", "compare")

Answers = dict[str, Any]


def ask(
    database: Database,
    doc: str | None,
    question: str | None,
    strategy: str | None,
    opener: Opener = open_driver,
    begin: Callable[[], Begin] | None = None,
    queued: Queued | None = None,
) -> Answers:
    """All answers in order of rank, and the trace: {"shown": [...], "held": [...], "trace": {...}}.

    begin: where a follow-up begins, in place of doc; queued: the question is one of the queue. Raises TqError: TQ001,
    TQ002 (document), TQ020 (strategy, model), TQ021 (question), TQ101 to TQ104 (model), unless the strategy wants errors
    as a row.
    """
    started = time.perf_counter() - (queued.spent if queued else 0.0)
    chosen = _strategy(database, strategy)
    asking_it: Asking | None = None
    try:
        asking_it = Asking(
            database, doc, _checked(question), chosen, opener, started, begin=begin and begin(), queued=queued
        )
        return asking_it.run()
    except TqError as error:
        if asking_it is not None:
            asking_it.caller.put_into(error)
        if chosen.on_error != "row" or (queued and queued.again(error)):
            raise
        elapsed = _since(started)
        row = rows.failed(chosen, chosen.model or "", error, elapsed)
        record = trace.nothing(doc, question or "", chosen, chosen.model or "", elapsed, error.calls)
        return {"shown": [row], "held": [], "trace": record}


def replay(
    database: Database,
    query: str,
    opener: Opener = open_driver,
    begin_at: Callable[[Database, str, int], Begin] | None = None,
) -> Answers:
    """A question again, from the replies that were stored with it; no model is asked. begin_at: where a turn of a
    thread begins.

    Raises TqError TQ021 where documents, strategy or prompts have changed so that other replies would be needed.
    """
    started = time.perf_counter()
    row = asking.asked(database, query)
    memory = models.QuestionMemory(database, replayed=query)
    strategy = _strategy(database, row["strategy"], row["strategy_version"])

    def stored_only(model: Model) -> Driver:
        driver = opener(model)
        return _Stored(driver) if hasattr(driver, "fingerprint") else driver

    begin = begin_at(database, row["thread"], row["turn"]) if begin_at and row["thread"] else None
    return Asking(
        database, row["document"], row["question"], strategy, stored_only, started, memory, begin
    ).run()


@dataclass(frozen=True, slots=True)
class Queued:
    """What is different with a question of the queue. spent: seconds that earlier attempts took; heard: called after every
    call of the model that is not the last of its stage; again: whether it will be asked again after an error, which
    therefore is no row yet."""

    query: str
    spent: float
    heard: Callable[[Asking], None]
    again: Callable[[TqError], bool]


class _Stored:
    """A driver that is never asked: what is not stored cannot be replayed."""

    waits = False

    def __init__(self, driver: Driver) -> None:
        self.fingerprint = driver.fingerprint  # type: ignore[attr-defined]

    def reply(self, task: Task[Any], stop: threading.Event) -> Reply:
        raise TqError(
            "TQ021",
            "the question cannot be replayed",
            f"No reply is stored for a step ({task.purpose}) that it takes now.",
            "Its documents, its strategy, the model's row or the prompts have changed since, or another role asked it.",
        )


def select(
    database: Database, doc: str | None, question: str | None, opener: Opener = open_driver
) -> list[dict[str, Any]]:
    """The leaves that answer a question, best first. Raises as `ask` does, and TQ111 where there are none."""
    strategy = _strategy(database, "default")
    found = Asking(database, doc, _checked(question), strategy, opener, time.perf_counter()).select()
    if not found:
        raise TqError(
            "TQ111",
            "nothing selected",
            "No section that was read bears on the question.",
            "tq.ask says what was searched and what is missing.",
        )
    return found


def _checked(question: str | None) -> str:
    if question is None or not question.strip():
        blank = "It holds nothing but white space." if question else "It is empty."
        raise TqError(
            "TQ021",
            "invalid value for the argument question",
            "It is NULL." if question is None else blank,
            "Ask in words, such as 'How much notice is needed to cancel?'.",
        )
    return question


def _strategy(database: Database, name: str | None, version: int | None = None) -> Strategy:
    found = strategies.strategy(database, name, version) if name is not None else None
    if found is None:
        raise strategies.unknown(database, name, words.quoted(name or "", 100))
    return found


def _model(database: Database, strategy: Strategy, settings: dict[str, Any], purpose: str) -> Model:
    own = f"model_{purpose}"
    named = strategy.model_for(purpose)
    name = named or str(settings.get(own) or settings.get("model", "extractive"))
    found = asking.model(database, name)
    if found is None:
        layer = "setting " + (own if settings.get(own) else "model")
        if named:
            layer = f"strategy {strategy.name}"
        raise TqError(
            "TQ020",
            "model not found",
            f"There is no model {words.quoted(name, 100)} (from {layer}).",
            "Add a row to tq.model, or name another.",
        )
    return found


def _since(started: float) -> float:
    return round((time.perf_counter() - started) * 1000, 3)


class Asking:
    """One question on its way, stage by stage. Within a stage all calls run at once, each going on as it ends."""

    def __init__(
        self,
        database: Database,
        doc: str | None,
        question: str,
        strategy: Strategy,
        opener: Opener,
        started: float,
        memory: models.QuestionMemory | None = None,
        begin: Begin | None = None,
        queued: Queued | None = None,
    ) -> None:
        settings = asking.settings(database)
        by_purpose = {purpose: _model(database, strategy, settings, purpose) for purpose in PURPOSES}
        model = by_purpose["read"]
        self._database = database
        self._started = started
        self._left: list[Left] = []
        shown = self._cut(question.strip(), max(400, int(model.fit.window_chars * SHOWN_QUESTION)))
        scent = bool(settings.get("scent", True))
        queries_at = frozenset(str(settings.get("possible_queries", "root, plan")).replace(",", " ").split())
        self._question = Question(question, doc, shown, strategy, model, model.fit, scent, queries_at)
        self._begin = begin
        self._ready, waiting = (begin.rows, begin.left) if begin else scope.resolve(database, doc)
        self._left += waiting
        self._ready, outside = narrowed(database, strategy, doc, self._ready, begin is not None)
        self._left += outside
        self._queries = asking.possible_queries(database, [row.id for row in self._ready])
        self._queued = queued
        self._memory = memory or models.QuestionMemory(
            database, bool(settings.get("reuse_replies", True)), resumed=queued.query if queued else None
        )
        self._budget = Budget(strategy, started)
        self.caller = Caller(database, strategy, by_purpose, opener, self._memory, self._budget)
        self.caller.ended = self._heard
        self._plan = Planned("lookup", (), ())
        self._ranked: list[Claim] | None = None
        self._scope: Scope | None = None
        self._walk: Walk | None = None
        self._widened = ""  # why the search left the picked sections, as a sentence

    def _cut(self, question: str, limit: int) -> str:
        if len(question) <= limit:
            return question
        told = f"prompts showed the first {limit} of the question's {len(question)} characters"
        self._left.append(Left("question", told))
        return question[:limit].rstrip()

    def run(self) -> Answers:
        in_time = self._search()
        found = self._settle(in_time)
        self._check(found)
        elapsed = _since(self._started)
        answers = rows.answers(self._database, found, self.caller.total(), elapsed)
        top = self._question.strategy.top_n
        shown, held = answers[:top], answers[top:]
        for row in answers:
            row["held_back"] = len(held)
        replies = list(self._memory.trace())
        record = trace.trace(found, self.caller, self._begin, replies, elapsed, len(held))
        return {"shown": shown, "held": held, "trace": record}

    def select(self) -> list[dict[str, Any]]:
        """The nodes of all claims in order of rank, without comparing them."""
        self._search()
        sections: dict[str, dict[str, Any]] = {}
        for claim in self._settle(comparing=False).claims:
            for visit in claim.visits:
                node = visit.node
                sections.setdefault(
                    node.id,
                    {
                        "document_id": visit.route.source.id,
                        "node_id": node.id,
                        "title": node.title,
                        "line_start": node.line_start,
                        "line_end": node.line_end,
                    },
                )
        return list(sections.values())

    # ------------------------------------------------------------ plan and search

    def _search(self) -> bool:
        """Plan, and walk all routes to their ends; False where the time was over before."""
        try:
            queries = self._queries if "plan" in self._question.queries_at else {}
            task, left = plan.task(self._question, self.caller.model("plan"), self._ready, queries)
            self._left += left
            if self.caller.submit(task, self._planned):
                self.caller.drain()
            if self._plan.aims:
                self._walk_all()
        except Spent:
            return False
        return True

    def _planned(self, ended: Ended) -> None:
        self._plan, left = plan.planned(self._question, ended)
        self._left += left

    def _walk_all(self) -> None:
        room = int(self._question.model.input_chars * RULES_SHARE) - prompts.rules_chars()
        room -= len(self._question.strategy.reasoning_rules)
        queries = {document: plan.within(listed, room)[0] for document, listed in self._queries.items()}
        self._scope = scope.choose(self._database, self._question, self._plan, self._ready, queries)
        self._left += self._scope.left
        self._walk = Walk(self._database, self._question, self._plan.aims, self._scope.sources, self.caller)
        starts = self._begin.starts if self._begin else {}
        self._walk.start(starts)
        self.caller.drain()
        if starts:
            self._widen(self._walk, starts)

    def _widen(self, walk: Walk, starts: Starts) -> None:
        """Go on from the roots for the aims that nothing near the picks answers."""
        settled = {claim.aim for claim in evidence.standing(walk.claims)}
        wanted = [aim for aim in self._plan.aims if aim not in settled]
        if walk.widen(starts, wanted):
            self._widened = tell.widened(wanted, len(self._plan.aims))
            self.caller.drain()

    # ------------------------------------------------------------ before the end

    def _heard(self) -> None:
        if self._queued is not None and self.caller.busy:
            self._queued.heard(self)

    def found(self) -> list[rows.Row]:
        """Rows of the claims that have come since the last call, as much as can be said before they are compared. Their
        quotes are checked; each keeps its id."""
        if self._walk is None or self._scope is None:
            return []
        standing = evidence.standing(self._walk.claims) if self._ranked is None else self._ranked
        fresh = [claim for claim in standing if not claim.answer_id]
        good, _ = evidence.verify(fresh, asking.stored(self._database, evidence.lines_of(fresh)))
        for claim in good:
            claim.answer_id = str(uuid.uuid4())
        claims = rank(good, self._question.strategy)
        found = Found(self._question, self._plan, self._scope, [], [], claims, {}, self._left, self._widened)
        return rows.early(found, self.caller.done("read"), self.caller.total(), _since(self._started))

    def fresh_replies(self) -> Sequence[dict[str, Any]]:
        """What the model has replied since the last call."""
        return self._memory.fresh()

    # ------------------------------------------------------------ what was found

    def _settle(self, comparing: bool) -> Found:
        """Check the quotes again, merge, rank, compare."""
        if self._walk is None or self._scope is None:
            nowhere = Scope([], [], False, (), {})
            return Found(self._question, self._plan, nowhere, [], [], [], {}, self._left, self._widened)
        strategy = self._question.strategy
        routes, visits = self._walk.settle()
        self._left += self._walk.left
        ranked = self._ranked = rank(weigh.merge(self._verified(self._walk.claims)), strategy)
        relations: compare.Relations = {}
        if comparing:
            rules = ruled(ranked)
            try:
                compare.start(self.caller, ranked, rules, strategy.pairs, relations)
                self._heard()
                self.caller.drain()
            except Spent:
                pass  # what was compared until then counts
            self._left += compare.complete(self.caller, rules, relations)
        compared: dict[int, int] = {}
        for pair in relations:
            for place in pair:
                compared[id(ranked[place])] = compared.get(id(ranked[place]), 0) + 1
        claims = rank(weigh.relate(ranked, relations), strategy)
        return Found(
            self._question,
            self._plan,
            self._scope,
            routes,
            visits,
            claims,
            compared,
            self._left,
            self._widened,
        )

    def _verified(self, claims: list[Claim]) -> list[Claim]:
        good, bad = evidence.verify(claims, asking.stored(self._database, evidence.lines_of(claims)))
        for claim in bad:
            visit = claim.visits[0]
            self._left.append(
                Left(
                    "quote",
                    "an answer was dropped: its quote does not stand in the stored lines",
                    visit.route.source.id,
                    visit.node.line_start,
                    visit.node.line_end,
                )
            )
        return evidence.standing(good)

    def _check(self, found: Found) -> None:
        """Raise where the search did not come far enough to say anything."""
        reason = self._budget.reason
        if reason and not found.claims:
            raise TqError(
                "TQ110",
                "the budget is spent before any answer was found",
                reason[0].upper() + reason[1:] + ".",
                "Give the strategy a larger budget, or ask a narrower question.",
            )
        if not found.visits:
            raise TqError("TQ001", "document not found", "There is no tree to search.", "See tq.progress.")
        if all(visit.choice is None for visit in found.visits):
            reasons = [visit.rejected[-1] for visit in found.visits if visit.rejected]
            raise TqError(
                "TQ104",
                "the model replied off the list too often",
                words.short(reasons[0]) if reasons else None,
                "More rereads in the strategy, or another model, may help.",
            )
