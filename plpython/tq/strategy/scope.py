"""Which of the documents that an argument names a strategy searches, and what each weighs as a source."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tq.ask import words
from tq.ask.records import Left, SourceRow
from tq.ask.words import say
from tq.database import strategies
from tq.database.connection import Database
from tq.errors import TqError
from tq.strategy.settings import Strategy


def narrowed(
    database: Database, strategy: Strategy, doc: str | None, ready: Sequence[SourceRow], picked: bool = False
) -> tuple[list[SourceRow], list[Left]]:
    """The documents in the strategy's scope, each with its weight and date, and what was left out. picked: they are
    those of a follow-up, and no other version is. TQ001 where the scope holds none of them."""
    known = {row.id: row for row in ready}
    # All versions of what was named; a version that was asked for by its number or id stands alone.
    every = strategy.versions == "all" and not picked and not _one_version(doc, ready)
    found = strategies.weighed(database, strategy, list(known), every)
    inside = [
        replace(
            known.get(one.id) or _row(one),
            source_weight=one.weight,
            dated=one.dated,
        )
        for one in found
        if one.inside
    ]
    if not inside:
        raise TqError(
            "TQ001",
            "document not found",
            f"None of {words.count(len(found), 'document')} is in the scope of the strategy {strategy.name}: "
            f"{words.short(strategy.scope or '', 200)}.",
            "Widen the scope, or ask by another strategy.",
        )
    outside = len(found) - len(inside)
    left = []
    # Without a document argument the scope itself was asked.
    if outside and (picked or doc is not None):
        told = words.count(outside, "document is", "documents are")
        left.append(
            Left(
                "scope",
                say(
                    "{documents} outside the scope of the strategy {strategy}",
                    documents=told,
                    strategy=strategy.name,
                ),
            )
        )
    return inside, left


def _one_version(doc: str | None, ready: Sequence[SourceRow]) -> bool:
    return doc is not None and len(ready) == 1 and "*" not in doc and doc != ready[0].name


def _row(one: strategies.Weighed) -> SourceRow:
    return SourceRow(
        one.id, one.name, one.version, True, None, None, one.current, one.language, one.line_count, one.weight
    )
