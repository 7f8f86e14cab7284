"""The first schema: documents, lines, trees, questions and answers."""

from tq_loader.migration import run_sql

revision = "0001"
down_revision = None


def upgrade() -> None:
    run_sql(__file__)
