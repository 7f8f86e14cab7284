"""Claims beside each other: the same found twice becomes one, and who contradicts whom is set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from tq.ask.records import Claim
from tq.strategy.conflicts import Pair
from tq.text.quantities import same_quantity, span
from tq.text.stated import Stated, stated

SAME_TERMS = 0.6  # of the terms of two claims with the same quantities, to be one claim


Values = tuple[tuple[str, Decimal, Decimal], ...]


@dataclass(frozen=True, slots=True)
class _Head:
    """A claim that others may join. values: of its quantities where all are numbers with units, to be compared quickly."""

    claim: Claim
    said: Stated
    values: Values | None


def _values(said: Stated) -> Values | None:
    if not all(quantity.kind == "number" and quantity.unit for quantity in said.quantities):
        return None
    return tuple(sorted(span(quantity) for quantity in said.quantities))


def _same(head: _Head, said: Stated, values: Values | None) -> bool:
    if head.values is not None and values is not None:
        if head.values != values:
            return False
    elif not _same_quantities(head.said, said):
        return False
    union = head.said.about | said.about
    return len(head.said.about & said.about) >= SAME_TERMS * len(union)


def _same_quantities(first: Stated, second: Stated) -> bool:
    rest = list(second.quantities)
    for quantity in first.quantities:
        match = next((other for other in rest if same_quantity(quantity, other)), None)
        if match is None:
            return False
        rest.remove(match)
    return True


def absorb(head: Claim, other: Claim) -> None:
    """Make two claims one, with the citations of both."""
    known = {(citation.place, citation.quote) for citation in head.citations}
    head.citations += [c for c in other.citations if (c.place, c.quote) not in known]
    head.visits += [visit for visit in other.visits if visit not in head.visits]
    head.fit = max(head.fit, other.fit)
    head.sure = max(head.sure, other.sure)
    head.answer_id = head.answer_id or other.answer_id
    for aim, fit in other.met.items():
        head.met[aim] = max(fit, head.met.get(aim, 0.0))


def merge(claims: Sequence[Claim]) -> list[Claim]:
    """One claim for each that was found more than once: the same words, or quantities of the same thing."""
    heads: list[_Head] = []
    by_text: dict[tuple[int, str], _Head] = {}
    alike: dict[tuple[int, bool, int], list[_Head]] = {}
    for claim in claims:
        said = stated(claim.what, claim.citations[0].source.language)
        subject, values = claim.aim.subject.where, _values(said)
        near = alike.setdefault((subject, said.denies, len(said.quantities)), [])
        found = by_text.get((subject, said.text))
        if found is None and said.quantities:
            found = next((head for head in near if _same(head, said, values)), None)
        if found is not None:
            absorb(found.claim, claim)
            continue
        head = _Head(claim, said, values)
        heads.append(head)
        near.append(head)
        by_text[subject, said.text] = head
    return [head.claim for head in heads]


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


def head_of(claim: Claim, heads: Sequence[Claim]) -> Claim:
    """The claim that another one was merged into, or itself."""
    return next((head for head in heads if head is claim or claim.citations[0] in head.citations), claim)
