"""The numbers of tq, measured on this machine: python -m bench [NAME …]. Each part makes its own database.

Parts: ingest, ask, slow, rank (and compare), follow (follow-ups), eval (question sets in the folder that TQ_EVAL names),
model (rate, routes, tokens and money with a model on loopback), convert, and million (ingest and ask with a document of a
million lines as well: about ten minutes more). Without a name: all but convert and million, some minutes.
"""

from __future__ import annotations

import json
import os
import platform
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg

from bench import convert, corpus, database, follow, model, rank

PARTS = ("ingest", "ask", "slow", "rank", "follow", "eval", "model", "convert", "million")
SHARED_EVAL = Path(os.environ.get("TQ_EVAL", Path(__file__).resolve().parents[3] / "shared" / "eval"))
USUAL = ("ingest", "ask", "slow", "rank", "follow", "eval", "model")  # where no part is named
ASKED = 40  # questions a document
WORKERS = 2


def say(text: str = "") -> None:
    print(text, flush=True)


def anonymous_mb(pid: int) -> float:
    """Anonymous memory of a process, in MB; shared buffers are not its own."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1]) / 1024
    raise RuntimeError(f"/proc/{pid}/status does not say RssAnon")


class Watch:
    """The peak of the anonymous memory of some processes, looked at 20 times a second."""

    def __init__(self, pids: list[int]) -> None:
        self.pids = pids
        self.peak = 0.0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def _run(self) -> None:
        while not self._stop.wait(0.05):
            self.peak = max(self.peak, *(anonymous_mb(pid) for pid in self.pids))

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()


def load(connection: psycopg.Connection[Any], name: str, count: int) -> None:
    connection.execute("SELECT tq.load_text(%s, %s)", [name, "\n".join(corpus.lines(count)) + "\n"])


@contextmanager
def workers(url: str, count: int) -> Iterator[list[int]]:
    """`count` sessions inside CALL tq.work until the queue is empty; gives their backends' process ids."""
    sessions = [psycopg.connect(url, autocommit=True) for _ in range(count)]
    failures: list[Exception] = []

    def run(session: psycopg.Connection[Any]) -> None:
        try:
            session.execute("CALL tq.work(3600, true)")
        except Exception as error:  # raised again in the main thread
            failures.append(error)

    threads = [threading.Thread(target=run, args=[session]) for session in sessions]
    for thread in threads:
        thread.start()
    yield [session.info.backend_pid for session in sessions]
    for thread in threads:
        thread.join()
    for session in sessions:
        session.close()
    if failures:
        raise failures[0]


def ingest_one(url: str, connection: psycopg.Connection[Any], count: int) -> tuple[float, float]:
    """Seconds from tq.load_text to ready, and the peak of the workers' anonymous memory in MB."""
    name = f"log-{count}"
    started = time.perf_counter()
    load(connection, name, count)
    with workers(url, WORKERS) as pids, Watch(pids) as watch:
        pass_until_done(connection, name)
    seconds = time.perf_counter() - started
    status = connection.execute("SELECT status FROM tq.progress WHERE document = %s", [name]).fetchone()
    if status is None or status[0] != "ready":
        raise RuntimeError(f"{name} did not become ready: {status}")
    return seconds, watch.peak


def pass_until_done(connection: psycopg.Connection[Any], name: str) -> None:
    connection.execute("LISTEN tq_document")
    for notice in connection.notifies():
        said = json.loads(notice.payload)
        if said["name"] == name and said["status"] in ("ready", "failed"):
            return


def ingest(url: str, sizes: list[int]) -> None:
    say("INGEST, embedded model, two workers: from tq.load_text to ready")
    say(
        f"{'lines':>10}{'seconds':>10}{'lines/s':>10}{'times the cost of a tenth':>28}{'peak MB a worker':>18}"
    )
    before: tuple[int, float] | None = None
    with psycopg.connect(url, autocommit=True) as connection:
        for count in sizes:
            seconds, peak = ingest_one(url, connection, count)
            ratio = f"{seconds / before[1]:.1f}" if before and before[0] * 10 == count else ""
            say(f"{count:>10}{seconds:>10.1f}{count / seconds:>10.0f}{ratio:>28}{peak:>18.0f}")
            before = count, seconds


def ask(url: str, sizes: list[int]) -> None:
    say("ASK, embedded model, warm session")
    say(
        f"{'lines':>10}{'depth':>7}{'reads':>7}{'median ms':>11}{'p95 ms':>9}{'model ms':>10}"
        f"{'other ms a read':>17}{'right line first':>18}{'backend MB':>12}"
    )
    first = last = 0.0
    for count in sizes:
        with psycopg.connect(url, autocommit=True) as connection:
            name = f"log-{count}"
            depth = connection.execute("SELECT max(depth) FROM tq.outline(%s)", [name]).fetchone()
            times, reads, right = [], [], 0
            model = []  # ms of a question that are the model's
            asked = corpus.questions(count, ASKED)
            connection.execute("SELECT * FROM tq.ask(%s, %s)", [name, asked[0][0]])
            with Watch([connection.info.backend_pid]) as watch:
                for question, line in asked:
                    started = time.perf_counter()
                    rows = connection.execute(
                        "SELECT line_start, line_end, query_id FROM tq.ask(%s, %s)", [name, question]
                    ).fetchall()
                    times.append((time.perf_counter() - started) * 1000)
                    right += rows[0][0] is not None and rows[0][0] <= line <= rows[0][1]
                    found = connection.execute(
                        "SELECT (SELECT count(*) FROM tq.read WHERE query_id = %(query)s),"
                        " (SELECT sum(elapsed_ms) FROM tq.model_call WHERE query_id = %(query)s)",
                        {"query": rows[0][2]},
                    ).fetchone()
                    assert found is not None
                    reads.append(found[0])
                    model.append(found[1])
            median = statistics.median(times)
            first, last = first or median, median
            say(
                f"{count:>10}{depth[0] if depth else 0:>7}{statistics.mean(reads):>7.1f}{median:>11.1f}"
                f"{sorted(times)[int(len(times) * 0.95)]:>9.1f}{statistics.median(model):>10.1f}"
                f"{statistics.median((a - b) / c for a, b, c in zip(times, model, reads, strict=True)):>17.2f}"
                f"{right / len(asked):>18.2f}{watch.peak:>12.0f}"
            )
    say(f"median at {sizes[-1]} lines / median at {sizes[0]} lines: {last / first:.2f}")


SLOW_MS = 500


def slow(url: str, count: int) -> None:
    say(
        f"A MODEL THAT TAKES {SLOW_MS} ms A CALL: wall time against the longest chain of calls that depend on one another"
    )
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(
            "INSERT INTO tq.model (name, driver, input_tokens, output_tokens, summary_tokens, delay_ms)"
            " SELECT 'slow', driver, input_tokens, output_tokens, summary_tokens, %s FROM tq.model WHERE name = 'extractive'",
            [SLOW_MS],
        )
        connection.execute("INSERT INTO tq.strategy (name, model) VALUES ('slow', 'slow')")
        for question, _ in corpus.questions(count, 3):
            started = time.perf_counter()
            row = connection.execute(
                "SELECT query_id FROM tq.ask(%s, %s, 'slow')", [f"log-{count}", question]
            ).fetchone()
            wall = time.perf_counter() - started
            chain = longest_chain(connection, row[0] if row else None)
            say(
                f"  wall {wall:.3f} s, chain of {chain} calls: {wall / (chain * SLOW_MS / 1000):.3f} times  ({question})"
            )


def longest_chain(connection: psycopg.Connection[Any], query: object, places: int = 0) -> int:
    """Calls that depend on one another: the plan, the longest way down from read to read, each with its rereads, and the
    round in which claims are compared and composed. places: the fewest rounds in which so many calls at once can make
    all of them; 0 for no bound."""
    levels = connection.execute(
        """
        WITH RECURSIVE down AS (
            SELECT r.ordinal, 0 AS before, 1 + cardinality(r.rejected) AS calls
            FROM tq.read AS r WHERE r.query_id = %(query)s AND r.parent IS NULL
            UNION ALL
            SELECT r.ordinal, d.before + d.calls, 1 + cardinality(r.rejected)
            FROM down AS d JOIN tq.read AS r ON r.query_id = %(query)s AND r.parent = d.ordinal)
        SELECT before + at, count(*) FROM down, generate_series(1, calls) AS at GROUP BY 1 ORDER BY 1
        """,
        {"query": query},
    ).fetchall()
    counts: dict[str, int] = dict(
        connection.execute(
            "SELECT purpose, sum(calls)::int FROM tq.model_call WHERE query_id = %s GROUP BY purpose", [query]
        ).fetchall()
    )
    last = counts.get("compare", 0) + counts.get("write", 0)
    stages = [[1] * counts.get("plan", 0), [count for _, count in levels], [last] if last else []]
    return sum(rounds(stage, places) for stage in stages)


def rounds(levels: list[int], places: int) -> int:
    """Rounds of calls, as many of each level as given, each after one of the level before. What lies below a level cannot
    begin before it, and needs at least a round for each `places` of its calls."""
    fewest = len(levels)
    for level in range(len(levels) if places else 0):
        fewest = max(fewest, level + -(-sum(levels[level:]) // places))
    return fewest


def evaluate(url: str) -> None:
    if not SHARED_EVAL.is_dir():
        say("EVAL left out: set TQ_EVAL to a folder of question sets")
        return
    say("EVAL, embedded model, tq.ask with the default strategy")
    questions = [
        json.loads(line)
        for path in sorted((SHARED_EVAL / "qa").glob("*.jsonl"))
        for line in path.open(encoding="utf-8")
    ]
    documents = sorted({q["doc"] if isinstance(q["doc"], str) else q["doc"][0] for q in questions})
    with psycopg.connect(url, autocommit=True) as connection:
        for name in documents:
            connection.execute("SELECT tq.load(%s, %s)", [name, (SHARED_EVAL / name).read_bytes()])
        with workers(url, WORKERS):
            pass
        predictions = Path(os.environ.get("TMPDIR", "/tmp")) / f"tq-eval-{os.getpid()}.jsonl"
        with predictions.open("w", encoding="utf-8") as out:
            for q in questions:
                name = q["doc"] if isinstance(q["doc"], str) else q["doc"][0]
                rows = connection.execute(
                    "SELECT certainty, line_start, line_end, page FROM tq.ask(%s, %s) ORDER BY rank",
                    [name, q["question"]],
                ).fetchall()
                cited = [
                    {"line_start": a, "line_end": b, "page": page}
                    for certainty, a, b, page in rows
                    if certainty != "unsettled"
                ]
                out.write(
                    json.dumps({"set": q["set"], "id": q["id"], "unsettled": not cited, "citations": cited})
                    + "\n"
                )
    for title, arguments in (("tq", [str(predictions)]), ("BM25 over 3-line passages", ["--bm25"])):
        say(f"\n{title}")
        done = subprocess.run(
            [sys.executable, str(SHARED_EVAL / "score.py"), *arguments],
            capture_output=True,
            text=True,
            check=True,
        )
        say(done.stdout.rstrip())
    predictions.unlink()


def main(parts: list[str]) -> None:
    if unknown := [part for part in parts if part not in PARTS]:
        sys.exit(f"bench: there is no part {' '.join(unknown)}; the parts are {', '.join(PARTS)}")
    million = "million" in parts
    chosen = [part for part in parts if part != "million"] or list(USUAL)
    sizes = [1_000, 10_000, 100_000] + [1_000_000] * million
    say(
        f"{platform.node()}, {platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, "
        f"{time.strftime('%Y-%m-%d')}"
    )
    if "convert" in chosen:
        say()
        convert.convert()
    if "rank" in chosen:
        say()
        rank.measure()
    if not (set(USUAL) - {"rank"}) & set(chosen):
        return
    with database.fresh() as url:
        if {"ingest", "ask", "slow"} & set(chosen):
            say()
            ingest(url, sizes)
        if "ask" in chosen:
            say()
            ask(url, sizes)
        if "slow" in chosen:
            say()
            slow(url, 10_000)
        if "follow" in chosen:
            say()
            follow.measure(url)
        if "eval" in chosen:
            say()
            evaluate(url)
    if "model" in chosen:
        with database.fresh() as url:
            say()
            model.model(url)


if __name__ == "__main__":
    main(sys.argv[1:])
