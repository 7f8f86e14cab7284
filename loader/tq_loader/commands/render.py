"""Answers, documents and trees as text for a terminal of 80 to 120 columns, and as plain text in a pipe."""

from __future__ import annotations

import json
import shutil
import sys
import textwrap
from collections.abc import Iterable
from datetime import datetime
from typing import TYPE_CHECKING, Any
from uuid import UUID

import click

from tq_loader.commands import visible

if TYPE_CHECKING:
    from tq_loader.doctor import Finding

Row = dict[str, Any]

STYLES: dict[str, dict[str, Any]] = {
    "settled": {"fg": "green", "bold": True},
    "supported": {"fg": "green"},
    "disputed": {"fg": "yellow", "bold": True},
    "partial": {"fg": "yellow"},
    "unsettled": {"fg": "cyan", "bold": True},
    "failed": {"fg": "red", "bold": True},
}


def width() -> int:
    """Columns to use: the terminal's, within 80 to 120; 100 in a pipe."""
    if not sys.stdout.isatty():
        return 100
    return min(120, max(80, shutil.get_terminal_size((100, 24)).columns))


# Lines of a part that are shown: a method of thirty steps stands in full in --json and in tq.explain.
MAX_LINES = 9


def labelled(label: str, text: str, style: dict[str, Any] | None = None) -> None:
    """A labelled paragraph, wrapped, its further lines under its first word; cut where it is very long."""
    start = f"  {label:<9}"
    lines: list[str] = []
    for part in visible.lines(text).split("\n") or [""]:
        lines += textwrap.wrap(part, width() - len(start), break_long_words=False) or [""]
    if len(lines) > MAX_LINES:
        lines[MAX_LINES - 1 :] = [f"… ({len(lines) - MAX_LINES + 1} more lines; --json shows them)"]
    for i, line in enumerate(lines):
        head = click.style(start, dim=True) if i == 0 else " " * len(start)
        click.echo(head + (click.style(line, **style) if style else line))


def answers(rows: Iterable[Row]) -> None:
    """Answer blocks: rank and certainty, then what, why, how, each quote with its place.

    What was left out is the same for all answers of a question as a rule: it is then said once, at the end.
    """
    rows = list(rows)
    missing = {row["missing"] for row in rows}
    once = missing.pop() if len(rows) > 1 and len(missing) == 1 else None
    for i, row in enumerate(rows):
        if i:
            click.echo()
        answer(row, without=once)
    if once:
        click.echo()
        labelled("missing", once)
    held = max((row["held_back"] or 0 for row in rows), default=0)
    if held:
        click.echo(f"\n  {held} more ranked {'answer' if held == 1 else 'answers'} held back.")
    if rows and rows[0]["detail"]:
        click.echo(f"\n  {answered_by(rows[0]['detail'])}")


def answered_by(detail: Row) -> str:
    """Which model answered, by which strategy, and what that took."""
    model, strategy = visible.line(detail.get("model")), visible.line(detail.get("strategy"))
    parts = [f"Answered by the model {model}, strategy {strategy}"]
    cost = detail.get("cost") or {}
    if cost.get("calls"):
        parts.append("1 call" if cost["calls"] == 1 else f"{cost['calls']} calls")
    if cost.get("money"):
        parts.append(f"{cost['money']:.4f} in the currency of its prices")
    if detail.get("elapsed_ms") is not None:
        parts.append(f"{detail['elapsed_ms'] / 1000:.2f} s")
    return ", ".join(parts) + "."


def answer(row: Row, without: str | None = None) -> None:
    """One answer. The row that says that nothing settles the question has a missing part instead of a what."""
    certainty = row["certainty"]
    style = STYLES.get(certainty, {})
    head = f"{row['rank']}. " + click.style(certainty, **style)
    if row["what"] is None:
        click.echo(f"{head} · nothing found settles the question")
    else:
        score = f" · score {row['score']:.2f}" if row["score"] is not None else ""
        click.echo(f"{head} · {row['method']}{score}")
        labelled("what", row["what"], {"bold": True})
    if row["disagreement"]:
        labelled("!", "the sources disagree: another answer contradicts this one", STYLES["disputed"])
    labelled("why", row["why"])
    # The method names what was left out as well; it is shown once, under its own label.
    missing = row["missing"]
    labelled("how", row["how"].partition(" Left out: ")[0] if missing else row["how"])
    for citation in row["citations"] or []:
        quote(citation)
    if missing and missing != without:
        labelled("missing", missing)
    if row["doubt"]:
        labelled("doubt", row["doubt"])
    if row["specialist"]:
        labelled("decide", "a specialist has to decide this")


def quote(citation: Row) -> None:
    """A citation: where it stands, then its words as they stand there."""
    click.echo(click.style("  quote    ", dim=True) + click.style(place(citation), fg="blue"))
    for line in visible.lines(citation["quote"]).split("\n"):
        for part in textwrap.wrap(line, width() - 6, break_long_words=False) or [""]:
            click.echo("    " + click.style("| ", dim=True) + part)


def place(citation: Row) -> str:
    """document:lines, with the place that the file itself knows and the kind of source where they say more."""
    start, end = citation["line_start"], citation["line_end"]
    lines = f"{start}" if start == end else f"{start}-{end}"
    text = f"{visible.line(citation['document'])}:{lines}"
    known = ", ".join(visible.line(part) for part in in_file(citation))
    return (
        text
        + (f" ({known})" if known else "")
        + (" from a summary" if citation.get("source") == "bullet" else "")
    )


def in_file(citation: Row) -> list[str]:
    """Where a citation begins in its file: page, sheet and row, second and speaker."""
    there: Row = citation.get("locator") or {}
    found = []
    if citation.get("page"):
        found.append(f"page {citation['page']}")
    if "sheet" in there:
        found.append(f"sheet {there['sheet']}")
    if "row" in there:
        found.append(f"row {there['row']}")
    if "start" in there:
        minutes, seconds = divmod(int(there["start"]), 60)
        found.append(f"{minutes // 60}:{minutes % 60:02d}:{seconds:02d}")
    if "speaker" in there:
        found.append(str(there["speaker"]))
    return found


def table(header: tuple[str, ...], rows: list[tuple[Any, ...]]) -> None:
    """A table with as much room as its cells need; cut at the right edge only on a terminal."""
    cells = [tuple("" if cell is None else visible.line(cell) for cell in row) for row in rows]
    widths = [max(len(row[i]) for row in [header, *cells]) for i in range(len(header))]
    for n, row in enumerate([header, *cells]):
        line = "  ".join(cell.ljust(size) for cell, size in zip(row, widths, strict=True)).rstrip()
        click.echo(click.style(line, dim=True) if n == 0 else line)


def findings(found: Iterable[Finding]) -> None:
    """What was looked at and seen, a line each, and how to mend what is wrong."""
    found = list(found)
    size = max((len(finding.check) for finding in found), default=0)
    for finding in found:
        colour = {"ok": "green", "warn": "yellow", "fail": "red"}[finding.result]
        head = click.style(f"{finding.result:<5}", fg=colour)
        click.echo(f"{head} {visible.line(finding.check):<{size}}  {visible.line(finding.seen)}")
        if finding.mend:
            click.echo(f"{'':5} {'':{size}}  → {visible.line(finding.mend)}")


def short(value: Any, limit: int = 60) -> str:
    """A value in a cell of a table: as JSON says it, cut where it is long."""
    text = "" if value is None else value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= limit else text[: limit - 1] + "…"


def as_json(value: Any) -> None:
    """A value as JSON on standard output."""
    # What an encoding other than UTF-8 cannot say, JSON can: by its numbers.
    narrow = "utf" not in (sys.stdout.encoding or "").lower()
    click.echo(json.dumps(value, ensure_ascii=narrow, indent=2, default=_plain))


def _plain(value: Any) -> str:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, UUID):
        return str(value)
    return str(value)
