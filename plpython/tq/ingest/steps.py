"""The steps that call no model: cut, build, finish, and taking up again what failed. Each is one transaction, decided
under the document's row lock. Documents are locked before messages, everywhere: a cancel does the same."""

from __future__ import annotations

import uuid
from array import array
from collections.abc import Sequence

from tq.database import batches
from tq.database import ingest as sql
from tq.ingest.cut import BLANK, Boundary, Leaf, cut
from tq.ingest.messages import MODEL, Message, body
from tq.ingest.rollup import Leaf as RolledLeaf
from tq.ingest.rollup import Parent, roll_up
from tq.ingest.state import Document, Session, Superseded
from tq.ingest.windows import NOTHING, cost

LINES_AT_ONCE = 20_000
MANY_LEAVES = 500  # from here on old statistics cost more than new ones


def cut_document(session: Session, message: Message, document: Document) -> None:
    """Leaves at the boundaries, and a message for each that has something to read."""
    model = document.need_model()
    db = session.db
    session.lock_one(document.id, "marking")
    session.delete(
        message.queue, [message.id]
    )  # locked until the end of the transaction: nobody else can read it
    if (
        db.fetch(sql.UNMARKED, document.id)[0]["any_left"]
        or db.fetch(sql.ANY_NODES, document.id)[0]["any_left"]
    ):
        raise Superseded
    costs, flags = _lines(session, document)
    boundaries = {
        row["line_no"]: Boundary(row["line_no"], row["title"], row["level"])
        for row in db.fetch(sql.BOUNDARIES, document.id, False)
    }
    leaves, notes = cut(costs, flags, boundaries, model.fit)
    ids = [str(uuid.uuid4()) for _ in leaves]
    db.fetch(
        sql.ADD_LEAVES,
        document.id,
        ids,
        [leaf.start for leaf in leaves],
        [leaf.end for leaf in leaves],
        [leaf.title for leaf in leaves],
        [leaf.level for leaf in leaves],
        [leaf.kind for leaf in leaves],
        [model.tokens(leaf.chars) for leaf in leaves],
        [leaf.blank for leaf in leaves],
    )
    if len(leaves) >= MANY_LEAVES:
        db.fetch(sql.REFRESH_STATISTICS)
    session.omit(document.id, notes)
    db.fetch(sql.SET_STATUS, document.id, "summarising")
    session.send(MODEL, _summaries(document.id, ids, leaves) or [body(document.id, "build")])
    db.commit()


def _summaries(document_id: str, ids: list[str], leaves: list[Leaf]) -> list[str]:
    return [
        body(document_id, "summarise", node=node)
        for node, leaf in zip(ids, leaves, strict=True)
        if not leaf.blank
    ]


def _lines(session: Session, document: Document) -> tuple[array[int], bytearray]:
    """Each line as what it takes in a prompt, and its flags."""
    costs: array[int] = array("i")
    flags = bytearray()
    for start in range(1, document.line_count + 1, LINES_AT_ONCE):
        row = session.db.fetch(sql.CUT_LINES, document.id, start, start + LINES_AT_ONCE - 1, NOTHING)[0]
        flags.extend(row["flags"])
        costs.extend(
            cost(chars, bool(flag & BLANK)) for chars, flag in zip(row["chars"], row["flags"], strict=True)
        )
    return costs, flags


def build_document(session: Session, message: Message, document: Document) -> None:
    """The nodes above the leaves, and messages for those whose children all have their summaries."""
    model = document.need_model()
    db = session.db
    session.lock_one(document.id, "summarising")
    session.delete(message.queue, [message.id])
    if db.fetch(sql.UNSUMMARISED, document.id)[0]["any_left"]:
        raise Superseded
    rows = db.fetch(sql.LEAVES, document.id)
    leaves = [
        RolledLeaf(row["id"], row["line_start"], row["line_end"], row["title"], row["level"]) for row in rows
    ]
    tables = {row["id"] for row in rows if row["kind"] == "table"}
    headings = [
        Boundary(row["line_no"], row["title"], row["level"])
        for row in db.fetch(sql.BOUNDARIES, document.id, True)
    ]
    parents = roll_up(leaves, headings, model.fit.fan_out)
    above = {child: parent.id for parent in parents for child in parent.children}
    for parent in parents:  # children before their parents: a table in several leaves is a table
        if tables.issuperset(parent.children):
            tables.add(parent.id)
    db.fetch(
        sql.BUILD_TREE,
        document.id,
        [parent.id for parent in parents],
        [above.get(parent.id) for parent in parents],
        [parent.title for parent in parents],
        [parent.level for parent in parents],
        ["table" if parent.id in tables else "text" for parent in parents],
        [leaf.id for leaf in leaves],
        [above.get(leaf.id) for leaf in leaves],
    )
    if len(leaves) >= MANY_LEAVES:
        db.fetch(sql.REFRESH_STATISTICS)
    if empty := _empty(session, document.id, parents):
        db.fetch(sql.SET_EMPTY, document.id, empty)
    db.fetch(sql.SET_STATUS, document.id, "building")
    send_parents(session, document.id)
    db.commit()


def _empty(session: Session, document_id: str, parents: list[Parent]) -> list[str]:
    """Parents above leaves without anything to read: there is nothing to summarise."""
    full = {row["id"] for row in session.db.fetch(sql.LEAVES_WITH_BULLETS, document_id)}
    empty: list[str] = []
    for parent in parents:  # children before their parents
        if full.isdisjoint(parent.children):
            empty.append(parent.id)
        else:
            full.add(parent.id)
    return empty


def send_parents(session: Session, document_id: str, summarised: Sequence[str] | None = None) -> None:
    """Messages for the nodes whose children have their summaries, or for the finish. summarised: those that have just got
    theirs; under the document's lock, so that the last of a node's children is seen to be the last."""
    parents = session.db.fetch(sql.READY_PARENTS, document_id, summarised)
    if parents:
        session.send(MODEL, [body(document_id, "rollup", node=row["id"]) for row in parents])
    elif not session.db.fetch(sql.UNSUMMARISED, document_id)[0]["any_left"]:
        session.send(MODEL, [body(document_id, "finish")])


def finish_document(session: Session, message: Message, document: Document) -> None:
    """Ready: the constraints are verified at this commit, and this version becomes current."""
    db = session.db
    db.fetch(sql.LOCK_VERSIONS, document.id)
    session.lock_one(document.id, "building")
    session.delete(message.queue, [message.id])
    if db.fetch(sql.UNSUMMARISED, document.id)[0]["any_left"]:
        raise Superseded
    db.fetch(batches.DROP_ALL, document.id)
    db.fetch(sql.RETIRE_OLDER, document.id)
    db.fetch(sql.RETIRE_ATTACHMENTS, document.id)
    db.fetch(sql.READY, document.id)
    session.notify(document.id)
    db.commit()


def resume_document(session: Session, message: Message, document: Document) -> None:
    """A document that was converted before, and then failed or was cancelled: on from where it was. What is done stays
    done, so that only the missing part is paid again."""
    db = session.db
    session.lock_one(document.id, "pending")
    session.delete(message.queue, [message.id])
    state = db.fetch(sql.HOW_FAR, document.id)[0]
    if state["windows"]:
        status, bodies = (
            "marking",
            [body(document.id, "mark", window=ordinal) for ordinal in state["windows"]],
        )
    elif not state["nodes"]:
        status, bodies = "marking", [body(document.id, "cut")]
    elif state["leaves"]:
        status, bodies = (
            "summarising",
            [body(document.id, "summarise", node=node) for node in state["leaves"]],
        )
    elif not state["built"]:
        status, bodies = "summarising", [body(document.id, "build")]
    else:
        status, bodies = "building", []
    db.fetch(sql.SET_STATUS, document.id, status)
    if bodies:
        session.send(MODEL, bodies)
    else:
        send_parents(session, document.id)
    db.commit()
