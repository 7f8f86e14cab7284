"""Reading pictures: pages drawn here, turned, skewed, ruled. Skipped where Tesseract is not installed."""

from __future__ import annotations

import struct
from typing import Any

import pymupdf
import pytest
from convert_help import Result, convert

from tq_loader.convert import image, ocr

needs_tesseract = pytest.mark.skipif(ocr.missing() is not None, reason=ocr.missing() or "")

TEXT = [
    "Cancellation policy of the practice",
    "Appointments may be cancelled without charge up to",
    "48 hours before the agreed time. Later cancellations",
    "cost 25.50 pounds, and a missed appointment 60 pounds.",
    "Questions are answered by telephone on weekdays.",
    "The practice is closed on the second Monday of May.",
]


def drawn(turn: int = 0, skew: float = 0.0, dpi: int = 150) -> Any:
    """A picture of a page of text, turned by quarters and then by ``skew`` degrees."""
    document: Any = pymupdf.open()
    page = document.new_page(width=420, height=300)
    for i, row in enumerate(TEXT):
        page.insert_text((40, 60 + 30 * i), row, fontsize=13)
    matrix = pymupdf.Matrix(dpi / 72, dpi / 72).prerotate(90 * turn + skew)
    return page.get_pixmap(matrix=matrix, colorspace=pymupdf.csGRAY)


def png(**how: Any) -> bytes:
    return bytes(drawn(**how).tobytes("png"))


def scanned(**how: Any) -> bytes:
    document: Any = pymupdf.open()
    picture = drawn(**how)
    page = document.new_page(width=picture.width * 72 / 150, height=picture.height * 72 / 150)
    page.insert_image(page.rect, stream=picture.tobytes("png"))
    return bytes(document.tobytes())


def words(result: Result) -> str:
    return " ".join(" ".join(result.texts).split())


@needs_tesseract
@pytest.mark.parametrize("turn", [0, 1, 2, 3])
def test_scan_any_way_up(turn: int) -> None:
    result = convert(scanned(turn=turn), "a.pdf")
    assert result.texts == TEXT
    assert all(row[1] == 1 and row[4]["confidence"] > 80 for row in result.rows)
    boxes = [row[4]["bbox"] for row in result.rows]
    along, back = (1, turn in (2,)) if turn % 2 == 0 else (0, turn == 1)
    tops = [box[along] for box in boxes]
    assert tops == sorted(tops, reverse=back)


@needs_tesseract
def test_skewed_picture() -> None:
    result = convert(png(skew=3.0), "a.png")
    assert "without charge up to 48 hours before the agreed time" in words(result)
    assert result.document["media_type"] == "image/png"


@needs_tesseract
def test_ruled_table_keeps_lonely_digits() -> None:
    document: Any = pymupdf.open()
    page = document.new_page(width=400, height=200)
    rows = [
        ["Region", "Calls", "Share"],
        ["North", "5", "34.5%"],
        ["South", "1", "98.3%"],
        ["West", "4", "95.4%"],
    ]
    for y in range(5):
        page.draw_line((20, 20 + 36 * y), (380, 20 + 36 * y), width=1)
    for x in range(4):
        page.draw_line((20 + 120 * x, 20), (20 + 120 * x, 164), width=1)
    for y, row in enumerate(rows):
        for x, text in enumerate(row):
            page.insert_text((50 + 120 * x, 43 + 36 * y), text, fontsize=12)
    picture = page.get_pixmap(dpi=150)
    result = convert(picture.tobytes("png"), "a.png")
    assert result.texts[0] == "Region | Calls | Share"
    assert [list(row[4]["cells"].values()) for row in result.rows] == [
        rows[0], ["North", 5, "34.5%"], ["South", 1, "98.3%"], ["West", 4, "95.4%"]
    ]  # fmt: skip
    assert result.kinds == ["table"] * 4


@needs_tesseract
def test_tiff_like_pages_and_uncertain_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ocr, "LOW", 101)
    monkeypatch.setattr(ocr, "RUBBISH", 100)
    result = convert(png(), "a.png")
    assert set(result.kinds) == {"furniture"}
    assert "low_confidence" in [omission["kind"] for omission in result.omissions]


@needs_tesseract
def test_blank_picture_is_refused() -> None:
    blank = pymupdf.Pixmap(pymupdf.csGRAY, pymupdf.IRect(0, 0, 300, 300))
    blank.clear_with(255)
    result = convert(blank.tobytes("png"), "a.png")
    assert result.error is not None
    assert result.error["code"] == "TQ010"


def test_without_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ocr, "missing", lambda: "no program (as root: apt-get install tesseract-ocr)")
    result = convert(png(), "a.png")
    assert result.error is not None
    assert result.error["code"] == "TQ010"
    assert "tesseract-ocr tesseract-ocr-osd" in result.error["hint"]
    document: Any = pymupdf.open(stream=scanned(), filetype="pdf")
    document.new_page().insert_text((72, 72), "A page with text")
    mixed = convert(document.tobytes(), "a.pdf")
    assert mixed.texts == ["A page with text"]
    assert [(o["kind"], o["page"]) for o in mixed.omissions] == [("ocr_missing", 1), ("page_without_text", 1)]


@needs_tesseract
def test_pages_beyond_the_time_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    document: Any = pymupdf.open(stream=scanned(), filetype="pdf")
    document.insert_pdf(pymupdf.open(stream=scanned(), filetype="pdf"))
    answers = iter([False, True])
    monkeypatch.setattr(ocr, "out_of_time", lambda: next(answers))
    result = convert(document.tobytes(), "a.pdf")
    assert {row[1] for row in result.rows} == {1}
    assert ("page_not_read", 2) in [(o["kind"], o["page"]) for o in result.omissions]


def bomb_png(width: int, height: int) -> bytes:
    return (
        b"\x89PNG\r\n\x1a\n"
        + struct.pack(">I4sIIBBBBB", 13, b"IHDR", width, height, 8, 0, 0, 0, 0)
        + bytes(50)
    )


def tiff(width: int, height: int, *, circular: bool = False) -> bytes:
    entries = struct.pack("<HHHII", 2, 256, 4, 1, width) + struct.pack("<HHII", 257, 4, 1, height)
    return b"II*\x00" + struct.pack("<I", 8) + entries + struct.pack("<I", 8 if circular else 0)


@pytest.mark.parametrize(
    "data",
    [
        bomb_png(100_000, 100_000),
        b"\xff\xd8\xff\xc0" + struct.pack(">HBHHB", 17, 8, 65_000, 65_000, 3) + bytes(20),
        tiff(60_000, 60_000),
        b"GIF89a" + struct.pack("<HH", 65_000, 65_000) + bytes(20),
    ],
    ids=["png", "jpeg", "tiff", "gif"],
)
def test_decompression_bombs_are_refused_before_decoding(data: bytes) -> None:
    result = convert(data, "a")
    assert result.error is not None
    assert result.error["code"] == "TQ012"


def test_sizes_in_headers() -> None:
    assert list(image.dimensions(bomb_png(3, 4))) == [(3, 4)]
    assert list(image.dimensions(tiff(5, 6, circular=True))) == [(5, 6)]


@pytest.mark.parametrize(
    "data", [b"\x89PNG\r\n\x1a\n" + bytes(9), b"\xff\xd8\xff\xe0" + bytes(60), b"II*\x00" + b"\xff" * 9]
)
def test_damaged_pictures(data: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ocr, "missing", lambda: None)  # the damage is told of, with Tesseract or without
    result = convert(data, "a.png")
    assert result.error is not None
    assert result.error["code"] == "TQ011"


def insert(page: Any, rows: list[str], box: tuple[float, float, float, float], **how: Any) -> None:
    """A picture of text on a page; ``how``: as `insert_text`."""
    document: Any = pymupdf.open()
    inner = document.new_page(width=box[2] - box[0], height=box[3] - box[1])
    for i, row in enumerate(rows):
        inner.insert_text((20, 30 + 24 * i), row, fontsize=12, **how)
    page.insert_image(pymupdf.Rect(box), stream=inner.get_pixmap(dpi=150).tobytes("png"))


@needs_tesseract
def test_a_picture_of_text_on_a_page_with_text_is_read() -> None:
    document: Any = pymupdf.open()
    page = document.new_page(width=595, height=842)
    page.insert_text((72, 80), "The figure shows what to do in an emergency.", fontsize=11)
    insert(page, ["Close the valve on the left.", "Call 4711 and wait for the team."], (72, 100, 500, 200))
    page.insert_text((72, 230), "It hangs beside the door.", fontsize=11)
    result = convert(document.tobytes(), "a.pdf")
    assert result.texts == [
        "The figure shows what to do in an emergency.",
        "Close the valve on the left.",
        "Call 4711 and wait for the team.",
        "It hangs beside the door.",
    ]
    assert ["confidence" in row[4] for row in result.rows] == [False, True, True, False]
    x0, y0, x1, y1 = result.rows[1][4]["bbox"]
    assert 85 < x0 < 100 < x1 < 300
    assert 110 < y0 < y1 < 140
    assert result.omissions == []
    # The same on a page that is turned, in points of the page before it is.
    page.set_rotation(90)
    turned = convert(document.tobytes(), "a.pdf")
    assert turned.texts == result.texts
    assert all(
        abs(a - b) < 3 for a, b in zip(turned.rows[1][4]["bbox"], result.rows[1][4]["bbox"], strict=True)
    )


@needs_tesseract
def test_a_stamped_scan_is_read() -> None:
    """A picture of the whole page, and on it a line of text, as courts and scanners add it."""
    document: Any = pymupdf.open()
    page = document.new_page(width=420, height=300)
    page.insert_image(page.rect, stream=png())
    page.insert_text((20, 290), "Filed 04/05/2024 Page 1 of 1", fontsize=8)
    result = convert(document.tobytes(), "a.pdf")
    assert result.texts == [*TEXT, "Filed 04/05/2024 Page 1 of 1"]


@needs_tesseract
def test_text_over_its_own_picture_comes_once() -> None:
    document: Any = pymupdf.open()
    page = document.new_page(width=420, height=300)
    page.insert_image(page.rect, stream=png())
    page.insert_text((40, 60), TEXT[0], fontsize=13)
    assert convert(document.tobytes(), "a.pdf").texts == TEXT


def test_photographs_and_pictures_not_read_are_told_with_their_size(monkeypatch: pytest.MonkeyPatch) -> None:
    grey = pymupdf.Pixmap(
        pymupdf.csGRAY, 200, 100, bytes((x * 7 + y * 3) % 200 for y in range(100) for x in range(200)), False
    )
    document: Any = pymupdf.open()
    page = document.new_page(width=595, height=842)
    page.insert_text((72, 80), "A photograph of the practice.", fontsize=11)
    page.insert_image(pymupdf.Rect(72, 300, 472, 500), pixmap=grey)
    result = convert(document.tobytes(), "a.pdf")
    assert [(o["kind"], o["page"]) for o in result.omissions] == [("image", 1)]
    assert "1 image not read (400 by 200 points; 16% of the page)" in result.omissions[0]["detail"]
    # Where nothing can be read at all, a picture of text says what to install.
    monkeypatch.setattr(ocr, "missing", lambda: "no program (as root: apt-get install tesseract-ocr)")
    insert(page, ["Close the valve.", "Call 4711."], (72, 520, 500, 700))
    told = [(o["kind"], o["detail"]) for o in convert(document.tobytes(), "a.pdf").omissions]
    assert [kind for kind, _ in told] == ["ocr_missing", "image"]
    assert "2 images not read" in told[1][1]
