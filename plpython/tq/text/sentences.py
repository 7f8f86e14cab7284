"""Sentence spans of one line, and cuts of a line that is too long. Every function is linear in the text."""

from __future__ import annotations

import re

from tq.text.stopwords import word_set

MAX_SENTENCE = 2_000
"""Longest span given as one sentence, in characters; a longer one is cut at a clause or word end."""

_ABBREVIATIONS = word_set(
    "mr mrs ms dr prof rev hon st sr jr gen col sgt capt lt cmdr adm gov sen rep pres supt insp messrs mt ft "
    "fig figs eq eqs sec secs ch chap vol vols ed eds pp p para paras art arts cl no nos nr tab app ex exh "
    "ref refs al cf vs v viz ca approx dept univ assn bros inc ltd co corp llc plc est max min avg tel ext "
    "jan feb mar apr jun jul aug sep sept oct nov dec mon tue tues wed thu thur thurs fri sat sun e.g i.e eg "
    "ie a.k.a a.m p.m u.s u.k u.n e.u d.c ph.d m.d b.a m.a bzw z.b d.h u.a z.t s.o s.u o.ä vgl evtl ggf inkl "
    "zzgl usw abs str tz hr fr mind mio mrd ca p.ex env av mme mlle sra ud uds pág núm"
)
# These end a sentence as often as they stand inside one: the next word decides.
_EITHER = word_set("inc ltd co corp llc plc usw etc a.m p.m u.s u.k u.n e.u d.c ph.d m.d b.a m.a jr sr al")
_STARTERS = word_set(
    "The A An It Its This That These Those He She They We You I In On At For From As If When While Where "
    "However Although But And Or So Then There Their His Her Our My Such All Any Each No Not Both After "
    "Before During Under By With To Der Die Das Ein Eine Es Sie Er Wir Im In Le La Les Il Elle El Los Las"
)
_END = re.compile(
    r"(?:[.!?…؟۔]+|\u203d)[\"'”’»)\]\u200f]*(?=\s|$)|[。！？｡．]+[”’」』）)\]》]*|"
    r"[।॥]+[\"'”’)]*|[.!?](?=[\"'”’]*[A-Z][a-z]+ )"
)
_WORD_BEFORE = re.compile(r"[\w.’'-]*$")
_CLOSING = "\"'”’»)]\u200f"
_CLAUSE = re.compile(r"[;:]\s|[,，；：、]\s?|\s[–—-]\s")
_SPACE = re.compile(r"\s")


def _ends(text: str, match: re.Match[str]) -> bool:
    """Whether the mark found ends a sentence, judged from the words around it."""
    mark = match[0].rstrip(_CLOSING)
    if mark != ".":
        # "Really?" she said: a lower-case word goes on with the sentence.
        follower = text[match.end() : match.end() + 8].lstrip()
        return not (follower[:1].islower() and len(match[0]) > len(mark))
    start = match.start()
    before = _WORD_BEFORE.search(text, max(0, start - 24), start)
    word = before[0].lstrip("'’-.") if before else ""
    following = text[match.end() : match.end() + 32].lstrip()
    if following[:1].islower():
        # Lower case after the mark: an abbreviation, unless the text is one without capitals at all.
        return (
            not (word.isalpha() and len(word) <= 5)
            and "." not in word
            and len(match[0]) == 1
            and len(word) > 5
        )
    if len(word) == 1 and word.isalpha() and (word.isupper() or re.match(r"[A-Z]\.", following)):
        return False  # an initial, or the first half of an abbreviation: J. Smith, z. B.
    lower = word.casefold()
    next_word = re.match(r"[^\W_]+", following)
    if lower in _EITHER or re.fullmatch(r"(?:[^\W\d_]\.)+[^\W\d_]", word):
        return not following or (next_word is not None and next_word[0] in _STARTERS)
    if lower in ("no", "nos", "nr"):
        return not following[:1].isdigit()
    if lower in (
        "p",
        "pp",
        "sec",
        "ch",
        "fig",
        "art",
        "ex",
        "vol",
        "ref",
        "app",
        "ed",
        "max",
        "min",
        "mar",
        "sat",
        "sun",
    ):
        return not (following[:1].isdigit() or lower not in ("art", "mar", "sat", "sun", "max", "min", "app"))
    if lower in _ABBREVIATIONS:
        return not following
    # "12. März" and "1. Title" at the start of a line: an ordinal, not an end.
    if word.isdigit() and len(word) <= 3:
        if start - len(word) == 0 or not text[: start - len(word)].strip():
            return False
        months = (
            "Januar Februar März April Mai Juni Juli August September Oktober November Dezember Jahrhundert"
        )
        return not (next_word is not None and next_word[0] in months.split())
    return True


def _cut(text: str, start: int, end: int, limit: int) -> int:
    """Best place in ``text[start:end]`` to cut after at most ``limit`` characters: clause, word, else anywhere."""
    stop = start + limit
    if stop >= end:
        return end
    floor = start + limit // 2
    clause = 0
    for match in _CLAUSE.finditer(text, floor, stop):
        clause = match.end()
    if clause:
        return clause
    space = 0
    for match in _SPACE.finditer(text, floor, stop):
        space = match.end()
    if space:
        return space
    for at in range(floor, start, -1):
        if text[at].isspace():
            return at + 1
    # Never between a letter and the mark that belongs to it.
    while stop > floor and ("\u0300" <= text[stop] <= "\u036f" or "\u200c" <= text[stop] <= "\u200d"):
        stop -= 1
    return stop


def sentences(text: str, max_chars: int = MAX_SENTENCE) -> list[tuple[int, int]]:
    """Spans ``(start, end)`` of the sentences of one line, without surrounding space, in order.

    A table row is one sentence. No span is longer than ``max_chars``.
    """
    marks: list[int] = []
    if not text.lstrip().startswith("|"):
        marks = [match.end() for match in _END.finditer(text) if _ends(text, match)]
    spans: list[tuple[int, int]] = []
    start = 0
    for end in [*marks, len(text)]:
        while start < end:
            cut = _cut(text, start, end, max_chars)
            left, right = start, cut
            while left < right and text[left].isspace():
                left += 1
            while right > left and text[right - 1].isspace():
                right -= 1
            if left < right:
                spans.append((left, right))
            start = cut
    return spans


def pieces(text: str, max_chars: int) -> list[tuple[int, int]]:
    """Cut ``text`` into contiguous spans of at most ``max_chars`` characters that cover it exactly.

    Cuts stand behind sentence ends where one lies in the second half of a piece, else behind clauses or words.
    """
    if max_chars < 1:
        raise ValueError(f"max_chars must be at least 1, not {max_chars}")
    spans: list[tuple[int, int]] = []
    start, size = 0, len(text)
    while size - start > max_chars:
        stop = start + max_chars
        at = 0
        for match in _END.finditer(text, start + max_chars // 2, stop):
            if match.end() < stop and _ends(text, match):
                at = match.end()
        if at:
            while at < stop and text[at].isspace():
                at += 1
        else:
            at = max(_cut(text, start, size, max_chars), start + 1)
        spans.append((start, at))
        start = at
    if start < size or not spans:
        spans.append((start, size))
    return spans
