"""Small phrases of the texts that people read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def lines(first: int, last: int) -> str:
    return f"line {first}" if first == last else f"lines {first}–{last}"


def places(ranges: Sequence[tuple[int, int]], limit: int = 5) -> str:
    """The first ranges of lines, and how many more there are."""
    more = f" and {len(ranges) - limit} more" if len(ranges) > limit else ""
    return listed([lines(*place) for place in ranges[:limit]]) + more


def count(number: int, one: str, many: str | None = None) -> str:
    return f"{number} {one}" if number == 1 else f"{number} {many or one + 's'}"


def short(text: str, limit: int = 240) -> str:
    """One line of at most `limit` characters."""
    text = " ".join(text[: limit * 8].split())
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"


def quoted(text: str, limit: int = 240) -> str:
    return f"“{short(text, limit)}”"


def hits(lines_hit: int, terms: Mapping[str, int], surface: Mapping[str, str], limit: int = 4) -> str:
    """What scent says of a child, in words."""
    if not lines_hit:
        return "none of its lines has a word of the question"
    strongest = sorted(terms.items(), key=lambda pair: (-pair[1], pair[0]))[:limit]
    shown = listed([f"“{surface.get(term, term)}” ({number})" for term, number in strongest])
    return f"{lines_hit} of its lines {'has' if lines_hit == 1 else 'have'} {shown}"


def listed(items: Sequence[str], last: str = "and") -> str:
    if len(items) < 2:
        return "".join(items)
    return f"{', '.join(items[:-1])} {last} {items[-1]}"


def names(labels: Sequence[str], limit: int = 20) -> str:
    """The first names, and how many more there are."""
    if len(labels) > limit:
        return ", ".join(labels[:limit]) + f" and {len(labels) - limit} more"
    return ", ".join(labels)


def clean(text: str) -> str:
    """Text of a model as PostgreSQL can store it: no NUL, no lone surrogates."""
    return text.replace("\x00", "\ufffd").encode("utf-8", "replace").decode("utf-8").strip()
