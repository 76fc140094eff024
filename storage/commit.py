"""The chokepoint: the one function that writes what a customer can notice (CK-1, CK-8).

Order: conversation row, then person row, each locked by moving its epoch (CK-2); the turn; ownership and switches; earlier answers; keys, entities,
seats; offers; intents; the ledger; the matter; the trace last, because its clock is a lock that all commits share.

Invariants: everything is written or nothing is, also where a refusal is found late (a savepoint holds it). A command that was committed before
answers what it answered then, so that a lost connection is repaired by running it again. It decides nothing and makes no ids.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy import bindparam

from pipeline.core.commands import (
    Commit,
    CommitOutcome,
    Committed,
    Duplicate,
    EntityChange,
    EntityRef,
    NewProposal,
    Refused,
    Superseded,
    TooLate,
    idempotency_key,
)
from pipeline.core.states import TurnState
from pipeline.ports import Tx
from storage import outbox, review, rows, trace
from storage.entities import TRANSITIONS, Stop, Transitions, change_entity
from storage.people import suppress, unsuppress
from storage.tables import conversation, effect, entity, intent, matter, offer, person, proposal, turn
from storage.types import once


@dataclass(frozen=True, slots=True)
class _At:
    """Where a commit stands once it holds its locks."""

    epoch: int
    last_seq: int  # of the conversation's trace, with this commit's events drawn


def commit(tx: Tx, command: Commit, transitions: Transitions = TRANSITIONS) -> CommitOutcome:
    """Writes `command` whole, or answers why not."""
    try:
        with tx.conn.begin_nested():
            return _write(tx, command, _lock(tx, command), transitions)
    except Stop as stop:
        return _superseded(tx, command) if isinstance(stop.outcome, Superseded) else stop.outcome


def _write(tx: Tx, command: Commit, at: _At, transitions: Transitions) -> Committed:
    if command.supersede_unsent:
        outbox.supersede_answers(tx, command)
    entities = []
    for change in command.changes:
        _claim_key(tx, command, change)
        entities.append(change_entity(tx, command, change, transitions))
    _use_offers(tx, command)
    _make_offers(tx, command)
    _keep_proposals(tx, command)
    intents = tuple(outbox.promise(tx, command, new) for new in command.intents)
    _suppressions(tx, command)
    _enter(tx, command, entities)
    _move_matter(tx, command)
    _hand_over(tx, command)
    if command.review is not None:
        review.open_case(tx, command.turn, command.review)
    trace.append(tx, command.conversation, command.turn, command.trace, at.epoch, at.last_seq)
    return Committed(tuple(entities), intents)


# --- locks and conditions ----------------------------------------------------------------------------------------

_MOVE_CONVERSATION = (
    sa.update(conversation)
    .where(conversation.c.id == bindparam("at_conversation"))
    .values(
        epoch=conversation.c.epoch + 1,
        trace_seq=conversation.c.trace_seq + bindparam("at_events"),
        locale=sa.func.coalesce(bindparam("at_locale", type_=sa.Text), conversation.c.locale),
    )
    .returning(conversation.c.epoch, conversation.c.trace_seq, conversation.c.owner)
)
_MOVE_PERSON = (
    sa.update(person)
    .where(person.c.id == bindparam("at_person"))
    .values(epoch=person.c.epoch + 1, moved_by=bindparam("at_turn"))
    .returning(person.c.epoch)
)
_END_TURN = (
    sa.update(turn)
    .where(turn.c.id == bindparam("at_turn"), turn.c.state == TurnState.OPEN)
    .values(
        commit=bindparam("at_commit"),
        committed_at=bindparam("at_now"),
        state=bindparam("at_state"),
        settled_at=bindparam("at_settled"),
        ending=bindparam("at_ending"),
        health=bindparam("at_health"),
        due_at=bindparam("at_now"),
    )
)


def _lock(tx: Tx, command: Commit) -> _At:
    moved = {"at_conversation": command.conversation, "at_events": len(command.trace), "at_locale": command.locale}
    here = tx.conn.execute(_MOVE_CONVERSATION, moved).one()
    if here.epoch - 1 != command.seen.conversation_epoch:
        raise Stop(_earlier(tx, command) or TooLate("the conversation moved"))
    if not _end_turn(tx, command):
        raise Stop(TooLate("the turn has its end already"))
    if command.person is not None:
        mover = {"at_person": command.person, "at_turn": command.turn}
        if tx.conn.execute(_MOVE_PERSON, mover).scalar_one() - 1 != command.seen.person_epoch:
            raise Stop(Superseded(None))
    if here.owner == "human":
        raise Stop(Refused("human_owns"))
    off = rows.switched_off(tx) & {f"channel:{command.channel}", f"property:{command.property}"}
    if off:
        raise Stop(Refused("switched_off", ", ".join(sorted(off))))
    return _At(here.epoch, here.trace_seq)


def _end_turn(tx: Tx, command: Commit) -> bool:
    """An answer is owed for each promised message that does not wait, and for every turn of a call: the words. False where it is not open."""
    owed = command.channel == "voice" or any(not new.held for new in command.intents)
    values = {
        "at_turn": command.turn,
        "at_commit": command.id,
        "at_now": tx.now,
        "at_state": TurnState.COMMITTED if owed else TurnState.SETTLED,
        "at_settled": None if owed else tx.now,
        "at_ending": command.ending,
        "at_health": command.health,
    }
    return tx.conn.execute(_END_TURN, values).rowcount == 1


def _earlier(tx: Tx, command: Commit) -> Committed | None:
    """What this very command answered when it was committed before; asked under the lock, so that a commit in flight has ended."""
    if tx.conn.execute(sa.select(turn.c.commit).where(turn.c.id == command.turn)).scalar_one() != command.id:
        return None
    changed = tx.conn.execute(
        sa.select(effect.c.subject, entity.c.kind, effect.c.version, effect.c.state)
        .join(entity, entity.c.id == effect.c.subject)
        .where(effect.c.commit == command.id)
        .order_by(effect.c.id)
    )
    promised = set(tx.conn.execute(sa.select(intent.c.id).where(intent.c.commit == command.id)).scalars())
    ordered = [new.id for new in command.intents if new.id in promised]
    return Committed(tuple(EntityRef(*row) for row in changed), (*ordered, *sorted(promised - set(ordered))))


def _superseded(tx: Tx, command: Commit) -> Superseded:
    """Another trigger of the person won: the losing wishes stay on record and hold no key (CK-2)."""
    for wish in (*(change.proposal for change in command.changes), *command.proposals):
        lost = _proposal(tx, command, wish, "superseded", None)
        lost["id"] = f"{wish.id}:lost:{command.seen.person_epoch}"  # the turn decides anew under the same ids
        _CLAIM.run(tx.conn, lost)
    by = tx.conn.execute(sa.select(person.c.moved_by).where(person.c.id == command.person)).scalar_one_or_none()
    return Superseded(by)


# --- proposals and their keys ------------------------------------------------------------------------------------

_CLAIM = once(proposal, proposal.c.id)
_WINNER = sa.select(proposal.c.id).where(
    proposal.c.status == "committed",
    sa.or_(
        proposal.c.id == bindparam("at_id"),
        proposal.c.key_conversation == bindparam("at_key"),
        proposal.c.key_person == bindparam("at_person_key"),
    ),
)
_CLOSE = sa.update(proposal).where(proposal.c.id == bindparam("at_id"), proposal.c.status == "open")
_KEEP = sa.insert(proposal)


def _claim_key(tx: Tx, command: Commit, change: EntityChange) -> None:
    """Inserts the proposal under its keys; a key that was committed before is a duplicate (CK-3)."""
    row = _proposal(tx, command, change.proposal, "committed", change.entity)
    if _CLAIM.run(tx.conn, row).first() is not None:
        return
    keys = {"at_id": row["id"], "at_key": row["key_conversation"], "at_person_key": row["key_person"]}
    winner = tx.conn.execute(_WINNER, keys).scalars().first()
    if winner is not None:
        raise Stop(Duplicate(winner))
    # An open proposal of the same id goes with the change now.
    if tx.conn.execute(_CLOSE, {**row, "at_id": row["id"]}).rowcount == 0:
        raise Stop(Duplicate(change.proposal.id))


def _keep_proposals(tx: Tx, command: Commit) -> None:
    for closed in command.closed_proposals:
        tx.conn.execute(_CLOSE, {"status": "closed", "at_id": closed})
    for wish in command.proposals:
        tx.conn.execute(_KEEP, _proposal(tx, command, wish, wish.status, None))


def _proposal(tx: Tx, command: Commit, wish: NewProposal, status: str, entity_id: str | None) -> dict[str, Any]:
    def key(subject: str) -> str:
        return idempotency_key(subject, wish.action, wish.slot, wish.base_version)

    return {
        "id": wish.id,
        "turn": command.turn,
        "conversation": command.conversation,
        "person": command.person,
        "matter": command.matter,
        "action": wish.action,
        "lineage": wish.lineage,
        "spans": wish.spans,
        "fields": wish.fields,
        "readings": wish.readings,
        "slot": wish.slot,
        "starts_at": wish.starts_at,
        "base_version": wish.base_version,
        "key_conversation": key(command.conversation),
        "key_person": None if command.person is None else key(command.person),
        "status": status,
        "entity": entity_id,
        "created_at": tx.now,
    }


# --- offers ------------------------------------------------------------------------------------------------------

_USE_OFFER = (
    sa.update(offer)
    .where(
        offer.c.id == bindparam("at_offer"),
        sa.or_(offer.c.person == bindparam("at_person"), offer.c.conversation == bindparam("at_conversation")),
        offer.c.used_at.is_(None),
        offer.c.expires_at > bindparam("at_now"),
    )
    .values(used_at=bindparam("at_now"))
)
_OFFER = sa.insert(offer)


def _use_offers(tx: Tx, command: Commit) -> None:
    whose = {"at_person": command.person, "at_conversation": command.conversation, "at_now": tx.now}
    for used in command.used_offers:
        if tx.conn.execute(_USE_OFFER, whose | {"at_offer": used}).rowcount == 0:
            raise Stop(Refused("offer_expired", used))


def _make_offers(tx: Tx, command: Commit) -> None:
    common = {
        "property": command.property,
        "conversation": command.conversation,
        "person": command.person,
        "turn": command.turn,
        "created_at": tx.now,
    }
    made = [
        {
            "id": new.id,
            "starts_at": new.starts_at,
            "expires_at": new.expires_at,
            "token_digest": new.token_digest,
            **common,
        }
        for new in command.offers
    ]
    if made:
        tx.conn.execute(_OFFER, made)


# --- ledger, matter, owner ---------------------------------------------------------------------------------------

_ENTER = sa.insert(effect)
_MATTER = (
    sa.update(matter)
    .where(matter.c.id == bindparam("at_matter"), matter.c.state == "open")
    .values(
        rounds=sa.func.coalesce(bindparam("at_rounds", type_=sa.Integer), matter.c.rounds),
        state=bindparam("at_state"),
        closed_at=bindparam("at_closed"),
    )
)


def _suppressions(tx: Tx, command: Commit) -> None:
    if command.suppress is not None:
        suppress(tx, *command.suppress, reason=command.turn)
    if command.unsuppress is not None:
        unsuppress(tx, *command.unsuppress)


def _enter(tx: Tx, command: Commit, entities: list[EntityRef]) -> None:
    """One effect per change that landed, with trigger, channel, lineage and writer (IN-13)."""
    entries: list[Mapping[str, Any]] = [
        {
            "action": change.action,
            "subject": change.entity,
            "version": ref.version,
            "state": ref.state,
            "lineage": change.proposal.lineage,
            "writer": change.writer,
            "body": change.body,
        }
        for change, ref in zip(command.changes, entities, strict=True)
    ]
    for action, what in (("suppress", command.suppress), ("unsuppress", command.unsuppress)):
        if what is not None:
            entries.append(_plain_effect(action, "|".join(what)))
    if command.hand_to_human:
        entries.append(_plain_effect("hand_to_human", command.conversation))
    common = {
        "commit": command.id,
        "turn": command.turn,
        "property": command.property,
        "conversation": command.conversation,
        "person": command.person,
        "channel": command.channel,
        "at": tx.now,
    }
    if entries:
        numbered = [{"id": f"{command.id}:{number}", **entry, **common} for number, entry in enumerate(entries)]
        tx.conn.execute(_ENTER, numbered)


def _plain_effect(action: str, subject: str) -> Mapping[str, Any]:
    return {
        "action": action,
        "subject": subject,
        "version": None,
        "state": None,
        "lineage": "prospect_stated",
        "writer": "clara.turn",
        "body": {},
    }


def _move_matter(tx: Tx, command: Commit) -> None:
    if command.matter is None:
        return
    over = command.rounds is None
    values = {
        "at_matter": command.matter,
        "at_rounds": command.rounds,
        "at_state": "closed" if over else "open",
        "at_closed": tx.now if over else None,
    }
    tx.conn.execute(_MATTER, values)


def _hand_over(tx: Tx, command: Commit) -> None:
    if command.hand_to_human:
        tx.conn.execute(
            sa.update(conversation)
            .where(conversation.c.id == command.conversation)
            .values(owner="human", owner_since=tx.now, owner_by=command.turn)
        )
