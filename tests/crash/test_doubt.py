"""The provider has the message and says something else, or nothing: no crash is needed for doubt (SR-3, SR-4, IN-6)."""

from __future__ import annotations

import pytest

from pipeline.relay import HANDS
from scripts.sandbox import messages
from tests.support.evidence import cases, promises, unaccounted
from tests.support.processes import until
from tests.support.running import Running, running

WHO, MAIL = "+13125550151", "ida@mail.example"
CAMELLIA, HELLO = "+13125550100", "hello@camellia.example"
TEXT_ONLY = {"CLARA_CHANNELS": "sms,email"}
STORED_ALL_THE_SAME = ("twilio.message.503_stored", "twilio.message.reset_stored", "twilio.message.garbled")
STORED_NOTHING = ("twilio.message.503_lost", "twilio.message.reset_lost")
TAKEN_OVER = ("smtp.drop_stored", "smtp.stall_stored")


async def text(run: Running, body: str) -> None:
    await messages.send_text(run.world, sender=WHO, to=CAMELLIA, body=body)


async def mail(run: Running, body: str) -> None:
    await messages.send_mail(run.world, messages.compose(run.world, sender=MAIL, to=HELLO, subject="A visit", text=body))


async def accounted(run: Running) -> list[str]:
    sent = [(m.recipient, m.body) for m in run.world.messages.values() if m.direction != "inbound"]
    return unaccounted(await run.clara.db.read(promises), sent, [(m.recipients[0], m.content) for m in run.world.mailbox])


async def came_into(run: Running, address: str, *states: str) -> None:
    """Returns when the first promise to an address is in one of these states."""

    async def there() -> bool:
        made = await run.clara.db.read(promises, address)
        return bool(made) and made[0].state in states

    await until(there, f"a promise to {address} that is {' or '.join(states)}")


async def has_case(run: Running, address: str) -> bool:
    return bool(await run.clara.db.read(cases, address))


@pytest.mark.parametrize("fault", STORED_ALL_THE_SAME)
async def test_a_text_that_was_stored_in_spite_of_its_answer_is_found(database_url: str, fault: str) -> None:
    """Whatever the answer was, a message that the provider has is found by asking, and exists once (SR-3)."""
    async with running(database_url, **TEXT_ONLY) as run:
        run.world.faults.arm("twilio.callback.lost")
        run.world.faults.arm(fault)
        await text(run, "Can I tour on Monday, July 20 at 11 am?")
        await came_into(run, WHO, "accepted", "delivered")
        await run.quiet()
        (one,) = await run.clara.db.read(promises, WHO)
        assert one.state == "delivered" and one.outcomes == ("found",)
        assert len(run.texts(WHO)) == 1 and await accounted(run) == [] and await run.clara.db.read(cases, WHO) == []
        assert run.world.faults.fired[fault] == 1


@pytest.mark.parametrize("fault", STORED_NOTHING)
async def test_a_text_that_was_not_stored_is_sent_once_after_the_quiet_period(database_url: str, fault: str) -> None:
    """An answer that proves nothing, and nothing there: the same bytes leave a second time only when absence counts (SR-3)."""
    async with running(database_url, CLARA_ABSENT_AFTER="1", **TEXT_ONLY) as run:
        run.world.faults.arm(fault)
        await text(run, "Can I tour on Monday, July 20 at 11 am?")
        await came_into(run, WHO, "accepted", "delivered")
        await run.quiet()
        (one,) = await run.clara.db.read(promises, WHO)
        assert one.state == "delivered" and one.outcomes == ("maybesent", "accepted")
        assert len(run.texts(WHO)) == 1 and await accounted(run) == []


async def test_a_list_that_lags_is_not_believed_too_early(database_url: str) -> None:
    """A provider that shows the message late is asked again before its absence counts, so that nothing is sent twice (SR-3)."""
    async with running(database_url, **TEXT_ONLY) as run:
        for name in ("twilio.callback.lost", "twilio.message.reset_stored", "twilio.list.lagging"):
            run.world.faults.arm(name)
        await text(run, "Do you have a place with a balcony?")
        await came_into(run, WHO, "accepted", "delivered")
        assert len(run.texts(WHO)) == 1 and run.world.faults.fired["twilio.list.lagging"] == 1


@pytest.mark.parametrize("fault", TAKEN_OVER)
async def test_a_mail_whose_250_never_came_goes_to_a_person(database_url: str, fault: str) -> None:
    """A mail that the server may have is never sent again; after the give-up time there is one open case about it (SR-3)."""
    limits = {"CLARA_UNKNOWN_GIVE_UP": "1.5", "CLARA_SEND_LEASE": "0.5"}
    async with running(database_url, **TEXT_ONLY, **limits) as run:
        run.world.faults.arm(fault, seconds=4)
        await mail(run, "Hello, when can I see an apartment?")
        await came_into(run, MAIL, "unknown")
        await until(lambda: has_case(run, MAIL), "the case")
        (one,) = await run.clara.db.read(promises, MAIL)
        found = await run.clara.db.read(cases, MAIL)
        assert [(case["signature"], case["intent"], case["state"]) for case in found] == [("unknown:email", one.id, "open")]
        await mail(run, "And do you take cats?")  # the next answer shows that the rail has gone on
        await run.until(lambda: len(run.mails(MAIL)) == 2, what="the answer to the second mail")
        await run.quiet()
        assert len(run.mails(MAIL)) == 2 and await accounted(run) == []
        assert [len(one.outcomes) for one in await run.clara.db.read(promises, MAIL)] == [1, 1]


async def test_a_mail_server_that_says_nothing_holds_up_no_text(database_url: str) -> None:
    """Texts leave while a mail waits for its 250 (SR-1)."""
    async with running(database_url, **TEXT_ONLY) as run:
        run.world.faults.arm("smtp.stall_stored", seconds=8)
        await mail(run, "Hello, when can I see an apartment?")
        await run.until(lambda: len(run.mails(MAIL)) == 1, what="the mail at the server")
        await text(run, "Do you have a place with a balcony?")
        await run.until(lambda: len(run.texts(WHO)) == 1, seconds=6, what="the text")
        (one,) = await run.clara.db.read(promises, MAIL)
        assert one.state == "sending"
        run.world.closing.set()  # the server ends its silence


async def test_a_channel_whose_hands_are_full_takes_no_more(database_url: str) -> None:
    """With as many mails waiting as there are hands, the next mail is not even leased, texts leave, and it goes when a hand is free (SR-1, SR-3)."""
    async with running(database_url, **TEXT_ONLY) as run:
        run.world.faults.arm("smtp.stall_stored", times=HANDS, seconds=30)
        writers = [f"writer-{number}@mail.example" for number in range(HANDS + 1)]
        for writer in writers:
            raw = messages.compose(run.world, sender=writer, to=HELLO, subject="A visit", text="Hello, when can I see an apartment?")
            await messages.send_mail(run.world, raw)
        await run.until(lambda: len(run.world.mailbox) == HANDS, what="as many mails at the server as there are hands")
        await text(run, "Do you have a place with a balcony?")
        await run.until(lambda: len(run.texts(WHO)) == 1, seconds=6, what="the text")
        states = sorted([one.state for writer in writers for one in await run.clara.db.read(promises, writer)])
        assert states == ["composed", *["sending"] * HANDS]
        run.world.closing.set()  # the server ends its silence
        await run.until(lambda: len(run.world.mailbox) == HANDS + 1, what="the last mail")
        await run.quiet()
        assert await accounted(run) == []
