"""Driver `openai`: any server that speaks the chat-completions protocol (OpenAI, llama.cpp, vLLM, Ollama).

The reply's form is a JSON schema with the real lists of the task, so that a server which decodes by grammar cannot even
write a letter or number that is not on the list. The check after the reply is the same for all drivers.
"""

from __future__ import annotations

import contextlib
import http.client
import socket
import ssl
import threading
import time
from typing import Any
from urllib.parse import urlsplit

import msgspec

from tq.model import keys, remote, schemas
from tq.model.driver import Reply, count_tokens
from tq.model.limits import Model
from tq.model.tasks import Task

MAX_REPLY = 8 << 20  # bytes


class OpenAI:
    """One model behind one address. Every call has its own connection; `abort` closes those in flight."""

    waits = True

    def __init__(self, model: Model) -> None:
        self._model = model
        self._url = keys.OPENAI.url(model.base_url)
        self._live: set[http.client.HTTPConnection] = set()
        self._lock = threading.Lock()

    def fingerprint(self, task: Task[Any]) -> str:
        return remote.fingerprint(self._model, task, schemas.closed(task))

    def reply(self, task: Task[Any], stop: threading.Event) -> Reply:
        """Raises TqError TQ101, TQ102, TQ103."""
        remote.check_size(self._model, task)
        key = keys.key_for(keys.OPENAI, self._url)
        try:
            status, headers, body = self._post(self._body(task), key)
        except (OSError, http.client.HTTPException) as error:
            raise remote.down(self._model, keys.without(_told(error), key)) from None
        if status != 200:
            said = keys.without(_message(body), key)
            raise remote.http_error(self._model, status, said, headers.get("retry-after"))
        return self._read(task, body)

    def limits(self) -> tuple[int | None, int | None]:
        """Tokens in, where the list of models says (vLLM and llama.cpp do, OpenAI does not), and None."""
        key = keys.key_for(keys.OPENAI, self._url)
        try:
            status, headers, body = self._send("GET", "/models", None, key)
        except (OSError, http.client.HTTPException) as error:
            raise remote.down(self._model, keys.without(_told(error), key)) from None
        if status != 200:
            said = keys.without(_message(body), key)
            raise remote.http_error(self._model, status, said, headers.get("retry-after"))
        try:
            listed = msgspec.json.decode(body, type=_Models).data
        except msgspec.MsgspecError:
            raise remote.down(self._model, "its list of models is not of the protocol") from None
        for one in listed:
            if one.id == self._model.remote_name:
                return one.max_model_len or one.max_input_tokens, one.max_tokens
        return None, None

    def abort(self) -> None:
        """End the calls in flight: nobody waits for them any more."""
        with self._lock:
            live = list(self._live)
        for connection in live:
            if connection.sock is not None:
                with contextlib.suppress(OSError):
                    connection.sock.shutdown(socket.SHUT_RDWR)

    def _body(self, task: Task[Any]) -> bytes:
        prompt = task.prompt()
        wanted = {"name": task.purpose, "strict": True, "schema": schemas.closed(task)}
        limit = "max_completion_tokens" if self._url.startswith(keys.OPENAI.default_url) else "max_tokens"
        return msgspec.json.encode(
            {
                "model": self._model.remote_name,
                "messages": [
                    {"role": "system", "content": prompt.system},
                    {"role": "user", "content": prompt.user},
                ],
                limit: self._model.output_tokens,
                "response_format": {"type": "json_schema", "json_schema": wanted},
            }
        )

    def _post(self, body: bytes, key: str | None) -> tuple[int, dict[str, str], bytes]:
        return self._send("POST", "/chat/completions", body, key)

    def _send(
        self, method: str, path: str, body: bytes | None, key: str | None
    ) -> tuple[int, dict[str, str], bytes]:
        parts = urlsplit(self._url)
        timeout = self._model.timeout_seconds
        deadline = time.monotonic() + timeout
        host, port = parts.hostname or "", parts.port
        connection: http.client.HTTPConnection
        if parts.scheme == "https":
            context = ssl.create_default_context()
            connection = http.client.HTTPSConnection(host, port, timeout=timeout, context=context)
        else:
            connection = http.client.HTTPConnection(host, port, timeout=timeout)
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if key:
            headers["Authorization"] = f"Bearer {key}"
        with self._lock:
            self._live.add(connection)
        try:
            connection.request(method, parts.path.rstrip("/") + path, body, headers)
            response = connection.getresponse()
            read = bytearray()
            while piece := response.read1(65536):
                read += piece
                if len(read) > MAX_REPLY:
                    raise http.client.HTTPException(f"a reply of more than {MAX_REPLY} bytes")
                if time.monotonic() > deadline:
                    raise TimeoutError(f"no whole reply in {timeout} s")
            expected = response.headers.get("content-length", "")
            if expected.isdigit() and len(read) < int(expected):
                raise http.client.HTTPException("the connection ended in the middle of the reply")
            return response.status, {k.lower(): v for k, v in response.headers.items()}, bytes(read)
        finally:
            with self._lock:
                self._live.discard(connection)
            connection.close()

    def _read(self, task: Task[Any], body: bytes) -> Reply:
        try:
            said = msgspec.json.decode(body, type=_Completion)
        except msgspec.MsgspecError:
            raise remote.down(self._model, "its reply is not of the chat-completions protocol") from None
        choice = said.choices[0] if said.choices else None
        if choice is None:
            raise remote.down(self._model, "its reply has no choice")
        text = choice.message.content or ""
        guess = count_tokens(self._model, task, {"": text})
        used = said.usage
        cached = used.prompt_tokens_details.cached_tokens if used and used.prompt_tokens_details else 0
        sent, received = (used.prompt_tokens, used.completion_tokens) if used else guess
        if choice.finish_reason == "length":
            return Reply({}, sent, received, cached, "the reply was cut off at the output limit: be shorter")
        if choice.finish_reason == "content_filter" or choice.message.refusal:
            return Reply({}, sent, received, cached, "the model refused to reply")
        return remote.reply_of(text, sent, received, cached)


class _Message(msgspec.Struct):
    content: str | None = None
    refusal: str | None = None


class _Choice(msgspec.Struct):
    message: _Message
    finish_reason: str | None = None


class _Details(msgspec.Struct):
    cached_tokens: int = 0


class _Usage(msgspec.Struct):
    prompt_tokens: int = 0
    completion_tokens: int = 0
    prompt_tokens_details: _Details | None = None


class _Listed(msgspec.Struct):
    id: str
    max_model_len: int | None = None
    max_input_tokens: int | None = None
    max_tokens: int | None = None


class _Models(msgspec.Struct):
    data: list[_Listed]


class _Completion(msgspec.Struct):
    choices: list[_Choice]
    usage: _Usage | None = None


def _told(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return str(error) or "timed out"
    return str(error) or type(error).__name__


def _message(body: bytes) -> str:
    """What a server says of its error; not the whole page that a proxy may send."""
    try:
        said = msgspec.json.decode(body)
        error = said.get("error", said) if isinstance(said, dict) else said
        return str(error.get("message", "")) if isinstance(error, dict) else str(error)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return body[:1000].decode("utf-8", "replace")
