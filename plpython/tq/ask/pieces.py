"""What one read shows: source lines in pieces that fit, or bullets beside children in groups that fit."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from tq.ask.records import Node, NodeContent, StoredLine
from tq.model.limits import LETTERS, Fit
from tq.model.tasks import Item
from tq.text.sentences import pieces

NUMBER_CHARS = 12  # of a line's number and its frame
CHILD_CHARS = 220  # of a child's letter, id, range and scent
BULLET_SHARE = 0.5  # of the room: bullets, where they and the children are too many


def line_items(lines: Sequence[StoredLine], block_chars: int) -> list[Item]:
    """The lines that say anything; one longer than a block in blocks that share its number."""
    items: list[Item] = []
    for line in lines:
        for first, last in blocks(line.text, block_chars):
            if text := line.text[first:last].strip():
                items.append(Item(line.number, text, line.number, line.number, line.kind, line.level))
    return items


def blocks(text: str, size: int) -> list[tuple[int, int]]:
    """Contiguous spans of at most `size` characters, cut behind a sentence or a word where one ends in time. Rough,
    so that a line of millions of characters costs little; what is shown of it is cut with care."""
    spans: list[tuple[int, int]] = []
    start = 0
    while len(text) - start > size:
        stop = start + size
        floor = start + size // 2
        cut = max(text.rfind(mark, floor, stop) + len(mark) for mark in (". ", "。"))
        if cut <= floor:
            cut = text.rfind(" ", floor, stop) + 1
        if cut <= floor:
            cut = stop
        spans.append((start, cut))
        start = cut
    spans.append((start, len(text)))
    return spans


def refine(items: Sequence[Item], piece_chars: int) -> list[Item]:
    """Items longer than a piece cut into pieces."""
    fine: list[Item] = []
    for item in items:
        if len(item.text) <= piece_chars:
            fine.append(item)
            continue
        for first, last in pieces(item.text, piece_chars):
            if text := item.text[first:last].strip():
                fine.append(replace(item, text=text))
    return fine


class Rough:
    """Weighs text by the question's terms without reading its words: by the beginnings of the terms found in it."""

    def __init__(self, weights: Mapping[str, float]) -> None:
        self._weights: dict[str, float] = {}
        for term, weight in weights.items():
            # A stem may differ from its words in the last letter.
            start = term[: max(2, len(term) - 1)]
            self._weights[start] = max(weight, self._weights.get(start, 0.0))
        longest = sorted(self._weights, key=lambda start: (-len(start), start))
        self._pattern = re.compile("|".join(map(re.escape, longest)) or r"(?!)")

    def __call__(self, text: str) -> float:
        return sum(self._weights[start] for start in self._starts(text))

    def _starts(self, text: str) -> set[str]:
        return set(self._pattern.findall(text.casefold()))

    def best(self, groups: Sequence[list[Item]], limit: int, pulse: Callable[[], None]) -> list[int]:
        """The places of the `limit` groups that weigh most, in order of place; each term in at least one of them, the
        rarest first. Where all are pieces of one line, the line index cannot tell that a term stands in one place."""
        if len(groups) <= limit:
            return list(range(len(groups)))
        held: list[set[str]] = []
        for group in groups:
            pulse()
            held.append(self._starts("\n".join(item.text for item in group)))
        weights = [sum(self._weights[start] for start in starts) for starts in held]
        heaviest = sorted(range(len(groups)), key=lambda place: (-weights[place], place))
        chosen: list[int] = []
        counts = Counter(start for starts in held for start in starts)
        for start in sorted(counts, key=lambda start: (counts[start], start)):
            if not any(start in held[place] for place in chosen):
                chosen.append(next(place for place in heaviest if start in held[place]))
        chosen += [place for place in heaviest if place not in chosen]
        return sorted(chosen[:limit])

    def excerpt(self, text: str, size: int) -> str:
        """The part of at most `size` characters that weighs most."""
        for limit in (8 * size, size):
            if len(text) > limit:
                first, last = max(blocks(text, limit), key=lambda span: self(text[slice(*span)]))
                text = text[first:last]
        return text.strip()


def fill(items: Sequence[Item], room: int) -> list[list[Item]]:
    """Consecutive items in groups of at most `room` characters; at least one group, one item a group."""
    groups: list[list[Item]] = [[]]
    used = 0
    for item in items:
        size = len(item.text) + NUMBER_CHARS
        if groups[-1] and used + size > room:
            groups.append([])
            used = 0
        groups[-1].append(item)
        used += size
    return groups


def inner_groups(
    content: NodeContent, fit: Fit, room: int, size_of: Callable[[Node, str], int]
) -> list[tuple[list[Item], list[tuple[str, Node, str]]]]:
    """Bullets beside children by letter; in several groups where the tree was built for a larger model."""
    items: list[Item] = []
    used = 0
    for number, (text, first, last) in enumerate(content.bullets, 1):
        used += len(text) + NUMBER_CHARS
        if items and used > room * BULLET_SHARE:
            break
        items.append(Item(number, text, first, last))
    left = max(room - used, int(room * (1 - BULLET_SHARE)))
    groups: list[tuple[list[Item], list[tuple[str, Node, str]]]] = []
    group: list[tuple[str, Node, str]] = []
    spent = 0
    for node, bullet in content.children:
        first_bullet = bullet[: fit.bullet_chars * 2]
        size = size_of(node, first_bullet)
        if group and (len(group) == len(LETTERS) or spent + size > left):
            groups.append((items, group))
            group, spent = [], 0
        group.append((LETTERS[len(group)], node, first_bullet))
        spent += size
    groups.append((items, group))
    return groups
