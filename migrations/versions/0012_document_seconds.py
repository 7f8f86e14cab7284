"""A limit of time for the ingest of one document."""

from tq_loader.migration import run_sql

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    run_sql(__file__)
