"""The synthesiser stand-in: HTTP streaming and the multi-context websocket, making marked µ-law speech.

Every text that arrives is registered as an `Utterance` and its audio carries that number, so that a phone knows what
it played and how far. The exact text stands in `World.log` (provider `elevenlabs`, kind `tts`, `meta["text"]`) the
moment it is accepted, heard or not: that is what "no string reaches the synthesiser ungated" (VO-2) is checked
against. Audio is made five times faster than it plays, in pieces.

Rules of the websocket kept from the real one: at most five open contexts; `voice_settings` in a context's first
message only; a message without or with an unknown context id opens one; `flush` renders but yields no `isFinal`,
`close_context` yields exactly one where there was text, and none where there never was; no client message within
`inactivity_timeout` closes the socket.

Delays are seconds of media time (`World.speed`).
"""

from __future__ import annotations

import asyncio
import base64
import json
import re
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import suppress
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import BaseRoute, Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from scripts.sandbox.faults import register
from scripts.sandbox.speech import say, utter
from scripts.sandbox.watermark import FRAME, mark
from scripts.sandbox.wire import Reset, hang_up
from scripts.sandbox.world import World

RATE_LIMITED = register("elevenlabs.tts.rate_limited", "a synthesis request is answered 429")
UNAVAILABLE = register("elevenlabs.tts.unavailable", "a synthesis request is answered `status` (500)")
RESET = register("elevenlabs.tts.reset", "the connection of a synthesis request is reset before any answer")
SLOW = register("elevenlabs.tts.slow", "the first audio of a synthesis comes after `seconds` (5)")
STALL = register("elevenlabs.tts.stall", "after `frames` (25) frames nothing comes for `seconds` (30)")
DROP = register("elevenlabs.tts.drop", "the connection is reset after `frames` (25) frames of audio")
EMPTY = register("elevenlabs.tts.empty", "a synthesis is answered 200 without any audio")
POLICY = register("elevenlabs.tts_ws.1008", "the websocket answers the next message with an error and closes with 1008")
NEVER_FINAL = register("elevenlabs.tts_ws.never_final", "a closed context never gets its isFinal")

FIRST_BYTE_SECONDS = 0.12
PIECE_FRAMES = 10
FASTER = 5.0
"""Audio is made so many times faster than it plays."""
CONTEXTS = 5

_FORMAT = re.compile(r"(ulaw|alaw)_8000|pcm_(8000|16000|22050|24000|44100|48000)|mp3_\d+_\d+|opus_48000_\d+")
_MODELS = frozenset(
    {
        "eleven_flash_v2", "eleven_flash_v2_5", "eleven_turbo_v2", "eleven_turbo_v2_5", "eleven_multilingual_v2",
        "eleven_v3", "eleven_v3_conversational", "eleven_v4", "eleven_v4_turbo",
    }
)  # fmt: skip
_FIELDS = frozenset(
    {
        "text", "model_id", "language_code", "voice_settings", "seed", "previous_text", "next_text",
        "previous_request_ids", "next_request_ids", "apply_text_normalization", "apply_language_text_normalization",
        "pronunciation_dictionary_locators", "use_pvc_as_ivc", "audio_effects",
    }
)  # fmt: skip
_SETTINGS = {"stability": (0, 1), "similarity_boost": (0, 1), "style": (0, 1), "speed": (0.7, 1.2)}


class Refusal(Exception):
    """A request that is answered with an error."""

    def __init__(self, status: int, type: str, message: str, param: str | None = None) -> None:
        super().__init__(message)
        self.status, self.type, self.message, self.param = status, type, message, param

    def response(self) -> Response:
        """The vendor's error body."""
        if self.status == 422:
            detail: Any = [{"loc": ["body", self.param], "msg": self.message, "type": self.type}]
        else:
            detail = {"type": self.type, "code": self.type, "status": self.type, "message": self.message}
        return JSONResponse({"detail": detail}, self.status)


def known_voice(world: World, voice: str) -> bool:
    """Whether this account has the voice: the configured one, and any whose id begins with `sandboxVoice`."""
    return voice == world.keys.elevenlabs_voice_id or voice.startswith("sandboxVoice")


def check_settings(settings: Any) -> None:
    """Checks `voice_settings`; raises `Refusal`."""
    if settings is None:
        return
    if not isinstance(settings, dict) or set(settings) - set(_SETTINGS) - {"use_speaker_boost"}:
        raise Refusal(422, "value_error", "unknown voice settings", "voice_settings")
    for name, (low, high) in _SETTINGS.items():
        value = settings.get(name)
        if value is not None and not (isinstance(value, int | float) and low <= value <= high):
            raise Refusal(422, "value_error", f"{name} must be between {low} and {high}", "voice_settings")


def check_body(raw: bytes) -> dict[str, Any]:
    """The checked body of an HTTP request; raises `Refusal`."""
    try:
        body = json.loads(raw)
    except ValueError as error:
        raise Refusal(422, "json_invalid", str(error)) from error
    if not isinstance(body, dict) or set(body) - _FIELDS:
        raise Refusal(422, "extra_forbidden", "an object with known fields is required")
    text = body.get("text")
    if not isinstance(text, str) or not text.strip():
        raise Refusal(422, "missing", "text is required", "text")
    if body.get("model_id", "eleven_multilingual_v2") not in _MODELS:
        raise Refusal(400, "model_not_found", "A model with that id does not exist.", "model_id")
    language = body.get("language_code")
    if language is not None and not re.fullmatch("[a-z]{2}", str(language)):
        raise Refusal(400, "unsupported_language", "language_code is an ISO 639-1 code", "language_code")
    if not isinstance(body.get("seed", 0), int) or not 0 <= body.get("seed", 0) <= 4294967295:
        raise Refusal(422, "value_error", "seed is out of range", "seed")
    if body.get("apply_text_normalization", "auto") not in ("auto", "on", "off"):
        raise Refusal(422, "enum", "auto, on or off", "apply_text_normalization")
    check_settings(body.get("voice_settings"))
    return body


async def synthesise(world: World, text: str, locale: str, started: float, raw: bytes, **meta: Any) -> bytes:
    """Marked speech for `text`, which is on record before a sound is made."""
    utterance = utter(world, "", text, locale)
    world.see("elevenlabs", "tts", started=started, body=raw, text=text, utterance=utterance.id, **meta)
    return mark(await say(world, text, locale, "clara"), utterance.id)


async def pieces(world: World, audio: bytes, cut: Callable[[], None]) -> AsyncIterator[bytes]:
    """`audio` in pieces at the synthesiser's pace, with the faults that can befall it; `cut` breaks the connection."""
    faults = world.faults
    slow, drop, stall = faults.take(SLOW), faults.take(DROP), faults.take(STALL)
    ends = drop or stall
    size = PIECE_FRAMES * FRAME
    limit = ends.get("frames", 25) * FRAME if ends else len(audio)
    await world.pause((slow.get("seconds", 5.0) if slow else FIRST_BYTE_SECONDS) / world.speed)
    clock = asyncio.get_running_loop().time
    due = clock()
    for at in range(0, min(limit, len(audio)), size):
        yield audio[at : min(at + size, limit)]
        due += size / 8000 / FASTER / world.speed
        if due > clock():
            await world.pause(due - clock())
    if drop:
        cut()
    elif stall:
        await world.pause(stall.get("seconds", 30.0) / world.speed)
        yield audio[limit:]


class Http:
    """`POST /v1/text-to-speech/{voice_id}` with and without `/stream`."""

    def __init__(self, world: World) -> None:
        self.world = world

    async def answer(self, request: Request) -> Response:
        """One request."""
        started = time.perf_counter()
        raw = await request.body()
        faults = self.world.faults
        try:
            body = self._checked(request, raw)
            if faults.take(RATE_LIMITED):
                raise Refusal(429, "too_many_concurrent_requests", "Too many concurrent requests.")
            if down := faults.take(UNAVAILABLE):
                raise Refusal(down.get("status", 500), "internal_server_error", "Something went wrong.")
        except Refusal as refusal:
            told = refusal.response()
            self.world.see(
                "elevenlabs", "tts.refused", started=started, body=raw, answer=bytes(told.body), status=refusal.status
            )
            return told
        locale = body.get("language_code") or "en"
        audio = await synthesise(
            self.world, body["text"], locale, started, raw, voice=request.path_params["voice"], transport="http"
        )
        if faults.take(RESET):
            return Reset()
        if faults.take(EMPTY):
            return Response(b"", media_type="audio/basic")
        headers = {"request-id": self.world.sid("req"), "current-concurrent-requests": "1"}
        return StreamingResponse(self._stream(request, audio, started), headers=headers, media_type="audio/basic")

    async def _stream(self, request: Request, audio: bytes, started: float) -> AsyncIterator[bytes]:
        sent = 0
        try:
            async for piece in pieces(self.world, audio, lambda: hang_up(request.scope)):
                sent += len(piece)
                yield piece
        finally:
            self.world.see("elevenlabs", "tts.audio", started=started, sent=sent, whole=len(audio))

    def _checked(self, request: Request, raw: bytes) -> dict[str, Any]:
        if request.headers.get("xi-api-key") != self.world.keys.elevenlabs_api_key:
            raise Refusal(401, "invalid_api_key", "Invalid API key")
        if not known_voice(self.world, request.path_params["voice"]):
            raise Refusal(404, "voice_not_found", "A voice with that id was not found.")
        chosen = request.query_params.get("output_format", "mp3_44100_128")
        if not _FORMAT.fullmatch(chosen):
            raise Refusal(422, "enum", "unknown output_format", "output_format")
        if chosen != "ulaw_8000":
            raise Refusal(400, "output_format_not_allowed", "this service makes ulaw_8000 only", "output_format")
        return check_body(raw)


class _Context:
    def __init__(self, id: str) -> None:
        self.id = id
        self.buffer = ""
        self.spoke = False
        self.turn = asyncio.Lock()


class Policy(Exception):
    """A message that ends the socket with 1008; `error` is the vendor's word."""

    def __init__(self, error: str, message: str) -> None:
        super().__init__(message)
        self.error = error


class Socket:
    """One multi-context websocket."""

    def __init__(self, world: World, socket: WebSocket) -> None:
        self.world, self.socket = world, socket
        query = socket.query_params
        self.voice = socket.path_params["voice"]
        self.locale = query.get("language_code", "en")
        self.auto = query.get("auto_mode") == "true"
        self.timeout = float(query.get("inactivity_timeout", "20")) / world.speed
        self.contexts: dict[str, _Context] = {}
        self.work: set[asyncio.Task[Any]] = set()

    async def run(self) -> None:
        """Serves the socket to its end."""
        await self.socket.accept()
        first = True
        try:
            self._check_query()
            while True:
                raw = await asyncio.wait_for(self.socket.receive_text(), self.timeout)
                message = _object(raw)
                if first and self._key(message) != self.world.keys.elevenlabs_api_key:
                    raise Policy("invalid_api_key", "Invalid API key")
                first = False
                if message.get("close_socket"):
                    await asyncio.gather(*self.work, return_exceptions=True)
                    await self.socket.close(1000)
                    return
                self.receive(message, raw)
        except TimeoutError:
            await self._end(1000, "input_timeout_exceeded")
        except Policy as error:
            told = {"message": str(error), "error": error.error, "code": 1008}
            await self._send(told)
            await self._end(1008, str(error))
        except WebSocketDisconnect:
            return
        finally:
            for task in self.work:
                task.cancel()

    def _check_query(self) -> None:
        query = self.socket.query_params
        if not known_voice(self.world, self.voice):
            raise Policy("voice_id_does_not_exist", f"A voice with voice_id {self.voice} does not exist.")
        if query.get("model_id", "eleven_flash_v2_5") not in _MODELS - {"eleven_v3"}:
            raise Policy("model_not_available", "The model is not available here.")
        if query.get("output_format") != "ulaw_8000":
            raise Policy("output_format_not_allowed", "this service makes ulaw_8000 only")
        if self.timeout * self.world.speed > 180:
            raise Policy("invalid_inactivity_timeout", "inactivity_timeout is at most 180")

    def _key(self, message: Mapping[str, Any]) -> str | None:
        return self.socket.headers.get("xi-api-key") or message.get("xi-api-key")

    def receive(self, message: Mapping[str, Any], raw: str) -> None:
        """One client message; raises `Policy`."""
        if self.world.faults.take(POLICY):
            raise Policy("armed", "armed by the sandbox")
        id = message.get("context_id") or "default"
        context = self.contexts.get(id)
        if context is None:
            if len(self.contexts) >= CONTEXTS:
                raise Policy("max_active_conversations", f"At most {CONTEXTS} contexts may be open.")
            context = self.contexts[id] = _Context(id)
            try:
                check_settings(message.get("voice_settings"))
            except Refusal as refusal:
                raise Policy("invalid_voice_settings", refusal.message) from refusal
        elif message.get("voice_settings") is not None:
            raise Policy("voice_settings_not_first", "voice_settings belong into a context's first message.")
        context.buffer += message.get("text") or ""
        closing = message.get("close_context") is True
        if closing:
            del self.contexts[id]
        if closing or message.get("flush") is True or (self.auto and re.search(r"[.!?]\s*$", context.buffer)):
            text, context.buffer = context.buffer.strip(), ""
            self._start(self._render(context, text, raw, closing))

    def _start(self, work: Any) -> None:
        task = self.world.spawn(work)
        self.work.add(task)
        task.add_done_callback(self.work.discard)

    async def _render(self, context: _Context, text: str, raw: str, final: bool) -> None:
        async with context.turn:
            if text:
                context.spoke = True
                audio = await synthesise(
                    self.world, text, self.locale, time.perf_counter(), raw.encode(), voice=self.voice,
                    transport="websocket", context=context.id,
                )  # fmt: skip
                done = 0
                async for piece in pieces(self.world, audio, lambda: hang_up(self.socket.scope)):
                    aligned = _alignment(text, done, len(piece), len(audio))
                    done += len(piece)
                    told = {"audio": base64.b64encode(piece).decode(), "isFinal": None, "contextId": context.id}
                    await self._send({**told, "alignment": aligned, "normalizedAlignment": aligned})
            if final and context.spoke and not self.world.faults.take(NEVER_FINAL):
                await self._send({"isFinal": True, "audio": None, "contextId": context.id})

    async def _send(self, message: Mapping[str, Any]) -> None:
        with suppress(WebSocketDisconnect, RuntimeError):
            await self.socket.send_text(json.dumps(message))

    async def _end(self, code: int, reason: str) -> None:
        with suppress(WebSocketDisconnect, RuntimeError):
            await self.socket.close(code, reason[:120])


def _object(raw: str) -> dict[str, Any]:
    try:
        message = json.loads(raw)
    except ValueError:
        message = None
    if not isinstance(message, dict) or not isinstance(message.get("text", ""), str):
        raise Policy("invalid_message", "a JSON object is required")
    return message


def _alignment(text: str, done: int, size: int, whole: int) -> dict[str, list[Any]]:
    """The characters that this piece speaks, with times relative to it."""
    first, last = len(text) * done // whole, len(text) * (done + size) // whole
    chars = list(text[first:last])
    each = size // 8 // max(len(chars), 1)
    starts = [at * each for at in range(len(chars))]
    return {"chars": chars, "charStartTimesMs": starts, "charDurationsMs": [each] * len(chars)}


def routes(world: World) -> list[BaseRoute]:
    """Both transports."""
    http = Http(world)

    async def multi(socket: WebSocket) -> None:
        await Socket(world, socket).run()

    return [
        Route("/v1/text-to-speech/{voice}/stream", http.answer, methods=["POST"]),
        Route("/v1/text-to-speech/{voice}", http.answer, methods=["POST"]),
        WebSocketRoute("/v1/text-to-speech/{voice}/multi-stream-input", multi),
    ]
