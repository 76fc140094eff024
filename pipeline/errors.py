"""Errors typed by who is at fault, and the typed outcomes of a send (SR-6, UN-10)."""

from __future__ import annotations


class ClaraError(Exception):
    """Base of everything that Clara raises on purpose."""


class SettingsError(ClaraError):
    """The operator's configuration is missing or contradicts itself; the message names the thing and the mend (OP-2)."""


class StorageUnavailable(ClaraError):
    """The database did not answer in time; nothing was committed, or the idempotency key says what was."""
