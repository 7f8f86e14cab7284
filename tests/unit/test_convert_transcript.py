"""Text files that are transcripts: recognised by the whole of them, with time and speaker, and not one line changed."""

from __future__ import annotations

from typing import Any

import pytest
from convert_help import Result, convert
from hypothesis import given, settings
from hypothesis import strategies as st

from tq_loader.convert.encoding import SLICE


def said(text: str) -> Result:
    result = convert(text.encode())
    assert result.texts == text.rstrip("\n").split("\n")
    assert result.document["media_type"] == "text/plain"
    assert set(result.kinds) == {"text"}
    return result


def places(text: str) -> list[dict[str, Any] | None]:
    return [row[4] for row in said(text).rows]


def test_times_and_speakers_in_the_forms_that_programs_write() -> None:
    anna, ben = {"start": 62.0, "speaker": "Anna"}, {"start": 69.5, "speaker": "Ben"}
    for text in (
        "[00:01:02] Anna: We ship on Friday.\n[00:01:09.5] Ben: Fine.\n",
        "Anna (00:01:02): We ship on Friday.\nBen (00:01:09,500): Fine.\n",
        "(1:02) Anna: We ship: on Friday\n(1:09.5) Ben: Fine\n",
        "00:01:02 - Anna: We ship.\n00:01:09.5 - Ben: Fine.\n00:01:09.5 - Ben: Fine.\n00:01:10 - Anna: So\n",
    ):
        assert places(text)[:2] == [anna, ben], text


def test_names_above_the_words() -> None:
    text = "Anna Schmidt  0:02\nWe ship: on Friday.\nFrom 10:30 on.\n\nDr. Ben O'Neil (Guest)  0:09\nFine.\n"
    anna, ben = {"start": 2.0, "speaker": "Anna Schmidt"}, {"start": 9.0, "speaker": "Dr. Ben O'Neil (Guest)"}
    assert places(text) == [anna, anna, anna, None, ben, ben]
    assert places("[Anna] 10:02:33\nWe ship.\n\n[Ben] 10:02:40\nFine.\n")[3] == {
        "start": 36160.0,
        "speaker": "Ben",
    }
    assert places("[0:12] Anna\nHello.\n\n[0:15] Ben\nHi.\n")[1] == {"start": 12.0, "speaker": "Anna"}
    assert places("ANNA:\nOn Friday.\n\nBEN:\nFine.\n\nANNA:\nGood.\n\nBEN:\nBye.\n")[1] == {
        "speaker": "ANNA"
    }


def test_spans_chats_and_times_that_stand_alone() -> None:
    assert places(
        "[00:00:01.5 --> 00:00:04.0] SPEAKER_00: Hello\n[00:00:04.0 --> 00:00:05.0] SPEAKER_01: Hi\n"
    )[0] == {
        "start": 1.5,
        "end": 4.0,
        "speaker": "SPEAKER_00",
    }
    chat = "".join(
        f"14:0{n}:22 From Anna Li to Everyone: hello\n14:0{n}:40\t From  Ben : hi\n" for n in range(3, 5)
    )
    assert places(chat)[:2] == [
        {"start": 50602.0, "speaker": "Anna Li"},
        {"start": 50620.0, "speaker": "Ben"},
    ]
    assert places("2:03 PM Anna: a\n2:04 PM Ben: b\n2:05 PM Anna: c\n2:06 PM Ben: d\n")[0] == {
        "start": 50580.0,
        "speaker": "Anna",
    }
    alone = places("00:05:00\n\nAnna: Welcome.\nBen: Thanks.\nAnna: So.\nBen: Yes.\n")
    assert alone[2:4] == [{"start": 300.0, "speaker": "Anna"}, {"speaker": "Ben"}]


def test_speakers_without_times() -> None:
    text = (
        "Weekly meeting\nPresent: Anna, Ben\n\nAnna: Who tests it?\nBen: I do.\nRemember: on Monday.\n"
        "Anna: Good.\nAnd then?\n\nBen: Then we ship.\n"
    )
    anna, ben = {"speaker": "Anna"}, {"speaker": "Ben"}
    assert places(text) == [None, None, None, anna, ben, ben, anna, anna, None, ben]
    assert places("主持人：大家好。\n张三：你好。\n主持人：开始吧。\n张三：好。\n")[1] == {"speaker": "张三"}


@pytest.mark.parametrize(
    "text",
    [
        "It was late.\nHe said: go home.\nNothing else happened.\n",
        "The train left at 10:30.\nAt 11:15: tea. At 12:00: lunch.\n",
        "Note: this matters.\nWarning: mind the gap.\nNote: and again.\nWarning: really.\n",
        "Name: Anna\nAge: 3\nCity: Rome\n\nName: Ben\nAge: 4\nCity: Oslo\n\nName: Cy\nAge: 5\nCity: Bern\n",
        "Patient: A. Smith.\nDiagnosis: Flu.\nTherapy: Rest.\n" * 4,
        "12:00:01 INFO: Server started.\n12:00:02 WARN: Slow.\n12:00:03 INFO: Server stopped.\n",
        "10:00 Welcome: Anna opens.\n10:30 Budget: Ben.\n11:00 Lunch: all.\n",
        "Yesterday  2:05\nHelp  2:19\nGirl  2:30\n",
        "Added: a thing.\nFixed: a bug.\nAdded: more.\nFixed: another.\n",
        "Question: What is it?\nAnswer: A thing.\nQuestion: Why?\nAnswer: Because.\n",
        "class A:\n    def f(self):\n        return 1\nclass B:\n    def f(self): return 1\n",
        "Anna: I said it once.\n\n"
        + "And then came a long account of all that had happened.\n\n" * 9
        + "Anna: Twice.\n",
        "https://a.example/x\nhttps://b.example/y\nmailto: x\n",
    ],
)
def test_what_has_colons_is_no_transcript(text: str) -> None:
    assert places(text) == [None] * len(text.rstrip("\n").split("\n"))


def test_a_long_transcript_is_read_in_slices() -> None:
    turns = "".join(
        f"[{n // 60:02d}:{n % 60:02d}] {'Anna' if n % 3 else 'Ben'}: {'word ' * 40}\n" for n in range(6000)
    )
    assert len(turns) > SLICE
    result = said(turns)
    assert result.rows[5999][4] == {"start": 5999.0, "speaker": "Anna"}
    assert result.rows[3000][4] == {"start": 3000.0, "speaker": "Ben"}


@settings(deadline=None, max_examples=100)
@given(
    st.lists(
        st.sampled_from(
            [
                "Anna: so",
                "[0:12] Ben: ok.",
                "Ben  0:44",
                "0:59",
                "",
                "words",
                "\x0c",
                "Anna (1:02:03.4):",
                "：",
                "[",
                "<1:02",
            ]
        )
        | st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=12),
        min_size=1,
        max_size=30,
    )
)
def test_lines_are_those_of_the_file_whatever_is_recognised(lines: list[str]) -> None:
    text = "\n".join([*lines, "."])
    assert convert(text.encode("utf-8-sig")).texts == text.split("\n")
