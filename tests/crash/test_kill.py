"""kill -9 at every point where it hurts, and what a restart makes of it (CO-3, SR-3, IN-6, OP-4).

One gateway, five customers, each caught at another point of their message's way; then SIGKILL, and the same gateway again on the same database:

| customer | where their message was | what must come of it |
|---|---|---|
| READ | the model was reading: nothing was committed | the turn is taken up after its lease: one answer, one tour |
| DRAFT | committed, the model was drafting: nothing was sent | the same promise is answered: one text, one tour |
| STORED | the provider has the text, and its answer was on the way | the provider is asked, and nothing is sent again |
| LOST | the request had left, and the provider never had the text | the provider is asked, and the stored bytes are sent once |
| MAIL | the mail server had taken the mail over before its 250 | nobody can be asked: nothing is sent again, a person decides |

Nobody waits for time limits: the gateway comes back ten minutes later by its clock. Leases are longer than in production and the minimal text comes later, so that a
busy machine cannot change the story. What is asserted was read off the stand-ins and the database.
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from storage.database import SqlDatabase
from storage.screens import tours_of
from tests.support.evidence import Promise, cases, promises, turns, unaccounted
from tests.support.processes import Pair, pair, until
from tests.support.running import unfinished

READ, DRAFT, STORED, LOST = "+13125550141", "+13125550142", "+13125550143", "+13125550144"
MAIL = "max@mail.example"
CAMELLIA, HELLO = "+13125550100", "hello@camellia.example"
BEFORE, AFTER = "Can I tour on Monday, July 20 at 11 am?", "Can I tour on Tuesday, July 21 at 2 pm?"
FOREVER = 600.0
VARIABLES = {"CLARA_CHANNELS": "sms,email", "CLARA_TURN_LEASE": "60", "CLARA_SEND_LEASE": "60", "CLARA_FALLBACK_AFTER": "1200"}
TEN_MINUTES = 601.0

pytestmark = pytest.mark.timeout(400)  # four starts of a whole gateway, which take six seconds each where nobody else is at work


@dataclass(frozen=True, slots=True)
class Seen:
    """What stood at the stand-ins and in the database at one moment, by customer. `mails` are those of the one who writes mails."""

    promises: Mapping[str, list[Promise]]
    turns: Mapping[str, list[Mapping[str, Any]]]
    tours: Mapping[str, list[Mapping[str, Any]]]
    cases: Mapping[str, list[Mapping[str, Any]]]
    texts: Mapping[str, list[str]]
    mails: list[Mapping[str, Any]]
    unaccounted: list[str]


@dataclass(frozen=True, slots=True)
class Found:
    """The three moments: at the kill, at rest after the restart, and when everybody has gone on talking."""

    at_kill: Seen
    after_kill: Seen
    in_the_end: Seen


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def found(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Found:
    """The whole story, once on each database."""
    url = request.getfixturevalue("_sqlite" if request.param == "sqlite" else "_postgres")
    return asyncio.run(killed_and_restarted(str(url), tmp_path_factory.mktemp("crash")))


async def killed_and_restarted(url: str, folder: Path) -> Found:
    """Brings five customers to their points, kills, restarts, lets them go on, and says what was found each time."""
    async with pair(url, folder, **VARIABLES) as run, AsyncExitStack() as closing:
        db = SqlDatabase(url, offset=run.offset)
        closing.push_async_callback(db.close)
        await everybody_where_it_hurts(run, db)
        at_kill = await look(run, db)
        await run.gateway.kill()
        await run.control.clear()
        await run.later(TEN_MINUTES)
        await run.gateway.start()
        await until(lambda: decided_by_people(db), "the case about the mail")
        await until(lambda: doubtful(db, {MAIL}), "rest, with doubt about the mail alone")
        await run.control.post("/settle")
        after_kill = await look(run, db)
        # Everybody goes on talking: their next words are answered once, and what came before is not said again.
        for who in (READ, DRAFT, STORED, LOST):
            await run.control.post("/texts", sender=who, to=CAMELLIA, body="Thank you! Do you take cats?")
        await write(run, MAIL, "And do you take cats?")
        await until(lambda: has(run.mails(MAIL), 2), "the answer to the second mail")
        await until(lambda: doubtful(db, {MAIL}), "rest")
        await run.control.post("/settle")
        assert await run.gateway.stop() == 0, "the gateway ends on SIGTERM with nothing left to do"
        return Found(at_kill, after_kill, await look(run, db))


async def everybody_where_it_hurts(run: Pair, db: SqlDatabase) -> None:
    """Returns when each of the five is held at their point."""
    await run.arm("smtp.stall_stored", seconds=FOREVER)
    await write(run, MAIL, "Hello, when can I see an apartment? Tomorrow morning would suit me.")
    await until(lambda: has(run.mails(MAIL), 1), "the mail at the mail server")
    await run.arm("twilio.callback.lost")  # nobody tells the gateway: it has to ask
    await run.arm("twilio.message.stall_stored", seconds=FOREVER)
    await run.control.post("/texts", sender=STORED, to=CAMELLIA, body="Do you have a place with a balcony?")
    await until(lambda: has(run.texts(STORED), 1), "the text at the provider")
    await run.arm("twilio.message.stall_lost", seconds=FOREVER)
    await run.control.post("/texts", sender=LOST, to=CAMELLIA, body="Do you have a place with a garden?")
    await until(lambda: fired(run, "twilio.message.stall_lost", 1), "the request at the provider")
    # From the second answer on the model says nothing: the first customer's draft is held, and the second one's reading.
    await run.arm("anthropic.slow", times=None, after=1, seconds=FOREVER)
    await run.control.post("/texts", sender=DRAFT, to=CAMELLIA, body=BEFORE)
    await until(lambda: fired(run, "anthropic.slow", 1), "the draft at the model")
    await run.control.post("/texts", sender=READ, to=CAMELLIA, body=AFTER)
    await until(lambda: reading(db), "the reading of the last customer's text")


async def look(run: Pair, db: SqlDatabase) -> Seen:
    everybody = (READ, DRAFT, STORED, LOST, MAIL)
    stored = await run.control.get("/messages", direction="outbound-api")
    mailbox = await run.control.get("/mailbox")
    return Seen(
        promises={who: await db.read(promises, who) for who in everybody},
        turns={who: await db.read(turns, who) for who in everybody},
        tours={who: await db.read(tours_of, who, live=False) for who in everybody},
        cases={who: await db.read(cases, who) for who in everybody},
        texts={who: await run.texts(who) for who in everybody},
        mails=await run.mails(MAIL),
        unaccounted=unaccounted(
            await db.read(promises),
            [(message["recipient"], message["body"]) for message in stored],
            [(mail["recipients"][0], base64.b64decode(mail["content"])) for mail in mailbox],
        ),
    )


async def write(run: Pair, sender: str, text: str) -> None:
    await run.control.post("/mails", sender=sender, to=HELLO, subject="A visit", text=text)


async def has(listed: Any, count: int) -> bool:
    return len(await listed) >= count


async def fired(run: Pair, name: str, count: int) -> bool:
    return await run.fired(name) >= count


async def reading(db: SqlDatabase) -> bool:
    """The last customer's turn is in somebody's hands, and not committed."""
    open_now = await db.read(turns, READ)
    return len(open_now) == 1 and open_now[0]["state"] == "open" and bool(open_now[0]["leased"])


async def doubtful(db: SqlDatabase, whose: set[str]) -> bool:
    """No turn is open, no intent is on its way, and in doubt are just the messages to these."""
    left = await db.read(unfinished)
    return not left and {one.recipient for one in await db.read(promises) if one.state == "unknown"} == whose


async def decided_by_people(db: SqlDatabase) -> bool:
    return bool(await db.read(cases, MAIL))


def test_a_kill_before_the_commit_loses_nothing_and_doubles_nothing(found: Found) -> None:
    """Killed while the model reads: nothing was promised; afterwards one answer, one tour (CO-3, CO-5)."""
    assert found.at_kill.promises[READ] == [] and found.at_kill.texts[READ] == []
    assert [turn["state"] for turn in found.at_kill.turns[READ]] == ["open"]
    (answer,) = found.after_kill.texts[READ]
    assert "Tuesday, July 21 at 2:00 PM" in answer
    assert [tour["state"] for tour in found.in_the_end.tours[READ]] == ["PROPOSED"]


def test_a_kill_between_commit_and_send_is_finished_by_the_same_promise(found: Found) -> None:
    """Killed while the model drafts: the commit stands, its one intent is composed and sent, the tour exists once (CO-3, CK-3)."""
    (promised,) = found.at_kill.promises[DRAFT]
    assert promised.state == "promised" and found.at_kill.texts[DRAFT] == []
    assert [turn["state"] for turn in found.at_kill.turns[DRAFT]] == ["committed"]
    (answer,) = found.after_kill.texts[DRAFT]
    assert "Monday, July 20 at 11:00 AM" in answer and "Is that the right day and time?" in answer
    assert [(one.id, one.outcomes) for one in found.after_kill.promises[DRAFT]] == [(promised.id, ("accepted",))]
    assert [tour["state"] for tour in found.in_the_end.tours[DRAFT]] == ["PROPOSED"]


def test_a_text_that_the_provider_has_is_found_and_not_sent_again(found: Found) -> None:
    """Killed before the provider's answer: the attempt without an outcome is asked about, found, and never repeated (SR-3, SR-4)."""
    assert [one.state for one in found.at_kill.promises[STORED]] == ["sending"] and len(found.at_kill.texts[STORED]) == 1
    assert found.after_kill.texts[STORED] == found.at_kill.texts[STORED]
    assert [(one.state, one.outcomes) for one in found.after_kill.promises[STORED]] == [("delivered", ("found",))]
    assert found.in_the_end.cases[STORED] == []


def test_a_text_that_the_provider_never_had_is_sent_once(found: Found) -> None:
    """Killed before the provider stored anything: once its absence counts, the same bytes leave, once (SR-3, IN-7)."""
    (lost,) = found.at_kill.promises[LOST]
    assert lost.state == "sending" and found.at_kill.texts[LOST] == []
    (again,) = found.after_kill.promises[LOST]
    assert again.id == lost.id and again.state == "delivered" and again.outcomes[1:] == ("accepted",)
    assert again.payload == lost.payload and [text.encode() for text in found.after_kill.texts[LOST]] == [lost.payload]


def test_a_mail_of_unknown_fate_is_never_sent_again(found: Found) -> None:
    """Killed before the 250: nobody can be asked, nothing leaves a second time, and after ten minutes a person decides (SR-3)."""
    assert [one.state for one in found.at_kill.promises[MAIL]] == ["sending"]
    (mail,) = found.after_kill.promises[MAIL]
    assert mail.state == "unknown" and len(mail.outcomes) == 1 and len(found.after_kill.mails) == 1
    assert [(case["signature"], case["intent"], case["state"]) for case in found.in_the_end.cases[MAIL]] == [("unknown:email", mail.id, "open")]


def test_whoever_was_there_goes_on_and_gets_one_answer_for_each_message(found: Found) -> None:
    """After the restart each conversation has two answers to its two messages, and no more (CO-1)."""
    assert {who: len(found.in_the_end.texts[who]) for who in (READ, DRAFT, STORED, LOST)} == {READ: 2, DRAFT: 2, STORED: 2, LOST: 2}
    assert len(found.in_the_end.mails) == 2


def test_every_message_at_a_provider_belongs_to_one_promise(found: Found) -> None:
    """At all three moments, byte for byte, no provider has a message that no intent accounts for, or the same one twice (IN-6, IN-7)."""
    assert [seen.unaccounted for seen in (found.at_kill, found.after_kill, found.in_the_end)] == [[], [], []]
