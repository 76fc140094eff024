"""`clara probe gate`: one outgoing text in, what the output gate says of it out."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Literal, cast
from zoneinfo import ZoneInfo

from pipeline.core.gate import Outgoing, RecordState, Secret, gate
from pipeline.core.segments import Fact, Prose, Segment


def answer(row: dict[str, Any]) -> dict[str, Any]:
    """The verdict for one row, as if every claim class enforced; ValueError says what is amiss."""
    verdict = gate(_outgoing(row))
    return {
        "verdict": "refuse" if verdict.passed is None else "pass",
        "findings": [
            {"claim_class": f.claim_class, "start": f.start, "end": f.end, "token": f.token, "rule": f.rule}
            for f in verdict.findings
        ],
    }


def _outgoing(row: dict[str, Any]) -> Outgoing:
    allow = row.get("allow")
    return Outgoing(
        segments=_segments(_text(row, "text"), row.get("spans") or (), str(row.get("locale", "en"))),
        locale=_text(row, "locale"),
        channel=cast(Literal["voice", "sms", "email"], _one_of(row, "channel", ("voice", "sms", "email"))),
        audience=cast(
            Literal["prospect", "resident", "staff"], _one_of(row, "audience", ("prospect", "resident", "staff"))
        ),
        committing=bool(row.get("committing", True)),
        record=RecordState(tour_state=row.get("tour_state")),
        allow=None if allow is None else frozenset(map(str, allow)),
        before=tuple(row.get("before") or ()),
        secrets=tuple(Secret(str(item["kind"]), str(item["value"])) for item in row.get("secrets") or ()),
        others=tuple(row.get("others") or ()),
        now=_now(row),
    )


def _segments(text: str, spans: Sequence[dict[str, Any]], locale: str) -> tuple[Segment, ...]:
    """Prose and facts; the corpus names the kind of a fact, its source is the row."""
    segments: list[Segment] = []
    at = 0
    for span in sorted(spans, key=lambda item: int(item["start"])):
        start, end = int(span["start"]), int(span["end"])
        if not at <= start <= end <= len(text):
            raise ValueError("'spans' must lie inside the text and apart from each other")
        if start > at:
            segments.append(Prose(text[at:start]))
        segments.append(Fact(str(span["kind"]), text[start:end], "row", str(span["kind"]), 1, "row", locale))
        at = end
    if at < len(text) or not segments:
        segments.append(Prose(text[at:]))
    return tuple(segments)


def _now(row: dict[str, Any]) -> datetime | None:
    if row.get("ref") is None:
        return None
    try:
        return datetime.fromisoformat(str(row["ref"])).replace(tzinfo=ZoneInfo(str(row.get("tz", "UTC"))))
    except (ValueError, OSError):
        raise ValueError("'ref' must be a local ISO instant and 'tz' an IANA time zone") from None


def _text(row: dict[str, Any], key: str) -> str:
    value = row.get(key)
    if not isinstance(value, str):
        raise ValueError(f"{key!r} must be a string")
    return value


def _one_of(row: dict[str, Any], key: str, allowed: tuple[str, ...]) -> str:
    value = row.get(key, allowed[0])
    if value not in allowed:
        raise ValueError(f"{key!r} must be one of {', '.join(allowed)}")
    return str(value)
