"""A strategy's expressions over documents: `scope` (which are searched) and `source_rule` (what each weighs as a source).

They are written in SQL and never run as they were written. `parse` reads one with sqlglot and holds every part of it
against closed lists of columns, operators and functions; what it keeps is a small tree of plain lists that can be stored.
`compile_sql` writes SQL from such a tree: names and operators come from the lists here, every literal is a parameter.
So whatever stands in a stored tree, nothing but an expression over these columns can come of it.

Nothing an expression computes can fail on a row: a text that is no number is NULL where a number is wanted, and so are what is
divided by 0, and days from or to a date that is infinite or not between the years 1000 and 9000. sqlglot is imported when an
expression is parsed, not when it is used.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from difflib import get_close_matches
from typing import Any, Final, Literal

Kind = Literal["boolean", "number", "text", "date", "interval", "texts", "json", "null"]
Tree = list[Any]

MAX_CHARS: Final = 4_000
MAX_PARTS: Final = 300

# column → what it is, and where it is found in `tq.document AS d`
COLUMNS: Final[Mapping[str, tuple[Kind, str]]] = {
    "name": ("text", "d.name"),
    "title": ("text", "d.title"),
    "version": ("number", "d.version::numeric"),
    "current": ("boolean", "d.current"),
    "media_type": ("text", "d.media_type"),
    "language": ("text", "d.language"),
    "line_count": ("number", "d.line_count::numeric"),
    "source_weight": ("number", "d.source_weight::numeric"),
    "effective_on": ("date", "d.effective_on"),
    "loaded_at": ("date", "d.loaded_at::date"),
    "tags": ("texts", "d.tags"),
    "metadata": ("json", "d.metadata"),
    "owner": ("text", "d.owner::text"),
}

_ANY: Final[tuple[Kind, ...]] = ("number", "text", "date", "boolean")


@dataclass(frozen=True, slots=True)
class _Form:
    """One operation: its SQL with a place for each operand, what it takes (operand by operand) and what it gives.

    alike: the operands may be of any one kind of `takes[0]`, all the same. gives "": the kind of its operands."""

    sql: str
    takes: tuple[tuple[Kind, ...], ...]
    gives: Kind | Literal[""]
    alike: bool = False


def _compare(operator: str, takes: tuple[Kind, ...] = _ANY) -> _Form:
    return _Form("({} " + operator + " {})", (takes, takes), "boolean", alike=True)


def _reckon(operator: str) -> _Form:
    return _Form("({} " + operator + " {})", (("number",), ("number",)), "number")


_B: Final[tuple[Kind, ...]] = ("boolean",)
_N: Final[tuple[Kind, ...]] = ("number",)
_T: Final[tuple[Kind, ...]] = ("text",)
_D: Final[tuple[Kind, ...]] = ("date",)

FORMS: Final[Mapping[str, _Form]] = {
    "and": _Form("({} AND {})", (_B, _B), "boolean"),
    "or": _Form("({} OR {})", (_B, _B), "boolean"),
    "not": _Form("(NOT {})", (_B,), "boolean"),
    "=": _compare("="),
    "<>": _compare("<>"),
    "<": _compare("<", ("number", "text", "date")),
    "<=": _compare("<=", ("number", "text", "date")),
    ">": _compare(">", ("number", "text", "date")),
    ">=": _compare(">=", ("number", "text", "date")),
    "is distinct from": _compare("IS DISTINCT FROM"),
    "is not distinct from": _compare("IS NOT DISTINCT FROM"),
    "is null": _Form("({} IS NULL)", ((*_ANY, "json", "texts"),), "boolean"),
    "is true": _Form("({} IS TRUE)", (_B,), "boolean"),
    "is false": _Form("({} IS FALSE)", (_B,), "boolean"),
    "like": _Form("({} LIKE {})", (_T, _T), "boolean"),
    "ilike": _Form("({} ILIKE {})", (_T, _T), "boolean"),
    "= any": _Form("({} = ANY ({}))", (_T, ("texts",)), "boolean"),
    "@> texts": _Form("({} @> {})", (("texts",), ("texts",)), "boolean"),
    "<@ texts": _Form("({} <@ {})", (("texts",), ("texts",)), "boolean"),
    "&& texts": _Form("({} && {})", (("texts",), ("texts",)), "boolean"),
    "@> json": _Form("({} @> {})", (("json",), ("json",)), "boolean"),
    "has key": _Form("({} ? {})", (("json",), _T), "boolean"),
    "->": _Form("({} -> {})", (("json",), _T), "json"),
    "->>": _Form("({} ->> {})", (("json",), _T), "text"),
    "+": _reckon("+"),
    "-": _reckon("-"),
    "*": _reckon("*"),
    "/": _Form("({} / nullif({}, 0))", (_N, _N), "number"),
    "minus": _Form("(- {})", (_N,), "number"),
    "date + interval": _Form("tq_private.date_plus({}, {})", (_D, ("interval",)), "date"),
    "date - interval": _Form("tq_private.date_plus({}, - {})", (_D, ("interval",)), "date"),
    "date - date": _Form("tq_private.days_between({}, {})", (_D, _D), "number"),
    "text to number": _Form("tq_private.number_of({})", (_T,), "number"),
    "text to date": _Form("tq_private.date_of({})", (_T,), "date"),
    "text to boolean": _Form("tq_private.boolean_of({})", (_T,), "boolean"),
    "to text": _Form("({})::text", (("number", "date", "boolean"),), "text"),
    "lower": _Form("lower({})", (_T,), "text"),
    "upper": _Form("upper({})", (_T,), "text"),
    "length": _Form("length({})::numeric", (_T,), "number"),
    "today": _Form("current_date", (), "date"),
}
# Operations of any number of operands of one kind.
LISTS: Final[Mapping[str, str]] = {"coalesce": "coalesce", "greatest": "greatest", "least": "least"}
FUNCTIONS: Final = ("lower", "upper", "length", "coalesce", "greatest", "least", "current_date")
HINT: Final = (
    f"It may name the columns {', '.join(COLUMNS)}, use AND, OR, NOT, comparisons, BETWEEN, IN, LIKE, IS NULL, = ANY, @>, "
    f"&&, ->>, CASE, casts to numeric, date, boolean and text, + - * /, and call {', '.join(FUNCTIONS)}."
)

_INTERVAL = re.compile(r"\d{1,4} (?:day|week|month)s?|\d{1,3} years?")
_NUMBER = re.compile(r"\d{1,15}(?:\.\d{1,15})?|\.\d{1,15}")


class Refused(Exception):
    """What was seen in an expression that is not allowed, and what to do instead."""

    def __init__(self, seen: str, hint: str = HINT) -> None:
        super().__init__(seen)
        self.seen = seen
        self.hint = hint


# ---------------------------------------------------------------- from a tree to SQL


@dataclass(slots=True)
class Compiled:
    """SQL over `tq.document AS d`; its literals are the elements of `values`, read from the JSON array `given.value`."""

    values: list[str] = field(default_factory=list)

    def sql(self, tree: Tree) -> str:
        """The SQL of a tree. Raises ValueError for one that `parse` did not make."""
        kind, *operands = tree
        match kind, operands:
            case "column", [str(name)] if name in COLUMNS:
                return COLUMNS[name][1]
            case "text", [str(value)]:
                return self._given(value)
            case "number", [str(value)] if _NUMBER.fullmatch(value):
                return f"{self._given(value)}::numeric"
            case "date", [str(value)]:
                return f"{self._given(date.fromisoformat(value).isoformat())}::date"
            case "interval", [str(value)] if _INTERVAL.fullmatch(value):
                return f"{self._given(value)}::interval"
            case "json", [str(value)]:
                json.loads(value)
                return f"{self._given(value)}::jsonb"
            case "boolean", [bool(value)]:
                return "TRUE" if value else "FALSE"
            case "null", []:
                return "NULL"
            case "texts", list(values):
                return "ARRAY[" + ", ".join(self.sql(["text", value]) for value in values) + "]::text[]"
            case "in", [first, *rest] if rest:
                return f"({self.sql(first)} IN ({', '.join(map(self.sql, rest))}))"
            case "case", [*whens, otherwise] if whens:
                told = "".join(f" WHEN {self.sql(when)} THEN {self.sql(then)}" for when, then in whens)
                return f"(CASE{told} ELSE {self.sql(otherwise)} END)"
            case str(name), [_, *_] if name in LISTS:
                return f"{LISTS[name]}({', '.join(map(self.sql, operands))})"
            case str(name), _ if name in FORMS and len(FORMS[name].takes) == len(operands):
                return FORMS[name].sql.format(*map(self.sql, operands))
        raise ValueError(f"no part of an expression: {kind!r}")

    def _given(self, value: str) -> str:
        self.values.append(value)
        return f"(given.value ->> {len(self.values) - 1})"


# ---------------------------------------------------------------- from text to a tree


@dataclass(frozen=True, slots=True)
class _Part:
    tree: Tree
    kind: Kind


def parse(text: str, wanted: Literal["boolean", "number"]) -> Tree:
    """The tree of an expression that gives a boolean or a number. Raises Refused."""
    from tq.strategy.reading import read

    if not text.strip():
        raise Refused("It is empty.", "Write true for all documents, or 1 for the same weight.")
    if len(text) > MAX_CHARS:
        raise Refused(f"It has {len(text):,} characters; at most {MAX_CHARS:,} are read.")
    part = read(text)
    if part.kind != wanted:
        raise Refused(f"It gives {_worded(part.kind)}, and not {_worded(wanted)}.")
    return part.tree


def _worded(kind: str) -> str:
    return {
        "boolean": "true or false",
        "number": "a number",
        "text": "a text",
        "date": "a date",
        "interval": "an interval",
        "texts": "a list of texts",
        "json": "JSON",
        "null": "NULL",
    }[kind]


def column(name: str) -> _Part:
    if name in COLUMNS:
        return _Part(["column", name], COLUMNS[name][0])
    near = get_close_matches(name, COLUMNS, n=1, cutoff=0.6)
    raise Refused(
        f"There is no column {name[:60]}.",
        f"Did you mean {near[0]}? The columns are {', '.join(COLUMNS)}."
        if near
        else f"The columns are {', '.join(COLUMNS)}.",
    )


def number(written: str) -> _Part:
    if not _NUMBER.fullmatch(written):
        raise Refused(
            f"The number {written[:40]} is too long.", "At most 15 digits before and behind the point."
        )
    return _Part(["number", written], "number")


def text(value: str) -> _Part:
    if "\x00" in value:
        raise Refused("A text holds a NUL character.")
    return _Part(["text", value], "text")


def interval(value: str) -> _Part:
    plain = " ".join(value.lower().split())
    if not _INTERVAL.fullmatch(plain):
        raise Refused(
            f"The interval {value[:40]!r} is not read.",
            "Write interval '6 months': at most 9999 days, weeks or months, or 999 years.",
        )
    return _Part(["interval", plain], "interval")


def as_date(value: str) -> _Part:
    try:
        return _Part(["date", date.fromisoformat(value.strip()).isoformat()], "date")
    except ValueError:
        raise Refused(f"{value[:40]!r} is no date.", "Write a date as '2024-12-31'.") from None


def as_texts(value: str) -> _Part:
    """A list as PostgreSQL writes one: '{signed,"second word"}'."""
    inner = re.fullmatch(r"\s*\{(.*)\}\s*", value, re.DOTALL)
    items = re.findall(r'"((?:[^"\\]|\\.)*)"|([^",{}\\]+)', inner[1]) if inner else []
    plain = [re.sub(r"\\(.)", r"\1", quoted) if quoted else bare.strip() for quoted, bare in items]
    if inner is None or not plain:
        raise Refused(f"{value[:40]!r} is no list of texts.", "Write ARRAY['signed', 'second'].")
    return _Part(["texts", *plain], "texts")


def as_json(value: str) -> _Part:
    try:
        return _Part(["json", json.dumps(json.loads(value), ensure_ascii=False)], "json")
    except ValueError:
        raise Refused(f"{value[:40]!r} is no JSON.", 'Write metadata @> \'{"state": "signed"}\'.') from None


def fitted(part: _Part, kind: Kind) -> _Part:
    """A literal read as what it is compared with; anything else as it is."""
    if part.tree[0] != "text" or kind == "text":
        return part
    if kind == "date":
        return as_date(part.tree[1])
    if kind == "texts":
        return as_texts(part.tree[1])
    if kind == "json":
        return as_json(part.tree[1])
    if kind == "number" and _NUMBER.fullmatch(part.tree[1].strip()):
        return number(part.tree[1].strip())
    return part


def form(name: str, *parts: _Part) -> _Part:
    """An operation over its operands, their kinds held against its own."""
    shape = FORMS[name]
    if shape.alike:
        parts = _agreed(parts)
        if "distinct" not in name and any(part.kind == "null" for part in parts):
            raise Refused("It compares with NULL, which never holds.", "Write IS NULL or IS NOT NULL.")
    for part, takes in zip(parts, shape.takes, strict=True):
        if part.kind not in (*takes, "null"):
            told = f"{name} takes {' or '.join(map(_worded, takes))}, and not {_worded(part.kind)}."
            cast = "A text of the metadata is a number by (metadata ->> 'key')::numeric, a date by ::date."
            raise Refused(told[0].upper() + told[1:], cast)
    return _Part([name, *(part.tree for part in parts)], shape.gives or parts[0].kind)


def _agreed(parts: Sequence[_Part]) -> tuple[_Part, ...]:
    """Operands of one kind: literals are read as the others are."""
    lead: Kind = next((part.kind for part in parts if part.tree[0] != "text" and part.kind != "null"), "text")
    fit = tuple(fitted(part, lead) for part in parts)
    kinds = {part.kind for part in fit} - {"null"}
    if len(kinds) > 1:
        said = " with ".join(
            _worded(kind) for kind in dict.fromkeys(part.kind for part in fit if part.kind != "null")
        )
        raise Refused(
            f"It puts together {said}.",
            "Both sides have to be of one kind: a text of the metadata is a number by (metadata ->> 'key')::numeric.",
        )
    return fit


def several(name: str, parts: Sequence[_Part]) -> _Part:
    """coalesce, greatest, least."""
    fit = _agreed(parts)
    return _Part([name, *(part.tree for part in fit)], _kind_of(fit))


def among(parts: Sequence[_Part]) -> _Part:
    fit = _agreed(parts)
    return _Part(["in", *(part.tree for part in fit)], "boolean")


def choice(whens: Sequence[tuple[_Part, _Part]], otherwise: _Part) -> _Part:
    """CASE: conditions with their values, all of one kind."""
    for when, _ in whens:
        if when.kind not in ("boolean", "null"):
            raise Refused(f"A WHEN has {_worded(when.kind)}, and not true or false.")
    values = _agreed([*(then for _, then in whens), otherwise])
    pairs = [[when.tree, then.tree] for (when, _), then in zip(whens, values, strict=False)]
    return _Part(["case", *pairs, values[-1].tree], _kind_of(values))


def _kind_of(parts: Sequence[_Part]) -> Kind:
    return next((part.kind for part in parts if part.kind != "null"), "null")


Part = _Part
