"""Which office format a file is, from the parts of its container; imported only for files that have one."""

from __future__ import annotations

from typing import Final

from tq_loader.convert.protocol import UNSUPPORTED, ConvertError

MEDIA_TYPES: Final = {
    "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "xlsb": "application/vnd.ms-excel.sheet.binary.macroenabled.12",
    "xls": "application/vnd.ms-excel",
    "odt": "application/vnd.oasis.opendocument.text",
    "ods": "application/vnd.oasis.opendocument.spreadsheet",
    "odp": "application/vnd.oasis.opendocument.presentation",
    "rtf": "application/rtf",
    "doc": "application/msword",
}


def recognise(data: bytes | bytearray) -> str | None:
    """docx, pptx, xlsx, xlsb, xls, odt, ods, odp, rtf or doc; None where it is none of them.

    Raises TQ010 for legacy formats that are not read, TQ011 for a damaged container and TQ013 for an encrypted package.
    """
    if data[:5] == b"{\\rtf":
        return "rtf"
    if data[:2] == b"PK":
        from tq_loader.convert.package import kind_of

        return kind_of(data)
    return _compound(data)


def _compound(data: bytes | bytearray) -> str | None:
    from tq_loader.convert.cfb import CompoundFile
    from tq_loader.convert.package import password

    names = {name.lower() for name in CompoundFile(data).children()}
    if "encryptedpackage" in names:
        raise password("Office document")
    if "worddocument" in names:
        return "doc"
    if names & {"workbook", "book"}:
        return "xls"
    if "powerpoint document" in names:
        raise ConvertError(
            UNSUPPORTED,
            "content is not supported",
            "the content is a PowerPoint presentation of the old format (.ppt)",
            "save it as .pptx or as PDF and load that",
        )
    return None
