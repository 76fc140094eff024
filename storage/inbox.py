"""The door: each message comes in once, finds its conversation and person, and joins a turn (OP-3, TX-4).

Invariants: the unique inbound row is written first, so that a replay waits for the original and then changes nothing. A person is found by the exact
address alone (CK-7); withheld callers have none and their conversation is the call. Each arrival moves the conversation's epoch: a decision that
has not seen it comes too late. A burst never gathers for more than three windows.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from pipeline.core.commands import Seen, TraceEvent
from pipeline.core.states import TurnState
from pipeline.core.types import Ending, Health
from pipeline.ports import Tx
from pipeline.store import Arrival, Arrived, TurnLease
from storage.rows import after, later
from storage.tables import consent, conversation, entity, identity, inbound, intent, matter, person, turn
from storage.trace import trace
from storage.types import one_of, upsert

WINDOWS = 3
_LIVE = (TurnState.OPEN, TurnState.COMMITTED)


def accept(tx: Tx, arrival: Arrival) -> Arrived:
    """Writes the inbound row once and opens or joins a turn."""
    if not _write_inbound(tx, arrival):
        return _seen_before(tx, arrival)
    who = None if arrival.withheld else _person(tx, arrival)
    where = _conversation(tx, arrival, who)
    joined = _join(tx, arrival, where, who)
    turn_id = joined or _open(tx, arrival, where, who)
    tx.conn.execute(
        sa.update(inbound).where(inbound.c.id == arrival.id).values(turn=turn_id, conversation=where, person=who)
    )
    _matter(tx, arrival.matter, where, who)
    _keep_consent(tx, arrival)
    told = {
        "provider": arrival.provider,
        "provider_id": arrival.provider_id,
        "joined": joined is not None,
        "text": arrival.text,
    }
    trace(tx, where, turn_id, [TraceEvent("inbound", arrival.channel, told, personal=True)])
    return Arrived(turn_id, where, who, duplicate=False, joined=joined is not None)


def lease_turns(tx: Tx, node: str, limit: int, seconds: float) -> list[TurnLease]:
    """Due turns, the oldest of each conversation; the conversation's row is locked while it is chosen, so that two nodes never take two."""
    earlier = turn.alias("earlier")
    behind = sa.select(earlier.c.id).where(
        earlier.c.conversation == turn.c.conversation, earlier.c.id < turn.c.id, _due(tx, earlier)
    )
    chosen = tx.conn.execute(
        sa.select(turn.c.id)
        .join(conversation, conversation.c.id == turn.c.conversation)
        .where(_due(tx, turn), ~behind.exists())
        .order_by(turn.c.due_at, turn.c.id)
        .limit(limit)
        .with_for_update(of=conversation, skip_locked=True, key_share=True)
    ).scalars()
    leases = [_lease(tx, name, node, seconds) for name in chosen.all()]
    return [lease for lease in leases if lease is not None]


def _due(tx: Tx, turns: sa.FromClause) -> sa.ColumnElement[bool]:
    free = sa.or_(turns.c.lease_until.is_(None), turns.c.lease_until <= tx.now)
    return sa.and_(one_of(turns.c.state, _LIVE), turns.c.due_at <= tx.now, free)


def lease_turn(tx: Tx, turn_id: str, node: str, seconds: float) -> TurnLease | None:
    """The lease of one turn, or None where it is settled or another of its conversation is leased."""
    where = sa.select(turn.c.conversation).where(turn.c.id == turn_id).scalar_subquery()
    tx.conn.execute(sa.select(conversation.c.id).where(conversation.c.id == where).with_for_update(key_share=True))
    return _lease(tx, turn_id, node, seconds)


def _lease(tx: Tx, turn_id: str, node: str, seconds: float) -> TurnLease | None:
    other = turn.alias("other")
    busy = (
        sa.select(other.c.id)
        .where(
            other.c.conversation == turn.c.conversation,
            other.c.id != turn.c.id,
            # One decision at a time; an answer that is still being composed lets the next trigger supersede it (TX-4).
            one_of(other.c.state, [TurnState.OPEN]),
            other.c.lease_until > tx.now,
        )
        .exists()
    )
    row = tx.conn.execute(
        sa.update(turn)
        .where(
            turn.c.id == turn_id,
            one_of(turn.c.state, _LIVE),
            sa.or_(turn.c.lease_until.is_(None), turn.c.lease_until <= tx.now),
            ~busy,
        )
        .values(lease_owner=node, lease_until=later(tx, seconds), fence=turn.c.fence + 1)
        .returning(turn.c.id, turn.c.state, turn.c.channel, turn.c.fence, turn.c.lease_until)
    ).one_or_none()
    return None if row is None else TurnLease(row.id, row.state, row.channel, row.fence, row.lease_until)


def release_turn(tx: Tx, lease: TurnLease, due_at: datetime | None) -> None:
    """Gives the lease back; `due_at` says when the turn is to be taken up again, None leaves that as it is."""
    values: dict[str, Any] = {"lease_until": None, "lease_owner": None}
    if due_at is not None:
        values["due_at"] = due_at
    tx.conn.execute(sa.update(turn).where(turn.c.id == lease.turn, turn.c.fence == lease.fence).values(values))


def settle_without_commit(
    tx: Tx, turn_id: str, ending: Ending, health: Health, events: Sequence[TraceEvent], seen: Seen | None = None
) -> bool:
    """Ends an open turn that promises nothing; False where it is not open any more, or where `seen` is out of date."""
    row = tx.conn.execute(
        sa.select(turn.c.conversation, conversation.c.epoch)
        .join(conversation, conversation.c.id == turn.c.conversation)
        .where(turn.c.id == turn_id)
        .with_for_update(of=conversation, key_share=True)
    ).one()
    if seen is not None and row.epoch != seen.conversation_epoch:
        return False
    ended = tx.conn.execute(
        sa.update(turn)
        .where(turn.c.id == turn_id, turn.c.state == TurnState.OPEN)
        .values(state=TurnState.SETTLED, ending=ending, health=health, settled_at=tx.now)
    )
    if ended.rowcount == 0:
        return False
    trace(tx, row.conversation, turn_id, events)
    return True


def expire_due(tx: Tx, limit: int) -> list[str]:
    """Live entities whose time as PROPOSED has run out, oldest first."""
    return list(
        tx.conn.execute(
            sa.select(entity.c.id)
            .where(one_of(entity.c.state, ["PROPOSED"]), entity.c.expires_at <= tx.now)
            .order_by(entity.c.expires_at)
            .limit(limit)
        ).scalars()
    )


def open_expiry(tx: Tx, entity_id: str, turn_id: str, matter_id: str) -> str | None:
    """A turn without an inbound, in which the expiry of a PROPOSED entity is committed; the open one where there is one, None where it is over."""
    row = tx.conn.execute(
        sa.select(entity.c.conversation, entity.c.person, conversation.c.channel, conversation.c.property)
        .add_columns(conversation.c.address, conversation.c.our_address, conversation.c.call)
        .join(conversation, conversation.c.id == entity.c.conversation)
        .where(entity.c.id == entity_id, one_of(entity.c.state, ["PROPOSED"]), entity.c.expires_at <= tx.now)
        .with_for_update(of=conversation, key_share=True)
    ).one_or_none()
    if row is None:
        return None
    running = (
        tx.conn.execute(
            sa.select(turn.c.id).where(
                turn.c.conversation == row.conversation, turn.c.trigger == "expiry", turn.c.state == TurnState.OPEN
            )
        )
        .scalars()
        .first()
    )
    if running is not None:
        return str(running)
    _matter(tx, matter_id, row.conversation, row.person)
    tx.conn.execute(
        sa.insert(turn).values(
            id=turn_id, trigger="expiry", automatic=False, state=TurnState.OPEN, opened_at=tx.now, due_at=tx.now,
            window_end=tx.now, fence=0, **row._mapping,
        )
    )  # fmt: skip
    return turn_id


def _write_inbound(tx: Tx, arrival: Arrival) -> bool:
    statement = upsert(tx.conn, inbound).values(
        id=arrival.id,
        provider=arrival.provider,
        provider_id=arrival.provider_id,
        property=arrival.property,
        channel=arrival.channel,
        address=arrival.address,
        our_address=arrival.our_address,
        name=arrival.name,
        text=arrival.text,
        raw=arrival.raw,
        subject=arrival.subject,
        message_id=arrival.message_id,
        thread=arrival.thread,
        form=arrival.form,
        lineage=arrival.lineage,
        locale=arrival.locale,
        automatic=arrival.automatic,
        call=arrival.call,
        low_confidence=arrival.low_confidence,
        received_at=arrival.received_at,
    )
    once = statement.on_conflict_do_nothing(index_elements=["provider", "provider_id"])
    return tx.conn.execute(once.returning(inbound.c.id)).first() is not None


def _seen_before(tx: Tx, arrival: Arrival) -> Arrived:
    row = tx.conn.execute(
        sa.select(inbound.c.turn, inbound.c.conversation, inbound.c.person).where(
            inbound.c.provider == arrival.provider, inbound.c.provider_id == arrival.provider_id
        )
    ).one()
    return Arrived(row.turn, row.conversation, row.person, duplicate=True, joined=False)


def _person(tx: Tx, arrival: Arrival) -> str:
    """The one person behind an exact address of a property; a new one where nobody is. A phone is one identity for calls and texts."""
    kind = "email" if arrival.channel == "email" else "phone"
    known = sa.select(identity.c.person).where(
        identity.c.property == arrival.property, identity.c.kind == kind, identity.c.address == arrival.address
    )
    found = tx.conn.execute(known).scalar_one_or_none()
    if found is not None:
        return str(found)
    tx.conn.execute(
        sa.insert(person).values(
            id=arrival.person, property=arrival.property, epoch=0, name=arrival.name, created_at=tx.now
        )
    )
    statement = upsert(tx.conn, identity).values(
        property=arrival.property, kind=kind, address=arrival.address, person=arrival.person, created_at=tx.now
    )
    if tx.conn.execute(statement.on_conflict_do_nothing().returning(identity.c.person)).first() is not None:
        return arrival.person
    tx.conn.execute(sa.delete(person).where(person.c.id == arrival.person))
    return str(tx.conn.execute(known).scalar_one())


def _conversation(tx: Tx, arrival: Arrival, who: str | None) -> str:
    """The conversation that the arrival belongs to, its row locked and its epoch moved."""
    for _ in range(3):
        found = _find_conversation(tx, arrival) or _new_conversation(tx, arrival, who)
        moved = tx.conn.execute(
            sa.update(conversation)
            .where(conversation.c.id == found, conversation.c.state == "open")
            .values(
                epoch=conversation.c.epoch + 1,
                person=sa.func.coalesce(conversation.c.person, who),
                locale=sa.func.coalesce(arrival.locale, conversation.c.locale),
            )
            .returning(conversation.c.id)
        ).scalar_one_or_none()
        if moved is not None:
            return str(moved)
    raise RuntimeError("the conversation is resolved as fast as it is opened")


def _call_key(arrival: Arrival) -> str | None:
    return arrival.call or (arrival.id if arrival.withheld else None)


def _find_conversation(tx: Tx, arrival: Arrival) -> str | None:
    call = _call_key(arrival)
    if call is not None:
        query = sa.select(conversation.c.id).where(conversation.c.call == call)
        return tx.conn.execute(query).scalar_one_or_none()
    return (
        _by_thread(tx, arrival)
        or tx.conn.execute(
            sa.select(conversation.c.id).where(
                conversation.c.property == arrival.property,
                conversation.c.channel == arrival.channel,
                conversation.c.address == arrival.address,
                one_of(conversation.c.state, ["open"]),
                conversation.c.call.is_(None),
            )
        ).scalar_one_or_none()
    )


def _by_thread(tx: Tx, arrival: Arrival) -> str | None:
    """The open conversation in which one of the answered Message-IDs was written, by either side."""
    if not arrival.thread:
        return None
    for table, newest in ((intent, intent.c.created_at), (inbound, inbound.c.received_at)):
        found = (
            tx.conn.execute(
                sa.select(conversation.c.id)
                .join(table, table.c.conversation == conversation.c.id)
                .where(
                    table.c.message_id.in_(arrival.thread),
                    conversation.c.property == arrival.property,
                    conversation.c.channel == arrival.channel,
                    one_of(conversation.c.state, ["open"]),
                )
                .order_by(newest.desc())
            )
            .scalars()
            .first()
        )
        if found is not None:
            return str(found)
    return None


def _new_conversation(tx: Tx, arrival: Arrival, who: str | None) -> str:
    statement = upsert(tx.conn, conversation).values(
        id=arrival.conversation,
        property=arrival.property,
        channel=arrival.channel,
        address=arrival.address,
        our_address=arrival.our_address,
        person=who,
        call=_call_key(arrival),
        state="open",
        epoch=0,
        trace_seq=0,
        owner="clara",
        locale=arrival.locale,
        created_at=tx.now,
    )
    made = tx.conn.execute(statement.on_conflict_do_nothing().returning(conversation.c.id)).scalar_one_or_none()
    return str(made) if made is not None else _find_conversation(tx, arrival) or arrival.conversation


def _join(tx: Tx, arrival: Arrival, where: str, who: str | None) -> str | None:
    """The open turn of the same sender, due a little later; automatic mail never joins a person's words."""
    row = tx.conn.execute(
        sa.select(turn.c.id, turn.c.due_at, turn.c.window_end).where(
            turn.c.conversation == where,
            turn.c.state == TurnState.OPEN,
            turn.c.trigger == "inbound",
            turn.c.automatic == arrival.automatic,
            turn.c.address == arrival.address,
            turn.c.person.is_not_distinct_from(who),
        )
    ).first()
    if row is None:
        return None
    due_at = min(max(row.due_at, arrival.due_at), row.window_end)
    tx.conn.execute(sa.update(turn).where(turn.c.id == row.id).values(due_at=due_at))
    return str(row.id)


def _open(tx: Tx, arrival: Arrival, where: str, who: str | None) -> str:
    tx.conn.execute(
        sa.insert(turn).values(
            id=arrival.turn,
            conversation=where,
            person=who,
            property=arrival.property,
            channel=arrival.channel,
            trigger="inbound",
            address=arrival.address,
            our_address=arrival.our_address,
            call=arrival.call,
            automatic=arrival.automatic,
            state=TurnState.OPEN,
            opened_at=tx.now,
            due_at=arrival.due_at,
            window_end=after(arrival.received_at, WINDOWS * (arrival.due_at - arrival.received_at)),
            fence=0,
        )
    )
    return arrival.turn


def _matter(tx: Tx, matter_id: str, where: str, who: str | None) -> None:
    statement = upsert(tx.conn, matter).values(
        id=matter_id, conversation=where, person=who, rounds=0, state="open", opened_at=tx.now
    )
    tx.conn.execute(statement.on_conflict_do_nothing())


def _keep_consent(tx: Tx, arrival: Arrival) -> None:
    """The first message of an address is the evidence that it may be answered there."""
    if arrival.withheld or arrival.automatic:
        return
    statement = upsert(tx.conn, consent).values(
        property=arrival.property,
        channel=arrival.channel,
        address=arrival.address,
        purpose="answer",
        inbound=arrival.id,
        text=arrival.text[:1000],
        source=arrival.provider,
        at=arrival.received_at,
    )
    tx.conn.execute(statement.on_conflict_do_nothing())
