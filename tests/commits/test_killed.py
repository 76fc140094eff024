"""kill -9 of a real process in the middle of a commit leaves all of it or nothing."""

from __future__ import annotations

import pickle
import subprocess
import sys

from pipeline.core.commands import Committed, ReviewSignal
from tests.support.databases import ANN, Books, engine_of


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
    victim = subprocess.Popen(
        [sys.executable, "-m", "tests.commits.victim", database_url],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert victim.stdin is not None and victim.stdout is not None
    with victim, victim.stdin as ask, victim.stdout as answers:
        print(pickle.dumps((books.now, command)).hex(), file=ask, flush=True)
        last = int(answers.readline())
        assert 15 < last < 40
        points = range(1, last + 1, 2 if database_url.startswith("sqlite") else 5)
        for point in sorted({*points, last - 1, last, last + 1}):
            engine_of(database_url).dispose()
            print(point, file=ask, flush=True)
            answer = answers.readline().split()
            if point <= last:
                assert answer == ["killed"] and books.contents() == before, point
    assert answer == ["lived"]
    after = books.contents()
    assert after != before
    assert isinstance(books.commit(command), Committed)
    assert books.contents() == after
