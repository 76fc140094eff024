"""What the tests of carriers and stand-ins share: a sandbox and a gateway's door that writes down what knocks."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from scripts.sandbox.app import Sandbox
from scripts.sandbox.wire import HttpServer
from scripts.sandbox.world import World


@dataclass(frozen=True)
class Knock:
    """One request as it came over the wire."""

    method: str
    raw_path: bytes
    raw_query: bytes
    headers: dict[str, str]
    body: bytes

    @property
    def form(self) -> list[tuple[str, str]]:
        """The body as form fields."""
        return parse_qsl(self.body.decode(), keep_blank_values=True)

    @property
    def status(self) -> str | None:
        """`MessageStatus` of a status callback."""
        return dict(self.form).get("MessageStatus")


@dataclass
class Door:
    """An ASGI app that records every request; `replies` are used up first, then 200 with an empty `<Response/>`."""

    knocks: list[Knock] = field(default_factory=list)
    replies: list[Response] = field(default_factory=list)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        self.knocks.append(
            Knock(
                scope["method"], scope["raw_path"], scope["query_string"], dict(request.headers), await request.body()
            )
        )
        reply = self.replies.pop(0) if self.replies else Response("<Response/>", media_type="text/xml")
        await reply(scope, receive, send)

    @property
    def statuses(self) -> list[str | None]:
        """The statuses of the callbacks that came, in the order of arrival."""
        return [knock.status for knock in self.knocks]


@dataclass
class Rig:
    """A running sandbox whose gateway is `door`."""

    sandbox: Sandbox
    world: World
    door: Door


@asynccontextmanager
async def rig(**settings: Any) -> AsyncIterator[Rig]:
    """A sandbox with a recording gateway, both on free ports of this machine."""
    door = Door()
    server = HttpServer(door)
    world = World(gateway_url=await server.start(), **{"status_delay": 0.0, **settings})
    sandbox = Sandbox(world)
    await sandbox.start()
    try:
        yield Rig(sandbox, world, door)
    finally:
        await sandbox.stop()
        await server.stop()
