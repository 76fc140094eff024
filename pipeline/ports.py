"""The small doors through which the pipeline reaches the world; each is one to three methods.

The pipeline (floor 2) sees these protocols only. Classes that stand behind them live on floors 3 and 4, and `gateway/build.py` is the only file
that knows which. Outcomes are values, never exceptions in the customer's path (UN-10, SR-6).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Concatenate, Literal, ParamSpec, Protocol, TypeVar

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from pipeline.core.reading import Reading

P = ParamSpec("P")
R = TypeVar("R")


# --- the database -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Tx:
    """One open transaction: a synchronous connection and the one instant that everything in it uses.

    `now` (aware UTC) was read once, from the database's clock plus the deployment's offset. Plain functions take a `Tx` first; they never
    await, never call a model or a provider, and never read another clock.
    """

    conn: Connection
    now: datetime


class Database(Protocol):
    """Runs plain functions in transactions. Started work runs to its end even when the caller is cancelled."""

    async def transact(self, fn: Callable[Concatenate[Tx, P], R], *args: P.args, **kwargs: P.kwargs) -> R:
        """Runs `fn` in a writing transaction; retries the whole function on serialisation failures."""
        ...

    async def read(self, fn: Callable[Concatenate[Tx, P], R], *args: P.args, **kwargs: P.kwargs) -> R:
        """Runs `fn` on a read-only connection, so that screens never wait for the writer."""
        ...


# --- time, ids, wake-ups ----------------------------------------------------------------------------------------------------


class Clock(Protocol):
    """The process's view of the one shifted clock (production: no shift)."""

    def now(self) -> datetime:
        """Aware UTC."""
        ...


class Ids(Protocol):
    """Ids sortable by time, stamped at the door."""

    def new(self) -> str: ...


class Bus(Protocol):
    """Wake-ups after a commit. A lost wake-up costs at most one poll (1 s); it carries no promise."""

    def wake(self, topic: str) -> None: ...

    async def wait(self, topic: str, timeout: float) -> None:
        """Returns on a wake-up of `topic` or after `timeout` seconds."""
        ...


# --- the model --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ModelFailure:
    """A failed, refused, cut or empty model answer (UN-10).

    `kind` says which; `detail` is for the trace only and never reaches a customer or a prompt.
    """

    kind: Literal["timeout", "overloaded", "unreachable", "refused", "truncated", "empty", "invalid", "rejected_request"]
    detail: str
    retryable: bool


@dataclass(frozen=True, slots=True)
class ReadRequest:
    """What the reader may see. `text` is untrusted and goes into the untrusted part of the prompt only (UN-9).

    `now` is local wall time `YYYY-MM-DDTHH:MM`; `open` is PROBES.md's `open`; `slots` are local `YYYY-MM-DDTHH:MM` of open slots (DM-1).
    `history` is what was said before, oldest first, (speaker, text).
    """

    text: str
    channel: str
    locale: str | None
    now: str
    tz: str
    property_name: str
    open: Mapping[str, Any] = field(default_factory=dict)
    slots: Sequence[str] = ()
    history: Sequence[tuple[Literal["customer", "clara"], str]] = ()
    form: Mapping[str, Any] | None = None


class Reader(Protocol):
    """UN-1: one structured reading per trigger."""

    async def read(self, request: ReadRequest, budget: float) -> Reading | ModelFailure:
        """`budget` is seconds in all, own retry included."""
        ...


@dataclass(frozen=True, slots=True)
class FactMark:
    """A fact that code has rendered and that the draft must place: `mark` stands in the text as `{{F1}}`; `means` says what it states."""

    mark: str
    means: str


@dataclass(frozen=True, slots=True)
class DraftRequest:
    """What the drafter may see: the outcome in one word, the facts as marks (never their values), and the customer's untrusted text."""

    outcome: str
    channel: str
    locale: str
    property_name: str
    facts: Sequence[FactMark]
    text: str
    history: Sequence[tuple[Literal["customer", "clara"], str]] = ()
    first_message: bool = False


@dataclass(frozen=True, slots=True)
class Draft:
    """Text with marks, complete (right stop reason), not yet gated."""

    text: str


class Drafter(Protocol):
    """Words around facts; never a tool call (DM-7)."""

    async def draft(self, request: DraftRequest, budget: float) -> Draft | ModelFailure: ...


# --- carriers (floor 3): how stored bytes leave -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Attempt:
    """One recorded try to send one intent's stored bytes (SR-3). It was written before the first byte leaves.

    `payload` are the stored bytes, byte for byte what leaves: UTF-8 text for SMS, a whole MIME message for e-mail.
    `reference` is opaque and unique for the intent; carriers put it where the provider gives it back (callback URL, Message-ID).
    """

    id: str
    intent: str
    number: int
    channel: Literal["sms", "email"]
    sender: str
    recipient: str
    payload: bytes
    reference: str
    opened_at: datetime


@dataclass(frozen=True, slots=True)
class Accepted:
    """The provider has it. `final` is true where acceptance is all the evidence there will be (SMTP 250)."""

    ref: str
    final: bool = False


@dataclass(frozen=True, slots=True)
class Refused:
    """The provider said no. `kind`: `fatal`, `retryable` (never processed, e.g. 429 or SMTP 4xx), `opted_out` (SR-7), `configuration`."""

    kind: Literal["fatal", "retryable", "opted_out", "configuration"]
    code: str
    detail: str


@dataclass(frozen=True, slots=True)
class NotSent:
    """Provably no byte of the message left (refused connection, connect time-out)."""

    detail: str


@dataclass(frozen=True, slots=True)
class MaybeSent:
    """The outcome is unknown (time-out or reset after the request left, 5xx): never re-sent blindly."""

    detail: str


SendOutcome = Accepted | Refused | NotSent | MaybeSent


@dataclass(frozen=True, slots=True)
class Found:
    """The provider has the message of this attempt; `status` is its delivery status in the provider's word."""

    ref: str
    status: str
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Absent:
    """The provider answered and does not have it."""


@dataclass(frozen=True, slots=True)
class CannotTell:
    """The provider cannot be asked, or did not answer."""

    detail: str


FindOutcome = Found | Absent | CannotTell


class Carrier(Protocol):
    """One provider's way out for one channel. Only the relay imports or calls `send` (EV-3)."""

    channel: Literal["sms", "email"]
    receipts: bool  # delivery events come back
    query: bool  # `find` can answer

    async def send(self, attempt: Attempt) -> SendOutcome: ...

    async def find(self, attempt: Attempt, ref: str | None = None) -> FindOutcome:
        """Asks the provider about an attempt, by its reference or by the provider's own `ref` where known."""
        ...


# --- people ------------------------------------------------------------------------------------------------------------------


class Pager(Protocol):
    """Alerts people (RV-6)."""

    async def page(self, subject: str, body: str) -> None: ...


Handler = Callable[[], Awaitable[None]]
