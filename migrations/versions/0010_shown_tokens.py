"""What replies show of a model's tokens."""

from tq_loader.migration import run_sql

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    run_sql(__file__)
