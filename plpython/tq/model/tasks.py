"""The typed tasks a model is given, and what it may reply.

A task knows its prompt, the JSON schema of its reply and the closed lists that the reply is held against. A driver turns
a task into a plain dict; `accept` turns the dict into a typed reply or raises Rejected with the reason, which is shown
to the model when the task is run again. Every list has a way out: NOT_HERE, unclear, no boundary.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, Literal, TypeVar

import msgspec

from tq.model import prompts
from tq.text.facts import missing_facts
from tq.text.figures import Operation, work_out
from tq.text.planning import MAX_SUBJECTS, Method, Part, added
from tq.text.quantities import Quantity, quantities

Choice = Literal["ANSWER", "DESCEND", "NOT_HERE"]
FIGURE_LETTERS = "abcdefgh"  # figures of one quote that may be chosen
COMPUTED = frozenset({"fit", "sure", "also"})  # fields of replies that a model is not asked for
Relation = Literal["same", "compatible", "contradicts", "unclear"]


class Rejected(Exception):
    """A reply that is off the list, with the reason as the model should read it."""


@dataclass(frozen=True, slots=True)
class Line:
    """A numbered line of a document. kind: text, heading, table, code or furniture; level: of a heading, 1 to 6."""

    number: int
    text: str
    kind: str = "text"
    level: int | None = None


@dataclass(frozen=True, slots=True)
class Item:
    """What a node shows under one number: a source line (number is its line number), a piece of a long line (several
    items share the number), or a bullet (numbered from 1, with the lines it came from)."""

    number: int
    text: str
    line_start: int
    line_end: int
    kind: str = "text"
    level: int | None = None


@dataclass(frozen=True, slots=True)
class Shot:
    """A worked example, a row of tq.shot: a node as the model sees it, the choice it should get, and why."""

    node: str
    choice: str
    open: tuple[str, ...]
    reason: str


@dataclass(frozen=True, slots=True)
class Child:
    """A child on the list, by letter. Scent: how many of its lines hold any of the question's terms, how many hold each,
    and the best share of the question's weighted terms found together in one place (0 to 1)."""

    letter: str
    node_id: str
    line_start: int
    line_end: int
    first_bullet: str
    title: str = ""
    lines_hit: int = 0
    terms_hit: Mapping[str, int] = field(default_factory=dict)
    together: float = 0.0


@dataclass(frozen=True, slots=True)
class Parts:
    """One subject of a question, split into its parts, each with its own wording."""

    what: str
    why: str
    how: str


# ---------------------------------------------------------------- replies, as the model writes them


class BoundaryReply(msgspec.Struct, frozen=True):
    line: int
    title: str | None = None
    level: int | None = None


class MarkReply(msgspec.Struct, frozen=True):
    boundaries: list[BoundaryReply]


class BulletReply(msgspec.Struct, frozen=True):
    """One fact, with the first and last number of the items it came from."""

    text: str
    first: int
    last: int


class SummariseReply(msgspec.Struct, frozen=True):
    bullets: list[BulletReply]
    title: str | None = None


class SubjectReply(msgspec.Struct, frozen=True):
    """asks: the parts that the question itself asks for."""

    what: str
    why: str
    how: str
    asks: list[Part]


class PlanReply(msgspec.Struct, frozen=True):
    """Of a chain, each subject follows from the one before."""

    method: Method
    subjects: list[SubjectReply]


class QuoteReply(msgspec.Struct, frozen=True):
    line: int
    quote: str


class AlsoReply(msgspec.Struct, frozen=True):
    """Another place of the same node that answers by itself, with its own what, why and how."""

    what: str
    why: str
    how: list[QuoteReply]
    fit: float | None = None
    sure: float | None = None


class ReadReply(msgspec.Struct, frozen=True):
    """The seed's reply, and what only a driver that computes it sets: `fit`, 0 to 1, is how directly the answer meets
    the question; `sure`, from 0, how much speaks for its being an answer at all, where 1 is enough (weaker answers are
    kept only beside one that is sure); `also`, further places, best first."""

    choice: Choice
    open: list[str] = []
    what: str = ""
    why: str = ""
    how: list[QuoteReply] = []
    fit: float | None = None
    sure: float | None = None
    also: list[AlsoReply] = []

    @property
    def answers(self) -> list[AlsoReply]:
        """All answers of the node, the best first."""
        return [AlsoReply(self.what, self.why, self.how, self.fit, self.sure), *self.also]


class CompareReply(msgspec.Struct, frozen=True):
    relation: Relation


class SelectReply(msgspec.Struct, frozen=True):
    """Sections by number, the best first; none is a reply as well."""

    sections: list[int]


class WriteReply(msgspec.Struct, frozen=True):
    """An answer of several pieces of evidence; where they make none, everything is empty."""

    what: str
    why: str
    how: str
    uses: list[int]
    operation: Operation = "none"
    figures: list[str] = []


@dataclass(frozen=True, slots=True)
class Section:
    """A node of the tree on a list, by its number among all nodes of its document. Scent as in Child."""

    number: int
    depth: int
    is_leaf: bool
    line_start: int
    line_end: int
    title: str
    first_bullet: str
    lines_hit: int = 0
    terms_hit: Mapping[str, int] = field(default_factory=dict)
    together: float = 0.0


@dataclass(frozen=True, slots=True)
class Evidence:
    """A checked quote on a list. place: its document and lines, in words; answers: the part of the question that it was
    found for; says: what it says to that, in the words of the claim."""

    number: int
    place: str
    answers: str
    says: str
    quote: str

    @property
    def figures(self) -> dict[str, Quantity]:
        """The numbers of the quote, each by its letter: "1a"."""
        found = [one for one in quantities(self.quote) if one.kind == "number" and one.high is None]
        return {f"{self.number}{letter}": one for letter, one in zip(FIGURE_LETTERS, found, strict=False)}


UNFOUNDED = "the why says what the quotes do not"


def unfounded(why: str, quotes: str, frame: Iterable[str], numbers: Iterable[int]) -> list[str]:
    """Facts of a why that stand neither in its quotes nor in their frame: the question, and the names of where they
    stand. numbers: of the lines or bullets, which it may name."""
    return missing_facts(why, "\n".join((quotes, *frame, "Line Lines Bullet Bullets", *map(str, numbers))))


R = TypeVar("R", bound=msgspec.Struct)


@dataclass(frozen=True, slots=True)
class Prompt:
    system: str  # the fixed prefix: rules, possible queries, shots
    user: str

    def __len__(self) -> int:
        return len(self.system) + len(self.user)


@dataclass(frozen=True)
class Task(Generic[R]):
    """One model call. `rejected` holds the reasons for which earlier replies to it were thrown away."""

    purpose: ClassVar[str]
    reply_type: ClassVar[type[msgspec.Struct]]

    def prompt(self) -> Prompt:
        """What the model is shown; written once."""
        known: Prompt | None = self.__dict__.get("_prompt")
        if known is None:
            known = self.__dict__["_prompt"] = self.written()
        return known

    def written(self) -> Prompt:
        raise NotImplementedError

    def check(self, reply: R) -> None:
        """Hold the reply against the closed lists; raise Rejected."""
        raise NotImplementedError

    def accept(self, data: Mapping[str, Any]) -> R:
        """The typed reply, or Rejected."""
        try:
            reply: R = msgspec.convert(data, self.reply_type)  # type: ignore[assignment]
        except msgspec.ValidationError as error:
            raise Rejected(f"the reply does not have the required form: {error}") from None
        self.check(reply)
        return reply

    @classmethod
    def schema(cls) -> dict[str, Any]:
        return msgspec.json.schema(cls.reply_type)


@dataclass(frozen=True)
class Mark(Task[MarkReply]):
    """First run: mark the lines of the current window at which a new context starts."""

    previous: Sequence[Line]
    current: Sequence[Line]
    following: Sequence[Line]
    language: str = "none"
    rejected: Sequence[str] = ()
    max_boundaries: int = 100_000

    purpose = "mark"
    reply_type = MarkReply

    def written(self) -> Prompt:
        return Prompt(*prompts.mark(self))

    def check(self, reply: MarkReply) -> None:
        known = {line.number for line in self.current}
        if len(reply.boundaries) > self.max_boundaries:
            raise Rejected(f"{len(reply.boundaries)} boundaries where at most {self.max_boundaries} fit")
        for boundary in reply.boundaries:
            if boundary.line not in known:
                raise Rejected(f"line {boundary.line} is not in the current window")
            if boundary.level is not None and not 1 <= boundary.level <= 6:
                raise Rejected(f"a heading's level is 1 to 6, not {boundary.level}")


@dataclass(frozen=True)
class Summarise(Task[SummariseReply]):
    """Second run: one node's items (lines of a leaf, bullets of the children of a parent) into bullets, one fact each."""

    items: Sequence[Item]
    max_bullets: int
    max_chars: int  # of one bullet
    title: str = ""
    language: str = "none"
    rejected: Sequence[str] = ()

    purpose = "summarise"
    reply_type = SummariseReply

    def written(self) -> Prompt:
        return Prompt(*prompts.summarise(self))

    def check(self, reply: SummariseReply) -> None:
        known = {item.number for item in self.items}
        if len(reply.bullets) > self.max_bullets:
            raise Rejected(f"{len(reply.bullets)} bullets where at most {self.max_bullets} fit")
        for bullet in reply.bullets:
            if not bullet.text.strip():
                raise Rejected("a bullet is empty")
            if len(bullet.text) > self.max_chars:
                raise Rejected(
                    f"a bullet of {len(bullet.text)} characters where at most {self.max_chars} fit"
                )
            if bullet.first not in known or bullet.last not in known or bullet.first > bullet.last:
                raise Rejected(
                    f"a bullet names items {bullet.first} to {bullet.last}, which are not on the list"
                )


@dataclass(frozen=True)
class Plan(Task[PlanReply]):
    """Split a question into its subjects, and each into what, why and how."""

    question: str
    possible_queries: Sequence[str] = ()
    language: str = "none"
    rejected: Sequence[str] = ()
    max_chars: int = 100_000  # of each part

    purpose = "plan"
    reply_type = PlanReply

    def written(self) -> Prompt:
        return Prompt(*prompts.plan(self))

    def check(self, reply: PlanReply) -> None:
        if not 1 <= len(reply.subjects) <= MAX_SUBJECTS:
            raise Rejected(f"{len(reply.subjects)} subjects where 1 to {MAX_SUBJECTS} are allowed")
        if reply.method in ("comparison", "chain") and len(reply.subjects) < 2:
            raise Rejected(f"a {reply.method} has at least two subjects")
        for subject in reply.subjects:
            parts = [subject.what.strip(), subject.why.strip(), subject.how.strip()]
            if not all(parts):
                raise Rejected("a subject lacks its what, why or how")
            if len({part.casefold() for part in parts}) < len(parts):
                raise Rejected("what, why and how need a wording each")
            if not subject.asks or len(set(subject.asks)) < len(subject.asks):
                raise Rejected("asks names what, why or how, each at most once")
            if max(map(len, parts)) > self.max_chars:
                raise Rejected(f"a part is longer than {self.max_chars} characters")
            for part in parts:
                if foreign := added(part, self.question, self.language):
                    raise Rejected("the plan adds what was not asked: " + ", ".join(foreign[:6]))


@dataclass(frozen=True)
class Read(Task[ReadReply]):
    """Read one node of the tree and make one choice."""

    node_id: str
    line_start: int
    line_end: int
    depth: int
    is_leaf: bool
    items: Sequence[Item]
    children: Sequence[Child]
    query: Parts
    question: str = ""  # as it was asked
    asked: str = ""  # the part of it that is sought here
    known: str = ""  # in a chain: what was found before
    breadcrumb: str = ""  # titles from the root down, "A › B"
    terms: Mapping[str, float] = field(
        default_factory=dict
    )  # the question's terms and how rare each is (idf)
    language: str = "none"
    reasoning_rules: str = ""
    possible_queries: Sequence[str] = ()
    shots: Sequence[Shot] = ()
    # Whether bullets are evidence enough; for a driver that computes, no prompt tells it.
    may_stop: bool = False
    rejected: Sequence[str] = ()
    max_quotes: int = 40
    max_chars: int = 100_000  # of the what, the why, and each quote

    purpose = "read"
    reply_type = ReadReply

    def written(self) -> Prompt:
        return Prompt(*prompts.read(self))

    def check(self, reply: ReadReply) -> None:
        if reply.choice == "DESCEND":
            self._check_open(reply)
        elif reply.choice == "ANSWER":
            for answer in reply.answers:
                self._check_answer(answer)

    def _check_open(self, reply: ReadReply) -> None:
        letters = {child.letter for child in self.children}
        if not reply.open:
            raise Rejected("DESCEND opens no child")
        if unknown := [letter for letter in reply.open if letter not in letters]:
            raise Rejected("no child has the letter " + ", ".join(unknown))

    def _check_answer(self, reply: AlsoReply) -> None:
        if not reply.what.strip() or not reply.why.strip() or not reply.how:
            raise Rejected("an ANSWER needs its what, its why and at least one quote as its how")
        shown: dict[int, list[str]] = {}
        for item in self.items:
            shown.setdefault(item.number, []).append(item.text)
        for evidence in reply.how:
            if evidence.line not in shown:
                raise Rejected(f"number {evidence.line} is not on the list")
            if not evidence.quote.strip() or not any(evidence.quote in text for text in shown[evidence.line]):
                raise Rejected(
                    f"the quote of number {evidence.line} is not a part of it, character for character"
                )
        quotes = "\n".join(evidence.quote for evidence in reply.how)
        if absent := missing_facts(reply.what, quotes):
            raise Rejected("the what says what the quotes do not: " + ", ".join(absent))
        # Said once: an answer that stands on its quotes is not lost for its why, which is left out then. The why of one
        # that is computed (it says how sure it is) tells of lines and terms.
        if reply.sure is None and not any(reason.startswith(UNFOUNDED) for reason in self.rejected):
            frame = (self.question, self.asked, self.query.what, self.known, self.breadcrumb)
            numbers = (evidence.line for evidence in reply.how)
            if absent := unfounded(reply.why, quotes, frame, numbers):
                raise Rejected(f"{UNFOUNDED}: " + ", ".join(absent))


@dataclass(frozen=True)
class Compare(Task[CompareReply]):
    """Two claims with their quotes: do they agree?"""

    question: str
    first: str
    second: str
    first_quote: str = ""
    second_quote: str = ""
    language: str = "none"
    rejected: Sequence[str] = ()

    purpose = "compare"
    reply_type = CompareReply

    def written(self) -> Prompt:
        return Prompt(*prompts.compare(self))

    def check(self, reply: CompareReply) -> None:
        """The relation is a closed list already."""


@dataclass(frozen=True)
class Select(Task[SelectReply]):
    """Choose sections from the view of a document's tree, or from a slice of it."""

    sections: Sequence[Section]
    query: Parts
    question: str = ""  # as it was asked
    asked: str = ""  # the part of it that is sought
    breadcrumb: str = ""
    terms: Mapping[str, float] = field(default_factory=dict)
    language: str = "none"
    rejected: Sequence[str] = ()
    max_sections: int = 100

    purpose = "select"
    reply_type = SelectReply

    def prompt(self) -> Prompt:
        return Prompt(*prompts.select(self))

    def check(self, reply: SelectReply) -> None:
        """Numbers that are not on the list are filtered by whoever asked, and counted."""


@dataclass(frozen=True)
class Write(Task[WriteReply]):
    """Compose one answer of several pieces of checked evidence."""

    question: str
    method: Method
    evidence: Sequence[Evidence]
    language: str = "none"
    rejected: Sequence[str] = ()
    max_chars: int = 100_000  # of each text

    purpose = "write"
    reply_type = WriteReply

    def prompt(self) -> Prompt:
        return Prompt(*prompts.write(self))

    def check(self, reply: WriteReply) -> None:
        if not reply.uses:
            return
        known = {one.number: one for one in self.evidence}
        if unknown := [number for number in reply.uses if number not in known]:
            raise Rejected(f"there is no evidence {', '.join(map(str, unknown))}")
        used = [known[number] for number in dict.fromkeys(reply.uses)]
        if len(used) < 2:
            raise Rejected("an answer of one piece of evidence is not composed")
        texts = (reply.what, reply.why, reply.how)
        if not all(text.strip() for text in texts):
            raise Rejected("an answer needs its what, its why and its how")
        if max(map(len, texts)) > self.max_chars:
            raise Rejected(f"a text is longer than {self.max_chars} characters")
        quotes = "\n".join(one.quote for one in used)
        # Names of places and words of the question are no facts that an answer brings in.
        frame = "\n".join([self.question, *(f"{one.place}\n{one.answers}" for one in used)])
        for text in texts:
            if absent := missing_facts(text, f"{quotes}\n{frame}"):
                raise Rejected("it says what the quotes that it uses do not: " + ", ".join(absent))
        if reply.operation != "none":
            figures = {letter: one for piece in used for letter, one in piece.figures.items()}
            if unknown_figures := [letter for letter in reply.figures if letter not in figures]:
                raise Rejected("there is no figure " + ", ".join(unknown_figures))
            if work_out(reply.operation, [figures[letter] for letter in reply.figures]) is None:
                raise Rejected("these figures have no " + reply.operation + ": other units, or too few")
