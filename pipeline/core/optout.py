"""Opt-out, opt-in and help words, whole message, in every supported language (SR-7). Pure.

They act first and alone, without a reading. CANCEL, END and QUIT are ordinary answers about a visit and are left to the reading.
"""

from __future__ import annotations

from typing import Literal

Label = Literal["revoke", "not_optout", "ambiguous", "help", "optin"]

_REVOKE = frozenset({"stop", "stopall", "unsubscribe", "optout", "opt out", "opt-out", "revoke", "parar", "alto", "baja", "darme de baja", "no mas mensajes", "no más mensajes"})
_OPTIN = frozenset({"start", "unstop", "iniciar", "reanudar"})
_HELP = frozenset({"help", "info", "ayuda"})


def label_optout(text: str, locale: str) -> Label:
    """What a whole message says about receiving messages; anything longer than the word itself is `not_optout`."""
    word = " ".join(text.casefold().split()).strip(" .!¡")
    if word in _REVOKE:
        return "revoke"
    if word in _OPTIN:
        return "optin"
    return "help" if word in _HELP else "not_optout"
