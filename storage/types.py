"""Column types and statement helpers that mean the same on SQLite and on PostgreSQL.

Invariants: an instant that is read is aware UTC, whatever the database keeps; a naive instant is never written. JSON comes back as it went in.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine.interfaces import Dialect
from sqlalchemy.types import TypeDecorator, TypeEngine


class Instant(TypeDecorator[datetime]):
    """An aware UTC datetime, microseconds kept: `timestamptz` on PostgreSQL, sortable text on SQLite."""

    impl = sa.DateTime
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        return dialect.type_descriptor(sa.DateTime(timezone=dialect.name == "postgresql"))

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError(f"a naive instant cannot be stored: {value!r}")
        utc = value.astimezone(UTC)
        return utc if dialect.name == "postgresql" else utc.replace(tzinfo=None)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


Json = sa.JSON(none_as_null=True)


def dumps(value: Any) -> str:
    """JSON text; mappings of any class and instants are taken, everything else that JSON does not know is an error."""
    return json.dumps(value, default=_plain, ensure_ascii=False, separators=(",", ":"))


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, datetime):
        return value.isoformat()
    raise TypeError(f"not JSON: {type(value).__name__}")


def upsert(conn: sa.Connection, table: sa.Table) -> postgresql.Insert | sqlite.Insert:
    """An INSERT that knows ON CONFLICT, in the dialect of the connection."""
    return postgresql.insert(table) if conn.dialect.name == "postgresql" else sqlite.insert(table)


def one_of(column: sa.ColumnElement[Any], values: Iterable[str]) -> sa.ColumnElement[bool]:
    """`column IN (…)` with the values written into the statement, so that partial indexes are found by both planners."""
    ordered = sorted(str(value) for value in values)
    if len(ordered) == 1:
        return column == sa.bindparam(None, ordered[0], literal_execute=True)
    return column.in_(sa.bindparam(None, ordered, expanding=True, literal_execute=True))
