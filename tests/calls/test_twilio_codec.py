"""Twilio's media frames, both ways: what we write is what Twilio takes, and nothing that arrives can raise (VO-1)."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scripts.sandbox.phone_media import _parsed
from voice import twilio_codec as codec

START: dict[str, Any] = {
    "event": "start",
    "sequenceNumber": "1",
    "streamSid": "MZ1",
    "start": {
        "streamSid": "MZ1",
        "accountSid": "AC1",
        "callSid": "CA1",
        "tracks": ["inbound"],
        "mediaFormat": {"encoding": "audio/x-mulaw", "sampleRate": 8000, "channels": 1},
        "customParameters": {"token": "t"},
    },
}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


def media_frame(payload: bytes, timestamp: object = "40") -> str:
    body = {"track": "inbound", "chunk": "2", "timestamp": timestamp, "payload": base64.b64encode(payload).decode()}
    return json.dumps({"event": "media", "sequenceNumber": "3", "media": body, "streamSid": "MZ1"})


@given(st.binary(max_size=2_000), st.integers(0, 10**8), st.booleans())
def test_callers_audio_arrives_byte_for_byte(audio: bytes, at: int, as_text: bool) -> None:
    """A media frame gives its bytes and its time, whether numbers come as strings or as numbers."""
    assert codec.decode(media_frame(audio, str(at) if as_text else at)) == codec.Media(at, audio)


@given(st.binary(max_size=2_000), st.text(max_size=40))
def test_our_audio_is_what_twilio_plays(audio: bytes, stream: str) -> None:
    """An outbound media frame is valid JSON with just the fields that Twilio takes."""
    assert _parsed(codec.media(stream, audio), stream) == ("media", audio)
    assert set(json.loads(codec.media(stream, audio))) == {"event", "streamSid", "media"}


@given(st.text(min_size=1, max_size=40))
def test_marks_and_clear_come_as_twilio_takes_them(name: str) -> None:
    """A mark carries its name, and comes back with the same one; clear carries nothing."""
    assert _parsed(codec.mark("MZ1", name), "MZ1") == ("mark", name)
    assert codec.decode(codec.mark("MZ1", name)) == codec.Mark(name)
    assert _parsed(codec.clear("MZ1"), "MZ1") == ("clear", None)


def test_a_stream_starts_with_its_call_and_our_parameters() -> None:
    """The start frame gives stream, call, account and parameters."""
    assert codec.decode(json.dumps(START)) == codec.Start("MZ1", "CA1", "AC1", {"token": "t"}, True)


@pytest.mark.parametrize("change", [{"encoding": "audio/l16"}, {"sampleRate": 16000}, {"channels": 2}])
def test_any_other_audio_format_is_noticed(change: dict[str, Any]) -> None:
    """Only mono µ-law at 8,000 Hz is right."""
    body = START["start"]
    started = codec.decode(json.dumps(START | {"start": body | {"mediaFormat": body["mediaFormat"] | change}}))
    assert isinstance(started, codec.Start) and not started.format_ok


def test_keys_stop_and_strange_events_are_told_apart() -> None:
    """Keys and stop have their types; what is unknown, `connected` included, is harmless."""
    assert codec.decode('{"event":"dtmf","dtmf":{"track":"inbound_track","digit":"#"}}') == codec.Dtmf("#")
    assert codec.decode('{"event":"stop","stop":{}}') == codec.Stop()
    assert codec.decode('{"event":"connected","protocol":"Call"}') == codec.Unknown("connected")
    assert codec.decode('{"event":"future"}') == codec.Unknown("future")


@pytest.mark.parametrize(
    "frame",
    [
        "",
        "[]",
        "null",
        "{",
        "[" * 60_000,
        '{"event":' * 9_000,
        '{"event":"media"}',
        '{"event":"media","media":{"timestamp":1e999,"payload":""}}',
        '{"event":"media","media":{"timestamp":NaN,"payload":""}}',
        '{"event":"media","media":{"timestamp":"9' + "9" * 5_000 + '","payload":""}}',
        '{"event":"media","media":{"timestamp":"1","payload":"not base64!"}}',
        '{"event":"media","media":{"timestamp":"1","payload":"\\u00e9"}}',
        '{"event":"media","media":{"timestamp":"1","payload":7}}',
        '{"event":"start","start":"x"}',
        '{"event":"start","start":[]}',
        '{"event":"start","start":{"mediaFormat":{"encoding":"audio/x-mulaw","sampleRate":Infinity,"channels":1}}}',
        '{"event":"mark","mark":null}',
        '{"event":{"a":1}}',
        '{"event":["media"]}',
    ],
)
def test_hostile_frames_are_unknown(frame: str) -> None:
    """Broken, deep, huge and misshapen frames are `Unknown`; none of them raises."""
    assert isinstance(codec.decode(frame), codec.Unknown)


@given(st.text(max_size=200))
def test_no_text_raises(text: str) -> None:
    """Any text whatever decodes to an event."""
    assert codec.decode(text) is not None


@given(st.sampled_from(["media", "mark", "start", "dtmf", "stop"]), JSON)
def test_no_shape_raises(event: str, body: object) -> None:
    """Known events with any body whatever decode to an event."""
    assert codec.decode(json.dumps({"event": event, event: body})) is not None


@given(st.dictionaries(st.sampled_from([*START["start"]]), JSON))
def test_no_start_raises(change: dict[str, object]) -> None:
    """A start frame with any of its fields replaced is a start or unknown."""
    assert isinstance(codec.decode(json.dumps(START | {"start": START["start"] | change})), codec.Start | codec.Unknown)
