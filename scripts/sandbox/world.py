"""One sandbox's world: its clock, keys and numbers, and the record of everything that the stand-ins received and sent.

The stand-ins of one sandbox (text messages, phone, speech, model, mail) share one `World`; it holds what more than one of them needs
and nothing that only one needs. Checkers read `World.log`, `World.messages` and `World.mailbox`: bytes as they came over the wire,
never a flag of the product's (EV-2).

Invariants:
* `log` is append-only; every entry carries two stamps of the monotonic clock (`time.perf_counter`, the same on all processes of one
  machine), so that the provider's own time can be taken out of a latency;
* all stand-ins run on one event loop, so nothing here locks;
* a stand-in reaches the gateway and nothing else: no address outside loopback is ever called.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any, Literal, Protocol, runtime_checkable

from scripts.sandbox.faults import Faults


class Clock:
    """The deployment's clock, shifted by `offset_seconds`, at real pace (CK-1: the gateway runs with the same offset)."""

    def __init__(self, offset_seconds: float = 0.0) -> None:
        self.offset_seconds = offset_seconds

    def now(self) -> datetime:
        """Aware UTC."""
        return datetime.now(UTC) + timedelta(seconds=self.offset_seconds)


@dataclass(frozen=True, slots=True)
class Keys:
    """The secrets and names that the stand-ins accept; the gateway of a sandbox is configured with the same values. None is real."""

    twilio_account_sid: str = "ACc1a0c1a0c1a0c1a0c1a0c1a0c1a0c1a0"
    twilio_auth_token: str = "5a5dbc0e5a5dbc0e5a5dbc0e5a5dbc0e"
    elevenlabs_api_key: str = "sandbox-elevenlabs-key"
    elevenlabs_voice_id: str = "sandboxVoiceClara001"
    anthropic_api_key: str = "sandbox-anthropic-key"
    mail_path_secret: str = "sandbox-mail-path"
    mail_header_secret: str = "sandbox-mail-header"
    smtp_username: str = "clara"
    smtp_password: str = "sandbox-smtp-password"


@dataclass(frozen=True, slots=True)
class Paths:
    """Where the gateway listens for each provider, under its public address."""

    sms: str = "/webhooks/twilio/sms"
    status: str = "/webhooks/twilio/status"
    voice: str = "/webhooks/twilio/voice"
    mail: str = "/webhooks/mail/{secret}"
    mail_header: str = "x-clara-mail-secret"


@dataclass(frozen=True, slots=True)
class Seen:
    """One exchange of a stand-in: `body` came in (or, for what a stand-in sends of itself, went out), `answer` went back.

    `at` is the world's clock at the start; `started` and `ended` are `time.perf_counter()` seconds of receiving the first and sending the
    last byte. `meta` holds what the bytes alone do not say (path, ids, status, fault).
    """

    seq: int
    provider: str
    kind: str
    at: datetime
    started: float
    ended: float
    body: bytes
    answer: bytes = b""
    meta: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Utterance:
    """Something said on a call, by its watermark number: how the transcriber stand-in knows what a piece of audio says."""

    id: int
    call: str
    text: str
    locale: str


@dataclass(slots=True)
class TextMessage:
    """A message resource of the SMS stand-in, in either direction; `body` is decoded, the raw request stands in the log."""

    sid: str
    direction: Literal["inbound", "outbound-api", "outbound-reply"]
    sender: str
    recipient: str
    body: str
    status: str
    created: datetime
    updated: datetime
    sent: datetime | None = None
    segments: int = 1
    media: tuple[tuple[str, str], ...] = ()
    error_code: int | None = None
    error_message: str | None = None
    status_callback: str | None = None
    history: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Mail:
    """A mail that the SMTP stand-in took over: envelope and the content byte for byte (dot-stuffing undone)."""

    sender: str
    recipients: tuple[str, ...]
    content: bytes
    at: datetime


class NoSuchCall(LookupError):
    """The phone stand-in does not know the call (404, 20404)."""


class CallOver(RuntimeError):
    """The call is not in progress any more (400, 21220)."""


@runtime_checkable
class CallResource(Protocol):
    """What the REST stand-in asks of a call in `World.calls`: Twilio's fields as far as the phone stand-in knows them."""

    def resource(self) -> Mapping[str, Any]:
        """`status`, `from`, `to`, `direction`, `start_time`, `end_time`, `duration` … by Twilio's names."""
        ...


CallControl = Callable[[str, Mapping[str, str]], Awaitable[None]]
"""(call sid, checked form fields `Status` | `Twiml` | `Url`) -> None; raises `NoSuchCall` or `CallOver`."""

PlaceCall = Callable[[Mapping[str, Any]], Awaitable[Mapping[str, Any]]]
"""(JSON request of the control interface) -> JSON answer."""


class World:
    """Everything that the stand-ins of one sandbox share."""

    def __init__(
        self,
        *,
        gateway_url: str = "http://127.0.0.1:8000",
        public_url: str = "https://clara.example",
        offset_seconds: float = 0.0,
        seed: int = 0,
        keys: Keys | None = None,
        paths: Paths | None = None,
        numbers: tuple[str, ...] = ("+15125550100", "+15125550101"),
        opt_out: Literal["default", "advanced", "off"] = "default",
        authserv: str = "mx.clara.example",
        status_delay: float = 0.02,
        speed: float = 1.0,
    ) -> None:
        self.clock = Clock(offset_seconds)
        self.faults = Faults(seed)
        self.keys = keys or Keys()
        self.paths = paths or Paths()
        self.numbers = numbers
        self.gateway_url = gateway_url.rstrip("/")
        self.public_url = public_url.rstrip("/")
        self.opt_out = opt_out  # how the text provider handles STOP by itself
        self.authserv = authserv  # the receiving mail server whose verdicts the gateway trusts
        self.status_delay = status_delay
        self.speed = speed  # of calls: media time per wall time
        self.log: list[Seen] = []
        self.messages: dict[str, TextMessage] = {}
        self.opted_out: set[tuple[str, str]] = set()  # (our number, customer's number)
        self.landlines: set[str] = set()
        self.mailbox: list[Mail] = []
        self.utterances: dict[int, Utterance] = {}
        self.calls: dict[str, object] = {}
        self.call_control: CallControl | None = None
        self.place_call: PlaceCall | None = None
        self.model_script: list[
            dict[str, Any]
        ] = []  # next answers of the sandbox model, verbatim (see `sandbox_model`)
        self.closing = asyncio.Event()
        self._sids = count(1)
        self._seed = seed
        self._tasks: set[asyncio.Task[Any]] = set()

    def sid(self, prefix: str) -> str:
        """A fresh resource id: two letters and 32 hex digits, ascending, so that two runs of one seed agree."""
        return f"{prefix}{self._seed & 0xFFFF:04x}{next(self._sids):028x}"

    def see(
        self, provider: str, kind: str, *, started: float, body: bytes = b"", answer: bytes = b"", **meta: Any
    ) -> Seen:
        """Appends to the log; `started` is the `time.perf_counter()` of the first byte, the end is now."""
        ended = time.perf_counter()
        at = self.clock.now() - timedelta(seconds=ended - started)
        seen = Seen(len(self.log) + 1, provider, kind, at, started, ended, body, answer, meta)
        self.log.append(seen)
        return seen

    def seen(self, provider: str, kind: str | None = None) -> list[Seen]:
        """The log entries of one stand-in, oldest first."""
        return [entry for entry in self.log if entry.provider == provider and kind in (None, entry.kind)]

    def spawn(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """Runs background work of a stand-in; it is cancelled when the sandbox stops."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def pause(self, seconds: float) -> None:
        """Waits, but never longer than the sandbox lives."""
        try:
            await asyncio.wait_for(self.closing.wait(), seconds)
        except TimeoutError:
            return

    async def settle(self) -> None:
        """Returns when no background work (status callbacks, for example) is left."""
        while self._tasks:
            await asyncio.gather(*self._tasks, return_exceptions=True)

    async def close(self) -> None:
        """Ends every pause and cancels the background work."""
        self.closing.set()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
