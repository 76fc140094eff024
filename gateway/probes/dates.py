"""`clara probe dates`: one span in, what the calendar says of it out."""

from __future__ import annotations

from datetime import datetime, time
from typing import Any
from zoneinfo import ZoneInfo

from pipeline.core.calendar import OfficeHours, resolve


def answer(row: dict[str, Any]) -> dict[str, Any]:
    """The answer for one row (`text`, `ref`, `tz`, `locale`, optional `office_hours`); ValueError says what is amiss."""
    text, locale = _string(row, "text"), _string(row, "locale")
    found = resolve(text, _instant(row), _zone(row), locale, _hours(row))
    out: dict[str, Any] = {"status": found.status}
    if found.value is not None:
        out |= found.value.to_json()
    if found.candidates:
        out["candidates"] = [candidate.to_json() for candidate in found.candidates]
    out["reasons"] = list(found.reasons)
    return out


def _string(row: dict[str, Any], key: str) -> str:
    value = row.get(key)
    if not isinstance(value, str):
        raise ValueError(f"{key!r} must be a string")
    return value


def _instant(row: dict[str, Any]) -> datetime:
    try:
        return datetime.fromisoformat(_string(row, "ref")).replace(tzinfo=None)
    except ValueError:
        raise ValueError("'ref' must be a local ISO instant such as 2026-08-18T10:00") from None


def _zone(row: dict[str, Any]) -> ZoneInfo:
    name = _string(row, "tz")
    try:
        return ZoneInfo(name)
    except (ValueError, OSError, KeyError):  # ZoneInfoNotFoundError is a KeyError
        raise ValueError(f"'tz' must be an IANA time zone, not {name!r}") from None


def _hours(row: dict[str, Any]) -> OfficeHours | None:
    given = row.get("office_hours")
    if given is None:
        return None
    try:
        return {
            day: [(time.fromisoformat(opens), time.fromisoformat(closes)) for opens, closes in spans]
            for day, spans in given.items()
        }
    except (AttributeError, TypeError, ValueError):
        raise ValueError('\'office_hours\' must look like {"mon": [["09:00", "18:00"]]}') from None
