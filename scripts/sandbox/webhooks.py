"""How Twilio calls a gateway: signed forms to the configured public address, by its delivery rules.

The public address (`https://clara.example`) is mapped to the gateway's loopback address; what is signed is the public form, and the request
arrives as through a TLS-terminating proxy (public Host header). The signature is the official SDK's, so that the product's
own verification is proved against somebody else's code.

Rules (fact: Twilio's connection overrides): one retry, and only where no connection was made, unless the URL's fragment says otherwise
(`#rc=3&rp=ct,rt,4xx,5xx,all`); the fragment is neither sent nor signed; redirects are not followed; `I-Twilio-Idempotency-Token` is
the same on every try of one delivery.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import parse_qs, urldefrag, urlencode, urlsplit

from starlette.datastructures import ImmutableMultiDict
from twilio.request_validator import RequestValidator  # type: ignore[import-untyped]  # the SDK ships no types

from scripts.sandbox.wire import Answer, Broken, NotLoopback, Unreachable, is_loopback, request
from scripts.sandbox.world import World

Params = Sequence[tuple[str, str]]
FORM = "application/x-www-form-urlencoded; charset=UTF-8"


def sign(token: str, url: str, params: Params = ()) -> str:
    """`X-Twilio-Signature` over a URL and all its form fields, repeated and empty ones too."""
    return str(RequestValidator(token).compute_signature(url, ImmutableMultiDict(params)))


def to_loopback(world: World, url: str) -> tuple[str, str]:
    """(address on this machine, Host header) of a gateway URL. Raises `NotLoopback` for anybody else's."""
    rest = url.removeprefix(world.public_url)
    if rest != url and rest[:1] in ("", "/", "?"):
        return world.gateway_url + rest, urlsplit(world.public_url).netloc
    if is_loopback(urlsplit(url).hostname):
        return url, urlsplit(url).netloc
    raise NotLoopback(f"{url} is neither the gateway's public address nor on this machine")


@dataclass(frozen=True, slots=True)
class _Rules:
    retries: int
    on: frozenset[str]

    def again(self, outcome: Answer | Exception) -> bool:
        """Whether this outcome is one that is tried again."""
        if isinstance(outcome, Unreachable):
            return bool(self.on & {"ct", "all"})
        if isinstance(outcome, Broken):
            return bool(self.on & {"rt", "all"})
        return (
            isinstance(outcome, Answer)
            and bool(self.on & {f"{outcome.status // 100}xx", "all"})
            and (outcome.status >= 400)
        )


def _rules(fragment: str) -> _Rules:
    given = parse_qs(fragment)
    count = given.get("rc", ["1"])[0]
    return _Rules(int(count) if count.isdecimal() else 1, frozenset(given.get("rp", ["ct"])[0].split(",")))


async def deliver(
    world: World,
    kind: str,
    url: str,
    params: Params,
    *,
    method: str = "POST",
    signature: str | None = None,
    signed: bool = True,
) -> Answer:
    """Calls a webhook and returns the gateway's answer; each try is logged as (`twilio`, `kind`).

    `signature` replaces the right one (to try a wrong one); `signed=False` leaves the header out. Raises `Unreachable`, `Broken` or
    `NotLoopback` when the rules allow no further try.
    """
    public, fragment = urldefrag(url)
    form = urlencode(params).encode()
    if method == "GET" and params:
        public += ("&" if "?" in public else "?") + form.decode()
    headers = [("user-agent", "TwilioProxy/1.1"), ("x-forwarded-proto", "https"), ("accept", "*/*")]
    headers.append(("i-twilio-idempotency-token", world.sid("")))
    if method == "POST":
        headers.append(("content-type", FORM))
    if signed:
        token = world.keys.twilio_auth_token
        headers.append(("x-twilio-signature", signature or sign(token, public, params if method == "POST" else ())))
    address, host = to_loopback(world, public)
    rules = _rules(fragment)
    for attempt in range(rules.retries + 1):
        started = time.perf_counter()
        outcome: Answer | Exception
        try:
            outcome = await request(method, address, headers, form if method == "POST" else b"", host=host)
            world.see(
                "twilio", kind, started=started, body=form, answer=outcome.body, url=public, status=outcome.status
            )
        except (Unreachable, Broken) as error:
            outcome = error
            world.see("twilio", kind, started=started, body=form, url=public, status=None, error=str(error))
        if attempt == rules.retries or not rules.again(outcome):
            break
        await world.pause(0.05)
    if isinstance(outcome, Exception):
        raise outcome
    return outcome
