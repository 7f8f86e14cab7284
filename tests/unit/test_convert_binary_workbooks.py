"""XLS and XLSB: what their records say comes out as it does of an XLSX."""

from __future__ import annotations

import io
import struct
from collections.abc import Callable
from datetime import date, datetime
from typing import Any

import openpyxl
import pytest
from convert_help import Result, child, convert
from hypothesis import given, settings
from hypothesis import strategies as st
from sheet_help import Formula, Percent, Sheet
from xls_help import xls
from xlsb_help import xlsb

MAKERS: dict[str, Callable[..., bytes]] = {"xls": xls, "xlsb": xlsb}
formats = pytest.mark.parametrize("kind", list(MAKERS))

PRICES = Sheet(
    "Preise €",
    [
        ["Item", "Price", "Share", "Since", "At"],
        ["Pen", 1234.56, Percent(0.125), date(2024, 3, 1), datetime(2024, 3, 1, 14, 30)],
        ["Tinte – blau", 24000, Percent(1), date(1999, 12, 31)],
        ["Sum", Formula(25234.5), None, Formula("so"), Formula(True)],
        ["x", Formula("#DIV/0!"), "#N/A", False, -7],
        ["y", 1e20, -0.25, 0, 123456789.125],
    ],
    hidden_rows=frozenset({2}),
    hidden_columns=frozenset({4}),
    comments={(1, 1): ("Ben", "asked Anna – twice"), (3, 0): ("", "checked")},
)
MERGED = Sheet(
    "Merged",
    [["Region", "Q1", None], [None, "Jan", "Feb"], ["North", 1, 2], [None, 3, 4]],
    merged=[(0, 1, 0, 0), (0, 0, 1, 2), (2, 3, 0, 0)],
)
SECRET = Sheet("Secret", [["a", "b"], [1, 2]], hidden=True)


def told(result: Result) -> dict[str, str]:
    return {omission["kind"]: omission["detail"] for omission in result.omissions}


@formats
def test_values_as_typed_and_as_shown(kind: str) -> None:
    result = convert(MAKERS[kind](PRICES, MERGED, SECRET), f"a.{kind}")
    assert result.texts == [
        "Preise €",
        "Item | Price | Share | Since | At",
        "Item: Pen | Price: 1234.56 | Share: 0.125 (12.5%) | Since: 2024-03-01 | At: 2024-03-01 14:30",
        "Item: Tinte – blau | Price: 24000 | Share: 1 (100.0%) | Since: 1999-12-31",
        "Item: Sum | Price: 25234.5 | Since: so | At: TRUE",
        "Item: x | Price: #DIV/0! | Share: #N/A | Since: FALSE | At: -7",
        "Item: y | Price: 100000000000000000000 | Share: -0.25 | Since: 0 | At: 123456789.125",
        "[comment on B2 by Ben] asked Anna – twice",
        "[comment on A4] checked",
        "Merged",
        "Region | Q1",
        "Region | Jan | Feb",
        "Region: North | Q1 / Jan: 1 | Q1 / Feb: 2",
        "Region: North | Q1 / Jan: 3 | Q1 / Feb: 4",
        "Secret (hidden sheet)",
        "a | b",
        "a: 1 | b: 2",
    ]
    assert result.rows[2][4] == {
        "sheet": "Preise €",
        "row": 2,
        "cells": {
            "Item": "Pen",
            "Price": 1234.56,
            "Share": 0.125,
            "Since": "2024-03-01",
            "At": "2024-03-01 14:30",
        },
    }
    assert result.rows[5][4]["cells"]["Since"] is False
    assert [(o["kind"], o["line_start"], o["line_end"]) for o in result.omissions] == [
        ("formula_error", 6, 6),
        ("hidden_rows", 4, 4),
        ("hidden_columns", None, None),
        ("comments", 8, 9),
        ("hidden_sheet", 15, 17),
    ]


@formats
def test_dates_since_1904(kind: str) -> None:
    day = convert(
        MAKERS[kind](Sheet("D", [["when", "n"], [date(1904, 1, 2), 1]]), date1904=True), f"a.{kind}"
    )
    assert day.texts[-1] == "when: 1908-01-03 | n: 1"


@pytest.mark.parametrize("most", [11, 12, 13, 29, 30, 31, 8224])
def test_strings_over_several_records(most: int) -> None:
    rows: list[list[Any]] = [
        ["Item", "n"],
        ["plain words that go on", 1],
        ["Ünïcödé – wörds 𝄞", 2],
        ["the end", 3],
    ]
    assert convert(xls(Sheet("S", rows), string_record=most), "a.xls").texts[2:] == [
        "Item: plain words that go on | n: 1",
        "Item: Ünïcödé – wörds 𝄞 | n: 2",
        "Item: the end | n: 3",
    ]


def test_cells_in_any_order_and_long_rows() -> None:
    """The records of a sheet are moved about; rows are still in their order."""
    rows: list[list[Any]] = [["k", *range(200)], *([f"r{n}", *range(n, n + 200)] for n in range(1, 4))]
    data = xls(Sheet("S", rows))
    plain = convert(data, "a.xls").texts
    # Swap the row numbers of the cells of two rows.
    swapped = bytearray(data)
    for at in range(512, len(data) - 10, 2):
        kind, length, row = struct.unpack_from("<HHH", data, at)
        if kind in (0x027E, 0x00FD) and length == 10 and row in (2, 3):
            struct.pack_into("<H", swapped, at + 4, 5 - row)
    moved = convert(bytes(swapped), "a.xls").texts
    assert moved == [*plain[:3], plain[4], plain[3]]


@formats
def test_text_that_says_it_is_something_else_is_read_by_its_content(kind: str) -> None:
    for name, media_type in (
        (f"a.{kind}", None),
        ("a.txt", "text/plain"),
        ("a.csv", "text/csv"),
        ("a.pdf", None),
    ):
        assert convert(MAKERS[kind](SECRET), name, media_type).texts[-1] == "a: 1 | b: 2"


def test_what_is_refused() -> None:
    empty = convert(xls(Sheet("S", [])), "a.xls")
    assert empty.texts == ["S"]
    data = bytearray(xls(SECRET))
    at = data.index(struct.pack("<HHH", 0x0042, 2, 1200))
    struct.pack_into("<H", data, at, 0x002F)  # the record of an encrypted workbook
    locked = convert(bytes(data), "a.xls")
    assert locked.error is not None
    assert locked.error["code"] == "TQ013"
    data = bytearray(xls(SECRET))
    struct.pack_into("<H", data, data.index(struct.pack("<HHH", 0x0809, 16, 0x0600)), 0x0409)
    old = convert(bytes(data), "a.xls")
    assert old.error is not None
    assert (old.error["code"], "Excel 4" in old.error["detail"]) == ("TQ010", True)


@formats
def test_damage_is_told(kind: str) -> None:
    """Records that claim too much end the conversion with an error, in a process that goes on."""
    data = MAKERS[kind](PRICES)
    for at in range(560, len(data), 300):
        broken = bytearray(data)
        broken[at : at + 24] = b"\xff" * 24
        convert(bytes(broken), f"a.{kind}")
    done, result = child(data[: len(data) // 2], "--name", f"a.{kind}")
    assert result is not None
    assert done.returncode == (0 if result.error is None else 1)


values = (
    st.none() | st.integers(-(10**9), 10**9) | st.booleans() | st.floats(-1e6, 1e6).map(lambda x: round(x, 3))
)
words = st.text(st.characters(exclude_categories=["Cs", "Cc", "Zs", "Zl", "Zp"]), min_size=1, max_size=8)


@settings(deadline=None, max_examples=60)
@given(
    st.sampled_from(list(MAKERS)),
    st.lists(st.lists(values | words, min_size=1, max_size=5), min_size=1, max_size=6),
)
def test_every_cell_comes_out(kind: str, rows: list[list[Any]]) -> None:
    result = convert(MAKERS[kind](Sheet("S", rows)), f"a.{kind}")
    found: list[Any] = []
    for row in result.rows[1:]:
        found += row[4]["cells"].values()
    wanted = [value for row in rows for value in row if value is not None]
    assert sorted(map(repr, found)) == sorted(
        repr(int(value) if isinstance(value, float) and value == int(value) else value) for value in wanted
    )


def test_the_same_workbook_in_three_formats() -> None:
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    sheet.title = "S"
    rows: list[list[Any]] = [
        ["Item", "Price", "Since"],
        ["Pen", 1.25, datetime(2024, 3, 1, 9, 5)],
        ["Ink", 30, None],
    ]
    for row in rows:
        sheet.append(row)
    out = io.BytesIO()
    book.save(out)
    texts = convert(out.getvalue(), "a.xlsx").texts
    for kind, make in MAKERS.items():
        assert convert(make(Sheet("S", rows)), f"a.{kind}").texts == texts
