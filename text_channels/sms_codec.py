"""The words of Twilio's text messages as values: inbound form, status callback, order of statuses, segments. Pure.

What arrives is a form: an ordered list of (name, value) pairs, already verified over *all* its pairs (`gateway/signatures.py`). Twilio adds
fields without notice, so unknown ones are ignored; the ones that identify a message are required.

Status callbacks come in any order, more than once, or not at all. `RANK` orders the statuses; a message's status only moves up
(`advances`), while the raw history keeps every event under (sid, status, error code).

It never trims or re-spells a body: evidence spans are exact substrings of what the person wrote (UN-2).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal

from pipeline.errors import ClaraError


class MalformedForm(ClaraError):
    """A verified form lacks the field that says what it is about; the message names the field."""


@dataclass(frozen=True, slots=True)
class InboundText:
    """A text that a person sent us (TX-1).

    `message_sid` is the key against duplicates; `sender` and `recipient` are E.164 or a channel address (`whatsapp:+1…`); `body` is as typed and
    may be empty (a picture alone); `media` are (URL, content type), at most 10, noted and never fetched; `opt_out_type` (`STOP`, `START`,
    `HELP`) means that the provider has itself answered already.
    """

    message_sid: str
    account_sid: str
    sender: str
    recipient: str
    body: str
    media: tuple[tuple[str, str], ...] = ()
    opt_out_type: str | None = None


@dataclass(frozen=True, slots=True)
class DeliveryStatus:
    """What the provider says about a message of ours; `ref` is the attempt's reference, where the callback URL carried it."""

    sid: str
    status: str
    error_code: str | None = None
    ref: str | None = None


def inbound_text(params: Iterable[tuple[str, str]]) -> InboundText:
    """Reads an inbound-message form. Raises `MalformedForm` where sid, sender or recipient is missing."""
    form = _first_values(params)
    count = int(form["NumMedia"]) if form.get("NumMedia", "").isdecimal() else 0
    urls = ((form.get(f"MediaUrl{i}"), form.get(f"MediaContentType{i}", "")) for i in range(min(count, 10)))
    return InboundText(
        message_sid=_required(form, "MessageSid"),
        account_sid=form.get("AccountSid", ""),
        sender=_required(form, "From"),
        recipient=_required(form, "To"),
        body=form.get("Body", ""),
        media=tuple((url, kind) for url, kind in urls if url),
        opt_out_type=form.get("OptOutType") or None,
    )


def delivery_status(params: Iterable[tuple[str, str]], query: Iterable[tuple[str, str]] = ()) -> DeliveryStatus:
    """Reads a status-callback form and the query of the URL that it came to (`ref`). Raises `MalformedForm`."""
    form = _first_values(params)
    return DeliveryStatus(
        sid=_required(form, "MessageSid"),
        status=_required(form, "MessageStatus"),
        error_code=form.get("ErrorCode") or None,
        ref=_first_values(query).get("ref") or None,
    )


def _first_values(params: Iterable[tuple[str, str]]) -> dict[str, str]:
    values: dict[str, str] = {}
    for name, value in params:
        values.setdefault(name, value)
    return values


def _required(form: Mapping[str, str], name: str) -> str:
    value = form.get(name)
    if not value:
        raise MalformedForm(f"the form has no {name}")
    return value


# --- statuses ---------------------------------------------------------------------------------------------------------------

RANK: Final[Mapping[str, int]] = MappingProxyType(
    {
        "accepted": 0,
        "scheduled": 0,
        "queued": 1,
        "sending": 2,
        "sent": 3,
        "delivered": 4,
        "undelivered": 4,
        "failed": 4,
        "canceled": 4,
        "read": 5,
    }
)
"""How far a message has come. Equal ranks exclude each other: the first one known stands."""

TERMINAL: Final[frozenset[str]] = frozenset(status for status, rank in RANK.items() if rank >= 4)
"""After one of these only `read` may follow `delivered`."""


def rank(status: str) -> int:
    """The rank of a status; -1 for a word that we do not know, which therefore never replaces one that we do."""
    return RANK.get(status, -1)


def advances(current: str | None, new: str) -> bool:
    """Whether `new` may replace `current`: only upwards, and `read` only after `delivered`."""
    if current is None:
        return new in RANK
    if current in TERMINAL:
        return current == "delivered" and new == "read"
    return rank(new) > rank(current)


# --- errors -----------------------------------------------------------------------------------------------------------------

FailureKind = Literal["fatal", "retryable", "opted_out", "configuration"]


@dataclass(frozen=True, slots=True)
class Failure:
    """What an error code means for us (SR-6).

    `kind`: `fatal` for this message; `retryable` later (it was never processed); `opted_out`: the person said stop (SR-7); `configuration`:
    no message will leave until an operator mends something. `resend_once`: where it comes as a delivery status, one *new* message may be
    tried, because the first copy may still arrive.
    """

    kind: FailureKind
    meaning: str
    resend_once: bool = False


FAILURES: Final[Mapping[int, Failure]] = MappingProxyType(
    {
        14107: Failure("retryable", "sending faster than the account may"),
        20003: Failure("configuration", "the account's credentials are wrong"),
        20404: Failure("configuration", "the account or resource does not exist"),
        20429: Failure("retryable", "too many requests at once"),
        21211: Failure("fatal", "the recipient's number is not valid"),
        21212: Failure("configuration", "our sender number is not valid"),
        21401: Failure("configuration", "our sender number is not valid"),
        21408: Failure("configuration", "texts to this region are not permitted for the account"),
        21601: Failure("configuration", "our sender number cannot send texts"),
        21602: Failure("fatal", "the text is empty"),
        21603: Failure("configuration", "no sender number was given"),
        21604: Failure("fatal", "no recipient was given"),
        21606: Failure("configuration", "our sender number is not the account's or cannot send texts"),
        21608: Failure("configuration", "a trial account may text verified numbers only"),
        21609: Failure("configuration", "our callback address is not a valid URL"),
        21610: Failure("opted_out", "the recipient has opted out"),
        21611: Failure("retryable", "our sender number has too many texts waiting"),
        21612: Failure("fatal", "no route between these two numbers"),
        21614: Failure("fatal", "the recipient's number cannot receive texts"),
        21617: Failure("fatal", "the text is longer than 1600 characters"),
        21619: Failure("fatal", "the text is missing"),
        21620: Failure("fatal", "a media address is not valid"),
        21635: Failure("fatal", "the recipient's number is a landline"),
        30001: Failure("retryable", "it waited too long in the provider's queue"),
        30002: Failure("configuration", "the account is suspended"),
        30003: Failure("fatal", "the handset is unreachable", resend_once=True),
        30004: Failure("fatal", "blocked by the recipient or the carrier"),
        30005: Failure("fatal", "the number is unknown or inactive"),
        30006: Failure("fatal", "a landline or an unreachable carrier"),
        30007: Failure("fatal", "filtered by the carrier"),
        30008: Failure("fatal", "unknown carrier error", resend_once=True),
        30034: Failure("configuration", "our sender number is not registered with the carriers"),
        30450: Failure("fatal", "blocked by the provider's fraud protection"),
    }
)
"""The provider's codes that we know. The provider may refine causes: what is not listed is fatal for this message and never re-sent by itself."""

UNKNOWN_FAILURE: Final = Failure("fatal", "an error that we do not know")


def failure(code: int | str | None) -> Failure:
    """What a code means; `UNKNOWN_FAILURE` for any other."""
    try:
        return FAILURES.get(int(code or 0), UNKNOWN_FAILURE)
    except ValueError:
        return UNKNOWN_FAILURE


# --- segments ---------------------------------------------------------------------------------------------------------------

GSM_BASIC: Final = frozenset(
    "@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !\"#¤%&'()*+,-./0123456789:;<=>?¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà"
)
"""GSM 03.38's default alphabet: one unit each. Not in it: á í ó ú, typographic quotes and dashes."""

GSM_EXTENDED: Final = frozenset("\f^{}\\[~]|€")
"""GSM 03.38's extension table: two units each, never split over two segments."""


@dataclass(frozen=True, slots=True)
class Segments:
    """How a body is cut for the air: `units` are septets (GSM-7) or UTF-16 code units (UCS-2)."""

    encoding: Literal["GSM-7", "UCS-2"]
    units: int
    count: int


def segments(body: str) -> Segments:
    """Counts what a body costs: 160 septets alone or 153 in each of many; 70 UTF-16 units alone or 67 in each of many."""
    gsm = all(char in GSM_BASIC or char in GSM_EXTENDED for char in body)
    sizes = [2 if (char in GSM_EXTENDED if gsm else ord(char) > 0xFFFF) else 1 for char in body]
    units = sum(sizes)
    single, many = (160, 153) if gsm else (70, 67)
    count = 1 if units <= single else _packed(sizes, many)
    return Segments("GSM-7" if gsm else "UCS-2", units, count)


def _packed(sizes: Iterable[int], limit: int) -> int:
    count, room = 0, 0
    for size in sizes:
        if size > room:
            count, room = count + 1, limit
        room -= size
    return count
