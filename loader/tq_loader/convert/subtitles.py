"""Subtitles (WebVTT and SubRip): one line a cue, its seconds and its speaker in the locator.

Captions that roll, as video sites make them, show each phrase two or three times: it is kept once, with the
time at which it came.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from html import unescape
from itertools import pairwise
from typing import Any, Final

from tq_loader.convert.charset import decode_labelled
from tq_loader.convert.detect import Found
from tq_loader.convert.protocol import MALFORMED, ConvertError, Job, Writer, count_of

_STAMP: Final = r"(?:(\d{1,4}):)?(\d{1,2}):(\d{1,2})[.,](\d{1,3})"
TIMING = re.compile(rf"^\s*{_STAMP}\s*-+>\s*{_STAMP}(?:\s+(.*))?$")
_WORD_TIME = re.compile(r"<(?:\d{1,4}:)?\d{1,2}:\d{1,2}[.,]\d{1,3}>")
_VOICE = re.compile(r"<v(?:\.[^\s<>]*)?\s+([^<>]*)>")
_TAG = re.compile(r"</?(?:[a-zA-Z][^<>]*)?>|\{\\[^{}]*\}")
_SAID = re.compile(r"^(?:>>+\s*|-\s*)?([A-ZÀ-ÞА-Я][\w .’'&-]{0,38}?)\s*:\s+(?=\S)")
_TOUCH: Final = 0.06  # seconds between cues that follow each other at once


@dataclass(slots=True)
class Cue:
    """One cue: ``rows`` are what it shows, from the top; times in seconds."""

    name: str | None
    start: float
    end: float
    rows: list[tuple[str | None, str]]  # (speaker, text)
    rolled: bool = False  # it has times for single words


def convert(data: bytes | bytearray, job: Job, found: Found, out: Writer) -> None:
    """Write the lines of a subtitle file. Raises TQ011 where it has no cue."""
    decoded = decode_labelled(bytes(data), None)
    cues, notes, broken = parse(decoded.text)
    if not cues:
        raise ConvertError(
            MALFORMED,
            "subtitles have no text",
            "no cue with a time and a text is in the file",
            "check that the file was written completely",
        )
    out.document(found.media_type, None)
    fold_rolling(cues)
    last: str | None = None
    for cue in cues:
        for speaker, text in joined(cue.rows):
            said = speaker
            if said is None:
                match = _SAID.match(text)
                said = match.group(1).strip() if match else None
            place: dict[str, Any] = {"start": cue.start, "end": cue.end}
            if said:
                place["speaker"] = said
            if cue.name:
                place["cue"] = cue.name[:100]
            # The speaker stands in the text where the turn is taken over.
            shown = f"{speaker}: {text}" if speaker and speaker != last else text
            last = speaker
            out.line(shown, locator=place)
    if notes:
        out.omission("comment", f"{count_of(notes, 'comment')} of the file left out")
    if broken:
        out.omission("unreadable", f"{count_of(broken, 'block')} without a valid time not read")
    if decoded.replaced:
        out.omission("invalid_bytes", f"{count_of(decoded.replaced, 'undecodable place')} replaced by U+FFFD")
    if decoded.guessed:
        out.omission(
            "encoding",
            f"the file does not say its encoding; it was read as {decoded.encoding}, the likeliest one",
        )


def parse(text: str) -> tuple[list[Cue], int, int]:
    """(cues in the order of the file, comments, blocks that could not be read)."""
    rows = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    cues: list[Cue] = []
    notes = broken = 0
    i = 0
    before: list[str] = []  # lines since the last cue or blank line
    header = rows[0].lstrip("\ufeff").startswith("WEBVTT") if rows else False
    strict = header
    while i < len(rows):
        match = TIMING.match(rows[i])
        if match is None:
            if rows[i].strip():
                before.append(rows[i].strip())
            else:
                if before and not header:
                    if before[0].startswith("NOTE"):
                        notes += 1
                    elif (
                        not before[0].startswith(("STYLE", "REGION", "::cue", "##"))
                        and not before[0].isdecimal()
                    ):
                        broken += 1
                header = header and not before
                before = []
            i += 1
            continue
        name = before[-1] if before else None
        if name and (name.isdecimal() or name.startswith("WEBVTT")):
            name = None
        before = []
        header = False
        i += 1
        body: list[str] = []
        # In WebVTT a row of spaces is a blank row of a caption, and only an empty one ends it.
        while i < len(rows) and (rows[i] if strict else rows[i].strip()) and not TIMING.match(rows[i]):
            body.append(rows[i])
            i += 1
        # A cue's number belongs to the next cue where no blank line stands between them.
        if (
            body
            and i < len(rows)
            and TIMING.match(rows[i])
            and body[-1].strip().isdecimal()
            and len(body) > 1
        ):
            before = [body.pop().strip()]
        start, end = _seconds(match.groups()[:4]), _seconds(match.groups()[4:8])
        rolled = any(_WORD_TIME.search(row) for row in body)
        shown = _speak("\n".join(body))
        if shown:
            cues.append(Cue(name, start, max(start, end), shown, rolled))
    return cues, notes, broken


def _seconds(groups: tuple[str | None, ...]) -> float:
    hours, minutes, seconds, part = groups
    return round(
        int(hours or 0) * 3600
        + int(minutes or 0) * 60
        + int(seconds or 0)
        + int((part or "0").ljust(3, "0")) / 1000,
        3,
    )


def _speak(body: str) -> list[tuple[str | None, str]]:
    """(speaker, text) of each row that a cue shows, markup taken out."""
    shown: list[tuple[str | None, str]] = []
    speaker: str | None = None
    for row in body.split("\n"):
        pieces = _VOICE.split(row)
        for n, piece in enumerate(pieces):
            if n % 2:
                speaker = " ".join(unescape(piece).split()) or None
                continue
            text = " ".join(unescape(_TAG.sub("", _WORD_TIME.sub("", piece))).split())
            if text:
                shown.append((speaker, text))
            if "</v>" in piece:
                speaker = None
    return shown


def joined(rows: list[tuple[str | None, str]]) -> list[tuple[str | None, str]]:
    """Rows of one speaker as one text."""
    found: list[tuple[str | None, str]] = []
    for speaker, text in rows:
        if found and found[-1][0] == speaker and not text.startswith("- "):
            found[-1] = (speaker, f"{found[-1][1]} {text}")
        else:
            found.append((speaker, text))
    return found


def fold_rolling(cues: list[Cue]) -> int:
    """Take out the rows that a rolling caption shows again; returns how many.

    A row is a repetition where the cue before, which ends as this one begins, showed it last, and where the
    file rolls: it times single words, or cues regularly begin with the last row of the one before.
    """
    rolls = any(cue.rolled for cue in cues)
    if not rolls:
        pairs = sum(len(b.rows) > 1 and b.rows[0] == a.rows[-1] for a, b in pairwise(cues))
        rolls = len(cues) >= 6 and pairs > 0.3 * len(cues)
    if not rolls:
        return 0
    folded = 0
    before: list[tuple[str | None, str]] = []
    ended = -1.0
    for cue in cues:
        rows = list(cue.rows)
        if cue.start - ended <= _TOUCH and before:
            for n in range(min(len(before), len(rows)), 0, -1):
                if before[-n:] == rows[:n]:
                    folded += n
                    cue.rows = rows[n:]
                    break
        before, ended = rows, cue.end
    cues[:] = [cue for cue in cues if cue.rows]
    return folded
