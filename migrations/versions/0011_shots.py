"""Worked examples for the prompt of a node."""

from tq_loader.migration import run_sql

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    run_sql(__file__)
