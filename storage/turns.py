"""Turns between the door and the commit: who works on which, how they end without a promise, and the ones that a timer opens.

Invariants: of a conversation one open turn is leased at a time, by the database's clock, and a lost lease changes nothing; an answer that is being
composed does not hold up the next decision (TX-4). An ending without a commit never swallows a text that it has not seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import bindparam

from pipeline.core.commands import Seen, TraceEvent
from pipeline.core.states import TurnState
from pipeline.core.types import Ending, Health
from pipeline.ports import Tx
from pipeline.store import TurnLease
from storage.inbox import open_matter
from storage.rows import later
from storage.tables import conversation, entity, turn
from storage.trace import trace
from storage.types import Instant, one_of

# --- leases ------------------------------------------------------------------------------------------------------

_NOW: sa.BindParameter[datetime] = bindparam("at_now", type_=Instant)


def _owed(turns: sa.FromClause) -> sa.ColumnElement[bool]:
    """Open or committed, and in nobody's hands."""
    free = sa.or_(turns.c.lease_until.is_(None), turns.c.lease_until <= _NOW)
    return sa.and_(one_of(turns.c.state, [TurnState.OPEN, TurnState.COMMITTED]), free)


_earlier, _other = turn.alias("earlier"), turn.alias("other")
_BEHIND = (
    sa.select(_earlier.c.id)
    .where(
        _earlier.c.conversation == turn.c.conversation,
        _earlier.c.id < turn.c.id,
        _owed(_earlier),
        _earlier.c.due_at <= _NOW,
    )
    .exists()
)
_DECIDING = (
    sa.select(_other.c.id)
    .where(
        _other.c.conversation == turn.c.conversation,
        _other.c.id != turn.c.id,
        # One decision at a time; an answer that is still being composed lets the next trigger supersede it (TX-4).
        one_of(_other.c.state, [TurnState.OPEN]),
        _other.c.lease_until > _NOW,
    )
    .exists()
)
_DUE = (
    sa.select(turn.c.id)
    .join(conversation, conversation.c.id == turn.c.conversation)
    .where(_owed(turn), turn.c.due_at <= _NOW, ~_BEHIND)
    .order_by(turn.c.due_at, turn.c.id)
    .limit(bindparam("at_limit"))
    .with_for_update(of=conversation, skip_locked=True, key_share=True)
)
_HOLD = (
    sa.select(conversation.c.id)
    .join(turn, turn.c.conversation == conversation.c.id)
    .where(turn.c.id == bindparam("at_turn"))
    .with_for_update(of=conversation, key_share=True)
)
_LEASE = (
    sa.update(turn)
    .where(turn.c.id == bindparam("at_turn"), _owed(turn), ~_DECIDING)
    .values(lease_owner=bindparam("at_node"), lease_until=bindparam("at_end"), fence=turn.c.fence + 1)
    .returning(turn.c.id, turn.c.state, turn.c.channel, turn.c.fence, turn.c.lease_until)
)
_RELEASE = sa.update(turn).where(turn.c.id == bindparam("at_turn"), turn.c.fence == bindparam("at_fence"))


def lease_turns(tx: Tx, node: str, limit: int, seconds: float) -> list[TurnLease]:
    """Due turns, the oldest of each conversation, whose row is locked while it is chosen, so that two nodes never take two of it."""
    chosen = tx.conn.execute(_DUE, {"at_now": tx.now, "at_limit": limit}).scalars().all()
    leases = [_lease(tx, name, node, seconds) for name in chosen]
    return [lease for lease in leases if lease is not None]


def lease_turn(tx: Tx, turn_id: str, node: str, seconds: float) -> TurnLease | None:
    """The lease of one turn, or None where it is settled, leased, or another of its conversation is being decided."""
    tx.conn.execute(_HOLD, {"at_turn": turn_id})
    return _lease(tx, turn_id, node, seconds)


def _lease(tx: Tx, turn_id: str, node: str, seconds: float) -> TurnLease | None:
    values = {"at_turn": turn_id, "at_now": tx.now, "at_node": node, "at_end": later(tx, seconds)}
    row = tx.conn.execute(_LEASE, values).one_or_none()
    return None if row is None else TurnLease(row.id, row.state, row.channel, row.fence, row.lease_until)


def release_turn(tx: Tx, lease: TurnLease, due_at: datetime | None) -> None:
    """Gives the lease back; `due_at` says when the turn is to be taken up again, None leaves that as it is."""
    values: dict[str, Any] = {"lease_until": None, "lease_owner": None}
    if due_at is not None:
        values["due_at"] = due_at
    tx.conn.execute(_RELEASE, {**values, "at_turn": lease.turn, "at_fence": lease.fence})


# --- endings without a commit ------------------------------------------------------------------------------------

_EPOCH = (
    sa.select(turn.c.conversation, conversation.c.epoch)
    .join(conversation, conversation.c.id == turn.c.conversation)
    .where(turn.c.id == bindparam("at_turn"))
    .with_for_update(of=conversation, key_share=True)
)
_SETTLE = sa.update(turn).where(turn.c.id == bindparam("at_turn"), turn.c.state == TurnState.OPEN)


def settle_without_commit(
    tx: Tx, turn_id: str, ending: Ending, health: Health, events: Sequence[TraceEvent], seen: Seen | None = None
) -> bool:
    """Ends an open turn that promises nothing; False where it is not open any more, or where `seen` is out of date."""
    row = tx.conn.execute(_EPOCH, {"at_turn": turn_id}).one()
    if seen is not None and row.epoch != seen.conversation_epoch:
        return False
    ended = {"state": TurnState.SETTLED, "ending": ending, "health": health, "settled_at": tx.now}
    if tx.conn.execute(_SETTLE, {**ended, "at_turn": turn_id}).rowcount == 0:
        return False
    trace(tx, row.conversation, turn_id, events)
    return True


# --- expiry ------------------------------------------------------------------------------------------------------

_OVER = sa.and_(one_of(entity.c.state, ["PROPOSED"]), entity.c.expires_at <= _NOW)
_EXPIRED = sa.select(entity.c.id).where(_OVER).order_by(entity.c.expires_at).limit(bindparam("at_limit"))
_EXPIRING = (
    sa.select(entity.c.conversation, entity.c.person, conversation.c.channel, conversation.c.property)
    .add_columns(conversation.c.address, conversation.c.our_address, conversation.c.call)
    .join(conversation, conversation.c.id == entity.c.conversation)
    .where(entity.c.id == bindparam("at_entity"), _OVER)
    .with_for_update(of=conversation, key_share=True)
)
_RUNNING = sa.select(turn.c.id).where(
    turn.c.conversation == bindparam("at_conversation"), turn.c.trigger == "expiry", turn.c.state == TurnState.OPEN
)
_NEW = sa.insert(turn)


def expire_due(tx: Tx, limit: int) -> list[str]:
    """Live entities whose time as PROPOSED has run out, oldest first."""
    return list(tx.conn.execute(_EXPIRED, {"at_now": tx.now, "at_limit": limit}).scalars())


def open_expiry(tx: Tx, entity_id: str, turn_id: str, matter_id: str) -> str | None:
    """A turn without an inbound, in which the expiry is committed; the running one where there is one, None where it is over."""
    row = tx.conn.execute(_EXPIRING, {"at_entity": entity_id, "at_now": tx.now}).mappings().one_or_none()
    if row is None:
        return None
    running: str | None = tx.conn.execute(_RUNNING, {"at_conversation": row["conversation"]}).scalars().first()
    if running is not None:
        return running
    open_matter(tx, matter_id, row["conversation"], row["person"])
    new = {"id": turn_id, "trigger": "expiry", "automatic": False, "state": TurnState.OPEN, "fence": 0}
    now = {"opened_at": tx.now, "due_at": tx.now, "window_end": tx.now}
    tx.conn.execute(_NEW, {**row, **new, **now})
    return turn_id
