"""Keys of the providers: from the server process's environment, or from a file that only its account can read.

A key is never a parameter, a setting, a table value or a part of an error. It goes to the provider's own host and to
hosts that the environment names, to no other: a row of tq.model may point anywhere.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from urllib.parse import urlsplit

from tq.errors import TqError

KEY_FILE = "TQ_KEY_FILE"
KEY_HOSTS = "TQ_KEY_HOSTS"  # further hosts that may be sent a key, parted by commas
HIDDEN = "[key]"


def find_key(name: str) -> str | None:
    """The key of this name: of the environment, else a line NAME=key of the file that TQ_KEY_FILE names.

    Raises TqError TQ103 where that file may be read by others, or not by us.
    """
    if found := os.environ.get(name, "").strip():
        return found
    path = os.environ.get(KEY_FILE)
    if not path:
        return None
    for line in _read(Path(path)).splitlines():
        label, _, value = line.partition("=")
        if label.strip() == name and value.strip():
            return value.strip()
    return None


def _read(path: Path) -> str:
    try:
        with path.open(encoding="utf-8") as file:
            mode = os.fstat(file.fileno()).st_mode
            if mode & (stat.S_IRWXG | stat.S_IRWXO):
                raise TqError(
                    "TQ103",
                    "the key file is open to others",
                    f"{path} has the mode {stat.S_IMODE(mode):o}",
                    f"As the server's account: chmod 600 {path}",
                )
            return file.read(65536)
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise TqError(
            "TQ103", "the key file cannot be read", f"{path}: {reason}", "The server's account has to own it."
        ) from None


def key_for(name: str, url: str, own_host: str, own_url: str) -> str | None:
    """The key for a server at `url`, or None where that host is not to have it. own_host: the provider's;
    own_url: the environment variable that names another address of it."""
    host = urlsplit(url).hostname or ""
    trusted = {own_host, urlsplit(os.environ.get(own_url, "")).hostname}
    trusted.update(part.strip().lower() for part in os.environ.get(KEY_HOSTS, "").split(","))
    return find_key(name) if host and host in trusted else None


def without(text: str, *keys: str | None) -> str:
    """A text without the keys, whatever a server wrote back to us."""
    for key in keys:
        if key:
            text = text.replace(key, HIDDEN)
    return text
