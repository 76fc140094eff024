"""Builders for the gate's tests: outgoing strings in a line, and what the gate found in them."""

from __future__ import annotations

import dataclasses
from typing import Any

from pipeline.core.gate import Outgoing, RecordState, Secret, Verdict, gate
from pipeline.core.segments import Fact, Prose, Segment

PROPOSED = RecordState("PROPOSED")
CONFIRMED = RecordState("CONFIRMED")


def fact(kind: str, text: str, version: int = 1) -> Fact:
    """A fact of a tour."""
    return Fact(kind, text, "tour-1", kind, version, "leasing.tour", "en")


def outgoing(*parts: str | Segment, codes: tuple[str, ...] = (), **more: Any) -> Outgoing:
    """A text message to a prospect; strings are prose, `codes` the property's access codes."""
    segments = tuple(Prose(part) if isinstance(part, str) else part for part in parts)
    plain = Outgoing(segments, "en", "sms", secrets=tuple(Secret("access_code", code) for code in codes))
    return dataclasses.replace(plain, **more)


def verdict(*parts: str | Segment, codes: tuple[str, ...] = (), **more: Any) -> Verdict:
    """What the gate says of it."""
    return gate(outgoing(*parts, codes=codes, **more))


def classes(*parts: str | Segment, codes: tuple[str, ...] = (), **more: Any) -> set[str]:
    """The claim classes of its findings."""
    return {finding.claim_class for finding in verdict(*parts, codes=codes, **more).findings}
