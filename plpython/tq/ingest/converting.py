"""Step convert: bytes to lines, their index and the provisional windows, in stretches that are each committed.

Memory follows the stretch and not the document. A worker that loses its message (it was too slow, or the document was
removed) is told by started_at, which every start of a conversion sets anew: what it would write after that is dropped.
"""

from __future__ import annotations

import sys
import time
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import msgspec

from tq.database import ingest as sql
from tq.errors import TqError
from tq.ingest import child
from tq.ingest.cut import Note
from tq.ingest.messages import MODEL, Message, body
from tq.ingest.state import Document, Session, Superseded
from tq.ingest.storing import of_document
from tq.ingest.windows import Windows, is_nothing, shown_chars
from tq.model.limits import Model
from tq.store.blob import Gone
from tq.text.tokens import detect_language, terms

STRETCH_LINES = 32_768
STRETCH_BYTES = 16 << 20
STRETCH_POSTINGS = 600_000
LANGUAGE_CHARS = 40_000  # seen before the language is decided
MAX_OMISSIONS = 1000
MAX_TITLE = 500
SECONDS_PER_MB = 10

# How the converter is started; tests of a worker outside the server put another in its place.
Command = Callable[[str, str | None, int, int], Sequence[bytes | str]]


def installed_converter(
    name: str, media_type: str | None, memory_mb: int, cpu_seconds: int
) -> Sequence[bytes | str]:
    return [
        *child.command(child.interpreter(), name, media_type, memory_mb, cpu_seconds),
        b"--attachments=yes",
    ]


class Converting:
    """The step on its way: the converter runs beside whatever the worker does, and `go_on` takes what it has said. Begin
    and `go_on` raise Superseded when the document is no longer ours, TqError when it cannot be converted."""

    def __init__(
        self, session: Session, message: Message, document: Document, command: Command = installed_converter
    ) -> None:
        self.message = message
        self._session = session
        started_at = _start(session, document.id, document.model or document.need_model())
        self._writer = _Writer(session, document.id, started_at, document.need_model("mark"))
        seconds = session.settings.convert_seconds + SECONDS_PER_MB * (document.bytes >> 20)
        memory = session.settings.convert_memory_mb
        page_seconds = session.settings.convert_page_seconds
        argv = command(document.name, document.media_type, memory, seconds)
        if command is installed_converter:
            argv = [*argv, f"--page-seconds={page_seconds}", f"--tables={document.tables}"]
        content = of_document(session, document.id)

        def fetch(offset: int, size: int) -> bytes:
            try:
                piece = content.read(offset, size)
            except Gone:
                raise Superseded from None
            session.db.commit()
            return piece

        limits = child.Limits(memory, seconds, page_seconds)
        self._conversion = child.Conversion(argv, limits, fetch, session.beat)
        self._conversion.__enter__()

    def go_on(self, seconds: float) -> bool:
        """For so long, or until it has nothing to say; whether it is done. No transaction is open before or after."""
        until = time.monotonic() + seconds
        while True:
            try:
                output = self._conversion.next(max(until - time.monotonic(), 0.0))
            except TimeoutError:
                return False
            if output is None:
                break
            self._session.beat()
            self._take(output)
            if time.monotonic() >= until:
                return False
        self.close()
        if not self._writer.lines:
            raise TqError(
                "TQ011", "the document is empty", "it has no line", "Load a file that holds something."
            )
        self._writer.finish(self.message)
        return True

    def close(self) -> None:
        """The converter is gone after this."""
        self._conversion.__exit__()

    def _take(self, output: child.Output) -> None:
        writer = self._writer
        match output:
            case child.LinesMessage():
                for row in output.rows:
                    writer.add(row)
            case child.DocumentMessage():
                writer.media_type = output.media_type
                writer.title = (output.title or "").replace("\0", "")[:MAX_TITLE].strip() or None
            case child.OmissionMessage():
                writer.omit(Note(output.kind, output.detail, output.line_start, output.line_end, output.page))
            case child.AttachmentMessage():
                writer.attach(output)
            case child.PagesMessage():
                writer.pages(output.read, output.count)
            case child.EndMessage():
                if output.lines != writer.lines:
                    raise TqError(
                        "TQ011",
                        "the converter's output is malformed",
                        f"{writer.lines} lines came of {output.lines}",
                    )
            case _:
                pass


def _start(session: Session, document_id: str, model: Model) -> str:
    """Take the document over; what an earlier attempt wrote goes."""
    session.lock_one(document_id, "pending", "converting")
    rows = session.db.fetch(sql.START_CONVERTING, document_id, model.name)
    for statement in (
        sql.CLEAR_NODES,
        sql.CLEAR_WINDOWS,
        sql.CLEAR_LINES,
        sql.CLEAR_TERMS,
        sql.CLEAR_OMISSIONS,
    ):
        session.db.fetch(statement, document_id)
    session.db.commit()
    started_at: str = rows[0]["started_at"]
    return started_at


@dataclass(slots=True)
class _Stretch:
    texts: list[str] = field(default_factory=list)
    kinds: list[str] = field(default_factory=list)
    levels: list[int | None] = field(default_factory=list)
    pages: list[int | None] = field(default_factory=list)
    locators: list[str | None] = field(default_factory=list)
    plain: bool = True
    chars: int = 0
    postings: int = 0


class _Writer:
    def __init__(self, session: Session, document_id: str, started_at: str, model: Model) -> None:
        self._session = session
        self._id = document_id
        self._started_at = started_at
        self._model = model
        self._fit = model.fit
        self._windows = Windows(self._fit.window_chars, shown_chars(self._fit.window_chars))
        self._stretch = _Stretch()
        self._written = 0  # lines
        self._stretches = 0
        self._terms: dict[str, array[int]] = {}
        self._language: str | None = None
        self._unindexed: list[tuple[int, str]] = []
        self._omissions: list[Note] = []
        self._omissions_more = 0
        self._attachments = 0
        self.lines = 0
        self.media_type: str | None = None
        self.title: str | None = None

    def add(self, row: child.Row) -> None:
        text, page, kind, level, locator = row
        if "\0" in text:
            text = text.replace("\0", "\ufffd")
        self.lines += 1
        stretch = self._stretch
        stretch.texts.append(text)
        stretch.kinds.append(kind)
        stretch.levels.append(level)
        stretch.pages.append(page)
        place = _json(locator)
        stretch.locators.append(place)
        if page is not None or place is not None or kind != "text":
            stretch.plain = False
        stretch.chars += len(text)
        self._windows.add(self.lines, len(text), is_nothing(text))
        if self._language is not None:
            self._index(self.lines, text)
        else:
            self._unindexed.append((self.lines, text))
            if stretch.chars >= LANGUAGE_CHARS:
                self._decide_language()
        if (
            len(stretch.texts) >= STRETCH_LINES
            or stretch.chars >= STRETCH_BYTES // 2  # most of a page of text is one or two bytes a character
            or stretch.postings >= STRETCH_POSTINGS
        ):
            self._flush()
            self._session.db.commit()

    def omit(self, note: Note) -> None:
        if len(self._omissions) < MAX_OMISSIONS:
            self._omissions.append(note)
        else:
            self._omissions_more += 1

    def attach(self, file: child.AttachmentMessage) -> None:
        """Make a document of a file that is in this one, in a transaction of its own. Its number in the message makes
        sure that an attempt begun anew finds it there."""
        session = self._session
        self._attachments += 1
        if session.lock_one(self._id, "converting")["started_at"] != self._started_at:
            raise Superseded
        name = (file.name or "").replace("\0", "")
        row = session.db.fetch(
            sql.ATTACH, self._id, self._attachments, name, file.content_base64, file.media_type
        )[0]
        session.db.commit()
        shown = f"the attached file {name or 'without a name'} ({file.media_type}, {len(file.content_base64):,} bytes)"
        if row["document"] is not None:
            self.omit(Note("attachment", f"{shown} is a document of its own: {row['document']}"))
        else:
            self.omit(Note("attachment", f"{shown} was not read: {row['refused']}"))

    def pages(self, read: int, count: int) -> None:
        """How far it is, for those who look."""
        self._session.db.fetch(sql.PAGES_READ, self._id, self._started_at, read, count)
        self._session.db.commit()

    def finish(self, message: Message) -> None:
        """The last stretch, the windows and the messages of the next step, in one transaction."""
        session, db = self._session, self._session.db
        self._flush()
        self._windows.finish()
        if self._omissions_more:
            self._omissions.append(Note("omission", f"{self._omissions_more} more things were left out"))
        if self._windows.cut_lines and self._model.driver != "extractive":
            self._omissions.append(
                Note(
                    "line shown in part",
                    f"{self._windows.cut_lines} lines are longer than {self._windows.shown} characters; boundaries "
                    "were looked for in their beginnings only",
                )
            )
        session.omit(self._id, self._omissions)
        windows = self._windows.found
        db.fetch(
            sql.ADD_WINDOWS,
            self._id,
            [w[0] for w in windows],
            [w[1] for w in windows],
            [w[2] for w in windows],
        )
        db.fetch(sql.CONVERTED, self._id, self.lines, self.title, self._language or "none", self.media_type)
        marks = [
            body(self._id, "mark", window=ordinal)
            for ordinal, window in enumerate(windows, 1)
            if not window[2]
        ]
        session.send(MODEL, marks or [body(self._id, "cut")])
        session.delete(message.queue, [message.id])
        db.commit()

    def _decide_language(self) -> None:
        self._language = detect_language("\n".join(text for _, text in self._unindexed)[: 4 * LANGUAGE_CHARS])
        for line_no, text in self._unindexed:
            self._index(line_no, text)
        self._unindexed = []

    def _index(self, line_no: int, text: str) -> None:
        found = set(terms(text, self._language or "none"))
        self._stretch.postings += len(found)
        postings = self._terms
        for term in found:
            numbers = postings.get(term)
            if numbers is None:
                numbers = postings[term] = array("i")
            numbers.append(line_no)

    def _flush(self) -> None:
        """Write the stretch; the caller commits."""
        if self._language is None:
            self._decide_language()
        stretch, db = self._stretch, self._session.db
        row = self._session.lock_one(self._id, "converting")
        if row["started_at"] != self._started_at:
            raise Superseded
        if stretch.texts:
            if stretch.plain:
                db.fetch(sql.ADD_PLAIN_LINES, self._id, self._written, stretch.texts)
            else:
                db.fetch(
                    sql.ADD_LINES, self._id, self._written, stretch.texts, stretch.kinds, stretch.levels, stretch.pages,
                    stretch.locators,
                )  # fmt: skip
            self._written += len(stretch.texts)
            self._stretch = _Stretch()
        if self._terms:
            self._stretches += 1
            ordered = sorted(self._terms)
            if sys.byteorder == "big":
                for numbers in self._terms.values():
                    numbers.byteswap()
            db.fetch(
                sql.ADD_TERMS,
                self._id,
                self._stretches,
                ordered,
                [self._terms[term].tobytes() for term in ordered],
            )
            self._terms = {}


def _json(locator: msgspec.Raw) -> str | None:
    text = bytes(locator).decode("utf-8")
    return None if text == "null" else text
