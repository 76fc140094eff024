"""Alembic's entry: runs the migrations on the connection that `storage.migrate` opened, inside its transaction."""

from __future__ import annotations

from alembic import context

from storage.tables import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    transactional_ddl=True,
)
context.run_migrations()
