"""Claims of one aim, compared in pairs by the model."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from tq.ask import weigh, words
from tq.ask.caller import Caller, Ended
from tq.ask.records import Claim, Left
from tq.ask.weigh import Pair
from tq.model.tasks import Compare

COMPARED_CHARS = 1_500  # of a claim or quote that is compared

Relations = dict[Pair, str]


def start(caller: Caller, ranked: Sequence[Claim], relations: Relations) -> list[Left]:
    """Submit the pairs of ranked claims to compare, the likeliest conflicts first; their relations come into
    `relations` while the caller drains. What is left uncompared comes back."""
    chosen, beyond = weigh.pairs(ranked)
    left = []
    if beyond:
        left.append(Left("pairs", f"{words.count(beyond, 'pair')} of claims not compared"))
    refused = 0
    for pair in chosen:
        task = _task(ranked[pair[0]], ranked[pair[1]])
        refused += not caller.submit(task, partial(_related, relations, pair))
    if refused:
        told = f"{words.count(refused, 'pair')} of claims not compared: {caller.budget.reason}"
        left.append(Left("pairs", told))
    return left


def _task(one: Claim, two: Claim) -> Compare:
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
