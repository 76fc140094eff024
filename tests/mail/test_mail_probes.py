"""The probes of mail answer with production's own functions, and say what is wrong with a row."""

from __future__ import annotations

import pytest

from gateway.probes import automail, lead, optout, reply


def test_reply_answers_for_every_format() -> None:
    """Plain, HTML and raw mails give the same new text, and a role for every line (UN-2)."""
    raw = "From: n@mail.example\r\nContent-Type: text/plain\r\n\r\nFriday\r\n> September 8\r\n"
    rows = [
        ("plain", "Friday\n> September 8"),
        ("html", "<p>Friday</p><blockquote>September 8</blockquote>"),
        ("eml", raw),
    ]
    for kind, body in rows:
        found = reply.answer({"format": kind, "input": body})
        assert found["new_text"] == "Friday" and {line["role"] for line in found["lines"]} == {"new", "quoted"}


def test_reply_knows_what_we_sent() -> None:
    """Bodies that we sent are history (UN-2)."""
    ours = "We can show you the loft on Tuesday, September 8 at 11:00 AM or on Friday at 2:30 PM."
    assert reply.answer({"format": "plain", "input": f"Friday\n\n{ours}", "sent": [ours]})["new_text"] == "Friday"


def test_lead_gives_fields_and_dates_that_are_no_request() -> None:
    """A form gives its fields; a letter gives its writer (UN-2, CK-7)."""
    row = {
        "headers": {"From": "web@site.example"},
        "body": "Name: Noor\nEmail: n@mail.example\nMove-in: 10/1/2026\nComments: Friday?\nSubmitted: 9/4/2026",
        "locale": "en",
    }
    found = lead.answer(row)
    assert (
        found["fields"]["move_in"] == "2026-10-01"
        and found["fields"]["comments"] == "Friday?"
        and "2026-09-04" in found["not_request_dates"]
    )
    letter = lead.answer({"headers": {"From": "Noor <n@mail.example>"}, "body": "Friday?", "locale": "en"})
    assert (letter["kind"], letter["fields"]["email"]) == ("letter", "n@mail.example")


def test_automail_and_optout_answer_with_a_label() -> None:
    """Each says what it saw (TX-2, SR-7)."""
    assert (
        automail.answer({"headers": {"Auto-Submitted": "auto-replied"}, "subject": "x", "body": ""})["label"]
        == "auto_reply"
    )
    assert optout.answer({"text": "ya no me escriban", "locale": "es"}) == {"label": "revoke"}


@pytest.mark.parametrize(
    ("probe", "row"),
    [
        (reply, {"format": "plain"}),
        (reply, {"format": "pdf", "input": "x"}),
        (reply, {"format": "plain", "input": "x", "sent": "y"}),
        (lead, {"headers": [], "body": 1}),
        (automail, {"headers": "x"}),
        (automail, {"headers": {}, "subject": 1}),
        (optout, {"text": None}),
    ],
)
def test_a_row_that_cannot_be_read_is_a_value_error(probe: object, row: dict[str, object]) -> None:
    """The run goes on with the next row."""
    with pytest.raises(ValueError, match="must be"):
        probe.answer(row)  # type: ignore[attr-defined]
