"""A question split by rule into its subjects and each into what, why and how. No word is added that was not asked."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tq.text.question import MAX_QUESTION
from tq.text.sentences import sentences
from tq.text.stopwords import STOP_WORDS
from tq.text.tokens import terms, words

MAX_SUBJECTS = 8
_WHY = re.compile(
    r"\b(?:why|for what reason|what (?:is|was|are|were) the reasons?|warum|weshalb|wieso|pourquoi|por qué)\b|"
    r"为什么|为何|почему|لماذا|क्यों",
    re.IGNORECASE,
)
_HOW = re.compile(
    r"\bhow (?!much|many|long|often|old|far|large|big|high|soon|tall|deep)|\b(?:wie (?!viele?|lange|oft|alt|weit|hoch)|"
    r"comment|cómo)\b|如何|怎么|怎样|как(?=\s)|كيف|कैसे",
    re.IGNORECASE,
)
_ASKS = (
    r"(?:what|who|whom|whose|when|where|why|which|how|is|are|was|were|does|do|did|can|may|must|should|"
    r"was|wer|wem|wen|wann|wo|warum|welche[rsmn]?|wie|que|quel(?:le)?s?|qui|quand|où|pourquoi|comment)"
)
_TWO_CLAUSES = re.compile(rf"(?:,|;)?\s+(?:and|und|et|y)\s+(?={_ASKS}\b)", re.IGNORECASE)
_QUESTION_MARKS = "?？؟"
_COMPARE = re.compile(
    r"^(?P<before>(?:.*?\b)?(?:compare|comparison (?:of|between)|differences? between|differ(?:s|ed)? between|"
    r"distinguish(?:es)? between|vergleiche?|unterschiede? zwischen))\s+"
    r"(?P<a>.+?)\s+(?:and|with|to|versus|vs\.?|from|und|mit)\s+(?P<b>.+)$",
    re.IGNORECASE,
)
_VERSUS = re.compile(r"^(?P<a>.+?)\s+(?:versus|vs\.?)\s+(?P<b>.+)$", re.IGNORECASE)
_TAIL = re.compile(r"\s+(?:in|for|on|regarding|about|with respect to|of|during|bei|für)\s+.+$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Subject:
    """One subject. Each part is a verbatim stretch of the question; a part not asked for is the subject itself."""

    what: str
    why: str
    how: str


def _clean(text: str) -> str:
    return text.strip().strip(",;").strip()


def plan(question: str, language: str = "none") -> list[Subject]:
    """At least one subject, at most eight."""
    text = " ".join(question[:MAX_QUESTION].split())
    if not text:
        return [Subject(question[:1] or "?", question[:1] or "?", question[:1] or "?")]
    asked = _questions(text)
    subjects: list[Subject] = []
    for one in asked:
        clauses = _clauses(one, language)
        why = next((clause for clause in clauses if _WHY.search(clause)), "")
        how = next((clause for clause in clauses if _HOW.search(clause) and clause != why), "")
        whats = [clause for clause in clauses if clause not in (why, how)] or [one]
        # "What is the fee and why is it charged": one subject with its why, not two.
        for what in whats:
            for side in _sides(what, language):
                subjects.append(Subject(side, why or side, how or side))
    return subjects[:MAX_SUBJECTS] or [Subject(text, text, text)]


def _questions(text: str) -> list[str]:
    """The sentences that ask; what is only told around them stays with the first one."""
    found = [text[start:end] for start, end in sentences(text)]
    asking = [at for at, sentence in enumerate(found) if sentence[-1:] in _QUESTION_MARKS]
    if len(asking) < 2:
        return [text]
    out: list[str] = []
    told: list[str] = []
    for at, sentence in enumerate(found):
        if at in asking:
            out.append(" ".join([*told, sentence]))
            told = []
        else:
            told.append(sentence)
    return out


def _names_something(text: str, language: str) -> bool:
    """Whether a clause names anything; terms() gives the stop words back where there is nothing else."""
    stops = STOP_WORDS.get(language, frozenset())
    return any(word.casefold() not in stops for word, _, _ in words(text))


def _clauses(text: str, language: str) -> list[str]:
    """Two questions joined by "and": split only where each has a subject of its own."""
    cuts = [_clean(part) for part in _TWO_CLAUSES.split(text)]
    cuts = [part for part in cuts if part]
    if len(cuts) < 2:
        return [text]
    if not all(_names_something(part, language) for part in cuts):
        return [text]
    return cuts


def _sides(text: str, language: str) -> list[str]:
    """The two sides of a comparison, each with what they are compared in; else the text itself."""
    bare = text.rstrip(" ?？؟.")
    match = _COMPARE.match(bare) or _VERSUS.match(bare)
    if match is None:
        return [text]
    a, b = _clean(match["a"]), _clean(match["b"])
    tail = _TAIL.search(b)
    ending = tail[0] if tail and not _TAIL.search(a) else ""
    sides = [_clean(a + ending), b]
    if any(not terms(side, language) or len(side) > 200 for side in sides):
        return [text]
    return sides
