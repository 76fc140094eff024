"""`clara probe understand`: a reading and what is on record in, the decision out. The check of production, without a model."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime, time
from typing import Any
from zoneinfo import ZoneInfo

from pipeline.core.calendar import OfficeHours
from pipeline.core.checks import Context, Decided, OnRecord, OpenOffer, OpenProposal, OpenTour, check_answer
from pipeline.core.lineage import lineage_of
from pipeline.core.states import TourState
from pipeline.core.types import Channel, Form


def answer(row: dict[str, Any]) -> dict[str, Any]:
    """The decision for one row (see the table of probe kinds); ValueError says what in the row cannot be read."""
    _need(isinstance(row.get("reading"), Mapping), "'reading' must be an object")
    return _shown(check_answer(row["reading"], context_of(row)))


def context_of(row: Mapping[str, Any]) -> Context:
    """What the row says the reading is to be checked against."""
    return Context(
        text=_string(row, "text"),
        ref=_wall(_string(row, "ref"), "ref"),
        tz=_zone(_string(row, "tz")),
        locale=_string(row, "locale"),
        channel=_word(Channel, row.get("channel"), "channel"),
        office_hours=_hours(row.get("office_hours")),
        on_record=_on_record(row.get("open") or {}),
        form=_form(row.get("form")),
    )


def _shown(decided: Decided) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "decision": decided.decision,
        "action": decided.action,
        "date": decided.date and decided.date.isoformat(),
        "time": decided.time and decided.time.isoformat("minutes"),
        "start": decided.start and decided.start.isoformat("T", "minutes"),
        "end": decided.end and decided.end.isoformat("T", "minutes"),
        "record": decided.record,
        "lineage": decided.lineage,
        "state": decided.state,
        "about": decided.about,
    }
    out = {key: value for key, value in shown.items() if value is not None}
    if decided.candidates:
        out["candidates"] = [candidate.to_json() for candidate in decided.candidates]
    return out | {"reasons": list(decided.reasons)}


def _on_record(given: Mapping[str, Any]) -> OnRecord:
    try:
        return OnRecord(
            offers=tuple(OpenOffer(str(o["id"]), _wall(o["start"], "start")) for o in given.get("offers") or ()),
            proposals=tuple(_proposal(p) for p in given.get("proposals") or ()),
            tours=tuple(
                OpenTour(str(t["id"]), _wall(t["start"], "start"), _word(TourState, t["state"], "state"))
                for t in given.get("tours") or ()
            ),
        )
    except (AttributeError, KeyError, TypeError):
        raise ValueError("'open' must hold lists of offers, proposals and tours with id and start") from None


def _proposal(given: Mapping[str, Any]) -> OpenProposal:
    readings = tuple(_wall(at, "readings") for at in given.get("readings") or ())
    return OpenProposal(str(given["id"]), _wall(given["start"], "start"), lineage_of(given["lineage"]), readings)


def _form(given: Mapping[str, Any] | None) -> Form | None:
    if given is None:
        return None
    try:
        move_in = given.get("move_in")
        return Form(
            move_in=date.fromisoformat(move_in) if move_in else None,
            tour_times=tuple(_wall(at, "tour_times") for at in given.get("tour_times") or ()),
        )
    except (AttributeError, TypeError, ValueError):
        raise ValueError("'form' must have 'move_in' as a date and 'tour_times' as local instants") from None


def _hours(given: Mapping[str, Any] | None) -> OfficeHours | None:
    if given is None:
        return None
    try:
        return {
            day: [(time.fromisoformat(opens), time.fromisoformat(closes)) for opens, closes in spans]
            for day, spans in given.items()
        }
    except (AttributeError, TypeError, ValueError):
        raise ValueError('\'office_hours\' must look like {"mon": [["09:00", "18:00"]]}') from None


def _string(row: Mapping[str, Any], key: str) -> str:
    value = row.get(key)
    _need(isinstance(value, str), f"{key!r} must be a string")
    return str(value)


def _wall(text: Any, key: str) -> datetime:
    try:
        return datetime.fromisoformat(text).replace(tzinfo=None)
    except (TypeError, ValueError):
        raise ValueError(f"{key!r} must be a local ISO instant such as 2026-08-18T10:00") from None


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ValueError, OSError, KeyError):
        raise ValueError(f"'tz' must be an IANA time zone, not {name!r}") from None


def _word(words: Any, given: Any, key: str) -> Any:
    try:
        return words(given)
    except ValueError:
        raise ValueError(f"{key!r} must be one of {', '.join(words)}") from None


def _need(holds: bool, sentence: str) -> None:
    if not holds:
        raise ValueError(sentence)
