"""What the steps share: a document as a step sees it, sending and deleting messages, settings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from tq.database import ingest as sql
from tq.database.connection import Database, Row
from tq.errors import TqError
from tq.ingest.cut import Note
from tq.model.limits import Model

SEND_AT_ONCE = 5000


class Superseded(Exception):
    """The document was removed, cancelled, or taken over by another worker: the message is dropped quietly."""


@dataclass(frozen=True, slots=True)
class Document:
    id: str
    name: str
    status: str
    language: str
    line_count: int
    media_type: str | None
    bytes: int
    wanted: str | None  # the model it names, or the setting's
    model: Model | None

    @classmethod
    def of(cls, row: Row) -> Document:
        model = None
        if row["model"] is not None:
            model = Model(
                name=row["model"],
                driver=row["driver"],
                input_tokens=row["input_tokens"],
                output_tokens=row["output_tokens"],
                chars_per_token=float(row["chars_per_token"]),
                windows_per_call=row["windows_per_call"],
                summary_tokens=row["summary_tokens"],
                concurrency=row["concurrency"],
                timeout_seconds=row["timeout_seconds"],
                delay_ms=row["delay_ms"],
            )
        return cls(
            row["id"], row["name"], row["status"], row["language"] or "none", row["line_count"] or 0, row["media_type"],
            row["bytes"], row["wanted"], model,
        )  # fmt: skip

    def need_model(self) -> Model:
        """Its model, or TQ020."""
        if self.model is None:
            raise TqError(
                "TQ020",
                "model not found",
                f"there is no row {self.wanted!r} in tq.model",
                "Set the setting model, or the document's model, to the name of a row of tq.model; then tq.retry.",
            )
        return self.model


@dataclass(frozen=True, slots=True)
class Settings:
    max_attempts: int = 5
    visibility_seconds: int = 60
    convert_memory_mb: int = 1024
    convert_seconds: int = 120

    @classmethod
    def load(cls, db: Database) -> Settings:
        values = {row["name"]: row["value"] for row in db.fetch(sql.SETTINGS)}
        return cls(**{name: int(float(values[name])) for name in cls.__slots__ if name in values})


@dataclass(slots=True)
class Session:
    """The database as the steps use it."""

    db: Database
    beat: Callable[[], None]  # at least every 100 ms of waiting or computing, with no transaction open
    settings: Settings = field(default_factory=Settings)

    def documents(self, ids: Iterable[str]) -> dict[str, Document]:
        return {row["id"]: Document.of(row) for row in self.db.fetch(sql.DOCUMENTS, sorted(set(ids)))}

    def lock(self, ids: Iterable[str]) -> dict[str, Row]:
        """Status and start of the documents that still exist, held until the end of the transaction."""
        return {row["id"]: row for row in self.db.fetch(sql.LOCK_DOCUMENTS, sorted(set(ids)))}

    def lock_one(self, document_id: str, *statuses: str) -> Row:
        row = self.lock([document_id]).get(document_id)
        if row is None or row["status"] not in statuses:
            raise Superseded
        return row

    def send(self, queue: str, bodies: Sequence[str], delay: int = 0) -> None:
        for start in range(0, len(bodies), SEND_AT_ONCE):
            self.db.fetch(sql.SEND_MESSAGES, queue, list(bodies[start : start + SEND_AT_ONCE]), delay)

    def delete(self, queue: str, ids: Sequence[int]) -> None:
        if ids:
            self.db.fetch(sql.DELETE_MESSAGES, queue, list(ids))

    def hide(self, queue: str, ids: Sequence[int], seconds: int | None = None) -> None:
        """Keep messages from other workers for the visibility timeout, from now on."""
        if ids:
            self.db.fetch(
                sql.HIDE_MESSAGES,
                queue,
                list(ids),
                self.settings.visibility_seconds if seconds is None else seconds,
            )

    def omit(self, document_id: str, notes: Sequence[Note]) -> None:
        if notes:
            self.db.fetch(
                sql.OMIT,
                document_id,
                [note.kind for note in notes],
                [note.detail for note in notes],
                [note.start or None for note in notes],
                [note.end or None for note in notes],
                [note.page for note in notes],
            )

    def notify(self, document_id: str) -> None:
        self.db.fetch(sql.NOTIFY, document_id)
