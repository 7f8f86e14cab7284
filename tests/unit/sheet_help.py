"""What a binary workbook made in code holds, whichever of the two formats it is written in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime

ERRORS = {"#NULL!": 0, "#DIV/0!": 7, "#VALUE!": 15, "#REF!": 23, "#NAME?": 29, "#NUM!": 36, "#N/A": 42}
# Number formats of every workbook made here; a cell's style is its place among general and these.
FORMATS = {164: "yyyy\\-mm\\-dd", 165: "yyyy\\-mm\\-dd\\ hh:mm", 166: "0.0%"}
_EPOCH = datetime(1899, 12, 30)


class Percent(float):
    """A number that the sheet shows as a percentage."""


Value = str | int | float | bool | date | datetime | None


@dataclass(frozen=True)
class Formula:
    """A formula's cell: the value that it came to is what a reader sees."""

    value: str | float | bool


@dataclass(frozen=True)
class Sheet:
    """Rows from the top, None an empty cell. ``merged``: first row, last row, first column, last column, all from 0.
    ``comments``: (author, text) by row and column.
    """

    name: str
    rows: Sequence[Sequence[Value | Formula]]
    merged: Sequence[tuple[int, int, int, int]] = ()
    hidden: bool = False
    hidden_rows: frozenset[int] = frozenset()
    hidden_columns: frozenset[int] = frozenset()
    comments: Mapping[tuple[int, int], tuple[str, str]] = field(default_factory=dict)


def number_and_style(value: int | float | date | datetime) -> tuple[int | float, int]:
    """The number that a sheet keeps for a value, and its style: the first is general."""
    if isinstance(value, datetime):
        return (value - _EPOCH).total_seconds() / 86400, 2
    if isinstance(value, date):
        return (datetime(value.year, value.month, value.day) - _EPOCH).days, 1
    return value, 3 if isinstance(value, Percent) else 0


def compact(value: int | float) -> int | None:
    """The 32 bits of a short whole number, or of one with two decimals; None where it is none."""
    for number, mark in ((value, 2), (round(value * 100), 3)):
        if (
            number == int(number)
            and -(1 << 29) <= number < 1 << 29
            and number / (100 if mark & 1 else 1) == value
        ):
            return (int(number) << 2 | mark) & 0xFFFFFFFF
    return None
