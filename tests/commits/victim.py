"""A process whose children commit one command and are killed, without warning, right before one of its statements.

`python -m tests.commits.victim URL` reads the pickled (instant, command) in hex on its first line and answers how many statements the commit has, its
COMMIT included (found out in a transaction that is rolled back, which also compiles them once for all). Each further line is a statement number: it
forks a child, which commits and dies by SIGKILL at that statement, and answers `killed` or `lived`. No connection is open when it forks.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
from collections.abc import Callable
from typing import Any

import sqlalchemy as sa

from pipeline.ports import Tx
from storage.store import SqlStore
from tests.support.databases import SECRET, engine_of


def statements(conn: sa.Connection, work: Callable[[], object], die_at: int | None) -> int:
    """Runs `work` and counts its statements from BEGIN to COMMIT; dies at number `die_at`."""
    seen = 0

    def count(*_: Any) -> None:
        nonlocal seen
        seen += 1
        if seen == die_at:
            os.kill(os.getpid(), signal.SIGKILL)

    sa.event.listen(conn, "before_cursor_execute", count)
    sa.event.listen(conn, "commit", count)
    with conn.begin() as transaction:
        work()
        if die_at is None:
            transaction.rollback()
    return seen


def main(url: str) -> None:
    engine = engine_of(url)
    now, command = pickle.loads(bytes.fromhex(sys.stdin.readline()))

    def commit(die_at: int | None) -> int:
        with engine.connect() as conn:
            return statements(conn, lambda: SqlStore(SECRET).commit(Tx(conn, now), command), die_at)

    print(commit(None) + 1, flush=True)
    engine.dispose()
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            commit(int(line))
            os._exit(0)
        print("killed" if os.WIFSIGNALED(os.waitpid(child, 0)[1]) else "lived", flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
