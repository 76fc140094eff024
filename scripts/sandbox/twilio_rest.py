"""Twilio's REST interface on loopback: messages and call updates, as strict as the real one, misbehaving on demand.

A message is stored the moment its request is understood; what the caller then hears about it may be the truth (201), a lie (503, reset) or
nothing (stall). Its further life (queued -> sent -> delivered) is told by signed status callbacks, which may come early, twice, in the
wrong order, late or never.

Invariants: no request without the account's credentials has any effect; `World.messages` is the truth that `GET` tells; every request and
every callback stands in `World.log` byte for byte. Calls belong to the phone stand-in: updates are handed to `World.call_control`.
"""

from __future__ import annotations

import base64
import hmac
import json
import re
import time
import xml.etree.ElementTree as ET
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from scripts.sandbox.faults import Fault, register
from scripts.sandbox.webhooks import deliver
from scripts.sandbox.wire import NotLoopback, Reset
from scripts.sandbox.world import CallOver, CallResource, NoSuchCall, TextMessage, World
from text_channels.sms_codec import segments

API = "2010-04-01"

RATE_LIMITED = register("twilio.message.rate_limited", "create answers 429 with 20429 and processes nothing")
LOST_503 = register("twilio.message.503_lost", "create answers 503 and stores nothing")
STORED_503 = register("twilio.message.503_stored", "create stores and sends the message, and answers 503")
LOST_STALL = register("twilio.message.stall_lost", "create stores nothing and answers nothing for `seconds` (30)")
STORED_STALL = register("twilio.message.stall_stored", "create stores the message and answers after `seconds` (30)")
LOST_RESET = register("twilio.message.reset_lost", "create stores nothing and resets the connection")
STORED_RESET = register("twilio.message.reset_stored", "create stores the message and resets the connection")
GARBLED = register(
    "twilio.message.garbled", "create stores the message and answers 201 with something that is not JSON"
)
REFUSED = register("twilio.message.refused", "create answers `status` (400) with error `code` (21612)")
UNDELIVERED = register("twilio.message.undelivered", "the message ends as `status` (undelivered) with `code` (30003)")
CALLBACK_LOST = register("twilio.callback.lost", "a message's callbacks never leave; `statuses` limits it to those")
CALLBACK_TWICE = register("twilio.callback.duplicated", "each callback of a message is delivered `copies` (2) times")
CALLBACK_REORDERED = register("twilio.callback.reordered", "a message's callbacks are delivered last status first")
CALLBACK_LATE = register("twilio.callback.late", "a message's callbacks start after `seconds` (5)")
CALLBACK_EARLY = register("twilio.callback.early", "all callbacks of a message are delivered before create answers")
LIST_DOWN = register("twilio.list.unavailable", "listing messages answers 503")
LIST_LAGS = register("twilio.list.lagging", "listing leaves out messages younger than `seconds` (60)")
FETCH_DOWN = register("twilio.fetch.unavailable", "fetching one message answers 503")
CALL_DOWN = register("twilio.call.503", "a call update answers 503 and changes nothing")

STOP_WORDS = frozenset({"STOP", "UNSUBSCRIBE", "END", "QUIT", "STOPALL", "REVOKE", "OPTOUT", "CANCEL"})
START_WORDS = frozenset({"START", "UNSTOP", "YES"})
HELP_WORDS = frozenset({"HELP", "INFO"})
SPANISH = {"STOP": {"PARAR", "ALTO", "BAJA", "CANCELAR"}, "START": {"INICIAR"}, "HELP": {"AYUDA"}}
"""What an account with Advanced Opt-Out has entered for Spanish; default handling knows English only."""

_E164 = re.compile(r"\+[1-9]\d{6,14}")
_OVER = frozenset({"completed", "busy", "failed", "no-answer", "canceled"})

Form = dict[str, str]
Handler = Callable[[Request], Awaitable[Response]]


class Refusal(Exception):
    """A request that Twilio answers with an error body."""

    def __init__(self, status: int, code: int, message: str) -> None:
        super().__init__(message)
        self.status, self.code, self.message = status, code, message

    def response(self) -> Response:
        """The legacy error body, which the messages and calls resources use."""
        more = f"https://www.twilio.com/docs/errors/{self.code}"
        return _json(
            {"code": self.code, "message": self.message, "more_info": more, "status": self.status}, self.status
        )


def routes(world: World) -> list[BaseRoute]:
    """The REST routes of one account."""
    rest = _Rest(world)
    base = f"/{API}/Accounts/{{account}}"
    return [
        Route(f"{base}/Messages.json", rest.answer("message.create", rest.create), methods=["POST"]),
        Route(f"{base}/Messages.json", rest.answer("message.list", rest.list), methods=["GET"]),
        Route(f"{base}/Messages/{{sid}}.json", rest.answer("message.fetch", rest.fetch), methods=["GET"]),
        Route(f"{base}/Messages/{{sid}}.json", rest.answer("message.update", rest.redact), methods=["POST"]),
        Route(f"{base}/Messages/{{sid}}.json", rest.answer("message.delete", rest.delete), methods=["DELETE"]),
        Route(f"{base}/Calls/{{sid}}.json", rest.answer("call.fetch", rest.fetch_call), methods=["GET"]),
        Route(f"{base}/Calls/{{sid}}.json", rest.answer("call.update", rest.update_call), methods=["POST"]),
    ]


class _Rest:
    """The handlers; each takes a request whose credentials were checked."""

    def __init__(self, world: World) -> None:
        self.world = world

    def answer(self, kind: str, handler: Handler) -> Handler:
        """Wraps a handler: credentials first, refusals as error bodies, everything into the log."""

        async def endpoint(request: Request) -> Response:
            started = time.perf_counter()
            body = await request.body()
            try:
                self._authorise(request)
                response = await handler(request)
            except Refusal as refusal:
                response = refusal.response()
            self.world.see(
                "twilio",
                kind,
                started=started,
                body=body,
                answer=b"" if isinstance(response, Reset) else bytes(response.body),
                status=None if isinstance(response, Reset) else response.status_code,
                path=request.url.path,
                query=request.url.query,
            )
            return response

        return endpoint

    def _authorise(self, request: Request) -> None:
        scheme, _, given = request.headers.get("authorization", "").partition(" ")
        keys = self.world.keys
        expected = base64.b64encode(f"{keys.twilio_account_sid}:{keys.twilio_auth_token}".encode())
        if scheme.lower() != "basic" or not hmac.compare_digest(given.encode(), expected):
            raise Refusal(401, 20003, "Authenticate")
        if request.path_params["account"] != keys.twilio_account_sid:
            raise Refusal(404, 20404, f"The requested resource {request.url.path} was not found")

    # --- messages -------------------------------------------------------------------------------------------------------

    async def create(self, request: Request) -> Response:
        """POST Messages.json."""
        take = self.world.faults.take
        if take(RATE_LIMITED):
            raise Refusal(429, 20429, "Too Many Requests")
        if take(LOST_503):
            raise Refusal(503, 20503, "Service Unavailable")
        if take(LOST_RESET):
            return Reset()
        if stall := take(LOST_STALL):
            await self.world.pause(float(stall.get("seconds", 30)))
            return Reset()
        if refused := take(REFUSED):
            raise Refusal(int(refused.get("status", 400)), int(refused.get("code", 21612)), "Refused on demand")
        message = store_outbound(self.world, await _form(request))
        resource = _json(_resource(self.world, message), 201)
        life = deliver_message(self.world, message)
        if take(CALLBACK_EARLY):
            await life
        else:
            self.world.spawn(life)
        if take(STORED_503):
            raise Refusal(503, 20503, "Service Unavailable")
        if take(STORED_RESET):
            return Reset()
        if take(GARBLED):
            return Response(b"<html>gateway</html>", 201, media_type="text/html")
        if stall := take(STORED_STALL):
            await self.world.pause(float(stall.get("seconds", 30)))
        return resource

    async def list(self, request: Request) -> Response:
        """GET Messages.json: newest first; filters on To, From and DateSent; messages that were not sent yet fail a DateSent filter."""
        if self.world.faults.take(LIST_DOWN):
            raise Refusal(503, 20503, "Service Unavailable")
        query = dict(parse_qsl(request.url.query))
        found = [message for message in reversed(self.world.messages.values()) if _matches(message, query)]
        if lag := self.world.faults.take(LIST_LAGS):
            since = self.world.clock.now() - timedelta(seconds=float(lag.get("seconds", 60)))
            found = [message for message in found if message.created < since]
        return _json(_page(self.world, found, query, request.url.path), 200)

    async def fetch(self, request: Request) -> Response:
        """GET Messages/{sid}.json."""
        if self.world.faults.take(FETCH_DOWN):
            raise Refusal(503, 20503, "Service Unavailable")
        return _json(_resource(self.world, self._message(request)), 200)

    async def redact(self, request: Request) -> Response:
        """POST Messages/{sid}.json: an empty Body redacts; nothing here is ever scheduled, so nothing can be cancelled."""
        message = self._message(request)
        form = await _form(request)
        if form.get("Body") != "" or "Status" in form:
            raise Refusal(400, 20001, "Only an empty Body is accepted")
        message.body, message.updated = "", self.world.clock.now()
        return _json(_resource(self.world, message), 200)

    async def delete(self, request: Request) -> Response:
        """DELETE Messages/{sid}.json."""
        del self.world.messages[self._message(request).sid]
        return Response(status_code=204)

    def _message(self, request: Request) -> TextMessage:
        message = self.world.messages.get(request.path_params["sid"])
        if message is None:
            raise Refusal(404, 20404, f"The requested resource {request.url.path} was not found")
        return message

    # --- calls ----------------------------------------------------------------------------------------------------------

    async def fetch_call(self, request: Request) -> Response:
        """GET Calls/{sid}.json."""
        sid = request.path_params["sid"]
        call = self.world.calls.get(sid)
        if call is None:
            raise Refusal(404, 20404, f"The requested resource {request.url.path} was not found")
        return _json(self._call(sid, call), 200)

    async def update_call(self, request: Request) -> Response:
        """POST Calls/{sid}.json: checked here, carried out by the phone stand-in."""
        if self.world.faults.take(CALL_DOWN):
            raise Refusal(503, 20503, "Service Unavailable")
        sid = request.path_params["sid"]
        form = await _form(request)
        check_call_update(form)
        call = self.world.calls.get(sid)
        if call is None or self.world.call_control is None:
            raise Refusal(404, 20404, f"The requested resource {request.url.path} was not found")
        try:
            await self.world.call_control(sid, form)
        except NoSuchCall:
            raise Refusal(404, 20404, f"The requested resource {request.url.path} was not found") from None
        except CallOver:
            raise Refusal(400, 21220, "Call is not in-progress. Cannot redirect.") from None
        return _json(self._call(sid, call), 200)

    def _call(self, sid: str, call: object) -> dict[str, Any]:
        account = self.world.keys.twilio_account_sid
        known = dict(call.resource()) if isinstance(call, CallResource) else {}
        now = format_datetime(self.world.clock.now())
        return {
            "sid": sid,
            "account_sid": account,
            "api_version": API,
            "date_created": now,
            "date_updated": now,
            "uri": f"/{API}/Accounts/{account}/Calls/{sid}.json",
            **known,
        }


# --- the life of a message ----------------------------------------------------------------------------------------------------


def store_outbound(world: World, form: Mapping[str, str]) -> TextMessage:
    """Checks a create request and stores its message. Raises `Refusal`."""
    to, sender, body = form.get("To", ""), form.get("From", ""), form.get("Body", "")
    if not to:
        raise Refusal(400, 21604, "A 'To' phone number is required.")
    if not sender:
        raise Refusal(400, 21603, "A 'From' phone number is required.")
    if not body and "MediaUrl" not in form:
        raise Refusal(400, 21602, "Message body is required.")
    if not _E164.fullmatch(to):
        raise Refusal(400, 21211, f"The 'To' number {to} is not a valid phone number.")
    if not _E164.fullmatch(sender):
        raise Refusal(400, 21212, f"The 'From' number {sender} is not a valid phone number.")
    if sender not in world.numbers:
        raise Refusal(400, 21606, f"The 'From' number {sender} is not an SMS-capable number of this account.")
    if len(body) > 1600:
        raise Refusal(400, 21617, "The concatenated message body exceeds the 1600 character limit.")
    if (callback := form.get("StatusCallback")) and not _callback_ok(callback):
        raise Refusal(400, 21609, "The 'StatusCallback' URL is not a valid URL.")
    validity = form.get("ValidityPeriod", "36000")
    if not validity.isdecimal() or not 1 <= int(validity) <= 36000:
        raise Refusal(400, 20001, "ValidityPeriod must be between 1 and 36000 seconds.")
    if world.opt_out == "default" and (sender, to) in world.opted_out:
        raise Refusal(400, 21610, "Attempt to send to unsubscribed recipient")
    return store(world, "outbound-api", sender, to, body, "queued", status_callback=callback)


def store(
    world: World,
    direction: Any,
    sender: str,
    recipient: str,
    body: str,
    status: str,
    *,
    sid: str | None = None,
    media: tuple[tuple[str, str], ...] = (),
    status_callback: str | None = None,
) -> TextMessage:
    """Adds a message resource. Times have the resolution that Twilio shows: whole seconds."""
    now = world.clock.now().replace(microsecond=0)
    message = TextMessage(
        sid=sid or world.sid("MM" if media else "SM"),
        direction=direction,
        sender=sender,
        recipient=recipient,
        body=body,
        status=status,
        created=now,
        updated=now,
        sent=now if status == "received" else None,
        segments=segments(body).count,
        media=media,
        status_callback=status_callback,
        history=[status],
    )
    world.messages[message.sid] = message
    return message


async def deliver_message(world: World, message: TextMessage) -> None:
    """Lives a stored message to its end, with callbacks as the armed faults want them."""
    take = world.faults.take
    lost, twice, reordered = take(CALLBACK_LOST), take(CALLBACK_TWICE), take(CALLBACK_REORDERED)
    if late := take(CALLBACK_LATE):
        await world.pause(float(late.get("seconds", 5)))
    waiting: list[list[tuple[str, str]]] = []
    for status, code in _life(world, message, take(UNDELIVERED)):
        _move(world, message, status, code)
        if message.status_callback is None or (lost and status in lost.get("statuses", (status,))):
            continue
        params = _callback(world, message)
        if reordered:
            waiting.insert(0, params)
        else:
            await _call_back(world, message, params, twice)
        await world.pause(world.status_delay)
    for params in waiting:
        await _call_back(world, message, params, twice)


def _life(world: World, message: TextMessage, fault: Fault | None) -> list[tuple[str, int | None]]:
    if (message.sender, message.recipient) in world.opted_out and world.opt_out == "advanced":
        return [("queued", None), ("failed", 21610)]
    if message.recipient in world.landlines:
        return [("queued", None), ("sent", None), ("undelivered", 30006)]
    if fault:
        status, code = str(fault.get("status", "undelivered")), int(fault.get("code", 30003))
        return [("queued", None), *([("sent", None)] if status == "undelivered" else []), (status, code)]
    return [("queued", None), ("sent", None), ("delivered", None)]


def _move(world: World, message: TextMessage, status: str, code: int | None) -> None:
    message.status, message.updated = status, world.clock.now().replace(microsecond=0)
    message.history.append(status)
    if status == "sent":
        message.sent = message.updated
    if code is not None:
        message.error_code, message.error_message = code, f"error {code}"


def _callback(world: World, message: TextMessage) -> list[tuple[str, str]]:
    params = [
        ("ApiVersion", API),
        ("AccountSid", world.keys.twilio_account_sid),
        ("From", message.sender),
        ("To", message.recipient),
        ("MessageSid", message.sid),
        ("SmsSid", message.sid),
        ("MessageStatus", message.status),
        ("SmsStatus", message.status),
    ]
    if message.error_code is not None:
        params.append(("ErrorCode", str(message.error_code)))
    if message.status == "delivered":
        params.append(("RawDlrDoneDate", message.updated.strftime("%y%m%d%H%M")))
    return params


async def _call_back(world: World, message: TextMessage, params: list[tuple[str, str]], twice: Fault | None) -> None:
    for _ in range(int(twice.get("copies", 2)) if twice else 1):
        with suppress(ConnectionError, NotLoopback):  # logged; Twilio gives up, too
            await deliver(world, "callback.status", message.status_callback or "", params)


# --- shapes -------------------------------------------------------------------------------------------------------------------


def opt_out_word(world: World, body: str) -> str | None:
    """`STOP`, `START` or `HELP` where the whole message is one of the account's keywords."""
    word = body.strip().upper()
    if world.opt_out == "off":
        return None
    spanish = SPANISH if world.opt_out == "advanced" else {}
    for kind, words in (("STOP", STOP_WORDS), ("START", START_WORDS), ("HELP", HELP_WORDS)):
        if word in words or word in spanish.get(kind, ()):
            return kind
    return None


def check_call_update(form: Mapping[str, str]) -> None:
    """Refuses a call update that Twilio would refuse."""
    status, twiml, url = form.get("Status"), form.get("Twiml"), form.get("Url")
    if status is None and twiml is None and url is None:
        raise Refusal(400, 20001, "One of Status, Url and Twiml is required.")
    if status is not None and status not in ("completed", "canceled"):
        raise Refusal(400, 20001, "Invalid Status. Must be completed or canceled.")
    if twiml is not None and url is not None:
        raise Refusal(400, 20001, "Url and Twiml exclude each other.")
    if url is not None and urlsplit(url).scheme not in ("http", "https"):
        raise Refusal(400, 21205, "Url is not a valid URL.")
    if twiml is not None:
        _check_twiml(twiml)


def _check_twiml(twiml: str) -> None:
    try:
        document = ET.fromstring(twiml)
    except ET.ParseError:
        raise Refusal(400, 12100, "Document parse failure") from None
    if document.tag != "Response":
        raise Refusal(400, 12102, "The root element is not Response")
    for element in document.iter():
        for name in ("action", "statusCallback", "recordingStatusCallback"):
            if name in element.attrib and not urlsplit(element.attrib[name]).scheme:
                raise Refusal(400, 15004, f"The {name} URL of {element.tag} is not absolute")


def _callback_ok(url: str) -> bool:
    parts = urlsplit(url)
    return parts.scheme in ("http", "https") and bool(parts.hostname) and "_" not in (parts.hostname or "")


async def _form(request: Request) -> Form:
    if request.headers.get("content-type", "").split(";")[0].strip() != "application/x-www-form-urlencoded":
        raise Refusal(415, 20415, "Unsupported Media Type")
    try:
        pairs = parse_qsl((await request.body()).decode("ascii"), keep_blank_values=True, errors="strict")
    except UnicodeDecodeError:
        raise Refusal(400, 20001, "The form is not UTF-8") from None
    return dict(reversed(pairs))


def _json(value: Mapping[str, Any], status: int) -> Response:
    return Response(json.dumps(value), status, media_type="application/json")


def _date(moment: datetime | None) -> str | None:
    return None if moment is None else format_datetime(moment.astimezone(UTC))


def _resource(world: World, message: TextMessage) -> dict[str, Any]:
    account = world.keys.twilio_account_sid
    uri = f"/{API}/Accounts/{account}/Messages/{message.sid}"
    return {
        "account_sid": account,
        "api_version": API,
        "body": message.body,
        "date_created": _date(message.created),
        "date_sent": _date(message.sent),
        "date_updated": _date(message.updated),
        "direction": message.direction,
        "error_code": message.error_code,
        "error_message": message.error_message,
        "from": message.sender,
        "messaging_service_sid": None,
        "num_media": str(len(message.media)),
        "num_segments": str(message.segments),
        "price": None,
        "price_unit": "USD",
        "sid": message.sid,
        "status": message.status,
        "subresource_uris": {"media": f"{uri}/Media.json"},
        "to": message.recipient,
        "uri": f"{uri}.json",
    }


def _moment(text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise Refusal(400, 20001, f"{text} is not a date") from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _matches(message: TextMessage, query: Mapping[str, str]) -> bool:
    if query.get("To", message.recipient) != message.recipient or query.get("From", message.sender) != message.sender:
        return False
    asked = [(holds, _moment(query[name])) for name, holds in _DATES.items() if name in query]
    return not asked or (message.sent is not None and all(holds(message.sent, day) for holds, day in asked))


_DATES: Mapping[str, Callable[[datetime, datetime], bool]] = {
    "DateSent": lambda sent, day: sent.date() == day.date(),
    "DateSent<": lambda sent, day: sent.date() <= day.date(),
    "DateSent>": lambda sent, day: sent.date() >= day.date(),
}
"""Twilio promises day precision only, so this is what the stand-in gives."""


def _page(world: World, found: list[TextMessage], query: Mapping[str, str], path: str) -> dict[str, Any]:
    size, page = int(query.get("PageSize", "50")), int(query.get("Page", "0"))
    if not 1 <= size <= 1000:
        raise Refusal(400, 20006, "Page size must be between 1 and 1000")
    start = page * size
    shown = found[start : start + size]

    def uri(number: int) -> str:
        fixed = {name: value for name, value in query.items() if name not in ("Page", "PageToken", "PageSize")}
        token = {"PageToken": f"PASM{found[number * size - 1].sid[2:]}"} if number else {}
        return f"{path}?{urlencode({**fixed, 'PageSize': size, 'Page': number, **token})}"

    return {
        "messages": [_resource(world, message) for message in shown],
        "page": page,
        "page_size": size,
        "start": start,
        "end": start + max(len(shown) - 1, 0),
        "uri": uri(page),
        "first_page_uri": uri(0),
        "next_page_uri": uri(page + 1) if start + size < len(found) else None,
        "previous_page_uri": uri(page - 1) if page else None,
    }
