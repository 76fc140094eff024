"""Wiring: the only file that knows which class stands behind which port (DESIGN 3)."""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from random import Random
from typing import TYPE_CHECKING

from gateway.door import LocalBus, ShiftedClock, UuidIds
from gateway.settings import Settings
from pipeline.compose import Setting, holding
from pipeline.core.domain import Domain, abilities_sentence
from pipeline.core.property import Property
from pipeline.core.templates import Templates, fact_free
from pipeline.decide import Rules
from pipeline.domains.leasing import LEASING
from pipeline.errors import SettingsError
from pipeline.loops import OUTBOX, TURNS, Loop, TurnWorkers
from pipeline.ports import Carrier, Drafter, Reader
from pipeline.reconciler import Reconciler
from pipeline.relay import Relay
from pipeline.store import Policy
from pipeline.turn import Engine, Wrapper
from storage.database import SqlDatabase
from storage.migrate import upgrade
from storage.store import SqlStore
from text_channels.adapters import MailChannel, SmsChannel
from voice.bridge import Hearing, Speaking

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic

log = logging.getLogger("clara")

DOMAINS: tuple[Domain, ...] = (LEASING,)
FACT_FREE = ("fallback", "holding", "holding_bilingual", "floor", "late_line", "silence", "goodbye", "again", "acknowledge")


@dataclass(slots=True)
class Clara:
    """One running gateway: its parts, and the loops that carry the work."""

    settings: Settings
    clock: ShiftedClock
    ids: UuidIds
    bus: LocalBus
    db: SqlDatabase
    store: SqlStore
    engine: Engine
    workers: TurnWorkers
    relay: Relay
    reconciler: Reconciler
    sms: SmsChannel
    mail: MailChannel
    by_number: Mapping[str, Property]
    by_mail: Mapping[str, Property]
    hearing: Hearing | None
    speaking: Speaking | None
    closers: tuple[Callable[[], Awaitable[None]], ...]
    calls: set[str] = field(default_factory=set)
    _loops: list[Loop] = field(default_factory=list)
    _tasks: list[asyncio.Task[None]] = field(default_factory=list)

    async def start(self) -> None:
        """Registers the properties and starts the loops."""
        for prop in self.settings.properties.values():
            digest = hashlib.sha256(repr(prop).encode()).hexdigest()
            codes = tuple(("access_code", code) for code in self.settings.access_codes.get(prop.id, {}).values())
            await self.db.transact(self.store.register_property, prop.id, digest, codes)
        poll = self.settings.poll
        self._loops = [
            Loop("turns", TURNS, self.workers.step, self.bus, poll),
            Loop("relay", OUTBOX, self.relay.run_once, self.bus, poll),
            Loop("reconciler", "reconciler", self.reconciler.ask, self.bus, poll),
            Loop("fallbacks", "fallbacks", self.reconciler.fallbacks, self.bus, poll),
        ]
        self._tasks = [asyncio.create_task(loop.run(), name=loop.name) for loop in self._loops]

    async def stop(self) -> None:
        """Ends gracefully: running passes and turns end first, nothing is sent twice (OP-4)."""
        for loop in self._loops:
            loop.stop()
        await asyncio.gather(*self._tasks)
        await self.workers.drain()
        await self.relay.drain()
        for close in self.closers:
            await close()
        await self.db.close()


def build(settings: Settings) -> Clara:
    """All parts of a gateway, migrated and checked, nothing running yet. Raises SettingsError."""
    upgrade(settings.database_url)
    templates = Templates(("pipeline.templates", *(domain.templates for domain in DOMAINS)))
    clock = ShiftedClock(timedelta(seconds=settings.clock_offset))
    for prop in settings.properties.values():
        check_fact_free(templates, prop, clock)
    ids = UuidIds(clock)
    bus = LocalBus()
    db = SqlDatabase(settings.database_url, offset=settings.clock_offset)
    policy = Policy(
        poll=settings.poll,
        fallback=settings.fallback_after,
        lease=settings.send_lease,
        absent_after=settings.absent_after,
        unknown_give_up=settings.unknown_give_up,
    )
    store = SqlStore(settings.secret_key, policy=policy)
    rules = Rules(hashlib.sha256(b"offer\x1f" + settings.secret_key.encode()).digest(), policy, templates.locales())
    reader, drafter, client = _models(settings)
    sms, mail = SmsChannel(ids), MailChannel(ids)
    wrappers: dict[str, Wrapper] = {"sms": sms, "email": mail}
    engine = Engine(db, store, reader, drafter, templates, settings.properties, rules, clock, wrappers)
    carriers = _carriers(settings)
    hearing, speaking = _voice(settings) if "voice" in settings.channels else (None, None)
    return Clara(
        settings=settings,
        clock=clock,
        ids=ids,
        bus=bus,
        db=db,
        store=store,
        engine=engine,
        workers=TurnWorkers(engine, db, store, bus, settings.node, lease=settings.turn_lease),
        relay=Relay(
            db, store, carriers, settings.properties, policy, clock, ids, Random(), settings.node, wake=partial(bus.wake, OUTBOX)
        ),
        reconciler=Reconciler(db, store, carriers, policy, clock, engine.fall_back),
        sms=sms,
        mail=mail,
        by_number={number: prop for prop in settings.properties.values() for number in prop.numbers.values()},
        closers=(client.close, *_closers(speaking, carriers)),
        hearing=hearing,
        speaking=speaking,
        by_mail={prop.mail_address.lower(): prop for prop in settings.properties.values() if prop.mail_address},
    )


def check_fact_free(templates: Templates, prop: Property, clock: ShiftedClock) -> None:
    """CO-4 at start-up: the fixed texts of every locale hold no place for a fact and pass the gate for this property."""
    for locale in sorted(templates.locales()):
        for name in FACT_FREE:
            if not fact_free(templates.get(name, locale)):
                raise SettingsError(f"The text {name!r} ({locale}) has a place for a fact; such texts assert nothing.")
            setting = Setting("sms", "prospect", "holding", (), (), {}, clock.now().astimezone(prop.zone), None)
            verdict = holding(name, locale, setting, prop, templates)
            if verdict.passed is None:
                found = ", ".join(f"{finding.claim_class}: {finding.token!r}" for finding in verdict.findings)
                raise SettingsError(f"The text {name!r} ({locale}) of property {prop.id!r} does not pass the output gate ({found}).")


def _models(settings: Settings) -> tuple[Reader, Drafter, AsyncAnthropic]:
    from anthropic import AsyncAnthropic  # costs a second; only a gateway needs it

    from gateway.anthropic_model import AnthropicDrafter, AnthropicReader

    client = AsyncAnthropic(api_key=settings.anthropic_api_key, base_url=settings.anthropic_base_url, max_retries=0)
    abilities = abilities_sentence(DOMAINS)
    return (
        AnthropicReader(client, settings.read_model, abilities=abilities),
        AnthropicDrafter(client, settings.draft_model, abilities=abilities),
        client,
    )


def _closers(speaking: Speaking | None, carriers: Mapping[str, Carrier]) -> list[Callable[[], Awaitable[None]]]:
    """What holds connections or threads beyond the database and the model's client."""
    found: list[Callable[[], Awaitable[None]]] = []
    if speaking is not None:
        found.append(speaking.close)
    for carrier in carriers.values():
        close = getattr(carrier, "close", None)
        if close is not None:
            found.append(partial(asyncio.to_thread, close))
    return found


def _carriers(settings: Settings) -> dict[str, Carrier]:
    carriers: dict[str, Carrier] = {}
    if "sms" in settings.channels or "voice" in settings.channels:
        from text_channels.sms import TwilioSms  # the SDK costs a second

        carriers["sms"] = TwilioSms(
            settings.twilio_account_sid,
            settings.twilio_auth_tokens[0],
            public_url=settings.public_url,
            api_url=settings.twilio_api_url,
        )
    if "email" in settings.channels:
        from text_channels.smtp_out import SmtpMail

        carriers["email"] = SmtpMail(
            settings.smtp_host,
            settings.smtp_port,
            username=settings.smtp_username,
            password=settings.smtp_password,
            security=settings.smtp_security,
        )
    return carriers


def _voice(settings: Settings) -> tuple[Hearing, Speaking]:
    from voice.stt_elevenlabs import ElevenLabsHearing  # the SDK costs a second
    from voice.tts_elevenlabs import ElevenLabsSpeaking

    return (
        ElevenLabsHearing(api_key=settings.elevenlabs_api_key, base_url=settings.elevenlabs_base_url),
        ElevenLabsSpeaking(
            api_key=settings.elevenlabs_api_key, voice=settings.elevenlabs_voice_id, base_url=settings.elevenlabs_base_url
        ),
    )


def describe(settings: Settings) -> str:
    """What is configured, as JSON without a secret, for the log."""
    return json.dumps(
        {
            "channels": sorted(settings.channels),
            "properties": sorted(settings.properties),
            "database": settings.database_url.split("://")[0],
            "public_url": settings.public_url,
            "clock_offset": settings.clock_offset,
        }
    )
