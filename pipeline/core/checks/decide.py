"""From evidence to decision: what is wished, whether the words carry it, what follows. See the package for the theory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from pipeline.core.calendar import CalendarValue, supported_locales
from pipeline.core.checks.context import (
    MAX_ROUNDS,
    About,
    Action,
    AutoConfirm,
    Context,
    Decided,
    Evidence,
    OpenOffer,
    OpenProposal,
    OpenTour,
    Outcome,
)
from pipeline.core.checks.evidence import (
    Fault,
    Placed,
    claim_faults,
    expressions_of,
    fits,
    overlap_faults,
    place,
    place_mentions,
    value_faults,
)
from pipeline.core.checks.records import pick, starts
from pipeline.core.checks.roles import Surroundings, role_faults
from pipeline.core.checks.slot import Slot, known_open, missing, slot_faults, slot_of, with_form
from pipeline.core.cues import CueText
from pipeline.core.lineage import Lineage, takes_bare_yes, weaker
from pipeline.core.reading import Affirmation, Intent, Reading, Referent, Role, Span, Wish
from pipeline.core.states import LIVE_TOUR, TourState
from pipeline.core.types import Channel

_ACTING = {
    Intent.REQUEST_TOUR: Action.REQUEST,
    Intent.RESCHEDULE_TOUR: Action.RESCHEDULE,
    Intent.CANCEL_TOUR: Action.CANCEL,
    Intent.ACCEPT_OFFER: Action.ACCEPT,
    Intent.DECLINE_OFFER: Action.DECLINE,
    Intent.AFFIRM: Action.CONFIRM,
}
_OPENING = 20  # letters of a sentence in which "but" and its like speak about the sentence before
_BY_RECORD = frozenset({Action.ACCEPT, Action.CONFIRM, Action.CANCEL, Action.DECLINE})

# Several wishes in one message: the one that the others lead to. A pair that is not here, or leads nowhere, is a question.
_LEADING = (
    (frozenset({Action.ACCEPT, Action.DECLINE}), Action.ACCEPT),
    (frozenset({Action.ACCEPT, Action.RESCHEDULE}), Action.ACCEPT),
    (frozenset({Action.REQUEST, Action.DECLINE}), Action.REQUEST),
    (frozenset({Action.RESCHEDULE, Action.DECLINE}), Action.RESCHEDULE),
    (frozenset({Action.RESCHEDULE, Action.REQUEST}), Action.RESCHEDULE),
    (frozenset({Action.RESCHEDULE, Action.REQUEST, Action.DECLINE}), Action.RESCHEDULE),
)


def check_reading(reading: Reading, context: Context) -> Decided:
    """What follows from this reading of this text, here and now. Pure and total."""
    check = _Check.of(reading, context)
    decided = _act(check) if check.action is not None or check.torn else _idle(check)
    return _capped(decided, context)


@dataclass(frozen=True, slots=True)
class _Check:
    """One check under way: the reading, its context, and what was found of both in the text."""

    reading: Reading
    context: Context
    cues: CueText
    placed: tuple[Placed, ...]
    around: Surroundings
    action: Action | None
    torn: bool
    wish: tuple[int, int] | None
    wishes: tuple[tuple[Wish, tuple[int, int]], ...]
    faults: tuple[Fault, ...]

    @classmethod
    def of(cls, reading: Reading, context: Context) -> _Check:
        cues = CueText(context.text)
        placed, faults = place_mentions(reading, context)
        expressions = expressions_of(context.text)
        around = Surroundings(cues, placed, expressions)
        action, torn = _wished(reading)
        acting = [wish for wish in reading.intents if _acts_as(wish, action)]
        wishes = tuple((w, where) for w in reading.intents if (where := place(context.text, w.span)) is not None)
        found = [where for wish, where in wishes if _acts_as(wish, action)]
        spans = [
            *([] if len(found) == len(acting) else [Fault(About.RESTATE, "wish_not_in_text")]),
            *_pointer_faults(reading, context),
        ]
        claims = claim_faults(placed, expressions, cues, reading.language, context)
        values = value_faults(placed, settled_by_record=action in _BY_RECORD)
        return cls(
            reading, context, cues, placed, around, action, torn, found[0] if found else None, wishes,
            (*faults, *overlap_faults(placed), *spans, *values, *claims, *_language_faults(reading, context)),
        )  # fmt: skip

    def of_role(self, role: Role) -> list[Placed]:
        return [one for one in self.placed if one.role is role]

    def sentence(self) -> tuple[int, int]:
        """The sentence of the wish, or the whole text where the wish has no place."""
        if self.wish is None:
            return 0, len(self.context.text)
        return self.around.sentence(self.wish[0])[0], self.around.sentence(self.wish[1] - 1)[1]

    def says(self, *kinds: str) -> bool:
        """Whether a cue of one of the lists stands in the sentence of the wish."""
        return self.around.says(*self.sentence(), *kinds)


def _wished(reading: Reading) -> tuple[Action | None, bool]:
    """The change that is wished, or None; and whether the wishes contradict each other."""
    wished = {_ACTING[wish.kind] for wish in reading.intents if wish.kind in _ACTING}
    if reading.refers_to.kind is Referent.PROPOSAL:
        wished = {Action.CONFIRM if one is Action.ACCEPT else one for one in wished}
        if wished == {Action.CONFIRM, Action.REQUEST} and reading.affirmation.kind is Affirmation.RESTATED:
            wished = {Action.CONFIRM}
    elif Action.CONFIRM in wished and reading.refers_to.kind is Referent.OFFER:
        wished = (wished - {Action.CONFIRM}) | {Action.ACCEPT}
    if len(wished) > 1:
        wished -= {Action.CONFIRM}
    if wished == {Action.REQUEST, Action.ACCEPT}:
        wished = {Action.ACCEPT if reading.refers_to.kind is Referent.OFFER else Action.REQUEST}
    if len(wished) == 1:
        return next(iter(wished)), False
    leading = next((action for pair, action in _LEADING if pair == wished), None)
    return leading, bool(wished) and leading is None


def _acts_as(wish: Wish, action: Action | None) -> bool:
    acts = _ACTING.get(wish.kind)
    if acts is action:
        return acts is not None
    return acts is Action.CONFIRM and action is Action.ACCEPT or acts is Action.ACCEPT and action is Action.CONFIRM


def _pointer_faults(reading: Reading, context: Context) -> list[Fault]:
    faults = []
    pointer, yes = reading.refers_to, reading.affirmation
    if pointer.kind is not Referent.NONE and not _stands(context, pointer.span, empty=True):
        faults.append(Fault(About.WHICH, "record_words_not_in_text"))
    if yes.kind is not Affirmation.NONE and not _stands(context, yes.span, empty=False):
        faults.append(Fault(About.RESTATE, "yes_not_in_text"))
    return faults


def _stands(context: Context, span: Span, empty: bool) -> bool:
    return (empty and not span.text.strip()) or place(context.text, span) is not None


def _language_faults(reading: Reading, context: Context) -> list[Fault]:
    """A language that Clara carries no tables for is never committed on (UN-8)."""
    known = supported_locales()
    language = reading.language[:2].lower() or context.locale[:2]
    return [] if language in known and context.locale[:2] in known else [Fault(About.RESTATE, "language_not_carried")]


# --- nothing asked of the calendar ------------------------------------------------------------------------------------


def _idle(check: _Check) -> Decided:
    """No change is wished: nothing follows, unless a form's own field wishes one or a date stands there without a wish."""
    kinds = {wish.kind for wish in check.reading.intents}
    spoken = kinds - {Intent.OTHER}
    if not spoken and check.context.form and check.context.form.tour_times:
        return _request(check, list(check.faults))
    if not kinds and (check.context.text.strip() or check.placed):
        return _ask([Fault(About.DATE, "no_intent_read"), *check.faults])
    if spoken:
        return Decided(Outcome.NONE, reasons=("nothing_asked_of_the_calendar",))
    refused = [one for one in check.placed if check.around.excluded(one.start, one.end)]
    unread = [fault for fault in check.faults if fault.rule.startswith(("date_", "span_"))]
    if refused or unread or check.of_role(Role.VISIT):
        return _ask([Fault(About.DATE, "date_without_a_wish"), *check.faults])
    return Decided(Outcome.NONE, reasons=("nothing_asked_of_the_calendar",))


# --- one change is wished ---------------------------------------------------------------------------------------------


def _act(check: _Check) -> Decided:
    if check.torn or check.action is None:
        return _ask([Fault(About.RESTATE, "wishes_contradict"), *check.faults])
    general = [*check.faults, *_instruction_faults(check), *_hearing_faults(check)]
    return _PATHS[check.action](check, general)


def _instruction_faults(check: _Check) -> list[Fault]:
    """Words that speak to the machine instead of the office."""
    return [Fault(About.RESTATE, "instruction_words")] if check.cues.has("instruction") else []


def _hearing_faults(check: _Check) -> list[Fault]:
    """Evidence that the transcriber was unsure of (PR-6)."""
    stretches = [(one.start, one.end) for one in check.placed] + [where for _, where in check.wishes]
    for pointer in (check.reading.refers_to.span, check.reading.affirmation.span):
        where = place(check.context.text, pointer)
        stretches += [where] if where else []
    doubtful = any(a < end and start < b for a, b in check.context.low_confidence for start, end in stretches)
    return [Fault(About.RESTATE, "heard_uncertainly")] if doubtful else []


def _request(check: _Check, general: list[Fault]) -> Decided:
    faults = list(general)
    if _wish_says(check, "cancel", "moved", "unwanted"):
        faults.append(Fault(About.RESTATE, "words_wish_something_else"))
    live = _live_tours(check.context)
    if live:
        faults.append(Fault(About.WHICH, "tour_on_record", starts(live)))
    return _first_touch(check, Action.REQUEST, live[0].id if len(live) == 1 else None, faults)


def _reschedule(check: _Check, general: list[Fault]) -> Decided:
    faults = list(general)
    if not check.around.says(0, len(check.context.text), "reschedule"):
        faults.append(Fault(About.RESTATE, "no_words_for_a_move"))
    if _wish_says(check, "cancel", "unwanted") or _negated(check, "reschedule"):
        faults.append(Fault(About.RESTATE, "words_wish_something_else"))
    tour, found = pick(_standing(check.context), check.reading.refers_to, _old_dates(check))
    decided = _first_touch(check, Action.RESCHEDULE, tour.id if tour else None, [*faults, *found])
    if tour is not None and decided.decision is Outcome.PROCEED and _at(decided) == tour.start:
        return _ask([Fault(About.RESTATE, "already_then")], record=tour.id)
    return decided


def _first_touch(check: _Check, action: Action, record: str | None, faults: list[Fault]) -> Decided:
    """A new slot from the customer's words: PROPOSED, or CONFIRMED where all of PR-4 holds."""
    context = check.context
    visits = check.of_role(Role.VISIT)
    slot, composed = slot_of(visits, context.lineage)
    slot, formal = with_form(slot, check.of_role(Role.MOVE_IN), context)
    roles = role_faults(check.around, action, context.ref)
    faults = [*faults, *roles, *composed, *formal, *([] if composed else missing(slot)), *slot_faults(slot, context)]
    faults += _same_as_move_in(slot, check)
    if faults:
        kept = slot if not (roles or composed) else Slot()
        return _ask(faults, record=record, slot=kept)
    hedged = any(check.around.hedged(group) for group in check.around.groups if group.role is Role.VISIT)
    confirmed = not hedged and _auto_confirms(slot, context)
    needs = hedged or slot.at is None or slot.lineage is not Lineage.PROSPECT_STATED
    return Decided(
        Outcome.PROCEED,
        action,
        date=slot.date,
        time=slot.time,
        start=slot.start,
        end=slot.end,
        record=record,
        lineage=slot.lineage,
        state=TourState.CONFIRMED if confirmed else TourState.PROPOSED,
        about=(About.TIME if slot.at is None else About.RESTATE) if needs else None,
        reasons=("hedged",) if hedged else ("same_day",) if confirmed else ("first_touch",),
        spans=_evidence(check, visits),
    )


def _auto_confirms(slot: Slot, context: Context) -> bool:
    """The four conditions of PR-4 and its frame; the consistency checks have passed where this is asked."""
    return (
        slot.at is not None
        and context.channel is not Channel.VOICE
        and context.auto_confirm == AutoConfirm.SAME_DAY
        and slot.at.date() == context.ref.date()
        and slot.lineage is Lineage.PROSPECT_STATED
        and known_open(slot.at, context)
        and (context.bookable is None or context.bookable(slot.at))
    )


def _same_as_move_in(slot: Slot, check: _Check) -> list[Fault]:
    """A visit on the very day of the move-in: the signature of a date read for the wrong role."""
    day = slot.date or (slot.start.date() if slot.start else None)
    if day is None:
        return []
    midnight = datetime.combine(day, datetime.min.time())
    moves = [value for one in check.of_role(Role.MOVE_IN) for value in one.readings if value.date is not None]
    form = check.context.form
    if any(fits(midnight, replace(value, time=None)) for value in moves) or (form and form.move_in == day):
        return [Fault(About.ROLE, "visit_on_move_in_day")]
    return []


def _cancel(check: _Check, general: list[Fault]) -> Decided:
    """Only words that ask for a cancellation cancel (UN-6)."""
    faults = list(general)
    text = len(check.context.text)
    if not _wish_says(check, "cancel"):
        faults.append(Fault(About.RESTATE, "no_words_for_a_cancellation"))
    if check.around.says(0, text, "cancel_not") or check.says("unsure"):
        faults.append(Fault(About.RESTATE, "cancellation_not_wished"))
    described = [one for one in check.placed if _describes(check, one) or one.role is Role.VISIT]
    tour, found = pick(_standing(check.context), check.reading.refers_to, described)
    if faults or found or tour is None:
        return _ask([*faults, *found], record=tour.id if tour else None)
    return _on_record(check, Action.CANCEL, tour, TourState.CANCELLED, check.context.lineage, described)


def _accept(check: _Check, general: list[Fault]) -> Decided:
    """An offered slot is taken: not a first touch (PR-4)."""
    context = check.context
    visits = check.of_role(Role.VISIT)
    described = [*visits, *(one for one in check.of_role(Role.OTHER) if _describes(check, one))]
    ordinals = _ordinals(check)
    standing = [offer for offer in context.on_record.offers if offer.start > context.ref]
    offer, found = pick(context.on_record.offers, check.reading.refers_to, described, ordinals)
    if offer is not None and offer not in standing:
        found.append(Fault(About.WHICH, "offer_has_passed", starts(standing)))
    named = bool(described or ordinals)
    faults = [*general, *_yes_faults(check, "accept", bare=not named)]
    if not named and len(context.on_record.proposals):
        faults.append(Fault(About.WHICH, "yes_to_what", starts([*standing, *context.on_record.proposals])))
    faults += [Fault(About.DATE, "date_excluded") for one in visits if check.around.excluded(one.start, one.end)]
    if faults or found or offer is None:
        return _ask([*found, *faults], record=offer.id if offer else None)
    state = TourState.CONFIRMED if _settles(offer.id, context) else TourState.PROPOSED
    return _on_record(check, Action.ACCEPT, offer, state, context.lineage, visits)


def _decline(check: _Check, general: list[Fault]) -> Decided:
    """An offer or proposal is turned down. It never touches a tour (UN-6)."""
    pointer = check.reading.refers_to
    record = context_id = None
    faults = list(general)
    open_ids = {
        Referent.OFFER: {offer.id for offer in check.context.on_record.offers},
        Referent.PROPOSAL: {proposal.id for proposal in check.context.on_record.proposals},
    }
    if pointer.kind is Referent.TOUR or (pointer.id and pointer.id not in open_ids.get(pointer.kind, set())):
        faults.append(Fault(About.WHICH, "record_unknown"))
    elif pointer.kind is not Referent.NONE and len(open_ids[pointer.kind]) == 1:
        record = context_id = pointer.id or None
    if not _wish_says(check, "decline"):
        faults.append(Fault(About.RESTATE, "no_words_for_a_refusal"))
    if faults:
        return _ask(faults, record=context_id)
    if not any(open_ids.values()):
        return Decided(Outcome.NONE, reasons=("nothing_on_record",))
    return Decided(
        Outcome.PROCEED,
        Action.DECLINE,
        record=record,
        lineage=check.context.lineage,
        reasons=("declined",),
        spans=_evidence(check, ()),
    )


def _confirm(check: _Check, general: list[Fault]) -> Decided:
    """A yes to what Clara proposed: bare or restated, and what it is worth (PR-2, PR-6)."""
    on_record = check.context.on_record
    pending = [tour for tour in _live_tours(check.context) if tour.state is TourState.PROPOSED]
    kind = check.reading.refers_to.kind
    if kind is Referent.NONE:
        kind = _only_kind(check)
    if kind is Referent.OFFER:
        return _accept(check, general)
    if kind is Referent.NONE and not on_record.proposals:
        unsettled = check.placed or any(fault.rule.startswith("date_") for fault in check.faults)
        if not unsettled and not (on_record.offers or pending):
            return Decided(Outcome.NONE, reasons=("nothing_on_record",))
        return _ask([Fault(About.WHICH, "yes_to_what"), *general])
    if kind is Referent.TOUR:
        return _confirm_tour(check, general, pending)
    return _confirm_proposal(check, general)


def _only_kind(check: _Check) -> Referent:
    """What a yes that points at nothing is about: the only thing that waits for an answer, if there is one."""
    on_record = check.context.on_record
    pending = [tour for tour in _live_tours(check.context) if tour.state is TourState.PROPOSED]
    waiting = {
        Referent.OFFER: len(on_record.offers),
        Referent.PROPOSAL: len(on_record.proposals),
        Referent.TOUR: len(pending),
    }
    kinds = [kind for kind, count in waiting.items() if count]
    return kinds[0] if len(kinds) == 1 else Referent.NONE


def _confirm_tour(check: _Check, general: list[Fault], pending: Sequence[OpenTour]) -> Decided:
    """A yes to a PROPOSED tour on record; to a CONFIRMED one it changes nothing."""
    visits = check.of_role(Role.VISIT)
    tours = _live_tours(check.context)
    tour, found = pick(tours, replace(check.reading.refers_to, kind=Referent.TOUR), visits)
    faults = [*general, *found, *_yes_faults(check, "yes", bare=not visits)]
    if faults or tour is None:
        return _ask(faults, record=tour.id if tour else None)
    if tour not in pending:
        return Decided(Outcome.NONE, record=tour.id, reasons=("already_confirmed",))
    state = TourState.CONFIRMED if _settles(tour.id, check.context) else TourState.PROPOSED
    lineage = weaker(tour.lineage, check.context.lineage)
    return _on_record(check, Action.CONFIRM, tour, state, lineage, visits)


def _confirm_proposal(check: _Check, general: list[Fault]) -> Decided:
    context = check.context
    visits = check.of_role(Role.VISIT)
    proposals = context.on_record.proposals
    pointer = replace(check.reading.refers_to, kind=Referent.PROPOSAL)
    proposal, found = pick(proposals, pointer)
    if proposal is None:
        return _ask([*found, *general])
    heard = context.channel is Channel.VOICE and context.heard == proposal.id
    faults = [*general, *_yes_faults(check, "yes", bare=not visits)]
    excluded = [one for one in visits if check.around.excluded(one.start, one.end)]
    faults += [Fault(About.DATE, "date_excluded") for _ in excluded]
    known = tuple(dict.fromkeys((proposal.start, *proposal.readings)))
    meant = [at for at in known if _named_by(at, visits)]
    choices = tuple(CalendarValue(date=at.date(), time=at.time()) for at in known)
    if visits and len(meant) != 1:
        faults.append(
            Fault(About.RESTATE, "restatement_names_no_reading" if not meant else "restatement_open", choices)
        )
    restated = bool(visits) and len(meant) == 1 and any(one.dated for one in visits)
    claimed = check.reading.affirmation.kind
    if claimed is Affirmation.RESTATED and not visits:
        faults.append(Fault(About.RESTATE, "restated_without_the_fact", choices))
    bare = not visits or claimed is not Affirmation.RESTATED or not restated
    if bare and not heard and not takes_bare_yes(proposal.lineage):
        faults.append(Fault(About.RESTATE, "bare_yes_on_override", choices))
        if proposal.bare_yes and not visits and check.says("yes"):
            return replace(_ask(faults, record=proposal.id), decision=Outcome.REVIEW)
    start = meant[0] if len(meant) == 1 else proposal.start
    if start <= context.ref:
        faults.append(Fault(About.DATE, "in_the_past"))
    elif start != proposal.start:
        faults += slot_faults(Slot(start.date(), start.time()), context)
    if faults:
        return _ask(faults, record=proposal.id)
    upgraded = restated or heard
    lineage = weaker(Lineage.PROSPECT_STATED if upgraded else proposal.lineage, context.lineage)
    state = TourState.CONFIRMED if _settles(proposal.id, context) else TourState.PROPOSED
    return _on_record(check, Action.CONFIRM, replace(proposal, start=start), state, lineage, visits)


_PATHS: dict[Action, Callable[[_Check, list[Fault]], Decided]] = {
    Action.REQUEST: _request,
    Action.RESCHEDULE: _reschedule,
    Action.CANCEL: _cancel,
    Action.ACCEPT: _accept,
    Action.DECLINE: _decline,
    Action.CONFIRM: _confirm,
}


# --- shared pieces ----------------------------------------------------------------------------------------------------


def _settles(record: str, context: Context) -> bool:
    """Whether a yes makes it CONFIRMED: on a call only after the read-back was heard to its mark (PR-6)."""
    return context.channel is not Channel.VOICE or context.heard == record


def _yes_faults(check: _Check, kind: str, bare: bool) -> list[Fault]:
    """What speaks against a yes: no word for it, a no, a doubt, a question, or, where it names nothing, a condition."""
    faults = []
    if bare and not (check.wish and check.around.says(*check.wish, kind)):
        faults.append(Fault(About.RESTATE, "no_words_for_a_yes"))
    if not bare and kind == "accept" and not check.says(kind):
        faults.append(Fault(About.RESTATE, "no_words_for_a_yes"))
    stretches = [check.sentence()]
    if bare:
        stretches = _unread_sentences(check)
    for start, end in stretches:
        if check.around.says(start, end, "negation"):
            faults.append(Fault(About.RESTATE, "yes_and_no"))
        if bare and check.around.says(start, _opening(check, start, end), "contrast"):
            faults.append(Fault(About.RESTATE, "yes_but"))
        if check.around.says(start, end, "unsure"):
            faults.append(Fault(About.RESTATE, "yes_perhaps"))
    if _questions(check):
        faults.append(Fault(About.RESTATE, "yes_as_question"))
    return faults


def _opening(check: _Check, start: int, end: int) -> int:
    """How far a condition on the yes is looked for: all through its own sentence, at the opening of any other."""
    own = check.wish is not None and start <= check.wish[0] < end
    return end if own else min(end, start + _OPENING)


def _unread_sentences(check: _Check) -> list[tuple[int, int]]:
    """The sentences of the text that no other intent was read from."""
    others = [where for wish, where in check.wishes if not _acts_as(wish, check.action)]
    found = []
    at = 0
    while at < len(check.context.text):
        start, end = check.around.sentence(at)
        if not any(start <= a < end for a, _ in others):
            found.append((start, end))
        at = end + 1
    return found


def _questions(check: _Check) -> bool:
    """Whether the sentence of the wish asks instead of answering ("is the second one quiet?", "can I take it?" aside)."""
    start, end = check.sentence()
    text = check.context.text
    words = text[start:end].lstrip(" ,\u00a1\u00bf\"'")
    opening = start + len(text[start:end]) - len(words)
    asks = any(hit.start <= opening < hit.end for hit in check.cues.hits("asks", "accept", "yes") if hit.kind == "asks")
    asked = text[end : end + 1] == "?" or "\u00bf" in text[start:end]
    return asks and (asked or check.context.channel is Channel.VOICE)


def _negated(check: _Check, kind: str) -> bool:
    """Whether a no stands right before the words of a wish ("don't move it")."""
    start, end = check.sentence()
    hits = check.cues.hits(kind, "excluded", "harmless")
    wished = [hit for hit in hits if hit.kind == kind and start <= hit.start < end]
    nos = [hit for hit in hits if hit.kind == "excluded"]
    text = check.context.text
    return any(
        0 <= wish.start - no.end
        and len(text[no.end : wish.start].split()) <= 3
        and "," not in text[no.end : wish.start]
        for wish in wished
        for no in nos
    )


def _wish_says(check: _Check, *kinds: str) -> bool:
    return check.wish is not None and check.around.says(*check.wish, *kinds)


def _ordinals(check: _Check) -> tuple[int, ...]:
    """The places in the list that the words of the wish name; ordinals inside a date are part of that date."""
    pointer = place(check.context.text, check.reading.refers_to.span)
    stretches = [where for where in (check.wish, pointer) if where is not None]
    found: dict[int, None] = {}
    for start, end in stretches:
        for number in check.cues.ordinals(start, end):
            found[number] = None
    return tuple(found)


def _old_dates(check: _Check) -> list[Placed]:
    """The dates by which the words describe the tour that is to move."""
    return [one for one in check.of_role(Role.OTHER) if _describes(check, one) or check.around.left_behind(one.start)]


def _describes(check: _Check, one: Placed) -> bool:
    """Whether a mention says when a record is: it stands in the words that point at it, or beside the word "tour"."""
    pointer = place(check.context.text, check.reading.refers_to.span)
    if one.role is Role.MOVE_IN or check.around.excluded(one.start, one.end) and one.role is Role.OTHER:
        return False
    return (pointer is not None and one.overlaps(*pointer)) or check.around.names_a_tour(one.start, one.end)


def _named_by(at: datetime, visits: Sequence[Placed]) -> bool:
    return bool(visits) and all(any(fits(at, value) for value in one.readings) for one in visits)


def _standing(context: Context) -> Sequence[OpenTour] | Sequence[OpenProposal]:
    """What can be moved or cancelled: the tours on record, and only where there is none, proposals that wait for an answer."""
    waiting = [proposal for proposal in context.on_record.proposals if proposal.start > context.ref]
    return _live_tours(context) or waiting


def _live_tours(context: Context) -> list[OpenTour]:
    return [tour for tour in context.on_record.tours if tour.state in LIVE_TOUR and tour.start > context.ref]


def _at(decided: Decided) -> datetime | None:
    return Slot(decided.date, decided.time).at


def _on_record(
    check: _Check,
    action: Action,
    record: OpenOffer | OpenProposal | OpenTour,
    state: TourState,
    lineage: Lineage,
    evidence: Sequence[Placed],
) -> Decided:
    """A commit whose slot is the record's."""
    return Decided(
        Outcome.PROCEED,
        action,
        date=record.start.date(),
        time=record.start.time(),
        record=record.id,
        lineage=lineage,
        state=state,
        reasons=(f"{action}_on_record",),
        spans=_evidence(check, evidence),
    )


def _evidence(check: _Check, mentions: Sequence[Placed]) -> tuple[Evidence, ...]:
    text = check.context.text
    found = [(str(one.role), one.start, one.end) for one in mentions]
    found += [(str(wish.kind), *where) for wish, where in check.wishes if _acts_as(wish, check.action)]
    for name, span in (("refers_to", check.reading.refers_to.span), ("affirmation", check.reading.affirmation.span)):
        where = place(text, span)
        found += [(name, *where)] if where else []
    return tuple(Evidence(role, start, end, text[start:end]) for role, start, end in found)


def _ask(faults: Sequence[Fault], record: str | None = None, slot: Slot | None = None) -> Decided:
    """The question that the first fault leads to, with everything that is certain already."""
    kept = slot or Slot()
    return Decided(
        Outcome.ASK,
        about=faults[0].about,
        date=kept.date,
        time=kept.time,
        start=kept.start,
        end=kept.end,
        record=record,
        reasons=tuple(dict.fromkeys(fault.rule for fault in faults)),
        candidates=next((fault.candidates for fault in faults if fault.candidates), ()),
    )


def _capped(decided: Decided, context: Context) -> Decided:
    """After two questions in one matter a person takes over (UN-7)."""
    if decided.decision is Outcome.ASK and context.rounds >= MAX_ROUNDS:
        return replace(decided, decision=Outcome.REVIEW, reasons=(*decided.reasons, "two_rounds"))
    return decided
