"""Who is at the door: every way in which a signature or a secret can be right or wrong (OP-3)."""

from __future__ import annotations

from urllib.parse import urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.datastructures import ImmutableMultiDict
from twilio.request_validator import RequestValidator  # type: ignore[import-untyped]  # the SDK ships no types

from gateway.signatures import (
    Verdict,
    form_params,
    mail_door,
    secret,
    twilio_form,
    twilio_signature,
    twilio_websocket,
)
from scripts.sandbox.messages import send_text
from scripts.sandbox.webhooks import deliver
from tests.sandbox.rig import Knock, rig

PUBLIC = "https://clara.example"
TOKEN = "the-token-that-is-valid-now"
PARAMS = (("Body", " ¿Mañana? \r\n😀 "), ("FromCity", ""), ("From", "+15125550142"), ("To", "+15125550100"))


def sdk(url: str, params: tuple[tuple[str, str], ...] = (), token: str = TOKEN) -> str:
    """The signature by the official SDK: somebody else's code."""
    return str(RequestValidator(token).compute_signature(url, ImmutableMultiDict(params)))


def form(signature: str | None, **changes: object) -> Verdict:
    """Verifies a callback at /webhooks/twilio/status?ref=r1 with `PARAMS`, but for `changes`."""
    given: dict[str, object] = {
        "public_url": PUBLIC,
        "raw_path": b"/webhooks/twilio/status",
        "raw_query": b"ref=r1",
        "params": PARAMS,
        "signature": signature,
        "tokens": [TOKEN],
    }
    return twilio_form(**{**given, **changes})  # type: ignore[arg-type]  # the keys are those of the signature


URL = f"{PUBLIC}/webhooks/twilio/status?ref=r1"


def test_the_providers_published_vector_verifies() -> None:
    """The vector in the provider's documentation gives the documented signature."""
    params = (
        ("CallSid", "CA1234567890ABCDE"),
        ("Caller", "+14158675309"),
        ("Digits", "1234"),
        ("From", "+14158675309"),
        ("To", "+18005551212"),
    )
    signature = "RSOYDt4T1cUTdK1PDd93/VVr8B8="
    assert twilio_signature("12345", "https://mycompany.com/myapp.php?foo=1&bar=2", params) == signature
    verdict = twilio_form(
        public_url="https://mycompany.com",
        raw_path=b"/myapp.php",
        raw_query=b"foo=1&bar=2",
        params=params,
        signature=signature,
        tokens=["12345"],
    )
    assert verdict.ok


_TEXT = st.text(max_size=12)


@given(params=st.lists(st.tuples(_TEXT, _TEXT), max_size=8).map(tuple), token=st.text(min_size=1, max_size=40))
def test_any_fields_are_signed_as_the_official_sdk_signs_them(params: tuple[tuple[str, str], ...], token: str) -> None:
    """Blank values, repeated names, repeated pairs, any script, any order (OP-3)."""
    assert twilio_signature(token, URL, params) == sdk(URL, params, token)


@given(params=st.lists(st.tuples(_TEXT.filter(bool), _TEXT), max_size=8).map(tuple))
def test_a_form_is_read_from_the_wire_as_it_was_signed(params: tuple[tuple[str, str], ...]) -> None:
    """What a client encodes comes back pair by pair, blanks and repetitions included."""
    assert form_params(urlencode(params).encode()) == params


def test_a_right_signature_is_let_in_with_its_reason() -> None:
    """The reason is a sentence and contains neither token nor signature."""
    verdict = form(sdk(URL, PARAMS))
    assert verdict.ok
    assert verdict.reason == f"The signature fits {URL} with 4 fields."


@pytest.mark.parametrize("signed", [f"{PUBLIC}:443/webhooks/twilio/status?ref=r1", URL])
def test_the_default_port_may_be_spelled_out(signed: str) -> None:
    """The provider adds `:443` or not; both fit."""
    assert form(sdk(signed, PARAMS)).ok


def test_an_explicit_port_may_be_left_away() -> None:
    """A public address with a port of its own is signed with it or without it."""
    for signed in ("https://clara.example:8443/x", "https://clara.example/x"):
        verdict = twilio_form(
            public_url="https://clara.example:8443",
            raw_path=b"/x",
            raw_query=b"",
            params=PARAMS,
            signature=sdk(signed, PARAMS),
            tokens=[TOKEN],
        )
        assert verdict.ok


def test_a_public_address_with_a_path_in_front_is_part_of_what_is_signed() -> None:
    """A gateway behind a path prefix verifies over prefix and path; a final slash of the setting does not matter."""
    signature = sdk(f"{PUBLIC}/clara/x", PARAMS)
    for public in (f"{PUBLIC}/clara", f"{PUBLIC}/clara/"):
        assert form(signature, public_url=public, raw_path=b"/x", raw_query=b"").ok


def test_a_get_webhook_is_verified_over_its_query() -> None:
    """GET has no form: the query as it came, in its own spelling, is all that is signed."""
    url = f"{PUBLIC}/voice?From=%2B15125550142&Empty=&a=%C3%B1+b"
    raw = b"From=%2B15125550142&Empty=&a=%C3%B1+b"
    assert form(sdk(url), raw_path=b"/voice", raw_query=raw, params=()).ok
    assert not form(sdk(url), raw_path=b"/voice", raw_query=raw.replace(b"%C3%B1", b"%c3%b1"), params=()).ok


@pytest.mark.parametrize(
    "changes",
    [
        {"params": PARAMS[:-1]},
        {"params": (*PARAMS, ("Extra", ""))},
        {"params": tuple(pair for pair in PARAMS if pair[1])},
        {"params": tuple((name, value.strip()) for name, value in PARAMS)},
        {"params": ()},
        {"raw_path": b"/webhooks/twilio/status/"},
        {"raw_path": b"/webhooks/twilio/Status"},
        {"raw_path": b"/webhooks/twilio%2Fstatus"},
        {"raw_query": b""},
        {"raw_query": b"ref=r2"},
        {"raw_query": b"ref=r1&"},
        {"public_url": "http://clara.example"},
        {"public_url": "https://evil.example"},
        {"public_url": "http://127.0.0.1:8000"},
        {"tokens": ["another-token"]},
        {"tokens": []},
        {"tokens": [""]},
        {"shared_key": "key=k1,algorithm=HMAC_SHA256"},
        {"raw_path": b"https://clara.example/webhooks/twilio/status"},
        {"raw_path": b":99999/x"},
        {"raw_path": b""},
    ],
)
def test_anything_that_was_not_signed_is_refused(changes: dict[str, object]) -> None:
    """A field more, less or trimmed, another path, query, host or token, a shared key: refused, and never an exception."""
    assert not form(sdk(URL, PARAMS), **changes).ok


@pytest.mark.parametrize("signature", [None, "", "x", "ñ", "\ud800", "=" * 10_000, sdk(URL, PARAMS) + " "])
def test_a_missing_or_nonsense_signature_is_refused(signature: str | None) -> None:
    """Header absent, empty, of another length or script: refused, and never an exception."""
    assert not form(signature).ok


def test_an_empty_token_never_verifies_even_when_it_signed() -> None:
    """An unset secret is not a secret that anybody may know (OP-2)."""
    assert not form(sdk(URL, PARAMS, token=""), tokens=["", ""]).ok


@pytest.mark.parametrize("token", ["old-token", "new-token"])
def test_during_a_change_of_tokens_both_are_valid(token: str) -> None:
    """Rotation has no gap: the old token and the new one verify."""
    assert form(sdk(URL, PARAMS, token), tokens=["new-token", "old-token"]).ok
    assert not form(sdk(URL, PARAMS, "old-token"), tokens=["new-token"]).ok


# --- over the wire ---------------------------------------------------------------------------------------------------------------


def knock_verdict(knock: Knock, public_url: str, token: str) -> Verdict:
    """Verifies what really arrived."""
    return twilio_form(
        public_url=public_url,
        raw_path=knock.raw_path,
        raw_query=knock.raw_query,
        params=form_params(knock.body),
        signature=knock.headers.get("x-twilio-signature"),
        tokens=[token],
    )


@pytest.mark.asyncio
async def test_a_text_that_arrives_through_a_proxy_verifies_by_the_public_address_only() -> None:
    """The request shows loopback and http; the public https address verifies, the one that the request shows does not."""
    async with rig() as at:
        await send_text(at.world, sender="+15125550142", body="  ¿Puedo verlo mañana?\n😀  ")
        (knock,) = at.door.knocks
        token = at.world.keys.twilio_auth_token
        assert knock_verdict(knock, PUBLIC, token).ok
        assert not knock_verdict(knock, at.world.gateway_url, token).ok


@pytest.mark.asyncio
async def test_repeated_and_blank_fields_verify_over_the_wire() -> None:
    """What a dictionary would lose is signed and arrives."""
    async with rig() as at:
        fields = [("A", "2"), ("A", "1"), ("A", "2"), ("B", ""), ("ñ", "é&=+ %")]
        await deliver(at.world, "any", f"{PUBLIC}/x?y=%20z&y=", fields)
        (knock,) = at.door.knocks
        assert knock_verdict(knock, PUBLIC, at.world.keys.twilio_auth_token).ok


@pytest.mark.asyncio
async def test_an_unsigned_and_a_wrongly_signed_text_are_refused_over_the_wire() -> None:
    """The stand-in can send both; the door refuses both with a reason."""
    async with rig() as at:
        await send_text(at.world, sender="+15125550142", body="hi", sign=False)
        await send_text(at.world, sender="+15125550142", body="hi", signature="wrong")
        token = at.world.keys.twilio_auth_token
        reasons = [knock_verdict(knock, PUBLIC, token).reason for knock in at.door.knocks]
        assert reasons[0] == "The request has no signature."
        assert reasons[1].startswith("The signature fits neither")


# --- websockets ------------------------------------------------------------------------------------------------------------------


def upgrade(signature: str | None, **changes: object) -> Verdict:
    """Verifies an upgrade at /media, but for `changes`."""
    given: dict[str, object] = {"public_url": PUBLIC, "raw_path": b"/media", "signature": signature, "tokens": [TOKEN]}
    return twilio_websocket(**{**given, **changes})  # type: ignore[arg-type]  # the keys are those of the signature


@pytest.mark.parametrize("path", [b"/media", b"/media/"])
@pytest.mark.parametrize(
    "signed",
    [f"wss://clara.example{port}/media{slash}" for port in ("", ":443") for slash in ("", "/")],
)
def test_a_media_stream_is_let_in_by_each_spelling_of_its_wss_address(signed: str, path: bytes) -> None:
    """With or without port 443, with or without a final slash (VO-1, OP-3)."""
    assert upgrade(sdk(signed), raw_path=path).ok


@pytest.mark.parametrize(
    ("signed", "changes"),
    [
        ("https://clara.example/media", {}),
        ("ws://clara.example/media", {}),
        ("wss://evil.example/media", {}),
        ("wss://clara.example/other", {}),
        ("wss://clara.example:80/media", {}),
        ("wss://clara.example/media?token=1", {}),
        ("wss://clara.example/media", {"raw_query": b"token=1"}),
        ("wss://clara.example/media", {"tokens": ["another"]}),
        ("wss://clara.example/media", {"shared_key": "key=k1"}),
        ("wss://clara.example/media", {"raw_path": b"media"}),
    ],
)
def test_a_media_stream_signed_for_anything_else_is_refused(signed: str, changes: dict[str, object]) -> None:
    """Another scheme, host, path, port, query or token: the upgrade is refused before it is accepted."""
    assert not upgrade(sdk(signed), **changes).ok


def test_an_unsigned_media_stream_is_refused() -> None:
    """Nobody without the header gets at our speech keys."""
    assert not upgrade(None).ok


def test_a_media_stream_in_a_development_setting_is_signed_as_ws() -> None:
    """A public address without TLS has streams without TLS, on its own port."""
    verdict = upgrade(sdk("ws://127.0.0.1:8000/media"), public_url="http://127.0.0.1:8000")
    assert verdict.ok


# --- secrets ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("presented", "accepted", "ok"),
    [
        ("s1", ["s1"], True),
        ("s2", ["s1", "s2"], True),
        ("s1ñ", ["s1ñ"], True),
        ("S1", ["s1"], False),
        ("s", ["s1"], False),
        ("", ["s1"], False),
        (None, ["s1"], False),
        ("", [""], False),
        (None, [], False),
        ("s1", [], False),
        ("\ud800", ["s1"], False),
    ],
)
def test_a_secret_is_one_of_the_valid_ones_or_refused(presented: str | None, accepted: list[str], ok: bool) -> None:
    """Several secrets may be valid at once; nothing configured lets nobody in."""
    assert secret(presented, accepted).ok == ok


def test_a_refused_secret_is_not_told_in_the_reason() -> None:
    """The log learns which secret was wrong, never what it was or should have been."""
    verdict = secret("presented-value", ["valid-value"], "header secret")
    assert verdict.reason == "The header secret is not one of the 1 that are valid."
    assert secret("x", [""], "path secret").reason == "No path secret is configured, so nothing can present it."


@pytest.mark.parametrize(
    ("path", "header", "reason"),
    [
        ("p", "h", "Path and header secret are valid."),
        ("x", "h", "The path secret is not one of the 1 that are valid."),
        ("p", "x", "The header secret is not one of the 1 that are valid."),
        ("p", None, "The request has no header secret."),
    ],
)
def test_inbound_mail_needs_both_its_path_and_its_header(path: str, header: str | None, reason: str) -> None:
    """One of the two alone opens nothing (OP-3)."""
    verdict = mail_door(path_secret=path, header_secret=header, path_secrets=["p"], header_secrets=["h"])
    assert (verdict.reason, verdict.ok) == (reason, reason.startswith("Path"))
