"""The words by which mail programs mark what they add: attributions, header blocks, forwards, footers, sign-offs.

Pure data and small recognisers of one line or one joined stretch; what follows from them is decided in `roles`.
Mail that reaches a building is written in English and Spanish, but the program that quotes speaks its owner's
language, so the marks of other languages are known too: a quoted date that is not recognised as quoted is a wrong
reading, whatever language announced it.

Invariants: every pattern is linear in the length of its input (no nested repetition), and is only ever given
stretches of bounded length.
"""

from __future__ import annotations

import re
from typing import Final, Literal

HeaderKind = Literal["from", "date", "to", "cc", "subject", "other"]

_LABELS: Final[dict[HeaderKind, str]] = {
    "from": "from|de|von|da|från|fra|van|od|от|от кого|lähettäjä|remitente|expéditeur|feladó|gönderen",
    "date": "sent|date|sent on|enviado|enviado el|enviados|enviada el|enviado em|enviada em|enviada|fecha|envoyé|envoyé le|"
    "gesendet|gesendet am|datum|data|inviato|skickat|sendt|dato|verzonden|wysłano|дата|отправлено|message du|lähetetty|päivä|"
    "päivämäärä|data wysłania|dátum|tarih",
    "to": "to|para|an|à|a|till|til|aan|do|кому|vastaanottaja|destinatario|címzett|kime",
    "cc": "cc|bcc|cco|copie|copie à|copia|kopie|kopie (cc)|kopi|kopia|cc:",
    "subject": "subject|asunto|betreff|objet|sujet|oggetto|ämne|emne|onderwerp|temat|тема|assunto|aihe|tárgy|konu",
    "other": "reply-to|responder a|reply to|importance|importancia|priority|prioridad|attachments|adjuntos|organization",
}
_KIND_OF: Final[dict[str, HeaderKind]] = {word: kind for kind, words in _LABELS.items() for word in words.split("|")}
_LABEL_LINE: Final = re.compile(r"[\s*_>]{0,12}([^\W\d_][^:：\n]{0,18}?)\s{0,3}[*_]{0,2}\s{0,3}[:：][*_]{0,2}\s*(.{0,400})", re.DOTALL)
_INLINE_LABEL: Final = re.compile(
    r"(?<![\w-])[*_]?(from|de|sent|enviado(?: el)?|date|fecha|to|para|cc|subject|asunto)\s?[*_]?:[*_]?\s", re.IGNORECASE
)

_VERBS: Final = (
    r"wrote|writes|sent|escribi[oó]|ha escrito|escribe|schrieb|a écrit|écrit|skrev|schreef|ha scritto|escreveu|kirjoitti|"
    r"napisał|napisała|написал|написала|пишет|пише|пишете|írta|yazdı|写道|написа"
)
VERB: Final = re.compile(rf"(?<!\w)(?:{_VERBS})(?!\w)", re.IGNORECASE)
_INTRO: Final = re.compile(
    r"[-–*\s]{0,12}(?:on|el|la|le|am|den|op|em|il|in data|il giorno|w dniu|dnia|på|dne|ke|pe|ti|to|su|la|a)[\s,]\s*"
    r"(?=[\w.,]{0,16}[\s,.]{0,3}[\w.,]{0,16}[\s,.]{0,3}\w{0,12}\W{0,3}\d|[\w.,]{0,16}\s?\d)",
    re.IGNORECASE,
)
_DATE_START: Final = re.compile(r"[-–\s]{0,8}(?:\d{1,4}[\s./-]|[^\W\d_]{2,12}[.,]{0,2}\s{0,2}(?:[^\W\d_]{3,12}\.?\s{1,2})?\d{1,2}(?!\d))")
ADDRESS: Final = re.compile(r"[\w.+%'=-]{1,80}@[\w-]{1,63}(?:\.[\w-]{1,63}){0,6}")
YEAR: Final = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")
CLOCK: Final = re.compile(r"(?<!\d)\d{1,2}[:.h]\d\d(?!\d)")
NUMERIC_DATE: Final = re.compile(r"(?<!\d)\d{1,4}([./-])\d{1,2}\1\d{1,4}(?!\d)")
MIDLINE: Final = re.compile(
    r"(?<=\S)\s(?=(?:On\s(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun|Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]{0,6}\.?,?\s|"
    r"On\s\d|El\s(?:lun|mar|mi[eé]|jue|vie|s[aá]b|dom)[a-zé]{0,6}\.?,\s|El\s\d))"
)

_ORIGINAL: Final = (
    r"original message|original-message|mensaje original|message d'origine|message original|ursprüngliche nachricht|"
    r"originalnachricht|originele bericht|oprindelig (?:besked|meddelelse)|opprinnelig melding|ursprungligt meddelande|"
    r"ursprungligt mail|messaggio originale|mensagem original|исходное сообщение|oryginalna wiadomość|alkuperäinen viesti|"
    r"original appointment|cita original|reply message|eredeti üzenet"
)
_FORWARDED: Final = (
    r"forwarded (?:message|mail|email|by [^-]{1,60})|begin forwarded message|(?:mensaje|correo) reenviado|"
    r"inicio del mensaje reenviado|message (?:transféré|transmis|réexpédié)|début du message (?:transféré|réexpédié)|"
    r"weitergeleitete nachricht|anfang der weitergeleiteten (?:nachricht|e-mail)|messaggio inoltrato|"
    r"inizio messaggio inoltrato|mensagem (?:encaminhada|reencaminhada)|início da mensagem (?:encaminhada|reencaminhada)|"
    r"doorgestuurd bericht|begin doorgestuurd bericht|vidarebefordrat (?:meddelande|mail)|videresendt (?:besked|melding|meddelelse)|"
    r"пересылаемое сообщение|пересланное сообщение|välitetty viesti|przekazana wiadomość"
)
_SEPARATOR: Final = re.compile(
    rf"[\s>*]{{0,8}}(?:[-_=—–]{{2,60}}\s{{0,4}})(?:({_ORIGINAL})|({_FORWARDED}))\s{{0,4}}[:]?\s{{0,4}}(?:[-_=—–]{{2,60}}|$)", re.IGNORECASE
)
_BARE_FORWARD: Final = re.compile(rf"[\s>*]{{0,8}}(?:{_FORWARDED})\s?[:：]\s*$", re.IGNORECASE)
OWN_MARKER: Final = re.compile(r"\s{0,8}##-{1,3}.{0,120}-{1,3}##\s*$")
_RULE: Final = re.compile(r"\s{0,8}(?:_{5,}|-{5,}|={3,}|\*{5,}|—{5,}|─{5,})\s*$")
DECORATION: Final = re.compile(r"\s{0,4}[>\s]{1,12}[^<>]{0,400}<{1,6}\s*$")

_SENT_FROM: Final = re.compile(
    r"(?:sent|enviado|envoyé|gesendet|inviato|sendt|skickat|verzonden|lähetetty|odoslané|wysłane|отправлено)\s"
    r"(?:from|desde|de|a partir de|par|depuis|von|mit|da|fra|från|vanaf|via|with|using|by|con|com|med|z|с)\s[^.!?,;:]{2,60}"
    r"(?:<\S{0,300}>|\(https?:\S{0,300}\))?\s*\.?$|"
    r"(?:get|obt[eé]n|obtener|descargar?|télécharger|laden sie)\s(?:outlook|yahoo mail|gmail|the new aol app|spark)\s[^.!?]{0,60}(?:<\S{0,300}>)?\s*$",
    re.IGNORECASE,
)
_SIGN_OFF: Final = re.compile(
    r"(?:(?:best|kind|warm|kindest|warmest|many)\s(?:regards|wishes)|regards|best|sincerely(?: yours)?|yours (?:truly|sincerely|faithfully)|cheers|"
    r"cordially|respectfully|(?:un )?(?:cordial(?:es)? )?saludos?(?: cordial(?:es)?)?|(?:reciba )?un (?:cordial )?saludo|atentamente|"
    r"atte|muy atentamente|cordialmente|saludos y gracias|abrazos?|un abrazo|mit freundlichen grüßen|viele grüße|mfg|cordialement|"
    r"bien cordialement|med venlig hilsen|med vänliga? hälsning(?:ar)?|mvh|kh|vennlig hilsen|cordiali saluti|distinti saluti|"
    r"atenciosamente|met vriendelijke groet|с уважением)\W{0,6}$",
    re.IGNORECASE,
)
_THANKS: Final = re.compile(
    r"(?:many |muchas |mil )?(?:thanks|thank you|thx|gracias)(?: (?:so much|again|in advance|a lot|de antemano|por (?:todo|su ayuda)))?"
    r"(?:,? (?:and )?(?:best|regards|saludos))?\W{0,4}$",
    re.IGNORECASE,
)
SIGNATURE_DELIMITER: Final = re.compile(r"\s{0,4}(?:--|—{1,60}|–{1,60}|_{2,60}|-{3,10}|\*{3,60}|#{3,60}|~{3,60}|={3,60}|\+{3,60}|─{1,60})\s*$")
_CONTACT: Final = re.compile(
    r"(?:(?<!\d)(?:\+?1[\s.-]?)?\(?\d{3}\)?[\s.-]{0,2}\d{3}[\s.-]?\d{4}(?!\d)|\+\d{1,3}[\s.-]?\d[\d\s.-]{6,14}|https?://|www\.|[\w.+-]{1,60}@[\w-]{1,60}\.\w{2,10})",
    re.IGNORECASE,
)
_HOURS: Final = re.compile(
    r"\s*(?:office |business |leasing |opening )?(?:hours|horario(?: de (?:atención|oficina))?|tel[eé]?fono|tel|phone|ph|cell|celular|móvil|movil|mobile|"
    r"direct|directo|office|oficina|fax|web|website|e-?mail|correo|[tmocpfw])\s?[.:|]\s?",
    re.IGNORECASE,
)
_NAME: Final = re.compile(r"[~/—–-]{0,3}\s?(?:[^\W\d_][\w'’.-]{0,24}\s){0,4}[^\W\d_][\w'’.-]{0,24}(?:,?\s[A-Z][A-Za-z.]{1,6}){0,3}[\s.,!🎉]{0,3}$")
_FOOTER: Final = re.compile(
    r"disclaimer\W{0,3}$|confidentiality (?:notice|note|statement)|aviso (?:de confidencialidad|legal)|(?:nota|cláusula) de confidencialidad|"
    r"(?:the information contained in )?this (?:e-?mail|message|communication|transmission)(?: message)?(?:,? and any [\w\s]{0,30}(?:attachments?|files?)\b)?"
    r"[\w\s,()]{0,80}(?:confidential|intended (?:solely|only)|privileged)|the information (?:contained )?in this (?:e-?mail|message|communication)|"
    r"est[ea] (?:mensaje|correo|e-?mail|comunicación)[\w\s,()]{0,90}(?:confidencial|privilegiad|destinad|exclusiv)|"
    r"la información contenida en est[ea]|this (?:e-?mail|message) (?:has been|was) (?:scanned|sent to you)|"
    r"please consider the environment|piense (?:en el medio ambiente|antes de imprimir)|antes de imprimir|"
    r"(?:you are|you're) receiving this (?:e-?mail|message|because)|(?:usted )?(?:recibe|recibió|está recibiendo) este (?:correo|mensaje) porque|"
    r"to unsubscribe (?:from|click|,|visit|please)|para (?:darse de baja|cancelar su suscripción|dejar de recibir)|"
    r"(?:click|haga clic|pulse) [\w\s]{0,20}(?:to unsubscribe|para darse de baja)|reply to this email directly(?:,| or view)|"
    r"virus-free\.|libre de virus\.|sin virus\.|this e-?mail (?:was|has been) sent from a contact form|"
    r"este (?:correo|mensaje) (?:ha sido|fue) enviado desde (?:un|el) formulario|©|copyright \(?c?\)?\s?\d{4}",
    re.IGNORECASE,
)
_BANNER: Final = re.compile(
    r"[\s*\[(]{0,6}(?:caution|warning|external(?: e-?mail| sender)?|precaución|advertencia|atención|correo externo|remitente externo)\b"
    r".{0,80}(?:external|outside|originated|externo|fuera de)|\[external(?: e-?mail)?\]\s*$|you don't often get (?:e-?mail|mail) from|"
    r"no suele recibir correo",
    re.IGNORECASE,
)
_POSTSCRIPT: Final = re.compile(r"\s*(?:p\.?\s?s|p\.?\s?d|posdata|postdata|post data)\b[.:\s-]", re.IGNORECASE)


def header_label(line: str) -> tuple[HeaderKind, str] | None:
    """Kind and value of a mail-header line such as "*Enviado el:* lunes, 20 de julio"; None for any other line."""
    found = _LABEL_LINE.match(line)
    if not found:
        return None
    kind = _KIND_OF.get(" ".join(found.group(1).casefold().split()))
    return (kind, found.group(2).strip()) if kind else None


def inline_headers(line: str) -> int:
    """How many different header labels stand in one line (a header block that lost its line breaks)."""
    return len({found.casefold().split()[0] for found in _INLINE_LABEL.findall(line)})


def separator(line: str) -> Literal["original", "forward"] | None:
    """Whether the line announces an original message or a forwarded one ("-----Mensaje original-----")."""
    if found := _SEPARATOR.match(line):
        return "original" if found.group(1) else "forward"
    return "forward" if _BARE_FORWARD.match(line) else None


def is_rule(line: str) -> bool:
    """Whether the line is a horizontal rule drawn with characters."""
    return bool(_RULE.match(line))


def attributes(stretch: str, quote_follows: bool) -> bool:
    """Whether a joined stretch is an attribution ("El lun, 20 jul 2026 a las 15:04, Ana (<a@b.example>) escribió:").

    `quote_follows`: the next line with text is marked as quoted, so that less evidence is enough.
    """
    bare = stretch.strip().lstrip("-*– \ufeff").rstrip()
    dashed = bare.endswith("--") or stretch.strip().startswith("---")
    bare = bare.rstrip("-–*_ ")
    colon = bare.endswith((":", "："))
    verb = VERB.search(bare)
    address = ADDRESS.search(bare)
    dated = YEAR.search(bare) or NUMERIC_DATE.search(bare) or CLOCK.search(bare)
    ends_in_verb = verb is not None and bare[verb.end() :].strip(" :：") == ""
    if not dated or not (colon or ends_in_verb or (address and quote_follows)):
        return False
    starts = bool(_INTRO.match(bare) or _DATE_START.match(bare))
    if verb and address and (starts or ends_in_verb or bare.find(address.group()) < verb.start()):
        return starts or quote_follows or bare.find(address.group()) < 90
    if verb and starts:
        return ends_in_verb or quote_follows or dashed
    if address and starts and (quote_follows or bare.rstrip(":： ").endswith((">", ")"))):
        return True
    return verb is not None and ends_in_verb and quote_follows


def introduces(line: str) -> bool:
    """Whether the line begins as an attribution does ("On Mon, Jul 20 …", "El lun, 20 jul …")."""
    return bool(_INTRO.match(line))


def sent_from(line: str) -> bool:
    """Whether a mail program signed with its own name ("Enviado desde mi iPhone")."""
    return bool(_SENT_FROM.match(line)) and len(line.split("<")[0].split()) <= 9


def sign_off(line: str) -> bool:
    """Whether the line is a formal greeting at the end ("Regards,", "Atentamente,")."""
    return bool(_SIGN_OFF.match(line))


def thanks(line: str) -> bool:
    """Whether the line does nothing but thank."""
    return bool(_THANKS.match(line))


def contact(line: str) -> bool:
    """Whether the line holds a phone number, an address of the net, or a label of a business card."""
    return bool(_CONTACT.search(line) or _HOURS.match(line))


def name_like(line: str) -> bool:
    """Whether the line could be a person's name, with or without a degree."""
    return bool(_NAME.match(line)) and len(line) <= 60


def footer(line: str) -> bool:
    """Whether the line starts a legal or technical notice that nobody typed."""
    return bool(_FOOTER.match(line.lstrip("*_ -–—[(\t")))


def banner(line: str) -> bool:
    """Whether a mail gateway put the line above the mail ("CAUTION: external sender")."""
    return bool(_BANNER.match(line))


def postscript(line: str) -> bool:
    """Whether the line begins a postscript, which is new text below a signature."""
    return bool(_POSTSCRIPT.match(line))
