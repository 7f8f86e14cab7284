"""Brings a database to the schema and code that this version carries, in one transaction.

Advisory lock, schemas and extensions, the queues (pgmq), Alembic to head, every file of sql/ in name order,
NOTIFY pgrst, commit. What fails undoes all of it: there is no state between two versions.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tq_loader.home import migrations_dir, sql_dir
from tq_loader.problem import Problem
from tq_loader.script import ScriptError, run_script

if TYPE_CHECKING:
    import psycopg

# Any constant will do, as long as nothing else in the database takes it: "tq" in ASCII, then 1.
LOCK = 0x7471_0001
OLDEST_SERVER = 150000

Say = Callable[[str], None]


@dataclass(slots=True, frozen=True)
class Migrated:
    """What a run did: revisions before and after, how many files of sql/ ran, which pgmq is there."""

    before: str | None
    after: str | None
    files: int
    pgmq: str


def sql_files() -> list[Path]:
    return sorted(sql_dir().glob("*.sql"))


def code_hash() -> str:
    """sha256 over everything that `migrate` runs: tells whether a database has seen exactly this."""
    digest = hashlib.sha256()
    for path in [*sorted((migrations_dir() / "versions").glob("*.*")), *sql_files()]:
        if path.suffix in {".sql", ".py"}:
            digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def is_current(url: str) -> bool:
    """Whether the database was migrated with exactly the files that this version carries."""
    import psycopg

    with psycopg.connect(url) as connection:
        there = connection.execute("SELECT to_regclass('tq_private.installed') IS NOT NULL").fetchone()
        if not (there and there[0]):
            return False
        row = connection.execute(
            "SELECT version FROM tq_private.installed WHERE component = 'code'"
        ).fetchone()
    return row is not None and row[0] == code_hash()


def migrate(url: str, say: Say = lambda line: None) -> Migrated:
    """Migrates the database at `url`; as a superuser, since only one may make PL/Python functions.

    Raises:
        Problem: naming the file, the line and the SQLSTATE of the statement that failed.
    """
    import psycopg
    from sqlalchemy import create_engine
    from sqlalchemy.pool import NullPool

    # Alembic wants SQLAlchemy, all else the connection below it: SQLAlchemy's own paths trip over % and :x.
    try:
        with closing(psycopg.connect(url)) as raw:
            engine = create_engine("postgresql+psycopg://", creator=lambda: raw, poolclass=NullPool)
            with engine.connect() as outer, outer.begin():
                return _migrate(outer, raw, say)
    except ScriptError as error:
        raise Problem(f"migrate {error.where}", error.said, error.hint or "nothing was changed") from error
    except psycopg.OperationalError as error:
        raise Problem("migrate", str(error).strip(), "is the server up? `tq doctor` looks closer") from error
    except psycopg.Error as error:
        hint = error.diag.message_hint or "nothing was changed"
        raise Problem("migrate", f"{error.diag.message_primary or error} [{error.sqlstate}]", hint) from error


def _migrate(outer: Any, raw: psycopg.Connection[Any], say: Say) -> Migrated:
    # Before anything else: a superuser runs all this, and a function that somebody put into the schema public may fit a
    # call better than the server's own.
    raw.execute("SET LOCAL search_path = pg_catalog, pg_temp")
    raw.execute("SELECT pg_advisory_xact_lock(%s)", [LOCK])
    raw.add_notice_handler(lambda notice: _tell(notice, say))
    _check_server(raw)
    raw.execute("SET LOCAL client_min_messages = warning")
    raw.execute("CREATE SCHEMA IF NOT EXISTS tq")
    raw.execute("CREATE SCHEMA IF NOT EXISTS tq_private")
    _make_extensions(raw)
    raw.execute(
        "CREATE TABLE IF NOT EXISTS tq_private.installed"
        " (component text PRIMARY KEY, version text NOT NULL,"
        " installed_at timestamptz NOT NULL DEFAULT now())"
    )
    pgmq = _install_pgmq(raw, say)
    before = _revision(raw)
    _check_applied(raw)
    _upgrade(outer)
    for name, digest in migration_hashes().items():
        _record(raw, f"migration {name}", digest)
    after = _revision(raw)
    if before != after:
        say(f"schema {before or 'empty'} → {after}")
    files = sql_files()
    for path in files:
        run_script(raw, path.read_text(encoding="utf-8"), path.name)
    _record(raw, "code", code_hash())
    raw.execute("NOTIFY pgrst, 'reload schema'")
    say(f"{len(files)} files of SQL functions in place")
    return Migrated(before, after, len(files), pgmq)


def _tell(notice: Any, say: Say) -> None:
    if notice.severity_nonlocalized == "WARNING":
        say(f"warning: {notice.message_primary}")


def _check_server(raw: psycopg.Connection[Any]) -> None:
    if raw.info.server_version < OLDEST_SERVER:
        raise Problem(
            "migrate", f"the server is {raw.info.server_version // 10000}", "tq needs PostgreSQL 15 or newer"
        )
    row = raw.execute(
        "SELECT rolsuper, current_setting('server_encoding') FROM pg_roles WHERE rolname = current_user"
    ).fetchone()
    if row is None or not row[0]:
        raise Problem(
            "migrate",
            "the role is no superuser",
            "only a superuser may make PL/Python functions: connect as one",
        )
    if row[1] != "UTF8":
        raise Problem("migrate", f"the database is encoded in {row[1]}", "make one with ENCODING 'UTF8'")


def _make_extensions(raw: psycopg.Connection[Any]) -> None:
    packages = {"plpython3u": "postgresql-plpython3-NN", "btree_gist": "postgresql-NN (its contrib modules)"}
    major = raw.info.server_version // 10000
    for name, package in packages.items():
        known = raw.execute("SELECT 1 FROM pg_available_extensions WHERE name = %s", [name]).fetchone()
        if known is None:
            raise Problem(
                "migrate",
                f"the server has no extension {name}",
                f"install the package {package.replace('NN', str(major))}",
            )
        _make_extension(raw, name)
    # pg_cron can be made in one database of a cluster alone; everywhere else scheduling is simply not there.
    row = raw.execute("SELECT current_setting('cron.database_name', true) = current_database()").fetchone()
    if row is not None and row[0]:
        _make_extension(raw, "pg_cron")


def _make_extension(raw: psycopg.Connection[Any], name: str) -> None:
    """name: one of ours. What brings no schema of its own goes to public."""
    raw.execute("SET LOCAL search_path = public")
    raw.execute(f"CREATE EXTENSION IF NOT EXISTS {name}")
    raw.execute("SET LOCAL search_path = pg_catalog, pg_temp")


def _install_pgmq(raw: psycopg.Connection[Any], say: Say) -> str:
    """pgmq once: as the extension where the server has it, else from the SQL that the Python package carries.

    That SQL cannot run twice and has no upgrade path, so what is there stays, and its version is on record.
    """
    row = raw.execute(
        "SELECT (SELECT extversion FROM pg_extension WHERE extname = 'pgmq'),"
        " to_regclass('pgmq.meta') IS NOT NULL,"
        " (SELECT version FROM tq_private.installed WHERE component = 'pgmq'),"
        " EXISTS (SELECT FROM pg_available_extensions WHERE name = 'pgmq')"
    ).fetchone()
    assert row is not None
    extension, there, recorded, available = row
    if extension is not None:
        version = f"{extension} (extension)"
    elif there:
        version = recorded or "unknown (found)"
    elif available:
        _make_extension(raw, "pgmq")
        found = raw.execute("SELECT extversion FROM pg_extension WHERE extname = 'pgmq'").fetchone()
        assert found is not None
        version = f"{found[0]} (extension)"
    else:
        from pgmq.install import get_embedded_install_sql, get_embedded_sql_version

        version = str(get_embedded_sql_version())
        run_script(raw, get_embedded_install_sql(), "pgmq.sql")
        say(f"queues: pgmq {version} installed from SQL")
    if version != recorded:
        _record(raw, "pgmq", version)
    return str(version)


def _record(raw: psycopg.Connection[Any], component: str, version: str) -> None:
    raw.execute(
        "INSERT INTO tq_private.installed (component, version) VALUES (%s, %s)"
        " ON CONFLICT (component) DO UPDATE SET version = excluded.version, installed_at = now()"
        " WHERE installed.version IS DISTINCT FROM excluded.version",
        [component, version],
    )


def _revision(raw: psycopg.Connection[Any]) -> str | None:
    there = raw.execute("SELECT to_regclass('tq_private.alembic_version') IS NOT NULL").fetchone()
    if not (there and there[0]):
        return None
    row = raw.execute("SELECT version_num FROM tq_private.alembic_version").fetchone()
    return None if row is None else str(row[0])


def migration_hashes() -> dict[str, str]:
    """sha256 of each migration's SQL, by the file's name without .sql."""
    return {
        path.stem: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted((migrations_dir() / "versions").glob("*.sql"))
    }


def _check_applied(raw: psycopg.Connection[Any]) -> None:
    """A migration that ran here must still be the same file, or nobody knows what this schema is."""
    hashes = migration_hashes()
    rows = raw.execute(
        "SELECT substr(component, 11), version FROM tq_private.installed WHERE component LIKE 'migration %'"
    ).fetchall()
    for name, digest in rows:
        if name in hashes and hashes[name] != digest:
            raise Problem(
                f"migrate {name}.sql",
                "it is not the file that ran in this database",
                "bring the old file back and write a new migration; or, where no document is needed, begin"
                " anew: `tq down --delete`, then `tq up`",
            )


def _upgrade(outer: Any) -> None:
    from alembic import command
    from alembic.util.exc import CommandError

    config = alembic_config()
    config.attributes["connection"] = outer
    try:
        command.upgrade(config, "head")
    except CommandError as error:
        raise Problem(
            "migrate",
            str(error),
            "a database migrated by a newer tq needs that version, or newer, of the program",
        ) from error


def alembic_config() -> Any:
    """Alembic's configuration; there is no alembic.ini, since the connection always comes from `migrate`."""
    from alembic.config import Config

    config = Config()
    # Config reads % as the start of a reference.
    config.set_main_option("script_location", str(migrations_dir()).replace("%", "%%"))
    return config


def head() -> str | None:
    """The newest revision this version carries."""
    from alembic.script import ScriptDirectory

    return ScriptDirectory.from_config(alembic_config()).get_current_head()
