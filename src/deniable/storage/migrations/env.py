"""Run by Alembic with the connection that `Store.create` and `Store.upgrade` give it."""

from alembic import context

from deniable.storage.tables import metadata

context.configure(
    connection=context.config.attributes["connection"], target_metadata=metadata, transaction_per_migration=True
)
with context.begin_transaction():
    context.run_migrations()
