"""The order of answers: evidence, agreement, source and fit, each from 0 to 1 and weighed by the strategy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tq.ask.evidence import SURE
from tq.ask.records import Claim
from tq.strategy.settings import Strategy

Ranking = dict[str, float]


def scored(strategy: Strategy, parts: Mapping[str, float]) -> Ranking:
    """The components, each from 0 to 1, with their score."""
    weights = strategy.weights
    score = sum(weights[name] * parts[name] for name in weights) / sum(weights.values())
    return {name: round(parts[name], 6) for name in weights} | {"score": round(score, 6)}


def source(weight: float) -> float:
    """The component of the best source's weight, where a usual one is 1 and gives a half."""
    return weight / (1 + weight)


def rank(claims: Sequence[Claim], strategy: Strategy) -> list[Claim]:
    """The order of rank, every component kept with its claim. Ties fall by place: the order is stable."""
    for claim in claims:
        weight = max((citation.source.row.source_weight for citation in claim.citations), default=0.0)
        # What is barely an answer is none the more of one where many documents say it.
        agrees = claim.agreement > 1 and claim.sure >= SURE
        claim.ranking = scored(
            strategy,
            {
                "evidence": 1.0 if claim.on_lines else 0.5,
                "agreement": 1 - 1 / claim.agreement if agrees else 0.0,
                "source": source(weight),
                "fit": claim.fit,
            },
        )
    return sorted(
        claims,
        key=lambda claim: (-claim.ranking["score"], claim.aim.where, claim.citations[0].place, claim.what),
    )
