"""A message of a queue: one step of one document, or a question; how often it was tried, and what follows a failure.

Body: {"document_id", "step", "window", "node" or "batch", "attempt", "history"}, or "query_id" in place of the first.
`attempt` is the number of the attempt that the first read of the message starts. pgmq counts reads, so a crash (which
only makes the message visible again) is counted by read_ct, and a failure that we saw by a fresh message with a higher
attempt. A deferral sends a fresh message with the attempt unchanged, so that waiting for a rate limit costs nothing.
"""

from __future__ import annotations

import json
import re
import uuid
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from tq.database.connection import refusal
from tq.errors import TqError

CONVERT = "tq_convert"
MODEL = "tq_model"
ASK = "tq_ask"
DEAD = "tq_dead"
CONVERT_STEPS = ("convert", "store", "drop")  # the latter two are of a blob, not of a document
BATCH = "batch"  # looks at a message batch
MODEL_STEPS = ("mark", "cut", "summarise", "build", "rollup", "finish", BATCH)
HISTORY = 20  # failures remembered in a message
LONGEST_BACKOFF = 60  # seconds
MAX_ERROR = 2000  # characters of an error's text kept in a message or a row


class Malformed(Exception):
    """A message that no step can understand."""


@dataclass(frozen=True, slots=True)
class Message:
    queue: str
    id: int
    read_ct: int
    body: dict[str, Any]
    document_id: str
    step: str
    window: int = 0
    node: str = ""
    batch: str = ""
    query: str = ""

    @property
    def attempt(self) -> int:
        """The number of this attempt, from 1."""
        return _whole(self.body.get("attempt"), 1) + self.read_ct - 1

    def later(self) -> str:
        """The body for a deferral: nothing is charged."""
        return json.dumps({**self.body, "attempt": self.attempt})

    def again(self, failure: Failure) -> str:
        """The body for the next attempt after a failure."""
        return json.dumps({**self.body, "attempt": self.attempt + 1, "history": self._history(failure)})

    def dead(self, failure: Failure) -> str:
        """The body for tq_dead: the message as it was, and everything that happened to it."""
        body = {key: value for key, value in self.body.items() if key != "history"}
        return json.dumps(
            {
                "queue": self.queue,
                "document_id": self.document_id or None,
                "query_id": self.query or None,
                "step": self.step,
                "message": body,
                "attempts": self.attempt,
                "sqlstate": failure.sqlstate,
                "error": failure.error,
                "history": self._history(failure),
            }
        )

    def _history(self, failure: Failure) -> list[Any]:
        before = self.body.get("history")
        entry = {
            "at": datetime.now(UTC).isoformat(timespec="seconds"),
            "attempt": self.attempt,
            "sqlstate": failure.sqlstate,
            "error": failure.error,
        }
        return [*(before if isinstance(before, list) else []), entry][-HISTORY:]


@dataclass(frozen=True, slots=True)
class Failure:
    """What went wrong, as it is stored: never more than MAX_ERROR characters a text."""

    sqlstate: str
    error: str
    hint: str | None = None

    @classmethod
    def of(cls, error: BaseException) -> Failure:
        """From our own error, from a database error of either adapter, or from any other."""
        if isinstance(error, TqError):
            sqlstate, text, detail, hint = error.code, error.message, error.detail, error.hint
        elif (said := refusal(error)) is not None:
            sqlstate, text, detail, hint = said.sqlstate, said.message, said.detail, said.hint
        else:
            sqlstate, text, detail, hint = "XX000", str(error).strip(), None, None
            text = f"{type(error).__name__}: {text or type(error).__name__}"
        return cls(
            sqlstate, _bounded(f"{text}: {detail}" if detail else text), _bounded(hint) if hint else None
        )


def backoff(attempt: int) -> int:
    """Seconds to wait after the failure of an attempt."""
    return min(LONGEST_BACKOFF, 1 << min(max(attempt - 1, 0), 10))


def parse(queue: str, message_id: int, read_ct: int, text: str) -> Message:
    """A message from its body, or Malformed with a message that can only be buried."""
    try:
        body = json.loads(text)
    except ValueError:
        body = None
    if not isinstance(body, dict):
        raise Malformed("the body is not a JSON object")
    if queue == ASK:
        return Message(
            queue, message_id, read_ct, body, "", "ask", query=_uuid(body.get("query_id"), "query_id")
        )
    step = body.get("step", "convert") if queue == CONVERT else body.get("step")
    if step not in (CONVERT_STEPS if queue == CONVERT else MODEL_STEPS):
        raise Malformed(f"the step {str(step)[:60]!r} is not known")
    if step in ("store", "drop"):
        if not re.fullmatch("[0-9a-f]{64}", str(body.get("sha256"))):
            raise Malformed("sha256 is not a digest")
        if step == "drop" and not isinstance(body.get("store"), str):
            raise Malformed("a drop step names no store")
        return Message(queue, message_id, read_ct, body, "", str(step))
    if step == BATCH:  # of a document, or of one that is gone
        batch = _uuid(body.get("batch"), "batch")
        document = _uuid(body["document_id"], "document_id") if "document_id" in body else ""
        return Message(queue, message_id, read_ct, body, document, BATCH, batch=batch)
    document = _uuid(body.get("document_id"), "document_id")
    window = _whole(body.get("window"), 0) if step == "mark" else 0
    if step == "mark" and window < 1:
        raise Malformed("a mark step names no window")
    node = _uuid(body.get("node"), "node") if step in ("summarise", "rollup") else ""
    return Message(queue, message_id, read_ct, body, document, str(step), window, node)


def buried(queue: str, message_id: int, read_ct: int, text: str) -> Message:
    """A malformed message in the form that can be sent to tq_dead."""
    return Message(queue, message_id, read_ct, {"text": text[:MAX_ERROR]}, "", "unknown")


def body(document_id: str, step: str, **more: Any) -> str:
    return json.dumps({"document_id": document_id, "step": step, "attempt": 1, **more})


def _uuid(value: Any, name: str) -> str:
    try:
        return str(uuid.UUID(value))
    except (ValueError, TypeError, AttributeError):
        raise Malformed(f"{name} is not a uuid") from None


def _whole(value: Any, default: int) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31 else default


def _bounded(text: str) -> str:
    text = text.replace("\0", "\ufffd")
    return text if len(text) <= MAX_ERROR else text[: MAX_ERROR - 1] + "…"
