"""Reading order of a page: fragments of text with boxes become visual lines, column by column.

Pure geometry, in points, origin at the top left, text running to the right: a page or a stretch of text
that is turned is turned back before it comes here. Nothing is dropped: every fragment ends up in exactly
one row.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Final

Box = tuple[float, float, float, float]

# Distances in multiples of the font size ("em"), found on real pages: a word space is about 0.25, LaTeX's
# column gap 1.
WORD_GAP: Final = 0.12
CELL_GAP: Final = 1.5
JOIN_GAP: Final = 0.6
MIN_COLUMN_EM: Final = 8.0
CELL_SEPARATOR: Final = "  "

_WIDE = re.compile("[\u1100-\u11ff\u2e80-\ua4cf\uac00-\ud7af\uf900-\ufaff\uff00-\uffef]")


@dataclass(slots=True, frozen=True)
class Fragment:
    """A stretch of text on one baseline. ``box`` is where it stands for reading, ``source`` where it is in
    the file; ``run``: the fragments that it was joined from; ``block``: it stands for more than a line and shares a
    row with nothing.
    """

    text: str
    box: Box
    source: Box
    size: float
    bold: bool = False
    hidden: bool = False
    run: tuple[Fragment, ...] = ()
    block: bool = False


@dataclass(slots=True)
class Row:
    """One visual line: its fragments from left to right."""

    parts: list[Fragment] = field(default_factory=list)
    box: Box = (0.0, 0.0, 0.0, 0.0)

    @property
    def size(self) -> float:
        """Font size of most of its characters, in points."""
        if len(self.parts) == 1:
            return self.parts[0].size
        return max(self.parts, key=lambda part: len(part.text)).size

    @property
    def bold(self) -> bool:
        return all(part.bold for part in self.parts)

    @property
    def hidden(self) -> bool:
        return all(part.hidden for part in self.parts)

    def pieces(self) -> list[list[Fragment]]:
        """The fragments of the row, parted where the gap is too wide for a space between words."""
        pieces = [[self.parts[0]]]
        for last, part in itertools.pairwise(self.parts):
            if part.box[0] - last.box[2] > CELL_GAP * max(1.0, min(part.size, last.size)):
                pieces.append([part])
            else:
                pieces[-1].append(part)
        return pieces

    def cells(self) -> list[str]:
        """The texts of the pieces; those without any are left out."""
        if len(self.parts) == 1:
            text = self.parts[0].text.strip()
            return [text] if text else []
        return [cell for cell in (text_of(piece).strip() for piece in self.pieces()) if cell]

    @property
    def block(self) -> bool:
        return self.parts[0].block if self.parts else False

    def source(self) -> Box:
        if len(self.parts) == 1:
            return self.parts[0].source
        return union([part.source for part in self.parts])


def union(boxes: Sequence[Box]) -> Box:
    """The smallest box around all."""
    if len(boxes) == 1:
        return boxes[0]
    return (
        min(b[0] for b in boxes),
        min(b[1] for b in boxes),
        max(b[2] for b in boxes),
        max(b[3] for b in boxes),
    )


def centred_in(box: Box, outer: Box) -> bool:
    """Whether the middle of a box lies in another."""
    x, y = (box[0] + box[2]) / 2, (box[1] + box[3]) / 2
    return outer[0] <= x <= outer[2] and outer[1] <= y <= outer[3]


def reading_order(fragments: list[Fragment], hints: list[float] | None = None) -> list[Row]:
    """Rows in the order in which a person reads them.

    ``hints``: left edges of columns found on pages before; columns found here are added. They help where a
    last page has only a few lines in its last column.
    """
    fragments = [f for f in fragments if f.text.strip()]
    if not fragments:
        return []
    hints = hints if hints is not None else []
    em = median(f.size for f in fragments) or 10.0
    across = rows_of(fragments)
    for row in across:
        row.parts = _joined(row.parts, em)
    found = _columns([part for row in across for part in row.parts], em, hints)
    return across if found is None else _banded(found, em, hints, 0)


def _order(frags: list[Fragment], em: float, hints: list[float], depth: int) -> list[Row]:
    found = _columns(frags, em, hints) if depth < 12 else None
    return rows_of(frags) if found is None else _banded(found, em, hints, depth)


def _banded(found: Bands, em: float, hints: list[float], depth: int) -> list[Row]:
    rows: list[Row] = []
    for left, right in found:
        if right is None:
            # What stands between the stretches with columns: headings across the page, tables, a narrower
            # layout.
            rows += _order(left, em, hints, depth + 1)
        else:
            rows += _order(left, em, hints, depth + 1)
            rows += _order(right, em, hints, depth + 1)
    return rows


Bands = list[tuple[list[Fragment], list[Fragment] | None]]


def _columns(frags: list[Fragment], em: float, hints: list[float]) -> Bands | None:
    """The best vertical division of a region: bands from top to bottom, each whole or as (left, right); or
    None.
    """
    if len(frags) < 6:
        return None
    edge = min(f.box[0] for f in frags)
    best: tuple[int, float, Bands] | None = None
    for column in _candidates(frags, edge + MIN_COLUMN_EM * em, em, hints):
        score, bands = _divide(frags, column, em)
        if score and (best is None or score > best[0]):
            best = (score, column, bands)
    if best is None:
        return None
    if all(abs(best[1] - hint) > em for hint in hints) and len(hints) < 12:
        hints.append(best[1])
    return best[2]


def _candidates(frags: list[Fragment], after: float, em: float, hints: list[float]) -> list[float]:
    """Left edges that at least three fragments share, and those of pages before."""
    edges = sorted(f.box[0] for f in frags if f.box[0] > after)
    found: list[float] = [h for h in hints if h > after]
    start = 0
    for i in range(1, len(edges) + 1):
        if i == len(edges) or edges[i] - edges[start] > 0.3 * em:
            if i - start >= 3:
                found.append(edges[start])
            start = i
    return found[:40]


def _divide(frags: list[Fragment], column: float, em: float) -> tuple[int, Bands]:
    """(characters that stand in real columns, the bands), for a gutter just left of ``column``."""
    gutter = column - 0.6 * em
    bands: Bands = []
    left: list[Fragment] = []
    right: list[Fragment] = []
    whole: list[Fragment] = []
    score = 0

    def close() -> None:
        nonlocal left, right, whole, score
        if not left and not right:
            return
        if left and right and _prose(left, em) and _prose(right, em) and _real_gutter(left, right, em):
            if whole:
                bands.append((whole, None))
                whole = []
            bands.append((left, right))
            score += sum(len(f.text) for f in left) + sum(len(f.text) for f in right)
        else:
            whole += left + right
        left, right = [], []

    for f in sorted(frags, key=lambda f: (f.box[1] + f.box[3]) / 2):
        if f.box[0] >= gutter:
            right.append(f)
        elif f.box[2] <= column + 0.5 * em and (f.box[0] + f.box[2]) / 2 < gutter - em:
            left.append(f)
        else:
            close()
            whole.append(f)
    close()
    if whole:
        bands.append((whole, None))
    return score, bands


def _real_gutter(left: list[Fragment], right: list[Fragment], em: float) -> bool:
    """Columns stand side by side (a quote in the right half stands alone) and their sides do not touch."""
    top, bottom = max(f.box[1] for f in right), min(f.box[3] for f in right)
    if not any(f.box[1] <= top and f.box[3] >= bottom for f in left):
        return False
    enough = len(left) >= 3 or len(right) >= 3
    return enough and min(f.box[0] for f in right) - median(f.box[2] for f in left) > -0.5 * em


def _prose(side: list[Fragment], em: float) -> bool:
    """Running text rather than table cells: long fragments that fill the side's width."""
    chars = sum(len(f.text) + len(_WIDE.findall(f.text)) for f in side)
    if chars < 18 * len(side):
        return False
    width = max(f.box[2] for f in side) - min(f.box[0] for f in side)
    rows = rows_of(side)
    fill = median(sum(p.box[2] - p.box[0] for p in row.parts) for row in rows) / max(width, 1.0)
    if fill < 0.5:
        return False
    # Lines of running text follow one another closely; the rows of a loose table or a form do not.
    steps = [b.box[1] - a.box[1] for a, b in itertools.pairwise(rows)]
    return not steps or median(steps) < 2.2 * em


def _joined(parts: list[Fragment], em: float) -> list[Fragment]:
    """Fragments of one line that a change of font or a formula cut apart, joined: columns are judged by lines."""
    if len(parts) == 1:
        return parts
    out: list[Fragment] = []
    run: list[Fragment] = []
    for part in parts:
        if run and part.box[0] - run[-1].box[2] > JOIN_GAP * em:
            out.append(_merge(run))
            run = []
        run.append(part)
    out.append(_merge(run))
    return out


def text_of(run: Sequence[Fragment]) -> str:
    """The text of neighbours on one line, with a space where there is a gap."""
    text = run[0].text
    for last, part in itertools.pairwise(run):
        gap = part.box[0] - last.box[2]
        space = gap > WORD_GAP * max(1.0, min(part.size, last.size))
        text += (" " if space and not text[-1:].isspace() and not part.text[:1].isspace() else "") + part.text
    return text


def _merge(run: list[Fragment]) -> Fragment:
    if len(run) == 1:
        return run[0]
    main = max(run, key=lambda f: len(f.text))
    return Fragment(
        text_of(run),
        union([f.box for f in run]),
        union([f.source for f in run]),
        main.size,
        all(f.bold for f in run),
        all(f.hidden for f in run),
        tuple(run),
    )


def rows_of(frags: list[Fragment]) -> list[Row]:
    """Fragments that share a baseline band, as rows from top to bottom, each from left to right."""
    if len(frags) == 1:
        return [Row([frags[0]], frags[0].box)]
    rows: list[Row] = []
    blocks = any(f.block for f in frags)
    for f in sorted(frags, key=lambda f: ((f.box[1] + f.box[3]) / 2, f.box[0])):
        top, bottom = f.box[1], f.box[3]
        height = max(bottom - top, 0.1)
        for row in rows[:-4:-1]:
            if blocks and (f.block or row.block):
                continue
            other = max(row.box[3] - row.box[1], 0.1)
            overlap = min(bottom, row.box[3]) - max(top, row.box[1])
            # A drop cap is as high as several lines: it shares a row only with what is about its height.
            if overlap > 0.55 * min(height, other) and max(height, other) < 2.2 * min(height, other):
                row.parts.append(f)
                if height > other:
                    row.box = (row.box[0], top, row.box[2], bottom)
                break
        else:
            rows.append(Row([f], f.box))
    for row in rows:
        row.parts.sort(key=lambda f: f.box[0])
        row.box = union([f.box for f in row.parts])
    return rows
