"""The mail that started it all, and its variants (CO-1, UN-2, UN-5, PR-4, PR-5)."""

from __future__ import annotations

import email
import email.policy

import pytest

from scripts.sandbox import messages
from storage.screens import tours_of
from tests.support.running import Running, running

SAM = "sam.rivera@mail.example"
ASKED = "I'd like to tour today (July 17) maybe 1 pm"
PEDIDO = "Quisiera visitar hoy (17 de julio), quizás a la 1 pm"
MAIL_ONLY = {"CLARA_CHANNELS": "sms,email"}


def body_of(raw: bytes) -> str:
    """The plain text of a mail, on one line."""
    body = email.message_from_bytes(raw, policy=email.policy.default).get_body(("plain",))
    assert body is not None
    return " ".join(str(body.get_content()).split())


def form(*lines: str, to: str = "hello@camellia.example") -> bytes:
    """A website-form mail with these lines, in this order."""
    head = (
        "From: Website <forms@website.example>",
        f"To: {to}",
        "Subject: New inquiry",
        "Date: Fri, 17 Jul 2026 09:11:00 -0500",
        "Message-ID: <inquiry-1@website.example>",
        f"Reply-To: Sam Rivera <{SAM}>",
        "MIME-Version: 1.0",
        "Content-Type: text/plain; charset=utf-8",
        "",
    )
    return "\r\n".join((*head, *lines, "")).encode()


NAME, MAIL, MOVE_IN = "Name: Sam Rivera", f"Email: {SAM}", "Move-in: Monday, July 20"
ORDERS = {
    "the fields as the website sends them": (NAME, MAIL, MOVE_IN, f"Comments: {ASKED}"),
    "the free text before the move-in date": (f"Comments: {ASKED}", MOVE_IN, NAME, MAIL),
    "the free text repeated in a quoted footer": (
        NAME, MAIL, MOVE_IN, f"Comments: {ASKED}", "", "-- ", "You wrote:", f"> Comments: {ASKED}", "> Move-in: Monday, July 20",
    ),  # fmt: skip
}


async def one_answer(run: Running, raw: bytes) -> str:
    """Delivers a mail and gives the only customer-facing message that it brings about, on any channel."""
    answer = await messages.send_mail(run.world, raw)
    assert answer.status == 200
    await run.quiet()
    customer = run.mails(SAM)
    assert len(customer) == 1 and not [m for m in run.world.messages.values() if m.direction != "inbound"]
    return body_of(customer[0])


@pytest.mark.parametrize("lines", ORDERS.values(), ids=ORDERS.keys())
async def test_one_answer_with_the_right_day(database_url: str, lines: tuple[str, ...]) -> None:
    """One message, the tour PROPOSED for 17 July at 1 pm with a restating question, not a word about the move-in date."""
    async with running(database_url, **MAIL_ONLY) as run:
        answer = await one_answer(run, form(*lines))
        assert "Friday, July 17 at 1:00 PM" in answer and "Is that the right day and time?" in answer
        assert "20" not in answer and "Monday" not in answer and "confirmed" not in answer and "4471" not in answer
        tours = await run.clara.db.read(tours_of, SAM)
        zone = run.clara.settings.properties["camellia"].zone
        assert [(t["state"], f"{t['starts_at'].astimezone(zone):%Y-%m-%d %H:%M}") for t in tours] == [("PROPOSED", "2026-07-17 13:00")]


async def test_the_same_in_spanish(database_url: str) -> None:
    """The Spanish form gets the Spanish answer, with the same care."""
    async with running(database_url, **MAIL_ONLY) as run:
        lines = ("Nombre: Sam Rivera", f"Correo electrónico: {SAM}", "Fecha de mudanza: lunes, 20 de julio", f"Mensaje: {PEDIDO}")
        answer = await one_answer(run, form(*lines, to="hola@jacaranda.example"))
        assert "viernes 17 de julio a la 1:00 p. m." in answer and "¿Son correctos el día y la hora?" in answer
        assert "20" not in answer and "lunes" not in answer and "confirmada" not in answer
        assert [tour["state"] for tour in await run.clara.db.read(tours_of, SAM)] == ["PROPOSED"]


async def test_words_in_a_quoted_footer_alone_book_nothing(database_url: str) -> None:
    """Where the request stands in the quoted footer only, there is no tour and one question."""
    async with running(database_url, **MAIL_ONLY) as run:
        lines = (NAME, MAIL, MOVE_IN, "", "-- ", "You wrote:", f"> Comments: {ASKED}", "> Move-in: Monday, July 20")
        answer = await one_answer(run, form(*lines))
        assert "?" in answer and "July" not in answer and "1:00" not in answer
        assert await run.clara.db.read(tours_of, SAM, live=False) == []


async def test_the_note_goes_to_the_people_of_the_property(database_url: str) -> None:
    """The manager's note is a mail to the office and no customer-facing message (DM-1)."""
    async with running(database_url, **MAIL_ONLY) as run:
        await one_answer(run, form(NAME, MAIL, MOVE_IN, f"Comments: {ASKED}"))
        notes = [body_of(raw) for raw in run.mails("office@camellia.example")]
        assert len(notes) == 1 and "Friday, July 17 at 1:00 PM" in notes[0]


async def test_a_redelivered_mail_has_no_effect(database_url: str) -> None:
    """The same mail twice is answered 200 twice and once with a message (OP-3)."""
    async with running(database_url, **MAIL_ONLY) as run:
        raw = form(NAME, MAIL, MOVE_IN, f"Comments: {ASKED}")
        await one_answer(run, raw)
        await one_answer(run, raw)


async def test_automatic_mail_is_never_answered(database_url: str) -> None:
    """An out-of-office reply and a bounce end as automatic mail, with no message (TX-2, CO-5)."""
    async with running(database_url, **MAIL_ONLY) as run:
        raw = messages.compose(
            run.world, sender=SAM, to="hello@camellia.example", subject="Automatic reply: your visit",
            text="I am out of office until Monday, July 27.", headers={"Auto-Submitted": "auto-replied"},
        )  # fmt: skip
        await messages.send_mail(run.world, raw)
        await run.quiet()
        assert run.mails(SAM) == []
