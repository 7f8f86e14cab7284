"""A long text for the benchmarks: the same for the same number of lines, no two records alike, facts to ask for."""

from __future__ import annotations

import calendar
import random
from collections.abc import Iterator

PLACES = [
    "North Hall", "Harbour Road", "Mill Street", "East Wing", "Quarry Lane", "Station Square", "Old Brewery", "Lime Court",
    "Castle Hill", "Ferry Quay", "Orchard Row", "Bishop's Gate", "Tannery Yard", "Glass Works", "River Bend", "Coal Wharf",
]  # fmt: skip
THINGS = [
    "pump",
    "boiler",
    "lift",
    "valve",
    "generator",
    "ventilator",
    "compressor",
    "turbine",
    "conveyor",
    "chiller",
]
PEOPLE = [
    "Ada Brown",
    "Ivo Lang",
    "Mira Stone",
    "Jonas Weber",
    "Lena Park",
    "Omar Haddad",
    "Rosa Diaz",
    "Tim Novak",
]
FAULTS = [
    "a worn bearing",
    "a leaking seal",
    "a loose belt",
    "a cracked housing",
    "low oil",
    "a blocked filter",
]
NOTES = [
    "The night shift reported nothing unusual and handed over at the usual hour.",
    "Spare parts were ordered from the store, and the order was confirmed by telephone.",
    "Visitors were shown round after the inspection, without entering the machine rooms.",
    "The crew checked the emergency exits and found every one of them clear.",
    "No work was done in the afternoon, since the power was off for the whole district.",
    "The log of the week before was read and signed, and two entries were corrected.",
]
MONTHS = list(calendar.month_name)[1:]


def lines(count: int) -> Iterator[str]:
    """`count` lines in sections of 30 to 120, each with a heading, records and remarks."""
    rng = random.Random(20240229)
    number = made = 0
    while made < count:
        number += 1
        place = rng.choice(PLACES)
        section = [f"{number}. {place}, round {number}", ""]
        for _ in range(rng.randint(30, 120)):
            serial = rng.randrange(10**8)
            if rng.random() < 0.6:
                section.append(
                    f"On {rng.randint(1, 28)} {rng.choice(MONTHS)} 2023 {rng.choice(PEOPLE)} serviced {rng.choice(THINGS)} "
                    f"K{serial:08d} at {place}: {rng.choice(FAULTS)}, {rng.randint(2, 400) / 10} bar, {rng.randint(1, 9)} hours."
                )
            else:
                section.append(rng.choice(NOTES))
        section.append("")
        for text in section[: count - made]:
            made += 1
            yield text


def questions(count: int, asked: int) -> list[tuple[str, int]]:
    """(question, line number of its evidence), spread over a text of `count` lines."""
    records = []
    for number, text in enumerate(lines(count), start=1):
        if " serviced " in text:
            thing, serial = text.split(" serviced ")[1].split()[:2]
            records.append((f"When was {thing} {serial} serviced and by whom?", number))
    step = max(1, len(records) // asked)
    return records[step // 2 :: step][:asked]
