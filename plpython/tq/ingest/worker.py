"""The worker: takes messages from the queues and does their steps until its time is over or nothing is left.

The same code runs inside the server (CALL tq.work()) and outside it (`tq worker`). Per message: read, commit, call the
model with no transaction open, then write the result, send what follows and delete the message in one transaction.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence

from tq.database import ingest as sql
from tq.database import later, models
from tq.database.connection import Database
from tq.errors import TqError
from tq.ingest import jobs as steps_of_model
from tq.ingest.batching import MOST_CHARS, Batching
from tq.ingest.calls import Pool
from tq.ingest.converting import Command, Converting, installed_converter
from tq.ingest.jobs import Job
from tq.ingest.messages import (
    ASK,
    BATCH,
    CONVERT,
    DEAD,
    MODEL,
    Failure,
    Malformed,
    Message,
    backoff,
    buried,
    parse,
)
from tq.ingest.state import Document, Later, Session, Superseded
from tq.ingest.steps import build_document, cut_document, finish_document, resume_document
from tq.ingest.storing import keep_bytes
from tq.model.driver import Driver, open_driver
from tq.model.limits import Model
from tq.thread.later import MayNotAct, serve

AT_ONCE = 50  # messages in one transaction
COMPUTE_SECONDS = 1.0  # until results are written, where the driver computes
SETTLE_SECONDS = 0.15  # the same where it waits: what ends in this time is written together
EBB = 4  # times as many waiting messages as calls may be in flight are few: the next document is converted
AHEAD = 2  # times as many jobs are prepared as calls may be in flight, where the driver waits
BEAT_SECONDS = 0.1
IDLE_SECONDS = 0.2
GRACE_SECONDS = 4.0  # after the end of its time, for calls in flight
DEFER_SECONDS = 10  # where a rate limit does not say how long
LONGEST_DEFERRAL = 3600

QUEUES = (ASK, CONVERT, MODEL)
SINGLE: dict[str, Callable[[Session, Message, Document], None]] = {
    "cut": cut_document,
    "build": build_document,
    "finish": finish_document,
}


class _Late(Exception):
    """The worker's time is over while calls are in flight."""


def is_cancel(error: BaseException) -> bool:
    """A cancel, a shutdown or a lost connection: never swallowed, never charged to a message."""
    state = getattr(error, "sqlstate", None)
    if isinstance(state, str):
        return state.startswith(("57", "08"))
    # psycopg reports a lost connection without a state.
    return type(error).__name__ in ("OperationalError", "InterfaceError", "AdminShutdown")


class Worker:
    """One worker over one session."""

    def __init__(
        self,
        db: Database,
        *,
        converter: Command = installed_converter,
        driver_of: Callable[[Model], Driver] = open_driver,
        stopped: Callable[[], bool] = lambda: False,
    ) -> None:
        """driver_of, converter: what calls the model, what starts the conversion; stopped: whether to end early."""
        self._db = db
        self._session = Session(db, self._beat)
        self._converter = converter
        self._driver_of = driver_of
        self._drivers: dict[Model, Driver] = {}
        self._stopped = stopped
        self._memory = models.IngestMemory(db)
        self._held: dict[tuple[str, int], Message] = {}  # read and not ended: kept hidden by the beat
        self._batching = Batching(self._session, self._memory, self._held)
        self._backlog: list[Message] = []  # of tq_model, read while other calls were in flight
        self._converting: Converting | None = None  # goes on beside the calls in flight
        self._last_beat = self._last_hide = self._last_ebb = 0.0
        self._deadline = self._latest = 0.0
        self.done = 0  # messages that came to an end

    # ------------------------------------------------------------ the loop

    def run(self, seconds: float, until_empty: bool = False) -> int:
        """Work for so long. until_empty: end as soon as no message is left, those in flight or deferred included.
        Returns the number of messages that came to an end."""
        self._deadline = time.monotonic() + seconds
        self._latest = self._deadline + GRACE_SECONDS
        self._last_beat = self._last_hide = time.monotonic()
        self._session.load()
        self._db.fetch(models.DROP_OLD)
        self._db.commit()
        try:
            while self._in_time():
                before = self.done
                busy = self._ask_turn()
                busy = self._model_turn() or busy
                busy = self._convert_turn(0.0 if busy else IDLE_SECONDS) or busy
                if busy or self.done != before:
                    continue
                if until_empty and not self._any_left():
                    break
                self._idle()
            while self._converting is not None:  # begun anew it would take as long again
                self._convert_turn(IDLE_SECONDS)
        finally:
            if self._converting is not None:
                self._converting.close()
        self._release(self._backlog)
        self._backlog = []
        return self.done

    def _in_time(self) -> bool:
        return time.monotonic() < self._deadline and not self._stopped()

    def _any_left(self) -> bool:
        left: bool = self._db.fetch(sql.ANY_MESSAGES)[0]["any_left"]
        self._db.commit()
        return left

    def _idle(self) -> None:
        end = min(time.monotonic() + IDLE_SECONDS, self._deadline)
        while (rest := end - time.monotonic()) > 0:
            time.sleep(min(rest, BEAT_SECONDS))
            self._db.pulse()
        self._db.commit()

    def _beat(self) -> None:
        """Lets a cancel through, and keeps the messages in hand hidden. Only where no transaction has written."""
        now = time.monotonic()
        if now - self._last_beat < BEAT_SECONDS * 0.9:
            return
        self._last_beat = now
        self._db.pulse()
        if now - self._last_hide > self._session.settings.visibility_seconds / 3:
            self._hide()
        self._db.commit()

    def _hide(self) -> None:
        self._last_hide = time.monotonic()
        for queue in QUEUES:
            self._session.hide(
                queue, [message.id for message in self._held.values() if message.queue == queue]
            )

    # ------------------------------------------------------------ reading

    def _read(self, queue: str, count: int, like: Mapping[str, str] | None = None) -> list[Message]:
        """Messages of a queue, held from now on. What is malformed, or was tried too often, ends here. like: what their
        bodies contain."""
        hidden = self._session.settings.visibility_seconds
        rows = self._db.fetch(sql.READ_MESSAGES, queue, hidden, count, json.dumps(like or {}))
        self._db.commit()
        found: list[Message] = []
        for row in rows:
            try:
                message = parse(queue, row["msg_id"], row["read_ct"], row["body"])
            except Malformed as reason:
                self._bury(
                    buried(queue, row["msg_id"], row["read_ct"], row["body"]), Failure("22023", str(reason))
                )
                continue
            if message.attempt > self._session.settings.max_attempts:
                # Only a worker that died, or that took longer than it said, leaves a message like this behind.
                self._bury(
                    message, Failure("XX000", "the step was begun again and again and never came to an end")
                )
                continue
            self._held[queue, message.id] = message
            found.append(message)
        return found

    def _ended(self, messages: Iterable[Message]) -> None:
        for message in messages:
            if self._held.pop((message.queue, message.id), None) is not None:
                self.done += 1

    # ------------------------------------------------------------ questions

    def _ask_turn(self) -> bool:
        """One question, to its end: someone waits for it, and what ingest does meanwhile can wait."""
        messages = self._read(ASK, 1) if self._in_time() else []
        for message in messages:
            self._guarded(message, self._ask)
        return bool(messages)

    def _ask(self, message: Message) -> None:
        final = message.attempt >= self._session.settings.max_attempts
        try:
            end = serve(self._db, message.query, final, self._beat_or_late, self._driver_of)
        except _Late:
            later.waits(self._db, message.query)
            self._release([message])
            return
        except MayNotAct:
            self._db.rollback()
            later.waits(self._db, message.query, _may_not_act())
            self._release([message], DEFER_SECONDS)
            return
        end()
        self._session.delete(ASK, [message.id])
        self._db.commit()

    # ------------------------------------------------------------ convert

    def _convert_turn(self, seconds: float) -> bool:
        """Go on for so long with the conversion in hand, or begin the next one; whether there was one."""
        if self._converting is None:
            messages = self._read(CONVERT, 1) if self._in_time() else []
            for message in messages:
                self._guarded(message, self._convert)
            return bool(messages)
        converting = self._converting
        self._guarded(converting.message, lambda _: not converting.go_on(seconds))
        if (CONVERT, converting.message.id) not in self._held:
            converting.close()
            self._converting = None
        return True

    def _convert(self, message: Message) -> bool:
        if message.step != "convert":
            keep_bytes(self._session, message)
            return False
        document = self._documents([message]).get(message.document_id)
        if document is None or document.status not in ("pending", "converting"):
            raise Superseded
        if document.status == "pending" and document.line_count:
            resume_document(self._session, message, document)
            return False
        self._converting = Converting(self._session, message, document, self._converter)
        return True

    def _convert_beside(self, model: Model) -> None:
        """Convert while calls wait for their replies: what is in hand, or the next document where the queue holds little
        for the places of this model. More would only wait, and the first document is to be ready first."""
        if self._converting is None:
            now = time.monotonic()
            if now - self._last_ebb < IDLE_SECONDS or not self._in_time():
                return
            self._last_ebb = now
            ebbs = self._db.fetch(sql.FEW_WAIT, EBB * model.concurrency)[0]["few"]
            self._db.commit()
            if not ebbs:
                return
        self._convert_turn(BEAT_SECONDS / 2)

    def _documents(self, messages: Iterable[Message]) -> dict[str, Document]:
        documents = self._session.documents(
            message.document_id for message in messages if message.document_id
        )
        self._db.commit()
        return documents

    # ------------------------------------------------------------ steps of the model's queue

    def _model_turn(self) -> bool:
        messages = self._backlog or self._read(MODEL, AT_ONCE)
        self._backlog = []
        if not messages:
            return False
        documents = self._documents(messages)
        self._look([message for message in messages if message.step == BATCH])
        messages = [message for message in messages if message.step != BATCH]
        self._singles(messages, documents)
        jobs = self._prepare([message for message in messages if message.step not in SINGLE], documents)
        by_model: dict[Model, list[Job]] = {}
        for job in jobs:
            by_model.setdefault(job.model, []).append(job)
        for model, group in by_model.items():
            if model.batches:
                self._hand_in(model, group, documents)
            else:
                self._flow(model, group)
        return True

    def _look(self, messages: Sequence[Message]) -> None:
        """Look at message batches. Those that cannot be looked at in time go back."""
        if messages:
            try:
                self._batching.look(messages, self._beat_or_late, self._guarded)
            except _Late:
                self._release([message for message in messages if (MODEL, message.id) in self._held])

    def _hand_in(self, model: Model, jobs: Sequence[Job], documents: dict[str, Document]) -> None:
        """Calls of one model in message batches, a document and step each, with all its messages that there are."""
        groups: dict[tuple[str, str], list[Job]] = {}
        for job in jobs:
            groups.setdefault((job.document.id, job.message.step), []).append(job)
        for (document_id, step), group in groups.items():
            like = {"document_id": document_id, "step": step}
            most = self._session.settings.batch_requests
            room = most - len(group)
            while room > 0 and sum(job.chars for job in group) < MOST_CHARS:
                more = self._read(MODEL, min(room, AT_ONCE), like)
                if not more:
                    break
                room -= len(more)
                group += self._prepare(more, documents)
            for start in range(0, len(group), most):
                handed = self._batching.hand_in(model, group[start : start + most])
                for job, error in handed.failed:
                    self._model_failed(job, error, handed.done)
                self._write(handed.done)
            self._ended(job.message for job in group)

    def _singles(self, messages: Sequence[Message], documents: dict[str, Document]) -> None:
        """Those of the messages whose step calls no model."""
        for message in messages:
            if message.step in SINGLE:
                self._hide()  # the others wait meanwhile; a long step writes in one transaction and cannot beat
                self._db.commit()
                self._guarded(message, lambda message: self._single(message, documents))

    def _single(self, message: Message, documents: dict[str, Document]) -> None:
        document = documents.get(message.document_id)
        if document is None:
            raise Superseded
        SINGLE[message.step](self._session, message, document)

    def _prepare(self, messages: Sequence[Message], documents: dict[str, Document]) -> list[Job]:
        """Jobs of these messages; those that have nothing left to do end here. A message whose material cannot be read
        fails alone."""
        if not messages:
            return []
        try:
            jobs = steps_of_model.prepare(self._session, messages, documents)
            self._db.commit()
        except Exception as error:
            if is_cancel(error):
                raise
            self._db.rollback()
            if len(messages) == 1:
                self._failed(messages[0], error)
                return []
            return [job for message in messages for job in self._prepare([message], documents)]
        wanted = {job.message.id for job in jobs}
        self._drop([message for message in messages if message.id not in wanted])
        return jobs

    def _flow(self, model: Model, jobs: Sequence[Job]) -> None:
        """Calls of one model. Where they wait, every end makes room for a new message; where they compute, a batch is
        written at once."""
        try:
            driver = self._driver(model)
        except TqError as error:
            for job in jobs:
                self._failed(job.message, error)
            return
        gate = models.gate_of(self._db, model, self._db.commit)
        pool = Pool(driver, model.concurrency, self._beat_or_late, gate, self._memory, model)
        running: dict[int, Job] = {}
        waiting = list(jobs)
        # Calls that end while results are written have others to make room for.
        room = AHEAD * model.concurrency if driver.waits else AT_ONCE

        def fill() -> None:
            while waiting and pool.in_flight < room:
                job = waiting.pop(0)
                running[job.message.id] = job
                pool.add(job.message.id, job.asking)

        done: list[Job] = []
        try:
            fill()
            settle, turn = (SETTLE_SECONDS, BEAT_SECONDS) if driver.waits else (COMPUTE_SECONDS, math.inf)
            for runs in pool.finished(settle, AT_ONCE, turn):
                for run in runs:
                    job = running.pop(run.key)  # type: ignore[call-overload]
                    job.usage = run.usage
                    if run.error is None:
                        job.result = run.result
                        done.append(job)
                    else:
                        self._model_failed(job, run.error, done)
                self._write(done)
                done = []
                if driver.waits and not waiting and pool.in_flight <= room - model.concurrency / 4:
                    waiting += self._more(model, room - pool.in_flight)
                fill()
                if driver.waits:
                    self._convert_beside(model)
        except _Late:
            pool.close()
            self._write(done)
            self._release([job.message for job in (*running.values(), *waiting)])
        finally:
            pool.close()

    def _beat_or_late(self) -> None:
        self._beat()
        if time.monotonic() > self._latest or self._stopped():
            raise _Late

    def _more(self, model: Model, count: int) -> list[Job]:
        """More messages for a model whose calls have room. Steps that call none are done at once; what is for another
        model waits in the backlog, and while something waits there nothing more is read."""
        # A question that waits comes first: the flow runs dry, and then it is asked.
        if not self._in_time() or self._backlog or later.any_waits(self._db):
            return []
        messages = self._read(MODEL, count)
        if not messages:
            return []
        documents = self._documents(messages)
        self._singles(messages, documents)
        fitting = [
            message
            for message in messages
            if message.step not in SINGLE
            and message.step != BATCH
            and (
                (document := documents.get(message.document_id)) is None
                or self._is_for(message, document, model)
            )
        ]
        self._backlog = [
            message for message in messages if message not in fitting and message.step not in SINGLE
        ]
        return self._prepare(fitting, documents)

    @staticmethod
    def _is_for(message: Message, document: Document, model: Model) -> bool:
        return (
            document.purposes.get("mark" if message.step == "mark" else "summarise", document.model) == model
        )

    def _driver(self, model: Model) -> Driver:
        if model not in self._drivers:
            self._drivers[model] = self._driver_of(model)
        return self._drivers[model]

    def _write(self, jobs: Sequence[Job]) -> None:
        if not jobs:
            return
        self._memory.flush()
        try:
            steps_of_model.write(self._session, jobs)
        except Exception as error:
            if is_cancel(error):
                raise
            self._db.rollback()
            if len(jobs) == 1:
                self._failed(jobs[0].message, error)
            else:  # one of them is poison: let it fail alone
                for job in jobs:
                    self._write([job])
            return
        self._ended(job.message for job in jobs)

    def _model_failed(self, job: Job, error: Exception, done: list[Job]) -> None:
        """The model failed at one window or node. Too busy or down: later. Anything else, at the end of the attempts:
        the step is done without the model, and marked."""
        failure = Failure.of(error)
        last = job.message.attempt >= self._session.settings.max_attempts or failure.sqlstate == "TQ104"
        if failure.sqlstate in ("TQ101", "TQ102", "TQ020", "TQ021") or not last:
            self._failed(job.message, error)
            return
        job.result = job.fall_back(f"{failure.error} [{failure.sqlstate}]")
        done.append(job)

    # ------------------------------------------------------------ the ends of a message

    def _guarded(self, message: Message, step: Callable[[Message], bool | None]) -> None:
        """One step in transactions of its own; its failure is the message's alone. A step that returns True goes on."""
        goes_on: bool | None = False
        try:
            goes_on = step(message)
        except Superseded:
            self._db.rollback()
            self._drop([message])
        except Later as wait:
            self._db.rollback()
            self._release([message], wait.seconds)
        except Exception as error:
            if is_cancel(error):
                raise
            self._db.rollback()
            self._failed(message, error)
        else:
            if not goes_on:
                self._ended([message])

    def _drop(self, messages: Sequence[Message]) -> None:
        """Nothing is left to do for these."""
        for queue in QUEUES:
            self._session.delete(queue, [message.id for message in messages if message.queue == queue])
        self._db.commit()
        self._ended(messages)

    def _release(self, messages: Sequence[Message], delay: int = 0) -> None:
        """Back to the queue, uncharged."""
        if not messages:
            return
        for message in messages:
            self._replace(message, message.later(), delay)
        self._db.commit()
        for message in messages:
            self._held.pop((message.queue, message.id), None)

    def _replace(self, message: Message, body: str, delay: int) -> None:
        self._session.delete(message.queue, [message.id])
        self._session.send(message.queue, [body], delay)

    def _failed(self, message: Message, error: Exception) -> None:
        """An attempt failed: later, again, or never."""
        failure = Failure.of(error)
        if message.query:
            later.waits(self._db, message.query, _told(failure, error))
        if failure.sqlstate == "TQ101":
            wait = getattr(error, "retry_after", None)
            seconds = DEFER_SECONDS if wait is None else max(0, min(LONGEST_DEFERRAL, int(wait) + 1))
            self._release([message], seconds)
            self.done += 1
            return
        if failure.sqlstate.startswith("TQ01"):
            self._bury(message, failure, dead=False)  # the file is bad, and the message as it should be
            return
        final = failure.sqlstate in ("TQ020", "TQ021")
        if final or message.attempt >= self._session.settings.max_attempts:
            self._bury(message, failure)
            return
        self._replace(message, message.again(failure), backoff(message.attempt))
        self._db.commit()
        self._ended([message])

    def _bury(self, message: Message, failure: Failure, dead: bool = True) -> None:
        """The message goes to tq_dead with its history, and its document fails."""
        if message.document_id:
            self._session.lock([message.document_id])
            failed = self._db.fetch(
                sql.FAIL, message.document_id, failure.sqlstate, failure.error, failure.hint, message.step
            )
            if failed:
                self._session.notify(message.document_id)
        if message.query:
            later.failed(self._db, message.query, _told(failure))
        if dead:
            self._session.send(DEAD, [message.dead(failure)])
        self._session.delete(message.queue, [message.id])
        self._db.commit()
        self._held.pop((message.queue, message.id), None)
        self.done += 1


def _told(failure: Failure, error: Exception | None = None) -> TqError:
    """A failure as the row of a question shows it."""
    return (
        error if isinstance(error, TqError) else TqError(failure.sqlstate, failure.error, None, failure.hint)
    )


def _may_not_act() -> TqError:
    return TqError(
        "42501",
        "the worker may not act for the role that asked",
        "It runs as a role that is neither a superuser nor a member of the asker's.",
        "GRANT the asker's role to the worker's, or let a superuser's worker run (tq.schedule, tq worker).",
    )


def begin_work(db: Database, seconds: int | None, until_empty: bool | None) -> int:
    """The body of tq.work(). Raises TQ021 for a time that is none, and 2D000 where it may not commit."""
    if seconds is None or seconds < 0:
        raise TqError(
            "TQ021",
            "invalid value for the argument seconds",
            "It is NULL." if seconds is None else f"It is {seconds}.",
            "Give a number of seconds, 0 or more.",
        )
    try:
        db.commit()
    except Exception as error:
        if getattr(error, "sqlstate", None) != "2D000":
            raise
        raise TqError(
            "2D000",
            "tq.work() has to run alone",
            "It commits between its steps, and here it runs inside a transaction or beside another statement.",
            "Send CALL tq.work() by itself, in autocommit mode and outside BEGIN.",
        ) from None
    return Worker(db).run(seconds, bool(until_empty))
