"""PDF: visual lines in reading order, each with its page and box, page by page.

PyMuPDF (AGPL or commercial licence) reads the pages; :mod:`tq_loader.convert.layout` puts their text in
order.
"""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import pymupdf as untyped

from tq_loader.convert import ocr
from tq_loader.convert.detect import Found
from tq_loader.convert.layout import CELL_SEPARATOR, Box, Fragment, Row, reading_order
from tq_loader.convert.protocol import (
    MALFORMED,
    PASSWORD,
    TOO_LARGE,
    UNSUPPORTED,
    ConvertError,
    Job,
    Writer,
    clean_title,
    count_of,
)

# The library has no types that a strict checker takes.
pymupdf: Any = untyped

MAX_PAGES: Final = 100_000
MAX_EMBEDDED: Final = 100_000_000  # bytes of an embedded file, unpacked
SAMPLE_PAGES: Final = 24  # looked at first, for the body's font size
AHEAD: Final = 4  # pages known before and after the one written, to see what repeats
# Ligatures are spelled out (a question has "fi", never U+FB01); glyphs without a Unicode value stay
# recognisable.
FLAGS: Final = pymupdf.TEXT_PRESERVE_WHITESPACE | pymupdf.TEXT_MEDIABOX_CLIP
# Says which letters are bold by being drawn twice; takes ten times as long, so only where there is a sign.
STYLES: Final = FLAGS | pymupdf.TEXT_COLLECT_STYLES

# Bits of a span: the font is bold; made bold by drawing twice; filled or stroked, that is, visible; not in
# the file.
FONT_BOLD: Final = 16
FAKE_BOLD: Final = 8
PAINTED: Final = 4 | 16
SYNTHETIC: Final = 512

_CONTROLS = re.compile(r"[\x00-\x08\x0a-\x1f\x7f-\x9f]")
_UNMAPPED = re.compile("[\ufffd\ue000-\uf8ff\U000f0000-\U0010fffd]")
_WORD = re.compile(r"[^\W\d_]{3}")
_TWO_LETTERS = re.compile(r"[^\W\d_].*?[^\W\d_]")
_DIGITS = re.compile(r"\d+")
_ROMAN = re.compile(r"^[ivxlc]+$", re.I)
_PAGE_NUMBER = re.compile(r"^[-–—\s]*(page\s+)?#(\s*(/|of|von|de|sur)\s*#)?[-–—\s.]*$", re.I)


@dataclass(slots=True)
class Page:
    """One page, read. ``height`` in points as a person sees it; ``notes``: omissions as (kind, detail)."""

    number: int
    height: float
    rows: list[Row]
    texts: list[str]
    cells: list[int]
    side: set[int] = field(default_factory=set)  # rows that run in another direction than the page's text
    printed: dict[int, str] = field(default_factory=dict)  # line numbers printed in the margin
    notes: list[tuple[str, str]] = field(default_factory=list)
    confidence: dict[int, float] = field(default_factory=dict)  # of rows that were read from a picture, 0 to 100
    keys: dict[int, tuple[str, float]] = field(default_factory=dict)  # rows in the margins: (pattern, height)


def convert(data: bytes | bytearray, job: Job, found: Found, out: Writer) -> None:
    """Write the lines of a PDF. Raises TQ011, TQ012 or TQ013 where it cannot be read at all."""
    pymupdf.TOOLS.mupdf_display_errors(False)
    pymupdf.TOOLS.mupdf_display_warnings(False)
    doc = open_pdf(data)
    try:
        out.document("application/pdf", clean_title((doc.metadata or {}).get("title")))
        ocr.patience.page_seconds, ocr.patience.tell = job.page_seconds, out.pictured
        say_attachments(doc, job, out)
        pages = PageReader(doc)
        styles = Styles.of(pages.sample())
        notes = write_pages(pages, styles, out)
        if not out.lines:
            raise no_text(pages.count, notes)
        if doc.is_repaired:
            out.omission(
                "repaired", "the file is damaged and was repaired while reading; parts may be missing"
            )
    except pymupdf.mupdf.FzErrorBase as error:
        raise native_error(error) from error


def open_pdf(data: bytes | bytearray) -> Any:
    """The document, opened and with pages."""
    try:
        doc = pymupdf.open(stream=bytes(data), filetype="pdf")
        if not doc.is_pdf:  # the library goes by the content, too
            raise ValueError("it is another kind of file")
    except pymupdf.mupdf.FzErrorBase as error:
        raise native_error(error) from error
    except (pymupdf.FileDataError, pymupdf.EmptyFileError, RuntimeError, ValueError) as error:
        headless = b"%PDF-" not in data[:1024]
        raise ConvertError(
            MALFORMED,
            "not a PDF" if headless else "PDF is damaged",
            "the content has no PDF header and no PDF structure"
            if headless
            else f"no page tree could be found: {error}",
            "check that the file was transferred completely, or load it under the type it really has",
        ) from error
    if doc.needs_pass:
        raise ConvertError(
            PASSWORD,
            "password needed",
            "the PDF is encrypted and does not open with the empty password",
            "remove the password (for example with qpdf --decrypt) and load the result",
        )
    count = page_count(doc)
    if count == 0:
        raise ConvertError(
            MALFORMED,
            "PDF has no pages",
            "its page tree is empty" + (" even after repair" if doc.is_repaired else ""),
            "open it in a viewer; if pages show there, print it to a new PDF",
        )
    if count > MAX_PAGES:
        raise ConvertError(
            TOO_LARGE,
            "PDF has too many pages",
            f"it has {count:,} pages, the limit is {MAX_PAGES:,}",
            "split it into several files",
        )
    return doc


def no_text(count: int, notes: list[str]) -> ConvertError:
    """A PDF of which nothing can be read is refused: an empty document could only say that it knows
    nothing.
    """
    shown = "; ".join(notes[:3]) + ("; …" if len(notes) > 3 else "")
    return ConvertError(
        UNSUPPORTED,
        "PDF has no text that can be read",
        f"{count_of(count, 'page')}: {shown}",
        "make a PDF with a text layer from it (for example with an OCR program) and load that",
    )


def page_count(doc: Any) -> int:
    try:
        return int(doc.page_count)
    except (RuntimeError, ValueError, pymupdf.mupdf.FzErrorBase) as error:
        raise ConvertError(
            MALFORMED,
            "PDF is damaged",
            f"its pages cannot be counted: {error}",
            "repair it or print it to a new PDF",
        ) from error


def native_error(error: Exception) -> ConvertError:
    """An error of the library as one of ours: out of memory is its own kind."""
    text = str(error)
    if "malloc" in text or ("alloc" in text and "fail" in text):
        return ConvertError(
            TOO_LARGE,
            "conversion needs too much memory",
            "the PDF library ran out of memory",
            "split the file into smaller ones, or raise the memory limit of conversions",
        )
    return ConvertError(
        MALFORMED,
        "PDF is damaged",
        f"the PDF library says: {text[:200]}",
        "repair it or print it to a new PDF",
    )


def say_attachments(doc: Any, job: Job, out: Writer) -> None:
    """Embedded files and forms whose content is not in the pages."""
    for i, name in enumerate(doc.embfile_names()):
        shown = clean_title(name) or "without a name"
        info: dict[str, Any] = {}
        data = b""
        if job.attachments:
            try:
                info = doc.embfile_info(i)
                if 0 < int(info.get("size") or info.get("length") or 0) <= MAX_EMBEDDED:
                    data = doc.embfile_get(i)
            except (RuntimeError, ValueError, TypeError, KeyError):
                data = b""
        if data:
            file_name = str(info.get("ufilename") or info.get("filename") or name)
            out.attachment(file_name, "application/octet-stream", data, True)
        else:
            out.omission("attachment", f"the embedded file {shown} was not read")
    try:
        catalogue = doc.pdf_catalog()
        kind, _ = doc.xref_get_key(catalogue, "AcroForm/XFA")
    except (RuntimeError, ValueError):
        return
    if kind not in ("null", ""):
        out.omission(
            "xfa_form", "the document is an XFA form: what it holds is not in its pages and was not read"
        )


class PageReader:
    """Reads pages, each once, the sampled ones first."""

    def __init__(self, doc: Any) -> None:
        self.doc = doc
        self.count = page_count(doc)
        self._kept: dict[int, Page] = {}
        self._hints: list[float] = []

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
            if i % 50 == 49:
                pymupdf.TOOLS.store_shrink(100)

    def _read(self, index: int) -> Page:
        try:
            return read_page(self.doc, index, self._hints)
        except pymupdf.mupdf.FzErrorBase as error:
            mapped = native_error(error)
            if mapped.code == TOO_LARGE:
                raise mapped from error
            problem: Exception = error
        except (RuntimeError, ValueError, pymupdf.FileDataError) as error:
            problem = error
        return Page(
            index + 1,
            0.0,
            [],
            [],
            [],
            notes=[("unreadable_page", f"the page could not be read: {str(problem)[:200]}")],
        )


def read_page(doc: Any, index: int, hints: list[float]) -> Page:
    """Rows of one page in reading order, and what on it was not read."""
    page = doc.load_page(index)
    matrix = page.rotation_matrix if page.rotation else None
    content = page.get_text("dict", flags=FLAGS)
    if any(_letters_apart(line["spans"]) for block in content["blocks"] for line in block.get("lines", ())):
        content = page.get_text("dict", flags=STYLES)
    groups: dict[int, list[Fragment]] = {}
    unmapped = 0
    drawn = 0
    for block in content["blocks"]:
        for line in block.get("lines", ()):
            drawn += sum(len(span["text"].strip()) for span in line["spans"])
            fragment, turn, lost = read_line(line, matrix)
            unmapped += lost
            if fragment is not None:
                groups.setdefault(turn, []).append(fragment)
    seen = Page(index + 1, float(page.rect.height), [], [], [])
    hidden = sum(f.hidden for g in groups.values() for f in g)
    total = sum(len(g) for g in groups.values())
    # The direction of most text is the page's own; what is turned differently (margins, stamps) follows it.
    for nth, turn in enumerate(sorted(groups, key=lambda t: -sum(len(f.text) for f in groups[t]))):
        rows = reading_order(groups[turn], hints if turn == 0 else None)
        numbers = margin_numbers(rows) if nth == 0 else {}
        for at, row in enumerate(rows):
            if at in numbers:
                row.parts = row.parts[1:]
            cells = row.cells()
            if cells:
                if at in numbers:
                    seen.printed[len(seen.rows)] = numbers[at]
                if nth:
                    seen.side.add(len(seen.rows))
                seen.rows.append(row)
                seen.texts.append(CELL_SEPARATOR.join(cells))
                seen.cells.append(len(cells))
    note_garbage(doc, page, seen, unmapped, drawn)
    if not seen.rows or unmapped > 0.5 * drawn:
        read_picture(page, seen)
    if not seen.confidence:
        note_images(page, seen, all_hidden=total > 0 and hidden == total)
    if hidden and hidden < total:
        seen.notes.append(
            (
                "invisible_text",
                f"{count_of(hidden, 'piece')} of text cannot be seen on the page; marked as furniture",
            )
        )
    elif hidden and not seen.confidence:
        # An OCR layer behind a picture of the page: its text is the page's text.
        for row in seen.rows:
            row.parts = [_shown(part) for part in row.parts]
    mark_margins(seen)
    return seen


def read_picture(page: Any, seen: Page) -> None:
    """A page without a text layer, or with one that is garbage, as Tesseract reads it."""
    if not (page.get_images() or page.get_cdrawings() or any(kind == "unmapped_text" for kind, _ in seen.notes)):
        return
    reading = ocr.read_page(page)
    if reading.rows and max(reading.confidence) < ocr.RUBBISH:
        # Shapes of a drawing or photograph that were taken for letters.
        reading.rows, reading.confidence = [], []
        reading.notes = [note for note in reading.notes if note[0] != "low_confidence"]
    if reading.rows:
        seen.rows, seen.texts, seen.cells = [], [], []
        seen.side, seen.printed = set(), {}
        seen.notes = [
            (kind, f"{detail}; the page was read from its picture instead" if kind == "unmapped_text" else detail)
            for kind, detail in seen.notes
        ]
    for row, sure in zip(reading.rows, reading.confidence, strict=True):
        cells = row.cells()
        if cells:
            seen.confidence[len(seen.rows)] = sure
            seen.rows.append(row)
            seen.texts.append(CELL_SEPARATOR.join(cells))
            seen.cells.append(len(cells))
    uncertain = sum(ocr.RUBBISH <= sure < ocr.LOW for sure in seen.confidence.values())
    seen.notes += reading.notes + ([ocr.uncertainty(uncertain)] if uncertain else [])


def margin_numbers(rows: list[Row]) -> dict[int, str]:
    """Row number to the line number printed in the margin, as in court transcripts: 1, 2, 3 … down the
    whole page.

    They are no part of the sentences, and must not be mistaken for the lines that tq counts.
    """
    found: dict[int, str] = {}
    tops: list[float] = []
    for i, row in enumerate(rows):
        text = row.parts[0].text.strip()
        alone = len(row.parts) == 1 or row.parts[1].box[0] - row.parts[0].box[2] > row.parts[0].size
        if text == str(len(found) + 1) and alone:
            found[i] = text
            tops.append(row.parts[0].box[1])
    steps = [b - a for a, b in itertools.pairwise(tops)]
    blank = sum(len(rows[i].parts) == 1 for i in found)
    even = len(steps) >= 19 and max(steps) < 1.25 * min(steps)
    return found if even and blank < len(found) and len(found) > 0.7 * len(rows) else {}


def read_line(line: dict[str, Any], matrix: Any) -> tuple[Fragment | None, int, int]:
    """(fragment or None, its direction in quarter turns, glyphs without a Unicode value)."""
    spans = line["spans"]
    texts: list[str] = []
    weight: Counter[float] = Counter()
    bold = hidden = True
    for i, span in enumerate(spans):
        text = span["text"]
        flags = span.get("char_flags", PAINTED)
        if flags & SYNTHETIC and not text.strip() and _inside_word(spans, i):
            continue
        texts.append(text)
        n = len(text.strip())
        if n:
            weight[round(span["size"] * 2) / 2] += n
            name = span["font"].lower()
            bold = bold and bool(
                span["flags"] & FONT_BOLD
                or flags & FAKE_BOLD
                or "bold" in name
                or "black" in name
                or "heavy" in name
            )
            hidden = hidden and not flags & PAINTED
    text = "".join(texts)
    unmapped = len(_UNMAPPED.findall(text))
    visible = len(text.replace(" ", ""))
    # A line that is mostly glyphs without a meaning is no text: the page's omission says that it was there.
    if unmapped and unmapped * 2 > visible:
        return None, 0, unmapped
    text = _CONTROLS.sub(" ", text)
    if not text.strip():
        return None, 0, unmapped
    dx, dy = line["dir"]
    source: Box = tuple(line["bbox"])
    box = source
    if matrix is not None:
        dx, dy = dx * matrix.a + dy * matrix.c, dx * matrix.b + dy * matrix.d
        box = tuple(pymupdf.Rect(source) * matrix)
    angle = math.degrees(math.atan2(dy, dx)) if dy else 0.0 if dx > 0 else 180.0
    turn = round(angle / 90) % 4 if abs(angle / 90 - round(angle / 90)) < 0.12 else 4
    return (
        Fragment(
            text,
            _turned(box, turn),
            source,
            weight.most_common(1)[0][0],
            bold,
            hidden,
        ),
        turn,
        unmapped,
    )


def _letters_apart(spans: list[dict[str, Any]]) -> bool:
    """Whether single letters stand between spaces that are not in the file: a sign of doubled ones."""
    if len(spans) < 4:
        return False
    single = sum(len(s["text"]) == 1 and s["text"].isalpha() for s in spans)
    made = sum(s["char_flags"] & SYNTHETIC != 0 for s in spans)
    return bool(single >= 2 and made >= 2)


def _inside_word(spans: list[dict[str, Any]], i: int) -> bool:
    """Whether a space that is not in the file stands inside a word that was made bold by drawing it twice.

    Such letters are placed one by one, and uneven steps between them look like spaces. Where the line has
    spaces of its own as well, those are the words' ends, and a somewhat wider step is none.
    """
    if not 0 < i < len(spans) - 1:
        return False
    before, after = spans[i - 1], spans[i + 1]
    if not before.get("char_flags", 0) & FAKE_BOLD or before["flags"] & FONT_BOLD:
        return False
    own_spaces = any(
        " " in s["text"].strip() or (s["text"].isspace() and not s["char_flags"] & SYNTHETIC) for s in spans
    )
    gap = after["bbox"][0] - before["bbox"][2]
    return bool(gap < (0.5 if own_spaces else 0.12) * after["size"])


def _turned(box: Box, turn: int) -> Box:
    """A box in the frame in which text of that direction runs to the right."""
    x0, y0, x1, y1 = box
    if turn == 1:
        return (y0, -x1, y1, -x0)
    if turn == 2:
        return (-x1, -y1, -x0, -y0)
    if turn == 3:
        return (-y1, x0, -y0, x1)
    return box


def _shown(part: Fragment) -> Fragment:
    return Fragment(part.text, part.box, part.source, part.size, part.bold, False)


def note_garbage(doc: Any, page: Any, seen: Page, unmapped: int, drawn: int) -> None:
    """Fonts that do not say which character a glyph is: their text is left out and the page is named."""
    worded = sum(_WORD.search(text) is not None for text in seen.texts)
    if worded * 2 < len(seen.texts) and _senseless(seen.texts) and _all_fonts_unmapped(doc, page):
        seen.rows.clear()
        seen.texts.clear()
        seen.cells.clear()
        unmapped = drawn
    if unmapped and (unmapped > 20 or unmapped * 5 > drawn):
        seen.notes.append(
            (
                "unmapped_text",
                f"{count_of(unmapped, 'glyph')} of the page's text layer without a known character, not read",
            )
        )


def _senseless(texts: list[str]) -> bool:
    """Whether texts are mostly neither letters nor digits."""
    kept = sum(len(text.replace(" ", "")) for text in texts)
    letters = sum(sum(map(str.isalpha, text)) for text in texts)
    digits = sum(sum(map(str.isdigit, text)) for text in texts)
    return letters + digits < 0.5 * kept and letters < 0.3 * kept


def _all_fonts_unmapped(doc: Any, page: Any) -> bool:
    """Whether no font of the page names its characters, by an encoding or by a table."""
    fonts = page.get_fonts(full=True)
    for xref, _, _, name, _, encoding, *_ in fonts:
        if encoding or not xref or doc.xref_get_key(xref, "ToUnicode")[0] != "null":
            return False
        if name.lower() in ("symbol", "zapfdingbats"):
            return False
    return bool(fonts)


def note_images(page: Any, seen: Page, *, all_hidden: bool) -> None:
    """A page without text, and pictures that take a good part of a page with text."""
    has_images = bool(page.get_images())
    if not seen.rows:
        if any(kind == "unmapped_text" for kind, _ in seen.notes):
            return
        if has_images:
            seen.notes.append(
                ("page_without_text", "the page is an image without a text layer; no text was read from it")
            )
        elif page.get_cdrawings():
            seen.notes.append(
                ("page_without_text", "the page has drawings but no text; nothing on it was read")
            )
        else:
            seen.notes.append(("page_without_text", "the page is blank"))
        return
    if not has_images or all_hidden:
        return
    area = max(1.0, abs(page.rect.width * page.rect.height))
    shares = [abs(pymupdf.Rect(i["bbox"]).get_area()) / area for i in page.get_image_info()]
    large = [share for share in shares if share >= 0.1]
    if large:
        seen.notes.append(
            (
                "image",
                f"{count_of(len(large), 'image')} not read ({min(1.0, sum(large)):.0%} of the page)",
            )
        )


def mark_margins(page: Page) -> None:
    """Remember the pattern of each row that could be a running header or footer: near the top or the
    bottom.
    """
    if not page.rows or page.height <= 0:
        return
    order = sorted(range(len(page.rows)), key=lambda i: page.rows[i].box[1])
    edge = set(order[:3]) | set(order[-3:])
    for i in edge:
        box = page.rows[i].box
        if box[3] < 0.14 * page.height or box[1] > 0.86 * page.height:
            page.keys[i] = (pattern(page.texts[i]), box[1])


def pattern(text: str) -> str:
    """The text with its numbers left open: '47698 Federal Register' → '# federal register'."""
    folded = _DIGITS.sub("#", " ".join(text.lower().split()))
    return "#" if _ROMAN.match(folded) else folded


@dataclass(slots=True, frozen=True)
class Styles:
    """Font sizes of the document: the body's, and larger ones from the largest down, in points."""

    body: float
    larger: tuple[float, ...]
    body_bold: bool

    @classmethod
    def of(cls, pages: list[Page]) -> Styles:
        sizes: Counter[float] = Counter()
        bold = 0
        for page in pages:
            for i, (row, text) in enumerate(zip(page.rows, page.texts, strict=True)):
                if i in page.side:
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
        return cls(body, tuple(larger), bold > 0.4 * total)

    def level(self, row: Row, text: str, cells: int) -> int | None:
        """The heading level of a row, 1 to 6, or None for what is no heading."""
        size = row.size
        if size <= self.body * 1.12 and (self.body_bold or not row.bold):
            return None
        if cells > 2 or len(text) > 160 or not _TWO_LETTERS.search(text):
            return None
        ends = text.rstrip().endswith((",", ";", "."))
        if size > self.body * 1.12 and not (ends and size < self.body * 1.3 and not row.bold):
            return min(6, 1 + sum(size < larger * 0.93 for larger in self.larger))
        if row.bold and size >= self.body * 0.9 and len(text) <= 100:
            if cells > 1 or ends or text[:1].islower():
                return None
            return min(6, 1 + len(self.larger))
        return None


def write_pages(pages: PageReader, styles: Styles, out: Writer) -> list[str]:
    """Write page after page, a few pages behind the reading, so that what repeats around a page is known.

    Returns the first notes of what was not read.
    """
    notes: list[str] = []
    window: list[Page] = []
    at = 0
    tables: set[str] = set()
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
    return notes


MAX_HEADING_ROWS: Final = 4


def heading_levels(page: Page, styles: Styles) -> list[int | None]:
    """The level of each row; a long run of one level is a paragraph in larger type, and no heading."""
    levels = [
        None if i in page.side else styles.level(row, page.texts[i], page.cells[i])
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
    page: Page, window: list[Page], count: int, styles: Styles, tables: set[str], out: Writer
) -> None:
    repeated = furniture(page, window, count)
    levels = heading_levels(page, styles)
    first = out.lines + 1
    for i, (row, text) in enumerate(zip(page.rows, page.texts, strict=True)):
        kind, level = "text", None
        if row.hidden:
            kind = "furniture"
        elif i in repeated:
            kind = "furniture"
            # The header row of a table that goes on over pages is part of the table where it stands first.
            if page.cells[i] >= 3 and _next_is_row(page, i) and page.keys[i][0] not in tables:
                tables.add(page.keys[i][0])
                kind = "table"
        elif page.cells[i] >= 2 and (_next_is_row(page, i) or (i > 0 and page.cells[i - 1] >= 2)):
            kind = "table"
        else:
            level = levels[i]
            kind = "text" if level is None else "heading"
        locator: dict[str, Any] = {"bbox": [round(v, 1) for v in row.source()]}
        if i in page.printed:
            locator["printed_line"] = page.printed[i]
        if i in page.confidence:
            locator["confidence"] = page.confidence[i]
        out.line(text, page=page.number, kind=kind, level=level, locator=locator)
    last = out.lines
    for name, detail in page.notes:
        whole = name in ("page_without_text", "unreadable_page") or last < first
        out.omission(
            name,
            f"page {page.number:,}: {detail}",
            line_start=None if whole else first,
            line_end=None if whole else last,
            page=page.number,
        )


def _next_is_row(page: Page, i: int) -> bool:
    return i + 1 < len(page.cells) and page.cells[i + 1] >= 2


def furniture(page: Page, window: list[Page], count: int) -> set[int]:
    """Rows of a page that the pages around it repeat at the same height."""
    found: set[int] = set()
    for i, (key, top) in page.keys.items():
        alone = bool(_PAGE_NUMBER.match(key))
        others = 0
        for other in window:
            if other is page:
                continue
            if any(k == key and abs(t - top) < 4 for k, t in other.keys.values()):
                others += 1
        needed = 1 if alone else 2
        if count == 2 and not alone:
            # Two pages alone: a repeated line is a header unless the whole page is a copy.
            needed = 1 if window[0].texts != window[-1].texts else 2
        if others >= needed:
            found.add(i)
    return found
