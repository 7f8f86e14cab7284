"""What is told of a model without asking it: the sizes that follow from its row, and what ingest will cost with it."""

from __future__ import annotations

from typing import Any

from tq.database import asking, models
from tq.database import ingest as sql
from tq.database.connection import Database
from tq.errors import TqError
from tq.ingest.child import Conversion, ErrorMessage, Limits, LinesMessage, interpreter
from tq.ingest.child import command as converter
from tq.ingest.estimate import Estimate, numbered
from tq.ingest.state import Settings
from tq.model.driver import open_driver, waited
from tq.model.limits import RULES_SHARE, Model
from tq.model.tasks import Line
from tq.text.tokens import detect_language

LANGUAGE_CHARS = 20_000


def _model(database: Database, name: str | None) -> Model:
    wanted = name if name is not None else str(asking.settings(database).get("model", "extractive"))
    found = asking.model(database, wanted)
    if found is None:
        raise TqError(
            "TQ020", "model not found", f"There is no row {wanted!r} in tq.model.", "Add it, or name another."
        )
    return found


def fit_of(database: Database, name: str | None) -> list[dict[str, Any]]:
    """Sizes of a model, in the order in which they follow from one another. TQ020 where it is not known."""
    model = _model(database, name)
    fit = model.fit
    told: list[tuple[str, int, str, str]] = [
        ("input", model.input_chars, "characters", "a whole prompt"),
        (
            "rules",
            int(model.input_chars * RULES_SHARE),
            "characters",
            "of it rules, possible queries and shots",
        ),
        ("window", fit.window_chars, "characters", "a provisional window; three fit beside the rules"),
        ("leaf", fit.leaf_max_chars, "characters", "a longer stretch is cut"),
        ("leaf_merged", fit.leaf_min_chars, "characters", "shorter neighbours in one section are merged"),
        ("piece", fit.piece_chars, "characters", "a longer line is read in pieces"),
        ("fan_out", fit.fan_out, "children", "of a node, at most"),
        ("bullets", fit.bullets, "bullets", "of a summary, at most; fewer where it summarises little"),
        ("bullet", fit.bullet_chars, "characters", "of a bullet, at most"),
        ("output", model.output_tokens, "tokens", "a whole reply"),
    ]
    if not model.computes:
        told += [
            ("boundaries", fit.boundaries, "boundaries", "marked in one window, at most"),
            ("quotes", fit.quotes, "quotes", "of one answer, at most"),
            ("answer_text", fit.reply_chars, "characters", "of an answer's what, its why and each quote"),
        ]
    names = ("name", "value", "unit", "meaning")
    return [dict(zip(names, row, strict=True)) for row in told]


def limits_of(database: Database, name: str | None) -> dict[str, int]:
    """What the provider says of a model: input_tokens, output_tokens. TQ021 where it says nothing."""
    model = _model(database, name)
    driver = open_driver(model)
    ask = getattr(driver, "limits", None)
    sent = received = None
    if ask is not None:
        sent, received = waited(ask, database.pulse, driver.abort)  # type: ignore[attr-defined]
    found = {key: value for key, value in (("input_tokens", sent), ("output_tokens", received)) if value}
    if not found:
        raise TqError(
            "TQ021",
            "the model's limits are not to be had",
            f"The server of {model.name} does not say what {model.remote_name or 'it'} can read and write.",
            "Set tq.model.input_tokens and output_tokens by hand.",
        )
    return found


def estimate_of(
    database: Database, doc: str | None, content: bytes | None, name: str | None
) -> list[dict[str, Any]]:
    """What ingest will cost, a row a purpose and one for all. TQ001 to TQ003, TQ010 to TQ013 for what cannot be read,
    TQ020 for the model, TQ021 where neither or both of doc and content are given."""
    if (doc is None) == (content is None):
        raise TqError(
            "TQ021",
            "invalid value for the arguments doc and content",
            "Both are NULL." if doc is None else "Both are given.",
            "Give the name of a loaded document, or the bytes of one.",
        )
    model = _model(database, name)
    own = models.by_purpose(database) if name is None else {}
    mark_model, summary_model = own.get("mark", model), own.get("summarise", model)
    for found in (mark_model, summary_model):
        if not isinstance(found, Model):
            raise TqError("TQ020", "model not found", f"There is no row {found!r} in tq.model.")
    assert isinstance(mark_model, Model)
    assert isinstance(summary_model, Model)
    lines = _stored(database, doc) if doc is not None else _converted(database, content or b"")
    head = "\n".join(line.text for line in lines[:2000])[:LANGUAGE_CHARS]
    estimate = Estimate(mark_model, summary_model, database.pulse)
    estimate.run(lines, detect_language(head))
    return estimate.rows()


def _stored(database: Database, doc: str) -> list[Line]:
    found = database.fetch(sql.LOADED, doc)[0]
    if not found["line_count"]:
        raise TqError(
            "TQ002",
            "document not ready",
            f"{doc} is not converted yet.",
            "Give its bytes as content, or wait.",
        )
    return numbered(database.stream(sql.LINES, found["id"], 1, found["line_count"], 2**31 - 1))


def _converted(database: Database, content: bytes) -> list[Line]:
    settings = Settings.load(database)
    argv = converter(interpreter(), "estimate", None, settings.convert_memory_mb, settings.convert_seconds)
    limits = Limits(settings.convert_memory_mb, settings.convert_seconds)
    lines: list[Line] = []

    def fetch(offset: int, size: int) -> bytes:
        return content[offset : offset + size]

    with Conversion(argv, limits, fetch, database.pulse) as conversion:
        for message in conversion.messages():
            assert not isinstance(message, ErrorMessage)
            if isinstance(message, LinesMessage):
                lines += [
                    Line(number, row[0], row[2], row[3])
                    for number, row in enumerate(message.rows, len(lines) + 1)
                ]
    return lines
