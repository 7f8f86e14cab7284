"""The shape of the tree: sections whole, fan-out bounded, depth with the logarithm."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tq.ingest.cut import Boundary
from tq.ingest.rollup import Leaf, Parent, roll_up


def leaves_of(levels: list[int | None]) -> tuple[list[Leaf], list[Boundary]]:
    """A leaf of ten lines for each entry; one with a level opens a section."""
    leaves = [
        Leaf(f"leaf {at}", at * 10 + 1, at * 10 + 10, f"title {at}" if level else None, level)
        for at, level in enumerate(levels)
    ]
    return leaves, [Boundary(leaf.start, leaf.title, leaf.level) for leaf in leaves if leaf.level]


def depth_of(parents: list[Parent]) -> int:
    depth: dict[str, int] = {}
    for parent in parents:
        depth[parent.id] = 1 + max(depth.get(child, 0) for child in parent.children)
    return depth[parents[-1].id] if parents else 0


def in_order(parents: list[Parent]) -> list[str]:
    below = {parent.id: parent.children for parent in parents}

    def walk(node: str) -> list[str]:
        return [leaf for child in below[node] for leaf in walk(child)] if node in below else [node]

    return walk(parents[-1].id) if parents else []


@given(
    st.lists(st.sampled_from([None, None, None, 1, 2, 3, 6]), min_size=2, max_size=300), st.integers(2, 26)
)
def test_every_leaf_hangs_once_and_in_order(levels: list[int | None], fan_out: int) -> None:
    leaves, headings = leaves_of(levels)
    parents = roll_up(leaves, headings, fan_out)
    assert in_order(parents) == [leaf.id for leaf in leaves]
    assert all(2 <= len(parent.children) <= fan_out for parent in parents)
    assert len({parent.id for parent in parents}) == len(parents)
    assert depth_of(parents) <= 6 * (math.log(len(leaves), fan_out) + 2)


def test_one_leaf_is_the_root() -> None:
    leaves, headings = leaves_of([1])
    assert roll_up(leaves, headings, 4) == []


def test_no_leaf_no_tree() -> None:
    assert roll_up([], [], 4) == []


def test_a_section_is_one_node() -> None:
    leaves, headings = leaves_of([1, None, 2, None, 2, 1, None])
    parents = roll_up(leaves, headings, 26)
    titled = {parent.title: parent.children for parent in parents}
    assert titled["title 2"] == ("leaf 2", "leaf 3")
    assert in_order(parents) == [leaf.id for leaf in leaves]
    first = next(parent for parent in parents if parent.title == "title 0")
    assert first.children[:2] == ("leaf 0", "leaf 1")
    assert first.children[-1] == "leaf 4"
    assert next(parent for parent in parents if parent.title == "title 5").level == 1


def test_the_title_of_a_document_adds_no_level() -> None:
    leaves, headings = leaves_of([1, 2, 2])
    parents = roll_up(leaves, headings, 26)
    assert len(parents) == 1
    assert parents[0].title == "title 0"


@pytest.mark.parametrize("count", [27, 100, 677, 5000])
def test_a_flat_document_is_balanced(count: int) -> None:
    leaves, headings = leaves_of([None] * count)
    parents = roll_up(leaves, headings, 26)
    assert depth_of(parents) == math.ceil(math.log(count, 26) - 1e-9)
    sizes = sorted(len(parent.children) for parent in parents[: math.ceil(count / 26)])
    assert sizes[-1] - sizes[0] <= 1


def test_headings_merged_into_a_leaf_open_nothing() -> None:
    leaves = [Leaf("a", 1, 10, "A", 1), Leaf("b", 11, 20), Leaf("c", 21, 30, "C", 1)]
    headings = [Boundary(1, "A", 1), Boundary(15, "small", 1), Boundary(21, "C", 1)]
    parents = roll_up(leaves, headings, 26)
    assert next(parent for parent in parents if parent.title == "A").children == ("a", "b")


def test_a_group_says_from_where_to_where() -> None:
    leaves, headings = leaves_of([1] * 30)
    parents = roll_up(leaves, headings, 26)
    assert parents[0].title == "title 0 – title 14"
    assert all(len(parent.title or "") <= 200 for parent in parents)


def test_fan_out_is_at_least_two() -> None:
    with pytest.raises(ValueError, match="fan_out"):
        roll_up([], [], 1)
