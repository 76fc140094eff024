"""One check under way: the reading, what it is held against, and everything found of both in the text.

Also which change the intents wish. Several wishes in one message lead to one change or contradict each other; a contradiction is a
question, never a choice.
"""

from __future__ import annotations

from dataclasses import dataclass

from pipeline.core.calendar import supported_locales
from pipeline.core.checks.context import About, Action, Context, Evidence
from pipeline.core.checks.evidence import (
    Fault,
    Placed,
    claim_faults,
    expressions_of,
    neighbour_faults,
    overlap_faults,
    place,
    place_mentions,
    value_faults,
)
from pipeline.core.checks.roles import Surroundings
from pipeline.core.cues import CueText, Hit
from pipeline.core.reading import Affirmation, Intent, Reading, Referent, Role, Wish

_ACTING = {
    Intent.REQUEST_TOUR: Action.REQUEST,
    Intent.RESCHEDULE_TOUR: Action.RESCHEDULE,
    Intent.CANCEL_TOUR: Action.CANCEL,
    Intent.ACCEPT_OFFER: Action.ACCEPT,
    Intent.DECLINE_OFFER: Action.DECLINE,
    Intent.AFFIRM: Action.CONFIRM,
}
_BY_RECORD = frozenset({Action.ACCEPT, Action.CONFIRM, Action.CANCEL, Action.DECLINE})
_ANSWERS = frozenset({Action.ACCEPT, Action.CONFIRM})

# Several wishes in one message: the one that the others lead to.
_LEADING = {
    frozenset({Action.ACCEPT, Action.DECLINE}): Action.ACCEPT,
    frozenset({Action.ACCEPT, Action.RESCHEDULE}): Action.ACCEPT,
    frozenset({Action.REQUEST, Action.DECLINE}): Action.REQUEST,
    frozenset({Action.RESCHEDULE, Action.DECLINE}): Action.RESCHEDULE,
    frozenset({Action.RESCHEDULE, Action.REQUEST}): Action.RESCHEDULE,
    frozenset({Action.RESCHEDULE, Action.REQUEST, Action.DECLINE}): Action.RESCHEDULE,
}

PLAIN = ("yes", "accept", "may", "meant", "naming", "courtesy", "filler", "harmless")
"""The lists whose words a plain yes is made of."""

Stretch = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Check:
    """`action` is the change wished (None: none, or `torn` between several); `wish` is where its words stand; `wishes` are all
    intents with a place; `faults` is what speaks against the evidence whatever the action."""

    reading: Reading
    context: Context
    cues: CueText
    placed: tuple[Placed, ...]
    around: Surroundings
    action: Action | None
    torn: bool
    wish: Stretch | None
    wishes: tuple[tuple[Wish, Stretch], ...]
    faults: tuple[Fault, ...]

    @classmethod
    def of(cls, reading: Reading, context: Context) -> Check:
        """Find everything once."""
        cues = CueText(context.text)
        placed, faults = place_mentions(reading, context)
        expressions = expressions_of(context.text)
        action, torn = _wished(reading)
        wishes = tuple((w, where) for w in reading.intents if (where := place(context.text, w.span)) is not None)
        acting = [where for wish, where in wishes if acts_as(wish, action)]
        all_faults = [
            *faults,
            *overlap_faults(placed),
            *neighbour_faults(placed, context.text, cues),
            *_wish_faults(reading, action, acting),
            *_pointer_faults(reading, context),
            *value_faults(placed, settled_by_record=action in _BY_RECORD),
            *claim_faults(placed, expressions, cues, reading.language, context),
            *_language_faults(reading, context),
            *_instruction_faults(cues),
            *_hearing_faults(reading, context, placed, wishes),
        ]
        around = Surroundings(cues, placed, expressions)
        wish = acting[0] if acting else None
        return cls(reading, context, cues, placed, around, action, torn, wish, wishes, tuple(all_faults))

    def of_role(self, role: Role) -> list[Placed]:
        """The mentions that the model gave this role."""
        return [one for one in self.placed if one.role is role]

    def sentence(self) -> Stretch:
        """The sentence of the wish, or the whole text where the wish has no place."""
        if self.wish is None:
            return 0, len(self.context.text)
        return self.around.sentence(self.wish[0])[0], self.around.sentence(self.wish[1] - 1)[1]

    def sentence_says(self, *kinds: str) -> bool:
        """Whether a cue of one of the lists stands in the sentence of the wish."""
        return self.around.says(*self.sentence(), *kinds)

    def wish_says(self, *kinds: str) -> bool:
        """Whether a cue of one of the lists stands in the words of the wish themselves."""
        return self.wish is not None and self.around.says(*self.wish, *kinds)

    def opens_with(self, sentence: Stretch, kind: str, *longer: str) -> bool:
        """Whether the first words of a sentence are on a list, and not part of a longer entry of the other lists."""
        start, end = sentence
        opening = end - len(self.context.text[start:end].lstrip(" ,\u00a1\u00bf\"'"))
        return any(hit.kind == kind and hit.start <= opening < hit.end for hit in self.cues.hits(kind, *longer))

    def is_question(self, sentence: Stretch) -> bool:
        """Whether a sentence carries a question mark."""
        start, end = sentence
        return self.context.text[end : end + 1] == "?" or "\u00bf" in self.context.text[start:end]

    def pointer(self) -> Stretch | None:
        """Where the words stand that point at a record."""
        return place(self.context.text, self.reading.refers_to.span)

    def ordinals(self) -> dict[int, Hit]:
        """The places in a list that the words of the wish name: "the second one", but neither "May second" nor "the second floor"."""
        stretches = [where for where in (self.wish, self.pointer()) if where is not None]
        found = {number: hit for where in stretches for number, hit in self.cues.ordinals(*where)}
        return {number: hit for number, hit in found.items() if self._names_a_place(hit)}

    def _names_a_place(self, hit: Hit) -> bool:
        dated = any(one.overlaps(hit.start, hit.end) for one in self.placed)
        following = self.context.text[hit.end :].split(maxsplit=1)
        end = hit.end + self.context.text[hit.end :].find(following[0]) + len(following[0]) if following else hit.end
        word = self.cues.beside(hit.end, end, *PLAIN, "negation")
        return not dated and not any(char.isalnum() for char in word)

    def describes(self, one: Placed) -> bool:
        """Whether a mention says when a record is: it stands in the words that point at it, or beside the word "tour"."""
        if one.role is Role.MOVE_IN or (one.role is Role.OTHER and self.around.excluded(one.start, one.end)):
            return False
        pointer = self.pointer()
        return (pointer is not None and one.overlaps(*pointer)) or self.around.names_a_tour(one.start, one.end)

    def evidence(self, *mentions: Placed) -> tuple[Evidence, ...]:
        """The words that a decision rests on."""
        text = self.context.text
        found = [(str(one.role), one.start, one.end) for one in mentions]
        found += [(str(wish.kind), *where) for wish, where in self.wishes if acts_as(wish, self.action)]
        pointers = (("refers_to", self.reading.refers_to.span), ("affirmation", self.reading.affirmation.span))
        found += [(name, *where) for name, span in pointers if (where := place(text, span)) is not None]
        return tuple(Evidence(role, start, end, text[start:end]) for role, start, end in found)


def acts_as(wish: Wish, action: Action | None) -> bool:
    """Whether this intent is one that wishes the action; taking an offer and saying yes are one answer."""
    acts = _ACTING.get(wish.kind)
    return acts is not None and (acts is action or (acts in _ANSWERS and action in _ANSWERS))


def _wished(reading: Reading) -> tuple[Action | None, bool]:
    """The change that is wished, or None; and whether the wishes contradict each other."""
    wished = {_ACTING[wish.kind] for wish in reading.intents if wish.kind in _ACTING}
    pointed = reading.refers_to.kind
    if wished & _ANSWERS and pointed in (Referent.PROPOSAL, Referent.OFFER):
        wished = wished - _ANSWERS | {Action.CONFIRM if pointed is Referent.PROPOSAL else Action.ACCEPT}
    if wished == {Action.CONFIRM, Action.REQUEST} and reading.affirmation.kind is Affirmation.RESTATED:
        return Action.CONFIRM, False
    if len(wished) > 1:
        wished -= {Action.CONFIRM}
    if wished == {Action.REQUEST, Action.ACCEPT}:
        return (Action.ACCEPT if pointed is Referent.OFFER else Action.REQUEST), False
    if len(wished) == 1:
        return next(iter(wished)), False
    leading = _LEADING.get(frozenset(wished))
    return leading, bool(wished) and leading is None


def _wish_faults(reading: Reading, action: Action | None, acting: list[Stretch]) -> list[Fault]:
    """Intents whose words do not stand in the text (UN-2)."""
    read = [wish for wish in reading.intents if acts_as(wish, action)]
    return [] if len(acting) == len(read) else [Fault(About.RESTATE, "wish_not_in_text")]


def _pointer_faults(reading: Reading, context: Context) -> list[Fault]:
    faults = []
    pointer, yes = reading.refers_to, reading.affirmation
    if pointer.kind is not Referent.NONE and pointer.span.text.strip() and place(context.text, pointer.span) is None:
        faults.append(Fault(About.WHICH, "record_words_not_in_text"))
    if yes.kind is not Affirmation.NONE and place(context.text, yes.span) is None:
        faults.append(Fault(About.RESTATE, "yes_not_in_text"))
    return faults


def _language_faults(reading: Reading, context: Context) -> list[Fault]:
    """A language that Clara carries no tables for is never committed on (UN-8)."""
    known = supported_locales()
    language = reading.language[:2].lower() or context.locale[:2]
    return [] if language in known and context.locale[:2] in known else [Fault(About.RESTATE, "language_not_carried")]


def _instruction_faults(cues: CueText) -> list[Fault]:
    """Words that speak to the machine instead of the office."""
    return [Fault(About.RESTATE, "instruction_words")] if cues.has("instruction") else []


def _hearing_faults(
    reading: Reading, context: Context, placed: tuple[Placed, ...], wishes: tuple[tuple[Wish, Stretch], ...]
) -> list[Fault]:
    """Evidence that the transcriber was unsure of (PR-6)."""
    stretches = [(one.start, one.end) for one in placed] + [where for _, where in wishes]
    for span in (reading.refers_to.span, reading.affirmation.span):
        where = place(context.text, span)
        stretches += [where] if where else []
    doubtful = any(a < end and start < b for a, b in context.low_confidence for start, end in stretches)
    return [Fault(About.RESTATE, "heard_uncertainly")] if doubtful else []
