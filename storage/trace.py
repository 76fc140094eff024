"""Traces: what happened, in an order that a reader can follow without missing anything.

Two counters are drawn inside the writing transaction: `seq` per topic, and one global `position`. Both rows stay locked until the commit, so that a
position is visible only when every smaller one is: a cursor "after N" skips nothing and there are no holes. The clock's row is therefore drawn
last, right before the transaction ends.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy import bindparam

from pipeline.core.commands import TraceEvent
from pipeline.ports import Tx
from storage.tables import conversation, trace_clock, trace_event, trace_topic
from storage.tables import turn as turn_table
from storage.types import Inserting, Upsert

_NUMBER = (
    sa.update(conversation)
    .where(conversation.c.id == bindparam("at_topic"))
    .values(trace_seq=conversation.c.trace_seq + bindparam("at_count"))
    .returning(conversation.c.epoch, conversation.c.trace_seq)
)
_CONVERSATION = sa.select(turn_table.c.conversation).where(turn_table.c.id == bindparam("at_turn"))
_CLOCK = (
    sa.update(trace_clock)
    .values(position=trace_clock.c.position + bindparam("at_count"))
    .returning(trace_clock.c.position)
)
_APPEND = sa.insert(trace_event)
_TAIL = (
    sa.select(trace_event)
    .where(trace_event.c.position > bindparam("at_after"))
    .order_by(trace_event.c.position)
    .limit(bindparam("at_limit"))
)


def _draw_statement(insert: Inserting) -> sa.Executable:
    new = insert(trace_topic)
    further = {"seq": trace_topic.c.seq + new.excluded.seq}
    return new.on_conflict_do_update(index_elements=["topic"], set_=further).returning(trace_topic.c.seq)


_DRAW = Upsert(_draw_statement)


def trace(tx: Tx, topic: str, turn: str | None, events: Sequence[TraceEvent]) -> None:
    """Appends `events` to `topic`: a conversation's id, or any other word."""
    if not events:
        return
    moved = tx.conn.execute(_NUMBER, {"at_topic": topic, "at_count": len(events)}).one_or_none()
    epoch, last = moved if moved is not None else (0, _draw(tx, topic, len(events)))
    append(tx, topic, turn, events, epoch, last)


def note(tx: Tx, turn_id: str, events: Sequence[TraceEvent]) -> None:
    """Appends what happened after a commit (compose, gate, rail, delivery) to `CONVERSATION.rail`.

    A topic of its own: these transactions hold an intent, and the conversation's row is locked before intents or not at all (CK-2).
    """
    topic = f"{tx.conn.execute(_CONVERSATION, {'at_turn': turn_id}).scalar_one()}.rail"
    append(tx, topic, turn_id, events, 0, _draw(tx, topic, len(events)))


def append(tx: Tx, topic: str, turn: str | None, events: Sequence[TraceEvent], epoch: int, last: int) -> None:
    """Writes `events` under the sequence numbers that end with `last`, which the caller has drawn."""
    if not events:
        return
    end = tx.conn.execute(_CLOCK, {"at_count": len(events)}).scalar_one()
    back = len(events) - 1
    rows = [
        {
            "topic": topic,
            "epoch": epoch,
            "seq": last - back + index,
            "position": end - back + index,
            "at": tx.now,
            "turn": turn,
            "stage": event.stage,
            "kind": event.kind,
            "body": event.body,
            "personal": event.personal,
        }
        for index, event in enumerate(events)
    ]
    tx.conn.execute(_APPEND, rows)


def tail(tx: Tx, after: int, limit: int) -> list[Mapping[str, Any]]:
    """Trace events after a global position, oldest first."""
    return [dict(row) for row in tx.conn.execute(_TAIL, {"at_after": after, "at_limit": limit}).mappings()]


def _draw(tx: Tx, topic: str, count: int) -> int:
    return int(_DRAW.run(tx.conn, {"topic": topic, "seq": count}).scalar_one())
