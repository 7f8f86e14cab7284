"""The recorded answers of a question in the order of another strategy. Nothing is searched and no model is asked."""

from __future__ import annotations

from typing import Any

from tq.ask import words
from tq.database import strategies
from tq.database.connection import Database
from tq.strategy.rank import scored, source

Row = dict[str, Any]


def rerank(database: Database, query: str, strategy: str | None) -> list[Row]:
    """The rows that the strategy shows. Raises TQ020.

    Evidence, agreement and fit are those of the record, the source's component is the strategy's now; that of a document
    that is gone stays as it was."""
    chosen = strategies.strategy(database, strategy) if strategy is not None else None
    if chosen is None:
        raise strategies.unknown(database, strategy, words.quoted(strategy or "", 100))
    answers = strategies.recorded(database, query)
    cited = strategies.cited(database, query)
    documents = sorted({document for found in cited.values() for document in found})
    weights = {one.id: one.weight for one in strategies.weighed(database, chosen, documents)}
    for row in answers:
        ranking = row["detail"].get("ranking")
        if not ranking:
            continue
        known = [weights[document] for document in cited.get(row["answer_id"], ()) if document in weights]
        parts = ranking | ({"source": source(max(known))} if known else {})
        row["detail"]["ranking"] = ranking | scored(chosen, parts) | {"weights": chosen.weights}
        row["score"] = row["detail"]["ranking"]["score"]
    before = {row["rank"]: row for row in answers}
    order = sorted(answers, key=lambda row: (-(row["score"] or 0.0), row["rank"]))
    ranks = {id(row): rank for rank, row in enumerate(order, 1)}
    for row in order:
        detail = row["detail"]
        for other in [*detail.get("contradictions", ()), *detail.get("versions", ())]:
            if other.get("rank") in before:
                other["rank"] = ranks[id(before[other["rank"]])]
        detail["asked_by_strategy"] = {
            "name": detail.get("strategy"),
            "version": detail.get("strategy_version"),
        }
        detail |= {"strategy": chosen.name, "strategy_version": chosen.version}
    for row in order:
        row["rank"] = ranks[id(row)]
        row["held_back"] = max(0, len(order) - chosen.top_n)
    return order[: chosen.top_n]
