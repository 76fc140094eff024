"""Parity is shown on running gateways."""

from __future__ import annotations

from tests.support.databases import _postgres, _sqlite, database_url, postgres_url, sqlite_url

__all__ = ["_postgres", "_sqlite", "database_url", "postgres_url", "sqlite_url"]
