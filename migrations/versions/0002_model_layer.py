"""Remote models, budgets, stored replies, and what a call cost."""

from tq_loader.migration import run_sql

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    run_sql(__file__)
