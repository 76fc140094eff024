"""`clara probe automail`: headers, subject and body of a mail in, person or machine out."""

from __future__ import annotations

from typing import Any

from pipeline.core.mail.automail import classify


def answer(row: dict[str, Any]) -> dict[str, Any]:
    """The answer for one row (`headers`, `subject`, `body`); ValueError says what is amiss."""
    headers = row.get("headers") or {}
    if not isinstance(headers, dict):
        raise ValueError("'headers' must be an object of strings")
    label, why = classify(headers, _string(row, "subject"), _string(row, "body"))
    return {"label": label, "why": why}


def _string(row: dict[str, Any], key: str) -> str:
    value = row.get(key, "")
    if not isinstance(value, str):
        raise ValueError(f"{key!r} must be a string")
    return value
