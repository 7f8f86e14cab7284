"""The use-case layer."""

from tq_loader.migration import run_sql

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    run_sql(__file__)
