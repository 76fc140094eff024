"""One address for all HTTP stand-ins, and their life: `Sandbox` starts and stops them inside the running event loop.

Each stand-in module offers `routes(world) -> list[BaseRoute]`; a module that is not there is left out. Loopback only.

Invariants: every HTTP answer carries `x-sandbox-service-ms` (the stand-in's own time, to be taken out of a latency); a stopped sandbox
leaves no task, no socket and no signal handler behind.
"""

from __future__ import annotations

import importlib
import time
from dataclasses import asdict
from typing import Any, Self

from starlette.applications import Starlette
from starlette.routing import BaseRoute
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from scripts.sandbox.smtp import MailServer
from scripts.sandbox.wire import HttpServer
from scripts.sandbox.world import World

STAND_INS = (
    "scripts.sandbox.control",
    "scripts.sandbox.twilio_rest",
    "scripts.sandbox.phone",
    "scripts.sandbox.elevenlabs",
    "scripts.sandbox.anthropic",
)
"""Modules that offer `routes(world)`, in the order in which their routes are tried."""


class ServiceTime:
    """Adds `x-sandbox-service-ms` to every HTTP answer: milliseconds from the request's arrival to the answer's first byte."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started = time.perf_counter()

        async def stamped(message: Message) -> None:
            if message["type"] == "http.response.start":
                spent = (time.perf_counter() - started) * 1000
                headers = [*message.get("headers", ()), (b"x-sandbox-service-ms", f"{spent:.3f}".encode())]
                message = {**message, "headers": headers}
            await send(message)

        await self.app(scope, receive, stamped)


def build(world: World) -> ASGIApp:
    """The ASGI app of all stand-ins that exist."""
    routes: list[BaseRoute] = []
    for name in STAND_INS:
        try:
            module = importlib.import_module(name)
        except ModuleNotFoundError as missing:
            if missing.name != name:
                raise
            continue
        if hasattr(module, "routes"):
            routes.extend(module.routes(world))
    return ServiceTime(Starlette(routes=routes))


class Sandbox:
    """All stand-ins of one world, running in the caller's event loop.

    `url` is the base address of every HTTP stand-in (Twilio, ElevenLabs, Anthropic, `/_control`); `smtp_port` that of the mail server.
    """

    def __init__(self, world: World | None = None) -> None:
        self.world = world or World()
        self.url = ""
        self.mail = MailServer(self.world)
        self._http: HttpServer | None = None

    async def start(
        self,
        port: int = 0,
        smtp_port: int = 0,
        gateway_url: str | None = None,
        public_url: str | None = None,
        offset: float | None = None,
    ) -> Sandbox:
        """Listens on loopback (port 0: a free one). What is not given stays as the world has it."""
        world = self.world
        world.gateway_url = (gateway_url or world.gateway_url).rstrip("/")
        world.public_url = (public_url or world.public_url).rstrip("/")
        world.clock.offset_seconds = world.clock.offset_seconds if offset is None else offset
        self._http = HttpServer(build(world))
        self.url = await self._http.start(port)
        await self.mail.start(smtp_port)
        return self

    @property
    def smtp_port(self) -> int:
        """The mail server's port on 127.0.0.1."""
        return self.mail.port

    def describe(self) -> dict[str, Any]:
        """Addresses, keys and names: everything that a gateway needs to be wired to this sandbox."""
        world = self.world
        return {
            "url": self.url,
            "control": f"{self.url}/_control",
            "twilio": self.url,
            "elevenlabs": self.url,
            "anthropic": self.url,
            "smtp": {"host": "127.0.0.1", "port": self.smtp_port},
            "gateway": world.gateway_url,
            "public": world.public_url,
            "offset_seconds": world.clock.offset_seconds,
            "numbers": list(world.numbers),
            "authserv": world.authserv,
            "keys": asdict(world.keys),
            "paths": asdict(world.paths),
        }

    async def stop(self) -> None:
        """Ends every stand-in; idempotent."""
        await self.world.close()
        await self.mail.stop()
        if self._http is not None:
            await self._http.stop()
        self._http = None

    async def __aenter__(self) -> Self:
        if self._http is None:
            await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()
