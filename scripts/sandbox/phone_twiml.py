"""The carrier's side of a call: it fetches TwiML, carries it out verb by verb, and tells the gateway how the call ended.

Understood: `<Connect><Stream>`, `<Dial>` of one number (with a whisper), `<Say>`, `<Pause>`, `<Redirect>`, `<Reject>`,
`<Hangup>`. A REST update or the caller's hang-up interrupts whatever verb runs; then the old `<Connect action>` is not
asked. A document that cannot be fetched or read ends the call, as "an application error" does at Twilio.

What Twilio's debugger would say goes to `Call.problem` by its code.
"""

from __future__ import annotations

import asyncio
import xml.etree.ElementTree as ET
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from email.utils import format_datetime
from typing import TYPE_CHECKING, Literal
from urllib.parse import urljoin

from scripts.sandbox.phone_media import Manners, Refused, Stream, armed_manners
from scripts.sandbox.speech import say, utter
from scripts.sandbox.watermark import FRAME, frames, mark
from scripts.sandbox.wav import FRAME_MS
from scripts.sandbox.webhooks import Params, deliver
from scripts.sandbox.wire import Answer, Broken, NotLoopback, Unreachable
from scripts.sandbox.world import CallOver

if TYPE_CHECKING:
    from scripts.sandbox.phone_call import Call

OVER = frozenset({"completed", "busy", "failed", "no-answer", "canceled"})

Pairs = Iterable[tuple[str, str]]


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


class Hangup(Exception):
    """The document ends the call; `status` is its final one."""

    def __init__(self, status: str = "completed") -> None:
        super().__init__(status)
        self.status = status


class Script:
    """Runs one call at the carrier. lines: who is at which number; status_url: who hears of the end, None: nobody."""

    def __init__(
        self, call: Call, base: str, lines: Mapping[str, Line], status_url: str | None, manners: Manners | None
    ) -> None:
        self.call, self.world = call, call.world
        self.lines, self.status_url, self.manners = lines, status_url, manners
        self.base = base
        self._verb: asyncio.Task[ET.Element | None] | None = None
        self._interrupted = False
        self._instead: ET.Element | None = None

    async def run(self) -> None:
        """The call from its first webhook to its status callback."""
        status = "completed"
        work: Awaitable[ET.Element | None] | None = self.fetch(self.base, "voice")
        try:
            while work is not None:
                document = await self._uninterrupted(work)
                work = None if document is None else self.perform(document)
        except Hangup as end:
            status = end.status
        except Exception as error:
            self.call.problem(0, f"the phone itself failed: {error!r}")
            raise
        finally:
            if self._verb is not None:
                self._verb.cancel()
            self.call.end(status)
            await self._tell()

    def interrupt(self, document: ET.Element | None) -> None:
        """Breaks off the running verb and goes on with `document`; None ends the call."""
        self._interrupted, self._instead = True, document
        if self._verb is not None:
            self._verb.cancel()

    async def update(self, form: Mapping[str, str]) -> None:
        """A REST update (`Status`, `Twiml` or `Url`). Raises `CallOver`."""
        if self.call.status in OVER:
            raise CallOver(self.call.sid)
        if form.get("Status"):
            self.call.note("rest", form["Status"])
            self.interrupt(None)
            await self.call.over()
            return
        try:
            document = (
                self.parsed(form["Twiml"]) if form.get("Twiml") else await self.fetch(form["Url"], "voice.update")
            )
        except Hangup:
            self.interrupt(None)
        else:
            self.call.note("rest", form.get("Twiml") or form.get("Url"))
            self.interrupt(document)

    async def _uninterrupted(self, work: Awaitable[ET.Element | None]) -> ET.Element | None:
        self._verb = asyncio.ensure_future(work)
        await asyncio.wait({self._verb})
        if self._interrupted:
            self._interrupted = False
            return self._instead
        return self._verb.result()

    async def _tell(self) -> None:
        if self.status_url is None:
            return
        ms = self.call.ms
        extra = [("CallDuration", str(ms // 1000)), ("Duration", str(-(-ms // 60000))), ("SequenceNumber", "0")]
        extra += [("CallbackSource", "call-progress-events"), ("Timestamp", format_datetime(self.world.clock.now()))]
        with suppress(Unreachable, Broken, NotLoopback):
            await deliver(self.world, "voice.status", self.status_url, [*self.params(), *extra])

    # --- documents --------------------------------------------------------------------------------------------------

    def params(self) -> Params:
        """The standard form fields of every voice webhook, empty ones included."""
        call = self.call
        fields = {
            "CallSid": call.sid,
            "AccountSid": self.world.keys.twilio_account_sid,
            "From": call.frm,
            "To": call.to,
            "Caller": call.frm,
            "Called": call.to,
            "CallStatus": call.status,
            "Direction": "inbound",
            "ApiVersion": "2010-04-01",
        }
        places = [f"{who}{what}" for who in ("From", "To", "Caller", "Called") for what in _PLACES]
        return [*fields.items(), *((place, "") for place in places)]

    async def fetch(self, url: str, kind: str, extra: Pairs = (), method: str = "POST") -> ET.Element:
        """The document at `url`. Raises `Hangup` where there is none."""
        url = urljoin(self.base, url)
        answer = await self.ask(url, kind, [*self.params(), *extra], method)
        self.base = url
        self.call.note(kind, answer.text)
        return self.parsed(answer.text)

    async def ask(self, url: str, kind: str, params: Params, method: str = "POST") -> Answer:
        """Calls a webhook that must answer with TwiML. Raises `Hangup`."""
        try:
            answer = await deliver(self.world, kind, url, params, method=method)
        except (Unreachable, Broken, NotLoopback) as error:
            raise self._failed(11205 if isinstance(error, Unreachable) else 11200, str(error)) from error
        if answer.status != 200:
            raise self._failed(11200, f"{url} answered {answer.status}")
        media_type = (answer.header("content-type") or "").split(";")[0]
        if media_type not in ("text/xml", "application/xml"):
            raise self._failed(12300, f"{url} answered {media_type!r}")
        return answer

    def parsed(self, text: str) -> ET.Element:
        """A document. Raises `Hangup` where it is none."""
        try:
            document = ET.fromstring(text)
        except ET.ParseError as error:
            raise self._failed(12100, str(error)) from error
        if document.tag != "Response":
            raise self._failed(12102, f"the root is {document.tag}")
        return document

    def _failed(self, code: int, detail: str) -> Hangup:
        self.call.problem(code, detail)
        return Hangup()

    # --- verbs ------------------------------------------------------------------------------------------------------

    async def perform(self, document: ET.Element) -> ET.Element | None:
        """Carries out a document's verbs; returns the document that takes over, None at the end. Raises `Hangup`."""
        verbs: dict[str, Callable[[ET.Element], Awaitable[ET.Element | None]]] = {
            "Connect": self._connect,
            "Dial": self._dial,
            "Say": self._say,
            "Pause": self._pause,
            "Redirect": self._redirect,
        }
        for verb in document:
            if verb.tag == "Hangup":
                raise Hangup()
            if verb.tag == "Reject":
                reason = verb.get("reason", "rejected")
                self.call.note("reject", reason)
                raise Hangup("busy" if reason == "busy" else "failed")
            if verb.tag not in verbs:
                raise self._failed(12200, f"<{verb.tag}> is not understood here")
            self.call.answered()
            following = await verbs[verb.tag](verb)
            if following is not None:
                return following
        return None

    async def _connect(self, verb: ET.Element) -> ET.Element | None:
        noun = verb.find("Stream")
        if noun is None:
            raise self._failed(12200, "<Connect> without <Stream>")
        parameters = {part.get("name", ""): part.get("value", "") for part in noun.findall("Parameter")}
        if any(len(name) + len(value) >= 500 for name, value in parameters.items()):
            self.call.problem(31920, "a <Parameter> of 500 characters or more")
        url = urljoin(self.base.replace("http", "ws", 1), noun.get("url", ""))
        manners = self.manners or armed_manners(self.world)
        stream = Stream(self.world, self.call, url, parameters, manners, noun.get("name"))
        with self.call.streaming(stream):
            try:
                await stream.run()
            except Refused:
                self.call.note("stream refused")
        return await self._after(verb, "voice.action")

    async def _after(self, verb: ET.Element, kind: str, extra: Pairs = ()) -> ET.Element | None:
        action = verb.get("action")
        return None if action is None else await self.fetch(action, kind, extra, verb.get("method", "POST"))

    async def _say(self, verb: ET.Element) -> None:
        call, text = self.call, (verb.text or "").strip()
        utterance = utter(self.world, call.sid, text, (verb.get("language") or call.locale)[:2])
        ulaw = mark(await say(self.world, text, utterance.locale, "clara"), utterance.id)
        for at in range(0, len(ulaw), FRAME):
            call.played(ulaw[at : at + FRAME])
            await call.pass_time(FRAME_MS)

    async def _pause(self, verb: ET.Element) -> None:
        await self.call.pass_time(int(verb.get("length", "1")) * 1000)

    async def _redirect(self, verb: ET.Element) -> ET.Element | None:
        return await self.fetch((verb.text or "").strip(), "voice.redirect", (), verb.get("method", "POST"))

    async def _dial(self, verb: ET.Element) -> ET.Element | None:
        call, noun = self.call, verb.find("Number")
        number = ((noun.text if noun is not None else verb.text) or "").strip()
        if not number.startswith("+") or (noun is None and len(verb)):
            raise self._failed(13224, f"<Dial> to {number!r}")
        if verb.get("callerId", call.frm) not in (call.frm, call.to, *self.world.numbers):
            raise self._failed(13214, f"callerId {verb.get('callerId')} is not ours")
        callee = Callee(self, self.lines.get(number, Line()), number)
        call.note("dial", number)
        began = call.ms
        whisper = noun.get("url") if noun is not None else None
        status, bridged = await callee.ring(int(verb.get("timeout", "30")) * 1000, whisper)
        call.note("dialled", (number, status, bridged))
        told = [("DialCallStatus", status), ("DialCallSid", callee.sid), ("DialBridged", str(bridged).lower())]
        told += [("DialCallDuration", str((call.ms - began) // 1000))] if status == "completed" else []
        return await self._after(verb, "voice.dialled", told)


class Callee:
    """The other end of a `<Dial>`. Its whisper knows `<Say>`, `<Pause>`, `<Gather>` and `<Hangup>` only."""

    def __init__(self, script: Script, line: Line, number: str) -> None:
        self.script, self.call, self.line, self.number = script, script.call, line, number
        self.sid = script.world.sid("CA")

    async def ring(self, timeout_ms: int, whisper: str | None) -> tuple[str, bool]:
        """(`DialCallStatus`, whether the caller was put through), once it is over."""
        line, call = self.line, self.call
        await call.pass_time(min(line.ring_ms, timeout_ms))
        if line.answer != "human":
            return line.answer, False
        if line.ring_ms > timeout_ms:
            return "no-answer", False
        if whisper is not None and not await self.listen(whisper):
            return "completed", False
        call.note("bridged", self.number)
        if line.talk_ms is None:
            await asyncio.Event().wait()  # until the caller hangs up
        await call.pass_time(line.talk_ms or 0)
        return "completed", True

    async def listen(self, url: str) -> bool:
        """Runs the whisper; False: it hung up or failed, and the caller is not put through."""
        try:
            document: ET.Element | None = await self._ask(url)
            while document is not None:
                document = await self._perform(document)
        except Hangup:
            return False
        return True

    async def _perform(self, document: ET.Element) -> ET.Element | None:
        for verb in document:
            if verb.tag == "Say":
                await self._hear(verb)
            elif verb.tag == "Pause":
                await self.call.pass_time(int(verb.get("length", "1")) * 1000)
            elif verb.tag == "Gather":
                if (following := await self._gather(verb)) is not None:
                    return following
            else:
                if verb.tag != "Hangup":
                    self.call.problem(13000, f"<{verb.tag}> in a whisper")
                raise Hangup()
        return None

    async def _gather(self, verb: ET.Element) -> ET.Element | None:
        for nested in verb.findall("Say"):
            await self._hear(nested)
        if self.line.digits is None:
            await self.call.pass_time(int(verb.get("timeout", "5")) * 1000)
            return None
        self.call.note("callee presses", self.line.digits)
        return await self._ask(verb.get("action", ""), [("Digits", self.line.digits)])

    async def _hear(self, verb: ET.Element) -> None:
        text = (verb.text or "").strip()
        self.call.whispers.append(text)
        self.call.note("whisper", text)
        ulaw = await say(self.script.world, text, (verb.get("language") or "en")[:2], "clara")
        await self.call.pass_time(frames(ulaw) * FRAME_MS)

    async def _ask(self, url: str, extra: Params = ()) -> ET.Element:
        call, script = self.call, self.script
        changed = {
            "CallSid": self.sid, "To": self.number, "Called": self.number, "From": call.to, "Caller": call.to,
            "Direction": "outbound-dial", "CallStatus": "in-progress",
        }  # fmt: skip
        params = [(name, changed.get(name, value)) for name, value in script.params()]
        answer = await script.ask(
            urljoin(script.base, url), "voice.whisper", [*params, ("ParentCallSid", call.sid), *extra]
        )
        return script.parsed(answer.text)


_PLACES = ("City", "State", "Zip", "Country")
