"""The texts of an answer, made from the record of the search alone: its why, its how, and what is missing."""

from __future__ import annotations

from collections.abc import Sequence

from tq.ask import words
from tq.ask.records import Aim, Citation, Claim, Found, Left, Source, Visit
from tq.ask.words import say

WHY_CITATIONS = 3
HOW_PATHS = 3  # ways told of to one answer
PART_CHARS = 120  # of a part of the question that a sentence names
LEFT_SHOWN = 12


def why(claim: Claim) -> str:
    told = [
        say("{place} says: {quote}", place=place(citation), quote=words.quoted(citation.quote))
        for citation in claim.citations[:WHY_CITATIONS]
    ]
    more = len(claim.citations) - len(told)
    if more > 0:
        told.append(say("and {places} cited", places=words.count(more, "further place")))
    return " ".join(words.ended(part) for part in ("; ".join(told), claim.reason) if part)


def place(citation: Citation) -> str:
    where = words.lines(citation.line_start, citation.line_end)
    label = source(citation.source)
    if citation.page:
        return say("{label}, {lines} (page {page})", label=label, lines=where, page=citation.page)
    return f"{label}, {where}"


def source(one: Source) -> str:
    """Name, with the version where it is not the current one."""
    row = one.row
    return row.name if row.current else say("{name} (version {version})", name=row.name, version=row.version)


# ---------------------------------------------------------------- the how


def how(claim: Claim, found: Found, method: str) -> str:
    steps = [words.spoken(found.widened)] if found.widened else []
    aims = found.planned.aims
    if claim.parts:
        steps.append(
            say(
                "The question has {parts}; this answer was composed of {claims}.",
                parts=words.count(len(aims), "part"),
                claims=words.count(len(claim.parts), "checked claim"),
            )
        )
        for aim, part in claim.parts:
            way = _lower(_path(part.visits[0], part))
            steps.append(say("For {part}: {way}", part=words.quoted(aim.told, PART_CHARS), way=way))
        if claim.steps:
            steps.append(_sentence(claim.steps))
    else:
        if len(aims) > 1:
            told = words.quoted(claim.aim.told, PART_CHARS)
            parts = words.count(len(aims), "part")
            steps.append(say("The question has {parts}; this answers {part}.", parts=parts, part=told))
        for number, visit in enumerate(claim.visits[:HOW_PATHS]):
            told = _path(visit, claim)
            steps.append(told if number == 0 else say("Found again: {way}", way=_lower(told)))
        if len(claim.visits) > HOW_PATHS:
            more = words.count(len(claim.visits) - HOW_PATHS, "further route")
            steps.append(say("Found on {routes}.", routes=more))
    if claim.citations[0].kind == "bullet":
        steps.append(
            say("The claim rests on the summary there, quoted by the lines that the summary came from.")
        )
    if compared := found.compared.get(id(claim), 0):
        steps.append(_outcome(claim, words.count(compared, "other claim"), compared))
    steps += map(words.spoken, found.notes)
    if found.left:
        steps.append(left_out(found.left))
    return " ".join([by_method(method), *steps])


def by_method(method: str) -> str:
    return say("Method: {method}.", method=say(method))


def _outcome(claim: Claim, others: str, compared: int) -> str:
    against = len(claim.contradicts)
    if not against:
        return say("Compared with {others}.", others=others)
    if against == compared:
        return (
            say("Compared with {others}, which contradicts it.", others=others)
            if against == 1
            else say("Compared with {others}, which contradict it.", others=others)
        )
    return (
        say("Compared with {others}, 1 of which contradicts it.", others=others)
        if against == 1
        else say("Compared with {others}, {n} of which contradict it.", others=others, n=against)
    )


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
        because = words.spoken(below.because)
        told += (
            say(", opened {node} because {because}", node=node(below), because=because)
            if step == 0
            else say(", then opened {node} because {because}", node=node(below), because=because)
        )
    own = [
        one for one in claim.citations if one.node_id == visit.node.id and one.source is visit.route.source
    ]
    if not visit.node.is_leaf:
        end = say("; and found the answer in its summary")
    elif own:
        end = say(
            "; and took the answer from {places}",
            places=words.places([(one.line_start, one.line_end) for one in own]),
        )
    else:
        end = say("; and took the answer from its lines")
    return f"{told}{end}{rereads(visit)}."


def first(visit: Visit) -> str:
    """Where a way begins: at the root, or at what was picked or chosen."""
    label = source(visit.route.source)
    if visit.node.depth == 0:
        where = words.lines(visit.node.line_start, visit.node.line_end)
        return say("Read {label} from its root ({lines})", label=label, lines=where)
    return say(
        "Read {node} of {label} because {because}",
        node=node(visit),
        label=label,
        because=words.spoken(visit.because),
    )


def node(visit: Visit) -> str:
    where = words.lines(visit.node.line_start, visit.node.line_end)
    piece = say(", piece {n} of {of}", n=visit.piece[0], of=visit.piece[1]) if visit.piece[1] > 1 else ""
    title = visit.node.title
    return f"{words.quoted(title, 80)} ({where}{piece})" if title else where + piece


def rereads(visit: Visit) -> str:
    if not visit.rejected:
        return ""
    return say(
        " (after {replies})", replies=words.count(len(visit.rejected), "rejected reply", "rejected replies")
    )


def widened(aims: Sequence[Aim], asked: int) -> str:
    """Why the search went on from the root, as a sentence. asked: how many aims the question has."""
    return say(
        "Nothing picked or beside it answers {what}: the search went on from the root.",
        what=_sought(aims, asked),
    )


def stayed(aims: Sequence[Aim], asked: int, strategy: str) -> str:
    """That the search did not go on from the root, as a sentence."""
    return say(
        "Nothing picked or beside it answers {what}, and the strategy {strategy} searches no further.",
        what=_sought(aims, asked),
        strategy=strategy,
    )


def _sought(aims: Sequence[Aim], asked: int) -> str:
    return (
        say("the question")
        if asked == 1
        else words.listed([words.quoted(aim.told, PART_CHARS) for aim in aims])
    )


def _lower(sentence: str) -> str:
    return sentence[0].lower() + sentence[1:]


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:] + ("" if text[-1] in ".!?。…" else ".")


# ---------------------------------------------------------------- what is missing


def left_out(left: Sequence[Left]) -> str:
    """What was left out, as a sentence; "" where nothing was."""
    if not left:
        return ""
    told = [words.spoken(item.detail) for item in left[:LEFT_SHOWN]]
    if len(left) > LEFT_SHOWN:
        told.append(say("and {n} more", n=len(left) - LEFT_SHOWN))
    return say("Left out: {what}.", what="; ".join(told))


def missing(found: Found, unanswered: Sequence[Aim]) -> str | None:
    """What an answer does not say: what the picks of a follow-up do not, parts without an answer, and what was left
    out."""
    told = [words.spoken(found.widened)] if found.widened else []
    if unanswered:
        parts = [words.quoted(aim.told, PART_CHARS) for aim in unanswered]
        told.append(say("No answer was found to {parts}.", parts=words.listed(parts)))
    if found.left:
        told.append(left_out(found.left))
    return " ".join(told) or None
