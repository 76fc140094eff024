"""Calls: their start, their single-use media token, what was said and heard, their end.

Invariants: a replayed webhook starts or ends nothing twice; a token opens one media stream, once, in time; `heard` never shrinks and is never more
than was said (IN-11).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import sqlalchemy as sa

from pipeline.ports import Tx
from pipeline.store import NewCall, SpokenRow
from storage.tables import call, utterance
from storage.types import Inserting, Upsert, once


def _record_statement(insert: Inserting) -> sa.Executable:
    new = insert(utterance)
    return new.on_conflict_do_update(
        index_elements=["id"],
        set_={name: new.excluded[name] for name in ("heard", "heard_whole", "facts")},
        where=sa.func.length(new.excluded.heard) >= sa.func.length(utterance.c.heard),
    )


_START = once(call, call.c.id, "provider_id")
_RECORD = Upsert(_record_statement)


def start_call(tx: Tx, new: NewCall) -> bool:
    """False where the call exists."""
    return _START.run(tx.conn, asdict(new)).first() is not None


def use_media_token(tx: Tx, provider_id: str, token_digest: str) -> str | None:
    """The call's id, once."""
    return tx.conn.execute(
        sa.update(call)
        .where(
            call.c.provider_id == provider_id,
            call.c.token_digest == token_digest,
            call.c.token_used_at.is_(None),
            call.c.token_expires_at > tx.now,
            call.c.ended_at.is_(None),
        )
        .values(token_used_at=tx.now)
        .returning(call.c.id)
    ).scalar_one_or_none()


def call_by_provider_id(tx: Tx, provider_id: str) -> Mapping[str, Any] | None:
    """The call's row without its token."""
    columns = [column for column in call.c if not column.name.startswith("token")]
    row = tx.conn.execute(sa.select(*columns).where(call.c.provider_id == provider_id)).mappings().one_or_none()
    return None if row is None else dict(row)


def record_utterances(tx: Tx, spoken: Sequence[SpokenRow]) -> None:
    """Inserts utterances; of one that exists only what was heard grows."""
    for row in spoken:
        _RECORD.run(tx.conn, asdict(row))


def end_call(tx: Tx, provider_id: str, outcome: str) -> str | None:
    """The call's id at its first end, else None."""
    return tx.conn.execute(
        sa.update(call)
        .where(call.c.provider_id == provider_id, call.c.ended_at.is_(None))
        .values(ended_at=tx.now, outcome=outcome)
        .returning(call.c.id)
    ).scalar_one_or_none()
