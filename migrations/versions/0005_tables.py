"""Tables of a page, and what a second extraction found."""

from tq_loader.migration import run_sql

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    run_sql(__file__)
