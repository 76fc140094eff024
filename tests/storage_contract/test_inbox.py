"""The door, on both databases: once, in the right conversation, by the right person, in the right turn."""

from __future__ import annotations

from datetime import timedelta

from pipeline.core.commands import Seen, TraceEvent
from pipeline.core.types import Ending, Health
from storage.tables import consent, conversation, identity, inbound, person, turn
from tests.support.databases import ANN, ANN_MAIL, BEN, HOUSE, OTHER_HOUSE, START, Books


def test_a_replayed_message_changes_nothing(books: Books) -> None:
    """A message that comes again under its provider's id answers as it did and leaves every row alone (OP-3)."""
    arrival = books.arrival()
    first = books.run(books.store.accept, arrival)
    before = books.look(first.turn)
    again = books.run(books.store.accept, books.arrival(provider_id=arrival.provider_id))
    assert (again.turn, again.conversation, again.person, again.duplicate) == (
        first.turn,
        first.conversation,
        first.person,
        True,
    )
    assert books.look(first.turn) == before
    assert len(books.rows(turn)) == len(books.rows(conversation)) == len(books.rows(person)) == 1


def test_a_burst_is_one_turn(books: Books) -> None:
    """Texts that follow each other before the commit join one turn, oldest first, and put its decision off (TX-4)."""
    first = books.arrive("A tour")
    books.wait(2)
    second = books.arrive("tomorrow at 3")
    assert second.joined and second.turn == first.turn
    seen = books.look(first.turn)
    assert [row.text for row in seen.inbound] == ["A tour", "tomorrow at 3"]
    assert books.one(turn)["due_at"] == START + timedelta(seconds=6)


def test_a_burst_gathers_no_longer_than_three_windows(books: Books) -> None:
    """Somebody who never stops typing is answered all the same: a turn is due at most three windows after its first text."""
    books.arrive()
    for _ in range(9):
        books.wait(3)
        books.arrive()
    assert books.one(turn)["due_at"] == START + timedelta(seconds=12)


def test_a_text_after_the_commit_is_a_new_turn(books: Books) -> None:
    """A text that comes when the turn is committed opens its own (TX-4)."""
    first = books.answered()
    second = books.arrive()
    assert not second.joined and second.turn != first.turn and second.conversation == first.conversation


def test_each_arrival_moves_the_conversation(books: Books) -> None:
    """The epoch tells a decision in flight that it has not seen everything."""
    arrived = books.arrive()
    before = books.look(arrived.turn).conversation_epoch
    books.arrive()
    assert books.look(arrived.turn).conversation_epoch == before + 1


def test_a_person_is_an_exact_address(books: Books) -> None:
    """Same address, same person; another address, another person; a mail address is never merged with a phone (CK-7)."""
    ann, again, ben, mail = books.arrive(), books.arrive(), books.arrive(address=BEN), books.mail()
    assert ann.person == again.person
    assert len({ann.person, ben.person, mail.person}) == 3
    assert {(row["kind"], row["address"]) for row in books.rows(identity)} == {
        ("phone", ANN),
        ("phone", BEN),
        ("email", ANN_MAIL),
    }


def test_a_phone_is_one_person_for_calls_and_texts(books: Books) -> None:
    """Who called and texts later from the same number is one person in two conversations."""
    call = books.arrive(channel="voice", call="call-1")
    text = books.arrive()
    assert call.person == text.person and call.conversation != text.conversation


def test_properties_do_not_share_people(books: Books) -> None:
    """One number at two properties is two persons: nothing of one is seen at the other."""
    here, there = books.arrive(), books.arrive(property=OTHER_HOUSE)
    assert here.person != there.person and here.conversation != there.conversation


def test_a_withheld_caller_has_no_person(books: Books) -> None:
    """Two calls with a withheld number are two conversations and nobody's."""
    first = books.arrive(channel="voice", address="", withheld=True, call="call-1")
    same = books.arrive(channel="voice", address="", withheld=True, call="call-1")
    other = books.arrive(channel="voice", address="", withheld=True, call="call-2")
    assert first.person is None and same.conversation == first.conversation != other.conversation
    assert not books.rows(person) and not books.rows(consent)


def test_each_call_is_a_conversation(books: Books) -> None:
    """Two calls from one number are two conversations of one person."""
    first = books.arrive(channel="voice", call="call-1")
    second = books.arrive(channel="voice", call="call-2")
    assert first.conversation != second.conversation and first.person == second.person


def test_a_reply_finds_its_thread_from_another_address(books: Books) -> None:
    """A mail that answers ours joins that conversation, but stays its own sender's: own person, own turn, answered at its own address."""
    ann = books.mail(message_id="<first@example.com>")
    ben = books.mail(address="ben@example.com", thread=("<nowhere@x>", "<first@example.com>"))
    assert ben.conversation == ann.conversation and ben.person != ann.person and ben.turn != ann.turn
    assert books.look(ben.turn).address == "ben@example.com"


def test_a_reply_finds_the_thread_of_what_we_sent(books: Books) -> None:
    """Our own Message-ID leads back to its conversation."""
    ann = books.mail()
    books.commit(books.command(books.look(ann.turn)))
    books.compose(f"{ann.turn}-answer", message_id="<ours@house>")
    assert books.mail(address="ann@work.example", thread=("<ours@house>",)).conversation == ann.conversation


def test_a_thread_of_another_property_is_not_joined(books: Books) -> None:
    """A Message-ID leads nowhere at another property."""
    ann = books.mail(message_id="<first@example.com>")
    assert books.mail(property=OTHER_HOUSE, thread=("<first@example.com>",)).conversation != ann.conversation


def test_automatic_mail_does_not_join_a_persons_words(books: Books) -> None:
    """An out-of-office note that comes into a burst is a turn of its own (TX-2)."""
    words = books.mail("A tour on Friday, please")
    note = books.mail("I am away", automatic=True)
    assert note.turn != words.turn and not note.joined
    assert len(books.look(words.turn).inbound) == 1


def test_the_first_message_is_evidence_of_consent(books: Books) -> None:
    """The first message of an address on a channel is kept as evidence: its text, time and source (SR-2)."""
    books.arrive("Call me Ann")
    books.arrive("again")
    row = books.one(consent)
    assert (row["property"], row["channel"], row["address"], row["text"]) == (HOUSE, "sms", ANN, "Call me Ann")
    assert (row["source"], row["at"]) == ("twilio", START)


def test_the_inbound_row_keeps_what_came(books: Books) -> None:
    """Raw bytes, form fields, lineage and thread are stored as they came."""
    arrived = books.mail(
        raw=b"From: x\r\n\r\n\xff",
        form={"move_in": "2026-05-01"},
        lineage="machine_derived",
        thread=("<a>",),
        subject="Tour",
    )
    row = books.one(inbound)
    assert (row["raw"], row["form"], row["thread"]) == (b"From: x\r\n\r\n\xff", {"move_in": "2026-05-01"}, ["<a>"])
    assert books.look(arrived.turn).inbound[0].lineage == "machine_derived"


def test_a_locale_is_kept_from_the_message(books: Books) -> None:
    """What is known of the language stays with the conversation; a message without it does not erase it (UN-8)."""
    arrived = books.arrive(locale="es")
    books.arrive()
    assert books.look(arrived.turn).locale == "es"


# --- leases -------------------------------------------------------------------------------------------------------


def test_a_turn_is_leased_when_it_is_due(books: Books) -> None:
    """A gathering burst is left alone; a due turn is leased once, and with a greater fence when the lease ran out."""
    arrived = books.arrive()
    assert books.run(books.store.lease_turns, "a", 9, 30) == []
    books.wait(4)
    (lease,) = books.run(books.store.lease_turns, "a", 9, 30)
    assert (lease.turn, lease.state, lease.channel, lease.until) == (arrived.turn, "open", "sms", books.at(30))
    assert books.run(books.store.lease_turns, "b", 9, 30) == []
    books.wait(30)
    (again,) = books.run(books.store.lease_turns, "b", 9, 30)
    assert again.turn == arrived.turn and again.fence == lease.fence + 1


def test_a_conversation_is_decided_by_one(books: Books) -> None:
    """Of one conversation one open turn is leased at a time; other conversations go on."""
    first, other = books.mail(), books.arrive(address=BEN)
    second = books.mail("away", automatic=True)
    assert first.conversation == second.conversation and first.turn != second.turn
    books.wait(5)
    leases = books.run(books.store.lease_turns, "a", 9, 30)
    assert {lease.turn for lease in leases} == {first.turn, other.turn}
    assert books.run(books.store.lease_turns, "b", 9, 30) == []
    assert books.run(books.store.lease_turn, second.turn, "b", 30) is None


def test_an_answer_that_is_being_composed_does_not_hold_up_the_next_decision(books: Books) -> None:
    """While one node composes, the next trigger is decided by another, so that it may take the answer's place (TX-4)."""
    first = books.answered()
    books.run(books.store.lease_turns, "a", 9, 30)
    second = books.arrive()
    books.wait(4)
    assert [lease.turn for lease in books.run(books.store.lease_turns, "b", 9, 30)] == [second.turn] != [first.turn]


def test_an_owed_answer_is_leased(books: Books) -> None:
    """A committed turn whose answer is owed is taken up by whoever comes, until it is settled (CO-3)."""
    arrived = books.answered()
    (lease,) = books.run(books.store.lease_turns, "a", 9, 30)
    assert (lease.turn, lease.state) == (arrived.turn, "committed")
    books.run(books.store.release_turn, lease, None)
    books.compose(f"{arrived.turn}-answer")
    assert books.run(books.store.lease_turns, "a", 9, 30) == []


def test_the_limit_of_a_lease_is_kept(books: Books) -> None:
    """Not more turns are leased than asked for, the longest due first."""
    due = [books.arrive(address=f"+1312555{number:04}").turn for number in range(5)]
    books.wait(10)
    assert [lease.turn for lease in books.run(books.store.lease_turns, "a", 2, 30)] == due[:2]


def test_a_named_turn_is_leased_once(books: Books) -> None:
    """A call leases its own turn at once; another node gets None."""
    arrived = books.arrive(channel="voice", call="call-1")
    lease = books.run(books.store.lease_turn, arrived.turn, "a", 30)
    assert lease is not None and lease.state == "open"
    assert books.run(books.store.lease_turn, arrived.turn, "b", 30) is None


def test_a_released_turn_waits_until_it_is_due(books: Books) -> None:
    """A lease that is given back with a time is taken up at that time."""
    books.arrive()
    books.wait(4)
    (lease,) = books.run(books.store.lease_turns, "a", 9, 30)
    books.run(books.store.release_turn, lease, books.at(10))
    assert books.run(books.store.lease_turns, "a", 9, 30) == []
    books.wait(10)
    assert len(books.run(books.store.lease_turns, "a", 9, 30)) == 1


def test_a_lost_lease_releases_nothing(books: Books) -> None:
    """Who comes back after the lease ran out does not take it from its new holder."""
    books.arrive()
    books.wait(4)
    (old,) = books.run(books.store.lease_turns, "a", 9, 5)
    books.wait(5)
    books.run(books.store.lease_turns, "b", 9, 30)
    books.run(books.store.release_turn, old, None)
    assert books.run(books.store.lease_turns, "c", 9, 30) == []


# --- endings without a commit -------------------------------------------------------------------------------------


def test_a_turn_may_end_without_a_promise(books: Books) -> None:
    """Silence on purpose settles the turn with its ending and its trace, once (CO-5)."""
    arrived = books.arrive("thanks, bye")
    events = [TraceEvent("validation", "silent", {})]
    settle = books.store.settle_without_commit
    assert books.run(settle, arrived.turn, Ending.SILENT, Health.HEALTHY, events)
    assert not books.run(settle, arrived.turn, Ending.HELD, Health.HEALTHY, events)
    row = books.one(turn)
    assert (row["state"], row["ending"], row["settled_at"]) == ("settled", "silent_on_purpose", START)
    assert [event["kind"] for event in books.traced("validation")] == ["silent"]


def test_silence_does_not_swallow_a_text_that_has_just_come(books: Books) -> None:
    """An ending that was decided without the newest text is refused, and the turn stays open for both (TX-4, CO-5)."""
    arrived = books.arrive("thanks")
    seen = books.look(arrived.turn)
    stale = Seen(seen.conversation_epoch, seen.person_epoch, ())
    books.arrive("one more thing: a tour tomorrow?")
    ended = books.run(books.store.settle_without_commit, arrived.turn, Ending.SILENT, Health.HEALTHY, (), stale)
    assert not ended and books.one(turn)["state"] == "open"


# --- expiry -------------------------------------------------------------------------------------------------------


def test_a_proposed_tour_expires(books: Books) -> None:
    """A PROPOSED tour whose time has run out is found, gets a turn of its own once, and is gone from the list when that is committed (PR-7)."""
    books.compose(f"{books.book(books.at(172800)).turn}-answer")
    assert books.run(books.store.expire_due, 9) == []
    books.wait(86400)
    (tour,) = books.run(books.store.expire_due, 9)
    name = books.run(books.store.open_expiry, tour, "turn-x", "matter-x")
    assert name == "turn-x" == books.run(books.store.open_expiry, tour, "turn-y", "matter-y")
    seen = books.look("turn-x")
    assert seen.inbound == () and seen.address == ANN and seen.tours[0].id == tour
    assert [lease.turn for lease in books.run(books.store.lease_turns, "a", 9, 30)] == ["turn-x"]
    books.commit(books.command(seen, changes=(books.turn_into(seen, "EXPIRED"),)))
    assert books.run(books.store.expire_due, 9) == []
    assert books.run(books.store.open_expiry, tour, "turn-z", "matter-z") is None


def test_a_text_does_not_join_an_expiry(books: Books) -> None:
    """A customer's words are never taken for the timer's."""
    books.book(books.at(172800))
    books.wait(86400)
    (tour,) = books.run(books.store.expire_due, 9)
    books.run(books.store.open_expiry, tour, "turn-x", "matter-x")
    assert books.arrive("I still want it").turn != "turn-x"


def test_what_we_sent_to_an_address_is_known(books: Books) -> None:
    """The texts that left for an address come newest first; what has not left is not among them (UN-2)."""
    books.sending("first")
    books.wait(1)
    books.sending("second", address=BEN)
    books.composed("third")
    assert books.run(books.store.sent_texts, HOUSE, ANN) == ["first"]
    assert books.run(books.store.sent_texts, OTHER_HOUSE, ANN) == []
