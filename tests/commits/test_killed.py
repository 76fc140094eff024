"""kill -9 of a real process in the middle of a commit leaves all of it or nothing."""

from __future__ import annotations

import pickle
import subprocess
import sys
from typing import Any

import sqlalchemy as sa

from pipeline.core.commands import Commit, Committed, ReviewSignal
from pipeline.ports import Tx
from tests.support.databases import ANN, Books, engine_of


def statements(books: Books, command: Commit) -> int:
    """How many statements the commit has, its COMMIT included; found out in a transaction that is rolled back."""
    seen: list[str] = []

    def count(_conn: Any, _cursor: Any, statement: str, *_: Any) -> None:
        seen.append(statement)

    with books.engine.connect() as conn:
        sa.event.listen(conn, "before_cursor_execute", count)
        conn.begin()
        books.store.commit(Tx(conn, books.now), command)
        conn.rollback()
    return len(seen) + 1


def test_a_killed_process_leaves_all_or_nothing(database_url: str) -> None:
    """Killed before its statements (every second or fifth, and each of the last ones) a reschedule has changed nothing; the next node commits it whole (CK-1)."""
    books = Books.open(database_url)
    first = books.book(books.at(86400))
    books.compose(f"{first.turn}-answer")
    seen = books.look(books.arrive("Wednesday instead").turn)
    command = books.command(
        seen,
        changes=(books.move(seen, books.at(172800)),),
        suppress=("email", ANN),
        review=ReviewSignal("signature", "summary"),
    )
    before = books.contents()
    last = statements(books, command)
    assert 15 < last < 40
    points = range(1, last + 1, 2 if database_url.startswith("sqlite") else 5)
    victim = subprocess.Popen(
        [sys.executable, "-m", "tests.commits.victim", database_url],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert victim.stdin is not None and victim.stdout is not None
    with victim, victim.stdin as ask, victim.stdout as answers:
        print(pickle.dumps((books.now, command)).hex(), file=ask, flush=True)
        for point in sorted({*points, last - 1, last, last + 1}):
            engine_of(database_url).dispose()
            print(point, file=ask, flush=True)
            answer = answers.readline().split()
            if point <= last:
                assert answer == ["killed"] and books.contents() == before, point
    assert answer == ["lived", str(last)]
    after = books.contents()
    assert after != before
    assert isinstance(books.commit(command), Committed)
    assert books.contents() == after
