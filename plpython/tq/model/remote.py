"""What the drivers of remote models share: errors in the contract's words, replies out of JSON, the fingerprint of a
request."""

from __future__ import annotations

import hashlib
import time
from email.utils import parsedate_to_datetime
from typing import Any

import msgspec

from tq.errors import TqError
from tq.model.driver import Reply
from tq.model.limits import Model
from tq.model.tasks import COMPUTED, Task

SAID = 300  # characters of what a server says that an error repeats
LONGEST_RETRY = 3600.0


class RateLimited(TqError):
    """TQ101, with the seconds after which the server wants to be asked again, where it says so."""

    def __init__(self, model: Model, detail: str, retry_after: float | None) -> None:
        wait = "" if retry_after is None else f"; it asks to wait {retry_after:g} s"
        super().__init__(
            "TQ101",
            "the model is rate-limited",
            f"{model.name}: {detail}{wait}",
            "Ask again later, lower tq.model.concurrency, or name another model.",
        )
        self.retry_after = retry_after


def down(model: Model, detail: str) -> TqError:
    return TqError(
        "TQ102",
        "the model is down",
        f"{model.name}: {detail}",
        "Ask again later, or name another model in the strategy or the setting model.",
    )


def refused(
    model: Model, detail: str, hint: str = "See the row of tq.model and the server's key."
) -> TqError:
    return TqError("TQ103", "the model rejected the request", f"{model.name}: {detail}", hint)


def http_error(model: Model, status: int, said: str, retry_after: str | None) -> TqError:
    """The error of an HTTP status that is not 200."""
    told = f"HTTP {status}" + (f", {short(said)}" if said.strip() else "")
    if status in (429, 529):
        return RateLimited(model, told, seconds(retry_after))
    if status >= 500 or status in (408, 409):
        return down(model, told)
    hints = {
        401: "The key is missing or wrong: it belongs into the server's environment or its key file.",
        403: "The key may not use this model.",
        404: "The model's remote name or base_url may be wrong.",
        413: "The request is too large: lower tq.model.input_tokens.",
    }
    return refused(model, told, hints.get(status, "See the row of tq.model."))


def short(text: str) -> str:
    text = " ".join(text[: SAID * 4].split())
    return text if len(text) <= SAID else text[: SAID - 1] + "…"


def seconds(text: str | None) -> float | None:
    """A retry-after header: seconds, or a date."""
    if not text:
        return None
    try:
        wait = float(text)
    except ValueError:
        try:
            wait = parsedate_to_datetime(text).timestamp() - time.time()
        except (ValueError, TypeError):
            return None
    return min(max(wait, 0.0), LONGEST_RETRY) if wait == wait else None


def reply_of(text: str, sent: int, received: int, cached: int) -> Reply:
    """A reply from the JSON that a model wrote; one that is no object is rejected, and paid."""
    try:
        data = msgspec.json.decode(unfenced(text))
    except (msgspec.DecodeError, UnicodeDecodeError):
        data = None
    if isinstance(data, dict):
        data = {name: storable(value) for name, value in data.items() if name not in COMPUTED}
        return Reply(data, sent, received, cached)
    return Reply({}, sent, received, cached, "the reply is not a JSON object of the required form")


def storable(value: Any) -> Any:
    """What a model wrote, as PostgreSQL can keep it: without NUL."""
    if isinstance(value, str):
        return value.replace("\x00", "\ufffd")
    if isinstance(value, list):
        return [storable(one) for one in value]
    if isinstance(value, dict):
        return {storable(name): storable(one) for name, one in value.items()}
    return value


def unfenced(text: str) -> str:
    """Without the Markdown fence that small models put around JSON."""
    text = text.strip()
    if text.startswith("```") and text.endswith("```"):
        return text[3:-3].removeprefix("json").strip()
    return text


def fingerprint(model: Model, task: Task[Any], schema: dict[str, Any]) -> str:
    """The whole request as a hash: who is asked, what, and in which form the reply is wanted."""
    prompt = task.prompt()
    whole = (
        model.driver,
        model.base_url,
        model.remote_name,
        model.output_tokens,
        prompt.system,
        prompt.user,
        schema,
    )
    return hashlib.sha256(msgspec.json.encode(whole, order="sorted")).hexdigest()


def check_size(model: Model, task: Task[Any]) -> None:
    """Prompts fit by construction; one that does not is never sent."""
    size = len(task.prompt())
    if size > model.input_chars:
        raise refused(
            model,
            f"a prompt of {size} characters where {model.input_chars} fit",
            "This is a fault of tq: please report it with the row of tq.model.",
        )
