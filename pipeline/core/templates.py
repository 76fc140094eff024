"""Fact sentences: localised templates that code renders from verified values (CO-2).

A template is a sentence with typed places: `{slot}`, `{day}`, `{days}`, `{slots}`, `{a}`, `{b}`, `{address}`, `{property}`, `{phone}`, `{person}`. Rendering turns each
place into a `Fact` with its provenance and leaves the fixed words as `Prose`, so that the gate sees exactly which characters a record vouches for. Templates are data
(one TOML file per locale and domain), each with an optional `spoken` form for calls. A template whose places lack values does not render: KeyError.

Holding, fallback and floor texts are templates without places, the property's name and public phone excepted (CO-4); `fact_free` proves it at start-up.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from functools import cache
from importlib.resources import files
from typing import Any

from pipeline.core import wording
from pipeline.core.segments import Fact, Prose, Segment

_PLACE = re.compile(r"\{(\w+)\}")

# The gate's kind of each place, and how its value becomes words.
KINDS = {
    "slot": "datetime",
    "a": "datetime",
    "b": "datetime",
    "slots": "datetime",
    "day": "date",
    "days": "date",
    "who": "name",
    "address": "address",
    "property": "name",
    "person": "name",
    "phone": "phone",
}
FREE_PLACES = frozenset({"property", "phone"})


@dataclass(frozen=True, slots=True)
class Template:
    """One sentence in one locale; `means` tells the drafter what it states, in English."""

    id: str
    locale: str
    text: str
    spoken: str
    means: str

    @property
    def places(self) -> frozenset[str]:
        return frozenset(_PLACE.findall(self.text)) | frozenset(_PLACE.findall(self.spoken))


@dataclass(frozen=True, slots=True)
class FactSource:
    """What a sentence is rendered from: template, record at a version, and values as JSON (local wall times `YYYY-MM-DDTHH:MM`)."""

    template: str
    record: str
    version: int
    values: Mapping[str, Any]

    def to_json(self) -> dict[str, Any]:
        return {"template": self.template, "record": self.record, "version": self.version, "values": dict(self.values)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> FactSource:
        return cls(data["template"], data["record"], data["version"], data["values"])


class Templates:
    """All templates of the registered packages, by id and locale."""

    def __init__(self, packages: tuple[str, ...]) -> None:
        self._all: dict[tuple[str, str], Template] = {}
        for package in packages:
            for (name, locale), template in _load(package).items():
                self._all[name, locale] = template

    def get(self, name: str, locale: str) -> Template:
        """KeyError where the locale has no such template: the caller degrades, it never falls back to another language (UN-8)."""
        return self._all[name, locale]

    def locales(self) -> frozenset[str]:
        """Locales in which every template exists."""
        names = {name for name, _ in self._all}
        every = {locale for _, locale in self._all}
        return frozenset(locale for locale in every if all((name, locale) in self._all for name in names))

    def all(self) -> tuple[Template, ...]:
        return tuple(self._all.values())

    def render(self, source: FactSource, locale: str, spoken: bool = False) -> tuple[Segment, ...]:
        """The sentence as prose and facts."""
        template = self.get(source.template, locale)
        segments: list[Segment] = []
        at = 0
        text = template.spoken if spoken else template.text
        for place in _PLACE.finditer(text):
            if place.start() > at:
                segments.append(Prose(_joined(segments, text[at : place.start()])))
            name = place.group(1)
            words = _words(name, source.values[name], locale, spoken)
            segments.append(Fact(KINDS[name], words, source.record, name, source.version, source.template, locale))
            at = place.end()
        if at < len(text):
            segments.append(Prose(_joined(segments, text[at:])))
        return tuple(segments)


def _joined(before: list[Segment], prose: str) -> str:
    """Fixed words after a value: 'p. m.' needs no second full stop."""
    return prose[1:] if before and prose.startswith(".") and before[-1].text.endswith(".") else prose


def fact_free(template: Template) -> bool:
    """CO-4: no place but the property's name and public phone."""
    return template.places <= FREE_PLACES


def _words(place: str, value: Any, locale: str, spoken: bool) -> str:
    match place:
        case "slot" | "a" | "b":
            return wording.slot(datetime.fromisoformat(value), locale, spoken)
        case "slots":
            return wording.slots([datetime.fromisoformat(item) for item in value], locale, spoken)
        case "days":
            return wording.listing([wording.day(date.fromisoformat(item), locale, spoken) for item in value], locale)
        case "day":
            return wording.day(date.fromisoformat(value), locale, spoken)
        case _:
            return str(value)


@cache
def _load(package: str) -> dict[tuple[str, str], Template]:
    found: dict[tuple[str, str], Template] = {}
    for entry in sorted(files(package).iterdir(), key=lambda item: item.name):
        if not entry.name.endswith(".toml"):
            continue
        locale = entry.name.removesuffix(".toml")
        for name, item in tomllib.loads(entry.read_text("utf-8")).items():
            text = item["text"]
            found[name, locale] = Template(name, locale, text, item.get("spoken", text), item.get("means", ""))
    return found
