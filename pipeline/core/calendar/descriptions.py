"""Descriptions: what words say of a day, a period or a time of day, before anybody asks which one it is.

A description does not know the day on which it was said. Asked with `dates(today)` or `stretches(today)` it answers
with *every* day or stretch that it may stand for, earliest first, together with the rule that made them more or fewer
than one. Whoever asks must not choose: more than one is a question for the customer.

Conventions, all of them open on purpose: a week may begin on Monday or on Sunday; "next" may mean the nearest or the
one of next week; a day without a year is the coming one, and also the last one if that went by within five weeks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Set
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Literal, NamedTuple, Protocol

RECENT = timedelta(days=35)
"""How long a day that went by stays a reading of its date without a year."""

HALF_DAY = 12 * 60
DAY = 24 * 60
"""Minutes."""

_WEEK_STARTS = (0, 6)


# ── Answers ──────────────────────────────────────────────────────────────────────────────────────────────────────────


class Dates(NamedTuple):
    """The days that a description may stand for, and the rule that made them more or fewer than one."""

    options: tuple[date, ...]
    rule: str = ""


Stretch = tuple[date, date]
"""First and last day."""


class Day(Protocol):
    """A description of a day."""

    def dates(self, today: date) -> Dates:
        """Every day that it may stand for, said on `today`."""
        ...


class Period(Protocol):
    """A description of a week, a month or a year."""

    def stretches(self, today: date) -> tuple[Stretch, ...]:
        """Every stretch that it may stand for, said on `today`."""
        ...

    def value(self, today: date) -> tuple[tuple[Stretch, ...], str]:
        """The stretches to answer with where the period itself is what was said, and the rule if there are several."""
        ...


# ── Times of day ─────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Clock:
    """A time of day as said: minutes since midnight, and how sure the half of the day is.

    `bare` on a twelve-hour dial without am or pm; `dial24` on a twenty-four-hour dial (15:00, 09:30, 8 h); `said` with
    its half named (3 pm, noon). `rule` names a reason to ask whatever else is known, `written` tells 3:30 from "three".
    """

    minutes: int
    form: Literal["bare", "dial24", "said"] = "bare"
    rule: str = ""
    written: bool = False

    def options(self) -> tuple[int, ...]:
        """The minutes of the day that it may stand for."""
        if self.form != "bare":
            return (self.minutes,)
        return (self.minutes % HALF_DAY, self.minutes % HALF_DAY + HALF_DAY)


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the day: the minutes from `first` to `last`, over midnight where `last` is smaller."""

    first: int
    last: int

    def holds(self, minutes: int) -> bool:
        """Whether that minute of the day belongs to this part."""
        if self.first <= self.last:
            return self.first <= minutes <= self.last
        return minutes >= self.first or minutes <= self.last


# ── Descriptions of days ─────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Span:
    """A length of time: months, days and minutes are kept apart, since only the calendar can add them up."""

    months: int = 0
    days: int = 0
    minutes: int = 0

    def plus(self, other: Span) -> Span:
        """Both together."""
        return Span(self.months + other.months, self.days + other.days, self.minutes + other.minutes)

    def times(self, sign: int) -> Span:
        """The same length, forwards or backwards."""
        return Span(sign * self.months, sign * self.days, sign * self.minutes)


@dataclass(frozen=True, slots=True)
class Shifted:
    """A day so many months and days from another one (from today, if `base` is None)."""

    span: Span
    base: Day | None = None

    def dates(self, today: date) -> Dates:
        base = self.base.dates(today) if self.base else Dates((today,))
        moved = [_shift(day, self.span) for day in base.options]
        options = tuple(day for day in moved if day is not None)
        return Dates(options, base.rule if len(options) == len(moved) else "no_such_day")


@dataclass(frozen=True, slots=True)
class Weekday:
    """A weekday, as people pick one out of the coming ones."""

    weekday: int
    which: Literal["coming", "after_today", "this", "next", "last"] = "coming"

    def dates(self, today: date) -> Dates:
        ahead = (self.weekday - today.weekday()) % 7
        nearest = today + timedelta(days=ahead or 7)
        if self.which == "after_today":
            return Dates((nearest,))
        if self.which == "coming":
            return Dates((nearest,)) if ahead else Dates((today, nearest), "weekday_is_today")
        if self.which == "this":
            return self._this(today, nearest)
        return self._next(today, nearest) if self.which == "next" else self._last(today)

    def _this(self, today: date, nearest: date) -> Dates:
        if self.weekday == today.weekday():
            return Dates((today, nearest), "weekday_is_today")
        in_week = _week(today, 0)[0] + timedelta(days=self.weekday)
        return _dates({nearest, in_week}, "this_weekday")

    def _next(self, today: date, nearest: date) -> Dates:
        return _dates({nearest, *_weekday_of_week(today, 1, self.weekday)}, "next_weekday")

    def _last(self, today: date) -> Dates:
        nearest = today - timedelta(days=(today.weekday() - self.weekday) % 7 or 7)
        return _dates({nearest, *_weekday_of_week(today, -1, self.weekday)}, "last_weekday")


class YearMonthDay(NamedTuple):
    """A written date; what is None was not written. `order` names the order that numbers were read in."""

    year: int | None
    month: int | None
    day: int
    order: str = ""


@dataclass(frozen=True, slots=True)
class Written:
    """A date as calendars write it: the 20th, 20 August, 9/10. `readings` are the orders that the numbers allow;
    `ahead` moves the year (this year: 0, next year: 1); `rule` names a reason to ask whatever else is known."""

    readings: tuple[YearMonthDay, ...]
    ahead: int | None = None
    rule: str = ""

    def dates(self, today: date) -> Dates:
        options: list[date] = []
        rule = self.rule
        for reading in self.readings:
            found = _written(reading, self.ahead, today)
            options += [day for day in found.options if day not in options]
            rule = rule or found.rule
        return Dates(tuple(options), rule or ("number_order" if len(options) > 1 else ""))

    def within(self, month: int | None, year: int | None) -> Written | None:
        """The same date with month and year filled in from a neighbour, where they were left out."""
        filled = tuple(
            YearMonthDay(r.year or year, r.month or month, r.day, r.order)
            for r in self.readings
            if r.month or not month or possible(r.year or year, month, r.day)
        )
        return Written(filled, self.ahead, self.rule) if filled else None

    def in_orders(self, orders: Set[str]) -> Written:
        """The same date with its numbers read in one of these orders alone."""
        return Written(tuple(r for r in self.readings if r.order in orders), self.ahead, self.rule)


@dataclass(frozen=True, slots=True)
class OrdinalWeekday:
    """The n-th weekday of a month, from its end where n is negative."""

    ordinal: int
    weekday: int
    month: NamedMonth | RelativeMonth

    def dates(self, today: date) -> Dates:
        return _natural(self.month, self._in, today)

    def _in(self, first: date, last: date) -> date | None:
        if self.ordinal > 0:
            day = first + timedelta(days=(self.weekday - first.weekday()) % 7 + 7 * (self.ordinal - 1))
        else:
            day = last - timedelta(days=(last.weekday() - self.weekday) % 7 + 7 * (-self.ordinal - 1))
        return day if first <= day <= last else None


@dataclass(frozen=True, slots=True)
class OrdinalDay:
    """The n-th day of a month, from its end where n is negative."""

    ordinal: int
    month: NamedMonth | RelativeMonth

    def dates(self, today: date) -> Dates:
        return _natural(self.month, self._in, today)

    def _in(self, first: date, last: date) -> date | None:
        day = first + timedelta(days=self.ordinal - 1) if self.ordinal > 0 else last + timedelta(days=self.ordinal + 1)
        return day if first <= day <= last else None


def _natural(month: NamedMonth | RelativeMonth, pick: Callable[[date, date], date | None], today: date) -> Dates:
    """One day of a month; where several years have the month, the coming day, and the last one while it is recent."""
    options = tuple(day for first, last in month.stretches(today) if (day := pick(first, last)))
    if not (isinstance(month, NamedMonth) and month.year is None and month.ahead is None):
        return Dates(options, "" if options else "no_such_day")
    coming = tuple(day for day in options if day >= today)[:1]
    recent = tuple(day for day in options if today - RECENT <= day < today)
    return Dates(recent + coming, "recently_past" if recent else "" if coming else "no_such_day")


@dataclass(frozen=True, slots=True)
class DayOfMonth:
    """The n-th of this month (0), of next month (1) ..."""

    day: int
    ahead: int

    def dates(self, today: date) -> Dates:
        days = (
            day_or_none(first.year, first.month, self.day) for first, _ in RelativeMonth(self.ahead).stretches(today)
        )
        options = tuple(day for day in days if day)
        return Dates(options, "" if options else "no_such_day")


# ── Descriptions of periods ──────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class RelativeWeek:
    """This week (0), next week (1), last week (-1); `starts` are the weekdays that it may begin on."""

    ahead: int
    starts: tuple[int, ...] = _WEEK_STARTS

    def stretches(self, today: date) -> tuple[Stretch, ...]:
        return tuple(_week(today + timedelta(days=7 * self.ahead), start) for start in self.starts)

    def value(self, today: date) -> tuple[tuple[Stretch, ...], str]:
        stretches = self.stretches(today)
        return (stretches, "week_start") if _sunday(today) and len(stretches) > 1 else (stretches[:1], "")


@dataclass(frozen=True, slots=True)
class WeekOf:
    """The week that holds a day."""

    day: Day

    def stretches(self, today: date) -> tuple[Stretch, ...]:
        return tuple(_week(day, start) for day in self.day.dates(today).options for start in _WEEK_STARTS)

    def value(self, today: date) -> tuple[tuple[Stretch, ...], str]:
        found = self.day.dates(today)
        weeks = tuple(_week(day, start) for day in found.options for start in (_WEEK_STARTS if _sunday(day) else (0,)))
        return weeks, found.rule or ("week_start" if len(weeks) > 1 else "")


@dataclass(frozen=True, slots=True)
class RelativeMonth:
    """This month (0), next month (1), last month (-1)."""

    ahead: int

    def stretches(self, today: date) -> tuple[Stretch, ...]:
        years, month = divmod(today.month - 1 + self.ahead, 12)
        found = _month(today.year + years, month + 1)
        return (found,) if found else ()

    def value(self, today: date) -> tuple[tuple[Stretch, ...], str]:
        return self.stretches(today), ""


@dataclass(frozen=True, slots=True)
class NamedMonth:
    """A month by name, with or without its year; `ahead` moves the year (this year: 0)."""

    month: int
    year: int | None = None
    ahead: int | None = None

    def stretches(self, today: date) -> tuple[Stretch, ...]:
        years = (today.year - 1, today.year, today.year + 1) if self.year is None else (self.year,)
        if self.ahead is not None:
            years = (today.year + self.ahead,)
        return tuple(found for year in years if (found := _month(year, self.month)))

    def value(self, today: date) -> tuple[tuple[Stretch, ...], str]:
        stretches = self.stretches(today)
        if self.year is not None or self.ahead is not None:
            return stretches, ""
        coming = tuple(s for s in stretches if s[1] >= today)[:1]
        recent = tuple(s for s in stretches if today - RECENT <= s[1] < today)
        return recent + coming, "recently_past" if recent else ""


@dataclass(frozen=True, slots=True)
class RelativeYear:
    """This year (0), next year (1), last year (-1)."""

    ahead: int

    def stretches(self, today: date) -> tuple[Stretch, ...]:
        year = today.year + self.ahead
        return ((date(year, 1, 1), date(year, 12, 31)),) if 1 <= year <= 9999 else ()

    def value(self, today: date) -> tuple[tuple[Stretch, ...], str]:
        return self.stretches(today), ""


@dataclass(frozen=True, slots=True)
class Instant:
    """A moment so long from the moment of speaking."""

    span: Span


@dataclass(frozen=True, slots=True)
class Number:
    """A number by itself: an hour or a day of the month, as its neighbours have it."""

    value: int
    digits: bool
    lead: bool = False
    ordinal: bool = False

    def hour(self) -> Clock | None:
        """It as an hour."""
        if self.ordinal or not 0 <= self.value <= 23:
            return None
        return Clock(self.value * 60, "dial24" if self.lead or not 1 <= self.value <= 12 else "bare")


@dataclass(frozen=True, slots=True)
class Vague:
    """Words that name no single day or time whatever stands around them."""

    rule: str


# ── Calendar arithmetic ──────────────────────────────────────────────────────────────────────────────────────────────


def days_of(period: Period, weekday: int, today: date) -> tuple[date, ...]:
    """The days with that weekday in any stretch of the period, in order."""
    days: set[date] = set()
    for first, last in period.stretches(today):
        day = first + timedelta(days=(weekday - first.weekday()) % 7)
        while day <= last:
            days.add(day)
            day += timedelta(days=7)
    return tuple(sorted(days))


def _dates(days: Iterable[date], rule: str) -> Dates:
    options = tuple(sorted(set(days)))
    return Dates(options, rule if len(options) > 1 else "")


def _week(day: date, start: int) -> Stretch:
    first = day - timedelta(days=(day.weekday() - start) % 7)
    return first, first + timedelta(days=6)


def _weekday_of_week(today: date, ahead: int, weekday: int) -> tuple[date, ...]:
    return days_of(RelativeWeek(ahead), weekday, today)


def _sunday(day: date) -> bool:
    return day.weekday() == 6


def _month(year: int, month: int) -> Stretch | None:
    if not 1 <= year <= 9998:
        return None
    return date(year, month, 1), date(year, month, days_in(year, month))


def day_or_none(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None


def _shift(day: date, span: Span) -> date | None:
    """`day` moved by months (to the same day of the month, if there is one) and days."""
    years, month = divmod(day.month - 1 + span.months, 12)
    moved = day_or_none(day.year + years, month + 1, day.day) if 1 <= day.year + years <= 9999 else None
    try:
        return moved and moved + timedelta(days=span.days)
    except OverflowError:
        return None


def days_in(year: int, month: int) -> int:
    """How many days that month has."""
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    return 28 + leap if month == 2 else 30 if month in (4, 6, 9, 11) else 31


def possible(year: int | None, month: int | None, day: int) -> bool:
    """Whether any such date exists."""
    if month is None:
        return 1 <= day <= 31
    return 1 <= month <= 12 and 1 <= day <= days_in(year or 2000, month)


def _written(reading: YearMonthDay, ahead: int | None, today: date) -> Dates:
    year, month, number, _ = reading
    if month is None:
        return _day_of_month(number, today)
    if ahead is not None:
        year = today.year + ahead
    if year is not None:
        day = day_or_none(year, month, number)
        return Dates((day,)) if day else Dates((), "no_such_day")
    later = (month, number) >= (today.month, today.day)
    coming = day_or_none(today.year if later else today.year + 1, month, number)
    before = day_or_none(today.year - 1 if later else today.year, month, number)
    if before and today - before <= RECENT:
        return Dates((before, coming) if coming else (before,), "recently_past")
    return Dates((coming,)) if coming else Dates((), "no_such_day")


def _day_of_month(number: int, today: date) -> Dates:
    years, month = divmod(today.month - 1 + (number < today.day), 12)
    day = day_or_none(today.year + years, month + 1, number)
    return Dates((day,)) if day else Dates((), "no_such_day")
