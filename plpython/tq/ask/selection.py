"""The search modes beside the walk: sections are chosen from the view of a whole tree, in one call (single-pass) or in
slices (chunked-tree). What a reply names that is not in its slice is thrown away, so no section can be made up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import takewhile

from tq.ask import words
from tq.ask.caller import Caller
from tq.ask.records import Aim, Ended, Left, Node, Question, Source, Start
from tq.ask.words import say
from tq.database import asking
from tq.database.connection import Database
from tq.model import prompts
from tq.model.tasks import Section, Select

SINGLE = "single-pass"
MAX_SECTIONS = 24  # that one call may choose
BULLET_CHARS = 240  # of a section's first fact
PATH_CHARS = 240  # of a slice's breadcrumb
NAMES = 5  # documents named in one sentence
PULSE_EVERY = 500  # sections

Tree = Sequence[tuple[Node, str]]


@dataclass(frozen=True, slots=True)
class Slice:
    """Consecutive sections of one document. run: which cut of the tree it belongs to, where slices vote."""

    run: int
    place: int  # from 1
    of: int
    sections: tuple[Section, ...]
    breadcrumb: str


@dataclass(slots=True, eq=False)
class Choice:
    """A section that was chosen: by how many slices, at best at which place of a reply, and in which slice first."""

    part: Slice
    rank: int
    times: int = 1


@dataclass(slots=True, eq=False)
class View:
    """A document's tree for one aim, and what was chosen of it, by number."""

    source: Source
    aim: Aim
    nodes: list[Node]
    sections: list[Section]
    slices: list[Slice]
    chosen: dict[int, Choice] = field(default_factory=dict)
    beyond: int = 0  # numbers named that were not in their slice


@dataclass(frozen=True, slots=True)
class Policy:
    """How the choices of all slices become one: union, "top 8", "vote 2 of 3"."""

    kind: str
    count: int = 1
    runs: int = 1  # cuts of the tree

    @staticmethod
    def of(merge: str) -> Policy:
        kind, *numbers = merge.replace(" of ", " ").split()
        return Policy(kind, *map(int, numbers))

    def merged(self, view: View) -> list[int]:
        """The numbers chosen: in the order of the tree, or the best first where only the top is wanted."""
        if self.kind == "top":

            def best(number: int) -> tuple[int, float, int]:
                return view.chosen[number].rank, -view.sections[number - 1].together, number

            return sorted(view.chosen, key=best)[: self.count]
        # A view that fits one call is read once, and has one vote.
        needed = min(self.count, max((part.run + 1 for part in view.slices), default=1))
        return sorted(number for number, choice in view.chosen.items() if choice.times >= needed)


class Selection:
    """Sections chosen for every aim in every document; `starts` has them once the caller has drained."""

    def __init__(self, database: Database, question: Question, caller: Caller) -> None:
        self._database = database
        self._question = question
        self._caller = caller
        self._policy = Policy.of(question.strategy.merge)
        self.views: dict[tuple[str, int], View] = {}
        self.left: list[Left] = []
        self.cut: list[Source] = []  # whose view did not fit one call though one was wanted

    def start(self, sources: Sequence[Source], aims: Sequence[Aim]) -> None:
        """Submit all slices of all trees; they are read in parallel."""
        for source in sources:
            tree = asking.tree(self._database, source.id)
            for aim in aims:
                sections = self._sections(tree, source, aim)
                slices = self._slices(source, aim, tree, sections)
                view = View(source, aim, [node for node, _ in tree], sections, slices)
                self.views[source.id, aim.where] = view
                for part in slices:
                    task = replace(self._task(source, aim, part.breadcrumb), sections=part.sections)
                    if not self._caller.submit(task, partial(self._take, view, part), source.id):
                        self._missed(view, part, self._caller.budget.reason)

    def starts(self, source: Source, aim: Aim) -> list[Start]:
        """What was chosen, merged. Where a section and one inside it were, the one inside is read."""
        view = self.views.get((source.id, aim.where))
        if view is None:
            return []
        numbers = self._policy.merged(view)
        nodes = [view.nodes[number - 1] for number in numbers]
        return [
            Start(node, _because(view.chosen[number].part))
            for number, node in zip(numbers, nodes, strict=True)
            if not any(_holds(node, other) for other in nodes)
        ]

    def notes(self) -> list[str]:
        """How the trees were seen, as sentences."""
        views = list(self.views.values())
        calls = sum(len(view.slices) for view in views)
        told: list[str] = [
            say(
                "Sections were chosen from the view of {trees} in {calls}.",
                trees=words.count(len({view.source for view in views}), "whole tree"),
                calls=words.count(calls, "call"),
            )
        ]
        if self.cut:
            names = words.names([source.label for source in self.cut], NAMES)
            told.append(
                say(
                    "A single pass was wanted, but the view of {names} does not fit one call: it was read in slices.",
                    names=names,
                )
            )
        if beyond := sum(view.beyond for view in views):
            numbers = words.count(beyond, "number")
            told.append(
                say("{numbers} that stood on no list was thrown away.", numbers=numbers)
                if beyond == 1
                else say("{numbers} that stood on no list were thrown away.", numbers=numbers)
            )
        return told

    # ------------------------------------------------------------ the view and its slices

    def _sections(self, tree: Tree, source: Source, aim: Aim) -> list[Section]:
        scent = source.trails[aim.where].scent
        chars = min(BULLET_CHARS, self._question.fit.bullet_chars)
        found = []
        for number, (node, bullet) in enumerate(tree, 1):
            if number % PULSE_EVERY == 0:
                self._database.pulse()
            hit, hits, together = scent.child(node.line_start, node.line_end) if scent else (0, {}, 0.0)
            found.append(
                Section(
                    number,
                    node.depth,
                    node.is_leaf,
                    node.line_start,
                    node.line_end,
                    node.title,
                    words.short(bullet, chars),
                    hit,
                    hits,
                    together,
                )
            )
        return found

    def _slices(self, source: Source, aim: Aim, tree: Tree, sections: Sequence[Section]) -> list[Slice]:
        # Whoever chooses the root chooses nothing; a document of one section has no other.
        skipped = 1 if len(tree) > 1 else 0
        frame = self._task(source, aim, "x" * PATH_CHARS).prompt()
        room = self._question.model.input_chars - len(frame) - prompts.AGAIN_CHARS
        sizes = [len(prompts.section(section)) + 1 for section in sections[skipped:]]
        if self._question.strategy.mode == SINGLE:
            if sum(sizes) <= room:
                return [Slice(0, 1, 1, tuple(sections[skipped:]), source.row.name)]
            if source not in self.cut:
                self.cut.append(source)
        found: list[Slice] = []
        for run in range(self._policy.runs):
            # Each run cuts elsewhere, so that a section is seen among other neighbours.
            groups = _cut(sizes, room * (run + 1) // self._policy.runs, room)
            for place, (first, last) in enumerate(groups, 1):
                part = slice(first + skipped, last + skipped)
                crumb = _breadcrumb(source, [node for node, _ in tree[part]], place, len(groups))
                found.append(Slice(run, place, len(groups), tuple(sections[part]), crumb))
        return found

    def _task(self, source: Source, aim: Aim, breadcrumb: str) -> Select:
        return Select(
            sections=(),
            query=aim.subject.parts,
            question=self._question.shown,
            asked=aim.asked,
            breadcrumb=breadcrumb,
            terms=source.trails[aim.where].terms,
            language=source.language,
            max_sections=MAX_SECTIONS,
        )

    # ------------------------------------------------------------ what came back

    def _take(self, view: View, part: Slice, ended: Ended) -> None:
        if ended.reply is None:
            self._missed(view, part, self._caller.budget.reason if ended.over_budget else ended.rejected[-1])
            return
        known = {section.number for section in part.sections}
        named = list(dict.fromkeys(ended.reply.sections))
        picked = [number for number in named if number in known]
        view.beyond += len(named) - len(picked)
        for rank, number in enumerate(picked[:MAX_SECTIONS]):
            choice = view.chosen.get(number)
            if choice is None:
                view.chosen[number] = Choice(part, rank)
            else:
                choice.times += 1
                choice.rank = min(choice.rank, rank)

    def _missed(self, view: View, part: Slice, why: str) -> None:
        first, last = part.sections[0].line_start, part.sections[-1].line_end
        told = say(
            "slice {n} of {of} of {label} not searched: {why}",
            n=part.place,
            of=part.of,
            label=view.source.label,
            why=why,
        )
        self.left.append(Left("slice", told, view.source.id, first, last))


def _because(part: Slice) -> str:
    if part.of == 1:
        return say("it was chosen from the view of the whole tree")
    return say("it was chosen from the view of the whole tree, slice {n} of {of}", n=part.place, of=part.of)


def _holds(node: Node, other: Node) -> bool:
    return (
        node.depth < other.depth and node.line_start <= other.line_start and other.line_end <= node.line_end
    )


def _cut(sizes: Sequence[int], first: int, room: int) -> list[tuple[int, int]]:
    """Consecutive stretches of at most `room` characters, the first of at most `first`; one section at least."""
    found: list[tuple[int, int]] = []
    start = used = 0
    limit = first
    for place, size in enumerate(sizes):
        if place > start and used + size > limit:
            found.append((start, place))
            start, used, limit = place, 0, room
        used += size
    if sizes:
        found.append((start, len(sizes)))
    return found


def _breadcrumb(source: Source, nodes: Sequence[Node], place: int, of: int) -> str:
    """Where a slice is: "handbook.pdf › Part II › slice 3 of 12"."""
    levels = zip(*(node.path for node in nodes), strict=False)
    shared = [titles[0] for titles in takewhile(lambda titles: len(set(titles)) == 1, levels)]
    above = words.short(" › ".join([source.row.name, *(title for title in shared if title)]), PATH_CHARS - 32)
    return above if of == 1 else f"{above} › slice {place} of {of}"
