"""Search modes."""

from tq_loader.migration import run_sql

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    run_sql(__file__)
