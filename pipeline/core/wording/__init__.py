"""How a locale states a day, a time, a slot, a list of slots: written for texts and mails, in words for speech.

Facts are generated, never checked (CO-2): these functions turn values of a record into words, and the calendar resolver reads the same words
back to the same value, which a property test holds. The words are data, one TOML file per locale, so that a locale is added without code. On calls numbers
are written out, so that the string that was gated is the string that is spoken.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Sequence
from datetime import date, datetime, time
from functools import cache
from importlib.resources import files
from itertools import groupby
from typing import Any


@cache
def _table(locale: str) -> dict[str, Any]:
    return tomllib.loads((files(__package__) / f"{locale}.toml").read_text("utf-8"))


def _form(locale: str, spoken: bool) -> dict[str, Any]:
    form: dict[str, Any] = _table(locale)["spoken" if spoken else "written"]
    return form


def locales() -> tuple[str, ...]:
    """Locales that have words for dates and times (UN-8)."""
    return tuple(sorted(entry.name[:-5] for entry in files(__package__).iterdir() if entry.name.endswith(".toml")))


def day(value: date, locale: str, spoken: bool = False) -> str:
    """'Friday, July 17' · 'viernes 17 de julio' · 'Friday, July seventeenth'."""
    table, form = _table(locale), _form(locale, spoken)
    number = form["days"][value.day - 1] if spoken else value.day
    text: str = form["day"].format(
        weekday=table["weekdays"][value.weekday()], month=table["months"][value.month - 1], number=number
    )
    return text


def clock(value: time, locale: str, spoken: bool = False) -> str:
    """'1:00 PM' · '1:00 p. m.' · 'one thirty in the afternoon' · 'una y media de la tarde'. Spoken minutes are multiples of five."""
    form = _form(locale, spoken)
    if not spoken:
        written: str = form["time"].format(
            hour=value.hour % 12 or 12, minute=value.minute, half=form["halves"][value.hour >= 12]
        )
        return written
    if value == time(12):
        return str(form["noon"])
    if value == time(0):
        return str(form["midnight"])
    part = next(name for before, name in form["parts"] if value.hour < before)
    minute = form["minutes"][str(value.minute)]
    return re.sub(" +", " ", form["time"].format(hour=form["hours"][value.hour % 12], minute=minute, part=part))


def at(value: time, locale: str, spoken: bool = False) -> str:
    """'at 1:00 PM' · 'a la 1:00 p. m.' · 'a las 3:00 p. m.'."""
    text: str = _form(locale, spoken)["at"][value.hour % 12 != 1].format(time=clock(value, locale, spoken))
    return text


def slot(wall: datetime, locale: str, spoken: bool = False) -> str:
    """Weekday, date and time of a naive wall time: what every statement of a tour contains (PR-6)."""
    text: str = _form(locale, spoken)["slot"].format(
        day=day(wall.date(), locale, spoken), at=at(wall.time(), locale, spoken)
    )
    return text


def listing(parts: Sequence[str], locale: str, word: str = "or") -> str:
    """'a, b or c' · 'a, b o c'."""
    if len(parts) < 2:
        return "".join(parts)
    return f"{', '.join(parts[:-1])} {_table(locale)[word]} {parts[-1]}"


def slots(walls: Iterable[datetime], locale: str, spoken: bool = False) -> str:
    """Slots grouped by day, times of one day as a list: 'Friday, July 17: 1:00 PM, 1:30 PM or 2:00 PM; Monday, July 20: …'."""
    pattern = _form(locale, spoken).get("join_day_times", _table(locale)["join_day_times"])
    grouped = groupby(sorted(walls), key=lambda wall: wall.date())
    days = [
        pattern.format(
            day=day(when, locale, spoken),
            times=listing([(at if spoken else clock)(wall.time(), locale, spoken) for wall in of_day], locale),
        )
        for when, of_day in grouped
    ]
    return "; ".join(days)
