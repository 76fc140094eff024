"""Reads that several topics share: who is meant, what was said, what has left."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Literal

import sqlalchemy as sa

from pipeline.core.states import IntentState as State
from pipeline.ports import Tx
from storage.tables import access_code, claim_class, entity, inbound, intent, suppression, switch, utterance
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


def of_person_or_conversation(table: sa.Table, person: str | None, conversation: str) -> sa.ColumnElement[bool]:
    """Rows of either: earlier proposals are looked up by person and by conversation (CK-4)."""
    here = table.c.conversation == conversation
    return here if person is None else sa.or_(table.c.person == person, here)


def history(tx: Tx, conversation: str, call: str | None, turn: str) -> tuple[tuple[Said, ...], bool]:
    """What was said before this turn, oldest first, and whether Clara has said nothing yet.

    On a call Clara's part is what was heard; elsewhere it is what left.
    """
    asked = tx.conn.execute(
        sa.select(inbound.c.received_at, inbound.c.text)
        .where(inbound.c.conversation == conversation, inbound.c.turn != turn)
        .order_by(inbound.c.received_at.desc())
        .limit(HISTORY)
    ).all()
    answered = tx.conn.execute(
        sa.select(intent.c.released_at, intent.c.text)
        .where(
            intent.c.conversation == conversation,
            intent.c.turn != turn,
            intent.c.customer_facing,
            intent.c.state.in_(_LEFT),
            intent.c.text.is_not(None),
        )
        .order_by(intent.c.created_at.desc())
        .limit(HISTORY)
    ).all()
    heard = _heard(tx, call, turn) if call is not None else []
    said: list[tuple[datetime, Literal["customer", "clara"], str]] = [(at, "customer", text) for at, text in asked]
    said += [(at, "clara", text) for at, text in (*answered, *heard)]
    said.sort(key=lambda item: item[0])
    return tuple((who, text) for _, who, text in said[-HISTORY:]), not answered and not heard


def _heard(tx: Tx, call: str, turn: str) -> Sequence[Any]:
    return tx.conn.execute(
        sa.select(utterance.c.started_at, utterance.c.heard)
        .where(
            utterance.c.call == call,
            utterance.c.speaker == "clara",
            utterance.c.heard != "",
            utterance.c.turn.is_distinct_from(turn),
        )
        .order_by(utterance.c.started_at.desc())
        .limit(HISTORY)
    ).all()


def released(
    tx: Tx, person: str | None, conversation: str, call: str | None, but: str | None = None
) -> tuple[str, ...]:
    """Strings of the last 24 h that left, or are on their way, to the person or the conversation; `but` is the intent that asks (IN-3)."""
    since = tx.now - DAY
    texts = tx.conn.execute(
        sa.select(intent.c.text)
        .where(
            of_person_or_conversation(intent, person, conversation),
            intent.c.id.is_distinct_from(but),
            intent.c.customer_facing,
            intent.c.state.in_((*_LEFT, *_LEAVING)),
            intent.c.text.is_not(None),
            sa.func.coalesce(intent.c.released_at, intent.c.composed_at) >= since,
        )
        .order_by(intent.c.created_at)
    ).scalars()
    spoken = tx.conn.execute(_spoken_to(person, conversation, call, since)).scalars()
    return (*texts, *spoken)


def _spoken_to(person: str | None, conversation: str, call: str | None, since: datetime) -> sa.Select[tuple[str]]:
    from storage.tables import conversation as conversations

    calls = sa.select(conversations.c.call).where(
        conversations.c.call.is_not(None),
        conversations.c.id == conversation
        if person is None
        else sa.or_(conversations.c.person == person, conversations.c.id == conversation),
    )
    return (
        sa.select(utterance.c.heard)
        .where(
            sa.or_(utterance.c.call.in_(calls), utterance.c.call == call) if call else utterance.c.call.in_(calls),
            utterance.c.speaker == "clara",
            utterance.c.heard != "",
            utterance.c.started_at >= since,
        )
        .order_by(utterance.c.started_at)
    )


def live_tours(tx: Tx, property_id: str, person: str | None, conversation: str) -> Sequence[Any]:
    """Live tours at the property, newest version last."""
    return tx.conn.execute(
        sa.select(entity)
        .where(
            of_person_or_conversation(entity, person, conversation),
            entity.c.kind == "tour",
            entity.c.property == property_id,
            entity.c.live,
        )
        .order_by(entity.c.version)
    ).all()


def switched_off(tx: Tx) -> frozenset[str]:
    return frozenset(tx.conn.execute(sa.select(switch.c.name).where(switch.c.off)).scalars())


def suppressed(tx: Tx, channel: str, address: str) -> bool:
    found = tx.conn.execute(
        sa.select(suppression.c.at).where(suppression.c.channel == channel, suppression.c.address == address)
    )
    return found.first() is not None


def modes(tx: Tx) -> Mapping[str, str]:
    return {row.name: row.mode for row in tx.conn.execute(sa.select(claim_class.c.name, claim_class.c.mode))}


def secrets(tx: Tx, vault: Vault, property_id: str) -> tuple[tuple[str, str], ...]:
    """The property's codes, decrypted, for the gate alone (OG-3)."""
    found = tx.conn.execute(
        sa.select(access_code.c.kind, access_code.c.value)
        .where(access_code.c.property == property_id)
        .order_by(access_code.c.number)
    )
    return tuple((row.kind, vault.open(row.value)) for row in found)
