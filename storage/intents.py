"""From a promise to bytes: compose, park, fall back (CO-3, OG-7).

Invariants: the payload is on the row before anything may leave; it is replaced only where no attempt exists. A turn settles in the transaction in which
its last owed payload is written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import bindparam

from pipeline.core.commands import ReviewSignal, TraceEvent
from pipeline.core.states import IntentState, TurnState
from pipeline.core.types import Ending, Health
from pipeline.ports import Tx
from pipeline.store import Payload
from storage.review import open_case
from storage.tables import gate_verdict, intent, turn
from storage.trace import note, trace
from storage.types import one_of

_THIS = sa.and_(intent.c.id == bindparam("at_intent"), ~intent.c.held)
_COMPOSE = sa.update(intent).where(_THIS, intent.c.state == IntentState.PROMISED).returning(intent.c.turn)
_FALL_BACK = (
    sa.update(intent)
    .where(
        _THIS,
        one_of(intent.c.state, [IntentState.PROMISED, IntentState.COMPOSED, IntentState.LEASED]),
        intent.c.attempts == 0,
        sa.or_(intent.c.lease_until.is_(None), intent.c.lease_until <= bindparam("at_now")),
    )
    .values(fence=intent.c.fence + 1)
    .returning(intent.c.turn)
)
_VERDICT = sa.insert(gate_verdict)
_OWED = (
    sa.select(intent.c.id)
    .where(intent.c.turn == turn.c.id, intent.c.state == IntentState.PROMISED, ~intent.c.held)
    .exists()
)
_SETTLE = (
    sa.update(turn)
    .where(
        turn.c.id == bindparam("at_turn"),
        one_of(turn.c.state, [TurnState.COMMITTED]),
        ~_OWED,
        sa.or_(turn.c.channel != "voice", turn.c.spoken_at.is_not(None)),
    )
    .values(state=TurnState.SETTLED, settled_at=bindparam("at_now"))
)


def compose(
    tx: Tx, intent_id: str, payload: Payload, segments: Sequence[Mapping[str, Any]], verdict: Mapping[str, Any]
) -> bool:
    """promised to composed; False where the intent is not promised any more (superseded, fallen back) or waits for its call's end."""
    turn_id = _write(tx, _COMPOSE, intent_id, _bytes(tx, payload) | {"segments": list(segments)})
    if turn_id is None:
        return False
    keep_verdict(tx, turn_id, intent_id, verdict)
    settle(tx, turn_id)
    note(tx, turn_id, _gated(intent_id, verdict, payload))
    return True


def park(
    tx: Tx, intent_id: str, draft: str, verdict: Mapping[str, Any], signal: ReviewSignal, holding: Payload | None
) -> bool:
    """The draft goes into a case; the intent carries the holding text, or waits in `parked` for a person."""
    values = {"state": IntentState.PARKED} if holding is None else _bytes(tx, holding)
    turn_id = _write(tx, _COMPOSE, intent_id, values | {"reason": signal.signature})
    if turn_id is None:
        return False
    keep_verdict(tx, turn_id, intent_id, verdict)
    open_case(tx, turn_id, replace(signal, draft=draft), intent_id)
    health = Health.PARKED if holding is None else Health.DEGRADED
    facing = sa.select(intent.c.id).where(intent.c.id == intent_id, intent.c.customer_facing).exists()
    tx.conn.execute(sa.update(turn).where(turn.c.id == turn_id).values(health=health))
    tx.conn.execute(sa.update(turn).where(turn.c.id == turn_id, facing).values(ending=Ending.HELD))
    settle(tx, turn_id)
    note(tx, turn_id, _gated(intent_id, verdict, holding))
    return True


def fall_back(tx: Tx, intent_id: str, payload: Payload, verdict: Mapping[str, Any]) -> bool:
    """The minimal text takes the payload's place on the same intent, only where no attempt exists (CO-3)."""
    values = _bytes(tx, payload) | {"fell_back": True, "fallback_at": None, "at_now": tx.now}
    turn_id = _write(tx, _FALL_BACK, intent_id, values)
    if turn_id is None:
        return False
    keep_verdict(tx, turn_id, intent_id, verdict)
    tx.conn.execute(
        sa.update(turn).where(turn.c.id == turn_id, turn.c.health == Health.HEALTHY).values(health=Health.DEGRADED)
    )
    settle(tx, turn_id)
    note(tx, turn_id, _gated(intent_id, {**verdict, "source": "fallback"}, payload))
    return True


def spoken_answer(
    tx: Tx, turn_id: str, verdict: Mapping[str, Any], events: Sequence[TraceEvent], refusal: ReviewSignal | None = None
) -> None:
    """Settles a call's turn whose answer was handed to the speaker; what the gate refused before it goes into a case, as on every channel."""
    if refusal is not None:
        open_case(tx, turn_id, refusal)
        tx.conn.execute(sa.update(turn).where(turn.c.id == turn_id).values(health=Health.DEGRADED, ending=Ending.HELD))
    conversation = tx.conn.execute(
        sa.update(turn)
        .where(turn.c.id == turn_id)
        .values(spoken_at=sa.func.coalesce(turn.c.spoken_at, tx.now))
        .returning(turn.c.conversation)
    ).scalar_one()
    keep_verdict(tx, turn_id, None, verdict)
    settle(tx, turn_id)
    trace(tx, conversation, turn_id, events)


def release_held(tx: Tx, call: str, fallback_at: datetime) -> list[str]:
    """At a call's end the texts that waited for it are owed; the turns that owe them, oldest first."""
    turns = sorted(
        set(
            tx.conn.execute(
                sa.update(intent)
                .where(intent.c.call == call, intent.c.held, intent.c.state == IntentState.PROMISED)
                .values(held=False, fallback_at=fallback_at)
                .returning(intent.c.turn)
            ).scalars()
        )
    )
    if turns:
        tx.conn.execute(
            sa.update(turn)
            .where(turn.c.id.in_(turns))
            .values(state=TurnState.COMMITTED, due_at=tx.now, spoken_at=sa.func.coalesce(turn.c.spoken_at, tx.now))
        )
    return turns


def _gated(intent_id: str, verdict: Mapping[str, Any], payload: Payload | None) -> list[TraceEvent]:
    """The gate's verdict and what was stored, as stages (TR-1)."""
    findings = [finding["claim_class"] for finding in verdict.get("findings", ())]
    gate = TraceEvent(
        "gate", "passed" if verdict.get("passed") else "refused", {"intent": intent_id, "findings": findings}
    )
    if payload is None:
        return [gate]
    stored = {"intent": intent_id, "source": verdict.get("source"), "digest": payload.digest[:12], "text": payload.text}
    return [gate, TraceEvent("compose", "stored", stored, personal=True)]


def keep_verdict(tx: Tx, turn_id: str, intent_id: str | None, verdict: Mapping[str, Any]) -> None:
    tx.conn.execute(_VERDICT, {"turn": turn_id, "intent": intent_id, "verdict": verdict, "at": tx.now})


def _bytes(tx: Tx, payload: Payload) -> dict[str, Any]:
    return {
        "state": IntentState.COMPOSED,
        "payload": payload.data,
        "digest": payload.digest,
        "text": payload.text,
        "message_id": payload.message_id,
        "segments": None,
        "composed_at": tx.now,
    }


def _write(tx: Tx, statement: sa.Executable, intent_id: str, values: Mapping[str, Any]) -> str | None:
    """The turn of the intent that was written; None where it may not be."""
    return tx.conn.execute(statement, {**values, "at_intent": intent_id}).scalar_one_or_none()


def settle(tx: Tx, turn_id: str) -> None:
    """A turn from committed to settled, once no payload is owed and, on a call, the answer was spoken."""
    tx.conn.execute(_SETTLE, {"at_turn": turn_id, "at_now": tx.now})
