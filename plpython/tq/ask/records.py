"""What passes between the steps of a question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tq.ask.scent import Scent
from tq.model.limits import Fit, Model
from tq.model.tasks import Parts, Shot, Task
from tq.strategy.settings import Strategy
from tq.text.planning import Method, Part


@dataclass(frozen=True, slots=True)
class SourceRow:
    """A document that the document argument names. detail: of one that is not ready, status and how far it is;
    matched: how many ready documents the argument names, of which some may not be among the rows; source_weight: as the
    strategy weighs it; dated: the day from which it holds, or that it was loaded."""

    id: str
    name: str
    version: int
    ready: bool
    detail: str | None
    matched: int | None
    current: bool
    language: str | None
    line_count: int | None
    source_weight: float
    dated: str = ""


@dataclass(frozen=True, slots=True)
class Node:
    """A node of a tree. path: the titles above it, the root's first."""

    id: str
    is_leaf: bool
    line_start: int
    line_end: int
    depth: int
    title: str
    path: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NodeContent:
    """An inner node's bullets (text, first line, last line) and its children, each with its first bullet."""

    bullets: list[tuple[str, int, int]]
    children: list[tuple[Node, str]]


@dataclass(frozen=True, slots=True)
class StoredLine:
    """A line as it stands in the table."""

    number: int
    text: str
    kind: str = "text"
    level: int | None = None
    page: int | None = None
    locator: Any = None


@dataclass(frozen=True, slots=True)
class Trail:
    """One aim's scent in one document: the terms with their rarity, and where they stand."""

    terms: Mapping[str, float]
    scent: Scent | None  # None where the setting turns it off
    lines: Mapping[str, Sequence[int]]
    surface: Mapping[str, str]  # term → the word of the question it came from


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """A document that is searched. place: its position in the order of search."""

    place: int
    row: SourceRow
    root: Node
    language: str
    possible_queries: tuple[str, ...]
    trails: list[Trail]  # one an aim

    @property
    def id(self) -> str:
        return self.row.id

    @property
    def label(self) -> str:
        """Name, with the version where it is not the current one."""
        return self.row.name if self.row.current else f"{self.row.name} (version {self.row.version})"


@dataclass(frozen=True, slots=True)
class Left:
    """An omission: what was kept away, and why, as a sentence without its full stop."""

    kind: str
    detail: str
    document: str | None = None
    line_start: int | None = None
    line_end: int | None = None


@dataclass(frozen=True, slots=True)
class Question:
    """A question with all that decides how it is searched."""

    asked: str  # the document argument and the question as they came
    doc: str | None
    shown: str  # the question as prompts show it, cut where it would not fit
    strategy: Strategy
    model: Model
    fit: Fit
    scent: bool
    queries_at: frozenset[str] = frozenset(
        ("root", "plan")
    )  # where possible queries are shown: root, nodes, plan
    shots: tuple[Shot, ...] = ()
    queries_room: int = 0  # characters of possible queries that a node's prompt has room for


@dataclass(frozen=True, slots=True)
class Start:
    """A node that a follow-up begins at. because: why, in words."""

    node: Node
    because: str


@dataclass(frozen=True, slots=True)
class Begin:
    """Where a follow-up begins: the documents of the picks, and by document the nodes, none for its root."""

    thread: str
    turn: int
    rows: list[SourceRow]
    starts: Mapping[str, Sequence[Start]]
    left: list[Left]


@dataclass(frozen=True, slots=True)
class Subject:
    """One subject of the question; `where` numbers it from 0. asks: the parts that the question itself asks for."""

    where: int
    parts: Parts
    asks: tuple[Part, ...] = ("what",)


@dataclass(frozen=True, slots=True)
class Aim:
    """What a route is after: one part of one subject. where: its place among all aims; asked: its words."""

    where: int
    subject: Subject
    part: Part
    asked: str
    known: str = ""  # in a chain: what was found before, with its place

    @property
    def told(self) -> str:
        """What it asks for, in words for people."""
        parts = self.subject.parts
        return parts.what if len(self.subject.asks) == 1 else str(getattr(parts, self.part))


@dataclass(frozen=True, slots=True)
class Planned:
    """How a question is searched: its method, its subjects, and the aims that they come to."""

    method: Method
    subjects: tuple[Subject, ...]
    aims: tuple[Aim, ...]

    @staticmethod
    def of(method: Method, subjects: Sequence[Subject]) -> Planned:
        """An aim for each part that is asked for; where several are, each is sought beside the words of the what."""
        aims: list[Aim] = []
        for subject in subjects:
            what = subject.parts.what
            for part in subject.asks:
                own = getattr(subject.parts, part)
                alone = part == "what" or len(subject.asks) == 1
                aims.append(Aim(len(aims), subject, part, what if alone else f"{own} {what}"))
        return Planned(method, tuple(subjects), tuple(aims))


@dataclass(frozen=True, slots=True)
class Attempt:
    """One reply as it came, and why it was thrown away, where it was."""

    reply: Mapping[str, Any]
    rejected: str | None


@dataclass(frozen=True, slots=True)
class Ended:
    """A task with all attempts at it. reply: None where it was given up; over_budget: it was given up because the budget
    admits no further attempt."""

    task: Task[Any]
    reply: Any | None
    attempts: tuple[Attempt, ...]
    over_budget: bool
    input_tokens: int
    output_tokens: int
    elapsed_ms: float

    @property
    def rejected(self) -> tuple[str, ...]:
        """Why replies were thrown away."""
        return tuple(one.rejected for one in self.attempts if one.rejected is not None)


@dataclass(slots=True, eq=False)
class Route:
    """One way down one tree for one aim. ordinal is given at the end, in tree order."""

    source: Source
    aim: Aim
    parent: Route | None
    ended: str = ""
    ordinal: int = 0


@dataclass(slots=True, eq=False)
class Visit:
    """One node (or a piece of one) shown to the model, with all rereads. opened: what a DESCEND named."""

    route: Route
    node: Node
    parent: Visit | None
    because: str  # why it was opened, in words
    budget: int  # how many routes may go on from here
    piece: tuple[int, int] = (1, 1)  # which of how many
    lines: int = 0  # source lines shown
    children: Mapping[str, Node] = field(default_factory=dict)
    from_bullet: bool = False  # opened to see the lines of a bullet
    choice: str | None = None
    reason: str = ""
    opened: list[dict[str, Any]] = field(default_factory=list)
    rejected: list[str] = field(default_factory=list)
    attempts: Sequence[Attempt] = ()
    given_up: bool = False  # after too many rejected replies
    next: list[Visit] = field(default_factory=list)
    input_tokens: int = 0
    output_tokens: int = 0
    elapsed_ms: float = 0.0
    ordinal: int = 0


@dataclass(frozen=True, slots=True)
class Citation:
    """A verbatim quote: line by line a contiguous part of the lines first..last, joined by newlines."""

    source: Source
    line_start: int
    line_end: int
    quote: str
    node_id: str
    kind: str  # line | bullet: what the model cited
    page: int | None = None
    locator: Any = None

    @property
    def place(self) -> tuple[int, int, int]:
        return (self.source.place, self.line_start, self.line_end)


@dataclass(slots=True, eq=False)
class Claim:
    """What one read answered, and after merging all that say the same."""

    aim: Aim
    what: str
    reason: str  # the model's why; "" where it says what the quotes do not
    citations: list[Citation]
    visits: list[Visit]
    fit: float
    sure: float = 1.0  # how much speaks for its being an answer at all; 1 is enough
    answer_id: str = ""  # where it was shown before the question's end
    met: dict[int, float] = field(
        default_factory=dict
    )  # how directly it meets each aim that it was found for
    method: str = ""  # of a composed answer
    steps: str = ""  # of a composed answer: its own how
    parts: list[tuple[Aim, Claim]] = field(
        default_factory=list
    )  # what it is composed of, and what each answers
    ranking: dict[str, float] = field(default_factory=dict)
    contradicts: list[Claim] = field(default_factory=list)

    @property
    def on_lines(self) -> bool:
        return any(citation.kind == "line" for citation in self.citations)

    @property
    def agreement(self) -> int:
        """In how many places it was found: leaves, over all documents."""
        return len({(citation.source.place, citation.node_id) for citation in self.citations})

    @property
    def score(self) -> float:
        return self.ranking.get("score", 0.0)


@dataclass(slots=True, eq=False)
class Cost:
    """Calls of one purpose, for one document or none."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    elapsed_ms: float = 0.0
    cached_tokens: int = 0
    money: float = 0.0


@dataclass(frozen=True, slots=True)
class Scope:
    """sources: searched, strongest scent first. terms_found: whether any of the question's terms occurs there."""

    sources: list[Source]
    left: list[Left]
    terms_found: bool
    absent: tuple[str, ...]  # terms of the question that occur in no searched document
    surface: Mapping[str, str]  # term → the word of the question that it came from


@dataclass(frozen=True, slots=True)
class Found:
    """All that a question came upon. claims: in order of rank, checked, merged and compared; compared: with how many
    others each was, by its identity; visits and routes: in tree order."""

    question: Question
    planned: Planned
    scope: Scope
    routes: list[Route]
    visits: list[Visit]
    claims: list[Claim]
    near: list[Claim]  # that nothing sure stands beside
    compared: Mapping[int, int]
    left: list[Left]
    notes: list[str]  # on how it was searched, as sentences
    widened: str  # why a follow-up left the picked sections, as a sentence
    ran_as: str  # the search mode that it came to
