"""Synthetic speech, the mark in it, and the recording of a call."""

from __future__ import annotations

import os
import struct
import sys
import wave
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scripts.sandbox import speech, watermark, wav
from scripts.sandbox.world import World

LINE = "I would like to see a two bedroom on Tuesday, please."


def cut(stream: bytes, sizes: list[int]) -> list[bytes]:
    """`stream` in pieces of the given sizes, over and over."""
    pieces, at, turn = [], 0, 0
    while at < len(stream):
        size = sizes[turn % len(sizes)]
        pieces.append(stream[at : at + size])
        at, turn = at + size, turn + 1
    return pieces


@given(
    audio=st.binary(min_size=1, max_size=1000),
    utterance=st.integers(0, 2**64 - 1),
    before=st.binary(max_size=300),
    sizes=st.lists(st.integers(1, 900), min_size=1, max_size=5),
)
def test_a_mark_is_found_in_any_sound_however_the_stream_is_cut(
    audio: bytes, utterance: int, before: bytes, sizes: list[int]
) -> None:
    """Every frame of marked speech is read once, in order, wherever it stands and however it was lumped into messages."""
    reader = watermark.Reader()
    stream = before + watermark.mark(audio, utterance) + b"\xff" * 200
    found = [mark for piece in cut(stream, sizes) for mark in reader.feed(piece)]
    count = watermark.frames(audio)
    assert [(mark.utterance, mark.index, mark.count, mark.start) for mark in found] == [
        (utterance, index, count, len(before) + index * watermark.FRAME) for index in range(count)
    ]


@given(audio=st.binary(min_size=160, max_size=640))
def test_unmarked_sound_carries_no_mark(audio: bytes) -> None:
    """Silence and random sound name no utterance."""
    assert watermark.read(audio) == []
    assert watermark.read(b"\xff" * 1600) == []


def test_a_damaged_frame_is_not_read_and_its_neighbours_are() -> None:
    """A frame that something changed loses its mark; the others keep theirs."""
    marked = bytearray(watermark.mark(b"\x80" * 480, 7))
    marked[200] ^= 1
    assert [mark.index for mark in watermark.read(bytes(marked))] == [0, 2]


def test_a_mark_is_far_below_the_speech_that_carries_it() -> None:
    """The mark changes the lowest bit only and is at least 26 dB below the speech."""
    plain = speech.speak(LINE, "en", "clara", "tones")
    marked = watermark.mark(plain, 3)
    difference = [wav.PCM[a] - wav.PCM[b] for a, b in zip(plain, marked, strict=True)]
    power = sum(value * value for value in difference)
    assert power * 400 < sum(wav.PCM[byte] ** 2 for byte in plain)


def test_speech_is_whole_frames_cached_and_the_same_every_time() -> None:
    """Same text, locale and voice: same bytes; always whole frames; another voice or text sounds different."""
    first = speech.speak(LINE, "en-US", "caller", "tones")
    assert first is speech.speak(LINE, "en", "caller", "tones")
    assert len(first) % wav.FRAME == 0
    assert first != speech.speak(LINE, "en", "clara", "tones")
    assert len(speech.speak(LINE * 3, "en", "caller", "tones")) > 2 * len(first)
    assert 1.5 < len(first) / wav.RATE < 6
    assert set(speech.speak("…", "es", "clara", "tones")) == {wav.SILENCE}


def test_spanish_takes_its_time_too() -> None:
    """Accented words have their syllables."""
    assert len(speech.speak("¿Tiene algún apartamento para el miércoles?", "es", "caller", "tones")) > 8000


def test_a_synthesiser_on_the_path_is_used_and_brought_to_eight_kilohertz(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where espeak-ng is installed its 22,050 Hz wave comes back as 8 kHz µ-law of the same length, with the wished voice."""
    with wave.open(str(tmp_path / "out.wav"), "wb") as file:
        file.setparams((1, 2, 22050, 0, "NONE", ""))
        file.writeframes(struct.pack("<22050h", *([1000] * 22050)))
    program = tmp_path / "espeak-ng"
    program.write_text(
        f"#!{sys.executable}\nimport sys\nopen({str(tmp_path / 'args')!r}, 'w').write(' '.join(sys.argv[1:]))\n"
        f"sys.stdout.buffer.write(open({str(tmp_path / 'out.wav')!r}, 'rb').read())\n"
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    spoken = speech.speak("uno dos", "es", "clara", "espeak-ng")
    assert len(spoken) == 8000
    assert abs(wav.PCM[spoken[4000]] - 1000) < 40
    assert (tmp_path / "args").read_text() == "--stdout -v es+f3 -s 165 -- uno dos"


def test_every_sample_survives_the_table_both_ways() -> None:
    """µ-law to samples and back is the identity, but for the second zero."""
    codes = [code for code in range(256) if code != 0x7F]
    assert list(wav.encode(wav.PCM[code] for code in codes)) == codes
    assert all(a >= b for a, b in pairwise(wav.PCM[code] for code in range(0x80, 0x100)))
    assert list(wav.encode([40000, -40000])) == [0x80, 0x00]


def test_a_recording_has_the_caller_left_and_clara_right_on_one_timeline(tmp_path: Path) -> None:
    """Pieces land where their time says; gaps are silent; the shorter side is padded."""
    caller, clara = wav.Track(), wav.Track()
    caller.put(40, b"\x80" * 160)
    clara.put(0, b"\x00" * 320)
    clara.put(80, b"\x00" * 160)
    wav.write(tmp_path / "call.wav", caller, clara)
    left, right = wav.read(tmp_path / "call.wav")
    assert left == b"\xff" * 320 + b"\x80" * 160 + b"\xff" * 320
    assert right == b"\x00" * 320 + b"\xff" * 320 + b"\x00" * 160
    assert wav.overlap_ms(wav.levels(left), wav.levels(right)) == 0


def test_a_measurement_says_when_a_side_falls_silent() -> None:
    """The first quiet stretch of the wished length after an instant; short pauses do not count."""
    loud, quiet = [3000.0], [0.0]
    track = loud * 10 + quiet * 3 + loud * 5 + quiet * 20
    assert wav.quiet_from(track, 0) == 360
    assert wav.quiet_from(track, 0, hold_ms=60) == 200
    assert wav.quiet_from(track, 400) == 400
    assert wav.quiet_from(loud * 10, 0) is None
    assert wav.overlap_ms(track, loud * 20) == 300


def test_utterances_are_numbered_in_order() -> None:
    """Each thing said gets the next number, and the world knows its words."""
    world = World()
    one, two = speech.utter(world, "CA1", "Hello", "en"), speech.utter(world, "", "Hola", "es")
    assert (one.id, two.id) == (1, 2)
    assert world.utterances[2] is two
