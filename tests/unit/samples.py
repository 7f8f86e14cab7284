"""One small file of each format that is read, made in code. Each says the FACT somewhere."""

from __future__ import annotations

import io
import zipfile
from email.message import EmailMessage
from typing import Any

import openpyxl
import pymupdf
from msg_help import File, Message, msg
from office_help import docx, odf, p, pptx, shape, table
from sheet_help import Percent, Sheet
from xls_help import xls
from xlsb_help import xlsb

FACT = "The door code is 4711."
_ROWS: list[list[Any]] = [["What", "Share"], [FACT, 0.25], ["Nothing else", 2]]


def _xlsx() -> bytes:
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    for row in _ROWS:
        sheet.append(row)
    sheet.merge_cells("A5:B5")
    sheet["A5"] = "merged"
    sheet["B2"].number_format = "0.0%"
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def _mail(subject: str = "Door") -> EmailMessage:
    made = EmailMessage()
    made["From"], made["To"], made["Subject"] = "a@example.org", "b@example.org", subject
    made["Message-ID"], made["Date"] = "<1@example.org>", "Fri, 01 Mar 2024 09:30:00 +0000"
    made.set_content(FACT + "\n")
    return made


def _eml() -> bytes:
    made = _mail()
    made.add_alternative(f"<table><tr><th>What<tr><td>{FACT}</table>", "html")
    made.add_attachment(b"x,y\n1,2\n", maintype="text", subtype="csv", filename="a.csv")
    made.add_attachment(_mail("Inner"))
    return made.as_bytes()


def _epub() -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("mimetype", "application/epub+zip", zipfile.ZIP_STORED)
        container = '<container><rootfiles><rootfile full-path="b.opf"/></rootfiles></container>'
        archive.writestr("META-INF/container.xml", container)
        archive.writestr(
            "b.opf",
            '<package xmlns:dc="http://purl.org/dc/elements/1.1/"><metadata><dc:title>Book</dc:title></metadata><manifest>'
            '<item id="a" href="a.xhtml" media-type="application/xhtml+xml"/></manifest>'
            '<spine><itemref idref="a"/></spine></package>',
        )
        archive.writestr("a.xhtml", f"<html><body><h1>One</h1><p>{FACT}</p></body></html>")
    return out.getvalue()


def _pdf() -> bytes:
    document: Any = pymupdf.open()
    page = document.new_page(width=300, height=200)
    page.insert_text((20, 40), "Rules of the house", fontsize=18)
    page.insert_text((20, 80), FACT, fontsize=11)
    page.draw_rect((20, 100, 280, 160))
    page.draw_line((150, 100), (150, 160))
    page.draw_line((20, 130), (280, 130))
    for at, word in (((25, 120), "Item"), ((155, 120), "Price"), ((25, 150), "Crown"), ((155, 150), "900")):
        page.insert_text(at, word, fontsize=10)
    document.set_toc([[1, "Rules", 1]])
    return bytes(document.tobytes(deflate=False, garbage=3))


def _picture() -> Any:
    document: Any = pymupdf.open()
    page = document.new_page(width=260, height=60)
    page.insert_text((20, 35), FACT, fontsize=14)
    return page.get_pixmap(dpi=150, colorspace=pymupdf.csGRAY)


_HTML = (
    f"<!DOCTYPE html><html><head><title>House</title></head><body><h1>Rules</h1><p>{FACT}</p>"
    "<table><tr><th rowspan=2>Item<th colspan=2>Price<tr><td>a<td>b<tr><td>x<td>1<td>2</table>"
    "<ul><li>one<li>two</ul><pre>a\n  b</pre></body></html>"
)
_RTF = rf"{{\rtf1\ansi{{\b Rules}}\par {FACT}\par\trowd\cellx9 a\cell b\cell\row{{\footnote x}}\u8211?}}"

SAMPLES: dict[str, bytes] = {
    "a.txt": f"Rules\n\n{FACT}\r\nNothing else.\n".encode(),
    "talk.txt": f"[00:01:02] Anna: {FACT}\n[00:01:09] Ben: Fine.\n\n[00:01:12] Anna: So.\n".encode(),
    "a.md": f"# Rules\n\n{FACT}\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```\ncode\n```\n".encode(),
    "a.csv": f'What,Share\n"{FACT}",25\n"two\nlines",3\n'.encode(),
    "a.tsv": f"What\tShare\n{FACT}\t25\n".encode(),
    "a.json": f'{{"rules": [{{"text": "{FACT}", "n": 1.50}}, {{"text": "x", "n": null}}], "deep": [[1]]}}'.encode(),
    "a.jsonl": f'{{"text": "{FACT}"}}\n{{"text": "x"}}\n'.encode(),
    "a.html": _HTML.encode(),
    "a.eml": _eml(),
    "a.mbox": b"From a@example.org Fri Mar 01 09:30:00 2024\n" + _mail().as_bytes() + b"\n",
    "a.msg": msg(
        Message(
            "Door",
            FACT,
            b"<p>x</p>",
            attached=[File("a.csv", b"x,y\n1,2\n", "text/csv"), Message("Inner", "y")],
        )
    ),
    "a.vtt": f"WEBVTT\n\n00:01.000 --> 00:02.000\n<v Anna>{FACT}</v>\n\n00:03.000 --> 00:04.000\nx\n".encode(),
    "a.srt": f"1\n00:00:01,000 --> 00:00:02,000\n{FACT}\n\n2\n00:00:03,000 --> 00:00:04,000\nx\n".encode(),
    "a.epub": _epub(),
    "a.docx": docx(
        p("Rules", '<w:pStyle w:val="Heading1"/>') + p(FACT) + table(["a", "b"], ["1", "2"], header=True),
        styles='<w:style w:styleId="Heading1"><w:name w:val="heading 1"/></w:style>',
        footnotes=f'<w:footnote w:id="2">{p("note")}</w:footnote>',
    ),
    "a.pptx": pptx(shape(f"Rules\n{FACT}", at=(0, 0)), shape("two", kind="title"), notes={1: "said"}),
    "a.odt": odf("text", f'<text:h text:outline-level="1">Rules</text:h><text:p>{FACT}</text:p>'),
    "a.ods": odf(
        "spreadsheet",
        '<table:table table:name="S"><table:table-row><table:table-cell office:value-type="string">'
        f'<text:p>{FACT}</text:p></table:table-cell><table:table-cell office:value-type="float" office:value="2">'
        "<text:p>2</text:p></table:table-cell></table:table-row></table:table>",
    ),
    "a.odp": odf(
        "presentation",
        f'<draw:page draw:name="1"><draw:frame><draw:text-box><text:p>{FACT}</text:p></draw:text-box></draw:frame>'
        "</draw:page>",
    ),
    "a.rtf": _RTF.encode(),
    "a.xlsx": _xlsx(),
    "a.xls": xls(Sheet("S", [*_ROWS, ["p", Percent(0.5)]], merged=[(3, 3, 0, 1)])),
    "a.xlsb": xlsb(Sheet("S", [*_ROWS, ["p", Percent(0.5)]], merged=[(3, 3, 0, 1)])),
    "a.pdf": _pdf(),
}
# Read by Tesseract alone.
PICTURES: dict[str, bytes] = {"a.png": _picture().tobytes("png"), "a.jpg": _picture().tobytes("jpg")}
