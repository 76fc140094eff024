"""TX-2: automatic mail is recognised by its headers, subject and words; a person is never taken for a machine."""

from __future__ import annotations

import pytest

from pipeline.core.mail.automail import classify, is_automatic, replyable

OFFICE = "I am out of the office until Monday, September 14 and have no access to my mail. For urgent matters call Lee."
OFICINA = "Gracias por su mensaje. Estoy fuera de la oficina hasta el lunes 14 de septiembre, sin acceso a mi correo."
MACHINES = [
    ({"Auto-Submitted": "auto-replied"}, "Re: Loft", "back Monday", "auto_reply"),
    ({"Auto-Submitted": "auto-replied (vacation)"}, "Re: Loft", "", "auto_reply"),
    ({"auto-submitted": " AUTO-GENERATED ; owner=x"}, "Re: Loft", "", "auto_generated"),
    ({"X-Autoreply": "yes"}, "Re: Loft", "", "auto_reply"),
    ({"X-Loop": "hello@juniper.example"}, "Re: Loft", "", "auto_generated"),
    ({"Precedence": "bulk"}, "News", "", "list"),
    ({"Precedence": "auto_reply"}, "Re: Loft", "", "auto_reply"),
    ({"List-Id": "<news.example>"}, "News", "", "list"),
    ({"Return-Path": "<>"}, "Re: Loft", "", "bounce"),
    ({"From": "MAILER-DAEMON@mx.example"}, "Re: Loft", "", "bounce"),
    ({"Content-Type": "multipart/report; report-type=delivery-status; boundary=b"}, "x", "", "bounce"),
    ({"Content-Type": "multipart/report; report-type=disposition-notification"}, "x", "", "mdn"),
    ({"Content-Type": "text/calendar; method=REPLY"}, "Accepted: Loft", "", "calendar"),
    ({}, "Undelivered Mail Returned to Sender", "", "bounce"),
    ({}, "No se puede entregar: Loft", "", "bounce"),
    ({}, "Automatic reply: Loft", "x", "auto_reply"),
    ({}, "Respuesta automática: Loft", "x", "auto_reply"),
    ({}, "Out of Office: Loft", "", "auto_reply"),
    ({}, "Fuera de la oficina", "", "auto_reply"),
    ({}, "Ausente de la oficina: Re: Loft", "x", "auto_reply"),
    ({}, "[Ticket #4711] We have received your request", "", "auto_reply"),
    ({}, "Read: Loft", "Your message was read on Friday.", "mdn"),
    ({}, "Aceptado: Visita", "", "calendar"),
    ({}, "Re: Loft", "BEGIN:VCALENDAR\r\nMETHOD:REPLY", "calendar"),
    ({}, "Re: Loft", OFFICE, "auto_reply"),
    ({}, "Re: Loft", OFICINA, "auto_reply"),
    ({}, "Re: Loft", "This is an automated response. Your request has been received.", "auto_reply"),
    ({}, "Re: Loft", "Este es un mensaje automático, no responda.", "auto_reply"),
]
PEOPLE = [
    ({"In-Reply-To": "<i1@juniper.example>"}, "Re: Loft", "Friday works"),
    ({"X-Auto-Response-Suppress": "All"}, "Re: Loft", "Friday works"),
    ({"Auto-Submitted": "no"}, "Re: Loft", "Friday works"),
    ({"Return-Path": "<noor@mail.example>", "Precedence": "first-class"}, "Re: Loft", "Friday works"),
    ({}, "Re: Automatic reply: Loft", "OK, and Friday?"),
    ({}, "Read: a question about the loft", "Is it free?"),
    ({}, "Auto insurance and the loft", "hi"),
    ({}, "I am away next week", "so Friday?"),
    ({}, "Out of the office at 5, tour at 6?", "hi"),
    ({}, "Ausencia de luz en el pasillo", "hola"),
    ({}, "Mensaje automático del portón", "no sirve"),
    ({}, "Thank you for contacting me!", "Friday works"),
    ({}, "Re: Loft", "I am out of town until Monday, can we do Tuesday?"),
    ({}, "Re: Loft", "Estoy de vacaciones hasta el lunes, ¿puede ser el martes? Es urgente."),
    ({}, "Re: Loft", "I got your automated response. Can I come on Friday?"),
    ({}, "Re: Loft", f"Friday works\n\nOn Fri, Sep 4, 2026 at 9:12 AM Lee <lee@juniper.example> wrote:\n> {OFFICE}"),
    ({}, "", ""),
]


@pytest.mark.parametrize(("headers", "subject", "body", "kind"), MACHINES)
def test_a_machine_is_recognised(headers: dict[str, str], subject: str, body: str, kind: str) -> None:
    """Headers, subjects and notices of machines, en and es, are never answered (TX-2)."""
    found, why = classify(headers, subject, body)
    assert (found, is_automatic(found)) == (kind, True) and why


@pytest.mark.parametrize(("headers", "subject", "body"), PEOPLE)
def test_a_person_is_never_taken_for_a_machine(headers: dict[str, str], subject: str, body: str) -> None:
    """Who uses the words of machines, or asks not to get automatic answers, is still a person (TX-2)."""
    assert classify(headers, subject, body)[0] == "human"


def test_headers_come_as_a_mapping_or_as_pairs() -> None:
    """Names are compared without case, and of several headers of a name the topmost counts (TX-2)."""
    assert classify([("AUTO-SUBMITTED", "no"), ("auto-submitted", "auto-replied")], "", "")[0] == "human"


@pytest.mark.parametrize(
    ("address", "allowed"),
    [
        ("noor@mail.example", True),
        ("noor+loft@mail.example", True),
        ("Hello@Juniper.example", False),
        ("no-reply@portal.example", False),
        ("donotreply@portal.example", False),
        ("noresponder@portal.example", False),
        ("MAILER-DAEMON@mx.example", False),
        ("bounces+17=noor@list.example", False),
        ("nobody@mail.example", False),
        ("noor", False),
        ("", False),
    ],
)
def test_no_answer_goes_to_a_machine_or_to_ourselves(address: str, allowed: bool) -> None:
    """The back-stop against loops: our own addresses and addresses of machines are never written to (TX-2)."""
    assert replyable(address, {"hello@juniper.example"}) is allowed
