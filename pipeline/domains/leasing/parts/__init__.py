"""Parts of the day ("tomorrow afternoon", "mañana por la tarde"): between which hours offers are wanted. Pure.

One TOML file per locale. A part of the day only narrows what is offered; it is never a time, books nothing and moves nothing. Only words that were
verified as those of the visit are looked at, in every locale, because people mix their languages. Two parts that differ, or a word beside them that
may exclude one, narrow nothing.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator
from datetime import datetime, time
from importlib import resources

from pipeline.core.text import normalise

Bounds = tuple[time, time]


def part_of(spans: Iterable[str]) -> Bounds | None:
    """The first and last start that the words leave, or None where they name no part of the day, or not one alone."""
    text = "\n".join(map(normalise, spans))
    named = [_WORDS[match.group()] for match in _PATTERN.finditer(text)]
    found = {bounds for bounds in named if bounds is not None}
    return found.pop() if len(found) == 1 and None not in named else None


def within(wall: datetime, bounds: Bounds | None) -> bool:
    """Whether a visit that starts then starts in that part of the day; no part leaves all."""
    return bounds is None or bounds[0] <= wall.time() <= bounds[1]


def _read() -> Iterator[tuple[str, Bounds | None]]:
    for file in resources.files(__package__).iterdir():
        if file.name.endswith(".toml"):
            for key, words in tomllib.loads(file.read_text("utf-8")).items():
                bounds = None if key == "unless" else _bounds(key)
                yield from ((normalise(word), bounds) for word in words)


def _bounds(key: str) -> Bounds:
    first, last = map(time.fromisoformat, key.split("-"))
    return first, last


_WORDS = dict(_read())
_PATTERN = re.compile(r"(?<!\w)(?:" + "|".join(map(re.escape, sorted(_WORDS, key=len, reverse=True))) + r")(?!\w)")
