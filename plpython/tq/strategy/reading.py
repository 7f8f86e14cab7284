"""From the text of an expression to the tree of tq.strategy.filter, by sqlglot. Whatever is on no list here is refused:
kinds of nodes, and on each node every attribute that is not looked at."""

from __future__ import annotations

from typing import Any, Final

from sqlglot import TokenType, exp
from sqlglot.dialects.postgres import Postgres
from sqlglot.errors import SqlglotError

from tq.strategy import filter as f
from tq.strategy.filter import MAX_PARTS, Part, Refused

# The class of sqlglot's nodes has another name from version to version.
Node = Any

_BINARY: Final[dict[type, str]] = {
    exp.And: "and",
    exp.Or: "or",
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.NullSafeNEQ: "is distinct from",
    exp.NullSafeEQ: "is not distinct from",
    exp.Mul: "*",
    exp.Div: "/",
}
_LISTS: Final[dict[type, str]] = {
    exp.ArrayContainsAll: "@>",
    exp.ArrayContainedBy: "<@",
    exp.ArrayOverlaps: "&&",
}
_CALLS: Final[dict[type, str]] = {exp.Lower: "lower", exp.Upper: "upper", exp.Length: "length"}
_SEVERAL: Final[dict[type, str]] = {exp.Coalesce: "coalesce", exp.Greatest: "greatest", exp.Least: "least"}
_NUMBERS: Final = {"INT", "BIGINT", "SMALLINT", "DECIMAL", "DOUBLE", "FLOAT", "REAL", "NUMERIC"}
_TEXTS: Final = {"TEXT", "VARCHAR", "CHAR", "NAME"}
# Notes of the parser that change no meaning.
_NOTES: Final = {
    "safe",
    "typed",
    "only_json_types",
    "value_constructor",
    "ignore_nulls",
    "_type",
    "bracket_notation",
}


def read(text: str) -> Part:
    """The expression's tree and kind. Raises Refused."""
    try:
        dialect = Postgres()
        tokens = dialect.tokenize(text)
        for token in tokens:
            if token.token_type is TokenType.SEMICOLON:
                raise Refused("It has a semicolon: it is one expression, and no statement.")
        found = dialect.parser().parse_into(exp.Condition, tokens, text)
    except SqlglotError as error:
        first = str(error).replace("\x1b[4m", "").replace("\x1b[0m", "").splitlines()
        told = (first[0] if first else "no more is known").partition(" into <")[0]
        raise Refused(f"It cannot be read as an expression of SQL: {told[:200]}.") from None
    except RecursionError:
        raise Refused("It is nested too deeply.") from None
    trees = [tree for tree in found if tree is not None]
    if len(trees) != 1:
        raise Refused("It is not one expression.")
    if sum(1 for _ in trees[0].walk()) > MAX_PARTS:
        raise Refused(f"It has more than {MAX_PARTS} parts.")
    try:
        return _part(trees[0])
    except RecursionError:
        raise Refused("It is nested too deeply.") from None


def _only(node: Node, *names: str) -> None:
    for name, value in node.args.items():
        if value and name not in names and name not in _NOTES:
            raise _refused(node)


def _refused(node: Node) -> Refused:
    if isinstance(node, exp.Query) or node.find(exp.Query) is not None:
        return Refused("It holds a SELECT.")
    if isinstance(node, exp.Parameter | exp.Placeholder):
        return Refused("It has a parameter, and none is given.")
    if isinstance(node, exp.Anonymous):
        return Refused(f"It calls {str(node.this)[:60]}().")
    if isinstance(node, exp.Func):
        return Refused(f"It calls {node.sql_name().lower()}().")
    return Refused(f"It holds {node.sql(dialect='postgres')[:80]}, which is not on the list.")


def _part(node: Node) -> Part:
    kind = type(node)
    if kind in (exp.EQ, exp.NEQ) and isinstance(node.expression, exp.Any):
        return _any(node)
    if kind in _BINARY:
        _only(node, "this", "expression")
        return f.form(_BINARY[kind], _part(node.this), _part(node.expression))
    if kind in _LISTS:
        return _contains(node, _LISTS[kind])
    if kind in _CALLS:
        _only(node, "this")
        return f.form(_CALLS[kind], _part(node.this))
    if kind in _SEVERAL:
        _only(node, "this", "expressions")
        return f.several(_SEVERAL[kind], [_part(one) for one in (node.this, *node.expressions)])
    handler = _HANDLERS.get(kind)
    if handler is None:
        raise _refused(node)
    found: Part = handler(node)
    return found


def _column(node: Node) -> Part:
    if not isinstance(node.this, exp.Identifier):
        raise _refused(node)
    if node.args.get("table"):
        raise Refused(f"It names {node.sql(dialect='postgres')[:60]}.", "Write a column's name alone.")
    _only(node, "this")
    name = str(node.this.this)
    return f.column(name if node.this.args.get("quoted") else name.lower())


def _literal(node: Node) -> Part:
    return f.text(str(node.this)) if node.is_string else f.number(str(node.this))


def _negated(node: Node, part: Part) -> Part:
    return f.form("not", part) if node.args.get("negate") else part


def _like(node: Node) -> Part:
    _only(node, "this", "expression", "negate")
    pattern = node.expression
    if not (isinstance(pattern, exp.Literal) and pattern.is_string):
        raise Refused("LIKE has no pattern in quotes.", "Write name LIKE 'contracts/%'.")
    written = str(pattern.this)
    if (len(written) - len(written.rstrip("\\"))) % 2:
        raise Refused("A pattern of LIKE ends in a backslash that escapes nothing.", "Write it twice.")
    name = "ilike" if isinstance(node, exp.ILike) else "like"
    return _negated(node, f.form(name, _part(node.this), f.text(written)))


def _is(node: Node) -> Part:
    _only(node, "this", "expression", "negate")
    what = node.expression
    if isinstance(what, exp.Null):
        return _negated(node, f.form("is null", _part(node.this)))
    if isinstance(what, exp.Boolean):
        return _negated(node, f.form("is true" if what.this else "is false", _part(node.this)))
    raise _refused(node)


def _in(node: Node) -> Part:
    _only(node, "this", "expressions", "negate")
    if not node.expressions:
        raise _refused(node)
    return _negated(node, f.among([_part(node.this), *map(_part, node.expressions)]))


def _between(node: Node) -> Part:
    _only(node, "this", "low", "high", "negate")
    value = _part(node.this)
    inside = f.form(
        "and",
        f.form(">=", value, _part(node.args["low"])),
        f.form("<=", value, _part(node.args["high"])),
    )
    return _negated(node, inside)


def _any(node: Node) -> Part:
    """'signed' = ANY (tags)"""
    _only(node, "this", "expression")
    if isinstance(node, exp.NEQ):
        raise Refused(
            "It compares with <> ANY, which nearly always holds.", "Write NOT ('signed' = ANY (tags))."
        )
    return f.form("= any", _part(node.this), f.fitted(_part(node.expression.this), "texts"))


def _contains(node: Node, operator: str) -> Part:
    _only(node, "this", "expression")
    left, right = _part(node.this), _part(node.expression)
    kind: f.Kind = "json" if "json" in (left.kind, right.kind) else "texts"
    name = f"{operator} {kind}"
    if name not in f.FORMS:
        raise _refused(node)
    return f.form(name, f.fitted(left, kind), f.fitted(right, kind))


def _array(node: Node) -> Part:
    _only(node, "expressions")
    items = [_part(one) for one in node.expressions]
    if not items or any(item.tree[0] != "text" for item in items):
        raise Refused("A list holds something else than texts in quotes.", "Write ARRAY['signed', 'second'].")
    return Part(["texts", *(item.tree[1] for item in items)], "texts")


def _has_key(node: Node) -> Part:
    _only(node, "this", "expression")
    return f.form("has key", _part(node.this), _part(node.expression))


def _json(node: Node) -> Part:
    """metadata -> 'a' ->> 'b'"""
    _only(node, "this", "expression")
    name = "->>" if isinstance(node, exp.JSONExtractScalar) else "->"
    step = node.expression
    if isinstance(step, exp.Literal):
        return f.form(name, _part(node.this), _literal(step))
    keys = [one for one in step.expressions if not isinstance(one, exp.JSONPathRoot)]
    if len(keys) != 1 or not isinstance(keys[0], exp.JSONPathKey) or not isinstance(keys[0].this, str):
        raise Refused("It takes something else than a key from JSON.", "Write metadata ->> 'key'.")
    return f.form(name, _part(node.this), f.text(keys[0].this))


def _cast(node: Node) -> Part:
    _only(node, "this", "to")
    target = node.args["to"]
    wanted = target.this.name if hasattr(target.this, "name") else str(target.this)
    inner = _part(node.this)
    if wanted == "ARRAY" and [str(one.this.name) for one in target.expressions] == ["TEXT"]:
        return f.fitted(inner, "texts")
    if wanted in _NUMBERS:
        return _to(inner, "number")
    if wanted in ("DATE", "BOOLEAN"):
        return _to(inner, "date" if wanted == "DATE" else "boolean")
    if wanted in _TEXTS:
        return inner if inner.kind == "text" else f.form("to text", inner)
    raise Refused(
        f"It casts to {wanted.lower()}.", "Casts go to numeric, date, boolean, text and, of a list, text[]."
    )


def _to(inner: Part, kind: f.Kind) -> Part:
    read_as = f.fitted(inner, kind)
    return read_as if read_as.kind == kind else f.form(f"text to {kind}", read_as)


def _plus(node: Node) -> Part:
    _only(node, "this", "expression")
    left, right = _part(node.this), _part(node.expression)
    sign = "+" if isinstance(node, exp.Add) else "-"
    if right.kind == "interval":
        return f.form(f"date {sign} interval", f.fitted(left, "date"), right)
    if sign == "-" and "date" in (left.kind, right.kind) and "number" not in (left.kind, right.kind):
        return f.form("date - date", f.fitted(left, "date"), f.fitted(right, "date"))
    if left.kind == "date":
        raise Refused("It adds a number to a date.", "Write interval '30 days'.")
    return f.form(sign, left, right)


def _interval(node: Node) -> Part:
    unit = node.args.get("unit")
    _only(node, "this", "unit")
    return f.interval(f"{node.this.this} {unit.this if unit is not None else ''}")


def _case(node: Node) -> Part:
    _only(node, "this", "ifs", "default")
    whens = []
    for one in node.args["ifs"]:
        _only(one, "this", "true")
        when = _part(one.this)
        if node.args.get("this") is not None:
            when = f.form("=", _part(node.this), when)
        whens.append((when, _part(one.args["true"])))
    default = node.args.get("default")
    return f.choice(whens, Part(["null"], "null") if default is None else _part(default))


_HANDLERS: Final[dict[type, Any]] = {
    exp.Column: _column,
    exp.Literal: _literal,
    exp.Boolean: lambda node: Part(["boolean", bool(node.this)], "boolean"),
    exp.Null: lambda node: Part(["null"], "null"),
    exp.Paren: lambda node: _part(node.this),
    exp.Not: lambda node: f.form("not", _part(node.this)),
    exp.Neg: lambda node: f.form("minus", _part(node.this)),
    exp.Like: _like,
    exp.ILike: _like,
    exp.Is: _is,
    exp.In: _in,
    exp.Between: _between,
    exp.Array: _array,
    exp.JSONBContainsTopKey: _has_key,
    exp.JSONBContains: _has_key,
    exp.JSONExtract: _json,
    exp.JSONExtractScalar: _json,
    exp.Cast: _cast,
    exp.Add: _plus,
    exp.Sub: _plus,
    exp.Interval: _interval,
    exp.Case: _case,
    exp.CurrentDate: lambda node: f.form("today"),
}
