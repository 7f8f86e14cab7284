"""What tells one fault from another."""

from __future__ import annotations

import hashlib
import traceback
from pathlib import Path


def signature(error: Exception) -> str:
    """A name for what went wrong: the kind of error and the innermost place in our code."""
    place = "outside"
    for frame in traceback.extract_tb(error.__traceback__):
        if "tq_loader" in frame.filename or frame.filename.endswith("convert_help.py"):
            place = f"{Path(frame.filename).stem}-{frame.name}-{frame.line}"
    digest = hashlib.sha256(place.encode()).hexdigest()[:8]
    return f"{type(error).__name__}-{'-'.join(place.split('-')[:2]).strip('<>')}-{digest}"
