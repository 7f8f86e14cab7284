"""What a sentence states as fact: numbers with units, dates, names, identifiers and negations, as written.

The mechanical check of a summary stands on :func:`missing_facts`: what a bullet says must stand in its lines.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from tq.text.quantities import Quantity, quantities
from tq.text.sentences import sentences
from tq.text.stopwords import word_set
from tq.text.tokens import terms, words

Kind = Literal["number", "date", "time", "name", "identifier", "negation"]


@dataclass(frozen=True, slots=True)
class Fact:
    """One fact as written: ``text[start:end]``. quantity: for numbers, dates and times."""

    kind: Kind
    text: str
    start: int
    end: int
    quantity: Quantity | None = None


_NEGATIONS = word_set(
    "not no never none nobody nothing neither nor without except unless cannot excluding lacks hardly "
    "kein keine keinen keinem keiner keines nicht nie niemals niemand nichts ohne weder außer ausgenommen "
    "ne pas jamais aucun aucune sans sauf rien ni "
    "nunca ningún ninguno ninguna sin excepto salvo nada tampoco "
    "não nenhum nenhuma sem exceto senza mai nessun nessuno nessuna eccetto "
    "niet geen nooit zonder behalve inte aldrig utan ikke aldri uten aldrig uden "
    "не нет ни никогда без кроме нельзя nie bez není لا لم لن ليس ليست غير بدون إلا нельзя "
    "नहीं न मत बिना לא אין בלי אינו אינה değil yok"
)
# Words that deny in one language and mean something else in another count only beside their own language's words.
_AMBIGUOUS = {
    "ne": ("pas", "plus", "jamais", "rien", "que"),
    "pas": ("ne", "n'", "est", "sont", "a"),
    "sin": ("de", "el", "la", "los", "que", "un", "una"),
    "mai": ("non", "di", "il", "la", "che"),
    "ni": ("ne", "no", "el", "la", "ni"),
    "nada": ("no", "de", "que", "el", "não"),
    "nie": ("der", "die", "das", "und", "ist", "się", "na", "wird", "sie", "er", "war"),
    "bez": ("se", "na", "się", "je", "w", "и"),
    "salvo": ("el", "la", "que", "il"),
    "sem": ("o", "a", "de", "que"),
    "rien": ("ne", "de", "n'"),
    "न": ("है", "में", "के", "ही"),
    "nor": ("neither", "not", "no", "the", "and", "of"),
    "no": (),
}
_DENSE_NEGATIONS = (
    *("不得", "不能", "不会", "不可", "没有", "除外", "除非", "禁止", "ない", "ません", "않", "없", "ไม่"),
    *("不", "未", "无", "没"),
)
_LETTERS = re.compile(r"[a-z]+")
_DENYING = _NEGATIONS | {"dont", "cant"}
_CONTRACTED = re.compile(r"n['’]t$", re.IGNORECASE)
_IDENTIFIER = re.compile(
    r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+|https?://[^\s<>\"')\]]+|www\.[^\s<>\"')\]]+|"
    r"(?<![\w.-])(?=[\w./-]*\d)(?=[\w./-]*[^\W\d_])[A-Za-z0-9]+(?:[-./_][A-Za-z0-9]+)+(?![\w-])|"
    r"\b(?=[A-Za-z]*\d)[A-Za-z]+\d[A-Za-z0-9]*\b"
)
_PARTICLES = word_set("of the de la del van von der den und and & for d' di da dos al bin ibn")
_NAME = re.compile(r"[^\W\d_][\w'’-]*(?:\.(?=[A-Z]))?")
_COMMON_STARTS = word_set(
    "the a an it its this that these those he she they we you i in on at for from as if when while where who "
    "what why how however although but and or so then there their his her our my such all any each every "
    "some no not both after before during under by with to of is are was were do does did can may must shall "
    "will should would yes only one two three patients please note also more most many other another new "
    "first second third der die das ein eine es sie er wir ich im in am zum zur auf bei mit nach von für und "
    "oder wenn dass le la les un une des el los las il lo gli"
)
_CLEAN_TAIL = re.compile(r"['’]s$|['’]$")


def _is_negation(lower: str, around: frozenset[str] | set[str]) -> bool:
    if _CONTRACTED.search(lower) or lower in ("cannot", "dont", "cant"):
        return True
    if lower not in _NEGATIONS:
        return False
    needed = _AMBIGUOUS.get(lower)
    return not needed or any(word in around for word in needed)


def negations(text: str) -> list[tuple[str, int, int]]:
    """Words of denial and exception with their offsets, as written. "No. 5" is not one."""
    if text.isascii():
        lower = text.lower()
        if "n't" not in lower and _DENYING.isdisjoint(_LETTERS.findall(lower)):
            return []
    found = list(words(text))
    around = {word.casefold() for word, _, _ in found}
    out: list[tuple[str, int, int]] = []
    for word, start, end in found:
        lower = word.casefold()
        if _is_negation(lower, around):
            if lower == "no" and re.match(r"\.?\s?\d", text[end : end + 3]):
                continue
            out.append((word, start, end))
        elif not word.isascii():
            place = 0
            while place < len(word):
                for mark in _DENSE_NEGATIONS:
                    if word.startswith(mark, place):
                        out.append((mark, start + place, start + place + len(mark)))
                        place += len(mark)
                        break
                else:
                    place += 1
    return out


def _nouns_are_capitalised(tokens: list[tuple[str, int, int]]) -> bool:
    """German by its looks: function words of German are there."""
    german = word_set("der die das und ist nicht ein eine mit von den dem zu für wird werden im auf bei oder")
    return sum(1 for word, _, _ in tokens if word in german) >= 1


def names(text: str) -> list[tuple[str, int, int]]:
    """Capitalised runs that read as names, with offsets.

    A single capitalised word at the start of a sentence counts only if it stands capitalised elsewhere, too. Where
    nouns are capitalised (German), a single word counts only with a capital or digit inside, or all in capitals.
    """
    found = [(m[0], m.start(), m.end()) for m in _NAME.finditer(text)]
    german = _nouns_are_capitalised(found)
    starts = {start for start, _ in sentences(text)}
    capital: dict[str, int] = {}
    for word, _, _ in found:
        if word[0].isupper():
            capital[word] = capital.get(word, 0) + 1
    out: list[tuple[str, int, int]] = []
    run: list[tuple[str, int, int]] = []

    def close() -> None:
        while run and run[-1][0].casefold() in _PARTICLES:
            run.pop()
        if not run:
            return
        first, last = run[0], run[-1]
        begins = _begins(text, first[1], starts)
        if begins and first[0].casefold() in _COMMON_STARTS:
            run.pop(0)
            while run and not run[0][0][0].isupper():
                run.pop(0)
            if not run:
                return
            first, begins = run[0], False
        single = len(run) == 1
        word = first[0]
        inner = any(c.isupper() for c in word[1:])
        if single and len(word) == 1:
            return
        if single and word.isupper() and len(word) < 2:
            return
        if single and german and not (inner and word[-1:] != "s"):
            return
        if single and begins and not inner and capital.get(word, 0) < 2:
            return
        if single and word.casefold() in _COMMON_STARTS:
            return
        out.append((text[first[1] : last[2]], first[1], last[2]))

    for word, start, end in found:
        if run:
            gap = text[run[-1][2] : start]
            short = len(run[-1][0]) <= 3 and run[-1][0].isalpha()
            if gap not in (" ", " & ", "-", "\u00a0") and not (gap == ". " and short):
                close()
                run = []
        if word[0].isupper() or (run and word in _PARTICLES and not german):
            run.append((word, start, end))
        else:
            close()
            run = []
    close()
    return [
        (_CLEAN_TAIL.sub("", name), start, start + len(_CLEAN_TAIL.sub("", name))) for name, start, _ in out
    ]


def _begins(text: str, at: int, starts: set[int]) -> bool:
    before = at
    while before > 0 and text[before - 1] in "\"'“‘«([*_#>-•·| \t":
        before -= 1
        if before in starts:
            return True
    return at in starts or before in starts or before == 0 or text[before - 1] in ":;•"


def facts(text: str) -> list[Fact]:
    """The facts of a text in order of place, as written, with offsets. A name may hold a number ("Form 10")."""
    out: list[Fact] = []
    covered: list[tuple[int, int]] = []
    for match in _IDENTIFIER.finditer(text):
        written = match[0].rstrip(".,;")
        if re.fullmatch(r"\d[\d.,]*[-–]?(?:[^\W\d_]+)", written):
            continue  # "24-hour", "5mg": a quantity
        if re.fullmatch(r"\d+-\d+", written):
            continue
        out.append(Fact("identifier", written, match.start(), match.start() + len(written)))
        covered.append((match.start(), match.end()))
    for quantity in quantities(text):
        if any(a <= quantity.start and quantity.end <= b for a, b in covered):
            continue
        kind: Kind = "date" if quantity.kind == "date" else "time" if quantity.kind == "time" else "number"
        out.append(Fact(kind, text[quantity.start : quantity.end], quantity.start, quantity.end, quantity))
        if kind == "date":
            covered.append((quantity.start, quantity.end))
    for name, start, end in names(text):
        if any(a < end and start < b for a, b in covered):
            continue
        out.append(Fact("name", name, start, end))
    for word, start, end in negations(text):
        out.append(Fact("negation", word, start, end))
    out.sort(key=lambda fact: (fact.start, fact.end))
    return out


def _plain(text: str) -> str:
    """Without the differences that are not facts: white space, kinds of quotes and dashes, compatibility forms."""
    text = unicodedata.normalize("NFKC", text)
    return " ".join(
        text.replace("’", "'")
        .replace("‘", "'")
        .replace("–", "-")
        .replace("—", "-")
        .replace("\u00ad", "")
        .split()
    )


def _stands(written: str, plain: str) -> bool:
    """Whether ``written`` stands in ``plain`` as whole words, as written."""
    at = plain.find(written)
    while at >= 0:
        end = at + len(written)
        before = plain[at - 1] if at else " "
        after = plain[end] if end < len(plain) else " "
        left = not (_wordish(before) and _wordish(written[0]))
        right = not (_wordish(after) and _wordish(written[-1]))
        if written[0].isdigit() and before in ".," and at > 1 and plain[at - 2].isdigit():
            left = False
        if written[-1].isdigit() and after in ".," and end + 1 < len(plain) and plain[end + 1].isdigit():
            right = False
        if left and right:
            return True
        at = plain.find(written, at + 1)
    return False


def _wordish(char: str) -> bool:
    return char.isalnum() and not "\u3040" <= char <= "\u9fff"


def missing_facts(bullet: str, lines: str | Iterable[str]) -> list[str]:
    """Facts of a bullet that do not stand in its lines as written; empty means that the bullet holds.

    Numbers must stand there with the same unit, dates, names and identifiers letter for letter, negations as the same
    word. A negation of the lines that the bullet drops from a sentence it otherwise repeats is missing, too.
    """
    source = lines if isinstance(lines, str) else "\n".join(lines)
    plain_source, plain_bullet = _plain(source), _plain(bullet)
    if plain_bullet and _stands(plain_bullet, plain_source):
        # A part of the lines as they are; but it may have been cut off in front of a "not".
        dropped = _dropped_negation(plain_bullet, source)
        return [] if dropped is None else [dropped]
    lower_source = plain_source.casefold()
    out: list[str] = []
    source_quantities: list[Quantity] | None = None
    seen: set[tuple[str, str]] = set()
    for fact in facts(plain_bullet):
        if (fact.kind, fact.text) in seen:
            continue
        seen.add((fact.kind, fact.text))
        if fact.kind in ("identifier", "date", "time"):
            good = _stands(fact.text, plain_source)
        elif fact.kind == "negation":
            good = _stands(fact.text.casefold(), lower_source) or (
                not fact.text.isascii() and fact.text.casefold() in lower_source
            )
        elif fact.kind == "name":
            good = _name_stands(fact.text, fact.start, plain_source, lower_source)
        else:
            good = _stands(fact.text, plain_source)
            if not good and fact.quantity is not None:
                if source_quantities is None:
                    source_quantities = quantities(plain_source)
                good = any(
                    q.number.casefold() == fact.quantity.number.casefold()
                    and (
                        q.unit == fact.quantity.unit
                        or fact.quantity.unit.startswith("count:")
                        or not fact.quantity.unit
                    )
                    for q in source_quantities
                )
        if not good:
            out.append(fact.text)
    # A name at the very start looks like any first word: it must stand there at least in another form.
    first = _NAME.match(plain_bullet)
    if first and first[0][0].isupper() and len(first[0]) > 2 and first[0].casefold() not in _COMMON_STARTS:
        word = _CLEAN_TAIL.sub("", first[0])
        if not any(word in fact for fact in out) and word.casefold()[:5] not in lower_source:
            out.append(word)
    dropped = _dropped_negation(plain_bullet, source)
    if dropped is not None:
        out.append(dropped)
    return list(dict.fromkeys(out))


def _name_stands(name: str, start: int, plain: str, lower: str) -> bool:
    if _stands(name, plain):
        return True
    for word in _NAME.findall(name):
        if word in _PARTICLES:
            continue
        word = _CLEAN_TAIL.sub("", word)
        # At its start a bullet is capitalised, whatever the lines do.
        if not _stands(word, plain) and not (start == 0 and _stands(word.casefold(), lower)):
            return False
    return True


def _dropped_negation(bullet: str, source: str) -> str | None:
    """The negation of a sentence that the bullet repeats without it, or None."""
    if negations(bullet):
        return None
    mine = set(terms(bullet))
    if not mine:
        return None
    for line in source.split("\n"):
        if not (denials := negations(line)):
            continue
        for start, end in sentences(line):
            inside = [denial for denial in denials if start <= denial[1] < end]
            if not inside:
                continue
            theirs = set(terms(line[start:end])) - {denial[0].casefold() for denial in inside}
            shared = len(mine & theirs)
            if theirs and shared >= 0.75 * len(theirs) and shared >= 0.6 * len(mine):
                return inside[0][0]
    return None
