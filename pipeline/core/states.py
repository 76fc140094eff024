"""The transition tables: what may follow what. Data, and one question asked of it.

Storage turns each table into conditional updates (`WHERE state IN (…)`), so that a transition that is not here cannot be written.
"""

from __future__ import annotations

from enum import StrEnum


class IntentState(StrEnum):
    """A promised message (DESIGN 4). `sending` is set before the first byte and cannot be superseded."""

    PROMISED = "promised"
    COMPOSED = "composed"
    LEASED = "leased"
    SENDING = "sending"
    ACCEPTED = "accepted"
    DELIVERED = "delivered"
    UNDELIVERED = "undelivered"
    FAILED = "failed"
    PARKED = "parked"
    SUPERSEDED = "superseded"
    BLOCKED = "blocked"
    EXPIRED = "expired"
    DISCARDED = "discarded"
    UNKNOWN = "unknown"


_I = IntentState

INTENT: dict[IntentState, frozenset[IntentState]] = {
    _I.PROMISED: frozenset({_I.COMPOSED, _I.PARKED, _I.SUPERSEDED, _I.EXPIRED, _I.DISCARDED}),
    _I.COMPOSED: frozenset({_I.LEASED, _I.COMPOSED, _I.PARKED, _I.SUPERSEDED, _I.BLOCKED, _I.EXPIRED, _I.DISCARDED}),
    _I.LEASED: frozenset({_I.SENDING, _I.COMPOSED, _I.SUPERSEDED, _I.BLOCKED, _I.PARKED, _I.EXPIRED, _I.DISCARDED}),
    _I.SENDING: frozenset({_I.ACCEPTED, _I.COMPOSED, _I.FAILED, _I.UNKNOWN, _I.DELIVERED, _I.UNDELIVERED}),
    _I.UNKNOWN: frozenset({_I.ACCEPTED, _I.DELIVERED, _I.UNDELIVERED, _I.FAILED, _I.COMPOSED, _I.DISCARDED}),
    _I.ACCEPTED: frozenset({_I.DELIVERED, _I.UNDELIVERED, _I.FAILED}),
    _I.BLOCKED: frozenset({_I.COMPOSED, _I.SUPERSEDED, _I.EXPIRED, _I.DISCARDED}),
    _I.PARKED: frozenset({_I.COMPOSED, _I.SUPERSEDED, _I.DISCARDED, _I.EXPIRED}),
    _I.UNDELIVERED: frozenset({_I.DELIVERED}),
    _I.DELIVERED: frozenset(),
    _I.FAILED: frozenset(),
    _I.SUPERSEDED: frozenset(),
    _I.EXPIRED: frozenset(),
    _I.DISCARDED: frozenset(),
}

# Not yet with a provider: a later trigger's answer may take its place (TX-4).
UNSENT: frozenset[IntentState] = frozenset({_I.PROMISED, _I.COMPOSED, _I.LEASED, _I.BLOCKED, _I.PARKED})


class TourState(StrEnum):
    """A tour's life. First touch is PROPOSED (PR-4)."""

    PROPOSED = "PROPOSED"
    CONFIRMED = "CONFIRMED"
    CANCELLED = "CANCELLED"
    SUPERSEDED = "SUPERSEDED"
    EXPIRED = "EXPIRED"


_T = TourState

TOUR: dict[TourState, frozenset[TourState]] = {
    _T.PROPOSED: frozenset({_T.CONFIRMED, _T.CANCELLED, _T.SUPERSEDED, _T.EXPIRED}),
    _T.CONFIRMED: frozenset({_T.CANCELLED, _T.SUPERSEDED}),
    _T.CANCELLED: frozenset(),
    _T.SUPERSEDED: frozenset(),
    _T.EXPIRED: frozenset(),
}

LIVE_TOUR: frozenset[TourState] = frozenset({_T.PROPOSED, _T.CONFIRMED})


class TurnState(StrEnum):
    """Where a turn stands. Before `committed` everything may be redone; after it everything must be finished."""

    OPEN = "open"  # due at `due_at` (a burst gathers), leased while it is being decided
    COMMITTED = "committed"  # answer() is owed
    SETTLED = "settled"  # has its ending


def sources(table: dict[IntentState, frozenset[IntentState]], target: IntentState) -> frozenset[IntentState]:
    """The states from which `target` may be reached."""
    return frozenset(state for state, nexts in table.items() if target in nexts)
