"""Mails out: the stored bytes, every outcome classified by the phase in which the conversation ended (SR-3, SR-5, SR-6, IN-7)."""

from __future__ import annotations

import asyncio
import datetime as dt
import ipaddress
import ssl
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from aiosmtpd.smtp import SMTP as ThirdPartyServer
from aiosmtpd.smtp import Envelope
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.ports import Accepted, Attempt, CannotTell, MaybeSent, NotSent, Refused
from scripts.sandbox.smtp import MailServer
from scripts.sandbox.world import World
from tests.sandbox.rig import Rig, rig
from text_channels.smtp_out import SmtpMail

pytestmark = pytest.mark.asyncio

MAIL = (
    b"From: Clara <clara@building.example>\r\nTo: ana@person.example\r\nSubject: Visita\r\nMessage-ID: <r1@building.example>\r\n"
    b"\r\n.\r\n..dots\r\nHasta pronto, se\xc3\xb1ora.  \r\n\r\n"
)


def attempt(**changes: Any) -> Attempt:
    """An attempt to send one mail."""
    plain = Attempt(
        id="a1",
        intent="i1",
        number=1,
        channel="email",
        sender="clara@building.example",
        recipient="ana@person.example",
        payload=MAIL,
        reference="r1",
        opened_at=dt.datetime(2026, 7, 27, tzinfo=dt.UTC),
    )
    return replace(plain, **changes)


def carrier(at: Rig, **changes: Any) -> SmtpMail:
    """The production carrier, pointed at the sandbox's mail server."""
    keys = at.world.keys
    wiring = {
        "port": at.sandbox.smtp_port,
        "username": keys.smtp_username,
        "password": keys.smtp_password,
        "security": "none",
        "timeout": 2.0,
        "content_timeout": 2.0,
    }
    return SmtpMail("127.0.0.1", **{**wiring, **changes})


async def test_250_is_final_acceptance_and_the_bytes_are_the_stored_ones() -> None:
    """The server's 250 is all the evidence there will be; what it took over is the payload byte for byte (SR-5, IN-7)."""
    async with rig() as at:
        assert await carrier(at).send(attempt()) == Accepted("r1", final=True)
        (mail,) = at.world.mailbox
        assert (mail.sender, mail.recipients, mail.content) == ("clara@building.example", ("ana@person.example",), MAIL)


_LINE = st.binary(max_size=60).map(lambda line: line.replace(b"\r", b".").replace(b"\n", b"."))


@settings(max_examples=40, deadline=None)
@given(lines=st.lists(_LINE, max_size=12))
async def test_any_lines_arrive_as_they_are(lines: list[bytes]) -> None:
    """Dots at line starts, lone dots, eight-bit bytes, NULs and blank lines arrive unaltered (IN-7)."""
    payload = b"".join(line + b"\r\n" for line in [*lines, b"."])
    async with rig() as at:
        assert isinstance(await carrier(at).send(attempt(payload=payload)), Accepted)
        assert [mail.content for mail in at.world.mailbox] == [payload]


async def test_somebody_elses_server_receives_the_same_bytes() -> None:
    """A server that we did not write agrees on what was sent (IN-7)."""
    taken: list[Envelope] = []

    class Keep:
        async def handle_DATA(self, server: object, session: object, envelope: Envelope) -> str:
            taken.append(envelope)
            return "250 kept"

    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: ThirdPartyServer(Keep(), enable_SMTPUTF8=True), "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    out = SmtpMail("127.0.0.1", port, security="none")
    assert isinstance(await out.send(attempt(recipient="josé@person.example")), Accepted)
    server.close()
    assert [(envelope.rcpt_tos, envelope.content) for envelope in taken] == [(["josé@person.example"], MAIL)]


async def test_a_mail_is_never_found_by_asking() -> None:
    """SMTP cannot be asked: what is unknown stays unknown until a person decides (SR-3)."""
    async with rig() as at:
        out = carrier(at)
        assert (out.query, out.receipts) == (False, False)
        assert isinstance(await out.find(attempt(), "r1"), CannotTell)


async def test_a_closed_port_is_not_sent_and_the_same_bytes_leave_when_it_opens() -> None:
    """Refused connection: nothing left, and the try may be repeated (SR-3, SR-6)."""
    async with rig() as at:
        at.world.faults.arm("smtp.refuse", times=None)
        assert isinstance(await carrier(at).send(attempt()), NotSent)
        at.world.faults.clear("smtp.refuse")
        assert isinstance(await carrier(at).send(attempt()), Accepted)


PHASES = ["greeting", "mail", "rcpt", "data", "end"]


@pytest.mark.parametrize("phase", PHASES)
async def test_a_4xx_in_any_phase_is_retryable(phase: str) -> None:
    """The server did not take it over and says so: later, the same bytes (SR-6)."""
    async with rig() as at:
        at.world.faults.arm("smtp.451", phase=phase)
        outcome = await carrier(at).send(attempt())
        assert isinstance(outcome, Refused)
        assert (outcome.kind, outcome.code) == ("retryable", "451")
        assert not at.world.mailbox


@pytest.mark.parametrize("phase", PHASES)
async def test_a_5xx_is_fatal_for_the_mail_or_ours_to_mend(phase: str) -> None:
    """Before the envelope a 5xx is about us, after it about this mail (SR-6)."""
    async with rig() as at:
        at.world.faults.arm("smtp.550", phase=phase)
        outcome = await carrier(at).send(attempt())
        assert isinstance(outcome, Refused)
        assert outcome.kind == ("configuration" if phase == "greeting" else "fatal")
        assert not at.world.mailbox


@pytest.mark.parametrize("fault", ["smtp.drop", "smtp.stall"])
@pytest.mark.parametrize("phase", PHASES)
async def test_a_lost_conversation_is_not_sent_before_the_content_and_unknown_after(fault: str, phase: str) -> None:
    """Silence or reset before the content left proves that nothing left; after it, it proves nothing (SR-3)."""
    async with rig() as at:
        at.world.faults.arm(fault, phase=phase, seconds=5)
        limit = 0.2 if phase != "end" else 2.0
        outcome = await carrier(at, timeout=limit, content_timeout=0.2).send(attempt())
        assert isinstance(outcome, MaybeSent if phase == "end" else NotSent), outcome
        assert not at.world.mailbox


@pytest.mark.parametrize("fault", ["smtp.drop_stored", "smtp.stall_stored"])
async def test_a_mail_that_was_taken_over_without_an_answer_is_unknown(fault: str) -> None:
    """The mail is there and the 250 is not: `MaybeSent`, never a second copy by itself (SR-3, IN-6)."""
    async with rig() as at:
        at.world.faults.arm(fault, seconds=5)
        assert isinstance(await carrier(at, content_timeout=0.2).send(attempt()), MaybeSent)
        while not at.world.mailbox:
            await asyncio.sleep(0.01)
        assert len(at.world.mailbox) == 1


async def test_a_wrong_password_and_none_are_configuration() -> None:
    """No mail gets past a refused sign-in; a missing one shows at the envelope, for this mail (SR-6)."""
    async with rig() as at:
        wrong = await carrier(at, password="wrong").send(attempt())
        assert isinstance(wrong, Refused)
        assert (wrong.kind, wrong.code) == ("configuration", "535")
        none = await carrier(at, username=None, password=None).send(attempt())
        assert isinstance(none, Refused)
        assert none.code == "530"


@pytest.mark.parametrize(
    "payload",
    [b"", b"Subject: x\n\nbare\n", b"Subject: x\r\n\r\nno end", b"a\rb\r\n", b"x" * 999 + b"\r\n"],
)
async def test_what_smtp_would_have_to_alter_is_refused_before_anything_leaves(payload: bytes) -> None:
    """Line ends and line lengths are the composer's; the rail mends nothing (IN-7)."""
    async with rig() as at:
        at.world.faults.arm("smtp.451")
        outcome = await carrier(at).send(attempt(payload=payload))
        assert isinstance(outcome, Refused)
        assert (outcome.kind, outcome.code) == ("fatal", "payload")
        assert not at.world.faults.fired


@pytest.mark.parametrize(
    "address", ["two words@person.example", "a@b>\r\nRCPT TO:<c@d", "a@b> SIZE=1", "Ana <ana@person.example>", "ana"]
)
async def test_an_address_that_would_change_the_command_is_refused(address: str) -> None:
    """No address smuggles a second command into the conversation."""
    async with rig() as at:
        outcome = await carrier(at).send(attempt(recipient=address))
        assert isinstance(outcome, Refused)
        assert outcome.kind == "fatal"
        assert not at.world.mailbox


# --- TLS -------------------------------------------------------------------------------------------------------------------------


def certificate(folder: Path) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """A server context with a fresh certificate for 127.0.0.1, and a client context that trusts it and nothing else."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "sandbox")])
    now = dt.datetime.now(dt.UTC)
    cert = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), True)
        .sign(key, hashes.SHA256())
    )
    pem = folder / "cert.pem"
    pem.write_bytes(
        cert.public_bytes(serialization.Encoding.PEM)
        + key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(pem)
    return server, ssl.create_default_context(cafile=str(pem))


async def test_starttls_protects_the_whole_conversation_and_is_insisted_on(tmp_path: Path) -> None:
    """With STARTTLS the mail is taken over; a server without it, or with a stranger's certificate, gets nothing."""
    theirs, ours = certificate(tmp_path)
    world = World()
    server = MailServer(world, tls=theirs)
    await server.start()
    keys = world.keys

    def out(port: int, context: ssl.SSLContext | None) -> SmtpMail:
        return SmtpMail(
            "127.0.0.1", port, username=keys.smtp_username, password=keys.smtp_password, tls_context=context, timeout=2
        )

    assert isinstance(await out(server.port, ours).send(attempt()), Accepted)
    assert isinstance(await out(server.port, None).send(attempt()), NotSent)
    await server.stop()
    async with rig() as at:
        bare = await out(at.sandbox.smtp_port, ours).send(attempt())
        assert isinstance(bare, Refused)
        assert bare.kind == "configuration"
        assert not at.world.mailbox
    assert len(world.mailbox) == 1
    await world.close()
