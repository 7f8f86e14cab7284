"""The record of a question: all that tq_private.ask_record keeps of how it was answered."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from tq.ask import narrate
from tq.ask.caller import Caller
from tq.ask.records import Attempt, Begin, Ended, Found, Left, Route, Visit
from tq.model import prompts
from tq.strategy.settings import Strategy


def trace(
    found: Found,
    caller: Caller,
    begin: Begin | None,
    replies: list[dict[str, Any]],
    elapsed_ms: float,
    held_back: int,
) -> dict[str, Any]:
    question = found.question
    return {
        "query": _query(question.doc, question.asked, question.strategy, question.model.name, elapsed_ms)
        | {
            "plan": [msgspec.to_builtins(subject.parts) for subject in found.planned.subjects],
            "held_back": held_back,
            "thread_id": begin and begin.thread,
            "turn": begin and begin.turn,
            "prompts": prompts.version(),
            "chars_per_token": caller.asked_with(),
        },
        "shown": caller.shown,
        "replies": replies,
        "routes": [_route(route) for route in found.routes],
        "reads": [_read(visit) for visit in found.visits],
        "steps": [_step(*step) for step in caller.steps],
        "omissions": [left(item) | {"document_id": item.document} for item in found.left],
        "calls": caller.told(),
    }


def nothing(
    doc: str | None,
    question: str,
    strategy: Strategy,
    model: str,
    elapsed_ms: float,
    calls: Sequence[dict[str, Any]],
) -> dict[str, Any]:
    """The record of a question that failed: what it had cost, no more."""
    query = _query(doc, question, strategy, model, elapsed_ms)
    return {"query": query, "routes": [], "reads": [], "omissions": [], "calls": list(calls)}


def _query(
    doc: str | None, question: str, strategy: Strategy, model: str, elapsed_ms: float
) -> dict[str, Any]:
    return {
        "document": doc,
        "question": question,
        "strategy": strategy.name,
        "strategy_version": strategy.version,
        "model": model,
        "plan": [],
        "elapsed_ms": elapsed_ms,
        "held_back": 0,
    }


def left(item: Left) -> dict[str, Any]:
    return {
        "kind": item.kind,
        "detail": str(item.detail),
        "line_start": item.line_start,
        "line_end": item.line_end,
    }


def _route(route: Route) -> dict[str, Any]:
    return {
        "ordinal": route.ordinal,
        "parent": route.parent.ordinal if route.parent else None,
        "document_id": route.source.id,
        "subject": route.aim.subject.where + 1,
        "part": route.aim.part,
        "ended": route.ended or "went on",
    }


def _read(visit: Visit) -> dict[str, Any]:
    node, (piece, pieces) = visit.node, visit.piece
    return {
        "ordinal": visit.ordinal,
        "parent": visit.parent.ordinal if visit.parent else None,
        "route": visit.route.ordinal,
        "document_id": visit.route.source.id,
        "node_id": node.id,
        "depth": node.depth,
        "line_start": node.line_start,
        "line_end": node.line_end,
        "title": node.title + (f" (piece {piece} of {pieces})" if pieces > 1 else ""),
        "choice": visit.choice,
        "opened": visit.opened,
        "reason": visit.reason,
        "rejected": visit.rejected,
        "replies": _replies(visit.attempts),
        "input_tokens": visit.input_tokens,
        "output_tokens": visit.output_tokens,
        "elapsed_ms": round(visit.elapsed_ms, 3),
    }


def _step(document: str | None, ended: Ended) -> dict[str, Any]:
    """A call that is no read."""
    return {
        "document_id": document,
        "purpose": ended.task.purpose,
        "told": narrate.line(ended),
        "replies": _replies(ended.attempts),
        "input_tokens": ended.input_tokens,
        "output_tokens": ended.output_tokens,
        "elapsed_ms": round(ended.elapsed_ms, 3),
    }


def _replies(attempts: Sequence[Attempt]) -> list[dict[str, Any]]:
    return [{"reply": one.reply, "rejected": one.rejected} for one in attempts]
