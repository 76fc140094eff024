"""The loops that carry the work: turns, relay, reconciler. Each sleeps until a wake-up, at most one poll long (DESIGN 5).

A loop survives a failing pass: the error is logged, and the rows are picked up again when their lease runs out. Stopping is graceful: a running pass ends first.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from pipeline.ports import Bus, Database
from pipeline.store import Store, TurnLease
from pipeline.turn import Engine

log = logging.getLogger("clara.loops")

TURNS, OUTBOX = "turns", "outbox"


@dataclass(slots=True)
class Loop:
    """One repeated job. `step` returns how much it did, or 0 where it knows that nothing is left: until then it runs again at once."""

    name: str
    topic: str
    step: Callable[[], Awaitable[int]]
    bus: Bus
    poll: float
    _stopping: asyncio.Event = field(default_factory=asyncio.Event)

    async def run(self) -> None:
        """Runs until `stop`, then returns after the current pass."""
        while not self._stopping.is_set():
            try:
                did = await self.step()
            except Exception:
                log.exception("loop.failed", extra={"loop": self.name})
                did = 0
            if not did and not self._stopping.is_set():
                await self.bus.wait(self.topic, self.poll)

    def stop(self) -> None:
        self._stopping.set()
        self.bus.wake(self.topic)


@dataclass(slots=True)
class TurnWorkers:
    """Works on leased turns, several at once, each in its own task; a slow model stops nobody else."""

    engine: Engine
    db: Database
    store: Store
    bus: Bus
    node: str
    width: int = 16
    lease: float = 30.0  # longer than a reading and a draft; so short that a turn is taken up again before its minimal text is due (CO-3)
    _running: set[asyncio.Task[None]] = field(default_factory=set)

    async def step(self) -> int:
        """Leases what is due and begins to work on it; 0 where it was less than could be taken, so that a wake-up comes before any more."""
        free = self.width - len(self._running)
        if free <= 0:
            await asyncio.wait(self._running, return_when=asyncio.FIRST_COMPLETED)
            free = self.width - len(self._running)
        leases = await self.db.transact(self.store.lease_turns, self.node, free, self.lease)
        for lease in leases:
            task = asyncio.create_task(self._work(lease))
            self._running.add(task)
            task.add_done_callback(self._running.discard)
        return len(leases) if len(leases) == free else 0

    async def drain(self) -> None:
        """Waits for every turn that is being worked on."""
        while self._running:
            await asyncio.wait(self._running)

    async def _work(self, lease: TurnLease) -> None:
        try:
            await self.engine.work(lease)
        except Exception:
            log.exception("turn.failed", extra={"turn": lease.turn})
        finally:
            self.bus.wake(OUTBOX)
