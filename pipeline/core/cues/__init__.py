"""Cue words: what tells a visit from a move-in date, a yes from a no, a wish to cancel from a refused offer.

One TOML file per locale holds lists of phrases; this module finds them in a text. A cue never carries a value and nothing
is ever committed because of one: cues are held *against* a reading, and where they disagree with it the answer is a
question (UN-5, UN-6). The cues of every locale are looked for in every text, because people mix their languages and a
model's language label can be wrong; a locale is added by adding its file.

Invariants: offsets are into the text as given; matching ignores case, accents and apostrophes; a hit that lies inside a
longer hit of the same search is dropped ("come by" hides "by").
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import resources
from itertools import groupby

_APOSTROPHES = "'\u2018\u2019\u201b\u02bc\u00b4`"
_GAP = r"(?:[^\w.?!;\n]|\.(?=\w))+"
_ANY = rf"{_GAP}(?:\w+{_GAP}){{0,3}}"
_WRAP = re.compile(
    r"(?<=[^\n]{48}[\w,])[ \t]*\n(?=\S)"
)  # a long line that breaks in the middle of a sentence was wrapped by a mail program
_BREAKS = re.compile(r"[?!;\n\u2026]|\.(?=\s|$)")


@dataclass(frozen=True, slots=True, order=True)
class Hit:
    """One cue in a text: offsets into the text as given, and the list that it is on."""

    start: int
    end: int
    kind: str


class CueText:
    """A text prepared for cue search. Built once per check; holds the text and nothing else."""

    __slots__ = ("_flowing", "_folded", "_found", "_lists", "_places", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self._flowing = _WRAP.sub(lambda wrap: " " * len(wrap.group()), text)
        self._folded, self._places = _fold(self._flowing)
        self._lists: dict[str, tuple[Hit, ...]] = {}
        self._found: dict[tuple[str, ...], tuple[Hit, ...]] = {}

    def hits(self, *kinds: str) -> tuple[Hit, ...]:
        """Every cue of the named lists, in order; shorter hits inside longer ones are dropped."""
        if kinds not in self._found:
            self._found[kinds] = _longest(hit for kind in dict.fromkeys(kinds) for hit in self._of(kind))
        return self._found[kinds]

    def _of(self, kind: str) -> tuple[Hit, ...]:
        if kind not in self._lists:
            plain = [self._hit(match, kind) for match in _PATTERNS[kind].finditer(self._folded)]
            exact = [Hit(*match.span(), kind) for match in _ACCENTED[kind].finditer(self._flowing)]
            self._lists[kind] = tuple(sorted(plain + exact))
        return self._lists[kind]

    def _hit(self, match: re.Match[str], kind: str) -> Hit:
        return Hit(self._places[match.start()], self._places[match.end() - 1] + 1, kind)

    def has(self, kind: str, start: int = 0, end: int | None = None) -> bool:
        """Whether a cue of the list stands inside the given stretch."""
        end = len(self.text) if end is None else end
        return any(hit.start >= start and hit.end <= end for hit in self.hits(kind))

    def beside(self, start: int, end: int, *kinds: str, besides: Iterable[tuple[int, int]] = ()) -> str:
        """What a stretch holds besides cues of the lists, the stretches of `besides`, white space and marks that say nothing."""
        rest = list(self.text[start:end])
        covered = [(hit.start, hit.end) for kind in kinds for hit in self._of(kind)]
        for a, b in (*covered, *besides):
            for at in range(max(a, start), min(b, end)):
                rest[at - start] = " "
        return "".join(rest).strip(" \t\r\n,.-()")

    def core(self, start: int, end: int, kind: str) -> tuple[int, int]:
        """A stretch without the cues of the list that it begins with ("of Tuesday" is "Tuesday"), unless nothing else is left."""
        at = start
        for hit in self._of(kind):
            if hit.start == at and hit.end < end:
                at = hit.end + len(self.text[hit.end : end]) - len(self.text[hit.end : end].lstrip())
        return (at, end) if at < end else (start, end)

    def ordinals(self, start: int, end: int) -> tuple[tuple[int, Hit], ...]:
        """The ordinals inside the given stretch: "the second one" is 2, "the last" is -1."""
        return tuple(
            (number, hit)
            for number, pattern in _ORDINALS.items()
            for match in pattern.finditer(self._folded)
            if (hit := self._hit(match, "ordinal")).start >= start and hit.end <= end
        )

    def breaks(self) -> tuple[int, ...]:
        """Where a sentence ends: offsets of the marks that end it."""
        return tuple(match.start() for match in _BREAKS.finditer(self._flowing))


def _longest(hits: Iterable[Hit]) -> tuple[Hit, ...]:
    """The hits, in order, without those that lie inside a longer one."""
    kept: list[Hit] = []
    reach = -1  # how far the hits reach that are not at the very same place
    for _, group in groupby(sorted(hits, key=lambda h: (h.start, -h.end, h.kind)), key=lambda h: (h.start, h.end)):
        same = list(group)
        if same[0].end > reach:
            kept.extend(same)
            reach = same[0].end
    return tuple(kept)


def _fold(text: str) -> tuple[str, list[int]]:
    """`text` without case, accents and apostrophes, and for each character of that where it stands in `text`."""
    out: list[str] = []
    places: list[int] = []
    for at, char in enumerate(text):
        if char in _APOSTROPHES:
            continue
        for piece in "\n" if char == "\n" else unicodedata.normalize("NFKD", char).casefold():
            if not unicodedata.combining(piece):
                out.append(piece)
                places.append(at)
    return "".join(out), places


def _compile(phrases: Iterable[str]) -> re.Pattern[str]:
    """One pattern for a list of phrases in the writing of the files; longer phrases first."""
    ordered = sorted(set(phrases), key=len, reverse=True)
    pattern = "|".join(_phrase(phrase) for phrase in ordered) or "(?!)"
    return re.compile(rf"(?<!\w)(?:{pattern})(?!\w)", re.IGNORECASE)


def _phrase(phrase: str) -> str:
    pattern = ""
    gap = ""
    for token in phrase.split():
        if token == "..":
            gap = _ANY
            continue
        pattern += gap + "(?:" + "|".join(_word(word) for word in token.split("|")) + ")"
        gap = _GAP
    return pattern


def _word(word: str) -> str:
    core = _GAP.join("".join(map(_letter, piece)) for piece in word.strip("*").split("+"))
    return (r"\w*" if word.startswith("*") else "") + core + (r"\w*" if word.endswith("*") else "")


def _letter(char: str) -> str:
    """A letter of a phrase; one with an accent is written with one or two code points."""
    apart = unicodedata.normalize("NFD", char)
    return re.escape(char) if apart == char else f"(?:{re.escape(char)}|{re.escape(apart)})"


def _accented(phrase: str) -> bool:
    return unicodedata.normalize("NFD", phrase) != phrase


def _load() -> tuple[dict[str, list[str]], dict[int, re.Pattern[str]]]:
    lists: dict[str, list[str]] = {}
    ordinals: dict[int, list[str]] = {}
    for file in sorted(resources.files(__name__).iterdir(), key=lambda entry: entry.name):
        if not file.name.endswith(".toml"):
            continue
        for name, value in tomllib.loads(file.read_text(encoding="utf-8")).items():
            if name == "ordinals":
                for number, phrases in value.items():
                    ordinals.setdefault(int(number), []).extend(phrases)
            else:
                lists.setdefault(name, []).extend(value)
    return lists, {number: _compile(phrases) for number, phrases in ordinals.items()}


_LISTS, _ORDINALS = _load()
_PATTERNS = {kind: _compile(phrase for phrase in phrases if not _accented(phrase)) for kind, phrases in _LISTS.items()}
_ACCENTED = {kind: _compile(phrase for phrase in phrases if _accented(phrase)) for kind, phrases in _LISTS.items()}
