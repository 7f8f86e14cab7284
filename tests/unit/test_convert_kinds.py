"""What a file is, whatever it is called: every format under the names and types of the others, and under damage."""

from __future__ import annotations

import random

import pytest
from convert_help import Result, convert
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import FACT, PICTURES, SAMPLES

# Nothing in these says for sure what they are: the name and the type decide.
AS_TEXT = {"a.txt", "talk.txt", "a.md", "a.csv", "a.tsv"}
NAMES = [
    "a.txt",
    "a.docx",
    "a.pdf",
    "a.xlsx",
    "a.xls",
    "a.html",
    "a.eml",
    "a.msg",
    "a.png",
    "a.json",
    "a.vtt",
    "a.csv",
    "a",
]
TYPES = [
    "application/pdf",
    "text/html",
    "application/json",
    "image/png",
    "application/msword",
    "text/csv",
    "message/rfc822",
]


def says_the_fact(result: Result) -> bool:
    return result.error is None and FACT in " ".join(" ".join(result.texts).split())


def test_each_sample_says_the_fact() -> None:
    assert [name for name, data in SAMPLES.items() if not says_the_fact(convert(data, name))] == []


@pytest.mark.parametrize("original", SAMPLES)
def test_a_name_that_lies(original: str) -> None:
    data = SAMPLES[original]
    wanted = convert(data, original).document["media_type"]
    for name in NAMES:
        result = convert(data, name)
        assert says_the_fact(result), (name, result.error)
        if original not in AS_TEXT and not (original.startswith("a.json") and name == "a.txt"):
            assert result.document["media_type"] == wanted, name


@pytest.mark.parametrize("original", SAMPLES)
def test_a_type_that_lies(original: str) -> None:
    for media_type in TYPES:
        result = convert(SAMPLES[original], "upload", media_type)
        assert says_the_fact(result), (media_type, result.error)


@pytest.mark.parametrize(
    ("text", "media_type"),
    [
        ("Name\tShare\nAda\t3\nBo\t4\n", "text/csv"),
        ('Name,Born,Town\n"Grey, Ada",1990,Ulm\nBo,1985,Bonn\n', "text/csv"),
        ("Name;Born;Town\nAda;1990;Ulm\nBo;1985\n", "text/plain"),  # a cell is missing
        ("one, two, three\nfour, five, six\nred, green, blue\n", "text/plain"),
        ("1;2;3\n4;5;6\n7;8;9\n", "text/plain"),  # no names
        ("Ada, Bo, Cy\n", "text/plain"),
    ],
)
def test_delimited_text_of_any_name(text: str, media_type: str) -> None:
    for name in ("a.txt", "a", "a.pdf"):
        for encoding in ("utf-8", "utf-16"):
            assert convert(text.encode(encoding), name).document["media_type"] == media_type


@pytest.mark.parametrize("line", ["", " ", "\t", ",", ";", "|", '"', "-", "#", "{", "x"])
def test_one_line_many_times(line: str) -> None:
    """Longer than what a type is known by, and ending within a line or not."""
    for ending in ("\n", "\r\n"):
        result = convert((line + ending).encode() * 50_000, "notes.txt")
        assert result.error is None, result.error
        assert len(result.rows) == 50_000


def test_what_is_nothing_of_all_that_is_refused_under_every_name() -> None:
    import zipfile
    from io import BytesIO

    packed = BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("a.txt", FACT)
    noise = random.Random(1).randbytes(4000)
    for data in (packed.getvalue(), b"\x7fELF" + noise, noise):
        for name in NAMES:
            error = convert(data, name).error
            assert error is not None
            assert error["code"] in ("TQ010", "TQ011")


@settings(deadline=None, max_examples=300)
@given(st.sampled_from([*SAMPLES, *PICTURES]), st.data())
def test_a_damaged_file_ends_in_lines_or_in_an_error(name: str, data: st.DataObject) -> None:
    """Bytes changed, cut out and doubled: never anything but the protocol's lines or its error."""
    changed = bytearray(SAMPLES.get(name) or PICTURES[name])
    for _ in range(data.draw(st.integers(1, 6))):
        at = data.draw(st.integers(0, len(changed) - 1))
        match data.draw(st.integers(0, 3)):
            case 0:
                changed[at] = data.draw(st.integers(0, 255))
            case 1:
                changed[at : at + data.draw(st.integers(1, 64))] = data.draw(st.binary(max_size=8))
            case 2:
                changed[at:at] = changed[at : at + data.draw(st.integers(1, 64))]
            case _:
                changed[at : at + 4] = data.draw(
                    st.sampled_from([b"\xff" * 4, bytes(4), b"\x7f\xff\xff\xff"])
                )
        if not changed:
            changed += b"x"
    convert(bytes(changed), name)
