"""How much a follow-up reads beside the same question asked from the root, on the demo's documents."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import psycopg

from tq_loader.demo.build import documents

CORPUS = "demo/*"
SUGGESTED = 12  # follow-ups a thread: those that tq.suggest names first


@dataclass(frozen=True, slots=True)
class Followed:
    """Nodes read by a follow-up, by the same question from its document's root, and from the root of all."""

    question: str
    widened: bool
    reads: int
    document: int
    corpus: int


def load(connection: psycopg.Connection[Any]) -> None:
    for document in documents():
        connection.execute(
            "SELECT tq.load(%s, %s, %s, source_weight => %s::real, effective_on => %s, questions => %s)",
            [
                document.name,
                document.content,
                document.media_type,
                document.weight,
                document.effective_on,
                list(document.questions),
            ],
        )
    connection.execute("CALL tq.work(3600, true)")


def _reads(connection: psycopg.Connection[Any], statement: str, *values: object) -> tuple[int, str]:
    """Nodes read, and how the best answer was come by."""
    row = connection.execute(
        f"SELECT (a.detail ->> 'reads')::int, a.how FROM {statement} AS a WHERE a.rank = 1", values
    ).fetchone()
    if row is None:
        raise RuntimeError(f"no answer: {statement} {values}")
    return int(row[0]), str(row[1])


def follow(connection: psycopg.Connection[Any]) -> Iterator[Followed]:
    """Each document's questions, asked of all documents; what answers best is picked, and each suggestion asked on."""
    for first in [question for document in documents() for question in document.questions]:
        row = connection.execute(
            "SELECT answer_id, document FROM tq.ask(%s, %s) WHERE rank = 1 AND what IS NOT NULL",
            [CORPUS, first],
        ).fetchone()
        if row is None:
            continue
        thread = connection.execute("SELECT tq.pick(answers => %s)", [[row[0]]]).fetchone()
        suggested = connection.execute(
            "SELECT question FROM tq.suggest(%s, %s)", [thread and thread[0], SUGGESTED]
        ).fetchall()
        for (question,) in suggested:
            reads, how = _reads(connection, "tq.follow_up(%s, %s)", thread and thread[0], question)
            document, _ = _reads(connection, "tq.ask(%s, %s)", row[1], question)
            corpus, _ = _reads(connection, "tq.ask(%s, %s)", CORPUS, question)
            yield Followed(question, "went on from the root" in how, reads, document, corpus)


def measure(url: str) -> None:
    print("FOLLOW-UPS on the demo's documents, embedded model: nodes read", flush=True)
    with psycopg.connect(url, autocommit=True) as connection:
        load(connection)
        found = list(follow(connection))
    print(
        f"{'':>28}{'questions':>11}{'follow-up':>11}{'root of document':>18}{'root of corpus':>16}{'a share of':>12}"
        f"{'and of':>8}"
    )
    for title, those in (
        ("answered near the picks", [one for one in found if not one.widened]),
        ("gone on from the root", [one for one in found if one.widened]),
    ):
        reads, document, corpus = (
            sum(getattr(one, name) for one in those) for name in ("reads", "document", "corpus")
        )
        if those:
            print(
                f"{title:>28}{len(those):>11}{reads / len(those):>11.1f}{document / len(those):>18.1f}"
                f"{corpus / len(those):>16.1f}{reads / document:>12.2f}{reads / corpus:>8.2f}"
            )
    print(
        "goal: near the picks at most a third (0.33) of what the same question reads from the root",
        flush=True,
    )
