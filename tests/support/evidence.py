"""What the database says about a customer, and whether it agrees with what the stand-ins received (IN-6, IN-7)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from pipeline.ports import Tx
from storage.tables import attempt, conversation, intent, metadata, review_case, review_item, turn


@dataclass(frozen=True, slots=True)
class Promise:
    """One intent: its state and bytes, and the outcome of each attempt in order (None: nobody reported)."""

    id: str
    purpose: str
    channel: str
    recipient: str
    state: str
    payload: bytes | None
    outcomes: tuple[str | None, ...]


def promises(tx: Tx, address: str | None = None) -> list[Promise]:
    """Everything promised to an address (None: to anybody), oldest first."""
    columns = (intent.c.id, intent.c.purpose, intent.c.channel, intent.c.recipient, intent.c.state, intent.c.payload)
    query = sa.select(*columns).order_by(intent.c.created_at, intent.c.id)
    rows = tx.conn.execute(query if address is None else query.where(intent.c.recipient == address)).all()
    tries: dict[str, list[str | None]] = {row.id: [] for row in rows}
    for one in tx.conn.execute(sa.select(attempt.c.intent, attempt.c.outcome).order_by(attempt.c.number)):
        if one.intent in tries:
            tries[one.intent].append(one.outcome)
    return [Promise(*row, outcomes=tuple(tries[row.id])) for row in rows]


def cases(tx: Tx, address: str) -> list[Mapping[str, Any]]:
    """Review cases of an address's conversations, oldest first: signature, intent, draft, findings, state."""
    query = (
        sa.select(
            review_item.c.signature,
            review_case.c.intent,
            review_case.c.draft,
            review_case.c.findings,
            review_case.c.state,
        )
        .join(review_item, review_item.c.id == review_case.c.item)
        .join(conversation, conversation.c.id == review_case.c.conversation)
        .where(conversation.c.address == address)
        .order_by(review_case.c.opened_at, review_case.c.id)
    )
    return [dict(row) for row in tx.conn.execute(query).mappings()]


def turns(tx: Tx, address: str) -> list[Mapping[str, Any]]:
    """Turns of an address, oldest first: state, ending, health, whether somebody holds it."""
    query = sa.select(
        turn.c.state, turn.c.ending, turn.c.health, (turn.c.lease_until > tx.now).label("leased")
    ).where(turn.c.address == address).order_by(turn.c.opened_at, turn.c.id)  # fmt: skip
    return [dict(row) for row in tx.conn.execute(query).mappings()]


def unaccounted(
    known: Iterable[Promise], texts: Iterable[tuple[str, str]], mails: Iterable[tuple[str, bytes]]
) -> list[str]:
    """Messages that providers took over without an intent of their own, bytes compared; empty where IN-6 and IN-7 hold.

    `texts` are (recipient, body), `mails` (recipient, content) as the stand-ins stored them.
    """
    taken = [*((to, body.encode()) for to, body in texts), *mails]
    left = Counter(taken)
    left.subtract((one.recipient, one.payload) for one in known if one.payload is not None)
    return [f"{count} too many to {to}: {data[:80]!r}" for (to, data), count in left.items() if count > 0]


def row_counts(tx: Tx) -> dict[str, int]:
    """How many rows each table has: a webhook that has no effect changes none of them."""
    tables = [table for table in metadata.sorted_tables if table.name != "heartbeat"]
    return {table.name: int(tx.conn.execute(sa.select(sa.func.count()).select_from(table)).scalar_one()) for table in tables}
