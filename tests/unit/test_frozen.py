"""Released migrations never change."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

MIGRATIONS = Path(__file__).resolve().parents[2] / "migrations"


def test_frozen_migrations_are_as_they_were_released() -> None:
    for line in (MIGRATIONS / "frozen.txt").read_text(encoding="utf-8").splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        match = re.fullmatch(r"([0-9a-f]{64}) [ *](\S+)", line)
        assert match, f"frozen.txt: not '<sha256>  <file>': {line!r}"
        found = hashlib.sha256((MIGRATIONS / "versions" / match.group(2)).read_bytes()).hexdigest()
        assert found == match.group(1), (
            f"{match.group(2)} was released and must not change: write a new migration"
        )


def test_each_migration_is_a_pair_of_files_in_order() -> None:
    versions = MIGRATIONS / "versions"
    scripts = sorted(path.stem for path in versions.glob("*.py"))
    assert scripts == sorted(path.stem for path in versions.glob("*.sql"))
    assert all(re.fullmatch(r"\d{4}_[a-z0-9_]+", name) for name in scripts)
    assert [name[:4] for name in scripts] == [f"{number:04}" for number in range(1, len(scripts) + 1)]
