"""A property as code sees it: hours, closures, capacity, contacts, modes. Its source is one TOML file (DESIGN 4).

Pure: `open_slots` and `bookable` answer from the settings, the seats already taken and an instant. Slots are UTC instants; local wall time is
derived through the property's IANA zone, so that days with a shift of the clock have the slots that exist.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
Hours = Mapping[str, Sequence[tuple[time, time]]]


@dataclass(frozen=True, slots=True)
class Property:
    """Settings of one property. `slot_minutes` and `capacity` say how many parties may tour at once."""

    id: str
    name: str
    tz: str
    locale: str
    address: str
    public_phone: str
    office_hours: Hours
    closures: frozenset[date] = frozenset()
    slot_minutes: int = 30
    capacity: int = 1
    notice_minutes: int = 30
    horizon_days: int = 60
    auto_confirm: str = "same_day"
    numbers: Mapping[str, str] = field(default_factory=dict)  # "voice", "sms": E.164
    mail_address: str = ""
    office_mailbox: str = ""  # where the people of the property read
    transfer_number: str | None = None
    person_name: str = ""  # whom a caller may ask for (LW-1)
    burst_seconds: float = 4.0
    quiet_hours: tuple[time, time] = (time(21, 0), time(8, 0))
    recording: str = "record"

    @property
    def zone(self) -> ZoneInfo:
        return ZoneInfo(self.tz)

    def local(self, instant: datetime) -> datetime:
        """Naive wall time at the property."""
        return instant.astimezone(self.zone).replace(tzinfo=None)

    def instant(self, wall: datetime) -> datetime | None:
        """UTC of a naive wall time; None where that minute does not exist or exists twice."""
        return _instant(self.zone, wall)

    def open_at(self, wall: datetime) -> bool:
        """Whether a tour that starts then ends inside the office hours of that day."""
        if wall.date() in self.closures:
            return False
        end = wall + timedelta(minutes=self.slot_minutes)
        return any(
            datetime.combine(wall.date(), opens) <= wall and end <= datetime.combine(wall.date(), closes)
            for opens, closes in self.office_hours.get(DAYS[wall.weekday()], ())
        )

    def slot_key(self, starts_at: datetime) -> str:
        """The name under which seats of a slot are held."""
        return _slot_key(self.id, starts_at)

    def bookable(
        self, wall: datetime, now: datetime, taken: Mapping[str, int], mine: frozenset[str] = frozenset()
    ) -> bool:
        """A stated wall time is a slot: on the grid, open, after the notice, within the horizon, with a free seat (PR-3, CK-6).

        `mine` are slot keys that this person already holds; they count as free.
        """
        return self.open_at(wall) and self._on_grid(wall) and self._free(wall, now, taken, mine)

    def _free(self, wall: datetime, now: datetime, taken: Mapping[str, int], mine: frozenset[str] = frozenset()) -> bool:
        """After the notice, within the horizon, with a free seat."""
        starts_at = self.instant(wall)
        if starts_at is None:
            return False
        if not now + timedelta(minutes=self.notice_minutes) <= starts_at <= now + timedelta(days=self.horizon_days):
            return False
        key = _slot_key(self.id, starts_at)
        return key in mine or taken.get(key, 0) < self.capacity

    def open_slots(
        self, now: datetime, taken: Mapping[str, int], days: int = 7, start: datetime | None = None
    ) -> tuple[datetime, ...]:
        """Naive wall times of all bookable slots of the next `days` days, or from the local day of `start` on."""
        first = (start or self.local(now)).date()
        walls = (wall for offset in range(days) for wall in self._grid(first + timedelta(days=offset)))
        return tuple(wall for wall in walls if self._free(wall, now, taken))

    def _grid(self, day: date) -> Iterator[datetime]:
        """The starts of a day's slots, which are on the grid and open by the way they are made."""
        step = timedelta(minutes=self.slot_minutes)
        for opens, closes in () if day in self.closures else self.office_hours.get(DAYS[day.weekday()], ()):
            wall, last = datetime.combine(day, opens), datetime.combine(day, closes) - step
            while wall <= last:
                yield wall
                wall += step

    def _on_grid(self, wall: datetime) -> bool:
        return any(
            opens <= wall.time() < closes
            and (wall - datetime.combine(wall.date(), opens)) % timedelta(minutes=self.slot_minutes) == timedelta()
            for opens, closes in self.office_hours.get(DAYS[wall.weekday()], ())
        )


@lru_cache(maxsize=8192)
def _instant(zone: ZoneInfo, wall: datetime) -> datetime | None:
    """Pure, and asked for every slot of a week on every turn."""
    first, second = wall.replace(tzinfo=zone, fold=0), wall.replace(tzinfo=zone, fold=1)
    return first.astimezone(UTC) if first.utcoffset() == second.utcoffset() else None


@lru_cache(maxsize=8192)
def _slot_key(property_id: str, starts_at: datetime) -> str:
    return f"{property_id}|{starts_at.astimezone(UTC):%Y-%m-%dT%H:%MZ}"
