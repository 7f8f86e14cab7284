"""Spreadsheets and delimited text: every cell, as typed and as shown, in lines that can be read alone."""

from __future__ import annotations

import csv
import datetime
import io
import os
import warnings
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from convert_help import Result, child, convert
from hypothesis import given, settings
from hypothesis import strategies as st
from office_help import odf, relations, zipped
from openpyxl.comments import Comment
from openpyxl.styles import Font

from tq_loader.convert.numbers import EPOCH_1904, parse_format, show

FOLDER = Path(os.environ.get("TQ_FORMATS", Path(__file__).resolve().parents[3] / "shared" / "formats"))
X = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"


def told(result: Result) -> dict[str, str]:
    return {omission["kind"]: omission["detail"] for omission in result.omissions}


def saved(book: Any) -> bytes:
    buffer = io.BytesIO()
    book.save(buffer)
    return buffer.getvalue()


def xlsx(*rows: list[Any], name: str = "Data") -> bytes:
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    sheet.title = name
    for row in rows:
        sheet.append(row)
    return saved(book)


def raw_xlsx(rows: str, **parts: str) -> bytes:
    """A workbook whose one sheet is written by hand."""
    data: bytes = zipped(
        {
            "_rels/.rels": relations(("r1", "officeDocument", "xl/workbook.xml")),
            "xl/workbook.xml": f'<workbook xmlns="{X}" xmlns:r="http://schemas.openxmlformats.org/officeDocument/'
            '2006/relationships"><sheets><sheet name="S" sheetId="1" r:id="s1"/></sheets></workbook>',
            "xl/_rels/workbook.xml.rels": relations(
                ("s1", "worksheet", "s.xml"), ("s2", "sharedStrings", "strings.xml")
            ),
            "xl/s.xml": f'<worksheet xmlns="{X}"><dimension ref="A1:XFD1048576"/><sheetData>{rows}</sheetData>'
            "</worksheet>",
            **{f"xl/{key}.xml": text for key, text in parts.items()},
        }
    )
    return data


# XLSX


def test_rows_read_alone() -> None:
    result = convert(xlsx(["City", "Rain", "Sun"], ["Oslo", 763, None], ["Rome", 24000, 2473.5]))
    assert result.texts == [
        "Data",
        "City | Rain | Sun",
        "City: Oslo | Rain: 763",
        "City: Rome | Rain: 24000 | Sun: 2473.5",
    ]
    assert result.rows[0][2:4] == ["heading", 1]
    assert result.rows[3][4] == {
        "sheet": "Data",
        "row": 3,
        "cells": {"City": "Rome", "Rain": 24000, "Sun": 2473.5},
    }


def test_dates_percentages_and_truths() -> None:
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    sheet.append(["When", "Moment", "Share", "Code", "Paid", "Price", "Long"])
    moment = datetime.datetime(2024, 2, 29, 13, 30)
    sheet.append([datetime.date(2024, 2, 29), moment, 0.125, 7, True, 1234.5, datetime.timedelta(hours=30)])
    sheet["C2"].number_format = "0.0%"
    sheet["D2"].number_format = "00000"
    sheet["F2"].number_format = '#,##0.00 "EUR"'
    assert convert(saved(book)).texts[2] == (
        "When: 2024-02-29 | Moment: 2024-02-29 13:30 | Share: 0.125 (12.5%) | Code: 00007 | Paid: TRUE | "
        "Price: 1234.5 EUR | Long: 30:00:00"
    )


@pytest.mark.parametrize(
    ("value", "form", "shown"),
    [
        (45351, "yyyy-mm-dd", "2024-02-29"),
        (45351, "[$-407]d. mmmm yyyy;@", "2024-02-29"),
        (1, "m/d/yy", "1900-01-01"),
        (61, "m/d/yy", "1900-03-01"),
        (0.5, "h:mm", "12:00:00"),
        (45351.75, "m/d/yy h:mm", "2024-02-29 18:00"),
        (1.5, "[h]:mm", "36:00:00"),
        (0.1 + 0.2, "General", "0.3"),
        (1e15, "General", "1000000000000000"),
        (1e-7, "0.00", "0.0000001"),
        (-5, "0.00%", "-5 (-500.00%)"),
        (5, '"Day "0', "Day 5"),
        (3, "[Red]0", "3"),
        (12, "[$€-2] #,##0.00", "€12"),
        (1e300, "yyyy-mm-dd", "1E+300"),
    ],
)
def test_number_formats(value: float, form: str, shown: str) -> None:
    assert show(value, parse_format(form))[0] == shown


def test_1904_dates() -> None:
    assert show(11111, parse_format("d.m.yyyy"), EPOCH_1904)[0] == "1934-06-03"


def test_hidden_things_are_read_and_told() -> None:
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    sheet.append(["a", "b", "c"])
    sheet.append([1, 2, 3])
    sheet.append([4, 5, 6])
    sheet.row_dimensions[3].hidden = True
    sheet.column_dimensions["B"].hidden = True
    other = book.create_sheet("Secret")
    other.sheet_state = "veryHidden"
    other.append(["x", 1])
    result = convert(saved(book))
    assert "a: 4 | b: 5 | c: 6" in result.texts
    assert "Secret (hidden sheet)" in result.texts
    assert {"hidden_sheet", "hidden_rows", "hidden_columns"} <= set(told(result))
    rows = next(o for o in result.omissions if o["kind"] == "hidden_rows")
    assert result.texts[rows["line_start"] - 1] == "a: 4 | b: 5 | c: 6"


def test_merged_cells() -> None:
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    for row in (
        ["Region", "2023", None, "Note"],
        [None, "Sales", "Profit", None],
        ["North", 10, 2, "ok"],
        [None, 20, 4, None],
    ):
        sheet.append(row)
    for reference in ("B1:C1", "A1:A2", "A3:A4"):
        sheet.merge_cells(reference)
    assert convert(saved(book)).texts[3:] == [
        "Region: North | 2023 / Sales: 10 | 2023 / Profit: 2 | Note: ok",
        "Region: North | 2023 / Sales: 20 | 2023 / Profit: 4",
    ]


def test_tables_under_each_other_have_their_own_headers() -> None:
    bold = openpyxl.Workbook()
    sheet = bold.active
    assert sheet is not None
    for row in (
        ["Staff"], ["Name", "Age"], ["Ann", 30], [], ["Rooms"], ["Room", "Beds", "Price"], ["12", 2, 80.5], [],
        ["14", 1, 60],
    ):  # fmt: skip
        sheet.append(row)
    sheet["A1"].font = Font(bold=True)
    result = convert(saved(bold))
    assert result.texts[1:] == [
        "Staff",
        "Name | Age",
        "Name: Ann | Age: 30",
        "Rooms",
        "Room | Beds | Price",
        "Room: 12 | Beds: 2 | Price: 80.5",
        "Room: 14 | Beds: 1 | Price: 60",
    ]
    assert result.kind_of("Staff") == "heading"
    assert result.kind_of("Rooms") == "heading"


def test_lists_of_texts_have_no_header_made_up() -> None:
    result = convert(xlsx(["Name", "Ann"], ["City", "Oslo"], ["Role", "Nurse"]))
    assert result.texts[1:] == ["Name | Ann", "City | Oslo", "Role | Nurse"]


def test_formulas_errors_and_comments() -> None:
    rows = (
        '<row r="1"><c r="A1" t="inlineStr"><is><t>a</t></is></c><c r="B1" t="str"><v>b</v></c></row>'
        '<row r="2"><c r="A2"><f>1+1</f><v>2</v></c><c r="B2" t="e"><f>1/0</f><v>#DIV/0!</v></c></row>'
        '<row r="3"><c r="A3"><f>SUM(A1:A2)</f></c><c r="B3" t="s"><v>1</v></c><c r="C3" t="s"><v>99</v></c></row>'
        '<row><c><v>4</v></c><c t="d"><v>2024-02-29T00:00:00</v></c></row>'
    )
    strings = f'<sst xmlns="{X}"><si><t>x</t></si><si><r><t>ri</t></r><r><t>ch_x0041_</t></r><rPh><t>no</t></rPh></si></sst>'
    result = convert(raw_xlsx(rows, strings=strings))
    assert result.texts == [
        "S",
        "a | b",
        "a: 2 | b: #DIV/0!",
        "a: =SUM(A1:A2) | b: richA",
        "a: 4 | b: 2024-02-29",
    ]
    places = {o["kind"]: o["line_start"] for o in result.omissions}
    assert places == {"formula_error": 3, "formula_without_value": 4}
    book = openpyxl.load_workbook(io.BytesIO(xlsx(["a", 1])))
    sheet = book.active
    assert sheet is not None
    sheet["B1"].comment = Comment("is it?", "Bo")
    result = convert(saved(book))
    assert result.rows[-1][:3] == ["[comment on B1 by Bo] is it?", None, "furniture"]


def test_far_cells_and_false_dimensions_cost_nothing() -> None:
    rows = '<row r="1"><c r="A1"><v>1</v></c></row><row r="1048576"><c r="XFD1048576"><v>2</v></c></row>'
    done, result = child(raw_xlsx(rows), "--name", "a.xlsx", "--memory-mb", "256", "--cpu-seconds", "10")
    assert done.returncode == 0
    assert result is not None
    assert result.rows[2][4] == {"sheet": "S", "row": 1048576, "cells": {"XFD": 2}}


def test_entities_and_empty_books_are_refused() -> None:
    parts = {
        "_rels/.rels": relations(("r1", "officeDocument", "xl/workbook.xml")),
        "xl/workbook.xml": f'<!DOCTYPE w [<!ENTITY a "b">]><workbook xmlns="{X}"><sheets/></workbook>',
    }
    assert (convert(zipped(parts)).error or {})["code"] == "TQ011"
    parts["xl/workbook.xml"] = f'<workbook xmlns="{X}"><sheets/></workbook>'
    assert (convert(zipped(parts)).error or {})["code"] == "TQ011"
    rows = '<row r="1"><c t="str"><v>&a;</v></c></row>'
    bomb = raw_xlsx("").replace(b"", b"")
    assert convert(bomb).texts == ["S"]
    sheet = (
        f'<!DOCTYPE w [<!ENTITY a "bbbb">]><worksheet xmlns="{X}"><sheetData>{rows}</sheetData></worksheet>'
    )
    assert (convert(raw_xlsx("", s=sheet)).error or {})["code"] == "TQ011"


@settings(deadline=None, max_examples=50)
@given(
    st.lists(
        st.lists(
            st.one_of(
                st.none(),
                st.integers(-(10**14), 10**14),
                st.floats(-1e12, 1e12, allow_nan=False).map(lambda x: float(f"{x:.12g}")),
                st.text(alphabet="abc déß漢 7.,", max_size=8),
            ),
            min_size=1,
            max_size=5,
        ),
        min_size=1,
        max_size=20,
    )
)
def test_no_cell_is_lost(rows: list[list[Any]]) -> None:
    result = convert(xlsx(*rows))
    found: dict[int, list[Any]] = {
        row[4]["row"]: list(row[4]["cells"].values()) for row in result.rows if "row" in (row[4] or {})
    }
    for number, row in enumerate(rows, start=1):
        expected = [" ".join(v.split()) if isinstance(v, str) else v for v in row if v is not None]
        assert found.get(number, []) == [v for v in expected if v != ""]
        line = next((r[0] for r in result.rows if (r[4] or {}).get("row") == number), "")
        assert all(v in line for v in expected if isinstance(v, str))
        assert all(str(v) in line for v in expected if isinstance(v, int))


# Real workbooks, cell by cell against another reader


def workbooks() -> list[str]:
    names = sorted(path.name for path in FOLDER.glob("xlsx_*.xlsx")) if FOLDER.is_dir() else []
    return [name for name in names if name != "xlsx_password.xlsx"]


@pytest.mark.parametrize("name", workbooks())
def test_numbers_are_those_of_openpyxl(name: str) -> None:
    data = (FOLDER / name).read_bytes()
    result = convert(data, name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        book = openpyxl.load_workbook(io.BytesIO(data), data_only=True, read_only=False)
    by_row: dict[tuple[str, int], list[Any]] = {}
    for row in result.rows:
        if "row" in (row[4] or {}):
            by_row.setdefault((row[4]["sheet"], row[4]["row"]), []).extend(row[4]["cells"].values())
    checked = 0
    for sheet in book.worksheets:
        title = " ".join(sheet.title.split())
        for cells in sheet.iter_rows(max_row=2000):
            for cell in cells:
                value = cell.value
                if isinstance(value, int | float) and not isinstance(value, bool) and not cell.is_date:
                    near = [v for v in by_row[title, cell.row] if isinstance(v, int | float)]
                    assert any(v == value or abs(v - value) <= 1e-14 * abs(value) for v in near), cell
                    checked += 1
                elif isinstance(value, datetime.datetime):
                    assert any(
                        str(v).startswith(value.date().isoformat()) for v in by_row[title, cell.row]
                    ) or value.year < 1901, cell  # fmt: skip
                elif isinstance(value, str) and value.strip():
                    assert " ".join(value.split()) in by_row[title, cell.row], cell
    assert checked or name in ("xlsx_emoji.xlsx", "xlsx_hidden_sheet.xlsx", "xlsx_subtables.xlsx")


@pytest.mark.skipif(
    not (FOLDER / "xls_chinese_provinces.xls").is_file(),
    reason="no real files: TQ_FORMATS names their folder",
)
def test_xls_sheets_and_damage() -> None:
    data = bytearray((FOLDER / "xls_chinese_provinces.xls").read_bytes())
    assert convert(bytes(data)).texts[-1] == "Chongqing | 重庆市"
    for at in range(700, len(data), 450):
        broken = bytearray(data)
        broken[at : at + 40] = b"\xff" * 40
        done, _ = child(bytes(broken), "--name", "a.xls", "--cpu-seconds", "10")
        assert done.returncode in (0, 1)


# ODS


def test_ods() -> None:
    def cell(text: str, kind: str = "string", **attributes: str) -> str:
        more = "".join(f' office:{key.replace("_", "-")}="{value}"' for key, value in attributes.items())
        return (
            f'<table:table-cell office:value-type="{kind}"{more}><text:p>{text}</text:p></table:table-cell>'
        )

    empty = '<table:table-cell table:number-columns-repeated="16380"/>'
    gap = f'<table:table-row table:number-rows-repeated="1048000">{empty}</table:table-row>'
    body = (
        '<table:table table:name="Fees"><table:table-row>'
        + cell("What") + cell("When") + cell("Share") + cell("Price") + empty + "</table:table-row>"
        + "<table:table-row>" + cell("Pool") + cell("29.02.24", "date", date_value="2024-02-29")
        + cell("12,5 %", "percentage", value="0.125") + cell("24.000,00 €", "currency", value="24000", currency="EUR")
        + empty + "</table:table-row>" + gap + "<table:table-row>" + cell("far") + "</table:table-row></table:table>"
        + '<table:table table:name="Secret" table:style-name="ta9"><table:table-row table:number-rows-repeated="3">'
        + cell("7", "float", value="7") + "</table:table-row></table:table>"
    )  # fmt: skip
    styles = '<style:style style:name="ta9" style:family="table"><style:table-properties table:display="false"/></style:style>'
    result = convert(odf("spreadsheet", body, styles))
    assert result.texts == [
        "Fees",
        "What | When | Share | Price",
        "What: Pool | When: 2024-02-29 | Share: 0.125 (12,5 %) | Price: 24000 EUR",
        "What: far",
        "Secret (hidden sheet)",
        "7",
        "7",
        "7",
    ]
    assert result.rows[2][4]["cells"] == {
        "What": "Pool",
        "When": "2024-02-29",
        "Share": 0.125,
        "Price": 24000,
    }
    assert result.rows[3][4]["row"] == 1048003
    assert "hidden_sheet" in told(result)


# CSV


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_delimiters_and_encodings(delimiter: str, encoding: str) -> None:
    rows = [
        ["Name", "Ort", "Preis"],
        ["Jörg", "Köln, Süd; links | rechts", "1.250,50"],
        ["Anna", "Bonn", "007"],
    ]
    text = io.StringIO()
    csv.writer(text, delimiter=delimiter).writerows(rows)
    result = convert(text.getvalue().encode(encoding), "a.csv")
    assert result.texts[0] == "Name | Ort | Preis"
    assert result.texts[1] == "Name: Jörg | Ort: Köln, Süd; links | rechts | Preis: 1.250,50"
    assert result.rows[2][4] == {"row": 3, "cells": {"Name": "Anna", "Ort": "Bonn", "Preis": "007"}}


def test_csv_details() -> None:
    assert convert(b"sep=;\na;b\n1;2\n", "a.csv").texts == ["a | b", "a: 1 | b: 2"]
    assert convert(b"a,b\n1,2\n", "x", "text/csv").texts == ["a | b", "a: 1 | b: 2"]
    assert convert(b"only\none\ncolumn\n", "a.csv").texts == ["only", "one", "column"]
    assert convert(b"1,2\n3,4\n", "a.csv").texts == ["1 | 2", "3 | 4"]
    assert convert(b"a,a\n1,2\n", "a.csv").rows[1][4]["cells"] == {"a": 1, "a (2)": 2}
    ragged = convert(b"a,b\n1,2,3\n4\n", "a.csv")
    assert ragged.texts == ["a | b", "a: 1 | b: 2 | 3", "a: 4"]
    assert "ragged_rows" in told(ragged)
    nul = convert(b"a,b,c\n\x00,2,3\n", "a.csv")
    assert nul.texts[1] == "a: \ufffd | b: 2 | c: 3"
    assert nul.rows[1][4]["cells"]["a"] == "\ufffd"
    assert "nul" in told(nul)


def test_a_quotation_mark_that_is_never_closed_swallows_nothing() -> None:
    lines = b"size,what\n" + b"".join(b"%d,x\n" % i for i in range(50)) + b'"5 inch,pipe\n' + b"6,y\n" * 3000
    result = convert(lines, "a.csv")
    assert len(result.texts) == 3052
    assert "quotation_marks" in told(result)


def test_a_csv_that_is_something_else() -> None:
    assert convert(xlsx(["a", "b"], [1, 2]), "export.csv", "text/csv").texts[0] == "Data"
    assert convert(b"<html><body><table><tr><td>1</td></tr></table></body></html>", "a.csv").document[
        "media_type"
    ] == "text/html"  # fmt: skip


@settings(deadline=None, max_examples=80)
@given(st.binary(min_size=1, max_size=300))
def test_any_csv_ends_well(data: bytes) -> None:
    convert(data, "a.csv")


@settings(deadline=None, max_examples=60)
@given(st.data())
def test_mutated_workbooks_end_well(data: st.DataObject) -> None:
    changed = bytearray(
        data.draw(
            st.sampled_from([raw_xlsx('<row r="1"><c r="A1"><v>1</v></c></row>'), odf("spreadsheet", "")])
        )
    )
    for _ in range(data.draw(st.integers(1, 8))):
        changed[data.draw(st.integers(0, len(changed) - 1))] = data.draw(st.integers(0, 255))
    convert(bytes(changed), "a")
