"""HTML, mail, Outlook messages, books, subtitles and JSON: fixtures made here, each for one thing."""

from __future__ import annotations

import base64
import io
import json
import zipfile
from collections import Counter
from email.message import EmailMessage

import pytest
from convert_help import Result, child, convert
from hypothesis import given, settings
from hypothesis import strategies as st


def page(body: str, head: str = "") -> Result:
    return convert(f"<!DOCTYPE html><html><head>{head}</head><body>{body}</body></html>".encode(), "a.html")


def kinds(result: Result) -> list[str]:
    return [omission["kind"] for omission in result.omissions]


# ---- HTML


def test_html_blocks_headings_and_lists() -> None:
    result = page(
        "<h1>Fees</h1><p>Late  <b>can</b>cellation:\n £25.<br>No refund.</p><ol start=3><li>Call<li>Write"
        "<ul><li>by post</ul></ol><pre>a  b\n  c</pre><h2 id=x>Hours</h2>"
    )
    assert result.texts == [
        "Fees", "Late cancellation: £25.", "No refund.", "3. Call", "4. Write", "  - by post", "a  b", "  c", "Hours"
    ]  # fmt: skip
    assert [row[3] for row in result.rows if row[2] == "heading"] == [1, 2]
    assert [row[2] for row in result.rows][6:8] == ["code", "code"]
    assert result.rows[-1][4]["anchor"] == "x"
    assert result.document["media_type"] == "text/html"


def test_html_leaves_out_what_nobody_sees_and_says_so() -> None:
    result = page(
        "<script>var x = '99';</script><style>p{}</style><p>Seen</p><p style='display: none'>Hidden 17</p>"
        "<p hidden>Also</p><p>Was <del>£40</del> £30</p><iframe src=x></iframe><img src=a alt='A plan'>"
        "<nav><a>Home</a></nav>"
    )
    assert result.texts == ["Seen", "Was £30", "[image: A plan]", "Home"]
    assert result.kind_of("Home") == "furniture"
    assert sorted(kinds(result)) == ["deleted_text", "embedded", "hidden_text", "image"]
    assert any("£40" in omission["detail"] for omission in result.omissions)


def test_html_heading_in_preformatted_text() -> None:
    assert page("<pre>a\n<h1>b</h1></pre>").kinds == ["code", "code"]


def test_html_numbers_set_high_do_not_join() -> None:
    assert page("<p>About 10<sup>6</sup> cells and H<sub>2</sub>O</p>").texts == ["About 10^6 cells and H2O"]


def test_html_table_rows_stand_alone() -> None:
    result = page(
        "<table><caption>Rates</caption><tr><th rowspan=2>Region<th colspan=2>Sales<tr><th>2022<th>2023"
        "<tr><td rowspan=2>North<td>1,250.50<td>7<tr><td>3<td></table>"
    )
    assert result.texts == [
        "Rates",
        "Region | Sales",
        "Region | 2022 | 2023",
        "Region: North | Sales / 2022: 1,250.50 | Sales / 2023: 7",
        "Region: North | Sales / 2022: 3",
    ]
    assert [row[2] for row in result.rows] == ["text", *["table"] * 4]
    assert result.rows[3][4]["cells"] == {"Region": "North", "Sales / 2022": "1,250.50", "Sales / 2023": 7}


def test_html_side_headers_and_layout_tables() -> None:
    assert page("<table><tr><th>Founded<td>1975<tr><th>Seat<td>Bonn</table>").texts == [
        "Founded: 1975",
        "Seat: Bonn",
    ]
    layout = page("<table><tr><td><h2>News</h2><p>One</p><td><table><tr><td>Two</table></table>")
    assert layout.texts == ["News", "One", "Two"]
    assert layout.kinds[0] == "heading"


def test_html_headers_of_the_same_name_and_very_wide_rows() -> None:
    result = convert(b"<table><tr><th>Item<th>Price<th>Price<tr><td>a<td>1<td>2</table>", "a.html")
    assert result.texts == ["Item | Price | Price", "Item: a | Price: 1 | Price: 2"]
    assert result.rows[1][4]["cells"] == {"Item": "a", "Price": 1, "Price (C)": 2}
    wide = b"<table><tr>" + b"".join(b"<td>c%d" % n for n in range(3000)) + b"<tr><td>x<td>y</table>"
    assert convert(wide, "a.html").texts[0].endswith("c2998 | c2999")


def test_html_huge_spans_stay_small() -> None:
    rows = "<tr><td colspan=100000 rowspan=65000>x<td rowspan=9>y" * 50
    assert len(page(f"<table><tr><th>a<th>b{rows}</table>").texts) < 200


def test_html_title_is_a_line_where_the_page_does_not_say_it() -> None:
    result = page("<p>Text</p>", "<title>Terms of use</title>")
    assert result.texts == ["Terms of use", "Text"]
    assert result.document["title"] == "Terms of use"
    assert page("<h1>Duck</h1>", "<title>Duck - Wiki</title>").texts == ["Duck"]


@pytest.mark.parametrize(
    ("encoding", "head"),
    [
        ("cp1252", ""),
        ("cp1252", "<meta charset=iso-8859-1>"),
        ("utf-8", "<meta charset=iso-8859-1>"),
        ("utf-16", ""),
        ("koi8-r", "<meta http-equiv=Content-Type content='text/html; charset=koi8-r'>"),
    ],
)
def test_html_encodings(encoding: str, head: str) -> None:
    words = "Отмена приёма за сутки без платы" if encoding == "koi8-r" else "Preis 15,50 € – café"
    if encoding == "utf-16":
        words = "Preis 15,50 €"
    data = f"<html><head>{head}</head><body><p>{words}</p></body></html>".encode(encoding)
    assert convert(data, "a.html").texts == [words]


def test_xhtml_with_empty_elements_keeps_its_text() -> None:
    data = b'<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><head><title/><script src="x"/></head>'
    data += b"<body><p>A&nbsp;b &mdash; c</p></body></html>"
    assert convert(data, "a.xhtml").texts == ["A b — c"]


def test_entity_bomb_is_not_expanded() -> None:
    levels = "".join(f'<!ENTITY e{i} "{f"&e{i - 1};" * 10}">' for i in range(1, 12))
    data = f'<?xml version="1.0"?><!DOCTYPE html [<!ENTITY e0 "x">{levels}]><html><body><p>ok &e11;</p></body></html>'
    result = convert(data.encode(), "a.xhtml")
    assert sum(map(len, result.texts)) < 10_000


def test_html_nested_too_deeply_is_refused() -> None:
    result = convert(b"<html><body>" + b"<div>" * 100_000 + b"deep", "a.html")
    assert result.error is not None
    assert result.error["code"] == "TQ012"


def test_html_one_long_line() -> None:
    long = "word " * 26_000
    assert len(page(f"<p>{long}</p>").texts[0]) == len(long) - 1


def test_html_only_scripts() -> None:
    result = convert(b"<html><head><script>x</script></head><body></body></html>", "a.html")
    assert result.error is not None
    assert "scripts" in result.error["detail"]


# ---- mail


def message(**headers: str) -> EmailMessage:
    made = EmailMessage()
    for name, value in {"From": "a@x.org", "To": "b@x.org", "Subject": "Notice – 48 h", **headers}.items():
        made[name] = value
    made["Message-ID"] = "<1@x.org>"
    return made


def test_mail_headers_and_body() -> None:
    made = message(Date="Mon, 01 Jun 2009 09:56:31 +0530")
    made.set_content("Hello\n\nCancel 48 hours before.\n")
    result = convert(made.as_bytes(), "a.eml")
    assert result.texts[:4] == ["Subject: Notice – 48 h", "From: a@x.org", "To: b@x.org", result.texts[3]]
    assert result.texts[3].startswith("Date: Mon")
    assert result.texts[-1] == "Cancel 48 hours before."
    assert result.document == {"type": "document", "media_type": "message/rfc822", "title": "Notice – 48 h"}
    assert result.kind_of("Message-ID") == "furniture"
    assert result.rows[-1][4] == {"message": "1", "part": "1"}


def test_mail_fullest_form_of_the_body() -> None:
    made = message()
    made.set_content("See the web page.")
    made.add_alternative(
        "<h1>Offer</h1><table><tr><th>Item<th>Price<tr><td>Lamp<td>£12</table><p>Valid until Friday.</p>",
        "html",
    )
    result = convert(made.as_bytes(), "a.eml")
    assert "Item: Lamp | Price: £12" in result.texts
    assert "See the web page." not in result.texts
    assert "alternative" in kinds(result)


def test_mail_same_text_twice_is_read_once() -> None:
    made = message()
    made.set_content("One two three")
    made.add_alternative("<p>One two three</p>", "html")
    result = convert(made.as_bytes(), "a.eml")
    assert result.texts.count("One two three") == 1
    assert not kinds(result)


def test_mail_attachments_are_told_or_handed_over() -> None:
    made = message()
    made.set_content("Attached.")
    made.add_attachment(b"%PDF-1.7 \x00\xff", maintype="application", subtype="pdf", filename="Löhne.pdf")
    made.add_attachment("in the text", filename="note.txt")
    told = convert(made.as_bytes(), "a.eml")
    assert [o["detail"] for o in told.omissions] == [
        "the attached file Löhne.pdf (application/pdf, 11 bytes) was not read"
    ]
    assert told.texts[-2:] == ["Attachment: note.txt", "in the text"]
    handed = convert(made.as_bytes(), "a.eml", attachments=True)
    assert not handed.omissions
    assert handed.attachments[0]["name"] == "Löhne.pdf"
    assert base64.b64decode(handed.attachments[0]["content_base64"]) == b"%PDF-1.7 \x00\xff"


def test_child_takes_the_attachment_option() -> None:
    made = message()
    made.set_content("Attached.")
    made.add_attachment(b"\x00\x01", maintype="application", subtype="pdf", filename="a.pdf")
    done, result = child(made.as_bytes(), "--name", "a.eml", "--attachments", "yes")
    assert done.returncode == 0
    assert result is not None
    assert len(result.attachments) == 1


def test_mail_in_mail_and_wrong_charset() -> None:
    inner = b"From: c@x.org\nSubject: =?iso-8859-1?q?Gr=FC=DFe?=\n"
    inner += (
        b"Content-Type: text/plain; charset=us-ascii\nContent-Transfer-Encoding: 8bits\n\ncaf\xe9 \x80 5\n"
    )
    data = b"From: a@x.org\nTo: b@x.org\nMIME-Version: 1.0\nContent-Type: message/rfc822\n\n" + inner
    result = convert(data, "a.eml")
    assert "Subject: Grüße" in result.texts
    assert result.texts[-1] == "café € 5"
    assert result.rows[-1][4]["message"] == "1.1"


@pytest.mark.parametrize("charset", [b"a\x00b", b"hex", b"unicode_escape", b"nonsense", b"idna"])
def test_mail_charset_without_sense(charset: bytes) -> None:
    data = b"From: a@x\nMessage-ID: <1>\nContent-Type: text/plain; charset=" + charset + b"\n\ncaf\xe9 48\n"
    assert convert(data, "a.eml").texts[-1] == "café 48"


def test_mail_in_utf16() -> None:
    made = message()
    made.set_content("Body\n")
    assert convert(made.as_string().encode("utf-16"), "a.eml").texts[-1] == "Body"


def test_mail_uuencoded_in_the_body() -> None:
    coded = "begin 644 a.bin\n#0V%T\n`\nend"
    result = convert(
        f"From: a@x\nTo: b@x\nMessage-ID: <1>\n\nbefore\n{coded}\nafter\n".encode(), "a.eml", attachments=True
    )
    assert result.texts[-2:] == ["before", "after"]
    assert base64.b64decode(result.attachments[0]["content_base64"]) == b"Cat"


def test_mailbox_of_several() -> None:
    one = b"From a@x Mon Jun 01 04:28:28 2009\nFrom: a@x\nTo: b@x\nSubject: One\n\n>From here on\n\n"
    two = b"From b@x Mon Jun 01 05:28:28 2009\nFrom: b@x\nTo: a@x\nSubject: Two\n\nFrom time to time\n"
    result = convert(one + two, "a.mbox")
    assert result.document["media_type"] == "application/mbox"
    assert result.texts == [
        "Subject: One", "From: a@x", "To: b@x", "From here on",
        "Subject: Two", "From: b@x", "To: a@x", "From time to time",
    ]  # fmt: skip
    assert [row[4]["message"] for row in result.rows] == ["1"] * 4 + ["2"] * 4


@pytest.mark.parametrize("depth", [80, 5000])
def test_mime_nesting_bomb(depth: int) -> None:
    data = b"From: a@x\nTo: b@x\nMIME-Version: 1.0\n"
    for i in range(depth):
        data += b'Content-Type: multipart/mixed; boundary="b%d"\n\n--b%d\n' % (i, i)
    result = convert(data + b"Content-Type: text/plain\n\nend\n", "a.eml")
    assert result.error is not None
    assert result.error["code"] == "TQ012"


def test_a_typed_memo_stays_plain_text() -> None:
    memo = b"From: Ann\nTo: Bob\nSubject: Keys\n\nThe keys are in the drawer.\n"
    assert convert(memo, "memo.txt").texts == memo.decode().splitlines()
    assert convert(memo, "memo.eml").document["media_type"] == "message/rfc822"


# ---- books


def book(chapter: str, more: dict[str, str] | None = None) -> bytes:
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("mimetype", "application/epub+zip", zipfile.ZIP_STORED)
        archive.writestr(
            "META-INF/container.xml",
            '<container><rootfiles><rootfile full-path="O/b.opf"/></rootfiles></container>',
        )
        archive.writestr(
            "O/b.opf",
            '<package xmlns:dc="http://purl.org/dc/elements/1.1/"><metadata><dc:title>The Book</dc:title></metadata>'
            '<manifest><item id="b" href="b%20b.xhtml" media-type="application/xhtml+xml"/>'
            '<item id="a" href="a.xhtml" media-type="application/xhtml+xml"/></manifest>'
            '<spine><itemref idref="a"/><itemref idref="b"/><itemref idref="gone"/></spine></package>',
        )
        archive.writestr("O/a.xhtml", chapter)
        archive.writestr("O/b b.xhtml", "<html><body><p>Second</p></body></html>")
        for name, text in (more or {}).items():
            archive.writestr(name, text)
    return sink.getvalue()


def test_epub_in_the_order_of_its_spine() -> None:
    result = convert(book("<html><body><h1>First</h1><p>Snow&nbsp;fell.</p></body></html>"), "a.epub")
    assert result.texts == ["First", "Snow fell.", "Second"]
    assert result.document["title"] == "The Book"
    assert [row[4]["part"] for row in result.rows] == ["O/a.xhtml", "O/a.xhtml", "O/b b.xhtml"]


def test_epub_locked_and_bomb() -> None:
    lock = '<encryption><EncryptedData><EncryptionMethod Algorithm="aes"/>'
    lock += '<CipherReference URI="O/a.xhtml"/></EncryptedData></encryption>'
    locked = convert(book("x", {"META-INF/encryption.xml": lock}), "a.epub")
    assert locked.error is not None
    assert locked.error["code"] == "TQ013"
    bomb = book("<html><body>" + " " * 400_000_000 + "</body></html>")
    assert len(bomb) < 1_000_000
    refused = convert(bomb, "a.epub")
    assert refused.error is not None
    assert refused.error["code"] == "TQ012"


# ---- subtitles


def test_vtt_speakers_and_times() -> None:
    data = b"WEBVTT\n\nNOTE made by hand\n\n1\n00:01.000 --> 01:00:02.500 align:start\n"
    data += b"<v Ann>Yes &amp;\nno</v>\n<v Bob>Well</v>\n"
    result = convert(data, "a.vtt")
    assert result.texts == ["Ann: Yes & no", "Bob: Well"]
    assert result.rows[0][4] == {"start": 1.0, "end": 3602.5, "speaker": "Ann"}
    assert kinds(result) == ["comment"]


def test_srt_and_its_speakers() -> None:
    data = "1\r\n00:00:01,000 --> 00:00:02,000\r\nJOHN: <i>Go.</i>\r\n\r\n2\r\n00:00:02,000 --> 00:00:03,000\r\nGo.\r\n"
    result = convert(data.encode(), "a.srt")
    assert result.texts == ["JOHN: Go.", "Go."]
    assert result.rows[0][4]["speaker"] == "JOHN"


def test_rolling_captions_are_read_once_and_true_repetitions_stay() -> None:
    rolling = "WEBVTT\n\n00:01.000 --> 00:02.000\n \nso<00:01.500><c> much</c>\n\n00:02.000 --> 00:02.010\nso much\n \n\n"
    rolling += "00:02.010 --> 00:03.000\nso much\nfor<00:02.500><c> that</c>\n"
    assert convert(rolling.encode(), "a.vtt").texts == ["so much", "for that"]
    plain = "WEBVTT\n\n00:01.000 --> 00:02.000\nyes\n\n00:02.000 --> 00:03.000\nyes\n"
    assert convert(plain.encode(), "a.vtt").texts == ["yes", "yes"]


# ---- JSON


def test_json_records_values_and_exact_numbers() -> None:
    data = b'{"v":1.10,"n":12345678901234567890123,"a":[{"k":1,"t":["x","y"],"d":{"e":"f\\ng"}},{"k":2e5}],"k":1,"k":2}'
    result = convert(data, "a.json")
    assert result.texts == [
        "v: 1.10",
        "n: 12345678901234567890123",
        "k: 1 | t: x, y | d.e: f g",
        "k: 2e5",
        "k: 1",
        "k: 2",
    ]
    assert [row[4]["path"] for row in result.rows[:4]] == ["$.v", "$.n", "$.a[0]", "$.a[1]"]


def test_json_lines_with_a_broken_one() -> None:
    result = convert(b'{"a":1,"b":"x"}\n\nbroken\n{"a":2}\n{"a":3}\n{"a":4}\n{"a":5}\n', "a.jsonl")
    assert result.texts[:3] == ["a: 1 | b: x", "broken", "a: 2"]
    assert result.rows[0][4]["columns"] == {"a": "A", "b": "B"}
    assert result.rows[2][4] == {"path": "$[1]", "source_line": 4, "table": "$", "row": 2, "cells": {"a": 2}}
    assert (result.omissions[0]["kind"], result.omissions[0]["line_start"]) == ("unreadable", 2)


def test_json_bomb_and_no_json() -> None:
    deep = convert(b"[" * 100_000 + b"]" * 100_000, "a.json")
    assert deep.error is not None
    assert deep.error["code"] == "TQ012"
    text = convert(b"{not json}\nsecond\n", "a.json")
    assert text.texts == ["{not json}", "second"]
    assert kinds(text) == ["markup"]


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(exclude_categories=["Cs", "Cc"])),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text("abc", min_size=1, max_size=3), inner, max_size=4)
    ),
    max_leaves=15,
)


@settings(deadline=None, max_examples=100)
@given(values.filter(lambda value: isinstance(value, dict) and value))
def test_json_no_digit_is_lost(value: object) -> None:
    result = convert(json.dumps(value, ensure_ascii=False).encode(), "a.json")
    wanted = Counter(c for c in json.dumps(_values_of(value), ensure_ascii=False) if c.isdigit())
    assert Counter(c for text in result.texts for c in text) >= wanted or result.error


def _values_of(value: object) -> list[object]:
    if isinstance(value, dict):
        return [leaf for child_value in value.values() for leaf in _values_of(child_value)]
    if isinstance(value, list):
        return [leaf for child_value in value for leaf in _values_of(child_value)]
    return [value]


# ---- anything


SEEDS = [
    b"<html><body><table><tr><th>a<td>b</table>",
    b"From: a@x\nTo: b@x\nMessage-ID: <1>\nContent-Type: multipart/mixed; boundary=b\n\n--b\n\nx\n--b--\n",
    b"WEBVTT\n\n00:01.000 --> 00:02.000\n<v A>x</v>\n",
    b'{"a": [1, {"b": null}]}',
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600),
    b"PK\x03\x04" + bytes(26) + b"mimetypeapplication/epub+zip",
]


@settings(deadline=None, max_examples=200)
@given(st.sampled_from(SEEDS), st.binary(max_size=60), st.integers(0, 200), st.integers(0, 40))
def test_mutated_files_end_well(seed: bytes, noise: bytes, at: int, cut: int) -> None:
    at = min(at, len(seed))
    convert(seed[:at] + noise + seed[at + cut :], "a")
