"""What is stored carries the string that passed, and nothing beside it (OG-1, IN-7)."""

from __future__ import annotations

import dataclasses
import hashlib
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.settings import load_properties
from pipeline.compose import payload, place
from pipeline.core.gate import Outgoing, Passed, gate
from pipeline.core.plan import Plan
from pipeline.core.segments import Prose, text_of
from pipeline.ports import Ids
from pipeline.store import PromisedRow
from text_channels.adapters import MailChannel, SmsChannel, subject
from text_channels.email_codec import OutboundMail, build_mail, parse_mail

NOW = datetime(2026, 7, 17, 14, 0, tzinfo=UTC)
PROPERTY = load_properties(None)["camellia"]
WORDS = "Hello Sam,\n\nyes, we do have balconies: ¡muchos! — 日本 😀\n\nClara"


class _Ids(Ids):
    def new(self) -> str:
        return "018f"


def passed(text: str = WORDS) -> Passed:
    verdict = gate(Outgoing((Prose(text),), "en", "email", committing=False))
    assert verdict.passed is not None, verdict.findings
    return verdict.passed


def mail(text: str, **changes: object) -> OutboundMail:
    made = OutboundMail("<1@camellia.example>", "hello@camellia.example", "Camellia Court", ("sam@mail.example",), "Balconies", text, NOW)
    return dataclasses.replace(made, **changes)  # type: ignore[arg-type]  # fields of the mail


def promised(**changes: object) -> PromisedRow:
    """An answer that is owed to a mail."""
    row = PromisedRow(
        id="018f", turn="t", purpose="answer", channel="email", sender="hello@camellia.example", recipient="sam@mail.example", locale="en",
        plan=Plan("question", "en", (), True).to_json(), property="camellia", conversation="c", person="p", call=None, text="?", history=(),
        first_message=False, released=(), secrets=(("access_code", "4471"),), modes={}, tour_state=None, subject="Balconies", reply_to="<q@mail.example>",
        references=("<q@mail.example>",), created_at=NOW, fallback_at=None, state="promised",
    )  # fmt: skip
    return dataclasses.replace(row, **changes)  # type: ignore[arg-type]  # fields of the row


def test_a_text_is_the_string_itself() -> None:
    """UTF-8, nothing before it and nothing after it."""
    made = SmsChannel(_Ids()).wrap(promised(channel="sms"), passed(), PROPERTY, NOW)
    assert made.data == WORDS.encode() and made.digest == hashlib.sha256(made.data).hexdigest()


def test_a_mail_around_the_string_is_taken() -> None:
    """Whatever the transfer encoding makes of it, the reader sees the string; the digest is that of the bytes."""
    made = MailChannel(_Ids()).wrap(promised(), passed(), PROPERTY, NOW)
    assert made.text == WORDS and (parse_mail(made.data).text or "").strip() == WORDS
    assert made.digest == hashlib.sha256(made.data).hexdigest() and made.message_id == "<018f@camellia.example>"


OTHERS = {
    "other words": build_mail(mail("Hello Sam, your code is 4471.")),
    "words added": build_mail(mail(WORDS + "\n\nP.S. 4471")),
    "words lost": build_mail(mail(WORDS[:-5])),
    "no words": build_mail(mail("")),
    "a second text": b'Content-Type: multipart/alternative; boundary="x"\r\n\r\n--x\r\n'
    + b"\r\n--x\r\n".join(b"Content-Type: text/plain; charset=utf-8\r\n\r\n" + text.encode() for text in (WORDS, "4471"))
    + b"\r\n--x--\r\n",
    "another form of it": b'Content-Type: multipart/alternative; boundary="x"\r\n\r\n--x\r\nContent-Type: text/plain; charset=utf-8\r\n\r\n'
    + WORDS.encode()
    + b"\r\n--x\r\nContent-Type: text/html\r\n\r\n<p>4471</p>\r\n--x--\r\n",
    "no mail": b"",
    "the bare string": WORDS.encode(),
}


@pytest.mark.parametrize("data", OTHERS.values(), ids=OTHERS.keys())
def test_a_mail_with_anything_else_is_not_stored(data: bytes) -> None:
    """Other words, more words, fewer words, or a second form of them: ValueError, and no payload (OG-1)."""
    with pytest.raises(ValueError, match="and that alone"):
        payload(passed(), data)


def test_an_invitation_may_go_along() -> None:
    """A calendar object beside the text is no second text."""
    calendar = "BEGIN:VCALENDAR\r\nMETHOD:REQUEST\r\nEND:VCALENDAR\r\n"
    assert payload(passed(), build_mail(mail(WORDS, calendar=calendar))).text == WORDS


@settings(max_examples=150, deadline=None)
@given(st.text(max_size=120) | st.text("aé \n\r\t\x00\x0b\x85\u2028\u200b😀=.", max_size=60))
def test_whatever_a_model_drafts_is_refused_or_travels_unchanged(text: str) -> None:
    """A draft that can be placed and passes the gate is carried by a mail and a text without a character lost; no control character is in it (OG-1, IN-7)."""
    segments = place(text, ())
    if not segments:
        return
    verdict = gate(Outgoing(segments, "en", "email", committing=False))
    if verdict.passed is None:
        return
    for channel in (SmsChannel(_Ids()), MailChannel(_Ids())):
        assert channel.wrap(promised(), verdict.passed, PROPERTY, NOW).text == text_of(segments)
    assert not any(char in text for char in "\x00\x0b\x1b\x85")


@pytest.mark.parametrize("own", ["Is it 4471?", "Re: the code 4 4 7 1", "four four seven one?", "Your tour is confirmed", "Tour on July 20?"])
def test_a_subject_that_must_not_leave_is_not_echoed(own: str) -> None:
    """A customer's own subject is repeated only where the gate lets it pass; the property's name stands in for it (OG-1, OG-3, IN-5)."""
    row = promised(subject=own, tour_state="PROPOSED")
    assert subject(row, PROPERTY) == PROPERTY.name
    made = MailChannel(_Ids()).wrap(row, passed(), PROPERTY, NOW)
    assert parse_mail(made.data).subject == PROPERTY.name
    assert subject(promised(subject="Balconies"), PROPERTY) == "Re: Balconies"
