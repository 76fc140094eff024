"""The phone stand-in on the wire, calling a small gateway through the production adapters (VO-1, VO-3, EV-2)."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from scripts.sandbox import wav
from scripts.sandbox.control import Control
from scripts.sandbox.phone import Call, CallEnded, Impatient
from scripts.sandbox.phone import Line as Callee
from scripts.sandbox.phone_media import Manners
from scripts.sandbox.world import CallOver, NoSuchCall
from tests.sandbox.bot import AFTER, CONNECT, Line, line

CALLER = "+15125550123"
LINE = "I would like to see a one bedroom on Tuesday"
LONG = "We have many apartments. " * 12


async def greeted(on: Line, manners: Manners | None = None, locale: str = "en") -> Call:
    """A call whose greeting has been heard."""
    call = await on.phone.place(CALLER, locale=locale, manners=manners)
    await call.wait_clara_silent(300)
    return call


def lost(on: Line) -> bool:
    """Whether the gateway saw its media socket break off."""
    return on.bot.closed in ([1005], [1006]) and on.bot.frames[-1]["event"] != "stop"


async def test_a_whole_call_is_heard_word_for_word_by_both_sides(tmp_path: Path) -> None:
    """The caller hears the greeting and the answer; Clara hears the caller; the recording has each on its side."""
    async with line() as on:
        call = await greeted(on)
        said = await call.say(LINE)
        await call.wait_heard("on Tuesday")
        await call.hang_up()
        assert call.heard_text() == f"Hello. You said {LINE}"
        assert all(heard.complete for heard in call.heard)
        assert call.problems == []
        call.wav(tmp_path / "call.wav")
        left, right = (wav.levels(side) for side in wav.read(tmp_path / "call.wav"))
        assert wav.overlap_ms(left, right) == 0
        assert max(left[said.start_ms // 20 : said.end_ms // 20]) > wav.AUDIBLE
        assert max(right[call.heard[1].start_ms // 20 :]) > wav.AUDIBLE


async def test_a_spanish_caller_is_heard_too() -> None:
    """Accents and inverted marks travel unharmed both ways."""
    async with line(greeting="Hola, ¿en qué puedo ayudarle?") as on:
        call = await greeted(on, locale="es")
        await call.say("Quisiera ver un apartamento el miércoles")
        await call.wait_heard("miércoles")
        await call.hang_up()
        assert call.heard_text().startswith("Hola, ¿en qué puedo ayudarle?")
        assert call.heard[1].utterance.text == "You said Quisiera ver un apartamento el miércoles"


async def test_the_frames_are_those_of_twilio() -> None:
    """connected, start, then media with string numbers on a 20 ms clock, one sequence over all frames, stop at the end."""
    async with line() as on:
        call = await greeted(on)
        await call.press("1#")
        await call.wait(100)
        await call.hang_up()
        first, start, *rest = on.bot.frames
        assert first == {"event": "connected", "protocol": "Call", "version": "1.0.0"}
        body = start["start"]
        assert (start["event"], start["sequenceNumber"], start["streamSid"]) == ("start", "1", body["streamSid"])
        assert body["callSid"] == call.sid
        assert body["tracks"] == ["inbound"]
        assert body["mediaFormat"] == {"encoding": "audio/x-mulaw", "sampleRate": 8000, "channels": 1}
        assert body["customParameters"] == {"token": "t-1"}
        assert [int(frame["sequenceNumber"]) for frame in rest] == list(range(2, len(rest) + 2))
        media = [frame["media"] for frame in rest if frame["event"] == "media"]
        assert [int(frame["timestamp"]) for frame in media] == list(range(0, len(media) * 20, 20))
        assert [frame["chunk"] for frame in media] == [str(n + 1) for n in range(len(media))]
        assert {(frame["track"], len(frame["payload"])) for frame in media} == {("inbound", 216)}
        keys = [frame["dtmf"] for frame in rest if frame["event"] == "dtmf"]
        assert keys == [{"track": "inbound_track", "digit": digit} for digit in "1#"]
        assert rest[-1]["event"] == "stop"
        assert rest[-1]["stop"] == {"accountSid": body["accountSid"], "callSid": call.sid}


async def test_the_webhook_has_every_field_and_the_end_is_told() -> None:
    """The voice webhook carries the standard form, blanks included; the status callback says completed and how long."""
    async with line() as on:
        call = await greeted(on)
        await call.hang_up()
        (path, form), (end, told) = on.bot.posts
        assert path == "/webhooks/twilio/voice"
        assert (form["CallSid"], form["From"], form["To"]) == (call.sid, CALLER, on.world.numbers[0])
        assert (form["CallStatus"], form["Direction"], form["FromCity"]) == ("ringing", "inbound", "")
        assert end == "/webhooks/twilio/call-status"
        assert (told["CallSid"], told["CallStatus"]) == (call.sid, "completed")
        assert told["CallDuration"] == str(call.ms // 1000)


async def test_the_media_clock_runs_at_the_speed_of_the_world() -> None:
    """Twelve times real time: 2.4 s of media pass in 0.2 s, and the timestamps are those of real time."""
    async with line(speed=12) as on:
        call = await greeted(on)
        clock = asyncio.get_running_loop().time
        began, at = clock(), call.ms
        await call.wait(2400)
        assert 0.18 < clock() - began < 2.4
        assert call.ms - at >= 2400
        await call.hang_up()


async def test_real_time_is_real_time() -> None:
    """At speed 1 a second of media takes a second."""
    async with line(speed=1) as on:
        call = await on.phone.place(CALLER)
        await call.until(lambda: call.stream is not None)
        clock = asyncio.get_running_loop().time
        began = clock()
        await call.wait(500)
        assert clock() - began > 0.45
        await call.hang_up()


async def test_marks_come_back_when_their_audio_was_played() -> None:
    """The greeting's mark is echoed at the end of the greeting, not when it was sent."""
    async with line() as on:
        call = await greeted(on)
        await call.until(lambda: bool(on.bot.marks))
        (echo,) = call.events("mark")
        assert echo.detail == "g1"
        assert abs(echo.ms - call.heard[0].end_ms) <= 20
        await call.hang_up()


async def test_an_interruption_clears_the_buffer_and_the_words_heard_end_there() -> None:
    """`clear` empties the buffer at once: Clara falls silent, her string counts as heard only as far as it got."""
    async with line(greeting=LONG) as on:
        call = await on.phone.place(CALLER)
        said = await call.interrupt("Excuse me", after_ms=1500)
        await call.wait_heard("You said")
        await call.hang_up()
        assert not call.heard[0].complete
        assert LONG.startswith(call.heard[0].text)
        assert 2 < len(call.heard[0].text.split()) < 12
        assert call.heard[0].end_ms - said.start_ms < 400
        assert call.events("clear")


async def test_a_dropped_socket_is_no_hang_up() -> None:
    """The socket breaks without `stop` or close frame; the call goes on with the action URL."""
    async with line() as on:
        on.bot.twiml["/after"] = "<Response><Say>We lost you.</Say></Response>"
        call = await greeted(on)
        call.drop()
        assert await call.over() == "completed"
        assert lost(on)
        assert call.heard[-1].text == "We lost you."
        assert [path for path, _ in on.bot.posts][1] == "/after"


async def test_a_stream_can_be_taken_up_again_by_the_action_url() -> None:
    """A fresh `<Connect>` gives the same call a new stream; its clock goes on."""
    async with line() as on:
        call = await greeted(on)
        on.bot.twiml["/after"] = CONNECT
        before = call.ms
        call.drop()
        await call.until(lambda: len(call.heard) == 2 and call.heard[1].complete)
        assert len({stream.sid for stream in call.streams}) == 2
        assert call.heard[1].start_ms > before
        await call.hang_up()


async def test_a_socket_closed_by_the_server_leads_to_the_action_url() -> None:
    """Closing the socket does not end the call; the action's document does."""
    async with line(reply=lambda text: None) as on:
        call = await greeted(on)
        await call.say("Goodbye")
        assert await call.over() == "completed"
        assert [path for path, _ in on.bot.posts] == [
            "/webhooks/twilio/voice",
            "/after",
            "/webhooks/twilio/call-status",
        ]
        with pytest.raises(CallEnded):
            await call.say("Hello?")


async def test_manners_of_a_bad_line() -> None:
    """Bunches, a second stop, silent marks, a slow reader, a late clear and a noisy line do what they say."""
    manners = Manners(stop_twice=True, bunch=5, echo_marks=False, read_delay_ms=5, clear_lag_ms=200, noise=60)
    async with line(greeting=LONG, silence_ms=10**6) as on:
        call = await on.phone.place(CALLER, manners=manners)
        await call.until(lambda: call.stream is not None)
        await call.wait(1000)
        await call.hang_up()
        events = [frame["event"] for frame in on.bot.frames]
        assert events[-2:] == ["stop", "stop"] or events[-1] == "stop"
        assert on.bot.marks == []
        payloads = {frame["media"]["payload"] for frame in on.bot.frames if frame["event"] == "media"}
        assert len(payloads) > 10


async def test_a_late_clear_plays_on_for_a_while() -> None:
    """Marks may truly be played after `clear` was sent: audio goes on until it takes effect."""
    async with line(greeting=LONG) as on:
        call = await on.phone.place(CALLER, manners=Manners(clear_lag_ms=400))
        await call.until(lambda: call.stream is not None and call.stream.playout.waiting_ms > 1500)
        await call.say("Stop")
        await call.wait(1000)
        cleared = call.events("clear")[0]
        assert 380 <= call.heard[0].end_ms - cleared.ms <= 440
        await call.hang_up()


@pytest.mark.parametrize(
    ("fault", "params"),
    [("phone.drop", {"seconds": 0.5}), ("phone.stop_twice", {}), ("phone.bunches", {"frames": 7}),
     ("phone.mute_marks", {}), ("phone.slow_reader", {"ms": 1}), ("phone.late_clear", {"ms": 50})],
)  # fmt: skip
async def test_faults_are_armed_by_name_and_happen_once(fault: str, params: dict[str, Any]) -> None:
    """The next stream misbehaves, the one after it does not."""
    async with line() as on:
        on.world.faults.arm(fault, **params)
        first = await on.phone.place(CALLER)
        await first.until(lambda: first.stream is not None)
        assert first.streams[0].manners != Manners()
        assert on.world.faults.fired[fault] == 1
        if fault == "phone.drop":
            assert await first.over() == "completed"
            assert lost(on)
        else:
            await first.hang_up()
        second = await greeted(on)
        assert second.streams[0].manners == Manners()
        await second.hang_up()


async def test_an_update_by_rest_replaces_the_stream() -> None:
    """New TwiML stops the stream and runs; the old action is not asked; a finished call refuses."""
    async with line() as on:
        call = await greeted(on)
        await on.phone.control(call.sid, {"Twiml": "<Response><Say>One moment.</Say><Hangup/></Response>"})
        assert await call.over() == "completed"
        assert call.heard[-1].text == "One moment."
        assert on.bot.frames[-1]["event"] == "stop"
        assert "/after" not in [path for path, _ in on.bot.posts]
        with pytest.raises(CallOver):
            await on.phone.control(call.sid, {"Status": "completed"})
        with pytest.raises(NoSuchCall):
            await on.phone.control("CAnone", {"Status": "completed"})


async def test_a_hang_up_by_rest_ends_the_call() -> None:
    """`Status=completed` is a hang-up; `Url` fetches a document."""
    async with line() as on:
        call = await greeted(on)
        assert call.resource()["status"] == "in-progress"
        await on.phone.control(call.sid, {"Status": "completed"})
        assert call.resource()["status"] == "completed"
        other = await greeted(on)
        on.bot.twiml["/new"] = "<Response><Reject reason='busy'/></Response>"
        await on.phone.control(other.sid, {"Url": "https://clara.example/new"})
        assert await other.over() == "busy"


DIAL = (
    '<Response><Dial action="/dialled" timeout="20" callerId="+15125550100">'
    '<Number url="/whisper">+15125550199</Number></Dial></Response>'
)
WHISPER = '<Response><Gather action="/pressed"><Say>Press 1 to take the call.</Say></Gather><Hangup/></Response>'


async def dialled(on: Line, callee: Callee) -> tuple[Call, dict[str, str]]:
    """A call that is put through to `callee`, and what the action was told."""
    on.phone.lines["+15125550199"] = callee
    on.bot.twiml |= {"/webhooks/twilio/voice": DIAL, "/whisper": WHISPER, "/pressed": "<Response/>", "/dialled": AFTER}
    call = await on.phone.place(CALLER)
    await call.over()
    return call, next(form for path, form in on.bot.posts if path == "/dialled")


async def test_a_human_who_accepts_is_bridged() -> None:
    """The whisper is heard by the callee alone; a pressed key puts the caller through; the action hears it."""
    async with line() as on:
        call, told = await dialled(on, Callee("human", ring_ms=1000, digits="1", talk_ms=2000))
        assert (told["DialCallStatus"], told["DialBridged"], told["CallSid"]) == ("completed", "true", call.sid)
        assert call.whispers == ["Press 1 to take the call."]
        assert call.heard_text() == ""
        (pressed,) = [form for path, form in on.bot.posts if path == "/pressed"]
        assert (pressed["Digits"], pressed["ParentCallSid"], pressed["To"]) == ("1", call.sid, "+15125550199")
        assert pressed["CallSid"] == told["DialCallSid"] != call.sid


@pytest.mark.parametrize(
    ("callee", "status"),
    [
        (Callee("human", digits=None), "completed"),
        (Callee("busy"), "busy"),
        (Callee("failed"), "failed"),
        (Callee("no-answer", ring_ms=60_000), "no-answer"),
        (Callee("human", ring_ms=25_000), "no-answer"),
    ],
)
async def test_a_human_who_does_not_take_the_call_is_not_bridged(callee: Callee, status: str) -> None:
    """Declined in the whisper, busy, unroutable, silent or too late: never bridged, and `completed` proves nothing."""
    async with line(speed=40) as on:
        _, told = await dialled(on, callee)
        assert (told["DialCallStatus"], told["DialBridged"]) == (status, "false")


async def test_a_caller_can_hang_up_while_bridged() -> None:
    """The call ends; the action is not asked."""
    async with line() as on:
        on.phone.lines["+15125550199"] = Callee("human", talk_ms=None)
        on.bot.twiml |= {"/webhooks/twilio/voice": DIAL.replace(' url="/whisper"', "")}
        call = await on.phone.place(CALLER)
        await call.until(lambda: bool(call.events("bridged")))
        await call.hang_up()
        assert "/dialled" not in [path for path, _ in on.bot.posts]


@pytest.mark.parametrize(
    ("document", "code"),
    [
        ("<Response><Connect><Stream url='ws://clara.example/media'/></Connect></Response>", 31922),
        ("<Response><Connect><Stream url='wss://clara.example/nothing'/></Connect></Response>", 31920),
        ("<Response><Connect><Stream url='wss://clara.example/media?token=1'/></Connect></Response>", 31920),
        ("<Response><Dial callerId='+19995550100'><Number>+15125550199</Number></Dial></Response>", 13214),
        ("<Response><Dial>555</Dial></Response>", 13224),
        ("<Response><Play>x.mp3</Play></Response>", 12200),
        ("<Response><Say>", 12100),
        ("<Answer/>", 12102),
    ],
)
async def test_twiml_that_twilio_would_not_take_is_a_problem(document: str, code: int) -> None:
    """The debugger's code is kept, and the call ends."""
    async with line() as on:
        on.bot.twiml["/webhooks/twilio/voice"] = document
        call = await on.phone.place(CALLER)
        if "media?" in document:
            await call.wait_clara_silent(300)
            await call.hang_up()
        await call.over()
        assert code in [found for found, _ in call.problems]


async def test_messages_that_twilio_would_not_take_are_problems() -> None:
    """Unknown events, foreign streams, marks without a name and binary frames are told by their codes."""
    async with line() as on:
        call = await greeted(on)
        stream = call.streams[0]
        for raw in ('{"event":"clear"}', "{", b"x", f'{{"event":"mark","streamSid":"{stream.sid}","mark":{{}}}}',
                    f'{{"event":"media","streamSid":"{stream.sid}"}}', f'{{"event":"end","streamSid":"{stream.sid}"}}'):  # fmt: skip
            await stream._take(raw)
        assert [code for code, _ in call.problems] == [31924, 31924, 31950, 31924, 31924, 31924]
        await call.hang_up()


async def test_a_gateway_that_is_down_ends_the_call() -> None:
    """An unreachable or failing webhook is an application error."""
    async with line() as on:
        on.world.gateway_url = "http://127.0.0.1:9"
        call = await on.phone.place(CALLER)
        assert await call.over() == "completed"
        assert call.problems[0][0] == 11205


async def test_waiting_has_an_end() -> None:
    """What does not happen raises, with the last events in the message; what can no longer happen raises too."""
    async with line(greeting="Hello.") as on:
        call = await greeted(on)
        with pytest.raises(Impatient, match="waited 200 ms for 'never' to be heard"):
            await call.wait_heard("never", timeout_ms=200)
        waiting = asyncio.create_task(call.wait_heard("never"))
        await asyncio.sleep(0)
        await call.hang_up()
        with pytest.raises(CallEnded):
            await waiting


async def test_a_scripted_call_runs_by_remote_control(tmp_path: Path) -> None:
    """The control interface places a call, acts it out, and tells what was heard."""
    async with line() as on:
        script = [{"wait_silent": 400}, {"say": LINE}, {"wait_heard": "on Tuesday"}, {"press": "1"}, {"hang_up": True}]
        request = {"from": CALLER, "script": script, "wav": str(tmp_path / "call.wav"), "follow": True}
        told = await on.phone.scripted(request)
        assert told["error"] is None
        assert [heard["complete"] for heard in told["heard"]] == [True, True]
        assert (tmp_path / "call.wav").stat().st_size > 40_000
        assert "no step" not in str(told)
        wrong = await on.phone.scripted({"from": CALLER, "script": [{"sing": "la"}], "follow": False})
        assert wrong["status"] == "ringing"
        await on.phone.calls[-1].hang_up()
        assert Control is not None
