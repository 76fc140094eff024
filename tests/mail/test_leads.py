"""UN-2, UN-5: leads. The prospect's free text apart from labels, stamps and structured values, en and es, any order."""

from __future__ import annotations

import itertools
import time
from datetime import date, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.core.mail.lead import Lead, parse_lead, read_contact

NOW = datetime(2026, 9, 4, 9, 12)
WEBSITE = {"From": "forms@website.example", "Reply-To": "forms@website.example", "Subject": "Website inquiry"}
ASKED = "We would love to see it today (September 4), perhaps at 4 pm"
PEDIDO = "Nos gustaría verlo hoy (4 de septiembre), quizás a las 4 pm"
FORMS = {
    "en": (
        "Name: Noor Haddad",
        "Email: Noor@mail.example",
        "Phone: (737) 555-0142 ext 6",
        "Move-in: Monday, September 7",
        f"Comments: {ASKED}",
    ),
    "es": (
        "Nombre: Noor Haddad",
        "Correo: Noor@mail.example",
        "Teléfono: 737 555 0142 ext 6",
        "Fecha de mudanza: lunes 7 de septiembre",
        f"Mensaje: {PEDIDO}",
    ),
}


def lead_of(body: str, locale: str = "en", headers: dict[str, str] = WEBSITE) -> Lead:
    """The lead in a body that holds one."""
    found = parse_lead(headers, body, locale, NOW, trusted=headers is not WEBSITE)
    assert found is not None
    lines = [line for line in found.comments.split("\n") if line and line != "[…]"]
    assert [body[start:end] for start, end in found.comment_spans] == lines
    return found


@pytest.mark.parametrize("locale", ["en", "es"])
def test_fields_come_in_any_order(locale: str) -> None:
    """The free text is the comment alone, the move-in date is structured, wherever each stands (UN-2, UN-5)."""
    for order in itertools.permutations(FORMS[locale]):
        found = lead_of("\n".join(order), locale)
        assert found.comments == {"en": ASKED, "es": PEDIDO}[locale]
        assert found.move_in == date(2026, 9, 7) and found.tour_times == () and found.tour_ask is not None
        assert (found.name, found.email, found.phone, found.extension) == (
            "Noor Haddad",
            "noor@mail.example",
            "+17375550142",
            "6",
        )


SHAPES = {
    "colons": lambda label, value: f"{label}: {value}",
    "bold": lambda label, value: f"*{label}:* {value}",
    "tabs": lambda label, value: f"{label}\t{value}",
    "value below": lambda label, value: f"{label}:\n{value}\n",
    "value below, no colon": lambda label, value: f"{label}\n{value}\n",
}


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES.keys())
@pytest.mark.parametrize("locale", ["en", "es"])
def test_forms_are_printed_in_many_shapes(shape: object, locale: str) -> None:
    """Label and value are found beside and below each other (TX-2)."""
    assert callable(shape)
    found = lead_of("\n".join(shape(*line.split(": ", 1)) for line in FORMS[locale]), locale)
    assert (
        found.comments == {"en": ASKED, "es": PEDIDO}[locale]
        and found.move_in == date(2026, 9, 7)
        and found.name == "Noor Haddad"
    )


@pytest.mark.parametrize(
    "footer",
    [
        f"> Comments: {ASKED}",
        f"-- \nYou wrote:\n> {ASKED}",
        f"Original message: {ASKED}",
        f"Copy of your message: {ASKED}",
        "Submitted: Friday, September 4, 2026 at 9:12 AM",
        "Received on: 9/4/2026 9:12 AM",
        "-- \nThis e-mail was sent from a contact form on September 4",
        "Listed since September 1, 2026.",
        "How did you hear about us: drove by on September 3",
    ],
)
def test_what_stands_in_a_footer_alone_is_not_asked(footer: str) -> None:
    """Where the wish or a date stands only in a footer, a stamp or a quote, there is no eligible text (UN-2)."""
    found = lead_of("\n".join((*FORMS["en"][:4], "", footer)))
    assert found.comments == "" and found.comment_spans == () and found.tour_times == ()
    repeated = lead_of("\n".join((*FORMS["en"], "", footer)))
    assert repeated.comments == ASKED


@pytest.mark.parametrize(
    ("lines", "locale"),
    [
        (("Tour date: Wednesday, September 9, 2026", "Tour time: 4:30 PM"), "en"),
        (("Preferred date/time: 09/09/2026 4:30 PM", "Best time to call: 6 PM"), "en"),
        (("Preferred tour times: 2026-09-09 16:30",), "en"),
        (("Fecha de la visita: 09/09/2026", "Hora de la visita: 16:30"), "es"),
        (("Horario de visita preferido: 9 de septiembre de 2026 a las 4:30 pm",), "es"),
    ],
)
def test_tour_fields_are_structured_times(lines: tuple[str, ...], locale: str) -> None:
    """Day and time of a visit come out of fields with such labels, and of no others (UN-5)."""
    assert lead_of("\n".join((*FORMS[locale][:3], *lines)), locale).tour_times == (datetime(2026, 9, 9, 16, 30),)


def test_a_day_without_a_year_needs_the_mail_s_date() -> None:
    """Without a time of arrival no year is made up; what the field says stays as text (UN-3)."""
    found = parse_lead(WEBSITE, "\n".join(FORMS["en"]), "en")
    assert found is not None and found.move_in is None and found.move_in_text == "Monday, September 7"
    full = parse_lead(WEBSITE, "Name: Noor\nEmail: n@mail.example\nMove Date: 10/1/2026\nMessage: hi", "en")
    assert full is not None and full.move_in == date(2026, 10, 1)


def test_a_comment_has_lines_paragraphs_and_days_of_its_own() -> None:
    """A comment runs on over lines and blanks up to the next field; days in it are no labels (UN-2)."""
    found = lead_of(
        "Name: Noor\nEmail: n@mail.example\nComments: Hello\n\nWe can come\nWednesday: after 5\nThursday: at noon\nPhone: 737-555-0142"
    )
    assert found.comments.split("\n") == ["Hello", "We can come", "Wednesday: after 5", "Thursday: at noon"]
    assert found.phone == "+17375550142"


def test_a_contact_form_that_prints_mail_headers_is_a_form() -> None:
    """ "From: … Subject: … Message Body:" is a form and no quoted mail (TX-2)."""
    body = f"From: Noor Haddad <noor@mail.example>\nSubject: Loft\n\nMessage Body:\n{ASKED}\n\n-- \nThis e-mail was sent from a contact form"
    found = lead_of(body)
    assert (found.kind, found.name, found.email, found.comments) == ("form", "Noor Haddad", "noor@mail.example", ASKED)


@pytest.mark.parametrize(
    ("headers", "heard"),
    [
        ({"From": "Noor <noor.h@gmail.com>"}, True),
        ({"From": "Noor <noor@home.example>", "In-Reply-To": "<i1@juniper.example>"}, True),
        ({"From": "Site <desk@builder.example>"}, False),
        ({"From": "Site <noreply@gmail.com>"}, False),
        ({"From": "Site <desk@gmail.com>", "Reply-To": "noor@mail.example"}, False),
    ],
)
def test_only_the_writer_of_a_list_speaks_beside_it(headers: dict[str, str], heard: bool) -> None:
    """What stands around the fields of a form that a program sent is the program's, not the prospect's (UN-2)."""
    found = lead_of(
        "You have news of September 3: is Saturday free?\n\nName: Noor\nEmail: noor@mail.example\nBudget: $1,900",
        headers=headers,
    )
    assert bool(found.comments) is heard


def test_a_person_who_lists_their_data_still_speaks() -> None:
    """Where the sender wrote the list, the sentences around it are the comment (UN-2)."""
    headers = {"From": "Noor Haddad <noor@mail.example>", "Subject": "Loft"}
    found = lead_of(
        "Hi, is Saturday at noon possible?\n\nName: Noor Haddad\nPhone: 737-555-0142\nMove-in: October 1",
        headers=headers,
    )
    assert found.comments == "Hi, is Saturday at noon possible?" and found.move_in == date(2026, 10, 1)


@pytest.mark.parametrize(
    ("headers", "body", "locale"),
    [
        (
            {
                "From": '"Noor Haddad" <k29xq81ztoken@convo.portal.example>',
                "Subject": "Noor Haddad is requesting information about 8 Elm St",
            },
            'New contact for 8 Elm St\n\nNoor Haddad says:\n"Could we see it Saturday at noon?"\n\nMove in: Oct 01, 2026\nPhone: (737) 555-0142\n\n'
            "Reply to this email to respond to Noor.\nListed since August 2, 2026.",
            "en",
        ),
        (
            {
                "From": '"Noor Haddad" <k29xq81ztoken@relay.portal.example>',
                "Subject": "Noor Haddad solicita información sobre 8 Elm St",
            },
            'Noor Haddad dice:\n"¿Lo podemos ver el sábado a las 12?"\n\nMudanza: 1 de octubre de 2026\nTeléfono: (737) 555-0142\n\n'
            "Responda a este correo para contestar.\nPublicado desde el 2 de agosto de 2026.",
            "es",
        ),
    ],
)
def test_a_portal_wraps_the_words_of_a_prospect(headers: dict[str, str], body: str, locale: str) -> None:
    """Of a portal's mail the quoted words are the comment; its relay is no address of the person (CK-7, UN-2)."""
    found = lead_of(body, locale, headers)
    assert (found.kind, found.name, found.email, found.relay) == (
        "portal",
        "Noor Haddad",
        None,
        headers["From"].split("<")[1].rstrip(">"),
    )
    assert found.move_in == date(2026, 10, 1) and found.property == "8 Elm St" and found.phone == "+17375550142"
    assert "sábado" in found.comments or "Saturday" in found.comments
    assert "agosto" not in found.comments and "August" not in found.comments and found.not_request_dates


FORWARDS = {
    "Gmail": "fyi, out until September 20\n\n---------- Forwarded message ---------\nFrom: {who}\nDate: Fri, Sep 4, 2026 at 9:12 AM\n"
    "Subject: Loft\nTo: <lee@juniper.example>\n"
    "\n{body}\n",
    "Apple": "fyi, out until September 20\n\nBegin forwarded message:\n\n> From: {who}\n> Subject: Loft\n> Date: September 4, 2026 at 9:12 AM\n> \n{quoted}\n",
    "Outlook": "fyi, out until September 20\n\nFrom: {who}\nSent: Friday, September 4, 2026 9:12 AM\nTo: Lee\nSubject: Loft\n\n{body}\n\n"
    "From: Lee <lee@juniper.example>\nSent: Thursday, September 3, 2026 9:12 AM\nTo: Noor\nSubject: Loft\n\nWe have September 8.\n",
    "Outlook, Spanish": "te lo paso, vuelvo el 20 de septiembre\n\nDe: {who}\nEnviado el: viernes, 4 de septiembre de 2026 9:12\nPara: Lee\nAsunto: Loft\n\n{body}\n",
}


@pytest.mark.parametrize("frame", FORWARDS.values(), ids=FORWARDS.keys())
def test_of_a_forward_the_inner_mail_speaks(frame: str) -> None:
    """A colleague's own words and the thread below are no comment; the forwarded person's words are (UN-2)."""
    headers = {"From": "Lee <lee@juniper.example>", "Subject": "Fwd: Loft"}
    for body in (ASKED, "\n".join(FORMS["en"])):
        quoted = "\n".join(f"> {line}" for line in body.split("\n"))
        found = lead_of(frame.format(who="Noor Haddad <noor@mail.example>", body=body, quoted=quoted), headers=headers)
        assert (found.kind, found.name, found.email, found.comments) == (
            "forward",
            "Noor Haddad",
            "noor@mail.example",
            ASKED,
        )


def test_a_forward_of_anybody_is_a_letter() -> None:
    """Without trust in its sender a forwarded mail is not looked into: its words are nobody's request (UN-2)."""
    mail = FORWARDS["Gmail"].format(who="Noor Haddad <noor@mail.example>", body=ASKED, quoted="")
    assert parse_lead({"From": "Zoe <zoe@mail.example>", "Subject": "Fwd: Loft"}, mail, "en", NOW) is None


def test_a_digest_is_never_one_person() -> None:
    """Two people in one mail are counted, not merged (CK-7)."""
    body = "You have 2 messages\n1) Noor Haddad, noor@mail.example, move-in 10/1/2026\n2) Ben Okoye, ben@mail.example, move-in 11/1/2026"
    found = lead_of(body)
    assert (found.kind, found.leads, found.name, found.email, found.comments) == ("digest", 2, None, None, "")


@pytest.mark.parametrize(
    ("headers", "body"),
    [
        ({"From": "Noor <noor@mail.example>", "Subject": "Re: Loft"}, "Friday at 3 works. My phone: 737-555-0142"),
        (
            {"From": "Noor <noor@mail.example>", "Subject": "Re: Loft"},
            "Move-in: Thursday, October 1\nBedrooms: 2\nPets: one cat\n\nWhich day is the earliest?",
        ),
        (
            {"From": "Noor <noor@mail.example>", "Subject": "Re: Loft"},
            f"Yes\n\nOn Fri, Sep 4, 2026 at 9:12 AM X <a@b.example> wrote:\n> Name: Noor\n> Email: n@x.example\n> Comments: {ASKED}",
        ),
        ({"From": "Noor <noor@mail.example>", "Subject": "Loft"}, ""),
    ],
)
def test_a_letter_is_no_lead(headers: dict[str, str], body: str) -> None:
    """What a person writes is read as a letter, and a quoted form is not a form (UN-2)."""
    assert parse_lead(headers, body, "en", NOW) is None


def test_a_letter_names_its_writer() -> None:
    """Who introduces himself from a shared address is another person of that address (CK-7)."""
    headers = {"From": "Noor & Ben Haddad <haddads@mail.example>"}
    found = read_contact(headers, "Hi, this is Ben, Noor's brother. My cell is 737-555-0143.")
    assert (found.name, found.email, found.phone, found.shared_address) == (
        "Ben Haddad",
        "haddads@mail.example",
        "+17375550143",
        True,
    )
    assert read_contact(headers, "Friday at 3?").name is None
    assert read_contact({"From": "Noor <noor@mail.example>"}, "Soy Noor Haddad, ¿el viernes?").name == "Noor Haddad"


@pytest.mark.parametrize(
    "body",
    [
        "a: b\n" * 40_000,
        "Name:\n" * 40_000,
        ":" * 200_000,
        "\t" * 200_000,
        "Comments: " + "x " * 100_000,
        "\r" * 200_000,
    ],
)
def test_hostile_bodies_are_read_within_a_second(body: str) -> None:
    """No body hangs (TX-2)."""
    started = time.process_time()
    parse_lead({"From": body[:5_000], "Subject": body[:5_000]}, body, "en", NOW)
    assert time.process_time() - started < 1


_LINES = st.sampled_from(
    [*FORMS["en"], *FORMS["es"], "> Comments: x", "-- ", "", "Submitted: 9/4/2026", "says:", "1) a@b.example"]
)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.one_of(_LINES, st.text(max_size=30)), max_size=10).map("\n".join), st.sampled_from(["en", "es"]))
def test_comments_stand_where_their_spans_say(body: str, locale: str) -> None:
    """Whatever the body, each line of the comments is a stretch of it (UN-2)."""
    found = parse_lead(WEBSITE, body, locale, NOW)
    if found is not None:
        joined = [line for line in found.comments.split("\n") if line != "[…]"]
        assert "\n".join(body[start:end] for start, end in found.comment_spans).split("\n") == (
            joined if found.comment_spans else [""]
        )
