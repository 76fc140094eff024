"""`clara probe optout`: a message in, what it says about being written to out."""

from __future__ import annotations

from typing import Any

from pipeline.core.optout import label_optout


def answer(row: dict[str, Any]) -> dict[str, Any]:
    """The answer for one row (`text`, `locale`); ValueError says what is amiss."""
    text = row.get("text")
    if not isinstance(text, str):
        raise ValueError("'text' must be a string")
    return {"label": label_optout(text, str(row.get("locale") or "en"))}
