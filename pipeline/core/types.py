"""The words of the core: channels, audiences, purposes, endings, triggers.

Every other module names these things by the types here, so that one word has one meaning. All values are frozen; instants are
aware UTC datetimes, ids are strings that sort by time and were made at the door.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum


class Channel(StrEnum):
    """Where words come in and leave."""

    VOICE = "voice"
    SMS = "sms"
    EMAIL = "email"


class Audience(StrEnum):
    """Who is spoken to, by *verified* identity; unverified is a prospect (OG-3)."""

    PROSPECT = "prospect"
    RESIDENT = "resident"
    STAFF = "staff"


class Ending(StrEnum):
    """The closed list in which every trigger ends exactly once (CO-5, IN-1)."""

    ANSWERED = "answered"
    ASKED = "asked"
    SILENT = "silent_on_purpose"
    HELD = "held"
    HUMAN_OWNS = "human_owns"
    SUPERSEDED = "superseded"
    AUTOMATIC_MAIL = "automatic_mail"
    OPTED_OUT = "opted_out"


class Health(StrEnum):
    """A turn's health (TR-1)."""

    HEALTHY = "healthy"
    DEGRADED = "degraded"
    PARKED = "parked"


class Purpose(StrEnum):
    """Why a message leaves; the rail's policy reads it (SR-2)."""

    ANSWER = "answer"  # to the person's own message; may leave at any hour for 30 minutes
    AFTER_CALL = "after_call"  # the one text that follows a call (CO-1)
    HOLDING = "holding"
    OPT_OUT_CONFIRMATION = "opt_out_confirmation"
    EXPIRY = "expiry"  # a proposal or hold ran out (PR-7)
    STAFF_NOTE = "staff_note"  # to the property's people; never customer-facing
    CALENDAR = "calendar"  # iCalendar to the property's mailbox


@dataclass(frozen=True, slots=True)
class Form:
    """Structured fields of a website form or portal lead (UN-5). Dates local to the property."""

    move_in: date | None = None
    tour_times: tuple[datetime, ...] = ()


@dataclass(frozen=True, slots=True)
class Trigger:
    """What one turn answers: one mail, one burst of texts, or one utterance on a call.

    `text` is the eligible new text and nothing else (UN-2): no quoted history, signature, footer or form label.
    `received_at` is UTC, stamped at the door. `inbound` are the ids of the rows that it joins, oldest first.
    """

    id: str
    turn: str
    channel: Channel
    property: str
    conversation: str
    person: str | None
    received_at: datetime
    text: str
    inbound: tuple[str, ...]
    audience: Audience = Audience.PROSPECT
    locale: str | None = None
    form: Form | None = None
    lineage: str = "prospect_stated"
    automatic: bool = False
    call: str | None = None
    low_confidence: bool = False
