"""`SqlDatabase`, on both databases: what runs, what never runs, what runs again, and what the caller is told."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta

import pytest
import pytest_asyncio
import sqlalchemy as sa

from pipeline.core.commands import Committed
from pipeline.errors import StorageUnavailable
from pipeline.ports import Tx
from storage.database import SqlDatabase, sync_url
from storage.tables import heartbeat, intent, trace_clock
from tests.support.databases import Books, engine_of


@pytest_asyncio.fixture
async def db(database_url: str) -> AsyncIterator[SqlDatabase]:
    """A database with one writing connection, so that work can be made to wait."""
    opened = SqlDatabase(database_url, connections=1)
    yield opened
    await opened.close()


def beat(tx: Tx, node: str) -> str:
    tx.conn.execute(sa.insert(heartbeat).values(node=node, role="test", at=tx.now))
    return node


def nodes(tx: Tx) -> list[str]:
    return list(tx.conn.execute(sa.select(heartbeat.c.node).order_by(heartbeat.c.node)).scalars())


class Gate:
    """Holds a transaction in its middle until it is opened, on a thread of its own (SQLite) or behind a row lock (PostgreSQL)."""

    def __init__(self, url: str) -> None:
        self.entered = threading.Event()
        self._open = threading.Event()
        self._engine = engine_of(url)

    @contextmanager
    def closed(self) -> Iterator[None]:
        if self._engine.dialect.name == "sqlite":
            yield
            self._open.set()
            return
        with self._engine.connect() as holder:
            holder.execute(sa.select(trace_clock).with_for_update())
            yield
            holder.rollback()

    def through(self, tx: Tx, node: str) -> str:
        """Writes a row, waits at the gate, and returns."""
        beat(tx, node)
        self.entered.set()
        if tx.conn.dialect.name == "sqlite":
            assert self._open.wait(10)
        else:
            tx.conn.execute(sa.select(trace_clock).with_for_update())
        return node

    async def reached(self) -> None:
        while not self.entered.is_set():
            await asyncio.sleep(0.001)


# --- the plain case ----------------------------------------------------------------------------------------------


async def test_a_function_is_a_transaction(db: SqlDatabase) -> None:
    """What it returns is returned and what it wrote is there; what it raises is raised and nothing of it is there."""

    class Refusal(Exception):
        pass

    def fails(tx: Tx) -> None:
        beat(tx, "lost")
        raise Refusal

    assert await db.transact(beat, "kept") == "kept"
    with pytest.raises(Refusal):
        await db.transact(fails)
    assert await db.read(nodes) == ["kept"]


async def test_a_broken_constraint_is_not_tried_again(db: SqlDatabase) -> None:
    """A unique violation is the function's own affair and reaches the caller at once."""
    runs: list[int] = []

    def twice(tx: Tx) -> None:
        runs.append(1)
        beat(tx, "same")

    await db.transact(twice)
    with pytest.raises(sa.exc.IntegrityError):
        await db.transact(twice)
    assert len(runs) == 2


async def test_a_reader_cannot_write(db: SqlDatabase) -> None:
    """A read that tries to write is refused by the database itself."""
    with pytest.raises(sa.exc.DBAPIError):
        await db.read(beat, "x")
    assert await db.read(nodes) == []


async def test_a_reader_sees_one_state(db: SqlDatabase, database_url: str) -> None:
    """What is committed while a read runs is not seen by it, so that a screen never mixes two states."""
    books = Books.open(database_url)

    def look_twice(tx: Tx) -> tuple[list[str], list[str]]:
        first = nodes(tx)
        books.run(beat, "meanwhile")
        return first, nodes(tx)

    assert await db.read(look_twice) == ([], [])
    assert await db.read(nodes) == ["meanwhile"]


async def test_a_reader_does_not_wait_for_a_writer(db: SqlDatabase, database_url: str) -> None:
    """While a transaction is open in the middle of its work, reads go on."""
    gate = Gate(database_url)
    with gate.closed():
        writing = asyncio.ensure_future(db.transact(gate.through, "writer"))
        await gate.reached()
        assert await asyncio.wait_for(db.read(nodes), 2) == []
    assert await writing == "writer"


async def test_now_is_the_databases_clock_and_the_offset(database_url: str) -> None:
    """`now` is one aware UTC instant per transaction, shifted by a number of seconds or by a virtual clock."""
    for offset in (0.0, 3600.0):
        db = SqlDatabase(database_url, offset=offset)
        now = await db.transact(lambda tx: tx.now)
        await db.close()
        assert now.tzinfo is UTC
        assert abs(now - datetime.now(UTC) - timedelta(seconds=offset)) < timedelta(seconds=5)
    virtual = datetime(2031, 1, 1, tzinfo=UTC)
    db = SqlDatabase(database_url, offset=lambda reading: virtual - reading)
    assert await db.transact(lambda tx: tx.now) == virtual == await db.read(lambda tx: tx.now)
    await db.close()


async def test_a_slow_function_is_reported(database_url: str, caplog: pytest.LogCaptureFixture) -> None:
    """A function that holds a transaction too long is logged with its name, and done all the same."""
    db = SqlDatabase(database_url, slow=0.0)
    with caplog.at_level(logging.WARNING, "clara.storage"):
        assert await db.transact(beat, "slow") == "slow"
    await db.close()
    (record,) = [record for record in caplog.records if record.message == "storage.slow"]
    assert record.function == "beat" and record.duration_s >= 0  # type: ignore[attr-defined]


# --- cancellation ------------------------------------------------------------------------------------------------


async def test_work_that_has_started_runs_to_its_end(db: SqlDatabase, database_url: str) -> None:
    """A caller that is cancelled in the middle goes at once; its transaction is committed whole (CK-1)."""
    gate = Gate(database_url)
    with gate.closed():
        writing = asyncio.ensure_future(db.transact(gate.through, "started"))
        await gate.reached()
        writing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await writing
    assert await db.transact(nodes) == ["started"]


async def test_work_that_has_not_started_never_runs(db: SqlDatabase, database_url: str) -> None:
    """A caller that is cancelled while its work waits for a connection has changed nothing, now and later."""
    gate = Gate(database_url)
    with gate.closed():
        first = asyncio.ensure_future(db.transact(gate.through, "first"))
        await gate.reached()
        waiting = [asyncio.ensure_future(db.transact(beat, f"waiting {n}")) for n in range(3)]
        last = asyncio.ensure_future(db.transact(beat, "last"))
        await asyncio.sleep(0.01)
        for one in waiting:
            one.cancel()
        for one in waiting:
            with pytest.raises(asyncio.CancelledError):
                await one
    assert [await first, await last] == ["first", "last"]
    assert await db.read(nodes) == ["first", "last"]


async def test_cancelling_at_once_changes_nothing(db: SqlDatabase) -> None:
    """A task that is cancelled before it had a turn of the loop runs nothing."""
    task = asyncio.ensure_future(db.transact(beat, "never"))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await db.transact(nodes) == []


async def test_cancellation_at_any_moment_is_all_or_nothing(database_url: str) -> None:
    """Cancelled after any number of turns of the loop, a booking is there whole or not at all, and no lock stays behind (VO-8)."""
    books = Books.open(database_url)
    books.now = datetime.now(UTC)
    db = SqlDatabase(database_url, connections=2)
    for turns in range(0, 40, 3):
        seen = books.look(books.arrive(address=f"+131255507{turns:02}").turn)
        command = books.command(seen, changes=(books.request(seen, books.at(86400 + 3600 * turns)),))
        task = asyncio.ensure_future(db.transact(books.store.commit, command))
        for _ in range(turns):
            await asyncio.sleep(0)
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        assert isinstance(await db.transact(books.store.commit, command), Committed)
        assert len(books.rows(intent, turn=seen.turn)) == 1
    await db.close()


async def test_closing_waits_for_what_runs_and_takes_nothing_new(database_url: str) -> None:
    """`close` returns when started work is committed; work that comes after it is refused (OP-4)."""
    db = SqlDatabase(database_url)
    gate = Gate(database_url)
    with gate.closed():
        writing = asyncio.ensure_future(db.transact(gate.through, "started"))
        await gate.reached()
        closing = asyncio.ensure_future(db.close())
        await asyncio.sleep(0.01)
        assert not closing.done()
        with pytest.raises(StorageUnavailable):
            await db.transact(beat, "late")
    await closing
    assert await writing == "started"
    assert Books.open(database_url).run(nodes) == ["started"]


# --- lost connections --------------------------------------------------------------------------------------------


class Wire:
    """A loopback wire to PostgreSQL that lets one COMMIT through, waits for the server's word and then breaks."""

    def __init__(self, url: str) -> None:
        self._target = sync_url(url)
        self._lines: list[asyncio.Task[None]] = []
        self.armed = False
        self.broken = 0

    async def __aenter__(self) -> str:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        port = self._server.sockets[0].getsockname()[1]
        return self._target.set(port=port, host="127.0.0.1").render_as_string(hide_password=False)

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        await asyncio.gather(*self._lines)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._lines.append(asyncio.ensure_future(self._carry(reader, writer)))

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        up, down = await asyncio.open_connection(self._target.host, self._target.port)
        answers = asyncio.ensure_future(self._copy(up, writer))
        with suppress(ConnectionError):
            while data := await reader.read(65536):
                if self.armed and b"COMMIT\x00" in data:
                    self.armed = False
                    self.broken += 1
                    answers.cancel()
                    await asyncio.wait([answers])
                    down.write(data)
                    await up.read(65536)  # the server has committed and says so; nobody hears it
                    break
                down.write(data)
        answers.cancel()
        for end in (down, writer):
            end.close()
            with suppress(ConnectionError):
                await end.wait_closed()

    @staticmethod
    async def _copy(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            while data := await source.read(65536):
                target.write(data)


async def test_a_commit_whose_answer_is_lost_is_found_by_its_key(postgres_url: str) -> None:
    """The connection breaks after the server has committed: the caller gets the first answer, and nothing happened twice (CK-3)."""
    books = Books.open(postgres_url)
    books.now = datetime.now(UTC)
    seen = books.look(books.arrive().turn)
    command = books.command(seen, changes=(books.request(seen, books.at(86400)),))
    wire = Wire(postgres_url)
    async with wire as url:
        db = SqlDatabase(url, connections=1)
        await db.transact(nodes)
        wire.armed = True
        outcome = await db.transact(books.store.commit, command)
        await db.close()
    assert isinstance(outcome, Committed) and wire.broken == 1
    assert len(books.rows(intent)) == 1


async def test_a_lost_commit_without_a_key_is_said_to_be_lost(postgres_url: str) -> None:
    """A function that cannot look its effect up is not run again; the caller is told that the outcome is not known."""
    wire = Wire(postgres_url)
    runs: list[int] = []

    def once(tx: Tx) -> None:
        runs.append(1)
        beat(tx, f"node {len(runs)}")

    async with wire as url:
        db = SqlDatabase(url, connections=1)
        await db.transact(nodes)
        wire.armed = True
        with pytest.raises(StorageUnavailable):
            await db.transact(once)
        await db.close()
    assert len(runs) == 1 == wire.broken


async def test_a_connection_lost_in_the_middle_runs_again(postgres_url: str) -> None:
    """The server ends the connection before the commit: nothing was done, and the function runs again on a new one."""
    db = SqlDatabase(postgres_url, connections=1)
    runs: list[int] = []

    def interrupted(tx: Tx) -> str:
        beat(tx, "once")
        runs.append(tx.conn.execute(sa.text("SELECT pg_backend_pid()")).scalar_one())
        if len(runs) == 1:
            with engine_of(postgres_url).connect() as other:
                other.execute(sa.text("SELECT pg_terminate_backend(:pid, 5000)"), {"pid": runs[0]})
        return nodes(tx)[0]

    assert await db.transact(interrupted) == "once"
    await db.close()
    assert len(set(runs)) == 2


async def test_an_absent_server_is_named_as_such() -> None:
    """Without a server every call ends in `StorageUnavailable`, never in a driver's error."""
    db = SqlDatabase("postgresql://nobody@127.0.0.1:1/nothing")
    with pytest.raises(StorageUnavailable):
        await db.transact(beat, "x")
    await db.close()


async def test_a_statement_that_takes_too_long_is_stopped(postgres_url: str) -> None:
    """The server stops a statement after its time; the caller is told that nothing was committed, and it is not tried again."""
    db = SqlDatabase(postgres_url)
    runs: list[int] = []

    def endless(tx: Tx) -> None:
        runs.append(1)
        tx.conn.execute(sa.text("SET LOCAL statement_timeout = '50ms'"))
        tx.conn.execute(sa.text("SELECT pg_sleep(60)"))

    with pytest.raises(StorageUnavailable):
        await db.transact(endless)
    await db.close()
    assert len(runs) == 1
