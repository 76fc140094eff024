"""Reads that several topics share: who is meant, what was said, what has left."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Literal

import sqlalchemy as sa
from sqlalchemy import bindparam

from pipeline.core.states import IntentState as State
from pipeline.ports import Tx
from storage.tables import (
    access_code,
    claim_class,
    conversation,
    entity,
    inbound,
    intent,
    suppression,
    switch,
    utterance,
)
from storage.types import Instant
from storage.vault import Vault

Said = tuple[Literal["customer", "clara"], str]
HISTORY = 20
DAY = timedelta(hours=24)

# With the provider, or as good as: the text may be read, or will be.
_LEFT = (State.SENDING, State.ACCEPTED, State.DELIVERED, State.UNDELIVERED, State.UNKNOWN)
_LEAVING = (State.COMPOSED, State.LEASED, State.BLOCKED)


def later(tx: Tx, seconds: float) -> datetime:
    """`seconds` after the transaction's instant."""
    return tx.now + timedelta(seconds=seconds)


def mine(table: sa.Table) -> sa.ColumnElement[bool]:
    """Rows of the person `at_person` or of the conversation `at_conversation`: what is earlier is looked up by both (CK-4)."""
    return sa.or_(table.c.person == bindparam("at_person"), table.c.conversation == bindparam("at_conversation"))


# --- what was said -----------------------------------------------------------------------------------------------

_ASKED = (
    sa.select(inbound.c.received_at, inbound.c.text)
    .where(inbound.c.conversation == bindparam("at_conversation"), inbound.c.turn < bindparam("at_turn"))
    .order_by(inbound.c.received_at.desc())
    .limit(HISTORY)
)
_ANSWERED = (
    sa.select(intent.c.released_at, intent.c.text)
    .where(
        intent.c.conversation == bindparam("at_conversation"),
        intent.c.turn < bindparam("at_turn"),
        intent.c.customer_facing,
        intent.c.state.in_(_LEFT),
        intent.c.text.is_not(None),
    )
    .order_by(intent.c.created_at.desc())
    .limit(HISTORY)
)
_SPOKEN = sa.and_(utterance.c.speaker == "clara", utterance.c.heard != "")
_HEARD = (
    sa.select(utterance.c.started_at, utterance.c.heard)
    .where(
        utterance.c.call == bindparam("at_call"),
        _SPOKEN,
        sa.or_(utterance.c.turn.is_(None), utterance.c.turn < bindparam("at_turn")),
    )
    .order_by(utterance.c.started_at.desc())
    .limit(HISTORY)
)


def history(tx: Tx, where: str, call: str | None, turn: str) -> tuple[tuple[Said, ...], bool]:
    """What was said before this turn, oldest first, and whether Clara has said nothing yet.

    Turns are told apart by their ids, which sort by time. On a call Clara's part is what was heard; elsewhere it is what left.
    """
    here = {"at_conversation": where, "at_turn": turn}
    asked = tx.conn.execute(_ASKED, here).all()
    answered = list(tx.conn.execute(_ANSWERED, here).all())
    if call is not None:
        answered += tx.conn.execute(_HEARD, {"at_call": call, "at_turn": turn}).all()
    said: list[tuple[datetime, Literal["customer", "clara"], str]] = [(at, "customer", text) for at, text in asked]
    said += [(at, "clara", text) for at, text in answered]
    said.sort(key=lambda item: item[0])
    return tuple((who, text) for _, who, text in said[-HISTORY:]), not answered


_RELEASED = (
    sa.select(intent.c.text)
    .where(
        mine(intent),
        intent.c.id != bindparam("at_but"),
        intent.c.customer_facing,
        intent.c.state.in_((*_LEFT, *_LEAVING)),
        intent.c.text.is_not(None),
        sa.func.coalesce(intent.c.released_at, intent.c.composed_at) >= bindparam("at_since", type_=Instant),
    )
    .order_by(intent.c.created_at)
)
_SPOKEN_TO = (
    sa.select(utterance.c.heard)
    .join(conversation, conversation.c.call == utterance.c.call)
    .where(
        sa.or_(conversation.c.person == bindparam("at_person"), conversation.c.id == bindparam("at_conversation")),
        _SPOKEN,
        utterance.c.started_at >= bindparam("at_since"),
    )
    .order_by(utterance.c.started_at)
)


def released(tx: Tx, person: str | None, where: str, but: str = "") -> tuple[str, ...]:
    """Strings of the last 24 h that left, or are on their way, to the person or the conversation; `but` is the intent that asks (IN-3)."""
    whose = {"at_person": person, "at_conversation": where, "at_since": tx.now - DAY}
    texts = tx.conn.execute(_RELEASED, {**whose, "at_but": but}).scalars()
    return (*texts, *tx.conn.execute(_SPOKEN_TO, whose).scalars())


# --- what stands -------------------------------------------------------------------------------------------------

_TOURS = (
    sa.select(entity)
    .where(mine(entity), entity.c.kind == "tour", entity.c.property == bindparam("at_property"), entity.c.live)
    .order_by(entity.c.version)
)
_OFF = sa.select(switch.c.name).where(switch.c.off)
_SUPPRESSED = sa.select(suppression.c.at).where(
    suppression.c.channel == bindparam("at_channel"), suppression.c.address == bindparam("at_address")
)
_MODES = sa.select(claim_class.c.name, claim_class.c.mode)
# Of every property: a code is a secret on each thread, whoever's door it opens (IN-3).
_SECRETS = sa.select(access_code.c.kind, access_code.c.value).order_by(access_code.c.property, access_code.c.number)


def live_tours(tx: Tx, property_id: str, person: str | None, where: str) -> Sequence[Any]:
    """Live tours at the property, newest version last."""
    whose = {"at_person": person, "at_conversation": where, "at_property": property_id}
    return tx.conn.execute(_TOURS, whose).all()


def switched_off(tx: Tx) -> frozenset[str]:
    return frozenset(tx.conn.execute(_OFF).scalars())


def suppressed(tx: Tx, channel: str, address: str) -> bool:
    return tx.conn.execute(_SUPPRESSED, {"at_channel": channel, "at_address": address}).first() is not None


def modes(tx: Tx) -> Mapping[str, str]:
    return {row.name: row.mode for row in tx.conn.execute(_MODES)}


def secrets(tx: Tx, vault: Vault) -> tuple[tuple[str, str], ...]:
    """All codes, decrypted, for the gate alone (OG-3)."""
    found = tx.conn.execute(_SECRETS)
    return tuple((row.kind, vault.open(row.value)) for row in found)
