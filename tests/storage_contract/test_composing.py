"""From the promise to the bytes, on both databases: once, on the row before anything leaves."""

from __future__ import annotations

from pipeline.core.commands import NewIntent, ReviewSignal, TraceEvent
from pipeline.core.types import Health, Purpose
from storage.tables import gate_verdict, intent, review_case, turn
from tests.support.databases import ANN, HOUSE, OURS, START, Books, payload

SIGNAL = ReviewSignal("gate:amount", "Clara could not verify what she was about to say")


def after_call(books: Books, turn_id: str, plan: str) -> NewIntent:
    return NewIntent(
        f"{turn_id}-after", Purpose.AFTER_CALL, "sms", OURS, ANN, "en", {"outcome": plan}, held=True, call="call-1"
    )


def test_a_promise_has_what_its_payload_is_made_from(books: Books) -> None:
    """A promised row carries plan, words of the trigger, history, codes and what the tour is now, and nothing of later turns (CO-2)."""
    books.run(books.store.register_property, HOUSE, "d", [("gate", "4711")])
    arrived = books.book(books.at(86400))
    books.arrive("a later text")
    (row,) = books.run(books.store.promised, arrived.turn)
    assert (row.id, row.purpose, row.recipient, row.text) == (f"{arrived.turn}-answer", "answer", ANN, "A tour, please")
    assert (row.tour_state, row.secrets, row.first_message, row.state) == (
        "PROPOSED",
        (("gate", "4711"),),
        True,
        "promised",
    )
    assert (row.created_at, row.fallback_at) == (START, books.at(60))
    assert row.plan == {"outcome": "test", "turn": arrived.turn}


def test_a_payload_is_written_once(books: Books) -> None:
    """The first payload stays, with its digest, segments and verdict; a second one is refused (CO-3, IN-7)."""
    arrived = books.answered()
    name = f"{arrived.turn}-answer"
    assert books.compose(name, "first") and not books.compose(name, "second")
    row = books.one(intent)
    assert (row["state"], row["payload"], row["text"], row["segments"]) == (
        "composed",
        b"first",
        "first",
        [{"text": "first"}],
    )
    assert row["digest"] == payload("first").digest
    assert [(v["intent"], v["verdict"]) for v in books.rows(gate_verdict)] == [(name, {"passed": True})]
    assert books.run(books.store.promised, arrived.turn) == []


def test_a_turn_settles_with_its_last_payload(books: Books) -> None:
    """A turn that promised an answer and a note is settled when both have their bytes, not before."""
    seen = books.look(books.arrive().turn)
    note = books.answer(
        seen, id="note", purpose=Purpose.STAFF_NOTE, channel="email", recipient="office@house", customer_facing=False
    )
    books.commit(books.command(seen, intents=(books.answer(seen), note)))
    assert [row.id for row in books.run(books.store.promised, seen.turn)] == ["note", f"{seen.turn}-answer"]
    books.compose("note")
    assert books.one(turn)["state"] == "committed"
    books.compose(f"{seen.turn}-answer")
    assert books.one(turn)["state"] == "settled"


def test_a_superseded_promise_is_not_composed(books: Books) -> None:
    """Who composes an answer whose place was taken meanwhile is told so."""
    first = books.answered()
    books.answered()
    assert not books.compose(f"{first.turn}-answer")


# --- refusals -----------------------------------------------------------------------------------------------------


def test_a_refused_draft_is_parked_and_the_holding_text_goes(books: Books) -> None:
    """The draft goes into a case, the same intent carries the holding text, the turn is degraded and held (OG-7)."""
    arrived = books.answered()
    name = f"{arrived.turn}-answer"
    assert books.run(books.store.park, name, "It costs $12", {"passed": False}, SIGNAL, payload("One moment"))
    row, ended = books.one(intent), books.one(turn)
    assert (row["state"], row["text"]) == ("composed", "One moment")
    assert (ended["state"], ended["ending"], ended["health"]) == ("settled", "held", "degraded")
    case = books.one(review_case)
    assert (case["draft"], case["intent"], case["state"]) == ("It costs $12", name, "open")
    assert not books.run(books.store.park, name, "again", {}, SIGNAL, None)


def test_a_draft_without_a_holding_text_waits_for_a_person(books: Books) -> None:
    """Where nothing may leave the intent is parked, and the relay does not see it."""
    arrived = books.answered()
    assert books.run(books.store.park, f"{arrived.turn}-answer", "It costs $12", {}, SIGNAL, None)
    assert (books.one(intent)["state"], books.one(turn)["health"]) == ("parked", "parked")
    assert books.run(books.store.lease_intents, "node", 9, 30) == []
    assert books.run(books.store.due_fallbacks, 9) == []


def test_a_refused_note_does_not_hold_the_customer(books: Books) -> None:
    """A parked note to the office leaves the customer's ending as it is."""
    seen = books.look(books.arrive().turn)
    note = books.answer(seen, id="note", purpose=Purpose.STAFF_NOTE, customer_facing=False)
    books.commit(books.command(seen, intents=(note,)))
    books.run(books.store.park, "note", "x", {}, SIGNAL, None)
    assert books.one(turn)["ending"] == "answered"


# --- the fallback -------------------------------------------------------------------------------------------------


def test_a_promise_falls_back_after_its_minute(books: Books) -> None:
    """Sixty seconds after the commit an intent without an attempt is due, once, and the minimal text takes its place (CO-3)."""
    arrived = books.answered()
    name = f"{arrived.turn}-answer"
    books.wait(59)
    assert books.run(books.store.due_fallbacks, 9) == []
    books.wait(1)
    (row,) = books.run(books.store.due_fallbacks, 9)
    assert row.id == name and books.run(books.store.fall_back, name, payload("We will be in touch"), {"passed": True})
    assert books.run(books.store.due_fallbacks, 9) == []
    assert (books.one(intent)["text"], books.one(intent)["state"]) == ("We will be in touch", "composed")
    assert (books.one(turn)["state"], books.one(turn)["health"]) == ("settled", "degraded")
    assert not books.compose(name, "too late")


def test_a_composed_message_that_nobody_takes_falls_back_too(books: Books) -> None:
    """A payload that no relay has taken for a minute gives way; so does one whose relay died before its attempt."""
    name = books.composed()
    books.run(books.store.lease_intents, "node", 9, 30)
    books.wait(60)
    assert [row.id for row in books.run(books.store.due_fallbacks, 9)] == [name]
    assert books.run(books.store.fall_back, name, payload("minimal"), {})
    (lease,) = books.run(books.store.lease_intents, "node", 9, 30)
    assert lease.payload == b"minimal"


def test_after_an_attempt_nothing_falls_back(books: Books) -> None:
    """Once an attempt exists the payload stays what it was, whatever became of it (CO-3)."""
    attempt = books.sending()
    books.wait(120)
    assert books.run(books.store.due_fallbacks, 9) == []
    assert not books.run(books.store.fall_back, attempt.intent, payload("minimal"), {})
    assert books.one(intent)["text"] == "Hi there"


def test_a_message_in_a_relays_hand_does_not_change(books: Books) -> None:
    """A live lease protects the bytes that the relay has read."""
    name = books.composed()
    books.wait(59)
    books.run(books.store.lease_intents, "node", 9, 30)
    books.wait(2)
    assert books.run(books.store.due_fallbacks, 9) == []
    assert not books.run(books.store.fall_back, name, payload("minimal"), {})


# --- calls --------------------------------------------------------------------------------------------------------


def test_a_calls_turn_settles_when_it_is_spoken(books: Books) -> None:
    """The turn of a call owes words, also without a text; handing them to the speaker settles it with verdict and trace."""
    seen = books.look(books.arrive(channel="voice", call="call-1").turn)
    books.commit(books.command(seen, intents=(), trace=()))
    assert books.one(turn)["state"] == "committed"
    books.run(books.store.spoken_answer, seen.turn, {"passed": True}, [TraceEvent("speech", "spoken", {})])
    assert books.one(turn)["state"] == "settled"
    assert len(books.rows(gate_verdict)) == len(books.traced("speech")) == 1


def test_the_text_after_a_call_waits_for_its_end(books: Books) -> None:
    """A held text is neither composed nor due nor sent until the call ends; then its minute starts and its turn owes it (CO-1, CO-3)."""
    seen = books.look(books.arrive(channel="voice", call="call-1").turn)
    books.commit(books.command(seen, intents=(after_call(books, seen.turn, "booked"),)))
    books.run(books.store.spoken_answer, seen.turn, {}, [])
    name = f"{seen.turn}-after"
    assert books.run(books.store.promised, seen.turn) == [] and not books.compose(name)
    books.wait(3600)
    assert books.run(books.store.due_fallbacks, 9) == []
    assert books.run(books.store.release_held, "call-1", books.at(60)) == [seen.turn]
    assert books.run(books.store.release_held, "call-1", books.at(60)) == []
    (lease,) = books.run(books.store.lease_turns, "node", 9, 30)
    assert (lease.turn, lease.state) == (seen.turn, "committed")
    assert [row.fallback_at for row in books.run(books.store.promised, seen.turn)] == [books.at(60)]
    assert books.compose(name) and books.one(turn)["state"] == "settled"


def test_one_text_follows_a_call(books: Books) -> None:
    """Each commit of a call puts its plan in the place of the last: the text that leaves says how things stand at the end (CO-1)."""
    for plan in ("booked", "moved", "cancelled"):
        seen = books.look(books.arrive(channel="voice", call="call-1").turn)
        books.commit(books.command(seen, intents=(after_call(books, seen.turn, plan),)))
        books.run(books.store.spoken_answer, seen.turn, {}, [])
    (row,) = books.rows(intent)
    assert row["plan"] == {"outcome": "cancelled"} and row["turn"] == seen.turn
    assert books.run(books.store.release_held, "call-1", books.at(60)) == [seen.turn]


def test_a_dropped_call_still_sends_its_text(books: Books) -> None:
    """Where the answer was never spoken the text settles the turn all the same (VO-8)."""
    seen = books.look(books.arrive(channel="voice", call="call-1").turn)
    books.commit(books.command(seen, intents=(after_call(books, seen.turn, "booked"),)))
    books.run(books.store.release_held, "call-1", books.at(60))
    assert books.compose(f"{seen.turn}-after")
    assert (books.one(turn)["state"], books.one(turn)["health"]) == ("settled", Health.HEALTHY)
