"""The texts of an answer, made from the record of the search alone: its why, its how, and what is missing."""

from __future__ import annotations

from collections.abc import Sequence

from tq.ask import words
from tq.ask.records import Aim, Citation, Claim, Found, Left, Visit

WHY_CITATIONS = 3
HOW_PATHS = 3  # ways told of to one answer
PART_CHARS = 120  # of a part of the question that a sentence names
LEFT_SHOWN = 12


def why(claim: Claim) -> str:
    told = [
        f"{place(citation)} says: {words.quoted(citation.quote)}"
        for citation in claim.citations[:WHY_CITATIONS]
    ]
    more = len(claim.citations) - len(told)
    text = "; ".join(told) + (f"; and {words.count(more, 'further place')} cited" if more > 0 else "")
    text += "" if text.endswith((".”", "!”", "?”", "。”", "…”")) else "."
    if claim.reason:
        text += f" {claim.reason}" + ("" if claim.reason[-1] in ".!?。…" else ".")
    return text


def place(citation: Citation) -> str:
    page = f" (page {citation.page})" if citation.page else ""
    return f"{citation.source.label}, {words.lines(citation.line_start, citation.line_end)}{page}"


# ---------------------------------------------------------------- the how


def how(claim: Claim, found: Found, method: str) -> str:
    steps = [found.widened] if found.widened else []
    aims = found.planned.aims
    if claim.parts:
        steps.append(
            f"The question has {words.count(len(aims), 'part')}; this answer was composed of "
            f"{words.count(len(claim.parts), 'checked claim')}."
        )
        for aim, part in claim.parts:
            way = _lower(_path(part.visits[0], part))
            steps.append(f"For {words.quoted(aim.told, PART_CHARS)}: {way}")
        if claim.steps:
            steps.append(_sentence(claim.steps))
    else:
        if len(aims) > 1:
            told = words.quoted(claim.aim.told, PART_CHARS)
            steps.append(f"The question has {words.count(len(aims), 'part')}; this answers {told}.")
        for number, visit in enumerate(claim.visits[:HOW_PATHS]):
            told = _path(visit, claim)
            steps.append(told if number == 0 else f"Found again: {_lower(told)}")
        if len(claim.visits) > HOW_PATHS:
            steps.append(f"Found on {words.count(len(claim.visits) - HOW_PATHS, 'further route')}.")
    if claim.citations[0].kind == "bullet":
        steps.append("The claim rests on the summary there, quoted by the lines that the summary came from.")
    if compared := found.compared.get(id(claim), 0):
        steps.append(
            f"Compared with {words.count(compared, 'other claim')}" + _outcome(claim, compared) + "."
        )
    steps += found.notes
    if found.left:
        steps.append(left_out(found.left))
    return f"Method: {method}. " + " ".join(steps)


def _outcome(claim: Claim, compared: int) -> str:
    against = len(claim.contradicts)
    if not against:
        return ""
    if against == compared:
        return ", which contradicts it" if against == 1 else ", which contradict it"
    return f", {against} of which {'contradicts' if against == 1 else 'contradict'} it"


def _path(visit: Visit, claim: Claim) -> str:
    """The way to a node, node by node, and what of it the claim rests on."""
    way: list[Visit] = []
    at: Visit | None = visit
    while at is not None:
        way.append(at)
        at = at.parent
    way.reverse()
    told = first(way[0])
    for step, below in enumerate(way[1:]):
        told += f"{', ' if step == 0 else ', then '}opened {node(below)} because {below.because}"
    own = [
        one for one in claim.citations if one.node_id == visit.node.id and one.source is visit.route.source
    ]
    if not visit.node.is_leaf:
        end = "found the answer in its summary"
    elif own:
        end = "took the answer from " + words.places([(one.line_start, one.line_end) for one in own])
    else:
        end = "took the answer from its lines"
    return f"{told}; and {end}{rereads(visit)}."


def first(visit: Visit) -> str:
    """Where a way begins: at the root, or at what was picked or chosen."""
    label = visit.route.source.label
    if visit.node.depth == 0:
        return f"Read {label} from its root ({words.lines(visit.node.line_start, visit.node.line_end)})"
    return f"Read {node(visit)} of {label} because {visit.because}"


def node(visit: Visit) -> str:
    where = words.lines(visit.node.line_start, visit.node.line_end)
    piece = f", piece {visit.piece[0]} of {visit.piece[1]}" if visit.piece[1] > 1 else ""
    title = visit.node.title
    return f"{words.quoted(title, 80)} ({where}{piece})" if title else where + piece


def rereads(visit: Visit) -> str:
    if not visit.rejected:
        return ""
    return f" (after {words.count(len(visit.rejected), 'rejected reply', 'rejected replies')})"


def widened(aims: Sequence[Aim], asked: int) -> str:
    """Why the search went on from the root, as a sentence. asked: how many aims the question has."""
    parts = [words.quoted(aim.told, PART_CHARS) for aim in aims]
    what = "the question" if asked == 1 else words.listed(parts)
    return f"Nothing picked or beside it answers {what}: the search went on from the root."


def _lower(sentence: str) -> str:
    return sentence[0].lower() + sentence[1:]


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:] + ("" if text[-1] in ".!?。…" else ".")


# ---------------------------------------------------------------- what is missing


def left_out(left: Sequence[Left]) -> str:
    """What was left out, as a sentence; "" where nothing was."""
    if not left:
        return ""
    told = "; ".join(item.detail for item in left[:LEFT_SHOWN])
    more = len(left) - LEFT_SHOWN
    return f"Left out: {told}{f'; and {more} more' if more > 0 else ''}."


def missing(found: Found, unanswered: Sequence[Aim]) -> str | None:
    """What an answer does not say: what the picks of a follow-up do not, parts without an answer, and what was left
    out."""
    told = [found.widened] if found.widened else []
    if unanswered:
        parts = [words.quoted(aim.told, PART_CHARS) for aim in unanswered]
        told.append(f"No answer was found to {words.listed(parts)}.")
    if found.left:
        told.append(left_out(found.left))
    return " ".join(told) or None
