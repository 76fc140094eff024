"""What a phrase states, said at a given moment: the values it may have, and the rules that make it a question.

Order of work, for each phrase: words that name no single day or time, then the value, then the checks that do not
depend on how the value was found (weekday against date, part of the day against hour, opening hours against a bare
hour, the clock changes of the time zone). A check may take readings away and never adds one.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta

from pipeline.core.calendar.descriptions import (
    Clock,
    Instant,
    NamedMonth,
    Number,
    Shifted,
    Span,
    Weekday,
    Written,
    YearMonthDay,
)
from pipeline.core.calendar.ranges import read_range
from pipeline.core.calendar.said import (
    ALWAYS_ASK,
    NO_TIME,
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
from pipeline.core.calendar.sentence import Phrase, Side
from pipeline.core.calendar.values import CalendarValue


def outcome(phrase: Phrase, moment: Moment) -> Outcome | None:
    """What `phrase` states, or None where it states nothing: not every row of items makes sense."""
    if phrase.right is None:
        found = _moment(phrase.left, moment)
        return found and _bounded(found, phrase.left)
    if phrase.form == "range":
        return read_range(phrase.left, phrase.right, moment)
    return _choice(phrase.left, phrase.right, moment)


# ── One side ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def _bounded(found: Outcome, side: Side) -> Outcome:
    if side.bound or side.opener:
        return Outcome("open", found.values, ("open_range", *found.rules))
    return found._replace(rules=("approximate", *found.rules)) if side.hedged else found


def _moment(side: Side, moment: Moment) -> Outcome | None:
    said = sort(side)
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


def _unfit(said: Said) -> bool:
    """Whether items stand together that nobody puts together."""
    if isinstance(said.period, NamedMonth) and (said.clocks or said.loose or said.numbers or said.days or said.parts):
        return True
    if said.period is not None and said.numbers:
        return True
    return said.half is not None and any(isinstance(day, Written) for day in said.days)


def _number_is_day(said: Said) -> bool:
    """Whether a bare number beside a weekday may be a day of the month."""
    weekday = said.weekday is not None or any(isinstance(day, Weekday) for day in said.days)
    return bool(said.numbers) and weekday and said.period is None and not said.number_first


def _weekday_and_number(said: Said, moment: Moment) -> Outcome | None:
    """ "Friday 21", "martes 6", "sat 10": the day of the month if it falls on that weekday, else nobody knows."""
    number, *rest = said.numbers
    dated = changed(said, days=[*said.days, Written((YearMonthDay(None, None, number.value),))], numbers=rest)
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


def _plain(said: Said, moment: Moment) -> Outcome | None:
    """A day, a time, or both."""
    times = _times(said)
    if times is None:
        return None
    days = days_said(said, moment.today)
    if days.options is None and said.period is not None:
        return _period(said, times, moment)
    if days.options is None and times.options is None:
        return Outcome("vague", (), ("part_of_day",)) if said.parts or said.half is not None else None
    return _combine(days, times, moment)


def _combine(days: Days, times: Times, moment: Moment) -> Outcome:
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
    changed = [rule for value in values if (rule := clock_change(value.date, value.time, moment.zone))]
    if changed or (rules and any(rule in ALWAYS_ASK for rule in rules)):
        return Outcome("vague", values, (*rules, *changed))
    return Outcome("sound", values, rules)


def _values(days: Sequence[date] | None, times: Sequence[int] | None) -> tuple[CalendarValue, ...]:
    if days is None:
        return tuple(CalendarValue(time=clock_time(minutes)) for minutes in times or ())
    if times is None:
        return tuple(CalendarValue(date=day) for day in days)
    return tuple(CalendarValue(date=day, time=clock_time(minutes)) for day in days for minutes in times)


# ── Times of day ─────────────────────────────────────────────────────────────────────────────────────────────────────


def _times(said: Said) -> Times | None:
    """The time of day that a side names; None where its numbers make no sense as one."""
    clocks = said.clocks + said.loose + [clock for number in said.numbers if (clock := _hour_beside(number, said))]
    if len(clocks) < len(said.clocks) + len(said.loose) + len(said.numbers) or len(clocks) > 1:
        return None
    if not clocks:
        return NO_TIME
    if said.loose and not (said.parts or said.dated):
        return None
    return in_part(clocks[0], said.parts)


def _hour_beside(number: Number, said: Said) -> Clock | None:
    """A bare number as an hour: only beside a part of the day, or as digits beside a day that is no written date."""
    beside = number.digits and said.dated and not said.number_first
    if said.parts or (beside and not any(isinstance(day, WRITTEN) for day in said.days)):
        return number.hour()
    return None


def _by_hours(
    values: tuple[CalendarValue, ...], rules: tuple[str, ...], moment: Moment
) -> tuple[tuple[CalendarValue, ...], tuple[str, ...]]:
    """Take the readings of a bare hour away that lie outside the opening hours, if that leaves one on each day."""
    if moment.hours is None:
        return values, rules
    inside = tuple(value for value in values if value.time and is_open(value.date, value.time, moment.hours))
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
    if (
        late
        and not is_open(value.date, values[0].time or late, moment.hours)
        and is_open(value.date, late, moment.hours)
    ):
        return (value, CalendarValue(date=value.date, time=late)), (*rules, "bare_hour")
    return values, rules


# ── Moments from now, periods ────────────────────────────────────────────────────────────────────────────────────────


def _instant(side: Side, said: Said, moment: Moment) -> Outcome | None:
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
    twice = [rule for end in ends if (rule := clock_change(end.date, end.time, moment.zone))]
    if len(ends) > 1 or twice:
        return Outcome("vague", ends, tuple(twice) or ("minute_occurs_twice",))
    return Outcome("sound", ends)


def _later(start: datetime, minutes: int) -> datetime | None:
    """Wall clock so many minutes after `start`, as they really pass."""
    try:
        end = (start.astimezone(UTC) + timedelta(minutes=minutes)).astimezone(start.tzinfo)
    except (OverflowError, ValueError):
        return None
    return end.replace(tzinfo=None, second=0, microsecond=0, fold=0)


def _period(said: Said, times: Times, moment: Moment) -> Outcome | None:
    assert said.period is not None
    stretches, rule = said.period.value(moment.today)
    values = tuple(CalendarValue(start=first, end=last) for first, last in stretches)
    if times.options is not None or said.parts or said.half is not None:
        return Outcome("vague", values, ("day_missing",))
    if not values:
        return Outcome("broken", (), ("no_such_day",))
    return Outcome("sound", values, (rule,) if rule else ())


# ── Choices ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _choice(left: Side, right: Side, moment: Moment) -> Outcome | None:
    first, second = _moment(left, moment), _moment(right, moment)
    if first is None or second is None:
        return None
    return Outcome("open", first.values + second.values, ("alternatives", *first.rules, *second.rules))
