"""Leasing: tours. Availability, request, offer, confirm, reschedule, cancel, same day (DM-1)."""

from __future__ import annotations

from pipeline.core.domain import Domain

LEASING = Domain(
    name="leasing",
    templates="pipeline.domains.leasing.templates",
    abilities="visits of apartments: open times, asking for one, moving it, cancelling it",
)
