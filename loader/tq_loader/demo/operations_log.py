"""A year of a clinic's operations log, written by rule: the same 5,000 and more lines on every machine.

Figures hang together: the tables of a month add up what its days say. Events, decisions and the pool of daily
notes are hand-written in :mod:`tq_loader.demo.log_events`; who, where, when and how many are drawn from a fixed seed.
"""

from __future__ import annotations

import calendar
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Final

from tq_loader.demo import log_events as events

YEAR: Final = 2024
SITES: Final = ("Alder Lane", "Mill Street", "Harbour View")
# Appointments of a usual weekday, and the share that is missed, by site.
USUAL: Final = {"Alder Lane": (148, 0.034), "Mill Street": (92, 0.052), "Harbour View": (61, 0.041)}
MONTHS: Final = list(calendar.month_name)[1:]
DAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


@dataclass(slots=True)
class Count:
    """Appointments of one site: booked = attended + cancelled in time + cancelled late + missed."""

    booked: int = 0
    attended: int = 0
    in_time: int = 0
    late: int = 0
    missed: int = 0

    def add(self, other: Count) -> None:
        self.booked += other.booked
        self.attended += other.attended
        self.in_time += other.in_time
        self.late += other.late
        self.missed += other.missed


@dataclass(slots=True)
class Dice:
    """Draws that stay the same in every version of Python: only ``Random.random`` is promised to."""

    source: random.Random = field(default_factory=lambda: random.Random(YEAR))

    def between(self, low: int, high: int) -> int:
        """A whole number from ``low`` to ``high``, both included."""
        return low + int(self.source.random() * (high - low + 1))

    def pick(self, options: tuple[str, ...]) -> str:
        return options[self.between(0, len(options) - 1)]

    def near(self, usual: float, spread: float) -> int:
        return max(0, round(usual * (1 + spread * (2 * self.source.random() - 1))))

    def shuffled(self, options: tuple[str, ...]) -> list[str]:
        rest = list(options)
        return [rest.pop(self.between(0, len(rest) - 1)) for _ in range(len(rest))]


def operations_log() -> str:
    """The whole log as Markdown text."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    dice = Dice()
    deck: list[str] = []
    yield f"# Operations log {YEAR}, Alder Lane Clinic"
    yield ""
    yield "Kept by the front-desk lead, Tom Brandt, for the sites Alder Lane, Mill Street and Harbour View."
    yield "One entry a working day. Times are local. Figures are those of the appointment system at closing time."
    yield "Corrections are written as a new entry; nothing is struck out."
    yield ""
    quarter = {site: Count() for site in SITES}
    for month in range(1, 13):
        yield f"# {MONTHS[month - 1]} {YEAR}"
        yield ""
        total = {site: Count() for site in SITES}
        calls = 0
        day = date(YEAR, month, 1)
        while day.month == month:
            if day.weekday() < 6 and day not in events.HOLIDAYS:
                counts, taken, lines = _day(day, dice, deck)
                calls += taken
                for site, count in counts.items():
                    total[site].add(count)
                yield from lines
            elif day in events.HOLIDAYS:
                yield f"## {_long(day)}"
                yield ""
                yield f"Closed: {events.HOLIDAYS[day]}."
                yield ""
            day += timedelta(days=1)
        yield from _month(month, total, calls)
        for site in SITES:
            quarter[site].add(total[site])
        if month % 3 == 0:
            yield from _quarter(month // 3, quarter)
            quarter = {site: Count() for site in SITES}


def _day(day: date, dice: Dice, deck: list[str]) -> tuple[dict[str, Count], int, list[str]]:
    saturday = day.weekday() == 5
    sites = SITES[:1] if saturday else SITES
    counts = {site: _count(site, day, dice) for site in sites}
    opener, second = dice.shuffled(events.DESK)[:2]
    opened = f"{'08' if saturday else '07'}:{dice.between(28, 44):02d}"
    lines = [f"## {_long(day)}", ""]
    lines.append(
        f"Opened at {opened} by {opener} and {second}; duty doctor {dice.pick(events.DOCTORS)}, "
        f"nurse in charge {dice.pick(events.NURSES)}."
    )
    for site, c in counts.items():
        lines.append(
            f"{site}: {c.booked} booked, {c.attended} attended, {c.in_time} cancelled in time, "
            f"{c.late} cancelled late, {c.missed} missed."
        )
    taken = dice.near(118 if saturday else 431, 0.18)
    answered = taken - dice.near(taken * 0.06, 0.6)
    lines.append(
        f"Telephone: {taken} calls, {answered} answered, longest wait {dice.between(5, 19)} minutes, "
        f"{dice.between(78, 96)} % answered within 6 minutes."
    )
    for site in sites:
        low = dice.between(26, 38) / 10
        lines.append(
            f"Refrigerator {site}: {low:.1f} to {low + dice.between(9, 26) / 10:.1f} °C, "
            f"read at {opened[:2]}:{dice.between(46, 58)} and {'12' if saturday else '17'}:{dice.between(2, 28):02d} "
            f"by {dice.pick(events.NURSES)}."
        )
    for _ in range(dice.between(1, 2) if saturday else dice.between(3, 6)):
        if not deck:
            deck.extend(dice.shuffled(events.NOTES))
        lines.append(_filled(deck.pop(), dice, 12 if saturday else 17))
    lines += events.EVENTS.get(day, ())
    lines.append(
        f"Closed at {'12' if saturday else '18'}:{dice.between(31, 58)}; alarm set by {dice.pick(events.DESK)}."
    )
    lines.append("")
    return counts, taken, lines


def _count(site: str, day: date, dice: Dice) -> Count:
    usual, share = USUAL[site]
    if day.weekday() == 5:
        usual = 44
    booked = dice.near(usual * events.SEASON[day.month - 1], 0.12)
    missed = dice.near(booked * share, 0.5)
    late = dice.near(booked * 0.015, 0.9)
    in_time = dice.near(booked * 0.045, 0.5)
    return Count(booked, booked - missed - late - in_time, in_time, late, missed)


def _filled(note: str, dice: Dice, last_hour: int) -> str:
    """A note with everything that it leaves open drawn, at an hour from 9 to ``last_hour``."""
    desk, other = dice.shuffled(events.DESK)[:2]
    room = f"{dice.pick(('room', 'consulting room', 'treatment room'))} {dice.between(1, 12)}"
    return note.format(
        desk=desk,
        other=other,
        doctor=dice.pick(events.DOCTORS),
        nurse=dice.pick(events.NURSES),
        site=dice.pick(SITES),
        room=room,
        time=f"{dice.between(9, last_hour):02d}:{dice.between(0, 59):02d}",
        minutes=dice.between(4, 55),
        n=dice.between(2, 9),
        many=dice.between(11, 68),
        hundred=dice.between(121, 940),
        pounds=dice.between(14, 389),
        pence=f"{dice.between(0, 99):02d}",
        code=f"{dice.pick(tuple('ABCDEFGH'))}-{dice.between(1000, 9999)}",
        ext=dice.between(104, 288),
        item=dice.pick(events.ITEMS),
        supplier=dice.pick(events.SUPPLIERS),
        topic=dice.pick(events.TOPICS),
        language=dice.pick(events.LANGUAGES),
    )


def _month(month: int, total: dict[str, Count], calls: int) -> Iterator[str]:
    name = MONTHS[month - 1]
    yield f"## Figures for {name} {YEAR}"
    yield ""
    yield from _table(total)
    whole = Count()
    for count in total.values():
        whole.add(count)
    yield ""
    yield f"In {name} the three sites together booked {whole.booked:,} appointments; {whole.missed:,} were missed."
    yield f"The telephone took {calls:,} calls in {name}."
    yield ""
    yield f"## Meeting of {name} {YEAR}"
    yield ""
    yield from events.MEETINGS[month - 1]
    yield ""


def _quarter(number: int, total: dict[str, Count]) -> Iterator[str]:
    ordinal = ("first", "second", "third", "fourth")[number - 1]
    worst = max(total, key=lambda site: total[site].missed)
    share = max(total, key=lambda site: total[site].missed / total[site].booked)
    yield f"## Figures for the {ordinal} quarter of {YEAR}"
    yield ""
    yield from _table(total)
    yield ""
    yield f"{worst} had the most missed appointments of the {ordinal} quarter, {total[worst].missed:,}."
    yield (
        f"Measured by its size, {share} lost most: "
        f"{100 * total[share].missed / total[share].booked:.1f} % of its appointments were missed."
    )
    yield ""


def _table(total: dict[str, Count]) -> Iterator[str]:
    yield "| Site | Booked | Attended | Cancelled in time | Cancelled late | Missed |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for site, c in total.items():
        yield f"| {site} | {c.booked:,} | {c.attended:,} | {c.in_time:,} | {c.late:,} | {c.missed:,} |"


def _long(day: date) -> str:
    return f"{DAYS[day.weekday()]} {day.day} {MONTHS[day.month - 1]} {day.year}"
