"""The rows of tq.ask, from what was found: answers in order of rank, or the one row that nothing settles the question."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from tq.ask import tell, trace, words
from tq.ask.records import Aim, Claim, Found, Subject
from tq.ask.unsettled import unsettled
from tq.database.connection import Database
from tq.errors import TqError
from tq.strategy import disagreement
from tq.strategy.settings import Strategy

Row = dict[str, Any]


def answers(database: Database, found: Found, cost: Row, elapsed_ms: float) -> list[Row]:
    """A row a claim; one honest row where there is none."""
    told = {"cost": cost, "elapsed_ms": elapsed_ms}
    with words.speaking(found.question.strategy.language):
        return _answers(database, found, told)


def _answers(database: Database, found: Found, told: Row) -> list[Row]:
    if not found.claims:
        return [_unsettled(database, found, told)]
    answered = {aim for claim in found.claims for aim in claim.met}
    unanswered = [aim for aim in found.planned.aims if aim.where not in answered]
    return [_answer(rank, claim, found, unanswered, told) for rank, claim in enumerate(found.claims, 1)]


def early(found: Found, reads: int, cost: Row, elapsed_ms: float) -> list[Row]:
    """Rows of claims that nothing was compared with yet."""
    told = {"cost": cost, "elapsed_ms": elapsed_ms, "reads": reads, "final": False}
    with words.speaking(found.question.strategy.language):
        return [_answer(rank, claim, found, [], told) for rank, claim in enumerate(found.claims, 1)]


def _answer(rank: int, claim: Claim, found: Found, unanswered: Sequence[Aim], told: Row) -> Row:
    against, versions = disagreement.split(claim, found.claims)
    replaced = any(disagreement.side(claim, other) == "newer version" for other in versions)
    method = claim.method or ("comparison" if against or claim.agreement > 1 else "lookup")
    if against:
        certainty, doubt = "disputed", "conflicting sources"
    elif replaced:
        certainty, doubt = "disputed", None
    elif unanswered:
        certainty, doubt = "partial", "missing context"
    else:
        certainty, doubt = ("settled" if claim.on_lines else "supported"), None
    return {
        **_flat(claim),
        "answer_id": claim.answer_id or None,
        "rank": rank,
        "what": claim.what,
        "why": " ".join([tell.why(claim), *disagreement.sentences(claim, against, versions)]),
        "how": tell.how(claim, found, method),
        "method": method,
        "certainty": certainty,
        "disagreement": bool(against),
        "missing": tell.missing(found, unanswered),
        "doubt": doubt,
        "specialist": bool(against),
        "score": claim.score,
        "detail": _detail(found, found.planned.subjects if claim.parts else (claim.aim.subject,), told)
        | {
            "unanswered": [aim.told for aim in unanswered],
            "ranking": claim.ranking
            | {"weights": found.question.strategy.weights, "places": claim.agreement},
            "composed_of": [found.claims.index(part) + 1 for _, part in claim.parts if part in found.claims],
            "contradictions": _sides(claim, against, found),
            "versions": _sides(claim, versions, found),
        },
    }


def _sides(claim: Claim, others: Sequence[Claim], found: Found) -> list[Row]:
    return [disagreement.told(claim, other, found.claims.index(other) + 1) for other in others]


def _unsettled(database: Database, found: Found, told: Row) -> Row:
    said = unsettled(database, found)
    near = said.nearest
    return {
        **_flat(None),
        "rank": 1,
        "what": None,
        "why": str(said.why),
        "how": said.how,
        "method": found.planned.method,
        "certainty": "unsettled",
        "disagreement": False,
        "missing": said.missing,
        "doubt": said.doubt,
        "specialist": said.specialist,
        "score": None,
        "detail": _detail(found, found.planned.subjects, told)
        | {
            "unsettled": said.kind,
            "ranking": None,
            "contradictions": [],
            "versions": [],
            "nearest": None
            if near is None
            else {
                "document": near.source.row.name,
                "version": near.source.row.version,
                "line": near.line_start,
                "line_end": near.line_end,
                "text": near.text,
            },
        },
    }


def _detail(found: Found, subjects: Sequence[Subject], told: Row) -> Row:
    question = found.question
    return {
        "parts": [msgspec.to_builtins(item.parts) for item in subjects],
        "omissions": [trace.left(item) for item in found.left],
        "strategy": question.strategy.name,
        "strategy_version": question.strategy.version,
        "mode": question.strategy.mode,
        "ran_as": found.ran_as,
        "model": question.model.name,
        "reads": len(found.visits),
        **told,
    }


def _flat(claim: Claim | None) -> Row:
    """The columns of the first citation, and all citations with the ids that only the record needs."""
    if claim is None:
        empty = dict.fromkeys(("document", "version", "page", "line_start", "line_end", "quote"))
        return {**empty, "citations": [], "cited": []}
    citations = [
        {
            "document": citation.source.row.name,
            "version": citation.source.row.version,
            "page": citation.page,
            "line_start": citation.line_start,
            "line_end": citation.line_end,
            "quote": citation.quote,
            "locator": citation.locator,
            "node_id": citation.node_id,
            "source": citation.kind,
        }
        for citation in claim.citations
    ]
    first = citations[0]
    return {
        **{name: first[name] for name in ("document", "version", "page", "line_start", "line_end", "quote")},
        "citations": citations,
        "cited": [citation.source.id for citation in claim.citations],
    }


def failed(strategy: Strategy, model: str, error: TqError, elapsed_ms: float) -> Row:
    """The one row of a question that failed, where the strategy wants errors as rows."""
    said = error.message + (f" ({error.detail.rstrip('.')})" if error.detail else "")
    return {
        **_flat(None),
        "rank": 1,
        "what": None,
        "why": f"The question did not run: {said}.",
        "how": "Method: lookup. Nothing was read to the end: there is no evidence for or against an answer.",
        "method": "lookup",
        "certainty": "failed",
        "disagreement": False,
        "missing": f"Error {error.code}: {said}." + (f" {error.hint}" if error.hint else ""),
        "doubt": None,
        "specialist": False,
        "held_back": 0,
        "score": None,
        "detail": {
            "parts": [],
            "omissions": [],
            "strategy": strategy.name,
            "strategy_version": strategy.version,
            "model": model,
            "elapsed_ms": elapsed_ms,
            "error": {
                "sqlstate": error.code,
                "message": error.message,
                "detail": error.detail,
                "hint": error.hint,
            },
        },
    }
