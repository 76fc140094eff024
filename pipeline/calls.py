"""A call's turns and its end, on the pipeline's side: the same `decide` and commit as texts, a speaker in the place of the outbox (VO-2, VO-8).

`stop`, the closed socket and the status callback are three independent signals of one end. `finish` is idempotent: whichever comes first ends the call, and each
releases what waits by then, so that a turn that was committed after the first signal owes its text nonetheless. Who still has turns of the call in hand calls last.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import datetime, timedelta

from pipeline.compose import NothingMayLeave, verdict_json
from pipeline.core.commands import TraceEvent
from pipeline.core.property import Property
from pipeline.core.types import Channel, Ending
from pipeline.loops import OUTBOX
from pipeline.ports import Bus, Ids, Tx
from pipeline.speech import Piece
from pipeline.store import Arrival
from pipeline.turn import Committed, Engine, refusal_signal

TURN_LEASE = 30.0


@dataclass(frozen=True, slots=True)
class CallInfo:
    """A call as its bridge knows it."""

    id: str
    provider_id: str
    property: Property
    address: str
    our_address: str
    withheld: bool


@dataclass(frozen=True, slots=True)
class Spoken:
    """The reply of one utterance: gated sentences, whether a record changed, and the records that they state."""

    turn: str
    pieces: tuple[Piece, ...]
    changes: bool
    read_back: frozenset[str]
    locale: str
    ends_call: bool


@dataclass(frozen=True, slots=True)
class CallDesk:
    """What bridges ask of the pipeline."""

    engine: Engine
    ids: Ids
    bus: Bus
    node: str

    async def utterance(
        self, call: CallInfo, number: int, text: str, low_confidence: bool, heard: frozenset[str], locale: str, budget: float
    ) -> Spoken:
        """One utterance to one gated reply; committed before a word of it exists."""
        engine = self.engine
        now = engine.clock.now()
        arrival = Arrival(
            id=self.ids.new(),
            turn=self.ids.new(),
            conversation=self.ids.new(),
            person=self.ids.new(),
            matter=self.ids.new(),
            provider="call",
            provider_id=f"{call.provider_id}:{number}",
            channel=Channel.VOICE,
            property=call.property.id,
            address=call.address,
            our_address=call.our_address,
            text=text,
            received_at=now,
            # Another worker takes it up only when this node is gone: then the text after the call is all that is left to do.
            due_at=now + timedelta(seconds=2 * TURN_LEASE),
            locale=locale,
            call=call.id,
            low_confidence=low_confidence,
            withheld=call.withheld,
        )
        arrived = await engine.db.transact(engine.store.accept, arrival)
        await engine.db.transact(engine.store.lease_turn, arrived.turn, self.node, TURN_LEASE)
        decided = await engine.decide(arrived.turn, heard=heard, budget=budget)
        decision = decided.decision
        if decision.plan is None:
            return Spoken(arrived.turn, (), False, frozenset(), locale, decision.ending is Ending.SILENT)
        changed = isinstance(decided.outcome, Committed) and decision.command is not None and bool(decision.command.changes)
        said = decision.plan.locale
        if decision.commits and not isinstance(decided.outcome, Committed):
            # Nothing was committed, so nothing of the plan may be said.
            return Spoken(arrived.turn, engine.line("late_line", said, call.property), False, frozenset(), said, False)
        try:
            composed, cut = await engine.speech(decided, budget=budget)
        except NothingMayLeave as refusal:
            found = verdict_json(refusal.verdict)
            trace = (TraceEvent("gate", "refused", found),)
            await engine.db.transact(engine.store.spoken_answer, arrived.turn, found, trace, refusal_signal(refusal.refused, found))
            return Spoken(arrived.turn, engine.line("holding", said, call.property), changed, frozenset(), said, False)
        told = [TraceEvent("compose", composed.source, {"text": composed.passed.text}, personal=True)]
        signal = None
        if composed.refused is not None and composed.refused_verdict is not None:
            found = verdict_json(composed.refused_verdict)
            told.insert(0, TraceEvent("gate", "refused", found))
            signal = refusal_signal(composed.refused, found)
        await engine.db.transact(engine.store.spoken_answer, arrived.turn, verdict_json(composed.verdict), told, signal)
        records = frozenset(fact.record for fact in decision.plan.facts)
        if decision.command is not None:
            records |= {offer.id for offer in decision.command.offers} | {p.id for p in decision.command.proposals}
        return Spoken(arrived.turn, cut, changed, records, said, decision.plan.outcome == "closing")

    async def finish(self, provider_id: str, outcome: str) -> None:
        """The call's end; the text that waited for it is composed and goes its way. Idempotent."""
        engine = self.engine
        fallback_at = engine.clock.now() + timedelta(seconds=engine.rules.policy.fallback)
        turns = await engine.db.transact(self._end, provider_id, outcome, fallback_at)
        await asyncio.gather(*(engine.answer(turn) for turn in turns))
        self.bus.wake(OUTBOX)

    def _end(self, tx: Tx, provider_id: str, outcome: str, fallback_at: datetime) -> list[str]:
        """The end and the release of its text in one transaction: neither is ever seen without the other."""
        call = self.engine.store.call_by_provider_id(tx, provider_id)
        if call is None:
            return []
        self.engine.store.end_call(tx, provider_id, outcome)
        return self.engine.store.release_held(tx, call["id"], fallback_at)
