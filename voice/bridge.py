"""The bridge: the shell around one call's machine. It moves bytes and events; every decision is the machine's or the pipeline's (VO-1).

Tasks: the media socket is read, the transcriber is fed and read, one sentence after another is synthesised, one turn at a time is thought about, one writer sends.
All run on one event loop and hand their events to the machine synchronously, so that nothing is lost between two queues; what the machine commands is carried out at
once. `clear` goes to the front of what is still unsent. Whatever ends a call cancels the tasks; a commit that has begun runs to its end, and only then is the call
reported as over.

The call's clock is the media's; what is waited for on the wall's clock is providers alone: a turn's budget, and the pauses before a transcriber is tried again.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any, Protocol

from pipeline.calls import CallDesk, CallInfo
from pipeline.core.gate import Passed
from pipeline.speech import Piece
from pipeline.store import SpokenRow
from voice import machine as m
from voice import twilio_codec as codec
from voice.stt_elevenlabs import Committed, HearingEvent, HearingLost, HearingUnavailable
from voice.vad import Detector, Edge

log = logging.getLogger("clara.voice")

LUMP_FRAMES = 4  # 80 ms to the transcriber
MOST_RECONNECTS = 5
MOST_BACKLOG = 62  # lumps kept while the transcriber connects: 5 s
MOST_UNSENT = 512  # messages that the media socket may be behind: half a minute, since audio leaves no faster than it plays
BACKCHANNELS = frozenset({"mhm", "mm", "mmm", "mm-hmm", "mhmm", "uh-huh", "uh huh", "hm", "hmm", "ajá", "aja", "ujum", "eh"})


class Socket(Protocol):
    """A text websocket. `receive` returns None at its end; `send` raises ConnectionError then."""

    async def receive(self) -> str | None: ...

    async def send(self, text: str) -> None: ...


class HearingSession(Protocol):
    """One connection to the transcriber; iterating gives its events to the end."""

    async def send(self, ulaw: bytes) -> None: ...

    async def commit(self) -> None: ...

    def __aiter__(self) -> AsyncIterator[HearingEvent]: ...

    async def close(self) -> None: ...


class Hearing(Protocol):
    """The transcriber. `language` None lets it detect."""

    async def open(self, language: str | None) -> HearingSession: ...


class Speaking(Protocol):
    """The synthesiser. It takes nothing but what the gate passed."""

    def speak(self, passed: Passed) -> AsyncIterator[bytes]: ...

    async def close(self) -> None: ...


@dataclass(slots=True)
class Bridge:
    """One call. `on_end` is told the provider's id of the call and how it ended, once, after everything else."""

    socket: Socket
    desk: CallDesk
    call: CallInfo
    stream: str
    hearing: Hearing
    speaking: Speaking
    on_end: Callable[[str, str], Awaitable[None]]
    locale: str = ""
    outcome: str = "completed"
    machine: m.Machine = field(init=False)
    _now: int = 0
    _detector: Detector = field(default_factory=Detector)
    _frames: bytearray = field(default_factory=bytearray)
    _to_hear: deque[bytes | None] = field(default_factory=deque)
    _hear_ready: asyncio.Event = field(default_factory=asyncio.Event)
    _out: deque[str] = field(default_factory=deque)
    _out_ready: asyncio.Event = field(default_factory=asyncio.Event)
    _speech: deque[m.Synthesize] = field(default_factory=deque)
    _speech_ready: asyncio.Event = field(default_factory=asyncio.Event)
    _speaking_now: asyncio.Task[None] | None = None
    _turns: set[asyncio.Task[None]] = field(default_factory=set)
    _turn_ids: dict[int, str] = field(default_factory=dict)
    _log: dict[int, SpokenRow] = field(default_factory=dict)
    _log_ready: asyncio.Event = field(default_factory=asyncio.Event)
    _over: asyncio.Event = field(default_factory=asyncio.Event)

    async def run(self) -> None:
        """Until the caller or Clara hangs up, the socket is gone, or the transcriber is lost for good."""
        self.locale = self.locale or self.call.property.locale
        engine, prop = self.desk.engine, self.call.property
        self.machine = m.Machine(self._lines(self.locale), BACKCHANNELS)
        self._feed(m.Opened(engine.line("disclosure", self.locale, prop), engine.line("greeting", self.locale, prop)))
        jobs: list[Coroutine[Any, Any, object]] = [
            self._read(), self._write(), self._hear(), self._synthesise(), self._record(), self._over.wait()
        ]  # fmt: skip
        tasks = [asyncio.create_task(job) for job in jobs]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            try:
                await self._wind_up(tasks)
            finally:
                await self.on_end(self.call.provider_id, self.outcome)

    def end(self, outcome: str) -> None:
        """The provider says that the call is over; `run` ends as soon as what has begun is done."""
        self.outcome = outcome
        self._over.set()

    async def _wind_up(self, running: list[asyncio.Task[Any]]) -> None:
        self._feed(m.Ended())
        running += [self._speaking_now] if self._speaking_now else []
        for task in running:
            task.cancel()
        for result in await asyncio.gather(*running, return_exceptions=True):
            if isinstance(result, Exception):
                log.error("call.task_failed call=%s", self.call.id, exc_info=result)
        # A turn that is being committed ends by itself; its text is sent after the call.
        if self._turns:
            await asyncio.wait(self._turns)
        await self._store_said()

    def _lines(self, locale: str) -> dict[str, tuple[Piece, ...]]:
        line = self.desk.engine.line
        return {name: line(name, locale, self.call.property) for name in ("silence", "goodbye", "late_line", "again")}

    # --- events in -----------------------------------------------------------------------------------------------------------------

    def _feed(self, event: m.Event) -> None:
        for command in self.machine.handle(event, self._now):
            self._carry_out(command)

    async def _read(self) -> None:
        while (text := await self.socket.receive()) is not None:
            match codec.decode(text):
                case codec.Media(at, audio):
                    self._now = max(self._now, at)
                    self._listen(audio)
                case codec.Mark(name):
                    self._feed(m.Marked(name))
                case codec.Stop():
                    return
                case _:
                    pass

    def _listen(self, audio: bytes) -> None:
        edge = self._detector.hear(audio)
        self._frames += audio
        if len(self._frames) >= LUMP_FRAMES * codec.FRAME_BYTES:
            self._flush_frames()
        if edge is Edge.BEGAN:
            self._feed(m.SpeechBegan())
        elif edge is Edge.ENDED:
            self._feed(m.SpeechEnded())
        self._feed(m.Tick())

    def _flush_frames(self) -> None:
        if self._frames:
            self._to_hear.append(bytes(self._frames))
            self._frames.clear()
            while len(self._to_hear) > MOST_BACKLOG:
                self._to_hear.popleft()
            self._hear_ready.set()

    # --- commands out ----------------------------------------------------------------------------------------------------------------

    def _carry_out(self, command: m.Command) -> None:
        match command:
            case m.SendAudio(data):
                self._enqueue(codec.media(self.stream, data))
            case m.SendMark(name):
                self._enqueue(codec.mark(self.stream, name))
            case m.SendClear():
                self._out.clear()
                self._enqueue(codec.clear(self.stream))
            case m.CommitHearing():
                self._flush_frames()
                self._to_hear.append(None)
                self._hear_ready.set()
            case m.Synthesize():
                self._speech.append(command)
                self._speech_ready.set()
            case m.StopSynthesis(generation):
                kept = [item for item in self._speech if item.generation >= generation]
                self._speech = deque(kept)
                if self._speaking_now is not None:
                    self._speaking_now.cancel()
            case m.Think():
                task = asyncio.create_task(self._think(command))
                self._turns.add(task)
                task.add_done_callback(self._turns.discard)
            case m.Say():
                self._said(command)
            case m.HangUp():
                self._over.set()

    def _enqueue(self, text: str) -> None:
        self._out.append(text)
        self._out_ready.set()
        if len(self._out) > MOST_UNSENT:
            log.warning("call.socket_stuck call=%s", self.call.id)
            self._over.set()

    async def _write(self) -> None:
        """The one writer of the socket: frames leave in the order of their commands."""
        while True:
            await self._out_ready.wait()
            self._out_ready.clear()
            while self._out:
                try:
                    await self.socket.send(self._out.popleft())
                except ConnectionError:
                    return

    async def _hear(self) -> None:
        """Feeds the transcriber and reads its words, for as long as one can be had. Without ears there is no call: then Clara takes leave."""
        failures = 0
        while True:
            lost, useful = await self._hear_once()
            failures = 1 if useful else failures + 1
            log.warning("call.hearing_lost call=%s reason=%s", self.call.id, lost.reason)
            if not lost.retryable or failures >= MOST_RECONNECTS:
                break
            self._feed(m.Deafened())
            await asyncio.sleep(0.05 * 2**failures)
        self._feed(m.Deafened(for_good=True))
        await self._over.wait()

    async def _hear_once(self) -> tuple[HearingLost, bool]:
        """One connection to its end, and whether it ever told a word: one that opens and breaks off is no better than none."""
        try:
            session = await self.hearing.open(None)
        except HearingUnavailable as unavailable:
            return unavailable.lost, False
        feeding = asyncio.create_task(self._feed_hearing(session))
        useful = False
        try:
            async for event in session:
                if isinstance(event, HearingLost):
                    return event, useful
                useful |= bool(event.text)
                if isinstance(event, Committed):
                    self._feed(m.Heard(event.text, event.low_confidence))
            return HearingLost("the transcriber ended its stream", retryable=True), useful
        finally:
            feeding.cancel()
            await session.close()

    async def _feed_hearing(self, session: HearingSession) -> None:
        while True:
            await self._hear_ready.wait()
            self._hear_ready.clear()
            while self._to_hear:
                lump = self._to_hear.popleft()
                await (session.commit() if lump is None else session.send(lump))

    async def _synthesise(self) -> None:
        """One sentence after the other; a cut cancels the one that runs."""
        while True:
            await self._speech_ready.wait()
            self._speech_ready.clear()
            while self._speech:
                item = self._speech.popleft()
                self._speaking_now = asyncio.create_task(self._speak(item))
                await asyncio.wait({self._speaking_now})
                self._speaking_now = None

    async def _speak(self, item: m.Synthesize) -> None:
        try:
            async with aclosing(self.speaking.speak(item.piece.passed)) as stream:  # type: ignore[type-var]  # async generators close
                async for data in stream:
                    self._feed(m.Audio(item.generation, item.number, data))
            self._feed(m.AudioDone(item.generation, item.number))
        except Exception as problem:
            # A sentence that could not be spoken was not heard; the text after the call carries its facts.
            log.warning("call.speaking_failed call=%s reason=%s", self.call.id, problem)
            self._feed(m.AudioDone(item.generation, item.number, failed=True))

    async def _think(self, command: m.Think) -> None:
        # Whatever fails, the caller is answered; a turn that failed promises nothing, so they are asked to say it once more.
        reply = m.Replied(command.turn, self.machine.lines["again"])
        try:
            spoken = await self.desk.utterance(
                self.call, command.turn, command.text, command.low_confidence, command.heard, self.locale, m.THINK_MS / 1000
            )
            self._turn_ids[command.turn] = spoken.turn
            if spoken.locale != self.locale:
                self.locale, self.machine.lines = spoken.locale, self._lines(spoken.locale)
            reply = m.Replied(command.turn, spoken.pieces, spoken.changes, spoken.read_back, spoken.ends_call)
        except Exception:
            log.exception("call.turn_failed call=%s", self.call.id)
        self._feed(reply)

    # --- what was said and heard ---------------------------------------------------------------------------------------------------------

    def _said(self, said: m.Say) -> None:
        row = SpokenRow(
            id=f"{self.call.id}.{said.number:04d}",
            call=self.call.id,
            turn=self._turn_ids.get(said.turn),
            speaker="clara",
            text=said.piece.text,
            heard=said.heard,
            started_at=self.desk.engine.clock.now(),
            facts=said.piece.facts,
            heard_whole=said.whole,
        )
        known = self._log.get(said.number)
        if known is None or len(said.heard) >= len(known.heard):
            self._log[said.number] = row if known is None else _grown(known, row)
        if said.heard:
            self._log_ready.set()

    async def _record(self) -> None:
        """What was heard is on record before the caller's next words can be."""
        while True:
            await self._log_ready.wait()
            self._log_ready.clear()
            await self._store_said()

    async def _store_said(self) -> None:
        rows, self._log = self._log, {}
        if not rows:
            return
        try:
            await self.desk.engine.db.transact(self.desk.engine.store.record_utterances, list(rows.values()))
        except BaseException as problem:
            # Kept for the next time: writing a row twice changes nothing.
            self._log = rows | {number: _grown(rows[number], row) if number in rows else row for number, row in self._log.items()}
            if not isinstance(problem, Exception):
                raise
            log.exception("call.record_failed call=%s", self.call.id)


def _grown(known: SpokenRow, newer: SpokenRow) -> SpokenRow:
    return SpokenRow(
        known.id, known.call, newer.turn or known.turn, known.speaker, known.text, newer.heard, known.started_at, known.facts,
        newer.heard_whole or known.heard_whole,
    )  # fmt: skip


__all__ = ["Bridge", "Hearing", "HearingSession", "Piece", "Socket", "Speaking"]
