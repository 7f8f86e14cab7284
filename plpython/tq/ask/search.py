"""The search for one question: its plan, the documents, and the routes, started as the strategy's search mode says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from tq.ask import evidence, plan, scope, tell, words
from tq.ask.caller import Caller
from tq.ask.records import (
    Aim,
    Begin,
    Claim,
    Ended,
    Left,
    Node,
    Planned,
    Question,
    Route,
    Scope,
    Source,
    SourceRow,
    Start,
    Visit,
)
from tq.ask.selection import SINGLE, Selection
from tq.ask.walk import Starts, Walk
from tq.ask.words import say
from tq.database.connection import Database
from tq.text.facts import names
from tq.text.tokens import term_spans, terms

TREE, CHUNKED = "tree", "chunked-tree"
MODES = (TREE, SINGLE, CHUNKED)
NEAR = "near"  # a follow-up that stays with its picks
MAX_CARRIED = 6  # words that a step of a chain takes from what was found before
KNOWN_CHARS = 300


def section(source: Source, node: Node) -> dict[str, Any]:
    """A node as tq.select shows it."""
    return {
        "document_id": source.id,
        "node_id": node.id,
        "title": node.title,
        "line_start": node.line_start,
        "line_end": node.line_end,
    }


def _fresh(claim: Claim, asked: str, language: str) -> list[str]:
    """The names that a claim brings in, or else the first words that were not asked for."""
    known = set(terms(asked, language))
    new = [claim.what[a:b] for term, a, b in term_spans(claim.what, language) if term not in known]
    named = {word for name, _, _ in names(claim.what) for word in name.split()}
    return list(dict.fromkeys([word for word in new if word in named] or new))[:MAX_CARRIED]


class Search:
    """Everything that is found; `run` raises Spent where the time is over, and what was found until then stays."""

    def __init__(self, database: Database, question: Question, caller: Caller, begin: Begin | None) -> None:
        self._database = database
        self._question = question
        self._caller = caller
        self._begin = begin
        self._selection: Selection | None = None
        self._walk: Walk | None = None
        self.planned = Planned("lookup", (), ())
        self.scope = Scope([], [], False, (), {})
        self.left: list[Left] = []
        self.notes: list[str] = []  # on how it was searched, as sentences
        self.widened = ""  # why a follow-up left the picked sections, as a sentence

    def run(
        self, ready: Sequence[SourceRow], queries: Mapping[str, Sequence[str]], reading: bool = True
    ) -> None:
        """reading: walk; otherwise only choose sections, where the mode does that."""
        shown = queries if "plan" in self._question.queries_at else {}
        task, left = plan.task(self._question, self._caller.model("plan"), ready, shown)
        self.left += left
        if not self._caller.submit(task, self._take_plan):
            return
        self._caller.drain()
        self._open(ready, queries)
        stages = [self.planned.aims]
        if self.planned.method == "chain":
            stages = [(aim,) for aim in self.planned.aims]
        before: Sequence[Aim] = ()
        for aims in stages:
            learned = tuple(self._learned(aim, before) for aim in aims)
            self._stage(learned, reading)
            before = learned

    def _take_plan(self, ended: Ended) -> None:
        self.planned, left = plan.planned(self._question, ended)
        self.left += left

    def _open(self, ready: Sequence[SourceRow], queries: Mapping[str, Sequence[str]]) -> None:
        room = self._question.queries_room
        shown = {document: plan.within(listed, room)[0] for document, listed in queries.items()}
        cut = sum(len(listed) - len(shown[document]) for document, listed in queries.items())
        if cut and self._question.queries_at - {"plan"}:
            told = words.count(cut, "possible query", "possible queries")
            self.left.append(Left("possible queries", say("{queries} not shown at nodes", queries=told)))
        self.scope = scope.choose(self._database, self._question, self.planned, ready, shown)
        self.left += self.scope.left
        self._walk = Walk(self._database, self._question, self.scope.sources, self._caller)
        if self._question.strategy.mode != TREE and self._begin is None:
            self._selection = Selection(self._database, self._question, self._caller)

    def _stage(self, aims: Sequence[Aim], reading: bool) -> None:
        assert self._walk is not None
        starts: Starts = self._from_root
        if self._begin is not None:
            starts = self._from_picks
        elif self._selection is not None:
            self._selection.start(self.scope.sources, aims)
            self._caller.drain()
            if not reading:
                return
            starts = self._from_selection
        self._walk.start(aims, starts)
        self._caller.drain()
        if self._begin is not None:
            self._beyond_picks(self._walk, aims)

    # ------------------------------------------------------------ where routes start

    @staticmethod
    def _from_root(source: Source, aim: Aim) -> Sequence[Start]:
        return (Start(source.root, say("the root")),)

    def _from_picks(self, source: Source, aim: Aim) -> Sequence[Start]:
        assert self._begin is not None
        return self._begin.starts.get(source.id) or self._from_root(source, aim)

    def _from_selection(self, source: Source, aim: Aim) -> Sequence[Start]:
        """The sections chosen, as many as the strategy has routes, those of the strongest scent."""
        assert self._selection is not None
        chosen = self._selection.starts(source, aim)
        most = self._question.strategy.routes
        if len(chosen) <= most:
            return chosen
        scent = source.trails[aim.where].scent

        def strength(start: Start) -> float:
            return scent.child(start.node.line_start, start.node.line_end)[2] if scent else 0.0

        kept = sorted(range(len(chosen)), key=lambda place: (-strength(chosen[place]), place))[:most]
        lost = [
            (one.node.line_start, one.node.line_end) for place, one in enumerate(chosen) if place not in kept
        ]
        told = say(
            "{sections} of {label} not read ({places}): the strategy {strategy} shares out {routes} a document",
            sections=words.count(len(lost), "chosen section"),
            label=source.label,
            places=words.places(lost),
            strategy=self._question.strategy.name,
            routes=words.count(most, "route"),
        )
        self.left.append(Left("routes", told, source.id, lost[0][0], max(last for _, last in lost)))
        return [chosen[place] for place in sorted(kept)]

    def _beyond_picks(self, walk: Walk, aims: Sequence[Aim]) -> None:
        """Go on from the roots for the aims that nothing near the picks answers, where the strategy does."""
        settled = {claim.aim for claim in evidence.standing(walk.claims)}
        wanted = [aim for aim in aims if aim not in settled]
        if self._question.strategy.follow_up == NEAR:
            if wanted:
                self.widened = tell.stayed(wanted, len(self.planned.aims), self._question.strategy.name)
            return
        before = len(walk.roots)
        walk.start(
            wanted, lambda source, aim: () if walk.is_open(source, aim) else self._from_root(source, aim)
        )
        if len(walk.roots) > before:
            self.widened = tell.widened(wanted, len(self.planned.aims))
            self._caller.drain()

    # ------------------------------------------------------------ chains

    def _learned(self, aim: Aim, before: Sequence[Aim]) -> Aim:
        """An aim of a chain with the words of what the step before found."""
        claim = self._best(before)
        if claim is None:
            return aim
        first = claim.citations[0]
        place = f"{first.source.label}, {words.lines(first.line_start, first.line_end)}"
        language = first.source.language
        carried = " ".join(_fresh(claim, f"{claim.aim.asked} {aim.asked}", language))
        learned = replace(
            aim,
            asked=f"{aim.asked} {carried}".rstrip(),
            known=f"{words.quoted(claim.what, KNOWN_CHARS)} ({place})",
        )
        aims = tuple(learned if one == aim else one for one in self.planned.aims)
        self.planned = replace(self.planned, aims=aims)
        scope.follow(self._database, self._question, self.scope.sources, learned)
        self.notes.append(
            say(
                "{part} was searched with what the step before had found: {known}.",
                part=words.quoted(aim.told, 120),
                known=learned.known,
            )
        )
        return learned

    def _best(self, aims: Sequence[Aim]) -> Claim | None:
        if self._walk is None:
            return None
        claims = [claim for claim in evidence.standing(self._walk.claims) if claim.aim in aims]
        return max(claims, key=lambda claim: (claim.sure >= evidence.SURE, claim.fit), default=None)

    # ------------------------------------------------------------ what was found

    def settle(self) -> tuple[list[Route], list[Visit], list[Claim]]:
        """Routes, visits and claims in tree order; what was left out is complete from now on."""
        if self._selection is not None:
            self.left += self._selection.left
            self.notes += self._selection.notes()
        if self._walk is None:
            return [], [], []
        routes, visits = self._walk.settle()
        self.left += self._walk.left
        return routes, visits, self._walk.claims

    @property
    def ran_as(self) -> str:
        """The search mode that it came to: a follow-up walks from its picks, a single pass may have to be cut."""
        if self._selection is None:
            return TREE
        return CHUNKED if self._selection.cut else self._question.strategy.mode

    @property
    def claims(self) -> list[Claim]:
        """What was found until now."""
        return [] if self._walk is None else self._walk.claims

    def sections(self) -> list[dict[str, Any]] | None:
        """The sections chosen from whole trees, or None where the mode chooses none."""
        if self._selection is None:
            return None
        found: dict[str, dict[str, Any]] = {}
        for source in self.scope.sources:
            for aim in self.planned.aims:
                for start in self._selection.starts(source, aim):
                    found.setdefault(start.node.id, section(source, start.node))
        return list(found.values())
