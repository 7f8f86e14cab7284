"""Reading pages that are pictures: Tesseract gives words, boxes and confidence, geometry gives the lines.

Tesseract runs as a process of its own below this one, within the same limits; it finds out itself which way
up the page is. Where the page has a ruled table, the rules are taken out first, and a second look is taken
for what stands alone in its cell, which the first one passes over.
"""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from statistics import median
from typing import Any, Final

import pymupdf as untyped

from tq_loader.convert.grid import Drawn
from tq_loader.convert.layout import Box, Fragment, union
from tq_loader.convert.protocol import UNSUPPORTED, ConvertError, count_of

# The library has no types that a strict checker takes.
pymupdf: Any = untyped

DPI: Final = 300
MAX_PIXELS: Final = 20_000_000  # of a rendered page: A3 at 300 dpi
FULL_PIXELS: Final = 6_000_000  # a page of fewer is drawn larger than it is
MAX_SIDE: Final = 32_000  # pixels; Tesseract's own limit is 32,767
SECONDS: Final = 120  # for one page
MAX_LANGUAGES: Final = 4

LOW: Final = 60  # below this confidence, of 100, a line is named as uncertain
RUBBISH: Final = 40  # below this it is no text to answer from
SECOND_LOOK: Final = 60  # a word that only the second look found must be surer than this

# Of the seconds that a conversion has, what reading pictures may take before the rest is left unread.
SHARE: Final = 0.75
_START: Final = time.monotonic()


@dataclass(slots=True)
class Patience:
    """What each page read adds to the time of the conversion, here and, by `tell`, at the parent."""

    page_seconds: int = 0
    tell: Callable[[], None] = lambda: None

    def page_done(self) -> None:
        soft, hard = resource.getrlimit(resource.RLIMIT_CPU)
        if self.page_seconds and soft != resource.RLIM_INFINITY:
            more = soft + self.page_seconds
            if hard != resource.RLIM_INFINITY:
                more = min(more, hard)
            resource.setrlimit(resource.RLIMIT_CPU, (more, hard))
            self.tell()


patience: Final = Patience()


PACKAGES: Final = "tesseract-ocr tesseract-ocr-osd"
_PATH: Final = "/usr/bin:/usr/local/bin:/bin"
_SCRIPTS: Final = {
    "Cyrillic": "rus ukr bel bul srp mkd kaz kir tgk uzb_cyrl mon aze_cyrl",
    "Greek": "ell grc",
    "Hebrew": "heb yid",
    "Arabic": "ara fas urd pus snd uig",
    "Japanese": "jpn jpn_vert",
    "Hangul": "kor kor_vert",
    "Korean": "kor kor_vert",
    "Han": "chi_sim chi_sim_vert chi_tra chi_tra_vert jpn jpn_vert",
    "Devanagari": "hin mar nep san",
    "Thai": "tha",
    "Armenian": "hye",
    "Georgian": "kat",
    "Tamil": "tam",
    "Telugu": "tel",
    "Bengali": "ben asm",
}
_OTHER_SCRIPT: Final = frozenset(" ".join(_SCRIPTS.values()).split())


@dataclass(slots=True, frozen=True)
class Word:
    """``box`` in points of the unrotated page, ``pixels`` in the picture; ``confidence`` 0 to 100."""

    text: str
    confidence: float
    line: tuple[int, ...]
    pixels: Box
    box: Box


@dataclass(slots=True)
class Reading:
    """A page that was read, turned upright and its skew taken out: its text, and the lines that are drawn on it.

    ``sure``: confidence from 0 to 100 by the id of each word, which is in the ``run`` of its fragment. ``turn``: quarter
    turns, clockwise on the screen, that its text stands off upright.
    """

    fragments: list[Fragment] = field(default_factory=list)
    sure: dict[int, float] = field(default_factory=dict)
    drawn: list[Drawn] = field(default_factory=list)
    notes: list[tuple[str, str]] = field(default_factory=list)
    turn: int = 0


@cache
def program() -> str | None:
    """Where Tesseract is, or None. The environment of a conversion is empty: the usual places are looked at."""
    return shutil.which("tesseract", path=_PATH)


@cache
def languages() -> tuple[str, ...]:
    """The languages that are installed, English first."""
    found = program()
    if found is None:
        return ()
    try:
        done = subprocess.run(
            [found, "--list-langs"], capture_output=True, env=_environment(), timeout=30, check=False
        )
    except (OSError, subprocess.SubprocessError):
        return ()
    names = [row.strip() for row in done.stdout.decode("utf-8", "replace").splitlines()[1:]]
    return tuple(sorted((n for n in names if n and n not in ("osd", "equ")), key=lambda n: (n != "eng", n)))


def missing() -> str | None:
    """Why nothing can be read from pictures, as a sentence with what to install; None where it can."""
    if program() is None:
        return f"no program that reads text from pictures is installed (as root: apt-get install {PACKAGES})"
    if not languages():
        return "Tesseract has no language to read (as root: apt-get install tesseract-ocr-eng)"
    return None


def refuse(what: str) -> ConvertError:
    """The error for a picture where no reading of pictures is possible."""
    return ConvertError(
        UNSUPPORTED,
        f"{what} cannot be read",
        missing() or "no text was found in it",
        f"as root: apt-get install {PACKAGES}; or load a PDF with a text layer",
    )


def read_page(page: Any, part: Box | None = None) -> Reading:
    """The text of a page of PyMuPDF (of a PDF or a picture), or of a part of it, as it looks.

    Never raises for what it looks like.
    """
    why = missing()
    if why is not None:
        return Reading(notes=[("ocr_missing", why)])
    if out_of_time():
        return Reading(
            notes=[
                (
                    "page_not_read",
                    "the time for reading pictures was used up before this page; "
                    "split the document, or raise the setting convert_seconds",
                )
            ]
        )
    reading = _read_picture(page, part)
    patience.page_done()
    return reading


def _read_picture(page: Any, part: Box | None) -> Reading:
    dpi = resolution(page)
    try:
        picture = _Picture.of(page, dpi, 0, part)
    except (RuntimeError, ValueError, pymupdf.mupdf.FzErrorBase) as error:
        return Reading(notes=[("unreadable_page", f"the page could not be drawn: {str(error)[:200]}")])
    lost = 0
    turn = 0
    rules: list[Box] = []
    with_osd = _has_osd()
    chosen = _languages_for(picture)
    try:
        words = picture.read("1" if with_osd else "3", chosen)
        turn = _turn_of(words)
        if picture.ruled:
            upright = picture if turn == 0 else _Picture.of(page, dpi, turn, part)
            words, lost = _with_lonely(words, upright.read("6", chosen))
            rules = picture.rules
    except subprocess.TimeoutExpired:
        return Reading(notes=[("unreadable_page", f"reading the picture took more than {SECONDS} s")])
    except OSError as error:
        return Reading(notes=[("unreadable_page", f"Tesseract could not be run: {error}")])
    except _Failed as error:
        return Reading(notes=[("unreadable_page", f"Tesseract could not read the picture: {error}")])
    reading = _upright(words, rules, page.rotation_matrix, turn)
    if lost:
        reading.notes.append(
            ("low_confidence", f"{count_of(lost, 'mark')} in a table could not be read reliably and left out")
        )
    if not with_osd:
        reading.notes.append(
            (
                "orientation",
                "which way up the page is was not checked (as root: apt-get install tesseract-ocr-osd)",
            )
        )
    if words and sum(word.confidence for word in words) / len(words) < LOW:
        script = picture.script() if with_osd else None
        wanted = _SCRIPTS.get(script or "", "").split()
        if wanted and not set(wanted) & set(languages()):
            reading.notes.append(
                (
                    "ocr_language",
                    f"the page seems to be in {script} script, for which no language of Tesseract is "
                    f"installed (as root: apt-get install tesseract-ocr-{wanted[0].replace('_', '-')})",
                )
            )
    return reading


def out_of_time() -> bool:
    """Whether so much time has passed that going on would lose all. The parent's wall limit is the CPU limit,
    which Tesseract's processes do not count against.
    """
    seconds, _ = resource.getrlimit(resource.RLIMIT_CPU)
    return seconds != resource.RLIM_INFINITY and time.monotonic() - _START > SHARE * seconds


def doubts(low: int, uncertain: int) -> list[tuple[str, str]]:
    """The notes on lines that could not be read reliably, and on those that were read with little confidence."""
    notes: list[tuple[str, str]] = []
    if low:
        notes.append(
            (
                "low_confidence",
                f"{count_of(low, 'line')} could not be read reliably (confidence below {RUBBISH} of 100); "
                "marked as furniture",
            )
        )
    if uncertain:
        notes.append(
            (
                "low_confidence",
                f"{count_of(uncertain, 'line')} read with a confidence below {LOW} of 100; letters or digits may be "
                "wrong",
            )
        )
    return notes


def resolution(page: Any) -> float:
    """Dots per inch to draw a page at: 300, at most twice what its pictures have, within the pixel limit."""
    native = 0.0
    drawn = False
    for image in page.get_image_info():
        box = pymupdf.Rect(image["bbox"])
        if box.width > 1 and box.height > 1:
            native = max(native, 72 * min(image["width"] / box.width, image["height"] / box.height))
    if native == 0 or page.parent.is_pdf:
        drawn = bool(page.get_cdrawings()) if native else True
    dpi = float(DPI)
    width, height = max(1.0, page.rect.width) / 72, max(1.0, page.rect.height) / 72
    if native and not drawn:
        # Few pixels read better when drawn larger; of many, their own number is enough.
        own = native * native * width * height
        dpi = min(DPI, native * min(3.0, max(1.0, (FULL_PIXELS / own) ** 0.5)))
    dpi = min(dpi, (MAX_PIXELS / (width * height)) ** 0.5, MAX_SIDE / width, MAX_SIDE / height)
    return max(1.0, float(dpi))


class _Failed(Exception):
    """Tesseract ended with an error."""


class _Picture:
    """A drawn page and the way from its pixels back to the page."""

    def __init__(self, data: bytes, size: tuple[int, int], dpi: float, back: Any, rules: list[Box]) -> None:
        self.data = data
        self.size = size
        self.dpi = dpi
        self.back = back
        self.rules = rules  # in points of the unrotated page; of ruled tables only
        self.ruled = bool(rules)

    @classmethod
    def of(cls, page: Any, dpi: float, turn: int, part: Box | None) -> _Picture:
        """The page or a part of it drawn in grey. ``turn``: quarter turns that its text stands off upright."""
        matrix = pymupdf.Matrix(dpi / 72, dpi / 72) * pymupdf.Matrix(-90 * turn)
        pixels = page.get_pixmap(matrix=matrix, colorspace=pymupdf.csGRAY, alpha=False, clip=part)
        back = pymupdf.Matrix(1, 0, 0, 1, pixels.x, pixels.y) * ~matrix * page.derotation_matrix
        size = (pixels.width, pixels.height)
        data, across, down = without_rules(bytes(pixels.samples), size, pixels.stride, int(0.6 * dpi))
        rules: list[Box] = []
        if len(across) >= 3 and len(down) >= 3:
            rules = [_box(pymupdf.Rect(rule) * back) for rule in across + down]
            # Shaded headers, too: what is not dark is paper.
            data = data.translate(_BLACK_AND_WHITE)
        else:
            data = bytes(pixels.samples)
        if pixels.stride != size[0]:
            data = b"".join(data[y * pixels.stride : y * pixels.stride + size[0]] for y in range(size[1]))
        return cls(data, size, dpi, back, rules)

    def read(self, mode: str, languages_used: str) -> list[Word]:
        table = self._run(mode, languages_used, "tsv")
        words: list[Word] = []
        for row in table.splitlines()[1:]:
            cells = row.split("\t")
            if len(cells) < 12 or cells[0] != "5":
                continue
            text = "".join(c if c.isprintable() else " " for c in cells[11]).strip()
            if not text:
                continue
            try:
                x, y, w, h = map(int, cells[6:10])
                confidence = float(cells[10])
                line = tuple(map(int, cells[2:5]))
            except ValueError:
                continue
            if w > 0.98 * self.size[0] and h > 0.5 * self.size[1]:
                continue  # the page's own frame, taken for a letter
            pixels: Box = (x, y, x + w, y + h)
            words.append(
                Word(text, max(0.0, confidence), line, pixels, _box(pymupdf.Rect(pixels) * self.back))
            )
        return words

    def script(self) -> str | None:
        """The script that most of the page is in, as Tesseract names it."""
        try:
            found = self._run("0", "osd")
        except (_Failed, subprocess.SubprocessError, OSError):
            return None
        for row in found.splitlines():
            if row.startswith("Script:"):
                return row.split(":", 1)[1].strip()
        return None

    def _run(self, mode: str, languages_used: str, *output: str) -> str:
        name = program()
        assert name is not None
        head = b"P5 %d %d 255\n" % self.size
        command = [name, "stdin", "stdout", "--psm", mode, "-l", languages_used]
        done = subprocess.run(
            [*command, "--dpi", str(max(70, round(self.dpi))), *output], input=head + self.data,
            capture_output=True, env=_environment(), timeout=SECONDS, check=False,
        )  # fmt: skip
        if done.returncode != 0:
            said = done.stderr.decode("utf-8", "replace").strip().splitlines()
            if any("few characters" in row or "Empty page" in row for row in said):
                return ""
            raise _Failed(said[-1][:200] if said else f"exit status {done.returncode}")
        return done.stdout.decode("utf-8", "replace")


_BLACK_AND_WHITE: Final = bytes(0 if b < 130 else 255 for b in range(256))
_SHADES: Final = bytes(0 if b < 160 else 2 if b > 215 else 1 for b in range(256))
_DARK: Final = bytes(1 if b < 150 else 0 for b in range(256))


def without_rules(
    data: bytes, size: tuple[int, int], stride: int, least: int
) -> tuple[bytes, list[Box], list[Box]]:
    """(the grey picture without straight dark lines of at least that length, those across, those down).

    Only thin ones are lines: the dark edge of a photograph stays what it is.
    """
    width, height = size
    dark = data.translate(_DARK)
    clean = bytearray(data)
    run = b"\x01" * max(2, least)
    thick = max(4, least // 12)
    rows = _thin([y for y in range(height) if run in dark[y * stride : y * stride + width]], thick)
    across: list[Box] = []
    down: list[Box] = []
    if len(rows) < 3:
        return data, across, down
    for first, last in rows:
        seen: list[tuple[int, int]] = []
        for y in range(first, last + 1):
            for start, end in _runs(dark[y * stride : y * stride + width], run):
                clean[y * stride + start : y * stride + end] = b"\xff" * (end - start)
                seen.append((start, end))
        across += [(start, first, end, last + 1) for start, end in _joined(seen)]
    for first, last in _thin([x for x in range(width) if run in dark[x : stride * height : stride]], thick):
        seen = []
        for x in range(first, last + 1):
            for start, end in _runs(dark[x : stride * height : stride], run):
                clean[x + start * stride : x + (end - 1) * stride + 1 : stride] = b"\xff" * (end - start)
                seen.append((start, end))
        down += [(first, start, last + 1, end) for start, end in _joined(seen)]
    return bytes(clean), across, down


def _joined(runs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Runs of neighbouring rows of pixels that overlap, as one."""
    found: list[tuple[int, int]] = []
    for start, end in sorted(runs):
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((start, end))
    return found


def _runs(pixels: bytes, run: bytes) -> Iterator[tuple[int, int]]:
    at = pixels.find(run)
    while at >= 0:
        end = pixels.find(b"\x00", at)
        end = len(pixels) if end < 0 else end
        yield at, end
        at = pixels.find(run, end)


def _thin(numbers: list[int], thick: int) -> list[tuple[int, int]]:
    """Neighbouring numbers as (first, last), where they are few: a rule is thin, a shadow or photograph is not."""
    groups: list[tuple[int, int]] = []
    for number in numbers:
        if groups and number - groups[-1][1] <= 2:
            groups[-1] = (groups[-1][0], number)
        else:
            groups.append((number, number))
    return [(first, last) for first, last in groups if last - first < thick]


def _environment() -> dict[str, str]:
    """One thread: the CPU limit of a conversion counts them all. Only what Tesseract needs is handed on."""
    kept = {"TESSDATA_PREFIX": os.environ["TESSDATA_PREFIX"]} if "TESSDATA_PREFIX" in os.environ else {}
    return {"OMP_THREAD_LIMIT": "1", "PATH": _PATH, "LC_ALL": "C", **kept}


@cache
def _has_osd() -> bool:
    name = program()
    if name is None:
        return False
    done = subprocess.run(
        [name, "--list-langs"], capture_output=True, env=_environment(), timeout=30, check=False
    )
    return "osd" in done.stdout.decode("utf-8", "replace").split()


def _languages_for(picture: _Picture) -> str:
    """All languages that are installed, where they are few; else those of the page's script."""
    names = languages()
    if len(names) > MAX_LANGUAGES and _has_osd():
        wanted = _SCRIPTS.get(picture.script() or "", "").split()
        own = [name for name in names if name in wanted]
        names = tuple(own) if own else tuple(name for name in names if name not in _OTHER_SCRIPT)
        names = names or languages()
    return "+".join(names[:MAX_LANGUAGES])


def _lines(words: Iterable[Word]) -> list[list[Word]]:
    lines: dict[tuple[int, ...], list[Word]] = {}
    for word in words:
        lines.setdefault(word.line, []).append(word)
    return list(lines.values())


def _turn_of(words: list[Word]) -> int:
    """Quarter turns, clockwise on the screen, from upright to how most lines of the picture run."""
    votes: Counter[int] = Counter()
    for line in _lines(words):
        if len(line) > 1:
            dx = _middle(line[-1].pixels, 0) - _middle(line[0].pixels, 0)
            dy = _middle(line[-1].pixels, 1) - _middle(line[0].pixels, 1)
            turn = (0 if dx >= 0 else 2) if abs(dx) >= abs(dy) else (1 if dy >= 0 else 3)
            votes[turn] += sum(len(word.text) for word in line)
    return votes.most_common(1)[0][0] if votes else 0


def _middle(box: Box, axis: int) -> float:
    return (box[axis] + box[axis + 2]) / 2


def _with_lonely(words: list[Word], second: list[Word]) -> tuple[list[Word], int]:
    """The words, and those of the second look that stand where the first one saw nothing.

    Also how many marks of about a letter's size stand there that neither could read.
    """
    found = list(words)
    lost = 0
    least = 0.5 * median(_tall(word.box) for word in words) if words else 0.0
    for word in second:
        if any(_overlap(word.box, other.box) for other in words):
            continue
        if word.confidence < SECOND_LOOK or not any(c.isalnum() for c in word.text):
            lost += _tall(word.box) > least and word.text not in "|_-—=~"
            continue
        # Each is a line of its own: its place says where it belongs.
        key = (-1, len(found))
        found.append(Word(word.text, word.confidence, key, word.pixels, word.box))
    return found, lost


def _tall(box: Box) -> float:
    return min(box[2] - box[0], box[3] - box[1])


def _overlap(a: Box, b: Box) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def turned(box: Box, turn: int) -> Box:
    """A box in the frame in which text of that direction runs to the right."""
    x0, y0, x1, y1 = box
    if turn == 1:
        return (y0, -x1, y1, -x0)
    if turn == 2:
        return (-x1, -y1, -x0, -y0)
    if turn == 3:
        return (-y1, x0, -y0, x1)
    return box


def _upright(words: list[Word], rules: list[Box], rotation: Any, turn: int) -> Reading:
    """Words as fragments of lines, the page turned upright and its skew taken out. ``rotation``: the page's matrix."""
    reading = Reading(turn=turn)
    if not words:
        return reading
    frame = {id(word): turned(_box(pymupdf.Rect(word.box) * rotation), turn) for word in words}
    lines = _lines(words)
    slope = _slope(lines, frame)
    heights = [_height(line, frame) for line in lines]
    usual = median(heights)
    for line, height in zip(lines, heights, strict=True):
        size = usual if abs(height - usual) < 0.7 * usual else height
        size = max(1.0, round(size * 2.6) / 2)
        for part in _split(line, frame, size):
            boxes = [_unskewed(frame[id(word)], slope) for word in part]
            run = tuple(Fragment(w.text, box, w.box, size) for w, box in zip(part, boxes, strict=True))
            reading.fragments.append(joined_words(run))
            reading.sure.update((id(mark), word.confidence) for mark, word in zip(run, part, strict=True))
    upright = (turned(_box(pymupdf.Rect(rule) * rotation), turn) for rule in rules)
    reading.drawn = [Drawn(_unskewed(box, slope), True) for box in upright]
    return reading


def joined_words(run: tuple[Fragment, ...]) -> Fragment:
    """Words of one line as one fragment."""
    text = " ".join(word.text.strip() for word in run)
    box, source = union([word.box for word in run]), union([word.source for word in run])
    return Fragment(text, box, source, run[0].size, run=run)


def may_hold_text(page: Any, part: Box) -> bool:
    """Whether a part of a page looks like dark marks on pale paper; a photograph does not."""
    pixels = page.get_pixmap(dpi=50, colorspace=pymupdf.csGRAY, alpha=False, clip=part)
    samples = bytes(pixels.samples)
    shades = samples.translate(_SHADES)
    pale, dark = shades.count(2) / max(1, len(samples)), shades.count(0) / max(1, len(samples))
    return pale > 0.5 and 0.002 < dark < 0.4


def _box(rect: Any) -> Box:
    return (rect.x0, rect.y0, rect.x1, rect.y1)


def _slope(lines: list[list[Word]], frame: dict[int, Box]) -> float:
    """How much the lines fall over their length."""
    slopes: list[float] = []
    for line in lines:
        first, last = frame[id(line[0])], frame[id(line[-1])]
        # Bottoms lie on the baseline but for descenders; over a long line these do not matter.
        run = _middle(last, 0) - _middle(first, 0)
        if len(line) >= 4 and run > 0:
            slopes.append((_middle(last, 1) - _middle(first, 1)) / run)
    found = median(slopes) if len(slopes) >= 3 else 0.0
    return found if abs(found) < 0.4 else 0.0


def _unskewed(box: Box, slope: float) -> Box:
    drop = slope * _middle(box, 0)
    return (box[0], box[1] - drop, box[2], box[3] - drop)


def _height(line: list[Word], frame: dict[int, Box]) -> float:
    tall = [frame[id(word)][3] - frame[id(word)][1] for word in line if len(word.text) > 2]
    return median(tall or [frame[id(word)][3] - frame[id(word)][1] for word in line])


def _split(line: list[Word], frame: dict[int, Box], size: float) -> list[list[Word]]:
    """A line at gaps that are no space between words: what stands there are cells or columns."""
    parts = [[line[0]]]
    for before, word in pairwise(line):
        if frame[id(word)][0] - frame[id(before)][2] > 1.5 * size:
            parts.append([])
        parts[-1].append(word)
    return parts
