"""What a file is: by its content first, then by its media type, then by its name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from tq_loader.convert import sniff
from tq_loader.convert.protocol import READ_FORMATS, UNSUPPORTED, ConvertError

# Format to the module that reads it, imported only when needed. Each has ``convert(data, job, found, out)``.
FORMATS: Final[dict[str, str]] = {
    "text": "tq_loader.convert.text",
    "markdown": "tq_loader.convert.markdown",
    "pdf": "tq_loader.convert.pdf",
    "docx": "tq_loader.convert.docx",
    "pptx": "tq_loader.convert.pptx",
    "odt": "tq_loader.convert.odf",
    "ods": "tq_loader.convert.odf",
    "odp": "tq_loader.convert.odf",
    "rtf": "tq_loader.convert.rtf",
    "doc": "tq_loader.convert.doc",
    "xlsx": "tq_loader.convert.xlsx",
    "xlsb": "tq_loader.convert.xlsb",
    "xls": "tq_loader.convert.xls",
    "csv": "tq_loader.convert.csv",
    "html": "tq_loader.convert.html",
    "mail": "tq_loader.convert.mail",
    "msg": "tq_loader.convert.msg",
    "epub": "tq_loader.convert.epub",
    "subtitles": "tq_loader.convert.subtitles",
    "json": "tq_loader.convert.jsonl",
    "image": "tq_loader.convert.image",
    "records": "tq_loader.convert.records",
}


@dataclass(slots=True, frozen=True)
class Found:
    """A recognised format. ``note``: what a plain reading leaves uninterpreted, said as an omission; or
    None.
    """

    format: str
    media_type: str
    note: str | None = None


# Starts of files that are not read (yet): (offset, bytes, what it is, what to do instead).
_IMAGE = "convert it to PNG or JPEG and load that"
_ARCHIVE = "unpack it and load the files in it one by one"
_OFFICE = "open it in its own program, save it as a current Office file, as PDF or as text, and load that"
_MEDIA = "load a transcript of it, as text or as VTT or SRT subtitles"
_ROWS = "export the rows as CSV, or load them with tq.load_query from a table"
_OTHER = READ_FORMATS
_SIGNATURES: Final[tuple[tuple[int, bytes, str, str], ...]] = (
    (8, b"WEBP", "a WebP image", _IMAGE),
    (4, b"ftypheic", "a HEIC image", _IMAGE),
    (4, b"ftypheix", "a HEIC image", _IMAGE),
    (4, b"ftypmif1", "a HEIF image", _IMAGE),
    (4, b"ftypavif", "an AVIF image", _IMAGE),
    (0, b"8BPS", "a Photoshop image", _IMAGE),
    (4, b"ftyp", "an MP4 video or audio file", _MEDIA),
    (8, b"WAVE", "a WAV audio file", _MEDIA),
    (0, b"ID3", "an MP3 audio file", _MEDIA),
    (0, b"OggS", "an Ogg audio or video file", _MEDIA),
    (0, b"fLaC", "a FLAC audio file", _MEDIA),
    (0, b"\x1aE\xdf\xa3", "a Matroska or WebM video", _MEDIA),
    (0, b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "a legacy Office, Outlook or encrypted Office file", _OFFICE),
    (0, b"\x1f\x8b", "a gzip archive", _ARCHIVE),
    (0, b"BZh", "a bzip2 archive", _ARCHIVE),
    (0, b"\xfd7zXZ\x00", "an xz archive", _ARCHIVE),
    (0, b"(\xb5/\xfd", "a zstd archive", _ARCHIVE),
    (0, b"7z\xbc\xaf'\x1c", "a 7z archive", _ARCHIVE),
    (0, b"Rar!\x1a\x07", "a RAR archive", _ARCHIVE),
    (257, b"ustar", "a tar archive", _ARCHIVE),
    (0, b"SQLite format 3\x00", "an SQLite database", _ROWS),
    (0, b"PAR1", "a Parquet file", _ROWS),
    (0, b"\x7fELF", "an ELF program", _OTHER),
    (0, b"\xca\xfe\xba\xbe", "a Java class or Mach-O program", _OTHER),
    (0, b"\x00asm", "a WebAssembly program", _OTHER),
)

_ZIP_MEMBERS: Final[tuple[tuple[bytes, str], ...]] = (
    (b"word/", "a Word document (.docx)"),
    (b"xl/", "an Excel workbook (.xlsx)"),
    (b"ppt/", "a PowerPoint presentation (.pptx)"),
    (b"application/vnd.oasis.opendocument.text", "an OpenDocument text (.odt)"),
    (b"application/vnd.oasis.opendocument.spreadsheet", "an OpenDocument spreadsheet (.ods)"),
    (b"application/vnd.oasis.opendocument.presentation", "an OpenDocument presentation (.odp)"),
)

RECORDS_TYPE: Final = "application/x-tq-records"  # what tq.load_query stores
_MARKDOWN_TYPES = frozenset({"text/markdown", "text/x-markdown"})
_CSV_TYPES = frozenset({"text/csv", "text/tab-separated-values", "application/csv", "text/x-csv"})
_CSV_NAMES = (".csv", ".tsv", ".tab")
_MARKDOWN_NAMES = (".md", ".markdown", ".mdown", ".mkd", ".mkdn")


def detect(data: bytes | bytearray, media_type: str | None, name: str) -> Found:
    """The format of ``data`` (all of the file, not empty). Raises TQ010 for what no converter reads."""
    declared = (media_type or "").split(";")[0].strip().lower()
    lower = name.lower()
    if declared == RECORDS_TYPE and data.startswith(b'{"tq_records":'):
        return Found("records", RECORDS_TYPE)
    # PDF readers accept up to 1,024 bytes of anything before the header.
    if b"%PDF-" in data[:1024]:
        return Found("pdf", "application/pdf")
    office = _office(data)
    if office is not None:
        return office
    known = sniff.binary(data)
    if known is None:
        _refuse_signatures(data)
        known = sniff.marked_up(data, declared, lower)
    if known is not None:
        return Found(*known)
    called_pdf = declared in ("application/pdf", "application/x-pdf") or lower.endswith(".pdf")
    if called_pdf and any(mark in data for mark in (b"endobj", b"startxref")):
        return Found("pdf", "application/pdf")  # its start is lost
    if declared in _MARKDOWN_TYPES or (
        declared in ("", "text/plain", "application/octet-stream") and lower.endswith(_MARKDOWN_NAMES)
    ):
        return Found("markdown", "text/markdown")
    if declared in _CSV_TYPES or (
        declared in ("", "text/plain", "application/octet-stream", "application/vnd.ms-excel")
        and lower.endswith(_CSV_NAMES)
    ):
        return Found("csv", declared if declared in _CSV_TYPES else "text/csv")
    if declared.startswith("text/") and declared != "text/plain":
        return Found("text", declared, f"read as plain text: the structure of {declared} was not interpreted")
    return Found("csv", "text/csv") if sniff.delimited(data) else Found("text", "text/plain")


def _office(data: bytes | bytearray) -> Found | None:
    """Office formats, by the parts in their container; None where it is none that is read."""
    if not data.startswith((b"PK\x03\x04", b"\xd0\xcf\x11\xe0", b"{\\rtf")):
        return None
    from tq_loader.convert.office import MEDIA_TYPES, recognise

    kind = recognise(data)
    return None if kind is None else Found(kind, MEDIA_TYPES[kind])


def unsupported(seen: str, hint: str) -> ConvertError:
    """The error for content that no converter reads."""
    if hint != READ_FORMATS:
        hint = f"{hint}; {READ_FORMATS}"
    return ConvertError(UNSUPPORTED, "content is not supported", f"the content is {seen}", hint)


def _refuse_signatures(data: bytes | bytearray) -> None:
    if data[:4] in (b"PK\x03\x04", b"PK\x05\x06"):
        # The names of the members stand in clear at the start and, all of them, at the end.
        ends = data[:8192] + data[-65536:]
        for mark, what in _ZIP_MEMBERS:
            if mark in ends:
                raise unsupported(what, _OFFICE)
        raise unsupported("a zip archive", _ARCHIVE)
    if data[:2] == b"MZ" and b"\x00" in data[:64]:
        raise unsupported("a Windows program", _OTHER)
    for offset, mark, what, hint in _SIGNATURES:
        if data[offset : offset + len(mark)] == mark:
            if offset and mark in (b"WEBP", b"WAVE") and data[:4] != b"RIFF":
                continue
            raise unsupported(what, hint)
