"""One customer on any channel: says something, gets the one answer. What a test asks of one line it asks of all (EV-3)."""

from __future__ import annotations

import email
import email.policy
from abc import ABC, abstractmethod
from dataclasses import dataclass, field

from pipeline.calls import CallDesk, CallInfo
from pipeline.core.types import Channel
from pipeline.store import NewCall
from scripts.sandbox import messages
from scripts.sandbox.phone import Call, install
from tests.support.running import Running

PHONE, MAILBOX = "+13125550171", "lea@mail.example"
OURS = {"en": "camellia", "es": "jacaranda"}


@dataclass(slots=True)
class Line(ABC):
    """`said` is everything that reached the customer, oldest first."""

    run: Running
    locale: str
    said: list[str] = field(default_factory=list)

    @property
    def address(self) -> str:
        return PHONE

    async def say(self, text: str) -> str:
        """The one answer to `text`; AssertionError where there are none or several."""
        answers = await self._exchange(text)
        assert len(answers) == 1, f"one answer to {text!r}, not {answers}"
        self.said += answers
        return answers[0]

    @abstractmethod
    async def _exchange(self, text: str) -> list[str]: ...

    async def end(self) -> None:
        """Hangs up, where there is something to hang up, and lets everything come to rest."""
        await self.run.quiet()


@dataclass(slots=True)
class Texts(Line):
    async def _exchange(self, text: str) -> list[str]:
        before = len(self.run.texts(PHONE))
        number = self.run.clara.settings.properties[OURS[self.locale]].numbers["sms"]
        await messages.send_text(self.run.world, sender=PHONE, to=number, body=text)
        await self.run.quiet()
        return self.run.texts(PHONE)[before:]


@dataclass(slots=True)
class Mails(Line):
    @property
    def address(self) -> str:
        return MAILBOX

    async def _exchange(self, text: str) -> list[str]:
        before = len(self.run.mails(MAILBOX))
        ours = self.run.clara.settings.properties[OURS[self.locale]].mail_address
        mail = messages.compose(self.run.world, sender=MAILBOX, to=ours, subject="Hello", text=text)
        await messages.send_mail(self.run.world, mail)
        await self.run.quiet()
        return [body_of(raw) for raw in self.run.mails(MAILBOX)[before:]]


@dataclass(slots=True)
class Desk(Line):
    """A call without its sound: what the bridge asks of the pipeline, and everything heard to its mark."""

    count: int = 0
    call: CallInfo | None = None
    heard: set[str] = field(default_factory=set)

    async def _exchange(self, text: str) -> list[str]:
        clara = self.run.clara
        self.call = self.call or await self._ring()
        self.count += 1
        desk = CallDesk(clara.engine, clara.ids, clara.bus, clara.settings.node)
        spoken = await desk.utterance(self.call, self.count, text, False, frozenset(self.heard), self.locale, 10.0)
        self.heard |= spoken.read_back
        return [" ".join(piece.text for piece in spoken.pieces)] if spoken.pieces else []

    async def _ring(self) -> CallInfo:
        clara = self.run.clara
        prop = clara.settings.properties[OURS[self.locale]]
        now = clara.clock.now()
        call = NewCall(clara.ids.new(), "CAdesk", prop.id, PHONE, prop.numbers["voice"], False, "digest", now, now)
        await clara.db.transact(clara.store.start_call, call)
        return CallInfo(call.id, call.provider_id, prop, PHONE, call.our_address, False)

    async def end(self) -> None:
        clara = self.run.clara
        await CallDesk(clara.engine, clara.ids, clara.bus, clara.settings.node).finish("CAdesk", "completed")


@dataclass(slots=True)
class Phone(Line):
    """A call with everything: webhook, media socket, transcriber, synthesiser. `said` is what was audible."""

    call: Call | None = None

    async def _exchange(self, text: str) -> list[str]:
        if self.call is None:
            number = self.run.clara.settings.properties[OURS[self.locale]].numbers["voice"]
            self.call = await install(self.run.world).place(PHONE, number, self.locale)
            await self.call.wait_clara_speaking()
            await self.call.wait_clara_silent(900)
        before = self.call.heard_text()
        await self.call.say(text)
        await self.call.wait_clara_speaking()
        await self.call.wait_clara_silent(900)
        return [self.call.heard_text().removeprefix(before).strip()]

    async def end(self) -> None:
        if self.call is not None:
            await self.call.hang_up()
            await self.call.over()
        await self.run.quiet()


LINES: dict[Channel, type[Line]] = {Channel.SMS: Texts, Channel.EMAIL: Mails, Channel.VOICE: Desk}
"""The parity table: a channel without a line here fails `test_registry` until it has one."""


def body_of(raw: bytes) -> str:
    """The text of a mail."""
    body = email.message_from_bytes(raw, policy=email.policy.default).get_body(("plain",))
    assert body is not None
    return str(body.get_content())
