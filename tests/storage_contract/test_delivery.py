"""Delivery events, on both databases: any order, any number of times, before or after the response that they belong to."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import pytest
import sqlalchemy as sa

from pipeline.ports import Accepted, Attempt, MaybeSent, Tx
from pipeline.store import Delivery
from storage.tables import attempt as attempts
from storage.tables import delivery_event, intent, review_case, suppression
from tests.support.databases import ANN, ANN_MAIL, Books

RESPONSE = "response"


def happen(books: Books, attempt: Attempt, steps: Sequence[str]) -> None:
    """Statuses of the provider, and the response to our create request, in the given order."""
    for step in steps:
        books.run(one, books, attempt, step)


def one(tx: Tx, books: Books, attempt: Attempt, step: str) -> None:
    if step == RESPONSE:
        books.store.finish_attempt(tx, attempt, Accepted("SM1"), None)
    else:
        books.store.delivery(tx, Delivery("twilio", "SM1", step, reference=attempt.reference))


@pytest.mark.parametrize("words", [("queued", "sent", "delivered"), ("sent", "undelivered"), ("sent", "failed")])
def test_events_fold_by_rank_whatever_their_order(books: Books, words: tuple[str, ...]) -> None:
    """The provider's words in any order, with the create response anywhere between them: the last word stands (SR-4)."""
    attempt = books.sending()

    def end(tx: Tx, order: Sequence[str]) -> object:
        trying = tx.conn.begin_nested()
        for step in order:
            one(tx, books, attempt, step)
        state = tx.conn.execute(sa.select(intent.c.state)).scalar_one()
        trying.rollback()
        return state

    for order in itertools.permutations([RESPONSE, *words]):
        assert books.run(end, order) == words[-1], order


def test_an_event_counts_once(books: Books) -> None:
    """The same status of the same message is one event, however often it comes; another error is another event (SR-4)."""
    attempt = books.sending()
    books.run(books.store.finish_attempt, attempt, Accepted("SM1"), None)
    event = Delivery("twilio", "SM1", "undelivered", "30003")
    assert books.run(books.store.delivery, event)
    assert not books.run(books.store.delivery, event)
    assert books.run(books.store.delivery, Delivery("twilio", "SM1", "undelivered", "30005"))
    assert len(books.rows(delivery_event)) == 2
    assert (books.one(intent)["error"], books.one(intent)["state"]) == ("30003", "undelivered")
    assert len(books.rows(review_case)) == 1


def test_an_event_before_the_response_finds_its_message_by_our_reference(books: Books) -> None:
    """A webhook that overtakes the create response is matched by the reference that we sent along; the response then changes nothing."""
    attempt = books.sending()
    happen(books, attempt, ["delivered"])
    assert books.one(intent)["state"] == "delivered"
    happen(books, attempt, [RESPONSE])
    assert books.one(intent)["state"] == "delivered"


def test_an_event_without_our_reference_waits_for_the_response(books: Books) -> None:
    """Where only the provider's reference is known the event is folded when the response names it."""
    attempt = books.sending()
    assert books.run(books.store.delivery, Delivery("twilio", "SM1", "delivered"))
    assert books.one(intent)["state"] == "sending"
    happen(books, attempt, [RESPONSE])
    assert books.one(intent)["state"] == "delivered"


def test_an_event_that_crossed_its_response_is_folded_when_it_is_seen_again(books: Books) -> None:
    """An event that was stored before its message was known is folded by the poll that finds the same status (SR-4)."""
    attempt = books.sending()
    event = Delivery("twilio", "SM1", "delivered")
    books.run(books.store.delivery, event)

    def crossed(tx: Tx) -> None:
        tx.conn.execute(sa.update(attempts).values(ref="SM1"))

    books.run(crossed)
    assert books.one(intent, id=attempt.intent)["state"] == "sending"
    assert not books.run(books.store.delivery, event)
    assert books.one(intent)["state"] == "delivered"


def test_an_event_ends_the_doubt_about_a_message(books: Books) -> None:
    """A receipt for a message of unknown outcome proves that it left (SR-3)."""
    attempt = books.sending()
    books.run(books.store.finish_attempt, attempt, MaybeSent("reset"), None)
    happen(books, attempt, ["sent"])
    assert books.one(intent)["state"] == "accepted"
    assert books.run(books.store.unresolved, 9) == []


def test_a_mail_is_found_by_its_message_id(books: Books) -> None:
    """A bounce that names our Message-ID reopens a final acceptance (SR-5)."""
    mail = books.mail()
    books.commit(books.command(books.look(mail.turn)))
    books.compose(f"{mail.turn}-answer", message_id="<ours@house>")
    attempt = books.send()
    books.run(books.store.finish_attempt, attempt, Accepted("queued as 1", final=True), None)
    books.run(books.store.delivery, Delivery("smtp", "dsn-1", "bounce", "5.1.1", reference="<ours@house>"))
    assert (books.one(intent)["state"], books.one(intent)["error"]) == ("undelivered", "5.1.1")
    assert len(books.rows(review_case)) == 1


def test_delivered_after_undelivered_counts(books: Books) -> None:
    """A carrier that corrects itself is believed; one that takes a delivery back is not."""
    attempt = books.sending()
    happen(books, attempt, [RESPONSE, "undelivered", "delivered", "undelivered", "failed"])
    assert books.one(intent)["state"] == "delivered"


def test_an_event_of_nobody_is_kept_and_harms_nothing(books: Books) -> None:
    """An event of a message that is not ours is recorded and moves nothing."""
    attempt = books.sending()
    books.run(books.store.finish_attempt, attempt, Accepted("SM1"), None)
    assert books.run(books.store.delivery, Delivery("twilio", "SM-else", "failed", reference="nobody"))
    assert books.one(intent)["state"] == "accepted"


def test_an_unknown_word_moves_nothing(books: Books) -> None:
    """A status that is not in the table is recorded and changes no state."""
    attempt = books.sending()
    happen(books, attempt, [RESPONSE, "on_the_moon"])
    assert books.one(intent)["state"] == "accepted"


def test_an_asynchronous_opt_out_suppresses(books: Books) -> None:
    """The carrier's opt-out error in a receipt suppresses the address (SR-7)."""
    attempt = books.sending()
    happen(books, attempt, [RESPONSE])
    books.run(books.store.delivery, Delivery("twilio", "SM1", "failed", "21610"))
    assert [(row["channel"], row["address"]) for row in books.rows(suppression)] == [("sms", ANN)]


def test_a_spam_report_suppresses_the_mail_address(books: Books) -> None:
    """Who reports a mail as spam, or unsubscribes, gets none any more (SR-7)."""
    mail = books.mail()
    books.commit(books.command(books.look(mail.turn)))
    books.compose(f"{mail.turn}-answer")
    attempt = books.send()
    happen(books, attempt, [RESPONSE, "spamreport"])
    assert [(row["channel"], row["address"]) for row in books.rows(suppression)] == [("email", ANN_MAIL)]
