"""Whole calls run on SQLite here and on both databases in the stories."""

from __future__ import annotations

from tests.support.databases import _sqlite, sqlite_url

__all__ = ["_sqlite", "sqlite_url"]
