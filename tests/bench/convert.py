"""What converting costs: pages of PDFs beside the bare text of the library, spreadsheet rows, memory, the child's start.

Each run is a child process as the worker starts it, on this machine's own Python; the bare loop runs in a child too.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from typing import Any

import pymupdf as untyped

pymupdf: Any = untyped

LIMITS = ["--memory-mb=1024", "--cpu-seconds=600"]
BARE = """
import sys, time, pymupdf
data = sys.stdin.buffer.read()
doc = pymupdf.open(stream=data, filetype="pdf")
for page in doc:
    page.get_text()
"""
WORDS = "the clinic keeps a record of each visit and of what was paid for it in the year that it was made"


def say(text: str = "") -> None:
    print(text, flush=True)


def run(command: Sequence[str], data: bytes) -> tuple[float, float]:
    """Seconds and peak memory (resident, in MB) of one child."""
    with tempfile.TemporaryFile() as source:
        source.write(data)
        source.seek(0)
        started = time.perf_counter()
        process = subprocess.Popen(
            command, stdin=source, stdout=subprocess.DEVNULL, env={}, cwd="/", stderr=subprocess.PIPE
        )
        assert process.stderr is not None
        said = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - started
    process.returncode = os.waitstatus_to_exitcode(status)
    process.stderr.close()
    if process.returncode:
        raise RuntimeError(said.decode("utf-8", "replace")[-500:])
    return seconds, usage.ru_maxrss / 1024


def best(command: Sequence[str], data: bytes, times: int = 3) -> tuple[float, float]:
    """The quickest of some runs, and the most memory."""
    runs = [run(command, data) for _ in range(times)]
    return min(seconds for seconds, _ in runs), max(memory for _, memory in runs)


def converter(name: str) -> list[str]:
    return [sys.executable, "-I", "-m", "tq_loader.convert", f"--name={name}", *LIMITS]


def plain_pdf(pages: int) -> bytes:
    """Pages of running text, 45 lines each, without rules or columns."""
    doc: Any = pymupdf.open()
    for number in range(pages):
        page = doc.new_page()
        for line in range(45):
            page.insert_text((60, 60 + 15 * line), f"{number}.{line} {WORDS}"[:95], fontsize=10)
    return bytes(doc.tobytes(deflate=True))


def table_pdf(pages: int) -> bytes:
    """Pages with a ruled table of 30 rows and five columns."""
    doc: Any = pymupdf.open()
    for number in range(pages):
        page = doc.new_page()
        for row in range(31):
            page.draw_line((60, 60 + 20 * row), (535, 60 + 20 * row))
        for column in range(6):
            page.draw_line((60 + 95 * column, 60), (60 + 95 * column, 660))
        for row in range(30):
            for column in range(5):
                page.insert_text((64 + 95 * column, 75 + 20 * row), f"{number}-{row}-{column}", fontsize=9)
    return bytes(doc.tobytes(deflate=True))


def spreadsheet(rows: int) -> bytes:
    import io

    import openpyxl

    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet("visits")
    sheet.append(["visit", "patient", "day", "fee", "paid", "note"])
    for row in range(rows):
        sheet.append(
            [
                row,
                f"patient {row % 997}",
                f"2024-03-{row % 28 + 1:02}",
                row % 90 + 0.5,
                row % 2 == 0,
                "on time",
            ]
        )
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def verdict(good: bool) -> str:
    return "holds" if good else "MISSED"


def convert() -> None:
    """The whole part. Prints a line a number, with its limit."""
    say("CONVERT, a child process each; the best of three runs")
    empty = plain_pdf(1)
    bare_start, _ = best([sys.executable, "-I", "-c", BARE], empty)
    own_start, _ = best(converter("a.pdf"), empty)
    for title, make, pages in (("plain pages", plain_pdf, 400), ("ruled tables", table_pdf, 100)):
        data = make(pages)
        bare, _ = best([sys.executable, "-I", "-c", BARE], data)
        own, _ = best(converter("a.pdf"), data)
        # Starting Python and the library costs both the same; what a page costs is the difference.
        bare_rate, own_rate = pages / max(1e-3, bare - bare_start), pages / max(1e-3, own - own_start)
        share = own_rate / bare_rate
        limit = f"at least 0.33: {verdict(share >= 1 / 3)}" if make is plain_pdf else "no limit"
        say(
            f"  PDF, {title:<13} {own_rate:>7.0f} pages/s, bare get_text {bare_rate:>7.0f}: share {share:.2f} ({limit});"
            f" whole run {own:.2f} s against {bare:.2f} s"
        )
    seconds, memory = best(converter("a.pdf"), plain_pdf(1000), 1)
    say(f"  PDF of 1,000 pages   {seconds:.1f} s, peak {memory:.0f} MB (below 600: {verdict(memory < 600)})")
    seconds, memory = best(converter("a.xlsx"), spreadsheet(100_000), 1)
    say(f"  100,000 sheet rows   {seconds:.1f} s (below 20: {verdict(seconds < 20)}), peak {memory:.0f} MB")
    for name, data in (
        ("a.txt", b"One line.\n"),
        ("a.md", b"# Title\n\nOne line.\n"),
        ("a.csv", b"a,b\n1,2\n"),
    ):
        starts = [run(converter(name), data)[0] * 1000 for _ in range(9)]
        middle = statistics.median(starts)
        say(f"  child for {name:<10} {middle:.0f} ms median of 9 (below 300: {verdict(middle < 300)})")
