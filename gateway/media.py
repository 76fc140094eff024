"""The doors of a call: the voice webhook, the media socket, what follows the stream, and the call's status (VO-1, OP-3).

The webhook makes the call and a single-use token, and answers with the TwiML that connects the stream. The socket is verified twice: by the signature of its upgrade
and by the token in its first frame. Whoever lacks one is refused before anything is opened, with the reason in the log.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import secrets
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute, Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from gateway import signatures
from gateway.webhooks import malformed, twiml, verified_form
from pipeline.calls import CallDesk, CallInfo
from pipeline.store import NewCall
from voice import twilio_codec as codec
from voice.bridge import Bridge

if TYPE_CHECKING:
    from gateway.build import Clara

log = logging.getLogger("clara.media")

TOKEN_LIFE = timedelta(seconds=60)
START_WITHIN = 5.0
LARGEST_FRAME = 64 * 1024
ANONYMOUS = "+266696687"  # what a withheld number looks like at Twilio
FINAL = frozenset({"completed", "busy", "failed", "no-answer", "canceled"})


@dataclass(frozen=True, slots=True)
class _Socket:
    """A Starlette websocket as the bridge wants it."""

    websocket: WebSocket

    async def receive(self) -> str | None:
        try:
            text = await self.websocket.receive_text()
        except (WebSocketDisconnect, RuntimeError, KeyError):
            return None
        return text if len(text) <= LARGEST_FRAME else ""

    async def send(self, text: str) -> None:
        try:
            await self.websocket.send_text(text)
        except (WebSocketDisconnect, RuntimeError) as gone:
            raise ConnectionError("the media socket is closed") from gone


def routes(clara: Clara) -> list[BaseRoute]:
    """The voice routes; none where the channel is off."""
    hearing, speaking = clara.hearing, clara.speaking
    if hearing is None or speaking is None:
        return []
    desk = CallDesk(clara.engine, clara.ids, clara.bus, clara.settings.node)
    live: dict[str, Bridge] = {}  # by CallSid

    async def voice(request: Request) -> Response:
        params = await verified_form(clara, request)
        if isinstance(params, Response):
            return params
        form = dict(params)
        if not form.get("CallSid") or not form.get("To"):
            return malformed(request, "The form names no call or no number.")
        prop = clara.by_number.get(form["To"])
        if prop is None:
            log.warning("webhook.unknown_number number=%s", form["To"])
            return twiml('<?xml version="1.0" encoding="UTF-8"?><Response><Reject/></Response>')
        token = secrets.token_urlsafe(24)
        caller = form.get("From", "")
        withheld = not caller.startswith("+") or caller == ANONYMOUS
        now = clara.clock.now()
        call = NewCall(
            id=clara.ids.new(),
            provider_id=form["CallSid"],
            property=prop.id,
            # Nobody can be written to there, and all who withhold their number share it (CO-1).
            address="withheld" if withheld else caller,
            our_address=form["To"],
            withheld=withheld,
            token_digest=_digest(token),
            token_expires_at=now + TOKEN_LIFE,
            started_at=now,
        )
        if not await clara.db.transact(clara.store.start_call, call):
            # A replay: the first answer has the token; this one opens nothing.
            log.info("webhook.replay provider_id=%s", form["CallSid"])
            return twiml('<?xml version="1.0" encoding="UTF-8"?><Response><Hangup/></Response>')
        return twiml(_connect(clara, form["CallSid"], token))

    async def after(request: Request) -> Response:
        """The stream is over: end the document. The call's own end is what matters (facts: closing the socket does not hang up)."""
        params = await verified_form(clara, request)
        if isinstance(params, Response):
            return params
        return twiml('<?xml version="1.0" encoding="UTF-8"?><Response><Hangup/></Response>')

    async def status(request: Request) -> Response:
        params = await verified_form(clara, request)
        if isinstance(params, Response):
            return params
        form = dict(params)
        if not form.get("CallSid") or not form.get("CallStatus"):
            return malformed(request, "The form names no call or no status.")
        if form["CallStatus"] in FINAL:
            bridge = live.get(form["CallSid"])
            if bridge is not None:
                # It may be committing a turn; it reports the end itself, after that, so that one text says everything (CO-1).
                bridge.end(form["CallStatus"])
            else:
                await desk.finish(form["CallSid"], form["CallStatus"])
        return PlainTextResponse("")

    async def media(websocket: WebSocket) -> None:
        verdict = signatures.twilio_websocket(
            public_url=clara.settings.public_url,
            raw_path=websocket.scope["raw_path"],
            raw_query=websocket.scope.get("query_string", b""),
            signature=websocket.headers.get("x-twilio-signature"),
            tokens=clara.settings.twilio_auth_tokens,
        )
        if not verdict.ok:
            log.warning("media.refused path=%s reason=%s", websocket.url.path, verdict.reason)
            await websocket.close(1008)
            return
        await websocket.accept()
        start = await _started(websocket)
        call = await _admit(clara, start) if start is not None else None
        if start is None or call is None:
            await websocket.close(1008)
            return
        bridge = Bridge(
            socket=_Socket(websocket),
            desk=desk,
            call=call,
            stream=start.stream,
            hearing=hearing,
            speaking=speaking,
            on_end=desk.finish,
        )
        clara.calls.add(call.id)
        live[call.provider_id] = bridge
        try:
            await bridge.run()
        finally:
            clara.calls.discard(call.id)
            del live[call.provider_id]
            try:
                await websocket.close()
            except (RuntimeError, WebSocketDisconnect):
                log.debug("media.closed_before call=%s", call.id)

    return [
        Route("/webhooks/twilio/voice", voice, methods=["POST"]),
        Route("/webhooks/twilio/voice/after", after, methods=["POST"]),
        Route("/webhooks/twilio/call-status", status, methods=["POST"]),
        WebSocketRoute("/media", media),
    ]


def _connect(clara: Clara, call_sid: str, token: str) -> str:
    from twilio.twiml.voice_response import VoiceResponse  # type: ignore[import-untyped]  # the SDK costs a second

    public = clara.settings.public_url
    response = VoiceResponse()
    connect = response.connect(action=f"{public}/webhooks/twilio/voice/after", method="POST")
    stream = connect.stream(url=f"wss://{public.removeprefix('https://')}/media", name="main")
    stream.parameter(name="token", value=token)
    stream.parameter(name="call", value=call_sid)
    response.hangup()
    return str(response)


async def _started(websocket: WebSocket) -> codec.Start | None:
    """The `start` frame, which must come within five seconds."""
    try:
        async with asyncio.timeout(START_WITHIN):
            while True:
                event = codec.decode(await websocket.receive_text())
                if isinstance(event, codec.Start):
                    return event
                if not isinstance(event, codec.Unknown):
                    log.warning("media.refused reason=%s", "The first frame is not a start.")
                    return None
    except (TimeoutError, WebSocketDisconnect, RuntimeError, KeyError):
        log.warning("media.refused reason=%s", "No start frame came in time.")
        return None


async def _admit(clara: Clara, start: codec.Start) -> CallInfo | None:
    """The call that this stream belongs to, once; the token is used up by asking."""
    if not start.format_ok:
        log.warning("media.refused call=%s reason=%s", start.call, "The stream's format is not µ-law, 8000 Hz, mono.")
        return None
    used = await clara.db.transact(clara.store.use_media_token, start.call, _digest(start.parameters.get("token", "")))
    if used is None:
        log.warning("media.refused call=%s reason=%s", start.call, "The media token is unknown, expired or used.")
        return None
    row = await clara.db.read(clara.store.call_by_provider_id, start.call)
    if row is None:
        return None
    prop = clara.settings.properties[row["property"]]
    return CallInfo(row["id"], row["provider_id"], prop, row["address"], row["our_address"], bool(row["withheld"]))


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
