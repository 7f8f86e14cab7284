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
from pathlib import Path
from typing import Any

import pymupdf as untyped

from tq.ingest import child
from tq_loader.convert import ocr

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


def run(command: Sequence[str], data: bytes) -> tuple[float, float, float]:
    """Seconds, CPU seconds and peak memory (resident, in MB) of one child."""
    with tempfile.TemporaryFile() as source, tempfile.TemporaryFile() as errors:
        source.write(data)
        source.seek(0)
        started = time.perf_counter()
        process = subprocess.Popen(
            command, stdin=source, stdout=subprocess.DEVNULL, stderr=errors, env={}, cwd="/"
        )
        peak = 0.0
        while True:
            peak = max(peak, high_water_mb(process.pid))
            done, status, usage = os.wait4(process.pid, os.WNOHANG)
            if done:
                break
            time.sleep(0.002)
        seconds = time.perf_counter() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            errors.seek(0)
            raise RuntimeError(errors.read().decode("utf-8", "replace")[-500:])
    return seconds, usage.ru_utime + usage.ru_stime, peak


def high_water_mb(pid: int) -> float:
    """The most resident memory of a process so far; ru_maxrss would count the parent's own before exec."""
    try:
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    except OSError:
        pass
    return 0.0


def cpu(command: Sequence[str], data: bytes, times: int = 3) -> float:
    """CPU seconds of the cheapest of some runs: what else the machine does at the time hardly changes them."""
    return min(run(command, data)[1] for _ in range(times))


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


def scanned_pdf(pages: int) -> bytes:
    """Pages that are small pictures of three lines each."""
    document: Any = pymupdf.open()
    for number in range(pages):
        drawn: Any = pymupdf.open()
        page = drawn.new_page(width=300, height=100)
        for line in range(3):
            page.insert_text((15, 25 + 25 * line), f"page {number} line {line}: {WORDS[:32]}", fontsize=10)
        document.new_page(width=300, height=100).insert_image(
            pymupdf.Rect(0, 0, 300, 100),
            stream=page.get_pixmap(dpi=120, colorspace=pymupdf.csGRAY).tobytes("png"),
        )
    return bytes(document.tobytes())


def scan(pages: int, seconds: int = 30, page_seconds: int = 10) -> None:
    """A long scan, as the worker reads it: with time for its start, and more for each page that was read."""
    data = scanned_pdf(pages)
    lines, told, peak = 0, 0, 0.0

    def pulse() -> None:
        nonlocal peak
        process = conversion._process
        if process is not None:
            peak = max(peak, high_water_mb(process.pid))

    command = [*converter("scan.pdf")[:-1], f"--cpu-seconds={seconds}", f"--page-seconds={page_seconds}"]
    conversion = child.Conversion(
        command, child.Limits(1024, seconds, page_seconds), lambda at, size: data[at : at + size], pulse
    )
    started = time.perf_counter()
    with conversion:
        for message in conversion.messages():
            if isinstance(message, child.LinesMessage):
                lines += len(message.rows)
            elif isinstance(message, child.PagesMessage):
                told += 1
    spent = time.perf_counter() - started
    say(
        f"  scan of {pages} pages   {spent:.0f} s, {spent / pages:.2f} s a page; {seconds} s were given, and {page_seconds} s "
        f"more a page read; {lines} of {3 * pages} lines, progress told {told} times, peak {peak:.0f} MB "
        f"(below 300: {verdict(peak < 300)})"
    )


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
    say(
        "CONVERT, a child process each; pages by CPU time, the best of three runs, less what a PDF of one page takes"
    )
    bare = [sys.executable, "-I", "-c", BARE]
    empty = plain_pdf(1)
    bare_start, own_start = cpu(bare, empty), cpu(converter("a.pdf"), empty)
    for title, make, pages in (("plain pages", plain_pdf, 800), ("ruled tables", table_pdf, 400)):
        data = make(pages)
        bare_rate = pages / max(1e-3, cpu(bare, data) - bare_start)
        own_rate = pages / max(1e-3, cpu(converter("a.pdf"), data) - own_start)
        share = own_rate / bare_rate
        limit = f"at least 0.33: {verdict(share >= 1 / 3)}" if make is plain_pdf else "no limit"
        say(
            f"  PDF, {title:<13} {own_rate:>6.0f} pages/s, bare get_text {bare_rate:>6.0f}: share {share:.2f} ({limit})"
        )
    seconds, _, memory = run(converter("a.pdf"), plain_pdf(1000))
    say(f"  PDF of 1,000 pages  {seconds:.1f} s, peak {memory:.0f} MB (below 600: {verdict(memory < 600)})")
    if ocr.missing() is None:
        scan(200)
    else:
        say(f"  scans left out: {ocr.missing()}")
    seconds, _, memory = run(converter("a.xlsx"), spreadsheet(100_000))
    say(f"  100,000 sheet rows  {seconds:.1f} s (below 20: {verdict(seconds < 20)}), peak {memory:.0f} MB")
    for name, data in (
        ("a.txt", b"One line.\n"),
        ("a.md", b"# Title\n\nOne line.\n"),
        ("a.csv", b"a,b\n1,2\n"),
    ):
        starts = [run(converter(name), data)[0] * 1000 for _ in range(9)]
        middle = statistics.median(starts)
        say(f"  child for {name:<10} {middle:.0f} ms median of 9 (below 300: {verdict(middle < 300)})")
