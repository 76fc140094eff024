"""What a decision is made on: frozen rows, read together in one transaction (CK-1).

`decide` sees this and nothing else of the database. Instants are aware UTC; ids are strings.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class InboundRow:
    id: str
    text: str
    received_at: datetime
    form: Mapping[str, Any] | None
    lineage: str
    automatic: bool
    locale: str | None
    subject: str | None
    message_id: str | None
    low_confidence: bool


@dataclass(frozen=True, slots=True)
class OfferRow:
    id: str
    starts_at: datetime
    expires_at: datetime
    token_digest: str


@dataclass(frozen=True, slots=True)
class ProposalRow:
    """An open proposal without an entity: it waits for a restatement (PR-2)."""

    id: str
    action: str
    starts_at: datetime | None
    lineage: str
    readings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class EntityRow:
    id: str
    kind: str
    state: str
    version: int
    starts_at: datetime | None
    ends_at: datetime | None
    body: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class UnsentRow:
    """An answer of an earlier turn that no provider has yet: its facts ride in the next plan (TX-4)."""

    intent: str
    turn: str
    plan: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All that `decide` may know, read in one transaction. Instants are UTC."""

    turn: str
    channel: str
    property: str
    state: str
    call: str | None
    inbound: tuple[InboundRow, ...]
    conversation: str
    conversation_epoch: int
    owner: Literal["clara", "human"]
    locale: str | None
    address: str
    our_address: str
    person: str | None
    person_epoch: int | None
    offers: tuple[OfferRow, ...]
    proposals: tuple[ProposalRow, ...]
    tours: tuple[EntityRow, ...]  # live ones, of the person or the conversation (CK-4)
    head_version: int  # highest version along the chain, any state; 0 for none
    matter: str
    rounds: int
    unsent: tuple[UnsentRow, ...]
    history: tuple[tuple[Literal["customer", "clara"], str], ...]
    first_message: bool
    released: tuple[str, ...]  # strings that left to this person in the last 24 h (IN-3)
    taken: Mapping[str, int]  # seats held by slot key, from now on
    held_slots: frozenset[str]  # slot keys that this person's live tours hold
    suppressed: bool
    switches: frozenset[str]  # what is switched off: "channel:sms", "property:ID", "class:NAME" (CK-5)
    secrets: tuple[tuple[str, str], ...]  # (kind, value) of every property, for the gate only: never into a prompt (OG-3)
    modes: Mapping[str, str]  # claim class -> observe | enforce
    now: datetime
