"""What a decision may know, on both databases: everything of the person and the conversation, nothing of anybody else."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from pipeline.core.commands import NewOffer
from pipeline.core.types import Ending
from pipeline.ports import Tx
from pipeline.store import NewCall, SpokenRow
from storage.tables import access_code, claim_class, matter
from tests.support.databases import ANN, BEN, HOUSE, OTHER_HOUSE, OURS, Books


def offer(books: Books, name: str, seconds: float = 3600) -> NewOffer:
    return NewOffer(name, books.at(86400), books.at(seconds), f"digest of {name}")


def spoken(books: Books, name: str, heard: str) -> SpokenRow:
    return SpokenRow(name, "call-1", None, "clara", "all of it", heard, books.now)


def call(books: Books) -> None:
    new = NewCall("call-1", "CA1", HOUSE, ANN, OURS, False, "digest", books.at(60), books.now)
    books.run(books.store.start_call, new)


def test_tours_are_found_by_person_from_another_channel(books: Books) -> None:
    """A tour that was booked by text is there when the same number calls, with its version and its slot (CK-4)."""
    books.book(books.at(86400))
    seen = books.look(books.arrive(channel="voice", call="call-1").turn)
    (tour,) = seen.tours
    assert (tour.state, tour.version, tour.starts_at, seen.head_version) == ("PROPOSED", 1, books.at(86400), 1)
    assert seen.held_slots == {f"{HOUSE}|{books.at(86400).isoformat()}"}


def test_tours_are_found_by_conversation_without_a_person(books: Books) -> None:
    """A withheld caller's tour is found in the call that it was booked in, and in no other."""
    caller: dict[str, Any] = {"channel": "voice", "address": "", "withheld": True}
    books.book(books.at(86400), call="call-1", **caller)
    assert len(books.look(books.arrive(call="call-1", **caller).turn).tours) == 1
    assert books.look(books.arrive(call="call-2", **caller).turn).tours == ()


def test_nothing_of_other_people_is_seen(books: Books) -> None:
    """Another person's tour, offers and words are not in the snapshot; that a seat is taken is."""
    ann = books.book(books.at(86400))
    books.commit(books.command(books.look(books.arrive().turn), offers=(offer(books, "o1"),)))
    ben = books.look(books.arrive(address=BEN).turn)
    assert (ben.tours, ben.offers, ben.history, ben.released, ben.head_version) == ((), (), (), (), 0)
    assert ben.taken == {f"{HOUSE}|{books.at(86400).isoformat()}": 1}
    assert ben.conversation != ann.conversation


def test_past_seats_and_other_properties_are_not_taken(books: Books) -> None:
    """Only seats from now on, and of this property, count."""
    books.book(books.at(3600))
    books.book(books.at(7200), property=OTHER_HOUSE)
    books.wait(3601)
    assert books.look(books.arrive(address=BEN).turn).taken == {}


def test_offers_are_open_until_they_expire_or_are_used(books: Books) -> None:
    """An offer is there until its time is over or a commit has used it (PR-3)."""
    first = books.look(books.arrive().turn)
    books.commit(books.command(first, offers=(offer(books, "o1", 60), offer(books, "o2"), offer(books, "o3"))))
    turn = books.arrive().turn
    assert [one.id for one in books.look(turn).offers] == ["o1", "o2", "o3"]
    books.wait(60)
    books.commit(books.command(books.look(turn), used_offers=("o2",)))
    (left,) = books.look(books.arrive().turn).offers
    assert (left.id, left.token_digest, left.starts_at) == ("o3", "digest of o3", books.at(86340))


def test_open_proposals_wait_for_an_answer(books: Books) -> None:
    """An override that must be restated is there, with both readings, until it is closed (PR-2)."""
    seen = books.look(books.arrive().turn)
    wish = books.wish(
        seen,
        "tour.request",
        None,
        0,
        status="open",
        lineage="machine_derived_override",
        readings=("a", "b"),
        starts_at=books.at(9),
    )
    books.commit(books.command(seen, proposals=(wish,), ending=Ending.ASKED))
    seen = books.look(books.arrive().turn)
    (waiting,) = seen.proposals
    assert (waiting.id, waiting.lineage, waiting.readings) == (wish.id, "machine_derived_override", ("a", "b"))
    books.commit(books.command(seen, closed_proposals=(wish.id,)))
    assert books.look(books.arrive().turn).proposals == ()


def test_rounds_count_per_matter(books: Books) -> None:
    """The number of questions stays with the matter; a closed matter makes room for a new one (UN-7)."""
    seen = books.look(books.arrive().turn)
    assert seen.rounds == 0
    books.commit(books.command(seen, rounds=1, ending=Ending.ASKED))
    second = books.look(books.arrive().turn)
    assert (second.matter, second.rounds) == (seen.matter, 1)
    books.commit(books.command(second, rounds=None))
    third = books.look(books.arrive().turn)
    assert third.matter != seen.matter and third.rounds == 0
    assert [row["state"] for row in books.rows(matter, id=seen.matter)] == ["closed"]


def test_unsent_answers_ride_along(books: Books) -> None:
    """An earlier answer that no provider has is in the snapshot with its plan; one that is on its way is not (TX-4)."""
    first = books.answered()
    seen = books.look(books.arrive().turn)
    assert [(row.intent, row.turn, row.plan["turn"]) for row in seen.unsent] == [
        (f"{first.turn}-answer", first.turn, first.turn)
    ]
    books.compose(f"{first.turn}-answer")
    assert len(books.look(seen.turn).unsent) == 1
    books.send()
    assert books.look(seen.turn).unsent == ()


def test_history_is_what_left_and_what_came(books: Books) -> None:
    """Both sides in order, this turn's own words excepted; an answer that never left is not history."""
    books.sending("Hello Ann", text="Hi")
    books.wait(5)
    books.answered("Are you there?")
    books.wait(5)
    seen = books.look(books.arrive("Well?").turn)
    assert seen.history == (("customer", "Hi"), ("clara", "Hello Ann"), ("customer", "Are you there?"))
    assert not seen.first_message


def test_the_first_message_is_the_first_that_leaves(books: Books) -> None:
    """Until something of Clara's has left, the next message is the first of the thread (LW-1)."""
    books.answered()
    assert books.look(books.arrive().turn).first_message


def test_on_a_call_history_is_what_was_heard(books: Books) -> None:
    """Of Clara's words the history of a call has what the caller heard, nothing more (VO-3)."""
    call(books)
    books.answered("Hello?", channel="voice", call="call-1")
    books.wait(1)
    books.run(books.store.record_utterances, [spoken(books, "u1", "all"), spoken(books, "u2", "")])
    books.wait(1)
    books.answered("Yes", channel="voice", call="call-1")
    books.wait(1)
    seen = books.look(books.arrive("And?", channel="voice", call="call-1").turn)
    assert seen.history == (("customer", "Hello?"), ("clara", "all"), ("customer", "Yes"))


def test_released_strings_are_of_the_last_day_and_of_every_channel(books: Books) -> None:
    """What left or is leaving to the person in 24 h is there, heard speech among it; superseded and older strings are not (IN-3)."""
    books.sending("one")
    books.wait(1)
    books.composed("two")
    call(books)
    books.arrive(channel="voice", call="call-1")
    books.run(books.store.record_utterances, [spoken(books, "u1", "three")])
    turn = books.mail(thread=()).turn
    assert books.look(turn).released == ()
    assert set(books.look(books.arrive().turn).released) == {"one", "two", "three"}
    books.wait(86400)
    assert set(books.look(books.arrive().turn).released) == {"two", "three"}
    books.wait(1)
    assert books.look(books.arrive().turn).released == ()


def test_suppression_is_per_channel_and_address(books: Books) -> None:
    """An opt-out by text is seen on texts to that address until it is taken back (SR-7)."""
    books.commit(books.command(books.look(books.arrive("STOP").turn), suppress=("sms", ANN)))
    assert books.look(books.arrive().turn).suppressed
    assert not books.look(books.arrive(address=BEN).turn).suppressed
    assert not books.look(books.arrive(channel="voice", call="c").turn).suppressed
    books.commit(books.command(books.look(books.arrive("START").turn), unsuppress=("sms", ANN)))
    assert not books.look(books.arrive().turn).suppressed


def test_switches_that_are_off_are_named(books: Books) -> None:
    """What is switched off is in the snapshot until it is on again (CK-5)."""
    turn = books.arrive().turn
    books.run(books.store.set_switch, "channel:sms", True, "op")
    books.run(books.store.set_switch, f"property:{HOUSE}", True, "op")
    assert books.look(turn).switches == {"channel:sms", f"property:{HOUSE}"}
    books.run(books.store.set_switch, "channel:sms", False, "op")
    assert books.look(turn).switches == {f"property:{HOUSE}"}


def test_codes_are_sealed_at_rest(books: Books) -> None:
    """Every property's codes reach the gate of each thread and rest sealed; registering again replaces them (OG-3, IN-3)."""
    register = books.store.register_property
    books.run(register, HOUSE, "d1", [("gate", "4711#"), ("lockbox", "0815")])
    books.run(register, OTHER_HOUSE, "d1", [("gate", "9999")])
    turn = books.arrive().turn
    assert set(books.look(turn).secrets) == {("gate", "4711#"), ("lockbox", "0815"), ("gate", "9999")}
    assert not any(b"4711" in row["value"] for row in books.rows(access_code))
    books.run(register, HOUSE, "d2", [("gate", "1234")])
    assert set(books.look(turn).secrets) == {("gate", "1234"), ("gate", "9999")}


def test_modes_of_claim_classes_are_read(books: Books) -> None:
    """A claim class's stored mode is in the snapshot (OG-6)."""

    def write(tx: Tx) -> None:
        tx.conn.execute(sa.insert(claim_class).values(name="amount", mode="observe"))

    books.run(write)
    assert books.look(books.arrive().turn).modes == {"amount": "observe"}


def test_the_snapshot_has_one_instant(books: Books) -> None:
    """`now` is the transaction's."""
    turn = books.arrive().turn
    books.wait(7)
    assert books.look(turn).now == books.now
