"""A cited page as PNG: the file goes to a child process like a conversion's, with the same limits, and a picture comes back."""

from __future__ import annotations

import json

from tq.database.connection import Database
from tq.errors import TqError
from tq.ingest import child
from tq.ingest.state import Settings
from tq.store.blob import Blob
from tq.store.serve import seen

SECONDS = 60
PICTURES = ("image/png", "image/jpeg", "image/tiff", "image/bmp", "image/gif")


def page_image(db: Database, document: str, request: str) -> bytes:
    """request: the JSON that the child reads, with the document's name. Raises TQ010 where there are no pages to draw."""
    wanted = json.loads(request)
    digest = seen(db, document)["digest"]
    media_type = wanted["media_type"]
    if media_type not in ("application/pdf", *PICTURES):
        raise TqError(
            "TQ010",
            "the document has no pages to draw",
            f"{wanted['document']} is {media_type or 'of an unknown type'}; pages of PDF files and pictures are drawn",
            "tq.lines shows the lines, tq.source gives the file.",
        )
    if wanted["page"] is None:
        raise TqError(
            "TQ021",
            "invalid value for the argument page",
            "neither a page nor lines that stand on one were given",
            "Give page, or line_start and line_end, or one of the citations of an answer.",
        )
    blob = Blob(db, digest, db.pulse)
    head = (request.replace("\n", " ") + "\n").encode()

    def fetch(offset: int, size: int) -> bytes:
        return head[offset : offset + size] if offset < len(head) else blob.read(offset - len(head), size)

    settings = Settings.load(db)
    limits = child.Limits(settings.convert_memory_mb, SECONDS)
    argv = child.command(
        child.interpreter(), "page", None, limits.memory_mb, SECONDS, "tq_loader.convert.page_image"
    )
    with child.Conversion(argv, limits, fetch, db.pulse) as conversion:
        for output in conversion.messages():
            if isinstance(output, child.ImageMessage):
                return output.png
    raise TqError("TQ011", "the page cannot be drawn", "the converter said nothing", "Load the file again.")
