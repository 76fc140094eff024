"""What a reading is checked against, and what the check answers. Frozen values, no logic (UN-5, PR-3)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, time
from enum import StrEnum
from zoneinfo import ZoneInfo

from pipeline.core.calendar import CalendarValue, OfficeHours
from pipeline.core.lineage import Lineage
from pipeline.core.states import TourState
from pipeline.core.types import Channel, Form

HORIZON_DAYS = 365
"""How far ahead a visit may lie unless the property says otherwise."""

MAX_ROUNDS = 2
"""Questions asked of the customer in one matter before a person takes over (UN-7)."""


class Outcome(StrEnum):
    """What follows from a reading: commit, ask, hand to a person, or nothing for the calendar."""

    PROCEED = "proceed"
    ASK = "ask"
    REVIEW = "review"
    NONE = "none"


class Action(StrEnum):
    """The change that a commit makes."""

    REQUEST = "request"
    RESCHEDULE = "reschedule"
    CANCEL = "cancel"
    ACCEPT = "accept"
    CONFIRM = "confirm"
    DECLINE = "decline"


class About(StrEnum):
    """What a question is about."""

    DATE = "date"
    TIME = "time"
    WHICH = "which"
    RESTATE = "restate"
    ROLE = "role"


class AutoConfirm(StrEnum):
    """Property setting of PR-4: whether a first touch for the same local day may be CONFIRMED at once."""

    SAME_DAY = "same_day"
    NEVER = "never"


@dataclass(frozen=True, slots=True)
class OpenOffer:
    """A slot that Clara offered and that still stands; `start` is naive local."""

    id: str
    start: datetime


@dataclass(frozen=True, slots=True)
class OpenProposal:
    """A proposal that waits for the customer's answer.

    `readings` are the candidates of a `machine_derived_override` proposal; `bare_yes` counts the bare yeses that it got.
    """

    id: str
    start: datetime
    lineage: Lineage = Lineage.PROSPECT_STATED
    readings: tuple[datetime, ...] = ()
    bare_yes: int = 0


@dataclass(frozen=True, slots=True)
class OpenTour:
    """A tour on record; `lineage` is that of the proposal which made it."""

    id: str
    start: datetime
    state: TourState = TourState.CONFIRMED
    lineage: Lineage = Lineage.PROSPECT_STATED


@dataclass(frozen=True, slots=True)
class OnRecord:
    """What stands open for the person or conversation. Offers are in the order in which they were offered."""

    offers: tuple[OpenOffer, ...] = ()
    proposals: tuple[OpenProposal, ...] = ()
    tours: tuple[OpenTour, ...] = ()


@dataclass(frozen=True, slots=True)
class Context:
    """Everything that the decision depends on besides the reading. `ref` and all starts are naive local to `tz`.

    `text` is the eligible new text and nothing else (UN-2). `bookable` answers whether a visit may start at a local minute;
    None lets the office hours stand for it. `rounds` counts the questions already asked in this matter. `heard` is the id
    of the offer or proposal whose read-back was heard to its mark on this call. `low_confidence` are offsets into `text`
    that the transcriber was unsure of. `lineage` is the best that this source's words can have.
    """

    text: str
    ref: datetime
    tz: ZoneInfo
    locale: str
    channel: Channel
    office_hours: OfficeHours | None = None
    on_record: OnRecord = OnRecord()
    form: Form | None = None
    bookable: Callable[[datetime], bool] | None = None
    rounds: int = 0
    auto_confirm: AutoConfirm = AutoConfirm.SAME_DAY
    horizon_days: int = HORIZON_DAYS
    heard: str | None = None
    low_confidence: tuple[tuple[int, int], ...] = ()
    lineage: Lineage = Lineage.PROSPECT_STATED


@dataclass(frozen=True, slots=True)
class Evidence:
    """Words of the new text that a decision rests on: what they are for and where they stand (offsets into the text)."""

    role: str
    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Decided:
    """The answer of the check.

    With `proceed`: `action`; `date` and `time`, or `start` and `end` of a window (naive local); `record`, the id that it acts
    on; `lineage`; `state`; and `about`, where the commit must be followed by a question (a hedge, a carried value, a window).
    With `ask`: `about`, `candidates` (the readings or slots to choose from), and whatever of the slot and the record is
    already certain. `reasons` are rule ids; `spans` the evidence. A `review` keeps the question that it replaces.
    """

    decision: Outcome
    action: Action | None = None
    date: date | None = None
    time: time | None = None
    start: datetime | None = None
    end: datetime | None = None
    record: str | None = None
    lineage: Lineage | None = None
    state: TourState | None = None
    about: About | None = None
    reasons: tuple[str, ...] = ()
    candidates: tuple[CalendarValue, ...] = ()
    spans: tuple[Evidence, ...] = ()
