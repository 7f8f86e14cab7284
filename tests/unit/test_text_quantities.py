"""Quantities: what is read, in which unit, and what is the same."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tq.text.quantities import comparable, quantities, same_quantity


@pytest.mark.parametrize(
    ("text", "value", "unit"),
    [
        ("six weeks", "6", "week"),
        ("24 hours' notice", "24", "hour"),
        ("a 48-hour rule", "48", "hour"),
        ("twenty-four hours", "24", "hour"),
        ("half an hour", "0.5", "hour"),
        ("a dozen eggs", "12", "count:egg"),
        ("$1.2 million", "1200000.0", "USD"),
        ("US$ 1,250.50", "1250.50", "USD"),
        ("1.250,50 Euro", "1250.50", "EUR"),
        ("two hundred and fifty patients", "250", "count:patient"),
        ("vierundzwanzig Stunden", "24", "hour"),
        ("24小时内取消", "24", "hour"),
        ("thirty (30) days", "30", "day"),
        ("5 per cent", "5", "percent"),
        ("-5.2%", "-5.2", "percent"),
        ("3 business days", "3", "business day"),
        ("a hundred years", "100", "year"),
        ("1,003 million", "1003000000", ""),
    ],
)
def test_numbers(text: str, value: str, unit: str) -> None:
    (found,) = quantities(text)
    assert (found.kind, found.value, found.unit) == ("number", Decimal(value), unit)


@pytest.mark.parametrize(
    ("text", "date"),
    [
        ("12 March 2024", "2024-03-12"),
        ("March 12, 2024", "2024-03-12"),
        ("on the 12th of March 2024", "2024-03-12"),
        ("12. März 2024", "2024-03-12"),
        ("2024-03-12", "2024-03-12"),
        ("12.03.2024", "2024-03-12"),
        ("13/03/2024", "2024-03-13"),
        ("12/03/2024", "12/03/2024"),
        ("2024年3月12日", "2024-03-12"),
        ("in May 2010", "2010-05"),
        ("March 12", "--03-12"),
        ("in 2024 the", "2024"),
        ("at 5 pm", "17:00"),
        ("at 10:30", "10:30"),
    ],
)
def test_dates(text: str, date: str) -> None:
    (found,) = quantities(text)
    assert found.date == date


@pytest.mark.parametrize(
    "text", ["no one knows", "COVID-19 and H1N1", "EX-10.1", "you may go", "second thoughts", ""]
)
def test_not_quantities(text: str) -> None:
    assert quantities(text) == []


def test_ranges() -> None:
    (days,) = quantities("10 to 15 days")
    assert (days.value, days.high, days.unit) == (Decimal(10), Decimal(15), "day")
    (weeks,) = quantities("between 2 and 4 weeks")
    assert (weeks.value, weeks.high, weeks.unit) == (Decimal(2), Decimal(4), "week")
    assert len(quantities("2 and 4 weeks")) == 2


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        ("1 day", "24 hours", True),
        ("2 weeks", "fourteen days", True),
        ("1 km", "1000 m", True),
        ("six weeks", "6 weeks", True),
        ("six weeks", "2 weeks", False),
        ("1 year", "12 months", True),
        ("1 month", "30 days", False),
        ("5%", "500 basis points", True),
        ("$5", "€5", False),
        ("3 doctors", "3 nurses", False),
        ("12 March 2024", "2024-03-12", True),
        ("12 March 2024", "March 2024", True),
        ("12 March 2024", "13 March 2024", False),
        ("12/03/2024", "12 March 2024", False),
        ("5 pm", "17:00", True),
    ],
)
def test_same(a: str, b: str, same: bool) -> None:
    (first,), (second,) = quantities(a), quantities(b)
    assert same_quantity(first, second) is same
    assert same_quantity(second, first) is same


def test_comparable() -> None:
    hours, days, dollars = (quantities(text)[0] for text in ("24 hours", "3 days", "$5"))
    assert comparable(hours, days)
    assert not comparable(hours, dollars)


@given(st.text(max_size=300))
def test_spans_lie_in_the_text_and_do_not_overlap(text: str) -> None:
    last = 0
    for found in quantities(text):
        assert last <= found.start < found.end <= len(text)
        last = found.start
        assert same_quantity(found, found)


@given(st.integers(0, 10**9))
def test_grouping_does_not_matter(number: int) -> None:
    (plain,), (grouped,) = quantities(f"{number} hours"), quantities(f"{number:,} hours")
    assert plain.value == grouped.value == number
