"""What the rail asks before each send: may this leave now (SR-2)? Pure; data in, one verdict out.

Order: a person owns the thread, opt-out, switched off, expired, quiet hours of the recipient. An answer to the person's own message may leave at any hour for 30
minutes; every other class obeys the window. Notes to the property's people are not the customer's and have no window.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, time, timedelta
from zoneinfo import ZoneInfo

from pipeline.core.types import Purpose

ANSWER_CLASS = frozenset({Purpose.ANSWER, Purpose.AFTER_CALL, Purpose.HOLDING, Purpose.OPT_OUT_CONFIRMATION})


@dataclass(frozen=True, slots=True)
class Leave:
    """It may leave now."""


@dataclass(frozen=True, slots=True)
class Hold:
    """Not now; asked again at `until` (UTC)."""

    reason: str
    until: datetime


@dataclass(frozen=True, slots=True)
class Drop:
    """Never; the reason is the recorded state."""

    reason: str


def may_leave(
    *,
    purpose: str,
    channel: str,
    property_id: str,
    customer_facing: bool,
    since: datetime,
    expires_at: datetime | None,
    now: datetime,
    recipient_tz: str,
    quiet_hours: tuple[time, time],
    answer_window: timedelta,
    suppressed: bool,
    human_owns: bool,
    switches: frozenset[str],
) -> Leave | Hold | Drop:
    """`since` is when an answer became owed (UTC); `quiet_hours` are local (from, to) and may span midnight."""
    if customer_facing and human_owns:
        return Drop("human_owns")
    if customer_facing and suppressed and purpose != Purpose.OPT_OUT_CONFIRMATION:
        return Drop("suppressed")
    if expires_at is not None and now >= expires_at:
        return Drop("expired")
    if switches & {f"channel:{channel}", f"property:{property_id}", f"class:{purpose}"}:
        return Hold("switched_off", now + timedelta(minutes=1))
    if not customer_facing or (purpose in ANSWER_CLASS and now - since <= answer_window):
        return Leave()
    opens = quiet_until(now, recipient_tz, quiet_hours)
    return Leave() if opens is None else Hold("quiet_hours", opens)


def quiet_until(now: datetime, tz: str, quiet_hours: tuple[time, time]) -> datetime | None:
    """The UTC instant at which quiet hours end for a recipient in `tz`; None outside them."""
    zone = ZoneInfo(tz)
    local = now.astimezone(zone)
    starts, ends = quiet_hours
    clock = local.time().replace(tzinfo=None)
    inside = (starts <= clock or clock < ends) if starts > ends else (starts <= clock < ends)
    if not inside:
        return None
    day = local.date() if clock < ends else local.date() + timedelta(days=1)
    return datetime.combine(day, ends, zone).astimezone(now.tzinfo)
