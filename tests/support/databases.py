"""Databases for tests: each test finds an empty, migrated one, once on SQLite and once on PostgreSQL.

A process has one database of each kind; the rows are deleted before each test (measured: 10 ms, against 0.7 s for `CREATE DATABASE … TEMPLATE`), and the
engines live on, so that a statement is compiled once. PostgreSQL is named by CLARA_TEST_POSTGRES_URL (`scripts/services run` sets it). A missing
server is an error and never a skip: what was not tested on both is not tested.
`Books` runs store functions in short transactions at an instant that the test sets, without a loop and without waiting.
"""

from __future__ import annotations

import hashlib
import itertools
import os
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any, Concatenate, ParamSpec, TypeVar

import pytest
import sqlalchemy as sa

from pipeline.core.commands import (
    Commit,
    CommitOutcome,
    EntityChange,
    NewIntent,
    NewProposal,
    Seen,
    TraceEvent,
)
from pipeline.core.states import INTENT, TOUR
from pipeline.core.types import Ending, Health, Purpose
from pipeline.ports import Attempt, Tx
from pipeline.store import Arrival, Arrived, Payload, Snapshot, Store
from storage.database import sqlite_engine, sync_url
from storage.migrate import upgrade
from storage.store import SqlStore
from storage.tables import metadata, trace_clock
from storage.types import dumps

P = ParamSpec("P")
R = TypeVar("R")

POSTGRES = "CLARA_TEST_POSTGRES_URL"
START = datetime(2026, 3, 2, 15, 0, tzinfo=UTC)  # a Monday, 9 in the morning in Chicago
HOUSE, OTHER_HOUSE = "maple-court", "oak-lane"
ANN, BEN = "+13125550101", "+13125550102"
ANN_MAIL = "ann@example.com"
OURS = "+13125550000"
SECRET = "a secret for tests that is long enough"


def postgres_server() -> str:
    """The URL of the test server; an error in words where there is none."""
    url = os.environ.get(POSTGRES, "")
    if not url:
        raise RuntimeError(f"{POSTGRES} is not set: run the tests with `scripts/services run -- …`")
    return url


def named(name: str) -> str:
    """The URL of a database on the test server."""
    return sync_url(postgres_server()).set(database=name).render_as_string(hide_password=False)


def administer(statement: str) -> None:
    """Runs one statement outside of any transaction on the test server."""
    engine = sa.create_engine(sync_url(postgres_server()), isolation_level="AUTOCOMMIT", poolclass=sa.NullPool)
    with engine.connect() as conn:
        conn.exec_driver_sql(statement)


@cache
def engine_of(url: str) -> sa.Engine:
    """The process's engine for a test database."""
    parsed = sync_url(url)
    if parsed.get_backend_name() == "sqlite":
        return sqlite_engine(parsed)
    return sa.create_engine(parsed, json_serializer=dumps)


@cache
def _reader_of(engine: sa.Engine) -> sa.Engine:
    return sqlite_engine(engine.url, read_only=True) if engine.dialect.name == "sqlite" else engine


def empty(url: str) -> str:
    """Deletes every row; a transaction that a test left open shows here as an error."""
    with engine_of(url).begin() as conn:
        lite = conn.dialect.name == "sqlite"
        conn.exec_driver_sql("DELETE FROM transition_log" if lite else "SET LOCAL lock_timeout = '5s'")
        for table in reversed(metadata.sorted_tables):
            if table is not trace_clock:
                conn.execute(sa.delete(table))
        conn.execute(sa.update(trace_clock).values(position=0))
    return url


@pytest.fixture(scope="session")
def _sqlite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    url = f"sqlite:///{tmp_path_factory.mktemp('database') / 'clara.db'}"
    upgrade(url)
    with engine_of(url).begin() as conn:
        for statement in _LOG:
            conn.exec_driver_sql(statement)
    yield url
    engine_of(url).dispose()


@pytest.fixture(scope="session")
def _postgres() -> Iterator[str]:
    name = f"clara_test_{uuid.uuid4().hex[:12]}"
    administer(f'CREATE DATABASE "{name}"')
    url = named(name)
    upgrade(url)
    yield url
    engine_of(url).dispose()
    administer(f'DROP DATABASE "{name}" WITH (FORCE)')


@pytest.fixture
def sqlite_url(_sqlite: str) -> str:
    """A migrated SQLite file without rows."""
    return empty(_sqlite)


@pytest.fixture
def postgres_url(_postgres: str) -> str:
    """A migrated PostgreSQL database without rows."""
    return empty(_postgres)


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest) -> str:
    """An empty, migrated database of each kind in turn."""
    return str(request.getfixturevalue("sqlite_url" if request.param == "sqlite" else "postgres_url"))


@pytest.fixture
def books(database_url: str) -> Iterator[Books]:
    """Store functions on an empty database of each kind in turn; afterwards, every transition that was written stands in its table."""
    opened = Books.open(database_url)
    yield opened
    if opened.engine.dialect.name == "sqlite":
        with opened.engine.begin() as conn:
            written = {tuple(row) for row in conn.exec_driver_sql("SELECT kind, old, new FROM transition_log")}
        assert written <= ALLOWED, written - ALLOWED


# What the transition tables allow, as (kind, from, to).
ALLOWED = {("intent", old.value, new.value) for old, nexts in INTENT.items() for new in nexts} | {
    ("entity", old.value, new.value) for old, nexts in TOUR.items() for new in nexts
}

_LOG = (
    "CREATE TABLE transition_log (kind TEXT, old TEXT, new TEXT)",
    *(
        f"CREATE TRIGGER log_{table} AFTER UPDATE OF state ON {table} WHEN old.state <> new.state "
        f"BEGIN INSERT INTO transition_log VALUES ('{table}', old.state, new.state); END"
        for table in ("intent", "entity")
    ),
)


@dataclass
class Books:
    """A store, a database and a clock that stands still until a test moves it."""

    engine: sa.Engine
    store: Store
    now: datetime = START
    _numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    @classmethod
    def open(cls, url: str) -> Books:
        return cls(engine_of(url), SqlStore(SECRET))

    def run(self, fn: Callable[Concatenate[Tx, P], R], *args: P.args, **kwargs: P.kwargs) -> R:
        """`fn` in a transaction of its own, at `now`."""
        with self.engine.begin() as conn:
            return fn(Tx(conn, self.now), *args, **kwargs)

    def read(self, fn: Callable[Concatenate[Tx, P], R], *args: P.args, **kwargs: P.kwargs) -> R:
        """`fn` on a connection that waits for no writer."""
        with _reader_of(self.engine).begin() as conn:
            return fn(Tx(conn, self.now), *args, **kwargs)

    def rows(self, table: sa.Table, **where: Any) -> list[dict[str, Any]]:
        """Rows of a table whose columns have the given values."""
        conditions = [table.c[name] == value for name, value in where.items()]
        with self.engine.begin() as conn:
            return [dict(row) for row in conn.execute(sa.select(table).where(*conditions)).mappings()]

    def one(self, table: sa.Table, **where: Any) -> dict[str, Any]:
        """The one such row."""
        (row,) = self.rows(table, **where)
        return row

    def contents(self) -> dict[str, list[str]]:
        """Every row of the database."""
        with self.engine.begin() as conn:
            return {table.name: sorted(map(repr, conn.execute(sa.select(table)))) for table in metadata.sorted_tables}

    def traced(self, stage: str) -> list[Mapping[str, Any]]:
        """Trace events of one stage, oldest first."""
        return [event for event in self.run(self.store.tail, 0, 9999) if event["stage"] == stage]

    def at(self, seconds: float) -> datetime:
        """`seconds` after now."""
        return self.now + timedelta(seconds=seconds)

    def wait(self, seconds: float) -> None:
        """Moves the clock."""
        self.now = self.at(seconds)

    def new(self, what: str) -> str:
        """An id that sorts by time."""
        return f"{what}-{next(self._numbers):05}"

    # --- what comes in --------------------------------------------------------------------------------------------

    def arrival(self, text: str = "Hello", **changes: Any) -> Arrival:
        """A text from Ann, due four seconds later."""
        plain = Arrival(
            id=self.new("inbound"),
            turn=self.new("turn"),
            conversation=self.new("conversation"),
            person=self.new("person"),
            matter=self.new("matter"),
            provider="twilio",
            provider_id=self.new("SM"),
            channel="sms",
            property=HOUSE,
            address=ANN,
            our_address=OURS,
            text=text,
            received_at=self.now,
            due_at=self.at(4),
        )
        return replace(plain, **changes)

    def arrive(self, text: str = "Hello", **changes: Any) -> Arrived:
        return self.run(self.store.accept, self.arrival(text, **changes))

    def mail(self, text: str = "Hello", **changes: Any) -> Arrived:
        """A mail from Ann."""
        plain: dict[str, Any] = {
            "provider": "mime",
            "channel": "email",
            "address": ANN_MAIL,
            "our_address": "hello@house",
        }
        return self.arrive(text, **(plain | changes))

    def look(self, turn: str) -> Snapshot:
        return self.run(self.store.snapshot, turn)

    # --- what is committed ----------------------------------------------------------------------------------------

    def command(self, seen: Snapshot, **changes: Any) -> Commit:
        """A commit on a snapshot that answers and changes nothing else; `changes` are its fields."""
        plain = Commit(
            id=f"{seen.turn}-commit",
            turn=seen.turn,
            property=seen.property,
            channel=seen.channel,
            conversation=seen.conversation,
            person=seen.person,
            seen=Seen(seen.conversation_epoch, seen.person_epoch, tuple(row.id for row in seen.inbound)),
            ending=Ending.ANSWERED,
            health=Health.HEALTHY,
            intents=(self.answer(seen),),
            matter=seen.matter,
            rounds=seen.rounds,
            trace=(TraceEvent("commit", "answer", {"turn": seen.turn}),),
        )
        return replace(plain, **changes)

    def answer(self, seen: Snapshot, **changes: Any) -> NewIntent:
        """The answer to a turn, in its channel."""
        plain = NewIntent(
            id=f"{seen.turn}-answer",
            purpose=Purpose.ANSWER,
            channel=seen.channel,
            sender=seen.our_address,
            recipient=seen.address,
            locale="en",
            plan={"outcome": "test", "turn": seen.turn},
            fallback_at=self.at(60),
            expires_at=self.at(86400),
        )
        return replace(plain, **changes)

    def request(self, seen: Snapshot, starts_at: datetime, **changes: Any) -> EntityChange:
        """A new PROPOSED tour at an instant."""
        slot = f"{seen.property}|{starts_at.isoformat()}"
        version = seen.head_version
        plain = EntityChange(
            domain="leasing",
            kind="tour",
            action="tour.request",
            entity=f"{seen.turn}-tour",
            creates=True,
            base_version=version,
            state="PROPOSED",
            live=True,
            body={"lineage": "prospect_stated"},
            proposal=self.wish(seen, "tour.request", slot, version),
            starts_at=starts_at,
            ends_at=starts_at + timedelta(minutes=30),
            slot=slot,
            expires_at=self.at(86400),
        )
        return replace(plain, **changes)

    def wish(self, seen: Snapshot, action: str, slot: str | None, version: int, **changes: Any) -> NewProposal:
        plain = NewProposal(
            id=f"{seen.turn}-{action}",
            action=action,
            lineage="prospect_stated",
            spans=("at three",),
            fields={},
            status="committed",
            slot=slot,
            base_version=version,
        )
        return replace(plain, **changes)

    def move(self, seen: Snapshot, starts_at: datetime, **changes: Any) -> EntityChange:
        """A tour in the place of the live one."""
        (old,) = seen.tours
        new = self.request(seen, starts_at, action="tour.reschedule", replaces=old.id)
        wish = self.wish(seen, "tour.reschedule", new.slot, seen.head_version)
        return replace(new, proposal=wish, **changes)

    def turn_into(self, seen: Snapshot, state: str, **changes: Any) -> EntityChange:
        """The live tour in another state."""
        (old,) = seen.tours
        live = state in ("PROPOSED", "CONFIRMED")
        action = f"tour.{state.lower()}"
        plain = EntityChange(
            domain="leasing",
            kind="tour",
            action=action,
            entity=old.id,
            creates=False,
            base_version=old.version,
            state=state,
            live=live,
            body=old.body,
            proposal=self.wish(seen, action, None, old.version),
            starts_at=old.starts_at,
            ends_at=old.ends_at,
            slot=next(iter(seen.held_slots)) if live else None,
        )
        return replace(plain, **changes)

    def commit(self, command: Commit) -> CommitOutcome:
        return self.run(self.store.commit, command)

    def book(self, starts_at: datetime, **arrival: Any) -> Arrived:
        """A text that ends in a PROPOSED tour."""
        arrived = self.arrive("A tour, please", **arrival)
        seen = self.look(arrived.turn)
        self.commit(self.command(seen, changes=(self.request(seen, starts_at),)))
        return arrived

    def answered(self, text: str = "Hello", **arrival: Any) -> Arrived:
        """A text with a promised answer."""
        arrived = self.arrive(text, **arrival)
        self.commit(self.command(self.look(arrived.turn)))
        return arrived

    # --- what leaves ----------------------------------------------------------------------------------------------

    def compose(self, intent: str, text: str = "Hi there", message_id: str | None = None) -> bool:
        return self.run(self.store.compose, intent, payload(text, message_id), [{"text": text}], {"passed": True})

    def composed(self, body: str = "Hi there", **arrival: Any) -> str:
        """An intent whose payload is stored; its id."""
        intent = f"{self.answered(**arrival).turn}-answer"
        assert self.compose(intent, body)
        return intent

    def send(self, node: str = "node") -> Attempt:
        """One leased intent, its attempt begun."""
        (lease,) = self.run(self.store.lease_intents, node, 1, 30.0)
        attempt = self.run(self.store.begin_attempt, lease, self.new("attempt"))
        assert attempt is not None
        return attempt

    def sending(self, body: str = "Hi there", **arrival: Any) -> Attempt:
        """A message on its way, its outcome open."""
        self.composed(body, **arrival)
        return self.send()


def payload(text: str, message_id: str | None = None) -> Payload:
    data = text.encode()
    return Payload(data, hashlib.sha256(data).hexdigest(), text, message_id)


def kinds(outcomes: Sequence[object]) -> Mapping[str, int]:
    """How many outcomes of each type."""
    names = [type(outcome).__name__ for outcome in outcomes]
    return {name: names.count(name) for name in sorted(set(names))}
