"""The chokepoint, on both databases: all of a command or none of it, and the right answer about why."""

from __future__ import annotations

from datetime import datetime

import pytest

from pipeline.core.commands import (
    Committed,
    Duplicate,
    EntityRef,
    NewOffer,
    Refused,
    ReviewSignal,
    Superseded,
    TooLate,
    idempotency_key,
)
from pipeline.core.types import Ending, Purpose
from storage.tables import (
    calendar_event,
    conversation,
    effect,
    entity,
    intent,
    offer,
    person,
    proposal,
    review_case,
    slot_hold,
    suppression,
    trace_event,
    turn,
)
from tests.support.databases import ANN, BEN, HOUSE, OTHER_HOUSE, Books

DAY = 86400.0


def tour(books: Books) -> dict[str, object]:
    """The one live tour."""
    return books.one(entity, live=True)


def test_a_commit_writes_all_that_belongs_together(books: Books) -> None:
    """State, message, effect, proposal, seat, calendar event, trace and the turn's ending land in one transaction (CK-1, IN-13)."""
    seen = books.look(books.arrive("tomorrow at 3").turn)
    change = books.request(seen, books.at(DAY))
    outcome = books.commit(books.command(seen, changes=(change,)))
    assert outcome == Committed((EntityRef(change.entity, "tour", 1, "PROPOSED"),), (f"{seen.turn}-answer",))
    assert (books.one(entity)["version"], books.one(entity)["writer"]) == (1, "clara.turn")
    assert (books.one(slot_hold)["slot"], books.one(slot_hold)["entity"]) == (change.slot, change.entity)
    assert (books.one(calendar_event)["sequence"], books.one(calendar_event)["method"]) == (0, "REQUEST")
    landed = books.one(effect)
    assert (landed["turn"], landed["channel"], landed["lineage"], landed["writer"], landed["version"]) == (
        seen.turn,
        "sms",
        "prospect_stated",
        "clara.turn",
        1,
    )
    promised = books.one(intent)
    assert (promised["state"], promised["entity"], promised["commit"]) == (
        "promised",
        change.entity,
        f"{seen.turn}-commit",
    )
    ended = books.one(turn)
    assert (ended["state"], ended["ending"], ended["health"]) == ("committed", "answered", "healthy")
    assert len(books.rows(trace_event, stage="commit")) == 1


def test_the_keys_are_a_pure_function(books: Books) -> None:
    """A proposal is stored with its key for the conversation and for the person (CK-3)."""
    seen = books.look(books.arrive().turn)
    change = books.request(seen, books.at(DAY))
    books.commit(books.command(seen, changes=(change,)))
    row = books.one(proposal)
    assert row["key_conversation"] == idempotency_key(seen.conversation, "tour.request", change.slot, 0)
    assert row["key_person"] == idempotency_key(str(seen.person), "tour.request", change.slot, 0)
    assert (row["status"], row["entity"], row["spans"]) == ("committed", change.entity, ["at three"])


def test_the_same_command_again_answers_as_before(books: Books) -> None:
    """A command that is repeated after a lost connection writes nothing and has the first answer (CK-3)."""
    seen = books.look(books.arrive().turn)
    command = books.command(seen, changes=(books.request(seen, books.at(DAY)),))
    first = books.commit(command)
    before = books.contents()
    assert books.commit(command) == first
    assert books.contents() == before


# --- too late ----------------------------------------------------------------------------------------------------


def test_a_text_that_joins_during_the_decision_comes_before_the_commit(books: Books) -> None:
    """A decision that has not seen the newest text is too late and leaves no trace of itself (TX-4)."""
    seen = books.look(books.arrive("tomorrow at 3").turn)
    books.arrive("no, at 4")
    before = books.contents()
    outcome = books.commit(books.command(seen, changes=(books.request(seen, books.at(DAY)),)))
    assert isinstance(outcome, TooLate) and books.contents() == before
    fresh = books.look(seen.turn)
    assert isinstance(books.commit(books.command(fresh)), Committed)


def test_a_turn_is_committed_once(books: Books) -> None:
    """Another decision of a turn that has its commit is too late, also on a fresh snapshot."""
    seen = books.look(books.arrive().turn)
    books.commit(books.command(seen))
    before = books.contents()
    assert isinstance(books.commit(books.command(seen, id="another")), TooLate)
    assert isinstance(books.commit(books.command(books.look(seen.turn), id="another")), TooLate)
    assert books.contents() == before


# --- two conversations of one person -----------------------------------------------------------------------------


def test_two_triggers_of_one_person_have_one_winner(books: Books) -> None:
    """A text during a call: one wins, the other is superseded with its wish on record, and decides anew (CK-2)."""
    call = books.look(books.arrive(channel="voice", call="call-1").turn)
    text = books.look(books.arrive().turn)
    assert isinstance(
        books.commit(books.command(call, changes=(books.request(call, books.at(DAY)),), intents=())), Committed
    )
    lost = books.commit(books.command(text, changes=(books.request(text, books.at(2 * DAY)),)))
    assert lost == Superseded(call.turn)
    assert [row["status"] for row in books.rows(proposal, turn=text.turn)] == ["superseded"]
    assert len(books.rows(entity)) == len(books.rows(slot_hold)) == 1 and not books.rows(intent)
    again = books.look(text.turn)
    assert [row.id for row in again.tours] == [f"{call.turn}-tour"]
    assert isinstance(books.commit(books.command(again, changes=(books.move(again, books.at(2 * DAY)),))), Committed)


def test_a_superseded_turn_may_wish_the_same_again(books: Books) -> None:
    """The losing proposal holds no key: decided anew under the same ids, the same wish is committed (CK-2, CK-3)."""
    call = books.look(books.arrive(channel="voice", call="call-1").turn)
    text = books.look(books.arrive().turn)
    command = books.command(text, changes=(books.request(text, books.at(DAY)),))
    books.commit(books.command(call, intents=()))
    assert isinstance(books.commit(command), Superseded)
    again = books.look(text.turn)
    assert isinstance(books.commit(books.command(again, changes=(books.request(again, books.at(DAY)),))), Committed)


def test_without_a_person_the_conversation_is_the_lock(books: Books) -> None:
    """A withheld caller books, and only the conversation's key is kept (CK-2)."""
    seen = books.look(books.arrive(channel="voice", call="c1", address="", withheld=True).turn)
    assert isinstance(
        books.commit(books.command(seen, changes=(books.request(seen, books.at(DAY)),), intents=())), Committed
    )
    assert books.one(proposal)["key_person"] is None and not books.rows(person)


# --- refusals ----------------------------------------------------------------------------------------------------


def test_a_human_owner_stops_the_commit(books: Books) -> None:
    """While a person owns the conversation nothing automatic is committed (LW-4, IN-8)."""
    arrived = books.arrive()
    books.run(books.store.set_owner, arrived.conversation, "human", "op")
    before = books.contents()
    assert books.commit(books.command(books.look(arrived.turn))) == Refused("human_owns")
    assert books.contents() == before


@pytest.mark.parametrize("name", ["channel:sms", f"property:{HOUSE}"])
def test_a_switch_is_read_inside_the_transaction(books: Books, name: str) -> None:
    """A kill switch that was turned after the snapshot still stops the commit; other switches do not (CK-5)."""
    seen = books.look(books.arrive().turn)
    books.run(books.store.set_switch, name, True, "op")
    books.run(books.store.set_switch, "channel:email", True, "op")
    outcome = books.commit(books.command(seen, changes=(books.request(seen, books.at(DAY)),)))
    assert outcome == Refused("switched_off", name)
    assert not books.rows(entity) and not books.rows(intent)
    books.run(books.store.set_switch, name, False, "op")
    assert isinstance(books.commit(books.command(books.look(seen.turn))), Committed)


def test_a_taken_slot_is_refused_whole(books: Books) -> None:
    """The second party for a single seat gets nothing written, although its message came first in the command (CK-6)."""
    books.book(books.at(DAY))
    seen = books.look(books.arrive(address=BEN).turn)
    before = books.contents()
    change = books.request(seen, books.at(DAY))
    command = books.command(seen, changes=(change,), suppress=("sms", BEN), review=ReviewSignal("x", "y"))
    assert books.commit(command) == Refused("slot_taken", str(change.slot))
    assert books.contents() == before


def test_seats_are_taken_up_to_the_capacity(books: Books) -> None:
    """Three parties fit a slot of three, the fourth does not (CK-6, IN-4)."""
    outcomes = []
    for number in range(4):
        seen = books.look(books.arrive(address=f"+1312555{number:04}").turn)
        outcomes.append(books.commit(books.command(seen, changes=(books.request(seen, books.at(DAY), capacity=3),))))
    assert [type(outcome).__name__ for outcome in outcomes] == ["Committed", "Committed", "Committed", "Refused"]
    assert sorted(row["seat"] for row in books.rows(slot_hold)) == [0, 1, 2]


@pytest.mark.parametrize(
    ("path", "last"), [(["CANCELLED"], "CONFIRMED"), (["CONFIRMED"], "PROPOSED"), (["EXPIRED"], "CANCELLED")]
)
def test_a_transition_that_is_not_in_the_table_is_refused(books: Books, path: list[str], last: str) -> None:
    """A tour that is over does not come back, and a confirmed one is not proposed again (CK-4)."""
    books.book(books.at(DAY))
    first = books.look(books.arrive().turn)
    for state in path:
        seen = books.look(books.arrive().turn)
        assert isinstance(books.commit(books.command(seen, changes=(books.turn_into(seen, state),))), Committed)
    seen = books.look(books.arrive().turn)
    old = first.tours[0]
    change = books.turn_into(first, last, base_version=2, proposal=books.wish(seen, "tour.x", None, 2))
    outcome = books.commit(books.command(seen, changes=(change,)))
    assert isinstance(outcome, Refused) and outcome.reason == "illegal_transition"
    assert books.one(entity, id=old.id)["state"] == path[-1]


def test_an_unknown_kind_or_state_is_refused(books: Books) -> None:
    """Only what a transition table knows can be written."""
    seen = books.look(books.arrive().turn)
    for odd in ({"kind": "spaceship"}, {"state": "TELEPORTED"}):
        outcome = books.commit(books.command(seen, changes=(books.request(seen, books.at(DAY), **odd),)))
        assert isinstance(outcome, Refused) and outcome.reason == "illegal_transition"


def test_a_stale_version_is_refused(books: Books) -> None:
    """A change that was decided on an older version of the entity, or of the chain, is refused."""
    books.book(books.at(DAY))
    seen = books.look(books.arrive().turn)
    old = books.turn_into(seen, "CONFIRMED", base_version=7, proposal=books.wish(seen, "tour.confirmed", None, 7))
    outcome = books.commit(books.command(seen, changes=(old,)))
    assert isinstance(outcome, Refused) and outcome.reason == "stale_version"
    new = books.request(seen, books.at(2 * DAY), base_version=0, replaces=seen.tours[0].id)
    outcome = books.commit(books.command(seen, changes=(new,)))
    assert isinstance(outcome, Refused) and outcome.reason == "stale_version"


def test_a_second_live_tour_is_refused(books: Books) -> None:
    """A new tour beside a live one, without taking its place, is refused (IN-4)."""
    books.book(books.at(DAY))
    seen = books.look(books.arrive().turn)
    outcome = books.commit(books.command(seen, changes=(books.request(seen, books.at(2 * DAY)),)))
    assert isinstance(outcome, Refused) and outcome.reason == "illegal_transition"


def test_nobody_changes_the_tour_of_somebody_else(books: Books) -> None:
    """An entity of another person, or of another property, cannot be named in a change (CK-8)."""
    books.book(books.at(DAY))
    ann = books.look(books.arrive().turn)
    for stranger in (books.arrive(address=BEN), books.arrive(property=OTHER_HOUSE)):
        seen = books.look(stranger.turn)
        change = books.turn_into(ann, "CANCELLED", proposal=books.wish(seen, "tour.cancelled", None, 1))
        assert isinstance(books.commit(books.command(seen, changes=(change,))), Refused)
        replaced = books.request(seen, books.at(2 * DAY), replaces=ann.tours[0].id)
        assert isinstance(books.commit(books.command(seen, changes=(replaced,))), Refused)
    assert tour(books)["state"] == "PROPOSED"


# --- keys --------------------------------------------------------------------------------------------------------


def test_a_key_that_was_committed_is_a_duplicate(books: Books) -> None:
    """The same wish on the same version, from another turn, collapses and names the first proposal (CK-3)."""
    first = books.look(books.arrive().turn)
    change = books.request(first, books.at(DAY))
    books.commit(books.command(first, changes=(change,)))
    seen = books.look(books.arrive().turn)
    again = books.request(
        seen, books.at(DAY), base_version=0, proposal=books.wish(seen, "tour.request", change.slot, 0)
    )
    before = books.contents()
    assert books.commit(books.command(seen, changes=(again,))) == Duplicate(change.proposal.id)
    assert books.contents() == before


def test_a_persons_key_holds_across_conversations(books: Books) -> None:
    """The same wish by text and on a call is one (CK-3)."""
    first = books.look(books.arrive().turn)
    change = books.request(first, books.at(DAY))
    books.commit(books.command(first, changes=(change,)))
    call = books.look(books.arrive(channel="voice", call="c1").turn)
    again = books.request(
        call, books.at(DAY), base_version=0, proposal=books.wish(call, "tour.request", change.slot, 0)
    )
    assert books.commit(books.command(call, changes=(again,))) == Duplicate(change.proposal.id)


def test_book_cancel_book_again_are_three(books: Books) -> None:
    """Booking the same slot after a cancellation is no duplicate: versions count along the whole chain (CK-3)."""
    at = books.at(DAY)
    books.book(at)
    for _ in range(2):
        seen = books.look(books.arrive("cancel it").turn)
        assert isinstance(books.commit(books.command(seen, changes=(books.turn_into(seen, "CANCELLED"),))), Committed)
        assert not books.rows(slot_hold)
        seen = books.look(books.arrive("I want it after all").turn)
        assert isinstance(books.commit(books.command(seen, changes=(books.request(seen, at),))), Committed)
    assert (tour(books)["version"], len(books.rows(proposal)), len(books.rows(slot_hold))) == (5, 5, 1)


def test_an_open_proposal_goes_with_its_change(books: Books) -> None:
    """A proposal that waited for a restatement is committed under its own id (PR-2)."""
    seen = books.look(books.arrive().turn)
    change = books.request(seen, books.at(DAY))
    waiting = books.wish(seen, "tour.request", change.slot, 0, status="open", lineage="machine_derived_override")
    books.commit(books.command(seen, proposals=(waiting,), ending=Ending.ASKED))
    seen = books.look(books.arrive().turn)
    restated = books.wish(seen, "tour.request", change.slot, 0, id=waiting.id)
    outcome = books.commit(books.command(seen, changes=(books.request(seen, books.at(DAY), proposal=restated),)))
    assert isinstance(outcome, Committed)
    row = books.one(proposal)
    assert (row["id"], row["status"], row["lineage"]) == (waiting.id, "committed", "prospect_stated")


# --- reschedule, cancel, confirm ---------------------------------------------------------------------------------


def test_a_reschedule_supersedes_the_earlier_tour(books: Books) -> None:
    """The earlier tour gives way with its seat, its unsent message and its calendar event; the new one stands in the chain (CK-4)."""
    first = books.book(books.at(DAY))
    seen = books.look(books.arrive("Wednesday instead").turn)
    assert isinstance(books.commit(books.command(seen, changes=(books.move(seen, books.at(2 * DAY)),))), Committed)
    old, new = books.one(entity, id=f"{first.turn}-tour"), tour(books)
    assert (old["state"], old["live"], old["superseded_by"]) == ("SUPERSEDED", False, new["id"])
    assert (new["version"], new["starts_at"]) == (2, books.at(2 * DAY))
    assert [row["entity"] for row in books.rows(slot_hold)] == [new["id"]]
    events = {row["entity"]: (row["method"], row["sequence"]) for row in books.rows(calendar_event)}
    assert events == {old["id"]: ("CANCEL", 1), new["id"]: ("REQUEST", 0)}
    assert books.one(intent, turn=first.turn)["state"] == "superseded"


def test_a_reschedule_within_a_full_slot_keeps_its_seat(books: Books) -> None:
    """Moving to the slot that one holds oneself is no conflict, and its seat is not given away."""
    books.book(books.at(DAY))
    seen = books.look(books.arrive().turn)
    assert isinstance(books.commit(books.command(seen, changes=(books.move(seen, books.at(DAY)),))), Committed)
    assert [row["entity"] for row in books.rows(slot_hold)] == [tour(books)["id"]]


def test_a_refused_reschedule_keeps_the_earlier_tour(books: Books) -> None:
    """Where the new slot is taken the old tour stands as it stood, seat, message and event (CK-1)."""
    books.book(books.at(DAY))
    books.book(books.at(2 * DAY), address=BEN)
    seen = books.look(books.arrive().turn)
    before = books.contents()
    assert isinstance(books.commit(books.command(seen, changes=(books.move(seen, books.at(2 * DAY)),))), Refused)
    assert books.contents() == before


def test_a_cancellation_takes_back_what_is_unsent_in_every_conversation(books: Books) -> None:
    """A call cancels: the text that would still have said "requested" does not leave, and its turn says why (CK-4, CO-5)."""
    first = books.book(books.at(DAY))
    call = books.look(books.arrive(channel="voice", call="c1").turn)
    books.commit(books.command(call, changes=(books.turn_into(call, "CANCELLED"),), intents=()))
    assert books.one(intent)["state"] == "superseded"
    ended = books.one(turn, id=first.turn)
    assert (ended["ending"], ended["state"]) == ("superseded", "settled")
    assert (books.one(calendar_event)["method"], books.one(calendar_event)["sequence"]) == ("CANCEL", 1)
    assert not books.rows(slot_hold)


def test_a_confirmation_keeps_the_seat_and_moves_the_event_on(books: Books) -> None:
    """PROPOSED to CONFIRMED is the next version of the same entity, in the same seat (PR-4)."""
    books.book(books.at(DAY))
    seen = books.look(books.arrive("yes, 3 pm").turn)
    outcome = books.commit(books.command(seen, changes=(books.turn_into(seen, "CONFIRMED"),)))
    assert outcome == Committed((EntityRef(seen.tours[0].id, "tour", 2, "CONFIRMED"),), (f"{seen.turn}-answer",))
    assert (books.one(slot_hold)["seat"], books.one(calendar_event)["sequence"]) == (0, 1)
    assert books.one(entity)["expires_at"] is None and books.one(slot_hold)["expires_at"] is None


# --- offers ------------------------------------------------------------------------------------------------------


def offered(books: Books, expires_at: datetime) -> None:
    seen = books.look(books.arrive().turn)
    books.commit(books.command(seen, offers=(NewOffer("o1", books.at(DAY), expires_at, "digest"),)))


def test_an_offer_is_used_once(books: Books) -> None:
    """A used offer is used up; the second use is refused (PR-3)."""
    offered(books, books.at(3600))
    seen = books.look(books.arrive().turn)
    assert isinstance(books.commit(books.command(seen, used_offers=("o1",))), Committed)
    seen = books.look(books.arrive().turn)
    assert books.commit(books.command(seen, used_offers=("o1",))) == Refused("offer_expired", "o1")
    assert books.one(offer)["used_at"] == books.now


def test_an_expired_or_foreign_offer_is_refused(books: Books) -> None:
    """An offer past its time, or made to somebody else, cannot be accepted (PR-3)."""
    offered(books, books.at(60))
    ben = books.look(books.arrive(address=BEN).turn)
    assert books.commit(books.command(ben, used_offers=("o1",))) == Refused("offer_expired", "o1")
    books.wait(60)
    seen = books.look(books.arrive().turn)
    assert books.commit(books.command(seen, used_offers=("o1",))) == Refused("offer_expired", "o1")


# --- messages ----------------------------------------------------------------------------------------------------


def test_an_unsent_answer_gives_way_to_the_next(books: Books) -> None:
    """Promised or composed, an earlier answer of the conversation is superseded and its turn ends so; another person's is not (TX-4)."""
    ben = books.answered(address=BEN)
    first = books.answered()
    books.compose(f"{first.turn}-answer")
    second = books.answered()
    states = {row["turn"]: row["state"] for row in books.rows(intent)}
    assert states == {ben.turn: "promised", first.turn: "superseded", second.turn: "promised"}
    assert books.one(turn, id=first.turn)["ending"] == "superseded"


def test_a_sent_answer_does_not_give_way(books: Books) -> None:
    """What is already on its way stays, with its turn's own ending."""
    attempt = books.sending()
    books.answered()
    row = books.one(intent, id=attempt.intent)
    assert row["state"] == "sending" and books.one(turn, id=row["turn"])["ending"] == "answered"


def test_a_superseded_answer_leaves_its_notes_owed(books: Books) -> None:
    """Only the customer's message gives way: the note to the office of the same turn is still composed and sent."""
    seen = books.look(books.arrive().turn)
    note = books.answer(seen, id="note", purpose=Purpose.STAFF_NOTE, recipient="office@house", customer_facing=False)
    books.commit(books.command(seen, intents=(books.answer(seen), note)))
    books.answered()
    first = books.one(turn, id=seen.turn)
    assert (first["ending"], first["state"]) == ("superseded", "committed")
    assert [row.id for row in books.run(books.store.promised, seen.turn)] == ["note"]
    assert books.compose("note") and books.one(turn, id=seen.turn)["state"] == "settled"


def test_an_answer_may_be_told_to_leave_the_others_alone(books: Books) -> None:
    """With `supersede_unsent` off earlier answers stay in the outbox."""
    first = books.answered()
    seen = books.look(books.arrive().turn)
    books.commit(books.command(seen, supersede_unsent=False))
    assert books.one(intent, turn=first.turn)["state"] == "promised"


def test_a_turn_that_promises_nothing_is_settled(books: Books) -> None:
    """A commit without a message ends its turn at once; on a call the words are still owed."""
    text = books.look(books.arrive().turn)
    books.commit(books.command(text, intents=()))
    assert books.one(turn, id=text.turn)["state"] == "settled"
    call = books.look(books.arrive(channel="voice", call="c1").turn)
    books.commit(books.command(call, intents=()))
    assert books.one(turn, id=call.turn)["state"] == "committed"


# --- the rest ----------------------------------------------------------------------------------------------------


def test_what_else_a_command_says_is_written_with_it(books: Books) -> None:
    """Suppression, hand-over, locale and review case land with the commit, each with its effect (CK-1, RC-3)."""
    seen = books.look(books.arrive().turn)
    signal = ReviewSignal("human_request", "The customer asked for a person", time_sensitive=True)
    books.commit(books.command(seen, suppress=("sms", ANN), hand_to_human=True, locale="es", review=signal))
    here = books.one(conversation)
    assert (here["owner"], here["owner_by"], here["locale"]) == ("human", seen.turn, "es")
    assert len(books.rows(suppression)) == len(books.rows(review_case)) == 1
    assert [row["action"] for row in books.rows(effect)] == ["suppress", "hand_to_human"]


def test_a_commit_moves_both_epochs(books: Books) -> None:
    """Each commit moves the conversation and the person, so that every other decision in flight notices (CK-2)."""
    seen = books.look(books.arrive().turn)
    books.commit(books.command(seen))
    after = books.look(seen.turn)
    assert after.conversation_epoch == seen.conversation_epoch + 1
    assert after.person_epoch == (seen.person_epoch or 0) + 1
