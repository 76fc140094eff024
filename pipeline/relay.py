"""The relay: the one road by which stored bytes leave (SR-1 … SR-6). The only module that calls a carrier's `send`.

It leases a composed intent, asks the policy, records an attempt, and only then lets the first byte go; the bytes are the stored ones and no model is ever called.
What the provider says is a value: accepted, refused, not sent, maybe sent. Maybe sent becomes `unknown`: the provider is asked, nothing is sent again on a guess.

Each send is a task of its own and each channel has its own number of hands: a mail server that says nothing for minutes holds up no text, and no other mail until
all hands are waiting on it. A channel whose hands are full leases nothing, so that no attempt is recorded that nobody can begin.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from random import Random

from pipeline.core.policy import Drop, Hold, Leave, may_leave
from pipeline.core.property import Property
from pipeline.ports import Attempt, Carrier, Clock, Database, Ids, MaybeSent, NotSent, Refused, SendOutcome
from pipeline.store import IntentLease, Policy, Store

log = logging.getLogger("clara.relay")

HANDS = 8  # sends at a time on one channel; a text's carrier has as many threads


def _no_one() -> None:
    """Nobody waits for the end of a send."""


@dataclass(frozen=True, slots=True)
class Relay:
    """Sends what is composed and due. `random` jitters the back-off; `carriers` by channel; `wake` is called when a hand is free again."""

    db: Database
    store: Store
    carriers: Mapping[str, Carrier]
    properties: Mapping[str, Property]
    policy: Policy
    clock: Clock
    ids: Ids
    random: Random
    node: str
    wake: Callable[[], None] = _no_one
    _hands: dict[str, set[asyncio.Task[None]]] = field(default_factory=dict)

    async def run_once(self) -> int:
        """Leases what there are hands for and begins to send it; how many intents it took, or 0 where no more are due."""
        busy = {channel: len(tasks) for channel, tasks in self._hands.items()}
        full = frozenset(channel for channel, count in busy.items() if count >= HANDS)
        limit = HANDS - max((count for count in busy.values() if count < HANDS), default=0)
        leases = await self.db.transact(self.store.lease_intents, self.node, limit, self.policy.lease, full)
        for lease in leases:
            hands = self._hands.setdefault(lease.channel, set())
            task = asyncio.create_task(self._one(lease))
            hands.add(task)
            task.add_done_callback(hands.discard)
            task.add_done_callback(lambda _: self.wake())
        return len(leases) if len(leases) == limit else 0

    async def drain(self) -> None:
        """Waits for every send that has begun (OP-4)."""
        while running := {task for tasks in self._hands.values() for task in tasks}:
            await asyncio.wait(running)

    async def _one(self, lease: IntentLease) -> None:
        try:
            await self._work(lease)
        except Exception:
            # What was recorded stands; the row is found again when its lease has run out.
            log.exception("relay.failed", extra={"intent": lease.intent})

    async def _work(self, lease: IntentLease) -> None:
        verdict = self._policy(lease)
        if isinstance(verdict, Hold):
            await self.db.transact(self.store.block, lease, verdict.reason, verdict.until)
            return
        if isinstance(verdict, Drop):
            await self.db.transact(self.store.block, lease, verdict.reason, None)
            return
        if hashlib.sha256(lease.payload).hexdigest() != lease.digest:
            await self.db.transact(self.store.block, lease, "stored_bytes_changed", None)
            return
        attempt = await self.db.transact(self.store.begin_attempt, lease, self.ids.new())
        if attempt is not None:
            outcome = await self._send(attempt)
            await self.db.transact(self.store.finish_attempt, attempt, outcome, self._retry_at(attempt, outcome))

    async def _send(self, attempt: Attempt) -> SendOutcome:
        carrier = self.carriers.get(attempt.channel)
        if carrier is None:
            return Refused("configuration", "no_carrier", f"no provider is configured for {attempt.channel}")
        try:
            return await carrier.send(attempt)
        except Exception as problem:
            # A carrier that raises has lost track of its own send: the outcome is unknown, whatever it was (SR-3).
            return MaybeSent(f"{type(problem).__name__}: {problem}")

    def _policy(self, lease: IntentLease) -> Leave | Hold | Drop:
        prop = self.properties[lease.property]
        return may_leave(
            purpose=lease.purpose,
            channel=lease.channel,
            property_id=lease.property,
            customer_facing=lease.customer_facing,
            since=lease.composed_at if lease.purpose == "after_call" else lease.created_at,
            expires_at=lease.expires_at,
            now=self.clock.now(),
            recipient_tz=lease.recipient_tz or prop.tz,
            quiet_hours=prop.quiet_hours,
            answer_window=timedelta(seconds=self.policy.answer_window),
            suppressed=lease.suppressed,
            human_owns=lease.owner == "human",
            switches=lease.switches,
        )

    def _retry_at(self, attempt: Attempt, outcome: SendOutcome) -> datetime | None:
        """When a send that provably did not happen is tried again; None where it is not, or no tries are left (SR-6)."""
        again = isinstance(outcome, NotSent) or (isinstance(outcome, Refused) and outcome.kind == "retryable")
        if not again or attempt.number > len(self.policy.retry):
            return None
        return self.clock.now() + timedelta(seconds=self.policy.retry[attempt.number - 1] * (0.5 + self.random.random()))
