"""A channel or a domain that nobody has covered everywhere fails here until somebody has (EV-3, DM-4, TX-3)."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Collection, Iterable
from enum import StrEnum
from importlib.resources import files
from pathlib import Path

import pytest

from gateway.build import DOMAINS
from gateway.settings import CHANNELS
from pipeline.compose import Setting
from pipeline.core.checks import Action
from pipeline.core.domain import Domain, abilities_sentence
from pipeline.core.gate import Outgoing
from pipeline.core.templates import Templates
from pipeline.core.types import Channel
from pipeline.ports import Carrier
from pipeline.turn import Wrapper
from tests.parity.lines import LINES, Texts
from tests.parity.test_abilities import TALK
from tests.support.running import Running, running

# Channels that answer by stored bytes have a wrapper and a carrier; those that answer aloud have ears and a mouth.
WRITTEN, ALOUD = {Channel.SMS, Channel.EMAIL}, {Channel.VOICE}

# What each domain lets people do, and the talk in which it is done on every channel.
TRIED: dict[str, tuple[type[StrEnum], Collection[str]]] = {
    "leasing": (Action, {action for talk in TALK.values() for _, action, _ in talk if action is not None}),
}

ROOT = Path(__file__).resolve().parent.parent.parent


def uncovered_channels(channels: Iterable[str], run: Running) -> list[str]:
    """What each channel still lacks, a sentence for each; empty where all is there."""
    clara = run.clara
    lacking = []
    places: dict[str, Collection[str]] = {
        "the settings' channels": CHANNELS,
        "the gate's channels": typing.get_args(typing.get_type_hints(Outgoing)["channel"]),
        "the composer's channels": typing.get_args(typing.get_type_hints(Setting)["channel"]),
        "the parity table": LINES,
    }
    for channel in channels:
        lacking += [f"{channel} is missing in {place}" for place, known in places.items() if channel not in known]
        if channel in WRITTEN:
            parts = (("wrapper", clara.engine.wrappers), ("carrier", clara.relay.carriers))
            lacking += [f"{channel} has no {part}" for part, known in parts if channel not in known]
        elif channel in ALOUD:
            lacking += [f"{channel} has no {part}" for part, there in (("ears", clara.hearing), ("mouth", clara.speaking)) if there is None]
        else:
            lacking.append(f"{channel} is neither written nor spoken")
    return lacking


def uncovered_domains(domains: Iterable[Domain]) -> list[str]:
    """What each domain still lacks; empty where all is there."""
    lacking = []
    shared = Templates(("pipeline.templates",)).locales()
    for domain in domains:
        locales = {entry.name.removesuffix(".toml") for entry in files(domain.templates).iterdir() if entry.name.endswith(".toml")}
        lacking += [f"{domain.name} has no templates in {locale}" for locale in sorted(shared - locales)]
        if not domain.abilities.strip():
            lacking.append(f"{domain.name} does not say what it is able to do")
        actions, tried = TRIED.get(domain.name, (None, ()))
        if actions is None:
            lacking.append(f"nobody tries {domain.name} on every channel")
        else:
            lacking += [f"nobody tries {action} of {domain.name}" for action in actions if action not in tried]
    return lacking


async def test_every_channel_is_covered_everywhere(sqlite_url: str) -> None:
    """Each channel has its adapter or its ears and mouth, its carrier, and its line in the parity tests; a new one is told what it lacks."""
    async with running(sqlite_url) as run:
        assert uncovered_channels(Channel, run) == []
        assert set(run.clara.engine.wrappers) | ALOUD == set(Channel) == {*run.clara.relay.carriers, *ALOUD}
        assert uncovered_channels(["pigeon"], run) == [
            "pigeon is missing in the settings' channels",
            "pigeon is missing in the gate's channels",
            "pigeon is missing in the composer's channels",
            "pigeon is missing in the parity table",
            "pigeon is neither written nor spoken",
        ]


async def test_carriers_and_wrappers_are_of_their_port(sqlite_url: str) -> None:
    """Every adapter has the port's methods with the port's parameters, and says what its provider can prove (TX-3, SR-5)."""
    async with running(sqlite_url) as run:
        for channel, carrier in run.clara.relay.carriers.items():
            assert carrier.channel == channel and isinstance(carrier.receipts, bool) and isinstance(carrier.query, bool)
            for name in ("send", "find"):
                assert parameters(getattr(carrier, name)) == parameters(getattr(Carrier, name))[1:]
        for wrapper in run.clara.engine.wrappers.values():
            assert parameters(wrapper.wrap) == parameters(Wrapper.wrap)[1:]


def parameters(function: Callable[..., object]) -> list[str]:
    return list(inspect.signature(function).parameters)


def test_every_domain_is_covered_everywhere() -> None:
    """Each domain is registered, has templates in every locale, abilities in words, and every action of it is tried on every channel."""
    assert uncovered_domains(DOMAINS) == []
    packages = {entry.name for entry in (ROOT / "pipeline" / "domains").iterdir() if (entry / "__init__.py").exists()}
    assert packages == {domain.name for domain in DOMAINS}, "a package of a domain that nobody registers, or the other way round"
    assert uncovered_domains([Domain("parking", "pipeline.templates", " ")]) == [
        "parking does not say what it is able to do",
        "nobody tries parking on every channel",
    ]


def test_a_domain_without_a_locale_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Templates in one language only are no templates (UN-8)."""
    package = tmp_path / "half_a_domain"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "en.toml").touch()
    monkeypatch.syspath_prepend(str(tmp_path))
    assert "leasing has no templates in es" in uncovered_domains([Domain("leasing", "half_a_domain", "visits")])


async def test_the_model_is_told_what_the_registry_says(sqlite_url: str) -> None:
    """Reader and drafter hear the abilities of the registered domains, in the registry's own words (EV-3)."""
    sentence = abilities_sentence(DOMAINS)
    assert all(domain.abilities in sentence for domain in DOMAINS)
    async with running(sqlite_url) as run:
        await Texts(run, "en").say("Do you have a place with a balcony?")
        asked = [seen.body.decode() for seen in run.world.seen("anthropic", "messages")]
        assert len(asked) >= 2 and all(sentence in body for body in asked)
