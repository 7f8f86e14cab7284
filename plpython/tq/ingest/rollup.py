"""The shape of the tree above the leaves: sections are nodes, and no node has more children than the limits allow."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field

from tq.ingest.cut import Boundary, openings

MAX_TITLE = 200


@dataclass(frozen=True, slots=True)
class Leaf:
    id: str
    start: int
    end: int
    title: str | None = None
    level: int | None = None


@dataclass(frozen=True, slots=True)
class Parent:
    """A node above the leaves. `children` are ids of leaves or parents, in the order of their lines."""

    id: str
    children: tuple[str, ...]
    title: str | None
    level: int | None


@dataclass(slots=True)
class _Section:
    level: int
    title: str | None = None
    items: list[_Section | Leaf] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Node:
    id: str
    title: str | None


def roll_up(leaves: Sequence[Leaf], headings: Sequence[Boundary], fan_out: int) -> list[Parent]:
    """The parents, children before their parents, the root last; none where a single leaf is the root.

    leaves, headings (boundaries with a level): ascending. Depth grows with the logarithm of the number of leaves, and
    by at most one for every level of headings.
    """
    if fan_out < 2:
        raise ValueError(f"fan_out must be at least 2, not {fan_out}")
    parents: list[Parent] = []
    if leaves:
        _build(_sections(leaves, headings), fan_out, parents)
    return parents


def _sections(leaves: Sequence[Leaf], headings: Sequence[Boundary]) -> _Section:
    lines = [heading.line_no for heading in headings]
    root = _Section(0)
    open_sections = [root]
    for leaf in leaves:
        # A leaf that opens no section lies in the one that is open, whatever small headings were merged into it.
        opened = openings(leaf.start, leaf.end, headings, lines) if leaf.level is not None else []
        for heading in opened:
            level = heading.level or 6
            while open_sections[-1].level >= level:
                open_sections.pop()
            section = _Section(level, heading.title)
            open_sections[-1].items.append(section)
            open_sections.append(section)
        open_sections[-1].items.append(leaf)
    return root


def _build(section: _Section, fan_out: int, parents: list[Parent]) -> _Node:
    nodes: list[_Node] = []
    for item in section.items:
        nodes.append(_Node(item.id, item.title) if isinstance(item, Leaf) else _build(item, fan_out, parents))
    while len(nodes) > fan_out:
        groups = _even(nodes, -(-len(nodes) // fan_out))
        nodes = [
            group[0] if len(group) == 1 else _parent(group, _span(group), None, parents) for group in groups
        ]
    if len(nodes) == 1:
        return _Node(nodes[0].id, section.title or nodes[0].title)
    return _parent(nodes, section.title, section.level or None, parents)


def _parent(children: Sequence[_Node], title: str | None, level: int | None, parents: list[Parent]) -> _Node:
    made = Parent(str(uuid.uuid4()), tuple(child.id for child in children), title, level)
    parents.append(made)
    return _Node(made.id, title)


def _even(nodes: Sequence[_Node], groups: int) -> list[Sequence[_Node]]:
    """The nodes in `groups` runs whose sizes differ by at most one."""
    size, larger = divmod(len(nodes), groups)
    found: list[Sequence[_Node]] = []
    at = 0
    for group in range(groups):
        end = at + size + (group < larger)
        found.append(nodes[at:end])
        at = end
    return found


def _span(group: Sequence[_Node]) -> str | None:
    titles = [node.title for node in group if node.title]
    if not titles:
        return None
    text = titles[0] if titles[0] == titles[-1] else f"{_head(titles[0])} – {_head(titles[-1])}"
    return text[:MAX_TITLE]


def _head(title: str) -> str:
    return title if len(title) <= MAX_TITLE // 2 - 2 else title[: MAX_TITLE // 2 - 3] + "…"
