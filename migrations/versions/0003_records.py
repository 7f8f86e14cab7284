"""Rows of the database as documents, and documents that were attached to others."""

from tq_loader.migration import run_sql

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    run_sql(__file__)
