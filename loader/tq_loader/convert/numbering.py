"""Numbers and bullets of Word's lists, which stand in no text: counted as Word counts them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from tq_loader.convert.package import Element, attribute, local

LEVELS: Final = 9

_PLACE = re.compile(r"%([1-9])")
_ROMAN: Final = (
    (1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l"), (40, "xl"),
    (10, "x"), (9, "ix"), (5, "v"), (4, "iv"), (1, "i"),
)  # fmt: skip


@dataclass(slots=True)
class Level:
    """One level of a list. ``text`` has %1 to %9 where the numbers of the levels stand."""

    form: str = "decimal"
    text: str = ""
    start: int = 1
    style: str | None = None
    restart: int | None = None
    legal: bool = False


class Numbering:
    """Labels by numbering id and level. Lists that share a definition share their count."""

    def __init__(self, root: Element | None) -> None:
        abstract: dict[str, dict[int, Level]] = {}
        links: dict[str, str] = {}
        styles: dict[str, str] = {}
        self._lists: dict[str, tuple[str, dict[int, Level]]] = {}
        self._counts: dict[str, list[int | None]] = {}
        self._restarts: dict[str, dict[int, int]] = {}
        elements = [] if root is None else list(root)
        for element in elements:
            if local(element) == "abstractNum":
                key = attribute(element, "abstractNumId") or ""
                abstract[key] = _levels(element)
                for child in element:
                    if local(child) == "numStyleLink":
                        links[key] = attribute(child, "val") or ""
                    elif local(child) == "styleLink":
                        styles[attribute(child, "val") or ""] = key
        for element in elements:
            if local(element) != "num":
                continue
            number = attribute(element, "numId") or ""
            key = ""
            overrides: dict[int, Level] = {}
            starts: dict[int, int] = {}
            for child in element:
                if local(child) == "abstractNumId":
                    key = attribute(child, "val") or ""
                elif local(child) == "lvlOverride":
                    level = _whole(attribute(child, "ilvl"))
                    for inner in child:
                        if local(inner) == "startOverride":
                            starts[level] = _whole(attribute(inner, "val"))
                    overrides |= _levels(child)
            if key in links:
                key = styles.get(links[key], key)
            self._lists[number] = (key, abstract.get(key, {}) | overrides)
            if starts:
                self._restarts[number] = starts

    def level_of(self, number: str, style: str, default: int) -> int:
        """The level that belongs to a paragraph style."""
        _, levels = self._lists.get(number, ("", {}))
        return next((i for i, level in levels.items() if level.style == style), default)

    def label(self, number: str, level: int) -> str:
        """The next label of a list at a level from 0; "" where it shows none."""
        key, levels = self._lists.get(number, ("", {}))
        level = min(max(level, 0), LEVELS - 1)
        if level not in levels:
            return ""
        counts = self._counts.setdefault(key, [None] * LEVELS)
        for at, start in self._restarts.pop(number, {}).items():
            if 0 <= at < LEVELS:
                counts[at] = start - 1
        current = counts[level]
        counts[level] = levels[level].start if current is None else current + 1
        for deeper in range(level + 1, LEVELS):
            if deeper not in levels or levels[deeper].restart != 0:
                counts[deeper] = None
        own = levels[level]
        if own.form == "bullet":
            return "•"
        if own.form == "none" and "%" not in own.text:
            return own.text.strip()

        def number_at(match: re.Match[str]) -> str:
            at = int(match.group(1)) - 1
            there = levels.get(at, Level())
            count = counts[at]
            count = there.start if count is None else count
            return shown(count, "decimal" if own.legal else there.form)

        return _PLACE.sub(number_at, own.text).strip()


def shown(number: int, form: str) -> str:
    """A number as a list shows it."""
    match form:
        case "lowerRoman" | "upperRoman":
            text = _roman(number)
            return text.upper() if form == "upperRoman" else text
        case "lowerLetter" | "upperLetter":
            if number < 1:
                return str(number)
            repeat, letter = divmod(number - 1, 26)
            text = chr(97 + letter) * min(repeat + 1, 20)
            return text.upper() if form == "upperLetter" else text
        case "decimalZero":
            return f"{number:02d}"
        case "none":
            return ""
        case _:
            return str(number)


def _roman(number: int) -> str:
    if not 0 < number < 4000:
        return str(number)
    text = ""
    for value, letters in _ROMAN:
        while number >= value:
            text += letters
            number -= value
    return text


def _levels(parent: Element) -> dict[int, Level]:
    found: dict[int, Level] = {}
    for element in parent:
        if local(element) != "lvl":
            continue
        level = Level()
        for child in element:
            value = attribute(child, "val")
            match local(child):
                case "numFmt":
                    level.form = value or "decimal"
                case "lvlText":
                    level.text = value or ""
                case "start":
                    level.start = _whole(value)
                case "pStyle":
                    level.style = value
                case "lvlRestart":
                    level.restart = _whole(value)
                case "isLgl":
                    level.legal = value not in ("0", "false")
        found[_whole(attribute(element, "ilvl"))] = level
    return found


def _whole(text: str | None) -> int:
    return int(text) if text is not None and text.isdecimal() and len(text) < 9 else 0
