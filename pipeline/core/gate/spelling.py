"""Spelling: every string of digits and letters that a text can be read as.

A code does not leak as itself. It is spaced, said in words of either language, in pairs, by the radio alphabet, in Roman numerals,
by the place of its keys. All these readings are edges over the tokens of a text: from token i to token j the text can be read as
the string s. "forty-seven twenty-one" has the edges 40, 47, 7, 20, 21 and 1; a path along edges spells a candidate. Words that
carry nothing ("um", "then press") may be skipped inside a path; any other word ends it, so that "three units, nine floors" spells
nothing (OG-3).

Nothing here knows a secret; `leaks` walks the edges with the values to be found.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Final

from pipeline.core.gate.folding import FACT, fold
from pipeline.core.gate.lexicon import locale_files

_TOKEN: Final = re.compile(r"[A-Za-z]+|[0-9]+|" + FACT + r"+|[^\sA-Za-z0-9]")
_ODD: Final = re.compile(r"\b(?:[A-Za-z]|[A-Z]{2,}[A-Za-z]*|[A-Z]?[a-z]+[A-Z][A-Za-z]*)(?![A-Za-z])")
_DIGIT: Final = re.compile(r"[0-9]")
_ROMAN: Final = re.compile(r"M{0,3}(?:CM|CD|D?C{0,3})(?:XC|XL|L?X{0,3})(?:IX|IV|V?I{0,3})")
_ROMAN_VALUES: Final = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100, "D": 500, "M": 1000}
_KEYS: Final = ("123", "456", "789", "\x000\x00")
_LONGEST: Final = 12  # tokens that one edge may span


@dataclass(frozen=True, slots=True)
class Edge:
    """Tokens up to `end` can be read as `text`. loose: by the look of its characters (O for 0), not by their identity."""

    end: int
    text: str
    loose: bool = False


@dataclass(frozen=True, slots=True)
class Speech:
    """How numbers and letters are said, in all locales together. All words folded and in lower case."""

    numbers: Mapping[str, int]  # cardinal words
    powers: Mapping[str, int]  # words that multiply: hundred, thousand
    joiners: frozenset[str]  # "and" inside a number
    digits: Mapping[str, str]  # other words for one digit
    times: Mapping[str, int]  # double, triple
    plurals: Mapping[str, str]  # "two fours"
    sounds: Mapping[str, str]  # words that sound like a letter or digit
    alphabet: Mapping[str, str]  # radio alphabet
    spelled: tuple[tuple[str, ...], ...]  # "B as in boy"
    filler: frozenset[str]
    rows: Mapping[str, int]
    columns: Mapping[str, int]
    row_words: frozenset[str]
    middles: tuple[tuple[str, ...], ...]
    glued: re.Pattern[str]  # digit words without spaces between them
    heads: frozenset[str]  # how such words begin
    backward: frozenset[str]  # digit words letter by letter from the end
    size: Mapping[str, int]  # characters that a word may stand for at most; 0: a filler
    valuable: frozenset[str]  # words that are values by themselves: numbers, radio alphabet


class Overload(Exception):
    """A text has so many readings that it is no ordinary reply."""


class Budget:
    """How many readings one search may look at; an ordinary reply needs some dozens."""

    __slots__ = ("left",)

    def __init__(self, left: int) -> None:
        self.left = left

    def spend(self) -> None:
        """Counts one reading; raises Overload when none is left."""
        self.left -= 1
        if self.left < 0:
            raise Overload


class Spelling:
    """The tokens of one folded text and their edges, found when asked for. numeric: it has a digit."""

    __slots__ = ("_edges", "_places", "_runs", "budget", "low", "numeric", "plain", "speech", "words")

    def __init__(self, plain: str, budget: Budget) -> None:
        self.plain, self.budget, self.speech = plain, budget, speech()
        self.words: list[str] = _TOKEN.findall(plain)
        self.low: list[str] = _TOKEN.findall(plain.lower())
        self.numeric = _DIGIT.search(plain) is not None
        self._places: list[tuple[int, int]] | None = None
        self._runs: tuple[frozenset[str], list[tuple[int, list[int]]]] | None = None
        self._edges: dict[int, tuple[Edge, ...]] = {}

    @property
    def says_values(self) -> bool:
        """Whether it has a digit, or a word that is a value by itself."""
        return self.numeric or not self.speech.valuable.isdisjoint(self.low)

    @property
    def places(self) -> list[tuple[int, int]]:
        """Where each token stands."""
        if self._places is None:
            self._places = [match.span() for match in _TOKEN.finditer(self.plain)]
        return self._places

    def starts(self, parts: frozenset[str], least: int) -> list[int]:
        """Tokens at which a value of at least `least` characters may begin: digits, words that say one, single letters, odd
        capitals, and words that are one of `parts`, in a run that has room for it."""
        if self._runs is None or not parts <= self._runs[0]:
            self._runs = parts, list(self._find_runs(parts))
        return [at for room, run in self._runs[1] if room >= least for at in run]

    def _find_runs(self, parts: frozenset[str]) -> Iterator[tuple[int, list[int]]]:
        """Value-like tokens that only fillers and punctuation stand between, with the characters that they have room for."""
        run: list[int] = []
        room, size, numeric, skip = 0, self.speech.size, self.numeric, 0
        odd = set(_ODD.findall(self.plain))
        for at, low in enumerate(self.low):
            given = size.get(low)
            if not given:
                first, word = low[0], self.words[at]
                if "a" <= first <= "z":
                    if (
                        word in odd
                        or (parts and low.upper() in parts)
                        or (numeric and self._glued(at))
                        or (len(low) > 6 and low[:3] in self.speech.heads and self.speech.glued.fullmatch(low))
                    ):
                        given = len(low)
                elif "0" <= first <= "9":
                    given = len(low)
                elif first != FACT:
                    given = 0
            if given is None or at < skip:
                if run and at >= skip:
                    yield room, run
                    run, room = [], 0
            elif given:
                run.append(at)
                room += given
                if len(low) == 1 and low.isalpha():
                    skip = max((edge.end for edge in self._spelled(at)), default=0)
        if run:
            yield room, run

    def loose(self, at: int) -> bool:
        """Whether a word looks like a value rather than a word: one letter, glued to a digit, or oddly capitalised."""
        word = self.words[at]
        if not word[0].isalpha():
            return False
        return len(word) == 1 or not (word.islower() or word[1:].islower()) or self._glued(at)

    def skippable(self, at: int) -> bool:
        """Whether a token carries nothing: punctuation or a filler word. A fact is never skipped."""
        word = self.low[at]
        return word in self.speech.filler or not (word[0].isalnum() or word[0] == FACT)

    def edges(self, at: int) -> tuple[Edge, ...]:
        """Every reading that begins at token `at`."""
        found = self._edges.get(at)
        if found is None:
            self.budget.spend()
            found = self._edges[at] = tuple(self._read(at))
        return found

    def _glued(self, at: int) -> bool:
        """Whether a word touches a digit ("ll874")."""
        around = self.words[at - 1 : at] + self.words[at + 1 : at + 2]
        if not any(word[0].isdigit() for word in around):
            return False
        start, end = self.places[at]
        return self.plain[start - 1 : start].isdigit() or self.plain[end : end + 1].isdigit()

    def _read(self, at: int) -> Iterator[Edge]:
        word, low, speech = self.words[at], self.low[at], self.speech
        if word[0].isdigit():
            yield Edge(at + 1, word, True)
        elif not word[0].isalpha():
            return
        else:
            yield Edge(at + 1, word.upper(), False)
            if self.loose(at):
                yield Edge(at + 1, word, True)
            yield from self._letters(at)
        if low in speech.numbers or word[0].isdigit():
            yield from self._numbers(at)
        if (times := speech.times.get(low)) is not None:
            yield from self._repeated(at, times)
        if low in speech.rows or low in speech.columns or any(phrase[0] == low for phrase in speech.middles):
            yield from self._keys(at)

    def _letters(self, at: int) -> Iterator[Edge]:
        word, low, speech = self.words[at], self.low[at], self.speech
        for table in (speech.digits, speech.alphabet, speech.sounds):
            if (text := table.get(low)) is not None:
                yield Edge(at + 1, text)
        if word.isupper() and _ROMAN.fullmatch(word):
            yield Edge(at + 1, str(_roman(word)))
        if len(word) == 1:
            yield from self._spelled(at)
        elif len(word) > 6 and (match := speech.glued.fullmatch(low)) is not None:
            yield Edge(at + 1, "".join(_unglued(match.group(), speech)))

    def _spelled(self, at: int) -> Iterator[Edge]:
        """ "B as in boy", and words spelled letter by letter."""
        letter = self.low[at]
        for phrase in self.speech.spelled:
            end = at + 1 + len(phrase)
            if tuple(self.low[at + 1 : end]) == phrase and end < len(self.low) and self.low[end][0] == letter:
                yield Edge(end + 1, letter.upper())
        run = ""
        for end in range(at, min(at + 6, len(self.words))):
            if len(self.words[end]) != 1 or not self.words[end].isalpha():
                break
            run += self.low[end]
            if len(run) > 2 and (value := self.speech.numbers.get(run, 10)) < 10:
                yield Edge(end + 1, str(value))

    def _numbers(self, at: int) -> Iterator[Edge]:
        """Cardinal numbers: every prefix that is one ("forty", "forty-seven", "forty-seven hundred")."""
        total = current = 0
        plural = self.speech.plurals
        end = at
        while end < min(at + _LONGEST, len(self.words)):
            low = self.low[end]
            if end > at and (low == "-" or low in self.speech.joiners):
                end += 1
                continue
            if end == at + 1 and low in plural and 1 < current < 5:
                yield Edge(end + 1, plural[low] * current)
            power = self.speech.powers.get(low)
            value = int(low) if low[0].isdigit() and len(low) < 4 else self.speech.numbers.get(low)
            if power is not None and end > at:
                if power <= current or not current or (power == 1000 and total):
                    return
                total, current = (total + current * power, 0) if power == 1000 else (total, current * power)
            elif power == 1000:
                total = 1000
            elif value is None or not (end == at or _fits(total, current, value)):
                return
            else:
                current += value
            end += 1
            if end > at + 1 or not low[0].isdigit():
                yield Edge(end, str(total + current))

    def _repeated(self, at: int, times: int) -> Iterator[Edge]:
        after = at + 1
        while after < len(self.words) and self.low[after] in {"-", "de", "of", "a", "the"}:
            after += 1
        if after < len(self.words) and self.low[after] not in self.speech.times and self.words[after][0].isalnum():
            for edge in self.edges(after):
                if len(edge.text) == 1 or (edge.text.isdigit() and len(edge.text) == 2):
                    yield Edge(edge.end, edge.text * times, edge.loose)

    def _keys(self, at: int) -> Iterator[Edge]:
        """Keys by their place: "second row right", "abajo en medio", "dead center"."""
        speech, low = self.speech, self.low
        for phrase in speech.middles:
            if tuple(low[at : at + len(phrase)]) == phrase:
                yield Edge(at + len(phrase), "5")
        other = at + 1
        while (
            other < min(at + 5, len(low))
            and low[other] in speech.row_words | {"-"}
            and low[other] not in speech.columns
        ):
            other += 1
        if other >= len(low):
            return
        for row, column in ((low[at], low[other]), (low[other], low[at])):
            if row in speech.rows and column in speech.columns:
                for line in {speech.rows[row], min(speech.rows[row], 2)}:
                    key = _KEYS[line][speech.columns[column]]
                    if key != "\x00":
                        yield Edge(other + 1, key)


def _fits(total: int, current: int, value: int) -> bool:
    """Whether a number word can follow what stands before it in one number."""
    if current == 0:
        return total > 0 and value < 1000
    if current % 100 == 0:
        return value < 100
    return current % 100 >= 20 and current % 10 == 0 and 0 < value < 10


def _roman(word: str) -> int:
    values = [_ROMAN_VALUES[letter] for letter in word]
    return sum(-v if v < max(values[i + 1 :], default=0) else v for i, v in enumerate(values))


def _unglued(text: str, speech: Speech) -> Iterator[str]:
    words = sorted((word for word, value in speech.numbers.items() if value < 10), key=len, reverse=True)
    while text:
        word = next(word for word in words if text.startswith(word))
        yield str(speech.numbers[word])
        text = text[len(word) :]


@cache
def speech() -> Speech:
    """How numbers and letters are said, read from the files of all locales."""
    raw = list(locale_files().values())
    numbers = {
        k: v
        for data in raw
        for name in ("units", "tens", "hundreds", "powers")
        for k, v in _table(data, "numbers", name)
    }
    powers = dict(item for data in raw for item in _table(data, "numbers", "powers"))
    digits = {_low(word): str(i) for words in _other_languages().values() for i, word in enumerate(words)}
    digits |= {k: str(v) for data in raw for k, v in _table(data, "numbers", "digits")}
    sounds = dict(item for data in raw for item in _table(data, "letters", "sounds"))
    plurals = {k: str(v) for data in raw for k, v in _table(data, "numbers", "plural")}
    times = dict(item for data in raw for item in _table(data, "numbers", "times"))
    alphabet = {_low(word): word[0].upper() for data in raw for word in data["letters"]["alphabet"]}
    rows = dict(item for data in raw for item in _table(data, "code", "rows"))
    columns = dict(item for data in raw for item in _table(data, "code", "columns"))
    middles = _phrases(raw, "code", "middles")
    units = sorted((word for word, value in numbers.items() if value < 10 and len(word) > 2), key=len, reverse=True)
    filler = _words(raw, "code", "filler")
    size = dict.fromkeys(filler | _words(raw, "numbers", "join") | _words(raw, "code", "row_words"), 0)
    size |= dict.fromkeys((*digits, *sounds, *alphabet, *rows, *columns, *(phrase[0] for phrase in middles)), 1)
    size |= dict.fromkeys((*numbers, *plurals, *times), 6)
    return Speech(
        numbers=numbers,
        powers=powers,
        joiners=_words(raw, "numbers", "join"),
        digits=digits,
        times=times,
        plurals=plurals,
        sounds=sounds,
        alphabet=alphabet,
        spelled=_phrases(raw, "letters", "spelled"),
        filler=filler,
        rows=rows,
        columns=columns,
        row_words=_words(raw, "code", "row_words"),
        middles=middles,
        glued=re.compile("(?:" + "|".join(units) + "){2,}"),
        heads=frozenset(word[:3] for word in units),
        backward=frozenset(word[::-1] for word in units),
        size=size,
        valuable=frozenset((*numbers, *alphabet)),
    )


def _other_languages() -> dict[str, list[str]]:
    return tomllib.loads((files("pipeline.core.gate") / "digits.toml").read_text("utf-8"))


def _low(word: str) -> str:
    return fold(word).lower


def _table(data: Mapping[str, Any], section: str, name: str) -> list[tuple[str, Any]]:
    return [(_low(word), value) for word, value in data[section][name].items()]


def _words(raw: Sequence[Mapping[str, Any]], section: str, name: str) -> frozenset[str]:
    return frozenset(_low(word) for data in raw for word in data[section][name])


def _phrases(raw: Sequence[Mapping[str, Any]], section: str, name: str) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(_low(text).split()) for data in raw for text in data[section][name])
