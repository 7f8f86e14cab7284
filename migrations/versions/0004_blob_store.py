"""Bytes outside the database."""

from tq_loader.migration import run_sql

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    run_sql(__file__)
