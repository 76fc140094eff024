"""Every door of a running gateway: who is let in, who is refused and with which words in the log, and what a replay changes (OP-3, TX-1, TX-2)."""

from __future__ import annotations

import asyncio
import base64
import json
import re
import xml.etree.ElementTree as ET
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

import pytest
import sqlalchemy as sa
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from gateway.signatures import form_params
from gateway.webhooks import LARGEST_FORM, LARGEST_MAIL
from pipeline.ports import Tx
from scripts.sandbox import messages
from scripts.sandbox.webhooks import deliver, sign
from scripts.sandbox.wire import Answer, request
from storage.screens import intents_to
from storage.tables import call, inbound
from tests.support.evidence import row_counts
from tests.support.running import Running, running

WHO, MAIL = "+13125550161", "eva@mail.example"
CAMELLIA, HELLO = "+13125550100", "hello@camellia.example"
TEXT_ONLY = {"CLARA_CHANNELS": "sms,email"}
FORMS = ("sms", "status", "voice", "voice/after", "call-status")
Fields = Sequence[tuple[str, str]]


def text_form(body: str = "Do you have a place with a balcony?", sid: str = "SM" + "1" * 32) -> list[tuple[str, str]]:
    return [("MessageSid", sid), ("From", WHO), ("To", CAMELLIA), ("Body", body), ("NumMedia", "0"), ("FromCity", "")]


def voice_form(sid: str = "CA" + "1" * 32) -> list[tuple[str, str]]:
    return [("CallSid", sid), ("From", WHO), ("To", CAMELLIA), ("CallStatus", "ringing")]


async def post(run: Running, door: str, fields: Fields, **how: Any) -> Answer:
    """A form at `/webhooks/twilio/…` as Twilio delivers it; `signature` or `signed=False` make it a forgery."""
    return await deliver(run.world, "forged", f"{run.world.public_url}/webhooks/twilio/{door}", fields, **how)


async def counts(run: Running) -> dict[str, int]:
    return await run.clara.db.read(row_counts)


async def rested(run: Running) -> dict[str, int]:
    """The tables' sizes once everything has come to rest."""
    await run.quiet()
    return await counts(run)


def said(caplog: pytest.LogCaptureFixture, *words: str) -> bool:
    """Whether one line of the log has all these words."""
    return any(all(word in record.getMessage() for word in words) for record in caplog.records)


# --- forms ---------------------------------------------------------------------------------------------------------------


async def test_a_form_without_or_with_a_wrong_signature_is_refused(sqlite_url: str, caplog: pytest.LogCaptureFixture) -> None:
    """At each door: 403 and one word for the stranger, the reason for the log, and not a row for the database."""
    async with running(sqlite_url) as run:
        before = await counts(run)
        token = run.world.keys.twilio_auth_token
        fields = [*text_form(), *voice_form(), ("MessageStatus", "delivered")]
        for door in FORMS:
            url = f"{run.world.public_url}/webhooks/twilio/{door}"
            unsigned = await post(run, door, fields, signed=False)
            forged = await post(run, door, fields, signature=sign("a" * 32, url, fields))
            altered = await post(run, door, [*fields, ("Body", "me too")], signature=sign(token, url, fields))
            assert [(answer.status, answer.text, door) for answer in (unsigned, forged, altered)] == [(403, "forbidden", door)] * 3
            assert said(caplog, f"/webhooks/twilio/{door}", "has no signature") and said(caplog, f"/webhooks/twilio/{door}", "fits neither")
        assert await counts(run) == before


async def test_the_query_of_a_status_callback_is_signed_too(sqlite_url: str) -> None:
    """A callback whose reference was changed on its way is refused (OP-3)."""
    async with running(sqlite_url, **TEXT_ONLY) as run:
        fields = [("MessageSid", "SM1"), ("MessageStatus", "delivered")]
        mine, another = (f"{run.world.public_url}/webhooks/twilio/status?ref={name}" for name in ("mine", "another"))
        right = sign(run.world.keys.twilio_auth_token, mine, fields)
        assert (await deliver(run.world, "forged", another, fields, signature=right)).status == 403
        assert (await deliver(run.world, "forged", mine, fields, signature=right)).status == 200


async def test_a_form_that_does_not_say_what_it_is_about_is_malformed(sqlite_url: str, caplog: pytest.LogCaptureFixture) -> None:
    """400 and the missing field in the log, for every signed form that lacks its subject."""
    lacking: Mapping[str, Fields] = {
        "sms": [("From", WHO), ("To", CAMELLIA), ("Body", "hi")],
        "status": [("MessageSid", "SM1")],
        "voice": [("From", WHO), ("To", CAMELLIA)],
        "call-status": [("CallStatus", "completed")],
    }
    async with running(sqlite_url) as run:
        before = await counts(run)
        for door, fields in lacking.items():
            assert ((await post(run, door, fields)).status, door) == (400, door)
            assert said(caplog, "webhook.malformed", f"/webhooks/twilio/{door}")
        assert await counts(run) == before


async def test_a_form_that_is_too_large_is_refused(sqlite_url: str) -> None:
    """At each door: 413 before anybody looks at what it says, whether it announces its size or not."""
    async with running(sqlite_url) as run:
        for door in FORMS:
            path = f"/webhooks/twilio/{door}"
            assert (await post(run, door, text_form("a" * (LARGEST_FORM + 1)), signed=False)).status == 413
            for announced in (LARGEST_FORM + 1, None):
                assert await first_line(run, path, announced) == "HTTP/1.1 413 Request Entity Too Large"


async def first_line(run: Running, path: str, announced: int | None) -> str:
    """The status line that answers a body of which only the size is sent (None: chunks without an end in sight)."""
    parts = urlsplit(run.gateway_url)
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
    size = "transfer-encoding: chunked" if announced is None else f"content-length: {announced}"
    secret = f"x-clara-mail-secret: {run.world.keys.mail_header_secret}"
    writer.write(f"POST {path} HTTP/1.1\r\nhost: clara.example\r\n{secret}\r\n{size}\r\n\r\n".encode())
    if announced is None:
        writer.write(f"{LARGEST_FORM + 1:x}\r\n".encode() + b"a" * (LARGEST_FORM + 1))
    try:
        async with asyncio.timeout(10):
            return (await reader.readline()).decode().strip()
    finally:
        writer.close()


async def test_odd_characters_are_a_message_like_any_other(database_url: str) -> None:
    """What a phone can send is stored and answered, on both databases (UN-2)."""
    odd = ("zero \x00 byte", "half a pair: \N{REPLACEMENT CHARACTER}", "\u202eback to front\u202c", "\x1b[2Jcleared", "")
    async with running(database_url, **TEXT_ONLY) as run:
        for number, body in enumerate(odd, 1):
            assert (await post(run, "sms", text_form(body, f"SM{number:032}"))).status == 200
            await run.quiet()
            assert (len(run.texts(WHO)), body) == (number, body)


async def test_a_number_that_is_nobodys_is_answered_and_leads_nowhere(sqlite_url: str, caplog: pytest.LogCaptureFixture) -> None:
    """A text or a call to a number that no property has: nothing is stored; the call is rejected."""
    async with running(sqlite_url) as run:
        before = await counts(run)
        elsewhere = [(name, "+13125550999" if name == "To" else value) for name, value in text_form()]
        assert (await post(run, "sms", elsewhere)).status == 200
        ringing = await post(run, "voice", [(name, "+13125550999" if name == "To" else value) for name, value in voice_form()])
        assert ringing.status == 200 and "<Reject" in ringing.text
        assert said(caplog, "webhook.unknown_number", "+13125550999") and await counts(run) == before


async def test_what_cannot_be_stored_is_to_be_sent_again(sqlite_url: str) -> None:
    """Without a database the answer is 503, so that the provider keeps the message, and never a success."""
    async with running(sqlite_url, **TEXT_ONLY) as run:
        await run.quiet()
        await run.clara.db.close()
        assert (await post(run, "sms", text_form())).status == 503
        assert (await post(run, "status", [("MessageSid", "SM1"), ("MessageStatus", "sent")])).status == 503
        mail = messages.compose(run.world, sender=MAIL, to=HELLO, subject="A visit", text="Hello")
        assert (await messages.send_mail(run.world, mail)).status == 503


# --- replays -------------------------------------------------------------------------------------------------------------


async def test_a_replayed_text_has_no_effect(database_url: str, caplog: pytest.LogCaptureFixture) -> None:
    """The same message, again and at the same time: 200 each time, one answer, not a row more (OP-3)."""
    caplog.set_level("INFO")
    async with running(database_url, **TEXT_ONLY) as run:
        await asyncio.gather(*(post(run, "sms", text_form()) for _ in range(4)))
        before = await rested(run)
        again = await post(run, "sms", text_form())
        assert again.status == 200 and "<Message" not in again.text
        assert await rested(run) == before and before["inbound"] == 1
        assert len(run.texts(WHO)) == 1 and said(caplog, "webhook.replay", "SM1111")


async def test_a_replayed_delivery_status_has_no_effect(database_url: str) -> None:
    """A callback that comes again, and an earlier one that comes late, move nothing (SR-4)."""
    async with running(database_url, **TEXT_ONLY) as run:
        await post(run, "sms", text_form())
        before = await rested(run)
        told = run.world.seen("twilio", "callback.status")
        assert len(told) >= 3
        for entry in reversed(told):
            replayed = await resend(run, entry.meta["url"], entry.body)
            assert replayed.status == 200
        assert await rested(run) == before
        assert [row["state"] for row in await run.clara.db.read(intents_to, WHO)] == ["delivered"]


async def resend(run: Running, url: str, body: bytes) -> Answer:
    """The very bytes of a delivery once more, with their signature."""
    headers = [("content-type", "application/x-www-form-urlencoded")]
    headers.append(("x-twilio-signature", sign(run.world.keys.twilio_auth_token, url, form_params(body))))
    return await request("POST", url.replace(run.world.public_url, run.gateway_url), headers, body, host="clara.example")


async def test_a_replayed_mail_has_no_effect_by_whatever_road(database_url: str) -> None:
    """The same mail as raw MIME and as a form of Inbound Parse is one message (OP-3, TX-2)."""
    async with running(database_url, **TEXT_ONLY) as run:
        raw = messages.compose(run.world, sender=MAIL, to=HELLO, subject="A visit", text="Do you have a place with a balcony?")
        assert (await messages.send_mail(run.world, raw)).status == 200
        before = await rested(run)
        assert (await messages.send_mail(run.world, raw)).status == 200
        assert (await parsed_mail(run, raw)).status == 200
        assert await rested(run) == before and before["inbound"] == 1 and len(run.mails(MAIL)) == 1


async def test_a_replayed_call_opens_nothing(database_url: str) -> None:
    """The second voice webhook of a call has no stream and no token; a second end of a call releases no second text (OP-3)."""
    async with running(database_url) as run:
        first, again = await post(run, "voice", voice_form()), await post(run, "voice", voice_form())
        assert "<Stream" in first.text and (again.status, "<Stream" in again.text) == (200, False)
        over = [*voice_form()[:3], ("CallStatus", "completed")]
        assert (await post(run, "call-status", over)).status == 200
        before = await rested(run)
        assert before["call"] == 1
        assert (await post(run, "call-status", over)).status == 200
        assert await rested(run) == before


# --- mails ---------------------------------------------------------------------------------------------------------------


async def parsed_mail(run: Running, raw: bytes, name: str = "email") -> Answer:
    """A mail as SendGrid's Inbound Parse posts it with "send raw": one field of a form."""
    keys = run.world.keys
    cut = b"----cut"
    part = cut + b'\r\nContent-Disposition: form-data; name="' + name.encode() + b'"\r\n\r\n' + raw + b"\r\n"
    body = b"--" + part + b"--" + cut + b"--\r\n"
    headers = [("content-type", f"multipart/form-data; boundary={cut.decode()}"), ("x-clara-mail-secret", keys.mail_header_secret)]
    return await request("POST", f"{run.gateway_url}/webhooks/mail/{keys.mail_path_secret}", headers, body)


async def test_mail_with_a_wrong_secret_is_refused_and_no_secret_is_logged(sqlite_url: str, caplog: pytest.LogCaptureFixture) -> None:
    """Path and header must both be right; the log says which was not, and repeats neither."""
    async with running(sqlite_url, **TEXT_ONLY) as run:
        before = await counts(run)
        raw = messages.compose(run.world, sender=MAIL, to=HELLO, subject="A visit", text="Hello")
        wrong = {
            "path secret": {"path_secret": "guessed-path"},
            "header secret": {"header_secret": "guessed-header"},
            "has no header secret": {"header_secret": ""},
        }
        for reason, given in wrong.items():
            answer = await messages.send_mail(run.world, raw, **given)  # type: ignore[arg-type]  # two of its arguments
            assert (answer.status, answer.text, said(caplog, "webhook.refused", reason)) == (403, "forbidden", True)
        keys = run.world.keys
        for secret in (keys.mail_path_secret, keys.mail_header_secret, "guessed-path", "guessed-header"):
            assert secret not in caplog.text
        assert await counts(run) == before


async def test_mail_that_is_too_large_is_refused(sqlite_url: str) -> None:
    """413 at the announcement, for raw MIME and for a form."""
    async with running(sqlite_url, **TEXT_ONLY) as run:
        path = f"/webhooks/mail/{run.world.keys.mail_path_secret}"
        assert await first_line(run, path, LARGEST_MAIL + 1) == "HTTP/1.1 413 Request Entity Too Large"


async def test_a_mail_form_without_a_mail_is_malformed(sqlite_url: str, caplog: pytest.LogCaptureFixture) -> None:
    """400 and a line in the log where Inbound Parse is not set to send raw, instead of mails that vanish."""
    async with running(sqlite_url, **TEXT_ONLY) as run:
        assert (await parsed_mail(run, b"Hello", name="text")).status == 400
        assert said(caplog, "webhook.malformed", "/webhooks/mail")


HARDLY_MAILS = {
    "nothing": b"",
    "noise": b"\x00\xff\xfe",
    "a zero byte": b"To: hello@camellia.example\r\nFrom: a@b.example\r\n\r\nzero \x00 byte",
    "no text": b"To: hello@camellia.example\r\nFrom: \xff\xfe\r\n\r\n\xff",
    "zero bytes in the head": (
        b"To: hello@camellia.example\r\nFrom: =?utf-8?q?Z=00?= <a\x00@b.example>\r\nSubject: =?utf-8?q?=00=ED=A0=BD?=\r\nMessage-ID: <\x00@b>\r\n\r\nHi"
    ),
    "an endless head": b"To: hello@camellia.example\r\nFrom: " + b"a" * 70_000 + b"@b.example\r\nReferences: " + b"<x@y> " * 20_000 + b"\r\n\r\nHi",
}


async def test_bytes_that_are_hardly_a_mail_do_no_harm(database_url: str) -> None:
    """Whatever comes in by the mail door with the right secrets is taken and ends somewhere; the next mail is answered."""
    async with running(database_url, **TEXT_ONLY) as run:
        for name, raw in HARDLY_MAILS.items():
            assert ((await messages.send_mail(run.world, raw, dmarc=None)).status, name) == (200, name)
        fine = messages.compose(run.world, sender=MAIL, to=HELLO, subject="A visit", text="Do you have a place with a balcony?")
        assert (await messages.send_mail(run.world, fine)).status == 200
        await run.quiet()
        assert len(run.mails(MAIL)) == 1


# --- media sockets -------------------------------------------------------------------------------------------------------


def start_frame(token: str | None, sid: str = "CA" + "1" * 32, encoding: str = "audio/x-mulaw", rate: int = 8000) -> str:
    parameters = {"call": sid} | ({} if token is None else {"token": token})
    start = {
        "accountSid": "AC1", "streamSid": "MZ1", "callSid": sid, "tracks": ["inbound"],
        "mediaFormat": {"encoding": encoding, "sampleRate": rate, "channels": 1}, "customParameters": parameters,
    }  # fmt: skip
    return json.dumps({"event": "start", "sequenceNumber": "1", "start": start, "streamSid": "MZ1"})


async def token_of(run: Running) -> str:
    """A call at the door; the token in its TwiML."""
    document = ET.fromstring((await post(run, "voice", voice_form())).body)
    found = {parameter.get("name"): parameter.get("value") for parameter in document.iter("Parameter")}
    return found["token"] or ""


@asynccontextmanager
async def socket(run: Running, signature: str | None = None) -> AsyncIterator[ClientConnection]:
    """A media socket as Twilio opens it; another `signature` makes it a forgery, an empty one leaves it out."""
    right = sign(run.world.keys.twilio_auth_token, "wss://clara.example/media")
    given = right if signature is None else signature
    headers = {"x-twilio-signature": given} if given else {}
    async with connect(f"{run.gateway_url.replace('http', 'ws')}/media", additional_headers=headers) as opened:
        await opened.send('{"event": "connected", "protocol": "Call", "version": "1.0.0"}')
        yield opened


async def closed_for(opened: ClientConnection) -> int:
    """The close code that ends a socket on which nothing was said."""
    try:
        async with asyncio.timeout(10):
            frame = await opened.recv()
    except ConnectionClosed as over:
        return over.rcvd.code if over.rcvd else 0
    raise AssertionError(f"something was said: {frame!r}")


async def test_an_upgrade_without_or_with_a_wrong_signature_is_refused(sqlite_url: str, caplog: pytest.LogCaptureFixture) -> None:
    """No websocket comes about: the upgrade itself is answered 403, with the reason in the log."""
    async with running(sqlite_url) as run:
        for signature, reason in (("", "has no signature"), (base64.b64encode(b"0" * 20).decode(), "signature fits neither")):
            with pytest.raises(InvalidStatus) as refusal:
                async with socket(run, signature):
                    pass
            assert refusal.value.response.status_code == 403 and said(caplog, "media.refused", reason)


NOT_THE_CALLS_OWN = {
    "no token": (start_frame(None), "unknown, expired or used"),
    "a guessed token": (start_frame("guessed"), "unknown, expired or used"),
    "the token of another call": (start_frame("TOKEN", sid="CA" + "2" * 32), "unknown, expired or used"),
    "not µ-law": (start_frame("TOKEN", encoding="audio/l16"), "not µ-law"),
    "not 8000 Hz": (start_frame("TOKEN", rate=16000), "not µ-law"),
    "audio first": ('{"event": "media", "media": {"timestamp": "0", "payload": "//8="}}', "first frame is not a start"),
    "stop first": ('{"event": "stop"}', "first frame is not a start"),
}


async def test_a_stream_that_is_not_the_calls_own_is_refused(sqlite_url: str, caplog: pytest.LogCaptureFixture) -> None:
    """The socket is closed without a word, the reason stands in the log, and the token stays good for the call's own stream."""
    async with running(sqlite_url) as run:
        token = await token_of(run)
        for name, (frame, reason) in NOT_THE_CALLS_OWN.items():
            caplog.clear()
            async with socket(run) as opened:
                await opened.send(frame.replace("TOKEN", token))
                assert (await closed_for(opened), name) == (1008, name)
            assert (said(caplog, "media.refused", reason), token in caplog.text, name) == (True, False, name)
        async with socket(run) as opened:
            await opened.send(start_frame(token))
            async with asyncio.timeout(10):
                assert re.search('"event": ?"(media|mark)"', str(await opened.recv()))


async def test_a_token_opens_one_stream_once(database_url: str, caplog: pytest.LogCaptureFixture) -> None:
    """A second stream with the same token is refused, while the first is heard and after it has ended (OP-3)."""
    async with running(database_url) as run:
        token = await token_of(run)
        async with socket(run) as first:
            await first.send(start_frame(token))
            async with asyncio.timeout(10):
                await first.recv()
            async with socket(run) as second:
                await second.send(start_frame(token))
                assert await closed_for(second) == 1008
        async with socket(run) as third:
            await third.send(start_frame(token))
            assert await closed_for(third) == 1008
        assert sum("unknown, expired or used" in record.getMessage() for record in caplog.records) == 2


async def test_an_expired_token_opens_nothing(database_url: str, caplog: pytest.LogCaptureFixture) -> None:
    """A token is good for a minute (OP-3)."""

    def expire(tx: Tx) -> None:
        tx.conn.execute(sa.update(call).values(token_expires_at=tx.now))

    async with running(database_url) as run:
        token = await token_of(run)
        await run.clara.db.transact(expire)
        async with socket(run) as opened:
            await opened.send(start_frame(token))
            assert await closed_for(opened) == 1008
        assert said(caplog, "unknown, expired or used")


async def test_the_stored_token_opens_nothing(sqlite_url: str) -> None:
    """The database has a digest; whoever reads it has no token."""

    def stored(tx: Tx) -> str:
        return str(tx.conn.execute(sa.select(call.c.token_digest)).scalar_one())

    async with running(sqlite_url) as run:
        token = await token_of(run)
        digest = await run.clara.db.read(stored)
        assert token not in digest
        async with socket(run) as opened:
            await opened.send(start_frame(digest))
            assert await closed_for(opened) == 1008


async def test_an_inbound_row_is_written_once_for_each_provider_id(sqlite_url: str) -> None:
    """Two customers may not share a message id: the second form with it is a replay, whatever it says."""

    def bodies(tx: Tx) -> list[str]:
        return list(tx.conn.execute(sa.select(inbound.c.text)).scalars())

    async with running(sqlite_url, **TEXT_ONLY) as run:
        await post(run, "sms", text_form("the first"))
        await post(run, "sms", text_form("something else"))
        await run.quiet()
        assert await run.clara.db.read(bodies) == ["the first"]
