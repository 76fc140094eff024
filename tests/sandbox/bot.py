"""A gateway of one screen for the tests of the phone: it greets, hears and says back, over the production adapters.

It has no policy. `replies` overrides what it says to a heard text; a reply of None closes the media socket.
"""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl

import elevenlabs.client  # noqa: F401 - takes a second, better before a call than during one
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from pipeline.core.gate import Outgoing, Passed, gate
from pipeline.core.segments import Prose
from scripts.sandbox.app import Sandbox
from scripts.sandbox.phone import Phone, install
from scripts.sandbox.webhooks import sign
from scripts.sandbox.wire import HttpServer
from scripts.sandbox.world import World
from voice.stt_elevenlabs import Committed, ElevenLabsHearing, HearingLost
from voice.tts_elevenlabs import ElevenLabsSpeaking, SpeakingFailed

CONNECT = (
    '<Response><Connect action="https://clara.example/after"><Stream url="wss://clara.example/media" name="main">'
    '<Parameter name="token" value="t-1"/></Stream></Connect><Hangup/></Response>'
)
AFTER = "<Response><Hangup/></Response>"


def passed(text: str, locale: str = "en") -> Passed:
    """`text` as the gate lets it out."""
    verdict = gate(Outgoing((Prose(text),), locale, "voice", committing=False)).passed
    assert verdict is not None
    return verdict


@dataclass
class Bot:
    """The gateway. `twiml`: path -> document; `posts`: the forms that came, by path; `frames`: what Twilio sent."""

    world: World
    greeting: str = "Hello."
    silence_ms: int = 500
    twiml: dict[str, str] = field(default_factory=lambda: {"/webhooks/twilio/voice": CONNECT, "/after": AFTER})
    reply: Callable[[str], str | None] = lambda text: f"You said {text}"
    posts: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    frames: list[dict[str, Any]] = field(default_factory=list)
    marks: list[str] = field(default_factory=list)
    closed: list[int] = field(default_factory=list)
    hearing: ElevenLabsHearing = field(init=False)
    speaking: ElevenLabsSpeaking = field(init=False)

    def meet(self, url: str) -> None:
        """Opens the provider clients, once for all calls."""
        passed("Hello.")  # the gate reads its lexicons the first time
        keys = self.world.keys
        self.hearing = ElevenLabsHearing(api_key=keys.elevenlabs_api_key, base_url=url)
        self.speaking = ElevenLabsSpeaking(
            api_key=keys.elevenlabs_api_key, voice=keys.elevenlabs_voice_id, base_url=url
        )

    @property
    def app(self) -> Starlette:
        """Webhooks and media socket."""
        return Starlette(
            routes=[WebSocketRoute("/media", self.media), Route("/{path:path}", self.hook, methods=["POST", "GET"])]
        )

    async def hook(self, request: Request) -> Response:
        """Any webhook: the document of its path."""
        form = parse_qsl((await request.body()).decode(), keep_blank_values=True)
        url = f"https://{request.headers['host']}{request.url.path}"
        url += f"?{request.url.query}" if request.url.query else ""
        token = self.world.keys.twilio_auth_token
        assert request.headers["x-twilio-signature"] == sign(token, url, form)
        path = request.url.path
        self.posts.append((path, dict(form)))
        return Response(self.twiml.get(path, "<Response/>"), media_type="text/xml")

    async def media(self, socket: WebSocket) -> None:
        """One call."""
        token = self.world.keys.twilio_auth_token
        assert socket.headers["x-twilio-signature"] == sign(token, "wss://clara.example/media")
        await socket.accept()
        call = _Call(self, socket)
        try:
            await call.run()
        except WebSocketDisconnect as end:
            self.closed.append(end.code)
        finally:
            await call.end()


class _Call:
    def __init__(self, bot: Bot, socket: WebSocket) -> None:
        self.bot, self.socket = bot, socket
        self.stream = ""
        self.talk: asyncio.Task[None] | None = None
        self.said = 0
        self.ears: asyncio.Task[None] | None = None

    async def run(self) -> None:
        session = await self.bot.hearing.open(None)
        quiet, spoke, lump = 0, False, b""
        self.ears = asyncio.create_task(self.listen(session))
        try:
            while True:
                message = json.loads(await self.socket.receive_text())
                self.bot.frames.append(message)
                match message["event"]:
                    case "start":
                        self.stream = message["streamSid"]
                        self.say(self.bot.greeting)
                    case "mark":
                        self.bot.marks.append(message["mark"]["name"])
                    case "stop":
                        return
                    case "media":
                        audio = base64.b64decode(message["media"]["payload"])
                        lump += audio
                        loud = bool(audio.strip(b"\xff"))
                        quiet = 0 if loud else quiet + 20
                        if loud and not spoke:
                            await self.cut()
                        spoke |= loud
                        if len(lump) >= 640:
                            await session.send(lump)
                            lump = b""
                        if spoke and quiet >= self.bot.silence_ms:
                            spoke = False
                            await session.commit()
        finally:
            await session.close()

    async def listen(self, session: Any) -> None:
        async for event in session:
            if isinstance(event, Committed) and event.text:
                answer = self.bot.reply(event.text)
                if answer is None:
                    await self.socket.close()
                    return
                self.say(answer)
            elif isinstance(event, HearingLost):
                self.say("I cannot hear you.")

    def say(self, text: str) -> None:
        self.talk = asyncio.create_task(self.speak(text))

    async def speak(self, text: str) -> None:
        self.said += 1
        name = f"g{self.said}"
        try:
            async for chunk in self.bot.speaking.speak(passed(text)):
                media = {"payload": base64.b64encode(chunk).decode()}
                await self.send({"event": "media", "streamSid": self.stream, "media": media})
            await self.send({"event": "mark", "streamSid": self.stream, "mark": {"name": name}})
        except SpeakingFailed:
            return

    async def cut(self) -> None:
        if self.talk is not None:
            self.talk.cancel()
        await self.send({"event": "clear", "streamSid": self.stream})

    async def send(self, message: dict[str, Any]) -> None:
        with suppress(WebSocketDisconnect, RuntimeError):
            await self.socket.send_text(json.dumps(message))

    async def end(self) -> None:
        for task in (self.talk, self.ears):
            if task is not None:
                task.cancel()
                await asyncio.wait({task})


@dataclass
class Line:
    """A running sandbox, its bot and its phone."""

    world: World
    bot: Bot
    phone: Phone
    url: str


@asynccontextmanager
async def line(speed: float = 16.0, **bot: Any) -> AsyncIterator[Line]:
    """All of it on free ports of this machine, at `speed` times real time."""
    world = World(speed=speed)
    talker = Bot(world, **bot)
    server = HttpServer(talker.app)
    world.gateway_url = await server.start()
    sandbox = Sandbox(world)
    await sandbox.start()
    talker.meet(sandbox.url)
    try:
        yield Line(world, talker, install(world), sandbox.url)
    finally:
        await talker.speaking.close()
        await sandbox.stop()
        await server.stop()
