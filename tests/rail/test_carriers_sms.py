"""Texts out: one attempt, one POST, every outcome classified by its phase (SR-3, SR-6, IN-6, IN-7)."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Collection
from dataclasses import replace
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qsl

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.signatures import form_params, twilio_form
from pipeline.ports import Absent, Accepted, Attempt, CannotTell, Found, MaybeSent, NotSent, Refused
from scripts.sandbox.messages import send_text
from scripts.sandbox.twilio_rest import store
from scripts.sandbox.world import World
from tests.sandbox.rig import Rig, rig
from text_channels.sms import TwilioSms
from text_channels.sms_codec import FAILURES, delivery_status

pytestmark = pytest.mark.asyncio

CUSTOMER = "+15125550142"


def attempt(world: World, body: str = "See you soon. Hasta pronto, señora.", **changes: Any) -> Attempt:
    """An attempt that was opened just now."""
    plain = Attempt(
        id="a1",
        intent="i1",
        number=1,
        channel="sms",
        sender=world.numbers[0],
        recipient=CUSTOMER,
        payload=body.encode(),
        reference="ref/1?&ñ",
        opened_at=world.clock.now(),
    )
    return replace(plain, **changes)


def carrier(at: Rig, **changes: Any) -> TwilioSms:
    """The production carrier, pointed at the sandbox."""
    keys = at.world.keys
    wiring = {
        "public_url": at.world.public_url,
        "api_url": at.sandbox.url,
        "connect_timeout": 1.0,
        "read_timeout": 5.0,
        "workers": 2,
    }
    return TwilioSms(keys.twilio_account_sid, keys.twilio_auth_token, **{**wiring, **changes})


def posts(at: Rig) -> int:
    """How many creates reached the stand-in."""
    return len(at.world.seen("twilio", "message.create"))


async def test_an_accepted_text_has_the_providers_id_and_is_not_yet_delivered() -> None:
    """201 is `Accepted` with the provider's id, and not final: delivery is told later (SR-5)."""
    async with rig() as at:
        outcome = await carrier(at).send(attempt(at.world))
        assert isinstance(outcome, Accepted)
        assert not outcome.final
        assert at.world.messages[outcome.ref].recipient == CUSTOMER


@settings(max_examples=15, deadline=None)
@given(body=st.text(min_size=1, max_size=200))
@pytest.mark.parametrize("end", ["", " ", "\r\n", "\u00a0😀"])
async def test_the_stored_bytes_are_what_the_provider_receives(body: str, end: str) -> None:
    """Any text arrives byte for byte: white space, line ends, signs of the form's own grammar, other scripts (IN-7)."""
    async with rig() as at:
        payload = (body + end).encode()
        await carrier(at).send(attempt(at.world, payload=payload))
        (seen,) = at.world.seen("twilio", "message.create")
        form = dict(parse_qsl(seen.body.decode("ascii"), keep_blank_values=True))
        assert form["Body"].encode() == payload


async def test_status_callbacks_come_back_signed_and_with_the_attempts_reference() -> None:
    """The callback URL is the public one with `ref`; its signature verifies and its form reads as a delivery status (SR-4, OP-3)."""
    async with rig() as at:
        outcome = await carrier(at).send(attempt(at.world))
        await at.world.settle()
        assert at.door.statuses == ["queued", "sent", "delivered"]
        for knock in at.door.knocks:
            params = form_params(knock.body)
            verdict = twilio_form(
                public_url=at.world.public_url,
                raw_path=knock.raw_path,
                raw_query=knock.raw_query,
                params=params,
                signature=knock.headers["x-twilio-signature"],
                tokens=[at.world.keys.twilio_auth_token],
            )
            assert verdict.ok, verdict.reason
            status = delivery_status(params, form_params(knock.raw_query))
            assert isinstance(outcome, Accepted)
            assert (status.sid, status.ref) == (outcome.ref, "ref/1?&ñ")


# --- nothing has left ------------------------------------------------------------------------------------------------------------


async def test_a_refused_connection_is_not_sent() -> None:
    """Nobody listens: provably nothing left (SR-3)."""
    async with rig() as at:
        with socket.create_server(("127.0.0.1", 0)) as closed:
            port = closed.getsockname()[1]
        assert isinstance(await carrier(at, api_url=f"http://127.0.0.1:{port}").send(attempt(at.world)), NotSent)


async def test_a_connect_time_out_is_not_sent() -> None:
    """The provider's machine does not take the connection: nothing left, and the connect limit is its own (SR-3)."""
    async with rig() as at:
        with socket.socket() as full, socket.socket() as first, socket.socket() as second:
            full.bind(("127.0.0.1", 0))
            full.listen(0)
            for filler in (first, second):
                filler.setblocking(False)
                filler.connect_ex(full.getsockname())
            url = f"http://127.0.0.1:{full.getsockname()[1]}"
            out = carrier(at, api_url=url, connect_timeout=0.2, read_timeout=30.0)
            assert isinstance(await asyncio.wait_for(out.send(attempt(at.world)), 3), NotSent)


async def test_a_tls_handshake_that_never_ends_is_not_sent() -> None:
    """TLS belongs to connecting: no byte of the message leaves before it stands (SR-3)."""
    async with rig() as at:
        with socket.create_server(("127.0.0.1", 0)) as silent:
            url = f"https://127.0.0.1:{silent.getsockname()[1]}"
            out = carrier(at, api_url=url, connect_timeout=0.2, read_timeout=30.0)
            assert isinstance(await asyncio.wait_for(out.send(attempt(at.world)), 3), NotSent)


async def test_a_name_that_does_not_resolve_is_not_sent() -> None:
    """DNS failure: nothing left (SR-3)."""
    async with rig() as at:
        out = carrier(at, api_url="http://nowhere.invalid")
        assert isinstance(await out.send(attempt(at.world)), NotSent)


# --- the provider said no --------------------------------------------------------------------------------------------------------


async def test_too_many_requests_is_retryable_and_was_never_processed() -> None:
    """429 with 20429: nothing is stored, the same bytes may be sent again (SR-6)."""
    async with rig() as at:
        at.world.faults.arm("twilio.message.rate_limited")
        outcome = await carrier(at).send(attempt(at.world))
        assert outcome == Refused("retryable", "20429", "Unable to create record: Too Many Requests")
        assert not at.world.messages


@pytest.mark.parametrize("code", [29999, 21612])
async def test_429_is_retryable_whatever_its_code_says(code: int) -> None:
    """The status alone says that the request was never processed (SR-6)."""
    async with rig() as at:
        at.world.faults.arm("twilio.message.refused", status=429, code=code)
        outcome = await carrier(at).send(attempt(at.world))
        assert isinstance(outcome, Refused)
        assert outcome.kind == "retryable"


@pytest.mark.parametrize("code", sorted(FAILURES))
async def test_every_code_of_the_table_is_classified_as_the_table_says(code: int) -> None:
    """A synchronous 4xx goes by its code (SR-6)."""
    async with rig() as at:
        at.world.faults.arm("twilio.message.refused", code=code)
        outcome = await carrier(at).send(attempt(at.world))
        assert isinstance(outcome, Refused)
        assert (outcome.kind, outcome.code) == (FAILURES[code].kind, str(code))


async def test_an_unknown_code_is_fatal_for_this_message() -> None:
    """A refusal that we do not know is never re-sent by itself (SR-6)."""
    async with rig() as at:
        at.world.faults.arm("twilio.message.refused", code=29999)
        outcome = await carrier(at).send(attempt(at.world))
        assert isinstance(outcome, Refused)
        assert outcome.kind == "fatal"


@pytest.mark.parametrize("word", ["STOP", "stop ", "Cancel"])
async def test_a_text_to_somebody_who_opted_out_at_the_provider_is_opted_out(word: str) -> None:
    """After STOP the provider refuses with 21610, which is its own kind of refusal (SR-7)."""
    async with rig() as at:
        await send_text(at.world, sender=CUSTOMER, body=word)
        outcome = await carrier(at).send(attempt(at.world))
        assert isinstance(outcome, Refused)
        assert (outcome.kind, outcome.code) == ("opted_out", "21610")
        await send_text(at.world, sender=CUSTOMER, body="START")
        assert isinstance(await carrier(at).send(attempt(at.world)), Accepted)


async def test_wrong_credentials_and_foreign_senders_are_configuration() -> None:
    """What no message can get past is the operator's to mend (SR-6)."""
    async with rig() as at:
        wrong = TwilioSms("AC" + "0" * 32, "wrong", public_url=at.world.public_url, api_url=at.sandbox.url)
        for outcome in (
            await wrong.send(attempt(at.world)),
            await carrier(at).send(attempt(at.world, sender="+15125550199")),
            await carrier(at, public_url="https://under_score.example").send(attempt(at.world)),
        ):
            assert isinstance(outcome, Refused)
            assert outcome.kind == "configuration"


@pytest.mark.parametrize(
    ("changes", "code"),
    [({"recipient": "12345"}, "21211"), ({"payload": b""}, "21602"), ({"payload": b"x" * 1601}, "21617")],
)
async def test_what_can_never_arrive_is_fatal(changes: dict[str, Any], code: str) -> None:
    """A bad number, an empty and an overlong text are refused for good (SR-6)."""
    async with rig() as at:
        outcome = await carrier(at).send(attempt(at.world, **changes))
        assert isinstance(outcome, Refused)
        assert (outcome.kind, outcome.code) == ("fatal", code)


async def test_stored_bytes_that_are_not_text_are_refused_before_anything_leaves() -> None:
    """A payload that is not UTF-8 is not mended on its way out (IN-7)."""
    async with rig() as at:
        outcome = await carrier(at).send(attempt(at.world, payload=b"\xff"))
        assert isinstance(outcome, Refused)
        assert (outcome.kind, posts(at)) == ("fatal", 0)


# --- nobody knows ----------------------------------------------------------------------------------------------------------------

STORED = ["503_stored", "stall_stored", "reset_stored", "garbled"]
LOST = ["503_lost", "stall_lost", "reset_lost"]


@pytest.mark.parametrize("fault", STORED + LOST)
async def test_an_unclear_end_is_maybe_sent_and_is_asked_about_never_repeated(fault: str) -> None:
    """503, silence, reset, an unreadable 201: one POST, `MaybeSent`; `find` then tells what was stored from what was lost (SR-3, IN-6)."""
    async with rig() as at:
        at.world.faults.arm(f"twilio.message.{fault}", seconds=5)
        tried = attempt(at.world)
        out = carrier(at, read_timeout=0.2)
        assert isinstance(await out.send(tried), MaybeSent)
        found = await carrier(at).find(tried)
        if fault in STORED:
            assert isinstance(found, Found)
            assert list(at.world.messages) == [found.ref]
        else:
            assert found == Absent()
        at.world.closing.set()
        while not posts(at):
            await asyncio.sleep(0.01)
        assert posts(at) == 1


async def test_a_callback_tells_about_an_attempt_whose_answer_was_lost() -> None:
    """The reference in the callback's URL comes back although the create's answer never did (SR-4)."""
    async with rig() as at:
        at.world.faults.arm("twilio.message.reset_stored")
        assert isinstance(await carrier(at).send(attempt(at.world)), MaybeSent)
        await at.world.settle()
        last = at.door.knocks[-1]
        assert delivery_status(form_params(last.body), form_params(last.raw_query)).ref == "ref/1?&ñ"


async def test_a_waiting_request_blocks_no_other_work_of_the_loop() -> None:
    """While the provider is silent, the event loop runs on (VO-1)."""
    async with rig() as at:
        at.world.faults.arm("twilio.message.stall_stored", seconds=0.2)
        sending = asyncio.ensure_future(carrier(at).send(attempt(at.world)))
        turns = 0
        while not sending.done():
            await asyncio.sleep(0.005)
            turns += 1
        assert turns > 10


async def test_the_environment_never_moves_the_carrier_to_another_host(monkeypatch: pytest.MonkeyPatch) -> None:
    """TWILIO_EDGE and TWILIO_REGION would rewrite the host; they are not looked at."""
    monkeypatch.setenv("TWILIO_EDGE", "dublin")
    monkeypatch.setenv("TWILIO_REGION", "ie1")
    async with rig() as at:
        assert isinstance(await carrier(at).send(attempt(at.world)), Accepted)


# --- asking ----------------------------------------------------------------------------------------------------------------------


async def test_a_known_id_is_asked_for_directly_and_tells_status_and_error() -> None:
    """`find` by the provider's id gives the status in its own word and the error (SR-4)."""
    async with rig() as at:
        at.world.faults.arm("twilio.message.undelivered", code=30005)
        out, tried = carrier(at), attempt(at.world)
        outcome = await out.send(tried)
        assert isinstance(outcome, Accepted)
        await at.world.settle()
        assert await out.find(tried, outcome.ref) == Found(outcome.ref, "undelivered", "30005")
        assert dict(at.door.knocks[-1].form)["ErrorCode"] == "30005"


async def test_a_known_id_that_is_not_shown_is_never_called_absent() -> None:
    """What was accepted once must not be sent again because the provider does not show it (IN-6)."""
    async with rig() as at:
        assert isinstance(await carrier(at).find(attempt(at.world), "SM" + "0" * 32), CannotTell)


@pytest.mark.parametrize("ref", [None, "SM" + "0" * 32])
async def test_a_question_that_is_not_answered_cannot_tell(ref: str | None) -> None:
    """A provider that is down says nothing about what it has (SR-3)."""
    async with rig() as at:
        at.world.faults.arm("twilio.list.unavailable")
        at.world.faults.arm("twilio.fetch.unavailable")
        assert isinstance(await carrier(at).find(attempt(at.world), ref), CannotTell)


async def test_only_our_own_text_of_that_time_is_taken_for_the_attempt() -> None:
    """Same words from the customer, from the provider's automatic reply, to another person, long ago or later do not count (SR-3)."""
    async with rig() as at:
        world, tried = at.world, attempt(at.world)
        ours, text = tried.sender, tried.payload.decode()
        store(world, "inbound", CUSTOMER, ours, text, "received")
        store(world, "outbound-reply", ours, CUSTOMER, text, "delivered")
        store(world, "outbound-api", ours, "+15125550143", text, "sent")
        store(world, "outbound-api", ours, CUSTOMER, text + "!", "sent")
        store(world, "outbound-api", ours, CUSTOMER, text, "sent").created -= timedelta(minutes=5)
        store(world, "outbound-api", ours, CUSTOMER, text, "sent").created += timedelta(hours=1)
        assert await carrier(at).find(tried) == Absent()
        mine = store(world, "outbound-api", ours, CUSTOMER, text, "queued")
        assert await carrier(at).find(tried) == Found(mine.sid, "queued")


async def test_a_message_that_still_waits_at_the_provider_is_found() -> None:
    """A queued message has no date of sending; a search by that date would call it absent and send twice (IN-6)."""
    async with rig(status_delay=60) as at:
        out, tried = carrier(at), attempt(at.world)
        outcome = await out.send(tried)
        assert isinstance(outcome, Accepted)
        assert at.world.messages[outcome.ref].sent is None
        assert isinstance(await out.find(tried), Found)


async def test_one_message_is_never_given_to_two_attempts() -> None:
    """Of several equal texts those that belong to other attempts are left out; the earliest of the rest is taken (IN-6)."""
    async with rig() as at:
        tried = attempt(at.world)
        sids = []
        for seconds in (0, 2, 4):
            message = store(at.world, "outbound-api", tried.sender, CUSTOMER, tried.payload.decode(), "sent")
            message.created += timedelta(seconds=seconds)
            sids.append(message.sid)

        async def known(asked: Collection[str]) -> Collection[str]:
            return set(asked) & {sids[0]}

        assert await carrier(at).find(tried) == Found(sids[0], "sent")
        assert await carrier(at, known=known).find(tried) == Found(sids[1], "sent")


async def test_a_redacted_message_of_that_time_cannot_be_told_from_ours() -> None:
    """A body that the provider no longer has may have been ours: not absent (IN-6)."""
    async with rig() as at:
        tried = attempt(at.world)
        store(at.world, "outbound-api", tried.sender, CUSTOMER, tried.payload.decode(), "sent").body = ""
        assert isinstance(await carrier(at).find(tried), CannotTell)


async def test_a_message_is_found_behind_many_others_page_by_page() -> None:
    """The list is read through all its pages (SR-3)."""
    async with rig() as at:
        out, tried = carrier(at), attempt(at.world)
        mine = store(at.world, "outbound-api", tried.sender, CUSTOMER, tried.payload.decode(), "sent")
        for number in range(450):
            store(at.world, "outbound-api", tried.sender, CUSTOMER, f"text {number}", "sent")
        assert await out.find(tried) == Found(mine.sid, "sent")
        assert len(at.world.seen("twilio", "message.list")) == 3


async def test_a_list_too_long_to_read_whole_is_never_called_absent() -> None:
    """What lies behind the last row that was read may be ours (IN-6)."""
    async with rig() as at:
        tried = attempt(at.world)
        for number in range(1001):
            store(at.world, "outbound-api", tried.sender, CUSTOMER, f"text {number}", "sent")
        assert isinstance(await carrier(at).find(tried), CannotTell)


async def test_a_shifted_clock_moves_attempt_and_provider_alike() -> None:
    """In a sandbox that lives next Sunday an attempt is found by next Sunday's time (CK-1)."""
    async with rig(offset_seconds=3 * 86400.0) as at:
        at.world.faults.arm("twilio.message.503_stored")
        out, tried = carrier(at), attempt(at.world)
        assert isinstance(await out.send(tried), MaybeSent)
        assert isinstance(await out.find(tried), Found)


async def test_a_list_that_lags_behind_says_absent_of_what_is_there() -> None:
    """`Absent` is what the list says now: the relay believes it only after its quiet period (SR-3)."""
    async with rig() as at:
        at.world.faults.arm("twilio.message.503_stored")
        at.world.faults.arm("twilio.list.lagging", seconds=60)
        out, tried = carrier(at), attempt(at.world)
        assert isinstance(await out.send(tried), MaybeSent)
        assert await out.find(tried) == Absent()
        assert isinstance(await out.find(tried), Found)
