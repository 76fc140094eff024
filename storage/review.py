"""Why a person should look: items by root cause, cases by conversation (RV-1, RV-2).

Invariants: one open item per property and signature, one open case per item and conversation; further signals raise counts and never vanish. Each case
is owned by the review desk through a duty with a due time (DM-9).
"""

from __future__ import annotations

import hashlib
from datetime import timedelta

import sqlalchemy as sa

from pipeline.core.commands import ReviewSignal
from pipeline.ports import Tx
from storage.tables import duty, review_case, review_item, turn
from storage.types import Inserting, Upsert, once, one_of

FLOOR = timedelta(minutes=15)  # RV-7, time-sensitive cases
ACKNOWLEDGE = timedelta(hours=1)


def _item_statement(insert: Inserting) -> sa.Executable:
    new = insert(review_item)
    again = {"count": review_item.c.count + 1, "last_at": new.excluded.last_at}
    return new.on_conflict_do_update(
        index_elements=["property", "signature"], index_where=one_of(review_item.c.state, ["open"]), set_=again
    ).returning(review_item.c.id)


def _case_statement(insert: Inserting) -> sa.Executable:
    new = insert(review_case)
    again = {name: new.excluded[name] for name in ("turn", "summary", "draft", "findings", "last_at")}
    kept = {
        "intent": sa.func.coalesce(new.excluded.intent, review_case.c.intent),
        "time_sensitive": sa.or_(review_case.c.time_sensitive, new.excluded.time_sensitive),
        "count": review_case.c.count + 1,
    }
    return new.on_conflict_do_update(
        index_elements=["item", "conversation"],
        index_where=one_of(review_case.c.state, ["open"]),
        set_={**again, **kept},
    ).returning(review_case.c.id)


_ITEM = Upsert(_item_statement)
_CASE = Upsert(_case_statement)
_DUTY = once(duty, duty.c.id)


def open_case(tx: Tx, turn_id: str, signal: ReviewSignal, intent: str | None = None) -> str:
    """Opens or joins the item and the case of a signal; the case's id."""
    at = tx.conn.execute(sa.select(turn.c.property, turn.c.conversation).where(turn.c.id == turn_id)).one()
    item = _item(tx, turn_id, at.property, signal)
    case = _case(tx, turn_id, at.conversation, item, signal, intent)
    owned = {
        "id": f"{case}:duty",
        "kind": "review",
        "property": at.property,
        "conversation": at.conversation,
        "owner": "desk",
        "due_at": tx.now + (FLOOR if signal.time_sensitive else ACKNOWLEDGE),
        "opened_by": case,
        "opened_at": tx.now,
    }
    _DUTY.run(tx.conn, owned)
    return case


def _name(turn_id: str, signature: str) -> str:
    """An id that sorts by time as the turn's does."""
    return f"{turn_id}:{hashlib.sha256(signature.encode()).hexdigest()[:12]}"


def _item(tx: Tx, turn_id: str, property_id: str, signal: ReviewSignal) -> str:
    row = {
        "id": _name(turn_id, signal.signature),
        "property": property_id,
        "signature": signal.signature,
        "summary": signal.summary,
        "state": "open",
        "count": 1,
        "first_at": tx.now,
        "last_at": tx.now,
    }
    return str(_ITEM.run(tx.conn, row).scalar_one())


def _case(tx: Tx, turn_id: str, conversation: str, item: str, signal: ReviewSignal, intent: str | None) -> str:
    row = {
        "id": f"{_name(turn_id, signal.signature)}:case",
        "item": item,
        "conversation": conversation,
        "turn": turn_id,
        "intent": intent,
        "summary": signal.summary,
        "draft": signal.draft,
        "findings": signal.findings,
        "time_sensitive": signal.time_sensitive,
        "count": 1,
        "state": "open",
        "opened_at": tx.now,
        "last_at": tx.now,
    }
    return str(_CASE.run(tx.conn, row).scalar_one())
