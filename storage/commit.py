"""The chokepoint: the one function that writes what a customer can notice (CK-1, CK-8).

Order: conversation row, then person row, each locked by moving its epoch (CK-2); switches and ownership; what is replaced or ended; keys; entities and
seats; offers; intents; the ledger; the turn's end; the trace last, because its clock is the lock that all commits share.

Invariants: everything is written or nothing is, also where a refusal is found late (a savepoint holds it). A command that was committed before
answers what it answered then, so that a lost connection is repaired by running it again. A transition that is not in the table cannot be written,
because the table is the `WHERE` of the update. A seat is a primary key, so that capacity holds under any concurrency.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from pipeline.core.commands import (
    Commit,
    CommitOutcome,
    Committed,
    Duplicate,
    EntityChange,
    EntityRef,
    NewIntent,
    NewProposal,
    Refused,
    Superseded,
    TooLate,
    idempotency_key,
)
from pipeline.core.states import TOUR, UNSENT, IntentState, TurnState
from pipeline.core.types import Ending, Purpose
from pipeline.ports import Tx
from storage import review, rows, trace
from storage.intents import settle
from storage.snapshot import ANSWERS
from storage.tables import (
    calendar_event,
    conversation,
    effect,
    entity,
    intent,
    matter,
    offer,
    person,
    proposal,
    slot_hold,
    suppression,
    turn,
)
from storage.types import upsert

# Per kind of entity: what may follow what. States without an entry may not be written.
Transitions = Mapping[str, Mapping[Any, frozenset[Any]]]
TRANSITIONS: Transitions = {"tour": TOUR}

_REPLACED = "SUPERSEDED"


class _Stop(Exception):
    """Ends the commit with an outcome that wrote nothing."""

    def __init__(self, outcome: CommitOutcome) -> None:
        self.outcome = outcome


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
    except _Stop as stop:
        return _superseded(tx, command) if isinstance(stop.outcome, Superseded) else stop.outcome


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
    promised = tx.conn.execute(sa.select(intent.c.id).where(intent.c.commit == command.id).order_by(intent.c.id))
    return Committed(tuple(EntityRef(*row) for row in changed), tuple(promised.scalars()))


# --- locks and conditions -----------------------------------------------------------------------------------------


def _lock(tx: Tx, command: Commit) -> _At:
    here = tx.conn.execute(
        sa.update(conversation)
        .where(conversation.c.id == command.conversation)
        .values(
            epoch=conversation.c.epoch + 1,
            trace_seq=conversation.c.trace_seq + len(command.trace),
            locale=sa.func.coalesce(command.locale, conversation.c.locale),
        )
        .returning(conversation.c.epoch, conversation.c.trace_seq, conversation.c.owner)
    ).one()
    if here.epoch - 1 != command.seen.conversation_epoch:
        raise _Stop(_earlier(tx, command) or TooLate("the conversation moved"))
    if not _end_turn(tx, command):
        raise _Stop(TooLate("the turn has its end already"))
    if command.person is not None:
        _lock_person(tx, command, command.person)
    if here.owner == "human":
        raise _Stop(Refused("human_owns"))
    off = rows.switched_off(tx) & {f"channel:{command.channel}", f"property:{command.property}"}
    if off:
        raise _Stop(Refused("switched_off", ", ".join(sorted(off))))
    return _At(here.epoch, here.trace_seq)


def _lock_person(tx: Tx, command: Commit, person_id: str) -> None:
    epoch = tx.conn.execute(
        sa.update(person)
        .where(person.c.id == person_id)
        .values(epoch=person.c.epoch + 1, moved_by=command.turn)
        .returning(person.c.epoch)
    ).scalar_one()
    if epoch - 1 != command.seen.person_epoch:
        raise _Stop(Superseded(None))


def _superseded(tx: Tx, command: Commit) -> Superseded:
    """Another trigger of the person won: the losing wishes stay on record and hold no key (CK-2)."""
    for wish in (*(change.proposal for change in command.changes), *command.proposals):
        lost = _proposal(tx, command, wish, "superseded", None)
        lost["id"] = f"{wish.id}:lost:{command.seen.person_epoch}"  # the turn decides anew under the same ids
        statement = upsert(tx.conn, proposal).values(lost)
        tx.conn.execute(statement.on_conflict_do_nothing())
    by = tx.conn.execute(sa.select(person.c.moved_by).where(person.c.id == command.person)).scalar_one_or_none()
    return Superseded(by)


# --- the writing --------------------------------------------------------------------------------------------------


def _write(tx: Tx, command: Commit, at: _At, transitions: Transitions) -> Committed:
    if command.supersede_unsent:
        _supersede_answers(tx, command)
    entities = tuple(_change(tx, command, change, transitions) for change in command.changes)
    _offers(tx, command)
    _proposals(tx, command)
    intents = tuple(_intent(tx, command, new) for new in command.intents)
    _suppressions(tx, command)
    _ledger(tx, command, entities)
    _matter(tx, command)
    _hand_over(tx, command)
    if command.review is not None:
        review.open_case(tx, command.turn, command.review)
    trace.append(tx, command.conversation, command.turn, command.trace, at.epoch, at.last_seq)
    return Committed(entities, intents)


def _change(tx: Tx, command: Commit, change: EntityChange, transitions: Transitions) -> EntityRef:
    table = transitions.get(change.kind, {})
    if change.state not in {str(state) for state in table}:
        raise _Stop(Refused("illegal_transition", f"{change.kind} has no state {change.state}"))
    _claim_key(tx, command, change)
    if change.replaces is not None:
        _replace(tx, command, change, change.replaces, table)
    if change.creates:
        _create(tx, command, change)
    else:
        _alter(tx, command, change, table)
    _seat(tx, command, change)
    _calendar(tx, change)
    return EntityRef(change.entity, change.kind, change.base_version + 1, change.state)


def _claim_key(tx: Tx, command: Commit, change: EntityChange) -> None:
    """Inserts the proposal under its keys; a key that was committed before is a duplicate (CK-3)."""
    values = _proposal(tx, command, change.proposal, "committed", change.entity)
    statement = upsert(tx.conn, proposal).values(values).on_conflict_do_nothing()
    if tx.conn.execute(statement.returning(proposal.c.id)).first() is not None:
        return
    clash = [proposal.c.id == change.proposal.id, proposal.c.key_conversation == values["key_conversation"]]
    if values["key_person"] is not None:
        clash.append(proposal.c.key_person == values["key_person"])
    winner = (
        tx.conn.execute(sa.select(proposal.c.id).where(proposal.c.status == "committed", sa.or_(*clash)))
        .scalars()
        .first()
    )
    if winner is None and _upgrade(tx, change.proposal.id, values):
        return
    raise _Stop(Duplicate(winner or change.proposal.id))


def _upgrade(tx: Tx, proposal_id: str, values: Mapping[str, Any]) -> bool:
    """An open proposal of the same id goes with the change now."""
    done = tx.conn.execute(
        sa.update(proposal).where(proposal.c.id == proposal_id, proposal.c.status == "open").values(values)
    )
    return done.rowcount == 1


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


def _sources(table: Mapping[Any, frozenset[Any]], target: str) -> list[str]:
    """The states from which `target` may be reached."""
    return [str(state) for state, nexts in table.items() if target in {str(one) for one in nexts}]


def _replace(tx: Tx, command: Commit, change: EntityChange, old: str, table: Mapping[Any, frozenset[Any]]) -> None:
    """The earlier entity gives way: its state, its seats, its unsent messages, its calendar event (CK-4)."""
    gone = tx.conn.execute(
        sa.update(entity)
        .where(entity.c.id == old, _mine(command, change), entity.c.state.in_(_sources(table, _REPLACED)))
        .values(state=_REPLACED, live=False, superseded_by=change.entity, changed_at=tx.now)
    )
    if gone.rowcount == 0:
        raise _Stop(Refused("illegal_transition", "what is to be replaced is not live"))
    _release_seats(tx, old)
    _withdraw_messages(tx, command, old)
    _cancel_event(tx, old)


def _create(tx: Tx, command: Commit, change: EntityChange) -> None:
    chain = tx.conn.execute(sa.select(entity.c.version, entity.c.live).where(_mine(command, change))).all()
    if max((row.version for row in chain), default=0) != change.base_version:
        raise _Stop(Refused("stale_version", "the chain has moved on"))
    if change.live and any(row.live for row in chain):
        raise _Stop(Refused("illegal_transition", f"another {change.kind} is live"))
    tx.conn.execute(
        sa.insert(entity).values(
            id=change.entity,
            domain=change.domain,
            kind=change.kind,
            property=command.property,
            person=command.person,
            conversation=command.conversation,
            matter=command.matter,
            created_at=tx.now,
            **_entity(tx, change),
        )
    )


def _alter(tx: Tx, command: Commit, change: EntityChange, table: Mapping[Any, frozenset[Any]]) -> None:
    here = sa.and_(entity.c.id == change.entity, _mine(command, change))
    done = tx.conn.execute(
        sa.update(entity)
        .where(here, entity.c.version == change.base_version, entity.c.state.in_(_sources(table, change.state)))
        .values(_entity(tx, change))
    )
    if done.rowcount == 0:
        found = tx.conn.execute(sa.select(entity.c.version, entity.c.state).where(here)).one_or_none()
        if found is None or found.version != change.base_version:
            raise _Stop(Refused("stale_version", change.entity))
        raise _Stop(Refused("illegal_transition", f"{found.state} to {change.state}"))
    _withdraw_messages(tx, command, change.entity)


def _entity(tx: Tx, change: EntityChange) -> dict[str, Any]:
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


def _mine(command: Commit, change: EntityChange) -> sa.ColumnElement[bool]:
    return sa.and_(
        rows.of_person_or_conversation(entity, command.person, command.conversation),
        entity.c.property == command.property,
        entity.c.kind == change.kind,
    )


# --- seats and calendar -------------------------------------------------------------------------------------------


def _seat(tx: Tx, command: Commit, change: EntityChange) -> None:
    """A live entity holds one seat of its slot and no other; one that is not live holds none (CK-6)."""
    if not change.live or change.slot is None:
        _release_seats(tx, change.entity)
        return
    held = not change.creates and _keeps_seat(tx, change)
    if not held and not any(_sit(tx, command, change, seat) for seat in range(change.capacity)):
        raise _Stop(Refused("slot_taken", change.slot))


def _keeps_seat(tx: Tx, change: EntityChange) -> bool:
    """Gives up seats of other slots; whether one of the right slot is held."""
    here = slot_hold.c.entity == change.entity
    tx.conn.execute(sa.delete(slot_hold).where(here, slot_hold.c.slot != change.slot))
    return tx.conn.execute(sa.update(slot_hold).where(here).values(expires_at=change.expires_at)).rowcount == 1


def _sit(tx: Tx, command: Commit, change: EntityChange, seat: int) -> bool:
    """Waits for whoever is about to take the same seat; False where they took it."""
    statement = upsert(tx.conn, slot_hold).values(
        slot=change.slot,
        seat=seat,
        property=command.property,
        entity=change.entity,
        starts_at=change.starts_at,
        expires_at=change.expires_at,
    )
    return tx.conn.execute(statement.on_conflict_do_nothing().returning(slot_hold.c.seat)).first() is not None


def _release_seats(tx: Tx, entity_id: str) -> None:
    tx.conn.execute(sa.delete(slot_hold).where(slot_hold.c.entity == entity_id))


def _calendar(tx: Tx, change: EntityChange) -> None:
    """The event follows the entity: a request while it is live, a cancellation with the next sequence number when it is not."""
    if not change.live:
        _cancel_event(tx, change.entity)
        return
    if change.starts_at is None:
        return
    now = {"method": "REQUEST", "starts_at": change.starts_at, "ends_at": change.ends_at, "changed_at": tx.now}
    statement = upsert(tx.conn, calendar_event).values(uid=change.entity, entity=change.entity, sequence=0, **now)
    tx.conn.execute(
        statement.on_conflict_do_update(index_elements=["uid"], set_={"sequence": calendar_event.c.sequence + 1, **now})
    )


def _cancel_event(tx: Tx, entity_id: str) -> None:
    tx.conn.execute(
        sa.update(calendar_event)
        .where(calendar_event.c.entity == entity_id, calendar_event.c.method != "CANCEL")
        .values(method="CANCEL", sequence=calendar_event.c.sequence + 1, changed_at=tx.now)
    )


# --- messages -----------------------------------------------------------------------------------------------------


def _supersede_answers(tx: Tx, command: Commit) -> None:
    """Earlier answers of this conversation that no provider has: this turn's answer says it all (TX-4)."""
    _supersede(
        tx,
        sa.and_(
            intent.c.conversation == command.conversation,
            intent.c.turn != command.turn,
            intent.c.customer_facing,
            intent.c.purpose.in_(ANSWERS),
        ),
    )


def _withdraw_messages(tx: Tx, command: Commit, entity_id: str) -> None:
    """Unsent messages about an entity that is no longer as they say, of whatever conversation (CK-4)."""
    _supersede(tx, sa.and_(intent.c.entity == entity_id, intent.c.turn != command.turn))


def _supersede(tx: Tx, which: sa.ColumnElement[bool]) -> None:
    gone = tx.conn.execute(
        sa.update(intent)
        .where(which, intent.c.state.in_(UNSENT))
        .values(state=IntentState.SUPERSEDED, finished_at=tx.now)
        .returning(intent.c.turn, intent.c.customer_facing, intent.c.purpose)
    ).all()
    answered = {row.turn for row in gone if row.customer_facing and row.purpose in ANSWERS}
    if answered:
        tx.conn.execute(sa.update(turn).where(turn.c.id.in_(answered)).values(ending=Ending.SUPERSEDED))
    for turn_id in sorted({row.turn for row in gone}):
        settle(tx, turn_id)


def _intent(tx: Tx, command: Commit, new: NewIntent) -> str:
    values = {
        "id": new.id,
        "idem": _idem(command, new),
        "commit": command.id,
        "turn": command.turn,
        "property": command.property,
        "conversation": command.conversation,
        "person": command.person,
        "entity": command.changes[0].entity if command.changes else None,
        "call": new.call,
        "purpose": new.purpose,
        "channel": new.channel,
        "sender": new.sender,
        "recipient": new.recipient,
        "recipient_tz": new.recipient_tz,
        "locale": new.locale,
        "plan": new.plan,
        "customer_facing": new.customer_facing,
        "held": new.held,
        "subject": new.subject,
        "reply_to": new.reply_to,
        "references": new.references,
        "state": IntentState.PROMISED,
        "fallback_at": new.fallback_at,
        "fell_back": False,
        "expires_at": new.expires_at,
        "fence": 0,
        "attempts": 0,
        "final": False,
        "rank": -1,
        "asked": 0,
        "created_at": tx.now,
    }
    if new.purpose is Purpose.AFTER_CALL and new.call is not None:
        replaced = _replace_plan(tx, values)
        if replaced is not None:
            return replaced
    tx.conn.execute(sa.insert(intent).values(values))
    return new.id


def _idem(command: Commit, new: NewIntent) -> str:
    return f"{command.turn}|{new.purpose}|{new.channel}|{new.recipient}"


def _replace_plan(tx: Tx, values: Mapping[str, Any]) -> str | None:
    """One text follows a call: a later commit puts its plan in the place of one that is not composed yet (CO-1)."""
    kept = {key: value for key, value in values.items() if key not in ("id", "created_at")}
    return tx.conn.execute(
        sa.update(intent)
        .where(
            intent.c.call == values["call"],
            intent.c.purpose == Purpose.AFTER_CALL,
            intent.c.state == IntentState.PROMISED,
        )
        .values(kept)
        .returning(intent.c.id)
    ).scalar_one_or_none()


# --- the rest -----------------------------------------------------------------------------------------------------


def _offers(tx: Tx, command: Commit) -> None:
    for used in command.used_offers:
        taken = tx.conn.execute(
            sa.update(offer)
            .where(
                offer.c.id == used,
                rows.of_person_or_conversation(offer, command.person, command.conversation),
                offer.c.used_at.is_(None),
                offer.c.expires_at > tx.now,
            )
            .values(used_at=tx.now)
        )
        if taken.rowcount == 0:
            raise _Stop(Refused("offer_expired", used))
    if command.offers:
        common = {
            "property": command.property,
            "conversation": command.conversation,
            "person": command.person,
            "turn": command.turn,
            "created_at": tx.now,
        }
        tx.conn.execute(
            sa.insert(offer),
            [
                {
                    "id": new.id,
                    "starts_at": new.starts_at,
                    "expires_at": new.expires_at,
                    "token_digest": new.token_digest,
                    **common,
                }
                for new in command.offers
            ],
        )


def _proposals(tx: Tx, command: Commit) -> None:
    if command.closed_proposals:
        tx.conn.execute(
            sa.update(proposal)
            .where(proposal.c.id.in_(command.closed_proposals), proposal.c.status == "open")
            .values(status="closed")
        )
    for wish in command.proposals:
        tx.conn.execute(sa.insert(proposal).values(_proposal(tx, command, wish, wish.status, None)))


def _suppressions(tx: Tx, command: Commit) -> None:
    if command.suppress is not None:
        suppress(tx, *command.suppress, reason=command.turn)
    if command.unsuppress is not None:
        channel, address = command.unsuppress
        tx.conn.execute(
            sa.delete(suppression).where(suppression.c.channel == channel, suppression.c.address == address)
        )


def suppress(tx: Tx, channel: str, address: str, reason: str) -> None:
    """Nothing automatic goes to the address on the channel any more (SR-7); the first reason stays."""
    statement = upsert(tx.conn, suppression).values(channel=channel, address=address, reason=reason, at=tx.now)
    tx.conn.execute(statement.on_conflict_do_nothing())


def _ledger(tx: Tx, command: Commit, entities: tuple[EntityRef, ...]) -> None:
    """One effect per change that landed, with trigger, channel, lineage and writer (IN-13)."""
    entries: list[dict[str, Any]] = [
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
    if entries:
        common = {
            "commit": command.id,
            "turn": command.turn,
            "property": command.property,
            "conversation": command.conversation,
            "person": command.person,
            "channel": command.channel,
            "at": tx.now,
        }
        tx.conn.execute(
            sa.insert(effect),
            [{"id": f"{command.id}:{number}", **entry, **common} for number, entry in enumerate(entries)],
        )


def _plain_effect(action: str, subject: str) -> dict[str, Any]:
    return {
        "action": action,
        "subject": subject,
        "version": None,
        "state": None,
        "lineage": "prospect_stated",
        "writer": "clara.turn",
        "body": {},
    }


def _matter(tx: Tx, command: Commit) -> None:
    if command.matter is None:
        return
    if command.rounds is None:
        values: dict[str, Any] = {"state": "closed", "closed_at": tx.now}
    else:
        values = {"rounds": command.rounds}
    tx.conn.execute(sa.update(matter).where(matter.c.id == command.matter).values(values))


def _end_turn(tx: Tx, command: Commit) -> bool:
    """An answer is owed for each promised message that does not wait, and for every turn of a call: the words. False where it is not open."""
    owed = command.channel == "voice" or any(not new.held for new in command.intents)
    ended = tx.conn.execute(
        sa.update(turn)
        .where(turn.c.id == command.turn, turn.c.state == TurnState.OPEN)
        .values(
            commit=command.id,
            committed_at=tx.now,
            state=TurnState.COMMITTED if owed else TurnState.SETTLED,
            settled_at=None if owed else tx.now,
            ending=command.ending,
            health=command.health,
            due_at=tx.now,
        )
    )
    return ended.rowcount == 1


def _hand_over(tx: Tx, command: Commit) -> None:
    if command.hand_to_human:
        tx.conn.execute(
            sa.update(conversation)
            .where(conversation.c.id == command.conversation)
            .values(owner="human", owner_since=tx.now, owner_by=command.turn)
        )
