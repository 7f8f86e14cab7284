"""What may talk to what: SQL bodies call entry and nothing else, the engine holds no SQL and never imports plpy."""

from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path

import pytest

from tq import entry

ROOT = Path(__file__).resolve().parents[2]
ENGINE = ROOT / "plpython" / "tq"
BODY = re.compile(
    r"CREATE OR REPLACE (?:FUNCTION|PROCEDURE) (tq\w*\.\w+)\s*\(([^()]*)\)\s*(?:RETURNS[^$;]*?)?LANGUAGE plpython3u"
    r"[^$]*AS \$\$\n(.*?)\$\$",
    re.DOTALL,
)
SQL = re.compile(r"^\s*(SELECT|INSERT INTO|UPDATE|DELETE FROM|WITH RECURSIVE|LOCK TABLE)\s", re.MULTILINE)


def bodies() -> list[tuple[str, list[str], str]]:
    found = []
    for path in sorted((ROOT / "sql").glob("*.sql")):
        for name, arguments, body in BODY.findall(path.read_text(encoding="utf-8")):
            names = []
            for part in arguments.split(","):
                if part.strip() and not part.strip().startswith(("OUT ", "INOUT ")):
                    names.append(part.split()[0])
            found.append((name, names, body))
    return found


def modules(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.py"))


def test_bodies_are_found() -> None:
    assert {"tq_private.ask_walk", "tq_private.select_walk"} <= {name for name, _, _ in bodies()}
    texts = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "sql").glob("*.sql"))
    assert len(bodies()) == len(re.findall(r"LANGUAGE plpython3u", texts))


@pytest.mark.parametrize(("name", "arguments", "body"), bodies(), ids=[name for name, _, _ in bodies()])
def test_a_body_hands_its_arguments_to_entry(name: str, arguments: list[str], body: str) -> None:
    lines = body.strip().split("\n")
    assert lines[0] == "from tq import entry"
    assert len(lines) == 2
    call = re.fullmatch(r"(?:return )?entry\.(\w+)\((.*)\)", lines[1])
    assert call is not None
    passed = call[2].split(", ")
    assert passed == ["plpy", *arguments]
    assert list(inspect.signature(getattr(entry, call[1])).parameters) == passed


@pytest.mark.parametrize("path", modules(ENGINE), ids=lambda path: str(path.relative_to(ENGINE)))
def test_the_engine_imports_neither_plpy_nor_the_loader(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    imported: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            imported.update(alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            imported.add(node.module.split(".")[0])
    assert imported.isdisjoint({"plpy", "tq_loader", "psycopg"})


@pytest.mark.parametrize(
    "path",
    [path for path in modules(ENGINE) if path.parent.name != "database"],
    ids=lambda path: str(path.relative_to(ENGINE)),
)
def test_only_the_database_modules_hold_sql(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            assert not SQL.search(node.value), f"line {node.lineno}"
