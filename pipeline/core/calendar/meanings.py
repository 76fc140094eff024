"""What phrases mean: the closed list of meanings that a phrase book may name.

A meaning turns the values of its slots into one description, or into None where the words make no sense together (an
hour of 60, a month of 14). The registry at the end is what phrase books are checked against: word tables, with the
reader of their keys, and phrase tables, with their meanings and the slots that each needs.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import time
from typing import Any, NamedTuple

from pipeline.core.calendar.descriptions import (
    DAY,
    HALF_DAY,
    Clock,
    Day,
    DayOfMonth,
    Instant,
    NamedMonth,
    Number,
    OrdinalDay,
    OrdinalWeekday,
    Part,
    RelativeMonth,
    RelativeWeek,
    RelativeYear,
    Shifted,
    Span,
    Vague,
    Weekday,
    WeekOf,
    Written,
    YearMonthDay,
    possible,
)
from pipeline.core.calendar.tokens import Token

YEARS = range(1900, 2101)
"""What four digits must be to count as a year."""


class Meaning(NamedTuple):
    """A meaning: the function, and the names of its slots in order ("year?" may be left out)."""

    read: Callable[..., Any]
    slots: tuple[str, ...]


# ── Meanings: numbers ────────────────────────────────────────────────────────────────────────────────────────────────


def _value(value: Any) -> Any:
    return value


def _token(token: Token) -> int:
    return token.value


def _one() -> int:
    return 1


def _year_digits(digits: Token) -> int | None:
    return digits.value if digits.value in YEARS else None


def _year_short(digits: Token) -> int:
    return digits.value + (2000 if digits.value < 70 else 1900)


def _year_words(rest: int | None) -> int | None:
    return 2000 + (rest or 0) if rest is None or 0 < rest < 100 else None


def _year_pair(rest: int) -> int | None:
    return 2000 + rest if 10 <= rest < 100 else None


def _last_century(rest: int) -> int | None:
    return 1900 + rest if 10 <= rest < 100 else None


def _month_day(number: int | Token) -> int | None:
    value = number.value if isinstance(number, Token) else number
    return value if 1 <= value <= 31 else None


# ── Meanings: times of day ───────────────────────────────────────────────────────────────────────────────────────────


def _hour(digits: Token | None, number: int | None) -> Clock | None:
    return (Number(digits.value, True, digits.lead) if digits else Number(number or 0, False)).hour()


def _hour_minute(hour: Clock, minute: int) -> Clock | None:
    return Clock(hour.minutes + minute, hour.form) if hour.minutes % 60 == 0 and 10 <= minute < 60 else None


def _hour_apart(hour: Token, minute: Token) -> Clock | None:
    """Digits with a space between them are a clock only at the quarters: "3 30 pm"."""
    return _dotted(hour, minute) if minute.value in (0, 15, 30, 45) else None


def _hour_few(hour: Clock, minute: int) -> Clock | None:
    return Clock(hour.minutes + minute, hour.form) if hour.minutes % 60 == 0 and 0 < minute < 10 else None


def _written_clock(clock: Token) -> Clock:
    bare = 60 <= clock.value < 13 * 60 and not clock.lead
    return Clock(clock.value, "bare" if bare else "dial24", written=True)


def _on_dial24(clock: Token) -> Clock:
    return Clock(clock.value, "dial24", written=True)


def _dotted(hour: Token, minute: Token) -> Clock | None:
    if hour.value > 23 or minute.value > 59:
        return None
    bare = 1 <= hour.value <= 12 and not hour.lead
    return Clock(hour.value * 60 + minute.value, "bare" if bare else "dial24", written=True)


def _dotted_24(hour: Token, minute: Token) -> Clock | None:
    found = _dotted(hour, minute)
    return Clock(found.minutes, "dial24", written=True) if found else None


def _dotted_late(hour: Token, minute: Token) -> Clock | None:
    return _dotted(hour, minute) if hour.value > 12 else None


def _run_together(digits: Token) -> Clock | None:
    hour, minute = divmod(digits.value, 100)
    if hour > 23 or minute > 59:
        return None
    return Clock(hour * 60 + minute, "bare" if 1 <= hour <= 12 else "dial24")


def _run_together_24(digits: Token) -> Clock | None:
    found = _run_together(digits)
    return Clock(found.minutes, "dial24") if found else None


def _one_oclock() -> Clock:
    return Clock(60)


def _dial24(hour: Clock, minute: int | None) -> Clock | None:
    if hour.minutes % 60 or not 0 <= (minute or 0) < 60:
        return None
    return Clock(hour.minutes + (minute or 0), "dial24")


_SPOKEN_MINUTES = (5, 10, 15, 20, 25)
"""Minutes before the hour that go without the word "minutes": "10 to 3" is a clock, "2 to 4" is a range."""


def _spelled(hour: Clock, zero: Token, minute: Token) -> Clock | None:
    return None if zero.value else _hour_few(hour, minute.value)


def _past(hour: Clock, minute: int) -> Clock | None:
    return _turn(hour, minute) if 0 < minute < 60 else None


def _to(hour: Clock, minute: int) -> Clock | None:
    return _turn(hour, -minute) if minute in _SPOKEN_MINUTES else None


def _digits_to(hour: Clock, minute: Token) -> Clock | None:
    return _to(hour, minute.value) if minute.value > 12 else None


def _minutes_to(hour: Clock, minute: int) -> Clock | None:
    return _turn(hour, -minute) if 0 < minute < 60 else None


def _half_past(hour: Clock) -> Clock | None:
    return _turn(hour, 30)


def _quarter_past(hour: Clock) -> Clock | None:
    return _turn(hour, 15)


def _quarter_to(hour: Clock) -> Clock | None:
    return _turn(hour, -15)


def _three_quarters_past(hour: Clock) -> Clock | None:
    return _turn(hour, 45)


def _turn(hour: Clock, minutes: int) -> Clock | None:
    """A whole hour moved by some minutes; a bare one stays on its dial."""
    if hour.minutes % 60:
        return None
    if hour.form == "bare":
        turned = (hour.minutes + minutes) % HALF_DAY
        return Clock(turned or HALF_DAY, "bare", "over_noon" if minutes < 0 and hour.minutes == HALF_DAY else "")
    return Clock((hour.minutes + minutes) % DAY, hour.form, hour.rule)


def _noon() -> Clock:
    return Clock(HALF_DAY, "said")


def _twelve_noon(hour: Clock) -> Clock | None:
    return _noon() if hour == Clock(HALF_DAY) else None


def _halved(clock: Clock, half: int) -> Clock | None:
    """A clock with am (0) or pm (720). What is left open: 12 am, which many write for noon."""
    if clock.form == "said":
        return None
    if clock.form == "dial24" and not 60 <= clock.minutes < 13 * 60:
        return Clock(clock.minutes, "said") if (clock.minutes >= HALF_DAY) == bool(half) else None
    minutes = clock.minutes % HALF_DAY + half
    return Clock(minutes, "said", clock.rule or ("twelve_am" if minutes < 60 else ""))


# ── Meanings: lengths ────────────────────────────────────────────────────────────────────────────────────────────────

_UNITS = {
    "minute": Span(minutes=1),
    "hour": Span(minutes=60),
    "day": Span(days=1),
    "week": Span(days=7),
    "fortnight": Span(days=14),
    "month": Span(months=1),
    "year": Span(months=12),
}


def _units(n: int, unit: Span) -> Span | None:
    return None if n < 1 else Span(n * unit.months, n * unit.days, n * unit.minutes)


def _half_more(n: int, unit: Span) -> Span | None:
    return Span(minutes=n * unit.minutes + unit.minutes // 2) if unit.minutes == 60 else None


def _half_hour() -> Span:
    return Span(minutes=30)


def _quarter_hour() -> Span:
    return Span(minutes=15)


def _hour_parts(part: Token, whole: Token) -> Span | None:
    """A half or some quarters of an hour, in digits."""
    known = whole.value in (2, 4) and 0 < part.value < whole.value
    return Span(minutes=60 * part.value // whole.value) if known else None


def _hour_and_half() -> Span:
    return Span(minutes=90)


def _three_quarter_hour() -> Span:
    return Span(minutes=45)


def _sum(first: Span, second: Span, third: Span | None) -> Span:
    total = first.plus(second)
    return total.plus(third) if third else total


# ── Meanings: days ───────────────────────────────────────────────────────────────────────────────────────────────────


def _relative_day(days: int) -> Shifted:
    return Shifted(Span(days=days))


def _now() -> Instant:
    return Instant(Span())


def _from_now(span: Span) -> Shifted | Instant | None:
    return Instant(span) if span.minutes else Shifted(span)


def _ago(span: Span) -> Shifted | Instant | None:
    return _from_now(span.times(-1))


def _after(span: Span, day: Day) -> Shifted | None:
    return None if span.minutes else Shifted(span, day)


def _before(span: Span, day: Day) -> Shifted | None:
    return None if span.minutes else Shifted(span.times(-1), day)


_COUNTED_WITH_TODAY = {8: 7, 15: 14}
"""Days that some languages count with today among them: "eight days" is a week, "fifteen" are two."""


def _counting_today(length: Span) -> Shifted | None:
    days = _COUNTED_WITH_TODAY.get(length.days)
    return Shifted(Span(days=days)) if days and length == Span(days=length.days) else None


def _ago_counting_today(length: Span) -> Shifted | None:
    found = _counting_today(length)
    return Shifted(found.span.times(-1)) if found else None


def _day_after(day: Day) -> Shifted:
    return Shifted(Span(days=1), day)


def _day_before(day: Day) -> Shifted:
    return Shifted(Span(days=-1), day)


def _week_after(day: Day) -> Shifted:
    return Shifted(Span(days=7), day)


def _month_end() -> OrdinalDay:
    return OrdinalDay(-1, RelativeMonth(0))


def _weeks_counted(n: int, day: Day) -> Shifted | None:
    days = _COUNTED_WITH_TODAY.get(n)
    return Shifted(Span(days=days), day) if days else None


def _coming(weekday: int) -> Weekday:
    return Weekday(weekday)


def _after_today(weekday: int) -> Weekday:
    return Weekday(weekday, "after_today")


def _this(weekday: int) -> Weekday:
    return Weekday(weekday, "this")


def _next(weekday: int) -> Weekday:
    return Weekday(weekday, "next")


def _last(weekday: int) -> Weekday:
    return Weekday(weekday, "last")


def _date(day: int | Token, month: int | Token | None, year: int | None) -> Written | None:
    number = day if isinstance(day, int) else day.value
    named = month.value if isinstance(month, Token) else month
    # a 31st of September is said, though it does not exist: that is a contradiction, not nothing
    said = isinstance(month, int) and 1 <= number <= 31
    return Written((YearMonthDay(year, named, number),)) if said or possible(year or 2000, named, number) else None


def _date_any_year(day: int, month: int, ahead: int) -> Written | None:
    return Written((YearMonthDay(None, month, day),), ahead) if possible(2000, month, day) else None


def _numbers(first: Token, second: Token, year: int | None) -> Written | None:
    """Two numbers in an order that only their size may tell."""
    orders = (
        YearMonthDay(year, first.value, second.value, "mdy"),
        YearMonthDay(year, second.value, first.value, "dmy"),
    )
    readings = tuple(r for r in orders if possible(r.year, r.month, r.day) or possible(2000, r.month, r.day))
    if len(readings) == 2 and first.value == second.value:
        readings = readings[:1]
    return Written(readings) if readings else None


def _iso(year: int, month: Token, day: Token) -> Written | None:
    """Year first, with dashes: the order is a standard, and what does not fit it is a mistake, not another order."""
    if possible(year, month.value, day.value):
        return Written((YearMonthDay(year, month.value, day.value),))
    swapped = _year_first(year, month, day)
    return Written(swapped.readings, rule="year_day_month") if swapped else None


def _year_first(year: int, first: Token, second: Token) -> Written | None:
    """Year first, with other signs: month and day as far as their size allows, in the usual order if it allows both."""
    for month, day in ((first.value, second.value), (second.value, first.value)):
        if possible(year, month, day):
            return Written((YearMonthDay(year, month, day),))
    return None


def _compact(digits: Token) -> Written | None:
    year, rest = divmod(digits.value, 10000)
    return _date(rest % 100, rest // 100, year) if year in YEARS and rest // 100 and rest % 100 else None


def _doubtful(first: Token, second: Token) -> Written | None:
    """Two numbers with a sign between them that may be a date, a price or a score."""
    found = _numbers(first, second, None)
    return Written(found.readings, rule="maybe_no_date") if found else None


def _ordinal_weekday(ordinal: int, weekday: int, month: NamedMonth | RelativeMonth) -> OrdinalWeekday | None:
    return OrdinalWeekday(ordinal, weekday, month) if -1 <= ordinal <= 5 else None


def _ordinal_weekday_now(ordinal: int, weekday: int) -> OrdinalWeekday | None:
    return _ordinal_weekday(ordinal, weekday, RelativeMonth(0))


def _first_day(month: NamedMonth | RelativeMonth) -> OrdinalDay:
    return OrdinalDay(1, month)


def _last_day(month: NamedMonth | RelativeMonth) -> OrdinalDay:
    return OrdinalDay(-1, month)


def _last_but(ordinal: int, month: NamedMonth | RelativeMonth) -> OrdinalDay:
    return OrdinalDay(-ordinal, month)


def _day_of_relative_month(day: int, ahead: int) -> Day:
    return DayOfMonth(day, ahead)


# ── Meanings: periods ────────────────────────────────────────────────────────────────────────────────────────────────


def _week(ahead: int) -> RelativeWeek:
    return RelativeWeek(ahead)


def _week_from_monday(ahead: int) -> RelativeWeek:
    return RelativeWeek(ahead, (0,))


def _week_of(day: Day) -> WeekOf:
    return WeekOf(day)


def _week_of_number(day: int) -> WeekOf:
    return WeekOf(Written((YearMonthDay(None, None, day),)))


def _month_of_year(month: int, year: int | None) -> NamedMonth:
    return NamedMonth(month, year)


def _month_of_relative_year(month: int, ahead: int) -> NamedMonth:
    return NamedMonth(month, None, ahead)


def _month_of_numbered_year(ordinal: int, year: int) -> NamedMonth | None:
    return NamedMonth(ordinal, None, year) if 1 <= ordinal <= 12 else None


def _numbered_month(month: Token, year: int) -> NamedMonth | None:
    return NamedMonth(month.value, year) if 1 <= month.value <= 12 else None


# ── Meanings: items ──────────────────────────────────────────────────────────────────────────────────────────────────


def _item(kind: str) -> Meaning:
    return Meaning(lambda value: (kind, value), ("value",))


def _digits_item(digits: Token) -> tuple[str, Number]:
    return "number", Number(digits.value, True, digits.lead)


def _number_item(number: int) -> tuple[str, Number]:
    return "number", Number(number, False)


def _ordinal_item(number: int | Token) -> tuple[str, Number]:
    return "number", Number(number if isinstance(number, int) else number.value, False, ordinal=True)


# ── The registry ─────────────────────────────────────────────────────────────────────────────────────────────────────


def _window(key: str) -> Part:
    first, _, last = key.partition("-")
    return Part(_minutes(first), _minutes(last))


def _minutes(written: str) -> int:
    at = time.fromisoformat(written)
    return at.hour * 60 + at.minute


def _day_window(key: str) -> tuple[int, Part]:
    days, _, window = key.partition(" ")
    return int(days), _window(window)


def _one_of(*names: str) -> Callable[[str], int]:
    return names.index


def _yearly(key: str) -> Written | OrdinalWeekday:
    """A feast: "12-25", or "11 4 thu" for the fourth Thursday of November."""
    if " " in key:
        month, ordinal, weekday = key.split()
        return OrdinalWeekday(int(ordinal), WEEKDAYS.index(weekday), NamedMonth(int(month)))
    month, day = key.split("-")
    return Written((YearMonthDay(None, int(month), int(day)),))


WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")

WORDS: dict[str, Callable[[str], Any]] = {
    "weekday": _one_of(*WEEKDAYS),
    "month": int,
    "number": int,
    "ordinal": int,
    "place": int,
    "half": {"am": 0, "pm": HALF_DAY}.__getitem__,
    "am_letter": {"am": 0}.__getitem__,
    "pm_letter": {"pm": HALF_DAY}.__getitem__,
    "part": _window,
    "relative_day": int,
    "relative_week": int,
    "relative_month": int,
    "relative_year": int,
    "day_part": _day_window,
    "feast": _yearly,
    "unit": _UNITS.__getitem__,
    "vague": Vague,
    "link": str,
}
"""Tables that give words a value, with the reader of their keys."""

_CLOCKS = {
    "plain": Meaning(_value, ("clock",)),
    "halved": Meaning(_halved, ("clock", "half")),
    "written": Meaning(_written_clock, ("clock",)),
    "on_dial24": Meaning(_on_dial24, ("clock",)),
    "dotted": Meaning(_dotted, ("hour", "minute")),
    "dotted_24": Meaning(_dotted_24, ("hour", "minute")),
    "dotted_late": Meaning(_dotted_late, ("hour", "minute")),
    "run_together": Meaning(_run_together, ("digits",)),
    "run_together_24": Meaning(_run_together_24, ("digits",)),
    "one": Meaning(_one_oclock, ()),
    "dial24": Meaning(_dial24, ("hour", "minute?")),
    "hour_minute": Meaning(_hour_minute, ("hour", "minute")),
    "hour_apart": Meaning(_hour_apart, ("hour", "minute")),
    "hour_few": Meaning(_hour_few, ("hour", "minute")),
    "spelled": Meaning(_spelled, ("hour", "zero", "minute")),
    "past": Meaning(_past, ("hour", "minute")),
    "to": Meaning(_to, ("hour", "minute")),
    "digits_to": Meaning(_digits_to, ("hour", "minute")),
    "minutes_to": Meaning(_minutes_to, ("hour", "minute")),
    "half_past": Meaning(_half_past, ("hour",)),
    "quarter_past": Meaning(_quarter_past, ("hour",)),
    "quarter_to": Meaning(_quarter_to, ("hour",)),
    "three_quarters_past": Meaning(_three_quarters_past, ("hour",)),
    "noon": Meaning(_noon, ()),
    "twelve_noon": Meaning(_twelve_noon, ("hour",)),
}

_DAYS = {
    "relative": Meaning(_relative_day, ("days",)),
    "coming": Meaning(_coming, ("weekday",)),
    "after_today": Meaning(_after_today, ("weekday",)),
    "this": Meaning(_this, ("weekday",)),
    "next": Meaning(_next, ("weekday",)),
    "last": Meaning(_last, ("weekday",)),
    "plain": Meaning(_value, ("day",)),
    "now": Meaning(_now, ()),
    "ordinal_weekday": Meaning(_ordinal_weekday, ("ordinal", "weekday", "month")),
    "ordinal_weekday_now": Meaning(_ordinal_weekday_now, ("ordinal", "weekday")),
    "first_day": Meaning(_first_day, ("month",)),
    "last_day": Meaning(_last_day, ("month",)),
    "last_but": Meaning(_last_but, ("ordinal", "month")),
    "of_relative_month": Meaning(_day_of_relative_month, ("day", "month")),
    "from_now": Meaning(_from_now, ("length",)),
    "ago": Meaning(_ago, ("length",)),
    "after": Meaning(_after, ("length", "day")),
    "before": Meaning(_before, ("length", "day")),
    "counting_today": Meaning(_counting_today, ("length",)),
    "ago_counting_today": Meaning(_ago_counting_today, ("length",)),
    "day_after": Meaning(_day_after, ("day",)),
    "day_before": Meaning(_day_before, ("day",)),
    "week_after": Meaning(_week_after, ("day",)),
    "month_end": Meaning(_month_end, ()),
    "weeks_counted": Meaning(_weeks_counted, ("n", "day")),
}

PHRASES: dict[str, dict[str, Meaning]] = {
    "count": {"one": Meaning(_one, ()), "number": Meaning(_value, ("number",)), "digits": Meaning(_token, ("digits",))},
    "minute": {"number": Meaning(_value, ("number",)), "digits": Meaning(_token, ("digits",))},
    "hour": {
        "hour": Meaning(_hour, ("digits?", "number?")),
        "noon": Meaning(_noon, ()),
        "one": Meaning(_one_oclock, ()),
    },
    "spoken_hour": {"hour": Meaning(_hour, ("digits?", "number?"))},
    "turned": _CLOCKS,
    "oclock": _CLOCKS,
    "dial": _CLOCKS,
    "loose": _CLOCKS,
    "clock": _CLOCKS,
    "month_day": {"digits": Meaning(_month_day, ("digits",)), "number": Meaning(_month_day, ("number",))},
    "year": {
        "digits": Meaning(_year_digits, ("digits",)),
        "words": Meaning(_year_words, ("rest?",)),
        "pair": Meaning(_year_pair, ("rest",)),
        "last_century": Meaning(_last_century, ("rest",)),
    },
    "short_year": {"digits": Meaning(_year_digits, ("digits",)), "short": Meaning(_year_short, ("digits",))},
    "units": {
        "units": Meaning(_units, ("n", "unit")),
        "half_more": Meaning(_half_more, ("n", "unit")),
        "half_hour": Meaning(_half_hour, ()),
        "quarter_hour": Meaning(_quarter_hour, ()),
        "hour_parts": Meaning(_hour_parts, ("part", "whole")),
        "hour_and_half": Meaning(_hour_and_half, ()),
        "three_quarter_hour": Meaning(_three_quarter_hour, ()),
    },
    "length": {"units": Meaning(_value, ("units",)), "sum": Meaning(_sum, ("first", "second", "third?"))},
    "written": {
        "date": Meaning(_date, ("day", "month?", "year?")),
        "date_of_year": Meaning(_date_any_year, ("day", "month", "ahead")),
        "numbers": Meaning(_numbers, ("first", "second", "year?")),
        "iso": Meaning(_iso, ("year", "month", "day")),
        "year_first": Meaning(_year_first, ("year", "first", "second")),
        "compact": Meaning(_compact, ("digits",)),
        "doubtful": Meaning(_doubtful, ("first", "second")),
    },
    "anchor": _DAYS,
    "near_day": _DAYS,
    "day": _DAYS,
    "some_month": {
        "relative": Meaning(RelativeMonth, ("ahead",)),
        "named": Meaning(_month_of_year, ("month", "year?")),
        "of_relative_year": Meaning(_month_of_relative_year, ("month", "ahead")),
    },
    "period": {
        "week": Meaning(_week, ("ahead",)),
        "week_from_monday": Meaning(_week_from_monday, ("ahead",)),
        "week_of_number": Meaning(_week_of_number, ("day",)),
        "week_of": Meaning(_week_of, ("day",)),
        "month": Meaning(_value, ("month",)),
        "month_of_year": Meaning(_month_of_numbered_year, ("ordinal", "year")),
        "numbered_month": Meaning(_numbered_month, ("month", "year")),
        "year": Meaning(RelativeYear, ("ahead",)),
    },
    "item": {
        **{
            kind: _item(kind)
            for kind in ("day", "weekday", "period", "clock", "loose", "part", "half", "day_part", "year")
        },
        "vague": _item("vague"),
        "digits": Meaning(_digits_item, ("value",)),
        "number": Meaning(_number_item, ("value",)),
        "ordinal": Meaning(_ordinal_item, ("value",)),
    },
}
"""Tables whose keys are meanings, with the slots that each needs."""

LISTS = ("ordinal_suffix", "fused", "unseen", "weak", "company", "counted", "labels", "titles", "articles", "onward")
"""Tables that are plain lists of words."""
