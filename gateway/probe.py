"""`clara probe KIND`: one JSON line out for each JSON line in, same id, same order. Production's own functions answer.

No database, no network, no settings; each kind imports only what it asks. A line that cannot be read is answered with its error, the run goes on, and the exit
status is 2 at the end.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable, Iterable
from pkgutil import iter_modules
from typing import Any, TextIO

from gateway import probes


def kinds() -> list[str]:
    """The kinds that there are, one module each."""
    return sorted(module.name for module in iter_modules(probes.__path__))


def run(kind: str, lines: Iterable[str], out: TextIO) -> int:
    """Answers every line; the exit status."""
    answer: Callable[[dict[str, Any]], dict[str, Any]] = importlib.import_module(f"gateway.probes.{kind}").answer
    status = 0
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        row: Any = None
        try:
            row = json.loads(line)
            if not isinstance(row, dict):
                raise ValueError("the line is not a JSON object")
            found = {"id": row.get("id")} | answer(row)
        except (ValueError, KeyError, TypeError, RecursionError) as problem:
            status = 2
            name = row.get("id", number) if isinstance(row, dict) else number
            found = {"id": name, "error": f"{type(problem).__name__}: {problem}"}
        out.write(json.dumps(found, ensure_ascii=False, default=str) + "\n")
    out.flush()
    return status
