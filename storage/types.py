"""Column types and statement helpers that mean the same on SQLite and on PostgreSQL.

Statements of the daily paths are built once, when a module is loaded, and executed with values: building one costs several times what running it does
(measured: 0.49 ms against 0.17 for an INSERT, 0.70 against 0.11 for an UPDATE … RETURNING). Their parameters are named `at_…`, so that none is taken for a
column.

Invariants: an instant that is read is aware UTC, whatever the database keeps; a naive instant is never written. JSON comes back as it went in.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
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


Inserting = Callable[[sa.Table], sqlite.Insert]


class Upsert:
    """An INSERT with an ON CONFLICT clause, built once for each dialect: `build` is given the dialect's `insert`."""

    def __init__(self, build: Callable[[Inserting], sa.Executable]) -> None:
        # Both dialects' inserts have the methods that are used here, under the same names.
        self._built = {"sqlite": build(sqlite.insert), "postgresql": build(postgresql.insert)}  # type: ignore[arg-type]

    def run(self, conn: sa.Connection, values: Mapping[str, Any]) -> sa.CursorResult[Any]:
        """Executes it with one row of values."""
        return conn.execute(self._built[conn.dialect.name], values)


def once(table: sa.Table, returning: sa.Column[Any], *key: str) -> Upsert:
    """Inserts a row unless one with the same key (or any unique key) is there; returns the column where it did."""
    return Upsert(
        lambda insert: insert(table).on_conflict_do_nothing(index_elements=list(key) or None).returning(returning)
    )


def latest(table: sa.Table, *key: str) -> Upsert:
    """Inserts a row, or puts its values in the place of the one with the same key."""

    def build(insert: Inserting) -> sa.Executable:
        new = insert(table)
        others = {column.name: new.excluded[column.name] for column in table.c if column.name not in key}
        return new.on_conflict_do_update(index_elements=list(key), set_=others)

    return Upsert(build)


def one_of(column: sa.ColumnElement[Any], values: Iterable[str]) -> sa.ColumnElement[bool]:
    """`column IN (…)` with the values written into the statement, so that partial indexes are found by both planners."""
    ordered = sorted(str(value) for value in values)
    if len(ordered) == 1:
        return column == sa.bindparam(None, ordered[0], literal_execute=True)
    return column.in_(sa.bindparam(None, ordered, expanding=True, literal_execute=True))
