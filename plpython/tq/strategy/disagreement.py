"""The other side of an answer: another source that says otherwise, or another version of the same document."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from tq.ask import words
from tq.ask.records import Citation, Claim
from tq.ask.words import say

TOLD = 3  # of the other sides, in words; all are in the detail

Side = Literal["source", "same document", "newer version", "older version"]


def side(claim: Claim, other: Claim) -> Side:
    """What the other is to this one. A version is the other side of its own document only where all that speaks for it
    has been replaced: an old version that another document bears out is a source like any other."""
    mine, yours = _documents(claim), _documents(other)
    if _replaced(mine, yours):
        return "newer version"
    if _replaced(yours, mine):
        return "older version"
    return "same document" if mine & yours else "source"


def _documents(claim: Claim) -> frozenset[tuple[str, int]]:
    return frozenset((c.source.row.name, c.source.row.version) for c in claim.citations)


def _replaced(old: frozenset[tuple[str, int]], new: frozenset[tuple[str, int]]) -> bool:
    return all(any(name == other and version < later for other, later in new) for name, version in old)


def split(claim: Claim, claims: Sequence[Claim]) -> tuple[list[Claim], list[Claim]]:
    """Of the claims that contradict one: other sources, and other versions."""
    there = [other for other in claim.contradicts if other in claims]
    versions = [other for other in there if side(claim, other).endswith("version")]
    return [other for other in there if other not in versions], versions


def told(claim: Claim, other: Claim, rank: int) -> dict[str, Any]:
    """The other side as the detail of an answer has it."""
    first = other.citations[0]
    return {
        "what": other.what,
        "document": first.source.row.name,
        "version": first.source.row.version,
        "dated": first.source.row.dated or None,
        "side": side(claim, other),
        "line_start": first.line_start,
        "line_end": first.line_end,
        "page": first.page,
        "quote": first.quote,
        "rank": rank,
    }


def sentences(claim: Claim, against: Sequence[Claim], versions: Sequence[Claim]) -> list[str]:
    """What stands against an answer, in words."""
    out = []
    if against:
        parts: list[str] = [
            say(
                "{place} says: {quote}",
                place=_place(one.citations[0]),
                quote=words.quoted(one.citations[0].quote),
            )
            for one in against[:TOLD]
        ]
        if len(against) > TOLD:
            parts.append(say("and {answers}", answers=words.count(len(against) - TOLD, "more answer")))
        out.append(say("Against it: {what}", what="; ".join(parts)))
    for one in versions[:TOLD]:
        place, quote = _place(one.citations[0]), words.quoted(one.citations[0].quote)
        out.append(
            say("{place}, another version, says otherwise: {quote}", place=place, quote=quote)
            if side(claim, one) == "newer version"
            else say("{place}, another version, said otherwise: {quote}", place=place, quote=quote)
        )
    return [words.ended(text) for text in out]


def _place(citation: Citation) -> str:
    row = citation.source.row
    version = (
        say("{name}, version {version} of {dated}", name=row.name, version=row.version, dated=row.dated)
        if row.dated
        else say("{name}, version {version}", name=row.name, version=row.version)
    )
    where = words.lines(citation.line_start, citation.line_end)
    if citation.page:
        return say("{label}, {lines} (page {page})", label=version, lines=where, page=citation.page)
    return f"{version}, {where}"
