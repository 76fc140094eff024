"""What the calendar tests share: a place, an office, and one line that asks the calendar."""

from __future__ import annotations

from datetime import datetime, time
from zoneinfo import ZoneInfo

from pipeline.core.calendar import CalendarValue, OfficeHours, Resolution, resolve

CHICAGO = ZoneInfo("America/Chicago")
TUESDAY = datetime(2026, 8, 18, 10, 0)
HOURS: OfficeHours = {day: [(time(9), time(18))] for day in ("mon", "tue", "wed", "thu", "fri", "sat")}


def ask(
    span: str, locale: str, ref: datetime = TUESDAY, hours: OfficeHours | None = None, tz: ZoneInfo = CHICAGO
) -> Resolution:
    """What the calendar says of `span`."""
    return resolve(span, ref, tz, locale, hours)


def says(span: str, locale: str, ref: datetime = TUESDAY, hours: OfficeHours | None = None) -> str:
    """The answer in a line: the value, "ask" with its candidates, or "none"."""
    found = ask(span, locale, ref, hours)
    if found.status == "ask":
        return " | ".join(["ask", *(written(candidate) for candidate in found.candidates)])
    return written(found.value) if found.value else found.status


def written(value: CalendarValue) -> str:
    """A value in a word: "2026-08-20", "15:00", "2026-08-20 15:00", "15:00..17:00"."""
    stated = value.to_json()
    if "start" in stated:
        return f"{stated['start']}..{stated['end']}".replace("T", " ")
    return " ".join(stated[key] for key in ("date", "time") if key in stated)
