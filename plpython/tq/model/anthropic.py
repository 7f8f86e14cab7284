"""Driver `anthropic`: the Messages API by its SDK, with structured outputs and prompt caching.

The SDK is imported with the first call: it costs seconds and 65 MB a session.
"""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tq.model import keys, remote, schemas
from tq.model.driver import Reply
from tq.model.limits import Model
from tq.model.tasks import Task

if TYPE_CHECKING:
    from anthropic import Anthropic as Client

MOST_PAUSES = 3  # a paused turn is taken up again this often
NO_KEY = "none"  # what a host that is not to have the key is sent
# Stop reasons after which there is no whole reply.
UNUSABLE = {
    "max_tokens": "the reply was cut off at the output limit: be shorter",
    "model_context_window_exceeded": "the reply was cut off at the end of the context: be shorter",
    "refusal": "the model refused to reply",
    "pause_turn": "the model paused again and again",
}


class Anthropic:
    """One model. The client is shared by all threads; retrying is the caller's."""

    waits = True

    def __init__(self, model: Model) -> None:
        self._model = model
        self._url = keys.ANTHROPIC.url(model.base_url)
        self._lock = threading.Lock()
        self._client: Client | None = None
        self._key: str | None = None
        self._sockets: list[socket.socket] = []

    def fingerprint(self, task: Task[Any]) -> str:
        return remote.fingerprint(self._model, task, schemas.fixed(task))

    def reply(self, task: Task[Any], stop: threading.Event) -> Reply:
        """Raises TqError TQ101, TQ102, TQ103."""
        remote.check_size(self._model, task)
        client = self.client()
        request = self.request(task)
        told: list[Any] = []
        for _ in range(MOST_PAUSES + 1):
            message = self.guarded(lambda: client.messages.create(**request))
            told.append(message)
            if message.stop_reason != "pause_turn":
                break
            turn = [block.model_dump(mode="json", exclude_none=True) for block in message.content]
            request["messages"] = [*request["messages"], {"role": "assistant", "content": turn}]
        return reply_of(told)

    def request(self, task: Task[Any]) -> dict[str, Any]:
        """The body of a Messages request; the prefix that does not change from call to call is cached."""
        prompt = task.prompt()
        return {
            "model": self._model.remote_name,
            "max_tokens": self._model.output_tokens,
            "system": [{"type": "text", "text": prompt.system, "cache_control": {"type": "ephemeral"}}],
            "messages": [{"role": "user", "content": prompt.user}],
            "output_config": {"format": {"type": "json_schema", "schema": schemas.fixed(task)}},
        }

    def limits(self) -> tuple[int | None, int | None]:
        """Tokens in and out, as the models endpoint says; None where it does not."""
        client = self.client()
        info = self.guarded(lambda: client.models.retrieve(self._model.remote_name or ""))
        return info.max_input_tokens, info.max_tokens

    @property
    def key(self) -> str | None:
        """The key that was sent, to be taken out of what is told."""
        return self._key

    def client(self) -> Client:
        """The SDK's client, made once."""
        with self._lock:
            if self._client is None:
                import anthropic

                self._key = keys.key_for(keys.ANTHROPIC, self._url)
                if self._key is None and self._url.rstrip("/") == keys.ANTHROPIC.default_url:
                    raise remote.refused(
                        self._model,
                        "there is no key",
                        "Set ANTHROPIC_API_KEY in the server's environment, or in the file that TQ_KEY_FILE names.",
                    )
                http = anthropic.DefaultHttpxClient(event_hooks={"request": [self._traced]})
                self._client = anthropic.Anthropic(
                    http_client=http,
                    # Always given, so that the SDK looks for credentials nowhere else.
                    api_key=self._key or NO_KEY,
                    base_url=self._url,
                    max_retries=0,
                    timeout=float(self._model.timeout_seconds),
                )
            return self._client

    def abort(self) -> None:
        """End the calls in flight: nobody waits for them any more."""
        with self._lock:
            client, self._client = self._client, None
            sockets, self._sockets = self._sockets, []
        for one in sockets:  # closing the client alone would leave its threads waiting
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
        if client is not None:
            client.close()

    def _traced(self, request: Any) -> None:
        """Note the sockets that requests are sent over."""
        request.extensions["trace"] = self._trace

    def _trace(self, event: str, info: dict[str, Any]) -> None:
        if event == "connection.connect_tcp.complete":
            with self._lock:
                self._sockets.append(info["return_value"].get_extra_info("socket"))

    def guarded(self, call: Any) -> Any:
        """What an SDK call returns, or our own error: the SDK's would carry the request."""
        import anthropic

        try:
            return call()
        except anthropic.APIStatusError as error:
            raise remote.http_error(
                self._model,
                error.status_code,
                keys.without(_message(error), self._key),
                error.response.headers.get("retry-after"),
            ) from None
        except anthropic.APITimeoutError:
            raise remote.down(self._model, f"no reply in {self._model.timeout_seconds} s") from None
        except anthropic.APIConnectionError as error:
            said = str(error.__cause__ or error) or type(error).__name__
            raise remote.down(self._model, keys.without(remote.short(said), self._key)) from None
        except (anthropic.APIResponseValidationError, ValueError) as error:
            raise remote.down(
                self._model, f"its reply is not of the Messages protocol ({type(error).__name__})"
            ) from None
        except anthropic.AnthropicError as error:
            raise remote.down(self._model, keys.without(remote.short(str(error)), self._key)) from None


def reply_of(messages: Sequence[Any]) -> Reply:
    """The reply that the messages of one turn make: several where it paused."""
    sent = received = cached = 0
    for message in messages:
        usage = message.usage
        read = usage.cache_read_input_tokens or 0
        # What was written to the cache is input as well, and counted with it.
        sent += usage.input_tokens + (usage.cache_creation_input_tokens or 0) + read
        received += usage.output_tokens
        cached += read
    if (reason := UNUSABLE.get(messages[-1].stop_reason or "")) is not None:
        return Reply({}, sent, received, cached, reason)
    text = "".join(block.text for message in messages for block in message.content if block.type == "text")
    return remote.reply_of(text, sent, received, cached)


def _message(error: Any) -> str:
    body = error.body
    if isinstance(body, dict):
        inner = body.get("error", body)
        if isinstance(inner, dict) and inner.get("message"):
            return str(inner["message"])
    return str(body or "")
