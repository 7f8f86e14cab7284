"""Claims of one aim, compared in pairs by the model, and by rules where it does not come to them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from tq.ask import words
from tq.ask.caller import Caller
from tq.ask.records import Claim, Ended, Left
from tq.ask.words import say
from tq.model.tasks import Compare
from tq.strategy import conflicts
from tq.strategy.conflicts import COMPARED_CHARS, Pair, Ruled

Relations = dict[Pair, str]


def start(
    caller: Caller,
    ranked: Sequence[Claim],
    rules: Ruled,
    most: int,
    relations: Relations,
) -> None:
    """Submit at most so many pairs of ranked claims to compare, the likeliest conflicts first; their relations come into
    `relations` while the caller drains."""
    for pair in conflicts.chosen(ranked, rules, most):
        pair_task = task(ranked[pair[0]], ranked[pair[1]])
        caller.submit(pair_task, partial(_related, relations, pair))


def complete(caller: Caller, rules: Ruled, relations: Relations) -> list[Left]:
    """Take what rules call a contradiction for one where no model was asked, and say of how many pairs that is so."""
    unasked = rules.pairs - len(relations)
    for pair, relation in rules.relations.items():
        if relation == "contradicts":
            relations.setdefault(pair, relation)
    # The embedded model goes by the same rules.
    count = rules.beyond if caller.model("compare").computes else unasked
    if not count:
        return []
    pairs = words.count(count, "pair")
    told = (
        say("{pairs} of claims not compared", pairs=pairs)
        if caller.model("compare").computes
        else say("{pairs} of claims compared by rules alone", pairs=pairs)
    )
    if caller.budget.reason:
        told = say("{what}: {why}", what=told, why=caller.budget.reason)
    return [Left("pairs", told)]


def task(one: Claim, two: Claim) -> Compare:
    return Compare(
        question=one.aim.asked,
        first=one.what[:COMPARED_CHARS],
        second=two.what[:COMPARED_CHARS],
        first_quote=_quote(one),
        second_quote=_quote(two),
        language=one.citations[0].source.language,
    )


def _quote(claim: Claim) -> str:
    return "\n".join(citation.quote for citation in claim.citations)[:COMPARED_CHARS]


def _related(relations: Relations, pair: Pair, ended: Ended) -> None:
    relations[pair] = "unclear" if ended.reply is None else ended.reply.relation
