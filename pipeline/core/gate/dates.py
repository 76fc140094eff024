"""Dates and times in prose, by the calendar resolver's own token tables (OG-2).

On a committing turn every date, time or relative day must stand in a fact: what the detector finds outside the facts is refused (words
that make another day of a fact, "two weeks after [Tuesday, July 21]", are rules of the lexicon). On other turns prose may name a date
that resolves to a value of the turn's allow-set; forms are compared by value, so that "1 PM", "13:00" and "la una de la tarde" are one
(OG-5). Without a reference instant only words that name the same allowed value on two different days can be compared.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from functools import lru_cache
from typing import Final
from zoneinfo import ZoneInfo

from pipeline.core.calendar import CalendarValue, Expression, detect, resolve, supported_locales
from pipeline.core.gate.model import Outgoing

_LINK: Final = re.compile(r"(?:[\s,]*[^\W\d_]{1,3})*[\s,]*")  # short words and commas


@dataclass(frozen=True, slots=True)
class Allowed:
    """An allow-set, taken apart."""

    days: frozenset[date]
    times: frozenset[time]
    instants: frozenset[datetime]


def expressions(locale: str, prose: str) -> tuple[Expression, ...]:
    """Every date, time or relative day in `prose`, by the tables of all locales, the reply's own first."""
    return detect(prose, _locales(locale))


def unvouched(outgoing: Outgoing, text: str, found: Iterable[Expression]) -> Iterator[tuple[int, int, str]]:
    """Those of the expressions in prose that nothing vouches for: start, end, rule."""
    if outgoing.committing:
        yield from ((each.start, each.end, "outside_fact") for each in found)
    elif outgoing.allow is not None:
        allowed = _parsed(tuple(sorted(outgoing.allow)))
        for group in _groups(text, found):
            start, end = group[0].start, group[-1].end
            if len(group) > 1 and (whole := _named(text[start:end], outgoing, allowed)) is not None:
                pieces = [(start, end, whole)]
            else:
                pieces = [(e.start, e.end, bool(_named(text[e.start : e.end], outgoing, allowed))) for e in group]
            yield from ((start, end, "not_allowed") for start, end, named in pieces if not named)


def _groups(text: str, found: Iterable[Expression]) -> Iterator[list[Expression]]:
    """Expressions with only linking words between them ("Friday" at "3 pm"), which may state one instant together."""
    group: list[Expression] = []
    for each in found:
        if group and not _LINK.fullmatch(text, group[-1].end, each.start):
            yield group
            group = []
        group.append(each)
    if group:
        yield group


def _locales(locale: str) -> tuple[str, ...]:
    """The reply's locale first, then every other supported one."""
    first = locale[:2].lower()
    return (first, *(other for other in supported_locales() if other != first))


@lru_cache(maxsize=16)
def _parsed(values: tuple[str, ...]) -> Allowed:
    days: set[date] = set()
    times: set[time] = set()
    instants: set[datetime] = set()
    for value in values:
        if "T" in value:
            instants.add(datetime.fromisoformat(value).replace(tzinfo=None))
        elif ":" in value:
            times.add(time.fromisoformat(value))
        else:
            days.add(date.fromisoformat(value))
    return Allowed(
        frozenset(days | {instant.date() for instant in instants}),
        frozenset(times | {instant.time() for instant in instants}),
        frozenset(instants | {datetime.combine(day, at) for day in days for at in times}),
    )


def _named(span: str, outgoing: Outgoing, allowed: Allowed) -> bool | None:
    """Whether an expression names an allowed value; None where it names none at all."""
    if outgoing.now is not None:
        zone = outgoing.now.tzinfo if isinstance(outgoing.now.tzinfo, ZoneInfo) else ZoneInfo("UTC")
        return _reads(span, outgoing.now.replace(tzinfo=None), zone, outgoing.locale, allowed)
    days = allowed.days or {date(2001, 1, 1)}
    seen = [
        {
            _reads(
                span, datetime.combine(day - timedelta(days=back), time(12)), ZoneInfo("UTC"), outgoing.locale, allowed
            )
            for back in (1, 5)
        }
        for day in days
    ]
    return True if {True} in seen else None if all(answers == {None} for answers in seen) else False


def _reads(span: str, ref: datetime, zone: ZoneInfo, locale: str, allowed: Allowed) -> bool | None:
    named: bool | None = None
    for each in _locales(locale):
        answer = resolve(span, ref, zone, each)
        values = (answer.value,) if answer.value is not None else answer.candidates
        if any(_covers(value, allowed) for value in values):
            return True
        if values:
            named = False
    return named


def _covers(value: CalendarValue, allowed: Allowed) -> bool:
    if value.start is not None or value.end is not None:
        return all(_bound(bound, allowed) for bound in (value.start, value.end) if bound is not None)
    if value.date is not None and value.time is not None:
        return datetime.combine(value.date, value.time) in allowed.instants
    return _bound(value.date or value.time, allowed)


def _bound(bound: date | time | datetime | None, allowed: Allowed) -> bool:
    if isinstance(bound, datetime):
        return bound in allowed.instants
    if isinstance(bound, time):
        return bound in allowed.times
    return bound in allowed.days
