"""Segments: what a draft is made of. Prose is the model's words; a fact is a sentence that code rendered from a record.

A draft is never one string with claims hidden in it. It is a list in which every fact stands alone and says where it came
from: kind, record, field, version, template and locale (CO-2). The gate lets fact-like words through only where they stand in
such a fact, `clara explain` reads the same provenance (TR-6), and what is sent is the plain concatenation, character for
character, so that an offset into the text is an offset into the segments.

Invariants: `text_of` adds and removes nothing; `load(dump(segments))` is `segments`. A segment never holds an instant, a value or
a reference into a database: it is what will be read or heard, and its origin.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Prose:
    """Words that no record vouches for."""

    text: str


@dataclass(frozen=True, slots=True)
class Fact:
    """Words rendered by code from a template.

    kind: what is asserted (`date`, `time`, `datetime`, `amount`, `address`, `phone`, `access_code`, …). record, field, version: the
    row, its column and the version that was read. template, locale: the wording that was used.
    """

    kind: str
    text: str
    record: str
    field: str
    version: int
    template: str
    locale: str


Segment: TypeAlias = Prose | Fact


def text_of(segments: Iterable[Segment]) -> str:
    """What is read or heard: the plain concatenation."""
    return "".join(segment.text for segment in segments)


def spans_of(segments: Iterable[Segment]) -> tuple[tuple[int, int, str], ...]:
    """Where the facts stand in `text_of(segments)`: (start, end, kind), in order."""
    spans: list[tuple[int, int, str]] = []
    at = 0
    for segment in segments:
        end = at + len(segment.text)
        if isinstance(segment, Fact):
            spans.append((at, end, segment.kind))
        at = end
    return tuple(spans)


def dump(segments: Iterable[Segment]) -> list[dict[str, str | int]]:
    """The segments as JSON values, to be stored with an intent."""
    return [asdict(segment) for segment in segments]


def load(stored: Sequence[Mapping[str, str | int]]) -> tuple[Segment, ...]:
    """The segments that `dump` stored; raises ValueError on anything else."""
    return tuple(_segment(dict(item)) for item in stored)


def _segment(item: dict[str, str | int]) -> Segment:
    names = {name: str(value) for name, value in item.items() if name != "version"}
    try:
        if set(item) == {"text"}:
            return Prose(**names)
        return Fact(**names, version=int(item["version"]))
    except (KeyError, TypeError) as problem:
        raise ValueError(f"not a stored segment: {sorted(item)}") from problem
