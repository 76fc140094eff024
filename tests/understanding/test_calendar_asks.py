"""Where the calendar asks instead of guessing, and where it finds nothing (UN-4)."""

from __future__ import annotations

from datetime import datetime, time
from zoneinfo import ZoneInfo

import pytest

from tests.understanding.calendar_help import HOURS, TUESDAY, ask, says

TWO_READINGS = {
    "en": {
        "next Friday": "ask | 2026-08-21 | 2026-08-28",
        "this Tuesday": "ask | 2026-08-18 | 2026-08-25",
        "Tuesday": "ask | 2026-08-18 | 2026-08-25",
        "this Monday": "ask | 2026-08-17 | 2026-08-24",
        "a week from Tuesday": "ask | 2026-08-25 | 2026-09-01",
        "9/10": "ask | 2026-09-10 | 2026-10-09",
        "9/10/2026": "ask | 2026-09-10 | 2026-10-09",
        "July 17": "ask | 2026-07-17 | 2027-07-17",
        "Friday or Saturday": "ask | 2026-08-21 | 2026-08-22",
        "tomorrow at 8": "ask | 2026-08-19 08:00 | 2026-08-19 20:00",
        "3:30": "ask | 03:30 | 15:30",
        "from 2 to 4": "ask | 02:00..04:00 | 14:00..16:00",
        "sat 10": "ask | 2026-08-22 10:00 | 2026-08-22 22:00 | 2026-09-10",
        "five to six pm": "ask | 17:00..18:00 | 17:55",
    },
    "es": {
        "el próximo viernes": "ask | 2026-08-21 | 2026-08-28",
        "el viernes que viene": "ask | 2026-08-21 | 2026-08-28",
        "el viernes siguiente": "ask | 2026-08-21 | 2026-08-28",
        "este martes": "ask | 2026-08-18 | 2026-08-25",
        "el martes": "ask | 2026-08-18 | 2026-08-25",
        "en ocho días": "ask | 2026-08-25 | 2026-08-26",
        "dentro de 15 días": "ask | 2026-09-01 | 2026-09-02",
        "5/9": "ask | 2026-09-05 | 2027-05-09",
        "mar 25": "ask | 2026-08-25 | 2027-03-25",
        "el viernes o el sábado": "ask | 2026-08-21 | 2026-08-22",
        "mañana a las 8": "ask | 2026-08-19 08:00 | 2026-08-19 20:00",
        "de 2 a 4": "ask | 02:00..04:00 | 14:00..16:00",
        "17 de julio": "ask | 2026-07-17 | 2027-07-17",
    },
}

NO_SINGLE_VALUE = {
    "en": [
        "this weekend", "end of the month", "early next week", "mid September", "in a couple of days", "in a few weeks", "half five",
        "the Friday after next", "same time next week", "the next day", "3 days later", "midnight", "Friday midnight", "12 am Friday",
        "after 3 pm", "by Friday", "until Monday", "Tuesday or Wednesday after 4", "every Monday", "weekdays", "in the morning", "sometime Friday",
        "Monday to Friday", "3 at night", "later today or tomorrow", "would 5 may work", "not Friday", "Friday at 3 or so maybe later", "24/7",
    ],
    "es": [
        "este fin de semana", "fin de mes", "a principios de septiembre", "en un par de días", "en unos días", "la otra semana el jueves",
        "el día siguiente", "tres días después", "medianoche", "el viernes a medianoche", "a las 12 de la noche", "las 12 de la mañana",
        "mediodía", "después de las 3", "antes del viernes", "hasta el lunes", "los lunes", "todos los lunes", "por la mañana", "de lunes a viernes",
        "tres y pico", "tipo 3", "ahorita", "la 1", "no el viernes", "el viernes no", "a las 3 de la noche", "más tarde el viernes o el sábado",
    ],
}  # fmt: skip

CONTRADICTIONS = {
    "en": [
        "Monday the 20th", "Friday, August 20", "tomorrow, Friday", "the 31st of September", "Feb 30", "February 29, 2027", "8 pm in the morning",
        "Friday next month the 3rd",
        "this Friday (Aug 15)",
        "tomorrow Wednesday 3", "2027-13-12", "Tuesday 8/20",
    ],
    "es": [
        "lunes 20", "el viernes 20 de agosto", "mañana viernes", "31 de septiembre", "30 de febrero", "29 de febrero de 2027", "8 pm de la mañana", "mañana martes 8",
        "2027-13-12", "martes 20/8",
    ],
}  # fmt: skip

NOTHING = {
    "en": ["", "   ", "ok", "unit 1204", "2 bed 2 bath", "555-1212", "$1,450", "3", "the three", "1 or 2", "0 to 60", "between 1200 and 1500",
           "I'm 25", "at 650-650-6500", "no", "\U0001f600", "?", "a", "the", "on", "at", "24 hour maintenance", "1 on 1", "4a"],
    "es": ["", "vale", "depto 12", "2 recámaras y 2 baños", "555 0199", "$1,450", "3", "el segundo", "la primera", "los dos", "gracias mil",
           "somos 3 personas", "piso 3", "un", "de", "a", "el", "contrato de 12 meses"],
}  # fmt: skip


def _pairs(table: dict[str, dict[str, str]]) -> list[tuple[str, str, str]]:
    return [(locale, span, value) for locale, rows in table.items() for span, value in rows.items()]


def _each(table: dict[str, list[str]]) -> list[tuple[str, str]]:
    return [(locale, span) for locale, spans in table.items() for span in spans]


@pytest.mark.parametrize(("locale", "span", "answer"), _pairs(TWO_READINGS))
def test_two_readings_are_a_question_that_names_both(locale: str, span: str, answer: str) -> None:
    """Where people read a phrase in two ways the calendar asks, and its candidates are the two."""
    assert says(span, locale) == answer


@pytest.mark.parametrize(("locale", "span"), _each(NO_SINGLE_VALUE))
def test_vague_words_are_a_question_with_or_without_opening_hours(locale: str, span: str) -> None:
    """Weekends, parts of periods, open bounds, midnights and negations never become a value."""
    assert ask(span, locale).status == "ask"
    assert ask(span, locale, hours=HOURS).status == "ask"


@pytest.mark.parametrize(("locale", "span"), _each(CONTRADICTIONS))
def test_words_that_contradict_each_other_are_a_question(locale: str, span: str) -> None:
    """A weekday that is not that date's, a day that does not exist, a half of the day that is not that hour's."""
    assert ask(span, locale).status == "ask"


@pytest.mark.parametrize(("locale", "span"), _each(NOTHING))
def test_numbers_and_words_that_are_no_time_give_nothing(locale: str, span: str) -> None:
    """Bare numbers, prices, phones, units and fillers are neither a value nor a question."""
    assert ask(span, locale).status == "none"


@pytest.mark.parametrize(
    ("ref", "locale", "span"),
    [
        ("2026-08-19T00:30", "en", "tomorrow"),
        ("2026-08-19T02:00", "es", "mañana a las 3 de la tarde"),
        ("2026-08-23T10:00", "es", "el lunes que viene"),
        ("2026-08-23T10:00", "en", "next week"),
        ("2026-08-22T10:00", "en", "next Sunday"),
        ("2026-09-02T10:00", "en", "the 31st"),
        ("2026-09-02T10:00", "es", "el 31"),
        ("2027-02-10T10:00", "en", "Feb 29"),
        ("2027-02-10T10:00", "es", "29 de febrero"),
        ("2027-01-31T10:00", "en", "in a month"),
        ("2026-12-30T10:00", "en", "1/2"),
    ],
)
def test_the_moment_of_speaking_can_make_a_question(ref: str, locale: str, span: str) -> None:
    """After midnight, at the turn of weeks and in short months the same words stop being plain."""
    assert ask(span, locale, datetime.fromisoformat(ref)).status == "ask"


@pytest.mark.parametrize(
    ("ref", "locale", "span", "rule"),
    [
        ("2027-03-10T10:00", "en", "2:30 am March 14", "no_such_minute"),
        ("2027-03-10T10:00", "es", "el 14 de marzo a las 2:30 de la madrugada", "no_such_minute"),
        ("2026-10-30T10:00", "en", "1:30 am Nov 1", "minute_occurs_twice"),
        ("2026-10-30T10:00", "es", "1 de noviembre a la 1:30 am", "minute_occurs_twice"),
        ("2026-10-31T23:30", "en", "in two hours", "minute_occurs_twice"),
        ("2026-10-30T10:00", "en", "Nov 1 from 1 am to 4 am", "minute_occurs_twice"),
    ],
)
def test_minutes_that_do_not_exist_or_exist_twice_are_a_question(ref: str, locale: str, span: str, rule: str) -> None:
    """Where the zone's clocks skip a minute or show it twice, the calendar asks."""
    found = ask(span, locale, datetime.fromisoformat(ref))
    assert found.status == "ask"
    assert rule in found.reasons


def test_hours_from_now_are_hours_that_pass() -> None:
    """Over a clock change, hours are counted as they pass and days as the calendar has them."""
    before = datetime(2026, 10, 31, 20, 0)
    assert says("in 8 hours", "en", before) == "2026-11-01 03:00"
    assert says("in 1 day", "en", before) == "2026-11-01"


def test_the_same_words_in_a_zone_without_clock_changes_are_plain() -> None:
    """Arizona skips no minute: what is a question in Chicago is a value in Phoenix."""
    found = ask("2:30 am March 14", "en", datetime(2027, 3, 10, 10), tz=ZoneInfo("America/Phoenix"))
    assert found.status == "resolved"


@pytest.mark.parametrize(("locale", "span"), [("en", "at 3"), ("es", "a las 3")])
def test_hours_that_leave_both_or_no_reading_settle_nothing(locale: str, span: str) -> None:
    """Open around the clock or closed at both readings, the hour stays a question."""
    always = {"mon": [(time(0), time(23, 59))]}
    never = {"mon": [(time(9), time(11))]}
    assert ask(span, locale, hours=always).status == "ask"
    assert ask(span, locale, hours=never).status == "ask"
    assert ask(span, locale, hours={}).status == "ask"


def test_a_dial_of_24_hours_that_makes_no_sense_is_a_question() -> None:
    """02:30 at an office that opens at nine may be half past two in the afternoon."""
    assert says("tomorrow at 02:30", "en", hours=HOURS) == "ask | 2026-08-19 02:30 | 2026-08-19 14:30"
    assert says("tomorrow at 02:30", "en") == "2026-08-19 02:30"


def test_a_reference_outside_the_centuries_that_it_knows_gives_nothing() -> None:
    """The first and the last day of the calendar are no reference, and nothing raises there."""
    for ref in (datetime.min, datetime.max):
        assert ask("tomorrow", "en", ref).status == "none"


def test_a_reference_with_a_zone_is_read_as_local() -> None:
    """The reference is naive local; a zone that somebody left on it is ignored, not converted."""
    assert ask("tomorrow", "en", TUESDAY.replace(tzinfo=ZoneInfo("UTC"))) == ask("tomorrow", "en")
