"""What operators and nodes write: properties with their codes, switches, ownership, heartbeats, webhooks seen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import sqlalchemy as sa

from pipeline.ports import Tx
from storage.tables import access_code, conversation, heartbeat, property_, switch, webhook_seen
from storage.types import latest, once
from storage.vault import Vault

_PROPERTY = latest(property_, "id")
_SWITCH = latest(switch, "name")
_BEAT = latest(heartbeat, "node", "role")
_SEEN = once(webhook_seen, webhook_seen.c.key)


def register_property(tx: Tx, vault: Vault, property_id: str, digest: str, secrets: Sequence[tuple[str, str]]) -> None:
    """The property as its file has it now; its codes are replaced whole, sealed."""
    _PROPERTY.run(tx.conn, {"id": property_id, "digest": digest, "registered_at": tx.now})
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
    _SWITCH.run(tx.conn, {"name": name, "off": off, "changed_at": tx.now, "changed_by": by})


def set_owner(tx: Tx, conversation_id: str, owner: Literal["clara", "human"], by: str) -> None:
    """A person takes over or hands back (LW-4); a decision in flight comes too late."""
    tx.conn.execute(
        sa.update(conversation)
        .where(conversation.c.id == conversation_id)
        .values(owner=owner, owner_since=tx.now, owner_by=by, epoch=conversation.c.epoch + 1)
    )


def beat(tx: Tx, node: str, role: str) -> None:
    _BEAT.run(tx.conn, {"node": node, "role": role, "at": tx.now})


def first_seen(tx: Tx, provider: str, key: str) -> bool:
    """True the first time; every later one is a replay (OP-3)."""
    return _SEEN.run(tx.conn, {"provider": provider, "key": key, "at": tx.now}).first() is not None
