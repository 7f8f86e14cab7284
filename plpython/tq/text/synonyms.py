"""Everyday words that stand for one another, so that a question finds a line that says it in another word.

A short list of general English and German, of no trade in particular. Kin count less than the word itself.
"""

from __future__ import annotations

from functools import lru_cache

from tq.text.tokens import terms

_GROUPS: dict[str, tuple[str, ...]] = {
    "english": (
        "begin start commence initiate onset launch",
        "end finish expire terminate conclude expiration termination cease",
        "cancel terminate revoke rescind annul",
        "buy purchase acquire acquisition",
        "sell sold vend",
        "cost price fee charge",
        "pay payment paid remit remuneration compensate compensation",
        "allow permit authorize authorise may permission",
        "forbid prohibit ban restrict disallow restriction prohibition",
        "must required mandatory obligatory shall require",
        "contract agreement",
        "cap limit limitation ceiling maximum",
        "audit inspect inspection examine",
        "transfer assign assignment convey",
        "warranty guarantee",
        "liability liable responsible responsibility damages",
        "law legislation statute legal",
        "effective force date dated",
        "renew renewal extend extension",
        "illness disease sickness disorder",
        "doctor physician clinician",
        "drug medicine medication",
        "death die died mortality fatal kill",
        "child children kid infant",
        "cause reason lead led due result because",
        "increase rise grow growth rose raise gain",
        "decrease decline fall drop reduce reduction fell",
        "big large great huge",
        "small little minor tiny",
        "show demonstrate reveal indicate display",
        "use utilize employ usage",
        "help assist aid support",
        "make create produce build construct manufacture",
        "found establish founded establishment",
        "live reside inhabit residence dwell",
        "job work occupation employment position",
        "company firm corporation business",
        "notice notification notify inform",
        "think believe opinion view feel consider",
        "discuss talk discussion mention say",
        "suggest propose recommend suggestion proposal recommendation",
        "agree accept approve approval",
        "disagree object oppose reject refuse",
        "choose select decide decision pick choice",
        "problem issue difficulty trouble challenge",
        "method approach technique procedure way",
        "car vehicle automobile",
        "country nation state",
        "war battle conflict fight",
        "king ruler monarch emperor",
        "leader head chief lead",
        "city town",
        "name call title known",
        "get obtain receive gain",
        "keep retain maintain hold",
        "give provide supply offer grant",
        "happen occur take",
        "important significant key main major",
        "compete competitor competition competitive",
        "exclusive exclusivity sole solely",
        "percent percentage share proportion",
        "average mean",
        "location place site located",
        "spread transmit transmission propagate",
        "test trial experiment",
        "people person population human individual",
    ),
    "german": (
        "beginnen anfangen starten beginn anfang start",
        "enden beenden ende schluss",
        "kündigen kündigung absage absagen stornieren",
        "kaufen erwerben kauf erwerb",
        "kosten preis gebühr entgelt",
        "zahlen bezahlen zahlung",
        "erlauben dürfen gestatten erlaubt",
        "verbieten untersagen verboten",
        "vertrag vereinbarung",
        "krankheit erkrankung leiden",
        "arzt ärztin mediziner",
        "grund ursache",
        "wohnen leben",
        "firma unternehmen betrieb",
        "gründen gegründet gründung",
        "sterben tod gestorben",
        "auto fahrzeug wagen",
        "stadt ort",
        "name heißen genannt",
    ),
}


# A number in figures, in a word, as an ordinal and in Roman numerals.
_NUMBERS = tuple(
    f"{number} {words} {roman}"
    for number, (words, roman) in enumerate(
        zip(
            (
                *(
                    "one first 1st",
                    "two second 2nd twice",
                    "three third 3rd",
                    "four fourth 4th",
                    "five fifth 5th",
                ),
                *(
                    "six sixth 6th",
                    "seven seventh 7th",
                    "eight eighth 8th",
                    "nine ninth 9th",
                    "ten tenth 10th",
                ),
            ),
            ("", "ii", "iii", "iv", "", "vi", "vii", "viii", "ix", ""),
            strict=True,
        ),
        1,
    )
)


@lru_cache(maxsize=4)
def _kin(language: str) -> dict[str, tuple[str, ...]]:
    """Term → the terms that stand for it."""
    found: dict[str, set[str]] = {}
    groups = _GROUPS.get(language, ())
    if language == "english":
        groups = (*groups, *_NUMBERS)
    for group in groups:
        members = list(dict.fromkeys(term for word in group.split() for term in terms(word, language)))
        for member in members:
            found.setdefault(member, set()).update(other for other in members if other != member)
    return {term: tuple(sorted(others)) for term, others in found.items()}


def kin(term: str, language: str = "none") -> tuple[str, ...]:
    """Index terms that stand for ``term``, without itself; empty for most words and languages."""
    return _kin(language).get(term, ())
