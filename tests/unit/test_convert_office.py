"""Word, PowerPoint, OpenDocument text, RTF and legacy Word: what stands in them, once and in order."""

from __future__ import annotations

import os
import struct
from pathlib import Path

import pytest
from convert_help import Result, convert
from hypothesis import given, settings
from hypothesis import strategies as st
from office_help import docx, odf, p, pptx, r, relations, shape, table, zipped

FOLDER = Path(os.environ.get("TQ_FORMATS", Path(__file__).resolve().parents[3] / "shared" / "formats"))


def told(result: Result) -> dict[str, str]:
    return {omission["kind"]: omission["detail"] for omission in result.omissions}


def code(result: Result) -> str | None:
    return result.error["code"] if result.error else None


# DOCX


def test_paragraphs_and_headings() -> None:
    styles = (
        '<w:style w:type="paragraph" w:default="1" w:styleId="Normal"><w:name w:val="Normal"/></w:style>'
        '<w:style w:type="paragraph" w:styleId="berschrift2"><w:name w:val="heading 2"/></w:style>'
        '<w:style w:type="paragraph" w:styleId="own"><w:name w:val="Own"/><w:basedOn w:val="berschrift2"/>'
        "</w:style>"
    )
    result = convert(
        docx(
            p("Terms", '<w:outlineLvl w:val="0"/>')
            + p("Cancelling", '<w:pStyle w:val="berschrift2"/>')
            + p("Fees", '<w:pStyle w:val="own"/>')
            + p("48 hours before.")
            + p("")
            + "<w:p><w:r><w:t>one</w:t><w:br/><w:t>two</w:t></w:r></w:p>",
            styles=styles,
        )
    )
    assert [(row[0], row[2], row[3]) for row in result.rows] == [
        ("Terms", "heading", 1),
        ("Cancelling", "heading", 2),
        ("Fees", "heading", 2),
        ("48 hours before.", "text", None),
        ("one", "text", None),
        ("two", "text", None),
    ]


def test_tracked_changes_are_read_as_accepted() -> None:
    body = (
        "<w:p>"
        + r("Pay ")
        + "<w:del><w:r><w:delText>2400</w:delText></w:r></w:del><w:ins>"
        + r("24000")
        + "</w:ins>"
        + r(" euros.")
        + "</w:p>"
        + "<w:p><w:moveFrom>"
        + r("The moved sentence.")
        + "</w:moveFrom></w:p>"
        + p("In between.")
        + "<w:p><w:moveTo>"
        + r("The moved sentence.")
        + "</w:moveTo></w:p>"
        + "<w:p><w:pPr><w:rPr><w:del/></w:rPr></w:pPr>"
        + r("First half ")
        + "</w:p>"
        + p("second half.")
        + "<w:tbl><w:tr><w:tc>" + p("a") + "</w:tc><w:tc>" + p("b") + "</w:tc></w:tr>"
        + "<w:tr><w:trPr><w:del/></w:trPr><w:tc>" + p("gone") + "</w:tc></w:tr>"
        + "<w:tr><w:tc>" + p("1") + "</w:tc><w:tc>" + p("2") + "</w:tc></w:tr></w:tbl>"
    )  # fmt: skip
    result = convert(docx(body))
    assert result.texts[:4] == [
        "Pay 24000 euros.",
        "In between.",
        "The moved sentence.",
        "First half second half.",
    ]
    assert "2400 " not in " ".join(result.texts)
    assert "gone" not in " ".join(result.texts)
    assert "accepted" in told(result)["tracked_changes"]


def test_notes_follow_their_paragraph_and_are_marked() -> None:
    notes = (
        '<w:footnote w:type="separator" w:id="-1"><w:p/></w:footnote>'
        '<w:footnote w:id="2">' + p("Net of tax.") + "</w:footnote>"
    )
    body = "<w:p>" + r("Price 2400") + '<w:r><w:footnoteReference w:id="2"/></w:r></w:p>' + p("After.")
    result = convert(docx(body, footnotes=notes))
    # A bare 1 after the number would read as 24001.
    assert result.texts == ["Price 2400[note 1]", "[note 1] Net of tax.", "After."]
    assert result.rows[1][4]["part"] == "footnote"


def test_text_boxes_come_once() -> None:
    box = "<w:txbxContent>" + p("Boxed words") + "</w:txbxContent>"
    body = (
        "<w:p>" + r("Body") + "<w:r><mc:AlternateContent><mc:Choice><w:drawing><wps:txbx>" + box
        + "</wps:txbx></w:drawing></mc:Choice><mc:Fallback><w:pict><v:textbox>" + box
        + "</v:textbox></w:pict></mc:Fallback></mc:AlternateContent></w:r></w:p>"
    )  # fmt: skip
    assert convert(docx(body)).texts == ["Body", "Boxed words"]


def test_comments_headers_and_images() -> None:
    comments = '<w:comment w:id="0" w:author="Ada">' + p("Is this right?") + "</w:comment>"
    picture = '<w:r><w:drawing><wp:inline><wp:docPr descr="a map"/><pic:pic/></wp:inline></w:drawing></w:r>'
    body = "<w:p>" + r("Text") + '<w:r><w:commentReference w:id="0"/></w:r>' + picture + "</w:p>"
    result = convert(docx(body, comments=comments, header=p("ACME"), footer=p("ACME")))
    assert [(row[0], row[2]) for row in result.rows] == [
        ("Text", "text"),
        ("ACME", "furniture"),
        ("[comment by Ada] Is this right?", "furniture"),
    ]
    assert "a map" in told(result)["image"]
    assert "1 comment" in told(result)["comments"]


def test_fields_show_their_result() -> None:
    def char(kind: str) -> str:
        return f'<w:r><w:fldChar w:fldCharType="{kind}"/></w:r>'

    body = (
        "<w:p>" + char("begin") + "<w:r><w:instrText>PAGEREF x</w:instrText></w:r>" + char("separate")
        + r("12") + char("end") + "</w:p>"
        + "<w:p>" + char("begin") + r("lost code") + "</w:p>" + p("not swallowed")
        + "<w:p>" + r("seen ") + r("secret", "<w:vanish/>") + "</w:p>"
    )  # fmt: skip
    result = convert(docx(body))
    assert result.texts == ["12", "not swallowed", "seen"]
    assert "hidden_text" in told(result)


def test_lists_have_the_numbers_that_are_shown() -> None:
    def level(i: int, form: str, text: str) -> str:
        return f'<w:lvl w:ilvl="{i}"><w:start w:val="1"/><w:numFmt w:val="{form}"/><w:lvlText w:val="{text}"/></w:lvl>'

    numbering = (
        '<w:abstractNum w:abstractNumId="0">'
        + level(0, "decimal", "%1.")
        + level(1, "lowerLetter", "%1.%2)")
        + level(2, "upperRoman", "%3")
        + '</w:abstractNum><w:abstractNum w:abstractNumId="1">'
        + level(0, "bullet", "")
        + '</w:abstractNum><w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num>'
        '<w:num w:numId="2"><w:abstractNumId w:val="1"/></w:num>'
    )

    def item(text: str, at: int, number: int = 1) -> str:
        properties = f'<w:numPr><w:ilvl w:val="{at}"/><w:numId w:val="{number}"/></w:numPr>'
        return f"{p(text, properties)}"

    body = item("A", 0) + item("B", 1) + item("C", 1) + item("D", 2) + item("E", 0) + item("F", 1)
    result = convert(docx(body + item("G", 0, 2) + item("H", 0, 0), numbering=numbering))
    assert result.texts == ["1. A", "1.a) B", "1.b) C", "I D", "2. E", "2.a) F", "• G", "H"]


def test_tables_row_by_row() -> None:
    def merged(text: str, kind: str) -> str:
        return f'<w:tcPr><w:vMerge w:val="{kind}"/></w:tcPr>{p(text)}'

    body = p("Fees") + table(
        ["Service", "Adult", "Child"],
        [merged("Pool", "restart"), "12", "6"],
        [merged("", "continue"), "14", ""],
        header=True,
    )
    result = convert(docx(body))
    assert result.texts == [
        "Fees",
        "Service | Adult | Child",
        "Service: Pool | Adult: 12 | Child: 6",
        "Service: Pool | Adult: 14",
    ]
    assert result.rows[2][4]["cells"] == {"Service": "Pool", "Adult": 12, "Child": 6}
    assert [row[2] for row in result.rows] == ["text", "table", "table", "table"]


def test_header_over_two_rows() -> None:
    wide = '<w:tcPr><w:gridSpan w:val="2"/></w:tcPr>' + p("2023")
    body = table(["", wide], ["", "Sales", "Profit"], ["North", "10", "2"], ["South", "20", "4"])
    assert convert(docx(body)).texts[2:] == [
        "North | 2023 / Sales: 10 | 2023 / Profit: 2",
        "South | 2023 / Sales: 20 | 2023 / Profit: 4",
    ]


def test_layout_tables_are_text() -> None:
    result = convert(
        docx(table([p("One paragraph.") + p("Another.")]) + table(["left", table(["x", "y"], ["1", "2"])]))
    )
    assert result.texts[:3] == ["One paragraph.", "Another.", "left"]


def test_equations() -> None:
    body = (
        "<w:p><m:oMath><m:f><m:num><m:r><m:t>a+b</m:t></m:r></m:num><m:den><m:r><m:t>2</m:t></m:r></m:den></m:f>"
        "<m:r><m:t>=</m:t></m:r><m:sSup><m:e><m:r><m:t>x</m:t></m:r></m:e><m:sup><m:r><m:t>3</m:t></m:r></m:sup>"
        "</m:sSup></m:oMath></w:p>"
    )
    assert convert(docx(body)).texts == ["(a+b)/2=x^3"]


@pytest.mark.parametrize(
    ("chunk", "texts"),
    [
        (
            b"<html><body><h1>Top</h1><p>one <b>two</b></p><script>no</script></body></html>",
            ["Top", "one two"],
        ),
        (b"{\\rtf1\\ansi Rich \\b text\\par}", ["Rich text"]),
        (b"plain\nlines\n", ["plain", "lines"]),
    ],
)
def test_alt_chunks(chunk: bytes, texts: list[str]) -> None:
    assert convert(docx('<w:altChunk r:id="chunk"/>', chunk=chunk)).texts == texts


def test_an_alt_chunk_of_itself_ends() -> None:
    inner = docx(p("deep"))
    for _ in range(12):
        inner = docx(p("level") + '<w:altChunk r:id="chunk"/>', chunk=inner)
    result = convert(inner)
    assert 1 < len(result.texts) <= 12
    assert "embedded_document" in told(result)


# What must be refused


def test_entities_are_refused() -> None:
    bomb = '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>'
    body = "<w:p><w:r><w:t>&b;</w:t></w:r></w:p>"
    parts = {
        "_rels/.rels": relations(("r1", "officeDocument", "word/document.xml")),
        "word/document.xml": f'{bomb}<w:document xmlns:w="x"><w:body>{body}</w:body></w:document>',
    }
    assert code(convert(zipped({**parts}), "a.docx")) == "TQ011"


def test_declared_sizes_are_believed_before_reading() -> None:
    data = bytearray(docx(p("x")))
    # The size of the main part as the directory at the end declares it: 3 GB.
    at = data.rfind(b"word/document.xml")
    struct.pack_into("<I", data, at - 46 + 24, 3 << 30)
    assert code(convert(bytes(data))) == "TQ012"


def test_a_part_that_unpacks_to_too_much() -> None:
    body = "<w:p/>" + " " * 190_000_000
    assert code(convert(docx(body), "a.docx")) == "TQ012"


def test_damaged_packages() -> None:
    good = docx(p("some words here"))
    assert code(convert(good[:-30], "a.docx")) in ("TQ010", "TQ011")
    assert code(convert(zipped({"word/document.xml": "<w:document"}), "a.docx")) == "TQ011"
    missing = zipped({"[Content_Types].xml": "wordprocessingml.document.main"})
    assert code(convert(missing, "a.docx")) == "TQ011"


def test_a_zip_with_a_password() -> None:
    data = bytearray(docx(p("x")))
    for at in range(len(data) - 4):
        if data[at : at + 4] == b"PK\x01\x02":
            data[at + 8] |= 1
    assert code(convert(bytes(data))) in ("TQ013", "TQ010")


# PPTX


def test_slides_with_notes_in_visual_order() -> None:
    slide = (
        shape("bottom", at=(0, 900))
        + shape("right", at=(500, 100))
        + shape("left", at=(0, 110))
        + shape("Agenda", kind="title", at=(0, 0))
        + shape("7", kind="sldNum", at=(0, 990))
    )
    result = convert(pptx(slide, shape("alone"), notes={1: "say hello"}, hidden=frozenset({2})))
    assert [(row[0], row[1], row[2]) for row in result.rows] == [
        ("Agenda", 1, "heading"),
        ("left", 1, "text"),
        ("right", 1, "text"),
        ("bottom", 1, "text"),
        ("7", 1, "furniture"),
        ("say hello", 1, "text"),
        ("alone", 2, "text"),
    ]
    assert "hidden_slide" in told(result)


def test_groups_tables_and_pictures_on_slides() -> None:
    group = (
        f"<p:grpSp><p:grpSpPr/>{shape('in group')}<p:grpSp><p:grpSpPr/>{shape('deeper')}</p:grpSp></p:grpSp>"
    )

    def row(*cells: str) -> str:
        return "<a:tr>" + "".join(
            f"<a:tc><a:txBody><a:p><a:r><a:t>{c}</a:t></a:r></a:p></a:txBody></a:tc>" for c in cells
        ) + "</a:tr>"  # fmt: skip

    frame = (
        '<p:graphicFrame><a:graphic><a:graphicData><a:tbl><a:tblPr firstRow="1"/>'
        + row("City", "Rain") + row("Oslo", "763") + "</a:tbl></a:graphicData></a:graphic></p:graphicFrame>"
    )  # fmt: skip
    picture = '<p:pic><p:nvPicPr><p:cNvPr descr="a bridge"/></p:nvPicPr></p:pic>'
    result = convert(pptx(group + frame + picture))
    assert result.texts == ["in group", "deeper", "City | Rain", "City: Oslo | Rain: 763"]
    assert "a bridge" in told(result)["image"]


# OpenDocument text


def test_odt() -> None:
    body = (
        "<text:tracked-changes><text:changed-region><text:deletion><text:p>old price</text:p></text:deletion>"
        "</text:changed-region></text:tracked-changes>"
        '<text:h text:outline-level="2">Fees</text:h>'
        '<text:p>Pay 24<text:s text:c="2"/>euros<text:note text:note-class="footnote">'
        "<text:note-citation>1</text:note-citation><text:note-body><text:p>Net.</text:p></text:note-body></text:note>"
        "<text:line-break/>or less</text:p>"
        "<text:list><text:list-item><text:p>first</text:p></text:list-item></text:list>"
        "<table:table><table:table-header-rows><table:table-row>"
        "<table:table-cell><text:p>Age</text:p></table:table-cell>"
        "<table:table-cell><text:p>Fee</text:p></table:table-cell></table:table-row></table:table-header-rows>"
        "<table:table-row><table:table-cell><text:p>6</text:p></table:table-cell>"
        "<table:table-cell><text:p>3.50</text:p></table:table-cell></table:table-row></table:table>"
        "<text:p>End<office:annotation><dc:creator>Bo</dc:creator><text:p>check</text:p></office:annotation></text:p>"
    )
    result = convert(odf("text", body))
    assert result.texts == [
        "Fees",
        "Pay 24  euros[note 1]",
        "or less",
        "[note 1] Net.",
        "• first",
        "Age | Fee",
        "Age: 6 | Fee: 3.50",
        "End",
        "[comment by Bo] check",
    ]
    assert result.rows[0][2:4] == ["heading", 2]
    assert {"tracked_changes", "comments"} <= set(told(result))


def test_odp_and_encrypted_odf() -> None:
    slide = "<draw:page><draw:frame><draw:text-box><text:p>Hello</text:p></draw:text-box></draw:frame></draw:page>"
    result = convert(odf("presentation", slide * 2))
    assert [(row[0], row[1]) for row in result.rows] == [("Hello", 1), ("Hello", 2)]
    manifest = "<manifest><file-entry><encryption-data/></file-entry></manifest>"
    assert code(convert(odf("text", "", **{"META-INF__manifest": manifest}))) == "TQ013"


# RTF


def test_rtf() -> None:
    data = (
        rb"{\rtf1\ansi\ansicpg1252\uc1{\fonttbl{\f0\fcharset0 Arial;}{\f1\fcharset204 Arial;}}"
        rb"{\stylesheet{\s1\outlinelevel0 heading 1;}}{\info{\title Fees}{\author X}}"
        rb"{\header Top line\par}"
        rb"\pard\s1 Prices\par \pard caf\'e9 \u8364? 24000{\footnote \chftn  Net.}\par"
        rb"{\f1 \'cf\'f0\'e8\'e2\'e5\'f2}\par"
        rb"{\deleted gone}{\revised new}\par {\v secret}{\*\unknown nothing}{\pict 0a0b}"
        rb"\trowd\cellx100\cellx200\intbl Age\cell Fee\cell\row"
        rb"\trowd\cellx100\cellx200\intbl 6\cell 3.50\cell\row\pard After\line all\par}"
    )
    result = convert(data, "a.rtf")
    assert result.document["title"] == "Fees"
    assert result.texts == [
        "Prices",
        "café € 24000[note 1]",
        "[note 1] Net.",
        "Привет",
        "new",
        "Age | Fee",
        "Age: 6 | Fee: 3.50",
        "After",
        "all",
        "Top line",
    ]
    assert result.rows[0][2:4] == ["heading", 1]
    assert {"tracked_changes", "hidden_text", "image"} <= set(told(result))


def test_rtf_of_nothing_and_of_endless_groups() -> None:
    assert code(convert(b"{\\rtf1 }", "a.rtf")) == "TQ011"
    assert code(convert(b"{\\rtf1 " + b"{" * 100_000, "a.rtf")) == "TQ011"
    assert convert(b"{\\rtf1 open \\'e", "a.rtf").texts == ["open e"]


# Any bytes


@settings(deadline=None, max_examples=60)
@given(st.data())
def test_mutated_files_end_well(data: st.DataObject) -> None:
    original = data.draw(
        st.sampled_from(
            [
                docx(p("one") + table(["a", "b"], ["1", "2"])),
                pptx(shape("x", at=(0, 0)), notes={1: "y"}),
                odf("text", "<text:p>one</text:p>"),
                b"{\\rtf1\\ansi one\\par\\trowd\\cellx9 a\\cell\\row{\\b two}}",
            ]
        )
    )
    changed = bytearray(original)
    for _ in range(data.draw(st.integers(1, 8))):
        changed[data.draw(st.integers(0, len(changed) - 1))] = data.draw(st.integers(0, 255))
    convert(bytes(changed), "a")


@settings(deadline=None, max_examples=40)
@given(st.data())
@pytest.mark.skipif(
    not (FOLDER / "doc_legacy.doc").is_file(), reason="no real files: TQ_FORMATS names their folder"
)
def test_mutated_legacy_documents_end_well(data: st.DataObject) -> None:
    changed = bytearray((FOLDER / "doc_legacy.doc").read_bytes())
    for _ in range(data.draw(st.integers(1, 40))):
        # Where the headers, the piece table and the formatting are, or anywhere.
        most = data.draw(st.sampled_from([512, 2048, len(changed)]))
        changed[data.draw(st.integers(0, most - 1))] = data.draw(st.integers(0, 255))
    convert(bytes(changed), "a.doc")


@pytest.mark.skipif(
    not (FOLDER / "doc_legacy.doc").is_file(), reason="no real files: TQ_FORMATS names their folder"
)
def test_legacy_document_has_headings_and_tables() -> None:
    result = convert((FOLDER / "doc_legacy.doc").read_bytes(), "a.doc")
    assert result.kind_of("Let’s swim!") == "heading"
    assert "Leaves | Food: Ash, Elm, Maple | Calories per portion: 50" in result.texts
    assert {"image", "list_numbers"} <= set(told(result))
