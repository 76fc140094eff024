"""Entities, their seats and their calendar events: what one change writes, or why it is refused.

Invariants: a transition that is not in the table cannot be written, because the table is the `WHERE` of the update; versions count along the whole chain
of a person (or conversation) and kind (CK-3); one live entity per chain (IN-4); a seat is a primary key, so that capacity holds under any concurrency
(CK-6); a live entity holds one seat and one calendar event, one that is not live holds none.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa
from sqlalchemy import bindparam

from pipeline.core.commands import Commit, CommitOutcome, EntityChange, EntityRef, Refused
from pipeline.core.states import TOUR
from pipeline.ports import Tx
from storage import outbox
from storage.tables import calendar_event, entity, slot_hold
from storage.types import Inserting, Upsert, once

# Per kind of entity: what may follow what. Kinds and states without an entry cannot be written.
Transitions = Mapping[str, Mapping[Any, frozenset[Any]]]
TRANSITIONS: Transitions = {"tour": TOUR}

_REPLACED = "SUPERSEDED"


class Stop(Exception):
    """Ends a commit with an outcome that wrote nothing."""

    def __init__(self, outcome: CommitOutcome) -> None:
        self.outcome = outcome


def change_entity(tx: Tx, command: Commit, change: EntityChange, transitions: Transitions) -> EntityRef:
    """Writes one change whole; raises `Stop` where it may not be."""
    table = transitions.get(change.kind, {})
    if change.state not in {str(state) for state in table}:
        raise Stop(Refused("illegal_transition", f"{change.kind} has no state {change.state}"))
    if change.replaces is not None:
        _replace(tx, command, change, change.replaces, _sources(table, _REPLACED))
    if change.creates:
        _create(tx, command, change)
    else:
        _alter(tx, command, change, _sources(table, change.state))
    _seat(tx, command, change)
    _calendar(tx, change)
    return EntityRef(change.entity, change.kind, change.base_version + 1, change.state)


def _sources(table: Mapping[Any, frozenset[Any]], target: str) -> list[str]:
    """The states from which `target` may be reached."""
    return [str(state) for state, nexts in table.items() if target in {str(one) for one in nexts}]


# --- states and versions -----------------------------------------------------------------------------------------

_MINE = sa.and_(
    sa.or_(entity.c.person == bindparam("at_person"), entity.c.conversation == bindparam("at_conversation")),
    entity.c.property == bindparam("at_property"),
    entity.c.kind == bindparam("at_kind"),
)
_THIS = sa.and_(entity.c.id == bindparam("at_entity"), _MINE)
_FROM = entity.c.state.in_(bindparam("at_states", expanding=True))

_CHAIN = sa.select(entity.c.version, entity.c.live).where(_MINE)
_FOUND = sa.select(entity.c.version, entity.c.state).where(_THIS)
_NEW = sa.insert(entity)
_ALTER = sa.update(entity).where(_THIS, entity.c.version == bindparam("at_version"), _FROM)
_REPLACE = (
    sa.update(entity)
    .where(_THIS, _FROM)
    .values(state=_REPLACED, live=False, superseded_by=bindparam("at_new"), changed_at=bindparam("at_now"))
)


def _mine(command: Commit, change: EntityChange) -> dict[str, Any]:
    """Whose chain it is: nobody changes what is somebody else's."""
    return {
        "at_person": command.person,
        "at_conversation": command.conversation,
        "at_property": command.property,
        "at_kind": change.kind,
    }


def _create(tx: Tx, command: Commit, change: EntityChange) -> None:
    chain = tx.conn.execute(_CHAIN, _mine(command, change)).all()
    if max((row.version for row in chain), default=0) != change.base_version:
        raise Stop(Refused("stale_version", "the chain has moved on"))
    if change.live and any(row.live for row in chain):
        raise Stop(Refused("illegal_transition", f"another {change.kind} is live"))
    new = {
        "id": change.entity,
        "domain": change.domain,
        "kind": change.kind,
        "property": command.property,
        "person": command.person,
        "conversation": command.conversation,
        "matter": command.matter,
        "created_at": tx.now,
    }
    tx.conn.execute(_NEW, new | _values(tx, change))


def _alter(tx: Tx, command: Commit, change: EntityChange, states: list[str]) -> None:
    this = _mine(command, change) | {"at_entity": change.entity}
    where = this | {"at_version": change.base_version, "at_states": states}
    if tx.conn.execute(_ALTER, where | _values(tx, change)).rowcount == 0:
        found = tx.conn.execute(_FOUND, this).one_or_none()
        if found is None or found.version != change.base_version:
            raise Stop(Refused("stale_version", change.entity))
        raise Stop(Refused("illegal_transition", f"{found.state} to {change.state}"))
    outbox.withdraw(tx, command, change.entity)


def _replace(tx: Tx, command: Commit, change: EntityChange, old: str, states: list[str]) -> None:
    """The earlier entity gives way: its state, its seats, its unsent messages, its calendar event (CK-4)."""
    where = {"at_entity": old, "at_states": states, "at_new": change.entity, "at_now": tx.now}
    if tx.conn.execute(_REPLACE, _mine(command, change) | where).rowcount == 0:
        raise Stop(Refused("illegal_transition", "what is to be replaced is not live"))
    tx.conn.execute(_RELEASE, {"at_entity": old})
    outbox.withdraw(tx, command, old)
    tx.conn.execute(_CANCEL_EVENT, {"at_entity": old, "at_now": tx.now})


def _values(tx: Tx, change: EntityChange) -> dict[str, Any]:
    return {
        "state": change.state,
        "live": change.live,
        "version": change.base_version + 1,
        "starts_at": change.starts_at,
        "ends_at": change.ends_at,
        "slot": change.slot,
        "body": change.body,
        "expires_at": change.expires_at,
        "writer": change.writer,
        "changed_at": tx.now,
    }


# --- seats -------------------------------------------------------------------------------------------------------

_HELD = slot_hold.c.entity == bindparam("at_entity")
_RELEASE = sa.delete(slot_hold).where(_HELD)
_RELEASE_OTHERS = sa.delete(slot_hold).where(_HELD, slot_hold.c.slot != bindparam("at_slot"))
_KEEP = sa.update(slot_hold).where(_HELD).values(expires_at=bindparam("at_end"))
_SIT = once(slot_hold, slot_hold.c.seat)


def _seat(tx: Tx, command: Commit, change: EntityChange) -> None:
    if not change.live or change.slot is None:
        tx.conn.execute(_RELEASE, {"at_entity": change.entity})
        return
    held = not change.creates and _keeps_seat(tx, change)
    if not held and not any(_sit(tx, command, change, seat) for seat in range(change.capacity)):
        raise Stop(Refused("slot_taken", change.slot))


def _keeps_seat(tx: Tx, change: EntityChange) -> bool:
    """Gives up seats of other slots; whether one of the right slot is held."""
    tx.conn.execute(_RELEASE_OTHERS, {"at_entity": change.entity, "at_slot": change.slot})
    return tx.conn.execute(_KEEP, {"at_entity": change.entity, "at_end": change.expires_at}).rowcount == 1


def _sit(tx: Tx, command: Commit, change: EntityChange, seat: int) -> bool:
    """Waits for whoever is about to take the same seat; False where they took it."""
    row = {
        "slot": change.slot,
        "seat": seat,
        "property": command.property,
        "entity": change.entity,
        "starts_at": change.starts_at,
        "expires_at": change.expires_at,
    }
    return _SIT.run(tx.conn, row).first() is not None


# --- calendar ----------------------------------------------------------------------------------------------------

_CANCEL_EVENT = (
    sa.update(calendar_event)
    .where(calendar_event.c.entity == bindparam("at_entity"), calendar_event.c.method != "CANCEL")
    .values(method="CANCEL", sequence=calendar_event.c.sequence + 1, changed_at=bindparam("at_now"))
)


def _request_event(insert: Inserting) -> sa.Executable:
    new = insert(calendar_event)
    moved = {name: new.excluded[name] for name in ("method", "starts_at", "ends_at", "changed_at")}
    again = {**moved, "sequence": calendar_event.c.sequence + 1}
    return new.on_conflict_do_update(index_elements=["uid"], set_=again)


_REQUEST_EVENT = Upsert(_request_event)


def _calendar(tx: Tx, change: EntityChange) -> None:
    """A request while the entity is live, a cancellation with the next sequence number when it is not."""
    if not change.live:
        tx.conn.execute(_CANCEL_EVENT, {"at_entity": change.entity, "at_now": tx.now})
    elif change.starts_at is not None:
        event = {
            "uid": change.entity,
            "entity": change.entity,
            "sequence": 0,
            "method": "REQUEST",
            "changed_at": tx.now,
        }
        _REQUEST_EVENT.run(tx.conn, event | {"starts_at": change.starts_at, "ends_at": change.ends_at})
