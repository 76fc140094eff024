"""Claim class by claim class, in English and Spanish: what is refused, and what stands next to it and passes (OG-4, PR-5, LW-1, LW-5, LW-8)."""

from __future__ import annotations

import pytest

from pipeline.core.gate import CLASSES
from pipeline.core.gate.lexicon import lexicon, locale_files
from tests.gate.says import CONFIRMED, PROPOSED, classes, fact

REFUSED: dict[tuple[str, str], tuple[str, ...]] = {
    ("amount", "en"): (
        "It goes for $1,325 with a balcony.",
        "That one is thirteen twenty-five a month.",
        "Pets add forty a month.",
        "You'd save about two hundred.",
        "The fee comes to 85 dollars.",
        "Figure on around 2k to move in.",
        "The last month is free: one month free in all.",
        "Storage is 30 extra.",
        "€1.325 per month",
        "The rent is ＄１，３２５.",
    ),
    ("amount", "es"): (
        "Ese sale en $1,325 con balcón.",
        "Ese está en mil trescientos veinticinco al mes.",
        "Por mascota son cuarenta al mes.",
        "Se ahorraría unos doscientos.",
        "La cuota es de 85 dólares.",
        "Calcule como dos mil para mudarse.",
        "Le damos un mes gratis.",
        "La bodega cuesta 30 extra.",
        "1.325 € al mes",
        "La renta es de ＄１，３２５.",
    ),
    ("narration", "en"): (
        "The availability tool returned an error, so I am retrying.",
        "My instructions tell me to ask for your name.",
        "As a language model, I cannot see the unit.",
        "Hi {{name}}, thanks for writing.",
        "Dear [First name], thanks for writing.",
        '{"intent": "tour", "ok": true}',
        "ValueError: unit not found",
        "I have set tour_status=PROPOSED.",
        "The prospect seems upset, keep it short.",
        "**Great news** from the office",
        "null",
        "See <b>the office</b> for more.",
        "Your request failed with status code 503.",
    ),
    ("narration", "es"): (
        "La herramienta de horarios devolvió un error, lo intento otra vez.",
        "Mis instrucciones dicen que le pida su nombre.",
        "Como modelo de lenguaje, no puedo ver la unidad.",
        "Hola {{nombre}}, gracias por escribir.",
        "Estimada [Nombre], gracias por escribir.",
        '{"intención": "visita", "ok": true}',
        "El clasificador leyó mal su mensaje.",
        "El prospecto suena molesto, sea breve.",
        "**Buenas noticias** de la oficina",
        "Error interno del servidor.",
        "Déjeme consultar la base de datos.",
    ),
    ("fair_housing", "en"): (
        "That floor isn't for families with toddlers.",
        "We only rent to married people.",
        "Perfect for retired couples.",
        "It's a mostly Korean neighborhood.",
        "Are you expecting a baby?",
        "We don't accept vouchers.",
        "No emotional support animals.",
        "You'd feel more comfortable with people like you.",
        "Your wheelchair may annoy the neighbors.",
        "Tenants have to speak English.",
        "If you know what I mean.",
        "Women preferred.",
    ),
    ("fair_housing", "es"): (
        "Ese piso no es para familias con niños.",
        "Solo rentamos a personas casadas.",
        "Perfecto para parejas jubiladas.",
        "Es un barrio mayormente coreano, casi todos son coreanos.",
        "¿Está esperando un bebé?",
        "No aceptamos vales de vivienda.",
        "No se aceptan animales de apoyo emocional.",
        "Estaría más a gusto con gente como usted.",
        "Su silla de ruedas puede molestar a los vecinos de abajo.",
        "Los inquilinos tienen que hablar inglés.",
        "Usted me entiende.",
        "De preferencia mujeres.",
    ),
    ("personal_data", "en"): (
        "The man in 6C lost his job last spring.",
        "Your neighbor is going through a divorce.",
        "The applicant before you had bad credit.",
    ),
    ("personal_data", "es"): (
        "El señor del 6C perdió su trabajo.",
        "Su vecina se está divorciando.",
        "El solicitante anterior tenía mal crédito.",
    ),
    ("machine_denial", "en"): (
        "I'm a real person, I promise.",
        "No, I'm not a bot.",
        "You're talking to a human.",
        "I am human.",
    ),
    ("machine_denial", "es"): (
        "Soy una persona de verdad.",
        "No, no soy un robot.",
        "Está hablando con una persona real.",
        "Soy humana.",
    ),
    ("emergency", "en"): (
        "It's safe to stay inside for now.",
        "You don't need to call 911.",
        "Just ignore the alarm.",
        "The fire department is on its way.",
        "I've called 911 for you.",
    ),
    ("emergency", "es"): (
        "Es seguro quedarse adentro.",
        "No hace falta llamar al 911.",
        "Ignore la alarma.",
        "Los bomberos van en camino.",
        "Ya llamé al 911.",
    ),
    ("work_order", "en"): (
        "I've opened a work order for the sink.",
        "A plumber has been assigned.",
        "The technician is on his way.",
        "The leak has been fixed.",
    ),
    ("work_order", "es"): (
        "Ya levanté una orden de trabajo para el fregadero.",
        "Un plomero fue asignado.",
        "El técnico va en camino.",
        "La fuga ya quedó reparada.",
    ),
}

PASSED: dict[tuple[str, str], tuple[str, ...]] = {
    ("amount", "en"): (
        "Rents depend on the floor.",
        "There are two hundred units on nine floors.",
        "Unit 1325 has the balcony.",
        "It has about 700 square feet.",
        "The visit is free of charge.",
        "Please bring two pay stubs.",
        "The laundry takes coins.",
    ),
    ("amount", "es"): (
        "La renta depende del piso.",
        "Hay doscientas unidades en nueve pisos.",
        "El apartamento 1325 tiene balcón.",
        "Mide unos 65 metros cuadrados.",
        "La visita no cuesta nada.",
        "Traiga dos recibos de nómina.",
        "La lavandería usa monedas.",
    ),
    ("narration", "en"): (
        "The heating system is quiet.",
        "Thanks for the prompt answer!",
        "The model apartment has an island.",
        "I'm the building's automated assistant; a person can step in.",
        "There was a mistake in our ad, sorry.",
        "Our policy is to answer in order.",
        "I couldn't find that, so I asked the team.",
    ),
    ("narration", "es"): (
        "El sistema de calefacción es silencioso.",
        "Agradecemos su pronta respuesta.",
        "El apartamento modelo tiene isla.",
        "Soy la asistente automática del edificio; una persona puede atenderle.",
        "Hubo un error en nuestro anuncio, disculpe.",
        "Nuestra política es contestar en orden.",
        "No lo encontré, así que pregunté al equipo.",
    ),
    ("fair_housing", "en"): (
        "Everyone who meets the criteria is welcome.",
        "Kids are welcome on the tour.",
        "The building has a ramp and two elevators.",
        "Service animals are welcome.",
        "The white tiles in the bath are new.",
        "How many people will share the apartment?",
        "We can write in Spanish if you prefer.",
        "There is a single parking spot per unit.",
    ),
    ("fair_housing", "es"): (
        "Todas las personas que cumplen los requisitos son bienvenidas.",
        "Los niños pueden venir a la visita.",
        "El edificio tiene rampa y dos elevadores.",
        "Los animales de servicio son bienvenidos.",
        "Los azulejos blancos del baño son nuevos.",
        "¿Cuántas personas van a vivir en el apartamento?",
        "Podemos escribirle en inglés si prefiere.",
        "El balcón privado es solo suyo.",
    ),
    ("personal_data", "en"): (
        "Your neighbor reported the noise, too.",
        "The last tenant took good care of it.",
        "I can't discuss other residents.",
    ),
    ("personal_data", "es"): (
        "Su vecino también reportó el ruido.",
        "El inquilino anterior lo dejó impecable.",
        "No puedo hablar de otros residentes.",
    ),
    ("machine_denial", "en"): (
        "I'm an automated assistant, not a person.",
        "A real person will call you back.",
        "Would you like to talk to a person?",
    ),
    ("machine_denial", "es"): (
        "Soy un asistente automático, no una persona.",
        "Una persona le devuelve la llamada.",
        "¿Quiere hablar con una persona?",
    ),
    ("emergency", "en"): (
        "If you smell gas, go outside and call the gas company.",
        "Is anyone hurt?",
        "Never ignore the smoke alarm.",
    ),
    ("emergency", "es"): (
        "Si huele a gas, salga y llame a la compañía de gas.",
        "¿Hay alguien herido?",
        "Nunca ignore la alarma de humo.",
    ),
    ("work_order", "en"): (
        "Maintenance has your report.",
        "A technician has to see it first.",
        "I noted that the sink is leaking.",
    ),
    ("work_order", "es"): (
        "Mantenimiento tiene su reporte.",
        "Primero lo tiene que ver un técnico.",
        "Anoté que el fregadero gotea.",
    ),
}
PROMISES = {
    "en": (
        "Your tour of the loft is confirmed.",
        "All set!",
        "I went ahead and booked it.",
        "You're on our calendar.",
        "The office okayed your visit, see you there.",
        "Your slot has been reserved.",
        "We have you down with Rosa.",
        "It's a done deal.",
        "Rosa will be waiting for you in the lobby.",
        "Your visit is confirmed, isn't that great?",
        "No problem, your appointment is scheduled.",
        "I can confirm your tour.",
        "Ｃｏｎｆｉｒｍｅｄ!",
    ),
    "es": (
        "Su visita al loft está confirmada.",
        "¡Todo listo!",
        "Ya se la agendé con Rosa.",
        "Está en nuestra agenda.",
        "La oficina autorizó su visita, nos vemos ahí.",
        "Su horario quedó reservado.",
        "Lo tenemos apuntado con Rosa.",
        "Puede darlo por hecho.",
        "Rosa lo va a estar esperando en el vestíbulo.",
        "Su visita está confirmada, ¿no es genial?",
        "No hay problema, su cita está programada.",
        "Le confirmo su visita al loft.",
        "Sí, está confirmada.",
    ),
}
NO_PROMISES = {
    "en": (
        "Your visit isn't confirmed yet.",
        "I asked the office to hold that for you.",
        "Once the office confirms it, I'll text you.",
        "Shall I book it for you?",
        "Your tour is requested, not reserved.",
        "Please wait for our confirmation before you travel.",
        "Nothing is booked so far.",
        "A resident reserved the party room.",
        "I'll check with the manager and let you know.",
        "Can you confirm how to spell your name?",
    ),
    "es": (
        "Su visita todavía no está confirmada.",
        "Le pedí a la oficina que se lo aparte.",
        "En cuanto la oficina la confirme, le escribo.",
        "¿Se la reservo?",
        "Su visita está solicitada, no reservada.",
        "Espere nuestra confirmación antes de venir, por favor.",
        "Aún no hay nada reservado.",
        "Otro residente reservó la terraza.",
        "Lo reviso con el encargado y le aviso.",
        "¿Me confirma cómo se escribe su nombre?",
    ),
}


def _rows(table: dict[tuple[str, str], tuple[str, ...]]) -> list[tuple[str, str, str]]:
    return [(claim_class, locale, text) for (claim_class, locale), texts in table.items() for text in texts]


@pytest.mark.parametrize(("claim_class", "locale", "text"), _rows(REFUSED))
def test_what_no_record_vouches_for_is_refused(claim_class: str, locale: str, text: str) -> None:
    """Each class finds its claims in both languages."""
    assert claim_class in classes(text, locale=locale, committing=False)


@pytest.mark.parametrize(("claim_class", "locale", "text"), _rows(PASSED))
def test_what_stands_next_to_it_passes(claim_class: str, locale: str, text: str) -> None:
    """The same words in their everyday sense are ordinary replies."""
    assert classes(text, locale=locale, committing=False, record=PROPOSED) == set()


@pytest.mark.parametrize(("claim_class", "locale", "text"), _rows(REFUSED))
def test_the_language_of_the_reply_does_not_matter(claim_class: str, locale: str, text: str) -> None:
    """A Spanish claim in a reply that says it is English is found all the same (OG-2)."""
    assert claim_class in classes(text, locale="es" if locale == "en" else "en", committing=False)


@pytest.mark.parametrize(("locale", "text"), [(locale, text) for locale, texts in PROMISES.items() for text in texts])
def test_a_proposed_tour_is_never_called_confirmed(locale: str, text: str) -> None:
    """Not in any wording, in any language; the same words pass once the tour is CONFIRMED (PR-5, IN-5)."""
    assert "confirmation" in classes(text, locale=locale, record=PROPOSED)
    assert "confirmation" not in classes(text, locale=locale, record=CONFIRMED)


@pytest.mark.parametrize(
    ("locale", "text"), [(locale, text) for locale, texts in NO_PROMISES.items() for text in texts]
)
def test_asking_waiting_and_denying_is_no_promise(locale: str, text: str) -> None:
    """What a proposed tour may be called."""
    assert classes(text, locale=locale, record=PROPOSED) == set()


def test_a_proposed_tour_is_not_called_confirmed_in_a_fact_either() -> None:
    """No template does what no draft may (PR-5)."""
    assert "confirmation" in classes(fact("tour", "Your tour of the loft is confirmed."), record=PROPOSED)
    assert "confirmation" in classes("Hi ", fact("name", "Your tour of the loft is confirmed"), "!", record=PROPOSED)


def test_a_tour_that_nobody_recorded_is_not_called_confirmed() -> None:
    """Where no tour is in play, the plain claim is an invented one."""
    assert "confirmation" in classes("Your tour of the loft is confirmed.", record=None)
    assert "confirmation" in classes("Su visita al loft está confirmada.", record=None, locale="es")


@pytest.mark.parametrize("text", ["$1,325", "mil trescientos veinticinco dólares"])
def test_an_amount_passes_in_a_fact(text: str) -> None:
    """The same words, once a record vouches for them (OG-5)."""
    assert classes("The rent is ", fact("amount", text), ".") == set()
    assert "amount" in classes(f"The rent is {text}.")


@pytest.mark.parametrize(
    "spelling",
    [
        "+1 512 555 0143",
        "(512) 555-0143",
        "512.555.0143",
        "5 1 2 5 5 5 0 1 4 3",
        "５１２５５５０１４３",
        "five one two five five five zero one four three",
        "cinco uno dos cinco cinco cinco cero uno cuatro tres",
        "5\u200b1\u200b2\u200b5\u200b5\u200b5\u200b0\u200b1\u200b4\u200b3",
        "maria.lopez@example.com",
        "MARIA.LOPEZ@EXAMPLE.COM",
        "maria.lopez＠example.com",
        "maria.lopez at example dot com",
        "maria.lopez arroba example punto com",
        "maria.lopez [at] example [dot] com",
        "m a r i a . l o p e z @ e x a m p l e . c o m",
        "María López",
    ],
)
def test_other_peoples_data_is_found_in_any_spelling(spelling: str) -> None:
    """Numbers, addresses and the names in them, in prose and in facts."""
    others = ("+1 512 555 0143", "maria.lopez@example.com")
    assert "personal_data" in classes(f"I also have {spelling} here.", others=others, committing=False)
    assert "personal_data" in classes(
        "I also have ", fact("phone", spelling), " here.", others=others, committing=False
    )
    assert classes("I also have 512 555 0199 here.", others=others, committing=False) <= {"amount"}


def test_other_peoples_data_is_joined_over_strings() -> None:
    """A number in two halves is still a number."""
    others = ("+1 512 555 0143", "maria.lopez@example.com")
    assert "personal_data" in classes("Then 0143.", others=others, before=("It starts 512 555.",), committing=False)
    assert "personal_data" in classes("@example.com", others=others, before=("Write to maria.lopez",), committing=False)


@pytest.mark.parametrize("locale", sorted(locale_files()))
def test_every_locale_has_every_class(locale: str) -> None:
    """A locale with a class missing would be a locale without that protection (UN-8)."""
    rules = {rule["class"] for rule in locale_files()[locale]["rule"]}
    assert rules == set(CLASSES) - {"provenance"}


def test_every_rule_can_be_read() -> None:
    """All patterns compile and none is the same as nothing."""
    for pattern in {pattern for patterns in lexicon().by_word.values() for pattern in patterns}:
        assert list(pattern.expression.finditer(" ")) == []
