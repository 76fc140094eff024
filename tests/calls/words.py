"""Sentences for tests of a call: every one of them passed the gate, as everything that is spoken must."""

from __future__ import annotations

from datetime import datetime
from functools import cache

from pipeline.core.gate import Outgoing, RecordState, gate
from pipeline.core.segments import Fact, Prose, Segment
from pipeline.speech import Piece


@cache
def piece(text: str, record: str | None = None) -> Piece:
    """A gated sentence; with a record the whole of it is a fact about that record."""
    said: Segment = Prose(text) if record is None else Fact("datetime", text, record, "starts_at", 1, "leasing.proposed", "en")
    verdict = gate(
        Outgoing(
            segments=(said,),
            locale="en",
            channel="voice",
            audience="prospect",
            purpose="answer",
            committing=record is not None,
            record=RecordState(None),
            allow=None,
            before=(),
            secrets=(),
            modes={},
            now=datetime(2026, 7, 17, 9, 0),
        )
    )
    assert verdict.passed is not None, verdict.findings
    return Piece(verdict.passed, () if record is None else ({"kind": "datetime", "text": text, "record": record},))


@cache
def lines() -> dict[str, tuple[Piece, ...]]:
    """The fixed lines of a call."""
    return {
        "silence": (piece("Are you still there?"),),
        "goodbye": (piece("Thank you for calling."), piece("Goodbye.")),
        "late_line": (piece("Let me finish that."),),
        "again": (piece("Sorry, I did not catch that."), piece("Could you say it once more?")),
    }
