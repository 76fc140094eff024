"""Sentences for tests of a call: every one of them passed the gate, as everything that is spoken must."""

from __future__ import annotations

from datetime import datetime
from functools import cache

from pipeline.core.gate import Outgoing, RecordState, gate
from pipeline.core.segments import Fact, Prose, Segment
from pipeline.speech import Piece

LINES = ("silence", "goodbye", "late_line", "again")


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
def lines() -> dict[str, Piece]:
    """The fixed lines of a call."""
    texts = ("Are you still there?", "Thank you for calling. Goodbye.", "Let me finish that.", "Could you say it once more?")
    return dict(zip(LINES, (piece(text) for text in texts), strict=True))
