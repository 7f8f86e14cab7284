"""Model calls of ingest by message batches.

A batch is noted down before it is handed in, with the messages that wait for it, and one message of its own takes their
place: it looks at the batch now and then, and nothing is held meanwhile. When the batch has ended its replies are kept
and the messages come back; their steps are then done from what is kept, and what they still lack goes into a next batch.

A worker that dies before the note costs nothing: nothing was handed in. One that dies after it, or whose request broke
off, may have handed in a batch whose id nobody knows: the look finds it among the provider's batches by the fingerprints
in its results, and only what is not there is handed in again.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from tq.database import batches as stored
from tq.database import ingest as sql
from tq.database import models
from tq.database.batches import Batch, Stored
from tq.errors import TqError
from tq.ingest.calls import Answer, Run, Usage
from tq.ingest.jobs import STATUS, Job, beyond_budget, count_calls
from tq.ingest.messages import BATCH, MODEL, Message, body
from tq.ingest.state import Later, Session
from tq.model import remote
from tq.model.batches import Batches, Look, Results
from tq.model.driver import Reply, checked, together, waited
from tq.model.limits import Model
from tq.model.tasks import Task

MOST_CHARS = 32_000_000  # of the prompts of one batch
LONGEST_SECONDS = 48 * 3600.0  # that a batch is looked for where its provider cannot be reached
SOON = 10  # seconds until the first look at a batch whose id was not learnt
WORKING = frozenset(STATUS.values())


@dataclass(slots=True)
class _Asked:
    """A job, and the requests that it waits for with their fingerprints."""

    job: Job
    run: Run
    tasks: list[Task[Any]]
    names: list[str] = field(default_factory=list)


@dataclass(slots=True)
class HandedIn:
    """What became of jobs at once: brought to an end by what is kept, or failed. All others wait for a batch, their
    messages gone."""

    done: list[Job] = field(default_factory=list)
    failed: list[tuple[Job, Exception]] = field(default_factory=list)


class Batching:
    """Hands in the calls of jobs, and looks at what was handed in."""

    def __init__(
        self, session: Session, memory: models.IngestMemory, held: dict[tuple[str, int], Message]
    ) -> None:
        """held: messages that are kept hidden by every beat."""
        self._session = session
        self._db = session.db
        self._memory = memory
        self._held = held
        self._opened: dict[Model, Batches] = {}
        self._shown = math.inf  # the fewest characters a token that replies of the jobs at hand have shown

    def _of(self, model: Model) -> Batches:
        if model not in self._opened:
            self._opened[model] = Batches(model)
        return self._opened[model]

    # ------------------------------------------------------------ handing in

    def hand_in(self, model: Model, jobs: Sequence[Job]) -> HandedIn:
        """Jobs of one document and step."""
        handed = HandedIn()
        self._shown = math.inf
        asked = self._rehearse(self._of(model), jobs, handed)
        if math.isfinite(self._shown):
            self._db.fetch(models.CORRECT, model.name, self._shown)
        document = jobs[0].document.id
        beyond = beyond_budget(self._session, document, [one.job for one in asked])
        handed.done += beyond
        self._db.commit()
        spent = {job.message.id for job in beyond}
        if asked := [one for one in asked if one.job.message.id not in spent]:
            look, tasks = self._note(model, asked)
            if look is not None and (error := self._send(model, look, tasks)) is not None:
                handed.failed += [(one.job, error) for one in asked]
        return handed

    def _rehearse(self, batches: Batches, jobs: Sequence[Job], handed: HandedIn) -> list[_Asked]:
        """Take jobs as far as they come with what is kept; those that need more."""
        waiting: list[_Asked] = []
        going: list[_Asked] = []
        for job in jobs:
            run = Run(job.message.id, job.asking)
            going.append(_Asked(job, run, run.begin()))
        while going:
            for one in going:
                one.names = [batches.fingerprint(task) for task in one.tasks]
                self._session.beat()
            wanted = [name for one in going for name in one.names]
            known = stored.replies(self._db, jobs[0].document.id, wanted) if wanted else {}
            following: list[_Asked] = []
            for one in going:
                if one.run.done:
                    one.job.result = one.run.result
                    if one.run.error is None:
                        handed.done.append(one.job)
                    else:
                        handed.failed.append((one.job, one.run.error))
                elif all(name in known for name in one.names):
                    self._feed(one, known)
                    following.append(one)
                else:
                    waiting.append(one)
            going = following
        return waiting

    def _feed(self, one: _Asked, known: dict[str, Stored]) -> None:
        """Give a job what is kept; it asks for its next tasks then."""
        following: list[Task[Any]] = []
        for at, (name, task) in enumerate(zip(one.names, one.tasks, strict=True)):
            kept = known[name]
            if isinstance(kept.what, TqError):
                following = one.run.take(at, Answer(None, None, kept.what))
                continue
            outcome = checked(task, kept.what, 0.0)
            shown = one.job.model.shown(outcome.prompt_chars, outcome.input_tokens)
            if kept.fresh and shown is not None:
                self._shown = min(self._shown, shown)
            if kept.fresh and outcome.rejected is None:
                self._memory.keep(name, task.purpose, kept.what, True)
            following = one.run.take(at, Answer(outcome.reply, outcome.rejected))
        one.tasks = following

    def _note(self, model: Model, asked: Sequence[_Asked]) -> tuple[Message | None, dict[str, Task[Any]]]:
        """Note down a batch of what the jobs wait for and is not under way already; the message that will look at it."""
        first = asked[0].job
        document = first.document.id
        state = self._session.lock([document]).get(document)
        self._session.delete(MODEL, [one.job.message.id for one in asked])
        tasks: dict[str, Task[Any]] = {}
        waiting: dict[str, list[Any]] = {}
        for one in asked:
            for name, task in zip(one.names, one.tasks, strict=True):
                tasks[name] = task
                waiting.setdefault(name, []).append(json.loads(one.job.message.later()))
        look: Message | None = None
        if state is not None and state["status"] == STATUS[first.message.step]:
            texts = [json.dumps(bodies) for bodies in waiting.values()]
            for row in self._db.fetch(stored.JOIN, document, list(waiting), texts):
                del tasks[row["fingerprint"]], waiting[row["fingerprint"]]
            if tasks:
                reckoned = [one.job.reckoned for one in asked]
                batch = self._db.fetch(
                    stored.OPEN,
                    document,
                    model.name,
                    first.purpose,
                    list(waiting),
                    [json.dumps(bodies) for bodies in waiting.values()],
                    sum(map(sum, reckoned)),
                    sum(model.ingest_cost(*tokens) for tokens in reckoned),
                )[0]["id"]
                text = body(document, BATCH, batch=batch)
                hidden = self._session.settings.visibility_seconds
                number = self._db.fetch(sql.SEND_MESSAGE, MODEL, text, hidden)[0]["id"]
                look = Message(MODEL, number, 1, json.loads(text), document, BATCH, batch=batch)
        self._db.commit()
        return look, tasks

    def _send(self, model: Model, look: Message, tasks: dict[str, Task[Any]]) -> TqError | None:
        """Hand in a batch that is noted down; the error where the provider refused it."""
        batches = self._of(model)
        remote_id: str | None = None
        refused: TqError | None = None
        self._held[MODEL, look.id] = look
        try:
            remote_id = waited(partial(batches.send, tasks), self._session.beat, batches.abort)
        except TqError as error:
            # After TQ102 it has perhaps come to the provider nevertheless: the look will tell.
            refused = error if error.code != "TQ102" else None
        finally:
            del self._held[MODEL, look.id]
        status = "sending"
        if refused is not None:
            self._db.fetch(stored.DROP, look.batch)
        elif remote_id is not None:
            rows = self._db.fetch(stored.SENT, look.batch, remote_id)
            status = rows[0]["status"] if rows else "ended"
        self._session.delete(MODEL, [look.id])
        if refused is None and status in ("sending", "sent"):
            delay = self._session.settings.batch_poll_seconds if remote_id else SOON
            self._session.send(MODEL, [look.later()], delay)
        self._db.commit()
        if (
            remote_id and status == "ended"
        ):  # it was given up meanwhile; one that was cancelled has a message of its own
            waited(partial(batches.cancel, remote_id), self._session.beat, batches.abort)
        return refused

    # ------------------------------------------------------------ looking

    def look(
        self,
        messages: Sequence[Message],
        beat: Callable[[], None],
        guarded: Callable[[Message, Callable[[Message], None]], None],
    ) -> None:
        """Look at the batches of these messages, all at once. guarded: runs what ends one message, and says what becomes
        of it where that fails."""
        found = stored.batches(self._db, [message.batch for message in messages])
        known = [str(row["remote_id"]) for row in self._db.fetch(stored.KNOWN)]
        requests = {
            one.id: stored.requests(self._db, one.id) for one in found.values() if one.status == "sending"
        }
        self._db.commit()
        calls: dict[int, Callable[[], list[Look]]] = {}
        for message in messages:
            batch = found.get(message.batch)
            if batch is None or batch.status == "ended":
                guarded(message, self._drop)
            elif batch.model is None or (batch.remote_id is None and batch.status == "cancelling"):
                guarded(message, partial(self._unlearnt, batch))
            else:
                calls[message.id] = partial(
                    _look, self._of(batch.model), batch, requests.get(batch.id, ()), known
                )
        of = {message.id: message for message in messages}
        for number, seen in together(calls, beat, self._abort):
            guarded(of[number], partial(self._seen, found[of[number].batch], seen))

    def _abort(self) -> None:
        for batches in self._opened.values():
            batches.abort()

    def _drop(self, message: Message) -> None:
        self._session.delete(MODEL, [message.id])
        self._db.commit()

    def _unlearnt(self, batch: Batch, message: Message) -> None:
        """One whose model is gone, or that was cancelled while it was handed in, and whose id may still come."""
        if batch.model is None:
            raise TqError("TQ020", "model not found", f"There is no row {batch.wanted!r} in tq.model.")
        if batch.age < 2 * batch.model.timeout_seconds:
            raise Later(SOON)
        self._db.fetch(stored.DROP, batch.id)
        self._drop(message)

    def _seen(self, batch: Batch, seen: list[Look] | Exception, message: Message) -> None:
        again = Later(self._session.settings.batch_poll_seconds)
        if isinstance(seen, Exception):
            passing = getattr(seen, "code", None) in ("TQ101", "TQ102") and batch.remote_id is not None
            # What was handed in is worth waiting for.
            raise again if passing and batch.age < LONGEST_SECONDS else seen
        if any(one.results is None for one in seen):
            raise again
        if batch.document is None:
            self._db.fetch(stored.DROP, batch.id)
            self._drop(message)
        else:
            self._end(batch, (seen[0].results if seen else None) or {}, message)

    def _end(self, batch: Batch, results: Results, message: Message) -> None:
        """Keep what came of a batch, count its cost, and send its messages on their way."""
        assert batch.document is not None
        assert batch.model is not None
        state = self._session.lock([batch.document]).get(batch.document)
        lost = remote.down(
            batch.model, "a message batch has come to nothing: the provider knows no reply of it"
        )
        whole: Results = dict.fromkeys(stored.requests(self._db, batch.id), lost)
        whole |= {name: one for name, one in results.items() if name in whole}
        bodies = stored.end(self._db, batch.id, whole)
        usage = Usage(elapsed_ms=batch.age * 1000)
        for one in whole.values():
            if isinstance(one, Reply):
                usage.calls += 1
                usage.input_tokens += one.input_tokens
                usage.output_tokens += one.output_tokens
                usage.cached_tokens += one.cached_tokens
                cost = batch.model.cost(one.input_tokens, one.output_tokens, one.cached_tokens)
                usage.cost += cost * batch.model.batch_share
        count_calls(self._session, {(batch.document, batch.purpose, batch.wanted): usage})
        if state is not None and state["status"] in WORKING:
            self._session.send(MODEL, bodies)
        self._drop(message)


def _look(batches: Batches, batch: Batch, requests: Sequence[str], known: Sequence[str]) -> list[Look]:
    """What is to be seen of a batch at its provider; several where it may be any of them."""
    if batch.remote_id is None:
        return batches.find(requests, batch.opened, known)
    if batch.status == "cancelling":
        batches.cancel(batch.remote_id)
    seen = batches.look(batch.remote_id)
    return [] if seen is None else [seen]
