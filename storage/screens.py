"""Reads for people and for checks: what stands in the database, by the address of a customer. They write nothing and lock nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa

from pipeline.ports import Tx
from storage.tables import conversation, entity, intent


def tours_of(tx: Tx, address: str, *, live: bool = True) -> list[Mapping[str, Any]]:
    """Tours of the conversations with one address, oldest first: id, state, version, starts_at, superseded_by."""
    columns = (entity.c.id, entity.c.state, entity.c.version, entity.c.starts_at, entity.c.superseded_by)
    query = (
        sa.select(*columns)
        .join(conversation, entity.c.conversation == conversation.c.id)
        .where(conversation.c.address == address, entity.c.kind == "tour")
        .order_by(entity.c.created_at)
    )
    rows = tx.conn.execute(query.where(entity.c.live) if live else query).mappings()
    return [dict(row) for row in rows]


def intents_to(tx: Tx, address: str) -> list[Mapping[str, Any]]:
    """Everything promised to one address, oldest first: id, purpose, state, digest."""
    columns = (intent.c.id, intent.c.purpose, intent.c.state, intent.c.digest)
    query = sa.select(*columns).where(intent.c.recipient == address).order_by(intent.c.created_at)
    return [dict(row) for row in tx.conn.execute(query).mappings()]
