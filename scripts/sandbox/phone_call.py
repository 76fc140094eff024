"""A call as the person at the phone has it: what they say, what they hear, and when.

`Call` is what a test or a script acts with. It knows nothing of TwiML (`phone_twiml`) and nothing of sockets
(`phone_media`); it hands out the caller's frames, takes Clara's, and keeps both on one timeline.

Invariants: `Call.ms` is media time since the call began and never goes back; `Call.heard` is what really was played,
frame by frame, and never what was sent; waiting is counted in media time.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from email.utils import format_datetime
from pathlib import Path
from typing import Any

from scripts.sandbox.elevenlabs_stt import schedule
from scripts.sandbox.phone_media import Stream
from scripts.sandbox.phone_twiml import OVER, Script
from scripts.sandbox.speech import say as speech
from scripts.sandbox.speech import utter
from scripts.sandbox.watermark import FRAME, Reader, mark
from scripts.sandbox.wav import FRAME_MS, Track, write
from scripts.sandbox.world import Utterance, World

PATIENCE_MS = 30_000
"""How long the scenario functions wait, in media time."""
SLACK = 15.0
"""Seconds of wall time that a busy machine is allowed on top."""


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened on a call, at `ms` of its media time."""

    ms: int
    kind: str
    detail: Any = None


@dataclass(frozen=True, slots=True)
class Said:
    """What the caller said, and when: first and last millisecond."""

    utterance: Utterance
    start_ms: int
    end_ms: int


@dataclass(slots=True)
class Heard:
    """One string of Clara's as far as the caller heard it. `indexes` are the frames played, of `count`."""

    utterance: Utterance
    count: int
    start_ms: int
    end_ms: int = 0
    indexes: set[int] = field(default_factory=set)

    @property
    def complete(self) -> bool:
        """Whether every frame was played."""
        return len(self.indexes) == self.count

    @property
    def text(self) -> str:
        """The words that were heard to their end."""
        if self.complete:
            return self.utterance.text
        ends = schedule(self.utterance.text, self.count)
        return " ".join(word for frame, words in sorted(ends.items()) if frame in self.indexes for word in words)


class CallEnded(RuntimeError):
    """The call ended while the scenario waited for something else."""


class Impatient(TimeoutError):
    """What the scenario waited for did not happen."""


@dataclass(eq=False, slots=True)
class _Waiter:
    """Somebody who waits for `condition`, in media time until `deadline_ms`."""

    condition: Callable[[], bool]
    deadline_ms: int
    met: asyncio.Future[bool]


class Call:
    """One call, seen from the phone."""

    def __init__(self, world: World, frm: str, to: str, locale: str) -> None:
        self.world = world
        self.sid = world.sid("CA")
        self.frm, self.to, self.locale = frm, to, locale
        self.status = "ringing"
        self.ms = 0
        self.caller, self.clara = Track(), Track()
        self.timeline: list[Event] = []
        self.problems: list[tuple[int, str]] = []
        self.heard: list[Heard] = []
        self.streams: list[Stream] = []
        self.whispers: list[str] = []
        self.stream: Stream | None = None
        self.script: Script | None = None
        self._outgoing: deque[tuple[bytes, Callable[[], None] | None]] = deque()
        self._reader = Reader()
        self._sounding_from: int | None = None
        self._sound_ms = -(10**9)
        self._waiters: list[_Waiter] = []
        self._began = world.clock.now()
        self._ended: datetime | None = None
        self._task: asyncio.Task[None] | None = None

    def start(self, script: Script) -> None:
        """Lets the carrier run the call in the background."""
        self.script = script
        self.world.calls[self.sid] = self
        self._task = self.world.spawn(script.run())

    # --- what a scenario does ---------------------------------------------------------------------------------------

    async def say(self, text: str, locale: str | None = None) -> Said:
        """Says `text` and returns when it has been said. locale: the call's, unless given."""
        return await self._utter(utter(self.world, self.sid, text, locale or self.locale))

    async def play(self, ulaw: bytes) -> None:
        """Plays sound that is no speech (noise, music, a cough), and returns when it is over."""
        await self._speak([ulaw[at : at + FRAME].ljust(FRAME, b"\xff") for at in range(0, len(ulaw), FRAME)])

    async def interrupt(self, text: str, after_ms: int = 0, locale: str | None = None) -> Said:
        """Waits until Clara has been speaking for `after_ms` without a pause of 200 ms, then says `text` over her."""
        utterance = utter(self.world, self.sid, text, locale or self.locale)
        await speech(self.world, text, utterance.locale, "caller")  # made before, so that it starts on time
        await self.until(lambda: self._speaking_for() > after_ms, f"Clara speaking for {after_ms} ms")
        return await self._utter(utterance)

    async def press(self, digits: str) -> None:
        """Presses keys during a media stream."""
        if self.stream is None:
            raise CallEnded("no media stream takes the keys")
        self.note("press", digits)
        await self.stream.press(digits)

    async def wait(self, ms: int) -> None:
        """Lets `ms` of media time pass."""
        end = self.ms + ms
        await self.until(lambda: self.ms >= end, f"{ms} ms to pass", ms + PATIENCE_MS)

    async def wait_clara_speaking(self, timeout_ms: int = PATIENCE_MS) -> int:
        """Returns the media time at which Clara is heard (at once, if she is speaking)."""
        await self.until(lambda: self._speaking_for() >= 0, "Clara to speak", timeout_ms)
        return self.ms

    async def wait_clara_silent(self, ms: int = 700, timeout_ms: int = 2 * PATIENCE_MS) -> int:
        """Returns once Clara has said something and then nothing for `ms`; the answer is when she fell silent."""
        await self.until(
            lambda: bool(self.heard) and self.ms - self._sound_ms >= ms, f"Clara silent for {ms} ms", timeout_ms
        )
        return self._sound_ms

    async def wait_heard(self, part: str, timeout_ms: int = 2 * PATIENCE_MS) -> int:
        """Returns the media time once the caller has heard words that contain `part` (case ignored)."""
        await self.until(lambda: part.lower() in self.heard_text().lower(), f"{part!r} to be heard", timeout_ms)
        return self.ms

    async def hang_up(self) -> None:
        """The caller hangs up; returns when the call is over at the carrier too."""
        self.note("caller hangs up")
        if self.script is not None:
            self.script.interrupt(None)
        await self.over()

    def drop(self) -> None:
        """The media socket breaks without `stop`; the call itself lives on with `<Connect action>`, as at Twilio."""
        self.note("drop")
        if self.stream is not None:
            self.stream.drop()

    async def over(self, timeout_ms: int = 10 * PATIENCE_MS) -> str:
        """Waits for the end of the call; returns its final status."""
        if self._task is not None:
            await asyncio.wait_for(asyncio.shield(self._task), timeout_ms / 1000 / self.world.speed + SLACK)
        return self.status

    # --- what a test reads ------------------------------------------------------------------------------------------

    def heard_text(self) -> str:
        """Everything of Clara's that the caller heard so far, in order, half-heard strings as far as they got."""
        return " ".join(heard.text for heard in self.heard if heard.text)

    def events(self, kind: str) -> list[Event]:
        """The timeline's entries of one kind."""
        return [event for event in self.timeline if event.kind == kind]

    def wav(self, path: str | Path) -> None:
        """Writes the recording: left the caller, right Clara."""
        write(path, self.caller, self.clara)

    async def until(self, condition: Callable[[], bool], what: str = "it", timeout_ms: int = PATIENCE_MS) -> None:
        """Waits until `condition` holds (looked at with every frame and event). Raises `CallEnded` or `Impatient`."""
        if condition():
            return
        if self.status in OVER:
            raise CallEnded(f"the call is over ({self.status}); waited for {what}; {self._tail()}")
        waiter = _Waiter(condition, self.ms + timeout_ms, asyncio.get_running_loop().create_future())
        self._waiters.append(waiter)
        met = False
        try:
            met = await asyncio.wait_for(waiter.met, timeout_ms / 1000 / self.world.speed + SLACK)
        except TimeoutError:
            pass  # no media time passed: nothing else looked at the deadline
        finally:
            self._waiters.remove(waiter)
        if not met and self.status in OVER:
            raise CallEnded(f"the call ended ({self.status}) before {what}; {self._tail()}")
        if not met:
            raise Impatient(f"waited {timeout_ms} ms for {what}; {self._tail()}")

    def resource(self) -> Mapping[str, Any]:
        """The call as REST tells it."""
        ended = self._ended
        return {
            "status": self.status,
            "direction": "inbound",
            "from": self.frm,
            "to": self.to,
            "start_time": format_datetime(self._began),
            "end_time": format_datetime(ended) if ended else None,
            "duration": str(self.ms // 1000) if ended else None,
        }

    # --- what the stream asks (Leg) ---------------------------------------------------------------------------------

    def next_frame(self) -> bytes | None:
        """The caller's next 20 ms."""
        if not self._outgoing:
            return None
        frame, done = self._outgoing.popleft()
        self.caller.put(self.ms, frame)
        if done is not None:
            done()
        return frame

    def played(self, piece: bytes) -> None:
        """Clara's 20 ms as the caller hears them."""
        if piece:
            self.clara.put(self.ms, piece)
            for found in self._reader.feed(piece):
                self._hear(found.utterance, found.index, found.count)
            if piece.strip(b"\xff"):
                began = self.ms - self._sound_ms > 200
                self._sound_ms = self.ms + FRAME_MS
                if began:
                    self._sounding_from = self.ms
                    self.note("clara speaks")
        self._wake()

    def note(self, kind: str, detail: Any = None) -> None:
        """Adds to the timeline."""
        self.timeline.append(Event(self.ms, kind, detail))
        self._wake()

    def problem(self, code: int, detail: str) -> None:
        """Adds what Twilio's debugger would show."""
        self.problems.append((code, detail))
        self.note("problem", (code, detail))

    def _hear(self, id: int, index: int, count: int) -> None:
        utterance = self.world.utterances.get(id)
        if utterance is None:
            return
        if not self.heard or self.heard[-1].utterance.id != id or index in self.heard[-1].indexes:
            self.heard.append(Heard(utterance, count, self.ms))
        self.heard[-1].indexes.add(index)
        self.heard[-1].end_ms = self.ms + FRAME_MS

    def _speaking_for(self) -> int:
        """Milliseconds for which Clara has been speaking; -1: she is not."""
        if self._sounding_from is None or self.ms - self._sound_ms > 200:
            return -1
        return self._sound_ms - self._sounding_from

    async def _utter(self, utterance: Utterance) -> Said:
        ulaw = mark(await speech(self.world, utterance.text, utterance.locale, "caller"), utterance.id)
        self.note("caller speaks", utterance.text)
        start, end = await self._speak([ulaw[at : at + FRAME] for at in range(0, len(ulaw), FRAME)])
        return Said(utterance, start, end)

    async def _speak(self, pieces: list[bytes]) -> tuple[int, int]:
        if self.stream is None:
            raise CallEnded(f"nobody can hear the caller now; {self._tail()}")
        spoken: list[int] = []
        put = lambda: spoken.append(self.ms)  # noqa: E731 - two marks on the way out
        last = len(pieces) - 1
        self._outgoing.extend((piece, put if at in (0, last) else None) for at, piece in enumerate(pieces))
        await self.until(
            lambda: len(spoken) == (2 if last else 1), "the caller to finish", len(pieces) * FRAME_MS + PATIENCE_MS
        )
        return spoken[0], spoken[-1] + FRAME_MS

    def _wake(self) -> None:
        for waiter in self._waiters:
            if waiter.met.done():
                continue
            met = waiter.condition()
            if met or self.status in OVER or self.ms > waiter.deadline_ms:
                waiter.met.set_result(met)

    def _tail(self) -> str:
        last = ", ".join(f"{event.ms}:{event.kind}={event.detail!r}"[:120] for event in self.timeline[-12:])
        return f"heard {self.heard_text()!r}; {last}"

    # --- what the carrier does (Script) -----------------------------------------------------------------------------

    def answered(self) -> None:
        """The line is open."""
        if self.status == "ringing":
            self.status = "in-progress"
            self.note("answered")

    @contextmanager
    def streaming(self, stream: Stream) -> Iterator[None]:
        """While a media stream runs; what the caller had not said before it is not said in it."""
        self._outgoing.clear()
        self._reader = Reader()
        self.stream = stream
        self.streams.append(stream)
        try:
            yield
        finally:
            self.stream = None

    async def pass_time(self, ms: int) -> None:
        """Media time outside a stream."""
        end = self.ms + ms
        while self.ms < end:
            step = min(100, end - self.ms)
            await self.world.pause(step / 1000 / self.world.speed)
            self.ms += step
            self._wake()

    def end(self, status: str) -> None:
        """The call is over."""
        self.status = status
        self._ended = self.world.clock.now()
        self.note("over", status)
