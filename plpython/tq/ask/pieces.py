"""What one read shows: source lines in pieces that fit, or bullets beside children in groups that fit."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tq.ask.records import Node, NodeContent, StoredLine
from tq.model.limits import LETTERS, Fit
from tq.model.tasks import Item
from tq.text.sentences import pieces

NUMBER_CHARS = 12  # of a line's number and its frame
CHILD_CHARS = 220  # of a child's letter, id, range and scent
BULLET_SHARE = 0.5  # of the room: bullets, where they and the children are too many


def line_items(lines: Sequence[StoredLine], piece_chars: int) -> list[Item]:
    """The lines that say anything, long ones in pieces that share the line's number."""
    items: list[Item] = []
    for line in lines:
        if not line.text.strip():
            continue
        if len(line.text) <= piece_chars:
            items.append(Item(line.number, line.text, line.number, line.number, line.kind, line.level))
            continue
        for first, last in pieces(line.text, piece_chars):
            if text := line.text[first:last].strip():
                items.append(Item(line.number, text, line.number, line.number, line.kind, line.level))
    return items


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


def best(groups: Sequence[list[Item]], limit: int, weigh: Callable[[str], float]) -> list[int]:
    """The places of the `limit` groups that weigh most, in order of place."""
    if len(groups) <= limit:
        return list(range(len(groups)))
    weighed = [(-weigh("\n".join(item.text for item in group)), place) for place, group in enumerate(groups)]
    return sorted(place for _, place in sorted(weighed)[:limit])


def inner_groups(
    content: NodeContent, fit: Fit, room: int
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
        size = len(first_bullet) + CHILD_CHARS
        if group and (len(group) == min(fit.fan_out, len(LETTERS)) or spent + size > left):
            groups.append((items, group))
            group, spent = [], 0
        group.append((LETTERS[len(group)], node, first_bullet))
        spent += size
    groups.append((items, group))
    return groups
