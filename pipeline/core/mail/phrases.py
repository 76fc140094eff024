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

from pipeline.core.mail.tables import words

HeaderKind = Literal["from", "date", "to", "cc", "subject", "other"]

_LABELS: Final[dict[HeaderKind, str]] = {
    "from": "from|de|von|da|från|fra|van|od|от|от кого|lähettäjä|发件人|發件人|寄件者|差出人|보낸 사람|remitente|expéditeur|feladó|gönderen",
    "date": "sent|date|sent on|enviado|enviado el|enviados|enviada el|enviado em|enviada em|enviada|fecha|envoyé|envoyé le|"
    "gesendet|gesendet am|datum|data|inviato|skickat|sendt|dato|verzonden|wysłano|дата|отправлено|message du|lähetetty|päivä|"
    "päivämäärä|data wysłania|dátum|tarih|发送时间|發送時間|日期|送信日時|보낸 날짜",
    "to": "to|para|an|à|a|till|til|aan|do|кому|vastaanottaja|destinatario|címzett|kime|收件人|宛先|받는 사람",
    "cc": "cc|bcc|cco|copie|copie à|copia|kopie|kopie (cc)|kopi|kopia|cc:",
    "subject": "subject|asunto|betreff|objet|sujet|oggetto|ämne|emne|onderwerp|temat|тема|assunto|aihe|tárgy|konu|主题|主旨|件名|제목",
    "other": "reply-to|reply|responder a|reply to|importance|importancia|priority|prioridad|attachments|adjuntos|organization",
}
HEADER_KINDS: Final = frozenset(_LABELS)
_KIND_OF: Final[dict[str, HeaderKind]] = {word: kind for kind, labels in _LABELS.items() for word in labels.split("|")}
_LABEL_LINE: Final = re.compile(
    r"[\s*_>]{0,12}([^\W\d_][^:：\n]{0,18}?)\s{0,3}[*_]{0,2}\s{0,3}[:：][*_]{0,2}\s*(.{0,400})", re.DOTALL
)
_FOREIGN_LABEL: Final = re.compile(
    r"[\s*_]{0,8}([^\W\d_][^:：\n\d@,]{0,24}?)\s{0,3}[*_]{0,2}[:：][*_]{0,2}\s{0,8}(?=\S)(.{0,400})"
)
_INLINE_LABEL: Final = re.compile(
    r"(?<![\w-])[*_]?(from|de|sent|enviado(?: el)?|date|fecha|to|para|cc|subject|asunto)\s?[*_]?:[*_]?\s", re.IGNORECASE
)

_VERB_WORDS: Final = words(
    "wrote writes sent escribió escribio escrito escribe escriure escribiu schrieb écrit skrev schreef geschreven scritto scrive escreveu kirjoitti "
    "napisał napisała pisze napsal napsala napísal napísala написал написала пишет пише írta yazdı scris έγραψε написа kirjutas rakstīja rašė "
    "napisao napisal viết menulis"
)
_CJK_VERB: Final = re.compile("写道|寫道|のメール|書きました|작성")
_LETTERS: Final = re.compile(r"[^\W\d_]{3,14}")
_ANY_DIGIT: Final = re.compile(r"\d")
NAMED: Final = 1
DIGIT: Final = 2
_TO_ME: Final = re.compile(
    r"(?<!\w)(?:(?:me|nos|te|le) (?:escribi[oó]|ha escrito|escribe)|(?:has|have|had|i|we|you) (?:wrote|sent|written))(?!\w)",
    re.IGNORECASE,
)
_INTRO: Final = re.compile(
    r"[-–*\s]{0,12}(?:on|el|le|am|den|op|em|no dia|il|in data|il giorno|w dniu|dnia|dne|dňa|på|pe|ti|to|su|la|ke|date|fecha|a)[\s,]\s*"
    r"(?=[\w.,]{0,16}[\s,.]{0,3}[\w.,]{0,16}[\s,.]{0,3}\w{0,12}\W{0,3}\d|[\w.,]{0,16}\s?\d)|[在于於]\s?\d",
    re.IGNORECASE,
)
_DATE_START: Final = re.compile(
    r"[-–\s]{0,8}(?:\d{1,4}[\s./年년-]|[^\W\d_]{2,12}[.,]{0,2}\s{0,2}(?:[^\W\d_]{3,12}\.?\s{1,2})?\d{1,2}(?!\d))"
)
ADDRESS: Final = re.compile(r"[\w.+%'=-]{1,80}@[\w-]{1,63}(?:\.[\w-]{1,63}){0,6}")
YEAR: Final = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")
CLOCK: Final = re.compile(r"(?<!\d)\d{1,2}[:.h]\d\d(?!\d)")
NUMERIC_DATE: Final = re.compile(r"(?<!\d)\d{1,4}([./-])(?:\d{1,2}|[^\W\d_]{3,4})\1\d{1,4}(?!\d)")
_VERB_FIRST: Final = re.compile(r"\d\W{1,4}(?:uhr )?(?:schrieb|skrev|schreef) [^:]{2,80}[:：]$", re.IGNORECASE)
_WRITER: Final = re.compile(
    r"[^<>@:]{1,80}<[^<>\s]{3,120}>\s?(?:wrote|escribi[oó]|ha escrito|schrieb|a écrit)\s?[:：]$|"
    r"(?:quoting|citando a|zitat von) [^<>@:]{1,80}<[^<>\s]{3,120}>\s?[:：]$",
    re.IGNORECASE,
)
"""A writer with an address in brackets who wrote, and nothing else in the line."""
_QUOTING: Final = re.compile(
    r"(?:quoting|citando a|mensaje citado por|zitat von|citation de|citando)\s.{2,90}[:：]$", re.IGNORECASE
)
_BROKEN: Final = re.compile(r"[?!]\s+\S|\w{5,}\.\s+[A-ZÁÉÍÓÚ¿¡]")  # a sentence ends in it, which no attribution does
_MIDLINE: Final = re.compile(
    r"(?<=\S)\s(?=(?:On\s(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun|Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]{0,6}\.?,?\s|"
    r"On\s\d|El\s(?:lun|mar|mi[eé]|jue|vie|s[aá]b|dom)[a-zé]{0,6}\.?,\s|El\s\d))"
)

_ORIGINAL: Final = (
    r"original message|original-message|original|mensaje original|message d'origine|message original|ursprüngliche nachricht|"
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
    rf"[\s>*]{{0,8}}(?:[-_=—–]{{2,60}}\s{{0,4}})(?:({_ORIGINAL})|({_FORWARDED}))\s{{0,4}}[:]?\s{{0,4}}(?:[-_=—–]{{2,60}}|$)",
    re.IGNORECASE,
)
_BARE_FORWARD: Final = re.compile(rf"[\s>*]{{0,8}}(?:{_FORWARDED})\s?[:：]\s*$", re.IGNORECASE)
_DASHED_WRITER: Final = re.compile(r"-{2,12}\s?[^-].{0,90}\b(?:wrote|escribi[oó])\W{0,3}-{2,12}$", re.IGNORECASE)
_REPLY_ABOVE: Final = re.compile(
    r"[-=#*_]{2,30}\W{0,4}(?:please |por favor,? )?(?:(?:type|write|enter) your (?:reply|response)|reply|respond|escrib[ae] su respuesta|respond[ae]|conteste)"
    r" (?:only )?(?:above|arriba de|por encima de|encima de)\b.{0,60}$",
    re.IGNORECASE,
)
_PROCESSED: Final = re.compile(r"original message processed by \S", re.IGNORECASE)
_OWN_MARKER: Final = re.compile(r"\s{0,8}##-{1,3}.{0,120}-{1,3}##\s*$")
_RULE: Final = re.compile(r"\s{0,8}(?:_{5,}|-{5,}|={3,}|\*{5,}|—{5,}|─{5,})\s*$")
_DECORATION: Final = re.compile(r"\s{0,4}>{2,6}[>\s]{0,12}[^<>]{0,400}<{2,12}\s*$")

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
SIGNATURE_DELIMITER: Final = re.compile(
    r"\s{0,4}(?:--|—{1,60}|–{1,60}|_{2,60}|-{3,10}|\*{3,60}|#{3,60}|~{3,60}|={3,60}|\+{3,60}|─{1,60})\s*$"
)
_CONTACT: Final = re.compile(
    r"(?:(?<!\d)(?:\+?1[\s.-]?)?\(?\d{3}\)?[\s.-]{0,2}\d{3}[\s.-]?\d{4}(?!\d)|\+\d{1,3}[\s.-]?\d[\d\s.-]{6,14}|https?://|www\.|[\w.+-]{1,60}@[\w-]{1,60}\.\w{2,10})",
    re.IGNORECASE,
)
_HOURS: Final = re.compile(
    r"\s*(?:office |business |leasing |opening )?(?:hours|horario(?: de (?:atención|oficina))?|tel[eé]?fono|tel|phone|ph|cell|celular|móvil|movil|mobile|"
    r"direct|directo|office|oficina|fax|web|website|e-?mail|correo|[tmocpfw])\s?[.:|]\s?",
    re.IGNORECASE,
)
_NAME_WORD: Final = re.compile(r"[^\W\d_][\w'’.-]{0,24},?$")
_PARTICLES: Final = words("de del la las los y e da dos van von der den bin al di")
_SPEAKING: Final = re.compile(
    r"[¿¡\s*-]{0,4}(?:i|i'm|i'll|i'd|we|we're|we'll|can|could|would|will|please|pls|available|free|let|my|is|are|do|does|if|also|or|and|but|any|"
    r"tomorrow|today|yes|no|not|maybe|how|what|when|where|puedo|podemos|podr[ií]a(?:mos)?|quiero|queremos|quisiera|quisi[eé]ramos|me|nos|estoy|"
    r"estamos|estar[eé]|disponible|libre|por favor|si|s[ií]|tambi[eé]n|o|y|pero|hoy|ma[nñ]ana|mi|tengo|voy|vamos|cu[aá]ndo|d[oó]nde|qu[eé])\b(?![.@])",
    re.IGNORECASE,
)
_FOOTER: Final = re.compile(
    r"disclaimer\W{0,3}$|confidentiality (?:notice|note|statement)|aviso (?:de confidencialidad|legal)|(?:nota|cláusula) de confidencialidad|"
    r"(?:the information contained in )?this (?:e-?mail|message|communication|transmission)(?: message)?(?:,? and any [\w\s]{0,30}(?:attachments?|files?)\b)?"
    r"[\w\s,()]{0,80}(?:confidential|intended (?:solely|only)|privileged)|the information (?:contained )?in this (?:e-?mail|message|communication)[\w\s,()]{0,80}"
    r"(?:confidential|intended|privileged)|"
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


def is_unmarked(line: str) -> bool:
    """Whether a line begins with ">" and is no quoted line: the end of a wrapped address, or a decoration."""
    if line.endswith((":", "：")):
        rest = line[1:].strip(" \t:：").casefold()
        return not rest or rest in _VERB_WORDS or rest == "a écrit"
    return line.endswith("<<") and bool(_DECORATION.match(line))


def has_colon(line: str) -> bool:
    """Whether the line can begin with a label at all."""
    return ":" in line[:48] or "：" in line[:48]


def header_label(line: str) -> tuple[HeaderKind, str] | None:
    """Kind and value of a mail-header line such as "*Enviado el:* lunes, 20 de julio"; None for any other line."""
    found = _LABEL_LINE.match(line) if has_colon(line) else None
    if not found:
        return None
    kind = _KIND_OF.get(" ".join(found.group(1).casefold().split()))
    return (kind, found.group(2).strip()) if kind else None


def foreign_label(line: str) -> tuple[str, str] | None:
    """Label and value of a line "label: value" in any language; only many of them together make a header block."""
    found = _FOREIGN_LABEL.match(line)
    return (found.group(1).casefold(), found.group(2).strip()) if found else None


def inline_headers(line: str) -> int:
    """How many different header labels stand in one line (a header block that lost its line breaks)."""
    if line.count(":") < 3:
        return 0
    return len({found.casefold().split()[0] for found in _INLINE_LABEL.findall(line)})


def separator(line: str) -> Literal["original", "forward"] | None:
    """Whether the line announces an original message or a forwarded one ("-----Mensaje original-----")."""
    if line[:1] in "-_=—–>*#":
        if found := _SEPARATOR.match(line):
            return "original" if found.group(1) else "forward"
        if _DASHED_WRITER.match(line) or _REPLY_ABOVE.match(line):
            return "original"
    if line.endswith((":", "：")) and _BARE_FORWARD.match(line):
        return "forward"
    return "original" if line[:1] in "Oo" and _PROCESSED.match(line) else None


def is_own_marker(line: str) -> bool:
    """Whether the line is the mark above which our mails ask for the answer ("##- reply above this line -##")."""
    return line.startswith("##") and bool(_OWN_MARKER.match(line))


def midline(line: str) -> int | None:
    """Offset in the line, behind other text, where an attribution may begin; None where none may."""
    found = _MIDLINE.search(line) if " On " in line or " El " in line else None
    return found.end() if found else None


def hints(line: str) -> int:
    """What of an attribution the line holds: `NAMED` (a writing verb or an address), `DIGIT`."""
    named = (
        "@" in line
        or any(word.casefold() in _VERB_WORDS for word in _LETTERS.findall(line))
        or bool(_CJK_VERB.search(line))
    )
    return (NAMED if named else 0) | (DIGIT if _ANY_DIGIT.search(line) else 0)


def may_end_attribution(line: str) -> bool:
    """Whether an attribution may end with this line (a cheap test that lets most lines go)."""
    if not line:
        return False
    if line[-1] in ":：>)-–—":
        return True
    return line[-20:].split()[-1].strip("\"'.,_*(").casefold() in _VERB_WORDS or (
        not line.isascii() and bool(_CJK_VERB.search(line[-12:]))
    )


def is_rule(line: str) -> bool:
    """Whether the line is a horizontal rule drawn with characters."""
    return line[:1] in "_-=*—─" and bool(_RULE.match(line))


def attributes(stretch: str, quote_follows: bool) -> bool:
    """Whether a joined stretch is an attribution ("El lun, 20 jul 2026 a las 15:04, Ana (<a@b.example>) escribió:").

    `quote_follows`: the next line with text is marked as quoted, so that less evidence is enough.
    """
    bare = stretch.strip().lstrip("-*–[ \ufeff").rstrip()
    dashed = bare.endswith("--") or stretch.strip().startswith("---")
    bare = bare.rstrip("-–*_ ")
    colon = bare.endswith((":", "："))
    address = ADDRESS.search(bare) if "@" in bare else None
    if address and _WRITER.match(bare):
        return True
    starts = bool(_INTRO.match(bare) or _DATE_START.match(bare))
    if not (starts or address):
        return False
    dated = bool(YEAR.search(bare) or NUMERIC_DATE.search(bare))
    verb = _verb_end(bare)
    ends_in_verb = verb is not None and bare[verb:].strip(" :：(aа)") == ""
    if not (dated or CLOCK.search(bare)) or not (colon or ends_in_verb or (address and quote_follows)):
        return False
    if not quote_follows and (_TO_ME.search(bare) or _BROKEN.search(bare)):
        return False
    if verb and address:
        return starts or ends_in_verb or quote_follows or address.start() < min(60, verb)
    if verb:
        return quote_follows or (dated and (ends_in_verb or bool(_VERB_FIRST.search(bare)))) or dashed
    end = bare.rstrip(":： ")
    return quote_follows or (
        starts and (end.endswith((">", ")")) or (dated and end.endswith(address.group() if address else "?")))
    )


def names_writer(line: str) -> bool:
    """Whether a line does nothing but say who wrote what follows, without a date ("Ana Gil <a@b.example> escribió:")."""
    verb = _verb_end(line)
    ends = (verb is not None and line[verb:].strip() in (":", "：")) or bool(_QUOTING.match(line))
    return ends and len(line) <= 100 and not _TO_ME.search(line) and not _BROKEN.search(line)


def _verb_end(text: str) -> int | None:
    """Where the last writing verb of the text ends, None where it has none."""
    end = max((found.end() for found in _LETTERS.finditer(text) if found.group().casefold() in _VERB_WORDS), default=-1)
    end = max((found.end() for found in _CJK_VERB.finditer(text)), default=end) if not text.isascii() else end
    return end if end >= 0 else None


def introduces(line: str) -> bool:
    """Whether the line begins as an attribution does ("On Mon, Jul 20 …", "El lun, 20 jul …")."""
    return bool(_INTRO.match(line))


def begins_with_address(line: str) -> bool:
    """Whether an address stands first in the line."""
    return bool(ADDRESS.match(line))


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
    """Whether the line could be a person's name, with or without a degree or a title behind a bar."""
    names = line.partition("|")[0].strip("~/—–- .,!*\U0001f389").split()
    return (
        0 < len(names) <= 6
        and len(line) <= 60
        and all(_NAME_WORD.match(word) and (word[0].isupper() or word in _PARTICLES) for word in names)
    )


def speaks(line: str) -> bool:
    """Whether a short line begins as people talk, and not as a card is printed."""
    return bool(_SPEAKING.match(line))


def footer(line: str) -> bool:
    """Whether the line starts a legal or technical notice that nobody typed."""
    return bool(_FOOTER.match(line.lstrip("*_ -–—[(\t")))


def banner(line: str) -> bool:
    """Whether a mail gateway put the line above the mail ("CAUTION: external sender")."""
    return bool(_BANNER.match(line))


def postscript(line: str) -> bool:
    """Whether the line begins a postscript, which is new text below a signature."""
    return bool(_POSTSCRIPT.match(line))
