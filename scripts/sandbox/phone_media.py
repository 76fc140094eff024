"""Twilio's side of one media stream: the frames that go out, the audio that is played, and how a line can misbehave.

The stream's clock is its media: frame n is at n × 20 ms of media time. In real time (`World.speed` 1) frames leave on an
absolute clock, as Twilio's do: a late loop catches up in a burst. Faster than that, a late loop lets media time slow
down instead, so that a busy machine stretches a test and does not bend it. Playing follows the same clock: with each
frame sent, 160 bytes of the buffer are played, so the playing position and `media.timestamp` never drift apart.

`Playout` is the buffer (pure): marks come back when everything before them was played; `clear` empties it and returns
every pending mark, just as if they had been played. That ambiguity is the real one's.
"""

from __future__ import annotations

import asyncio
import base64
import json
import random
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Protocol
from urllib.parse import urlsplit

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake

from scripts.sandbox.faults import register
from scripts.sandbox.wav import FRAME, FRAME_MS, SILENCE, encode
from scripts.sandbox.webhooks import sign, to_loopback
from scripts.sandbox.world import World

DROP = register("phone.drop", "the media socket is reset without `stop`, `seconds` (2) into the stream")
STOP_TWICE = register("phone.stop_twice", "`stop` is sent twice")
BUNCHES = register("phone.bunches", "caller audio arrives in bunches of `frames` (5)")
MUTE_MARKS = register("phone.mute_marks", "no mark is ever echoed")
SLOW_READER = register("phone.slow_reader", "each message is read `ms` (40) late")
LATE_CLEAR = register(
    "phone.late_clear", "`clear` takes effect `ms` (100) late, so that marks may truly play meanwhile"
)

BUFFER_BYTES = 10 * 60 * 8000
"""What Twilio buffers at most (31931)."""
MESSAGE_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class Manners:
    """How a line behaves; the default behaves. Times in milliseconds of media time.

    noise: amplitude of the line's noise floor in 16-bit units (0: digital silence).
    """

    drop_after_ms: int | None = None
    stop_twice: bool = False
    bunch: int = 1
    echo_marks: bool = True
    read_delay_ms: int = 0
    clear_lag_ms: int = 0
    noise: int = 0


def armed_manners(world: World) -> Manners:
    """The manners of the next stream by the faults that are armed."""
    take = world.faults.take
    drop, bunches, slow, late = take(DROP), take(BUNCHES), take(SLOW_READER), take(LATE_CLEAR)
    return Manners(
        drop_after_ms=int(drop.get("seconds", 2) * 1000) if drop else None,
        stop_twice=take(STOP_TWICE) is not None,
        bunch=bunches.get("frames", 5) if bunches else 1,
        echo_marks=take(MUTE_MARKS) is None,
        read_delay_ms=slow.get("ms", 40) if slow else 0,
        clear_lag_ms=late.get("ms", 100) if late else 0,
    )


class Playout:
    """Twilio's playback buffer of one stream."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._marks: deque[tuple[int, str]] = deque()
        self._appended = self._played = 0

    @property
    def waiting_ms(self) -> int:
        """Milliseconds of audio not yet played."""
        return len(self._buffer) // 8

    def media(self, ulaw: bytes) -> bool:
        """Queues audio; False: the buffer is full and the audio is lost."""
        if len(self._buffer) + len(ulaw) > BUFFER_BYTES:
            return False
        self._buffer += ulaw
        self._appended += len(ulaw)
        return True

    def mark(self, name: str) -> list[str]:
        """Sets a mark; returns the marks to echo now (this one, where nothing is left to play)."""
        self._marks.append((self._appended, name))
        return self._due()

    def play(self) -> tuple[bytes, list[str]]:
        """20 ms pass: the audio played (fewer than 160 bytes: the rest was silence) and the marks to echo."""
        piece = bytes(self._buffer[:FRAME])
        del self._buffer[:FRAME]
        self._played += len(piece)
        return piece, self._due()

    def clear(self) -> list[str]:
        """Drops what is queued; returns the pending marks, in order."""
        self._buffer.clear()
        self._played = self._appended
        return self._due()

    def _due(self) -> list[str]:
        due = []
        while self._marks and self._marks[0][0] <= self._played:
            due.append(self._marks.popleft()[1])
        return due


class Leg(Protocol):
    """What a stream asks of the call that it belongs to."""

    sid: str
    ms: int

    def next_frame(self) -> bytes | None:
        """The next 20 ms that the caller says, or None."""
        ...

    def played(self, piece: bytes) -> None:
        """The caller heard this during the 20 ms that begin at `ms`."""
        ...

    def note(self, kind: str, detail: Any = None) -> None:
        """Adds to the call's timeline."""
        ...

    def problem(self, code: int, detail: str) -> None:
        """Twilio's debugger would show this."""
        ...


class Refused(Exception):
    """No media socket came about."""


class Stream:
    """One media stream of one call, from the upgrade to the close."""

    def __init__(
        self, world: World, leg: Leg, url: str, parameters: Mapping[str, str], manners: Manners, name: str | None
    ) -> None:
        self.world, self.leg, self.url, self.parameters, self.manners = world, leg, url, dict(parameters), manners
        self.sid = world.sid("MZ")
        self.name = name or self.sid
        self.playout = Playout()
        self.frames = 0
        self._sequence = 0
        self._socket: ClientConnection | None = None
        self._held: list[str] = []
        self._clears: deque[int] = deque()
        self._silence = _noise(manners.noise)

    async def run(self) -> None:
        """Streams until the server closes, or until cancelled: then `stop` is sent first. Raises `Refused`."""
        async with await self._open() as socket:
            self._socket = socket
            await self._greet()
            parts = {asyncio.create_task(self._read()), asyncio.create_task(self._tick())}
            try:
                await asyncio.wait(parts, return_when=asyncio.FIRST_COMPLETED)
            except asyncio.CancelledError:
                await self._stop()
                raise
            finally:
                for part in parts:
                    part.cancel()
                ends = await asyncio.gather(*parts, return_exceptions=True)
            for end in ends:
                if isinstance(end, Exception) and not isinstance(end, ConnectionClosed):
                    raise end
        self.leg.note("stream closed", socket.close_code)

    async def press(self, digits: str) -> None:
        """Keys pressed by the caller."""
        for digit in digits:
            await self._send("dtmf", dtmf={"track": "inbound_track", "digit": digit})

    def drop(self) -> None:
        """Breaks the socket off without `stop` (close code 1006)."""
        if self._socket is not None:
            self._socket.transport.abort()

    async def _open(self) -> ClientConnection:
        parts = urlsplit(self.url)
        if parts.scheme != "wss":
            self.leg.problem(31922, f"the stream's scheme is not wss: {self.url}")
            raise Refused(self.url)
        if parts.query:
            self.leg.problem(31920, "a query string in a stream's URL does not arrive")
        target = parts.path or "/"
        public = f"wss://{parts.netloc}{target}"
        address, host = to_loopback(self.world, f"{'http' if _bare(self.world) else 'https'}://{parts.netloc}{target}")
        local = urlsplit(address)
        signature = sign(self.world.keys.twilio_auth_token, public)
        try:
            return await connect(
                f"ws://{host}{local.path}",
                host=local.hostname,
                port=local.port,
                additional_headers={"x-twilio-signature": signature, "x-forwarded-proto": "https"},
                user_agent_header="Twilio.TmeWs/1.0",
                compression=None,
                proxy=None,
                ping_interval=None,
                open_timeout=10,
                max_size=2**20,
            )
        except (OSError, InvalidHandshake, TimeoutError) as error:
            code = 31920 if isinstance(error, InvalidHandshake) else 31901
            self.leg.problem(code, f"{public}: {error}")
            raise Refused(public) from error

    # --- to the gateway ---------------------------------------------------------------------------------------------

    async def _greet(self) -> None:
        await self._raw({"event": "connected", "protocol": "Call", "version": "1.0.0"})
        await self._send(
            "start",
            start={
                "accountSid": self.world.keys.twilio_account_sid,
                "streamSid": self.sid,
                "callSid": self.leg.sid,
                "tracks": ["inbound"],
                "mediaFormat": {"encoding": "audio/x-mulaw", "sampleRate": 8000, "channels": 1},
                "customParameters": self.parameters,
            },
        )
        self.leg.note("stream started", self.sid)

    async def _tick(self) -> None:
        clock = asyncio.get_running_loop().time
        base, step = self.leg.ms, FRAME_MS / 1000 / self.world.speed
        due = clock()
        while True:
            await asyncio.sleep(max(due - clock(), 0))
            due += step
            if self.world.speed > 1:
                due = max(due, clock())  # late: media time slows down rather than come in a burst
            self.leg.ms = base + self.frames * FRAME_MS
            if self.manners.drop_after_ms is not None and self.frames * FRAME_MS >= self.manners.drop_after_ms:
                self.drop()
                return
            await self._media(self.leg.next_frame() or self._silence[self.frames % len(self._silence)])
            if self._clears and self._clears[0] <= self.leg.ms:
                self._clears.popleft()
                await self._echo(self.playout.clear())
            piece, marks = self.playout.play()
            self.leg.played(piece)
            self.frames += 1
            await self._echo(marks)

    async def _media(self, frame: bytes) -> None:
        self._sequence += 1
        payload = base64.b64encode(frame).decode()
        self._held.append(
            f'{{"event":"media","sequenceNumber":"{self._sequence}",'
            f'"media":{{"track":"inbound","chunk":"{self.frames + 1}",'
            f'"timestamp":"{self.frames * FRAME_MS}","payload":"{payload}"}},"streamSid":"{self.sid}"}}'
        )
        if len(self._held) >= self.manners.bunch:
            await self._flush()

    async def _flush(self) -> None:
        held, self._held = self._held, []
        for message in held:
            await self._raw(message)

    async def _send(self, event: str, **body: Any) -> None:
        await self._flush()
        self._sequence += 1
        await self._raw({"event": event, "sequenceNumber": str(self._sequence), **body, "streamSid": self.sid})

    async def _raw(self, message: Mapping[str, Any] | str) -> None:
        if self._socket is not None:
            await self._socket.send(message if isinstance(message, str) else json.dumps(message))

    async def _echo(self, names: list[str]) -> None:
        for name in names:
            self.leg.note("mark", name)
            if self.manners.echo_marks:
                await self._send("mark", mark={"name": name})

    async def _stop(self) -> None:
        body = {"accountSid": self.world.keys.twilio_account_sid, "callSid": self.leg.sid}
        with suppress(ConnectionClosed):
            for _ in range(2 if self.manners.stop_twice else 1):
                await self._send("stop", stop=body)

    # --- from the gateway -------------------------------------------------------------------------------------------

    async def _read(self) -> None:
        assert self._socket is not None
        async for message in self._socket:
            if self.manners.read_delay_ms:
                await asyncio.sleep(self.manners.read_delay_ms / 1000 / self.world.speed)
            await self._take(message)

    async def _take(self, raw: str | bytes) -> None:
        try:
            event, value = _parsed(raw, self.sid)
        except ValueError as error:
            self.leg.problem(31950 if isinstance(raw, bytes) else 31924, str(error))
            return
        if event == "mark":
            await self._echo(self.playout.mark(str(value)))
        elif event == "media" and isinstance(value, bytes):
            if not self.playout.media(value):
                self.leg.problem(31931, "more than ten minutes of audio are buffered")
        elif event == "clear":
            self.leg.note("clear", self.playout.waiting_ms)
            if self.manners.clear_lag_ms:
                self._clears.append(self.leg.ms + self.manners.clear_lag_ms)
            else:
                await self._echo(self.playout.clear())


def _parsed(raw: str | bytes, sid: str) -> tuple[str, bytes | str | None]:
    """(event, audio or mark name) of a message to Twilio; raises ValueError on what Twilio would not take."""
    if isinstance(raw, bytes):
        raise ValueError("a binary message")
    if len(raw) > MESSAGE_BYTES:
        raise ValueError(f"a message of {len(raw)} bytes")
    message = json.loads(raw)
    if not isinstance(message, dict) or message.get("streamSid") != sid:
        raise ValueError(f"not a message for this stream: {raw[:80]}")
    event = message.get("event")
    if event == "media":
        payload = (message.get("media") or {}).get("payload")
        if not isinstance(payload, str):
            raise ValueError("media without a payload")
        return event, base64.b64decode(payload, validate=True)
    if event == "mark":
        name = (message.get("mark") or {}).get("name")
        if not isinstance(name, str) or not name:
            raise ValueError("a mark without a name")
        return event, name
    if event == "clear":
        return event, None
    raise ValueError(f"unknown event {event!r}")


def _noise(amplitude: int) -> list[bytes]:
    if not amplitude:
        return [bytes([SILENCE]) * FRAME]
    draw = random.Random(8000)
    return [encode(int(draw.gauss(0, amplitude)) for _ in range(FRAME)) for _ in range(23)]


def _bare(world: World) -> bool:
    return world.public_url.startswith("http://")
