"""A model's limits, one row of tq.model, and every size that follows from them."""

from __future__ import annotations

from dataclasses import dataclass

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
RULES_SHARE = 0.25  # of the input: rules, possible queries, shots


@dataclass(frozen=True, slots=True)
class Model:
    """A row of tq.model. Tokens are the model's own; characters are found by chars_per_token."""

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

    @classmethod
    def of(cls, model: Model) -> Fit:
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
            leaf_min_chars=leaf // 6,
            piece_chars=leaf,
            fan_out=max(4, min(len(LETTERS), (usable - summary) // (bullet + 160))),
            bullets=bullets,
            bullet_chars=bullet,
        )
