"""The check of a reading: the one pure decision about what a customer's words commit, ask or leave alone (UN-5, UN-6, PR-2 … PR-4).

Request, reply, move, cancellation, acceptance, confirmation and refusal all pass `check_reading`; no tag, intent or channel leads
around it. It believes the model in nothing: spans must stand in the new text, values must be the calendar's, roles must suit the
words around them, records must be on record and described by the words, and the wish itself must be in the words.

Invariants: any disagreement is a question (`ask`), after two questions a person's case (`review`); nothing is committed because of a
keyword, and nothing is committed against one; a refused offer is never a cancellation; a first touch is PROPOSED unless all of PR-4
holds; the function is pure and total.

Map: `context` what goes in and comes out · `evidence` spans, values, unclaimed dates · `roles` dates against the words around them ·
`slot` one day and time, and whether it can be · `records` which record · `wishes` and `yes` whether the words carry the wish ·
`check` one check under way · `decide` one path per change. Words are data: `pipeline/core/cues`, one file per locale.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pipeline.core.checks.context import (
    HORIZON_DAYS,
    MAX_ROUNDS,
    About,
    Action,
    AutoConfirm,
    Context,
    Decided,
    Evidence,
    OnRecord,
    OpenOffer,
    OpenProposal,
    OpenTour,
    Outcome,
)
from pipeline.core.checks.decide import check_reading
from pipeline.core.reading import ReadingError, parse_reading

__all__ = [
    "HORIZON_DAYS",
    "MAX_ROUNDS",
    "About",
    "Action",
    "AutoConfirm",
    "Context",
    "Decided",
    "Evidence",
    "OnRecord",
    "OpenOffer",
    "OpenProposal",
    "OpenTour",
    "Outcome",
    "check_answer",
    "check_reading",
]


def check_answer(data: Mapping[str, Any], context: Context) -> Decided:
    """`check_reading` for a model's raw answer: an answer without the shape of a reading decides nothing and is asked about."""
    try:
        reading = parse_reading(data)
    except ReadingError:
        spent = context.rounds >= MAX_ROUNDS
        return Decided(Outcome.REVIEW if spent else Outcome.ASK, about=About.RESTATE, reasons=("reading_malformed",))
    return check_reading(reading, context)
