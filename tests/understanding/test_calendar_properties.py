"""What holds of the calendar for every day, every form and every text (UN-3, UN-4)."""

from __future__ import annotations

import time as clock
from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from pipeline.core.calendar import Resolution, detect, resolve, supported_locales
from pipeline.core.calendar.phrasebook import book
from tests.understanding.calendar_help import CHICAGO, HOURS

Slot = datetime
Form = Callable[[Slot], str]

EN_DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
ES_DAYS = ["lunes", "martes", "miércoles", "jueves", "viernes", "sábado", "domingo"]
EN_MONTHS = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
]
ES_MONTHS = [
    "enero",
    "febrero",
    "marzo",
    "abril",
    "mayo",
    "junio",
    "julio",
    "agosto",
    "septiembre",
    "octubre",
    "noviembre",
    "diciembre",
]


def _half(slot: Slot) -> str:
    return f"{slot.hour % 12 or 12}:{slot.minute:02} {'pm' if slot.hour >= 12 else 'am'}"


def _es_half(slot: Slot) -> str:
    part = "de la mañana" if slot.hour < 12 else "de la tarde" if slot.hour < 20 else "de la noche"
    hour = slot.hour % 12 or 12
    return f"a la{'s' if hour > 1 else ''} {hour}:{slot.minute:02} {part}"


def _nth(day: int) -> str:
    return f"{day}{'th' if 10 < day < 20 else {1: 'st', 2: 'nd', 3: 'rd'}.get(day % 10, 'th')}"


EN_DATES: dict[str, Form] = {
    "long": lambda s: f"{EN_DAYS[s.weekday()]}, {EN_MONTHS[s.month - 1]} {s.day}, {s.year}",
    "day first": lambda s: f"{s.day} {EN_MONTHS[s.month - 1][:3]} {s.year}",
    "iso": lambda s: s.date().isoformat(),
    "dashed": lambda s: f"{s.day}-{EN_MONTHS[s.month - 1][:3]}-{s.year}",
    "month and day": lambda s: f"{EN_MONTHS[s.month - 1]} {_nth(s.day)}",
    "the nth of": lambda s: f"the {_nth(s.day)} of {EN_MONTHS[s.month - 1]}",
    "weekday and nth": lambda s: f"{EN_DAYS[s.weekday()]} the {_nth(s.day)}",
    "nth": lambda s: f"the {_nth(s.day)}",
    "weekday": lambda s: EN_DAYS[s.weekday()],
    "slashes": lambda s: f"{s.month}/{s.day}",
    "slashes and year": lambda s: f"{s.month:02}/{s.day:02}/{s.year}",
    "weekday and slashes": lambda s: f"{EN_DAYS[s.weekday()][:3]} {s.month}/{s.day}",
}
ES_DATES: dict[str, Form] = {
    "largo": lambda s: f"el {ES_DAYS[s.weekday()]} {s.day} de {ES_MONTHS[s.month - 1]} de {s.year}",
    "corto": lambda s: f"{s.day}-{ES_MONTHS[s.month - 1][:3]}-{s.year}",
    "iso": lambda s: s.date().isoformat(),
    "día y mes": lambda s: f"el {s.day} de {ES_MONTHS[s.month - 1]}",
    "mes y día": lambda s: f"{ES_MONTHS[s.month - 1]} {s.day}",
    "día de semana y día": lambda s: f"{ES_DAYS[s.weekday()]} {s.day}",
    "el día": lambda s: f"el día {s.day}",
    "día de semana": lambda s: f"el {ES_DAYS[s.weekday()]}",
    "barras": lambda s: f"{s.day}/{s.month}",
    "barras y año": lambda s: f"{s.day:02}/{s.month:02}/{s.year}",
}
EN_TIMES: dict[str, Form] = {
    "half": lambda s: f"at {_half(s)}",
    "joined": lambda s: _half(s).replace(" ", ""),
    "dots": lambda s: _half(s).replace("am", "a.m.").replace("pm", "p.m."),
    "dial": lambda s: f"at {s.hour:02}:{s.minute:02}",
    "bare": lambda s: f"at {s.hour % 12 or 12}:{s.minute:02}",
}
ES_TIMES: dict[str, Form] = {
    "parte": _es_half,
    "media": lambda s: f"a las {_half(s)}",
    "esfera": lambda s: f"a las {s.hour:02}:{s.minute:02}",
    "desnuda": lambda s: f"a las {s.hour % 12 or 12}:{s.minute:02}",
}
PLAIN = {"long", "day first", "iso", "dashed", "largo", "corto"}
EXACT = {"half", "joined", "dots", "parte", "media"}
FORMS = [
    *(("en", d, t, EN_DATES[d], EN_TIMES[t]) for d in EN_DATES for t in EN_TIMES),
    *(("es", d, t, ES_DATES[d], ES_TIMES[t]) for d in ES_DATES for t in ES_TIMES),
]

refs = st.datetimes(datetime(2025, 1, 1), datetime(2031, 12, 31), allow_imaginary=False).map(
    lambda at: at.replace(second=0, microsecond=0)
)
slots = st.builds(
    lambda days, quarter: timedelta(days=days, minutes=15 * quarter), st.integers(1, 320), st.integers(6 * 4, 21 * 4)
)


def _slot(ref: datetime, ahead: timedelta) -> Slot:
    return datetime.combine(ref.date(), time(0)) + ahead


def _stated(found: Resolution) -> tuple[date | None, time | None]:
    assert found.value is not None
    return found.value.date, found.value.time


@given(st.sampled_from(FORMS), refs, slots)
def test_a_rendered_slot_comes_back_or_is_a_question(
    form: tuple[str, str, str, Form, Form], ref: datetime, ahead: timedelta
) -> None:
    """Any coming slot, in any form of either language, resolves to itself or to a question: never to another slot."""
    locale, _, _, day, hour = form
    slot = _slot(ref, ahead)
    found = resolve(f"{day(slot)} {hour(slot)}", ref, CHICAGO, locale)
    if form[1] in {"weekday", "nth", "día de semana", "el día"} and found.status == "resolved":
        # these name the nearest such day, which the slot is only if it is near
        assert _stated(found)[1] == slot.time()
        assume(ahead < timedelta(days=7) if "w" in form[1] or "semana" in form[1] else ahead < timedelta(days=28))
        assert _stated(found)[0] in {slot.date(), None}
    elif form[1] in {"weekday and nth", "día de semana y día"} and ahead >= timedelta(days=28):
        assert found.status == "ask" or _stated(found)[1] == slot.time()
    else:
        assert found.status == "ask" or _stated(found) == (slot.date(), slot.time())


@given(st.sampled_from([form for form in FORMS if form[1] in PLAIN and form[2] in EXACT]), refs, slots)
def test_a_slot_written_out_in_full_is_resolved(
    form: tuple[str, str, str, Form, Form], ref: datetime, ahead: timedelta
) -> None:
    """A date with its year and a time with its half leave nothing to ask."""
    locale, _, _, day, hour = form
    slot = _slot(ref, ahead)
    assume(not 12 <= slot.hour < 13 or "mañana" not in hour(slot))
    found = resolve(f"{day(slot)}, {hour(slot)}", ref, CHICAGO, locale)
    assert found.status == "resolved"
    assert _stated(found) == (slot.date(), slot.time())


@given(st.sampled_from(FORMS), refs, slots)
def test_opening_hours_never_change_a_value(
    form: tuple[str, str, str, Form, Form], ref: datetime, ahead: timedelta
) -> None:
    """Hours may settle a question or raise one; what is resolved both with and without them is the same."""
    locale, _, _, day, hour = form
    slot = _slot(ref, ahead)
    span = f"{day(slot)} {hour(slot)}"
    without, with_hours = resolve(span, ref, CHICAGO, locale), resolve(span, ref, CHICAGO, locale, HOURS)
    if without.status == with_hours.status == "resolved":
        assert without.value == with_hours.value
    if with_hours.status == "resolved" and without.status == "ask":
        assert with_hours.value in without.candidates


@given(
    st.sampled_from(FORMS), refs, slots, st.sampled_from([str.upper, str.lower, str.title, lambda s: f"  {s}\u00a0! "])
)
def test_case_and_white_space_change_nothing(
    form: tuple[str, str, str, Form, Form], ref: datetime, ahead: timedelta, change: Callable[[str], str]
) -> None:
    """The same words in capitals, or between spaces and signs, mean the same."""
    locale, _, _, day, hour = form
    slot = _slot(ref, ahead)
    span = f"{day(slot)} {hour(slot)}"
    assert resolve(change(span), ref, CHICAGO, locale) == resolve(span, ref, CHICAGO, locale)


@given(
    st.sampled_from(FORMS),
    refs,
    slots,
    st.sampled_from(["not", "except", "zzz", "1204", "$5", "no el", "ni", "\u202e", "\u00bd"]),
    st.booleans(),
)
def test_a_word_that_the_book_does_not_know_leaves_no_value(
    form: tuple[str, str, str, Form, Form], ref: datetime, ahead: timedelta, word: str, first: bool
) -> None:
    """Every token is consumed or there is no value: a negation or a stray number is never skipped."""
    locale, _, _, day, hour = form
    slot = _slot(ref, ahead)
    span = f"{day(slot)} {hour(slot)}"
    assert resolve(f"{word} {span}" if first else f"{span} {word}", ref, CHICAGO, locale).status != "resolved"


def _words(locale: str) -> list[str]:
    found = book(locale)
    assert found is not None
    signs = [
        "3",
        "15",
        "20",
        "31",
        "00",
        "99",
        "2026",
        "3:30",
        "09:30",
        "21st",
        "8/21",
        "2026-08-20",
        "-",
        "/",
        ".",
        "@",
        "\u00bd",
        "pm",
        "5pm",
    ]
    return [*(word for word in sorted(found.classes) if word[0] != "#"), *signs]


WORDS = {locale: _words(locale) for locale in supported_locales()}
salads = st.sampled_from(sorted(WORDS)).flatmap(
    lambda locale: st.tuples(st.just(locale), st.lists(st.sampled_from(WORDS[locale]), max_size=12).map(" ".join))
)


@given(st.one_of(salads, st.tuples(st.sampled_from(["en", "es", "xx"]), st.text(max_size=60))), st.datetimes())
@example(("en", "in 999 years and 999 years and 999 years"), datetime(2026, 8, 18))
@example(("en", "\ud800"), datetime(2026, 8, 18))
@example(("es", "\u0660\u0661 de agosto"), datetime(2026, 8, 18))
def test_any_text_at_any_moment_gives_a_coherent_answer(text: tuple[str, str], ref: datetime) -> None:
    """Nothing raises; only `resolved` has a value, only `ask` has candidates, and a range runs forwards."""
    locale, span = text
    for hours in (None, HOURS):
        found = resolve(span, ref, CHICAGO, locale, hours)
        assert (found.value is not None) == (found.status == "resolved")
        assert not found.candidates or found.status == "ask"
        assert found.status == "resolved" or found.reasons
        for value in (found.value, *found.candidates):
            if value is not None and isinstance(value.start, date) and isinstance(value.end, date):
                assert value.start <= value.end
                assert value.date is None and value.time is None


@given(salads)
def test_what_resolves_is_found_in_a_text(text: tuple[str, str]) -> None:
    """A span that states a day and a time, other than "now", is seen by the detector too: both read one lexicon."""
    locale, span = text
    now = datetime(2026, 8, 18, 10)
    found = resolve(span, now, CHICAGO, locale)
    if found.value is not None and found.value.date and found.value.time:
        assert detect(span, (locale,)) or datetime.combine(found.value.date, found.value.time) == now


@pytest.mark.parametrize(
    "zone", ["America/Chicago", "America/Phoenix", "Europe/Madrid", "Australia/Lord_Howe", "Pacific/Apia", "UTC"]
)
@given(at=st.datetimes(datetime(2026, 1, 1), datetime(2028, 12, 31)), minutes=st.integers(1, 3000))
def test_minutes_from_now_pass_on_every_clock(zone: str, at: datetime, minutes: int) -> None:
    """In any zone, so many minutes from now are so many minutes later, or a question at a clock change."""
    tz = ZoneInfo(zone)
    found = resolve(f"in {minutes} minutes", at, tz, "en")
    assume(found.status == "resolved")
    assert found.value is not None and found.value.date and found.value.time
    then = datetime.combine(found.value.date, found.value.time, tz)
    passed = then.timestamp() - at.replace(tzinfo=tz, second=0, microsecond=0).timestamp()
    assert passed == minutes * 60


@pytest.mark.parametrize(
    "unit",
    [
        "sat may 3 ",
        "de la 3 a las ",
        "in a week from ",
        "8/21-",
        "3:30 to ",
        "mañana a ",
        "\u00bd ",
        "the 20th of ",
        "uno y ",
        "a",
    ],
)
def test_time_grows_with_the_length_of_a_text_and_no_faster(unit: str) -> None:
    """Eight times as much hostile text costs at most some sixteen times as long, resolver and detector together."""

    def cost(times: int) -> float:
        text = unit * times
        best = float("inf")
        for _ in range(3):
            began = clock.process_time()
            detect(text, supported_locales())
            for locale in supported_locales():
                resolve(text, datetime(2026, 8, 18, 10), CHICAGO, locale)
            best = min(best, clock.process_time() - began)
        return best

    short = max(cost(10), 0.0005)
    assert cost(80) <= 16 * short
