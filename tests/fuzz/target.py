"""One family fuzzed by atheris in this process: `python -m fuzz.target FAMILY SECONDS FOLDER`.

An exception is kept with the file that raised it, once for each place that raises, and the run goes on. A hang or too much
memory ends the process, with the file kept by the library; whoever started this one starts it again.
"""

from __future__ import annotations

import importlib
import random
import sys
import traceback
from pathlib import Path

import atheris

from fuzz.families import FAMILIES, seeds
from fuzz.mutate import mutate
from fuzz.signature import signature

SECONDS_A_FILE = 20
MEMORY_MB = 1500
MOST_BYTES = 400_000


def main(name: str, seconds: int, folder: Path) -> None:
    family = FAMILIES[name]
    with atheris.instrument_imports(include=["tq_loader.convert"]):
        for module in family.modules:
            importlib.import_module(f"tq_loader.convert.{module}")
        from convert_help import convert

    corpus, found = folder / "corpus", folder / "found"
    corpus.mkdir(parents=True, exist_ok=True)
    found.mkdir(exist_ok=True)
    for seed, content in seeds(family).items():
        (corpus / seed).write_bytes(content)

    def one(data: bytes) -> None:
        if not data:
            return
        try:
            convert(data, family.names[len(data) % len(family.names)], attachments=True)
        except MemoryError:
            pass  # TQ012, by the process's own limit
        except Exception as error:
            path = found / f"{signature(error)}.bin"
            if not path.exists() or path.stat().st_size > len(data):
                path.write_bytes(data)
                path.with_suffix(".txt").write_text(traceback.format_exc(), encoding="utf-8")

    def change(data: bytes, most: int, seed: int) -> bytes:
        return mutate(data, most, random.Random(seed), atheris.Mutate)

    options = [
        f"-max_total_time={seconds}", f"-timeout={SECONDS_A_FILE}", f"-rss_limit_mb={MEMORY_MB}", f"-max_len={MOST_BYTES}",
        f"-artifact_prefix={found}/", "-len_control=0", "-reload=0", "-verbosity=0", "-print_final_stats=1",
    ]  # fmt: skip
    atheris.Setup([sys.argv[0], str(corpus), *options], one, custom_mutator=change)
    atheris.Fuzz()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]))
