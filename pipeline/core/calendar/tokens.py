"""From a text to the tokens that the phrase books speak of.

A token is a word, a run of digits, a clock such as 10:30, a numbered ordinal such as 20th, or one of the few signs that
mean something between them. Each carries a key: the word without case, accents and typographic variants, or for
numbers its shape. Everything that the grammar gives no meaning to has the key "?", which no phrase contains: a text
with such a token has no complete reading, so nothing is ever overlooked.

Punctuation that only separates is dropped, and so are invisible characters inside words. Two things are not dropped,
because they change what a reader sees: marks that strike a letter out, and digits that are small, circled or fractions.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from typing import NamedTuple

_INVISIBLE = "\u00ad\u034f\u061c\u200b-\u200f\u2060\ufeff\ufe00-\ufe0f"
_MARKS = "\u0300-\u0304\u0306\u0308\u030a-\u030c\u0327\u0328"
_TOKEN = re.compile(
    r"(?P<clock>(?<!\d)\d{1,2}:\d\d(?::\d\d)?(?![\d:]))"
    r"|(?P<parted>(?<=\d)[Tt](?=\d\d:\d\d))"  # 2026-08-20T15:00
    r"|(?P<year>(?<!\w)['\u2019]\d\d(?!\w))"
    r"|(?P<digits>\d+)"
    rf"|(?P<word>[^\W\d_](?:[^\W\d_]|[{_MARKS}{_INVISIBLE}])*)"
    r"|(?P<sign>\S)"
)
_DROPPED = frozenset(",;:!?.\"()[]*_'\u00a1\u00bf\u201c\u201d\u201e\u00ab\u00bb\u2026\u2022")
_APOSTROPHES = frozenset("'\u2018\u2019\u02bc\u00b4`\u2032")
_DASHES = frozenset("-\u2010\u2011\u2012\u2013\u2014\u2015\u2212")
_KEPT = {"/": "/", "@": "@", "&": "&", "+": "?", "~": "~"}
_SHAPES = {1: "#1", 2: "#2", 3: "#3", 4: "#4", 8: "#8"}
_ACCENTS = re.compile(f"[{_MARKS}{_INVISIBLE}]")


class Token(NamedTuple):
    """A token: its key, its number (minutes since midnight for a clock; 0 for words) and its place in the text.

    `lead` says that a number was written with a leading zero, `glued` that nothing stands between it and the token
    before it.
    """

    key: str
    value: int
    start: int
    end: int
    lead: bool = False
    glued: bool = False


def fold(word: str) -> str:
    """`word` as phrase books spell it: no case, no accents, no invisible characters."""
    if word.isascii():
        return word if word.islower() else word.lower()
    plain = unicodedata.normalize("NFKC", word).casefold()
    return _ACCENTS.sub("", unicodedata.normalize("NFD", plain))


class Tokeniser:
    """Cuts texts of one locale. `suffixes` are the endings that make an ordinal of a number ("th", "er"); `fused` are
    words that hold digits ("24/7", "2moro")."""

    __slots__ = ("_pattern", "_suffixes")

    def __init__(self, suffixes: Iterable[str] = (), fused: Iterable[str] = ()) -> None:
        self._suffixes = frozenset(map(fold, suffixes))
        words = "|".join(re.escape(word) for word in sorted(fused, key=len, reverse=True))
        self._pattern = re.compile(rf"(?P<fused>(?<!\w)(?:{words})(?!\w))|{_TOKEN.pattern}", re.I) if words else _TOKEN

    def __call__(self, text: str) -> list[Token]:
        """The tokens of `text`."""
        tokens: list[Token] = []
        end = -1  # where the last token ended, to see what is glued to it
        if text.isascii():
            text = text.lower()
        for match in self._pattern.finditer(text):
            kind = match.lastgroup
            start, stop = match.span()
            glued = end == start
            if kind == "parted":
                continue
            if kind == "digits":
                tokens.append(_number(match.group(), start, stop, glued))
            elif kind == "year":
                short = int(match.group()[1:])
                tokens.append(Token("#4", short + (2000 if short < 70 else 1900), start, stop))
            elif kind == "clock":
                tokens.append(_clock(match.group(), start, stop))
            elif kind == "sign":
                sign = _sign(text, start, stop, tokens)
                if sign is None:
                    # a dot before a suffix ("3.er") does not part it from its number
                    end = stop if glued and text[start] == "." else end
                    continue
                tokens.append(Token(sign, 0, start, stop, False, glued))
            else:
                key = fold(match.group())
                if glued and key in self._suffixes and tokens and tokens[-1].key in ("#1", "#2"):
                    tokens[-1] = tokens[-1]._replace(key="#nth", end=stop)
                else:
                    tokens.append(Token(key, 0, start, stop, False, glued))
            end = stop
        return tokens


def _number(digits: str, start: int, stop: int, glued: bool) -> Token:
    plain = digits if digits.isascii() else unicodedata.normalize("NFKC", digits)
    key = _SHAPES.get(len(plain), "?") if plain.isascii() else "?"
    value = int(plain) if key != "?" else 0
    return Token(key, value, start, stop, plain[0] == "0" and len(plain) > 1, glued)


def _clock(written: str, start: int, stop: int) -> Token:
    plain = written if written.isascii() else unicodedata.normalize("NFKC", written)
    if not plain.isascii():
        return Token("?", 0, start, stop)
    hour, minute, *second = map(int, plain.split(":"))
    if hour > 23 or minute > 59 or (second and second[0] > 59):
        return Token("?", 0, start, stop)
    return Token("#clock", hour * 60 + minute, start, stop, plain[0] == "0" and plain[1] != ":")


def _sign(text: str, start: int, stop: int, tokens: list[Token]) -> str | None:
    """The key of a sign, or None where it only separates."""
    sign = text[start]
    before = text[start - 1] if start else " "
    after = text[stop] if stop < len(text) else " "
    between_digits = before.isdigit() and after.isdigit()
    if sign in _DASHES:
        if before.isalpha() and after.isalpha():
            return None
        return None if tokens and tokens[-1].key == "-" else "-"
    if between_digits and sign in ".,":
        if sign == ",":
            return "?" if re.match(r"\d{3}(?!\d)", text[stop:]) else None
        return "."
    if sign in _APOSTROPHES:
        return None if before.isalpha() or after.isalpha() else "?"
    if sign == ":" and after.isdigit() and before.isdigit():
        return "?"
    if sign in _DROPPED or (_ACCENTS.match(sign) and not between_digits):
        return None
    return _KEPT.get(unicodedata.normalize("NFKC", sign), "?")
