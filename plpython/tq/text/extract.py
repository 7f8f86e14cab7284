"""A summary by choice: whole sentences as they stand, the factual and the central ones first."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from tq.text.facts import negations
from tq.text.passages import Passage, Source, passages
from tq.text.sentences import pieces
from tq.text.tokens import terms

_DIGIT = re.compile(r"\d")
_NAME = re.compile(r"(?<=[^.!?\s] )[A-ZÄÖÜÀ-ÝА-Я][^\W\d_]+")
_FILLER = re.compile(r"\{[^}]*\}|\[[^\]]*\]|\b(?:u[mh]+|yeah|okay|mm-hmm|hmm)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Chosen:
    """One bullet: verbatim text, and the first and last index of the items it stands in."""

    text: str
    first: int
    last: int


def summary(items: Sequence[Source], bullets: int, chars: int, language: str = "none") -> list[Chosen]:
    """At most ``bullets`` verbatim sentences or rows of at most ``chars`` characters.

    The most telling one comes first (it stands for the node in its parent's list), the others in the items' order.
    Never empty where an item holds anything but headings and white space; then the headings themselves stand in.
    """
    found = passages(items)
    content = [passage for passage in found if passage.kind != "heading"] or found
    if not content:
        return []
    bags = [Counter(terms(passage.text[:4000], language)) for passage in content]
    spread = Counter(term for bag in bags for term in bag)
    scores = [
        _worth(passage, bag, spread, len(content), position)
        for position, (passage, bag) in enumerate(zip(content, bags, strict=True))
    ]
    chosen: list[int] = []
    seen: Counter[str] = Counter()
    open_ones = set(range(len(content)))
    # Best first, each weighed down by what the chosen ones say already: a summary covers, it does not repeat.
    while open_ones and len(chosen) < bullets:
        best = max(open_ones, key=lambda at: (scores[at] * _new(bags[at], seen), -at))
        open_ones.discard(best)
        if chosen and scores[best] * _new(bags[best], seen) <= 0.05:
            break
        chosen.append(best)
        seen.update(bags[best].keys())
    return [_cut(content[at], items, chars) for at in (chosen[0], *sorted(chosen[1:]))]


def covering(items: Sequence[Source], bullets: int, chars: int, language: str = "none") -> list[Chosen]:
    """A parent's bullets out of its children's: every stretch of the children gives its best one, in their order."""
    kept = [index for index, item in enumerate(items) if item.text.strip()]
    if not kept:
        return []
    bags = {index: Counter(terms(items[index].text, language)) for index in kept}
    spread = Counter(term for bag in bags.values() for term in bag)
    groups = min(bullets, len(kept))
    out: list[Chosen] = []
    for group in range(groups):
        share = kept[group * len(kept) // groups : (group + 1) * len(kept) // groups]
        best = max(
            share,
            key=lambda index: (
                _worth(Passage(items[index].text, [], "sentence", 0), bags[index], spread, len(kept), 1),
                -index,
            ),
        )
        start, end = _part(items[best].text, chars)
        out.append(Chosen(items[best].text[start:end].strip(), best, best))
    return out


def _worth(passage: Passage, bag: Counter[str], spread: Counter[str], count: int, position: int) -> float:
    """How much a passage tells: how central its words are, and the facts in it."""
    size = sum(bag.values())
    if not size:
        return 0.01
    central: float = sum(math.log1p(spread[term]) for term in bag) / (len(bag) ** 0.5 + 2)
    text = passage.text
    facts = 0.0
    if _DIGIT.search(text):
        facts += 0.6
    if _NAME.search(text):
        facts += 0.4
    if negations(text[:2000]):
        facts += 0.5
    worth = central * (1.0 + facts)
    if size < 4 and passage.kind == "sentence":
        worth *= 0.3
    if position == 0:
        worth *= 1.2
    if _FILLER.search(text):
        worth *= 0.6
    return worth


def _new(bag: Counter[str], seen: Counter[str]) -> float:
    if not seen or not bag:
        return 1.0
    return max(0.02, 1.0 - sum(1 for term in bag if term in seen) / len(bag))


def _part(text: str, chars: int) -> tuple[int, int]:
    """The stretch of ``text`` to show where it is longer than ``chars``: cut at words, with its denial if any."""
    if len(text) <= chars:
        return 0, len(text)
    cuts = pieces(text, chars)
    denials = negations(text)
    for start, end in cuts:
        if any(start <= at < end for _, at, _ in denials):
            return start, end
    return cuts[0]


def _cut(passage: Passage, items: Sequence[Source], chars: int) -> Chosen:
    first, last = passage.parts[0][0], passage.parts[-1][0]
    if len(passage.text) <= chars:
        return Chosen(passage.text, first, last)
    if first == last:
        start, end = _part(passage.text, chars)
        return Chosen(passage.text[start:end].strip(), first, last)
    # Over several lines: as many whole parts as fit, from the first.
    text = ""
    for index, start, end in passage.parts:
        part = items[index].text[start:end]
        if text and len(text) + 1 + len(part) > chars:
            break
        text, last = (f"{text} {part}" if text else part), index
    if len(text) > chars:
        start, end = _part(text, chars)
        text = text[start:end].strip()
    return Chosen(text, first, last)
