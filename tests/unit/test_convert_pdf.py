"""PDF, on files written here: order, pages, boxes, headings, furniture, and what cannot be read."""

from __future__ import annotations

from typing import Any

import pymupdf as untyped
import pytest
from convert_help import Result, child, convert

pymupdf: Any = untyped  # the library has no types

LOREM = [
    "the",
    "patient",
    "may",
    "cancel",
    "an",
    "appointment",
    "by",
    "telephone",
    "or",
    "in",
    "person",
    "at",
    "the",
    "front",
    "desk",
    "during",
    "opening",
    "hours",
    "and",
    "the",
    "desk",
    "notes",
    "the",
    "time",
    "of",
    "the",
    "call",
    "in",
    "the",
    "appointment",
    "book",
    "so",
    "that",
    "the",
    "notice",
    "can",
    "be",
    "shown",
    "later",
    "on",
]


def words(start: int, count: int) -> str:
    return " ".join(LOREM[(start + i) % len(LOREM)] for i in range(count))


def pdf(draw: Any, pages: int = 1, **save: Any) -> bytes:
    with pymupdf.open() as document:
        for number in range(pages):
            draw(document.new_page(width=595, height=842), number)
        return bytes(document.tobytes(**save))


def column(page: Any, x: float, y: float, tag: str, rows: int, per_row: int = 7, size: float = 10) -> None:
    for i in range(rows):
        page.insert_text((x, y + i * 13), f"{tag}{i} {words(i * per_row, per_row)}", fontsize=size)


def tags(result: Result) -> list[str]:
    return [text.split()[0] for text in result.texts]


def test_lines_have_page_and_box() -> None:
    result = convert(
        pdf(lambda p, n: p.insert_text((72, 100), f"page {n + 1} of the text", fontsize=11), 3), "a.pdf"
    )
    assert [(row[0], row[1]) for row in result.rows] == [(f"page {n} of the text", n) for n in (1, 2, 3)]
    x0, y0, x1, y1 = result.rows[0][4]["bbox"]
    assert 71 < x0 < 74 < x1
    assert 85 < y0 < 100 < y1 < 110
    assert result.document["media_type"] == "application/pdf"


@pytest.mark.parametrize(("columns", "width"), [(2, 250), (3, 168)])
def test_columns_are_read_down_not_across(columns: int, width: int) -> None:
    def draw(page: Any, number: int) -> None:
        page.insert_text((60, 60), "A heading over all of the columns of this page", fontsize=18)
        for c in range(columns):
            column(page, 50 + c * width, 100, "abc"[c], 30, 7 if columns == 2 else 5, 8)

    result = convert(pdf(draw), "a.pdf")
    assert tags(result) == ["A"] + [f"{c}{i}" for c in "abc"[:columns] for i in range(30)]
    assert result.kinds[0] == "heading"


def test_a_heading_between_bands_of_columns_keeps_its_place() -> None:
    def draw(page: Any, number: int) -> None:
        for c in range(2):
            column(page, 50 + c * 250, 60, "ab"[c], 12, 6)
            column(page, 50 + c * 250, 300, "cd"[c], 12, 6)
        page.insert_text((50, 260), "WIDE " + words(0, 14), fontsize=12)

    expected = (
        [f"{c}{i}" for c in "ab" for i in range(12)] + ["WIDE"] + [f"{c}{i}" for c in "cd" for i in range(12)]
    )
    assert tags(convert(pdf(draw), "a.pdf")) == expected


def test_table_rows_stay_together() -> None:
    cells = [
        ("Service", "Fee", "Notice"),
        ("Check-up", "24.50", "48 hours"),
        ("X-ray", "1,250.00", "2 weeks"),
    ]

    def draw(page: Any, number: int) -> None:
        page.insert_text((72, 80), "The fees are these, and they are due on the day.", fontsize=10)
        for r, row in enumerate(cells):
            for c, cell in enumerate(row):
                page.insert_text((72 + c * 150, 120 + r * 20), cell, fontsize=10)

    result = convert(pdf(draw), "a.pdf")
    assert result.texts[1:] == [
        "Service | Fee | Notice",
        "Service: Check-up | Fee: 24.50 | Notice: 48 hours",
        "Service: X-ray | Fee: 1,250.00 | Notice: 2 weeks",
    ]
    assert result.kinds == ["text", "table", "table", "table"]


def test_headings_by_size_and_weight() -> None:
    def draw(page: Any, number: int) -> None:
        page.insert_text((72, 80), "Clinic policy", fontsize=20)
        page.insert_text((72, 120), "1 Appointments", fontsize=14)
        column(page, 72, 150, "a", 6)
        page.insert_text((72, 240), "Late arrivals", fontsize=10, fontname="hebo")
        column(page, 72, 260, "b", 6)

    result = convert(pdf(draw), "a.pdf")
    levels = [(row[0], row[3]) for row in result.rows if row[2] == "heading"]
    assert levels == [("Clinic policy", 1), ("1 Appointments", 2), ("Late arrivals", 3)]


def test_running_headers_and_footers_are_furniture() -> None:
    def draw(page: Any, number: int) -> None:
        page.insert_text((72, 40), "Clinic policy 2024", fontsize=9)
        page.insert_text((72, 810), f"Page {number + 1} of 6", fontsize=9)
        page.insert_text((72, 60), f"First sentence of page {number}: {words(number * 3, 5)}", fontsize=10)
        column(page, 72, 140, f"p{number}x", 20)

    result = convert(pdf(draw, 6), "a.pdf")
    furniture = {row[0] for row in result.rows if row[2] == "furniture"}
    assert furniture == {"Clinic policy 2024"} | {f"Page {n} of 6" for n in range(1, 7)}


def test_a_footer_that_counts_pages_stands_wherever_the_text_ends() -> None:
    def draw(page: Any, number: int) -> None:
        rows = 4 + number * 7 % 23
        column(page, 72, 90, "abcdef"[number], rows)
        page.insert_text((200, 120 + rows * 12), f"Acme Inc. | Q1 2024 Form 10-Q | {number + 11}", fontsize=8)

    result = convert(pdf(draw, 6), "a.pdf")
    furniture = [row[0] for row in result.rows if row[2] == "furniture"]
    assert furniture == [f"Acme Inc. | Q1 2024 Form 10-Q | {n}" for n in range(11, 17)]


def test_heads_of_left_and_right_pages() -> None:
    def draw(page: Any, number: int) -> None:
        head = f"{number + 50}   A HISTORY" if number % 2 else f"A HISTORY   {number + 50}"
        page.insert_text((72, 40), head, fontsize=10)
        column(page, 72, 90, "abcdef"[number], 20)

    result = convert(pdf(draw, 4), "a.pdf")
    assert [row[0].split()[-1] for row in result.rows if row[2] == "furniture"] == [
        "50",
        "HISTORY",
        "52",
        "HISTORY",
    ]


def test_titles_whose_words_recur_are_no_furniture() -> None:
    def draw(page: Any, number: int) -> None:
        page.insert_text((72, 40), f"EXHIBIT {31 + number // 2}.{1 + number % 2}", fontsize=10)
        if number != 2:
            page.insert_text((72, 54), "CERTIFICATION", fontsize=10)
        column(page, 72, 90, "abcdef"[number], 20)
        page.insert_text((72, 800), f"Total for the page: {number * 37} of {number * 91}", fontsize=10)

    def parts(page: Any, number: int) -> None:
        page.insert_text((72, 40), f"Part {number + 1}", fontsize=16)
        column(page, 72, 90, "abcdef"[number], 20)

    assert "furniture" not in convert(pdf(draw, 5), "a.pdf").kinds
    assert "furniture" not in convert(pdf(parts, 4), "a.pdf").kinds


def test_a_page_printed_twice_is_no_furniture() -> None:
    result = convert(pdf(lambda p, n: column(p, 72, 60, "x", 12), 2), "a.pdf")
    assert set(result.kinds) == {"text"}


def test_turned_pages_and_turned_text() -> None:
    def draw(page: Any, number: int) -> None:
        column(page, 72, 100, "a", 10)
        page.insert_text((30, 500), "stamp in the margin", fontsize=9, rotate=90)
        page.set_rotation((0, 90, 180, 270)[number])

    result = convert(pdf(draw, 4), "a.pdf")
    for number in (1, 2, 3, 4):
        texts = [row[0] for row in result.rows if row[1] == number]
        assert [t.split()[0] for t in texts] == [f"a{i}" for i in range(10)] + ["stamp"]
    boxes = {tuple(row[4]["bbox"]) for row in result.rows if row[0].startswith("a0")}
    assert len(boxes) == 1  # of the page before it is turned


def test_text_upside_down_is_read_the_right_way() -> None:
    def draw(page: Any, number: int) -> None:
        page.insert_text((500, 400), "total 9,000 pounds", fontsize=11, rotate=180)

    assert convert(pdf(draw), "a.pdf").texts == ["total 9,000 pounds"]


def test_bold_by_drawing_twice_comes_once() -> None:
    def draw(page: Any, number: int) -> None:
        x = 72.0
        for letter in "ABOUT 17% LESS":
            page.insert_text((x, 100), letter, fontsize=12)
            page.insert_text((x + 0.3, 100.1), letter, fontsize=12)
            x += pymupdf.get_text_length(letter, fontsize=12) + 1
        column(page, 72, 140, "a", 5)

    assert convert(pdf(draw), "a.pdf").texts[0] == "ABOUT 17% LESS"


def test_ligatures_and_hyphens() -> None:
    def draw(page: Any, number: int) -> None:
        page.insert_text((72, 100), "the appoint-", fontsize=11)
        page.insert_text((72, 114), "ment book", fontsize=11)

    assert convert(pdf(draw), "a.pdf").texts == ["the appoint-", "ment book"]


def test_pages_without_text_and_large_images_are_told() -> None:
    pixels = pymupdf.Pixmap(pymupdf.csRGB, pymupdf.IRect(0, 0, 40, 40), False)
    pixels.clear_with(120)

    def draw(page: Any, number: int) -> None:
        if number == 0:
            column(page, 72, 100, "a", 5)
            page.insert_image(pymupdf.Rect(72, 300, 500, 700), pixmap=pixels)
        if number == 2:
            page.insert_image(page.rect, pixmap=pixels)

    result = convert(pdf(draw, 3), "a.pdf")
    # Without Tesseract, page 3 is told of for that reason too.
    told = [(o["kind"], o["page"], o["line_start"]) for o in result.omissions if o["kind"] != "ocr_missing"]
    assert told == [("image", 1, 1), ("page_without_text", 2, None), ("page_without_text", 3, None)]
    assert "blank" in result.omissions[1]["detail"]


def test_embedded_files_are_told() -> None:
    with pymupdf.open() as document:
        document.new_page().insert_text((72, 72), "see the annex")
        document.embfile_add("annex.xlsx", b"not read")
        data = document.tobytes()
    result = convert(data, "a.pdf")
    assert result.omissions[0]["kind"] == "attachment"
    assert "annex.xlsx" in result.omissions[0]["detail"]


def test_form_fields_are_lines() -> None:
    with pymupdf.open() as document:
        page = document.new_page()
        page.insert_text((72, 72), "Name of the patient:")
        widget = pymupdf.Widget()
        widget.field_name, widget.field_type = "name", pymupdf.PDF_WIDGET_TYPE_TEXT
        widget.rect, widget.field_value = pymupdf.Rect(200, 60, 400, 80), "Ada Grey"
        page.add_widget(widget)
        data = document.tobytes()
    assert "Ada Grey" in " ".join(convert(data, "a.pdf").texts)


def test_encryption() -> None:
    def draw(page: Any, number: int) -> None:
        page.insert_text((72, 72), "secret text")

    aes = pymupdf.PDF_ENCRYPT_AES_256
    assert convert(pdf(draw, encryption=aes, owner_pw="o", user_pw=""), "a.pdf").texts == ["secret text"]
    result = convert(pdf(draw, encryption=aes, owner_pw="o", user_pw="u"), "a.pdf")
    assert result.error is not None
    assert result.error["code"] == "TQ013"
    assert result.error["message"] == "password needed"


@pytest.mark.parametrize("data", [b"1 0 obj <<>> endobj\n" * 20, b"%PDF-1.7\n", b"%PDF-1.7\n" + bytes(5000)])
def test_not_a_pdf(data: bytes) -> None:
    for media_type in (None, "application/pdf"):
        result = convert(data, "a.pdf", media_type)
        assert result.error is not None
        assert result.error["code"] == "TQ011"


def test_nothing_but_pictures_is_refused() -> None:
    result = convert(pdf(lambda p, n: None, 2), "a.pdf")
    assert result.error is not None
    assert result.error["code"] == "TQ010"
    assert "page 2" in result.error["detail"]


def test_truncated_and_damaged_files_end_well() -> None:
    whole = pdf(lambda p, n: column(p, 72, 100, "a", 30), 4)
    for cut in range(50, len(whole), len(whole) // 25):
        convert(whole[:cut], "a.pdf")
        convert(whole[:cut] + b"\xff" * 40 + whole[cut + 40 :], "a.pdf")


def test_child_reads_a_long_pdf_within_its_limits() -> None:
    data = pdf(lambda p, n: column(p, 72, 60, f"p{n}x", 50), 150)
    done, result = child(data, "--name", "a.pdf", "--memory-mb", "400", "--cpu-seconds", "60")
    assert done.returncode == 0, done.stderr
    assert result is not None
    assert result.end == 150 * 50
    assert result.rows[-1][1] == 150


def test_a_wide_figure_parts_the_columns_above_it_from_those_below() -> None:
    pixels = pymupdf.Pixmap(pymupdf.csRGB, pymupdf.IRect(0, 0, 40, 10), False)
    pixels.clear_with(120)
    for figure in ("frame", "picture"):

        def draw(page: Any, number: int, figure: str = figure) -> None:
            for c in range(2):
                column(page, 50 + c * 250, 60, "ab"[c], 14, 6)
                column(page, 50 + c * 250, 420, "cd"[c], 14 - 5 * c, 6)
            if figure == "frame":
                page.draw_rect((50, 260, 545, 380))
            else:
                page.insert_image(pymupdf.Rect(50, 260, 545, 380), pixmap=pixels, keep_proportion=False)
            page.insert_text((52, 395), "Figure 1: the desk", fontsize=9)

        expected = [f"{c}{i}" for c in "ab" for i in range(14)] + ["Figure"]
        expected += [f"c{i}" for i in range(14)] + [f"d{i}" for i in range(9)]
        assert tags(convert(pdf(draw), "a.pdf")) == expected


def test_the_outline_names_headings_that_do_not_look_like_any() -> None:
    def draw(page: Any, number: int) -> None:
        page.insert_text((72, 60), f"{number + 1} Part number {'ABC'[number]}", fontsize=10)
        column(page, 72, 80, f"x{number}", 8)
        page.insert_text((72, 230), "A section whose title", fontsize=10)
        page.insert_text((72, 243), f"goes over two lines {'ABC'[number]}", fontsize=10)
        column(page, 72, 260, f"y{number}", 8)

    with pymupdf.open() as document:
        for number in range(3):
            draw(document.new_page(width=595, height=842), number)
        document.set_toc(
            [
                entry
                for n, name in enumerate("ABC", start=1)
                for entry in (
                    [1, f"Part number {name}", n],
                    [2, f"A section whose title goes over two lines {name}", n],
                    [2, "A title that is not there", n],
                )
            ]
        )
        result = convert(document.tobytes(), "a.pdf")
    headings = [(row[0], row[1], row[3]) for row in result.rows if row[2] == "heading"]
    assert headings == [
        entry
        for n, name in enumerate("ABC", start=1)
        for entry in (
            (f"{n} Part number {name}", n, 1),
            ("A section whose title", n, 2),
            (f"goes over two lines {name}", n, 2),
        )
    ]


def test_a_heading_that_looks_like_those_of_the_outline_has_their_level() -> None:
    def draw(page: Any, number: int) -> None:
        for n, title in enumerate(("Arrivals", "Departures", "Lost property")):
            page.insert_text((72, 60 + 200 * n), title, fontsize=14)
            column(page, 72, 90 + 200 * n, f"x{n}", 8)

    with pymupdf.open() as document:
        draw(document.new_page(width=595, height=842), 0)
        document.set_toc([[1, "The handbook", 1], [2, "Arrivals", 1], [2, "Departures", 1]])
        result = convert(document.tobytes(), "a.pdf")
    assert [(row[0], row[3]) for row in result.rows if row[2] == "heading"] == [
        ("Arrivals", 2), ("Departures", 2), ("Lost property", 2)
    ]  # fmt: skip
