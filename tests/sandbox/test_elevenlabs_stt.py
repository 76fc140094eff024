"""The transcriber stand-in over its real websocket: what it hears, and how it misbehaves (VO-1, EV-2)."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import pairwise
from typing import Any

import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from scripts.sandbox.app import Sandbox
from scripts.sandbox.elevenlabs_stt import schedule
from scripts.sandbox.speech import speak, utter
from scripts.sandbox.watermark import mark
from scripts.sandbox.world import World

QUERY = "model_id=scribe_v2_realtime&audio_format=ulaw_8000&commit_strategy=manual"
LINE = "I would like to come on Tuesday at three"
SILENCE = b"\xff" * 640


@asynccontextmanager
async def sandbox(speed: float = 20.0) -> AsyncIterator[Sandbox]:
    """A sandbox whose delays are short."""
    async with Sandbox(World(speed=speed)) as running:
        yield running


def audio(world: World, text: str = LINE, locale: str = "en") -> bytes:
    """`text` as a phone would send it."""
    return mark(speak(text, locale, "caller", "tones"), utter(world, "CA1", text, locale).id)


class Client:
    """A bare client of the endpoint."""

    def __init__(self, socket: ClientConnection) -> None:
        self.socket = socket

    async def send(self, ulaw: bytes, commit: bool = False, **fields: Any) -> None:
        body = {"message_type": "input_audio_chunk", "audio_base_64": base64.b64encode(ulaw).decode()}
        await self.socket.send(json.dumps({**body, "commit": commit, "sample_rate": 8000, **fields}))

    async def stream(self, ulaw: bytes) -> None:
        for at in range(0, len(ulaw), 640):
            await self.send(ulaw[at : at + 640])

    async def next(self) -> dict[str, Any]:
        message: dict[str, Any] = json.loads(await asyncio.wait_for(self.socket.recv(), 5))
        return message

    async def until(self, kind: str) -> list[dict[str, Any]]:
        got = [await self.next()]
        while got[-1]["message_type"] != kind:
            got.append(await self.next())
        return got

    async def rest(self, seconds: float = 0.3) -> list[dict[str, Any]]:
        """What still comes within some time."""
        got = []
        try:
            async with asyncio.timeout(seconds):
                while True:
                    got.append(await self.next())
        except (TimeoutError, ConnectionClosed):
            return got


@asynccontextmanager
async def client(running: Sandbox, query: str = QUERY, key: str | None = None) -> AsyncIterator[Client]:
    """A connected client."""
    url = running.url.replace("http", "ws", 1) + "/v1/speech-to-text/realtime?" + query
    headers = {"xi-api-key": key or running.world.keys.elevenlabs_api_key}
    async with connect(url, additional_headers=headers, proxy=None) as socket:
        yield Client(socket)


async def test_a_session_hears_growing_partials_and_one_commit() -> None:
    """Partials grow word by word; the commit has every word that was spoken, digit for digit."""
    async with sandbox() as running, client(running) as ears:
        assert (await ears.next())["message_type"] == "session_started"
        await ears.stream(audio(running.world))
        await ears.send(b"", commit=True)
        *partials, committed = await ears.until("committed_transcript")
        texts = [partial["text"] for partial in partials]
        assert len(texts) > 4
        assert all(later.startswith(earlier) for earlier, later in pairwise(texts))
        assert committed["text"] == LINE
        assert [seen.answer.decode() for seen in running.world.seen("elevenlabs", "stt.commit")] == [LINE]


async def test_words_come_with_times_and_confidence_when_asked() -> None:
    """With `include_timestamps` each commit is told twice, plain and with words."""
    async with sandbox() as running, client(running, QUERY + "&include_timestamps=true") as ears:
        await ears.next()
        await ears.stream(audio(running.world))
        await ears.send(b"", commit=True)
        timed = (await ears.until("committed_transcript_with_timestamps"))[-1]
        words = [word for word in timed["words"] if word["type"] == "word"]
        assert [word["text"] for word in words] == LINE.split()
        assert all(a["end"] <= b["start"] for a, b in pairwise(words))
        assert all(word["logprob"] > -0.5 for word in words)
        assert timed["language_code"] == "en"


async def test_a_commit_in_the_middle_splits_the_sentence_between_two_words() -> None:
    """What was said before the commit is in the first one, the rest in the second; no word is in both or in none."""
    async with sandbox() as running, client(running) as ears:
        await ears.next()
        spoken = audio(running.world)
        half = len(spoken) // 1280 * 640
        await ears.stream(spoken[:half])
        await ears.send(b"", commit=True)
        first = (await ears.until("committed_transcript"))[-1]["text"]
        await ears.stream(spoken[half:])
        await ears.send(b"", commit=True)
        second = (await ears.until("committed_transcript"))[-1]["text"]
        assert first
        assert second
        assert f"{first} {second}" == LINE


async def test_lost_audio_loses_its_words() -> None:
    """Words whose audio never arrived are not heard."""
    async with sandbox() as running, client(running) as ears:
        await ears.next()
        spoken = audio(running.world)
        third = len(spoken) // 480 * 160
        await ears.stream(spoken[:third] + spoken[2 * third :])
        await ears.send(b"", commit=True)
        heard = (await ears.until("committed_transcript"))[-1]["text"].split()
        assert 0 < len(heard) < len(LINE.split())
        assert [word for word in LINE.split() if word in heard] == heard


async def test_silence_is_committed_as_nothing_and_a_hasty_commit_is_throttled() -> None:
    """0.3 s of new audio is the least that can be committed; silence yields an empty text."""
    async with sandbox() as running, client(running) as ears:
        await ears.next()
        await ears.stream(SILENCE * 3)
        await ears.send(b"", commit=True)
        assert (await ears.next())["message_type"] == "commit_throttled"
        await ears.send(SILENCE, commit=True)
        assert await ears.next() == {"message_type": "committed_transcript", "text": ""}


async def test_vad_commits_by_itself_after_the_silence() -> None:
    """The service's own end-pointing counts audio, not wall time."""
    query = QUERY.replace("manual", "vad") + "&vad_silence_threshold_secs=0.5"
    async with sandbox() as running, client(running, query) as ears:
        await ears.next()
        await ears.stream(audio(running.world) + b"\xff" * 3200)
        assert (await ears.rest())[-1]["message_type"] == "partial_transcript"
        await ears.stream(SILENCE * 3)
        assert (await ears.until("committed_transcript"))[-1]["text"] == LINE


async def test_manual_mode_commits_unasked_after_ninety_seconds_of_audio() -> None:
    """The service never holds more than 90 s."""
    async with sandbox() as running, client(running) as ears:
        await ears.next()
        for _ in range(89):
            await ears.send(b"\xff" * 8000)
        assert await ears.rest(0.1) == []
        await ears.send(b"\xff" * 8000)
        assert (await ears.next())["message_type"] == "committed_transcript"


async def test_a_forced_language_hears_another_one_badly() -> None:
    """Spanish on an English session comes with low confidence; without a forced language it is heard well and named."""
    query = QUERY + "&include_timestamps=true"
    async with sandbox() as running:
        for language, low in (("&language_code=en", True), ("", False)):
            async with client(running, query + language) as ears:
                await ears.next()
                await ears.stream(audio(running.world, "Quiero ver un apartamento", "es"))
                await ears.send(b"", commit=True)
                timed = (await ears.until("committed_transcript_with_timestamps"))[-1]
                assert (timed["words"][0]["logprob"] < -1) is low
                assert timed["language_code"] == "es"


@pytest.mark.parametrize(
    "query",
    [
        "audio_format=ulaw_8000",
        QUERY.replace("scribe_v2_realtime", "scribe_v1"),
        QUERY.replace("ulaw_8000", "ulaw_16000"),
        QUERY.replace("manual", "auto"),
        QUERY + "&include_timestamps=yes",
        QUERY + "&vad_threshold=1.5",
        QUERY + "&speaker=2",
        QUERY + "&keyterms=" + "x" * 21,
        QUERY + "&include_timestamps=true&filter_background_audio=true",
    ],
)
async def test_a_bad_query_is_accepted_first_and_then_refused(query: str) -> None:
    """The socket opens, `invalid_request` comes, the socket closes with 1008."""
    async with sandbox() as running, client(running, query) as ears:
        assert (await ears.next())["message_type"] == "invalid_request"
        with pytest.raises(ConnectionClosed) as closed:
            await ears.next()
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 1008


async def test_a_wrong_key_is_an_auth_error() -> None:
    """The service wants its key."""
    async with sandbox() as running, client(running, key="wrong") as ears:
        assert (await ears.next())["message_type"] == "auth_error"


@pytest.mark.parametrize(
    "message",
    [
        "not json",
        '{"message_type": "commit"}',
        '{"message_type": "input_audio_chunk", "audio_base64": ""}',
        '{"message_type": "input_audio_chunk", "audio_base_64": "%%%"}',
        '{"message_type": "input_audio_chunk", "audio_base_64": "", "commit": "yes"}',
        '{"message_type": "input_audio_chunk", "audio_base_64": "", "sample_rate": 16000}',
    ],
)
async def test_a_wrong_message_is_an_input_error(message: str) -> None:
    """The shapes that the service does not take end the session."""
    async with sandbox() as running, client(running) as ears:
        await ears.next()
        await ears.socket.send(message)
        assert (await ears.next())["message_type"] == "input_error"


async def test_context_is_taken_on_the_first_chunk_only() -> None:
    """`previous_text` later than that is an input error."""
    async with sandbox() as running, client(running) as ears:
        await ears.next()
        await ears.send(SILENCE, previous_text="Hello")
        await ears.send(SILENCE, previous_text="Hello")
        assert (await ears.next())["message_type"] == "input_error"


async def heard(running: Sandbox) -> list[dict[str, Any]]:
    """Everything up to the commit of one spoken line."""
    async with client(running) as ears:
        await ears.next()
        await ears.stream(audio(running.world))
        await ears.send(b"", commit=True)
        return await ears.until("committed_transcript")


async def committed(running: Sandbox, query: str = QUERY + "&include_timestamps=true") -> list[dict[str, Any]]:
    """Everything that one spoken and committed line brings, partials left out."""
    async with client(running, query) as ears:
        await ears.next()
        await ears.stream(audio(running.world))
        await ears.send(b"", commit=True)
        return [message for message in await ears.rest() if message["message_type"] != "partial_transcript"]


async def test_faults_of_a_commit() -> None:
    """A commit can come three times, never, late, wrong or unsure."""
    async with sandbox() as running:
        arm = running.world.faults.arm
        arm("elevenlabs.stt.tripled_commit")
        assert len(await committed(running)) == 6
        arm("elevenlabs.stt.lost_commit")
        assert await committed(running) == []
        arm("elevenlabs.stt.late_commit", seconds=40)
        assert await committed(running) == []
        arm("elevenlabs.stt.silent")
        assert await committed(running) == []
        arm("elevenlabs.stt.misheard", text="Thank you.")
        assert (await committed(running))[0]["text"] == "Thank you."
        arm("elevenlabs.stt.low_confidence", word="Tuesday")
        words = (await committed(running))[1]["words"]
        assert [word["text"] for word in words if word["logprob"] < -1] == ["Tuesday"]


async def test_faults_of_a_session() -> None:
    """A session can be refused at the handshake or by a message, break off, and commit unasked."""
    async with sandbox() as running:
        arm = running.world.faults.arm
        arm("elevenlabs.stt.unreachable")
        with pytest.raises(InvalidStatus) as refused:
            await committed(running)
        assert refused.value.response.status_code == 403
        arm("elevenlabs.stt.refused", type="quota_exceeded")
        async with client(running) as ears:
            assert (await ears.next())["message_type"] == "quota_exceeded"
        arm("elevenlabs.stt.drop", after=3)
        with pytest.raises(ConnectionClosed):
            await heard(running)
        arm("elevenlabs.stt.unasked_commit", after=2)
        first, second = [message["text"] for message in await committed(running, QUERY)]
        assert f"{first} {second}" == LINE


def test_each_word_ends_at_one_frame_in_order() -> None:
    """A word's place is proportional to its letters; the last one ends with the last frame."""
    ends = schedule(LINE, 100)
    assert [word for frame in sorted(ends) for word in ends[frame]] == LINE.split()
    assert max(ends) == 99
    assert schedule("a b c", 1) == {0: ["a", "b", "c"]}
