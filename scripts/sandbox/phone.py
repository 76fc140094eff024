"""The phone stand-in: it places calls as Twilio does, hears what Clara says, and lets a test be the caller.

The carrier runs a script (`phone_twiml`): signed voice webhook, TwiML, media stream (`phone_media`), `<Connect action>`,
status callback. When the server closes the media socket the call goes on with the action URL, as it does at Twilio; a
call ends by `<Hangup>`, an exhausted document, the caller, or a REST update (`World.call_control`).

    phone = install(world)
    call = await phone.place("+15125550123", locale="en")
    await call.wait_clara_silent()
    await call.say("I'd like to see a one bedroom.")
    await call.hang_up()
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any
from weakref import WeakKeyDictionary

from starlette.routing import BaseRoute

from scripts.sandbox.phone_call import Call, CallEnded, Event, Heard, Impatient, Said
from scripts.sandbox.phone_media import Manners
from scripts.sandbox.phone_twiml import Line, Script
from scripts.sandbox.world import NoSuchCall, World

__all__ = [
    "Call",
    "CallEnded",
    "Event",
    "Heard",
    "Impatient",
    "Line",
    "Manners",
    "Phone",
    "Said",
    "install",
    "routes",
]


class Phone:
    """Places calls to the gateway, and is whoever answers when Clara dials.

    lines: who is at which number (default: nobody answers); status_path: where under the public
    address the end of a call is told, None: nowhere.
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
        call = Call(self.world, frm, to or self.world.numbers[0], locale)
        self.calls.append(call)
        status_url = self.world.public_url + self.status_path if self.status_path else None
        call.start(Script(call, self.voice_url, self.lines, status_url, manners))
        return call

    async def control(self, sid: str, form: Mapping[str, str]) -> None:
        """`World.call_control`: a REST update of a call."""
        call = self.world.calls.get(sid)
        if not isinstance(call, Call) or call.script is None:
            raise NoSuchCall(sid)
        await call.script.update(form)

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
