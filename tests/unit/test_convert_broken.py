"""Files that once broke a converter, made as small as they can be: each ends in lines, or in the error that it must give."""

from __future__ import annotations

import pytest
from convert_help import convert

# What broke, the file, and the code of its error; None where it is read.
BROKEN: list[tuple[str, str, bytes, str | None]] = [
    (
        "a mark of UTF-16 within the file",
        "a.txt",
        b"\n\xfe\xff\xff\0ode\xff\xfe\xff\xff\xffel\xfe\xff\xff\xff",
        None,
    ),
    (
        "a compound file shorter than its header",
        "a.xls",
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(16) + b"\x3e\0\3\0\xfe\xff\t\0\6\0" + bytes(60),
        "TQ011",
    ),
    # These took minutes.
    (
        "captions of tags that never end",
        "a.vtt",
        b"WEBVTT\n\n00:01.000 --> 00:02.000\n" + b"<v " * 100_000,
        None,
    ),
    (
        "cells that span all rows of a long table",
        "a.html",
        b"<table>" + b"<tr><td rowspan=65000>x<td>y" * 10_000,
        None,
    ),
]


@pytest.mark.parametrize(
    ("name", "data", "code"), [case[1:] for case in BROKEN], ids=[case[0] for case in BROKEN]
)
def test_what_broke_once(name: str, data: bytes, code: str | None) -> None:
    result = convert(data, name, attachments=True)
    assert (result.error["code"] if result.error else None) == code
