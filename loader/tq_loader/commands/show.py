"""tq show: the pages that an answer cites, as PNG with the quoted words marked."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from uuid import UUID

import click

from tq_loader.commands import options

_CITATIONS = (
    "SELECT c.ordinal, d.name AS document, d.version, c.page, c.line_start, c.line_end, c.quote"
    " FROM tq.citation AS c JOIN tq.document AS d ON d.id = c.document_id WHERE c.answer_id = %s ORDER BY c.ordinal"
)


@click.command("show")
@click.argument("answer", type=click.UUID, metavar="ANSWER_ID")
@click.option("--citation", type=click.IntRange(min=1), help="Only this one, counted from 1.")
@click.option(
    "--out", type=click.Path(path_type=Path), metavar="FILE", help="Write there (- is standard output)."
)
@click.option("--dpi", type=click.IntRange(36, 400), default=144, show_default=True, help="Dots per inch.")
@options.url
@options.as_json
def command(
    answer: UUID, citation: int | None, out: Path | None, dpi: int, url: str | None, as_json: bool
) -> None:
    """Write the pages that an answer cites as PNG, the quoted words marked.

    Without --out the files are named after the answer and the number of the citation, in the working directory. With
    several citations --out names the first and the others get their number.
    """
    from tq_loader.commands import render
    from tq_loader.commands.client import connected
    from tq_loader.problem import Problem

    written: list[dict[str, object]] = []
    with connected(url) as connection:
        rows = connection.execute(_CITATIONS, [answer]).fetchall()
        if not rows:
            raise Problem(
                "show",
                f"no citation of an answer {answer} is there, or is yours to see",
                "take an answer_id of tq.ask; documents that were removed take their citations with them",
            )
        numbers = [citation] if citation else list(range(1, len(rows) + 1))
        if citation and citation > len(rows):
            raise Problem("show", f"the answer has {len(rows)} citations", f"give 1 to {len(rows)}")
        drawn = [number for number in numbers if rows[number - 1]["page"] is not None or citation]
        for number in numbers:
            row = rows[number - 1]
            place = f"{row['document']}:{row['line_start']}" + (
                f" (page {row['page']})" if row["page"] else ""
            )
            if number not in drawn:
                written.append({"citation": number, "place": place, "file": None, "quote": row["quote"]})
                continue
            found = connection.execute(
                "SELECT tq.page_image(citation => %s::jsonb, dpi => %s) AS png",
                [json.dumps({key: value for key, value in row.items() if key != "ordinal"}), dpi],
            ).fetchone()
            assert found is not None
            if str(out) == "-":
                sys.stdout.buffer.write(found["png"])
                return
            path = _path(out, answer, number, number == drawn[0])
            path.write_bytes(found["png"])
            written.append({"citation": number, "place": place, "file": str(path), "quote": row["quote"]})
    if as_json:
        render.as_json(written)
        return
    for entry in written:
        where = entry["file"] or "no page to draw: " + " ".join(str(entry["quote"]).split())[:200]
        click.echo(f"{entry['citation']}. {entry['place']}: {where}")


def _path(out: Path | None, answer: UUID, number: int, first: bool) -> Path:
    if out is None:
        return Path(f"tq-{str(answer)[:8]}-{number}.png")
    return out if first else out.with_name(f"{out.stem}-{number}{out.suffix or '.png'}")
