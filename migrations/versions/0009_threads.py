"""Threads of follow-up questions, and questions of the queue."""

from tq_loader.migration import run_sql

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    run_sql(__file__)
