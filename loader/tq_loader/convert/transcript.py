"""Plain text that is a conversation written down: who says each line, and at which second.

Only places are added. The lines stay the file's own, with their numbers and every character; a file that is taken for a
transcript by mistake loses nothing. Recognised by the whole of its beginning, never by one line: turns that come back to
the same few names, that make up most of the text, and whose times, where it has them, do not run backwards.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import Any, Final

SAMPLE_LINES: Final = 2000
_LOOKED_AT: Final = 160  # characters of a line: a name and a time stand at its start
_HEAD_LINES: Final = 25  # title, date and list of those present, before the first turn

_CLOCK = r"\d{1,3}:\d{2}(?::\d{2})?(?:[.,]\d{1,3})?(?:\s?[APap]\.?[Mm]\.?)?"
_STAMP = rf"(?P<open>[\[(<])?\s*(?P<time>{_CLOCK}(?:\s*(?:-->|[-–—])\s*{_CLOCK})?)\s*[\])>]?"
_NAME = r"(?P<name>[^\W_][^:：\[\]<>\t|]{0,48}?)"
_GAP = r"\s*[-–—|]?\s*"
# The forms in which a turn begins; what follows the last group is what is said.
_TIMED: Final = (
    # [00:01:02] Anna: …    00:01:02 - Anna: …    14:03:22 From Anna to everyone: …
    re.compile(rf"\s*{_STAMP}{_GAP}(?:From\s+)?{_NAME}(?:\s+to\s+[^:]{{1,40}}?)?\s*[:：](?:\s|$)"),
    # Anna (00:01:02): …    Anna 00:01:02: …    and, the words below it, Anna Schmidt  0:12    [Anna Schmidt] 10:02:33
    re.compile(rf"\s*\[?{_NAME}\]?{_GAP}(?<=[\W_]){_STAMP}\s*(?:[:：](?:\s|$)|$)"),
    # [00:01:02] Anna, the words below it
    re.compile(rf"\s*(?=[\[(<]){_STAMP}{_GAP}{_NAME}\s*$"),
)
_SPOKEN: Final = re.compile(rf"\s*{_NAME}\s?[:：](?:\s+|$|(?<=：))")
_ALONE: Final = re.compile(rf"\s*{_STAMP}\s*$")

_WORD = re.compile(r"[\w.'’&/-]+$")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_SMALL: Final = _words(
    "al am an and bin d da de del den der des di du el et la le of ten the to und van von y zu"
)
# What stands before a colon at the start of a line without being a person who speaks: labels of notes, of logs, of
# letters and of forms, in lower case.
_LABELS: Final = _words(
    "abstract action actions added address agenda answer attendees author beispiel bug cause caution cc changed changes "
    "city comment company contact copyright country critical danger date debug definition department deprecated "
    "description detail details due duration e-mail email end error example examples fatal fax figure files fix fixed "
    "format from hint hinweis http https id important info input item items key keywords label language license location "
    "message mobile name no note notes notice number observation output owner page phone place present price priority "
    "problem product ps quantity re reason ref reference references related removed result results room section security "
    "see severe size solution source start state status step subject summary tags tel telephone term time tip title to "
    "todo topic total trace type url value verbose version warn warning website where"
)
_FINAL: Final = (".", "?", "!", "…", "-", "–", "—", '"', "”", "’", ")", "]", "}", "。", "？", "！", "」")


@dataclass(slots=True, frozen=True)
class Turn:
    """How a turn begins: who speaks, the seconds at which, where the line says them, and where the words begin."""

    speaker: str
    start: float | None
    end: float | None
    bracketed: bool
    said: str  # on the same line, as far as it was looked at


class Transcript:
    """Places for the lines of a transcript, asked for in their order."""

    def __init__(self, timed: bool, names: frozenset[str]) -> None:
        self._timed = timed
        self._names = names
        self._place: dict[str, Any] = {}

    def place(self, line: str) -> dict[str, Any] | None:
        """The locator of the next line: speaker, start and end in seconds, as far as the file says them."""
        if not line.strip():
            return None
        turn = turn_of(line, self._timed)
        if turn is not None and turn.speaker in self._names:
            before = self._place
            self._place = {}
            if turn.start is not None:
                self._place["start"] = turn.start
                if turn.end is not None:
                    self._place["end"] = turn.end
            elif not self._timed and "speaker" not in before:
                self._place |= before  # a time that stood alone on the line above
            self._place["speaker"] = turn.speaker
        elif (alone := _ALONE.match(line[:_LOOKED_AT])) is not None:
            start, end = _span(alone["time"])
            self._place = {"start": start} if end is None else {"start": start, "end": end}
        return dict(self._place) or None


def recognise(lines: Callable[[], Iterable[str]]) -> Transcript | None:
    """What gives the lines their places, or None where they are no transcript. ``lines`` begins anew each time."""
    sample = list(islice((line[:_LOOKED_AT] for line in lines()), SAMPLE_LINES))
    for timed in (True, False):
        if _is_transcript(sample, timed):
            # The names of the whole file: one who comes later speaks, too; a label within a turn does not.
            counts = Counter(turn.speaker for line in lines() if (turn := turn_of(line, timed)) is not None)
            most = sum(counts.values()) >= 0.9 * sum(1 for line in sample if line.strip())
            names = frozenset(name for name, n in counts.items() if timed or most or n > 1)
            return Transcript(timed, names)
    return None


def turn_of(line: str, timed: bool) -> Turn | None:
    """The turn that begins with this line, if one does."""
    head = line[:_LOOKED_AT]
    if timed:
        if ":" not in head:
            return None
        for form in _TIMED:
            match = form.match(head)
            if match is not None and (name := _name(match["name"])) is not None:
                start, end = _span(match["time"])
                return Turn(name, start, end, match["open"] is not None, head[match.end() :].strip())
        return None
    match = _SPOKEN.match(head)
    if match is None or (name := _name(match["name"])) is None:
        return None
    return Turn(name, None, None, False, head[match.end() :].strip())


def _name(text: str) -> str | None:
    """A person's name or part, as it stands before a colon or a time; None for what cannot be one."""
    name = text.strip(" \t-–—|,*")
    inner = re.sub(r"\s*\([^()]*\)$", "", name)  # Anna (Guest)
    words = inner.replace(",", " ").split()
    if not 1 <= len(words) <= 6 or inner.casefold() in _LABELS:
        return None
    for n, word in enumerate(words):
        if not _WORD.match(word):
            return None
        if word[0].islower() and (n == 0 or word.casefold() not in _SMALL):
            return None
    return name if any(c.isalpha() for c in inner) else None


def _is_transcript(sample: list[str], timed: bool) -> bool:
    rows: list[
        tuple[Turn | None, bool]
    ] = []  # of the lines with text; and whether a blank line stands before
    gap = True
    for line in sample:
        if line.strip() and not _ALONE.match(line):
            rows.append((turn_of(line, timed), gap))
        gap = not line.strip()
    head = next((n for n, (turn, _) in enumerate(rows) if turn is not None), len(rows))
    rows = rows[head:]
    turns = [turn for turn, _ in rows if turn is not None]
    if len(turns) < 2 or head > min(_HEAD_LINES, 3 + len(rows)):
        return False
    below = paragraphs = 0  # turns whose words stand below the name; paragraphs that no turn begins
    for (before, _), (turn, gap) in pairwise(rows):
        if turn is None:
            named = before is not None and not before.said
            below += named
            paragraphs += gap and not named
    if len(turns) < 1.5 * paragraphs or len(turns) < 0.15 * len(rows):
        return False
    speakers = Counter(turn.speaker for turn in turns)
    if timed:
        times = [turn.start for turn in turns if turn.start is not None]
        back = sum(after < before for before, after in pairwise(times))
        certain = below + sum(turn.bracketed and bool(turn.said) for turn in turns) >= 0.8 * len(turns)
        few = len(speakers) <= max(4, len(turns) // 2) if certain else 2 * len(speakers) <= len(turns)
        return few and back <= 0.05 * len(times)
    again = [n for n in speakers.values() if n > 1]
    # A line that was cut off is long, and talk; the values of a list are short and end without a full stop.
    talk = below + sum(len(turn.said) > 60 or turn.said.endswith(_FINAL) for turn in turns)
    return (
        len(turns) >= 4
        and len(again) >= 2
        and sum(again) >= 0.6 * len(turns)
        and talk >= 0.6 * len(turns)
        and not _is_form([turn.speaker for turn in turns if speakers[turn.speaker] > 1])
    )


def _is_form(names: list[str]) -> bool:
    """Whether three or more labels come round and round in one order: the fields of records."""
    distinct = len(set(names))
    return distinct > 2 and len(names) >= 3 * distinct and len(set(pairwise(names))) <= distinct


def _span(text: str) -> tuple[float, float | None]:
    found = re.findall(_CLOCK, text)
    return _seconds(found[0]), _seconds(found[1]) if len(found) > 1 else None


def _seconds(clock: str) -> float:
    """Seconds of h:mm:ss or m:ss; with am or pm, and no seconds, of h:mm."""
    half = re.search(r"[APap]", clock)
    fields = [float(field.replace(",", ".")) for field in re.findall(r"\d+(?:[.,]\d+)?", clock)]
    if half is not None and len(fields) == 2:
        fields.append(0)
    total = 0.0
    for field in fields:
        total = 60 * total + field
    if half is not None:
        total = total % 43200 + (43200 if half[0] in "pP" else 0)
    return round(total, 3)
