"""Leaks: whether a text gives a known code away, in whatever spelling.

A code of four digits has no shape that tells it from a price, so that it is looked for by identity (OG-3): the value itself, read along the
edges of `spelling`, forwards and backwards; what the `decoders` make of the text; what its `riddles` come to; and `pieces` that are scattered
over sentences, or over the strings that were released to the same person in the last 24 hours.

Facts are blanked by the caller, who knows which of them may bear equal digits. A text with more readings than any reply has is refused unread.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from pipeline.core.gate.decoders import decoded
from pipeline.core.gate.folding import fold
from pipeline.core.gate.pieces import pieces, scattered
from pipeline.core.gate.riddles import riddle
from pipeline.core.gate.spelling import Overload, Spelling
from pipeline.core.gate.values import Hit, Targets, spelled


def leaked(spelling: Spelling, wanted: Targets, before: Sequence[str] = ()) -> Hit | None:
    """The first of the values that a text gives away, by itself or together with the strings released before it. A text with more
    readings than any reply has is refused unread."""
    everything = (0, len(spelling.plain))
    try:
        return _leaked(spelling, wanted, before, everything)
    except Overload:
        return Hit(*everything, "overload")


def _leaked(spelling: Spelling, wanted: Targets, before: Sequence[str], everything: tuple[int, int]) -> Hit | None:
    plain, budget = spelling.plain, spelling.budget
    if (hit := spelled(spelling, wanted)) is not None:
        return hit
    if wanted.mixed and spelling.numeric:
        squashed = re.sub(r"[\W_]+", "", plain).upper()
        if any(value in squashed for value in wanted.mixed):
            return Hit(*everything, "squashed")
    for text in decoded(plain, spelling.numeric):
        if text and spelled(Spelling(text, budget), wanted) is not None:
            return Hit(*everything, "encoded")
    if (
        not spelling.speech.backward.isdisjoint(spelling.low)
        and spelled(Spelling(plain[::-1], budget), wanted) is not None
    ):
        return Hit(*everything, "reversed")
    if (rule := riddle(spelling, wanted)) is not None:
        return Hit(*everything, rule)
    here = pieces(spelling, True)
    if here and (before or len(here) > 1):
        earlier = [piece for string in before for piece in pieces(Spelling(fold(string).plain, budget), False)]
        if (place := scattered(earlier, here, wanted)) is not None:
            return Hit(*place, "pieces")
    return None
