"""`clara probe lead`: headers and body of a mail in, the fields of the lead (or the letter's writer) out."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pipeline.core.mail.lead import Lead, parse_lead, read_contact


def answer(row: dict[str, Any]) -> dict[str, Any]:
    """The answer for one row (`headers`, `body`, `locale`, optional `ref`); ValueError says what is amiss."""
    headers, body = row.get("headers") or {}, row.get("body")
    if not isinstance(headers, dict) or not isinstance(body, str):
        raise ValueError("'headers' must be an object and 'body' a string")
    given = row.get("ref")
    ref = datetime.fromisoformat(given).replace(tzinfo=None) if isinstance(given, str) else None
    lead = parse_lead(headers, body, str(row.get("locale") or "en"), ref, trusted=True)
    found = lead or read_contact(headers, body)
    return {"kind": found.kind, "fields": _fields(found), "not_request_dates": list(found.not_request_dates)}


def _fields(lead: Lead) -> dict[str, Any]:
    return {
        "name": lead.name,
        "email": lead.email,
        "relay": lead.relay,
        "phone": lead.phone,
        "ext": lead.extension,
        "property": lead.property,
        "move_in": lead.move_in.isoformat() if lead.move_in else lead.move_in_text,
        "tour_times": [time.isoformat(timespec="minutes") for time in lead.tour_times],
        "bedrooms": lead.bedrooms,
        "rent_max": lead.rent_max,
        "tour_request": lead.tour_request,
        "tour_ask": lead.tour_ask,
        "shared_address": lead.shared_address,
        "comments": lead.comments,
        "leads": lead.leads,
    }
