"""Speech: a gated answer cut into sentences, each a `Passed` of its own (VO-2).

The whole answer has passed the gate before it is cut; each sentence passes once more, with the ones before it as already released, so that the speaker takes
nothing but what the gate made. Facts are never cut. A sentence with a fact must be heard to its end (IN-11).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from pipeline.compose import Composed, Setting, outgoing
from pipeline.core.gate import Passed, gate
from pipeline.core.plan import Plan
from pipeline.core.segments import Fact, Prose, Segment, text_of

_CLOSED = r"[\"'”’)]"
# White space behind a stop and what closes with it; it is all that a cut takes away.
_END = re.compile(rf"(?:(?<=[.!?…])|(?<=[.!?…]{_CLOSED})|(?<=[.!?…]{_CLOSED}{{2}}))\s+(?=[\w¿¡\"“(])")


@dataclass(frozen=True, slots=True)
class Piece:
    """One sentence to be spoken. `facts` are JSON of the facts that it states; with any, it counts only when heard whole."""

    passed: Passed
    facts: tuple[Mapping[str, Any], ...]

    @property
    def text(self) -> str:
        return self.passed.text


def pieces(composed: Composed, plan: Plan, setting: Setting) -> tuple[Piece, ...] | None:
    """The sentences of a passed answer; None where one of them alone does not pass, so that nothing of it may be spoken."""
    found: list[Piece] = []
    before = setting.before
    for sentence in sentences(composed.segments):
        verdict = gate(outgoing(sentence, plan, replace(setting, before=before)))
        if verdict.passed is None:
            return None
        facts = tuple(
            {"kind": s.kind, "text": s.text, "record": s.record, "field": s.field, "version": s.version, "template": s.template}
            for s in sentence
            if isinstance(s, Fact)
        )
        found.append(Piece(verdict.passed, facts))
        before = (*before, verdict.passed.text)
    return tuple(found)


def sentences(segments: tuple[Segment, ...]) -> tuple[tuple[Segment, ...], ...]:
    """The segments cut at sentence ends inside prose; texts of the cuts are stripped, empty ones are dropped."""
    cut: list[list[Segment]] = [[]]
    for segment in segments:
        if isinstance(segment, Fact):
            cut[-1].append(segment)
            continue
        first, *others = _END.split(segment.text)
        cut[-1].append(Prose(first))
        cut.extend([Prose(part)] for part in others)
        # A blank after a full stop ends the sentence even when the next thing is a fact.
        if re.search(rf"[.!?…]{_CLOSED}*\s+$", segment.text):
            cut.append([])
    return tuple(tuple(_stripped(sentence)) for sentence in cut if text_of(sentence).strip())


def _stripped(sentence: list[Segment]) -> list[Segment]:
    parts = [segment for segment in sentence if segment.text]
    if parts and isinstance(parts[0], Prose):
        parts[0] = Prose(parts[0].text.lstrip())
    if parts and isinstance(parts[-1], Prose):
        parts[-1] = Prose(parts[-1].text.rstrip())
    return [segment for segment in parts if segment.text]
