"""`detect`: where date and time expressions stand in a text, by the same phrase books. It gives no value (UN-3, OG-2).

A side (see `sentence`) is found at every token that an item begins with. Most sides speak for themselves ("tomorrow",
"Friday at 3", "August 20"). Some need evidence, since their words mostly mean something else: a bare number is an hour
only after "at" and before nothing that it could count; "the 20th" is a day unless a noun follows; "may", "sat" or "el
uno" need company. What a locale counts, labels and says after an hour stands in its phrase book.

Invariants: an expression begins and ends with one of its own words, never with a linking word around it, so that it
lies inside a span that holds just the fact; expressions do not overlap; text of any kind costs time in proportion to
its length.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from pipeline.core.calendar.descriptions import Clock, Instant, NamedMonth, Number, Written
from pipeline.core.calendar.phrasebook import PhraseBook, book
from pipeline.core.calendar.sentence import Item, Sentences, Side
from pipeline.core.calendar.tokens import Token
from pipeline.core.calendar.values import Expression, Kind

_LOOK_BACK = 4
_STOPS = frozenset('.,;:!?)\n"\u201d\u2019\u2026')
_CUTS = frozenset(",;!?\n")
_SPEAKING_VAGUE = frozenset(
    {"weekend", "end_of_period", "vague_next", "vague_count", "within", "midday", "past_midnight"}
)


class _Found(NamedTuple):
    """Some tokens, from `first` up to before `last`, and what their items say."""

    first: int
    last: int
    items: tuple[Item, ...]
    ranged: bool = False

    @property
    def rank(self) -> tuple[int, int]:
        """Longer is better, and then the reading in fewer items."""
        return self.last, -len(self.items)


def detect(text: str, locales: Sequence[str]) -> tuple[Expression, ...]:
    """Every date or time expression in `text`, by the phrase books of `locales`, with offsets into `text` as given."""
    return detect_in(text, [found for locale in locales if (found := book(locale))])


def detect_in(text: str, books: Sequence[PhraseBook]) -> tuple[Expression, ...]:
    """`detect` with phrase books in hand."""
    found = [expression for phrases in books for expression in _Text(text, phrases, books).expressions()]
    found.sort(key=lambda e: (e.start, -e.end))
    kept: list[Expression] = []
    for expression in found:
        if not kept or expression.start >= kept[-1].end:
            kept.append(expression)
        elif expression.end > kept[-1].end:
            kept[-1] = Expression(kept[-1].start, expression.end, kept[-1].kind)
    return tuple(kept)


class _Text:
    """One text under one phrase book."""

    def __init__(self, text: str, phrases: PhraseBook, books: Sequence[PhraseBook]) -> None:
        self.text = text
        self.book = phrases
        # what numbers count and label is told by the text's language, which may be that of another book
        self.counted = frozenset[str]().union(*(other.words["counted"] for other in books))
        self.labels = frozenset[str]().union(*(other.words["labels"] for other in books))
        unseen = phrases.words["unseen"]
        self.tokens: list[Token] = [
            token._replace(key="?") if token.key in unseen else token for token in phrases.tokens(text)
        ]
        self.sentences = Sentences(phrases, self.tokens)
        self.ends: dict[int, list[tuple[Side, bool]]] = {}

    def expressions(self) -> list[Expression]:
        """The expressions, from left to right, each the longest that begins at its place."""
        out: list[Expression] = []
        at = 0
        while at < len(self.tokens):
            found = self._at(at)
            if found and not self._labelled(at):
                out += [self._expression(piece) for piece in self._pieces(found)]
            at = found.last if found else at + 1
        return out

    def _at(self, at: int) -> _Found | None:
        """The longest expression that begins with token `at`."""
        if self._amid_numbers(at) or not self.sentences.items(at):
            return None
        sides = self._sides(at)
        best = next((found for side in sides if (found := self._single(side))), None)
        for side in sides:
            found = self._range(side)
            if found and (best is None or found.rank > best.rank):
                best = found
        return best

    def _sides(self, at: int) -> list[Side]:
        """The sides that begin at token `at`, after the linking word that stands there, if any; the best rank first."""
        use, words = self._link_before(at)
        sides = [side for _, side in self.sentences.sides_after(at, use)]
        if use == "at" and words == 1:  # "a mañana a las 4": the same word may also join
            sides += [side for _, side in self.sentences.sides_after(at, "")]
        whole = [side for side in sides if side.items[0].start == at and self._whole(side)]
        return sorted(whole, key=lambda side: (-side.items[-1].end, len(side.items)))

    def _single(self, side: Side) -> _Found | None:
        return _Found(side.items[0].start, side.items[-1].end, side.items) if self._speaks(side) else None

    def _amid_numbers(self, at: int) -> bool:
        """Whether a number stands between numbers, as in a telephone number: no expression begins there."""
        numeric = ("#1", "#2", "#3", "#4")
        around = self.tokens[max(0, at - 1) : at + 2]
        return len(around) == 3 and all(token.key in numeric for token in around)

    def _only_links(self, at: int) -> bool:
        if self.tokens[at].key in self.book.words["articles"]:
            return True
        return any(end == at + 1 and use in ("joiner", "article", "at") for end, use in self.sentences.links(at))

    def _whole(self, side: Side) -> bool:
        """Whether no number or weak word at an end of a side belongs to what stands around it. (Each shorter side is
        there too.)"""
        items = side.items
        if len(items) > 1 and items[0].kind == "number" and items[0].after != "at" and items[1].kind not in _PARTS:
            return False
        return not self._foreign_end(items) and not _overfull(side)

    def _pieces(self, found: _Found) -> list[_Found]:
        """An expression in the parts that speak for themselves: the day and the time, or two days that a word parts."""
        runs: list[list[Item]] = []
        for item in found.items:
            if runs and self._goes_on(runs[-1], item):
                runs[-1].append(item)
            else:
                runs.append([item])
        if found.ranged or len(runs) < 2 or not all(self._speaks(Side(tuple(run))) for run in runs):
            return [found]
        return [_Found(run[0].start, run[-1].end, tuple(run)) for run in runs]

    def _goes_on(self, run: list[Item], item: Item) -> bool:
        """Whether an item belongs to the run before it."""
        kind, before = _run_kind(item), _run_kind(run[0])
        if not kind or (item.kind == "number" and not item.after and before == "day"):
            return True
        beside = run[-1].end == item.start and not self._between(item.start).strip(" ,")
        return kind == before and (beside or kind == "time")

    def _expression(self, found: _Found) -> Expression:
        """Begins with the first word that is more than a link: spans of facts hold "August 20", not "the August 20"."""
        at = found.first
        while at < found.last - 1 and self._only_links(at):
            at += 1
        kind: Kind = "range" if found.ranged else _kind(found.items)
        return Expression(self.tokens[at].start, self.tokens[found.last - 1].end, kind)

    def _foreign_end(self, items: tuple[Item, ...]) -> bool:
        """Whether the last item goes with the words that follow: "Friday, one moment", "at 7 pm for 2"."""
        last = items[-1]
        if len(items) > 1 and self._stop_after(last.start):
            weak = last.end - last.start == 1 and self.tokens[last.start].key in self.book.words["weak"]
            parted = any(sign in _CUTS and sign != "," for sign in self._between(last.start))
            if weak or last.kind in _LOOSE or (parted and not self._speaks(Side((last,)))):
                return True
        if last.kind not in _LOOSE or last.after == "at":
            return False
        words = isinstance(last.value, Number) and not last.value.digits and not any(i.kind in _BESIDE for i in items)
        return words or last.after in ("joiner", "article") or not self._free(last.end)

    def _link_before(self, at: int) -> tuple[str, int]:
        """The use of the longest linking word that ends right before token `at`, and how many tokens it has."""
        for start in range(max(0, at - _LOOK_BACK), at):
            uses = [use for end, use in self.sentences.links(start) if end == at]
            for use in ("opener_at", "at", "opener", "either", "bound", "article", "joiner"):
                if use in uses:
                    return use, at - start
        return "", 0

    def _range(self, left: Side) -> _Found | None:
        """The longest range that begins with this side. Where both ends speak for themselves, they are two expressions."""
        end = left.items[-1].end
        links = self.sentences.links(end) if end < len(self.tokens) else ()
        if not links:
            return None
        best: _Found | None = None
        spoken = self._speaks(left)
        for after, use in links:
            if after == len(self.tokens) or not (use == "until" or (use == "and" and (left.opener or left.either))):
                continue
            rights = self._ends(after)
            if spoken and any(speaks for _, speaks in rights):
                continue
            for right, speaks in rights:
                if speaks != spoken and _alike(left, right):
                    found = _Found(left.items[0].start, right.items[-1].end, left.items + right.items, True)
                    best = found if best is None or found.rank > best.rank else best
        return best

    def _ends(self, at: int) -> list[tuple[Side, bool]]:
        """The sides at token `at` that can end a range, and whether each speaks for itself."""
        if at not in self.ends:
            sides = (side for _, side in self.sentences.sides(at) if self._whole(side))
            self.ends[at] = [(side, self._speaks(side)) for side in sides]
        return self.ends[at]

    # ── Evidence ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def _speaks(self, side: Side) -> bool:
        """Whether a side is an expression whatever stands around it, or by what stands around it."""
        if any(self._broken(item) for item in side.items):
            return False
        return any(self._strong(item, side) for item in side.items) and not self._counts(side.items[-1])

    def _broken(self, item: Item) -> bool:
        """Whether a comma or a stop before a word cuts an item in two: "11 feb, un momento"."""
        return any(
            self.tokens[at].key[0] != "#" and any(sign in _CUTS for sign in self._between(at))
            for at in range(item.start + 1, item.end)
        )

    def _strong(self, item: Item, side: Side) -> bool:
        weak = item.end - item.start == 1 and self.tokens[item.start].key in self.book.words["weak"]
        if weak and len(side.items) == 1 and item.kind != "number" and not self._in_company(item):
            return False
        match item.kind:
            case "clock":
                return not self._unsure(item) or (item.after == "at" and self._free(item.end))
            case "loose":
                beside = _has(side, "part", "half", "day_part")
                return (
                    (item.after == "at" and self._free(item.end))
                    or (beside and not self._unsure(item))
                    or self._told_apart(item)
                )
            case "number":
                return self._hour(item, side)
            case "weekday" | "day_part":
                return True
            case "day":
                return self._day(item, side)
            case "period":
                return self._period(item, side)
            case "vague":
                return item.value.rule in _SPEAKING_VAGUE or self._apart(item)
        return False

    def _hour(self, item: Item, side: Side) -> bool:
        """A number after "at", or beside a part of the day."""
        number: Number = item.value
        if number.hour() is None:
            return False
        return _has(side, "part") or (item.after == "at" and self._free(item.end))

    def _day(self, item: Item, side: Side) -> bool:
        first = self.tokens[item.start].key
        if isinstance(item.value, Instant) and not (item.value.span.minutes or item.value.span.days):
            return False
        if first in self.book.words["weak"] and len(side.items) == 1 and item.end - item.start > 1:
            return not isinstance(item.value, Written) or item.value.readings[0].month is not None
        return self._written(item, side) if isinstance(item.value, Written) else True

    def _written(self, item: Item, side: Side) -> bool:
        written: Written = item.value
        if written.rule:
            return False
        reading = written.readings[0]
        keys = [token.key for token in self.tokens[item.start : item.end]]
        if reading.month is None:
            return self._alone_in_month(item, side, keys)
        if keys == ["#8"]:
            return len(side.items) > 1
        if "/" in keys and keys.count("/") == 1 and reading.year is None and len(keys) == 3:
            small = all(token.value <= 4 for token in self.tokens[item.start : item.end : 2])
            return not small or len(side.items) > 1 or self._in_company(item)
        return True

    def _alone_in_month(self, item: Item, side: Side, keys: list[str]) -> bool:
        """A day of the month by itself: "the 20th", "el 20", "the twentieth"."""
        if len(side.items) > 1 and any(other.kind in ("clock", "weekday", "part") for other in side.items):
            return True
        if not any(key[0] == "#" for key in keys) and item.value.readings[0].day <= 3 and not self._in_company(item):
            return False
        return self._free(item.end)

    def _period(self, item: Item, side: Side) -> bool:
        if not isinstance(item.value, NamedMonth):
            return True
        if item.end - item.start == 1:
            weak = self.tokens[item.start].key in self.book.words["weak"]
            return self._free(item.end) if weak else self._in_company(item) or self._free(item.end)
        return any(token.key[0] != "#" and len(token.key) > 1 for token in self.tokens[item.start : item.end])

    # ── What stands around ───────────────────────────────────────────────────────────────────────────────────────────

    def _labelled(self, at: int) -> bool:
        """Whether the word before makes a label of what begins here: unit 12, calle 5 de Mayo, $20."""
        if not at:
            return False
        before, here = self.tokens[at - 1], self.tokens[at]
        if self._stop_after(at):
            return False
        if before.key in self.labels:
            return here.key[0] == "#" or here.key in self.book.words["weak"]
        if before.key in self.book.words["titles"]:
            return True
        return here.key[0] == "#" and here.glued and before.key not in ("@", "-", "~")

    def _in_company(self, item: Item) -> bool:
        """Whether the word before settles that a weak word is a date: "in May", "on the first"."""
        before = item.start and not self._stop_after(item.start) and self.tokens[item.start - 1].key
        return bool(before) and before in self.book.words["company"]

    def _counts(self, item: Item) -> bool:
        """Whether the last thing on a side is a number that counts or numbers what follows."""
        if item.end >= len(self.tokens) or self._stop_after(item.end):
            return False
        numeric = item.kind in ("number", "loose") or self.tokens[item.end - 1].key[0] == "#"
        following = self.tokens[item.end]
        if following.key in self.counted:
            return numeric or item.kind == "day"
        return numeric and following.glued and following.key not in ("-", "/", ".")

    def _free(self, end: int) -> bool:
        """Whether a number that ends here is followed by nothing that it could count or number."""
        if end >= len(self.tokens) or self._stop_after(end):
            return True
        key = self.tokens[end].key
        if key in self.counted or key[0] in "#?/.":
            return False
        return key in self.book.words["onward"] or bool(self.sentences.items(end) or self.sentences.links(end))

    def _ends_here(self, end: int) -> bool:
        return end >= len(self.tokens) or self._stop_after(end)

    def _apart(self, item: Item) -> bool:
        """Whether vague words that tell a time only by themselves stand between stops."""
        if item.value.rule == "hour_on_day":
            return self._ends_here(item.end)
        begins = item.start == 0 or self._stop_after(item.start)
        return item.value.rule == "apart_length" and begins and self._ends_here(item.end)

    def _told_apart(self, item: Item) -> bool:
        """Whether a spoken clock ("ten forty five") stands between a linking word and a stop."""
        spoken = all(token.key[0] != "#" for token in self.tokens[item.start : item.end])
        linked = item.start > 0 and any(end == item.start for end, _ in self.sentences.links(item.start - 1))
        return spoken and linked and self._ends_here(item.end)

    def _stop_after(self, end: int) -> bool:
        return any(sign in _STOPS for sign in self._between(end))

    def _between(self, at: int) -> str:
        """What stands between token `at` and the one before it."""
        return self.text[self.tokens[at - 1].end : self.tokens[at].start]

    def _unsure(self, item: Item) -> bool:
        """Whether a clock looks like a price or a number: 20.50, 730."""
        keys = {token.key for token in self.tokens[item.start : item.end]}
        return bool(keys & {".", "#3", "#4"}) and isinstance(item.value, Clock) and item.value.form != "said"


def _has(side: Side, *kinds: str) -> bool:
    return any(item.kind in kinds for item in side.items)


def _overfull(side: Side) -> bool:
    """Whether a side holds more than one time of day."""
    hours = sum(item.kind in ("clock", "loose") or item.after == "at" for item in side.items)
    loose = sum(item.kind == "number" and item.after != "at" for item in side.items)
    if _has(side, "half") and (hours or loose):
        return True
    return hours > 1 or loose > 1 or bool(hours and loose and not _has(side, "weekday"))


_PARTS = ("part", "day_part", "half")
_BESIDE = ("part", "weekday")
_LOOSE = ("number", "loose", "year")
_TIMES = ("clock", "loose", "number")
_DAYS = ("day", "weekday", "period", "day_part", "vague")


def _run_kind(item: Item) -> str:
    return "day" if item.kind in _DAYS else "time" if item.kind in (*_TIMES, "half") else ""


def _alike(left: Side, right: Side) -> bool:
    """Whether two sides can be the ends of one range."""
    if _has(left, "vague") or _has(right, "vague"):
        return False
    if _has(left, *_TIMES) and _has(right, *_TIMES):
        return True
    return _has(left, *_DAYS, "number") and _has(right, *_DAYS, "number") and not _has(right, "clock")


def _kind(items: Sequence[Item]) -> Kind:
    side = Side(tuple(items))
    timed = _has(side, "clock", "loose") or (_has(side, "number") and not _has(side, "weekday"))
    if not _has(side, *_DAYS):
        return "time"
    if timed:
        return "datetime"
    named = any(item.kind == "weekday" or isinstance(item.value, Written | NamedMonth) for item in items)
    return "date" if named else "relative"
