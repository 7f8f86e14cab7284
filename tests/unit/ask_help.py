"""A database of the mind and a model that follows a script, to ask questions without a server."""

from __future__ import annotations

import json
import struct
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from tq.ask.question import ask
from tq.database import asking, strategies
from tq.database.connection import Row, Statement
from tq.model.driver import Reply
from tq.model.limits import Model
from tq.model.tasks import Compare, Plan, Read, Task
from tq.text.tokens import terms

MODEL = {
    "name": "scripted",
    "driver": "scripted",
    "input_tokens": 4096,
    "output_tokens": 1024,
    "chars_per_token": 4.0,
    "windows_per_call": 3,
    "summary_tokens": 384,
    "concurrency": 16,
    "timeout_seconds": 60,
    "delay_ms": 0,
}
STRATEGY = {
    "name": "default",
    "model": None,
    "top_n": 5,
    "documents": 50,
    "routes": 8,
    "rereads": 2,
    "evidence": "line",
    "evidence_why": "line",
    "mode": "tree",
    "merge": "union",
    "reasoning_rules": "",
    "weight_evidence": 4.0,
    "weight_agreement": 2.0,
    "weight_source": 1.0,
    "weight_fit": 4.0,
    "on_error": "raise",
    "pairs": 16,
    "versions": "current",
    "patience_seconds": 30,
}


@dataclass
class Document:
    """Leaves of equal length under parents of equal fan-out; each leaf's first line is its bullet and its title."""

    name: str
    lines: Sequence[str]
    leaf: int = 5
    fan: int = 4
    weight: float = 1.0
    version: int = 1
    ready: bool = True
    current: bool = True
    dated: str = "2024-03-01"
    language: str = "english"
    queries: Sequence[str] = ()
    nodes: list[dict[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.id = f"doc-{self.name}-{self.version}"
        level = []
        for start in range(1, len(self.lines) + 1, self.leaf):
            end = min(start + self.leaf - 1, len(self.lines))
            level.append(self._node(True, start, end, [(self.lines[start - 1][:190], start, start)]))
        while len(level) > 1:
            above = []
            for place in range(0, len(level), self.fan):
                under = level[place : place + self.fan]
                bullets = [bullet for node in under for bullet in node["bullets"][:1]]
                node = self._node(False, under[0]["line_start"], under[-1]["line_end"], bullets)
                for child in under:
                    child["parent"] = node["id"]
                above.append(node)
            level = above

    def _node(self, leaf: bool, start: int, end: int, bullets: list[tuple[str, int, int]]) -> dict[str, Any]:
        node = {
            "id": f"{self.name}:{start}-{end}:{len(self.nodes)}",
            "is_leaf": leaf,
            "line_start": start,
            "line_end": end,
            "title": bullets[0][0][:20],
            "bullets": bullets,
            "parent": None,
        }
        self.nodes.append(node)
        return node

    def children(self, parent: str | None) -> list[dict[str, Any]]:
        return sorted(
            (node for node in self.nodes if node["parent"] == parent), key=lambda node: node["line_start"]
        )


class FakeDatabase:
    """Answers the statements of tq.database.asking from documents in memory, and counts them."""

    def __init__(self, *documents: Document, settings: dict[str, Any] | None = None, **strategy: Any) -> None:
        self.documents = {document.id: document for document in documents}
        self.strategy = STRATEGY | strategy
        self.settings = {"model": "scripted", "scent": True} | (settings or {})
        self.model = MODEL | {}
        self.shots: list[Row] = []
        self.changed: dict[tuple[str, int], str] = {}  # lines as the last check finds them
        self.statements: list[Statement] = []
        self.thread = threading.get_ident()
        self.cancelled = False

    def fetch(self, statement: Statement, *values: Any) -> list[Row]:
        assert threading.get_ident() == self.thread, "the database was used outside the main thread"
        self.statements.append(statement)
        known = {**vars(strategies), **vars(asking)}
        # What weighs the documents is written from the strategy's expressions.
        name = next((name for name, value in known.items() if value is statement), "WEIGHED")
        found: list[Row] = getattr(self, f"_{name.lower()}")(*values)
        return found

    def stream(self, statement: Statement, *values: Any, size: int = 5000) -> Iterator[list[Row]]:
        rows = self.fetch(statement, *values)
        for start in range(0, len(rows), size):
            yield rows[start : start + size]

    def pulse(self) -> None:
        assert threading.get_ident() == self.thread, "the database was used outside the main thread"
        if self.cancelled:
            raise KeyboardInterrupt

    def commit(self) -> None:
        raise AssertionError("a question never commits")

    rollback = commit

    def _strategy(self, name: str, version: int | None) -> list[Row]:
        settings = {key: value for key, value in self.strategy.items() if key != "name"}
        row = {"version": 1, "settings": json.dumps(settings), "parsed": "{}"}
        return [row] if name == self.strategy["name"] else []

    def _names(self) -> list[Row]:
        return [{"name": self.strategy["name"]}]

    def _model(self, name: str) -> list[Row]:
        return [self.model] if name == self.model["name"] else []

    def _settings(self) -> list[Row]:
        return [{"name": name, "value": json.dumps(value)} for name, value in self.settings.items()]

    def _resolve(self, doc: str | None, most: int) -> list[Row]:
        ready = sum(document.ready for document in self.documents.values())
        return [
            {
                "id": document.id,
                "name": document.name,
                "version": document.version,
                "ready": document.ready,
                "detail": None if document.ready else "marking, 1 of 4 windows done",
                "matched": ready,
                "current": document.current,
                "language": document.language,
                "line_count": len(document.lines),
                "source_weight": document.weight,
            }
            for document in self.documents.values()
        ]

    def _weighed(self, ids: list[str], values: str, every: bool) -> list[Row]:
        return [
            {
                "id": document.id,
                "name": document.name,
                "version": document.version,
                "current": document.current,
                "language": document.language,
                "line_count": len(document.lines),
                "weight": document.weight * (1.0 if document.current else 0.8),
                "inside": True,
                "dated": document.dated,
            }
            for key in ids
            for document in [self.documents[key]]
        ]

    def _possible_queries(self, ids: list[str]) -> list[Row]:
        return [{"document": key, "question": query} for key in ids for query in self.documents[key].queries]

    def _shots(self) -> list[Row]:
        return self.shots

    def _terms(self, key: str, wanted: list[str]) -> dict[str, list[int]]:
        document = self.documents[key]
        found: dict[str, list[int]] = {}
        for number, line in enumerate(document.lines, 1):
            for term in set(terms(line, document.language)).intersection(wanted):
                found.setdefault(term, []).append(number)
        return found

    def _hits(self, ids: list[str], wanted: list[str]) -> list[Row]:
        return [
            {"document": key, "term": term, "hits": len(lines)}
            for key in ids
            for term, lines in self._terms(key, wanted).items()
        ]

    def _postings(self, ids: list[str], wanted: list[str]) -> list[Row]:
        return [
            {"document": key, "term": term, "line_nos": struct.pack(f"<{len(part)}i", *part)}
            for key in ids
            for term, lines in sorted(self._terms(key, wanted).items())
            for part in (lines[:2], lines[2:])  # two stretches
            if part
        ]

    def _text_lines(self, ids: list[str], sample: int) -> list[Row]:
        return [
            {"document": key, "held": sum(line != "" for line in self.documents[key].lines[:sample])}
            for key in ids
        ]

    def _roots(self, ids: list[str]) -> list[Row]:
        return [
            {"document": key, "depth": 0, **_columns(self.documents[key].children(None)[0])} for key in ids
        ]

    def _nodes(self, key: str, ids: list[str]) -> list[Row]:
        document = self.documents[key]
        return [
            {
                "id": node["id"],
                "bullets": json.dumps(node["bullets"]),
                "children": json.dumps(
                    [
                        [
                            c["id"],
                            c["is_leaf"],
                            c["line_start"],
                            c["line_end"],
                            c["title"],
                            c["bullets"][0][0],
                        ]
                        for c in document.children(node["id"])
                    ]
                ),
            }
            for node in document.nodes
            if node["id"] in ids
        ]

    def _tree(self, key: str) -> list[Row]:
        document = self.documents[key]
        found: list[Row] = []

        def down(node: dict[str, Any], depth: int) -> None:
            bullet = node["bullets"][0][0]
            found.append({**_columns(node), "parent": node["parent"], "depth": depth, "bullet": bullet})
            for child in document.children(node["id"]):
                down(child, depth + 1)

        down(document.children(None)[0], 0)
        return found

    def _lines(self, key: str, first: int, last: int) -> list[Row]:
        document = self.documents[key]
        return [
            {"line_no": number, "text": document.lines[number - 1], "kind": "text", "level": None}
            for number in range(first, last + 1)
        ]

    def _leaves_below(self, key: str, node: str, firsts: list[int], lasts: list[int]) -> list[Row]:
        document = self.documents[key]
        found: list[Row] = []

        def down(at: dict[str, Any], path: list[str]) -> None:
            if at["is_leaf"]:
                found.append({**_columns(at), "depth": 0, "path": json.dumps(path)})
            for child in document.children(at["id"]):
                if any(
                    child["line_start"] <= last and child["line_end"] >= first
                    for first, last in zip(firsts, lasts, strict=True)
                ):
                    down(child, [*path, child["title"]])

        down(next(item for item in document.nodes if item["id"] == node), [])
        return found

    def _stored(self, ids: list[str], numbers: list[int]) -> list[Row]:
        return [
            {
                "document": key,
                "line_no": number,
                "text": self.changed.get((key, number), self.documents[key].lines[number - 1]),
                "page": 7,
                "locator": '{"bbox": [1, 2, 3, 4]}',
            }
            for key, number in zip(ids, numbers, strict=True)
        ]


def _columns(node: dict[str, Any]) -> dict[str, Any]:
    return {name: node[name] for name in ("id", "is_leaf", "line_start", "line_end", "title")}


Script = Callable[[Task[Any]], dict[str, Any]]


class Scripted:
    """A driver whose replies come from a function. `waits` makes every call a thread of its own."""

    def __init__(self, script: Script, waits: bool = False) -> None:
        self.script = script
        self.waits = waits
        self.tasks: list[Task[Any]] = []
        self.stopped = False

    def reply(self, task: Task[Any], stop: threading.Event) -> Reply:
        self.tasks.append(task)
        try:
            return Reply(self.script(task), 100, 10)
        finally:
            self.stopped = stop.is_set()

    def of(self, kind: type[Task[Any]]) -> list[Any]:
        return [task for task in self.tasks if isinstance(task, kind)]


def plan(*subjects: str, method: str = "lookup", asks: Sequence[str] = ("what",)) -> dict[str, Any]:
    return {
        "method": method,
        "subjects": [
            {"what": what, "why": f"which lines say: {what}", "how": f"look up {what}", "asks": list(asks)}
            for what in subjects
        ],
    }


def answer(what: str, *quotes: tuple[int, str], why: str = "it says so") -> dict[str, Any]:
    how = [{"line": line, "quote": quote} for line, quote in quotes]
    return {"choice": "ANSWER", "what": what, "why": why, "how": how}


def descend(*letters: str) -> dict[str, Any]:
    return {"choice": "DESCEND", "open": list(letters)}


NOT_HERE: dict[str, Any] = {"choice": "NOT_HERE"}


def by_line(*words: str) -> Script:
    """A reader that opens what has scent, and answers with each shown line that holds any of the words."""

    def script(task: Task[Any]) -> dict[str, Any]:
        if isinstance(task, Plan):
            return plan(task.question)
        if isinstance(task, Compare):
            return {"relation": "compatible"}
        assert isinstance(task, Read)
        if task.children:
            letters = [child.letter for child in task.children if child.lines_hit]
            return descend(*letters) if letters else NOT_HERE
        for item in task.items:
            if any(word in item.text for word in words):
                return answer(item.text, (item.number, item.text))
        return NOT_HERE

    return script


def run(
    database: FakeDatabase, script: Script, question: str, waits: bool = False
) -> tuple[dict[str, Any], Scripted]:
    """Ask with a scripted model; what came back, and the driver with its tasks."""
    driver = Scripted(script, waits)

    def opener(model: Model) -> Scripted:
        return driver

    return ask(database, "*", question, "default", opener), driver


def extractive(database: FakeDatabase, question: str) -> dict[str, Any]:
    """Ask with the embedded model."""
    database.model["driver"] = "extractive"
    return ask(database, "*", question, "default")
