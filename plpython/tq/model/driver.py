"""Drivers turn tasks into replies; `Calls` runs many at once and keeps the server responsive meanwhile."""

from __future__ import annotations

import contextlib
import math
import queue
import random
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

import msgspec

from tq.errors import TqError
from tq.model.limits import Model
from tq.model.tasks import Rejected, Task

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")

PULSE_SECONDS = 0.1
EBB_SECONDS = 0.01  # what ends in this time is handed over together where no call waits for a place
TURN_SECONDS = 0.02  # between two looks for a free place, where others hold all
SWITCH_SECONDS = 0.001
RETRY_SECONDS = 0.5  # before the second attempt at a call that failed; doubled for each further one
PAUSE_SECONDS = 5.0  # where a rate limit does not say how long


@dataclass(frozen=True, slots=True)
class Reply:
    """What a driver gives back: a dict of the task's schema, and what it cost in tokens.

    input_tokens includes cached_tokens, those that came from the provider's cache. rejected: why there is no usable
    dict (cut off, refused, no JSON); the tokens are spent all the same. free: it was stored, and cost nothing now.
    """

    data: dict[str, Any]
    input_tokens: int
    output_tokens: int
    cached_tokens: int = 0
    rejected: str | None = None
    free: bool = False


class Driver(Protocol):
    """A model. `waits` says that a call mostly waits (network), so that many may run at once in threads.

    A driver may have `fingerprint(task)`, the whole request as a hash under which its reply is stored, and `abort()`,
    which ends the calls in flight.
    """

    waits: bool

    def reply(self, task: Task[Any], stop: threading.Event) -> Reply:
        """Run one task. `stop` is set when nobody wants the reply any more. Raises TqError of class TQ1."""
        ...


class Gate(Protocol):
    """Places for calls of one model, shared by all sessions of the database, and its pause after a rate limit."""

    def take(self, count: int) -> int:
        """Take up to `count` places; how many there were. None while the model pauses."""
        ...

    def give(self, count: int) -> None:
        """Give places back."""
        ...

    def pause(self, seconds: float) -> None:
        """Let nobody begin a call for so long."""
        ...

    def paused(self) -> float:
        """Seconds that the pause lasts, as `take` last saw it."""
        ...


class Memory(Protocol):
    """Stored replies, by the fingerprint of their request."""

    def recall(self, fingerprint: str) -> Reply | None: ...

    def keep(self, fingerprint: str, purpose: str, reply: Reply, accepted: bool) -> Reply:
        """Keep a reply that has just come; the one that counts, which is an earlier one where there is one."""
        ...


@dataclass(frozen=True, slots=True)
class Patience:
    """What is tried again on the spot. seconds: of waiting for rate limits, in all; attempts: at one call that fails for
    another reason than its request."""

    seconds: float = 0.0
    attempts: int = 1


@dataclass(frozen=True, slots=True)
class Outcome:
    """The end of one call: a checked reply, or the reason why it was rejected, or the error."""

    task: Task[Any]
    reply: Any | None
    rejected: str | None
    error: Exception | None
    input_tokens: int
    output_tokens: int
    elapsed_ms: float
    cached_tokens: int = 0
    free: bool = False
    prompt_chars: int = 0  # of the prompt that the tokens in were paid for
    data: Mapping[str, Any] | None = None  # the reply as it came


class Delayed:
    """Another driver, slowed down: rehearses a model that takes its time (tq.model.delay_ms)."""

    waits = True

    def __init__(self, driver: Driver, delay_ms: int) -> None:
        self._driver = driver
        self._delay = delay_ms / 1000

    def reply(self, task: Task[Any], stop: threading.Event) -> Reply:
        stop.wait(self._delay)
        return self._driver.reply(task, stop)


def open_driver(model: Model) -> Driver:
    """The driver of a model row."""
    driver: Driver
    if model.driver == "extractive":
        from tq.model.extractive import Extractive

        driver = Extractive(model)
    elif model.driver == "anthropic":
        from tq.model.anthropic import Anthropic

        driver = Anthropic(model)
    elif model.driver == "openai":
        from tq.model.openai import OpenAI

        driver = OpenAI(model)
    else:
        raise TqError(
            "TQ020", "model driver not found", f"model {model.name} names the driver {model.driver}"
        )
    return Delayed(driver, model.delay_ms) if model.delay_ms else driver


def attempt(
    driver: Driver, task: Task[Any], stop: threading.Event
) -> tuple[Reply | None, Exception | None, float]:
    """One call: what came of it, and the milliseconds it took."""
    started = time.perf_counter()
    reply: Reply | None = None
    error: Exception | None = None
    try:
        reply = driver.reply(task, stop)
    except Exception as failure:  # handed to the caller's thread as it is
        error = failure
    return reply, error, (time.perf_counter() - started) * 1000


def run(driver: Driver, task: Task[Any], stop: threading.Event) -> Outcome:
    """One call, checked."""
    reply, error, elapsed = attempt(driver, task, stop)
    if reply is None:
        return Outcome(task, None, None, error, 0, 0, elapsed)
    return checked(task, reply, elapsed)


def checked(task: Task[Any], reply: Reply, elapsed_ms: float) -> Outcome:
    """A reply held against its task."""
    accepted: Any = None
    rejected = reply.rejected
    if rejected is None:
        try:
            accepted = task.accept(reply.data)
        except Rejected as reason:
            rejected = str(reason)
    return Outcome(
        task,
        accepted,
        rejected,
        None,
        reply.input_tokens,
        reply.output_tokens,
        elapsed_ms,
        reply.cached_tokens,
        reply.free,
        0 if reply.free else len(task.prompt()),
        reply.data,
    )


@dataclass(slots=True)
class _Call:
    key: Hashable
    task: Task[Any]
    fingerprint: str | None
    attempt: int = 1


@dataclass(slots=True)
class Lane:
    """Calls of one model: its driver, how many may be in flight at once, and the places they need. A call that has ended
    well hands its place to the next one at once, whatever the caller's thread does meanwhile."""

    driver: Driver
    concurrency: int
    gate: Gate | None = None
    waiting: deque[_Call] = field(default_factory=deque)
    flying: int = 0
    not_before: float = 0.0  # on the monotonic clock
    lock: threading.Lock = field(
        default_factory=threading.Lock
    )  # held to take from `waiting` outside the caller's thread

    def next(self, stop: threading.Event) -> _Call | None:
        """The call that goes on in the place of one that has ended."""
        with self.lock:
            if stop.is_set() or not self.waiting or time.monotonic() < self.not_before:
                return None
            return self.waiting.popleft()


@dataclass(frozen=True, slots=True)
class _Ended:
    """A call that came back. passed_on: whether another one runs in its place."""

    lane: Lane
    call: _Call
    reply: Reply | None
    error: Exception | None
    elapsed: float
    passed_on: bool


class Calls:
    """Calls in flight. A driver that waits runs in daemon threads, at most `concurrency` at once; one that computes runs
    in the caller's thread, one call at a time, as it is asked for. `pulse` is called at least every 100 ms of waiting and
    may raise (a cancel): then all that is in flight is dropped.

    lanes: other models, by the purpose that they serve. No thread touches the database: gates, memory and pulse are used
    by the caller's thread alone.
    """

    def __init__(
        self,
        driver: Driver,
        concurrency: int,
        pulse: Callable[[], None],
        *,
        gate: Gate | None = None,
        lanes: Mapping[str, Lane] | None = None,
        memory: Memory | None = None,
        patience: Patience | None = None,
        raising: bool = True,
    ) -> None:
        """raising: an error of the model is raised; otherwise it comes as an outcome."""
        self._main = Lane(driver, concurrency, gate)
        self._by_purpose = dict(lanes or {})
        self._lanes = list({id(lane): lane for lane in (self._main, *self._by_purpose.values())}.values())
        self._pulse = pulse
        self._memory = memory
        self._patience = patience or Patience()
        self._raising = raising
        self._ready: deque[tuple[Hashable, Outcome]] = deque()
        self._done: queue.SimpleQueue[_Ended] = queue.SimpleQueue()
        self._stop = threading.Event()
        self._first_limited: float | None = None
        self._last_pulse = self._last_look = time.monotonic()

    def submit(self, key: Hashable, task: Task[Any]) -> None:
        lane = self._by_purpose.get(task.purpose, self._main)
        fingerprint: str | None = None
        if self._memory is not None and (method := getattr(lane.driver, "fingerprint", None)) is not None:
            fingerprint = str(method(task))
            if (stored := self._memory.recall(fingerprint)) is not None:
                self._ready.append((key, checked(task, stored, 0.0)))
                return
        lane.waiting.append(_Call(key, task, fingerprint))
        if lane.driver.waits:
            self._launch(lane)

    def completed(self) -> Iterator[tuple[Hashable, Outcome]]:
        """Outcomes in the order of their ends, until none is left; the caller may submit more meanwhile."""
        with contextlib.closing(self.gathered(0.0)) as lists:
            for outcomes in lists:
                yield from outcomes

    def gathered(
        self, seconds: float, most: int = 1, turn: float = math.inf
    ) -> Generator[list[tuple[Hashable, Outcome]], None, None]:
        """The same in lists: what ends within so many seconds of the first, at most so many. Where no call waits for a
        place the list ends sooner: what follows it has places. turn: an empty list where nothing ends for so long."""
        try:
            while self.busy:
                first = self._next_within(turn)
                found = [] if first is None else [first]
                began = time.monotonic()
                while found and len(found) < most and self.busy:
                    settling = (
                        seconds if any(lane.waiting for lane in self._lanes) else min(seconds, EBB_SECONDS)
                    )
                    rest = began + settling - time.monotonic()
                    if rest <= 0 or (one := self._next_within(rest)) is None:
                        break
                    found.append(one)
                yield found
        except BaseException:  # the caller's too: it may leave before the end
            self.close()
            raise

    def one(self, task: Task[Any]) -> Outcome:
        """Run one task now and wait for it."""
        self.submit(None, task)
        return self._next()[1]

    def close(self) -> None:
        """Drop what is in flight, and give its places back."""
        self._stop.set()
        for lane in self._lanes:
            with lane.lock:
                lane.waiting.clear()
            flying, lane.flying = lane.flying, 0
            if flying:
                if (abort := getattr(lane.driver, "abort", None)) is not None:
                    abort()
                if lane.gate is not None:
                    with contextlib.suppress(Exception):  # a lost connection has given them back
                        lane.gate.give(flying)

    @property
    def busy(self) -> bool:
        """Whether any call is not taken yet."""
        return bool(self._ready) or any(lane.waiting or lane.flying for lane in self._lanes)

    def _next(self) -> tuple[Hashable, Outcome]:
        ended = None
        while ended is None:
            ended = self._next_within(math.inf)
        return ended

    def _next_within(self, seconds: float) -> tuple[Hashable, Outcome] | None:
        """The next outcome, or None where none comes in time."""
        until = time.monotonic() + seconds
        while True:
            if self._ready:
                self._pulse_if_due()
                key, outcome = self._ready.popleft()
                if outcome.error is not None and self._raising:
                    raise outcome.error
                return key, outcome
            for lane in self._lanes:
                if lane.waiting and not lane.driver.waits:
                    self._pulse()
                    call = lane.waiting.popleft()
                    ended = self._end(lane, call, *attempt(lane.driver, call.task, self._stop))
                    break
            else:
                came = self._await(until)
                if came is None:
                    return None
                lane = came.lane
                if not came.passed_on:
                    lane.flying -= 1
                    if lane.gate is not None:
                        lane.gate.give(1)
                ended = self._end(lane, came.call, came.reply, came.error, came.elapsed)
                self._look_for_pauses()
                self._launch(lane)
            if ended is not None:
                return ended

    def _await(self, until: float) -> _Ended | None:
        while (rest := until - time.monotonic()) > 0:
            blocked = any(lane.waiting and lane.flying < lane.concurrency for lane in self._lanes)
            try:
                return self._done.get(timeout=min(TURN_SECONDS if blocked else PULSE_SECONDS, rest))
            except queue.Empty:
                self._pulse_if_due()
                self._look_for_pauses()
                for lane in self._lanes:
                    self._launch(lane)
                if self._ready:  # given up for a rate limit
                    return None
        return None

    def _look_for_pauses(self) -> None:
        """Other sessions' rate limits hold for the places as well that calls hand to one another."""
        now = time.monotonic()
        if now - self._last_look < PULSE_SECONDS:
            return
        self._last_look = now
        for lane in self._lanes:
            if lane.gate is not None and lane.flying and lane.waiting:
                lane.gate.take(0)
                if (pause := lane.gate.paused()) > 0:
                    self._hold(lane, pause)

    def _pulse_if_due(self) -> None:
        now = time.monotonic()
        if now - self._last_pulse >= PULSE_SECONDS * 0.9:
            self._last_pulse = now
            self._pulse()

    def _end(
        self, lane: Lane, call: _Call, reply: Reply | None, error: Exception | None, elapsed: float
    ) -> tuple[Hashable, Outcome] | None:
        """The outcome of a call that has ended, or None where it is tried again. Raises what is not."""
        if error is not None:
            if self._again(lane, call, error):
                return None
            if self._raising:
                raise error
            return call.key, Outcome(call.task, None, None, error, 0, 0, elapsed)
        assert reply is not None
        outcome = checked(call.task, reply, elapsed)
        if self._memory is not None and call.fingerprint is not None:
            counts = self._memory.keep(call.fingerprint, call.task.purpose, reply, outcome.rejected is None)
            if counts is not reply:
                outcome = checked(call.task, counts, elapsed)
        return call.key, outcome

    def _again(self, lane: Lane, call: _Call, error: Exception) -> bool:
        code = getattr(error, "code", None)
        now = time.monotonic()
        if code == "TQ101":
            asked = getattr(error, "retry_after", None)
            wait = PAUSE_SECONDS if asked is None else float(asked)
            if lane.gate is not None:
                lane.gate.pause(wait)
            if not self._hold(lane, wait):
                return False
            lane.waiting.appendleft(call)
            return True
        if code == "TQ102" and call.attempt < self._patience.attempts:
            wait = RETRY_SECONDS * 2.0 ** (call.attempt - 1) * random.uniform(0.5, 1.5)
            call.attempt += 1
            lane.not_before = max(lane.not_before, now + wait)
            lane.waiting.appendleft(call)
            return True
        return False

    def _launch(self, lane: Lane) -> None:
        if not lane.driver.waits or not lane.waiting:
            return
        if (rest := lane.not_before - time.monotonic()) > 0:
            if self._out_of_patience(rest):
                self._give_up(lane, rest)
            return
        room = min(lane.concurrency - lane.flying, len(lane.waiting))
        if room <= 0:
            return
        if lane.gate is not None:
            room = lane.gate.take(room)
            if not room and (pause := lane.gate.paused()) > 0:
                self._hold(lane, pause)
        for started in range(room):
            call = lane.next(self._stop)
            if call is None:  # another one has passed its place on to it
                if lane.gate is not None:
                    lane.gate.give(room - started)
                break
            lane.flying += 1
            start_thread(self._work, lane, call)

    def _hold(self, lane: Lane, pause: float) -> bool:
        """The model was told to wait, by our call or another session's: so do we where patience lasts so long, or give
        up what has not begun."""
        now = time.monotonic()
        if self._first_limited is None:
            self._first_limited = now
        if self._out_of_patience(pause):
            lane.not_before = max(lane.not_before, now + pause)
            self._give_up(lane, pause)
            return False
        lane.not_before = max(lane.not_before, now + pause * random.uniform(1.0, 1.1))
        return True

    def _out_of_patience(self, pause: float) -> bool:
        first = self._first_limited
        return first is not None and time.monotonic() + pause - first > self._patience.seconds

    def _give_up(self, lane: Lane, pause: float) -> None:
        with lane.lock:
            given_up = list(lane.waiting)
            lane.waiting.clear()
        self._ready += [(call.key, _limited(call.task, pause)) for call in given_up]

    def _work(self, lane: Lane, call: _Call) -> None:
        following: _Call | None = call
        while following is not None:
            call = following
            reply, error, elapsed = attempt(lane.driver, call.task, self._stop)
            following = lane.next(self._stop) if error is None else None
            self._done.put(_Ended(lane, call, reply, error, elapsed, following is not None))


def _limited(task: Task[Any], pause: float) -> Outcome:
    error = TqError(
        "TQ101",
        "the model is rate-limited",
        f"it was told to wait, and does so for {pause:.1f} s more",
        "Ask again later, lower tq.model.concurrency, or name another model.",
    )
    error.retry_after = pause  # type: ignore[attr-defined]
    return Outcome(task, None, None, error, 0, 0, 0.0)


def start_thread(work: Callable[..., None], *arguments: Any) -> None:
    """Run something beside the main thread, to which a backend's signals belong: a new thread inherits the mask that
    blocks them."""
    thread = threading.Thread(target=work, args=arguments, daemon=True)
    # A thread whose reply has come is not to wait long for one that computes.
    sys.setswitchinterval(SWITCH_SECONDS)
    previous = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    try:
        thread.start()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, previous)


def together(
    calls: Mapping[K, Callable[[], T]], pulse: Callable[[], None], abort: Callable[[], None] = lambda: None
) -> Iterator[tuple[K, T | Exception]]:
    """What each of some calls over the network returns or raises, in the order of their ends. `pulse` is called every
    100 ms of waiting; where it raises, `abort` is called, which should end the calls."""
    done: queue.SimpleQueue[tuple[K, T | Exception]] = queue.SimpleQueue()

    def work(key: K, call: Callable[[], T]) -> None:
        try:
            done.put((key, call()))
        except Exception as failure:  # handed to the caller's thread as it is
            done.put((key, failure))

    for key, call in calls.items():
        start_thread(work, key, call)
    try:
        for _ in calls:
            while True:
                try:
                    ended = done.get(timeout=PULSE_SECONDS)
                    break
                except queue.Empty:
                    pulse()
            yield ended
    except BaseException:
        abort()
        raise


def waited(call: Callable[[], T], pulse: Callable[[], None], abort: Callable[[], None] = lambda: None) -> T:
    """What one call over the network returns, a cancel let through meanwhile."""
    ((_, ended),) = together({None: call}, pulse, abort)
    if isinstance(ended, Exception):
        raise ended
    return ended


def count_tokens(model: Model, task: Task[Any], data: dict[str, Any]) -> tuple[int, int]:
    """Tokens in and out, by the model's characters per token, for a driver that is told of none."""
    return model.tokens(len(task.prompt())), model.tokens(len(msgspec.json.encode(data)))
