"""Blobs in S3-compatible storage, by obstore. Credentials, region and endpoint are those of AWS_… in the environment.

obstore's own threads live on in the process. They are started by a thread in which every signal is blocked and inherit
that, so that a backend's signals go to its main thread alone; the main thread waits in slices, and a cancel gets through.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any, BinaryIO, TypeVar

from tq.errors import TqError
from tq.store import Pulse, denied, failed, missing

WAIT_SECONDS = 0.1
HINT = (
    "Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (and AWS_REGION, AWS_ENDPOINT_URL) in the environment that the server, "
    "or the worker, is started in; they need GetObject, PutObject and DeleteObject in that bucket."
)

T = TypeVar("T")


class S3Store:
    def __init__(self, place: str, pulse: Pulse) -> None:
        bucket, _, prefix = place.removeprefix("s3://").partition("/")
        self._place = place
        self._pulse = pulse
        self._bucket = bucket
        self._prefix = prefix.strip("/")
        self._made: Any = None

    def put(self, digest: str, file: BinaryIO, size: int) -> None:
        import obstore

        self._run(digest, lambda store: obstore.put(store, digest, file, chunk_size=8 << 20))

    def read(self, digest: str, offset: int, size: int) -> bytes:
        import obstore

        # A range that begins behind the end is an error of the protocol.
        whole = int(self._run(digest, lambda store: obstore.head(store, digest)["size"]))
        end = min(whole, offset + size)
        if offset >= end:
            return b""
        return self._run(digest, lambda store: bytes(obstore.get_range(store, digest, start=offset, end=end)))

    def delete(self, digest: str) -> None:
        import obstore

        try:
            self._run(digest, lambda store: obstore.delete(store, digest))
        except TqError as error:
            if error.code != "TQ040":
                raise

    def url(self, digest: str, seconds: int) -> str:
        import obstore

        return self._run(
            digest, lambda store: str(obstore.sign(store, "GET", digest, timedelta(seconds=seconds)))
        )

    def _store(self) -> Any:
        if self._made is None:
            from obstore.store import S3Store as Remote

            plain = any(
                os.environ.get(name, "").startswith("http://")
                for name in ("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3")
            )
            self._made = Remote(
                self._bucket,
                prefix=self._prefix or None,
                client_options={"allow_http": plain, "timeout": timedelta(seconds=120), "connect_timeout": timedelta(seconds=10)},
                retry_config={"max_retries": 2, "retry_timeout": timedelta(seconds=30)},
            )  # fmt: skip
        return self._made

    def _run(self, digest: str, call: Callable[[Any], T]) -> T:
        """One call in a thread of its own, its errors as ours."""
        result: list[T] = []
        errors: list[BaseException] = []

        def work() -> None:
            try:
                result.append(call(self._store()))
            except BaseException as error:  # raised again below
                errors.append(error)

        thread = threading.Thread(target=work, daemon=True)
        previous = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        try:
            thread.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, previous)
        while thread.is_alive():
            thread.join(WAIT_SECONDS)
            self._pulse()
        if errors:
            raise self._error(digest, errors[0])
        return result[0]

    def _error(self, digest: str, error: BaseException) -> BaseException:
        from obstore.exceptions import BaseError, NotFoundError, PermissionDeniedError, UnauthenticatedError

        text = " ".join(str(error).split())
        said = text.split("Debug source", 1)[0][:300]
        if "NoSuchBucket" in text:
            return denied(
                self._place,
                "there is no such bucket",
                "Make the bucket, or name another in the setting blob_store.",
            )
        if isinstance(error, NotFoundError | FileNotFoundError):
            return missing(digest, self._place)
        refused = (
            "AccessDenied",
            "403 Forbidden",
            "401 Unauthorized",
            "InvalidAccessKeyId",
            "SignatureDoesNotMatch",
        )
        lacking = "instance metadata" in text or "169.254.169.254" in text or "credential" in text.lower()
        if (
            isinstance(error, PermissionDeniedError | UnauthenticatedError)
            or lacking
            or any(w in text for w in refused)
        ):
            return denied(self._place, "no credentials were found" if lacking else said, HINT)
        if isinstance(error, BaseError | OSError):
            return failed(self._place, said)
        return error
