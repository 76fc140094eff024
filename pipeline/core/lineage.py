"""Lineage: where the value of a proposal comes from, and what may change that (PR-1, PR-2).

Three origins, from the strongest evidence to the weakest:

* `prospect_stated`: the customer's own new words state the value;
* `machine_derived`: a machine carried it here (a form field, a forwarded lead, a source that has not been admitted);
* `machine_derived_override`: a machine preferred one reading of the customer's words over another.

Invariants: only a restatement in the customer's own words raises a lineage; time, repetition and a bare "yes" never do.
A lineage that is not known is the weakest one.
"""

from __future__ import annotations

from enum import StrEnum


class Lineage(StrEnum):
    """Origin of a proposal's value, strongest first."""

    PROSPECT_STATED = "prospect_stated"
    MACHINE_DERIVED = "machine_derived"
    MACHINE_DERIVED_OVERRIDE = "machine_derived_override"


def lineage_of(name: str) -> Lineage:
    """The lineage called `name`; an unknown name is the weakest."""
    try:
        return Lineage(name)
    except ValueError:
        return Lineage.MACHINE_DERIVED_OVERRIDE


def weaker(one: Lineage, other: Lineage) -> Lineage:
    """The weaker of two origins: what a value has that needs both."""
    order = list(Lineage)
    return max(one, other, key=order.index)


def takes_bare_yes(lineage: Lineage) -> bool:
    """Whether a "yes" that names nothing may confirm a value of this origin (PR-2)."""
    return lineage is not Lineage.MACHINE_DERIVED_OVERRIDE
