"""`resolve`: from a span to an answer.

The answer is the set of *all* values that *any* complete reading of the span may state. One value and no reason for
doubt: resolved. More: ask, with the readings as candidates. None, though the span speaks of days or times: ask. Nothing
of the kind: none. So an ambiguity is not a rule that somebody has to remember, it is two readings in the phrase book;
and what the book does not know is never skipped, since a reading consumes every token.

A reading that contradicts itself (a Monday the 20th that is a Thursday) counts only where no other one holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, time, timedelta
from zoneinfo import ZoneInfo

from pipeline.core.calendar.descriptions import Written
from pipeline.core.calendar.detector import detect_in
from pipeline.core.calendar.meanings import YEARS
from pipeline.core.calendar.phrasebook import PhraseBook, book
from pipeline.core.calendar.reading import outcome
from pipeline.core.calendar.said import Moment, Outcome
from pipeline.core.calendar.sentence import Item, Phrase, Sentences
from pipeline.core.calendar.values import CalendarValue, OfficeHours, Resolution

SMALL_HOURS = time(4)
"""Until then, after midnight, a speaker's "today" may be the day before."""

MOST_TOKENS = 32
"""A longer span is no expression: it gets no complete reading."""

MOST_CANDIDATES = 6
"""How many readings an `ask` names."""


def resolve(span: str, ref: datetime, tz: ZoneInfo, locale: str, office_hours: OfficeHours | None = None) -> Resolution:
    """What `span` states, said at `ref` (naive local) in zone `tz`; opening hours can settle the half of the day.

    Never raises, and never guesses: see the module. A locale without a phrase book gives `none`.
    """
    found = book(locale)
    if found is None:
        return Resolution("none", reasons=("locale_unsupported",))
    return resolve_in(found, span, ref, tz, office_hours)


def resolve_in(
    phrases: PhraseBook, span: str, ref: datetime, tz: ZoneInfo, office_hours: OfficeHours | None = None
) -> Resolution:
    """`resolve` with a phrase book in hand."""
    tokens = phrases.tokens(span)
    if not tokens:
        return Resolution("none", reasons=("no_words",))
    if ref.year not in YEARS:
        return Resolution("none", reasons=("reference_out_of_range",))
    outcomes: list[Outcome] = []
    if len(tokens) <= MOST_TOKENS:
        at = ref.replace(tzinfo=None)
        todays = [at.date()]
        if time(0) < at.time() < SMALL_HOURS:
            todays.append(at.date() - timedelta(days=1))
        complete = _whole_dates(list(Sentences(phrases, tokens).complete()))
        for today in todays:
            moment = Moment(at, today, tz, office_hours)
            outcomes += [found for phrase in complete if (found := outcome(phrase, moment))]
    if not outcomes:
        return _unread(phrases, span)
    return _answer(outcomes)


def _whole_dates(complete: list[Phrase]) -> list[Phrase]:
    """Of readings that include one written date with its year ("9-Nov-26"), only those: nobody writes a range so."""
    whole = [phrase for phrase in complete if phrase.right is None and _is_whole_date(phrase.left.items)]
    return whole or complete


def _is_whole_date(items: tuple[Item, ...]) -> bool:
    day = items[0].value
    return len(items) == 1 and isinstance(day, Written) and not day.rule and all(r.year for r in day.readings)


def _answer(outcomes: Sequence[Outcome]) -> Resolution:
    for states in (("sound", "vague"), ("open",), ("broken",)):
        live = [found for found in outcomes if found.state in states]
        if live:
            break
    values = tuple(dict.fromkeys(value for found in live for value in found.values))
    rules = tuple(dict.fromkeys(rule for found in live for rule in found.rules))
    if len(values) == 1 and all(found.state == "sound" for found in live):
        return Resolution("resolved", values[0], (), rules)
    if not rules:
        rules = ("several_readings",)
    return Resolution("ask", None, tuple(sorted(values, key=_order))[:MOST_CANDIDATES], rules)


def _order(value: CalendarValue) -> tuple[str, ...]:
    """Candidates go by date and time."""
    return tuple(value.to_json().values())


def _unread(phrases: PhraseBook, span: str) -> Resolution:
    """A span that has no complete reading: a question if it speaks of days or times at all."""
    if detect_in(span, (phrases,)):
        return Resolution("ask", reasons=("words_left_over",))
    return Resolution("none", reasons=("no_reading",))
