"""`clara probe reply`: one mail in, what is new in it out, with the role of every line."""

from __future__ import annotations

from typing import Any

from pipeline.core.mail.roles import Labelled, label


def answer(row: dict[str, Any]) -> dict[str, Any]:
    """The answer for one row (`format`, `input`, optional `sent`); ValueError says what is amiss."""
    found = _labelled(row)
    return {
        "new_text": found.new_text,
        "lines": [{"text": line.text, "role": line.role.value} for line in found.lines],
    }


def _labelled(row: dict[str, Any]) -> Labelled:
    body = row.get("input")
    if not isinstance(body, str):
        raise ValueError("'input' must be a string")
    sent = row.get("sent") or []
    if not isinstance(sent, list) or not all(isinstance(text, str) for text in sent):
        raise ValueError("'sent' must be a list of strings")
    match row.get("format"):
        case "plain":
            return label(body, sent)
        case "html":
            from pipeline.core.mail.html import label_html  # the HTML parser is loaded only for HTML

            return label_html(body, sent)
        case "eml":
            from text_channels.email_codec import new_text, parse_mail  # and so is the MIME parser

            return new_text(parse_mail(body.encode("utf-8", "surrogateescape")), sent)
    raise ValueError("'format' must be plain, html or eml")
