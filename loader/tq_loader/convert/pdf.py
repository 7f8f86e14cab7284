"""PDF: visual lines in reading order, each with its page and box, page by page.

PyMuPDF (AGPL or commercial licence) reads the pages; :mod:`tq_loader.convert.layout` puts their text in
order.
"""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from dataclasses import replace
from functools import cache
from typing import Any, Final

import pymupdf as untyped

from tq_loader.convert import ocr
from tq_loader.convert.detect import Found
from tq_loader.convert.grid import Drawn
from tq_loader.convert.layout import Box, Fragment, Row, centred_in, union
from tq_loader.convert.page import (
    Page,
    Places,
    Surroundings,
    arrange,
    folded,
    picture_page,
    weigh,
    words_of,
)
from tq_loader.convert.paged import PageReader, write_pages
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
from tq_loader.convert.running import edges

# The library has no types that a strict checker takes.
pymupdf: Any = untyped

MAX_PAGES: Final = 100_000
MAX_EMBEDDED: Final = 100_000_000  # bytes of an embedded file, unpacked
MAX_OUTLINE: Final = 20_000  # entries
MAX_DRAWING: Final = 4_000_000  # bytes of a page's content, compressed
ODD_LETTERS: Final = 5  # of a page: fewer that differ from its plain text are no loss
ODD_SHARE: Final = 0.01
VECTOR: Final = 3  # type of a block that is something drawn
# Of a picture on a page with text: a smaller one is not read, nor one on which so many letters of the page's own stand.
PICTURE_SHARE: Final = 0.05  # of the page
PICTURE_SIDE: Final = 40  # points
PICTURE_TEXT: Final = 60
MAX_PICTURES: Final = 4  # read on one page
UNREAD_SHARE: Final = 0.1  # of the page: smaller ones that are not read are not told of
# Ligatures are spelled out (a question has "fi", never U+FB01); glyphs without a Unicode value stay
# recognisable.
FLAGS: Final = pymupdf.TEXT_PRESERVE_WHITESPACE | pymupdf.TEXT_MEDIABOX_CLIP

# Bits of a span: the font is bold; made bold by drawing twice; filled or stroked, that is, visible; not in
# the file.
FONT_BOLD: Final = 16
FAKE_BOLD: Final = 8
PAINTED: Final = 4 | 16
SYNTHETIC: Final = 512

_CONTROLS = re.compile(r"[\x00-\x08\x0a-\x1f\x7f-\x9f]")
_UNMAPPED = re.compile("[\ufffd\ue000-\uf8ff\U000f0000-\U0010fffd]")
_WORD = re.compile(r"[^\W\d_]{3}")


def convert(data: bytes | bytearray, job: Job, found: Found, out: Writer) -> None:
    """Write the lines of a PDF. Raises TQ011, TQ012 or TQ013 where it cannot be read at all."""
    pymupdf.TOOLS.mupdf_display_errors(False)
    pymupdf.TOOLS.mupdf_display_warnings(False)
    doc = open_pdf(data)
    try:
        out.document("application/pdf", clean_title((doc.metadata or {}).get("title")))
        ocr.patience.page_seconds, ocr.patience.tell = job.page_seconds, out.pictured
        say_attachments(doc, job, out)
        hints: list[float] = []
        titles = outline_of(doc)

        def read(index: int) -> Page:
            page = page_of(doc, index, hints, job.tables)
            page.outline = titles.get(index + 1, [])
            return page

        pages = PageReader(page_count(doc), read, out.pages)
        notes = write_pages(pages, out)
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


def outline_of(doc: Any) -> dict[int, list[tuple[str, int]]]:
    """Page number to the titles that the file's outline (its bookmarks) has there, with their levels."""
    titles: dict[int, list[tuple[str, int]]] = {}
    try:
        entries = doc.get_toc(simple=True)
    except (RuntimeError, ValueError, TypeError, IndexError, pymupdf.mupdf.FzErrorBase):
        return titles  # a damaged outline is no reason to refuse the file
    for level, title, number in entries[:MAX_OUTLINE]:
        name = folded(str(title))
        if name and number > 0:
            titles.setdefault(int(number), []).append((name, min(6, int(level))))
    return titles


def page_of(doc: Any, index: int, hints: list[float], strategy: str) -> Page:
    """One page; a page that cannot be read is empty and says why."""
    if index % 50 == 49:
        pymupdf.TOOLS.store_shrink(100)
    try:
        return read_page(doc, index, hints, strategy)
    except pymupdf.mupdf.FzErrorBase as error:
        mapped = native_error(error)
        if mapped.code == TOO_LARGE:
            raise mapped from error
        problem: Exception = error
    except (RuntimeError, ValueError, pymupdf.FileDataError) as error:
        problem = error
    note = ("unreadable_page", f"the page could not be read: {str(problem)[:200]}")
    return Page(index + 1, 0.0, notes=[note])


def read_page(doc: Any, index: int, hints: list[float], strategy: str = "auto") -> Page:
    """Rows of one page in reading order, and what on it was not read. ``strategy``: how tables are looked for."""
    page = doc.load_page(index)
    matrix = page.rotation_matrix if page.rotation else None
    flags = FLAGS if _is_drawing(page) else FLAGS | pymupdf.TEXT_COLLECT_VECTORS
    textpage = page.get_textpage(flags=flags)
    content = textpage.extractDICT()
    if any(_letters_apart(line["spans"]) for block in content["blocks"] for line in block.get("lines", ())):
        textpage = page.get_textpage(flags=flags | pymupdf.TEXT_COLLECT_STYLES)
        content = textpage.extractDICT()
    groups: dict[int, list[Fragment]] = {}
    drawn: list[Drawn] = []
    words = PageWords(textpage, matrix)
    unmapped = 0
    letters = 0
    texts = -1  # blocks of text so far
    for block in content["blocks"]:
        if block["type"] == VECTOR:
            if block["isrect"]:
                drawn.append(Drawn(block["bbox"], block["stroked"]))
            continue
        texts += 1
        for n, line in enumerate(block.get("lines", ())):
            letters += sum(len(span["text"].strip()) for span in line["spans"])
            fragment, turn, lost = read_line(line, matrix)
            unmapped += lost
            if fragment is not None:
                groups.setdefault(turn, []).append(fragment)
                words.places[id(fragment)] = (texts, n, turn)
    seen = Page(index + 1, float(page.rect.height))
    hidden = sum(f.hidden for g in groups.values() for f in g)
    total = sum(len(g) for g in groups.values())
    all_hidden = total > 0 and hidden == total
    if all_hidden:
        # An OCR layer behind a picture of the page: its text is the page's text.
        for turn, fragments in groups.items():
            groups[turn] = [words.again(f, replace(f, hidden=False)) for f in fragments]
    pictures = Pictures(page) if total and not all_hidden else None
    if pictures is not None:
        pictures.read(groups)
    # The direction of most text is the page's own; what is turned differently (margins, stamps) follows it.
    for nth, turn in enumerate(sorted(groups, key=lambda t: -sum(len(f.text) for f in groups[t]))):
        before = len(seen.rows)
        around = Surroundings(
            [Drawn(_framed(box, matrix, turn), stroked) for box, stroked in drawn], [], words, strategy
        )
        if pictures is not None:
            around.drawn += pictures.drawn.get(turn, ())
            around.pictures = [_framed(box, matrix, turn) for box in pictures.boxes]
        arrange(
            seen, groups[turn], around, hints if turn == 0 else None, margin_numbers if nth == 0 else None
        )
        if nth:
            seen.side.update(range(before, len(seen.rows)))
    note_garbage(doc, page, seen, unmapped, letters)
    if not seen.rows or unmapped > 0.5 * letters:
        seen = read_picture(page, seen, strategy)
    if not seen.rows:
        note_empty(page, seen)
    elif not seen.confidence:
        compare(textpage.extractText(), seen, unmapped, pictures.letters() if pictures is not None else "")
    if pictures is not None and not seen.confidence:
        seen.notes += [*weigh(seen, pictures.sure), *pictures.notes()]
        seen.inset.update(seen.confidence)
    if hidden and not all_hidden:
        seen.notes.append(
            (
                "invisible_text",
                f"{count_of(hidden, 'piece')} of text cannot be seen on the page; marked as furniture",
            )
        )
    seen.edges = edges(seen.rows, seen.texts, seen.height)
    return seen


def _is_drawing(page: Any) -> bool:
    """Whether so much is drawn on a page that it is a map or a plan: nobody needs each of its lines."""
    doc = page.parent
    if len(doc.stream or b"") <= MAX_DRAWING:
        return False
    size = 0
    for xref in page.get_contents():
        kind, length = doc.xref_get_key(xref, "Length")
        size += int(length) if kind == "int" else 0
    return size > MAX_DRAWING


class PageWords:
    """The words of a page's fragments, each with its place; asked of the library only where they are needed."""

    def __init__(self, textpage: Any, matrix: Any) -> None:
        self._textpage = textpage
        self._matrix = matrix
        self._lines: dict[tuple[int, int], list[tuple[Box, str]]] | None = None
        self.places: dict[
            int, tuple[int, int, int]
        ] = {}  # fragment: number of its block and line, its direction

    def again(self, fragment: Fragment, other: Fragment) -> Fragment:
        """``other``, which stands for the same words."""
        self.places[id(other)] = self.places[id(fragment)]
        return other

    def __call__(self, fragment: Fragment) -> list[Fragment]:
        return words_of(fragment, self._places)

    def _places(self, fragment: Fragment) -> Places | None:
        if self._lines is None:
            self._lines = {}
            for x0, y0, x1, y1, text, block, line, _ in self._textpage.extractWORDS():
                self._lines.setdefault((block, line), []).append(((x0, y0, x1, y1), text))
        place = self.places.get(id(fragment))
        if place is None:
            return None
        block, line, turn = place
        found = self._lines.get((block, line), [])
        if [text for _, text in found] != fragment.text.split():
            return None
        return [(_framed(box, self._matrix, turn), box) for box, _ in found]


def compare(plain: str, seen: Page, left_out: int, pictured: str = "") -> None:
    """Hold the rows against the library's plain text of the page.

    ``left_out``: glyphs that another note tells of; ``pictured``: what was read from pictures, and is in the rows.
    """
    theirs = "".join(_CONTROLS.sub(" ", plain).split())
    parts = [part.text for row in seen.rows for part in row.parts]
    ours = "".join("".join([*parts, *seen.printed.values(), *seen.unlined]).split())
    if ours == theirs:
        return
    have, want = Counter(ours), Counter(theirs) + Counter("".join(pictured.split()))
    for note, more, less in (
        ("in its plain text and not in these lines", want, have),
        ("in these lines and not in its plain text", have, want),
    ):
        odd = more - less
        count = sum(odd.values())
        if more is want:
            count = max(0, count - left_out)
        digits = "".join(sorted(c for c in odd.elements() if c.isdecimal()))
        if digits or count > max(ODD_LETTERS, ODD_SHARE * len(theirs)):
            told = f", the digits {digits[:40]} among them" if digits else ""
            seen.notes.append(
                (
                    "text_differs",
                    f"{count_of(max(count, len(digits)), 'letter')} of the page stand {note}{told}",
                )
            )


def read_picture(page: Any, seen: Page, strategy: str) -> Page:
    """A page without a text layer, or with one that is garbage, as Tesseract reads it; else the page as it was."""
    if not (
        page.get_images() or page.get_cdrawings() or any(kind == "unmapped_text" for kind, _ in seen.notes)
    ):
        return seen
    read = picture_page(seen.number, seen.height, ocr.read_page(page), strategy)
    if max(read.confidence.values(), default=0) < ocr.RUBBISH:
        # Nothing, or shapes of a drawing or photograph that were taken for letters.
        seen.notes += [note for note in read.notes if note[0] != "low_confidence"]
        return seen
    read.notes[:0] = [
        (kind, f"{detail}; the page was read from its picture instead" if kind == "unmapped_text" else detail)
        for kind, detail in seen.notes
    ]
    return read


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
    weight: dict[float, int] = {}  # letters by size
    bold = hidden = True
    for i, span in enumerate(spans):
        text = span["text"]
        flags = span.get("char_flags", PAINTED)
        if flags & SYNTHETIC and not text.strip() and _inside_word(spans, i):
            continue
        texts.append(text)
        n = len(text.strip())
        if n:
            size = round(span["size"] * 2) / 2
            weight[size] = weight.get(size, 0) + n
            bold = bold and bool(span["flags"] & FONT_BOLD or flags & FAKE_BOLD or _is_bold(span["font"]))
            hidden = hidden and not flags & PAINTED
    text = "".join(texts)
    unmapped = 0
    if not text.isprintable() or "\ufffd" in text:
        unmapped = len(_UNMAPPED.findall(text))
        visible = len(text.replace(" ", ""))
        # A line that is mostly glyphs without a meaning is no text: the page's omission says that it was there.
        if unmapped and unmapped * 2 > visible:
            return None, 0, unmapped
        text = _CONTROLS.sub(" ", text)
    if not weight or text.isspace():
        return None, 0, unmapped
    dx, dy = line["dir"]
    source: Box = tuple(line["bbox"])
    if matrix is not None:
        dx, dy = dx * matrix.a + dy * matrix.c, dx * matrix.b + dy * matrix.d
    angle = math.degrees(math.atan2(dy, dx)) if dy else 0.0 if dx > 0 else 180.0
    turn = round(angle / 90) % 4 if abs(angle / 90 - round(angle / 90)) < 0.12 else 4
    return (
        Fragment(
            text,
            _framed(source, matrix, turn),
            source,
            max(weight, key=weight.__getitem__),
            bold,
            hidden,
        ),
        turn,
        unmapped,
    )


@cache
def _is_bold(font: str) -> bool:
    name = font.lower()
    return "bold" in name or "black" in name or "heavy" in name


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


def _framed(box: Box, matrix: Any, turn: int) -> Box:
    """A box of the file in the frame in which text of that direction runs to the right."""
    return ocr.turned(box if matrix is None else tuple(pymupdf.Rect(box) * matrix), turn)


def note_garbage(doc: Any, page: Any, seen: Page, unmapped: int, drawn: int) -> None:
    """Fonts that do not say which character a glyph is: their text is left out and the page is named."""
    worded = sum(_WORD.search(text) is not None for text in seen.texts)
    if worded * 2 < len(seen.texts) and _senseless(seen.texts) and _all_fonts_unmapped(doc, page):
        seen.clear()
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


def note_empty(page: Any, seen: Page) -> None:
    """Why a page has no lines."""
    if any(kind == "unmapped_text" for kind, _ in seen.notes):
        return
    if page.get_images():
        why = "the page is an image without a text layer; no text was read from it"
    elif page.get_cdrawings():
        why = "the page has drawings but no text; nothing on it was read"
    else:
        why = "the page is blank"
    seen.notes.append(("page_without_text", why))


class Pictures:
    """The pictures on a page that has text of its own. Those that look like text are read, and join it."""

    def __init__(self, page: Any) -> None:
        self._page = page
        self.boxes = (
            _pieced([tuple(image["bbox"]) for image in page.get_image_info()]) if page.get_images() else []
        )
        self._unread: list[Box] = []
        self._texts: list[str] = []
        self._notes: list[tuple[str, str]] = []
        self.sure: dict[int, float] = {}  # confidence of each word read, by its id
        self.drawn: dict[int, list[Drawn]] = {}  # lines drawn in them, by the direction of the text there

    def read(self, groups: dict[int, list[Fragment]]) -> None:
        """Add what is read to the page's text by direction. Boxes are in points of the unrotated page."""
        own = [fragment for fragments in groups.values() for fragment in fragments if not fragment.hidden]
        readings = 0
        for box in self.boxes:
            inside = sum(len(f.text) for f in own if centred_in(f.source, box))
            seen = _box(pymupdf.Rect(box) * self._page.rotation_matrix & self._page.rect)
            wide, high = seen[2] - seen[0], seen[3] - seen[1]
            if (
                self._share(box) < PICTURE_SHARE or min(wide, high) < PICTURE_SIDE
                or inside > PICTURE_TEXT or readings >= MAX_PICTURES or not ocr.may_hold_text(self._page, seen)
            ):  # fmt: skip
                self._unread.append(box)
                continue
            readings += 1
            reading = ocr.read_page(self._page, seen)
            if not reading.sure or sum(reading.sure.values()) < ocr.LOW * len(reading.sure):
                self._unread.append(box)
                self._notes += [note for note in reading.notes if note not in self._notes]
                continue
            self._take(reading, own, groups)

    def _take(self, reading: ocr.Reading, own: list[Fragment], groups: dict[int, list[Fragment]]) -> None:
        for fragment in reading.fragments:
            # What the page has as text is in its picture, too.
            run = tuple(w for w in fragment.run if not any(centred_in(w.source, f.source) for f in own))
            if run:
                groups.setdefault(reading.turn, []).append(ocr.joined_words(run))
                self._texts += [word.text for word in run]
        self.sure |= reading.sure
        self.drawn.setdefault(reading.turn, []).extend(reading.drawn)
        self._notes += reading.notes

    def _share(self, box: Box) -> float:
        area = max(1.0, float(abs(self._page.rect.width * self._page.rect.height)))
        return min(1.0, (box[2] - box[0]) * (box[3] - box[1]) / area)

    def letters(self) -> str:
        """All that was read."""
        return "".join(self._texts)

    def notes(self) -> list[tuple[str, str]]:
        """The omissions: what went wrong, and pictures of some size that were not read."""
        large = [box for box in self._unread if self._share(box) >= UNREAD_SHARE]
        if not large:
            return self._notes
        sizes = ", ".join(f"{box[2] - box[0]:.0f} by {box[3] - box[1]:.0f} points" for box in large[:3])
        share = min(1.0, sum(map(self._share, large)))
        told = f"{count_of(len(large), 'image')} not read ({sizes}{', …' if len(large) > 3 else ''}; {share:.0%} of the page)"
        return [*self._notes, ("image", told)]


def _pieced(boxes: list[Box]) -> list[Box]:
    """Boxes of pictures; a picture that is stored in strips or tiles as one."""
    found: list[Box] = []
    for box in sorted(set(boxes), key=lambda box: (box[1], box[0])):
        at = next(
            (
                i
                for i, other in enumerate(found)
                if box[0] <= other[2] + 1
                and other[0] <= box[2] + 1
                and box[1] <= other[3] + 1
                and other[1] <= box[3] + 1
            ),
            None,
        )
        if at is None:
            found.append(box)
        else:
            found[at] = union([found[at], box])
    return found


def _box(rect: Any) -> Box:
    return (rect.x0, rect.y0, rect.x1, rect.y1)
