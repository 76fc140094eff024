"""The time limits of a deployment: the requirements' own unless it says otherwise, and never none (OP-2, SR-3, CO-3)."""

from __future__ import annotations

import dataclasses

import pytest

from gateway.settings import load
from pipeline.errors import SettingsError
from pipeline.loops import TurnWorkers
from pipeline.store import Policy
from scripts.sandbox.app import Sandbox
from scripts.sandbox.environment import environment

LIMITS = ("CLARA_POLL", "CLARA_FALLBACK_AFTER", "CLARA_TURN_LEASE", "CLARA_SEND_LEASE", "CLARA_ABSENT_AFTER", "CLARA_UNKNOWN_GIVE_UP")


def variables(**more: str) -> dict[str, str]:
    return environment(Sandbox().describe() | {"twilio": "x", "anthropic": "x", "elevenlabs": "x"}, **more)


def test_the_defaults_are_the_requirements() -> None:
    """A minute to the minimal text, ten minutes of doubt; a dead node's turn is taken up in time for the real answer."""
    settings, policy = load(variables()), Policy()
    assert (settings.fallback_after, settings.unknown_give_up) == (policy.fallback, policy.unknown_give_up) == (60.0, 600.0)
    assert (settings.send_lease, settings.absent_after) == (policy.lease, policy.absent_after)
    lease = next(field.default for field in dataclasses.fields(TurnWorkers) if field.name == "lease")
    assert settings.turn_lease == lease
    assert policy.read_budget + policy.draft_budget < settings.turn_lease < settings.fallback_after - policy.draft_budget


@pytest.mark.parametrize("value", ["0", "-1", "inf", "nan", "soon"])
@pytest.mark.parametrize("name", LIMITS)
def test_a_limit_that_is_none_stops_the_start(name: str, value: str) -> None:
    """The sentence names the variable and what it must be."""
    with pytest.raises(SettingsError, match=name):
        load(variables(**{name: value}))
