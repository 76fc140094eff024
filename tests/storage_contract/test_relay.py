"""The rail's side of the outbox, on both databases: one sender at a time, nothing sent twice, doubt kept as doubt."""

from __future__ import annotations

from typing import Any

import pytest

from pipeline.core.types import Purpose
from pipeline.ports import Absent, Accepted, CannotTell, Found, MaybeSent, NotSent, Refused
from storage.tables import attempt as attempts
from storage.tables import delivery_event, intent, review_case, suppression
from tests.support.databases import ANN, BEN, HOUSE, Books


def leases(books: Books, node: str = "node", seconds: float = 30, limit: int = 9) -> list[str]:
    return [lease.intent for lease in books.run(books.store.lease_intents, node, limit, seconds)]


def finish(books: Books, attempt: Any, outcome: Any, retry: float | None = None) -> None:
    at = None if retry is None else books.at(retry)
    books.run(books.store.finish_attempt, attempt, outcome, at)


def resolve(books: Books, sending: Any, outcome: Any) -> None:
    give_up = sending.attempt.opened_at + (books.at(600) - books.now)
    books.run(books.store.resolve, sending.attempt, outcome, books.at(30), give_up)


# --- leases -------------------------------------------------------------------------------------------------------


def test_a_composed_message_is_leased_by_one(books: Books) -> None:
    """A composed message is leased once, with its stored bytes; a lease that ran out is taken again with a greater fence (SR-1)."""
    name = books.composed("Hello Ann")
    (lease,) = books.run(books.store.lease_intents, "a", 9, 30)
    assert (lease.intent, lease.payload, lease.recipient, lease.attempts) == (name, b"Hello Ann", ANN, 0)
    assert (lease.owner, lease.suppressed, lease.switches, lease.until) == ("clara", False, frozenset(), books.at(30))
    assert leases(books) == []
    books.wait(30)
    (again,) = books.run(books.store.lease_intents, "b", 9, 30)
    assert again.intent == name and again.fence > lease.fence
    assert books.run(books.store.begin_attempt, lease, "late") is None


def test_promises_and_held_texts_are_not_leased(books: Books) -> None:
    """Without bytes there is nothing to send."""
    books.answered()
    assert leases(books) == []


def test_one_message_at_a_time_per_recipient(books: Books) -> None:
    """Messages to one recipient on one channel leave in their order; other recipients do not wait."""
    seen = books.look(books.arrive().turn)
    two = (books.answer(seen), books.answer(seen, id="second", purpose=Purpose.HOLDING))
    books.commit(books.command(seen, intents=two))
    books.compose("second", "two")
    books.wait(1)
    first, other = f"{seen.turn}-answer", books.composed("three", address=BEN)
    assert leases(books) == ["second", other]
    books.compose(first, "one")
    assert leases(books) == []


def test_a_message_waits_for_the_one_before_it(books: Books) -> None:
    """The next message to a recipient is leased when the one before it is with the provider."""
    attempt = books.sending()
    books.wait(1)
    name = books.composed("next")
    assert leases(books) == []
    finish(books, attempt, Accepted("SM1"))
    assert leases(books) == [name]


def test_an_unknown_outcome_does_not_hold_up_what_follows(books: Books) -> None:
    """While one message is being asked about the next one leaves."""
    attempt = books.sending()
    books.wait(1)
    name = books.composed("next")
    finish(books, attempt, MaybeSent("reset"))
    assert leases(books) == [name]


# --- attempts -----------------------------------------------------------------------------------------------------


def test_an_attempt_is_on_record_before_the_first_byte(books: Books) -> None:
    """Beginning writes `sending` and a numbered attempt with our reference; a second beginning of the same lease is refused (SR-3)."""
    books.composed("Hello")
    (lease,) = books.run(books.store.lease_intents, "node", 9, 30)
    attempt = books.run(books.store.begin_attempt, lease, "attempt")
    assert attempt is not None
    assert (attempt.number, attempt.payload, attempt.reference, attempt.opened_at) == (
        1,
        b"Hello",
        lease.intent,
        books.now,
    )
    row = books.one(attempts)
    assert (row["id"], row["intent"], row["closed_at"], row["node"]) == ("attempt", lease.intent, None, "node")
    assert books.one(intent)["state"] == "sending"
    assert books.run(books.store.begin_attempt, lease, "again") is None


def test_a_superseded_message_is_not_begun(books: Books) -> None:
    """A message whose place was taken after its lease does not leave (TX-4)."""
    books.composed()
    (lease,) = books.run(books.store.lease_intents, "node", 9, 30)
    books.answered()
    assert books.run(books.store.begin_attempt, lease, "attempt") is None
    assert not books.rows(attempts)


def test_an_expired_lease_begins_nothing(books: Books) -> None:
    """Who slept over the lease sends nothing, also where nobody took it."""
    books.composed()
    (lease,) = books.run(books.store.lease_intents, "node", 9, 30)
    books.wait(30)
    assert books.run(books.store.begin_attempt, lease, "attempt") is None


@pytest.mark.parametrize("what", ["owner", "suppressed", "switch"])
def test_policy_that_moved_since_the_lease_stops_the_attempt(books: Books, what: str) -> None:
    """A hand-over, an opt-out or a switch after the lease comes before the first byte (IN-8, IN-9, CK-5)."""
    books.composed()
    (lease,) = books.run(books.store.lease_intents, "node", 9, 30)
    if what == "owner":
        books.run(books.store.set_owner, lease.conversation, "human", "op")
    elif what == "switch":
        books.run(books.store.set_switch, "channel:sms", True, "op")
    else:
        seen = books.look(books.arrive("STOP").turn)
        books.commit(books.command(seen, suppress=("sms", ANN), supersede_unsent=False))
    assert books.run(books.store.begin_attempt, lease, "attempt") is None
    books.wait(30)
    (again,) = books.run(books.store.lease_intents, "node", 9, 30)
    assert (again.owner == "human", again.suppressed, bool(again.switches)).count(True) == 1


# --- policy -------------------------------------------------------------------------------------------------------


def test_a_blocked_message_comes_back_when_its_window_opens(books: Books) -> None:
    """A blocked send is a recorded state with a re-try time, and is validated again then (SR-2)."""
    name = books.composed()
    (lease,) = books.run(books.store.lease_intents, "node", 9, 30)
    books.run(books.store.block, lease, "quiet_hours", books.at(3600))
    assert (books.one(intent)["state"], books.one(intent)["reason"]) == ("blocked", "quiet_hours")
    books.wait(3599)
    assert leases(books) == []
    books.wait(1)
    assert leases(books) == [name]


def test_a_message_that_may_never_leave_is_discarded(books: Books) -> None:
    """Without a re-try time the message ends, with the reason on record (SR-2)."""
    books.composed()
    (lease,) = books.run(books.store.lease_intents, "node", 9, 30)
    books.run(books.store.block, lease, "suppressed", None)
    books.run(books.store.block, lease, "again", books.at(1))
    assert (books.one(intent)["state"], books.one(intent)["reason"]) == ("discarded", "suppressed")
    books.wait(9999)
    assert leases(books) == []


# --- outcomes -----------------------------------------------------------------------------------------------------


def test_acceptance_is_kept_with_the_providers_reference(books: Books) -> None:
    """What the provider said is on the attempt; the message is accepted and never leased again (SR-6, IN-6)."""
    attempt = books.sending()
    finish(books, attempt, Accepted("SM1"))
    assert (books.one(attempts)["ref"], books.one(attempts)["outcome"]) == ("SM1", "accepted")
    assert books.one(intent)["state"] == "accepted"
    books.wait(9999)
    assert leases(books) == [] and books.run(books.store.unresolved, 9) == []


@pytest.mark.parametrize("outcome", [NotSent("refused connection"), Refused("retryable", "429", "slow down")])
def test_what_provably_did_not_leave_is_tried_again(books: Books, outcome: object) -> None:
    """The same bytes go out again at the re-try time, as attempt two (SR-1, SR-6)."""
    attempt = books.sending("Hello")
    finish(books, attempt, outcome, retry=4)
    assert leases(books) == []
    books.wait(4)
    second = books.send()
    assert (second.number, second.payload, second.intent) == (2, b"Hello", attempt.intent)


@pytest.mark.parametrize("outcome", [NotSent("refused connection"), Refused("fatal", "21211", "no such number")])
def test_a_send_that_fails_for_good_has_a_case(books: Books, outcome: object) -> None:
    """With no try left, or none that helps, the message has failed and a person sees it (SR-6)."""
    attempt = books.sending()
    finish(books, attempt, outcome)
    assert books.one(intent)["state"] == "failed"
    case = books.one(review_case)
    assert (case["intent"], case["state"]) == (attempt.intent, "open")


def test_a_carriers_opt_out_suppresses(books: Books) -> None:
    """The carrier's word that a person has opted out counts as theirs (SR-7)."""
    finish(books, books.sending(), Refused("opted_out", "21610", "unsubscribed"))
    assert [(row["channel"], row["address"]) for row in books.rows(suppression)] == [("sms", ANN)]


def test_the_outcome_of_an_older_attempt_changes_nothing(books: Books) -> None:
    """A late word about attempt one does not touch a message whose attempt two is under way."""
    first = books.sending()
    finish(books, first, NotSent("refused connection"), retry=0)
    books.send()
    finish(books, first, Refused("fatal", "1", "x"))
    assert books.one(intent)["state"] == "sending"


# --- doubt --------------------------------------------------------------------------------------------------------


def test_a_send_without_an_outcome_is_asked_about_and_never_leased(books: Books) -> None:
    """A relay that died in the middle leaves a question, not a second message (SR-3)."""
    attempt = books.sending()
    assert books.run(books.store.unresolved, 9) == []
    books.wait(30)
    assert leases(books) == []
    (open_,) = books.run(books.store.unresolved, 9)
    assert (open_.attempt, open_.state, open_.ref, open_.asked) == (attempt, "sending", None, 0)
    assert books.run(books.store.unresolved, 9) == []
    books.wait(30)
    (open_,) = books.run(books.store.unresolved, 9)
    assert (open_.state, open_.asked) == ("unknown", 1)
    assert leases(books) == []


def test_a_doubtful_send_is_asked_about_at_once(books: Books) -> None:
    """A reset after the request left makes the outcome unknown and due for a question (SR-3)."""
    finish(books, books.sending(), MaybeSent("reset"))
    (open_,) = books.run(books.store.unresolved, 9)
    assert (open_.state, open_.asked) == ("unknown", 0)


def test_a_message_that_the_provider_has_is_accepted(books: Books) -> None:
    """Found settles the doubt, with the provider's reference and what it knows of the delivery (SR-3, SR-4)."""
    attempt = books.sending()
    finish(books, attempt, MaybeSent("reset"))
    (open_,) = books.run(books.store.unresolved, 9)
    resolve(books, open_, Found("SM7", "delivered"))
    assert (books.one(intent)["state"], books.one(attempts)["ref"]) == ("delivered", "SM7")


def test_absence_counts_after_the_quiet_period(books: Books) -> None:
    """A message that the provider does not list yet is asked about again; past two minutes its bytes may go out again (SR-3)."""
    attempt = books.sending()
    finish(books, attempt, MaybeSent("reset"))
    (open_,) = books.run(books.store.unresolved, 9)
    resolve(books, open_, Absent())
    assert books.one(intent)["state"] == "unknown" and leases(books) == []
    books.wait(120)
    (open_,) = books.run(books.store.unresolved, 9)
    resolve(books, open_, Absent())
    assert leases(books) == [attempt.intent]


def test_what_stays_unknown_becomes_a_case_and_is_never_sent_again(books: Books) -> None:
    """After ten minutes without knowledge a person decides (SR-3)."""
    finish(books, books.sending(), MaybeSent("reset"))
    for _ in range(30):
        for open_ in books.run(books.store.unresolved, 9):
            resolve(books, open_, CannotTell("no list here"))
        books.wait(30)
    assert books.one(intent)["state"] == "unknown"
    assert len(books.rows(review_case)) == 1 and len(books.rows(attempts)) == 1
    assert books.run(books.store.unresolved, 9) == [] and leases(books) == []


def test_a_late_answer_ends_the_doubt(books: Books) -> None:
    """The provider's answer that comes after the lease ran out still counts."""
    attempt = books.sending()
    books.wait(31)
    books.run(books.store.unresolved, 9)
    finish(books, attempt, Accepted("SM1"))
    assert books.one(intent)["state"] == "accepted"


def test_resolution_of_a_settled_message_changes_nothing(books: Books) -> None:
    """Two nodes that asked about the same message write one result."""
    attempt = books.sending()
    finish(books, attempt, MaybeSent("reset"))
    (open_,) = books.run(books.store.unresolved, 9)
    resolve(books, open_, Found("SM1", "sent"))
    books.wait(200)
    resolve(books, open_, Absent())
    assert books.one(intent)["state"] == "accepted"


def test_accepted_without_evidence_is_asked_about_ever_more_rarely(books: Books) -> None:
    """An accepted message without a receipt is polled after its time, then after 1, 2, 4 minutes; a final acceptance never is (SR-4, SR-5)."""
    finish(books, books.sending(), Accepted("SM1"))
    finish(books, books.sending(address=BEN), Accepted("SM2", final=True))
    assert books.run(books.store.undelivered_since, books.at(-20), 9) == []
    gaps, waited = [], 0
    for _ in range(8 * 60 // 10):
        books.wait(10)
        waited += 10
        for row in books.run(books.store.undelivered_since, books.at(-20), 9):
            assert (row.ref, row.state) == ("SM1", "accepted")
            gaps.append(waited)
            waited = 0
    assert gaps == [20, 60, 120, 240]
    assert not books.rows(delivery_event) and books.rows(intent, property=HOUSE)
