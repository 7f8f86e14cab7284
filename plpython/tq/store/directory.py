"""Blobs in a directory: written beside and renamed, in folders by the first digits of their digest."""

from __future__ import annotations

import contextlib
import os
import shutil
from pathlib import Path
from typing import BinaryIO
from urllib.parse import unquote

from tq.errors import TqError
from tq.store import denied, failed, missing

HINT = "Make the directory, owned by the account that the server (and every worker) runs as: mkdir, chown, chmod 700."


class DirectoryStore:
    def __init__(self, place: str) -> None:
        self._place = place
        self._root = Path(unquote(place.removeprefix("file://")))

    def path(self, digest: str) -> Path:
        return self._root / digest[:2] / digest[2:4] / digest

    def put(self, digest: str, file: BinaryIO, size: int) -> None:
        path = self.path(digest)
        making = path.with_name(f".{digest}.{os.getpid()}")
        try:
            # The root is never made: where a disk is not mounted, bytes must not land on the one below.
            if not self._root.is_dir():
                raise denied(self._place, "there is no such directory", HINT)
            for folder in (path.parent.parent, path.parent):
                folder.mkdir(mode=0o750, exist_ok=True)
            try:
                with open(os.open(making, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o640), "wb") as out:
                    shutil.copyfileobj(file, out, 1 << 20)
                    out.flush()
                    os.fsync(out.fileno())
                    if out.tell() != size:
                        raise failed(self._place, f"{out.tell()} bytes of {size} were written")
                os.replace(making, path)
            except BaseException:
                with contextlib.suppress(OSError):
                    making.unlink()
                raise
            for folder in (path.parent, path.parent.parent, self._root):
                _sync(folder)
        except OSError as error:
            raise self._error(error) from None

    def read(self, digest: str, offset: int, size: int) -> bytes:
        try:
            with open(self.path(digest), "rb") as file:
                file.seek(offset)
                return file.read(size)
        except FileNotFoundError:
            if not self._root.is_dir():
                raise denied(self._place, "there is no such directory", HINT) from None
            raise missing(digest, self._place) from None
        except OSError as error:
            raise self._error(error) from None

    def delete(self, digest: str) -> None:
        path = self.path(digest)
        try:
            path.unlink(missing_ok=True)
            for folder in (path.parent, path.parent.parent):
                folder.rmdir()
        except OSError as error:
            # A folder that holds others stays.
            if isinstance(error, PermissionError) or path.exists():
                raise self._error(error) from None

    def url(self, digest: str, seconds: int) -> str:
        return self.path(digest).as_uri()

    def _error(self, error: OSError) -> TqError:
        why = error.strerror or type(error).__name__
        if isinstance(error, PermissionError | NotADirectoryError):
            return denied(self._place, why, HINT)
        return failed(self._place, why)


def _sync(folder: Path) -> None:
    """Make a renamed name durable."""
    number = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(number)
    finally:
        os.close(number)
