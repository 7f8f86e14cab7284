"""A page as it was read: its rows in reading order, those of tables with their cells."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from statistics import median
from typing import Final

from tq_loader.convert import ocr
from tq_loader.convert.align import aligned
from tq_loader.convert.grid import MAX_DRAWN, THIN, Drawn, Table, ruled, rules
from tq_loader.convert.layout import CELL_SEPARATOR, Box, Fragment, Row, centred_in, reading_order, union
from tq_loader.convert.running import Edges

MAX_BARS: Final = 60
_BLOCK: Final = "#" * 60  # a table among the text counts as a long line


@dataclass(slots=True)
class Page:
    """One page, read. ``height`` in points as a person sees it; ``notes``: omissions as (kind, detail)."""

    number: int
    height: float
    rows: list[Row] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    cells: list[int] = field(default_factory=list)
    tables: dict[int, tuple[Table, int]] = field(
        default_factory=dict
    )  # rows that are a table's, and which of its
    side: set[int] = field(default_factory=set)  # rows that run in another direction than the page's text
    inset: set[int] = field(
        default_factory=set
    )  # rows read from a picture among text: their size tells nothing
    printed: dict[int, str] = field(default_factory=dict)  # line numbers printed in the margin
    unlined: list[str] = field(default_factory=list)  # such numbers beside nothing
    notes: list[tuple[str, str]] = field(default_factory=list)
    confidence: dict[int, float] = field(
        default_factory=dict
    )  # of rows that were read from a picture, 0 to 100
    outline: list[tuple[str, int]] = field(
        default_factory=list
    )  # folded titles that the file's outline has here
    edges: Edges = field(default_factory=dict)  # rows that could be running heads or feet

    def add(self, row: Row, texts: list[str]) -> int | None:
        """Take a row; its number, or None where it has no text."""
        texts = [text for text in texts if text]
        if not texts:
            return None
        self.rows.append(row)
        self.texts.append(CELL_SEPARATOR.join(texts))
        self.cells.append(len(texts))
        return len(self.rows) - 1

    def add_table(self, table: Table) -> list[int]:
        """Take a table's rows; their numbers."""
        taken: list[int] = []
        for n, cells in enumerate(table.rows):
            own = [cell for cell in cells if not cell.carried]
            parts = [part for cell in own for part in cell.parts]
            at = self.add(Row(parts, union([part.box for part in parts])), [cell.text for cell in own])
            if at is not None:
                self.tables[at] = table, n
                taken.append(at)
        return taken

    def clear(self) -> None:
        """Forget all text."""
        for each in (
            self.rows,
            self.texts,
            self.cells,
            self.tables,
            self.side,
            self.printed,
            self.confidence,
        ):
            each.clear()


Places = list[tuple[Box, Box]]  # of each word: where it stands for reading, and in the file


def words_of(fragment: Fragment, places: Callable[[Fragment], Places | None] | None = None) -> list[Fragment]:
    """The words of a fragment, each with its place. ``places`` knows these of what was not joined from others; where it
    does not, the place is told by the share of the letters.
    """
    if fragment.run:
        return [word for part in fragment.run for word in words_of(part, places)]
    texts = fragment.text.split()
    if len(texts) < 2:
        return [fragment]
    known = (places(fragment) if places is not None else None) or _by_share(fragment, texts)
    # Words keep the space after them: letters may be set so close that its width does not show.
    spaces = [" "] * (len(texts) - 1) + [" " if fragment.text[-1].isspace() else ""]
    return [
        Fragment(text + space, box, source, fragment.size, fragment.bold, fragment.hidden)
        for text, space, (box, source) in zip(texts, spaces, known, strict=True)
    ]


def _by_share(fragment: Fragment, texts: list[str]) -> Places:
    x0, y0, x1, y1 = fragment.box
    step = (x1 - x0) / len(fragment.text)
    found: Places = []
    at = 0
    for text in texts:
        start = fragment.text.index(text, at)
        at = start + len(text)
        found.append(((x0 + start * step, y0, x0 + at * step, y1), fragment.source))
    return found


@dataclass(slots=True)
class Surroundings:
    """What is around text of one direction: what is drawn there, pictures, where its words are; and the strategy."""

    drawn: list[Drawn]
    pictures: list[Box]
    words: Callable[[Fragment], list[Fragment]]
    strategy: str

    @property
    def ruled(self) -> bool:
        return bool(self.drawn) and self.strategy in ("auto", "lines", "lines_strict")

    @property
    def aligned(self) -> bool:
        return self.strategy in ("auto", "text")


Item = Table | tuple[Row, str | None]  # a row with the number that is printed in the margin beside it


def arrange(
    page: Page,
    fragments: list[Fragment],
    around: Surroundings,
    hints: list[float] | None = None,
    numbered: Callable[[list[Row]], dict[int, str]] | None = None,
) -> None:
    """Add fragments of one direction to a page: tables as tables, the rest in reading order around them.

    ``hints`` as in :func:`reading_order`; ``numbered`` finds line numbers printed in the margin.
    """
    tables: list[Table] = []
    rest = fragments
    if around.ruled:
        tables, rest = ruled(fragments, around.drawn, around.strategy != "lines", around.words)
    items = _ordered(rest, tables, around, hints, numbered)
    if around.ruled and around.aligned and not any(isinstance(item, Table) for item in items):
        # Nothing framed and nothing aligned: coloured cells may be all that makes the table.
        tables, rest = ruled(fragments, around.drawn, False, around.words)
        if tables:
            items = _ordered(rest, tables, around, hints, numbered)
    for item in items:
        if isinstance(item, Table):
            page.add_table(item)
        else:
            row, printed = item
            at = page.add(row, row.cells()) if row.parts else None
            if printed is None:
                continue
            if at is None:
                page.unlined.append(printed)
            else:
                page.printed[at] = printed


def _ordered(
    fragments: list[Fragment],
    tables: list[Table],
    around: Surroundings,
    hints: list[float] | None,
    numbered: Callable[[list[Row]], dict[int, str]] | None,
) -> list[Item]:
    # A table takes its place among the text as one block; what parts bands of columns does so, and goes again.
    blocks = [Fragment(_BLOCK, t.box, t.box, median(f.size for f in t.fragments), block=True) for t in tables]
    homes = {id(block): table for block, table in zip(blocks, tables, strict=True)}
    bars = [Fragment(_BLOCK, box, box, fragments[0].size, block=True) for box in _bars(fragments, around)]
    rows = reading_order([*fragments, *blocks, *bars], hints)
    rows = [row for row in rows if not row.block or id(row.parts[0]) in homes]
    printed = numbered(rows) if numbered is not None else {}
    for at in printed:
        rows[at].parts = rows[at].parts[1:]
    looks = around.aligned and not printed
    across = rules(around.drawn, strict=False)[0] if looks and around.drawn else []
    items: list[Item] = []
    at = 0
    while at < len(rows):
        past = at
        while past < len(rows) and not rows[past].block:
            past += 1
        found = aligned(rows[at:past], across, around.words) if looks else []
        begin = at
        for first, after, table in found:
            items += [(rows[i], printed.get(i)) for i in range(begin, at + first)]
            items.append(table)
            begin = at + after
        items += [(rows[i], printed.get(i)) for i in range(begin, past)]
        if past < len(rows):
            items.append(homes[id(rows[past].parts[0])])
        at = past + 1
    return items


def _bars(fragments: list[Fragment], around: Surroundings) -> list[Box]:
    """Pictures, empty frames and lines over half the page's text: columns end above them and begin anew below."""
    if not fragments or not (around.drawn or around.pictures) or len(around.drawn) > MAX_DRAWN:
        return []
    left, right = min(f.box[0] for f in fragments), max(f.box[2] for f in fragments)
    found: list[Box] = []
    for box in [*around.pictures, *(each.box for each in around.drawn)]:
        if min(box[2], right) - max(box[0], left) <= 0.6 * (right - left):
            continue
        thin = box[3] - box[1] <= THIN
        if thin or not any(centred_in(f.box, box) for f in fragments):
            found.append(box)
            if len(found) >= MAX_BARS:
                break
    return found


def picture_page(number: int, height: float, reading: ocr.Reading, strategy: str) -> Page:
    """A page as it was read from a picture, each row with its confidence."""
    page = Page(number, height)
    arrange(page, reading.fragments, Surroundings(reading.drawn, [], words_of, strategy))
    page.notes = [*weigh(page, reading.sure), *reading.notes]
    return page


def weigh(page: Page, sure: dict[int, float]) -> list[tuple[str, str]]:
    """Give the rows that were read from a picture their confidence; ``sure`` is that of each word. Returns the notes."""
    low = uncertain = 0
    for i, row in enumerate(page.rows if sure else ()):
        words = [word for part in row.parts for word in words_of(part) if id(word) in sure]
        letters = sum(len(word.text.strip()) for word in words)
        if not letters:
            continue
        confidence = sum(sure[id(word)] * len(word.text.strip()) for word in words) / letters
        page.confidence[i] = round(confidence, 1)
        if confidence < ocr.RUBBISH and i not in page.tables:
            row.parts = [replace(part, hidden=True) for part in row.parts]
            low += 1
        elif confidence < ocr.LOW:
            uncertain += 1
    return ocr.doubts(low, uncertain)


def folded(text: str) -> str:
    """The letters and digits of a title, for comparing."""
    return "".join(c for c in text.casefold() if c.isalnum())
