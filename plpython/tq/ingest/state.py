"""What the steps share: a document as a step sees it, sending and deleting messages, settings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from tq.database import ingest as sql
from tq.database.connection import Database, Row
from tq.database.models import by_purpose, model_of
from tq.errors import TqError
from tq.ingest.cut import Note
from tq.model.limits import Model

SEND_AT_ONCE = 5000


class Superseded(Exception):
    """The document was removed, cancelled, or taken over by another worker: the message is dropped quietly."""


class Later(Exception):
    """Nothing can be done yet: the message goes back for so many seconds, and no attempt is charged."""

    def __init__(self, seconds: int) -> None:
        super().__init__(f"again in {seconds} s")
        self.seconds = seconds


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
    purposes: Mapping[str, Model | str] = field(
        default_factory=dict
    )  # models that a setting names for one purpose
    tables: str = "auto"  # how its conversion looks for tables

    @classmethod
    def of(cls, row: Row, purposes: Mapping[str, Model | str] = MappingProxyType({})) -> Document:
        return cls(
            row["id"], row["name"], row["status"], row["language"] or "none", row["line_count"] or 0, row["media_type"],
            row["bytes"], row["wanted"], model_of(row), purposes, row["tables"],
        )  # fmt: skip

    def need_model(self, purpose: str = "summarise") -> Model:
        """Its model for a purpose, or TQ020."""
        found = self.purposes.get(purpose, self.model)
        if not isinstance(found, Model):
            raise TqError(
                "TQ020",
                "model not found",
                f"there is no row {found or self.wanted!r} in tq.model",
                "Set the setting model, or the document's model, to the name of a row of tq.model; then tq.retry.",
            )
        return found


@dataclass(frozen=True, slots=True)
class Settings:
    max_attempts: int = 5
    visibility_seconds: int = 60
    convert_memory_mb: int = 1024
    convert_seconds: int = 120
    convert_page_seconds: int = 10
    batch_requests: int = 1000
    batch_poll_seconds: int = 60

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
    purposes: Mapping[str, Model | str] = field(default_factory=dict)

    def load(self) -> None:
        """Settings, and the models of single purposes."""
        self.settings = Settings.load(self.db)
        self.purposes = by_purpose(self.db)

    def documents(self, ids: Iterable[str]) -> dict[str, Document]:
        return {
            row["id"]: Document.of(row, self.purposes)
            for row in self.db.fetch(sql.DOCUMENTS, sorted(set(ids)))
        }

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
