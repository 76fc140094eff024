"""Twilio Media Streams, both ways: JSON text frames to typed events and back. Pure; µ-law stays base64 on its way out.

Numbers arrive as strings or numbers; unknown events are `Unknown` and harmless; a frame that cannot be read is `Unknown` too, never an exception.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping
from dataclasses import dataclass

FRAME_BYTES = 160  # 20 ms
BYTES_PER_MS = 8


@dataclass(frozen=True, slots=True)
class Start:
    """`format_ok` is false for anything but µ-law, 8000 Hz, mono."""

    stream: str
    call: str
    account: str
    parameters: Mapping[str, str]
    format_ok: bool


@dataclass(frozen=True, slots=True)
class Media:
    """`at` is milliseconds since the stream's start: the clock of a call."""

    at: int
    audio: bytes


@dataclass(frozen=True, slots=True)
class Mark:
    name: str


@dataclass(frozen=True, slots=True)
class Dtmf:
    digit: str


@dataclass(frozen=True, slots=True)
class Stop:
    pass


@dataclass(frozen=True, slots=True)
class Unknown:
    event: str


Event = Start | Media | Mark | Dtmf | Stop | Unknown


def decode(text: str) -> Event:
    """One inbound frame."""
    try:
        frame = json.loads(text)
        match frame["event"]:
            case "media":
                body = frame["media"]
                return Media(int(body["timestamp"]), base64.b64decode(body["payload"], validate=True))
            case "mark":
                return Mark(str(frame["mark"]["name"]))
            case "start":
                return _start(frame["start"])
            case "dtmf":
                return Dtmf(str(frame["dtmf"]["digit"]))
            case "stop":
                return Stop()
            case other:
                return Unknown(str(other))
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError, binascii.Error):
        return Unknown("unreadable")


def media(stream: str, audio: bytes) -> str:
    """Audio to play; 8 bytes per millisecond."""
    payload = base64.b64encode(audio).decode("ascii")
    return f'{{"event":"media","streamSid":{json.dumps(stream)},"media":{{"payload":"{payload}"}}}}'


def mark(stream: str, name: str) -> str:
    """Comes back when everything before it was played, or at once after `clear`."""
    return json.dumps({"event": "mark", "streamSid": stream, "mark": {"name": name}})


def clear(stream: str) -> str:
    """Drops all buffered audio and returns every pending mark."""
    return json.dumps({"event": "clear", "streamSid": stream})


def _start(body: Mapping[str, object]) -> Start:
    form = body["mediaFormat"]
    parameters = body.get("customParameters") or {}
    if not isinstance(form, Mapping) or not isinstance(parameters, Mapping):
        raise ValueError("start")
    ok = (str(form["encoding"]), int(str(form["sampleRate"])), int(str(form["channels"]))) == ("audio/x-mulaw", 8000, 1)
    return Start(
        stream=str(body["streamSid"]),
        call=str(body["callSid"]),
        account=str(body["accountSid"]),
        parameters={str(name): str(value) for name, value in parameters.items()},
        format_ok=ok,
    )
