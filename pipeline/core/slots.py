"""The slot handshake: a slot that Clara offers carries a signed, expiring token (PR-3).

The token is an HMAC over what was offered, to whom, until when. Only its digest is stored, so that a row alone proves nothing: an offer counts when the token,
made anew from the row under the deployment's key, has the stored digest and has not expired.
"""

from __future__ import annotations

import hashlib
import hmac
from datetime import datetime


def sign_offer(key: bytes, offer: str, conversation: str, starts_at: datetime, expires_at: datetime) -> str:
    """The token of one offer to one conversation; hex. Instants are aware."""
    message = "\x1f".join((offer, conversation, starts_at.isoformat(), expires_at.isoformat()))
    return hmac.new(key, message.encode(), hashlib.sha256).hexdigest()


def token_digest(token: str) -> str:
    """What is stored of a token."""
    return hashlib.sha256(token.encode()).hexdigest()


def offer_stands(
    key: bytes, offer: str, conversation: str, starts_at: datetime, expires_at: datetime, digest: str, now: datetime
) -> bool:
    """Whether a stored offer is one that Clara made to this conversation and has not expired."""
    token = sign_offer(key, offer, conversation, starts_at, expires_at)
    return now < expires_at and hmac.compare_digest(token_digest(token), digest)
