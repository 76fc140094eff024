"""Transactions: one open door for plain functions, on SQLite and on PostgreSQL.

A transaction is a plain function of `Tx`. SQLite runs it on one writer thread (`BEGIN IMMEDIATE`, WAL, `synchronous=FULL`), PostgreSQL through
psycopg 3 under `run_sync` in READ COMMITTED with local time-outs. Reads have connections of their own that cannot write.

Invariants:
* `Tx.now` is read once per transaction, from the database's clock plus the deployment's offset.
* Work that has not started when its caller is cancelled never runs; started work runs to its end, and `close` waits for it.
* A serialisation failure, a deadlock or a lock time-out runs the whole function again with the same arguments; a broken constraint never does.
* A connection lost before COMMIT changed nothing and the function runs again. Lost at COMMIT the outcome is unknown: a `repeatable` function
  runs again, because it looks its own key up first; every other one ends in `StorageUnavailable`.
* A caller sees `StorageUnavailable`, or what its function raised; never a driver's connection error.
"""

from __future__ import annotations

import asyncio
import logging
import random
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any, Concatenate, ParamSpec, TypeVar

import sqlalchemy as sa
from sqlalchemy import exc
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine
from sqlalchemy.pool import QueuePool

from pipeline.errors import StorageUnavailable
from pipeline.ports import Tx
from storage.types import dumps

P = ParamSpec("P")
R = TypeVar("R")

# Seconds, or what to add to the database's clock reading (a virtual clock answers `virtual - reading`).
Offset = float | Callable[[datetime], timedelta]

RETRIES = 3
SLOW = 0.25
_RETRYABLE = frozenset({"40001", "40P01", "55P03"})
_LITE_TROUBLE = ("SQLITE_BUSY", "SQLITE_IOERR", "SQLITE_FULL", "SQLITE_CANTOPEN")
_TIMED_OUT = frozenset({"57014", "25P03", "25P04"})

log = logging.getLogger("clara.storage")


def repeatable(fn: Callable[P, R]) -> Callable[P, R]:
    """Marks a function that looks its idempotency key up first, so that running it twice is running it once."""
    fn.repeatable = True  # type: ignore[attr-defined]
    return fn


class _LostAtCommit(Exception):
    """The connection broke while COMMIT was on its way."""


def sync_url(url: str) -> sa.URL:
    """The URL with the driver that this package is written for."""
    parsed = sa.make_url(url)
    if parsed.get_backend_name() == "postgresql":
        return parsed.set(drivername="postgresql+psycopg")
    return parsed.set(drivername="sqlite")


class SqlDatabase:
    """Stands behind `pipeline.ports.Database`.

    `url`: `sqlite:////absolute/file` or `postgresql://…`. `offset`: see `Offset`. `connections`: writing ones on PostgreSQL, and reading ones on
    either. `slow`: seconds after which a function is reported. Make it inside the running loop; end it with `close`.
    """

    def __init__(self, url: str, *, offset: Offset = 0.0, connections: int = 8, slow: float = SLOW) -> None:
        parsed = sync_url(url)
        postgres = parsed.get_backend_name() == "postgresql"
        self._backend: _Backend = (_Postgres if postgres else _Sqlite)(parsed, _shift(offset), connections)
        self._running: set[asyncio.Future[Any]] = set()
        self._closed = False
        self._slow = slow

    async def transact(self, fn: Callable[Concatenate[Tx, P], R], *args: P.args, **kwargs: P.kwargs) -> R:
        """Runs `fn` in a writing transaction; see the module for what is retried."""
        return await self._run(fn, lambda tx: fn(tx, *args, **kwargs), self._backend.write)

    async def read(self, fn: Callable[Concatenate[Tx, P], R], *args: P.args, **kwargs: P.kwargs) -> R:
        """Runs `fn` on a connection that sees one snapshot and cannot write."""
        return await self._run(fn, lambda tx: fn(tx, *args, **kwargs), self._backend.read)

    async def close(self) -> None:
        """Refuses new work, waits for what runs, closes the connections."""
        self._closed = True
        while self._running:
            await asyncio.wait(set(self._running))
        await self._backend.close()

    async def _run(self, fn: Callable[..., Any], body: Callable[[Tx], R], door: _Door) -> R:
        if self._closed:
            raise StorageUnavailable("the database is closed")
        work = _Work(fn, body, self._slow)
        task = asyncio.ensure_future(_persist(work, door))
        self._running.add(task)
        task.add_done_callback(self._done)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            if work.withdraw():
                task.cancel()
            raise

    def _done(self, task: asyncio.Future[Any]) -> None:
        self._running.discard(task)
        if not task.cancelled():
            task.exception()  # a cancelled caller does not collect it; `_persist` has logged it


class _Withdrawn(Exception):
    """The caller went away before the work had started."""


class _Work:
    """One function on its way: it can be withdrawn until it starts."""

    def __init__(self, fn: Callable[..., Any], body: Callable[[Tx], Any], slow: float) -> None:
        self.name = getattr(fn, "__qualname__", repr(fn))
        self.repeatable = bool(getattr(fn, "repeatable", False))
        self._body = body
        self._slow = slow
        self._started = False
        self._withdrawn = False
        self._deciding = threading.Lock()  # between the loop's thread and the writer's

    def withdraw(self) -> bool:
        """True where the work had not started and now never will."""
        with self._deciding:
            self._withdrawn = not self._started
            return self._withdrawn

    def start(self) -> None:
        with self._deciding:
            if self._withdrawn:
                raise _Withdrawn
            self._started = True

    def run(self, tx: Tx) -> Any:
        began = time.monotonic()
        try:
            return self._body(tx)
        finally:
            took = time.monotonic() - began
            if took > self._slow:
                log.warning("storage.slow", extra={"function": self.name, "duration_s": round(took, 3)})


_Door = Callable[[_Work], Awaitable[Any]]


async def _persist(work: _Work, door: _Door) -> Any:
    """Tries `door` until it is through, or until trying again could do harm or would not help."""
    for number in range(1, RETRIES + 1):
        try:
            return await door(work)
        except _Withdrawn:
            raise asyncio.CancelledError from None
        except _LostAtCommit as lost:
            if not work.repeatable or number == RETRIES:
                log.warning("storage.lost_at_commit", extra={"function": work.name})
                raise StorageUnavailable(f"{work.name}: the connection was lost at its commit") from lost
        except (exc.DBAPIError, exc.TimeoutError) as problem:
            kind = _kind(problem)
            if kind == "fault":
                raise
            if kind == "unavailable" or number == RETRIES:
                log.warning("storage.unavailable", extra={"function": work.name, "error": type(problem).__name__})
                raise StorageUnavailable(f"{work.name}: {type(problem).__name__}") from problem
        await asyncio.sleep(random.uniform(0.01, 0.05) * number)
    raise AssertionError("unreachable")


def _kind(problem: Exception) -> str:
    """`again`: nothing was committed and it may work; `unavailable`: nothing was committed; `fault`: the function's own."""
    if isinstance(problem, exc.TimeoutError):
        return "unavailable"
    assert isinstance(problem, exc.DBAPIError)
    lite = getattr(problem.orig, "sqlite_errorname", None)
    if lite is not None:
        return "again" if lite.startswith(_LITE_TROUBLE) else "fault"
    state = getattr(problem.orig, "sqlstate", None)
    if state in _RETRYABLE or problem.connection_invalidated:
        return "again"
    if state in _TIMED_OUT:
        return "unavailable"
    if isinstance(problem, exc.OperationalError) and (state is None or state[:2] in ("08", "53", "57")):
        return "again"  # cannot connect, out of connections, shutting down
    return "fault"


def _shift(offset: Offset) -> Callable[[datetime], datetime]:
    if callable(offset):
        return lambda reading: reading + offset(reading)
    still = timedelta(seconds=offset)
    return lambda reading: reading + still


class _Backend(ABC):
    """A writing door, a reading door, and the way out."""

    @abstractmethod
    async def write(self, work: _Work) -> Any: ...

    @abstractmethod
    async def read(self, work: _Work) -> Any: ...

    @abstractmethod
    async def close(self) -> None: ...


class _Sqlite(_Backend):
    """One thread writes on one connection; the others read. SQLite's clock is the machine's own."""

    def __init__(self, url: sa.URL, shift: Callable[[datetime], datetime], connections: int) -> None:
        self._shift = shift
        self._writer = sqlite_engine(url, pool_size=1)
        self._reader = sqlite_engine(url, pool_size=connections, read_only=True)
        self._writing = ThreadPoolExecutor(1, thread_name_prefix="clara-writer")
        self._reading = ThreadPoolExecutor(connections, thread_name_prefix="clara-reader")

    async def write(self, work: _Work) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self._writing, self._transaction, self._writer, work)

    async def read(self, work: _Work) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self._reading, self._transaction, self._reader, work)

    async def close(self) -> None:
        for pool, engine in ((self._writing, self._writer), (self._reading, self._reader)):
            await asyncio.to_thread(pool.shutdown)
            engine.dispose()

    def _transaction(self, engine: sa.Engine, work: _Work) -> Any:
        with engine.connect() as conn:
            work.start()
            with conn.begin():
                return work.run(Tx(conn, self._shift(datetime.now(UTC))))


def sqlite_engine(url: sa.URL, *, pool_size: int = 1, read_only: bool = False) -> sa.Engine:
    """An engine whose transactions are real: BEGIN IMMEDIATE where it writes, a stable snapshot where it only reads."""
    engine = sa.create_engine(
        url,
        poolclass=QueuePool,
        pool_size=pool_size,
        max_overflow=0,
        connect_args={"check_same_thread": False, "timeout": 10.0},
        json_serializer=dumps,
    )

    @sa.event.listens_for(engine, "connect")
    def _connect(connection: Any, _record: Any) -> None:
        connection.isolation_level = None  # the driver opens no transaction by itself; `begin` below does
        cursor = connection.cursor()
        for pragma in ("journal_mode=WAL", "synchronous=FULL", "busy_timeout=10000", "foreign_keys=ON"):
            cursor.execute(f"PRAGMA {pragma}")
        if read_only:
            cursor.execute("PRAGMA query_only=ON")
        cursor.close()

    @sa.event.listens_for(engine, "begin")
    def _begin(conn: sa.Connection) -> None:
        conn.exec_driver_sql("BEGIN" if read_only else "BEGIN IMMEDIATE")

    return engine


_OPENING = sa.text(
    "SELECT set_config('lock_timeout', '2000', true), set_config('statement_timeout', '3000', true), "
    "set_config('idle_in_transaction_session_timeout', '5000', true), clock_timestamp()"
)


class _Postgres(_Backend):
    """psycopg 3 under the async engine. Readers see one snapshot, so that a screen never mixes two states."""

    def __init__(self, url: sa.URL, shift: Callable[[datetime], datetime], connections: int) -> None:
        self._shift = shift
        self._writer = self._engine(url, connections)
        self._reader = self._engine(url, connections, isolation_level="REPEATABLE READ", postgresql_readonly=True)

    @staticmethod
    def _engine(url: sa.URL, connections: int, **options: Any) -> AsyncEngine:
        return create_async_engine(
            url,
            pool_size=connections,
            max_overflow=0,
            pool_timeout=5.0,
            pool_recycle=1800,
            connect_args={"connect_timeout": 5},
            json_serializer=dumps,
            execution_options={"isolation_level": "READ COMMITTED", **options},
        )

    async def write(self, work: _Work) -> Any:
        async with self._writer.connect() as conn:
            work.start()
            transaction = await conn.begin()
            try:
                result = await conn.run_sync(self._body, work)
            except BaseException:
                await transaction.rollback()
                raise
            try:
                await transaction.commit()
            except exc.DBAPIError as problem:
                if problem.connection_invalidated or getattr(problem.orig, "sqlstate", None) is None:
                    raise _LostAtCommit from problem
                raise
            return result

    async def read(self, work: _Work) -> Any:
        async with self._reader.connect() as conn:
            work.start()
            async with conn.begin():
                return await conn.run_sync(self._body, work)

    async def close(self) -> None:
        await self._writer.dispose()
        await self._reader.dispose()

    def _body(self, conn: sa.Connection, work: _Work) -> Any:
        reading: datetime = conn.execute(_OPENING).one()[3]
        return work.run(Tx(conn, self._shift(reading.astimezone(UTC))))
