"""The source keeps its promises, and the checks would see if it did not (EV-3, OG-1, VO-2, CK-1)."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.parity import source
from tests.parity.source import CHECKS, Check, read

ROOT = Path(__file__).resolve().parent.parent.parent


@cache
def project() -> dict[str, ast.Module]:
    return read(ROOT)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_the_source_holds(check: Check) -> None:
    """No file of the product breaks this rule."""
    assert check(project()) == []


def test_everything_is_looked_at() -> None:
    """The checks see all five folders, and the files that their tables name exist."""
    assert {path.split("/")[0] for path in project()} == set(source.FOLDERS)
    named = {path for path, _ in source.SENDS} | set().union(*source.REACHES.values()) | set().union(*source.WAYS_OUT.values())
    assert named - set(project()) == set()


def test_no_allowance_is_idle() -> None:
    """Each entry of the tables is used by the file that it names: what is not needed any more is not allowed any more."""
    used = {(path, ast.unparse(node)) for path, node in source.nodes(project(), ast.Attribute)}
    assert [entry for entry in source.SENDS if entry not in used] == []
    imports = {(path, name) for path, _, name in source.imports(project())}
    for library, files in source.REACHES.items():
        for file in files:
            assert any(path == file and (name == library or name.startswith(library + ".")) for path, name in imports), (library, file)
    for attribute, files in source.WAYS_OUT.items():
        for file in files:
            assert any(path == file and name.rpartition(".")[2] == attribute for path, name in used), (attribute, file)


PLANTS: dict[str, tuple[Any, ...]] = {
    "a webhook sends at once": (source.only_the_relay_sends, "gateway/webhooks.py", "async def f(c, a):\n    await c.send(a)"),
    "the turn hands the send on": (source.only_the_relay_sends, "pipeline/turn.py", "def f(carriers):\n    return [c.send for c in carriers]"),
    "the send by its name": (source.only_the_relay_sends, "pipeline/loops.py", "def f(c):\n    return getattr(c, 'send')"),
    "a second send in the relay": (source.only_the_relay_sends, "pipeline/relay.py", "async def f(other, a):\n    await other.send(a)"),
    "the turn imports a carrier": (source.only_the_build_knows_carriers, "gateway/app.py", "from text_channels.sms import TwilioSms"),
    "a carrier's module": (source.only_the_build_knows_carriers, "gateway/webhooks.py", "import text_channels.smtp_out"),
    "a carrier by a string": (source.only_the_build_knows_carriers, "gateway/app.py", "import importlib\nm = importlib.import_module('text_channels.sms')"),
    "a speaker's module": (source.only_the_build_knows_carriers, "gateway/media.py", "from voice import tts_elevenlabs"),
    "a new carrier on a wrong floor": (
        source.only_the_build_knows_carriers, "gateway/app.py", "class Pigeon:\n    def send(self): ...\n    def find(self): ...",
    ),
    "a new carrier, imported": (
        source.only_the_build_knows_carriers, "text_channels/pigeon.py", "class Pigeon:\n    def send(self): ...\n    def find(self): ...",
        ("gateway/app.py", "import text_channels.pigeon"),
    ),
    "the twilio client": (source.only_adapters_reach_out, "gateway/webhooks.py", "from twilio.rest import Client"),
    "the whole of twilio": (source.only_adapters_reach_out, "pipeline/turn.py", "import twilio"),
    "a mail library": (source.only_adapters_reach_out, "pipeline/reconciler.py", "def f():\n    import smtplib"),
    "plain HTTP": (source.only_adapters_reach_out, "text_channels/adapters.py", "from urllib.request import urlopen"),
    "a plain socket": (source.only_adapters_reach_out, "voice/bridge.py", "import socket"),
    "another process": (source.only_adapters_reach_out, "gateway/doctor.py", "import os\nos.system('curl x')"),
    "the model's client in the pipeline": (source.only_adapters_reach_out, "pipeline/turn.py", "import anthropic"),
    "a text by another hand": (source.providers_ways_out_stand_in_their_adapter, "gateway/app.py", "def f(client):\n    client.messages.create(to='x')"),
    "a mail by another hand": (source.providers_ways_out_stand_in_their_adapter, "gateway/app.py", "def f(server):\n    server.sendmail('a', 'b', 'c')"),
    "speech by another hand": (source.providers_ways_out_stand_in_their_adapter, "voice/bridge.py", "def f(client):\n    client.text_to_speech.stream('v', text='x')"),
    "TwiML that speaks": (source.providers_ways_out_stand_in_their_adapter, "gateway/media.py", "def f(response):\n    response.say('Hello')"),
    "the bridge between the worlds": (source.providers_ways_out_stand_in_their_adapter, "storage/rows.py", "from sqlalchemy.util.concurrency import await_only"),
    "TwiML that writes": (source.no_document_talks, "gateway/webhooks.py", "BODY = '<Response><Message>Hi</Message></Response>'"),
    "a messaging response": (source.no_document_talks, "gateway/webhooks.py", "from twilio.twiml.messaging_response import MessagingResponse"),
    "the desk speaks": (source.only_the_bridge_speaks, "pipeline/calls.py", "async def f(speaking, text):\n    async for x in speaking.speak(text): ..."),
    "the bridge speaks elsewhere": (source.only_the_bridge_speaks, "voice/bridge.py", "def f(other, text):\n    return other.speak(text)"),
    "a speaker of strings": (source.only_the_bridge_speaks, "voice/tts_elevenlabs.py", "class Loud:\n    def speak(self, text: str): ..."),
    "a speaker of anything": (source.only_the_bridge_speaks, "voice/tts_elevenlabs.py", "class Loud:\n    def speak(self, passed): ..."),
    "a home-made Passed": (source.only_the_gate_passes, "pipeline/compose.py", "def f():\n    return Passed(object(), text='x')"),
    "one made in the gate's cellar": (source.only_the_gate_passes, "pipeline/core/gate/findings.py", "def f():\n    return Passed(1)"),
    "the seal": (source.only_the_gate_passes, "pipeline/speech.py", "from pipeline.core.gate.passed import _SEAL"),
    "past the constructor": (source.only_the_gate_passes, "pipeline/speech.py", "def f():\n    return object.__new__(Passed)"),
    "a home-made payload": (source.only_what_passed_is_stored, "pipeline/turn.py", "def f(text):\n    return Payload(text.encode(), '', text)"),
    "a payload beside `payload`": (source.only_what_passed_is_stored, "pipeline/compose.py", "def f(text):\n    return Payload(text.encode(), '', text)"),
    "a wrapper of strings": (source.only_what_passed_is_stored, "text_channels/adapters.py", "class Fax:\n    def wrap(self, row, text: str): ..."),
    "a transaction awaits": (source.transactions_do_not_wait, "storage/rows.py", "async def f(tx: Tx):\n    await g(tx)"),
    "a transaction elsewhere awaits": (source.transactions_do_not_wait, "pipeline/calls.py", "async def f(tx: Tx, reader):\n    return await reader.read(tx)"),
    "a transaction sleeps": (source.transactions_do_not_wait, "pipeline/turn.py", "import time\ndef f(tx: Tx):\n    time.sleep(1)"),
    "a transaction has its own clock": (source.transactions_do_not_wait, "storage/relay.py", "from datetime import datetime\ndef f(tx):\n    return datetime.now()"),
    "a lazy transaction": (source.transactions_do_not_wait, "gateway/media.py", "def f(tx: Tx):\n    yield 1"),
    "storage with a loop": (source.storage_reaches_nothing, "storage/commit.py", "import asyncio"),
    "storage with a provider": (source.storage_reaches_nothing, "storage/delivery.py", "def f():\n    from twilio.rest import Client"),
    "a transaction with a provider": (source.storage_reaches_nothing, "pipeline/calls.py", "def f(tx: Tx):\n    import anthropic"),
}


@pytest.mark.parametrize("name", PLANTS)
def test_a_planted_violation_is_found(name: str, tmp_path: Path) -> None:
    """The rule's check, and it alone has to, names the file in which the rule was broken."""
    check, path, text, *more = PLANTS[name]
    planted = dict(project())
    for where, what in ((path, text), *more):
        original = (ROOT / where).read_text("utf-8") if (ROOT / where).exists() else ""
        file = tmp_path / where
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{original}\n{what}\n", "utf-8")
        planted[where] = ast.parse(file.read_text("utf-8"))
    found = check(planted)
    assert found and all(one.startswith((more[0][0] if more else path) + ":") for one in found)
