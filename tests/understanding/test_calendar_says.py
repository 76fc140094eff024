"""What the calendar says of plain words, in both languages (UN-4). All was said on Tuesday 18 August 2026 at 10:00."""

from __future__ import annotations

from datetime import datetime

import pytest

from tests.understanding.calendar_help import HOURS, ask, says

DAYS = {
    "en": {
        "today": "2026-08-18",
        "TOMORROW": "2026-08-19",
        "tmrw": "2026-08-19",
        "the day after tomorrow": "2026-08-20",
        "yesterday": "2026-08-17",
        "Friday": "2026-08-21",
        "on Fri.": "2026-08-21",
        "this Friday": "2026-08-21",
        "this coming Monday": "2026-08-24",
        "next Monday": "2026-08-24",
        "Monday of next week": "2026-08-24",
        "a week from Thursday": "2026-08-27",
        "two weeks from Friday": "2026-09-04",
        "a week from tomorrow": "2026-08-26",
        "tomorrow week": "2026-08-26",
        "in 3 days": "2026-08-21",
        "in two weeks": "2026-09-01",
        "three days from now": "2026-08-21",
        "2 days ago": "2026-08-16",
        "in a month": "2026-09-18",
        "the 20th": "2026-08-20",
        "the 2nd": "2026-09-02",
        "the twenty-first": "2026-08-21",
        "Thursday the 20th": "2026-08-20",
        "Saturday 22": "2026-08-22",
        "next Friday the 28th": "2026-08-28",
        "next Friday 28": "2026-08-28",
        "tomorrow, Wednesday 19": "2026-08-19",
        "the day after Labor Day": "2026-09-08",
        "9-Nov-26": "2026-11-09",
        "August 20": "2026-08-20",
        "20 August": "2026-08-20",
        "the 20th of August, 2026": "2026-08-20",
        "Aug. 20th": "2026-08-20",
        "Aug-20": "2026-08-20",
        "20aug2026": "2026-08-20",
        "May twenty-ninth": "2027-05-29",
        "8/20": "2026-08-20",
        "20/8": "2026-08-20",
        "8/20/26": "2026-08-20",
        "2026-08-20": "2026-08-20",
        "20.08.2026": "2026-08-20",
        "Thu 9/10": "2026-09-10",
        "10/10": "2026-10-10",
        "the first Monday of next month": "2026-09-07",
        "last Friday of September": "2026-09-25",
        "the last day of the month": "2026-08-31",
        "the 1st of next month": "2026-09-01",
        "Thanksgiving": "2026-11-26",
        "tomorrow morning": "2026-08-19",
        "tonight": "2026-08-18",
        "first thing Monday": "2026-08-24",
        "how about Friday": "2026-08-21",
        "July 4, 2025": "2025-07-04",
    },
    "es": {
        "hoy": "2026-08-18",
        "mañana": "2026-08-19",
        "MANANA": "2026-08-19",
        "pasado mañana": "2026-08-20",
        "anteayer": "2026-08-16",
        "el viernes": "2026-08-21",
        "vie.": "2026-08-21",
        "este sábado": "2026-08-22",
        "el lunes que viene": "2026-08-24",
        "el próximo lunes": "2026-08-24",
        "el martes de la semana que viene": "2026-08-25",
        "la próxima semana el jueves": "2026-08-27",
        "de hoy en ocho": "2026-08-25",
        "de hoy en 15": "2026-09-01",
        "del jueves en ocho": "2026-08-27",
        "en 3 días": "2026-08-21",
        "dentro de dos semanas": "2026-09-01",
        "hace dos días": "2026-08-16",
        "de aquí a un mes": "2026-09-18",
        "el 20": "2026-08-20",
        "el día 2": "2026-09-02",
        "el veintiuno": "2026-08-21",
        "jueves 20": "2026-08-20",
        "sábado veintidós": "2026-08-22",
        "mañana miércoles 19": "2026-08-19",
        "el día antes de navidad": "2026-12-24",
        "20 de agosto": "2026-08-20",
        "el 20 de agosto del 2026": "2026-08-20",
        "agosto 20": "2026-08-20",
        "1ro de sept.": "2026-09-01",
        "el primero de septiembre": "2026-09-01",
        "treinta y uno de diciembre": "2026-12-31",
        "20/8": "2026-08-20",
        "8/20": "2026-08-20",
        "20-ago-2026": "2026-08-20",
        "20.08.2026": "2026-08-20",
        "el primer lunes del próximo mes": "2026-09-07",
        "el último viernes de septiembre": "2026-09-25",
        "el último día del mes": "2026-08-31",
        "el 1 del próximo mes": "2026-09-01",
        "nochebuena": "2026-12-24",
        "mañana por la mañana": "2026-08-19",
        "esta noche": "2026-08-18",
        "a primera hora del lunes": "2026-08-24",
        "qué tal el viernes": "2026-08-21",
        "el 4 de julio de 2025": "2025-07-04",
    },
}

TIMES = {
    "en": {
        "3 pm": "15:00",
        "3PM": "15:00",
        "3 p.m.": "15:00",
        "3p": "15:00",
        "at 3:30 p.m.": "15:30",
        "half past three pm": "15:30",
        "quarter to four in the afternoon": "15:45",
        "ten past nine in the morning": "09:10",
        "15:00": "15:00",
        "09:30": "09:30",
        "15h30": "15:30",
        "three thirty pm": "15:30",
        "three oh five pm": "15:05",
        "8 in the evening": "20:00",
        "11 at night": "23:00",
        "noon": "12:00",
        "12 pm": "12:00",
        "around 3 pm": "15:00",
        "730 pm": "19:30",
        "8.30pm": "20:30",
    },
    "es": {
        "a las 3 pm": "15:00",
        "a las 3 de la tarde": "15:00",
        "a las tres y media de la tarde": "15:30",
        "a las tres y cuarto p. m.": "15:15",
        "cuarto para las cinco de la tarde": "16:45",
        "las cuatro menos diez de la tarde": "15:50",
        "las 9 de la mañana": "09:00",
        "a las 8 de la noche": "20:00",
        "a las 15": "15:00",
        "15:00": "15:00",
        "15h30": "15:30",
        "a las quince y treinta": "15:30",
        "a las seis cero cinco pm": "18:05",
        "la una de la tarde": "13:00",
        "12 del mediodía": "12:00",
        "a las 12 del día": "12:00",
        "a eso de las 4 de la tarde": "16:00",
    },
}

BOTH = {
    "en": {
        "tomorrow at 3 pm": "2026-08-19 15:00",
        "3 pm tomorrow": "2026-08-19 15:00",
        "Friday, August 21, at 10:30 am": "2026-08-21 10:30",
        "10:30am on Fri 8/21": "2026-08-21 10:30",
        "Friday the 21st at noon": "2026-08-21 12:00",
        "tomorrow morning at 9": "2026-08-19 09:00",
        "8 tonight": "2026-08-18 20:00",
        "2026-08-21 14:00": "2026-08-21 14:00",
        "today maybe 1 pm": "2026-08-18 13:00",
        "in two hours": "2026-08-18 12:00",
        "in an hour and a half": "2026-08-18 11:30",
        "in half an hour": "2026-08-18 10:30",
        "right now": "2026-08-18 10:00",
    },
    "es": {
        "mañana a las 3 de la tarde": "2026-08-19 15:00",
        "a las 3 pm de mañana": "2026-08-19 15:00",
        "el viernes 21 de agosto a las 10:30 am": "2026-08-21 10:30",
        "mañana en la mañana a las 9": "2026-08-19 09:00",
        "el viernes 21 a las dieciséis horas": "2026-08-21 16:00",
        "esta noche a las 8": "2026-08-18 20:00",
        "hoy tal vez a la 1 pm": "2026-08-18 13:00",
        "en dos horas": "2026-08-18 12:00",
        "en media hora": "2026-08-18 10:30",
        "ahora mismo": "2026-08-18 10:00",
    },
}

RANGES = {
    "en": {
        "2 to 4 pm": "14:00..16:00",
        "11-1pm": "11:00..13:00",
        "11 am to 3": "11:00..15:00",
        "10:00 - 13:30": "10:00..13:30",
        "11pm to 1am": "23:00..01:00",
        "tomorrow between 2 and 4 pm": "2026-08-19 14:00..2026-08-19 16:00",
        "from 4pm today to 5pm tomorrow": "2026-08-18 16:00..2026-08-19 17:00",
        "Friday 9am-5pm": "2026-08-21 09:00..2026-08-21 17:00",
        "Aug 20-22": "2026-08-20..2026-08-22",
        "the 20th to the 22nd": "2026-08-20..2026-08-22",
        "from 20 to 22 August": "2026-08-20..2026-08-22",
        "Dec 28 - Jan 3, 2027": "2026-12-28..2027-01-03",
        "8/28/2026 - 9/2/2026": "2026-08-28..2026-09-02",
        "next week": "2026-08-24..2026-08-30",
        "next month": "2026-09-01..2026-09-30",
        "in September": "2026-09-01..2026-09-30",
        "the week of the 24th": "2026-08-24..2026-08-30",
        "Feb 2028": "2028-02-01..2028-02-29",
    },
    "es": {
        "de 2 a 4 de la tarde": "14:00..16:00",
        "entre las 11 y la 1 de la tarde": "11:00..13:00",
        "de 11 am a 3": "11:00..15:00",
        "mañana entre las 2 y las 4 pm": "2026-08-19 14:00..2026-08-19 16:00",
        "desde hoy a las 4 pm hasta mañana a las 5 pm": "2026-08-18 16:00..2026-08-19 17:00",
        "el viernes de 9 am a 5 pm": "2026-08-21 09:00..2026-08-21 17:00",
        "del 20 al 22 de agosto": "2026-08-20..2026-08-22",
        "del 20 al 22": "2026-08-20..2026-08-22",
        "del 28 de diciembre al 3 de enero": "2026-12-28..2027-01-03",
        "la semana que viene": "2026-08-24..2026-08-30",
        "el mes que viene": "2026-09-01..2026-09-30",
        "en septiembre": "2026-09-01..2026-09-30",
        "la semana del 24": "2026-08-24..2026-08-30",
        "jueves 20 de 2 a 4 de la tarde": "2026-08-20 14:00..2026-08-20 16:00",
    },
}

BY_HOURS = {
    "en": {
        "at 3": "15:00",
        "tomorrow at 9": "2026-08-19 09:00",
        "Friday at half past two": "2026-08-21 14:30",
        "at 12": "12:00",
        "between 2 and 4 tomorrow": "2026-08-19 14:00..2026-08-19 16:00",
    },
    "es": {
        "a las 3": "15:00",
        "mañana a las 9": "2026-08-19 09:00",
        "el viernes a las dos y media": "2026-08-21 14:30",
        "a las 12": "12:00",
        "de 2 a 4 mañana": "2026-08-19 14:00..2026-08-19 16:00",
    },
}


def _rows(table: dict[str, dict[str, str]]) -> list[tuple[str, str, str]]:
    return [(locale, span, value) for locale, rows in table.items() for span, value in rows.items()]


@pytest.mark.parametrize(("locale", "span", "value"), _rows(DAYS))
def test_words_for_a_day_name_that_day(locale: str, span: str, value: str) -> None:
    """Relative days, weekdays, ordinals and written dates give their day, and no time."""
    assert says(span, locale) == value


@pytest.mark.parametrize(("locale", "span", "value"), _rows(TIMES))
def test_words_for_a_time_name_that_time(locale: str, span: str, value: str) -> None:
    """Clocks of both dials, spoken forms and parts of the day give their time, and no day."""
    assert says(span, locale) == value


@pytest.mark.parametrize(("locale", "span", "value"), _rows(BOTH))
def test_a_day_and_a_time_in_any_order_name_both(locale: str, span: str, value: str) -> None:
    """Day and time may stand in any order, with the part of the day beside either."""
    assert says(span, locale) == value


@pytest.mark.parametrize(("locale", "span", "value"), _rows(RANGES))
def test_the_ends_of_a_range_complete_each_other(locale: str, span: str, value: str) -> None:
    """Two ends share the day, the month, the year and the half of the day that one of them names."""
    assert says(span, locale) == value


@pytest.mark.parametrize(("locale", "span", "value"), _rows(BY_HOURS))
def test_opening_hours_settle_a_bare_hour(locale: str, span: str, value: str) -> None:
    """An hour without its half is the one reading inside opening hours; without hours it is a question."""
    assert says(span, locale, hours=HOURS) == value
    assert ask(span, locale).status == "ask"


@pytest.mark.parametrize(
    ("ref", "locale", "span", "value"),
    [
        ("2026-12-30T10:00", "en", "January 5", "2027-01-05"),
        ("2026-12-30T10:00", "es", "5 de enero", "2027-01-05"),
        ("2026-12-31T23:59", "en", "tomorrow", "2027-01-01"),
        ("2026-12-31T18:00", "es", "mañana a las 10 am", "2027-01-01 10:00"),
        ("2026-12-30T10:00", "en", "next week", "2027-01-04..2027-01-10"),
        ("2026-12-30T10:00", "en", "the 2nd", "2027-01-02"),
        ("2028-02-20T10:00", "en", "Feb 29", "2028-02-29"),
        ("2028-02-20T10:00", "es", "29 de febrero", "2028-02-29"),
        ("2027-01-31T10:00", "en", "in a month", "ask"),
        ("2026-12-15T10:00", "es", "el mes que viene", "2027-01-01..2027-01-31"),
        ("2026-08-22T10:00", "en", "next Monday", "2026-08-24"),
    ],
)
def test_years_months_and_weeks_roll_over(ref: str, locale: str, span: str, value: str) -> None:
    """A day without a year is the coming one, over the end of the year and through leap years."""
    assert says(span, locale, datetime.fromisoformat(ref)) == value


@pytest.mark.parametrize("locale", ["en-US", "en_GB", "EN", "es-MX", "es_419"])
def test_a_region_reads_the_book_of_its_language(locale: str) -> None:
    """A locale with a region or in capitals is read by its language's phrase book."""
    assert ask("2026-08-20", locale).status == "resolved"


def test_a_locale_without_a_phrase_book_says_nothing() -> None:
    """Words in a language that nobody taught the calendar are no expression, and the reason says so (UN-8)."""
    found = ask("morgen", "de")
    assert (found.status, found.reasons) == ("none", ("locale_unsupported",))


def test_an_approximate_time_says_that_it_is_approximate() -> None:
    """A hedge leaves the value exact and is told as a reason, so that a caller may confirm it (PR-4)."""
    assert "approximate" in ask("around 3 pm", "en").reasons
    assert "approximate" in ask("como a las 3 de la tarde", "es").reasons
