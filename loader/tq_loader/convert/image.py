"""Pictures (PNG, JPEG, TIFF and the like): each page is read by :mod:`tq_loader.convert.ocr`.

Boxes in locators are in points of the picture as PyMuPDF opens it, so that it can be drawn with them marked.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any, Final

import pymupdf as untyped

from tq_loader.convert import ocr
from tq_loader.convert.detect import Found
from tq_loader.convert.page import Page, picture_page
from tq_loader.convert.paged import PageReader, write_pages
from tq_loader.convert.protocol import MALFORMED, TOO_LARGE, UNSUPPORTED, ConvertError, Job, Writer, count_of
from tq_loader.convert.running import edges

pymupdf: Any = untyped

MAX_PIXELS: Final = 120_000_000
MAX_PAGES: Final = 5000
# Bytes that decoding takes for each pixel, in three colours and once more for the drawn page.
PIXEL_COST: Final = 5

_FILE_TYPES: Final = {
    "image/png": "png", "image/jpeg": "jpeg", "image/tiff": "tiff", "image/bmp": "bmp", "image/gif": "gif",
}  # fmt: skip


def convert(data: bytes | bytearray, job: Job, found: Found, out: Writer) -> None:
    """Write the lines of a picture. Raises TQ010 where nothing can be read from it or from any picture."""
    sizes = list(dimensions(data))
    if len(sizes) > MAX_PAGES:
        raise too_large(f"it has {len(sizes):,} pages, the limit is {MAX_PAGES:,}")
    most = min(MAX_PIXELS, ((job.memory_mb or 4096) << 20) // 2 // PIXEL_COST)
    for width, height in sizes:
        if width * height > most:
            raise too_large(
                f"it has {width:,} by {height:,} pixels, the limit is {most // 1_000_000:,} million"
            )
    if ocr.missing() is not None:
        raise ocr.refuse("picture")
    pymupdf.TOOLS.mupdf_display_errors(False)
    pymupdf.TOOLS.mupdf_display_warnings(False)
    try:
        pages = pymupdf.open(stream=bytes(data), filetype=_FILE_TYPES.get(found.media_type, "png"))
        count = int(pages.page_count)
    except (RuntimeError, ValueError, pymupdf.mupdf.FzErrorBase) as error:
        raise damaged(str(error)) from error
    if not count:
        raise damaged("there is no picture in it")
    out.document(found.media_type, None)
    ocr.patience.page_seconds, ocr.patience.tell = job.page_seconds, out.pictured
    pages_read = PageReader(
        min(count, MAX_PAGES), lambda index: read_one(pages, index, job.tables), out.pages
    )
    failed = write_pages(pages_read, out)
    if not out.lines:
        raise ConvertError(
            UNSUPPORTED,
            "picture has no text that can be read",
            f"{count_of(count, 'page')}: {failed[0] if failed else 'no text was found'}",
            "if there is text in it, scan it again with more contrast and at 300 dpi",
        )


def read_one(pages: Any, index: int, strategy: str) -> Page:
    try:
        page = pages.load_page(index)
        read = picture_page(index + 1, float(page.rect.height), ocr.read_page(page), strategy)
    except (RuntimeError, ValueError, pymupdf.mupdf.FzErrorBase) as error:
        note = ("unreadable_page", f"the page could not be decoded: {str(error)[:200]}")
        return Page(index + 1, 0.0, notes=[note])
    if not read.rows and not read.notes:
        read.notes = [("page_without_text", "no text was found in the picture")]
    read.edges = edges(read.rows, read.texts, read.height)
    return read


def too_large(detail: str) -> ConvertError:
    return ConvertError(TOO_LARGE, "picture is too large", detail, "make it smaller, or cut it into several")


def damaged(detail: str) -> ConvertError:
    return ConvertError(
        MALFORMED,
        "picture is damaged",
        detail[:200] or "it cannot be decoded",
        "open it in a viewer and save it anew",
    )


def dimensions(data: bytes | bytearray) -> Iterator[tuple[int, int]]:
    """(width, height) in pixels that the file declares, for each page, before anything is decoded."""
    if data[:8] == b"\x89PNG\r\n\x1a\n":
        if len(data) < 24:
            raise damaged("it ends within its header")
        yield struct.unpack_from(">II", data, 16)
    elif data[:2] == b"\xff\xd8":
        yield from _jpeg(data)
    elif data[:4] in (b"II*\0", b"MM\0*"):
        yield from _tiff(data)
    elif data[:4] == b"GIF8" and len(data) >= 10:
        yield struct.unpack_from("<HH", data, 6)
    elif data[:2] == b"BM" and len(data) >= 26:
        width, height = struct.unpack_from("<ii", data, 18)
        yield abs(width), abs(height)
    else:
        raise damaged("its header is not that of a picture that is read")


def _jpeg(data: bytes | bytearray) -> Iterator[tuple[int, int]]:
    at = 2
    while at + 9 < len(data):
        if data[at] != 0xFF:
            at += 1
            continue
        mark = data[at + 1]
        if mark == 0xFF:
            at += 1
        elif mark in (0x01, 0xD8) or 0xD0 <= mark <= 0xD7:
            at += 2
        elif 0xC0 <= mark <= 0xCF and mark not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack_from(">HH", data, at + 5)
            yield width, height
            return
        else:
            at += 2 + max(2, int.from_bytes(data[at + 2 : at + 4], "big"))
    raise damaged("no size stands in it")


def _tiff(data: bytes | bytearray) -> Iterator[tuple[int, int]]:
    order = "<" if data[:2] == b"II" else ">"
    seen: set[int] = set()
    try:
        (at,) = struct.unpack_from(order + "I", data, 4)
        while at and at not in seen and len(seen) <= MAX_PAGES:
            seen.add(at)
            (count,) = struct.unpack_from(order + "H", data, at)
            size = {256: 0, 257: 0}
            for i in range(count):
                tag, kind = struct.unpack_from(order + "HH", data, at + 2 + 12 * i)
                if tag in size:
                    form = order + ("H" if kind == 3 else "I")
                    (size[tag],) = struct.unpack_from(form, data, at + 10 + 12 * i)
            yield size[256], size[257]
            (at,) = struct.unpack_from(order + "I", data, at + 2 + 12 * count)
    except struct.error as error:
        if not seen:
            raise damaged("it ends within its header") from error
