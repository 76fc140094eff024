"""A phone call to a tour, through the webhook, the media socket, both speech sockets and the text after it (VO-1, VO-2, VO-3, VO-8, PR-6, CO-1)."""

from __future__ import annotations

from pathlib import Path

from scripts.sandbox.phone import Call, install
from scripts.sandbox.wav import AUDIBLE, FRAME_MS, levels, quiet_from, read
from storage.screens import tours_of
from tests.support.running import Running, running

CAMELLIA, CALLER = "+13125550100", "+13125550177"
SPEED = 3.0
SILENT_WITHIN_MS = 300


async def dial(run: Running, locale: str = "en") -> Call:
    """A call to the first property, up to Clara's first words."""
    call = await install(run.world).place(CALLER, CAMELLIA, locale)
    await call.wait_clara_speaking()
    return call


async def finish(run: Running, call: Call) -> list[str]:
    """Hangs up; the texts that the caller got."""
    await call.hang_up()
    await run.until(lambda: bool(run.texts(CALLER)), what="the text after the call")
    await run.quiet()
    return run.texts(CALLER)


async def test_a_caller_interrupts_picks_an_offered_time_and_gets_the_text(database_url: str, tmp_path: Path) -> None:
    """Story (a): the interruption silences Clara within 300 ms, the offer is accepted and confirmed aloud, one text follows."""
    async with running(database_url, speed=SPEED) as run:
        call = await dial(run)
        await call.interrupt("Hi, can I see an apartment tomorrow afternoon?", after_ms=800)
        await call.wait_heard("Which one suits you")
        await call.wait_clara_silent(900)
        assert "automated assistant" in call.heard_text()
        await call.say("The first one please")
        await call.wait_heard("confirmed")
        await call.wait_clara_silent(900)
        texts = await finish(run, call)
        assert len(texts) == 1 and "is confirmed for Saturday, July 18" in texts[0]
        assert [tour["state"] for tour in await run.clara.db.read(tours_of, CALLER)] == ["CONFIRMED"]
        wav = tmp_path / "call.wav"
        call.wav(wav)
    check_recording(wav)


def check_recording(wav: Path) -> None:
    """Sound on both channels, one overlap (the interruption), and Clara silent within 300 ms of its start."""
    caller, clara = (levels(channel) for channel in read(wav))
    assert sum(level >= AUDIBLE for level in caller) * FRAME_MS > 1000
    assert sum(level >= AUDIBLE for level in clara) * FRAME_MS > 5000
    both = [at * FRAME_MS for at, pair in enumerate(zip(caller, clara, strict=False)) if min(pair) >= AUDIBLE]
    assert both, "nobody interrupted"
    assert both[-1] - both[0] <= SILENT_WITHIN_MS, "they spoke over each other more than once"
    began = next(at for at, level in enumerate(caller) if level >= AUDIBLE) * FRAME_MS
    silent = quiet_from(clara, began)
    assert silent is not None and silent - began <= SILENT_WITHIN_MS


async def test_a_reply_is_heard_before_a_bare_yes_confirms(database_url: str) -> None:
    """On a call nothing is CONFIRMED before its read-back was heard to the mark and answered; then a bare yes will do (PR-6)."""
    async with running(database_url, speed=SPEED) as run:
        call = await dial(run)
        await call.wait_clara_silent(900)
        await call.say("I would like to tour on Monday July twentieth at eleven in the morning")
        await call.wait_heard("Is that right")
        await call.wait_clara_silent(900)
        assert [tour["state"] for tour in await run.clara.db.read(tours_of, CALLER)] == ["PROPOSED"]
        assert "confirmed" not in call.heard_text()
        await call.say("Yes")
        await call.wait_heard("confirmed")
        await call.wait_clara_silent(900)
        texts = await finish(run, call)
        assert len(texts) == 1 and "confirmed for Monday, July 20 at 11:00 AM" in texts[0]


async def test_a_spanish_call_is_answered_in_spanish(database_url: str) -> None:
    """The language of the caller's words decides the reply's, on a call as elsewhere (UN-8)."""
    async with running(database_url, speed=SPEED) as run:
        call = await dial(run, "es")
        await call.wait_clara_silent(900)
        await call.say("Hola, ¿puedo ver un apartamento el lunes 20 de julio a las once de la mañana?")
        await call.wait_heard("¿Es correcto")
        await call.wait_clara_silent(900)
        assert "lunes veinte de julio a las once de la mañana" in call.heard_text()
        texts = await finish(run, call)
        assert len(texts) == 1 and "lunes 20 de julio a las 11:00 a. m." in texts[0]


async def test_a_dropped_call_loses_nothing_that_was_committed(database_url: str) -> None:
    """The line drops while the confirmation is spoken: the tour stands and the text says it (VO-8, IN-11)."""
    async with running(database_url, speed=SPEED) as run:
        call = await dial(run)
        await call.wait_clara_silent(900)
        await call.say("I would like to tour on Monday July twentieth at eleven in the morning")
        await call.wait_clara_speaking()
        call.drop()
        await run.until(lambda: bool(run.texts(CALLER)), what="the text after the call")
        await run.quiet()
        texts = run.texts(CALLER)
        assert len(texts) == 1 and "Monday, July 20 at 11:00 AM" in texts[0] and "confirmed" not in texts[0]
        assert [tour["state"] for tour in await run.clara.db.read(tours_of, CALLER)] == ["PROPOSED"]


async def test_a_call_that_promised_nothing_gets_no_text(database_url: str) -> None:
    """Whoever hangs up without a tour gets no text (CO-1)."""
    async with running(database_url, speed=SPEED) as run:
        call = await dial(run)
        await call.hang_up()
        await call.over()
        await run.quiet()
        assert run.texts(CALLER) == []
