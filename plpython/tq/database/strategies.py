"""The statements of strategies: what one amounts to, and what its expressions say of documents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from tq.database.connection import Database, Statement, refusal
from tq.errors import TqError
from tq.strategy.filter import Compiled, Refused, Tree, parse
from tq.strategy.settings import Strategy, of

STRATEGY = Statement(
    """
    SELECT v.version, v.settings::text AS settings, v.parsed::text AS parsed
    FROM tq.strategy_version AS v
    WHERE v.strategy = $1 AND (v.version = $2 OR $2 IS NULL AND EXISTS (SELECT FROM tq.strategy AS s WHERE s.name = $1))
    ORDER BY v.version DESC LIMIT 1
    """,
    ("text", "int"),
)
NAMES = Statement("SELECT name FROM tq.strategy ORDER BY name")

# The documents by id, and on demand all versions of theirs. A weight is brought to what a number can hold.
WEIGHED = """
    SELECT d.id::text AS id, d.name, d.version, d.current, d.language, d.line_count,
           least(greatest(coalesce({rule}, d.source_weight::numeric), 0), 1000)::float8 AS weight,
           ({scope}) IS TRUE AS inside, coalesce(d.effective_on, d.loaded_at::date)::text AS dated
    FROM tq.document AS d CROSS JOIN (SELECT $2::jsonb AS value) AS given
    WHERE d.id = ANY ($1) OR $3 AND d.status = 'ready' AND d.line_count > 0
        AND d.name = ANY (ARRAY(SELECT o.name FROM tq.document AS o WHERE o.id = ANY ($1)))
    ORDER BY d.name, d.version
"""


RECORDED = Statement(
    "SELECT to_jsonb(a)::text AS row FROM tq.answers($1::uuid, TRUE) AS a ORDER BY a.rank", ("text",)
)
CITED = Statement(
    "SELECT a.id::text AS answer, c.document_id::text AS document"
    " FROM tq.answer AS a JOIN tq.citation AS c ON c.answer_id = a.id WHERE a.query_id = $1::uuid",
    ("text",),
)


@dataclass(frozen=True, slots=True)
class Weighed:
    """A document as a strategy sees it. weight: 0 to 1000; dated: effective_on, or the day it was loaded."""

    id: str
    name: str
    version: int
    current: bool
    language: str | None
    line_count: int
    weight: float
    inside: bool
    dated: str


def strategy(database: Database, name: str, version: int | None = None) -> Strategy | None:
    """A strategy as it is, or as it was in one of its versions."""
    rows = database.fetch(STRATEGY, name, version)
    return of(name, **rows[0]) if rows else None


def names(database: Database) -> list[str]:
    return [row["name"] for row in database.fetch(NAMES)]


def weighed(
    database: Database, strategy: Strategy, documents: Sequence[str], all_versions: bool = False
) -> list[Weighed]:
    """Documents with their weight as a source, and whether each is in the strategy's scope."""
    statement, values = _weighed(strategy.parsed.get("scope"), strategy.parsed.get("source_rule"))
    return [Weighed(**row) for row in database.fetch(statement, list(documents), values, all_versions)]


def recorded(database: Database, query: str) -> list[dict[str, Any]]:
    """All answers of a question as rows of tq.ask, in order of rank."""
    return [msgspec.json.decode(row["row"]) for row in database.fetch(RECORDED, query)]


def cited(database: Database, query: str) -> dict[str, set[str]]:
    """answer → the documents it cites."""
    found: dict[str, set[str]] = {}
    for row in database.fetch(CITED, query):
        found.setdefault(row["answer"], set()).add(row["document"])
    return found


def _weighed(scope: Tree | None, rule: Tree | None) -> tuple[Statement, str]:
    compiled = Compiled()
    sql = WEIGHED.format(
        rule="NULL" if rule is None else compiled.sql(rule),
        scope="TRUE" if scope is None else compiled.sql(scope),
    )
    return Statement(sql, ("uuid[]", "text", "bool")), msgspec.json.encode(compiled.values).decode()


def expression_of(database: Database, setting: str, expression: str) -> Tree:
    """The tree of a scope or a source_rule. Raises TQ021, also where the server would refuse it."""
    try:
        tree = parse(expression, "boolean" if setting == "scope" else "number")
    except Refused as refused:
        raise _invalid(setting, refused.seen, refused.hint) from None
    statement, values = _weighed(*((tree, None) if setting == "scope" else (None, tree)))
    try:
        database.fetch(statement, [], values, False)
    except Exception as error:
        said = refusal(error)
        if said is None or said.sqlstate[:2] not in (
            "0A",
            "22",
            "42",
        ):  # a cancel is none of the expression's
            raise
        raise _invalid(setting, f"PostgreSQL says: {said.message}.", "Write it in another way.") from None
    return tree


def _invalid(setting: str, seen: str, hint: str) -> TqError:
    return TqError("TQ021", f"invalid value for tq.strategy.{setting}", seen, hint)


def unknown(database: Database, name: str | None, shown: Any) -> TqError:
    """TQ020 for a strategy that is not there, with near names."""
    from difflib import get_close_matches

    known = names(database)
    near = get_close_matches(name or "", known, n=3, cutoff=0.5)
    return TqError(
        "TQ020",
        "strategy not found",
        "It is NULL." if name is None else f"There is no strategy {shown}.",
        f"Near names: {', '.join(near)}." if near else "Known: " + ", ".join(known[:10]) + ".",
    )
