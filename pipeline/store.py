"""The durable side of the pipeline, as a protocol of plain functions; `storage` stands behind it.

Every function takes an open `Tx` first, runs to its end inside it, and neither awaits nor calls out. Rows are frozen values. Whoever changes what
a customer can notice goes through `commit`; every other function here moves work along (inbox, compose, relay, calls, traces).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, Protocol

from pipeline.core.commands import Commit, CommitOutcome, ReviewSignal, Seen, TraceEvent
from pipeline.core.snapshot import EntityRow as EntityRow
from pipeline.core.snapshot import InboundRow as InboundRow
from pipeline.core.snapshot import OfferRow as OfferRow
from pipeline.core.snapshot import ProposalRow as ProposalRow
from pipeline.core.snapshot import Snapshot as Snapshot
from pipeline.core.snapshot import UnsentRow as UnsentRow
from pipeline.core.types import Ending, Health
from pipeline.ports import Attempt, FindOutcome, SendOutcome, Tx

# --- inbox -------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Arrival:
    """One inbound message or utterance at the door. `provider` + `provider_id` make it unique (OP-3).

    `address` is the customer's (E.164 or mail address, lower case), `our_address` the one written to. `text` is the eligible new text; `raw` is kept
    unless the property stores facts only. `thread` are Message-IDs that it answers. `due_at` is when its turn may be decided (a burst gathers).
    `withheld` callers have no address to trust: their identity is the call.
    """

    id: str
    turn: str
    conversation: str
    person: str
    matter: str
    provider: str
    provider_id: str
    channel: str
    property: str
    address: str
    our_address: str
    text: str
    received_at: datetime
    due_at: datetime
    raw: bytes | None = None
    subject: str | None = None
    message_id: str | None = None
    thread: tuple[str, ...] = ()
    locale: str | None = None
    form: Mapping[str, Any] | None = None
    lineage: str = "prospect_stated"
    name: str | None = None
    automatic: bool = False
    call: str | None = None
    low_confidence: bool = False
    withheld: bool = False


@dataclass(frozen=True, slots=True)
class Arrived:
    """`duplicate` arrivals changed nothing; otherwise the turn that the row joined (a running burst, or a new one)."""

    turn: str
    conversation: str
    person: str | None
    duplicate: bool
    joined: bool


# --- the snapshot that a decision is made on ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TurnLease:
    """The right to work on one turn until `until`; `fence` grows with each lease."""

    turn: str
    state: str  # open: decide; committed: answer
    channel: str
    fence: int
    until: datetime


# --- what answer() needs ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PromisedRow:
    """A promised intent with what its payload is made from."""

    id: str
    turn: str
    purpose: str
    channel: str
    sender: str
    recipient: str
    locale: str
    plan: Mapping[str, Any]
    property: str
    conversation: str
    person: str | None
    call: str | None
    text: str  # the trigger's new text
    history: tuple[tuple[Literal["customer", "clara"], str], ...]
    first_message: bool
    released: tuple[str, ...]
    secrets: tuple[tuple[str, str], ...]
    modes: Mapping[str, str]
    tour_state: str | None  # of the live tour, as it stands now
    subject: str | None
    reply_to: str | None
    references: tuple[str, ...]
    created_at: datetime
    fallback_at: datetime | None
    state: str


@dataclass(frozen=True, slots=True)
class Payload:
    """What will leave, byte for byte. `text` is the gated string inside it; `digest` is SHA-256 of `data` in hex."""

    data: bytes
    digest: str
    text: str
    message_id: str | None = None


# --- the relay -------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class IntentLease:
    """One composed intent that this node may send until `until`."""

    intent: str
    fence: int
    channel: str
    sender: str
    recipient: str
    recipient_tz: str
    purpose: str
    customer_facing: bool
    property: str
    conversation: str
    payload: bytes
    digest: str
    composed_at: datetime
    created_at: datetime
    expires_at: datetime | None
    attempts: int
    owner: Literal["clara", "human"]
    suppressed: bool
    switches: frozenset[str]
    until: datetime


@dataclass(frozen=True, slots=True)
class Sending:
    """An attempt whose outcome is not known yet: `sending` with an expired lease, or `unknown` (SR-3)."""

    attempt: Attempt
    ref: str | None
    state: str
    asked: int


@dataclass(frozen=True, slots=True)
class Delivery:
    """One delivery event of a provider, from webhook or poll (SR-4). `reference` is our intent's, where the provider gave it back."""

    provider: str
    ref: str
    status: str
    error: str | None = None
    reference: str | None = None
    via: Literal["webhook", "poll"] = "webhook"


# --- calls ---------------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class NewCall:
    """A call at the door. `token_digest` is SHA-256 of its single-use media token (OP-3)."""

    id: str
    provider_id: str
    property: str
    address: str
    our_address: str
    withheld: bool
    token_digest: str
    token_expires_at: datetime
    started_at: datetime


@dataclass(frozen=True, slots=True)
class SpokenRow:
    """One utterance of either side. Clara's has what was gated (`text`) and what was heard of it (`heard`), to the mark (IN-11)."""

    id: str
    call: str
    turn: str | None
    speaker: Literal["customer", "clara"]
    text: str
    heard: str
    started_at: datetime
    facts: tuple[Mapping[str, Any], ...] = ()
    heard_whole: bool = False


class Store(Protocol):
    """Every function runs inside the transaction that it is given."""

    # inbox
    def accept(self, tx: Tx, arrival: Arrival) -> Arrived:
        """Writes the inbound row once; resolves conversation and person; joins an open turn of the conversation or opens one.

        A person is one exact address at one property, a phone being one for calls and texts. A call is a conversation of its own; a mail that answers a
        known Message-ID joins that conversation, with its own sender's person and turn; else the open one of (property, channel, address).

        Bumps the conversation's epoch, so that a decision in flight comes too late and restarts with both texts (TX-4).
        """
        ...

    def sent_texts(self, tx: Tx, property_id: str, address: str) -> list[str]:
        """Texts that we sent to an address, newest first, at most 50: where they stand in a mail they are history (UN-2)."""
        ...

    def lease_turns(self, tx: Tx, node: str, limit: int, seconds: float) -> list[TurnLease]:
        """Turns that are due: open ones past `due_at`, committed ones whose answer is owed; skip-locked, one per conversation."""
        ...

    def lease_turn(self, tx: Tx, turn: str, node: str, seconds: float) -> TurnLease | None:
        """The lease of one named turn (calls), or None where another holds it."""
        ...

    def release_turn(self, tx: Tx, lease: TurnLease, due_at: datetime | None) -> None: ...

    def snapshot(self, tx: Tx, turn: str) -> Snapshot: ...

    def settle_without_commit(
        self, tx: Tx, turn: str, ending: Ending, health: Health, trace: Sequence[TraceEvent], seen: Seen | None = None
    ) -> bool:
        """Endings that promise nothing: automatic mail, a human owns the thread, superseded, silent on purpose.

        False, and nothing written, where the turn is not open any more or a text has joined that `seen` does not know: decide again.
        """
        ...

    # the chokepoint
    def commit(self, tx: Tx, command: Commit) -> CommitOutcome:
        """The only function that writes entities, offers, proposals, effects and intents (CK-1, CK-8)."""
        ...

    def expire_due(self, tx: Tx, limit: int) -> list[str]:
        """Entities whose `expires_at` passed while PROPOSED; their ids. The caller commits the expiry of each."""
        ...

    def open_expiry(self, tx: Tx, entity: str, turn: str, matter: str) -> str | None:
        """The turn, without an inbound, in which the expiry of such an entity is decided; None where it is over. `turn` and `matter` are new ids."""
        ...

    # compose
    def promised(self, tx: Tx, turn: str) -> list[PromisedRow]: ...

    def compose(self, tx: Tx, intent: str, payload: Payload, segments: Sequence[Mapping[str, Any]], verdict: Mapping[str, Any]) -> bool:
        """promised → composed, with the bytes, the segments and the gate's verdict; settles the turn when nothing is owed any more."""
        ...

    def spoken_answer(
        self, tx: Tx, turn: str, verdict: Mapping[str, Any], trace: Sequence[TraceEvent], refusal: ReviewSignal | None = None
    ) -> None:
        """Settles a call's turn whose answer was handed to the speaker. `refusal` is what the gate turned down before it: a case, a degraded turn (OG-7)."""
        ...

    def park(self, tx: Tx, intent: str, draft: str, verdict: Mapping[str, Any], review: ReviewSignal, holding: Payload | None) -> bool:
        """A refusal: the draft goes into a case, the turn is degraded, and the same intent carries the holding text where one is due (OG-7)."""
        ...

    def due_fallbacks(self, tx: Tx, limit: int) -> list[PromisedRow]:
        """Intents past `fallback_at` without an attempt at a provider (CO-3)."""
        ...

    def fall_back(self, tx: Tx, intent: str, payload: Payload, verdict: Mapping[str, Any]) -> bool:
        """Replaces the payload of the same intent, only where no attempt exists."""
        ...

    def release_held(self, tx: Tx, call: str, fallback_at: datetime) -> list[str]:
        """At a call's end: the texts that waited for it become due; returns their turns."""
        ...

    # relay
    def lease_intents(self, tx: Tx, node: str, limit: int, seconds: float, full: Collection[str] = ()) -> list[IntentLease]:
        """Composed and due intents, oldest first per recipient and channel; none of the channels in `full`; skip-locked."""
        ...

    def begin_attempt(self, tx: Tx, lease: IntentLease, attempt: str) -> Attempt | None:
        """leased → sending with an attempt row, fenced; None where the lease or the intent is gone, or owner, suppression or switches have moved."""
        ...

    def block(self, tx: Tx, lease: IntentLease, reason: str, not_before: datetime | None) -> None:
        """Policy said no: `blocked` with its re-try time, or `discarded` where there is none (SR-2)."""
        ...

    def finish_attempt(self, tx: Tx, attempt: Attempt, outcome: SendOutcome, retry_at: datetime | None) -> None:
        """Writes what the provider said. NotSent and retryable go back to composed at `retry_at`; MaybeSent becomes unknown (SR-3, SR-6).

        What has failed for good (fatal, or no `retry_at`) has a review case; an opt-out suppresses the address.
        """
        ...

    def unresolved(self, tx: Tx, limit: int) -> list[Sending]:
        """`sending` whose lease ran out (they are `unknown` from here on) and `unknown` ones that are due; each is the caller's for 30 s."""
        ...

    def resolve(self, tx: Tx, attempt: Attempt, found: FindOutcome, ask_again_at: datetime, give_up_at: datetime) -> None:
        """What the provider knew: found → accepted; absent past the quiet period → composed again; past `give_up_at` → a case, never a re-send."""
        ...

    def undelivered_since(self, tx: Tx, before: datetime, limit: int) -> list[Sending]:
        """Accepted, no evidence of arrival, not asked lately (SR-4); asked again after 1, 2, 4 … minutes, at most an hour."""
        ...

    def delivery(self, tx: Tx, event: Delivery) -> bool:
        """Folds a delivery event by rank; False for one that was seen before. Opt-out errors update suppression (SR-7)."""
        ...

    # calls
    def start_call(self, tx: Tx, call: NewCall) -> bool:
        """False where the call exists (a replayed webhook)."""
        ...

    def use_media_token(self, tx: Tx, provider_id: str, token_digest: str) -> str | None:
        """The call's id, once; None for unknown, expired and used tokens."""
        ...

    def call_by_provider_id(self, tx: Tx, provider_id: str) -> Mapping[str, Any] | None: ...

    def record_utterances(self, tx: Tx, rows: Sequence[SpokenRow]) -> None:
        """Inserts, or updates `heard` of, utterances."""
        ...

    def end_call(self, tx: Tx, provider_id: str, outcome: str) -> str | None:
        """Idempotent; the call's id at its first end, else None."""
        ...

    # review, traces, people who watch
    def open_case(self, tx: Tx, turn: str, review: ReviewSignal) -> None: ...

    def trace(self, tx: Tx, topic: str, turn: str | None, events: Sequence[TraceEvent]) -> None: ...

    def tail(self, tx: Tx, after: int, limit: int) -> list[Mapping[str, Any]]:
        """Trace events after a global position, oldest first, each with `position`, `topic`, `epoch`, `seq`, `at`, `turn`, `stage`, `kind`, `body`."""
        ...

    def heartbeat(self, tx: Tx, node: str, role: str) -> None: ...

    def first_seen(self, tx: Tx, provider: str, key: str) -> bool:
        """Remembers a webhook delivery; False for a replay (OP-3)."""
        ...

    def set_switch(self, tx: Tx, name: str, off: bool, by: str) -> None:
        """`name` is "channel:sms", "property:ID" or "class:NAME" (CK-5)."""
        ...

    def set_owner(self, tx: Tx, conversation: str, owner: Literal["clara", "human"], by: str) -> None:
        """A person takes over or hands back (LW-4)."""
        ...

    def register_property(self, tx: Tx, property_id: str, digest: str, secrets: Sequence[tuple[str, str]]) -> None: ...


@dataclass(frozen=True, slots=True)
class Policy:
    """Time limits of the pipeline, in seconds. Defaults are the requirements' own."""

    fallback: float = 60.0  # CO-3
    answer_window: float = 1800.0  # SR-2: class `answer` may leave at any hour
    lease: float = 30.0
    unknown_give_up: float = 600.0  # SR-3
    absent_after: float = 120.0
    stall: float = 300.0  # SR-5
    poll: float = 1.0
    read_budget: float = 12.0
    draft_budget: float = 12.0
    offer_valid: float = 48 * 3600.0
    retry: Sequence[float] = field(default=(1.0, 4.0, 15.0, 60.0, 240.0))
