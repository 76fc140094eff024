"""E-mail out through an SMTP server: the stored bytes, classified by the phase in which the conversation ended.

    connect, greeting, TLS, sign-in   lost -> NotSent    4xx -> retryable   5xx -> configuration (it is about us, not about the mail)
    MAIL, RCPT, DATA                  lost -> NotSent    4xx -> retryable   5xx -> fatal
    content and the lone dot          lost -> MaybeSent  4xx -> retryable   5xx -> fatal   250 -> Accepted, final

After the content has begun to leave, silence proves nothing: the server may have taken the mail over and lost the answer. SMTP cannot be
asked, so `find` cannot tell (SR-3); the 250 is all the evidence there will be (SR-5), and a bounce re-opens it.

Sender and recipient are bare addresses (`ana@person.example`), because what a lenient parser makes of anything else may be somebody else's.

The bytes leave exactly as stored, dot-stuffing aside (IN-7). What SMTP could only carry altered is refused before anything leaves: line ends
other than CRLF, lines over 998 bytes, eight-bit content or addresses on a server that does not take them.
One mail is one connection; nothing is retried here.
"""

from __future__ import annotations

import re
import ssl
from contextlib import suppress
from typing import Final, Literal

from aiosmtplib import SMTP, SMTPException, SMTPNotSupported, SMTPResponseException
from aiosmtplib.response import SMTPResponse

from pipeline.ports import Accepted, Attempt, CannotTell, FindOutcome, MaybeSent, NotSent, Refused, SendOutcome

Security = Literal["none", "starttls", "tls"]
"""How the connection is protected: not at all (loopback), upgraded, or from the first byte."""

_Phase = Literal["connect", "envelope", "content"]

_ADDRESS: Final = re.compile(r'[^\s<>()\[\],;:\\"@\x00-\x20\x7f]+@[^\s<>()\[\],;:\\"@\x00-\x20\x7f]+')
_BARE: Final = re.compile(rb"(?<!\r)\n|\r(?!\n)")
_LONGEST: Final = 998


class SmtpMail:
    """The way out for mails. Times in seconds; `content_timeout` is long on purpose: giving up after the dot makes the outcome unknown."""

    channel: Literal["sms", "email"] = "email"
    receipts = False
    query = False

    def __init__(
        self,
        host: str,
        port: int,
        *,
        username: str | None = None,
        password: str | None = None,
        security: Security = "starttls",
        tls_context: ssl.SSLContext | None = None,
        timeout: float = 15.0,
        content_timeout: float = 120.0,
    ) -> None:
        self._host, self._port = host, port
        self._username, self._password = username, password
        self._security = security
        self._tls_context = tls_context
        self._timeout, self._content_timeout = timeout, content_timeout

    async def send(self, attempt: Attempt) -> SendOutcome:
        """Sends the stored bytes once; never raises but on cancellation (which leaves the outcome unknown)."""
        if not (_ADDRESS.fullmatch(attempt.sender) and _ADDRESS.fullmatch(attempt.recipient)):
            return Refused("fatal", "address", "sender and recipient must be bare addresses")
        if complaint := _complaint(attempt.payload):
            return Refused("fatal", "payload", complaint)
        client = self._client(attempt)
        try:
            return await self._converse(client, attempt)
        finally:
            client.close()

    async def find(self, attempt: Attempt, ref: str | None = None) -> FindOutcome:
        """SMTP cannot be asked."""
        return CannotTell("an SMTP server cannot be asked what became of a mail")

    def _client(self, attempt: Attempt) -> SMTP:
        domain = attempt.sender.rpartition("@")[2]  # a server may look the name up; ours need not have one
        return SMTP(
            hostname=self._host,
            port=self._port,
            username=self._username,
            password=self._password,
            local_hostname=domain if domain.isascii() else "localhost",
            timeout=self._timeout,
            use_tls=self._security == "tls",
            start_tls=self._security == "starttls",
            tls_context=self._tls_context,
        )

    async def _converse(self, client: SMTP, attempt: Attempt) -> SendOutcome:
        phase: _Phase = "connect"
        try:
            await client.connect()
            if client.is_ehlo_or_helo_needed:
                await client.ehlo()
            phase = "envelope"
            await _envelope(client, attempt)
            answer = await client.execute_command(b"DATA")
            if answer.code == 354:
                phase = "content"
                answer = await self._content(client, attempt.payload)
        except SMTPResponseException as error:
            return _answered(phase, error.code, error.message, attempt)
        except OSError as error:  # lost or timed out
            detail = f"{phase}: {type(error).__name__}: {error}"
            return MaybeSent(detail) if phase == "content" else NotSent(detail)
        except SMTPException as error:  # the server lacks what we need
            return Refused("configuration" if phase == "connect" else "fatal", "unsupported", str(error))
        return _answered(phase, answer.code, answer.message, attempt)

    async def _content(self, client: SMTP, payload: bytes) -> SMTPResponse:
        """Everything between 354 and the final answer, in one write; from here on silence means "maybe"."""
        assert client.protocol is not None  # it has just answered 354
        client.protocol.write(_stuffed(payload) + b".\r\n")
        answer = await client.protocol.read_response(timeout=self._content_timeout)
        with suppress(SMTPException):
            client.protocol.write(b"QUIT\r\n")
        return answer


async def _envelope(client: SMTP, attempt: Attempt) -> None:
    """MAIL and RCPT with the extensions that the bytes need. Raises `SMTPNotSupported` where the server lacks one."""
    options = []
    utf8 = not (attempt.sender.isascii() and attempt.recipient.isascii())
    for needed, extension, option in (
        (utf8, "SMTPUTF8", "SMTPUTF8"),
        (not attempt.payload.isascii(), "8BITMIME", "BODY=8BITMIME"),
    ):
        if needed and not client.supports_extension(extension):
            raise SMTPNotSupported(f"the server does not offer {extension}")
        if needed:
            options.append(option)
    if client.supports_extension("SIZE"):
        options.append(f"SIZE={len(attempt.payload)}")
    encoding = "utf-8" if utf8 else "ascii"
    await client.mail(attempt.sender, options=options, encoding=encoding)
    await client.rcpt(attempt.recipient, encoding=encoding)


def _complaint(payload: bytes) -> str | None:
    if _BARE.search(payload) or not payload.endswith(b"\r\n"):
        return "the mail's lines do not all end in CRLF"
    if any(len(line) > _LONGEST for line in payload.split(b"\r\n")):
        return f"a line of the mail is longer than {_LONGEST} bytes"
    return None


def _stuffed(payload: bytes) -> bytes:
    """RFC 5321 4.5.2: a line that starts with a dot gets one more, which the server takes off again."""
    return re.sub(rb"(?m)^\.", b"..", payload)


def _answered(phase: _Phase, code: int, message: str, attempt: Attempt) -> SendOutcome:
    """The server's last word as an outcome."""
    detail = f"{phase}: {message}"
    if phase == "content" and 200 <= code < 300:
        return Accepted(attempt.reference, final=True)
    if 400 <= code < 500:
        return Refused("retryable", str(code), detail)
    if 500 <= code < 600:
        return Refused("configuration" if phase == "connect" else "fatal", str(code), detail)
    return MaybeSent(f"{detail} ({code})") if phase == "content" else NotSent(f"{detail} ({code})")
