"""The turn: `decide` up to the commit, `answer` after it; both fit a screen.

Before the commit everything may be thrown away and redone; after it everything must be finished. So `decide` reads a snapshot, asks the model outside of any
transaction, decides purely and commits, and begins again when the world moved. `answer` starts from what the commit stored, and nothing else: whoever finds a
committed turn without its answer (after a crash, on another node) calls it again. Calls use the same two, with the speaker in the place of the outbox.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal, Protocol, cast

from pipeline.compose import Composed, NothingMayLeave, Setting, compose, holding, modes_of, outgoing, verdict_json
from pipeline.core.commands import (
    Commit,
    CommitOutcome,
    Committed,
    Duplicate,
    Refused,
    ReviewSignal,
    Seen,
    Superseded,
    TooLate,
    TraceEvent,
)
from pipeline.core.gate import Passed, Secret, gate
from pipeline.core.optout import also_cancels, label_optout
from pipeline.core.plan import Plan
from pipeline.core.property import Property
from pipeline.core.reading import Reading
from pipeline.core.segments import dump, text_of
from pipeline.core.snapshot import Snapshot
from pipeline.core.templates import FactSource, Templates
from pipeline.core.types import Channel, Ending, Health, Purpose
from pipeline.decide import Decision, Rules, decide, early, form_of, open_record, text_of_trigger
from pipeline.ports import Clock, Database, Drafter, ModelFailure, Reader, ReadRequest
from pipeline.speech import Piece, pieces
from pipeline.store import Payload, PromisedRow, Store, TurnLease

MOST_DECISIONS = 6  # a turn that loses this often against other writers goes to a person


class Wrapper(Protocol):
    """Puts a passed text into its channel's bytes: `text_channels` has one per channel."""

    def wrap(self, row: PromisedRow, passed: Passed, prop: Property, now: datetime) -> Payload: ...


@dataclass(frozen=True, slots=True)
class Decided:
    """What came of one decision: the last snapshot, the decision, and the chokepoint's answer (None where nothing was promised)."""

    snapshot: Snapshot
    decision: Decision
    outcome: CommitOutcome | None


@dataclass(frozen=True, slots=True)
class Engine:
    """What both halves of a turn work with. `wrappers` by channel."""

    db: Database
    store: Store
    reader: Reader
    drafter: Drafter
    templates: Templates
    properties: Mapping[str, Property]
    rules: Rules
    clock: Clock
    wrappers: Mapping[str, Wrapper]

    # --- up to the commit -----------------------------------------------------------------------------------------------------------

    async def decide(
        self, turn: str, *, heard: frozenset[str] = frozenset(), budget: float | None = None
    ) -> Decided:
        """Reads, decides and commits one turn; begins again where the world moved. The model runs under no lock (CK-1)."""
        read: dict[str, Reading | ModelFailure] = {}
        outcome: CommitOutcome | None = None
        for _ in range(MOST_DECISIONS):
            snapshot = await self.db.read(self.store.snapshot, turn)
            prop = self.properties[snapshot.property]
            text = text_of_trigger(snapshot)
            ending = early(snapshot)
            if ending is not None:
                decision = decide(snapshot, ModelFailure("empty", "", False), prop, self.rules)
                if await self._settle(snapshot, decision):
                    return Decided(snapshot, decision, None)
                continue
            opt_out = self._opt_out(snapshot, text, prop)
            events: tuple[TraceEvent, ...] = ()
            if opt_out is None and text not in read:
                started = time.perf_counter()
                read[text] = await self.reader.read(self._read_request(snapshot, text, prop), budget or self.rules.policy.read_budget)
                events = (_read_event(read[text], started),)
            reading = read.get(text) or ModelFailure("empty", "opt-out words act without a reading", False)
            decision = decide(snapshot, reading, prop, self.rules, opt_out=opt_out, heard=heard)
            if decision.command is None:
                if await self._settle(snapshot, decision, events):
                    return Decided(snapshot, decision, None)
                continue
            command = replace(decision.command, trace=(*events, *decision.command.trace, _commit_event(decision.command)))
            outcome = await self.db.transact(self.store.commit, command)
            if isinstance(outcome, Superseded) or (isinstance(outcome, Refused) and outcome.reason != "human_owns"):
                continue
            return Decided(snapshot, decision, outcome)
        review = ReviewSignal("too_many_collisions", "Clara could not settle this message against other changes", time_sensitive=True)
        await self.db.transact(self.store.open_case, turn, review)
        return Decided(snapshot, decision, outcome)

    # --- after the commit -----------------------------------------------------------------------------------------------------------

    async def answer(self, turn: str) -> None:
        """Composes, gates and stores the payload of every promised intent of a committed turn. Safe to call again."""
        for row in await self.db.read(self.store.promised, turn):
            await self._compose_row(row)

    async def fall_back(self, row: PromisedRow) -> bool:
        """The minimal text in the place of a payload that did not get out in time (CO-3); fact-free (CO-4)."""
        prop = self.properties[row.property]
        verdict = holding("fallback", row.locale, self.setting(row, prop), prop, self.templates)
        if verdict.passed is None:
            return False
        packed = self._wrap(row, verdict.passed, prop)
        return await self.db.transact(self.store.fall_back, row.id, packed, verdict_json(verdict))

    async def speech(self, decided: Decided, *, budget: float) -> tuple[Composed, tuple[Piece, ...]]:
        """The gated sentences of a call's turn. Committing turns speak code's sentences alone (DESIGN 6). Raises NothingMayLeave."""
        snapshot, plan = decided.snapshot, decided.decision.plan
        if plan is None:
            raise ValueError("a turn without a plan has nothing to say")
        prop = self.properties[snapshot.property]
        setting = Setting(
            channel="voice",
            audience="prospect",
            purpose=Purpose.ANSWER,
            secrets=tuple(Secret(kind, value) for kind, value in snapshot.secrets),
            before=snapshot.released,
            modes=modes_of(snapshot.modes),
            now=snapshot.now.astimezone(prop.zone),
            tour_state=snapshot.tours[0].state if snapshot.tours else None,
        )
        drafter = None if decided.decision.commits else self.drafter
        composed = await compose(
            plan, setting, prop, self.templates, drafter,
            text=text_of_trigger(snapshot), history=snapshot.history, first_message=snapshot.first_message, budget=budget,
        )  # fmt: skip
        cut = pieces(composed, plan, setting)
        if cut is None:
            raise NothingMayLeave(composed.verdict, composed.passed.text)
        return composed, cut

    def line(self, name: str, locale: str, prop: Property) -> tuple[Piece, ...]:
        """A fixed, fact-free text for a call, gated and cut into sentences. Raises NothingMayLeave where the gate refuses it."""
        source = FactSource(name, prop.id, 0, {"property": prop.name, "phone": prop.public_phone})
        plan = Plan(name, locale, (source,), committing=True, draft=False)
        setting = Setting("voice", "prospect", Purpose.ANSWER, (), (), {}, self.clock.now().astimezone(prop.zone), None)
        segments = self.templates.render(source, locale, spoken=True)
        verdict = gate(outgoing(segments, plan, setting))
        cut = pieces(Composed(verdict.passed, segments, verdict, "code"), plan, setting) if verdict.passed else None
        if cut is None:
            raise NothingMayLeave(verdict, text_of(segments))
        return cut

    async def work(self, lease: TurnLease) -> None:
        """One leased turn of a text channel, to its composed answer."""
        if lease.state == "open":
            decided = await self.decide(lease.turn)
            if isinstance(decided.outcome, TooLate | Refused | Superseded):
                await self.db.transact(self.store.release_turn, lease, None)
                return
        await self.answer(lease.turn)
        await self.db.transact(self.store.release_turn, lease, None)

    # --- parts ------------------------------------------------------------------------------------------------------------------------

    def setting(self, row: PromisedRow, prop: Property) -> Setting:
        """What a promised intent's string is gated against."""
        customer = row.purpose not in (Purpose.STAFF_NOTE, Purpose.CALENDAR)
        return Setting(
            channel=cast(Literal["voice", "sms", "email"], row.channel),
            audience="prospect" if customer else "staff",
            purpose=row.purpose,
            secrets=tuple(Secret(kind, value) for kind, value in row.secrets),
            before=row.released if customer else (),
            modes=modes_of(row.modes),
            now=self.clock.now().astimezone(prop.zone),
            tour_state=row.tour_state,
        )

    async def _compose_row(self, row: PromisedRow) -> None:
        prop = self.properties[row.property]
        plan = Plan.from_json(row.plan)
        setting = self.setting(row, prop)
        customer = setting.audience == "prospect"
        try:
            composed = await compose(
                plan, setting, prop, self.templates, self.drafter, text=row.text, history=row.history,
                first_message=row.first_message and customer, budget=self.rules.policy.draft_budget,
            )  # fmt: skip
        except NothingMayLeave as refusal:
            review = refusal_signal(refusal.refused, verdict_json(refusal.verdict))
            await self.db.transact(self.store.park, row.id, refusal.refused, verdict_json(refusal.verdict), review, None)
            return
        packed = self._wrap(row, composed.passed, prop)
        if composed.refused is not None and composed.refused_verdict is not None:
            found = verdict_json(composed.refused_verdict)
            await self.db.transact(self.store.park, row.id, composed.refused, found, refusal_signal(composed.refused, found), packed)
            return
        await self.db.transact(
            self.store.compose, row.id, packed, dump(composed.segments), verdict_json(composed.verdict) | {"source": composed.source}
        )

    def _wrap(self, row: PromisedRow, passed: Passed, prop: Property) -> Payload:
        return self.wrappers[row.channel].wrap(row, passed, prop, self.clock.now())

    async def _settle(self, snapshot: Snapshot, decision: Decision, events: tuple[TraceEvent, ...] = ()) -> bool:
        """Ends a turn that promises nothing; False where a text joined meanwhile, so that it is decided again."""
        seen = Seen(snapshot.conversation_epoch, snapshot.person_epoch, tuple(row.id for row in snapshot.inbound))
        return await self.db.transact(
            self.store.settle_without_commit, snapshot.turn, decision.ending, Health.HEALTHY, events + decision.trace, seen
        )

    def _opt_out(self, snapshot: Snapshot, text: str, prop: Property) -> str | None:
        """The label of opt-out words, on channels where they mean that (SR-7)."""
        if snapshot.channel == Channel.VOICE or not text:
            return None
        label = label_optout(text, snapshot.locale or prop.locale)
        if label == "revoke" and also_cancels(text):
            return "revoke_or_cancel"
        return label if label in ("revoke", "optin", "help") else None

    def _read_request(self, snapshot: Snapshot, text: str, prop: Property) -> ReadRequest:
        record = open_record(snapshot, prop, self.rules)
        form = form_of(snapshot)
        return ReadRequest(
            text=text,
            channel=snapshot.channel,
            locale=snapshot.locale,
            now=prop.local(snapshot.inbound[-1].received_at).isoformat(timespec="minutes"),
            tz=prop.tz,
            property_name=prop.name,
            open={
                "offers": [{"id": offer.id, "start": _minute(offer.start)} for offer in record.offers],
                "proposals": [
                    {"id": p.id, "start": _minute(p.start), "lineage": p.lineage, "readings": [_minute(r) for r in p.readings]}
                    for p in record.proposals
                ],
                "tours": [{"id": tour.id, "start": _minute(tour.start), "state": tour.state} for tour in record.tours],
            },
            slots=[_minute(wall) for wall in prop.open_slots(snapshot.now, snapshot.taken, days=7)],
            history=snapshot.history,
            form=None
            if form is None
            else {
                "move_in": form.move_in.isoformat() if form.move_in else None,
                "tour_times": [_minute(value) for value in form.tour_times],
            },
        )


def _commit_event(command: Commit) -> TraceEvent:
    """What a commit writes, as a stage; it stands in the trace only where the commit happened (TR-1)."""
    body = {
        "changes": [f"{change.kind} {change.action} v{change.base_version + 1} {change.state}" for change in command.changes],
        "offers": len(command.offers),
        "intents": [intent.purpose for intent in command.intents],
        "ending": command.ending,
        "health": command.health,
    }
    return TraceEvent("commit", "committed", body)


def _minute(wall: datetime) -> str:
    return wall.isoformat(timespec="minutes")


def _read_event(reading: Reading | ModelFailure, started: float) -> TraceEvent:
    took = round((time.perf_counter() - started) * 1000, 1)
    if isinstance(reading, ModelFailure):
        return TraceEvent("reading", reading.kind, {"detail": reading.detail, "ms": took}, personal=True)
    return TraceEvent(
        "reading",
        "read",
        {
            "ms": took,
            "language": reading.language,
            "intents": [{"kind": wish.kind, "span": wish.span.text} for wish in reading.intents],
            "mentions": [
                {"role": m.role, "kind": m.kind, "span": m.span.text, "value": dict(m.value)} for m in reading.mentions
            ],
            "refers_to": {"kind": reading.refers_to.kind, "id": reading.refers_to.id},
            "affirmation": reading.affirmation.kind,
        },
        personal=True,
    )


def refusal_signal(draft: str, verdict: Mapping[str, object]) -> ReviewSignal:
    """What a person is told about a string that the gate refused: the string, and what was found in it (OG-7)."""
    findings = verdict.get("findings")
    listed = tuple(findings) if isinstance(findings, list) else ()
    classes = sorted({str(f["claim_class"]) for f in listed if isinstance(f, dict)})
    return ReviewSignal("gate:" + "+".join(classes), "Clara could not verify what she was about to say", draft, listed)


__all__ = ["Committed", "Decided", "Duplicate", "Ending", "Engine", "Wrapper", "refusal_signal"]
