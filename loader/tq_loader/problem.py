"""The one kind of error that the command line shows as a plain line instead of a traceback."""

from __future__ import annotations


class Problem(Exception):
    """Something a person can mend: which step failed, why, and what to do about it."""

    def __init__(self, step: str, why: str, mend: str = "") -> None:
        self.step = step
        self.why = why
        self.mend = mend
        super().__init__(step, why, mend)

    @property
    def fields(self) -> dict[str, str | None]:
        """Code, message, detail and hint, as an error of the server has them; the step stands for the code."""
        return {"code": self.step, "message": self.why, "detail": None, "hint": self.mend or None}

    def __str__(self) -> str:
        line = f"{self.step}: {self.why}"
        return f"{line}; {self.mend}" if self.mend else line
