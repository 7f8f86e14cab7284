"""Files made to hurt: each fails alone with TQ011 or TQ012, the server and every other document go on."""

from __future__ import annotations

import io
import struct
import sys
import time
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import psycopg
import pymupdf
import pytest

from tq.ingest.worker import Worker
from tq_loader.convert import ocr
from tq_loader.database import PsycopgDatabase

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from ingest_help import Connection, assert_ready, document, load, queued, value, work

GOOD = "# Rules\n\nThe door code is changed every 90 days.\n"
TYPES = '<?xml version="1.0"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">{}</Types>'


def zipped(parts: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return out.getvalue()


def docx(body: bytes) -> bytes:
    main = "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"
    return zipped(
        {
            "[Content_Types].xml": TYPES.format(
                f'<Override PartName="/word/document.xml" ContentType="{main}"/>'
            ).encode(),
            "_rels/.rels": b'<?xml version="1.0"?><Relationships xmlns="http://schemas.openxmlformats.org/package/2006/'
            b'relationships"><Relationship Id="r" Type="http://schemas.openxmlformats.org/officeDocument/2006/'
            b'relationships/officeDocument" Target="word/document.xml"/></Relationships>',
            "word/document.xml": body,
        }
    )


def zip_bomb() -> bytes:
    """2 GB of one paragraph in two megabytes."""
    head = b'<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body><w:p><w:r><w:t>'
    out = io.BytesIO(docx(b""))
    with zipfile.ZipFile(out, "a", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        names = {
            info.filename: archive.read(info)
            for info in archive.infolist()
            if "document" not in info.filename
        }
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, content in names.items():
            archive.writestr(name, content)
        with archive.open("word/document.xml", "w", force_zip64=True) as part:
            part.write(head)
            for _ in range(2048):
                part.write(b"a" * (1 << 20))
            part.write(b"</w:t></w:r></w:p></w:body></w:document>")
    return out.getvalue()


def xml_bomb() -> bytes:
    """A billion laughs."""
    entities = '<!ENTITY a "ha">' + "".join(
        f'<!ENTITY {chr(98 + n)} "{f"&{chr(97 + n)};" * 10}">' for n in range(10)
    )
    return docx(
        f'<?xml version="1.0"?><!DOCTYPE x [{entities}]><w:document xmlns:w="http://schemas.openxmlformats.org/'
        f'wordprocessingml/2006/main"><w:body><w:p><w:r><w:t>&k;</w:t></w:r></w:p></w:body></w:document>'.encode()
    )


def million_pages(count: int = 1_000_000) -> bytes:
    """A PDF that really has a million pages, each empty."""
    groups = count // 1000
    first = 3 + groups
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Count %d/Kids[" % count
        + b" ".join(b"%d 0 R" % (3 + n) for n in range(groups))
        + b"]>>",
    ]
    for group in range(groups):
        kids = b" ".join(b"%d 0 R" % (first + 1000 * group + n) for n in range(1000))
        objects.append(b"<</Type/Pages/Parent 2 0 R/Count 1000/Kids[" + kids + b"]>>")
    objects += [b"<</Type/Page/Parent %d 0 R/MediaBox[0 0 9 9]>>" % (3 + n // 1000) for n in range(count)]
    return assembled(objects)


def assembled(objects: Sequence[bytes]) -> bytes:
    data = bytearray(b"%PDF-1.7\n")
    places = []
    for number, body in enumerate(objects, 1):
        places.append(len(data))
        data += b"%d 0 obj" % number + body + b"endobj\n"
    start = len(data)
    data += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    data += b"".join(b"%010d 00000 n \n" % place for place in places)
    data += b"trailer<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, start)
    return bytes(data)


def flate_bomb() -> bytes:
    """A page whose content is gigabytes of the same operator, packed twice."""
    plain = zlib.compressobj(9)
    once = b"".join(plain.compress(b"0 0 m 1 1 l S\n" * 80_000) for _ in range(2000)) + plain.flush()
    packed = zlib.compress(once, 9)
    return assembled(
        [
            b"<</Type/Catalog/Pages 2 0 R>>",
            b"<</Type/Pages/Count 1/Kids[3 0 R]>>",
            b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 100 100]/Contents 4 0 R>>",
            b"<</Length %d/Filter[/FlateDecode/FlateDecode]>>stream\n" % len(packed)
            + packed
            + b"\nendstream",
        ]
    )


def declared_png() -> bytes:
    """A picture that says it has ten gigabytes of pixels."""
    head = struct.pack(">IIBBBBB", 100_000, 100_000, 8, 0, 0, 0, 0)

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", head)
        + chunk(b"IDAT", zlib.compress(b"\0" * 1000))
        + chunk(b"IEND", b"")
    )


def declared_zip() -> bytes:
    """A word document whose directory says that its text has ten gigabytes."""
    data = bytearray(docx(b'<w:document xmlns:w="x"><w:body/></w:document>'))
    at = data.rfind(b"PK\x01\x02")
    struct.pack_into("<I", data, at + 24, 0xFFFFFFFE)
    return bytes(data)


def declared_pdf() -> bytes:
    """A stream whose length is ten gigabytes."""
    return assembled(
        [
            b"<</Type/Catalog/Pages 2 0 R>>",
            b"<</Type/Pages/Count 1/Kids[3 0 R]>>",
            b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 100 100]/Contents 4 0 R>>",
            b"<</Length 10000000000>>stream\nBT ET\nendstream",
        ]
    )


def deep_xml() -> bytes:
    return docx(b"<w:p>" * 500_000)


def set_value(db: Connection, name: str, number: int) -> None:
    db.execute("UPDATE tq.setting SET value = to_jsonb(%s::int) WHERE name = %s", [number, name])


HURTING = {
    "zip_bomb.docx": (zip_bomb, {"TQ012"}),
    "xml_bomb.docx": (xml_bomb, {"TQ011", "TQ012"}),
    "deep.docx": (deep_xml, {"TQ011", "TQ012"}),
    "million.pdf": (million_pages, {"TQ012"}),
    "flate.pdf": (flate_bomb, {"TQ010", "TQ011", "TQ012"}),
    "declared.png": (declared_png, {"TQ012"}),
    "declared.docx": (declared_zip, {"TQ011", "TQ012"}),
    "declared.pdf": (declared_pdf, {"TQ010", "TQ011", "TQ012"}),
}


@pytest.mark.slow
def test_a_file_that_hurts_fails_alone(db: Connection) -> None:
    set_value(db, "convert_seconds", 30)
    set_value(db, "convert_memory_mb", 512)
    started = value(db, "SELECT pg_postmaster_start_time()")
    good = [load(db, "before.md", GOOD)]
    docs = {name: load(db, name, make()) for name, (make, _) in HURTING.items()}
    good.append(load(db, "after.md", GOOD + "And visitors sign the book.\n"))
    backend = db.info.backend_pid
    work(db, 400)
    for doc in good:
        assert_ready(db, doc)
    told = {}
    for name, doc in docs.items():
        row = document(db, doc)
        told[name] = (row["status"], row["sqlstate"])
        assert row["status"] == "failed", (name, row)
        assert row["error"], name
        assert row["hint"], name
    assert {name: code for name, (_, code) in told.items() if code not in HURTING[name][1]} == {}
    assert queued(db) == 0
    assert db.info.backend_pid == backend
    assert value(db, "SELECT pg_postmaster_start_time()") == started  # no backend crashed


@pytest.mark.slow
@pytest.mark.parametrize(
    ("how", "code", "seconds"),
    [
        ("import time\nwhile True: time.sleep(1)", "TQ012", 30),
        ("while True: pass", "TQ012", 30),
        ("import signal\nsignal.signal(signal.SIGXCPU, signal.SIG_IGN)\nwhile True: pass", "TQ012", 30),
        ("import ctypes\nctypes.string_at(0)", "TQ011", 10),
        ("import os\nos.abort()", "TQ011", 10),
        ("x = []\nwhile True: x.append(bytearray(1 << 24))", "TQ012", 20),
        ("import os\nwhile True: os.write(1, b'x' * 65536)", "TQ011 TQ012", 30),
    ],
    ids=["sleeps", "computes", "ignores its limit", "segmentation fault", "abort", "eats memory", "floods"],
)
def test_a_parser_that_hangs_or_crashes(db: Connection, url: str, how: str, code: str, seconds: int) -> None:
    """The library's part is played by a script under the converter's own limits."""
    set_value(db, "convert_seconds", 3)
    bad, good = load(db, "bad.pdf", b"%PDF-1.7\n" + b"x" * 100), load(db, "good.md", GOOD)
    script = (
        "import sys; from tq_loader.convert.__main__ import set_limits; set_limits(1, 256, 3, 10)\n" + how
    )
    from tq.ingest.converting import installed_converter

    def chosen(name: str, media_type: str | None, memory: int, cpu: int) -> Sequence[bytes | str]:
        if name == "bad.pdf":
            folder = Path(__file__).resolve().parents[2] / "loader"
            return [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(folder)!r})\n{script}"]
        return installed_converter(name, media_type, memory, cpu)

    connection = PsycopgDatabase(psycopg.connect(url))
    began = time.monotonic()
    Worker(connection, converter=chosen).run(60, until_empty=True)
    connection.close()
    assert time.monotonic() - began < seconds
    row = document(db, bad)
    assert row["status"] == "failed", row
    assert row["sqlstate"] in code.split(), row
    assert row["hint"]
    assert_ready(db, good)


def scanned(pages: int) -> bytes:
    """A scan: the same picture of two lines on every page."""
    drawn: Any = pymupdf.open()
    page = drawn.new_page(width=300, height=120)
    page.insert_text((20, 40), "The fee for a missed visit is 60 pounds.", fontsize=11)
    page.insert_text((20, 80), "Visitors sign the book at the desk.", fontsize=11)
    picture = page.get_pixmap(dpi=150, colorspace=pymupdf.csGRAY).tobytes("png")
    document: Any = pymupdf.open()
    for _ in range(pages):
        page = document.new_page(width=300, height=120)
        page.insert_image(page.rect, stream=picture)
    return bytes(document.tobytes())


@pytest.mark.slow
@pytest.mark.skipif(ocr.missing() is not None, reason=ocr.missing() or "")
def test_the_time_for_a_scan_grows_with_the_pages_that_are_read(db: Connection) -> None:
    set_value(db, "convert_seconds", 3)
    set_value(db, "convert_page_seconds", 5)
    doc = load(db, "scan.pdf", scanned(30))
    work(db, 200)
    assert_ready(db, doc)
    assert value(db, "SELECT count(DISTINCT page) FROM tq.line WHERE document_id = %s", doc) == 30
    # Without: what was not read is told page by page, and the rest is kept.
    set_value(db, "convert_seconds", 8)
    set_value(db, "convert_page_seconds", 0)
    short = load(db, "short.pdf", scanned(60))
    work(db, 200)
    assert document(db, short)["status"] == "ready", document(db, short)
    read = value(db, "SELECT count(DISTINCT page) FROM tq.line WHERE document_id = %s", short)
    left = value(
        db,
        "SELECT count(DISTINCT page) FROM tq.omission WHERE document_id = %s AND kind = 'page_not_read'",
        short,
    )
    assert 0 < read < 60
    assert read + left == 60
