"""Raw MIME bytes to a typed mail, and an outbound mail to bytes. Pure: no network, no clock, no ids.

Theory. A raw mail is the most hostile input that the product reads: anybody can send it, half of all mail programs
write it wrongly, and a mail that raises is redelivered for days. So parsing never raises: what cannot be read is left
out or replaced, and the raw bytes are the caller's to keep. Structure comes from the standard library's parser;
decoding is ours, because the library trusts labels: the declared charset counts where it decodes strictly, then
UTF-8, then Windows-1252, then replacement. Reading stops at an attached message: its dates are another mail's.

What is new in a mail is decided by `new_text`: by the plain part, checked against the HTML part. A line that says a
date or time counts only where both parts say it, because a sender can write two different mails into one.

Outbound: the same `OutboundMail` gives the same bytes on every machine (part boundaries are derived from the message
id), and no value can add a header: line breaks and control characters in header values become spaces.
"""

from __future__ import annotations

import email.message
import email.parser
import email.policy
import hashlib
import html as html_escapes
import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from email.utils import format_datetime, formataddr, parsedate_to_datetime
from typing import Final

from pipeline.core.calendar import detect, supported_locales
from pipeline.core.mail.roles import GAP, Labelled, Line, Role, label
from pipeline.core.text import normalise

MAX_BYTES: Final = 30_000_000
_MAX_PARTS: Final = 200
_MAX_DEPTH: Final = 20
_MAX_HEADERS: Final = 1_000
_MAX_NESTED: Final = 100
_MAX_MARKS: Final = 1_000
_MAX_HEADER: Final = 8_000
_MAX_TEXT: Final = 2_000_000


@dataclass(frozen=True, slots=True)
class InboundMail:
    """A mail as it arrived. Text is decoded, addresses are as given; nothing in it is trusted or verified."""

    message_id: str
    """With its angle brackets; a hash of the raw bytes where the mail has none."""
    from_address: str
    """Empty where none can be read, or where the mail names two different senders."""
    from_name: str
    to: tuple[str, ...]
    """Addresses of To and Cc."""
    subject: str
    date: datetime | None
    """What the Date header claims, with its offset; None where it cannot be read."""
    in_reply_to: str | None
    references: tuple[str, ...]
    text: str | None
    html: str | None
    headers: tuple[tuple[str, str], ...]
    """All headers in order, decoded, names as given."""
    attachments: tuple[str, ...]
    """Names of what is not body text; `text/calendar` and the like where a part has no name."""
    auth_results: str | None
    """The topmost Authentication-Results; whether to believe it is the caller's matter."""
    reply_to: str | None
    doubtful: bool
    """Whether characters had to be guessed or replaced."""


@dataclass(frozen=True, slots=True)
class OutboundMail:
    """A mail to be sent. Addresses are bare (`a@b.example`), message ids have their angle brackets, `date` an offset."""

    message_id: str
    from_address: str
    from_name: str
    to: tuple[str, ...]
    subject: str
    text: str
    date: datetime
    in_reply_to: str | None = None
    references: tuple[str, ...] = ()
    headers: tuple[tuple[str, str], ...] = ()
    """Further headers (List-Unsubscribe and the like)."""
    auto_submitted: str = "auto-replied"
    """RFC 3834: `auto-replied` for an answer, `auto-generated` for what nobody asked for."""
    calendar: str | None = None
    """An iCalendar object that goes along, with its METHOD inside."""


# --- in -----------------------------------------------------------------------------------------------------------


def parse_mail(raw: bytes) -> InboundMail:
    """The typed form of a raw mail. Never raises; see the field notes of `InboundMail` for what is missing."""
    message = _message(raw[:MAX_BYTES])
    headers = tuple((name, _header(value)) for name, value in _raw_headers(message))
    first = {name.lower(): value for name, value in reversed(headers)}
    body = _Body()
    try:
        pieces = list(_pieces(message, body, 0))
    except RecursionError:
        pieces = []
    text, html = _joined(pieces)
    senders = {value for name, value in _raw_headers(message) if name.lower() == "from"}
    from_name, from_address = _first_mailbox(senders.pop()) if len(senders) == 1 else ("", "")
    return InboundMail(
        message_id=_message_id(message, raw),
        from_address=from_address,
        from_name=from_name,
        to=tuple(a for name in ("to", "cc") for _, a in _mailboxes(_raw_value(message, name))),
        subject=" ".join(first.get("subject", "").split()),
        date=_date(first.get("date", "")),
        in_reply_to=next(iter(_message_ids(_raw_value(message, "in-reply-to"))), None),
        references=tuple(_message_ids(_raw_value(message, "references"))),
        text=text,
        html=html,
        headers=headers,
        attachments=tuple(body.attachments),
        auth_results=first.get("authentication-results"),
        reply_to=_first_mailbox(_raw_value(message, "reply-to"))[1] or None,
        doubtful=body.doubtful,
    )


def new_text(mail: InboundMail, sent: Sequence[str] = ()) -> Labelled:
    """What is new in the mail: the plain part where it says anything, and of its dates only those in the HTML part."""
    if mail.html is None:
        return label(mail.text or "", sent)
    from pipeline.core.mail.html import label_html  # the HTML parser is loaded only for HTML

    seen = label_html(mail.html, sent)
    if mail.text is None or not mail.text.strip():
        return seen
    if not any(line.text.strip() for line in seen.lines):
        return label(mail.text, sent)  # a form without any visible text contradicts nothing
    return _agreed(label(mail.text, sent), seen)


def undisputed_body(mail: InboundMail, sent: Sequence[str] = ()) -> str:
    """The whole body as text, for reading forms in it; lines whose times the HTML part does not state are blanked out."""
    if mail.html is None or not (mail.text or "").strip():
        return mail.text or "" if mail.html is None else _html_text(mail.html)
    found = new_text(mail, sent)
    before = {line.start: line.role for line in label(mail.text or "", sent).lines}
    disputed = [line for line in found.lines if line.role is not before.get(line.start)]
    body = mail.text or ""
    for line in disputed:
        body = body[: line.start] + " " * (line.end - line.start) + body[line.end :]
    return body


def _html_text(html: str) -> str:
    from pipeline.core.mail.html import html_to_text  # the HTML parser is loaded only for HTML

    return html_to_text(html)


def _agreed(plain: Labelled, seen: Labelled) -> Labelled:
    """`plain`, less the new lines that state a date or time which the new text of the HTML part does not have."""
    words = " " + " ".join(_words(seen.new_text)) + " "
    lines = tuple(
        replace(line, role=Role.QUOTED) if line.role is Role.NEW and not _stated(line.text, words) else line
        for line in plain.lines
    )
    return plain if lines == plain.lines else Labelled(lines, _join(lines))


def _stated(line: str, words: str) -> bool:
    """Whether `words` hold this line, or it states no time; HTML numbers its lists by itself, plain text does not."""
    wordings = (" ".join(_words(line)), " ".join(_words(_ITEM.sub("", line))))
    if any(f" {said} " in words for said in wordings):
        return True
    return not (any(c.isdigit() for c in line) or detect(line, supported_locales()))


def _join(lines: Sequence[Line]) -> str:
    out: list[str] = []
    gap = False
    for line in lines:
        if line.role is Role.NEW:
            out.extend([GAP] if gap and out else [])
            out.append(line.text)
            gap = False
        else:
            gap = gap or bool(line.text.strip())
    return "\n".join(out).strip("\n")


def _words(text: str) -> list[str]:
    return re.findall(r"[^\W_]+", normalise(_LINK.sub(" ", text)))


_ITEM: Final = re.compile(r"^\s*\d{1,2}[.)]\s+")
_LINK: Final = re.compile(r"<(?:https?:|mailto:)[^<>\s]{1,2000}>|\[(?:cid|image)[^\]\n]{0,300}\]", re.IGNORECASE)


# --- structure ----------------------------------------------------------------------------------------------------


class _Body:
    """What is noted while the parts are walked."""

    def __init__(self) -> None:
        self.parts = 0
        self.doubtful = False
        self.attachments: list[str] = []


@dataclass(frozen=True, slots=True)
class _Piece:
    """One body part: its plain form, its HTML form, or both where they are alternatives."""

    plain: str | None = None
    html: str | None = None


class _Bounded(email.policy.Compat32):
    """Raw header values, none of them endless. (The newer policies parse values on access, and choke on hostile ones.)"""

    def header_source_parse(self, sourcelines: list[str]) -> tuple[str, str]:
        """Name and value of a header, the value cut to a length that no honest one has."""
        name, value = super().header_source_parse(sourcelines)
        return name, value[:_MAX_HEADER]


def _message(raw: bytes) -> email.message.Message:
    parser = email.parser.BytesParser(policy=_Bounded())
    try:
        return parser.parsebytes(_bounded(raw))
    except Exception:  # hostile MIME finds ways of its own; the headers are still worth reading
        head = raw.replace(b"\r\n", b"\n").partition(b"\n\n")[0][:200_000]
        try:
            return parser.parsebytes(head, headersonly=True)
        except Exception:
            return email.message.Message()


def _bounded(raw: bytes) -> bytes:
    """The mail up to where it has had more boundaries, or lines that could be one, than any mail has parts."""
    nested = next(itertools.islice(re.finditer(rb"boundary\s{0,4}=", raw, re.IGNORECASE), _MAX_NESTED, None), None)
    raw = raw[: nested.start()] if nested else raw
    at = -1
    for _ in range(_MAX_MARKS):
        at = raw.find(b"\n--", at + 1)
        if at < 0:
            return raw
    return raw[: at + 1]


def _pieces(part: email.message.Message, body: _Body, depth: int) -> Iterator[_Piece]:
    body.parts += 1
    if body.parts > _MAX_PARTS or depth > _MAX_DEPTH:
        return
    kind = _content_type(part)
    if part.is_multipart() and kind != "message/rfc822" and not kind.startswith("message/"):
        yield from _children(part, kind, body, depth)
    elif kind in ("text/plain", "text/html") and not _is_attachment(part):
        text = _text(part, body)
        if kind == "text/plain" and _parameter(part, "format").lower() == "flowed":
            text = _unflowed(text, _parameter(part, "delsp").lower() == "yes")
        yield _Piece(plain=text) if kind == "text/plain" else _Piece(html=text)
    else:
        body.attachments.append(_filename(part) or kind)


def _children(part: email.message.Message, kind: str, body: _Body, depth: int) -> Iterator[_Piece]:
    payload = part.get_payload()
    parts = [p for p in payload if isinstance(p, email.message.Message)] if isinstance(payload, list) else []
    if kind == "multipart/signed":
        body.attachments.extend(_filename(p) or _content_type(p) for p in parts[1:])
        parts = parts[:1]
    found = [piece for child in parts for piece in _pieces(child, body, depth + 1)]
    if kind != "multipart/alternative":
        yield from found
        return
    plain = next((p.plain for p in found if p.plain is not None), None)
    html = next((p.html for p in found if p.html is not None), None)
    if plain is not None or html is not None:
        yield _Piece(plain, html)


def _joined(pieces: Sequence[_Piece]) -> tuple[str | None, str | None]:
    """The plain and the HTML form of the whole body. A piece with one form stands in the other one as well."""
    plain = any(p.plain is not None for p in pieces)
    html = any(p.html is not None for p in pieces)
    if not html:
        return ("\n".join(p.plain or "" for p in pieces) if plain else None), None
    rich = "\n".join(p.html if p.html is not None else _as_html(p.plain or "") for p in pieces)
    if not plain:
        return None, rich
    if all(p.plain is not None for p in pieces):
        return "\n".join(p.plain or "" for p in pieces), rich
    return "\n".join(p.plain if p.plain is not None else _html_text(p.html or "") for p in pieces), rich


def _as_html(text: str) -> str:
    return f'<div style="white-space: pre-wrap">{html_escapes.escape(text)}</div>'


def _content_type(part: email.message.Message) -> str:
    try:
        return str(part.get_content_type())
    except Exception:  # a malformed Content-Type is text to nobody
        return "application/octet-stream"


def _is_attachment(part: email.message.Message) -> bool:
    disposition = _header(str(part.get("content-disposition", ""))).strip().lower()
    return disposition.startswith("attachment") or (not disposition.startswith("inline") and bool(_filename(part)))


def _filename(part: email.message.Message) -> str:
    try:
        return " ".join(_header(str(part.get_filename() or "")).split())[:200]
    except Exception:  # RFC 2231 parameters of hostile mail
        return ""


def _parameter(part: email.message.Message, name: str) -> str:
    try:
        value = part.get_param(name, "")
    except Exception:
        return ""
    return value if isinstance(value, str) else str(value[-1]) if value else ""


# --- characters ---------------------------------------------------------------------------------------------------


def _text(part: email.message.Message, body: _Body) -> str:
    try:
        payload = part.get_payload(decode=True)
    except Exception:  # broken transfer encodings
        payload = b""
    raw = payload if isinstance(payload, bytes) else b""
    text, doubtful = decode(raw[:_MAX_TEXT], _parameter(part, "charset") or _meta_charset(part, raw))
    body.doubtful = body.doubtful or doubtful
    return clean(text).replace("\r\n", "\n").replace("\r", "\n")


def _meta_charset(part: email.message.Message, raw: bytes) -> str:
    if _content_type(part) != "text/html":
        return ""
    found = re.search(rb"charset\s*=\s*[\"']?([\w.:-]{2,30})", raw[:2048], re.IGNORECASE)
    return found.group(1).decode("ascii", "replace") if found else ""


def decode(raw: bytes, charset: str) -> tuple[str, bool]:
    """Text of `raw`, and whether it is doubtful: declared charset, then UTF-8, then Windows-1252, each strictly."""
    declared = charset.strip().strip("\"'").lower()
    if declared in (
        "us-ascii",
        "ascii",
        "iso-8859-1",
        "latin-1",
        "latin1",
        "unknown-8bit",
        "unknown",
        "default",
        "8bit",
        "binary",
    ):
        declared = "" if declared.startswith("un") or declared in ("default", "8bit", "binary") else declared
    if declared == "ansi_x3.110-1983":
        declared = "iso-8859-1"
    for name, sure in (*_spellings(declared), ("utf-8", not declared), ("cp1252", False)):
        try:
            text = raw.decode(name)
        except (LookupError, ValueError):
            continue
        if name in ("iso-8859-1", "latin-1", "latin1") and any("\x80" <= c <= "\x9f" for c in text):
            continue
        return text, not sure
    return raw.decode("utf-8", "replace"), True


def _spellings(declared: str) -> list[tuple[str, bool]]:
    """The declared name as codecs know it: `iso-8859-8-i` is `iso-8859-8`, `uft-8` is a slip for `utf-8`."""
    if not declared:
        return []
    known = {"uft-8": "utf-8", "utf8mb4": "utf-8", "iso-8859-8-i": "iso-8859-8", "iso-8859-8-e": "iso-8859-8",
             "x-sjis": "shift_jis", "windows-874": "cp874", "x-mac-roman": "mac_roman", "us-ascii": "ascii"}  # fmt: skip
    return [(known.get(declared, declared), True)]


def clean(text: str) -> str:
    """Text without what no database and no reader can take: NUL, lone surrogates, invisible tag characters."""
    if not text.isascii():
        text = _UNWRITABLE.sub("\ufffd", text)
        text = _TAGS.sub("", text)
    return text.replace("\x00", "")


_UNWRITABLE: Final = re.compile("[\ud800-\udfff]")
_TAGS: Final = re.compile("[\U000e0000-\U000e007f]")


def _unflowed(text: str, delete_space: bool) -> str:
    """The text before it was wrapped by format=flowed (RFC 3676)."""
    out: list[str] = []
    open_depth: int | None = None
    for line in text.split("\n"):
        marks = re.match(r">*", line)
        depth = marks.end() if marks else 0
        said = line[depth:].removeprefix(" ")
        if open_depth == depth and said != "-- " and out:
            out[-1] += said
        else:
            out.append((">" * depth + " " if depth else "") + said)
        flowing = said.endswith(" ") and said != "-- "
        if flowing and delete_space:
            out[-1] = out[-1][:-1]
        open_depth = depth if flowing else None
    return "\n".join(out)


# --- headers ------------------------------------------------------------------------------------------------------


def _raw_headers(message: email.message.Message) -> list[tuple[str, str]]:
    return [(str(name), str(value)) for name, value in itertools.islice(message.raw_items(), _MAX_HEADERS)]


def _raw_value(message: email.message.Message, name: str) -> str:
    return next((value for key, value in _raw_headers(message) if key.lower() == name), "")


def _header(value: str) -> str:
    """A header value as a person reads it: 8-bit bytes and RFC 2047 words decoded, folding undone."""
    value = re.sub(r"\r?\n[ \t]*", " ", value)
    if not value.isascii():
        value = decode(value.encode("utf-8", "surrogateescape"), "")[0]
    return clean(_ENCODED.sub(_decoded_run, value)) if "=?" in value else clean(value)


_WORD: Final = r"=\?([\w.:-]{1,40})(?:\*[\w-]{0,20})?\?([bBqQ])\?([^?\s]{0,2000}|[^?]{0,400})\?="
_ENCODED: Final = re.compile(
    rf"{_WORD}(?:\s{{1,20}}=\?[\w.:-]{{1,40}}(?:\*[\w-]{{0,20}})?\?[bBqQ]\?[^?]{{0,2000}}\?=){{0,200}}"
)


def _decoded_run(run: re.Match[str]) -> str:
    """A run of encoded words; neighbours in one charset are joined as bytes, since a character may span two."""
    out: list[str] = []
    held, charset = b"", ""
    for name, code, data in re.findall(_WORD, run.group()):
        if name.lower() != charset and held:
            out.append(decode(held, charset)[0])
            held = b""
        charset = name.lower()
        held += _word_bytes(code.lower(), data)
    return "".join(out) + decode(held, charset)[0]


def _word_bytes(code: str, data: str) -> bytes:
    import base64
    import binascii

    if code == "q":
        return binascii.a2b_qp(data.replace("_", " ").encode("utf-8", "surrogateescape"), header=False)
    try:
        return base64.b64decode(data.encode("ascii", "replace") + b"=" * (-len(data) % 4))
    except (binascii.Error, ValueError):
        return data.encode("utf-8", "surrogateescape")


def _message_id(message: email.message.Message, raw: bytes) -> str:
    found = next(iter(_message_ids(_raw_value(message, "message-id"))), None)
    return found or f"<{hashlib.sha256(raw).hexdigest()[:40]}@missing.invalid>"


def _message_ids(value: str) -> list[str]:
    """All message ids of a header value: what stands in angle brackets, else bare words with an @."""
    value = clean(value)
    found = re.findall(r"<([^<>\s]{1,900})>", value) or re.findall(r"[^\s<>,;()\"]{1,400}@[^\s<>,;()\"]{1,400}", value)
    return [f"<{word}>" for word in found]


def _first_mailbox(value: str) -> tuple[str, str]:
    return next(iter(_mailboxes(value)), (_header(value).strip()[:200], ""))


_MAILBOX: Final = re.compile(
    r"((?:\"(?:[^\"\\]|\\.){0,400}\"|[^\",<>;]){0,200})<\s{0,5}([^<>\s@]{1,200}@[^<>\s@]{1,255})\s{0,5}>|([^\s\",<>;()]{1,200}@[^\s\",<>;()]{1,255})"
)


def _mailboxes(value: str) -> list[tuple[str, str]]:
    """Names and addresses of an address header. The address is read before any encoded word is decoded."""
    found = []
    for name, angled, bare in _MAILBOX.findall(_uncommented(re.sub(r"\s+", " ", value))):
        shown = _header(name.strip()).strip()
        shown = re.sub(r"\\(.)", r"\1", shown[1:-1]) if len(shown) > 1 and shown[0] == shown[-1] == '"' else shown
        found.append((" ".join(shown.split())[:200], clean(_header(angled or bare))))
    return found


def _uncommented(value: str) -> str:
    """An address header without its comments in parentheses, in which any address may stand; quoted strings stay."""
    out: list[str] = []
    depth = 0
    for piece in re.findall(r"\"(?:[^\"\\]|\\.)*\"|\\.|[()]|[^()\"\\]+|.", value[:4_000]):
        if piece == "(":
            depth += 1
        elif piece == ")":
            depth = max(0, depth - 1)
        elif not depth:
            out.append(piece)
    return "".join(out)


def _date(value: str) -> datetime | None:
    try:
        found = parsedate_to_datetime(value[:200])
    except (ValueError, TypeError, OverflowError, IndexError):
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


# --- out ----------------------------------------------------------------------------------------------------------


def build_mail(mail: OutboundMail) -> bytes:
    """The bytes of a mail, CRLF line ends, the same for the same input; ValueError for an address that is none."""
    lines = [
        ("Date", format_datetime(mail.date)),
        ("From", _address(mail.from_name, mail.from_address)),
        ("To", ", ".join(_address("", to) for to in mail.to)),
        ("Subject", _encoded(mail.subject)),
        ("Message-ID", _safe(mail.message_id)),
        *((("In-Reply-To", _safe(mail.in_reply_to)),) if mail.in_reply_to else ()),
        *((("References", " ".join(_safe(r) for r in mail.references)),) if mail.references else ()),
        ("Auto-Submitted", _safe(mail.auto_submitted)),
        ("X-Auto-Response-Suppress", "All"),
        *((re.sub(r"[^\x21-\x39\x3b-\x7e]", "", name), _encoded(value)) for name, value in mail.headers),
        ("MIME-Version", "1.0"),
    ]
    body = _body(mail)
    head = "".join(_folded(f"{name}: {value}") + "\r\n" for name, value in lines)
    # The last line ends like every other: SMTP's closing dot stands on a line of its own.
    return head.encode("ascii") + (body if body.endswith(b"\r\n") else body + b"\r\n")


def _body(mail: OutboundMail) -> bytes:
    text = _part('text/plain; charset="utf-8"', mail.text)
    if mail.calendar is None:
        return text
    method = re.search(r"^METHOD:(\w{1,20})", mail.calendar, re.MULTILINE | re.IGNORECASE)
    name = method.group(1).upper() if method else "PUBLISH"
    invite = _part(f'text/calendar; charset="utf-8"; method={name}', mail.calendar)
    boundary = "=_" + hashlib.sha256(mail.message_id.encode() + text + invite).hexdigest()[:40]
    mark = f"--{boundary}"
    return b"".join(
        (
            f'Content-Type: multipart/mixed; boundary="{boundary}"\r\n\r\n'.encode(),
            f"{mark}\r\n".encode() + text,
            f"\r\n{mark}\r\n".encode() + invite,
            f"\r\n{mark}--\r\n".encode(),
        )
    )


def _part(kind: str, text: str) -> bytes:
    import quopri

    body = clean(text).replace("\r\n", "\n").replace("\r", "\n")
    quoted = quopri.encodestring(body.encode("utf-8"), quotetabs=False).replace(b"\n", b"\r\n")
    return f"Content-Type: {kind}\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n".encode() + quoted


def _safe(value: str) -> str:
    """A header value in one printable ASCII line."""
    return " ".join(re.sub(r"[^\x20-\x7e]+", " ", value).split())


def _encoded(value: str) -> str:
    """A header value in ASCII: encoded words of at most 75 characters where it holds other letters."""
    import base64

    plain = " ".join(re.sub(r"[\x00-\x1f\x7f\u0085\u2028\u2029]+", " ", clean(value)).split())
    if plain.isascii() and "=?" not in plain:
        return plain
    words: list[str] = []
    held = ""
    for char in plain:
        if len((held + char).encode("utf-8")) > 42:
            words.append(held)
            held = ""
        held += char
    words.append(held)
    return " ".join(f"=?utf-8?b?{base64.b64encode(word.encode('utf-8')).decode()}?=" for word in words)


def _address(name: str, address: str) -> str:
    if not re.fullmatch(r"[^\s\"<>(),:;@\x00-\x1f\x7f]{1,64}@[A-Za-z0-9.-]{1,255}", address) or not address.isascii():
        raise ValueError("an address of an outbound mail is not of the form local@domain")
    shown = _encoded(name)
    if shown.startswith("=?") or not shown:
        return f"{shown} <{address}>" if shown else address
    return formataddr((shown, address))


def _folded(line: str) -> str:
    """A header line folded at spaces so that no line is longer than 78 characters where it can be helped."""
    out: list[str] = []
    while len(line) > 78:
        at = line.rfind(" ", 1, 78)
        at = at if at > line.find(":") + 1 else line.find(" ", 78)
        if at <= 0:
            break
        out.append(line[:at])
        line = line[at:]
    return "\r\n".join([*out, line])
