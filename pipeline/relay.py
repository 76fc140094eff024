"""The relay: the one road by which stored bytes leave (SR-1 … SR-6). The only module that calls a carrier's `send`.

It leases a composed intent, asks the policy, records an attempt, and only then lets the first byte go; the bytes are the stored ones and no model is ever called.
What the provider says is a value: accepted, refused, not sent, maybe sent. Maybe sent becomes `unknown`: the provider is asked, nothing is sent again on a guess.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from random import Random

from pipeline.core.policy import Drop, Hold, Leave, may_leave
from pipeline.core.property import Property
from pipeline.ports import Attempt, Carrier, Clock, Database, Ids, MaybeSent, NotSent, Refused, SendOutcome
from pipeline.store import IntentLease, Policy, Store

BATCH = 16


@dataclass(frozen=True, slots=True)
class Relay:
    """Sends what is composed and due. `random` jitters the back-off; `carriers` by channel."""

    db: Database
    store: Store
    carriers: Mapping[str, Carrier]
    properties: Mapping[str, Property]
    policy: Policy
    clock: Clock
    ids: Ids
    random: Random
    node: str

    async def run_once(self) -> int:
        """Leases a batch and works on all of it at once; how many intents it held."""
        leases = await self.db.transact(self.store.lease_intents, self.node, BATCH, self.policy.lease)
        await asyncio.gather(*(self._work(lease) for lease in leases))
        return len(leases)

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
