"""Word lists as they are written down: one string, one blank between words."""

from __future__ import annotations


def words(text: str) -> frozenset[str]:
    """The words of a list."""
    return frozenset(text.split())
