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
from collections.abc import Collection, Iterable, Mapping
from typing import Final, Literal

from pipeline.core.mail.roles import label

Label = Literal["human", "auto_reply", "auto_generated", "bounce", "mdn", "list", "calendar"]
Headers = Mapping[str, str] | Iterable[tuple[str, str]]

_BOUNCE: Final = re.compile(
    r"undeliver(?:able|ed)\b|delivery (?:status notification|failure|has failed|incomplete|delayed)|mail delivery (?:failed|system|subsystem)|"
    r"returned mail\b|failure notice|message (?:not delivered|undeliverable)|no se (?:ha podido|pudo|puede) entregar|"
    r"(?:mensaje|correo) (?:no entregado|devuelto)|error (?:de|en la) entrega|(?:notificación|aviso) de estado de (?:la )?entrega|no entregado\b",
    re.IGNORECASE,
)
_REPLY: Final = re.compile(
    r"\W{0,3}(?:auto(?:matic|mated)?[ -]?(?:reply|response|answer)|autoreply|auto:|ooo\b|respuesta autom[aá]tica|contestaci[oó]n autom[aá]tica|"
    r"autorrespuesta|automatische antwort|réponse automatique|risposta automatica|resposta automática|automatisk svar|autosvar)",
    re.IGNORECASE,
)
"""Subjects that only programs write."""
_ABSENT: Final = re.compile(
    r"\W{0,3}(?:out[ -]of[ -](?:the[ -])?office|away from (?:the office|my (?:desk|mail))|on (?:vacation|holiday|leave)|vacation (?:reply|response|message|notice)|"
    r"i am (?:currently )?(?:out of (?:the )?office|away|on (?:vacation|leave))|fuera de (?:la )?oficina|ausente(?: de la oficina)?|ausencia|"
    r"estoy (?:fuera(?: de la oficina)?|de vacaciones|ausente)|de vacaciones|mensaje autom[aá]tico|abwesenheitsnotiz|absence du bureau)\s?(?:$|[:.!—–-]\s?)",
    re.IGNORECASE,
)
"""Subjects that people write as well, but not alone or in front of a colon, and not above a question."""
_TICKET: Final = re.compile(
    r"(?:\[[^\]]{0,40}#\s?\d[^\]]{0,20}\]|(?:thank you for contacting|we have received|hemos recibido (?:su|tu)|gracias por (?:contactar|comunicarse)).{0,80}"
    r"(?:ticket|request|case|caso|solicitud)\W{0,4}#?\s?\d)",
    re.IGNORECASE,
)
_READ: Final = re.compile(
    r"(?:read|leído|not read|no leído|confirmación de lectura|read receipt|return receipt \(displayed\))\s?(?::|-|$)",
    re.IGNORECASE,
)
_READ_BODY: Final = re.compile(
    r"was read on|fue leído|se leyó|has been (?:read|displayed)|ha sido leído", re.IGNORECASE
)
_INVITE: Final = re.compile(
    r"(?:accepted|declined|tentative(?:ly accepted)?|aceptad[ao]|rechazad[ao]|provisional|cancell?ed event|updated invitation|evento cancelado)\s?:",
    re.IGNORECASE,
)
_INVITE_BODY: Final = re.compile(
    r"BEGIN:VCALENDAR|has (?:accepted|declined)|ha (?:aceptado|rechazado)|invitation from|invitación", re.IGNORECASE
)
_SAYS_MACHINE: Final = re.compile(
    r"(?:this is an|this e-?mail is an|note: this is an) (?:automat(?:ed|ic)|auto-?generated) (?:reply|response|message|e-?mail|notification)|"
    r"est[ea] es un[a]? (?:mensaje|respuesta|correo|notificación) (?:automátic[oa]|automatic[oa]|generad[oa] automáticamente)|"
    r"(?:this (?:message|e-?mail) was|est[ea] (?:mensaje|correo) (?:fue|ha sido)) "
    r"(?:automatically generated|generado automáticamente|sent automatically|enviado automáticamente)",
    re.IGNORECASE,
)
_ABSENCE_BODY: Final = re.compile(
    r"\b(?:out of (?:the )?office|on (?:vacation|annual leave|leave|holiday)|away from (?:the office|my desk)|fuera de (?:la )?oficina|de vacaciones|ausente)\b",
    re.IGNORECASE,
)
_ABSENCE_TERMS: Final = re.compile(
    r"\b(?:(?:limited|no|without) access|urgent|immediate (?:assistance|attention)|will (?:respond|reply|return)|upon my return|sin acceso|acceso limitado|"
    r"urgente|a mi regreso|responderé|contestaré)\b",
    re.IGNORECASE,
)
_SYSTEM_SENDER: Final = re.compile(
    r"(?:^|<|\s)(?:mailer-daemon|postmaster|mail-daemon|mdaemon|bounces?(?:[+=-][^@]{0,120})?)@", re.IGNORECASE
)
_NEVER: Final = re.compile(
    r"(?:no[-_.]?reply|do[-_.]?not[-_.]?reply|noresponder|no[-_.]?contestar|mailer-daemon|postmaster|mail-daemon|mdaemon|bounces?|abuse|nobody)(?:[+=._-][^@]*)?@"
)
_ADDRESS: Final = re.compile(r"[^\s@<>\"(),;]{1,200}@[a-z0-9.-]{1,250}")
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
    return _by_subject(subject, body) or _by_body(body) or ("human", "no sign of a machine")


def is_automatic(kind: Label) -> bool:
    """Whether mail of this kind is never answered."""
    return kind != "human"


def replyable(address: str, own: Collection[str]) -> bool:
    """Whether an answer may go to this address: it is one, it is none of `own` (lower case), and no machine's."""
    plain = address.strip().lower()
    return bool(_ADDRESS.fullmatch(plain)) and plain not in own and not _NEVER.match(plain)


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
        "x-ms-exchange-generated-message-source",
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


def _by_subject(subject: str, body: str) -> tuple[Label, str] | None:
    text = " ".join(subject.split())[:300]
    if _REPLY_MARK.match(text):
        return ("auto_reply", "the subject says automatic") if _ECHOED.search(text) else None
    empty = not body.strip()
    asks = "?" in text or "?" in body[:4_000]
    signs: tuple[tuple[Label, bool], ...] = (
        ("bounce", bool(_BOUNCE.match(text))),
        ("auto_reply", bool(_REPLY.match(text))),
        ("auto_reply", bool(_ABSENT.match(text)) and not asks),
        ("auto_reply", bool(_TICKET.match(text)) and not asks and (empty or bool(_SAYS_MACHINE.search(body[:600])))),
        ("mdn", bool(_READ.match(text)) and (empty or bool(_READ_BODY.search(body[:600])))),
        ("calendar", bool(_INVITE.match(text)) and (empty or bool(_INVITE_BODY.search(body[:2_000])))),
    )
    kind = next((kind for kind, found in signs if found), None)
    return (kind, f"the subject is that of a machine: {text[:60]}") if kind else None


def _by_body(body: str) -> tuple[Label, str] | None:
    start = body.lstrip()[:1_500]
    if start[:15].upper() == "BEGIN:VCALENDAR":
        return "calendar", "the body is a calendar object"
    if not (_SAYS_MACHINE.search(start) or _ABSENCE_BODY.search(start)):
        return None
    start = label(body).new_text.lstrip()[:1_500]  # a person answers below an automatic mail, too
    if _SAYS_MACHINE.search(start[:300]) and "?" not in start:
        return "auto_reply", "the body says that it is automatic"
    if _ABSENCE_BODY.search(start[:600]) and _ABSENCE_TERMS.search(start) and "?" not in start:
        return "auto_reply", "the body is a notice of absence"
    return None
