"""One line about a call that has ended: as NOTICEs show it while a question is asked, and as its record keeps it."""

from __future__ import annotations

from typing import Any

from tq.ask import words
from tq.ask.records import Ended
from tq.model.tasks import Compare, Plan, Read, Select, Task, Write

SHOWN = 100  # characters of a text
LISTED = 6


def line(ended: Ended) -> str:
    """What was done, and what came of it."""
    about = _about(ended.task)
    if ended.reply is None:
        why = "the budget is spent" if ended.over_budget else "given up"
        return f"{about}: {why}"
    return f"{about}: {_outcome(ended.task, ended.reply)}"


def again(task: Task[Any], reason: str) -> str:
    """That a reply was thrown away."""
    return f"{_about(task)}: reply rejected ({words.short(reason, SHOWN)}), asked again"


def _about(task: Task[Any]) -> str:
    if isinstance(task, Read):
        return f"read {task.breadcrumb}, {words.lines(task.line_start, task.line_end)}"
    if isinstance(task, Select):
        return f"choose sections of {task.breadcrumb}"
    if isinstance(task, Compare):
        return f"compare {words.quoted(task.first, SHOWN)} with {words.quoted(task.second, SHOWN)}"
    if isinstance(task, Write):
        return f"compose {task.method} of {words.count(len(task.evidence), 'piece')} of evidence"
    return task.purpose


def _outcome(task: Task[Any], reply: Any) -> str:
    if isinstance(task, Plan):
        parts = [f"{words.quoted(one.what, SHOWN)} (asks {words.listed(one.asks)})" for one in reply.subjects]
        return f"{reply.method} of {'; '.join(parts)}"
    if isinstance(task, Read):
        if reply.choice == "DESCEND":
            return f"DESCEND {' '.join(f'[{letter}]' for letter in reply.open)}"
        said = f" {words.quoted(reply.what, SHOWN)}" if reply.choice == "ANSWER" else ""
        return f"{reply.choice}{said}"
    if isinstance(task, Select):
        known = {one.number: (one.line_start, one.line_end) for one in task.sections}
        chosen = [known[number] for number in reply.sections if number in known]
        told = f": {words.places(chosen, LISTED)}" if chosen else ""
        beyond = sum(number not in known for number in reply.sections)
        off = f"; {words.count(beyond, 'number')} thrown away that stood not on the list" if beyond else ""
        return f"{len(chosen)} of {len(task.sections)} chosen{told}{off}"
    if isinstance(task, Compare):
        return str(reply.relation)
    if isinstance(task, Write):
        if not reply.uses:
            return "it makes no one answer"
        return f"{words.quoted(reply.what, SHOWN)} from {', '.join(map(str, reply.uses))}"
    return "done"
