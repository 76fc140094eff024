"""What a decision is made on, and what an answer is made from.

Epochs are read before everything else: whatever changes while the rest is read makes the decision `TooLate`, never wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy import bindparam

from pipeline.core.states import UNSENT, IntentState
from pipeline.ports import Tx
from pipeline.store import EntityRow, InboundRow, OfferRow, PromisedRow, ProposalRow, Snapshot, UnsentRow
from storage import rows
from storage.outbox import ANSWERS
from storage.rows import mine
from storage.tables import conversation, entity, inbound, intent, matter, offer, person, proposal, slot_hold, turn
from storage.types import one_of
from storage.vault import Vault

# --- the snapshot ------------------------------------------------------------------------------------------------

_AT = (
    sa.select(turn, conversation.c.epoch, conversation.c.owner, conversation.c.locale)
    .join(conversation, conversation.c.id == turn.c.conversation)
    .where(turn.c.id == bindparam("at_turn"))
)
_EPOCH = sa.select(person.c.epoch).where(person.c.id == bindparam("at_person"))
_HEAD = sa.select(sa.func.max(entity.c.version)).where(
    mine(entity), entity.c.kind == bindparam("at_kind"), entity.c.property == bindparam("at_property")
)
_INBOUND = (
    sa.select(inbound).where(inbound.c.turn == bindparam("at_turn")).order_by(inbound.c.received_at, inbound.c.id)
)
_OFFERS = (
    sa.select(offer)
    .where(
        mine(offer),
        offer.c.property == bindparam("at_property"),
        offer.c.used_at.is_(None),
        offer.c.expires_at > bindparam("at_now"),
    )
    .order_by(offer.c.created_at, offer.c.id)
)
_PROPOSALS = (
    sa.select(proposal)
    .where(mine(proposal), one_of(proposal.c.status, ["open"]))
    .order_by(proposal.c.created_at, proposal.c.id)
)
_MATTER = (
    sa.select(matter.c.id, matter.c.rounds)
    .where(matter.c.conversation == bindparam("at_conversation"))
    # the open one; the last one where all are closed, so that a turn without one has no rounds left to spend
    .order_by(matter.c.state.desc(), matter.c.opened_at.desc(), matter.c.id.desc())
    .limit(1)
)
_UNSENT = (
    sa.select(intent.c.id, intent.c.turn, intent.c.plan)
    .where(
        intent.c.conversation == bindparam("at_conversation"),
        intent.c.turn != bindparam("at_turn"),
        intent.c.customer_facing,
        one_of(intent.c.purpose, ANSWERS),
        one_of(intent.c.state, UNSENT),
    )
    .order_by(intent.c.created_at, intent.c.id)
)
_TAKEN = (
    sa.select(slot_hold.c.slot, sa.func.count())
    .where(slot_hold.c.property == bindparam("at_property"), slot_hold.c.starts_at >= bindparam("at_now"))
    .group_by(slot_hold.c.slot)
)


def snapshot(tx: Tx, vault: Vault, turn_id: str) -> Snapshot:
    """All that `decide` may know about one turn."""
    at = tx.conn.execute(_AT, {"at_turn": turn_id}).one()
    epoch = tx.conn.execute(_EPOCH, {"at_person": at.person}).scalar_one_or_none()
    whose = {"at_person": at.person, "at_conversation": at.conversation}
    there = {"at_property": at.property, "at_now": tx.now}
    tours = rows.live_tours(tx, at.property, at.person, at.conversation)
    history, first = rows.history(tx, at.conversation, at.call, turn_id)
    current = tx.conn.execute(_MATTER, {"at_conversation": at.conversation}).one()
    unsent = tx.conn.execute(_UNSENT, {"at_conversation": at.conversation, "at_turn": turn_id})
    return Snapshot(
        turn=turn_id,
        channel=at.channel,
        property=at.property,
        state=at.state,
        call=at.call,
        inbound=_inbound(tx, turn_id),
        conversation=at.conversation,
        conversation_epoch=at.epoch,
        owner=at.owner,
        locale=at.locale,
        address=at.address,
        our_address=at.our_address,
        person=at.person,
        person_epoch=epoch,
        offers=tuple(
            OfferRow(row.id, row.starts_at, row.expires_at, row.token_digest)
            for row in tx.conn.execute(_OFFERS, {**whose, **there})
        ),
        proposals=tuple(
            ProposalRow(row.id, row.action, row.starts_at, row.lineage, tuple(row.readings))
            for row in tx.conn.execute(_PROPOSALS, whose)
        ),
        tours=tuple(
            EntityRow(row.id, row.kind, row.state, row.version, row.starts_at, row.ends_at, row.body) for row in tours
        ),
        head_version=_head_version(tx, "tour", at.property, whose),
        matter=current.id,
        rounds=current.rounds,
        unsent=tuple(UnsentRow(row.id, row.turn, row.plan) for row in unsent),
        history=history,
        first_message=first,
        released=rows.released(tx, at.person, at.conversation),
        taken={row[0]: row[1] for row in tx.conn.execute(_TAKEN, there)},
        held_slots=frozenset(row.slot for row in tours if row.slot),
        suppressed=rows.suppressed(tx, at.channel, at.address),
        switches=rows.switched_off(tx),
        secrets=rows.secrets(tx, vault),
        modes=rows.modes(tx),
        now=tx.now,
    )


def _head_version(tx: Tx, kind: str, property_id: str, whose: dict[str, Any]) -> int:
    """The highest version along the chain of one kind, in any state; 0 for none (CK-3)."""
    return tx.conn.execute(_HEAD, {**whose, "at_kind": kind, "at_property": property_id}).scalar_one() or 0


def _inbound(tx: Tx, turn_id: str) -> tuple[InboundRow, ...]:
    return tuple(
        InboundRow(
            id=row.id,
            text=row.text,
            received_at=row.received_at,
            form=row.form,
            lineage=row.lineage,
            automatic=row.automatic,
            locale=row.locale,
            subject=row.subject,
            message_id=row.message_id,
            low_confidence=row.low_confidence,
        )
        for row in tx.conn.execute(_INBOUND, {"at_turn": turn_id})
    )


# --- what an answer is made from ---------------------------------------------------------------------------------

_OLDEST_FIRST = (intent.c.created_at, intent.c.id)
_PROMISED = (
    sa.select(intent, turn.c.call.label("turn_call"))
    .join(turn, turn.c.id == intent.c.turn)
    .where(intent.c.turn == bindparam("at_turn"), intent.c.state == IntentState.PROMISED, ~intent.c.held)
    .order_by(*_OLDEST_FIRST)
)
_FALLBACKS = (
    sa.select(intent, turn.c.call.label("turn_call"))
    .join(turn, turn.c.id == intent.c.turn)
    .where(
        one_of(intent.c.state, ["promised", "composed", "leased"]),
        intent.c.fallback_at <= bindparam("at_now"),
        intent.c.attempts == 0,
        ~intent.c.held,
        sa.or_(intent.c.lease_until.is_(None), intent.c.lease_until <= bindparam("at_now")),
    )
    .order_by(*_OLDEST_FIRST)
    .limit(bindparam("at_limit"))
)
_SENT_TEXTS = (
    sa.select(intent.c.text)
    .where(
        intent.c.recipient == bindparam("at_address"),
        intent.c.property == bindparam("at_property"),
        intent.c.released_at.is_not(None),
        intent.c.text.is_not(None),
    )
    .order_by(intent.c.created_at.desc())
    .limit(50)
)


def promised(tx: Tx, vault: Vault, turn_id: str) -> list[PromisedRow]:
    """Promised intents of a turn that may be composed now; held ones wait."""
    return _all_promised(tx, vault, tx.conn.execute(_PROMISED, {"at_turn": turn_id}).all())


def due_fallbacks(tx: Tx, vault: Vault, limit: int) -> list[PromisedRow]:
    """Intents past `fallback_at` that no provider has been given: not composed, or composed and not taken up (CO-3)."""
    return _all_promised(tx, vault, tx.conn.execute(_FALLBACKS, {"at_now": tx.now, "at_limit": limit}).all())


def sent_texts(tx: Tx, property_id: str, address: str) -> list[str]:
    """The last 50 texts that left for an address, newest first."""
    return list(tx.conn.execute(_SENT_TEXTS, {"at_address": address, "at_property": property_id}).scalars())


def _all_promised(tx: Tx, vault: Vault, found: Sequence[Any]) -> list[PromisedRow]:
    return [_promised_row(tx, vault, row) for row in found]


def _promised_row(tx: Tx, vault: Vault, row: Any) -> PromisedRow:
    history, first = rows.history(tx, row.conversation, row.turn_call, row.turn)
    tours = rows.live_tours(tx, row.property, row.person, row.conversation)
    return PromisedRow(
        id=row.id,
        turn=row.turn,
        purpose=row.purpose,
        channel=row.channel,
        sender=row.sender,
        recipient=row.recipient,
        locale=row.locale,
        plan=row.plan,
        property=row.property,
        conversation=row.conversation,
        person=row.person,
        call=row.call,
        text="\n".join(one.text for one in _inbound(tx, row.turn)),
        history=history,
        first_message=first,
        released=rows.released(tx, row.person, row.conversation, but=row.id),
        secrets=rows.secrets(tx, vault),
        modes=rows.modes(tx),
        tour_state=tours[-1].state if tours else None,
        subject=row.subject,
        reply_to=row.reply_to,
        references=tuple(row.references),
        created_at=row.created_at,
        fallback_at=row.fallback_at,
        state=row.state,
    )
