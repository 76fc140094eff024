"""Where date and time expressions stand in running text (UN-3, UN-5, OG-2)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.core.calendar import detect, supported_locales

FOUND = {
    "en": {
        "Could I come by tomorrow at 3 pm?": ["tomorrow", "3 pm"],
        "Friday at 3 works for me": ["Friday", "3"],
        "see you at half past two": ["half past two"],
        "How about the 20th?": ["20th"],
        "the 20th works": ["20th"],
        "We open at noon on Saturday.": ["noon", "Saturday"],
        "Thursday, August 20, 2026 at 10:30 am": ["Thursday, August 20, 2026", "10:30 am"],
        "I'm moving in on the first of September.": ["first of September"],
        "We could do 8/24 or 9/3.": ["8/24", "9/3"],
        "anytime between 2 and 4 pm tomorrow": ["2 and 4 pm tomorrow"],
        "from 2 to 4pm": ["2 to 4pm"],
        "Monday-Friday 9-5pm": ["Monday", "Friday 9-5pm"],
        "I can be there in an hour.": ["an hour"],
        "next week, or this weekend": ["next week", "this weekend"],
        "by the end of the month": ["end of the month"],
        "a week from Tuesday, 13:00": ["a week from Tuesday", "13:00"],
        "eight tonight?": ["eight tonight"],
        "on august twenty ninth at two in the afternoon please": ["august twenty ninth", "two in the afternoon"],
        "move in May 5, visit in May": ["May 5", "May"],
        "would 5 may work": ["5 may"],
        "I moved you to ten forty five, one moment.": ["ten forty five"],
        "Back in 1/2 hour.": ["1/2 hour"],
        "2026-08-24T10:00 it is": ["2026-08-24", "10:00"],
        "Tomorrow's fine; tonight's not.": ["Tomorrow", "tonight"],
    },
    "es": {
        "¿Puedo verlo mañana a las 3 de la tarde?": ["mañana", "3 de la tarde"],
        "El viernes a la una y media": ["viernes", "una y media"],
        "el viernes 21 a las 10": ["viernes 21", "10"],
        "nos vemos a las quince horas": ["quince horas"],
        "Me mudo el primero de septiembre.": ["primero de septiembre"],
        "me refería a mañana a las 4": ["mañana", "4"],
        "pasado mañana por la mañana": ["pasado mañana por la mañana"],
        "entre las 2 y las 4 de la tarde": ["2", "4 de la tarde"],
        "Llego en dos horas.": ["dos horas"],
        "la próxima semana o este fin de semana": ["próxima semana", "este fin de semana"],
        "de hoy en ocho, a mediodía": ["hoy en ocho, a mediodía"],
        "la una de la tarde del domingo": ["una de la tarde", "domingo"],
        "en julio o el 5 de mayo": ["julio", "5 de mayo"],
        "a fin de mes": ["fin de mes"],
    },
}

NOT_FOUND = {
    "en": [
        "You may bring a friend; it may take a second.", "We have a one bedroom on the second floor.", "Unit 1204, apt 3, building 12.",
        "Call me at (512) 555-0142 or 512-555-0142.", "4210 Oak St, or 12 May Street, or 5th Avenue.", "Rent is $1,450 a month, deposit 500.",
        "She sat down in the sun and they wed.", "A 12 month lease with 24 hours' notice.", "5 minutes from campus, 900 sq ft.",
        "Good morning! Have a good evening.", "One moment please, I'm on it now.", "The second option is the 2nd unit.", "2 bed 2 bath, 2/2 or 1/1",
        "between 1200 and 1500 dollars", "I have 3 to 4 dogs.", "June Park, Dr. May, April Smith", "Thanks a million, at once.", "24/7 gym access",
        "version 2.10 costs 20.50", "from one of you", "first of all", "We are at 30 units.",
    ],
    "es": [
        "Una recámara en el segundo piso.", "Somos dos con un perro.", "Vivo en la calle 5 de Mayo 120, colonia 20 de Noviembre.",
        "Me llamo Julio; pregunte por la señora Domingo.", "Llámame al 512-555-0142.", "Contrato de 12 meses, $1,450 al mes.",
        "Buenas tardes, buenas noches, buen fin de semana.", "Está a 5 minutos, a dos cuadras del mar.", "A las dos les gustó.",
        "Un momento, por favor. Ahora no. Hasta luego.", "la 2, la primera opción", "el 20 por ciento", "de 12 a 15 unidades", "Son once personas.",
        "¿Este es el precio? Una vez al año.",
    ],
}  # fmt: skip


def _pieces(text: str, *locales: str) -> list[str]:
    return [text[found.start : found.end] for found in detect(text, locales)]


@pytest.mark.parametrize(
    ("locale", "text", "pieces"), [(loc, t, p) for loc, rows in FOUND.items() for t, p in rows.items()]
)
def test_expressions_are_found_by_their_own_words(locale: str, text: str, pieces: list[str]) -> None:
    """Each day and each time is found, without the linking words around it, whichever other books are read too."""
    assert _pieces(text, locale) == pieces
    assert set(pieces) <= set(_pieces(text, *supported_locales()))


@pytest.mark.parametrize(("locale", "text"), [(loc, t) for loc, rows in NOT_FOUND.items() for t in rows])
def test_words_and_numbers_that_are_no_time_are_not_found(locale: str, text: str) -> None:
    """Modal verbs, units, floors, phones, streets, prices, names and greetings are no expressions, in any book."""
    assert _pieces(text, locale) == []
    assert _pieces(text, *supported_locales()) == []


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("3 pm", "time"),
        ("Friday", "date"),
        ("August 20", "date"),
        ("tomorrow", "relative"),
        ("in 3 days", "relative"),
        ("next week", "relative"),
        ("eight tonight", "datetime"),
        ("2 to 4 pm", "range"),
        ("13 to 15 August", "range"),
    ],
)
def test_an_expression_says_its_kind(text: str, kind: str) -> None:
    """The kind tells a time from a day, a named day from a relative one, and a range from both."""
    assert [found.kind for found in detect(text, ("en",))] == [kind]


def test_offsets_are_those_of_the_text_as_given() -> None:
    """Accents, invisible characters and wide digits before and inside an expression do not shift it."""
    text = "¡Perfecto\u200b!\u00a0El vier\u00adnes \uff12\uff11 a\u202flas 3 pm"
    assert _pieces(text, "es") == ["vier\u00adnes \uff12\uff11", "3 pm"]


def test_each_of_several_days_is_found_alone() -> None:
    """Two days joined by a word, a bracket or a line are two expressions: each may have its own role."""
    assert _pieces("move my Tuesday to Friday", "en") == ["Tuesday", "Friday"]
    assert _pieces("today (January 23) maybe 4:30 pm", "en") == ["today", "January 23", "4:30 pm"]
    assert _pieces("Not Friday.\n\nMonday", "en") == ["Friday", "Monday"]


def test_a_locale_without_a_book_finds_nothing() -> None:
    """Asked for languages that it cannot read, the detector finds nothing, and does not raise."""
    assert detect("morgen um 15:00", ("de",)) == ()
    assert detect("tomorrow", ()) == ()


@given(st.text(max_size=120))
def test_any_text_gives_places_in_order_inside_it(text: str) -> None:
    """Whatever the text, places are in order, do not overlap, are not empty and lie inside it."""
    end = 0
    for found in detect(text, supported_locales()):
        assert end <= found.start < found.end <= len(text)
        end = found.end
