"""The sandbox as a process: one line when it is ready, a remote control, and a life of its own (OP-1, EV-2)."""

from __future__ import annotations

import asyncio
import base64
import json
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from starlette.types import Receive, Scope, Send

from scripts.sandbox.control import Control, ControlError
from scripts.sandbox.wire import HttpServer, NotLoopback, Reset, request
from tests.rail.test_carriers_smtp import MAIL, attempt
from tests.sandbox.rig import Door, rig
from text_channels.smtp_out import SmtpMail

pytestmark = pytest.mark.asyncio


@asynccontextmanager
async def process(*options: str) -> AsyncIterator[tuple[asyncio.subprocess.Process, dict[str, Any]]]:
    """`python -m scripts.sandbox` and its ready line."""
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "scripts.sandbox", *options, stdout=asyncio.subprocess.PIPE
    )
    assert child.stdout is not None
    try:
        yield child, json.loads(await asyncio.wait_for(child.stdout.readline(), 20))
    finally:
        if child.returncode is None:
            child.kill()
        await child.wait()


async def test_the_process_serves_outlives_its_gateway_and_ends_on_a_signal() -> None:
    """A gateway that dies and comes back at another address finds the same sandbox (OP-4)."""
    first, second = Door(), Door()
    gateway = HttpServer(first)
    url = await gateway.start()
    async with process("--gateway", url, "--offset", "3600", "--public", "https://c.example") as (child, ready):
        control = Control(ready["url"])
        assert (ready["public"], ready["offset_seconds"]) == ("https://c.example", 3600.0)
        answer = await control.post("/texts", sender="+15125550142", body="hola")
        assert (answer["status"], first.knocks[0].headers["host"]) == (200, "c.example")
        await gateway.stop()
        with pytest.raises(ControlError, match="Unreachable"):
            await control.post("/texts", sender="+15125550142", body="are you there?")
        again = HttpServer(second)
        await control.post("/gateway", url=await again.start())
        assert (await control.post("/texts", sender="+15125550142", body="hello again"))["status"] == 200
        bodies = [message["body"] for message in await control.get("/messages", direction="inbound")]
        assert bodies == ["hola", "are you there?", "hello again"]
        await again.stop()
        child.send_signal(signal.SIGTERM)
        assert await asyncio.wait_for(child.wait(), 10) == 0


async def test_faults_are_armed_listed_and_cleared_from_afar() -> None:
    """A test in another process has the same fault control; a misspelt name is an error."""
    async with rig() as at:
        control = Control(at.sandbox.url)
        listed = await control.post("/faults", name="smtp.451", times=2, params={"phase": "rcpt"})
        assert listed["armed"] == [
            {"name": "smtp.451", "times": 2, "after": 0, "probability": None, "params": {"phase": "rcpt"}}
        ]
        assert "smtp.drop_stored" in listed["known"]
        assert (await control.clear())["armed"] == []
        with pytest.raises(ControlError, match="nobody"):
            await control.post("/faults", name="smtp.nobody")


async def test_what_was_sent_is_read_back_byte_for_byte() -> None:
    """Mailbox and log give bytes, in base64 (EV-2)."""
    async with rig() as at:
        keys = at.world.keys
        out = SmtpMail(
            "127.0.0.1",
            at.sandbox.smtp_port,
            username=keys.smtp_username,
            password=keys.smtp_password,
            security="none",
        )
        await out.send(attempt())
        control = Control(at.sandbox.url)
        (mail,) = await control.get("/mailbox")
        assert base64.b64decode(mail["content"]) == MAIL
        (seen,) = await control.get("/log", provider="smtp")
        assert base64.b64decode(seen["body"]) == MAIL
        assert seen["meta"]["recipients"] == ["ana@person.example"]
        assert await control.get("/log", after=seen["seq"]) == []


async def test_mails_and_forms_are_sent_from_afar() -> None:
    """Composed, raw, or as a website form."""
    async with rig() as at:
        control = Control(at.sandbox.url)
        await control.post("/mails", sender="a@b.example", to="c@d.example", subject="s", text="t", dmarc="fail")
        await control.post("/mails", raw=base64.b64encode(b"x").decode(), dmarc=None)
        await control.post(
            "/forms", to="c@d.example", name="Ana", email="a@b.example", property_name="The Oaks", message="m"
        )
        bodies = [knock.body for knock in at.door.knocks]
        assert b"dmarc=fail" in bodies[0]
        assert bodies[1] == b"x"
        assert b"Reply-To: Ana <a@b.example>" in bodies[2]


async def test_the_clock_is_read_and_shifted() -> None:
    """The sandbox's clock runs at real pace, shifted by an offset (CK-1)."""
    async with rig() as at:
        control = Control(at.sandbox.url)
        before = at.world.clock.now()
        assert (await control.post("/clock", offset_seconds=86400))["offset_seconds"] == 86400
        assert 86390 < (at.world.clock.now() - before).total_seconds() < 86410
        assert (await control.get("/"))["offset_seconds"] == 86400
        assert (await control.post("/settle"))["messages"] == 0


async def test_a_call_is_handed_to_the_phone() -> None:
    """`/calls` is the phone stand-in's; without one it says so."""
    async with rig() as at:
        control = Control(at.sandbox.url)

        async def place(order: Any) -> Any:
            return {"sid": "CA1", **order}

        at.world.place_call = place
        assert await control.post("/calls", sender="+15125550142") == {"sid": "CA1", "sender": "+15125550142"}
        at.world.place_call = None
        with pytest.raises(ControlError, match="phone"):
            await control.post("/calls", sender="+15125550142")


async def test_a_stand_in_can_break_a_connection_off() -> None:
    """A reset is a reset: the caller loses the connection after the request left, and gets no answer."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await Reset()(scope, receive, send)

    server = HttpServer(app)
    url = await server.start()
    with pytest.raises(ConnectionError):
        await request("POST", url + "/x", (), b"body")
    await server.stop()


async def test_the_sandboxs_own_client_stays_on_this_machine() -> None:
    """No stand-in reaches anybody else, not even by mistake."""
    for url in ("http://192.0.2.1/x", "https://127.0.0.1/x", "http://clara.example/x"):
        with pytest.raises(NotLoopback):
            await request("GET", url)
