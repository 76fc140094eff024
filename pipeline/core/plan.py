"""A plan: what an answer must say, stored with the intent so that the answer can be made again after a crash (CO-3).

It holds the outcome in one word, the facts by template, record, version and values, and what the gate needs to know. It holds no sentence: sentences are
rendered from it, and the same plan always renders the same facts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pipeline.core.templates import FactSource


@dataclass(frozen=True, slots=True)
class Plan:
    """What an answer says.

    `committing` as OG-2 defines it. `record_state` is the tour's state that this commit leaves (PROPOSED, CONFIRMED or None). `allow` are local dates and
    times that prose may name on a turn that does not commit. `draft` is false where code alone speaks (holding, opt-out).
    """

    outcome: str
    locale: str
    facts: tuple[FactSource, ...]
    committing: bool
    record_state: str | None = None
    allow: tuple[str, ...] = ()
    draft: bool = True

    def to_json(self) -> dict[str, Any]:
        return {
            "outcome": self.outcome,
            "locale": self.locale,
            "facts": [fact.to_json() for fact in self.facts],
            "committing": self.committing,
            "record_state": self.record_state,
            "allow": list(self.allow),
            "draft": self.draft,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Plan:
        return cls(
            outcome=data["outcome"],
            locale=data["locale"],
            facts=tuple(FactSource.from_json(fact) for fact in data["facts"]),
            committing=data["committing"],
            record_state=data["record_state"],
            allow=tuple(data["allow"]),
            draft=data["draft"],
        )
