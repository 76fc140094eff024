"""Delivery events: appended once, folded by rank, whatever their order (SR-4).

Invariants: an event never moves an intent back; the first error stays; an event that comes before the create response finds its intent by our own
reference, or waits under the provider's until the response names it. Both seen-before and unknown events are harmless.
"""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy import bindparam

from pipeline.core.commands import ReviewSignal, TraceEvent
from pipeline.core.states import INTENT, sources
from pipeline.core.states import IntentState as State
from pipeline.ports import Tx
from pipeline.store import Delivery
from storage.people import suppress
from storage.review import open_case
from storage.tables import attempt, delivery_event, intent
from storage.trace import note
from storage.types import Instant, once

# A provider's word: how far along it is, and the state that it proves.
STATUS: dict[str, tuple[int, State]] = {
    "accepted": (0, State.ACCEPTED),
    "scheduled": (0, State.ACCEPTED),
    "queued": (1, State.ACCEPTED),
    "processed": (1, State.ACCEPTED),
    "deferred": (2, State.ACCEPTED),
    "sending": (2, State.ACCEPTED),
    "sent": (3, State.ACCEPTED),
    "undelivered": (4, State.UNDELIVERED),
    "bounce": (4, State.UNDELIVERED),
    "bounced": (4, State.UNDELIVERED),
    "blocked": (4, State.UNDELIVERED),
    "dropped": (4, State.UNDELIVERED),
    "failed": (4, State.FAILED),
    "canceled": (4, State.FAILED),
    "delivered": (5, State.DELIVERED),
    "read": (6, State.DELIVERED),
}
_OPT_OUT_STATUS = frozenset({"unsubscribe", "group_unsubscribe", "spamreport"})
_OPT_OUT_ERROR = frozenset({"21610", "unsubscribed address", "spam reporting address"})


_ONCE = once(delivery_event, delivery_event.c.id)
_SEEN = sa.select(delivery_event.c.id, delivery_event.c.intent).where(
    delivery_event.c.provider == bindparam("at_provider"),
    delivery_event.c.ref == bindparam("at_ref"),
    delivery_event.c.status == bindparam("at_status"),
    delivery_event.c.error == bindparam("at_error"),
)
_MATCHED = sa.update(delivery_event).where(delivery_event.c.id == bindparam("at_event"))
_PENDING = (
    sa.update(delivery_event)
    .where(delivery_event.c.ref == bindparam("at_ref"), delivery_event.c.intent.is_(None))
    .values(intent=bindparam("at_intent"))
    .returning(*delivery_event.c)
)
_BY_REF = sa.select(attempt.c.intent).where(attempt.c.ref == bindparam("at_ref")).order_by(attempt.c.opened_at.desc())
_BY_REFERENCE = sa.select(intent.c.id, intent.c.attempts).where(
    sa.or_(intent.c.id == bindparam("at_reference"), intent.c.message_id == bindparam("at_reference"))
)
_NAME = sa.update(attempt).where(
    attempt.c.intent == bindparam("at_intent"), attempt.c.number == bindparam("at_number"), attempt.c.ref.is_(None)
)
_FOLD = (
    sa.update(intent)
    .where(
        intent.c.id == bindparam("at_intent"),
        intent.c.rank < bindparam("at_rank"),
        intent.c.state.in_(bindparam("at_states", expanding=True)),
    )
    .values(
        rank=bindparam("at_rank"),
        error=sa.func.coalesce(intent.c.error, bindparam("at_error", type_=sa.Text)),
        accepted_at=sa.func.coalesce(intent.c.accepted_at, bindparam("at_now", type_=Instant)),
        lease_until=None,
    )
    .returning(intent.c.turn, intent.c.channel)
)
_RECIPIENT = sa.select(intent.c.channel, intent.c.recipient).where(intent.c.id == bindparam("at_intent"))


def delivery(tx: Tx, event: Delivery) -> bool:
    """Appends and folds one event; False for one that was seen before. What was seen before its message was known is folded now."""
    row = {
        "provider": event.provider,
        "ref": event.ref,
        "status": event.status,
        "error": event.error or "",
        "reference": event.reference,
        "via": event.via,
        "at": tx.now,
    }
    number = _ONCE.run(tx.conn, row).scalar_one_or_none()
    new = number is not None
    if not new:
        where = {f"at_{name}": row[name] for name in ("provider", "ref", "status", "error")}
        number, known = tx.conn.execute(_SEEN, where).one()
        if known is not None:
            return False
    intent_id = _match(tx, event)
    if intent_id is not None:
        tx.conn.execute(_MATCHED, {"at_event": number, "intent": intent_id})
        fold(tx, intent_id, event)
    return new


def fold_pending(tx: Tx, intent_id: str, ref: str) -> None:
    """Folds the events that came before it was known whose `ref` this is."""
    for row in tx.conn.execute(_PENDING, {"at_ref": ref, "at_intent": intent_id}).all():
        fold(tx, intent_id, Delivery(row.provider, row.ref, row.status, row.error or None))


def fold(tx: Tx, intent_id: str, event: Delivery) -> None:
    """Moves the intent as far as the event proves, and no step back."""
    _opt_out(tx, intent_id, event)
    known = STATUS.get(event.status.lower())
    if known is None:
        return
    rank, target = known
    before = sources(INTENT, target) - {State.COMPOSED, State.LEASED}
    where = {"at_intent": intent_id, "at_rank": rank, "at_error": event.error, "at_now": tx.now}
    states, values = (
        (before | {target}, {}) if target is State.ACCEPTED else (before, {"finished_at": tx.now, "ask_at": None})
    )
    moved = tx.conn.execute(_FOLD, {**values, **where, "state": target, "at_states": sorted(states)}).one_or_none()
    if moved is None:
        return
    if target in (State.UNDELIVERED, State.FAILED):
        signature = f"undelivered:{moved.channel}:{event.error or event.status}"
        open_case(tx, moved.turn, ReviewSignal(signature, "A message did not arrive."), intent_id)
    told = {"intent": intent_id, "ref": event.ref, "error": event.error, "via": event.via}
    note(tx, moved.turn, [TraceEvent("delivery", event.status, told)])


def _match(tx: Tx, event: Delivery) -> str | None:
    """The intent that an event speaks of, by the provider's reference or by ours."""
    found: str | None = tx.conn.execute(_BY_REF, {"at_ref": event.ref}).scalars().first()
    if found is not None or event.reference is None:
        return found
    named = tx.conn.execute(_BY_REFERENCE, {"at_reference": event.reference}).first()
    if named is None:
        return None
    tx.conn.execute(_NAME, {"at_intent": named.id, "at_number": named.attempts, "ref": event.ref})
    return str(named.id)


def _opt_out(tx: Tx, intent_id: str, event: Delivery) -> None:
    if event.status.lower() in _OPT_OUT_STATUS or (event.error or "").lower() in _OPT_OUT_ERROR:
        row = tx.conn.execute(_RECIPIENT, {"at_intent": intent_id}).one()
        suppress(tx, row.channel, row.recipient, reason=f"carrier:{event.error or event.status}")
