"""What a question asks for: its weighted terms, the kind of answer, and how well a passage meets it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Set
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from tq.text.facts import names
from tq.text.quantities import Quantity, quantities
from tq.text.tokens import asked_terms, term_spans, terms
from tq.text.wording import DENSE_ASKING, LISTS

# The kind of answer a question word asks for, in the languages of the tests and their neighbours.
_KINDS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (kind, re.compile(pattern, re.IGNORECASE))
    for kind, pattern in (
        (
            "percent",
            r"\b(?:what|which) (?:percent(?:age)?|share|proportion)|how many percent|wie viel prozent|百分之|百分比",
        ),
        (
            "duration",
            r"\bhow (?:long|soon|often|old)\b|\bhow many (?:\w+ )?(?:days|weeks|months|years|hours|minutes|seconds)\b|"
            r"\bwie lange\b|\bwie alt\b|combien de temps|cuánto tiempo|多久|多长时间|几年|几天",
        ),
        (
            "date",
            r"\bwhen\b|\bwhat (?:is|was|are|were) the (?:\w+ )?dates?\b|"
            r"\b(?:what|which|in what|in which) (?:\w+ )?(?:year|date|day|month|century|decade)\b|\bwann\b|"
            r"\b(?:welche[mnrs]?) (?:jahr|datum|tag|monat|jahrhundert)|\bquand\b|\bcuándo\b|\bwanneer\b|когда|"
            r"什么时候|何时|哪一年|哪年|几月|متى|कब",
        ),
        (
            "money",
            r"\bhow much (?:\w+ ){0,2}(?:cost|pay|paid|fee|money|charge)|\bwhat (?:is|was|are|were) the (?:\w+ ){0,3}"
            r"(?:cost|price|fee|amount|salary|revenue|charge)s?\b|\bwie teuer\b|多少钱",
        ),
        (
            "number",
            r"\bhow (?:much|many|far|large|big|high|tall|deep|fast|wide|heavy|great|close|strong)\b|"
            r"\b(?:what|which) (?:is|was|are|were)? ?(?:the )?(?:\w+ ){0,2}(?:number|amount|average|"
            r"total|population|size|rate|"
            r"ratio|change|age range)\b|\bwie (?:viele?|hoch|groß|weit|schwer|schnell)\b|\bcombien\b|\bcuánt[oa]s?\b|"
            r"\bhoeveel\b|сколько|多少|几个|几名|كم|कितन",
        ),
        (
            "who",
            r"\bwho(?:m|se)?\b|\b(?:what|which) (?:person|people|man|woman|king|company|companies|organi[sz]ation|team|"
            r"group|party|parties)\b|\bwer\b|\bwem\b|\bwen\b|\bqui\b|\bquién(?:es)?\b|\bwie (?:heißt|"
            r"is de)\b|кто|谁|من هو|कौन",
        ),
        (
            "where",
            r"\bwhere\b|\b(?:what|which|in what|in which) (?:\w+ )?(?:city|country|state|place|town|region|location)\b|"
            r"\bwo(?:hin|her)?\b|\bdónde\b|\boù\b|\bwaar\b|где|哪里|何处|在哪|哪个国家|哪个城市|أين|कहाँ",
        ),
    )
)
_DENSE_PAIR = re.compile("[\u3040-\u30ff\u3400-\u9fff]{2}")
COMMON_WEIGHT = 2.0
"""Weight of one of the commonest words, at most."""
MAX_QUESTION = 4_000
"""Characters of a question that are read; a longer one is mostly pasted text."""


@dataclass(frozen=True, slots=True)
class Question:
    """weights: term → weight (idf), the asking words lowered. kinds: of answer asked for, none if any will do.
    pairs: neighbouring terms. quantities: the question's own, which an answer cannot consist of. front: "title" or
    "imprint" where it asks for what a document's first page says of the document itself."""

    text: str
    language: str
    weights: dict[str, float]
    total: float
    kinds: tuple[str, ...]
    pairs: frozenset[tuple[str, str]]
    quantities: tuple[Quantity, ...]
    names: frozenset[str]
    computes: bool = False
    front: str = ""


def question(text: str, idf: Mapping[str, float], language: str = "none") -> Question:
    """Read a question. ``idf`` is the line index's; without it every term weighs the same."""
    text = text[:MAX_QUESTION]
    found = asked_terms(text, language)
    asking, computing, common = (listed(name, language) for name in ("asking", "computing", "common"))
    ceiling = max(idf.values(), default=1.0)
    weights: dict[str, float] = {}
    for term in found:
        weight = idf.get(term, ceiling)
        if term in asking or term in DENSE_ASKING:
            weight *= 0.25
        elif weight >= 0.98 * ceiling and _DENSE_PAIR.fullmatch(term):
            # Two characters that stand side by side nowhere are more likely the seam of two words than a word.
            weight *= 0.4
        elif term in computing:
            weight *= 0.4
        elif term in common:
            weight = min(weight, COMMON_WEIGHT)
        weights[term] = max(weight, 0.0)
    for word in _compounds(text, language):
        shared = max(weights.get(term, 0.0) for term in word) / len(word)
        weights |= {term: min(weights[term], shared) for term in word if term in weights}
    if not any(weights.values()):
        weights = dict.fromkeys(weights, 1.0)
    kinds = tuple(kind for kind, pattern in _KINDS if pattern.search(text))
    pairs = frozenset((a, b) for a, b in pairwise(found) if a != b)
    return Question(
        text,
        language,
        weights,
        sum(weights.values()),
        kinds,
        pairs,
        tuple(quantities(text)),
        frozenset(word for name, _, _ in names(text) for word in name.split()),
        bool(computing & weights.keys()) and bool(kinds),
        _front(weights.keys(), language),
    )


@lru_cache(maxsize=64)
def listed(name: str, language: str) -> frozenset[str]:
    """The terms of a list of words of a language."""
    return frozenset(term for word in LISTS[name].get(language, ()) for term in terms(word, language))


def _front(found: Set[str], language: str) -> str:
    """What of the first page a question asks for, if it names the document by its kind and nothing else."""
    document, title, imprint = (listed(name, language) for name in ("document", "title", "imprint"))
    if not found & document or not found <= document | title | imprint:
        return ""
    return "imprint" if found & imprint else "title" if found & title else ""


def _compounds(text: str, language: str) -> list[list[str]]:
    """The terms of each word that has several ("covid-19"): together they weigh what one word weighs. Runs of a script
    without spaces are not words."""
    spans: dict[int, list[str]] = {}
    for term, start, _ in term_spans(text, language):
        spans.setdefault(start, []).append(term)
    return [found for found in spans.values() if len(found) > 1 and not _DENSE_PAIR.fullmatch(found[0])]
