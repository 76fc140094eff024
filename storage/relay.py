"""The rail's side of the outbox: lease, attempt, outcome, doubt (SR-1 to SR-6).

Invariants: work is claimed by state, never by position; every claim is fenced and lasts only as long as its lease, by the database's clock. `sending`
is committed before the first byte leaves, and such a row is never leased for sending again: it is asked about. An attempt whose policy facts
(owner, suppression, switches) have moved since the lease is not begun. What fails for good, and what stays unknown, has a review case.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa
from sqlalchemy import bindparam

from pipeline.core.commands import ReviewSignal, TraceEvent
from pipeline.core.states import INTENT, sources
from pipeline.core.states import IntentState as State
from pipeline.ports import (
    Absent,
    Accepted,
    Attempt,
    FindOutcome,
    Found,
    MaybeSent,
    NotSent,
    Refused,
    SendOutcome,
    Tx,
)
from pipeline.store import Delivery, IntentLease, Sending
from storage import delivery, rows
from storage.people import suppress
from storage.review import open_case
from storage.rows import later
from storage.tables import attempt as attempts
from storage.tables import conversation, intent
from storage.trace import note
from storage.types import Instant, one_of

ASKING = 30.0  # seconds for which an open question belongs to the node that asks it


# --- leases and attempts -----------------------------------------------------------------------------------------

_NOW: sa.BindParameter[datetime] = bindparam("at_now", type_=Instant)
_CHOSEN = intent.c.id.in_(bindparam("at_chosen", expanding=True))
_OVER = [
    sa.and_(one_of(intent.c.state, [State.LEASED]), intent.c.lease_until <= _NOW),
    sa.and_(one_of(intent.c.state, [State.BLOCKED]), intent.c.not_before <= _NOW),
]
_RETURNS = [
    (
        sa.select(intent.c.id).where(over).with_for_update(skip_locked=True, key_share=True),
        sa.update(intent).where(_CHOSEN, over).values(state=State.COMPOSED, lease_until=None, lease_owner=None),
    )
    for over in _OVER
]


def _due(intents: sa.FromClause) -> sa.ColumnElement[bool]:
    return sa.or_(intents.c.not_before.is_(None), intents.c.not_before <= _NOW)


_ahead = intent.alias("ahead")
_FOLLOWS = (
    sa.select(_ahead.c.id)
    .where(
        _ahead.c.recipient == intent.c.recipient,
        _ahead.c.channel == intent.c.channel,
        one_of(_ahead.c.state, [State.COMPOSED, State.LEASED, State.SENDING]),
        sa.tuple_(_ahead.c.created_at, _ahead.c.id) < sa.tuple_(intent.c.created_at, intent.c.id),
        sa.or_(_ahead.c.state != State.COMPOSED, _due(_ahead)),
    )
    .exists()
)
# Due intents before which nothing of the same recipient and channel is due or on its way.
_HEADS = (
    sa.select(intent.c.id)
    .where(
        one_of(intent.c.state, [State.COMPOSED]),
        _due(intent),
        intent.c.channel.not_in(bindparam("at_full", expanding=True)),
        ~_FOLLOWS,
    )
    .order_by(intent.c.created_at, intent.c.id)
    .limit(bindparam("at_limit"))
    .with_for_update(skip_locked=True, key_share=True)
)
_LEASE = (
    sa.update(intent)
    .where(_CHOSEN, intent.c.state == State.COMPOSED)
    .values(
        state=State.LEASED,
        lease_owner=bindparam("at_node"),
        lease_until=bindparam("at_end"),
        fence=intent.c.fence + 1,
    )
    .returning(*intent.c)
)
_HOLDER = sa.and_(
    intent.c.id == bindparam("at_intent"), intent.c.state == State.LEASED, intent.c.fence == bindparam("at_fence")
)
_BEGIN = (
    sa.update(intent)
    .where(_HOLDER, intent.c.lease_until > _NOW)
    .values(
        state=State.SENDING,
        attempts=intent.c.attempts + 1,
        released_at=sa.func.coalesce(intent.c.released_at, _NOW),
    )
    .returning(*intent.c)
)
_BLOCK = sa.update(intent).where(_HOLDER)
_ATTEMPT = sa.insert(attempts)
_OWNER = sa.select(conversation.c.owner).where(conversation.c.id == bindparam("at_conversation"))


def lease_intents(tx: Tx, node: str, limit: int, seconds: float, full: Collection[str] = ()) -> list[IntentLease]:
    """Composed and due intents, the oldest of each recipient and channel; leases that ran out and blocks that are over come back first.

    Nothing is taken for a channel in `full`: nobody has a hand free to send it.
    """
    _return_expired(tx)
    wanted = {"at_now": tx.now, "at_limit": limit, "at_full": sorted(full)}
    chosen = tx.conn.execute(_HEADS, wanted).scalars().all()
    if not chosen:
        return []
    held = {"at_chosen": chosen, "at_node": node, "at_end": later(tx, seconds)}
    leased = sorted(tx.conn.execute(_LEASE, held).all(), key=lambda row: (row.created_at, row.id))
    off = rows.switched_off(tx)
    return [_lease(tx, row, off) for row in leased]


def begin_attempt(tx: Tx, lease: IntentLease, attempt_id: str) -> Attempt | None:
    """leased to sending, with its attempt row; None where the lease, the intent or what the policy was decided on has moved."""
    if not _policy_holds(tx, lease):
        return None
    held = {"at_intent": lease.intent, "at_fence": lease.fence, "at_now": tx.now}
    row = tx.conn.execute(_BEGIN, held).one_or_none()
    if row is None:
        return None
    tx.conn.execute(
        _ATTEMPT,
        {
            "id": attempt_id,
            "intent": row.id,
            "number": row.attempts,
            "reference": row.id,
            "node": row.lease_owner,
            "opened_at": tx.now,
        },
    )
    told = {"intent": row.id, "attempt": row.attempts, "channel": row.channel}
    note(tx, row.turn, [TraceEvent("rail", "sending", told)])
    return _attempt(row, attempt_id, row.attempts, tx.now)


def block(tx: Tx, lease: IntentLease, reason: str, not_before: datetime | None) -> None:
    """Policy said no: blocked until `not_before`, or discarded for good (SR-2)."""
    values: dict[str, Any] = {"reason": reason, "lease_until": None, "lease_owner": None, "not_before": not_before}
    if not_before is None:
        values |= {"state": State.DISCARDED, "finished_at": tx.now}
    else:
        values["state"] = State.BLOCKED
    tx.conn.execute(_BLOCK, {**values, "at_intent": lease.intent, "at_fence": lease.fence})


def finish_attempt(tx: Tx, attempt: Attempt, outcome: SendOutcome, retry_at: datetime | None) -> None:
    """Writes what the provider said. Without a `retry_at` a failed try is final and has a case (SR-6)."""
    _close(tx, attempt, outcome)
    match outcome:
        case Accepted(ref, final):
            _accept(tx, attempt, final)
            delivery.fold_pending(tx, attempt.intent, ref)
        case MaybeSent(detail):
            _move(tx, attempt, State.UNKNOWN, ask_at=tx.now, error=detail)
        case NotSent(detail):
            _retry(tx, attempt, detail, retry_at)
        case Refused("retryable", code, detail):
            _retry(tx, attempt, f"{code} {detail}", retry_at)
        case Refused(kind, code, detail):
            if kind == "opted_out":
                suppress(tx, attempt.channel, attempt.recipient, reason=f"carrier:{code}")
            _fail(tx, attempt, f"{code} {detail}", f"refused:{attempt.channel}:{code}")
    _tell(tx, attempt, outcome)


_LOST = (
    sa.select(intent.c.id, intent.c.state)
    .where(one_of(intent.c.state, [State.SENDING]), intent.c.lease_until <= _NOW)
    .order_by(intent.c.lease_until)
    .limit(bindparam("at_limit"))
    .with_for_update(skip_locked=True, key_share=True)
)
_DOUBTFUL = (
    sa.select(intent.c.id, intent.c.state)
    .where(one_of(intent.c.state, [State.UNKNOWN]), intent.c.ask_at <= _NOW)
    .order_by(intent.c.ask_at)
    .limit(bindparam("at_limit"))
    .with_for_update(skip_locked=True, key_share=True)
)
_UNHEARD_OF = (
    sa.select(intent.c.id, intent.c.state)
    .where(
        one_of(intent.c.state, [State.ACCEPTED]),
        intent.c.accepted_at <= bindparam("at_before"),
        ~intent.c.final,
        sa.or_(intent.c.ask_at.is_(None), intent.c.ask_at <= _NOW),
    )
    .order_by(intent.c.accepted_at)
    .limit(bindparam("at_limit"))
    .with_for_update(skip_locked=True, key_share=True)
)
_ASK = sa.update(intent).where(_CHOSEN).values(asked=intent.c.asked + 1).returning(*intent.c)
_ASK_AGAIN = sa.update(intent).where(intent.c.id == bindparam("at_intent"))
_TRIES = (
    sa.select(attempts).where(attempts.c.intent.in_(bindparam("at_chosen", expanding=True))).order_by(attempts.c.number)
)


def unresolved(tx: Tx, limit: int) -> list[Sending]:
    """Attempts whose outcome is open; each belongs to the asking node for half a minute. What was `sending` is `unknown` from here on."""
    wanted = {"at_now": tx.now, "at_limit": limit}
    lost, due = tx.conn.execute(_LOST, wanted).all(), tx.conn.execute(_DOUBTFUL, wanted).all()
    chosen = {row.id: row.state for row in (*lost, *due)[:limit]}
    return _ask(tx, chosen, {"state": State.UNKNOWN, "ask_at": later(tx, ASKING)})


def undelivered_since(tx: Tx, before: datetime, limit: int) -> list[Sending]:
    """Accepted before `before`, no evidence of arrival; asked again after a minute, two, four … up to an hour (SR-4)."""
    due = tx.conn.execute(_UNHEARD_OF, {"at_before": before, "at_now": tx.now, "at_limit": limit}).all()
    found = _ask(tx, {row.id: row.state for row in due}, {})
    for one in found:
        again = later(tx, min(60.0 * 2 ** min(one.asked, 6), 3600.0))
        tx.conn.execute(_ASK_AGAIN, {"at_intent": one.attempt.intent, "ask_at": again})
    return found


def resolve(
    tx: Tx, attempt: Attempt, outcome: FindOutcome, ask_again_at: datetime, give_up_at: datetime, absent_after: float
) -> None:
    """What the provider knew. Absent counts `absent_after` seconds after the attempt; without knowledge past `give_up_at` a person decides."""
    if isinstance(outcome, Found):
        _close(tx, attempt, outcome)
        _accept(tx, attempt, final=False)
        delivery.fold_pending(tx, attempt.intent, outcome.ref)
        event = Delivery("", outcome.ref, outcome.status, outcome.error, via="poll")
        delivery.fold(tx, attempt.intent, event)
        return
    quiet = attempt.opened_at + timedelta(seconds=absent_after)
    if isinstance(outcome, Absent) and tx.now >= quiet:
        _move(tx, attempt, State.COMPOSED, not_before=None, ask_at=None)
    elif tx.now >= give_up_at:
        gone = _move(tx, attempt, State.UNKNOWN, ask_at=None)
        if gone is not None:
            signature = f"unknown:{attempt.channel}"
            open_case(tx, gone, ReviewSignal(signature, "It is not known whether a message left."), attempt.intent)
    else:
        _move(tx, attempt, State.UNKNOWN, ask_at=ask_again_at)


# --- parts --------------------------------------------------------------------------------------------------------


def _return_expired(tx: Tx) -> None:
    """leased and blocked rows whose time is over are composed again; rows that another relay has in hand are left to it."""
    for find, give_back in _RETURNS:
        found = tx.conn.execute(find, {"at_now": tx.now}).scalars().all()
        if found:
            tx.conn.execute(give_back, {"at_now": tx.now, "at_chosen": found})


def _lease(tx: Tx, row: sa.Row[Any], off: frozenset[str]) -> IntentLease:
    return IntentLease(
        intent=row.id,
        fence=row.fence,
        channel=row.channel,
        sender=row.sender,
        recipient=row.recipient,
        recipient_tz=row.recipient_tz,
        purpose=row.purpose,
        customer_facing=row.customer_facing,
        property=row.property,
        conversation=row.conversation,
        payload=row.payload,
        digest=row.digest,
        composed_at=row.composed_at,
        created_at=row.created_at,
        expires_at=row.expires_at,
        attempts=row.attempts,
        owner=tx.conn.execute(_OWNER, {"at_conversation": row.conversation}).scalar_one(),
        suppressed=rows.suppressed(tx, row.channel, row.recipient),
        switches=off,
        until=row.lease_until,
    )


def _policy_holds(tx: Tx, lease: IntentLease) -> bool:
    """The facts that the relay judged by are still so. The conversation's row is shared until the end: whoever takes it over or commits
    an opt-out in it comes before this attempt, or after it is on record (IN-8, IN-9)."""
    owner = tx.conn.execute(_OWNER.with_for_update(read=True), {"at_conversation": lease.conversation}).scalar_one()
    return (
        owner == lease.owner
        and rows.suppressed(tx, lease.channel, lease.recipient) == lease.suppressed
        and rows.switched_off(tx) == lease.switches
    )


def _attempt(row: sa.Row[Any], attempt_id: str, number: int, opened_at: datetime) -> Attempt:
    return Attempt(
        id=attempt_id,
        intent=row.id,
        number=number,
        channel=row.channel,
        sender=row.sender,
        recipient=row.recipient,
        payload=row.payload,
        reference=row.id,
        opened_at=opened_at,
    )


def _ask(tx: Tx, chosen: dict[str, str], values: dict[str, Any]) -> list[Sending]:
    """Claims the chosen intents for one question each; in the order given."""
    if not chosen:
        return []
    updated = tx.conn.execute(_ASK, {**values, "at_chosen": list(chosen)}).all()
    latest = {row.intent: row for row in tx.conn.execute(_TRIES, {"at_chosen": list(chosen)})}
    by_id = {row.id: row for row in updated}
    return [
        Sending(
            attempt=_attempt(by_id[name], latest[name].id, latest[name].number, latest[name].opened_at),
            ref=latest[name].ref,
            state=state,
            asked=by_id[name].asked - 1,
        )
        for name, state in chosen.items()
    ]


_CLOSE = (
    sa.update(attempts)
    .where(attempts.c.id == bindparam("at_attempt"))
    .values(ref=sa.func.coalesce(bindparam("at_ref", type_=sa.Text), attempts.c.ref))
)
_TURN = sa.select(intent.c.turn).where(intent.c.id == bindparam("at_intent"))
_MOVE = (
    sa.update(intent)
    .where(
        intent.c.id == bindparam("at_intent"),
        intent.c.attempts == bindparam("at_number"),
        intent.c.state.in_(bindparam("at_states", expanding=True)),
    )
    .values(lease_until=None, lease_owner=None)
    .returning(intent.c.turn)
)


def _close(tx: Tx, attempt: Attempt, outcome: SendOutcome | Found) -> None:
    """The attempt's end, in the provider's words; a reference that is known stays known."""
    said = {name: getattr(outcome, name, None) for name in ("code", "detail")}
    ended = {"outcome": type(outcome).__name__.lower(), "closed_at": tx.now}
    tx.conn.execute(_CLOSE, {**said, **ended, "at_attempt": attempt.id, "at_ref": getattr(outcome, "ref", None)})


def _tell(tx: Tx, attempt: Attempt, outcome: SendOutcome) -> None:
    """The outcome as a stage of the turn; last, because the clock of all traces is a lock."""
    turn_id = tx.conn.execute(_TURN, {"at_intent": attempt.intent}).scalar_one()
    known = {name: getattr(outcome, name) for name in ("ref", "code", "detail") if hasattr(outcome, name)}
    told = {"intent": attempt.intent, "attempt": attempt.number, **known}
    note(tx, turn_id, [TraceEvent("rail", type(outcome).__name__.lower(), told)])


def _accept(tx: Tx, attempt: Attempt, final: bool) -> None:
    _move(tx, attempt, State.ACCEPTED, accepted_at=tx.now, final=final, ask_at=None)


def _retry(tx: Tx, attempt: Attempt, detail: str, retry_at: datetime | None) -> None:
    if retry_at is None:
        _fail(tx, attempt, detail, f"exhausted:{attempt.channel}")
    else:
        _move(tx, attempt, State.COMPOSED, not_before=retry_at, error=detail)


def _fail(tx: Tx, attempt: Attempt, detail: str, signature: str) -> None:
    turn_id = _move(tx, attempt, State.FAILED, finished_at=tx.now, error=detail)
    if turn_id is not None:
        open_case(tx, turn_id, ReviewSignal(signature, "A message could not be sent."), attempt.intent)


def _move(tx: Tx, attempt: Attempt, target: State, **values: Any) -> str | None:
    """The latest attempt's intent, from `sending` or `unknown` into `target`; its turn, or None where something else was known first."""
    doubt = {State.SENDING, State.UNKNOWN}
    states = doubt if target is State.UNKNOWN else sources(INTENT, target) & doubt
    where = {"at_intent": attempt.intent, "at_number": attempt.number, "at_states": sorted(states)}
    return tx.conn.execute(_MOVE, {**values, **where, "state": target}).scalar_one_or_none()
