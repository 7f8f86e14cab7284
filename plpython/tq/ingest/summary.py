"""Second run: one node's bullets, each checked against its own lines.

A leaf's items are its lines, a parent's the bullets of its children. What does not fit one call is read in several,
whose bullets are then read in turn. A bullet that says what its items do not say goes back once with the reason, and is
then replaced by a verbatim line.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

from tq.errors import TqError
from tq.ingest.calls import MOST_REJECTIONS, Answer, Asking
from tq.ingest.windows import cost, is_nothing
from tq.model.limits import Fit
from tq.model.tasks import BulletReply, Item, Line, Summarise, SummariseReply, Task
from tq.text.facts import missing_facts
from tq.text.sentences import pieces, sentences

MAX_TITLE = 200
LEAST_OF_PARENT = 4  # bullets that a parent may have however short its children's are


@dataclass(frozen=True, slots=True)
class Bullet:
    text: str
    line_start: int
    line_end: int
    fallback: bool = False  # a verbatim line in the place of what the model wrote


@dataclass(frozen=True, slots=True)
class Summary:
    bullets: list[Bullet] = field(default_factory=list)
    title: str | None = None
    fallback: str | None = None  # why the whole summary is an extract


def leaf_items(lines: Iterable[Line], piece_chars: int) -> list[Item]:
    """What a leaf shows: its lines with something to read; a long line in pieces under one number. Repeated page
    headers and footers only where there is nothing else."""
    readable = [line for line in lines if not is_nothing(line.text)]
    shown = [line for line in readable if line.kind != "furniture"] or readable
    items: list[Item] = []
    for line in shown:
        if len(line.text) <= piece_chars:
            items.append(Item(line.number, line.text, line.number, line.number, line.kind, line.level))
        else:
            for start, end in pieces(line.text, piece_chars):
                if not is_nothing(line.text[start:end]):
                    items.append(
                        Item(
                            line.number, line.text[start:end], line.number, line.number, line.kind, line.level
                        )
                    )
    return items


def bullet_items(bullets: Iterable[tuple[str, int, int]]) -> list[Item]:
    """What a parent shows: its children's bullets (text, line_start, line_end), numbered from 1."""
    return [Item(number, text, start, end) for number, (text, start, end) in enumerate(bullets, 1)]


def summarise(items: Sequence[Item], fit: Fit, title: str, language: str, parent: bool = False) -> Asking:
    """A job that returns a Summary. No items, no call. parent: a node above others may have a few bullets however short
    theirs are, or nothing would tell what lies below."""
    least = min(LEAST_OF_PARENT, (len(items) + 1) // 2) if parent else 1
    replaced: set[str] = set()
    while True:
        calls = [_Call(chunk, fit, title, language, least) for chunk in _chunks(items, fit)]
        yield from _together(calls)
        found = _distinct(bullet for call in calls for bullet in call.bullets)
        replaced |= {bullet.text for bullet in found if bullet.fallback}
        if len(calls) <= 1:
            break
        if len(found) >= len(items):  # nothing was condensed: take bullets at even distances
            found = found[:: -(-len(found) * 2 // len(items))]
        items = bullet_items((bullet.text, bullet.line_start, bullet.line_end) for bullet in found)
    bullets = [replace(bullet, fallback=True) if bullet.text in replaced else bullet for bullet in found]
    return Summary(bullets, next((call.title for call in calls if call.title), None))


def extract(items: Sequence[Item], fit: Fit, reason: str) -> Summary:
    """What is left when the model fails altogether: lines at even distances, verbatim, and marked."""
    count = min(fit.bullets, len(items))
    chosen = [items[at * len(items) // count] for at in range(count)]
    return Summary(_distinct(_verbatim(item, fit.bullet_chars) for item in chosen), None, reason)


class _Call:
    """One call and what became of it: rejected replies are run again, unsupported bullets sent back once."""

    def __init__(self, items: Sequence[Item], fit: Fit, title: str, language: str, least: int) -> None:
        self._items = items
        self._fit = fit
        self._most = fit.bullets_of(sum(len(item.text) for item in items), least)
        self._heading = title
        self._language = language
        self._rejected: tuple[str, ...] = ()
        self._sent_back = False
        self.done = False
        self.bullets: list[Bullet] = []
        self.title: str | None = None

    def task(self) -> Task[Any]:
        return Summarise(
            self._items,
            self._most,
            self._fit.bullet_chars,
            self._heading,
            self._language,
            self._rejected,
        )

    def take(self, answer: Answer) -> None:
        if answer.error is not None:
            raise answer.error
        if answer.rejected is not None:
            self._rejected += (answer.rejected,)
            if len(self._rejected) > MOST_REJECTIONS + self._sent_back:
                raise TqError("TQ104", "the model replied off the list too often", answer.rejected)
            return
        reply: SummariseReply = cast(SummariseReply, answer.reply)
        checked = [(bullet, *self._check(bullet)) for bullet in reply.bullets]
        reasons = tuple(
            f"bullet {number} says what its items do not say as written: {', '.join(absent)}"
            for number, (_, _, absent) in enumerate(checked, 1)
            if absent
        )
        if reasons and not self._sent_back:
            self._sent_back = True
            self._rejected += reasons
            return
        self.bullets = _distinct(
            self._bullet(bullet, items, bool(absent)) for bullet, items, absent in checked
        )
        self.title = self._title(reply.title)
        self.done = True

    def _check(self, bullet: BulletReply) -> tuple[list[Item], list[str]]:
        items = [item for item in self._items if bullet.first <= item.number <= bullet.last]
        if any(bullet.text in item.text for item in items):
            return items, []
        return items, missing_facts(bullet.text, [item.text for item in items])

    def _bullet(self, bullet: BulletReply, items: Sequence[Item], unsupported: bool) -> Bullet:
        if not unsupported:
            return Bullet(
                bullet.text, min(item.line_start for item in items), max(item.line_end for item in items)
            )
        words = set(bullet.text.casefold().split())
        nearest = max(items, key=lambda item: len(words & set(item.text[:2000].casefold().split())))
        return _verbatim(nearest, self._fit.bullet_chars)

    def _title(self, title: str | None) -> str | None:
        title = " ".join((title or "").split())[:MAX_TITLE]
        if not title or any(title in item.text for item in self._items):
            return title or None
        return None if missing_facts(title, [item.text for item in self._items]) else title


def _together(calls: Sequence[_Call]) -> Asking:
    while waiting := [call for call in calls if not call.done]:
        answers = yield [call.task() for call in waiting]
        for call, answer in zip(waiting, answers, strict=True):
            call.take(answer)


def _chunks(items: Sequence[Item], fit: Fit) -> list[Sequence[Item]]:
    """Runs of items that each fit one call."""
    room = 3 * fit.window_chars
    chunks: list[Sequence[Item]] = []
    start = filled = 0
    for at, item in enumerate(items):
        size = cost(len(item.text), False)
        if filled and filled + size > room:
            chunks.append(items[start:at])
            start, filled = at, 0
        filled += size
    if filled:
        chunks.append(items[start:])
    return chunks


def _verbatim(item: Item, chars: int) -> Bullet:
    spans = sentences(item.text, chars)
    start, end = spans[0] if spans else (0, min(len(item.text), chars))
    return Bullet(item.text[start:end], item.line_start, item.line_end, fallback=True)


def _distinct(bullets: Iterable[Bullet]) -> list[Bullet]:
    seen: set[str] = set()
    found: list[Bullet] = []
    for bullet in bullets:
        if bullet.text not in seen:
            seen.add(bullet.text)
            found.append(bullet)
    return found
