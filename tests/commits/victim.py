"""A process whose children commit one command and are killed, without warning, right before one of its statements.

`python -m tests.commits.victim URL` reads the pickled (instant, command) in hex on its first line, then statement numbers, one a line. For each it
forks a child, which commits and dies by SIGKILL at that statement, and answers `killed`, or `lived N` where the commit has only N statements. The
process itself holds no connection, so that a fork is clean.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from pipeline.core.commands import Commit
from pipeline.ports import Tx
from storage.database import sqlite_engine, sync_url
from storage.store import SqlStore
from storage.types import dumps
from tests.support.databases import SECRET


def commit_and_die(url: str, now: datetime, command: Commit, statement: int) -> int:
    """Commits `command`; dies at statement number `statement`, or lives and returns how many there were. The COMMIT itself is the last."""
    parsed = sync_url(url)
    lite = parsed.get_backend_name() == "sqlite"
    engine = sqlite_engine(parsed) if lite else sa.create_engine(parsed, json_serializer=dumps)
    seen = 0

    def count(*_: Any) -> None:
        nonlocal seen
        seen += 1
        if seen == statement:
            os.kill(os.getpid(), signal.SIGKILL)

    with engine.connect() as conn:
        sa.event.listen(conn, "before_cursor_execute", count)
        sa.event.listen(conn, "commit", count)
        with conn.begin():
            SqlStore(SECRET).commit(Tx(conn, now), command)
    return seen


def main(url: str) -> None:
    now, command = pickle.loads(bytes.fromhex(sys.stdin.readline()))
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            os._exit(commit_and_die(url, now, command, int(line)))
        status = os.waitpid(child, 0)[1]
        print("killed" if os.WIFSIGNALED(status) else f"lived {os.waitstatus_to_exitcode(status)}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
