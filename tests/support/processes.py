"""A gateway and a sandbox as two real processes, so that one can be killed and come back while the other remembers everything.

The gateway is `python -m gateway.cli serve`, wired by the environment that the sandbox describes; it comes back at the same port on the same database.
`kill` is SIGKILL: no handler, no drain, no last write. Whatever happens in a test, both processes are gone when the context ends.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import socket
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from scripts.sandbox.control import Control
from scripts.sandbox.environment import environment
from scripts.sandbox.wire import request
from tests.support.running import MORNING, offset_to

ROOT = Path(__file__).resolve().parent.parent.parent
STARTS_WITHIN = 90.0
LOOK_EVERY = 0.03


async def until(holds: Callable[[], Awaitable[bool]], what: str, seconds: float = 60.0) -> None:
    """Returns as soon as `holds` does; AssertionError naming `what` after `seconds`."""
    try:
        async with asyncio.timeout(seconds):
            while not await holds():
                await asyncio.sleep(LOOK_EVERY)
    except TimeoutError:
        raise AssertionError(f"{what} did not come about in {seconds} s") from None


@dataclass(slots=True)
class Gateway:
    """A gateway's process. `start` after `kill` is the same gateway again: same port, same database."""

    port: int
    variables: dict[str, str]
    log: Path
    _child: Process | None = None

    async def start(self) -> None:
        """Returns when it answers; AssertionError with the end of its log where it does not."""
        with self.log.open("ab") as log:
            self._child = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "gateway.cli", "serve", cwd=ROOT, env=self.variables, stdout=log, stderr=log
            )
        try:
            await until(self._answers, "a gateway that answers", STARTS_WITHIN)
        except AssertionError as problem:
            raise AssertionError(f"{problem}:\n{self.log.read_text('utf-8', 'replace')[-4000:]}") from None

    async def _answers(self) -> bool:
        assert self._child is not None and self._child.returncode is None, "the gateway ended at its start"
        with suppress(ConnectionError):
            return (await request("GET", f"http://127.0.0.1:{self.port}/healthz")).status == 200
        return False

    async def kill(self) -> None:
        """SIGKILL, and the process reaped; no effect where none runs."""
        await self._end(signal.SIGKILL)

    async def stop(self) -> int | None:
        """SIGTERM; its exit status."""
        return await self._end(signal.SIGTERM)

    async def _end(self, how: signal.Signals) -> int | None:
        child, self._child = self._child, None
        if child is None:
            return None
        if child.returncode is None:
            child.send_signal(how)
        return await child.wait()


@dataclass(frozen=True, slots=True)
class Pair:
    """A running sandbox process, by its remote control, and the gateway beside it."""

    control: Control
    gateway: Gateway
    offset: float  # seconds by which the clock of both is shifted at the beginning

    async def texts(self, number: str) -> list[str]:
        """Bodies of the texts to `number` that the stand-in stored, oldest first."""
        stored = await self.control.get("/messages", direction="outbound-api")
        return [message["body"] for message in stored if message["recipient"] == number]

    async def mails(self, address: str) -> list[Mapping[str, Any]]:
        """The mails to `address` that the stand-in took over: `content` in base64, `sender`, `recipients`, `at`."""
        return [mail for mail in await self.control.get("/mailbox") if address in mail["recipients"]]

    async def later(self, seconds: float) -> None:
        """Moves the sandbox's clock on, and that of the gateway's next start."""
        moved = (await self.control.get("/clock"))["offset_seconds"] + seconds
        await self.control.post("/clock", offset_seconds=moved)
        self.gateway.variables["CLARA_CLOCK_OFFSET"] = str(moved)

    async def arm(self, name: str, *, times: int | None = 1, after: int = 0, **params: Any) -> None:
        await self.control.post("/faults", name=name, times=times, after=after, params=params)

    async def fired(self, name: str) -> int:
        """How often a fault has happened."""
        return int((await self.control.get("/faults"))["fired"].get(name, 0))


@asynccontextmanager
async def pair(
    database_url: str, folder: Path, *, at: datetime = MORNING, burst: float = 0.1, **variables: str
) -> AsyncIterator[Pair]:
    """Both processes with their clocks at `at`, the gateway answering. `folder` takes property files and the gateway's log."""
    port = _free_port()
    sandbox = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "scripts.sandbox", "--gateway", f"http://127.0.0.1:{port}", "--offset", str(offset_to(at)),
        cwd=ROOT, stdout=PIPE,
    )  # fmt: skip
    gateway: Gateway | None = None
    try:
        assert sandbox.stdout is not None
        described = json.loads(await asyncio.wait_for(sandbox.stdout.readline(), STARTS_WITHIN))
        gateway = Gateway(
            port, _variables(described, port, database_url, folder, burst, variables), folder / "gateway.log"
        )
        await gateway.start()
        yield Pair(Control(described["url"]), gateway, described["offset_seconds"])
    finally:
        if gateway is not None:
            await gateway.kill()
        if sandbox.returncode is None:
            sandbox.kill()
        await sandbox.wait()


def _variables(
    sandbox: Mapping[str, Any], port: int, database_url: str, folder: Path, burst: float, more: Mapping[str, str]
) -> dict[str, str]:
    inherited = {name: os.environ[name] for name in ("PATH", "HOME", "LANG", "TZ", "TMPDIR") if name in os.environ}
    own = {
        "CLARA_DATABASE_URL": database_url,
        "CLARA_PORT": str(port),
        "CLARA_POLL": "0.1",
        "CLARA_PROPERTIES": str(_properties(folder, burst)),
    }
    return inherited | environment(sandbox, **own) | dict(more)


def _properties(folder: Path, burst: float) -> Path:
    """The sample properties with a shorter burst, so that nobody waits four seconds for an answer."""
    made = folder / "properties"
    made.mkdir(exist_ok=True)
    for file in (ROOT / "gateway" / "properties").glob("*.toml"):
        text, changed = re.subn(r"(?m)^burst_seconds = .*$", f"burst_seconds = {burst}", file.read_text("utf-8"))
        assert changed == 1
        (made / file.name).write_text(text, "utf-8")
    return made


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
