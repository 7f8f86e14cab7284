"""Claims beside each other: the same found twice, pairs to compare, and the order of rank."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tq.ask.records import Claim
from tq.strategy.settings import Strategy
from tq.text.facts import negations
from tq.text.quantities import Quantity, comparable, quantities, same_quantity
from tq.text.tokens import terms

MAX_PAIRS = 16  # compared a question: as many as run at once with a usual model
MAX_CLAIMS = 100  # looked at in pairs
SAME_TERMS = 0.6  # of the terms of two claims with the same quantities, to be one claim

Pair = tuple[int, int]


@dataclass(frozen=True, slots=True)
class _Gist:
    text: str
    terms: frozenset[str]  # without those of the quantities
    quantities: tuple[Quantity, ...]
    denials: int


def _gist(claim: Claim) -> _Gist:
    folded = unicodedata.normalize("NFKC", claim.what).casefold()
    plain = "".join(char if char.isalnum() else " " for char in folded).split()
    found = tuple(quantities(claim.what))
    # "24 hours" and "1 day" are the same quantity in other words: what else is said is compared without them.
    rest = claim.what
    for quantity in reversed(found):
        rest = rest[: quantity.start] + " " + rest[quantity.end :]
    return _Gist(
        " ".join(plain),
        frozenset(terms(rest, claim.citations[0].source.language)),
        found,
        len(negations(claim.what)) % 2,
    )


def _same(first: _Gist, second: _Gist) -> bool:
    if first.text == second.text:
        return True
    if (
        not first.quantities
        or len(first.quantities) != len(second.quantities)
        or first.denials != second.denials
    ):
        return False
    rest = list(second.quantities)
    for quantity in first.quantities:
        match = next((other for other in rest if same_quantity(quantity, other)), None)
        if match is None:
            return False
        rest.remove(match)
    union = first.terms | second.terms
    return len(first.terms & second.terms) >= SAME_TERMS * len(union)


def _differ(first: _Gist, second: _Gist) -> bool:
    """Quantities of one kind that are not the same, or only one of two denies: worth comparing first."""
    if first.denials != second.denials:
        return True
    return any(
        comparable(a, b) and not any(same_quantity(a, other) for other in second.quantities)
        for a in first.quantities
        for b in second.quantities
    )


def absorb(head: Claim, other: Claim) -> None:
    """Make two claims one, with the citations of both."""
    known = {(citation.place, citation.quote) for citation in head.citations}
    head.citations += [c for c in other.citations if (c.place, c.quote) not in known]
    head.visits += [visit for visit in other.visits if visit not in head.visits]
    head.fit = max(head.fit, other.fit)
    head.sure = max(head.sure, other.sure)
    head.answer_id = head.answer_id or other.answer_id


def merge(claims: Sequence[Claim]) -> list[Claim]:
    """One claim for each that was found more than once: the same words, or quantities of the same thing."""
    heads: list[tuple[Claim, _Gist]] = []
    for claim in claims:
        gist = _gist(claim)
        for head, known in heads:
            if head.aim == claim.aim and _same(known, gist):
                absorb(head, claim)
                break
        else:
            heads.append((claim, gist))
    return [head for head, _ in heads]


def rank(claims: Sequence[Claim], strategy: Strategy) -> list[Claim]:
    """The order of rank, every component kept with its claim. Ties fall by place: the order is stable."""
    weights = strategy.weights
    total = sum(weights.values())
    for claim in claims:
        parts = {
            "evidence": 1.0 if claim.on_lines else 0.5,
            "agreement": 1 - 1 / claim.agreement if claim.agreement else 0.0,
            "source": _source_weight(claim),
            "fit": claim.fit,
        }
        score = sum(weights[name] * part for name, part in parts.items()) / total
        claim.ranking = {name: round(part, 6) for name, part in parts.items()} | {"score": round(score, 6)}
    return sorted(
        claims,
        key=lambda claim: (-claim.ranking["score"], claim.aim.where, claim.citations[0].place, claim.what),
    )


def _source_weight(claim: Claim) -> float:
    """The best of its sources, between 0 and 1; a weight of 1 gives a half."""
    best = max((citation.source.row.source_weight for citation in claim.citations), default=0.0)
    return best / (1 + best)


def pairs(ranked: Sequence[Claim]) -> tuple[list[Pair], int]:
    """Pairs of claims of one aim, the likeliest conflicts and the highest ranks first; how many are left."""
    looked = ranked[:MAX_CLAIMS]
    gists = [_gist(claim) for claim in looked]
    weighed: list[tuple[bool, int, int, int]] = []
    for second in range(len(looked)):
        for first in range(second):
            if looked[first].aim == looked[second].aim:
                weighed.append((not _differ(gists[first], gists[second]), first + second, first, second))
    weighed.sort()
    chosen = [(first, second) for _, _, first, second in weighed[:MAX_PAIRS]]
    return chosen, len(weighed) - len(chosen)


def relate(ranked: Sequence[Claim], relations: Mapping[Pair, str]) -> list[Claim]:
    """Set who contradicts whom, and merge what is the same; a pair that contradicts is never merged."""
    head = list(range(len(ranked)))

    def find(place: int) -> int:
        while head[place] != place:
            place = head[place]
        return place

    against = [pair for pair in sorted(relations) if relations[pair] == "contradicts"]
    for first, second in sorted(relations):
        if relations[first, second] != "same":
            continue
        one, two = sorted((find(first), find(second)))
        if one == two or any({find(a), find(b)} == {one, two} for a, b in against):
            continue
        absorb(ranked[one], ranked[two])
        head[two] = one
    for first, second in against:
        here, there = ranked[find(first)], ranked[find(second)]
        if there not in here.contradicts:
            here.contradicts.append(there)
            there.contradicts.append(here)
    return [claim for place, claim in enumerate(ranked) if head[place] == place]
