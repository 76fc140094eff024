"""Decide: from a snapshot and a reading to one command for the chokepoint. Pure, and on one screen.

Order: who owns the thread, automatic mail, opt-out words, a reading that failed, a language without templates, a wish for a person; then the one check of the
reading, and what the domain makes of it. Every branch ends in a `Decision` with exactly one ending (CO-5), and every branch that speaks has a plan.
Before the commit everything here may be thrown away and decided again, with the same ids, on a fresh snapshot.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from typing import Any

from pipeline.core.checks import (
    AutoConfirm,
    Context,
    Decided,
    OnRecord,
    OpenOffer,
    OpenProposal,
    OpenTour,
    Outcome,
    check_reading,
)
from pipeline.core.commands import Commit, NewIntent, ReviewSignal, Seen, TraceEvent
from pipeline.core.lineage import lineage_of
from pipeline.core.plan import Plan
from pipeline.core.property import Property
from pipeline.core.reading import Intent, Reading, Role
from pipeline.core.slots import offer_stands
from pipeline.core.snapshot import Snapshot
from pipeline.core.states import TourState
from pipeline.core.templates import FactSource
from pipeline.core.text import find_span
from pipeline.core.types import Channel, Ending, Form, Health, Purpose
from pipeline.domains.leasing.planning import Desk, Planned, availability, plan, standing
from pipeline.ports import ModelFailure
from pipeline.store import Policy


@dataclass(frozen=True, slots=True)
class Rules:
    """What the deployment fixes for every decision: the offer key, the policy's times, the locales that have templates."""

    offer_key: bytes
    policy: Policy
    locales: frozenset[str]


@dataclass(frozen=True, slots=True)
class Decision:
    """`command` for the chokepoint, or `ending` alone where nothing is promised. `plan` is what is said; calls speak from it."""

    ending: Ending
    plan: Plan | None
    command: Commit | None
    trace: tuple[TraceEvent, ...]

    @property
    def commits(self) -> bool:
        """Whether entities change or a question for a commitment is asked: nothing is spoken before the commit (VO-2)."""
        return self.command is not None and self.plan is not None and self.plan.committing


@dataclass(frozen=True, slots=True)
class _Said:
    """What one branch wants said and changed."""

    planned: Planned
    health: Health = Health.HEALTHY
    review: ReviewSignal | None = None
    draft: bool = True


def early(snapshot: Snapshot) -> Ending | None:
    """Endings that need no reading: a person owns the thread (TX-4), automatic mail (TX-2)."""
    if snapshot.owner == "human":
        return Ending.HUMAN_OWNS
    if all(row.automatic for row in snapshot.inbound):
        return Ending.AUTOMATIC_MAIL
    return None


def text_of_trigger(snapshot: Snapshot) -> str:
    """The new text of the whole burst, oldest first (TX-4)."""
    return "\n".join(row.text for row in snapshot.inbound if row.text and not row.automatic)


def form_of(snapshot: Snapshot) -> Form | None:
    """The structured fields of the newest inbound that has any."""
    for row in reversed(snapshot.inbound):
        if row.form:
            return _form(row.form)
    return None


def open_record(snapshot: Snapshot, prop: Property, rules: Rules) -> OnRecord:
    """What stands open, in local wall times: offers with a good token, proposals that wait, tours."""
    offers = tuple(
        OpenOffer(offer.id, prop.local(offer.starts_at))
        for offer in snapshot.offers
        if offer_stands(
            rules.offer_key, offer.id, snapshot.conversation, offer.starts_at, offer.expires_at, offer.token_digest, snapshot.now
        )
    )
    waiting = tuple(
        OpenProposal(
            row.id, prop.local(row.starts_at), lineage_of(row.lineage), tuple(datetime.fromisoformat(r) for r in row.readings)
        )
        for row in snapshot.proposals
        if row.starts_at is not None
    )
    proposed = tuple(
        OpenProposal(tour.id, prop.local(tour.starts_at), lineage_of(str(tour.body.get("lineage", ""))))
        for tour in snapshot.tours
        if tour.starts_at is not None and tour.state == TourState.PROPOSED
    )
    tours = tuple(
        OpenTour(tour.id, prop.local(tour.starts_at), TourState(tour.state))
        for tour in snapshot.tours
        if tour.starts_at is not None and tour.state == TourState.CONFIRMED
    )
    return OnRecord(offers, waiting + proposed, tours)


def decide(
    snapshot: Snapshot,
    reading: Reading | ModelFailure,
    prop: Property,
    rules: Rules,
    *,
    opt_out: str | None = None,
    heard: frozenset[str] = frozenset(),
) -> Decision:
    """One decision. `opt_out` is the label of opt-out words (SR-7); `heard` are records whose read-back was heard on this call (PR-6)."""
    ending = early(snapshot)
    if ending is not None:
        return Decision(ending, None, None, (TraceEvent("validation", ending, {}),))
    locale = _locale(snapshot, reading, prop, rules)
    desk = Desk(snapshot, prop, locale, rules.offer_key, timedelta(seconds=rules.policy.offer_valid))
    if opt_out is not None:
        return _opt_out(opt_out, snapshot, desk, rules)
    if isinstance(reading, ModelFailure):
        failed = _degraded(desk, f"reading_{reading.kind}", "Clara could not read this message", Health.DEGRADED)
        return _decision(snapshot, desk, rules, failed, None)
    if reading.language[:2].lower() not in rules.locales:
        return _decision(snapshot, desk, rules, _unknown_language(desk, reading.language), None)
    if reading.wants(Intent.HUMAN) or reading.wants(Intent.FRUSTRATION):
        return _decision(snapshot, desk, rules, _wants_person(desk, reading), None)
    context = _context(snapshot, reading, prop, rules, locale, heard)
    decided = check_reading(reading, context)
    desk = replace(desk, said=_visit_words(reading, context.text))
    match decided.decision:
        case Outcome.PROCEED | Outcome.ASK:
            said = _Said(plan(decided, desk))
        case Outcome.REVIEW:
            said = _degraded(desk, "unresolved_after_two_rounds", "Clara could not settle the day and time", Health.DEGRADED)
        case _:
            silent = _nothing_for_the_calendar(desk, reading, decided)
            if silent is None:
                return Decision(Ending.SILENT, None, None, (_validation(decided),))
            said = silent
    if reading.wants(Intent.ACCESS_CODE):
        said = replace(said, planned=_with_lead(said.planned, desk.fact("no_entry_details", prop.id, 0)))
    return _decision(snapshot, desk, rules, said, decided)


# --- branches ---------------------------------------------------------------------------------------------------------------------


def _nothing_for_the_calendar(desk: Desk, reading: Reading, decided: Decided) -> _Said | None:
    """Questions, greetings and closers. None is deliberate silence: a pure closer with nothing pending (DM-5); in doubt, answer."""
    snapshot = desk.snapshot
    kinds = {wish.kind for wish in reading.intents}
    if reading.wants(Intent.ASK_AVAILABILITY):
        return _Said(availability(desk, decided))
    pending = snapshot.offers or snapshot.proposals or snapshot.unsent or any(t.state == TourState.PROPOSED for t in snapshot.tours)
    if kinds and kinds <= {Intent.CLOSER} and not pending and not snapshot.first_message and snapshot.channel != Channel.VOICE:
        return None
    facts = standing(desk)
    if reading.wants(Intent.ACCESS_CODE) and not facts:
        return _Said(Planned("entry_question", (), Ending.ANSWERED, bool(snapshot.tours), snapshot.rounds))
    if reading.wants(Intent.QUESTION):
        unknown = desk.fact("cannot_answer", snapshot.matter, 0)
        return _Said(Planned("question", (unknown, *facts), Ending.ANSWERED, bool(facts), snapshot.rounds))
    if kinds and kinds <= {Intent.CLOSER}:
        closing = facts or (desk.fact("goodbye" if snapshot.channel == Channel.VOICE else "greeting", snapshot.matter, 0),)
        return _Said(Planned("closing", closing, Ending.ANSWERED, bool(facts), snapshot.rounds))
    words = facts or (desk.fact("greeting", snapshot.matter, 0),)
    return _Said(Planned("greeting", words, Ending.ANSWERED, bool(facts), snapshot.rounds))


def _wants_person(desk: Desk, reading: Reading) -> _Said:
    """A wish for a person is met on the first asking (LW-3); nothing is committed on such a turn."""
    human = reading.wants(Intent.HUMAN)
    fact = desk.fact("human_on_the_way", desk.prop.id, 0)
    review = ReviewSignal(
        "human_request" if human else "frustration",
        "The customer asked for a person" if human else "The customer seems upset",
        time_sensitive=True,
    )
    planned = Planned("human_on_the_way", (fact,), Ending.HELD, True, desk.snapshot.rounds)
    return _Said(planned, Health.HEALTHY, review, draft=False)


def _degraded(desk: Desk, signature: str, summary: str, health: Health) -> _Said:
    """A person takes the turn; the customer gets the holding text, once per cause."""
    planned = Planned("holding", (desk.fact("holding", desk.prop.id, 0),), Ending.HELD, True, desk.snapshot.rounds)
    return _Said(planned, health, ReviewSignal(signature, summary, time_sensitive=True), draft=False)


def _unknown_language(desk: Desk, language: str) -> _Said:
    planned = Planned("holding", (desk.fact("holding_bilingual", desk.prop.id, 0),), Ending.HELD, True, desk.snapshot.rounds)
    review = ReviewSignal("language_without_templates", f"A message in a language that Clara does not carry ({language[:8]})")
    return _Said(planned, Health.DEGRADED, review, draft=False)


def _opt_out(label: str, snapshot: Snapshot, desk: Desk, rules: Rules) -> Decision:
    """Opt-out words act first and alone (SR-7). CANCEL and its like may mean a visit as well: a person looks."""
    review = None
    if label == "revoke_or_cancel":
        label = "revoke"
        if snapshot.tours:
            review = ReviewSignal("cancel_word", "A word that stops messages may mean the visit", time_sensitive=True)
    template = {"revoke": "opted_out", "optin": "opted_in", "help": "help"}[label]
    planned = Planned(template, (desk.fact(template, desk.prop.id, 0),), Ending.OPTED_OUT, True, snapshot.rounds)
    if label != "revoke":
        planned = replace(planned, ending=Ending.ANSWERED)
    decision = _decision(snapshot, desk, rules, _Said(planned, review=review, draft=False), None)
    if decision.command is None:
        return decision
    address = (snapshot.channel, snapshot.address)
    intents = tuple(
        replace(intent, purpose=Purpose.OPT_OUT_CONFIRMATION) if intent.customer_facing and label == "revoke" else intent
        for intent in decision.command.intents
    )
    command = replace(
        decision.command,
        intents=intents,
        suppress=address if label == "revoke" else None,
        unsuppress=address if label == "optin" else None,
    )
    return replace(decision, command=command)


# --- from what is said to a command -------------------------------------------------------------------------------------------------


def _decision(snapshot: Snapshot, desk: Desk, rules: Rules, said: _Said, decided: Decided | None) -> Decision:
    planned = said.planned
    facts = planned.facts + _carried(snapshot, planned)
    committing = planned.committing or bool(snapshot.tours or snapshot.proposals)
    allow = tuple(desk.wall(offer.starts_at).isoformat(timespec="minutes") for offer in snapshot.offers)
    state = planned.record_state or (snapshot.tours[0].state if snapshot.tours and not planned.changes else None)
    spoken = Plan(planned.outcome, desk.locale, facts, committing, state, allow, said.draft)
    trace = (_validation(decided), TraceEvent("plan", planned.outcome, {"ending": planned.ending, "committing": committing}))
    command = Commit(
        id=desk.child("commit"),
        turn=snapshot.turn,
        property=snapshot.property,
        channel=snapshot.channel,
        conversation=snapshot.conversation,
        person=snapshot.person,
        seen=Seen(snapshot.conversation_epoch, snapshot.person_epoch, tuple(row.id for row in snapshot.inbound)),
        ending=planned.ending,
        health=said.health,
        changes=planned.changes,
        offers=planned.offers,
        used_offers=planned.used_offers,
        proposals=planned.proposals,
        closed_proposals=planned.closed_proposals,
        intents=_intents(snapshot, desk, rules, spoken, planned),
        matter=snapshot.matter,
        rounds=planned.rounds,
        review=said.review,
        locale=desk.locale,
        trace=trace,
    )
    return Decision(planned.ending, spoken, command, trace)


def _intents(snapshot: Snapshot, desk: Desk, rules: Rules, spoken: Plan, planned: Planned) -> tuple[NewIntent, ...]:
    """One customer-facing message per trigger, in its channel (CO-1); a note to the property's people beside it."""
    intents = []
    now = snapshot.now
    newest = snapshot.inbound[-1]
    if snapshot.channel != Channel.VOICE:
        intents.append(
            NewIntent(
                id=desk.child("answer"),
                purpose=Purpose.ANSWER,
                channel=snapshot.channel,
                sender=snapshot.our_address,
                recipient=snapshot.address,
                locale=desk.locale,
                plan=spoken.to_json(),
                fallback_at=now + timedelta(seconds=rules.policy.fallback),
                expires_at=now + timedelta(hours=24),
                reply_to=newest.message_id,
                references=tuple(row.message_id for row in snapshot.inbound if row.message_id),
                subject=newest.subject,
            )
        )
    elif planned.changes and snapshot.address.startswith("+"):
        after = replace(spoken, outcome="after_call")
        intents.append(
            NewIntent(
                id=desk.child("after_call"),
                purpose=Purpose.AFTER_CALL,
                channel=Channel.SMS,
                sender=desk.prop.numbers.get("sms", snapshot.our_address),
                recipient=snapshot.address,
                locale=desk.locale,
                plan=after.to_json(),
                held=True,
                call=snapshot.call,
                expires_at=now + timedelta(hours=24),
            )
        )
    if planned.note is not None and desk.prop.office_mailbox:
        note = Plan("note", desk.prop.locale, (planned.note,), True, planned.record_state, draft=False)
        intents.append(
            NewIntent(
                id=desk.child("note"),
                purpose=Purpose.STAFF_NOTE,
                channel=Channel.EMAIL,
                sender=desk.prop.mail_address,
                recipient=desk.prop.office_mailbox,
                locale=desk.prop.locale,
                plan=note.to_json(),
                customer_facing=False,
                expires_at=now + timedelta(hours=24),
            )
        )
    return tuple(intents)


def _carried(snapshot: Snapshot, planned: Planned) -> tuple[FactSource, ...]:
    """Facts of unsent answers that this one takes the place of, where their record still stands at that version (TX-4)."""
    touched = {change.entity for change in planned.changes} | {change.replaces for change in planned.changes}
    said = {fact.record for fact in planned.facts}
    current = {(tour.id, tour.version) for tour in snapshot.tours if tour.id not in touched}
    return tuple(
        fact
        for row in snapshot.unsent
        for fact in Plan.from_json(row.plan).facts
        if fact.record not in said and (fact.record, fact.version) in current
    )


def _context(
    snapshot: Snapshot, reading: Reading, prop: Property, rules: Rules, locale: str, heard: frozenset[str]
) -> Context:
    text = text_of_trigger(snapshot)
    doubtful = any(row.low_confidence for row in snapshot.inbound)
    referred = reading.refers_to.id
    return Context(
        text=text,
        ref=prop.local(snapshot.inbound[-1].received_at),
        tz=prop.zone,
        locale=locale,
        channel=Channel(snapshot.channel),
        office_hours=prop.office_hours,
        on_record=open_record(snapshot, prop, rules),
        form=form_of(snapshot),
        bookable=lambda wall: prop.bookable(wall, snapshot.now, snapshot.taken, snapshot.held_slots),
        rounds=snapshot.rounds,
        auto_confirm=AutoConfirm(prop.auto_confirm),
        horizon_days=prop.horizon_days,
        heard=referred if referred in heard else (next(iter(heard)) if len(heard) == 1 else None),
        low_confidence=((0, len(text)),) if doubtful and text else (),
        lineage=lineage_of(_weakest(snapshot)),
    )


def _visit_words(reading: Reading, text: str) -> tuple[str, ...]:
    """The words of the visit that really stand in the new text (UN-2)."""
    visits = (mention.span for mention in reading.mentions if mention.role is Role.VISIT)
    return tuple(span.text for span in visits if find_span(text, span.text) is not None)


def _weakest(snapshot: Snapshot) -> str:
    order = ("prospect_stated", "machine_derived", "machine_derived_override")
    found = [row.lineage if row.lineage in order else order[-1] for row in snapshot.inbound]
    return max(found, key=order.index)


def _locale(snapshot: Snapshot, reading: Reading | ModelFailure, prop: Property, rules: Rules) -> str:
    """Provenance of the reply's language: the message, the form, the conversation, the property (UN-8)."""
    read = reading.language[:2].lower() if isinstance(reading, Reading) else None
    stated = [row.locale for row in reversed(snapshot.inbound)]
    for candidate in (read, *stated, snapshot.locale, prop.locale):
        if candidate and candidate in rules.locales:
            return candidate
    return min(rules.locales)


def _form(data: Mapping[str, Any]) -> Form:
    move_in = data.get("move_in")
    times = data.get("tour_times") or ()
    return Form(date.fromisoformat(move_in) if move_in else None, tuple(datetime.fromisoformat(value) for value in times))


def _with_lead(planned: Planned, fact: FactSource) -> Planned:
    return replace(planned, facts=(fact, *planned.facts))


def _validation(decided: Decided | None) -> TraceEvent:
    if decided is None:
        return TraceEvent("validation", "not_checked", {})
    body = {
        "action": decided.action,
        "about": decided.about,
        "date": decided.date.isoformat() if decided.date else None,
        "time": decided.time.isoformat("minutes") if decided.time else None,
        "record": decided.record,
        "lineage": decided.lineage,
        "state": decided.state,
        "reasons": list(decided.reasons),
        "spans": [span.text for span in decided.spans],
    }
    return TraceEvent("validation", decided.decision, body, personal=True)
