"""`make fuzz`: every converter over changed files, a family after the other. Exit code 1 if something broke.

Usage: python -m fuzz [--seconds 60] [--folder .fuzz] [FAMILY…]
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import time
from pathlib import Path

from fuzz.families import FAMILIES, HERE
from fuzz.minimise import minimised


def main() -> int:
    parser = argparse.ArgumentParser(prog="fuzz")
    parser.add_argument("--seconds", type=int, default=60, help="for each family")
    parser.add_argument("--folder", type=Path, default=HERE.parents[1] / ".fuzz")
    parser.add_argument("families", nargs="*", metavar="FAMILY", help=", ".join(FAMILIES))
    chosen = parser.parse_args()
    unknown = [name for name in chosen.families if name not in FAMILIES]
    if unknown:
        parser.error(f"no family {unknown[0]}; there are {', '.join(FAMILIES)}")
    broken: list[Path] = []
    for name in chosen.families or FAMILIES:
        broken += fuzz(name, chosen.seconds, chosen.folder.resolve() / name)
    for path in broken:
        print(f"fuzz: broke: {path}")
    return 1 if broken else 0


def fuzz(name: str, seconds: int, folder: Path) -> list[Path]:
    """Run a family for so long, over all restarts; the files that broke it, made small."""
    found = folder / "found"
    found.mkdir(parents=True, exist_ok=True)
    for path in found.iterdir():
        path.unlink()
    deadline = time.monotonic() + seconds
    runs = 0
    while (left := int(deadline - time.monotonic())) > 0:
        done = subprocess.run(
            [sys.executable, "-m", "fuzz.target", name, str(left), str(folder)],
            cwd=HERE.parent, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False,
        )  # fmt: skip
        said = done.stderr.decode("utf-8", "replace")
        count = re.search(r"^stat::number_of_executed_units:\s*(\d+)", said, re.M)
        runs += int(count[1]) if count else 0
        if count is None and not any(path.suffix == "" for path in found.iterdir()):
            print(said[-2000:], file=sys.stderr)
            raise SystemExit(f"fuzz: {name} did not start (exit code {done.returncode})")
    raised = sorted(found.glob("*.bin"))
    for path in raised:
        small = minimised(path.read_bytes(), lambda data, path=path: signs(data, name) == path.stem)  # type: ignore[misc]
        path.write_bytes(small)
    ended = sorted(path for path in found.iterdir() if path.suffix not in (".bin", ".txt"))
    print(
        f"fuzz: {name}: {runs:,} files in {seconds} s, {len(raised)} raised, {len(ended)} hung, grew or crashed",
        flush=True,
    )
    return raised + ended


def signs(data: bytes, name: str) -> str:
    """How a file breaks its converter; empty where it does not."""
    from convert_help import convert

    from fuzz.signature import signature

    names = FAMILIES[name].names
    try:
        for called in names:
            convert(data, called, attachments=True)
    except MemoryError:
        pass
    except Exception as error:
        return signature(error)
    return ""


if __name__ == "__main__":
    sys.exit(main())
