"""How deep a strategy goes, and how far its follow-up questions."""

from tq_loader.migration import run_sql

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    run_sql(__file__)
