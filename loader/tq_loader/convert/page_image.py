"""A page of a PDF or picture as PNG with cited words marked: python -I -m tq_loader.convert.page_image.

Standard input: one line of JSON, then the file. The JSON: media_type, page (from 1), dpi, first (line number that the
quote begins on, or null), quote (or null), lines: [{line_no, text, kind, bbox (of a locator, or null)}]. Standard output:
one JSON line, {"type": "image", "png": base64} or an error as the converter's. The same limits as for a conversion.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from binascii import b2a_base64
from typing import Any, Final

from tq_loader.convert.__main__ import arguments, private_output, read_input, set_limits
from tq_loader.convert.protocol import MALFORMED, TOO_LARGE, UNSUPPORTED, ConvertError, Job, Writer

MAX_PIXELS: Final = 40_000_000
# What a marked pixel keeps of its blue: white turns yellow, black stays black.
_MARKED: Final = bytes(value * 35 // 100 for value in range(256))
_FRAME: Final = (230, 120, 0)

Box = tuple[float, float, float, float]


def main(argv: list[str]) -> int:
    job, cpu_seconds = arguments(argv)
    out_fd = private_output()
    set_limits(out_fd, job.memory_mb, cpu_seconds)
    with os.fdopen(out_fd, "wb") as sink:
        try:
            request = json.loads(sys.stdin.buffer.readline())
            png = draw(bytes(read_input(sys.stdin.buffer, job.memory_mb)), request, job)
            sink.write(
                json.dumps({"type": "image", "png": b2a_base64(png, newline=False).decode()}).encode() + b"\n"
            )
            return 0
        except ConvertError as error:
            Writer(sink).error(error)
            return 1
        except MemoryError:
            Writer(sink).error(too_large(f"more than {job.memory_mb} MB of memory were needed"))
            return 1
        except Exception as error:
            traceback.print_exc(file=sys.stderr)
            fault = ConvertError(
                MALFORMED, "the page cannot be drawn", f"drawing stopped with {type(error).__name__}: {error}"[:300],
                "Open the file in its own program and look at the page there; tq.source gives the file.",
            )  # fmt: skip
            Writer(sink).error(fault)
            return 70


def draw(data: bytes, request: dict[str, Any], job: Job) -> bytes:
    """The page as PNG."""
    media_type, number, dpi = request["media_type"], int(request["page"]), float(request["dpi"])
    doc = opened(data, media_type, job)
    if not 1 <= number <= doc.page_count:
        raise ConvertError(
            UNSUPPORTED, "there is no such page", f"page {number:,} of {doc.page_count:,}",
            "Give a page of the file, counted from 1.",
        )  # fmt: skip
    import pymupdf as untyped

    pymupdf: Any = untyped
    page = doc.load_page(number - 1)
    if page.rect.width * page.rect.height * (dpi / 72) ** 2 > MAX_PIXELS:
        raise too_large(f"{page.rect.width:.0f} by {page.rect.height:.0f} points at {dpi:.0f} dpi")
    pixels = page.get_pixmap(matrix=pymupdf.Matrix(dpi / 72, dpi / 72), colorspace=pymupdf.csRGB, alpha=False)
    boxes = [
        box
        for line in request["lines"]
        for box in marks(page, line, request.get("quote"), request.get("first"))
    ]
    to_pixels = page.rotation_matrix * pymupdf.Matrix(dpi / 72, dpi / 72)
    samples = bytearray(pixels.samples)
    for box in boxes:
        place = pymupdf.Rect(box) * to_pixels
        mark(samples, pixels.stride, (pixels.width, pixels.height), (place.x0, place.y0, place.x1, place.y1))
    marked = pymupdf.Pixmap(pymupdf.csRGB, pixels.width, pixels.height, bytes(samples), False)
    marked.set_dpi(round(dpi), round(dpi))
    return bytes(marked.tobytes("png"))


def opened(data: bytes, media_type: str, job: Job) -> Any:
    """The document, as the conversion opened it, so that the boxes fit."""
    if media_type == "application/pdf":
        from tq_loader.convert.pdf import open_pdf

        return open_pdf(data)
    from tq_loader.convert import image

    most = min(image.MAX_PIXELS, ((job.memory_mb or 4096) << 20) // 2 // image.PIXEL_COST)
    if any(width * height > most for width, height in image.dimensions(data)):
        raise too_large(f"the picture has more than {most:,} pixels")
    import pymupdf as untyped

    pymupdf: Any = untyped
    return pymupdf.open(stream=data, filetype=image._FILE_TYPES.get(media_type, "png"))


def marks(page: Any, line: dict[str, Any], quote: str | None, first: int | None) -> list[Box]:
    """Where on the page (unrotated, in points) the quoted words of a line stand; the whole line without a quote."""
    if not line["bbox"]:
        return []
    whole: Box = tuple(line["bbox"])
    piece = piece_of(line, quote, first)
    text = line["text"]
    if piece is None or len(piece.strip()) >= len(text.strip()):
        return [whole]
    found = in_words(page, whole, text, piece)
    if found:
        return found
    if line["kind"] == "table" or whole[3] - whole[1] > whole[2] - whole[0]:
        return [whole]  # cells are not set letter beside letter
    # A picture's letters are not known one by one: by their share of the line.
    at = text.find(piece)
    wide = (whole[2] - whole[0]) / max(1, len(text))
    return [(whole[0] + (at - 1) * wide, whole[1], whole[0] + (at + len(piece) + 1) * wide, whole[3])]


def piece_of(line: dict[str, Any], quote: str | None, first: int | None) -> str | None:
    """The part of a quote (its lines joined by newlines) that stands in this line; None where it is none of it."""
    if not quote or first is None:
        return None
    pieces = quote.split("\n")
    at = int(line["line_no"]) - first
    if 0 <= at < len(pieces) and pieces[at].strip() and pieces[at] in line["text"]:
        return pieces[at]
    return None


def in_words(page: Any, whole: Box, text: str, piece: str) -> list[Box]:
    """The boxes of the words that make up a piece, from the page's own words within the line's box."""
    import pymupdf as untyped

    pymupdf: Any = untyped
    if not page.parent.is_pdf:
        return []
    turned = pymupdf.Rect(whole) * page.rotation_matrix
    words = [
        (pymupdf.Rect(word[:4]) * page.derotation_matrix, "".join(word[4].split()))
        for word in page.get_text("words")
        if turned.contains(pymupdf.Point((word[0] + word[2]) / 2, (word[1] + word[3]) / 2))
    ]
    letters = "".join(text for _, text in words)
    wanted = "".join(piece.split())
    # The same piece may stand in the line twice: as often as it does before the quote's place.
    before = text[: text.find(piece)]
    at = letters.find(wanted, max(0, len("".join(before.split())) - 3))
    if at < 0 or not wanted:
        return []
    boxes: list[Box] = []
    begin = 0
    for rect, word in words:
        if begin < at + len(wanted) and begin + len(word) > at:
            boxes.append((rect.x0, rect.y0, rect.x1, rect.y1))
        begin += len(word)
    return joined(boxes)


def joined(boxes: list[Box]) -> list[Box]:
    """Neighbours on one row as one box."""
    result: list[Box] = []
    for box in boxes:
        last = result[-1] if result else None
        if (
            last
            and abs(box[1] - last[1]) < 0.5 * (last[3] - last[1])
            and -1 < box[0] - last[2] < 1.5 * (last[3] - last[1])
        ):
            result[-1] = (last[0], min(last[1], box[1]), max(last[2], box[2]), max(last[3], box[3]))
        else:
            result.append(box)
    return result


def mark(samples: bytearray, stride: int, size: tuple[int, int], place: Box) -> None:
    """Colour a place as a text marker does, with a frame around it that is seen on dark paper too."""
    x0, y0 = max(0, int(place[0]) - 2), max(0, int(place[1]) - 2)
    x1, y1 = min(size[0], int(place[2]) + 3), min(size[1], int(place[3]) + 3)
    if x0 >= x1 or y0 >= y1:
        return
    for y in range(y0, y1):
        start, end = y * stride + 3 * x0, y * stride + 3 * x1
        if y in (y0, y1 - 1):
            samples[start:end] = bytes(_FRAME) * (x1 - x0)
            continue
        samples[start + 2 : end : 3] = samples[start + 2 : end : 3].translate(_MARKED)
        samples[start : start + 3] = samples[end - 3 : end] = bytes(_FRAME)


def too_large(detail: str) -> ConvertError:
    return ConvertError(TOO_LARGE, "the page is too large to draw", detail, "Give a smaller dpi.")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
