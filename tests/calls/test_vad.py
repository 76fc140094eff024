"""Speech detection: edges come when they must and never on silence or on the noise of a line (VO-1)."""

from __future__ import annotations

import math
import random
from functools import cache
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from scripts.sandbox.speech import speak
from scripts.sandbox.wav import SILENCE, encode
from voice.vad import LEVELS, Detector, Edge, level

FRAME, FRAME_MS = 160, 20
QUIET = bytes([SILENCE]) * FRAME


@cache
def tone(amplitude: int) -> bytes:
    """20 ms of a voice-like sound, amplitude in 16-bit units."""
    return encode(int(amplitude * math.sin(2 * math.pi * 200 * n / 8000)) for n in range(FRAME))


@cache
def noise(amplitude: int, seed: int = 1) -> tuple[bytes, ...]:
    draw = random.Random(seed)
    return tuple(encode(int(draw.gauss(0, amplitude)) for _ in range(FRAME)) for _ in range(250))


def edges(frames: list[bytes], detector: Detector | None = None) -> list[tuple[int, Edge]]:
    """(milliseconds at the end of the frame, edge) of each edge."""
    listening = detector or Detector()
    found = [(number * FRAME_MS + FRAME_MS, listening.hear(frame)) for number, frame in enumerate(frames)]
    return [(at, edge) for at, edge in found if edge is not None]


def test_levels_are_the_magnitude_of_each_byte() -> None:
    """Both zeros are 0, the loudest bytes are the highest, and a byte and its negative are equally loud (G.711)."""
    assert LEVELS[0xFF] == LEVELS[0x7F] == 0
    assert LEVELS[0x80] == LEVELS[0x00] == max(LEVELS) == 254
    assert all(LEVELS[byte] == LEVELS[byte ^ 0x80] for byte in range(256))
    assert level(b"") == 0.0 and level(QUIET) == 0.0


@given(st.integers(0, 80), st.integers(3, 60), st.integers(600, 20_000))
def test_speech_begins_after_its_onset_and_ends_after_its_hangover(before: int, loud: int, amplitude: int) -> None:
    """Sound of at least the onset makes one beginning, 60 ms in, and one end, 600 ms after it."""
    frames = [QUIET] * (before + 1) + [tone(amplitude)] * loud + [QUIET] * 40
    began = (before + 1) * FRAME_MS
    assert edges(frames) == [(began + 60, Edge.BEGAN), (began + loud * FRAME_MS + 600, Edge.ENDED)]


@given(st.integers(1, 2), st.integers(600, 30_000), st.integers(1, 10))
def test_clicks_are_no_speech(loud: int, amplitude: int, gap: int) -> None:
    """Sounds shorter than the onset make no edge, however many there are."""
    assert edges(([tone(amplitude)] * loud + [QUIET] * gap) * 40) == []


@given(st.integers(1, 29))
def test_a_pause_shorter_than_the_hangover_ends_nothing(pause: int) -> None:
    """Somebody who takes a breath is still speaking."""
    frames = [QUIET] + [tone(8000)] * 10 + [QUIET] * pause + [tone(8000)] * 10 + [QUIET] * 40
    assert [edge for _, edge in edges(frames)] == [Edge.BEGAN, Edge.ENDED]


def test_silence_makes_no_edge() -> None:
    """Ten minutes of digital silence, of either zero, make none."""
    assert edges([QUIET] * 15_000 + [b"\x7f" * FRAME] * 15_000) == []


@settings(max_examples=20)
@given(st.integers(0, 4_000), st.integers(0, 50))
def test_constant_line_noise_makes_no_edge(amplitude: int, seed: int) -> None:
    """A line that hisses from the start is heard as quiet, be it loud or not."""
    assert edges(list(noise(amplitude, seed % 3)) * 4) == []


@settings(max_examples=20)
@given(st.integers(700, 4_000))
def test_noise_that_begins_on_a_call_ends_by_itself(amplitude: int) -> None:
    """A fan that is switched on may begin speech; within 2.2 s it is known for what it is, and speech over it is heard."""
    frames = [QUIET] * 50 + list(noise(amplitude)) * 2
    found = edges(frames)
    assert [edge for _, edge in found] == [Edge.BEGAN, Edge.ENDED]
    assert found[1][0] - found[0][0] <= 2_200
    loud = [tone(min(30_000, amplitude * 7))] * 10 + list(noise(amplitude))[:60]
    spoken = edges(frames + loud)
    assert [edge for _, edge in spoken[2:]] == [Edge.BEGAN, Edge.ENDED]


@settings(max_examples=20)
@given(st.integers(0, 400), st.sampled_from(["en", "es"]))
def test_a_sentence_is_one_utterance(amplitude: int, locale: str) -> None:
    """Spoken words begin once and end once, on a clean and on a noisy line; the end comes 600 ms after the last of them."""
    text = {"en": "I would like to see the one bedroom tomorrow afternoon", "es": "Quisiera ver el apartamento mañana por la tarde"}
    said = speak(text[locale], locale, "caller", "tones")
    voice = [said[at : at + FRAME] for at in range(0, len(said), FRAME)]
    hiss = noise(amplitude)
    line = list(hiss[:60]) + [v if level(v) > level(hiss[0]) else hiss[n % 250] for n, v in enumerate(voice)] + list(hiss[:60])
    found = edges(line)
    assert [edge for _, edge in found] == [Edge.BEGAN, Edge.ENDED]
    assert 60 * FRAME_MS < found[0][0] <= 60 * FRAME_MS + 300
    assert found[1][0] <= (60 + len(voice)) * FRAME_MS + 600


@given(st.lists(st.binary(max_size=500), max_size=60))
def test_any_bytes_alternate_edges(frames: list[bytes]) -> None:
    """Whatever arrives, in frames of any length, speech begins before it ends and never begins twice."""
    kinds = [edge for _, edge in edges(frames)]
    assert kinds[:1] != [Edge.ENDED]
    assert all(one is not other for one, other in pairwise(kinds))
