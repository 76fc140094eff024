"""The customers of a sandbox: their texts and mails arrive as the providers would deliver them (TX-1, TX-2, SR-7, OP-3)."""

from __future__ import annotations

import email
import email.policy

import pytest
from starlette.responses import RedirectResponse, Response

from scripts.sandbox.messages import compose, send_mail, send_text, website_form
from scripts.sandbox.wire import Unreachable
from tests.sandbox.rig import rig
from text_channels.sms_codec import inbound_text

pytestmark = pytest.mark.asyncio

CUSTOMER = "+15125550142"


async def test_a_text_arrives_as_a_form_and_is_listed_as_inbound() -> None:
    """Blank place fields, copies of the sid, the public host in front: as over the real wire."""
    async with rig() as at:
        answer = await send_text(at.world, sender=CUSTOMER, body="¿Puedo verlo mañana?")
        (knock,) = at.door.knocks
        text = inbound_text(knock.form)
        assert (answer.status, text.sender, text.body) == (200, CUSTOMER, "¿Puedo verlo mañana?")
        assert ("FromCity", "") in knock.form
        assert (knock.headers["host"], knock.raw_path) == ("clara.example", b"/webhooks/twilio/sms")
        assert at.world.messages[text.message_sid].direction == "inbound"


async def test_a_picture_arrives_with_its_address_and_type() -> None:
    """An MMS has an `MM` sid and its media fields."""
    async with rig() as at:
        await send_text(at.world, sender=CUSTOMER, body="", media=[("https://api.twilio.com/x", "image/png")])
        text = inbound_text(at.door.knocks[0].form)
        assert text.message_sid.startswith("MM")
        assert text.media == (("https://api.twilio.com/x", "image/png"),)


async def test_a_redelivery_is_the_same_message_again() -> None:
    """The webhook is called twice with one sid; the provider has the message once (IN-1)."""
    async with rig() as at:
        for _ in range(2):
            await send_text(at.world, sender=CUSTOMER, body="stop", message_sid="SM" + "7" * 32)
        assert at.door.knocks[0].body == at.door.knocks[1].body
        assert [message.direction for message in at.world.messages.values()] == ["inbound", "outbound-reply"]


@pytest.mark.parametrize(
    ("mode", "word", "opted_out", "told"),
    [
        ("default", "Stop", True, None),
        ("default", "cancel", True, None),
        ("default", "stop please", False, None),
        ("default", "PARAR", False, None),
        ("advanced", "parar", True, "STOP"),
        ("advanced", "HELP", False, "HELP"),
        ("off", "STOP", False, None),
    ],
)
async def test_the_provider_handles_its_keywords_as_the_account_is_set(
    mode: str, word: str, opted_out: bool, told: str | None
) -> None:
    """Whole-message keywords only; Spanish ones where somebody has entered them; `OptOutType` only with Advanced Opt-Out (SR-7)."""
    async with rig(opt_out=mode) as at:
        await send_text(at.world, sender=CUSTOMER, body=word)
        assert ((at.world.numbers[0], CUSTOMER) in at.world.opted_out) == opted_out
        assert inbound_text(at.door.knocks[0].form).opt_out_type == told


async def test_a_gateway_that_answers_by_twiml_sends_a_text() -> None:
    """What a reply in TwiML costs shows in the provider's list: each call of the webhook sends again."""
    async with rig() as at:
        twiml = "<Response><Message>hola</Message></Response>"
        at.door.replies = [Response(twiml, media_type="text/xml") for _ in range(2)]
        for _ in range(2):
            await send_text(at.world, sender=CUSTOMER, body="hi", message_sid="SM" + "7" * 32)
        assert [m.body for m in at.world.messages.values() if m.direction == "outbound-reply"] == ["hola", "hola"]


async def test_an_unreadable_answer_and_a_redirect_are_not_acted_upon() -> None:
    """A redirect is not followed; broken TwiML is noted."""
    async with rig() as at:
        at.door.replies = [RedirectResponse("/elsewhere"), Response("<Response>", media_type="text/xml")]
        assert (await send_text(at.world, sender=CUSTOMER, body="hi")).status == 307
        await send_text(at.world, sender=CUSTOMER, body="hi")
        assert len(at.door.knocks) == 2
        assert len(at.world.seen("twilio", "inbound.bad_twiml")) == 1


async def test_a_dead_gateway_is_tried_once_more_and_the_text_is_kept() -> None:
    """One retry where no connection came about; the provider still has the message for a later poll (SR-4)."""
    async with rig() as at:
        at.world.gateway_url = "http://127.0.0.1:1"
        with pytest.raises(Unreachable):
            await send_text(at.world, sender=CUSTOMER, body="hi")
        assert len(at.world.seen("twilio", "inbound.text")) == 2
        assert [message.status for message in at.world.messages.values()] == ["received"]


async def test_a_mail_arrives_raw_with_secret_path_header_and_the_receivers_stamp() -> None:
    """Raw MIME after the stamp is what the client wrote, byte for byte (TX-2, OP-3)."""
    async with rig() as at:
        raw = compose(
            at.world,
            sender="ana@person.example",
            name="Ana Núñez",
            to="leasing@building.example",
            subject="¿Visita mañana?",
            text="Hola\r\n",
            html="<p>Hola</p>",
            in_reply_to="<r1@building.example>",
        )
        assert (await send_mail(at.world, raw)).status == 200
        (knock,) = at.door.knocks
        assert knock.raw_path == b"/webhooks/mail/sandbox-mail-path"
        assert knock.headers["content-type"] == "message/rfc822"
        assert knock.headers["x-clara-mail-secret"] == "sandbox-mail-header"
        assert knock.body.endswith(b"\r\n" + raw)
        mail = email.message_from_bytes(knock.body, policy=email.policy.default)
        assert mail["Return-Path"] == "<ana@person.example>"
        assert "dmarc=pass header.from=person.example" in mail["Authentication-Results"]
        assert mail["Authentication-Results"].startswith("mx.clara.example;")
        assert mail["References"] == "<r1@building.example>"


async def test_a_mail_can_come_unstamped_and_without_its_secret() -> None:
    """Bytes exactly as given, and the wrong door."""
    async with rig() as at:
        await send_mail(at.world, b"anything \xff", dmarc=None, path_secret="wrong", header_secret="")
        (knock,) = at.door.knocks
        assert (knock.body, knock.raw_path) == (b"anything \xff", b"/webhooks/mail/wrong")
        assert "x-clara-mail-secret" not in knock.headers


@pytest.mark.parametrize(("locale", "label"), [("en", "Move-in date: Monday, August 3"), ("es", "Fecha de mudanza:")])
async def test_a_website_form_is_a_mail_of_labelled_lines_with_the_person_in_reply_to(locale: str, label: str) -> None:
    """The wrapper is the web server; the person is in Reply-To (UN-5)."""
    async with rig() as at:
        raw = website_form(
            at.world,
            to="leasing@building.example",
            name="Ana Núñez",
            email="ana@person.example",
            property_name="The Oaks",
            message="I would like to see it.",
            move_in="Monday, August 3",
            tour_times=["Tuesday 2:00 PM"],
            locale="es" if locale == "es" else "en",
        )
        mail = email.message_from_bytes(raw, policy=email.policy.default)
        assert mail["Reply-To"].addresses[0].addr_spec == "ana@person.example"
        assert label in mail.get_content()
        assert b"\n" not in raw.replace(b"\r\n", b"")
