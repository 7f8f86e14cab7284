"""Windows and leaves: they tile the document, and structure is kept where the limits allow."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tq.ingest.cut import BLANK, FURNITURE, HEADING, SENTENCE_END, TABLE, Boundary, Leaf, cut, openings
from tq.ingest.windows import Windows, cost, is_nothing, shown_chars
from tq.model.limits import Fit

FIT = Fit(
    window_chars=400,
    leaf_max_chars=300,
    leaf_min_chars=60,
    piece_chars=300,
    fan_out=4,
    bullets=4,
    bullet_chars=80,
)


def ranges(leaves: list[Leaf]) -> list[tuple[int, int]]:
    return [(leaf.start, leaf.end) for leaf in leaves]


def tiles(leaves: list[Leaf], count: int) -> bool:
    at = 1
    for leaf in leaves:
        if leaf.start != at or leaf.end < leaf.start:
            return False
        at = leaf.end + 1
    return at == count + 1


@given(st.data())
def test_leaves_tile_any_document_and_keep_the_limit(data: st.DataObject) -> None:
    count = data.draw(st.integers(1, 120))
    costs = data.draw(st.lists(st.integers(4, 700), min_size=count, max_size=count))
    flags = data.draw(
        st.lists(
            st.sampled_from([0, BLANK, SENTENCE_END, HEADING, TABLE, FURNITURE]),
            min_size=count,
            max_size=count,
        )
    )
    lines = data.draw(st.sets(st.integers(1, count), max_size=count))
    boundaries = {
        line: Boundary(line, f"title {line}", data.draw(st.sampled_from([None, 1, 2, 3])))
        for line in sorted(lines)
    }
    leaves, _ = cut(costs, flags, boundaries, FIT)
    assert tiles(leaves, count)
    for leaf in leaves:
        assert leaf.chars == sum(costs[leaf.start - 1 : leaf.end])
        assert leaf.chars <= FIT.leaf_max_chars or leaf.start == leaf.end
        assert leaf.blank == all(flag & BLANK for flag in flags[leaf.start - 1 : leaf.end])


def test_a_document_without_lines_has_no_leaf() -> None:
    assert cut([], [], {}, FIT) == ([], [])


def test_each_section_is_one_leaf() -> None:
    boundaries = {1: Boundary(1, "One", 1), 4: Boundary(4, "Two", 1), 7: Boundary(7, "Three", 1)}
    leaves, notes = cut([30] * 9, [HEADING, 0, 0] * 3, boundaries, FIT)
    assert ranges(leaves) == [(1, 3), (4, 6), (7, 9)]
    assert [leaf.title for leaf in leaves] == ["One", "Two", "Three"]
    assert notes == []


def test_short_neighbours_merge_inside_a_section_only() -> None:
    boundaries = {1: Boundary(1, "One", 1), 3: Boundary(3), 5: Boundary(5, "Two", 1)}
    leaves, notes = cut([25] * 6, [HEADING, 0, 0, 0, HEADING, 0], boundaries, FIT)
    assert ranges(leaves) == [(1, 4), (5, 6)]
    assert [(note.kind, note.start, note.end) for note in notes] == [("merged", 1, 4)]


def test_headings_go_with_what_follows() -> None:
    boundaries = {1: Boundary(1, "Part", 1), 3: Boundary(3, "Section", 2), 6: Boundary(6, "Other", 2)}
    flags = [HEADING, BLANK, HEADING, 0, 0, HEADING, 0]
    leaves, _ = cut([20, 4, 20, 90, 90, 20, 90], flags, boundaries, FIT)
    assert ranges(leaves) == [(1, 5), (6, 7)]
    assert (leaves[0].level, leaves[0].title) == (1, "Section")


def test_an_empty_section_does_not_swallow_its_sibling() -> None:
    boundaries = {1: Boundary(1, "Empty", 2), 2: Boundary(2, "Full", 2)}
    leaves, _ = cut([70, 20, 90], [HEADING, HEADING, 0], boundaries, FIT)
    assert ranges(leaves) == [(1, 1), (2, 3)]


def test_blank_lines_at_the_top_belong_below() -> None:
    leaves, _ = cut([4, 4, 20, 90], [BLANK, BLANK, HEADING, 0], {3: Boundary(3, "One", 1)}, FIT)
    assert ranges(leaves) == [(1, 4)]
    assert leaves[0].title == "One"


def test_a_table_is_a_leaf_of_its_own_and_whole() -> None:
    flags = [0] + [TABLE] * 5 + [BLANK, 0]
    leaves, _ = cut([90] + [40] * 5 + [4, 90], flags, {4: Boundary(4)}, FIT)
    assert ranges(leaves) == [(1, 1), (2, 7), (8, 8)]
    assert [leaf.kind for leaf in leaves] == ["text", "table", "text"]


def test_a_table_goes_on_over_the_feet_and_heads_of_pages() -> None:
    flags = [0] + [TABLE] * 2 + [FURNITURE] * 2 + [TABLE] * 3 + [FURNITURE, 0]
    leaves, _ = cut([90] + [30] * 7 + [10, 90], flags, {}, FIT)
    assert [(leaf.start, leaf.end, leaf.kind) for leaf in leaves] == [
        (1, 1, "text"),
        (2, 8, "table"),
        (9, 10, "text"),
    ]


def test_an_overlong_stretch_is_cut_evenly_at_its_best_lines() -> None:
    flags = [SENTENCE_END if line % 3 == 0 else 0 for line in range(1, 19)]
    flags[8] = BLANK
    leaves, notes = cut([30] * 18, flags, {}, FIT)
    assert ranges(leaves) == [(1, 9), (10, 18)]
    assert [note.kind for note in notes] == ["forced cut"]


def test_a_line_longer_than_a_leaf_is_a_leaf() -> None:
    leaves, _ = cut([90, 5_000_000, 90, 90, 90], [0] * 5, {}, FIT)
    assert (2, 2) in ranges(leaves)
    assert tiles(leaves, 5)


def test_headings_without_text_do_not_become_a_leaf_a_line() -> None:
    count = 3000
    boundaries = {line: Boundary(line, f"item {line}", 2) for line in range(1, count + 1)}
    leaves, _ = cut([14] * count, [HEADING] * count, boundaries, FIT)
    assert tiles(leaves, count)
    assert len(leaves) <= count // 3


def test_notes_are_bounded() -> None:
    boundaries = {line: Boundary(line, None, 1) for line in range(1, 4001, 20)}
    _, notes = cut([40] * 4000, [0] * 4000, boundaries, FIT)
    assert len(notes) == 101
    assert "99 more" not in notes[0].detail
    assert notes[-1].detail.startswith("100 more")


def test_a_million_lines_take_no_time() -> None:
    leaves, _ = cut([40] * 200_000, [0] * 200_000, {}, FIT)
    assert tiles(leaves, 200_000)


def test_openings_stop_where_a_section_does_not_go_deeper() -> None:
    headings = [Boundary(1, "A", 1), Boundary(2, "B", 2), Boundary(3, "C", 2), Boundary(9, "D", 1)]
    lines = [heading.line_no for heading in headings]
    assert [heading.title for heading in openings(1, 5, headings, lines)] == ["A", "B"]
    assert openings(4, 8, headings, lines) == []


@given(st.lists(st.tuples(st.integers(0, 2000), st.booleans()), min_size=1, max_size=200))
def test_windows_are_equal_and_complete(lines: list[tuple[int, bool]]) -> None:
    windows = Windows(400, shown_chars(400))
    for number, (chars, blank) in enumerate(lines, 1):
        windows.add(number, 0 if blank else chars, blank)
    windows.finish()
    at = 1
    for start, end, blank in windows.found:
        assert start == at
        at = end + 1
        shown = [cost(min(0 if b else c, shown_chars(400)), b) for c, b in lines[start - 1 : end]]
        assert sum(shown) <= 400 or start == end
        assert blank == all(b for _, b in lines[start - 1 : end])
    assert at == len(lines) + 1


def test_what_holds_nothing_to_read() -> None:
    assert is_nothing(" \t\u00a0")
    assert is_nothing("-----")
    assert not is_nothing("a")
