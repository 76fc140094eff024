"""UN-2: what is new in a mail. Mail programs and languages, traps in new text, signatures, hostile input, invariants."""

from __future__ import annotations

import textwrap
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.core.mail.roles import GAP, MAX_LINES, Role, label

US, ADDRESS = "Juniper Terrace", "hello@juniper.example"
OURS = {
    "en": "Good morning Noor,\n\nWe can show you the loft on Tuesday, September 8 at 11:00 AM or Friday, September 11 at 2:30 PM.\n\nThe team\n(737) 555-0119",
    "es": "Buenos días, Noor:\n\nPodemos mostrarle el loft el martes 8 de septiembre a las 11:00 o el viernes 11 de septiembre a las 14:30.\n\nEl equipo\n(737) 555-0119",
}
NEW = {
    "en": (
        "Friday works for us.",
        "On Friday the 11th we can be there at 2:30. Is that all right?",
        "Your agent Lee wrote: the loft is on the third floor. Could we see it on September 9 at 4?",
        "Two ideas:\n- Wednesday 9 at 10:00\n- Thursday 10 at 5:15\nThank you",
        "Date: September 9\nTime: 4 pm\nIs it free?",
        "From: 3 pm\nTo: 5 pm\nDay: Saturday",
        "On September 4 you wrote that pets are fine. So is Saturday at noon fine, too?",
        "Thanks,\n\nCould we make it Sunday at 1 instead?\nNoor",
        "The 9th at 4 -- or the 10th at 5 -- whichever",
        "Unsubscribe please",
    ),
    "es": (
        "El viernes nos queda bien.",
        "El viernes 11 podemos estar ahí a las 2:30. ¿Está bien?",
        "Su asesor Lee me escribió: el loft está en el tercer piso. ¿Lo vemos el 9 de septiembre a las 4?",
        "Dos ideas:\n- miércoles 9 a las 10:00\n- jueves 10 a las 5:15\nGracias",
        "Fecha: 9 de septiembre\nHora: 4 pm\n¿Está libre?",
        "De: 3 pm\nA: 5 pm\nDía: sábado",
        "El 4 de septiembre me escribió que se aceptan mascotas. ¿Entonces el sábado al mediodía?",
        "Gracias,\n\n¿Podría ser el domingo a la 1 mejor?\nNoor",
        "Para: tres personas\nFecha de mudanza: 1 de octubre\nAsunto: visita el jueves 10 a las 5\n\nGracias",
        "Ya no me manden correos",
    ),
}
ATTRIBUTIONS = {
    "en": (
        f"On Fri, Sep 4, 2026 at 9:12 AM {US} <{ADDRESS}> wrote:",
        f"On Fri, Sep 4, 2026, at 9:12 AM, {US} wrote:",
        f"On 2026-09-04 09:12, {US} wrote:",
        f"On Friday, September 4th, 2026 at 9:12 AM, {US} <{ADDRESS}> wrote:",
        f"On Sep 4, 2026, at 9:12\u202fAM, {US} <{ADDRESS}<mailto:{ADDRESS}>> wrote:",
        f"Sep 4, 2026, 09:12 by {ADDRESS}:",
        f"2026-09-04 9:12 GMT-05:00 {US} <{ADDRESS}>:",
        f"{US} <{ADDRESS}> wrote on Fri, Sep 4, 2026 at 9:12 AM:",
        f"---- On Fri, 04 Sep 2026 09:12:11 -0500 {US} <{ADDRESS}> wrote ----",
        f"Am Fr., 4. Sept. 2026 um 09:12 Uhr schrieb {US} <{ADDRESS}>:",
    ),
    "es": (
        f"El vie, 4 sept 2026 a las 9:12, {US} (<{ADDRESS}>) escribió:",
        f"El vie, 4 de sept de 2026 a la(s) 9:12\u202fa.m., {US} ({ADDRESS}<mailto:{ADDRESS}>) escribió:",
        f"El 4 sept 2026, a la(s) 9:12 a.m., {US} <{ADDRESS}> escribió:",
        f"El viernes, 4 de septiembre de 2026, 09:12:11 CDT, {US} <{ADDRESS}> escribió:",
        f"El 4/9/2026 a las 9:12, {US} escribió:",
        f"El 2026-09-04 09:12, {US} escribió:",
        f"El vie., 4 sept. 2026 9:12 a. m., {US} <{ADDRESS}> ha escrito:",
        f"{US} <{ADDRESS}> escribió el vie., 4 de sept. de 2026 a la(s) 09:12:",
        f"4 sept 2026, 09:12 por {ADDRESS}:",
    ),
}


def _block(sender: str, sent: str, to: str, subject: str, day: str) -> str:
    return f"{sender}: {US} <{ADDRESS}>\n{sent}: {day}\n{to}: Noor Haddad <noor@mail.example>\n{subject}: Re: Loft"


BLOCKS = {
    "en": (
        _block("From", "Sent", "To", "Subject", "Friday, September 4, 2026 9:12 AM"),
        _block("*From*", "*Date*", "*To*", "*Subject*", "Friday, September 4, 2026 at 9:12 AM"),
        "________________________________\n"
        + _block("From", "Sent", "To", "Subject", "Friday, September 4, 2026 9:12 AM"),
        "-----Original Message-----\n" + _block("From", "Sent", "To", "Subject", "Friday, September 4, 2026 9:12 AM"),
        f'------ Original Message ------\nFrom: "{US}" <{ADDRESS}>\nTo: noor@mail.example\nSent: 9/4/2026 9:12:11 AM\nSubject: Re: Loft',
        f"From: {US} <{ADDRESS}> Sent: Friday, September 4, 2026 9:12 AM To: noor@mail.example Subject: Re: Loft",
        "##- Please type your reply above this line -##",
        _block("Von", "Gesendet", "An", "Betreff", "Freitag, 4. September 2026 09:12"),
    ),
    "es": (
        _block("De", "Enviado el", "Para", "Asunto", "viernes, 4 de septiembre de 2026 9:12 a. m."),
        _block("De", "Fecha", "Para", "Asunto", "viernes, 4 de septiembre de 2026, 09:12"),
        "-----Mensaje original-----\n"
        + _block("De", "Enviado", "Para", "Asunto", "viernes, 4 de septiembre de 2026 09:12"),
        "----- Mensaje original -----\n"
        + _block("De", "Para", "Enviados", "Asunto", "Viernes, 4 de Septiembre 2026 09:12:11"),
        "________________________________\n"
        + _block("De", "Enviado", "Para", "Asunto", "viernes, 4 de septiembre de 2026 09:12"),
        f"De: {US}\nEnviado el: viernes, 4 de septiembre de 2026 09:12\nPara: Noor\nAsunto: RE: Loft",
        "##- Escriba su respuesta arriba de esta línea -##",
    ),
}


def quote(text: str) -> str:
    """The text as a mail program quotes it."""
    return "\n".join(f"> {line}".rstrip() for line in text.split("\n"))


def wrapped(attribution: str) -> set[str]:
    """The attribution as it is broken over lines at different widths, with the address on a line of its own, too."""
    lines = {
        "\n".join(textwrap.wrap(attribution, width, break_long_words=False, break_on_hyphens=False))
        for width in (44, 60, 72, 200)
    }
    return lines | {line.replace(f"<{ADDRESS}", f"<\n{ADDRESS}") for line in lines}


def new_lines(mail: str, sent: tuple[str, ...] = ()) -> list[str]:
    """The new lines of a mail without blank ones and gaps."""
    return [line.strip() for line in label(mail, sent).new_text.splitlines() if line.strip() and line != GAP]


def said(text: str) -> list[str]:
    """The lines of a text without blank ones."""
    return [line.strip() for line in text.splitlines() if line.strip()]


CASES = [(locale, new) for locale in ("en", "es") for new in NEW[locale]]


@pytest.mark.parametrize(("locale", "new"), CASES)
def test_all_of_a_mail_without_history_is_new(locale: str, new: str) -> None:
    """Words that also occur in attributions and headers cut nothing where no history stands (UN-2)."""
    assert new_lines(new) == said(new)


@pytest.mark.parametrize(("locale", "new"), CASES)
def test_history_is_cut_behind_every_attribution(locale: str, new: str) -> None:
    """Marked or not, wrapped or not, above or below: what an attribution announces is never new (UN-2)."""
    for attribution in ATTRIBUTIONS[locale]:
        for line in wrapped(attribution):
            assert new_lines(f"{new}\n\n{line}\n\n{quote(OURS[locale])}\n") == said(new), line
            assert new_lines(f"{new}\n\n{line}\n\n{OURS[locale]}\n") == said(new), line
            assert new_lines(f"{new}\n\n{quote(line)}\n>\n{quote(OURS[locale])}\n") == said(new), line
        assert new_lines(f"{attribution}\n\n{quote(OURS[locale])}\n\n{new}\n") == said(new), attribution


@pytest.mark.parametrize(("locale", "new"), CASES)
def test_history_is_cut_behind_every_header_block(locale: str, new: str) -> None:
    """A block of mail headers in any order, with or without a line above it, ends what is new (UN-2)."""
    for block in BLOCKS[locale]:
        for mail in (
            f"{new}\n\n{block}\n\n{OURS[locale]}\n",
            f"{new}\n{block}\n{OURS[locale]}\n",
            f"{new}\n\n{block}\n\n{quote(OURS[locale])}",
        ):
            assert new_lines(mail) == said(new), mail
            assert new_lines(mail.replace("\n", "\r\n")) == said(new)


def test_answers_in_place_are_new_and_kept_apart() -> None:
    """Answers between quoted lines are new, and no span can reach from one over the quote into the next (UN-2)."""
    mail = f"{ATTRIBUTIONS['en'][0]}\n> Which day suits you?\n\nSeptember\n\n> And what time?\n\n9 at noon\n"
    assert label(mail).new_text == f"September\n{GAP}\n9 at noon"


def test_an_attribution_behind_new_words_in_one_line_is_cut_off() -> None:
    """Where a mail program glues the attribution to the last words, the words are kept and the rest is not (UN-2)."""
    mail = f"Friday works {ATTRIBUTIONS['en'][0]}\n{quote(OURS['en'])}"
    found = label(mail)
    assert found.new_text.strip() == "Friday works"
    assert [mail[line.start : line.end] for line in found.lines] == [line.text for line in found.lines]


@pytest.mark.parametrize(
    "quoted",
    [
        "> We can show you the loft on Tuesday, September 8 at 11:00 AM or\nFriday, September 11.\n>\n> The team",
        "> We can show you the loft on the eighth of the month or on Friday, the\n11th of September at 2:30 PM.",
    ],
)
def test_the_unmarked_rest_of_a_wrapped_quoted_line_is_history(quoted: str) -> None:
    """A quoted sentence that runs on without its mark is still quoted (UN-2)."""
    assert new_lines(f"Yes\n\n{ATTRIBUTIONS['en'][0]}\n{quoted}\n") == ["Yes"]


def test_a_forward_is_marked_as_such() -> None:
    """A forwarded mail has a role of its own, so that a lead in it can be found (UN-2)."""
    for mark in (
        "---------- Forwarded message ---------",
        "-------- Mensaje reenviado --------",
        "Begin forwarded message:",
        "Inicio del mensaje reenviado:",
    ):
        roles = {line.text: line.role for line in label(f"fyi\n\n{mark}\n{BLOCKS['en'][0]}\n\nA tour on Friday?").lines}
        assert (
            roles["fyi"] is Role.NEW
            and roles["A tour on Friday?"] is Role.FORWARDED
            and roles[mark] is Role.ATTRIBUTION
        )


# --- our own words --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("locale", ["en", "es"])
def test_what_we_sent_is_history_without_any_announcement(locale: str) -> None:
    """Our own text below or above an answer is history, wrapped or whole (UN-2)."""
    ours = "\n".join(line for part in OURS[locale].split("\n") for line in textwrap.wrap(part, 50) or [""])
    assert new_lines(f"Friday\n\n{ours}\n", (OURS[locale],)) == ["Friday"]
    assert new_lines(f"{ours}\n\nFriday\n", (OURS[locale],)) == ["Friday"]


def test_a_customer_may_answer_in_our_words() -> None:
    """Who picks one of our offers and copies its words has said something new (UN-2)."""
    assert new_lines("Friday, September 11 at 2:30 PM", (OURS["en"],)) == ["Friday, September 11 at 2:30 PM"]


def test_our_words_inside_a_line_are_taken_out_of_it() -> None:
    """A long run of our words in the middle of a line is history, the rest of the line is not (UN-2)."""
    sentence = OURS["en"].split("\n")[2]
    new = label(f"You said: {sentence} I take the first one.", (OURS["en"],)).new_text
    assert "I take the first one." in new and "September" not in new


# --- signatures and notices -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mail", "kept", "dropped"),
    [
        ("Friday?\n\n-- \nNoor Haddad\nClosed September 7", "Friday?", "September"),
        ("Friday?\n\nBest regards,\nNoor Haddad\nOffice hours: Mon-Fri 9-5\n737-555-0142", "Friday?", "hours"),
        ("Friday?\n\nThanks,\nNoor\nSales | Acme\n737-555-0142\nClosed Monday", "Noor", "Monday"),
        (
            "¿El viernes?\n\nSaludos cordiales,\nNoor Haddad\nHorario: lunes a viernes\nTel. 737 555 0142",
            "¿El viernes?",
            "lunes",
        ),
        ("¿El viernes?\n\nAtentamente,\nNoor\n\nP.D.: el domingo también", "el domingo también", "Atentamente"),
        ("Friday?\n\nRegards,\nNoor\n\nP.S. Sunday works too", "Sunday works too", "Regards"),
        ("Friday?\n\nNoor Haddad\nBroker\n737-555-0142\nClosed Monday", "Friday?", "Monday"),
        ("Friday?\n\nSent from my iPhone", "Friday?", "iPhone"),
        ("¿El viernes?\n\nEnviado desde mi iPhone", "¿El viernes?", "iPhone"),
        ("Friday?\n\nThis message and any attachments are confidential. Sent on Monday.", "Friday?", "Monday"),
        (
            "¿El viernes?\n\nEste mensaje es confidencial y va dirigido a su destinatario. Lunes.",
            "¿El viernes?",
            "Lunes",
        ),
        ("CAUTION: This email originated outside the organization on Monday.\n\nFriday?", "Friday?", "Monday"),
        ("Friday?\n\nYou are receiving this because you asked us on Monday.", "Friday?", "Monday"),
    ],
)
def test_signatures_and_notices_are_not_new(mail: str, kept: str, dropped: str) -> None:
    """What a mail program, a lawyer or a business card adds is never evidence (UN-2)."""
    new = label(mail).new_text
    assert kept in new and dropped not in new


@pytest.mark.parametrize(
    "mail",
    [
        "Hello\n--\nI also want to see the gym. Is Friday at 3 possible?",
        "Regards to the team! Friday at 3 is perfect for us.",
        "Sent from my old flat, the new one will be yours. Friday at 3?",
        "A tour please.\nThanks\nNoor Haddad\n737-555-0142\nAvailable Friday after 5",
        "Quiero una visita.\nGracias\nNoor Haddad\n737 555 0142\nPuedo el viernes a las 5",
        "Noor Haddad\n737-555-0142",
        "Cheers",
        "The information in this email of yours is old, I think. Friday at 3?",
    ],
)
def test_words_of_signatures_in_prose_cut_nothing(mail: str) -> None:
    """Who talks below a name, or uses the words of a greeting, is heard to the end (UN-2)."""
    assert new_lines(mail) == said(mail)


# --- bounds ---------------------------------------------------------------------------------------------------------

HOSTILE = {
    "one line of On": "On " * 20_000,
    "lines of On Thursday": "On Thursday:\n" * 10_000,
    "wrote without end": "wrote:\n" * 20_000,
    "attributions without end": "On Fri, Sep 4, 2026 at 9:12 AM X <a@b.example>\n" * 10_000,
    "colons": "From:" * 5_000,
    "half headers": "From: a\nSent: b\n" * 10_000,
    "labels": f"{'a' * 20}: b\n" * 20_000,
    "dashes": "-" * 50_000,
    "delimiters": "--\n" * 50_000,
    "blanks": " " * 50_000,
    "empty lines": "\n" * 50_000,
    "quote marks": ">" * 200_000,
    "alternating": "> a\nb\n" * 40_000,
    "one word": "a" * 245_000,
    "addresses": "a@" * 100_000,
    "closings": "Thanks,\nNoor\n" * 20_000,
}


@pytest.mark.parametrize("mail", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_mail_is_labelled_within_a_second(mail: str) -> None:
    """No mail of a quarter of a megabyte takes longer than a second of processor time (TX-2)."""
    started = time.process_time()
    found = label(mail, (OURS["en"],))
    assert time.process_time() - started < 1
    assert found.lines[-1].end <= len(mail)


def test_what_lies_beyond_the_limits_is_history() -> None:
    """Lines past the limit are covered by the answer, and never new (UN-2)."""
    mail = "a\n" * (MAX_LINES + 5) + "Friday at 3"
    found = label(mail)
    assert "Friday" not in found.new_text and found.lines[-1].end == len(mail) and found.lines[-1].role is Role.QUOTED


_WORDS = st.sampled_from(
    [
        *(line for lines in (*ATTRIBUTIONS.values(), *BLOCKS.values()) for line in lines),
        *(new for _, new in CASES),
        quote(OURS["en"]),
        "-- ",
        ">",
        "",
        "| a",
    ]
)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.one_of(_WORDS, st.text(max_size=40)), max_size=12).map("\n".join))
def test_lines_cover_the_text_in_order(mail: str) -> None:
    """Every line stands where its offsets say, in order, and all of the text but its line breaks is covered (UN-2)."""
    found = label(mail)
    at = 0
    for line in found.lines:
        assert mail[line.start : line.end] == line.text
        assert not mail[at : line.start].strip("\r\n\v\f\x1c\x1d\x1e\x85\u2028\u2029")
        at = line.end
    new = [line.text for line in found.lines if line.role is Role.NEW and line.text.strip()]
    assert [text for text in found.new_text.split("\n") if text.strip() and text != GAP] == [
        text for text in new if text != GAP
    ]


@settings(max_examples=100, deadline=None)
@given(st.sampled_from(CASES), st.text(max_size=60))
def test_marked_lines_are_never_new(case: tuple[str, str], noise: str) -> None:
    """Whatever stands around it, a line with a quote mark and a sentence behind it is history (UN-2)."""
    mail = f"{case[1]}\n> We offer September 8 at 11:00 as agreed\n{noise}"
    assert "September 8 at 11:00" not in label(mail).new_text
