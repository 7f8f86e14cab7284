"""Numbers of the model layer: how close ingest and a question come to what a model allows, and what they cost in tokens.

The model is on loopback (tests/model_server.py), behind real HTTP and the real SDK; its replies are the embedded driver's,
so tokens in are those of the real prompts, and tokens out those of a model that copies facts word for word. Cached tokens
are simulated from the requests: a prefix up to the cache_control mark that was sent before. A provider caches no prefix
below a minimum, often 1,024 tokens: both are told, with that minimum and with none.
"""

from __future__ import annotations

import os
import statistics
import sys
import threading
import time
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import psycopg

from bench import corpus, server
from tq.model.driver import Calls, open_driver
from tq.model.limits import Model
from tq.model.tasks import Item, Summarise

sys.path.insert(0, str(Path(__file__).parents[1]))
from model_server import ModelServer

CALL_MS = 200
CONCURRENCY = 16
WORKERS = 2
DOCUMENTS = 4
LINES = 5_000  # of each
ROUTES = 8
ROUTE_LINES = 1_000
ASKED = 7  # times that each question is asked; the median counts
PAGE_TOKENS = 500
THEIRS_IN, THEIRS_OUT, THEIRS_ANSWER = 1_257, 467, 2_984  # PageIndex: a page, a page, an answer
PRICES = {"input_price": 3, "output_price": 15, "cached_price": 0.3}  # of a million tokens
LIMITS = {"input_tokens": 32_000, "output_tokens": 4_000, "summary_tokens": 800}
BARE = 400  # calls of the loop that ingest is compared with

BY_PURPOSE = """
    SELECT purpose, sum(input_tokens + output_tokens)::int FROM tq.model_call WHERE query_id = %s GROUP BY purpose
"""

Connection = psycopg.Connection[Any]


def say(text: str = "") -> None:
    print(text, flush=True)


def model(url: str) -> None:
    with server.served(CALL_MS / 1000) as root:
        rate(url, "extractive", None, 1)
        rate(url, "openai", root, WORKERS)
        rate(url, "anthropic", root, WORKERS)
    say()
    routes(url)
    say()
    tokens(url)


def use(db: Connection, name: str, **row: Any) -> None:
    """A row of tq.model, and the setting model for it."""
    columns = ", ".join(["name", *row])
    db.execute(
        f"INSERT INTO tq.model ({columns}) VALUES ({', '.join(['%s'] * (len(row) + 1))})",
        [name, *row.values()],
    )
    db.execute("UPDATE tq.setting SET value = to_jsonb(%s::text) WHERE name = 'model'", [name])


def value(db: Connection, sql: str, *values: Any) -> Any:
    row = db.execute(sql, values).fetchone()
    assert row is not None
    return row[0]


# ---------------------------------------------------------------- ingest against what the model allows


def rate(url: str, driver: str, root: str | None, count: int) -> None:
    """Ingest with calls of 200 ms, 16 at once. Without places to share (the embedded driver, slowed) by one worker."""
    small = {"input_tokens": 4096, "output_tokens": 1024, "summary_tokens": 384, "concurrency": CONCURRENCY}
    base_url = root and (f"{root}/v1" if driver == "openai" else root)
    remote = {"remote_name": "test-model", "base_url": base_url} if root else {"delay_ms": CALL_MS}
    sessions = [psycopg.connect(url, autocommit=True) for _ in range(count)]
    with psycopg.connect(url, autocommit=True) as db:
        use(db, f"rate-{driver}", driver=driver, **small, **remote)
        for at, session in enumerate(sessions):  # each has imported what it needs
            load(db, f"warm-{driver}-{at}", 1, 50)
            work([session])
        load(db, f"rate-{driver}", 1 if count == 1 else DOCUMENTS, LINES * (DOCUMENTS if count == 1 else 1))
        seen = root and server.log(root)
        ready = "document LIKE %s AND status NOT IN ('pending', 'converting')"
        computed = sum(map(cpu, sessions))
        began = time.perf_counter()
        threads = [threading.Thread(target=work, args=[[session]]) for session in sessions]
        for thread in threads:
            thread.start()
        while not value(db, f"SELECT count(*) FROM tq.progress WHERE {ready}", f"rate-{driver}-%"):
            time.sleep(0.02)
        first = time.perf_counter()
        for thread in threads:
            thread.join()
        ended = time.perf_counter()
        computed = sum(map(cpu, sessions)) - computed
        seen = root and server.log(root)
        calls = int(value(db, "SELECT sum(calls) FROM tq.usage WHERE document LIKE %s", f"rate-{driver}-%"))
    for session in sessions:
        session.close()
    allowed = calls * CALL_MS / 1000 / CONCURRENCY
    name = f"{driver}, over HTTP" if root else "embedded, slowed"
    say(
        f"INGEST, calls of {CALL_MS} ms, {CONCURRENCY} at once, {name}: {calls} calls in {ended - first:.1f} s from the first"
        f" window to ready,\n  {allowed / (ended - first):.0%} of what the model allows (goal 90 %);"
        f" {allowed / (ended - began):.0%} with the conversion before it;"
        f" a bare loop of calls, on this machine now: {bare(driver, base_url):.0%}"
    )
    told = f"  computed: {1000 * computed / calls:.1f} ms a call in the workers, conversion included"
    if seen:
        told += f", {1000 * seen.cpu / len(seen.calls):.1f} ms in the model; calls of {seen.mean:.3f} s"
        say(f"{told}\n  seconds with so many calls in flight: {occupancy(seen.occupied())}")
    else:
        say(told)


def cpu(session: Connection) -> float:
    """Seconds that a session's server process has computed until now."""
    fields = Path(f"/proc/{session.info.backend_pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def occupancy(seconds: Sequence[float]) -> str:
    """Seconds by how many calls were in flight, in stretches."""
    edges = [0, 1, 4, 8, 12, CONCURRENCY - 1, CONCURRENCY, CONCURRENCY + 1]
    parts = []
    for first, after in pairwise(edges):
        name = str(first) if after == first + 1 else f"{first} to {after - 1}"
        parts.append(f"{name}: {sum(seconds[first:after]):.1f}")
    return ", ".join(parts)


def bare(driver: str, base_url: str | None) -> float:
    """The share of what the model allows that a loop reaches which does nothing but call it."""
    delay = 0 if base_url else CALL_MS
    row = Model(
        "bare",
        driver,
        4096,
        1024,
        4.0,
        3,
        384,
        CONCURRENCY,
        60,
        delay,
        base_url=base_url,
        remote_name="test-model",
    )
    items = [Item(at, text, at, at) for at, text in enumerate(corpus.lines(20), 1)]
    calls = Calls(open_driver(row), CONCURRENCY, lambda: None)
    calls.one(Summarise(items, 3, 200, language="english"))  # the import is paid
    began = time.perf_counter()
    for at in range(BARE):
        calls.submit(at, Summarise(items, 3, 200, f"part {at}", "english"))
    for _ in calls.completed():
        pass
    return BARE * CALL_MS / 1000 / CONCURRENCY / (time.perf_counter() - began)


def load(db: Connection, name: str, count: int, lines: int) -> None:
    text = list(corpus.lines(count * lines))
    for at in range(count):
        part = "\n".join(text[at * lines : (at + 1) * lines]) + "\n"
        db.execute("SELECT tq.load_text(%s, %s)", [f"{name}-{at}", part])


def work(sessions: list[Connection]) -> None:
    for session in sessions:
        session.execute("CALL tq.work(3600, true)")


# ---------------------------------------------------------------- a question with many routes


def routes(url: str) -> None:
    from bench.__main__ import longest_chain

    with psycopg.connect(url, autocommit=True) as db:
        db.execute("UPDATE tq.setting SET value = '\"extractive\"' WHERE name = 'model'")
        text = list(corpus.lines(ROUTES * ROUTE_LINES))
        for at in range(ROUTES):
            lines = text[at * ROUTE_LINES : (at + 1) * ROUTE_LINES]
            lines.insert(
                ROUTE_LINES // 2,
                f"On {at + 3} May 2023 Ada Brown serviced lift K99999999 at Mill Street: low oil.",
            )
            db.execute("SELECT tq.load_text(%s, %s)", [f"route-{at}", "\n".join(lines) + "\n"])
        work([db])
        limits = {"input_tokens": 4096, "output_tokens": 1024, "summary_tokens": 384}
        use(db, "slow-routes", driver="extractive", delay_ms=CALL_MS, concurrency=CONCURRENCY, **limits)
        db.execute(
            "INSERT INTO tq.strategy (name, model, routes) VALUES ('routes', 'slow-routes', %s)", [ROUTES]
        )
        say(
            f"A QUESTION WITH {ROUTES} ROUTES, calls of {CALL_MS} ms: wall time against the longest chain of dependent calls"
        )
        for question in ("When was lift K99999999 serviced?", "Who serviced lift K99999999 at Mill Street?"):
            walls = []
            for _ in range(1 + ASKED):  # the first of a session imports the engine
                began = time.perf_counter()
                query = value(db, "SELECT query_id FROM tq.ask('route-*', %s, 'routes')", question)
                walls.append(time.perf_counter() - began)
            wall = statistics.median(walls[1:])
            chain, fewest = longest_chain(db, query), longest_chain(db, query, CONCURRENCY)
            reads = value(db, "SELECT count(*) FROM tq.read WHERE query_id = %s", query)
            ways = value(db, "SELECT count(*) FROM tq.route WHERE query_id = %s", query)
            goal = " (goal 1.15)" if ways == ROUTES else ""
            told = f"; {fewest} rounds of {CONCURRENCY} calls: {wall / (fewest * CALL_MS / 1000):.2f} times"
            say(
                f"  wall {wall:.3f} s, {ways} routes, {reads} reads, chain of {chain} calls:"
                f" {wall / (chain * CALL_MS / 1000):.2f} times{goal}{told if fewest > chain else ''}  ({question})"
            )


# ---------------------------------------------------------------- tokens and money


def tokens(url: str) -> None:
    from tq_loader.commands.demo import QUESTIONS
    from tq_loader.demo.build import documents

    loopback = ModelServer(cache_minimum=0)
    minimum = 1024
    try:
        with psycopg.connect(url, autocommit=True) as db:
            db.execute("DELETE FROM tq_private.reply")
            limits = ", ".join(f"{name} {size}" for name, size in LIMITS.items())
            use(
                db,
                "tokens",
                driver="anthropic",
                remote_name="test-model",
                base_url=loopback.root,
                **LIMITS,
                **PRICES,
            )
            say(f"TOKENS OF INGEST, the demo's documents, a model of {limits}")
            say("  prices of a million tokens: 3 in, 15 out, 0.3 cached; a page is 500 tokens of source")
            names = []
            for one in documents():
                names.append(one.name)
                row = db.execute(
                    "SELECT input_tokens, output_tokens FROM tq.estimate(content => %s, model => 'tokens') WHERE purpose = 'all'",
                    [one.content],
                ).fetchone()
                db.execute("SELECT tq.load(%s, %s, %s)", [one.name, one.content, one.media_type])
                work([db])
                assert row is not None
                spent(db, one.name, [one.name], row)
            spent(db, "all", names, None)
            theirs = (THEIRS_IN * 3 + THEIRS_OUT * 15) / 1e6
            say(
                f"  PageIndex, as published: {THEIRS_IN / PAGE_TOKENS:.2f} in and {THEIRS_OUT / PAGE_TOKENS:.2f} out a token;"
                f" {THEIRS_IN} in + {THEIRS_OUT} out a page, {theirs:.4f} at these prices"
            )
            say(
                "  (cached: simulated by prefix, of any length;"
                f" with a provider's minimum of {minimum} tokens: {below(loopback, minimum)})"
            )
            say()
            say("TOKENS OF AN ANSWER, the demo's questions")
            loopback.seen.clear()
            totals: Counter[str] = Counter()
            for _, _, doc, question, _ in QUESTIONS:
                query = value(db, "SELECT query_id FROM tq.ask(%s, %s) LIMIT 1", doc, question)
                cost = value(db, "SELECT detail -> 'cost' FROM tq.answers(%s) LIMIT 1", query)
                totals.update(dict(db.execute(BY_PURPOSE, [query]).fetchall()))
                say(
                    f"  {cost['input_tokens']:>7} in, {cost['cached_tokens'] / cost['input_tokens']:.0%} of it cached,"
                    f" {cost['output_tokens']:>5} out, {cost['money']:.4f} in money, {cost['calls']:>3} calls  ({question})"
                )
            shares = ", ".join(
                f"{purpose} {spent / totals.total():.0%}" for purpose, spent in totals.most_common()
            )
            say(
                f"  mean {totals.total() // len(QUESTIONS)} a question over 1 to 3 documents ({shares});"
                f" published for PageIndex: about {THEIRS_ANSWER}"
            )
            say(f"  (cached: as above; with a minimum of {minimum} tokens: {below(loopback, minimum)})")
    finally:
        loopback.close()


def spent(db: Connection, title: str, names: list[str], estimate: Any) -> None:
    """What ingest took for each token of source."""
    row = db.execute(
        "SELECT sum(input_tokens), sum(output_tokens), sum(cached_tokens), sum(cost) FROM tq.usage WHERE document = ANY (%s)",
        [names],
    ).fetchone()
    chars = value(
        db,
        "SELECT sum(length(l.text) + 1) FROM tq.line AS l JOIN tq.document AS d ON d.id = l.document_id WHERE d.name = ANY (%s)",
        names,
    )
    assert row is not None
    sent, received, cached, money = (float(one) for one in row)
    source = chars / 4
    priced = sent - cached * (1 - PRICES["cached_price"] / PRICES["input_price"])
    told = ""
    if estimate is not None:
        told = f"; estimated {estimate[0] / sent - 1:+.0%} in, {estimate[1] / received - 1:+.0%} out"
    say(
        f"  {title}: {sent / source:.2f} in a token of source, {priced / source:.2f} with its cached {cached / sent:.0%}"
        f" priced as cached (goal 4.5), {received / source:.2f} out (goal 0.5);"
        f"\n    {sent * PAGE_TOKENS / source:.0f} in + {received * PAGE_TOKENS / source:.0f} out a page,"
        f" {money * PAGE_TOKENS / source:.4f} in money{told}"
    )


def below(loopback: ModelServer, minimum: int) -> str:
    """How much would have been cached with a minimum."""
    known: set[tuple[str, str]] = set()
    sent = cached = 0
    for seen in loopback.seen:
        sent += (len(seen.system) + len(seen.user)) // 4
        key = (seen.system, str(seen.body.get("output_config")))
        if len(seen.system) // 4 >= minimum:
            cached += len(seen.system) // 4 if key in known else 0
            known.add(key)
    return f"{cached / sent:.0%}"
