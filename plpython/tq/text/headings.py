"""What a plain line is: heading, speaker turn, table row. Heuristics over one line and its neighbours."""

from __future__ import annotations

import re

_MARKDOWN = re.compile(r"^ {0,3}(#{1,6})\s+\S")
_NUMBERED = re.compile(r"^\s{0,8}(?:§\s*)?(\d{1,3}(?:\.\d{1,3}){0,5})(\.?|\))\s+(\S.*)$")
_PART = re.compile(
    r"^\s*(?:(PART|BOOK|TITLE|VOLUME|TEIL|PARTIE|ANNEX|ANLAGE|APPENDIX|SCHEDULE|EXHIBIT|ATTACHMENT)|"
    r"(CHAPTER|ARTICLE|KAPITEL|ARTIKEL|CHAPITRE|SECTION|ABSCHNITT))\s+(?:[IVXLCDM]{1,7}|[A-Z]|\d{1,3}(?:\.\d{1,3})*)"
    r"\b[.:)\s–—-]*(.*)$",
    re.IGNORECASE,
)
_ROMAN = re.compile(r"^\s*([IVX]{1,6})\.\s+([A-Z]\S*.*)$")
_CHINESE = re.compile(r"^\s*第[一二三四五六七八九十百零〇\d]{1,6}([编章节条])")
_UNDERLINE = re.compile(r"^\s*(={3,}|-{3,}|~{3,}|\*{3,})\s*$")
_SPEAKER = re.compile(
    r"^\s*(?:\[?\(?\d{1,2}:\d{2}(?::\d{2})?(?:[.,]\d+)?\)?\]?\s*)?"
    r"((?:[^\W\d_][\w.'’()-]*)(?:[ ][\w.'’()&-]+){0,5})\s?:\s+\S"
)
_WIDE_GAP = re.compile(r"\S(?: {3,}|\t)\S")
_NO_SPEAKER = frozenset(
    [
        "note",
        "notes",
        "example",
        "source",
        "warning",
        "hint",
        "e.g",
        "http",
        "https",
        "see",
        "where",
        "hinweis",
        "beispiel",
    ]
)
_FINAL = ".!?。！？؟।;,:；，"
MAX_HEADING = 90
"""Longest line taken for a heading by its looks, in characters."""


def heading_level(line: str, previous: str | None = None, following: str | None = None) -> int | None:
    """Level (1 highest, 6 lowest) of a line that reads as a heading, else None.

    ``previous`` and ``following`` are the neighbouring lines, None at the document's ends.
    """
    stripped = line.strip()
    if not stripped or len(stripped) > 200 or stripped[0] in "|<>{":
        return None
    if match := _MARKDOWN.match(line):
        return len(match[1])
    if len(stripped) > MAX_HEADING:
        return None
    if following is not None and (match := _UNDERLINE.match(following)) and not _UNDERLINE.match(line):
        alone = previous is None or not previous.strip()
        if alone and abs(len(following.strip()) - len(stripped)) <= max(10, len(stripped)):
            return 1 if match[1][0] in "=*" else 2
    words = stripped.split()
    if match := _CHINESE.match(stripped):
        return {"编": 1, "章": 1, "节": 2, "条": 3}[match[1]] if len(stripped) <= 30 else None
    if match := _PART.match(stripped):
        tail = match[3].strip()
        if (
            (not tail or tail[0].isupper() or tail[0] in '"“(')
            and tail[-1:] not in (",", ";")
            and len(words) <= 12
        ):
            if tail[-1:] == "." and len(words) > 8:
                return None
            return 1 if match[1] else 2
    if match := _NUMBERED.match(stripped):
        tail = match[3]
        title = tail[0].isupper() and tail[-1] not in _FINAL and len(tail.split()) <= 10
        # "12 March 2024" and "5 Patients came" are no headings: a bare number needs its dot, or several levels.
        if title and ("." in match[1] or match[2]):
            return min(6, 2 + match[1].count("."))
        return None
    if (match := _ROMAN.match(stripped)) and match[2][-1] not in _FINAL and len(words) <= 12:
        return 2
    letters = [c for c in stripped if c.isalpha()]
    if len(letters) >= 4 and len(words) <= 12 and stripped[-1] not in ",;":
        cased = sum(1 for c in letters if c.isupper() or c.islower())
        upper = sum(1 for c in letters if c.isupper())
        digits = sum(1 for c in stripped if c.isdigit())
        if cased == len(letters) and upper == len(letters) and digits <= len(letters) // 2:
            return 2
    alone = (previous is None or not previous.strip()) and (following is not None)
    if (
        alone
        and previous is not None
        and not (following or "").strip()
        and 1 <= len(words) <= 9
        and len(stripped) <= 70
        and stripped[-1] not in _FINAL
        and stripped[0].isupper()
        and len(letters) >= 3
        and not _SPEAKER.match(stripped)
        and sum(c.isdigit() for c in stripped) <= len(letters)
        and not _WIDE_GAP.search(stripped)
    ):
        return 3
    return None


def speaker(line: str) -> str | None:
    """The speaker's name where a line is one turn of a conversation ("Project Manager: Yes."), else None."""
    match = _SPEAKER.match(line[:200])
    if match is None:
        return None
    name = match[1]
    if len(name) > 50 or name.casefold() in _NO_SPEAKER or not (name[0].isupper() or not name[0].isascii()):
        return None
    if sum(1 for word in name.split() if word[0].isupper() or not word[0].isalpha()) * 2 < len(name.split()):
        return None
    return name


def is_table_row(line: str) -> bool:
    """Whether a line looks like the row of a table: bars, tabs, or three columns held apart by wide gaps."""
    stripped = line.strip()
    if not stripped:
        return False
    if stripped[0] == "|":
        return stripped.count("|") >= 2
    if stripped.count("\t") >= 2 or stripped.count(" | ") >= 2:
        return True
    if len(stripped) > 400:
        return False
    return len(_WIDE_GAP.findall(stripped)) >= 2


def is_blank(line: str) -> bool:
    """Whether a line holds nothing a reader would see, rules of dashes or stars included."""
    stripped = line.strip()
    return not stripped or _UNDERLINE.match(stripped) is not None
