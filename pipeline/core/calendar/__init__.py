"""The calendar: what a stated date or time means (`resolve`), and where such expressions stand in a text (`detect`).

* `tokens`       from text to tokens, each with its place
* `phrasebook`   a locale's words and phrases, from one TOML file in `locales/`
* `meanings`     the closed list of what phrases may mean
* `descriptions` what words say of a day, before anybody asks which one it is
* `sentence`     how days, times and parts of the day stand together
* `said`         what one side of a phrase says of its day and its time
* `reading`, `ranges`  what a phrase states, said at a given moment, and the checks
* `resolver`, `detector`  the two questions
* `values`       the answers

Absent on purpose: a clock (the reference instant is an argument), a notion of likelihood, and a default. The resolver
never sees more than a span, and the detector never gives a value (UN-3).
"""

from __future__ import annotations

from pipeline.core.calendar.detector import detect
from pipeline.core.calendar.phrasebook import supported
from pipeline.core.calendar.resolver import resolve
from pipeline.core.calendar.values import CalendarValue, Expression, OfficeHours, Resolution

__all__ = ["CalendarValue", "Expression", "OfficeHours", "Resolution", "detect", "resolve", "supported_locales"]


def supported_locales() -> tuple[str, ...]:
    """The locales that have a phrase book, sorted."""
    return supported()
