"""Which pairs of claims are worth comparing, and what rules alone say of those that may contradict each other.

All pairs of one aim are looked at, the best ranked claim's first, so that an answer that is shown is never without
the flag because its other side is ranked low.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tq.ask.records import Claim
from tq.text.claims import OPPOSITES, Relation, relation
from tq.text.stated import Stated, stated

MAX_LEADING = 100  # claims whose pairs with all others are looked at, the best ranked
MAX_RULED = 1_000  # pairs that rules judge, the best ranked first
COMPARED_CHARS = 1_500  # of a claim that is compared

Pair = tuple[int, int]


@dataclass(frozen=True, slots=True)
class _Signature:
    """What tells quickly that two claims cannot contradict each other. kinds: what it measures, as bits; measured: with
    which values."""

    aim: int
    about: frozenset[str]
    kinds: int
    measured: object
    denies: bool


@dataclass(frozen=True, slots=True)
class Ruled:
    """relations: of pairs that may contradict each other, the best ranked first; beyond: how many more there are; pairs:
    of one aim in all."""

    relations: Mapping[Pair, Relation]
    beyond: int
    pairs: int


def ruled(ranked: Sequence[Claim]) -> Ruled:
    """What rules say of claims in order of rank."""
    bits: dict[str, int] = {}
    signatures = [_signature(claim, bits) for claim in ranked]
    relations: dict[Pair, Relation] = {}
    beyond = 0
    for pair in _candidates(signatures):
        if len(relations) == MAX_RULED:
            beyond += 1
            continue
        one, two = ranked[pair[0]], ranked[pair[1]]
        relations[pair] = relation(
            one.aim.asked,
            one.what[:COMPARED_CHARS],
            two.what[:COMPARED_CHARS],
            language=one.citations[0].source.language,
        )
    return Ruled(relations, beyond, sum(1 for _ in _of_one_aim(ranked)))


def chosen(ranked: Sequence[Claim], rules: Ruled, most: int) -> list[Pair]:
    """The pairs for the model: what rules take for a contradiction, then what may be one, then the rest, each from the
    best ranked on."""
    found = rules.relations
    order = sorted(found, key=lambda pair: (found[pair] != "contradicts", sum(pair), pair))[:most]
    if len(order) < most:
        rest = (pair for pair in _of_one_aim(ranked) if pair not in found)
        order += sorted(rest, key=lambda pair: (sum(pair), pair))[: most - len(order)]
    return order


def _of_one_aim(ranked: Sequence[Claim]) -> Iterator[Pair]:
    for first, one in enumerate(ranked[:MAX_LEADING]):
        for second in range(first + 1, len(ranked)):
            if one.aim.where == ranked[second].aim.where:
                yield first, second


def _candidates(signatures: Sequence[_Signature]) -> Iterator[Pair]:
    """Pairs that share a word and measure one kind of thing with other values, or of which one denies."""
    for first, one in enumerate(signatures[:MAX_LEADING]):
        aim, about, kinds, measured, denies = (
            one.aim,
            one.about,
            one.kinds,
            one.measured,
            one.denies,
        )
        for second in range(first + 1, len(signatures)):
            two = signatures[second]
            if (
                aim == two.aim
                and ((kinds & two.kinds and measured != two.measured) or denies != two.denies)
                and not about.isdisjoint(two.about)
            ):
                yield first, second


def _signature(claim: Claim, bits: dict[str, int]) -> _Signature:
    said = stated(claim.what[:COMPARED_CHARS], claim.citations[0].source.language)
    kinds = 0
    for name in _kinds(said):
        kinds |= bits.setdefault(name, 1 << len(bits))
    measured = (
        frozenset((one.dimension, one.low, one.high, one.bound, one.rate) for one in said.measures),
        frozenset(date.date for date in said.dates),
        said.free,
        frozenset(word for pair in OPPOSITES for word in pair if word in said.words),
    )
    return _Signature(claim.aim.where, said.about, kinds, measured, said.denies)


def _kinds(said: Stated) -> set[str]:
    found = {one.dimension for one in said.measures} | {date.kind for date in said.dates}
    if said.free or said.measures:
        found.add("measured")  # a unit may be left out, or have another name
    found.update(f"{x}/{y}" for x, y in OPPOSITES if x in said.words or y in said.words)
    return found
