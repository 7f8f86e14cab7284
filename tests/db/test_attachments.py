"""Files that were attached to a message, or embedded in a PDF, as documents of their own."""

from __future__ import annotations

import json
import sys
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import psycopg
import pymupdf
import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[1] / "unit"))

from msg_help import File, Message, msg

from ingest_help import assert_ready, document, load, value, work

Connection = psycopg.Connection[Any]

CSV = b"item,price\ncrown,900\nbridge,1200\n"


def mail(subject: str, *files: tuple[str | None, bytes], text: str = "See what is attached.") -> bytes:
    made = EmailMessage()
    made["From"], made["To"], made["Subject"] = "ada@example.org", "bo@example.org", subject
    made["Message-ID"] = f"<{subject}@example.org>"
    made["MIME-Version"] = "1.0"
    made.set_content(text)
    for name, data in files:
        made.add_attachment(data, maintype="application", subtype="octet-stream", filename=name)
    return made.as_bytes()


def attached(db: Connection, doc: str) -> list[tuple[Any, ...]]:
    return db.execute(
        "SELECT name, version, attachment_no, status::text FROM tq.document WHERE parent_id = %s"
        " ORDER BY attachment_no",
        [doc],
    ).fetchall()


def notes(db: Connection, doc: str) -> list[str]:
    return [
        row[0]
        for row in db.execute(
            "SELECT detail FROM tq.omission WHERE document_id = %s AND kind = 'attachment' ORDER BY id", [doc]
        )
    ]


def test_an_attachment_is_a_document_of_its_own(db: Connection) -> None:
    message = mail("Prices", ("prices.csv", CSV), ("../a/b.txt", b"Deep water.\n"))
    doc = str(
        value(
            db,
            "SELECT tq.load('mail.eml', %s, tags => '{post}', source_weight => 2, effective_on => '2024-05-01')",
            message,
        )
    )
    work(db)
    assert_ready(db, doc)
    assert attached(db, doc) == [
        ("mail.eml/prices.csv", 1, 1, "ready"),
        ("mail.eml/.._a_b.txt", 1, 2, "ready"),
    ]
    row = db.execute(
        "SELECT d.tags, d.source_weight, d.effective_on::text, d.owner, d.metadata, d.current"
        " FROM tq.document AS d WHERE d.name = 'mail.eml/prices.csv'"
    ).fetchone()
    owner = value(db, "SELECT current_user::text")
    assert row == (
        ["post"],
        2.0,
        "2024-05-01",
        owner,
        {"attachment_of": "mail.eml", "message_version": 1},
        True,
    )
    assert value(db, "SELECT text FROM tq.lines('mail.eml/prices.csv', 2, 2)") == "item: crown | price: 900"
    assert "is a document of its own: mail.eml/prices.csv" in notes(db, doc)[0]


def test_a_conversion_begun_anew_makes_no_second_one(db: Connection) -> None:
    doc = load(db, "mail.eml", mail("Twice", ("prices.csv", CSV)))
    work(db)
    first = attached(db, doc)
    before = value(db, "SELECT array_agg(id ORDER BY id) FROM tq.document")
    # As after a crash: the message is delivered again, and the step starts over.
    with db.transaction():
        db.execute(
            "UPDATE tq.document SET status = 'pending', current = FALSE, line_count = NULL WHERE id = %s",
            [doc],
        )
        db.execute("DELETE FROM tq.node WHERE document_id = %s", [doc])
        db.execute("DELETE FROM tq.provisional_window WHERE document_id = %s", [doc])
        db.execute("DELETE FROM tq.line WHERE document_id = %s", [doc])
    db.execute("SELECT pgmq.send('tq_convert'::text, jsonb_build_object('document_id', %s::text))", [doc])
    work(db)
    assert_ready(db, doc)
    assert attached(db, doc) == first
    assert value(db, "SELECT array_agg(id ORDER BY id) FROM tq.document") == before
    assert len(notes(db, doc)) == 1


def test_names_are_unique_and_fit(db: Connection) -> None:
    load(db, "mail.eml/a.csv", b"taken by somebody\n")
    doc = load(db, "mail.eml", mail("Names", ("a.csv", CSV), ("a.csv", CSV + b"more,1\n"), (None, CSV)))
    long = load(db, "n" * 500, mail("Long", ("b" * 180 + ".csv", CSV)))
    work(db)
    assert [row[0] for row in attached(db, doc)] == [
        "mail.eml/a.csv (2)",
        "mail.eml/a.csv (3)",
        "mail.eml/attachment 3",
    ]
    ((name, *_),) = attached(db, long)
    assert len(name) <= 500
    assert name.endswith("b.csv")
    assert value(db, "SELECT text FROM tq.lines('mail.eml/a.csv', 1, 1)") == "taken by somebody"


def test_removing_a_message_removes_what_was_attached(db: Connection) -> None:
    inner = mail("Inner", ("deep.csv", CSV))
    load(db, "mail.eml", mail("Outer", ("inner.eml", inner), ("prices.csv", CSV)))
    load(db, "other.csv", CSV)
    work(db)
    assert value(db, "SELECT count(*) FROM tq.document") == 5
    assert value(db, "SELECT tq.remove('mail.eml')") == 1
    assert value(db, "SELECT array_agg(name) FROM tq.document") == ["other.csv"]
    assert value(db, "SELECT count(*) FROM tq.blob") == 1
    # Also when it waits in a queue, and when a hand deletes the row.
    load(db, "mail.eml", mail("Outer", ("inner.eml", inner)))
    db.execute("CALL tq.work(1)")
    db.execute("DELETE FROM tq.document WHERE name = 'mail.eml'")
    work(db)
    assert value(db, "SELECT array_agg(name) FROM tq.document") == ["other.csv"]


def test_a_new_version_has_its_own_attachments(db: Connection) -> None:
    first = load(db, "mail.eml", mail("One", ("a.csv", CSV), ("old.csv", b"k,v\nx,1\n")))
    work(db)
    second = load(db, "mail.eml", mail("Two", ("a.csv", CSV), ("new.csv", b"k,v\ny,2\n")))
    work(db)
    assert [row[:2] for row in attached(db, first)] == [("mail.eml/a.csv", 1), ("mail.eml/old.csv", 1)]
    assert [row[:2] for row in attached(db, second)] == [("mail.eml/a.csv", 2), ("mail.eml/new.csv", 1)]
    assert value(
        db, "SELECT array_agg((name, version)::text ORDER BY name) FROM tq.document WHERE current"
    ) == [
        "(mail.eml,2)",
        "(mail.eml/a.csv,2)",
        "(mail.eml/new.csv,1)",
    ]
    assert value(db, "SELECT tq.remove('mail.eml@2')") == 1
    assert value(db, "SELECT version FROM tq.document WHERE name = 'mail.eml/a.csv' AND current") == 1


@pytest.mark.parametrize(
    ("setting", "number", "taken", "word"),
    [
        ("attachment_files", 1, ["mail.eml/a.csv"], "attachment_files"),
        ("attachment_files", 0, [], "attachment_files"),
        ("attachment_max_bytes", 20, ["mail.eml/c.csv"], "attachment_max_bytes"),
    ],
)
def test_number_and_size_are_bounded(
    db: Connection, setting: str, number: int, taken: list[str], word: str
) -> None:
    db.execute("UPDATE tq.setting SET value = %s WHERE name = %s", [json.dumps(number), setting])
    doc = load(
        db, "mail.eml", mail("Many", ("a.csv", CSV), ("b.csv", CSV), ("c.csv", b"k,v\nx,1\n"), ("d.csv", b""))
    )
    work(db)
    assert_ready(db, doc)
    assert [row[0] for row in attached(db, doc)] == taken
    assert any("was not read" in note and word in note for note in notes(db, doc))


def test_nesting_is_bounded(db: Connection) -> None:
    db.execute("UPDATE tq.setting SET value = '2' WHERE name = 'attachment_depth'")
    message = mail("0", ("leaf.csv", CSV))
    for depth in range(1, 5):
        message = mail(str(depth), ("in.eml", message))
    load(db, "m.eml", message)
    work(db)
    assert value(db, "SELECT array_agg(name ORDER BY name) FROM tq.document WHERE status = 'ready'") == [
        "m.eml",
        "m.eml/in.eml",
        "m.eml/in.eml/in.eml",
    ]
    assert "attachment_depth" in value(db, "SELECT detail FROM tq.omission WHERE detail LIKE '%%deeper%%'")


def test_the_number_counts_the_whole_message(db: Connection) -> None:
    db.execute("UPDATE tq.setting SET value = '3' WHERE name = 'attachment_files'")
    inner = mail("Inner", ("a.csv", CSV), ("b.csv", CSV), ("c.csv", CSV))
    load(db, "m.eml", mail("Outer", ("one.eml", inner), ("two.eml", inner)))
    work(db)
    assert value(db, "SELECT count(*) FROM tq.document") == 4


def test_an_attachment_that_cannot_be_read_fails_alone(db: Connection) -> None:
    doc = load(db, "mail.eml", mail("Broken", ("x.pdf", b"%PDF-1.7 nothing"), ("y.bin", b"\x7fELF\x00\x01")))
    work(db)
    assert_ready(db, doc)
    assert [row[3] for row in attached(db, doc)] == ["failed", "failed"]


def test_an_outlook_message_with_files_and_a_message_in_it(db: Connection) -> None:
    inner = Message(
        "Re: prices", "The crown is 950 now.", attached=[File("old.txt", b"It was 900 before.\n")]
    )
    message = Message(
        "Prices",
        "See what is attached.",
        attached=[File("prices.csv", CSV, "text/csv"), inner, File("", b"Loose.\n")],
    )
    doc = load(db, "prices.msg", msg(message))
    work(db)
    assert_ready(db, doc)
    texts = [row[0] for row in db.execute("SELECT text FROM tq.lines('prices.msg', 1, 100)")]
    assert texts[:4] == [
        "Subject: Prices",
        "From: Ada <ada@example.org>",
        "To: Bo <bo@example.org>",
        "Date: Fri, 01 Mar 2024 09:30:00 +0000",
    ]
    at = texts.index("Subject: Re: prices")
    assert texts[-1] == "The crown is 950 now."
    place = value(db, "SELECT locator FROM tq.lines('prices.msg', %s, %s)", at + 1, at + 1)
    assert place["message"] == "1.1"
    assert attached(db, doc) == [
        ("prices.msg/prices.csv", 1, 1, "ready"),
        ("prices.msg/old.txt", 1, 2, "ready"),
        ("prices.msg/attachment 3", 1, 3, "ready"),
    ]
    assert value(db, "SELECT text FROM tq.lines('prices.msg/prices.csv', 2, 2)") == "item: crown | price: 900"
    assert value(db, "SELECT text FROM tq.lines('prices.msg/old.txt', 1, 1)") == "It was 900 before."
    assert value(
        db, "SELECT metadata ->> 'attachment_of' FROM tq.document WHERE name = 'prices.msg/old.txt'"
    ) == ("prices.msg")


def test_files_embedded_in_a_pdf(db: Connection) -> None:
    with pymupdf.open() as made:
        made.new_page().insert_text((72, 72), "The prices are in the annex of this letter.")
        made.embfile_add("annex", CSV, filename="annex.csv")
        data = made.tobytes()
    doc = load(db, "letter.pdf", data)
    work(db)
    assert [row[0] for row in attached(db, doc)] == ["letter.pdf/annex.csv"]
    assert value(db, "SELECT text FROM tq.lines('letter.pdf/annex.csv', 2, 2)") == "item: crown | price: 900"


def test_no_attachment_without_a_message(db: Connection) -> None:
    doc = load(db, "a.txt", "text\n")
    with pytest.raises(psycopg.errors.CheckViolation):
        db.execute("UPDATE tq.document SET attachment_no = 1 WHERE id = %s", [doc])
    with pytest.raises(psycopg.errors.CheckViolation):
        db.execute("UPDATE tq.document SET attachment_no = 1, parent_id = id WHERE id = %s", [doc])
    assert document(db, doc)["status"] == "pending"
