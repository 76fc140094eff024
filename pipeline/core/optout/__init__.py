"""Does a message revoke, give or ask about consent to be written to? Words in every supported language (SR-7). Pure.

Theory. Consent may be revoked by any reasonable means, so the carriers' bare keywords are only the beginning: "take me
off your list", "ya no me escriban" count as much as STOP. On the other side a leasing office hears these very words all
day about other things: to stop by, to end a lease, to cancel a tour, planta baja. So a *bare* keyword counts when it is
all that is said (courtesy aside) or, for the plainest ones, a clause of its own; inside a longer text only phrases
count that speak of messages, of lists and numbers, or of being left alone. In doubt the label is `revoke`; a lone "no"
is `ambiguous`, for it answers whatever was asked before.

These words act first and alone, without a reading. CANCEL, END and QUIT are both a revocation (a carrier blocks the
number whatever was meant) and perhaps a wish to cancel a visit: `also_cancels` tells them apart.

Invariants: the words of every locale count in every text, since people mix languages and a locale can be wrong; case,
accents, typographic variants and spaced letters make no difference; the text of our own footers ("Reply STOP to …")
never counts. A locale is one TOML file: lists of whole sayings, and patterns over plain words.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, Final, Literal

Label = Literal["revoke", "not_optout", "ambiguous", "help", "optin"]

_READ: Final = 4_000  # characters that are looked at; whoever revokes says so early
_SAYINGS: Final = ("cancel", "alone", "clause", "optin", "help", "no", "courtesy")
_PATTERNS: Final = ("revoking", "returning", "ours", "denied")
_MEANINGS: Final[tuple[tuple[str, Label], ...]] = (("optin", "optin"), ("help", "help"), ("no", "ambiguous"))
_CLAUSES: Final = re.compile(r"[.!?,;:\n…¡¿()]+")


@dataclass(frozen=True, slots=True)
class _Words:
    """What is known in all locales, as plain words: whole sayings and patterns, each by the name of its list."""

    sayings: Mapping[str, frozenset[str]]
    patterns: Mapping[str, tuple[re.Pattern[str], ...]]


def label_optout(text: str, locale: str) -> Label:
    """What a message says about being written to; `locale` is the likely one, but the words of all locales count."""
    words = _words()
    whole = _less_ours(_plain(text[:_READ]), words)
    said = _less_courtesy(whole, words)
    if any(said in words.sayings[name] for name in ("cancel", "alone", "clause")):
        return "revoke"
    for name, label in _MEANINGS:
        if said in words.sayings[name] or whole in words.sayings[name]:
            return label
    if _revokes(text, whole, words):
        return "revoke"
    return "optin" if _any(words.patterns["returning"], whole) else "not_optout"


def also_cancels(text: str) -> bool:
    """Whether a bare revocation may also be meant for a visit (CANCEL, END, QUIT and what they are in other locales)."""
    words = _words()
    return _less_courtesy(_plain(text[:_READ]), words) in words.sayings["cancel"]


def _revokes(text: str, whole: str, words: _Words) -> bool:
    if _any(words.patterns["denied"], whole):
        return False
    clauses = (_less_courtesy(_less_ours(_plain(clause), words), words) for clause in _CLAUSES.split(text[:_READ]))
    return any(clause in words.sayings["clause"] for clause in clauses) or _any(words.patterns["revoking"], whole)


def _any(patterns: tuple[re.Pattern[str], ...], whole: str) -> bool:
    return any(pattern.search(whole) for pattern in patterns)


def _less_ours(said: str, words: _Words) -> str:
    for pattern in words.patterns["ours"]:
        said = pattern.sub(" ", said)
    return " ".join(said.split())


def _less_courtesy(said: str, words: _Words) -> str:
    spoken = said.split()
    while spoken and spoken[0] in words.sayings["courtesy"]:
        spoken.pop(0)
    while spoken and spoken[-1] in words.sayings["courtesy"]:
        spoken.pop()
    return " ".join(spoken)


def _plain(text: str) -> str:
    """Words only: lower case, no accents, no signs; letters that stand alone in a row are one word (S T O P)."""
    folded = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", text).casefold())
    words = re.findall(r"[^\W_]+", "".join(c for c in folded if not unicodedata.combining(c)))
    if len(words) > 2 and all(len(word) == 1 for word in words):
        return "".join(words)
    return " ".join(words)


@cache
def _words() -> _Words:
    files = sorted(resources.files(__name__).iterdir(), key=lambda file: file.name)
    locales = [tomllib.loads(file.read_text("utf-8")) for file in files if file.name.endswith(".toml")]
    return _Words(
        {name: frozenset(saying for locale in locales for saying in locale[name]) for name in _SAYINGS},
        {name: tuple(pattern for locale in locales for pattern in _patterns(locale, name)) for name in _PATTERNS},
    )


def _patterns(locale: dict[str, Any], name: str) -> list[re.Pattern[str]]:
    """The patterns of one list; `<name>` in them stands for one word out of the locale's list of that name."""
    classes: dict[str, str] = locale["classes"]
    return [re.compile(re.sub(r"<(\w+)>", lambda m: f"(?:{classes[m.group(1)]})", text)) for text in locale[name]]
