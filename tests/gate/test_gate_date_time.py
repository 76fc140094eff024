"""Dates and times leave as facts, or not at all on a committing turn (OG-2, OG-5)."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.gate.says import CONFIRMED, classes, fact, verdict

NOW = datetime(2026, 8, 18, 10, 0, tzinfo=ZoneInfo("America/Chicago"))  # a Tuesday
DATES = {
    "en": (
        "tomorrow",
        "Friday",
        "next Monday",
        "August 21",
        "the 21st of August",
        "8/21",
        "2026-08-21",
        "in two days",
        "this weekend",
    ),
    "es": (
        "mañana",
        "el viernes",
        "el próximo lunes",
        "21 de agosto",
        "el 21",
        "21/8",
        "2026-08-21",
        "dentro de dos días",
        "pasado mañana",
    ),
}
TIMES = {
    "en": ("3 pm", "15:00", "half past two", "noon", "at four o'clock", "at three thirty", "10am", "tonight"),
    "es": (
        "3 p. m.",
        "15:00",
        "las dos y media",
        "mediodía",
        "a las cuatro",
        "tres y media de la tarde",
        "10am",
        "esta noche",
    ),
}
CARRIERS = {
    "en": ("Great, {}, please bring an ID.", "The office will call you {}."),
    "es": ("Perfecto, {}, traiga identificación.", "La oficina le llama {}."),
}
ALL = [(locale, words) for table in (DATES, TIMES) for locale, each in table.items() for words in each]


@pytest.mark.parametrize(("locale", "words"), ALL)
@pytest.mark.parametrize("at", [0, 1])
def test_a_date_in_prose_is_refused_on_a_committing_turn(locale: str, words: str, at: int) -> None:
    """Dates, times and relative days, in each language and in a reply of the other one."""
    text = CARRIERS[locale][at].format(words)
    assert "date_time" in classes(text, locale=locale)
    assert "date_time" in classes(text, locale="es" if locale == "en" else "en")


@pytest.mark.parametrize(("locale", "words"), ALL)
@pytest.mark.parametrize("at", [0, 1])
def test_the_same_words_pass_as_a_fact(locale: str, words: str, at: int) -> None:
    """A record vouches for them."""
    before, after = CARRIERS[locale][at].split("{}")
    assert classes(before, fact("datetime", words), after, locale=locale, record=CONFIRMED) == set()


@pytest.mark.parametrize(
    ("locale", "before", "after"),
    [
        ("en", "That is two weeks after ", "."),
        ("en", "Come the day before ", "."),
        ("en", "A week from ", " works."),
        ("en", "Half past ", "."),
        ("es", "Es dos semanas después del ", "."),
        ("es", "Venga el día antes del ", "."),
        ("es", "Es la víspera del ", "."),
    ],
)
def test_words_that_make_another_day_of_a_fact_are_refused(locale: str, before: str, after: str) -> None:
    """The fact is right and the sentence is not."""
    assert "date_time" in classes(before, fact("date", "Tuesday, July 21"), after, locale=locale, record=CONFIRMED)


ORDINARY = {
    "en": (
        "You may bring a friend along.",
        "The second bedroom is larger.",
        "One moment, please.",
        "I'll get back to you soon.",
        "Good afternoon, how can I help?",
        "We follow a first-come, first-served list.",
        "The sun deck is for everyone.",
        "Better late than never!",
        "Unit 603 has the bay window.",
    ),
    "es": (
        "Las dos tienen balcón.",
        "El segundo piso tiene terraza.",
        "Un momento, por favor.",
        "Enseguida le contesto.",
        "Buenas tardes, ¿en qué le ayudo?",
        "El cuarto de lavado está en el sótano.",
        "Tiene un baño y medio.",
        "Más vale tarde que nunca.",
        "El apartamento 603 tiene ventanal.",
    ),
}


@pytest.mark.parametrize(("locale", "text"), [(locale, text) for locale, texts in ORDINARY.items() for text in texts])
def test_ordinary_words_are_no_dates(locale: str, text: str) -> None:
    """Committing turns have replies, too."""
    assert classes(text, locale=locale) == set()


@pytest.mark.parametrize(("locale", "words"), ALL)
def test_other_turns_may_name_any_date_without_an_allow_set(locale: str, words: str) -> None:
    """Where nothing is committed, a date is talk."""
    assert "date_time" not in classes(CARRIERS[locale][1].format(words), locale=locale, committing=False)


@pytest.mark.parametrize(
    ("locale", "words"),
    [
        ("en", "1 PM"),
        ("en", "13:00"),
        ("en", "1 o'clock in the afternoon"),
        ("es", "la una de la tarde"),
        ("es", "13:00"),
        ("es", "1 p. m."),
    ],
)
def test_equivalent_forms_are_equal(locale: str, words: str) -> None:
    """One allowed time, however it is written; another time is not it (OG-5)."""
    text = {"en": "Does {} suit you?", "es": "¿Le queda a {}?"}[locale].format(words)
    allowed = verdict(text, locale=locale, committing=False, allow=frozenset({"13:00"}), now=NOW)
    assert [finding for finding in allowed.findings if finding.claim_class == "date_time"] == []
    assert "date_time" in classes(text, locale=locale, committing=False, allow=frozenset({"14:00"}), now=NOW)


@pytest.mark.parametrize(
    ("locale", "text", "allow"),
    [
        ("en", "Did you mean Friday?", "2026-08-21"),
        ("en", "Did you mean tomorrow?", "2026-08-19"),
        ("en", "Did you mean August 21?", "2026-08-21T15:00"),
        ("es", "¿Quiso decir el viernes?", "2026-08-21"),
        ("es", "¿Quiso decir mañana?", "2026-08-19"),
        ("es", "¿Quiso decir el 21 de agosto?", "2026-08-21T15:00"),
    ],
)
def test_prose_may_name_what_the_turn_allows(locale: str, text: str, allow: str) -> None:
    """The customer's own dates, offered slots and knowledge rows; nothing else."""
    assert classes(text, locale=locale, committing=False, allow=frozenset({allow}), now=NOW) == set()
    assert "date_time" in classes(text, locale=locale, committing=False, allow=frozenset({"2026-09-03"}), now=NOW)
    assert "date_time" in classes(text, locale=locale, committing=False, allow=frozenset(), now=NOW)


@pytest.mark.parametrize(("locale", "text"), [("en", "Friday at {} works."), ("es", "El viernes a las {} se puede.")])
def test_a_day_of_one_offer_with_the_time_of_another_is_refused(locale: str, text: str) -> None:
    """What is allowed are instants, not days and times to be mixed."""
    offers = frozenset({"2026-08-21T15:00", "2026-08-22T10:00"})
    hour = {"en": ("3 pm", "10 am"), "es": ("3 de la tarde", "10 de la mañana")}[locale]
    assert classes(text.format(hour[0]), locale=locale, committing=False, allow=offers, now=NOW) == set()
    assert "date_time" in classes(text.format(hour[1]), locale=locale, committing=False, allow=offers, now=NOW)


def test_without_a_reference_only_words_that_name_a_day_by_themselves_are_compared() -> None:
    """A weekday or a date of the month can be checked against the allow-set; "tomorrow" cannot."""
    friday = frozenset({"2026-08-21"})
    assert classes("Did you mean August 21?", committing=False, allow=friday) == set()
    assert "date_time" in classes("Did you mean tomorrow?", committing=False, allow=friday)
    assert "date_time" in classes("Did you mean August 22?", committing=False, allow=friday)


@settings(max_examples=60)
@given(st.dates(datetime(2026, 1, 1).date(), datetime(2027, 12, 31).date()))
def test_any_iso_date_is_seen(day: object) -> None:
    """Numeric shapes of any day are tokens."""
    assert "date_time" in classes(f"Your visit is on {day}.")
