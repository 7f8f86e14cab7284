"""Alembic's entry: runs the migrations on the connection and in the transaction that `tq migrate` opened."""

from alembic import context

connection = context.config.attributes.get("connection")
if connection is None:
    raise SystemExit("migrations run by `tq migrate` alone, which holds the lock and the one transaction")

context.configure(
    connection=connection,
    target_metadata=None,
    version_table="alembic_version",
    version_table_schema="tq_private",
)
with context.begin_transaction():
    context.run_migrations()
