"""The row that says that nothing settles a question: why it does not, what was searched, and what came nearest."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from tq.ask import tell, words
from tq.ask.pieces import Rough
from tq.ask.records import Claim, Found, Source, Visit
from tq.ask.words import say
from tq.database import asking
from tq.database.connection import Database
from tq.text.stopwords import STOP_WORDS
from tq.text.wording import ASKING

HOW_READS = 24  # reads told of
NEAREST_HITS = 200_000  # entries of the line index looked at for what came nearest
NEAREST_CHARS = 400
WORDS_SHOWN = 12
OUTSIDE = 2 / 3
"""Share of the question's weight that the material does not hold, from which on it is about something else."""
_JUDGEMENT = re.compile(
    r"\b(?:should (?:i|we|one)|would you|do you (?:think|recommend)|what do you|is it (?:wise|better|worth|fair|right)|"
    r"(?:best|better) (?:choice|option|way)|recommend(?:ed|ation)?|your opinion|sollte (?:ich|man)|sollen wir|"
    r"lohnt es sich|würdest du|was meinst du)\b",
    re.IGNORECASE,
)
_STOPS = frozenset().union(*STOP_WORDS.values())
_SAY_NOTHING = _STOPS.union(*ASKING.values())

Kind = Literal["nothing asked", "outside", "judgement", "near", "incomplete", "not here"]


@dataclass(frozen=True, slots=True)
class Nearest:
    """What came nearest: a claim that was not sure enough, or the line that holds most of the question's words."""

    source: Source
    line_start: int
    line_end: int
    text: str
    held: tuple[str, ...]  # words of the question that it has


@dataclass(frozen=True, slots=True)
class Unsettled:
    """specialist: reading on settles nothing, so that a person who knows has to decide."""

    kind: Kind
    why: str
    how: str
    missing: str
    doubt: str
    specialist: bool
    nearest: Nearest | None


def unsettled(database: Database, found: Found) -> Unsettled:
    near = _near_claim(found) or _near_line(database, found)
    absent = _absent(found)
    kind = _kind(found, near, absent)
    gone = words.listed([words.quoted(word, 40) for word in absent[:WORDS_SHOWN]], "or")
    subject = {
        "nothing asked": say(
            "The question names nothing that can be looked up: it has no word that says what it is about."
        ),
        "outside": say(
            "The material holds nothing on the subject: none of its lines has {words}. The answer takes knowledge from "
            "outside of it.",
            words=gone,
        ),
        "judgement": say("The question asks for a judgement, and no line that was read gives one."),
        "near": say("What was read only comes near."),
        "incomplete": say("No line that was read answers, and not everything was read."),
        "not here": say("Everything that bears on the question was read, and no line answers it."),
    }[kind]
    told = [words.spoken(found.widened)] if found.widened else []
    told += [subject, _searched(found)]
    if near is not None and kind != "nothing asked":
        told.append(_nearest(near))
    if absent and kind not in ("outside", "nothing asked"):
        told.append(say("None of the lines searched has {words}.", words=gone))
    if found.left:
        told.append(tell.left_out(found.left))
    return Unsettled(
        kind=kind,
        why=_why(found),
        how=_how(found),
        missing=" ".join(told),
        doubt="outside the corpus" if kind in ("outside", "judgement") else "missing context",
        specialist=kind in ("outside", "judgement", "near", "not here") and not _incomplete(found),
        nearest=near,
    )


def _kind(found: Found, near: Nearest | None, absent: Sequence[str]) -> Kind:
    if not _says_something(found):
        return "nothing asked"
    if _beyond(found) >= OUTSIDE and absent and not _unread(found):
        return "outside"
    if _JUDGEMENT.search(found.question.shown):
        return "judgement"
    if found.near:
        return "near"
    return "incomplete" if _incomplete(found) else "not here"


def _says_something(found: Found) -> bool:
    return any(
        word.casefold() not in _STOPS and any(char.isalnum() for char in word)
        for word in found.scope.surface.values()
    )


def _absent(found: Found) -> list[str]:
    """Words of the question that no line searched has; words without a meaning of their own are left aside, and so are
    those that only ask, such as the "many" of "how many"."""
    surface = found.scope.surface
    shown = [surface.get(term, term) for term in found.scope.absent]
    return [word for word in dict.fromkeys(shown) if word.casefold() not in _SAY_NOTHING]


def _beyond(found: Found) -> float:
    """The share of the question's words, by rarity, that the material does not hold."""
    if not found.scope.terms_found:
        return 1.0
    weights: dict[str, float] = {}
    for source in found.scope.sources:
        for trail in source.trails:
            weights.update(trail.terms)
    total = sum(weights.values())
    return sum(weights.get(term, 0.0) for term in found.scope.absent) / total if total else 0.0


def _unread(found: Found) -> bool:
    """Whether documents of the scope were not looked at at all: what they hold is not known."""
    return any(item.kind in ("documents", "not ready") for item in found.left)


def _incomplete(found: Found) -> bool:
    return any(item.kind not in ("question", "possible queries", "shots", "scope") for item in found.left)


# ---------------------------------------------------------------- what came nearest


def _near_claim(found: Found) -> Nearest | None:
    """The surest of the claims that were not sure enough."""
    best = max(found.near, key=lambda claim: (claim.sure, claim.fit), default=None)
    if best is None:
        return None
    cited = best.citations[0]
    text = words.short(cited.quote, NEAREST_CHARS)
    return Nearest(cited.source, cited.line_start, cited.line_end, text, _held(best))


def _held(claim: Claim) -> tuple[str, ...]:
    cited = claim.citations[0]
    trail = cited.source.trails[claim.aim.where]
    span = range(cited.line_start, cited.line_end + 1)
    held = [term for term, lines in trail.lines.items() if any(_in(lines, line) for line in span)]
    return tuple(trail.surface.get(term, term) for term in sorted(held))


def _near_line(database: Database, found: Found) -> Nearest | None:
    """The line that holds the most of the question's terms by rarity, over all documents searched."""
    best: tuple[float, int, int] | None = None
    for source in found.scope.sources:
        weights, lines = _terms_of(source)
        total = sum(weights.values())
        held: dict[int, float] = {}
        looked = 0
        for term in sorted(lines, key=lambda term: (len(lines[term]), term)):
            looked += len(lines[term])
            if looked > NEAREST_HITS:
                break
            for line in lines[term]:
                held[line] = held.get(line, 0.0) + weights[term]
        if held:
            line = min(held, key=lambda number: (-held[number], number))
            candidate = (-held[line] / total, source.place, line)
            if best is None or candidate < best:
                best = candidate
    if best is None:
        return None
    source, line = found.scope.sources[best[1]], best[2]
    stored = asking.stored(database, [(source.id, line)]).get((source.id, line))
    weights, lines = _terms_of(source)
    held_terms = sorted(term for term, numbers in lines.items() if _in(numbers, line))
    if stored is None:
        return None
    text = Rough({term: weights[term] for term in held_terms}).excerpt(stored.text, NEAREST_CHARS)
    surface = found.scope.surface
    return Nearest(source, line, line, text, tuple(surface.get(term, term) for term in held_terms))


def _terms_of(source: Source) -> tuple[dict[str, float], dict[str, Sequence[int]]]:
    weights: dict[str, float] = {}
    lines: dict[str, Sequence[int]] = {}
    for trail in source.trails:
        weights.update(trail.terms)
        lines.update(trail.lines)
    return weights, lines


def _in(lines: Sequence[int], line: int) -> bool:
    at = bisect_left(lines, line)
    return at < len(lines) and lines[at] == line


def _nearest(near: Nearest) -> str:
    where = f"{tell.source(near.source)}, {words.lines(near.line_start, near.line_end)}"
    text = words.quoted(near.text, 160)
    held = [word for word in dict.fromkeys(near.held) if word.casefold() not in _STOPS][:6]
    if not held:
        return say("Nearest: {place}: {text}.", place=where, text=text)
    has = words.listed([words.quoted(word, 40) for word in held])
    return say("Nearest: {place}, which has {words}: {text}.", place=where, words=has, text=text)


# ---------------------------------------------------------------- why and how


def _searched(found: Found) -> str:
    sources, visits = found.scope.sources, found.visits
    nodes = words.count(len({(visit.route.source.id, visit.node.id) for visit in visits}), "section")
    lines = words.count(sum(visit.lines for visit in visits), "line")
    documents = words.count(len(sources), "document")
    return say(
        "Searched {documents} ({names}): {sections} read, {lines} among them.",
        documents=documents,
        names=words.names([tell.source(source) for source in sources]),
        sections=nodes,
        lines=lines,
    )


def _why(found: Found) -> str:
    sources = found.scope.sources
    silent = sum(visit.choice == "NOT_HERE" for visit in found.visits)
    weak = len(found.near)
    # What was read and went no further; where every route was cut short, neither is.
    told = []
    if silent:
        sections = words.count(silent, "section")
        told.append(
            say("{sections} read says nothing on it", sections=sections)
            if silent == 1
            else say("{sections} read say nothing on it", sections=sections)
        )
    if weak:
        told.append(say("{passages} only came near", passages=words.count(weak, "passage")))
    where = f"{words.count(len(sources), 'document')} ({words.names([tell.source(one) for one in sources])})"
    if not told:
        return say("No passage read in {documents} states an answer.", documents=where)
    what = told[0] if len(told) == 1 else say("{one}, and {two}", one=told[0], two=told[1])
    return say("No passage read in {documents} states an answer: {what}.", documents=where, what=what)


def _how(found: Found) -> str:
    told = [words.spoken(found.widened)] if found.widened else []
    visits = found.visits
    for visit in visits[:HOW_READS]:
        step = (
            tell.first(visit)
            if visit.parent is None
            else say(
                "Opened {node} because {because}", node=tell.node(visit), because=words.spoken(visit.because)
            )
        )
        told.append(f"{step}: {_choice(visit)}{tell.rereads(visit)}.")
    if len(visits) > HOW_READS:
        more = words.count(len(visits) - HOW_READS, "more read")
        told.append(say("Then {reads} of the same kind.", reads=more))
    told += map(words.spoken, found.notes)
    if found.left:
        told.append(tell.left_out(found.left))
    return " ".join([tell.by_method(found.planned.method), *told])


def _choice(visit: Visit) -> str:
    if visit.choice == "DESCEND":
        followed = sum(1 for child in visit.opened if child["followed"])
        return say("went on to {sections}", sections=words.count(followed, "section"))
    if visit.choice == "ANSWER" and visit.node.is_leaf:
        return say("what it says only comes near")
    if visit.choice == "ANSWER":
        return say("went on to the lines of a summary that seemed to answer")
    if visit.choice == "NOT_HERE":
        return say("nothing here")
    return say("given up")
