"""The customers of a sandbox: they send texts and mails to the gateway as the providers would deliver them.

A text is a signed form on the gateway's inbound webhook (with the provider's own handling of STOP, START and HELP before it); a mail is raw MIME
on the gateway's secret inbound path, stamped with the receiving server's verdict on its sender. Both return the gateway's answer.

Everything that a customer sends stands in the world's log, byte for byte, with the moment at which the gateway answered.
"""

from __future__ import annotations

import time
import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime
from typing import Literal

from scripts.sandbox.twilio_rest import API, deliver_message, opt_out_word, store
from scripts.sandbox.webhooks import deliver, to_loopback
from scripts.sandbox.wire import Answer, request
from scripts.sandbox.world import World
from text_channels.sms_codec import segments

Dmarc = Literal["pass", "fail", "none"]

_AUTO_REPLY = {
    "STOP": "You are unsubscribed and will get no more texts. Reply START to subscribe again.",
    "START": "You are subscribed again. Reply STOP to unsubscribe.",
    "HELP": "Reply STOP to unsubscribe.",
}


# --- texts --------------------------------------------------------------------------------------------------------------------


async def send_text(
    world: World,
    *,
    sender: str,
    body: str,
    to: str | None = None,
    message_sid: str | None = None,
    media: Sequence[tuple[str, str]] = (),
    sign: bool = True,
    signature: str | None = None,
    extra: Mapping[str, str] | None = None,
) -> Answer:
    """A customer's text from `sender` to one of our numbers (default: the first); returns the webhook's answer.

    A `message_sid` that was used before is a redelivery: the provider does nothing a second time but call the webhook. `media` are
    (URL, content type). `sign=False` leaves the signature out, `signature` replaces it, `extra` adds form fields.
    Raises `ConnectionError` where the gateway could not be reached by the provider's delivery rules.
    """
    ours = to or world.numbers[0]
    word = opt_out_word(world, body)
    sid = message_sid or world.sid("MM" if media else "SM")
    if sid not in world.messages:
        store(world, "inbound", sender, ours, body, "received", sid=sid, media=tuple(media))
        if word:
            _opt_out(world, word, ours, sender)
    fields = _inbound_form(world, sid, sender, ours, body, media)
    if word and world.opt_out == "advanced":
        fields.append(("OptOutType", word))
    fields += list((extra or {}).items())
    answer = await deliver(
        world, "inbound.text", world.public_url + world.paths.sms, fields, signed=sign, signature=signature
    )
    _carry_out_replies(world, answer, ours, sender)
    return answer


def _opt_out(world: World, word: str, ours: str, customer: str) -> None:
    if word == "STOP":
        world.opted_out.add((ours, customer))
    elif word == "START":
        world.opted_out.discard((ours, customer))
    reply = store(world, "outbound-reply", ours, customer, _AUTO_REPLY[word], "delivered")
    world.see("twilio", "message.auto_reply", started=time.perf_counter(), body=reply.body.encode(), sid=reply.sid)


def _inbound_form(
    world: World, sid: str, sender: str, ours: str, body: str, media: Sequence[tuple[str, str]]
) -> list[tuple[str, str]]:
    blank = [(f"{side}{part}", "") for side in ("From", "To") for part in ("City", "State", "Zip")]
    return [
        ("ToCountry", "US"),
        *blank,
        ("SmsMessageSid", sid),
        ("NumMedia", str(len(media))),
        ("SmsSid", sid),
        ("SmsStatus", "received"),
        ("Body", body),
        ("FromCountry", "US"),
        ("To", ours),
        ("NumSegments", str(max(segments(body).count, 1))),
        ("MessageSid", sid),
        ("AccountSid", world.keys.twilio_account_sid),
        ("From", sender),
        ("ApiVersion", API),
        *[(f"MediaUrl{i}", url) for i, (url, _) in enumerate(media)],
        *[(f"MediaContentType{i}", kind) for i, (_, kind) in enumerate(media)],
    ]


def _carry_out_replies(world: World, answer: Answer, ours: str, customer: str) -> None:
    """Sends what a TwiML answer orders, as Twilio would: a gateway that answers by TwiML sends twice when it is called twice."""
    if answer.status != 200 or "xml" not in (answer.header("content-type") or ""):
        return
    try:
        document = ET.fromstring(answer.body)
    except ET.ParseError:
        world.see("twilio", "inbound.bad_twiml", started=time.perf_counter(), body=answer.body, code=12100)
        return
    for verb in document.iter("Message"):
        text = "".join(verb.itertext())
        reply = store(
            world, "outbound-reply", ours, customer, text, "queued", status_callback=verb.get("statusCallback")
        )
        world.see("twilio", "message.reply", started=time.perf_counter(), body=text.encode(), sid=reply.sid)
        world.spawn(deliver_message(world, reply))


# --- mails --------------------------------------------------------------------------------------------------------------------


async def send_mail(
    world: World,
    raw: bytes,
    *,
    mail_from: str | None = None,
    rcpt_to: str | None = None,
    dmarc: Dmarc | None = "pass",
    path_secret: str | None = None,
    header_secret: str | None = None,
) -> Answer:
    """Delivers a raw mail to the gateway's inbound path and returns the answer.

    With `dmarc` the receiving server's stamp goes in front (`stamp`); with None the bytes arrive exactly as given. The secrets default to the
    right ones; an empty `header_secret` leaves the header out.
    """
    delivered = raw if dmarc is None else stamp(world, raw, mail_from=mail_from, rcpt_to=rcpt_to, dmarc=dmarc)
    path = world.paths.mail.format(secret=world.keys.mail_path_secret if path_secret is None else path_secret)
    address, host = to_loopback(world, world.public_url + path)
    headers = [("content-type", "message/rfc822"), ("x-forwarded-proto", "https")]
    secret = world.keys.mail_header_secret if header_secret is None else header_secret
    if secret:
        headers.append((world.paths.mail_header, secret))
    started = time.perf_counter()
    answer = await request("POST", address, headers, delivered, host=host)
    world.see("mail", "inbound.mail", started=started, body=delivered, answer=answer.body, status=answer.status)
    return answer


def stamp(
    world: World, raw: bytes, *, mail_from: str | None = None, rcpt_to: str | None = None, dmarc: Dmarc = "pass"
) -> bytes:
    """Puts in front of a mail what the receiving server adds: Return-Path, Delivered-To, Authentication-Results, Received."""
    sender = mail_from if mail_from is not None else header_address(raw, b"from")
    domain = sender.rpartition("@")[2]
    now = format_datetime(world.clock.now())
    verdict = f"dkim={dmarc} header.d={domain}; spf={dmarc} smtp.mailfrom={domain}; dmarc={dmarc} header.from={domain}"
    lines = [
        f"Return-Path: <{sender}>",
        f"Delivered-To: {rcpt_to or header_address(raw, b'to')}",
        f"Authentication-Results: {world.authserv}; {verdict}",
        f"Received: from {domain or 'localhost'} by {world.authserv} with ESMTPS; {now}",
    ]
    return "\r\n".join(lines).encode() + b"\r\n" + raw


def header_address(raw: bytes, name: bytes) -> str:
    """The bare address in a header of a mail that this module composed, or an empty string."""
    for line in raw.split(b"\r\n\r\n", 1)[0].split(b"\r\n"):
        key, _, value = line.partition(b":")
        if key.strip().lower() == name:
            return value.decode("utf-8", "replace").strip().rpartition("<")[2].rstrip(">").strip()
    return ""


def compose(
    world: World,
    *,
    sender: str,
    to: str,
    subject: str,
    text: str | None = None,
    html: str | None = None,
    name: str = "",
    message_id: str | None = None,
    in_reply_to: str | None = None,
    references: Sequence[str] = (),
    reply_to: str | None = None,
    headers: Mapping[str, str] | None = None,
) -> bytes:
    """A mail as a common client writes it: plain, HTML or both, with threading headers and CRLF line ends."""
    mail = EmailMessage(policy=SMTP)
    mail["From"] = f"{name} <{sender}>" if name else sender
    mail["To"] = to
    mail["Subject"] = subject
    mail["Date"] = format_datetime(world.clock.now())
    mail["Message-ID"] = message_id or f"<{world.sid('m')}@{sender.rpartition('@')[2]}>"
    if in_reply_to:
        mail["In-Reply-To"] = in_reply_to
    if references or in_reply_to:
        mail["References"] = " ".join(references) or in_reply_to
    if reply_to:
        mail["Reply-To"] = reply_to
    for key, value in (headers or {}).items():
        mail[key] = value
    if text is not None or html is None:
        mail.set_content(text or "")
    if html is not None and text is not None:
        mail.add_alternative(html, subtype="html")
    elif html is not None:
        mail.set_content(html, subtype="html")
    return mail.as_bytes()


_LABELS = {
    "en": ("Name", "Email", "Phone", "Property", "Move-in date", "Preferred tour times", "Message", "Submitted"),
    "es": (
        "Nombre",
        "Correo electrónico",
        "Teléfono",
        "Propiedad",
        "Fecha de mudanza",
        "Horarios de visita preferidos",
        "Mensaje",
        "Enviado",
    ),
}


def website_form(
    world: World,
    *,
    to: str,
    name: str,
    email: str,
    property_name: str,
    message: str,
    phone: str = "",
    move_in: str = "",
    tour_times: Sequence[str] = (),
    locale: Literal["en", "es"] = "en",
    site: str = "forms@website.example",
) -> bytes:
    """The mail that a property's website sends when somebody fills in its contact form: labelled lines, the person in Reply-To.

    The values are printed as given: dates as a web page would word them. `Submitted` is the web server's own time stamp.
    """
    submitted = world.clock.now().strftime("%Y-%m-%d %H:%M UTC")
    values = (name, email, phone, property_name, move_in, "; ".join(tour_times), message, submitted)
    lines = [f"{label}: {value}" for label, value in zip(_LABELS[locale], values, strict=True) if value]
    subject = {"en": f"New inquiry for {property_name}", "es": f"Nueva consulta para {property_name}"}[locale]
    text = "\r\n".join(lines) + "\r\n"
    return compose(world, sender=site, to=to, subject=subject, text=text, reply_to=f"{name} <{email}>")
