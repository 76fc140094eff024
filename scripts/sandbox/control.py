"""The sandbox's remote control: HTTP under `/_control`, for tests, demo and chaos that run in another process.

| method, path under `/_control` | meaning |
|---|---|
| GET `/` | what is here: providers, counts, clock |
| GET, POST, DELETE `/faults` | list (known, armed, fired); arm `{name, times?, after?, probability?, params?}`; clear (`?name=`) |
| GET `/messages` | text messages as stored (`?direction=`) |
| GET `/mailbox` | mails taken over, content in base64 |
| GET `/log` | what the stand-ins received and sent (`?provider=&kind=&after=SEQ`), bytes in base64 |
| POST `/texts` | a customer's text: fields of `messages.send_text` |
| POST `/mails` | a customer's mail: `{raw}` (base64) or fields of `messages.compose`, beside those of `send_mail` |
| POST `/forms` | a website form: fields of `messages.website_form` |
| POST `/calls` | a customer's call: handed to the phone stand-in |
| GET, POST `/clock` | `{offset_seconds, now}`; set the offset |
| POST `/gateway` | `{url}`: the gateway moved to another loopback address |
| POST `/settle` | returns when no callback is on its way any more |

It answers on loopback only. It changes no rule of a stand-in: everything that it does, a provider or a customer could have done.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from scripts.sandbox import messages
from scripts.sandbox.faults import FAULTS
from scripts.sandbox.wire import Answer, is_loopback, request
from scripts.sandbox.world import World

PREFIX = "/_control"
Handler = Callable[[World, Request], Awaitable[Any]]


def routes(world: World) -> list[BaseRoute]:
    """The control routes of a world."""
    table: list[tuple[str, str, Handler]] = [
        ("GET", "/", _overview),
        ("GET", "/faults", _faults),
        ("POST", "/faults", _arm),
        ("DELETE", "/faults", _clear),
        ("GET", "/messages", _messages),
        ("GET", "/mailbox", _mailbox),
        ("GET", "/log", _log),
        ("POST", "/texts", _send_text),
        ("POST", "/mails", _send_mail),
        ("POST", "/forms", _send_form),
        ("POST", "/calls", _place_call),
        ("GET", "/clock", _clock),
        ("POST", "/clock", _set_clock),
        ("POST", "/gateway", _set_gateway),
        ("POST", "/settle", _settle),
    ]
    return [Route(PREFIX + path, _endpoint(world, handler), methods=[method]) for method, path, handler in table]


def _endpoint(world: World, handler: Handler) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        if request.client is None or not is_loopback(request.client.host):
            return _json({"error": "the control interface answers on loopback only"}, 403)
        try:
            return _json(await handler(world, request))
        except (ValueError, TypeError, KeyError) as error:
            return _json({"error": f"{type(error).__name__}: {error}"}, 400)
        except (ConnectionError, LookupError) as error:
            return _json({"error": f"{type(error).__name__}: {error}"}, 502)

    return endpoint


def _json(value: Any, status: int = 200) -> Response:
    return Response(json.dumps(value, default=_plain), status, media_type="application/json")


def _plain(value: object) -> object:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode("ascii")
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Mapping):
        return dict(value)
    return str(value)


async def _body(request: Request) -> dict[str, Any]:
    value = json.loads(await request.body() or b"{}")
    if not isinstance(value, dict):
        raise TypeError("a JSON object is expected")
    return value


async def _overview(world: World, request: Request) -> Any:
    return {
        "now": world.clock.now(),
        "offset_seconds": world.clock.offset_seconds,
        "gateway_url": world.gateway_url,
        "public_url": world.public_url,
        "numbers": world.numbers,
        "messages": len(world.messages),
        "mailbox": len(world.mailbox),
        "calls": list(world.calls),
        "log": len(world.log),
        "armed": len(world.faults.armed()),
    }


async def _faults(world: World, request: Request) -> Any:
    armed = [asdict(fault) for fault in world.faults.armed()]
    return {"known": dict(sorted(FAULTS.items())), "armed": armed, "fired": dict(world.faults.fired)}


async def _arm(world: World, request: Request) -> Any:
    order = await _body(request)
    params = order.pop("params", {})
    world.faults.arm(**order, **params)
    return await _faults(world, request)


async def _clear(world: World, request: Request) -> Any:
    world.faults.clear(request.query_params.get("name"))
    return await _faults(world, request)


async def _messages(world: World, request: Request) -> Any:
    direction = request.query_params.get("direction")
    return [asdict(message) for message in world.messages.values() if direction in (None, message.direction)]


async def _mailbox(world: World, request: Request) -> Any:
    return [asdict(mail) for mail in world.mailbox]


async def _log(world: World, request: Request) -> Any:
    query = request.query_params
    provider, kind, after = query.get("provider"), query.get("kind"), int(query.get("after", "0"))
    return [
        {name: getattr(seen, name) for name in seen.__slots__}
        for seen in world.log[after:]
        if provider in (None, seen.provider) and kind in (None, seen.kind)
    ]


def _answer(answer: Answer) -> dict[str, Any]:
    return {"status": answer.status, "body": answer.text, "seconds": answer.seconds, "headers": dict(answer.headers)}


async def _send_text(world: World, request: Request) -> Any:
    order = await _body(request)
    order["media"] = [(url, kind) for url, kind in order.get("media", [])]
    return _answer(await messages.send_text(world, **order))


async def _send_mail(world: World, request: Request) -> Any:
    order = await _body(request)
    envelope = ("mail_from", "rcpt_to", "dmarc", "path_secret", "header_secret")
    delivery = {name: order.pop(name) for name in envelope if name in order}
    raw = base64.b64decode(order["raw"], validate=True) if "raw" in order else messages.compose(world, **order)
    return _answer(await messages.send_mail(world, raw, **delivery))


async def _send_form(world: World, request: Request) -> Any:
    return _answer(await messages.send_mail(world, messages.website_form(world, **await _body(request))))


async def _place_call(world: World, request: Request) -> Any:
    if world.place_call is None:
        raise LookupError("no phone stand-in is loaded")
    return await world.place_call(await _body(request))


async def _clock(world: World, request: Request) -> Any:
    return {"offset_seconds": world.clock.offset_seconds, "now": world.clock.now()}


async def _set_clock(world: World, request: Request) -> Any:
    world.clock.offset_seconds = float((await _body(request))["offset_seconds"])
    return await _clock(world, request)


async def _set_gateway(world: World, request: Request) -> Any:
    world.gateway_url = str((await _body(request))["url"]).rstrip("/")
    return await _overview(world, request)


async def _settle(world: World, request: Request) -> Any:
    await world.settle()
    return await _overview(world, request)


class ControlError(RuntimeError):
    """The control interface refused; the message is its own."""


class Control:
    """A client of `/_control` for another process. `url` is the sandbox's base address."""

    def __init__(self, url: str) -> None:
        self.url = url.rstrip("/") + PREFIX

    async def get(self, path: str, **query: Any) -> Any:
        """GET `path` (`"/log"`) and return its JSON."""
        return await self._call("GET", path + (f"?{urlencode(query)}" if query else ""))

    async def post(self, path: str, **fields: Any) -> Any:
        """POST a JSON object and return the JSON answer."""
        return await self._call("POST", path, json.dumps(fields).encode())

    async def clear(self, name: str | None = None) -> Any:
        """Disarms one fault or all."""
        return await self._call("DELETE", "/faults" + (f"?{urlencode({'name': name})}" if name else ""))

    async def _call(self, method: str, path: str, body: bytes = b"") -> Any:
        answer = await request(method, self.url + path, [("content-type", "application/json")], body, read_timeout=60)
        value = json.loads(answer.body)
        if answer.status != 200:
            raise ControlError(value.get("error", answer.text))
        return value
