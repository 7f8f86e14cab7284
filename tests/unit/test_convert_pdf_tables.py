"""Tables of PDF pages: by drawn lines or by alignment, over pages, beside columns; and that no text is lost on the way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pymupdf as untyped
import pytest
from convert_help import Bytes, Result, parse
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tq_loader.convert.__main__ import run
from tq_loader.convert.grid import Drawn, rules
from tq_loader.convert.page import Page
from tq_loader.convert.pdf import FLAGS, compare
from tq_loader.convert.protocol import TABLES, Job, Writer

pymupdf: Any = untyped  # the library has no types

FEES = [
    ["Service", "Fee", "Notice"],
    ["Check-up", "24.50", "48 hours"],
    ["X-ray", "1,250.00", "2 weeks"],
    ["Crown", "900.00", "3 weeks"],
]
SENTENCE = (
    "The practice keeps a record of each visit and of what was paid for it in the year that it was made."
)


def convert(document: Any, tables: str = "auto") -> Result:
    sink = Bytes()
    run(bytearray(document.tobytes()), Job("a.pdf", tables=tables), Writer(sink))
    return parse(bytes(sink.data))


def grid(
    page: Any,
    cells: Sequence[Sequence[str]],
    *,
    at: tuple[float, float] = (60, 100),
    size: tuple[float, float] = (120, 24),
    lines: bool = True,
    fill: bool = False,
) -> None:
    """A table; a newline in a cell wraps it."""
    (x, y), (wide, high) = at, size
    for r, row in enumerate(cells):
        for c, text in enumerate(row):
            box = pymupdf.Rect(x + c * wide, y + r * high, x + (c + 1) * wide, y + (r + 1) * high)
            if lines:
                page.draw_rect(box, width=0.7)
            if fill:
                page.draw_rect(box + pymupdf.Rect(1, 1, -1, -1), color=None, fill=(0.9, 0.9, 0.97))
            for n, line in enumerate(text.split("\n")):
                page.insert_text((box.x0 + 4, box.y0 + 14 + 11 * n), line, fontsize=9)


def one_page(*draw: Any) -> Any:
    document = pymupdf.open()
    page = document.new_page(width=595, height=842)
    for each in draw:
        each(page)
    return document


def rows(result: Result) -> list[str]:
    return [row[0] for row in result.rows if row[2] == "table"]


FEE_LINES = [
    "Service | Fee | Notice",
    "Service: Check-up | Fee: 24.50 | Notice: 48 hours",
    "Service: X-ray | Fee: 1,250.00 | Notice: 2 weeks",
    "Service: Crown | Fee: 900.00 | Notice: 3 weeks",
]


@pytest.mark.parametrize(("lines", "fill"), [(True, False), (False, False), (False, True)])
def test_a_row_is_a_line_that_can_be_read_alone(lines: bool, fill: bool) -> None:
    result = convert(one_page(lambda p: grid(p, FEES, lines=lines, fill=fill)))
    assert rows(result) == FEE_LINES
    first, second = result.rows[0], result.rows[1]
    assert first[4]["header"] is True
    assert first[4]["columns"] == {"Service": "A", "Fee": "B", "Notice": "C"}
    assert (second[4]["table"], second[4]["row"]) == (1, 2)
    assert second[4]["cells"] == {"Service": "Check-up", "Fee": "24.50", "Notice": "48 hours"}
    x0, y0, x1, y1 = second[4]["bbox"]
    assert 60 < x0 < 70 < 330 < x1 < 420
    assert 124 < y0 < y1 < 148


def test_cells_are_typed_where_that_loses_nothing() -> None:
    cells = [["Room", "Beds", "Area"], ["North", "12", "20.5"], ["South", "007", "1,250"]]
    result = convert(one_page(lambda p: grid(p, cells)))
    assert [row[4]["cells"] for row in result.rows[1:]] == [
        {"Room": "North", "Beds": 12, "Area": 20.5},
        {"Room": "South", "Beds": "007", "Area": "1,250"},
    ]


@pytest.mark.parametrize("lines", [True, False])
def test_a_wrapped_cell_is_put_together(lines: bool) -> None:
    cells = [
        ["Service", "What it includes", "Fee"],
        ["Check-up", "examination of the teeth\nand of the gums", "24.50"],
        ["X-ray", "both jaws", "31.00"],
        ["Crown", "post-\noperative visits, too", "900.00"],
    ]
    result = convert(one_page(lambda p: grid(p, cells, size=(130, 34), lines=lines)))
    assert rows(result)[1:] == [
        "Service: Check-up | What it includes: examination of the teeth and of the gums | Fee: 24.50",
        "Service: X-ray | What it includes: both jaws | Fee: 31.00",
        "Service: Crown | What it includes: post-operative visits, too | Fee: 900.00",
    ]


def test_empty_cells_are_left_out_and_merged_ones_go_on() -> None:
    def draw(page: Any) -> None:
        # The first column's second and third cell are one.
        for y in (100, 124, 172):
            page.draw_line((60, y), (420, y))
        page.draw_line((180, 148), (420, 148))
        for x in (60, 180, 300, 420):
            page.draw_line((x, 100), (x, 172))
        for x, y, text in (
            (64, 114, "Ward"), (184, 114, "Bed"), (304, 114, "Patients"), (64, 140, "North"), (184, 138, "a"), (304, 138, "3"),
            (184, 162, "b"), (304, 162, "4"),
        ):  # fmt: skip
            page.insert_text((x, y), text, fontsize=9)

    result = convert(one_page(draw))
    assert rows(result) == [
        "Ward | Bed | Patients",
        "Ward: North | Bed: a | Patients: 3",
        "Ward: North | Bed: b | Patients: 4",
    ]


def test_a_name_over_several_columns_names_each() -> None:
    cells = [
        ["Visits in March", "", "41", "38"],
        ["Visits in April", "", "52", "47"],
        ["Visits in May", "", "40", "44"],
    ]

    def draw(page: Any) -> None:
        page.insert_text((320, 80), "Planned and done", fontsize=9)
        page.draw_line((296, 84), (480, 84))
        page.insert_text((300, 96), "2022", fontsize=9)
        page.insert_text((420, 96), "2023", fontsize=9)
        grid(page, cells, lines=False, at=(60, 100), size=(118, 20))

    result = convert(one_page(draw))
    assert rows(result)[:3] == [
        "Planned and done",
        "2022 | 2023",
        "Visits in March | Planned and done / 2022: 41 | Planned and done / 2023: 38",
    ]


def test_rows_below_a_label_go_by_its_name() -> None:
    def draw(page: Any) -> None:
        entries = [
            (60, "Net income per share:", ("", "")), (72, "Basic", ("0.83", "0.65")), (72, "Diluted", ("0.82", "0.64")),
            (60, "Shares used:", ("", "")), (72, "Basic", ("2,470", "2,506")), (72, "Total", ("4,000", "4,100")),
            (60, "Staff", ("12", "13")),
        ]  # fmt: skip
        page.insert_text((300, 86), "2022", fontsize=9)
        page.insert_text((400, 86), "2023", fontsize=9)
        for i, (x, name, figures) in enumerate(entries):
            page.insert_text((x, 100 + 14 * i), name, fontsize=9)
            for c, figure in enumerate(figures):
                page.insert_text((300 + 100 * c, 100 + 14 * i), figure, fontsize=9)

    result = convert(one_page(draw))
    assert rows(result)[1:] == [
        "Net income per share:",
        "Net income per share: Basic | 2022: 0.83 | 2023: 0.65",
        "Net income per share: Diluted | 2022: 0.82 | 2023: 0.64",
        "Shares used:",
        "Shares used: Basic | 2022: 2,470 | 2023: 2,506",
        "Shares used: Total | 2022: 4,000 | 2023: 4,100",
        "Staff | 2022: 12 | 2023: 13",
    ]
    # The label is no value of the row.
    assert result.rows[2][4]["cells"] == {"A": "Basic", "2022": 0.83, "2023": 0.65}


def test_a_table_over_pages_keeps_its_header() -> None:
    document = pymupdf.open()
    for number in range(3):
        page = document.new_page(width=595, height=842)
        page.insert_text((60, 40), "Price list of the practice", fontsize=8)
        page.insert_text((60, 820), f"Page {number + 1}", fontsize=8)
        own = [[f"Service {number}-{i}", f"{number}{i}.50", f"{i + 1} days"] for i in range(20)]
        head = [FEES[0]] if number < 2 else []  # repeated on the second page, not on the third
        grid(page, head + own, at=(60, 100))
        if number == 2:
            page.insert_text((60, 700), SENTENCE, fontsize=9)
    result = convert(document)
    named = [row for row in result.rows if row[0].startswith("Service: Service ")]
    assert len(named) == 60
    assert {row[4]["table"] for row in named} == {1}
    assert [row[4]["row"] for row in named] == [*range(2, 22), *range(23, 43), *range(43, 63)]
    assert [row[1] for row in named] == [1] * 20 + [2] * 20 + [3] * 20
    assert named[-1][0] == "Service: Service 2-19 | Fee: 219.50 | Notice: 20 days"
    headers = [(row[1], row[2]) for row in result.rows if row[0] == "Service | Fee | Notice"]
    assert headers == [(1, "table"), (2, "furniture")]


def test_text_between_two_tables_ends_the_first() -> None:
    document = pymupdf.open()
    for _ in range(2):
        page = document.new_page(width=595, height=842)
        page.insert_text((60, 80), SENTENCE, fontsize=9)
        grid(page, FEES)
    assert {row[4]["table"] for row in convert(document).rows if row[2] == "table"} == {1, 2}


def test_a_table_in_a_column_stays_in_it() -> None:
    def draw(page: Any) -> None:
        for i in range(30):
            page.insert_text((50, 100 + 13 * i), f"a{i} {SENTENCE[:40]}", fontsize=9)
        for i in range(10):
            page.insert_text((320, 100 + 13 * i), f"b{i} {SENTENCE[:40]}", fontsize=9)
        grid(page, FEES, at=(320, 240), size=(72, 20))
        for i in range(10):
            page.insert_text((320, 350 + 13 * i), f"c{i} {SENTENCE[:40]}", fontsize=9)

    texts = [row[0].split()[0] for row in convert(one_page(draw)).rows]
    expected = [f"a{i}" for i in range(30)] + [f"b{i}" for i in range(10)]
    assert texts == expected + ["Service"] + ["Service:"] * 3 + [f"c{i}" for i in range(10)]


@pytest.mark.parametrize("turn", [90, 180, 270])
def test_tables_of_turned_pages(turn: int) -> None:
    document = one_page(lambda p: grid(p, FEES))
    document[0].set_rotation(turn)
    upright = convert(one_page(lambda p: grid(p, FEES)))
    turned = convert(document)
    assert rows(turned) == FEE_LINES
    # Boxes are of the page before it is turned.
    assert [row[4]["bbox"] for row in turned.rows] == [row[4]["bbox"] for row in upright.rows]


def test_a_table_that_lies_on_its_side() -> None:
    def draw(page: Any) -> None:
        for r, row in enumerate(FEES):
            for c, text in enumerate(row):
                page.insert_text((120 + 24 * r, 700 - 130 * c), text, fontsize=9, rotate=90)

    assert rows(convert(one_page(draw))) == FEE_LINES


@pytest.mark.parametrize("strategy", TABLES)
def test_the_strategy_can_be_chosen(strategy: str) -> None:
    narrow = [["ab", "cd", "ef"], ["12", "345", "67"], ["89", "012", "34"]]

    def draw(page: Any) -> None:
        grid(page, narrow, at=(60, 100), size=(22, 20))  # by lines alone: the columns nearly touch
        page.insert_text((60, 300), SENTENCE, fontsize=9)
        grid(page, FEES, at=(60, 400), lines=False)  # by alignment alone
        grid(page, narrow, at=(60, 600), size=(22, 20), lines=False, fill=True)  # by coloured areas alone

    result = convert(one_page(draw), strategy)
    found = {
        name: any(text in row for row in rows(result))
        for name, text in (("lines", "ab: 12"), ("text", "Service: X-ray"))
    }
    assert found["lines"] == (strategy in ("auto", "lines", "lines_strict"))
    assert found["text"] == (strategy in ("auto", "text"))
    coloured = [row for row in rows(result) if row.startswith("ab: 12")]
    assert len(coloured) == {"auto": 1, "lines": 2, "lines_strict": 1}.get(strategy, 0)
    if strategy == "none":
        assert "X-ray" in " ".join(result.texts)


def test_what_is_no_table() -> None:
    def frames(page: Any) -> None:
        # A page laid out in boxes, a letter's head, a list, a form of one row.
        for i, x in enumerate((50, 300)):
            page.draw_rect((x, 60, x + 240, 360))
            for n in range(20):
                page.insert_text((x + 6, 80 + 13 * n), f"{i}{n} {SENTENCE[:38]}", fontsize=9)
        for n in range(4):
            page.insert_text((60, 420 + 16 * n), f"{n + 1}.", fontsize=9)
            page.insert_text((90, 420 + 16 * n), SENTENCE[n : n + 60], fontsize=9)

    assert rows(convert(one_page(frames))) == []


def test_a_drawing_of_thousands_of_lines_costs_no_text() -> None:
    def plan(page: Any) -> None:
        shape = page.new_shape()
        for i in range(6000):
            shape.draw_line((i % 500, i // 500), (i % 500 + 40, i // 500))
            shape.draw_line((i % 500, i % 700), (i % 500, i % 700 + 60))
            shape.draw_line((i % 300, i % 700), (i % 300 + 9, i % 700 + 60))
            shape.finish()
        shape.commit()
        page.insert_text((60, 760), SENTENCE, fontsize=9)

    assert convert(one_page(plan)).texts == [SENTENCE]


def test_ruled_cells_are_those_that_the_library_finds() -> None:
    """PyMuPDF's own finder, slow as it is, sees the same rows, columns and cells."""
    page = one_page(
        lambda p: grid(p, FEES), lambda p: grid(p, [["a", "b"], ["c", "d"]], at=(80, 400), size=(150, 30))
    )[0]
    theirs = sorted(
        tuple(round(v) for v in cell)
        for table in page.find_tables(strategy="lines_strict").tables
        for cell in table.cells
    )
    blocks = page.get_text("dict", flags=FLAGS | pymupdf.TEXT_COLLECT_VECTORS)["blocks"]
    across, down = rules([Drawn(b["bbox"], b["stroked"]) for b in blocks if b["type"] == 3], strict=True)
    ours: list[tuple[int, ...]] = []
    for group in ((100, 200), (400, 460)):
        ys = sorted(r.at for r in across if group[0] - 2 <= r.at <= group[1] + 2)
        xs = sorted(r.at for r in down if group[0] - 2 <= r.start and r.end <= group[1] + 2)
        ours += [(round(a), round(c), round(b), round(d)) for a, b in pairwise(xs) for c, d in pairwise(ys)]
    near = [
        min(max(abs(a - b) for a, b in zip(cell, other, strict=True)) for other in theirs) for cell in ours
    ]
    assert len(ours) == len(theirs) == 12 + 4
    assert max(near) <= 1


def test_lines_that_continue_one_another_are_one() -> None:
    pieces = [
        Drawn((10, 20, 40, 21), True),
        Drawn((42, 20.4, 90, 21.4), True),
        Drawn((200, 20, 203, 21), True),
    ]
    across, down = rules(pieces, strict=True)
    assert [(round(rule.at), rule.start, rule.end) for rule in across] == [(21, 10, 90)]
    assert down == []


# ---------------------------------------------------------------- nothing is lost


def page_of(*texts: str) -> Page:
    from tq_loader.convert.layout import Fragment, Row

    page = Page(1, 800)
    for text in texts:
        page.add(Row([Fragment(text, (0, 0, 9, 9), (0, 0, 9, 9), 9)], (0, 0, 9, 9)), [text])
    return page


@pytest.mark.parametrize(
    ("plain", "lines", "said"),
    [
        ("one two\nthree", ["three", "one two"], None),
        ("total 9,000 pounds", ["total 900 pounds"], "the digits 0 among them"),
        (SENTENCE * 3, [SENTENCE * 2], "in its plain text and not in these lines"),
        (SENTENCE * 2, [SENTENCE * 3], "in these lines and not in its plain text"),
        (SENTENCE + "abc", [SENTENCE], None),  # a trace
    ],
)
def test_lines_are_held_against_the_plain_text(plain: str, lines: list[str], said: str | None) -> None:
    page = page_of(*lines)
    compare(plain, page, 0)
    assert [kind for kind, _ in page.notes] == (["text_differs"] if said else [])
    assert said is None or said in page.notes[0][1]


words = st.text(alphabet="abcdefgh XYZ0123456789.,%$()-", min_size=1, max_size=14).filter(
    lambda t: bool(t.strip())
)
tables = st.integers(2, 5).flatmap(
    lambda wide: st.lists(st.lists(words, min_size=wide, max_size=wide), min_size=2, max_size=8)
)
pages = st.tuples(
    st.lists(words, max_size=25),
    st.sampled_from((1, 2, 3)),
    st.one_of(st.none(), tables),
    st.tuples(st.booleans(), st.booleans()),
    st.sampled_from((0, 90, 180, 270)),
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(pages, min_size=1, max_size=2), st.sampled_from(TABLES))
def test_no_digit_is_lost(drawn: list[Any], strategy: str) -> None:
    """Text, columns, tables with and without lines, turned pages: each run of digits of a page is in its lines."""
    document = pymupdf.open()
    for texts, columns, table, (lines, fill), turn in drawn:
        page = document.new_page(width=595, height=842)
        page.insert_text((50, 40), "0 the page", fontsize=9)
        for i, text in enumerate(texts):
            place = (50 + (i % columns) * 500 / columns, 60 + 14 * (i // columns))
            page.insert_text(place, text, fontsize=9)
        if table is not None:
            grid(page, table, at=(50, 450), size=(90, 22), lines=lines, fill=fill)
        page.set_rotation(turn)
    result = convert(document, strategy)
    for number, page in enumerate(document, start=1):
        plain = page.get_text()
        own = "\n".join(
            f"{row[0]} {' '.join(str(v) for v in row[4].get('cells', {}).values())}"
            for row in result.rows
            if row[1] == number
        )
        missing = Counter(c for c in plain if c.isdigit()) - Counter(c for c in own if c.isdigit())
        assert not missing
        # Runs stay whole: none is cut in two by a cell's edge.
        runs = set("".join(c if c.isdigit() else " " for c in plain).split())
        kept = "".join(c if c.isdigit() else " " for c in own).split()
        assert runs <= set(kept)
    assert not [o for o in result.omissions if o["kind"] == "text_differs"]
