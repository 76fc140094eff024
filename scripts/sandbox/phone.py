"""The phone stand-in: it places calls as Twilio does, hears what Clara says, and lets a test be the caller.

A `Call` runs the carrier's script: signed voice webhook, TwiML, media stream, `<Connect action>`, status callback. A
REST update (`World.call_control`) or the caller's hang-up interrupts whatever verb is running. When the server closes
the media socket the call goes on with the action URL, as it does at Twilio; a call ends by `<Hangup>`, an exhausted
document, the caller, or a REST update.

    phone = install(world)
    call = await phone.place("+15125550123", locale="en")
    await call.wait_clara_silent()
    await call.say("I'd like to see a one bedroom.")
    await call.hang_up()

Invariants: `Call.ms` is media time since the call began and never goes back; both sides are recorded on it;
`Call.heard` is what really was played, frame by frame, and never what was sent. What Twilio's debugger would complain
of stands in `Call.problems`.
"""

from __future__ import annotations

import asyncio
import xml.etree.ElementTree as ET
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from email.utils import format_datetime
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urljoin
from weakref import WeakKeyDictionary

from starlette.routing import BaseRoute

from scripts.sandbox.elevenlabs_stt import schedule
from scripts.sandbox.phone_media import Manners, Refused, Stream, armed_manners
from scripts.sandbox.speech import say as speech
from scripts.sandbox.speech import utter
from scripts.sandbox.watermark import FRAME, Reader, frames, mark
from scripts.sandbox.wav import FRAME_MS, Track, write
from scripts.sandbox.webhooks import Params, deliver
from scripts.sandbox.wire import Broken, NotLoopback, Unreachable
from scripts.sandbox.world import CallOver, NoSuchCall, Utterance, World

OVER = frozenset({"completed", "busy", "failed", "no-answer", "canceled"})
PATIENCE_MS = 30_000
"""How long the scenario functions wait, in media time."""
SLACK = 15.0
"""Seconds of wall time that a busy machine is allowed on top."""


@dataclass(frozen=True, slots=True)
class Line:
    """Who is at a number that Clara dials. Times in milliseconds of media time.

    digits: what the person presses when a whisper asks (None: nothing); talk_ms: when they hang up (None: they wait
    for the caller).
    """

    answer: Literal["human", "busy", "no-answer", "failed"] = "no-answer"
    ring_ms: int = 2000
    digits: str | None = "1"
    talk_ms: int | None = 3000


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


class _Hangup(Exception):
    """The document ends the call; `status` is its final one."""

    def __init__(self, status: str = "completed") -> None:
        super().__init__(status)
        self.status = status


class Call:
    """One call, seen from the phone."""

    def __init__(
        self, phone: Phone, frm: str, to: str, locale: str, manners: Manners | None, direction: str = "inbound"
    ) -> None:
        self.phone, self.world = phone, phone.world
        self.sid = self.world.sid("CA")
        self.frm, self.to, self.locale, self.direction = frm, to, locale, direction
        self.status = "ringing"
        self.ms = 0
        self.caller, self.clara = Track(), Track()
        self.timeline: list[Event] = []
        self.problems: list[tuple[int, str]] = []
        self.heard: list[Heard] = []
        self.streams: list[Stream] = []
        self.whispers: list[str] = []
        self.stream: Stream | None = None
        self._manners = manners
        self._outgoing: deque[tuple[bytes, Callable[[], None] | None]] = deque()
        self._reader = Reader()
        self._sounding_from: int | None = None
        self._sound_ms = -(10**9)
        self._waiters: list[_Waiter] = []
        self._verb: asyncio.Task[ET.Element | None] | None = None
        self._update: ET.Element | None = None
        self._hung_up = False
        self._base = self.phone.voice_url
        self._began = self.world.clock.now()
        self._ended: datetime | None = None
        self._task: asyncio.Task[None] | None = None

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
        await speech(text, utterance.locale, "caller")  # made before, so that it starts on time
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
        self._hung_up = True
        self._interrupt(None)
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
            "direction": self.direction,
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
        ulaw = mark(await speech(utterance.text, utterance.locale, "caller"), utterance.id)
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

    # --- the carrier's script ---------------------------------------------------------------------------------------

    def start(self, first: Callable[[], Awaitable[ET.Element | None]]) -> None:
        """Begins to run the call with the document that `first` fetches."""
        self.world.calls[self.sid] = self
        self._task = self.world.spawn(self._live(first))

    async def update(self, form: Mapping[str, str]) -> None:
        """A REST update. Raises `CallOver`."""
        if self.status in OVER:
            raise CallOver(self.sid)
        if form.get("Status"):
            self.note("rest", form["Status"])
            self._interrupt(None)
            await self.over()
        elif form.get("Twiml"):
            self.note("rest", form["Twiml"])
            self._interrupt(ET.fromstring(form["Twiml"]))
        else:
            self._base = form["Url"]
            self._interrupt(await self._fetch(form["Url"], "voice.update"))

    def _interrupt(self, document: ET.Element | None) -> None:
        self._update = document
        if self._verb is not None:
            self._verb.cancel()

    async def _live(self, first: Callable[[], Awaitable[ET.Element | None]]) -> None:
        status = "completed"
        work: Callable[[], Awaitable[ET.Element | None]] | None = first
        try:
            while work is not None:
                self._verb = asyncio.ensure_future(_task(work()))
                await asyncio.wait({self._verb})
                document = self._update if self._verb.cancelled() else self._verb.result()
                self._update = None
                work = None if document is None or self._hung_up else _performing(self, document)
        except _Hangup as end:
            status = end.status
        except Exception as error:
            self.problem(0, f"the phone itself failed: {error!r}")
            raise
        finally:
            if self._verb is not None:
                self._verb.cancel()
            await self._finish(status)

    async def _finish(self, status: str) -> None:
        self.status = status
        self._ended = self.world.clock.now()
        self.note("over", status)
        if self.phone.status_path is None:
            return
        extra = [("CallDuration", str(self.ms // 1000)), ("Duration", str(-(-self.ms // 60000)))]
        extra += [("SequenceNumber", "0"), ("CallbackSource", "call-progress-events")]
        extra += [("Timestamp", format_datetime(self.world.clock.now()))]
        with suppress(Unreachable, Broken, NotLoopback):
            url = self.world.public_url + self.phone.status_path
            await deliver(self.world, "voice.status", url, [*self.params(), *extra])

    def params(self) -> Params:
        """The standard form fields of every voice webhook, empty ones included."""
        places = [
            (f"{who}{what}", "")
            for who in ("From", "To", "Caller", "Called")
            for what in ("City", "State", "Zip", "Country")
        ]
        fields = {
            "CallSid": self.sid,
            "AccountSid": self.world.keys.twilio_account_sid,
            "From": self.frm,
            "To": self.to,
            "Caller": self.frm,
            "Called": self.to,
            "CallStatus": self.status,
            "Direction": self.direction,
            "ApiVersion": "2010-04-01",
        }
        return [*fields.items(), *places]

    async def _fetch(
        self, url: str, kind: str, extra: Iterable[tuple[str, str]] = (), method: str = "POST"
    ) -> ET.Element:
        """The TwiML at `url`; a failure ends the call with what the caller hears as "an application error"."""
        url = urljoin(self._base, url)
        try:
            answer = await deliver(self.world, kind, url, [*self.params(), *extra], method=method)
        except (Unreachable, Broken, NotLoopback) as error:
            self.problem(11205 if isinstance(error, Unreachable) else 11200, str(error))
            raise _Hangup() from error
        if answer.status != 200:
            self.problem(11200, f"{url} answered {answer.status}")
            raise _Hangup()
        if (answer.header("content-type") or "").split(";")[0] not in ("text/xml", "application/xml"):
            self.problem(12300, f"{url} answered {answer.header('content-type')}")
            raise _Hangup()
        self._base = url
        self.note(kind, answer.text)
        return self._parsed(answer.text)

    def _parsed(self, text: str) -> ET.Element:
        try:
            document = ET.fromstring(text)
        except ET.ParseError as error:
            self.problem(12100, str(error))
            raise _Hangup() from error
        if document.tag != "Response":
            self.problem(12102, f"the root is {document.tag}")
            raise _Hangup()
        return document

    async def perform(self, document: ET.Element) -> ET.Element | None:
        """Runs a document's verbs; returns the document that takes over, None at the end."""
        verbs: dict[str, Callable[[ET.Element], Awaitable[ET.Element | None]]] = {
            "Connect": self._connect,
            "Dial": self._dial,
            "Say": self._say,
            "Pause": self._pause,
            "Redirect": self._redirect,
        }
        for verb in document:
            if verb.tag == "Hangup":
                raise _Hangup()
            if verb.tag == "Reject":
                self.note("reject", verb.get("reason", "rejected"))
                raise _Hangup("busy" if verb.get("reason") == "busy" else "failed")
            if verb.tag not in verbs:
                self.problem(12200, f"<{verb.tag}> is not understood here")
                raise _Hangup()
            self._answer()
            following = await verbs[verb.tag](verb)
            if following is not None:
                return following
        return None

    def _answer(self) -> None:
        if self.status == "ringing":
            self.status = "in-progress"
            self.note("answered")

    async def _pass(self, ms: int) -> None:
        """Media time outside a stream."""
        for _ in range(0, ms, 100):
            await self.world.pause(0.1 / self.world.speed)
            self.ms += 100
            self._wake()

    async def _connect(self, verb: ET.Element) -> ET.Element | None:
        noun = verb.find("Stream")
        if noun is None:
            self.problem(12200, "<Connect> without <Stream>")
            raise _Hangup()
        parameters = {part.get("name", ""): part.get("value", "") for part in noun.findall("Parameter")}
        if any(len(name) + len(value) >= 500 for name, value in parameters.items()):
            self.problem(31920, "a <Parameter> of 500 characters or more")
        manners = self._manners or armed_manners(self.world)
        url = urljoin(self._base.replace("http", "ws", 1), noun.get("url", ""))
        stream = Stream(self.world, self, url, parameters, manners, noun.get("name"))
        self._outgoing.clear()
        self._reader = Reader()
        self.stream = stream
        self.streams.append(stream)
        try:
            await stream.run()
        except Refused:
            self.note("stream refused")
        finally:
            self.stream = None
        return await self._after(verb, "voice.action")

    async def _after(self, verb: ET.Element, kind: str, extra: Iterable[tuple[str, str]] = ()) -> ET.Element | None:
        action = verb.get("action")
        if action is None:
            return None
        return await self._fetch(action, kind, extra, verb.get("method", "POST"))

    async def _say(self, verb: ET.Element) -> None:
        text = (verb.text or "").strip()
        utterance = utter(self.world, self.sid, text, (verb.get("language") or self.locale)[:2])
        ulaw = mark(await speech(text, utterance.locale, "clara"), utterance.id)
        for at in range(0, len(ulaw), FRAME):
            self.played(ulaw[at : at + FRAME])
            await self.world.pause(FRAME_MS / 1000 / self.world.speed)
            self.ms += FRAME_MS

    async def _pause(self, verb: ET.Element) -> None:
        await self._pass(int(verb.get("length", "1")) * 1000)

    async def _redirect(self, verb: ET.Element) -> ET.Element | None:
        return await self._fetch((verb.text or "").strip(), "voice.redirect", (), verb.get("method", "POST"))

    # --- <Dial> -----------------------------------------------------------------------------------------------------

    async def _dial(self, verb: ET.Element) -> ET.Element | None:
        noun = verb.find("Number")
        number = ((noun.text if noun is not None else verb.text) or "").strip()
        if not number.startswith("+") or (noun is None and len(verb)):
            self.problem(13224, f"<Dial> to {number!r}")
            raise _Hangup()
        if verb.get("callerId", self.frm) not in (self.frm, self.to, *self.world.numbers):
            self.problem(13214, f"callerId {verb.get('callerId')} is not ours")
            raise _Hangup()
        child = self.world.sid("CA")
        line = self.phone.lines.get(number, Line())
        self.note("dial", number)
        began = self.ms
        status, bridged = await self._ring(line, number, child, noun, int(verb.get("timeout", "30")) * 1000)
        self.note("dialled", (number, status, bridged))
        told = [("DialCallStatus", status), ("DialCallSid", child), ("DialBridged", str(bridged).lower())]
        told += [("DialCallDuration", str((self.ms - began) // 1000))] if status == "completed" else []
        return await self._after(verb, "voice.dialled", told)

    async def _ring(
        self, line: Line, number: str, child: str, noun: ET.Element | None, timeout_ms: int
    ) -> tuple[str, bool]:
        await self._pass(min(line.ring_ms, timeout_ms))
        if line.answer != "human" or line.ring_ms > timeout_ms:
            status: str = line.answer if line.answer != "human" else "no-answer"
            return status, False
        whisper = noun.get("url") if noun is not None else None
        if whisper is not None and not await Callee(self, line, number, child).listen(whisper):
            return "completed", False
        self.note("bridged", number)
        if line.talk_ms is None:
            await asyncio.Event().wait()  # until the caller hangs up
        await self._pass(line.talk_ms or 0)
        return "completed", True


class Callee:
    """The other end of a `<Dial>` during its whisper: `<Say>`, `<Pause>`, `<Gather>` and `<Hangup>` only."""

    def __init__(self, call: Call, line: Line, number: str, child: str) -> None:
        self.call, self.line, self.number, self.child = call, line, number, child

    async def listen(self, url: str) -> bool:
        """Runs the whisper; False: it hung up, the caller is not put through."""
        document: ET.Element | None = await self._ask(url)
        while document is not None:
            verbs = list(document)
            document = None
            for verb in verbs:
                if verb.tag == "Hangup":
                    return False
                if verb.tag == "Say":
                    await self._hear(verb)
                elif verb.tag == "Pause":
                    await self.call._pass(int(verb.get("length", "1")) * 1000)
                elif verb.tag == "Gather":
                    document = await self._gather(verb)
                    if document is not None:
                        break
                else:
                    self.call.problem(13000, f"<{verb.tag}> in a whisper")
                    return False
        return True

    async def _gather(self, verb: ET.Element) -> ET.Element | None:
        for nested in verb.findall("Say"):
            await self._hear(nested)
        if self.line.digits is None:
            await self.call._pass(int(verb.get("timeout", "5")) * 1000)
            return None
        self.call.note("callee presses", self.line.digits)
        return await self._ask(verb.get("action", self.call._base), [("Digits", self.line.digits)])

    async def _hear(self, verb: ET.Element) -> None:
        text = (verb.text or "").strip()
        self.call.whispers.append(text)
        self.call.note("whisper", text)
        ulaw = await speech(text, (verb.get("language") or "en")[:2], "clara")
        await self.call._pass(frames(ulaw) * FRAME_MS)

    async def _ask(self, url: str, extra: Params = ()) -> ET.Element:
        call = self.call
        changed = {
            "CallSid": self.child, "To": self.number, "Called": self.number, "From": call.to, "Caller": call.to,
            "Direction": "outbound-dial", "CallStatus": "in-progress",
        }  # fmt: skip
        params = [(name, changed.get(name, value)) for name, value in call.params()]
        base = call._base
        answer = await deliver(
            call.world, "voice.whisper", urljoin(base, url), [*params, ("ParentCallSid", call.sid), *extra]
        )
        if answer.status != 200:
            call.problem(11200, f"whisper {url} answered {answer.status}")
            return ET.Element("Response")
        return call._parsed(answer.text)


async def _task(work: Awaitable[ET.Element | None]) -> ET.Element | None:
    return await work


def _performing(call: Call, document: ET.Element) -> Callable[[], Awaitable[ET.Element | None]]:
    return lambda: call.perform(document)


class Phone:
    """Places calls to the gateway, and is whoever answers when Clara dials.

    lines: who is at which number (default: nobody answers); status_callback: the URL that hears of a call's end,
    None: nobody does.
    """

    def __init__(self, world: World) -> None:
        self.world = world
        self.lines: dict[str, Line] = {}
        self.status_path: str | None = "/webhooks/twilio/call-status"
        self.calls: list[Call] = []

    @property
    def voice_url(self) -> str:
        """The webhook of an incoming call."""
        return self.world.public_url + self.world.paths.voice

    async def place(self, frm: str, to: str | None = None, locale: str = "en", manners: Manners | None = None) -> Call:
        """Calls `to` (default: the world's first number); returns at once. manners: None: as armed, else good."""
        call = Call(self, frm, to or self.world.numbers[0], locale, manners)
        self.calls.append(call)
        call.start(lambda: call._fetch(self.voice_url, "voice"))
        return call

    async def control(self, sid: str, form: Mapping[str, str]) -> None:
        """`World.call_control`: a REST update of a call."""
        call = self.world.calls.get(sid)
        if not isinstance(call, Call):
            raise NoSuchCall(sid)
        await call.update(form)

    async def scripted(self, request: Mapping[str, Any]) -> Mapping[str, Any]:
        """`World.place_call`: places a call and acts out `script` in the background.

        request: `from`, optional `to`, `locale`, `wav` (path) and `script`: a list of steps `{"say": text}`,
        `{"interrupt": text, "after_ms": n}`, `{"press": digits}`, `{"wait": ms}`, `{"wait_speaking": true}`,
        `{"wait_silent": ms}`, `{"wait_heard": text}`, `{"drop": true}`, `{"hang_up": true}`. With `"follow": true`
        the answer comes at the end, with what was heard and the timeline.
        """
        call = await self.place(request["from"], request.get("to"), request.get("locale", "en"))
        acting = self.world.spawn(self._act(call, request.get("script", ()), request.get("wav")))
        if not request.get("follow"):
            return {"call_sid": call.sid, "status": call.status}
        await asyncio.wait({acting})
        failed = acting.exception()
        return {
            "call_sid": call.sid,
            "status": call.status,
            "error": str(failed) if failed else None,
            "heard": [{"text": heard.text, "complete": heard.complete} for heard in call.heard],
            "timeline": [[event.ms, event.kind, event.detail] for event in call.timeline],
        }

    async def _act(self, call: Call, script: Iterable[Mapping[str, Any]], wav: str | None) -> None:
        try:
            await call.until(lambda: call.stream is not None, "a media stream")
            for step in script:
                await _step(call, step)
            await call.over()
        finally:
            if wav:
                call.wav(wav)


async def _step(call: Call, step: Mapping[str, Any]) -> None:
    match step:
        case {"say": text}:
            await call.say(text, step.get("locale"))
        case {"interrupt": text}:
            await call.interrupt(text, step.get("after_ms", 0), step.get("locale"))
        case {"press": digits}:
            await call.press(digits)
        case {"wait": ms}:
            await call.wait(ms)
        case {"wait_speaking": _}:
            await call.wait_clara_speaking()
        case {"wait_silent": ms}:
            await call.wait_clara_silent(ms)
        case {"wait_heard": text}:
            await call.wait_heard(text)
        case {"drop": _}:
            call.drop()
        case {"hang_up": _}:
            await call.hang_up()
        case _:
            raise ValueError(f"not a step: {dict(step)}")


_PHONES: WeakKeyDictionary[World, Phone] = WeakKeyDictionary()


def install(world: World) -> Phone:
    """The phone of this world; the first call ties it to `World.place_call` and `World.call_control`."""
    phone = _PHONES.get(world)
    if phone is None:
        phone = _PHONES[world] = Phone(world)
        world.place_call = phone.scripted
        world.call_control = phone.control
    return phone


def routes(world: World) -> list[BaseRoute]:
    """No HTTP of its own; being asked for routes installs the phone."""
    install(world)
    return []
