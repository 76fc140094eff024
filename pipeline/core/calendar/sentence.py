"""How days, times and parts of the day stand together: the one piece of grammar that all languages share.

Phrase books say what a day or a clock looks like. In which order they come ("tomorrow at 3", "at 3 tomorrow") hardly
matters for what they mean, so a *side* is any row of them, held together by linking words. A *phrase* is one side (a
moment), two sides with a word for "until" between them (a range), or two with an "or" (a choice).

Invariants: a phrase consumes every token; each kind of item stands at most once or twice on a side; a linking word
stands before something. Whether the items of a side agree with each other is not asked here, see `reading`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

from pipeline.core.calendar.phrasebook import Parse, PhraseBook
from pipeline.core.calendar.tokens import Token

MOST_ITEMS = 6
MOST_SIDES = 120
"""Bounds on what one place may offer, so that hostile text costs no more than honest text."""

_AT_MOST = {
    "weekday": 1, "period": 1, "half": 1, "day_part": 1, "year": 1, "clock": 1, "day": 2, "part": 2, "vague": 2,
    "loose": 1, "number": 2,
}  # fmt: skip


_NO_HOUR = frozenset({"day", "weekday", "period", "year"})
"""What cannot follow a word such as "at": in "de la mañana" the last word is no tomorrow."""


class Item(NamedTuple):
    """Something said on a side; `marked` where a word such as "at" makes an hour of it."""

    kind: str
    value: Any
    marked: bool = False


class Side(NamedTuple):
    """A row of items, and the linking words that change what they mean."""

    items: tuple[Item, ...] = ()
    opener: bool = False
    bound: bool = False
    hedged: bool = False


class Phrase(NamedTuple):
    """A complete reading of a row of tokens by grammar alone. `start` and `end` are token numbers."""

    form: Literal["moment", "range", "choice"]
    left: Side
    right: Side | None
    end: int


class Sentences:
    """The phrases that a row of tokens holds."""

    __slots__ = ("_parse", "_sides", "size")

    def __init__(self, book: PhraseBook, tokens: list[Token]) -> None:
        self._parse = Parse(book, tokens)
        self._sides: dict[int, list[tuple[int, Side]]] = {}
        self.size = len(tokens)

    def complete(self) -> Iterator[Phrase]:
        """The phrases that consume every token."""
        return (phrase for phrase in self.starting(0) if phrase.end == self.size)

    def starting(self, at: int) -> Iterator[Phrase]:
        """The phrases that begin at token `at`, wherever they end."""
        for end, left in self.sides(at):
            yield Phrase("moment", left, None, end)
            if end == self.size:
                continue
            for after, use in self._links(end):
                if after == self.size:
                    continue
                if use == "until" or (use == "and" and left.opener):
                    for last, right in self.sides(after):
                        yield Phrase("range", left, right, last)
                elif use in ("or", "and"):
                    for last, right in self.sides(after):
                        yield Phrase("choice", left, right, last)

    def sides(self, at: int) -> list[tuple[int, Side]]:
        """The sides that begin at token `at`, with where they end."""
        if at not in self._sides:
            found: list[tuple[int, Side]] = []
            self._grow(at, Side(), None, found)
            self._sides[at] = found
        return self._sides[at]

    def _links(self, at: int) -> list[tuple[int, str]]:
        return self._parse.at("link", at)

    def _grow(self, at: int, side: Side, pending: str | None, found: list[tuple[int, Side]]) -> None:
        if side.items and pending is None:
            found.append((at, side))
        if at == self.size or len(found) >= MOST_SIDES:
            return
        if len(side.items) < MOST_ITEMS:
            for end, (kind, value) in self._parse.at("item", at):
                if pending == "at" and kind in _NO_HOUR:
                    continue
                if sum(item.kind == kind for item in side.items) < _AT_MOST[kind]:
                    items = (*side.items, Item(kind, value, pending == "at"))
                    self._grow(end, side._replace(items=items), None, found)
        for end, use in self._longest(at):
            if use == "plain":
                self._grow(end, side, pending, found)
            elif use == "hedge":
                self._grow(end, side._replace(hedged=True), pending, found)
            elif use == "opener":
                self._grow(end, side._replace(opener=True), "joiner", found)
            elif use == "opener_at":
                self._grow(end, side._replace(opener=True), "at", found)
            elif use == "bound":
                self._grow(end, side._replace(bound=True), "joiner", found)
            else:
                self._grow(end, side, use, found)

    def _longest(self, at: int) -> list[tuple[int, str]]:
        """Of the linking words that go on with a side, the longest of each use."""
        best: dict[str, int] = {}
        for end, use in self._links(at):
            if use not in ("until", "or", "and"):
                best[use] = max(end, best.get(use, 0))
        return [(end, use) for use, end in best.items()]
