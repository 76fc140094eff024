"""Several nodes at once, each with connections of its own: what one database decides, all of them obey."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime
from typing import Any

import pytest
import pytest_asyncio
import sqlalchemy as sa

from pipeline.core.commands import Commit, Committed
from pipeline.ports import Tx
from storage.database import SqlDatabase
from storage.tables import (
    attempt,
    conversation,
    effect,
    entity,
    identity,
    inbound,
    intent,
    person,
    slot_hold,
    trace_event,
    turn,
)
from tests.support.databases import ANN, Books, kinds

NODES = 3
DAY = 86400.0


@pytest_asyncio.fixture
async def nodes(database_url: str) -> AsyncIterator[list[SqlDatabase]]:
    """Databases of several nodes on the same data."""
    opened = [SqlDatabase(database_url, connections=4) for _ in range(NODES)]
    yield opened
    for node in opened:
        await node.close()


@pytest.fixture
def here(database_url: str) -> Books:
    """The same data, one step at a time, on the clock of the nodes."""
    books = Books.open(database_url)
    books.now = datetime.now(UTC)
    return books


async def at_once(nodes: Sequence[SqlDatabase], calls: Sequence[tuple[Any, ...]]) -> list[Any]:
    """Each call on the next node, all together."""
    return list(await asyncio.gather(*(nodes[n % len(nodes)].transact(*call) for n, call in enumerate(calls))))


def booking(books: Books, address: str, capacity: int, hours: float = 24) -> Commit:
    seen = books.look(books.arrive(address=address).turn)
    change = books.request(
        seen, books.now.replace(microsecond=0) + (books.at(hours * 3600) - books.now), capacity=capacity
    )
    return books.command(seen, changes=(change,))


async def test_the_last_seat_goes_to_one(nodes: list[SqlDatabase], here: Books) -> None:
    """Nine people want the two seats of a slot at the same moment on three nodes: two get them, seven are told (CK-6)."""
    commands = [booking(here, f"+131255504{number:02}", 2) for number in range(9)]
    outcomes = await at_once(nodes, [(here.store.commit, command) for command in commands])
    assert kinds(outcomes) == {"Committed": 2, "Refused": 7}
    assert len(here.rows(entity)) == len(here.rows(slot_hold)) == len(here.rows(intent)) == 2


async def test_different_slots_do_not_stand_in_each_others_way(nodes: list[SqlDatabase], here: Books) -> None:
    """Commits of different people all land."""
    commands = [booking(here, f"+131255504{number:02}", 1, hours=24 + number) for number in range(9)]
    outcomes = await at_once(nodes, [(here.store.commit, command) for command in commands])
    assert kinds(outcomes) == {"Committed": 9}
    positions = sorted(row["position"] for row in here.rows(trace_event))
    assert positions == list(range(1, len(positions) + 1))


async def test_two_conversations_of_one_person_have_one_winner(nodes: list[SqlDatabase], here: Books) -> None:
    """A text and two calls of one person at the same moment: one commit, the others superseded and on record (CK-2)."""
    arrivals = [here.arrive(), here.arrive(channel="voice", call="c1"), here.arrive(channel="voice", call="c2")]
    seen = [here.look(arrived.turn) for arrived in arrivals]
    commands = [here.command(one, changes=(here.request(one, here.at(DAY)),), intents=()) for one in seen]
    outcomes = await at_once(nodes, [(here.store.commit, command) for command in commands])
    assert kinds(outcomes) == {"Committed": 1, "Superseded": 2}
    assert len(here.rows(entity)) == 1


async def test_one_command_on_two_nodes_is_one_commit(nodes: list[SqlDatabase], here: Books) -> None:
    """The same command that runs on three nodes at once lands once, and each of them learns how (CK-3)."""
    command = booking(here, ANN, 1)
    outcomes = await at_once(nodes, [(here.store.commit, command)] * NODES)
    assert kinds(outcomes) == {"Committed": NODES} and len({repr(outcome) for outcome in outcomes}) == 1
    assert len(here.rows(effect)) == len(here.rows(intent)) == 1


async def test_a_swap_of_two_slots_ends(nodes: list[SqlDatabase], here: Books) -> None:
    """Two people who want each other's slot at the same moment both get an answer, and nobody loses the tour they have."""
    for address, hours in ((ANN, 24), ("+13125550409", 25)):
        assert isinstance(here.commit(booking(here, address, 1, hours)), Committed)
    moves = []
    for address, hours in ((ANN, 25), ("+13125550409", 24)):
        seen = here.look(here.arrive(address=address).turn)
        start = here.now.replace(microsecond=0) + (here.at(hours * 3600) - here.now)
        moves.append(here.command(seen, changes=(here.move(seen, start),)))
    outcomes = await at_once(nodes, [(here.store.commit, move) for move in moves])
    assert set(kinds(outcomes)) <= {"Committed", "Refused"}
    assert len(here.rows(entity, live=True)) == len(here.rows(slot_hold)) == 2


async def test_a_replayed_webhook_on_three_nodes_is_one_message(nodes: list[SqlDatabase], here: Books) -> None:
    """The same delivery that three nodes take in at once is written once, and all name the same turn (OP-3)."""
    arrivals = [here.arrival(provider_id="SM1") for _ in range(NODES)]
    outcomes = await at_once(nodes, [(here.store.accept, arrival) for arrival in arrivals])
    assert sorted(outcome.duplicate for outcome in outcomes) == [False, True, True]
    assert len({outcome.turn for outcome in outcomes}) == 1 == len(here.rows(inbound))


async def test_first_messages_at_once_meet_in_one_conversation(nodes: list[SqlDatabase], here: Books) -> None:
    """Three first texts of one number on three nodes make one person, one conversation and one burst (CK-7, TX-4)."""
    arrivals = [here.arrival(f"part {n}") for n in range(NODES)]
    outcomes = await at_once(nodes, [(here.store.accept, arrival) for arrival in arrivals])
    assert len({(outcome.turn, outcome.conversation, outcome.person) for outcome in outcomes}) == 1
    assert [len(here.rows(table)) for table in (person, identity, conversation, turn, inbound)] == [1, 1, 1, 1, NODES]


async def test_a_due_turn_is_leased_by_one_node(nodes: list[SqlDatabase], here: Books) -> None:
    """Nodes that look for work at the same moment share it without overlap, and nothing is left over (SR-1)."""
    for number in range(12):
        here.arrive(address=f"+131255504{number:02}", due_at=here.now)
    calls = [(here.store.lease_turns, f"node {n}", 5, 600.0) for n in range(NODES)]
    leased = [lease.turn for leases in await at_once(nodes, calls) for lease in leases]
    rest = [lease.turn for leases in await at_once(nodes, calls) for lease in leases]
    assert len(set(leased + rest)) == len(leased + rest) == 12


async def test_a_composed_message_is_sent_by_one_node(nodes: list[SqlDatabase], here: Books) -> None:
    """Each message is leased by one relay and begun once (IN-6)."""
    for number in range(8):
        here.composed(address=f"+131255504{number:02}")
    calls = [(here.store.lease_intents, f"node {n}", 4, 600.0) for n in range(NODES)]
    leases = [lease for batch in await at_once(nodes, calls) for lease in batch]
    begun = await at_once(
        nodes, [(here.store.begin_attempt, lease, f"{lease.intent}-{n}") for n in (1, 2) for lease in leases]
    )
    assert len({lease.intent for lease in leases}) == len(leases)
    assert sum(one is not None for one in begun) == len(leases) == len(here.rows(attempt))


async def test_a_deadlock_runs_again(postgres_url: str) -> None:
    """Two transactions that lock the same rows in opposite order both end, because one of them runs again from its start (CK-1)."""
    books = Books.open(postgres_url)
    first, second = (books.arrive(address=f"+1312555040{n}").conversation for n in range(2))
    runs: list[str] = []

    def lock(tx: Tx, *names: str) -> str:
        runs.append(names[0])
        tx.conn.execute(sa.text("SET LOCAL deadlock_timeout = '50ms'"))
        for name in names:
            tx.conn.execute(
                sa.update(conversation).where(conversation.c.id == name).values(epoch=conversation.c.epoch + 1)
            )
            tx.conn.execute(sa.text("SELECT pg_sleep(0.1)"))  # until the other has its first lock, too
        return names[0]

    nodes = [SqlDatabase(postgres_url) for _ in range(2)]
    try:
        done = await at_once(nodes, [(lock, first, second), (lock, second, first)])
    finally:
        for node in nodes:
            await node.close()
    assert done == [first, second] and len(runs) == 3
    assert [row["epoch"] for row in books.rows(conversation)] == [3, 3]
