"""The gate's words: what goes in (`Outgoing`) and what comes out (`Verdict`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from pipeline.core.segments import Segment

if TYPE_CHECKING:
    from pipeline.core.gate.passed import Passed

Mode: TypeAlias = Literal["observe", "enforce"]

CLASSES: Final = (
    "date_time",
    "amount",
    "access_code",
    "confirmation",
    "narration",
    "personal_data",
    "fair_housing",
    "machine_denial",
    "emergency",
    "work_order",
    "provenance",
)
"""Every claim class. `provenance`: a fact span that names no source, or another version than the record's."""

NEVER_LOWERED: Final = frozenset({"access_code", "personal_data"})
"""Classes that no mode and no human override sets to `observe` (RV-5). `confirmation` joins them while the record is PROPOSED."""


@dataclass(frozen=True, slots=True)
class Secret:
    """A value that must not leak. kind: `access_code`, or what derives one (`office_phone`, `street_number`, …)."""

    kind: str
    value: str


@dataclass(frozen=True, slots=True)
class RecordState:
    """The entity that the message speaks of. tour_state: `PROPOSED`, `CONFIRMED` or None (no tour in play); id and version are
    compared with those of the facts, where given."""

    tour_state: str | None = None
    id: str | None = None
    version: int | None = None


@dataclass(frozen=True, slots=True)
class Outgoing:
    """One string about to leave, with everything that decides whether it may.

    allow: local dates and times (`YYYY-MM-DD`, `HH:MM`, `YYYY-MM-DDTHH:MM`) that prose may name on a non-committing turn; None: any.
    before: strings released to this person in the last 24 h, oldest first. others: strings that belong to other people.
    modes: per claim class; a class that is absent enforces; None: all enforce. now: the local instant of the release, by which
    relative words in prose are read where `allow` is given (aware, in the property's zone).
    """

    segments: tuple[Segment, ...]
    locale: str
    channel: Literal["voice", "sms", "email"]
    audience: Literal["prospect", "resident", "staff"] = "prospect"
    purpose: str = "answer"
    committing: bool = True
    record: RecordState | None = None
    allow: frozenset[str] | None = None
    before: tuple[str, ...] = ()
    secrets: tuple[Secret, ...] = field(default=(), repr=False)
    others: tuple[str, ...] = field(default=(), repr=False)
    modes: Mapping[str, Mode] | None = None
    now: datetime | None = None

    @property
    def proposed(self) -> bool:
        """Whether the record of this message is a tour that nobody confirmed yet."""
        return self.record is not None and self.record.tour_state == "PROPOSED"


@dataclass(frozen=True, slots=True)
class Finding:
    """One reason to refuse. start, end: offsets into the text; token: what stands there, `•••` for what must not be stored."""

    claim_class: str
    start: int
    end: int
    token: str
    rule: str
    enforced: bool


@dataclass(frozen=True, slots=True)
class Verdict:
    """The answer. passed: None where an enforced finding exists. digest: sha256 of the UTF-8 text, in hex."""

    passed: Passed | None
    findings: tuple[Finding, ...]
    digest: str
