"""Is a mail written by a person, or by a machine? Automatic mail is never answered and never read for dates (TX-2).

Theory. The one sure sign is a header that a program sets about its own mail (`Auto-Submitted`, an empty return path,
a report, a list); the weak sign is a subject that programs use ("Automatic reply", "Fuera de la oficina"). Many
programs set no header at all, so subjects count too, but only where they stand at the beginning, without a "Re:" in
front: a person answers below an automatic subject as well. A header that *asks us* not to answer automatically
(`X-Auto-Response-Suppress`) says nothing about who wrote the mail.

Invariants: pure; a missing or unreadable header is no sign; the answer names the sign that decided.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final, Literal

Label = Literal["human", "auto_reply", "auto_generated", "bounce", "mdn", "list", "calendar"]
Headers = Mapping[str, str] | Iterable[tuple[str, str]]

_SUBJECTS: Final[tuple[tuple[Label, re.Pattern[str]], ...]] = (
    (
        "bounce",
        re.compile(
            r"(?:undeliver(?:able|ed)|delivery (?:status notification|failure|has failed|incomplete|delayed)|mail delivery (?:failed|system|subsystem)|"
            r"returned mail|failure notice|message (?:not delivered|undeliverable)|no se (?:ha podido|pudo) entregar|"
            r"(?:mensaje|correo) (?:no entregado|devuelto)|error (?:de|en la) entrega|(?:notificación|aviso) de estado de (?:la )?entrega|no entregado)",
            re.IGNORECASE,
        ),
    ),
    (
        "mdn",
        re.compile(
            r"(?:read|leído|not read|no leído|confirmación de lectura|read receipt|return receipt \(displayed\))\s?(?::|-|$)",
            re.IGNORECASE,
        ),
    ),
    (
        "auto_reply",
        re.compile(
            r"\W{0,3}(?:auto(?:matic|mated|matisch[e]?)?[ -]?(?:reply|response|answer|antwort)|autoreply|auto:|out[ -]of[ -](?:the )?office|ooo\b|"
            r"away from (?:the office|my (?:desk|mail))|on (?:vacation|holiday|leave)\b|vacation (?:reply|response|message|notice)|"
            r"i am (?:currently )?(?:out of|away)|respuesta autom[aá]tica|contestaci[oó]n autom[aá]tica|autorrespuesta|fuera de (?:la )?oficina|"
            r"ausente|ausencia|estoy (?:fuera|de vacaciones|ausente)|de vacaciones|mensaje autom[aá]tico|automatische antwort|abwesen|réponse automatique|"
            r"absence du bureau|risposta automatica|resposta automática|automatisk svar|autosvar|"
            r"(?:we (?:have )?received|thank you for contacting|hemos recibido su|gracias por (?:contactar|comunicarse)).{0,80}(?:ticket|request|case|caso|solicitud) ?#?\d*$)",
            re.IGNORECASE,
        ),
    ),
    (
        "calendar",
        re.compile(
            r"(?:accepted|declined|tentative|tentatively accepted|aceptad[ao]|rechazad[ao]|provisional|acepta|canceled event|updated invitation)\s?:",
            re.IGNORECASE,
        ),
    ),
)
_SYSTEM_SENDER: Final = re.compile(
    r"(?:^|<|\s)(?:mailer-daemon|postmaster|mail-daemon|mdaemon|bounces?(?:[+=-][^@]{0,120})?)@", re.IGNORECASE
)
_REPLY_MARK: Final = re.compile(r"^\s*(?:(?:re|rv|fw|fwd|aw|sv|tr|res|enc)\s?(?:\[\d+\])?\s?[:：]\s?)+", re.IGNORECASE)
_ECHOED: Final = re.compile(
    r"\[(?:auto|automatic) ?(?:reply|response)?\]|\((?:auto(?:matic)?|automática)[ -]?(?:reply|response|respuesta)?\)",
    re.IGNORECASE,
)


def classify(headers: Headers, subject: str, body: str) -> tuple[Label, str]:
    """What kind of mail this is, and the sign that decided ("header Auto-Submitted: auto-replied")."""
    known = _lowered(headers)
    for judge in (_by_report, _by_auto_submitted, _by_sender, _by_bulk):
        found = judge(known)
        if found:
            return found
    return _by_subject(subject) or _by_body(body) or ("human", "no sign of a machine")


def is_automatic(label: Label) -> bool:
    """Whether mail with this label is never answered."""
    return label != "human"


def _lowered(headers: Headers) -> dict[str, str]:
    """Header values by lower-case name; the topmost of several counts."""
    pairs = headers.items() if isinstance(headers, Mapping) else headers
    known: dict[str, str] = {}
    for name, value in pairs:
        known.setdefault(str(name).strip().lower(), " ".join(str(value).split())[:2000])
    return known


def _by_report(known: Mapping[str, str]) -> tuple[Label, str] | None:
    kind = known.get("content-type", "").lower()
    if kind.startswith("multipart/report"):
        if "disposition-notification" in kind:
            return "mdn", "a read receipt (multipart/report)"
        return "bounce", "a delivery report (multipart/report)"
    if kind.startswith("text/calendar"):
        return "calendar", "a calendar answer (text/calendar)"
    if known.get("x-failed-recipients"):
        return "bounce", "header X-Failed-Recipients"
    return None


def _by_auto_submitted(known: Mapping[str, str]) -> tuple[Label, str] | None:
    value = known.get("auto-submitted", "").lower().partition(";")[0].strip()
    word = value.split()[0] if value else ""
    if known.get("return-path", "x").strip() in ("<>", "") and "return-path" in known:
        return ("auto_reply" if word == "auto-replied" else "bounce"), "an empty return path"
    if word and word != "no":
        return ("auto_reply" if word == "auto-replied" else "auto_generated"), f"header Auto-Submitted: {value[:60]}"
    for name in (
        "x-autoreply",
        "x-autorespond",
        "x-autoresponder",
        "x-auto-reply",
        "x-auto-response-from",
        "x-mail-autoreply",
        "x-autogenerated",
        "x-cron-env",
    ):
        if name in known and known[name].lower() not in ("no", "false", "0"):
            return "auto_reply", f"header {name}"
    if known.get("x-loop"):
        return "auto_generated", "header X-Loop"
    return None


def _by_sender(known: Mapping[str, str]) -> tuple[Label, str] | None:
    sender = known.get("from", "") or known.get("sender", "")
    if _SYSTEM_SENDER.search(sender) or _SYSTEM_SENDER.search(known.get("return-path", "")):
        return "bounce", "the sender is a mail system"
    return None


def _by_bulk(known: Mapping[str, str]) -> tuple[Label, str] | None:
    precedence = known.get("precedence", "").lower()
    if precedence in ("auto_reply", "auto-reply", "autoreply"):
        return "auto_reply", f"header Precedence: {precedence}"
    for name in ("list-id", "list-post", "x-mailman-version"):
        if known.get(name):
            return "list", f"header {name}"
    if precedence in ("bulk", "junk", "list"):
        return "list", f"header Precedence: {precedence}"
    if known.get("list-unsubscribe"):
        return "list", "header list-unsubscribe"
    return None


def _by_subject(subject: str) -> tuple[Label, str] | None:
    text = " ".join(subject.split())[:300]
    if _REPLY_MARK.match(text):
        return ("auto_reply", "the subject says automatic") if _ECHOED.search(text) else None
    for label, pattern in _SUBJECTS:
        if pattern.match(text):
            return label, f"the subject is that of a machine: {text[:60]}"
    return None


def _by_body(body: str) -> tuple[Label, str] | None:
    if body.lstrip()[:15].upper() == "BEGIN:VCALENDAR":
        return "calendar", "the body is a calendar object"
    return None
