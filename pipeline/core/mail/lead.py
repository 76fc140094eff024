"""A lead: what a website form, a listing portal or a colleague's forward states about a prospect.

Theory. In such a mail hardly anything is prose. A form prints label and value, line by line; a portal wraps the
prospect's words into its own; a forward carries another mail. A move-in date, a "Submitted:" stamp and a listing date
stand beside the one sentence that the prospect typed, and to take any of them for the wish is the oldest error of
this field. So a lead is taken apart before anybody reads it:

* `comments` is the prospect's free text, and nothing else; `comment_spans` say where it stands in the body given.
  Only this text may give evidence (UN-2);
* `move_in` and `tour_times` are structured values from fields with such labels, for the check against the free text
  (UN-5); a value is a date only where the field states it in full or the mail's date decides the year;
* `not_request_dates` are the dates of stamps, listings and the like, as written, and as ISO dates where in full.

Text in quotes, footers and signatures is no comment, even where it repeats one; where the wish stands only there,
the lead has no comment. In a forward the values are the prospect's, quoted by a third person: only where the caller
trusts the wrapper's sender (verified staff, an admitted portal) is it looked into at all.

Invariants: pure; never raises; a digest of several leads is never merged into one person; a relay address is a
conversation, not a person, and stands in `relay`, not in `email`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from typing import Final, Literal
from zoneinfo import ZoneInfo

from pipeline.core.calendar import OfficeHours, Resolution, detect, resolve
from pipeline.core.mail.phrases import ADDRESS, header_label
from pipeline.core.mail.roles import GAP, Labelled, Role, label
from pipeline.core.mail.tables import words

Headers = Mapping[str, str] | Iterable[tuple[str, str]]
Kind = Literal["form", "portal", "forward", "digest", "letter"]
_Field = Literal[
    "name",
    "first",
    "last",
    "email",
    "phone",
    "property",
    "move_in",
    "tour",
    "comments",
    "stamp",
    "bedrooms",
    "rent",
    "other",
]


@dataclass(frozen=True, slots=True)
class Lead:
    """What a lead states. Text is as written; None where it states nothing."""

    kind: Kind
    name: str | None = None
    email: str | None = None
    """Lower case; never a relay and never the wrapper's own address."""
    relay: str | None = None
    phone: str | None = None
    """E.164."""
    extension: str | None = None
    property: str | None = None
    move_in: date | None = None
    move_in_text: str | None = None
    tour_times: tuple[datetime, ...] = ()
    """Naive local times out of tour fields that state day and time."""
    bedrooms: str | None = None
    rent_max: int | None = None
    """Whole units of the property's currency."""
    tour_request: bool = False
    """Whether a tour field or the comments speak of a visit."""
    tour_ask: str | None = None
    """The stretch of the comments from their first to their last date or time."""
    shared_address: bool = False
    """Whether the sender's name is that of two people."""
    comments: str = ""
    comment_spans: tuple[tuple[int, int], ...] = ()
    not_request_dates: tuple[str, ...] = ()
    leads: int = 1
    """How many people the mail speaks of; more than one only in a digest."""


@dataclass(frozen=True, slots=True)
class _Line:
    text: str
    start: int


@dataclass(slots=True)
class _Taken:
    """What was taken out of the lines so far."""

    values: dict[str, str] = field(default_factory=dict)
    tours: list[str] = field(default_factory=list)
    comments: list[_Line] = field(default_factory=list)
    free: list[_Line] = field(default_factory=list)
    stamps: list[str] = field(default_factory=list)
    kinds: set[str] = field(default_factory=set)


def parse_lead(
    headers: Headers,
    body: str,
    locale: str,
    ref: datetime | None = None,
    tz: ZoneInfo | None = None,
    office_hours: OfficeHours | None = None,
    trusted: bool = False,
) -> Lead | None:
    """The lead in a mail, None where it is none.

    `ref` is the naive local time of arrival in zone `tz`: it decides years. `office_hours` decide what "at 4" is.
    `trusted` says that the sender is verified staff or an admitted portal: only then a forwarded mail is looked into.
    """
    known = {name.lower(): value for name, value in _pairs(headers)}
    count = _digest(body)
    if count > 1:
        return Lead("digest", leads=count)
    when = _When(locale, ref, tz or ZoneInfo("UTC"), office_hours)
    labelled = label(body)
    new = [_Line(line.text, line.start) for line in labelled.lines if line.role is Role.NEW]
    taken = _take(new)
    if not _is_form(taken):
        taken = _take(_colons(new))
    if not _is_form(taken) and (inner := _contact_form(body, labelled.new_text)):
        taken = _take(inner)
    if _says(new, known):
        return _portal(known, new, when)
    if _is_form(taken):
        return _lead("form", known, taken, when)
    return _forward(known, labelled, when) if trusted else None


def read_contact(headers: Headers, body: str) -> Lead:
    """Who wrote a mail that is no lead: the sender, unless the text introduces somebody else of that address."""
    known = {name.lower(): value for name, value in _pairs(headers)}
    name, address = _mailbox(known.get("from", ""))
    text = label(body).new_text
    phone, extension = _phone(text)
    shared = bool(re.search(r"\s(?:&|and|y|e|\+)\s", name))
    name_given = _introduced(text, name) or (None if shared else name)
    return Lead(
        "letter", name_given, address or None, phone=phone, extension=extension, shared_address=shared, comments=text
    )


# --- lines to fields ----------------------------------------------------------------------------------------------

_LABEL: Final = re.compile(
    r"[ \t]{0,8}[*_•·>-]{0,3}[ \t]{0,4}¿?([^\W_][^:：\t\n?!.]{0,44}\??(?:[.](?=[:：]))?)[*_]{0,2}[ ]{0,4}(?:[:：]|\t)[ \t*_]{0,8}(.*)"
)
_BOILERPLATE: Final = re.compile(
    r"\s*(?:please do not (?:reply|respond)|do not reply|reply to this (?:e-?mail|message)|this (?:lead|message|inquiry|e-?mail) (?:was|is|has been|came)\b|"
    r"(?:listed|posted|available) since|view (?:this|the) (?:lead|message)|log ?in to|sign in to|manage your|to (?:answer|respond|reply),|"
    r"por favor,? no (?:responda|conteste)|no responda|responda a este|este (?:mensaje|correo|contacto|formulario)|publicad[oa] (?:desde|el)|"
    r"para (?:responder|contestar)|inicie sesión|you (?:have )?received|ha recibido|you wrote|usted escribió|(?:a )?copy of (?:your|the) message|"
    r"copia de(?:l)? (?:su )?mensaje|original (?:message|inquiry|comment)|mensaje original|message (?:was )?(?:sent|received) (?:on|at)|"
    r"\(?sent (?:via|from|through)\b|\(?enviado (?:desde|a través|por)\b|powered by|ip(?: address)?\s?:|user agent\s?:|page url\s?:)",
    re.IGNORECASE,
)
_SAYS: Final = re.compile(
    r"\s*(?:\W{0,3}(?P<who>[^:\n]{2,60}?)\s(?:says|said|wrote|asks|dice|dijo|escribió|pregunta)|"
    r"(?:message|mensaje|comments?|comentarios?) (?:from|de)\s(?P<from>[^:\n]{2,60}))\s?:\s*(?P<rest>.*)$",
    re.IGNORECASE,
)
_QUOTES: Final = " \t\"“”«»'"


def _take(lines: Sequence[_Line]) -> _Taken:
    """Fields, comments and the rest out of lines; a value may stand in the line below its label."""
    taken = _Taken()
    open_field: _Field | None = None
    waiting = False
    for line in lines:
        found = _field_of(line.text)
        if found and not (open_field == "comments" and found[0] == "other" and _names_day(line.text)):
            open_field, value, at = found
            taken.kinds.add(open_field)
            waiting = not value
            _put(taken, open_field, _Line(value, line.start + at))
        elif not line.text.strip():
            open_field = open_field if open_field == "comments" or waiting else None
        elif _BOILERPLATE.match(line.text):
            open_field, waiting = None, False
            taken.stamps.append(line.text)
        elif open_field == "comments" or (waiting and open_field):
            _put(taken, open_field, line)
            open_field, waiting = ("comments" if open_field == "comments" else None), False
        else:
            taken.free.append(line)
    return taken


def _names_day(text: str) -> bool:
    """Whether what looks like a label is a day ("Monday: after 5"), as people write it into a comment."""
    return bool(detect(text.partition(":")[0][:60], ("en", "es")))


def _colons(lines: Sequence[_Line]) -> list[_Line]:
    """The lines of a form that prints each label in a line of its own, without a colon, with one put behind it."""
    bare = {n for n, line in enumerate(lines) if _is_bare_label(line.text)}
    if len(bare) < 3:
        return list(lines)
    return [_Line(f"{line.text.rstrip()}:", line.start) if n in bare else line for n, line in enumerate(lines)]


def _is_bare_label(text: str) -> bool:
    said = text.strip(" *_\t")
    spoken = set(re.findall(r"[a-z]+", _plain(said)))
    short = 0 < len(spoken) <= 5 and len(said) <= 40 and not re.search(r"[\d:.,;!@]", said)
    return short and spoken <= _LABEL_WORDS and _kind(said, "") is not None


def _put(taken: _Taken, kind: _Field, line: _Line) -> None:
    value = line.text.strip()
    if not value or value.casefold() in _NOTHING:
        return
    if kind == "comments":
        if not _repeats(taken.comments, value):
            taken.comments.append(line)
    elif kind == "tour":
        taken.tours.append(value)
    elif kind in ("stamp", "other"):
        taken.stamps.append(value)
    else:
        taken.values.setdefault(kind, value)


def _repeats(comments: Sequence[_Line], value: str) -> bool:
    said = " ".join(value.casefold().split())
    return len(said) > 12 and any(said == " ".join(c.text.casefold().split()) for c in comments)


def _field_of(text: str) -> tuple[_Field, str, int] | None:
    """Kind, value and offset of the value, where the line is a label with its value."""
    found = _LABEL.match(text[:4000])
    if not found:
        return None
    kind = _kind(found.group(1), found.group(2))
    if kind is None:
        return None
    at = found.start(2)
    return kind, text[at:].rstrip(), at


def _kind(label_text: str, value: str) -> _Field | None:
    spoken = set(re.findall(r"[a-z]+", _plain(label_text)))
    if len(spoken) > 9 or not spoken:
        return None
    for kind, any_of, none_of in _KINDS:
        if spoken & any_of and not spoken & none_of:
            return kind
    if spoken & _WISHED and spoken & _DAYTIME and not spoken & _CALL:
        return "tour"
    if spoken <= _STAMP_ALONE:
        return "stamp"
    known_other = bool(spoken & _OTHER)
    titled = label_text.strip()[:1].isupper() and len(label_text.split()) <= 4
    return "other" if known_other or (titled and value.strip()) else None


_CALL: Final = words("call contact callback reach llamar llamada contacto contactar")
_WISHED: Final = words(
    "preferred desired requested best first second third alternate option choice preferida preferido deseada deseado solicitada opcion"
)
_DAYTIME: Final = words("date time day datetime slot fecha hora dia horario")
_STAMP_ALONE: Final = words("date time fecha hora on at del de el sent")
_OTHER: Final = words(
    "ip pets pet mascotas mascota credit income ingresos lease contrato occupants ocupantes agent source campaign user url page referrer location "
    "reason occupation employer parking price city state zip country status id lead number company subject asunto adults children"
)
_KINDS: Final[tuple[tuple[_Field, frozenset[str], frozenset[str]], ...]] = (
    ("other", words("hear heard referred referral source enteraste entero conocio conociste find found"), frozenset()),
    ("move_in", words("move moving movein mudanza mudarse mudar mudas ingreso entrada ocupacion"), words("reason comments message mensaje")),
    ("comments", words("comment comments message question questions notes note inquiry help know tell remarks availability mensaje comentario "
                        "comentarios pregunta preguntas consulta ayudar ayudarle saber cuentenos duda dudas disponibilidad "
                        "notas observaciones details detalles"), words("date id type fecha tipo sent received call original copy copia previous anterior quoted")),
    ("stamp", words("submitted received timestamp enviado enviada recibido recibida envio created creado listed posted publicado"), frozenset()),
    ("tour", words("tour visit visita showing appointment cita recorrido viewing"), words("type tipo comments source id")),
    ("first", words("first"), _WISHED - {"first"} | _DAYTIME | words("choice")),
    ("last", words("last surname apellido apellidos"), _DAYTIME),
    ("email", words("email mail correo"), _DAYTIME),
    ("phone", words("phone telephone tel cell mobile telefono celular movil whatsapp"), words("best type tipo")),
    ("name", words("name nombre renter prospect contact cliente interesado"), words("property community building propiedad company method time preference")),
    ("bedrooms", words("bedroom bedrooms beds bed recamaras recamara habitaciones habitacion dormitorios dormitorio cuartos"), frozenset()),
    ("rent", words("rent budget renta presupuesto alquiler"), words("current actual")),
    ("property", words("property community building listing propiedad comunidad edificio inmueble unit unidad apartment departamento address direccion floorplan"),
     words("current actual ip email mail")),
)  # fmt: skip


_LABEL_WORDS: Final = (
    frozenset(word for _, spoken, _ in _KINDS for word in spoken)
    | _WISHED
    | _DAYTIME
    | _STAMP_ALONE
    | words("your full last address number in the su tu la y electronico numero completo type and additional")
)
_NOTHING: Final = frozenset(("-", "--", "none", "n/a", "na", "ninguno", "ninguna", "no aplica", "null", "not provided"))


def _plain(text: str) -> str:
    """Lower case without accents; "e-mail" and "move-in" become one word each."""
    folded = unicodedata.normalize("NFKD", text.casefold())
    return (
        "".join(c for c in folded if not unicodedata.combining(c))
        .replace("e-mail", "email")
        .replace("move-in", "movein")
    )


def _is_form(taken: _Taken) -> bool:
    person = taken.kinds & {"name", "first", "last", "email", "phone"}
    return (
        bool(person)
        and len(taken.kinds - {"other", "stamp"}) >= 2
        and bool(taken.kinds - {"name", "first", "last", "phone", "email", "other"})
    )


def _contact_form(body: str, new: str) -> list[_Line]:
    """Lines of a contact form that prints itself as mail headers ("From: Ana <a@b.example> … Message Body:")."""
    if new.strip() or not re.search(
        r"^\s{0,8}(?:message body|cuerpo del mensaje)\s?:", body, re.IGNORECASE | re.MULTILINE
    ):
        return []
    lines = _lines(body[:200_000])
    out: list[_Line] = []
    for line in lines:
        if line.text.rstrip() in ("--", "-- ".rstrip()) or line.text.lstrip().startswith(">"):
            break
        header = header_label(line.text)
        if header and header[0] == "from":
            name, address = _mailbox(header[1])
            out += [_Line(f"Name: {name}", line.start), _Line(f"Email: {address}", line.start)]
        elif not header:
            out.append(line)
    return out


def _lines(text: str) -> list[_Line]:
    out: list[_Line] = []
    at = 0
    for raw in text.splitlines(keepends=True):
        out.append(_Line(raw.rstrip("\r\n"), at))
        at += len(raw)
    return out


# --- fields to a lead ---------------------------------------------------------------------------------------------


_YEAR: Final = re.compile(r"(?<!\d)20\d\d(?!\d)")


@dataclass(frozen=True, slots=True)
class _When:
    """How a stated day becomes a date: locale, and time and zone of arrival where known."""

    locale: str
    ref: datetime | None
    tz: ZoneInfo
    hours: OfficeHours | None

    def day(self, text: str) -> date | None:
        """The day of a field that a program printed: of two readings of 10/1/2026 the locale's own one counts."""
        found = self._resolve(text)
        if found is not None and found.reasons == ("number_order",):
            return self._own_order(text, found)
        return found.value.date if found is not None and found.value is not None else None

    def _own_order(self, text: str, found: Resolution) -> date | None:
        first = re.search(r"\d{1,2}", text)
        days = [candidate.date for candidate in found.candidates if candidate.date is not None]
        leading = {(day.month if self.locale.startswith("en") else day.day): day for day in days}
        return leading.get(int(first.group())) if first else None

    def instant(self, text: str) -> datetime | None:
        if _ISO.fullmatch(text.strip()):
            return _iso(text.strip())
        found = self._resolve(text)
        value = found.value if found is not None else None
        if value is None or value.date is None or value.time is None:
            return None
        return datetime.combine(value.date, value.time)

    def _resolve(self, text: str) -> Resolution | None:
        year = _YEAR.search(text)
        ref = self.ref or (datetime(int(year.group()), 1, 1) if year else None)
        return resolve(text.strip(), ref, self.tz, self.locale, self.hours) if ref else None


_ISO: Final = re.compile(r"20\d\d-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?")


def _iso(text: str) -> datetime | None:
    """A time as machines write it, on the clock of 24 hours."""
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None


def _lead(kind: Kind, known: Mapping[str, str], taken: _Taken, when: _When) -> Lead:
    values = taken.values
    sender = _mailbox(known.get("from", ""))[1]
    email = _address(values.get("email")) or _person_address(known)
    own = kind == "form" and "comments" not in taken.kinds and _is_own_list(known, sender, email)
    comments = taken.free if own else taken.comments
    phone, extension = _phone(values.get("phone", ""))
    lead = Lead(
        kind,
        name=_name(values) or None,
        phone=phone,
        extension=extension,
        property=values.get("property") or _property(known.get("subject", "")),
        move_in=when.day(values.get("move_in", "")),
        move_in_text=values.get("move_in"),
        tour_times=_tours(taken.tours, when),
        tour_request=bool(taken.tours),
        bedrooms=_digits(values.get("bedrooms", "")),
        rent_max=_most(values.get("rent", "")),
        not_request_dates=_dates([*taken.stamps, *(line.text for line in taken.free if not own)], when),
    )
    return _with_comments(_with_address(lead, email), comments, when.locale)


def _with_comments(lead: Lead, lines: Sequence[_Line], locale: str) -> Lead:
    spans: list[tuple[int, int]] = []
    texts: list[str] = []
    for line in lines:
        said = line.text.strip(_QUOTES)
        if not said:
            continue
        start = line.start + line.text.index(said)
        if spans and start - spans[-1][1] > 4:
            texts.append(GAP)
        texts.append(said)
        spans.append((start, start + len(said)))
    said = "\n".join(texts)
    times = detect(said[:4_000], (locale[:2],))
    return replace(
        lead,
        comments=said,
        comment_spans=tuple(spans),
        tour_request=lead.tour_request or bool(_VISIT.search(said)),
        tour_ask=said[times[0].start : times[-1].end] if times else None,
    )


def _with_address(lead: Lead, address: str | None) -> Lead:
    return replace(lead, relay=address) if address and _is_relay(address) else replace(lead, email=address)


def _name(values: Mapping[str, str]) -> str:
    whole = values.get("name") or " ".join(v for v in (values.get("first"), values.get("last")) if v)
    return " ".join(whole.split())[:120]


def _tours(texts: Sequence[str], when: _When) -> tuple[datetime, ...]:
    """Times of tour fields: a field may list several, and a day may stand in one field and its time in the next."""
    wishes = [part for text in texts for part in _one_by_one(text, when)]
    found: dict[datetime, None] = {}
    for wish, following in zip(wishes, [*wishes[1:], ""], strict=False):
        instant = when.instant(wish)
        if instant is None and following and when.instant(following) is None:
            instant = when.instant(f"{wish} {following}")
        if instant is not None:
            found[instant] = None
    return tuple(found)


def _one_by_one(text: str, when: _When) -> list[str]:
    if when.instant(text) is not None:
        return [text]
    return [part.strip() for part in re.split(r"[;|]|\s(?:or|o)\s", text) if part.strip()]


_PERSONAL: Final = re.compile(
    r"@(?:gmail|googlemail|yahoo|ymail|hotmail|outlook|live|msn|icloud|me|mac|aol|proton(?:mail)?|gmx|comcast|att|verizon|sbcglobal)\.",
    re.IGNORECASE,
)


def _is_own_list(known: Mapping[str, str], sender: str, email: str | None) -> bool:
    """Whether the sender typed the list of fields himself: then what stands around it are his words, too."""
    if not sender or _MACHINE.match(sender) or known.get("reply-to", sender).lower().find(sender) < 0:
        return False
    return email == sender or "in-reply-to" in known or bool(_PERSONAL.search(sender))


_VISIT: Final = re.compile(
    r"\b(?:tours?|tour(?:ing|ed)|visits?|visiting|showings?|see (?:it|the|an?|your)|view(?:ing)?|come (?:by|see|over)|stop by|visitas?|visitar|"
    r"recorridos?|ver(?:lo|la)?|conocer(?:lo|la)?|pasar)\b",
    re.IGNORECASE,
)


def _digits(text: str) -> str | None:
    found = re.search(r"\d{1,2}", text)
    return found.group() if found else (text.strip()[:40] or None)


def _most(text: str) -> int | None:
    amounts = [int(a.replace(",", "").replace(".", "")) for a in re.findall(r"\d{1,3}(?:[,.]\d{3})+|\d{2,6}", text)]
    return max(amounts) if amounts else None


def _dates(texts: Iterable[str], when: _When) -> tuple[str, ...]:
    """Dates as written, each followed by its ISO form where it states a year."""
    found: dict[str, None] = {}
    for text in texts:
        for expression in detect(text[:600], (when.locale[:2],)):
            written = text[expression.start : expression.end]
            if expression.kind != "time":
                found[written] = None
                day = when.day(written) if _YEAR.search(written) else None
                found.update({day.isoformat(): None} if day else {})
    return tuple(found)


# --- portals, forwards, digests -----------------------------------------------------------------------------------

_ABOUT: Final = re.compile(
    r"(?:requesting information about|interested in|inquiry (?:about|for)|new (?:lead|contact|inquiry|message) for|information about|question about|"
    r"informaci[oó]n sobre|interesad[oa] en|solicitud (?:para|sobre)|nuevo contacto (?:para|de)|consulta sobre)\s(.{2,160}?)(?:\s(?:from|via|de parte de)\s\S.{0,60})?$",
    re.IGNORECASE,
)
_ASKER: Final = re.compile(
    r"^\W{0,3}(.{2,60}?)\s(?:is requesting|is interested|has a question|wants|sent you|solicita|est[aá] interesad[oa]|pide|quiere|le env[ií]a)\b",
    re.IGNORECASE,
)
_RELAY: Final = re.compile(
    r"@(?:convo|relay|reply|replies|messages?|messaging|leads?|mail-?relay|anon|r)\.|@(?:[\w-]+\.)*(?:privaterelay|craigslist|relay)\.|"
    r"^(?=[^@]*\d)(?=[^@]*[a-z])[a-z0-9]{18,}@|\+[0-9a-f-]{16,}@",
    re.IGNORECASE,
)
_MACHINE: Final = re.compile(
    r"^(?:no-?reply|do-?not-?reply|notifications?|alerts?|leads?|web(?:site|master|form)?|forms?|info|digest|wordpress|admin|contact(?:o)?|noresponder|hello)\b",
    re.IGNORECASE,
)
_DIGEST_ENTRY: Final = re.compile(r"\s{0,4}(?:\d{1,3}[).:]|[-*•])\s")


def _says(lines: Sequence[_Line], known: Mapping[str, str]) -> bool:
    """Whether a portal wraps the prospect's words: it says who asks, and passes on what is said."""
    return bool(_ASKER.match(known.get("subject", "")) or _ABOUT.search(known.get("subject", ""))) and any(
        _SAYS.match(line.text) for line in lines
    )


def _portal(known: Mapping[str, str], lines: Sequence[_Line], when: _When) -> Lead:
    said: list[_Line] = []
    rest: list[_Line] = []
    who = ""
    speaking = False
    for line in lines:
        found = _SAYS.match(line.text)
        if found and not said:
            who = found.group("who") or found.group("from") or ""
            speaking = True
            if found.group("rest"):
                said.append(_Line(found.group("rest"), line.start + found.start("rest")))
        elif speaking and line.text.strip() and not _field_of(line.text) and not _BOILERPLATE.match(line.text):
            said.append(line)
        elif speaking and said and (line.text.strip() or _closed(said)):
            speaking = False
            rest.append(line)
        else:
            rest.append(line)
    taken = _take(rest)
    lead = _lead("portal", known, taken, when)
    told = (known.get("subject", ""), *(line.text for line in lines))
    subject = next((found for text in told if (found := _ASKER.match(text[:300]))), None)
    name = (
        lead.name or (subject.group(1).strip() if subject else "") or who.strip() or _mailbox(known.get("from", ""))[0]
    )
    return _with_comments(replace(lead, name=name or None), [*said, *taken.comments], when.locale)


def _closed(said: Sequence[_Line]) -> bool:
    """Whether words that began with a quotation mark have ended with one."""
    return said[0].text.strip()[:1] in '"“«' and said[-1].text.strip()[-1:] in '"”»'


def _forward(known: Mapping[str, str], labelled: Labelled, when: _When) -> Lead | None:
    """The lead in a forwarded mail: a form in it, or the words of the person who wrote it."""
    forwarded = re.match(r"\s*(?:fwd?|rv|tr|wg|enc)\s?:", known.get("subject", ""), re.IGNORECASE)
    wanted = {Role.FORWARDED} if not forwarded else {Role.FORWARDED, Role.QUOTED}
    inner = [
        _unmarked(_Line(line.text, line.start))
        for line in labelled.lines
        if line.role in wanted or (line.role is Role.ATTRIBUTION)
    ]
    if not any(line.role in wanted for line in labelled.lines):
        return None
    head, rest = _head(inner)
    text = "\n".join(line.text for line in rest)
    own = label(text)
    kept = [rest[n] for n, line in enumerate(own.lines) if line.role is Role.NEW and n < len(rest)]
    taken = _take(kept)
    if _is_form(taken):
        return _lead("forward", {"subject": head.get("subject", "")}, taken, when)
    name, address = _mailbox(head.get("from", ""))
    if not address or not kept:
        return None
    phone, extension = _phone("\n".join(line.text for line in kept))
    lead = Lead(
        "forward", name=name or None, phone=phone, extension=extension, property=_property(head.get("subject", ""))
    )
    return _with_comments(_with_address(lead, address), [line for line in kept if line.text.strip()], when.locale)


def _head(lines: Sequence[_Line]) -> tuple[dict[str, str], list[_Line]]:
    """The first block of mail headers, by kind, and the lines below it."""
    start = next((n for n, line in enumerate(lines[:16]) if header_label(line.text)), 0)
    head: dict[str, str] = {}
    for n in range(start, len(lines)):
        found = header_label(lines[n].text)
        if found and found[0] not in head:
            head[found[0]] = found[1]
        elif found or (lines[n].text.strip() and len(head) > 1):
            return head, list(lines[n:])
    return head, []


def _unmarked(line: _Line) -> _Line:
    said = re.match(r"[>\s]{0,12}", line.text)
    at = said.end() if said and ">" in said.group() else 0
    return _Line(line.text[at:], line.start + at)


def _digest(body: str) -> int:
    """How many people a list of leads names (numbered or dotted lines, each with an address of its own)."""
    entries = [
        line for line in body[:40_000].splitlines()[:400] if _DIGEST_ENTRY.match(line) and ADDRESS.search(line[:400])
    ]
    return len({m.group().lower() for line in entries if (m := ADDRESS.search(line[:400]))})


def _property(subject: str) -> str | None:
    found = _ABOUT.search(" ".join(subject.split())[:400])
    return found.group(1).strip(" .") if found else None


# --- people -------------------------------------------------------------------------------------------------------


def _pairs(headers: Headers) -> list[tuple[str, str]]:
    pairs = headers.items() if isinstance(headers, Mapping) else headers
    return [(str(name), str(value)[:4000]) for name, value in pairs]


def _mailbox(value: str) -> tuple[str, str]:
    """Display name and address (lower case) of the first mailbox."""
    found = re.search(r"<\s{0,4}([^<>\s@]{1,200}@[^<>\s]{1,255}?)\s{0,4}>", value) or ADDRESS.search(value)
    if not found:
        return value.strip().strip('"'), ""
    address = found.group(1) if found.re is not ADDRESS else found.group()
    name = value[: found.start()].strip().strip('"').strip()
    return name, address.lower()


def _address(value: str | None) -> str | None:
    found = ADDRESS.search(value[:400]) if value else None
    return found.group().lower() if found else None


def _person_address(known: Mapping[str, str]) -> str | None:
    """The prospect's address where the form has no field for it: Reply-To, else a sender that is no machine."""
    sender = _mailbox(known.get("from", ""))[1]
    reply = _mailbox(known.get("reply-to", ""))[1]
    for address in (reply, sender):
        if address and (_is_relay(address) or not _MACHINE.match(address)):
            return address
    return None


def _is_relay(address: str) -> bool:
    return bool(_RELAY.search(address))


def _phone(text: str) -> tuple[str | None, str | None]:
    """The first valid phone number of a text in E.164, and its extension."""
    if sum(c.isdigit() for c in text) < 7:
        return None, None
    from phonenumbers import PhoneNumberFormat, PhoneNumberMatcher, format_number

    for found in PhoneNumberMatcher(text[:20_000], "US"):
        return format_number(found.number, PhoneNumberFormat.E164), found.number.extension or None
    return None, None


_INTRODUCTION: Final = re.compile(
    r"(?i:\bthis is|\bmy name is|\bit's|\bsoy|\bme llamo|\bmi nombre es|\bhabla|\ble escribe)\s((?:[A-ZÁÉÍÓÚÑ][\w'’-]{1,24})(?:\s[A-ZÁÉÍÓÚÑ][\w'’-]{1,24}){0,3})"
)


def _introduced(text: str, shown: str) -> str | None:
    """The name by which the writer introduces himself; a lone first name takes the family name of a shared address."""
    found = _INTRODUCTION.search(text[:2000])
    if not found:
        return None
    name = found.group(1)
    names = shown.split()
    if " " not in name and len(names) > 1 and name.casefold() in shown.casefold():
        return f"{name} {names[-1]}"
    return name
