"""A ready document to attack, and its parts by name; a directory for files' bytes."""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tq_loader.cluster import account
from tq_loader.home import Instance

Connection = psycopg.Connection[Any]


@dataclass(frozen=True, slots=True)
class Tree:
    """100 lines, ten leaves of ten lines; `left` holds the first four, `right` the other six, `root` both."""

    doc: uuid.UUID
    root: uuid.UUID
    left: uuid.UUID
    right: uuid.UUID
    leaves: tuple[uuid.UUID, ...]


def make_tree(db: Connection, name: str) -> Tree:
    row = db.execute("SELECT tq.load_text(%s, %s)", [name, f"bytes of {name}"]).fetchone()
    assert row is not None
    tree = Tree(row[0], uuid.uuid4(), uuid.uuid4(), uuid.uuid4(), tuple(uuid.uuid4() for _ in range(10)))
    with db.transaction():
        db.execute(
            "INSERT INTO tq.line (document_id, line_no, text)"
            " SELECT %s, n, 'line ' || n FROM generate_series(1, 100) AS n",
            [tree.doc],
        )
        db.execute("UPDATE tq.document SET line_count = 100, status = 'building' WHERE id = %s", [tree.doc])
        db.execute(
            "INSERT INTO tq.provisional_window (document_id, ordinal, line_start, line_end)"
            " SELECT %s, k, k * 25 - 24, k * 25 FROM generate_series(1, 4) AS k",
            [tree.doc],
        )
        db.execute(
            "INSERT INTO tq.node (document_id, id, is_leaf, line_start, line_end)"
            " SELECT %s, u.id, TRUE, u.k * 10 - 9, u.k * 10 FROM unnest(%s::uuid[]) WITH ORDINALITY AS u (id, k)",
            [tree.doc, list(tree.leaves)],
        )
        db.execute(
            "SELECT tq_private.build_tree(%s, %s, %s, %s, %s::int[], %s, %s, %s)",
            [
                tree.doc,
                [tree.root, tree.left, tree.right],
                [None, tree.root, tree.root],
                ["all", "left", "right"],
                [None, 1, 1],
                ["text"] * 3,
                list(tree.leaves),
                [tree.left] * 4 + [tree.right] * 6,
            ],
        )
        db.execute(
            "INSERT INTO tq.bullet (document_id, node_id, ordinal, text, line_start, line_end)"
            " SELECT document_id, id, 1, 'fact', line_start, line_start FROM tq.node WHERE document_id = %s",
            [tree.doc],
        )
        db.execute("UPDATE tq.document SET status = 'ready', current = TRUE WHERE id = %s", [tree.doc])
    return tree


@pytest.fixture
def tree(db: Connection) -> Tree:
    return make_tree(db, "policy.md")


@pytest.fixture
def make(db: Connection) -> Callable[[str], Tree]:
    """Makes further ready documents."""
    return lambda name: make_tree(db, name)


@pytest.fixture
def folder(server: Instance) -> Iterator[Path]:
    """A directory of the server's account."""
    path = server.root / f"blobs_{os.getpid()}"
    path.mkdir(mode=0o700)
    who = account()
    if who.borrowed:
        os.chown(path, who.uid, who.gid)
    yield path
    shutil.rmtree(path)
