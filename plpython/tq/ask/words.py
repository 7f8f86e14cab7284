"""Small phrases of the texts that people read, and the language that they are read in.

A phrase is written in English, as a template; `say` fills it. It keeps what it was made of, so that one made during the
search can be read in the language of the strategy when the rows are written: `speaking` is where that happens. Everywhere
else, in prompts and in the record, it is the English text.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from tq.ask.german import PHRASES as GERMAN

LANGUAGES: Mapping[str, Mapping[str, str]] = {"english": {}, "german": GERMAN}

_spoken: Mapping[str, str] = {}  # of one question at a time: the engine composes texts in one thread


class Said(str):
    """A filled phrase that knows its template and values. What leaves the engine is a plain str of it."""

    template: str
    values: Mapping[str, Any]


def say(template: str, **values: Any) -> Said:
    """The phrase, filled; in the language that is spoken, with all phrases inside of it."""
    phrase = _spoken.get(template, template)
    said = Said(phrase.format(**{name: spoken(value) for name, value in values.items()}))
    said.template, said.values = template, values
    return said


def spoken(text: Any) -> Any:
    """A phrase made before, in the language that is spoken now; anything else as it is."""
    return say(text.template, **text.values) if isinstance(text, Said) else text


@contextmanager
def speaking(language: str) -> Iterator[None]:
    global _spoken
    _spoken = LANGUAGES.get(language, {})
    try:
        yield
    finally:
        _spoken = {}


def lines(first: int, last: int) -> str:
    return (
        say("line {first}", first=first)
        if first == last
        else say("lines {first}–{last}", first=first, last=last)
    )


def places(ranges: Sequence[tuple[int, int]], limit: int = 5) -> str:
    """The first ranges of lines, and how many more there are."""
    told = listed([lines(*place) for place in ranges[:limit]])
    return say("{listed} and {n} more", listed=told, n=len(ranges) - limit) if len(ranges) > limit else told


def count(number: int, one: str, many: str | None = None) -> str:
    """So many of something: "{n} section" and "{n} sections" are the phrases."""
    return say("{n} " + (one if number == 1 else many or one + "s"), n=number)


def short(text: str, limit: int = 240) -> str:
    """One line of at most `limit` characters."""
    text = " ".join(text[: limit * 8].split())
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"


def quoted(text: str, limit: int = 240) -> str:
    return say("“{text}”", text=short(text, limit))


def ended(text: str) -> str:
    """A sentence with the full stop that it lacks; a quote may have brought its own."""
    inner = text.rstrip("”“»")
    return text if inner[-1:] in (".", "!", "?", "。", "…") else f"{text}."


def hits(lines_hit: int, terms: Mapping[str, int], surface: Mapping[str, str], limit: int = 4) -> str:
    """What scent says of a child, in words."""
    if not lines_hit:
        return say("none of its lines has a word of the question")
    strongest = sorted(terms.items(), key=lambda pair: (-pair[1], pair[0]))[:limit]
    shown = listed(
        [say("“{term}” ({n})", term=surface.get(term, term), n=number) for term, number in strongest]
    )
    if lines_hit == 1:
        return say("1 of its lines has {words}", words=shown)
    return say("{n} of its lines have {words}", n=lines_hit, words=shown)


def listed(items: Sequence[str], last: str = "and") -> str:
    if len(items) < 2:
        return items[0] if items else ""
    rest = items[0]
    for item in items[1:-1]:
        rest = say("{first}, {second}", first=rest, second=item)
    return say("{rest} " + last + " {last}", rest=rest, last=items[-1])


def names(labels: Sequence[str], limit: int = 20) -> str:
    """The first names, and how many more there are."""
    if len(labels) <= limit:
        return ", ".join(labels)
    return say("{listed} and {n} more", listed=", ".join(labels[:limit]), n=len(labels) - limit)


def clean(text: str) -> str:
    """Text of a model as PostgreSQL can store it: no NUL, no lone surrogates."""
    return text.replace("\x00", "\ufffd").encode("utf-8", "replace").decode("utf-8").strip()
