"""Roles against words: does the text itself say that this date is for a visit?

The incident that this project answers was a move-in date booked as a tour. So each role that the model claims is held against
the cue words around it: what verb governs the date ("tour", "move in", "work late"), what stands right before it ("not",
"instead of", "from") and right after it ("doesn't work", "or later"). Cues can only add a question; no cue gives a date a role.

Invariants: a cue inside a date expression or inside a mention is part of that date and governs nothing; a cue governs within its
sentence; a move-in cue is used up by the first date after it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from pipeline.core.calendar import Expression
from pipeline.core.checks.context import About, Action
from pipeline.core.checks.evidence import Fault, Placed, day_of
from pipeline.core.cues import CueText, Hit
from pipeline.core.reading import Role

_GOVERNING = ("visit", "move_in", "passing")
_REACH = 60  # letters within which "right before" and "right after" are looked for
_MASKS = ("visit", "move_in", "reschedule", "harmless")


@dataclass(frozen=True, slots=True)
class Group:
    """Mentions of one role that stand together: "Friday" and "at 3" are one wish. The bounds leave out articles and the like."""

    role: Role
    members: tuple[Placed, ...]
    start: int
    end: int


class Surroundings:
    """The cue words around the dates of one text."""

    def __init__(self, cues: CueText, placed: tuple[Placed, ...], expressions: tuple[Expression, ...]) -> None:
        self._cues = cues
        self._outside: dict[tuple[str, ...], list[Hit]] = {}
        stretches = [(one.start, one.end) for one in placed if one.found.status != "none"]
        stretches += [(e.start, e.end) for e in expressions]
        self._zones = [cues.core(a, b, "filler") for a, b in stretches]
        self._breaks = [at for at in cues.breaks() if not self._inside(at, at + 1)]
        self._governing = self._governors()
        self.groups = self._grouped(placed)

    def sentence(self, at: int) -> tuple[int, int]:
        """Bounds of the sentence around an offset."""
        following = bisect_left(self._breaks, at)
        start = self._breaks[following - 1] + 1 if following else 0
        end = self._breaks[following] if following < len(self._breaks) else len(self._cues.text)
        return start, end

    def says(self, start: int, end: int, *kinds: str) -> bool:
        """Whether a cue of one of the lists, outside of any date and not part of a harmless phrase, touches the stretch."""
        return any(hit.kind in kinds and hit.start < end and start < hit.end for hit in self._free(*kinds, "harmless"))

    def spoken(self, kind: str, start: int, end: int) -> list[Hit]:
        """The cues of a list inside the stretch, outside of any date and not part of a harmless phrase."""
        return [
            hit for hit in self._free(kind, "harmless") if hit.kind == kind and start <= hit.start and hit.end <= end
        ]

    def governed_by(self, start: int, end: int) -> str | None:
        """The list of the cue that says what the date in this stretch is for; None where no word does."""
        after = self._next(end, self._governing, 3)
        if after is not None and after.kind == "move_in" and not self._starts_a_date(after.end):
            return "move_in"
        for hit in reversed([h for h in self._governing if h.end <= start]):
            if not self._same_sentence(hit.end, start):
                break
            if hit.kind == "visit" or (hit.kind == "move_in" and self._unused(hit.end, start)):
                return hit.kind
            if (
                hit.kind == "passing"
                and self._same_clause(hit.end, start)
                and "," not in self._cues.text[hit.end : start]
            ):
                return hit.kind
        for hit in (h for h in self._governing if h.start >= end):
            if (
                self._same_sentence(end, hit.start)
                and self._same_clause(end, hit.start)
                and self._unused(end, hit.start)
            ):
                return hit.kind
            break
        return None

    def excluded(self, start: int, end: int) -> bool:
        """Whether the words around say that this is not the date wished."""
        return (
            self._before(start, 3, "excluded")
            or self._before(start, 0, "replaced")
            or self._after(end, 1, "negated_after")
            or self._after(end, 2, "corrected_after", commas=True)
            or self._excluded_by_neighbour(start)
        )

    def left_behind(self, start: int) -> bool:
        """Whether a word right before says that this date is moved away from."""
        return self._before(start, 0, "left", "replaced", fillers=False)

    def aimed_at(self, start: int) -> bool:
        """Whether a word right before says that something is moved to this date."""
        return self._before(start, 0, "target", fillers=True)

    def names_a_tour(self, start: int, end: int) -> bool:
        """Whether the words say that a tour on record stands on this date ("my Thursday tour", "la visita del martes")."""
        return self._after(end, 0, "tour") or self._before(start, 0, "tour_of")

    def limits(self, start: int, end: int) -> bool:
        """Whether the date is a piece of something longer, a limit, or one of two ("after", "next", "or later")."""
        return self._before(start, 0, "bound_before") or self._after(end, 0, "bound_after")

    def hedged(self, group: Group) -> bool:
        """Whether the wish is about or maybe (PR-4)."""
        start, end = self.sentence(group.start)
        unsure = any(start <= hit.start < end for hit in self._cues.hits("unsure", "harmless") if hit.kind == "unsure")
        inside = self._cues.has("approximate", group.start, group.end)
        return (
            unsure or inside or self._before(group.start, 0, "approximate") or self._after(group.end, 0, "approximate")
        )

    def _free(self, *kinds: str) -> list[Hit]:
        if kinds not in self._outside:
            hits = self._cues.hits(*kinds)
            self._outside[kinds] = [hit for hit in hits if not self._inside(hit.start, hit.end)]
        return self._outside[kinds]

    def _governors(self) -> list[Hit]:
        """The cues that say what a date is for. "Need to move" says nothing of moving in where it goes on "my tour"."""
        hits = self._free(*_GOVERNING, "reschedule", "moved")
        moves = [hit for hit in hits if hit.kind in ("reschedule", "moved")]
        return [
            Hit(hit.start, hit.end, "visit" if hit.kind == "moved" else hit.kind)
            for hit in hits
            if hit.kind != "reschedule"
            and not any(hit.kind == "move_in" and hit.start < move.end and move.start < hit.end for move in moves)
        ]

    def _inside(self, start: int, end: int) -> bool:
        return any(a <= start and end <= b for a, b in self._zones)

    def _starts_a_date(self, at: int) -> bool:
        return any(a >= at and self._words(at, a) <= 3 and self._same_sentence(at, a) for a, _ in self._zones)

    def _unused(self, at: int, start: int) -> bool:
        between = any(at <= a and b <= start for a, b in self._zones)
        return not between and self._same_clause(at, start)

    def _same_sentence(self, at: int, start: int) -> bool:
        following = bisect_left(self._breaks, at)
        return following == len(self._breaks) or self._breaks[following] >= start

    def _same_clause(self, at: int, start: int) -> bool:
        return not any(at <= hit.start and hit.end <= start for hit in self._free("clause"))

    def _words(self, start: int, end: int) -> int:
        return len(self._cues.text[start:end].split())

    def _next(self, end: int, hits: list[Hit], words: int) -> Hit | None:
        for hit in hits:
            if hit.start >= end:
                near = self._near(end, hit.start, words) and self._unused(end, hit.start)
                return hit if near and self._same_clause(end, hit.start) else None
        return None

    def _near(self, start: int, end: int, words: int, commas: bool = False) -> bool:
        between = self._cues.text[start:end]
        return (
            self._same_sentence(start, end)
            and self._words(start, end) <= words
            and (commas or not any(mark in between for mark in ",()"))
            and not any(start <= a and b <= end for a, b in self._zones)
        )

    def _before(self, start: int, words: int, *kinds: str, fillers: bool = True) -> bool:
        for hit in self._free(*kinds, *_MASKS):
            if hit.kind not in kinds or not start - _REACH <= hit.end <= start:
                continue
            if self._near(hit.end, start, words):
                return True
            if fillers and self._near(hit.end, start, 3) and not self._cues.beside(hit.end, start, "filler"):
                return True
        return False

    def _after(self, end: int, words: int, *kinds: str, commas: bool = False) -> bool:
        return any(
            hit.kind in kinds and end <= hit.start <= end + _REACH and self._near(end, hit.start, words, commas)
            for hit in self._free(*kinds, "harmless")
        )

    def _excluded_by_neighbour(self, start: int) -> bool:
        """ "Not Thursday or Friday": what is said of the first is said of the second."""
        for a, b in self._zones:
            if b > start or not self._cues.has("join", b, start) or self._cues.beside(b, start, "join", "filler"):
                continue
            marked = any(mark in self._cues.text[b:start] for mark in ",.")
            return not marked and (self._before(a, 3, "excluded") or self._before(a, 0, "replaced"))
        return False

    def _grouped(self, placed: tuple[Placed, ...]) -> tuple[Group, ...]:
        groups: list[Group] = []
        for one in placed:
            last = groups[-1] if groups else None
            start, end = self._cues.core(one.start, one.end, "filler")
            if last and last.role is one.role and self._adjoins(last.end, start):
                groups[-1] = Group(one.role, (*last.members, one), last.start, max(last.end, end))
            else:
                groups.append(Group(one.role, (one,), start, end))
        return tuple(groups)

    def _adjoins(self, end: int, start: int) -> bool:
        return start <= end or (self._same_sentence(end, start) and not self._cues.beside(end, start, "filler"))


def role_faults(around: Surroundings, action: Action, ref: datetime, described: Sequence[Placed] = ()) -> list[Fault]:
    """What the words say against the roles that the model gave (UN-5). `described` are mentions that tell a record by its date."""
    faults = [
        fault for group in around.groups if group.role is Role.VISIT for fault in _visit_faults(around, group, action)
    ]
    for group in around.groups:
        if group.role is Role.MOVE_IN:
            governing = around.governed_by(group.start, group.end)
            if governing == "visit" or (action is Action.RESCHEDULE and governing != "move_in"):
                faults.append(Fault(About.ROLE, "visit_words_beside_move_in"))
        elif group.role is Role.OTHER and not (group.members[0] in described or _explained(around, group, action, ref)):
            faults.append(Fault(About.ROLE, "visit_words_beside_other"))
    return faults


def _visit_faults(around: Surroundings, group: Group, action: Action) -> list[Fault]:
    faults = []
    if around.excluded(group.start, group.end):
        faults.append(Fault(About.DATE, "date_excluded"))
    governing = around.governed_by(group.start, group.end)
    if governing == "move_in" and any(one.dated for one in group.members):
        faults.append(Fault(About.ROLE, "move_in_words_beside_visit"))
    if governing == "passing":
        faults.append(Fault(About.ROLE, "passing_words_beside_visit"))
    for one in group.members:
        if one.found.value is not None and one.found.value.start is not None:
            continue
        if around.limits(one.start, one.end):
            faults.append(Fault(About.DATE if one.dated else About.TIME, "limit_or_piece"))
    if action is Action.RESCHEDULE and (around.names_a_tour(group.start, group.end) or around.left_behind(group.start)):
        faults.append(Fault(About.ROLE, "old_date_as_new"))
    return faults


def _explained(around: Surroundings, group: Group, action: Action, ref: datetime) -> bool:
    """Whether the words say why a date is *not* the one of the visit."""
    start, end = group.start, group.end
    if action is Action.RESCHEDULE and around.aimed_at(start) and not around.excluded(start, end):
        return False
    if around.excluded(start, end) or around.names_a_tour(start, end):
        return True
    if action is Action.RESCHEDULE and around.left_behind(start):
        return True
    if all(_past(one, ref) for one in group.members):
        return True
    return around.governed_by(start, end) != "visit"


def _past(one: Placed, ref: datetime) -> bool:
    days = [day_of(value) for value in one.readings]
    return bool(days) and all(day is not None and day < ref.date() for day in days)
