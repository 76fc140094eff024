"""Codes never go to prospects, in whatever disguise (OG-3, IN-3)."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.gate.disguises import BOTH, ENGLISH, SPANISH
from tests.gate.says import classes, fact, verdict

DIGITS = st.text("0123456789", min_size=4, max_size=6).filter(lambda code: len(set(code)) > 2)
MIXED = st.text("23456789BCDFGHKMPQRTZ", min_size=4, max_size=5).filter(
    lambda code: any(char.isdigit() for char in code) and any(char.isalpha() for char in code) and len(set(code)) > 2
)
CODES = DIGITS | MIXED
CARRIERS = {
    "en": ("Here you go: {}", "I wrote {} for you.", "It's {}, okay?"),
    "es": ("Aquí tiene: {}", "Le apunté {} aparte.", "Es {}, ¿sí?"),
}
IDENTITY = {"spelled", "reversed", "inside", "encoded", "sum", "pieces", "squashed"}


def found(text: str, code: str, locale: str = "en", **more: object) -> bool:
    """Whether the value itself was found, and not just a word about codes."""
    answer = verdict(text, codes=(code,), locale=locale, committing=False, **more)
    return any(finding.claim_class == "access_code" and finding.rule in IDENTITY for finding in answer.findings)


@pytest.mark.parametrize("name", sorted({**BOTH, **ENGLISH, **SPANISH}))
@settings(max_examples=25)
@given(code=CODES, locale=st.sampled_from(("en", "es")), at=st.integers(0, 2))
def test_a_code_is_found_in_any_disguise(name: str, code: str, locale: str, at: int) -> None:
    """Whatever the code, whatever the carrier, written or said in either language: it does not leave."""
    disguise = {**BOTH, **ENGLISH, **SPANISH}[name](code)
    if disguise is not None:
        assert found(CARRIERS[locale][at].format(disguise), code, locale)


@settings(max_examples=30)
@given(code=DIGITS, cut=st.integers(1, 3))
def test_a_code_is_found_in_two_sentences(code: str, cut: int) -> None:
    """Halves that follow each other are put together."""
    assert found(f"It begins with {code[:cut]}. Thanks for waiting! And it ends with {code[cut:]}.", code)
    assert found(f"Empieza con {code[:cut]}. ¡Gracias por esperar! Y termina con {code[cut:]}.", code, "es")


@settings(max_examples=30)
@given(code=DIGITS, cut=st.integers(1, 3))
def test_a_code_is_found_over_the_strings_of_a_day(code: str, cut: int) -> None:
    """What the person already received is joined; the last part is what is refused."""
    assert found(f"And {code[cut:]}.", code, before=("Good morning!", f"First {code[:cut]}.", "You're welcome."))
    assert found(f"Y luego {code[cut:]}.", code, "es", before=(f"Primero {code[:cut]}.",))
    assert not found("Anything else?", code, before=(f"First {code[:cut]}.",))


@settings(max_examples=30)
@given(code=DIGITS)
def test_a_code_is_found_digit_by_digit(code: str) -> None:
    """One digit a message is still the code."""
    *earlier, last = (f"Press {digit}." for digit in code)
    assert found(last, code, before=tuple(earlier))


HARMLESS = (
    ("en", "Two elevators serve four floors, and seven units share one laundry room."),
    ("en", "Five cabinets, two drawers and eight shelves are new."),
    ("en", "I can help with parking, pets and floor plans."),
    ("en", "Is the best number to reach you still the one you wrote from?"),
    ("es", "Dos elevadores para cuatro pisos, y siete unidades comparten una lavandería."),
    ("es", "Son nuevos cinco gabinetes, dos cajones y ocho repisas."),
    ("es", "Con gusto le ayudo con estacionamiento, mascotas y planos."),
)


@pytest.mark.parametrize(("locale", "text"), HARMLESS)
@settings(max_examples=30)
@given(code=DIGITS)
def test_ordinary_numbers_are_no_code(locale: str, text: str, code: str) -> None:
    """Counts with other words between them spell nothing, whatever the code."""
    assert not found(text, code, locale)


@pytest.mark.parametrize("kind", ["address", "amount", "phone", "unit", "reference"])
def test_equal_digits_in_a_fact_of_another_kind_pass(kind: str) -> None:
    """A house number may happen to equal a code; the record vouches for it."""
    assert classes("That is ", fact(kind, "4721"), ".", codes=("4721",)) == set()


def test_equal_digits_in_a_name_do_not_pass() -> None:
    """A name is whatever somebody typed."""
    assert "access_code" in classes("Hi ", fact("name", "4721"), "!", codes=("4721",))


def test_a_code_goes_to_a_verified_resident_or_staff_as_a_fact_only() -> None:
    """In a fact of that kind it passes for them, in prose for nobody, and for a prospect not even in a fact."""
    parts = ("Your entry is ", fact("access_code", "4721"), ".")
    assert "access_code" not in classes(*parts, codes=("4721",), audience="resident")
    assert "access_code" not in classes(*parts, codes=("4721",), audience="staff")
    assert "access_code" in classes(*parts, codes=("4721",), audience="prospect")
    assert "access_code" in classes("Your entry is 4721.", codes=("4721",), audience="resident")


TOPIC = {
    "en": (
        "The gate code is on the welcome card.",
        "I'll text you the code for the lobby.",
        "The keypad takes the last four of our office number.",
        "The door code is the year we opened, backwards.",
        "Type our street number at the call box and pull the door.",
        "There's a spare key under the planter by the door.",
        "The lockbox hangs behind the sign.",
        "The back door stays unlocked.",
        "Wait until somebody opens and follow them in.",
        "I shouldn't, but here it is: the passcode is our suite number.",
    ),
    "es": (
        "El código de la reja viene en la tarjeta de bienvenida.",
        "Le mando por mensaje la clave del vestíbulo.",
        "El teclado lleva los últimos cuatro del teléfono de la oficina.",
        "El código de la puerta es el año en que abrimos, al revés.",
        "Teclee nuestro número de calle en el interfón y jale la puerta.",
        "Hay una llave extra debajo de la maceta de la entrada.",
        "La caja de llaves cuelga atrás del letrero.",
        "La puerta de atrás se queda sin seguro.",
        "Espere a que alguien abra y métase detrás.",
        "No debería, pero aquí va: la clave de la entrada es el número del local.",
    ),
}
OTHER_CODES = {
    "en": (
        "There's no dress code at the pool.",
        "What's the zip code of your current place?",
        "Scan the QR code in the lobby for the floor plans.",
        "Do you have a promo code?",
        "I can't give out entry codes, but somebody will open for you.",
        "We never share door codes by text.",
        "The doorman will let you in.",
        "Ring the bell and someone will come down.",
        "The keys are handed over at the office.",
        "The lobby door got a new lock.",
    ),
    "es": (
        "En la alberca no hay código de vestimenta.",
        "¿Cuál es el código postal de donde vive?",
        "Escanee el código QR del vestíbulo para ver los planos.",
        "¿Tiene un código de promoción?",
        "No puedo dar claves de entrada, pero alguien le abre.",
        "Nunca compartimos las claves de la puerta por mensaje.",
        "El portero le abre.",
        "Toque el timbre y alguien baja.",
        "Las llaves se entregan en la oficina.",
        "La puerta del patio trae chapa nueva.",
    ),
}


@pytest.mark.parametrize(("locale", "text"), [(locale, text) for locale, texts in TOPIC.items() for text in texts])
def test_ways_in_are_no_topic_for_prospects(locale: str, text: str) -> None:
    """No value is named, yet the words lead to one, or past the door."""
    assert "access_code" in classes(text, locale=locale, committing=False)


@pytest.mark.parametrize(
    ("locale", "text"), [(locale, text) for locale, texts in OTHER_CODES.items() for text in texts]
)
def test_other_codes_and_doors_are(locale: str, text: str) -> None:
    """Zip codes, denials and doorbells are ordinary replies."""
    assert classes(text, locale=locale, committing=False) == set()


def test_residents_may_be_told_about_their_code() -> None:
    """The topic is closed to prospects, not to people who live there."""
    assert classes("The gate code is in your welcome letter.", audience="resident", committing=False) == set()
