"""Other people's data: phone numbers, mail addresses and names that belong to somebody else, in whatever spelling.

By identity, like codes: a phone number in all its forms down to the last seven digits; a mail address also as it is said ("at", "punto"); a
name as its words, also those that the address holds. The strings released before are joined, as a number can be given in two halves.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from pipeline.core.gate.folding import Folded, fold
from pipeline.core.gate.pieces import pieces, scattered
from pipeline.core.gate.spelling import Overload, Spelling
from pipeline.core.gate.values import Hit, Targets, spelled, targets

_NO_LETTER: Final = re.compile(r"[^a-z0-9]+")
_AT_WORD: Final = re.compile(r"\b(?:at|arroba)\b")
_SIGNS: Final = (  # how the signs of a mail address are said
    (re.compile(r"\s*[\[({<]?\s*(?:@|\b(?:at|arroba)\b)\s*[\])}>]?\s*"), "@"),
    (re.compile(r"\s*[\[({<]?\s*(?:\.|\b(?:dot|punto|period)\b)\s*[\])}>]?\s*"), "."),
    (re.compile(r"\s*\b(?:under ?score|guion bajo|raya baja)\b\s*"), "_"),
    (re.compile(r"\s*\b(?:dash|hyphen|minus|guion(?: medio)?)\b\s*"), "-"),
    (re.compile(r"\s"), ""),
)


@dataclass(frozen=True, slots=True)
class People:
    """Other people's strings, prepared. phones: digit strings; mails: canonical addresses, each with the letters that it begins with;
    names: word sequences; heads: their first words."""

    phones: Targets
    mails: tuple[tuple[str, str], ...]
    names: tuple[str, ...]
    heads: frozenset[str]


@lru_cache(maxsize=64)
def people(others: tuple[str, ...]) -> People:
    """Sorts other people's strings into phone numbers, addresses of mail, and names or other words."""
    phones: list[str] = []
    mails: list[tuple[str, str]] = []
    names: list[str] = []
    for other in others:
        plain = fold(other).lower.strip()
        digits = re.sub(r"\D", "", plain)
        if "@" in plain:
            address = re.sub(r"\s|^mailto:|[<>]", "", plain)
            mails.append((address, re.split(r"[^a-z0-9]", address)[0]))
            parts = re.findall(r"[a-z]{2,}", address.partition("@")[0])
            if len(parts) > 1 and max(map(len, parts)) > 2:
                names.append(" ".join(parts))
        elif len(digits) >= 7 and not re.search(r"[a-z]{3}", plain):
            phones += {digits, digits[-10:], digits[-7:]}
        elif words := re.findall(r"[a-z0-9]+", plain):
            if len(words) > 1 or len(words[0]) > 3:
                names.append(" ".join(words))
    heads = frozenset(name.split(" ", 1)[0] for name in names)
    return People(targets(tuple(phones), False), tuple(mails), tuple(names), heads)


def personal(folded: Folded, spelling: Spelling, known: People, before: Sequence[str] = ()) -> Hit | None:
    """The first of other people's values in a text, or completed by it after `before`, what was released to the same person."""
    everything = (0, len(folded.plain))
    try:
        if known.phones.all and spelling.says_values and (hit := _phone(spelling, known.phones, before)) is not None:
            return hit
    except Overload:
        return Hit(*everything, "overload")
    if known.mails and (at := _mail(folded.lower, known.mails, before)):
        return Hit(*at, "mail")
    if not known.heads.isdisjoint(spelling.low):
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


def _mail(lower: str, mails: Sequence[tuple[str, str]], before: Sequence[str]) -> tuple[int, int] | None:
    for mail, _ in mails:
        if (at := lower.find(mail)) >= 0:
            return at, at + len(mail)
    earlier = " ".join(fold(string).lower for string in before)
    letters = _NO_LETTER.sub("", earlier + lower)
    likely = [mail for mail, begin in mails if begin in letters]
    if likely and any("@" in part or _AT_WORD.search(part) for part in (lower, earlier)):
        here, tail = _squashed(lower), _squashed(earlier)[-200:]
        if any(mail in tail + here and mail not in tail for mail in likely):
            return 0, len(lower)
    return None


def _squashed(lower: str) -> str:
    """A text without spaces, the signs of a mail address as signs."""
    lower = " ".join(lower.split())
    for pattern, sign in _SIGNS:
        lower = pattern.sub(sign, lower)
    return lower
