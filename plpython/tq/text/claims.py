"""Two claims that answer one question: do they say the same, can both hold, or do they contradict each other?"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Literal

from tq.text.facts import names, negations
from tq.text.match import alike
from tq.text.quantities import Quantity, comparable, quantities, same_quantity
from tq.text.stopwords import word_set
from tq.text.tokens import terms

Relation = Literal["same", "compatible", "contradicts", "unclear"]
SAME_WORDS = 0.8
ONE_SUBJECT = 0.4
"""Share of the smaller claim's words that both hold: from there on they are about one subject."""
_LIMITS = re.compile(
    r"\b(?:except|unless|however|only if|exception|other than|save that|subject to|außer|sofern|ausgenommen|sauf|"
    r"salvo)\b|除外|除非",
    re.IGNORECASE,
)
_OPPOSITES = (
    ("required", "optional"),
    ("mandatory", "optional"),
    ("mandatory", "voluntary"),
    ("allowed", "forbidden"),
    ("allowed", "prohibited"),
    ("permitted", "prohibited"),
    ("permitted", "forbidden"),
    ("open", "closed"),
    ("always", "never"),
    ("increased", "decreased"),
    ("increase", "decrease"),
    ("accepted", "rejected"),
    ("included", "excluded"),
    ("before", "after"),
    ("minimum", "maximum"),
    ("refundable", "non-refundable"),
    ("free", "charged"),
    ("erlaubt", "verboten"),
    ("pflicht", "freiwillig"),
    ("gestiegen", "gesunken"),
    ("all", "none"),
)
_MEASURE_WORDS = word_set(
    "hour hours day days week weeks month months year years minute minutes percent dollar dollars euro euros notice "
    "least most minimum maximum stunde stunden tag tage woche wochen monat monate jahr jahre prozent"
)


def _subject_terms(text: str, found: Sequence[Quantity], language: str) -> set[str]:
    """What a claim is about: its words without its numbers, units and denials."""
    chars = list(text)
    for quantity in found:
        for at in range(quantity.start, quantity.end):
            chars[at] = " "
    for _, start, end in negations(text):
        for at in range(start, end):
            chars[at] = " "
    rest = "".join(chars)
    drop = _measure_terms(language)
    return {term for term in terms(rest, language) if term not in drop}


@lru_cache(maxsize=16)
def _measure_terms(language: str) -> frozenset[str]:
    return frozenset(term for word in _MEASURE_WORDS for term in terms(word, language))


def _shared(a: set[str], b: set[str]) -> float:
    """Share of the smaller set that the other holds too, words that are alike included."""
    if not a or not b:
        return 0.0
    small, large = (a, b) if len(a) <= len(b) else (b, a)
    same = sum(1 for term in small if term in large or any(alike(term, other) for other in large))
    return same / len(small)


_SECTION = re.compile(r"^[\s#*]*\d+(?:\.\d+)+\.?\s+(?=[^\W\d])")
"""The number of a section in front of its heading, which measures nothing."""


def relation(
    question: str,
    first: str,
    second: str,
    first_quote: str = "",
    second_quote: str = "",
    language: str = "none",
) -> Relation:
    """The relation of two claims. Different numbers count as a contradiction only where they measure the same thing of
    the same subject, and no year, name or exception tells the claims apart."""
    first, second = _SECTION.sub("", first), _SECTION.sub("", second)
    if _folded(first) == _folded(second):
        return "same"
    mine, theirs = quantities(first), quantities(second)
    about_a, about_b = _subject_terms(first, mine, language), _subject_terms(second, theirs, language)
    asked = set(terms(question, language))
    overlap = _shared(about_a, about_b)
    # What is left when the question's own words are taken away tells whether the two speak of the same case.
    met = len(about_a & about_b & asked) / max(1, len(asked - _numbers(asked)))
    one_subject = overlap >= ONE_SUBJECT or (overlap >= 0.25 and met >= 0.5)
    if not one_subject:
        return "compatible" if about_a and about_b else "unclear"
    if _set_apart(first, second, mine, theirs, asked):
        return "compatible"
    clash = _clash(mine, theirs)
    if clash is not None:
        if clash and not _LIMITS.search(first) and not _LIMITS.search(second):
            return "contradicts"
        if clash:
            return "compatible"
    denied = _denied(first, second, about_a, about_b, overlap)
    if denied:
        return "contradicts"
    if clash is False and overlap >= 0.5 and bool(_LIMITS.search(first)) == bool(_LIMITS.search(second)):
        return "same"
    if overlap >= SAME_WORDS and min(len(about_a), len(about_b)) >= 0.6 * max(len(about_a), len(about_b)):
        if bool(_LIMITS.search(first)) != bool(_LIMITS.search(second)):
            return "compatible"
        return "same" if bool(negations(first)) == bool(negations(second)) else "unclear"
    return "compatible"


def _folded(text: str) -> str:
    return " ".join(re.findall(r"[\w%$€£]+", text.casefold()))


def _numbers(found: set[str]) -> set[str]:
    return {term for term in found if term[:1].isdigit()}


def _set_apart(
    first: str, second: str, mine: Sequence[Quantity], theirs: Sequence[Quantity], asked: set[str]
) -> bool:
    """Whether a year or a name says that the claims speak of different cases: then both can hold."""
    years_a = {q.date[:4] for q in mine if q.kind == "date" and q.date[:4].isdigit()}
    years_b = {q.date[:4] for q in theirs if q.kind == "date" and q.date[:4].isdigit()}
    numbers_a = any(q.kind == "number" for q in mine)
    numbers_b = any(q.kind == "number" for q in theirs)
    if numbers_a and numbers_b and years_a and years_b and not years_a & years_b:
        return True
    names_a = {word for name, _, _ in names(first) for word in name.split()}
    names_b = {word for name, _, _ in names(second) for word in name.split()}
    low_a, low_b = first.casefold(), second.casefold()
    only_a = {word for word in names_a if word.casefold() not in low_b and word.casefold() not in asked}
    only_b = {word for word in names_b if word.casefold() not in low_a and word.casefold() not in asked}
    return bool(only_a and only_b and (numbers_a or numbers_b))


def _clash(mine: Sequence[Quantity], theirs: Sequence[Quantity]) -> bool | None:
    """True: the comparable quantities differ; False: they agree; None: nothing can be compared."""
    kinds = {q.dimension for q in mine if q.dimension} & {q.dimension for q in theirs if q.dimension}
    bare = (
        {"number"}
        if any(not q.unit for q in mine) and any(not q.unit for q in theirs) and not kinds
        else set()
    )
    if not kinds and not bare:
        return None
    verdict = False
    for dimension in sorted(kinds):
        ours = [q for q in mine if q.dimension == dimension]
        others = [q for q in theirs if q.dimension == dimension]
        if any(comparable(a, b) and same_quantity(a, b) for a in ours for b in others):
            continue
        if any(_within(a, b) or _within(b, a) for a in ours for b in others):
            continue
        verdict = True
    if bare:
        ours = [q for q in mine if q.kind == "number"]
        others = [q for q in theirs if q.kind == "number"]
        verdict = not any(same_quantity(a, b) for a in ours for b in others)
    return verdict


def _within(a: Quantity, b: Quantity) -> bool:
    """Whether the single value ``a`` lies inside the range ``b``."""
    if a.value is None or b.value is None or b.high is None or a.high is not None or a.unit != b.unit:
        return False
    return b.value <= a.value <= b.high


def _denied(first: str, second: str, about_a: set[str], about_b: set[str], overlap: float) -> bool:
    """One denies what the other says, of nearly the same words; or they use opposite words."""
    smaller, larger = sorted((len(about_a), len(about_b)))
    exception = bool(_LIMITS.search(first)) != bool(_LIMITS.search(second))
    if (
        overlap >= 0.6
        and smaller >= 2
        # A longer sentence that denies something else may hold all words of the shorter one.
        and overlap * smaller >= 0.55 * larger
        and not exception
        and bool(negations(first)) != bool(negations(second))
    ):
        return True
    words_a, words_b = set(_folded(first).split()), set(_folded(second).split())
    if overlap < 0.5 or exception:
        return False
    return any(
        (x in words_a and y in words_b and x not in words_b and y not in words_a)
        or (y in words_a and x in words_b and y not in words_b and x not in words_a)
        for x, y in _OPPOSITES
    )
