"""A gateway that stamps where the time of a turn goes: the real one, with watchers around its ports. Run by `scripts/bench/turn`.

A turn's line of time starts when the last byte of its webhook was read and ends when the last byte of its message was handed to the provider; what lies
between is cut into stages, each ending where a port was entered or left. The stand-ins' own service time, as they report it in `x-sandbox-service-ms`,
is taken out of the model's stages. Only what is awaited is stamped: a wait for the event loop or for a thread counts.

It prints the recipient of each message that was handed over, and on SIGTERM writes the lines of time to the file that it is given.
"""

from __future__ import annotations

import asyncio
import dataclasses
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gateway.build import Clara, build
from gateway.serve import Server, listen
from gateway.settings import load

SMS = "/webhooks/twilio/sms"

_read_at: ContextVar[float] = ContextVar("read_at")
_turn: ContextVar[str | None] = ContextVar("turn", default=None)


@dataclass(slots=True)
class Line:
    """One turn: seconds of the monotonic clock at its start and its end, and seconds by stage, service time taken out."""

    start: float
    last: float
    cpu: float = field(default_factory=time.process_time)  # of the whole process, when the turn began
    service: float = 0.0
    waited: float = 0.0  # service time since the last stamp
    end: float | None = None
    stages: dict[str, float] = field(default_factory=dict)

    def stamp(self, stage: str) -> None:
        """Ends `stage` now."""
        if self.end is None:
            now = time.perf_counter()
            self.stages[stage] = self.stages.get(stage, 0.0) + now - self.last - self.waited
            self.last, self.waited = now, 0.0


class Lines:
    """The lines of all turns."""

    def __init__(self) -> None:
        self.by_turn: dict[str, Line] = {}
        self._turn_of: dict[str, str] = {}  # by intent

    def stamp(self, turn: str | None, stage: str) -> None:
        line = self.by_turn.get(turn or "")
        if line is not None:
            line.stamp(stage)

    def stamp_intent(self, intent: str, stage: str) -> None:
        self.stamp(self._turn_of.get(intent), stage)

    def served(self, seconds: float) -> None:
        line = self.by_turn.get(_turn.get() or "")
        if line is not None:
            line.service += seconds
            line.waited += seconds

    def handed_over(self, intent: str) -> None:
        line = self.by_turn.get(self._turn_of.get(intent, ""))
        if line is not None and line.end is None:
            line.stamp("send")
            line.end = line.last

    # what the database was asked, before and after

    def before(self, name: str, args: tuple[Any, ...]) -> None:
        match name:
            case "commit":
                self._turn_of |= {new.id: args[0].turn for new in args[0].intents if new.customer_facing}
                self.stamp(args[0].turn, "decide")
            case "compose":
                self.stamp_intent(args[0], "gate")
            case "begin_attempt":
                self.stamp_intent(args[0].intent, "policy")

    def after(self, name: str, args: tuple[Any, ...], result: Any) -> None:
        match name:
            case "accept" if not result.duplicate:
                line = Line(_read_at.get(), _read_at.get())
                self.by_turn[result.turn] = line
                line.stamp("accept")
            case "lease_turns":
                for lease in result:
                    self.stamp(lease.turn, "turn lease")
            case "snapshot":
                _turn.set(args[0])
                self.stamp(args[0], "snapshot")
            case "commit":
                self.stamp(args[0].turn, "commit")
            case "promised":
                self.stamp(args[0], "promised")
            case "compose":
                self.stamp_intent(args[0], "store payload")
            case "lease_intents":
                for lease in result:
                    self.stamp_intent(lease.intent, "relay lease")
            case "begin_attempt":
                self.stamp_intent(args[0].intent, "attempt")


@dataclass(frozen=True, slots=True)
class WatchedDatabase:
    """The database, with a look at what goes in and comes out."""

    db: Any
    lines: Lines

    async def transact(self, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        return await self._watched(self.db.transact, fn, args, kwargs)

    async def read(self, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        return await self._watched(self.db.read, fn, args, kwargs)

    async def close(self) -> None:
        await self.db.close()

    async def _watched(self, door: Callable[..., Any], fn: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        self.lines.before(fn.__name__, args)
        result = await door(fn, *args, **kwargs)
        self.lines.after(fn.__name__, args, result)
        return result


@dataclass(frozen=True, slots=True)
class WatchedModel:
    """The reader or the drafter: what lies before the call, and the call without the service time."""

    model: Any
    lines: Lines

    async def read(self, request: Any, budget: float) -> Any:
        self.lines.stamp(_turn.get(), "prepare reading")
        answer = await self.model.read(request, budget)
        self.lines.stamp(_turn.get(), "read call")
        return answer

    async def draft(self, request: Any, budget: float) -> Any:
        self.lines.stamp(_turn.get(), "render")
        answer = await self.model.draft(request, budget)
        self.lines.stamp(_turn.get(), "draft call")
        return answer


def watch_carrier(carrier: Any, lines: Lines) -> None:
    """Stamps the moment at which the last byte of a request was written, on the thread that wrote it."""
    sending = threading.local()
    http = carrier._client.http_client
    create, connect = carrier._create, http._connect

    def watched_create(attempt: Any, body: str) -> Any:
        sending.intent = attempt.intent
        return create(attempt, body)

    def watched_connect(*args: Any) -> Any:
        connection = connect(*args)
        request = connection.request

        def watched_request(*parts: Any, **more: Any) -> None:
            request(*parts, **more)
            lines.handed_over(sending.intent)

        connection.request = watched_request
        return connection

    carrier._create, http._connect = watched_create, watched_connect


def watch(clara: Clara) -> Lines:
    """Puts watchers around the ports of a gateway that does not run yet."""
    lines = Lines()
    db = WatchedDatabase(clara.db, lines)
    reader, drafter = clara.engine.reader, clara.engine.drafter
    client = reader._calls.client  # type: ignore[attr-defined]  # the one client of both

    async def note_service(response: Any) -> None:
        lines.served(float(response.headers.get("x-sandbox-service-ms", 0)) / 1000)

    client._client.event_hooks = {"response": [note_service]}
    carrier = clara.relay.carriers["sms"]
    watch_carrier(carrier, lines)
    send = carrier.send

    async def announced(attempt: Any) -> Any:
        try:
            return await send(attempt)
        finally:
            print(attempt.recipient, flush=True)

    carrier.send = announced  # type: ignore[method-assign]
    clara.engine = dataclasses.replace(
        clara.engine, db=db, reader=WatchedModel(reader, lines), drafter=WatchedModel(drafter, lines)
    )
    clara.db = db  # type: ignore[assignment]
    clara.workers.engine, clara.workers.db = clara.engine, db
    clara.relay = dataclasses.replace(clara.relay, db=db)
    return lines


def stamped(app: ASGIApp) -> ASGIApp:
    """Notes when the last byte of a text's webhook was read."""

    async def wrapped(scope: Scope, receive: Receive, send: Send) -> None:
        async def noted() -> Message:
            message = await receive()
            if message["type"] == "http.request" and not message.get("more_body"):
                _read_at.set(time.perf_counter())
            return message

        await app(scope, noted if scope.get("path") == SMS else receive, send)

    return wrapped


async def main() -> None:
    clara = await asyncio.to_thread(build, load(os.environ))
    lines = watch(clara)
    server = Server(clara)
    config = server._server.config
    config.loaded_app = stamped(config.loaded_app)
    url = await server.start(listen("127.0.0.1", clara.settings.port))
    print(url, flush=True)
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    await stop.wait()
    await server.stop()
    told = [{"own": line.end - line.start - line.service, "cpu": line.cpu, "start": line.start, "stages": line.stages}
            for line in lines.by_turn.values() if line.end is not None]  # fmt: skip
    Path(sys.argv[1]).write_text(json.dumps(told))  # noqa: ASYNC240  # the run is over; nothing waits for this loop


if __name__ == "__main__":
    asyncio.run(main())
