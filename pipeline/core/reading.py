"""The reading: what the model says it read in one inbound, as frozen values, and the one shape it may have (UN-1).

A reading is a claim, not a fact. It names intents, dates and times, a record and an affirmation, and for each of them the
exact substring of the new text it was read from. Nothing here trusts it: `parse_reading` checks its shape only, and
`pipeline.core.checks` decides what, if anything, follows from it.

Invariants: parsing is strict (an unknown key, a missing key or an unknown word is a `ReadingError`); the *values* of
mentions stay the strings that the model wrote, because they are compared with the calendar's own answer and never used;
a span is never repaired here.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, TypeVar


class Intent(StrEnum):
    """What the person wants, in the model's words; several may hold at once."""

    REQUEST_TOUR = "request_tour"
    RESCHEDULE_TOUR = "reschedule_tour"
    CANCEL_TOUR = "cancel_tour"
    ASK_AVAILABILITY = "ask_availability"
    ACCEPT_OFFER = "accept_offer"
    DECLINE_OFFER = "decline_offer"
    AFFIRM = "affirm"
    QUESTION = "question"
    ACCESS_CODE = "access_code"
    HUMAN = "human"
    OPT_OUT = "opt_out"
    FRUSTRATION = "frustration"
    CLOSER = "closer"
    OTHER = "other"


class Role(StrEnum):
    """What a date or time is for."""

    VISIT = "visit"
    MOVE_IN = "move_in"
    OTHER = "other"


class Kind(StrEnum):
    """What sort of expression a mention is."""

    DATE = "date"
    TIME = "time"
    DATETIME = "datetime"
    RANGE = "range"


class Referent(StrEnum):
    """What sort of record the words point at."""

    OFFER = "offer"
    PROPOSAL = "proposal"
    TOUR = "tour"
    NONE = "none"


class Affirmation(StrEnum):
    """How a yes was given: not at all, bare, or with the fact said again in the person's own words."""

    NONE = "none"
    BARE = "bare"
    RESTATED = "restated"


class ReadingError(ValueError):
    """The model's answer does not have the shape of a reading; the message says where (UN-10)."""


@dataclass(frozen=True, slots=True)
class Span:
    """Words said to be copied from the new text; `occurrence` counts from 1 where they stand there more than once."""

    text: str = ""
    occurrence: int = 1


@dataclass(frozen=True, slots=True)
class Wish:
    """One intent and the words that express it."""

    kind: Intent
    span: Span


@dataclass(frozen=True, slots=True)
class Mention:
    """One date or time: what it is for and what the model takes it to mean.

    `value` holds the model's strings (`date` YYYY-MM-DD, `time` HH:MM, `start` and `end` either or both joined by T), only
    for what the words state.
    """

    role: Role
    kind: Kind
    span: Span
    value: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Reference:
    """The record that the words point at; `id` is empty where `kind` is none."""

    kind: Referent = Referent.NONE
    id: str = ""
    span: Span = Span()


@dataclass(frozen=True, slots=True)
class Yes:
    """The affirmation and its words."""

    kind: Affirmation = Affirmation.NONE
    span: Span = Span()


@dataclass(frozen=True, slots=True)
class Reading:
    """One inbound as the model read it. `domains` holds the objects of other domains, as they came."""

    language: str
    intents: tuple[Wish, ...] = ()
    mentions: tuple[Mention, ...] = ()
    refers_to: Reference = Reference()
    affirmation: Yes = Yes()
    domains: Mapping[str, Any] = field(default_factory=dict)

    def wants(self, kind: Intent) -> bool:
        """Whether the model read this intent."""
        return any(wish.kind is kind for wish in self.intents)


_VALUE_KEYS = ("date", "time", "start", "end")
_CORE_KEYS = ("language", "intents", "mentions", "refers_to", "affirmation")
_Word = TypeVar("_Word", bound=StrEnum)


def parse_reading(data: Mapping[str, Any], domains: Collection[str] = ()) -> Reading:
    """The reading in `data`. `domains` are the names of the objects that registered domains add.

    Raises ReadingError with a sentence that names the place.
    """
    whole = _object(data, "the reading", (*_CORE_KEYS, *domains), _CORE_KEYS)
    return Reading(
        language=_string(whole["language"], "language"),
        intents=tuple(_wish(item, f"intents[{i}]") for i, item in enumerate(_list(whole["intents"], "intents"))),
        mentions=tuple(_mention(item, f"mentions[{i}]") for i, item in enumerate(_list(whole["mentions"], "mentions"))),
        refers_to=_reference(whole["refers_to"]),
        affirmation=_yes(whole["affirmation"]),
        domains={name: whole[name] for name in domains if name in whole},
    )


def reading_schema(domains: Mapping[str, Mapping[str, Any]] | None = None) -> dict[str, Any]:
    """The JSON schema of a reading, in the subset that strict tools accept: closed objects, no limits on size or number.

    `domains` maps the name of each registered domain to the schema of its own, optional, object.
    """
    span = {"type": "string", "description": "The exact words of the new text, copied character by character."}
    occurrence = {"type": "integer", "description": "Which place, from 1, where the words stand more than once."}
    wish = _closed({"kind": _one_of(Intent), "span": span, "occurrence": occurrence}, optional=("occurrence",))
    value = _closed(
        {
            "date": {"type": "string", "description": "YYYY-MM-DD"},
            "time": {"type": "string", "description": "HH:MM, 24 hours"},
            "start": {"type": "string", "description": "Start of a range: YYYY-MM-DD, HH:MM or both joined by T"},
            "end": {"type": "string", "description": "End of a range, same form"},
        },
        optional=_VALUE_KEYS,
    )
    mention = _closed(
        {"role": _one_of(Role), "kind": _one_of(Kind), "span": span, "occurrence": occurrence, "value": value},
        optional=("occurrence",),
    )
    reference = _closed(
        {"kind": _one_of(Referent), "id": {"type": "string"}, "span": span, "occurrence": occurrence},
        optional=("occurrence",),
    )
    yes = _closed({"kind": _one_of(Affirmation), "span": span, "occurrence": occurrence}, optional=("occurrence",))
    core = {
        "language": {"type": "string", "description": "Language of the new text, two letters."},
        "intents": {"type": "array", "items": wish},
        "mentions": {"type": "array", "items": mention},
        "refers_to": reference,
        "affirmation": yes,
    }
    added = dict(domains or {})
    return _closed(core | added, optional=tuple(added))


def _closed(properties: Mapping[str, Any], optional: Collection[str] = ()) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": [name for name in properties if name not in optional],
        "additionalProperties": False,
    }


def _one_of(words: type[StrEnum]) -> dict[str, Any]:
    return {"type": "string", "enum": [str(word) for word in words]}


def _wish(item: Any, where: str) -> Wish:
    whole = _object(item, where, ("kind", "span", "occurrence"), ("kind", "span"))
    return Wish(_word(Intent, whole["kind"], f"{where}.kind"), _span(whole, where))


def _mention(item: Any, where: str) -> Mention:
    keys = ("role", "kind", "span", "value")
    whole = _object(item, where, (*keys, "occurrence"), keys)
    value = _object(whole["value"], f"{where}.value", _VALUE_KEYS, ())
    return Mention(
        role=_word(Role, whole["role"], f"{where}.role"),
        kind=_word(Kind, whole["kind"], f"{where}.kind"),
        span=_span(whole, where),
        value={key: _string(text, f"{where}.value.{key}") for key, text in value.items()},
    )


def _reference(item: Any) -> Reference:
    whole = _object(item, "refers_to", ("kind", "id", "span", "occurrence"), ("kind", "id", "span"))
    kind = _word(Referent, whole["kind"], "refers_to.kind")
    return Reference(kind, _string(whole["id"], "refers_to.id"), _span(whole, "refers_to"))


def _yes(item: Any) -> Yes:
    whole = _object(item, "affirmation", ("kind", "span", "occurrence"), ("kind", "span"))
    return Yes(_word(Affirmation, whole["kind"], "affirmation.kind"), _span(whole, "affirmation"))


def _span(whole: Mapping[str, Any], where: str) -> Span:
    occurrence = whole.get("occurrence", 1)
    if isinstance(occurrence, bool) or not isinstance(occurrence, int) or occurrence < 1:
        raise ReadingError(f"{where}.occurrence must be a whole number from 1")
    return Span(_string(whole["span"], f"{where}.span"), occurrence)


def _object(item: Any, where: str, known: Collection[str], needed: Collection[str]) -> Mapping[str, Any]:
    if not isinstance(item, Mapping):
        raise ReadingError(f"{where} must be an object")
    for name in item:
        if name not in known:
            raise ReadingError(f"{where} has a key that a reading does not know: {name!r}")
    for name in needed:
        if name not in item:
            raise ReadingError(f"{where} lacks {name!r}")
    return item


def _list(item: Any, where: str) -> list[Any]:
    if not isinstance(item, list):
        raise ReadingError(f"{where} must be a list")
    return item


def _string(item: Any, where: str) -> str:
    if not isinstance(item, str):
        raise ReadingError(f"{where} must be a string")
    return item


def _word(words: type[_Word], item: Any, where: str) -> _Word:
    try:
        return words(item)
    except ValueError:
        raise ReadingError(f"{where} is none of the words of a reading") from None
