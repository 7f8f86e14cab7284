"""Running heads and feet: rows at the edges of pages that the pages around repeat, or go on counting."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import Final

from tq_loader.convert.layout import Row

ROWS: Final = 3  # at each edge of a page
SAME_HEIGHT: Final = 4  # points
_MARGIN: Final = 0.14  # of the page's height

_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")  # of one with a point, no part counts pages
_ROMAN = re.compile(r"[ivxlc]+$")
_PAGE_NUMBER = re.compile(r"[-–—\s]*(page\s+)?#(\s*(/|of|von|de|sur)\s*#)?[-–—\s.]*$")
_VALUES: Final = {"i": 1, "v": 5, "x": 10, "l": 50, "c": 100}


@dataclass(slots=True, frozen=True)
class Edge:
    """A row near the top or the bottom of its page, from the edge inwards ``depth`` rows.

    ``words``: its text without its numbers. The last row of a page may be a foot at any height: where pages are cut as
    the text goes, it stands right below it.
    """

    words: str
    numbers: tuple[str, ...]
    top: float
    size: float
    foot: bool
    depth: int
    is_page_number: bool

    def counts_on(self, other: Edge, pages: int) -> bool:
        """Whether ``other``, with the same words so many pages further on, has a number that is as much higher.

        The number may stand at the other end, as on left and right pages; and where both rows stand at one height, more
        than that number may have changed.
        """
        if len(self.numbers) != len(other.numbers):
            return False
        old, new = Counter(self.numbers), Counter(other.numbers)
        changed = list(zip((old - new).elements(), (new - old).elements(), strict=True))
        if len(changed) > 1:
            changed = list(zip(self.numbers, other.numbers, strict=True)) if self.is_level(other) else []
        return any(_whole(b) - _whole(a) == pages for a, b in changed)

    def is_level(self, other: Edge) -> bool:
        return abs(other.top - self.top) < SAME_HEIGHT


Edges = dict[int, Edge]  # by the number of the row on its page


def edges(rows: list[Row], texts: list[str], height: float) -> Edges:
    """The rows of a page that could be running heads or feet."""
    found: Edges = {}
    if height <= 0:
        return found
    order = sorted(range(len(rows)), key=lambda i: rows[i].box[1])
    for foot, near in ((False, order[:ROWS]), (True, order[::-1][:ROWS])):
        for depth, i in enumerate(near):
            box = rows[i].box
            margin = box[1] > (1 - _MARGIN) * height if foot else box[3] < _MARGIN * height
            if margin or (foot and not depth and i not in found):
                words = " ".join(texts[i].lower().split())
                numbers = tuple(_NUMBER.findall(words))
                words = _NUMBER.sub("#", words)
                if _ROMAN.match(words):
                    words, numbers = "#", (words,)
                alone = bool(_PAGE_NUMBER.match(words))
                words = " ".join(words.replace("#", " ").split())
                if words or alone:
                    found[i] = Edge(words, numbers, box[1], rows[i].size, foot, depth, alone)
    return found


def running(number: int, here: Edges, around: dict[int, Edges], body: float, pages: int) -> set[int]:
    """Rows of the page ``number`` that the pages ``around`` it show to be running heads or feet.

    body: the size of the text's type; pages: how many the document has.
    """
    found: set[int] = set()
    for i, edge in sorted(here.items(), key=lambda item: item[1].depth):
        repeated = counted = 0
        for page, others in around.items():
            same = [
                e
                for e in others.values()
                if (e.words, e.foot, e.is_page_number) == (edge.words, edge.foot, edge.is_page_number)
            ]
            repeated += any(
                edge.is_level(e) and (edge.is_page_number or e.numbers == edge.numbers) for e in same
            )
            counted += any(edge.counts_on(e, page - number) for e in same)
        if edge.is_page_number or pages == 2:
            needed = 1
        else:
            needed = 2
            # What stands under a row of the page's own is a title that recurs, unless nearly all pages have it.
            outer = (n for n, e in here.items() if e.foot == edge.foot and e.depth < edge.depth)
            if any(n not in found and abs(here[n].top - edge.top) >= SAME_HEIGHT for n in outer):
                needed = 3 * len(around) // 4 + 1
        # Titles count, too: "Part 1", "Part 2".
        if max(repeated, counted if edge.foot or edge.size <= 1.12 * body else 0) >= needed:
            found.add(i)
    return found


def _whole(number: str) -> int:
    """A page's number, in Roman digits too; 0 where it is none."""
    if number.isdecimal():
        return int(number)
    values = [_VALUES.get(c, 0) for c in number]
    return sum(-a if a < b else a for a, b in zip(values, [*values[1:], 0], strict=True))
