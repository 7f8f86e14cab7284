"""The other side of an answer: another source that says otherwise, or another version of the same document."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from tq.ask import words
from tq.ask.records import Citation, Claim

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
        parts = [
            f"{_place(one.citations[0])} says: {words.quoted(one.citations[0].quote)}"
            for one in against[:TOLD]
        ]
        more = len(against) - len(parts)
        out.append(
            "Against it: "
            + "; ".join(parts)
            + (f"; and {words.count(more, 'more answer')}" if more > 0 else "")
        )
    for one in versions[:TOLD]:
        verb = "says otherwise" if side(claim, one) == "newer version" else "said otherwise"
        out.append(
            f"{_place(one.citations[0])}, another version, {verb}: {words.quoted(one.citations[0].quote)}"
        )
    return [text if text.endswith((".”", "!”", "?”", "。”", "…”")) else text + "." for text in out]


def _place(citation: Citation) -> str:
    row = citation.source.row
    dated = f" of {row.dated}" if row.dated else ""
    page = f" (page {citation.page})" if citation.page else ""
    return f"{row.name}, version {row.version}{dated}, {words.lines(citation.line_start, citation.line_end)}{page}"
