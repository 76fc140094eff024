"""What the rail asks before each send (SR-2, LW-4, CK-5)."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.core.policy import Drop, Hold, Leave, may_leave, quiet_until

NOON = datetime(2026, 7, 17, 17, 0, tzinfo=UTC)  # in Chicago
NIGHT = datetime(2026, 7, 18, 4, 0, tzinfo=UTC)  # 23:00 in Chicago
QUIET = (time(21), time(8))


def ask(**changed: Any) -> object:
    """The verdict on an answer at noon, with some things changed."""
    facts: dict[str, Any] = {
        "purpose": "answer", "channel": "sms", "property_id": "p", "customer_facing": True, "since": NOON, "expires_at": None, "now": NOON,
        "recipient_tz": "America/Chicago", "quiet_hours": QUIET, "answer_window": timedelta(minutes=30), "suppressed": False,
        "human_owns": False, "switches": frozenset(),
    }  # fmt: skip
    return may_leave(**facts | changed)


def test_an_answer_leaves() -> None:
    """Nothing is in the way at noon."""
    assert ask() == Leave()


@pytest.mark.parametrize(("minutes", "leaves"), [(0, True), (30, True), (31, False)])
def test_an_answer_may_leave_at_night_for_half_an_hour(minutes: int, leaves: bool) -> None:
    """The person's own message is answered at any hour for 30 minutes; later the window decides (SR-2)."""
    verdict = ask(now=NIGHT, since=NIGHT - timedelta(minutes=minutes))
    assert isinstance(verdict, Leave) is leaves


def test_everything_else_waits_for_the_morning() -> None:
    """Another class in quiet hours is held until they end, in the recipient's own zone."""
    assert ask(purpose="expiry", now=NIGHT, since=NIGHT) == Hold("quiet_hours", datetime(2026, 7, 18, 13, 0, tzinfo=UTC))


def test_notes_to_the_property_have_no_window() -> None:
    """The office's mailbox is not the customer's phone."""
    assert ask(purpose="staff_note", customer_facing=False, now=NIGHT, since=NIGHT, suppressed=True, human_owns=True) == Leave()


@pytest.mark.parametrize(
    ("changed", "reason"),
    [({"human_owns": True}, "human_owns"), ({"suppressed": True}, "suppressed"), ({"expires_at": NOON}, "expired")],
)
def test_what_never_leaves(changed: dict[str, Any], reason: str) -> None:
    """A person owns the thread, the address opted out, or it is too old: a recorded state, not a silence."""
    assert ask(**changed) == Drop(reason)


def test_the_opt_out_confirmation_is_the_one_exception() -> None:
    """A suppressed address gets that one message and no other (IN-9)."""
    assert ask(purpose="opt_out_confirmation", suppressed=True) == Leave()


@pytest.mark.parametrize("name", ["channel:sms", "property:p", "class:answer"])
def test_a_switch_holds_and_asks_again(name: str) -> None:
    """What is switched off waits a minute and is asked again (CK-5)."""
    assert ask(switches=frozenset({name})) == Hold("switched_off", NOON + timedelta(minutes=1))


@given(st.datetimes(datetime(2026, 1, 1), datetime(2027, 1, 1)), st.times(), st.times())
def test_quiet_hours_end_at_their_end(moment: datetime, starts: time, ends: time) -> None:
    """Whatever the hours, and over days on which the clock shifts, the window opens at its local time and is open then."""
    quiet = (starts.replace(second=0, microsecond=0), ends.replace(second=0, microsecond=0))
    if quiet[0] == quiet[1]:
        return
    opens = quiet_until(moment.replace(tzinfo=UTC), "America/Chicago", quiet)
    assert opens is None or opens >= moment.replace(tzinfo=UTC) - timedelta(hours=1)
