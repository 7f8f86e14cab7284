"""Build hook: bakes the commit that a wheel is built from into it, as tq_loader/_build.py."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


def commit(root: str) -> str:
    """The commit of `root`, with -dirty for a changed tree; "n/a" outside a git checkout."""
    try:
        done = subprocess.run(
            ["git", "-C", root, "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"],
            capture_output=True,
            text=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError):
        return "n/a"
    return done.stdout.strip() or "n/a"


class BuildHook(BuildHookInterface):  # type: ignore[type-arg]
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        folder = Path(tempfile.mkdtemp(prefix="tq-build-"))
        baked = folder / "_build.py"
        baked.write_text(f'COMMIT = "{commit(self.root)}"\n', encoding="utf-8")
        build_data["force_include"][str(baked)] = "tq_loader/_build.py"
        self._folder = folder

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        (self._folder / "_build.py").unlink()
        self._folder.rmdir()
