"""The calendar: what a stated date or time means, and where such expressions stand in a text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo

from pipeline.core.calendar.values import CalendarValue, Expression, OfficeHours, Resolution
from pipeline.core.text import normalise

__all__ = ["CalendarValue", "Expression", "OfficeHours", "Resolution", "detect", "resolve", "supported_locales"]

_DAYS = {"en": {"today": 0, "tomorrow": 1}, "es": {"hoy": 0, "mañana": 1}}
_WORD = re.compile(r"\d{4}-\d\d-\d\d|\w+")


def resolve(
    span: str, ref: datetime, tz: ZoneInfo, locale: str, office_hours: OfficeHours | None = None
) -> Resolution:
    """What `span` states, said at `ref` (naive local) in zone `tz`."""
    words = normalise(span)
    days = _DAYS.get(locale[:2], {})
    if words in days:
        return Resolution("resolved", CalendarValue(date=ref.date() + timedelta(days=days[words])))
    try:
        return Resolution("resolved", CalendarValue(date=date.fromisoformat(words)))
    except ValueError:
        return Resolution("none", reasons=("no_reading",))


def detect(text: str, locales: Sequence[str]) -> tuple[Expression, ...]:
    """Every date or time expression in `text`."""
    words = {word for locale in locales for word in _DAYS.get(locale[:2], {})}
    return tuple(
        Expression(m.start(), m.end(), "relative" if m.group().casefold() in words else "date")
        for m in _WORD.finditer(text)
        if m.group().casefold() in words or "-" in m.group()
    )


def supported_locales() -> tuple[str, ...]:
    """The locales that have a phrase book."""
    return ("en", "es")
