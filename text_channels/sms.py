"""Texts out through Twilio: one recorded attempt becomes one POST, and an attempt of unknown outcome becomes a question.

Twilio has no idempotency key, so a create is never repeated here; what happened is classified by phase instead:

    connecting (DNS, TCP, TLS) failed        -> NotSent      nothing of the message has left
    the request left, no clear answer        -> MaybeSent    time-out, reset, 5xx, unreadable answer
    4xx                                      -> Refused      by the table in `sms_codec.FAILURES`
    201                                      -> Accepted     delivery is told by callbacks or by `find`

`TwilioHttp` makes the phases visible: every request opens its own connection (a kept-alive one may be dead, and a reset on it says nothing),
connecting and reading have time limits of their own, nothing is retried or redirected.

The attempt's reference rides in the status callback's URL; the signature covers it, so a callback resolves an attempt whose answer was lost.
`find` asks by the provider's id, or lists what was sent to this person from this number and matches body, direction and time. The
list is not filtered by date of sending: a message that still waits has none and would be missed, and a false "absent" sends twice.
`Absent` is what the list says now; how long to wait before it is believed is the relay's policy.

`send` and `find` raise nothing, block no event loop (a bounded pool of threads does the waiting) and hold no policy.
"""

from __future__ import annotations

import asyncio
import http.client
import logging
import ssl
from base64 import b64encode
from collections.abc import Awaitable, Callable, Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any, Final, Literal
from urllib.parse import quote, urlencode, urlsplit

from twilio.base.exceptions import (  # type: ignore[import-untyped]  # the SDK ships no types
    TwilioRestException,
    TwilioServiceException,
)
from twilio.http import HttpClient  # type: ignore[import-untyped]  # the SDK ships no types
from twilio.http.response import Response  # type: ignore[import-untyped]  # the SDK ships no types
from twilio.rest import Client  # type: ignore[import-untyped]  # the SDK ships no types

from pipeline.ports import (
    Absent,
    Accepted,
    Attempt,
    CannotTell,
    FindOutcome,
    Found,
    MaybeSent,
    NotSent,
    Refused,
    SendOutcome,
)
from text_channels.sms_codec import FAILURES, failure

STATUS_PATH: Final = "/webhooks/twilio/status"
"""Where status callbacks come in, under the public address; `?ref=` carries the attempt's reference."""

Known = Callable[[Collection[str]], Awaitable[Collection[str]]]
"""Of these provider ids, those that belong to other attempts already; `find` never gives one message to two attempts."""


class NothingSent(ConnectionError):
    """No connection came about: provably nothing of the request has left."""


class TwilioHttp(HttpClient):  # type: ignore[misc]  # its base class has no types
    """The SDK's transport with the phases apart. Times in seconds; `read_timeout` bounds each wait for the provider's bytes.

    Raises `NothingSent` where connecting failed; any other exception means that the request may have arrived.
    """

    def __init__(self, connect_timeout: float = 5.0, read_timeout: float = 15.0) -> None:
        super().__init__(logging.getLogger("clara.twilio"), is_async=False, timeout=read_timeout)
        self.connect_timeout = connect_timeout
        self.read_timeout = read_timeout

    @cached_property
    def _tls(self) -> ssl.SSLContext:
        """The system's trust store (`SSL_CERT_FILE` overrides it); reading it takes tens of milliseconds, once."""
        return ssl.create_default_context()

    def request(
        self,
        method: str,
        uri: str,
        params: Mapping[str, object] | None = None,
        data: Mapping[str, object] | None = None,
        headers: Mapping[str, str] | None = None,
        auth: tuple[str, str] | None = None,
        timeout: float | None = None,
        allow_redirects: bool = False,
    ) -> Response:
        """One exchange on a connection of its own."""
        parts = urlsplit(uri)
        query = "&".join(filter(None, (parts.query, urlencode(dict(params or {}), doseq=True))))
        body = urlencode(dict(data or {}), doseq=True).encode("ascii") if method.upper() != "GET" else None
        head = {**(headers or {}), "Connection": "close"}
        if auth is not None:
            head["Authorization"] = _basic(*auth)
        connection = self._connect(parts.scheme, parts.hostname or "", parts.port)
        try:
            connection.request(method.upper(), parts.path + (f"?{query}" if query else ""), body, head)
            answer = connection.getresponse()
            return Response(answer.status, answer.read().decode("utf-8"), dict(answer.getheaders()))
        finally:
            connection.close()

    def _connect(self, scheme: str, host: str, port: int | None) -> http.client.HTTPConnection:
        connection = (
            http.client.HTTPSConnection(host, port, timeout=self.connect_timeout, context=self._tls)
            if scheme == "https"
            else http.client.HTTPConnection(host, port, timeout=self.connect_timeout)
        )
        try:
            connection.connect()
        except (OSError, UnicodeError) as error:
            connection.close()
            raise NothingSent(_say(error)) from error
        connection.sock.settimeout(self.read_timeout)
        return connection


def _basic(user: str, password: str) -> str:
    return "Basic " + b64encode(f"{user}:{password}".encode()).decode("ascii")


def _say(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}".rstrip(": ")


@dataclass(frozen=True, slots=True)
class _Sent:
    """A message that the provider lists."""

    sid: str
    status: str
    error: str | None
    created: datetime | None
    body: str


class TwilioSms:
    """The way out for texts. `public_url` is the gateway's public https address; `api_url` is where Twilio answers.

    `slack` and `window` bound `find`'s match in time: created no earlier than `slack` before the attempt was opened (two clocks) and no later
    than `window` after it. `validity` is how long Twilio may queue a text before it gives it up, in seconds.
    """

    channel: Literal["sms", "email"] = "sms"
    receipts = True
    query = True

    def __init__(
        self,
        account_sid: str,
        auth_token: str,
        *,
        public_url: str,
        api_url: str = "https://api.twilio.com",
        connect_timeout: float = 5.0,
        read_timeout: float = 15.0,
        workers: int = 8,
        validity: int = 3600,
        slack: timedelta = timedelta(seconds=90),
        window: timedelta = timedelta(minutes=15),
        known: Known | None = None,
    ) -> None:
        self._client = Client(account_sid, auth_token, http_client=TwilioHttp(connect_timeout, read_timeout))
        self._client.edge = self._client.region = None  # never from the environment: they would rewrite the host
        self._client.api.base_url = api_url.rstrip("/")
        self._callback = public_url.rstrip("/") + STATUS_PATH
        self._validity = validity
        self._slack, self._window = slack, window
        self._known = known
        self._pool = ThreadPoolExecutor(workers, thread_name_prefix="twilio")

    def close(self) -> None:
        """Takes no new work; running requests end by their own time limits."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    async def send(self, attempt: Attempt) -> SendOutcome:
        """Sends the stored bytes once. Never raises but on cancellation; a cancelled attempt that had begun goes on and is unknown."""
        try:
            body = attempt.payload.decode("utf-8")
        except UnicodeDecodeError as error:
            return Refused("fatal", "payload", _say(error))
        return await asyncio.get_running_loop().run_in_executor(self._pool, self._create, attempt, body)

    def _create(self, attempt: Attempt, body: str) -> SendOutcome:
        try:
            message = self._client.messages.create(
                to=attempt.recipient,
                from_=attempt.sender,
                body=body,
                status_callback=f"{self._callback}?ref={quote(attempt.reference, safe='')}",
                validity_period=self._validity,
            )
        except NothingSent as error:
            return NotSent(str(error))
        except (TwilioRestException, TwilioServiceException) as error:
            return _refusal(error)
        except Exception as error:
            return MaybeSent(_say(error))
        return Accepted(message.sid) if message.sid else MaybeSent("accepted without an id")

    async def find(self, attempt: Attempt, ref: str | None = None) -> FindOutcome:
        """Asks Twilio for the message of an attempt. A known id that is not shown is `CannotTell`: it was accepted once."""
        run = asyncio.get_running_loop().run_in_executor
        try:
            if ref is not None:
                return await run(self._pool, self._fetch, ref)
            sent, whole = await run(self._pool, self._list, attempt)
            taken = await self._known([message.sid for message in sent]) if self._known and sent else ()
        except Exception as error:
            return CannotTell(_say(error))
        return self._match(attempt, [message for message in sent if message.sid not in taken], whole)

    def _fetch(self, sid: str) -> FindOutcome:
        return _found(_sent(self._client.messages(sid).fetch()))

    def _list(self, attempt: Attempt) -> tuple[list[_Sent], bool]:
        rows = self._client.messages.list(to=attempt.recipient, from_=attempt.sender, limit=_MOST, page_size=_PAGE)
        ours = [_sent(row) for row in rows if row.direction == "outbound-api"]
        earliest, latest = attempt.opened_at - self._slack, attempt.opened_at + self._window
        inside = [row for row in ours if row.created is None or earliest <= row.created <= latest]
        return inside, len(rows) < _MOST

    @staticmethod
    def _match(attempt: Attempt, sent: list[_Sent], whole: bool) -> FindOutcome:
        body = _folded(attempt.payload.decode("utf-8", "replace"))
        same = [message for message in sent if _folded(message.body) == body]
        if same:
            return _found(min(same, key=lambda message: (message.created or attempt.opened_at, message.sid)))
        if any(not message.body for message in sent):
            return CannotTell("a message of that time has no body any more (redacted)")
        return Absent() if whole else CannotTell(f"more than {_MOST} messages between these numbers")


_PAGE: Final = 200
_MOST: Final = 1000


def _sent(row: Any) -> _Sent:
    error = None if row.error_code is None else str(row.error_code)
    return _Sent(row.sid, row.status, error, row.date_created, row.body or "")


def _found(message: _Sent) -> Found:
    return Found(message.sid, message.status, message.error)


def _folded(body: str) -> str:
    """A body without its white space: what a provider may trim must not turn a message that exists into an absent one."""
    return "".join(body.split())


def _refusal(error: TwilioRestException | TwilioServiceException) -> SendOutcome:
    """An error body as an outcome: 5xx says nothing about the message, 429 was never processed, the rest goes by its code."""
    status, code = int(error.status), error.code
    detail = str(getattr(error, "msg", None) or getattr(error, "detail", None) or getattr(error, "title", ""))
    if status >= 500:
        return MaybeSent(f"HTTP {status}: {detail}")
    if status == 429:
        return Refused("retryable", str(code or status), detail)
    if code in FAILURES:
        return Refused(failure(code).kind, str(code), detail)
    if status < 400 or status in (401, 403, 404):
        return Refused("configuration", str(code or status), detail)
    return Refused("fatal", str(code or status), detail)
