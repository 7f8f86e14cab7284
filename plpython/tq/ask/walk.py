"""The search: routes go down the trees in parallel, each at its own pace, and come back with claims.

How many routes a document may have is shared out on the way down and never counted across routes, so what is
read does not depend on which call came back first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

from tq.ask import evidence, words
from tq.ask.caller import Caller
from tq.ask.pieces import CHILD_CHARS, NUMBER_CHARS, Rough, fill, inner_groups, line_items, refine
from tq.ask.records import (
    Aim,
    Claim,
    Ended,
    Left,
    Node,
    NodeContent,
    Question,
    Route,
    Source,
    Start,
    Trail,
    Visit,
)
from tq.ask.words import say
from tq.database import asking
from tq.database.connection import Database
from tq.model import prompts
from tq.model.limits import RULES_SHARE
from tq.model.tasks import Child, Read, ReadReply

MAX_PIECES = 8  # of one leaf that are read
FRAME_CHARS = 1_000  # of a read's prompt that are neither rules nor items
LETTERS_CHARS = 150  # of the line that names all letters, and of headings that an empty node lacks

Starts = Callable[[Source, Aim], Sequence[Start]]


def share(budget: int, strengths: Sequence[float]) -> list[int]:
    """Parts of a budget for the routes that go on: at least one each, the rest by strength."""
    count = len(strengths)
    spare = budget - count
    total = sum(strengths)
    if total <= 0:
        strengths, total = [1.0] * count, float(count)
    exact = [spare * strength / total for strength in strengths]
    parts = [int(part) for part in exact]
    order = sorted(range(count), key=lambda place: (parts[place] - exact[place], place))
    for place in order[: spare - sum(parts)]:
        parts[place] += 1
    return [1 + part for part in parts]


class Walk:
    """All routes of one question; they go on while the caller drains."""

    def __init__(
        self,
        database: Database,
        question: Question,
        sources: Sequence[Source],
        caller: Caller,
    ) -> None:
        self._database = database
        self._question = question
        self._sources = sources
        self._caller = caller
        self.roots: list[Visit] = []
        self.claims: list[Claim] = []
        self.left: list[Left] = []
        self._dropped: dict[int, list[Node]] = {}  # by the place of their document
        self._too_deep: dict[int, list[Node]] = {}

    def start(self, aims: Sequence[Aim], starts: Starts) -> None:
        """A route from every node that an aim starts at in a document."""
        for source in self._sources:
            for aim in aims:
                begun = starts(source, aim)
                budgets = share(max(self._question.strategy.routes, len(begun)), [1.0] * len(begun))
                for start, budget in zip(begun, budgets, strict=True):
                    route = Route(source, aim, None)
                    self.roots += self._open(route, None, [(start.node, start.because, budget)])

    def is_open(self, source: Source, aim: Aim) -> bool:
        """Whether the root of a document was read for an aim."""
        return any(
            visit.route.source is source and visit.route.aim == aim and visit.node.id == source.root.id
            for visit in self.roots
        )

    # ------------------------------------------------------------ opening nodes

    def _open(
        self,
        route: Route,
        parent: Visit | None,
        wanted: Sequence[tuple[Node, str, int]],
        from_bullet: bool = False,
    ) -> list[Visit]:
        """Start the reads of nodes (why, budget): the first on the route itself, each other on its own."""
        inner = [node for node, _, _ in wanted if not node.is_leaf]
        contents = asking.nodes(self._database, route.source.id, inner) if inner else {}
        visits: list[Visit] = []
        for place, (node, because, budget) in enumerate(wanted):
            own = route if place == 0 else Route(route.source, route.aim, route)
            seed = Visit(own, node, parent, because, budget, from_bullet=from_bullet)
            if node.is_leaf:
                visits += self._open_leaf(seed)
            elif node.id in contents:
                visits += self._open_inner(seed, contents[node.id])
        if parent is not None:
            parent.next += visits
        return visits

    def _open_leaf(self, seed: Visit) -> list[Visit]:
        source, node = seed.route.source, seed.node
        fit, room = self._question.fit, self._room(seed)
        shown = asking.lines(self._database, source.id, node.line_start, node.line_end)
        piece = min(fit.piece_chars, room)
        # A block is shown in pieces, each with its number: room for these is left.
        groups = fill(line_items(shown, room - NUMBER_CHARS * (2 * room // piece + 1)), room)
        rough = Rough(source.trails[seed.route.aim.where].terms)
        places = rough.best(groups, MAX_PIECES, self._database.pulse)
        if len(places) < len(groups):
            self.left.append(
                Left(
                    "pieces",
                    say(
                        "{pieces} of {of} of {lines} of {label} not read, those with the fewest terms of the question",
                        pieces=words.count(len(groups) - len(places), "piece"),
                        of=len(groups),
                        lines=words.lines(node.line_start, node.line_end),
                        label=source.label,
                    ),
                    source.id,
                    node.line_start,
                    node.line_end,
                )
            )
        visits = []
        shown_parts = [
            (place, items)
            for place in places
            # Cut into pieces it may take more room than as it stood.
            for items in fill(refine(groups[place], piece), room)
        ]
        for place, items in shown_parts:
            visit = replace(
                seed,
                piece=(place + 1, len(groups)),
                lines=len({item.number for item in items}),
                next=[],
                rejected=[],
                opened=[],
            )
            visits.append(visit)
            self._read(visit, replace(self._task(visit), items=items))
        return visits

    def _open_inner(self, seed: Visit, content: NodeContent) -> list[Visit]:
        source, node = seed.route.source, seed.node
        trail = source.trails[seed.route.aim.where]

        def size(child: Node, bullet: str) -> int:
            if self._question.model.computes:
                return len(bullet) + CHILD_CHARS
            lines_hit, terms_hit, _ = _scent(trail, child)
            shown = Child(
                "A",
                child.id,
                child.line_start,
                child.line_end,
                bullet,
                lines_hit=lines_hit,
                terms_hit=terms_hit,
            )
            return len(prompts.child(shown)) + 1

        groups = inner_groups(content, self._question.fit, self._room(seed), size)
        if len(groups[0][0]) < len(content.bullets):
            self.left.append(
                Left(
                    "bullets",
                    say(
                        "{bullets} of {node} of {label} not shown: they do not fit the model's input",
                        bullets=words.count(len(content.bullets) - len(groups[0][0]), "bullet"),
                        node=_named(node),
                        label=source.label,
                    ),
                    source.id,
                    node.line_start,
                    node.line_end,
                )
            )
        budgets = share(max(seed.budget, len(groups)), [1.0] * len(groups))
        visits = []
        for place, (items, lettered) in enumerate(groups):
            children: list[Child] = []
            for letter, child, bullet in lettered:
                lines_hit, terms_hit, together = _scent(trail, child)
                children.append(
                    Child(
                        letter,
                        child.id,
                        child.line_start,
                        child.line_end,
                        bullet,
                        child.title,
                        lines_hit,
                        terms_hit,
                        together,
                    )
                )
            visit = replace(
                seed,
                budget=budgets[place],
                piece=(place + 1, len(groups)),
                children={letter: child for letter, child, _ in lettered},
                next=[],
                rejected=[],
                opened=[],
            )
            visits.append(visit)
            self._read(visit, replace(self._task(visit), items=items, children=children))
        return visits

    def _task(self, visit: Visit) -> Read:
        source, node, question = visit.route.source, visit.node, self._question
        above = [title for title in (*node.path, node.title) if title]
        piece, pieces = visit.piece
        if pieces > 1:
            above.append(f"piece {piece} of {pieces}")
        return Read(
            node_id=node.id,
            line_start=node.line_start,
            line_end=node.line_end,
            depth=node.depth,
            is_leaf=node.is_leaf,
            items=(),
            children=(),
            query=visit.route.aim.subject.parts,
            question=question.shown,
            asked=visit.route.aim.asked,
            known=visit.route.aim.known,
            breadcrumb=words.short(" › ".join([source.row.name, *above]), FRAME_CHARS // 2),
            terms=source.trails[visit.route.aim.where].terms,
            language=source.language,
            may_stop=self._may_stop(visit.route.aim),
            reasoning_rules=question.strategy.reasoning_rules,
            shots=question.shots,
            possible_queries=source.possible_queries if self._shows_queries(node) else (),
            max_quotes=question.fit.quotes,
            max_chars=question.fit.reply_chars,
        )

    def _shows_queries(self, node: Node) -> bool:
        at = self._question.queries_at
        return "nodes" in at or ("root" in at and node.depth == 0)

    def _room(self, visit: Visit) -> int:
        """Characters for a read's items and children, beside the rules, the question and reasons of rejection."""
        model, parts = self._question.model, visit.route.aim.subject.parts
        usable = int(model.input_tokens * (1 - RULES_SHARE) * model.chars_per_token)
        taken = len(self._question.shown) + len(parts.what) + len(parts.why) + len(parts.how) + FRAME_CHARS
        room = max(usable - taken, 1_000)
        if model.computes:  # it reads no prompt
            return room
        frame = len(self._task(visit).prompt()) + prompts.AGAIN_CHARS + LETTERS_CHARS
        return min(room, model.input_chars - frame)

    def _read(self, visit: Visit, task: Read) -> None:
        if not self._caller.submit(task, partial(self._take, visit), visit.route.source.id):
            visit.route.ended = visit.route.ended or "budget"

    # ------------------------------------------------------------ what came back

    def _take(self, visit: Visit, ended: Ended) -> None:
        visit.input_tokens, visit.output_tokens = ended.input_tokens, ended.output_tokens
        visit.elapsed_ms = ended.elapsed_ms
        visit.rejected = list(ended.rejected)
        visit.attempts = ended.attempts
        task, reply = ended.task, ended.reply
        assert isinstance(task, Read)
        if reply is None:
            self._give_up(visit, ended)
            return
        assert isinstance(reply, ReadReply)
        visit.choice = reply.choice
        visit.reason = words.short(words.clean(reply.why), 500)
        if reply.choice == "DESCEND":
            self._descend(visit, task, reply)
        elif reply.choice == "ANSWER":
            self._answer(visit, task, reply)
        else:
            self._end(visit.route, "not here")
            if visit.from_bullet:
                node = visit.node
                left = Left(
                    "bullet",
                    say(
                        "a summary of {label} seemed to answer, but {lines} that it came from do not",
                        label=visit.route.source.label,
                        lines=words.lines(node.line_start, node.line_end),
                    ),
                    visit.route.source.id,
                    node.line_start,
                    node.line_end,
                )
                self.left.append(left)

    @staticmethod
    def _end(route: Route, ended: str) -> None:
        """A route read in pieces ends as its best piece did."""
        if route.ended != "answered":
            route.ended = ended

    def _give_up(self, visit: Visit, ended: Ended) -> None:
        if ended.over_budget:
            visit.route.ended = visit.route.ended or "budget"
            return
        visit.given_up = True
        self._end(visit.route, "rejected")
        node = visit.node
        replies = words.count(len(visit.rejected), "rejected reply", "rejected replies")
        self.left.append(
            Left(
                "rejected",
                say(
                    "{lines} of {label} given up after {replies}: {why}",
                    lines=words.lines(node.line_start, node.line_end),
                    label=visit.route.source.label,
                    replies=replies,
                    why=visit.rejected[-1],
                ),
                visit.route.source.id,
                node.line_start,
                node.line_end,
            )
        )

    def _descend(self, visit: Visit, task: Read, reply: ReadReply) -> None:
        shown = {child.letter: child for child in task.children}
        letters = list(dict.fromkeys(reply.open))
        if self._question.scent:
            letters.sort(key=lambda letter: (-shown[letter].together, -shown[letter].lines_hit, letter))
        within = self._within(visit, [visit.children[letter] for letter in letters])
        portions = self._portions(visit, shown, letters) if within else dict.fromkeys(letters, 0)
        followed = [letter for letter in letters if portions[letter]]
        dropped = [letter for letter in letters if not portions[letter]] if within else []
        for letter in letters:
            child = visit.children[letter]
            visit.opened.append(
                {
                    "letter": letter,
                    "node_id": child.id,
                    "line_start": child.line_start,
                    "line_end": child.line_end,
                    "title": child.title,
                    "followed": letter in followed,
                }
            )
        if dropped:
            lost = [visit.children[letter] for letter in dropped]
            self._dropped.setdefault(visit.route.source.place, []).extend(lost)
        trail = visit.route.source.trails[visit.route.aim.where]

        def because(letter: str) -> str:
            if not trail.scent:
                return say("chosen from its first bullet")
            return words.hits(shown[letter].lines_hit, shown[letter].terms_hit, trail.surface)

        wanted = [(visit.children[letter], because(letter), portions[letter]) for letter in followed]
        self._open(visit.route, visit, wanted)

    def _within(self, visit: Visit, nodes: Sequence[Node]) -> list[Node]:
        """Those that lie no deeper than the strategy goes for the part that is sought: for a how, all."""
        strategy, aim = self._question.strategy, visit.route.aim
        deepest = {"what": strategy.depth, "why": strategy.depth_why, "how": None}[aim.part]
        if deepest is None:
            return list(nodes)
        if beyond := [node for node in nodes if node.depth > deepest]:
            self._too_deep.setdefault(visit.route.source.place, []).extend(beyond)
            if len(beyond) == len(nodes):
                self._end(visit.route, "depth")
        return [node for node in nodes if node.depth <= deepest]

    def _portions(self, visit: Visit, shown: Mapping[str, Child], letters: Sequence[str]) -> dict[str, int]:
        """How many of a node's routes each opened child gets: one for each of the best stretches that lies in it.

        The letters come strongest first; without scent the first get one each, and the rest goes round."""
        scent = visit.route.source.trails[visit.route.aim.where].scent
        spots: list[tuple[float, int, str]] = []
        for place, letter in enumerate(letters):
            child = visit.children[letter]
            found = [shown[letter].together]
            if scent is not None and not child.is_leaf:
                found = scent.spots(child.line_start, child.line_end, visit.budget) or found
            spots += [(-score, place, letter) for score in found]
        spots.sort()
        chosen = [letter for _, _, letter in spots[: visit.budget]]
        portions = {letter: chosen.count(letter) for letter in letters}
        spare = visit.budget - len(chosen)
        inner = [letter for letter in letters if portions[letter] and not visit.children[letter].is_leaf]
        for place in range(spare if inner else 0):
            portions[inner[place % len(inner)]] += 1
        return portions

    def _not_opened(self) -> None:
        """One omission a document for all sections that a DESCEND named and no route was left for, and one for those that
        lie deeper than the strategy goes."""
        strategy = self._question.strategy
        for source, ranges in self._ranges(self._dropped):
            told = say(
                "{sections} of {label} with weaker scent not followed ({places}): the strategy {strategy} shares out "
                "{routes} a document",
                sections=words.count(len(ranges), "section"),
                label=source.label,
                places=words.places(ranges),
                strategy=strategy.name,
                routes=words.count(strategy.routes, "route"),
            )
            self._leave("routes", told, source, ranges)
        for source, ranges in self._ranges(self._too_deep):
            told = say(
                "{sections} of {label} not opened ({places}): the strategy {strategy} goes no deeper",
                sections=words.count(len(ranges), "section"),
                label=source.label,
                places=words.places(ranges),
                strategy=strategy.name,
            )
            self._leave("depth", told, source, ranges)

    def _ranges(self, nodes: Mapping[int, Sequence[Node]]) -> Iterator[tuple[Source, list[tuple[int, int]]]]:
        """Documents that have any of the nodes, with the lines of these."""
        for source in self._sources:
            if ranges := sorted({(node.line_start, node.line_end) for node in nodes.get(source.place, ())}):
                yield source, ranges

    def _leave(self, kind: str, told: str, source: Source, ranges: Sequence[tuple[int, int]]) -> None:
        self.left.append(Left(kind, told, source.id, ranges[0][0], max(last for _, last in ranges)))

    def _not_read(self, visits: Sequence[Visit]) -> None:
        """One omission a document for the nodes that the budget left unread."""
        reason = self._caller.budget.reason
        if not reason:
            return
        unread: dict[str, list[Visit]] = {}
        for visit in visits:
            if visit.choice is None and not visit.given_up:
                unread.setdefault(visit.route.source.id, []).append(visit)
        for left_unread in unread.values():
            source = left_unread[0].route.source
            ranges = sorted({(visit.node.line_start, visit.node.line_end) for visit in left_unread})
            told = say(
                "{sections} of {label} not searched ({places}): {why}",
                sections=words.count(len(ranges), "section"),
                label=source.label,
                places=words.places(ranges),
                why=reason,
            )
            self._leave("budget", told, source, ranges)

    def _answer(self, visit: Visit, task: Read, reply: ReadReply) -> None:
        if visit.node.is_leaf:
            self._end(visit.route, "answered")
            self.claims += [evidence.from_lines(visit, answer) for answer in reply.answers]
            return
        cited = evidence.cited_ranges(task, reply)
        because = say(
            "a bullet of the summary came from its lines: {bullet}", bullet=words.quoted(cited[0][0], 120)
        )
        if self._may_stop(visit.route.aim):
            stored = asking.stored(self._database, evidence.wanted_lines(visit, cited))
            claim = evidence.from_bullets(visit, reply, cited, stored, self._question.fit)
            if evidence.is_borne_out(claim):
                self._end(visit.route, "answered")
                self.claims.append(claim)
                return
            because = say(
                "the summary says more than the first of its lines do: {bullet}",
                bullet=words.quoted(cited[0][0], 120),
            )
        ranges = [(first, last) for _, first, last in cited]
        leaves = self._within(
            visit, asking.leaves_below(self._database, visit.route.source.id, visit.node, ranges)
        )
        followed, dropped = leaves[: visit.budget], leaves[visit.budget :]
        for leaf in leaves:
            visit.opened.append(
                {
                    "letter": None,
                    "node_id": leaf.id,
                    "line_start": leaf.line_start,
                    "line_end": leaf.line_end,
                    "title": leaf.title,
                    "followed": leaf in followed,
                }
            )
        if dropped:
            self._dropped.setdefault(visit.route.source.place, []).extend(dropped)
        budgets = share(max(visit.budget, len(followed)), [1.0] * len(followed)) if followed else []
        wanted = [(leaf, because, budget) for leaf, budget in zip(followed, budgets, strict=True)]
        if not wanted:
            visit.route.ended = visit.route.ended or "no lines"
            return
        self._open(visit.route, visit, wanted, from_bullet=True)

    def _may_stop(self, aim: Aim) -> bool:
        """Whether a summary is enough for the part that is sought: for a how it never is."""
        strategy = self._question.strategy
        return {"what": strategy.evidence, "why": strategy.evidence_why, "how": "line"}[aim.part] == "summary"

    # ------------------------------------------------------------ the end

    def settle(self) -> tuple[list[Route], list[Visit]]:
        """Routes and visits in tree order, numbered from 1; claims and omissions in the same order."""
        routes: list[Route] = []
        visits: list[Visit] = []
        stack = list(reversed(self.roots))
        while stack:
            visit = stack.pop()
            visits.append(visit)
            visit.ordinal = len(visits)
            if visit.route.ordinal == 0:
                routes.append(visit.route)
                visit.route.ordinal = len(routes)
            stack.extend(reversed(visit.next))
        self._not_opened()
        self._not_read(visits)
        self.claims.sort(key=lambda claim: claim.visits[0].ordinal)
        place = {source.id: source.place for source in self._sources}
        self.left.sort(
            key=lambda left: (
                place.get(left.document or "", -1),
                left.kind,
                left.line_start or 0,
                left.line_end or 0,
                left.detail,
            )
        )
        return routes, visits


def _named(node: Node) -> str:
    where = words.lines(node.line_start, node.line_end)
    return say("{title} ({lines})", title=words.quoted(node.title, 80), lines=where) if node.title else where


def _scent(trail: Trail, node: Node) -> tuple[int, Mapping[str, int], float]:
    return trail.scent.child(node.line_start, node.line_end) if trail.scent else (0, {}, 0.0)
