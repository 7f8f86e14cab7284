"""Ranking and comparing many candidates with the embedded model: what a question does after its last read."""

from __future__ import annotations

import statistics
import threading
import time
from functools import partial

from tq.ask import weigh
from tq.ask.compare import task
from tq.ask.records import Aim, Citation, Claim, Node, Source, SourceRow, Subject
from tq.model.extractive import Extractive
from tq.model.limits import Model
from tq.model.tasks import Parts
from tq.strategy.conflicts import chosen, ruled
from tq.strategy.rank import rank
from tq.strategy.settings import Strategy
from tq.text import claims as texts
from tq.text import stated

CANDIDATES = 200
PAIRS = 16  # that the strategy `default` has its model compare
RUNS = 15
QUESTION = "What is the fee for a missed appointment?"
STRATEGY = Strategy(
    name="default", top_n=5, documents=50, routes=8, rereads=2, evidence="line", evidence_why="line", reasoning_rules="",
    weight_evidence=4, weight_agreement=2, weight_source=1, weight_fit=4, on_error="raise", pairs=PAIRS,
    versions="current", patience_seconds=30,
)  # fmt: skip
MODEL = Model(
    name="extractive", driver="extractive", input_tokens=4096, output_tokens=1024, chars_per_token=4, windows_per_call=3,
    summary_tokens=384, concurrency=16, timeout_seconds=60, delay_ms=0,
)  # fmt: skip
SAID = (
    "The fee for a missed appointment is {} euros.",
    "Patients who miss an appointment pay a fee of {} euros at the desk of the clinic.",
    "A missed appointment costs {} euros, unless the doctor says otherwise.",
    "Whoever misses an appointment is reminded after {} days and pays no fee the first time.",
    "The clinic keeps the record of a missed appointment for {} months.",
)


def candidates() -> list[Claim]:
    """Claims of as many documents: the same sentences with other numbers, a third of them found more than once."""
    aim = Aim(0, Subject(0, Parts(QUESTION, "", ""), ("what",)), "what", QUESTION)
    found = []
    for number in range(CANDIDATES):
        row = SourceRow(str(number), f"doc/{number}", 1, True, None, 1, True, "english", 9, 1.0 + number % 3)
        node = Node(str(number), True, 1, 9, 0, "Fees")
        source = Source(number, row, node, "english", (), [])
        what = SAID[number % len(SAID)].format(10 + number % 67)
        found.append(
            Claim(aim, what, "", [Citation(source, 4, 4, what, str(number), "line")], [], (number % 10) / 10)
        )
    return found


def once() -> float:
    """Milliseconds of CPU for claims that were never read before."""
    made = candidates()
    stated.stated.cache_clear()
    texts.forget()
    driver = Extractive(MODEL)
    started = time.process_time()
    ranked = rank(weigh.merge(made), STRATEGY)
    rules = ruled(ranked)
    asked = {
        pair: partial(driver.reply, task(ranked[pair[0]], ranked[pair[1]]))
        for pair in chosen(ranked, rules, PAIRS)
    }
    relations = dict(rules.relations) | {
        pair: ask(threading.Event()).data["relation"] for pair, ask in asked.items()
    }
    against = {
        pair: relation for pair, relation in relations.items() if relation == "contradicts" or pair in asked
    }
    rank(weigh.relate(ranked, against), STRATEGY)
    return (time.process_time() - started) * 1000


def measure() -> None:
    print(f"RANK, embedded model: merging, ranking and comparing {CANDIDATES} candidates")
    once()
    times = sorted(once() for _ in range(RUNS))
    print(
        f"  CPU time: median {statistics.median(times):.1f} ms, best {times[0]:.1f} ms, worst {times[-1]:.1f} ms of {RUNS} runs"
    )
