"""What enters at the door of the process: the clock, ids, chance, and wake-ups. Everything below gets them as arguments."""

from __future__ import annotations

import asyncio
import secrets
from collections import defaultdict
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import UUID


@dataclass(frozen=True, slots=True)
class ShiftedClock:
    """The one clock of a deployment: real pace, shifted by `offset` (production: not at all)."""

    offset: timedelta = timedelta()

    def now(self) -> datetime:
        return datetime.now(UTC) + self.offset


class UuidIds:
    """UUIDv7 as text: sorts by the millisecond in which it was made, and by order within it."""

    def __init__(self, clock: ShiftedClock) -> None:
        self._clock = clock
        self._last = (0, 0)

    def new(self) -> str:
        millis = int(self._clock.now().timestamp() * 1000)
        last, count = self._last
        # Within one millisecond, and when a clock steps back, the counter keeps the order.
        millis, count = (millis, 0) if millis > last else (last, count + 1)
        millis, count = (millis + 1, 0) if count > 0xFFF else (millis, count)
        self._last = (millis, count)
        bits = millis << 80 | 0x7 << 76 | count << 64 | 0b10 << 62 | secrets.randbits(62)
        return str(UUID(int=bits))


class LocalBus:
    """Wake-ups inside one process. A waiter that comes late is woken by the flag that its topic keeps."""

    def __init__(self) -> None:
        self._events: dict[str, asyncio.Event] = defaultdict(asyncio.Event)

    def wake(self, topic: str) -> None:
        self._events[topic].set()

    async def wait(self, topic: str, timeout: float) -> None:
        event = self._events[topic]
        try:
            async with asyncio.timeout(timeout):
                await event.wait()
        except TimeoutError:
            return
        finally:
            event.clear()
