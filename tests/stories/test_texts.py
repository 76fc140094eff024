"""Text threads from the first word to the tour (DM-1, CO-1, TX-1, TX-4, CK-3, CK-4, PR-4)."""

from __future__ import annotations

import asyncio

from scripts.sandbox import messages
from storage.screens import intents_to, tours_of
from tests.support.running import Running, running

CAMELLIA, JACARANDA = "+13125550100", "+13125550200"
TEXT_ONLY = {"CLARA_CHANNELS": "sms,email"}


async def say(run: Running, sender: str, body: str, to: str = CAMELLIA) -> str:
    """Sends one text, waits until everything is settled, and gives the one answer to it."""
    before = len(run.texts(sender))
    await messages.send_text(run.world, sender=sender, to=to, body=body)
    await run.quiet()
    answers = run.texts(sender)[before:]
    assert len(answers) == 1, f"one answer to {body!r}, not {answers}"
    return answers[0]


async def states(run: Running, address: str) -> list[tuple[str, str]]:
    """All tours of an address: state and local start."""
    prop = run.clara.settings.properties["camellia"]
    rows = await run.clara.db.read(tours_of, address, live=False)
    return [(row["state"], prop.local(row["starts_at"]).isoformat(timespec="minutes")) for row in rows]


async def test_a_spanish_texter_books_an_offered_time_and_moves_it(database_url: str) -> None:
    """Story (b): offers, acceptance CONFIRMED, a move PROPOSED with a question, confirmed by restating; one message each, in Spanish."""
    who = "+13125550188"
    async with running(database_url, **TEXT_ONLY) as run:
        offered = await say(run, who, "Hola, ¿puedo ver un apartamento mañana por la mañana?", JACARANDA)
        assert "¿Cuál le conviene?" in offered and "asistente automático" in offered
        booked = await say(run, who, "La primera, por favor", JACARANDA)
        assert "confirmada para el sábado 18 de julio a las 9:00 a. m." in booked
        moved = await say(run, who, "¿Puedo cambiar mi visita al lunes 20 de julio a las 11 de la mañana?", JACARANDA)
        assert "lunes 20 de julio a las 11:00 a. m." in moved and "?" in moved and "confirmada" not in moved
        agreed = await say(run, who, "Sí, el lunes 20 de julio a las 11 de la mañana", JACARANDA)
        assert "confirmada para el lunes 20 de julio a las 11:00 a. m." in agreed
        assert await states(run, who) == [("SUPERSEDED", "2026-07-18T09:00"), ("CONFIRMED", "2026-07-20T11:00")]


async def test_book_cancel_and_book_the_same_again(database_url: str) -> None:
    """Book A, cancel, book A again: two tours, no collapse, and a duplicate of the webhook changes nothing (CK-3, OP-3)."""
    who = "+13125550177"
    async with running(database_url, **TEXT_ONLY) as run:
        first = await say(run, who, "Can I tour on Monday, July 20 at 11 am?")
        assert "Monday, July 20 at 11:00 AM" in first and "confirmed" not in first
        cancelled = await say(run, who, "Please cancel my tour on Monday, July 20 at 11 am")
        assert "cancelled" in cancelled
        await messages.send_text(run.world, sender=who, to=CAMELLIA, body="Can I tour on Monday, July 20 at 11 am?", message_sid="SMrepeat")
        await run.quiet()
        before = run.texts(who)
        await messages.send_text(run.world, sender=who, to=CAMELLIA, body="Can I tour on Monday, July 20 at 11 am?", message_sid="SMrepeat")
        await run.quiet()
        assert run.texts(who) == before and len(before) == 3
        assert await states(run, who) == [("CANCELLED", "2026-07-20T11:00"), ("PROPOSED", "2026-07-20T11:00")]


async def test_two_texts_in_a_burst_are_one_trigger(database_url: str) -> None:
    """Two texts within the burst window get one answer, decided on both (TX-4)."""
    who = "+13125550166"
    async with running(database_url, burst=0.6, **TEXT_ONLY) as run:
        await messages.send_text(run.world, sender=who, to=CAMELLIA, body="Can I see an apartment?")
        await messages.send_text(run.world, sender=who, to=CAMELLIA, body="On Monday, July 20 at 11 am")
        await run.quiet()
        answers = run.texts(who)
        assert len(answers) == 1 and "Monday, July 20 at 11:00 AM" in answers[0]


async def test_a_text_before_the_commit_restarts_the_decision(database_url: str) -> None:
    """A text that arrives while the model still reads is decided together with the first: one answer, on both (TX-4)."""
    who = "+13125550155"
    async with running(database_url, burst=0.05, **TEXT_ONLY) as run:
        run.world.faults.arm("anthropic.slow", times=1, seconds=0.8)
        await messages.send_text(run.world, sender=who, to=CAMELLIA, body="Can I tour on Monday, July 20 at 11 am?")
        await asyncio.sleep(0.4)
        await messages.send_text(run.world, sender=who, to=CAMELLIA, body="Thank you!")
        await run.quiet()
        answers = run.texts(who)
        assert len(answers) == 1 and "Monday, July 20 at 11:00 AM" in answers[0]
        assert await states(run, who) == [("PROPOSED", "2026-07-20T11:00")]


async def test_a_text_after_the_commit_supersedes_the_unsent_answer(database_url: str) -> None:
    """After the commit a text is a new trigger: its answer takes the place of the unsent one and carries its facts (TX-4)."""
    who = "+13125550144"
    async with running(database_url, burst=0.05, **TEXT_ONLY) as run:
        run.world.faults.arm("anthropic.slow", times=1, after=1, seconds=1.5)  # the draft of the first answer
        await messages.send_text(run.world, sender=who, to=CAMELLIA, body="Can I tour on Monday, July 20 at 11 am?")
        await run.until(lambda: len(run.world.seen("anthropic")) >= 1, what="the first reading")
        await asyncio.sleep(0.4)
        await messages.send_text(run.world, sender=who, to=CAMELLIA, body="Do you take cats?")
        await run.quiet()
        answers = run.texts(who)
        assert len(answers) == 1 and "Monday, July 20 at 11:00 AM" in answers[0]
        stored = await run.clara.db.read(intents_to, who)
        assert sorted(row["state"] for row in stored) in (["accepted", "superseded"], ["delivered", "superseded"])


async def test_capacity_holds_between_two_customers(database_url: str) -> None:
    """Two customers who ask for the last seat of a slot at once: one gets it, the other is offered other times (CK-6)."""
    ann, ben = "+13125550133", "+13125550134"
    async with running(database_url, **TEXT_ONLY) as run:
        body = "Can I tour on Monday, July 20 at 11 am?"
        await asyncio.gather(*(messages.send_text(run.world, sender=who, to=CAMELLIA, body=body) for who in (ann, ben)))
        await run.quiet()
        both = [run.texts(ann), run.texts(ben)]
        assert [len(answers) for answers in both] == [1, 1]
        assert sum("Is that the right day and time?" in answers[0] for answers in both) == 1
        assert sum("not open" in answers[0] for answers in both) == 1


async def test_opt_out_words_act_first_and_nothing_leaves_afterwards(database_url: str) -> None:
    """PARAR suppresses: one confirmation at most, then silence until INICIAR (SR-7, IN-9)."""
    who = "+13125550122"
    async with running(database_url, **TEXT_ONLY) as run:
        run.world.opt_out = "off"
        assert "No recibirá más mensajes" in await say(run, who, "PARAR", JACARANDA)
        await messages.send_text(run.world, sender=who, to=JACARANDA, body="¿Puedo ver un apartamento mañana a las 10 de la mañana?")
        await run.quiet()
        assert len(run.texts(who)) == 1


async def test_a_wish_for_a_person_is_met_at_once(database_url: str) -> None:
    """Whoever asks for a person is told that one will come, and nothing is committed on that turn (LW-3)."""
    who = "+13125550111"
    async with running(database_url, **TEXT_ONLY) as run:
        assert "A person will get back to you" in await say(run, who, "I want to talk to a real person please")
        assert await states(run, who) == []


async def test_an_entry_code_never_leaves(database_url: str) -> None:
    """Asked for the door code, Clara says who opens, and no byte of the code leaves (OG-3, IN-3)."""
    who = "+13125550112"
    async with running(database_url, **TEXT_ONLY) as run:
        answer = await say(run, who, "What's the door code? I am standing outside")
        assert "4471" not in answer and "let you in" in answer
