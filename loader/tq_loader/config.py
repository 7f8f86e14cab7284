"""`tq config`: every value that tq goes by with where it comes from, and whether all of them hold together."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tq_loader.doctor import Finding, check_inside, check_schema, ok

if TYPE_CHECKING:
    import psycopg

# Of doctor's checks inside the server, those of values that a person has set.
OF_CONFIGURATION = ("model", "files' bytes", "older files")


@dataclass(slots=True, frozen=True)
class Value:
    """One value. kind: setting, model, strategy or command; of: the row it belongs to; comes_from: in words."""

    kind: str
    of: str
    name: str
    value: Any
    default: Any
    comes_from: str


# ---- print --------------------------------------------------------------------------------------------------


def values(connection: psycopg.Connection[Any], url: str | None, instance: str | None) -> list[Value]:
    """All values, in the order in which they are printed."""
    return [
        *_command(connection, url, instance),
        *_settings(connection),
        *_models(connection),
        *_strategies(connection),
    ]


def _command(connection: psycopg.Connection[Any], url: str | None, instance: str | None) -> Iterator[Value]:
    """What this program itself goes by. Never a password."""
    info = connection.info
    place = f"{info.user}@{info.host or 'socket'}:{info.port}/{info.dbname}"
    comes_from = "--url" if url else "TQ_URL" if os.environ.get("TQ_URL") else "the private cluster"
    yield Value("command", "database", "address", place, None, comes_from)
    if comes_from == "the private cluster":
        named = "--instance" if instance else "TQ_INSTANCE" if os.environ.get("TQ_INSTANCE") else "default"
        yield Value(
            "command",
            "database",
            "instance",
            instance or os.environ.get("TQ_INSTANCE") or "main",
            "main",
            named,
        )


def _settings(connection: psycopg.Connection[Any]) -> Iterator[Value]:
    rows = connection.execute("SELECT name, value, default_value FROM tq.setting ORDER BY name").fetchall()
    for name, value, default in rows:
        yield Value("setting", name, "value", value, default, "default" if value == default else "tq.setting")


def _models(connection: psycopg.Connection[Any]) -> Iterator[Value]:
    rows = connection.execute(
        "SELECT m.name, e.key, e.value, c.expression FROM tq.model AS m"
        " CROSS JOIN LATERAL jsonb_each(to_jsonb(m) - '{name,slot}'::text[]) AS e"
        " LEFT JOIN LATERAL (SELECT pg_get_expr(d.adbin, d.adrelid) AS expression FROM pg_attribute AS a"
        " JOIN pg_attrdef AS d ON d.adrelid = a.attrelid AND d.adnum = a.attnum"
        " WHERE a.attrelid = 'tq.model'::regclass AND a.attname = e.key) AS c ON TRUE"
        " ORDER BY m.name, e.key"
    ).fetchall()
    for model, name, value, expression in rows:
        default = _literal(expression)
        yield Value("model", model, name, value, default, "default" if value == default else "tq.model")


def _literal(expression: str | None) -> Any:
    """A column's default from how it is written: 4, 0.5, 'usual'::text; None where it has none."""
    if expression is None:
        return None
    text = expression.split("::")[0].strip("()")
    return text.strip("'") if text.startswith("'") else json.loads(text)


def _strategies(connection: psycopg.Connection[Any]) -> Iterator[Value]:
    rows = connection.execute(
        "SELECT s.name, e.setting, e.value, e.comes_from, d.value FROM tq.strategy AS s"
        " CROSS JOIN LATERAL tq.strategy_effective(s.name) AS e"
        " LEFT JOIN tq.strategy_effective('default') AS d ON d.setting = e.setting"
        " ORDER BY s.name <> 'default', s.name, e.setting"
    ).fetchall()
    for strategy, name, value, comes_from, default in rows:
        yield Value("strategy", strategy, name, value, default, f"strategy {comes_from}")


# ---- check --------------------------------------------------------------------------------------------------


def findings(connection: psycopg.Connection[Any]) -> list[Finding]:
    """Whether all values hold: by the checks that the tables have, by those of strategies and models, by doctor's of
    keys and stores. connection: in autocommit."""
    found = [finding for finding in check_schema(connection) if finding.result == "fail"]
    if found:
        return found
    return [
        *_rows(connection),
        *_each(connection, "model", "SELECT name FROM tq.model ORDER BY name", _fits),
        *_each(connection, "strategy", "SELECT name FROM tq.strategy ORDER BY name", _holds),
        *_inside(connection),
    ]


def _rows(connection: psycopg.Connection[Any]) -> list[Finding]:
    """Every row against the checks of its table, by writing it as it is and taking that back."""
    found = []
    for table, column in (("setting", "value"), ("model", "driver"), ("strategy", "description")):
        with _refused(f"tq.{table}") as said, connection.transaction(force_rollback=True):
            done = connection.execute(f"UPDATE tq.{table} SET {column} = {column}")
            said.append(ok(f"tq.{table}", f"rows within their limits: {done.rowcount}"))
        found += said
    return found


def _each(
    connection: psycopg.Connection[Any],
    kind: str,
    names: str,
    check: Callable[[psycopg.Connection[Any], str], str],
) -> list[Finding]:
    found: list[Finding] = []
    for (name,) in connection.execute(names).fetchall():
        with _refused(f"{kind} {name}") as said:
            said.append(ok(f"{kind} {name}", check(connection, name)))
        found += said
    return found


def _fits(connection: psycopg.Connection[Any], model: str) -> str:
    sizes = dict(connection.execute("SELECT name, value FROM tq.fit(%s)", [model]).fetchall())
    return f"a window of {sizes['window']} characters, leaves of at most {sizes['leaf']}, {sizes['fan_out']} children a node"


def _holds(connection: psycopg.Connection[Any], strategy: str) -> str:
    connection.execute("SELECT tq_private.check_strategy(%s)", [strategy])
    return "its expressions can be read, its rules and budgets fit its model"


def _inside(connection: psycopg.Connection[Any]) -> list[Finding]:
    found = [finding for finding in check_inside(connection) if finding.check.startswith(OF_CONFIGURATION)]
    if found:
        return found
    mend = "connect as a superuser to see whether the server has the models' keys and reaches its stores"
    return [Finding("keys and stores", "warn", "not looked at: the role is no superuser", mend)]


@contextmanager
def _refused(check: str) -> Iterator[list[Finding]]:
    """What is found; an error of the server is a failure with its detail, and its hint says what to do."""
    import psycopg

    found: list[Finding] = []
    try:
        yield found
    except psycopg.errors.InsufficientPrivilege as error:
        found.append(
            Finding(
                check,
                "warn",
                f"not looked at: {error.diag.message_primary}",
                "connect as a member of tq_admin",
            )
        )
    except psycopg.Error as error:
        said = f"{error.diag.message_primary} [{error.sqlstate}]"
        detail = f": {error.diag.message_detail}" if error.diag.message_detail else ""
        found.append(Finding(check, "fail", said + detail, error.diag.message_hint or "look at the row"))
