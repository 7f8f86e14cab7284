"""What a migration needs: NNNN_name.py runs the NNNN_name.sql beside it."""

from __future__ import annotations

from pathlib import Path

from tq_loader.script import run_script


def run_sql(file: str) -> None:
    """Runs the SQL file beside the migration `file` through the raw connection of its transaction."""
    import psycopg
    from alembic import op

    path = Path(file).with_suffix(".sql")
    raw = op.get_bind().connection.driver_connection
    assert isinstance(raw, psycopg.Connection)
    run_script(raw, path.read_text(encoding="utf-8"), path.name)
