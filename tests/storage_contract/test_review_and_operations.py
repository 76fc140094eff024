"""Cases, heartbeats, switches and webhooks, on both databases."""

from __future__ import annotations

from pipeline.core.commands import ReviewSignal
from storage.tables import conversation, duty, heartbeat, property_, review_case, review_item, switch
from tests.support.databases import BEN, HOUSE, OTHER_HOUSE, START, Books

SIGNAL = ReviewSignal("reading_timeout", "Clara could not read a message", findings=({"class": "amount"},))


def test_equal_failures_are_one_item_with_a_case_each(books: Books) -> None:
    """One root cause at one property is one item with a count; each conversation has its own case under it (RV-2)."""
    first, second = books.arrive(), books.arrive(address=BEN)
    for turn in (first.turn, second.turn, second.turn):
        books.wait(1)
        books.run(books.store.open_case, turn, SIGNAL)
    item = books.one(review_item)
    assert (item["count"], item["property"], item["first_at"], item["last_at"]) == (3, HOUSE, books.at(-2), books.now)
    cases = {row["conversation"]: row for row in books.rows(review_case)}
    assert {name: row["count"] for name, row in cases.items()} == {first.conversation: 1, second.conversation: 2}
    assert all(row["item"] == item["id"] and row["findings"] == [{"class": "amount"}] for row in cases.values())


def test_other_causes_and_other_properties_are_other_items(books: Books) -> None:
    """Items do not mix causes or properties."""
    here, there = books.arrive(), books.arrive(property=OTHER_HOUSE)
    books.run(books.store.open_case, here.turn, SIGNAL)
    books.run(books.store.open_case, there.turn, SIGNAL)
    books.run(books.store.open_case, here.turn, ReviewSignal("loop", "x"))
    assert len(books.rows(review_item)) == 3


def test_a_case_is_owned_until_its_time(books: Books) -> None:
    """Each case opens one duty of the desk: a quarter of an hour where time presses, an hour otherwise (DM-9, RV-7)."""
    books.run(books.store.open_case, books.arrive().turn, SIGNAL)
    books.run(
        books.store.open_case, books.arrive(address=BEN).turn, ReviewSignal("human_request", "x", time_sensitive=True)
    )
    due = sorted((row["due_at"] - START).total_seconds() for row in books.rows(duty, owner="desk"))
    assert due == [900, 3600]


def test_urgency_is_not_lost_when_a_case_is_joined(books: Books) -> None:
    """A later, calmer signal does not make an urgent case calm."""
    turn = books.arrive().turn
    books.run(books.store.open_case, turn, ReviewSignal("x", "y", time_sensitive=True))
    books.run(books.store.open_case, turn, ReviewSignal("x", "z"))
    case = books.one(review_case)
    assert case["time_sensitive"] and (case["summary"], case["count"]) == ("z", 2)


def test_a_heartbeat_is_one_row_per_node_and_role(books: Books) -> None:
    """The last beat stands (SR-5)."""
    for role in ("relay", "turns", "relay"):
        books.wait(1)
        books.run(books.store.heartbeat, "node", role)
    assert {row["role"]: row["at"] for row in books.rows(heartbeat)} == {"relay": books.now, "turns": books.at(-1)}


def test_a_webhook_is_seen_once(books: Books) -> None:
    """The second delivery of the same webhook is known as a replay; another provider's key is another (OP-3)."""
    seen = books.store.first_seen
    assert books.run(seen, "twilio", "k") and not books.run(seen, "twilio", "k") and books.run(seen, "sendgrid", "k")


def test_a_switch_remembers_who_and_when(books: Books) -> None:
    """The last change of a switch stands, with its author (CK-5)."""
    books.run(books.store.set_switch, "channel:sms", True, "ann")
    books.wait(5)
    books.run(books.store.set_switch, "channel:sms", False, "ben")
    row = books.one(switch)
    assert (row["off"], row["changed_by"], row["changed_at"]) == (False, "ben", books.now)


def test_a_hand_over_makes_decisions_in_flight_too_late(books: Books) -> None:
    """Taking a conversation over moves its epoch and is on record (LW-4)."""
    arrived = books.arrive()
    before = books.look(arrived.turn)
    books.run(books.store.set_owner, arrived.conversation, "human", "ann")
    after = books.look(arrived.turn)
    assert (after.owner, after.conversation_epoch) == ("human", before.conversation_epoch + 1)
    assert books.one(conversation)["owner_by"] == "ann"


def test_a_property_is_registered_with_its_digest(books: Books) -> None:
    """Registering again replaces the digest."""
    books.run(books.store.register_property, HOUSE, "d1", [])
    books.run(books.store.register_property, HOUSE, "d2", [])
    assert books.one(property_)["digest"] == "d2"
