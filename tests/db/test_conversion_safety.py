"""Files made to hurt: each fails alone with TQ011 or TQ012, the server and every other document go on."""

from __future__ import annotations

import io
import struct
import sys
import zipfile
import zlib
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psycopg
import pymupdf
import pytest

from tq.ingest.converting import installed_converter
from tq.ingest.worker import Worker
from tq_loader.convert import ocr
from tq_loader.database import PsycopgDatabase

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "unit"))
from office_help import odf, relations
from samples import SAMPLES

from ingest_help import Connection, assert_ready, document, load, queued, value, work

AT_ONCE = 3  # conversions

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


def repeated(piece: bytes, times: int, head: bytes = b"") -> bytes:
    """The deflated bytes of ``piece`` so many times over, at the cost of one: blocks that do not look back are the same."""
    block = zlib.compressobj(9, zlib.DEFLATED, -15)
    first = block.compress(head) + block.flush(zlib.Z_FULL_FLUSH)
    again = block.compress(piece) + block.flush(zlib.Z_FULL_FLUSH)
    return first + again * times + b"\3\0"  # an empty block ends them


def zip_bomb(parts: dict[str, bytes], main: str, head: bytes, piece: bytes, megabytes: int = 400) -> bytes:
    """A zip with a member ``main`` beside others: ``head``, then so many megabytes of ``piece``."""
    many = piece * ((1 << 20) // len(piece))
    packed, size = repeated(many, megabytes, head), len(head) + len(many) * megabytes
    crc = zlib.crc32(head)
    for _ in range(megabytes if megabytes < 1000 else 0):  # one that is refused at its size is read by nobody
        crc = zlib.crc32(many, crc)
    data = zipped(parts)
    end = data.rindex(b"PK\5\6")
    _, _, _, count, total, directory, place, _ = struct.unpack_from("<IHHHHIIH", data, end)
    about = (20, 0, 8, 0, 33, crc, len(packed), size, len(main), 0)
    name = main.encode()
    local = struct.pack("<4s5H3I2H", b"PK\3\4", *about) + name + packed
    entry = struct.pack("<4s6H3I5H2I", b"PK\1\2", 20, *about, 0, 0, 0, 0, place) + name
    tail = struct.pack(
        "<IHHHHIIH", 0x06054B50, 0, 0, count + 1, total + 1, directory + len(entry), place + len(local), 0
    )
    return data[:place] + local + data[place:end] + entry + tail


def docx_parts() -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(docx(b""))) as archive:
        return {name: archive.read(name) for name in archive.namelist() if name != "word/document.xml"}


def word_bomb(megabytes: int = 400) -> bytes:
    """Hundreds of megabytes of paragraphs in less than one."""
    head = b'<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body>'
    piece = b"<w:p><w:r><w:t>aaaaaaaaaaaaaaaa</w:t></w:r></w:p>"
    return zip_bomb(docx_parts(), "word/document.xml", head, piece, megabytes)


def declared_bomb() -> bytes:
    """Three gigabytes, as its directory says too."""
    return word_bomb(3072)


def strings_bomb() -> bytes:
    """A workbook with 400 megabytes of strings for its three cells."""
    parts = members("a.xlsx", "xl/_rels/workbook.xml.rels")
    parts["xl/_rels/workbook.xml.rels"] = relations(
        ("rId1", "worksheet", "worksheets/sheet1.xml"), ("rId9", "sharedStrings", "s.xml")
    ).encode()
    head = b'<sst xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main">'
    return zip_bomb(parts, "xl/s.xml", head, b"<si><t>" + b"a" * 4000 + b"</t></si>")


def bomb_in(sample: str, member: str, head: bytes, piece: bytes) -> Callable[[], bytes]:
    """A good file whose one member has 400 megabytes."""
    return lambda: zip_bomb(members(sample, member), member, head, piece)


def members(name: str, without: str) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(SAMPLES[name])) as archive:
        return {member: archive.read(member) for member in archive.namelist() if member != without}


def repeating_sheet() -> bytes:
    """A cell that is to be repeated over a million rows of a thousand columns."""
    return bytes(
        odf(
            "spreadsheet",
            '<table:table table:name="S"><table:table-row table:number-rows-repeated="1048576"><table:table-cell'
            ' office:value-type="string" table:number-columns-repeated="16384"><text:p>x</text:p></table:table-cell>'
            "</table:table-row></table:table>",
        )
    )


def mail_in_mail() -> bytes:
    """Messages in each other, 5,000 deep."""
    head = b"From: a@example.org\nTo: b@example.org\nMIME-Version: 1.0\n"
    return (head + b"Content-Type: message/rfc822\n\n") * 5000 + head + b"\nx\n"


def message_of_itself() -> bytes:
    """An Outlook message whose directory of names runs in a circle."""
    data = bytearray(SAMPLES["a.msg"])
    at = data.index("__substg1.0_0037001F".encode("utf-16-le"))
    struct.pack_into("<III", data, at + 68, 0, 1, 1)
    return bytes(data)


def claiming_xls() -> bytes:
    """A workbook whose table of strings claims four billion of them, and a record that goes on for ever."""
    data = bytearray(SAMPLES["a.xls"])
    at = data.index(struct.pack("<H", 0x00FC), 512)
    struct.pack_into("<II", data, at + 4, 0xFFFFFFFF, 0xFFFFFFFF)
    return bytes(data)


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
    """A PDF that really has a million pages, each an object of its own; a thousand of them are packed together."""
    groups = count // 1000
    first, packs = 3 + groups, 3 + groups + count
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Count %d/Kids[" % count
        + b" ".join(b"%d 0 R" % (3 + n) for n in range(groups))
        + b"]>>",
    ]
    for group in range(groups):
        kids = b" ".join(b"%d 0 R" % n for n in range(first + 1000 * group, first + 1000 * group + 1000))
        objects.append(b"<</Type/Pages/Parent 2 0 R/Count 1000/Kids[" + kids + b"]>>")
    data = bytearray(b"%PDF-1.7\n")
    entries = [b"\0\0\0\0\0\0\0"]  # of the cross-reference: kind, place or pack, number in the pack
    for number, body in enumerate(objects, 1):
        entries.append(struct.pack(">BIH", 1, len(data), 0))
        data += b"%d 0 obj" % number + body + b"endobj\n"
    entries += [struct.pack(">BIH", 2, packs + n // 1000, n % 1000) for n in range(count)]
    for group in range(groups):
        page = b"<</Type/Page/Parent %d 0 R/MediaBox[0 0 9 9]>> " % (3 + group)
        names = b" ".join(b"%d %d" % (first + 1000 * group + n, n * len(page)) for n in range(1000)) + b" "
        packed = zlib.compress(names + page * 1000)
        entries.append(struct.pack(">BIH", 1, len(data), 0))
        data += b"%d 0 obj<</Type/ObjStm/N 1000/First %d" % (packs + group, len(names))
        data += b"/Filter/FlateDecode/Length %d>>stream\n" % len(packed) + packed + b"\nendstream endobj\n"
    start = len(data)
    entries.append(struct.pack(">BIH", 1, start, 0))
    packed = zlib.compress(b"".join(entries))
    data += b"%d 0 obj<</Type/XRef/Size %d/W[1 4 2]/Root 1 0 R" % (packs + groups, len(entries))
    data += b"/Filter/FlateDecode/Length %d>>stream\n" % len(packed) + packed
    return bytes(data + b"\nendstream endobj\nstartxref\n%d\n%%%%EOF\n" % start)


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
    """A page whose content is half a gigabyte of the same operator, packed twice."""
    piece = b"0 0 m 1 1 l S\n" * 80_000
    packed = zlib.compress(b"\x78\xda" + repeated(piece, 500), 9)
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
    return docx(b'<w:document xmlns:w="x"><w:body>' + b"<w:p>" * 500_000)


def set_value(db: Connection, name: str, number: int) -> None:
    db.execute("UPDATE tq.setting SET value = to_jsonb(%s::int) WHERE name = %s", [number, name])


LARGE, BAD = frozenset({"TQ012"}), frozenset({"TQ010", "TQ011", "TQ012"})
# What hurts, and how it may fail; None: it is read, as far as that has sense.
HURTING: dict[str, tuple[Callable[[], bytes], frozenset[str] | None]] = {
    "bomb.docx": (word_bomb, LARGE),
    "declared.docx": (declared_bomb, LARGE),
    "lying.docx": (declared_zip, BAD),
    "entities.docx": (xml_bomb, BAD),
    "deep.docx": (deep_xml, BAD),
    "bomb.pptx": (bomb_in("a.pptx", "ppt/slides/slide1.xml", b"<p:sld>", b"<a:p/>"), BAD),
    "bomb.odt": (bomb_in("a.odt", "content.xml", b"<office>", b"<p>aaaaaaaa</p>"), BAD),
    "bomb.xlsx": (strings_bomb, LARGE),
    "bomb.xlsb": (bomb_in("a.xlsb", "xl/worksheets/sheet1.bin", b"", b"\x2a\x80\x80\1" + bytes(16384)), None),
    "bomb.epub": (bomb_in("a.epub", "a.xhtml", b"<html><body>", b"<p>aaaaaaaa</p>"), BAD),
    "repeating.ods": (repeating_sheet, None),
    "claiming.xls": (claiming_xls, None),
    "circle.msg": (message_of_itself, None),
    "nested.eml": (mail_in_mail, BAD),
    "nested.json": (lambda: b"[" * 2_000_000 + b"]" * 2_000_000, BAD),
    "nested.html": (lambda: b"<html><body>" + b"<div>" * 500_000 + b"x", BAD),
    "nested.rtf": (lambda: b"{\\rtf1 " + b"{" * 3_000_000 + b"x", BAD),
    "nested.md": (lambda: b">" * 200_000 + b" x\n" + b"[" * 100_000 + b"\n", None),
    "line.txt": (lambda: b"x" * (40 << 20), LARGE),
    "quotes.csv": (lambda: b'a,b\n"' + b"x,\n" * 200_000, None),
    "million.pdf": (million_pages, LARGE),
    "flate.pdf": (flate_bomb, BAD),
    "declared.pdf": (declared_pdf, BAD),
    "declared.png": (declared_png, LARGE),
}


@pytest.mark.slow
def test_a_file_that_hurts_fails_alone(db: Connection, url: str) -> None:
    set_value(db, "convert_seconds", 20)
    set_value(db, "convert_memory_mb", 256)
    started = value(db, "SELECT pg_postmaster_start_time()")
    good = [load(db, "before.md", GOOD)]
    docs = {name: load(db, name, make()) for name, (make, _) in HURTING.items()}
    good.append(load(db, "after.md", GOOD + "And visitors sign the book.\n"))
    backends = [psycopg.connect(url, autocommit=True) for _ in range(AT_ONCE)]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(lambda backend: work(backend, 400), backends))  # raises what one of them raises
    for backend in backends:
        backend.close()
    for doc in good:
        assert_ready(db, doc)
    wrong = {}
    for name, doc in docs.items():
        row = document(db, doc)
        codes = HURTING[name][1]
        if codes is None and row["status"] == "ready":
            continue
        if not (row["sqlstate"] in (codes or BAD) and row["error"] and row["hint"]):
            wrong[name] = row
    assert wrong == {}
    assert queued(db) == 0
    assert value(db, "SELECT pg_postmaster_start_time()") == started  # no backend crashed


# A parser gone wrong, and what its document fails with.
FAULTS = {
    "sleeps.pdf": ("import time\nwhile True: time.sleep(1)", {"TQ012"}),
    "computes.pdf": ("while True: pass", {"TQ012"}),
    "ignores.pdf": (
        "import signal\nsignal.signal(signal.SIGXCPU, signal.SIG_IGN)\nwhile True: pass",
        {"TQ012"},
    ),
    "segmentation.pdf": ("import ctypes\nctypes.string_at(0)", {"TQ011"}),
    "aborts.pdf": ("import os\nos.abort()", {"TQ011"}),
    "eats.pdf": ("x = []\nwhile True: x.append(bytearray(1 << 24))", {"TQ012"}),
    "floods.pdf": ("import os\nwhile True: os.write(1, b'x' * 65536)", {"TQ011", "TQ012"}),
    "forks.pdf": ("import os, time\nif os.fork(): os._exit(0)\ntime.sleep(600)", {"TQ011", "TQ012"}),
}


@pytest.mark.slow
def test_a_parser_that_hangs_or_crashes(db: Connection, url: str) -> None:
    """The library's part is played by a script under the converter's own limits."""
    set_value(db, "convert_seconds", 3)
    docs = {name: load(db, name, b"%PDF-1.7\n" + name.encode() * 100) for name in FAULTS}
    good = load(db, "good.md", GOOD)
    folder = Path(__file__).resolve().parents[2] / "loader"
    limits = "import sys; from tq_loader.convert.__main__ import set_limits; set_limits(1, 256, 3, 10)"

    def chosen(name: str, media_type: str | None, memory: int, cpu: int) -> Sequence[bytes | str]:
        if name in FAULTS:
            script = f"import sys; sys.path.insert(0, {str(folder)!r})\n{limits}\n{FAULTS[name][0]}"
            return [sys.executable, "-c", script]
        return installed_converter(name, media_type, memory, 60)

    def run(_: int) -> None:
        connection = PsycopgDatabase(psycopg.connect(url))
        Worker(connection, converter=chosen).run(120, until_empty=True)
        connection.close()

    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(run, range(AT_ONCE)))
    told = {name: document(db, doc) for name, doc in docs.items()}
    assert {name: row for name, row in told.items() if row["sqlstate"] not in FAULTS[name][1]} == {}
    assert all(row["status"] == "failed" and row["hint"] for row in told.values())
    row = document(db, good)
    assert row["status"] == "ready" or row["sqlstate"] == "TQ012", row


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
    set_value(db, "convert_seconds", 6)
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
