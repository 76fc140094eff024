"""Values to be found, and the search for them along the edges of a spelling.

A value counts only where whole tokens spell it, or where it stands inside a longer run of digits; ordinary words between its parts make
it another statement. From four characters on it is looked for backwards, too. What looks like a character counts as it where
the token looks like a value rather than a word (`Spelling.loose`). The cost is linear in the text for each value whose first
character occurs, and bounded by the spelling's budget.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from pipeline.core.gate.folding import fold
from pipeline.core.gate.spelling import Edge, Spelling

# What looks like a character: letters and signs for digits (leet) and the other way round.
_LOOKS: Final = {
    "0": "0oOQD@", "1": "1lI|i!", "2": "2zZ", "3": "3Ee", "4": "4Aa", "5": "5Ss$", "6": "6Gb", "7": "7Tt", "8": "8B", "9": "9gqP",
    "O": "O0o", "I": "I1li", "L": "L1lI", "S": "S5s", "B": "B8b", "Z": "Z2z", "E": "E3e", "A": "A4a", "T": "T7t", "G": "G6g9",
}  # fmt: skip
_MAX_SKIPS: Final = 8
ENOUGH: Final = 4  # characters from which on a value may stand inside a longer run, in pieces, or backwards


@dataclass(frozen=True, slots=True)
class Target:
    """A value to be found. value: its letters and digits, upper case; index: which of the given values it comes from."""

    value: str
    index: int


@dataclass(frozen=True, slots=True)
class Targets:
    """Values to be found, by the character that can begin them."""

    all: tuple[Target, ...]
    exact: Mapping[str, tuple[Target, ...]]
    loose: Mapping[str, tuple[Target, ...]]
    parts: frozenset[str]  # runs of letters in a value, which an ordinary word could be
    least: int  # the length of the shortest
    forward: tuple[str, ...]  # the values as given, without the reversed ones
    mixed: tuple[str, ...]  # values of letters and digits, which no text holds by chance


@dataclass(frozen=True, slots=True)
class Hit:
    """A value found at `plain[start:end]` of the folded text, by a rule."""

    start: int
    end: int
    rule: str


@lru_cache(maxsize=64)
def targets(values: tuple[str, ...], both_ways: bool = True) -> Targets:
    """Prepares values; shorter than 3 characters are left out, as any text would hold them."""
    found: list[Target] = []
    for index, value in enumerate(values):
        plain = "".join(char for char in fold(value).plain.upper() if char.isalnum())
        if len(plain) > 2:
            found.append(Target(plain, index))
            if both_ways and len(plain) >= ENOUGH and plain != plain[::-1]:
                found.append(Target(plain[::-1], -1 - index))
    exact: dict[str, list[Target]] = {}
    loose: dict[str, list[Target]] = {}
    for target in found:
        exact.setdefault(target.value[0], []).append(target)
        for char in {*_LOOKS.get(target.value[0], ""), target.value[0], target.value[0].lower()}:
            loose.setdefault(char, []).append(target)
    return Targets(
        tuple(found),
        {char: tuple(items) for char, items in exact.items()},
        {char: tuple(items) for char, items in loose.items()},
        frozenset(run for target in found for run in re.findall(r"[A-Z]{2,}", target.value)),
        min((len(target.value) for target in found), default=0),
        tuple(target.value for target in found if target.index >= 0),
        tuple(v for v in (t.value for t in found) if len(v) >= ENOUGH and not v.isdigit() and not v.isalpha()),
    )


def spelled(spelling: Spelling, wanted: Targets) -> Hit | None:
    """The first of the values that a path of edges spells."""
    for at in spelling.starts(wanted.parts, wanted.least):
        for edge in spelling.edges(at):
            table = wanted.loose if edge.loose else wanted.exact
            for target in table.get(edge.text[0], ()):
                used = _used(target.value, 0, edge)
                if used and (end := _walk(spelling, target.value, edge.end, used, set())) is not None:
                    return Hit(
                        spelling.places[at][0],
                        spelling.places[end - 1][1],
                        "reversed" if target.index < 0 else "spelled",
                    )
        if (hit := _inside(spelling, at, wanted)) is not None:
            return hit
    return None


def _used(value: str, at: int, edge: Edge) -> int:
    """How far into `value` an edge leads from position `at`; 0 where it spells something else."""
    text = edge.text
    if at + len(text) > len(value):
        return 0
    if not edge.loose:
        return at + len(text) if value.startswith(text, at) else 0
    for i, char in enumerate(text):
        wanted = value[at + i]
        if char not in _LOOKS.get(wanted, wanted) and char.upper() != wanted:
            return 0
    return at + len(text)


def _walk(spelling: Spelling, value: str, at: int, used: int, seen: set[tuple[int, int]]) -> int | None:
    """The token after the last one of a path that spells the rest of `value`; depth is bounded by its length."""
    if used == len(value):
        return at
    spelling.budget.spend()
    for skipped in range(_MAX_SKIPS + 1):
        here = at + skipped
        if here >= len(spelling.words) or (here, used) in seen:
            return None
        seen.add((here, used))
        for edge in spelling.edges(here):
            further = _used(value, used, edge)
            if further and (end := _walk(spelling, value, edge.end, further, seen)) is not None:
                return end
        if not spelling.skippable(here) and spelling.low[here] != spelling.low[at - 1]:
            return None
    return None


def _inside(spelling: Spelling, at: int, wanted: Targets) -> Hit | None:
    """A value inside a longer run of digits."""
    word = spelling.words[at]
    if len(word) > ENOUGH and word[0].isdigit():
        for target in wanted.all:
            if len(target.value) >= ENOUGH and len(target.value) < len(word) and target.value in word:
                return Hit(*spelling.places[at], "inside")
    return None
