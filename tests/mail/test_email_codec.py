"""TX-2: raw MIME in, typed mail out; a mail to send in, the same bytes out every time."""

from __future__ import annotations

import base64
import email
import email.policy
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.core.mail.roles import Role
from text_channels.email_codec import OutboundMail, build_mail, new_text, parse_mail, undisputed_body

HEAD = b"From: Noor Haddad <noor@mail.example>\r\nTo: hello@juniper.example\r\nSubject: Loft\r\nMessage-ID: <n1@mail.example>\r\nMIME-Version: 1.0\r\n"


def mail(content_type: str, body: bytes, encoding: str = "8bit") -> bytes:
    """A raw mail with one part."""
    return HEAD + f"Content-Type: {content_type}\r\nContent-Transfer-Encoding: {encoding}\r\n\r\n".encode() + body


def parts(kind: str, *bodies: tuple[str, str]) -> bytes:
    """A raw mail with several parts: headers and body of each."""
    inner = b"".join(f"--b\r\n{head}\r\n\r\n{body}\r\n".encode() for head, body in bodies)
    return HEAD + f"Content-Type: multipart/{kind}; boundary=b\r\n\r\n".encode() + inner + b"--b--\r\n"


def alternatives(plain: str, html: str) -> bytes:
    """A mail with a plain and an HTML form."""
    return parts(
        "alternative",
        ("Content-Type: text/plain; charset=utf-8", plain),
        ("Content-Type: text/html; charset=utf-8", html),
    )


@pytest.mark.parametrize(
    ("charset", "raw", "text", "doubtful"),
    [
        ("utf-8", "mañana", "mañana", False),
        ("us-ascii", "it\u2019s".encode("cp1252"), "it\u2019s", True),
        ("iso-8859-1", "it\u2019s".encode("cp1252"), "it\u2019s", True),
        ("iso-8859-1", "mañana".encode("latin-1"), "mañana", False),
        ("uft-8", "mañana", "mañana", False),
        ("unknown-8bit", "mañana", "mañana", False),
        ("iso-8859-8-i", "\u05e9\u05dc\u05d5\u05dd".encode("iso-8859-8"), "\u05e9\u05dc\u05d5\u05dd", False),
        ("utf-16", "mañana".encode("utf-16"), "mañana", False),
        ("rot13", "mañana", "mañana", True),
        ("base64", "mañana", "mañana", True),
        ("x'; drop", "mañana", "mañana", True),
    ],
)
def test_a_wrong_charset_label_loses_no_letter(charset: str, raw: str | bytes, text: str, doubtful: bool) -> None:
    """The declared charset counts where it decodes; else UTF-8, then Windows-1252; a guess is said to be one (TX-2)."""
    found = parse_mail(mail(f'text/plain; charset="{charset}"', raw if isinstance(raw, bytes) else raw.encode()))
    assert (found.text, found.doubtful) == (text, doubtful)


def test_text_without_a_charset_is_utf_8_where_it_is() -> None:
    """No label means UTF-8 before it means anything else (TX-2)."""
    assert parse_mail(mail("text/plain", "mañana".encode())).text == "mañana"


def test_what_no_store_can_take_is_taken_out() -> None:
    """NUL, lone surrogates and invisible tag characters never leave the codec (TX-2, UN-9)."""
    found = parse_mail(mail("text/plain; charset=utf-8", "a\x00b\U000e0041\U000e0042c".encode()))
    assert found.text == "abc"
    parse_mail(mail("text/plain", b"\xed\xa0\x80\xff")).text.encode()  # type: ignore[union-attr]


def test_text_around_a_picture_is_one_text() -> None:
    """All inline text parts count, an attached text file does not (TX-2)."""
    raw = parts(
        "mixed",
        ("Content-Type: text/plain", "one"),
        ("Content-Type: image/png\r\nContent-Disposition: inline; filename=loft.png", "x"),
        ("Content-Type: text/plain", "two"),
        ("Content-Type: text/plain; name=old.txt", "September 8"),
    )
    found = parse_mail(raw)
    assert (found.text or "").split() == ["one", "two"] and found.attachments == ("loft.png", "old.txt")


def test_an_attached_mail_is_not_read() -> None:
    """The dates of an attached message belong to another mail (TX-2)."""
    found = parse_mail(
        parts(
            "mixed",
            ("Content-Type: text/plain", "see this"),
            ("Content-Type: message/rfc822", "Subject: x\r\n\r\nSeptember 8"),
        )
    )
    assert "September" not in (found.text or "") and found.attachments == ("message/rfc822",)


def test_of_a_signed_mail_the_signed_part_is_read() -> None:
    """The signature of a signed mail is an attachment (TX-2)."""
    found = parse_mail(
        parts("signed", ("Content-Type: text/plain", "hello"), ("Content-Type: application/pgp-signature", "xyz"))
    )
    assert (found.text or "").strip() == "hello" and found.attachments == ("application/pgp-signature",)


def test_flowed_text_is_joined_again() -> None:
    """Lines wrapped by format=flowed are whole again, at their depth of quotation, but for the signature mark (TX-2)."""
    found = parse_mail(
        mail("text/plain; format=flowed", b"on September \r\n9 at 4\r\n> you said \r\n> the 8th\r\n-- \r\nNoor")
    )
    assert found.text == "on September 9 at 4\n> you said the 8th\n-- \nNoor"


def test_encoded_headers_are_decoded_even_where_a_letter_is_split() -> None:
    """Neighbouring encoded words are joined as bytes (TX-2)."""
    raw = "¿Mañana?".encode()
    subject = b" ".join(b"=?utf-8?B?" + base64.b64encode(piece) + b"?=" for piece in (raw[:4], raw[4:]))
    found = parse_mail(b"From: =?utf-8?q?Noor_Hadd=C3=A1d?= <noor@mail.example>\r\nSubject: " + subject + b"\r\n\r\nx")
    assert (found.subject, found.from_name, found.from_address) == ("¿Mañana?", "Noor Haddád", "noor@mail.example")


@pytest.mark.parametrize(
    ("value", "address"),
    [
        (b'"hello@juniper.example" <noor@mail.example>', "noor@mail.example"),
        (b'"x <hello@juniper.example>" <noor@mail.example>', "noor@mail.example"),
        (b"=?utf-8?q?hello=40juniper.example=3E?= <noor@mail.example>", "noor@mail.example"),
        (b"noor@mail.example (the <hello@juniper.example>)", "noor@mail.example"),
        (b"noor@mail.example, other@mail.example", "noor@mail.example"),
        (b"noor@mail.example\r\nFrom: hello@juniper.example", ""),
        (b"undisclosed-recipients:;", ""),
        (b"", ""),
    ],
)
def test_a_display_name_never_becomes_the_sender(value: bytes, address: str) -> None:
    """Addresses in names, comments and encoded words are no addresses; two senders are none (OG-3, TX-2)."""
    assert parse_mail(b"From: " + value + b"\r\n\r\nx").from_address == address


def test_thread_headers_are_read_tolerantly() -> None:
    """Message ids come out of folded, littered and bare headers alike (TX-2)."""
    found = parse_mail(
        b"Message-ID: <a@b>\r\nReferences: <r1@x>\r\n\tjunk <r2@x>\r\nIn-Reply-To: your mail of Friday <r2@x>\r\n\r\nx"
    )
    assert (found.message_id, found.references, found.in_reply_to) == ("<a@b>", ("<r1@x>", "<r2@x>"), "<r2@x>")
    assert parse_mail(b"Message-ID: bare@id\r\n\r\nx").message_id == "<bare@id>"


def test_a_mail_without_an_id_gets_a_stable_one() -> None:
    """The same bytes have the same id, other bytes another one (TX-2, IN-6)."""
    one, again, other = (
        parse_mail(raw).message_id
        for raw in (b"From: a@b.example\r\n\r\nx", b"From: a@b.example\r\n\r\nx", b"From: a@b.example\r\n\r\ny")
    )
    assert one == again != other and one.startswith("<") and one.endswith(">")


@pytest.mark.parametrize(
    ("value", "date"),
    [
        ("Fri, 4 Sep 2026 09:12:00 -0500", datetime(2026, 9, 4, 9, 12, tzinfo=timezone(timedelta(hours=-5)))),
        ("Fri, 4 Sep 2026 09:12:00 -0000", datetime(2026, 9, 4, 9, 12, tzinfo=UTC)),
        ("yesterday", None),
        ("Fri, 4 Sep 99999 09:12:00 -9999", None),
    ],
)
def test_a_date_header_is_a_date_with_an_offset_or_nothing(value: str, date: datetime | None) -> None:
    """A naive or unreadable date never leaves the codec (TX-2)."""
    assert parse_mail(f"Date: {value}\r\n\r\nx".encode()).date == date


def test_the_topmost_authentication_result_is_kept() -> None:
    """What stands below our own receiver's result may be anybody's (TX-2)."""
    assert parse_mail(
        b"Authentication-Results: mx.juniper.example; dmarc=fail\r\nAuthentication-Results: evil; dmarc=pass\r\n\r\nx"
    ).auth_results == ("mx.juniper.example; dmarc=fail")


# --- what is new ----------------------------------------------------------------------------------------------------


def test_a_date_counts_only_where_both_forms_say_it() -> None:
    """A sender can write two mails into one; a time that only one of them states is no evidence (UN-2)."""
    found = new_text(parse_mail(alternatives("Friday works\nSeptember 9 at 4", "<p>Friday works</p>")))
    assert found.new_text == "Friday works" and found.lines[-1].role is Role.QUOTED
    hidden = alternatives(
        "Friday works\nSeptember 9 at 4", '<p>Friday works</p><p style="display:none">September 9 at 4</p>'
    )
    assert new_text(parse_mail(hidden)).new_text == "Friday works"


@pytest.mark.parametrize(
    ("plain", "html"),
    [
        (
            "Two options:\n1. September 9 at 4\n2. September 10 at 5",
            "<p>Two options:</p><ol><li>September 9 at 4</li><li>September 10 at 5</li></ol>",
        ),
        (
            "*Friday* at 3, see <https://maps.example/x> please",
            "<b>Friday</b> at 3, see <a href='https://maps.example/x'>please</a>",
        ),
        ("We could come on Friday the\n11th at 3", "<div>We could come on Friday the 11th at 3</div>"),
        ("El 9 de septiembre está bien", "<p>El&nbsp;9 de septiembre est&aacute; bien</p>"),
        ("Friday at 3 [image: smile.png]", "<p>Friday at 3 <img alt='smile'></p>"),
    ],
)
def test_two_forms_of_one_mail_agree(plain: str, html: str) -> None:
    """Lists, links, wrapping, emphasis and entities make no difference (UN-2)."""
    found = new_text(parse_mail(alternatives(plain, html)))
    assert all(line.role is Role.NEW for line in found.lines), found


def test_a_form_is_read_from_lines_that_both_forms_state() -> None:
    """Lines with times that only the plain form has are blank where forms are read, all others stay in place (UN-2)."""
    found = parse_mail(
        alternatives(
            "Name: Noor\nComments: September 9 at 4\nPhone: 737-555-0142", "<p>Name: Noor</p><p>Phone: 737-555-0142</p>"
        )
    )
    assert undisputed_body(found) == "Name: Noor\n" + " " * 26 + "\nPhone: 737-555-0142"
    assert undisputed_body(parse_mail(mail("text/html", b"<p>Friday</p>"))) == "Friday"
    assert undisputed_body(parse_mail(mail("text/plain", b"Friday"))) == "Friday"


def test_mail_in_html_only_is_read() -> None:
    """Without a plain form the HTML form is read (TX-2)."""
    assert (
        new_text(
            parse_mail(mail("text/html; charset=utf-8", b"<p>Friday</p><blockquote type=cite>September 8</blockquote>"))
        ).new_text
        == "Friday"
    )


def test_a_mail_without_any_text_has_no_new_text() -> None:
    """Nothing is made up for an empty mail (UN-2)."""
    assert new_text(parse_mail(b"")).new_text == "" == new_text(parse_mail(HEAD + b"\r\n")).new_text


# --- hostile --------------------------------------------------------------------------------------------------------

HOSTILE = {
    "nested": b"".join(b"Content-Type: multipart/mixed; boundary=b%d\r\n\r\n--b%d\r\n" % (n, n) for n in range(3_000)),
    "parts": HEAD + b"Content-Type: multipart/mixed; boundary=b\r\n\r\n" + b"--b\r\n\r\na\r\n" * 50_000,
    "attached in attached": b"Content-Type: message/rfc822\r\n\r\n" * 3_000,
    "parameters": mail("text/plain; " + "a=b; " * 50_000, b"x"),
    "parentheses": b"From: " + b"(" * 20_000 + b"\r\n\r\nx",
    "quotation marks": b"From: " + b'"' * 20_000 + b"\r\n\r\nx",
    "encoded words": b"Subject: " + b"=?utf-8?q?a?= " * 20_000 + b"\r\n\r\nx",
    "no boundary": HEAD + b"Content-Type: multipart/mixed\r\n\r\n--b\r\n\r\nx",
}


@pytest.mark.parametrize("raw", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_mail_is_parsed_within_a_second(raw: bytes) -> None:
    """No structure hangs or raises (TX-2)."""
    started = time.process_time()
    new_text(parse_mail(raw))
    assert time.process_time() - started < 1


_PIECES = st.sampled_from(
    [b"From: a", b"\r\n", b"\n\n", b"Content-Type: multipart/mixed; boundary=b", b"--b", b"--b--", b"Content-Type: text/html", b"; charset=",
     b"Content-Transfer-Encoding: base64", b"Date: Fri", b"=?utf-8?q?", b"Message-ID: <", b"Content-Disposition: attachment; filename*0*=", b"\xff\x00"]
)  # fmt: skip


@settings(max_examples=200, deadline=None)
@given(st.lists(st.one_of(_PIECES, st.binary(max_size=12)), max_size=24).map(b"".join))
def test_no_bytes_make_the_parser_raise(raw: bytes) -> None:
    """Any bytes are a mail, if an empty one, and all its text can be stored (TX-2)."""
    found = parse_mail(raw)
    assert "\x00" not in repr(found.headers).encode().decode() and found.message_id
    new_text(found)


# --- out ------------------------------------------------------------------------------------------------------------

ANSWER = OutboundMail(
    message_id="<i1@juniper.example>",
    from_address="hello@juniper.example",
    from_name="Juniper Terrace",
    to=("noor@mail.example",),
    subject="Re: ¿Mañana?",
    text="Hola Noor:\n\n.\nFrom aquí son 5 minutos.\n",
    date=datetime(2026, 9, 4, 14, 12, tzinfo=UTC),
    in_reply_to="<n1@mail.example>",
    references=("<n0@mail.example>", "<n1@mail.example>"),
    headers=(("List-Unsubscribe", "<https://juniper.example/u/x>"),),
)
INVITE = "BEGIN:VCALENDAR\r\nMETHOD:REQUEST\r\nEND:VCALENDAR\r\n"


def test_the_same_mail_is_the_same_bytes() -> None:
    """Bytes are a function of the mail, boundaries included (IN-7, SR-1)."""
    for sent in (
        ANSWER,
        replace(ANSWER, calendar=INVITE),
    ):
        assert build_mail(sent) == build_mail(sent)


def test_an_answer_says_that_it_is_automatic_and_threads() -> None:
    """Answers carry Auto-Submitted, the thread, and never Precedence (TX-2)."""
    found = email.message_from_bytes(build_mail(ANSWER), policy=email.policy.default)
    assert (
        found["Auto-Submitted"] == "auto-replied"
        and found["X-Auto-Response-Suppress"] == "All"
        and found["Precedence"] is None
    )
    assert found["In-Reply-To"] == "<n1@mail.example>" and found["References"] == "<n0@mail.example> <n1@mail.example>"
    assert found["Subject"] == "Re: ¿Mañana?" and found["From"].addresses[0].addr_spec == "hello@juniper.example"
    assert found.get_content().replace("\r\n", "\n") == ANSWER.text


def test_a_calendar_object_goes_along_with_its_method() -> None:
    """An invitation is a second part that calendars recognise (DM-1)."""
    raw = build_mail(replace(ANSWER, calendar=INVITE))
    found = email.message_from_bytes(raw, policy=email.policy.default)
    kinds = [(part.get_content_type(), part.get_param("method")) for part in found.walk() if not part.is_multipart()]
    assert kinds == [("text/plain", None), ("text/calendar", "REQUEST")]


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=80), st.text(max_size=80), st.text(max_size=300))
def test_no_value_can_add_a_header_or_a_part(subject: str, name: str, text: str) -> None:
    """Whatever stands in subject, name and text, headers and structure stay the same, and lines stay short (UN-9, TX-2)."""
    hostile = subject + "\r\nBcc: evil@mail.example\r\n\r\n" + name
    raw = build_mail(replace(ANSWER, subject=hostile, from_name=hostile, text=text, headers=(("X-A", hostile),)))
    head, _, _ = raw.partition(b"\r\n\r\n")
    names = [line.split(b":")[0] for line in head.split(b"\r\n") if not line.startswith(b" ")]
    assert names == [
        b"Date", b"From", b"To", b"Subject", b"Message-ID", b"In-Reply-To", b"References", b"Auto-Submitted", b"X-Auto-Response-Suppress", b"X-A",
        b"MIME-Version", b"Content-Type", b"Content-Transfer-Encoding",
    ]  # fmt: skip
    assert raw.isascii() and max(len(line) for line in raw.split(b"\r\n")) <= 998
    assert parse_mail(raw).from_address == "hello@juniper.example"


@pytest.mark.parametrize(
    "address", ["", "noor", "noor@mail.example\r\nBcc: x@y.example", "a b@mail.example", "<noor@mail.example>"]
)
def test_an_address_that_is_none_is_refused(address: str) -> None:
    """An address is never repaired on the way out (SR-2)."""
    with pytest.raises(ValueError, match="address"):
        build_mail(replace(ANSWER, to=(address,)))


@settings(max_examples=100, deadline=None)
@given(st.text(st.characters(exclude_categories=["Cs", "Cc", "Cf", "Co", "Cn", "Zl", "Zp"]), min_size=1, max_size=120))
def test_what_is_sent_can_be_read_again(text: str) -> None:
    """Text in any script survives the way out and back in (TX-2)."""
    found = parse_mail(build_mail(replace(ANSWER, text=text, subject=text)))
    assert (found.text or "").rstrip("\n") == text and found.subject == " ".join(text.split())
