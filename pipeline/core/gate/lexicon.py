"""The lexicon: what may not be said, as word patterns in one file per locale.

A rule is data, so that a locale is added without touching code. Each rule names its claim class, and lists patterns over *tokens*:

    your <visit> <is> <adv>? confirmed|booked      words, alternatives, named sets, an optional word
    confirmad{o,a,os,as}                           braces expand
    ..   ...                                       up to 3 words without punctuation; up to 8, commas allowed
    *  #  ##  @                                    any one word; a number; a number from 100 on; a blanked fact
    ^  $                                           start and end of a sentence

A token is a folded lower-case word ("is", "n't", "'s"), one number, or one punctuation mark. Patterns are found through the
rarest word that they cannot do without, so that the cost of a text depends on its words and not on the number of rules.

What a pattern finds is a *mention*. Whether it is a claim depends on the clause around it: `spare` names what makes it harmless
there: `negated` ("isn't confirmed yet"), `asked` ("shall I book it?"), `conditional` ("once it is confirmed"); `unless` lists patterns
that make the whole sentence harmless. A tag question ("it's booked, right?") still asserts.

All supported locales are read together: a Spanish promise in an English reply is found too (OG-2, OG-5).
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import product
from typing import Any, Final, TypeAlias

from pipeline.core.gate.folding import FACT, Folded, fold

_TOKEN: Final = re.compile(
    r"[a-z]+(?=n't(?![a-z]))|n't|'[a-z]+|[a-z]+|\d+(?:[.,]\d+)*|"
    + FACT
    + r"+|\n+|(?<![a-z0-9])-|-(?![a-z0-9])|[^\sa-z0-9-]"
)
_SIGNS: Final = {"#": "№", "@": "¤"}  # literal signs, apart from the lexicon's own
_SENTENCE_END: Final = frozenset(".?!;")
_CLAUSE_END: Final = frozenset('.?!;:,()-"')
_ACCENTS: Final = dict(zip("aeiou", "áéíóú", strict=True))
_ACCENTED: Final = frozenset("áéíóú")
_WRITTEN: Final = re.compile(_TOKEN.pattern.replace("[a-z]", "[a-záéíóú]").replace("[^\\sa-z0-9", "[^\\sa-záéíóú0-9"))
_FINAL_VOWEL: Final = re.compile(r"[aeiou](?=\\? |$)")
_EDGES: Final = {
    "^": r"(?:(?<= [.?!;:,¿¡\-\"(] )|(?<=^ ))",
    "$": r"(?=[.?!;:,)\-\"] |$)",
    "..": r"(?:[a-z'#@]\S* ){0,3}?",
    "...": r"(?:(?![.?!;] )\S+ ){0,8}?",
    "*": r"[a-z'#@]\S* ",
}
_BRACES: Final = re.compile(r"\{([^{}]*)\}")


Part: TypeAlias = str | tuple[Sequence[str], str]
"""One element of a pattern: an edge or gap (regular expression), or its words and what may stand in their place: "" nothing else,
"?" anything, "$" the end of the sentence."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule. id is what a finding reports; asking: only a question claims it; audience None: everybody; unrecorded: it is a
    claim even where no tour is in play."""

    claim_class: str
    id: str
    spare: frozenset[str]
    unless: re.Pattern[str] | None
    asking: bool
    audience: str | None
    unrecorded: bool


class Pattern:
    """A pattern that is compiled when its rarest word is met for the first time: most never are."""

    __slots__ = ("_compiled", "_parts", "rule")

    def __init__(self, parts: Sequence[Part], rule: Rule) -> None:
        self._parts, self.rule = parts, rule
        self._compiled: re.Pattern[str] | None = None

    def finditer(self, line: str) -> Iterator[re.Match[str]]:
        """Where the pattern stands in a token line."""
        if self._compiled is None:
            self._compiled = re.compile(_source(self._parts))
        return self._compiled.finditer(line)


@dataclass(frozen=True, slots=True)
class Mention:
    """Where a rule's pattern stands: offsets into the original text."""

    rule: Rule
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Words:
    """A tokenised text: one string, each token followed by a space, and where each token stands in the folded text."""

    line: str
    starts: tuple[int, ...]  # of each token in `line`
    places: tuple[tuple[int, int], ...]  # of each token in the folded text
    distinct: frozenset[str]
    folded: Folded


@dataclass(frozen=True, slots=True)
class Clauses:
    """The words that decide whether a mention is a claim."""

    negators: frozenset[str]
    neutral: re.Pattern[str]
    conditionals: re.Pattern[str]
    breaks: frozenset[str]
    questions: frozenset[str]
    openers: frozenset[str]


@dataclass(frozen=True, slots=True)
class Lexicon:
    """All rules of all locales, by the word through which they are found."""

    by_word: Mapping[str, tuple[Pattern, ...]]
    clauses: Clauses
    numbers: frozenset[str]
    large: frozenset[str]
    joiners: frozenset[str]
    lone: frozenset[str]
    abbreviations: frozenset[str]
    named: frozenset[str]

    def words(self, folded: Folded) -> Words:
        """The tokens of a folded text."""
        tokens: list[str] = []
        places: list[tuple[int, int]] = []
        numbers, accents, number_at = self.numbers, folded.accents(), -1
        for match in _TOKEN.finditer(folded.lower):
            word, place = match.group(), match.span()
            if (word in numbers or "0" <= word[0] <= "9") and word not in self.named:
                size = "##" if word in self.large or (len(word) > 2 and word[0] <= "9") else "#"
                if number_at == len(tokens) - 2 >= 0 and tokens[-1] in self.joiners:
                    tokens.pop()
                    places.pop()
                if number_at == len(tokens) - 1 >= 0:
                    size = "##" if "##" in (size, tokens[-1]) else "#"
                    tokens[-1], places[-1] = size, (places[-1][0], place[1])
                    continue
                number_at = len(tokens)
                word = word if word in self.lone else size
            elif word[0] == FACT:
                word = "@"
            elif word[0] == "\n":
                word = ";"
            elif word == "." and tokens and tokens[-1] in self.abbreviations:
                continue
            elif word in _SIGNS:
                word = _SIGNS[word]
            elif accents and place[1] - 1 in accents:
                word = word[:-1] + accents[place[1] - 1]
            tokens.append(word)
            places.append(place)
        line = " " + " ".join(tokens) + " "
        starts: list[int] = []
        at = 1
        for token in tokens:
            starts.append(at)
            at += len(token) + 1
        distinct = set(tokens)
        if accents:
            distinct.update(_plain(word) for word in tokens if word[-1] in _ACCENTED)
        return Words(line, tuple(starts), tuple(places), frozenset(distinct), folded)

    def mentions(self, words: Words) -> Iterator[Mention]:
        """Every mention that is a claim, at most one per rule and pattern."""
        candidates = {pattern for word in words.distinct & self.by_word.keys() for pattern in self.by_word[word]}
        for pattern in candidates:
            for match in pattern.finditer(words.line):
                if not self._spared(words, pattern.rule, match.start(), match.end()):
                    yield self._mention(words, pattern.rule, match.start(), match.end())
                    break

    def _mention(self, words: Words, rule: Rule, start: int, end: int) -> Mention:
        inside = [i for i, at in enumerate(words.starts) if start <= at < end]
        low, high = (words.places[inside[0]][0], words.places[inside[-1]][1]) if inside else (0, 0)
        return Mention(rule, *words.folded.span(low, high))

    def _spared(self, words: Words, rule: Rule, start: int, end: int) -> bool:
        line = words.line
        low, high = _sentence(line, start, end)
        if rule.asking and line[high - 2 : high] != "? ":
            return True
        if rule.unless is not None and rule.unless.search(line, low, high):
            return True
        before, inside = line[low:start].split(), line[start:end].split()
        clause = _last_clause(before, self.clauses.breaks)
        if "negated" in rule.spare and self._negated([*clause[-5:], *inside]):
            return True
        if "asked" in rule.spare and self._asked(before, inside, line[high - 2 : high] == "? "):
            return True
        return "conditional" in rule.spare and self._conditional(clause[-8:], inside)

    def _negated(self, window: Sequence[str]) -> bool:
        text = self.clauses.neutral.sub("", " ".join(window) + " ")
        return not self.clauses.negators.isdisjoint(text.split())

    def _asked(self, before: Sequence[str], inside: Sequence[str], ends_asking: bool) -> bool:
        if "¿" in before:
            return True
        if not ends_asking:
            return False
        opening = [word for word in (*before, *inside) if word not in self.clauses.openers and word not in _CLAUSE_END]
        return bool(opening) and opening[0] in self.clauses.questions

    def _conditional(self, clause: Sequence[str], inside: Sequence[str]) -> bool:
        return self.clauses.conditionals.search(" " + " ".join((*clause, *inside)) + " ") is not None


def _sentence(line: str, start: int, end: int) -> tuple[int, int]:
    low = max(line.rfind(f" {mark} ", 0, start) for mark in _SENTENCE_END)
    highs = [at for mark in _SENTENCE_END if (at := line.find(f" {mark} ", max(0, end - 1))) >= 0]
    return (low + 2 if low >= 0 else 0), (min(highs) + 3 if highs else len(line))


def _last_clause(before: Sequence[str], breaks: frozenset[str]) -> Sequence[str]:
    for i in range(len(before) - 1, -1, -1):
        if before[i] in _CLAUSE_END or before[i] in breaks:
            return before[i + 1 :]
    return before


# --- reading the files --------------------------------------------------------------------------------------------------------


def locale_files() -> dict[str, dict[str, Any]]:
    """The raw lexicon of every locale, by its tag."""
    folder = files("pipeline.core.gate") / "locales"
    names = sorted(item.name for item in folder.iterdir() if item.name.endswith(".toml"))
    return {name[:-5]: tomllib.loads((folder / name).read_text("utf-8")) for name in names}


def number_words(data: Mapping[str, Any]) -> dict[str, int]:
    """Cardinal words of one locale with their values."""
    numbers = data["numbers"]
    return {**numbers["units"], **numbers["tens"], **numbers["hundreds"], **numbers["powers"]}


@cache
def lexicon() -> Lexicon:
    """The lexicon of all locales, compiled once."""
    return _Reader(list(locale_files().values())).lexicon()


class _Reader:
    """Compiles the rules of all locales."""

    def __init__(self, raw: Sequence[Mapping[str, Any]]) -> None:
        self.raw = raw
        self.values = {_plain(word): value for data in raw for word, value in number_words(data).items()}
        self.lone = self._all("numbers", "lone")
        self.common = self._all("words", "common")
        self.named = self._all("words", "named")
        self.sets: Mapping[str, Sequence[str]] = {}
        self.number: Sequence[str] = ()

    def lexicon(self) -> Lexicon:
        by_word: dict[str, list[Pattern]] = {}
        for data in self.raw:
            self.sets = {name: self._expand_all(words) for name, words in data["sets"].items()}
            self.number = ("#", "##", *self.named, *data["numbers"]["also"])
            for item in data["rule"]:
                rule = self._rule(item, data["spare"])
                for text in item["patterns"]:
                    parts = self._parts(text)
                    pattern = Pattern(parts, rule)
                    for word in self._anchor(parts):
                        by_word.setdefault(word, []).append(pattern)
        return Lexicon(
            by_word={word: tuple(entries) for word, entries in by_word.items()},
            clauses=self._clauses(),
            numbers=frozenset(self.values),
            large=frozenset(word for word, value in self.values.items() if value >= 100),
            joiners=self._all("numbers", "join"),
            lone=self.lone,
            abbreviations=self._all("words", "abbreviations"),
            named=self.named,
        )

    def _all(self, table: str, name: str) -> frozenset[str]:
        """The words of a list of all locales; one written without a final accent stands for both."""
        words = {_written(word) for data in self.raw for word in data[table][name]}
        return frozenset(words | {word[:-1] + _ACCENTS[word[-1]] for word in words if word[-1] in _ACCENTS})

    def _clauses(self) -> Clauses:
        return Clauses(
            negators=self._all("clauses", "negators"),
            neutral=self._choice("neutral", r"\b(?:{})(?= |$)"),
            conditionals=self._choice("conditionals", r" ({})(?= )"),
            breaks=self._all("clauses", "breaks"),
            questions=self._all("clauses", "questions"),
            openers=self._all("clauses", "openers"),
        )

    def _choice(self, name: str, frame: str) -> re.Pattern[str]:
        texts = {self._tokens(text) for data in self.raw for text in data["clauses"][name]}
        return re.compile(frame.format("|".join(map(re.escape, sorted(texts, key=lambda t: (-len(t), t))))))

    def _rule(self, item: Mapping[str, Any], spare: Mapping[str, Sequence[str]]) -> Rule:
        unless = [_source(self._parts(text)) for text in item.get("unless", ())]
        return Rule(
            claim_class=item["class"],
            id=item["id"],
            spare=frozenset(item.get("spare", spare.get(item["class"], ()))),
            unless=re.compile("|".join(f"(?:{source})" for source in unless)) if unless else None,
            asking=item.get("asking", False),
            audience=item.get("audience"),
            unrecorded=item.get("unrecorded", False),
        )

    def _parts(self, text: str) -> list[Part]:
        parts: list[Part] = [] if text.startswith("^") else ["(?<= )"]
        for element in text.split():
            if element in _EDGES:
                parts.append(_EDGES[element])
            else:
                absent = "?" if len(element) > 1 and element.endswith("?") else "$" if "$" in element.split("|") else ""
                parts.append((self._alternatives(element.removesuffix("?") if absent == "?" else element), absent))
        return parts

    def _anchor(self, parts: Sequence[Part]) -> frozenset[str]:
        """The words through which a pattern is found: the fewest that it cannot do without, frequent ones last."""
        needed = [
            {word.split(" ", 1)[0] for word in part[0]} for part in parts if isinstance(part, tuple) and not part[1]
        ]
        rare = [words for words in needed if words.isdisjoint(self.common)]
        return frozenset(min(rare or needed, key=len))

    def _alternatives(self, element: str) -> list[str]:
        words: list[str] = []
        for part in element.split("|"):
            if part == "#":
                words += self.number
            elif part in {"##", "@"}:
                words.append(part)
            elif part == "$":
                continue
            elif part.startswith("<") and part.endswith(">"):
                words += self.sets[part[1:-1]]
            else:
                words += self._expand_all((part.replace("_", " "),))
        return words

    def _expand_all(self, texts: Iterable[str]) -> list[str]:
        words: list[str] = []
        for text in texts:
            if text.isascii() and text.isalpha() and text.islower() and text not in self.values:  # most are plain words
                words.append(text)
            else:
                words += (self._tokens(word) for word in _expand(text))
        return words

    def _tokens(self, text: str) -> str:
        """A text of a rule as a token line: numbers are numbers there too."""
        return " ".join(self._token(match.group()) for match in _WRITTEN.finditer(_written(text)))

    def _token(self, word: str) -> str:
        if word in self.values and word not in self.lone:
            return "##" if self.values[word] >= 100 else "#"
        return word if not word[0].isdigit() or word in self.named else "##" if len(word) > 2 else "#"


def _source(parts: Iterable[Part]) -> str:
    source = ""
    for part in parts:
        if isinstance(part, str):
            source += part
        else:
            words, absent = part
            choice = "|".join(map(_either, sorted(set(words), key=lambda word: (-len(word), word))))
            source += {"": f"(?:{choice}) ", "?": f"(?:(?:{choice}) )?", "$": f"(?:(?:{choice}) |{_EDGES['$']})"}[
                absent
            ]
    return source


def _either(words: str) -> str:
    """Regular expression for the words of a rule: a final vowel without an accent stands for both."""
    return _FINAL_VOWEL.sub(lambda match: f"[{match[0]}{_ACCENTS[match[0]]}]", re.escape(words))


def _written(text: str) -> str:
    """Folded, but for the accent on a word's last letter, which tells "llamé" (I called) from "llame" (call)."""
    folded = fold(text)
    chars = list(folded.lower)
    for at, char in folded.accents().items():
        chars[at] = char
    return "".join(chars)


def _expand(text: str) -> list[str]:
    """The words that a text with braces stands for."""
    pieces = _BRACES.split(text)
    choices = [piece.split(",") if i % 2 else [piece] for i, piece in enumerate(pieces)]
    return ["".join(parts) for parts in product(*choices)]


def _plain(word: str) -> str:
    return fold(word).lower
