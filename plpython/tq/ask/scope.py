"""What a question is searched in: its documents in order of scent, and the question's terms in each."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence

from tq.ask import words
from tq.ask.records import Aim, Left, Planned, Question, Scope, Source, SourceRow, Trail
from tq.ask.scent import Scent
from tq.ask.words import say
from tq.database import asking
from tq.database.connection import Database
from tq.errors import TqError
from tq.text.match import SYNONYM
from tq.text.passages import FRONT_LINES
from tq.text.question import Question as Meant
from tq.text.question import question as read
from tq.text.synonyms import kin
from tq.text.tokens import asked_terms, term_spans, terms

MAX_CANDIDATES = 1_000  # distinct terms of a question that are looked up
MAX_TERMS = 48  # of those the ones that are followed, the rarest that occur first
MAX_KIN = 48  # other words for them that are looked up, for the weightiest terms first
FRONT = "(front)"  # stands in the lines of a document's first page; no term has brackets
FRONT_SHARE = 1.5  # of the weightiest term
SURFACE_CHARS = 20_000  # of a question whose words are kept to be shown
WAITING_NAMED = 5  # documents that are not ready, named in one sentence
WAITING_CHARS = 80  # of what keeps one of them


def label(row: SourceRow) -> str:
    return row.name if row.current else f"{row.name} (version {row.version})"


def resolve(database: Database, doc: str | None) -> tuple[list[SourceRow], list[Left]]:
    """The ready documents, and those that are not as omissions. TQ001 or TQ002 where none is ready."""
    rows = asking.resolve(database, doc)
    ready = [row for row in rows if row.ready and row.line_count]
    waiting = [row for row in rows if not row.ready]
    shown = [
        f"{row.name} (version {row.version}: {words.short(row.detail or '', WAITING_CHARS)})"
        for row in waiting
    ]
    told = words.names(shown, WAITING_NAMED)
    if not ready:
        if waiting:
            raise TqError("TQ002", "document not ready", told + ".", "See tq.progress for how far each is.")
        raise TqError(
            "TQ001",
            "document not found",
            "The scope is empty.",
            "Load a document with tq.load or tq.load_text.",
        )
    left = []
    if waiting:
        count = words.count(len(waiting), "document was", "documents were")
        left.append(
            Left(
                "not ready",
                say("{documents} not ready and not searched: {names}", documents=count, names=told),
            )
        )
    beyond = (ready[0].matched or 0) - sum(row.ready for row in rows)
    if beyond > 0:
        count = words.count(beyond, "document was", "documents were")
        most = asking.MAX_DOCUMENTS
        left.append(
            Left(
                "documents",
                say("{documents} not looked at: more than {most} match", documents=count, most=most),
            )
        )
    return ready, left


def choose(
    database: Database,
    question: Question,
    planned: Planned,
    ready: Sequence[SourceRow],
    queries: Mapping[str, Sequence[str]],
) -> Scope:
    """The documents to search with their scent, within the strategy's bound."""
    left: list[Left] = []
    asked = {language: _asked(question.asked, planned, language) for language in _languages(ready)}
    hits: dict[str, dict[str, int]] = {}
    for language, wanted in asked.items():
        here = [row.id for row in ready if _language(row) == language]
        hits.update(asking.hits(database, here, wanted[:MAX_CANDIDATES]))
    held_lines = asking.text_lines(database, ready)
    followed: dict[str, dict[str, float]] = {}
    for language, wanted in asked.items():
        spoken = [row for row in ready if _language(row) == language]
        followed[language] = _rarities(spoken, wanted[:MAX_CANDIDATES], hits, held_lines)
        if len(wanted) > len(followed[language]):
            left.append(
                Left(
                    "terms",
                    say(
                        "the question has {terms} different terms; the {rarest} rarest were followed",
                        terms=len(wanted),
                        rarest=len(followed[language]),
                    ),
                )
            )
    chosen = _order(question, ready, followed, hits)
    bound = question.strategy.documents
    if len(chosen) > bound:
        rest = chosen[bound:]
        chosen = chosen[:bound]
        told = say(
            "{documents} not searched (the strategy {strategy} searches {bound} a question): {names}",
            documents=words.count(len(rest), "document was", "documents were"),
            strategy=question.strategy.name,
            bound=bound,
            names=words.names([label(row) for row in rest]),
        )
        left.append(Left("documents", told))
    sources = _sources(database, question, planned.aims, chosen, queries, followed, asked)
    held: set[str] = set()
    for row in chosen:
        held.update(hits.get(row.id, {}))
    absent = tuple(
        dict.fromkeys(term for weights in followed.values() for term in weights if term not in held)
    )
    surface = {term: word for source in sources for term, word in source.trails[0].surface.items()}
    return Scope(sources, left, bool(held), absent, surface)


def _language(row: SourceRow) -> str:
    return row.language or "none"


def _languages(rows: Sequence[SourceRow]) -> list[str]:
    return sorted({_language(row) for row in rows})


def _asked(question: str, planned: Planned, language: str) -> list[str]:
    """Distinct terms of the question and of its subjects, in order."""
    found = dict.fromkeys(asked_terms(question, language))
    for subject in planned.subjects:
        found.update(dict.fromkeys(asked_terms(subject.parts.what, language)))
    return list(found)


def _rarities(
    rows: Sequence[SourceRow],
    wanted: Sequence[str],
    hits: Mapping[str, Mapping[str, int]],
    held_lines: Mapping[str, int],
) -> dict[str, float]:
    """term → how rare it is, in the order asked, the rarest that fit: idf over the lines with text of all documents of
    one language, or over those of the documents that hold it, on average, where that is more. A clause that each of
    many documents states once is common among all their lines, and says as much in each as it would alone."""
    total: Counter[str] = Counter()
    lines = 0
    for row in rows:
        lines += held_lines[row.id]
        total.update(hits.get(row.id, {}))
    kept = set(sorted(wanted, key=lambda term: (total[term] == 0, total[term]))[:MAX_TERMS])
    weights: dict[str, float] = {}
    for term in wanted:
        if term in kept:
            own = [
                asking.rarity(held_lines[row.id], hits[row.id][term])
                for row in rows
                if hits.get(row.id, {}).get(term)
            ]
            weights[term] = max(asking.rarity(lines, total[term]), sum(own) / len(own) if own else 0.0)
    return weights


def _order(
    question: Question,
    rows: Sequence[SourceRow],
    followed: Mapping[str, Mapping[str, float]],
    hits: Mapping[str, Mapping[str, int]],
) -> list[SourceRow]:
    """Strongest scent first: how many of the question's terms, how rare, how often they stand there."""

    def strength(row: SourceRow) -> float:
        if not question.scent:
            return row.source_weight
        weights = followed[_language(row)]
        found = hits.get(row.id, {})
        return sum(
            weight * (1 + 0.1 * math.log(found[term])) for term, weight in weights.items() if found.get(term)
        )

    return sorted(rows, key=lambda row: (-strength(row), -row.source_weight, row.name, -row.version))


def _sources(
    database: Database,
    question: Question,
    aims: Sequence[Aim],
    chosen: Sequence[SourceRow],
    queries: Mapping[str, Sequence[str]],
    followed: Mapping[str, Mapping[str, float]],
    asked: Mapping[str, Sequence[str]],
) -> list[Source]:
    roots = asking.roots(database, [row.id for row in chosen])
    found: dict[str, dict[str, Sequence[int]]] = {}
    for language, weights in followed.items():
        here = [row.id for row in chosen if _language(row) == language]
        wanted = [*weights, *others(weights, language)] if question.scent else list(weights)
        for document, lines in asking.postings(database, here, wanted).items():
            found[document] = {**lines}
    own = {
        (aim.where, language): _own(aim, language, followed[language], len(aims))
        for aim in aims
        for language in followed
    }
    meant = {
        (aim.where, name): read(aim.asked, own[aim.where, name], name) for aim in aims for name in followed
    }
    surfaces = {language: _surface(question.asked, language) for language in followed}
    sources: list[Source] = []
    for row in chosen:
        if row.id not in roots:
            continue  # its version went away between two statements of another snapshot: nothing to walk
        language = _language(row)
        held = found.get(row.id, {})
        trails = []
        for aim in aims:
            trails.append(
                _trail(
                    question,
                    row,
                    meant[aim.where, language],
                    own[aim.where, language],
                    held,
                    surfaces[language],
                )
            )
        sources.append(
            Source(
                place=len(sources),
                row=row,
                root=roots[row.id],
                language=language,
                possible_queries=tuple(queries.get(row.id, ())),
                trails=trails,
            )
        )
    return sources


def _trail(
    question: Question,
    row: SourceRow,
    meant: Meant,
    weights: Mapping[str, float],
    held: Mapping[str, Sequence[int]],
    surface: Mapping[str, str],
) -> Trail:
    mine = {term: held[term] for term in weights if term in held}
    scent = None
    if question.scent:
        # Words that only ask lead nowhere: the scent weighs as the reader does.
        weighed = {term: meant.weights.get(term, weight) for term, weight in weights.items()}
        stand_ins = others(weights, _language(row))
        sought = mine | {term: held[term] for term in stand_ins if term in held}
        if meant.front and weighed:
            # What the document says of itself stands on its first page, in whatever words.
            stand_ins[FRONT] = (max(weighed, key=lambda term: (weighed[term], term)), FRONT_SHARE)
            sought[FRONT] = range(1, FRONT_LINES + 1)
        scent = Scent(sought, weighed, row.line_count or 1, stand_ins)
    return Trail(weights, scent, mine, surface)


def follow(database: Database, question: Question, sources: Sequence[Source], aim: Aim) -> None:
    """New trails for an aim that has learned words since the documents were chosen."""
    rows = [source.row for source in sources]
    held_lines = asking.text_lines(database, rows)
    for language in _languages(rows):
        here = [source for source in sources if _language(source.row) == language]
        ids = [source.id for source in here]
        wanted = list(dict.fromkeys(asked_terms(aim.asked, language)))[:MAX_CANDIDATES]
        hits = asking.hits(database, ids, wanted)
        weights = _rarities([source.row for source in here], wanted, hits, held_lines)
        sought = [*weights, *others(weights, language)] if question.scent else list(weights)
        found = asking.postings(database, ids, sought)
        surface = _surface(aim.asked, language)
        meant = read(aim.asked, weights, language)
        for source in here:
            source.trails[aim.where] = _trail(
                question, source.row, meant, weights, found.get(source.id, {}), surface
            )


def others(weights: Mapping[str, float], language: str) -> dict[str, tuple[str, float]]:
    """Other everyday words for the question's terms, each with the weightiest term it stands for."""
    found: dict[str, tuple[str, float]] = {}
    for term in sorted(weights, key=lambda own: (-weights[own], own)):
        for other in kin(term, language):
            if other not in weights and len(found) < MAX_KIN:
                found.setdefault(other, (term, SYNONYM))
    return found


def _surface(question: str, language: str) -> dict[str, str]:
    text = question[:SURFACE_CHARS]
    found: dict[str, str] = {}
    for term, first, last in term_spans(text, language):
        word = text[first:last]
        # A script without spaces gives several terms a word: there the term itself is what was sought.
        found.setdefault(term, word if len(terms(word, language)) == 1 else term)
    return found


def _own(aim: Aim, language: str, weights: Mapping[str, float], aims: int) -> Mapping[str, float]:
    """The terms of one aim; the whole question's where it is the only one, or has none of its own."""
    if aims == 1:
        return weights
    mine = set(asked_terms(aim.asked, language))
    return {term: weight for term, weight in weights.items() if term in mine} or weights
