"""`clara demo`: three stories on the sandbox, live: a call, a Spanish text thread, and the mail that started it all.

A gateway and all stand-ins run in this process on loopback; the clock stands at 2026-07-17 09:12 in Chicago and goes at real pace. Every word shown is what the stand-ins
received; every stage is from the gateway's own trace. At the end stands what was checked, and whether it held.
"""

from __future__ import annotations

import asyncio
import email
import email.policy
import logging
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from gateway.build import Clara, build
from gateway.serve import Server, listen
from gateway.settings import load
from scripts.sandbox import messages
from scripts.sandbox.app import Sandbox
from scripts.sandbox.environment import environment, new_world
from scripts.sandbox.phone import Call, install
from scripts.sandbox.world import World
from storage.screens import tours_of

START = datetime(2026, 7, 17, 9, 12, tzinfo=ZoneInfo("America/Chicago"))
CALLER, TEXTER, MAILER = "+13125550177", "+13125550188", "sam.rivera@mail.example"
CAMELLIA, JACARANDA = "+13125550100", "+13125550200"
STAGES = {"reading", "validation", "commit", "compose", "gate", "rail", "delivery", "turn", "plan", "inbound"}


@dataclass(slots=True)
class Show:
    """What is printed, and what was checked."""

    colour: bool
    checks: list[tuple[str, bool]] = field(default_factory=list)

    def title(self, text: str) -> None:
        print(f"\n{self._paint('1', text)}", flush=True)

    def said(self, who: str, text: str) -> None:
        print(f"  {who:>9}  {text}", flush=True)

    def step(self, text: str) -> None:
        print(self._paint("2", f"             {text}"), flush=True)

    def check(self, text: str, held: bool) -> None:
        self.checks.append((text, held))
        print(f"  {self._paint('32', 'held  ') if held else self._paint('31', 'FAILED')}     {text}", flush=True)

    def _paint(self, code: str, text: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.colour else text


@dataclass(slots=True)
class Stage:
    """The running pair, and how far its trace was shown."""

    clara: Clara
    world: World
    show: Show
    position: int = 0

    async def stages(self) -> None:
        """The stages since the last call, with milliseconds from the first."""
        events = await self.clara.db.read(self.clara.store.tail, self.position, 500)
        if not events:
            return
        first = events[0]["at"]
        self.show.step("stages:")
        for event in events:
            self.position = max(self.position, int(event["position"]))
            if event["stage"] in STAGES:
                at = round((event["at"] - first).total_seconds() * 1000)
                self.show.step(f"{at:7} ms  {event['stage']:11}{event['kind']:16}{_brief(event['body'])}")

    async def tours(self, address: str) -> list[Mapping[str, Any]]:
        """Live tours of whoever writes from `address`."""
        return await self.clara.db.read(tours_of, address)

    def texts(self, number: str) -> list[str]:
        return [m.body for m in self.world.messages.values() if m.direction != "inbound" and m.recipient == number]

    def mails(self, address: str) -> list[str]:
        found = [mail.content for mail in self.world.mailbox if address in mail.recipients]
        return [_body(content) for content in found]

    async def until(self, condition: Any, seconds: float, what: str) -> bool:
        """Whether `condition` came about in time; the wait is for another party, so it looks again and again."""
        ends = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > ends:
                self.show.check(f"{what} in {seconds:.0f} s", False)
                return False
            await asyncio.sleep(0.03)
        return True


def run(*, stay: bool, wav: str) -> int:
    """Runs the stories; 0 where everything that was shown held."""
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr)
    try:
        return asyncio.run(_main(stay, Path(wav)))
    except KeyboardInterrupt:
        return 130


async def _main(stay: bool, wav: Path) -> int:
    began = time.monotonic()
    show = Show(sys.stdout.isatty())
    show.title("Clara on the sandbox: every provider is a local stand-in, the model is a rule-based sandbox model.")
    with tempfile.TemporaryDirectory() as folder:
        listener = listen("127.0.0.1", 0)
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        sandbox = Sandbox(new_world(url, offset=(START - datetime.now(UTC)).total_seconds()))
        await sandbox.start()
        env = environment(sandbox.describe(), CLARA_DATABASE_URL=f"sqlite:///{folder}/demo.db", CLARA_POLL="0.25")
        clara = await asyncio.to_thread(build, load(env))
        server = Server(clara)
        await server.start(listener)
        show.step(f"gateway {url}, stand-ins {sandbox.url}, clock {START:%Y-%m-%d %H:%M} Chicago")
        stage = Stage(clara, sandbox.world, show)
        try:
            await call_story(stage, wav)
            await text_story(stage)
            await mail_story(stage)
            held = all(held for _, held in show.checks)
            show.title(f"{sum(held for _, held in show.checks)} of {len(show.checks)} checks held, in {time.monotonic() - began:.0f} s.")
            if stay:
                _invite(show, url, sandbox.url, env["CLARA_DATABASE_URL"])
                await asyncio.Event().wait()
            return 0 if held else 1
        finally:
            await server.stop()
            await sandbox.stop()


async def call_story(stage: Stage, wav: Path) -> None:
    """(a) A call: an interruption, tomorrow afternoon, an offered slot, confirmed, and the text afterwards."""
    show = stage.show
    show.title("(a) A phone call to Camellia Court")
    phone = install(stage.world)
    call = await phone.place(CALLER, CAMELLIA, "en")
    told = _Told(show, call)
    await call.wait_clara_speaking()
    await _says(told, call, "Hi, can I see an apartment tomorrow afternoon?", interrupt_after=900)
    await call.wait_heard("Which one suits you")
    await call.wait_clara_silent(900)
    told.clara()
    show.check("Clara fell silent when the caller spoke, and offered times", "are open" in call.heard_text())
    await _says(told, call, "The one at two in the afternoon please." if "two" in call.heard_text() else "The first one please.")
    await call.wait_heard("confirmed")
    await call.wait_clara_silent(900)
    told.clara()
    confirmed = "confirmed for Saturday, July eighteenth" in call.heard_text()
    show.check("the caller heard the tour confirmed for Saturday, July 18", confirmed)
    await call.hang_up()
    told.note("hangs up")
    wav.parent.mkdir(parents=True, exist_ok=True)
    call.wav(wav)
    await stage.until(lambda: stage.texts(CALLER), 15, "the text after the call")
    texts = stage.texts(CALLER)
    for text in texts:
        show.said("text", text)
    show.check("exactly one text followed the call, with the day", len(texts) == 1 and "Saturday, July 18" in texts[0])
    tours = await stage.tours(CALLER)
    show.check("one live tour, CONFIRMED", [tour["state"] for tour in tours] == ["CONFIRMED"])
    show.step(f"the call as a two-channel WAV (caller left, Clara right): {wav}")
    await stage.stages()


async def text_story(stage: Stage) -> None:
    """(b) A Spanish-speaking texter books and moves a tour."""
    show = stage.show
    show.title("(b) Un hilo de mensajes con Residencial Jacaranda")
    script = (
        ("Hola, ¿puedo ver un apartamento mañana por la mañana?", "¿Cuál le conviene?"),
        ("La primera, por favor", "confirmada para el sábado 18 de julio a las 9:00"),
        ("¿Puedo cambiar mi visita al lunes 20 de julio a las 11 de la mañana?", "lunes 20 de julio a las 11:00"),
        ("Sí, el lunes 20 de julio a las 11 de la mañana", "confirmada para el lunes 20 de julio a las 11:00"),
    )
    for number, (body, part) in enumerate(script, 1):
        show.said("cliente", body)
        await messages.send_text(stage.world, sender=TEXTER, to=JACARANDA, body=body)
        came = await stage.until(lambda number=number: len(stage.texts(TEXTER)) >= number, 20, "an answer")
        if not came:
            return
        answer = stage.texts(TEXTER)[-1]
        show.said("Clara", answer)
        show.check(f"the answer says «{part}»", part in answer)
    show.check("one message for each of the customer's", len(stage.texts(TEXTER)) == len(script))
    tours = await stage.tours(TEXTER)
    show.check("one live tour, CONFIRMED, after the move", [tour["state"] for tour in tours] == ["CONFIRMED"])
    await stage.stages()


async def mail_story(stage: Stage) -> None:
    """(c) The mail that started it all: a move-in date in a form, and a tour for today in free text."""
    show = stage.show
    show.title("(c) The mail that started it all")
    raw = messages.website_form(
        stage.world,
        to="hello@camellia.example",
        name="Sam Rivera",
        email=MAILER,
        property_name="Camellia Court",
        phone="(312) 555-0144",
        move_in="Monday, July 20",
        message="I'd like to tour today (July 17) maybe 1 pm",
    )
    for text in _body(raw).strip().splitlines():
        show.said("form", text)
    await messages.send_mail(stage.world, raw)
    await stage.until(lambda: stage.mails(MAILER), 20, "the answer")
    mails = stage.mails(MAILER)
    for text in mails:
        for shown in text.strip().splitlines():
            show.said("Clara", shown)
    answer = mails[0] if mails else ""
    show.check("exactly one mail went to the customer", len(mails) == 1)
    show.check("it names Friday, July 17 at 1:00 PM and asks whether that is right", "Friday, July 17 at 1:00 PM" in answer and "?" in answer)
    show.check("nothing about July 20, nothing confirmed, no entry code", not any(w in answer for w in ("20", "confirmed", "4471")))
    tours = await stage.tours(MAILER)
    show.check("one tour, PROPOSED (the time was hedged)", [tour["state"] for tour in tours] == ["PROPOSED"])
    await stage.stages()


@dataclass(slots=True)
class _Told:
    """Prints what was heard of Clara on a call, once."""

    show: Show
    call: Call
    shown: int = 0

    def clara(self) -> None:
        heard = self.call.heard_text()
        if heard[self.shown :].strip():
            self.show.said("Clara", heard[self.shown :].strip())
        self.shown = len(heard)

    def note(self, text: str) -> None:
        self.show.said("caller", f"({text})")


async def _says(told: _Told, call: Call, text: str, interrupt_after: int | None = None) -> None:
    if interrupt_after is None:
        told.clara()
        told.show.said("caller", text)
        await call.say(text)
        return
    said = asyncio.create_task(call.interrupt(text, after_ms=interrupt_after))
    await said
    told.clara()
    told.show.said("caller", f"(interrupts) {text}")


def _body(raw: bytes) -> str:
    body = email.message_from_bytes(raw, policy=email.policy.default).get_body(("plain",))
    return str(body.get_content()) if body is not None else ""


def _brief(body: Mapping[str, Any]) -> str:
    shown = " ".join(f"{key}={value}" for key, value in body.items() if value not in (None, [], {}, "", ()))
    return shown if len(shown) <= 150 else shown[:147] + "…"


def _invite(show: Show, url: str, sandbox: str, database: str) -> None:
    show.title("It stays up. Where to look, and what to try (Ctrl-C ends it):")
    for text in (
        f"health:            {url}/healthz",
        f"what was sent:     {sandbox}/_control/messages   {sandbox}/_control/mailbox",
        f"live stages:       CLARA_DATABASE_URL={database} .venv/bin/clara tail",
        f"send a text:       CLARA_SANDBOX_URL={sandbox} .venv/bin/clara text 'Can I come tomorrow at 3 pm?'",
        f"talk by typing:    CLARA_SANDBOX_URL={sandbox} .venv/bin/clara call",
    ):
        show.step(text)
