"""From an accepted reply to a claim with verbatim quotes, and their last check against the stored lines."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from tq.ask import words
from tq.ask.records import Citation, Claim, Source, StoredLine, Visit
from tq.model.limits import Fit
from tq.model.tasks import AlsoReply, Read, ReadReply, unfounded
from tq.text.facts import missing_facts
from tq.text.sentences import pieces
from tq.text.tokens import terms

MAX_QUOTED_LINES = 40  # of one claim
SURE = (
    1.0  # from here on a claim stands by itself; a model that does not say how sure it is means what it says
)

Stored = Mapping[tuple[str, int], StoredLine]


def from_lines(visit: Visit, reply: AlsoReply) -> Claim:
    """A claim of a leaf: each quote stands in its line, which the task has checked."""
    quotes = sorted({(item.line, item.quote) for item in reply.how})
    return _claim(visit, reply, join(visit, quotes[:MAX_QUOTED_LINES], "line"))


def cited_ranges(task: Read, reply: ReadReply) -> list[tuple[str, int, int]]:
    """The bullets a reply cites, each with the lines it came from."""
    shown = {item.number: item for item in task.items}
    numbers = sorted({item.line for item in reply.how})
    return [(shown[number].text, shown[number].line_start, shown[number].line_end) for number in numbers]


def wanted_lines(visit: Visit, cited: Iterable[tuple[str, int, int]]) -> list[tuple[str, int]]:
    document = visit.route.source.id
    numbers = sorted({number for _, first, last in cited for number in range(first, last + 1)})
    return [(document, number) for number in numbers[:MAX_QUOTED_LINES]]


def from_bullets(
    visit: Visit,
    reply: ReadReply,
    cited: Sequence[tuple[str, int, int]],
    stored: Stored,
    fit: Fit,
) -> Claim:
    """A claim that rests on bullets, quoted by the lines they came from, whatever the model quoted."""
    document, language = visit.route.source.id, visit.route.source.language
    quotes: dict[int, str] = {}
    for text, first, last in cited:
        for number in range(first, last + 1):
            line = stored.get((document, number))
            if line is None or not line.text.strip() or number in quotes:
                continue
            if len(line.text) <= fit.piece_chars:
                quotes[number] = line.text
            elif text in line.text:
                quotes[number] = text
            else:
                quotes[number] = _nearest_piece(line.text, text, fit.piece_chars, language)
    return _claim(visit, reply.answers[0], join(visit, sorted(quotes.items()), "bullet"))


def _nearest_piece(line: str, bullet: str, size: int, language: str) -> str:
    sought = set(terms(bullet, language))
    spans = pieces(line, size)
    first, last = max(spans, key=lambda span: len(sought.intersection(terms(line[slice(*span)], language))))
    return line[first:last].strip()


def join(visit: Visit, quotes: Sequence[tuple[int, str]], kind: str) -> list[Citation]:
    """Quotes, ascending by line: those of adjacent lines become one citation, two of one line do not."""
    joined: list[tuple[int, int, str]] = []
    for number, quote in quotes:
        if joined and joined[-1][1] == number - 1:
            first, _, text = joined[-1]
            joined[-1] = (first, number, f"{text}\n{quote}")
        else:
            joined.append((number, number, quote))
    return [
        Citation(visit.route.source, first, last, text, visit.node.id, kind) for first, last, text in joined
    ]


def _claim(visit: Visit, reply: AlsoReply, citations: list[Citation]) -> Claim:
    source = visit.route.source
    quotes = "\n".join(citation.quote for citation in citations)
    what = words.clean(reply.what)
    reason = words.short(words.clean(reply.why), 400)
    # What is computed tells of terms. Another's may not bring in facts by the back door: they must stand in the quotes,
    # in the question, or in the names of where they stand. The task has asked for another one.
    aim = visit.route.aim
    frame = (aim.asked, source.row.name, *filter(None, (*visit.node.path, visit.node.title)))
    numbers = (citation.line_start for citation in citations)
    if reply.sure is not None or unfounded(reason, quotes, frame, numbers):
        reason = ""
    fit = reply.fit
    if fit is None:
        fit = _fit(source, aim.where, f"{what}\n{quotes}")
    fit = min(max(fit, 0.0), 1.0)
    return Claim(
        aim=aim,
        what=what,
        reason=reason,
        citations=citations,
        visits=[visit],
        fit=fit,
        met={aim.where: fit},
        sure=SURE if reply.sure is None else reply.sure,
    )


def _fit(source: Source, aim: int, text: str) -> float:
    """The share of the aim's terms, by rarity, that the claim and its quotes hold."""
    weights = source.trails[aim].terms
    held = set(terms(text, source.language))
    total = sum(weights.values())
    return sum(weight for term, weight in weights.items() if term in held) / total if total else 0.0


def standing(claims: Sequence[Claim]) -> list[Claim]:
    """The claims of each aim that has one to be sure of; weaker ones alone settle nothing."""
    settled = {claim.aim for claim in claims if claim.sure >= SURE}
    return [claim for claim in claims if claim.aim in settled]


def is_borne_out(claim: Claim) -> bool:
    """Whether every number, date and name of the claim stands in its quotes."""
    return not missing_facts(claim.what, "\n".join(citation.quote for citation in claim.citations))


def lines_of(claims: Iterable[Claim]) -> list[tuple[str, int]]:
    return [
        (citation.source.id, number)
        for claim in claims
        for citation in claim.citations
        for number in range(citation.line_start, citation.line_end + 1)
    ]


def holds(citation: Citation, stored: Stored) -> bool:
    """Each line of the quote is a contiguous part of its stored line."""
    parts = citation.quote.split("\n")
    if len(parts) != citation.line_end - citation.line_start + 1:
        return False
    for number, part in enumerate(parts, citation.line_start):
        line = stored.get((citation.source.id, number))
        if line is None or not part or part not in line.text:
            return False
    return True


def verify(claims: Sequence[Claim], stored: Stored) -> tuple[list[Claim], list[Claim]]:
    """Claims whose every quote stands in its lines, now with page and locator; and the other claims."""
    good: list[Claim] = []
    bad: list[Claim] = []
    for claim in claims:
        if not claim.citations or not claim.what or not all(holds(c, stored) for c in claim.citations):
            bad.append(claim)
            continue
        claim.citations = [
            replace(citation, page=line.page, locator=line.locator)
            for citation in claim.citations
            for line in [stored[citation.source.id, citation.line_start]]
        ]
        good.append(claim)
    return good, bad
