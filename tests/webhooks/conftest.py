"""What comes in at the doors is kept on SQLite and on PostgreSQL."""

from __future__ import annotations

from tests.support.databases import _postgres, _sqlite, database_url, postgres_url, sqlite_url

__all__ = ["_postgres", "_sqlite", "database_url", "postgres_url", "sqlite_url"]
