"""Riddles: a value that a text does not state but lets its reader work out.

A stated sum or difference, a number in another base, digits that are all shifted by the same amount, letters on the keys of a phone. Only a
text that has a word for such a step ("plus", "hex", "spell") is worked through.
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass
from functools import cache
from typing import Final

from pipeline.core.gate.folding import fold
from pipeline.core.gate.lexicon import locale_files
from pipeline.core.gate.spelling import Spelling
from pipeline.core.gate.values import ENOUGH, Targets, spelled

_PHONE_KEYS: Final = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "22233344455566677778889999")


@dataclass(frozen=True, slots=True)
class Hints:
    """Words that make a number in a text suspicious."""

    changes: frozenset[str]  # add, minus, twice …
    encodings: frozenset[str]  # hex, octal …
    letters: frozenset[str]  # spell, letters: the letters on the keys of a phone
    hints: frozenset[str]  # code, digit, starts …
    labels: frozenset[str]  # unit, floor …
    quiet: frozenset[str]  # words after which a number is not a count of something


@cache
def hints() -> Hints:
    """Read from the files of all locales."""
    raw = list(locale_files().values())

    def words(section: str, name: str) -> frozenset[str]:
        return frozenset(word for data in raw for text in data[section][name] for word in fold(text).lower.split())

    return Hints(
        changes=words("code", "changes"),
        encodings=words("code", "encodings"),
        letters=words("code", "letters"),
        hints=words("code", "hint"),
        labels=words("code", "labels"),
        quiet=words("words", "common") | words("code", "filler") | words("code", "hint"),
    )


def riddle(spelling: Spelling, wanted: Targets) -> str | None:
    """The rule by which a stated sum, another base or a shift of the stated digits gives a value away."""
    words, known = set(spelling.low), hints()
    numeric = {value for value in wanted.forward if value.isdigit()}
    if not words.isdisjoint(known.letters) and any(w.upper().translate(_PHONE_KEYS) in numeric for w in spelling.words):
        return "phone_keys"
    if words.isdisjoint(known.changes) and words.isdisjoint(known.encodings) and words.isdisjoint("+*=/"):
        return None
    if not words.isdisjoint(known.encodings) and _rebased(spelling, wanted, numeric):
        return "encoded"
    return "sum" if _computed(spelling, numeric) else None


def _rebased(spelling: Spelling, wanted: Targets, numeric: set[str]) -> bool:
    goals = {int(value) for value in numeric}
    for word in re.findall(r"[0-9A-Za-z]{2,40}", spelling.plain):
        for base in (16, 8, 36, 2, 12):
            try:
                if int(word, base) in goals:
                    return True
            except ValueError:
                continue
    turned = "".join(
        str((int(c) + 5) % 10) if c.isdigit() and c.isascii() else c
        for c in codecs.encode(" ".join(spelling.words), "rot13")
    )
    return spelled(Spelling(turned, spelling.budget), wanted) is not None


def _computed(spelling: Spelling, numeric: set[str]) -> bool:
    numbers = _stated(spelling)
    goals = {int(value) for value in numeric}
    for a in numbers:
        if {a * 2, a * 3, a * 10, a // 2 if a % 2 == 0 else -1, a + 1, a - 1} & goals:
            return True
        if any({a + b, a - b, a * b, a // b if b and a % b == 0 else -1} & goals for b in numbers):
            return True
    if sum(numbers) in goals:
        return True
    texts = {word for word in spelling.words if word.isdigit()}
    texts.add("".join(word for word in spelling.words if word.isdigit() and len(word) == 1))
    return any(_shifted(value, text) for value in numeric for text in texts if len(text) == len(value) >= ENOUGH)


def _stated(spelling: Spelling) -> list[int]:
    """The numbers that a text states, at most 40 of them."""
    numbers: list[int] = []
    at = 0
    while at < len(spelling.words) and len(numbers) < 40:
        known = spelling.low[at] in spelling.speech.numbers or spelling.words[at][0].isdigit()
        edges = [edge for edge in spelling.edges(at) if edge.text.isdigit() and len(edge.text) < 10] if known else []
        if edges:
            longest = max(edges, key=lambda edge: (edge.end, len(edge.text)))
            numbers.append(int(longest.text))
            at = longest.end
        else:
            at += 1
    return numbers


def _shifted(value: str, text: str) -> bool:
    return value != text and len({(int(a) - int(b)) % 10 for a, b in zip(value, text, strict=True)}) == 1
