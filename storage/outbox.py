"""What a commit does to the outbox: it promises messages, and takes back unsent ones that no longer say how things stand.

Invariants: only what no provider has may be superseded; a message about an entity is withdrawn in whatever conversation it waits (CK-4); a turn whose
answer was superseded ends so, but still owes its other messages; one text follows a call (CO-1).
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from sqlalchemy import bindparam

from pipeline.core.commands import Commit, NewIntent
from pipeline.core.states import UNSENT, IntentState
from pipeline.core.types import Ending, Purpose
from pipeline.ports import Tx
from storage.intents import settle
from storage.tables import intent, turn
from storage.types import one_of

# What a later answer of the same conversation takes the place of (TX-4).
ANSWERS = ("answer", "holding")

_GONE = {"state": IntentState.SUPERSEDED, "finished_at": bindparam("at_now")}
_TOLD = (intent.c.turn, intent.c.customer_facing, intent.c.purpose)
_ELSEWHERE = intent.c.turn != bindparam("at_turn")

_SUPERSEDE_ANSWERS = (
    sa.update(intent)
    .where(
        intent.c.conversation == bindparam("at_conversation"),
        _ELSEWHERE,
        intent.c.customer_facing,
        one_of(intent.c.purpose, ANSWERS),
        one_of(intent.c.state, UNSENT),
    )
    .values(_GONE)
    .returning(*_TOLD)
)
_WITHDRAW = (
    sa.update(intent)
    .where(intent.c.entity == bindparam("at_entity"), _ELSEWHERE, one_of(intent.c.state, UNSENT))
    .values(_GONE)
    .returning(*_TOLD)
)
_SUPERSEDED = sa.update(turn).where(turn.c.id == bindparam("at_turn")).values(ending=Ending.SUPERSEDED)
_PROMISE = sa.insert(intent)
_AFTER_CALL = (
    sa.update(intent)
    .where(
        intent.c.call == bindparam("at_call"),
        intent.c.purpose == Purpose.AFTER_CALL,
        intent.c.state == IntentState.PROMISED,
    )
    .returning(intent.c.id)
)


def supersede_answers(tx: Tx, command: Commit) -> None:
    """Earlier answers of the conversation that no provider has: this turn's answer says it all (TX-4)."""
    values = {"at_conversation": command.conversation, "at_turn": command.turn, "at_now": tx.now}
    _end(tx, tx.conn.execute(_SUPERSEDE_ANSWERS, values))


def withdraw(tx: Tx, command: Commit, entity: str) -> None:
    """Unsent messages about an entity that is no longer as they say."""
    _end(tx, tx.conn.execute(_WITHDRAW, {"at_entity": entity, "at_turn": command.turn, "at_now": tx.now}))


def promise(tx: Tx, command: Commit, new: NewIntent) -> str:
    """The message's row; the id is an earlier one where the text after a call was promised before."""
    values = _row(tx, command, new)
    if new.purpose is Purpose.AFTER_CALL and new.call is not None:
        kept = {key: value for key, value in values.items() if key not in ("id", "created_at")}
        replaced = tx.conn.execute(_AFTER_CALL, {**kept, "at_call": new.call}).scalar_one_or_none()
        if replaced is not None:
            return str(replaced)
    tx.conn.execute(_PROMISE, values)
    return new.id


def _row(tx: Tx, command: Commit, new: NewIntent) -> dict[str, Any]:
    return {
        "id": new.id,
        "idem": f"{command.turn}|{new.purpose}|{new.channel}|{new.recipient}",
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


def _end(tx: Tx, gone: sa.CursorResult[Any]) -> None:
    """Turns whose answer was taken back end as superseded; those that owe nothing any more are settled."""
    rows = gone.all()
    for name in sorted({row.turn for row in rows if row.customer_facing and row.purpose in ANSWERS}):
        tx.conn.execute(_SUPERSEDED, {"at_turn": name})
    for name in sorted({row.turn for row in rows}):
        settle(tx, name)
