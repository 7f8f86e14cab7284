"""Words and index terms of a text, in any script.

The line index and the question go through the same :func:`terms`, so whatever it folds away (case, accents of
vocalised scripts, grouping commas, inflection) cannot keep a question from its line. No term is longer than
``MAX_TERM`` characters, whatever the text holds.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

import Stemmer

from tq.text.stopwords import STOP_WORDS, word_set

MAX_TERM = 64
"""Longest word read as one, in characters; a longer run of letters is read in pieces of this length."""

_CACHE_LIMIT = 40_000
"""Words remembered a language; the cache is emptied when full, so a session's memory stays bounded."""

# Letters and digits, and the combining marks that \w leaves out: vowel signs would cut a Hindi word in pieces.
_MARKS = (
    "\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf\u05c1\u05c2\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06dc"
    "\u06df-\u06e8\u0900-\u0903\u093a-\u094f\u0951-\u0957\u0962\u0963\u0980-\u0dff\u0e31\u0e34-\u0e3a"
    "\u0e47-\u0e4e\u0eb1\u0eb4-\u0ebc\u0ec8-\u0ecd\u102b-\u103e\u1056-\u1059\u17b4-\u17d3\u200c\u200d\u0640"
)
_LETTER = rf"(?:[^\W_]|[{_MARKS}])"
# Scripts written without spaces (and Hangul, whose words carry their particles): read as character bigrams.
_DENSE = (
    "\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3005\u3040-\u30ff\u3130-\u318f\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003134f"
)
_ASCII_WORD = re.compile(r"[A-Za-z0-9]{1,64}(?:['.,\-_](?=[A-Za-z0-9])[A-Za-z0-9]{1,64}){0,7}")
_WORD = re.compile(
    rf"[{_DENSE}]{{1,64}}|"
    rf"(?:(?![{_DENSE}]){_LETTER}){{1,64}}"
    rf"(?:['’.,\-\u2010\u2011_·](?:(?![{_DENSE}]){_LETTER}){{1,64}}){{0,7}}"
)
_DENSE_RUN = re.compile(rf"[{_DENSE}]+")
_FOLD = dict.fromkeys(
    [
        *(*range(0x0591, 0x05BE), 0x05BF, 0x05C1, 0x05C2),  # Hebrew points
        *(*range(0x0610, 0x061B), *range(0x064B, 0x0660), 0x0670, 0x0640),  # Arabic vowel marks, tatweel
        *(0x200C, 0x200D, 0x00AD),  # joiners, soft hyphen
    ]
) | {
    ord("’"): "'",
    ord("ʼ"): "'",
    0x2010: "-",
    0x2011: "-",
    # Arabic letters that are typed in more than one way (Persian kaf and yeh, alef with hamza).
    ord("ك"): "ک",
    ord("ي"): "ی",
    ord("ى"): "ی",
    ord("أ"): "ا",
    ord("إ"): "ا",
    ord("آ"): "ا",
    ord("ё"): "е",
}
_ARABIC_BACK = {ord("ک"): "ك", ord("ی"): "ي"}

_GROUPED = re.compile(r"\d{1,3}(?:,\d{2,3})*,\d{3}(?:\.\d+)?")
_GROUPED_DOT = re.compile(r"\d{1,3}(?:\.\d{3})+(?:,\d+)?")
_COMMA_DECIMAL = re.compile(r"\d+,\d+")
_PLAIN_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_NUMBER_UNIT = re.compile(r"(\d[\d.,]*)([^\W\d_]{1,3})")
_LETTER_DOTS = re.compile(r"[^\W\d_](?:[._][^\W\d_])+")
_SPLIT = re.compile(r"[-_]+")

_DOT_GROUPS = word_set(
    "german dutch danish norwegian swedish finnish italian spanish portuguese catalan turkish indonesian "
    "romanian greek basque french russian hungarian"
)
_ELISION = {
    "french": re.compile(r"(?:[cdjlmnst]|qu|jusqu|lorsqu|puisqu)'(?=.)"),
    "italian": re.compile(r"(?:[cdlmnstv]|un|all|dall|dell|nell|sull|quell)'(?=.)"),
    "catalan": re.compile(r"(?:[dlmnst])'(?=.)"),
}

_stemmers: dict[str, Stemmer.Stemmer | None] = {}
_Analysed = tuple[tuple[str, ...], bool]
_caches: dict[str, dict[str, _Analysed]] = {}
_ALGORITHMS = frozenset(Stemmer.algorithms())


def _stemmer(language: str) -> Stemmer.Stemmer | None:
    """The snowball stemmer of a language, or None where there is none; made once."""
    if language not in _stemmers:
        # Its own cache is off: ours holds the finished terms already.
        _stemmers[language] = Stemmer.Stemmer(language, 0) if language in _ALGORITHMS else None
    return _stemmers[language]


def normal_number(word: str, language: str = "none") -> str | None:
    """``word`` as a plain decimal ("1,250.50" → "1250.50"), or None if it is not a number.

    In languages that group digits with dots, "1.250" is read as 1250 and "2,5" as 2.5.
    """
    if not word[:1].isdigit():
        return None
    if language in _DOT_GROUPS:
        if _GROUPED_DOT.fullmatch(word):
            return word.replace(".", "").replace(",", ".")
        if _COMMA_DECIMAL.fullmatch(word):
            return word.replace(",", ".")
    if _GROUPED.fullmatch(word):
        return word.replace(",", "")
    if _PLAIN_NUMBER.fullmatch(word):
        return word
    if _GROUPED_DOT.fullmatch(word):
        return word.replace(".", "").replace(",", ".")
    if _COMMA_DECIMAL.fullmatch(word):
        return word.replace(",", ".")
    return None


def _stem(word: str, language: str, stemmer: Stemmer.Stemmer | None) -> str:
    if stemmer is None or (word.isascii() and any(c.isdigit() for c in word)):
        return word
    if language == "arabic":
        return str(stemmer.stemWord(word.translate(_ARABIC_BACK))).translate(_FOLD) or word
    return str(stemmer.stemWord(word)) or word


def _analyse(raw: str, language: str) -> _Analysed:
    """The terms of one raw word, and whether it is a stop word."""
    word = raw.casefold() if raw.isascii() else unicodedata.normalize("NFKC", raw).casefold()
    if not word.isascii():
        word = unicodedata.normalize("NFC", word).translate(_FOLD)
    word = word.strip("'.,-_·")
    if not word:
        return (), False
    if _DENSE_RUN.match(word):
        grams: list[str] = []
        for run in _DENSE_RUN.findall(word):
            grams += [run[i : i + 2] for i in range(max(1, len(run) - 1))]
        return tuple(grams), False
    number = normal_number(word, language)
    if number is not None:
        return (number[:MAX_TERM],), False
    elision = _ELISION.get(language)
    if elision is not None:
        word = elision.sub("", word, count=1) or word
    if _LETTER_DOTS.fullmatch(word):
        word = re.sub(r"[._]", "", word)
    stops = STOP_WORDS.get(language, frozenset())
    stemmer = _stemmer(language)
    if word in stops:
        return (_stem(word, language, stemmer)[:MAX_TERM],), True
    out = [_stem(word, language, stemmer)[:MAX_TERM]]
    parts = [part for part in _SPLIT.split(word) if part]
    if len(parts) > 1 or "." in word:
        for part in parts:
            # "EX-10.1": the number behind the dash is looked for as a number; "example.org" by its parts.
            number = normal_number(part, language)
            pieces = [number] if number is not None else part.replace(",", ".").split(".")
            for piece in pieces:
                if (len(piece) > 1 and piece not in stops) or piece.isdigit():
                    out.append(_stem(piece, language, stemmer)[:MAX_TERM])
    else:
        united = _NUMBER_UNIT.fullmatch(word)
        if united is not None and (normal := normal_number(united[1].rstrip(".,"), language)) is not None:
            out.append(normal)
    return tuple(dict.fromkeys(out)), False


def _lookup(raw: str, language: str, cache: dict[str, _Analysed]) -> _Analysed:
    found = cache.get(raw)
    if found is None:
        found = _analyse(raw, language)
        if len(cache) >= _CACHE_LIMIT:
            cache.clear()
        cache[raw] = found
    return found


def words(text: str) -> Iterator[tuple[str, int, int]]:
    """Each word as it is written with its offsets: ``text[start:end] == word``."""
    for match in (_ASCII_WORD if text.isascii() else _WORD).finditer(text):
        yield match[0], match.start(), match.end()


def terms(text: str, language: str = "none") -> list[str]:
    """The index terms of ``text``, in order, with repeats.

    Folded, stemmed, without stop words unless there is nothing else. Never raises for a str.
    """
    cache = _caches.setdefault(language, {})
    out: list[str] = []
    stopped: list[str] = []
    for raw in (_ASCII_WORD if text.isascii() else _WORD).findall(text):
        found = cache.get(raw)
        if found is None:
            found = _lookup(raw, language, cache)
        if found[1]:
            if not out:
                stopped += found[0]
        else:
            out += found[0]
    return out or stopped


def asked_terms(question: str, language: str) -> list[str]:
    """The terms of a question that is put to a text of a language. A table of names and figures has none: the question's
    own function words are dropped then, which no row of it could hold."""
    found = terms(question, language)
    if language != "none":
        return found
    stops = STOP_WORDS.get(detect_language(question), frozenset())
    return [term for term in found if term not in stops] or found


def term_spans(text: str, language: str = "none") -> list[tuple[str, int, int]]:
    """Like :func:`terms`, each with the offsets of the word it came from; stop words never."""
    cache = _caches.setdefault(language, {})
    out: list[tuple[str, int, int]] = []
    for raw, start, end in words(text):
        found, stop = _lookup(raw, language, cache)
        if not stop:
            out += [(term, start, end) for term in found]
    return out


# Scripts that settle the language, or the absence of a stemmer, by themselves.
_SCRIPTS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("latin", re.compile("[A-Za-z\u00c0-\u024f\u1e00-\u1eff]")),
    ("cyrillic", re.compile("[\u0400-\u04ff]")),
    ("arabic", re.compile("[\u0600-\u06ff\u0750-\u077f]")),
    ("devanagari", re.compile("[\u0900-\u097f]")),
    ("greek", re.compile("[\u0370-\u03ff\u1f00-\u1fff]")),
    ("armenian", re.compile("[\u0530-\u058f]")),
    ("tamil", re.compile("[\u0b80-\u0bff]")),
    ("hebrew", re.compile("[\u0590-\u05ff]")),
    ("dense", re.compile(f"[{_DENSE}]")),
)
_BY_SCRIPT = {
    "latin": [
        "english",
        "german",
        "french",
        "spanish",
        "portuguese",
        "italian",
        "dutch",
        "danish",
        "norwegian",
        "swedish",
        "finnish",
        "hungarian",
        "turkish",
        "romanian",
        "catalan",
        "basque",
        "indonesian",
        "irish",
        "lithuanian",
        "polish",
        "czech",
        "estonian",
    ],
    "cyrillic": ["russian", "serbian"],
    "arabic": ["arabic", "persian"],
    "devanagari": ["hindi", "nepali"],
    "greek": ["greek"],
    "armenian": ["armenian"],
    "tamil": ["tamil"],
    "hebrew": ["yiddish"],
}
_SAMPLE = 40_000


def detect_language(text: str) -> str:
    """The snowball name of the text's language ("english", "german", …), or "none".

    By script first, then by the share of words that are a language's stop words, each weighted by how few
    languages share it. Reads at most 40,000 characters, from the start, the middle and the end.
    """
    if len(text) > _SAMPLE:
        third = _SAMPLE // 3
        middle = len(text) // 2
        text = " ".join((text[:third], text[middle : middle + third], text[-third:]))
    counts = {name: len(pattern.findall(text)) for name, pattern in _SCRIPTS}
    script = max(counts, key=lambda name: counts[name])
    if counts[script] == 0 or script not in _BY_SCRIPT:
        return "none"
    sample = [raw.casefold().replace("’", "'") for raw, _, _ in words(text)]
    total = sum(1 for word in sample if word[:1].isalpha())
    if not total:
        return "none"
    names = [name for name in _BY_SCRIPT[script] if name in _ALGORITHMS]
    scores = dict.fromkeys(names, 0.0)
    for word in sample:
        if script == "arabic":
            word = word.translate(_FOLD)
        holders = [name for name in names if word in STOP_WORDS.get(name, frozenset())]
        for name in holders:
            scores[name] += 1.0 / len(holders) ** 0.5
    ranked = sorted(names, key=lambda name: -scores[name])
    if not ranked:
        return "none"
    best = ranked[0]
    # One short question holds few function words; running text holds a quarter and more.
    if scores[best] / total < (0.12 if total >= 20 else 0.1):
        return "none"
    if len(ranked) > 1 and scores[ranked[1]] > 0.93 * scores[best] and total >= 20:
        return "none"
    return best
