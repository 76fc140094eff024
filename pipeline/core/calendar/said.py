"""What one side of a phrase says: its items sorted by kind, and the days and times that they may mean together.

Everything that a side says of its day must hold of it: "next Friday the 28th" has two readings for the first half and
one for the second, so it is that one; a Monday that is no Monday is broken. The same goes for a time of day and the
part of the day beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime, time
from typing import Any, Literal, NamedTuple
from zoneinfo import ZoneInfo

from pipeline.core.calendar.descriptions import (
    Clock,
    DayOfMonth,
    Number,
    OrdinalDay,
    OrdinalWeekday,
    Part,
    Period,
    Shifted,
    Span,
    Weekday,
    Written,
    days_of,
)
from pipeline.core.calendar.meanings import WEEKDAYS
from pipeline.core.calendar.sentence import Side
from pipeline.core.calendar.values import CalendarValue, OfficeHours

WRITTEN = (Written, DayOfMonth, OrdinalDay, OrdinalWeekday)
"""Days that say their number themselves."""

ALWAYS_ASK = frozenset({
    "over_noon", "long_range", "past_midnight", "maybe_no_date", "year_day_month",
})  # fmt: skip
"""Rules that make a question of whatever value there is."""


class Outcome(NamedTuple):
    """What one reading of the grammar comes to.

    `sound`: the values are what the words may state. `vague`: the words name no single value. `broken`: the words
    contradict each other, or name a day that does not exist. `open`: one end of a range is missing.
    """

    state: Literal["sound", "vague", "broken", "open"]
    values: tuple[CalendarValue, ...] = ()
    rules: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Moment:
    """When and where the words were said; `today` is the day that the speaker takes for today."""

    at: datetime
    today: date
    zone: ZoneInfo
    hours: OfficeHours | None


@dataclass(slots=True)
class Said:
    """The items of a side, sorted by kind."""

    days: list[Any] = field(default_factory=list)
    weekday: int | None = None
    period: Period | None = None
    clocks: list[Clock] = field(default_factory=list)
    loose: list[Clock] = field(default_factory=list)
    numbers: list[Number] = field(default_factory=list)
    parts: list[Part] = field(default_factory=list)
    day_part: int | None = None
    half: int | None = None
    year: int | None = None
    number_first: bool = False
    article: bool = False
    vague: list[str] = field(default_factory=list)

    @property
    def dated(self) -> bool:
        """Whether anything here tells a day or a period."""
        return bool(self.days) or self.weekday is not None or self.period is not None or self.day_part is not None


class Days(NamedTuple):
    """The days that a side may mean (None: it names none), the rules behind their number, and whether it is broken."""

    options: tuple[date, ...] | None
    rules: tuple[str, ...] = ()
    broken: bool = False


class Times(NamedTuple):
    """The minutes of the day that a side may mean (None: it names none), with the clock they come from."""

    options: tuple[int, ...] | None
    clock: Clock | None = None
    rules: tuple[str, ...] = ()
    broken: bool = False


NO_DAY = Days(None)
NO_TIME = Times(None)


def sort(side: Side) -> Said:
    """The items of a side by kind; a number after "at" is a clock, one after an article is no hour."""
    said = Said()
    for kind, value, after, _, _ in side.items:
        if kind == "number":
            clock = value.hour() if after == "at" else None
            if clock:
                said.clocks.append(clock)
            else:
                said.number_first = said.number_first or not said.dated
                said.article = said.article or after == "article"
                said.numbers.append(replace(value, ordinal=True) if after in ("joiner", "article") else value)
        elif kind == "day_part":
            said.day_part, part = value
            said.parts.append(part)
        elif kind == "vague":
            said.vague.append(value.rule)
        elif kind in _LISTED:
            getattr(said, "clocks" if kind == "loose" and after == "at" else _LISTED[kind]).append(value)
        else:
            setattr(said, kind, value)
    return said


_LISTED = {"day": "days", "clock": "clocks", "loose": "loose", "part": "parts"}


def changed(said: Said, **changes: Any) -> Said:
    """A copy of `said` with some fields changed."""
    return Said(**{name: changes.get(name, getattr(said, name)) for name in Said.__slots__})


# ── Days ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def days_said(said: Said, today: date) -> Days:
    """The days on which everything that a side says of its day holds."""
    found = [day.dates(today) for day in said.days]
    if said.day_part is not None:
        found.append(Shifted(Span(days=said.day_part)).dates(today))
    if not found:
        return _weekday_alone(said, today)
    options = [day for day in found[0].options if all(day in other.options for other in found[1:])]
    rules = tuple(rule for dates in found if (rule := dates.rule))
    if not options:
        named = tuple(day for dates in found for day in dates.options)
        return Days(named, rules or ("days_disagree",), True)
    if said.period is not None:
        stretches = said.period.stretches(today)
        inside = [day for day in options if any(first <= day <= last for first, last in stretches)]
        if not inside:
            return Days(tuple(options), (*rules, "days_disagree"), True)
        options = inside
    if said.weekday is not None:
        named = tuple(options)
        options = [day for day in options if day.weekday() == said.weekday]
        if not options:
            return Days(named, (*rules, "weekday_contradicts_date"), True)
    keep = rules if len(options) > 1 else tuple(rule for rule in rules if rule in ALWAYS_ASK)
    return Days(tuple(options), keep)


def _weekday_alone(said: Said, today: date) -> Days:
    if said.weekday is None:
        return NO_DAY
    if said.period is None:
        options, rule = Weekday(said.weekday).dates(today)
        return Days(options, (rule,) if rule else ())
    options = days_of(said.period, said.weekday, today)
    return Days(options[:5], ("which_week",) if len(options) > 1 else ())


# ── Times of day ─────────────────────────────────────────────────────────────────────────────────────────────────────


def clock_time(minutes: int) -> time:
    """The time of day so many minutes after midnight."""
    return time(minutes // 60 % 24, minutes % 60)


def in_part(clock: Clock, parts: Sequence[Part]) -> Times:
    """The readings of a clock that lie in the parts of the day said with it."""
    options = clock.options()
    inside = tuple(minutes for minutes in options if all(part.holds(minutes) for part in parts))
    rules = (clock.rule,) if clock.rule else ()
    if not inside:
        return Times(options, clock, (*rules, "part_contradicts_time"), True)
    early = clock.form == "bare" and any(minutes < 60 for minutes in inside)
    if (parts and early) or any(part.first > part.last and m <= part.last for part in parts for m in inside):
        rules = (*rules, "past_midnight")
    said = Clock(inside[0], "said", clock.rule) if parts and len(inside) == 1 else clock
    return Times(inside, said, rules or (("bare_hour",) if len(inside) > 1 else ()))


def is_open(day: date | None, at: time, hours: OfficeHours) -> bool:
    """Whether the office is open then; without a day, whether it ever is at that time."""
    names = WEEKDAYS if day is None else (WEEKDAYS[day.weekday()],)
    spans = (span for name in names for span in hours.get(name, ()))
    return any(opens <= at and (at <= closes or closes <= opens) for opens, closes in spans)


def clock_change(day: date | None, at: time | None, zone: ZoneInfo) -> str:
    """The rule that a minute breaks which the zone's clocks skip or show twice."""
    if day is None or at is None:
        return ""
    wall = datetime.combine(day, at, zone)
    early, late = wall.utcoffset(), wall.replace(fold=1).utcoffset()
    if early == late or early is None or late is None:
        return ""
    return "no_such_minute" if early < late else "minute_occurs_twice"
