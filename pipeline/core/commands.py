"""What a decision asks of the chokepoint, and what the chokepoint answers (CK-1).

Everything here was computed before the transaction began: ids, keys, instants, plans. `commit` writes it or refuses it; it decides nothing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pipeline.core.types import Ending, Health, Purpose


@dataclass(frozen=True, slots=True)
class Seen:
    """The epochs and inbound rows that the decision was made on. Where they moved, the commit is `TooLate` or `Superseded`."""

    conversation_epoch: int
    person_epoch: int | None
    inbound: tuple[str, ...]


def idempotency_key(subject: str, action: str, slot: str | None, base_version: int) -> str:
    """CK-3: a pure function of (person or conversation, action type, target slot, version of the entity that it replaces, 0 for none)."""
    return hashlib.sha256(f"{subject}\x1f{action}\x1f{slot or ''}\x1f{base_version}".encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class NewProposal:
    """A wished change, durable, with its lineage and evidence (PR-1). `readings` are the candidates of an override (local wall times).

    `status` is `open` (waits for an answer, e.g. an override that must be restated) or `committed` (goes with an `EntityChange`).
    """

    id: str
    action: str
    lineage: str
    spans: tuple[str, ...]
    fields: Mapping[str, Any]
    status: str
    slot: str | None = None
    starts_at: datetime | None = None
    base_version: int = 0
    readings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class EntityChange:
    """One transition of one domain entity, with the proposal that asked for it.

    A new entity has `creates=True`; `replaces` is the live entity that it supersedes (reschedule). A change of an existing one names it in
    `entity` and the version it was decided on in `base_version`. The version written is always `base_version + 1`: versions count along a
    person's whole chain of one kind, so that book A, cancel, book A again has three keys (CK-3, CK-4).
    `slot` is held when the new state is live and released when it is not; `capacity` is the number of its seats (CK-6).
    """

    domain: str
    kind: str
    action: str
    entity: str
    creates: bool
    base_version: int
    state: str
    live: bool
    body: Mapping[str, Any]
    proposal: NewProposal
    replaces: str | None = None
    starts_at: datetime | None = None
    ends_at: datetime | None = None
    slot: str | None = None
    capacity: int = 1
    expires_at: datetime | None = None  # PROPOSED tours expire by timer (PR-7)
    writer: str = "clara.turn"


@dataclass(frozen=True, slots=True)
class NewOffer:
    """A slot that Clara offers: accepted only with its token unexpired (PR-3). `token_digest` is SHA-256 of the signed token."""

    id: str
    starts_at: datetime
    expires_at: datetime
    token_digest: str


@dataclass(frozen=True, slots=True)
class NewIntent:
    """A message that is promised with the change (the outbox row). Its payload comes later (CO-3), from `plan` alone.

    `plan` is JSON: outcome word, locale, facts with their record, version and values, allow-set (see `pipeline/compose.py`).
    `held` intents wait (the text after a call waits for the call's end). `customer_facing` is false for notes to the property's people.
    """

    id: str
    purpose: Purpose
    channel: str
    sender: str
    recipient: str
    locale: str
    plan: Mapping[str, Any]
    recipient_tz: str = ""  # IANA, where the recipient's own is known; else the property's counts (SR-2)
    customer_facing: bool = True
    held: bool = False
    call: str | None = None
    fallback_at: datetime | None = None
    expires_at: datetime | None = None
    reply_to: str | None = None  # Message-ID that a mail answers
    references: tuple[str, ...] = ()
    subject: str | None = None


@dataclass(frozen=True, slots=True)
class ReviewSignal:
    """Why a person should look (RV-1). `signature` names the root cause; equal signatures of a property fold into one item (RV-2)."""

    signature: str
    summary: str
    draft: str | None = None
    findings: tuple[Mapping[str, Any], ...] = ()
    time_sensitive: bool = False


@dataclass(frozen=True, slots=True)
class TraceEvent:
    """One structured stage of a turn (TR-1). `personal` marks bodies with personal data (OP-5)."""

    stage: str
    kind: str
    body: Mapping[str, Any]
    personal: bool = False


@dataclass(frozen=True, slots=True)
class Commit:
    """All that one turn changes, in one transaction: entities, offers, proposals, intents, effects, matter, ending, trace.

    `supersede_unsent` takes earlier unsent answers of the conversation out of the outbox: their facts ride in this turn's plan (TX-4).
    `rounds` is the matter's count of questions after this turn; None closes the matter (UN-7).
    """

    id: str
    turn: str
    property: str
    channel: str
    conversation: str
    person: str | None
    seen: Seen
    ending: Ending
    health: Health
    changes: tuple[EntityChange, ...] = ()
    offers: tuple[NewOffer, ...] = ()
    used_offers: tuple[str, ...] = ()
    proposals: tuple[NewProposal, ...] = ()  # open ones, without a change
    closed_proposals: tuple[str, ...] = ()
    intents: tuple[NewIntent, ...] = ()
    supersede_unsent: bool = True
    matter: str | None = None
    rounds: int | None = 0
    review: ReviewSignal | None = None
    suppress: tuple[str, str] | None = None  # (channel, address) to suppress (SR-7)
    unsuppress: tuple[str, str] | None = None
    hand_to_human: bool = False
    locale: str | None = None
    trace: tuple[TraceEvent, ...] = ()


@dataclass(frozen=True, slots=True)
class EntityRef:
    """An entity as it stands after a commit."""

    id: str
    kind: str
    version: int
    state: str


@dataclass(frozen=True, slots=True)
class Committed:
    entities: tuple[EntityRef, ...]
    intents: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Duplicate:
    """The same key was committed before; nothing was written."""

    proposal: str


@dataclass(frozen=True, slots=True)
class Superseded:
    """Another trigger of the same person won; the proposal is kept as superseded and the turn decides anew (CK-2)."""

    by: str | None


@dataclass(frozen=True, slots=True)
class Refused:
    """`slot_taken`, `switched_off`, `illegal_transition`, `offer_expired`, `stale_version`, `human_owns`; nothing was written."""

    reason: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class TooLate:
    """A text joined the turn, or the turn has its commit already; decide again on a fresh snapshot."""

    why: str


CommitOutcome = Committed | Duplicate | Superseded | Refused | TooLate
