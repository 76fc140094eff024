"""Evidence: where the spans of a reading stand, what the calendar says of them, and which dates nobody claims.

A span counts only if it is a substring of the new text, uncut (UN-2). Of each mention the calendar's own answer is taken, and
the model's value is only compared with it (UN-3, UN-5). The calendar's detector finds every date expression of the text: each
must be claimed by exactly one role, whole.

Invariants: nothing here reads a value off the text; the only answers are places, resolutions and faults.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, time
from itertools import pairwise

from pipeline.core.calendar import CalendarValue, Expression, Resolution, detect, resolve, supported_locales
from pipeline.core.checks.context import About, Context
from pipeline.core.cues import CueText
from pipeline.core.reading import Kind, Mention, Reading, Role, Span
from pipeline.core.text import find_span

_VAGUE_TIME = "vague_time"  # the calendar's reason for an hour without an exact value
_SEPARATORS = ("target", "replaced", "excluded", "join", "clause")
_LEFT_OVER = ("filler", "approximate", "unsure")
_STOPS = re.compile(r"[?!;]|\n[^\S\n]*\n")


@dataclass(frozen=True, slots=True)
class Fault:
    """One disagreement: the question that it leads to, the id of the rule that found it, and the calendar's own reasons."""

    about: About
    rule: str
    candidates: tuple[CalendarValue, ...] = ()
    calendar: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Placed:
    """A mention with its place in the text and the calendar's answer about its words."""

    mention: Mention
    start: int
    end: int
    found: Resolution

    @property
    def role(self) -> Role:
        return self.mention.role

    @property
    def readings(self) -> tuple[CalendarValue, ...]:
        """Everything that the words may mean."""
        return (self.found.value,) if self.found.value is not None else self.found.candidates

    @property
    def sure_day(self) -> date | None:
        """The day that all readings of the words agree on."""
        days = {day_of(value) for value in self.readings}
        return days.pop() if len(days) == 1 else None

    @property
    def dated(self) -> bool:
        """Whether the words name a day."""
        if not self.readings:
            return self.mention.kind is not Kind.TIME
        return any(day_of(value) is not None for value in self.readings)

    def overlaps(self, start: int, end: int) -> bool:
        return self.start < end and start < self.end


def place(text: str, span: Span) -> tuple[int, int] | None:
    """Where the span stands in the text; None where it does not, or where it is a piece of a longer word or number."""
    found = find_span(text, span.text, span.occurrence)
    return None if found is None or _cut(text, *found) else found


def place_mentions(reading: Reading, context: Context) -> tuple[tuple[Placed, ...], tuple[Fault, ...]]:
    """The mentions that stand in the text, in its order and without duplicates, and a fault for each that does not."""
    placed: dict[tuple[Role, int, int], Placed] = {}
    faults: list[Fault] = []
    for mention in reading.mentions:
        about = About.TIME if mention.kind is Kind.TIME else About.DATE
        where = place(context.text, mention.span)
        if where is None:
            faults.append(Fault(about, "span_not_in_text"))
            continue
        words = context.text[where[0] : where[1]]
        this = Placed(mention, *where, resolve_words(words, reading.language, context))
        twin = placed.setdefault((mention.role, *where), this)
        if twin.mention.value != mention.value:
            faults.append(Fault(about, "values_differ"))
    return tuple(sorted(placed.values(), key=lambda p: (p.start, p.end))), tuple(faults)


def resolve_words(words: str, language: str, context: Context) -> Resolution:
    """The calendar's answer in the person's locale, else in the language of the reading, else in any other."""
    found = Resolution("none")
    for locale in dict.fromkeys((context.locale[:2], language[:2].lower(), *supported_locales())):
        if locale in supported_locales():
            found = resolve(words, context.ref, context.tz, locale, context.office_hours)
        if found.status != "none":
            break
    return found


def overlap_faults(placed: Iterable[Placed]) -> list[Fault]:
    """Words claimed for two roles (UN-5)."""
    ordered = list(placed)
    return [
        Fault(About.ROLE, "roles_overlap")
        for at, one in enumerate(ordered)
        for other in ordered[at + 1 :]
        if one.role is not other.role and one.overlaps(other.start, other.end)
    ]


def neighbour_faults(placed: Iterable[Placed], text: str, cues: CueText) -> list[Fault]:
    """Dates of two roles with no word between that tells them apart: pieces of one date ("Saturday" "the 19th")."""
    return [
        Fault(About.ROLE, "pieces_of_one_date")
        for one, other in pairwise(placed)
        if one.role is not other.role
        and one.end <= other.start
        and not cues.beside(one.end, other.start, "filler")
        and not _told_apart(one.end, other.start, text, cues)
    ]


def value_faults(placed: Iterable[Placed], settled_by_record: bool) -> list[Fault]:
    """Model against calendar (UN-5). `settled_by_record`: words with two meanings may stand, the record says which."""
    return [fault for one in placed if (fault := _value_fault(one, settled_by_record)) is not None]


def _value_fault(one: Placed, settled_by_record: bool) -> Fault | None:
    given = _stated(one.mention.value)
    if one.found.value is not None:
        agrees = given == _stated(one.found.value.to_json()) or (one.role is not Role.VISIT and not given)
        return None if agrees else Fault(_about_value(one, given), "value_differs", (one.found.value,))
    if one.role is not Role.VISIT:
        return None
    possible = [_stated(value.to_json()) for value in one.found.candidates]
    if one.found.status == "ask" and not (settled_by_record and given in possible):
        return Fault(_about(one), "words_have_two_meanings", one.found.candidates, one.found.reasons)
    return Fault(_about(one), "words_not_understood") if one.found.status == "none" else None


def expressions_of(text: str) -> tuple[Expression, ...]:
    """Every date or time expression of the text, in any supported language: places, no values (UN-3).

    No expression goes on over a question, an exclamation or an empty line.
    """
    found: list[Expression] = []
    start = 0
    for end in [*(match.end() for match in _STOPS.finditer(text)), len(text)]:
        inside = detect(text[start:end], supported_locales())
        found += [Expression(start + one.start, start + one.end, one.kind) for one in inside]
        start = end
    return tuple(found)


def claim_faults(
    placed: tuple[Placed, ...], expressions: tuple[Expression, ...], cues: CueText, language: str, context: Context
) -> list[Fault]:
    """Date expressions that no role claims, that two roles claim, or that are claimed in part only (UN-5)."""
    faults = []
    for expression in expressions:
        about = About.TIME if expression.kind == "time" else About.DATE
        claims = [one for one in placed if one.overlaps(expression.start, expression.end)]
        if not claims:
            faults.append(Fault(about, "date_not_claimed"))
        elif len({one.role for one in claims}) > 1:
            if not _apart(claims, expression, context.text, cues):
                faults.append(Fault(About.ROLE, "date_claimed_twice"))
        elif claims[0].role is not Role.VISIT:
            if _date_left(claims, expression, context.text):
                faults.append(Fault(about, "date_claimed_in_part"))
        elif not any(one.start <= expression.start and expression.end <= one.end for one in claims):
            faults.extend(_pieces(claims, expression, about, cues, language, context))
    return faults


def _apart(claims: list[Placed], expression: Expression, text: str, cues: CueText) -> bool:
    """Whether what the detector takes for one expression is two dates with a word between them that tells them apart."""
    if any(one.found.status == "none" for one in claims) or _date_left(claims, expression, text):
        return False
    gaps = [(a.end, b.start) for a, b in pairwise(claims) if a.role is not b.role]
    return all(_told_apart(a, b, text, cues) for a, b in gaps)


def _told_apart(start: int, end: int, text: str, cues: CueText) -> bool:
    marked = any(mark in text[start:end] for mark in ",.:;()?!\n")
    return marked or any(cues.has(kind, start, end) for kind in _SEPARATORS)


def _date_left(claims: list[Placed], expression: Expression, text: str) -> bool:
    """Whether what spans of other roles leave of an expression is still a date by itself."""
    edges = [expression.start, *(edge for one in claims for edge in (one.start, one.end)), expression.end]
    return any(expressions_of(text[a:b]) for a, b in zip(edges[::2], edges[1::2], strict=True) if a < b)


def _pieces(
    claims: list[Placed], expression: Expression, about: About, cues: CueText, language: str, context: Context
) -> list[Fault]:
    """An expression that several spans cover, or one span in part: the whole must mean what its pieces mean."""
    at = expression.start
    for one in claims:
        if one.start > at and cues.beside(at, one.start, *_LEFT_OVER):
            return [Fault(about, "date_claimed_in_part")]
        at = max(at, one.end)
    if at < expression.end and cues.beside(at, expression.end, *_LEFT_OVER):
        return [Fault(about, "date_claimed_in_part")]
    whole = resolve_words(context.text[expression.start : expression.end], language, context)
    if whole.status == "none":
        return []
    pieces = [one.found.value for one in claims]
    if whole.value is None or None in pieces:
        return [Fault(about, "words_have_two_meanings", whole.candidates, whole.reasons)]
    merged: dict[str, str] = {}
    for piece in pieces:
        merged |= piece.to_json() if piece is not None else {}
    return [] if _stated(merged) == _stated(whole.value.to_json()) else [Fault(about, "date_claimed_in_part")]


def day_of(value: CalendarValue) -> date | None:
    """The day that a value states, or starts on."""
    if value.date is not None:
        return value.date
    if isinstance(value.start, datetime):
        return value.start.date()
    return value.start if isinstance(value.start, date) else None


def fits(start: datetime, value: CalendarValue) -> bool:
    """Whether a record that starts then is what the value states, as far as it states anything."""
    if value.date not in (None, start.date()) or value.time not in (None, start.time()):
        return False
    return _not_before(start, value.start) and _not_after(start, value.end)


def _not_before(start: datetime, bound: date | time | datetime | None) -> bool:
    if isinstance(bound, datetime):
        return start >= bound
    if isinstance(bound, time):
        return start.time() >= bound
    return bound is None or start.date() >= bound


def _not_after(start: datetime, bound: date | time | datetime | None) -> bool:
    if isinstance(bound, datetime):
        return start <= bound
    if isinstance(bound, time):
        return start.time() <= bound
    return bound is None or start.date() <= bound


def _about(one: Placed) -> About:
    """What is open about words with several meanings: the day, or only the time of a day that is clear."""
    if one.sure_day is not None or _VAGUE_TIME in one.found.reasons:
        return About.TIME
    return About.TIME if one.mention.kind is Kind.TIME else About.DATE


def _about_value(one: Placed, given: Mapping[str, str]) -> About:
    """What a model's value gets wrong: the day, or only the time."""
    days = {text[:10] for text in given.values() if "-" in text}
    right = one.sure_day.isoformat() if one.sure_day else None
    return About.DATE if days - {right} or (right and not days) else About.TIME


def _stated(value: Mapping[str, str]) -> dict[str, str]:
    """A value in one form: the bounds of a window carry their day."""
    stated = dict(value)
    if "date" in stated and {"start", "end"} & stated.keys():
        day = stated.pop("date")
        for key in ("start", "end"):
            if len(stated.get(key, "")) == 5:
                stated[key] = f"{day}T{stated[key]}"
    return stated


def _cut(text: str, start: int, end: int) -> bool:
    """Whether the stretch begins or ends inside a word or a number ("11" of "11:30", "4" of "4/5")."""
    if start and text[start - 1].isalnum() and text[start].isalnum():
        return True
    if end < len(text) and text[end - 1].isalnum() and text[end].isalnum():
        return True
    before, after = text[max(start - 2, 0) : start], text[end : end + 2]
    joined_before = len(before) == 2 and before[0].isdigit() and before[1] in ":/.-," and text[start].isdigit()
    joined_after = len(after) == 2 and after[1].isdigit() and after[0] in ":/.-," and text[end - 1].isdigit()
    return joined_before or joined_after
