"""Brings a database to the schema of this version.

Invariant: any number of nodes may start at once; one migrates in one transaction, the others wait and find nothing to do.
"""

from __future__ import annotations

from pathlib import Path

import sqlalchemy as sa
from alembic import command
from alembic.config import Config

from storage.database import sqlite_engine, sync_url

_LOCK = 0x636C617261  # any number, the same on all nodes


def upgrade(url: str, revision: str = "head") -> None:
    """Runs the migrations up to `revision`; blocks. A failed one leaves the database as it was."""
    target = sync_url(url)
    if target.get_backend_name() == "sqlite":
        Path(target.database or "").parent.mkdir(parents=True, exist_ok=True)
        engine = sqlite_engine(target)
    else:
        engine = sa.create_engine(target, poolclass=sa.NullPool)
    config = Config()
    config.set_main_option("script_location", "storage:migrations")
    try:
        with engine.begin() as conn:
            if conn.dialect.name == "postgresql":
                conn.execute(sa.select(sa.func.pg_advisory_xact_lock(_LOCK)))
            config.attributes["connection"] = conn
            command.upgrade(config, revision)
    finally:
        engine.dispose()
