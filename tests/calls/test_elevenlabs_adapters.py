"""The adapters to the transcriber and the synthesiser, against running stand-ins with every fault (VO-1, VO-2, PR-6)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any, cast

import elevenlabs.client  # noqa: F401 - takes a second, better here than in the first test
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.core.gate import Outgoing, Passed, gate
from pipeline.core.segments import Prose
from scripts.sandbox.app import Sandbox
from scripts.sandbox.speech import speak, utter
from scripts.sandbox.watermark import mark, read
from scripts.sandbox.world import World
from voice.stt_elevenlabs import (
    Commits,
    Committed,
    ElevenLabsHearing,
    ElevenLabsSession,
    HearingEvent,
    HearingLost,
    HearingUnavailable,
    Partial,
    Word,
)
from voice.tts_elevenlabs import CHUNK, ElevenLabsSpeaking, SpeakingFailed

LINE = "I would like to come on Tuesday at three"
TEXT = "Thanks for calling. How can I help you with your search for a new home?"
SPEED = 20.0


@asynccontextmanager
async def sandbox() -> AsyncIterator[Sandbox]:
    """A sandbox whose delays are short."""
    async with Sandbox(World(speed=SPEED)) as running:
        yield running


# --- hearing ------------------------------------------------------------------------------------------------------


def hearing(running: Sandbox, **settings: Any) -> ElevenLabsHearing:
    given = {"api_key": running.world.keys.elevenlabs_api_key, "base_url": running.url, **settings}
    return ElevenLabsHearing(**given)


async def say(running: Sandbox, session: ElevenLabsSession, text: str = LINE, locale: str = "en") -> None:
    """Speaks into the session in lumps of 80 ms, then asks for the words."""
    audio = mark(speak(text, locale, "caller", "tones"), utter(running.world, "CA1", text, locale).id) + b"\xff" * 3200
    for at in range(0, len(audio), 640):
        await session.send(audio[at : at + 640])
    await session.commit()


async def events(session: ElevenLabsSession, seconds: float = 1.0) -> list[HearingEvent]:
    """Everything that comes within some time, or until the session ends."""
    got: list[HearingEvent] = []
    try:
        async with asyncio.timeout(seconds):
            async for event in session:
                got.append(event)
    except TimeoutError:
        pass
    return got


async def committed(session: ElevenLabsSession) -> Committed:
    """The next commit."""
    async with asyncio.timeout(5):
        async for event in session:
            if isinstance(event, Committed):
                return event
    raise AssertionError("the session ended")


def commits(got: list[HearingEvent]) -> list[str]:
    return [event.text for event in got if isinstance(event, Committed)]


async def test_words_come_as_partials_and_once_committed_with_their_confidence() -> None:
    """The plain and the timed form of a commit are one event, with words, language and good confidence."""
    async with sandbox() as running:
        session = await hearing(running).open(None, ["Willow Court", "x" * 30])
        await say(running, session)
        got = await events(session, 0.6)
        await session.close()
        (final,) = [event for event in got if isinstance(event, Committed)]
        assert final.text == LINE
        assert final.words is not None
        assert [word.text for word in final.words] == LINE.split()
        assert final.language == "en"
        assert not final.low_confidence
        assert any(isinstance(event, Partial) for event in got)


async def test_a_commit_told_three_times_is_heard_once_and_a_second_yes_twice() -> None:
    """Repeats are known by their words' times, so that the same word said again is not one of them."""
    async with sandbox() as running:
        running.world.faults.arm("elevenlabs.stt.tripled_commit", times=None)
        session = await hearing(running).open("en")
        await say(running, session, "yes")
        first = await events(session, 0.3)
        await say(running, session, "yes")
        second = await events(session, 0.5)
        await session.close()
        assert commits(first) + commits(second) == ["yes", "yes"]


async def test_words_of_low_confidence_are_marked() -> None:
    """One doubtful word is enough (PR-6)."""
    async with sandbox() as running:
        running.world.faults.arm("elevenlabs.stt.low_confidence", word="Tuesday", logprob=-1.7)
        session = await hearing(running).open("en")
        await say(running, session)
        assert (await committed(session)).low_confidence
        await session.close()


async def test_a_throttled_commit_and_an_empty_one_are_answered_with_nothing_heard() -> None:
    """Nobody waits for words that will not come."""
    async with sandbox() as running:
        session = await hearing(running).open(None)
        await session.send(b"\xff" * 800)
        await session.commit()
        assert (await committed(session)).text == ""
        await session.send(b"\xff" * 3200)
        await session.commit()
        assert await committed(session) == Committed("", None, None, low_confidence=False)
        await session.close()


async def test_a_lost_connection_is_told_and_sending_goes_on_harmlessly() -> None:
    """The event stream ends with `HearingLost`; sends after it raise nothing."""
    async with sandbox() as running:
        running.world.faults.arm("elevenlabs.stt.drop", after=2)
        session = await hearing(running).open(None)
        await say(running, session)
        got = await events(session)
        await session.send(b"\xff" * 640)
        await session.commit()
        await session.close()
        assert isinstance(got[-1], HearingLost)
        assert got[-1].retryable


async def test_closing_is_no_loss() -> None:
    """A session that we close ends without `HearingLost`."""
    async with sandbox() as running:
        session = await hearing(running).open(None)
        listening = asyncio.create_task(events(session))
        await session.close()
        assert await listening == []


@pytest.mark.parametrize(
    ("type", "retryable"),
    [("invalid_request", False), ("quota_exceeded", False), ("rate_limited", True), ("transcriber_error", True)],
)
async def test_a_session_refused_by_message_does_not_open(type: str, retryable: bool) -> None:
    """The socket is accepted first; opening waits for the verdict and says whether trying again can help."""
    async with sandbox() as running:
        running.world.faults.arm("elevenlabs.stt.refused", type=type)
        with pytest.raises(HearingUnavailable) as refused:
            await hearing(running).open(None)
        assert refused.value.lost.reason.startswith(type)
        assert refused.value.lost.retryable is retryable


async def test_an_unreachable_service_does_not_open() -> None:
    """Refused handshake, wrong key, closed port: one kind of error."""
    async with sandbox() as running:
        running.world.faults.arm("elevenlabs.stt.unreachable")
        with pytest.raises(HearingUnavailable) as down:
            await hearing(running).open(None)
        assert down.value.lost.retryable
        with pytest.raises(HearingUnavailable) as wrong:
            await hearing(running, api_key="wrong").open(None)
        assert not wrong.value.lost.retryable
    with pytest.raises(HearingUnavailable) as closed:
        await hearing(running).open(None)
    assert closed.value.lost.retryable


async def test_a_service_that_says_nothing_does_not_open() -> None:
    """Opening has its own time-out."""

    async def never(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            await reader.read()
        writer.close()
        gone.set()

    gone = asyncio.Event()
    silent = await asyncio.start_server(never, "127.0.0.1", 0)
    async with silent:
        host, port = silent.sockets[0].getsockname()
        hearing = ElevenLabsHearing(api_key="k", base_url=f"http://{host}:{port}", connect_timeout=0.1)
        with pytest.raises(HearingUnavailable) as late:
            await hearing.open(None)
        assert late.value.lost == HearingLost("connect time-out", retryable=True)
        await asyncio.wait_for(gone.wait(), 5)


def words(text: str, at: float) -> tuple[Word, ...]:
    return tuple(Word(part, at + index, at + index + 0.5, -0.1) for index, part in enumerate(text.split()))


@given(
    said=st.lists(st.sampled_from(["yes", "no", "three p m", "Tuesday"]), min_size=1, max_size=6),
    copies=st.lists(st.integers(1, 3), min_size=6, max_size=6),
    bunched=st.booleans(),
)
def test_every_commit_is_news_exactly_once(said: list[str], copies: list[int], bunched: bool) -> None:
    """However often and in whatever order plain and timed copies come, each commit leaves once, with its words."""
    commits, left = Commits(), []
    for turn, text in enumerate(said):
        commits.asked += 1
        timed = (text, words(text, 100.0 * turn), "en")
        for copy in range(copies[turn]):
            left.append(commits.plain(text))
            if not bunched or copy == copies[turn] - 1:
                left += [commits.timed(*timed) for _ in range(copies[turn] if bunched else 1)]
    news = [event for event in left if event is not None]
    assert [event.text for event in news] == said
    assert all(event.words for event in news)
    assert commits.held is None
    assert commits.asked == 0


def test_a_commit_whose_words_never_come_leaves_in_doubt() -> None:
    """After the grace it goes without words, of low confidence, and once."""
    commits = Commits()
    commits.asked = 1
    assert commits.plain("yes") is None
    assert commits.release() == Committed("yes", None, None, low_confidence=True)
    assert commits.plain("yes") is None
    assert commits.release() is None


# --- speaking -----------------------------------------------------------------------------------------------------


def passed(text: str = TEXT, channel: Any = "voice", locale: str = "en") -> Passed:
    """`text` as the gate lets it out."""
    verdict = gate(Outgoing((Prose(text),), locale, channel, committing=False)).passed
    assert verdict is not None
    return verdict


@asynccontextmanager
async def speaking(running: Sandbox, **settings: Any) -> AsyncIterator[ElevenLabsSpeaking]:
    keys = running.world.keys
    made = ElevenLabsSpeaking(
        **{"api_key": keys.elevenlabs_api_key, "voice": keys.elevenlabs_voice_id, "base_url": running.url, **settings}
    )
    try:
        yield made
    finally:
        await made.close()


async def failure(mouth: ElevenLabsSpeaking, text: str = TEXT) -> SpeakingFailed:
    """How speaking fails."""
    with pytest.raises(SpeakingFailed) as failed:
        async for _ in mouth.speak(passed(text)):
            pass
    return failed.value


async def test_what_was_gated_is_what_is_spoken() -> None:
    """The synthesiser gets the passed text character for character; the caller gets whole frames of its audio."""
    text = "¿Le gustaría otra hora? Dígame, por favor."
    async with sandbox() as running, speaking(running, voices={"es": "sandboxVoiceEs"}) as mouth:
        chunks = [chunk async for chunk in mouth.speak(passed(text, locale="es"))]
        (seen,) = running.world.seen("elevenlabs", "tts")
        assert seen.meta["text"] == text
        assert seen.meta["voice"] == "sandboxVoiceEs"
        assert all(len(chunk) % 160 == 0 for chunk in chunks)
        assert {len(chunk) for chunk in chunks[:-1]} == {CHUNK}
        marks = read(b"".join(chunks))
        assert [mark.index for mark in marks] == list(range(marks[0].count))


async def test_nothing_but_a_passed_string_for_voice_is_spoken() -> None:
    """A bare string and a string that passed for another channel are refused before a request is made (VO-2)."""
    async with sandbox() as running, speaking(running) as mouth:
        for wrong in (cast(Passed, TEXT), passed(channel="sms")):
            with pytest.raises(TypeError):
                await anext(aiter(mouth.speak(wrong)))
        assert running.world.seen("elevenlabs") == []


async def test_leaving_early_ends_the_request() -> None:
    """Closing the iterator breaks the connection, so that the synthesiser stops (VO-3)."""
    async with sandbox() as running, speaking(running) as mouth:
        stream = cast(Any, mouth.speak(passed()))
        await anext(stream)
        await stream.aclose()
        while not running.world.seen("elevenlabs", "tts.audio"):
            await asyncio.sleep(0.005)
        (ended,) = running.world.seen("elevenlabs", "tts.audio")
        assert ended.meta["sent"] < ended.meta["whole"]


async def test_cancelling_a_speaker_ends_the_request() -> None:
    """A cancelled task leaves no request behind, even before the first audio."""
    async with sandbox() as running, speaking(running) as mouth:
        running.world.faults.arm("elevenlabs.tts.slow", seconds=100)
        task = asyncio.create_task(failure(mouth))
        while not running.world.seen("elevenlabs", "tts"):
            await asyncio.sleep(0.005)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert [chunk async for chunk in mouth.speak(passed("Hello."))]


@pytest.mark.parametrize(
    ("fault", "params", "cause", "retryable"),
    [
        ("elevenlabs.tts.rate_limited", {}, "rate_limited", True),
        ("elevenlabs.tts.unavailable", {"status": 500}, "unavailable", True),
        ("elevenlabs.tts.unavailable", {"status": 422}, "rejected", False),
        ("elevenlabs.tts.reset", {}, "cut", True),
        ("elevenlabs.tts.empty", {}, "empty", True),
        ("elevenlabs.tts.slow", {"seconds": 20}, "slow", True),
    ],
)
async def test_a_failure_before_the_first_audio_is_typed(
    fault: str, params: dict[str, Any], cause: str, retryable: bool
) -> None:
    """Every way to fail has a name, says whether trying again can help, and that nothing was spoken."""
    async with sandbox() as running, speaking(running, first_byte=0.4) as mouth:
        running.world.faults.arm(fault, **params)
        failed = await failure(mouth)
        assert (failed.cause, failed.retryable, failed.spoken) == (cause, retryable, 0)
        assert TEXT not in str(failed)


@pytest.mark.parametrize(("fault", "cause"), [("elevenlabs.tts.drop", "cut"), ("elevenlabs.tts.stall", "slow")])
async def test_a_failure_in_the_middle_says_how_much_was_spoken(fault: str, cause: str) -> None:
    """A broken or stalled stream ends with a typed failure after the audio that came."""
    async with sandbox() as running, speaking(running, gap=0.3) as mouth:
        running.world.faults.arm(fault, frames=30)
        failed = await failure(mouth)
        assert failed.cause == cause
        assert 0 < failed.spoken <= 30 * 160


async def test_the_limit_in_all_counts_waiting_and_not_the_consumer() -> None:
    """A consumer that takes its time is not a slow synthesiser; one that drips for ever is."""
    async with sandbox() as running:
        async with speaking(running, total=0.35) as mouth:
            pauses = 0
            async for _ in mouth.speak(passed("Hello there.")):
                pauses += 1
                await asyncio.sleep(0.1 if pauses < 6 else 0)
            assert pauses > 6
        async with speaking(running, total=0.05) as mouth:
            assert (await failure(mouth)).cause == "slow"


async def test_a_closed_port_is_a_connect_failure() -> None:
    """Nothing was sent."""
    async with sandbox() as running:
        url = running.url
    async with speaking(running, base_url=url) as mouth:
        assert (await failure(mouth)).cause == "connect"
