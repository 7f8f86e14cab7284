"""Two claims that answer one question: do they say the same, can both hold, or do they contradict each other?

They contradict each other where they speak of one subject and one case, and measure it, date it or deny it differently.
Claims of several sentences contradict each other where two of their sentences do that bear on the question.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import pairwise
from typing import Literal

from tq.text.match import alike
from tq.text.quantities import comparable, same_quantity
from tq.text.sentences import sentences
from tq.text.stated import Measure, Shape, Stated, Token, stated
from tq.text.synonyms import kin
from tq.text.tokens import terms

Relation = Literal["same", "compatible", "contradicts", "unclear"]
SAME_WORDS = 0.8
ONE_SUBJECT = 0.4
"""Share of the smaller claim's words that both hold: from there on they are about one subject."""
MAX_SENTENCES = 6
OPPOSITES = (
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
    ("rose", "fell"),
    ("accepted", "rejected"),
    ("approved", "rejected"),
    ("included", "excluded"),
    ("before", "after"),
    ("minimum", "maximum"),
    ("refundable", "non-refundable"),
    ("free", "charged"),
    ("erlaubt", "verboten"),
    ("pflicht", "freiwillig"),
    ("gestiegen", "gesunken"),
    ("geöffnet", "geschlossen"),
    ("all", "none"),
)
_SECTION = re.compile(r"^[\s#*]*\d+(?:\.\d+)+\.?\s+(?=[^\W\d])")
"""The number of a section in front of its heading, which measures nothing."""
_ADJECTIVE_LAST = frozenset(("french", "spanish", "italian", "portuguese", "catalan", "romanian"))
_LONGEST_DIMENSION = 24


def relation(
    question: str,
    first: str,
    second: str,
    first_quote: str = "",
    second_quote: str = "",
    language: str = "none",
) -> Relation:
    """The relation of two claims. Different numbers count as a contradiction only where they measure the same thing of
    the same subject, and no year, name, case or exception tells the claims apart."""
    asked = _asked(question, language)
    one, two = _read(first, language), _read(second, language)
    if one[0].text == two[0].text:
        return "same"
    whole = _relate(one[0], two[0], asked, language)
    if len(one) == len(two) == 1:
        return whole
    parts = [
        _relate(a, b, asked, language)
        for a in _bearing(one[1:] or one, asked)
        for b in _bearing(two[1:] or two, asked)
    ]
    if "contradicts" in parts:
        return "contradicts"
    # A sentence may leave to the one before it what it speaks of.
    few = max(len(one[0].measures), len(two[0].measures)) <= 1
    return "compatible" if whole == "contradicts" and not few else whole


@lru_cache(maxsize=64)
def _asked(question: str, language: str) -> frozenset[str]:
    return frozenset(terms(question, language))


@lru_cache(maxsize=4096)
def _read(text: str, language: str) -> tuple[Stated, ...]:
    """The whole, and each of its sentences where there are several."""
    text = _SECTION.sub("", text)
    whole = stated(text, language)
    spans = list(sentences(text))[:MAX_SENTENCES]
    return (whole, *(stated(text[slice(*span)], language) for span in spans)) if len(spans) > 1 else (whole,)


def forget() -> None:
    """Read statements anew: for measurements."""
    _read.cache_clear()


def _bearing(parts: Sequence[Stated], asked: frozenset[str]) -> list[Stated]:
    """The sentences that hold nearly as many of the question's terms as the best one."""
    met = [len(part.about & asked) for part in parts]
    return [part for part, hits in zip(parts, met, strict=True) if 2 * hits >= max(met)]


def _relate(one: Stated, two: Stated, asked: frozenset[str], language: str) -> Relation:
    shared = _shared(one.about, two.about, language)
    smaller, larger = sorted((len(one.about), len(two.about)))
    overlap = len(shared) / smaller if smaller else 0.0
    # What is left when the question's own words are taken away tells whether the two speak of the same case.
    if not (overlap >= ONE_SUBJECT or (overlap >= 0.25 and _met(one, two, asked) >= 0.5)):
        return "compatible" if one.about and two.about else "unclear"
    clash = _clash(one, two)
    denied = not clash and _denied(one, two, overlap, smaller, larger)
    if clash or denied:
        # An exception beside its rule: both hold.
        if one.limited or two.limited or _apart(one, two, shared, asked):
            return "compatible"
        if denied and _in_part(one, two, shared, asked):
            return "compatible"
        return "contradicts"
    if one.limited != two.limited or one.denies != two.denies or not _agree(one, two):
        return "compatible" if one.limited != two.limited or clash is False else "unclear"
    if (clash is False and overlap >= 0.5) or (overlap >= SAME_WORDS and smaller >= 0.6 * larger):
        return "compatible" if _apart(one, two, shared, asked) else "same"
    return "compatible"


def _near(a: str, b: str) -> bool:
    """Words that are alike; most share neither the first letter nor a part, and are not worth the call."""
    return (a[:1] == b[:1] or a in b or b in a) and alike(a, b)


def _met(one: Stated, two: Stated, asked: frozenset[str]) -> float:
    """Share of the question's words that both hold."""
    return len(one.about & two.about & asked) / max(1, sum(not term[:1].isdigit() for term in asked))


def _shared(one: frozenset[str], two: frozenset[str], language: str) -> frozenset[str]:
    """Terms of either that the other holds too, in another form or as another word for it."""
    common = one & two
    found = set(common)
    rest = two - common
    for term in one - common:
        stand_ins = kin(term, language)
        for other in rest:
            if other in stand_ins or _near(term, other):
                found.update((term, other))
    # Counted as the smaller one counts them.
    return frozenset(found & (one if len(one) <= len(two) else two)) if len(found) > len(common) else common


# ---------------------------------------------------------------- what is measured


def _clash(one: Stated, two: Stated) -> bool | None:
    """True: what can be compared differs; False: it agrees; None: nothing can be compared."""
    verdict: bool | None = None
    if (one.free and _priced(two)) or (two.free and _priced(one)):
        return True
    for ours, theirs in _dimensions(one, two):
        if any(_meet(a, b) for a in ours for b in theirs):
            verdict = verdict or False
        else:
            verdict = True
    for kind in ("date", "time"):
        mine = [q for q in one.dates if q.kind == kind]
        yours = [q for q in two.dates if q.kind == kind]
        if mine and yours:
            same = any(comparable(a, b) and same_quantity(a, b) for a in mine for b in yours)
            verdict = (verdict or False) if same else True
    return verdict


def _priced(one: Stated) -> bool:
    return any(_currency(measure.quantity.unit) and measure.high > 0 for measure in one.measures)


def _currency(unit: str) -> bool:
    return len(unit) == 3 and unit.isupper()


def _dimensions(one: Stated, two: Stated) -> Iterable[tuple[list[Measure], list[Measure]]]:
    """What both measure, dimension by dimension."""
    mine: dict[str, list[Measure]] = {}
    yours: dict[str, list[Measure]] = {}
    for measures, by_dimension in ((one.measures, mine), (two.measures, yours)):
        for measure in measures:
            by_dimension.setdefault(measure.dimension, []).append(measure)
    common = sorted((mine.keys() & yours.keys()) - {""})
    for dimension in common:
        yield mine[dimension], yours[dimension]
    if common:
        return
    if "" in mine and "" in yours:
        yield mine[""], yours[""]
    elif len(one.measures) == len(two.measures) == 1 and _one_kind(one, two):
        yield list(one.measures), list(two.measures)


def _one_kind(one: Stated, two: Stated) -> bool:
    """Whether two dimensions with different names are one: an age with and without its unit, things counted under two
    names for them, the same number of another currency."""
    a, b = one.measures[0], two.measures[0]
    units = {a.quantity.unit, b.quantity.unit}
    if units == {"", "year"}:
        return one.of_age or two.of_age
    if all(map(_currency, units)):
        return a.quantity.value == b.quantity.value
    counted = [unit[6:][:_LONGEST_DIMENSION] for unit in units if unit.startswith("count:")]
    if len(counted) == 2:
        return alike(*counted) or any(
            set(terms(counted[1])) & set(kin(term, "english")) for term in terms(counted[0])
        )
    return False


def _meet(a: Measure, b: Measure) -> bool:
    """Whether both can hold of one thing: equal after conversion, one inside the other's range, or a lower and an upper
    limit with room between."""
    if a.rate and b.rate and a.rate != b.rate:
        return True  # no more is known: 800 a month and 9,600 a year
    if a.quantity.unit != b.quantity.unit and a.dimension != b.dimension:
        # Compared under one name; the same number in another currency is another amount.
        return (a.quantity.value, a.quantity.high) == (
            b.quantity.value,
            b.quantity.high,
        ) and not a.quantity.unit.isupper()
    if a.low <= b.high and b.low <= a.high:
        return True
    if a.bound * b.bound == -1:
        least, most = (a, b) if a.bound < 0 else (b, a)
        return least.low <= most.high
    return False


def _agree(one: Stated, two: Stated) -> bool:
    """Whether neither measures or dates anything that the other does not."""
    return all(
        any(_meet(a, b) and (a.bound, a.rate) == (b.bound, b.rate) for b in theirs)
        for ours, theirs in ((one.measures, two.measures), (two.measures, one.measures))
        for a in ours
    ) and all(
        any(same_quantity(a, b) for b in theirs)
        for ours, theirs in ((one.dates, two.dates), (two.dates, one.dates))
        for a in ours
    )


def _denied(one: Stated, two: Stated, overlap: float, smaller: int, larger: int) -> bool:
    """One denies what the other says, of nearly the same words; or they use opposite words."""
    if (
        overlap >= 0.6
        and smaller >= 2
        # A longer sentence that denies something else may hold all words of the shorter one.
        and overlap * smaller >= 0.55 * larger
        and one.denies != two.denies
    ):
        return True
    if overlap < 0.5 or one.denies != two.denies:
        return False
    mine, yours = one.words - two.words, two.words - one.words
    return any((x in mine and y in yours) or (y in mine and x in yours) for x, y in OPPOSITES)


# ---------------------------------------------------------------- which case is meant


def _apart(one: Stated, two: Stated, shared: frozenset[str], asked: frozenset[str]) -> bool:
    """Whether a year, a label, a name or a condition says that the two speak of different cases."""
    if one.measures and two.measures and one.years and two.years and not one.years & two.years:
        return True
    a, b = one.shape, two.shape
    if a.times and b.times and not a.times & b.times:
        return True
    kinds = {kind for kind, _ in a.labels} & {kind for kind, _ in b.labels}
    for common in kinds:
        ours = {value for kind, value in a.labels if kind == common}
        if ours.isdisjoint(value for kind, value in b.labels if kind == common):
            return True
    if bool(one.conditions) != bool(two.conditions) or (
        one.conditions and not any(_meet(a, b) for a in one.conditions for b in two.conditions)
    ):
        return True
    known = shared | (one.about & two.about)
    mine, yours = _own(a, b, known), _own(b, a, known)
    if _named(a, mine - asked) and _named(b, yours - asked):
        return True
    if _in_one_place(a, b, mine, yours, one.language in _ADJECTIVE_LAST):
        return True
    return _narrowed(a, mine - asked) or _narrowed(b, yours - asked)


def _own(one: Shape, two: Shape, known: frozenset[str]) -> frozenset[str]:
    """What only this one names."""
    own = one.names - two.names - known
    return (
        frozenset(term for term in own if not any(_near(term, other) for other in two.names)) if own else own
    )


def _named(one: Shape, own: frozenset[str]) -> bool:
    """Whether one of these terms stands where the name of a thing does: behind an article or a preposition, at the
    beginning, or behind such a one; or it has a capital or a digit."""
    # A verb that commands stands at the beginning, too, with an article behind it: "store the".
    commands = len(one.tokens) > 1 and one.tokens[1].kind == "article"
    before = "other" if commands else "article"
    for at, token in enumerate(one.tokens):
        if token.kind == "name" and token.term in own:
            marked = (token.capital and at > 0) or any(char.isdigit() for char in token.text)
            if marked or before in ("article", "preposition", "own"):
                return True
            before = "other"
        else:
            before = token.kind if token.kind in ("article", "preposition") else "other"
    return False


def _in_one_place(
    one: Shape, two: Shape, mine: frozenset[str], yours: frozenset[str], adjective_last: bool
) -> bool:
    """Whether the two run alike, but for a name that stands where the other has another."""
    if not mine or not yours:
        return False
    a = [_aligned(token) for token in one.tokens]
    b = [_aligned(token) for token in two.tokens]
    steps = SequenceMatcher(None, a, b, autojunk=False).get_opcodes()
    if 2 * sum(j - i for tag, i, j, _, _ in steps if tag == "equal") < min(len(a), len(b)):
        return False
    for place, (tag, i, j, k, m) in enumerate(steps):
        if tag != "replace" or j - i > 3 or m - k > 3:
            continue
        around = [steps[at][0] for at in (place - 1, place + 1) if 0 <= at < len(steps)]
        if (
            all(other == "equal" for other in around)
            and _stands_for_a_thing(one, i, j, mine, adjective_last)
            and _stands_for_a_thing(two, k, m, yours, adjective_last)
        ):
            return True
    return False


def _aligned(token: Token) -> str:
    return token.kind if token.kind in ("article", "quantity", "verb") else token.term or token.text


def _stands_for_a_thing(one: Shape, first: int, last: int, own: frozenset[str], adjective_last: bool) -> bool:
    inside = one.tokens[first:last]
    if not any(token.kind == "name" and token.term in own for token in inside):
        return False
    before = one.tokens[first - 1].kind if first else "article"
    if adjective_last and before == "name" and last < len(one.tokens):
        return one.tokens[last].kind in ("name", "verb")
    # In a script without spaces small words part names.
    return before in ("article", "preposition", "small", "quantity") or inside[0].kind in (
        "article",
        "preposition",
    )


def _narrowed(one: Shape, own: frozenset[str]) -> bool:
    """Whether the subject is narrowed by what the other does not say: "books on reserve may", "near the school the limit
    is", "forms sent online need"."""
    if not own:
        return False
    for chunk, opening in _chunks(one.tokens[: one.clause]):
        names = [token for token in chunk if token.kind == "name"]
        extra = [token for token in names if token.term in own]
        if not extra:
            continue
        leads = names[0].term in own
        if opening is not None:
            # Further on a verb may be among the words: "after an employee leaves".
            if leads:
                return True
        elif len(extra) < len(names):
            # "The packed device weighs": behind the subject the verb itself may be what is new.
            if one.verb or (leads and chunk[0].kind == "article"):
                return True
        elif one.verb and any(a.kind == b.kind == "name" for a, b in pairwise(chunk)):
            return True  # "part-time staff have"
    return False


def _in_part(one: Stated, two: Stated, shared: frozenset[str], asked: frozenset[str]) -> bool:
    """Whether only a part of what one says is denied: at a time, in a place that the other does not name."""
    if bool(one.dates) != bool(two.dates):
        return True
    known = shared | (one.about & two.about)
    for a, b in ((one.shape, two.shape), (two.shape, one.shape)):
        own = _own(a, b, known) - asked
        for chunk, opening in _chunks(a.tokens[a.clause :]):
            if opening is not None and any(token.term in own for token in chunk if token.kind == "name"):
                return True
    return False


def _chunks(tokens: Sequence[Token]) -> list[tuple[list[Token], Token | None]]:
    """Stretches that begin at a preposition or an article, each with its preposition."""
    chunks: list[tuple[list[Token], Token | None]] = []
    for token in tokens:
        if token.kind == "preposition":
            chunks.append(([], token))
        elif not chunks or (token.kind == "article" and chunks[-1][0]):
            chunks.append(([token], None))
        else:
            chunks[-1][0].append(token)
    return chunks
