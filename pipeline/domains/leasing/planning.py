"""What leasing makes of a checked reading: changes, offers, questions and the facts to say. Pure.

The check (`pipeline.core.checks`) has decided *whether* something may happen and on which record; here it becomes commands for the chokepoint and sentences for
the answer. Invariants: a change names the version it was decided on; a window is answered with offers and never with a guess; whoever has a live tour and asks
for another moves it (IN-4); every outcome has at least one sentence made by code.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta

from pipeline.core.calendar import CalendarValue
from pipeline.core.checks import About, Action, Decided, Outcome
from pipeline.core.commands import EntityChange, NewOffer, NewProposal
from pipeline.core.lineage import Lineage
from pipeline.core.property import Property
from pipeline.core.slots import sign_offer, token_digest
from pipeline.core.snapshot import EntityRow, Snapshot
from pipeline.core.states import LIVE_TOUR, TourState
from pipeline.core.templates import FactSource
from pipeline.core.types import Ending
from pipeline.domains.leasing.parts import part_of, within

MOST_OFFERS = 3
NOT_OPEN = frozenset({"not_bookable", "outside_hours", "closed_day", "in_the_past", "beyond_the_horizon", "clock_shifts"})
_DAY_ALONE = frozenset({"no_day", "no_words_for_a_visit"})  # what may speak against a time without its day, and nothing else
PROPOSED_FOR = timedelta(hours=24)  # PR-7
BEFORE_START = timedelta(hours=2)


@dataclass(frozen=True, slots=True)
class Planned:
    """Leasing's part of one turn. `rounds` is the matter's count of questions after it; None closes the matter (UN-7)."""

    outcome: str
    facts: tuple[FactSource, ...]
    ending: Ending
    committing: bool
    rounds: int | None = 0
    changes: tuple[EntityChange, ...] = ()
    offers: tuple[NewOffer, ...] = ()
    used_offers: tuple[str, ...] = ()
    proposals: tuple[NewProposal, ...] = ()
    closed_proposals: tuple[str, ...] = ()
    record_state: str | None = None
    note: FactSource | None = None


@dataclass(frozen=True, slots=True)
class Desk:
    """What planning works with: the snapshot, the property, the key that signs offers and how long they stand.

    `said` are the verified words of the visit that is wished; they narrow what is offered to a part of the day and do nothing else.
    """

    snapshot: Snapshot
    prop: Property
    locale: str
    key: bytes
    offer_valid: timedelta
    said: tuple[str, ...] = ()

    @property
    def now(self) -> datetime:
        return self.snapshot.now

    def child(self, label: str) -> str:
        """An id made from the turn's own: stable when the turn is decided again."""
        return f"{self.snapshot.turn}.{label}"

    def fact(self, template: str, record: str, version: int, **values: object) -> FactSource:
        base = {"property": self.prop.name, "address": self.prop.address, "phone": self.prop.public_phone}
        return FactSource(template, record, version, base | values)

    def live_tour(self) -> EntityRow | None:
        return self.snapshot.tours[0] if self.snapshot.tours else None

    def wall(self, instant: datetime) -> datetime:
        return self.prop.local(instant)

    def bookable(self, wall: datetime) -> bool:
        return self.prop.bookable(wall, self.now, self.snapshot.taken, self.snapshot.held_slots)


def plan(decided: Decided, desk: Desk) -> Planned:
    """Commands and sentences for one decision. `review` and `none` are not leasing's: ValueError."""
    if decided.decision is Outcome.ASK:
        return _instead(_ask(decided, desk), desk)
    if decided.decision is not Outcome.PROCEED or decided.action is None:
        raise ValueError(f"leasing plans nothing for {decided.decision}")
    return _instead(_changed(decided, desk), desk)


def _changed(decided: Decided, desk: Desk) -> Planned:
    match decided.action:
        case Action.DECLINE:
            return Planned("offer_declined", (desk.fact("leasing.declined", desk.snapshot.matter, 0),), Ending.ASKED, True)
        case Action.CANCEL:
            return _cancel(decided, desk)
        case Action.ACCEPT:
            return _accept(decided, desk)
        case Action.CONFIRM:
            return _confirm(decided, desk)
        case _:
            return _stated(decided, desk)


def availability(desk: Desk, decided: Decided | None = None) -> Planned:
    """Offers of the next days, or of the day and hours that the words named (DM-1)."""
    start, end = _window(decided) if decided else (None, None)
    return _instead(_offer(desk, start, end, rounds=desk.snapshot.rounds), desk)


def _instead(planned: Planned, desk: Desk) -> Planned:
    """New offers and changes take the place of all offers before: a bare yes is to what was asked last, "the second" is of a whole list."""
    if planned.offers or planned.changes:
        return replace(planned, used_offers=tuple(offer.id for offer in desk.snapshot.offers))
    return planned


def standing(desk: Desk) -> tuple[FactSource, ...]:
    """What is on record, as sentences: for questions about it."""
    return tuple(
        desk.fact(
            "leasing.tour_stands" if tour.state == TourState.CONFIRMED else "leasing.proposal_waits",
            tour.id,
            tour.version,
            slot=_iso(desk.wall(tour.starts_at)),
        )
        for tour in desk.snapshot.tours
        if tour.starts_at is not None
    )


# --- changes -------------------------------------------------------------------------------------------------------------------


def _stated(decided: Decided, desk: Desk) -> Planned:
    """A request or a move to a day and time that the customer named."""
    if decided.date is None or decided.time is None:
        start, end = _window(decided)
        return _offer(desk, start, end, rounds=desk.snapshot.rounds)
    wall = datetime.combine(decided.date, decided.time)
    if not desk.bookable(wall):
        return _not_open(desk, wall)
    state = decided.state or TourState.PROPOSED
    return _book(desk, wall, state, decided.lineage or Lineage.MACHINE_DERIVED, _words(decided), str(decided.action))


def _accept(decided: Decided, desk: Desk) -> Planned:
    offer = next((offer for offer in desk.snapshot.offers if offer.id == decided.record), None)
    if offer is None:
        return _offer(desk, None, None, rounds=desk.snapshot.rounds)
    wall = desk.wall(offer.starts_at)
    if not desk.bookable(wall):
        return _not_open(desk, wall)
    planned = _book(
        desk, wall, decided.state or TourState.PROPOSED, decided.lineage or Lineage.PROSPECT_STATED, _words(decided), "accept"
    )
    return _with(planned, used_offers=(offer.id,))


def _confirm(decided: Decided, desk: Desk) -> Planned:
    waiting = next((row for row in desk.snapshot.proposals if row.id == decided.record), None)
    if waiting is not None:
        wall = _confirmed_wall(decided, desk, waiting.starts_at)
        if wall is None or not desk.bookable(wall):
            return _offer(desk, None, None, rounds=desk.snapshot.rounds)
        state = decided.state or TourState.PROPOSED
        planned = _book(desk, wall, state, Lineage.PROSPECT_STATED, _words(decided), "request")
        return _with(planned, closed_proposals=(waiting.id,))
    tour = next((row for row in desk.snapshot.tours if row.id == decided.record), None)
    if tour is None or tour.starts_at is None:
        return _offer(desk, None, None, rounds=desk.snapshot.rounds)
    if tour.state == TourState.CONFIRMED:
        return Planned("tour_stands", standing(desk), Ending.ANSWERED, True, record_state=tour.state)
    moved = bool(tour.body.get("moved"))
    if decided.state is TourState.PROPOSED:
        # On a call, a yes before the read-back was heard confirms nothing: it is read back again (PR-6).
        asked = desk.fact("leasing.moved" if moved else "leasing.proposed", tour.id, tour.version, slot=_iso(desk.wall(tour.starts_at)))
        return Planned("tour_proposed", (asked,), Ending.ASKED, True, desk.snapshot.rounds, record_state=TourState.PROPOSED)
    slot = desk.prop.slot_key(tour.starts_at)
    change = EntityChange(
        domain="leasing",
        kind="tour",
        action="confirm",
        entity=tour.id,
        creates=False,
        base_version=tour.version,
        state=TourState.CONFIRMED,
        live=True,
        body=dict(tour.body),
        proposal=_proposal(desk, "confirm", decided.lineage or Lineage.PROSPECT_STATED, _words(decided), slot, tour.starts_at, tour.version),
        starts_at=tour.starts_at,
        ends_at=tour.ends_at,
        slot=slot,
        capacity=desk.prop.capacity,
    )
    facts = (
        desk.fact(
            "leasing.confirmed_moved" if moved else "leasing.confirmed",
            tour.id,
            tour.version + 1,
            slot=_iso(desk.wall(tour.starts_at)),
        ),
    )
    return Planned(
        "tour_confirmed", facts, Ending.ANSWERED, True, None, (change,), record_state=TourState.CONFIRMED,
        note=_note(desk, "confirmed", tour.id, tour.version + 1, desk.wall(tour.starts_at)),
    )  # fmt: skip


def _cancel(decided: Decided, desk: Desk) -> Planned:
    tour = next((row for row in desk.snapshot.tours if row.id == decided.record), None)
    if tour is None or tour.starts_at is None:
        return Planned("ask_which", (desk.fact("leasing.ask_which", desk.snapshot.matter, 0),), Ending.ASKED, True, desk.snapshot.rounds + 1)
    slot = desk.prop.slot_key(tour.starts_at)
    change = EntityChange(
        domain="leasing",
        kind="tour",
        action="cancel",
        entity=tour.id,
        creates=False,
        base_version=tour.version,
        state=TourState.CANCELLED,
        live=False,
        body=dict(tour.body),
        proposal=_proposal(desk, "cancel", decided.lineage or Lineage.PROSPECT_STATED, _words(decided), slot, tour.starts_at, tour.version),
        starts_at=tour.starts_at,
        ends_at=tour.ends_at,
        slot=slot,
        capacity=desk.prop.capacity,
    )
    wall = desk.wall(tour.starts_at)
    facts = (desk.fact("leasing.cancelled", tour.id, tour.version + 1, slot=_iso(wall)),)
    return Planned(
        "tour_cancelled", facts, Ending.ANSWERED, True, None, (change,), note=_note(desk, "cancelled", tour.id, tour.version + 1, wall)
    )


def _book(desk: Desk, wall: datetime, state: TourState, lineage: Lineage, spans: tuple[str, ...], action: str) -> Planned:
    """A tour at a bookable wall time; a live one is superseded by it (CK-4, IN-4)."""
    starts_at = desk.prop.instant(wall)
    if starts_at is None:
        return _not_open(desk, wall)
    before = desk.live_tour()
    if before is not None and before.starts_at == starts_at and (before.state == state or before.state == TourState.CONFIRMED):
        return Planned("tour_stands", standing(desk), Ending.ANSWERED, True, record_state=before.state)
    base = desk.snapshot.head_version
    entity = desk.child("tour")
    slot = desk.prop.slot_key(starts_at)
    key_action = "reschedule" if before is not None else "request"
    change = EntityChange(
        domain="leasing",
        kind="tour",
        action=key_action if action != "accept" else "accept",
        entity=entity,
        creates=True,
        base_version=base,
        state=state,
        live=state in LIVE_TOUR,
        body={"moved": before is not None, "lineage": str(lineage)},
        proposal=_proposal(desk, key_action, lineage, spans, slot, starts_at, base),
        replaces=before.id if before else None,
        starts_at=starts_at,
        ends_at=starts_at + timedelta(minutes=desk.prop.slot_minutes),
        slot=slot,
        capacity=desk.prop.capacity,
        expires_at=min(desk.now + PROPOSED_FOR, starts_at - BEFORE_START) if state == TourState.PROPOSED else None,
    )
    moved = before is not None
    template = {
        (TourState.PROPOSED, False): "leasing.proposed",
        (TourState.PROPOSED, True): "leasing.moved",
        (TourState.CONFIRMED, False): "leasing.confirmed",
        (TourState.CONFIRMED, True): "leasing.confirmed_moved",
    }[state, moved]
    proposed = state == TourState.PROPOSED
    return Planned(
        outcome="tour_proposed" if proposed else "tour_confirmed",
        facts=(desk.fact(template, entity, base + 1, slot=_iso(wall)),),
        ending=Ending.ASKED if proposed else Ending.ANSWERED,
        committing=True,
        rounds=desk.snapshot.rounds if proposed else None,
        changes=(change,),
        record_state=state,
        note=_note(desk, "proposed" if proposed else "confirmed", entity, base + 1, wall),
    )


# --- questions and offers ---------------------------------------------------------------------------------------------------------


def _ask(decided: Decided, desk: Desk) -> Planned:
    rounds = desk.snapshot.rounds + 1
    about = decided.about or About.DATE
    if NOT_OPEN.intersection(decided.reasons) and decided.date and decided.time:
        return _not_open(desk, datetime.combine(decided.date, decided.time))
    if about is About.RESTATE:
        planned = _restate(decided, desk)
        if planned is not None:
            return planned
    if about is About.ROLE:
        return _question(desk, "ask_role", desk.fact("leasing.ask_role", desk.snapshot.matter, 0), rounds)
    if about is About.WHICH and not decided.candidates:
        return _question(desk, "ask_which", desk.fact("leasing.ask_which", desk.snapshot.matter, 0), rounds)
    walls = [wall for wall in map(_wall_of, decided.candidates) if wall is not None]
    if walls and about is About.TIME and not any(map(desk.prop.open_at, walls)):
        return _not_open(desk, walls[0])
    days = sorted({day for day in map(_day_of, decided.candidates) if day is not None})
    if len(walls) == 2:
        fact = desk.fact("leasing.ask_between", desk.snapshot.matter, 0, a=_iso(walls[0]), b=_iso(walls[1]))
        return _question(desk, "ask_between", fact, rounds)
    if len(walls) > 2:
        fact = desk.fact("leasing.ask_slots", desk.snapshot.matter, 0, slots=[_iso(wall) for wall in walls[:6]])
        return _question(desk, "ask_between", fact, rounds)
    if len(days) > 1 and not walls:
        fact = desk.fact("leasing.ask_days", desk.snapshot.matter, 0, days=[day.isoformat() for day in days[:4]])
        return _question(desk, "ask_days", fact, rounds)
    day = decided.date or (days[0] if len(days) == 1 else None)
    if about is About.TIME and day is not None:
        asked = desk.snapshot.rounds if set(decided.reasons) == {"no_time"} else rounds  # times for a day that was named are no doubt about it
        offered = _offer(desk, datetime.combine(day, time.min), datetime.combine(day, time.max), asked)
        if offered.offers:
            return offered
    at = _same_day(decided, desk)
    if at is not None:
        return _offer(desk, at, at, desk.snapshot.rounds) if desk.bookable(at) else _not_open(desk, at)
    if about is About.TIME and day is None:
        return _question(desk, "ask_any_time", desk.fact("leasing.ask_any_time", desk.snapshot.matter, 0), rounds)
    return _question(desk, "ask_day", desk.fact("leasing.ask_any_time", desk.snapshot.matter, 0), rounds)


def _same_day(decided: Decided, desk: Desk) -> datetime | None:
    """A time alone, where all that was offered, or the live tour, lies on one day: it is offered on that day and commits nothing (UN-5)."""
    tours = [tour.starts_at for tour in desk.snapshot.tours if tour.starts_at is not None]
    days = {desk.wall(at).date() for at in [offer.starts_at for offer in desk.snapshot.offers] or tours}
    if decided.time is None or decided.date is not None or len(days) != 1 or set(decided.reasons) - _DAY_ALONE:
        return None
    return datetime.combine(days.pop(), decided.time)


def _restate(decided: Decided, desk: Desk) -> Planned | None:
    """An override waits, durably, for the customer's own words; both readings are named (PR-2)."""
    rounds = desk.snapshot.rounds + 1
    offer = next((offer for offer in desk.snapshot.offers if offer.id == decided.record), None)
    if offer is not None and desk.bookable(desk.wall(offer.starts_at)):
        return _offer(desk, desk.wall(offer.starts_at), desk.wall(offer.starts_at), desk.snapshot.rounds)
    walls = [wall for wall in map(_wall_of, decided.candidates) if wall is not None]
    if not walls and decided.date and decided.time:
        walls = [datetime.combine(decided.date, decided.time)]
    if not walls:
        return None
    already = any(row.id == decided.record for row in desk.snapshot.proposals)
    tour = any(row.id == decided.record for row in desk.snapshot.tours)
    proposals: tuple[NewProposal, ...] = ()
    if not already and not tour:
        override = Lineage.MACHINE_DERIVED_OVERRIDE
        proposals = (
            NewProposal(
                id=desk.child("restate"),
                action="request",
                lineage=str(decided.lineage or override),
                spans=_words(decided),
                fields={},
                status="open",
                starts_at=desk.prop.instant(walls[0]),
                base_version=desk.snapshot.head_version,
                readings=tuple(_iso(wall) for wall in walls),
            ),
        )
    if len(walls) >= 2:
        fact = desk.fact("leasing.ask_between", desk.snapshot.matter, 0, a=_iso(walls[0]), b=_iso(walls[1]))
    else:
        fact = desk.fact("leasing.ask_restate", desk.snapshot.matter, 0, slot=_iso(walls[0]))
    return Planned("ask_restate", (fact,), Ending.ASKED, True, rounds, proposals=proposals)


def _question(desk: Desk, outcome: str, fact: FactSource, rounds: int) -> Planned:
    return Planned(outcome, (fact,), Ending.ASKED, True, rounds)


def _offer(desk: Desk, start: datetime | None, end: datetime | None, rounds: int, lead: tuple[FactSource, ...] = ()) -> Planned:
    """Up to three open slots, inside the window where one was named; each with a signed, expiring token (PR-3)."""
    walls = list(desk.prop.open_slots(desk.now, desk.snapshot.taken, days=14 if start is None else 1, start=start))
    if start is not None and end is not None:
        span = max(1, (end.date() - start.date()).days + 1)
        walls = list(desk.prop.open_slots(desk.now, desk.snapshot.taken, days=min(span, 31), start=start))
        walls = [wall for wall in walls if start <= wall <= end]
    part = None if lead else part_of(desk.said)
    walls = [wall for wall in walls if within(wall, part)] or walls
    chosen = _spread(walls, named=start is not None and end is not None and start.date() == end.date())
    if not chosen:
        return Planned(
            "no_slots", (*lead, desk.fact("leasing.no_slots", desk.snapshot.matter, 0)), Ending.ASKED, True, rounds + 1
        )
    offers = _sign(desk, chosen)
    fact = desk.fact("leasing.offered", desk.snapshot.matter, 0, slots=[_iso(wall) for wall in chosen])
    return Planned("slots_offered", (*lead, fact), Ending.ASKED, True, rounds, offers=offers)


def _not_open(desk: Desk, wall: datetime) -> Planned:
    """The stated time is no slot: say so, and offer that day's open ones, else those of the week after it, else the next."""
    lead = (desk.fact("leasing.not_open", desk.snapshot.matter, 0, slot=_iso(wall)),)
    that_day = desk.prop.open_slots(desk.now, desk.snapshot.taken, days=1, start=wall)
    near = sorted(that_day, key=lambda open_wall: abs(open_wall - wall))[:MOST_OFFERS]
    if near:
        return _offer(desk, min(near), max(near), desk.snapshot.rounds, lead)
    week = datetime.combine(wall.date() + timedelta(days=6), time.max)
    if desk.prop.open_slots(desk.now, desk.snapshot.taken, days=7, start=wall):
        return _offer(desk, datetime.combine(wall.date(), time.min), week, desk.snapshot.rounds, lead)
    return _offer(desk, None, None, desk.snapshot.rounds, lead)


def _sign(desk: Desk, walls: list[datetime]) -> tuple[NewOffer, ...]:
    """The offers of one list stand and fall together, so that "the second one" is the same one for as long as it can be said."""
    starts = [starts_at for starts_at in map(desk.prop.instant, walls) if starts_at is not None]
    expires_at = min(desk.now + desk.offer_valid, max(starts, default=desk.now) - timedelta(minutes=desk.prop.notice_minutes))
    return tuple(_signed(desk, f"offer{number}", starts_at, expires_at) for number, starts_at in enumerate(starts, 1))


def _signed(desk: Desk, name: str, starts_at: datetime, expires_at: datetime) -> NewOffer:
    offer = desk.child(name)
    token = sign_offer(desk.key, offer, desk.snapshot.conversation, starts_at, expires_at)
    return NewOffer(offer, starts_at, expires_at, token_digest(token))


# --- small things -------------------------------------------------------------------------------------------------------------------


def _spread(walls: list[datetime], named: bool) -> list[datetime]:
    """Three of the open slots: spread over the named window, else over the first days."""
    if len(walls) <= MOST_OFFERS:
        return walls
    if named:
        step = (len(walls) - 1) / (MOST_OFFERS - 1)
        return [walls[round(index * step)] for index in range(MOST_OFFERS)]
    firsts: dict[date, datetime] = {}
    for wall in walls:
        firsts.setdefault(wall.date(), wall)
    return sorted(firsts.values())[:MOST_OFFERS]


def _window(decided: Decided) -> tuple[datetime | None, datetime | None]:
    if decided.start is not None and decided.end is not None:
        return decided.start, decided.end
    if decided.date is not None:
        return datetime.combine(decided.date, decided.time or time.min), datetime.combine(decided.date, time.max)
    return None, None


def _wall_of(value: CalendarValue) -> datetime | None:
    if value.date is not None and value.time is not None:
        return datetime.combine(value.date, value.time)
    return value.start if isinstance(value.start, datetime) else None


def _day_of(value: CalendarValue) -> date | None:
    if value.date is not None:
        return value.date
    return value.start if isinstance(value.start, date) and not isinstance(value.start, datetime) else None


def _confirmed_wall(decided: Decided, desk: Desk, starts_at: datetime | None) -> datetime | None:
    if decided.date is not None and decided.time is not None:
        return datetime.combine(decided.date, decided.time)
    return desk.wall(starts_at) if starts_at is not None else None


def _words(decided: Decided) -> tuple[str, ...]:
    return tuple(span.text for span in decided.spans)


def _iso(wall: datetime) -> str:
    return wall.isoformat(timespec="minutes")


def _proposal(
    desk: Desk, action: str, lineage: Lineage, spans: Iterable[str], slot: str | None, starts_at: datetime | None, base: int
) -> NewProposal:
    return NewProposal(
        id=desk.child("proposal"),
        action=action,
        lineage=str(lineage),
        spans=tuple(spans),
        fields={},
        status="committed",
        slot=slot,
        starts_at=starts_at,
        base_version=base,
    )


def _note(desk: Desk, what: str, record: str, version: int, wall: datetime) -> FactSource:
    """The note to the property's people (DM-1); `what` is a key of `leasing.note_*`."""
    return desk.fact(f"leasing.note_{what}", record, version, slot=_iso(wall), who=desk.snapshot.address)


def _with(planned: Planned, *, used_offers: tuple[str, ...] = (), closed_proposals: tuple[str, ...] = ()) -> Planned:
    return Planned(
        planned.outcome, planned.facts, planned.ending, planned.committing, planned.rounds, planned.changes, planned.offers,
        used_offers if planned.changes else (), planned.proposals, closed_proposals, planned.record_state, planned.note,
    )  # fmt: skip
