"""What operators and nodes write: properties with their codes, switches, ownership, heartbeats, webhooks seen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import sqlalchemy as sa

from pipeline.ports import Tx
from storage.tables import access_code, conversation, heartbeat, property_, switch, webhook_seen
from storage.types import upsert
from storage.vault import Vault


def register_property(tx: Tx, vault: Vault, property_id: str, digest: str, secrets: Sequence[tuple[str, str]]) -> None:
    """The property as its file has it now; its codes are replaced whole, sealed."""
    values = {"digest": digest, "registered_at": tx.now}
    statement = upsert(tx.conn, property_).values(id=property_id, **values)
    tx.conn.execute(statement.on_conflict_do_update(index_elements=["id"], set_=values))
    tx.conn.execute(sa.delete(access_code).where(access_code.c.property == property_id))
    if secrets:
        tx.conn.execute(
            sa.insert(access_code),
            [
                {"property": property_id, "number": number, "kind": kind, "value": vault.seal(value)}
                for number, (kind, value) in enumerate(secrets)
            ],
        )


def set_switch(tx: Tx, name: str, off: bool, by: str) -> None:
    """`name` is "channel:sms", "property:ID" or "class:NAME" (CK-5)."""
    values = {"off": off, "changed_at": tx.now, "changed_by": by}
    statement = upsert(tx.conn, switch).values(name=name, **values)
    tx.conn.execute(statement.on_conflict_do_update(index_elements=["name"], set_=values))


def set_owner(tx: Tx, conversation_id: str, owner: Literal["clara", "human"], by: str) -> None:
    """A person takes over or hands back (LW-4); a decision in flight comes too late."""
    tx.conn.execute(
        sa.update(conversation)
        .where(conversation.c.id == conversation_id)
        .values(owner=owner, owner_since=tx.now, owner_by=by, epoch=conversation.c.epoch + 1)
    )


def beat(tx: Tx, node: str, role: str) -> None:
    statement = upsert(tx.conn, heartbeat).values(node=node, role=role, at=tx.now)
    tx.conn.execute(statement.on_conflict_do_update(index_elements=["node", "role"], set_={"at": tx.now}))


def first_seen(tx: Tx, provider: str, key: str) -> bool:
    """True the first time; every later one is a replay (OP-3)."""
    statement = upsert(tx.conn, webhook_seen).values(provider=provider, key=key, at=tx.now)
    return tx.conn.execute(statement.on_conflict_do_nothing().returning(webhook_seen.c.key)).first() is not None
