"""Pieces: parts of a value that are scattered over sentences, or over the strings that one person received.

A piece is a run of digits, number words or capitals that is said for itself: not a count ("47 homes"), not a label ("unit 47"), not a time.
Pieces that follow each other are put together, and a value that they spell is given away when the last of them is released (IN-3).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from pipeline.core.gate.folding import FACT
from pipeline.core.gate.riddles import hints
from pipeline.core.gate.spelling import Edge, Spelling
from pipeline.core.gate.values import ENOUGH, Targets

_MAX_PIECES: Final = 200
_CAPITALS: Final = re.compile(r"\b(?:[A-Z]{2,4}|[B-HJ-Z])\b")
_PRONOUNS: Final = frozenset({"i", "a", "y", "o"})
_SENTENCE: Final = re.compile(r"[.?!;\n]")


@dataclass(frozen=True, slots=True)
class Piece:
    """A run of digits and letters that may be a part of a value. texts: its readings; place: where it stands, in its string."""

    texts: tuple[str, ...]
    place: tuple[int, int]


def pieces(spelling: Spelling, every: bool) -> list[Piece]:
    """The runs of one string that may be parts of a value, in order: all that are said for themselves, or (every: False) those said
    in a few words, after a colon, or in a sentence about codes, digits, beginnings and ends."""
    found: list[Piece] = []
    if not (spelling.says_values or _CAPITALS.search(spelling.plain)):
        return found
    likely = [at for at in range(len(spelling.words)) if _valuable(spelling, at)]
    known, start = hints(), 0
    bounds = [i for i, word in enumerate(spelling.words) if _SENTENCE.match(word)] + [len(spelling.words)]
    for bound in bounds:
        inside = [at for at in likely if start <= at < bound][:_MAX_PIECES]
        if inside:
            words = [word for word in spelling.low[start:bound] if word[0].isalnum()]
            telling = every or len(words) <= 3 or not known.hints.isdisjoint(words)
            done = start
            for at in inside:
                if at >= done:
                    texts, done = _run(spelling, at, bound)
                    if texts and _alone(spelling, at, done) and (telling or spelling.words[at - 1 : at] == [":"]):
                        found.append(Piece(texts, (spelling.places[at][0], spelling.places[done - 1][1])))
        start = bound + 1
    return found


def _valuable(spelling: Spelling, at: int) -> bool:
    word, known = spelling.words[at], spelling.speech
    if word[0].isdigit():
        return True
    low = spelling.low[at]
    return low in known.valuable or (word.isupper() and len(word) < 5 and low not in _PRONOUNS)


def scattered(earlier: Iterable[Piece], here: Sequence[Piece], wanted: Targets) -> tuple[int, int] | None:
    """Where the last piece of a value stands whose pieces follow each other, the last of them in the present string."""
    chain = [*earlier, *here]
    first_here = len(chain) - len(here)
    for last in range(first_here, len(chain)):
        if any(len(value) >= ENOUGH and _ends_at(chain, last, value) for value in wanted.forward):
            return chain[last].place
    return None


def _ends_at(chain: Sequence[Piece], last: int, value: str) -> bool:
    rests = {value[: -len(text)] for text in chain[last].texts if text != value and value.endswith(text)}
    for text in chain[last].texts:  # two parts in the wrong order
        if last and value.startswith(text) and text != value and value[len(text) :] in chain[last - 1].texts:
            return True
    at = last - 1
    while rests and at >= 0:
        rests = {rest[: -len(text)] for rest in rests for text in chain[at].texts if rest.endswith(text)}
        if "" in rests:
            return True
        at -= 1
    return False


def _run(spelling: Spelling, at: int, bound: int) -> tuple[tuple[str, ...], int]:
    """The readings of the longest run of value-like tokens from `at`, and where it ends."""
    readings, here = {""}, at
    while here < bound:
        edges = [e for e in spelling.edges(here) if _valuelike(spelling, here, e)]
        if not edges:
            break
        end = max(edge.end for edge in edges)
        readings = {r + e.text.upper() for r in list(readings)[:8] for e in edges if e.end == end}
        here = end
        if here < bound and spelling.words[here] == "-":
            here += 1
    return (tuple(readings) if here > at else ()), here


def _valuelike(spelling: Spelling, at: int, edge: Edge) -> bool:
    word = spelling.words[at]
    if word[0].isdigit():
        return True
    return _valuable(spelling, at) and (edge.text == word if word.isupper() else edge.text != word.upper())


def _alone(spelling: Spelling, at: int, end: int) -> bool:
    """Whether a run is said for itself: not "unit 47", "$47", "4:30", "47 homes"."""
    known = hints()
    before = spelling.low[at - 1] if at else ""
    after = spelling.low[end] if end < len(spelling.words) else ""
    if before in known.labels or before in {"$", "#", FACT} or after in {":", "%", "am", "pm"}:
        return False
    if before == ":" and at > 1 and spelling.words[at - 2][0].isdigit():
        return False
    return not after or not after[0].isalnum() or after in known.quiet
