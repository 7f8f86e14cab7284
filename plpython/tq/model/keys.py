"""Keys of the providers: from the server process's environment, or from a file that only its account can read.

A key is never a parameter, a setting, a table value or a part of an error. It goes to the provider's own host and to
hosts that the environment names, to no other: a row of tq.model may point anywhere.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from tq.errors import TqError

KEY_FILE = "TQ_KEY_FILE"
KEY_HOSTS = "TQ_KEY_HOSTS"  # further hosts that may be sent a key, parted by commas
HIDDEN = "[key]"


@dataclass(frozen=True, slots=True)
class Provider:
    """Where a driver's models are unless a row or the environment says otherwise, and the name of the key for them."""

    key: str
    url_variable: str  # names another address of the provider
    default_url: str

    def url(self, base_url: str | None) -> str:
        """The address of a model whose row has this base_url."""
        return base_url or os.environ.get(self.url_variable) or self.default_url


ANTHROPIC = Provider("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "https://api.anthropic.com")
OPENAI = Provider("OPENAI_API_KEY", "OPENAI_BASE_URL", "https://api.openai.com/v1")
PROVIDERS = {"anthropic": ANTHROPIC, "openai": OPENAI}


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


def key_for(provider: Provider, url: str) -> str | None:
    """The key for a server at `url`, or None where there is none, or that host is not to have it."""
    return find_key(provider.key) if _trusted(provider, url) else None


def _trusted(provider: Provider, url: str) -> bool:
    host = urlsplit(url).hostname
    named = {
        urlsplit(provider.default_url).hostname,
        urlsplit(os.environ.get(provider.url_variable, "")).hostname,
    }
    named.update(part.strip().lower() for part in os.environ.get(KEY_HOSTS, "").split(","))
    return bool(host) and host in named


@dataclass(frozen=True, slots=True)
class Seen:
    """What there is of a key, never the key itself. ``place``: the environment, or the key file; None for none.
    ``needed``: the provider's own host, which answers nobody without one. ``sent``: its host is one that may have it.
    """

    key: str
    url: str
    place: str | None
    needed: bool
    sent: bool


def seen(driver: str, base_url: str | None) -> Seen | None:
    """What there is of the key of a model; None for a driver that needs none. Raises TQ103 for a key file that is open."""
    provider = PROVIDERS.get(driver)
    if provider is None:
        return None
    url = provider.url(base_url)
    place = None
    if find_key(provider.key):
        place = "the environment" if os.environ.get(provider.key, "").strip() else "the key file"
    own = urlsplit(url).hostname == urlsplit(provider.default_url).hostname
    return Seen(provider.key, url, place, own, _trusted(provider, url))


def without(text: str, *keys: str | None) -> str:
    """A text without the keys, whatever a server wrote back to us."""
    for key in keys:
        if key:
            text = text.replace(key, HIDDEN)
    return text
