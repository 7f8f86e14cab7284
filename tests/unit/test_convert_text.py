"""Plain text and Markdown: the file's own lines, whatever the bytes."""

from __future__ import annotations

import codecs

import pytest
from convert_help import child, convert
from hypothesis import given, settings
from hypothesis import strategies as st


def test_lines_are_kept_as_they_are() -> None:
    result = convert(b"  one \n\n\ttwo\x0bx\nthree")
    assert result.texts == ["  one ", "", "\ttwo\x0bx", "three"]
    assert {row[1] for row in result.rows} == {None}
    assert result.document["media_type"] == "text/plain"
    assert not result.omissions


@pytest.mark.parametrize(
    ("data", "texts"),
    [
        (b"a\nb\n", ["a", "b"]),
        (b"a\r\nb\r\n", ["a", "b"]),
        (b"a\rb\r", ["a", "b"]),
        (b"a\rb\nc\n", ["a\rb", "c"]),
        (b"a\n\n", ["a", ""]),
        (b"\n", [""]),
        (b"one line", ["one line"]),
        ("a\u2028b\x85c\n".encode(), ["a\u2028b\x85c"]),
        (b" \n\t\n  ", [" ", "\t", "  "]),
    ],
)
def test_line_ends(data: bytes, texts: list[str]) -> None:
    assert convert(data).texts == texts


@pytest.mark.parametrize("data", [b"", codecs.BOM_UTF8, codecs.BOM_UTF16_LE])
def test_empty_is_an_error(data: bytes) -> None:
    result = convert(data)
    assert result.error is not None
    assert result.error["code"] == "TQ011"
    assert result.error["message"] == "file is empty"


@pytest.mark.parametrize(
    "encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be", "utf-8"]
)
def test_unicode_with_and_without_marks(encoding: str) -> None:
    text = "Notice: 48 hours – ümlaut\nsecond line\n"
    result = convert(text.encode(encoding))
    assert result.texts == ["Notice: 48 hours – ümlaut", "second line"]
    assert not result.omissions


@pytest.mark.parametrize("at", range(12))
@pytest.mark.parametrize("text", ["The gate is 4711.\n", "a,b\n1,2\nx,y\n", "Name\tAge\r\nAnn\t40\r\n"])
def test_a_stray_nul_is_no_utf16(text: str, at: int) -> None:
    data = text.encode()
    at = min(at, len(data))
    done = convert(data[:at] + b"\0" + data[at:])
    assert [line.replace("\ufffd", "").rstrip("\r") for line in done.texts] == text.splitlines()
    assert [o["kind"] for o in done.omissions][:1] == ["nul"]


@pytest.mark.parametrize(
    "text", ["ありがとう\n", "大门的密码是\n", "नमस्ते दुनिया\n", "שלום עולם\n", "Привет\n", "مرحبا\n"]
)
@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_short_utf16_without_mark(text: str, encoding: str) -> None:
    assert convert(text.encode(encoding)).texts == [text.removesuffix("\n")]


def test_cyrillic_utf16_without_mark() -> None:
    text = "Отмена приёма за сутки\nбез платы\n" * 4
    assert convert(text.encode("utf-16-le")).texts[0] == "Отмена приёма за сутки"


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("cp1252", "It’s “quoted” – £5 and café"),
        ("cp1252", "Der Preis betrug 15,50 €, das können wir so nicht übernehmen"),
        ("shift_jis", "予約の取り消しは四十八時間前までにお願いいたします。料金はかかりません。" * 3),
        ("koi8-r", "Отмена приёма возможна не позднее чем за двое суток до назначенного времени. " * 3),
        ("gb18030", "取消预约需要提前四十八小时通知前台，否则将收取费用。" * 3),
    ],
)
def test_legacy_encodings(encoding: str, text: str) -> None:
    result = convert(text.encode(encoding))
    assert result.texts == [text]
    assert [o["kind"] for o in result.omissions] == ["encoding"]


def test_invalid_bytes_are_replaced_and_told() -> None:
    good = "naïve café – déjà vu\n".encode() * 5
    result = convert(good + b"broken \xff\xfe here\n" + good)
    assert result.texts[5] == "broken \ufffd\ufffd here"
    assert result.omissions[0]["kind"] == "invalid_bytes"
    assert (result.omissions[0]["line_start"], result.omissions[0]["line_end"]) == (6, 6)


def test_nul_bytes_are_replaced_and_told() -> None:
    result = convert(b"first\nsec\x00ond \x00\nthird\n")
    assert result.texts == ["first", "sec\ufffdond \ufffd", "third"]
    assert result.omissions[0]["kind"] == "nul"
    assert "2 NUL bytes" in result.omissions[0]["detail"]
    assert result.omissions[0]["line_start"] == 2


def test_many_places_stay_few_omissions() -> None:
    result = convert(b"x\x00\nclean line of text\n" * 5000)
    nul = [o for o in result.omissions if o["kind"] == "nul"]
    assert len(nul) == 20
    assert nul[-1]["line_end"] == 9999


def test_form_feeds_are_pages() -> None:
    result = convert(b"one\n\x0ctwo\nthree\x0crest\n\x0c\nfive\n")
    assert [row[1] for row in result.rows] == [1, 2, 2, 4, 4]
    assert result.texts[1] == "\x0ctwo"


def test_a_line_of_5_mb_is_one_line() -> None:
    words = b"word " * 1_000_000
    result = convert(words + b"\nend\n")
    assert len(result.texts[0]) == 5_000_000
    assert result.texts[1] == "end"


def test_a_line_beyond_the_limit_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tq_loader.convert.text.MAX_LINE_CHARS", 1000)
    result = convert(b"x" * 5000)
    assert result.error is not None
    assert result.error["code"] == "TQ012"


@pytest.mark.parametrize(
    ("data", "seen", "hint"),
    [
        (b"RIFF\x00\x00\x00\x00WEBPVP8 ", "WebP image", "convert it to PNG or JPEG"),
        (b"\x00\x00\x00\x18ftypheic\x00\x00\x00\x00", "HEIC image", "convert it to PNG or JPEG"),
        (b"PK\x03\x04" + bytes(30) + b"word/document.xml", "Word document", "save it as"),
        (b"PK\x03\x04" + bytes(30) + b"xl/workbook.xml", "Excel workbook", "save it as"),
        (b"PK\x03\x04" + bytes(30), "zip archive", "unpack it"),
        (b"\x1f\x8b\x08" + bytes(50), "gzip", "unpack it"),
        (b"RIFF\x00\x00\x00\x00WAVEfmt ", "WAV", "transcript"),
        (b"SQLite format 3\x00" + bytes(50), "SQLite", "export the rows as CSV"),
        (bytes(range(256)) * 8, "binary data", ""),
        (bytes(1000), "binary data", ""),
    ],
)
def test_what_is_not_read_is_named(data: bytes, seen: str, hint: str) -> None:
    for name in ("a.bin", "a.txt", "a.pdf", "a.md"):
        result = convert(data, name)
        assert result.error is not None
        assert result.error["code"] == "TQ010"
        assert seen in result.error["detail"]
        assert hint in result.error["hint"]
        assert all(name in result.error["hint"] for name in ("CSV", "RTF", "PDF", "are read"))


def test_content_wins_over_type_and_name() -> None:
    assert convert(b"plain words\n", "x.png", "image/png").texts == ["plain words"]
    assert convert(b"\x89PNG\r\n\x1a\n" + bytes(9), "x.txt", "text/plain").error is not None


def test_markup_read_as_text_is_told() -> None:
    result = convert(b"\\section{Notice}\n48 hours\n", "a.tex", "text/x-tex")
    assert result.texts == ["\\section{Notice}", "48 hours"]
    assert [o["kind"] for o in result.omissions] == ["markup"]


MARKDOWN = b"""\
---
title: front matter
---
# Handbook

Some *text* with a # in it.

Setext
------

| a | b |
|---|---|
| 1 | 2 |

```sh
# not a heading
```

> ## Quoted

    indented code
"""


def test_markdown_kinds() -> None:
    result = convert(MARKDOWN, "handbook.md")
    assert result.texts == MARKDOWN.decode().splitlines()
    assert result.document == {"type": "document", "media_type": "text/markdown", "title": "Handbook"}
    by_text = {row[0]: (row[2], row[3]) for row in result.rows}
    assert by_text["# Handbook"] == ("heading", 1)
    assert by_text["> ## Quoted"] == ("heading", 2)
    assert by_text["| 1 | 2 |"] == ("table", None)
    places = {row[0]: row[4] for row in result.rows}
    assert places["| 1 | 2 |"]["cells"] == {"a": 1, "b": 2}
    assert by_text["# not a heading"] == ("code", None)
    assert by_text["    indented code"] == ("code", None)
    assert by_text["title: front matter"] == ("text", None)
    assert by_text["Setext"] == ("heading", 2)
    assert by_text["------"] == ("text", None)


def test_markdown_setext_heading() -> None:
    result = convert(b"Opening hours\n=============\n\ntext\n", "a.md")
    assert [row[2:4] for row in result.rows] == [
        ["heading", 1],
        ["text", None],
        ["text", None],
        ["text", None],
    ]
    assert result.document["title"] == "Opening hours"


def test_large_markdown_is_scanned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tq_loader.convert.markdown.PARSED_CHARS", 10)
    result = convert(MARKDOWN, "handbook.md")
    assert result.texts == MARKDOWN.decode().splitlines()
    assert result.kind_of("# Handbook") == "heading"
    assert result.kind_of("# not a heading") == "code"


@settings(deadline=None, max_examples=150)
@given(st.binary(min_size=1, max_size=400), st.sampled_from(["a.txt", "a.md", "a"]))
def test_any_bytes_end_well(data: bytes, name: str) -> None:
    convert(data, name)


@settings(deadline=None, max_examples=150)
@given(st.text(alphabet=st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=300))
def test_text_comes_back_as_it_was(text: str) -> None:
    assert "".join(convert(b"# x\n" + text.encode(), "a.md").texts[1:]) == text


def test_child_process_and_its_exits() -> None:
    done, result = child(b"one\ntwo\n", "--name", "a.txt", "--memory-mb", "512", "--cpu-seconds", "20")
    assert (done.returncode, result and result.texts) == (0, ["one", "two"])
    done, result = child(b"", "--name", "a.txt")
    assert done.returncode == 1
    assert result is not None
    assert result.error is not None
    done, result = child(b"x", "--nome", "a.txt")
    assert (done.returncode, result) == (2, None)
    assert b"usage" in done.stderr


def test_child_says_when_a_file_cannot_fit() -> None:
    done, result = child(b"a line of text\n" * 4_000_000, "--name", "big.txt", "--memory-mb", "160")
    assert done.returncode == 1
    assert result is not None
    assert result.error is not None
    assert result.error["code"] == "TQ012"
