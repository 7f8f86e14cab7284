"""Pages as lines: what repeats at their edges is furniture, larger type a heading, a table goes on over pages."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from tq_loader.convert.grid import Table
from tq_loader.convert.layout import Row
from tq_loader.convert.page import Page, folded
from tq_loader.convert.protocol import Writer
from tq_loader.convert.running import running
from tq_loader.convert.table import Cell, Cells, TableWriter, typed

SAMPLE_PAGES: Final = 24  # looked at first, for the body's font size
AHEAD: Final = 4  # pages known before and after the one written, to see what repeats
MAX_HEADING_ROWS: Final = 4
MAX_TITLE_ROWS: Final = 3  # of a title in the outline
MAX_NUMBER: Final = 8  # characters of the number before one

_TWO_LETTERS = re.compile(r"[^\W\d_].*?[^\W\d_]")


class PageReader:
    """Reads pages by ``read(index)``, each once, the sampled ones first; ``tell`` is told how many of all are read."""

    def __init__(self, count: int, read: Callable[[int], Page], tell: Callable[[int, int], None]) -> None:
        self.count = count
        self._read_page = read
        self._tell = tell
        self._done = 0
        self._kept: dict[int, Page] = {}

    def sample(self) -> list[Page]:
        """Pages spread over the document, kept until they are written."""
        step = max(1, self.count // SAMPLE_PAGES)
        for i in range(0, self.count, step):
            if len(self._kept) < SAMPLE_PAGES:
                self._kept[i] = self._read(i)
        return list(self._kept.values())

    def pages(self) -> Iterator[Page]:
        for i in range(self.count):
            yield self._kept.pop(i) if i in self._kept else self._read(i)

    def _read(self, index: int) -> Page:
        page = self._read_page(index)
        self._done += 1
        self._tell(self._done, self.count)
        return page


@dataclass(slots=True, frozen=True)
class Styles:
    """Font sizes of the document: the body's, and larger ones from the largest down, in points."""

    body: float
    larger: tuple[float, ...]
    body_bold: bool
    outlined: dict[tuple[float, bool], int] = field(
        default_factory=dict
    )  # levels of (size, bold) by the outline

    @classmethod
    def of(cls, pages: list[Page]) -> Styles:
        sizes: Counter[float] = Counter()
        bold = 0
        for page in pages:
            for i, (row, text) in enumerate(zip(page.rows, page.texts, strict=True)):
                if i in page.side or i in page.inset:
                    continue
                sizes[row.size] += len(text)
                bold += len(text) if row.bold else 0
        total = sum(sizes.values())
        if not total:
            return cls(10.0, (), False)
        body = sizes.most_common(1)[0][0]
        # Scans differ a little in size from word to word: what is within a tenth of another counts as that
        # one.
        larger: list[float] = []
        for size in sorted((s for s in sizes if s > body * 1.12), reverse=True):
            if not larger or size < larger[-1] * 0.93:
                larger.append(size)
        votes: dict[tuple[float, bool], Counter[int]] = {}
        for page in pages:
            for i, level in outlined(page).items():
                votes.setdefault((page.rows[i].size, page.rows[i].bold), Counter())[level] += 1
        levels = {style: count.most_common(1)[0][0] for style, count in votes.items()}
        return cls(body, tuple(larger), bold > 0.4 * total, levels)

    def level(self, row: Row, text: str, cells: int) -> int | None:
        """The heading level of a row, 1 to 6, or None for what is no heading."""
        size = row.size
        if size <= self.body * 1.12 and (self.body_bold or not row.bold):
            return None
        if cells > 2 or len(text) > 160 or not _TWO_LETTERS.search(text):
            return None
        ends = text.rstrip().endswith((",", ";", "."))
        if not ends and (size, row.bold) in self.outlined:
            return self.outlined[size, row.bold]
        if size > self.body * 1.12 and not (ends and size < self.body * 1.3 and not row.bold):
            return min(6, 1 + sum(size < larger * 0.93 for larger in self.larger))
        if row.bold and size >= self.body * 0.9 and len(text) <= 100:
            if cells > 1 or ends or text[:1].islower():
                return None
            return min(6, 1 + len(self.larger))
        return None


def write_pages(pages: PageReader, out: Writer) -> list[str]:
    """Write page after page, a few pages behind the reading, so that what repeats around a page is known.

    Returns the first notes of what was not read.
    """
    styles = Styles.of(pages.sample())
    tables = PagedTables(out)
    notes: list[str] = []
    window: list[Page] = []
    at = 0
    for page in pages.pages():
        window.append(page)
        if len(notes) < 4:
            notes += [f"page {page.number:,}: {detail}" for _, detail in page.notes]
        if len(window) > at + AHEAD:
            write_page(window[at], window, pages.count, styles, tables, out)
            at += 1
            if at > AHEAD:
                window.pop(0)
                at -= 1
    for page in window[at:]:
        write_page(page, window, pages.count, styles, tables, out)
    tables.end()
    return notes


def outlined(page: Page) -> dict[int, int]:
    """Row number to level, for rows that are a title of the file's own outline; one may go over several rows."""
    found: dict[int, int] = {}
    texts = [folded(text) for text in page.texts] if page.outline else []
    for title, level in page.outline:
        for first in range(len(texts)):
            rows = _rows_of_title(texts, first, title)
            if rows and not any(i in found or i in page.tables for i in rows):
                found |= dict.fromkeys(rows, level)
                break
    return found


def _rows_of_title(texts: list[str], first: int, title: str) -> range | None:
    """The rows from ``first`` on that together are a title. The outline often leaves out the number before it."""
    together = ""
    for i in range(first, min(first + MAX_TITLE_ROWS, len(texts))):
        together += texts[i]
        if len(together) > len(title) + MAX_NUMBER:
            return None
        if together.endswith(title) and (together == title or together[: -len(title)].isdecimal()):
            return range(first, i + 1)
    return None


def heading_levels(page: Page, styles: Styles) -> list[int | None]:
    """The level of each row; a long run of one level is a paragraph in larger type, and no heading."""
    known = outlined(page)
    levels = [
        None
        if i in page.side or i in page.inset or i in page.tables
        else known.get(i) or styles.level(row, page.texts[i], page.cells[i])
        for i, row in enumerate(page.rows)
    ]
    start = 0
    for i in range(1, len(levels) + 1):
        if i == len(levels) or levels[i] != levels[start]:
            if levels[start] is not None and i - start > MAX_HEADING_ROWS:
                levels[start:i] = [None] * (i - start)
            start = i
    return levels


def write_page(
    page: Page, window: list[Page], count: int, styles: Styles, tables: PagedTables, out: Writer
) -> None:
    # A page that is there twice has no head that repeats.
    others = {
        other.number: other.edges for other in window if other is not page and other.texts != page.texts
    }
    repeated = running(page.number, page.edges, others, styles.body, count)
    levels = heading_levels(page, styles)
    first = out.lines + 1 + tables.waiting
    for i, (row, text) in enumerate(zip(page.rows, page.texts, strict=True)):
        locator: dict[str, Any] = {"bbox": [round(v, 1) for v in row.source()]}
        if i in page.printed:
            locator["printed_line"] = page.printed[i]
        if i in page.confidence:
            locator["confidence"] = page.confidence[i]
        if i in page.tables:
            tables.row(page.number, *page.tables[i], locator)
            continue
        kind, level = "text", levels[i]
        if row.hidden or i in repeated:
            kind, level = "furniture", None
            tables.pause()
        else:
            kind = "text" if level is None else "heading"
            tables.end()
        out.line(text, page=page.number, kind=kind, level=level, locator=locator)
    last = out.lines + tables.waiting
    if page.notes:
        tables.pause()
    for name, detail in page.notes:
        whole = name in ("page_without_text", "unreadable_page") or last < first
        out.omission(
            name,
            f"page {page.number:,}: {detail}",
            line_start=None if whole else first,
            line_end=None if whole else last,
            page=page.number,
        )


class PagedTables:
    """Writes tables one after another. One whose columns the next page goes on with, is one table over the pages."""

    def __init__(self, out: Writer) -> None:
        self._out = out
        self._count = 0
        self._writer: TableWriter | None = None
        self._table: Table | None = None
        self._page = 0
        self._rows = 0
        self._columns: list[int] = []  # of the first page's table, for each column of the one at hand

    @property
    def waiting(self) -> int:
        """Rows that were given and are not yet lines."""
        return 0 if self._writer is None else self._writer.waiting

    def row(self, page: int, table: Table, n: int, place: dict[str, Any]) -> None:
        """Row ``n`` of a table. ``place``: what its locator says besides the table, the row and the cells."""
        if table is not self._table:
            columns = self._continued(page, table)
            if columns is None:
                self.end()
                self._count += 1
                self._rows = 0
                columns = list(range(len(table.columns)))
                self._writer = TableWriter(
                    self._out,
                    {"table": self._count},
                    header_rows=table.header,
                    caption_level=None,
                    repeated="furniture",
                )
            self._table, self._page, self._columns = table, page, columns
        assert self._writer is not None
        self._rows += 1
        cells: Cells = {}
        for cell in table.rows[n]:
            text = cell.text
            if text:
                bold = all(part.bold for part in cell.parts)
                shown = f"{cell.under} {text}" if cell.under else text
                cells[self._columns[cell.column]] = Cell(shown, typed(text), cell.span, bold, cell.carried)
        self._writer.row(self._rows, cells, page=page, place=place)

    def _continued(self, page: int, table: Table) -> list[int] | None:
        """For each column that of the table on the page before, if this one goes on with it."""
        last = self._table
        if last is None or page != self._page + 1:
            return None
        columns: list[int] = []
        for left, right in table.columns:
            over = [self._columns[i] for i, (x0, x1) in enumerate(last.columns) if x0 < right and left < x1]
            if len(over) != 1:
                return None
            columns += over
        return columns if len(set(columns)) == len(columns) else None

    def pause(self) -> None:
        """Something of the page's own stands between: what waits is written first."""
        if self._writer is not None:
            self._writer.settle()

    def end(self) -> None:
        """Other text begins."""
        if self._writer is not None:
            self._writer.close()
        self._writer = self._table = None
