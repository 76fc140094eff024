"""`clara tail`: live stages of turns and calls in the terminal, from the database that the gateway writes (TR-2).

Resumable by position: what was printed is never printed again, and what is written while we look is not missed. Bodies marked personal show their keys only.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Mapping
from typing import Any

from gateway.settings import VARIABLES

LOOK_EVERY = 0.3
MOST = 500


def line(event: Mapping[str, Any], *, personal: bool = True) -> str:
    """One event as one line: time, turn, stage, what happened."""
    body = event["body"]
    shown = body if personal or not event.get("personal") else dict.fromkeys(body, "•••")
    said = " ".join(f"{key}={_short(value)}" for key, value in shown.items() if value not in (None, [], {}, ""))
    return f"{event['at']:%H:%M:%S.%f}"[:-3] + f"  {str(event['turn'] or '-')[-12:]:12}  {event['stage']:11} {event['kind']:18} {said}"


def run(once: bool, topic: str | None) -> int:
    """Prints until interrupted, or once."""
    url = os.environ.get("CLARA_DATABASE_URL") or next(v.default for v in VARIABLES if v.name == "CLARA_DATABASE_URL") or ""
    return asyncio.run(_follow(url, once, topic))


async def _follow(url: str, once: bool, topic: str | None) -> int:
    from storage.database import SqlDatabase
    from storage.store import SqlStore

    db, position = SqlDatabase(url), 0
    store = SqlStore("tail-opens-no-code")
    try:
        while True:
            events = await db.read(store.tail, position, MOST)
            for event in events:
                position = max(position, int(event["position"]))
                if topic is None or event["topic"] == topic:
                    print(line(event), file=sys.stdout, flush=True)
            if once and len(events) < MOST:
                return 0
            if not events:
                await asyncio.sleep(LOOK_EVERY)
    finally:
        await db.close()


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= 160 else text[:157] + "…"
