"""Claims beside each other: the same found twice becomes one, and who contradicts whom is set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tq.ask.records import Claim
from tq.strategy.conflicts import Pair
from tq.text.quantities import same_quantity
from tq.text.stated import Stated, stated

SAME_TERMS = 0.6  # of the terms of two claims with the same quantities, to be one claim


def _same(first: Stated, second: Stated) -> bool:
    if first.text == second.text:
        return True
    if (
        not first.quantities
        or len(first.quantities) != len(second.quantities)
        or first.denies != second.denies
    ):
        return False
    rest = list(second.quantities)
    for quantity in first.quantities:
        match = next((other for other in rest if same_quantity(quantity, other)), None)
        if match is None:
            return False
        rest.remove(match)
    union = first.about | second.about
    return len(first.about & second.about) >= SAME_TERMS * len(union)


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
    heads: list[tuple[Claim, Stated]] = []
    for claim in claims:
        said = stated(claim.what, claim.citations[0].source.language)
        for head, known in heads:
            if head.aim == claim.aim and _same(known, said):
                absorb(head, claim)
                break
        else:
            heads.append((claim, said))
    return [head for head, _ in heads]


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
