"""The schema, on both databases: migrations and tables say the same, values come back as they went in, and every loop finds its index."""

from __future__ import annotations

import re
import threading
import uuid
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from pipeline.errors import SettingsError
from pipeline.ports import Tx
from pipeline.store import Store
from storage.database import sync_url
from storage.migrate import upgrade
from storage.store import SqlStore
from storage.tables import attempt, entity, heartbeat, intent, metadata, turn
from storage.vault import Vault
from tests.support.databases import Books, administer, engine_of, named


@pytest.fixture(params=["sqlite", "postgresql"])
def empty_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A database without a schema."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'new folder' / 'clara.db'}"
        return
    name = f"clara_empty_{uuid.uuid4().hex[:12]}"
    administer(f'CREATE DATABASE "{name}"')
    yield named(name)
    administer(f'DROP DATABASE "{name}" WITH (FORCE)')


def test_migrations_make_the_tables(empty_url: str) -> None:
    """From empty, the migrations build exactly the tables and indexes that the code speaks of; a second run finds nothing to do."""
    upgrade(empty_url)
    upgrade(empty_url)
    with sa.create_engine(sync_url(empty_url), poolclass=sa.NullPool).connect() as conn:
        context = MigrationContext.configure(conn, opts={"compare_type": True})
        assert compare_metadata(context, metadata) == []
        names = {index["name"] for table in metadata.tables for index in sa.inspect(conn).get_indexes(table)}
    assert {index.name for table in metadata.tables.values() for index in table.indexes} <= names


def test_two_nodes_may_start_at_once(empty_url: str) -> None:
    """Whoever comes second waits and finds the schema there."""
    problems: list[Exception] = []

    def start() -> None:
        try:
            upgrade(empty_url)
        except Exception as problem:
            problems.append(problem)

    nodes = [threading.Thread(target=start) for _ in range(3)]
    for node in nodes:
        node.start()
    for node in nodes:
        node.join()
    assert problems == []


def test_an_instant_comes_back_as_it_went_in(books: Books) -> None:
    """Instants are UTC to the microsecond, whatever zone they were written in."""
    local = datetime(2026, 7, 1, 9, 30, 15, 123456, tzinfo=timezone(timedelta(hours=-5)))
    books.now = local
    books.run(books.store.heartbeat, "node", "relay")
    at = books.one(heartbeat)["at"]
    assert at == local and at.tzinfo is UTC


def test_a_naive_instant_is_refused(books: Books) -> None:
    """An instant without a zone is an error at the door, on either database."""
    books.now = datetime(2026, 7, 1)
    with pytest.raises(sa.exc.StatementError):
        books.run(books.store.heartbeat, "node", "relay")


def test_json_of_any_mapping_is_kept(books: Books) -> None:
    """Nested values and both languages' letters come back equal."""
    form = {"move_in": "2026-05-01", "nested": {"a": [1, 2.5, None, True]}, "text": "¿mañana? 'x' \"y\" 😀"}
    assert books.look(books.arrive(form=form).turn).inbound[0].form == form


def test_a_secret_that_was_rotated_still_opens(books: Books) -> None:
    """What was sealed with the old secret opens while that secret is still named; without it the error names the cause."""
    old, new = "old secret " * 3, "new secret " * 3
    sealed = Vault([old]).seal("4711")
    assert Vault([new, old]).open(sealed) == "4711"
    with pytest.raises(SettingsError):
        Vault([new]).open(sealed)
    with pytest.raises(SettingsError):
        SqlStore("")


# --- every loop finds its index -----------------------------------------------------------------------------------


def _fill(tx: Tx) -> None:
    """Thousands of finished turns and messages, and a few that are due."""
    old = tx.now - timedelta(days=1)
    common = {"property": "p", "channel": "sms", "conversation": "c", "address": "+1", "our_address": "+2"}
    tx.conn.exec_driver_sql(
        "INSERT INTO conversation (id, property, channel, address, our_address, state, epoch, trace_seq, owner, created_at)"
        " VALUES ('c', 'p', 'sms', '+1', '+2', 'open', 0, 0, 'clara', '2026-01-01 00:00:00'),"
        " ('d', 'p', 'sms', '+9', '+2', 'open', 0, 0, 'clara', '2026-01-01 00:00:00')"
    )
    states = ["settled"] * 3000 + ["open"] * 3
    tx.conn.execute(
        sa.insert(turn),
        [
            common
            | {"id": f"t{n}", "trigger": "inbound", "automatic": False, "state": state, "opened_at": old, "due_at": old}
            | {"window_end": old, "fence": 0}
            for n, state in enumerate(states)
        ],
    )
    kinds = ["delivered"] * 3000 + ["composed", "leased", "sending", "unknown", "blocked", "accepted", "promised"] * 2
    plain = {name: value for name, value in common.items() if not name.endswith("address")}
    tx.conn.execute(
        sa.insert(intent),
        [
            plain
            | {"id": f"i{n}", "idem": f"i{n}", "commit": "c", "turn": "t0", "purpose": "answer", "sender": "+2"}
            | {
                "recipient": f"+{n}",
                "person": f"p{n}",
                "recipient_tz": "",
                "locale": "en",
                "plan": {},
                "customer_facing": True,
                "held": False,
            }
            | {"references": [], "state": state, "fell_back": False, "fence": 0, "attempts": 0, "final": False}
            | {"rank": -1, "asked": 0, "created_at": old, "lease_until": old, "ask_at": old, "not_before": old}
            | {"accepted_at": old, "fallback_at": old, "conversation": "d" if n < 3000 else "c"}
            for n, state in enumerate(kinds)
        ],
    )
    tx.conn.execute(
        sa.insert(entity),
        [
            {"id": f"e{n}", "domain": "leasing", "kind": "tour", "property": "p", "conversation": "d", "live": False}
            | {"state": "PROPOSED" if n < 3 else "CONFIRMED", "version": 1, "body": {}, "expires_at": old}
            | {"writer": "w", "created_at": old, "changed_at": old}
            for n in range(2000)
        ],
    )
    tried = [n for n, state in enumerate(kinds) if state in ("sending", "unknown", "accepted")]
    tx.conn.execute(
        sa.insert(attempt),
        [{"id": f"a{n}", "intent": f"i{n}", "number": 1, "reference": f"i{n}", "opened_at": old} for n in tried],
    )


LOOPS: dict[str, Callable[[Store, Tx], object]] = {
    "ix_turn_due": lambda store, tx: store.lease_turns(tx, "node", 5, 30.0),
    "ix_intent_leased": lambda store, tx: store.lease_intents(tx, "node", 5, 30.0),
    "ix_intent_blocked": lambda store, tx: store.lease_intents(tx, "node", 5, 30.0),
    "ix_intent_composed": lambda store, tx: store.lease_intents(tx, "node", 5, 30.0),
    "ix_intent_sending": lambda store, tx: store.unresolved(tx, 5),
    "ix_intent_unknown": lambda store, tx: store.unresolved(tx, 5),
    "ix_intent_accepted": lambda store, tx: store.undelivered_since(tx, tx.now, 5),
    "ix_intent_fallback": lambda store, tx: store.due_fallbacks(tx, 5),
    "ix_entity_expiry": lambda store, tx: store.expire_due(tx, 5),
}


def test_loops_read_their_indexes(database_url: str) -> None:
    """With thousands of finished rows, what each loop asks for is found in the index over the rows that it wants, and no table is read whole."""
    books = Books.open(database_url)
    books.run(_fill)
    engine = engine_of(database_url)
    lite = engine.dialect.name == "sqlite"
    with engine.begin() as conn:
        conn.exec_driver_sql("ANALYZE")
    for index, loop in LOOPS.items():
        asked: list[tuple[str, Any]] = []

        def ask(
            _c: Any, _k: Any, statement: str, parameters: Any, *_: Any, asked: list[tuple[str, Any]] = asked
        ) -> None:
            asked.append((statement, parameters))

        with engine.connect() as conn:
            sa.event.listen(conn, "before_cursor_execute", ask)
            loop(books.store, Tx(conn, books.now))
            sa.event.remove(conn, "before_cursor_execute", ask)
            conn.rollback()
            plans = [
                str(conn.exec_driver_sql(f"EXPLAIN {'QUERY PLAN' if lite else ''} {statement}", parameters).all())
                for statement, parameters in asked
                if statement.startswith("SELECT")
            ]
        assert any(index in plan for plan in plans), (index, plans)
        whole = re.compile(r"SCAN (turn|intent)\b(?! USING INDEX ix)" if lite else r"Seq Scan on (turn|intent)\b")
        assert not any(whole.search(plan) for plan in plans), plans
