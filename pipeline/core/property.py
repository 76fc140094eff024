"""A property as code sees it: hours, closures, capacity, contacts, modes. Its source is one TOML file (DESIGN 4).

Pure: `open_slots` and `bookable` answer from the settings, the seats already taken and an instant. Slots are UTC instants; local wall time is
derived through the property's IANA zone, so that days with a shift of the clock have the slots that exist.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
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
        first = wall.replace(tzinfo=self.zone, fold=0)
        second = wall.replace(tzinfo=self.zone, fold=1)
        if first.utcoffset() != second.utcoffset():
            return None
        return first.astimezone(UTC)

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
        return f"{self.id}|{starts_at.astimezone(UTC):%Y-%m-%dT%H:%MZ}"

    def bookable(
        self, wall: datetime, now: datetime, taken: Mapping[str, int], mine: frozenset[str] = frozenset()
    ) -> bool:
        """A stated wall time is a slot: on the grid, open, after the notice, within the horizon, with a free seat (PR-3, CK-6).

        `mine` are slot keys that this person already holds; they count as free.
        """
        starts_at = self.instant(wall)
        if starts_at is None or not self.open_at(wall) or not self._on_grid(wall):
            return False
        if not now + timedelta(minutes=self.notice_minutes) <= starts_at <= now + timedelta(days=self.horizon_days):
            return False
        key = self.slot_key(starts_at)
        return key in mine or taken.get(key, 0) < self.capacity

    def open_slots(
        self, now: datetime, taken: Mapping[str, int], days: int = 7, start: datetime | None = None
    ) -> tuple[datetime, ...]:
        """Naive wall times of all bookable slots of the next `days` days, or from the local day of `start` on."""
        first = (start or self.local(now)).date()
        found = []
        for offset in range(days):
            day = first + timedelta(days=offset)
            for opens, closes in self.office_hours.get(DAYS[day.weekday()], ()):
                wall = datetime.combine(day, opens)
                while wall + timedelta(minutes=self.slot_minutes) <= datetime.combine(day, closes):
                    if self.bookable(wall, now, taken):
                        found.append(wall)
                    wall += timedelta(minutes=self.slot_minutes)
        return tuple(found)

    def _on_grid(self, wall: datetime) -> bool:
        return any(
            opens <= wall.time() < closes
            and (wall - datetime.combine(wall.date(), opens)) % timedelta(minutes=self.slot_minutes) == timedelta()
            for opens, closes in self.office_hours.get(DAYS[wall.weekday()], ())
        )
