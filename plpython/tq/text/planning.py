"""A question split by rule into its subjects and each into what, why and how, and what a plan may say at all: the
question's own words, and those of a closed list that speak of reading and not of any matter."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from tq.text.match import alike
from tq.text.question import MAX_QUESTION
from tq.text.sentences import sentences
from tq.text.stopwords import STOP_WORDS, word_set
from tq.text.tokens import detect_language, term_spans, terms, words

Part = Literal["what", "why", "how"]
Method = Literal["lookup", "comparison", "calculation", "chain"]

MAX_SUBJECTS = 8
FRAME = word_set(
    "answer answers ask asked asks bear bears below both calculate compare compared comparison count each "
    "evidence explain explains figure figures find first give gives given line lines list look material next "
    "one order passage passages place places prove proves question read reason reasons rule rules say says "
    "show shows side sides source sources stand stands state stated statement states step steps text then "
    "whether words work"
)
"""Words that a plan may use beside those of the question."""
_GERMAN_FRAME = word_set(
    "antwort ausrechnen beantworten begründen belegen beide finden frage fragen fragt geben gründe grund nachschlagen "
    "nächsten nacheinander quellen sagen schritt schritte seite seiten stelle stellen stehen text vergleichen worte zahlen "
    "zeile zeilen"
)
_ALLOWED = FRAME | _GERMAN_FRAME | frozenset().union(*STOP_WORDS.values())
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
_COMPUTE = re.compile(
    r"\b(?:(?:what|which|how much|how many|by how much) .*\b(?:in total|altogether|combined|on average)|"
    r"(?:the )?(?:total|sum|average|mean|difference|ratio|percentage change) (?:of|between|in)|"
    r"how (?:much|many) (?:more|less|fewer|longer|higher|lower|cheaper)|"
    r"(?:summe|durchschnitt|differenz|unterschied) (?:von|der|des|zwischen)|insgesamt|"
    r"wie viel (?:mehr|weniger|länger|höher))\b",
    re.IGNORECASE,
)
_COMPARES = re.compile(
    r"\b(?:compare[ds]?|comparison|differ(?:s|ed|ence|ences)?|distinguish(?:es)?|versus|vs|vergleich\w*|"
    r"unterschied\w*|unterscheide\w*)\b",
    re.IGNORECASE,
)
_BACK = re.compile(
    r"\b(?:it|its|they|them|their|this|that|these|those|he|him|his|she|her|er|sie|es|ihn|ihm|ihr|ihre|dies|dieser|"
    r"diese|dieses|das)\b",
    re.IGNORECASE,
)
_OF = re.compile(r"\s(?:of|in|at|on|for|from|von|in|bei|für)\s", re.IGNORECASE)
_THAT = re.compile(
    r"^(?:that|those|the ones?|dem|der|denen|derjenigen)\s+(?=(?P<prep>of|in|at|on|for|from|von|bei|für)\s)",
    re.IGNORECASE,
)
# The why (by the part that is asked for) and the how (by method) of a subject, where the question does not word them.
_WORDING: dict[str, dict[str, str]] = {
    "english": {
        "what": "Which lines answer “{}”?",
        "why": "Which lines give the reasons asked for in “{}”?",
        "how": "Which lines give the steps asked for in “{}”?",
        "lookup": "Look up the lines that answer “{}”.",
        "comparison": "Look up “{}”, then compare both sides.",
        "calculation": "Look up the figures of “{}”, then work out the answer.",
        "chain": "Look up “{}” as one step, then the next.",
    },
    "german": {
        "what": "Welche Zeilen beantworten „{}“?",
        "why": "Welche Zeilen geben die Gründe, nach denen „{}“ fragt?",
        "how": "Welche Zeilen geben die Schritte, nach denen „{}“ fragt?",
        "lookup": "Die Zeilen nachschlagen, die „{}“ beantworten.",
        "comparison": "„{}“ nachschlagen, dann beide Seiten vergleichen.",
        "calculation": "Die Zahlen zu „{}“ nachschlagen, dann die Antwort ausrechnen.",
        "chain": "„{}“ als einen Schritt nachschlagen, dann den nächsten.",
    },
}


@dataclass(frozen=True, slots=True)
class Subject:
    """One subject. The what is a verbatim stretch of the question, and so is a why or how that it asks for beside it.
    asks: the parts that the question itself asks for."""

    what: str
    why: str
    how: str
    asks: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Planned:
    """One to eight subjects; of a chain each follows from the one before."""

    method: Method
    subjects: list[Subject]


def _clean(text: str) -> str:
    return text.strip().strip(",;").strip()


def plan(question: str, language: str = "none") -> Planned:
    """The question's subjects and the method that leads to its answer."""
    text = " ".join(question[:MAX_QUESTION].split())
    if not text:
        return whole(question[:1] or "?", language)
    split: list[tuple[str, str, str]] = []
    chained = compared = False
    for one in _questions(text):
        clauses = _clauses(one, language)
        why = next((clause for clause in clauses if _WHY.search(clause)), "")
        how = next((clause for clause in clauses if _HOW.search(clause) and clause != why), "")
        whats = [clause for clause in clauses if clause not in (why, how)] or [one]
        # "What is the fee and why is it charged": one subject with its why, not two.
        for what in whats:
            sides = _sides(what, language)
            compared = compared or len(sides) > 1
            chained = chained or (bool(split) and len(sides) == 1 and bool(_BACK.search(what)))
            split += [(side, why, how) for side in sides]
    split = split[:MAX_SUBJECTS] or [(text, "", "")]
    method: Method = "lookup"
    if len(split) > 1 and chained:
        method = "chain"
    elif _COMPUTE.search(text):
        method = "calculation"
    elif compared and _COMPARES.search(text):
        method = "comparison"
    return Planned(method, [_subject(*parts, method, language) for parts in split])


def whole(question: str, language: str = "none") -> Planned:
    """The question as one subject."""
    text = " ".join(question[:MAX_QUESTION].split()) or "?"
    return Planned("lookup", [_subject(text, "", "", "lookup", language)])


def _subject(what: str, why: str, how: str, method: Method, language: str) -> Subject:
    asks: list[Part] = []
    if why in ("", what) and _WHY.search(what):
        asks.append("why")
        why = ""
    elif how in ("", what) and _HOW.search(what):
        asks.append("how")
        how = ""
    else:
        asks.append("what")
    asks += [part for part, own in (("why", why), ("how", how)) if own]  # type: ignore[misc]
    wording = _WORDING.get(language, _WORDING["english"])
    return Subject(
        what, why or wording[asks[0]].format(what), how or wording[method].format(what), tuple(asks)
    )


def added(part: str, question: str, language: str = "none") -> list[str]:
    """Words of a part of a plan that neither stand in the question, in any form, nor on the list."""
    if language == "none":
        language = detect_language(question)
    asked = set(terms(question, language))
    folded = question.casefold()
    found = []
    for term, start, end in term_spans(part, language):
        word = part[start:end]
        if term in asked or word.casefold() in _ALLOWED or word.casefold() in folded:
            continue
        # In a script without spaces, two characters side by side may be the seam of two words of the question.
        if len(term) == 2 and not term.isascii() and all(char in folded for char in term):
            continue
        if not any(alike(term, own) for own in asked):
            found.append(word)
    return list(dict.fromkeys(found))


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
    b = _with_head(a, b)
    tail = _TAIL.search(b)
    ending = tail[0] if tail and not _TAIL.search(a) else ""
    sides = [_clean(a + ending), b]
    if any(not terms(side, language) or len(side) > 200 for side in sides):
        return [text]
    return sides


def _with_head(a: str, b: str) -> str:
    """The second side with what the first says for both: "the notice of the policy and that of the handbook"."""
    of = _OF.search(a)
    if of is None or _OF.search(_THAT.sub("", b)):
        return b
    that = _THAT.match(b)
    if that is not None:
        return f"{a[: of.start()]} {b[that.start('prep') :]}"
    return b if len(b.split()) > 3 else a[: of.end()] + b
