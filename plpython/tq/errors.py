"""The one error that users see. Its code is a SQLSTATE of class TQ, listed in the README."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class TqError(Exception):
    """An error with a place in the contract.

    code: SQLSTATE ("TQ001"); message: lower case, no full stop; detail: what was seen; hint: what to do; calls: of models,
    that what failed had cost, as rows.
    """

    def __init__(self, code: str, message: str, detail: str | None = None, hint: str | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.detail = detail
        self.hint = hint
        self.calls: Sequence[dict[str, Any]] = ()
