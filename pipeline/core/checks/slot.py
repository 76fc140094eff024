"""The slot: the one day and time that verified words state together, and whether a visit can be then (PR-3, PR-4).

Invariants: a slot has only what words or a form's own fields state; two days or two times are a question, never a choice; a
visit lies in the future, within the horizon, at a minute that exists once, while the office is open and at a bookable start.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from pipeline.core.calendar import CalendarValue
from pipeline.core.checks.context import About, Context
from pipeline.core.checks.evidence import Fault, Placed, fits
from pipeline.core.lineage import Lineage, weaker

_DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")


@dataclass(frozen=True, slots=True)
class Slot:
    """A day, a time of day, both, or a window with both bounds; naive local. `lineage` is where it comes from."""

    date: date | None = None
    time: time | None = None
    start: datetime | None = None
    end: datetime | None = None
    lineage: Lineage = Lineage.PROSPECT_STATED

    @property
    def at(self) -> datetime | None:
        """The minute, where day and time are both stated."""
        return datetime.combine(self.date, self.time) if self.date is not None and self.time is not None else None

    @property
    def whole(self) -> bool:
        return self.at is not None or self.start is not None


def slot_of(visits: Iterable[Placed], lineage: Lineage) -> tuple[Slot, list[Fault]]:
    """What the words of the visit state together; a fault where they state two things.

    A day that is sure stays even where its time is not: the question keeps it.
    """
    placed = list(visits)
    values = [one.found.value for one in placed if one.found.value is not None]
    unsure = [one.sure_day for one in placed if one.found.value is None and one.sure_day is not None]
    days = sorted({*(value.date for value in values if value.date is not None), *unsure})
    times = sorted({value.time for value in values if value.time is not None})
    windows = {(value.start, value.end) for value in values if value.start is not None or value.end is not None}
    slot = Slot(days[0] if len(days) == 1 else None, times[0] if len(times) == 1 else None, lineage=lineage)
    if len(days) > 1:
        return slot, [Fault(About.DATE, "two_days", tuple(CalendarValue(date=day) for day in days))]
    if len(times) > 1:
        return slot, [Fault(About.TIME, "two_times", tuple(CalendarValue(time=at) for at in times))]
    if not windows:
        return slot, []
    if len(windows) > 1 or times:
        return replace(slot, time=None), [Fault(About.TIME, "two_times")]
    return _window(slot, *windows.pop())


def _window(
    slot: Slot, start: date | time | datetime | None, end: date | time | datetime | None
) -> tuple[Slot, list[Fault]]:
    if isinstance(start, time) and isinstance(end, time):
        if slot.date is None:
            return slot, [Fault(About.DATE, "no_day")]
        start, end = datetime.combine(slot.date, start), datetime.combine(slot.date, end)
    if not (isinstance(start, datetime) and isinstance(end, datetime)):
        about = About.DATE if isinstance(start, date) or isinstance(end, date) else About.TIME
        return slot, [Fault(about, "open_window")]
    if start >= end or slot.date not in (None, start.date()):
        return slot, [Fault(About.TIME, "window_upside_down")]
    return replace(slot, date=None, start=start, end=end), []


def with_form(slot: Slot, move_ins: Iterable[Placed], context: Context) -> tuple[Slot, list[Fault]]:
    """The slot held against the form's own fields, and completed by them where they leave no choice (UN-5)."""
    form = context.form
    if form is None:
        return slot, []
    faults = []
    if form.move_in is not None:
        midnight = datetime.combine(form.move_in, time.min)
        for one in move_ins:
            if one.readings and not any(fits(midnight, replace(value, time=None)) for value in one.readings):
                faults.append(Fault(About.DATE, "form_differs_on_move_in"))
    if not form.tour_times:
        return slot, faults
    agreeing = [at for at in form.tour_times if _agrees(slot, at)]
    if not agreeing:
        differs = About.DATE if slot.date not in {at.date() for at in form.tour_times} else About.TIME
        return slot, [*faults, Fault(differs, "form_differs_on_visit")]
    if slot.whole:
        return slot, faults
    if len(agreeing) > 1:
        candidates = tuple(CalendarValue(date=at.date(), time=at.time()) for at in agreeing)
        return slot, [*faults, Fault(About.DATE, "form_names_several", candidates)]
    at = agreeing[0]
    return Slot(at.date(), at.time(), lineage=weaker(slot.lineage, Lineage.MACHINE_DERIVED)), faults


def _agrees(slot: Slot, at: datetime) -> bool:
    if slot.start is not None and slot.end is not None:
        return slot.start <= at <= slot.end
    return slot.date in (None, at.date()) and slot.time in (None, at.time())


def missing(slot: Slot) -> list[Fault]:
    """What a slot still lacks: a day without a time keeps its day."""
    if slot.whole:
        return []
    return [Fault(About.DATE, "no_day") if slot.date is None else Fault(About.TIME, "no_time")]


def slot_faults(slot: Slot, context: Context) -> list[Fault]:
    """Why a visit cannot be then: real, future, near enough, open, bookable (PR-3)."""
    start, end = slot.at or slot.start, slot.at or slot.end
    if start is None or end is None:
        return []
    last_day = context.ref.date() + timedelta(days=context.horizon_days)
    if start.date() < context.ref.date():
        return [Fault(About.DATE, "in_the_past")]
    if start <= context.ref:
        return [Fault(About.TIME, "in_the_past")]
    if end.date() > last_day:
        return [Fault(About.DATE, "beyond_the_horizon")]
    if not (_exists_once(start, context.tz) and _exists_once(end, context.tz)):
        return [Fault(About.TIME, "clock_shifts")]
    if not _open_some(start, end, context):
        closed = not (context.office_hours or {}).get(_DAYS[start.weekday()])
        return [Fault(About.DATE, "closed_day") if closed else Fault(About.TIME, "outside_hours")]
    if slot.at is not None and context.bookable is not None and not context.bookable(slot.at):
        return [Fault(About.TIME, "not_bookable")]
    return []


def known_open(at: datetime, context: Context) -> bool:
    """Whether the office is known to be open at that minute."""
    return context.office_hours is not None and _open_some(at, at, context)


def _open_some(start: datetime, end: datetime, context: Context) -> bool:
    """Whether the office is open at the minute, or at some minute of the window. Unknown hours forbid nothing."""
    if context.office_hours is None:
        return True
    day = start.date()
    while day <= end.date():
        for opens, closes in context.office_hours.get(_DAYS[day.weekday()], ()):
            opening, closing = datetime.combine(day, opens), datetime.combine(day, closes)
            if (start < closing and end > opening) if start < end else opening <= start < closing:
                return True
        day += timedelta(days=1)
    return False


def _exists_once(wall: datetime, zone: ZoneInfo) -> bool:
    """Whether the local clock shows this minute exactly once."""
    return wall.replace(tzinfo=zone, fold=0).utcoffset() == wall.replace(tzinfo=zone, fold=1).utcoffset()
