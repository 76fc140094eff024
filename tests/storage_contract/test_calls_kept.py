"""Calls, on both databases: a start, a token, what was heard, an end; each once."""

from __future__ import annotations

from dataclasses import replace

from pipeline.store import NewCall, SpokenRow
from storage.tables import call, utterance
from tests.support.databases import ANN, HOUSE, OURS, Books


def start(books: Books) -> NewCall:
    new = NewCall("call-1", "CA1", HOUSE, ANN, OURS, False, "digest", books.at(60), books.now)
    assert books.run(books.store.start_call, new)
    return new


def test_a_call_starts_once(books: Books) -> None:
    """A replayed webhook starts no second call and leaves the first one's token alone (OP-3)."""
    new = start(books)
    assert not books.run(books.store.start_call, replace(new, id="call-2", token_digest="other"))
    assert books.one(call)["token_digest"] == "digest"


def test_a_media_token_opens_one_stream(books: Books) -> None:
    """The right token in time opens the call's stream, once (OP-3)."""
    start(books)
    use = books.store.use_media_token
    assert books.run(use, "CA1", "wrong") is None and books.run(use, "CA2", "digest") is None
    assert books.run(use, "CA1", "digest") == "call-1"
    assert books.run(use, "CA1", "digest") is None


def test_an_old_media_token_opens_nothing(books: Books) -> None:
    """A token past its time, or of a call that has ended, is refused."""
    start(books)
    books.wait(60)
    assert books.run(books.store.use_media_token, "CA1", "digest") is None
    new = NewCall("call-2", "CA2", HOUSE, ANN, OURS, False, "digest", books.at(60), books.now)
    books.run(books.store.start_call, new)
    books.run(books.store.end_call, "CA2", "completed")
    assert books.run(books.store.use_media_token, "CA2", "digest") is None


def test_a_call_is_found_by_its_providers_id(books: Books) -> None:
    """The row comes without its token; an unknown id is None."""
    start(books)
    found = books.run(books.store.call_by_provider_id, "CA1")
    assert found is not None and (found["id"], found["address"], found["ended_at"]) == ("call-1", ANN, None)
    assert not any(name.startswith("token") for name in found)
    assert books.run(books.store.call_by_provider_id, "CA9") is None


def test_what_was_heard_only_grows(books: Books) -> None:
    """Marks extend what was heard of an utterance; a late, shorter report takes nothing back, and what was said never changes (IN-11)."""
    start(books)
    row = SpokenRow("u1", "call-1", None, "clara", "Tuesday at three", "", books.now, ({"fact": 1},))
    record = books.store.record_utterances
    books.run(record, [row])
    books.run(record, [replace(row, heard="Tuesday at three", heard_whole=True, text="tampered")])
    books.run(record, [replace(row, heard="Tuesday")])
    kept = books.one(utterance)
    assert (kept["text"], kept["heard"], kept["heard_whole"]) == ("Tuesday at three", "Tuesday at three", True)
    assert kept["facts"] == [{"fact": 1}]


def test_a_call_ends_once(books: Books) -> None:
    """The first end has the call's id; every later one, and that of an unknown call, is None (VO-8)."""
    start(books)
    assert books.run(books.store.end_call, "CA1", "completed") == "call-1"
    assert books.run(books.store.end_call, "CA1", "failed") is None
    assert books.run(books.store.end_call, "CA9", "completed") is None
    assert books.one(call)["outcome"] == "completed"
