"""Where a follow-up begins: at the leaves that were picked and those beside them. Of all that was asked and answered
before, nothing else is carried on, so the two hundredth question of a thread costs no more than the second.
"""

from __future__ import annotations

from collections.abc import Sequence

from tq.ask import words
from tq.ask.caller import Opener
from tq.ask.question import Answers, ask
from tq.ask.records import Begin, Left, Node, SourceRow, Start
from tq.ask.words import say
from tq.database import asking, threads
from tq.database.connection import Database
from tq.database.threads import Pick
from tq.errors import TqError
from tq.model.driver import open_driver

MAX_PICKED = 32  # leaves of one document that a follow-up begins at
STARTS = 8  # so many with those beside them, where fewer are picked
MIN_BESIDE = 2  # read even where more are picked

Range = tuple[int, int]


def follow_up(
    database: Database,
    thread: str,
    question: str | None,
    strategy: str | None,
    opener: Opener = open_driver,
) -> Answers:
    """What `ask` gives, searched from the picks of the thread's last turn. strategy: None for that of the question
    which the picks come from. Raises as `ask` does; TQ001 where all that was picked is gone."""
    chosen = strategy if strategy is not None else threads.strategy(database, thread)
    return ask(database, None, question, chosen, opener, lambda: begin(database, thread))


def begin(database: Database, thread: str, turn: int | None = None) -> Begin:
    """The documents of a turn's picks, and the nodes to begin at. turn: None for the last."""
    picks = threads.picks(database, thread, turn)
    there = [pick for pick in picks if pick.document is not None]
    if not there:
        raise TqError(
            "TQ001",
            "document not found",
            "All documents that were picked in this thread are gone."
            if picks
            else "Nothing is picked in this thread.",
            "Ask tq.ask again, and pick from what it answers.",
        )
    left = [Left("pick", _gone(len(picks) - len(there)))] if len(there) < len(picks) else []
    ranges: dict[str, list[Range]] = {}
    for pick in there:
        document, place = _place(database, pick)
        found = ranges.setdefault(document, [])
        if place is None:
            left.append(Left("pick", _lost(pick)))
        elif place not in found:
            found.append(place)
    rows = threads.rows(database, list(ranges))
    roots = asking.roots(database, list(ranges))
    starts: dict[str, list[Start]] = {}
    for row in rows:
        if row.id in roots:
            starts[row.id], beyond = _starts(database, row, roots[row.id], ranges[row.id])
            left += beyond
    return Begin(thread, there[0].turn, rows, starts, left)


def _place(database: Database, pick: Pick) -> tuple[str, Range | None]:
    """The document to search, and where the picked lines stand in it: None where a newer version has them no more."""
    if pick.newer is None:
        return str(pick.document), (pick.line_start, pick.line_end)
    first = threads.line_in_newer(database, pick)
    return pick.newer, None if first is None else (first, first + pick.line_end - pick.line_start)


def _starts(
    database: Database, row: SourceRow, root: Node, ranges: Sequence[Range]
) -> tuple[list[Start], list[Left]]:
    """Leaves that hold the ranges, and some beside them; what is picked beyond MAX_PICKED is told of."""
    if not ranges:
        return [], []
    leaves = asking.leaves_below(database, row.id, root, ranges)
    picked, beyond = leaves[:MAX_PICKED], leaves[MAX_PICKED:]
    beside = _beside(database, row, root, picked)[: max(MIN_BESIDE, STARTS - len(picked))]
    starts = [Start(leaf, say("it was picked")) for leaf in picked]
    starts += [Start(leaf, say("it stands beside what was picked")) for leaf in beside]
    if not beyond:
        return starts, []
    told = words.count(len(beyond), "further picked section")
    return starts, [
        Left(
            "pick",
            say(
                "{sections} of {name} not searched from: {most} are, at most",
                sections=told,
                name=row.name,
                most=MAX_PICKED,
            ),
            row.id,
        )
    ]


def _beside(database: Database, row: SourceRow, root: Node, picked: Sequence[Node]) -> list[Node]:
    """The two leaves nearest to each in its section or, where it is alone there, the one before and the one after."""
    near = threads.siblings(database, row.id, picked)
    edges = [
        line
        for leaf in picked
        if leaf.id not in near
        for line in (leaf.line_start - 1, leaf.line_end + 1)
        if 1 <= line <= (row.line_count or 0)
    ]
    found = [leaf for leaves in near.values() for leaf in leaves]
    if edges:
        found += asking.leaves_below(database, row.id, root, [(line, line) for line in edges])
    known = {leaf.id for leaf in picked}
    return list({leaf.id: leaf for leaf in found if leaf.id not in known}.values())


def _gone(count: int) -> str:
    picks = words.count(count, "pick")
    return (
        say("{picks} of documents that are gone was not searched", picks=picks)
        if count == 1
        else say("{picks} of documents that are gone were not searched", picks=picks)
    )


def _lost(pick: Pick) -> str:
    told = {
        "lines": words.lines(pick.line_start, pick.line_end),
        "name": pick.name,
        "version": pick.version,
        "newer": pick.newer_version,
    }
    return (
        say(
            "{lines} of {name}, picked in version {version}, stands in version {newer} no more, so that pick was not searched "
            "from",
            **told,
        )
        if pick.line_start == pick.line_end
        else say(
            "{lines} of {name}, picked in version {version}, stand in version {newer} no more, so that pick was not searched "
            "from",
            **told,
        )
    )
