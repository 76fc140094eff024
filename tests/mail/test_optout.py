"""SR-7: opting out, opting in and help, in any wording, en and es; and the many other senses of the same words."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.core.optout import also_cancels, label_optout

REVOKED = """
STOP | stop. | Stop!!! | S T O P | S.T.O.P | ＳＴＯＰ | stop please | Please stop, thank you | STOPALL | stop all | unsubscribe | unsuscribe | opt out | OPT-OUT | revoke
| quit | end | Cancel | remove me | lose my number | leave me alone | wrong number | Wrong person, stop | you have the wrong number | Stop. We signed elsewhere.
| stop texting me | quit calling | can you stop sending me texts | how do I stop these messages? | stop with the messages already | do not contact me again
| don't text me anymore | DO NOT CALL OR TEXT ME | never email me again | no more texts please | no more emails, texts are fine | I don't want these messages any more
| I don’t want to hear from you | I no longer wish to receive emails | take me off your list | please remove my number from your system | get us off this mailing list
| delete my phone number | unsubscribe me from everything | I want to opt out of these texts | I withdraw my consent | I never signed up for these texts
| ALTO | alto todo | BAJA | Baja por favor | dar de baja | quiero darme de baja | parar | para | salir | basta | cancelar | fin | no más mensajes | ya no me escriban
| por favor no me manden más mensajes | no me llamen más | no me contacten | no me vuelvan a escribir | dejen de molestarme | deje de mandarme correos
| no quiero más textos | ya no quiero recibir sus mensajes | no deseo recibir más correos | bórrenme de su lista | quítenme de la base de datos | eliminen mi número
| número equivocado | se equivocó de número | déjenme en paz | revoco mi consentimiento | Ya rentamos. No nos escriban más, por favor | stop por favor
"""
OTHER = """
I'll stop by and call you | can I stop in on Monday? | don't stop texting me, I like it | is there a bus stop near? | the noise won't stop | stop payment of my check
| Please cancel my tour | can we cancel Thursday | I want to cancel my application | my lease ends July 31 | when does the tour end? | end unit | I quit smoking
| can I opt out of the trash fee? | take me off the waitlist | remove me from the lease | please remove the parking fee | Don't call me before 9 | text me the address
| I never got your text | I don't need a call, just the price | Do not forget my tour | is this the right number for leasing? | no more than two people
| I need help with the application | start of August | my lease starts in May | more info about 2B please? | reply STOP to end messages
| ¿tengo que dar de baja el gas? | planta baja | ¿cuándo baja la renta? | quiero cancelar la cita | para dos personas | ¿para cuándo? | el fin de semana
| puedo salir del contrato antes | no me llamen antes de las 9 | no me enviaron el contrato | no me ha llegado el correo | quítenme el cargo de estacionamiento
| dejen la llave en la oficina | no quiero más habitaciones | la parte alta | ¿hay parada de autobús? | Responda BAJA para no recibir mensajes
"""


def phrases(text: str) -> list[str]:
    """The phrases of a list."""
    return [" ".join(phrase.split()) for phrase in text.split("|")]


@pytest.mark.parametrize("locale", ["en", "es"])
@pytest.mark.parametrize("text", phrases(REVOKED))
def test_consent_is_revoked_in_any_wording(text: str, locale: str) -> None:
    """A revocation is heard in either language, whatever the conversation's locale (SR-7)."""
    assert label_optout(text, locale) == "revoke"


@pytest.mark.parametrize("text", phrases(OTHER))
def test_the_words_of_revoking_have_other_senses(text: str) -> None:
    """To stop by, to end a lease, planta baja: leasing talk revokes nothing (SR-7)."""
    assert label_optout(text, "en") == "not_optout"


@pytest.mark.parametrize(
    ("text", "label"),
    [("no", "ambiguous"), ("No, gracias", "ambiguous"), ("not interested", "ambiguous"), ("HELP", "help"), ("¿Ayuda?", "help"), ("info", "help"),
     ("START", "optin"), ("unstop", "optin"), ("iniciar", "optin"), ("You can text me again", "optin"), ("pueden volver a escribirme", "optin")],
)  # fmt: skip
def test_other_words_that_act_first(text: str, label: str) -> None:
    """A lone no needs its context; help and opting in have their own words (SR-7)."""
    assert label_optout(text, "es") == label


def test_cancel_end_and_quit_may_be_meant_for_a_visit() -> None:
    """They revoke, and it is known that a visit may have been meant, too (SR-7)."""
    assert all(also_cancels(text) for text in ("CANCEL", "end.", "Quit please", "cancelar", "Fin"))
    assert not any(also_cancels(text) for text in ("STOP", "baja", "cancel my tour", "unsubscribe"))


@given(st.sampled_from(phrases(REVOKED)), st.sampled_from(["", " ", "!", "...", "\n", " \U0001f44b"]))
def test_signs_and_case_make_no_difference(text: str, end: str) -> None:
    """A revocation is one in capitals, with signs and with pictures (SR-7)."""
    assert label_optout(text.upper() + end, "en") == label_optout(text + end, "en") == "revoke"


@pytest.mark.parametrize(
    "text", ["stop " * 50_000, "don't text " * 20_000, "no me " * 40_000, "remove my " * 20_000, "a " * 100_000]
)
def test_long_texts_are_labelled_at_once(text: str) -> None:
    """No text hangs (SR-7)."""
    started = time.process_time()
    label_optout(text, "en")
    assert time.process_time() - started < 0.5
