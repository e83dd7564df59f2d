"""Alembic's entry point: one transaction, one lock, the connection that `migrate` opened."""

from alembic import context
from sqlalchemy import Connection, text

from locktender.storage.kernel.tables import metadata

_LOCK = 0x10C7


def _run(connection: Connection) -> None:
    connection.execute(text("select pg_advisory_xact_lock(:key)"), {"key": _LOCK})
    context.configure(connection=connection, target_metadata=metadata, transaction_per_migration=False)
    with context.begin_transaction():
        context.run_migrations()


_run(context.config.attributes["connection"])
