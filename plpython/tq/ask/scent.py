"""Scent: where a question's terms stand, counted from the line index. A hint beside each child, never a filter."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence

STRETCH = 3
"""Adjacent lines within which terms count as standing together."""
APART = 10
"""Lines between two stretches that are likely to lie in different leaves."""

_LOCAL = 160  # hits in a child up to which it is counted exactly, line by line
_ANCHORS = 1_000  # lines looked at once a question in a document, from the rarest terms on


def _best_first(spot: tuple[int, float]) -> tuple[float, int]:
    return -spot[1], spot[0]


class Scent:
    """The postings of one question's terms in one document.

    postings: term → its line numbers, sorted, without repeats (any sequence: a list, an array).
    idf: term → weight, for every term of the question, those that the document lacks included.
    kin: term with postings that is not the question's own → the question's term it stands for, and with what share of
    its weight. Kin lift the peak; they are never counted as terms of the question.

    Work is bounded however common a term is: a child with few hits is counted exactly; for one with many, the number
    of lines and the peak are lower bounds that rest on the rarest terms' lines.
    """

    __slots__ = (
        *("_anchored", "_own", "_own_bits", "_ranked", "_scores", "_shares", "_starts", "_terms", "_weights"),
        "line_count",
    )

    def __init__(
        self,
        postings: Mapping[str, Sequence[int]],
        idf: Mapping[str, float],
        line_count: int,
        kin: Mapping[str, tuple[str, float]] | None = None,
    ) -> None:
        self.line_count = line_count
        total = sum(weight for weight in idf.values() if weight > 0)
        stands = {term: (term, 1.0) for term in idf} | {
            term: own for term, own in (kin or {}).items() if term not in idf
        }
        held = [
            (term, lines)
            for term, lines in postings.items()
            if len(lines) and term in stands and idf.get(stands[term][0], 0.0) > 0
        ]
        held.sort(key=lambda pair: (len(pair[1]), pair[0]))
        self._terms = held
        self._own = [stands[term][0] for term, _ in held]
        self._weights = [
            idf[own] / total * stands[term][1] for own, (term, _) in zip(self._own, held, strict=True)
        ]
        self._own_bits = sum(1 << index for index, (term, _) in enumerate(held) if term in idf)
        self._shares: dict[int, float] = {0: 0.0}
        self._anchored = False
        self._starts: list[int] = []
        self._scores: list[float] = []
        self._ranked: list[tuple[int, float]] = []

    def child(self, line_start: int, line_end: int) -> tuple[int, dict[str, int], float]:
        """Lines with any term, lines a term, and the peak: the best share (0 to 1) of the question's weighted terms
        found within three adjacent lines, all of them from ``line_start`` to ``line_end`` inclusive."""
        ranges = self._ranges(line_start, line_end)
        counts = {
            self._terms[index][0]: high - low for index, low, high in ranges if self._own_bits >> index & 1
        }
        if sum(high - low for _, low, high in ranges) <= _LOCAL:
            masks = self._masks(ranges)
            lines = sum(1 for mask in masks.values() if mask & self._own_bits)
            return lines, counts, max((score for _, score in self._stretches(masks)), default=0.0)
        low, high = self._anchors(line_start, line_end)
        peak = max(self._scores[low:high], default=0.0)
        single = max(self._weights[index] for index, _, _ in ranges)
        return max(counts.values(), default=0), counts, max(single, peak)

    def spots(self, line_start: int, line_end: int, most: int) -> list[float]:
        """Shares of the best stretches from ``line_start`` to ``line_end``, APART lines from each other, best first."""
        ranges = self._ranges(line_start, line_end)
        placed: Iterable[tuple[int, float]]
        if sum(high - low for _, low, high in ranges) <= _LOCAL:
            placed = sorted(self._stretches(self._masks(ranges)), key=_best_first)
        else:
            self._anchors(line_start, line_end)
            last = line_end - STRETCH + 1
            placed = (spot for spot in self._ranked if line_start <= spot[0] <= last)
        found: list[float] = []
        taken: list[int] = []
        for line, score in placed:
            if len(found) == most:
                break
            if all(abs(line - other) >= APART for other in taken):
                found.append(score)
                taken.append(line)
        return found

    def _ranges(self, line_start: int, line_end: int) -> list[tuple[int, int, int]]:
        """(term, first, behind the last) of the postings that lie in a stretch of lines, for each term in it."""
        ranges: list[tuple[int, int, int]] = []
        for index, (_, lines) in enumerate(self._terms):
            low = bisect_left(lines, line_start)
            high = bisect_right(lines, line_end, low)
            if high > low:
                ranges.append((index, low, high))
        return ranges

    def _masks(self, ranges: Sequence[tuple[int, int, int]]) -> dict[int, int]:
        """Line → the terms it holds, one bit each."""
        masks: dict[int, int] = {}
        for index, low, high in ranges:
            bit = 1 << index
            for line in self._terms[index][1][low:high]:
                masks[line] = masks.get(line, 0) | bit
        return masks

    def _anchors(self, line_start: int, line_end: int) -> tuple[int, int]:
        """Which of the anchored stretches lie in a stretch of lines."""
        if not self._anchored:
            self._anchor()
        low = bisect_left(self._starts, line_start)
        return low, bisect_right(self._starts, line_end - STRETCH + 1, low)

    def _share(self, mask: int) -> float:
        share = self._shares.get(mask)
        if share is None:
            best: dict[str, float] = {}
            for index, weight in enumerate(self._weights):
                if mask >> index & 1:
                    own = self._own[index]
                    best[own] = max(weight, best.get(own, 0.0))
            share = sum(best.values())
            self._shares[mask] = share
        return share

    def _stretches(self, masks: Mapping[int, int]) -> list[tuple[int, float]]:
        """The share of each stretch that begins at a line with a hit."""
        get, shares, share = masks.get, self._shares, self._share
        found = []
        for line, mask in masks.items():
            held = mask | get(line + 1, 0) | get(line + 2, 0)
            found.append((line, shares[held] if held in shares else share(held)))
        return found

    def _anchor(self) -> None:
        """Once a question: the stretches around the rarest terms' lines, in order, each with its share."""
        self._anchored = True
        masks: dict[int, int] = {}
        left = _ANCHORS
        whole = 0
        for index, (_, lines) in enumerate(self._terms):
            if len(lines) > left:
                # The first too common term still gives some lines, evenly spread; the others are only looked up.
                step = len(lines) // max(left, _ANCHORS // 4) + 1
                for line in lines[::step]:
                    masks[line] = masks.get(line, 0) | 1 << index
                break
            for line in lines:
                masks[line] = masks.get(line, 0) | 1 << index
            left -= len(lines)
            whole = index + 1
        around = _around(sorted(masks))
        for index in range(whole, len(self._terms)):
            lines, bit, low = self._terms[index][1], 1 << index, 0
            count = len(lines)
            for first, last in around:
                low = bisect_left(lines, first, low)
                while low < count and (line := lines[low]) <= last:
                    masks[line] = masks.get(line, 0) | bit
                    low += 1
        placed = sorted(self._stretches(masks))
        self._starts = [line for line, _ in placed]
        self._scores = [score for _, score in placed]
        self._ranked = [(line, -below) for below, line in sorted([(-score, line) for line, score in placed])]


def _around(anchors: Sequence[int]) -> list[tuple[int, int]]:
    """Stretches of lines within which terms stand together with an anchor, none overlapping another."""
    found: list[tuple[int, int]] = []
    for anchor in anchors:
        first, last = anchor - STRETCH + 1, anchor + STRETCH - 1
        if found and first <= found[-1][1]:
            found[-1] = (found[-1][0], last)
        else:
            found.append((first, last))
    return found
