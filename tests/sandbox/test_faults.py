"""The one fault-control interface: listed, seeded, counted, and quiet unless armed (EV-2)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scripts.sandbox.faults import FAULTS, Faults, UnknownFault, register

DEMO = register("test.demo", "a fault of these tests")
STATE = register("test.state", "a fault of these tests that is a state")


def fires(faults: Faults, occasions: int, **where: object) -> list[bool]:
    """Which of the next occasions are disturbed."""
    return [faults.take(DEMO, **where) is not None for _ in range(occasions)]


def test_nothing_misbehaves_unless_it_was_armed() -> None:
    """A fresh world is a good one."""
    assert fires(Faults(), 5) == [False] * 5


@given(after=st.integers(0, 5), times=st.integers(1, 5))
def test_a_fault_lets_some_pass_and_then_fires_so_many_times(after: int, times: int) -> None:
    """The n-th occasion can be swept: `after` undisturbed ones, then `times` disturbed ones, then none."""
    faults = Faults()
    faults.arm(DEMO, times=times, after=after)
    assert fires(faults, 15) == [after <= index < after + times for index in range(15)]
    assert faults.fired[DEMO] == times


def test_without_a_number_it_fires_until_it_is_cleared() -> None:
    """`times=None` is for outages."""
    faults = Faults()
    faults.arm(DEMO, times=None)
    assert all(fires(faults, 20))
    faults.clear(DEMO)
    assert not any(fires(faults, 5))
    assert faults.fired[DEMO] == 20


def test_with_a_probability_the_same_seed_gives_the_same_run() -> None:
    """Chaos can be repeated."""
    runs = []
    for seed in (1, 1, 2):
        faults = Faults(seed)
        faults.arm(DEMO, times=None, probability=0.5)
        runs.append(fires(faults, 64))
    assert runs[0] == runs[1] != runs[2]
    assert 10 < sum(runs[0]) < 54


def test_parameters_come_with_the_fault_and_limit_the_occasion() -> None:
    """A fault armed for one phase waits for it; one armed for no phase takes the first."""
    faults = Faults()
    faults.arm(DEMO, phase="rcpt", code=451)
    assert faults.take(DEMO, phase="mail") is None
    fault = faults.take(DEMO, phase="rcpt")
    assert fault is not None
    assert (fault.get("code"), fault.get("other", 7)) == (451, 7)
    faults.arm(DEMO)
    assert faults.take(DEMO, phase="mail") is not None


def test_two_armed_faults_of_a_name_fire_one_after_the_other() -> None:
    """Several can wait at once, in the order of arming."""
    faults = Faults()
    faults.arm(DEMO, which=1)
    faults.arm(DEMO, which=2)
    assert [fault.get("which") for fault in (faults.take(DEMO), faults.take(DEMO)) if fault] == [1, 2]
    assert faults.armed() == []


def test_a_fault_that_nobody_offers_is_an_error() -> None:
    """A misspelt fault must not be a test that passes."""
    faults = Faults()
    for act in (faults.arm, faults.take, faults.clear):
        with pytest.raises(UnknownFault):
            act("test.nobody")


def test_a_name_means_one_thing() -> None:
    """Registering twice is fine, with another meaning it is not; every offered fault has its sentence."""
    assert register("test.demo", "a fault of these tests") == DEMO
    with pytest.raises(ValueError, match="another meaning"):
        register("test.demo", "something else")
    assert all(FAULTS.values())


def test_a_state_is_told_when_it_begins_and_ends() -> None:
    """A closed port is no occasion: whoever watches hears of arming and clearing."""
    faults, told = Faults(), list[bool]()
    faults.watch(STATE, told.append)
    faults.arm(STATE)
    faults.clear(DEMO)
    faults.clear(STATE)
    faults.clear()
    assert told == [True, False, False]
