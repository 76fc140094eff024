"""Encryption at rest of what must never be read from a stolen file: access codes."""

from __future__ import annotations

import base64
from collections.abc import Sequence

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from pipeline.errors import SettingsError


class Vault:
    """Seals with the key made from the first secret, opens with any of them, so that secrets can be rotated."""

    def __init__(self, secrets: Sequence[str]) -> None:
        if not secrets or not all(secrets):
            raise SettingsError("the secret that seals access codes is empty")
        self._fernet = MultiFernet([Fernet(_key(secret)) for secret in secrets])

    def seal(self, value: str) -> bytes:
        return self._fernet.encrypt(value.encode())

    def open(self, sealed: bytes) -> str:
        """The value; raises SettingsError where none of the keys fits."""
        try:
            return self._fernet.decrypt(sealed).decode()
        except InvalidToken as problem:
            raise SettingsError("an access code was sealed with a key that is not configured") from problem


def _key(secret: str) -> bytes:
    derived = HKDF(SHA256(), length=32, salt=None, info=b"clara access codes").derive(secret.encode())
    return base64.urlsafe_b64encode(derived)
