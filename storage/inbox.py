"""The door: each message comes in once, finds its conversation and person, and joins a turn (OP-3, TX-4).

Invariants: the unique inbound row is written first, so that a replay waits for the original and then changes nothing. A conversation is found by its call,
by the Message-IDs that are answered, or by the address; who answers in a thread from another address is another person with a turn of their own.
Each arrival moves the conversation's epoch: a decision that has not seen it comes too late. A burst never gathers for more than three windows.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from sqlalchemy import bindparam

from pipeline.core.commands import TraceEvent
from pipeline.core.states import TurnState
from pipeline.ports import Tx
from pipeline.store import Arrival, Arrived
from storage.people import keep_consent, resolve_person
from storage.tables import conversation, inbound, intent, matter, turn
from storage.trace import trace
from storage.types import once, one_of

WINDOWS = 3


def accept(tx: Tx, arrival: Arrival) -> Arrived:
    """Writes the inbound row once and opens or joins a turn."""
    if _WRITE.run(tx.conn, _inbound(arrival)).first() is None:
        return _seen_before(tx, arrival)
    who = resolve_person(tx, arrival)
    where = _move_conversation(tx, arrival, who)
    joined = _join(tx, arrival, where, who)
    turn_id = joined or _open(tx, arrival, where, who)
    tx.conn.execute(_PLACE, {"at_inbound": arrival.id, "turn": turn_id, "conversation": where, "person": who})
    open_matter(tx, arrival.matter, where, who)
    keep_consent(tx, arrival)
    known = {"provider": arrival.provider, "provider_id": arrival.provider_id}
    told = {**known, "joined": joined is not None, "text": arrival.text}
    trace(tx, where, turn_id, [TraceEvent("inbound", arrival.channel, told, personal=True)])
    return Arrived(turn_id, where, who, duplicate=False, joined=joined is not None)


# --- the inbound row ---------------------------------------------------------------------------------------------

_WRITE = once(inbound, inbound.c.id, "provider", "provider_id")
_SEEN = sa.select(inbound.c.turn, inbound.c.conversation, inbound.c.person).where(
    inbound.c.provider == bindparam("at_provider"), inbound.c.provider_id == bindparam("at_id")
)
_PLACE = sa.update(inbound).where(inbound.c.id == bindparam("at_inbound"))


def _inbound(arrival: Arrival) -> dict[str, Any]:
    return {
        "id": arrival.id,
        "provider": arrival.provider,
        "provider_id": arrival.provider_id,
        "property": arrival.property,
        "channel": arrival.channel,
        "address": arrival.address,
        "our_address": arrival.our_address,
        "name": arrival.name,
        "text": arrival.text,
        "raw": arrival.raw,
        "subject": arrival.subject,
        "message_id": arrival.message_id,
        "thread": arrival.thread,
        "form": arrival.form,
        "lineage": arrival.lineage,
        "locale": arrival.locale,
        "automatic": arrival.automatic,
        "call": arrival.call,
        "low_confidence": arrival.low_confidence,
        "received_at": arrival.received_at,
    }


def _seen_before(tx: Tx, arrival: Arrival) -> Arrived:
    row = tx.conn.execute(_SEEN, {"at_provider": arrival.provider, "at_id": arrival.provider_id}).one()
    return Arrived(row.turn, row.conversation, row.person, duplicate=True, joined=False)


# --- the conversation --------------------------------------------------------------------------------------------

_HERE = sa.and_(
    conversation.c.property == bindparam("at_property"),
    conversation.c.channel == bindparam("at_channel"),
    one_of(conversation.c.state, ["open"]),
)
_BY_CALL = sa.select(conversation.c.id).where(conversation.c.call == bindparam("at_call"))
_BY_ADDRESS = sa.select(conversation.c.id).where(
    _HERE, conversation.c.address == bindparam("at_address"), conversation.c.call.is_(None)
)
_BY_THREAD = [
    sa.select(conversation.c.id)
    .join(table, table.c.conversation == conversation.c.id)
    .where(_HERE, table.c.message_id.in_(bindparam("at_thread", expanding=True)))
    .order_by(newest.desc())
    for table, newest in ((intent, intent.c.created_at), (inbound, inbound.c.received_at))
]
_NEW_CONVERSATION = once(conversation, conversation.c.id)
_MOVE = (
    sa.update(conversation)
    .where(conversation.c.id == bindparam("at_conversation"), conversation.c.state == "open")
    .values(
        epoch=conversation.c.epoch + 1,
        person=sa.func.coalesce(conversation.c.person, bindparam("at_person", type_=sa.Text)),
        locale=sa.func.coalesce(bindparam("at_locale", type_=sa.Text), conversation.c.locale),
    )
)


def _move_conversation(tx: Tx, arrival: Arrival, who: str | None) -> str:
    """The conversation that the arrival belongs to, its row locked and its epoch moved."""
    for _ in range(3):
        found = _find(tx, arrival) or _new(tx, arrival, who)
        values = {"at_conversation": found, "at_person": who, "at_locale": arrival.locale}
        if tx.conn.execute(_MOVE, values).rowcount == 1:
            return found
    raise RuntimeError("the conversation is resolved as fast as it is opened")


def _call_key(arrival: Arrival) -> str | None:
    return arrival.call or (arrival.id if arrival.withheld else None)


def _find(tx: Tx, arrival: Arrival) -> str | None:
    call = _call_key(arrival)
    if call is not None:
        return tx.conn.execute(_BY_CALL, {"at_call": call}).scalar_one_or_none()
    here = {"at_property": arrival.property, "at_channel": arrival.channel}
    for query in _BY_THREAD if arrival.thread else ():
        found: str | None = tx.conn.execute(query, {**here, "at_thread": arrival.thread}).scalars().first()
        if found is not None:
            return found
    return tx.conn.execute(_BY_ADDRESS, {**here, "at_address": arrival.address}).scalar_one_or_none()


def _new(tx: Tx, arrival: Arrival, who: str | None) -> str:
    row = {
        "id": arrival.conversation,
        "property": arrival.property,
        "channel": arrival.channel,
        "address": arrival.address,
        "our_address": arrival.our_address,
        "person": who,
        "call": _call_key(arrival),
        "state": "open",
        "epoch": 0,
        "trace_seq": 0,
        "owner": "clara",
        "locale": arrival.locale,
        "created_at": tx.now,
    }
    made: str | None = _NEW_CONVERSATION.run(tx.conn, row).scalar_one_or_none()
    return made or _find(tx, arrival) or arrival.conversation  # another node was first


# --- the turn ----------------------------------------------------------------------------------------------------

_OPEN_TURN = sa.select(turn.c.id, turn.c.due_at, turn.c.window_end).where(
    turn.c.conversation == bindparam("at_conversation"),
    turn.c.state == TurnState.OPEN,
    turn.c.trigger == "inbound",
    turn.c.automatic == bindparam("at_automatic"),
    turn.c.address == bindparam("at_address"),
    turn.c.person.is_not_distinct_from(bindparam("at_person", type_=sa.Text)),
)
_PUT_OFF = sa.update(turn).where(turn.c.id == bindparam("at_turn")).values(due_at=bindparam("at_due"))
_NEW_TURN = sa.insert(turn)
_MATTER = once(matter, matter.c.id)


def _join(tx: Tx, arrival: Arrival, where: str, who: str | None) -> str | None:
    """The open turn of the same sender, due a little later; automatic mail never joins a person's words."""
    mine = {"at_automatic": arrival.automatic, "at_address": arrival.address, "at_person": who}
    row = tx.conn.execute(_OPEN_TURN, {"at_conversation": where, **mine}).first()
    if row is None:
        return None
    due_at = min(max(row.due_at, arrival.due_at), row.window_end)
    tx.conn.execute(_PUT_OFF, {"at_turn": row.id, "at_due": due_at})
    return str(row.id)


def _open(tx: Tx, arrival: Arrival, where: str, who: str | None) -> str:
    tx.conn.execute(
        _NEW_TURN,
        {
            "id": arrival.turn,
            "conversation": where,
            "person": who,
            "property": arrival.property,
            "channel": arrival.channel,
            "trigger": "inbound",
            "address": arrival.address,
            "our_address": arrival.our_address,
            "call": arrival.call,
            "automatic": arrival.automatic,
            "state": TurnState.OPEN,
            "opened_at": tx.now,
            "due_at": arrival.due_at,
            "window_end": arrival.received_at + WINDOWS * (arrival.due_at - arrival.received_at),
            "fence": 0,
        },
    )
    return arrival.turn


def open_matter(tx: Tx, matter_id: str, where: str, who: str | None) -> None:
    """The conversation has an open matter: the one it has, or a new one of this id."""
    row = {"id": matter_id, "conversation": where, "person": who, "rounds": 0, "state": "open", "opened_at": tx.now}
    _MATTER.run(tx.conn, row)
