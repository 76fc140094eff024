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

from pipeline.core.calendar.phrasebook import Found, Parse, PhraseBook
from pipeline.core.calendar.tokens import Token

MOST_ITEMS = 6
MOST_SIDES = 48
"""Bounds on what one place may offer, so that hostile text costs no more than honest text."""

_AT_MOST = {
    "weekday": 1, "period": 1, "half": 1, "day_part": 1, "year": 1, "clock": 1, "day": 2, "part": 2, "vague": 2,
    "loose": 1, "number": 2,
}  # fmt: skip


_NOT_AFTER = {
    "at": frozenset({"day", "weekday", "period", "year"}),
    "opener_at": frozenset({"day", "weekday", "period", "year", "part", "vague"}),
}
"""What cannot follow a word such as "at": in "de la mañana" the last word is no tomorrow."""


_HOURS = frozenset({"number", "loose", "clock"})
_AFTER = {"at": "at", "opener_at": "at", "joiner": "joiner", "article": "article"}
"""The linking words before a number that tell whether it is an hour: "at 3" is one, "the 3" is none."""


class Item(NamedTuple):
    """Something said on a side; `after` is the use of the linking word before it ("at" makes an hour of a number);
    `start` and `end` are token numbers."""

    kind: str
    value: Any
    after: str
    start: int
    end: int


class Side(NamedTuple):
    """A row of items, and the linking words that change what they mean: `opener` opens a range ("from"), `either` may
    open one or just join ("de"), `bound` leaves one end open ("after"), `hedged` makes it approximate."""

    items: tuple[Item, ...] = ()
    opener: bool = False
    either: bool = False
    bound: bool = False
    hedged: bool = False


class Phrase(NamedTuple):
    """A complete reading of a row of tokens by grammar alone. `start` and `end` are token numbers."""

    form: Literal["moment", "range", "choice"]
    left: Side
    right: Side | None
    end: int


_BETWEEN_SIDES = frozenset({"until", "or", "and"})


def _timed(side: Side) -> bool:
    """Whether a side expects another time of day: it has one, or opens a range."""
    if side.opener or side.either or any(item.kind == "clock" or item.after == "at" for item in side.items):
        return True
    return len(side.items) == 1 and side.items[0].kind == "number" and not side.items[0].after


def _fits(kind: str, kinds: list[str]) -> bool:
    """Whether an item of that kind can follow the kinds that a side has: what no reading takes need not be tried."""
    if not kinds:
        return True
    if kinds[-1] == "year" or (kind in _HOURS and "half" in kinds):
        return False
    if kind == "half":
        return not _HOURS.intersection(kinds)
    if "period" in kinds and "number" in kinds:
        return False
    return kind != "number" or "period" not in kinds or "weekday" not in kinds


def _flagged(side: Side, use: str) -> Side:
    """A side after a linking word of that use."""
    match use:
        case "opener" | "opener_at":
            return side._replace(opener=True)
        case "either":
            return side._replace(either=True)
        case "bound":
            return side._replace(bound=True)
    return side


class Sentences:
    """The phrases that a row of tokens holds."""

    __slots__ = ("_item_here", "_link_here", "_parse", "_sides", "size")

    def __init__(self, book: PhraseBook, tokens: list[Token]) -> None:
        self._parse = Parse(book, tokens)
        self._item_here = [name in book.starts["item"] for name in self._parse.classes]
        self._link_here = [name in book.starts["link"] for name in self._parse.classes]
        self._sides: dict[int, list[tuple[int, Side]]] = {}
        self.size = len(tokens)

    def complete(self) -> Iterator[Phrase]:
        """The phrases that consume every token."""
        if not self._parse.known:
            return iter(())
        return (phrase for phrase in self.starting(0) if phrase.end == self.size)

    def starting(self, at: int) -> Iterator[Phrase]:
        """The phrases that begin at token `at`, wherever they end."""
        for end, left in self.sides(at):
            yield Phrase("moment", left, None, end)
            links = self.links(end) if end < self.size else []
            for after, use in links:
                if after == self.size or use not in _BETWEEN_SIDES:
                    continue
                ranged = use == "until" or (use == "and" and left.opener)
                # one word may be both "until" and "at": "de 2 a las 4", but "el viernes 15 a las 4"
                untimed = use == "until" and not _timed(left) and any(other == "at" for _, other in links)
                for last, right in self.sides(after):
                    if not (untimed and right.items[0].after == "at"):
                        yield Phrase("range" if ranged else "choice", left, right, last)

    def sides(self, at: int) -> list[tuple[int, Side]]:
        """The sides that begin at token `at`, with where they end."""
        if at not in self._sides:
            found: list[tuple[int, Side]] = []
            self._grow(at, Side(), None, found)
            self._sides[at] = found
        return self._sides[at]

    def items(self, at: int) -> list[Found]:
        """The items that begin at token `at`."""
        return self._parse.at("item", at) if self._item_here[at] else []

    def sides_after(self, at: int, use: str) -> list[tuple[int, Side]]:
        """The sides that begin at token `at` where a linking word of that use stands before it."""
        found: list[tuple[int, Side]] = []
        self._grow(at, _flagged(Side(), use), use or None, found)
        return found

    def links(self, at: int) -> list[tuple[int, str]]:
        """The linking words at token `at`, with where they end and their use."""
        return self._parse.at("link", at) if self._link_here[at] else []

    def _grow(self, at: int, side: Side, pending: str | None, found: list[tuple[int, Side]]) -> None:
        """Collect the ways in which a side can go on at token `at`, after a linking word `pending` if there is one."""
        items, opener, either, bound, hedged = side
        if items and pending is None:
            found.append((at, side))
        if at == self.size or len(found) >= MOST_SIDES:
            return
        readings = self._parse.at("item", at) if self._item_here[at] and len(items) < MOST_ITEMS else ()
        if readings:
            barred = _NOT_AFTER.get(pending, ()) if pending else ()
            kinds = [item.kind for item in items]
            for end, (kind, value) in readings:
                if kind not in barred and kinds.count(kind) < _AT_MOST[kind] and _fits(kind, kinds):
                    after = _AFTER.get(pending, "") if pending and kind in _HOURS else ""
                    item = Item(kind, value, after, at, end)
                    self._grow(end, Side((*items, item), opener, either, bound, hedged), None, found)
        for end, use in self._longest(at) if self._link_here[at] else ():
            if use == "plain":
                self._grow(end, side, pending, found)
            elif use == "hedge":
                self._grow(end, Side(items, opener, either, bound, True), pending, found)
            else:
                self._grow(end, _flagged(side, use), use, found)

    def _longest(self, at: int) -> list[tuple[int, str]]:
        """Of the linking words that go on with a side, the longest of each use."""
        links = [link for link in self._parse.at("link", at) if link[1] not in _BETWEEN_SIDES]
        if len(links) < 2:
            return links
        best: dict[str, int] = {}
        for end, use in links:
            best[use] = max(end, best.get(use, 0))
        return [(end, use) for use, end in best.items()]
