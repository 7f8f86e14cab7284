"""The texts of an answer, made from the record of the search alone: its why, its how, and what is missing."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tq.ask import words
from tq.ask.records import Aim, Citation, Claim, Left, Source, Visit
from tq.ask.scope import names

WHY_CITATIONS = 3
HOW_READS = 24  # reads told of where nothing was found
HOW_PATHS = 3  # ways told of to one answer
LEFT_SHOWN = 12
NEAREST_HITS = 200_000  # entries of the line index looked at for what came nearest


@dataclass(frozen=True, slots=True)
class Nearest:
    """The line that holds most of the question's terms where nothing settles it."""

    source: Source
    line: int
    terms: tuple[str, ...]


# ---------------------------------------------------------------- an answer


def why(claim: Claim) -> str:
    told = [
        f"{_place(citation)} says: {words.quoted(citation.quote)}"
        for citation in claim.citations[:WHY_CITATIONS]
    ]
    more = len(claim.citations) - len(told)
    text = "; ".join(told) + (f"; and {words.count(more, 'further place')} cited" if more > 0 else "")
    text += "" if text.endswith((".”", "!”", "?”", "。”", "…”")) else "."
    if claim.reason:
        text += f" {claim.reason}" + ("" if claim.reason[-1] in ".!?。…" else ".")
    return text


def _place(citation: Citation) -> str:
    page = f" (page {citation.page})" if citation.page else ""
    return f"{citation.source.label}, {words.lines(citation.line_start, citation.line_end)}{page}"


def how(
    claim: Claim,
    aims: Sequence[Aim],
    method: str,
    compared: int,
    left: Sequence[Left],
    widened: str = "",
) -> str:
    steps = [widened] if widened else []
    if len(aims) > 1:
        steps.append(f"The question has {len(aims)} parts; this answers {words.quoted(claim.aim.told, 120)}.")
    for number, visit in enumerate(claim.visits[:HOW_PATHS]):
        told = _path(visit)
        steps.append(told if number == 0 else "Found again: " + told[0].lower() + told[1:])
    if len(claim.visits) > HOW_PATHS:
        steps.append(f"Found on {words.count(len(claim.visits) - HOW_PATHS, 'further route')}.")
    if claim.citations[0].kind == "bullet":
        steps.append("The claim rests on the summary there, quoted by the lines the summary came from.")
    if compared:
        steps.append(
            f"Compared with {words.count(compared, 'other claim')}" + _outcome(claim, compared) + "."
        )
    if left:
        steps.append(f"Left out: {_left_text(left)}.")
    return f"Method: {method}. " + " ".join(steps)


def _outcome(claim: Claim, compared: int) -> str:
    against = len(claim.contradicts)
    if not against:
        return ""
    if against == compared:
        return ", which contradicts it" if against == 1 else ", which contradict it"
    return f", {against} of which {'contradicts' if against == 1 else 'contradict'} it"


def _path(visit: Visit) -> str:
    """The way to a node from its root, node by node."""
    way: list[Visit] = []
    at: Visit | None = visit
    while at is not None:
        way.append(at)
        at = at.parent
    way.reverse()
    told = _first(way[0])
    for step in way[1:]:
        told += f", opened {_node(step)} because {step.because}"
    what = "chose its answer from these lines" if visit.node.is_leaf else "found the answer in its summary"
    return f"{told}, and {what}{_rereads(visit)}."


def _first(visit: Visit) -> str:
    """Where a way begins: at the root, or at what was picked."""
    label = visit.route.source.label
    if visit.node.depth == 0:
        return f"Read {label} from its root ({words.lines(visit.node.line_start, visit.node.line_end)})"
    return f"Read {_node(visit)} of {label} because {visit.because}"


def widened(aims: Sequence[Aim], asked: int) -> str:
    """Why the search went on from the root, as a sentence. asked: how many aims the question has."""
    parts = [words.quoted(aim.told, 120) for aim in aims]
    what = "the question" if asked == 1 else words.listed(parts)
    return f"Nothing picked or beside it answers {what}: the search went on from the root."


def _node(visit: Visit) -> str:
    where = words.lines(visit.node.line_start, visit.node.line_end)
    piece = f", piece {visit.piece[0]} of {visit.piece[1]}" if visit.piece[1] > 1 else ""
    title = visit.node.title
    return f"{words.quoted(title, 80)} ({where}{piece})" if title else where + piece


def _rereads(visit: Visit) -> str:
    return (
        f" (after {words.count(len(visit.rejected), 'rejected reply', 'rejected replies')})"
        if visit.rejected
        else ""
    )


def _left_text(left: Sequence[Left]) -> str:
    told = "; ".join(item.detail for item in left[:LEFT_SHOWN])
    more = len(left) - LEFT_SHOWN
    return told + (f"; and {more} more" if more > 0 else "")


def left_out(left: Sequence[Left]) -> str | None:
    return f"Left out: {_left_text(left)}." if left else None


def missing(
    unanswered: Sequence[Aim],
    left: Sequence[Left],
    widened: str = "",
) -> str | None:
    """What an answer does not say: what the picks of a follow-up do not, parts without an answer, and what was left out."""
    told = [widened] if widened else []
    if unanswered:
        parts = [words.quoted(aim.told, 120) for aim in unanswered]
        told.append(f"No answer was found to {words.listed(parts)}.")
    if (out := left_out(left)) is not None:
        told.append(out)
    return " ".join(told) or None


# ---------------------------------------------------------------- nothing settles it


def nearest(sources: Sequence[Source], aims: Sequence[Aim]) -> Nearest | None:
    """The line that holds the most of the question's terms by rarity, over all documents searched."""
    best: tuple[float, int, int] | None = None
    for source in sources:
        weights: dict[str, float] = {}
        lines: dict[str, Sequence[int]] = {}
        for aim in aims:
            weights.update(source.trails[aim.where].terms)
            lines.update(source.trails[aim.where].lines)
        total = sum(weights.values())
        found: dict[int, float] = {}
        looked = 0
        for term in sorted(lines, key=lambda term: (len(lines[term]), term)):
            looked += len(lines[term])
            if looked > NEAREST_HITS:
                break
            for line in lines[term]:
                found[line] = found.get(line, 0.0) + weights[term]
        if found:
            line = min(found, key=lambda number: (-found[number], number))
            candidate = (-found[line] / total, source.place, line)
            if best is None or candidate < best:
                best = candidate
    if best is None:
        return None
    source = sources[best[1]]
    held = {
        term
        for aim in aims
        for term, lines_of_term in source.trails[aim.where].lines.items()
        if _in(lines_of_term, best[2])
    }
    return Nearest(source, best[2], tuple(sorted(held)))


def _in(lines: Sequence[int], line: int) -> bool:
    at = bisect_left(lines, line)
    return at < len(lines) and lines[at] == line


def unsettled_why(sources: Sequence[Source], visits: Sequence[Visit]) -> str:
    documents = words.count(len(sources), "document")
    silent = sum(1 for visit in visits if visit.choice == "NOT_HERE")
    weak = sum(1 for visit in visits if visit.choice == "ANSWER" and visit.node.is_leaf)
    # What was read and went no further; where every route was cut short, neither is.
    told = [f"{words.count(silent, 'node')} read {'says' if silent == 1 else 'say'} nothing on it"] if silent else []
    told += [f"{words.count(weak, 'section')} only came near"] if weak else []
    return (
        f"No passage read in {documents} ({names([source.label for source in sources])}) states an answer"
        + (f": {', and '.join(told)}." if told else ".")
    )


def unsettled_how(visits: Sequence[Visit], left: Sequence[Left], widened: str = "") -> str:
    told = [widened] if widened else []
    for visit in visits[:HOW_READS]:
        if visit.parent is None:
            step = _first(visit)
        else:
            step = f"Opened {_node(visit)} because {visit.because}"
        told.append(f"{step}: {_choice(visit)}{_rereads(visit)}.")
    if len(visits) > HOW_READS:
        told.append(f"Then {words.count(len(visits) - HOW_READS, 'more read')} of the same kind.")
    if left:
        told.append(f"Left out: {_left_text(left)}.")
    return "Method: lookup. " + " ".join(told)


def _choice(visit: Visit) -> str:
    if visit.choice == "DESCEND":
        return f"went on to {words.count(sum(1 for child in visit.opened if child['followed']), 'section')}"
    if visit.choice == "ANSWER" and visit.node.is_leaf:
        return "what it says only comes near"
    if visit.choice == "ANSWER":
        return "went on to the lines of a summary that seemed to answer"
    if visit.choice == "NOT_HERE":
        return "nothing here"
    return "given up"


def _searched(sources: Sequence[Source], visits: Sequence[Visit]) -> str:
    nodes = words.count(len({(visit.route.source.id, visit.node.id) for visit in visits}), "node")
    lines = words.count(sum(visit.lines for visit in visits), "source line")
    documents = words.count(len(sources), "document")
    listed = names([source.label for source in sources])
    return f"Searched {documents} ({listed}): {nodes} read, {lines} among them; none settles the question."


def unsettled_missing(
    sources: Sequence[Source],
    surface: Mapping[str, str],
    visits: Sequence[Visit],
    near: Nearest | None,
    near_text: str,
    absent: Sequence[str],
    left: Sequence[Left],
) -> str:
    told = [_searched(sources, visits)]
    if near is not None and near_text:
        held = words.listed([surface.get(term, term) for term in near.terms[:6]])
        told.append(
            f"Nearest: {near.source.label}, line {near.line}, which holds {held}: "
            f"{words.quoted(near_text, 160)}."
        )
    if gone := list(dict.fromkeys(surface.get(term, term) for term in absent)):
        told.append(f"Not in the material searched: {words.listed(gone[:12])}.")
    if (out := left_out(left)) is not None:
        told.append(out)
    return " ".join(told)
