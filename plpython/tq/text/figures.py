"""Figures worked out of quantities as they are written: by a closed list of operations, exact, with their unit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from tq.text.quantities import Quantity, comparable, in_unit
from tq.text.stopwords import word_set

Operation = Literal["none", "sum", "difference", "average", "ratio"]

_SIGNS = {"sum": " + ", "difference": " − ", "average": " + ", "ratio": " ÷ "}
_COUNTED = word_set(
    "second minute hour day week month quarter year decade millisecond yard mile tonne ton ounce pound litre byte cent degree"
) | {"business day", "basis point"}
_PLACES = Decimal("0.0001")


@dataclass(frozen=True, slots=True)
class Figure:
    """value: in the unit of the first figure; a ratio has none. told: "60 GBP − 35 GBP = 25 GBP"."""

    value: Decimal
    unit: str
    told: str


def work_out(operation: Operation, figures: Sequence[Quantity]) -> Figure | None:
    """The result, or None where there is none: fewer than two figures, more than two for a difference or a ratio, units
    that are not of one kind, or a division by zero."""
    if operation == "none" or len(figures) < 2 or (operation in ("difference", "ratio") and len(figures) > 2):
        return None
    first = figures[0]
    if any(one.value is None or (one.unit != first.unit and not comparable(first, one)) for one in figures):
        return None
    values = [in_unit(one, first.unit) for one in figures]
    unit = first.unit
    if operation == "sum":
        value = sum(values, Decimal(0))
    elif operation == "average":
        value = sum(values, Decimal(0)) / len(values)
    elif operation == "difference":
        value = max(values) - min(values)
    elif values[1] == 0:
        return None
    else:
        value, unit = values[0] / values[1], ""
    written = [_told(one.value, one.unit) for one in figures if one.value is not None]
    if operation == "difference" and values[0] < values[1]:
        written.reverse()
    left = _SIGNS[operation].join(written)
    if operation == "average":
        left = f"({left}) ÷ {len(figures)}"
    return Figure(value, unit, f"{left} = {_told(value, unit)}")


def _plain(value: Decimal) -> str:
    rounded = value.quantize(_PLACES)
    text = f"{rounded.normalize():f}"
    return text if rounded == value else f"about {text}"


def _told(value: Decimal, unit: str) -> str:
    name = unit.removeprefix("count:")
    if value != 1 and unit in _COUNTED:
        name += "s"
    return f"{_plain(value)} {name}".rstrip()
