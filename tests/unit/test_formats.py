"""Real files: what each must give up, by the index that comes with them. Skipped where the folder is
absent.
"""

from __future__ import annotations

import csv
import os
import re
from collections import Counter
from functools import cache
from pathlib import Path

import pytest
from convert_help import Result, convert

from tq_loader.convert import ocr

FOLDER = Path(os.environ.get("TQ_FORMATS", Path(__file__).resolve().parents[3] / "shared" / "formats"))
INDEX = FOLDER / "index.csv"

# Read from a picture: without the program for that they must say so.
PICTURES = {
    "pdf_scan_four_rotations.pdf",
    "pdf_scan_rotated90.pdf",
    "pdf_scan_skewed.pdf",
    "pdf_table_as_image.pdf",
    # Their text layer is glyphs without a meaning: never answered from.
    "pdf_font_without_unicode_map.pdf",
    "pdf_truetype_nomapping.pdf",
    "img_japanese_vertical.jpg",
    "img_typewriter_dutch.png",
}
REFUSED = {
    "bin_random.bin": "TQ010",
    "pdf_password_required_r4.pdf": "TQ013",
    "pdf_zero_bytes.pdf": "TQ011",
    "pdf_zero_pages.pdf": "TQ011",
    "xlsx_password.xlsx": "TQ013",
}
TOLD = {
    "pdf_portfolio_two_attached_pdfs.pdf": ("attachment", 2),
    "pdf_xfa_please_wait.pdf": ("xfa_form", 1),
    "pdf_broken_xref_command_missing.pdf": ("repaired", 1),
    "pdf_invisible_text_layer.pdf": ("invisible_text", 1),
    "pdf_font_without_unicode_map.pdf": ("unmapped_text", 1),
    "pdf_truetype_nomapping.pdf": ("unmapped_text", 1),
    "eml_uuencode_word.eml": ("attachment", 1),
}

pytestmark = pytest.mark.skipif(not INDEX.is_file(), reason="no real files: TQ_FORMATS names their folder")


def cases() -> list[dict[str, str]]:
    if not INDEX.is_file():
        return [{"file": "none", "fact": ""}]
    with INDEX.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


@cache
def read(name: str) -> Result:
    return convert((FOLDER / name).read_bytes(), name)


def folded(texts: list[str]) -> str:
    return " ".join(" ".join(texts).split())


@pytest.mark.parametrize("case", cases(), ids=lambda case: case["file"])
def test_file(case: dict[str, str]) -> None:
    name = case["file"]
    result = read(name)
    no_pictures = name in PICTURES and ocr.missing() is not None
    if no_pictures or name in REFUSED:
        assert result.error is not None, "read, though it is listed as not readable"
        assert result.error["code"] == REFUSED.get(name, "TQ010")
        return
    assert result.error is None
    # Words are kept as printed: a fact may be hyphenated over a line's end.
    together = (
        folded(result.texts)
        + "\n"
        + folded([re.sub(r"-$", "\0", t) for t in result.texts]).replace("\0 ", "")
    )
    assert folded([case["fact"]]) in together
    if name in TOLD:
        kind, count = TOLD[name]
        assert [o["kind"] for o in result.omissions].count(kind) == count
    if name.startswith("pdf_"):
        assert all(row[1] and row[4]["bbox"] for row in result.rows)


@pytest.mark.parametrize(
    "name",
    [
        c["file"]
        for c in cases()
        if c["file"].startswith("pdf_") and c["file"] not in PICTURES | REFUSED.keys()
    ],
)
def test_no_digit_is_lost(name: str) -> None:
    """Runs of digits of a plain extraction of each page, against those of its lines."""
    import pymupdf

    result = read(name)
    with pymupdf.open(FOLDER / name) as document:
        for number, page in enumerate(document, start=1):
            plain = Counter(re.findall(r"\d+", page.get_text()))
            rows = [row for row in result.rows if row[1] == number]
            texts = [f"{row[0]} {row[4].get('printed_line', '')}" for row in rows]
            ours = Counter(re.findall(r"\d+", " ".join(texts)))
            if name == "pdf_line_numbered_transcript_scotus.pdf":
                # Printed line numbers of lines without text have no line of ours to stand with.
                assert (plain - ours).total() == 7
                continue
            assert not plain - ours
            # More than the page's text is said by the rows of a table, with their columns' names, and by pictures.
            assert not ours - plain or any(row[2] == "table" or "confidence" in row[4] for row in rows)
