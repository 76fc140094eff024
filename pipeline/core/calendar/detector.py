"""`detect`: where date and time expressions stand in a text."""

from __future__ import annotations

from collections.abc import Sequence

from pipeline.core.calendar.phrasebook import PhraseBook, book
from pipeline.core.calendar.values import Expression


def detect(text: str, locales: Sequence[str]) -> tuple[Expression, ...]:
    """Every date or time expression in `text`, by the phrase books of `locales`."""
    return detect_in(text, [found for locale in locales if (found := book(locale))])


def detect_in(text: str, books: Sequence[PhraseBook]) -> tuple[Expression, ...]:
    return ()
