"""The fixed phrases around answers, by language. What documents say stands in their own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

ENGLISH: Final[Mapping[str, str]] = {
    "why": "Why",
    "how": "How",
    "source": "Source",
    "sources": "Sources",
    "missing": "Missing",
    "page": "page",
    "line": "line",
    "lines": "lines",
    "version": "version",
    "asked of": "asked of",
    "everything": "the whole scope",
    "settled": "settled",
    "supported": "supported by a summary",
    "disputed": "disputed",
    "partial": "a part of the answer",
    "unsettled": "not settled",
    "failed": "failed",
    "nothing": "Nothing found settles the question.",
    "disagree": "The sources disagree: another answer contradicts this one.",
    "specialist": "A specialist has to decide this.",
    "held back": "{n} more ranked answers held back",
    "held back one": "1 more ranked answer held back",
    "correction": "Correction",
    "corrected": "by {by}, {at}",
    "nothing settles": "nothing settles it",
    "no answers": "There are no answers yet.",
    "from a summary": "from a summary",
}
GERMAN: Final[Mapping[str, str]] = {
    "why": "Warum",
    "how": "Wie",
    "source": "Quelle",
    "sources": "Quellen",
    "missing": "Es fehlt",
    "page": "Seite",
    "line": "Zeile",
    "lines": "Zeilen",
    "version": "Version",
    "asked of": "gefragt an",
    "everything": "den ganzen Bestand",
    "settled": "belegt",
    "supported": "belegt durch eine Zusammenfassung",
    "disputed": "strittig",
    "partial": "ein Teil der Antwort",
    "unsettled": "nicht geklärt",
    "failed": "fehlgeschlagen",
    "nothing": "Nichts Gefundenes klärt die Frage.",
    "disagree": "Die Quellen sind sich nicht einig: eine andere Antwort widerspricht dieser.",
    "specialist": "Das muss eine Fachperson entscheiden.",
    "held back": "{n} weitere Antworten zurückgehalten",
    "held back one": "1 weitere Antwort zurückgehalten",
    "correction": "Berichtigung",
    "corrected": "von {by}, {at}",
    "nothing settles": "nichts klärt es",
    "no answers": "Es gibt noch keine Antworten.",
    "from a summary": "aus einer Zusammenfassung",
}
LANGUAGES: Final = {"english": ENGLISH, "german": GERMAN}


def of(language: str) -> Mapping[str, str]:
    return LANGUAGES.get(language, ENGLISH)
