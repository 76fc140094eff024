"""Readings in few words: a message, what the model says it read, and what stands on record, checked in one call."""

from __future__ import annotations

from datetime import datetime, time
from typing import Any
from zoneinfo import ZoneInfo

from pipeline.core.checks import Context, Decided, OnRecord, OpenOffer, OpenProposal, OpenTour, check_answer
from pipeline.core.lineage import Lineage
from pipeline.core.states import TourState
from pipeline.core.types import Channel

WEDNESDAY = datetime(2026, 8, 19, 10)
HOURS = {day: [(time(9), time(18))] for day in ("mon", "tue", "wed", "thu", "fri", "sat")}


def visit(span: str, **value: str) -> dict[str, Any]:
    """A mention of the visit."""
    return _mention("visit", span, value)


def move_in(span: str, **value: str) -> dict[str, Any]:
    """A mention of the move-in date."""
    return _mention("move_in", span, value)


def other(span: str, **value: str) -> dict[str, Any]:
    """A mention of any other date."""
    return _mention("other", span, value)


def _mention(role: str, span: str, value: dict[str, str]) -> dict[str, Any]:
    kind = "range" if "start" in value else "datetime" if len(value) > 1 else "time" if "time" in value else "date"
    return {"role": role, "kind": kind, "span": span, "value": value}


def reading(
    wish: str,
    span: str,
    *mentions: dict[str, Any],
    record: tuple[str, str, str] = ("none", "", ""),
    yes: tuple[str, str] = ("none", ""),
    language: str = "en",
) -> dict[str, Any]:
    """A reading with one intent; `record` is (kind, id, span), `yes` (kind, span)."""
    return {
        "language": language,
        "intents": [{"kind": wish, "span": span}] if wish else [],
        "mentions": list(mentions),
        "refers_to": dict(zip(("kind", "id", "span"), record, strict=True)),
        "affirmation": dict(zip(("kind", "span"), yes, strict=True)),
    }


def offers(*starts: str) -> tuple[OpenOffer, ...]:
    """Offers o1, o2 … at these local instants."""
    return tuple(OpenOffer(f"o{i}", datetime.fromisoformat(start)) for i, start in enumerate(starts, 1))


def tours(*starts: str, state: TourState = TourState.CONFIRMED) -> tuple[OpenTour, ...]:
    """Tours t1, t2 … at these local instants."""
    return tuple(OpenTour(f"t{i}", datetime.fromisoformat(start), state) for i, start in enumerate(starts, 1))


def proposal(
    start: str, lineage: Lineage = Lineage.PROSPECT_STATED, readings: tuple[str, ...] = (), bare_yes: int = 0
) -> OpenProposal:
    """Proposal p1."""
    return OpenProposal(
        "p1", datetime.fromisoformat(start), lineage, tuple(datetime.fromisoformat(at) for at in readings), bare_yes
    )


def check(
    text: str,
    read: dict[str, Any],
    *,
    offers: tuple[OpenOffer, ...] = (),
    proposals: tuple[OpenProposal, ...] = (),
    tours: tuple[OpenTour, ...] = (),
    **more: Any,
) -> Decided:
    """The decision about `text` as `read`, on Wednesday 19 August 2026 at ten by default, by text message."""
    context: dict[str, Any] = {
        "text": text,
        "ref": WEDNESDAY,
        "tz": ZoneInfo("America/Chicago"),
        "locale": read["language"],
        "channel": Channel.SMS,
        "office_hours": HOURS,
        "on_record": OnRecord(offers, proposals, tours),
    }
    return check_answer(read, Context(**(context | more)))
