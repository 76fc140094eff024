"""The transcriber stand-in: `/v1/speech-to-text/realtime`, hearing what the watermark says.

It understands nothing. Each marked frame names an utterance and a position in it; a word is heard when the frame at
its end arrives, so a commit in the middle of a sentence yields the first half, the next one the rest, and lost audio
loses words. Unmarked audio is silence.

Rules kept from the real service: a bad query is accepted first and refused by a message; a commit answers after a
while, and is throttled below 0.3 s of new audio; manual mode still commits by itself after 90 s; with time stamps
asked, a commit is told twice, plain and with words; with a forced language, speech in another one is heard badly
(assumed: low confidence).

Time is counted in received audio bytes, delays in seconds of media time (`World.speed`). Every session and commit
stands in `World.log` under provider `elevenlabs`, kinds `stt.session` and `stt.commit`.
"""

from __future__ import annotations

import base64
import binascii
import json
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from starlette.routing import BaseRoute, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from scripts.sandbox.faults import register
from scripts.sandbox.watermark import Reader
from scripts.sandbox.wire import hang_up
from scripts.sandbox.world import Utterance, World

UNREACHABLE = register("elevenlabs.stt.unreachable", "the handshake is answered 403")
REFUSED = register(
    "elevenlabs.stt.refused", "the socket is accepted, then error `type` (invalid_request) comes and the socket closes"
)
SILENT = register("elevenlabs.stt.silent", "the whole session hears nothing and answers no commit")
LATE = register("elevenlabs.stt.late_commit", "a commit is answered `seconds` (4) late")
LOST = register("elevenlabs.stt.lost_commit", "a commit is never answered")
TRIPLED = register("elevenlabs.stt.tripled_commit", "a commit is answered three times")
DROP = register("elevenlabs.stt.drop", "the connection is reset when a word is heard")
UNASKED = register("elevenlabs.stt.unasked_commit", "what was heard so far is committed unasked when a word is heard")
UNSURE = register(
    "elevenlabs.stt.low_confidence", "the words of a commit carry `logprob` (-2.5); `word` limits it to one"
)
MISHEARD = register("elevenlabs.stt.misheard", "a commit says `text` whatever was spoken, also where nothing was")

COMMIT_SECONDS = 0.25
"""From a commit to its answer on a warm socket."""
PARTIAL_BYTES = 800
"""A changed partial is sent at most once in so much audio."""
THROTTLE_BYTES = 2400
AUTO_COMMIT_BYTES = 90 * 8000
SURE, UNSURE_LOGPROB = -0.05, -2.5

_FORMATS = ("pcm_8000", "pcm_16000", "pcm_22050", "pcm_24000", "pcm_44100", "pcm_48000", "ulaw_8000")
_MODELS = ("scribe_v2_realtime", "scribe_v3_live")
_REPEATED = {"keyterms", "secondary_languages", "entity_detection", "entity_redaction"}
_FLAGS = {
    "include_timestamps",
    "include_language_detection",
    "no_verbatim",
    "filter_background_audio",
    "enable_logging",
}
_RANGES = {
    "vad_silence_threshold_secs": (0.3, 3.0),
    "vad_threshold": (0.1, 0.9),
    "min_speech_duration_ms": (50, 2000),
    "min_silence_duration_ms": (50, 2000),
}
_PLAIN = {"model_id", "audio_format", "commit_strategy", "language_code", "token", "transcript_edit"}
_FIELDS = {"message_type", "audio_base_64", "commit", "sample_rate", "previous_text"}


class Invalid(ValueError):
    """A query or message that the service refuses; `kind` is the error's message type."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


@dataclass(frozen=True, slots=True)
class Options:
    """A checked query."""

    strategy: str
    language: str | None
    timestamps: bool
    detection: bool
    silence_bytes: int
    echo: Mapping[str, Any]


def options(query: list[tuple[str, str]]) -> Options:
    """Checks a query string's pairs; raises `Invalid`."""
    for name, value in query:
        _check(name, value)
    terms = [value for name, value in query if name == "keyterms"]
    if len(terms) > 50 or any(len(term) > 20 for term in terms):
        raise Invalid("invalid_request", "keyterms: at most 50 terms of at most 20 characters")
    given = dict(query)
    if given.get("model_id") not in _MODELS:
        raise Invalid("invalid_request", f"model_id: one of {_MODELS} is required")
    if given.get("audio_format") != "ulaw_8000":
        raise Invalid("invalid_request", "audio_format: this service hears ulaw_8000 only")
    if given.get("commit_strategy", "manual") not in ("manual", "vad"):
        raise Invalid("invalid_request", "commit_strategy: manual or vad")
    timestamps = given.get("include_timestamps") == "true"
    if timestamps and given.get("filter_background_audio") == "true":
        raise Invalid("invalid_request", "filter_background_audio excludes include_timestamps")
    return Options(
        given.get("commit_strategy", "manual"),
        given.get("language_code"),
        timestamps,
        given.get("include_language_detection") == "true",
        int(float(given.get("vad_silence_threshold_secs", "1.5")) * 8000),
        {**given, "sample_rate": 8000},
    )


def _check(name: str, value: str) -> None:
    if name in _FLAGS and value not in ("true", "false"):
        raise Invalid("invalid_request", f"{name}: true or false")
    if name in _RANGES:
        low, high = _RANGES[name]
        if not value.replace(".", "", 1).isdecimal() or not low <= float(value) <= high:
            raise Invalid("invalid_request", f"{name}: between {low} and {high}")
    elif name == "audio_format" and value not in _FORMATS:
        raise Invalid("invalid_request", f"audio_format: one of {_FORMATS}")
    elif name not in _PLAIN | _REPEATED | _FLAGS:
        raise Invalid("invalid_request", f"{name}: unknown parameter")


@dataclass(frozen=True, slots=True)
class Word:
    """A heard word; start and end in seconds of the session's audio."""

    text: str
    start: float
    end: float
    logprob: float


def schedule(text: str, count: int) -> dict[int, list[str]]:
    """At which of `count` frames each word of `text` has been said: frame -> words that end there."""
    words = text.split()
    total = sum(map(len, words)) or 1
    ends: dict[int, list[str]] = {}
    said = 0
    for word in words:
        said += len(word)
        ends.setdefault(max(said * count // total - 1, 0), []).append(word)
    return ends


@dataclass(slots=True)
class Segment:
    """What was heard since the last commit."""

    words: list[Word] = field(default_factory=list)
    locale: str | None = None

    @property
    def text(self) -> str:
        """The words, joined."""
        return " ".join(word.text for word in self.words)


class Session:
    """One socket."""

    def __init__(self, world: World, socket: WebSocket, chosen: Options, id: str) -> None:
        self.world, self.socket, self.options, self.id = world, socket, chosen, id
        self.segment = Segment()
        self.received = self.committed = self.shown = self.spoke = (
            0  # audio bytes at: now, last commit, partial, speech
        )
        self.partial = ""
        self.messages = 0
        self.silent = world.faults.take(SILENT) is not None
        self._reader = Reader()
        self._schedules: dict[int, dict[int, list[str]]] = {}

    async def receive(self, raw: str) -> None:
        """Handles one message; raises `Invalid`."""
        message = _message(raw, first=self.messages == 0)
        self.messages += 1
        try:
            audio = base64.b64decode(message["audio_base_64"], validate=True)
        except binascii.Error as error:
            raise Invalid("input_error", f"audio_base_64: {error}") from error
        await self.hear(audio)
        if message.get("commit"):
            await self.commit_asked()

    async def hear(self, ulaw: bytes) -> None:
        """Adds audio to the segment and tells about it."""
        self.received += len(ulaw)
        heard = False
        for mark in self._reader.feed(ulaw):
            utterance = self.world.utterances.get(mark.utterance)
            if utterance is None:
                continue
            self.spoke = mark.start + 160
            heard |= self._word(utterance, mark.index, mark.count)
        if self.silent:
            return
        if heard and self.world.faults.take(DROP):
            hang_up(self.socket.scope)
            raise WebSocketDisconnect(1006)
        if heard and self.world.faults.take(UNASKED):
            self.commit()
        if self.segment.text != self.partial and self.received - self.shown >= PARTIAL_BYTES:
            self.partial, self.shown = self.segment.text, self.received
            await self.send("partial_transcript", text=self.partial)
        quiet = self.options.strategy == "vad" and self.received - self.spoke >= self.options.silence_bytes
        if (quiet and self.segment.words) or self.received - self.committed >= AUTO_COMMIT_BYTES:
            self.commit()

    def _word(self, utterance: Utterance, index: int, count: int) -> bool:
        if utterance.id not in self._schedules:
            self._schedules[utterance.id] = schedule(utterance.text, count)
        ended = self._schedules[utterance.id].get(index, [])
        known = self.options.language is None or self.options.language[:2] == utterance.locale[:2]
        for text in ended:
            end = self.spoke / 8000
            start = max(self.segment.words[-1].end if self.segment.words else 0.0, end - 0.08 * len(text))
            self.segment.words.append(Word(text, start, end, SURE if known else UNSURE_LOGPROB))
            self.segment.locale = utterance.locale
        return bool(ended)

    async def commit_asked(self) -> None:
        """The client's commit."""
        if self.received - self.committed < THROTTLE_BYTES:
            await self.send("commit_throttled", error="Commit throttled: need at least 0.3s of uncommitted audio.")
        elif not self.silent:
            self.commit()

    def commit(self) -> None:
        """Closes the segment; its answer follows."""
        segment, self.segment, self.partial = self.segment, Segment(), ""
        self.committed = self.received
        self.world.spawn(self._answer(segment))

    async def _answer(self, segment: Segment) -> None:
        started = time.perf_counter()
        faults = self.world.faults
        if faults.take(LOST):
            return
        late = faults.take(LATE)
        await self.world.pause((COMMIT_SECONDS + (late.get("seconds", 4.0) if late else 0.0)) / self.world.speed)
        text, words = self._told(segment)
        language = (segment.locale or self.options.language or "en")[:2]
        for _ in range(3 if faults.take(TRIPLED) else 1):
            await self.send("committed_transcript", text=text)
            if self.options.timestamps:
                listed = _listed(words)
                await self.send("committed_transcript_with_timestamps", text=text, language_code=language, words=listed)
            if self.options.detection:
                await self.send("final_transcript", text=text, language_code=language)
        self.world.see("elevenlabs", "stt.commit", started=started, answer=text.encode(), session=self.id)

    def _told(self, segment: Segment) -> tuple[str, list[Word]]:
        words = segment.words
        if misheard := self.world.faults.take(MISHEARD):
            at = self.received / 8000
            words = [Word(text, at, at, SURE) for text in str(misheard.get("text", "")).split()]
        if unsure := self.world.faults.take(UNSURE):
            which, logprob = unsure.get("word"), float(unsure.get("logprob", UNSURE_LOGPROB))
            words = [
                Word(word.text, word.start, word.end, logprob) if which in (None, word.text) else word for word in words
            ]
        return " ".join(word.text for word in words), words

    async def send(self, kind: str, **fields: Any) -> None:
        """One server message; nothing where the client has gone."""
        with suppress(WebSocketDisconnect, RuntimeError):
            await self.socket.send_text(json.dumps({"message_type": kind, **fields}))


def _message(raw: str, first: bool) -> dict[str, Any]:
    try:
        message = json.loads(raw)
    except ValueError as error:
        raise Invalid("input_error", f"not JSON: {error}") from error
    if not isinstance(message, dict) or message.get("message_type") != "input_audio_chunk":
        raise Invalid("input_error", "message_type: input_audio_chunk expected")
    if unknown := set(message) - _FIELDS:
        raise Invalid("input_error", f"unknown fields: {sorted(unknown)}")
    if not isinstance(message.get("audio_base_64"), str):
        raise Invalid("input_error", "audio_base_64: a string is required")
    if not isinstance(message.get("commit", False), bool):
        raise Invalid("input_error", "commit: a boolean")
    if message.get("sample_rate") not in (None, 8000):
        raise Invalid("input_error", "sample_rate: does not fit audio_format")
    if message.get("previous_text") is not None and not first:
        raise Invalid("input_error", "previous_text: on the first chunk only")
    return message


def _listed(words: list[Word]) -> list[dict[str, Any]]:
    out: list[dict[str, Any]] = []
    for word in words:
        if out:
            gap = {"text": " ", "start": out[-1]["end"], "end": word.start, "type": "spacing", "logprob": 0.0}
            out.append({**gap, "speaker_id": None, "characters": None})
        told = {"text": word.text, "start": word.start, "end": word.end, "type": "word", "logprob": word.logprob}
        out.append({**told, "speaker_id": None, "characters": None})
    return out


def routes(world: World) -> list[BaseRoute]:
    """The realtime endpoint."""

    async def realtime(socket: WebSocket) -> None:
        started = time.perf_counter()
        query = socket.query_params.multi_items()
        if world.faults.take(UNREACHABLE):
            await socket.close()  # before accepting
            return
        await socket.accept()
        id = world.sid("stt")
        try:
            session = Session(world, socket, options(query), id)
            if socket.headers.get("xi-api-key") != world.keys.elevenlabs_api_key:
                raise Invalid("auth_error", "You must be authenticated to use this endpoint.")
            if refused := world.faults.take(REFUSED):
                raise Invalid(refused.get("type", "invalid_request"), "armed by the sandbox")
            await session.send("session_started", session_id=id, config=dict(session.options.echo))
            while True:
                await session.receive(await socket.receive_text())
        except WebSocketDisconnect:
            return
        except Invalid as error:
            with suppress(WebSocketDisconnect, RuntimeError):
                await socket.send_text(json.dumps({"message_type": error.kind, "error": str(error)}))
                await socket.close(1008)
        finally:
            world.see("elevenlabs", "stt.session", started=started, body=socket.url.query.encode(), session=id)

    return [WebSocketRoute("/v1/speech-to-text/realtime", realtime)]
