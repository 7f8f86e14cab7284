"""The answer writer: one answer of evidence that several routes brought, picked by number from a closed list."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from tq.ask import words
from tq.ask.records import Aim, Claim, Ended, Left, Planned, Question, Subject
from tq.ask.words import say
from tq.model.limits import Model
from tq.model.tasks import Evidence, Parts, Write, WriteReply
from tq.text.figures import work_out
from tq.text.planning import Method

EACH = 3  # pieces of evidence for one part of the question, the highest ranks first
SAYS_CHARS = 600
QUOTE_CHARS = 1_500
Listed = dict[int, tuple[Aim, Claim]]
SHARE = 0.5  # of the model's input: the evidence


def listed(planned: Planned, ranked: Sequence[Claim], model: Model) -> Listed:
    """The claims that an answer may be composed of, by number, each with what it answers; none where the question's parts
    stand by themselves, or fewer than two of them have a claim of their own."""
    together = planned.method != "lookup" or any(len(one.asks) > 1 for one in planned.subjects)
    if not together or len(planned.aims) < 2:
        return {}
    found: list[tuple[Aim, Claim]] = []
    room = int(model.input_chars * SHARE)
    for _ in range(EACH):
        for aim in planned.aims:
            own = [
                claim
                for claim in ranked
                if aim.where in claim.met and not any(_same(claim, other) for _, other in found)
            ]
            best = max(own, key=lambda claim: claim.met[aim.where], default=None)
            if best is not None and (room := room - len(_quote(best)) - SAYS_CHARS) > 0:
                found.append((aim, best))
    if len({aim for aim, _ in found}) < 2:
        return {}
    return dict(enumerate(found, 1))


def task(question: Question, planned: Planned, claims: Listed, model: Model) -> Write:
    return Write(
        question=question.shown,
        method=_method(planned),
        evidence=[_evidence(number, *pair) for number, pair in claims.items()],
        language=claims[1][1].citations[0].source.language,
        max_chars=model.fit.reply_chars,
    )


def composed(
    question: Question, planned: Planned, claims: Listed, ended: Ended
) -> tuple[Claim | None, list[Left]]:
    """The claim that was composed, or why there is none."""
    if ended.reply is None:
        why = say("the budget is spent") if ended.over_budget else ended.rejected[-1]
        return None, [Left("writing", say("no answer was composed of the parts found: {why}", why=why))]
    reply: WriteReply = ended.reply
    if not reply.uses:
        return None, []
    parts = [claims[number] for number in dict.fromkeys(reply.uses)]
    used = [claim for _, claim in parts]
    assert isinstance(ended.task, Write)
    what, steps = words.clean(reply.what), words.clean(reply.how)
    figures = {letter: one for piece in ended.task.evidence for letter, one in piece.figures.items()}
    figure = work_out(reply.operation, [figures[letter] for letter in reply.figures])
    if figure is not None:
        what = f"{what} {reply.operation.capitalize()}: {figure.told}."
    whole = Subject(len(planned.subjects), Parts(question.shown, question.shown, question.shown))
    citations = {(one.place, one.quote): one for claim in used for one in claim.citations}
    return Claim(
        aim=Aim(len(planned.aims), whole, "what", question.shown),
        what=what,
        reason=words.short(words.clean(reply.why), 600),
        citations=list(citations.values()),
        visits=list(dict.fromkeys(visit for claim in used for visit in claim.visits)),
        # It meets every part that its parts meet.
        fit=1 - prod(1 - claim.fit for claim in used),
        sure=min(claim.sure for claim in used),
        method="calculation" if figure is not None else _method(planned),
        steps=steps + (f" {figure.told}" if figure is not None else ""),
        parts=parts,
    ), []


def _method(planned: Planned) -> Method:
    """Parts of one subject that were found in two places are held beside each other."""
    return "comparison" if planned.method == "lookup" else planned.method


def _evidence(number: int, aim: Aim, claim: Claim) -> Evidence:
    first = claim.citations[0]
    return Evidence(
        number=number,
        place=f"{first.source.label}, {words.lines(first.line_start, first.line_end)}",
        answers=words.short(aim.told),
        says=words.short(claim.what, SAYS_CHARS),
        quote=_quote(claim),
    )


def _quote(claim: Claim) -> str:
    return "\n".join(citation.quote for citation in claim.citations)[:QUOTE_CHARS]


def _same(claim: Claim, other: Claim) -> bool:
    """Whether two claims rest on the very same words."""
    return {(one.place, one.quote) for one in claim.citations} == {
        (one.place, one.quote) for one in other.citations
    }
