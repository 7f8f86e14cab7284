"""What a question asks for: its weighted terms, the kind of answer, and how well a passage meets it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

from tq.text.facts import names
from tq.text.quantities import Quantity, quantities
from tq.text.stopwords import word_set
from tq.text.tokens import asked_terms, terms

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
            r"\bwhen\b|\b(?:what|which|in what|in which) (?:\w+ )?(?:year|date|day|month|century|decade)\b|\bwann\b|"
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
# Words that ask and say nothing about the subject, beyond the stop words.
_ASKING = {
    "english": [
        "much",
        "many",
        "long",
        "often",
        "kind",
        "type",
        "sort",
        "example",
        "mean",
        "happen",
        "exist",
        "please",
        "tell",
        "explain",
        "describe",
        "summarize",
        "summarise",
        "outline",
        "give",
        "find",
        "say",
        "name",
        "list",
        "discuss",
        "think",
        "main",
    ],
    "german": ["viel", "viele", "lange", "art", "nennen", "bedeuten", "heißen"],
}
# What is to be worked out from the figures, not what the figures are about.
_COMPUTING = {
    "english": word_set(
        "average mean difference change percentage percent ratio total sum respective respectively value values amount "
        "increase decrease number between"
    ),
    "german": word_set("durchschnitt differenz unterschied änderung prozent verhältnis summe anzahl jeweils"),
}
_DENSE_ASKING = (
    "什么",
    "多少",
    "哪些",
    "哪个",
    "哪里",
    "何时",
    "为什",
    "怎么",
    "如何",
    "是什",
    "么是",
    "哪一",
    "几个",
    "的是",
    "有什",
    "谁是",
    "了什",
    "么样",
    "是谁",
)
_DENSE_PAIR = re.compile("[\u3040-\u30ff\u3400-\u9fff]{2}")
MAX_QUESTION = 4_000
"""Characters of a question that are read; a longer one is mostly pasted text."""


@dataclass(frozen=True, slots=True)
class Question:
    """weights: term → weight (idf), the asking words lowered. kinds: of answer asked for, none if any will do.
    pairs: neighbouring terms. quantities: the question's own, which an answer cannot consist of."""

    text: str
    language: str
    weights: dict[str, float]
    total: float
    kinds: tuple[str, ...]
    pairs: frozenset[tuple[str, str]]
    quantities: tuple[Quantity, ...]
    names: frozenset[str]
    computes: bool = False


def question(text: str, idf: Mapping[str, float], language: str = "none") -> Question:
    """Read a question. ``idf`` is the line index's; without it every term weighs the same."""
    text = text[:MAX_QUESTION]
    found = asked_terms(text, language)
    asking = {term for word in _ASKING.get(language, ()) for term in terms(word, language)}
    computing = {term for word in _COMPUTING.get(language, ()) for term in terms(word, language)}
    ceiling = max(idf.values(), default=1.0)
    weights: dict[str, float] = {}
    for term in found:
        weight = idf.get(term, ceiling)
        if term in asking or term in _DENSE_ASKING:
            weight *= 0.25
        elif weight >= 0.98 * ceiling and _DENSE_PAIR.fullmatch(term):
            # Two characters that stand side by side nowhere are more likely the seam of two words than a word.
            weight *= 0.4
        elif term in computing:
            weight *= 0.4
        weights[term] = max(weight, 0.0)
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
    )
