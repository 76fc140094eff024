"""The bridge without a wire: whatever fails, the call ends, its tasks end, what was heard is kept, and its end is reported once (VO-1, VO-8)."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

from pipeline.calls import Spoken
from scripts.sandbox.bare_call import BareCall, Ears, Mouth
from tests.calls.words import piece
from voice import bridge as b
from voice.bridge import Bridge

LOUD, QUIET = b"\x90" * 160, b"\xff" * 160
FINE, FACT = piece("Happy to help with that."), piece("So that is Monday at eleven.", "r1")
GOODBYE = ["Thank you for calling.", "Goodbye."]
SPOKEN = Spoken("turn-1", (FACT, FINE), False, frozenset({"r1"}), "en", False)


async def answered(text: str) -> Spoken:
    return SPOKEN


async def settle() -> None:
    """Lets everything that can run do so."""
    for _ in range(30):
        await asyncio.sleep(0)


async def frames(call: BareCall, ms: int, frame: bytes = QUIET) -> None:
    """The caller's line for so long."""
    for _ in range(0, ms, 20):
        call.line.hear(frame)
        await settle()


async def say(call: BareCall, text: str) -> None:
    """400 ms of speech, the hangover, and the transcriber's words."""
    call.ears.texts.append(text)
    await frames(call, 400, LOUD)
    await frames(call, 640)


@asynccontextmanager
async def live(call: BareCall) -> AsyncIterator[Bridge]:
    """A running bridge; at the end it must have ended by itself, with nothing left behind."""
    before = asyncio.all_tasks()
    bridge = call.bridge()
    running = asyncio.create_task(bridge.run())
    yield bridge
    async with asyncio.timeout(5):
        await running
    await settle()
    assert asyncio.all_tasks() <= before, "a task outlived its call"
    assert call.ended == ["CA1 completed"]


def heard(call: BareCall) -> list[str]:
    """Texts of Clara's sentences that were heard whole, in order."""
    return [row.text for _, row in sorted(call.books.rows.items()) if row.heard_whole]


async def test_a_call_says_its_opening_answers_and_ends() -> None:
    """Opening, question, answer: each is played, its mark makes it heard, and the rows say so."""
    call = BareCall(answered)
    async with live(call):
        await frames(call, 16_000)
        assert len(heard(call)) == 5 and "automated assistant" in heard(call)[1]
        await say(call, "Can I come on Monday?")
        await frames(call, 6_000)
        call.line.hang_up()
    assert heard(call)[5:] == [FACT.text, FINE.text]
    assert [row.turn for row in call.books.rows.values() if row.text == FACT.text] == ["turn-1"]
    assert call.ears.heard_bytes > 20_000 * 8 * 0.9


async def test_a_caller_who_leaves_in_the_middle_of_a_sentence_leaves_nothing_behind() -> None:
    """The socket closes without `stop` while a sentence is being made: the bridge ends, the synthesis is stopped, half a sentence is not heard."""
    call = BareCall(answered, mouth=Mouth(hang=True))
    async with live(call):
        await frames(call, 1_000)
        call.line.hang_up()
    assert call.mouth.closed == 1 and heard(call) == []
    call = BareCall(answered)
    async with live(call):
        await frames(call, 4_000)
        call.line.hang_up()
    rows = sorted(call.books.rows.items())
    assert 1 <= len(heard(call)) < 5
    assert all(row.text.startswith(row.heard) and (row.heard_whole or row.heard != row.text) for _, row in rows)


async def test_the_carrier_s_word_ends_a_call() -> None:
    """The status callback comes before the socket closes: the call ends in the same way, with that outcome."""
    call = BareCall(answered)
    bridge = call.bridge()
    running = asyncio.create_task(bridge.run())
    await frames(call, 500)
    bridge.end("failed")
    await running
    assert call.ended == ["CA1 failed"]


async def test_the_end_waits_for_a_turn_that_is_being_committed() -> None:
    """The caller hangs up while a turn runs: the end is reported when the turn is done, not before (VO-8)."""
    begun, finish = asyncio.Event(), asyncio.Event()

    async def slow(text: str) -> Spoken:
        begun.set()
        await finish.wait()
        return SPOKEN

    call = BareCall(slow)
    async with live(call):
        await frames(call, 500)
        await say(call, "Monday at eleven")
        await begun.wait()
        call.line.hang_up()
        await settle()
        assert call.ended == []
        finish.set()
    assert FACT.text not in [row.text for row in call.books.rows.values()]


async def test_a_lost_transcriber_is_opened_again() -> None:
    """The connection breaks between words and while they are waited for; the call goes on with a new one, and lost words are asked for."""
    call = BareCall(answered)
    async with live(call):
        await frames(call, 16_000)
        call.ears.sessions[0].lose()
        await asyncio.sleep(0.15)  # the pause before the next try
        assert len(call.ears.sessions) == 2
        await say(call, "Can I come on Monday?")
        await frames(call, 6_000)
        call.line.hang_up()
    assert heard(call)[5:] == [FACT.text, FINE.text]


async def test_a_transcriber_that_cannot_be_had_ends_the_call_with_a_goodbye() -> None:
    """It is tried a few times, one that opens and breaks off at once no more often; then Clara takes leave, and hangs up behind her last word."""
    call = BareCall(answered, ears=Ears(down=99))
    async with live(call):
        await frames(call, 16_000)
        while not call.ended:
            await asyncio.sleep(0.005)
            await frames(call, 40)
    assert heard(call)[-2:] == GOODBYE and call.ears.down == 99 - b.MOST_RECONNECTS


async def test_a_transcriber_that_refuses_for_good_is_not_tried_again() -> None:
    """A loss that settings must cure ends the call in the same way, at once."""
    call = BareCall(answered)
    async with live(call):
        await frames(call, 16_000)
        call.ears.sessions[0].lose(retryable=False)
        await frames(call, 4_000)
    assert heard(call)[-2:] == GOODBYE and len(call.ears.sessions) == 1


async def test_a_sentence_whose_synthesis_breaks_off_is_not_heard() -> None:
    """The call goes on behind it; the fact comes back in front of the next reply and counts then (IN-11)."""
    call = BareCall(answered, mouth=Mouth(fail_on="Monday"))
    async with live(call):
        await frames(call, 16_000)
        await say(call, "Can I come on Monday?")
        await frames(call, 5_000)
        assert heard(call)[5:] == [FINE.text]
        call.mouth.fail_on = "\0"
        await say(call, "What was that?")
        await frames(call, 6_000)
        call.line.hang_up()
    assert heard(call)[6:] == [FACT.text, FINE.text]
    assert [row.heard_whole for row in call.books.rows.values() if row.text == FACT.text] == [False, True]


async def test_a_turn_that_fails_is_asked_for_again() -> None:
    """An exception in the pipeline costs the caller a repetition, never silence and never a promise."""

    async def broken(text: str) -> Spoken:
        raise RuntimeError("a defect")

    call = BareCall(broken)
    async with live(call):
        await frames(call, 16_000)
        await say(call, "Can I come on Monday?")
        await frames(call, 5_000)
        call.line.hang_up()
    assert heard(call)[5:] == ["Sorry, I did not catch that.", "Could you say it once more?"]


async def test_fixed_lines_follow_the_language_of_the_call() -> None:
    """Once the caller is answered in Spanish, silence is asked about in Spanish, too (VO-5)."""

    async def spanish(text: str) -> Spoken:
        return replace(SPOKEN, pieces=(FINE,), read_back=frozenset(), locale="es")

    call = BareCall(spanish)
    async with live(call):
        await frames(call, 16_000)
        await say(call, "Hola")
        await frames(call, 13_000)
        call.line.hang_up()
    assert heard(call)[-1] == "¿Sigue ahí?"


async def test_what_was_heard_survives_a_database_that_fails_for_a_while() -> None:
    """Rows that could not be written are written with the next ones."""
    call = BareCall(answered)
    call.books.fail = 3
    async with live(call):
        await frames(call, 16_000)
        call.line.hang_up()
    assert len(heard(call)) == 5


async def test_a_socket_that_takes_nothing_ends_the_call() -> None:
    """What is unsent is bounded: half a minute of audio that nobody takes is a dead line."""
    call = BareCall(answered)
    async with live(call) as bridge:
        await frames(call, 200)
        call.line.stuck = True
        for _ in range(b.MOST_UNSENT + 5):
            bridge._enqueue("{}")


async def test_strange_frames_and_keys_disturb_nothing() -> None:
    """Keys, unknown events and rubbish in the middle of a sentence change nothing of it."""
    call = BareCall(answered)
    async with live(call):
        for frame in ('{"event":"dtmf","dtmf":{"digit":"1"}}', "rubbish", '{"event":"new"}', '{"event":"mark","mark":{"name":"g0:999"}}'):
            await frames(call, 4_000)
            call.line.raw(frame)
        call.line.raw('{"event":"stop","stop":{}}')
        call.line.raw('{"event":"stop","stop":{}}')
    assert len(heard(call)) == 5


async def test_two_calls_share_nothing() -> None:
    """Two bridges on one loop: each line hears its own answer."""
    other = replace(SPOKEN, pieces=(piece("Parking is behind the house."),), read_back=frozenset())

    async def parking(text: str) -> Spoken:
        return other

    one, two = BareCall(answered), BareCall(parking)
    running = [asyncio.create_task(call.bridge(number).run()) for number, call in enumerate((one, two), 1)]
    for call in (one, two):
        call.ears.texts = deque(["Hello", "Hello"])
    for _ in range(800):
        for call in (one, two):
            await frames(call, 20)
    for call in (one, two):
        await frames(call, 400, LOUD)
    for call in (two, one):
        await frames(call, 6_000)
        call.line.hang_up()
    await asyncio.gather(*running)
    assert heard(one)[-1] == FINE.text and heard(two)[-1] == other.pieces[0].text
    assert (one.ended, two.ended) == (["CA1 completed"], ["CA2 completed"])
