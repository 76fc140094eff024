"""Whole calls against the stand-ins, with something going wrong on each: what was committed is told once, in writing where not in words (VO-1, VO-8, CO-1, IN-11)."""

from __future__ import annotations

import asyncio

import sqlalchemy as sa

from pipeline.ports import Tx
from scripts.sandbox.phone import Call, install
from scripts.sandbox.webhooks import deliver
from storage.screens import tours_of
from storage.tables import intent, utterance
from tests.support.running import Running, running

CAMELLIA, CALLER, OTHER = "+13125550100", "+13125550177", "+13125550178"
SPEED = 4.0
ASK = "I would like to tour on Monday July twentieth at eleven in the morning"
AGREED = "Monday, July 20 at 11:00 AM"


async def greeted(run: Running, number: str = CALLER) -> Call:
    """A call whose opening was heard."""
    call = await install(run.world).place(number, CAMELLIA)
    await call.wait_clara_speaking()
    await call.wait_clara_silent(900)
    return call


async def text_after(run: Running, number: str = CALLER) -> str:
    """The one text that follows a call."""
    await run.until(lambda: bool(run.texts(number)), what="the text after the call")
    await run.quiet()
    (text,) = run.texts(number)
    return text


async def tours(run: Running, number: str = CALLER) -> list[str]:
    return [tour["state"] for tour in await run.clara.db.read(tours_of, number)]


def written_to(tx: Tx) -> list[str]:
    """Whom anything was promised to in writing, but for the property's own people."""
    return list(tx.conn.execute(sa.select(intent.c.recipient).where(intent.c.customer_facing)).scalars())


def facts_said(tx: Tx) -> list[tuple[str, bool]]:
    """Sentences of Clara's about a visit, and whether each was heard whole."""
    rows = tx.conn.execute(sa.select(utterance.c.text, utterance.c.heard_whole).order_by(utterance.c.id))
    return [(text, whole) for text, whole in rows if "eleven" in text]


async def test_a_transcriber_lost_in_the_middle_of_a_sentence_costs_a_repetition(sqlite_url: str) -> None:
    """The connection is reset while the caller speaks: a new one is opened, and what is said next is understood."""
    async with running(sqlite_url, speed=SPEED) as run:
        call = await greeted(run)
        run.world.faults.arm("elevenlabs.stt.drop", after=3)
        await call.say(ASK)
        await call.wait_clara_speaking()
        await call.wait_clara_silent(900)
        if not await tours(run):
            await call.say(ASK)
        await call.wait_heard("Is that right")
        await call.hang_up()
        assert AGREED in await text_after(run) and await tours(run) == ["PROPOSED"]
        assert run.world.faults.fired["elevenlabs.stt.drop"] == 1


async def test_a_read_back_that_could_not_be_spoken_is_texted_and_never_counted(sqlite_url: str) -> None:
    """The synthesis breaks off inside the sentence with the day and the time: a bare yes confirms nothing, the text has it."""
    async with running(sqlite_url, speed=SPEED) as run:
        call = await greeted(run)
        run.world.faults.arm("elevenlabs.tts.drop", times=None)
        await call.say(ASK)
        await run.until(lambda: run.world.faults.fired["elevenlabs.tts.drop"] > 0, what="a synthesis that breaks off")
        await call.wait(3_000)
        said = await run.clara.db.read(facts_said)
        await call.say("Yes")
        await call.wait(2_000)
        await call.hang_up()
        assert not any(whole for _, whole in said)
        assert await tours(run) == ["PROPOSED"]
        assert AGREED in await text_after(run)
        told = await run.clara.db.read(facts_said)
        assert told and not any(whole for _, whole in told)


async def test_a_caller_who_hangs_up_while_the_turn_is_read_gets_the_text(sqlite_url: str) -> None:
    """The call is over, and its end is told by webhook, before the commit: the commit runs to its end, and one text says it (VO-8)."""
    async with running(sqlite_url, speed=SPEED) as run:
        call = await greeted(run)
        run.world.faults.arm("anthropic.slow", seconds=1.2)
        await call.say(ASK)
        await run.until(lambda: run.world.faults.fired["anthropic.slow"] > 0, what="a reading that takes its time")
        await call.hang_up()
        assert await tours(run) == []
        assert AGREED in await text_after(run) and await tours(run) == ["PROPOSED"]
        assert run.clara.calls == set()


async def test_the_end_of_a_call_told_before_its_socket_closes_ends_it_once(sqlite_url: str) -> None:
    """The status callback may come first, and again: the bridge ends, and one text follows."""
    async with running(sqlite_url, speed=SPEED) as run:
        call = await greeted(run)
        await call.say(ASK)
        await call.wait_heard("Is that right")
        status = [("CallSid", call.sid), ("CallStatus", "completed"), ("AccountSid", run.world.keys.twilio_account_sid)]
        for _ in range(2):
            await deliver(run.world, "status", run.world.public_url + "/webhooks/twilio/call-status", status)
        await run.until(lambda: run.clara.calls == set(), what="the end of the bridge")
        await call.over()
        assert AGREED in await text_after(run)


async def test_a_line_that_breaks_in_the_middle_of_a_word_ends_the_bridge(sqlite_url: str) -> None:
    """The socket closes without `stop` while Clara speaks: nothing of the call is left running, and nothing was promised."""
    async with running(sqlite_url, speed=SPEED) as run:
        call = await install(run.world).place(CALLER, CAMELLIA)
        await call.wait_clara_speaking()
        call.drop()
        await run.until(lambda: run.clara.calls == set(), what="the end of the bridge")
        await call.over()
        await run.quiet()
        assert run.texts(CALLER) == [] and call.problems == []


async def test_a_withheld_number_is_never_written_to(sqlite_url: str) -> None:
    """Two callers without a number agree on times: each is answered as a stranger, and no text goes to what stands for their number (CO-1)."""
    async with running(sqlite_url, speed=SPEED) as run:
        one, two = await asyncio.gather(greeted(run, "+266696687"), greeted(run, "anonymous"))
        await asyncio.gather(one.say(ASK), two.say(ASK.replace("eleven", "ten")))
        await asyncio.gather(one.wait_heard("Is that right"), two.wait_heard("Is that right"))
        await asyncio.gather(one.hang_up(), two.hang_up())
        await run.until(lambda: run.clara.calls == set(), what="the end of both calls")
        assert await run.clara.db.read(written_to) == []


async def test_keys_during_a_call_are_ignored(sqlite_url: str) -> None:
    """Somebody who presses keys hears the sentence to its end."""
    async with running(sqlite_url, speed=SPEED) as run:
        call = await install(run.world).place(CALLER, CAMELLIA)
        await call.wait_clara_speaking()
        await call.press("12#*")
        await call.wait_heard("How can I help you?")
        assert all(heard.complete for heard in call.heard)
        await call.hang_up()


async def test_two_calls_at_once_are_two_calls(sqlite_url: str) -> None:
    """Two callers ask for different times: each hears and gets their own."""
    async with running(sqlite_url, speed=SPEED) as run:
        one, two = await asyncio.gather(greeted(run), greeted(run, OTHER))
        await asyncio.gather(one.say(ASK), two.say(ASK.replace("eleven in the morning", "three in the afternoon")))
        await asyncio.gather(one.wait_heard("Is that right"), two.wait_heard("Is that right"))
        assert "eleven" in one.heard_text() and "eleven" not in two.heard_text()
        assert "three" in two.heard_text() and "three" not in one.heard_text()
        await asyncio.gather(one.hang_up(), two.hang_up())
        assert AGREED in await text_after(run) and "Monday, July 20 at 3:00 PM" in await text_after(run, OTHER)
