"""How well each passage of a node meets a question: weighted words, saturated, with what stands around the passage."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from tq.text.facts import names, negations
from tq.text.passages import FRONT_LINES, Passage
from tq.text.quantities import Quantity, quantities
from tq.text.question import Question, listed
from tq.text.synonyms import kin
from tq.text.tokens import terms

NEAR = (0.3, 0.15)
"""Credit for a term in the passage next to this one, and in the one behind that."""
CONTEXT = 0.4
"""Credit for a term of the headings above; a table's row says little without its header, so there it is ROW_CONTEXT."""
ROW_CONTEXT = 0.8
ALIKE = 0.55
"""Credit for a word that is only alike: the same beginning, or one a part of the other."""
SYNONYM = 0.3
"""Credit for another everyday word of the same meaning."""
SATURATION = 4.0
LENGTH = 0.4
"""BM25's k and b."""
KIND = 0.05
"""What it is worth that a passage holds a date where "when" is asked, a number for "how many", and so on."""
ROWS = 0.08
"""What it is worth to be a row of figures where something has to be worked out."""
FRONT = 1.0
"""What it is worth to stand at the very top of a document where its title or its date is asked for."""
USUAL = 160
"""Characters of a usual passage; one measure for all nodes, or their answers could not be ranked beside each other."""
SURE = 2.6
"""Weight of evidence below which a passage is no answer; see :attr:`Match.sure`."""
TALK = 1.0
"""Weight of evidence added to a turn of a talk: what is asked of a talk is seldom asked in the words of one turn."""
LONG = 0.5
"""Weight of evidence taken from a long passage, times the logarithm of its length in usual ones: it holds more words,
and so more of the question's, by chance."""
RAREST = 6.0
"""Weight (idf) beyond which rarity proves nothing more."""
HALF = 0.5
"""The weight at which fit is a half."""
LINE_LIMIT = 5
"""Lines of one quote, at most."""
_SCORED = 6_000  # characters of one passage that are read
_PLACE = re.compile(r"\b(?:in|at|near|from|to|into|on|bei|aus|nach|à|en|в)\s+(?:the\s+)?[A-ZÄÖÜА-Я]")


@dataclass(frozen=True, slots=True)
class Match:
    """fit: 0 to 1, how directly the passage meets the question, for ranking.

    reach: share of the question's weight in the passage and around it, 0 to 1. sure: weight of the evidence for this
    being an answer at all: the shares of its words around the passage, in it and in it as they stand, plus the logarithm
    of the absolute weight, since six words of eight found together mean more than two of three. held: the question's
    terms in the passage itself.
    """

    index: int
    fit: float
    reach: float
    sure: float
    held: tuple[str, ...]


def alike(a: str, b: str) -> bool:
    """Whether two different terms are likely forms of one word: "compet" and "competitor", a part of a compound."""
    if len(a) > len(b):
        a, b = b, a
    if len(a) < 5 or not a[0].isalpha():
        return False
    if a in b:
        return True
    same = 0
    for x, y in zip(a, b, strict=False):
        if x != y:
            break
        same += 1
    if same >= 5 and same >= 0.7 * len(b):
        return True
    # One letter more or another one: "favor" and "favour", a slip of the pen. Never in numbers.
    if same == 0 or len(b) - len(a) > 1 or any(c.isdigit() for c in b):
        return False
    if len(a) == len(b):
        return len(a) >= 6 and a[same + 1 :] == b[same + 1 :]
    return a[same:] == b[same + 1 :]


class Matcher:
    """Scores passages against one question. Remembers what it saw of words, so one serves a whole node."""

    def __init__(self, question: Question) -> None:
        self._question = question
        self._kin: dict[str, tuple[tuple[str, float], ...]] = {}
        self._synonyms: dict[str, list[str]] = {}
        for own in question.weights:
            for other in kin(own, question.language):
                self._synonyms.setdefault(other, []).append(own)
        if question.front:
            # A lease calls itself a lease where the question says contract.
            documents = listed("document", question.language)
            for own in documents & question.weights.keys():
                for other in sorted(documents - question.weights.keys()):
                    self._synonyms.setdefault(other, []).append(own)
        self._contexts: dict[str, dict[str, float]] = {}
        self._denies = bool(negations(question.text))
        # A word that is one in a million lines proves no more than one in some hundreds: by chance alone, a long
        # document has all sorts of words side by side.
        self._scale = (
            min(1.0, RAREST / max(question.weights.values(), default=RAREST)) if question.total else 1.0
        )
        self._own_numbers = {quantity.number for quantity in question.quantities}

    def credit(self, text: str) -> dict[str, float]:
        """Each question term that ``text`` holds, with how often, a word that is only alike counting less."""
        credit: dict[str, float] = {}
        for term in terms(text[:_SCORED], self._question.language):
            for own, value in self._matching(term):
                credit[own] = credit.get(own, 0.0) + value
        return credit

    def _matching(self, term: str) -> tuple[tuple[str, float], ...]:
        known = self._kin.get(term)
        if known is None:
            found: dict[str, float] = {}
            if term in self._question.weights:
                found[term] = 1.0
            else:
                for own in self._synonyms.get(term, ()):
                    found[own] = SYNONYM
                for own in self._question.weights:
                    # Most pairs share neither the first letter nor a part: not worth the call.
                    if (own[:1] == term[:1] or own in term or term in own) and alike(own, term):
                        found[own] = ALIKE
            known = self._kin[term] = tuple(found.items())
        return known

    def share(self, credit: dict[str, float]) -> float:
        """Share of the question's weight that a credit covers, each term counted once, 0 to 1; 0 of a question
        without terms ("?")."""
        if not self._question.total:
            return 0.0
        weights = self._question.weights
        return sum(weights[term] * min(1.0, value) for term, value in credit.items()) / self._question.total

    def matches(self, passages: Sequence[Passage]) -> list[Match]:
        """Every passage that holds a term of the question, best first."""
        question = self._question
        if not question.total:
            return []
        own = [self.credit(passage.text) for passage in passages]
        sizes = [len(passage.text) for passage in passages]
        out = [
            self._match(index, passages, own, 1 - LENGTH + LENGTH * (sizes[index] + 40) / (USUAL + 40))
            for index in range(len(passages))
            if own[index]
        ]
        out.sort(key=lambda match: (-match.fit, match.index))
        return out

    def _match(
        self, index: int, passages: Sequence[Passage], own: Sequence[dict[str, float]], length: float
    ) -> Match:
        question, passage = self._question, passages[index]
        weights, total = question.weights, question.total
        amount = dict(own[index])
        for distance, share in enumerate(NEAR, 1):
            for other in (index - distance, index + distance):
                if 0 <= other < len(passages):
                    for term, value in own[other].items():
                        amount[term] = amount.get(term, 0.0) + value * share
        above = ROW_CONTEXT if passage.kind == "row" else CONTEXT
        for text in passage.context:
            for term, value in self._context(text).items():
                amount[term] = amount.get(term, 0.0) + min(1.0, value) * above
        covered, reach = self.share(own[index]), self.share(amount)
        damp = SATURATION * length
        often = (
            sum(weights[term] * value * (SATURATION + 1) / (value + damp) for term, value in amount.items())
            / total
        )
        fit = 0.1 * covered + 0.1 * reach + 0.6 * often + 0.08 * self._paired(passage)
        if question.kinds:
            fit += KIND if self._kind_met(passage) else -KIND
        if question.computes and passage.kind == "row":
            fit += ROWS
        front = self._front(passage)
        if front:
            fit += FRONT * front
        elif passage.kind in ("heading", "header"):
            # They name what follows and state nothing.
            fit *= 0.65
        exact = sum(weights[term] for term, value in own[index].items() if value >= 1) / total
        sure = reach + 0.5 * covered + exact + math.log1p(reach * total * self._scale)
        sure += front
        sure -= LONG * math.log(max(1.0, len(passage.text) / USUAL))
        if passage.speaker:
            sure += TALK
        if self._denies and not negations(passage.text[:_SCORED]):
            sure -= 2.0
            fit -= 0.1
        fit = max(0.0, fit)
        return Match(index, fit / (fit + HALF), reach, sure, tuple(own[index]))

    def _front(self, passage: Passage) -> float:
        """How near the top of the document, 0 to 1, where what it says of itself is asked for and may stand here."""
        question = self._question
        if not question.front or passage.line > FRONT_LINES:
            return 0.0
        if question.front == "imprint" and question.kinds and not self._kind_met(passage):
            return 0.0
        return 1 - (passage.line - 1) / FRONT_LINES

    def _context(self, text: str) -> dict[str, float]:
        if not text:
            return {}
        if text not in self._contexts:
            self._contexts[text] = self.credit(text)
        return self._contexts[text]

    def _paired(self, passage: Passage) -> float:
        """Share of the question's neighbouring terms that are neighbours here, too, or have one word between them."""
        pairs = self._question.pairs
        if not pairs:
            return 0.0
        found = terms(passage.text[:_SCORED], self._question.language)
        near = set(pairwise(found)) | set(zip(found, found[2:], strict=False))
        return len(pairs & near) / len(pairs)

    def _kind_met(self, passage: Passage) -> bool:
        fresh = [q for q in quantities(passage.text[:_SCORED]) if q.number not in self._own_numbers]
        return any(self._met(kind, passage, fresh) for kind in self._question.kinds)

    def _met(self, kind: str, passage: Passage, fresh: Sequence[Quantity]) -> bool:
        """Whether a passage holds what a question of this kind asks for, beyond what the question says itself."""
        dimensions = {quantity.dimension for quantity in fresh}
        if kind == "date":
            return bool(dimensions & {"date", "time", "months"})
        if kind == "percent":
            return "percent" in dimensions
        if kind == "duration":
            return bool(dimensions & {"date", "time", "months", "business days"})
        if kind == "money":
            return any(q.kind == "number" and (len(q.unit) == 3 or q.unit in ("", "percent")) for q in fresh)
        if kind == "number":
            return any(q.kind == "number" for q in fresh)
        if kind == "where" and _PLACE.search(passage.text):
            return True
        return bool(passage.speaker) or any(
            word[:1].isupper() and word not in self._question.names
            for name, _, _ in names(passage.text[:_SCORED])
            for word in name.split()
        )

    def grown(self, best: Match, passages: Sequence[Passage]) -> range:
        """The best passage with the neighbours that belong to the answer: at most three passages and five lines.

        A neighbour belongs to it when it adds words of the question, or when the passages are too short to be
        understood alone (turns of a talk, rows of a table).
        """
        last = best.index
        first = self._headed(last, passages)
        held = self.credit(passages[best.index].text)
        for _ in range(2):
            options = [at for at in (last + 1, first - 1) if 0 <= at < len(passages)]
            options = [at for at in options if self._belongs(at, first, last, held, passages)]
            if not options:
                break
            gain = {at: self._gain(held, passages[at]) for at in options}
            at = max(options, key=lambda option: (gain[option], option > last))
            first, last = min(first, at), max(last, at)
            for term, value in self.credit(passages[at].text).items():
                held[term] = held.get(term, 0.0) + value
        return range(first, last + 1)

    def _headed(self, at: int, passages: Sequence[Passage]) -> int:
        """Where the citation of a table's row begins: at the rows that name its columns, if they are near enough."""
        if passages[at].kind != "row":
            return at
        end = passages[at].parts[-1][0]
        near = [
            other
            for other in range(max(0, at - LINE_LIMIT), at)
            if passages[other].kind == "header"
            and passages[other].group == passages[at].group
            and end - passages[other].parts[0][0] < LINE_LIMIT
        ]
        return min(near, default=at)

    def _gain(self, held: dict[str, float], passage: Passage) -> float:
        new = {term: value for term, value in self.credit(passage.text).items() if term not in held}
        return self.share(new)

    def _belongs(
        self, at: int, first: int, last: int, held: dict[str, float], passages: Sequence[Passage]
    ) -> bool:
        start = passages[min(at, first)].parts[0][0]
        end = passages[max(at, last)].parts[-1][0]
        if end - start >= LINE_LIMIT or passages[at].kind == "heading":
            return False
        edge = passages[last if at > last else first]
        if passages[at].group != edge.group:
            return False
        short = len(edge.text) <= 160 and len(passages[at].text) <= 400
        if short and (edge.speaker or edge.kind in ("row", "header")):
            return True
        return self._gain(held, passages[at]) >= 0.08
