"""The reconciler: what time brings up. It finds what was left half done and finishes it (CO-3, SR-3, SR-4).

Timers are rows with a due time; two loops pick them up. One asks providers: sends with an unknown outcome, messages without evidence of arrival. The other lets payloads
that did not get out in 60 s give way to the minimal text; it asks nobody, so that a provider that does not answer holds up no fallback. Unanswered commits are leased
again by the turn workers themselves.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta

from pipeline.ports import Absent, CannotTell, Carrier, Clock, Database, FindOutcome, Found
from pipeline.store import Delivery, Policy, PromisedRow, Sending, Store

BATCH = 32
POLL_AFTER = timedelta(seconds=20)


@dataclass(frozen=True, slots=True)
class Reconciler:
    """Asks providers and moves overdue work along. `fall_back` is the engine's."""

    db: Database
    store: Store
    carriers: Mapping[str, Carrier]
    policy: Policy
    clock: Clock
    fall_back: Callable[[PromisedRow], Awaitable[bool]]

    async def ask(self) -> int:
        """One pass over what providers are to be asked about; how many rows it touched."""
        return await self._unknown() + await self._unheard_of()

    async def fallbacks(self) -> int:
        """One pass over payloads that are overdue; how many rows it touched."""
        rows = await self.db.read(self.store.due_fallbacks, BATCH)
        for row in rows:
            await self.fall_back(row)
        return len(rows)

    async def _unknown(self) -> int:
        rows = await self.db.transact(self.store.unresolved, BATCH)
        for row in rows:
            found = await self._find(row)
            now = self.clock.now()
            absent_yet = row.attempt.opened_at + timedelta(seconds=self.policy.absent_after) > now
            if isinstance(found, Absent) and absent_yet:
                # A provider may show a message late: absence counts only after a quiet period.
                found = CannotTell("not listed yet")
            again = now + timedelta(seconds=min(60.0, 2.0 * 2 ** min(row.asked, 5)))
            give_up = row.attempt.opened_at + timedelta(seconds=self.policy.unknown_give_up)
            await self.db.transact(self.store.resolve, row.attempt, found, again, give_up)
        return len(rows)

    async def _unheard_of(self) -> int:
        rows = await self.db.transact(self.store.undelivered_since, self.clock.now() - POLL_AFTER, BATCH)
        for row in rows:
            found = await self._find(row)
            if isinstance(found, Found):
                event = Delivery("twilio", found.ref, found.status, found.error, row.attempt.reference, "poll")
                await self.db.transact(self.store.delivery, event)
        return len(rows)

    async def _find(self, row: Sending) -> FindOutcome:
        carrier = self.carriers.get(row.attempt.channel)
        if carrier is None or not carrier.query:
            return CannotTell("this provider cannot be asked")
        try:
            return await carrier.find(row.attempt, row.ref)
        except Exception as problem:
            return CannotTell(f"{type(problem).__name__}: {problem}")
