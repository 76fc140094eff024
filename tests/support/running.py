"""A whole gateway beside a whole sandbox, in one event loop, through the real wire protocols."""

from __future__ import annotations

import asyncio
import dataclasses
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import sqlalchemy as sa

from gateway.build import Clara, build
from gateway.serve import Server
from gateway.settings import load
from pipeline.ports import Tx
from scripts.sandbox.app import Sandbox
from scripts.sandbox.environment import environment, new_world
from scripts.sandbox.world import World
from storage.tables import intent, turn

MORNING = datetime(2026, 7, 17, 9, 12, tzinfo=ZoneInfo("America/Chicago"))


def offset_to(instant: datetime) -> float:
    """Seconds from now to `instant`."""
    return (instant - datetime.now(UTC)).total_seconds()


@dataclass(frozen=True, slots=True)
class Running:
    """A running pair. `texts(number)` and `mails(address)` are what the stand-ins took over."""

    clara: Clara
    sandbox: Sandbox
    gateway_url: str

    @property
    def world(self) -> World:
        return self.sandbox.world

    def texts(self, number: str) -> list[str]:
        return [m.body for m in self.world.messages.values() if m.direction != "inbound" and m.recipient == number]

    def mails(self, address: str) -> list[bytes]:
        return [mail.content for mail in self.world.mailbox if address in mail.recipients]

    async def until(self, condition: Callable[[], bool], seconds: float = 15.0, what: str = "the condition") -> None:
        """Returns as soon as `condition` holds; AssertionError after `seconds`."""
        try:
            async with asyncio.timeout(seconds):
                while not condition():
                    await asyncio.sleep(0.02)
        except TimeoutError:
            raise AssertionError(f"{what} did not come about in {seconds} s") from None

    async def quiet(self, seconds: float = 20.0) -> None:
        """Returns when no turn is open, no intent is on its way and the stand-ins have said all they had to say."""
        async with asyncio.timeout(seconds):
            while await self.clara.db.read(unfinished):
                await asyncio.sleep(0.03)
            await self.world.settle()


def unfinished(tx: Tx) -> int:
    """Turns and intents that are still on their way."""
    turns = sa.select(sa.func.count()).select_from(turn).where(turn.c.state != "settled")
    moving = ("promised", "composed", "leased", "sending")
    intents = sa.select(sa.func.count()).select_from(intent).where(intent.c.state.in_(moving), ~intent.c.held)
    return int(tx.conn.execute(turns).scalar_one()) + int(tx.conn.execute(intents).scalar_one())


@asynccontextmanager
async def running(
    database_url: str | None = None,
    *,
    tmp_path: Path | None = None,
    at: datetime = MORNING,
    burst: float = 0.15,
    speed: float = 1.0,
    **variables: str,
) -> AsyncIterator[Running]:
    """A gateway and a sandbox whose clocks stand at `at`; SQLite in `tmp_path` unless a URL is given."""
    listener = socket.create_server(("127.0.0.1", 0))
    host, port = listener.getsockname()[:2]
    offset = offset_to(at)
    sandbox = Sandbox(new_world(f"http://{host}:{port}", offset=offset, speed=speed))
    await sandbox.start()
    url = database_url or f"sqlite:///{tmp_path}/clara.db"
    env = environment(
        sandbox.describe(), CLARA_DATABASE_URL=url, CLARA_POLL="0.1", CLARA_DRAIN="2", CLARA_MEDIA_SPEED=str(speed), **variables
    )
    settings = load(env)
    properties = {name: dataclasses.replace(prop, burst_seconds=burst) for name, prop in settings.properties.items()}
    clara = await asyncio.to_thread(build, dataclasses.replace(settings, properties=properties))
    server = Server(clara)
    gateway_url = await server.start(listener)
    try:
        yield Running(clara, sandbox, gateway_url)
    finally:
        await server.stop()
        await sandbox.stop()
