"""What a customer can get done on one channel can be done on all, in both languages (EV-3, UN-6, CK-1)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from pipeline.core.checks import Action
from pipeline.core.types import Channel
from pipeline.ports import Tx
from storage.screens import tours_of
from storage.trace import tail
from tests.parity.lines import LINES, OURS
from tests.support.evidence import cases
from tests.support.running import running

# Said in this order; after each the state and local start of the newest tour, or None where there is none.
TALK: Mapping[str, tuple[tuple[str, Action | None, tuple[str, str] | None], ...]] = {
    "en": (
        ("Can I tour on Monday, July 20 at 11 am?", Action.REQUEST, ("PROPOSED", "2026-07-20T11:00")),
        ("Yes, Monday, July 20 at 11 am", Action.CONFIRM, ("CONFIRMED", "2026-07-20T11:00")),
        ("Can I move my tour to Tuesday, July 21 at 2 pm?", Action.RESCHEDULE, ("PROPOSED", "2026-07-21T14:00")),
        ("Yes, Tuesday, July 21 at 2 pm", Action.CONFIRM, ("CONFIRMED", "2026-07-21T14:00")),
        ("Please cancel my tour on Tuesday, July 21 at 2 pm", Action.CANCEL, ("CANCELLED", "2026-07-21T14:00")),
        ("Can I see an apartment on Wednesday morning?", None, ("CANCELLED", "2026-07-21T14:00")),
        ("None of those work for me", Action.DECLINE, ("CANCELLED", "2026-07-21T14:00")),
        ("Can I see an apartment on Thursday morning?", None, ("CANCELLED", "2026-07-21T14:00")),
        ("The first one please", Action.ACCEPT, ("CONFIRMED", "2026-07-23T09:00")),
        ("I want to talk to a real person please", None, ("CONFIRMED", "2026-07-23T09:00")),
    ),
    "es": (
        ("¿Puedo visitar el lunes 20 de julio a las 11 de la mañana?", Action.REQUEST, ("PROPOSED", "2026-07-20T11:00")),
        ("Sí, el lunes 20 de julio a las 11 de la mañana", Action.CONFIRM, ("CONFIRMED", "2026-07-20T11:00")),
        ("¿Puedo cambiar mi visita al martes 21 de julio a las 2 de la tarde?", Action.RESCHEDULE, ("PROPOSED", "2026-07-21T14:00")),
        ("Sí, el martes 21 de julio a las 2 de la tarde", Action.CONFIRM, ("CONFIRMED", "2026-07-21T14:00")),
        ("Por favor cancele mi visita del martes 21 de julio a las 2 de la tarde", Action.CANCEL, ("CANCELLED", "2026-07-21T14:00")),
        ("¿Puedo ver un apartamento el miércoles por la mañana?", None, ("CANCELLED", "2026-07-21T14:00")),
        ("Ninguna de esas me sirve", Action.DECLINE, ("CANCELLED", "2026-07-21T14:00")),
        ("¿Puedo ver un apartamento el jueves por la mañana?", None, ("CANCELLED", "2026-07-21T14:00")),
        ("La primera, por favor", Action.ACCEPT, ("CONFIRMED", "2026-07-23T09:00")),
        ("Quiero hablar con una persona, por favor", None, ("CONFIRMED", "2026-07-23T09:00")),
    ),
}


def checked(tx: Tx) -> list[str | None]:
    """The action of every reading that was checked, oldest first."""
    events: list[Mapping[str, Any]] = tail(tx, 0, 1000)
    return [event["body"].get("action") for event in events if event["stage"] == "validation"]


@pytest.mark.parametrize("locale", TALK)
@pytest.mark.parametrize("channel", list(Channel))
async def test_everything_can_be_done_on_every_channel(sqlite_url: str, channel: Channel, locale: str) -> None:
    """Ask, confirm, move, cancel, decline, accept, call for a person: the same words bring about the same records (EV-3)."""
    async with running(sqlite_url, burst=0.02) as run:
        line = LINES[channel](run, locale)
        prop = run.clara.settings.properties[OURS[locale]]
        for text, action, tour in TALK[locale]:
            answer = await line.say(text)
            found = await run.clara.db.read(tours_of, line.address, live=False)
            newest = [(row["state"], prop.local(row["starts_at"]).isoformat(timespec="minutes")) for row in found][-1:]
            assert (text, newest) == (text, [tour] if tour else []), answer
            if action is not None:
                assert (text, (await run.clara.db.read(checked))[-1]) == (text, action)
        assert [case["signature"] for case in await run.clara.db.read(cases, line.address)] == ["human_request"]
        await line.end()


def test_the_talk_uses_every_action() -> None:
    """An action that the checks know and nobody tries here fails until it is tried, in both languages."""
    for locale, talk in TALK.items():
        assert (locale, set(Action) - {action for _, action, _ in talk}) == (locale, set())
