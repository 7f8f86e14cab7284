"""From a question to its answers: plan, search, compare, rank, and say what is not known. Writes nothing."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator, Hashable, Sequence
from contextlib import closing
from dataclasses import replace
from typing import Any, cast

import msgspec

from tq.ask import evidence, scope, tell, weigh, words
from tq.ask.budget import Budget, Spent
from tq.ask.pieces import Rough
from tq.ask.records import Begin, Claim, Cost, Left, Question, Subject, Visit
from tq.ask.walk import Walk
from tq.database import asking, models, strategies
from tq.database.connection import Database
from tq.errors import TqError
from tq.model import prompts
from tq.model.driver import Calls, Driver, Lane, Outcome, Patience, Reply, open_driver
from tq.model.limits import RULES_SHARE, Model
from tq.model.tasks import Compare, Parts, Plan, PlanReply, Read, Task
from tq.strategy.scope import narrowed
from tq.strategy.settings import Strategy
from tq.text.tokens import detect_language

SHOWN_QUESTION = 0.25  # of a window's characters: the question as prompts show it
NEAREST_CHARS = 400  # of the line that came nearest
COMPARED_CHARS = 1_500  # of a claim or quote that is compared
PART_CHARS = 200  # that a part of the plan may be longer than the question
ATTEMPTS = 3  # at a call that fails for another reason than its request

Opener = Callable[[Model], Driver]
Answers = dict[str, Any]


def ask(
    database: Database,
    doc: str | None,
    question: str | None,
    strategy: str | None,
    opener: Opener = open_driver,
    begin: Callable[[], Begin] | None = None,
) -> Answers:
    """All answers in order of rank, and the trace: {"shown": [...], "held": [...], "trace": {...}}.

    begin: where a follow-up begins, in place of doc. Raises TqError: TQ001, TQ002 (document), TQ020 (strategy, model),
    TQ021 (question), TQ101 to TQ104 (model), unless the strategy wants errors as a row.
    """
    started = time.perf_counter()
    chosen = _strategy(database, strategy)
    asking_it: _Asking | None = None
    try:
        asking_it = _Asking(
            database, doc, _checked(question), chosen, opener, started, begin=begin and begin()
        )
        return asking_it.run()
    except TqError as error:
        if asking_it is not None:
            asking_it.tell_cost(error)
        if chosen.on_error != "row":
            raise
        return _failed(doc, question, chosen, error, started)


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
    return _Asking(
        database, row["document"], row["question"], strategy, stored_only, started, memory, begin
    ).run()


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
    asking_it = _Asking(
        database, doc, _checked(question), _strategy(database, "default"), opener, time.perf_counter()
    )
    found = asking_it.select()
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


class _Asking:
    """One question on its way: plan, all reads, all comparisons, in one loop over calls that have ended."""

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
    ) -> None:
        settings = asking.settings(database)
        self._models = {
            purpose: _model(database, strategy, settings, purpose) for purpose in ("read", "plan", "compare")
        }
        model = self._models["read"]
        self._database = database
        self._started = started
        self._asked = question
        shown = question.strip()
        limit = max(400, int(model.fit.window_chars * SHOWN_QUESTION))
        self._left: list[Left] = []
        if len(shown) > limit:
            self._left.append(
                Left(
                    "question", f"prompts showed the first {limit} of the question's {len(shown)} characters"
                )
            )
            shown = shown[:limit].rstrip()
        self._question = Question(
            question, doc, shown, strategy, model, model.fit, bool(settings.get("scent", True))
        )
        self._begin = begin
        self._ready, waiting = (begin.rows, begin.left) if begin else scope.resolve(database, doc)
        self._left += waiting
        self._ready, outside = narrowed(database, strategy, doc, self._ready, begin is not None)
        self._left += outside
        self._queries = asking.possible_queries(database, [row.id for row in self._ready])
        self._memory = memory or models.QuestionMemory(database, bool(settings.get("reuse_replies", True)))
        self._budget = Budget(strategy, started)
        self._calls = self._open_calls(opener)
        self._unread: list[Visit] = []
        self._out = 0
        self._costs: dict[tuple[str | None, str], Cost] = {}
        self._subjects: list[Subject] = []
        self._scope: scope.Scope | None = None
        self._walk: Walk | None = None
        self._ranked: list[Claim] = []
        self._relations: dict[weigh.Pair, str] = {}
        self._compared: dict[int, int] = {}
        self._comparing = True
        self._widened = ""  # why the search left the picked sections, as a sentence

    def _open_calls(self, opener: Opener) -> Calls:
        lanes: dict[str, Lane] = {}
        by_name: dict[str, Lane] = {}
        for purpose, model in self._models.items():
            if model.name not in by_name:
                by_name[model.name] = Lane(
                    opener(model), model.concurrency, models.gate_of(self._database, model)
                )
            lanes[purpose] = by_name[model.name]
        main = lanes["read"]
        return Calls(
            main.driver,
            main.concurrency,
            self._pulse,
            gate=main.gate,
            lanes={purpose: lane for purpose, lane in lanes.items() if lane is not main},
            memory=self._memory,
            patience=Patience(self._question.strategy.patience_seconds, ATTEMPTS),
        )

    def _pulse(self) -> None:
        self._database.pulse()
        self._budget.check_time()

    def run(self) -> Answers:
        self._work()
        return self._finish()

    def select(self) -> list[dict[str, Any]]:
        """The nodes of all claims in order of rank, without comparing them."""
        self._comparing = False
        self._work()
        found: dict[str, dict[str, Any]] = {}
        for claim in self._ranked:
            for visit in claim.visits:
                node = visit.node
                found.setdefault(
                    node.id,
                    {
                        "document_id": visit.route.source.id,
                        "node_id": node.id,
                        "title": node.title,
                        "line_start": node.line_start,
                        "line_end": node.line_end,
                    },
                )
        return list(found.values())

    def _work(self) -> None:
        if not self._submit("plan", self._plan()):
            return
        calls = cast("Generator[tuple[Hashable, Outcome]]", self._calls.completed())
        try:
            with closing(calls) as ended:
                for key, outcome in ended:
                    self._out -= 1
                    self._charge(key, outcome)
                    self._take(key, outcome)
        except Spent:
            self._stop_searching()

    def _submit(self, key: Hashable, task: Any) -> bool:
        """Run a task, where the budget admits it."""
        if not self._budget.admit(task, self._models[task.purpose]):
            return False
        self._out += 1
        self._calls.submit(key, task)
        return True

    def _charge(self, key: Hashable, outcome: Outcome) -> None:
        document = key.route.source.id if isinstance(key, Visit) else None
        cost = self._costs.setdefault((document, outcome.task.purpose), Cost())
        money = self._models[outcome.task.purpose].cost(
            outcome.input_tokens, outcome.output_tokens, outcome.cached_tokens
        )
        self._budget.settle(outcome, money)
        cost.calls += not outcome.free
        cost.cached_tokens += outcome.cached_tokens
        cost.money += money
        cost.input_tokens += outcome.input_tokens
        cost.output_tokens += outcome.output_tokens
        cost.elapsed_ms += outcome.elapsed_ms

    def _take(self, key: Hashable, outcome: Outcome) -> None:
        if isinstance(key, Visit):
            assert self._walk is not None
            self._walk.take(key, outcome)
            if self._out == 0:
                self._searched()
        elif key == "plan":
            self._planned(outcome)
        else:
            assert isinstance(key, tuple)
            self._related(key, outcome)

    def _stop_searching(self) -> None:
        """The time is over: what was found so far is the answer."""
        if self._walk is None:
            return
        if not self._walk.settled:
            self._comparing = False
            self._compare()

    def tell_cost(self, error: TqError) -> None:
        """Put what was spent into the error: the records of a question that raises roll back."""
        total = self._total()
        if total["calls"]:
            spent = (
                f"It had cost {words.count(total['calls'], 'call')}, {total['input_tokens']} tokens in and "
                f"{total['output_tokens']} out, {total['money']:g} in money."
            )
            error.detail = f"{error.detail.rstrip('.')}. {spent}" if error.detail else spent

    def _total(self) -> dict[str, Any]:
        costs = self._costs.values()
        return {
            "calls": sum(cost.calls for cost in costs),
            "input_tokens": sum(cost.input_tokens for cost in costs),
            "output_tokens": sum(cost.output_tokens for cost in costs),
            "cached_tokens": sum(cost.cached_tokens for cost in costs),
            "money": round(sum(cost.money for cost in costs), 9),
        }

    # ------------------------------------------------------------ plan

    def _plan(self) -> Plan:
        model = self._models["plan"]
        budget = int(model.input_chars * RULES_SHARE) - len(prompts.text("plan.system"))
        queries, cut = _within([q for row in self._ready for q in self._queries.get(row.id, ())], budget)
        if cut:
            self._left.append(
                Left(
                    "possible queries",
                    f"{words.count(cut, 'possible query', 'possible queries')} not shown to the planner",
                )
            )
        language = detect_language(self._question.shown)
        if language == "none":
            languages = {row.language or "none" for row in self._ready}
            language = languages.pop() if len(languages) == 1 else "none"
        most = 100_000 if model.computes else len(self._question.shown) + PART_CHARS
        return Plan(self._question.shown, queries, language, max_chars=most)

    def _planned(self, outcome: Outcome) -> None:
        if outcome.rejected is not None:
            task = outcome.task
            assert isinstance(task, Plan)
            rejected = (*task.rejected, words.clean(outcome.rejected))
            if len(rejected) <= self._question.strategy.rereads and self._submit(
                "plan", replace(task, rejected=rejected)
            ):
                return
            self._left.append(
                Left(
                    "plan", f"the plan was given up ({rejected[-1]}); the question was searched as it stands"
                )
            )
            parts = [Parts(self._question.shown, self._question.shown, self._question.shown)]
        else:
            assert isinstance(outcome.reply, PlanReply)
            parts = [
                Parts(words.clean(part.what), words.clean(part.why), words.clean(part.how))
                for part in outcome.reply.subjects
            ]
        self._subjects = [Subject(where, part) for where, part in enumerate(parts)]
        model = self._question.model
        budget = int(model.input_chars * RULES_SHARE) - prompts.rules_chars()
        budget -= len(self._question.strategy.reasoning_rules)
        queries = {document: _within(listed, budget)[0] for document, listed in self._queries.items()}
        self._scope = scope.choose(self._database, self._question, self._subjects, self._ready, queries)
        self._left += self._scope.left
        self._walk = Walk(
            self._database, self._question, self._subjects, self._scope.sources, self._submit_read
        )
        self._walk.start(self._begin.starts if self._begin else {})
        if self._out == 0:
            self._searched()

    def _submit_read(self, visit: Visit, task: Read) -> None:
        if not self._submit(visit, task):
            visit.route.ended = visit.route.ended or "budget"

    def _searched(self) -> None:
        """All reads have ended: go on from the root for what nothing near the picks answers, or compare."""
        if self._begin is not None and not self._widened:
            assert self._walk is not None
            settled = {claim.subject for claim in evidence.standing(self._walk.claims)}
            wanted = [subject for subject in self._subjects if subject.where not in settled]
            self._walk.widen(self._begin.starts, wanted)
            if self._out:
                self._widened = tell.widened(wanted, len(self._subjects))
                return
        self._compare()

    # ------------------------------------------------------------ compare

    def _compare(self) -> None:
        """All reads have ended: check the quotes again, merge, rank, and send out the pairs to compare."""
        assert self._walk is not None
        self._routes, self._visits = self._walk.settle()
        self._not_read()
        self._left += self._walk.left
        claims = self._walk.claims
        stored = asking.stored(self._database, evidence.lines_of(claims))
        good, bad = evidence.verify(claims, stored)
        for claim in bad:
            node = claim.visits[0].node
            self._left.append(
                Left(
                    "quote",
                    "an answer was dropped: its quote does not stand in the stored lines",
                    claim.visits[0].route.source.id,
                    node.line_start,
                    node.line_end,
                )
            )
        self._ranked = weigh.rank(weigh.merge(evidence.standing(good)), self._question.strategy)
        if not self._comparing:
            return
        chosen, left = weigh.pairs(self._ranked)
        if left:
            self._left.append(Left("pairs", f"{words.count(left, 'pair')} of claims not compared"))
        dropped = sum(not self._submit(pair, self._pair(*pair)) for pair in chosen)
        if dropped:
            self._left.append(
                Left("pairs", f"{words.count(dropped, 'pair')} of claims not compared: {self._budget.reason}")
            )

    def _not_read(self) -> None:
        """One omission a document for the nodes that the budget left unread."""
        if not self._budget.reason:
            return
        unread: dict[str, list[Visit]] = {}
        for visit in self._visits:
            if visit.choice is None and len(visit.rejected) <= self._question.strategy.rereads:
                unread.setdefault(visit.route.source.id, []).append(visit)
        for document, visits in unread.items():
            source = visits[0].route.source
            ranges = sorted({(visit.node.line_start, visit.node.line_end) for visit in visits})
            told = words.listed([words.lines(*place) for place in ranges[:5]])
            more = f" and {len(ranges) - 5} more" if len(ranges) > 5 else ""
            self._left.append(
                Left(
                    "budget",
                    f"{words.count(len(ranges), 'section')} of {source.label} not searched ({told}{more}): "
                    f"{self._budget.reason}",
                    document,
                    ranges[0][0],
                    max(last for _, last in ranges),
                )
            )

    def _pair(self, first: int, second: int) -> Compare:
        one, two = self._ranked[first], self._ranked[second]
        return Compare(
            question=self._subjects[one.subject].parts.what,
            first=one.what[:COMPARED_CHARS],
            second=two.what[:COMPARED_CHARS],
            first_quote=_quote(one),
            second_quote=_quote(two),
            language=one.citations[0].source.language,
        )

    def _related(self, pair: tuple[int, int], outcome: Outcome) -> None:
        if outcome.rejected is not None:
            task = outcome.task
            assert isinstance(task, Compare)
            rejected = (*task.rejected, words.clean(outcome.rejected))
            again = len(rejected) <= self._question.strategy.rereads
            if not (again and self._submit(pair, replace(task, rejected=rejected))):
                self._relations[pair] = "unclear"
            return
        assert outcome.reply is not None
        self._relations[pair] = outcome.reply.relation

    # ------------------------------------------------------------ the rows

    def _finish(self) -> Answers:
        if self._budget.reason and not self._ranked:
            raise TqError(
                "TQ110",
                "the budget is spent before any answer was found",
                self._budget.reason[0].upper() + self._budget.reason[1:] + ".",
                "Give the strategy a larger budget, or ask a narrower question.",
            )
        if self._walk is None or not self._visits:
            raise TqError("TQ001", "document not found", "There is no tree to search.", "See tq.progress.")
        if all(visit.choice is None for visit in self._visits):
            reasons = [visit.rejected[-1] for visit in self._visits if visit.rejected]
            raise TqError(
                "TQ104",
                "the model replied off the list too often",
                words.short(reasons[0]) if reasons else None,
                "More rereads in the strategy, or another model, may help.",
            )
        for first, second in self._relations:
            for place in (first, second):
                self._compared[id(self._ranked[place])] = self._compared.get(id(self._ranked[place]), 0) + 1
        related = weigh.relate(self._ranked, self._relations)
        claims = weigh.rank(related, self._question.strategy)
        # Merging may have put citations of later claims first; their order is by place.
        answered = {claim.subject for claim in claims}
        unanswered = [subject.where for subject in self._subjects if subject.where not in answered]
        rows = [self._row(rank, claim, claims, unanswered) for rank, claim in enumerate(claims, 1)]
        if not rows:
            rows = [self._unsettled()]
        top = self._question.strategy.top_n
        shown, held = rows[:top], rows[top:]
        for row in rows:
            row["held_back"] = len(held)
        return {"shown": shown, "held": held, "trace": self._trace(len(held))}

    def _row(
        self, rank: int, claim: Claim, claims: Sequence[Claim], unanswered: Sequence[int]
    ) -> dict[str, Any]:
        against = [other for other in claim.contradicts if other in claims]
        compared = self._compared.get(id(claim), 0)
        method = "comparison" if against or claim.agreement > 1 else "lookup"
        if against:
            certainty, doubt = "disputed", "conflicting sources"
        elif unanswered:
            certainty, doubt = "partial", "missing context"
        else:
            certainty, doubt = ("settled" if claim.on_lines else "supported"), None
        detail = self._detail(claim.subject) | {
            "ranking": claim.ranking
            | {"weights": self._question.strategy.weights, "places": claim.agreement},
            "contradictions": [
                tell.contradiction(other) | {"rank": claims.index(other) + 1} for other in against
            ],
        }
        return {
            **_flat(claim),
            "rank": rank,
            "what": claim.what,
            "why": tell.why(claim),
            "how": tell.how(claim, self._subjects, method, compared, self._left, self._widened),
            "method": method,
            "certainty": certainty,
            "disagreement": bool(against),
            "missing": tell.missing(claim, self._subjects, unanswered, self._left, self._widened),
            "doubt": doubt,
            "specialist": bool(against),
            "score": claim.score,
            "detail": detail,
        }

    def _unsettled(self) -> dict[str, Any]:
        assert self._scope is not None
        sources = self._scope.sources
        near = tell.nearest(sources, self._subjects)
        line = None
        if near is not None:
            line = asking.stored(self._database, [(near.source.id, near.line)]).get(
                (near.source.id, near.line)
            )
        excerpt = ""
        if near is not None and line is not None:
            weights = {term: near.source.trails[0].terms.get(term, 1.0) for term in near.terms}
            excerpt = Rough(weights).excerpt(line.text, NEAREST_CHARS)
        outside = not self._scope.terms_found
        incomplete = any(left.kind not in ("question", "possible queries") for left in self._left)
        return {
            **_flat(None),
            "rank": 1,
            "what": None,
            "why": tell.unsettled_why(sources, self._visits),
            "how": tell.unsettled_how(self._visits, self._left, self._widened),
            "method": "lookup",
            "certainty": "unsettled",
            "disagreement": False,
            "missing": tell.unsettled_missing(
                sources, self._scope.surface, self._visits, near, excerpt, self._scope.absent, self._left
            ),
            "doubt": "outside the corpus" if outside else "missing context",
            # Where everything was searched, or the material is on something else, reading on settles nothing.
            "specialist": outside or not incomplete,
            "score": None,
            "detail": self._detail(None)
            | {
                "ranking": None,
                "contradictions": [],
                "nearest": None
                if near is None or line is None
                else {
                    "document": near.source.row.name,
                    "version": near.source.row.version,
                    "line": near.line,
                    "text": words.short(excerpt, 500),
                },
            },
        }

    def _detail(self, subject: int | None) -> dict[str, Any]:
        subjects = self._subjects if subject is None else [self._subjects[subject]]
        return {
            "parts": [msgspec.to_builtins(item.parts) for item in subjects],
            "omissions": [_left(item) for item in self._left],
            "strategy": self._question.strategy.name,
            "strategy_version": self._question.strategy.version,
            "model": self._question.model.name,
            "elapsed_ms": self._elapsed(),
            "reads": len(self._visits),
            "cost": self._total(),
        }

    def _elapsed(self) -> float:
        return round((time.perf_counter() - self._started) * 1000, 3)

    def _trace(self, held_back: int) -> dict[str, Any]:
        return {
            "query": {
                "document": self._question.doc,
                "question": self._asked,
                "strategy": self._question.strategy.name,
                "strategy_version": self._question.strategy.version,
                "model": self._question.model.name,
                "plan": [msgspec.to_builtins(subject.parts) for subject in self._subjects],
                "elapsed_ms": self._elapsed(),
                "held_back": held_back,
                "thread_id": self._begin and self._begin.thread,
                "turn": self._begin and self._begin.turn,
                "prompts": prompts.version(),
            },
            "replies": list(self._memory.trace()),
            "routes": [
                {
                    "ordinal": route.ordinal,
                    "parent": route.parent.ordinal if route.parent else None,
                    "document_id": route.source.id,
                    "subject": route.subject + 1,
                    "ended": route.ended or "went on",
                }
                for route in self._routes
            ],
            "reads": [_read(visit) for visit in self._visits],
            "omissions": [_left(item) | {"document_id": item.document} for item in self._left],
            "calls": [
                {
                    "document_id": document,
                    "purpose": purpose,
                    "model": self._models[purpose].name,
                    "calls": cost.calls,
                    "cached_tokens": cost.cached_tokens,
                    "cost": cost.money,
                    "input_tokens": cost.input_tokens,
                    "output_tokens": cost.output_tokens,
                    "elapsed_ms": round(cost.elapsed_ms, 3),
                }
                for (document, purpose), cost in sorted(
                    self._costs.items(), key=lambda item: (item[0][0] or "", item[0][1])
                )
            ],
        }


def _quote(claim: Claim) -> str:
    return "\n".join(citation.quote for citation in claim.citations)[:COMPARED_CHARS]


def _within(queries: Sequence[str], budget: int) -> tuple[tuple[str, ...], int]:
    """The first queries that fit a budget of characters, and how many do not."""
    kept: list[str] = []
    for query in queries:
        budget -= len(query) + 8
        if budget < 0:
            break
        kept.append(query)
    return tuple(kept), len(queries) - len(kept)


def _left(item: Left) -> dict[str, Any]:
    return {
        "kind": item.kind,
        "detail": item.detail,
        "line_start": item.line_start,
        "line_end": item.line_end,
    }


def _read(visit: Visit) -> dict[str, Any]:
    node = visit.node
    return {
        "ordinal": visit.ordinal,
        "parent": visit.parent.ordinal if visit.parent else None,
        "route": visit.route.ordinal,
        "document_id": visit.route.source.id,
        "node_id": node.id,
        "depth": node.depth,
        "line_start": node.line_start,
        "line_end": node.line_end,
        "title": node.title
        + (f" (piece {visit.piece[0]} of {visit.piece[1]})" if visit.piece[1] > 1 else ""),
        "choice": visit.choice,
        "opened": visit.opened,
        "reason": visit.reason,
        "rejected": visit.rejected,
        "input_tokens": visit.input_tokens,
        "output_tokens": visit.output_tokens,
        "elapsed_ms": round(visit.elapsed_ms, 3),
    }


def _flat(claim: Claim | None) -> dict[str, Any]:
    """The columns of the first citation, and all citations with the ids that only the record needs."""
    if claim is None:
        empty = dict.fromkeys(("document", "version", "page", "line_start", "line_end", "quote"))
        return {**empty, "citations": [], "cited": []}
    citations = [
        {
            "document": citation.source.row.name,
            "version": citation.source.row.version,
            "page": citation.page,
            "line_start": citation.line_start,
            "line_end": citation.line_end,
            "quote": citation.quote,
            "locator": citation.locator,
            "node_id": citation.node_id,
            "source": citation.kind,
        }
        for citation in claim.citations
    ]
    first = citations[0]
    return {
        **{name: first[name] for name in ("document", "version", "page", "line_start", "line_end", "quote")},
        "citations": citations,
        "cited": [citation.source.id for citation in claim.citations],
    }


def _failed(
    doc: str | None, question: str | None, strategy: Strategy, error: TqError, started: float
) -> Answers:
    """The one row of a question that failed, where the strategy wants errors as rows."""
    elapsed = round((time.perf_counter() - started) * 1000, 3)
    said = error.message + (f" ({error.detail.rstrip('.')})" if error.detail else "")
    model = strategy.model or ""
    row = {
        **_flat(None),
        "rank": 1,
        "what": None,
        "why": f"The question did not run: {said}.",
        "how": "Method: lookup. Nothing was read to the end: there is no evidence for or against an answer.",
        "method": "lookup",
        "certainty": "failed",
        "disagreement": False,
        "missing": f"Error {error.code}: {said}." + (f" {error.hint}" if error.hint else ""),
        "doubt": None,
        "specialist": False,
        "held_back": 0,
        "score": None,
        "detail": {
            "parts": [],
            "omissions": [],
            "strategy": strategy.name,
            "strategy_version": strategy.version,
            "model": model,
            "elapsed_ms": elapsed,
            "error": {
                "sqlstate": error.code,
                "message": error.message,
                "detail": error.detail,
                "hint": error.hint,
            },
        },
    }
    trace = {
        "query": {
            "document": doc,
            "question": question or "",
            "strategy": strategy.name,
            "strategy_version": strategy.version,
            "model": model,
            "plan": [],
            "elapsed_ms": elapsed,
            "held_back": 0,
        },
        "routes": [],
        "reads": [],
        "omissions": [],
        "calls": [],
    }
    return {"shown": [row], "held": [], "trace": trace}
