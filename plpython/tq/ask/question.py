"""From a question to its answers: plan, search, compare, rank, and say what is not known. Writes nothing."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from tq.ask import compare, evidence, rows, scope, trace, weigh, words, write
from tq.ask.budget import Budget, Spent
from tq.ask.caller import Caller, Opener
from tq.ask.records import Begin, Claim, Ended, Found, Left, Question
from tq.ask.search import MODES, TREE, Search, section
from tq.ask.words import say
from tq.database import asking, models, strategies
from tq.database.connection import Database
from tq.errors import TqError
from tq.model import prompts
from tq.model.driver import Driver, Reply, open_driver
from tq.model.limits import RULES_SHARE, Model
from tq.model.tasks import Shot, Task
from tq.strategy.conflicts import ruled
from tq.strategy.rank import rank
from tq.strategy.scope import narrowed
from tq.strategy.settings import Strategy

SHOWN_QUESTION = 0.25  # of a window's characters: the question as prompts show it
PURPOSES = ("read", "plan", "compare", "write")

Answers = dict[str, Any]


def ask(
    database: Database,
    doc: str | None,
    question: str | None,
    strategy: str | None,
    opener: Opener = open_driver,
    begin: Callable[[], Begin] | None = None,
    queued: Queued | None = None,
    say: Callable[[str], None] | None = None,
) -> Answers:
    """All answers in order of rank, and the trace: {"shown": [...], "held": [...], "trace": {...}}.

    begin: where a follow-up begins, in place of doc; queued: the question is one of the queue; say: told of every step
    where the session wants it (tq.verbose). Raises TqError: TQ001, TQ002 (document), TQ020 (strategy, model), TQ021
    (question), TQ101 to TQ104 (model), unless the strategy wants errors as a row.
    """
    started = time.perf_counter() - (queued.spent if queued else 0.0)
    chosen = _strategy(database, strategy)
    asking_it: Asking | None = None
    try:
        asking_it = Asking(
            database,
            doc,
            _checked(question),
            chosen,
            opener,
            started,
            begin=begin and begin(),
            queued=queued,
            say=say,
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
    asked_with = msgspec.json.decode(row["chars_per_token"], type=dict[str, float])
    return Asking(
        database,
        row["document"],
        row["question"],
        strategy,
        stored_only,
        started,
        memory,
        begin,
        asked_with=asked_with,
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
    database: Database,
    doc: str | None,
    question: str | None,
    mode: str | None = TREE,
    opener: Opener = open_driver,
) -> list[dict[str, Any]]:
    """The sections that bear on a question. Raises as `ask` does, and TQ111 where there are none."""
    strategy = _in_mode(_strategy(database, "default"), mode)
    found = Asking(database, doc, _checked(question), strategy, opener, time.perf_counter()).select()
    if not found:
        raise TqError(
            "TQ111",
            "nothing selected",
            "No section that was read bears on the question.",
            "tq.ask says what was searched and what is missing.",
        )
    return found


def compare_modes(
    database: Database,
    doc: str | None,
    question: str | None,
    strategy: str | None,
    opener: Opener = open_driver,
) -> list[dict[str, Any]]:
    """The same question in every search mode, each from its beginning: what it found and what it cost."""
    chosen, asked = _strategy(database, strategy), _checked(question)
    return [_tried(database, doc, asked, _in_mode(chosen, mode), opener) for mode in MODES]


def _tried(
    database: Database, doc: str | None, question: str, strategy: Strategy, opener: Opener
) -> dict[str, Any]:
    started = time.perf_counter()
    # No stored reply makes one mode look cheaper than another.
    memory = models.QuestionMemory(database, reuse=False)
    tried = Asking(database, doc, question, strategy, opener, started, memory)
    row: dict[str, Any] = {"mode": strategy.mode}
    try:
        answers = tried.run()
    except TqError as error:
        row |= {"certainty": "failed", "answers": 0, "sections": [], "error": f"{error.code} {error.message}"}
    else:
        first = answers["shown"][0]
        row |= {name: first[name] for name in ("certainty", "what", "document", "line_start", "line_end")}
        row["answers"] = sum(one["what"] is not None for one in (*answers["shown"], *answers["held"]))
        row["sections"] = tried.sections()
    total = tried.caller.total()
    return row | {
        "ran_as": tried.ran_as,
        "reads": tried.caller.done("read"),
        "calls": total["calls"],
        "input_tokens": total["input_tokens"],
        "output_tokens": total["output_tokens"],
        "cost": total["money"],
        "elapsed_ms": _since(started),
    }


def _in_mode(strategy: Strategy, mode: str | None) -> Strategy:
    if mode not in MODES:
        raise TqError(
            "TQ021",
            "invalid value for the argument mode",
            "It is NULL." if mode is None else f"It is {words.quoted(mode, 100)}.",
            f"The modes are {', '.join(MODES)}.",
        )
    return replace(strategy, mode=mode)


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


def _models(database: Database, strategy: Strategy, settings: dict[str, Any]) -> dict[str, Model]:
    """purpose → its model: the strategy's, else the setting's of the purpose, else that of all."""
    known: dict[str, Model] = {}
    found: dict[str, Model] = {}
    for purpose in PURPOSES:
        name, layer = _named(strategy, settings, purpose)
        if name not in known:
            known[name] = _model(database, name, layer)
        found[purpose] = known[name]
    return found


def _named(strategy: Strategy, settings: dict[str, Any], purpose: str) -> tuple[str, str]:
    own = f"model_{purpose}"
    if named := strategy.model_for(purpose):
        return named, f"strategy {strategy.name}"
    if settings.get(own):
        return str(settings[own]), f"setting {own}"
    return str(settings.get("model", "extractive")), "setting model"


def _model(database: Database, name: str, layer: str) -> Model:
    found = asking.model(database, name)
    if found is None:
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
        say: Callable[[str], None] | None = None,
        asked_with: Mapping[str, float] | None = None,
    ) -> None:
        """asked_with: of a replay, the characters a token that each model's prompts were made for."""
        settings = asking.settings(database)
        by_purpose = _models(database, strategy, settings)
        if asked_with:
            by_purpose = {
                purpose: replace(model, chars_per_token=asked_with.get(model.name, model.chars_per_token))
                for purpose, model in by_purpose.items()
            }
        model = by_purpose["read"]
        self._database = database
        self._started = started
        self._left: list[Left] = []
        shown = self._cut(question.strip(), max(400, int(model.fit.window_chars * SHOWN_QUESTION)))
        strategy, shots, room = self._shared(strategy, model)
        scent = bool(settings.get("scent", True))
        queries_at = frozenset(str(settings.get("possible_queries", "root, plan")).replace(",", " ").split())
        self._question = Question(
            question, doc, shown, strategy, model, model.fit, scent, queries_at, shots, room
        )
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
        self.caller = Caller(
            database,
            strategy,
            by_purpose,
            opener,
            self._memory,
            self._budget,
            int(settings.get("parallel_calls", 16)),
        )
        self.caller.ended = self._heard
        self.caller.say = say if settings.get("verbose") else None
        self._search = Search(database, self._question, self.caller, begin)
        self._ranked: list[Claim] | None = None
        self._near: list[Claim] = []

    def _cut(self, question: str, limit: int) -> str:
        if len(question) <= limit:
            return question
        told = say(
            "prompts showed the first {shown} of the question's {of} characters",
            shown=limit,
            of=len(question),
        )
        self._left.append(Left("question", told))
        return question[:limit].rstrip()

    def _shared(self, strategy: Strategy, model: Model) -> tuple[Strategy, tuple[Shot, ...], int]:
        """As much as fits their share of the strategy's rules, then of the shots, and the characters that are left for
        possible queries. Each alone fits as it was let in, unless the model has turned out to take more tokens than its row
        says."""
        room = max(0, int(model.input_chars * RULES_SHARE) - prompts.rules_chars())
        rules = strategy.reasoning_rules
        if len(rules) > room:
            told = say(
                "prompts showed the first {shown} of the strategy's {of} characters of rules",
                shown=room,
                of=len(rules),
            )
            self._left.append(Left("reasoning rules", told))
            strategy = replace(strategy, reasoning_rules=rules[:room])
        room -= len(strategy.reasoning_rules)
        if model.computes:  # it reads no prompt
            return strategy, (), room
        shots = asking.shots(self._database)
        shown = []
        for one in shots:
            if (taken := len(prompts.shot(one))) <= room:
                shown.append(one)
                room -= taken
        if len(shown) < len(shots):
            told = say("prompts showed {shown} of {of} shots", shown=len(shown), of=len(shots))
            self._left.append(Left("shots", told))
        return strategy, tuple(shown), room

    def run(self) -> Answers:
        found = self._settle(self._searched())
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
        """The sections that bear on the question: those chosen from the whole trees, or the nodes of all claims, which are
        not compared."""
        self._searched(reading=False)
        chosen = self._search.sections()
        if chosen is not None:
            return chosen
        claims = self._settle(composing=False).claims
        sections = {
            visit.node.id: section(visit.route.source, visit.node)
            for claim in claims
            for visit in claim.visits
        }
        return list(sections.values())

    def sections(self) -> list[str]:
        """The sections that answers came from, in words, once the question was asked."""
        visits = dict.fromkeys(visit for claim in self._ranked or () for visit in claim.visits)
        return [
            f"{visit.route.source.label} {words.lines(visit.node.line_start, visit.node.line_end)}"
            for visit in visits
        ]

    @property
    def ran_as(self) -> str:
        """The search mode that it came to."""
        return self._search.ran_as

    def _searched(self, reading: bool = True) -> bool:
        """Whether the time was enough to search to the end."""
        try:
            self._search.run(self._ready, self._queries, reading)
        except Spent:
            return False
        return True

    # ------------------------------------------------------------ before the end

    def _heard(self) -> None:
        if self._queued is not None and self.caller.busy:
            self._queued.heard(self)

    def found(self) -> list[rows.Row]:
        """Rows of the claims that have come since the last call, as much as can be said before they are compared. Their
        quotes are checked; each keeps its id."""
        search = self._search
        standing = evidence.standing(search.claims) if self._ranked is None else self._ranked
        fresh = [claim for claim in standing if not claim.answer_id]
        good, _ = evidence.verify(fresh, asking.stored(self._database, evidence.lines_of(fresh)))
        for claim in good:
            claim.answer_id = str(uuid.uuid4())
        claims = rank(good, self._question.strategy)
        found = Found(
            self._question,
            search.planned,
            search.scope,
            [],
            [],
            claims,
            [],
            {},
            self._left,
            [],
            search.widened,
            search.ran_as,
        )
        return rows.early(found, self.caller.done("read"), self.caller.total(), _since(self._started))

    def fresh_replies(self) -> Sequence[dict[str, Any]]:
        """What the model has replied since the last call."""
        return self._memory.fresh()

    # ------------------------------------------------------------ what was found

    def _settle(self, composing: bool) -> Found:
        """Check the quotes again, merge, rank; then compare, and compose what belongs together, where there is time."""
        search, strategy = self._search, self._question.strategy
        routes, visits, claims = search.settle()
        self._left += search.left
        ranked = self._ranked = rank(weigh.merge(self._verified(claims)), strategy)
        relations: compare.Relations = {}
        composed: list[Claim] = []
        if composing:
            rules = ruled(ranked)
            try:
                compare.start(self.caller, ranked, rules, strategy.pairs, relations)
                self._compose(ranked, composed)
                self._heard()
                self.caller.drain()
            except Spent:
                pass  # what came until then counts
            self._left += compare.complete(self.caller, rules, relations)
        compared: dict[int, int] = {}
        for pair in relations:
            for place in pair:
                compared[id(ranked[place])] = compared.get(id(ranked[place]), 0) + 1
        standing = weigh.relate(ranked, relations)
        for claim in composed:
            claim.parts = [(aim, weigh.head_of(part, standing)) for aim, part in claim.parts]
            own = [part for _, part in claim.parts]
            against = dict.fromkeys(other for part in own for other in part.contradicts)
            claim.contradicts = [other for other in against if other not in own]
        return Found(
            self._question,
            search.planned,
            search.scope,
            routes,
            visits,
            rank([*standing, *composed], strategy),
            self._near,
            compared,
            self._left,
            search.notes,
            search.widened,
            search.ran_as,
        )

    def _compose(self, ranked: Sequence[Claim], composed: list[Claim]) -> None:
        """Submit the evidence that one answer may be made of."""
        model = self.caller.model("write")
        listed = write.listed(self._search.planned, ranked, model)
        if not listed:
            return

        def take(ended: Ended) -> None:
            claim, left = write.composed(self._question, self._search.planned, listed, ended)
            self._left += left
            if claim is not None:
                composed.append(claim)

        task = write.task(self._question, self._search.planned, listed, model)
        if not self.caller.submit(task, take):
            told = say("no answer was composed of the parts found: {why}", why=self._budget.reason)
            self._left.append(Left("writing", told))

    def _verified(self, claims: list[Claim]) -> list[Claim]:
        good, bad = evidence.verify(claims, asking.stored(self._database, evidence.lines_of(claims)))
        for claim in bad:
            visit = claim.visits[0]
            self._left.append(
                Left(
                    "quote",
                    say("an answer was dropped: its quote does not stand in the stored lines"),
                    visit.route.source.id,
                    visit.node.line_start,
                    visit.node.line_end,
                )
            )
        standing = evidence.standing(good)
        self._near = [claim for claim in good if claim not in standing]
        return standing

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
        if not found.scope.sources:
            raise TqError("TQ001", "document not found", "There is no tree to search.", "See tq.progress.")
        if found.visits and all(visit.choice is None for visit in found.visits):
            reasons = [visit.rejected[-1] for visit in found.visits if visit.rejected]
            raise TqError(
                "TQ104",
                "the model replied off the list too often",
                words.short(reasons[0]) if reasons else None,
                "More rereads in the strategy, or another model, may help.",
            )
