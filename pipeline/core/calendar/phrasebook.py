"""Phrase books: a locale's words and phrases, read from one TOML file and compiled into tries.

A phrase book is a closed grammar as data. Each table is a *part of speech* (`weekday`, `clock`, `day` ...); each key in
it is a *meaning*, a function of `meanings`, and its value lists the phrases that have this meaning:

    [day]
    weeks_after = ["{n:count} week|weeks from {weekday}"]

A phrase is words and slots. `{part}` or `{name:part}` is a slot, filled by another part of speech and handed to the
meaning under its name; `a|b` are alternatives for one place, `(a b|c)` alternatives of several words, `[...]` may be
left out. Tables of plain words (`weekday`, `month`, `number` ...) give a value instead of a meaning. `common.toml`
holds the notations that are the same everywhere (2026-08-20, 15:30) and is part of every book.

Invariants: a book that names an unknown meaning, part or slot, or that is left-recursive, does not load; loading is the
only place where files are read; compiled books are never changed, and one text is parsed against one book alone.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cache, lru_cache
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from pipeline.core.calendar import meanings
from pipeline.core.calendar.tokens import Token, Tokeniser, fold

_LOCALES = Path(__file__).parent / "locales"
_COMMON = "common"

TERMINALS: dict[str, tuple[str, ...]] = {
    "d": ("#1", "#2"),
    "d1": ("#1",),
    "d2": ("#2",),
    "d3": ("#3",),
    "d4": ("#4",),
    "d8": ("#8",),
    "nth": ("#nth",),
    "hhmm": ("#clock",),
}
"""Slots that one token fills by its shape, with the token itself as value."""

Value = Any
Found = tuple[int, Value]


class PhraseBookError(ValueError):
    """A phrase book that cannot be used; the message names locale, table and phrase."""


class Slot(NamedTuple):
    """A place in a phrase that another part of speech fills."""

    name: str
    part: str


Symbol = str | Slot
Second = frozenset[str] | None
"""The token classes that can stand second on an edge; None where it can end after one token."""


class _Edge(IntEnum):
    """What the next token is on an edge: a word of the phrase, itself a slot, a word of a table, or more than that."""

    LITERAL = 0
    TOKEN = 1
    WORD = 2
    PART = 3


@dataclass(slots=True, eq=False)
class _Node:
    """A trie node: what may come next, by token class, and the meanings that end here."""

    children: dict[Symbol, _Node] = field(default_factory=dict)
    ends: list[tuple[Callable[..., Value], tuple[int, ...] | None]] = field(default_factory=list)
    edges: dict[str, list[tuple[_Edge, str, _Node, Second]]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PhraseBook:
    """One locale, compiled.

    `roots` maps a part of speech to its trie, `lexicon` a part of speech to its single words and their values.
    `classes` maps a word to its class: words that no phrase names and that have the same parts of speech behave alike,
    so the tries know them by one name. `tokens` is the locale's tokeniser, `words` are the plain lists of words,
    `starts` the token classes that an item and a linking word can begin with.
    """

    locale: str
    roots: dict[str, _Node]
    lexicon: dict[str, dict[str, tuple[Value, ...]]]
    classes: dict[str, str]
    tokens: Tokeniser
    words: dict[str, frozenset[str]]
    starts: dict[str, frozenset[str]]


class Parse:
    """All readings of parts of speech over one row of tokens, each computed once."""

    __slots__ = ("_lexicon", "_memo", "_roots", "classes", "known", "size", "tokens")

    def __init__(self, book: PhraseBook, tokens: Sequence[Token]) -> None:
        self._roots = book.roots
        self._lexicon = book.lexicon
        self._memo: list[dict[str, list[Found]]] = [{} for _ in tokens]
        self.tokens = tokens
        self.classes = [book.classes.get(token.key, "?") for token in tokens]
        self.known = "?" not in self.classes
        self.size = len(tokens)

    def at(self, part: str, start: int) -> list[Found]:
        """Every reading of `part` that begins at token `start`, as (end, value)."""
        memo = self._memo[start]
        found = memo.get(part)
        if found is None:
            words = self._lexicon.get(part)
            found = [(start + 1, value) for value in words.get(self.tokens[start].key, ())] if words else []
            root = self._roots[part]
            if self.classes[start] in root.edges:
                self._walk(root, start, (), found)
            memo[part] = found
        return found

    def _walk(self, node: _Node, at: int, values: tuple[Value, ...], found: list[Found]) -> None:
        """Go on from `node` with token `at`; the caller has seen that there is one."""
        edges = node.edges.get(self.classes[at])
        if edges is None:
            return
        after = at + 1
        following = self.classes[after] if after < self.size else ""
        for edge, part, child, second in edges:
            if second is not None and following not in second:
                continue
            steps: Iterable[tuple[int, tuple[Value, ...]]]
            if edge == 0:
                steps = ((after, values),)
            elif edge == 1:
                steps = ((after, (*values, self.tokens[at])),)
            elif edge == 2:
                steps = [(after, (*values, value)) for value in self._lexicon[part][self.tokens[at].key]]
            else:
                steps = [(end, (*values, value)) for end, value in self.at(part, at)]
            for end, given in steps:
                for meaning, order in child.ends:
                    # no order: the slots stand as the meaning takes them
                    value = (
                        meaning(*given) if order is None else meaning(*[given[i] if i >= 0 else None for i in order])
                    )
                    if value is not None:
                        found.append((end, value))
                if child.edges and end < self.size:
                    self._walk(child, end, given, found)


def load(locale: str, source: str) -> PhraseBook:
    """The book of `locale` from the text of its TOML file."""
    try:
        tables = tomllib.loads(source)
    except tomllib.TOMLDecodeError as error:
        raise PhraseBookError(f"{locale}: not readable: {error}") from error
    return _Compiler(locale, [_common(), tables]).book()


@lru_cache(maxsize=128)
def book(locale: str, folder: Path = _LOCALES) -> PhraseBook | None:
    """The book for a locale name such as "es", "es-MX" or "ES_us"; None where there is none."""
    base = re.split(r"[-_.@]", locale, maxsplit=1)[0].lower()
    if base not in supported(folder):
        return None
    if base != locale:
        return book(base, folder)
    return load(base, (folder / f"{base}.toml").read_text(encoding="utf-8"))


@cache
def supported(folder: Path = _LOCALES) -> tuple[str, ...]:
    """Names of the books in `folder`, sorted."""
    return tuple(sorted(path.stem for path in folder.glob("*.toml") if path.stem != _COMMON))


@cache
def _common() -> dict[str, Any]:
    return tomllib.loads((_LOCALES / f"{_COMMON}.toml").read_text(encoding="utf-8"))


class _Compiler:
    """Turns tables into tries."""

    def __init__(self, locale: str, sources: Sequence[dict[str, Any]]) -> None:
        self.locale = locale
        self.roots: dict[str, _Node] = {part: _Node() for part in (*meanings.WORDS, *meanings.PHRASES)}
        self.lexicon: dict[str, dict[str, tuple[Value, ...]]] = {part: {} for part in meanings.WORDS}
        self.literals: set[str] = set()
        self.first: dict[str, frozenset[str]] = {}
        self.second: dict[tuple[str, str], tuple[bool, frozenset[str]]] = {}
        self.next: dict[int, frozenset[str]] = {}
        self.tables = sources[-1]
        self.tokens = Tokeniser(self.tables.get("ordinal_suffix", ()), self.tables.get("fused", ()))
        for tables in sources:
            for part, table in tables.items():
                self._table(part, table)
        self.classes = self._classes()

    def book(self) -> PhraseBook:
        starts = {part: self._first(part, ()) for part in ("item", "link")}
        nodes = [node for root in self.roots.values() for node in _below(root)]
        for node in nodes:
            self._index(node)
        for node in nodes:
            node.children = {}
        words = {name: frozenset(map(fold, self.tables.get(name, ()))) for name in meanings.LISTS}
        return PhraseBook(self.locale, self.roots, self.lexicon, self.classes, self.tokens, words, starts)

    def _classes(self) -> dict[str, str]:
        """The class of each word and shape: itself if a phrase names it, else the parts of speech that it has."""
        parts: dict[str, list[str]] = {}
        for part, words in self.lexicon.items():
            for word in words:
                parts.setdefault(word, []).append(part)
        classes = {word: word if word in self.literals else f"<{'+'.join(of)}>" for word, of in parts.items()}
        shapes = {shape for shapes in TERMINALS.values() for shape in shapes}
        return classes | {name: name for name in (*self.literals, *shapes)}

    def _table(self, part: str, table: Any) -> None:
        if part in meanings.LISTS:
            return
        if part in meanings.WORDS:
            self._words(part, table)
        elif part in meanings.PHRASES:
            for name, phrases in table.items():
                self._meaning(part, name, phrases)
        else:
            raise self._error(part, "", "no such table")

    def _words(self, part: str, table: dict[str, list[str]]) -> None:
        """A table of words: value = [phrases]; `compound` joins tens and units."""
        read = meanings.WORDS[part]
        for key, phrases in table.items():
            if key == "compound":
                continue
            try:
                value = read(key)
            except (KeyError, ValueError):
                raise self._error(part, key, "not a value of this table") from None
            for phrase in phrases:
                self._add(part, phrase, _constant(value), None if part == "vague" else ())
        if "compound" in table:
            for value, phrase in _compounds(table, self.tables["number"]):
                self._add(part, phrase, _constant(value), ())

    def _meaning(self, part: str, name: str, phrases: list[str]) -> None:
        entry = meanings.PHRASES[part].get(name)
        if entry is None:
            raise self._error(part, name, "no such meaning")
        for phrase in phrases:
            self._add(part, phrase, entry.read, entry.slots)

    def _add(self, part: str, phrase: str, read: Callable[..., Value], slots: tuple[str, ...] | None) -> None:
        """Add a phrase to its trie; `slots` are those that its meaning takes (None: any, and it looks at none)."""
        for symbols in self._expand(part, phrase):
            if part in self.lexicon and len(symbols) == 1 and isinstance(symbols[0], str):
                words = self.lexicon[part]
                words[symbols[0]] = (*words.get(symbols[0], ()), read())
                continue
            node = self.roots[part]
            for symbol in symbols:
                if isinstance(symbol, str):
                    self.literals.add(symbol)
                key: Symbol = Slot("", symbol.part) if isinstance(symbol, Slot) else symbol
                node = node.children.setdefault(key, _Node())
            node.ends.append((read, None if slots is None else self._order(part, phrase, symbols, slots)))

    def _order(
        self, part: str, phrase: str, symbols: tuple[Symbol, ...], slots: tuple[str, ...]
    ) -> tuple[int, ...] | None:
        """Which value of the phrase each slot of the meaning gets; -1 for none, and None if simply all in order."""
        names = [symbol.name for symbol in symbols if isinstance(symbol, Slot)]
        plain = [slot.rstrip("?") for slot in slots]
        required = {slot for slot in slots if not slot.endswith("?")}
        if required - set(names) or set(names) - set(plain) or len(set(names)) < len(names):
            raise self._error(part, phrase, f"slots must be {', '.join(slots) or 'none'}")
        return None if names == plain else tuple(names.index(slot) if slot in names else -1 for slot in plain)

    def _expand(self, part: str, phrase: str) -> list[tuple[Symbol, ...]]:
        try:
            rows = _Phrase(phrase, self.tokens).expansions()
        except ValueError as error:
            raise self._error(part, phrase, str(error)) from None
        if () in rows:
            raise self._error(part, phrase, "may not be empty")
        return rows

    def _index(self, node: _Node) -> None:
        """Index what may follow a node by the class of the next token."""
        for symbol, child in node.children.items():
            if isinstance(symbol, Slot):
                for key in self._first(symbol.part, ()):
                    edge = (
                        self._edge(symbol.part, key),
                        symbol.part,
                        child,
                        self._edge_second(symbol.part, key, child),
                    )
                    node.edges.setdefault(key, []).append(edge)
            else:
                second = None if child.ends else self._next(child)
                node.edges.setdefault(symbol, []).append((_Edge.LITERAL, "", child, second))

    def _edge(self, part: str, key: str) -> _Edge:
        """How a part of speech begins with a token class: the cheaper kinds need no look at its own trie."""
        if part in TERMINALS:
            return _Edge.TOKEN
        in_trie = any(
            key in self._first(symbol.part, ()) if isinstance(symbol, Slot) else key == symbol
            for symbol in self.roots[part].children
        )
        return _Edge.PART if in_trie else _Edge.WORD

    def _next(self, node: _Node) -> frozenset[str]:
        """The token classes that may follow a node."""
        if id(node) not in self.next:
            keys: set[str] = set()
            for symbol in node.children:
                keys |= self._first(symbol.part, ()) if isinstance(symbol, Slot) else {symbol}
            self.next[id(node)] = frozenset(keys)
        return self.next[id(node)]

    def _first(self, part: str, above: tuple[str, ...]) -> frozenset[str]:
        """The token classes that a part of speech can begin with."""
        if part in TERMINALS:
            return frozenset(TERMINALS[part])
        if part in above:
            raise self._error(part, " > ".join((*above, part)), "a phrase begins with its own part of speech")
        if part not in self.roots:
            raise self._error(part, "", "no such part of speech")
        if part not in self.first:
            keys = {self.classes[word] for word in self.lexicon.get(part, ())}
            for symbol in self.roots[part].children:
                keys |= self._first(symbol.part, (*above, part)) if isinstance(symbol, Slot) else {symbol}
            self.first[part] = frozenset(keys)
        return self.first[part]

    def _second(self, part: str, key: str) -> tuple[bool, frozenset[str]]:
        """For a part of speech that begins with a token class: whether it may end there, and what may come second."""
        if part in TERMINALS:
            return True, frozenset()
        if (part, key) not in self.second:
            ends = any(self.classes[word] == key for word in self.lexicon.get(part, ()))
            keys: set[str] = set()
            for symbol, child in self.roots[part].children.items():
                if isinstance(symbol, Slot):
                    if key not in self._first(symbol.part, ()):
                        continue
                    over, more = self._second(symbol.part, key)
                    keys |= more
                elif symbol == key:
                    over = True
                else:
                    continue
                if over:
                    ends = ends or bool(child.ends)
                    keys |= self._next(child)
            self.second[part, key] = ends, frozenset(keys)
        return self.second[part, key]

    def _edge_second(self, part: str, key: str, child: _Node) -> Second:
        ends, keys = self._second(part, key)
        if ends and child.ends:
            return None
        return keys | self._next(child) if ends else keys

    def _error(self, part: str, what: str, why: str) -> PhraseBookError:
        return PhraseBookError(f"{self.locale}: [{part}] {what}: {why}")


def _below(node: _Node) -> Iterator[_Node]:
    yield node
    for child in node.children.values():
        yield from _below(child)


def _constant(value: Value) -> Callable[..., Value]:
    return lambda *_slots: value


def _compounds(table: dict[str, list[str]], cardinals: dict[str, list[str]]) -> Iterator[tuple[int, str]]:
    """Numbers from 21 that a table does not spell out, in each of its compound shapes ("{tens} {unit}")."""
    for ten, unit in product(range(20, 100, 10), range(1, 10)):
        if str(ten + unit) not in table:
            for tens, units in product(cardinals.get(str(ten), ()), table.get(str(unit), ())):
                for shape in table["compound"]:
                    yield ten + unit, shape.format(tens=tens, unit=units)


_SIGNS = ("-", "/", ".", "~", "@", "&")


def _literal(key: str) -> str:
    if key[0] in "#?":
        raise ValueError("numbers and signs stand for themselves only in the table `fused`")
    return key


class _Phrase:
    """Reads the notation for phrases: words, {slots}, a|b, (a b|c), [optional]."""

    _PIECE = re.compile(r"\s*(\{[^}]*\}|[()\[\]|]|[^\s{}()\[\]|]+)")

    def __init__(self, phrase: str, tokens: Tokeniser) -> None:
        self.tokens = tokens
        self.pieces = self._PIECE.findall(phrase)
        self.at = 0

    def expansions(self) -> list[tuple[Symbol, ...]]:
        """Every row of symbols that the phrase stands for."""
        rows = self._row()
        if self.at < len(self.pieces):
            raise ValueError(f"unexpected {self.pieces[self.at]!r}")
        return list(dict.fromkeys(rows))

    def _row(self) -> list[tuple[Symbol, ...]]:
        rows: list[tuple[Symbol, ...]] = [()]
        while self.at < len(self.pieces) and self.pieces[self.at] not in ")]":
            step = self._place()
            rows = [row + more for row in rows for more in step]
        return rows

    def _place(self) -> list[tuple[Symbol, ...]]:
        """One place of a row: an item, or alternatives joined by bars."""
        choices = self._item()
        while self.at < len(self.pieces) and self.pieces[self.at] == "|":
            self.at += 1
            choices = choices + self._item()
        return choices

    def _item(self) -> list[tuple[Symbol, ...]]:
        if self.at >= len(self.pieces):
            raise ValueError("ends too early")
        piece = self.pieces[self.at]
        self.at += 1
        if piece == "[":
            rows = self._row()
            self._close("]")
            return [(), *rows]
        if piece == "(":
            return self._choice()
        if piece in ")]|":
            raise ValueError(f"unexpected {piece!r}")
        if piece[0] == "{":
            name, _, part = piece[1:-1].partition(":")
            return [(Slot(name, part or name),)]
        return [(piece,) if piece in _SIGNS else tuple(_literal(token.key) for token in self.tokens(piece))]

    def _choice(self) -> list[tuple[Symbol, ...]]:
        """Rows up to the closing parenthesis, parted by bars."""
        rows: list[tuple[Symbol, ...]] = []
        while True:
            row: list[tuple[Symbol, ...]] = [()]
            while self.at < len(self.pieces) and self.pieces[self.at] not in ")|":
                step = self._item()
                row = [head + more for head in row for more in step]
            rows += row
            if self.at < len(self.pieces) and self.pieces[self.at] == "|":
                self.at += 1
                continue
            self._close(")")
            return rows

    def _close(self, bracket: str) -> None:
        if self.at >= len(self.pieces) or self.pieces[self.at] != bracket:
            raise ValueError(f"no {bracket!r}")
        self.at += 1
