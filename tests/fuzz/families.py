"""What is fuzzed together, and the files that it starts from."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Final, NamedTuple

HERE: Final = Path(__file__).resolve().parent
for _folder in (HERE.parent / "unit", HERE.parents[1] / "loader", HERE.parents[1] / "plpython"):
    sys.path.insert(0, str(_folder))

# Public files that people had trouble with; there on some machines.
REAL: Final = Path(os.environ.get("TQ_FORMATS", HERE.parents[2] / "shared" / "formats"))
MOST_BYTES: Final = 200_000  # of a file to start from: small ones are tried more often


class Family(NamedTuple):
    """``modules``: the converters at stake; ``names``: what the files are called; ``real``: how real ones begin."""

    modules: tuple[str, ...]
    names: tuple[str, ...]
    real: tuple[str, ...]


FAMILIES: Final[dict[str, Family]] = {
    "text": Family(("text", "markdown", "transcript"), ("a.txt", "talk.txt", "a.md"), ("txt_", "md_")),
    "table": Family(("csv", "jsonl"), ("a.csv", "a.tsv", "a.json", "a.jsonl"), ("csv_",)),
    "web": Family(("html", "webtable"), ("a.html",), ("html_",)),
    "subtitles": Family(("subtitles",), ("a.vtt", "a.srt"), ("vtt_",)),
    "mail": Family(("mail",), ("a.eml", "a.mbox"), ("eml_", "mbox_")),
    "outlook": Family(("msg", "cfb"), ("a.msg",), ("msg_",)),
    "book": Family(("epub",), ("a.epub",), ("epub_",)),
    "word": Family(("docx", "altchunk", "numbering"), ("a.docx",), ("docx_",)),
    "opendocument": Family(("odf",), ("a.odt", "a.ods", "a.odp"), ("ods_", "odt_", "odp_")),
    "rtf": Family(("rtf",), ("a.rtf",), ("rtf_",)),
    "slides": Family(("pptx", "drawing"), ("a.pptx",), ("pptx_",)),
    "workbook": Family(("xlsx", "xlsb"), ("a.xlsx", "a.xlsb"), ("xlsx_",)),
    "legacy": Family(("doc", "xls", "cfb"), ("a.doc", "a.xls"), ("doc_", "xls_")),
    "pdf": Family(("pdf", "layout", "table"), ("a.pdf",), ("pdf_",)),
}


def seeds(family: Family) -> dict[str, bytes]:
    """Files by name: those that the tests make, and the real ones where their folder is there."""
    from samples import SAMPLES

    found = {name: SAMPLES[name] for name in family.names if name in SAMPLES}
    if REAL.is_dir():
        for path in sorted(REAL.iterdir()):
            if path.name.startswith(family.real) and path.stat().st_size <= MOST_BYTES:
                found[path.name] = path.read_bytes()
    return found
