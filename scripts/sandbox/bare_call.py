"""A call without a wire: a line, a transcriber, a synthesiser and a pipeline that speak the bridge's protocols and nothing else.

What runs between them is the real bridge with its machine, detector, codec and gate. It serves where a network would only be in the way: to measure
what a call costs, and to let each part fail at will. Nothing here waits on its own account: the line is handed frame after frame.
"""

from __future__ import annotations

import asyncio
import base64
import json
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, cast

from pipeline.calls import CallDesk, CallInfo, Spoken
from pipeline.core.gate import Passed
from pipeline.core.property import Property
from pipeline.core.templates import Templates
from pipeline.store import SpokenRow
from pipeline.turn import Engine
from scripts.sandbox.phone_media import Playout
from voice.bridge import Bridge
from voice.stt_elevenlabs import Committed, HearingEvent, HearingLost, HearingUnavailable

HOUSE = Property("house", "Maple Court", "America/Chicago", "en", "1 Maple Street", "+13125550100", {})
QUIET = b"\xff" * 160
MS_PER_CHARACTER = 60


class Line:
    """Twilio's end: `hear` hands over a frame of the caller's, and plays 20 ms of Clara's. `stuck` lines read nothing."""

    def __init__(self) -> None:
        self.playout = Playout()
        self.frames = 0
        self.played = bytearray()
        self.stuck = False
        self._in: asyncio.Queue[str | None] = asyncio.Queue()

    async def receive(self) -> str | None:
        return await self._in.get()

    async def send(self, text: str) -> None:
        if self.stuck:
            await asyncio.Event().wait()
        message = json.loads(text)
        match message["event"]:
            case "media":
                self.playout.media(base64.b64decode(message["media"]["payload"]))
            case "mark":
                self._echo(self.playout.mark(message["mark"]["name"]))
            case "clear":
                self._echo(self.playout.clear())

    def hear(self, frame: bytes = QUIET) -> None:
        """20 ms pass."""
        payload = base64.b64encode(frame).decode()
        self._in.put_nowait(
            f'{{"event":"media","sequenceNumber":"{self.frames + 2}","media":{{"track":"inbound","chunk":"{self.frames + 1}",'
            f'"timestamp":"{self.frames * 20}","payload":"{payload}"}},"streamSid":"MZ1"}}'
        )
        self.frames += 1
        audio, marks = self.playout.play()
        self.played += audio
        self._echo(marks)

    def raw(self, text: str) -> None:
        """Any frame."""
        self._in.put_nowait(text)

    def hang_up(self) -> None:
        """The socket closes without `stop`."""
        self._in.put_nowait(None)

    def _echo(self, names: list[str]) -> None:
        for name in names:
            self._in.put_nowait(json.dumps({"event": "mark", "mark": {"name": name}}))


class Session:
    """A transcriber that answers each commit with the next of its texts."""

    def __init__(self, ears: Ears) -> None:
        self.ears = ears
        self._events: asyncio.Queue[HearingEvent | None] = asyncio.Queue()

    async def send(self, ulaw: bytes) -> None:
        self.ears.heard_bytes += len(ulaw)

    async def commit(self) -> None:
        texts = self.ears.texts
        self._events.put_nowait(Committed(texts.popleft() if texts else "", None, "en", low_confidence=False))

    def lose(self, retryable: bool = True) -> None:
        """The connection breaks."""
        self._events.put_nowait(HearingLost("broken off", retryable))

    async def __aiter__(self) -> AsyncIterator[HearingEvent]:
        while (event := await self._events.get()) is not None:
            yield event

    async def close(self) -> None:
        self._events.put_nowait(None)


@dataclass
class Ears:
    """`down`: how many openings fail from here on. `sessions` are all that were opened."""

    texts: deque[str] = field(default_factory=deque)
    down: int = 0
    heard_bytes: int = 0
    sessions: list[Session] = field(default_factory=list)

    async def open(self, language: str | None) -> Session:
        if self.down:
            self.down -= 1
            raise HearingUnavailable(HearingLost("unreachable", retryable=True))
        self.sessions.append(Session(self))
        return self.sessions[-1]


@dataclass
class Mouth:
    """Audio in 60 ms chunks, as long as the text. `fail_on`: breaks off in the middle of texts that contain it; `hang`: makes no sound at all."""

    fail_on: str = "\0"
    hang: bool = False
    closed: int = 0

    async def speak(self, passed: Passed) -> AsyncIterator[bytes]:
        try:
            if self.hang:
                await asyncio.Event().wait()
            chunks = max(2, len(passed.text) * MS_PER_CHARACTER // 60)
            for number in range(chunks):
                if self.fail_on in passed.text and number == chunks // 2:
                    raise ConnectionError("the synthesis broke off")
                yield b"\x55" * 480
        finally:
            self.closed += 1

    async def close(self) -> None:
        """Nothing to close."""


@dataclass
class Books:
    """Keeps what was said, and nothing else. `fail`: how many writes fail from here on."""

    rows: dict[str, SpokenRow] = field(default_factory=dict)
    fail: int = 0

    async def transact(self, fn: Callable[..., Any], *args: Any) -> Any:
        await asyncio.sleep(0)
        if self.fail:
            self.fail -= 1
            raise ConnectionError("no database")
        return fn(None, *args)

    read = transact

    def record_utterances(self, tx: Any, rows: list[SpokenRow]) -> None:
        for row in rows:
            known = self.rows.get(row.id)
            if known is None or len(row.heard) >= len(known.heard):
                self.rows[row.id] = row

    def now(self) -> datetime:
        return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class Desk(CallDesk):
    """A pipeline that answers every utterance by `answer`."""

    answer: Callable[[str], Awaitable[Spoken]]

    async def utterance(
        self, call: CallInfo, number: int, text: str, low_confidence: bool, heard: frozenset[str], locale: str, budget: float
    ) -> Spoken:
        return await self.answer(text)


@dataclass
class BareCall:
    """One call and its bridge. `ended` are the reports of its end."""

    answer: Callable[[str], Awaitable[Spoken]]
    line: Line = field(default_factory=Line)
    ears: Ears = field(default_factory=Ears)
    mouth: Mouth = field(default_factory=Mouth)
    books: Books = field(default_factory=Books)
    ended: list[str] = field(default_factory=list)

    def bridge(self, number: int = 1) -> Bridge:
        """The bridge of this call; `run` it."""
        books = cast(Any, self.books)
        templates = Templates(("pipeline.templates", "pipeline.domains.leasing.templates"))
        engine = Engine(books, books, books, books, templates, {HOUSE.id: HOUSE}, books, books, {})
        desk = Desk(engine, books, books, "node", self.answer)
        call = CallInfo(f"call-{number}", f"CA{number}", HOUSE, "+13125550177", "+13125550100", False)

        async def end(provider_id: str, outcome: str) -> None:
            self.ended.append(f"{provider_id} {outcome}")

        return Bridge(self.line, desk, call, "MZ1", self.ears, self.mouth, end)
