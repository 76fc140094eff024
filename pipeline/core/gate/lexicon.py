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
there: `negated` ("isn't confirmed yet"), `denied` (negated before it: "I can't give out codes"), `asked` ("shall I book it?"), `conditional`
("once it is confirmed"). `unless` lists patterns that make the whole sentence harmless, `apart` patterns that make it another thing
where they overlap the mention ("zip code"). A tag question ("it's booked, right?") still asserts.

All supported locales are read together: a Spanish promise in an English reply is found too (OG-2, OG-5).
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import product
from typing import Any, Final, TypeAlias

from pipeline.core.gate.folding import FACT, Folded, fold

_TOKEN: Final = re.compile(
    r"[a-záéíóú]+(?=n't(?![a-z]))|n't|'[a-z]+|[a-záéíóú]+|\d+(?:[.,]\d+)*|"
    + FACT
    + r"+|\n+|(?<![a-z0-9])-|-(?![a-z0-9])|[^\sa-záéíóú0-9-]"
)
_SPECIAL: Final = re.compile(f"[0-9\n{FACT}]")
_SIGNS: Final = {"#": "№", "@": "¤"}  # literal signs, apart from the lexicon's own
_SENTENCE_END: Final = frozenset(".?!;")
_CLAUSE_END: Final = frozenset('.?!;:,()-"')
WHOLE_TEXT: Final = frozenset({"confirmation", "narration", "machine_denial", "personal_data"})
"""Classes that hold for facts too: what they forbid, no record vouches for."""

_ACCENTS: Final = dict(zip("aeiou", "áéíóú", strict=True))
_ACCENTED: Final = frozenset("áéíóú")
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


class Expression:
    """Patterns as one regular expression over a token line, compiled when it is needed for the first time."""

    __slots__ = ("_choices", "_compiled")

    def __init__(self, choices: Sequence[Sequence[Part]]) -> None:
        self._choices = choices
        self._compiled: re.Pattern[str] | None = None

    def finditer(self, line: str, low: int = 0, high: int = sys.maxsize) -> Iterator[re.Match[str]]:
        """Where one of the patterns stands in `line[low:high]`."""
        if self._compiled is None:
            self._compiled = re.compile("|".join(f"(?:{_source(parts)})" for parts in self._choices))
        return self._compiled.finditer(line, low, high)


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule. id is what a finding reports; asking: only a question claims it; audience None: everybody; unrecorded: it is a claim even
    where no tour is in play; undated: it is none where the calendar reads a date or time there."""

    claim_class: str
    id: str
    spare: frozenset[str]
    unless: Expression | None
    apart: Expression | None
    asking: bool
    audience: str | None
    unrecorded: bool
    undated: bool


class Pattern:
    """A pattern that is compiled when a text has all the words that it cannot do without: most never are."""

    __slots__ = ("expression", "needs", "rule")

    def __init__(self, parts: Sequence[Part], needs: Sequence[frozenset[str]], rule: Rule) -> None:
        self.expression, self.needs, self.rule = Expression([parts]), tuple(needs), rule


@dataclass(frozen=True, slots=True)
class Mention:
    """Where a rule's pattern stands: offsets into the original text."""

    rule: Rule
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Words:
    """A tokenised text: one string, each token with a space around it; a token may join several words of the text."""

    line: str
    distinct: Set[str]
    folded: Folded
    firsts: Sequence[int]  # of each token, its first word
    lasts: Sequence[int]

    def place(self, start: int, end: int) -> tuple[int, int]:
        """Where `line[start:end]` stands in the text as given."""
        words = [match.span() for match in _TOKEN.finditer(_written(self.folded))]
        first, last = self.line.count(" ", 0, start) - 1, self.line.count(" ", 0, end) - 2
        return self.folded.span(words[self.firsts[first]][0], words[self.lasts[max(first, last)]][1])


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
    values: Mapping[str, int]  # number words
    large: frozenset[str]
    joiners: frozenset[str]
    lone: frozenset[str]
    abbreviations: frozenset[str]
    named: frozenset[str]
    special: frozenset[str]  # words that need a second look when a text is tokenised
    telling: frozenset[str]  # words of the rules that hold for facts too, frequent ones left out

    def words(self, folded: Folded) -> Words:
        """The tokens of a folded text."""
        written = _written(folded)
        plain = _TOKEN.findall(written)
        if self.special.isdisjoint(plain) and not _SPECIAL.search(written):  # most texts have nothing to join or rename
            return self._line(plain, range(len(plain)), range(len(plain)), folded)
        return self._line(*self._joined(plain), folded)

    def _line(self, tokens: Sequence[str], firsts: Sequence[int], lasts: Sequence[int], folded: Folded) -> Words:
        distinct = set(tokens)
        if not folded.text.isascii():
            distinct.update(_plain(word) for word in tokens if word[-1] in _ACCENTED)
        return Words(" " + " ".join(tokens) + " ", distinct, folded, firsts, lasts)

    def _joined(self, plain: Sequence[str]) -> tuple[list[str], Sequence[int], Sequence[int]]:
        """The tokens with numbers as one each, facts and signs renamed, and which words each of them joins."""
        tokens: list[str] = []
        firsts: list[int] = []
        lasts: list[int] = []
        special, number_at, previous = self.special, -2, -1
        for i, word in enumerate(plain):
            if word in special or not "a" <= word[0] <= "z":
                if word in self.values or (word[0].isdigit() and word not in self.named):
                    size = "##" if word in self.large or (len(word) > 2 and word[0] <= "9") else "#"
                    value = self.values.get(word, -1)
                    if number_at == len(tokens) - 2 and number_at >= 0 and tokens[-1] in self.joiners:
                        del tokens[-1], firsts[-1], lasts[-1]
                    if number_at == len(tokens) - 1 and number_at >= 0:
                        spoken = value >= 10 and 0 < previous < 20  # "twelve fifty"
                        tokens[-1], lasts[-1], previous = (
                            "##" if spoken or "##" in (size, tokens[-1]) else "#",
                            i,
                            value,
                        )
                        continue
                    number_at, previous = len(tokens), value
                    word = word if word in self.lone else size
                elif word == "." and tokens and tokens[-1] in self.abbreviations:
                    continue
                else:
                    word = "@" if word[0] == FACT else ";" if word[0] == "\n" else _SIGNS.get(word, word)
            tokens.append(word)
            firsts.append(i)
            lasts.append(i)
        return tokens, firsts, lasts

    def mentions(self, words: Words, applies: Callable[[Rule], bool]) -> Iterator[Mention]:
        """Every mention that is a claim by a rule that applies, at most one per pattern."""
        distinct, by_word, found = words.distinct, self.by_word, set()
        for word in distinct:
            for pattern in by_word.get(word, ()):
                for need in pattern.needs:
                    if need.isdisjoint(distinct):
                        break
                else:
                    found.add(pattern)
        for pattern in found:
            if applies(pattern.rule):
                for match in pattern.expression.finditer(words.line):
                    if not self._spared(words, pattern.rule, match.start(), match.end()):
                        yield Mention(pattern.rule, *words.place(match.start(), match.end()))
                        break

    def _spared(self, words: Words, rule: Rule, start: int, end: int) -> bool:
        line = words.line
        low, high = _sentence(line, start, end)
        if rule.asking and line[high - 2 : high] != "? ":
            return True
        if rule.unless is not None and any(rule.unless.finditer(line, low, high)):
            return True
        if rule.apart is not None and any(
            m.start() < end and start < m.end() for m in rule.apart.finditer(line, low, high)
        ):
            return True
        before, inside = line[low:start].split(), line[start:end].split()
        clause = _last_clause(before, self.clauses.breaks)
        if "negated" in rule.spare and self._negated([*clause[-5:], *inside]):
            return True
        if "denied" in rule.spare and self._negated(clause[-6:]):
            return True
        if "asked" in rule.spare and self._asked(before, inside, line[end:high]):
            return True
        return "conditional" in rule.spare and self._conditional(clause[-8:], inside)

    def _negated(self, window: Sequence[str]) -> bool:
        text = self.clauses.neutral.sub("", " ".join(window) + " ")
        return not self.clauses.negators.isdisjoint(text.split())

    def _asked(self, before: Sequence[str], inside: Sequence[str], after: str) -> bool:
        if "¿" in before or "¿" in inside:
            return True
        if "¿" in after or not after.endswith("? "):
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
        self.telling: set[str] = set()
        self.harmless: dict[tuple[str, str, str], list[list[Part]]] = {}  # of a rule in all locales together

    def lexicon(self) -> Lexicon:
        by_word: dict[str, list[Pattern]] = {}
        for data in self.raw:
            self._enter(data)
            for item in data["rule"]:
                for name in ("unless", "apart"):
                    self.harmless.setdefault((item["class"], item["id"], name), []).extend(
                        map(self._parts, item.get(name, ()))
                    )
        for data in self.raw:
            self._enter(data)
            for item in data["rule"]:
                rule = self._rule(item, data["spare"])
                for text in item["patterns"]:
                    parts = self._parts(text)
                    needs = self._needs(parts)
                    if item["class"] in WHOLE_TEXT:
                        self.telling.update(
                            word
                            for part in parts
                            if isinstance(part, tuple)
                            for text in part[0]
                            for word in text.split()
                        )
                    pattern = Pattern(parts, needs[1:], rule)
                    for word in needs[0]:
                        by_word.setdefault(word, []).append(pattern)
        abbreviations = self._all("words", "abbreviations")
        return Lexicon(
            by_word={word: tuple(entries) for word, entries in by_word.items()},
            clauses=self._clauses(),
            values=self.values,
            large=frozenset(word for word, value in self.values.items() if value >= 100),
            joiners=self._all("numbers", "join"),
            lone=self.lone,
            abbreviations=abbreviations,
            named=self.named,
            special=frozenset(self.values) | self.named | abbreviations | frozenset(_SIGNS),
            telling=frozenset(self.telling - self.common),
        )

    def _enter(self, data: Mapping[str, Any]) -> None:
        """What sets and numbers mean in the patterns of one locale."""
        self.sets = {name: self._expand_all(words) for name, words in data["sets"].items()}
        self.number = ("#", "##", *self.named, *data["numbers"]["also"])

    def _all(self, table: str, name: str) -> frozenset[str]:
        """The words of a list of all locales; one written without a final accent stands for both."""
        words = {_written(fold(word)) for data in self.raw for word in data[table][name]}
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
        return Rule(
            claim_class=item["class"],
            id=item["id"],
            spare=frozenset(item.get("spare", spare.get(item["class"], ()))),
            unless=self._any(item, "unless"),
            apart=self._any(item, "apart"),
            asking=item.get("asking", False),
            audience=item.get("audience"),
            unrecorded=item.get("unrecorded", False),
            undated=item.get("undated", False),
        )

    def _any(self, item: Mapping[str, Any], name: str) -> Expression | None:
        """What makes the mentions of a rule harmless, in any language: some of its words are the same in several."""
        found = self.harmless[item["class"], item["id"], name]
        return Expression(found) if found else None

    def _parts(self, text: str) -> list[Part]:
        parts: list[Part] = [] if text.startswith("^") else ["(?<= )"]
        for element in text.split():
            if element in _EDGES:
                parts.append(_EDGES[element])
            elif "*" in element.split("|"):
                parts.append(_EDGES["*"])
            else:
                absent = "?" if len(element) > 1 and element.endswith("?") else "$" if "$" in element.split("|") else ""
                parts.append((self._alternatives(element.removesuffix("?") if absent == "?" else element), absent))
        return parts

    def _needs(self, parts: Sequence[Part]) -> list[frozenset[str]]:
        """The sets of words of which a text must have one each; first the one by which the pattern is found, the rarest."""
        needed = [part[0] for part in parts if isinstance(part, tuple) and not part[1]]
        needs = [frozenset(word.split(" ", 1)[0] for word in words) for words in needed]
        return sorted(needs, key=lambda words: (not words.isdisjoint(self.common), len(words)))

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
        return " ".join(self._token(match.group()) for match in _TOKEN.finditer(_written(fold(text))))

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


def _written(folded: Folded) -> str:
    """Lower case without accents, but for the one on a word's last letter: it tells "llamé" (I called) from "llame" (call)."""
    accents = folded.accents()
    if not accents:
        return folded.lower
    chars = list(folded.lower)
    for at, char in accents.items():
        chars[at] = char
    return "".join(chars)


def _expand(text: str) -> list[str]:
    """The words that a text with braces stands for."""
    pieces = _BRACES.split(text)
    choices = [piece.split(",") if i % 2 else [piece] for i, piece in enumerate(pieces)]
    return ["".join(parts) for parts in product(*choices)]


def _plain(word: str) -> str:
    return fold(word).lower
