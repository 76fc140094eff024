"""The one class behind `pipeline.store.Store`: it holds what the deployment fixes and delegates to the topics."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal

from pipeline.core.commands import Commit, CommitOutcome, ReviewSignal, Seen, TraceEvent
from pipeline.core.types import Ending, Health
from pipeline.ports import Attempt, FindOutcome, SendOutcome, Tx
from pipeline.store import (
    Arrival,
    Arrived,
    Delivery,
    IntentLease,
    NewCall,
    Payload,
    Policy,
    PromisedRow,
    Sending,
    Snapshot,
    SpokenRow,
    TurnLease,
)
from storage import calls, commit, delivery, entities, inbox, intents, operations, relay, snapshot, trace, turns
from storage.database import repeatable
from storage.review import open_case
from storage.vault import Vault


class SqlStore:
    """`secrets` seal access codes, the newest first. `transitions` has one table per kind of entity; `policy` the time limits."""

    def __init__(
        self, *secrets: str, policy: Policy | None = None, transitions: entities.Transitions = entities.TRANSITIONS
    ) -> None:
        self._vault = Vault(secrets)
        self._policy = policy or Policy()
        self._transitions = transitions

    # inbox

    @repeatable
    def accept(self, tx: Tx, arrival: Arrival) -> Arrived:
        return inbox.accept(tx, arrival)

    def sent_texts(self, tx: Tx, property_id: str, address: str) -> list[str]:
        return snapshot.sent_texts(tx, property_id, address)

    def lease_turns(self, tx: Tx, node: str, limit: int, seconds: float) -> list[TurnLease]:
        return turns.lease_turns(tx, node, limit, seconds)

    def lease_turn(self, tx: Tx, turn: str, node: str, seconds: float) -> TurnLease | None:
        return turns.lease_turn(tx, turn, node, seconds)

    @repeatable
    def release_turn(self, tx: Tx, lease: TurnLease, due_at: datetime | None) -> None:
        turns.release_turn(tx, lease, due_at)

    def snapshot(self, tx: Tx, turn: str) -> Snapshot:
        return snapshot.snapshot(tx, self._vault, turn)

    def settle_without_commit(
        self, tx: Tx, turn: str, ending: Ending, health: Health, trace: Sequence[TraceEvent], seen: Seen | None = None
    ) -> bool:
        return turns.settle_without_commit(tx, turn, ending, health, trace, seen)

    # the chokepoint

    @repeatable
    def commit(self, tx: Tx, command: Commit) -> CommitOutcome:
        return commit.commit(tx, command, self._transitions)

    def expire_due(self, tx: Tx, limit: int) -> list[str]:
        return turns.expire_due(tx, limit)

    @repeatable
    def open_expiry(self, tx: Tx, entity: str, turn: str, matter: str) -> str | None:
        return turns.open_expiry(tx, entity, turn, matter)

    # compose

    def promised(self, tx: Tx, turn: str) -> list[PromisedRow]:
        return snapshot.promised(tx, self._vault, turn)

    def compose(
        self, tx: Tx, intent: str, payload: Payload, segments: Sequence[Mapping[str, Any]], verdict: Mapping[str, Any]
    ) -> bool:
        return intents.compose(tx, intent, payload, segments, verdict)

    def spoken_answer(
        self, tx: Tx, turn: str, verdict: Mapping[str, Any], trace: Sequence[TraceEvent], refusal: ReviewSignal | None = None
    ) -> None:
        intents.spoken_answer(tx, turn, verdict, trace, refusal)

    def park(
        self,
        tx: Tx,
        intent: str,
        draft: str,
        verdict: Mapping[str, Any],
        review: ReviewSignal,
        holding: Payload | None,
    ) -> bool:
        return intents.park(tx, intent, draft, verdict, review, holding)

    def due_fallbacks(self, tx: Tx, limit: int) -> list[PromisedRow]:
        return snapshot.due_fallbacks(tx, self._vault, limit)

    def fall_back(self, tx: Tx, intent: str, payload: Payload, verdict: Mapping[str, Any]) -> bool:
        return intents.fall_back(tx, intent, payload, verdict)

    def release_held(self, tx: Tx, call: str, fallback_at: datetime) -> list[str]:
        return intents.release_held(tx, call, fallback_at)

    # relay

    def lease_intents(
        self, tx: Tx, node: str, limit: int, seconds: float, full: Collection[str] = ()
    ) -> list[IntentLease]:
        return relay.lease_intents(tx, node, limit, seconds, full)

    def begin_attempt(self, tx: Tx, lease: IntentLease, attempt: str) -> Attempt | None:
        return relay.begin_attempt(tx, lease, attempt)

    @repeatable
    def block(self, tx: Tx, lease: IntentLease, reason: str, not_before: datetime | None) -> None:
        relay.block(tx, lease, reason, not_before)

    @repeatable
    def finish_attempt(self, tx: Tx, attempt: Attempt, outcome: SendOutcome, retry_at: datetime | None) -> None:
        relay.finish_attempt(tx, attempt, outcome, retry_at)

    def unresolved(self, tx: Tx, limit: int) -> list[Sending]:
        return relay.unresolved(tx, limit)

    @repeatable
    def resolve(
        self, tx: Tx, attempt: Attempt, outcome: FindOutcome, ask_again_at: datetime, give_up_at: datetime
    ) -> None:
        relay.resolve(tx, attempt, outcome, ask_again_at, give_up_at, self._policy.absent_after)

    def undelivered_since(self, tx: Tx, before: datetime, limit: int) -> list[Sending]:
        return relay.undelivered_since(tx, before, limit)

    @repeatable
    def delivery(self, tx: Tx, event: Delivery) -> bool:
        return delivery.delivery(tx, event)

    # calls

    @repeatable
    def start_call(self, tx: Tx, call: NewCall) -> bool:
        return calls.start_call(tx, call)

    def use_media_token(self, tx: Tx, provider_id: str, token_digest: str) -> str | None:
        return calls.use_media_token(tx, provider_id, token_digest)

    def call_by_provider_id(self, tx: Tx, provider_id: str) -> Mapping[str, Any] | None:
        return calls.call_by_provider_id(tx, provider_id)

    @repeatable
    def record_utterances(self, tx: Tx, rows: Sequence[SpokenRow]) -> None:
        calls.record_utterances(tx, rows)

    def end_call(self, tx: Tx, provider_id: str, outcome: str) -> str | None:
        return calls.end_call(tx, provider_id, outcome)

    # review, traces, people who watch

    def open_case(self, tx: Tx, turn: str, review: ReviewSignal) -> None:
        open_case(tx, turn, review)

    def trace(self, tx: Tx, topic: str, turn: str | None, events: Sequence[TraceEvent]) -> None:
        trace.trace(tx, topic, turn, events)

    def tail(self, tx: Tx, after: int, limit: int) -> list[Mapping[str, Any]]:
        return trace.tail(tx, after, limit)

    @repeatable
    def heartbeat(self, tx: Tx, node: str, role: str) -> None:
        operations.beat(tx, node, role)

    def first_seen(self, tx: Tx, provider: str, key: str) -> bool:
        return operations.first_seen(tx, provider, key)

    @repeatable
    def set_switch(self, tx: Tx, name: str, off: bool, by: str) -> None:
        operations.set_switch(tx, name, off, by)

    @repeatable
    def set_owner(self, tx: Tx, conversation: str, owner: Literal["clara", "human"], by: str) -> None:
        operations.set_owner(tx, conversation, owner, by)

    @repeatable
    def register_property(self, tx: Tx, property_id: str, digest: str, secrets: Sequence[tuple[str, str]]) -> None:
        operations.register_property(tx, self._vault, property_id, digest, secrets)
