"""What a phrase states, said at a given moment: the values it may have, and the rules that make it a question.

Order of work, for each phrase: words that name no single day or time, then the value, then the checks that do not
depend on how the value was found (weekday against date, part of the day against hour, opening hours against a bare
hour, the clock changes of the time zone). A check may take readings away and never adds one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, Literal, NamedTuple
from zoneinfo import ZoneInfo

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
    Period,
    RelativeMonth,
    Shifted,
    Span,
    Weekday,
    Written,
    YearMonthDay,
    days_of,
)
from pipeline.core.calendar.meanings import WEEKDAYS
from pipeline.core.calendar.sentence import Phrase, Side
from pipeline.core.calendar.values import CalendarValue, OfficeHours


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
class _Said:
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


_LONGEST_INFERRED = 10 * 60
"""Minutes: a longer range whose one half of the day was inferred from the other is a question ("3 to 2 pm")."""


class _Days(NamedTuple):
    """The days that a side may mean (None: it names none), the rules behind their number, and whether it is broken."""

    options: tuple[date, ...] | None
    rules: tuple[str, ...] = ()
    broken: bool = False


class _Times(NamedTuple):
    """The minutes of the day that a side may mean (None: it names none), with the clock they come from."""

    options: tuple[int, ...] | None
    clock: Clock | None = None
    rules: tuple[str, ...] = ()
    broken: bool = False


_NO_DAY = _Days(None)
_NO_TIME = _Times(None)


def outcome(phrase: Phrase, moment: Moment) -> Outcome | None:
    """What `phrase` states, or None where it states nothing: not every row of items makes sense."""
    if phrase.right is None:
        found = _moment(phrase.left, moment)
        return found and _bounded(found, phrase.left)
    if phrase.form == "range":
        return _range(phrase.left, phrase.right, moment)
    return _choice(phrase.left, phrase.right, moment)


# ── One side ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def _bounded(found: Outcome, side: Side) -> Outcome:
    if side.bound:
        return Outcome("open", found.values, ("open_range", *found.rules))
    if side.opener:
        return Outcome("open", found.values, ("open_range", *found.rules))
    return found._replace(rules=("approximate", *found.rules)) if side.hedged else found


def _sort(side: Side) -> _Said:
    said = _Said()
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


def _moment(side: Side, moment: Moment) -> Outcome | None:
    said = _sort(side)
    if said.vague:
        return Outcome("open", (), tuple(said.vague))
    if _unfit(said) or (side.bound and len(said.days) > 1):
        return None
    if (
        len(said.clocks) > 1
        or said.year is not None
        or (said.half is not None and (said.clocks or said.loose or said.numbers))
    ):
        return None
    if any(isinstance(day, Instant) for day in said.days):
        return _instant(side, said, moment)
    return _weekday_and_number(said, moment) if _number_is_day(said) else _plain(said, moment)


def _unfit(said: _Said) -> bool:
    """Whether items stand together that nobody puts together."""
    if isinstance(said.period, NamedMonth) and (said.clocks or said.loose or said.numbers or said.days or said.parts):
        return True
    if said.period is not None and said.numbers:
        return True
    return said.half is not None and any(isinstance(day, Written) and day.rule for day in said.days)


def _number_is_day(said: _Said) -> bool:
    """Whether a bare number beside a weekday may be a day of the month."""
    alone = said.weekday is not None and not said.days and said.period is None
    return bool(said.numbers) and alone and not said.number_first


def _weekday_and_number(said: _Said, moment: Moment) -> Outcome | None:
    """ "Friday 21", "martes 6", "sat 10": the day of the month if it falls on that weekday, else nobody knows."""
    number, *rest = said.numbers
    dated = _replace(said, days=[Written((YearMonthDay(None, None, number.value),))], numbers=rest)
    as_day = _plain(dated, moment) if 1 <= number.value <= 31 else None
    if said.clocks or said.loose or len(said.numbers) > 1:
        return as_day
    as_hour = _plain(said, moment)
    if as_day and as_day.state == "sound":
        return as_day if as_hour is None or not said.parts else _both(as_day, as_hour)
    if as_hour and said.parts and as_hour.state == "sound":
        return as_hour
    if as_hour and as_day:
        return Outcome("vague", as_hour.values + as_day.values, ("day_or_hour",))
    return as_day or as_hour


def _both(first: Outcome, second: Outcome) -> Outcome:
    return Outcome("vague", first.values + second.values, ("day_or_hour",))


def _replace(said: _Said, **changes: Any) -> _Said:
    return _Said(**{name: changes.get(name, getattr(said, name)) for name in _Said.__slots__})


def _plain(said: _Said, moment: Moment) -> Outcome | None:
    """A day, a time, or both."""
    times = _times(said)
    if times is None:
        return None
    days = _days(said, moment.today)
    if days.options is None and said.period is not None:
        return _period(said, times, moment)
    if days.options is None and times.options is None:
        return Outcome("vague", (), ("part_of_day",)) if said.parts or said.half is not None else None
    return _combine(days, times, moment)


def _combine(days: _Days, times: _Times, moment: Moment) -> Outcome:
    rules = (*days.rules, *times.rules)
    values = _values(days.options, times.options)
    if days.broken or times.broken:
        return Outcome("broken", values, rules)
    if times.clock and times.options and len(times.options) > 1:
        values, rules = _by_hours(values, rules, moment)
    if times.clock and times.clock.form == "dial24":
        values, rules = _other_half(values, rules, moment)
    if "twelve_am" in rules and (days.options is not None or moment.hours is not None):
        return Outcome("vague", values, rules)
    changed = [rule for value in values if (rule := _clock_change(value.date, value.time, moment.zone))]
    if changed or (rules and any(rule in _ALWAYS_ASK for rule in rules)):
        return Outcome("vague", values, (*rules, *changed))
    return Outcome("sound", values, rules)


_ALWAYS_ASK = frozenset({
    "midnight", "over_noon", "long_range", "past_midnight", "maybe_no_date", "year_day_month",
})  # fmt: skip


def _values(days: Sequence[date] | None, times: Sequence[int] | None) -> tuple[CalendarValue, ...]:
    if days is None:
        return tuple(CalendarValue(time=_time(minutes)) for minutes in times or ())
    if times is None:
        return tuple(CalendarValue(date=day) for day in days)
    return tuple(CalendarValue(date=day, time=_time(minutes)) for day in days for minutes in times)


def _time(minutes: int) -> time:
    return time(minutes // 60 % 24, minutes % 60)


# ── Days ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _days(said: _Said, today: date) -> _Days:
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
        return _Days(named, rules or ("days_disagree",), True)
    if said.period is not None:
        stretches = said.period.stretches(today)
        inside = [day for day in options if any(first <= day <= last for first, last in stretches)]
        if not inside:
            return _Days(tuple(options), (*rules, "days_disagree"), True)
        options = inside
    if said.weekday is not None:
        named = tuple(options)
        options = [day for day in options if day.weekday() == said.weekday]
        if not options:
            return _Days(named, (*rules, "weekday_contradicts_date"), True)
    keep = rules if len(options) > 1 else tuple(rule for rule in rules if rule in _ALWAYS_ASK)
    return _Days(tuple(options), keep)


def _weekday_alone(said: _Said, today: date) -> _Days:
    if said.weekday is None:
        return _NO_DAY
    if said.period is None:
        options, rule = Weekday(said.weekday).dates(today)
        return _Days(options, (rule,) if rule else ())
    options = days_of(said.period, said.weekday, today)
    return _Days(options[:5], ("which_week",) if len(options) > 1 else ())


# ── Times of day ─────────────────────────────────────────────────────────────────────────────────────────────────────


def _times(said: _Said) -> _Times | None:
    """The time of day that a side names; None where its numbers make no sense as one."""
    clocks = said.clocks + said.loose + [clock for number in said.numbers if (clock := _hour_beside(number, said))]
    if len(clocks) < len(said.clocks) + len(said.loose) + len(said.numbers) or len(clocks) > 1:
        return None
    if not clocks:
        return _NO_TIME
    if said.loose and not (said.parts or said.dated):
        return None
    return _in_part(clocks[0], said.parts)


def _hour_beside(number: Number, said: _Said) -> Clock | None:
    """A bare number as an hour: only beside a part of the day, or as digits beside a day that is no written date."""
    beside = number.digits and said.dated and not said.number_first
    if said.parts or (beside and not any(isinstance(day, _WRITTEN) for day in said.days)):
        return number.hour()
    return None


_WRITTEN = (Written, DayOfMonth, OrdinalDay, OrdinalWeekday)


def _in_part(clock: Clock, parts: Sequence[Part]) -> _Times:
    options = clock.options()
    inside = tuple(minutes for minutes in options if all(part.holds(minutes) for part in parts))
    rules = (clock.rule,) if clock.rule else ()
    if not inside:
        return _Times(options, clock, (*rules, "part_contradicts_time"), True)
    early = clock.form == "bare" and any(minutes < 60 for minutes in inside)
    if (parts and early) or any(part.first > part.last and m <= part.last for part in parts for m in inside):
        rules = (*rules, "past_midnight")
    said = Clock(inside[0], "said", clock.rule) if parts and len(inside) == 1 else clock
    return _Times(inside, said, rules or (("bare_hour",) if len(inside) > 1 else ()))


def _by_hours(
    values: tuple[CalendarValue, ...], rules: tuple[str, ...], moment: Moment
) -> tuple[tuple[CalendarValue, ...], tuple[str, ...]]:
    """Take the readings of a bare hour away that lie outside the opening hours, if that leaves one on each day."""
    if moment.hours is None:
        return values, rules
    inside = tuple(value for value in values if value.time and _open(value.date, value.time, moment.hours))
    if len({value.date for value in inside}) == len(inside) == len({value.date for value in values}):
        return inside, (*(rule for rule in rules if rule != "bare_hour"), "office_hours")
    return values, rules


def _other_half(
    values: tuple[CalendarValue, ...], rules: tuple[str, ...], moment: Moment
) -> tuple[tuple[CalendarValue, ...], tuple[str, ...]]:
    """A dial of 24 hours that only makes sense as one of twelve ("02:30") is a question."""
    if moment.hours is None or len(values) != 1 or values[0].time is None or values[0].time.hour >= 12:
        return values, rules
    value = values[0]
    late = value.time.replace(hour=value.time.hour + 12) if value.time else None
    if late and not _open(value.date, values[0].time or late, moment.hours) and _open(value.date, late, moment.hours):
        return (value, CalendarValue(date=value.date, time=late)), (*rules, "bare_hour")
    return values, rules


def _open(day: date | None, at: time, hours: OfficeHours) -> bool:
    """Whether the office is open then; without a day, whether it ever is at that time."""
    names = WEEKDAYS if day is None else (WEEKDAYS[day.weekday()],)
    return any(opens <= at <= closes for name in names for opens, closes in hours.get(name, ()))


def _clock_change(day: date | None, at: time | None, zone: ZoneInfo) -> str:
    """The rule that a minute breaks which the zone's clocks skip or show twice."""
    if day is None or at is None:
        return ""
    wall = datetime.combine(day, at, zone)
    early, late = wall.utcoffset(), wall.replace(fold=1).utcoffset()
    if early == late or early is None or late is None:
        return ""
    return "no_such_minute" if early < late else "minute_occurs_twice"


# ── Moments from now, periods ────────────────────────────────────────────────────────────────────────────────────────


def _instant(side: Side, said: _Said, moment: Moment) -> Outcome | None:
    if len(side.items) > 1:
        return None
    (instant,) = said.days
    span = instant.span
    start = moment.at
    if span.months or span.days:
        (moved,) = Shifted(Span(span.months, span.days)).dates(start.date()).options or (None,)
        if moved is None:
            return Outcome("broken", (), ("no_such_day",))
        start = datetime.combine(moved, start.time())
    values = {_later(start.replace(tzinfo=moment.zone, fold=fold), span.minutes) for fold in (0, 1)}
    if None in values:
        return Outcome("broken", (), ("out_of_range",))
    ends = tuple(CalendarValue(date=end.date(), time=end.time()) for end in sorted(v for v in values if v))
    return Outcome("sound", ends, ("minute_occurs_twice",) if len(ends) > 1 else ())


def _later(start: datetime, minutes: int) -> datetime | None:
    """Wall clock so many minutes after `start`, as they really pass."""
    try:
        end = (start.astimezone(UTC) + timedelta(minutes=minutes)).astimezone(start.tzinfo)
    except (OverflowError, ValueError):
        return None
    return end.replace(tzinfo=None, second=0, microsecond=0, fold=0)


def _period(said: _Said, times: _Times, moment: Moment) -> Outcome | None:
    assert said.period is not None
    stretches, rule = said.period.value(moment.today)
    values = tuple(CalendarValue(start=first, end=last) for first, last in stretches)
    if times.options is not None or said.parts or said.half is not None:
        return Outcome("vague", values, ("day_missing",))
    if not values:
        return Outcome("broken", (), ("no_such_day",))
    return Outcome("sound", values, (rule,) if rule else ())


# ── Ranges ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def _range(left: Side, right: Side, moment: Moment) -> Outcome | None:
    first, last = _sort(left), _sort(right)
    if first.vague or last.vague or left.bound or right.bound or right.opener:
        return Outcome("open", (), (*first.vague, *last.vague, "open_range"))
    found = [
        o for o in (_time_range(first, last, left.opener or left.either, moment), _day_range(first, last, moment)) if o
    ]
    sound = [o for o in found if o.state != "broken"]
    if len(sound) > 1:
        return Outcome("vague", tuple(v for o in sound for v in o.values), ("days_or_hours",))
    return sound[0] if sound else found[0] if found else None


def _time_range(first: _Said, last: _Said, opener: bool, moment: Moment) -> Outcome | None:
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
    if changes or any(rule in _ALWAYS_ASK for rule in rules):
        return Outcome("vague", values, (*rules, *changes))
    return Outcome("sound", values, rules)


def _bound(said: _Said, opener: bool) -> _Times | None:
    """The time of day at one end of a range; here a bare number may be an hour."""
    if len(said.numbers) > 1 or said.half is not None:
        return None
    if said.numbers and not opener and any(isinstance(day, _WRITTEN) for day in said.days):
        return None
    hours = [clock for number in said.numbers if (clock := number.hour())]
    clocks = said.clocks + said.loose + hours
    if len(clocks) != 1 or len(hours) < len(said.numbers):
        return None
    return _in_part(clocks[0], said.parts)


def _shared_days(first: _Said, last: _Said, moment: Moment) -> tuple[_Days, _Days] | None:
    """The days at both ends; an end that names none has the other one's."""
    sides = []
    for said in (first, last):
        if any(isinstance(day, Instant) for day in said.days):
            return None
        days = _days(_replace(said, numbers=[]), moment.today)
        if days.options is None and said.period is not None:
            return None
        sides.append(days)
    if sides[0].options is None:
        return sides[1], sides[1]
    return (sides[0], sides[0]) if sides[1].options is None else (sides[0], sides[1])


def _pairs(start: _Times, end: _Times, one_day: bool) -> tuple[tuple[tuple[int, int], ...], tuple[str, ...]]:
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


def _as_24(times: _Times, other: _Times) -> tuple[int, ...]:
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
        return CalendarValue(start=_time(start), end=_time(end)) if sensible else None
    if not own_days and end < start:
        if end + DAY - start > HALF_DAY:
            return None
        if last_day == date.max:
            return None
        last_day += timedelta(days=1)
    begins, ends = datetime.combine(first_day, _time(start)), datetime.combine(last_day, _time(end))
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
        return _open(bound.date(), bound.time(), hours)
    return isinstance(bound, time) and _open(None, bound, hours)


def _bound_change(bound: object, zone: ZoneInfo) -> str:
    return _clock_change(bound.date(), bound.time(), zone) if isinstance(bound, datetime) else ""


def _day_range(first: _Said, last: _Said, moment: Moment) -> Outcome | None:
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


def _is_weekday(said: _Said) -> bool:
    return said.weekday is not None and not (said.days or said.numbers or said.period)


def _day_at(said: _Said, other: _Said, moment: Moment) -> Day | None:
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


def _numbered_day(said: _Said, other: _Said) -> Day | None:
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


def _neighbour(said: _Said) -> tuple[int | None, int | None]:
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


def _with_year(begin: Day, end: Day, year: int, first: _Said, last: _Said, moment: Moment) -> Outcome:
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


def _side_days(day: Day, said: _Said, today: date) -> _Days:
    return _days(_replace(said, days=[day], numbers=[], period=None, weekday=said.weekday), today)


def _days_between(begin: _Days, end: Day, last: _Said, moment: Moment) -> Outcome:
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
    state: Literal["sound", "vague"] = "vague" if any(rule in _ALWAYS_ASK for rule in rules) else "sound"
    return Outcome(state, tuple(dict.fromkeys(values)), tuple(dict.fromkeys(rules)))


# ── Choices ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _choice(left: Side, right: Side, moment: Moment) -> Outcome | None:
    first, second = _moment(left, moment), _moment(right, moment)
    if first is None or second is None:
        return None
    return Outcome("open", first.values + second.values, ("alternatives", *first.rules, *second.rules))
