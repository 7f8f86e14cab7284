"""A database of its own for a benchmark, dropped when it ends."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from psycopg import sql

from tq_loader.home import database_url, find_home
from tq_loader.migrate import migrate

INSTANCE = "bench"


@contextmanager
def fresh() -> Iterator[str]:
    """URL of a migrated, empty database in the instance `bench`."""
    name = f"bench_{os.getpid()}"
    with psycopg.connect(database_url(instance=INSTANCE), autocommit=True) as server:
        server.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        try:
            url = find_home().instance(INSTANCE).url(name)
            migrate(url)
            yield url
        finally:
            server.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))
