"""Ranges: from one time of day to another, or from one day to another.

The two ends of a range complete each other. An end without a day is on the other one's day; "10 to 22 August" gives its
month to both; a bare hour takes the half of the day that lies nearest to an hour that says its half ("11 to 1 pm"), and
numbers are read in one order at both ends. Nothing is completed where that leaves two ways.
"""

from __future__ import annotations

from datetime import date, datetime, time, timedelta
from typing import Literal
from zoneinfo import ZoneInfo

from pipeline.core.calendar.descriptions import (
    DAY,
    HALF_DAY,
    Day,
    DayOfMonth,
    Instant,
    NamedMonth,
    RelativeMonth,
    Weekday,
    Written,
    YearMonthDay,
)
from pipeline.core.calendar.said import (
    ALWAYS_ASK,
    WRITTEN,
    Days,
    Moment,
    Outcome,
    Said,
    Times,
    changed,
    clock_change,
    clock_time,
    days_said,
    in_part,
    is_open,
    sort,
)
from pipeline.core.calendar.sentence import Side
from pipeline.core.calendar.values import CalendarValue, OfficeHours

_LONGEST_INFERRED = 10 * 60
"""Minutes: a longer range whose one half of the day was inferred from the other is a question ("3 to 2 pm")."""


def read_range(left: Side, right: Side, moment: Moment) -> Outcome | None:
    """What a range with these two ends states, or None where they are no ends of one range."""
    first, last = _dated(sort(left)), _dated(sort(right))
    if first.vague or last.vague or left.bound or right.bound or right.opener:
        return Outcome("open", (), (*first.vague, *last.vague, "open_range"))
    found = [
        o for o in (_time_range(first, last, left.opener or left.either, moment), _day_range(first, last, moment)) if o
    ]
    sound = [o for o in found if o.state != "broken"]
    if len(sound) > 1:
        return Outcome("vague", tuple(v for o in sound for v in o.values), ("days_or_hours",))
    return sound[0] if sound else found[0] if found else None


def _dated(said: Said) -> Said:
    """A number after a weekday is its day where another one, or a clock, tells the time: "Thursday 20 from 2 to 4"."""
    hours = len(said.numbers) + len(said.clocks) + len(said.loose)
    if said.weekday is None or said.days or not said.numbers or hours != 2:
        return said
    day, *rest = said.numbers
    return changed(said, days=[Written((YearMonthDay(None, None, day.value),))], numbers=rest)


def _time_range(first: Said, last: Said, opener: bool, moment: Moment) -> Outcome | None:
    """From one time of day to another, on one day, on two, or on none."""
    if any(isinstance(said.period, NamedMonth) for said in (first, last)):
        return None
    start, end = _bound(first, opener), _bound(last, True)
    if start is None or end is None or first.year is not None or last.year is not None:
        return None
    if not (first.dated or last.dated or first.clocks or last.clocks or first.parts or last.parts):
        if not opener or any(number.value > 12 for number in (*first.numbers, *last.numbers)):
            return None
    days = _shared_days(first, last, moment)
    if days is None:
        return None
    pairs, rules = _pairs(start, end, days[0] is days[1])
    if not pairs:
        return Outcome("broken", (), rules or ("part_contradicts_time",))
    first_days, last_days = days
    values = tuple(
        value
        for first_day in first_days.options or (None,)
        for last_day in ((first_day,) if last_days is first_days else last_days.options or ())
        for pair in pairs
        if (value := _stretch(first_day, last_day, *pair, last_days is not first_days))
    )
    rules = (*first_days.rules, *(last_days.rules if last_days is not first_days else ()), *rules)
    if first_days.broken or last_days.broken or not values:
        return Outcome("broken", values, rules)
    if len(pairs) > 1:
        values, rules = _range_by_hours(values, rules, moment)
    if last_days is not first_days and "recently_past" in rules:
        return Outcome("vague", values, rules)
    changes = [rule for v in values for bound in (v.start, v.end) if (rule := _bound_change(bound, moment.zone))]
    if changes or "twelve_am" in rules or any(rule in ALWAYS_ASK for rule in rules):
        return Outcome("vague", values, (*rules, *changes))
    return Outcome("sound", values, rules)


def _bound(said: Said, opener: bool) -> Times | None:
    """The time of day at one end of a range; here a bare number may be an hour."""
    if len(said.numbers) > 1 or said.half is not None:
        return None
    if said.numbers and not opener and any(isinstance(day, WRITTEN) for day in said.days):
        return None
    hours = [clock for number in said.numbers if (clock := number.hour())]
    clocks = said.clocks + said.loose + hours
    if len(clocks) != 1 or len(hours) < len(said.numbers):
        return None
    return in_part(clocks[0], said.parts)


def _shared_days(first: Said, last: Said, moment: Moment) -> tuple[Days, Days] | None:
    """The days at both ends; an end that names none has the other one's."""
    sides = []
    for said in (first, last):
        if any(isinstance(day, Instant) for day in said.days):
            return None
        days = days_said(changed(said, numbers=[]), moment.today)
        if days.options is None and said.period is not None:
            return None
        sides.append(days)
    if sides[0].options is None:
        return sides[1], sides[1]
    return (sides[0], sides[0]) if sides[1].options is None else (sides[0], sides[1])


def _pairs(start: Times, end: Times, one_day: bool) -> tuple[tuple[tuple[int, int], ...], tuple[str, ...]]:
    """The minutes from and to, in every reading. A bare hour takes the half of the day nearest to a sure one."""
    if start.broken or end.broken or not start.options or not end.options or not start.clock or not end.clock:
        return (), (*start.rules, *end.rules)
    rules = tuple(rule for rule in (*start.rules, *end.rules) if rule not in ("bare_hour", "twelve_am"))
    rules += ("twelve_am",) if "twelve_am" in start.rules else ()
    starts, ends = _as_24(start, end), _as_24(end, start)
    if not one_day:
        pairs = {(s, e) for s in starts for e in ends}
        return tuple(sorted(pairs)), (*rules, *(("bare_hour",) if len(pairs) > 1 else ()))
    pairs = {(s, min(ends, key=lambda e: (e - s - 1) % DAY)) for s in starts}
    if len(ends) == 1:
        pairs = {(max(starts, key=lambda s: (s - ends[0]) % DAY), ends[0])}
    if len(starts) != len(ends) and any((e - s) % DAY > _LONGEST_INFERRED for s, e in pairs):
        rules = (*rules, "bare_hour", "long_range")
    return tuple(sorted(pairs)), (*rules, *(("bare_hour",) if len(pairs) > 1 else ()))


def _as_24(times: Times, other: Times) -> tuple[int, ...]:
    """A bare time that was written with minutes beside one on a dial of 24 hours is on that dial too."""
    options = times.options or ()
    beside = other.clock is not None and other.clock.form == "dial24"
    if len(options) == 2 and times.clock and beside and times.clock.form == "bare" and times.clock.written:
        return (times.clock.minutes,)
    return options


def _stretch(
    first_day: date | None, last_day: date | None, start: int, end: int, own_days: bool
) -> CalendarValue | None:
    if first_day is None or last_day is None:
        sensible = 0 < (end - start) % DAY <= HALF_DAY or start < end
        return CalendarValue(start=clock_time(start), end=clock_time(end)) if sensible else None
    if not own_days and end < start:
        if end + DAY - start > HALF_DAY:
            return None
        if last_day == date.max:
            return None
        last_day += timedelta(days=1)
    begins, ends = datetime.combine(first_day, clock_time(start)), datetime.combine(last_day, clock_time(end))
    return CalendarValue(start=begins, end=ends) if begins < ends else None


def _range_by_hours(
    values: tuple[CalendarValue, ...], rules: tuple[str, ...], moment: Moment
) -> tuple[tuple[CalendarValue, ...], tuple[str, ...]]:
    if moment.hours is None:
        return values, rules
    inside = tuple(value for value in values if all(_bound_open(b, moment.hours) for b in (value.start, value.end)))
    if len(inside) == 1:
        return inside, (*(rule for rule in rules if rule != "bare_hour"), "office_hours")
    return values, rules


def _bound_open(bound: object, hours: OfficeHours) -> bool:
    if isinstance(bound, datetime):
        return is_open(bound.date(), bound.time(), hours)
    return isinstance(bound, time) and is_open(None, bound, hours)


def _bound_change(bound: object, zone: ZoneInfo) -> str:
    return clock_change(bound.date(), bound.time(), zone) if isinstance(bound, datetime) else ""


def _day_range(first: Said, last: Said, moment: Moment) -> Outcome | None:
    """From one day to another."""
    if any(said.clocks or said.loose or said.parts or said.half is not None for said in (first, last)):
        return None
    if _is_weekday(first) and _is_weekday(last):
        return Outcome("vague", (), ("weekday_range",))
    begin, end = _day_at(first, last, moment), _day_at(last, first, moment)
    if begin is None or end is None:
        return None
    begin, end = _one_order(begin, end)
    if last.numbers and not last.period and not _ascending(begin, end):
        return None
    year = last.year or first.year or _year_of(end)
    if year is not None:
        return _with_year(begin, end, year, first, last, moment)
    if "recently_past" in _side_days(end, last, moment.today).rules:
        return Outcome("vague", (), ("recently_past",))
    return _days_between(_side_days(begin, first, moment.today), end, last, moment)


def _ascending(begin: Day, end: Day) -> bool:
    """Whether a bare number at the end lies after the day at the beginning: "21 to 16 April" is no range."""
    days = (
        (begin.readings[0].day, end.readings[0].day)
        if isinstance(begin, Written) and isinstance(end, Written)
        else (0, 1)
    )
    return days[0] < days[1]


def _is_weekday(said: Said) -> bool:
    return said.weekday is not None and not (said.days or said.numbers or said.period)


def _day_at(said: Said, other: Said, moment: Moment) -> Day | None:
    """The day at one end of a range; month and year may stand at the other end."""
    if len(said.days) + len(said.numbers) > 1 or (said.period is not None and not said.numbers):
        return None
    if said.days:
        day = said.days[0]
        if isinstance(day, Written) and day.rule:
            return None
        if isinstance(day, Instant):
            return None if day.span.minutes else _fixed(moment.today)
        month, _ = _neighbour(other)
        return day.within(month, None) if isinstance(day, Written) and month else day
    if said.numbers:
        return _numbered_day(said, other)
    return Weekday(said.weekday) if said.weekday is not None else None


def _numbered_day(said: Said, other: Said) -> Day | None:
    number = said.numbers[0].value
    if not 1 <= number <= 31:
        return None
    period = said.period or other.period
    if isinstance(period, RelativeMonth):
        return DayOfMonth(number, period.ahead)
    if isinstance(period, NamedMonth):
        return Written((YearMonthDay(period.year, period.month, number),), period.ahead)
    if period is not None:
        return None
    beside = other.days[0] if other.days else None
    if isinstance(beside, DayOfMonth):
        return DayOfMonth(number, beside.ahead)
    month, _ = _neighbour(other)
    if month is None and not isinstance(beside, Written) and not (said.article or other.article):
        return None
    return Written((YearMonthDay(None, month, number),)).within(month, None)


def _neighbour(said: Said) -> tuple[int | None, int | None]:
    """Month and year of a written date on the other side, as far as they are certain."""
    day = said.days[0] if len(said.days) == 1 else None
    if isinstance(said.period, NamedMonth):
        return said.period.month, said.period.year
    if isinstance(day, Written) and len(day.readings) == 1:
        return day.readings[0].month, day.readings[0].year
    return None, None


def _year_of(day: Day) -> int | None:
    return day.readings[0].year if isinstance(day, Written) else None


def _fixed(day: date) -> Written:
    return Written((YearMonthDay(day.year, day.month, day.day),))


def _one_order(begin: Day, end: Day) -> tuple[Day, Day]:
    """Numbers within one phrase are in one order."""
    if not (isinstance(begin, Written) and isinstance(end, Written)):
        return begin, end
    orders = {r.order for r in begin.readings} & {r.order for r in end.readings}
    if not orders or orders == {""}:
        return begin, end
    return begin.in_orders(orders), end.in_orders(orders)


def _with_year(begin: Day, end: Day, year: int, first: Said, last: Said, moment: Moment) -> Outcome:
    """A year at one end holds for the other one too, unless the range would run backwards then."""
    if isinstance(end, Written):
        end = end.within(None, year) or end
    if isinstance(begin, Written) and _year_of(begin) is None and last.year is None and _year_of(end) is not None:
        same = begin.within(None, year) or begin
        found = _days_between(_side_days(same, first, moment.today), end, last, moment)
        if found.state != "broken":
            return found
        begin = begin.within(None, year - 1) or begin
    elif isinstance(begin, Written):
        begin = begin.within(None, year) or begin
    return _days_between(_side_days(begin, first, moment.today), end, last, moment)


def _side_days(day: Day, said: Said, today: date) -> Days:
    return days_said(changed(said, days=[day], numbers=[], period=None, weekday=said.weekday), today)


def _days_between(begin: Days, end: Day, last: Said, moment: Moment) -> Outcome:
    values: list[CalendarValue] = []
    rules = list(begin.rules)
    broken = begin.broken
    for start in begin.options or ():
        until = _side_days(end, last, start if isinstance(end, Written | Weekday) else moment.today)
        rules += until.rules
        broken |= until.broken
        values += [CalendarValue(start=start, end=stop) for stop in until.options or () if start < stop]
    if broken or not values:
        return Outcome("broken", tuple(values), tuple(rules) or ("days_disagree",))
    state: Literal["sound", "vague"] = "vague" if any(rule in ALWAYS_ASK for rule in rules) else "sound"
    return Outcome(state, tuple(dict.fromkeys(values)), tuple(dict.fromkeys(rules)))
