"""What a strategy amounts to, with all that it inherits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from tq.strategy.filter import Tree

NO_LIMIT = -1


@dataclass(frozen=True, slots=True)
class Strategy:
    """A version of a strategy. A field's name is that of its column; a limit of None is none."""

    name: str
    top_n: int
    documents: int
    routes: int
    rereads: int
    evidence: str
    evidence_why: str
    reasoning_rules: str
    weight_evidence: float
    weight_agreement: float
    weight_source: float
    weight_fit: float
    on_error: str
    pairs: int
    versions: str
    patience_seconds: float
    model: str | None = None
    model_plan: str | None = None
    model_read: str | None = None
    model_compare: str | None = None
    model_write: str | None = None
    max_calls: int | None = None
    max_tokens: int | None = None
    max_cost: float | None = None
    max_seconds: float | None = None
    depth: int | None = None
    depth_why: int | None = None
    scope: str | None = None
    mode: str = "tree"
    merge: str = "union"
    follow_up: str = "widen"
    format: str = "rows"
    language: str = "english"
    version: int = 0
    parsed: Mapping[str, Tree | None] = field(default_factory=dict)  # scope and source_rule

    def model_for(self, purpose: str) -> str | None:
        """The model it names for one purpose, or for all."""
        return getattr(self, f"model_{purpose}", None) or self.model

    @property
    def weights(self) -> dict[str, float]:
        return {
            "evidence": self.weight_evidence,
            "agreement": self.weight_agreement,
            "source": self.weight_source,
            "fit": self.weight_fit,
        }


def of(name: str, version: int, settings: str, parsed: str) -> Strategy:
    """From a row of tq.strategy_version; settings that nothing here reads are left aside."""
    values: dict[str, Any] = {
        setting: None if value == NO_LIMIT else value
        for setting, value in msgspec.json.decode(settings).items()
    }
    return msgspec.convert(
        {**values, "name": name, "version": version, "parsed": msgspec.json.decode(parsed)}, Strategy
    )
