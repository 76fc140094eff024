"""The words of text messages as values: forms, the order of statuses, segments, error codes (TX-1, SR-4, SR-6)."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from text_channels.sms_codec import (
    FAILURES,
    GSM_BASIC,
    RANK,
    TERMINAL,
    UNKNOWN_FAILURE,
    DeliveryStatus,
    InboundText,
    MalformedForm,
    advances,
    delivery_status,
    failure,
    inbound_text,
    segments,
)

INBOUND = [("MessageSid", "SM1"), ("AccountSid", "AC1"), ("From", "+15125550142"), ("To", "+15125550100")]


def test_an_inbound_text_keeps_its_body_as_typed() -> None:
    """White space and line ends at both ends are the person's (UN-2)."""
    text = inbound_text([*INBOUND, ("Body", " mañana\r\n"), ("FromCity", ""), ("NumMedia", "0")])
    assert text == InboundText("SM1", "AC1", "+15125550142", "+15125550100", " mañana\r\n")


def test_pictures_are_noted_and_a_missing_body_is_empty() -> None:
    """An MMS without words is an inbound like any other (TX-1)."""
    text = inbound_text(
        [*INBOUND, ("NumMedia", "2"), ("MediaUrl0", "u0"), ("MediaContentType0", "image/png"), ("MediaUrl1", "u1")]
    )
    assert (text.body, text.media) == ("", (("u0", "image/png"), ("u1", "")))


def test_the_providers_own_opt_out_handling_is_seen() -> None:
    """`OptOutType` says that the provider has answered already; blank is absent (SR-7)."""
    assert inbound_text([*INBOUND, ("Body", "STOP"), ("OptOutType", "STOP")]).opt_out_type == "STOP"
    assert inbound_text([*INBOUND, ("Body", "x"), ("OptOutType", "")]).opt_out_type is None


@pytest.mark.parametrize("missing", ["MessageSid", "From", "To"])
def test_a_form_that_does_not_say_what_it_is_about_is_malformed(missing: str) -> None:
    """Without sid, sender or recipient nothing can be recorded; the error names the field."""
    with pytest.raises(MalformedForm, match=missing):
        inbound_text([(name, value) for name, value in INBOUND if name != missing])


@pytest.mark.parametrize("count", ["", "-1", "x", "99999999999"])
def test_a_nonsense_media_count_harms_nothing(count: str) -> None:
    """At most ten pictures are looked for."""
    assert inbound_text([*INBOUND, ("NumMedia", count)]).media == ()


def test_a_status_callback_carries_error_and_reference() -> None:
    """The reference comes from the URL's query, the rest from the form (SR-4)."""
    form = [("MessageSid", "SM1"), ("MessageStatus", "undelivered"), ("ErrorCode", "30003")]
    assert delivery_status(form, [("ref", "r1")]) == DeliveryStatus("SM1", "undelivered", "30003", "r1")
    assert delivery_status(form[:2], []) == DeliveryStatus("SM1", "undelivered")
    with pytest.raises(MalformedForm):
        delivery_status(form[:1], [])


@given(st.permutations(["queued", "sending", "sent", "delivered", "read"]))
def test_in_any_order_the_furthest_status_stands_unless_the_order_hides_it(order: list[str]) -> None:
    """Late and repeated callbacks never take a status back; `read` counts only after `delivered` (SR-4)."""
    current: str | None = None
    for status in [*order, *order]:
        if advances(current, status):
            assert current is None or RANK[status] > RANK[current]
            current = status
    assert current == "read"


def test_a_terminal_status_stands() -> None:
    """The first terminal status is kept, whatever comes later; only `read` may follow `delivered`."""
    for first, later in itertools.product(TERMINAL, RANK):
        assert advances(first, later) == ((first, later) == ("delivered", "read"))


def test_a_word_that_we_do_not_know_never_replaces_one_that_we_do() -> None:
    """An unknown status is history, not state."""
    assert not advances("queued", "partially_delivered")
    assert not advances(None, "partially_delivered")


@pytest.mark.parametrize(
    ("body", "encoding", "units", "count"),
    [
        ("", "GSM-7", 0, 1),
        ("a" * 160, "GSM-7", 160, 1),
        ("a" * 161, "GSM-7", 161, 2),
        ("a" * 306, "GSM-7", 306, 2),
        ("a" * 307, "GSM-7", 307, 3),
        ("€" * 80, "GSM-7", 160, 1),
        ("€" * 81, "GSM-7", 162, 2),
        ("a" * 152 + "€" * 77, "GSM-7", 306, 3),
        ("¿Mañana, señor? ¡Sí!", "UCS-2", 20, 1),
        ("¿Le sirve el 28, señora Núñez?", "UCS-2", 30, 1),
        ("¿Qué tal? ¡Dónde!".replace("ó", "ò"), "GSM-7", 17, 1),
        ("á" * 70, "UCS-2", 70, 1),
        ("á" * 71, "UCS-2", 71, 2),
        ("😀" * 35, "UCS-2", 70, 1),
        ("😀" * 36, "UCS-2", 72, 2),
        ("á" * 66 + "😀" * 34, "UCS-2", 134, 3),
        ("“quoted”", "UCS-2", 8, 1),
    ],
)
def test_segments_are_counted_as_the_air_cuts_them(body: str, encoding: str, units: int, count: int) -> None:
    """GSM-7 160/153, UCS-2 70/67; neither an escape pair nor a surrogate pair is split (TX-1)."""
    cut = segments(body)
    assert (cut.encoding, cut.units, cut.count) == (encoding, units, count)


def test_the_default_alphabet_has_its_127_characters() -> None:
    """GSM 03.38 has 128 positions, one of them the escape."""
    assert len(GSM_BASIC) == 127


def test_codes_are_read_in_any_form_and_unknown_ones_are_fatal() -> None:
    """A code is a number, a string or nothing; what is not listed is fatal and not re-sent (SR-6)."""
    assert failure("21610").kind == "opted_out"
    assert failure(30003).resend_once
    for unknown in (None, "", "abc", 1, "99999"):
        assert failure(unknown) is UNKNOWN_FAILURE
    assert {entry.kind for entry in FAILURES.values()} == {"fatal", "retryable", "opted_out", "configuration"}
