"""A submission server on loopback with a mailbox: strict about the protocol, misbehaving on demand.

It speaks RFC 5321 with 8BITMIME, SMTPUTF8, SIZE, AUTH (PLAIN, LOGIN) and, given a certificate, STARTTLS. What a lax server would mend it refuses:
bare line feeds, lines over 1000 bytes, eight-bit content that was not announced, mail without a sign-in.

Invariants: a mail is in `World.mailbox` if and only if the server took it over, whatever the client was told; its content is what came
between DATA and the lone dot, dot-stuffing undone, byte for byte.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import contextlib
import re
import socket
import ssl
import time
from dataclasses import dataclass, field

from scripts.sandbox.faults import register
from scripts.sandbox.wire import abort
from scripts.sandbox.world import Mail, World

PHASES = "`phase` is one of greeting, mail, rcpt, data, end (the lone dot); without it, the first one reached"
REFUSE = register("smtp.refuse", "the port is closed (connections are refused) until this is cleared")
REPLY_451 = register("smtp.451", f"a temporary refusal, nothing is stored; {PHASES}")
REPLY_550 = register("smtp.550", f"a final refusal, nothing is stored; {PHASES}")
DROP = register("smtp.drop", f"the connection is reset instead of an answer, nothing is stored; {PHASES}")
DROP_STORED = register("smtp.drop_stored", "the mail is taken over, then the connection is reset before the 250")
STALL = register("smtp.stall", f"no answer for `seconds` (30), nothing is stored; {PHASES}")
STALL_STORED = register("smtp.stall_stored", "the mail is taken over, but the 250 comes only after `seconds` (30)")

SIZE_LIMIT = 30 * 1024 * 1024
_PATH = re.compile(r"(?:FROM|TO):\s?<([^<>\s]*)>((?: \S+)*)", re.IGNORECASE)


class _Gone(Exception):
    """The conversation is over."""


@dataclass(slots=True)
class _Envelope:
    sender: str
    eight_bit: bool
    recipients: list[str] = field(default_factory=list)


class MailServer:
    """The server of one world. `tls` enables STARTTLS; with `sign_in` (the default) mail is taken from the world's account only."""

    def __init__(self, world: World, *, tls: ssl.SSLContext | None = None, sign_in: bool = True) -> None:
        self.world = world
        self.tls = tls
        self.sign_in = sign_in
        self.port = 0
        self._server: asyncio.Server | None = None
        self._sessions: dict[asyncio.Task[None], asyncio.StreamWriter] = {}

    async def start(self, port: int = 0) -> None:
        """Listens on 127.0.0.1 (port 0: a free one)."""
        await self._listen(socket.create_server(("127.0.0.1", port)))
        self.world.faults.watch(REFUSE, self._refuse)

    async def stop(self) -> None:
        """Stops listening and breaks off every conversation; pauses end with the world (`World.close`)."""
        if self._server is not None:
            self._server.close()
        for writer in self._sessions.values():
            abort(writer.transport)
        await asyncio.gather(*self._sessions, return_exceptions=True)

    async def _listen(self, listener: socket.socket) -> None:
        self.port = listener.getsockname()[1]
        self._server = await asyncio.start_server(self._converse, sock=listener, limit=SIZE_LIMIT)

    def _refuse(self, refuse: bool) -> None:
        if refuse and self._server is not None:
            self._server.close()
            self._server = None
        elif not refuse and self._server is None:
            self.world.spawn(self._listen(socket.create_server(("127.0.0.1", self.port))))

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._sessions[task] = writer
        try:
            with contextlib.suppress(_Gone, ConnectionError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
                await _Session(self, reader, writer).run()
        finally:
            del self._sessions[task]
            writer.close()


class _Session:
    """One conversation, a command at a time."""

    def __init__(self, server: MailServer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.server, self.world = server, server.world
        self.reader, self.writer = reader, writer
        self.greeted = self.secure = False
        self.signed_in = not server.sign_in
        self.envelope: _Envelope | None = None

    async def run(self) -> None:
        await self.say(await self.disturbed("greeting") or "220 sandbox ESMTP")
        while True:
            line = await self.reader.readuntil(b"\r\n")
            if len(line) > 2048 or b"\n" in line[:-2]:
                await self.say("500 5.5.2 line too long or bare line feed")
                continue
            verb, _, rest = line[:-2].decode("utf-8", "surrogateescape").partition(" ")
            command = getattr(self, f"do_{verb.lower()}", None)
            await self.say(await command(rest) if command else "502 5.5.1 command not known")

    async def say(self, reply: str) -> None:
        self.writer.write(reply.encode() + b"\r\n")
        await self.writer.drain()
        if reply.startswith(("221", "421")):
            raise _Gone

    async def disturbed(self, phase: str) -> str | None:
        """What the armed faults make of this phase: None (nothing), a reply, a silence or a reset."""
        take = self.world.faults.take
        if take(DROP, phase=phase):
            self.hang_up()
        if stall := take(STALL, phase=phase):
            await self.world.pause(float(stall.get("seconds", 30)))
            self.hang_up()
        if take(REPLY_451, phase=phase):
            return "451 4.3.0 try again later"
        if take(REPLY_550, phase=phase):
            return "554 5.3.2 no service" if phase == "greeting" else "550 5.7.1 refused"
        return None

    def hang_up(self) -> None:
        abort(self.writer.transport)
        raise _Gone

    # --- commands -------------------------------------------------------------------------------------------------------

    async def do_ehlo(self, name: str) -> str:
        if not name:
            return "501 5.5.4 EHLO needs a name"
        self.greeted, self.envelope = True, None
        offers = ["sandbox", "8BITMIME", "SMTPUTF8", f"SIZE {SIZE_LIMIT}"]
        if self.server.tls is not None and not self.secure:
            offers.append("STARTTLS")
        if self.server.sign_in:
            offers.append("AUTH PLAIN LOGIN")
        return "\r\n".join([*(f"250-{offer}" for offer in offers[:-1]), f"250 {offers[-1]}"])

    async def do_helo(self, name: str) -> str:
        self.greeted, self.envelope = bool(name), None
        return "250 sandbox" if name else "501 5.5.4 HELO needs a name"

    async def do_starttls(self, rest: str) -> str:
        if self.server.tls is None or self.secure or rest:
            return "502 5.5.1 no TLS here"
        await self.say("220 2.0.0 go ahead")
        bare = self.writer.transport
        try:
            await self.writer.start_tls(self.server.tls)
        except (
            OSError,
            AttributeError,
        ):  # lost; where it is lost at once, the stream trips over its own missing transport
            self.writer._transport = bare  # type: ignore[attr-defined]  # private: its clean-up needs one
            raise _Gone from None
        self.greeted, self.secure = False, True
        return await self._next()

    async def _next(self) -> str:
        line = await self.reader.readuntil(b"\r\n")
        verb, _, rest = line[:-2].decode("utf-8", "surrogateescape").partition(" ")
        return await self.do_ehlo(rest) if verb.upper() == "EHLO" else "503 5.5.1 EHLO first"

    async def do_auth(self, rest: str) -> str:
        method, _, initial = rest.partition(" ")
        if not self.greeted or self.signed_in:
            return "503 5.5.1 not now"
        try:
            if method.upper() == "PLAIN":
                _, user, password = (await self.ask("", initial)).split("\0")
            elif method.upper() == "LOGIN":
                user = await self.ask("Username:", initial)
                password = await self.ask("Password:")
            else:
                return "504 5.5.4 method not known"
        except (binascii.Error, ValueError):
            return "501 5.5.2 not readable"
        keys = self.world.keys
        self.signed_in = (user, password) == (keys.smtp_username, keys.smtp_password)
        return "235 2.7.0 signed in" if self.signed_in else "535 5.7.8 wrong name or password"

    async def ask(self, prompt: str, given: str = "") -> str:
        if not given:
            await self.say(f"334 {base64.b64encode(prompt.encode()).decode()}")
            given = (await self.reader.readuntil(b"\r\n"))[:-2].decode("ascii")
        return base64.b64decode(given, validate=True).decode()

    async def do_mail(self, rest: str) -> str:
        if not self.greeted or self.envelope:
            return "503 5.5.1 not now"
        if not self.signed_in:
            return "530 5.7.0 sign in first"
        match = _PATH.fullmatch(rest)
        if match is None or not rest.upper().startswith("FROM"):
            return "501 5.1.7 MAIL FROM:<address>"
        sender, options = match[1], match[2].upper().split()
        if any(
            option not in ("SMTPUTF8", "BODY=8BITMIME", "BODY=7BIT") and option[:5] != "SIZE=" for option in options
        ):
            return "555 5.5.4 parameter not known"
        if not sender.isascii() and "SMTPUTF8" not in options:
            return "553 5.6.7 SMTPUTF8 was not announced"
        if any(option[:5] == "SIZE=" and int(option[5:]) > SIZE_LIMIT for option in options):
            return "552 5.3.4 too big"
        if reply := await self.disturbed("mail"):
            return reply
        self.envelope = _Envelope(sender, "BODY=8BITMIME" in options)
        return "250 2.1.0 ok"

    async def do_rcpt(self, rest: str) -> str:
        match = _PATH.fullmatch(rest)
        if self.envelope is None:
            return "503 5.5.1 MAIL first"
        if match is None or not rest.upper().startswith("TO") or "@" not in match[1]:
            return "501 5.1.3 RCPT TO:<address>"
        if reply := await self.disturbed("rcpt"):
            return reply
        self.envelope.recipients.append(match[1])
        return "250 2.1.5 ok"

    async def do_data(self, rest: str) -> str:
        if self.envelope is None or not self.envelope.recipients or rest:
            return "503 5.5.1 RCPT first"
        if reply := await self.disturbed("data"):
            return reply
        await self.say("354 end with a lone dot")
        started = time.perf_counter()
        lines = []
        while (line := await self.reader.readuntil(b"\r\n")) != b".\r\n":
            lines.append(line[1:] if line.startswith(b".") else line)
        content, envelope = b"".join(lines), self.envelope
        self.envelope = None
        reply = self.complaint(lines, envelope) or await self.disturbed("end")
        if reply is None:
            at = self.world.clock.now()
            self.world.mailbox.append(Mail(envelope.sender, tuple(envelope.recipients), content, at))
            reply = f"250 2.0.0 taken over as {len(self.world.mailbox)}"
        self.world.see(
            "smtp",
            "mail.taken" if reply.startswith("250") else "mail.refused",
            started=started,
            body=content,
            answer=reply.encode(),
            sender=envelope.sender,
            recipients=list(envelope.recipients),
        )
        if reply.startswith("250"):
            await self.disturbed_after()
        return reply

    async def disturbed_after(self) -> None:
        if self.world.faults.take(DROP_STORED):
            self.hang_up()
        if stall := self.world.faults.take(STALL_STORED):
            await self.world.pause(float(stall.get("seconds", 30)))

    @staticmethod
    def complaint(lines: list[bytes], envelope: _Envelope) -> str | None:
        if any(len(line) > 1000 for line in lines):
            return "500 5.5.2 a line is longer than 1000 bytes"
        if any(b"\n" in line[:-2] or b"\r" in line[:-2] for line in lines):
            return "550 5.6.11 bare line feed or carriage return"
        if sum(map(len, lines)) > SIZE_LIMIT:
            return "552 5.3.4 too big"
        if not envelope.eight_bit and not all(line.isascii() for line in lines):
            return "554 5.6.3 eight-bit content was not announced"
        return None

    async def do_rset(self, rest: str) -> str:
        self.envelope = None
        return "250 2.0.0 ok"

    async def do_noop(self, rest: str) -> str:
        return "250 2.0.0 ok"

    async def do_vrfy(self, rest: str) -> str:
        return "252 2.5.0 cannot say"

    async def do_quit(self, rest: str) -> str:
        return "221 2.0.0 bye"
