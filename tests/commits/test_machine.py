"""Any sequence of texts, calls, bookings, moves, cancellations, repeats and stale decisions leaves a database that keeps its promises.

CLARA_TEST_EFFORT multiplies the number of sequences that are tried.
"""

from __future__ import annotations

import os
from datetime import datetime
from typing import ClassVar

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    invariant,
    multiple,
    rule,
    run_state_machine_as_test,
)

from pipeline.core.commands import Commit, CommitOutcome, Committed, Refused, Superseded, TooLate
from pipeline.core.snapshot import Snapshot
from storage.tables import entity, intent, proposal, slot_hold, trace_event, turn
from tests.support.databases import Books, empty

PEOPLE = ("+13125550201", "+13125550202", "+13125550203")
SLOTS = {1: 1, 2: 2}  # hours from the start: seats
HOUR = 3600.0


class Chokepoint(RuleBasedStateMachine):
    """Compares each outcome with a model of epochs, tours and seats that knows nothing of SQL."""

    turns = Bundle("turns")
    views = Bundle("views")
    commands = Bundle("commands")

    url: ClassVar[str]

    def __init__(self) -> None:
        super().__init__()
        self.books = Books.open(empty(self.url))
        self.epochs: dict[str, int] = {}
        self.moves: dict[str, int] = {}
        self.open: set[str] = set()
        self.tours: dict[str, int] = {}  # person: hour
        self.answers: dict[str, CommitOutcome] = {}

    @rule(target=turns, who=st.sampled_from(PEOPLE), voice=st.booleans())
    def arrive(self, who: str, voice: bool) -> str:
        """A text, or something said on this person's call."""
        how = {"channel": "voice", "call": f"call-{who}"} if voice else {}
        arrived = self.books.arrive(address=who, **how)
        self.epochs[arrived.conversation] = self.epochs.get(arrived.conversation, 0) + 1
        assert arrived.joined == (arrived.turn in self.open)
        self.open.add(arrived.turn)
        return arrived.turn

    @rule(target=views, turn=turns)
    def look(self, turn: str) -> Snapshot:
        """A snapshot, to be decided on now or much later."""
        seen = self.books.look(turn)
        assert seen.conversation_epoch == self.epochs[seen.conversation]
        assert seen.person_epoch == self.moves.get(str(seen.person), 0)
        assert len(seen.tours) == (str(seen.person) in self.tours)
        return seen

    @rule(target=commands, seen=views, hour=st.sampled_from(sorted(SLOTS)))
    def book(self, seen: Snapshot, hour: int) -> Commit:
        """A new tour."""
        change = self.books.request(seen, self.at(hour), capacity=SLOTS[hour])
        return self.decide(seen, self.books.command(seen, changes=(change,)), hour, needs_tour=False)

    @rule(target=commands, seen=views, hour=st.sampled_from(sorted(SLOTS)))
    def reschedule(self, seen: Snapshot, hour: int) -> Commit:
        """Another time for the tour that was there when the decision began."""
        if not seen.tours:
            return multiple()  # type: ignore[return-value]
        change = self.books.move(seen, self.at(hour), capacity=SLOTS[hour])
        return self.decide(seen, self.books.command(seen, changes=(change,)), hour, needs_tour=True)

    @rule(target=commands, seen=views)
    def cancel(self, seen: Snapshot) -> Commit:
        """The end of that tour."""
        if not seen.tours:
            return multiple()  # type: ignore[return-value]
        change = self.books.turn_into(seen, "CANCELLED")
        return self.decide(seen, self.books.command(seen, changes=(change,)), None, needs_tour=True)

    @rule(command=commands)
    def repeat(self, command: Commit) -> None:
        """The same command once more, as after a lost connection."""
        before = len(self.books.rows(trace_event))
        again = self.books.commit(command)
        assert again == self.answers.get(command.id) or not isinstance(again, Committed)
        assert len(self.books.rows(trace_event)) == before

    @rule(turn=consumes(turns))
    def deliver(self, turn: str) -> None:
        """The answer is composed and sent, where it still may."""
        for row in self.books.run(self.books.store.promised, turn):
            self.books.compose(row.id)
        for lease in self.books.run(self.books.store.lease_intents, "node", 1, 30.0):
            assert self.books.run(self.books.store.begin_attempt, lease, self.books.new("attempt")) is not None

    def at(self, hour: int) -> datetime:
        return self.books.at(hour * HOUR)

    def decide(self, seen: Snapshot, command: Commit, hour: int | None, *, needs_tour: bool) -> Commit:
        """Commits and compares with what the model expects."""
        outcome = self.books.commit(command)
        who = str(seen.person)
        if self.epochs[seen.conversation] != seen.conversation_epoch:
            if command.id in self.answers and self.answers[command.id] == outcome:
                return command
            assert isinstance(outcome, TooLate), outcome
        elif seen.turn not in self.open:
            assert isinstance(outcome, TooLate), outcome
        elif self.moves.get(who, 0) != seen.person_epoch:
            assert isinstance(outcome, Superseded), outcome
        elif not needs_tour and who in self.tours:
            assert outcome == Refused("illegal_transition", "another tour is live"), outcome
        elif hour is not None and self.full(hour, but=who):
            assert isinstance(outcome, Refused) and outcome.reason == "slot_taken", outcome
        else:
            assert isinstance(outcome, Committed), outcome
            self.epochs[seen.conversation] += 1
            self.moves[who] = self.moves.get(who, 0) + 1
            self.open.discard(seen.turn)
            self.answers[command.id] = outcome
            self.tours.pop(who, None)
            if hour is not None:
                self.tours[who] = hour
        return command

    def full(self, hour: int, but: str) -> bool:
        return sum(1 for who, taken in self.tours.items() if taken == hour and who != but) >= SLOTS[hour]

    @invariant()
    def seats_and_tours_agree(self) -> None:
        """One live tour per person, one seat per live tour, no seat beyond the capacity, and all as the model says (IN-4, CK-6)."""
        live = self.books.rows(entity, live=True)
        assert {row["person"]: row["starts_at"] for row in live} == {
            who: self.at(hour) for who, hour in self.tours.items()
        }
        assert len(live) == len(self.tours)
        seats = self.books.rows(slot_hold)
        assert sorted(row["entity"] for row in seats) == sorted(row["id"] for row in live)
        for hour, capacity in SLOTS.items():
            assert all(row["seat"] < capacity for row in seats if row["starts_at"] == self.at(hour))

    @invariant()
    def keys_and_versions_are_unique(self) -> None:
        """No key twice, no version of a person's chain twice, every committed turn with one ending and its trace (CK-3, IN-13)."""
        committed = self.books.rows(proposal, status="committed")
        for key in ("key_conversation", "key_person"):
            assert len({row[key] for row in committed}) == len(committed)
        versions = [(row["person"], row["base_version"]) for row in committed]
        assert len(set(versions)) == len(versions)
        done = [row for row in self.books.rows(turn) if row["commit"] is not None]
        assert len(done) == len(self.answers) == len(self.books.rows(trace_event, stage="commit"))
        assert all(row["ending"] is not None for row in done)

    @invariant()
    def at_most_one_answer_waits(self) -> None:
        """Of each conversation at most one answer is unsent: the newest (TX-4)."""
        unsent = [
            row["conversation"] for row in self.books.rows(intent) if row["state"] in ("promised", "composed", "leased")
        ]
        assert len(set(unsent)) == len(unsent)


def test_any_sequence_keeps_the_promises(database_url: str) -> None:
    """Hypothesis looks for a sequence of triggers and decisions after which a promise of the chokepoint does not hold."""
    effort = int(os.environ.get("CLARA_TEST_EFFORT", "1"))
    examples = effort * (12 if database_url.startswith("sqlite") else 4)

    class Here(Chokepoint):
        url = database_url

    run_state_machine_as_test(
        Here,
        settings=settings(
            max_examples=examples,
            stateful_step_count=25,
            deadline=None,
            database=None,
            phases=[Phase.generate, Phase.shrink],
            suppress_health_check=list(HealthCheck),
        ),
    )
