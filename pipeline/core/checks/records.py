"""Which record: the one that the words single out among those that stand open (UN-1, UN-6).

The model names a record by id; the words describe it by day, time or place in the list. Both must point at the same one, and the
words must leave no other.

Invariants: an id that is not on record is a question even where only one record stands open; a record is never chosen because it is
the likeliest.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

from pipeline.core.calendar import CalendarValue
from pipeline.core.checks.context import About, OnRecord, OpenOffer, OpenProposal, OpenTour
from pipeline.core.checks.evidence import Fault, Placed, fits
from pipeline.core.reading import Reference, Referent

_R = TypeVar("_R", bound=OpenOffer | OpenProposal | OpenTour)


def kind_of(record: OpenOffer | OpenProposal | OpenTour) -> Referent:
    """What a reading calls this sort of record."""
    if isinstance(record, OpenOffer):
        return Referent.OFFER
    return Referent.PROPOSAL if isinstance(record, OpenProposal) else Referent.TOUR


def starts(records: Iterable[OpenOffer | OpenProposal | OpenTour]) -> tuple[CalendarValue, ...]:
    """When the records start, as candidates of a question."""
    return tuple(CalendarValue(date=one.start.date(), time=one.start.time()) for one in records)


def known(pointer: Reference, on_record: OnRecord) -> bool:
    """Whether the record that a reading points at stands open; pointing at none is fine."""
    records: list[OpenOffer | OpenProposal | OpenTour] = [*on_record.offers, *on_record.proposals, *on_record.tours]
    if pointer.kind is Referent.NONE:
        return not pointer.id
    return any(one.id == pointer.id and kind_of(one) is pointer.kind for one in records)


def pick(
    records: Sequence[_R], reference: Reference, described: Iterable[Placed] = (), ordinals: Iterable[int] = ()
) -> tuple[_R | None, list[Fault]]:
    """The record that reading and words agree on.

    `described` are mentions that say when the record is; `ordinals` say where it stands in the list (from 1, or -1 for the last).
    """
    if not records:
        return None, [Fault(About.WHICH, "nothing_on_record")]
    choices = starts(records)
    named = reference.kind is not Referent.NONE or bool(reference.id)
    if named and not any(one.id == reference.id and kind_of(one) is reference.kind for one in records):
        return None, [Fault(About.WHICH, "record_unknown", choices)]
    left = _described(records, list(described), list(ordinals))
    if len(left) != 1:
        return None, [Fault(About.WHICH, "record_open" if left else "words_name_no_record", choices)]
    if named and left[0].id != reference.id:
        return None, [Fault(About.WHICH, "record_differs", choices)]
    return left[0], []


def _described(records: Sequence[_R], described: list[Placed], ordinals: list[int]) -> list[_R]:
    left = [
        one
        for one in records
        if all(any(fits(one.start, value) for value in mention.readings) for mention in described if mention.readings)
    ]
    for number in ordinals:
        at = number - 1 if number > 0 else len(records) + number
        chosen = records[at] if 0 <= at < len(records) else None
        left = [one for one in left if one is chosen]
    return left
