"""One statement as it is compared with another: what it is about, what it measures, what it denies, and for which case.

A case is what may set two statements apart although they speak of one thing: a single room and a double room, books and
books on reserve, the revenue of one year and of another. Words tell it by where they stand: a name of a thing follows an
article or a preposition, and what stands before the verb beside it narrows it. That is known of languages whose small
words are listed here; in others the order of words alone is compared.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache

from tq.text.facts import negations
from tq.text.quantities import Quantity, quantities, span
from tq.text.stopwords import word_set
from tq.text.tokens import term_spans, terms, words

MAX_CHARS = 2_000
"""Characters of a statement that are read."""
MAX_TOKENS = 120
"""Tokens of a statement that are aligned with another's."""

_LIMITS = re.compile(
    r"\b(?:except|unless|however|otherwise|exceptions?|other than|save that|subject to|only (?:if|for|with|when|by|on|in|to|"
    r"after|before|at|under|where|while|during)|außer|sofern|ausgenommen|nur (?:wenn|für|mit|bei|zu|nach|in|an)|sauf|excepté|"
    r"uniquement|salvo|excepto|sólo|solo (?:si|para|con|en)|tranne|eccetto|tenzij|behalve)\b|除外|除非|仅限|但是",
    re.IGNORECASE,
)
_MINIMUM = re.compile(
    r"(?:at least|no less than|not less than|no fewer than|minimum(?: of)?|not before|mindestens|wenigstens|au moins|al menos|"
    r"como mínimo|almeno|ten minste|至少)\W*$",
    re.IGNORECASE,
)
_MAXIMUM = re.compile(
    r"(?:at most|no more than|not more than|no later than|up to|maximum(?: of)?|within|höchstens|maximal|bis zu|au plus|"
    r"jusqu'à|como máximo|hasta|al massimo|fino a|hoogstens|最多|不超过)\W*$",
    re.IGNORECASE,
)
# Measured like this, something is not said of all: "members over 65".
_CONDITION = re.compile(
    r"\b(?:over|under|above|below|aged|older than|younger than|heavier than|longer than|über|unter|ab|plus de|moins de|más de|"
    r"menos de)\W*$",
    re.IGNORECASE,
)
_EVERY = re.compile(
    r"\b(?:every|each|once (?:a|an|every|per)|jede[nrs]?|chaque|cada) (hour|day|week|month|quarter|year|stunde|tag|woche|monat|"
    r"jahr|heure|jour|semaine|mois|année|an|hora|día|semana|mes|año)\b|\b(hourly|daily|weekly|monthly|quarterly|yearly|"
    r"annually|stündlich|täglich|wöchentlich|monatlich|jährlich)\b",
    re.IGNORECASE,
)
_ADVERBS = {
    word: unit
    for unit, names in {
        "hour": "hourly stündlich",
        "day": "daily täglich",
        "week": "weekly wöchentlich",
        "month": "monthly monatlich",
        "quarter": "quarterly quarter",
        "year": "yearly annually jährlich",
    }.items()
    for word in names.split()
}
_PERIODS = {
    form: name
    for name, forms in {
        "hour": "hour stunde heure hora ora",
        "day": "day tag jour día giorno",
        "week": "week woche semaine semana settimana",
        "month": "month monat mois mes mese",
        "year": "year jahr an année año anno",
    }.items()
    for form in forms.split()
}
_RATE = re.compile(
    rf" ?(?:/|(?:an?|per|each|every|pro|im|par|por|al) ) ?({'|'.join(_PERIODS)})\b", re.IGNORECASE
)
_FREE = word_set("free gratis kostenlos kostenfrei gebührenfrei gratuit gratuite gratuito gratuita")
# "No more than" sets a limit and denies nothing.
_NO_DENIAL = re.compile(
    r"\b(?:no|not|nicht|pas) +(?:more|less|fewer|later|earlier|mehr|weniger|später|früher|plus|moins|más|menos)\b|不超过",
    re.IGNORECASE,
)
_MEASURES = word_set(
    "hour hours day days week weeks month months year years minute minutes percent dollar dollars euro euros notice "
    "least most minimum maximum minimal maximal highest lowest longest shortest latest earliest fewest up within once old "
    "long stunde stunden tag tage woche wochen monat monate jahr jahre prozent mindestens höchstens höchste niedrigste alt "
    "jour jours heure heures mois an ans día días hora horas mes meses año años"
)
_ARTICLES = word_set(
    "the a an this that these those each every all any some no its their his her our your my der die das den dem des ein "
    "eine einen einem einer eines jede jeder jedes jeden alle kein keine keinen le la les l un une des du chaque tout toute "
    "tous toutes ce cette ces el los las una unos unas cada todo todos il lo gli uno ogni het de een elke o os as um uma"
)
_PREPOSITIONS = word_set(
    "of for on in at to by with without from near under over during per between behind beside outside inside beyond "
    "through after before until since against as für von vom mit ohne bei beim auf in im an am aus zu zum zur nach vor "
    "unter über während pro gegen seit bis de d en à au aux avec sans pour par dans chez sur sous pendant après avant con "
    "sin para por sobre entre desde di da del della dei nel nella per con senza van voor met zonder bij op do dos na no em"
)
_VERBS = word_set(
    "is are was were be been has have had do does did may must can could shall should will would need needs ought ist sind "
    "war waren wird werden wurde wurden hat haben hatte hatten muss müssen darf dürfen kann können soll sollen est sont "
    "était étaient doit doivent peut peuvent es son está están fue debe deben puede pueden tiene tienen è sono deve devono "
    "può possono moet moeten mag mogen kan kunnen é são"
)
_YEARS_OLD = word_set("age aged alter old jahre âge edad età leeftijd")
# Names of times, by what they name: "mondays" and "montag" are one.
_TIMES = {
    form: name
    for name, forms in {
        "mon": "monday mondays montag montags lundi lunes lunedì",
        "tue": "tuesday tuesdays dienstag dienstags mardi martes martedì",
        "wed": "wednesday wednesdays mittwoch mittwochs mercredi miércoles mercoledì",
        "thu": "thursday thursdays donnerstag donnerstags jeudi jueves giovedì",
        "fri": "friday fridays freitag freitags vendredi viernes venerdì",
        "sat": "saturday saturdays samstag samstags sonnabend samedi sábado sabato",
        "sun": "sunday sundays sonntag sonntags dimanche domingo domenica",
        "weekend": "weekend weekends wochenende wochenenden",
        "weekday": "weekday weekdays werktags wochentags",
        "jan": "january januar janvier enero gennaio",
        "feb": "february februar février febrero febbraio",
        "mar": "märz marzo",
        "apr": "april avril abril aprile",
        "jun": "june juni juin junio giugno",
        "jul": "july juli juillet julio luglio",
        "aug": "august août agosto",
        "sep": "september septembre septiembre settembre",
        "oct": "october oktober octobre octubre ottobre",
        "nov": "november novembre noviembre",
        "dec": "december dezember décembre diciembre dicembre",
        "spring": "frühling printemps primavera",
        "summer": "summer sommer été verano estate",
        "autumn": "autumn herbst automne otoño autunno",
        "winter": "winter hiver invierno inverno",
    }.items()
    for form in forms.split()
}
_KIND = re.compile(r"([^\W\d_]+) $")
_NO_KIND = (
    _ARTICLES
    | _PREPOSITIONS
    | _VERBS
    | _MEASURES
    | _YEARS_OLD
    | word_set("than and or only about nearly some")
)
_FOLDED = re.compile(r"[\w%$€£]+")
_DENSE = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\u0e00-\u0eff]")
_DENSE_SMALL = frozenset("是为的在于须需要应当可以不得能会有将被由用则每个都了过")


@dataclass(frozen=True, slots=True)
class Measure:
    """A quantity from `low` to `high` of one dimension; bound: -1 at least, 1 at most, 0 neither; rate: the time in which
    it comes about ("40 euros a year")."""

    quantity: Quantity
    dimension: str
    low: Decimal
    high: Decimal
    bound: int
    rate: str = ""


@dataclass(frozen=True, slots=True)
class Token:
    """A word of a statement. kind: article, preposition, verb (an auxiliary), small, quantity or name (anything else);
    term: what names are compared by."""

    text: str
    kind: str
    term: str = ""
    capital: bool = False


@dataclass(frozen=True, slots=True)
class Stated:
    """What a statement says. Its `shape` is read when it is wanted."""

    whole: str
    language: str
    text: str  # its words, folded
    words: frozenset[str]
    about: frozenset[str]  # terms without quantities, measures and denials
    quantities: tuple[Quantity, ...]
    measures: tuple[Measure, ...]
    conditions: tuple[Measure, ...]  # what is measured to say of whom the rest is said
    dates: tuple[Quantity, ...]
    denies: bool
    free: bool  # costs nothing
    of_age: bool

    @property
    def limited(self) -> bool:
        return _limited(self.whole)

    @property
    def years(self) -> frozenset[str]:
        return frozenset(q.date[:4] for q in self.dates if q.kind == "date" and q.date[:4].isdigit())

    @property
    def shape(self) -> Shape:
        return _shape(self.whole, self.language)


@dataclass(frozen=True, slots=True)
class Shape:
    """How a statement is built. clause: tokens before its verb, or before its first quantity where no verb is known."""

    tokens: tuple[Token, ...]
    names: frozenset[str]  # terms of the names among them
    labels: frozenset[tuple[str, str]]  # "hall A", "form 5"
    times: frozenset[str]  # days of the week, months and seasons
    clause: int
    verb: bool


@lru_cache(maxsize=4096)
def stated(text: str, language: str = "none") -> Stated:
    """A statement, read once."""
    text = text[:MAX_CHARS]
    found = tuple(quantities(text))
    denials = _denials(text)
    told = [q for q in found if q.kind == "number" and q.value is not None]
    told = [q for q in told if q.unit or not _labelled(text, q)]
    measures = [(_measure(text, one), _conditional(text, one)) for one in told]
    plain = tuple(measure for measure, conditional in measures if not conditional)
    # Where nothing else is measured, it is no condition: "the tower is over 60 m tall".
    conditions = tuple(measure for measure, conditional in measures if conditional) if plain else ()
    folded = _FOLDED.findall(text.casefold())
    words_held = frozenset(folded)
    return Stated(
        whole=text,
        language=language,
        text=" ".join(folded),
        words=words_held,
        about=_about(text, found, denials, language),
        quantities=found,
        measures=plain or tuple(measure for measure, _ in measures) or _every(text),
        conditions=conditions,
        dates=tuple(q for q in found if q.kind != "number"),
        denies=len(denials) % 2 == 1,
        free=not measures and not _FREE.isdisjoint(words_held),
        of_age=not _YEARS_OLD.isdisjoint(words_held),
    )


@lru_cache(maxsize=4096)
def _limited(text: str) -> bool:
    return _LIMITS.search(text) is not None


@lru_cache(maxsize=4096)
def _shape(text: str, language: str) -> Shape:
    tokens, labels = _tokens(text, quantities(text), _denials(text), language)
    clause = next((at for at, one in enumerate(tokens) if one.kind in ("verb", "quantity")), len(tokens))
    return Shape(
        tokens=tuple(tokens[:MAX_TOKENS]),
        names=frozenset(token.term for token in tokens[:MAX_TOKENS] if token.kind == "name"),
        labels=frozenset(labels),
        times=frozenset(_TIMES[token.text] for token in tokens if token.text in _TIMES),
        clause=min(clause, MAX_TOKENS),
        verb=clause < len(tokens) and tokens[clause].kind == "verb",
    )


def _denials(text: str) -> list[tuple[int, int]]:
    harmless = [(match.start(), match.end()) for match in _NO_DENIAL.finditer(text)]
    return [
        (start, end)
        for _, start, end in negations(text)
        if not any(first <= start and end <= last for first, last in harmless)
    ]


def _labelled(text: str, quantity: Quantity) -> bool:
    """Whether a bare number is the name of one thing of a kind: "form 5", "weekday 3"."""
    if quantity.kind != "number" or quantity.unit:
        return False
    before = _KIND.search(text, max(0, quantity.start - 40), quantity.start)
    return before is not None and before[1].casefold() not in _NO_KIND


def _conditional(text: str, quantity: Quantity) -> bool:
    return _CONDITION.search(text[max(0, quantity.start - 20) : quantity.start]) is not None


def _every(text: str) -> tuple[Measure, ...]:
    """How often, where that is said without a number."""
    found = _EVERY.search(text)
    if found is None:
        return ()
    word = (found[1] or found[2]).casefold()
    unit = _ADVERBS.get(word, word)
    one = quantities("3 months" if unit == "quarter" else f"1 {unit}")
    return tuple(_measure("", quantity) for quantity in one if quantity.kind == "number")


def _measure(text: str, quantity: Quantity) -> Measure:
    before = text[max(0, quantity.start - 40) : quantity.start]
    bound = -1 if _MINIMUM.search(before) else 1 if _MAXIMUM.search(before) else 0
    dimension, low, high = span(quantity)
    rate = _RATE.match(text, quantity.end)
    return Measure(quantity, dimension, low, high, bound, _PERIODS[rate[1].casefold()] if rate else "")


@lru_cache(maxsize=16)
def measure_terms(language: str) -> frozenset[str]:
    """What measures, and so says nothing of what is measured."""
    return frozenset(term for word in _MEASURES for term in terms(word, language))


def _about(
    text: str, found: Sequence[Quantity], denials: Sequence[tuple[int, int]], language: str
) -> frozenset[str]:
    chars = list(text)
    # What is counted is spoken of; a unit is not.
    masked = [
        (one.start, one.start + len(one.number) if one.unit.startswith("count:") else one.end)
        for one in found
    ]
    for start, end in [*masked, *denials]:
        chars[start:end] = " " * (end - start)
    return frozenset(terms("".join(chars), language)) - measure_terms(language)


def _tokens(
    text: str, found: Sequence[Quantity], denials: Sequence[tuple[int, int]], language: str
) -> tuple[list[Token], list[tuple[str, str]]]:
    """The words in order, quantities as one token each, denials left out; and the labels: what names one thing of a
    kind, by a number or a letter behind the kind's name."""
    by_start: dict[int, str] = {}
    for term, start, _ in term_spans(text, language):
        by_start.setdefault(start, term)
    measures = measure_terms(language)
    denied = dict(denials)
    labels: list[tuple[str, str]] = []
    out: list[Token] = []
    place = 0
    for word, start, end in words(text):
        while place < len(found) and found[place].end <= start:
            place += 1
        if place < len(found) and start < found[place].end and end > found[place].start:
            if not out or out[-1].kind != "quantity" or out[-1].term != str(found[place].start):
                quantity = found[place]
                if out and out[-1].term and _labelled(text, quantity):
                    labels.append((out[-1].term, quantity.number))
                out.append(Token("#", "quantity", str(quantity.start)))
            continue
        if start in denied:
            continue
        lower = word.casefold()
        if _DENSE.match(word):
            out += [Token(char, "small" if char in _DENSE_SMALL else "name", char) for char in word]
            continue
        single = len(word) == 1 and word.isupper() and bool(out)
        if single and out[-1].kind == "name" and out[-1].term:
            labels.append((out[-1].term, lower))
            continue
        term = by_start.get(start, "")
        if lower in _VERBS:
            kind = "verb"
        elif lower in _ARTICLES:
            kind = "article"
        elif lower in _PREPOSITIONS:
            kind = "preposition"
        elif not term or term in measures:
            kind = "small"
        else:
            kind = "name"
        out.append(Token(lower, kind, term, word[:1].isupper()))
    return out, labels
