"""The text webhooks: verified, bounded, written to the inbox, answered. Nothing is decided here (OP-3, TX-1, TX-2).

Order in each: size, who is at the door, what it says, one transaction, 200. A replay is answered 200 and has no effect. What cannot be read is
answered 400 with the reason in the log; what cannot be stored is 503, so that the provider tries again. Who is refused learns nothing but 403.
"""

from __future__ import annotations

import logging

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from gateway import signatures
from gateway.build import Clara
from pipeline.loops import TURNS
from pipeline.store import Delivery
from text_channels.email_codec import parse_mail
from text_channels.sms_codec import MalformedForm, delivery_status, inbound_text

log = logging.getLogger("clara.webhooks")

LARGEST_FORM = 64 * 1024
LARGEST_MAIL = 30 * 1024 * 1024
EMPTY_TWIML = '<?xml version="1.0" encoding="UTF-8"?><Response></Response>'


class TooLarge(Exception):
    """The body is larger than this door takes."""


class NoMail(Exception):
    """A form that should carry a raw mail has none."""


async def read_body(request: Request, limit: int) -> bytes:
    """The whole body, or TooLarge as soon as it is announced to pass `limit` bytes, or does."""
    if int(request.headers.get("content-length") or 0) > limit:
        raise TooLarge
    parts: list[bytes] = []
    size = 0
    async for part in request.stream():
        size += len(part)
        if size > limit:
            raise TooLarge
        parts.append(part)
    return b"".join(parts)


def twiml(body: str = EMPTY_TWIML) -> Response:
    return Response(body, media_type="text/xml")


async def verified_form(clara: Clara, request: Request) -> tuple[tuple[str, str], ...] | Response:
    """The fields of a signed Twilio form, or the refusal to answer with. Zero characters, which no database keeps, are replaced."""
    try:
        body = await read_body(request, LARGEST_FORM)
    except TooLarge:
        return too_large(request)
    params = signatures.form_params(body)
    verdict = signatures.twilio_form(
        public_url=clara.settings.public_url,
        raw_path=request.scope["raw_path"],
        raw_query=request.scope["query_string"],
        params=params,
        signature=request.headers.get("x-twilio-signature"),
        tokens=clara.settings.twilio_auth_tokens,
        shared_key=request.headers.get("x-twilio-webhooks-signature-settings"),
    )
    if not verdict.ok:
        return refused(request, verdict.reason)
    return tuple((name, value.replace("\0", "\N{REPLACEMENT CHARACTER}")) for name, value in params)


def refused(request: Request, reason: str) -> Response:
    """403, with the reason in the log and nowhere else."""
    log.warning("webhook.refused door=%s reason=%s", door(request), reason)
    return PlainTextResponse("forbidden", 403)


def malformed(request: Request, reason: object) -> Response:
    """400, with the reason in the log."""
    log.warning("webhook.malformed door=%s reason=%s", door(request), reason)
    return PlainTextResponse("malformed", 400)


def too_large(request: Request) -> Response:
    """413, with a line in the log."""
    log.warning("webhook.too_large door=%s", door(request))
    return PlainTextResponse("too large", 413)


def door(request: Request) -> str:
    """The door's pattern, for the log: of the path itself a part may be secret, or a stranger's choice of characters."""
    return str(getattr(request.scope.get("route"), "path", "?"))


def routes(clara: Clara) -> list[Route]:
    """Inbound texts, delivery states of texts, inbound mail."""

    async def sms(request: Request) -> Response:
        params = await verified_form(clara, request)
        if isinstance(params, Response):
            return params
        try:
            text = inbound_text(params)
        except MalformedForm as problem:
            return malformed(request, problem)
        prop = clara.by_number.get(text.recipient)
        if prop is None:
            log.warning("webhook.unknown_number number=%s", text.recipient)
            return twiml()
        arrived = await clara.db.transact(clara.store.accept, clara.sms.arrival(text, prop, clara.clock.now()))
        if arrived.duplicate:
            log.info("webhook.replay provider_id=%s", text.message_sid)
        clara.bus.wake(TURNS)
        return twiml()

    async def status(request: Request) -> Response:
        params = await verified_form(clara, request)
        if isinstance(params, Response):
            return params
        try:
            found = delivery_status(params, request.query_params.multi_items())
        except MalformedForm as problem:
            return malformed(request, problem)
        event = Delivery("twilio", found.sid, found.status, found.error_code, found.ref)
        await clara.db.transact(clara.store.delivery, event)
        return twiml()

    async def mail(request: Request) -> Response:
        verdict = signatures.mail_door(
            path_secret=request.path_params["secret"],
            header_secret=request.headers.get("x-clara-mail-secret"),
            path_secrets=(clara.settings.mail_path_secret,),
            header_secrets=(clara.settings.mail_header_secret,),
        )
        if not verdict.ok:
            return refused(request, verdict.reason)
        try:
            raw = await _raw_mail(request)
        except TooLarge:
            return too_large(request)
        except NoMail as problem:
            return malformed(request, problem)
        mail = parse_mail(raw)
        prop = next((clara.by_mail[to.lower()] for to in mail.to if to.lower() in clara.by_mail), None)
        if prop is None:
            log.warning("webhook.unknown_mailbox to=%s", ",".join(mail.to)[:200])
            return PlainTextResponse("ok")
        sent = await clara.db.read(clara.store.sent_texts, prop.id, mail.from_address.lower())
        arrival = clara.mail.arrival(raw, mail, prop, sent, clara.clock.now())
        arrived = await clara.db.transact(clara.store.accept, arrival)
        if arrived.duplicate:
            log.info("webhook.replay provider_id=%s", mail.message_id)
        clara.bus.wake(TURNS)
        return PlainTextResponse("ok")

    return [
        Route("/webhooks/twilio/sms", sms, methods=["POST"]),
        Route("/webhooks/twilio/status", status, methods=["POST"]),
        Route("/webhooks/mail/{secret}", mail, methods=["POST"]),
    ]


async def _raw_mail(request: Request) -> bytes:
    """Raw MIME: as the body itself, or as the field `email` of the form that SendGrid's Inbound Parse posts."""
    kind = request.headers.get("content-type", "").split(";")[0].strip().lower()
    if kind != "multipart/form-data":
        return await read_body(request, LARGEST_MAIL)
    if int(request.headers.get("content-length") or LARGEST_MAIL + 1) > LARGEST_MAIL:
        raise TooLarge
    async with request.form(max_part_size=LARGEST_MAIL) as form:
        field = form.get("email")
        if field is None:
            raise NoMail("The form has no field named email; set the inbound parser to post the raw mail.")
        return field.encode("utf-8", "surrogateescape") if isinstance(field, str) else await field.read()
