"""From evidence to decision: one path per wished change. See the package for the theory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, time

from pipeline.core.calendar import CalendarValue
from pipeline.core.checks.check import Check
from pipeline.core.checks.context import (
    MAX_ROUNDS,
    About,
    Action,
    AutoConfirm,
    Context,
    Decided,
    OpenOffer,
    OpenProposal,
    OpenTour,
    Outcome,
)
from pipeline.core.checks.evidence import Fault, Placed, fits
from pipeline.core.checks.records import known, pick, starts
from pipeline.core.checks.roles import role_faults
from pipeline.core.checks.slot import Slot, known_open, missing, slot_faults, slot_of, with_form
from pipeline.core.checks.wishes import cancel_faults, negated, request_faults
from pipeline.core.checks.yes import yes_faults
from pipeline.core.lineage import Lineage, takes_bare_yes, weaker
from pipeline.core.reading import Affirmation, Intent, Reading, Referent, Role
from pipeline.core.states import LIVE_TOUR, TourState
from pipeline.core.types import Channel


def check_reading(reading: Reading, context: Context) -> Decided:
    """What follows from this reading of this text, here and now. Pure and total."""
    check = Check.of(reading, context)
    if check.torn:
        decided = _ask([Fault(About.RESTATE, "wishes_contradict"), *check.faults])
    elif check.action is None:
        decided = _idle(check)
    else:
        decided = _PATHS[check.action](check)
    if decided.decision is Outcome.ASK and context.rounds >= MAX_ROUNDS:
        return replace(decided, decision=Outcome.REVIEW, reasons=(*decided.reasons, "two_rounds"))
    return decided


def _idle(check: Check) -> Decided:
    """No change is wished: nothing follows, unless a form's own field wishes one or a date stands there without a wish."""
    kinds = {wish.kind for wish in check.reading.intents}
    spoken = kinds - {Intent.OTHER}
    if not spoken and check.context.form and check.context.form.tour_times:
        return _request(check)
    if not kinds and (check.context.text.strip() or check.placed):
        return _ask([Fault(About.DATE, "no_intent_read"), *check.faults])
    if not spoken:
        refused = any(check.around.excluded(one.start, one.end) for one in check.placed)
        unread = any(fault.rule.startswith(("date_", "span_")) for fault in check.faults)
        if refused or unread or check.of_role(Role.VISIT):
            return _ask([Fault(About.DATE, "date_without_a_wish"), *check.faults])
    asked = _asked_about(check)
    return Decided(
        Outcome.NONE, date=asked.date, time=asked.time, start=asked.start, end=asked.end, reasons=("nothing_asked_of_the_calendar",)
    )


def _asked_about(check: Check) -> Slot:
    """The day and hours of a question for open times, where nothing speaks against them; they commit nothing."""
    slot, faults = slot_of(check.of_role(Role.VISIT), check.context.lineage)
    return Slot() if check.faults or faults or slot_faults(slot, check.context) else slot


# --- a new slot ---------------------------------------------------------------------------------------------------------


def _request(check: Check) -> Decided:
    faults = [*check.faults, *request_faults(check)]
    live = _live_tours(check.context)
    if live:
        faults.append(Fault(About.WHICH, "tour_on_record", starts(live)))
    if not known(check.reading.refers_to, check.context.on_record):
        faults.append(Fault(About.WHICH, "record_unknown"))
    decided = _first_touch(check, Action.REQUEST, live[0].id if len(live) == 1 else None, faults)
    return _as_answer(decided, check) if decided.decision is Outcome.PROCEED else decided


def _as_answer(decided: Decided, check: Check) -> Decided:
    """A request for the very slot that Clara proposed, or offered and the reading points at, answers her: it is no new wish."""
    context, at = check.context, Slot(decided.date, decided.time).at
    for proposal in context.on_record.proposals:
        if at in (proposal.start, *proposal.readings):
            return _answering(decided, Action.CONFIRM, proposal.id, context)
    for offer in context.on_record.offers:
        if at == offer.start and check.reading.refers_to.id == offer.id:
            return _answering(decided, Action.ACCEPT, offer.id, context)
    return decided


def _answering(decided: Decided, action: Action, record: str, context: Context) -> Decided:
    state = _settled(record, context) if decided.about is None else TourState.PROPOSED
    return replace(decided, action=action, record=record, state=state, reasons=(f"{action}_on_record",))


def _reschedule(check: Check) -> Decided:
    faults = list(check.faults)
    if not check.around.says(0, len(check.context.text), "reschedule"):
        faults.append(Fault(About.RESTATE, "no_words_for_a_move"))
    if check.wish_says("cancel", "unwanted") or negated(check, "reschedule"):
        faults.append(Fault(About.RESTATE, "words_wish_something_else"))
    old = [one for one in check.of_role(Role.OTHER) if check.describes(one) or check.around.left_behind(one.start)]
    tour, found = pick(_standing(check.context), check.reading.refers_to, old)
    decided = _first_touch(check, Action.RESCHEDULE, tour.id if tour else None, [*faults, *found])
    if tour is not None and Slot(decided.date, decided.time).at == tour.start:
        return _ask([Fault(About.RESTATE, "already_then")], record=tour.id)
    return decided


def _first_touch(check: Check, action: Action, record: str | None, faults: list[Fault]) -> Decided:
    """A slot in the customer's own words: PROPOSED, or CONFIRMED where all of PR-4 holds."""
    context = check.context
    visits = check.of_role(Role.VISIT)
    slot, composed = slot_of(visits, context.lineage)
    slot, formal = with_form(slot, check.of_role(Role.MOVE_IN), context)
    roles = role_faults(check.around, action, context.ref)
    faults = [*faults, *roles, *composed, *formal, *([] if composed else missing(slot)), *slot_faults(slot, context)]
    faults += _move_in_day_faults(slot, check)
    if faults:
        return _ask(faults, record=record, slot=Slot() if roles or composed else slot)
    hedged = any(check.around.hedged(group) for group in check.around.groups if group.role is Role.VISIT)
    confirmed = not hedged and _auto_confirms(slot, context)
    about = About.RESTATE if hedged or slot.lineage is not Lineage.PROSPECT_STATED else None
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
        about=About.TIME if slot.at is None else about,
        reasons=("hedged",) if hedged else ("same_day",) if confirmed else ("first_touch",),
        spans=check.evidence(*visits),
    )


def _auto_confirms(slot: Slot, context: Context) -> bool:
    """The conditions of PR-4 besides consistency, which has passed where this is asked, and the hedge."""
    return (
        slot.at is not None
        and context.channel is not Channel.VOICE
        and context.auto_confirm == AutoConfirm.SAME_DAY
        and slot.at.date() == context.ref.date()
        and slot.lineage is Lineage.PROSPECT_STATED
        and known_open(slot.at, context)
    )


def _move_in_day_faults(slot: Slot, check: Check) -> list[Fault]:
    """A visit on the very day of the move-in: the signature of a date read for the wrong role."""
    day = slot.date or (slot.start.date() if slot.start else None)
    if day is None:
        return []
    midnight = datetime.combine(day, time.min)
    moves = [value for one in check.of_role(Role.MOVE_IN) for value in one.readings if value.date is not None]
    form = check.context.form
    if any(fits(midnight, replace(value, time=None)) for value in moves) or (form and form.move_in == day):
        return [Fault(About.ROLE, "visit_on_move_in_day")]
    return []


# --- a record that stands open ------------------------------------------------------------------------------------------


def _cancel(check: Check) -> Decided:
    """Only words that ask for a cancellation cancel (UN-6)."""
    faults = [*check.faults, *cancel_faults(check)]
    described = [one for one in check.placed if check.describes(one) or one.role is Role.VISIT]
    tour, found = pick(_standing(check.context), check.reading.refers_to, described)
    if faults or found or tour is None:
        return _ask([*faults, *found], record=tour.id if tour else None)
    return _on_record(check, Action.CANCEL, tour, TourState.CANCELLED, check.context.lineage, described)


def _accept(check: Check) -> Decided:
    """An offered slot is taken: not a first touch (PR-4)."""
    context = check.context
    visits = check.of_role(Role.VISIT)
    described = [*visits, *(one for one in check.of_role(Role.OTHER) if check.describes(one))]
    ordinals = check.ordinals()
    offer, faults = pick(context.on_record.offers, check.reading.refers_to, described, ordinals)
    if offer is not None and offer.start <= context.ref:
        faults.append(Fault(About.WHICH, "offer_has_passed"))
    named = [(one.start, one.end) for one in described] + [(hit.start, hit.end) for hit in ordinals.values()]
    if not named and context.on_record.proposals:
        waiting: list[OpenOffer | OpenProposal] = [*context.on_record.offers, *context.on_record.proposals]
        faults.append(Fault(About.WHICH, "yes_to_what", starts(waiting)))
    faults += [
        *check.faults,
        *yes_faults(check, named, offered=True),
        *role_faults(check.around, Action.ACCEPT, context.ref, described),
    ]
    if faults or offer is None:
        return _ask(faults, record=offer.id if offer else None)
    return _on_record(check, Action.ACCEPT, offer, _settled(offer.id, context), context.lineage, visits)


def _decline(check: Check) -> Decided:
    """An offer or proposal is turned down. It never touches a tour (UN-6)."""
    pointer, on_record = check.reading.refers_to, check.context.on_record
    faults = list(check.faults)
    if pointer.kind is Referent.TOUR or not known(pointer, on_record):
        faults.append(Fault(About.WHICH, "record_unknown"))
    if not check.wish_says("decline"):
        faults.append(Fault(About.RESTATE, "no_words_for_a_refusal"))
    waiting: list[OpenOffer | OpenProposal] = [*on_record.offers, *on_record.proposals]
    faults += [
        Fault(About.DATE, "date_without_a_wish") for one in check.of_role(Role.VISIT) if _is_new(one, check, waiting)
    ]
    if faults:
        return _ask(faults)
    if not waiting:
        return Decided(Outcome.NONE, reasons=("nothing_on_record",))
    record = pointer.id if len(waiting) == 1 and pointer.id else None
    lineage = check.context.lineage
    return Decided(
        Outcome.PROCEED, Action.DECLINE, record=record, lineage=lineage, reasons=("declined",), spans=check.evidence()
    )


def _is_new(one: Placed, check: Check, waiting: Sequence[OpenOffer | OpenProposal]) -> bool:
    """Whether a date in a refusal is neither ruled out nor one of those refused: a wish that the reading did not name."""
    known_date = any(fits(record.start, value) for record in waiting for value in one.readings)
    return not known_date and not check.around.excluded(one.start, one.end)


def _confirm(check: Check) -> Decided:
    """A yes: to an offer, to a proposal, or to a PROPOSED tour. One that points at nothing is about the only thing that waits."""
    kind = check.reading.refers_to.kind
    waiting = _waiting(check.context)
    if kind is Referent.NONE and len(waiting) == 1:
        kind = waiting[0]
    if kind is Referent.OFFER:
        return _accept(check)
    if kind is Referent.PROPOSAL:
        return _confirm_proposal(check)
    if kind is Referent.TOUR:
        return _confirm_tour(check)
    if not waiting and not check.placed and not any(fault.rule.startswith("date_") for fault in check.faults):
        return Decided(Outcome.NONE, reasons=("nothing_on_record",))
    return _ask([Fault(About.WHICH, "yes_to_what"), *check.faults])


def _waiting(context: Context) -> list[Referent]:
    """The sorts of record that wait for a yes."""
    on_record = context.on_record
    proposed = [tour for tour in _live_tours(context) if tour.state is TourState.PROPOSED]
    sorts = ((Referent.OFFER, on_record.offers), (Referent.PROPOSAL, on_record.proposals), (Referent.TOUR, proposed))
    return [kind for kind, records in sorts if records]


def _confirm_tour(check: Check) -> Decided:
    """A yes to a PROPOSED tour on record; to a CONFIRMED one it changes nothing."""
    context = check.context
    visits = check.of_role(Role.VISIT)
    pointer = replace(check.reading.refers_to, kind=Referent.TOUR if check.reading.refers_to.id else Referent.NONE)
    named = [(one.start, one.end) for one in visits]
    tour, faults = pick(_live_tours(context), pointer, visits)
    faults += [*check.faults, *yes_faults(check, named), *role_faults(check.around, Action.CONFIRM, context.ref)]
    if faults or tour is None:
        return _ask(faults, record=tour.id if tour else None)
    if tour.state is not TourState.PROPOSED:
        return Decided(Outcome.NONE, record=tour.id, reasons=("already_confirmed",))
    lineage = weaker(tour.lineage, context.lineage)
    return _on_record(check, Action.CONFIRM, tour, _settled(tour.id, context), lineage, visits)


def _confirm_proposal(check: Check) -> Decided:
    """A yes to a proposal, bare or restated, and what it is worth (PR-2, PR-6)."""
    context = check.context
    visits = check.of_role(Role.VISIT)
    named = [(one.start, one.end) for one in visits]
    proposal, found = pick(context.on_record.proposals, check.reading.refers_to)
    if proposal is None:
        return _ask([*found, *check.faults])
    readings = tuple(dict.fromkeys((proposal.start, *proposal.readings)))
    choices = tuple(CalendarValue(date=at.date(), time=at.time()) for at in readings)
    meant = [at for at in readings if all(any(fits(at, value) for value in one.readings) for one in visits)]
    faults = [*yes_faults(check, named), *role_faults(check.around, Action.CONFIRM, context.ref)]
    if visits and len(meant) != 1:
        faults.append(Fault(About.RESTATE, "restatement_open" if meant else "restatement_names_no_reading", choices))
    claimed = check.reading.affirmation.kind is Affirmation.RESTATED
    if claimed and not visits:
        faults.append(Fault(About.RESTATE, "restated_without_the_fact", choices))
    restated = claimed and len(meant) == 1 and any(one.dated for one in visits)
    heard = context.channel is Channel.VOICE and context.heard == proposal.id
    if not (restated or heard or takes_bare_yes(proposal.lineage)):
        faults.append(Fault(About.RESTATE, "bare_yes_on_override", choices))
        if proposal.bare_yes and not visits:
            return replace(_ask(faults, record=proposal.id), decision=Outcome.REVIEW)
    start = meant[0] if visits and len(meant) == 1 else proposal.start
    if start <= context.ref:
        faults.append(Fault(About.DATE, "in_the_past"))
    elif start != proposal.start:
        faults += slot_faults(Slot(start.date(), start.time()), context)
    faults += check.faults
    if faults:
        return _ask(faults, record=proposal.id)
    lineage = weaker(Lineage.PROSPECT_STATED if restated or heard else proposal.lineage, context.lineage)
    meant_record = replace(proposal, start=start)
    return _on_record(check, Action.CONFIRM, meant_record, _settled(proposal.id, context), lineage, visits)


_PATHS: dict[Action, Callable[[Check], Decided]] = {
    Action.REQUEST: _request,
    Action.RESCHEDULE: _reschedule,
    Action.CANCEL: _cancel,
    Action.ACCEPT: _accept,
    Action.DECLINE: _decline,
    Action.CONFIRM: _confirm,
}


# --- shared pieces ------------------------------------------------------------------------------------------------------


def _settled(record: str, context: Context) -> TourState:
    """What a yes makes of a record: on a call CONFIRMED only after its read-back was heard to the mark (PR-6)."""
    settles = context.channel is not Channel.VOICE or context.heard == record
    return TourState.CONFIRMED if settles else TourState.PROPOSED


def _live_tours(context: Context) -> list[OpenTour]:
    return [tour for tour in context.on_record.tours if tour.state in LIVE_TOUR and tour.start > context.ref]


def _standing(context: Context) -> Sequence[OpenTour] | Sequence[OpenProposal]:
    """What can be moved or cancelled: the tours on record, and only where there is none, proposals that wait for an answer."""
    waiting = [proposal for proposal in context.on_record.proposals if proposal.start > context.ref]
    return _live_tours(context) or waiting


def _on_record(
    check: Check,
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
        spans=check.evidence(*evidence),
    )


def _reasons(fault: Fault) -> tuple[str, ...]:
    return (fault.rule, *(f"calendar.{reason}" for reason in fault.calendar))


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
        reasons=tuple(dict.fromkeys(reason for fault in faults for reason in _reasons(fault))),
        candidates=next((fault.candidates for fault in faults if fault.candidates), ()),
    )
