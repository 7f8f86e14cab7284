"""The demo's documents as bytes: the policy is set as a PDF of several pages, the same bytes every time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Final

# A4 in points.
WIDTH: Final = 595
HEIGHT: Final = 842
LEFT: Final = 72
RIGHT: Final = WIDTH - 72
TOP: Final = 96
BOTTOM: Final = HEIGHT - 84
REGULAR: Final = "helv"
BOLD: Final = "hebo"
BODY: Final = 10.5
HEADER: Final = "Alder Lane Clinic · Patient Policy 2024"


@dataclass(slots=True, frozen=True)
class Document:
    """A document to load. ``weight``: how much its word counts; the signed policy outranks the handbook."""

    name: str
    content: bytes
    media_type: str
    questions: tuple[str, ...]
    weight: float
    effective_on: str


def documents() -> list[Document]:
    """Policy, handbook and log, with their lists of possible questions."""
    from tq_loader.demo.operations_log import operations_log

    return [
        Document(
            "demo/clinic-policy-2024.pdf",
            policy_pdf(_text("clinic-policy-2024.txt")),
            "application/pdf",
            _questions("clinic-policy-2024"),
            2.0,
            "2024-01-01",
        ),
        Document(
            "demo/front-desk-handbook.md",
            _text("front-desk-handbook.md").encode(),
            "text/markdown",
            _questions("front-desk-handbook"),
            1.0,
            "2022-06-03",
        ),
        Document(
            "demo/operations-log-2024.md",
            operations_log().encode(),
            "text/markdown",
            _questions("operations-log-2024"),
            1.0,
            "2024-12-31",
        ),
    ]


def _text(name: str) -> str:
    return (files("tq_loader.demo") / name).read_text(encoding="utf-8")


def _questions(stem: str) -> tuple[str, ...]:
    return tuple(line for line in _text(f"{stem}.questions.txt").splitlines() if line.strip())


@dataclass(slots=True, frozen=True)
class Piece:
    """One set line: text parts as (x, text), font, size, the space above it, and whether a rule follows."""

    parts: tuple[tuple[float, str], ...]
    font: str
    size: float
    above: float
    keep: bool = False  # not the last line of a page: what follows belongs to it
    rule: bool = False


def policy_pdf(source: str) -> bytes:
    """Set a text with headings (#, ##), paragraphs, and table rows (|) as a PDF with header and page numbers."""
    import pymupdf as untyped

    pymupdf: Any = untyped  # the library has no types
    pages = _broken(list(_pieces(source, pymupdf.get_text_length)))
    with pymupdf.open() as document:
        for number, pieces in enumerate(pages, start=1):
            page = document.new_page(width=WIDTH, height=HEIGHT)
            page.insert_text((LEFT, 56), HEADER, fontname=REGULAR, fontsize=8.5, color=(0.35, 0.35, 0.35))
            footer = f"Page {number} of {len(pages)}"
            x = RIGHT - pymupdf.get_text_length(footer, fontname=REGULAR, fontsize=8.5)
            page.insert_text(
                (x, HEIGHT - 48), footer, fontname=REGULAR, fontsize=8.5, color=(0.35, 0.35, 0.35)
            )
            y = float(TOP)
            for i, piece in enumerate(pieces):
                y += piece.size * 1.3 + (piece.above if i else 0)
                for x, text in piece.parts:
                    page.insert_text((x, y), text, fontname=piece.font, fontsize=piece.size)
                if piece.rule:
                    page.draw_line((LEFT, y + 4), (RIGHT, y + 4), width=0.4)
        document.set_metadata({"title": source.splitlines()[0].lstrip("# "), "author": "Alder Lane Clinic"})
        return bytes(document.tobytes(garbage=3, deflate=True, no_new_id=True))


def _pieces(source: str, measure: Any) -> Iterator[Piece]:
    first = True
    row = 0
    for block in source.splitlines():
        if not block.startswith("|"):
            row = 0
        if not block.strip():
            continue
        if first:
            for i, line in enumerate(_wrapped(block[2:], BOLD, 20, measure)):
                yield Piece(((LEFT, line),), BOLD, 20, 4 if i else 0, keep=True)
            first = False
        elif block.startswith("## "):
            yield Piece(((LEFT, block[3:]),), BOLD, 11.5, 8, keep=True)
        elif block.startswith("# "):
            yield Piece(((LEFT, block[2:]),), BOLD, 15, 18, keep=True)
        elif block.startswith("|"):
            cells = [cell.strip() for cell in block.strip("|").split("|")]
            places = tuple(zip((LEFT, LEFT + 250, LEFT + 330), cells, strict=True))
            yield Piece(places, REGULAR if row else BOLD, BODY, 5, keep=row == 0, rule=True)
            row += 1
        else:
            for i, line in enumerate(_wrapped(block, REGULAR, BODY, measure)):
                yield Piece(((LEFT, line),), REGULAR, BODY, 0 if i else 7)


def _wrapped(text: str, font: str, size: float, measure: Any) -> Iterator[str]:
    line = ""
    for word in text.split():
        longer = f"{line} {word}".strip()
        if line and measure(longer, fontname=font, fontsize=size) > RIGHT - LEFT:
            yield line
            longer = word
        line = longer
    yield line


def _broken(pieces: list[Piece]) -> list[list[Piece]]:
    """Pages; a heading never stands last on one."""
    pages: list[list[Piece]] = [[]]
    y = float(TOP)
    for i, piece in enumerate(pieces):
        needed = piece.size * 1.3 + piece.above
        following = pieces[i + 1] if piece.keep and i + 1 < len(pieces) else None
        ahead = 2 * (following.size * 1.3 + following.above) if following else 0
        if pages[-1] and y + needed + ahead > BOTTOM:
            pages.append([])
            y = float(TOP)
        pages[-1].append(piece)
        y += needed
    return pages
