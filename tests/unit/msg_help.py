"""An Outlook message made in code, after [MS-OXMSG]: one storage a message, recipient and attachment."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from cfb_help import Storage, compound


@dataclass(frozen=True)
class File:
    name: str
    content: bytes
    media_type: str = "application/octet-stream"


@dataclass(frozen=True)
class Message:
    subject: str
    body: str = ""
    html: bytes | None = None
    sender: tuple[str, str] = ("Ada", "ada@example.org")
    to: Sequence[tuple[str, str]] = (("Bo", "bo@example.org"),)
    sent: datetime = datetime(2024, 3, 1, 9, 30, tzinfo=UTC)
    attached: Sequence[File | Message] = field(default_factory=list)


def msg(message: Message) -> bytes:
    """The bytes of an .msg file."""
    made: bytes = compound(_storage(message, 32))
    return made


def _storage(message: Message, header: int) -> Storage:
    ticks = int((message.sent - datetime(1601, 1, 1, tzinfo=UTC)).total_seconds()) * 10_000_000
    inside: Storage = {
        "__properties_version1.0": bytes(header) + _property(0x0039, 0x0040, ticks),
        **_text("0037", message.subject),
        **_text("1000", message.body),
        **_text("0C1A", message.sender[0]),
        **_text("5D01", message.sender[1]),
    }
    if message.html is not None:
        inside["__substg1.0_10130102"] = message.html
    for n, (name, address) in enumerate(message.to):
        inside[f"__recip_version1.0_#{n:08X}"] = {
            "__properties_version1.0": bytes(8) + _property(0x0C15, 0x0003, 1),
            **_text("3001", name),
            **_text("39FE", address),
        }
    for n, thing in enumerate(message.attached):
        at: Storage
        if isinstance(thing, Message):
            at = {
                "__properties_version1.0": bytes(8) + _property(0x3705, 0x0003, 5),
                **_text("3001", thing.subject),
                "__substg1.0_3701000D": _storage(thing, 24),
            }
        else:
            at = {
                "__properties_version1.0": bytes(8) + _property(0x3705, 0x0003, 1),
                **_text("3707", thing.name),
                **_text("370E", thing.media_type),
                "__substg1.0_37010102": thing.content,
            }
        inside[f"__attach_version1.0_#{n:08X}"] = at
    return inside


def _text(tag: str, text: str) -> Storage:
    return {f"__substg1.0_{tag}001F": text.encode("utf-16-le")} if text else {}


def _property(tag: int, kind: int, value: int) -> bytes:
    return struct.pack("<HHIQ", kind, tag, 6, value)
