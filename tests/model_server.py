"""A model on loopback: real HTTP, the Messages, Batches, Models and chat-completions protocols, and faults on demand.

By default it answers well: it reads the prompt as a model would, and the embedded driver chooses. `fault` puts faults
before the next calls, `fault_batches` before the next requests about batches; `script` replaces the answers themselves.

Cached tokens are simulated: a prefix that ends at a cache_control mark is written when it is first seen with its model and
schema, and read from then on; one shorter than `cache_minimum` tokens is never cached, as at the provider.
"""

from __future__ import annotations

import json
import re
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tq.model import composing, extractive
from tq.model.tasks import (
    Child,
    Compare,
    Evidence,
    Item,
    Line,
    Mark,
    Parts,
    Plan,
    Read,
    Section,
    Select,
    Summarise,
    Task,
    Write,
)
from tq.text.claims import relation
from tq.text.tokens import detect_language, terms

Data = dict[str, Any]
Script = Callable[[str, str], Data]  # system and user prompt to the reply


# ---------------------------------------------------------------- reading a prompt


def task_of(system: str, user: str) -> Task[Any]:
    """The task that a prompt was written for, as far as a prompt tells it."""
    if system.startswith("You read one node"):
        return _read(user)
    if system.startswith("You read three"):
        most = re.search(r"At most (\d+) boundaries", system)
        assert most is not None
        return _mark(user, int(most[1]))
    if system.startswith("You write the summary"):
        head, tail = user.split("ITEMS\n", 1)[1].split("\n\n", 1)
        limits = re.match(r"At most (\d+) bullets of at most (\d+)", tail)
        assert limits is not None
        items = [
            Item(int(number), text, int(number), int(number))
            for number, _, text in (line.partition("|") for line in head.split("\n"))
        ]
        return Summarise(items, int(limits[1]), int(limits[2]), language=_language(items))
    if system.startswith("You split a question"):
        question = _block(user, "QUESTION")
        return Plan(question, language=detect_language(question))
    if system.startswith("You see a list"):
        return _select(user)
    if system.startswith("You compose"):
        return _write(system, user)
    first, second = user.split("\n\nSECOND\n", 1)
    question, first = first.split("\n\nFIRST\n", 1)
    one, two = _claim(first), _claim(second)
    return Compare(_block(question, "QUESTION"), one[0], two[0], one[1], two[1], language="english")


def _claim(text: str) -> tuple[str, str]:
    says, _, quote = f"\n{text}".partition("\n  quote: ")
    return says.strip() or quote, quote


def _block(text: str, head: str) -> str:
    return text.split(f"{head}\n", 1)[1].split("\n\n", 1)[0].strip()


def _items(text: str) -> list[Item]:
    found = []
    for line in text.split("\n\n", 1)[0].split("\n"):
        if match := re.match(r"  (\d+) \| (.*)$", line):
            found.append(Item(int(match[1]), match[2], int(match[1]), int(match[1])))
        elif match := re.match(r"  - \[(\d+)\] (.*)$", line):
            found.append(Item(int(match[1]), match[2], 0, 0))
    return found


def _language(items: list[Item]) -> str:
    return detect_language("\n".join(item.text for item in items))


def _read(user: str) -> Read:
    head = re.search(r"NODE (\S+) · lines (\d+)–(\d+) · depth (\d+)\n", user)
    assert head is not None
    body = user[head.end() :]
    items = _items(body)
    children = []
    for match in re.finditer(r"^  \[([A-Z])\] (\S+) · lines (\d+)–(\d+) · (.*)$", body, re.MULTILINE):
        bullet, _, scent = match[5].partition(" · ")
        hit = re.match(r"(\d+) lines hold terms of the query \((.*)\)$", scent)
        held = dict(part.rsplit(" ", 1) for part in hit[2].split(", ")) if hit else {}
        children.append(
            Child(
                match[1], match[2], int(match[3]), int(match[4]), bullet, lines_hit=int(hit[1]) if hit else 0,
                terms_hit={term: int(count) for term, count in held.items()}, together=min(len(held) / 6, 1.0),
            )
        )  # fmt: skip
    query = body.rsplit("QUERY\n", 1)[1].split("\n\nCHOOSE ONE", 1)[0].split("\n")
    parts = {
        line.split(": ", 1)[0].strip(): line.split(": ", 1)[1]
        for line in query
        if re.match(r"  (what|why|how): ", line)
    }
    question = query[0].strip().removeprefix("what: ")
    what = parts.get("what", question)
    language = detect_language(" ".join([what, *(item.text for item in items)]))
    return Read(
        node_id=head[1], line_start=int(head[2]), line_end=int(head[3]), depth=int(head[4]), is_leaf=not children,
        items=items, children=children, query=Parts(what, parts.get("why", ""), parts.get("how", "")),
        question=question, terms=dict.fromkeys(terms(what, language), 1.0), language=language,
    )  # fmt: skip


def _select(user: str) -> Select:
    listed, query = user.split("\n\nQUERY\n", 1)
    sections = []
    for match in re.finditer(r"^( +)\[(\d+)\] lines (\d+)–(\d+) · (.*)$", listed, re.MULTILINE):
        bullet, _, scent = (
            match[5].rpartition(" · ") if " lines hold terms" in match[5] else (match[5], "", "")
        )
        held = len(re.findall(r"\w+ \d+(?=[,)])", scent))
        sections.append(
            Section(
                int(match[2]), len(match[1]) // 2, True, int(match[3]), int(match[4]), "", bullet,
                lines_hit=held, together=min(held / 4, 1.0),
            )
        )  # fmt: skip
    question = query.split("\n")[0].strip().removeprefix("what: ")
    language = detect_language(question)
    return Select(
        sections,
        Parts(question, "", ""),
        question,
        terms=dict.fromkeys(terms(question, language), 1.0),
        language=language,
    )


def _write(system: str, user: str) -> Write:
    method = re.search(r"The method is (\w+)\.", system)
    assert method is not None
    found = re.finditer(
        r"^  \[(\d+)\] (.*) · on: (.*)\n      says: (.*)\n      quote: (.*)$", user, re.MULTILINE
    )
    evidence = [Evidence(int(one[1]), one[2], one[3], one[4], one[5]) for one in found]
    return Write(_block(user, "QUESTION"), method[1], evidence, language="english")  # type: ignore[arg-type]


def _mark(user: str, most: int) -> Mark:
    previous, rest = user.removeprefix("PREVIOUS WINDOW\n").split("\n\nCURRENT WINDOW\n", 1)
    current, following = rest.split("\n\nNEXT WINDOW\n", 1)
    following = following.split("\n\n", 1)[0]

    def lines(text: str, first: int) -> list[Line]:
        found = []
        for at, line in enumerate(text.split("\n")):
            number, bar, shown = line.partition("|")
            if bar:
                heading = re.match(r"(#{1,6}) ", shown)
                kind, level = ("heading", len(heading[1])) if heading else ("text", None)
                found.append(Line(int(number) if number else first + at, shown, kind, level))
        return found

    marked = lines(current, 0)
    before = lines(previous, marked[0].number - len(previous.split("\n")))
    return Mark(before, marked, lines(following, marked[-1].number + 1), "english", max_boundaries=most)


def well(system: str, user: str) -> Data:
    """What the embedded driver chooses, in the words of a model that writes."""
    task = task_of(system, user)
    if isinstance(task, Read):
        reply = {k: v for k, v in extractive.read(task).items() if k not in ("fit", "sure", "also")}
        return reply | {"why": reply["why"] and "The lines state it."}
    if isinstance(task, Mark):
        texts = {line.number: line.text for line in task.current}
        marked = extractive.mark(task)["boundaries"]
        return {"boundaries": [b | {"title": None if b["title"] in texts[b["line"]] else b["title"]}
                               if b["title"] else b for b in marked]}  # fmt: skip
    if isinstance(task, Summarise):
        return extractive.summarise(task)
    if isinstance(task, Plan):
        return composing.plan(task)
    if isinstance(task, Select):
        return composing.select(task)
    if isinstance(task, Write):
        return composing.write(task)
    assert isinstance(task, Compare)
    chosen = relation(
        task.question, task.first, task.second, task.first_quote, task.second_quote, task.language
    )
    return {"relation": chosen}


# ---------------------------------------------------------------- the server


@dataclass(frozen=True, slots=True)
class Fault:
    """One bad turn. kind: an HTTP status, or slow, off, cut, refuse, pause, drop, half, half_http, nojson; in the results
    of a batch also expired, canceled, or an error's type; for a request about batches a status, drop, drop_after (done, and
    the connection dropped), or hang (done, and no reply). An empty kind is none: a good turn."""

    kind: str
    retry_after: str | None = None
    seconds: float = 0.0


@dataclass(slots=True)
class Seen:
    """A request as it came."""

    path: str
    headers: dict[str, str]
    body: Data
    system: str
    user: str


@dataclass(slots=True)
class Batch:
    """A message batch as it was handed in. looks: how often it was asked for, or listed."""

    name: str
    requests: list[Data]
    created: datetime = field(default_factory=lambda: datetime.now(UTC))
    looks: int = 0
    cancelled: bool = False
    ended: bool = False
    results: list[Data] | None = None


@dataclass
class ModelServer:
    """`url` for the openai driver, `root` for the anthropic one."""

    script: Script = well
    seconds: float = 0.0  # that every call takes
    chars_per_token: float = 4.0
    cache_minimum: int = 1024  # tokens
    looks: int = 1  # at a batch, until it has ended; a negative number is never
    seen: list[Seen] = field(default_factory=list)
    batches: list[Batch] = field(default_factory=list)
    peak: int = 0  # calls at once, at most

    def __post_init__(self) -> None:
        self._faults: deque[Fault] = deque()
        self._batch_faults: dict[str, deque[Fault]] = {}
        self._always: Fault | None = None
        self._flying = 0
        self._cached: set[str] = set()
        self._lock = threading.Lock()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._http.daemon_threads = True
        self.root = f"http://127.0.0.1:{self._http.server_address[1]}"
        self.url = f"{self.root}/v1"
        threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def close(self) -> None:
        self._http.shutdown()
        self._http.server_close()

    def fault(self, kind: str, times: int = 1, retry_after: str | None = None, seconds: float = 0.0) -> None:
        """Put a fault before the next calls; times 0 is before all."""
        fault = Fault(kind, retry_after, seconds)
        if times:
            self._faults.extend([fault] * times)
        else:
            self._always = fault

    def fault_batches(self, about: str, kind: str, times: int = 1, retry_after: str | None = None) -> None:
        """Put a fault before the next requests about batches: create, list, retrieve, results or cancel."""
        self._batch_faults.setdefault(about, deque()).extend([Fault(kind, retry_after)] * times)

    def mend(self) -> None:
        self._faults.clear()
        self._batch_faults.clear()
        self._always = None

    def calls(self, start: str = "") -> list[Seen]:
        """Requests whose system prompt begins so."""
        return [one for one in self.seen if one.system.startswith(start)]

    # ------------------------------------------------------------ one request

    def handle(self, http: BaseHTTPRequestHandler, method: str) -> None:
        length = int(http.headers.get("content-length") or 0)
        body = json.loads(http.rfile.read(length)) if length else {}
        path = http.path.split("?")[0]
        if "/batches" in path:
            self._about_batches(http, method, path, body)
        elif method == "GET":
            models = {"data": [MODEL_INFO], "has_more": False, "first_id": None, "last_id": None}
            _send(http, 200, models if path.endswith("/models") else MODEL_INFO, {})
        else:
            self._call(http, path, body)

    def _call(self, http: BaseHTTPRequestHandler, path: str, body: Data) -> None:
        chat = path.endswith("/chat/completions")
        system, user = _prompt(body, chat)
        with self._lock:
            self.seen.append(Seen(path, {k.lower(): v for k, v in http.headers.items()}, body, system, user))
            self._flying += 1
            self.peak = max(self.peak, self._flying)
            fault = self._faults.popleft() if self._faults else self._always
        kind = fault.kind if fault else ""
        due = time.monotonic() + self.seconds + (fault.seconds if fault and kind == "slow" else 0.0)
        try:
            answer = {} if kind.isdigit() or kind == "drop" else self._answer(chat, body, kind)
            time.sleep(max(0.0, due - time.monotonic()))
        finally:
            with self._lock:  # before anything is sent: who has a reply may call again at once
                self._flying -= 1
        if fault is not None and kind.isdigit():
            _send_error(http, fault)
        elif kind == "drop":
            _drop(http)
        else:
            _send(http, 200, answer, {}, half=kind == "half_http")

    def _answer(self, chat: bool, body: Data, kind: str) -> Data:
        """A whole reply, good or of a bad kind."""
        system, user = _prompt(body, chat)
        text = json.dumps(self.script(system, user), ensure_ascii=False)
        if kind == "off":
            text = json.dumps(OFF.get(system.split(" ")[2], {"nothing": 1}))
        elif kind in ("cut", "half", "pause"):
            text = text[: max(1, len(text) // 2)]
        elif kind == "nojson":
            text = "Here you are: the answer is on line 3."
        if body["messages"][-1]["role"] == "assistant":  # a paused turn goes on where it was
            text = text[sum(len(block["text"]) for block in body["messages"][-1]["content"]) :]
        stop = {"cut": "max_tokens", "refuse": "refusal", "pause": "pause_turn"}.get(kind, "end_turn")
        written, read = self._cache(body, chat)
        sent = self._tokens(system + user)
        if chat:
            return _completion(text, stop, sent, read, self._tokens(text))
        return _message(text, stop, sent - written - read, written, read, self._tokens(text))

    def _tokens(self, text: str) -> int:
        return max(1, int(len(text) / self.chars_per_token))

    def _cache(self, body: Data, chat: bool) -> tuple[int, int]:
        """Tokens that this request writes to the cache, and those that it reads from it."""
        if chat:  # such servers look for a prefix by themselves
            prefix, form = body["messages"][0]["content"], body.get("response_format")
        else:
            blocks = body.get("system", [])
            marked = [
                at
                for at, block in enumerate(blocks)
                if isinstance(block, dict) and block.get("cache_control")
            ]
            prefix = "".join(block["text"] for block in blocks[: marked[-1] + 1]) if marked else ""
            form = body.get("output_config")
        size = self._tokens(prefix)
        if not prefix or size < self.cache_minimum:
            return 0, 0
        key = json.dumps([body.get("model"), None if chat else form, prefix])
        with self._lock:
            known = key in self._cached
            self._cached.add(key)
        return (0, size) if known else (size, 0)

    # ------------------------------------------------------------ batches

    def _about_batches(self, http: Any, method: str, path: str, body: Data) -> None:
        names = path.split("/batches")[1].strip("/").split("/")
        about = (
            names[1]
            if len(names) > 1
            else "retrieve"
            if names[0]
            else "create"
            if method == "POST"
            else "list"
        )
        with self._lock:
            faults = self._batch_faults.get(about)
            fault = faults.popleft() if faults else None
        if fault is not None and fault.kind.isdigit():
            _send_error(http, fault)
            return
        if fault is not None and fault.kind == "drop":
            _drop(http)
            return
        if about == "create":
            with self._lock:
                self.batches.append(Batch(f"msgbatch_{len(self.batches) + 1}", body["requests"]))
            said: Data | bytes = self._told(self.batches[-1])
        elif about == "list":
            listed = [self._about(batch, about) for batch in reversed(self.batches)]
            said = {"data": listed, "has_more": False, "first_id": None, "last_id": None}
        else:
            found = [batch for batch in self.batches if batch.name == names[0]]
            if not found:
                _send_error(http, Fault("404"))
                return
            said = self._about(found[0], about)
        if fault is not None and fault.kind in ("drop_after", "hang"):
            time.sleep(10 if fault.kind == "hang" else 0)
            _drop(http)
        elif isinstance(said, bytes):
            http.send_response(200)
            http.send_header("content-type", "application/x-jsonl")
            http.send_header("content-length", str(len(said)))
            http.end_headers()
            http.wfile.write(said)
        else:
            _send(http, 200, said, {})

    def _about(self, batch: Batch, about: str) -> Data | bytes:
        if about == "results":
            lines = [json.dumps(result) for result in reversed(self._results(batch))]
            return ("\n".join(lines) + "\n").encode()
        if about == "cancel":
            batch.cancelled = True
        else:
            batch.looks += 1
            batch.ended = batch.ended or batch.cancelled or 0 <= self.looks < batch.looks
        return self._told(batch)

    def _told(self, batch: Batch) -> Data:
        count = len(batch.requests)
        running = 0 if batch.ended else count
        status = "ended" if batch.ended else "canceling" if batch.cancelled else "in_progress"
        created = batch.created.isoformat()
        return {
            "id": batch.name, "type": "message_batch", "processing_status": status,
            "request_counts": {"processing": running, "succeeded": count - running, "errored": 0, "canceled": 0,
                               "expired": 0},
            "ended_at": created if batch.ended else None, "created_at": created, "expires_at": created,
            "archived_at": None, "cancel_initiated_at": created if batch.cancelled else None,
            "results_url": f"{self.root}/v1/messages/batches/{batch.name}/results" if batch.ended else None,
        }  # fmt: skip

    def _results(self, batch: Batch) -> list[Data]:
        if batch.results is None:
            batch.results = [self._result(request, batch.cancelled) for request in batch.requests]
        return batch.results

    def _result(self, request: Data, cancelled: bool) -> Data:
        params = request["params"]
        with self._lock:
            self.seen.append(Seen("batch", {}, params, *_prompt(params, False)))
            fault = self._faults.popleft() if self._faults else self._always
        kind = "canceled" if cancelled else ""
        kind = fault.kind if fault else kind
        result: Data
        if kind in ("expired", "canceled"):
            result = {"type": kind}
        elif kind.endswith("_error"):
            error = {"type": "error", "error": {"type": kind, "message": "a fault for the test"}}
            result = {"type": "errored", "error": error}
        else:
            result = {"type": "succeeded", "message": self._answer(False, params, kind)}
        return {"custom_id": request["custom_id"], "result": result}


OFF: dict[str, Data] = {
    "one": {"choice": "MAYBE", "open": [], "what": "", "why": "", "how": []},
    "three": {"boundaries": [{"line": 10**6, "title": None, "level": None}]},
    "the": {"title": None, "bullets": [{"text": "no such item", "first": 10**6, "last": 10**6}]},
    "a": {"subjects": []},
    "two": {"relation": "perhaps"},
}
"""Replies off the list, by the third word of the system prompt ("read one", "read three", "write the" …)."""

MODEL_INFO: Data = {
    "id": "test-model", "type": "model", "display_name": "Test", "created_at": "2026-01-01T00:00:00Z",
    "max_input_tokens": 200000, "max_tokens": 8192, "lifecycle": "active", "line": None, "deprecated_at": None,
    "retires_at": None, "capabilities": None,
}  # fmt: skip


def _prompt(body: Data, chat: bool) -> tuple[str, str]:
    if chat:
        return body["messages"][0]["content"], body["messages"][1]["content"]
    system = body.get("system", "")
    if isinstance(system, list):
        system = "".join(block["text"] for block in system)
    return system, body["messages"][0]["content"]


def _message(text: str, stop: str, fresh: int, written: int, read: int, received: int) -> Data:
    return {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "test-model",
        "content": [{"type": "text", "text": text}], "stop_reason": stop, "stop_sequence": None,
        "usage": {"input_tokens": fresh, "cache_creation_input_tokens": written, "cache_read_input_tokens": read,
                  "output_tokens": received},
    }  # fmt: skip


def _completion(text: str, stop: str, sent: int, cached: int, received: int) -> Data:
    finish = {"max_tokens": "length", "refusal": "content_filter"}.get(stop, "stop")
    return {
        "id": "c1", "object": "chat.completion", "created": 0, "model": "test-model",
        "choices": [{"index": 0, "finish_reason": finish, "message": {"role": "assistant", "content": text}}],
        "usage": {"prompt_tokens": sent, "completion_tokens": received, "total_tokens": sent + received,
                  "prompt_tokens_details": {"cached_tokens": cached}},
    }  # fmt: skip


def _send_error(http: Any, fault: Fault) -> None:
    sent = http.headers.get("authorization") or http.headers.get("x-api-key")
    error = {"type": "error", "error": {"type": "fault", "message": f"a fault for the test; you sent {sent}"}}
    _send(http, int(fault.kind), error, {"retry-after": fault.retry_after} if fault.retry_after else {})


def _drop(http: Any) -> None:
    http.close_connection = True
    http.connection.close()


def _send(http: Any, status: int, body: Data, headers: dict[str, str], half: bool = False) -> None:
    data = json.dumps(body).encode()
    http.send_response(status)
    http.send_header("content-type", "application/json")
    http.send_header("content-length", str(len(data)))
    for name, value in headers.items():
        http.send_header(name, value)
    http.end_headers()
    http.wfile.write(data[: len(data) // 2] if half else data)
    if half:
        http.close_connection = True


def _handler(server: ModelServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True  # head and body are written one after the other

        def do_POST(self) -> None:
            self._do("POST")

        def do_GET(self) -> None:
            self._do("GET")

        def _do(self, method: str) -> None:
            try:
                server.handle(self, method)
            except (BrokenPipeError, ConnectionResetError):
                self.close_connection = True

        def log_message(self, *_: Any) -> None:
            pass

    return Handler
