"""Conversations that once went wrong, through the real doors, in both languages (DM-1, CO-1, CO-5, IN-4, UN-6, UN-7)."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa

from pipeline.core.gate import Outgoing, RecordState, gate
from pipeline.core.templates import FactSource, Templates
from pipeline.domains.leasing.parts import part_of, within
from pipeline.ports import Tx
from scripts.sandbox import messages
from storage.tables import offer, turn
from tests.stories.test_texts import CAMELLIA, JACARANDA, say, states
from tests.support.running import running

TEMPLATES = Templates(("pipeline.templates", "pipeline.domains.leasing.templates"))
VALUES = {
    "property": "Camellia Court", "address": "1450 Camellia Street", "phone": "+1 312-555-0100", "who": "+13125550177", "person": "Dana",
    "slot": "2026-07-20T11:00", "a": "2026-07-20T11:00", "b": "2026-07-20T12:00", "day": "2026-07-20", "days": ["2026-07-20", "2026-07-21"],
    "slots": ["2026-07-20T11:00", "2026-07-20T12:00"],
}  # fmt: skip

Thread = tuple[tuple[str, tuple[str, ...]], ...]
"""What the customer says, and what must stand in the answer; a word after "not " must not."""

THREADS: dict[str, tuple[str, Thread, list[tuple[str, str]]]] = {
    "a yes after a proposal is to the proposal and not to older offers": (
        CAMELLIA,
        (
            ("Hi, can I see an apartment tomorrow?", ("Which one suits you?",)),
            ("Can I come Monday, July 20 at 11 am?", ("Is that the right day and time?", "not confirmed")),
            ("yes", ("confirmed for Monday, July 20 at 11:00 AM",)),
        ),
        [("CONFIRMED", "2026-07-20T11:00")],
    ),
    "un sí después de una propuesta es para la propuesta": (
        JACARANDA,
        (
            ("Hola, ¿puedo ver un apartamento mañana?", ("¿Cuál le conviene?",)),
            ("¿puedo ir el lunes 20 de julio a las 11:30 de la mañana?", ("¿Son correctos el día y la hora?",)),
            ("sí", ("confirmada para el lunes 20 de julio a las 11:30 a. m.",)),
        ),
        [("CONFIRMED", "2026-07-20T11:30")],
    ),
    "a time alone is asked about on the only day on offer": (
        CAMELLIA,
        (
            ("Hi, can I see an apartment tomorrow?", ("10:00 AM, 1:00 PM or 3:30 PM",)),
            ("what about 1:30 pm", ("Saturday, July 18: 1:30 PM", "not confirmed", "not 3:30")),
            ("yes", ("confirmed for Saturday, July 18 at 1:30 PM",)),
            ("can we make it 2 pm instead?", ("Saturday, July 18: 2:00 PM", "not confirmed")),
            ("yes please", ("confirmed for Saturday, July 18 at 2:00 PM",)),
        ),
        [("SUPERSEDED", "2026-07-18T13:30"), ("CONFIRMED", "2026-07-18T14:00")],
    ),
    "una hora sola se pregunta para el único día ofrecido": (
        JACARANDA,
        (
            ("Hola, ¿puedo ver un apartamento mañana?", ("sábado 18 de julio",)),
            ("a las 10", ("sábado 18 de julio: 10:00 a. m.", "not confirmada")),
            ("sí", ("confirmada para el sábado 18 de julio a las 10:00 a. m.",)),
        ),
        [("CONFIRMED", "2026-07-18T10:00")],
    ),
    "offers lie in the part of the day that was asked for": (
        CAMELLIA,
        (
            ("can I see an apartment tomorrow afternoon?", ("12:00 PM, 2:00 PM or 3:30 PM", "not AM")),
            ("Do you have anything tomorrow morning?", ("Saturday, July 18", "AM", "not PM")),
        ),
        [],
    ),
    "las horas ofrecidas están en la parte del día pedida": (
        JACARANDA,
        (
            ("¿puedo visitar mañana por la tarde?", ("12:00 p. m., 1:00 p. m. o 1:30 p. m.", "not a. m.")),
            ("¿puedo visitar el lunes por la mañana?", ("lunes 20 de julio", "a. m.", "not p. m.")),
        ),
        [],
    ),
    "las horas rechazadas se contestan con palabras y no con una persona": (
        JACARANDA,
        (
            ("Hola, ¿puedo ver un apartamento mañana?", ("¿Cuál le conviene?",)),
            ("ninguna me sirve", ("No hay problema", "not persona")),
        ),
        [],
    ),
    "a list that was answered has no second one any more": (
        CAMELLIA,
        (
            ("Hi, can I see an apartment tomorrow?", ("10:00 AM, 1:00 PM or 3:30 PM",)),
            ("the first one", ("confirmed for Saturday, July 18 at 10:00 AM",)),
            ("the second one", ("not 3:30",)),
        ),
        [("CONFIRMED", "2026-07-18T10:00")],
    ),
    "a closed day is answered with the days after it": (
        CAMELLIA,
        (("Can I tour Sunday July 19 at 11 am?", ("Sunday, July 19 at 11:00 AM is not open", "Monday, July 20", "not July 17")),),
        [],
    ),
    "un día cerrado se contesta con los días siguientes": (
        JACARANDA,
        (("¿Puedo visitar el domingo a las 11?", ("domingo 19 de julio a las 11:00 a. m. no está libre", "lunes 20 de julio")),),
        [],
    ),
}


@pytest.mark.parametrize(("to", "thread", "expected"), THREADS.values(), ids=THREADS.keys())
async def test_a_thread(tmp_path: Path, to: str, thread: Thread, expected: list[tuple[str, str]]) -> None:
    """Each text gets one answer that says this and not that, and the tours are these."""
    who = "+13125550166"
    async with running(tmp_path=tmp_path, burst=0.05, CLARA_CHANNELS="sms,email") as run:
        run.world.opt_out = "off"
        for text, wanted in thread:
            answer = await say(run, who, text, to)
            for words in wanted:
                unwanted = words.removeprefix("not ")
                assert (unwanted not in answer) if words.startswith("not ") else (words in answer), answer
        assert await states(run, who) == expected


@pytest.mark.parametrize(
    ("to", "ask"), [(CAMELLIA, "Can I see an apartment today?"), (JACARANDA, "¿Puedo ver un apartamento hoy?")], ids=["en", "es"]
)
async def test_offers_of_one_list_stand_and_fall_together(tmp_path: Path, to: str, ask: str) -> None:
    """All times of a list stand as long as the last of them, so that "the second one" is the same one for as long as it can be said (UN-6)."""
    async with running(tmp_path=tmp_path, burst=0.05, CLARA_CHANNELS="sms,email") as run:
        run.world.opt_out = "off"
        await say(run, "+13125550166", ask, to)
        rows = await run.clara.db.read(offered)
        assert len(rows) == 3 and len({expires_at for _, expires_at in rows}) == 1
        assert rows[0][1] == rows[-1][0] - timedelta(minutes=30)


async def test_what_comes_from_our_own_addresses_is_never_answered(tmp_path: Path) -> None:
    """A text from our own number and a mail from our own mailbox end as automatic: no loop begins (TX-2, CO-5)."""
    ours = "hello@camellia.example"
    async with running(tmp_path=tmp_path, burst=0.05, CLARA_CHANNELS="sms,email") as run:
        await messages.send_text(run.world, sender=CAMELLIA, to=CAMELLIA, body="Can I tour on Monday, July 20 at 11 am?")
        raw = messages.compose(run.world, sender=ours, to=ours, subject="Visit", text="Can I tour on Monday, July 20 at 11 am?")
        await messages.send_mail(run.world, raw)
        await run.quiet()
        assert run.texts(CAMELLIA) == [] and run.mails(ours) == []
        assert await run.clara.db.read(endings) == ["automatic_mail", "automatic_mail"]


def endings(tx: Tx) -> list[str]:
    """How every turn ended."""
    return list(tx.conn.execute(sa.select(turn.c.ending)).scalars())


def offered(tx: Tx) -> list[tuple[datetime, datetime]]:
    """Start and expiry of every offer, by start."""
    query = sa.select(offer.c.starts_at, offer.c.expires_at).order_by(offer.c.starts_at)
    return [(row.starts_at, row.expires_at) for row in tx.conn.execute(query)]


@pytest.mark.parametrize(
    ("spans", "hour", "fits"),
    [
        (("tomorrow afternoon",), 14, True), (("tomorrow afternoon",), 10, False), (("mañana",), 10, True), (("mañana",), 15, True),
        (("mañana por la mañana",), 15, False), (("mañana por la mañana",), 9, True), (("el lunes en la tarde",), 9, False),
        (("Monday, not in the morning",), 14, True), (("Monday, not in the morning",), 9, True), (("el lunes, más tarde",), 9, True),
        (("Monday morning", "or Tuesday evening"), 14, True), ((), 9, True), (("Monday after work",), 9, False),
    ],
)  # fmt: skip
def test_a_part_of_the_day_only_narrows(spans: tuple[str, ...], hour: int, fits: bool) -> None:
    """One part of the day leaves its hours; two, none, or one that may be ruled out leave all."""
    assert within(datetime(2026, 7, 20, hour), part_of(spans)) is fits


@pytest.mark.parametrize("locale", ["en", "es"])
@pytest.mark.parametrize("spoken", [False, True])
def test_the_gate_passes_every_sentence_of_code(locale: str, spoken: bool) -> None:
    """On a committing turn no fixed sentence is refused: a commit would end in the holding text (CO-5, OG-2)."""
    for name in sorted({template.id for template in TEMPLATES.all()}):
        settled = "confirmed" in name or "stands" in name
        segments = TEMPLATES.render(FactSource(name, "record", 1, VALUES), locale, spoken)
        verdict = gate(Outgoing(segments, locale, "voice" if spoken else "sms", committing=True, record=RecordState("CONFIRMED" if settled else None)))
        assert verdict.passed is not None, (name, verdict.findings)
