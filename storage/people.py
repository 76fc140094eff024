"""People: who is behind an address, what shows that they may be answered, and whom nothing may be sent to.

Invariants: a person is one exact address at one property, and nobody is merged (CK-7): a phone is one identity for calls and texts, a mail address is
another person; the first message of an address is kept as evidence; the first reason of a suppression stays (SR-7).
"""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy import bindparam

from pipeline.ports import Tx
from pipeline.store import Arrival
from storage.tables import consent, identity, person, suppression
from storage.types import once

_KNOWN = sa.select(identity.c.person).where(
    identity.c.property == bindparam("at_property"),
    identity.c.kind == bindparam("at_kind"),
    identity.c.address == bindparam("at_address"),
)
_NEW_PERSON = sa.insert(person)
_NOBODY = sa.delete(person).where(person.c.id == bindparam("at_person"))
_IDENTIFY = once(identity, identity.c.person)
_CONSENT = once(consent, consent.c.at)
_SUPPRESS = once(suppression, suppression.c.at)
_UNSUPPRESS = sa.delete(suppression).where(
    suppression.c.channel == bindparam("at_channel"), suppression.c.address == bindparam("at_address")
)


def resolve_person(tx: Tx, arrival: Arrival) -> str | None:
    """The person behind the arrival's address, a new one where nobody is; None for withheld callers, who have no address to trust."""
    if arrival.withheld:
        return None
    kind = "email" if arrival.channel == "email" else "phone"
    where = {"at_property": arrival.property, "at_kind": kind, "at_address": arrival.address}
    known = tx.conn.execute(_KNOWN, where).scalar_one_or_none()
    if known is not None:
        return str(known)
    tx.conn.execute(
        _NEW_PERSON,
        {
            "id": arrival.person,
            "property": arrival.property,
            "epoch": 0,
            "name": arrival.name,
            "created_at": tx.now,
        },
    )
    mine = {
        "property": arrival.property,
        "kind": kind,
        "address": arrival.address,
        "person": arrival.person,
        "created_at": tx.now,
    }
    if _IDENTIFY.run(tx.conn, mine).first() is not None:
        return arrival.person
    tx.conn.execute(_NOBODY, {"at_person": arrival.person})  # another node was first
    return str(tx.conn.execute(_KNOWN, where).scalar_one())


def keep_consent(tx: Tx, arrival: Arrival) -> None:
    """The evidence that an address may be answered on its channel: text, time, source."""
    if arrival.withheld or arrival.automatic:
        return
    evidence = {
        "property": arrival.property,
        "channel": arrival.channel,
        "address": arrival.address,
        "purpose": "answer",
        "inbound": arrival.id,
        "text": arrival.text[:1000],
        "source": arrival.provider,
        "at": arrival.received_at,
    }
    _CONSENT.run(tx.conn, evidence)


def suppress(tx: Tx, channel: str, address: str, reason: str) -> None:
    """Nothing automatic goes to the address on the channel any more."""
    _SUPPRESS.run(tx.conn, {"channel": channel, "address": address, "reason": reason, "at": tx.now})


def unsuppress(tx: Tx, channel: str, address: str) -> None:
    tx.conn.execute(_UNSUPPRESS, {"at_channel": channel, "at_address": address})
