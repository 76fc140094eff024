"""Slots of a property: hours, closures, capacity, notice, and days on which the clock shifts (PR-3, CK-6, DM-1)."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta

from hypothesis import given
from hypothesis import strategies as st

from pipeline.core.property import DAYS, Property
from pipeline.core.slots import offer_stands, sign_offer, token_digest

HOURS = {day: ((time(9), time(12)), (time(13), time(18))) for day in DAYS[:5]}
COURT = Property("p", "Court", "America/Chicago", "en", "1 Main", "+1", HOURS, closures=frozenset({date(2026, 7, 20)}), capacity=2)
NOW = datetime(2026, 7, 17, 14, 12, tzinfo=UTC)  # Friday 9:12


def test_a_slot_is_open_on_the_grid_and_not_full() -> None:
    """On the half hour, inside one span of the hours, after the notice, with a free seat."""
    key = COURT.slot_key(datetime(2026, 7, 17, 18, 0, tzinfo=UTC))
    assert COURT.bookable(datetime(2026, 7, 17, 13), NOW, {})
    assert COURT.bookable(datetime(2026, 7, 17, 13), NOW, {key: 1})
    assert not COURT.bookable(datetime(2026, 7, 17, 13), NOW, {key: 2})
    assert COURT.bookable(datetime(2026, 7, 17, 13), NOW, {key: 2}, frozenset({key}))
    for wall in ("2026-07-17T12:00", "2026-07-17T12:30", "2026-07-17T13:10", "2026-07-17T18:00", "2026-07-17T09:30", "2026-07-18T10:00", "2026-07-20T10:00"):
        assert not COURT.bookable(datetime.fromisoformat(wall), NOW, {}), wall


def test_beyond_the_horizon_nothing_is_bookable() -> None:
    """Sixty days ahead and no further."""
    assert COURT.bookable(datetime(2026, 9, 14, 10), NOW, {})
    assert not COURT.bookable(datetime(2026, 9, 16, 10), NOW, {})


@given(st.integers(0, 360))
def test_every_open_slot_is_bookable_and_exists_once(days: int) -> None:
    """Whatever the day, also when the clock shifts: what is offered can be booked, and is one instant."""
    now = NOW + timedelta(days=days)
    always = Property("p", "Court", "America/Chicago", "en", "1 Main", "+1", {day: ((time(0), time(23, 30)),) for day in DAYS})
    slots = always.open_slots(now, {}, days=2)
    instants = [always.instant(slot) for slot in slots]
    assert None not in instants and len(set(instants)) == len(slots)
    assert all(always.bookable(slot, now, {}) for slot in slots)


def test_minutes_that_do_not_exist_or_exist_twice_have_no_instant() -> None:
    """The hour that is skipped in March and the hour that comes twice in November are no slots (UN-4)."""
    assert COURT.instant(datetime(2026, 3, 8, 2, 30)) is None
    assert COURT.instant(datetime(2026, 11, 1, 1, 30)) is None
    assert COURT.instant(datetime(2026, 11, 1, 3, 0)) == datetime(2026, 11, 1, 9, 0, tzinfo=UTC)


@given(st.sampled_from(("offer", "conversation", "starts_at", "expires_at", "key", "late")))
def test_an_offer_counts_only_as_it_was_signed(changed: str) -> None:
    """Another conversation, slot, end, key, or a later time: the token does not stand (PR-3)."""
    start, end = NOW + timedelta(days=1), NOW + timedelta(hours=2)
    digest = token_digest(sign_offer(b"key", "o1", "c1", start, end))
    assert offer_stands(b"key", "o1", "c1", start, end, digest, NOW)
    args = {"key": b"key", "offer": "o1", "conversation": "c1", "starts_at": start, "expires_at": end, "digest": digest, "now": NOW}
    other = {"offer": "o2", "conversation": "c2", "starts_at": start + timedelta(minutes=30), "expires_at": end + timedelta(days=1), "key": b"other"}
    args |= {"now": end} if changed == "late" else {changed: other[changed]}
    assert not offer_stands(**args)  # type: ignore[arg-type]  # the table above has all of them
