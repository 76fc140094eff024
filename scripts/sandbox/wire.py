"""HTTP at the level of bytes, for the stand-ins: one exact request to loopback, and the art of hanging up on a caller.

`request` sends the target and the body byte for byte as given (a signature covers them), follows nothing, retries nothing and says in
which phase it failed. `Connection` and `Reset` let a stand-in break off a connection as a crashing provider would.

Never used by the product; never leaves loopback.
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import socket
import struct
import time
import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast
from urllib.parse import urlsplit

import h11
import uvicorn
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

_OPEN: weakref.WeakValueDictionary[tuple[str, int], asyncio.Transport] = weakref.WeakValueDictionary()


class NotLoopback(ValueError):
    """A stand-in was asked to call an address outside this machine."""


class Unreachable(ConnectionError):
    """No connection was made: nothing was sent."""


class Broken(ConnectionError):
    """The connection was lost or timed out after the request had left."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back: status, header pairs (names lower-case), body, seconds from connecting to the last byte."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes
    seconds: float

    def header(self, name: str) -> str | None:
        """The first value of a header."""
        return next((value for key, value in self.headers if key == name.lower()), None)

    @property
    def text(self) -> str:
        """The body as UTF-8."""
        return self.body.decode("utf-8", "replace")


def is_loopback(host: str | None) -> bool:
    """Whether `host` names this machine."""
    if host == "localhost":
        return True
    with contextlib.suppress(ValueError):
        return ipaddress.ip_address(host or "").is_loopback
    return False


async def request(
    method: str,
    url: str,
    headers: Sequence[tuple[str, str]] = (),
    body: bytes = b"",
    *,
    host: str | None = None,
    connect_timeout: float = 5.0,
    read_timeout: float = 15.0,
) -> Answer:
    """One request on a connection of its own. `url` must be `http` on loopback; `host` overrides the Host header (as a proxy keeps it).

    Raises `Unreachable` (nothing was sent), `Broken` (outcome unknown) or `NotLoopback`.
    """
    parts = urlsplit(url)
    if parts.scheme != "http" or not is_loopback(parts.hostname):
        raise NotLoopback(f"{url} is not a plain address on this machine")
    started = time.perf_counter()
    try:
        reader, writer = await asyncio.wait_for(
            asyncio.open_connection(parts.hostname, parts.port or 80), connect_timeout
        )
    except (OSError, TimeoutError) as error:
        raise Unreachable(f"{parts.netloc}: {error or 'connect time-out'}") from error
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    try:
        return await asyncio.wait_for(
            _exchange(reader, writer, method, target, host or parts.netloc, headers, body, started), read_timeout
        )
    except (OSError, TimeoutError, h11.ProtocolError, EOFError) as error:
        raise Broken(f"{parts.netloc}: {error or 'read time-out'}") from error
    finally:
        writer.close()


async def _exchange(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    method: str,
    target: str,
    host: str,
    headers: Sequence[tuple[str, str]],
    body: bytes,
    started: float,
) -> Answer:
    connection = h11.Connection(h11.CLIENT)
    head = [("host", host), ("content-length", str(len(body))), ("connection", "close"), *headers]
    asked = h11.Request(
        method=method, target=target.encode("ascii"), headers=[(k.encode(), v.encode()) for k, v in head]
    )
    out = [connection.send(asked), connection.send(h11.Data(data=body)), connection.send(h11.EndOfMessage())]
    writer.write(b"".join(part for part in out if part))
    await writer.drain()
    response: h11.Response | None = None
    received = bytearray()
    while True:
        event = connection.next_event()
        if event is h11.NEED_DATA:
            connection.receive_data(await reader.read(65536))
        elif isinstance(event, h11.Response):
            response = event
        elif isinstance(event, h11.Data):
            received += event.data
        elif isinstance(event, h11.EndOfMessage) and response is not None:
            pairs = tuple((name.decode("ascii"), value.decode("latin-1")) for name, value in response.headers)
            return Answer(response.status_code, pairs, bytes(received), time.perf_counter() - started)
        elif isinstance(event, h11.ConnectionClosed):
            raise EOFError("closed without an answer")


def abort(transport: asyncio.BaseTransport | None) -> None:
    """Breaks a connection off with a TCP reset; what was not yet flushed is lost."""
    if transport is None:
        return
    raw = transport.get_extra_info("socket")
    if raw is not None:
        with contextlib.suppress(OSError):
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    cast(asyncio.WriteTransport, transport).abort()


class Connection(H11Protocol):
    """uvicorn's HTTP connection, remembered by its caller's address, so that a stand-in can reset it (`hang_up`)."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn's own
        """Remembers the transport; a websocket that grows out of this connection keeps it."""
        super().connection_made(transport)
        if self.client is not None:
            _OPEN[self.client] = transport


def hang_up(scope: Scope) -> None:
    """Resets the connection (HTTP or websocket) that this ASGI scope belongs to."""
    abort(_OPEN.get(tuple(scope["client"])))


class Reset(Response):
    """An answer that never comes: the connection is reset instead."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI."""
        hang_up(scope)
        while (await receive())["type"] != "http.disconnect":
            continue


class HttpServer:
    """An ASGI app on a loopback port, inside the running event loop: no signals, no access log, stops at once (open requests are cut off)."""

    def __init__(self, app: ASGIApp) -> None:
        config = uvicorn.Config(
            app,
            http=Connection,
            lifespan="off",
            log_config=None,
            access_log=False,
            date_header=False,
            proxy_headers=False,
            ws_max_size=2**20,
        )
        config.load()
        self._server = uvicorn.Server(config)
        self._server.lifespan = config.lifespan_class(config)

    async def start(self, port: int = 0) -> str:
        """Listens on 127.0.0.1 (port 0: a free one) and returns the base address."""
        listener = socket.create_server(("127.0.0.1", port))
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # else an answer in two writes waits 40 ms
        await self._server.startup(sockets=[listener])
        await self._server.on_tick(0)
        return f"http://127.0.0.1:{listener.getsockname()[1]}"

    async def stop(self) -> None:
        """Closes the port, cuts every connection and ends every request."""
        state = self._server.server_state
        for server in self._server.servers:
            server.close()
        for connection in list(state.connections):
            abort(connection.transport)
        tasks = list(state.tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
