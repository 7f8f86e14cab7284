"""Tables of documents: how they are looked for on pages, and as Markdown, whatever format they came from."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import psycopg
import pymupdf as untyped
import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

from ingest_help import assert_ready, load, value, work

Connection = psycopg.Connection[Any]
pymupdf: Any = untyped  # the library has no types

FEES = [["Service", "Fee", "Notice"], ["Check-up", "24.50", "48 hours"], ["X-ray | both", "31.00", "2 weeks"]]
FEES += [[f"Service {i}", f"{i}.25", f"{i} days"] for i in range(2, 40)]


def fees_pdf() -> bytes:
    """A ruled table that goes on over two pages, between two paragraphs."""
    document = pymupdf.open()
    for number in range(2):
        page = document.new_page()
        for i, row in enumerate(FEES[:25] if number == 0 else FEES[25:]):
            for c, text in enumerate(row):
                box = pymupdf.Rect(60 + 140 * c, 120 + 20 * i, 200 + 140 * c, 140 + 20 * i)
                page.draw_rect(box, width=0.5)
                page.insert_text((box.x0 + 4, box.y0 + 14), text, fontsize=9)
        if number == 0:
            page.insert_text((60, 100), "The fees of the practice are these:", fontsize=9)
        else:
            page.insert_text((60, 600), "They are due on the day of the visit.", fontsize=9)
    return bytes(document.tobytes())


def tables(db: Connection, doc: str, line_no: int | None = None) -> list[dict[str, Any]]:
    with db.cursor(row_factory=psycopg.rows.dict_row) as cursor:
        return cursor.execute("SELECT * FROM tq.tables(%s, %s)", [doc, line_no]).fetchall()


def test_a_table_over_pages_is_one(db: Connection) -> None:
    doc = load(db, "fees.pdf", fees_pdf())
    work(db)
    assert_ready(db, doc)
    found = tables(db, "fees.pdf")
    assert [(t["line_start"], t["line_end"], t["page"], t["row_count"]) for t in found] == [(2, 42, 1, 40)]
    assert found[0]["caption"] == "The fees of the practice are these:"
    assert found[0]["columns"] == FEES[0]
    rows = found[0]["markdown"].split("\n")
    assert rows[:4] == [
        "| Service | Fee | Notice |",
        "| --- | --- | --- |",
        "| Check-up | 24.50 | 48 hours |",
        "| X-ray \\| both | 31.00 | 2 weeks |",
    ]
    assert rows[-1] == "| Service 39 | 39.25 | 39 days |"
    assert len(rows) == 42
    assert tables(db, "fees.pdf", 30) == found
    assert tables(db, "fees.pdf", 1) == tables(db, "fees.pdf", 43) == []
    # Its own node, or nodes where it is longer than one may be.
    kinds = db.execute(
        "SELECT kind, min(line_start), max(line_end) FROM tq.node WHERE document_id = %s AND is_leaf GROUP BY kind",
        [doc],
    ).fetchall()
    assert ("table", 2, 42) in kinds
    assert value(db, "SELECT page_count FROM tq.document WHERE id = %s", doc) == 2
    answer = db.execute(
        "SELECT quote, page, citations FROM tq.ask('fees.pdf', 'What is the fee of service 33?') WHERE rank = 1"
    ).fetchone()
    assert answer is not None
    assert answer[0].startswith("Service: Service 33 | Fee: 33.25 | Notice: 33 days")
    assert answer[1] == 2
    cited = answer[2][0]["locator"]
    assert cited["cells"] == {"Service": "Service 33", "Fee": 33.25, "Notice": "33 days"}
    assert (cited["table"], cited["row"]) == (1, 35)


def test_tables_of_other_formats(db: Connection) -> None:
    load(db, "a.csv", "Name,Zone and area,Fee\nNorth,a,1\nSouth,,2\n", "text/csv")
    db.execute("SELECT tq.load_text('a.md', E'# Fees\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nText.\n')")
    load(db, "a.json", '{"all": [{"ID": 7, "of": {"whom": "Ada"}}, {"ID": 8}]}', "application/json")
    html = "<table><tr><th>Service<th>Fee<tr><td>Crown<td>900</table><p>Text.<table><tr><td>x<td>y<tr><td>1<td>2</table>"
    load(db, "a.html", html, "text/html")
    db.execute(
        "SELECT tq.load_query('rows', 'SELECT 10 * n AS zzz, n AS b, NULL AS a FROM generate_series(1, 2) AS n')"
    )
    work(db)
    assert [t["markdown"] for t in tables(db, "a.csv")] == [
        "| Name | Zone and area | Fee |\n| --- | --- | --- |\n| North | a | 1 |\n| South |  | 2 |"
    ]
    assert [(t["markdown"], t["caption"]) for t in tables(db, "a.md")] == [
        ("| a | b |\n| --- | --- |\n| 1 | 2 |", "# Fees")
    ]
    assert [(t["markdown"], t["row_count"]) for t in tables(db, "a.json")] == [
        ("| ID | of.whom |\n| --- | --- |\n| 7 | Ada |\n| 8 |  |", 2)
    ]
    assert [(t["markdown"], t["columns"]) for t in tables(db, "a.html")] == [
        ("| Service | Fee |\n| --- | --- |\n| Crown | 900 |", ["Service", "Fee"]),
        ("|  |  |\n| --- | --- |\n| x | y |\n| 1 | 2 |", ["A", "B"]),
    ]
    assert [t["markdown"] for t in tables(db, "rows")] == [
        "| zzz | b |\n| --- | --- |\n| 10 | 1 |\n| 20 | 2 |"
    ]


def test_how_tables_are_looked_for_is_chosen_a_load(db: Connection) -> None:
    content = fees_pdf()
    first = value(db, "SELECT tq.load('f.pdf', %s)", content)
    work(db)
    assert value(db, "SELECT tq.load('f.pdf', %s)", content) == first
    assert value(db, "SELECT tq.load('f.pdf', %s, tables => 'auto')", content) == first
    # Other lines come of it: another version, of the same bytes.
    second = value(db, "SELECT tq.load('f.pdf', %s, tables => 'none')", content)
    assert second != first
    work(db)
    assert value(db, "SELECT array_agg(version || tables ORDER BY version) FROM tq.document") == [
        "1auto",
        "2none",
    ]
    assert tables(db, "f.pdf") == []
    assert len(tables(db, "f.pdf@1")) == 1
    assert value(db, "SELECT tq.load('f.pdf', %s)", content) == second
    # A failed document is tried again as it is asked for now.
    db.execute(
        "UPDATE tq.document SET status = 'failed', error = 'x', sqlstate = 'XX000', current = FALSE WHERE id = %s",
        [second],
    )
    assert value(db, "SELECT tq.load('f.pdf', %s, tables => 'text')", content) == second
    assert value(db, "SELECT tables FROM tq.document WHERE id = %s", second) == "text"


def test_a_wrong_choice_says_which_there_are(db: Connection) -> None:
    with pytest.raises(psycopg.Error) as raised:
        db.execute("SELECT tq.load('f.pdf', 'x', tables => 'grid')")
    assert raised.value.sqlstate == "TQ021"
    assert raised.value.diag.message_primary == "invalid value for the argument tables"
    assert '"grid"' in (raised.value.diag.message_detail or "")
    assert "lines_strict" in (raised.value.diag.message_hint or "")


def test_progress_counts_pages(db: Connection) -> None:
    doc = load(db, "f.pdf", fees_pdf())
    db.execute(
        "UPDATE tq.document SET status = 'converting', pages_read = 57, page_count = 200 WHERE id = %s", [doc]
    )
    assert db.execute("SELECT step, done, total FROM tq.progress").fetchone() == ("convert", 57, 200)
    with pytest.raises(psycopg.Error, match="document not ready") as raised:
        db.execute("SELECT * FROM tq.lines('f.pdf', 1, 2)")
    assert "converting, 57 of 200 pages done" in (raised.value.diag.message_detail or "")
