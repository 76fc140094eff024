"""Traces, on both databases: a cursor that skips nothing."""

from __future__ import annotations

import threading

from pipeline.core.commands import TraceEvent
from pipeline.ports import Tx
from tests.support.databases import BEN, Books


def event(kind: str) -> TraceEvent:
    return TraceEvent("rail", kind, {"x": 1}, personal=True)


def test_events_are_numbered_per_topic_and_in_all(books: Books) -> None:
    """Each topic counts its own events without holes, and the whole log has one order; bodies come back as they went in (TR-1)."""
    turn = books.arrive()
    for number, topic in enumerate((turn.conversation, "relay", turn.conversation)):
        books.wait(1)
        books.run(books.store.trace, topic, turn.turn, [event(f"a{number}"), event(f"b{number}")])
    rows = books.run(books.store.tail, 0, 99)
    assert [row["position"] for row in rows] == list(range(1, len(rows) + 1))
    assert [row["seq"] for row in rows if row["topic"] == "relay"] == [1, 2]
    mine = [row["seq"] for row in rows if row["topic"] == turn.conversation]
    assert mine == list(range(1, len(mine) + 1)) and len(mine) >= 4
    first = next(row for row in rows if row["kind"] == "a0")
    assert (first["kind"], first["stage"], first["body"], first["personal"]) == ("a0", "rail", {"x": 1}, True)
    assert (first["turn"], first["at"]) == (turn.turn, books.at(-2))


def test_a_cursor_reads_on_where_it_was(books: Books) -> None:
    """Reading in small steps after the last position gives every event once."""
    books.run(books.store.trace, "t", None, [event(str(n)) for n in range(7)])
    seen: list[str] = []
    after = 0
    while rows := books.run(books.store.tail, after, 3):
        seen += [row["kind"] for row in rows]
        after = rows[-1]["position"]
    assert seen == [str(n) for n in range(7)]
    books.run(books.store.trace, "t", None, [])
    assert books.run(books.store.tail, after, 3) == []


def test_the_commit_of_a_conversation_continues_its_numbers(books: Books) -> None:
    """What commit writes and what others write to the same conversation is one sequence."""
    seen = books.look(books.arrive().turn)
    books.run(books.store.trace, seen.conversation, None, [event("before")])
    books.commit(books.command(books.look(seen.turn), trace=(event("c1"), event("c2"))))
    books.run(books.store.trace, seen.conversation, None, [event("after")])
    rows = books.traced("rail")
    assert [row["kind"] for row in rows] == ["before", "c1", "c2", "after"]
    assert [row["seq"] - rows[0]["seq"] for row in rows] == [0, 1, 2, 3]


def test_a_refused_commit_leaves_no_hole(books: Books) -> None:
    """Numbers that a refusal drew are given out again."""
    seen = books.look(books.arrive().turn)
    books.run(books.store.set_switch, "channel:sms", True, "op")
    before = books.run(books.store.tail, 0, 99)
    books.commit(books.command(seen))
    books.run(books.store.trace, seen.conversation, None, [event("next")])
    rows = books.run(books.store.tail, 0, 99)
    assert len(rows) == len(before) + 1
    assert [row["position"] for row in rows] == [row["seq"] for row in rows] == list(range(1, len(rows) + 1))


def test_a_reader_never_sees_a_later_event_before_an_earlier_one(books: Books) -> None:
    """While writers race, and one of them rolls back, every reading is a prefix of the log without holes: a cursor loses nothing (TR-2)."""
    conversations = [books.arrive(address=f"+131255577{number:02}").conversation for number in range(4)]
    start = len(books.run(books.store.tail, 0, 999))
    readings: list[list[int]] = []
    writing = threading.Event()

    class Gone(Exception):
        pass

    def write(number: int) -> None:
        def once(tx: Tx, fail: bool) -> None:
            books.store.trace(tx, conversations[number], None, [event(f"{number}"), event(f"{number}")])
            if fail:
                raise Gone

        for turn in range(12):
            try:
                books.run(once, turn % 4 == 3)
            except Gone:
                continue

    def read() -> None:
        while not writing.is_set():
            readings.append([row["position"] for row in books.read(books.store.tail, 0, 999)])

    reader = threading.Thread(target=read)
    writers = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    reader.start()
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    writing.set()
    reader.join()
    readings.append([row["position"] for row in books.run(books.store.tail, 0, 999)])
    assert readings[-1] == list(range(1, start + 4 * 9 * 2 + 1))
    assert all(reading == list(range(1, len(reading) + 1)) for reading in readings)
    assert books.arrive(address=BEN).conversation not in conversations
