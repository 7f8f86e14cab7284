"""Message batches: many requests handed in at once, answered within a day, at a share of the price.

A request's custom_id is its fingerprint, so that results are matched to requests whatever their order, and a batch that
nobody noted down is known again by what is in it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from tq.errors import TqError
from tq.model import keys, remote
from tq.model.anthropic import Anthropic, reply_of
from tq.model.driver import Reply
from tq.model.limits import Model
from tq.model.tasks import Task

SKEW = timedelta(minutes=5)  # between the provider's clock and ours
PAGE = 100
BUSY = ("overloaded_error", "rate_limit_error")
REFUSED = (
    "invalid_request_error",
    "authentication_error",
    "permission_error",
    "not_found_error",
    "request_too_large",
    "billing_error",
)

Results = dict[str, Reply | TqError]  # by custom_id


@dataclass(frozen=True, slots=True)
class Look:
    """A batch as it is at the provider. results: None until it has ended."""

    remote_id: str
    results: Results | None


class Batches:
    """The batches of one model. Every method is one or few calls over the network and may be run in a thread."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._driver = Anthropic(model)

    def fingerprint(self, task: Task[Any]) -> str:
        return self._driver.fingerprint(task)

    def send(self, tasks: Mapping[str, Task[Any]]) -> str:
        """Hand in requests by custom_id; the batch's id. Raises TqError: TQ101 and TQ103 say that there is no batch,
        TQ102 that there may be one."""
        for task in tasks.values():
            remote.check_size(self._model, task)
        requests: list[Any] = [
            {"custom_id": name, "params": self._driver.request(task)} for name, task in tasks.items()
        ]
        client = self._driver.client()
        return str(self._driver.guarded(lambda: client.messages.batches.create(requests=requests)).id)

    def look(self, remote_id: str) -> Look | None:
        """How far a batch is; None where the provider knows it no more."""
        import anthropic

        client = self._driver.client()

        def retrieve() -> Any:
            try:
                return client.messages.batches.retrieve(remote_id)
            except anthropic.NotFoundError:
                return None

        found = self._driver.guarded(retrieve)
        if found is None:
            return None
        return Look(remote_id, self._results(remote_id) if found.processing_status == "ended" else None)

    def cancel(self, remote_id: str) -> None:
        """Stop what is not answered yet. A batch that has ended, or is not there, needs no stop."""
        client = self._driver.client()
        try:
            self._driver.guarded(lambda: client.messages.batches.cancel(remote_id))
        except TqError as error:
            if error.code != "TQ103":
                raise

    def find(self, wanted: Sequence[str], opened: datetime, known: Sequence[str]) -> list[Look]:
        """Batches that may be the one with these custom_ids, handed in about then, and whose id was never learnt: those
        that run and are as large, or the one that has ended and is it."""
        client = self._driver.client()
        until = opened + timedelta(seconds=self._model.timeout_seconds) + SKEW

        def listed() -> list[Any]:
            found = []
            for batch in client.messages.batches.list(limit=PAGE):
                if batch.created_at < opened - SKEW:
                    break  # the newest come first
                counts = batch.request_counts
                size = (
                    counts.processing + counts.succeeded + counts.errored + counts.canceled + counts.expired
                )
                if batch.created_at <= until and size == len(wanted) and batch.id not in known:
                    found.append(batch)
            return found

        candidates: list[Look] = []
        for batch in self._driver.guarded(listed):
            if batch.processing_status != "ended":
                candidates.append(Look(batch.id, None))
            elif (results := self._results(batch.id)).keys() & set(wanted):
                return [Look(batch.id, results)]
        return candidates

    def abort(self) -> None:
        self._driver.abort()

    def _results(self, remote_id: str) -> Results:
        client = self._driver.client()
        return {
            one.custom_id: self._result(one.result)
            for one in self._driver.guarded(lambda: list(client.messages.batches.results(remote_id)))
        }

    def _result(self, result: Any) -> Reply | TqError:
        if result.type == "succeeded":
            return reply_of([result.message])
        if result.type == "expired":
            return remote.RateLimited(self._model, "a day was too short for the batch", None)
        if result.type != "errored":
            return remote.down(self._model, "the batch was cancelled at the provider")
        error = result.error.error
        said = f"in a batch, {error.type}, {remote.short(keys.without(error.message, self._driver.key))}"
        if error.type in BUSY:
            return remote.RateLimited(self._model, said, None)
        return (remote.refused if error.type in REFUSED else remote.down)(self._model, said)
