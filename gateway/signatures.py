"""Who is at the door: pure verification of webhooks (OP-3). No I/O, no clock, no settings; every answer carries its reason.

A Twilio signature covers the *public* URL exactly as Twilio called it and every form field, repeated and empty ones too. Behind a proxy the
request says something else, so the URL is put together from the configured public address, the raw path and the raw query, and never
from Host or X-Forwarded headers. All comparisons take constant time.

Invariants: a missing header, an empty secret or anything that cannot be read is refused, never let through; several tokens or secrets
may be valid at once, so that they can be changed without a gap. A signature has no time in it: a replay verifies again, and is made
harmless by the inbox's and the delivery table's unique keys.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import parse_qsl, urlsplit, urlunsplit

SIGNATURE: Final = "x-twilio-signature"
"""The header with the signature."""

SHARED_KEY: Final = "x-twilio-webhooks-signature-settings"
"""The header that says: signed with a shared key instead of the auth token. We configure none, so it is refused."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a request is let in, and why (not), as a sentence for the log; it never contains a secret or a signature."""

    ok: bool
    reason: str


Params = Sequence[tuple[str, str]]


def form_params(body: bytes) -> tuple[tuple[str, str], ...]:
    """All fields of a urlencoded form in their order, empty values kept, as they are signed."""
    text = body.decode("ascii", "replace")
    return tuple(parse_qsl(text, keep_blank_values=True, encoding="utf-8", errors="replace"))


def twilio_form(
    *,
    public_url: str,
    raw_path: bytes,
    raw_query: bytes,
    params: Params,
    signature: str | None,
    tokens: Sequence[str],
    shared_key: str | None = None,
) -> Verdict:
    """Verifies a webhook: POST with its form's fields, or GET with `params=()`.

    `raw_path` and `raw_query` are the ASGI scope's, undecoded; `tokens` are the account's auth tokens that are valid now.
    """
    if shared_key is not None:
        return Verdict(False, "The request is signed with a shared key, and none is configured.")
    if not raw_path.startswith(b"/"):
        return Verdict(False, "The request's target is not a path.")
    url = public_url.rstrip("/") + raw_path.decode("latin-1") + (f"?{raw_query.decode('latin-1')}" if raw_query else "")
    return _verify(_ports(url, {"https": 443, "http": 80}), params, signature, tokens)


def twilio_websocket(
    *,
    public_url: str,
    raw_path: bytes,
    raw_query: bytes = b"",
    signature: str | None,
    tokens: Sequence[str],
    shared_key: str | None = None,
) -> Verdict:
    """Verifies the upgrade of a media stream, before it is accepted.

    What is signed is the `wss` URL of the TwiML; Twilio adds port 443 or a trailing slash or neither, so each of the four forms will do.
    """
    if shared_key is not None:
        return Verdict(False, "The upgrade is signed with a shared key, and none is configured.")
    if not raw_path.startswith(b"/"):
        return Verdict(False, "The upgrade's target is not a path.")
    parts = urlsplit(public_url)
    scheme = "ws" if parts.scheme == "http" else "wss"
    path = parts.path.rstrip("/") + raw_path.decode("latin-1").rstrip("/")
    query = raw_query.decode("latin-1")
    urls = [urlunsplit((scheme, parts.netloc, path + slash, query, "")) for slash in ("", "/")]
    candidates = [candidate for url in urls for candidate in _ports(url, {"wss": 443, "ws": 80})]
    return _verify(candidates, (), signature, tokens)


def secret(presented: str | None, accepted: Iterable[str], what: str = "secret") -> Verdict:
    """Compares a presented secret (header value, path segment) with those that are valid now; `what` names it in the reason."""
    valid = [candidate for candidate in accepted if candidate]
    if not valid:
        return Verdict(False, f"No {what} is configured, so nothing can present it.")
    if not presented:
        return Verdict(False, f"The request has no {what}.")
    if not _any_equal(presented, valid):
        return Verdict(False, f"The {what} is not one of the {len(valid)} that are valid.")
    return Verdict(True, f"The {what} is valid.")


def mail_door(
    *, path_secret: str, header_secret: str | None, path_secrets: Iterable[str], header_secrets: Iterable[str]
) -> Verdict:
    """Inbound mail comes in by a secret path *and* a secret header."""
    for verdict in (
        secret(path_secret, path_secrets, "path secret"),
        secret(header_secret, header_secrets, "header secret"),
    ):
        if not verdict.ok:
            return verdict
    return Verdict(True, "Path and header secret are valid.")


def _verify(urls: Sequence[str], params: Params, signature: str | None, tokens: Sequence[str]) -> Verdict:
    valid = [token for token in tokens if token]
    if not valid:
        return Verdict(False, "No auth token is configured, so no signature can be right.")
    if not signature:
        return Verdict(False, "The request has no signature.")
    expected = [twilio_signature(token, url, params) for token in valid for url in urls]
    if not _any_equal(signature, expected):
        return Verdict(
            False, f"The signature fits neither {urls[0]} nor its other spellings, with {len(params)} fields."
        )
    return Verdict(True, f"The signature fits {urls[0]} with {len(params)} fields.")


def twilio_signature(token: str, url: str, params: Params) -> str:
    """Base64 of HMAC-SHA1 over the URL and, sorted, each distinct field name with its distinct values."""
    pairs = sorted(set(params))
    text = url + "".join(name + value for name, value in pairs)
    digest = hmac.new(token.encode(), text.encode("utf-8", "surrogatepass"), hashlib.sha1).digest()
    return base64.b64encode(digest).decode("ascii")


def _any_equal(presented: str, valid: Iterable[str]) -> bool:
    given = presented.encode("utf-8", "surrogatepass")
    return any(hmac.compare_digest(given, candidate.encode()) for candidate in valid)


def _ports(url: str, defaults: dict[str, int]) -> tuple[str, ...]:
    """The URL as it is, and with the port spelled out or left away: the provider is not consistent about it."""
    parts = urlsplit(url)
    if parts.port is not None:
        bare = parts.netloc.removesuffix(f":{parts.port}")
        return url, urlunsplit(parts._replace(netloc=bare))
    default = defaults.get(parts.scheme)
    return (url,) if default is None else (url, urlunsplit(parts._replace(netloc=f"{parts.netloc}:{default}")))
