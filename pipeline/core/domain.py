"""A domain as the registry knows it (DM-4): one package with its templates, its abilities and its part of the decision.

Shared code asks the registry and names no domain. The sentence that tells the model what Clara can do is made from `abilities` (EV-3).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Domain:
    """`abilities` completes "You can help with …"; `schema` is the domain's own object in the reading, if it has one."""

    name: str
    templates: str
    abilities: str
    schema: Mapping[str, Any] | None = field(default=None)


def abilities_sentence(domains: tuple[Domain, ...]) -> str:
    """What the model is told that this deployment can do."""
    return "This deployment can help with " + "; ".join(domain.abilities for domain in domains) + "."
