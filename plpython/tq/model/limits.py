"""A model's limits, one row of tq.model, and every size that follows from them."""

from __future__ import annotations

import math
from dataclasses import dataclass

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
RULES_SHARE = 0.25  # of the input: rules, possible queries, shots
TELLING_SHARE = 1 / 8  # of the input: a prompt from which characters per token are told
OUTPUT_FRAME = 64  # tokens of a reply that are neither bullets, boundaries nor quotes
JSON_CHARS_PER_TOKEN = 3.0
BOUNDARY_CHARS = 160  # of a boundary with its title, as JSON
QUOTE_FRAME = 32
BULLET_FRAME = 36  # characters of a bullet beside its text, as JSON
FACT_CHARS = 120  # of a fact, as a rule
SUMMARY_SHARE = 0.25  # of what it summarises that a summary takes, as JSON
CHILD_FRAME = 286  # characters of a child beside its first bullet, in a prompt


@dataclass(frozen=True, slots=True)
class Model:
    """A row of tq.model. Tokens are the model's own; characters are found by chars_per_token, which is the row's or what
    replies have shown, where that is less."""

    name: str
    driver: str
    input_tokens: int
    output_tokens: int
    chars_per_token: float
    windows_per_call: int
    summary_tokens: int
    concurrency: int
    timeout_seconds: int
    delay_ms: int
    slot: int = 0  # names its places and its pause among all sessions
    base_url: str | None = None
    remote_name: str | None = None  # what the server calls it
    input_price: float = 0.0  # of a million tokens
    output_price: float = 0.0
    cached_price: float = 0.0
    ingest_mode: str = "calls"  # or batch
    batch_share: float = 0.5  # of the price, for what is answered in a batch

    @property
    def computes(self) -> bool:
        """Whether its replies are computed here: they cost nothing and have no worst case."""
        return self.driver == "extractive"

    @property
    def input_chars(self) -> int:
        """Characters of a whole prompt, at most."""
        return int(self.input_tokens * self.chars_per_token)

    @property
    def batches(self) -> bool:
        """Whether ingest hands in its calls as message batches."""
        return self.ingest_mode == "batch"

    def cost(self, sent: int, received: int, cached: int = 0) -> float:
        """Money for tokens in, out, and those of the input that came from the provider's cache."""
        fresh = max(sent - cached, 0)
        return (fresh * self.input_price + cached * self.cached_price + received * self.output_price) / 1e6

    def ingest_cost(self, sent: int, received: int, cached: int = 0) -> float:
        """The same at ingest, which may be done in batches."""
        return self.cost(sent, received, cached) * (self.batch_share if self.batches else 1.0)

    def shown(self, chars: int, tokens: int) -> float | None:
        """Characters per token as a reply has shown them; None where its prompt was too small to tell: what a provider
        adds to every request would weigh too much."""
        telling = not self.computes and tokens > 0 and chars >= self.input_chars * TELLING_SHARE
        return chars / tokens if telling else None

    def tokens(self, chars: int) -> int:
        return int(chars / self.chars_per_token) + 1 if chars else 0

    @property
    def fit(self) -> Fit:
        return Fit.of(self)


@dataclass(frozen=True, slots=True)
class Fit:
    """Sizes in characters unless said otherwise."""

    window_chars: int  # a provisional window: three fit the input beside the rules
    leaf_max_chars: int  # a leaf longer than this is cut
    leaf_min_chars: int  # neighbours in one section shorter than this are merged
    piece_chars: int  # a line longer than this is read in pieces
    fan_out: int  # children of a node, at most
    bullets: int  # of a summary, at most
    bullet_chars: int  # of one bullet, at most
    share: float | None = None  # of what it summarises that a summary may take; None for as much as it likes
    boundaries: int = 100_000  # marked in one window, at most
    quotes: int = 40  # of one answer, at most
    reply_chars: int = 100_000  # of each text of an answer: its what, its why, a quote

    @classmethod
    def of(cls, model: Model) -> Fit:
        """All sizes that follow from a model's row."""
        usable = int(model.input_tokens * (1 - RULES_SHARE) * model.chars_per_token)
        window = usable // model.windows_per_call
        summary = int(model.summary_tokens * model.chars_per_token)
        bullets = max(3, min(20, model.summary_tokens // 48))
        bullet = summary // bullets
        # A leaf is read whole together with its line numbers, and a long document needs many small leaves to be walked.
        leaf = min(window, 2 * summary)
        return cls(
            window_chars=window,
            leaf_max_chars=leaf,
            # Each call of a model that is paid reads the rules again: fewer, larger leaves are cheaper.
            leaf_min_chars=leaf // (6 if model.computes else 2),
            piece_chars=leaf,
            fan_out=max(4, min(len(LETTERS), _fan_out(model, usable, summary, bullet))),
            bullets=bullets,
            bullet_chars=bullet,
            share=None if model.computes else SUMMARY_SHARE,
            **_reply(model),
        )

    def bullets_of(self, chars: int, least: int) -> int:
        """Bullets of the summary of so many characters, at most; `least` are allowed where so many fit at all."""
        if self.share is None:
            return self.bullets
        return min(self.bullets, max(least, math.ceil(chars * self.share / (FACT_CHARS + BULLET_FRAME))))


def _fan_out(model: Model, usable: int, summary: int, bullet: int) -> int:
    if model.computes:
        return (usable - summary) // (bullet + 160)
    return usable // 2 // (bullet + CHILD_FRAME)  # the bullets have the other half


def _reply(model: Model) -> dict[str, int]:
    """The worst case of a reply, within the output; a driver that computes has none. JSON takes more tokens a character
    than prose, so fewer characters a token are reckoned with."""
    if model.computes:
        return {}
    chars = int((model.output_tokens - OUTPUT_FRAME) * min(model.chars_per_token, JSON_CHARS_PER_TOKEN))
    quotes = max(2, min(12, model.output_tokens // 160))
    return {
        "boundaries": max(1, min(1000, chars // BOUNDARY_CHARS)),
        "quotes": quotes,
        "reply_chars": max(40, (chars - quotes * QUOTE_FRAME) // (quotes + 2)),
    }
