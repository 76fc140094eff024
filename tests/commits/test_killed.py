"""kill -9 of a real process in the middle of a commit leaves all of it or nothing."""

from __future__ import annotations

import pickle
import subprocess
import sys

from pipeline.core.commands import Committed, ReviewSignal
from storage.tables import metadata
from tests.support.databases import ANN, Books, engine_of


def contents(books: Books) -> dict[str, list[str]]:
    """Every row of the database."""
    return {table.name: sorted(map(repr, books.rows(table))) for table in metadata.sorted_tables}


def test_a_killed_process_leaves_all_or_nothing(database_url: str) -> None:
    """Killed before any of its statements, the COMMIT included, a reschedule has changed nothing, and the next node commits it whole (CK-1)."""
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
    before = contents(books)
    stride = 1 if database_url.startswith("sqlite") else 3
    victim = subprocess.Popen(
        [sys.executable, "-m", "tests.commits.victim", database_url],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert victim.stdin is not None and victim.stdout is not None
    with victim, victim.stdin as ask, victim.stdout as answers:
        print(pickle.dumps((books.now, command)).hex(), file=ask, flush=True)
        for statement in range(1, 99, stride):
            engine_of(database_url).dispose()
            print(statement, file=ask, flush=True)
            answer = answers.readline().split()
            if answer[0] == "lived":
                break
            assert contents(books) == before, statement
    assert answer[0] == "lived" and 15 < int(answer[1]) < 40
    after = contents(books)
    assert after != before
    assert isinstance(books.commit(command), Committed)
    assert contents(books) == after
