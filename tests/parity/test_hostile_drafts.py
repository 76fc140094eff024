"""One hostile draft, three channels: nothing of it leaves anywhere, and a person learns of it everywhere (OG-1, OG-3, OG-7, IN-3, IN-5, RV-1)."""

from __future__ import annotations

import base64
import quopri
import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import unquote_plus

import pytest

from pipeline.core.types import Channel
from scripts.sandbox.world import World
from tests.parity.lines import LINES, Line, Phone
from tests.support.evidence import cases, promises, turns, unaccounted
from tests.support.running import running

ALOUD: Mapping[Channel, type[Line]] = {**LINES, Channel.VOICE: Phone}  # with every byte of the sound
QUESTION = {"en": "Do you have a place with a balcony?", "es": "¿Tienen un apartamento con balcón?"}


@dataclass(frozen=True, slots=True)
class Draft:
    """A draft that a hostile or broken model writes. `poison` must be in no byte that leaves; `claim_class` is what refuses it."""

    text: str
    poison: str
    claim_class: str
    locale: str = "en"


DRAFTS = {
    "the entry code": Draft("Sure! {{F1}} The door code is 4471, come in.", "4471", "access_code"),
    "the code in words": Draft("Just press four four seven one. {{F1}}", "four four seven one", "access_code"),
    "the code in Spanish": Draft("Claro. {{F1}} El código es nueve cero tres cinco.", "nueve cero tres", "access_code", "es"),
    "a date of nobody's": Draft("{{F1}} See you on Tuesday, July 28 at 3 PM!", "July 28", "date_time"),
    "a booking of nobody's": Draft("Your tour is confirmed and all set. {{F1}}", "all set", "confirmation"),
    "a booking in Spanish": Draft("Su visita ya quedó confirmada. {{F1}}", "quedó confirmada", "confirmation", "es"),
    "a price of nobody's": Draft("{{F1}} Rent is only $950 a month.", "950", "amount"),
    "what happens inside": Draft("ToolError: calendar.lookup returned None. {{F1}}", "ToolError", "narration"),
}
SPOKEN = ("the entry code", "a date of nobody's", "a booking of nobody's")


def decoded(data: bytes) -> str:
    """Bytes in every reading that a receiver could give them: as they are, quoted-printable, a form, base64."""
    ways = [data, quopri.decodestring(data), unquote_plus(data.decode("latin-1")).encode("utf-8", "replace")]
    ways += [base64.b64decode(part[: len(part) // 4 * 4]) for part in re.findall(rb"[A-Za-z0-9+/]{24,}", data)]
    return "\n".join(way.decode("utf-8", "replace") for way in ways)


def left(world: World) -> str:
    """Everything that the gateway gave to the providers that reach people, decoded; what customers and the model said is not in it."""
    sent = [seen for seen in world.log if seen.provider != "anthropic" and not seen.kind.startswith(("inbound", "voice"))]
    return "\n".join(decoded(seen.body) + decoded(seen.answer) for seen in sent)


@pytest.mark.parametrize("locale", QUESTION)
@pytest.mark.parametrize("channel", list(Channel))
async def test_hostile_drafts_are_refused_alike(sqlite_url: str, channel: Channel, locale: str) -> None:
    """The customer gets code's own words, the draft is in no byte that left, the turn is degraded, a case has the draft and the finding (OG-7)."""
    async with running(sqlite_url, burst=0.02) as run:
        line = LINES[channel](run, locale)
        for draft in DRAFTS.values():
            if draft.locale == locale:
                await refused(line, draft)
        await line.end()
        texts = [(message.recipient, message.body) for message in run.world.messages.values() if message.direction != "inbound"]
        mails = [(mail.recipients[0], mail.content) for mail in run.world.mailbox]
        assert unaccounted(await run.clara.db.read(promises), texts, mails) == []


async def test_hostile_drafts_are_not_heard_on_a_real_call(sqlite_url: str) -> None:
    """The same over webhook, media socket and synthesiser: nothing of the drafts is in what was spoken (OG-1, VO-2)."""
    async with running(sqlite_url, burst=0.02, speed=4.0) as run:
        line = Phone(run, "en")
        for name in SPOKEN:
            await refused(line, DRAFTS[name])
        await line.end()


async def refused(line: Line, draft: Draft) -> None:
    """One question whose answer the model spoils."""
    run = line.run
    run.world.model_script.append({"draft": draft.text})
    answer = await line.say(QUESTION[draft.locale])
    assert run.world.model_script == [], "the draft was asked for"
    assert answer and draft.poison not in answer and draft.poison not in left(run.world)
    found = [case for case in await run.clara.db.read(cases, line.address) if draft.poison in (case["draft"] or "")]
    assert [case["state"] for case in found] == ["open"] and found[0]["signature"].startswith("gate:"), found
    assert draft.claim_class in found[0]["signature"] and draft.claim_class in {finding["claim_class"] for finding in found[0]["findings"]}
    last = (await run.clara.db.read(turns, line.address))[-1]
    assert (last["state"], last["ending"], last["health"]) == ("settled", "held", "degraded")


async def test_a_harmless_draft_is_said_on_every_channel(sqlite_url: str) -> None:
    """The other direction: what the gate passes is said in the model's words, so that the refusals above are no accident."""
    for line_of in ALOUD.values():
        async with running(sqlite_url, burst=0.02, speed=4.0) as run:
            run.world.model_script.append({"draft": "What a lovely question. {{F1}}"})
            line = line_of(run, "en")
            assert "What a lovely question" in await line.say(QUESTION["en"])
            await line.end()
            assert "What a lovely question" in left(run.world) and await run.clara.db.read(cases, line.address) == []
