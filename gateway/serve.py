"""Serving: one process, everything in it (OP-1). With `--sandbox` the stand-ins of all providers run beside it, and no key is needed."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import socket
import sys

import uvicorn

from gateway.app import make_app
from gateway.build import Clara, build, describe
from gateway.settings import Settings, load
from pipeline.errors import SettingsError

log = logging.getLogger("clara")

SANDBOX_PORT = 8090
SWITCH = 0.0005  # seconds; a database thread asks for the interpreter after every statement and waits so long for it, behind a busy event loop


class Server:
    """A gateway that listens on a port inside the running event loop."""

    def __init__(self, clara: Clara) -> None:
        self.clara = clara
        sys.setswitchinterval(SWITCH)
        config = uvicorn.Config(
            make_app(clara), log_config=None, access_log=False, ws_max_size=64 * 1024, proxy_headers=False, lifespan="on",
            timeout_graceful_shutdown=max(1, int(clara.settings.drain)),
        )  # fmt: skip
        config.load()
        self._server = uvicorn.Server(config)
        self._server.lifespan = config.lifespan_class(config)

    async def start(self, listener: socket.socket) -> str:
        """Begins to serve on a bound socket; its address. Raises SettingsError where the start-up failed."""
        await self._server.startup(sockets=[listener])
        if self._server.should_exit:
            raise SettingsError("The gateway did not start; the log above says why.")
        await self._server.on_tick(0)
        host, port = listener.getsockname()[:2]
        return f"http://{host}:{port}"

    async def stop(self) -> None:
        """Stops taking calls and webhooks, lets what runs end, drains the loops (OP-4)."""
        await self._server.shutdown()


def listen(host: str, port: int) -> socket.socket:
    """A bound socket; SettingsError with the mend where the port is taken."""
    try:
        listener = socket.create_server((host, port))
    except OSError as problem:
        raise SettingsError(f"Cannot listen on {host}:{port} ({problem}). Set CLARA_PORT to a free port.") from problem
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener


def run(sandbox: bool) -> int:
    """`clara serve`. Runs until SIGTERM or Ctrl-C."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s", stream=sys.stderr)
    logging.getLogger("httpx2").setLevel(logging.WARNING)
    logging.getLogger("httpx").setLevel(logging.WARNING)
    return asyncio.run(_run_sandbox() if sandbox else _run(load(os.environ)))


async def _run(settings: Settings) -> int:
    server = Server(await asyncio.to_thread(build, settings))
    url = await server.start(listen(settings.host, settings.port))
    log.info("serving at %s: %s", url, describe(settings))
    await _until_signal()
    await server.stop()
    return 0


async def _run_sandbox() -> int:
    from scripts.sandbox.app import Sandbox
    from scripts.sandbox.environment import environment, new_world

    listener = listen(os.environ.get("CLARA_HOST", "127.0.0.1"), int(os.environ.get("CLARA_PORT", "8080")))
    host, port = listener.getsockname()[:2]
    offset = float(os.environ.get("CLARA_CLOCK_OFFSET") or 0)
    sandbox = Sandbox(new_world(f"http://{host}:{port}", offset=offset))
    await sandbox.start(port=int(os.environ.get("CLARA_SANDBOX_PORT", SANDBOX_PORT)))
    settings = load(environment(sandbox.describe()) | dict(os.environ))
    server = Server(await asyncio.to_thread(build, settings))
    await server.start(listener)
    log.info("serving at http://%s:%s: %s", host, port, describe(settings))
    print(json.dumps({"gateway": f"http://{host}:{port}", "sandbox": sandbox.url, "control": f"{sandbox.url}/_control"}), flush=True)
    await _until_signal()
    await server.stop()
    await sandbox.stop()
    return 0


async def _until_signal() -> None:
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    await stop.wait()
