"""The embedded model over the question sets of the shared evaluation folder, in memory: no server, no queue.

    python tests/bench/bench_eval.py [--routes N] [--set NAME] [--out FILE]

Marks boundaries, cuts into leaves, ranks the leaves by scent, reads the N best of them through the same tasks and
checks as in the server, ranks what they answer by fit, and prints score.py's table beside BM25's. PDFs are left out.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "plpython"))

from tq.ask.evidence import SURE  # noqa: E402
from tq.ask.scent import Scent  # noqa: E402
from tq.ask.scope import others  # noqa: E402
from tq.database.asking import rarity  # noqa: E402
from tq.ingest.cut import BLANK, HEADING, SENTENCE_END, TABLE, Boundary, cut  # noqa: E402
from tq.ingest.summary import leaf_items  # noqa: E402
from tq.ingest.windows import Windows, cost, is_nothing, shown_chars  # noqa: E402
from tq.model.driver import run  # noqa: E402
from tq.model.extractive import Extractive  # noqa: E402
from tq.model.limits import Model  # noqa: E402
from tq.model.tasks import Line, Mark, Parts, Plan, Read  # noqa: E402
from tq.text.tokens import detect_language, terms  # noqa: E402

SHARED = ROOT.parent / "shared" / "eval"
# The row of tq.model that the schema ships for the embedded model.
MODEL = Model("extractive", "extractive", 4096, 1024, 4.0, 3, 384, 16, 60, 0)
ENDS = ".!?…。！？؟।:;"


@dataclass(slots=True)
class Document:
    lines: list[Line]
    language: str
    leaves: list[tuple[int, int]]
    postings: dict[str, list[int]]


def flags(line: Line) -> int:
    kinds = {"heading": HEADING, "table": TABLE}
    return (
        (BLANK if is_nothing(line.text) else 0)
        | (SENTENCE_END if line.text.rstrip(' \t"”’»)]')[-1:] in tuple(ENDS) else 0)
        | kinds.get(line.kind, 0)
    )


def kind_of(text: str) -> str:
    """As the Markdown converter has it: rows with bars are a table."""
    return "table" if text.lstrip().startswith("|") and text.count("|") >= 2 else "text"


def build(path: Path, driver: Extractive) -> Document:
    texts = path.read_text(encoding="utf-8").split("\n")
    lines = [Line(number, text, kind_of(text)) for number, text in enumerate(texts, 1)]
    language = detect_language("\n".join(texts))
    fit = MODEL.fit
    windows = Windows(fit.window_chars, shown_chars(fit.window_chars))
    for line in lines:
        windows.add(line.number, len(line.text), is_nothing(line.text))
    windows.finish()
    spans = [lines[start - 1 : end] for start, end, _ in windows.found]
    found: dict[int, Boundary] = {}
    for at, current in enumerate(spans):
        before = spans[at - 1] if at else []
        after = spans[at + 1] if at + 1 < len(spans) else []
        outcome = run(driver, Mark(before, current, after, language=language), threading.Event())
        if outcome.reply is None:
            raise RuntimeError(outcome.rejected)
        for mark in outcome.reply.boundaries:
            found[mark.line] = Boundary(mark.line, mark.title, mark.level)
    costs = [cost(len(line.text), is_nothing(line.text)) for line in lines]
    leaves, _ = cut(costs, [flags(line) for line in lines], found, fit)
    postings: dict[str, list[int]] = defaultdict(list)
    for line in lines:
        for term in set(terms(line.text, language)):
            postings[term].append(line.number)
    return Document(lines, language, [(leaf.start, leaf.end) for leaf in leaves], postings)


def ask(document: Document, asked: str, driver: Extractive, routes: int) -> list[tuple[float, int, int]]:
    """(fit, first line, last line) of every answer, best first."""
    plan = run(driver, Plan(asked, language=document.language), threading.Event()).reply
    if plan is None:
        raise RuntimeError("the plan was rejected")
    answers: dict[tuple[int, int], float] = {}
    settled = False
    for subject in plan.subjects:
        hits = {term: len(document.postings.get(term, ())) for term in terms(subject.what, document.language)}
        idf = {
            term: rarity(sum(line.text != "" for line in document.lines), count)
            for term, count in hits.items()
        }
        kin = others(idf, document.language)
        held = {term: document.postings[term] for term in (*hits, *kin) if document.postings.get(term)}
        scent = Scent(held, idf, len(document.lines), kin)
        ranked = sorted(document.leaves, key=lambda leaf: (-scent.child(*leaf)[2], leaf))
        for start, end in ranked[:routes]:
            if scent.child(start, end)[2] <= 0:
                break
            task = Read(
                node_id="leaf",
                line_start=start,
                line_end=end,
                depth=1,
                is_leaf=True,
                items=leaf_items(document.lines[start - 1 : end], MODEL.fit.piece_chars),
                children=(),
                query=Parts(subject.what, subject.why, subject.how),
                question=asked,
                terms=idf,
                language=document.language,
            )
            outcome = run(driver, task, threading.Event())
            if outcome.error is not None:
                raise outcome.error
            if outcome.reply is None:
                raise RuntimeError(f"{asked}: {outcome.rejected}")
            if outcome.reply.choice == "ANSWER":
                for answer in outcome.reply.answers:
                    cited = [quote.line for quote in answer.how]
                    place = (min(cited), max(cited))
                    answers[place] = max(answers.get(place, 0.0), answer.fit or 0.0)
                    settled = settled or (answer.sure or 0.0) >= SURE
    if not settled:
        return []
    return sorted(((fit, *place) for place, fit in answers.items()), key=lambda one: (-one[0], one[1]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--routes", type=int, default=8, help="leaves read a question")
    parser.add_argument("--set", help="only this set")
    parser.add_argument("--out", help="keep the predictions here")
    options = parser.parse_args()
    if not SHARED.is_dir():
        sys.exit(f"left out: {SHARED} is not there")
    driver = Extractive(MODEL)
    documents: dict[str, Document] = {}
    built = asked = 0.0
    predictions: list[str] = []
    for path in sorted((SHARED / "qa").glob("*.jsonl")):
        if options.set and path.stem != options.set:
            continue
        for row in path.open(encoding="utf-8"):
            question = json.loads(row)
            name = question["doc"] if isinstance(question["doc"], str) else question["doc"][0]
            if name.endswith(".pdf"):
                continue
            started = time.perf_counter()
            if name not in documents:
                documents[name] = build(SHARED / name, driver)
                built += time.perf_counter() - started
                started = time.perf_counter()
            found = ask(documents[name], question["question"], driver, options.routes)[:5]
            asked += time.perf_counter() - started
            cited = [{"line_start": first, "line_end": last, "page": None} for _, first, last in found]
            entry = {
                "set": question["set"],
                "id": question["id"],
                "unsettled": not cited,
                "citations": cited,
            }
            predictions.append(json.dumps(entry))
    with tempfile.TemporaryDirectory() as folder:
        out = Path(options.out or f"{folder}/predictions.jsonl")
        out.write_text("\n".join(predictions) + "\n", encoding="utf-8")
        score = [sys.executable, str(SHARED / "score.py")]
        tables = [
            subprocess.run([*score, argument], capture_output=True, text=True, check=True).stdout
            for argument in (str(out), "--bm25")
        ]
    leaves = sum(len(document.leaves) for document in documents.values())
    count = sum(len(document.lines) for document in documents.values())
    print(f"{len(documents)} documents, {count} lines, {leaves} leaves: {built:.1f} s to mark and cut")
    print(f"{len(predictions)} questions: {1000 * asked / max(1, len(predictions)):.1f} ms each\n")
    print(f"tq, embedded model\n{tables[0]}\nBM25 over 3-line passages\n{tables[1]}")


if __name__ == "__main__":
    main()
