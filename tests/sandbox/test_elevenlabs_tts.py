"""The synthesiser stand-in over HTTP and its multi-context websocket (VO-1, VO-2, EV-2)."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from scripts.sandbox.app import Sandbox
from scripts.sandbox.watermark import read
from scripts.sandbox.world import World

TEXT = "The two bedroom is open on Friday."
BODY = {"text": TEXT, "model_id": "eleven_flash_v2_5", "language_code": "en"}
SPEED = 20.0


@asynccontextmanager
async def sandbox() -> AsyncIterator[Sandbox]:
    """A sandbox whose delays are short."""
    async with Sandbox(World(speed=SPEED)) as running:
        yield running


def path(running: Sandbox, suffix: str = "/stream?output_format=ulaw_8000") -> str:
    return f"{running.url}/v1/text-to-speech/{running.world.keys.elevenlabs_voice_id}{suffix}"


def key(running: Sandbox) -> dict[str, str]:
    return {"xi-api-key": running.world.keys.elevenlabs_api_key}


async def test_a_text_comes_back_as_marked_speech_and_is_on_record() -> None:
    """Raw µ-law in whole frames, marked with the utterance that names the exact text; the log has the text too."""
    async with sandbox() as running, httpx.AsyncClient(trust_env=False) as http:
        answer = await http.post(path(running), json=BODY, headers=key(running))
        assert answer.status_code == 200
        marks = read(answer.content)
        assert len(answer.content) == 160 * len(marks) == 160 * marks[0].count
        assert running.world.utterances[marks[0].utterance].text == TEXT
        (seen,) = running.world.seen("elevenlabs", "tts")
        assert seen.meta["text"] == TEXT
        assert json.loads(seen.body) == BODY


async def test_audio_streams_before_the_last_of_it_is_made() -> None:
    """The first pieces arrive while the rest is still to be made."""
    async with sandbox() as running, httpx.AsyncClient(trust_env=False) as http:
        running.world.faults.arm("elevenlabs.tts.stall", frames=25, seconds=10_000)
        got = 0
        async with http.stream("POST", path(running), json=BODY, headers=key(running)) as answer:
            async for piece in answer.aiter_raw():
                got += len(piece)
                if got >= 25 * 160:
                    break
        assert got == 25 * 160


async def test_audio_is_made_faster_than_it_plays() -> None:
    """In real time a sentence is there before half of it could have been heard."""
    async with Sandbox(World()) as running, httpx.AsyncClient(trust_env=False) as http:
        clock = asyncio.get_running_loop().time
        began = clock()
        answer = await http.post(path(running), json={**BODY, "text": TEXT * 2}, headers=key(running))
        assert clock() - began < len(answer.content) / 8000 / 2


@pytest.mark.parametrize(
    ("status", "change", "suffix"),
    [
        (422, {"text": ""}, ""),
        (422, {"speed": 1}, ""),
        (422, {"voice_settings": {"speed": 2}}, ""),
        (422, {"seed": -1}, ""),
        (400, {"model_id": "eleven_flash_v9"}, ""),
        (400, {"language_code": "en-US"}, ""),
        (422, {}, "/stream?output_format=wav"),
        (400, {}, "/stream"),
    ],
)
async def test_a_bad_request_is_refused(status: int, change: dict[str, Any], suffix: str) -> None:
    """What the service would not take is an error and makes no sound."""
    async with sandbox() as running, httpx.AsyncClient(trust_env=False) as http:
        url = path(running, suffix) if suffix else path(running)
        answer = await http.post(url, json={**BODY, **change}, headers=key(running))
        assert answer.status_code == status
        assert "detail" in answer.json()
        assert running.world.seen("elevenlabs", "tts") == []


async def test_key_and_voice_must_exist() -> None:
    """401 without the key, 404 for an unknown voice."""
    async with sandbox() as running, httpx.AsyncClient(trust_env=False) as http:
        assert (await http.post(path(running), json=BODY)).status_code == 401
        other = path(running).replace(running.world.keys.elevenlabs_voice_id, "nobody")
        assert (await http.post(other, json=BODY, headers=key(running))).status_code == 404


async def drained(pieces: AsyncIterator[bytes]) -> tuple[bytes, Exception | None]:
    """What came, and the error that ended it."""
    got = b""
    try:
        async for piece in pieces:
            got += piece
    except httpx.HTTPError as error:
        return got, error
    return got, None


async def test_faults_of_the_http_stream() -> None:
    """It can be busy, down, reset, cut in the middle, or empty."""
    async with sandbox() as running, httpx.AsyncClient(trust_env=False) as http:
        arm = running.world.faults.arm

        async def post() -> httpx.Response:
            return await http.post(path(running), json=BODY, headers=key(running))

        arm("elevenlabs.tts.rate_limited")
        assert (await post()).status_code == 429
        arm("elevenlabs.tts.unavailable", status=503)
        assert (await post()).status_code == 503
        arm("elevenlabs.tts.empty")
        assert (await post()).content == b""
        arm("elevenlabs.tts.reset")
        with pytest.raises(httpx.HTTPError):
            await post()
        arm("elevenlabs.tts.drop", frames=7)
        async with http.stream("POST", path(running), json=BODY, headers=key(running)) as answer:
            got, end = await drained(answer.aiter_raw())
        assert isinstance(end, httpx.HTTPError)
        assert len(got) == 7 * 160
        arm("elevenlabs.tts.slow", seconds=4)
        began = asyncio.get_running_loop().time()
        assert (await post()).status_code == 200
        assert asyncio.get_running_loop().time() - began > 4 / SPEED


# --- the websocket ------------------------------------------------------------------------------------------------


class Mouth:
    """A bare client of the multi-context socket."""

    def __init__(self, socket: ClientConnection) -> None:
        self.socket = socket

    async def send(self, **message: Any) -> None:
        await self.socket.send(json.dumps(message))

    async def next(self) -> dict[str, Any]:
        message: dict[str, Any] = json.loads(await asyncio.wait_for(self.socket.recv(), 5))
        return message

    async def rest(self, seconds: float = 0.4) -> list[dict[str, Any]]:
        """Everything until nothing comes any more, or the socket closes."""
        got = []
        try:
            while True:
                async with asyncio.timeout(seconds):
                    got.append(await self.next())
        except (TimeoutError, ConnectionClosed):
            return got

    async def close_code(self) -> int:
        await asyncio.wait_for(self.socket.wait_closed(), 5)
        assert self.socket.close_code is not None
        return self.socket.close_code


@asynccontextmanager
async def mouth(running: Sandbox, more: str = "") -> AsyncIterator[Mouth]:
    """A connected socket."""
    suffix = "/multi-stream-input?model_id=eleven_flash_v2_5&output_format=ulaw_8000" + more
    url = path(running, suffix).replace("http", "ws", 1)
    async with connect(url, additional_headers=key(running), proxy=None) as socket:
        yield Mouth(socket)


def sound(messages: list[dict[str, Any]], context: str) -> bytes:
    """The audio of one context."""
    return b"".join(
        base64.b64decode(message["audio"])
        for message in messages
        if message.get("audio") and message.get("contextId") == context
    )


async def test_flush_renders_without_an_end_and_close_context_ends_once() -> None:
    """`flush` alone never yields `isFinal`; `close_context` yields exactly one, after the audio."""
    async with sandbox() as running, mouth(running) as said:
        await said.send(text=" ", context_id="a", voice_settings={"speed": 1.0})
        await said.send(text=TEXT + " ", context_id="a")
        await said.send(context_id="a", flush=True)
        first = await said.rest()
        assert sound(first, "a")
        assert not any(message.get("isFinal") for message in first)
        await said.send(context_id="a", text="Bye. ", close_context=True)
        last = await said.rest()
        assert [message["isFinal"] for message in last].count(True) == 1
        assert last[-1]["isFinal"] is True
        heard = {mark.utterance for mark in read(sound(first + last, "a"))}
        assert [running.world.utterances[id].text for id in sorted(heard)] == [TEXT, "Bye."]


async def test_alignment_spells_the_text() -> None:
    """The characters of all pieces are the text; times are relative to the piece."""
    async with sandbox() as running, mouth(running) as said:
        await said.send(text=TEXT, context_id="a", flush=True, close_context=True)
        messages = [message for message in await said.rest() if message.get("audio")]
        assert "".join(char for message in messages for char in message["alignment"]["chars"]) == TEXT
        assert all(message["alignment"]["charStartTimesMs"][:1] in ([], [0]) for message in messages)


async def test_auto_mode_speaks_whole_sentences_by_itself() -> None:
    """With `auto_mode` a finished sentence needs no flush."""
    async with sandbox() as running, mouth(running, "&auto_mode=true") as said:
        await said.send(text="One moment", context_id="a")
        assert await said.rest(0.1) == []
        await said.send(text=", please. ", context_id="a")
        assert read(sound(await said.rest(), "a"))


async def test_a_sixth_context_ends_the_socket() -> None:
    """Five contexts may be open; one that was closed does not count."""
    async with sandbox() as running, mouth(running) as said:
        for name in "abcde":
            await said.send(text=" ", context_id=name)
        await said.send(context_id="a", close_context=True)
        await said.send(text=" ", context_id="f")
        assert await said.rest(0.1) == []
        await said.send(text="")  # without an id: it opens the default context
        error = await said.next()
        assert (error["error"], error["code"]) == ("max_active_conversations", 1008)
        assert await said.close_code() == 1008


async def test_voice_settings_come_first_or_never() -> None:
    """Voice settings in a later message of a context end the socket."""
    async with sandbox() as running, mouth(running) as said:
        await said.send(text=" ", context_id="a")
        await said.send(text="Hello ", context_id="a", voice_settings={"speed": 1.0})
        assert (await said.next())["code"] == 1008
        assert await said.close_code() == 1008


async def test_an_empty_context_closes_in_silence() -> None:
    """Closing before there was text yields no `isFinal`: a client needs its own deadline."""
    async with sandbox() as running, mouth(running) as said:
        await said.send(text=" ", context_id="a")
        await said.send(context_id="a", close_context=True)
        assert await said.rest(0.1) == []


async def test_an_idle_socket_is_closed_and_keepalives_keep_it() -> None:
    """No client message for `inactivity_timeout` seconds closes the socket."""
    async with sandbox() as running, mouth(running, "&inactivity_timeout=2") as said:
        await said.send(text=" ", context_id="a")
        for _ in range(4):
            await asyncio.sleep(1 / SPEED)
            await said.send(text="", context_id="a")
        assert await said.rest(0.02) == []
        assert await said.close_code() == 1000


async def test_close_socket_finishes_what_is_open() -> None:
    """Pending speech is delivered before the socket closes."""
    async with sandbox() as running, mouth(running) as said:
        await said.send(text=TEXT, context_id="a", flush=True)
        await said.send(close_socket=True)
        assert sound(await said.rest(), "a")
        assert await said.close_code() == 1000


@pytest.mark.parametrize("more", ["&output_format=mp3_44100_128", "&model_id=eleven_v3", "&inactivity_timeout=181"])
async def test_a_bad_query_ends_the_socket(more: str) -> None:
    """Wrong voice, model, format or time-out: closed with a reason."""
    async with sandbox() as running, mouth(running, more) as said:
        assert (await said.next())["code"] == 1008
        assert await said.close_code() == 1008


async def test_faults_of_the_websocket() -> None:
    """It can refuse, break in the middle, and forget to end a context."""
    async with sandbox() as running:
        arm = running.world.faults.arm
        arm("elevenlabs.tts_ws.1008")
        async with mouth(running) as said:
            await said.send(text=" ", context_id="a")
            assert (await said.next())["code"] == 1008
        arm("elevenlabs.tts_ws.never_final")
        async with mouth(running) as said:
            await said.send(text=TEXT, context_id="a", close_context=True)
            assert not any(message.get("isFinal") for message in await said.rest())
        arm("elevenlabs.tts.drop", frames=10)
        async with mouth(running) as said:
            await said.send(text=TEXT, context_id="a", flush=True)
            assert len(sound(await said.rest(), "a")) == 1600
            assert await said.close_code() == 1006
