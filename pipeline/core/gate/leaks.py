"""Leaks: whether a text gives a known value away, in whatever spelling.

A code of four digits has no shape that tells it from a price, so that it is looked for by identity (OG-3): the value itself, read along
the edges of `spelling`, forwards and backwards; what a decoder makes of the text (entities, escapes, hex, binary, Morse …); the result
of a stated sum; and pieces that are scattered over sentences, or over the strings that were released to the same person in the
last 24 hours. Other people's phone numbers, addresses and names are found by the same means.

Invariants: a value counts only where whole tokens spell it, or where it stands inside a longer run of digits; ordinary words
between its parts make it another statement. Facts are blanked by the caller, who knows which of them may bear equal digits.
The cost is linear in the text for each value whose first character occurs.
"""

from __future__ import annotations

import base64
import binascii
import codecs
import html
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Final
from urllib.parse import unquote

from pipeline.core.gate.folding import FACT, Folded, fold
from pipeline.core.gate.lexicon import locale_files
from pipeline.core.gate.spelling import Budget, Edge, Overload, Spelling

# What looks like a character: letters and signs for digits (leet) and the other way round.
_LOOKS: Final = {
    "0": "0oOQD@", "1": "1lI|i!", "2": "2zZ", "3": "3Ee", "4": "4Aa", "5": "5Ss$", "6": "6Gb", "7": "7Tt", "8": "8B", "9": "9gqP",
    "O": "O0o", "I": "I1li", "L": "L1lI", "S": "S5s", "B": "B8b", "Z": "Z2z", "E": "E3e", "A": "A4a", "T": "T7t", "G": "G6g9",
}  # fmt: skip
_MORSE: Final = {
    "-----": "0", ".----": "1", "..---": "2", "...--": "3", "....-": "4", ".....": "5", "-....": "6", "--...": "7", "---..": "8",
    "----.": "9", ".-": "A", "-...": "B", "-.-.": "C", "-..": "D", ".": "E", "..-.": "F", "--.": "G", "....": "H", "..": "I",
    ".---": "J", "-.-": "K", ".-..": "L", "--": "M", "-.": "N", "---": "O", ".--.": "P", "--.-": "Q", ".-.": "R", "...": "S",
    "-": "T", "..-": "U", "...-": "V", ".--": "W", "-..-": "X", "-.--": "Y", "--..": "Z",
}  # fmt: skip
_PHONE_KEYS: Final = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "22233344455566677778889999")
_BRAILLE: Final = str.maketrans("⠁⠃⠉⠙⠑⠋⠛⠓⠊⠚", "1234567890", "⠼")
_MAX_SKIPS: Final = 8
_MAX_PIECES: Final = 200
_MAX_RUNS: Final = 5
_ENOUGH: Final = 4  # characters from which on a value may stand inside a longer run, in pieces, or backwards


@dataclass(frozen=True, slots=True)
class Target:
    """A value to be found. value: its letters and digits, upper case; index: which of the given values it comes from."""

    value: str
    index: int


@dataclass(frozen=True, slots=True)
class Targets:
    """Values to be found, by the character that can begin them."""

    all: tuple[Target, ...]
    exact: Mapping[str, tuple[Target, ...]]
    loose: Mapping[str, tuple[Target, ...]]
    parts: frozenset[str]  # runs of letters in a value, which an ordinary word could be
    least: int  # the length of the shortest
    forward: tuple[str, ...]  # the values as given, without the reversed ones
    mixed: tuple[str, ...]  # values of letters and digits, which no text holds by chance


@dataclass(frozen=True, slots=True)
class Hit:
    """A value found at `plain[start:end]` of the folded text, by a rule."""

    start: int
    end: int
    rule: str


@lru_cache(maxsize=64)
def targets(values: tuple[str, ...], both_ways: bool = True) -> Targets:
    """Prepares values; shorter than 3 characters are left out, as any text would hold them."""
    found: list[Target] = []
    for index, value in enumerate(values):
        plain = "".join(char for char in fold(value).plain.upper() if char.isalnum())
        if len(plain) > 2:
            found.append(Target(plain, index))
            if both_ways and len(plain) >= _ENOUGH and plain != plain[::-1]:
                found.append(Target(plain[::-1], -1 - index))
    exact: dict[str, list[Target]] = {}
    loose: dict[str, list[Target]] = {}
    for target in found:
        exact.setdefault(target.value[0], []).append(target)
        for char in {*_LOOKS.get(target.value[0], ""), target.value[0], target.value[0].lower()}:
            loose.setdefault(char, []).append(target)
    return Targets(
        tuple(found),
        {char: tuple(items) for char, items in exact.items()},
        {char: tuple(items) for char, items in loose.items()},
        frozenset(run for target in found for run in re.findall(r"[A-Z]{2,}", target.value)),
        min((len(target.value) for target in found), default=0),
        tuple(target.value for target in found if target.index >= 0),
        tuple(v for v in (t.value for t in found) if len(v) >= _ENOUGH and not v.isdigit() and not v.isalpha()),
    )


# --- along the edges ----------------------------------------------------------------------------------------------------------


def spelled(spelling: Spelling, wanted: Targets) -> Hit | None:
    """The first of the values that a path of edges spells."""
    for at in spelling.starts(wanted.parts, wanted.least):
        for edge in spelling.edges(at):
            table = wanted.loose if edge.loose else wanted.exact
            for target in table.get(edge.text[0], ()):
                used = _used(target.value, 0, edge)
                if used and (end := _walk(spelling, target.value, edge.end, used, set())) is not None:
                    return Hit(spelling.places[at][0], spelling.places[end - 1][1], "reversed" if target.index < 0 else "spelled")
        if (hit := _inside(spelling, at, wanted)) is not None:
            return hit
    return None


def _used(value: str, at: int, edge: Edge) -> int:
    """How far into `value` an edge leads from position `at`; 0 where it spells something else."""
    text = edge.text
    if at + len(text) > len(value):
        return 0
    if not edge.loose:
        return at + len(text) if value.startswith(text, at) else 0
    for i, char in enumerate(text):
        wanted = value[at + i]
        if char not in _LOOKS.get(wanted, wanted) and char.upper() != wanted:
            return 0
    return at + len(text)


def _walk(spelling: Spelling, value: str, at: int, used: int, seen: set[tuple[int, int]]) -> int | None:
    """The token after the last one of a path that spells the rest of `value`; depth is bounded by its length."""
    if used == len(value):
        return at
    spelling.budget.spend()
    for skipped in range(_MAX_SKIPS + 1):
        here = at + skipped
        if here >= len(spelling.words) or (here, used) in seen:
            return None
        seen.add((here, used))
        for edge in spelling.edges(here):
            further = _used(value, used, edge)
            if further and (end := _walk(spelling, value, edge.end, further, seen)) is not None:
                return end
        if not spelling.skippable(here) and spelling.low[here] != spelling.low[at - 1]:
            return None
    return None


def _inside(spelling: Spelling, at: int, wanted: Targets) -> Hit | None:
    """A value inside a longer run of digits."""
    word = spelling.words[at]
    if len(word) > _ENOUGH and word[0].isdigit():
        for target in wanted.all:
            if len(target.value) >= _ENOUGH and len(target.value) < len(word) and target.value in word:
                return Hit(*spelling.places[at], "inside")
    return None


# --- decoders -----------------------------------------------------------------------------------------------------------------

_MARKS: Final = frozenset("&<%\\([{|=_⠼⠁⠃⠉⠙⠑⠋⠛⠓⠊⠚")
_TAG: Final = re.compile(r"</?[A-Za-z][^<>]{0,80}>")
_ESCAPE: Final = re.compile(r"(?:\\u\{?|U\+|\\x|&#x)([0-9A-Fa-f]{2,6})\}?;?")
_ASIDE: Final = re.compile(r"\([^()]{0,60}\)|\[[^\[\]]{0,60}\]|\{[^{}]{0,60}\}")
_HEX_RUN: Final = re.compile(r"(?:\b(?:0x)?[0-9A-Fa-f]{2}\b[\s,:;-]*){3,}")
_HEX_WORD: Final = re.compile(r"\b[0-9A-Fa-f]{6,}\b")
_HEX_VALUE: Final = re.compile(r"\b0x([0-9A-Fa-f]{2,8})\b")
_ASCII_RUN: Final = re.compile(r"(?:\b(?:4[89]|5[0-7]|6[5-9]|[78]\d|90|9[7-9]|1[01]\d|12[0-2])\b[\s,;-]*){3,}")
_MORSE_RUN: Final = re.compile(r"(?<![.\-\w])[.\-_]{1,5}(?:[ /|,]+[.\-_]{1,5})+(?!\w)")
_TALLY_RUN: Final = re.compile(r"(?:[|Il/]{1,9}[\s,;-]+){2,}[|Il/]{1,9}")
_BINARY_RUN: Final = re.compile(r"\b[01]{3,}(?:[\s,;-]+[01]{3,})*\b")
_CASED: Final = re.compile(r"[a-z0-9][A-Z]")
_STRETCHED: Final = re.compile(r"([A-Za-z])\1{2,}")
_BASE64: Final = re.compile(r"[A-Za-z0-9+/_-]{4,}={0,2}")


def decoded(text: str, numeric: bool) -> Iterator[str]:
    """What the usual decoders make of a folded text; nothing for a text that bears no sign of any. numeric: it has a digit."""
    marks = _MARKS.intersection(text)
    if marks:
        yield from _unmarked(text, marks)
    if "=" in marks or _CASED.search(text):
        yield " . ".join(map(_base64, _BASE64.findall(text)))
    if _STRETCHED.search(text):
        yield from (_STRETCHED.sub(kept, text) for kept in (r"\1", r"\1\1"))
    if numeric:
        yield from _numbers(text)
    if "|" in marks or " -" in text or " ." in text or "- " in text:
        for run in _MORSE_RUN.findall(text)[:_MAX_RUNS]:
            yield "".join(_MORSE.get(sign.replace("_", "-"), " ") for sign in re.split(r"[ /|,]+", run))
        for run in _TALLY_RUN.findall(text)[:_MAX_RUNS]:
            yield "".join(str(len(marks)) for marks in re.findall(r"[|Il/]+", run))


def _unmarked(text: str, marks: frozenset[str]) -> Iterator[str]:
    """Entities, tags, escapes, asides, Braille, base 64."""
    bare = _TAG.sub("", html.unescape(text)) if "&" in marks or "<" in marks else text
    if "\\" in marks or "%" in marks:
        bare = unquote(_ESCAPE.sub(lambda match: _char(match[1]), bare))
    if bare != text:
        yield fold(bare).plain
    if not marks.isdisjoint("([{"):
        yield _ASIDE.sub(" ", text)
    if any("⠀" < char <= "⠿" for char in marks):
        yield text.translate(_BRAILLE)


def _numbers(text: str) -> Iterator[str]:
    """Characters by their numbers, and values in base two or sixteen."""
    yield " . ".join(_hex(re.sub(r"0x|[^0-9A-Fa-f]", "", run)) for run in _HEX_RUN.findall(text))
    yield " . ".join(map(_hex, _HEX_WORD.findall(text)))
    yield " . ".join(_padded(int(word, 16)) for word in _HEX_VALUE.findall(text))
    yield " . ".join("".join(chr(int(number)) for number in re.findall(r"\d+", run)) for run in _ASCII_RUN.findall(text))
    for match in list(_BINARY_RUN.finditer(text))[:_MAX_RUNS]:
        groups = re.findall(r"[01]+", match.group())
        yield " ".join(_padded(int(group, 2)) for group in groups if len(group) <= 40)
        joined = "".join(groups)
        if len(joined) % 8 == 0:
            yield "".join(chr(int(joined[i : i + 8], 2)) for i in range(0, len(joined), 8))
        nibbles = groups if len(groups) > 1 else [joined[i : i + 4] for i in range(0, len(joined), 4)]
        yield "".join(str(int(group, 2)) for group in nibbles if len(group) < 5)
    if "U+" in text:
        yield _ESCAPE.sub(lambda match: _char(match[1]), text)


def _padded(value: int) -> str:
    """A number as a code would be written: codes may begin with zero."""
    return str(value).zfill(_ENOUGH)


def _char(digits: str) -> str:
    code = int(digits, 16)
    return chr(code) if code < 0x110000 and not 0xD800 <= code < 0xE000 else ""


def _hex(digits: str) -> str:
    return bytes.fromhex(digits[: len(digits) // 2 * 2]).decode("ascii", "replace")


def _base64(word: str) -> str:
    try:
        raw = base64.b64decode(word.rstrip("=") + "=" * (-len(word.rstrip("=")) % 4), altchars=b"-_")
        return raw.decode("ascii")
    except (binascii.Error, UnicodeDecodeError, ValueError):
        return ""


# --- riddles ------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Hints:
    """Words that make a number in a text suspicious."""

    changes: frozenset[str]  # add, minus, twice …
    encodings: frozenset[str]  # hex, octal …
    letters: frozenset[str]  # spell, letters: the letters on the keys of a phone
    hints: frozenset[str]  # code, digit, starts …
    labels: frozenset[str]  # unit, floor …
    quiet: frozenset[str]  # words after which a number is not a count of something


@cache
def hints() -> Hints:
    """Read from the files of all locales."""
    raw = list(locale_files().values())

    def words(section: str, name: str) -> frozenset[str]:
        return frozenset(word for data in raw for text in data[section][name] for word in fold(text).lower.split())

    return Hints(
        changes=words("code", "changes"),
        encodings=words("code", "encodings"),
        letters=words("code", "letters"),
        hints=words("code", "hint"),
        labels=words("code", "labels"),
        quiet=words("words", "common") | words("code", "filler") | words("code", "hint"),
    )


def riddle(spelling: Spelling, wanted: Targets) -> str | None:
    """The rule by which a stated sum, another base or a shift of the stated digits gives a value away."""
    words, known = set(spelling.low), hints()
    numeric = {value for value in wanted.forward if value.isdigit()}
    if not words.isdisjoint(known.letters) and any(w.upper().translate(_PHONE_KEYS) in numeric for w in spelling.words):
        return "phone_keys"
    if words.isdisjoint(known.changes) and words.isdisjoint(known.encodings) and words.isdisjoint("+*=/"):
        return None
    if not words.isdisjoint(known.encodings) and _rebased(spelling, wanted, numeric):
        return "encoded"
    return "sum" if _computed(spelling, numeric) else None


def _rebased(spelling: Spelling, wanted: Targets, numeric: set[str]) -> bool:
    for word in re.findall(r"[0-9A-Za-z]{2,40}", spelling.plain):
        for base in (16, 8, 36, 2, 12):
            try:
                if _padded(int(word, base)) in numeric:
                    return True
            except ValueError:
                continue
    turned = "".join(
        str((int(c) + 5) % 10) if c.isdigit() and c.isascii() else c
        for c in codecs.encode(" ".join(spelling.words), "rot13")
    )
    return spelled(Spelling(turned, spelling.budget), wanted) is not None


def _computed(spelling: Spelling, numeric: set[str]) -> bool:
    numbers = _stated(spelling)
    goals = {int(value) for value in numeric}
    for a in numbers:
        if {a * 2, a * 3, a * 10, a // 2 if a % 2 == 0 else -1, a + 1, a - 1} & goals:
            return True
        if any({a + b, a - b, a * b, a // b if b and a % b == 0 else -1} & goals for b in numbers):
            return True
    if sum(numbers) in goals:
        return True
    texts = {word for word in spelling.words if word.isdigit()}
    texts.add("".join(word for word in spelling.words if word.isdigit() and len(word) == 1))
    return any(_shifted(value, text) for value in numeric for text in texts if len(text) == len(value) >= _ENOUGH)


def _stated(spelling: Spelling) -> list[int]:
    """The numbers that a text states, at most 40 of them."""
    numbers: list[int] = []
    at = 0
    while at < len(spelling.words) and len(numbers) < 40:
        known = spelling.low[at] in spelling.speech.numbers or spelling.words[at][0].isdigit()
        edges = [edge for edge in spelling.edges(at) if edge.text.isdigit() and len(edge.text) < 10] if known else []
        if edges:
            longest = max(edges, key=lambda edge: (edge.end, len(edge.text)))
            numbers.append(int(longest.text))
            at = longest.end
        else:
            at += 1
    return numbers


def _shifted(value: str, text: str) -> bool:
    return value != text and len({(int(a) - int(b)) % 10 for a, b in zip(value, text, strict=True)}) == 1


# --- pieces -------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Piece:
    """A run of digits and letters that may be a part of a value. texts: its readings; place: where it stands, in its string."""

    texts: tuple[str, ...]
    place: tuple[int, int]


_CAPITALS: Final = re.compile(r"\b[A-Z]{1,4}\b")
_SENTENCE: Final = re.compile(r"[.?!;\n]")


def pieces(spelling: Spelling, every: bool) -> list[Piece]:
    """The runs of one string that may be parts of a value, in order: all that are said for themselves, or (every: False) those said
    in a few words, after a colon, or in a sentence about codes, digits, beginnings and ends."""
    found: list[Piece] = []
    if not (spelling.numeric or _CAPITALS.search(spelling.plain) or not spelling.speech.numbers.keys().isdisjoint(spelling.low)):
        return found
    known, start = hints(), 0
    bounds = [i for i, word in enumerate(spelling.words) if _SENTENCE.match(word)] + [len(spelling.words)]
    for bound in bounds:
        words = [word for word in spelling.low[start:bound] if word[0].isalnum()]
        telling = every or len(words) <= 3 or not known.hints.isdisjoint(words)
        at = start
        while at < bound and len(found) < _MAX_PIECES:
            texts, end = _run(spelling, at, bound)
            if texts and _alone(spelling, at, end) and (telling or spelling.words[at - 1 : at] == [":"]):
                found.append(Piece(texts, (spelling.places[at][0], spelling.places[end - 1][1])))
            at = max(end, at + 1)
        start = bound + 1
    return found


def scattered(earlier: Iterable[Piece], here: Sequence[Piece], wanted: Targets) -> tuple[int, int] | None:
    """Where the last piece of a value stands whose pieces follow each other, the last of them in the present string."""
    chain = [*earlier, *here]
    first_here = len(chain) - len(here)
    for last in range(first_here, len(chain)):
        if any(len(value) >= _ENOUGH and _ends_at(chain, last, value) for value in wanted.forward):
            return chain[last].place
    return None


def _ends_at(chain: Sequence[Piece], last: int, value: str) -> bool:
    rests = {value[: -len(text)] for text in chain[last].texts if text != value and value.endswith(text)}
    for text in chain[last].texts:  # two parts in the wrong order
        if last and value.startswith(text) and text != value and value[len(text) :] in chain[last - 1].texts:
            return True
    at = last - 1
    while rests and at >= 0:
        rests = {rest[: -len(text)] for rest in rests for text in chain[at].texts if rest.endswith(text)}
        if "" in rests:
            return True
        at -= 1
    return False


def _run(spelling: Spelling, at: int, bound: int) -> tuple[tuple[str, ...], int]:
    """The readings of the longest run of value-like tokens from `at`, and where it ends."""
    readings, here = {""}, at
    while here < bound:
        edges = [e for e in spelling.edges(here) if _valuelike(spelling, here, e)]
        if not edges:
            break
        end = max(edge.end for edge in edges)
        readings = {r + e.text.upper() for r in list(readings)[:8] for e in edges if e.end == end}
        here = end
        if here < bound and spelling.words[here] == "-":
            here += 1
    return (tuple(readings) if here > at else ()), here


def _valuelike(spelling: Spelling, at: int, edge: Edge) -> bool:
    word, low, known = spelling.words[at], spelling.low[at], spelling.speech
    if word[0].isdigit():
        return True
    if low in known.numbers or low in known.alphabet:
        return edge.text != word.upper()
    return word.isupper() and low not in {"i", "a", "y", "o"} and edge.text == word and len(word) < 5


def _alone(spelling: Spelling, at: int, end: int) -> bool:
    """Whether a run is said for itself: not "unit 47", "$47", "4:30", "47 homes"."""
    known = hints()
    before = spelling.low[at - 1] if at else ""
    after = spelling.low[end] if end < len(spelling.words) else ""
    if before in known.labels or before in {"$", "#", FACT} or after in {":", "%", "am", "pm"}:
        return False
    if before == ":" and at > 1 and spelling.words[at - 2][0].isdigit():
        return False
    return not after or not after[0].isalnum() or after in known.quiet


# --- people -------------------------------------------------------------------------------------------------------------------

_SIGNS: Final = (  # how the signs of a mail address are said
    (re.compile(r"\s*[\[({<]?\s*(?:@|\b(?:at|arroba)\b)\s*[\])}>]?\s*"), "@"),
    (re.compile(r"\s*[\[({<]?\s*(?:\.|\b(?:dot|punto|period)\b)\s*[\])}>]?\s*"), "."),
    (re.compile(r"\s*\b(?:under ?score|guion bajo|raya baja)\b\s*"), "_"),
    (re.compile(r"\s*\b(?:dash|hyphen|minus|guion(?: medio)?)\b\s*"), "-"),
    (re.compile(r"\s"), ""),
)


@dataclass(frozen=True, slots=True)
class People:
    """Other people's strings, prepared. phones: digit strings; mails: canonical addresses; names: word sequences."""

    phones: Targets
    mails: tuple[str, ...]
    names: tuple[str, ...]


@lru_cache(maxsize=64)
def people(others: tuple[str, ...]) -> People:
    """Sorts other people's strings into phone numbers, addresses of mail, and names or other words."""
    phones: list[str] = []
    mails: list[str] = []
    names: list[str] = []
    for other in others:
        plain = fold(other).lower.strip()
        digits = re.sub(r"\D", "", plain)
        if "@" in plain:
            address = re.sub(r"\s|^mailto:|[<>]", "", plain)
            mails.append(address)
            parts = re.findall(r"[a-z]{2,}", address.partition("@")[0])
            if len(parts) > 1 and max(map(len, parts)) > 2:
                names.append(" ".join(parts))
        elif len(digits) >= 7 and not re.search(r"[a-z]{3}", plain):
            phones += {digits, digits[-10:], digits[-7:]}
        elif words := re.findall(r"[a-z0-9]+", plain):
            if len(words) > 1 or len(words[0]) > 3:
                names.append(" ".join(words))
    return People(targets(tuple(phones), False), tuple(mails), tuple(names))


def personal(folded: Folded, spelling: Spelling, known: People, before: Sequence[str] = ()) -> Hit | None:
    """The first of other people's values in a text, or completed by it after `before`, what was released to the same person."""
    everything = (0, len(folded.plain))
    try:
        if known.phones.all and (hit := _phone(spelling, known.phones, before)) is not None:
            return hit
    except Overload:
        return Hit(*everything, "overload")
    if known.mails and (at := _mail(folded.lower, known.mails, before)):
        return Hit(*at, "mail")
    if known.names:
        line = " " + " ".join(word for word in spelling.low if word[0].isalnum()) + " "
        for name in known.names:
            if f" {name} " in line and (" " in name or re.search(rf"\b{name.capitalize()}\b", folded.plain)):
                return Hit(*everything, "name")
    return None


def _phone(spelling: Spelling, phones: Targets, before: Sequence[str]) -> Hit | None:
    if (hit := spelled(spelling, phones)) is not None:
        return Hit(hit.start, hit.end, "phone")
    if before and (here := pieces(spelling, True)):
        earlier = [piece for string in before for piece in pieces(Spelling(fold(string).plain, spelling.budget), True)]
        if (place := scattered(earlier, here, phones)) is not None:
            return Hit(*place, "phone")
    return None


def _mail(lower: str, mails: Sequence[str], before: Sequence[str]) -> tuple[int, int] | None:
    for mail in mails:
        if (at := lower.find(mail)) >= 0:
            return at, at + len(mail)
    here = _squashed(lower)
    tail = _squashed(" ".join(fold(string).lower for string in before))[-200:] if before else ""
    if any(mail in tail + here and mail not in tail for mail in mails):
        return 0, len(lower)
    return None


def _squashed(lower: str) -> str:
    """A text without spaces, the signs of a mail address as signs."""
    lower = " ".join(lower.split())
    for pattern, sign in _SIGNS:
        lower = pattern.sub(sign, lower)
    return lower


# --- the whole search ---------------------------------------------------------------------------------------------------------


def leaked(spelling: Spelling, wanted: Targets, before: Sequence[str] = ()) -> Hit | None:
    """The first of the values that a text gives away, by itself or together with the strings released before it. A text with more
    readings than any reply has is refused unread."""
    everything = (0, len(spelling.plain))
    try:
        return _leaked(spelling, wanted, before, everything)
    except Overload:
        return Hit(*everything, "overload")


def _leaked(spelling: Spelling, wanted: Targets, before: Sequence[str], everything: tuple[int, int]) -> Hit | None:
    plain, budget = spelling.plain, spelling.budget
    if (hit := spelled(spelling, wanted)) is not None:
        return hit
    if wanted.mixed and spelling.numeric:
        squashed = re.sub(r"[\W_]+", "", plain).upper()
        if any(value in squashed for value in wanted.mixed):
            return Hit(*everything, "squashed")
    for text in decoded(plain, spelling.numeric):
        if text and spelled(Spelling(text, budget), wanted) is not None:
            return Hit(*everything, "encoded")
    if not spelling.speech.backward.isdisjoint(spelling.low) and spelled(Spelling(plain[::-1], budget), wanted) is not None:
        return Hit(*everything, "reversed")
    if (rule := riddle(spelling, wanted)) is not None:
        return Hit(*everything, rule)
    if here := pieces(spelling, True):
        earlier = [piece for string in before for piece in pieces(Spelling(fold(string).plain, budget), False)]
        if (place := scattered(earlier, here, wanted)) is not None:
            return Hit(*place, "pieces")
    return None
