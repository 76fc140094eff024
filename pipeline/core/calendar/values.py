"""What the calendar says: values, answers and places. All are frozen, naive local, and carry no reference instant."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from typing import Literal, TypeAlias

OfficeHours: TypeAlias = Mapping[str, Sequence[tuple[time, time]]]
"""Opening hours by weekday, keys "mon" to "sun"; a day that is absent or empty is closed."""

Bound: TypeAlias = date | time | datetime

Kind: TypeAlias = Literal["date", "time", "datetime", "range", "relative"]


@dataclass(frozen=True, slots=True)
class CalendarValue:
    """What the words state and no more: a day, a time of day, both, or a range (`start`, `end`; days inclusive)."""

    date: date | None = None
    time: time | None = None
    start: Bound | None = None
    end: Bound | None = None

    def to_json(self) -> dict[str, str]:
        """Only the keys that are stated: YYYY-MM-DD, HH:MM, or both joined by T."""
        stated = {"date": self.date, "time": self.time, "start": self.start, "end": self.end}
        return {key: _iso(value) for key, value in stated.items() if value is not None}


@dataclass(frozen=True, slots=True)
class Resolution:
    """The answer about a span: `resolved` (value), `ask` (candidates: the readings, as far as they can be named) or
    `none` (no such expression). `reasons` are rule ids."""

    status: Literal["resolved", "ask", "none"]
    value: CalendarValue | None = None
    candidates: tuple[CalendarValue, ...] = ()
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Expression:
    """Where in a text a date or time expression stands: offsets into the text as given. It has no value."""

    start: int
    end: int
    kind: Kind


def _iso(value: Bound) -> str:
    if isinstance(value, datetime):
        return value.isoformat("T", "minutes")
    return value.isoformat("minutes") if isinstance(value, time) else value.isoformat()
