"""What a decision is made on, and what an answer is made from.

Epochs are read before everything else: whatever changes while the rest is read makes the decision `TooLate`, never wrong.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from pipeline.core.states import UNSENT, IntentState
from pipeline.ports import Tx
from pipeline.store import (
    EntityRow,
    InboundRow,
    OfferRow,
    PromisedRow,
    ProposalRow,
    Snapshot,
    UnsentRow,
)
from storage import rows
from storage.outbox import ANSWERS
from storage.rows import of_person_or_conversation
from storage.tables import conversation, entity, inbound, intent, matter, offer, person, proposal, slot_hold, turn
from storage.types import one_of
from storage.vault import Vault


def snapshot(tx: Tx, vault: Vault, turn_id: str) -> Snapshot:
    """All that `decide` may know about one turn."""
    at = tx.conn.execute(
        sa.select(turn, conversation.c.epoch, conversation.c.owner, conversation.c.locale)
        .join(conversation, conversation.c.id == turn.c.conversation)
        .where(turn.c.id == turn_id)
    ).one()
    epoch = tx.conn.execute(sa.select(person.c.epoch).where(person.c.id == at.person)).scalar_one_or_none()
    mine = (at.person, at.conversation)
    tours = rows.live_tours(tx, at.property, *mine)
    history, first = rows.history(tx, at.conversation, at.call, turn_id)
    current = _matter(tx, at.conversation)
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
        offers=_offers(tx, at.property, *mine),
        proposals=_proposals(tx, *mine),
        tours=tuple(_tour(row) for row in tours),
        head_version=head_version(tx, "tour", at.property, *mine),
        matter=current[0],
        rounds=current[1],
        unsent=_unsent(tx, at.conversation, turn_id),
        history=history,
        first_message=first,
        released=rows.released(tx, *mine, at.call),
        taken=_taken(tx, at.property),
        held_slots=frozenset(row.slot for row in tours if row.slot),
        suppressed=rows.suppressed(tx, at.channel, at.address),
        switches=rows.switched_off(tx),
        secrets=rows.secrets(tx, vault, at.property),
        modes=rows.modes(tx),
        now=tx.now,
    )


def head_version(tx: Tx, kind: str, property_id: str, person_id: str | None, conversation_id: str) -> int:
    """The highest version along the chain of one kind, in any state; 0 for none (CK-3)."""
    found = tx.conn.execute(
        sa.select(sa.func.max(entity.c.version)).where(
            of_person_or_conversation(entity, person_id, conversation_id),
            entity.c.kind == kind,
            entity.c.property == property_id,
        )
    ).scalar_one()
    return found or 0


def promised(tx: Tx, vault: Vault, turn_id: str) -> list[PromisedRow]:
    """Promised intents of a turn that may be composed now; held ones wait."""
    due = sa.and_(intent.c.turn == turn_id, intent.c.state == IntentState.PROMISED, ~intent.c.held)
    return promised_where(tx, vault, due, limit=None)


def due_fallbacks(tx: Tx, vault: Vault, limit: int) -> list[PromisedRow]:
    """Intents past `fallback_at` that no provider has been given: not composed, or composed and not taken up (CO-3)."""
    due = sa.and_(
        one_of(intent.c.state, ["promised", "composed", "leased"]),
        intent.c.fallback_at <= tx.now,
        intent.c.attempts == 0,
        ~intent.c.held,
        sa.or_(intent.c.lease_until.is_(None), intent.c.lease_until <= tx.now),
    )
    return promised_where(tx, vault, due, limit)


def promised_where(tx: Tx, vault: Vault, due: sa.ColumnElement[bool], limit: int | None) -> list[PromisedRow]:
    found = tx.conn.execute(sa.select(intent).where(due).order_by(intent.c.created_at, intent.c.id).limit(limit)).all()
    return [_promised(tx, vault, row) for row in found]


def _promised(tx: Tx, vault: Vault, row: sa.Row[Any]) -> PromisedRow:
    mine = (row.person, row.conversation)
    at = tx.conn.execute(sa.select(turn.c.call).where(turn.c.id == row.turn)).one()
    asked = _inbound(tx, row.turn)
    history, first = rows.history(tx, row.conversation, at.call, row.turn)
    tours = rows.live_tours(tx, row.property, *mine)
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
        text="\n".join(one.text for one in asked),
        history=history,
        first_message=first,
        released=rows.released(tx, *mine, at.call, but=row.id),
        secrets=rows.secrets(tx, vault, row.property),
        modes=rows.modes(tx),
        tour_state=tours[-1].state if tours else None,
        subject=row.subject,
        reply_to=row.reply_to,
        references=tuple(row.references),
        created_at=row.created_at,
        fallback_at=row.fallback_at,
        state=row.state,
    )


def _inbound(tx: Tx, turn_id: str) -> tuple[InboundRow, ...]:
    found = tx.conn.execute(
        sa.select(inbound).where(inbound.c.turn == turn_id).order_by(inbound.c.received_at, inbound.c.id)
    )
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
        for row in found
    )


def _offers(tx: Tx, property_id: str, person_id: str | None, conversation_id: str) -> tuple[OfferRow, ...]:
    found = tx.conn.execute(
        sa.select(offer)
        .where(
            of_person_or_conversation(offer, person_id, conversation_id),
            offer.c.property == property_id,
            offer.c.used_at.is_(None),
            offer.c.expires_at > tx.now,
        )
        .order_by(offer.c.created_at, offer.c.id)
    )
    return tuple(OfferRow(row.id, row.starts_at, row.expires_at, row.token_digest) for row in found)


def _proposals(tx: Tx, person_id: str | None, conversation_id: str) -> tuple[ProposalRow, ...]:
    found = tx.conn.execute(
        sa.select(proposal)
        .where(of_person_or_conversation(proposal, person_id, conversation_id), one_of(proposal.c.status, ["open"]))
        .order_by(proposal.c.created_at, proposal.c.id)
    )
    return tuple(ProposalRow(row.id, row.action, row.starts_at, row.lineage, tuple(row.readings)) for row in found)


def _tour(row: sa.Row[Any]) -> EntityRow:
    return EntityRow(row.id, row.kind, row.state, row.version, row.starts_at, row.ends_at, row.body)


def _matter(tx: Tx, conversation_id: str) -> tuple[str, int]:
    """The open matter; the last one where all are closed, so that a turn without one has no rounds left to spend."""
    row = tx.conn.execute(
        sa.select(matter.c.id, matter.c.rounds)
        .where(matter.c.conversation == conversation_id)
        .order_by(matter.c.state.desc(), matter.c.opened_at.desc(), matter.c.id.desc())
        .limit(1)
    ).one()
    return row.id, row.rounds


def _unsent(tx: Tx, conversation_id: str, turn_id: str) -> tuple[UnsentRow, ...]:
    found = tx.conn.execute(
        sa.select(intent.c.id, intent.c.turn, intent.c.plan)
        .where(
            intent.c.conversation == conversation_id,
            intent.c.turn != turn_id,
            intent.c.customer_facing,
            intent.c.purpose.in_(ANSWERS),
            intent.c.state.in_(UNSENT),
        )
        .order_by(intent.c.created_at, intent.c.id)
    )
    return tuple(UnsentRow(row.id, row.turn, row.plan) for row in found)


def _taken(tx: Tx, property_id: str) -> dict[str, int]:
    found = tx.conn.execute(
        sa.select(slot_hold.c.slot, sa.func.count())
        .where(slot_hold.c.property == property_id, slot_hold.c.starts_at >= tx.now)
        .group_by(slot_hold.c.slot)
    )
    return {row[0]: row[1] for row in found}


def sent_texts(tx: Tx, property_id: str, address: str) -> list[str]:
    """The last 50 texts that left for an address, newest first."""
    found = tx.conn.execute(
        sa.select(intent.c.text)
        .where(
            intent.c.recipient == address,
            intent.c.property == property_id,
            intent.c.released_at.is_not(None),
            intent.c.text.is_not(None),
        )
        .order_by(intent.c.created_at.desc())
        .limit(50)
    )
    return list(found.scalars())
